"""What the BIOS attributes of a server say in neutral words."""

from collections.abc import Iterable, Mapping

from advisor.know.places import attributes_named, entries_of
from advisor.know.settings import settings
from advisor.model.bios import Bios, Scalar
from advisor.model.setting import Neutral, Setting
from advisor.model.vendor import Entry, Require, Vendor

Attributes = Mapping[str, Scalar | None]


def neutral_values(vendor: Vendor, platform_id: str | None, bios: Bios, *, pending: bool = False) -> dict[str, Neutral]:
    """Return each setting that the attributes tell, in neutral words; what they do not tell is not in it.

    With ``pending``, the values as they will be after the next start.
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
    counting = [entry for entry in entries if _counts(entry, attributes)]
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


def _counts(entry: Entry, attributes: Attributes) -> bool:
    """Return whether what the entry's attribute depends on has the value with which it means something."""
    return all(_holds(need, attributes) for need in entry.requires if need.gates)


def _holds(need: Require, attributes: Attributes) -> bool:
    names = attributes_named(need.attribute, tuple(attributes))
    return bool(names) and all(attributes[name] == need.value for name in names)
