"""The machine as it would be with other BIOS settings."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from advisor.model.hardware.machine import Machine

if TYPE_CHECKING:
    from advisor.model.hardware.layout import Assumption


def assumed(machine: Machine, texts: Iterable[str]) -> Machine:
    """Return the machine as it would be with settings such as ``nps=4,smt=off``; itself where none is given."""
    from advisor.model.hardware.layout import Assumption, parse_assumption

    wish = parse_assumption(texts)
    return machine if wish == Assumption() else changed(machine, wish)


def changed(machine: Machine, wish: "Assumption") -> Machine:
    """Return the machine as it would be after a restart with other settings."""
    from advisor.change.transform import transform
    from advisor.know.platforms import match_platform

    return transform(machine, wish, match_platform(machine), _attributes(machine, wish))


_SETTINGS = {
    "nps": "numa.nps",
    "l3_as_node": "numa.l3_as_node",
    "interleave": "memory.interleave",
    "snc": "cpu.snc",
    "cod": "cpu.snoop_mode",
    "smt": "cpu.smt",
    "enumeration": "cpu.enumeration",
}
"""What each assumption is called in rules/settings.yaml."""


def _attributes(machine: Machine, wish: "Assumption") -> frozenset[str] | None:
    """Return the BIOS attributes that hold what is assumed, in the words of the machine's vendor; None if those are not known."""
    from advisor.know.vendors import match_vendor

    if machine.bios is None:
        return frozenset()
    vendor = match_vendor(machine.firmware)
    if vendor is None:
        return None
    names = [setting for field, setting in _SETTINGS.items() if getattr(wish, field) is not None]
    entries = [entry for name in names for entry in vendor.settings.get(name, ())]
    known = {entry.attribute for entry in entries if entry.attribute}
    starts = tuple(entry.prefix for entry in entries if entry.prefix)
    present = (*machine.bios.attributes, *(machine.bios.pending or ()))
    return frozenset(name for name in present if name in known or (starts and name.startswith(starts)))
