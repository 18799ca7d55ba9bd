"""What rules and intents want of each setting, in this machine's own words: attributes, what to type, how it goes back."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from advisor.advice.know.vendors import commands_of, keeper_of, settings, undo_of, vendor_by_id
from advisor.advice.model.findings import UNKNOWN_NAME, USUAL_NAME, Finding, Fix, Row, Want
from advisor.advice.model.plan import Other, Target, Wanted, WantedSetting, edit_instruction, filled_lines
from advisor.advice.model.sheets import (
    SEVERITIES,
    TOPIC,
    Absent,
    Choice,
    Entry,
    Intent,
    Intents,
    Lock,
    Neutral,
    Place,
    Require,
    Setting,
    Vendor,
    VendorValue,
    Verdict,
    is_named,
)
from advisor.machine.hardware import Bios, Scalar
from advisor.machine.units import binary
from advisor.measure.platform import IntentName, Platform
from advisor.paths import rules
from advisor.sheets import load_sheet


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
    usual = locate(words.but(setup=vendor.setup or words.setup), platform_id, setting, value)
    if usual is None:
        return None
    note = f"{vendor.name}'s own names are unknown; these are the usual ones"
    return usual.but(vendor=vendor.id, notes=(note, *usual.notes))


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


def attributes_named(entry: Entry | str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the attributes of a BIOS that an entry means: one, none, or several of one beginning."""
    if isinstance(entry, Entry):
        if entry.attribute:
            return (entry.attribute,) if entry.attribute in names else ()
        if entry.numbered:
            return tuple(name for name in names if number_of(entry.numbered, name) is not None)
    stem = entry if isinstance(entry, str) else entry.prefix
    return () if stem is None else tuple(name for name in names if is_named(stem, name))


def _place(vendor: Vendor, platform: str | None, setting: Setting, value: Neutral, *, entry: Entry, bios: Bios | None) -> Place:
    present = tuple(bios.attributes) if bios else ()

    def one_of(named: Entry | str) -> str | None:
        """Return the attribute that is meant on this board, where it is one."""
        found = attributes_named(named, present)
        return found[0] if len(found) == 1 else None

    word, name = _vendor_value(entry, setting, value), entry.attribute or entry.prefix or entry.numbered
    attribute = entry.attribute or one_of(entry)
    locks = [lock for lock in vendor.locks if name in lock.of and (platform is None or vendor.serves(lock.platforms, platform))]
    wanted: tuple[Require | Lock, ...] = (*locks[: None if platform else 1], *entry.requires)
    needs = [(need, one_of(need.attribute) or need.attribute) for need in wanted]
    names = {(each.attribute, each.prefix, each.numbered) for each in vendor.settings[setting.name]}
    certain = platform is not None or len(names) == 1
    steps: list[Target] = []
    if word is not None and certain and (attribute or not vendor.tools.set):
        steps = [Target(named, need.value, need.group or entry.group, need.label or "", "") for need, named in needs]
        steps.append(Target(attribute or "", word, entry.group, entry.label, entry.menu))
    notes = [edit_instruction(vendor.tools.edit, step) for step in steps] if vendor.tools.edit is not None else []
    # What a profile holds is written by a plan, or not at all.
    held = "also controls it: advisor checklist sets both consistently, or says why it cannot"
    notes += [f"{need.attribute} {held}" for need, _ in needs if isinstance(need, Lock)]
    if not certain:
        notes.append("the processor's generation is unknown, and the name depends on it: check before you type it")
    if word is None:
        notes.append("the vendor's name for this value is unknown: choose it in the menu")
    seen = word is not None and certain and vendor.shows(entry, platform, str(value))
    return Place(
        vendor=vendor.id,
        setting=setting.name,
        menu=" > ".join(part for part in (vendor.setup, entry.menu) if part),
        label=entry.label,
        attribute=attribute or name,
        vendor_value=word,
        group=entry.group,
        path=entry.menu,
        exact=attribute is not None and certain,
        requires=tuple(need.but(attribute=named) for need, named in needs if isinstance(need, Require)),
        spoken=entry.values,
        show=filled_lines(vendor.tools.show, steps[-1:]) if steps else (),
        commands=(*vendor.tools.prepare, *filled_lines(vendor.tools.set, steps)) if steps and not locks else (),
        apply=vendor.tools.apply if steps else (),
        prerequisites=tuple((named, need.value, need.because) for need, named in needs),
        notes=(*notes, *entry.side_effects, *([entry.note] if entry.note else [])),
        verified=seen and all(vendor.shows_need(need, platform) for need, _ in needs),
    )


def _vendor_value(entry: Entry, setting: Setting, value: Neutral) -> VendorValue | None:
    if not setting.takes(value):
        return None
    if entry.passes:
        return int(value) if entry.passes == "integer" and isinstance(value, int) else str(value)
    return entry.values.get(str(value))


Attributes = Mapping[str, Scalar | None]


def neutral_values(vendor: Vendor, platform_id: str | None, bios: Bios, *, pending: bool = False) -> dict[str, Neutral]:
    """Return each setting that the attributes tell, in neutral words; what they do not tell is not in it.

    With ``pending``, the values as they will be after the next restart.
    """
    attributes = {**bios.attributes, **(bios.pending or {})} if pending else bios.attributes
    # The values' own names where a BIOS holds the words of the menu, as far as the sheet has them.
    shown = ((name, word) for name, words in vendor.shown.items() for word, menu in words.items() if attributes.get(name) == menu)
    words, known = {**bios.also, **dict(shown)}, settings()
    values: dict[str, Neutral] = {}
    for name in vendor.settings:
        # The one value that all entries agree on whose attributes are there, and mean something.
        entries = [
            entry
            for entry in entries_of(vendor, platform_id, name)
            if all(_holds(need, attributes) for need in entry.requires if need.gates)
        ]
        readings = {value for entry in entries for value in _read(known[name], entry, attributes, words)}
        value = readings.pop() if len(readings) == 1 else None
        if value is not None:
            values[name] = value
    return values


def _read(setting: Setting, entry: Entry, attributes: Attributes, words: Mapping[str, str]) -> set[Neutral | None]:
    """Return what the attributes of an entry say in neutral words; None where they differ, or the sheet has no word."""
    names, values = attributes_named(entry, tuple(attributes)), set[Neutral | None]()
    for name in names:
        value, other = _neutral(setting, entry, attributes[name]), words.get(name)
        values.add(_neutral(setting, entry, other) if value is None else value)
    return values if len(names) < 2 or len(values) == 1 else {None}


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


AskedValue = tuple[Finding, Want]

WEIGHT = ("finding", "waived", "unknown", "pass")
OPEN = ("finding", "waived")
"""Verdicts of what is not as wanted; what a site waives is shown, and never written."""


def asked_by_setting(asked: Iterable[Finding], decided: Mapping[str, str | None] | None = None) -> dict[str, list[AskedValue]]:
    """Return what is asked of each setting, the weightiest verdict first.

    ``decided`` has values that the model decides, and None for a setting whose value nothing decides.
    """
    known = decided or {}
    result: dict[str, list[AskedValue]] = {}
    for finding in asked:
        for want in finding.wants:
            value = known.get(want.setting) if want.value is None else want.value
            if want.setting in known and known[want.setting] is None:
                value = None
            result.setdefault(want.setting, []).append((finding, want.but(value=value)))

    def says_most(asked: AskedValue) -> tuple[bool, int, int]:
        """Return what is sorted by: a value that is known, the weight of the verdict, the severity."""
        each, want = asked
        return want.value is None, WEIGHT.index(each.verdict), SEVERITIES.index(each.severity)

    return {name: sorted(pairs, key=says_most) for name, pairs in result.items()}


def wanted_setting(setting: Setting, row: Row | None, pairs: list[AskedValue], places: "Places", *, text: str) -> WantedSetting:
    """Return what is wanted of a setting, and its place; ``text`` stands where no value is known."""
    finding, want = pairs[0]
    current, value = row.current if row else None, want.value
    verdicts = {found.verdict for found, _ in pairs}
    so = current is not None and {asked.value for _, asked in pairs} == {current}
    done = False if not verdicts.isdisjoint(OPEN) else True if so or verdicts == {"pass"} else None
    if done and current is not None and setting.takes(setting.neutral(current)) and current not in setting.only_read:
        value = current
    place = places.of(setting, value)
    weight = [(found, asked.value) for found, asked in pairs if found.verdict == "finding" and asked.value is not None]
    serious = [each for each in weight if each[0].severity != "info"] or weight  # what is taste yields to what is not
    others = [Other(id=found.id, wanted=wish, refs=found.refs) for found, wish in serious if wish is not None and wish != value]
    return WantedSetting(
        setting=setting.name,
        title=setting.heading,
        where=setting.where,
        value=value,
        text=value_with_unit(setting, value) or text or finding.want or "depends on the machine",
        now=current,
        stands=value_with_unit(setting, current),
        done=done,
        wanted=tuple(_wanted(found, asked) for found, asked in pairs),
        others=tuple(others) if not done else (),
        guides=tuple({(guide.says, guide.ref): guide for found, _ in pairs for guide in found.guides}.values()),
        place=place,
        kept=keeper_of(setting, setting.neutral(value), current) if value is not None else None,
        menu=f"{place.path} > {place.label}" if place and place.path else setting.menu[0] if setting.menu else setting.term,
        only_with=setting.only_with.get(value) if value is not None else None,
        breaks=what_breaks(setting),
    )


def what_breaks(setting: Setting) -> str | None:
    """Return what a change of a setting can break; None where its sheet knows nothing."""
    return None if setting.breaks == "nothing known" else setting.breaks


@dataclass(frozen=True)
class Places:
    """Where a machine's BIOS has the settings: each is looked up once, and findings, checklist and plan carry what was found."""

    vendor: Vendor
    platform: str | None
    bios: Bios | None = None
    _found: dict[tuple[str, str | None], Place | None] = field(default_factory=dict, compare=False, repr=False)

    def of(self, setting: Setting, value: str | None) -> Place | None:
        """Return where a setting is found, of an unknown value its menu; None for the operating system's, and if not known."""
        if setting.set is not None or setting.where != "bios":
            return None
        if (setting.name, value) not in self._found:
            wanted = setting.neutral(next(iter(setting.values), "0") if value is None else value)
            self._found[setting.name, value] = locate(self.vendor, self.platform, setting, wanted, self.bios)
        return self._found[setting.name, value]


def _wanted(finding: Finding, want: Want) -> Wanted:
    dissent = finding.severity == "low" and any(guide.otherwise for guide in finding.guides)
    return Wanted(
        id=finding.id,
        verdict=finding.verdict,
        severity=finding.severity,
        gain=gain_text(finding),
        contested=finding.severity == "info" or dissent,
        value=want.value,
        claim=(finding.claim or finding.title) if finding.verdict in OPEN else None,
        chosen=finding.guides if finding.topic == TOPIC else (),
    )


def gain_text(finding: Finding) -> str | None:
    """Return what a finding costs in words, with its source."""
    cost = finding.cost
    if cost is None:
        return None
    part = f"{100 * cost.gain:.0f} % of {cost.of}" if cost.gain is not None else cost.of
    return f"{part}, {cost.basis}{f' [{cost.ref}]' if cost.ref else ''}"


def value_with_unit(setting: Setting, value: str | None) -> str | None:
    """Return a value with its unit: ``132 MiB`` for bytes."""
    if value is None or not setting.unit or not value.isdigit():
        return value
    return binary(int(value)) if setting.unit == "B" else f"{value} {setting.unit}"


def with_fixes(
    findings: tuple[Finding, ...], settings: Mapping[str, Setting], standing: Mapping[str, str], places: Places
) -> tuple[Finding, ...]:
    """Return the findings with the steps that fix them; ``standing`` holds the current values, for undoing."""
    return tuple(
        each.but(fix=fixes(each, settings, standing, places)) if each.verdict == "finding" else each for each in findings
    )


def fixes(finding: Finding, settings: Mapping[str, Setting], standing: Mapping[str, str], places: Places) -> tuple[Fix, ...]:
    """Return the steps of one finding: its settings one after the other, and its own advice."""
    steps = [fix_of(settings[want.setting], want, standing.get(want.setting), places) for want in finding.wants]
    if finding.advice:
        steps.append(Fix(text=finding.advice, where=finding.where, check=finding.check, undo=finding.undo))
    return tuple(steps)


_OPEN = "the value for this machine"


def fix_of(setting: Setting, want: Want, current: str | None, places: Places) -> Fix:
    """Return how one setting gets its wanted value on this machine, and how it gets back."""
    value = want.value
    step: dict[str, Any] = {"setting": setting.name, "value": value, "where": setting.where, "reboot": setting.reboot}
    if setting.set is not None or setting.where != "bios":  # the operating system's: at once, and so that it lasts
        neutral = None if value is None else setting.neutral(value)
        return Fix(
            **step,
            text=f"set {setting.term} to {_OPEN if value is None else value}",
            commands=commands_of(setting, neutral) if neutral is not None else (),
            check=setting.show,
            undo=undo_of(setting, current, neutral),
        )
    place, vendor = places.of(setting, value), places.vendor
    if place is None:
        # A setting of processors of several vendors has another name on each.
        menu = setting.menu[0] if setting.menu and len(setting.makers) == 1 else setting.heading
        absent = not_offered(vendor, places.platform, setting.name)
        usual = USUAL_NAME if menu != setting.heading else UNKNOWN_NAME
        note = f"{vendor.name}: {absent.reason}" if absent else usual
        text = f"BIOS: set {menu} to {value or _OPEN}"
        return Fix(**step, text=text, menu=menu, check=setting.show, undo=_back(current), notes=(note,))
    menu = f"{place.menu} > {place.label}"
    named = value is not None and place.attribute and place.vendor_value is not None
    shown = _OPEN if value is None else value if place.vendor_value is None else place.vendor_value
    if value is not None:
        step |= {
            "attribute_value": place.vendor_value,
            "commands": place.commands,
            "apply": place.apply,
            "before": tuple(f"{name} = {needed}: {why}" for name, needed, why in place.prerequisites),
            "verified": place.verified,
        }
    return Fix(
        **step,
        text=f"BIOS: {menu}: {shown}" + (f" ({place.attribute}={place.vendor_value})" if named else ""),
        menu=menu,
        attribute=place.attribute,
        notes=place.notes,
        check=place.show[-1] if place.show else setting.show,
        undo=_back(None if current is None else place.spoken.get(current, current)),
    )


def _back(former: object) -> str | None:
    return f"set it back to {former}" if former is not None else None


@cache
def intents() -> Mapping[IntentName, Intent]:
    """Return every intent by its name."""
    return load_sheet(rules() / "intents.yaml", Intents).root


@dataclass(frozen=True)
class Asking:
    """An intent, and the rules beside which it asks: those that set a setting are asked first whether it applies here."""

    name: IntentName
    intent: Intent
    setters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Setting -> the rules that set it for this work."""

    def heard(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the verdicts without those of rules that the intent sets aside."""
        return tuple(each for each in findings if each.id not in self.intent.sets_aside)

    def choice(self, setting: str, platform: Platform | None, vendor: str) -> Choice | None:
        """Return what the guides want of a setting on such a server; None where none speaks of it."""
        fitting = (
            each
            for each in self.intent.settings.get(setting, ())
            if (not each.vendors or vendor in each.vendors)
            and (not each.platforms or (platform is not None and any(query.fits(platform) for query in each.platforms)))
        )
        return next(fitting, None)


@dataclass(frozen=True)
class Ground:
    """What an intent is asked of: the verdicts, what settings are set to, whose server it is."""

    findings: tuple[Finding, ...]
    rows: Mapping[str, Row]
    places: Places
    platform: Platform | None
    decided: Mapping[str, str | None]


def asked_for(asking: Asking, ground: Ground) -> Iterator[Finding]:
    """Yield what an intent asks for: a finding where the setting differs, a pass where it is so, else unknown."""
    for name in asking.intent.settings:
        setting, vendor = settings()[name], ground.places.vendor.id
        choice = asking.choice(name, ground.platform, vendor)
        here = ground.platform is None or not setting.makers or ground.platform.maker in setting.makers
        named = entries_of(ground.places.vendor, ground.places.platform, name)
        if choice is None or not here or not named or not _applies(asking, name, ground):
            continue
        value = choice.value or _by_rules(name, ground)
        if value is None:
            continue
        verdict = _verdict(setting, value, ground)
        if verdict == "finding" and choice.value is None and _content(name, value, ground):
            continue
        guides = "; ".join(f"{guide.says} [{guide.ref}]" for guide in choice.guides)
        yield Finding(
            id=f"for-{asking.name}",
            title=f"{setting.term} should be {value} for {asking.name}",
            topic=TOPIC,
            verdict=verdict,
            severity="low",
            scope=(asking.intent.scope,),
            where="bios",
            claim=f"--for {asking.name}: {guides}" if verdict == "finding" else None,
            why=setting.values.get(value, ""),
            wants=(Want(setting=name, value=value),),
            check=setting.show,
            guides=choice.guides,
            refs=tuple(dict.fromkeys(guide.ref for guide in choice.guides)),
        )


def settled(asked: Mapping[str, list[AskedValue]]) -> dict[str, list[AskedValue]]:
    """Return what is asked of each setting, without what is a matter of choice where an intent has chosen otherwise."""
    result = {}
    for name, pairs in asked.items():
        chosen = {want.value for finding, want in pairs if finding.topic == TOPIC}
        kept = [(finding, want) for finding, want in pairs if want.value in chosen or finding.severity != "info"]
        result[name] = kept if chosen else pairs
    return result


def _applies(asking: Asking, name: str, ground: Ground) -> bool:
    """Return whether no rule on a setting, or not every one of them, says that it does not apply here."""
    verdicts = {each.verdict for each in ground.findings if each.id in asking.setters.get(name, frozenset())}
    return verdicts != {"not-applicable"}


def _by_rules(name: str, ground: Ground) -> str | None:
    """Return the value that the rules want of a setting; what they leave open the processor's model may decide."""
    wants = (want for each in ground.findings for want in each.wants if want.setting == name)
    values = {want.value or ground.decided.get(name) for want in wants} - {None}
    return values.pop() if len(values) == 1 else None


def _verdict(setting: Setting, value: str, ground: Ground) -> Verdict:
    """Return whether a setting has a value: as it is known to be set, else by the BIOS's own word for it."""
    row = ground.rows.get(setting.name)
    if row is not None and row.current is not None:
        return "pass" if row.current == value else "finding"
    place, bios = ground.places.of(setting, value), ground.places.bios
    there = bios is not None and place is not None and place.exact and place.attribute in bios.attributes
    return "finding" if there and place is not None and place.vendor_value is not None else "unknown"


def _content(name: str, value: str, ground: Ground) -> bool:
    """Return whether rules of weight are content with a setting as it is, though they want this value elsewhere."""
    asked = [each for each in ground.findings if any(want.setting == name and want.value == value for want in each.wants)]
    return any(each.verdict == "pass" and each.severity != "info" for each in asked) and all(
        each.verdict not in ("finding", "unknown") for each in asked
    )
