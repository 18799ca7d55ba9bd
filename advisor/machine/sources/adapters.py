"""Network interfaces, and InfiniBand, Omni-Path and RoCE adapters, as sysfs shows them. Of GUIDs only which are equal is kept."""

import re
from collections.abc import Iterable

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Hca, Irq, Locality, Nic, Port
from advisor.machine.hosts.base import Host
from advisor.machine.machine import Machine
from advisor.machine.sources.pci.spec import ADDRESS, LOCALITY_PATHS, Bus, Clues, address_of, addresses, locality, unseen
from advisor.machine.sources.reader import FactSource, Reader
from advisor.machine.value import is_name

NET = "/sys/class/net"

NETWORK_PATHS = (
    *LOCALITY_PATHS,
    f"{NET}/*@",
    f"{NET}/*/device@",
    f"{NET}/*/device/numa_node",
    f"{NET}/*/speed",
    f"{NET}/*/operstate",
    f"{NET}/*/mtu",
)

_UNKNOWN_SPEED = 0xFFFFFFFF
"""SPEED_UNKNOWN as drivers print it that take it for unsigned; others print -1, or refuse to be read while down."""


def collect_network(host: Host) -> Machine:
    """Return the interfaces; None where the host shows no network."""
    reader = Reader(host)
    if host.real(NET) is None:
        unseen(reader, "nics", NET)
        return Machine(sources=reader.sources, gaps=reader.gaps)
    reader.found("nics", NET)
    bus = Bus(reader)
    nics = tuple(_nic(reader, bus, name, place) for name in reader.names(NET, "nics") if (place := device_of(host, name)))
    return Machine(nics=nics, sources=reader.sources, gaps=reader.gaps)


def device_of(host: Host, name: str) -> str | None:
    """Return the path of the hardware behind an interface; None of a loopback, bridge, bond, VLAN or tunnel."""
    place = host.real(f"{NET}/{name}/device")
    if place:
        return place
    own = host.real(f"{NET}/{name}") or ""
    folder, net, _ = own.rpartition("/net/")
    return folder if net and addresses(folder) else None


def card_of(place: str) -> str | None:
    """Return the PCI address of the card that an interface's hardware is, or is a part of.

    virtio0 and mlx5_core.sf.1 are parts of a card; what sits on a USB bus is not part of the USB controller.
    """
    parts = place.split("/")
    return next((part.lower() for part in parts[-1:-3:-1] if ADDRESS.fullmatch(part)), None)


def interface_locality(reader: Reader, bus: Bus, name: str, place: str) -> Locality:
    """Return the NUMA nodes that an interface is local to, through the PCI device it hangs off where there is one."""
    above = [address for address in reversed(addresses(place)) if address in (bus.addresses or ())]
    if above:
        return bus.locality(above[0])
    return locality(Clues(node=reader.number(f"{NET}/{name}/device/numa_node")), bus.nodes)


def _nic(reader: Reader, bus: Bus, name: str, place: str) -> Nic:
    at = f"{NET}/{name}"
    return Nic(
        name=name,
        address=card_of(place),
        locality=interface_locality(reader, bus, name, place),
        speed=bits(reader.number(f"{at}/speed")),
        state=state(reader.text(f"{at}/operstate")),
        mtu=reader.number(f"{at}/mtu"),
    )


def bits(megabits: int | None) -> int | None:
    """Return the bits a second of a speed file, or None where the link has no speed."""
    return megabits * 1_000_000 if megabits is not None and 0 < megabits < _UNKNOWN_SPEED else None


def state(text: str | None) -> str | None:
    """Return up, down, dormant, ...; None where the driver does not say."""
    return text if text and text != "unknown" else None


INFINIBAND_CLASS = "/sys/class/infiniband"

INFINIBAND_PATHS = (
    *LOCALITY_PATHS,
    f"{INFINIBAND_CLASS}/*@",
    f"{INFINIBAND_CLASS}/*/device@",
    f"{INFINIBAND_CLASS}/*/parent",
    f"{INFINIBAND_CLASS}/*/fw_ver",
    f"{INFINIBAND_CLASS}/*/hca_type",
    f"{INFINIBAND_CLASS}/*/board_id",
    f"{INFINIBAND_CLASS}/*/sys_image_guid",
    f"{INFINIBAND_CLASS}/*/ports/*/state",
    f"{INFINIBAND_CLASS}/*/ports/*/phys_state",
    f"{INFINIBAND_CLASS}/*/ports/*/rate",
    f"{INFINIBAND_CLASS}/*/ports/*/link_layer",
    f"{INFINIBAND_CLASS}/*/ports/*/lid",
    f"{INFINIBAND_CLASS}/*/ports/*/gid_attrs/ndevs/*",
    f"{INFINIBAND_CLASS}/*/device/msi_irqs/*",
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/*/effective_affinity_list",
    f"{NET}/*@",
    f"{NET}/*/device@",
    f"{NET}/*/device/numa_node",
    f"{NET}/*/dev_port",
    f"{NET}/*/dev_id",
)

_RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) Gb/sec(?: \((.{1,40})\))?", re.ASCII)
_NUMBERED = re.compile(r"\d+: *(.+)", re.ASCII)


def collect_infiniband(host: Host) -> Machine:
    """Return the adapters; () where the kernel shows networks and none of these, None where neither can be seen."""
    reader = Reader(host)
    if host.real(INFINIBAND_CLASS) is None and not host.list(NET):
        # Every kernel has a loopback interface: without it, the classes of devices were not kept.
        unseen(reader, "hcas", INFINIBAND_CLASS)
        return Machine(sources=reader.sources, gaps=reader.gaps)
    reader.found("hcas", INFINIBAND_CLASS)
    bus = Bus(reader)
    near = _interfaces(host)
    names = reader.names(INFINIBAND_CLASS, "hcas")
    found = [_hca(reader, bus, name, near) for name in names]
    # Only where there are several: one adapter is no other's function.
    guids = [reader.text(f"{INFINIBAND_CLASS}/{name}/sys_image_guid") if len(names) > 1 else None for name in names]
    hcas = numbered_by_card(zip(found, guids, strict=True))
    return Machine(hcas=hcas, sources=reader.sources, gaps=reader.gaps)


def numbered_by_card(hcas: Iterable[tuple[Hca, str | None]]) -> tuple[Hca, ...]:
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
    at = f"{INFINIBAND_CLASS}/{name}"
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
    return _interface(reader.text(f"{INFINIBAND_CLASS}/{name}/parent"))


def _interface(text: str | None) -> str | None:
    """Return a text that can be the name of an interface (fewer than 16 characters), else None."""
    return text if text and len(text) < 16 and is_name(text) else None


def _ports(reader: Reader, name: str, near: list[str]) -> tuple[Port, ...] | None:
    at = f"{INFINIBAND_CLASS}/{name}/ports"
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


SOURCES = (
    FactSource("network", 20, "Network interfaces with hardware behind them.", NETWORK_PATHS, (), collect_network),
    FactSource(
        "infiniband",
        20,
        "InfiniBand, Omni-Path and RoCE adapters as the RDMA drivers show them. Of GUIDs only which are equal is kept.",
        INFINIBAND_PATHS,
        (),
        collect_infiniband,
    ),
)
