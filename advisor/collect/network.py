"""Network interfaces with hardware behind them."""

from advisor.collect.pci_bus import LOCALITY_PATHS, Bus, unseen
from advisor.collect.pci_locality import Clues, locality
from advisor.collect.pci_path import ADDRESS, addresses
from advisor.collect.reader import Reader
from advisor.host.base import Host
from advisor.model.hardware.devices import Locality, Nic
from advisor.model.hardware.machine import Machine

NET = "/sys/class/net"

PATHS = (
    *LOCALITY_PATHS,
    f"{NET}/*@",
    f"{NET}/*/device@",
    f"{NET}/*/device/numa_node",
    f"{NET}/*/speed",
    f"{NET}/*/operstate",
    f"{NET}/*/mtu",
)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

_UNKNOWN_SPEED = 0xFFFFFFFF
"""SPEED_UNKNOWN as drivers print it that take it for unsigned; others print -1, or refuse to be read while down."""


def collect(host: Host) -> Machine:
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
