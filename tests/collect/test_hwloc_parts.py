"""Kinds of cores, memory modules and devices in files of hwloc."""

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Link, Locality, PciDevice
from advisor.machine.hosts.base import Host
from advisor.machine.hosts.source import XmlHost
from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import machine_from_xml
from advisor.machine.sources.reader import FactSource
from advisor.machine.sources.registry import collect_machine
from tests.collect.xmls import core, cores, document, info, mask, node, thing
from tests.jobs.place.nodes import bridge, card, from_xml

CPUS = range(4)


def kind(cpus: str, **infos: str) -> str:
    """Return a kind of CPUs as hwloc writes it after the objects."""
    inner = "".join(info(name, value) for name, value in infos.items())
    return f'<cpukind cpuset="{mask(list(CpuSet.parse(cpus)))}">{inner}</cpukind>'


def kinds(*tails: str) -> list[tuple[str, str]]:
    """Return the names and CPUs of the kinds of cores of a file."""
    data = document(node(0, CPUS) + cores(CPUS), CPUS, tail="".join(tails))
    cpu = machine_from_xml(data, "x.xml").cpu
    return [(each.name, str(each.cpus)) for each in (cpu.kinds if cpu else None) or ()]


def test_kinds_of_intels_cores() -> None:
    """CoreType tells performance and efficient cores; kinds that differ by clock alone are one."""
    found = kinds(kind("0", CoreType="IntelCore"), kind("1", CoreType="IntelCore"), kind("2-3", CoreType="IntelAtom"))
    assert found == [("P-core", "0-1"), ("E-core", "2-3")]


def test_kinds_by_capacity() -> None:
    """On Arm the kernel's capacities tell kinds apart, a few per cent do not."""
    found = kinds(kind("0", LinuxCapacity="1024"), kind("1", LinuxCapacity="997"), kind("2-3", LinuxCapacity="718"))
    assert found == [("core of capacity 1024", "0-1"), ("core of capacity 718", "2-3")]


def test_cores_that_differ_by_clock_alone_are_of_one_kind() -> None:
    """A server whose cores clock differently is not said to be hybrid."""
    assert kinds(kind("0-1", FrequencyMaxMHz="3900"), kind("2-3", FrequencyMaxMHz="3800")) == []


def test_kinds_by_both_clocks() -> None:
    """A file without core types tells performance and efficient cores by nominal and highest clock, where both differ much."""
    fast, slow = {"FrequencyMaxMHz": "5000", "FrequencyBaseMHz": "1900"}, {"FrequencyMaxMHz": "3900", "FrequencyBaseMHz": "1400"}
    assert kinds(kind("2-3", **slow), kind("0-1", **fast)) == [("core of up to 5.0 GHz", "0-1"), ("core of up to 3.9 GHz", "2-3")]
    priority = {"FrequencyMaxMHz": "3900", "FrequencyBaseMHz": "2700"}
    assert kinds(kind("0-1", **priority), kind("2-3", FrequencyMaxMHz="3900", FrequencyBaseMHz="2100")) == []


def module(place: str, bank: str) -> str:
    """Return a memory module as hwloc lists it."""
    words = (
        info("DeviceLocation", place) + info("BankLocation", bank) + info("Vendor", "Micron") + info("PartNumber", "36ASF4G72PZ ")
    )
    return f'<object type="Misc" gp_index="7" subtype="MemoryModule">{words}</object>'


def test_dimm_locators_of_misc_objects_are_read() -> None:
    """The names of the modules tell processor and channel; sizes are not in the file."""
    data = document(node(0, CPUS) + cores(CPUS) + module("DIMM_P0_A0", "BANK 0") + module("DIMM_P0_B0", "BANK 0"), CPUS)
    memory = machine_from_xml(data, "x.xml").memory
    assert memory is not None
    assert [(dimm.locator, dimm.channel, dimm.size, dimm.part) for dimm in memory.dimms or ()] == [
        ("DIMM_P0_A0", 0, None, "36ASF4G72PZ"),
        ("DIMM_P0_B0", 1, None, "36ASF4G72PZ"),
    ]


def test_on_the_machine_itself_the_firmwares_table_is_believed() -> None:
    """Where lstopo is one source of several it says nothing of modules."""
    data = document(node(0, CPUS) + cores(CPUS) + module("A1", ""), CPUS)
    assert machine_from_xml(data, "x.xml", "lstopo", alone=False).memory is None


def test_a_processor_of_arm_is_named() -> None:
    """Hwloc gives implementer and part as the kernel does."""
    words = info("CPUImplementer", "0x48") + info("CPUPart", "0xd01")
    data = document(thing("Package", 0, CPUS, words + node(0, CPUS) + cores(CPUS)), CPUS)
    cpu = machine_from_xml(data, "x.xml").cpu
    assert cpu is not None
    assert cpu.model_name == "TaiShan-v110"


def with_cards(*cards: str) -> Machine:
    """Return a machine of one node with cards below one host bridge."""
    return from_xml(document(node(0, CPUS) + cores(CPUS) + bridge("0000:[c0-cf]", *cards), CPUS))


@pytest.mark.parametrize(
    ("kind_of_card", "gpus"),
    [
        ("1200 [1002:74a1] [1002:74a1] 00", 1),
        ("1200 [1da3:1020] [1da3:1020] 01", 0),
        ("0300 [1002:515e] [1002:515e] 02", 0),
        ("0300 [1a03:2000] [1a03:2000] 41", 0),
        ("0302 [10de:2330] [10de:1602] a1", 1),
        ("0380 [8086:0bd5] [8086:0000] 2f", 1),
    ],
)
def test_which_cards_are_gpus(kind_of_card: str, gpus: int) -> None:
    """AMD's accelerators of class 12 are GPUs, others' are not known to be; a console is none, whoever made it."""
    assert len(with_cards(card("0000:c1:00.0", kind_of_card)).gpus or ()) == gpus


def test_gpus_have_the_runtimes_numbers() -> None:
    """NVML's and ROCm SMI's devices number the GPUs, whatever their addresses."""
    first = card("0000:c1:00.0", "0380 [1002:7408] [1002:0b0c] 00", ("rsmi1", "1"))
    second = card("0000:c6:00.0", "0380 [1002:7408] [1002:0b0c] 00", ("rsmi0", "1"))
    found = [(gpu.index, gpu.address) for gpu in with_cards(first, second).gpus or ()]
    assert found == [(0, "0000:c6:00.0"), (1, "0000:c1:00.0")]


def test_partitions_that_hang_elsewhere_are_dealt_over_the_cards() -> None:
    """Old hwloc hangs all but a card's first partition somewhere else: they are counted where they divide evenly."""
    stray = "".join(f'<object type="OSDev" gp_index="5" name="rsmi{i}" osdev_type="1"/>' for i in (1, 2, 4, 5))
    cards = (
        card("0000:c1:00.0", "1200 [1002:74a0] [1002:74a0] 00", ("rsmi0", "1")),
        card("0000:c6:00.0", "1200 [1002:74a0] [1002:74a0] 00", ("rsmi3", "1")),
    )
    found = [(gpu.index, gpu.address, gpu.card) for gpu in with_cards(*cards, stray).gpus or ()]
    assert found == [
        *((i, f"0000:c1:00.{i}", "0000:c1:00.0") for i in range(3)),
        *((i + 3, f"0000:c6:00.{i}", "0000:c6:00.0") for i in range(3)),
    ]


def test_a_device_of_a_socket_with_hbm_hangs_on_the_sockets_own_node() -> None:
    """Memory without CPUs of its own is in the node set of a package, and is no place of a device."""
    inner = node(0, CPUS, 96 << 30) + node(1, CPUS, 16 << 30, subtype="HBM") + cores(CPUS, [0, 1])
    adapter = bridge("0000:[c0-cf]", card("0000:c1:00.0", "0207 [15b3:101b] [15b3:0008] 00", ("mlx5_0", "3")))
    machine = from_xml(document(thing("Package", 0, CPUS, inner + adapter, [0, 1]), CPUS, [0, 1]))
    assert [hca.locality for hca in machine.hcas or ()] == [Locality(numa_nodes=(0,))]


def test_a_device_beside_one_l3_group_is_near_its_cpus() -> None:
    """Where hwloc hangs a bridge under an L3 cache, the device is nearer to these CPUs than to others of the node."""
    l3 = thing("L3Cache", None, [2, 3], cores([2, 3]) + bridge("0000:[c0-cf]", card("0000:c1:00.0", "0302 [10de:2330] [0:0] a1")))
    data = document(thing("Package", 0, CPUS, node(0, CPUS) + thing("L3Cache", None, [0, 1], cores([0, 1])) + l3), CPUS)
    assert [gpu.locality for gpu in from_xml(data).gpus or ()] == [Locality(numa_nodes=(0,), cpus=CpuSet([2, 3]))]


def test_mcdram_that_caches_a_memory_is_no_l3() -> None:
    """An L3 that hwloc calls a memory-side cache is the node's, not the processor's."""
    side = thing("L3Cache", None, CPUS, "".join(core(c, [c]) for c in CPUS), subtype="MemorySideCache", cache_size=str(16 << 30))
    machine = from_xml(document(node(0, CPUS, 96 << 30) + side, CPUS))
    assert machine.topology is not None
    assert (machine.topology.l3, [tier.cache for tier in machine.tiers or ()]) == ((), [16 << 30])


def test_what_is_above_a_card_has_the_kernels_names() -> None:
    """The way to a card is its host bridge and the bridges below it, as /sys would name them: two sources can be compared."""
    port = 'bridge_type="1-1" depth="1" bridge_pci="0000:[c1-c2]" pci_busid="0000:c0:01.1"'
    inside = f'<object type="Bridge" gp_index="2" {port}>{{}}</object>'
    machine = with_cards(inside.format(card("0000:c1:00.0", "0302 [10de:2330] [0:0] a1")))
    assert [gpu.upstream for gpu in machine.pci or ()] == [("pci0000:c0", "0000:c0:01.1")]


def test_a_processor_of_two_parts_has_no_one_name() -> None:
    """The file names the part of the first core alone; the kinds name both."""
    words = info("CPUImplementer", "0x41") + info("CPUPart", "0xd85")
    tail = kind("0-1", LinuxCapacity="1024") + kind("2-3", LinuxCapacity="700")
    cpu = machine_from_xml(document(thing("Package", 0, CPUS, words + node(0, CPUS) + cores(CPUS)), CPUS, tail=tail), "x.xml").cpu
    assert cpu is not None
    assert (cpu.model_name, len(cpu.kinds or ())) == (None, 2)


def test_lanes_that_the_kernel_shows_are_the_link_not_what_lstopo_rounds() -> None:
    """15.753846 GB/s is 8 GT/s of sixteen lanes cut off: an adapter at its full rate would seem to be below it."""
    link = Link(bandwidth=15_753_846_000)
    exact = Link(speed=8e9, width=16, bandwidth=15_753_846_154)
    parts = {"hwloc": link, "pci": exact}

    def told(source: FactSource, host: Host) -> Machine:
        device = PciDevice(address="0000:01:00.0", kind="hca", class_code=0x20700, vendor=0x15B3, device=0x1017)
        found = source.collect(host) if source.name == "hwloc" else Machine()
        own = parts.get(source.name)
        return found.model_copy(update={"pci": (device.model_copy(update={"link": own}),)}) if own else found

    xml = document(node(0, [0]) + cores([0]), [0])
    assert [device.link for device in collect_machine(XmlHost(xml, "x.xml"), ask=told).pci or ()] == [exact]


@pytest.mark.parametrize("name", ["Bandwidth", "ReadBandwidth"])
def test_memory_of_one_size_and_two_speeds_is_dram_and_hbm(name: str) -> None:
    """Two nodes of the same CPUs and size are no two banks where the file says that one is four times as fast."""
    speeds = "".join(
        f'<memattr_value target_obj_gp_index="{number + 50}" target_obj_type="NUMANode" value="{speed}"/>'
        for number, speed in ((0, 100_000), (1, 400_000))
    )
    both = "".join(node(number, CPUS, 16 << 30, gp_index=str(number + 50)) for number in (0, 1))
    tail = f'<memattr name="{name}" flags="5">{speeds}</memattr>'
    topology = from_xml(document(both + cores(CPUS, [0, 1]), CPUS, [0, 1], tail=tail)).topology
    assert topology is not None
    assert [(each.kind, bool(each.cpuset)) for each in topology.nodes] == [(None, True), ("hbm", False)]
