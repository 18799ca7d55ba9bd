"""The SMBIOS tables as /sys/firmware/dmi holds them (DSP0134: types 0, 1, 2, 3, 4, 16, 17 and 127)."""

import struct
from collections.abc import Iterator

from tests.machines.spec import Dimm, Spec
from tests.machines.tree import Tree

FOLDER = "sys/firmware/dmi/tables"
_UNKNOWN = 0xFFFF


def files(spec: Spec) -> Tree:
    """Return the table and its entry point."""
    table = b"".join(structures(spec))
    return {f"{FOLDER}/DMI": table, f"{FOLDER}/smbios_entry_point": entry_point(len(table))}


def entry_point(size: int) -> bytes:
    """Return the 64-bit entry point of a table, whose bytes add up to 0."""
    point = bytearray(struct.pack("<5sBBBBBBBIQ", b"_SM3_", 0, 24, 3, 3, 0, 1, 0, size, 0x7F000000))
    point[5] = -sum(point) & 255
    return bytes(point)


def structure(kind: int, handle: int, layout: str, *values: int | str | bytes) -> bytes:
    """Return one structure; strings are given in place, numbered, and appended."""
    strings: list[bytes] = []
    fields: list[int | bytes] = []
    for value in values:
        if isinstance(value, str):
            strings.append(value.encode() + b"\0")
        fields.append(len(strings) if isinstance(value, str) else value)
    body = struct.pack(f"<{layout}", *fields)
    return struct.pack("<BBH", kind, 4 + len(body), handle) + body + (b"".join(strings) or b"\0") + b"\0"


def structures(spec: Spec) -> Iterator[bytes]:
    """Yield the structures in the order of their types."""
    dmi = spec.dmi
    yield structure(0, 0, "BBHBBQBBBBBB", dmi.maker, dmi.bios, 0xE800, "01/01/2024", 255, 0x4BF99880, 3, 0x0D, 1, 0, 255, 255)
    yield structure(1, 0x100, "BBBB16sBBB", dmi.maker, dmi.product, 0, "ABC1234", bytes(range(16)), 6, "SKU", 0)
    yield structure(2, 0x200, "BBBBBBBHBB", dmi.maker, dmi.board, "A01", ".ABC1234.", 0, 9, 0, 0x300, 10, 0)
    yield structure(3, 0x300, "BBBBBBBBBIBBBB", dmi.maker, int(dmi.chassis), 0, "ABC1234", 0, 3, 3, 3, 2, 0, 0, 2, 0, 3)
    for package in sorted({core.package for core in spec.cores}):
        yield _processor(spec, package)
    if spec.dimms:
        capacity = sum(dimm.mib for dimm in spec.dimms) << 20
        yield structure(16, 0x1000, "BBBIHHQ", 3, 3, 6, 0x80000000, 0xFFFE, len(spec.dimms), capacity)
    for number, dimm in enumerate(spec.dimms):
        yield _dimm(number, dimm)
    yield structure(127, 0xFEFF, "")


def _processor(spec: Spec, package: int) -> bytes:
    own = [core for core in spec.cores if core.package == package]
    cores, threads = len(own), sum(len(core.pus) for core in own)
    family = 0x6B if spec.processor.amd else 0xB3
    return structure(
        *(4, 0x400 + package, "BBBBQBBHHHBBHHHBBBBBBHHHHH"),
        *(f"CPU{package + 1}", 3, family, spec.model.split()[0], 0x0F8BFBFF << 32, spec.model),
        *(0x89, 100, spec.khz[2] // 1000, spec.khz[1] // 1000, 0x41, 0x06, _UNKNOWN, _UNKNOWN, _UNKNOWN, 0, 0, 0),
        *(min(cores, 255), min(cores, 255), min(threads, 255), 0xFC, family, cores, cores, threads),
    )


def _dimm(number: int, dimm: Dimm) -> bytes:
    """Return a slot: a size of 0x7FFF says that the extended size holds it."""
    short = min(dimm.mib, 0x7FFF)
    width = 64 if dimm.mib else _UNKNOWN
    maker, part = ("Hynix", "HMA82GR7AFR8N-VK") if dimm.mib else ("Not Specified", "NO DIMM")
    return structure(
        *(17, 0x1100 + number, "HHHHHBBBBBHHBBBBBIHHHH", 0x1000, 0xFFFE, width + 8 if dimm.mib else _UNKNOWN, width, short),
        *(9, 0, dimm.locator, f"P{dimm.socket}_BANK", dimm.kind if dimm.mib else 2, 0x2080, dimm.mts, maker),
        *(f"{number:08X}", f"ASSET{number}", part, 2 if dimm.mib else 0, dimm.mib if short == 0x7FFF else 0, dimm.mts),
        *(1200, 1200, 1200),
    )
