"""What a change brought: the same figure measured before and after it, and how often chance alone would set them so far apart.

Between two states of one machine whose NUMA nodes differ only what means the same is compared: all of it, and its sockets.
"""

from collections.abc import Iterator
from math import inf
from statistics import median
from typing import Final

from advisor.measure.measurement import (
    Contrast,
    Measurements,
    Part,
    Purpose,
    Result,
    Side,
    rank_sum_p,
    reported_text,
    significance,
)

_PURPOSES: Final[tuple[Purpose, ...]] = ("part", "peak", "hpl", "network")
_ANYWAY: Final[tuple[Part, ...]] = ("machine", "socket")
"""Parts that are the same whatever the firmware does to the NUMA nodes."""
_PEAK: Final = "fma"
"""Of floating point the peak alone: what it is without one thing after the other says nothing of a setting."""
_ORDER: Final[tuple[Part, ...]] = ("machine", "socket", "numa", "l3", "core", "pair")


def what_it_brought(before: Measurements, after: Measurements) -> tuple[Contrast, ...]:
    """Return every figure that both have, the machine's first; nothing where the machines are of different processors."""
    if before.machine.cpu != after.machine.cpu or before.machine.cpus != after.machine.cpus:
        return ()
    alike = before.machine.nodes == after.machine.nodes
    first, second = dict(_things(before, alike=alike)), dict(_things(after, alike=alike))
    rows = [_contrast(first[thing], second[thing]) for thing in first if thing in second]
    return tuple(sorted(rows, key=lambda row: _ORDER.index(row.part or "machine")))


def _things(run: Measurements, *, alike: bool) -> Iterator[tuple[tuple[object, ...], Result]]:
    """Yield what each believed figure is of, and the figure."""
    for purpose in _PURPOSES:
        for each in run.of(purpose):
            if not (alike or each.part in _ANYWAY) or not all(0 < value < inf for value in each.values):
                continue
            if purpose == "peak" and each.variant != _PEAK:
                continue
            size = each.bytes if purpose == "network" else None
            hca = reported_text(each, "hca")
            yield (purpose, each.kernel, each.variant, each.unit, each.part, each.index, frozenset(each.cpus), size, hca), each


def _contrast(one: Result, other: Result) -> Contrast:
    p, ratio = rank_sum_p(one.values, other.values), other.median / one.median
    says = significance(p, 1 / ratio if one.unit == "seconds" else ratio)
    return Contrast(
        what="part",
        hca=reported_text(one, "hca") or None,
        kernel=one.kernel,
        variant=one.variant,
        part=one.part,
        index=one.index,
        distance=one.distance,
        bytes=one.bytes,
        unit=one.unit,
        before=_side(one),
        after=_side(other),
        ratio=ratio,
        p=p,
        says=says,
    )


def _side(result: Result) -> Side:
    return Side(number=len(result.values), median=median(result.values), low=min(result.values), high=max(result.values))
