"""What is read of numactl and taskset besides lists: what only the host knows is left open."""

import pytest

from advisor.jobs.line import binders, binds_itself, bound, program_at, read_binder
from advisor.jobs.predict import binder_cpus
from advisor.jobs.request import Unclear
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)


@pytest.mark.parametrize("words", ["-N netdev:hsn0", "-N pci:0000:c1:00.0", "-C +40"])
def test_what_only_the_host_knows_is_left_open(words: str) -> None:
    """The NUMA nodes of a device, and positions beyond the CPUs."""
    line = ["numactl", *words.split(), "./app"]
    with pytest.raises(Unclear):
        binder_cpus(read_binder(line, 0, len(line))[0], ROME.nodes[0].cpuset, ROME)


def test_memory_alone_binds_no_cpus() -> None:
    """Numactl -m sets nothing else."""
    line = ["numactl", "-m", "0", "./app"]
    assert binder_cpus(read_binder(line, 0, len(line))[0], None, ROME) is None


def test_binders_are_seen_behind_what_only_passes_on() -> None:
    """Env with variables, time, nice; and where the program stands."""
    words = ["env", "-u", "Y", "X=1", "nice", "-n", "5", "numactl", "-N", "0", "env", "Z=2", "taskset", "-c", "3", "./app"]
    assert [(each.tool, end) for each, end in bound(words)] == [("numactl", 12), ("taskset", 15)]
    assert list(binders(["env", "X=1", "./app", "numactl"])) == []


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("likwid-pin -c 0-3 ./app", "likwid-pin"),
        ("env X=1 hwloc-bind core:0 -- ./app", "hwloc-bind"),
        ("numactl -N 0 srun ./app", "srun"),
        ("likwid-perfctr -C 0-3 ./app", "likwid-perfctr"),
        ("likwid-perfctr -c 0-3 ./app", None),
        ("env", None),
        ("./app srun", None),
    ],
)
def test_what_else_binds_or_starts_ranks_is_named(command: str, program: str | None) -> None:
    """So that nothing is predicted of it."""
    assert binds_itself(command.split()) == program


def test_a_shell_is_asked_for_the_words_it_runs() -> None:
    """A numactl between quotes is one too."""
    assert binds_itself(["bash", "-c", "exec numactl -N $X ./app"]) == "numactl"
    assert binds_itself(["bash", "-c", "./app"]) is None


@pytest.mark.parametrize(
    ("command", "program", "memory"),
    [
        (("sh", "-c", 'exec numactl --preferred=$((L+8)) "$@"', "sh", "./a", "x"), "./a", ["$((L+8))"]),
        (("sh", "-c", 'each() { shift $L; echo $1; }; exec numactl -m $(each 7 4) "$@"', "sh", "./a"), "./a", ["$(each 7 4)"]),
        (("sh", "-c", 'export A=$L; exec "$@"', "sh", "numactl", "-m", "8", "./a"), "./a", ["8"]),
        (("sh", "-c", 'each() { shift $L; echo $1; }; export A=1; exec taskset -c $(each 0 1) "$@"', "sh", "./a"), "./a", []),
        (("sh", "-c", 'exec taskset -c $MINE "$@"', "sh", "./a"), "sh", []),
        (("sh", "-c", 'taskset -c 0 ./x; exec "$@"', "sh", "./a"), "sh", []),
        (("sh", "-c", "numactl -m 8 ./a"), "sh", []),
    ],
)
def test_a_shell_that_starts_the_words_behind_it_is_passed(command: tuple[str, ...], program: str, memory: list[str]) -> None:
    """The program is what stands behind it, numactl in its text binds; a text that does more is a program itself."""
    assert command[program_at(command)] == program
    assert [binder.memory for binder in binders(command)] == memory
