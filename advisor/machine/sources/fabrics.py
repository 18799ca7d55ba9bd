"""What differs by fabric: Slingshot's adapters, each port's link layer, firmware options of NVIDIA's (mlxconfig)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from advisor.machine.devices import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT, Hca, Nic, PciDevice, Port
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine
from advisor.machine.sources.adapters import INFINIBAND_CLASS
from advisor.machine.sources.gpu import bus_id
from advisor.machine.sources.pci.spec import LOCALITY_PATHS, Bus, address_of, layer_of
from advisor.machine.sources.reader import ROOT_HELP, FactSource, Reader
from advisor.machine.value import is_name

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
    return Machine(hcas=tuple(_hca(bus, host, name) for name in names), sources=reader.sources, gaps=reader.gaps)


def _hca(bus: Bus, host: Host, name: str) -> Hca:
    address = address_of(host.real(f"{CXI_CLASS}/{name}/device") or host.real(f"{CXI_CLASS}/{name}") or "")
    known = address is not None and address in (bus.addresses or ())
    return Hca(name=name, address=address, locality=bus.locality(address) if known and address else None, kind="Slingshot")


# Without a device each asks all of them; mstconfig, of the free mstflint, names them by their PCI address.
MSTCONFIG = ("mstconfig", "query")
MLXCONFIG = ("mlxconfig", "query")

MLXCONFIG_PATHS = (f"{INFINIBAND_CLASS}/*@", f"{INFINIBAND_CLASS}/*/device@", f"{INFINIBAND_CLASS}/*/hca_type")
MLXCONFIG_COMMANDS = (MSTCONFIG, MLXCONFIG)

KEPT = (
    "ADVANCED_PCI_SETTINGS",
    "ATS_ENABLED",
    "CQE_COMPRESSION",
    "LINK_TYPE_P1",
    "LINK_TYPE_P2",
    "MAX_ACC_OUT_READ",
    "NUM_OF_VFS",
    "PCI_WR_ORDERING",
    "SRIOV_EN",
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
    adapters = [
        own for name in filter(is_name, host.list(INFINIBAND_CLASS)) if (own := _own(reader, name)).kind.upper().startswith("MT")
    ]
    if not adapters:
        return Machine()
    ran: dict[tuple[str, ...], Ran] = {argv: host.run(argv, _PATIENCE) for argv in MLXCONFIG_COMMANDS}
    for argv, answer in ran.items():
        found = matched(adapters, tuple(devices((answer.text or "").splitlines())))
        if found:
            reader.found("hcas.firmware_options", " ".join(argv))
            return Machine(
                hcas=tuple(Hca(name=name, firmware_options=options) for name, options in found.items()), sources=reader.sources
            )
    _explain(reader, ran)
    return Machine(gaps=reader.gaps)


def _own(reader: Reader, name: str) -> LocalAdapter:
    place = reader.host.real(f"{INFINIBAND_CLASS}/{name}/device")
    return LocalAdapter(name, address_of(place) if place else None, reader.text(f"{INFINIBAND_CLASS}/{name}/hca_type") or "")


def devices(lines: Iterable[str]) -> Iterator[QueriedDevice]:
    """Yield each device with the options that are kept, as they are at the next boot: the last column."""
    told = None
    for line in lines:
        device, option = _DEVICE_LINE.match(line), _OPTION.match(line)
        if device:
            yield from [told] if told and told.options else []
            told = QueriedDevice(device[1], {})
        elif option and told and option[1] in KEPT:
            told.options[option[1]] = _word(option[2].split()[-1])
    if told and told.options:
        yield told


def _word(text: str) -> str:
    """Return ``True`` of ``True(1)``, ``per_mkey`` of ``per_mkey(0)``; a number stays one."""
    match = re.fullmatch(r"([\w.-]{1,40})\(\d{1,10}\)", text, re.ASCII)
    return match[1] if match else text[:40]


def matched(adapters: Iterable[LocalAdapter], told: tuple[QueriedDevice, ...]) -> Mapping[str, dict[str, str]]:
    """Return the options of each adapter: by PCI address, or by the kind that a name of mst holds, where all of that kind agree.

    /dev/mst/mt4119_pciconf0 tells the kind MT4119 and not the slot.
    """
    found = {}
    by_address = {address: each.options for each in told if (address := bus_id(each.device))}
    for own in adapters:
        options = by_address.get(own.address or "") or by_address.get(_card(own.address, by_address))
        if options is None:
            of_kind = [each.options for each in told if (m := _TYPE.match(each.device)) and m[1].upper() == own.kind.upper()]
            options = of_kind[0] if of_kind and all(each == of_kind[0] for each in of_kind) else None
        if options is not None:
            found[own.name] = options
    return found


def _card(address: str | None, known: Mapping[str, dict[str, str]]) -> str:
    """Return the address of another function of the same card that the tool printed: one firmware serves all ports."""
    slot = (address or "").rpartition(".")[0]
    return next((each for each in known if slot and each.rpartition(".")[0] == slot), "")


def _explain(reader: Reader, ran: Mapping[tuple[str, ...], Ran]) -> None:
    fact = "hcas.firmware_options"
    whys = [answer.why for answer in ran.values()]
    if all(why is Why.NOT_KEPT for why in whys):
        reader.missed(fact, "mlxconfig", Why.NOT_KEPT)
    elif all(why is Why.ABSENT for why in whys):
        reader.lacks(fact, "neither mstconfig nor mlxconfig is there", "install mstflint, and run as root")
    else:
        said = next((a.err or a.out for a in ran.values() if a.why is None), b"").decode("utf-8", "replace").strip()
        first = said.splitlines()[0][:100] if said else "they took too long"
        reader.lacks(fact, f"mstconfig, mlxconfig: {first}", ROOT_HELP)


_CXI_DEVICE: Final = re.compile(r"cxi\d{1,4}", re.ASCII)
"""What the driver calls a Slingshot adapter, and libfabric after it."""
_INTERFACE: Final = re.compile(r"hs[ni]\d{1,4}", re.ASCII)
"""Its Ethernet interface: hsn0 at most sites, hsi0 at Livermore."""
_OMNI_PATH: Final = re.compile(r"hfi1_\d{1,4}", re.ASCII)
_AZURE: Final = {"mlx5_an": ETHERNET, "mlx5_ib": INFINIBAND}
"""Accelerated Networking, which is Ethernet, beside the InfiniBand adapters of an Azure node."""

_LAST_UNICAST: Final = 0xBFFF
"""InfiniBand Architecture Specification 1.4, volume 1, section 4.1.3: higher LIDs are multicast, 0xFFFF is permissive."""
_NONE_YET: Final = 0xFFFF


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
    return machine.model_copy(update={"hcas": hcas, "nics": nics})


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
        found.append(
            Hca(
                name=drivers.get(address) or (nic.name if nic else ""),
                address=address,
                locality=places.get(address) or (card.locality if card else None),
                kind="Slingshot",
                ports=(_port(nic),),
            )
        )
    return tuple(found)


def _is_slingshot(nic: Nic, cards: Mapping[str, PciDevice]) -> bool:
    card = cards.get(nic.address or "")
    if card is not None:
        return layer_of(card.class_code, card.vendor) == SLINGSHOT
    return bool(_CXI_DEVICE.fullmatch(nic.name) or _INTERFACE.fullmatch(nic.name))


def _port(nic: Nic | None) -> Port:
    if nic is None:
        return Port(number=1, link_layer=SLINGSHOT)
    states = {"up": "active", "down": "down"}
    return Port(number=1, state=states.get(nic.state or ""), rate=nic.speed, link_layer=SLINGSHOT, netdev=nic.name)


def _layered(hca: Hca, card: PciDevice | None) -> Hca:
    if hca.ports is None:
        return hca.model_copy(update={"layer": _layer(hca, Port(number=1), card)})
    ports = tuple(port.model_copy(update={"link_layer": _layer(hca, port, card)}) for port in hca.ports)
    return hca.model_copy(update={"ports": ports})


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
    FactSource(
        "slingshot",
        25,
        "Slingshot adapters as their driver shows them: cxi0, the name that libfabric and Cray MPICH know them by.",
        SLINGSHOT_PATHS,
        (),
        collect_slingshot,
    ),
    FactSource(
        "mlxconfig",
        21,
        "Options in the firmware of NVIDIA's adapters, as mlxconfig or mstconfig print them for root.",
        MLXCONFIG_PATHS,
        MLXCONFIG_COMMANDS,
        collect_mlxconfig,
    ),
)
