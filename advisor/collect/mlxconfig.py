"""Options in the firmware of NVIDIA's adapters, as mlxconfig or mstconfig print them for root."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from advisor.collect.gpu import bus_id
from advisor.collect.infiniband import CLASS
from advisor.collect.pci_path import address_of
from advisor.collect.reader import ROOT_HELP, Reader
from advisor.host.base import Host, Ran, Why
from advisor.model.hardware.devices import Hca
from advisor.model.hardware.machine import Machine
from advisor.model.value import is_name

# Without a device each asks all of them; mstconfig, of the free mstflint, names them by their PCI address.
MSTCONFIG = ("mstconfig", "query")
MLXCONFIG = ("mlxconfig", "query")

PATHS = (f"{CLASS}/*@", f"{CLASS}/*/device@", f"{CLASS}/*/hca_type")
COMMANDS = (MSTCONFIG, MLXCONFIG)
RANK = 21

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
_DEVICE = re.compile(r"\s*(?:PCI )?[Dd]evice:\s+(\S+)")
_OPTION = re.compile(r"[\s*]*([A-Z][A-Z0-9_]{2,60})\s+(\S.*)")
_TYPE = re.compile(r"/dev/mst/(mt\d{4,6})_", re.ASCII)


class Told(NamedTuple):
    """What the tool printed of one device."""

    device: str
    options: dict[str, str]


class Own(NamedTuple):
    """An adapter of this machine."""

    name: str
    address: str | None
    kind: str


def collect(host: Host) -> Machine:
    """Return the adapters with their firmware's options; nothing where the tools are absent or nobody is root."""
    reader = Reader(host)
    adapters = [own for name in filter(is_name, host.list(CLASS)) if (own := _own(reader, name)).kind.upper().startswith("MT")]
    if not adapters:
        return Machine()
    ran: dict[tuple[str, ...], Ran] = {argv: host.run(argv, _PATIENCE) for argv in COMMANDS}
    for argv, answer in ran.items():
        found = matched(adapters, tuple(devices((answer.text or "").splitlines())))
        if found:
            reader.found("hcas.firmware_options", " ".join(argv))
            return Machine(
                hcas=tuple(Hca(name=name, firmware_options=options) for name, options in found.items()), sources=reader.sources
            )
    _explain(reader, ran)
    return Machine(gaps=reader.gaps)


def _own(reader: Reader, name: str) -> Own:
    place = reader.host.real(f"{CLASS}/{name}/device")
    return Own(name, address_of(place) if place else None, reader.text(f"{CLASS}/{name}/hca_type") or "")


def devices(lines: Iterable[str]) -> Iterator[Told]:
    """Yield each device with the options that are kept, as they are at the next boot: the last column."""
    told = None
    for line in lines:
        device, option = _DEVICE.match(line), _OPTION.match(line)
        if device:
            yield from [told] if told and told.options else []
            told = Told(device[1], {})
        elif option and told and option[1] in KEPT:
            told.options[option[1]] = _word(option[2].split()[-1])
    if told and told.options:
        yield told


def _word(text: str) -> str:
    """Return ``True`` of ``True(1)``, ``per_mkey`` of ``per_mkey(0)``; a number stays one."""
    match = re.fullmatch(r"([\w.-]{1,40})\(\d{1,10}\)", text, re.ASCII)
    return match[1] if match else text[:40]


def matched(adapters: Iterable[Own], told: tuple[Told, ...]) -> Mapping[str, dict[str, str]]:
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
