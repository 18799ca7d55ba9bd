"""Runs a race: warm-up, blocks, the journal, the budget; and says what it showed."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import log
from pathlib import Path
from typing import Any, Final

import advisor
from advisor.errors import BadInput, CannotWork
from advisor.jobs.pages.tune import in_time
from advisor.jobs.probe import probe_words
from advisor.jobs.racing.budget import Budget, Limits
from advisor.jobs.racing.journal import Journal, Run, begun, read_journal, resumed
from advisor.jobs.racing.line import RaceField, write
from advisor.jobs.racing.runs import Metric, Outcome, misplaced, run_line
from advisor.jobs.tune.race import Race, Verdict, order
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import screened
from advisor.measure import task as measure
from advisor.measure.measurement import identity_of
from advisor.measure.resources import Resources
from advisor.paths import template

_AT_BEST: Final = 8
"""Blocks before anything can be proven."""
_TRIES: Final = 2
"""Failures after which a line is left out."""


@dataclass
class Raced:
    """A race as it stands: what ran, what it showed."""

    entries: RaceField
    race: Race
    journal: Journal
    metric: Metric
    limits: Limits
    dropped: dict[int, str] = field(default_factory=dict)
    """Lines that were left out because they did not run as planned, and why."""
    notes: list[str] = field(default_factory=list)
    ended: str = ""
    """Why it ended: in words."""
    interrupted: bool = False

    @property
    def verdict(self) -> Verdict:
        """Return what it showed."""
        return self.race.verdict()

    def figures(self, candidate: int) -> list[float]:
        """Return the figures of a line that count, in the order of its runs."""
        return [run.figure for run in self.journal.runs if run.candidate == candidate and run.block and run.figure]


def race_lines(
    found: RaceField,
    metric: Metric,
    limits: Limits,
    folder: Path,
    *,
    asked: dict[str, Any],
    resume: bool,
    observer: Observer = SILENT,
) -> Raced:
    """Run a race, or go on with one; Ctrl-C ends it with what there is."""
    if len(found.lines) < 2:
        raise CannotWork("there is nothing to race: no other placement of this job fits and gives its ranks something else")
    machine = found.job_hosts.machines[0]
    head = screened(_head(found, limits, machine, asked))
    if resume:
        _must_fit(read_journal(folder).head, head, folder)
    journal = resumed(folder) if resume else begun(folder, head)
    lines = tuple(write(line, folder) for line in found.lines)
    raced = Raced(
        RaceField(lines, found.job_hosts, found.notes),
        Race(len(lines), journal.head["worth"]),
        journal,
        metric,
        limits,
        notes=list(found.notes),
    )
    try:
        Runner(raced, machine, observer).run()
    except KeyboardInterrupt:
        raced.interrupted, raced.ended = True, "interrupted"
    finally:
        observer.end()
        journal.close()
    return raced


def _head(found: RaceField, limits: Limits, machine: Machine, asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "advisor": advisor.__version__,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": asked,
        "seed": limits.seed if limits.seed is not None else secrets.randbits(32),
        "worth": limits.worth,
        "machine": identity_of(machine).model_dump(mode="json"),
        "candidates": [{"name": line.name, "line": line.text} for line in found.lines],
    }


def _must_fit(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with a race of something else."""
    if not isinstance(before.get("seed"), int) or not isinstance(before.get("worth"), float):
        raise BadInput("the head of the race is damaged", file=str(folder), cure="begin a race with another -o DIR")
    for key, what in (
        ("asked", "of another command or with other options"),
        ("candidates", "of other lines"),
        ("worth", "with another --worth"),
    ):
        if before.get(key) != now[key]:
            raise BadInput(f"it is a race {what}", file=str(folder), cure="give the same options, or another folder with -o DIR")
    mine, theirs = now["machine"], before.get("machine") or {}
    if {**theirs, "name": None} != {**mine, "name": None}:
        raise BadInput("it was begun on another machine", file=str(folder), cure="times of two machines do not compare")


class Runner:
    """Runs block after block, from where the journal ends."""

    def __init__(self, raced: Raced, machine: Machine, observer: Observer) -> None:
        self._raced, self._race, self._journal = raced, raced.race, raced.journal
        self._topology, self._observer = machine.topology, observer
        self._places: object = None
        self._failures = [0] * len(raced.entries.lines)
        self._watch = measure.BusyWatch(LiveHost(), machine, Resources(machine)) if machine.topology else None
        self._lines = raced.entries.lines
        self._budget = Budget(raced.limits, raced.journal, len(self._lines))

    def run(self) -> None:
        """Warm up, then run blocks until the race is over or the budget is spent."""
        if self._watch:
            self._watch.must_be_idle(busy_ok=self._raced.limits.busy_ok)
        for candidate in range(len(self._lines)):
            self._warm(candidate)
        self._foretell()
        block = 1
        while not self._race.over:
            now = order(self._race.active, self._journal.head["seed"], block)
            if (ended := self._budget.spent(now, block)) is not None:
                self._raced.ended = ended
                break
            if not self._block(block, now):
                break
            block += 1
            if self._race.is_futile(self._budget.room(len(self._race.blocks))):
                what = "tell the fastest lines from each other" if self._race.claimed else "tell"
                self._raced.ended = f"ended early: at this noise the runs that are left would not {what}"
                break
        if self._watch:
            self._raced.notes += [f"others worked on the machine: {words}" for words in self._watch.words()]

    def _must_run(self) -> None:
        """Come before a run that the journal has not."""

    def _foretell(self) -> None:
        """Say what the race will take, as the warm-up shows."""
        takes = self._budget.takes(self._race.active)
        most = self._budget.at_most()
        span = f"from {in_time(min(most, _AT_BEST * takes))} to {in_time(most)}"
        text = f"{len(self._race.active)} lines, {in_time(takes)} for a block: {span}"
        self._observer.say(f"{text}; Ctrl-C ends it and keeps what it has")

    def _warm(self, candidate: int) -> None:
        """Run a line once or twice without counting it, its ranks saying where they are; leave out what does not run."""
        line, probe = self._lines[candidate], probe_words(template("probe.sh.j2"))
        why: str | None = None
        for attempt in range(1, _TRIES + 1):
            done = next((run for run in self._journal.of(0, candidate) if run.attempt == attempt), None)
            if done is None:
                self._must_run()
                self._observer.step("warm-up and check of the placement", line.name)
                outcome = run_line(line, self._raced.metric, self._budget.first_timeout(), probe)
                wrong = self._wrong(candidate, outcome)
                done = self._keep(
                    Run(0, candidate, outcome.figure, outcome.seconds, 0.0, wrong or outcome.why, outcome.timed_out, attempt)
                )
            why = done.why
            if why is None:
                return
        if candidate == 0:
            raise CannotWork(f"the line {line.name} does not run: {why}; see it run by itself first: {line.text}")
        self._leave_out(candidate, why or "")

    def _wrong(self, candidate: int, outcome: Outcome) -> str | None:
        """Return why a line that ran is none of this race: its ranks are elsewhere, or where those of the first line are."""
        if outcome.why is not None or outcome.seen is None:
            return None
        places = tuple((rank.rank, rank.host, rank.cpus) for rank in outcome.seen.ranks)
        if candidate == 0:
            self._places = places
            return None
        if self._lines[candidate].like_first:
            return None if places == self._places else f"its ranks are not where those of {self._lines[0].name} are"
        if places and places == self._places:
            return f"its ranks get the same CPUs as those of {self._lines[0].name}"
        return misplaced(self._lines[candidate], outcome.seen, self._topology)

    def _keep(self, run: Run) -> Run:
        kept = Run(**{**run.__dict__, "at": round(self._budget.elapsed, 3)})
        self._journal.add(kept)
        self._observer.detail(f"{self._lines[run.candidate].name}: {run.why or f'{run.figure:.6g}'}")
        return kept

    def _leave_out(self, candidate: int, why: str) -> None:
        self._raced.dropped[candidate] = why
        self._race.fail(candidate)

    def _block(self, block: int, now: Sequence[int]) -> bool:
        """Run each line once; return whether the budget held for all of them."""
        figures: dict[int, float] = {}
        for candidate in now:
            done = next(iter(self._journal.of(block, candidate)), None)
            if done is None:
                self._must_run()
                self._observer.step(f"block {block}, {len(now)} lines", self._lines[candidate].name)
                outcome = run_line(self._lines[candidate], self._raced.metric, self._budget.timeout())
                if outcome.timed_out and self._budget.over:
                    self._raced.ended = "the time is spent"
                    return False
                done = self._keep(self._of(outcome, block, candidate))
            if done.figure is not None:
                figures[candidate] = -log(done.figure) if self._raced.metric.high else log(done.figure)
            if done.why is not None:
                self._failed(candidate, done)
        self._race.add({each: value for each, value in figures.items() if each not in self._race.failed})
        return True

    def _of(self, outcome: Outcome, block: int, candidate: int) -> Run:
        """Return a run; a time that was cut off counts as what it had reached, which is slower than all others."""
        cut = outcome.timed_out and self._raced.metric.is_time
        if self._watch:
            self._watch.look()
        busy = self._watch.words() if self._watch else ()
        figure = outcome.seconds if cut else outcome.figure
        return Run(block, candidate, figure, outcome.seconds, 0.0, outcome.why, outcome.timed_out, 1, busy)

    def _failed(self, candidate: int, run: Run) -> None:
        self._failures[candidate] += 1
        if self._failures[candidate] < _TRIES:
            return
        if candidate == 0:
            raise CannotWork(f"the line {self._lines[0].name} failed {_TRIES} times: {run.why}; nothing can be held against it")
        self._leave_out(candidate, run.why or "")
