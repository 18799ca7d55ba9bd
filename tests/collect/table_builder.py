"""Builds ACPI and SMBIOS tables byte by byte from the specifications, independently of the parsers."""

from collections.abc import Sequence
from struct import pack


def acpi(signature: str, body: bytes, revision: int = 3) -> bytes:
    """Return a table with a right length and checksum (ACPI 6.4, 5.2.6)."""
    head = pack("<4sIBB6s8sI4sI", signature.encode(), 36 + len(body), revision, 0, b"ADVISR", b"TABLES  ", 1, b"TEST", 1)
    whole = bytearray(head + body)
    whole[9] = -sum(whole) & 0xFF
    return bytes(whole)


def local_apic(uid: int, apic_id: int, flags: int = 1) -> bytes:
    """Return a MADT entry of type 0."""
    return pack("<BBBBI", 0, 8, uid, apic_id, flags)


def local_x2apic(uid: int, apic_id: int, flags: int = 1) -> bytes:
    """Return a MADT entry of type 9."""
    return pack("<BBHIII", 9, 16, 0, apic_id, flags, uid)


def gicc(uid: int, mpidr: int, flags: int = 1) -> bytes:
    """Return a MADT entry of type 11."""
    return pack("<BBHIIIIIQQQQIQQ", 11, 80, 0, uid, uid, flags, 0, 23, 0, 0, 0, 0, 0, 0, mpidr) + bytes(4)


def io_apic() -> bytes:
    """Return a MADT entry that is no processor."""
    return pack("<BBBBII", 1, 12, 0, 0, 0xFEC00000, 0)


def madt(*entries: bytes) -> bytes:
    """Return an APIC table."""
    return acpi("APIC", pack("<II", 0xFEE00000, 1) + b"".join(entries))


def srat_apic(apic_id: int, domain: int, flags: int = 1) -> bytes:
    """Return an SRAT entry of type 0."""
    high = (domain >> 8).to_bytes(3, "little")
    return pack("<BBBBIB3sI", 0, 16, domain & 0xFF, apic_id, flags, 0, high, 0)


def srat_memory(domain: int, base: int, size: int, flags: int = 1) -> bytes:
    """Return an SRAT entry of type 1."""
    return pack("<BBIHQQIIQ", 1, 40, domain, 0, base, size, 0, flags, 0)


def srat_x2apic(apic_id: int, domain: int, flags: int = 1) -> bytes:
    """Return an SRAT entry of type 2."""
    return pack("<BBHIIIII", 2, 24, 0, domain, apic_id, flags, 0, 0)


def srat_gicc(uid: int, domain: int, flags: int = 1) -> bytes:
    """Return an SRAT entry of type 3."""
    return pack("<BBIIII", 3, 18, domain, uid, flags, 0)


def srat_initiator(domain: int) -> bytes:
    """Return an SRAT entry of type 5."""
    return pack("<BBBBI16sII", 5, 32, 0, 1, domain, bytes(16), 1, 0)


def srat(*entries: bytes, revision: int = 3) -> bytes:
    """Return an SRAT."""
    return acpi("SRAT", pack("<IQ", 1, 0) + b"".join(entries), revision)


def slit(rows: Sequence[Sequence[int]]) -> bytes:
    """Return a SLIT."""
    return acpi("SLIT", pack("<Q", len(rows)) + b"".join(bytes(row) for row in rows), 1)


def sllbi(
    kind: int, base: int, initiators: Sequence[int], targets: Sequence[int], values: Sequence[int], *, level: int = 0
) -> bytes:
    """Return an HMAT structure of type 1."""
    domains = pack(f"<{len(initiators) + len(targets)}I", *initiators, *targets)
    body = pack("<BBBBIIIQ", level, kind, 0, 0, len(initiators), len(targets), 0, base) + domains
    body += pack(f"<{len(values)}H", *values)
    return pack("<HHI", 1, 0, 8 + len(body)) + body


def memory_proximity(initiator: int, target: int) -> bytes:
    """Return an HMAT structure of type 0."""
    return pack("<HHIHHIIIQQ", 0, 0, 40, 1, 0, initiator, target, 0, 0, 0)


def hmat(*entries: bytes, revision: int = 2) -> bytes:
    """Return an HMAT."""
    return acpi("HMAT", bytes(4) + b"".join(entries), revision)


def structure(kind: int, handle: int, layout: str, *values: int | str) -> bytes:
    """Return an SMBIOS structure (DSP0134, 6.1); a text among the values becomes a numbered string."""
    texts = [value.encode() for value in values if isinstance(value, str)]
    numbers = [texts.index(value.encode()) + 1 if isinstance(value, str) else value for value in values]
    body = pack("<" + layout, *numbers)
    strings = b"".join(text + b"\0" for text in texts) or b"\0"
    return pack("<BBH", kind, 4 + len(body), handle) + body + strings + b"\0"


def bios(vendor: str, release: str, date: str) -> bytes:
    """Return a type 0."""
    return structure(0, 0, "BBHBBQ", vendor, release, 0xE800, date, 255, 8)


def system(maker: str, product: str, edition: str = "Not Specified") -> bytes:
    """Return a type 1."""
    return structure(1, 0x100, "BBBBQQBBB", maker, product, edition, 0, 0, 0, 6, 0, 0)


def board(maker: str, product: str) -> bytes:
    """Return a type 2."""
    return structure(2, 0x200, "BBBB", maker, product, 0, 0)


def processor(
    number: int, model: str = "AMD EPYC 7601 32-Core Processor", cores: int = 32, signature: int = 0x800F12, status: int = 0x41
) -> bytes:
    """Return a type 4 of SMBIOS 3.0."""
    narrow = min(cores, 255)
    wide = (cores, cores, 2 * cores)
    counts = (narrow, narrow, min(2 * cores, 255), 0xFC, 0x6B, *wide)
    return structure(
        4,
        0x400 + number,
        "BBBBQBBHHHBBHHHBBBBBBHHHHH",
        *(f"CPU{number + 1}", 3, 0x6B, "AMD", signature, model, 0x89, 100, 3200, 2200, status, 6),
        *(0xFFFF, 0xFFFF, 0xFFFF, "Not Specified", 0, 0),
        *counts,
    )


def array(handle: int = 0x1000, use: int = 3) -> bytes:
    """Return a type 16."""
    return structure(16, handle, "BBBIHHQ", 3, use, 6, 0x80000000, 0xFFFE, 32, 4 << 40)


def dimm(
    number: int,
    locator: str,
    bank: str = "Not Specified",
    *,
    size: int = 16384,
    extended: int = 0,
    kind: int = 26,
    rated: int = 2666,
    configured: int = 2666,
    width: int = 64,
    part: str = "HMA82GR7AFR8N-VK",
    parent: int = 0x1000,
    technology: int = 3,
    fast: tuple[int, int] = (0, 0),
) -> bytes:
    """Return a type 17 of SMBIOS 3.3; sizes and speeds are raw, as the table has them."""
    return structure(
        17,
        0x1100 + number,
        "HHHHHBBBBBHHBBBBBIHHHHBHBHHHHQQQQII",
        *(parent, 0xFFFE, 72, width, size, 9, 0, locator, bank, kind, 0x2080, rated, "Hynix Semiconductor", "5A000000", "ASSET"),
        *(part, 2, extended, configured, 1200, 1200, 1200, technology, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        *fast,
    )


def end() -> bytes:
    """Return a type 127."""
    return structure(127, 0x7F00, "")


def entry_point(table: bytes, major: int = 3, minor: int = 3) -> bytes:
    """Return a 64-bit entry point (5.2.2) for a table at byte 32, as in a dump of dmidecode."""
    head = bytearray(pack("<5sBBBBBBBIQ", b"_SM3_", 0, 24, major, minor, 0, 1, 0, len(table), 32))
    head[5] = -sum(head) & 0xFF
    return bytes(head)
