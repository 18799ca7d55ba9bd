import re
from pathlib import Path
from pkgutil import iter_modules

import pytest

import advisor
from advisor.errors import BadValue
from advisor.jobs.launcher import choose, find, launchers, names, of_lines
from advisor.machine.machine import Tool
from advisor.machine.sources.scheduler import VERSIONS

ROOT = Path(advisor.__file__).parent
OPENMPI, SLURM = Tool(name="openmpi", version="4.1.4"), Tool(name="slurm", version="22.05.8")


def test_the_folder_is_the_registry() -> None:
    """Every module of it is a launcher under its name, or its versions are, and no name or alias belongs to two of them."""
    every = [name for launcher in launchers().values() for name in (launcher.name, *launcher.aliases)]
    assert {*names()} == {info.name for info in iter_modules([str(ROOT / "jobs/launchers")])}
    assert len(set(every)) == len(every)


def test_no_launcher_is_named_where_all_are_dealt_with() -> None:
    """Outside of launchers' own modules and what they share, no name of a launcher is compared with."""
    shared = [ROOT / "jobs" / f"{name}.py" for name in ("ask", "line", "lint", "predict", "request")]
    shared += [*(ROOT / "jobs").glob("openmpi*.py"), *(ROOT / "jobs/launchers").iterdir()]
    shared += [ROOT / "measure/build.py", ROOT / "advice/judge/published.py"]  # which compiler, which publication
    # What a script starts is one reader for all launchers: who counts how, what a scheduler hands to whom.
    shared += [ROOT / "jobs/check.py", *(ROOT / "jobs/scripts").glob("*.py"), ROOT / "jobs/bind.py"]
    rooms = [file for file in ROOT.rglob("*.py") if file not in shared]
    named = re.compile(rf"""(?:[=!]=|\bin\b|startswith\()[ (]*["'](?:{"|".join(of_lines())}|openmpi)["']""")
    assert [str(file) for file in rooms if named.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("openmpi", None, "openmpi5"),
        ("openmpi", "4.1.4", "openmpi4"),
        ("openmpi", "3.1.6", "openmpi4"),
        ("openmpi", "5.0.6", "openmpi5"),
        ("openmpi", "6.0.0", "openmpi5"),
        ("openmpi", "main", "openmpi5"),
        ("openmpi4", None, "openmpi4"),
        ("impi", None, "intelmpi"),
        ("SRUN", None, "srun"),
        ("slurm", "23.02", "srun"),
    ],
)
def test_a_name_finds_its_launcher(name: str, version: str | None, found: str) -> None:
    """A launcher is found by name or alias, and of a family the one for the version."""
    assert found == find(name, version).name


def test_a_name_that_is_none_gets_the_nearest() -> None:
    """An unknown name is refused with the nearest known one."""
    with pytest.raises(BadValue, match="unknown launcher opnmpi; did you mean openmpi"):
        find("opnmpi")
    with pytest.raises(BadValue, match="available: openmpi4, openmpi5, srun"):
        find("zzzzzz")


@pytest.mark.parametrize(
    ("tools", "scheduler", "found", "version", "why"),
    [
        ((OPENMPI, SLURM), "slurm", "openmpi4", "4.1.4", "openmpi 4.1.4 is on this machine"),
        ((SLURM,), "slurm", "srun", "22.05.8", "slurm 22.05.8: this is a Slurm job, and no mpirun was found on this machine"),
        ((Tool(name="ucx"),), "slurm", "srun", None, "this is a Slurm job, and no launcher was found on this machine"),
        ((Tool(name="prrte", version="3.0.2"),), None, "openmpi5", None, "prrte 3.0.2 is on this machine"),
        ((), None, "openmpi5", None, "Open MPI assumed, because no launcher was found on this machine; choose with --launcher"),
        (
            None,
            None,
            "openmpi5",
            None,
            "Open MPI assumed, because the launchers on this machine are unknown; choose with --launcher",
        ),
    ],
)
def test_the_machine_says_which(
    tools: tuple[Tool, ...] | None, scheduler: str | None, found: str, version: str | None, why: str
) -> None:
    """Without a name the machine's own mpirun is taken, in a Slurm job without one srun, else Open MPI; and it is said why."""
    choice = choose(tools, scheduler=scheduler)
    assert (choice.launcher.name, choice.version, choice.why) == (found, version, why)


def test_a_named_launcher_has_the_version_that_is_there() -> None:
    """Of a launcher asked for by name alone, the machine tells the version; one that is given counts more."""
    assert [choose((OPENMPI,), "openmpi").version, choose((OPENMPI,), "openmpi", "5.0.1").version] == ["4.1.4", "5.0.1"]
    assert choose((OPENMPI,), "openmpi").launcher.name == "openmpi4"
    assert choose((OPENMPI,), "openmpi5").version is None
    assert choose((OPENMPI,), "mpich").version is None
    assert choose((OPENMPI,), version="5.0.1").launcher.name == "openmpi5"


def test_what_can_be_asked_for() -> None:
    """The names of all launchers, those of a family by one; some start no ranks or none unbound."""
    others = set(names()) - set(names(starting=True))
    assert (others, "openmpi4" in names(), "openmpi" in names()) == (
        {"wrapper", "numactl", "likwid", "sge", "torchrun"},
        False,
        True,
    )


@pytest.mark.parametrize(
    ("output", "name", "version"),
    [
        ("MVAPICH2 Version:     \t2.3.7\n", "mvapich", "2.3.7"),
        ("MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail\n", "mvapich", "2.3.7"),
        ("HYDRA build details:\n    Version: 4.1\n    Configure options: '--prefix=/opt/mvapich'\n", "mvapich", None),
    ],
)
def test_mvapich_is_told_from_mpich(output: str, name: str, version: str | None) -> None:
    """By the name in its version, or by how it was built: then the number is that of MPICH, and not its own."""
    matches = [(query.tool, re.search(query.says, output, re.MULTILINE), re.compile(query.says)) for query in VERSIONS]
    tool, match, says = next(each for each in matches if each[1])
    assert (tool, match[1] if match and says.groups else None) == (name, version)
