"""Base units inside: bytes, hertz, bytes per second, seconds. Texts of the kernel and of firmware are read here, once."""

import re
from datetime import date

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

_SIZE = re.compile(r"\s*(\d{1,15})\s*([kmgt]?)i?b?\s*", re.IGNORECASE | re.ASCII)
_STEP = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1 << 40}


def size(text: str) -> int | None:
    """Return the bytes that ``32K``, ``16384 kB`` or ``8 GB`` means to the kernel (powers of two), or None."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _STEP[match[2].lower()] if match else None


def number(text: str | None) -> int | None:
    """Return the whole number (decimal, or hexadecimal with 0x) that a sysfs file holds, or None."""
    if text is None:
        return None
    word = text.strip()
    if re.fullmatch(r"[+-]?\d{1,19}", word, re.ASCII):
        return int(word)
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", word):
        return int(word, 16)
    return None


def iso_date(text: str | None) -> str | None:
    """Return ``2024-01-31`` for SMBIOS's ``01/31/2024``; two digits are of the last century (7.1). None for no date.

    >>> iso_date("06/10/2022"), iso_date("12/01/99"), iso_date("soon")
    ('2022-06-10', '1999-12-01', None)
    """
    match = re.fullmatch(r"\s*(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\s*", text or "", re.ASCII)
    if not match:
        return None
    month, day, year = (int(part) for part in match.groups())
    try:
        return date(year if len(match[3]) == 4 else 1900 + year, month, day).isoformat()
    except ValueError:
        return None
