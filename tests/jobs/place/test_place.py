"""Placements worked out by hand."""

from typing import get_args

import pytest

from advisor.jobs.place import place, refusal
from advisor.jobs.place_cores import JobCores, RankCores
from advisor.jobs.placement import JobShape, Placement, Slice, Strategy
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Locality
from advisor.machine.machine import Machine
from tests.jobs.place.samples import cpus, machine, nodes, placed, refused, span
from tests.model import shapes

R7425, ROME, ROME_24 = "a-r7425-2x7601-dell", "b-c6525-2x7702-nps4", "b-c6525-2x7402-nps4"


def test_sixteen_ranks_near_the_adapter_of_an_r7425() -> None:
    """Node 6 holds mlx5_0: its eight cores first, then those of the next node of its socket, nearest and lowest: 4."""
    made = placed(R7425, ranks=16, near="mlx5_0")
    six = ["5", "21", "37", "53", "13", "29", "45", "61"]
    four = ["1", "17", "33", "49", "9", "25", "41", "57"]
    assert (made.strategy, cpus(made)) == ("hca-near", six + four)
    assert [(r.slot.hca, r.slot.distance) for r in made.ranks()] == [("mlx5_0", 10)] * 8 + [("mlx5_0", 16)] * 8


def test_far_socket_comes_last_and_its_direct_node_first() -> None:
    """After socket 1 comes socket 0, and there node 0, which SLIT says is at 22 from node 6 and the others at 28."""
    made = placed(R7425, strategy="hca-near")
    assert nodes(made) == [node for node in (6, 4, 5, 7, 0, 1, 2, 3) for _ in range(8)]


def test_one_rank_a_ccx_with_four_threads() -> None:
    """32 ranks fill the 32 CCXs of two 7702."""
    made = placed(ROME, per="l3", threads=4)
    assert (made.strategy, cpus(made), made.notes) == ("spread-l3", span(0, 32, 4), ())
    assert [r.slot.l3 for r in made.ranks()] == [(i,) for i in range(32)]


def test_one_core_of_every_ccx() -> None:
    """32 ranks of one thread sit on the first core of every CCX: the case of 9 to 17 percent more bandwidth."""
    made = placed(ROME, ranks=32)
    assert (made.strategy, cpus(made)) == ("spread-l3", [str(i) for i in range(0, 128, 4)])


def test_three_cores_a_ccx() -> None:
    """On a 7402 three threads fill a CCX, two leave a core of it idle, and four need two CCXs of one node."""
    assert cpus(placed(ROME_24, ranks=16, threads=3)) == span(0, 16, 3)
    assert cpus(placed(ROME_24, ranks=16, threads=2)) == [f"{i}-{i + 1}" for i in range(0, 48, 3)]
    assert cpus(placed(ROME_24, ranks=8, threads=4)) == [f"{i}-{i + 3}" for i in range(0, 48, 6)]


def test_hybrid_leaves_an_l3_only_with_what_would_stay_idle() -> None:
    """24 ranks of two threads on CCXs of three cores: two ranks of a node in a CCX each, the third takes what they leave."""
    assert cpus(placed(ROME_24, ranks=24, threads=2))[:3] == ["0-1", "2,5", "3-4"]


def test_uneven_l3_groups() -> None:
    """44 ranks of four threads on groups of 8, 8, 8, 8, 8 and 4: two in each but one in the small ones."""
    made = placed("uneven-l3", ranks=44, threads=4)
    counts = [sum(1 for r in made.ranks() if r.slot.l3 == (group,)) for group in range(24)]
    assert (counts, cpus(made)) == ([2, 2, 2, 2, 2, 1] * 4, span(0, 44, 4))


def test_uneven_l3_groups_that_one_thread_ranks_fill() -> None:
    """120 ranks: five a group, but four in the small ones, and of the four left over one more for the first of each node."""
    made = placed("uneven-l3", ranks=120, strategy="spread-l3")
    counts = [sum(1 for r in made.ranks() if r.slot.l3 == (group,)) for group in range(24)]
    assert counts == [6, 5, 5, 5, 5, 4] * 4


def test_two_haswells_with_numbers_dealt_over_sockets() -> None:
    """Four ranks of five threads: even CPUs are socket 0, odd ones socket 1."""
    made = placed("c-c6320-2x2660v3", ranks=4, threads=5)
    assert cpus(made) == ["0,2,4,6,8", "10,12,14,16,18", "1,3,5,7,9", "11,13,15,17,19"]
    assert [r.slot.socket for r in made.ranks()] == [0, 0, 1, 1]


def test_half_a_node() -> None:
    """A job whose cgroup has socket 0 only gets no more than that; its adapter is on the other socket."""
    made = placed("job-half-v2", ranks=8)
    assert (made.strategy, cpus(made)) == ("spread-l3", ["0", "2", "4", "6", "8", "10", "12", "14"])
    assert {(r.slot.hca, r.slot.distance) for r in made.ranks()} == {("mlx5_0", 32)}
    assert refused("job-half-v2", ranks=17) == "17 ranks x 1 thread need 17 cores, but only 16 are free; try 16 ranks x 1 thread"


def test_two_adapters() -> None:
    """Ranks are split evenly over two adapters, each on its adapter's node first, then on its socket's others."""
    made = placed("two-hcas", ranks=32, hosts=("a", "b"), strategy="per-hca")
    assert [r.slot.hca for r in made.ranks()] == (["mlx5_0"] * 8 + ["mlx5_1"] * 8) * 2
    assert cpus(made)[:16] == [*map(str, (4, 5, 6, 7, 0, 1, 2, 3)), *map(str, (24, 25, 26, 27, 16, 17, 18, 19))]


def test_ranks_beside_gpus() -> None:
    """Where no number is given every GPU gets a rank; four ranks are two for each, in an L3 group of their own."""
    assert cpus(placed("two-hcas", strategy="gpu-near", threads=4)) == ["4-7", "24-27"]
    made = placed("two-hcas", strategy="gpu-near", ranks=4)
    assert [(str(r.slot.cpus), r.slot.gpu) for r in made.ranks()] == [
        ("4", "0000:42:00.0"),
        ("6", "0000:42:00.0"),
        ("24", "0000:a2:00.0"),
        ("26", "0000:a2:00.0"),
    ]


@pytest.mark.parametrize("name", ["gpu1", "0000:a2:00.0"])
def test_near_a_gpu(name: str) -> None:
    """Cores near a GPU are asked for by its number or its address; those of one node are taken cache by cache."""
    made = placed("two-hcas", ranks=2, near=name)
    assert [(str(r.slot.cpus), r.slot.gpu) for r in made.ranks()] == [("24", "0000:a2:00.0"), ("26", "0000:a2:00.0")]


def test_memories_are_shared_evenly() -> None:
    """Balanced counts memories: with DIMMs on nodes 0, 2, 4, 6 only, each of these feeds two of eight ranks, or nearly."""
    made = placed("a-r7425-2x7601-dell-2nodesmem", ranks=8, strategy="balanced")
    assert [r.slot.memory for r in made.ranks()] == [(1,)] * 4 + [(5,)] * 4


def test_memory_comes_from_the_nearest_node_that_has_any() -> None:
    """Node 1 has none, and nodes 0 and 2 of its socket are equally near."""
    made = placed("memoryless", per="numa", strategy="spread-numa")
    socket = [(0,), (0, 2), (2,), (0, 2)]
    assert [r.slot.memory for r in made.ranks()] == socket + [tuple(n + 4 for n in memory) for memory in socket]


def test_memory_without_cpus_is_nobodys_place() -> None:
    """Eight ranks take the eight nodes that have CPUs, and their DRAM; HBM stays aside."""
    made = placed("hbm-flat", ranks=8, threads=8)
    assert [(r.slot.nodes, r.slot.memory) for r in made.ranks()] == [((n,), (n,)) for n in range(8)]


def test_sub_numa_clusters_inside_one_l3() -> None:
    """Four ranks of 12 threads take a cluster each, though an L3 group of 24 would hold two of them side by side."""
    assert nodes(placed("d-delftblue-2x6248r-snc2", ranks=4, threads=12)) == [0, 1, 2, 3]


def test_few_ranks_are_spaced_evenly() -> None:
    """Four ranks on eight nodes: two on each socket, a node apart."""
    assert nodes(placed(ROME, ranks=4)) == [0, 2, 4, 6]
    assert nodes(placed(ROME, ranks=3, strategy="spread-numa")) == [0, 2, 4]
    assert nodes(placed(ROME, ranks=10, strategy="spread-numa")) == [0, 0, 1, 2, 3, 4, 4, 5, 6, 7]


def test_counting_in_sockets() -> None:
    """Two ranks a socket, placed inside each by the strategy."""
    assert cpus(placed("c-c6320-2x2660v3", per="socket", per_count=2, strategy="compact")) == ["0", "2", "1", "3"]


def test_whole_cores_without_smt() -> None:
    """Where second threads are skipped a rank is bound to all hardware threads of its cores."""
    assert cpus(placed("epyc-nps4-smt-linear", ranks=2, threads=2, strategy="compact")) == ["0-1,32-33", "2-3,34-35"]


def test_hardware_threads_with_smt() -> None:
    """Where they are used two threads take one core, and a rank of three takes a core and a half."""
    assert cpus(placed("epyc-nps4-smt-linear", ranks=2, threads=2, smt="use", strategy="compact")) == ["0,32", "1,33"]
    assert cpus(placed("epyc-nps4-smt-linear", ranks=2, threads=3, smt="use", strategy="compact")) == ["0-1,32", "2-3,34"]


def test_cores_are_shared_only_where_they_must_be() -> None:
    """34 ranks on 32 cores of two threads: two cores, on different nodes, have two ranks each."""
    made = placed("epyc-nps4-smt-linear", ranks=34, smt="use", strategy="compact")
    taken = cpus(made)
    assert [one for one in taken if int(one) >= 32] == ["32", "34"]
    assert "2 cores shared by ranks, each on its own hardware threads" in made.notes


def test_reserved_cores() -> None:
    """The first cores stay with the system, with all their threads."""
    made = placed("epyc-nps4-smt-linear", ranks=2, reserve=2, strategy="compact")
    assert (cpus(made), made.notes[0]) == (["2,34", "3,35"], "2 cores left to the system: CPUs 0-1,32-33")


def test_cores_reserved_of_each_l3() -> None:
    """The first core of each L3 group stays with the system, so that ranks of all groups have as many."""
    made = placed("epyc-nps4-smt-linear", per="l3", reserve=1, reserve_per="l3")
    assert (cpus(made)[:2], made.notes[0].partition(":")[0]) == (["1,33", "3,35"], "16 cores left to the system")


def test_slices_are_whole_nodes_where_they_can_be() -> None:
    """A quarter of eight nodes is two; a third of 32 L3 groups is 11 or 10."""
    quarter = placed(ROME, slice=Slice(part=2, of=4), strategy="compact")
    thirds = [placed(ROME, slice=Slice(part=k, of=3), strategy="compact").size for k in (1, 2, 3)]
    assert (cpus(quarter), thirds) == ([str(i) for i in range(32, 64)], [44, 44, 40])


def test_slices_of_two_large_l3_are_of_cores() -> None:
    """Two L3 groups of ten cores make four slices of five."""
    made = placed("c-c6320-2x2660v3", slice=Slice(part=4, of=4), strategy="compact")
    assert cpus(made) == ["11", "13", "15", "17", "19"]


def test_the_process_may_have_less_than_its_cgroup() -> None:
    """Only CPUs that are allowed are used."""
    made = place(JobShape(strategy="compact"), [machine(ROME)], allowed=CpuSet([3, 4, 90]))
    assert cpus(made) == ["3", "4", "90"]


def test_cores_of_which_a_part_is_allowed() -> None:
    """They are used, and it is said."""
    made = place(JobShape(strategy="compact"), [machine("epyc-nps4-smt-linear")], allowed=CpuSet([0, 1, 33]))
    note = "the job may use only some threads of the cores of CPUs 0; some launchers skip these cores"
    assert (cpus(made), made.notes[1]) == (["0", "1,33"], note)


def test_dies_taken_for_packages() -> None:
    """An old kernel takes dies for packages; a rank of ten threads may still span dies of one real socket."""
    made = placed("dies-as-packages", ranks=6, threads=10)
    assert [(r.slot.socket, set(r.slot.nodes) <= {0, 1, 2, 3}) for r in made.ranks()] == [(None, True)] * 3 + [(None, False)] * 3


def test_a_node_over_two_sockets() -> None:
    """Where both sockets are one NUMA node no rank straddles them all the same."""
    assert refused("nps0", ranks=1, threads=17) == (
        "1 rank x 17 threads do not fit: with compact no rank straddles sockets; try 1 rank x 16 threads"
    )


@pytest.mark.parametrize(
    ("job", "line"),
    [
        (
            {"ranks": 64, "threads": 3},
            "64 ranks x 3 threads need 192 cores, but only 128 are free; try 42 ranks x 3 threads, or 64 x 2 threads",
        ),
        ({"ranks": 2, "threads": 80}, "2 ranks x 80 threads need 160 cores, but only 128 are free; try 2 ranks x 64 threads"),
        (
            {"ranks": 33, "threads": 3, "strategy": "spread-l3"},
            (
                "33 ranks x 3 threads do not fit: with spread-l3 each rank stays in one L3 group; "
                "try 32 ranks x 3 threads, or 33 x 2 threads"
            ),
        ),
        (
            {"per": "numa", "per_count": 4, "threads": 5},
            (
                "4 ranks x 5 threads in each NUMA node need 20 cores, but only 16 are free; "
                "try 3 ranks x 5 threads, or 4 x 4 threads"
            ),
        ),
        (
            {"per": "core", "per_count": 3},
            "3 ranks x 1 thread in each core need 3 cores, but only 1 is free; try 1 rank x 1 thread",
        ),
        (
            {"ranks_per_node": 129},
            "129 ranks x 1 thread on a node need 129 cores, but only 128 are free; try 128 ranks x 1 thread",
        ),
        ({"ranks": 1, "near": "mlx5_9"}, "no adapter or GPU is called mlx5_9; available: mlx5_0"),
        ({"strategy": "gpu-near"}, "gpu-near needs a GPU, but this node shows none; try --strategy balanced"),
        ({"slice": Slice(part=1, of=200)}, "128 cores cannot be divided into 200 slices: some would be empty; use at most 128"),
        ({"reserve": 128}, "no core is left: 128 are free, 128 are reserved; reserve fewer"),
    ],
)
def test_refusals(job: dict[str, object], line: str) -> None:
    """What cannot be is refused in one line, with the shapes nearest to it."""
    assert refused(ROME, **job) == line


@pytest.mark.parametrize(
    ("shape", "free", "fits", "line"),
    [
        # no rank of so many threads fits: thinner ones, as many as asked
        ((4, 6), (16, 16), {4: 4, 5: 3}, "4 ranks x 6 threads need 24 cores, but only 16 are free; try 4 ranks x 4 threads"),
        # and not one thread fewer than it must be
        (
            (4, 4),
            (16, 16),
            {3: 4, 2: 8, 1: 16},
            "4 ranks x 4 threads do not fit: with compact no rank straddles sockets; try 4 ranks x 3 threads",
        ),
        # not even thinner ones, as many as asked: the widest that fit at all
        ((8, 6), (16, 16), {4: 2, 3: 5}, "8 ranks x 6 threads need 48 cores, but only 16 are free; try 2 ranks x 4 threads"),
        ((1, 2), (1, 1), {1: 1}, "1 rank x 2 threads need 2 cores, but only 1 is free; try 1 rank x 1 thread"),
        # nothing fits
        ((2, 2), (1, 1), {}, "2 ranks x 2 threads need 4 cores, but only 1 is free"),
        ((2, 1), (0, 0), {}, "2 ranks x 1 thread need 2 cores, but only 0 are free"),
        # hardware threads would do, or would not
        ((4, 1), (2, 4), {1: 2}, "4 ranks x 1 thread need 4 cores, but only 2 are free; try 2 ranks x 1 thread, or --smt use"),
        ((5, 1), (2, 4), {1: 2}, "5 ranks x 1 thread need 5 cores, but only 2 are free; try 2 ranks x 1 thread"),
        (
            (2, 2),
            (4, 8),
            {1: 4},
            "2 ranks x 2 threads do not fit: with compact no rank straddles sockets; try 2 ranks x 1 thread",
        ),
    ],
)
def test_a_refusal_offers_the_nearest_shapes(
    shape: tuple[int, int], free: tuple[int, int], fits: dict[int, int], line: str
) -> None:
    """First what fits of the ranks asked for, then as many thinner ones, else the widest; and --smt where it is enough."""
    assert str(refusal("compact", shape, free, lambda threads: fits.get(threads, 0))) == line


def test_a_refusal_counts_hardware_threads_where_they_are_used() -> None:
    """With --smt use it is hardware threads that are too few, and --smt is not offered once more."""
    found = refusal("balanced", (5, 1), (2, 4), lambda _: 4, where=" on a node", smt=True)
    assert str(found) == "5 ranks x 1 thread on a node need 5 hardware threads, but only 4 are free; try 4 ranks x 1 thread"


@pytest.mark.parametrize("strategy", [each for each in get_args(Strategy) if each != "auto"])
def test_each_strategy_says_what_no_rank_crosses(strategy: Strategy) -> None:
    """Where there is room enough, the refusal says which border the strategy keeps."""
    border = {"spread-numa": "each rank stays in one NUMA node", "spread-l3": "each rank stays in one L3 group"}
    line = f"1 rank x 3 threads do not fit: with {strategy} {border.get(strategy, 'no rank straddles sockets')}"
    assert str(refusal(strategy, (1, 3), (4, 4), lambda _: 0)) == line


def test_second_threads_are_offered() -> None:
    """Where hardware threads would do, the refusal says so."""
    wanted = "64 ranks x 1 thread need 64 cores, but only 32 are free; try 32 ranks x 1 thread, or --smt use"
    assert refused("epyc-nps4-smt-linear", ranks=64) == wanted


def test_no_l3_groups() -> None:
    """Ranks cannot be counted in what a machine does not show."""
    assert refused("knights-landing", per="l3") == "no L3 groups are known on this node; use numa, socket, core or node"


def test_no_topology() -> None:
    """Without a topology nothing is placed."""
    with pytest.raises(Exception, match="this input has no topology"):
        place(JobShape(ranks=1), [Machine()])


def test_ranks_that_do_not_divide() -> None:
    """The first hosts have one more."""
    made = place(JobShape(ranks=100, hosts=("a", "b", "c")), [machine(ROME)])
    assert [(h.name, h.ranks) for h in made.hosts] == [("a", 34), ("b", 33), ("c", 33)]
    assert made.notes[0] == "hosts differ: ranks 34 on 1 host, 33 on 2 hosts"


def test_hosts_that_differ() -> None:
    """Ranks are dealt evenly until the small host is full; every kind of host has its own plan."""
    made = place(JobShape(ranks=100, hosts=("a", "b")), [machine("c-c6320-2x2660v3"), machine(ROME)])
    assert [(h.name, h.plan, h.ranks) for h in made.hosts] == [("a", 0, 20), ("b", 1, 80)]


def test_hosts_without_ranks() -> None:
    """A host that gets no rank is not in the plan, and it is said."""
    made = place(JobShape(ranks=2, hosts=("a", "b", "c")), [machine(ROME)])
    assert ([h.name for h in made.hosts], made.notes[0]) == (["a", "b"], "hosts differ: ranks 1 on 2 hosts, 0 on 1 host")


def test_a_refusal_names_the_host() -> None:
    """Where hosts differ the one that is too small is named."""
    with pytest.raises(Exception, match="on a node \\(b\\) need 64 cores, but only 20 are free; try 20 ranks x 1 thread"):
        place(JobShape(ranks_per_node=64, hosts=("a", "b")), [machine(ROME), machine("c-c6320-2x2660v3")])


def test_a_million_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """8192 equal hosts of 128 ranks share one plan: each strategy that is tried seats the ranks of one host."""
    seated: list[tuple[Strategy, int, int | None]] = []
    fill = JobCores.fill

    def counting(field: JobCores, strategy: Strategy, ranks: int, threads: int | None = None) -> list[RankCores]:
        seated.append((strategy, ranks, threads))
        return fill(field, strategy, ranks, threads)

    monkeypatch.setattr(JobCores, "fill", counting)
    job = JobShape(ranks=8192 * 128, hosts=tuple(f"n{i:04}" for i in range(8192)))
    made = place(job, [shapes.machine(shapes.shape(2, 4, 16, 64))])
    assert (len(made.plans), made.size, len(seated) < 20) == (1, 8192 * 128, True)
    assert next(made.ranks()) == (0, "n0000", 0, made.plans[0].slots[0])


def test_a_placement_reads_back() -> None:
    """A Placement dumps to JSON and reads back equal."""
    made = placed(ROME, ranks=10, threads=3)
    assert Placement.model_validate_json(made.model_dump_json()) == made


def test_an_adapter_on_one_of_several_nodes_is_near_its_socket() -> None:
    """After a finer cut only the socket is certain: ranks go there, no distance is told, and the note says so."""
    (machine_now,) = [machine("b-c6525-2x7702-nps4")]
    somewhere = Locality(numa_nodes=(4, 5, 6, 7), inferred="assumed", one_of=True)
    hcas = tuple(hca.model_copy(update={"locality": somewhere}) for hca in machine_now.hcas or ())
    made = place(JobShape(ranks=80, near="mlx5_0"), [machine_now.model_copy(update={"hcas": hcas})])
    slots = [rank.slot for rank in made.ranks()]
    assert [slot.socket for slot in slots] == [1] * 64 + [0] * 16
    assert ({slot.distance for slot in slots[:64]}, {slot.distance for slot in slots[64:]}) == ({None}, {32})
    assert any(note.startswith("mlx5_0 is on one of NUMA nodes 4-7") for note in made.notes)
