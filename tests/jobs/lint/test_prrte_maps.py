"""Lines of PRRTE's own test maps (openpmix/prrte, test/offline/golden), as Open MPI 5.0 has them too; its development branch.

Its test-topo2 is one Naples socket of four NUMA nodes, each with two L3 groups of three cores; turin-4gpu two sockets of four
NUMA nodes with sixteen cores each.
"""

import pytest

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.machine.machine import Machine
from tests.model.shapes import machine, shape

EVEN = "-H node0:8,node1:8,node2:8"
TOPO2 = machine(shape(1, 4, 8, 24, threads=2))


TURIN = machine(shape(2, 4, 8, 64))


def told(node: Machine, line: str, version: str | None = None) -> list[tuple[str | None, set[int] | None]] | str | None:
    """Return the host and the cores of every rank; None where nothing starts; why where it is not told."""
    made = predict(parse([f"prterun --rtos donotlaunch --display map {line}"], version), node, {})
    if made.unclear:
        return made.unclear
    cores = len(made.topology.cores)
    ranks = made.ranks or ()
    found = [(rank.host, None if rank.cpus is None else {cpu % cores for cpu in rank.cpus}) for rank in ranks]
    return None if made.refused else found


def on(host: str, *sets: set[int] | None) -> list[tuple[str | None, set[int] | None]]:
    """Return ranks of one host."""
    return [(host, each) for each in sets]


def one(*cores: int) -> list[set[int] | None]:
    """Return cores that ranks have for themselves."""
    return [{core} for core in cores]


@pytest.mark.parametrize("rank_by", ["fill", "node", "slot"])
def test_seven_ranks_by_core_fill_the_first_host(rank_by: str) -> None:
    """However they are numbered."""
    assert told(TOPO2, f"{EVEN} --map-by core --rank-by {rank_by} --bind-to core -n 7 hostname") == on("node0", *one(*range(7)))


@pytest.mark.parametrize("level", ["slot", "package", "numa", "l3cache", "core", "hwthread"])
def test_unbound_ranks_over_parts_fill_the_first_host(level: str) -> None:
    """Seven of its eight slots."""
    line = f"{EVEN} --map-by {level} --rank-by slot --bind-to none -n 7 hostname"
    assert told(TOPO2, line) == on("node0", *[None] * 7)


def test_ranks_by_node_are_three_two_and_two() -> None:
    """Numbered host by host, as --rank-by slot wants it."""
    wanted = on("node0", *[None] * 3) + on("node1", None, None) + on("node2", None, None)
    assert told(TOPO2, f"{EVEN} --map-by node --rank-by slot --bind-to none -n 7 hostname") == wanted


def test_two_ranks_for_a_package_share_it() -> None:
    """As ppr says."""
    whole = set(range(24))
    line = "-H node0:8 --map-by ppr:2:package --rank-by slot --bind-to package -n 2 hostname"
    assert told(TOPO2, line) == on("node0", whole, whole)


def test_a_second_program_goes_on_after_the_first() -> None:
    """On the next cores."""
    line = f"{EVEN} --map-by core --rank-by slot --bind-to core -n 2 hostname : -n 3 hostname"
    assert told(TURIN, line) == on("node0", *one(0, 1, 2, 3, 4))


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("main", f"{EVEN} --map-by core --bind-to core -n 7 hostname"),
        ("main", f"{EVEN} --map-by node -n 3 a : --map-by slot -n 3 b"),
        (None, "-H node0:8 --map-by device=gpu --bind-to core -n 4 hostname"),
        (None, f"{EVEN} --map-by numa --bind-to numa -n 2 a : --map-by core --bind-to core -n 2 b"),
    ],
)
def test_the_development_branch_is_not_predicted(version: str | None, line: str) -> None:
    """Where the version says so, and where only that branch takes the words."""
    assert told(TURIN, line, version) == "lines for PRRTE's development branch are not predicted"


@pytest.mark.parametrize(
    ("version", "launcher", "shown"),
    [
        ("main", "openmpi5", "main"),
        ("prrte-main", "openmpi5", "main"),
        ("prrte-4.0.1", "openmpi5", "main"),
        ("prrte-3.0.8", "openmpi5", "5.0.6"),
        ("prrte-3.0.2", "openmpi5", "5.0.5"),
        ("v5.0.8", "openmpi5", "5.0.8"),
        ("v4.1.6", "openmpi4", "4.1.6"),
    ],
)
def test_versions_are_understood_as_people_write_them(version: str, launcher: str, shown: str) -> None:
    """With a v before them, as a branch, and as PRRTE counts its own."""
    line = parse(["mpirun -np 2 ./a"], version)
    assert (line.family, line.version) == (launcher, shown)


def test_mapping_by_device_is_not_told_of_open_mpi_5_0() -> None:
    """PRRTE 3.0 refuses the word."""
    line = "-H node0:8 --map-by device=gpu --bind-to core -n 4 hostname"
    assert told(TURIN, line, "5.0.11") == "--map-by device=gpu is not predicted"
