"""Intervals that never contradict the verdict: they hold the values that the same test does not refuse."""

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from statistics import median
from typing import Final

from advisor.jobs.tune.sequential import proves

_STEPS: Final = 9
"""Halvings of the range of differences: the ends are exact to a five-hundredth of it."""
_SPEEDS: Final = 5.0
_SHARE: Final = 0.2
_RUNS: Final = 10


def hodges_lehmann(values: Sequence[float]) -> float:
    """Return the median of all pairs' averages (Hodges and Lehmann 1963)."""
    return median((one + other) / 2 for one, other in combinations_with_replacement(values, 2))


def interval(differences: Sequence[float], level: float, asked: Sequence[float] = (0.0,)) -> tuple[float, float, float] | None:
    """Return the lower end, the middle and the upper end of what differences are about; None where they are too few.

    ``level`` is that of each end over all looks. What the race itself ``asked``, whether they are above 0 or below the worth,
    the ends answer alike.
    """
    if not differences:
        return None
    centre, width = hodges_lehmann(differences), max(differences) - min(differences) or 1e-6
    mirrored = [-each for each in differences]
    low = _end(lambda at: proves(differences, at, level), min(differences) - 0.1 * width, centre, asked)
    high = _end(lambda at: proves(mirrored, at, level), -max(differences) - 0.1 * width, -centre, [-each for each in asked])
    return None if low is None or high is None else (low, centre, -high)


def _end(refused: Callable[[float], bool], far: float, near: float, asked: Sequence[float]) -> float | None:
    """Return up to where values are refused, between one far below and the middle; None where not even that one is."""
    if not refused(far):
        return None
    for each in asked:
        if far < each < near:
            far, near = (each, near) if refused(each) else (far, each)
    for _ in range(_STEPS):
        at = (far + near) / 2
        far, near = (at, near) if refused(at) else (far, at)
    return far


_CONFIDENCE: Final = 0.05


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the order statistics between which the median is with 95 % (sign test); None below six values."""
    count, chance, at = len(values), 0.0, 0
    ways = 1.0
    while at < count // 2 and 2 * (chance + ways / 2**count) <= _CONFIDENCE:
        chance += ways / 2**count
        ways = ways * (count - at) / (at + 1)
        at += 1
    found = sorted(values)
    return (found[at - 1], found[count - at]) if at else None


def two_speeds(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the two speeds of a line that has two: a gap five times the spread beside it, a fifth of the runs on each side."""
    found, least = sorted(values), max(2, int(_SHARE * len(values) + 0.999))
    if len(found) < 2 * least or len(found) < _RUNS:
        return None
    gaps = [(found[at] - found[at - 1], at) for at in range(least, len(found) - least + 1)]
    gap, at = max(gaps)
    parts = found[:at], found[at:]
    spread = median([abs(each - median(part)) for part in parts for each in part])
    return (median(parts[0]), median(parts[1])) if gap > _SPEEDS * spread and gap > 0 else None
