"""One run: its time, its figure, how it ended, where its ranks were."""

import re
import time
from pathlib import Path

import pytest

from advisor.errors import BadValue, CannotWork
from advisor.jobs.observe import GatheredReports, Observation
from advisor.jobs.racing.lines import RaceLine
from advisor.jobs.racing.race import Metric, metric_of, misplaced, read_figure, run_line
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.live import LiveHost


def line(*words: str, **variables: str) -> RaceLine:
    """Return a line that starts no launcher."""
    return RaceLine("it", ("env",), words, variables)


def test_the_figure_is_the_wall_time_unless_another_is_named() -> None:
    """Without a metric a run's figure is how long it took."""
    outcome = run_line(line("sleep", "0.3"), Metric(), 30)
    assert (outcome.why, outcome.figure == outcome.seconds, outcome.seconds >= 0.3) == (None, True, True)


def test_the_figure_is_the_last_that_the_program_printed() -> None:
    """A metric takes the number at the last match, as solvers print one for each step."""
    metric = metric_of(r"rate: (\S+)", None, "high")
    assert run_line(line("sh", "-c", "echo rate: 1.5; echo rate: $RATE", RATE="2.5e3"), metric, 30).figure == 2500.0


def test_a_file_counts_only_where_this_run_wrote_it(tmp_path: Path) -> None:
    """A file that a run before left there is no figure of this one."""
    file = tmp_path / "out"
    metric = metric_of(None, file, "low")
    assert run_line(line("sh", "-c", f"echo 7.5 > {file}"), metric, 30).figure == 7.5
    assert run_line(line("true"), metric, 30).why == f"it did not write {file}"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("sh", "-c", "echo no room >&2; exit 3"), "ended with status 3: no room"),
        (("sleep", "60"), "took longer than 0.5 s"),
        (("echo", "nothing"), "its output does not contain the figure"),
        (("echo", "rate: 0"), "its figure is 0: only positive figures can be compared"),
        (("echo", "rate: nan"), "its output does not contain the figure"),
    ],
)
def test_a_run_without_a_figure_says_why(words: tuple[str, ...], why: str) -> None:
    """A failure, a timeout and an output without the figure are outcomes with a reason."""
    outcome = run_line(line(*words), metric_of("rate: (.*)", None, "high"), 0.5 if words[0] == "sleep" else 30)
    assert (outcome.figure, outcome.why) == (None, why)


def test_nothing_is_left_of_a_run_that_is_ended() -> None:
    """What a line started in the background is ended with it."""
    mark = f"86{time.time_ns() % 10**6}"
    run_line(line("sh", "-c", f"sleep {mark} & sleep {mark}"), Metric(), 0.5)
    deadline = time.monotonic() + 30  # a busy kernel takes a moment to end what is killed
    while (left := _processes_of(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _processes_of(mark: str) -> list[bytes]:
    host = LiveHost()
    words = [host.read(f"/proc/{pid}/cmdline").data for pid in host.list("/proc") if pid.isdigit()]
    return [each for each in words if mark.encode() in each]


def test_a_launcher_that_is_not_there_is_said_at_once() -> None:
    """A line whose launcher is on no path is no candidate's fault."""
    with pytest.raises(CannotWork, match="no-such-mpirun was not found"):
        run_line(RaceLine("it", ("no-such-mpirun",), ("a",), {}), Metric(), 30)


@pytest.mark.parametrize(
    ("pattern", "better", "says"),
    [
        ("(", "high", "is not a regular expression"),
        ("(a)(b)", "high", "has several groups"),
        ("a", None, "does not show whether higher is better"),
        (None, "high", "needs a number from the program"),
    ],
)
def test_a_metric_that_says_too_little_is_refused(pattern: str | None, better: str | None, says: str) -> None:
    """What cannot be compared is refused before anything runs."""
    with pytest.raises(BadValue, match=says):
        metric_of(pattern, None, better)


def test_a_pattern_without_a_group_takes_its_first_number() -> None:
    """What a match holds is searched for a number where no group names one."""
    assert read_figure(re.compile("Time = .*s"), "Time = 12.5 s of 60 s") == 12.5


def test_ranks_that_are_elsewhere_are_named() -> None:
    """What is compared is what was planned: a line whose ranks are on other CPUs says which."""
    planned = line("app")
    planned = RaceLine(**{**planned.__dict__, "expected": ((0, None, CpuSet([0])), (1, None, CpuSet([1])))})
    seen = [Observation(rank=rank, host="n1", cpus=CpuSet([cpu])) for rank, cpu in ((0, 0), (1, 3))]
    assert misplaced(planned, GatheredReports(ranks=tuple(seen)), None) == (
        "1 of 2 ranks are not where planned: rank 1 is on CPUs 3, planned 1"
    )
    assert misplaced(planned, GatheredReports(), None) == "its ranks did not report their location"
    assert misplaced(line("app"), GatheredReports(), None) is None
