"""The lines of a race: the user's own, and others like it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from advisor.errors import AdvisorError, BadValue
from advisor.jobs import lint as lint_module
from advisor.jobs.placement import JobShape
from advisor.jobs.racing.lines import DEFAULT, YOURS, Asked, RaceField, lines_of, placements, settings_of, write
from advisor.jobs.started import hosts as hosts_module
from advisor.machine.machine import Kernel, Machine
from advisor.machine.read import read_machine
from tests.fakenode.plans import machine_of
from tests.machines.catalogue import write_archive


@pytest.fixture
def rome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return two EPYC 7702, and let this machine be it."""
    found = read_machine(str(write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz")))
    for module in (lint_module, hosts_module):
        monkeypatch.setattr(module, "read_machine", lambda *_: found)
    return found


def lines(*words: str, **options: object) -> RaceField:
    """Return the lines that race."""
    return lines_of(Asked(words, version="5.0.6", **options))  # type: ignore[arg-type]


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
    assert sizes(lines(*words, threads=4)) == {32}
    assert {16, 32, 64} <= sizes(lines(*words, threads=4, split=True))


@pytest.mark.usefixtures("rome")
def test_a_program_without_a_line_is_held_against_the_launchers_default() -> None:
    """Where only a program is given the first line must be what the launcher does by itself."""
    found = lines_of(Asked(("./app",), ranks=8, threads=2, launcher="openmpi", version="5.0.6"))
    assert (found.lines[0].name, found.lines[0].text) == (DEFAULT, "OMP_NUM_THREADS=2 mpirun -n 8 ./app")


@pytest.mark.usefixtures("rome")
def test_the_files_of_a_line_are_in_its_folder(tmp_path: Path) -> None:
    """A line that needs a file names it where it was written."""
    for each in lines_of(Asked(("./app",), ranks=12, near="mlx5_0", launcher="openmpi", version="4.1.5")).lines:
        placed = write(each, tmp_path / "files")
        named = [Path(word) for word in placed.argv if word.startswith(str(tmp_path))]
        assert [file for file in named if not file.is_file()] == []
        assert each.binding is None or (tmp_path / "files" / each.name.replace(" ", "-") / "launch.sh").is_file()


@pytest.mark.usefixtures("rome")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no launch line given; put it last, after --"),
        (("mpirun", "-np", "2", "./a", ":", "-np", "2", "./b"), "the line starts several programs"),
        (("mpirun", "-np", "2"), "the line starts no program"),
    ],
)
def test_what_is_no_line_is_refused_in_one(words: Sequence[str], says: str) -> None:
    """What cannot be raced is named with what to write."""
    with pytest.raises(AdvisorError, match=says):
        lines(*words)


@pytest.mark.usefixtures("rome")
def test_a_variable_is_tried_on_the_users_line_alone() -> None:
    """Each variable is a line of its own: the user's, with env in front of the program, its ranks where the user's are."""
    words = ("A=b", "mpirun", "-np", "16", "--bind-to", "none", "./app", "x")
    found = lines(*words, settings=("UCX_TLS=rc,sm", "OMP_PROC_BIND=spread")).lines
    assert [each.text for each in found if each.setting] == [
        "A=b mpirun -np 16 --bind-to none env UCX_TLS=rc,sm ./app x",
        "A=b mpirun -np 16 --bind-to none env OMP_PROC_BIND=spread ./app x",
    ]
    assert len(found) <= 12


@pytest.mark.usefixtures("rome")
def test_variables_that_were_asked_for_come_before_placements_that_were_not() -> None:
    """Of a race of four lines, two are those of the variables."""
    found = lines("mpirun", "-np", "16", "--bind-to", "none", "./app", settings=("A=1", "A=2"), lines=4)
    assert [each.name for each in found.lines][:3] == [YOURS, f"{YOURS} A=1", f"{YOURS} A=2"]
    assert (len(found.lines), "the limit is" in found.notes[0]) == (4, True)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"settings": ("UCX_TLS",)}, "--with 'UCX_TLS' sets no variable; write NAME=VALUE"),
        ({"settings": ("A=1", "A=1")}, "--with lists the same value twice for a variable or setting"),
        (
            {"settings": ("A=1", "A=2"), "lines": 2},
            "2 variables and settings are too many; at most 2 launch lines can be compared, including yours",
        ),
    ],
)
@pytest.mark.usefixtures("rome")
def test_variables_that_cannot_be_tried_are_refused(more: dict[str, Any], says: str) -> None:
    """What sets nothing, twice the same, and more than fit are each refused in one line."""
    with pytest.raises(BadValue, match=re.escape(says)):
        lines("mpirun", "-np", "16", "--bind-to", "none", "./app", **more)


def with_thp(machine: Machine, thp: str) -> Machine:
    """Return a machine whose transparent hugepages are set so."""
    return machine.model_copy(update={"kernel": (machine.kernel or Kernel()).model_copy(update={"thp": thp})})


def test_hugepages_are_tried_where_programs_must_ask_for_them(rome: Machine) -> None:
    """With --hugepages the user's line is tried with malloc asking for them."""
    assert settings_of(Asked((), hugepages=True), with_thp(rome, "madvise")) == (("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),)


@pytest.mark.parametrize(("thp", "why"), [("always", "programs already use them"), ("never", "programs get no hugepages")])
def test_hugepages_are_not_tried_where_that_changes_nothing(thp: str, why: str, rome: Machine) -> None:
    """Where every program has them, or none can, that is said instead of racing two lines that are the same."""
    with pytest.raises(BadValue, match=f"--hugepages has no effect here: THP is set to {thp}, so {why}"):
        settings_of(Asked((), hugepages=True), with_thp(rome, thp))


def test_each_adapter_and_each_gpu_is_tried_where_asked() -> None:
    """With --devices there is a candidate near each adapter and each GPU that gives its ranks something else."""
    archive = machine_of("two-hcas")
    job = JobShape(ranks=2)
    without = {each.name for each in placements(job, (archive,))[0]}
    found = {each.name for each in placements(job, (archive,), devices=True)[0]}
    assert {each for each in found if each.startswith("near ")} == {
        f"near {name} 2x1" for name in ("mlx5_0", "mlx5_1", "gpu0", "gpu1")
    }
    assert {each for each in without if each.startswith("near ")} == set()


@pytest.mark.usefixtures("rome")
def test_the_ranks_of_a_line_are_known_where_their_places_are_not() -> None:
    """What srun does with four ranks depends on the job; that there are four the line says."""
    found = lines_of(Asked(("srun", "-n", "4", "--cpu-bind=none", "./app"), version="22.05"))
    assert (found.lines[0].expected, {len(each.expected or ()) for each in found.lines[1:]}) == (None, {4})
