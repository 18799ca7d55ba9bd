"""Whether two samples differ by more than chance: the rank-sum test of Mann and Whitney, exact for small samples."""

from collections import Counter
from collections.abc import Sequence
from math import comb, erfc, sqrt
from typing import Final

EXACT: Final = 40
"""Values of both samples together up to which every way of dealing them out is counted."""
_LITTLE: Final = 1e-9


def rank_sum_p(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how often chance alone, dealing out the same values, sets ranks as far apart as these: two-sided, ties shared.

    1 where a sample is empty. Above EXACT values the normal curve stands in, corrected for ties and for whole ranks.
    """
    if not one or not other:
        return 1.0
    ranks = doubled_ranks([*one, *other])
    found = sum(ranks[: len(one)])
    return _exact(ranks, len(one), found) if len(ranks) <= EXACT else _normal(ranks, len(one), found)


def least_p(one: int, other: int) -> float:
    """Return the smallest p that samples of such sizes can have at all: that of two that do not overlap."""
    return min(1.0, 2 / comb(one + other, one)) if one and other else 1.0


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, which is whole where equal values share theirs.

    >>> doubled_ranks([5.0, 1.0, 5.0])
    [5, 2, 5]
    """
    below = dict[float, int]()
    seen = 0
    for value, many in sorted(Counter(values).items()):
        below[value] = 2 * seen + many + 1
        seen += many
    return [below[value] for value in values]


def _exact(ranks: Sequence[int], size: int, found: int) -> float:
    """Return the share of all choices of so many ranks whose sum is as far from the middle as the one found."""
    sums: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in range(size))]
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for total, ways in sums[chosen - 1].items():
                sums[chosen][total + rank] += ways
    middle = size * sum(ranks)  # times the number of ranks, to stay whole
    away = abs(found * len(ranks) - middle)
    far = sum(ways for total, ways in sums[size].items() if abs(total * len(ranks) - middle) >= away)
    return far / comb(len(ranks), size)


def _normal(ranks: Sequence[int], size: int, found: int) -> float:
    """Return the same from the normal curve."""
    number, rest = len(ranks), len(ranks) - size
    mean = sum(ranks) / number
    spread = sum((rank - mean) ** 2 for rank in ranks) / (number - 1)
    deviation = sqrt(spread * size * rest / number)
    if deviation < _LITTLE:
        return 1.0
    away = max(0.0, abs(found - size * mean) - 1)  # ranks are doubled: half a rank is one
    return erfc(away / deviation / sqrt(2))
