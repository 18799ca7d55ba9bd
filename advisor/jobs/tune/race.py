"""A race of candidates in blocks: who runs next, who is left out, when to stop, and what is proven then.

Candidate 0 is the line that the others are held against. In a block every candidate that is left runs once, in random order.
All figures are logarithms of times, so that differences are ratios. Two statements are kept apart:

- "faster than the line you had" rests on the order of the runs alone (SignWalk): whatever the noise, a false one is no likelier
  than ALPHA in the whole race.
- "not more than the worth faster than the leader", which leaves a candidate out, supposes noise of a similar width for all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from math import ceil, inf, log, sqrt
from statistics import NormalDist, median
from typing import Final, Literal

from advisor.jobs.tune.interval import hodges_lehmann, interval
from advisor.jobs.tune.sequential import SignWalk, gaussian_limits, student_above

ALPHA: Final = 0.05
"""The chance of a false winner in a race where nothing is faster than the line it began with."""
OUT: Final = 0.05
"""The chance, over all looks, that the line which is best by more than the worth is left out for another that is not."""
_LOOKS: Final = 60
"""Limits are computed for so many blocks at a time."""
_FIRST: Final = 3
"""Blocks before anybody is left out."""
_FEW: Final = 8
"""Below so many blocks a median serves, from there on a mean without the highest and lowest fifths."""
_EFFICIENCY: Final = (1.2, 1.06)
"""Standard errors of these two, relative to the mean's, under normal noise (Hoaglin, Mosteller and Tukey 1983, ch. 10)."""
_OWN: Final = 6
"""Blocks from which a pair's own noise counts, where it is more than that of all."""
_PRIOR: Final = 10
"""So many blocks of a pair weigh as much as the noise of all."""
_PATIENCE: Final = 14
_FAR: Final = 3
"""An answer is out of reach where it would take so many times the blocks that there is room for, as seen after PATIENCE."""
_FLOOR: Final = 1e-4
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
    """Proven to be faster than candidate 0; None where there is no such proof."""
    leader: int
    """The fastest so far, proven or not."""
    open: tuple[int, ...] = ()
    """Candidates that may still be more than the worth faster than the leader."""
    noise: float = 0.0
    """One run's standard deviation, relative."""
    blocks_needed: int | None = None
    """About how many blocks an answer would take, where there is none."""


@dataclass
class Race:
    """The state of a race after the blocks that were given to it."""

    candidates: int
    worth: float = 0.02
    alpha: float = ALPHA
    blocks: list[dict[int, float]] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    """Who runs in the next block."""
    failed: set[int] = field(default_factory=set)
    left_out: dict[int, int] = field(default_factory=dict)
    """Candidates that do not run any more, and after how many blocks."""
    over: bool = False

    def __post_init__(self) -> None:
        self.active = self.active or list(range(self.candidates))
        self._shift = log(1 + self.worth)
        self._level = self.alpha / max(2, self.candidates - 1)  # two ends of an interval
        self._centred: list[dict[int, float]] = []
        self._faster = {each: SignWalk(self._level) for each in range(1, self.candidates)}
        self._small: dict[int, tuple[SignWalk, int]] = {}
        self.noise, self._freedom, self.leader = 0.0, 1, 0

    def is_futile(self, room: int) -> bool:
        """Return whether the noise is such that the next answer would take far more blocks than there is room for."""
        if len(self.blocks) < _PATIENCE or self.over:
            return False
        return self._next_answer() > _FAR * room

    def _next_answer(self) -> int:
        """Return about how many blocks the next answer takes: whether there is a winner, then who else may be as fast."""
        if self.leader in self.claimed:
            others = (self.differences(each, self.leader) for each in self.active if each not in (self.leader, 0))
            gaps = [middle(found) + self._shift for found in others if found]
            return self._blocks_for(max(self._shift / 2, *gaps)) if gaps else 0
        gain = -middle(self.differences(self.leader, 0)) if self.leader else 0.0
        return self._blocks_for(max(gain, self._shift))

    def add(self, figures: Mapping[int, float]) -> None:
        """Take a block: the logarithm of each candidate's time; one that failed has none."""
        if figures:
            self.blocks.append(dict(figures))
            middle = median(figures.values())
            self._centred.append({each: value - middle for each, value in figures.items()})
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

    def _look(self) -> None:
        blocks = len(self.blocks)
        self._measure_noise()
        if blocks < _FIRST or (blocks > 14 and blocks % 2):  # to look less often than the limits allow is safe
            return
        self.leader = self._leading()
        runners = [each for each in range(self.candidates) if each not in self.failed]
        left = [each for each in runners if each == self.leader or not self._no_better(each)]
        settled = self.leader == 0 or self.leader in self.claimed or self.gain_is_small(self.leader)
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
        rows = self._centred
        columns: dict[int, list[float]] = {}
        for row in rows:
            for each, value in row.items():
                columns.setdefault(each, []).append(value)
        residuals = [abs(value - middle) for values in columns.values() for middle in (median(values),) for value in values]
        self._freedom = max(3, len(residuals) - len(rows) - len(columns) + 1)
        self.noise = 1.4826 * median(residuals) * sqrt(len(residuals) / self._freedom) + _FLOOR

    def _leading(self) -> int:
        runners = [each for each in self.active if each not in self.failed]
        whole = [row for row in self._centred if all(each in row for each in runners)]
        if len(whole) < _FIRST:
            return min(runners, key=lambda each: median([row[each] for row in self._centred if each in row] or [inf]))
        return min(runners, key=lambda each: trimmed_mean([row[each] for row in whole]))

    def _no_better(self, candidate: int) -> bool:
        """Return whether a candidate is proven to be not more than the worth faster than the leader."""
        found = self.differences(candidate, self.leader)
        if len(found) < _FIRST:
            return False
        limit = self._limit(len(found))
        return (middle(found) + self._shift) / self._error(found) >= limit

    def _limit(self, blocks: int) -> float:
        """Return the limit in standard errors, wider where the noise itself is known from few runs."""
        normal = gaussian_limits(OUT, _LOOKS * ceil(blocks / _LOOKS))[blocks]
        return _as_student(normal, self._freedom)

    def _error(self, found: Sequence[float]) -> float:
        """Return the standard error of the middle of differences, by the noise of all, or of these where theirs is more."""
        count, shared = len(found), self.noise
        own = 1.4826 * median([abs(each - median(found)) for each in found]) / sqrt(2) if count >= _OWN else 0.0
        if own > shared:
            shared = sqrt((_PRIOR * shared**2 + count * own**2) / (_PRIOR + count))
        return _EFFICIENCY[count >= _FEW] * shared * sqrt(2 / count)

    def gain_is_small(self, candidate: int) -> bool:
        """Return whether a candidate's gain over candidate 0 is proven to be less than the worth."""
        if candidate == 0:
            return True
        walk, used = self._small.get(candidate, (SignWalk(self._level), 0))
        found = self.differences(candidate, 0)
        for each in found[used:]:
            walk.add(each + self._shift)
        self._small[candidate] = walk, len(found)
        return walk.proven

    def interval(self, candidate: int) -> tuple[float, float, float, bool] | None:
        """Return how much longer than candidate 0 one takes: least, middle, most; and whether that is by the exact test.

        Where it ran too few blocks for that test the interval supposes noise of a similar width for all.
        """
        found = self.differences(candidate, 0)
        if candidate == 0 or len(found) < 2:
            return None
        exact = interval(found, self._level, (0.0, -self._shift))
        if exact is not None:
            return (*exact, True)
        centre, margin = hodges_lehmann(found), self._limit(max(len(found), _FIRST)) * self._error(found)
        return centre - margin, centre, centre + margin, False

    def verdict(self) -> Verdict:
        """Return what the blocks so far have shown."""
        if not self.blocks:
            return Verdict("cannot tell", None, 0, tuple(range(1, self.candidates)))
        claimed, leader = self.claimed, self._leading()
        self.leader = leader
        running = [each for each in range(self.candidates) if each not in self.failed and each != leader]
        still = tuple(each for each in running if not self._no_better(each))
        if claimed:
            best = leader if leader in claimed else min(claimed, key=lambda each: middle(self.differences(each, 0)))
            return Verdict("faster", best, leader, tuple(each for each in (*still, leader) if each != best), self.noise)
        rivals = [each for each in still if each != 0]
        if not rivals and self.gain_is_small(leader):
            return Verdict("no difference", None, leader, (), self.noise)
        return Verdict("cannot tell", None, leader, tuple(rivals), self.noise, self._needed(leader, rivals))

    def _needed(self, leader: int, rivals: Sequence[int]) -> int:
        """Return about how many blocks would tell, with four chances in five: that the leader is faster, or that nothing is."""
        gain = -middle(self.differences(leader, 0)) if leader else 0.0
        others = [middle(found) + self._shift for each in rivals if (found := self.differences(each, leader))]
        gap = max(gain, min([self._shift - gain, *others]), self._shift / 2)
        return max(len(self.blocks) + 1, self._blocks_for(gap))

    def _blocks_for(self, gap: float) -> int:
        """Return about how many blocks prove a gap, with four chances in five."""
        sure = NormalDist().inv_cdf(1 - self._level) + NormalDist().inv_cdf(0.8)
        return ceil((sure * 1.45 * self.noise / gap) ** 2)


def middle(values: Sequence[float]) -> float:
    """Return the median of a few values, the trimmed mean of more."""
    return median(values) if len(values) < _FEW else trimmed_mean(values)


def trimmed_mean(values: Sequence[float]) -> float:
    """Return the mean without the highest and the lowest fifth."""
    cut = len(values) // 5
    kept = sorted(values)[cut : len(values) - cut]
    return sum(kept) / len(kept)


_MANY: Final = 30
"""Degrees of freedom from which the expansion for many is exact to a thousandth."""


@lru_cache(maxsize=4096)
def _as_student(normal: float, freedom: int) -> float:
    """Return the value of Student's t that is as rare as a value of the normal distribution."""
    if freedom >= _MANY:
        return _as_student_of_many(normal, freedom)
    chance = 1 - NormalDist().cdf(normal)
    low, high = normal, normal * 10
    for _ in range(30):
        at = (low + high) / 2
        low, high = (at, high) if student_above(at, freedom) > chance else (low, at)
    return high


def _as_student_of_many(normal: float, freedom: int) -> float:
    """Return the same for many degrees of freedom (Abramowitz and Stegun 1964, 26.7.5)."""
    square = normal * normal
    terms = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
    )
    return normal * (1 + sum(float(term / freedom**power) for power, term in enumerate(terms, 1)))
