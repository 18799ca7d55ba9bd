"""Lines of PRRTE's own test maps (openpmix/prrte, test/offline/golden): what they say of hosts and cores, written anew.

Its test-topo is two sockets of two NUMA nodes with 44 cores each; test-topo2 one Naples socket of four NUMA nodes, each with two
L3 groups of three cores; turin-4gpu two sockets of four NUMA nodes with sixteen cores each, GPUs at nodes 1, 2, 6 and 7. The maps
are of its development branch, the newest of each name: what a second program may have of a part was changed on the way.
"""

import pytest

from advisor.launch.lint.line import parse
from advisor.launch.lint.predict import predict
from advisor.model.hardware.devices import Gpu, Hca, Locality
from advisor.model.hardware.machine import Machine
from tests.model.shapes import machine, shape

EVEN = "-H node0:8,node1:8,node2:8"
TOPO2 = machine(shape(1, 4, 8, 24, threads=2))
WIDE = machine(shape(2, 2, 11, 88))
SMT = machine(shape(2, 4, 8, 64, threads=2))
NUMA = [set(range(i * 6, i * 6 + 6)) for i in range(4)]


def _at(node: int) -> Locality:
    return Locality(numa_nodes=(node,), inferred=None, one_of=False)


TURIN = machine(shape(2, 4, 8, 64)).model_copy(
    update={
        "gpus": tuple(Gpu(address=f"0000:{i:02x}:00.0", vendor="nvidia", locality=_at(n)) for i, n in enumerate((1, 2, 6, 7), 1)),
        "hcas": (Hca(name="mlx5_0", address="0000:05:00.0", locality=_at(1), ports=()),),
    }
)


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


PARTS = ("slot", "package", "numa", "l3cache", "l2cache", "l1cache", "core", "hwthread")
NODES = {"topo2": (TOPO2, 6, 24), "topo": (WIDE, 44, 88), "turin": (TURIN, 16, 64)}
"""Each machine with the cores of a NUMA node and of a socket."""


@pytest.mark.parametrize("name", NODES)
def test_each_golden_map_of_one_program_is_told_on_its_three_machines(name: str) -> None:
    """Seven ranks by core and bound to it, however numbered; seven unbound over every part; by node; sixteen in twelve slots."""
    node = NODES[name][0]
    for order in ("fill", "node", "slot", "span"):
        line = f"{EVEN} --map-by core --rank-by {order} --bind-to core -n 7 hostname"
        assert told(node, line, "main") == on("node0", *one(*range(7)))
    for part in PARTS:
        assert told(node, f"{EVEN} --map-by {part} --rank-by slot --bind-to none -n 7 hostname", "main") == on(
            "node0", *[None] * 7
        )
    by_node = on("node0", *[None] * 3) + on("node1", None, None) + on("node2", None, None)
    assert told(node, f"{EVEN} --map-by node --rank-by slot --bind-to none -n 7 hostname", "main") == by_node
    over = "--prtemca mapby :oversubscribe -H node0:8,node1:4 --map-by core --rank-by slot --bind-to core -n 16 hostname"
    assert told(node, over, "main") == on("node0", *one(*range(10))) + on("node1", *one(*range(6)))


@pytest.mark.parametrize("name", NODES)
def test_each_golden_map_of_several_programs_is_told_on_its_three_machines(name: str) -> None:
    """Programs on the next cores; each mapped, bound or numbered in its own way; lists of cores; leave for all of them."""
    node, numa, socket = NODES[name]
    first, second = set(range(numa)), set(range(numa, 2 * numa))
    lines: dict[str, list[set[int] | None]] = {
        "--map-by core --rank-by slot --bind-to core -n 2 a : -n 3 b": one(0, 1, 2, 3, 4),
        "--rank-by node -n 4 a : --rank-by slot -n 4 b": one(*range(8)),
        "--map-by pe-list=0-1 -n 2 a : --map-by pe-list=4-5 -n 2 b": [{0, 1}, {0, 1}, {4, 5}, {4, 5}],
        "--map-by numa --bind-to numa -n 2 a : --map-by core --bind-to core -n 2 b": [first, second, {1}, {2}],
    }
    for line, sets in lines.items():
        assert told(node, f"{EVEN} {line}", "main") == on("node0", *sets)
    turns = [(host, first) for host in ("node0", "node1", "node2", "node0", "node0", "node0")]
    assert told(node, f"{EVEN} --map-by node -n 3 a : --map-by slot -n 3 b", "main") == turns
    leave = told(node, f"{EVEN} --map-by slot:oversubscribe -n 14 a : --map-by node -n 14 b", "main")
    assert isinstance(leave, list)
    assert [host for host, _ in leave] == ["node0"] * 8 + ["node1"] * 6 + [f"node{i % 3}" for i in range(14)]
    assert [cores is None for _, cores in leave] == [False] * 14 + [True] * 14
    if node is not TOPO2:  # one socket has no room for two ranks each of four
        line = "-H node0:8 --map-by ppr:2:package --rank-by slot --bind-to package -n 4 hostname"
        sockets = [set(range(socket)), set(range(socket, 2 * socket))]
        assert told(node, line, "main") == on("node0", *[each for each in sockets for _ in range(2)])


@pytest.mark.parametrize("rank_by", ["fill", "node", "slot", "span"])
def test_seven_ranks_by_core_fill_the_first_host(rank_by: str) -> None:
    """However they are numbered."""
    assert told(TOPO2, f"{EVEN} --map-by core --rank-by {rank_by} --bind-to core -n 7 hostname") == on("node0", *one(*range(7)))


@pytest.mark.parametrize("level", ["slot", "package", "numa", "l3cache", "l2cache", "l1cache", "core", "hwthread"])
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


def test_each_program_may_be_mapped_in_its_own_way() -> None:
    """By node and by slot; by package, L3 group and core: what one has taken of a part counts as a core for the next."""
    node_slot = f"{EVEN} --map-by node -n 3 hostname : --map-by slot -n 3 hostname"
    first = [("node0", NUMA[0]), ("node1", NUMA[0]), ("node2", NUMA[0])]
    assert told(TOPO2, node_slot) == [*first, *on("node0", NUMA[0], NUMA[0], NUMA[0])]
    three = f"{EVEN} --map-by package -n 2 a : --map-by l3cache -n 2 b : --map-by core -n 2 c"
    assert told(TOPO2, three) == on("node0", set(range(24)), set(range(24)), {0, 1, 2}, {3, 4, 5}, {4}, {5})
    bound = f"{EVEN} --map-by numa --bind-to numa -n 2 a : --map-by core --bind-to core -n 2 b"
    assert told(TOPO2, bound) == on("node0", NUMA[0], NUMA[1], {1}, {2})
    ranked = f"{EVEN} --rank-by node -n 4 a : --rank-by slot -n 4 b"
    assert told(TOPO2, ranked) == on("node0", *one(*range(8)))
    listed = f"{EVEN} --map-by pe-list=0-1 -n 2 a : --map-by pe-list=4-5 -n 2 b"
    assert told(TOPO2, listed) == on("node0", {0, 1}, {0, 1}, {4, 5}, {4, 5})


def test_programs_of_their_own_ways_on_two_sockets_of_two_nodes() -> None:
    """By node and slot, by NUMA node and core, by socket, L3 group and core; and two ranks for each socket."""
    first, second = set(range(44)), set(range(44, 88))
    node_slot = f"{EVEN} --map-by node -n 3 hostname : --map-by slot -n 3 hostname"
    assert told(WIDE, node_slot) == [(host, first) for host in ("node0", "node1", "node2", "node0", "node0", "node0")]
    bound = f"{EVEN} --map-by numa --bind-to numa -n 2 a : --map-by core --bind-to core -n 2 b"
    assert told(WIDE, bound) == on("node0", first, second, {1}, {2})
    three = f"{EVEN} --map-by package -n 2 a : --map-by l3cache -n 2 b : --map-by core -n 2 c"
    sockets = [set(range(88)), set(range(88, 176))]
    assert told(WIDE, three) == on("node0", *sockets, set(range(8)), set(range(8, 16)), {2}, {3})
    ppr = "-H node0:8 --map-by ppr:2:package --rank-by slot --bind-to package -n 4 hostname"
    assert told(WIDE, ppr) == on("node0", *[each for each in sockets for _ in range(2)])


def test_a_program_for_which_no_slot_is_left_is_shared_out_over_the_hosts() -> None:
    """Six of six slots are taken, then two ranks more: three, three and two; where one forbids it nothing starts."""
    line = "-H nodeA0:2,nodeA1:2,nodeA2:2 --map-by core:oversubscribe -n 6 a : -n 2 b"
    found = told(TOPO2, line, "main")
    assert isinstance(found, list)
    assert sorted(host or "" for host, _ in found) == ["nodeA0"] * 3 + ["nodeA1"] * 3 + ["nodeA2"] * 2
    assert told(TOPO2, f"{EVEN} --map-by core:oversubscribe -n 2 a : --map-by node:nooversubscribe -n 2 b") is None


@pytest.mark.parametrize(
    "line",
    [
        "-H node0:8 --map-by device=gpu --rank-by slot --bind-to core:overload-allowed -n 8 hostname",
        f"{EVEN} --map-by core:hwtcpus -n 12 hostname",
        f"{EVEN} --map-by core --bind-to hwthread -n 7 hostname",
        "-H node0:4,node1:4,node2:4 --map-by core:span -n 8 hostname",
        "-H node0:1,node1:10 --map-by node --bind-to none -n 11 hostname",
        "--prtemca ras simulator --prtemca ras_simulator_num_nodes 2 -H node0:2 --map-by core -n 2 hostname",
    ],
)
def test_what_was_changed_on_the_way_is_not_told(line: str) -> None:
    """Devices for more ranks than there are, hardware threads, span, hosts of few slots, hosts from a simulator."""
    gpus = SMT.model_copy(update={"gpus": TURIN.gpus})
    assert isinstance(told(gpus, line, "main"), str)


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


def test_leave_for_more_ranks_than_slots_holds_for_all_programs() -> None:
    """The first fits and is bound, the second has ten slots for fourteen ranks and is not."""
    line = f"{EVEN} --map-by slot:oversubscribe -n 14 a : --map-by node -n 14 b"
    found = told(TOPO2, line)
    assert isinstance(found, list)
    assert found[:14] == on("node0", *[NUMA[0]] * 6, NUMA[1], NUMA[1]) + on("node1", *[NUMA[0]] * 6)
    assert [host for host, cores in found[14:] if cores is None] == [f"node{i % 3}" for i in range(14)]


def test_more_ranks_than_slots_are_shared_out_after_the_slots() -> None:
    """Ten and six, where eight and four are slots."""
    line = "--prtemca mapby :oversubscribe -H node0:8,node1:4 --map-by core --rank-by slot --bind-to core -n 16 hostname"
    assert told(WIDE, line) == on("node0", *one(*range(10))) + on("node1", *one(*range(6)))


BY_DEVICE = (
    ("--map-by device=gpu -n 4", one(16, 32, 96, 112)),
    ("--map-by device=gpu -n 2", one(16, 32)),
    ("--map-by device=gpu:interleave -n 4", one(16, 96, 32, 112)),
    ("--map-by device=gpu:interleave -n 2", one(16, 96)),
    ("--map-by device=gpu:shared -n 8", one(16, 32, 96, 112, 17, 33, 97, 113)),
    ("--map-by ppr:2:device=gpu -n 8", one(16, 17, 32, 33, 96, 97, 112, 113)),
    ("--map-by device=mlx5_0 -n 4", one(16, 17, 18, 19)),
    ("--map-by device=gpu:ndev=2 -n 2", one(16, 96)),
    ("--map-by device=gpu:ndev=2:interleave -n 2", one(16, 32)),
    ("--map-by device=gpu -n 8", None),
)


@pytest.mark.parametrize(("words", "wanted"), BY_DEVICE)
def test_ranks_go_beside_devices(words: str, wanted: list[set[int] | None] | None) -> None:
    """One beside each in turn, unless they are shared, counted, named or grouped."""
    expected = None if wanted is None else on("node0", *wanted)
    assert told(TURIN, f"-H node0:8 --rank-by slot --bind-to core {words} hostname") == expected


def test_ranks_with_two_devices_are_bound_to_what_holds_both_or_to_the_first() -> None:
    """The socket, or the NUMA node of the first."""
    line = "-H node0:8 --map-by device=gpu:ndev=2 --rank-by slot --bind-to {} -n 2 hostname"
    assert told(TURIN, line.format("package")) == on("node0", set(range(64)), set(range(64, 128)))
    assert told(TURIN, line.format("numa")) == on("node0", set(range(16, 32)), set(range(96, 112)))


def test_a_slot_too_few_is_made_up_for_by_leave() -> None:
    """Four ranks beside four GPUs where the host has two slots."""
    line = "-H node0:2 --map-by device=gpu{} --rank-by slot --bind-to core -n 4 hostname"
    assert told(TURIN, line.format(":oversubscribe")) == on("node0", *one(16, 32, 96, 112))
    assert told(TURIN, line.format("")) is None


def test_open_mpi_5_0_knows_no_mapping_by_device() -> None:
    """PRRTE 3.0 refuses the word."""
    assert told(TURIN, "-H node0:8 --map-by device=gpu --bind-to core -n 4 hostname", "5.0.11") is None
