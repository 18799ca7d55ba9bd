"""Network interfaces and adapters as sysfs shows them (of GUIDs only which are equal is kept), and what differs by fabric."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from advisor.machine.hardware import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT, Hca, Irq, Locality, Nic, PciDevice, Port
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine
from advisor.machine.secrecy import words_of
from advisor.machine.sources.gpu import bus_id
from advisor.machine.sources.pci import ADDRESS, LOCALITY_PATHS, Bus, Clues, address_of, addresses, layer_of, locality, unseen
from advisor.machine.sources.reader import ROOT_HELP, FactSource, Reader, files, set_in
from advisor.machine.value import is_name

NET = "/sys/class/net"

NETWORK_PATHS = (
    *LOCALITY_PATHS,
    f"{NET}/*@",
    *files(f"{NET}/*", "device@ device/numa_node speed operstate mtu"),
)

_UNKNOWN_SPEED = 0xFFFFFFFF
"""SPEED_UNKNOWN as drivers print it that take it for unsigned; others print -1, or refuse to be read while down."""


def collect_network(host: Host) -> Machine:
    """Return the interfaces; None where the host shows no network."""
    reader = Reader(host)
    if host.real(NET) is None:
        unseen(reader, "nics", NET)
        return reader.machine()
    reader.found("nics", NET)
    bus = Bus(reader)
    nics = tuple(
        Nic(
            name=name,
            address=card_of(place),
            locality=interface_locality(reader, bus, name, place),
            speed=bits(reader.number(f"{NET}/{name}/speed")),
            state=state(reader.text(f"{NET}/{name}/operstate")),
            mtu=reader.number(f"{NET}/{name}/mtu"),
        )
        for name in reader.names(NET, "nics")
        if (place := device_of(host, name))
    )
    return reader.machine(nics=nics)


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
    *files(f"{INFINIBAND_CLASS}/*", "device@ parent fw_ver hca_type board_id sys_image_guid device/msi_irqs/*"),
    *files(f"{INFINIBAND_CLASS}/*/ports/*", "state phys_state rate link_layer lid gid_attrs/ndevs/*"),
    *files("/proc/irq/*", "smp_affinity_list effective_affinity_list"),
    f"{NET}/*@",
    *files(f"{NET}/*", "device@ device/numa_node dev_port dev_id"),
)

_RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) Gb/sec(?: \((.{1,40})\))?", re.ASCII)
_NUMBERED = re.compile(r"\d+: *(.+)", re.ASCII)


def collect_infiniband(host: Host) -> Machine:
    """Return the adapters; () where the kernel shows networks and none of these, None where neither can be seen."""
    reader = Reader(host)
    if host.real(INFINIBAND_CLASS) is None and not host.list(NET):
        # Every kernel has a loopback interface: without it, the classes of devices were not kept.
        unseen(reader, "hcas", INFINIBAND_CLASS)
        return reader.machine()
    reader.found("hcas", INFINIBAND_CLASS)
    bus = Bus(reader)
    near = _interfaces(host)
    names = reader.names(INFINIBAND_CLASS, "hcas")
    found = [_hca(reader, bus, name, near) for name in names]
    # Only where there are several: one adapter is no other's function.
    guids = [reader.text(f"{INFINIBAND_CLASS}/{name}/sys_image_guid") if len(names) > 1 else None for name in names]
    hcas = numbered_by_card(zip(found, guids, strict=True))
    return reader.machine(hcas=hcas)


def numbered_by_card(hcas: Iterable[tuple[Hca, str | None]]) -> tuple[Hca, ...]:
    """Return the adapters with the number of their card: its functions have one system image GUID (InfiniBand 14.2.5.3)."""
    seen: dict[str, int] = {}
    result = []
    for hca, guid in hcas:
        told = guid if guid and guid.strip("0:") else None
        result.append(hca.but(board=None if told is None else seen.setdefault(told.lower(), len(seen))))
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
    parent = _interface(reader.text(f"{INFINIBAND_CLASS}/{name}/parent"))
    netdev = parent or next((port.netdev for port in ports or () if port.netdev), None)
    place = device_of(reader.host, netdev) if netdev else None
    if netdev is None or place is None:
        why = f"{name} is a software device without a network card"
        reader.lacks(f"hcas.{name}.locality", why, "use a hardware adapter")
        return None
    found = interface_locality(reader, bus, netdev, place)
    reasons = "; ".join(filter(None, (f"software device on {netdev}", found.inferred)))
    return Locality(numa_nodes=found.numa_nodes, inferred=reasons)


def _interface(text: str | None) -> str | None:
    """Return a text that can be the name of an interface (fewer than 16 characters), else None."""
    return text if text and len(text) < 16 and is_name(text) else None


def _numbers(reader: Reader, folder: str, digits: int) -> list[int] | None:
    """Return the numbers that a folder's names are, None where there is no folder."""
    if reader.host.real(folder) is None:
        return None
    return sorted(int(name) for name in reader.host.list(folder) if name.isdecimal() and len(name) <= digits)


def _ports(reader: Reader, name: str, near: list[str]) -> tuple[Port, ...] | None:
    at = f"{INFINIBAND_CLASS}/{name}/ports"
    numbers = _numbers(reader, at, 4)
    return None if numbers is None else tuple(_port(reader, f"{at}/{number}", number, near) for number in numbers)


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
    numbers = _numbers(reader, folder, 7)
    if numbers is None:
        return None
    irqs = []
    for number in numbers:
        at = f"/proc/irq/{number}"
        cpus, effective = (set_in(reader.text(f"{at}/{name}_list")) for name in ("smp_affinity", "effective_affinity"))
        irqs += [Irq(number=number, cpus=cpus, effective=effective)] if cpus is not None else []
    return tuple(irqs) if irqs or not numbers else None


CXI_CLASS = "/sys/class/cxi"

SLINGSHOT_PATHS = (*LOCALITY_PATHS, f"{CXI_CLASS}/*@", f"{CXI_CLASS}/*/device@")


def collect_slingshot(host: Host) -> Machine:
    """Return the adapters; nothing is said where the driver shows none: other networks have sources of their own."""
    reader = Reader(host)
    names = [name for name in host.list(CXI_CLASS) if name.startswith("cxi") and name[3:].isdecimal() and len(name) < 8]
    if not names:
        return Machine()
    reader.found("hcas", CXI_CLASS)
    bus = Bus(reader)
    hcas = []
    for name in names:
        address = address_of(host.real(f"{CXI_CLASS}/{name}/device") or host.real(f"{CXI_CLASS}/{name}") or "")
        place = bus.locality(address) if address is not None and address in (bus.addresses or ()) else None
        hcas.append(Hca(name=name, address=address, locality=place, kind="Slingshot"))
    return reader.machine(hcas=tuple(hcas))


# Without a device each asks all of them; mstconfig, of the free mstflint, names them by their PCI address.
MSTCONFIG = ("mstconfig", "query")
MLXCONFIG = ("mlxconfig", "query")

MLXCONFIG_PATHS = (f"{INFINIBAND_CLASS}/*@", f"{INFINIBAND_CLASS}/*/device@", f"{INFINIBAND_CLASS}/*/hca_type")
MLXCONFIG_COMMANDS = (MSTCONFIG, MLXCONFIG)

KEPT = words_of(
    "ADVANCED_PCI_SETTINGS ATS_ENABLED CQE_COMPRESSION LINK_TYPE_P1 LINK_TYPE_P2 MAX_ACC_OUT_READ NUM_OF_VFS PCI_WR_ORDERING"
    " SRIOV_EN"
)
"""Those that somebody tunes, of some two hundred."""

_PATIENCE = 5.0
_DEVICE_LINE = re.compile(r"\s*(?:PCI )?[Dd]evice:\s+(\S+)")
_OPTION = re.compile(r"[\s*]*([A-Z][A-Z0-9_]{2,60})\s+(\S.*)")
_TYPE = re.compile(r"/dev/mst/(mt\d{4,6})_", re.ASCII)


class QueriedDevice(NamedTuple):
    """What the tool printed of one device."""

    device: str
    options: dict[str, str]


class LocalAdapter(NamedTuple):
    """An adapter of this machine."""

    name: str
    address: str | None
    kind: str


def collect_mlxconfig(host: Host) -> Machine:
    """Return the adapters with their firmware's options; nothing where the tools are absent or nobody is root."""
    reader = Reader(host)
    adapters = []
    for name in filter(is_name, host.list(INFINIBAND_CLASS)):
        kind = reader.text(f"{INFINIBAND_CLASS}/{name}/hca_type") or ""
        if kind.upper().startswith("MT"):
            adapters.append(LocalAdapter(name, address_of(host.real(f"{INFINIBAND_CLASS}/{name}/device") or ""), kind))
    if not adapters:
        return Machine()
    ran: dict[tuple[str, ...], Ran] = {argv: host.run(argv, _PATIENCE) for argv in MLXCONFIG_COMMANDS}
    for argv, answer in ran.items():
        found = matched(adapters, tuple(devices((answer.text or "").splitlines())))
        if found:
            reader.found("hcas.firmware_options", " ".join(argv))
            hcas = tuple(Hca(name=name, firmware_options=options) for name, options in found.items())
            return Machine(hcas=hcas, sources=reader.sources)
    _explain(reader, ran)
    return Machine(gaps=reader.gaps)


def devices(lines: Iterable[str]) -> list[QueriedDevice]:
    """Return each device with the options that are kept, as they are at the next boot: the last column."""
    found: list[QueriedDevice] = []
    for line in lines:
        device, option = _DEVICE_LINE.match(line), _OPTION.match(line)
        if device:
            found.append(QueriedDevice(device[1], {}))
        elif option and found and option[1] in KEPT:
            word = option[2].split()[-1]
            # True of True(1), per_mkey of per_mkey(0); a number stays one.
            match = re.fullmatch(r"([\w.-]{1,40})\(\d{1,10}\)", word, re.ASCII)
            found[-1].options[option[1]] = match[1] if match else word[:40]
    return [queried for queried in found if queried.options]


def matched(adapters: Iterable[LocalAdapter], printed: tuple[QueriedDevice, ...]) -> Mapping[str, dict[str, str]]:
    """Return the options of each adapter: by PCI address, or by the kind that a name of mst holds, where all of that kind agree.

    /dev/mst/mt4119_pciconf0 tells the kind MT4119 and not the slot. One firmware serves all ports of a card.
    """
    found = {}
    by_address = {address: queried.options for queried in printed if (address := bus_id(queried.device))}
    for own in adapters:
        slot = (own.address or "").rpartition(".")[0]
        beside = next((address for address in by_address if slot and address.rpartition(".")[0] == slot), "")
        options = by_address.get(own.address or "") or by_address.get(beside)
        if options is None:
            kinds = ((_TYPE.match(queried.device), queried.options) for queried in printed)
            of_kind = [options for match, options in kinds if match and match[1].upper() == own.kind.upper()]
            options = of_kind[0] if of_kind and all(other == of_kind[0] for other in of_kind) else None
        if options is not None:
            found[own.name] = options
    return found


def _explain(reader: Reader, ran: Mapping[tuple[str, ...], Ran]) -> None:
    fact = "hcas.firmware_options"
    whys = {answer.why for answer in ran.values()}
    if whys == {Why.NOT_KEPT}:
        reader.missed(fact, "mlxconfig", Why.NOT_KEPT)
    elif whys == {Why.ABSENT}:
        reader.lacks(fact, "neither mstconfig nor mlxconfig is installed", "install mstflint, and run as root")
    else:
        printed = next((a.err or a.out for a in ran.values() if a.why is None), b"").decode("utf-8", "replace").strip()
        first = printed.splitlines()[0][:100] if printed else "they did not finish in time"
        reader.lacks(fact, f"mstconfig, mlxconfig: {first}", ROOT_HELP)


_CXI_DEVICE = re.compile(r"cxi\d{1,4}", re.ASCII)
"""What the driver calls a Slingshot adapter, and libfabric after it."""
_INTERFACE = re.compile(r"hs[ni]\d{1,4}", re.ASCII)
"""Its Ethernet interface: hsn0 at most sites, hsi0 at Livermore."""
_OMNI_PATH = re.compile(r"hfi1_\d{1,4}", re.ASCII)
_AZURE = {"mlx5_an": ETHERNET, "mlx5_ib": INFINIBAND}
"""Accelerated Networking, which is Ethernet, beside the InfiniBand adapters of an Azure node."""

_LAST_UNICAST = 0xBFFF
"""InfiniBand Architecture Specification 1.4, volume 1, section 4.1.3: higher LIDs are multicast, 0xFFFF is permissive."""
_NONE_YET = 0xFFFF


def with_link_layers(machine: Machine) -> Machine:
    """Return the machine with Slingshot's adapters among its HCAs, and the link layer of every port as far as known."""
    cards = {device.address: device for device in machine.pci or ()}
    nics = machine.nics and tuple(nic for nic in machine.nics if not _CXI_DEVICE.fullmatch(nic.name))
    found = _slingshot(machine, cards)
    places = {hca.address for hca in found} - {None}
    if machine.hcas is None and not found:
        return machine
    others = [hca for hca in machine.hcas or () if hca.address not in places and hca.name not in {hca.name for hca in found}]
    hcas = tuple(_layered(hca, cards.get(hca.address or "")) for hca in (*others, *found))
    return machine.but(hcas=hcas, nics=nics)


def _slingshot(machine: Machine, cards: Mapping[str, PciDevice]) -> tuple[Hca, ...]:
    """Return an adapter for each card, by the name that libfabric knows it by where a source has it."""
    nics = [nic for nic in machine.nics or () if _is_slingshot(nic, cards)]
    drivers = {hca.address: hca.name for hca in machine.hcas or () if _CXI_DEVICE.fullmatch(hca.name)}
    drivers |= {nic.address: nic.name for nic in nics if _CXI_DEVICE.fullmatch(nic.name)}
    interfaces = {nic.address: nic for nic in nics if not _CXI_DEVICE.fullmatch(nic.name)}
    places = {hca.address: hca.locality for hca in machine.hcas or () if hca.address in drivers}
    places |= {nic.address: nic.locality for nic in nics}
    found = []
    for address in sorted({*drivers, *interfaces}, key=lambda each: each or ""):
        nic, card = interfaces.get(address), cards.get(address or "")
        port = Port(number=1, link_layer=SLINGSHOT)
        if nic is not None:
            states = {"up": "active", "down": "down"}
            port = port.but(state=states.get(nic.state or ""), rate=nic.speed, netdev=nic.name)
        found.append(
            Hca(
                name=drivers.get(address) or (nic.name if nic else ""),
                address=address,
                locality=places.get(address) or (card.locality if card else None),
                kind="Slingshot",
                ports=(port,),
            )
        )
    return tuple(found)


def _is_slingshot(nic: Nic, cards: Mapping[str, PciDevice]) -> bool:
    card = cards.get(nic.address or "")
    if card is not None:
        return layer_of(card.class_code, card.vendor) == SLINGSHOT
    return bool(_CXI_DEVICE.fullmatch(nic.name) or _INTERFACE.fullmatch(nic.name))


def _layered(hca: Hca, card: PciDevice | None) -> Hca:
    if hca.ports is None:
        return hca.but(layer=_layer(hca, Port(number=1), card))
    ports = tuple(port.but(link_layer=_layer(hca, port, card)) for port in hca.ports)
    return hca.but(ports=ports)


def _layer(hca: Hca, port: Port, card: PciDevice | None) -> str | None:
    """Return the link layer of a port: as the driver says, else as its card's class, its LID or its name tell.

    Omni-Path's driver says InfiniBand of a fabric that no InfiniBand card can be part of. An Ethernet card may have a LID, too:
    i40iw gives its iWARP ports LID 1 (hwloc's XML keeps that, and no link layer).
    """
    made = layer_of(card.class_code, card.vendor) if card else None
    if made in (OMNI_PATH, SLINGSHOT) or _OMNI_PATH.fullmatch(hca.name):
        return made or OMNI_PATH
    if port.link_layer:
        return port.link_layer
    if made is not None:
        return made
    if port.lid is not None and 0 < port.lid <= _LAST_UNICAST:
        return INFINIBAND
    named = next((layer for prefix, layer in _AZURE.items() if hca.name.startswith(prefix)), None)
    return INFINIBAND if port.lid == _NONE_YET else named


SOURCES = (
    FactSource("network", "Network interfaces backed by hardware.", collect_network, NETWORK_PATHS),
    FactSource(
        "infiniband",
        "InfiniBand, Omni-Path and RoCE adapters as the RDMA drivers show them. GUIDs are not stored, only whether they match.",
        collect_infiniband,
        INFINIBAND_PATHS,
    ),
    FactSource(
        "slingshot",
        "Slingshot adapters as their driver shows them: cxi0, the name that libfabric and Cray MPICH use.",
        collect_slingshot,
        SLINGSHOT_PATHS,
        rank=25,
    ),
    FactSource(
        "mlxconfig",
        "Options in the firmware of NVIDIA's adapters, as mlxconfig or mstconfig print them for root.",
        collect_mlxconfig,
        MLXCONFIG_PATHS,
        MLXCONFIG_COMMANDS,
        rank=21,
    ),
)
