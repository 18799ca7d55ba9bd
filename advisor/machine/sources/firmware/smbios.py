"""The SMBIOS table as bytes into structures, and structures into processors and memory slots (DSP0134 3.7)."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address
from struct import unpack_from
from typing import Final, NamedTuple

from advisor.errors import BadTable
from advisor.machine.memory import Dimm, Processor

LARGEST = 4 << 20
"""Bytes; real tables have at most some ten thousand."""

_END_OF_TABLE = 127
_SYSTEM_MEMORY = 3
_CENTRAL_PROCESSOR = 3

# 7.18.2, and 3.9 for the last: the words are those that dmidecode prints.
_KINDS: Final = {
    0x0F: "SDRAM",
    0x12: "DDR",
    0x13: "DDR2",
    0x14: "DDR2 FB-DIMM",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x1F: "Logical non-volatile device",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
    0x25: "MRDIMM",
}

# 7.18.6: these keep their content without power and run at another speed than the DRAM beside them.
_PERSISTENT: Final = {5: "NVDIMM-F", 6: "NVDIMM-P", 7: "Optane"}

_PLACEHOLDERS: Final = frozenset(
    (
        "",
        "0",
        "default string",
        "empty",
        "n/a",
        "no dimm",
        "none",
        "not applicable",
        "not available",
        "not provided",
        "not specified",
        "oem",
        "super server",
        "system manufacturer",
        "system product name",
        "system version",
        "to be filled by o.e.m",
        "to be filled by oem",
        "undefined",
        "unknown",
    )
)
"""What boards say when their vendor said nothing."""


class Structure(NamedTuple):
    """One structure: its fixed part by offsets as in the specification, and its strings."""

    kind: int
    handle: int
    fixed: bytes
    strings: tuple[str, ...]

    def number(self, at: int, size: int) -> int | None:
        """Return the number at an offset, or None where the structure is of an older version and ends before."""
        part = self.fixed[at : at + size]
        return int.from_bytes(part, "little") if len(part) == size else None

    def text(self, at: int) -> str | None:
        """Return the string that the byte at an offset names, or None where it names none or says nothing."""
        number = self.number(at, 1)
        return clean(self.strings[number - 1]) if number and number <= len(self.strings) else None


def clean(text: str | None) -> str | None:
    """Return the text without white space around it; None for a placeholder such as ``To Be Filled By O.E.M.``."""
    word = "".join(c if c.isprintable() else "." for c in (text or "").strip().strip("\0").strip())
    return None if word.rstrip(".").lower() in _PLACEHOLDERS else word


def structures(data: bytes) -> tuple[Structure, ...]:
    """Return the structures up to the end-of-table marker, or raise where one contradicts itself or there is none (6.1)."""
    if len(data) > LARGEST:
        raise BadTable(f"{len(data)} bytes, more than any real table")
    found: list[Structure] = []
    at = 0
    while at < len(data) and any(data[at : at + 4]):  # four zeros are what fills the room behind some tables
        kind, length, handle = _head(data, at)
        if kind == _END_OF_TABLE:
            break
        end = data.find(b"\0\0", at + length)
        if end < 0:
            raise BadTable(f"structure at byte {at}: its strings do not end")
        strings = data[at + length : end].split(b"\0") if end > at + length else []
        texts = tuple(string.decode("utf-8", "replace") for string in strings)
        found.append(Structure(kind, handle, data[at : at + length], texts))
        at = end + 2
    if not found:
        raise BadTable("holds no structure")
    return tuple(found)


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    if len(data) - at < 4:
        raise BadTable(f"structure at byte {at}: only {len(data) - at} bytes are left")
    kind, length, handle = unpack_from("<BBH", data, at)
    if length < 4:
        raise BadTable(f"structure at byte {at} is {length} bytes long")
    if length > len(data) - at:
        raise BadTable(f"structure at byte {at} is {length} bytes long, {len(data) - at} are left")
    return kind, length, handle


def version(entry_point: bytes) -> str | None:
    """Return the version that an entry point names (``3.3``), or None if it is none (5.2)."""
    at = {b"_SM3_": 7, b"_SM_": 6}.get(entry_point[:5] if entry_point[:4] == b"_SM3" else entry_point[:4])
    if at is None or len(entry_point) < at + 2:
        return None
    return f"{entry_point[at]}.{entry_point[at + 1]}"


def processors(found: tuple[Structure, ...]) -> tuple[Processor, ...]:
    """Return the sockets for central processors, in the order of the table (type 4)."""
    return tuple(_processor(s) for s in sockets(found))


def sockets(found: tuple[Structure, ...]) -> tuple[Structure, ...]:
    """Return the structures of the central processors (type 4)."""
    return tuple(s for s in found if s.kind == 4 and s.number(5, 1) == _CENTRAL_PROCESSOR)


def models(found: tuple[Structure, ...]) -> frozenset[tuple[int, int]]:
    """Return family and model of the populated x86 sockets, from CPUID's leaf 1 EAX (7.5.3.2)."""
    numbers = (s.number(8, 4) for s in sockets(found) if _populated(s))
    return frozenset(_model(number) for number in numbers if number)


def _model(signature: int) -> tuple[int, int]:
    family, model = signature >> 8 & 0xF, signature >> 4 & 0xF
    if family in (6, 15):
        model |= signature >> 12 & 0xF0
    return family + (signature >> 20 & 0xFF if family == 15 else 0), model


def _processor(s: Structure) -> Processor:
    populated = _populated(s)
    megahertz = s.number(0x14, 2)
    return Processor(
        socket=s.text(4) or f"handle 0x{s.handle:04X}",
        populated=populated,
        model=s.text(0x10) if populated else None,
        cores=_count(s, 0x23, 0x2A),
        cores_enabled=_count(s, 0x24, 0x2C),
        threads=_count(s, 0x25, 0x2E),
        max_hz=megahertz * 10**6 if megahertz else None,
    )


def _populated(s: Structure) -> bool:
    return bool((s.number(0x18, 1) or 0) & 0x40)


def _count(s: Structure, narrow: int, wide: int) -> int | None:
    """Return a count of cores: a byte that says 0xFF sends to a word, 0 means not known (7.5.6)."""
    count = s.number(narrow, 1)
    if count == 0xFF:
        count = s.number(wide, 2)
        return None if count == 0xFFFF else count or None
    return count or None


def dimms(found: tuple[Structure, ...]) -> tuple[Dimm, ...]:
    """Return the slots for system memory, empty ones too (type 17); not those of flash or video memory."""
    uses = {s.handle: s.number(5, 1) for s in found if s.kind == 16}
    slots = (s for s in found if s.kind == 17 and uses.get(s.number(4, 2) or 0, _SYSTEM_MEMORY) == _SYSTEM_MEMORY)
    return tuple(_dimm(s) for s in slots)


def _dimm(s: Structure) -> Dimm:
    size = _size(s)
    slot = Dimm(locator=s.text(0x10) or f"handle 0x{s.handle:04X}", bank=s.text(0x11), size=size)
    if size == 0:
        return slot
    return slot.model_copy(
        update={
            "kind": _PERSISTENT.get(s.number(0x28, 1) or 0) or _KINDS.get(s.number(0x12, 1) or 0),
            "rated": _speed(s, 0x15, 0x54),
            "configured": _speed(s, 0x20, 0x58),
            "width": _width(s),
            "ranks": (s.number(0x1B, 1) or 0) & 0x0F or None,
            "maker": s.text(0x17),
            "part": s.text(0x1A),
        }
    )


def _size(s: Structure) -> int | None:
    """Return bytes: 0 for an empty slot, None for 0xFFFF; the top bit means KiB, 0x7FFF sends to MiB in 31 bits (7.18)."""
    size = s.number(0x0C, 2)
    if size is None or size == 0xFFFF:
        return None
    if size == 0x7FFF:
        extended = s.number(0x1C, 4)
        return None if extended is None else (extended & 0x7FFFFFFF) << 20
    return (size & 0x7FFF) << (10 if size & 0x8000 else 20)


def _speed(s: Structure, narrow: int, wide: int) -> int | None:
    """Return transfers a second. Before 3.1 the word was said to be MHz, but the number was the same (7.18.4)."""
    speed = s.number(narrow, 2)
    if speed == 0xFFFF:
        speed = (s.number(wide, 4) or 0) & 0x7FFFFFFF
    return speed * 10**6 if speed else None


def _width(s: Structure) -> int | None:
    """Return data bits. Some boards count ECC among them, but no DRAM module has 72, 80 or 40."""
    width = s.number(0x0A, 2)
    if not width or width == 0xFFFF:
        return None
    return {72: 64, 80: 64, 40: 32}.get(width, width)


_HOST_INTERFACE, _NETWORK, _REDFISH_OVER_IP = 42, 0x40, 4
_IPV4, _IPV6 = 1, 2


def redfish_addresses(found: Iterable[Structure]) -> tuple[str, ...]:
    """Return where the node's own BMC serves Redfish, HOST:PORT: the host interfaces of type 42 (DSP0134 7.43, DSP0270 8.1)."""
    records = (each for structure in found if structure.kind == _HOST_INTERFACE for each in _protocols(structure.fixed))
    return tuple(address for kind, data in records if kind == _REDFISH_OVER_IP and (address := _address(data)))


def _protocols(fixed: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the protocol records of a network host interface: each its type, and its data."""
    if len(fixed) < 6 or fixed[4] != _NETWORK:
        return
    at = 6 + fixed[5]
    count, at = (fixed[at] if at < len(fixed) else 0), at + 1
    for _ in range(count):
        if at + 2 > len(fixed) or at + 2 + fixed[at + 1] > len(fixed):
            return
        yield fixed[at], fixed[at + 2 : at + 2 + fixed[at + 1]]
        at += 2 + fixed[at + 1]


def _address(data: bytes) -> str | None:
    """Return the service's address of a record of Redfish over IP."""
    if len(data) < 86 or data[51] not in (_IPV4, _IPV6):
        return None
    address = IPv4Address(data[52:56]) if data[51] == _IPV4 else IPv6Address(data[52:68])
    port = int.from_bytes(data[84:86], "little") or 443
    if address.is_unspecified:
        return None
    host = f"[{address}]" if data[51] == _IPV6 else str(address)
    return host if port == 443 else f"{host}:{port}"
