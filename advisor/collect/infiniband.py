"""InfiniBand, Omni-Path and RoCE adapters as the RDMA drivers show them. Of GUIDs only which are equal is kept."""

import re
from collections.abc import Iterable

from advisor.collect.network import NET, device_of, interface_locality
from advisor.collect.pci_bus import LOCALITY_PATHS, Bus, unseen
from advisor.collect.pci_path import address_of
from advisor.collect.reader import Reader
from advisor.errors import BadInput
from advisor.host.base import Host
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.devices import Hca, Irq, Locality, Port
from advisor.model.hardware.machine import Machine
from advisor.model.value import is_name

CLASS = "/sys/class/infiniband"

PATHS = (
    *LOCALITY_PATHS,
    f"{CLASS}/*@",
    f"{CLASS}/*/device@",
    f"{CLASS}/*/parent",
    f"{CLASS}/*/fw_ver",
    f"{CLASS}/*/hca_type",
    f"{CLASS}/*/board_id",
    f"{CLASS}/*/sys_image_guid",
    f"{CLASS}/*/ports/*/state",
    f"{CLASS}/*/ports/*/phys_state",
    f"{CLASS}/*/ports/*/rate",
    f"{CLASS}/*/ports/*/link_layer",
    f"{CLASS}/*/ports/*/lid",
    f"{CLASS}/*/ports/*/gid_attrs/ndevs/*",
    f"{CLASS}/*/device/msi_irqs/*",
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/*/effective_affinity_list",
    f"{NET}/*@",
    f"{NET}/*/device@",
    f"{NET}/*/device/numa_node",
    f"{NET}/*/dev_port",
    f"{NET}/*/dev_id",
)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

_RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) Gb/sec(?: \((.{1,40})\))?", re.ASCII)
_NUMBERED = re.compile(r"\d+: *(.+)", re.ASCII)


def collect(host: Host) -> Machine:
    """Return the adapters; () where the kernel shows networks and none of these, None where neither can be seen."""
    reader = Reader(host)
    if host.real(CLASS) is None and not host.list(NET):
        # Every kernel has a loopback interface: without it, the classes of devices were not kept.
        unseen(reader, "hcas", CLASS)
        return Machine(sources=reader.sources, gaps=reader.gaps)
    reader.found("hcas", CLASS)
    bus = Bus(reader)
    near = _interfaces(host)
    names = reader.names(CLASS, "hcas")
    found = [_hca(reader, bus, name, near) for name in names]
    # Only where there are several: one adapter is no other's function.
    guids = [reader.text(f"{CLASS}/{name}/sys_image_guid") if len(names) > 1 else None for name in names]
    hcas = numbered(zip(found, guids, strict=True))
    return Machine(hcas=hcas, sources=reader.sources, gaps=reader.gaps)


def numbered(hcas: Iterable[tuple[Hca, str | None]]) -> tuple[Hca, ...]:
    """Return the adapters with the number of their card: its functions have one system image GUID (InfiniBand 14.2.5.3)."""
    seen: dict[str, int] = {}
    result = []
    for hca, guid in hcas:
        told = guid if guid and guid.strip("0:") else None
        result.append(hca.model_copy(update={"board": None if told is None else seen.setdefault(told.lower(), len(seen))}))
    return tuple(result)


def rate(text: str | None) -> tuple[int | None, str | None]:
    """Return bits a second and the name of ``100 Gb/sec (4X EDR)``."""
    match = _RATE.fullmatch(text) if text else None
    return (round(float(match[1]) * 1e9), match[2]) if match else (None, None)


def word(text: str | None) -> str | None:
    """Return ``active`` of ``4: ACTIVE``."""
    match = _NUMBERED.fullmatch(text) if text else None
    return match[1].strip().lower() if match else None


def _interfaces(host: Host) -> dict[str, list[str]]:
    """Return the network interfaces by the PCI address of their card."""
    found: dict[str, list[str]] = {}
    for name in filter(is_name, host.list(NET)):
        place = device_of(host, name)
        if place and (address := address_of(place)):
            found.setdefault(address, []).append(name)
    return found


def _hca(reader: Reader, bus: Bus, name: str, near: dict[str, list[str]]) -> Hca:
    at = f"{CLASS}/{name}"
    place = reader.host.real(f"{at}/device") or reader.host.real(at) or at
    address = address_of(place)
    ports = _ports(reader, name, near.get(address or "", []))
    return Hca(
        name=name,
        address=address,
        locality=_locality(reader, bus, name, address, ports),
        firmware=reader.text(f"{at}/fw_ver") or None,
        board_id=reader.text(f"{at}/board_id") or None,
        kind=reader.text(f"{at}/hca_type") or None,
        ports=ports,
        irqs=_irqs(reader, f"{at}/device/msi_irqs"),
    )


def _locality(reader: Reader, bus: Bus, name: str, address: str | None, ports: tuple[Port, ...] | None) -> Locality | None:
    """Return the PCI device's place; a soft device (rxe, siw) is where its Ethernet interface is."""
    if address is not None and address in (bus.addresses or ()):
        return bus.locality(address)
    netdev = _parent(reader, name) or next((port.netdev for port in ports or () if port.netdev), None)
    place = device_of(reader.host, netdev) if netdev else None
    if netdev is None or place is None:
        reader.lacks(
            f"hcas.{name}.locality", f"{name} is a soft device on no network card", "use an adapter with hardware behind it"
        )
        return None
    found = interface_locality(reader, bus, netdev, place)
    reason = f"soft device on {netdev}"
    return Locality(numa_nodes=found.numa_nodes, inferred=f"{reason}; {found.inferred}" if found.inferred else reason)


def _parent(reader: Reader, name: str) -> str | None:
    return _interface(reader.text(f"{CLASS}/{name}/parent"))


def _interface(text: str | None) -> str | None:
    """Return a text that can be the name of an interface (fewer than 16 characters), else None."""
    return text if text and len(text) < 16 and is_name(text) else None


def _ports(reader: Reader, name: str, near: list[str]) -> tuple[Port, ...] | None:
    at = f"{CLASS}/{name}/ports"
    if reader.host.real(at) is None:
        return None
    numbers = sorted(int(port) for port in reader.host.list(at) if port.isdecimal() and len(port) < 5)
    return tuple(_port(reader, f"{at}/{number}", number, near) for number in numbers)


def _port(reader: Reader, at: str, number: int, near: list[str]) -> Port:
    speed, name = rate(reader.text(f"{at}/rate"))
    layer = reader.text(f"{at}/link_layer")
    return Port(
        number=number,
        state=word(reader.text(f"{at}/state")),
        physical=word(reader.text(f"{at}/phys_state")),
        rate=speed,
        rate_name=name,
        link_layer=layer.lower() if layer else None,
        netdev=_netdev(reader, at, number, near),
        lid=reader.number(f"{at}/lid"),
    )


def _netdev(reader: Reader, at: str, number: int, near: list[str]) -> str | None:
    """Return the interface of a port: as its GIDs say (Ethernet), or the one on the same card with its port number (IPoIB)."""
    ndevs = f"{at}/gid_attrs/ndevs"
    entries = sorted(reader.host.list(ndevs), key=lambda entry: (len(entry), entry))
    named = next((found for entry in entries if (found := _interface(reader.text(f"{ndevs}/{entry}")))), None)
    if named:
        return named
    # A child of IPoIB (ib0.8001) has its parent's card and port, and a longer name.
    same = sorted((len(name), name) for name in near if _dev_port(reader, name) == number - 1)
    return same[0][1] if same else None


def _dev_port(reader: Reader, name: str) -> int:
    # dev_id told the port until dev_port came (Documentation/ABI/testing/sysfs-class-net), and IPoIB set it last.
    port, old = (reader.number(f"{NET}/{name}/{file}") for file in ("dev_port", "dev_id"))
    return port or old or 0


def _irqs(reader: Reader, folder: str) -> tuple[Irq, ...] | None:
    if reader.host.real(folder) is None:
        return None
    numbers = sorted(int(name) for name in reader.host.list(folder) if name.isdecimal() and len(name) < 8)
    irqs = tuple(irq for number in numbers if (irq := _irq(reader, number)))
    return irqs if irqs or not numbers else None


def _irq(reader: Reader, number: int) -> Irq | None:
    cpus, effective = (_cpus(reader, f"/proc/irq/{number}/{name}_list") for name in ("smp_affinity", "effective_affinity"))
    return None if cpus is None else Irq(number=number, cpus=cpus, effective=effective)


def _cpus(reader: Reader, path: str) -> CpuSet | None:
    text = reader.text(path)
    try:
        return None if text is None else CpuSet.parse(text)
    except BadInput:
        return None
