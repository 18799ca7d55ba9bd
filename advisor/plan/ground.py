"""What a plan stands on: the maker's sheet, the BIOS as it is, its registry, and what was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from advisor.model.audit.plan import Include
from advisor.model.audit.vendor import Lock, Vendor, VendorValue, is_named
from advisor.model.hardware.firmware import Allowed, Attribute, Bios, Registry, Scalar
from advisor.plan.registry import static

_NOT_THERE: Final = {
    "notavailable",
    "not available",
    "n/a",
    "na",
    "notapplicable",
    "not applicable",
    "unsupported",
    "not supported",
}
"""What a BIOS says in place of the value of an option that this machine has not."""

_FLAG_WORDS: Final = {"ReadOnly": "read-only", "GrayOut": "greyed out", "Hidden": "hidden", "Immutable": "immutable"}


@dataclass(frozen=True)
class Ground:
    """What is known of the machine's firmware."""

    vendor: Vendor
    platform: str | None = None
    bios: Bios | None = None
    registry: Registry | None = None
    include: frozenset[Include] = field(default_factory=frozenset)
    order: bool = False
    """Hardware on order: nothing of it can be known, and its script saves what is there."""

    @property
    def present(self) -> Mapping[str, Scalar | None]:
        """Return the present attributes; {} where none were given."""
        return self.bios.attributes if self.bios else {}

    def now(self, attribute: str) -> Scalar | None:
        """Return the present value of an attribute; None where it is not known."""
        return self.present.get(attribute)

    def lacks(self, attribute: str) -> str | None:
        """Return why an attribute is not one of this machine's; None where it is, or nothing tells."""
        if self.bios is not None:
            if attribute not in self.bios.attributes:
                return "the BIOS attributes given do not have it"
            value = self.bios.attributes[attribute]
            if value is None or (isinstance(value, str) and value.strip().lower() in _NOT_THERE):
                return f"the BIOS says {value} of it" if value else "the BIOS gives no value for it"
        if self.registry is not None:
            if attribute not in self.registry.attributes:
                return "the attribute registry does not have it"
            if flags := static(self.registry, attribute):
                return f"the attribute registry says it is {_FLAG_WORDS[flags[0]]}"
        return None

    def takes(self, attribute: str, value: Scalar) -> bool:
        """Return whether the registry allows a value; True where none was given."""
        known = self.registry.attributes.get(attribute) if self.registry else None
        return known is None or known.takes(value) or _chosen(known, value) is not None

    def told_by_sheet(self, attribute: str, value: VendorValue) -> dict[str, VendorValue]:
        """Return what changes along with a profile, as the maker's sheet has it, of what this machine has and sees otherwise."""
        profiles = (lock for lock in self.locks if is_named(lock.attribute, attribute))
        found: dict[str, VendorValue] = {}
        for stem, to in ((stem, to) for lock in profiles for stem, to in self._sets(lock, attribute, value).items()):
            name = next((name for name in self.present if is_named(stem, name)), stem)
            now = self.now(name)
            if self.lacks(name) is None and (now is None or not self.same(name, now, to)):
                found[name] = to
        return found

    def _sets(self, lock: Lock, attribute: str, value: VendorValue) -> Mapping[str, VendorValue]:
        return next((sets for word, sets in lock.sets.items() if self.same(attribute, word, value)), {})

    def spelled(self, attribute: str, value: VendorValue) -> VendorValue | None:
        """Return a value as this machine spells it; None where its registry does not allow it, or its kind is another."""
        now = self.now(attribute)
        if self.registry is not None and (known := self.registry.attributes.get(attribute)):
            choice = _chosen(known, value)
            if choice is None:
                whole = int(value) if known.kind == "Integer" and str(value).isdigit() else value
                return whole if not known.values and known.takes(whole) else None
            shown = isinstance(now, str) and all(now != each.name for each in known.values)
            return choice.shown if shown and any(now == each.shown for each in known.values) else choice.name
        words = self.vendor.shown.get(attribute, {})
        if now in words.values() and now not in words:
            return words.get(str(value), value)
        return _alike(now, value)

    def same(self, attribute: str, one: Scalar | None, other: Scalar | None) -> bool:
        """Return whether two values of an attribute mean the same."""
        known = self.registry.attributes.get(attribute) if self.registry else None
        if known is not None:
            one, other = known.named(one), known.named(other)
        one, other = self._own_word(attribute, one), self._own_word(attribute, other)
        if isinstance(one, str) and isinstance(other, str):
            return _plain(one) == _plain(other)
        return type(one) is type(other) and one == other

    def _own_word(self, attribute: str, value: Scalar | None) -> Scalar | None:
        """Return a value's own name where the sheet knows it by the menu's words."""
        return next((name for name, shown in self.vendor.shown.get(attribute, {}).items() if shown == value), value)

    @property
    def locks(self) -> tuple[Lock, ...]:
        """Return the profiles of this machine that hold other attributes."""
        found = [each for each in self.vendor.locks if self.platform is None or self.vendor.serves(each.platforms, self.platform)]
        return tuple(found)


def _chosen(known: Attribute, value: VendorValue) -> Allowed | None:
    """Return the registry's choice for a value: of that name or those words, else one that differs in its spelling alone."""
    exact = [each for each in known.values if value in (each.name, each.shown)]
    plain = [each for each in known.values if _plain(str(value)) in (_plain(each.name), _plain(each.shown))]
    return next(iter(exact), None) or (plain[0] if len(plain) == 1 else None)


def _alike(now: Scalar | None, value: VendorValue) -> VendorValue | None:
    """Return a value in the kind and the manner of the present one: Enable where others say Enabled."""
    if now is None or type(now) is type(value):
        pairs = {("Enable", "Enabled"), ("Disable", "Disabled")}
        if isinstance(value, str) and now in ("Enable", "Disable"):
            return next((short for short, long in pairs if long == value), value)
        return value
    if isinstance(now, bool) or isinstance(value, bool):
        return None
    if isinstance(now, int):
        return int(value) if str(value).lstrip("-").isdigit() else None
    return str(value)


def _plain(word: str) -> str:
    """Return a word without what differs between a value's name and the menu's words for it."""
    letters = "".join(each for each in word.lower() if each.isalnum())
    return {"enable": "enabled", "disable": "disabled"}.get(letters, letters)
