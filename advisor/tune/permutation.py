"""Two states compared by their restarts: the exact permutation p, and the interval of all shifts that it does not refuse.

Figures are logarithms. What may be exchanged is what our own dice exchanged: restarts of one stratum, a node or a block of it.
"""

from collections.abc import Sequence
from math import ceil, comb, exp, floor, log, prod
from statistics import median
from typing import Final, NamedTuple

from advisor.model.experiment import Says

Stratum = tuple[Sequence[float], Sequence[float]]
"""Logarithms of the first state's figures and of the other's, of restarts that may be exchanged."""
_GRAINS: Final = 1 << 17
"""Grains of the range of all figures, for so many of them: those of eight are told apart to a sixteen-thousandth of it."""
_HALVINGS: Final = 18


def permutation_p(strata: Sequence[Stratum], shift: float = 0.0) -> float:
    """Return how often chance alone, dealing the same figures out again, sets the sums as far apart: exact, two-sided.

    ``shift`` is taken from the other state's figures first. 1 where there is nothing to exchange.
    """
    moved = [(list(one), [each - shift for each in other]) for one, other in strata if one and other]
    figures = [each for pair in moved for part in pair for each in part]
    if not figures or max(figures) == min(figures):
        return 1.0
    grain = (max(figures) - min(figures)) * len(figures) / _GRAINS
    total = prod(comb(len(one) + len(other), len(other)) for one, other in moved)
    bits, ways, seen, middle = total.bit_length() + 1, 1, 0, 0.0
    for one, other in moved:
        least = min(*one, *other)
        whole = [round((each - least) / grain) for each in (*one, *other)]
        ways *= _dealt(whole, len(other), bits)
        seen += sum(whole[len(one) :])
        middle += sum(whole) * len(other) / len(whole)
    away = abs(seen - middle) - _GRAINLET
    above, below = ceil(middle + away), floor(middle - away)
    far = _digits(ways >> bits * max(0, above), bits) + (
        _digits(ways & ((1 << bits * (below + 1)) - 1), bits) if below >= 0 else 0
    )
    return min(1.0, far / total)


_GRAINLET: Final = 1e-6


def _dealt(values: Sequence[int], size: int, bits: int) -> int:
    """Return in how many ways each sum of so many of some values comes about: digit by digit of one large number.

    A digit has so many bits that it never runs over: to add a value to every sum is then one shift.
    """
    sums = [1, *([0] * size)]
    for value in values:
        for chosen in range(size, 0, -1):
            sums[chosen] += sums[chosen - 1] << bits * value
    return sums[size]


def _digits(number: int, bits: int) -> int:
    """Return the sum of a number's digits; it is below the largest digit, so that casting out gives it whole."""
    return number % ((1 << bits) - 1)


class Contrast(NamedTuple):
    """How another state's figures lie beside those of the first, as ratios."""

    ratio: float
    low: float | None
    high: float | None
    p: float


def contrast(strata: Sequence[Stratum], level: float) -> Contrast | None:
    """Return the ratio of two states (Hodges and Lehmann), its interval at a level, and the p; None without a pair."""
    pairs = [theirs - own for one, other in strata for own in one for theirs in other]
    if not pairs:
        return None
    middle, width = median(pairs), max(pairs) - min(pairs) + 1e-3
    low = _end(strata, level, min(pairs) - width, middle)
    high = _end(strata, level, max(pairs) + width, middle)
    return Contrast(exp(middle), None if low is None else exp(low), None if high is None else exp(high), permutation_p(strata))


def _end(strata: Sequence[Stratum], level: float, far: float, near: float) -> float | None:
    """Return up to where shifts are refused, between one far off and the middle; None where not even that one is."""
    if permutation_p(strata, far) > level:
        return None
    if permutation_p(strata, 0.0) <= level and min(far, near) < 0 < max(far, near):
        far = 0.0  # the verdict and the interval answer alike
    for _ in range(_HALVINGS):
        at = (far + near) / 2
        far, near = (at, near) if permutation_p(strata, at) <= level else (far, at)
    return far


def verdict(found: Contrast, *, comparisons: int, alpha: float, worth: float, high: bool) -> Says:
    """Return what a comparison says; ``high`` where more of the figure is better."""
    if found.low is None or found.high is None:
        return "cannot tell"
    if found.p * comparisons <= alpha and found.ratio != 1:
        return "better" if (found.ratio > 1) is high else "worse"
    is_small = -log(1 + worth) < log(found.low) and log(found.high) < log(1 + worth)
    return "no difference" if is_small else "cannot tell"
