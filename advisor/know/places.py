"""Where a neutral value is found on a vendor's server, and what to type."""

import json
import re
import shlex
from typing import NamedTuple

from advisor.know.numbered import number_of
from advisor.know.vendors import vendors
from advisor.model.bios import Bios
from advisor.model.setting import Neutral, Setting
from advisor.model.vendor import Absent, Entry, Lock, Place, Require, Vendor, VendorValue

_SUFFIX = re.compile(r"(_[0-9A-F]{4})?")
"""What Supermicro appends to a name, different on each board and firmware."""


class _Step(NamedTuple):
    """One attribute to write."""

    attribute: str
    value: VendorValue
    group: str | None
    label: str
    menu: str


def locate(vendor: Vendor, platform_id: str | None, setting: Setting, value: Neutral, bios: Bios | None = None) -> Place | None:
    """Return where a value of a setting is found, or None where the vendor does not offer it or nothing is known.

    Given the BIOS attributes, names with a suffix that differs from board to board are taken from them.
    """
    entries = entries_of(vendor, platform_id, setting.name)
    if entries:
        entry = next((each for each in entries if _vendor_value(each, setting, value) is not None), entries[0])
        return _place(vendor, platform_id, setting, value, entry=entry, bios=bios)
    if vendor.falls_back is None or not_offered(vendor, platform_id, setting.name, "no"):
        return None
    words = vendors()[vendor.falls_back]
    # The usual menus, reached by this maker's own key.
    usual = locate(words.model_copy(update={"setup": vendor.setup or words.setup}), platform_id, setting, value)
    if usual is None:
        return None
    note = f"{vendor.name}'s own words are not known; these are the usual ones"
    return usual.model_copy(update={"vendor": vendor.id, "notes": (note, *usual.notes)})


def entries_of(vendor: Vendor, platform_id: str | None, name: str) -> tuple[Entry, ...]:
    """Return a setting's entries for a platform; every entry where the platform is not known."""
    entries = vendor.settings.get(name, ())
    return entries if platform_id is None else tuple(each for each in entries if vendor.serves(each.platforms, platform_id))


def not_offered(vendor: Vendor, platform_id: str | None, name: str, offered: str | None = None) -> Absent | None:
    """Return what the sheet says of a setting that it has no entry for: not offered, or unknown."""
    for absent in vendor.absent:
        here = not absent.platforms or (platform_id is not None and vendor.serves(absent.platforms, platform_id))
        if name in absent.settings and here and offered in (None, absent.offered):
            return absent
    return None


def attributes_named(entry: Entry | str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes of a BIOS that an entry means: one, none, or several of one beginning."""
    if isinstance(entry, Entry) and entry.attribute:
        return (entry.attribute,) if entry.attribute in names else ()
    if isinstance(entry, Entry) and entry.numbered:
        return tuple(name for name in names if number_of(entry.numbered, name) is not None)
    stem = entry if isinstance(entry, str) else entry.prefix
    if stem is None:
        return ()
    return tuple(name for name in names if name.startswith(stem) and _SUFFIX.fullmatch(name[len(stem) :]))


def _place(vendor: Vendor, platform: str | None, setting: Setting, value: Neutral, *, entry: Entry, bios: Bios | None) -> Place:
    told = _vendor_value(entry, setting, value)
    attribute = _real(entry, bios)
    locks = _locks(vendor, platform, entry)
    needs: tuple[Require | Lock, ...] = (*locks, *entry.requires)
    certain = (
        platform is not None or len({(each.attribute, each.prefix, each.numbered) for each in vendor.settings[setting.name]}) == 1
    )
    steps: tuple[_Step, ...] = ()
    if told is not None and certain and (attribute or not vendor.tools.set):
        before = [
            _Step(_named(need.attribute, bios), need.value, need.group or entry.group, need.label or "", "") for need in needs
        ]
        steps = (*before, _Step(attribute or "", told, entry.group, entry.label, entry.menu))
    edits = _edits(vendor, steps)
    shown = _fill(vendor.tools.show, steps[-1:]) if steps else ()
    return Place(
        vendor=vendor.id,
        setting=setting.name,
        menu=" > ".join(part for part in (vendor.setup, entry.menu) if part),
        label=entry.label,
        attribute=attribute or entry.prefix or entry.numbered,
        vendor_value=told,
        show=shown,
        commands=(*vendor.tools.prepare, *_fill(vendor.tools.set, steps)) if steps else (),
        apply=vendor.tools.apply if steps else (),
        prerequisites=tuple((_named(need.attribute, bios), need.value, need.because) for need in needs),
        notes=(*edits, *_notes(vendor, entry, locks, told=told is not None, certain=certain)),
        verified=told is not None
        and certain
        and vendor.shows(entry, platform, str(value))
        and all(vendor.shows_need(need, platform) for need in needs),
    )


def _edits(vendor: Vendor, steps: tuple[_Step, ...]) -> tuple[str, ...]:
    """Return what to change by hand in the file that the vendor's tool writes and reads."""
    if vendor.tools.edit is None:
        return ()
    return tuple(_edit(vendor.tools.edit, step) for step in steps)


def _edit(template: str, step: _Step) -> str:
    words = {"{label}": step.label or step.attribute, "{value}": _text(step.value), "{menu}": step.menu or "its menu"}
    return re.sub(r"\{[a-z]+\}", lambda found: words.get(found[0], found[0]), template)


def _notes(vendor: Vendor, entry: Entry, locks: tuple[Lock, ...], *, told: bool, certain: bool) -> tuple[str, ...]:
    effects = [effect for lock in locks for effect in lock.side_effects]
    notes = [*entry.side_effects, *effects, *((entry.note,) if entry.note else ())]
    if not told:
        notes.insert(0, f"{vendor.name}'s word for this value is not known: choose it in the menu")
    if not certain:
        notes.insert(0, "the processor's generation is not known, and the name depends on it: check before you type it")
    return tuple(notes)


def _vendor_value(entry: Entry, setting: Setting, value: Neutral) -> VendorValue | None:
    if not setting.takes(value):
        return None
    if entry.passes:
        return int(value) if entry.passes == "integer" and isinstance(value, int) else str(value)
    return entry.values.get(str(value))


def _real(entry: Entry, bios: Bios | None) -> str | None:
    """Return an entry's attribute; that of a beginning only where the BIOS has exactly one."""
    if entry.attribute or bios is None:
        return entry.attribute
    found = attributes_named(entry, tuple(bios.attributes))
    return found[0] if len(found) == 1 else None


def _named(attribute: str, bios: Bios | None) -> str:
    """Return a prerequisite's attribute with the suffix it has on this board."""
    found = attributes_named(attribute, tuple(bios.attributes)) if bios else ()
    return found[0] if len(found) == 1 else attribute


def _locks(vendor: Vendor, platform: str | None, entry: Entry) -> tuple[Lock, ...]:
    name = entry.attribute or entry.prefix or entry.numbered
    fits = (lock for lock in vendor.locks if name in lock.of)
    found = [lock for lock in fits if platform is None or vendor.serves(lock.platforms, platform)]
    return tuple(found[:1]) if platform is None else tuple(found)


def _fill(templates: tuple[str, ...], steps: tuple[_Step, ...]) -> tuple[str, ...]:
    """Return command lines with everything filled in and quoted, one line for each attribute where the line names one."""
    lines: list[str] = []
    for template in templates:
        words = shlex.split(template)
        if any("{attribute}" in word or "{dotted}" in word for word in words):
            lines += [shlex.join(_filled(word, step) for word in words) for step in steps]
        else:
            lines.append(shlex.join(part for word in words for part in _together(word, steps)))
    return tuple(lines)


def _filled(word: str, step: _Step) -> str:
    text = {"{group}": step.group or "", "{attribute}": step.attribute, "{dotted}": step.attribute.replace("_", ".", 1)}
    text["{value}"] = _text(step.value)
    return re.sub(r"\{[a-z]+\}", lambda found: text.get(found[0], found[0]), word)


def _together(word: str, steps: tuple[_Step, ...]) -> list[str]:
    if word == "{pairs}":
        return [f"{step.attribute}={_text(step.value)}" for step in steps]
    if word == "{body}":
        return [json.dumps({"Attributes": {step.attribute: step.value for step in steps}})]
    return [word]


def _text(value: VendorValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
