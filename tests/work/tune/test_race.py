"""Races as they are run: the journal, failures, the budget, an end in the middle."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from advisor.errors import BadInput, CannotWork
from advisor.jobs.placement import JobShape
from advisor.jobs.racing import race
from advisor.jobs.racing.lines import Asked, RaceField, RaceLine
from advisor.jobs.racing.proof import order
from advisor.jobs.racing.race import Limits, Metric, Outcome, Raced, learned, race_lines, read_journal, tuned
from advisor.jobs.started.hosts import Allocated, JobHosts
from advisor.machine.hosts.files import FILE
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from tests.machines.catalogue import write_archive

ASKED: dict[str, Any] = {"command": ["mpirun", "./app"]}
TIMES = {"yours": 1.0, "spread": 0.8, "packed": 1.5, "near": 0.81}


def field(names: Sequence[str] = tuple(TIMES)) -> RaceField:
    """Return lines that need no launcher."""
    job = JobShape(ranks=4)
    lines = [RaceLine(name, ("run", name), ("./app",), {}, job) for name in names]
    return RaceField(tuple(lines), JobHosts(Allocated(), (Machine(),)))


class Program:
    """A program whose time follows from the name of its line, and a clock that it moves."""

    def __init__(self, noise: float = 0.01, odd: Callable[[str, int], Outcome | None] = lambda _name, _run: None) -> None:
        self.now, self.runs, self._noise, self._odd = 100.0, 0, noise, odd

    def run(self, line: RaceLine, _metric: Metric, timeout: float, probe: Sequence[str] = ()) -> Outcome:
        """Return a run's outcome: the same for the same number of the run."""
        del probe
        self.runs += 1
        dice = Random(f"{line.name} {self.runs}")  # noqa: S311
        outcome = self._odd(line.name, self.runs) or Outcome(None, TIMES[line.name] * (1 + self._noise * dice.gauss(0, 1)))
        if outcome.seconds > timeout:
            outcome = Outcome(None, timeout, "took too long", timed_out=True)
        self.now += outcome.seconds
        failed = outcome.why is not None
        return outcome if failed else Outcome(outcome.seconds, outcome.seconds)

    def clock(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Raced]:
    """Return what runs a race of a program in a folder."""

    def started(program: Program, limits: Limits | None = None, folder: Path = tmp_path / "race", **more: Any) -> Raced:
        monkeypatch.setattr(race, "run_line", program.run)
        monkeypatch.setattr(race, "monotonic", program.clock)
        entries = more.pop("entries", field())
        given = {"asked": ASKED, "resume": False, **more}
        return race_lines(entries, Metric(), limits or Limits(seed=3), folder, **given)

    return started


def test_the_fastest_line_is_found_and_the_document_says_it(go: Callable[..., Raced], tmp_path: Path) -> None:
    """The document has the keys that are promised, and no others; the winner is one of the two lines that are faster."""
    raced = go(Program())
    found = tuned(raced, tmp_path).document()
    assert list(found) == ["schema", "candidates", "winner", "baseline", "worth", "runs", "seconds", "goal"]
    keys = ["name", "line", "median", "low", "high", "runs", "dropped_after", "seconds", "joules"]
    assert list(found["candidates"][0]) == keys
    assert (found["winner"] in ("spread", "near"), found["baseline"], found["worth"]) == (True, "yours", 0.02)
    assert found["runs"] == len(raced.journal.runs) < 4 * 15
    packed = next(each for each in found["candidates"] if each["name"] == "packed")
    assert (packed["dropped_after"], packed["runs"]) == (3, 3)
    assert all(each["low"] <= each["median"] <= each["high"] for each in found["candidates"])


def test_each_block_runs_in_the_order_of_its_seed(go: Callable[..., Raced]) -> None:
    """The runs of the journal are in the random order of their block, and not always in the same."""
    runs = [run for run in go(Program(noise=0.5)).journal.runs if run.block]
    blocks = [[run.candidate for run in runs if run.block == block] for block in range(1, runs[-1].block + 1)]
    assert blocks == [list(order(sorted(each), 3, block)) for block, each in enumerate(blocks, 1)]
    assert len({tuple(each) for each in blocks}) > 3


def test_what_was_found_is_there_for_bind(go: Callable[..., Raced]) -> None:
    """What bind may learn has the job of the winner and the least gain, not the one in the middle."""
    found = learned(go(Program()))
    assert found is not None
    assert (found.program, found.job and found.job.ranks) == ("app", 4)
    assert 0.1 < found.faster < 0.2


def test_a_block_that_did_not_end_counts_in_no_median(go: Callable[..., Raced]) -> None:
    """As in no ratio: both are of the same blocks."""
    raced = go(Program())
    before, last = raced.runs(0), raced.journal.runs[-1]
    raced.journal.runs.append(replace(last, block=last.block + 1, candidate=0, figure=99.0))
    assert raced.runs(0) == before


def test_a_command_runs_before_each_run(go: Callable[..., Raced], tmp_path: Path) -> None:
    """As often as lines run; one that fails ends the race with its words."""
    mark = tmp_path / "mark"
    raced = go(Program(), Limits(seed=3, runs=12, prepare=("sh", "-c", f"echo >> {mark}")))
    assert len(mark.read_text()) == len(raced.journal.runs) == 16
    with pytest.raises(CannotWork, match=r"--prepare false: ended with status 1; get it to run on its own first"):
        go(Program(), Limits(seed=3, prepare=("false",)), tmp_path / "other")


def test_a_start_that_is_refused_leaves_nothing_behind(go: Callable[..., Raced], tmp_path: Path) -> None:
    """Where the own line does not run: the same command may be given again."""
    with pytest.raises(CannotWork, match="does not run"):
        go(Program(odd=lambda _name, _run: Outcome(None, 1.0, "exit status 1")))
    assert not (tmp_path / "race").exists()
    assert learned(go(Program())) is not None


def test_a_busy_machine_is_said_before_a_folder_is_made(
    go: Callable[..., Raced], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retry with --busy-ok begins a race of its own."""

    class Busy:
        def __init__(self, *_: object) -> None:
            pass

        def must_be_idle(self, *, busy_ok: bool) -> None:
            raise CannotWork(f"not idle, {busy_ok}")

    monkeypatch.setattr(race, "BusyWatch", Busy)
    machine = read_machine(str(write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz")))
    with pytest.raises(CannotWork, match="not idle, False"):
        go(Program(), entries=RaceField(field().lines, JobHosts(Allocated(), (machine,))))
    assert not (tmp_path / "race").exists()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("mpirun -n 64 ./app input", "tune-app"),
        ("srun -n 4 numactl -l bin/solve-2.x -i case.dat", "tune-solve-2.x"),
        ("python train.py 3", "tune-train.py"),
        ("env A=1 ./app", "tune-app"),
    ],
)
def test_a_race_is_kept_in_a_folder_named_after_its_program(words: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after its launcher, what sets it up, or its input."""

    def stop(folder: Path) -> None:
        raise CannotWork(str(folder))

    monkeypatch.setattr(race, "checked", stop)
    with pytest.raises(CannotWork) as said:
        race.tune_line(Asked(tuple(words.split())))
    assert str(said.value) == name


def test_a_journal_that_is_cut_anywhere_ends_as_the_whole_one(go: Callable[..., Raced], tmp_path: Path) -> None:
    """Cut after any line, in any line, a race that is gone on with has the same runs and the same verdict."""
    folder = tmp_path / "cut"

    class Repeating(Program):
        def run(self, line: RaceLine, _metric: Metric, timeout: float, probe: Sequence[str] = ()) -> Outcome:
            seen = read_journal(folder).runs
            self.runs = sum(each.candidate == list(TIMES).index(line.name) for each in seen)
            return super().run(line, _metric, timeout, probe)

    program = Repeating()
    whole = go(program, folder=folder)
    text = (folder / FILE).read_bytes()
    figures = [(run.block, run.candidate, run.figure) for run in whole.journal.runs]
    head = text.index(b"\n") + 1
    for end in range(head, len(text), 397):
        (folder / FILE).write_bytes(text[:end])
        again = go(program, folder=folder, resume=True)
        assert [(run.block, run.candidate, run.figure) for run in again.journal.runs] == figures
        assert again.verdict == whole.verdict


def test_ctrl_c_keeps_what_there_is(go: Callable[..., Raced], tmp_path: Path) -> None:
    """A race that is interrupted says what it has, and its journal holds every run that ended."""

    def stop(_name: str, number: int) -> Outcome | None:
        if number == 11:
            raise KeyboardInterrupt
        return None

    raced = go(Program(odd=stop))
    assert (raced.interrupted, len(read_journal(tmp_path / "race").runs)) == (True, 10)
    done = go(Program(), resume=True)
    assert (done.interrupted, done.verdict.answer) == (False, "faster")


def test_a_line_that_fails_is_left_out_with_its_reason(go: Callable[..., Raced]) -> None:
    """A line that fails twice runs no more, is no winner, and the reason stands beside it."""
    raced = go(Program(odd=lambda name, _: Outcome(None, 0.1, "ended with status 1") if name == "spread" else None))
    row = next(row for row in tuned(raced, Path()).page.rows if row.raced.name == "spread")
    assert (row.why, row.raced.runs, raced.verdict.winner) == ("ended with status 1", 0, 3)


def test_one_failure_is_forgiven(go: Callable[..., Raced]) -> None:
    """A line that fails once goes on; the run that failed is in the journal."""
    raced = go(Program(odd=lambda name, number: Outcome(None, 0.1, "lost") if (name, number) == ("near", 9) else None))
    assert 3 not in raced.dropped


def test_a_line_that_hangs_is_slower_than_all_others(go: Callable[..., Raced]) -> None:
    """A run that takes more than three times the fastest line's time is ended and counts as that long."""
    raced = go(Program(odd=lambda name, number: Outcome(None, 1e6) if name == "packed" and number > 4 else None))
    assert raced.dropped[2] == "took too long"
    assert max(run.seconds for run in raced.journal.runs) <= 5.0


def test_without_the_users_own_line_there_is_no_race(go: Callable[..., Raced]) -> None:
    """Where the line that all are held against does not run, that is said in one line."""
    with pytest.raises(CannotWork, match="the line yours does not run: ended with status 127; get it to run on its own first"):
        go(Program(odd=lambda name, _: Outcome(None, 0.1, "ended with status 127") if name == "yours" else None))


@pytest.mark.parametrize("minutes", [0.2, 0.5, 1.0])
def test_the_time_is_kept(go: Callable[..., Raced], minutes: float) -> None:
    """A race among equals ends within five percent of its time, whatever one run takes."""
    raced = go(Program(noise=0.03), Limits(minutes=minutes, seed=1), entries=field(("yours", "packed")))
    assert raced.journal.seconds <= 1.05 * 60 * minutes


def test_the_runs_are_kept(go: Callable[..., Raced]) -> None:
    """No more runs than --runs says, the warm-up apart."""
    raced = go(Program(noise=0.5), Limits(runs=21, seed=1))
    assert sum(run.block > 0 for run in raced.journal.runs) <= 21


def test_another_race_is_not_gone_on_with(go: Callable[..., Raced], tmp_path: Path) -> None:
    """A journal of other lines or of another worth is refused by name."""
    go(Program(), Limits(runs=8, seed=1))
    with pytest.raises(BadInput, match="this race was started with other lines"):
        go(Program(), resume=True, entries=field(("yours", "spread")))
    with pytest.raises(BadInput, match="this race was started with another --worth"):
        go(Program(), Limits(worth=0.05), resume=True)
    with pytest.raises(CannotWork, match="contains a race; continue it with --resume"):
        go(Program())


@pytest.mark.parametrize("text", [b"", b"{}\n", b"not json\n", b'{"schema": "advisor-tune-journal/1"}\n[1]\n'])
def test_a_damaged_journal_is_refused_in_one_line(text: bytes, tmp_path: Path) -> None:
    """What is no journal is named with its file."""
    (tmp_path / FILE).write_bytes(text)
    with pytest.raises(BadInput) as caught:
        read_journal(tmp_path)
    assert (FILE in str(caught.value), "\n" in str(caught.value)) == (True, False)
