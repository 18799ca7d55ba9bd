"""Who made the machine, and what processors and memory modules are in it: SMBIOS, or what of it needs no root."""

import re

from advisor.collect.dimm_slots import Board, channels_of
from advisor.collect.edac_dimms import FIELDS, LABELS, edac_dimms
from advisor.collect.reader import Reader
from advisor.collect.smbios import Structure, clean, dimms, models, processors, structures, version
from advisor.collect.socket_memory import placed, summed, unknown
from advisor.errors import BadTable
from advisor.host.base import Host, Why
from advisor.model.hardware.firmware import Firmware
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.memory import Memory
from advisor.model.quantity import iso_date

TABLE = "/sys/firmware/dmi/tables/DMI"
ENTRY_POINT = "/sys/firmware/dmi/tables/smbios_entry_point"
CPUINFO = "/proc/cpuinfo"
ID = "/sys/class/dmi/id"

_IDS = {
    "system_vendor": ("sys_vendor", 1, 4),
    "product": ("product_name", 1, 5),
    "product_version": ("product_version", 1, 6),
    "board_vendor": ("board_vendor", 2, 4),
    "board": ("board_name", 2, 5),
    "bios_vendor": ("bios_vendor", 0, 4),
    "bios_version": ("bios_version", 0, 5),
    "bios_date": ("bios_date", 0, 8),
}
"""For each fact of the firmware: the kernel's file, and the type and offset of the structure it comes from."""

PATHS = (
    TABLE,
    ENTRY_POINT,
    CPUINFO,
    *(f"{ID}/{file}" for file, _, _ in _IDS.values()),
    *(LABELS.replace("dimm_label", field) for field in FIELDS),
)
COMMANDS = ()
RANK = 30

UPDATE_HELP = "update the firmware; if that does not help, report it with the output of advisor capture"


def collect(host: Host) -> Machine:
    """Return the firmware's names, the processors and the memory modules."""
    reader = Reader(host)
    found, why, cure = _structures(reader)
    firmware = _firmware(reader, found or ())
    memory = _edac(reader, why, cure) if found is None else _memory(reader, found, firmware)
    return Machine(firmware=firmware, memory=memory, sources=reader.sources, gaps=reader.gaps)


def _structures(reader: Reader) -> tuple[tuple[Structure, ...] | None, str, str]:
    """Return the structures, or None with the reason and the cure."""
    reading = reader.host.read(TABLE)
    if reading.why:
        told = Reader(reader.host)
        told.missed("memory", TABLE, reading.why)
        return None, told.gaps[0].why, told.gaps[0].help
    try:
        return structures(reading.data), "", ""
    except BadTable as error:
        return None, str(error.within(TABLE)), UPDATE_HELP


def _firmware(reader: Reader, found: tuple[Structure, ...]) -> Firmware | None:
    """Return the names, as the kernel's files give them or else the structures themselves."""
    first = {s.kind: s for s in reversed(found)}
    facts: dict[str, str | None] = {}
    for fact, (file, kind, at) in _IDS.items():
        text = clean(reader.text(f"{ID}/{file}"))
        if text is not None:
            reader.found(f"firmware.{fact}", f"{ID}/{file}")
        elif kind in first and (text := first[kind].text(at)) is not None:
            reader.found(f"firmware.{fact}", TABLE)
        facts[fact] = text
    facts["bios_date"] = iso_date(facts["bios_date"])
    entry_point = reader.host.read(ENTRY_POINT)
    facts["smbios"] = None if entry_point.why else version(entry_point.data)
    if not any(facts.values()):
        reader.missed("firmware", ID, reader.host.read(f"{ID}/sys_vendor").why or Why.ABSENT)
        return None
    return Firmware(**facts)


def _memory(reader: Reader, found: tuple[Structure, ...], firmware: Firmware | None) -> Memory:
    packages = processors(found)
    maker = firmware.system_vendor if firmware else None
    board = Board(maker=maker, sockets=len(packages) or None, channels=channels_of(models(found) or _kernels_model(reader)))
    slots = placed(dimms(found), board)
    sums = summed(slots, packages)
    for gap in unknown(slots, sums):
        reader.lacks(gap.fact, gap.why, gap.help)
    for fact in ("dimms", "processors", *(("sockets",) if sums else ())):
        reader.found(f"memory.{fact}", TABLE)
    return Memory(dimms=slots, sockets=sums, processors=packages)


def _kernels_model(reader: Reader) -> frozenset[tuple[int, int]]:
    """Return family and model as the kernel tells them, for firmware that leaves them out."""
    text = reader.text(CPUINFO) or ""
    family, model = (re.search(rf"^{name}\s*:\s*(\d{{1,5}})$", text, re.MULTILINE) for name in ("cpu family", "model"))
    return frozenset([(int(family[1]), int(model[1]))] if family and model else [])


def _edac(reader: Reader, why: str, cure: str) -> Memory | None:
    modules = edac_dimms(reader.host)
    if modules is None:
        reader.lacks("memory", why, cure)
        return None
    for fact in ("memory.sockets", "memory.processors"):
        reader.lacks(fact, why, cure)
    reader.found("memory.dimms", LABELS)
    return Memory(dimms=placed(modules, Board()))
