"""What an anonymised capture keeps of binary tables (SMBIOS, PCI, ACPI), and of what its source declares."""

import re
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import TYPE_CHECKING

from advisor.machine.hosts.base import PathPatterns, PublicText
from advisor.machine.privacy.pseudonyms import REMOVED

if TYPE_CHECKING:
    from advisor.machine.privacy.allowed_files import Keeper, Mask


FILL = b"X"

# The strings that may stay, by the offset that names them (SMBIOS 3.7, DSP0134): vendors, products, versions, places.
_STRINGS = {
    0: (0x04, 0x05, 0x08),
    1: (0x04, 0x05, 0x06),
    2: (0x04, 0x05, 0x06),
    3: (0x04,),
    4: (0x04, 0x07, 0x10),
    16: (),
    17: (0x10, 0x11, 0x17, 0x1A),
    127: (),
}
"""Of any other type, the boards' own among them (128 and above), only number, length and handle stay."""
_BYTES = {0: 0x1A, 1: 0x1B, 2: 0x0F, 3: 0x0D, 4: 0x32, 16: 0x17, 17: 0x5C}
"""Bytes of each structure in the specification: a board may append what it likes. In type 3 the vendor's own begin at 0x0D."""
_SYSTEM, _UUID = 1, slice(0x08, 0x18)
_END_OF_TABLE = 127
_SAYS_NOTHING = frozenset(
    (
        b"",
        b"default string",
        b"not specified",
        b"none",
        b"n/a",
        b"unknown",
        b"to be filled by o.e.m.",
        b"not available",
        b"no dimm",
    )
)

_CAPABILITIES = {0x01: 8, 0x05: 24, 0x10: 60, 0x11: 12}
"""Capabilities that stay, and their length: power management, MSI, PCI Express, MSI-X (PCI Express Base 6.0, 7.5 and 7.7)."""
_EXTENDED = {
    0x01: 0x48,
    0x02: 0x10,
    0x04: 0x10,
    0x0D: 8,
    0x0E: 8,
    0x0F: 8,
    0x10: 0x40,
    0x13: 8,
    0x15: 0x40,
    0x17: 8,
    0x18: 8,
    0x19: 0x2C,
    0x1B: 8,
    0x1D: 0x5C,
    0x1E: 0x14,
    0x1F: 12,
    0x25: 12,
    0x26: 0x40,
    0x27: 0x48,
    0x2A: 0x40,
}
"""Extended capabilities that stay: errors, channels, power, ACS, ARI, ATS, SR-IOV, latencies, links; not number 3, the serial
number made from a MAC address, and none that vendors define (0x0B, 0x23)."""
_HEADER, _EXTENDED_START = 0x40, 0x100


def blank_smbios(table: bytes, tells: Callable[[str], bool] = lambda _: False) -> bytes:
    """Return a table of SMBIOS structures in which only what is named above stands; lengths and numbers stay.

    A string that ``tells`` who the machine is goes wherever it stands.
    """
    data, secrets, position = bytearray(table), set[bytes](), 0
    while position + 4 <= len(data):
        kind, length = data[position], data[position + 1]
        if length < 4 or position + length > len(data):
            break
        strings, end = _strings(data, position + length)
        secrets |= _blank_structure(data, position, strings, tells)
        position = end
        if kind == _END_OF_TABLE:
            break
    rest = min(position + (4 if position + 4 <= len(data) and data[position] != _END_OF_TABLE else 0), len(data))
    data[rest:] = bytes(len(data) - rest)
    return _everywhere(bytes(data), secrets)


def _blank_structure(
    data: bytearray, position: int, strings: list[slice], tells: Callable[[str], bool] = lambda _: False
) -> set[bytes]:
    """Blank a structure's bytes and strings but those that may stay; return the strings that went."""
    kind, length = data[position], data[position + 1]
    kept = _BYTES.get(kind, 4)
    named = {data[position + offset] for offset in _STRINGS.get(kind, ()) if offset < length}
    if kind == _SYSTEM and length >= _UUID.stop:
        data[position + _UUID.start : position + _UUID.stop] = FILL * 16
    if length > kept:
        data[position + kept : position + length] = bytes(length - kept)
    gone = set()
    for number, place in enumerate(strings, 1):
        text = bytes(data[place])
        if text.strip().lower() not in _SAYS_NOTHING and (number not in named or tells(text.decode("utf-8", "replace"))):
            gone.add(_blank(data, place))
    return gone


def _strings(data: bytearray, start: int) -> tuple[list[slice], int]:
    """Return where the strings of a structure lie, and where the next structure begins."""
    strings = []
    while start < len(data) and data[start]:
        end = data.find(0, start)
        end = len(data) if end < 0 else end
        strings.append(slice(start, end))
        start = end + 1
    return strings, start + (1 if strings else 2)


def _blank(data: bytearray, place: slice) -> bytes:
    """Overwrite a string and return what it was."""
    secret = bytes(data[place])
    data[place] = FILL * len(secret)
    return secret


def _everywhere(data: bytes, secrets: set[bytes]) -> bytes:
    """Return the data without the secrets that vendors repeat in structures of their own; short ones could be anything."""
    for secret in sorted(secrets, key=len, reverse=True):
        word = secret.strip()
        if len(word) >= 5 and len(set(word)) > 2 and any(48 <= byte <= 57 for byte in word):
            data = data.replace(word, FILL * len(word))
    return data


def smbios_strings(table: bytes) -> set[bytes]:
    """Return the strings of a table that do not stay: what they say may stand elsewhere too."""
    data, found, position = bytearray(table), set[bytes](), 0
    while position + 4 <= len(data):
        length = data[position + 1]
        if length < 4 or position + length > len(data):
            break
        strings, end = _strings(data, position + length)
        found |= _blank_structure(data, position, strings)
        position = end
    return found


def blank_pci_config(config: bytes) -> bytes:
    """Return a PCI configuration space with its header and the capabilities named above, all else zero."""
    kept = bytearray(len(config))
    kept[:_HEADER] = config[:_HEADER]
    for start, size in (*_capabilities(config), *_extended(config)):
        kept[start : start + size] = config[start : start + size]
    return bytes(kept)


def _capabilities(config: bytes) -> list[tuple[int, int]]:
    """Return where each capability lies and how much of it stays: of one not named, its number and the next one's place."""
    found: list[tuple[int, int]] = []
    place = config[0x34] & 0xFC if len(config) > _HEADER and config[0x0E] & 0x7F in (0, 1) else 0
    while _HEADER <= place < min(len(config) - 1, _EXTENDED_START) and place not in dict(found):
        size = min(_CAPABILITIES.get(config[place], 2), _EXTENDED_START - place)
        found.append((place, size))
        place = config[place + 1] & 0xFC
    return _apart(found)


def _extended(config: bytes) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    place = _EXTENDED_START
    while _EXTENDED_START <= place <= len(config) - 4 and place not in dict(found):
        header = int.from_bytes(config[place : place + 4], "little")
        found.append((place, _EXTENDED.get(header & 0xFFFF, 4)))
        place = header >> 20 & 0xFFC
    return _apart(found)


def _apart(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces, each ending where the next one begins."""
    starts = sorted(start for start, _ in found)
    following = dict(pairwise(starts))
    return [(start, min(size, following.get(start, start + size) - start)) for start, size in found]


def blank_acpi(table: bytes, signature: str) -> bytes:
    """Return an ACPI table without the names of who made it (ACPI 6.4, 5.2.6); its checksum holds if it held."""
    if len(table) < 36 or table[:4] != signature.encode():
        return bytes(len(table))
    data = bytearray(table)
    data[10:36] = b"ADVISR" + b"REMOVED " + bytes(4) + b"ADVR" + bytes(4)
    data[9] = (data[9] + sum(table) - sum(data)) & 0xFF
    return bytes(data)


def open_or_not(mask: "Mask", text: str) -> str:
    """Keep whether NVIDIA's kernel module is the open one, not who built it where."""
    del mask
    kind = "Open Kernel Module" if "Open Kernel Module" in text else "Kernel Module"
    return f"NVRM version: NVIDIA UNIX {kind}\n" if "NVRM" in text else ""


class PublicLines:
    """What the sources of facts themselves say may be given away of their files and commands."""

    def __init__(self, public: Collection[PublicText]) -> None:
        self._files: list[tuple[PathPatterns, re.Pattern[str]]] = []
        self._commands: dict[tuple[str, ...], re.Pattern[str]] = {}
        for of, lines in public:
            if isinstance(of, str):
                self._files.append((PathPatterns((of,)), re.compile(lines, re.ASCII)))
            else:
                self._commands[of] = re.compile(lines, re.ASCII)
        self._any = PathPatterns(of for of, _ in public if isinstance(of, str))

    def of_file(self, path: str) -> "Keeper | None":
        """Return what is kept of a file; None where no source says it."""
        if not self._any.covers(path):
            return None
        return next((_lines(allowed) for patterns, allowed in self._files if patterns.covers(path)), None)

    def of_command(self, argv: tuple[str, ...]) -> "Keeper | None":
        """Return what is kept of a command's answer; None where no source says it."""
        return _lines(self._commands[argv]) if argv in self._commands else None


def _lines(allowed: re.Pattern[str]) -> "Keeper":
    """Return what keeps the lines that match whole; the names that the machine goes by are taken out of them too."""

    def keep(mask: "Mask", text: str) -> str:
        kept = "".join(f"{mask.text(line)}\n" for line in text.splitlines() if allowed.fullmatch(line.strip()))
        return kept or (f"{REMOVED}\n" if text.strip() else "")

    return keep
