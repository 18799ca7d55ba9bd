"""PCIe links: their speed and width as sysfs writes them, and the narrowest link from the root complex to a card."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from advisor.model.hardware.devices import Link

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
