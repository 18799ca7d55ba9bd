"""What qemu has no option for: the order of the processors in the MADT, and SMBIOS structures of its own."""

import struct
from collections.abc import Iterable, Iterator

from tests.emulated.servers import Server, cpus
from tests.machines.acpi import table
from tests.machines.smbios import structure

MADT_IN_INITRD = "kernel/firmware/acpi/apic.aml"
"""Where Linux looks for a table that is to replace the firmware's (CONFIG_ACPI_TABLE_UPGRADE)."""
QEMU = (b"BOCHS ", b"BXPC    ", 9)
"""The maker's names, which must be the firmware's, and a revision above the firmware's."""
_UNKNOWN = 0xFFFF


def madt(server: Server) -> bytes:
    """Return a MADT that lists the processors in the order in which the operating system shall number them."""
    body = struct.pack("<II", 0xFEE00000, 1)
    for cpu in cpus(server):
        body += struct.pack("<BBBBI", 0, 8, _uid(server, cpu.socket, cpu.group, cpu.core, cpu.thread), cpu.apic, 1)
    body += struct.pack("<BBBBII", 1, 12, 0, 0, 0xFEC00000, 0)
    for irq, line, flags in ((0, 2, 0), (5, 5, 13), (9, 9, 13), (10, 10, 13), (11, 11, 13)):  # as q35 wires them
        body += struct.pack("<BBBBIH", 2, 10, 0, irq, line, flags)
    return table("APIC", 3, body + struct.pack("<BBBHB", 4, 6, 255, 0, 1), QEMU)


def _uid(server: Server, socket: int, group: int, core: int, thread: int) -> int:
    """Return qemu's own number of a place, used or not."""
    return ((socket * server.groups + group) * server.places + core) * server.threads + thread


def cpio(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive in the form that an initrd has, padded to 512 bytes."""
    archive = b""
    for number, (path, data) in enumerate([*files, ("TRAILER!!!", b"")]):
        name = path.encode() + b"\0"
        fields = (number, 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + "".join(f"{field:08x}" for field in fields).encode() + name
        archive += _padded(head, 4) + _padded(data, 4)
    return _padded(archive, 512)


def _padded(data: bytes, unit: int) -> bytes:
    return data.ljust((len(data) + unit - 1) // unit * unit, b"\0")


def structures(server: Server) -> Iterator[bytes]:
    """Yield the BIOS, the processors, the memory array and its DIMMs (SMBIOS types 0, 4, 16 and 17)."""
    yield structure(
        *(0, 0, "BBHBBQBBBBBB", server.maker, server.bios, 0xE800, "06/10/2022", 255, 0x4BF99880, 3, 0x0D, 15, 0, 255, 255)
    )
    for socket in range(server.sockets):
        yield _processor(server, socket)
    yield structure(16, 0x1000, "BBBIHHQ", 3, 3, 6, 0x80000000, 0xFFFE, 32, 4 << 40)
    for number in range(server.dimms):
        yield _dimm(server, number)


def _processor(server: Server, socket: int) -> bytes:
    cores = server.groups * server.cores
    threads = cores * server.threads
    family = 0x6B if server.amd else 0xB3
    return structure(
        *(4, 0x400 + socket, "BBBBQBBHHHBBHHHBBBBBBHHHHH"),
        *(f"CPU{socket + 1}", 3, family, server.model.split()[0], 0x800F12, server.model, 0x89, 100, 3200, 2200, 0x41, 0x06),
        *(_UNKNOWN, _UNKNOWN, _UNKNOWN, "Not Specified", "Not Specified", "Not Specified"),
        *(cores, cores, threads, 0xFC, family, cores, cores, threads),
    )


def _dimm(server: Server, number: int) -> bytes:
    bank = "AB"[number * server.sockets // server.dimms]
    return structure(
        *(17, 0x1100 + number, "HHHHHBBBBBHHBBBBBIHHHH", 0x1000, 0xFFFE, 72, 64, 16384, 9, 0, f"{bank}{number % 8 + 1}"),
        *("Not Specified", 26, 0x2080, server.speed, "Hynix Semiconductor", f"5A{number:06X}", f"ASSET{number}"),
        *("HMA82GR7AFR8N-VK", 2, 0, server.speed, 1200, 1200, 1200),
    )
