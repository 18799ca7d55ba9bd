"""What a plan is drafted from and of: what an attribute registry makes of writes, the firmware as it is, and the drafts.

Attributes that somebody edited are looked at as well: each that may not be written, with the reason and the cure.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from advisor.advice.model.plan import CODE, Include, Mark, NotWritten, WantedSetting, out_of_reach
from advisor.advice.model.sheets import SEVERITIES, Lock, Vendor, VendorValue, is_named
from advisor.errors import did_you_mean
from advisor.machine.hardware import FLAGS, Allowed, Attribute, Bios, Dependency, Registry, Scalar, Term

Values = Mapping[str, Scalar | None]
Forecast = Callable[[Values], tuple[str, ...]]

_VALUE = "CurrentValue"
_ROUNDS = 20
"""A dependency may start another; none seen goes deeper than three."""

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "GTR": operator.gt,
    "GEQ": operator.ge,
    "LSS": operator.lt,
    "LEQ": operator.le,
}


@dataclass(frozen=True)
class Settled:
    """The attributes once all dependencies have had their say."""

    values: dict[str, Scalar | None]
    """None for what is not known: the machine does not show it, or the dependencies contradict each other about it."""
    flags: dict[str, frozenset[str]]
    contradicted: Mapping[str, tuple[Scalar | None, ...]] = field(default_factory=dict)
    """What the dependencies want to be different things: it hangs on which of them is looked at first."""

    def word(self, attribute: str) -> str:
        """Return what an attribute comes to, in words: of what is contradicted, each thing that it is to be."""
        if attribute in self.contradicted:
            return (
                " or ".join(sorted(str(each) for each in self.contradicted[attribute])) + ", depending on which rule has priority"
            )
        return str(self.values.get(attribute))

    def refuses(self, attribute: str) -> tuple[str, ...]:
        """Return why an attribute cannot be written now: ReadOnly, GrayOut, ..."""
        return tuple(flag for flag in FLAGS if flag in self.flags.get(attribute, frozenset()))


def settle(registry: Registry, present: Values, wanted: Values) -> Settled:
    """Return what becomes of the current values when others are written over them.

    No standard says which of two dependencies goes first: what is another value in the opposite order is not known (HPE:
    WorkloadProfile=HPC disables ProcAmdIoVt, and MicrosoftSecuredCoreSupport=Enabled beside it enables it).
    """
    start = {name: named(registry, name, value) for name, value in {**present, **wanted}.items()}
    values, flags, moving = _carried_out(registry, start, registry.dependencies)
    if not moving:
        return Settled(values, flags)
    other, _, _ = _carried_out(registry, start, registry.dependencies[::-1])
    contradicted = {name: (value, other[name]) for name, value in values.items() if other[name] != value}
    return Settled({**values, **dict.fromkeys(contradicted)}, flags, contradicted)


def _carried_out(
    registry: Registry, start: Values, rules: Iterable[Dependency]
) -> tuple[dict[str, Scalar | None], dict[str, frozenset[str]], bool]:
    """Return values and flags once the dependencies were carried out until nothing changes; and whether any value changed.

    A flag that some dependency can raise starts lowered: registries tell the moment, not the nature, of those.
    """
    raised = {(rule.target, rule.property) for rule in registry.dependencies if rule.property in FLAGS and rule.value is True}
    flags = {
        name: {flag for flag in attribute.flags if (name, flag) not in raised} for name, attribute in registry.attributes.items()
    }
    values, moving = dict(start), False
    for _ in range(_ROUNDS):
        done = [rule.property for rule in rules if _apply(rule, registry, values, flags)]
        moving = moving or _VALUE in done
        if not done:
            break
    return values, {name: frozenset(found) for name, found in flags.items()}, moving


def holds(rule: Dependency, registry: Registry, after: Settled) -> bool:
    """Return whether a dependency's terms hold once all have had their say."""
    return _holds(rule.terms, registry, after.values, {name: set(flags) for name, flags in after.flags.items()})


def named(registry: Registry, name: str, value: Scalar | None) -> Scalar | None:
    """Return the registry's own name for a value."""
    attribute = registry.attributes.get(name)
    return attribute.named(value) if attribute else value


def static(registry: Registry, name: str) -> tuple[str, ...]:
    """Return the flags of an attribute that no dependency ever lowers."""
    attribute = registry.attributes.get(name)
    movable = {rule.property for rule in registry.dependencies if rule.target == name}
    return tuple(flag for flag in attribute.flags if flag not in movable) if attribute else ()


def moved(registry: Registry, present: Values, wanted: Values) -> dict[str, Scalar | None]:
    """Return what changes along with the writes, None where to what is not known; not what is so before anything is written."""
    before, after = settle(registry, present, {}).values, settle(registry, present, wanted).values
    return {name: value for name, value in after.items() if name not in wanted and before.get(name) != value}


def _apply(rule: Dependency, registry: Registry, values: dict[str, Scalar | None], flags: dict[str, set[str]]) -> bool:
    """Carry out one dependency where its terms hold; return whether it changed anything."""
    if rule.property == _VALUE:
        to = named(registry, rule.target, rule.value)
        if rule.target not in values or values[rule.target] == to or not _holds(rule.terms, registry, values, flags):
            return False
        values[rule.target] = to
        return True
    own = flags.get(rule.target)
    if rule.property not in FLAGS or own is None or (rule.property in own) == (rule.value is True):
        return False
    if not _holds(rule.terms, registry, values, flags):
        return False
    (own.add if rule.value is True else own.discard)(rule.property)
    return True


def _holds(terms: tuple[Term, ...], registry: Registry, values: dict[str, Scalar | None], flags: dict[str, set[str]]) -> bool:
    """Return whether the terms hold; what is left unjoined is a choice."""
    stack: list[bool] = []
    for term in terms:
        stack.append(_term(term, registry, values, flags))
        for joined in term.joined[: len(stack) - 1]:
            last, before = stack.pop(), stack.pop()
            stack.append((before and last) if joined == "AND" else (before or last))
    return any(stack)


def _term(term: Term, registry: Registry, values: dict[str, Scalar | None], flags: dict[str, set[str]]) -> bool:
    if term.property != _VALUE:
        return (term.property in flags.get(term.attribute, ())) == (term.value is True)
    value, other = values.get(term.attribute), named(registry, term.attribute, term.value)
    if value is None:
        return False
    if term.condition in ("EQU", "NEQ"):
        return (value == other) is (term.condition == "EQU")
    if isinstance(value, int) and isinstance(other, int):
        return _COMPARE[term.condition](value, other)
    return False


_NOT_THERE = (
    "notavailable", "not available", "n/a", "na", "notapplicable", "not applicable", "unsupported", "not supported",
)  # fmt: skip
"""What a BIOS says in place of the value of an option that this machine has not."""

FLAG_WORDS = {"ReadOnly": "read-only", "GrayOut": "greyed out", "Hidden": "hidden", "Immutable": "immutable"}


@dataclass(frozen=True)
class FirmwareState:
    """What is known of the machine's firmware."""

    vendor: Vendor
    platform: str | None = None
    bios: Bios | None = None
    registry: Registry | None = None
    include: frozenset[Include] = field(default_factory=frozenset)
    order: bool = False
    """Hardware on order: nothing of it can be known, and its script saves what is there."""
    unchecked: frozenset[str] = frozenset()
    """Attributes that may be written though nobody can check their values."""
    forecast: Forecast | None = field(default=None, compare=False, repr=False)
    """What rules would find once attributes are changed; None if nobody can ask them."""

    @property
    def present(self) -> Mapping[str, Scalar | None]:
        """Return the present attributes; {} where none were given."""
        return self.bios.attributes if self.bios else {}

    def now(self, attribute: str) -> Scalar | None:
        """Return the current value of an attribute as the vendor's tools take it; None where it is not known.

        A file may hold the menu's words where the tools take names: those are the registry's, or the sheet's.
        """
        value = self.present.get(attribute)
        if self._takes_words:
            return value
        known = self.known(attribute)
        return known.named(value) if known else self._own_word(attribute, value)

    @property
    def _takes_words(self) -> bool:
        return self.vendor.redfish is not None and self.vendor.redfish.menu_words

    def nameless(self, attribute: str, names: Iterable[VendorValue]) -> bool:
        """Return whether a file is in the menu's words, and what the vendor's tools call this current value is not known."""
        if self.registry is not None or self._takes_words or attribute not in self.present:
            return False
        shown = self.vendor.shown
        in_words = any(self.present.get(name) in set(words.values()) - words.keys() for name, words in shown.items())
        return in_words and self.now(attribute) not in {*names, *shown.get(attribute, {})}

    def lacks(self, attribute: str) -> str | None:
        """Return why an attribute is not one of this machine's; None where it is, or nothing says."""
        if self.bios is not None:
            if attribute not in self.bios.attributes:
                return "it is not among the given BIOS attributes"
            value = self.bios.attributes[attribute]
            if value is None or (isinstance(value, str) and value.strip().lower() in _NOT_THERE):
                return f"the BIOS reports {value}" if value else "the BIOS reports no value for it"
        if self.registry is not None:
            if attribute not in self.registry.attributes:
                return "the attribute registry does not list it"
            if flags := static(self.registry, attribute):
                return f"it is {FLAG_WORDS[flags[0]]} according to the attribute registry"
        return None

    def unsaid(self, attribute: str, label: str) -> str | None:
        """Return why it is not certain that an attribute of a code is what a sheet takes it for; None where it is."""
        if not CODE.fullmatch(attribute):
            return None
        if self.registry is None:
            return (
                f"no registry: the meaning of {attribute} differs between boards; give its attribute registry with another --bios"
            )
        known = self.known(attribute)
        if known is None or known.shown is None or _plain(known.shown) == _plain(label):
            return None
        return f"the attribute registry labels {attribute} '{known.shown}' here, not '{label}'"

    def known(self, attribute: str) -> Attribute | None:
        """Return what the registry has of an attribute."""
        return self.registry.attributes.get(attribute) if self.registry else None

    def takes(self, attribute: str, value: Scalar) -> bool:
        """Return whether the registry allows a value; True where none was given."""
        known = self.known(attribute)
        return known is None or known.takes(value) or _chosen(known, value) is not None

    def no_way_back(self, attribute: str, now: Scalar) -> str | None:
        """Return why a current value cannot be written again to the letter, as the way back does; None without a registry."""
        known = self.known(attribute)
        if known is None or known.takes(now):
            return None
        return f"is set to {now}, which the attribute registry does not allow: the change could not be undone"

    def told_by_sheet(self, attribute: str, value: VendorValue) -> dict[str, VendorValue]:
        """Return what changes along with a profile, as the vendor's sheet has it, of what this machine has and sees otherwise."""
        found: dict[str, VendorValue] = {}
        for lock in self.locks:
            for stem, to in self.sets(lock, attribute, value).items() if is_named(lock.attribute, attribute) else ():
                name = next((name for name in self.present if is_named(stem, name)), stem)
                now = self.now(name)
                if self.lacks(name) is None and (now is None or not self.same(name, now, to)):
                    found[name] = to
        return found

    def sets(self, lock: Lock, attribute: str, value: Scalar | None) -> Mapping[str, VendorValue]:
        """Return what a value of a profile sets; {} where that is not known."""
        return next((sets for word, sets in lock.sets.items() if self.same(attribute, word, value)), {})

    def spelled(self, attribute: str, value: VendorValue) -> VendorValue | None:
        """Return a value as the vendor's tools take it; None where the registry does not allow it, or its kind is another."""
        now = self.now(attribute)
        if known := self.known(attribute):
            choice = _chosen(known, value)
            if choice is None:
                whole = int(value) if known.kind == "Integer" and str(value).isdigit() else value
                return whole if not known.values and known.takes(whole) else None
            shown = self._takes_words and all(now != each.name for each in known.values)
            return choice.shown if shown and any(now == each.shown for each in known.values) else choice.name
        return _alike(now, value)

    def same(self, attribute: str, one: Scalar | None, other: Scalar | None) -> bool:
        """Return whether two values of an attribute mean the same."""
        known = self.known(attribute)
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
        vendor, platform = self.vendor, self.platform
        return tuple(each for each in vendor.locks if platform is None or vendor.serves(each.platforms, platform))


def _chosen(known: Attribute, value: VendorValue) -> Allowed | None:
    """Return the registry's choice for a value: of that name or those words, else one that differs in its spelling alone."""
    exact = [each for each in known.values if value in (each.name, each.shown)]
    plain = [each for each in known.values if _plain(str(value)) in (_plain(each.name), _plain(each.shown))]
    return next(iter(exact), None) or (plain[0] if len(plain) == 1 else None)


def _alike(now: Scalar | None, value: VendorValue) -> VendorValue | None:
    """Return a value in the kind and the manner of the present one: Enable where others say Enabled."""
    if now is None or type(now) is type(value):
        short = {"Enabled": "Enable", "Disabled": "Disable"}
        return short.get(value, value) if isinstance(value, str) and now in short.values() else value
    if isinstance(now, bool) or isinstance(value, bool):
        return None
    if isinstance(now, int):
        return int(value) if str(value).lstrip("-").isdigit() else None
    return str(value)


def _plain(word: str) -> str:
    """Return a word without what differs between a value's name and the menu's words for it."""
    letters = "".join(each for each in word.lower() if each.isalnum())
    return {"enable": "enabled", "disable": "disabled"}.get(letters, letters)


Kind = Literal["wanted", "first", "again"]
_LAST = len(SEVERITIES) - 1


@dataclass(frozen=True)
class Draft:
    """One attribute and the value it is to have, and for whom."""

    attribute: str
    value: VendorValue
    now: Scalar | None = None
    wishes: tuple[WantedSetting, ...] = ()
    kind: Kind = "wanted"
    group: str | None = None
    label: str = ""
    menu: str = ""
    why: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    needs: str | None = None
    """What it would need first and does not get: SysProfile=Custom in place of PerfOptimized."""
    marks: tuple[Mark, ...] = ()
    active: bool = True
    verified: bool = False

    @property
    def serious(self) -> bool:
        """Return whether a wish behind it is neither contested nor a matter of taste."""
        return any(not wish.contested and wish.speak[0].severity != "info" for wish in self.wishes)

    @property
    def chosen(self) -> bool:
        """Return whether only what the server is set for asks for it."""
        return bool(self.wishes) and all(wish.chosen for wish in self.wishes)

    @property
    def weight(self) -> int:
        """Return how much it matters: 0 is most."""
        found = [SEVERITIES.index(each.severity) for wish in self.wishes for each in wish.speak]
        return min(found, default=_LAST)

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules that want it."""
        return tuple(dict.fromkeys(rule for wish in self.wishes for rule in wish.rules))

    @property
    def title(self) -> str:
        """Return what it is, in words."""
        return " and ".join(dict.fromkeys(wish.title for wish in self.own)) or self.label or self.attribute

    @property
    def own(self) -> tuple[WantedSetting, ...]:
        """Return the wishes for this attribute itself; a profile may answer others."""
        return tuple(wish for wish in self.wishes if wish.place and wish.place.attribute == self.attribute)

    def told(self) -> str:
        """Return the write with who wants it: ``ProcCStates=Enabled (power-cstates-off)``."""
        return f"{self.attribute}={self.value}" + (f" ({', '.join(self.rules)})" if self.rules else "")

    def left(self, reason: str) -> NotWritten:
        """Return it as something that is not written, with the reason."""
        return NotWritten(
            title=self.title,
            wanted=f"{self.attribute}={self.value}",
            reason=reason,
            rules=self.rules,
            setting=self.wishes[0].setting if self.wishes else None,
            attribute=self.attribute,
            group=self.group,
            menu=self.menu or None,
            says=next((wish.claim for wish in self.wishes if wish.claim), None),
        )

    def joined(self, other: "Draft") -> "Draft":
        """Return the two as one: the same attribute and value, for the wishes of both."""
        return replace(
            self,
            wishes=tuple({wish.setting: wish for wish in (*self.wishes, *other.wishes)}.values()),
            kind="wanted" if "wanted" in (self.kind, other.kind) else self.kind,
            why=tuple(dict.fromkeys((*self.why, *other.why))),
            first=tuple(dict.fromkeys((*self.first, *other.first))),
            marks=tuple(mark for mark in self.marks if mark in other.marks),
            active=self.active or other.active,
        )


@dataclass
class LeftOut:
    """Everything that is wanted and not written."""

    look_up: list[NotWritten] = field(default_factory=list)
    contested: list[NotWritten] = field(default_factory=list)
    absent: list[NotWritten] = field(default_factory=list)
    by_hand: list[NotWritten] = field(default_factory=list)
    refused: list[NotWritten] = field(default_factory=list)
    content: dict[str, tuple[VendorValue, WantedSetting]] = field(default_factory=dict)
    """What is as wanted already: attribute -> value, and the wish that is content."""

    def refuse(self, drafts: Iterable[Draft], reason: Callable[[Draft], str]) -> None:
        """List drafts as refused, each with its reason."""
        self.refused += [draft.left(reason(draft)) for draft in drafts]


Wanted = Mapping[str, VendorValue]

_FREE = ("custom", "custommode", "manual")
"""What vendors call the value of a profile that lets go of what it holds."""
_TRIES = 12


def refusals(wanted: Wanted, ground: FirmwareState) -> dict[str, str]:
    """Return why attributes may not be written: attribute -> the reason and the cure; {} where all may.

    A value that was read is a legal way back, whatever the registry says of it.
    """
    found = {name: why for name, value in wanted.items() if (why := _alone(name, value, ground))}
    if found or ground.registry is None:
        return found
    changing = {name: value for name, value in wanted.items() if not ground.same(name, ground.now(name), value)}
    return dict(_together(changing, ground, ground.registry)) if changing else {}


def _alone(name: str, value: VendorValue, ground: FirmwareState) -> str | None:
    """Return why an attribute may not have a value, whatever else is written."""
    known = ground.registry.attributes.get(name) if ground.registry else None
    if what := out_of_reach(name, known.shown if known else None):
        return f"{what}: no plan may change this"
    if known is not None and known.kind == "Password":
        return "passwords and keys: no plan may change these"
    if ground.registry is None and CODE.fullmatch(name):
        return f"{name} is defined only in the attribute registry, which is not available; advisor does not set it blindly"
    if ground.bios is not None and name not in ground.present:
        near = did_you_mean(name, ground.present, "see advisor bios read", cutoff=0.8)
        return f"this machine's BIOS does not have it; {near}"
    if lacks := ground.lacks(name):
        return lacks
    now = ground.now(name)
    if type(now) is type(value) and now == value:
        return None
    if known is not None and not ground.takes(name, value):
        return f"{_worded(value)} is not a legal value; allowed: {legal(known)}"
    kinds = {type(now), type(value)}
    if known is None and now is not None and len(kinds) > 1:
        return f"{_worded(value)} has a different type than its current value {_worded(now)}"
    return None


def legal(known: Attribute) -> str:
    """Return what an attribute takes, in words."""
    if known.values:
        return ", ".join(each.name if each.name == each.shown else f"{each.name} ({each.shown})" for each in known.values[:16])
    if known.kind == "Integer":
        low, high = (str(each) if each is not None else "" for each in (known.lower, known.upper))
        return f"a whole number, {low}..{high}" if low or high else "a whole number"
    return {"Boolean": "true or false", "String": "a text"}.get(known.kind, known.kind)


def _worded(value: Scalar | None) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _together(wanted: Wanted, ground: FirmwareState, registry: Registry) -> Iterator[tuple[str, str]]:
    """Yield what the dependencies keep from being written, or set to something else."""
    after = settle(registry, ground.present, wanted)
    for name, value in wanted.items():
        if flags := after.refuses(name):
            yield name, _held(name, flags[0], wanted, after, ground=ground, registry=registry)
        elif after.values.get(name) != named(registry, name, value):
            yield name, _overwritten(name, after, registry)


def _held(name: str, flag: str, wanted: Wanted, after: Settled, *, ground: FirmwareState, registry: Registry) -> str:
    """Return by what an attribute is held, and what lets go of it."""
    rule = next(
        (
            each
            for each in registry.dependencies
            if (each.target == name and each.property == flag and (each.value is True)) and holds(each, registry, after)
        ),
        None,
    )
    if rule is None:
        return f"it is {FLAG_WORDS[flag]}"
    holders = [term.attribute for term in rule.terms if term.property not in FLAGS]
    said = " and ".join(f"{each}={after.values.get(each)}" for each in dict.fromkeys(holders))
    if not said:
        return f"it is {FLAG_WORDS[flag]}"
    for holder in dict.fromkeys(holders):
        if (value := _free(name, holder, wanted, ground=ground, registry=registry)) is not None:
            return f"{said} makes this attribute {FLAG_WORDS[flag]}: set {holder} to {value} first (the same plan may do both)"
    return f"{said} makes it {FLAG_WORDS[flag]}"


def _free(name: str, holder: str, wanted: Wanted, *, ground: FirmwareState, registry: Registry) -> str | None:
    """Return a value of what holds an attribute that lets go of it; those that vendors mean for that come first."""
    known = registry.attributes.get(holder)
    choices = [each.name for each in known.values] if known and not out_of_reach(holder) else []
    ranked = sorted(choices, key=lambda each: each.lower().replace(" ", "") not in _FREE)
    for value in ranked[:_TRIES]:
        after = settle(registry, ground.present, {**wanted, holder: value})
        if not after.refuses(name) and after.values.get(name) == named(registry, name, wanted[name]):
            return value
    return None


def _overwritten(name: str, after: Settled, registry: Registry) -> str:
    """Return what sets an attribute to something else."""
    if name in after.contradicted:
        return f"the attribute registry contradicts itself: {after.word(name)}; omit this attribute or the one it depends on"
    value = after.values.get(name)
    rules = [rule for rule in registry.dependencies if rule.target == name and rule.property == "CurrentValue"]
    rule = next((each for each in rules if named(registry, name, each.value) == value and holds(each, registry, after)), None)
    if rule is None:
        return f"the attribute registry sets it to {value}"
    said = " and ".join(f"{each}={after.values.get(each)}" for each in dict.fromkeys(term.attribute for term in rule.terms))
    return f"{said} sets it to {value}: choose one of the two"
