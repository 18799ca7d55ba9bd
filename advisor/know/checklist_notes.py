"""Says what holds for several lines of a checklist: before one starts, and once for all of them."""

from collections.abc import Iterator

from advisor.model.amounts import count
from advisor.model.checklist import NOTE_FIRST, Item
from advisor.model.vendor import Vendor


def notes(items: list[Item], vendor: Vendor) -> tuple[str, ...]:
    """Return what holds for several lines: the way to the menus, what must be set first, one restart, the maker's quirks."""
    left = [item for item in items if not item.done]
    bios = [item for item in left if item.fix.where == "bios"]
    restarts = [item for item in left if item.setting and item.fix.reboot != "no"]
    found = [f"The BIOS menus begin at: {vendor.setup}."] if bios and vendor.setup else []
    if len(restarts) > 1:
        found.append(f"{len(restarts)} settings need a restart: make all of them, then restart once.")
    if any(item.fix.reboot == "power-cycle" for item in restarts):
        found.append("One of them at least needs the power taken away, not only a restart: make it a power cycle.")
    if any(item.undo == NOTE_FIRST for item in left):
        found.append("Where no way back is named, note the present value first: it is the way back.")
    found += _needs(bios, items)
    effects = {effect for lock in vendor.locks for effect in lock.side_effects}
    found += [note for item in bios for note in item.fix.notes if note in effects]
    found += [*vendor.notes, *vendor.tools.notes] if bios else []
    return tuple(dict.fromkeys(found))


def _needs(bios: list[Item], items: list[Item]) -> Iterator[str]:
    """Yield what must be set first, and which line wants another value of the same."""
    told: dict[str, str] = {}
    for words in (words for item in bios for words in item.fix.before):
        told.setdefault(words.partition(": ")[0], words)
    for name, words in told.items():
        lines = sum(any(each.startswith(f"{name}: ") for each in item.fix.before) for item in bios)
        yield f"First, for {count(lines, 'line')}: {words}."
    for item in items:
        for name in told:
            attribute, _, value = name.partition(" = ")
            if item.fix.attribute == attribute and item.fix.attribute_value not in (None, value):
                both = f"{attribute} cannot be both {value} and {item.fix.attribute_value} ({item.id})"
                yield f"{both}: {value} is the one that lets the other lines be set."
