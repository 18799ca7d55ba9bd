"""Attributes that differ by a number only: the I/O clock of each root complex, the speed of each slot."""

import re
from collections.abc import Mapping

from advisor.model.bios import Scalar
from advisor.model.vendor import Entry


def number_of(template: str, name: str) -> int | None:
    """Return the number that makes a name of a template: 3 of Nbio3LclkDpmLevel; None for another name."""
    before, after = template.split("{n}")
    digits = name.removeprefix(before).removesuffix(after)
    fits = name == before + digits + after and re.fullmatch(r"0|[1-9][0-9]{0,2}", digits, re.ASCII)
    return int(digits) if fits else None


def of_bus(entry: Entry, attributes: Mapping[str, Scalar | None], bus: int) -> str | None:
    """Return the one of an entry's numbered attributes that a PCI bus belongs to; None where none or several claim it."""
    if entry.numbered is None or entry.buses is None:
        return None
    found: list[str] = []
    for name in attributes:
        number = number_of(entry.numbered, name)
        first, last = (attributes.get(end.replace("{n}", str(number))) for end in entry.buses)
        # A root complex that the processor lacks says 0 to 0.
        if number is not None and type(first) is int and type(last) is int and first < last and first <= bus <= last:
            found.append(name)
    return found[0] if len(found) == 1 else None
