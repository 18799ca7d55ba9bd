"""Who is slow: far below the nodes of its kind by their own spread, and by so much that it matters."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log10, sqrt
from statistics import median
from typing import Final

from advisor.fleet.kinds import Group
from advisor.model.fleet import Slow

LEAST: Final = 8
"""Nodes without which nothing is usual: of fewer the spread is not known."""
FAR: Final = 5.0
"""How many times the spread, of a node that was measured once. Of ten thousand normal values one lies as far in three hundred
fleets; at 3.5 five lie in each. A node a tenth slow among nodes that spread by 1.5 % is 6.7 spreads away, give or take one."""
_ODD: Final = 4
"""A quarter of the nodes at most may be odd and not widen the spread of the rest."""
FINEST: Final = 0.005
"""Of the median: values that are rounded may all be equal, and then every other is infinitely far."""
_PRACTICAL: Final = {"bytes/s": 0.05, "flop/s": 0.03, "seconds": 0.10}
"""A distance from the median that matters, by the unit; what has none of its own is judged as a bandwidth."""


@dataclass(frozen=True)
class Figure:
    """One number that was measured on a node."""

    name: str
    unit: str
    value: float
    spread: float = 0.0
    """Of its repeats, as a share: what the instrument cannot tell apart."""
    before: float | None = None
    """What the node had when it was measured before, and seemed slow."""


Figures = Mapping[str, Figure]
"""Name -> figure, of one node."""


def slow(kind: Group, measured: Mapping[str, Figures], settings: Mapping[str, str]) -> Iterator[Slow]:
    """Yield each figure of a node that is far worse than those of its kind; the worst first.

    ``settings`` are the nodes' settings that decide how fast they are, in words: a node is compared with those that are set up
    as it is. Where these are too few it is compared with all of its kind, and its settings may explain it. A node that was
    measured again has to be far in both measurements, and need not be as far.
    """
    yield from _judged(kind, measured, settings, first=False)


def suspects(kind: Group, measured: Mapping[str, Figures], settings: Mapping[str, str]) -> Iterator[Slow]:
    """Yield each figure that is worth measuring again: chance alone may still have made it."""
    yield from _judged(kind, measured, settings, first=True)


def near(nodes: int) -> float:
    """Return how many times the spread a node has to be away in each of two measurements, beside so many others.

    >>> [round(near(nodes), 1) for nodes in (8, 80, 800, 8000, 80000)]
    [3.5, 4.0, 4.5, 5.0, 5.0]
    """
    return min(FAR, 3.5 + log10(nodes / LEAST) / 2)


def _judged(kind: Group, measured: Mapping[str, Figures], settings: Mapping[str, str], *, first: bool) -> Iterator[Slow]:
    figures: dict[str, dict[str, Figure]] = defaultdict(dict)
    for node in kind.nodes:
        for name, figure in measured.get(node, {}).items():
            figures[name][node] = figure
    found = [each for own in figures.values() for each in _of_one(kind.name, own, settings, first=first)]
    yield from sorted(found, key=lambda each: each.z)


def _of_one(kind: str, figures: Mapping[str, Figure], settings: Mapping[str, str], *, first: bool) -> Iterator[Slow]:
    """Yield who is slow in one figure."""
    alike: dict[str, list[str]] = defaultdict(list)
    for node in figures:
        alike[settings.get(node, "")].append(node)
    for setting, nodes in alike.items():
        if len(nodes) >= LEAST:
            yield from _far(kind, {node: figures[node] for node in nodes}, nodes, first=first)
        elif len(figures) >= LEAST and len(alike) > 1:
            others = {node: figure for node, figure in figures.items() if settings.get(node, "") != setting}
            for each in _far(kind, {**others, **{node: figures[node] for node in nodes}}, nodes, first=first):
                yield each.model_copy(update={"explained": setting})


def _far(kind: str, figures: Mapping[str, Figure], asked: Sequence[str], *, first: bool) -> Iterator[Slow]:
    if len(figures) < LEAST:
        return
    values = [figure.value for figure in figures.values()]
    middle, sample = median(values), next(iter(figures.values()))
    least = max(FINEST, median(each.spread for each in figures.values())) * abs(middle)
    scales = {times: max(spread_of(values, times), least) for times in (FAR, near(len(values)))}
    worse = 1 if sample.unit == "seconds" else -1
    for node in asked:
        figure = figures[node]
        looks = [figure.value] if figure.before is None else [figure.value, figure.before]
        times = near(len(values)) if first or len(looks) > 1 else FAR
        away, scale = [(look - middle) * worse for look in looks], scales[times]
        if scale > 0 and min(away) > max(times * scale, practical(sample.unit, middle)):
            yield Slow(
                figure=figure.name,
                node=node,
                value=figure.value,
                median=middle,
                z=round(-away[0] / scale, 1),
                kind=kind,
                unit=figure.unit,
                among=len(figures),
                again=len(looks) > 1,
            )


def practical(unit: str, middle: float) -> float:
    """Return how far from a median a figure of some unit has to be for it to matter."""
    return _PRACTICAL.get(unit, _PRACTICAL["bytes/s"]) * abs(middle)


def spread_of(values: Sequence[float], far: float = FAR) -> float:
    """Return the usual distance from the median, one that odd values do not move while they are a quarter at most.

    The values that are far from the rest are left out: as many as there are of which the nearest is beyond ``far`` times the
    spread of those nearer (Rosner, Percentage points for a generalized ESD many-outlier procedure, Technometrics 25, 1983;
    about the median, with a fixed distance in place of a level). Where nothing is odd that is the standard deviation, which
    knows more of a few values than the median of their distances does.

    >>> [round(spread_of([10, 10.1, 9.9, 10.2, 9.8, 10, 10.1, odd]), 2) for odd in (5, 9.9)]
    [0.14, 0.13]
    """
    middle = median(values)
    away = sorted(abs(value - middle) for value in values)
    squares = [0.0, *accumulate(each * each for each in away)]
    scales = [sqrt(squares[kept] / max(1, kept - 1)) for kept in range(len(away) + 1)]
    fewest = len(away) - len(away) // _ODD
    odd = (kept for kept in range(fewest, len(away)) if away[kept] > far * scales[kept])
    return scales[next(odd, len(away))]
