"""The lines of a race: the user's own, and others like it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.errors import AdvisorError
from advisor.model.hardware.machine import Machine
from advisor.work import bind as bind_module
from advisor.work.job import hosts as hosts_module
from advisor.work.job.hosts import JobOptions, LauncherOptions
from advisor.work.machine import read_machine
from advisor.work.tune.line import DEFAULT, YOURS, Options, RaceField, lines_of, write
from tests.machines.catalogue import write_archive

OPENMPI = LauncherOptions("openmpi", "5.0.6")


@pytest.fixture
def rome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return two EPYC 7702, and let this machine be it."""
    found = read_machine(str(write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz")))
    for module in (bind_module, hosts_module):
        monkeypatch.setattr(module, "read_machine", lambda *_: found)
    return found


def lines(*words: str, **options: object) -> RaceField:
    """Return the lines that race."""
    return lines_of(words, Options(launcher=LauncherOptions(None, "5.0.6"), **options))  # type: ignore[arg-type]


@pytest.mark.usefixtures("rome")
def test_the_users_line_is_the_first_and_as_it_was() -> None:
    """The line that all are held against is the user's, word for word, with its variables."""
    own = lines("FOO=1", "mpirun", "-np", "16", "--bind-to", "none", "./app", "in put").lines[0]
    assert (own.name, own.text) == (YOURS, "FOO=1 mpirun -np 16 --bind-to none ./app 'in put'")


@pytest.mark.usefixtures("rome")
def test_the_others_keep_what_says_nothing_of_places() -> None:
    """Parameters, variables and the program stay; what says where ranks go or how many there are is the placement's."""
    found = lines("A=b", "mpirun", "-np", "16", "--mca", "btl", "self", "-x", "OMP_NUM_THREADS=2", "--map-by", "node", "./app")
    others = found.lines[1:]
    assert len(others) > 2
    assert {each.variables["A"] for each in others} == {"b"}
    assert {each.argv[:4] for each in others} == {("mpirun", "--mca", "btl", "self")}
    assert [each.name for each in others if "node" in each.argv or each.argv.count("OMP_NUM_THREADS=2") != 1] == []


@pytest.mark.usefixtures("rome")
def test_a_placement_that_the_user_had_does_not_race_against_itself() -> None:
    """A candidate whose ranks get the CPUs that those of the user's line get is left out."""
    bound = lines("mpirun", "-np", "128", "--map-by", "core", "--bind-to", "core", "./app")
    loose = lines("mpirun", "-np", "128", "--bind-to", "none", "./app")
    assert "compact 128x1" in {each.name for each in loose.lines} - {each.name for each in bound.lines}


@pytest.mark.usefixtures("rome")
def test_other_numbers_of_ranks_race_only_where_they_are_allowed() -> None:
    """Nobody but the user knows whether the program does the same work with other numbers of ranks."""

    def sizes(found: RaceField) -> set[int]:
        return {len(each.expected) for each in found.lines if each.expected}

    words = ("mpirun", "-np", "32", "--bind-to", "none", "./app")
    job = JobOptions(threads=4)
    assert sizes(lines(*words, job=job)) == {32}
    assert {16, 32, 64} <= sizes(lines(*words, job=job, split=True))


@pytest.mark.usefixtures("rome")
def test_a_program_without_a_line_is_held_against_the_launchers_default() -> None:
    """Where only a program is given the first line is what the launcher does by itself."""
    found = lines_of(["./app"], Options(JobOptions(ranks=8, threads=2), launcher=OPENMPI))
    assert (found.lines[0].name, found.lines[0].text) == (DEFAULT, "OMP_NUM_THREADS=2 mpirun -n 8 ./app")


@pytest.mark.usefixtures("rome")
def test_the_files_of_a_line_are_in_its_folder(tmp_path: Path) -> None:
    """A line that needs a file names it where it was written."""
    for each in lines_of(
        ["./app"], Options(JobOptions(ranks=12, near="mlx5_0"), launcher=LauncherOptions("openmpi", "4.1.5"))
    ).lines:
        placed = write(each, tmp_path / "files")
        named = [Path(word) for word in placed.argv if word.startswith(str(tmp_path))]
        assert [file for file in named if not file.is_file()] == []
        assert each.binding is None or (tmp_path / "files" / each.name.replace(" ", "-") / "launch.sh").is_file()


@pytest.mark.usefixtures("rome")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no line to tune; put it last, after --"),
        (("mpirun", "-np", "2", "./a", ":", "-np", "2", "./b"), "the line starts several programs"),
        (("mpirun", "-np", "2"), "the line starts no program"),
    ],
)
def test_what_is_no_line_is_refused_in_one(words: Sequence[str], says: str) -> None:
    """What cannot be raced is named with what to write."""
    with pytest.raises(AdvisorError, match=says):
        lines(*words)
