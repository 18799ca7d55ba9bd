import struct

import pytest

from advisor.machine.hardware import Locality, PciDevice
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Gap
from advisor.machine.sources.pci import PCI_PATHS, collect_pci, kind_of, link
from tests.collect.device_host import BRIDGE, CONNECTX, ETHERNET, GEN4, GEN5, Server, uncovered

ROOT = "pci0000:60/0000:60:01.1"
CARD = f"{ROOT}/0000:61:00.0"


def only(server: Server) -> PciDevice:
    """Return the one device that the source keeps."""
    devices = collect_pci(server.host).pci
    assert devices is not None
    assert len(devices) == 1
    return devices[0]


def pcie(control: int) -> bytes:
    """Return the configuration space of a card whose PCIe capability holds a device control register."""
    space = bytearray(256)
    space[0x06], space[0x34], space[0x60] = 0x10, 0x60, 0x10
    struct.pack_into("<H", space, 0x68, control)
    return bytes(space)


def test_hca() -> None:
    """An adapter in a good slot is described whole."""
    server = Server("0-7", "8-15")
    server.plug(ROOT, BRIDGE, GEN4, numa_node=1)
    virtual = {"sriov_numvfs": "0", "sriov_totalvfs": "8"}
    server.plug(CARD, CONNECTX, GEN4, virtual, {"config": pcie(0x2910)}, numa_node=1, driver="mlx5_core")
    full = link(16e9, 16)
    assert only(server) == PciDevice(
        address="0000:61:00.0",
        kind="hca",
        class_code=0x020700,
        vendor=0x15B3,
        device=0x101B,
        driver="mlx5_core",
        locality=Locality(numa_nodes=(1,)),
        upstream=("pci0000:60", "0000:60:01.1"),
        link=full,
        card=full,
        path=full,
        max_read_request=512,
        relaxed_ordering=True,
        virtual_functions=0,
        max_virtual_functions=8,
    )


def test_driver_without_link() -> None:
    """Where the driver's folder was not kept, the function's uevent file names it."""
    server = Server("0-7")
    server.plug(CARD, CONNECTX, {"uevent": "DRIVER=mlx5_core\nPCI_CLASS=20700\n"})
    assert only(server).driver == "mlx5_core"


def test_gen5_card_in_gen4_slot() -> None:
    """A card faster than its slot is limited by the path, not at fault itself."""
    server = Server("0-7")
    server.plug(ROOT, BRIDGE, GEN4, numa_node=0)
    server.plug(CARD, CONNECTX, GEN5, {"current_link_speed": "16.0 GT/s PCIe"}, numa_node=0)
    device = only(server)
    assert (device.card, device.path, device.bottleneck) == (link(32e9, 16), link(16e9, 16), "0000:60:01.1")


def test_gen4_uplink_of_a_switch() -> None:
    """A Gen5 card in a Gen5 slot of a switch with a Gen4 uplink is limited above the switch."""
    server = Server("0-7")
    server.plug(ROOT, BRIDGE, GEN5)
    server.plug(f"{ROOT}/0000:61:00.0", BRIDGE, GEN4)
    server.plug(f"{ROOT}/0000:61:00.0/0000:62:04.0", BRIDGE, GEN5)
    server.plug(f"{ROOT}/0000:61:00.0/0000:62:04.0/0000:63:00.0", CONNECTX, GEN5)
    device = only(server)
    assert (device.link, device.path, device.bottleneck) == (link(32e9, 16), link(16e9, 16), "0000:60:01.1")


def test_old_kernel() -> None:
    """Without the link's files the link is not known, and the gap names the file."""
    server = Server("0-7")
    server.plug(ROOT, BRIDGE)
    server.plug(CARD, CONNECTX, {"config": pcie(0)})
    machine = collect_pci(server.host)
    gap = Gap(
        fact="pci.link",
        why="/sys/bus/pci/devices/0000:61:00.0/max_link_speed: not present",
        help="this kernel or platform does not offer it",
    )
    assert (only(server).card, only(server).path, machine.gaps) == (None, None, (gap,))


def test_unknown_link() -> None:
    """The texts of a virtual machine's ports mean nothing."""
    server = Server("0-7")
    unknown = {"current_link_speed": "Unknown", "max_link_speed": "Unknown", "current_link_width": "0", "max_link_width": "255"}
    server.plug(CARD, CONNECTX, unknown)
    assert (only(server).link, only(server).card, only(server).path) == (None, None, None)


def test_numa_from_root_bridge() -> None:
    """A card without a node is where the bridge above it is."""
    server = Server("0-7", "8-15")
    server.plug(ROOT, BRIDGE, numa_node=1)
    server.plug(CARD, CONNECTX, {"local_cpulist": "0-15"})
    assert only(server).locality == Locality(numa_nodes=(1,), inferred="numa_node is -1; 0000:60:01.1 above it is on node 1")


def test_numa_from_cpulist() -> None:
    """A card whose CPUs are fewer than all is near their nodes, several of one socket."""
    server = Server("0-7", "8-15", "16-23", "24-31")
    server.plug(CARD, CONNECTX, {"local_cpulist": "16-31"})
    assert only(server).locality == Locality(numa_nodes=(2, 3), inferred="numa_node is -1; local_cpulist is 16-31")


def test_numa_from_old_masks() -> None:
    """Kernels without lists have masks."""
    server = Server()
    server.files |= {"/sys/devices/system/node/node0/cpumap": "0f", "/sys/devices/system/node/node1/cpumap": "f0"}
    server.plug(CARD, CONNECTX, {"local_cpus": "00000000,000000f0"})
    assert only(server).locality == Locality(numa_nodes=(1,), inferred="numa_node is -1; local_cpulist is 4-7")


def test_numa_from_neighbour() -> None:
    """A card without a node is where its neighbours under the same root bus are."""
    server = Server("0-7", "8-15")
    server.plug("pci0000:60/0000:60:07.1", BRIDGE, numa_node=1)
    server.plug("pci0000:00/0000:00:07.1", BRIDGE, numa_node=0)
    server.plug(CARD, CONNECTX)
    reason = "numa_node is -1; 0000:60:07.1 under the same root bus is on node 1"
    assert only(server).locality == Locality(numa_nodes=(1,), inferred=reason)


def test_numa_behind_vmd() -> None:
    """A disk behind a VMD device is where that device is."""
    server = Server("0-7", "8-15")
    server.plug("pci0000:64/0000:64:00.5", {"class": "0x010400", "vendor": "0x8086", "device": "0x201d"}, numa_node=1)
    disk = {"class": "0x010802", "vendor": "0x144d", "device": "0xa808"}
    server.plug("pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0", BRIDGE, GEN4)
    server.plug("pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0", disk, GEN4)
    device = only(server)
    assert (device.address, device.kind, device.path) == ("10000:01:00.0", "nvme", link(16e9, 16))
    assert device.locality == Locality(numa_nodes=(1,), inferred="numa_node is -1; 0000:64:00.5 above it is on node 1")


def test_numa_unknown() -> None:
    """A place that nothing tells is unknown, and one gap says so for all cards."""
    server = Server("0-7", "8-15")
    for bus in ("60", "80"):
        server.plug(f"pci0000:{bus}/0000:{bus}:01.0", CONNECTX, GEN4, {"local_cpulist": "0-15", "config": pcie(0)})
    machine = collect_pci(server.host)
    reason = "numa_node is -1, and no neighbouring device shows its location"
    gap = Gap(
        fact="pci.locality",
        why=f"0000:60:01.0 (and 1 more): {reason}",
        help="update the BIOS: its ACPI tables give the root bridge no NUMA node (_PXM)",
    )
    assert [device.locality for device in machine.pci or ()] == [Locality(numa_nodes=(), inferred=reason)] * 2
    assert machine.gaps == (gap,)


def test_virtual_function() -> None:
    """A virtual function says so, has no link of its own, and its device control register means nothing."""
    server = Server("0-7")
    server.plug(ROOT, BRIDGE, GEN4, numa_node=0)
    card = server.plug(CARD, CONNECTX, GEN4, {"config": pcie(0x5910)}, numa_node=0)
    none = {"current_link_speed": "Unknown", "max_link_speed": "Unknown", "current_link_width": "0", "max_link_width": "0"}
    function = server.plug(f"{ROOT}/0000:61:00.1", CONNECTX, none, {"config": pcie(0x0000)}, numa_node=0)
    server.links[f"{function}/physfn"] = card
    physical, virtual = collect_pci(server.host).pci or ()
    assert (physical.is_virtual_function, physical.max_read_request) == (False, 4096)
    assert (virtual.is_virtual_function, virtual.max_read_request, virtual.card, virtual.path) == (True, None, None, None)


@pytest.mark.parametrize(
    ("config", "kind", "gap"),
    [
        (bytes(64), "live", ("permission denied", "run as root: sudo advisor audit, or sudo advisor capture")),
        (bytes(64), "capture", ("permission denied", "run as root: sudo advisor audit, or sudo advisor capture")),
        (Why.REFUSED, "live", ("permission denied", "run as root: sudo advisor audit, or sudo advisor capture")),
    ],
)
def test_config_needs_root(config: bytes | Why, kind: str, gap: tuple[str, str]) -> None:
    """Without root the read request is unknown, and the gap says what would reveal it."""
    server = Server("0-7", kind=kind)
    server.plug(CARD, CONNECTX, GEN4, {"config": config})
    path = "/sys/bus/pci/devices/0000:61:00.0/config"
    expected = tuple(
        Gap(fact=f"pci.{fact}", why=f"{path}: {gap[0]}", help=gap[1]) for fact in ("max_read_request", "relaxed_ordering")
    )
    assert (only(server).max_read_request, collect_pci(server.host).gaps) == (None, expected)


@pytest.mark.parametrize(
    ("class_code", "vendor", "device", "fabric", "kind"),
    [
        (0x020700, 0x15B3, 0x101B, False, "hca"),
        (0x020800, 0x8086, 0x24F0, False, "hca"),
        (0x0C0600, 0x1077, 0x7322, False, "hca"),
        (0x020000, 0x15B3, 0x101D, True, "hca"),
        (0x020000, 0x8086, 0x1521, False, "nic"),
        (0x030200, 0x10DE, 0x2330, False, "gpu"),
        (0x120000, 0x1002, 0x74A1, False, "gpu"),
        (0x030000, 0x102B, 0x0536, False, "other"),
        (0x030000, 0x1A03, 0x2000, False, "other"),
        (0x030000, 0x1002, 0x515E, False, "other"),
        (0x010802, 0x144D, 0xA808, False, "nvme"),
        (0x010802 - 1, 0x144D, 0xA808, False, "other"),
        (0x120000, 0x1DA3, 0x1020, False, "accelerator"),
        (0x0B4000, 0x1BCF, 0x001C, False, "accelerator"),
        (0x0B4000, 0x8086, 0x4940, False, "other"),
        (0x060400, 0x1022, 0x1483, False, "bridge"),
        (0x088000, 0x8086, 0x0B25, False, "other"),
    ],
)
def test_kind(class_code: int, vendor: int, device: int, fabric: bool, kind: str) -> None:
    """A device's kind comes of its class, its RDMA driver, and for displays of who makes consoles."""
    assert kind_of(class_code, vendor, device, fabric=fabric) == kind


def test_roce_card_is_an_hca() -> None:
    """An Ethernet card with an RDMA driver is an HCA."""
    server = Server("0-7")
    server.hca("mlx5_0", server.plug(CARD, ETHERNET, GEN4), {})
    assert only(server).kind == "hca"


def test_what_nobody_tunes() -> None:
    """Bridges, consoles and devices without a class are left out."""
    server = Server("0-7")
    server.plug(ROOT, BRIDGE)
    server.plug(CARD, {"class": "0x030000", "vendor": "0x1a03", "device": "0x2000"})
    server.plug(f"{ROOT}/0000:61:00.1", {"class": "what?", "vendor": "0x1a03", "device": "0x2000"})
    server.files["/sys/bus/pci/devices/not an address/class"] = "0x020700"
    assert collect_pci(server.host).pci == ()


@pytest.mark.parametrize(
    ("kind", "gap"),
    [
        ("live", ("/sys/bus/pci/devices: not present", "this kernel or platform does not offer it")),
        ("hwloc xml", ("not in this input", "take a capture on the machine itself: advisor capture")),
    ],
)
def test_no_bus(kind: str, gap: tuple[str, str]) -> None:
    """Where no PCI bus can be seen the devices are not known."""
    machine = collect_pci(Server(kind=kind).host)
    assert (machine.pci, machine.gaps) == (None, (Gap(fact="pci", why=gap[0], help=gap[1]),))


def test_links_lost() -> None:
    """A tree whose symbolic links became folders still gives the cards, if not what is above them."""
    server = Server("0-7")
    folder = "/sys/bus/pci/devices/0000:61:00.0"
    server.files |= {f"{folder}/{name}": value for name, value in {**CONNECTX, **GEN4, "numa_node": "0"}.items()}
    assert (only(server).locality, only(server).path) == (Locality(numa_nodes=(0,)), None)


def test_paths() -> None:
    """A capture keeps every file that the source reads."""
    server = Server("0-7", "8-15")
    server.plug(ROOT, BRIDGE, GEN4)
    server.hca("mlx5_0", server.plug(CARD, CONNECTX, GEN4, driver="mlx5_core"), {})
    host = server.host
    collect_pci(host)
    assert uncovered(host, PCI_PATHS) == []
