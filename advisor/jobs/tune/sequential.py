"""Tests that may be looked at after every block: the error that is stated holds over all looks together. Limits are exact.

``SignWalk`` proves that a paired difference is above zero. It supposes one thing: that the sign of each difference is a fair
coin where there is none, which the random order inside a block makes true whatever drifts or bursts there are. It is a sign-flip
test (Fisher 1935; Pitman 1937) on sequential ranks (Parent 1965; Reynolds 1975), its limits computed on the sizes that were
seen. ``gaussian_limits`` are those of a walk with normal steps (Armitage, McPherson and Rowe 1969). Both spend their error by
a function of the blocks run so far (Lan and DeMets 1983) that never spends all: a race may always be continued.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import erfc, exp, lgamma, log, log1p, pi, sqrt
from typing import Final

_LEVELS: Final = 8
"""Steps in which a size is weighed against those before it."""
_HALF: Final = 50.0
"""The error is spent as sqrt(n / (n + 50)): early, for a line that is slow shall soon be left out."""


def spent(level: float, blocks: int) -> float:
    """Return how much of an error may be spent up to some block."""
    return level * sqrt(blocks / (blocks + _HALF))


class SignWalk:
    """The sum of the signs of differences, each weighed by its rank among those so far; and whether that is proof."""

    def __init__(self, level: float) -> None:
        self.level, self.blocks, self.proven_at = level, 0, 0
        self._sizes: list[float] = []
        self._sum = self._reach = 0
        self._alive, self._used = [1.0], 0.0

    @property
    def proven(self) -> bool:
        """Whether the differences are above zero, at the level over all looks."""
        return self.proven_at > 0

    def add(self, difference: float) -> None:
        """Take the difference of one more block; zero says nothing and weighs nothing, and what is proven stays so."""
        self.blocks += 1
        size = abs(difference)
        if size == 0.0 or self.proven:
            return
        self._sizes.append(size)
        seen = len(self._sizes)
        weight = max(1, round(2 * _LEVELS * sum(each <= size for each in self._sizes) / (seen + 1)))
        self._sum += weight if difference > 0 else -weight
        self._step(weight)
        limit, tail = self._limit(spent(self.level, self.blocks) - self._used)
        if self._sum >= limit:
            self.proven_at = self.blocks
        self._used += tail
        del self._alive[limit + self._reach :]

    def _step(self, weight: int) -> None:
        """Flip one more coin: the chances of all sums that have not been proof."""
        wider = 2 * (self._reach + weight) + 1
        pad = [0.0] * (2 * weight)
        below = (self._alive + [0.0] * (2 * self._reach + 1 - len(self._alive))) + pad
        above = pad + self._alive + [0.0] * (2 * self._reach + 1 - len(self._alive))
        self._reach += weight
        self._alive = [(one + other) / 2 for one, other in zip(below, above, strict=True)][:wider]

    def _limit(self, room: float) -> tuple[int, float]:
        """Return the least sum whose chance, with all above it, is within the error that is left, and that chance."""
        tail, at = 0.0, len(self._alive)
        while at > 0 and tail + self._alive[at - 1] <= room:
            at -= 1
            tail += self._alive[at]
        return at - self._reach, tail


def proves(differences: Sequence[float], shift: float, level: float) -> bool:
    """Return whether differences are proven to be above a shift, at any of their looks."""
    walk = SignWalk(level)
    for each in differences:
        walk.add(each - shift)
        if walk.proven:
            return True
    return False


_STEP: Final = 0.25
_WIDTH: Final = 6.5
"""Standard errors: what lies beyond is less than 1e-10."""


@lru_cache(maxsize=64)
def gaussian_limits(level: float, most: int, first: int = 3) -> tuple[float, ...]:
    """Return, by the number of blocks from 0 on, from how many standard errors above zero a mean is proof.

    The density of the sums that were no proof is carried from block to block, on a grid that ends at the limit.
    """
    limits = [float("inf")] * first
    edge = _where(lambda at: _above(at / sqrt(first)), spent(level, first), _WIDTH * sqrt(first))
    density = _grid(edge, first, lambda at: exp(-at * at / (2 * first)) / sqrt(2 * pi * first))
    limits.append(edge / sqrt(first))
    used = spent(level, first)
    for blocks in range(first + 1, most + 1):
        before, weights = edge, [_STEP * each for each in density]
        weights[0] /= 2
        edge = _where(lambda at: _passed(weights, at - before), spent(level, blocks) - used, edge + _WIDTH)  # noqa: B023 - called here
        used = spent(level, blocks)
        density = _grid(edge, blocks, lambda at: _arrived(weights, at - before))  # noqa: B023 - called here
        limits.append(edge / sqrt(blocks))
    return tuple(limits)


def _above(at: float) -> float:
    return erfc(at / sqrt(2)) / 2


def _where(chance: Callable[[float], float], room: float, high: float) -> float:
    """Return where a falling chance is as small as the room for it."""
    low = 0.0
    for _ in range(36):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) > room else (low, middle)
    return high


def _grid(edge: float, blocks: int, density: Callable[[float], float]) -> list[float]:
    """Return a density at the edge and below it, step by step, down to where nothing is left."""
    return [density(edge - at * _STEP) for at in range(int((edge + _WIDTH * sqrt(blocks)) / _STEP))]


def _passed(weights: Sequence[float], over: float) -> float:
    """Return the chance of a step from the grid to more than so far over its edge."""
    near = weights[: max(0, int((_WIDTH - over) / _STEP) + 1)]
    return sum(weight * _above(over + at * _STEP) for at, weight in enumerate(near))


def _arrived(weights: Sequence[float], over: float) -> float:
    """Return the density of steps from the grid to so far over its edge."""
    start = max(0, int((-over - _WIDTH) / _STEP))
    near = weights[start : max(start, int((_WIDTH - over) / _STEP) + 1)]
    return sum(weight * exp(-((over + at * _STEP) ** 2) / 2) for at, weight in enumerate(near, start)) / sqrt(2 * pi)


def student_above(at: float, freedom: int) -> float:
    """Return the chance that Student's t is above some value: the incomplete beta function by its continued fraction.

    >>> round(student_above(2.228, 10), 4), round(student_above(0.0, 3), 4)
    (0.025, 0.5)
    """
    if at < 0:
        return 1 - student_above(-at, freedom)
    return _beta(freedom / (freedom + at * at), freedom / 2, 0.5) / 2


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function (Lentz's method, as Numerical Recipes 6.4 describes it)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, found = 1.0, d
    for m in range(1, 300):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + step * d), 1 + step / c
            found *= d * c
        if abs(d * c - 1) < 1e-12:
            break
    return front * found
