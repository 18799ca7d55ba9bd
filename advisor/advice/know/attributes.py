"""Neutral settings and a vendor's BIOS attributes: where a value is found, what to type, what attributes mean."""

import re
from collections.abc import Iterable, Mapping

from advisor.advice.know.settings import settings
from advisor.advice.know.vendors import vendor_by_id
from advisor.advice.model.plan import Target, edit_instruction, filled_lines
from advisor.advice.model.setting import Neutral, Setting
from advisor.advice.model.vendor import Absent, Entry, Lock, Place, Require, Vendor, VendorValue, is_named
from advisor.machine.firmware import Bios, Scalar


def number_of(template: str, name: str) -> int | None:
    """Return the number that makes a name of a template: 3 of Nbio3LclkDpmLevel; None for another name."""
    before, after = template.split("{n}")
    digits = name.removeprefix(before).removesuffix(after)
    fits = name == before + digits + after and re.fullmatch(r"0|[1-9][0-9]{0,2}", digits, re.ASCII)
    return int(digits) if fits else None


def locate(vendor: Vendor, platform_id: str | None, setting: Setting, value: Neutral, bios: Bios | None = None) -> Place | None:
    """Return where a value of a setting is found, or None where the vendor does not offer it or nothing is known.

    Given the BIOS attributes, names with a suffix that differs from board to board are taken from them.
    """
    entries = entries_of(vendor, platform_id, setting.name)
    if entries:
        known = [each for each in entries if _vendor_value(each, setting, value) is not None] or [*entries]
        entry = next((each for each in known if bios and attributes_named(each, tuple(bios.attributes))), known[0])
        return _place(vendor, platform_id, setting, value, entry=entry, bios=bios)
    if vendor.falls_back is None or not_offered(vendor, platform_id, setting.name, "no"):
        return None
    words = vendor_by_id(vendor.falls_back)
    # The usual menus, reached by this vendor's own key.
    usual = locate(words.model_copy(update={"setup": vendor.setup or words.setup}), platform_id, setting, value)
    if usual is None:
        return None
    note = f"{vendor.name}'s own names are not known; these are the usual ones"
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
    return tuple(name for name in names if is_named(stem, name))


def _place(vendor: Vendor, platform: str | None, setting: Setting, value: Neutral, *, entry: Entry, bios: Bios | None) -> Place:
    told = _vendor_value(entry, setting, value)
    attribute = _real(entry, bios)
    locks = _locks(vendor, platform, entry)
    needs: tuple[Require | Lock, ...] = (*locks, *entry.requires)
    certain = (
        platform is not None or len({(each.attribute, each.prefix, each.numbered) for each in vendor.settings[setting.name]}) == 1
    )
    steps: tuple[Target, ...] = ()
    if told is not None and certain and (attribute or not vendor.tools.set):
        before = [
            Target(_named(need.attribute, bios), need.value, need.group or entry.group, need.label or "", "") for need in needs
        ]
        steps = (*before, Target(attribute or "", told, entry.group, entry.label, entry.menu))
    edits = () if vendor.tools.edit is None else tuple(edit_instruction(vendor.tools.edit, step) for step in steps)
    shown = filled_lines(vendor.tools.show, steps[-1:]) if steps else ()
    return Place(
        vendor=vendor.id,
        setting=setting.name,
        menu=" > ".join(part for part in (vendor.setup, entry.menu) if part),
        label=entry.label,
        attribute=attribute or entry.prefix or entry.numbered,
        vendor_value=told,
        group=entry.group,
        path=entry.menu,
        exact=attribute is not None and certain,
        requires=tuple(need.model_copy(update={"attribute": _named(need.attribute, bios)}) for need in entry.requires),
        spoken=entry.values,
        show=shown,
        commands=(*vendor.tools.prepare, *filled_lines(vendor.tools.set, steps)) if steps and not locks else (),
        apply=vendor.tools.apply if steps else (),
        prerequisites=tuple((_named(need.attribute, bios), need.value, need.because) for need in needs),
        notes=(
            *edits,
            *(
                (f"{lock.attribute} holds it: advisor checklist writes the two as they go together, or says why not")
                for lock in locks
            ),
            *_notes(vendor, entry, told=told is not None, certain=certain),
        ),
        verified=told is not None
        and certain
        and vendor.shows(entry, platform, str(value))
        and all(vendor.shows_need(need, platform) for need in needs),
    )


def _notes(vendor: Vendor, entry: Entry, *, told: bool, certain: bool) -> tuple[str, ...]:
    notes = [*entry.side_effects, *((entry.note,) if entry.note else ())]
    if not told:
        notes.insert(0, f"{vendor.name}'s name for this value is not known: choose it in the menu")
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


Attributes = Mapping[str, Scalar | None]


def neutral_values(vendor: Vendor, platform_id: str | None, bios: Bios, *, pending: bool = False) -> dict[str, Neutral]:
    """Return each setting that the attributes tell, in neutral words; what they do not tell is not in it.

    With ``pending``, the values as they will be after the next restart.
    """
    attributes = {**bios.attributes, **(bios.pending or {})} if pending else bios.attributes
    known, words = settings(), {**bios.also, **_shown(vendor, attributes)}
    told = {name: _value(known[name], entries_of(vendor, platform_id, name), attributes, words) for name in vendor.settings}
    return {name: value for name, value in told.items() if value is not None}


def _shown(vendor: Vendor, attributes: Attributes) -> dict[str, str]:
    """Return the values' own names where a BIOS holds the words of the menu, as far as the sheet has them."""
    return {
        attribute: name
        for attribute, words in vendor.shown.items()
        for name, shown in words.items()
        if attributes.get(attribute) == shown
    }


def _value(setting: Setting, entries: Iterable[Entry], attributes: Attributes, words: Mapping[str, str]) -> Neutral | None:
    """Return the one value that all entries whose attributes are there agree on."""
    counting = [entry for entry in entries if (all(_holds(need, attributes) for need in entry.requires if need.gates))]
    found = {value for entry in counting for value in _told(setting, entry, attributes, words)}
    return found.pop() if len(found) == 1 else None


def _told(setting: Setting, entry: Entry, attributes: Attributes, words: Mapping[str, str]) -> set[Neutral | None]:
    names = attributes_named(entry, tuple(attributes))
    values = {_read(setting, entry, attributes[name], words.get(name)) for name in names}
    return values if len(names) < 2 or len(values) == 1 else {None}


def _read(setting: Setting, entry: Entry, value: Scalar | None, other: str | None) -> Neutral | None:
    """Return the neutral word for a value, or for its other name."""
    told = _neutral(setting, entry, value)
    return told if told is not None or other is None else _neutral(setting, entry, other)


def _neutral(setting: Setting, entry: Entry, value: Scalar | None) -> Neutral | None:
    """Return the neutral word for a vendor's value; None where the sheet has none."""
    if value is None:
        return None
    if entry.passes:
        return value if setting.takes(value) else None
    for word, theirs in entry.values.items():
        if type(theirs) is type(value) and theirs == value:
            return setting.neutral(word)
    further = entry.reads.get(str(value))
    return None if further is None else setting.neutral(str(further))


def _holds(need: Require, attributes: Attributes) -> bool:
    names = attributes_named(need.attribute, tuple(attributes))
    return bool(names) and all(attributes[name] == need.value for name in names)
