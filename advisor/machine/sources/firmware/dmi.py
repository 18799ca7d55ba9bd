"""Who made the machine, its processors and memory modules: SMBIOS, or what of it needs no root (EDAC's modules)."""

import re
from posixpath import dirname

from advisor.errors import BadTable
from advisor.machine.firmware import Firmware
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Machine
from advisor.machine.memory import Dimm, Memory
from advisor.machine.sources.firmware.dimm_slots import Board, channels_of, missing_sums, placed, summed
from advisor.machine.sources.firmware.smbios import Structure, clean, dimms, models, processors, structures, version
from advisor.machine.sources.reader import FactSource, Reader
from advisor.machine.value import MIB, iso_date, number

LABELS = "/sys/devices/system/edac/mc/mc*/dimm*/dimm_label"
FIELDS = ("dimm_label", "dimm_location", "dimm_mem_type", "size")

_KIND = re.compile(r"(Low-Power-)?((?:LP)?DDR\d?|HBM\d?)", re.ASCII)


def edac_dimms(host: Host) -> tuple[Dimm, ...] | None:
    """Return the modules, or None where there is no EDAC or it lists ranks instead.

    The drivers that count chip-select rows (``csrow 0 channel 1``: amd64_edac) list each rank of a module by itself.
    """
    folders = [dirname(path) for path in expand(host, LABELS)]
    found = [_dimm(host, folder) for folder in folders]
    modules = tuple(dimm for dimm in found if dimm)
    return modules if modules and len(modules) == len(found) else None


def _dimm(host: Host, folder: str) -> Dimm | None:
    label, location, kind, size = ((host.read(f"{folder}/{field}").text or "").strip() for field in FIELDS)
    megabytes = number(size)
    if "csrow" in location or megabytes is None or not 0 < megabytes < 1 << 30:
        return None
    match = _KIND.search(kind)
    word = f"{'LP' if match[1] else ''}{match[2]}" if match else None
    return Dimm(locator=clean(label) or folder.rpartition("/")[2], size=megabytes * MIB, kind=word)


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
    for gap in missing_sums(slots, sums):
        reader.lacks(gap.fact, gap.why, gap.help)
    for fact in ("dimms", "processors", *(("sockets",) if sums else ())):
        reader.found(f"memory.{fact}", TABLE)
    return Memory(dimms=slots, sockets=sums, processors=packages)


def _kernels_model(reader: Reader) -> frozenset[tuple[int, int]]:
    """Return family and model as the kernel reports them, for firmware that leaves them out."""
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


SOURCES = (
    FactSource(
        "dmi",
        30,
        "Who made the machine, and what processors and memory modules are in it: SMBIOS, or what of it needs no root.",
        PATHS,
        (),
        collect,
    ),
)
