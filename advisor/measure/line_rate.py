"""How fast an adapter can be: what its port carries after line coding, and what its PCIe path lets through."""

from dataclasses import dataclass
from typing import Final

from advisor.model.hardware.devices import Hca, Port
from advisor.model.hardware.machine import Machine

_CODED: Final = {"SDR": 8 / 10, "DDR": 8 / 10, "QDR": 8 / 10, "FDR": 64 / 66}
"""Share of the rate in sysfs that is data: the kernel counts these before line coding, FDR10, EDR and later after it."""


@dataclass(frozen=True)
class LineRate:
    """The most bytes a second one way, and what says so."""

    rate: float
    why: str


def line_rate(machine: Machine, hca: str) -> LineRate | None:
    """Return how fast an adapter can be one way; None where neither its port's rate nor its PCIe path is known."""
    found = next((each for each in machine.hcas or () if each.name == hca), None)
    limits = [limit for limit in (_of_port(found), _of_path(machine, found)) if limit is not None] if found else []
    return min(limits, key=lambda limit: limit.rate, default=None)


def _of_port(hca: Hca) -> LineRate | None:
    known = [port for port in hca.ports or () if port.rate]
    port = next((each for each in known if each.state == "active"), known[0] if known else None)
    if port is None or port.rate is None:
        return None
    speed = f"{port.rate / 1e9:g} Gbit/s{f' ({port.rate_name})' if port.rate_name else ''}"
    share = _share(port)
    coded = "" if share == 1 else f", {share:.0%} of it data"
    return LineRate(port.rate / 8 * share, f"{speed}{coded}")


def _share(port: Port) -> float:
    if port.link_layer == "ethernet":
        return 1.0
    return _CODED.get((port.rate_name or "").split()[-1:][0] if port.rate_name else "", 1.0)


def _of_path(machine: Machine, hca: Hca) -> LineRate | None:
    device = next((each for each in machine.pci or () if hca.address and each.address == hca.address), None)
    if device is None or device.link is None or not device.link.bandwidth:
        return None
    return LineRate(float(device.link.bandwidth), f"PCIe, {_spelled(device.link.speed, device.link.width)}")


def _spelled(speed: float | None, width: int | None) -> str:
    return f"{speed / 1e9:g} GT/s x{width}" if speed and width else "the link as it runs"
