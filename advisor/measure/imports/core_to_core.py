"""A matrix of times between CPUs: read from core-to-core-latency's CSV, and the groups that it shows by itself.

Average linkage, cut where the next merge is half as far again as the last, and only where all groups are of one size. Tried
on the published results of core-to-core-latency: no wrong cut. What it cannot show are sockets of AMD processors: the shared
line stays on the node that first touched it, so that two cores of the other socket look as far apart as cores of two sockets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from advisor.measure.imports.text import NUMBER, Format, Line
from advisor.measure.measurement import ImportedFigure, ImportedRun

_GAP: Final = 1.5
_FEWEST: Final = 4
"""Two numbers and a comma are many things."""
_MOST: Final = 1024
"""CPUs of a matrix: the largest published has 256."""
_CELLS: Final = re.compile(r"[\d.,eE+\- ]*")
_CELL: Final = re.compile(NUMBER)

Times = Mapping[tuple[int, int], float]
"""Seconds by two positions, the smaller first."""


class Level(NamedTuple):
    """A cut: CPUs that are nearer to each other than to any other group's."""

    seconds: float
    """Between what is near and what is far."""
    ratio: float
    """How much farther the nearest two groups are."""
    groups: tuple[tuple[int, ...], ...]


def levels(times: Times, count: int, gap: float = _GAP) -> list[Level]:
    """Return the levels of a matrix, the nearest first.

    >>> four = {(0, 1): 1.0, (2, 3): 1.0, (0, 2): 4.0, (0, 3): 4.0, (1, 2): 4.0, (1, 3): 4.0}
    >>> [level.groups for level in levels(four, 4)]
    [((0, 1), (2, 3))]
    """
    steps = list(_merges(times, count))
    found = []
    for (near, _), (far, parts) in pairwise(steps):
        if near > 0 and far >= gap * near and len({len(part) for part in parts}) == 1:
            found.append(Level((near * far) ** 0.5, far / near, tuple(sorted(parts))))
    return found


def _merges(times: Times, count: int) -> Iterator[tuple[float, list[tuple[int, ...]]]]:
    """Yield each merge of average linkage: how far apart the two groups are, and the groups before it."""
    parts: dict[int, tuple[int, ...]] = {each: (each,) for each in range(count)}
    apart = [[times.get((min(one, other), max(one, other)), float("inf")) for other in range(count)] for one in range(count)]
    nearest = {one: _nearest(apart[one], one, parts) for one in parts}
    while len(parts) > 1:
        one = min(parts, key=lambda each: nearest[each][0])
        away, other = nearest[one]
        yield away, list(parts.values())
        first, second = sorted((one, other))
        many, few = len(parts[first]), len(parts[second])
        parts[first] = tuple(sorted(parts[first] + parts.pop(second)))
        for each in parts:
            if each != first:
                apart[first][each] = apart[each][first] = (many * apart[first][each] + few * apart[second][each]) / (many + few)
        nearest.pop(second)
        for each in parts:
            if each == first or nearest[each][1] in (first, second):
                nearest[each] = _nearest(apart[each], each, parts)
            elif apart[each][first] < nearest[each][0]:
                nearest[each] = (apart[each][first], first)


def _nearest(row: Sequence[float], own: int, parts: Mapping[int, object]) -> tuple[float, int]:
    return min(((row[each], each) for each in parts if each != own), default=(float("inf"), own))


def _cells(line: Line) -> list[float | None]:
    """Return the cells of a row: None where one is empty, or no number."""
    return [float(word) if _CELL.fullmatch(word.strip()) else None for word in line.text.split(",")]


def is_matrix(lines: Sequence[Line]) -> bool:
    """Return whether a file holds rows of numbers and commas, and nothing else."""
    written = [line.text for line in lines if line.text.strip()]
    return any("," in text for text in written) and all(_CELLS.fullmatch(text) for text in written)


def read_matrix(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a matrix of which every pair is there at least once; positions are not CPU numbers where --cores was given."""
    rows = [_cells(line) for line in lines if line.text.strip()]
    count = max((len(rows), *map(len, rows)), default=0)
    times: dict[tuple[int, int], list[float]] = {}
    for one, row in enumerate(rows):
        for other, value in enumerate(row):
            if value is not None and one != other and value > 0:
                times.setdefault((min(one, other), max(one, other)), []).append(value * 1e-9)
    why = None
    if not _FEWEST <= count <= _MOST:
        why = f"{count} CPUs are no matrix" if count < _FEWEST else f"{count} CPUs are more than the {_MOST} that are read"
    elif len(times) != count * (count - 1) // 2:
        why = f"torn: {len(times)} of {count * (count - 1) // 2} pairs of {count} CPUs"
    figures = (
        ImportedFigure(what="round trip, half", unit="seconds", value=median(values), statistic="mean", scope="CPU to CPU", at=at)
        for at, values in sorted(times.items())
    )
    yield ImportedRun(
        format="core-to-core",
        tool="core-to-core-latency",
        line=lines[0].number,
        figures=() if why else tuple(figures),
        conditions={"CPUs": count},
        notes=("its columns are positions: CPU numbers where all CPUs were asked",),
        refused=why,
    )


def times_of(run: ImportedRun) -> dict[tuple[int, int], float]:
    """Return the times of a matrix by position."""
    return {figure.at: figure.value for figure in run.figures if figure.scope == "CPU to CPU" and figure.at}


FORMATS: Final = (
    Format(
        name="core-to-core",
        tool="core-to-core-latency --csv",
        seen="1.0 to 1.2",
        starts=None,
        is_whole=is_matrix,
        read=read_matrix,
        not_said=("host", "CPU numbers"),
    ),
)
