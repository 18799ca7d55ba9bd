"""The verbs of the rule language: pure functions with kinds. A verb that returns None could not tell."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from advisor.language.kinds import CPUS, NUMBER, PAIRS, TABLE, TEXT, TRUTH, Kind, listed
from advisor.model.cpuset import CpuSet

_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


class Verb(NamedTuple):
    """A function with the kinds it takes and gives."""

    function: Callable[..., Any]
    takes: tuple[Kind, ...]
    gives: Kind


def _option(options: Sequence[tuple[str, str | None]], name: str) -> tuple[str, ...]:
    """Return every value given to a boot option; an empty list where it is not on the command line."""
    return tuple(value or "" for key, value in options if key == name)


def _starts(text: str, word: str) -> bool:
    """Return whether a text begins with a word, whatever the case."""
    return text.lower().startswith(word.lower())


def _contains(text: str, word: str) -> bool:
    """Return whether a text holds a word, whatever the case."""
    return word.lower() in text.lower()


def _values(table: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts of a table."""
    return tuple(table.values())


def _entry(table: Mapping[str, str], name: str) -> str | None:
    """Return the text that a table has under a name; unknown where it has none."""
    return table.get(name)


def _older(version: str, than: str) -> bool | None:
    """Return whether a version such as 4.1.4 is older than another; unknown where one is no version."""
    a, b = _numbers(version), _numbers(than)
    if a is None or b is None:
        return None
    length = max(len(a), len(b))  # 4.1 is 4.1.0
    return a + (0,) * (length - len(a)) < b + (0,) * (length - len(b))


def _numbers(version: str) -> tuple[int, ...] | None:
    match = re.search(r"\d{1,6}(?:\.\d{1,6}){0,5}", version, re.ASCII)
    return tuple(int(part) for part in match[0].split(".")) if match else None


def _bus(address: str) -> int | None:
    """Return the bus number of a PCI address: 193 of 0000:c1:00.0."""
    match = re.fullmatch(r"(?:[0-9a-f]{4,8}:)?([0-9a-f]{2}):[0-9a-f]{2}\.[0-7]", address, re.ASCII | re.IGNORECASE)
    return int(match[1], 16) if match else None


def _hex(number: float) -> str:
    """Return a whole number in hexadecimal: 0xc1."""
    return hex(int(number))


def _before(day: str, other: str) -> bool | None:
    """Return whether one ISO date is before another; of a month or a year, before it begins. Unknown where one is no date."""
    if not (_DATE.fullmatch(day) and _DATE.fullmatch(other)):
        return None
    return None if len(day) < len(other) and other.startswith(day) else day < other


def _size(cpus: CpuSet) -> int:
    """Return how many CPUs a set has."""
    return len(cpus)


def _first(cpus: CpuSet) -> int | None:
    """Return the smallest CPU number of a set."""
    return cpus.first


def _round(number: float) -> int:
    """Return the nearest whole number."""
    return round(number)


def _floor(number: float) -> int:
    """Return the whole number at or below."""
    return int(number // 1)


def _ratio(a: float, b: float) -> float | None:
    """Return a over b; unknown where b is zero."""
    return a / b if b else None


VERBS: dict[str, Verb] = {
    "option": Verb(_option, (PAIRS, TEXT), listed(TEXT)),
    "starts": Verb(_starts, (TEXT, TEXT), TRUTH),
    "contains": Verb(_contains, (TEXT, TEXT), TRUTH),
    "values": Verb(_values, (TABLE,), listed(TEXT)),
    "entry": Verb(_entry, (TABLE, TEXT), TEXT),
    "older": Verb(_older, (TEXT, TEXT), TRUTH),
    "before": Verb(_before, (TEXT, TEXT), TRUTH),
    "bus": Verb(_bus, (TEXT,), NUMBER),
    "hex": Verb(_hex, (NUMBER,), TEXT),
    "size": Verb(_size, (CPUS,), NUMBER),
    "first": Verb(_first, (CPUS,), NUMBER),
    "round": Verb(_round, (NUMBER,), NUMBER),
    "floor": Verb(_floor, (NUMBER,), NUMBER),
    "abs": Verb(abs, (NUMBER,), NUMBER),
    "ratio": Verb(_ratio, (NUMBER, NUMBER), NUMBER),
}
"""Every verb; docs/reference and the messages of the checker list them from here."""

UNITS: dict[str, float] = {
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "MHz": 10**6,
    "GHz": 10**9,
    "MT": 10**6,
    "GT": 10**9,
    "Gb": 10**9,
    "GB": 10**9,
    "us": 1e-6,
    "ns": 1e-9,
}
"""Units as factors: ``32 * GiB``."""
