"""One run of one line: started, timed, its figure read, its ranks asked where they are; and the journal that keeps the runs."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.launcher import why_failed
from advisor.jobs.observe import GatheredReports, Listener, PlannedRank
from advisor.jobs.racing.lines import RaceLine
from advisor.jobs.verdict import compare_ranks
from advisor.machine.hosts.base import Why
from advisor.machine.hosts.files import FILE, JournalFile, Kind, Use, open_here
from advisor.machine.hosts.live import LiveHost
from advisor.machine.topology import Topology

_LARGEST: Final = 64 << 20
"""Bytes of a program's output that are kept to look for its figure: the last of them."""
_NUMBER: Final = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?"


@dataclass(frozen=True)
class Metric:
    """What is compared: wall time, or a number that the program prints or writes."""

    pattern: re.Pattern[str] | None = None
    file: Path | None = None
    high: bool = False
    """Whether more is better, as of a rate."""

    @property
    def is_time(self) -> bool:
        """Whether it is the wall time of the whole line."""
        return self.pattern is None and self.file is None


def metric_of(pattern: str | None, file: Path | None, better: str | None) -> Metric:
    """Return the figure that options name; refuse what cannot be read."""
    if pattern is None and file is None:
        if better == "high":
            raise BadValue(
                "--better high is for a figure of the program", cure="name it with --metric REGEX or --metric-file FILE"
            )
        return Metric()
    if better is None:
        raise BadValue("--metric does not say whether more is better", cure="add --better high or --better low")
    try:
        found = re.compile(pattern) if pattern is not None else None
    except re.error as error:
        raise BadValue(
            f"--metric {str(pattern)[:60]} is not a regular expression: {error}", cure="such as 'GFLOPS: (\\S+)'"
        ) from error
    if found and found.groups > 1:
        raise BadValue("--metric has several groups", cure="put only the number in brackets, others as (?:...)")
    return Metric(found, file, better == "high")


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    figure: float | None
    seconds: float
    why: str | None = None
    timed_out: bool = False
    seen: GatheredReports | None = None


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
    ran = LiveHost().launch((*line.argv, *probe, *line.program), hear, timeout=timeout, variables=line.variables)
    seen = listener.gathered() if probe else None
    if ran.why is Why.TIMEOUT:
        return Outcome(None, timeout, f"took longer than {timeout:.3g} s", timed_out=True, seen=seen)
    if ran.why in (Why.ABSENT, Why.REFUSED):
        fault = "is not here" if ran.why is Why.ABSENT else "may not be run"
        raise CannotWork(f"{line.argv[0]} {fault}; load the module of its MPI")
    if ran.why or ran.status:
        errors = ran.err.decode("utf-8", "replace")
        last = next((each.strip() for each in reversed(errors.splitlines()) if any(map(str.isalnum, each))), "")
        ended = f"ended with status {ran.status}" + (f": {last[:200]}" if last else "")
        return Outcome(None, ran.seconds, why_failed(errors, " ".join(line.argv)) or ended, seen=seen)
    if metric.is_time:
        return Outcome(ran.seconds, ran.seconds, seen=seen)
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
    return (found, None) if found > 0 else (None, f"its figure is {found:g}: only positive ones can be compared")


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
        return "its ranks did not say where they are"
    planned = [PlannedRank(rank=rank, host=host, cpus=cpus) for rank, host, cpus in line.expected]
    found = compare_ranks(planned, seen, topology)
    wrong = [row for row in found.differ if row.verdict != "memory"]
    if not wrong and not found.extra:
        return None
    first = wrong[0] if wrong else None
    where = f": rank {first.rank} is on CPUs {first.seen.cpus}, planned {first.planned.cpus}" if first and first.seen else ""
    return f"{len(wrong) + len(found.extra)} of {found.planned} ranks are not where they were to be{where}"


_KIND: Final = Kind(
    "a race", "advisor-tune-journal/1", cure="begin a race of its own with another -o DIR", other="another folder with -o"
)
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


_RUN: Final = TypeAdapter(Run)


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
    journal.file = _KIND.go_on(folder, size, cure="; copy the folder to where it can")
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
                "is not a run of a race", file=str(journal.path), place=f"line {number}, {at}", cure=_KIND.cure
            ) from error
    return journal, size
