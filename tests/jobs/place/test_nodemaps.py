"""Which GPU and which adapter each rank gets on nodes whose sites have published the right answer."""

from typing import Any

import pytest

from advisor.jobs.bind import settings
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from tests.jobs.place.nodes import cluster, from_xml, gh200, mi300a, span, told
from tests.test_corpus import CORPUS


def dealt(machine: Machine, ranks: int, threads: int, **more: Any) -> Placement:
    """Return a job of so many ranks with a GPU each."""
    return place(JobShape(ranks_per_node=ranks, threads=threads, strategy="gpu-near", **more), [machine])


def test_mi250x_as_frontier_and_lumi_say() -> None:
    """Each die's rank is on the L3 group beside it, with the adapter of its NUMA node: 49, 57, 17, 25, 1, 9, 33, 41 at LUMI."""
    made = dealt(cluster("frontier"), 8, 8)
    groups, buses = (48, 56, 16, 24, 0, 8, 32, 40), (0xC1, 0xC6, 0xC9, 0xCE, 0xD1, 0xD6, 0xD9, 0xDE)
    expected = [
        (span(first, 8, 64), f"0000:{bus:02x}:00.0", f"cxi{rank // 2}")
        for rank, (first, bus) in enumerate(zip(groups, buses, strict=True))
    ]
    assert expected == [told(rank) for rank in made.ranks()]


def test_mi250x_with_cores_left_to_the_system() -> None:
    """A rank of seven threads stays in the L3 group of its die, where one core is left over."""
    made = dealt(cluster("frontier"), 8, 7)
    starts = [rank.slot.cpus.first for rank in made.ranks()]
    assert starts == [48, 56, 16, 24, 0, 8, 32, 40]
    assert all(len(rank.slot.l3) == 1 for rank in made.ranks())


LUMI_MASKS = "fe000000000000,fe00000000000000,fe0000,fe000000,fe,fe00,fe00000000,fe0000000000"
"""Lumi-supercomputer/lumi-userguide, docs/runjobs/scheduled-jobs/distribution-binding.md, "GPU Binding": of first threads."""
FRONTIER_CLOSEST = {4: 1, 5: 9, 2: 17, 3: 25, 6: 33, 7: 41, 0: 49, 1: 57}
"""olcf/olcf-user-docs, systems/frontier_user_guide.rst: by the die's number, the first of the seven cores of its task."""


def test_mi250x_with_one_core_of_each_l3_kept_as_both_centres_do() -> None:
    """Die 0's rank is on 49-55, die 1's on 57-63, and so on: the masks that LUMI publishes, and Frontier's pairs with closest."""
    made = dealt(cluster("frontier"), 8, 7, reserve=1, reserve_per="l3")
    first_threads = [CpuSet(cpu for cpu in rank.slot.cpus if cpu < 64) for rank in made.ranks()]
    assert [CpuSet.from_bits(int(mask, 16)) for mask in LUMI_MASKS.split(",")] == first_threads
    assert {die: cpus.first for die, cpus in enumerate(first_threads)} == FRONTIER_CLOSEST
    assert made.notes[0] == "8 cores left to the system: CPUs 0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120"


def test_slingshot_adapters_of_mi250x_are_mapped_as_adastra_does() -> None:
    """Over several nodes Cray MPICH is told each local rank's adapter, as Adastra's scripts write it."""
    machine = cluster("frontier")
    variables = settings(dealt(machine, 8, 8, hosts=("a", "b")), [machine]).variables
    assert (variables["MPICH_OFI_NIC_POLICY"], variables["MPICH_OFI_NIC_MAPPING"]) == ("USER", "0:0,1;1:2,3;2:4,5;3:6,7")
    assert "UCX_NET_DEVICES" not in variables


def test_perlmutter() -> None:
    """GPU 0 is on the last NUMA node, and so is adapter 0: ranks that sit where their GPUs are have the adapters in order."""
    machine = cluster("perlmutter")
    made = dealt(machine, 4, 16)
    found = [(rank.slot.nodes, rank.slot.hca) for rank in made.ranks()]
    assert found == [((3,), "cxi0"), ((2,), "cxi1"), ((1,), "cxi2"), ((0,), "cxi3")]
    assert [span(16 * (3 - rank), 16, 64) for rank in range(4)] == [str(rank.slot.cpus) for rank in made.ranks()]


def test_polaris() -> None:
    """GPUs 1 and 3 have an adapter beside them; the others get one each of those equally far, so that both carry two ranks."""
    made = dealt(cluster("polaris"), 4, 8)
    found = [(rank.slot.nodes, rank.slot.hca) for rank in made.ranks()]
    assert [nodes for nodes, _ in found] == [(3,), (2,), (1,), (0,)]
    assert (found[1][1], found[3][1]) == ("mlx5_1", "mlx5_0")
    assert sorted(str(hca) for _, hca in found) == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]


def test_aurora() -> None:
    """Three GPUs are each socket's; HBM without CPUs is no place of a rank, and is called HBM."""
    machine = cluster("aurora")
    made = dealt(machine, 6, 8)
    assert [rank.slot.nodes for rank in made.ranks()] == [(0,), (0,), (0,), (1,), (1,), (1,)]
    assert len({rank.slot.gpu for rank in made.ranks()}) == 6
    assert machine.topology is not None
    assert [node.kind for node in machine.topology.nodes] == [None, None, "hbm", "hbm"]


def test_juwels_booster() -> None:
    """GPUs 0 to 3 are on NUMA nodes 3, 1, 7, 5, each with the adapter under its switch."""
    made = dealt(cluster("juwels_booster"), 4, 6)
    found = [(rank.slot.nodes, str(rank.slot.cpus), rank.slot.hca) for rank in made.ranks()]
    assert [
        ((3,), span(18, 6, 48), "mlx5_0"),
        ((1,), span(6, 6, 48), "mlx5_1"),
        ((7,), span(42, 6, 48), "mlx5_2"),
        ((5,), span(30, 6, 48), "mlx5_3"),
    ] == found


def test_mi300a() -> None:
    """Accelerators of PCI class 12 are GPUs: rank i is on APU i, with its GPU and its adapter."""
    made = dealt(from_xml(mi300a()), 4, 24)
    assert [(span(24 * i, 24, 96), f"{i:04x}:02:00.0", f"cxi{i}") for i in range(4)] == [told(rank) for rank in made.ranks()]


@pytest.mark.parametrize("partitions", [3, 6])
def test_mi300a_in_partitions(partitions: int) -> None:
    """In TPX and CPX each partition is a GPU for programs, and its rank is on the cores of its own APU."""
    made = dealt(from_xml(mi300a(partitions)), 4 * partitions, 4)
    expected = [(f"{i // partitions:04x}:02:00.{i % partitions}", f"cxi{i // partitions}") for i in range(4 * partitions)]
    assert expected == [(rank.slot.gpu, rank.slot.hca) for rank in made.ranks()]
    assert [(i // partitions,) for i in range(4 * partitions)] == [rank.slot.nodes for rank in made.ranks()]


def test_gh200() -> None:
    """On Alps rank i is on Grace i with GPU and adapter i; the GPUs' memory is called theirs, and no rank sits on it."""
    machine = from_xml(gh200())
    made = dealt(machine, 4, 72)
    assert [(span(72 * i, 72), f"{i + 8:04x}:01:00.0", f"hsn{i}") for i in range(4)] == [told(rank) for rank in made.ranks()]
    assert machine.topology is not None
    assert {n.os_index: n.kind for n in machine.topology.nodes if n.kind} == {4: "gpu", 12: "gpu", 20: "gpu", 28: "gpu"}
    assert {"NVLink-C2C"} == {card.joined for card in machine.pci or () if card.kind == "gpu"}


KNIGHTS = {
    "psmgmt-knl06": 34,
    "psmgmt-knl01_v2_4": 32,
    "mpibind-knl-snc4-cache-hwloc1": 34,
    "hwloc-x86-Intel-KnightsLanding-XeonPhi-7210": 32,
}
"""Published machines with Xeon Phi, in the modes quadrant, SNC4 and all-to-all, and their tiles of two cores."""


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no published machines (set ADVISOR_CORPUS)")
@pytest.mark.parametrize("strategy", ["auto", "spread-numa", "balanced"])
@pytest.mark.parametrize("name", KNIGHTS)
def test_knights_landing_gives_each_rank_a_tile(name: str, strategy: Any) -> None:
    """As many ranks as tiles share no level 2 cache, also where SNC4 makes NUMA nodes of nine tiles and of eight."""
    one = from_xml((CORPUS / "xml" / f"{name}.xml").read_bytes())
    plan = place(JobShape(ranks_per_node=KNIGHTS[name], strategy=strategy), [one]).plans[0]
    assert one.topology is not None
    tiles = [[i for i, tile in enumerate(one.topology.shared_l2) if slot.cpus & tile.cpuset] for slot in plan.slots]
    assert sorted(tiles) == [[i] for i in range(KNIGHTS[name])]


def test_h200_on_turin() -> None:
    """Of two adapters equally far from the second socket's GPUs its ranks take the one that has none yet: two ranks on each."""
    made = dealt(cluster("h200_turin"), 4, 16)
    assert [rank.slot.hca for rank in made.ranks()] == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]
