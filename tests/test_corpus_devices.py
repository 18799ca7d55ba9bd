"""Devices of published machines that lie outside the project: fabrics, GPUs, memory, kinds of cores."""

from functools import cache

import pytest

from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from tests.test_corpus import CORPUS

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)"),
]


@cache
def published(name: str) -> Machine:
    """Return a published machine."""
    return read_machine(str(CORPUS / "xml" / f"{name}.xml"))


def dealt(name: str, ranks: int) -> list[tuple[str | None, str | None, tuple[int, ...]]]:
    """Return the GPU, the adapter and the NUMA node of each rank of a job with a GPU each."""
    made = place(JobShape(ranks=ranks, strategy="gpu-near"), [published(name)])
    return [(rank.slot.gpu, rank.slot.hca, rank.slot.nodes) for rank in made.ranks()]


def test_a_node_of_jureca_has_a_gpu_and_an_adapter_on_every_other_numa_node() -> None:
    """Four A100 in the order of their addresses, each with the adapter under its own switch."""
    assert dealt("psmgmt-jrc0323", 4) == [
        ("0000:03:00.0", "mlx5_0", (3,)),
        ("0000:44:00.0", "mlx5_1", (1,)),
        ("0000:84:00.0", "mlx5_2", (7,)),
        ("0000:c4:00.0", "mlx5_3", (5,)),
    ]


def test_a_node_of_sierra_gives_each_gpu_a_port_of_its_own_sockets_card() -> None:
    """A card with two ports is two adapters: the two GPUs beside it take one each."""
    assert [hca for _, hca, _ in dealt("fluxcore-sierra", 4)] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]


def test_gpus_of_power9_are_on_nvlink_and_their_memory_is_theirs() -> None:
    """The V100 of Sierra are not cards behind two lanes of PCIe, and nodes 252 to 255 are no memory of the processors."""
    machine = published("fluxcore-sierra")
    assert {card.joined for card in machine.pci or () if card.kind == "gpu"} == {"NVLink"}
    assert machine.topology is not None
    assert {node.os_index: node.kind for node in machine.topology.nodes if node.kind} == dict.fromkeys(range(252, 256), "gpu")


def test_gpus_are_in_the_order_of_rocm_smi() -> None:
    """On Corona ROCm's first GPU is not that of the lowest address."""
    gpus = published("fluxsched-001N_amd_gpu_rsmi_corona240").gpus or ()
    assert [gpu.index for gpu in gpus] == list(range(8))
    assert gpus[0].address == "0000:63:00.0"


def test_a_console_of_ati_is_no_gpu() -> None:
    """An ES1000 is the screen of a management controller, from a maker of GPUs."""
    assert (published("mpich-topo4").gpus, published("hwloc-xml-96em64t-4n4d3ca2co-pci").gpus) == ((), ())


def test_omni_path_of_quartz() -> None:
    """hfi1_0 is a fabric of its own, not InfiniBand."""
    hcas = published("mpibind-cts1-quartz-smt1").hcas or ()
    assert [(hca.name, [port.link_layer for port in hca.ports or ()]) for hca in hcas] == [("hfi1_0", ["omni-path"])]


@pytest.mark.parametrize("name", ["psmgmt-knl01", "psmgmt-knl06"])
def test_mcdram_of_knights_landing_is_no_l3(name: str) -> None:
    """In hybrid mode a part of the MCDRAM caches the memory, and the rest is a node of HBM."""
    machine = published(name)
    assert machine.topology is not None
    assert machine.topology.l3 == ()
    assert [node.kind for node in machine.topology.nodes] == [None, "hbm"]
    assert [bool(tier.cache) for tier in machine.tiers or ()] == [True]


def test_a_hybrid_laptop_has_two_kinds_of_cores() -> None:
    """A plan on all of a Core i7-1370P says that it mixes kinds."""
    made = place(JobShape(strategy="compact"), [published("hwloc-linux-20em64t-hybrid-1p6c2t+2ca4co1t")])
    kinds = "6 ranks on cores of up to 5.0 GHz, 8 ranks on cores of up to 3.9 GHz"
    assert any(note.startswith(f"cores of several kinds: {kinds}; the slower ones make the others wait") for note in made.notes)


def test_memory_modules_of_a_file_have_their_names() -> None:
    """Sixteen modules of JURECA's nodes are named by processor and channel."""
    memory = published("psmgmt-jrc0732").memory
    assert memory is not None
    places = [(dimm.locator, dimm.socket, dimm.channel) for dimm in memory.dimms or ()]
    assert (len(places), places[0], places[-1]) == (16, ("DIMM_P0_A0", 0, 0), ("DIMM_P1_P0", 1, 7))
