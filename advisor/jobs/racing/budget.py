"""What a race may take, and how much of it is left: runs, minutes, how long a run may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import monotonic
from typing import Final

from advisor.jobs.racing.journal import Journal

_OVER: Final = 0.02
"""Part of the time that a block may go beyond it, where it could not be foreseen."""
_LEAST: Final = 5.0
"""Seconds that a run is given at least."""
_SLOW: Final = 3.0
"""A run that takes so many times as long as the fastest line is ended: it counts as that long."""
BLOCKS: Final = 30
"""Blocks of all lines that --runs allows by itself."""


@dataclass(frozen=True)
class Limits:
    """What a race may take, and what a gain is worth."""

    worth: float = 0.02
    minutes: float | None = None
    runs: int | None = None
    timeout: float = 3600.0
    """Seconds for a run of the warm-up, of which nothing is known yet."""
    busy_ok: bool = False
    seed: int | None = None


class Budget:
    """The time and the runs of one race, those before an interruption counted."""

    def __init__(self, limits: Limits, journal: Journal, lines: int) -> None:
        self.limits, self._journal, self._lines = limits, journal, lines
        self._begun, self._before = monotonic(), journal.seconds
        self._budget = limits.minutes * 60 if limits.minutes else None
        self.most = limits.runs or BLOCKS * lines

    @property
    def elapsed(self) -> float:
        """Seconds that the race has taken."""
        return self._before + monotonic() - self._begun

    @property
    def over(self) -> bool:
        """Whether the time is spent."""
        return self._budget is not None and self.elapsed >= self._budget

    def takes(self, lines: Sequence[int]) -> float:
        """Return how long a block of some lines takes, as their runs so far show."""
        return sum(median(times) for each in lines if (times := self._journal.times(each)))

    def at_most(self) -> float:
        """Return how long the whole race takes at most."""
        most = self.most // self._lines * self.takes(range(self._lines))
        return min(most, self._budget) if self._budget else most

    def room(self, blocks: int) -> int:
        """Return how many blocks of all lines it holds, after so many."""
        room = self.most // self._lines
        if self._budget and blocks:
            room = min(room, max(blocks, round(blocks * self._budget / max(self.elapsed, 0.001))))
        return max(1, room)

    def first_timeout(self) -> float:
        """Return how long a run of the warm-up may take."""
        return self._within(self.limits.timeout)

    def timeout(self) -> float:
        """Return how long a run may take: so many times the fastest line's median."""
        medians = [median(times) for each in range(self._lines) if (times := self._journal.times(each))]
        return self._within(max(_LEAST, _SLOW * min(medians)) if medians else self.limits.timeout)

    def _within(self, wanted: float) -> float:
        if self._budget is None:
            return wanted
        return max(0.1, min(wanted, self._budget * (1 + _OVER) - self.elapsed))

    def spent(self, lines: Sequence[int], block: int) -> str | None:
        """Return why the next block does not begin: it would not end within the budget."""
        missing = [each for each in lines if not self._journal.of(block, each)]
        if sum(run.block > 0 for run in self._journal.runs) + len(missing) > self.most:
            return f"all {self.most} runs are made"
        if self._budget is not None and self.elapsed + self.takes(missing) > self._budget:
            return "the time is spent: one more block would not end in it"
        return None
