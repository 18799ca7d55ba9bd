"""Whether the IOMMU translates, and whether PCIe switches let devices talk to each other, as it is now."""

from advisor.collect.pci_bus import DEVICES, Bus
from advisor.collect.pci_config import downstream, hidden, redirects
from advisor.collect.reader import Reader
from advisor.host.base import Host, Why, expand
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.operating_system import Iommu

_UNITS = "/sys/class/iommu"
_TYPES = "/sys/kernel/iommu_groups/*/type"
PATHS = (f"{_UNITS}@", f"{_UNITS}/*@", _TYPES, f"{DEVICES}/*@", f"{DEVICES}/*/class", f"{DEVICES}/*/config")
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

_PCI_BRIDGE = 0x0604
"""Class of a PCI-to-PCI bridge (PCI Code and ID Assignment Specification 1.15)."""


def collect(host: Host) -> Machine:
    """Return what the kernel shows of IOMMU and ACS."""
    reader = Reader(host)
    iommu = Iommu(units=_units(reader), types=_types(reader), redirecting=_redirecting(reader))
    return Machine(iommu=None if iommu == Iommu() else iommu, sources=reader.sources, gaps=reader.gaps)


def _units(reader: Reader) -> tuple[str, ...] | None:
    """Return the IOMMUs; the class is there on every kernel that knows one, with or without any in it."""
    if reader.host.real(_UNITS) is None:
        reader.missed("iommu.units", _UNITS, reader.host.read(f"{_UNITS}/dmar0").why or Why.FAILED)
        return None
    reader.found("iommu.units", _UNITS)
    return reader.host.list(_UNITS)


def _types(reader: Reader) -> tuple[str, ...] | None:
    told = {text for path in expand(reader.host, _TYPES) if (text := reader.text(path))}
    if told:
        reader.found("iommu.types", _TYPES)
    return tuple(sorted(told)) or None


def _redirecting(reader: Reader) -> tuple[str, ...] | None:
    """Return the switches' ports that redirect; None where one of them keeps its registers from this user."""
    bus = Bus(reader)
    bridges = [address for address in bus.addresses or () if (bus.number(address, "class") or 0) >> 8 == _PCI_BRIDGE]
    if bus.addresses is None or not bridges:
        return None
    ports = []
    for address in bridges:
        path = f"{DEVICES}/{address}/config"
        reading = reader.host.read(path)
        if reading.why or hidden(reading.data):
            why = Why.NOT_KEPT if reading.why is Why.ABSENT else reading.why or Why.REFUSED
            reader.missed("iommu.redirecting", path, why)
            return None
        if downstream(reading.data) and redirects(reading.data):
            ports.append(address)
    reader.found("iommu.redirecting", f"{DEVICES}/*/config")
    return tuple(ports)
