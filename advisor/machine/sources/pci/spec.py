"""PCI as its specifications define it: classes and ids, addresses and links, capabilities in the configuration space."""

import re
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from advisor.machine.devices import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT, Link

# Class codes: PCI Code and ID Assignment Specification 1.15, section 1.
_NETWORK, _ETHERNET, _INFINIBAND_NETWORK, _FABRIC, _INFINIBAND_BUS = 0x02, 0x0200, 0x0207, 0x0208, 0x0C06
_DISPLAY, _NVME, _BRIDGE, _ACCELERATOR, _COPROCESSOR = 0x03, (0x010802, 0x010800), 0x06, 0x12, 0x0B40
"""Of NVMe the second is what hwloc leaves of the first: its files have no programming interface."""

# Vendors: the PCI ID Repository (pci-ids.ucw.cz).
NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086
_CRAY, _CORNELIS = 0x17DB, 0x434E
COHERENT: Final = (0x2342, 0x2348, 0x2941, 0x2E12)
"""NVIDIA's GPUs that share memory with a Grace: GH200 120GB and 480GB, GH200 144G HBM3e, GB200, GB10 (pci.ids)."""
GPU_MAKERS: Final = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel"}

_SYSTEM_COPROCESSORS: Final = frozenset(
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

_CONSOLES: Final = {
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
_OLD_CONSOLES: Final = ((AMD, 0x515E), (AMD, 0x5969), (AMD, 0x4752))
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
    return Link(speed=transfers, width=lanes, bandwidth=_bandwidth(transfers, lanes))


def _bandwidth(transfers: float | None, lanes: int | None) -> int | None:
    payload = _PAYLOAD.get(transfers) if transfers else None
    return round(transfers * lanes * payload / 8) if transfers and lanes and payload else None


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
    ways = [(_both(edge), edge.upstream) for edge in path]
    rated = [(way.bandwidth, -i) for i, (way, _) in enumerate(ways) if way and way.bandwidth]
    if not rated or len(rated) < len(ways):
        return None, None
    least = min(rated[i] for i in range(len(rated)))[0]
    way, port = next((way, port) for way, port in ways if way and way.bandwidth == least)
    card = path[-1].below
    limited = card is not None and card.bandwidth is not None and least < card.bandwidth
    return way, port if limited else None


def _both(edge: Edge) -> Link | None:
    above, below = edge.above, edge.below
    if not (above and below and above.speed and below.speed and above.width and below.width):
        return None
    return link(min(above.speed, below.speed), min(above.width, below.width))


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
    offset = _extended(config, _ACS)
    control = None if offset is None else _word(config, offset + _ACS_CONTROL)
    return bool(control and control & _REDIRECT)


def _extended(config: bytes, wanted: int) -> int | None:
    """Return the offset of an extended capability; the list is as little trusted as the other."""
    pointer = _FIRST_EXTENDED
    seen: set[int] = set()
    while pointer >= _FIRST_EXTENDED and pointer not in seen:
        seen.add(pointer)
        name, rest = _word(config, pointer), _word(config, pointer + 2)
        if name is None or rest is None or name in (0, 0xFFFF):
            return None
        if name == wanted:
            return pointer
        pointer = rest >> 4 & 0xFFC
    return None


def capability(config: bytes, wanted: int) -> int | None:
    """Return the offset of a capability; a list that runs in circles or out of the bytes ends where it does."""
    pointer = _head(config)
    seen: set[int] = set()
    while pointer is not None and pointer >= _FIRST and pointer not in seen:
        seen.add(pointer)
        entry = _word(config, pointer)
        if entry is None:
            return None
        if entry & 0xFF == wanted:
            return pointer
        pointer = entry >> 8 & 0xFC
    return None


def _head(config: bytes) -> int | None:
    status = _word(config, _STATUS)
    if status is None or not status & _HAS_LIST or len(config) < _FIRST:
        return None
    place = _POINTER.get(config[_HEADER_TYPE] & 0x7F)
    return None if place is None else config[place] & 0xFC


def _word(config: bytes, offset: int) -> int | None:
    if offset + 2 > len(config):
        return None
    return int(struct.unpack_from("<H", config, offset)[0])
