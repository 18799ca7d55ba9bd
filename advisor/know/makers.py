"""Whose words a machine is spoken to in: no menu of another processor's maker, and no key of another server's maker."""

from advisor.know.platforms import platforms
from advisor.model.cpu import Cpu
from advisor.model.vendor import Entry, Vendor

_MAKERS = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}
"""CPUID vendor -> maker as platform sheets call it; every other maker's processors here are Arm's kin."""


def spoken(sheet: Vendor, cpu: Cpu | None, platform_id: str | None, *, known_maker: bool) -> Vendor:
    """Return a sheet without the words that cannot be this machine's.

    Where the processor's generation is not known its maker still is: an AMD CBS menu is no answer for a Xeon or an Arm
    server, and the usual words of a sheet it falls back to are guesses then. ``known_maker`` says that a maker was named,
    and has no sheet of its own if the sheet serves unknown makers: its key at start is not Del or F2 because others' is.
    """
    if not sheet.match and known_maker:
        sheet = sheet.model_copy(update={"setup": ""})
    if platform_id is not None:
        return sheet
    maker = _MAKERS.get(cpu.vendor or "", "Arm") if cpu and cpu.vendor else None
    kept = {name: tuple(each for each in entries if _serves(sheet, each, maker)) for name, entries in sheet.settings.items()}
    return sheet.model_copy(update={"settings": {name: entries for name, entries in kept.items() if entries}, "falls_back": None})


def _serves(sheet: Vendor, entry: Entry, maker: str | None) -> bool:
    """Return whether an entry is of some generation whose processors this maker builds."""
    words = entry.platforms or tuple(sheet.generations)
    ids = {each for word in words for each in sheet.generations.get(word, (word,))}
    return maker is not None and any(platform.id in ids and _of(platform.vendor) == maker for platform in platforms())


def _of(vendor: str) -> str:
    return vendor if vendor in ("AMD", "Intel") else "Arm"
