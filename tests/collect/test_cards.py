"""What several sources tell together of cards and of memory without CPUs."""

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, Gpu, Link, MemoryTier, PciDevice
from advisor.machine.machine import Machine
from advisor.machine.sources.registry import with_cards
from advisor.machine.topology import NumaNode
from tests.model import shapes

GIB = 1 << 30
MAX_9462 = Cpu(vendor="GenuineIntel", family=6, model=143, model_name="Intel(R) Xeon(R) CPU Max 9462")


def beside(sizes: dict[int, int], cpu: Cpu | None, **more: object) -> list[str | None]:
    """Return the kinds of nodes without CPUs, by number and size, on a machine of two sockets."""
    topology = shapes.shape(2, 1, 1, 8)
    alone = tuple(NumaNode(os_index=n, cpuset=CpuSet(), near=topology.pus, memory=size) for n, size in sizes.items())
    machine = shapes.machine(topology.model_copy(update={"nodes": (*topology.nodes, *alone)}), cpu).model_copy(update=more)
    found = with_cards(machine).topology
    assert found is not None
    return [node.kind for node in found.nodes if not node.cpuset]


def gpu(device: int, vendor: int = 0x10DE) -> PciDevice:
    """Return a GPU whose PCIe link says little."""
    card = {"address": "0009:01:00.0", "kind": "gpu", "class_code": 0x030200, "vendor": vendor, "device": device}
    return PciDevice(**card, link=Link(bandwidth=1_969_231_000), bottleneck="0009:00:00.0")


def test_flat_hbm_of_a_xeon_max_is_named_from_model_and_size() -> None:
    """A node of memory alone of 64 GiB, or with SNC4 of 16 GiB, is HBM there; one of 128 GiB is not, it may be CXL."""
    assert beside({2: 16 * GIB - (1 << 28), 3: 64 * GIB, 4: 128 * GIB}, MAX_9462) == ["hbm", "hbm", None]


def test_memory_without_cpus_of_another_xeon_stays_unnamed() -> None:
    """Only a Xeon Max has HBM: of the same size elsewhere it is not known what it is."""
    assert beside({2: 64 * GIB}, shapes.CASCADE_LAKE) == [None]


def test_mcdram_of_knights_landing_is_hbm() -> None:
    """A node of memory alone on a Knights Landing is MCDRAM."""
    assert beside({1: 16 * GIB}, shapes.KNIGHTS_LANDING) == ["hbm"]


@pytest.mark.parametrize(("fast", "kind"), [(400, "hbm"), (40, "cxl"), (110, None)])
def test_bandwidth_names_what_memory_is(fast: int, kind: str | None) -> None:
    """Memory alone that the HMAT calls much faster than DRAM is HBM, much slower CXL, neither stays open."""
    tiers = tuple(MemoryTier(node=node, read_bandwidth=speed * 10**9) for node, speed in ((0, 100), (1, 100), (2, fast)))
    assert beside({2: 64 * GIB}, None, tiers=tiers) == [kind]


def test_the_memory_of_power9s_gpus_is_theirs() -> None:
    """POWER numbers GPUs' memories from 255 downwards."""
    assert beside({254: 16 * GIB, 255: 16 * GIB}, None, architecture="ppc64le", pci=(gpu(0x1DB1),)) == ["gpu", "gpu"]


def joined(device: int, architecture: str = "x86_64", vendor: int = 0x10DE, **more: object) -> tuple[str | None, Link | None]:
    """Return what carries a GPU's data, and its PCIe link."""
    machine = shapes.machine(shapes.shape(1, 1, 1, 4)).model_copy(
        update={"pci": (gpu(device, vendor),), "architecture": architecture, **more}
    )
    (card,) = with_cards(machine).pci or ()
    return card.joined, card.link


def test_a_gpu_on_nvlink_is_no_slow_pcie_card() -> None:
    """GH200's and POWER9's GPUs have NVLinks to their processors: the PCIe link beside them says nothing of their speed."""
    assert joined(0x2342, "aarch64") == ("NVLink-C2C", None)
    assert joined(0x1DB1, "ppc64le") == ("NVLink", None)
    assert joined(0x74A0, vendor=0x1002) == ("Infinity Fabric", None)


def test_the_same_gpu_in_an_x86_server_keeps_its_link() -> None:
    """A V100 SXM2 beside Xeons is on PCIe, and an H100 is everywhere."""
    assert joined(0x1DB1) == (None, Link(bandwidth=1_969_231_000))
    assert joined(0x2330, "aarch64") == (None, Link(bandwidth=1_969_231_000))


def test_a_grace_hopper_without_a_known_id_is_known_by_name() -> None:
    """The driver's name of a GPU tells what its id, newer than this program, does not."""
    named = (Gpu(address="0009:01:00.0", vendor="nvidia", model="NVIDIA GB300"),)
    assert joined(0x7777, "aarch64", gpus=named) == ("NVLink-C2C", None)


def test_nothing_known_stays_nothing_known() -> None:
    """A machine without devices and topology is left as it is."""
    assert with_cards(Machine()) == Machine()


def cut(mode: str, device: int = 0x74A1, **more: object) -> list[str]:
    """Return the addresses of the GPUs of a machine whose one card is in a mode."""
    card = gpu(device, 0x1002)
    cards = (Gpu(address=card.address, vendor="amd", compute_partition=mode),)
    machine = shapes.machine(shapes.shape(1, 1, 1, 4)).model_copy(update={"pci": (card,), "gpus": cards, **more})
    return [each.address for each in with_cards(machine).gpus or ()]


def test_a_card_that_is_said_to_be_cut_counts_as_its_partitions() -> None:
    """A capture without the compute driver's files still tells the mode, and with it how many devices programs see."""
    assert cut("SPX") == ["0009:01:00.0"]
    assert cut("TPX") == [f"0009:01:00.{part}" for part in range(3)]
    assert (len(cut("CPX")), len(cut("CPX", 0x74A0))) == (8, 6)


def test_a_card_of_unknown_dies_is_not_cut_by_guess() -> None:
    """In CPX a card has as many partitions as dies, and of a model that is not known nobody tells how many."""
    assert cut("CPX", 0x7777) == ["0009:01:00.0"]


def test_partitions_that_a_source_shows_are_not_made_again() -> None:
    """Where the driver shows the partitions, its word stands."""
    parts = tuple(
        Gpu(address=f"0009:01:00.{part}", card="0009:01:00.0", vendor="amd", index=part, compute_partition="TPX")
        for part in range(2)
    )
    assert cut("TPX", gpus=parts) == ["0009:01:00.0", "0009:01:00.1"]
