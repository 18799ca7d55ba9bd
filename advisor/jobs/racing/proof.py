"""Turns times of candidates into who runs next, who is left out, when to stop, and what is proven. Pure: no clock, no host.

Candidate 0 is the line that the others are held against. In a block every candidate that is left runs once, in random order.
All figures are logarithms of times, so that differences are ratios. Two statements are kept apart:

- "faster than the line you had" rests on the order of the runs alone (SignWalk): whatever the noise, a false one is no likelier
  than ALPHA in the whole race.
- "not more than the worth faster than the leader", which leaves a candidate out, supposes noise of a similar width for all.

Tests may be looked at after every block: the error that is stated holds over all looks together. Limits are exact.
``SignWalk`` proves that a paired difference is above zero. It supposes one thing: that the sign of each difference is a fair
coin where there is none, which the random order inside a block makes true whatever drifts or bursts there are. It is a sign-flip
test (Fisher 1935; Pitman 1937) on sequential ranks (Parent 1965; Reynolds 1975), its limits computed on the sizes that were
seen. ``gaussian_limits`` are those of a walk with normal steps (Armitage, McPherson and Rowe 1969). Both spend their error by
a function of the blocks run so far (Lan and DeMets 1983) that never spends all: a race may always be continued.
Intervals never contradict the verdict: they hold the values that the same test does not refuse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import combinations_with_replacement
from math import ceil, comb, erfc, exp, floor, inf, lgamma, log, log1p, pi, prod, sqrt
from statistics import NormalDist, median
from typing import Literal, NamedTuple

_LEVELS = 8
"""Steps in which a size is weighed against those before it."""
_OUTLIER = 6.0
"""Times the lower quartile of sizes: what is above says nothing. With normal noise that is one difference in 18."""
_FIRST = 3
"""Blocks before anybody is left out."""
_HALF = 50.0
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
        if len(self._sizes) >= _FIRST and size > _OUTLIER * sorted(self._sizes)[len(self._sizes) // 4]:
            return  # a run that was disturbed is no more than that, whichever line it hit
        weight = max(1, round(2 * _LEVELS * sum(each <= size for each in self._sizes) / (len(self._sizes) + 1)))
        self._sum += weight if difference > 0 else -weight
        # Flip one more coin: the chances of all sums that have not been proof.
        before, pad = self._alive + [0.0] * (2 * self._reach + 1 - len(self._alive)), [0.0] * (2 * weight)
        self._alive = [(one + other) / 2 for one, other in zip(before + pad, pad + before, strict=True)]
        self._reach += weight
        # The least sum whose chance, with all above it, is within the error that is left.
        room, tail, at = spent(self.level, self.blocks) - self._used, 0.0, len(self._alive)
        while at > 0 and tail + self._alive[at - 1] <= room:
            at -= 1
            tail += self._alive[at]
        if self._sum >= at - self._reach:
            self.proven_at = self.blocks
        self._used += tail
        del self._alive[at:]


def proves(differences: Sequence[float], shift: float, level: float) -> bool:
    """Return whether differences are proven to be above a shift, at any of their looks."""
    walk = SignWalk(level)
    for each in differences:
        walk.add(each - shift)
        if walk.proven:
            return True
    return False


_STEP = 0.25
_WIDTH = 6.5
"""Standard errors: what lies beyond is less than 1e-10."""


@lru_cache(maxsize=64)
def gaussian_limits(level: float, most: int) -> tuple[float, ...]:
    """Return, by the number of blocks from 0 on, from how many standard errors above zero a mean is proof.

    The density of the sums that were no proof is carried from block to block, on a grid that ends at the limit.
    """
    limits, used = [inf] * _FIRST, spent(level, _FIRST)
    edge = _where(lambda at: _above(at / sqrt(_FIRST)), used, _WIDTH * sqrt(_FIRST))
    density = _grid(edge, _FIRST, lambda at: exp(-at * at / (2 * _FIRST)) / sqrt(2 * pi * _FIRST))
    limits.append(edge / sqrt(_FIRST))
    for blocks in range(_FIRST + 1, most + 1):
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
    return 1 - student_above(-at, freedom) if at < 0 else _beta(freedom / (freedom + at * at), freedom / 2, 0.5) / 2


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function (Lentz's method, as Numerical Recipes 6.4 describes it)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, value = 1.0, d
    for m in range(1, 300):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + step * d), 1 + step / c
            value *= d * c
        if abs(d * c - 1) < 1e-12:
            break
    return front * value


_MANY = 30
"""Degrees of freedom from which the expansion for many is exact to a thousandth."""


@lru_cache(maxsize=4096)
def _as_student(normal: float, freedom: int) -> float:
    """Return the value of Student's t that is as rare as a value of the normal distribution.

    Of many degrees of freedom by its expansion (Abramowitz and Stegun 1964, 26.7.5).
    """
    if freedom < _MANY:
        return _where(lambda at: student_above(at, freedom), 1 - NormalDist().cdf(normal), normal * 10)
    square = normal * normal
    terms = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
    )
    return normal * (1 + sum(float(term / freedom**power) for power, term in enumerate(terms, 1)))


_HALVINGS = 9
"""Of the range of differences: the ends are exact to a five-hundredth of it."""


def hodges_lehmann(values: Sequence[float]) -> float:
    """Return the median of all pairs' averages (Hodges and Lehmann 1963)."""
    return median((one + other) / 2 for one, other in combinations_with_replacement(values, 2))


def interval(
    differences: Sequence[float], levels: tuple[float, float], asked: Sequence[float] = (0.0,)
) -> tuple[float, float, float] | None:
    """Return the lower end, the middle and the upper end of what differences are about; None where they are too few.

    ``levels`` are those of the two ends over all looks. What the race itself ``asked``, whether they are above 0
    or below the worth, the ends answer alike.
    """
    if not differences:
        return None
    centre = hodges_lehmann(differences)
    low = _end(differences, levels[0], centre, asked)
    high = _end([-each for each in differences], levels[1], -centre, [-each for each in asked])
    return None if low is None or high is None else (low, centre, -high)


def _end(differences: Sequence[float], level: float, near: float, asked: Sequence[float]) -> float | None:
    """Return up to where values are refused, between one far below and the middle; None where not even that one is."""
    far = min(differences) - 0.1 * (max(differences) - min(differences) or 1e-6)

    def refused(shift: float) -> bool:
        return proves(differences, shift, level)

    if not refused(far):
        return None
    for each in asked:
        if far < each < near:
            far, near = (each, near) if refused(each) else (far, each)
    return _last_refused(refused, far, near, _HALVINGS)


def _last_refused(refused: Callable[[float], bool], far: float, near: float, halvings: int) -> float:
    """Return where values stop being refused, between one that is and one that is not."""
    for _ in range(halvings):
        at = (far + near) / 2
        far, near = (at, near) if refused(at) else (far, at)
    return far


# figures that may be exchanged, as those of restarts in a random order


Stratum = tuple[Sequence[float], Sequence[float]]
"""Logarithms of the first state's figures and of the other's, of restarts that may be exchanged."""
_GRAINS = 1 << 17
"""Grains of the range of all figures, for so many of them: those of eight are told apart to a sixteen-thousandth of it."""
_FINER = 18


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
        ways *= _ways(whole, len(other), bits)
        seen += sum(whole[len(one) :])
        middle += sum(whole) * len(other) / len(whole)
    away = abs(seen - middle) - _GRAINLET
    above, below = ceil(middle + away), floor(middle - away)
    far = _digits(ways >> bits * max(0, above), bits) + (
        _digits(ways & ((1 << bits * (below + 1)) - 1), bits) if below >= 0 else 0
    )
    return min(1.0, far / total)


_GRAINLET = 1e-6


def _ways(values: Sequence[int], size: int, bits: int) -> int:
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
    low = _ratio_end(strata, level, min(pairs) - width, middle)
    high = _ratio_end(strata, level, max(pairs) + width, middle)
    return Contrast(exp(middle), None if low is None else exp(low), None if high is None else exp(high), permutation_p(strata))


def _ratio_end(strata: Sequence[Stratum], level: float, far: float, near: float) -> float | None:
    """Return up to where shifts are refused, between one far off and the middle; None where not even that one is."""

    def refused(shift: float) -> bool:
        return permutation_p(strata, shift) <= level

    if not refused(far):
        return None
    if refused(0.0) and min(far, near) < 0 < max(far, near):
        far = 0.0  # the verdict and the interval answer alike
    return _last_refused(refused, far, near, _FINER)


_CONFIDENCE = 0.05


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the order statistics between which the median is with 95 % (sign test); None below six values."""
    count, chance, at, ways = len(values), 0.0, 0, 1.0
    while at < count // 2 and 2 * (chance + ways / 2**count) <= _CONFIDENCE:
        chance += ways / 2**count
        ways = ways * (count - at) / (at + 1)
        at += 1
    ordered = sorted(values)
    return (ordered[at - 1], ordered[count - at]) if at else None


_SPEEDS, _SCARCE = 5.0, 130.0
"""Of few runs a gap is more often chance: of n it is 130 / n times the spread. Of normal noise one line in a hundred has one."""
_SHARE = 0.2
_RUNS = 10


def two_speeds(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the two speeds of a line that has two: a gap far above the spread beside it, a fifth of the runs on each side."""
    ordered, least = sorted(values), max(2, int(_SHARE * len(values) + 0.999))
    if len(ordered) < max(2 * least, _RUNS):
        return None
    gap, at = max((ordered[at] - ordered[at - 1], at) for at in range(least, len(ordered) - least + 1))
    parts = ordered[:at], ordered[at:]
    spread = median([abs(each - median(part)) for part in parts for each in part])
    return (median(parts[0]), median(parts[1])) if gap > max(_SPEEDS, _SCARCE / len(ordered)) * spread and gap > 0 else None


ALPHA = 0.05
"""The chance of a false winner in a race where nothing is faster than the line it began with."""
SMALL = 0.025
"""The chance that the leader's gain is called small and is not: with a line's own share of ALPHA an interval's 95 % hold."""
OUT = 0.05
"""The chance, over all looks, that the line which is best by more than the worth is left out for another that is not."""
_LOOKS = 60
"""Limits are computed for so many blocks at a time."""
_FEW = 8
"""Below so many blocks a median serves, from there on a mean without the highest and lowest fifths."""
_EFFICIENCY = (1.2, 1.06)
"""Standard errors of these two, relative to the mean's, under normal noise (Hoaglin, Mosteller and Tukey 1983, ch. 10)."""
_BOTH = NormalDist().inv_cdf(1 - SMALL) / NormalDist().inv_cdf(1 - OUT)
"""So much wider is an interval by the model than one end of it."""
_OWN = 6
"""Blocks from which a pair's own noise counts, where it is more than that of all."""
_PRIOR = 10
"""So many blocks of a pair weigh as much as the noise of all."""
_PATIENCE = 8
_FAR = 3
"""Who else is as fast as a winner is out of reach where it would take so many times the blocks that there is room for."""
_FLOOR = 1e-4
"""The least noise that is believed: a ten thousandth."""

Answer = Literal["faster", "no difference", "cannot tell"]


def order(candidates: Sequence[int], seed: int, block: int) -> tuple[int, ...]:
    """Return the candidates in the random order of a block: that of the hashes of seed, block and number."""
    return tuple(sorted(candidates, key=lambda each: sha256(f"{seed}:{block}:{each}".encode()).digest()))


@dataclass(frozen=True)
class Verdict:
    """What a race has shown."""

    answer: Answer
    winner: int | None
    """Proven to be faster than candidate 0; None if there is no such proof."""
    leader: int
    """The fastest so far, proven or not."""
    open: tuple[int, ...] = ()
    """Candidates that may still be more than the worth faster than the leader."""
    noise: float = 0.0
    """One run's standard deviation, relative."""
    blocks_needed: int | None = None
    """About how many blocks an answer would take, where there is none."""


class Race:
    """The state of a race after the blocks that were given to it."""

    def __init__(self, candidates: int, worth: float = 0.02) -> None:
        self.candidates, self.worth = candidates, worth
        self.blocks: list[dict[int, float]] = []
        self.active = list(range(candidates))
        """Who runs in the next block."""
        self.failed: set[int] = set()
        self.left_out: dict[int, int] = {}
        """Candidates that do not run any more, and after how many blocks."""
        self.over = False
        self._shift = log(1 + worth)
        self._level = ALPHA / max(2, candidates - 1)  # with SMALL never more than the 5 % of an interval
        self._centred: list[dict[int, float]] = []
        self._faster = {each: SignWalk(self._level) for each in range(1, candidates)}
        self._small: dict[int, SignWalk] = {}
        self.noise, self._freedom, self.leader = 0.0, 1, 0

    def is_futile(self, runs: float) -> bool:
        """Return whether the noise is such that the next answer is out of reach within so many more runs.

        That is whether there is a winner, or that there is none: supposing that the best line gains half a standard error more
        than it shows, or that what it shows shrinks as chance does. Then it is who else may be as fast.
        """
        blocks = len(self.blocks)
        if blocks < _PATIENCE or self.over:
            return False
        room = blocks + runs / len(self.active)
        if self.leader in self.claimed:
            others = [self.differences(each, self.leader) for each in self.active if each not in (self.leader, 0)]
            gaps = [middle(pairs) + self._shift for pairs in others if pairs]
            return bool(gaps) and self._blocks_for(max(self._shift / 2, *gaps)) > _FAR * room
        gain = max(self._gain(each) for each in self.active if each)
        error = _EFFICIENCY[blocks >= _FEW] * self.noise * sqrt(2 / blocks)
        rest = self._shift - max(0.0, gain) * sqrt(blocks / room)
        return min(self._blocks_for(gain + error / 2), self._blocks_for(rest, SMALL)) > room

    def add(self, figures: Mapping[int, float]) -> None:
        """Take a block: the logarithm of each candidate's time; one that failed has none."""
        if figures:
            self.blocks.append(dict(figures))
            centre = median(figures.values())
            self._centred.append({each: value - centre for each, value in figures.items()})
            for each, walk in self._faster.items():
                if 0 in figures and each in figures:
                    walk.add(figures[0] - figures[each])
            self._look()

    def fail(self, candidate: int) -> None:
        """Take a candidate out of the race: it does not run."""
        self.failed.add(candidate)
        self.left_out.setdefault(candidate, len(self.blocks))
        self.active = [each for each in self.active if each != candidate]
        self.over = self.over or len(self.active) < 2

    @property
    def claimed(self) -> tuple[int, ...]:
        """Candidates that are proven to be faster than candidate 0."""
        return tuple(each for each, walk in self._faster.items() if walk.proven and each not in self.failed)

    def differences(self, one: int, other: int) -> list[float]:
        """Return by how much a candidate took longer than another, in the blocks in which both ran."""
        return [block[one] - block[other] for block in self.blocks if one in block and other in block]

    def _gain(self, candidate: int) -> float:
        return -middle(self.differences(candidate, 0)) if candidate else 0.0

    def _running(self) -> list[int]:
        return [each for each in range(self.candidates) if each not in self.failed]

    def _look(self) -> None:
        blocks = len(self.blocks)
        self._measure_noise()
        if blocks < _FIRST or (blocks > 14 and blocks % 2):  # to look less often than the limits allow is safe
            return
        self.leader = self._leading()
        left = [each for each in self._running() if each == self.leader or not self._no_better(each)]
        settled = self.leader in self.claimed or self._gain_is_small(self.leader)
        if left == [self.leader] and settled:
            self.over = True
        elif not settled and 0 not in left:
            left = [0, *left]
        now = sorted({0, *left}) if len(left) == 1 else left
        self.left_out |= {each: blocks for each in self.active if each not in now}
        for each in now:
            self.left_out.pop(each, None)
        self.active = [self.leader] if self.over else now

    def _measure_noise(self) -> None:
        """Measure one run's spread: of what is left of all figures without what is the block's and what the candidate's."""
        columns: dict[int, list[float]] = {}
        for row in self._centred:
            for each, value in row.items():
                columns.setdefault(each, []).append(value)
        residuals = [abs(value - centre) for values in columns.values() for centre in (median(values),) for value in values]
        self._freedom = max(3, len(residuals) - len(self._centred) - len(columns) + 1)
        self.noise = 1.4826 * median(residuals) * sqrt(len(residuals) / self._freedom) + _FLOOR

    def _leading(self) -> int:
        runners = [each for each in self.active if each not in self.failed]
        whole = [row for row in self._centred if all(each in row for each in runners)]
        if len(whole) < _FIRST:
            return min(runners, key=lambda each: median([row[each] for row in self._centred if each in row] or [inf]))
        return min(runners, key=lambda each: trimmed_mean([row[each] for row in whole]))

    def _no_better(self, candidate: int) -> bool:
        """Return whether a candidate is proven to be not more than the worth faster than the leader."""
        pairs = self.differences(candidate, self.leader)
        return len(pairs) >= _FIRST and (middle(pairs) + self._shift) / self._error(pairs) >= self._limit(len(pairs))

    def _limit(self, blocks: int) -> float:
        """Return the limit in standard errors, wider where the noise itself is known from few runs."""
        return _as_student(gaussian_limits(OUT, _LOOKS * ceil(blocks / _LOOKS))[blocks], self._freedom)

    def _error(self, pairs: Sequence[float]) -> float:
        """Return the standard error of the middle of differences, by the noise of all, or of these where theirs is more."""
        count, shared = len(pairs), self.noise
        own = 1.4826 * median([abs(each - median(pairs)) for each in pairs]) / sqrt(2) if count >= _OWN else 0.0
        if own > shared:
            shared = sqrt((_PRIOR * shared**2 + count * own**2) / (_PRIOR + count))
        return _EFFICIENCY[count >= _FEW] * shared * sqrt(2 / count)

    def _gain_is_small(self, candidate: int) -> bool:
        """Return whether a candidate's gain over candidate 0 is proven to be less than the worth."""
        if candidate == 0:
            return True
        walk = self._small.setdefault(candidate, SignWalk(SMALL))
        for each in self.differences(candidate, 0)[walk.blocks :]:
            walk.add(each + self._shift)
        return walk.proven

    def interval(self, candidate: int) -> tuple[float, float, float, bool] | None:
        """Return how much longer than candidate 0 one takes: least, middle, most; and whether that is by the exact test.

        Where it ran too few blocks for that test the interval supposes noise of a similar width for all.
        """
        pairs = self.differences(candidate, 0)
        if candidate == 0 or len(pairs) < 2:
            return None
        exact = interval(pairs, (SMALL, self._level), (0.0, -self._shift))
        if exact is not None:
            return (*exact, True)
        centre, margin = middle(pairs), _BOTH * self._limit(max(len(pairs), _FIRST)) * self._error(pairs)
        return min(centre - margin, *pairs), centre, max(centre + margin, *pairs), False  # of three, two may be disturbed

    def verdict(self) -> Verdict:
        """Return what the blocks so far have shown."""
        if not self.blocks:
            return Verdict("cannot tell", None, 0, tuple(range(1, self.candidates)))
        claimed = self.claimed
        self.leader = leader = self._leading()
        still = [each for each in self._running() if each != leader and not self._no_better(each)]
        if claimed:
            best = leader if leader in claimed else min(claimed, key=lambda each: middle(self.differences(each, 0)))
            return Verdict("faster", best, leader, tuple(each for each in (*still, leader) if each != best), self.noise)
        rivals = tuple(each for each in still if each != 0)
        if not rivals and self._gain_is_small(leader):
            return Verdict("no difference", None, leader, (), self.noise)
        # What would tell: that the leader is faster, or that nothing is.
        gain = self._gain(leader)
        others = [middle(pairs) + self._shift for each in rivals if (pairs := self.differences(each, leader))]
        needed = self._blocks_for(max(gain, min([self._shift - gain, *others]), self._shift / 2))
        return Verdict("cannot tell", None, leader, rivals, self.noise, max(len(self.blocks) + 1, needed))

    def _blocks_for(self, gap: float, level: float | None = None) -> int:
        """Return about how many blocks prove a gap, with four chances in five."""
        sure = NormalDist().inv_cdf(1 - (level or self._level)) + NormalDist().inv_cdf(0.8)
        return ceil((sure * 1.45 * self.noise / max(gap, _FLOOR)) ** 2)


def middle(values: Sequence[float]) -> float:
    """Return the median of a few values, the trimmed mean of more."""
    return median(values) if len(values) < _FEW else trimmed_mean(values)


def trimmed_mean(values: Sequence[float]) -> float:
    """Return the mean without the highest and the lowest fifth."""
    cut = len(values) // 5
    kept = sorted(values)[cut : len(values) - cut]
    return sum(kept) / len(kept)
