"""Tunes a line: its runs and their journal, the race, the line to paste, what bind may learn."""

import json
import re
import secrets
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from math import exp, isfinite, log
from pathlib import Path
from shutil import rmtree
from statistics import median
from time import monotonic
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

import advisor
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.launcher import why_failed
from advisor.jobs.observe import GatheredReports, Listener, PlannedRank, probe_words
from advisor.jobs.racing.energy import EnergyMeter, Goal
from advisor.jobs.racing.kernel import BEFORE, KernelRace, change_of, lines_of_change
from advisor.jobs.racing.lines import Asked, RaceField, RaceLine, lines_of, parted, what_ranks_get, why_different, write
from advisor.jobs.racing.proof import Race, Verdict, median_interval, order, two_speeds
from advisor.jobs.racing.result import LEARNED, Learned, PlannedRace, RacedLine, RacePage, RaceResult, RaceRow, in_time
from advisor.jobs.started.folder import checked
from advisor.jobs.started.hosts import Allocated, JobHosts
from advisor.jobs.verdict import compare_ranks
from advisor.machine.hosts.base import Why
from advisor.machine.hosts.files import FILE, JournalFile, Kind, Use, begin_file, open_here, trusted
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.settings import KernelHost
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import WITHHELD, screened
from advisor.machine.topology import Topology
from advisor.measure.measurement import Identity, identity_of, machine_mismatch
from advisor.measure.resources import Resources
from advisor.measure.run import BusyWatch
from advisor.paths import template

_LARGEST = 64 << 20
"""Bytes of a program's output that are kept to look for its figure: the last of them."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?"


@dataclass(frozen=True)
class Metric:
    """What is compared: wall time, energy, or a number that the program prints or writes."""

    pattern: re.Pattern[str] | None = None
    file: Path | None = None
    high: bool = False
    """Whether more is better, as of a rate."""
    goal: Goal = "time"
    meter: EnergyMeter | None = None

    @property
    def is_time(self) -> bool:
        """Whether it is the wall time of the whole line."""
        return self.pattern is None and self.file is None and self.goal == "time"


def metric_of(pattern: str | None, file: Path | None, better: str | None, goal: Goal = "time") -> Metric:
    """Return the figure that options name; refuse what cannot be read."""
    if goal != "time":
        if pattern is not None or file is not None or better is not None:
            raise BadValue(f"--for {goal} and --metric both define the figure", cure="give one of them")
        return Metric(goal=goal, meter=EnergyMeter(LiveHost()))
    if pattern is None and file is None:
        if better == "high":
            raise BadValue(
                "--better high needs a number from the program", cure="define it with --metric REGEX or --metric-file FILE"
            )
        return Metric()
    if better is None:
        raise BadValue("--metric alone does not show whether higher is better", cure="add --better high or --better low")
    try:
        found = re.compile(pattern) if pattern is not None else None
    except re.error as error:
        raise BadValue(
            f"--metric {str(pattern)[:60]} is not a regular expression: {error}", cure="such as 'GFLOPS: (\\S+)'"
        ) from error
    if found and found.groups > 1:
        raise BadValue("--metric has several groups", cure="capture only the number; write other groups as (?:...)")
    return Metric(found, file, better == "high")


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    figure: float | None
    seconds: float
    why: str | None = None
    timed_out: bool = False
    seen: GatheredReports | None = None
    joules: float | None = None


def run_line(line: RaceLine, metric: Metric, timeout: float, probe: Sequence[str] = ()) -> Outcome:
    """Run a line, with the probe in front of its program where it is given; KeyboardInterrupt ends its ranks first."""
    listener, output = Listener(), bytearray()

    def hear(chunk: bytes) -> None:
        if probe:
            listener.hear(chunk)
        if metric.pattern is not None and metric.file is None:
            output.extend(chunk)
            del output[:-_LARGEST]

    before = _stamp(metric.file)
    words, joules = (*line.argv, *probe, *line.program), None
    start = partial(LiveHost().launch, words, hear, timeout=timeout, variables=line.variables)
    if metric.meter is None:
        ran = start()
    else:
        ran, joules = metric.meter.measure(start)
    seen = listener.gathered() if probe else None
    if ran.why is Why.TIMEOUT:
        return Outcome(None, timeout, f"took longer than {timeout:.3g} s", timed_out=True, seen=seen)
    if ran.why in (Why.ABSENT, Why.REFUSED):
        fault = "was not found" if ran.why is Why.ABSENT else "is not executable"
        raise CannotWork(f"{line.argv[0]} {fault}; load the module for its MPI library")
    if ran.why or ran.status:
        errors = ran.err.decode("utf-8", "replace")
        last = next((each.strip() for each in reversed(errors.splitlines()) if any(map(str.isalnum, each))), "")
        ended = f"ended with status {ran.status}" + (f": {last[:200]}" if last else "")
        return Outcome(None, ran.seconds, why_failed(errors, " ".join(line.argv)) or ended, seen=seen)
    if metric.is_time:
        return Outcome(ran.seconds, ran.seconds, seen=seen)
    if metric.goal != "time":
        figure = joules and joules * (ran.seconds if metric.goal == "edp" else 1)
        why = None if figure else "the energy of the run could not be read"
        return Outcome(figure or None, ran.seconds, why, seen=seen, joules=joules)
    figure, why = _figure(metric, bytes(output), before)
    return Outcome(figure, ran.seconds, why, seen=seen)


def _stamp(file: Path | None) -> tuple[int, int] | None:
    """Return what distinguishes a file from the one that a run before left there."""
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found else None


def _figure(metric: Metric, output: bytes, before: tuple[int, int] | None) -> tuple[float | None, str | None]:
    if metric.file is not None:
        if _stamp(metric.file) in (None, before):
            return None, f"it did not write {metric.file}"
        try:
            with open_here(metric.file) as file:
                output = file.read(_LARGEST) or b""
        except OSError as error:
            return None, f"{metric.file}: {(error.strerror or 'cannot be read').lower()}"
    found = read_figure(metric.pattern, output.decode("utf-8", "replace"))
    if found is None:
        return None, f"its {'file' if metric.file else 'output'} does not contain the figure"
    return (found, None) if found > 0 else (None, f"its figure is {found:g}: only positive figures can be compared")


def read_figure(pattern: re.Pattern[str] | None, text: str) -> float | None:
    r"""Return the last number that a text has at a pattern, or the last one at all; None where there is none.

    >>> read_figure(re.compile(r"rate: (\S+)"), "rate: 1.5 GB/s, rate: 2.5 GB/s"), read_figure(None, "took 3.0D1 s")
    (2.5, 30.0)
    """
    matches = list(pattern.finditer(text)) if pattern else []
    if pattern and not matches:
        return None
    where = matches[-1][matches[-1].re.groups and 1] if matches else text
    numbers = re.findall(_NUMBER, where or "")
    if not numbers:
        return None
    value = float((numbers[0] if matches else numbers[-1]).replace("d", "e").replace("D", "e"))
    return value if isfinite(value) else None


def misplaced(line: RaceLine, seen: GatheredReports | None, topology: Topology | None) -> str | None:
    """Return in what ranks were not where the line was to put them; None where they were, or nothing was planned."""
    if line.expected is None:
        return None
    if seen is None or not seen.ranks:
        return "its ranks did not report their location"
    planned = [PlannedRank(rank=rank, host=host, cpus=cpus) for rank, host, cpus in line.expected]
    found = compare_ranks(planned, seen, topology)
    wrong = [row for row in found.differ if row.verdict != "memory"]
    if not wrong and not found.extra:
        return None
    first = wrong[0] if wrong else None
    where = f": rank {first.rank} is on CPUs {first.seen.cpus}, planned {first.planned.cpus}" if first and first.seen else ""
    return f"{len(wrong) + len(found.extra)} of {found.planned} ranks are not where planned{where}"


_KIND = Kind("a race", "advisor-tune-journal/1", cure="start a new race with another -o DIR", other="another folder with -o")
_Whole = Annotated[int, Field(ge=0, strict=True)]
_Seconds = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class Run:
    """One run of one line."""

    __pydantic_config__ = ConfigDict(allow_inf_nan=False, extra="forbid")

    block: _Whole
    """0 is the warm-up."""
    candidate: _Whole
    figure: Annotated[float, Field(gt=0)] | None
    """Seconds, or what --metric read; None of a run that does not count."""
    seconds: _Seconds
    """How long it took."""
    at: _Seconds
    """Seconds that the race had taken when it ended, those before an interruption too."""
    why: str | None = None
    """Why it does not count."""
    timed_out: bool = False
    attempt: _Whole = 1
    busy: tuple[str, ...] = ()
    """Who else worked on the machine."""
    joules: _Seconds | None = None


_RUN = TypeAdapter(Run)


@dataclass
class Journal:
    """What was run so far, and the file of JSON lines that keeps it, each on disk before the next run starts."""

    path: Path
    head: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    file: JournalFile | None = None
    """None of one that is only looked at."""

    def of(self, block: int, candidate: int, attempt: int = 1) -> Run | None:
        """Return the run of a line in a block; None where it has not run yet."""
        wanted = (block, candidate, attempt)
        return next((run for run in self.runs if (run.block, run.candidate, run.attempt) == wanted), None)

    def times(self, candidate: int) -> list[float]:
        """Return how long each run of a line took that ran as it should, that of the warm-up too."""
        return [run.seconds for run in self.runs if run.candidate == candidate and run.why is None]

    @property
    def seconds(self) -> float:
        """How long the race took so far."""
        return max((run.at for run in self.runs), default=0.0)

    def add(self, run: Run) -> None:
        """Keep a run; it is on disk when this returns."""
        self.runs.append(run)
        if self.file is not None:
            self.file.write(asdict(run))


def begun(folder: Path, head: dict[str, Any]) -> Journal:
    """Return the journal of a new race; refuse a folder that holds one already."""
    file, first = _KIND.begin(folder, head)
    return Journal(file.path, first, file=file)


def resumed(folder: Path) -> Journal:
    """Return the journal of a race that was begun, ready to be gone on with; a line that was cut off is dropped."""
    journal, size = _read(folder, Use.RUNS)
    journal.file = _KIND.go_on(folder, size, cure="; copy the folder to a writable location")
    return journal


def read_journal(folder: Path, use: Use = Use.NAMED) -> Journal:
    """Return the journal of a race, to be looked at; ``use`` says where more is done with it."""
    return _read(folder, use)[0]


def _read(folder: Path, use: Use) -> tuple[Journal, int]:
    (head, *lines), size = _KIND.read(folder, use)
    journal = Journal(folder / FILE, head)
    for number, line in enumerate(lines, 2):
        try:
            journal.runs.append(_RUN.validate_python(line))
        except ValidationError as error:
            at = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))[:60]
            raise BadInput(
                "not the record of a run", file=str(journal.path), place=f"line {number}, {at}", cure=_KIND.cure
            ) from error
    return journal, size


_OVER = 0.02
"""Part of the time that a block may go beyond it, where it could not be foreseen."""
_LEAST = 5.0
"""Seconds that a run is given at least."""
_SLOW = 3.0
"""A run that takes so many times as long as the fastest line is ended: it counts as that long."""
BLOCKS = 30
"""Blocks of all lines that --runs allows by itself."""
_AT_BEST = 8
"""Blocks before anything can be proven."""
_TRIES = 2
"""Failures after which a line is left out."""
_ENDLESS = 1 << 40
"""Runs that a race which is gone over may take: it ends where its journal does."""


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
    prepare: tuple[str, ...] = ()
    """The words of what is run before each run, not timed."""


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

    def runs(self, candidate: int) -> list[Run]:
        """Return the runs of a line that count, in their order: of whole blocks, as the ratios are."""
        whole = range(1, len(self.race.blocks) + 1)
        return [run for run in self.journal.runs if run.candidate == candidate and run.block in whole and run.figure]


def race_lines(
    entries: RaceField,
    metric: Metric,
    limits: Limits,
    folder: Path,
    *,
    asked: dict[str, Any],
    resume: bool,
    observer: Observer = SILENT,
) -> Raced:
    """Run a race, or go on with one; Ctrl-C ends it with what there is."""
    if len(entries.lines) < 2:
        raise CannotWork("nothing to compare: no other placement of this job fits and differs from this one")
    machine = entries.job_hosts.machines[0]
    head = screened({
        "advisor": advisor.__version__,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": asked,
        "seed": limits.seed if limits.seed is not None else secrets.randbits(32),
        "worth": limits.worth,
        "machine": identity_of(machine).model_dump(mode="json"),
        "candidates": [
            {"name": line.name, "line": line.text, "with": line.change.title if line.change else ""} for line in entries.lines
        ],
    })  # fmt: skip
    if resume:
        _must_fit(read_journal(folder).head, head, folder)
    watch = BusyWatch(LiveHost(), machine, Resources(machine)) if machine.topology else None
    if watch:  # before a folder is made: a refused start leaves none behind
        watch.must_be_idle(busy_ok=limits.busy_ok)
    kernel = KernelRace(KernelHost(), folder, [line.change for line in entries.lines if line.change])
    made = not folder.exists()
    journal = resumed(folder) if resume else begun(folder, head)
    entries = replace(entries, lines=tuple(write(line, folder) for line in entries.lines))
    race = Race(len(entries.lines), journal.head["worth"])
    raced = Raced(
        entries, race, journal, metric, limits, notes=[*entries.notes, *([metric.meter.counts] if metric.meter else [])]
    )
    try:
        with kernel.kept():
            Runner(raced, machine, watch, observer, kernel).run()
    except KeyboardInterrupt:
        raced.interrupted, raced.ended = True, "interrupted"
    except CannotWork:
        # Nothing to go on with, nothing to put back: the same command may be given again.
        if made and all(run.why for run in journal.runs) and not (folder / BEFORE).exists():
            rmtree(folder, ignore_errors=True)
        raise
    finally:
        observer.end()
        if journal.file is not None:
            journal.file.close()
    return raced


def _must_fit(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with a race of something else."""
    if not isinstance(before.get("seed"), int) or not isinstance(before.get("worth"), float):
        raise BadInput("the first record of the race is damaged", file=str(folder), cure="start a race with a different -o DIR")
    for key, what in (
        ("asked", "for another command or with other options"),
        ("candidates", "with other lines"),
        ("worth", "with another --worth"),
    ):
        if before.get(key) != now[key]:
            cure = "give the same options, or another folder with -o DIR"
            raise BadInput(f"this race was started {what}", file=str(folder), cure=cure)
    if {**(before.get("machine") or {}), "name": None} != {**now["machine"], "name": None}:
        raise BadInput("it was started on another machine", file=str(folder), cure="start a new race with another -o DIR")


class Runner:
    """Runs block after block, from where the journal ends, in the time and the runs that there are: those before count."""

    def __init__(
        self, raced: Raced, machine: Machine, watch: BusyWatch | None, observer: Observer, kernel: KernelRace | None = None
    ) -> None:
        self._raced, self._race, self._journal, self._lines = raced, raced.race, raced.journal, raced.entries.lines
        self._topology, self._observer = machine.topology, observer
        self._places: object = None
        self._failures = [0] * len(self._lines)
        self._watch, self._kernel = watch, kernel
        self._begun, self._before = monotonic(), raced.journal.seconds
        self._time = raced.limits.minutes * 60 if raced.limits.minutes else None
        self._most = raced.limits.runs or BLOCKS * len(self._lines)

    @property
    def _elapsed(self) -> float:
        return self._before + monotonic() - self._begun

    def run(self) -> None:
        """Warm up, then run blocks until the race is over or the budget is spent."""
        for candidate in range(len(self._lines)):
            self._warm(candidate)
        self._foretell()
        block = 1
        while not self._race.over:
            now = order(self._race.active, self._journal.head["seed"], block)
            if (ended := self._spent(now, block)) is not None:
                self._raced.ended = ended
                break
            if not self._block(block, now):
                break
            block += 1
            made = sum(run.block > 0 for run in self._journal.runs)
            left = float(self._most - made)
            if self._time:
                left = min(left, made * max(0.0, self._time / max(self._elapsed, 0.001) - 1))
            if self._race.is_futile(left):
                what = "separate the fastest lines" if self._race.claimed else "give an answer"
                self._raced.ended = f"ended early: with this much noise the remaining runs would not {what}"
                break
        if self._watch:
            self._raced.notes += [f"other work ran on the machine: {words}" for words in self._watch.words()]

    def _must_run(self) -> None:
        """Come before a run that the journal has not."""

    def _takes(self, lines: Sequence[int]) -> float:
        """Return how long a block of some lines takes, as their runs so far show."""
        return sum(median(times) for each in lines if (times := self._journal.times(each)))

    def _within(self, seconds: float) -> float:
        """Return how long a run may take of what is left."""
        return seconds if self._time is None else max(0.1, min(seconds, self._time * (1 + _OVER) - self._elapsed))

    def _spent(self, lines: Sequence[int], block: int) -> str | None:
        """Return why the next block does not begin: it would not end within the budget."""
        missing = [each for each in lines if self._journal.of(block, each) is None]
        if sum(run.block > 0 for run in self._journal.runs) + len(missing) > self._most:
            return f"all {self._most} runs are done"
        if self._time is not None and self._elapsed + self._takes(missing) > self._time:
            return "out of time: another block would not finish"
        return None

    def _foretell(self) -> None:
        """Say what the race will take, as the warm-up shows."""
        takes, most = self._takes(self._race.active), self._most // len(self._lines) * self._takes(range(len(self._lines)))
        most = min(most, self._time) if self._time else most
        span = f"from {in_time(min(most, _AT_BEST * takes))} to {in_time(most)}"
        text = f"{len(self._race.active)} lines, {in_time(takes)} per block: {span}"
        self._observer.say(f"{text}; Ctrl-C ends the race and keeps the results so far")

    def _warm(self, candidate: int) -> None:
        """Run a line once or twice without counting it, its ranks saying where they are; leave out what does not run."""
        line, why = self._lines[candidate], ""
        for attempt in range(1, _TRIES + 1):
            done = self._journal.of(0, candidate, attempt)
            if done is None:
                self._must_run()
                self._observer.step("warm-up and check of the placement", line.name)
                outcome = self._run(line, self._raced.limits.timeout, probe_words(template("probe.sh.j2")))
                wrong = self._wrong(candidate, outcome) or outcome.why
                run = Run(0, candidate, outcome.figure, outcome.seconds, 0.0, wrong, outcome.timed_out, attempt)
                done = self._keep(replace(run, joules=outcome.joules))
            if done.why is None:
                return
            why = done.why
        if candidate == 0:
            raise CannotWork(f"the line {line.name} does not run: {why}; get it to run on its own first: {line.text}")
        self._leave_out(candidate, why)

    def _run(self, line: RaceLine, timeout: float, probe: Sequence[str] = ()) -> Outcome:
        """Run a line as it needs the machine; a setting that it does not take, or that somebody changes, makes it no run."""
        why = self._kernel.set(line.change) if self._kernel else None
        if why is not None:
            return Outcome(None, 0.0, why)
        self._prepare()
        outcome = run_line(line, self._raced.metric, self._within(timeout), probe)
        if self._kernel and outcome.why is None and (astray := self._kernel.astray()):
            return replace(outcome, figure=None, why=f"{astray} was changed during the run; stop tuned or whatever changes it")
        return outcome

    def _prepare(self) -> None:
        """Run what the user wants to be run before each run."""
        words, timeout = self._raced.limits.prepare, self._raced.limits.timeout
        ran = LiveHost().launch(words, lambda _: None, timeout=timeout) if words else None
        if ran and (ran.why or ran.status):
            why = ran.why or f"ended with status {ran.status}"
            raise CannotWork(f"--prepare {shlex.join(words)}: {why}; get it to run on its own first")

    def _wrong(self, candidate: int, outcome: Outcome) -> str | None:
        """Return why a line that ran is none of this race: its ranks are elsewhere, or where those of the first line are."""
        if outcome.why is not None or outcome.seen is None:
            return None
        places, first = tuple((rank.rank, rank.host, rank.cpus) for rank in outcome.seen.ranks), self._lines[0].name
        if candidate == 0:
            self._places = places
            return None
        if self._lines[candidate].setting or self._lines[candidate].change:
            return None if places == self._places else f"its ranks are not placed like those of {first}"
        if places and places == self._places:
            return f"its ranks get the same CPUs as those of {first}"
        return misplaced(self._lines[candidate], outcome.seen, self._topology)

    def _keep(self, run: Run) -> Run:
        kept = replace(run, at=round(self._elapsed, 3))
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
            done = self._journal.of(block, candidate)
            if done is None:
                self._must_run()
                self._observer.step(f"block {block}, {len(now)} lines", self._lines[candidate].name)
                medians = [median(times) for each in range(len(self._lines)) if (times := self._journal.times(each))]
                timeout = max(_LEAST, _SLOW * min(medians)) if medians else self._raced.limits.timeout
                outcome = self._run(self._lines[candidate], timeout)
                if outcome.timed_out and self._time is not None and self._elapsed >= self._time:
                    self._raced.ended = "out of time"
                    return False
                done = self._keep(self._counted(outcome, block, candidate))
            if done.figure is not None:
                figures[candidate] = -log(done.figure) if self._raced.metric.high else log(done.figure)
            if done.why is not None:
                self._failed(candidate, done.why)
        self._race.add({each: value for each, value in figures.items() if each not in self._race.failed})
        return True

    def _counted(self, outcome: Outcome, block: int, candidate: int) -> Run:
        """Return a run; a time that was cut off counts as what it had reached, which is slower than all others."""
        if self._watch:
            self._watch.look()
        busy = self._watch.words() if self._watch else ()
        figure = outcome.seconds if outcome.timed_out and self._raced.metric.is_time else outcome.figure
        return Run(block, candidate, figure, outcome.seconds, 0.0, outcome.why, outcome.timed_out, 1, busy, outcome.joules)

    def _failed(self, candidate: int, why: str) -> None:
        self._failures[candidate] += 1
        if self._failures[candidate] < _TRIES:
            return
        if candidate == 0:
            raise CannotWork(f"the line {self._lines[0].name} failed {_TRIES} times: {why}; it cannot be compared")
        self._leave_out(candidate, why)


class _EndOfJournalError(Exception):
    """There is no such run."""


class _Replay(Runner):
    """Goes over the runs that were made, and ends where they do."""

    def _must_run(self) -> None:
        raise _EndOfJournalError


def damaged(folder: Path) -> BadInput:
    """Return that the first line of a race's journal cannot be used."""
    return BadInput("the first record of the race is damaged", file=str(folder), cure="give the folder of a race")


def replayed(folder: Path) -> Raced:
    """Return the race that a folder keeps, as far as it went; nothing is run."""
    journal = read_journal(folder)
    try:
        head = journal.head
        lines = tuple(_kept_line(str(each["name"]), str(each["line"]), str(each.get("with", ""))) for each in head["candidates"])
        is_figure = head["asked"].get("metric") or head["asked"].get("metric_file")
        raced = Raced(
            RaceField(lines, JobHosts(Allocated(), (Machine(),))),
            Race(len(lines), float(head["worth"])),
            journal,
            Metric(
                re.compile("") if is_figure else None,
                None,
                head["asked"].get("better") == "high",
                _GOAL.validate_python(head["asked"].get("goal", "time")),
            ),
            Limits(runs=_ENDLESS, seed=int(head["seed"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise damaged(folder) from error
    with suppress(_EndOfJournalError):
        _Replay(raced, Machine(), None, SILENT).run()
    busy = journal.runs[-1].busy if journal.runs else ()
    raced.notes += [f"other work ran on the machine: {words}" for words in busy]
    return raced


_GOAL: TypeAdapter[Goal] = TypeAdapter(Goal)


def _kept_line(name: str, text: str, change: str) -> RaceLine:
    """Return a line as the journal has it: in one text."""
    words = shlex.split(text)
    variables = dict(each.split("=", 1) for each in takewhile(re.compile(r"[A-Za-z_]\w*=").match, words))
    return RaceLine(name, (), tuple(words[len(variables) :]), variables, change=change_of(change))


_CLEAR_AFTER = 10
"""Blocks in which a clear winner among a dozen lines is proven, the warm-up counted."""


@dataclass(frozen=True)
class Tuned:
    """The result of ``advisor tune``."""

    page: RacePage
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor tune --json``."""
        return self.page.result.model_dump(mode="json", by_alias=True)


def tuned(raced: Raced, folder: Path) -> Tuned:
    """Return what a race showed."""
    verdict, lines = raced.verdict, raced.entries.lines
    rows = [_row(raced, at) for at in range(len(lines))]
    winner = None if verdict.winner is None else lines[verdict.winner]
    place = folder / winner.name.replace(" ", "-") if winner else folder
    pasted = f"{place}/launch.sh starts the job; {place} contains job scripts; use {folder}/{LEARNED} with advisor bind --learned"
    page = RacePage(
        rows=sorted(rows, key=lambda row: row.relative[1] if row.relative else 1e9),
        answer=verdict.answer,
        leader=lines[verdict.leader].name,
        noise=verdict.noise,
        blocks=len(raced.race.blocks),
        blocks_needed=verdict.blocks_needed,
        cost=sum(median(raced.journal.times(at) or [0.0]) for at in range(len(lines)) if at not in raced.dropped),
        open=[lines[at].name for at in verdict.open],
        result=RaceResult(
            candidates=tuple(row.raced for row in rows),
            winner=winner.name if winner else None,
            baseline=lines[0].name,
            worth=raced.race.worth,
            runs=len(raced.journal.runs),
            seconds=round(raced.journal.seconds, 3),
            goal=raced.metric.goal,
        ),
        unit={"energy": "J", "edp": "J s"}.get(raced.metric.goal, "s" if raced.metric.is_time else ""),
        ended=raced.ended,
        folder=str(folder),
        argv=(*winner.argv, *winner.program) if winner else (),
        variables=dict(winner.variables) if winner else None,
        files=(pasted,) if winner and winner.binding else (),
        commands=lines_of_change(winner.change) if winner and winner.change else (),
        why=_why(winner, lines) if winner else (),
        notes=tuple(dict.fromkeys(raced.notes)),
    )
    return Tuned(page, raced.interrupted)


def _row(raced: Raced, at: int) -> RaceRow:
    figures, base = ([run.figure for run in raced.runs(each) if run.figure] for each in (at, 0))
    spent = [(run.seconds, run.joules) for run in raced.runs(at) if run.joules is not None]
    line = raced.entries.lines[at]
    relative, exact, ends = None, True, None
    if at == 0 and figures:
        relative, ends = (1.0, 1.0, 1.0), median_interval(figures) or (min(figures), max(figures))
    elif (bounds := raced.race.interval(at)) is not None and base:
        low, mid, high = (exp(each) for each in bounds[:3])
        relative, exact = (low, mid, high), bounds[3]
        part = (1 / high, 1 / low) if raced.metric.high else (low, high)
        ends = (median(base) * part[0], median(base) * part[1])
    middle = median(figures) if figures else None
    if middle is not None and ends is not None:
        ends = min(ends[0], middle), max(ends[1], middle)
    row = RacedLine(
        name=line.name,
        line=line.text,
        median=middle,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        runs=len(figures),
        dropped_after=raced.race.left_out.get(at),
        seconds=median(each[0] for each in spent) if spent else None,
        joules=median(each[1] for each in spent) if spent else None,
    )
    return RaceRow(row, relative, exact, two_speeds(figures), raced.dropped.get(at))


def _why(winner: RaceLine, lines: tuple[RaceLine, ...]) -> tuple[str, ...]:
    """Return what distinguishes the winner's placement, where that of the first line is known or a plain one stands for it."""
    mine = winner.placement
    same = next((line.placement for line in lines[1:] if line.expected == lines[0].expected), None)
    if mine is None:
        return ()
    if same is None:
        return tuple(f"{key}: {text}" for key, text in what_ranks_get(mine).items())
    return why_different(mine, same)


def learned(raced: Raced) -> Learned | None:
    """Return what advisor bind may offer for this program and kind of machine; None where nothing was proven."""
    winner, lines = raced.verdict.winner, raced.entries.lines
    bounds = None if winner is None else raced.race.interval(winner)
    if winner is None or bounds is None or not (lines[winner].job or lines[winner].setting):
        return None
    return Learned(
        program=Path(lines[winner].program[0]).name,
        machine=identity_of(raced.entries.job_hosts.machines[0]),
        job=lines[winner].job,
        setting=lines[winner].setting,
        name=lines[winner].name,
        faster=round(max(0.0, 1 - exp(bounds[2])), 4),
        baseline=lines[0].text,
        runs=len(raced.runs(winner)),
        goal=raced.metric.goal,
        date=datetime.now(UTC).date().isoformat(),
        conditions=tuple(dict.fromkeys(raced.notes)),
    )


def kept_race(folder: Path, machine: Machine | None = None) -> RacePage:
    """Return what a race showed that a folder keeps; where it was not run on this machine, a note says so."""
    raced = replayed(folder)
    page = tuned(raced, folder).page
    try:
        where = Identity.model_validate(raced.journal.head.get("machine"))
    except ValidationError as error:
        raise damaged(folder) from error
    other = machine_mismatch(where, machine) if machine else None
    return replace(page, notes=(f"not valid for this machine: {other}", *page.notes)) if other else page


def planned_race(asked: Asked, limits: Limits, observer: Observer = SILENT) -> PlannedRace:
    """Return what would race, and how many runs that takes; nothing is run."""
    metric_of(asked.metric, Path(asked.metric_file) if asked.metric_file else None, asked.better, asked.goal)
    entries = lines_of(asked, observer)
    rows = [
        (
            line.name,
            line.text,
            "; ".join(f"{key}: {text}" for key, text in what_ranks_get(line.placement).items())
            if line.placement
            else "as the launcher places it",
        )
        for line in entries.lines
    ]
    most = limits.runs or BLOCKS * len(rows)
    return PlannedRace(rows, min(most, _CLEAR_AFTER * len(rows)), most + len(rows), entries.notes)


_BEFORE = ("env", "numactl", "taskset", "time", "nice", "bash", "sh", "python", "python3")
"""Programs that start another one: a race is named after that."""


def tune_line(
    asked: Asked | None,
    limits: Limits | None = None,
    folder: Path | None = None,
    *,
    resume: bool = False,
    observer: Observer = SILENT,
) -> Tuned:
    """Return what a race of the lines of a job showed; with ``resume`` the folder's race is gone on with.

    The folder keeps the journal, the lines' files, and what advisor bind may learn from it.
    """
    limits = limits or Limits()
    if resume:
        asked, limits = _again(folder or Path(), limits)
    if asked is None:
        raise BadValue("no launch line given", cure="put it last, after --: advisor tune -- mpirun -n 16 ./app")
    if folder is None:
        words = (Path(word).name for word in parted(asked.command)[1] if not word.startswith("-") and "=" not in word)
        name = next((word for word in words if word not in _BEFORE and not word.isdigit()), "line")
        folder = Path(f"tune-{''.join(letter if letter.isalnum() or letter in '._-' else '_' for letter in name)[:40]}")
    place = checked(folder)
    trusted(place, Use.RUNS)  # before anything is started
    metric = metric_of(asked.metric, Path(asked.metric_file) if asked.metric_file else None, asked.better, asked.goal)
    entries = lines_of(asked, observer)
    limits = replace(limits, prepare=_words(asked.prepare))
    raced = race_lines(entries, metric, limits, place, asked=asked.document(), resume=resume, observer=observer)
    if (proven := learned(raced)) is not None:
        file = begin_file(place / LEARNED)
        file.file.write((json.dumps(screened(proven.model_dump(mode="json", by_alias=True)), indent=1) + "\n").encode())
        file.finish()
    return tuned(raced, place)


def _words(prepare: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(prepare or ""))
    except ValueError as error:
        raise BadValue(f"--prepare: {str(error).lower()}", cure="quote it for the shell: --prepare 'sync'") from error
    if prepare is not None and not words:
        raise BadValue("--prepare is empty", cure="leave it out")
    return words


def _again(folder: Path, limits: Limits) -> tuple[Asked, Limits]:
    """Return what the race of a folder was asked."""
    head = read_journal(folder, Use.RUNS).head
    try:
        words = head["asked"]
        if WITHHELD in f"{words['command']}{words.get('settings')}{words.get('prepare')}":
            cure = "start a race with a different -o DIR, and pass credentials in the environment or a file"
            raise BadInput("its line contains a credential, which is never stored", file=str(folder), cure=cure)
        asked = Asked(**{**words, "command": tuple(words["command"]), "settings": tuple(words.get("settings") or ())})
        return asked, replace(limits, worth=float(head["worth"]), seed=int(head["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            "the first record of the race is damaged", file=str(folder), cure="start a race with a different -o DIR"
        ) from error
