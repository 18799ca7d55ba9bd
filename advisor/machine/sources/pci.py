"""PCI as its specifications define it: classes and ids, addresses and links, capabilities in the configuration space."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT, Link, Locality, PciDevice
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Iommu, Machine
from advisor.machine.sources.reader import FactSource, Reader, files, set_in
from advisor.machine.value import is_name, number

# Class codes: PCI Code and ID Assignment Specification 1.15, section 1.
_NETWORK, _ETHERNET, _INFINIBAND_NETWORK, _FABRIC, _INFINIBAND_BUS = 0x02, 0x0200, 0x0207, 0x0208, 0x0C06
_DISPLAY, _NVME, _BRIDGE, _ACCELERATOR, _COPROCESSOR = 0x03, (0x010802, 0x010800), 0x06, 0x12, 0x0B40
"""Of NVMe the second is what hwloc leaves of the first: its files have no programming interface."""

# Vendors: the PCI ID Repository (pci-ids.ucw.cz).
NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086
_CRAY, _CORNELIS = 0x17DB, 0x434E
COHERENT = (0x2342, 0x2348, 0x2941, 0x2E12)
"""NVIDIA's GPUs that share memory with a Grace: GH200 120GB and 480GB, GH200 144G HBM3e, GB200, GB10 (pci.ids)."""
GPU_MAKERS = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel"}

_SYSTEM_COPROCESSORS = frozenset(
    {
        0x0435,
        0x0443,
        0x18A0,
        0x18A1,
        0x18EE,
        0x18EF,
        0x19E2,
        0x19E3,
        0x37C8,
        0x37C9,
        0x6F54,
        0x6F55,
        *range(0x4940, 0x494A),
        0x2710,
        0x2711,
        0x2714,
        0x2715,
    }
)
"""Intel QuickAssist and Dynamic Load Balancer, with virtual functions: they serve the system, and are no accelerators of
computing (pci.ids; Linux, drivers/crypto/intel/qat, drivers/misc/dlb2)."""

_CONSOLES = {
    0x102B: "Matrox",
    0x1A03: "ASPEED",
    0x18CA: "XGI",
    0x126F: "Silicon Motion",
    0x19E5: "HiSilicon",
    0x1013: "Cirrus",
    0x1234: "Bochs",
    0x1414: "Hyper-V",
    0x15AD: "VMware",
    0x1AF4: "virtio",
    0x1B36: "QXL",
}
"""Vendors of the frame buffers of management controllers and of virtual machines: displays that compute nothing."""
_OLD_CONSOLES = ((AMD, 0x515E), (AMD, 0x5969), (AMD, 0x4752))
"""ATI ES1000 and Rage XL: the same, from a vendor of GPUs (pci.ids)."""


def kind_of(class_code: int, vendor: int, device: int, *, fabric: bool) -> str:
    """Return hca, nic, gpu, nvme, accelerator, bridge or other; ``fabric`` where an RDMA driver serves it."""
    base, sub = class_code >> 16, class_code >> 8
    if fabric or layer_of(class_code, vendor) not in (None, ETHERNET) or sub == _FABRIC:
        return "hca"
    if base == _DISPLAY:
        return "other" if vendor in _CONSOLES or (vendor, device) in _OLD_CONSOLES else "gpu"
    if base == _ACCELERATOR:
        # AMD Instinct MI300 and later call themselves processing accelerators.
        return "gpu" if vendor in (NVIDIA, AMD) else "accelerator"
    if class_code in _NVME:
        return "nvme"
    if sub == _COPROCESSOR:
        return "other" if vendor == INTEL and device in _SYSTEM_COPROCESSORS else "accelerator"
    return {_NETWORK: "nic", _BRIDGE: "bridge"}.get(base, "other")


def layer_of(class_code: int, vendor: int) -> str | None:
    """Return the link layer that a network card's class and vendor show, None of anything else.

    A Slingshot adapter (17db:0501) calls itself an Ethernet controller; Omni-Path (8086:24f0, 434e:0001) has the class of
    fabrics.
    """
    base, sub = class_code >> 16, class_code >> 8
    if base == _NETWORK and vendor == _CRAY:
        return SLINGSHOT
    if sub == _FABRIC:
        return OMNI_PATH if vendor in (INTEL, _CORNELIS) else None
    return {_INFINIBAND_NETWORK: INFINIBAND, _INFINIBAND_BUS: INFINIBAND, _ETHERNET: ETHERNET}.get(sub)


ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII | re.IGNORECASE)
"""Domain, bus, device and function. Domains beyond 16 bits are made by Intel VMD and by Hyper-V."""

HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}", re.ASCII | re.IGNORECASE)
_SPEED = re.compile(r"(\d{1,3}(?:\.\d{1,3})?) GT/s(?: PCIe)?", re.ASCII)
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)

# PCI Express Base Specification 6.0: 8b/10b coding at 2.5 and 5 GT/s (section 4.2.1), 128b/130b from 8 to 32 GT/s (4.2.2),
# and from 64 GT/s on flits of 256 bytes, of which 8 are CRC and 6 error correction (4.2.3).
_PAYLOAD = {
    2.5e9: 8 / 10,
    5e9: 8 / 10,
    8e9: 128 / 130,
    16e9: 128 / 130,
    32e9: 128 / 130,
    64e9: 242 / 256,
    128e9: 242 / 256,
}


class Edge(NamedTuple):
    """What the two ends of a link could do, nearer the root first."""

    upstream: str
    """Address of the port above."""
    above: Link | None
    below: Link | None


def speed(text: str | None) -> float | None:
    """Return the transfers a second of ``16.0 GT/s PCIe``, or None of ``Unknown`` and of anything else."""
    match = _SPEED.fullmatch(text.strip()) if text else None
    value = float(match[1]) * 1e9 if match else 0.0
    return value or None


def width(lanes: int | None) -> int | None:
    """Return the lanes if PCIe has links of that width: 0, 63 and 255 stand for a register without meaning."""
    return lanes if lanes in _WIDTHS else None


def link(transfers: float | None, lanes: int | None) -> Link | None:
    """Return a link with its bandwidth one way, or None where nothing of it is known."""
    if transfers is None and lanes is None:
        return None
    payload = _PAYLOAD.get(transfers or 0)
    bandwidth = round(transfers * lanes * payload / 8) if transfers and lanes and payload else None
    return Link(speed=transfers, width=lanes, bandwidth=bandwidth)


def address_of(path: str) -> str | None:
    """Return the PCI address of the device, or of the nearest one above, that a path below /sys/devices names."""
    return next((part.lower() for part in reversed(path.split("/")) if ADDRESS.fullmatch(part)), None)


def partition(card: str, number: int) -> str:
    """Return what ROCm calls a partition of a GPU: the card's address with the partition for its function.

    >>> partition("0001:02:00.0", 2)
    '0001:02:00.2'
    """
    return f"{card.rpartition('.')[0]}.{number}"


def addresses(path: str) -> tuple[str, ...]:
    """Return every PCI address in a path, the root's side first."""
    return tuple(part.lower() for part in path.split("/") if ADDRESS.fullmatch(part))


def root_bus(path: str) -> str | None:
    """Return the host bridge that a path goes through last (``pci0000:60``), or None."""
    return next((part.lower() for part in reversed(path.split("/")) if HOST_BRIDGE.fullmatch(part)), None)


def hierarchy(path: str) -> tuple[str, ...]:
    """Return the addresses below the last host bridge of a path, from the root port to the device.

    A VMD device is an endpoint with a host bridge of its own: no link joins it to the ports below.
    """
    bus = root_bus(path)
    return addresses(path.lower().rpartition(f"/{bus}/")[2] if bus else path)


def edges(ports: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of addresses that a link joins, from the root port to the card.

    Links and the inside of switches alternate: root port = switch port - switch port = card. Ports and their own
    switch share no link, so a Gen4 x16 uplink and a Gen5 x8 slot do not make a Gen4 x8. An odd number of devices
    means a bridge to conventional PCI is among them: then every neighbouring pair counts.
    """
    step = 1 if len(ports) % 2 else 2
    return tuple((ports[i], ports[i + 1]) for i in range(0, len(ports) - 1, step))


def narrowest(path: Sequence[Edge]) -> tuple[Link | None, str | None]:
    """Return the slowest link on the way as both its ends could run it, and the port above it if the card could do more.

    Of equal ones, the nearest to the root. (None, None) where one end's ability is not known, or there is no link at all.
    """
    least: tuple[int, Link, str] | None = None
    for port, above, below in path:
        if not (above and below and above.speed and below.speed and above.width and below.width):
            return None, None
        way = link(min(above.speed, below.speed), min(above.width, below.width))
        if way is None or not way.bandwidth:
            return None, None
        if least is None or way.bandwidth < least[0]:
            least = way.bandwidth, way, port
    if least is None:
        return None, None
    card = path[-1].below
    limited = card is not None and card.bandwidth is not None and least[0] < card.bandwidth
    return least[1], least[2] if limited else None


# Offsets and bits: PCI Local Bus 3.0 section 6.1, PCI Express Base 6.0 section 7.5.3.4; Linux names them in pci_regs.h.
_STATUS, _HEADER_TYPE = 0x06, 0x0E
_HAS_LIST = 1 << 4
_POINTER = {0: 0x34, 1: 0x34, 2: 0x14}
_PCI_EXPRESS = 0x10
_DEVICE_CONTROL = 0x08
_LINK_CAPABILITIES, _LINK_CONTROL, _DEVICE_CAPABILITIES_2, _DEVICE_CONTROL_2 = 0x0C, 0x10, 0x24, 0x28
_ASPM_OFFERED, _ASPM, _TAGS_OFFERED, _TAGS = 3 << 10, 3, 1 << 17, 1 << 12
"""Active state link power management and ten-bit tags of a requester (PCI Express Base 6.0, sections 7.5.3.6, .7, .15, .16)."""
_EXPRESS_FLAGS, _DOWNSTREAM = 0x02, 6
_FIRST_EXTENDED, _ACS, _ACS_CONTROL = 0x100, 0x0D, 0x06
_REDIRECT = 1 << 2 | 1 << 3
"""P2P request and completion redirect (PCI Express Base 6.0, section 7.7.11)."""
_FIRST = 0x40
"""Capabilities lie behind the standard header, in the part that the kernel shows to root alone."""


class DeviceControl(NamedTuple):
    """What the PCIe device control register asks of a card."""

    max_read_request: int | None
    """Bytes; None of a reserved code."""
    relaxed_ordering: bool
    aspm: bool | None = None
    """None of a device that offers none."""
    ten_bit_tags: bool | None = None
    """None of a device that could not use them."""


def hidden(config: bytes) -> bool:
    """Return whether the capabilities lie beyond the bytes at hand: the kernel gives 64 to users who are not root."""
    return len(config) <= _FIRST


def device_control(config: bytes) -> DeviceControl | None:
    """Return the device control register, or None where there is no PCIe capability in the bytes at hand."""
    offset = capability(config, _PCI_EXPRESS)
    register = None if offset is None else _word(config, offset + _DEVICE_CONTROL)
    if register is None:
        return None
    code = register >> 12 & 7
    offset = offset or 0
    offered, link_control = _word(config, offset + _LINK_CAPABILITIES), _word(config, offset + _LINK_CONTROL)
    tags, second = _word(config, offset + _DEVICE_CAPABILITIES_2 + 2), _word(config, offset + _DEVICE_CONTROL_2)
    return DeviceControl(
        128 << code if code <= 5 else None,
        bool(register & 1 << 4),
        bool(link_control & _ASPM) if offered and offered & _ASPM_OFFERED and link_control is not None else None,
        bool(second & _TAGS) if tags and tags & _TAGS_OFFERED >> 16 and second is not None else None,
    )


def downstream(config: bytes) -> bool | None:
    """Return whether this is a PCIe switch's port towards devices; None where the bytes at hand do not tell."""
    offset = capability(config, _PCI_EXPRESS)
    flags = None if offset is None else _word(config, offset + _EXPRESS_FLAGS)
    return None if flags is None else flags >> 4 & 0xF == _DOWNSTREAM


def redirects(config: bytes) -> bool:
    """Return whether a port's ACS sends requests or completions between devices up to the root."""
    offset = next((offset for offset, name in extended(config).items() if name == _ACS), None)
    control = None if offset is None else _word(config, offset + _ACS_CONTROL)
    return bool(control and control & _REDIRECT)


def extended(config: bytes) -> dict[int, int]:
    """Return the extended capabilities by their offsets; the list is as little trusted as the other."""
    found: dict[int, int] = {}
    pointer = _FIRST_EXTENDED
    while pointer >= _FIRST_EXTENDED and pointer not in found:
        name, rest = _word(config, pointer), _word(config, pointer + 2)
        if name is None or rest is None or name in (0, 0xFFFF):
            break
        found[pointer] = name
        pointer = rest >> 4 & 0xFFC
    return found


def capabilities(config: bytes) -> dict[int, int]:
    """Return the capabilities by their offsets; a list that runs in circles or out of the bytes ends where it does."""
    found: dict[int, int] = {}
    status = _word(config, _STATUS)
    place = _POINTER.get(config[_HEADER_TYPE] & 0x7F) if len(config) >= _FIRST else None
    pointer = config[place] & 0xFC if status and status & _HAS_LIST and place is not None else 0
    while pointer >= _FIRST and pointer not in found and (entry := _word(config, pointer)) is not None:
        found[pointer] = entry & 0xFF
        pointer = entry >> 8 & 0xFC
    return found


def capability(config: bytes, wanted: int) -> int | None:
    """Return the offset of a capability."""
    return next((offset for offset, number in capabilities(config).items() if number == wanted), None)


def _word(config: bytes, offset: int) -> int | None:
    if offset + 2 > len(config):
        return None
    return int(struct.unpack_from("<H", config, offset)[0])


class Nodes(NamedTuple):
    """The NUMA nodes and their CPUs; empty where the host does not show them."""

    cpus: Mapping[int, CpuSet]
    online: CpuSet | None = None

    def within(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the nodes whose CPUs lie inside the given ones, else the node that holds them all, else ()."""
        own = {node: mine for node, mine in self.cpus.items() if mine}
        inside = tuple(sorted(node for node, mine in own.items() if mine <= cpus))
        return inside or tuple(sorted(node for node, mine in own.items() if cpus and cpus <= mine))


class Clues(NamedTuple):
    """What is known of a device and of its neighbourhood."""

    node: int | None
    """Its numa_node."""
    cpus: CpuSet | None = None
    """Its local_cpulist."""
    above: tuple[tuple[str, int | None], ...] = ()
    """The bridges above it and their numa_node, the nearest first."""
    beside: Callable[[], Mapping[str, int]] = dict
    """The numa_node of other devices under the same root bus; asked for last, because it takes many reads."""


def locality(clues: Clues, nodes: Nodes) -> Locality:
    """Return where a device is; no nodes, and the reason, where nothing says so.

    numa_node is -1 where the firmware gives the root bridge no _PXM: that is not node 0.
    """
    node = clues.node
    if node is not None and _exists(node, nodes):
        wide = nodes.within(clues.cpus) if clues.cpus and _limits(clues.cpus, nodes) else ()
        if node in wide and len(wide) > 1:
            return Locality(numa_nodes=wide, inferred=f"numa_node is {node}; local_cpulist {clues.cpus} covers several nodes")
        return Locality(numa_nodes=(node,))
    said = "is absent" if node is None else "is -1" if node < 0 else f"{node} does not exist"
    for found, because in _inferred(clues, nodes):
        if found:
            return Locality(numa_nodes=found, inferred=f"numa_node {said}; {because}")
    return Locality(numa_nodes=(), inferred=f"numa_node {said}, and no neighbouring device shows its location")


def _exists(node: int | None, nodes: Nodes) -> bool:
    return node is not None and node >= 0 and (not nodes.cpus or node in nodes.cpus)


def _limits(cpus: CpuSet, nodes: Nodes) -> bool:
    """Return whether the CPUs are fewer than all: without a node the kernel lists every CPU online, which says nothing."""
    everyone = nodes.online if nodes.online is not None else union(nodes.cpus.values())
    return (cpus & everyone) < everyone


def _inferred(clues: Clues, nodes: Nodes) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the nodes that the neighbourhood tells, and how, the surest first."""
    for bridge, above in clues.above:
        if above is not None and _exists(above, nodes):
            yield (above,), f"{bridge} above it is on node {above}"
    if clues.cpus and _limits(clues.cpus, nodes):
        yield nodes.within(clues.cpus), f"local_cpulist is {clues.cpus}"
    beside = {address: node for address, node in clues.beside().items() if _exists(node, nodes)}
    if len(set(beside.values())) == 1:
        address, node = min(beside.items())
        yield (node,), f"{address} under the same root bus is on node {node}"
    own = tuple(node for node, mine in nodes.cpus.items() if mine)
    if len(own) == 1:
        yield own, f"node {own[0]} is the only node"


DEVICES = "/sys/bus/pci/devices"
_NODES = "/sys/devices/system/node"
_ONLINE = "/sys/devices/system/cpu/online"

_NODE = re.compile(r"node(\d{1,7})", re.ASCII)

LOCALITY_PATHS = (
    f"{DEVICES}/*@",
    *files(f"{DEVICES}/*", "numa_node local_cpulist local_cpus"),
    *files(f"{_NODES}/node*", "cpulist cpumap"),
    _ONLINE,
)
"""What the place of a device is known from."""


def unseen(reader: Reader, fact: str, folder: str) -> None:
    """Note that a folder of sysfs is not there: on the machine itself it has none, elsewhere nobody kept it."""
    reader.missed(fact, folder, Why.ABSENT if reader.host.kind == "live" else Why.NOT_KEPT)


class Bus:
    """The PCI functions of a host; a file is read when its fact is asked for."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._paths: dict[str, str] = {}

    @cached_property
    def addresses(self) -> tuple[str, ...] | None:
        """Every function, or None where the host shows no PCI bus."""
        host = self._reader.host
        if host.real(DEVICES) is None:
            return None
        return tuple(name for name in host.list(DEVICES) if ADDRESS.fullmatch(name))

    @cached_property
    def nodes(self) -> Nodes:
        """The NUMA nodes of the host."""
        found = {
            int(match[1]): self._cpus(f"{_NODES}/{name}", "cpulist", "cpumap") or CpuSet()
            for name in self._reader.host.list(_NODES)
            if (match := _NODE.fullmatch(name))
        }
        return Nodes(dict(sorted(found.items())), set_in(self._reader.text(_ONLINE)))

    def text(self, address: str, name: str) -> str | None:
        """Return the text of one attribute of a function."""
        return self._reader.text(f"{DEVICES}/{address}/{name}")

    def number(self, address: str, name: str) -> int | None:
        """Return the number that an attribute of a function holds."""
        return number(self.text(address, name))

    def path(self, address: str) -> str:
        """Return where the function hangs: its place below /sys/devices, or its own folder where links are lost."""
        if address not in self._paths:
            place = f"{DEVICES}/{address}"
            real = self._reader.host.real(place) or place
            self._paths[address] = real if real.endswith(f"/{address}") else place
        return self._paths[address]

    def upstream(self, address: str) -> tuple[str, ...] | None:
        """Return the host bridges and bridges above a function, the root's side first; None where links are lost."""
        above, _, own = self.path(address).rpartition("/")
        found = tuple(part.lower() for part in above.split("/") if ADDRESS.fullmatch(part) or HOST_BRIDGE.fullmatch(part))
        return found if found and own else None

    def link(self, address: str, which: str) -> Link | None:
        """Return the ``current`` or the ``max`` link of a function."""
        return link(
            speed(self.text(address, f"{which}_link_speed")),
            width(self.number(address, f"{which}_link_width")),
        )

    def narrowest(self, address: str) -> tuple[Link | None, str | None]:
        """Return the narrowest link between the root and a function, and the port above it if it limits the card."""
        pairs = edges(hierarchy(self.path(address)))
        return narrowest([Edge(upper, self.link(upper, "max"), self.link(lower, "max")) for upper, lower in pairs])

    def locality(self, address: str) -> Locality:
        """Return the NUMA nodes that a function is local to."""
        above = tuple((bridge, self.number(bridge, "numa_node")) for bridge in reversed(addresses(self.path(address))[:-1]))
        clues = Clues(
            node=self.number(address, "numa_node"),
            cpus=self._cpus(f"{DEVICES}/{address}", "local_cpulist", "local_cpus"),
            above=above,
            beside=lambda: self._told.get(root_bus(self.path(address)), {}),
        )
        return locality(clues, self.nodes)

    @cached_property
    def _told(self) -> dict[str | None, dict[str, int]]:
        """The numa_node of every function that has one, by root bus."""
        told: dict[str | None, dict[str, int]] = {}
        for address in self.addresses or ():
            node = self.number(address, "numa_node")
            if node is not None and node >= 0:
                told.setdefault(root_bus(self.path(address)), {})[address] = node
        return told

    def _cpus(self, folder: str, listed: str, masked: str) -> CpuSet | None:
        # Kernels before 2.6.28 have only the mask.
        found = set_in(self._reader.text(f"{folder}/{listed}"))
        return found if found is not None else set_in(self._reader.text(f"{folder}/{masked}"), CpuSet.from_mask)


_INFINIBAND = "/sys/class/infiniband"

PCI_PATHS = (
    *LOCALITY_PATHS,
    *files(f"{DEVICES}/*", "class vendor device current_link_speed current_link_width max_link_speed max_link_width"),
    *files(f"{DEVICES}/*", "sriov_numvfs sriov_totalvfs driver@ uevent physfn@ config"),
    *files(f"{_INFINIBAND}/*", "device@"),
    f"{_INFINIBAND}/*@",
)


def collect_pci(host: Host) -> Machine:
    """Return the PCI devices; None where the host shows no PCI bus."""
    reader = Reader(host)
    bus = Bus(reader)
    if bus.addresses is None:
        unseen(reader, "pci", DEVICES)
        return reader.machine()
    reader.found("pci", DEVICES)
    fabric = fabric_devices(host)
    devices = tuple(device for address in bus.addresses if (device := _device(reader, bus, address, fabric)))
    lost = [device for device in devices if device.locality and not device.locality.numa_nodes]
    if lost:
        others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        reader.lacks(
            "pci.locality",
            f"{lost[0].address}{others}: {lost[0].locality.inferred if lost[0].locality else ''}",
            "update the BIOS: its ACPI tables give the root bridge no NUMA node (_PXM)",
        )
    if devices and not any(device.link or device.card for device in devices):
        path = f"{DEVICES}/{devices[0].address}/max_link_speed"
        reader.missed("pci.link", path, host.read(path).why or Why.FAILED)
    return reader.machine(pci=devices)


def fabric_devices(host: Host) -> frozenset[str]:
    """Return the PCI addresses that an RDMA driver serves."""
    places = (host.real(f"{_INFINIBAND}/{name}/device") or host.real(f"{_INFINIBAND}/{name}") for name in host.list(_INFINIBAND))
    return frozenset(address for place in places if place and (address := address_of(place)))


def _device(reader: Reader, bus: Bus, address: str, fabric: frozenset[str]) -> PciDevice | None:
    """Return a device, or None of one that nobody tunes."""
    class_code, vendor, device = (bus.number(address, name) for name in ("class", "vendor", "device"))
    if class_code is None or vendor is None or device is None:
        return None
    kind = kind_of(class_code, vendor, device, fabric=address.lower() in fabric)
    if kind in ("bridge", "other"):
        return None
    path, bottleneck = bus.narrowest(address)
    virtual = reader.host.real(f"{DEVICES}/{address}/physfn") is not None
    control = None if virtual else _control(reader, address)
    return PciDevice(
        address=address,
        kind=kind,
        class_code=class_code,
        vendor=vendor,
        device=device,
        driver=_driver(reader, bus, address),
        locality=bus.locality(address),
        upstream=bus.upstream(address),
        link=bus.link(address, "current"),
        card=bus.link(address, "max"),
        path=path,
        bottleneck=bottleneck,
        **(control._asdict() if control else {}),
        virtual_functions=bus.number(address, "sriov_numvfs"),
        max_virtual_functions=bus.number(address, "sriov_totalvfs"),
        is_virtual_function=virtual,
    )


def _driver(reader: Reader, bus: Bus, address: str) -> str | None:
    """Return the driver that holds a function: what its link points to, or what its uevent file names."""
    place = reader.host.real(f"{DEVICES}/{address}/driver")
    lines = (bus.text(address, "uevent") or "").splitlines() if not place else [f"DRIVER={place.rpartition('/')[2]}"]
    told = next((line.removeprefix("DRIVER=") for line in lines if line.startswith("DRIVER=")), "")
    return told if is_name(told) else None


def _control(reader: Reader, address: str) -> DeviceControl | None:
    """Return a card's own device control register; a virtual function's is empty, for it obeys the physical one's.

    (PCI Express Base 6.0, section 7.5.3.4: RsvdP in virtual functions.)
    """
    config = _config(reader, address, "pci.max_read_request", "pci.relaxed_ordering")
    return None if config is None else device_control(config)


def _config(reader: Reader, address: str, *facts: str) -> bytes | None:
    """Return a function's configuration space; None, which is noted, where its capabilities are kept from this user."""
    path = f"{DEVICES}/{address}/config"
    reading = reader.host.read(path)
    if not reading.why and not hidden(reading.data):
        return reading.data
    for fact in facts:
        # Every function has one: where it is absent, nobody kept it.
        reader.missed(fact, path, Why.NOT_KEPT if reading.why is Why.ABSENT else reading.why or Why.REFUSED)
    return None


def gpus_on(bus: Bus) -> tuple[tuple[str, int], ...]:
    """Return the address and the vendor of every GPU."""
    found = []
    for address in bus.addresses or ():
        code, vendor, device = (bus.number(address, name) or 0 for name in ("class", "vendor", "device"))
        if kind_of(code, vendor, device, fabric=False) == "gpu":
            found.append((address, vendor))
    return tuple(found)


_UNITS = "/sys/class/iommu"
_TYPES = "/sys/kernel/iommu_groups/*/type"
IOMMU_PATHS = (f"{_UNITS}@", f"{_UNITS}/*@", _TYPES, f"{DEVICES}/*@", f"{DEVICES}/*/class", f"{DEVICES}/*/config")

_PCI_BRIDGE = 0x0604
"""Class of a PCI-to-PCI bridge (PCI Code and ID Assignment Specification 1.15)."""


def collect_iommu(host: Host) -> Machine:
    """Return what the kernel shows of IOMMU and ACS."""
    reader = Reader(host)
    told = {text for path in expand(reader.host, _TYPES) if (text := reader.text(path))}
    if told:
        reader.found("iommu.types", _TYPES)
    types = tuple(sorted(told)) or None
    iommu = Iommu(units=_units(reader), types=types, redirecting=_redirecting(reader))
    return reader.machine(iommu=None if iommu == Iommu() else iommu)


def _units(reader: Reader) -> tuple[str, ...] | None:
    """Return the IOMMUs; the class is there on every kernel that knows one, with or without any in it."""
    if reader.host.real(_UNITS) is None:
        reader.missed("iommu.units", _UNITS, reader.host.read(f"{_UNITS}/dmar0").why or Why.FAILED)
        return None
    reader.found("iommu.units", _UNITS)
    return reader.host.list(_UNITS)


def _redirecting(reader: Reader) -> tuple[str, ...] | None:
    """Return the switches' ports that redirect; None where one of them keeps its registers from this user."""
    bus = Bus(reader)
    bridges = [address for address in bus.addresses or () if (bus.number(address, "class") or 0) >> 8 == _PCI_BRIDGE]
    if bus.addresses is None or not bridges:
        return None
    ports = []
    for address in bridges:
        config = _config(reader, address, "iommu.redirecting")
        if config is None:
            return None
        if downstream(config) and redirects(config):
            ports.append(address)
    reader.found("iommu.redirecting", f"{DEVICES}/*/config")
    return tuple(ports)


SOURCES = (
    FactSource(
        "pci", "PCI devices that matter to a sysadmin: network cards, GPUs, NVMe disks, accelerators.", collect_pci, PCI_PATHS
    ),
    FactSource(
        "iommu",
        "Whether the IOMMU translates, and whether PCIe switches let devices talk to each other directly.",
        collect_iommu,
        IOMMU_PATHS,
    ),
)
