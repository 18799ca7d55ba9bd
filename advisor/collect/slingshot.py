"""Slingshot adapters as their driver shows them: cxi0, the name that libfabric and Cray MPICH know them by."""

from advisor.collect.pci_bus import LOCALITY_PATHS, Bus
from advisor.collect.pci_path import address_of
from advisor.collect.reader import Reader
from advisor.host.base import Host
from advisor.model.hardware.devices import Hca
from advisor.model.hardware.machine import Machine

CLASS = "/sys/class/cxi"

PATHS = (*LOCALITY_PATHS, f"{CLASS}/*@", f"{CLASS}/*/device@")
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 25


def collect(host: Host) -> Machine:
    """Return the adapters; nothing is said where the driver shows none: other networks have sources of their own."""
    reader = Reader(host)
    names = [name for name in host.list(CLASS) if name.startswith("cxi") and name[3:].isdecimal() and len(name) < 8]
    if not names:
        return Machine()
    reader.found("hcas", CLASS)
    bus = Bus(reader)
    return Machine(hcas=tuple(_hca(bus, host, name) for name in names), sources=reader.sources, gaps=reader.gaps)


def _hca(bus: Bus, host: Host, name: str) -> Hca:
    address = address_of(host.real(f"{CLASS}/{name}/device") or host.real(f"{CLASS}/{name}") or "")
    known = address is not None and address in (bus.addresses or ())
    return Hca(name=name, address=address, locality=bus.locality(address) if known and address else None, kind="Slingshot")
