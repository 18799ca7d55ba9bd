"""What a race found is offered next time, where it fits."""

from pathlib import Path

import pytest

from advisor import HostOptions, JobOptions, LauncherOptions, bind
from advisor.errors import BadInput
from advisor.jobs.placement import JobShape
from advisor.jobs.racing.result import LEARNED, Learned
from advisor.machine.read import read_machine
from advisor.measure.measurement import identity_of
from tests.machines.catalogue import write_archive


@pytest.fixture
def rome(tmp_path: Path) -> str:
    """Return the capture of two EPYC 7702."""
    return str(write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz"))


@pytest.fixture
def found(rome: str, tmp_path: Path) -> Path:
    """Return the folder of a race that found compact best for a program."""
    learned = Learned(
        program="app",
        machine=identity_of(read_machine(rome)),
        job=JobShape(ranks=16, threads=4, strategy="compact"),
        name="compact 16x4",
        faster=0.04,
        baseline="mpirun -n 16 ./app",
        runs=12,
        date="2026-11-22",
    )
    (tmp_path / LEARNED).write_text(learned.model_dump_json(by_alias=True))
    return tmp_path


def bound(machine: str, folder: Path, program: str = "./app", job: JobOptions | None = None) -> tuple[str, int, str]:
    """Return strategy, ranks and the note on what was learned."""
    made = bind([program], job, HostOptions((machine,), learned=folder), LauncherOptions("openmpi", "5.0.6"), environment={})
    return made.placement.strategy, made.placement.size, next(note for note in made.notes if "advisor tune found" in note)


def test_what_was_found_is_taken_with_its_date_and_what_it_brought(rome: str, found: Path) -> None:
    """The same program on the same kind of machine is placed as the race found best; the note has date, runs and gain."""
    strategy, ranks, note = bound(rome, found)
    assert (strategy, ranks) == ("compact", 16)
    assert note == ("advisor tune found compact 16x4 on 2026-11-22: 12 runs, at least 4 % less time than mpirun -n 16 ./app")


@pytest.mark.parametrize(
    ("machine", "program", "job", "says"),
    [
        ("b-c6525-2x7702-nps4", "./other", None, "but it is for the program app, not for other"),
        ("b-c6525-2x7702-nps1", "./app", None, "; the race was measured with 8 NUMA nodes, but the machine now has 2"),
        ("b-c6525-2x7702-nps4", "./app", JobOptions(strategy="balanced"), "but the options given already place the ranks"),
    ],
)
def test_what_does_not_fit_is_not_taken(machine: str, program: str, job: JobOptions | None, says: str, found: Path) -> None:
    """Of another program, another kind of machine or against the user's own word nothing is taken, and the note says why."""
    _, _, note = bound(str(write_archive(machine, found / "it.tar.gz")), found, program, job)
    assert (note.startswith("not used: "), says in note) == (True, True)


@pytest.mark.parametrize("job", [None, JobShape(ranks=16, threads=4, strategy="compact")])
def test_a_variable_that_won_is_set_for_the_program(rome: str, found: Path, job: JobShape | None) -> None:
    """Of the user's own line, which has no placement that is known, and of a line that was placed."""
    kept = Learned.model_validate_json((found / LEARNED).read_text()).model_copy(update={"job": job, "setting": "UCX_TLS=rc,sm"})
    (found / LEARNED).write_text(kept.model_dump_json(by_alias=True))
    made = bind(
        ["./app"], JobOptions(ranks=8), HostOptions((rome,), learned=found), LauncherOptions("openmpi", "5.0.6"), environment={}
    )
    assert made.launch.argv[-3:] == ("env", "UCX_TLS=rc,sm", "./app")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "advisor-learned/9"}', "\0"])
def test_a_file_that_is_no_such_result_is_refused(rome: str, tmp_path: Path, text: str) -> None:
    """It is named in one line with what to give."""
    (tmp_path / LEARNED).write_text(text)
    with pytest.raises(BadInput, match=r"learned.json.*give the learned.json from advisor tune"):
        bound(rome, tmp_path)
