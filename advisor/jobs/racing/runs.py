"""One run of one line: started, timed, its figure read, and in the first run its ranks asked where they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

from advisor.errors import BadValue, CannotWork
from advisor.jobs.failures import why_failed
from advisor.jobs.observed_binding import GatheredReports, PlannedRank
from advisor.jobs.racing.line import RaceLine
from advisor.jobs.verdict import compare_ranks
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.files import open_here
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
    from advisor.jobs.observe import Listener

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
        raise CannotWork(
            f"{line.argv[0]} {'is not here' if ran.why is Why.ABSENT else 'may not be run'}; load the module of its MPI"
        )
    if ran.why or ran.status:
        return Outcome(None, ran.seconds, _failure(ran, line), seen=seen)
    figure, why = _figure(metric, ran.seconds, bytes(output), before)
    return Outcome(figure, ran.seconds, why, seen=seen)


def _failure(ran: Ran, line: RaceLine) -> str:
    said = ran.err.decode("utf-8", "replace")
    known = why_failed(said, " ".join(line.argv))
    last = next((each.strip() for each in reversed(said.splitlines()) if any(letter.isalnum() for letter in each)), "")
    return known or f"ended with status {ran.status}" + (f": {last[:200]}" if last else "")


def _stamp(file: Path | None) -> tuple[int, int] | None:
    """Return what distinguishes a file from the one that a run before left there."""
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found else None


def _figure(metric: Metric, seconds: float, output: bytes, before: tuple[int, int] | None) -> tuple[float | None, str | None]:
    if metric.is_time:
        return seconds, None
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
        return None, "its figure is not in what it " + ("wrote" if metric.file else "printed")
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
