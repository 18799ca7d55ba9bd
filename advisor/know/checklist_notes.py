"""Says what holds for several lines of a checklist: before one starts, and once for all of them."""

from advisor.model.checklist import NOTE_FIRST, Item
from advisor.model.vendor import Vendor


def notes(items: list[Item], vendor: Vendor) -> tuple[str, ...]:
    """Return what holds for several lines: the way to the menus, one restart, the maker's quirks."""
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
    found += [*vendor.notes, *vendor.tools.notes] if bios else []
    return tuple(dict.fromkeys(found))
