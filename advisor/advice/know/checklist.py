"""Makes the checklist of an audit: one line for each setting wanted and each state asked for, and notes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from advisor.advice.know.attributes import entries_of, not_offered
from advisor.advice.know.benchmarks import Known, bench_of, proofs, to_measure, unmeasured, unwatched
from advisor.advice.know.fixes import (
    OPEN,
    WEIGHT,
    AskedValue,
    Places,
    asked_by_setting,
    fix_of,
    gain_text,
    value_with_unit,
    wanted_setting,
)
from advisor.advice.know.vendors import vendor_by_id
from advisor.advice.model.checklist import HEADINGS, NAMED, NOTE_FIRST, Checklist, Cited, Group, Item, Other, Proof
from advisor.advice.model.findings import Audit, Finding, Fix, Row, Want
from advisor.advice.model.plan import WantedSetting
from advisor.advice.model.rule import SEVERITIES, Publication
from advisor.advice.model.setting import Setting
from advisor.advice.model.vendor import Vendor
from advisor.machine.hardware import Bios
from advisor.machine.platform_traits import Maker
from advisor.measure.platform import Platform


def notes(items: list[Item], vendor: Vendor) -> tuple[str, ...]:
    """Return what holds for several lines: the way to the menus, one restart, the vendor's quirks."""
    left = [item for item in items if not item.done]
    bios = [item for item in left if item.fix.where == "bios"]
    wrong = [item for item in left if item.done is False] or left
    restarts = [item for item in wrong if item.setting and item.fix.reboot != "no"]
    found = [f"The BIOS menus begin at: {vendor.setup}."] if bios and vendor.setup else []
    if len(restarts) > 1:
        found.append(f"{len(restarts)} settings need a restart: make all of them, then restart once.")
    if any(item.fix.reboot == "power-cycle" for item in restarts):
        found.append("At least one of them needs a power cycle, not only a restart.")
    if any(item.undo == NOTE_FIRST for item in left):
        found.append("Where no undo is named, note the present value first, for undoing.")
    found += [*vendor.notes, *vendor.tools.notes] if bios else []
    return tuple(dict.fromkeys(found))


_REBOOTS: Final = {"power-cycle": 0, "yes": 1, "no": 2}
_MOST_CLAIMS: Final = 3

_RESTARTS: Final = {"hardware": "power-cycle", "bios": "yes", "boot": "yes"}
"""What a state that is no setting needs to take effect, by where it is fixed."""


@dataclass(frozen=True)
class Sheets:
    """What a checklist is written with: the vocabulary, a vendor's words, and what is known of the machine beside its audit."""

    settings: Mapping[str, Setting]
    vendor: Vendor
    publications: Mapping[str, Publication] = field(default_factory=dict)
    bios: Bios | None = None
    maker: Maker | None = None
    hints: Mapping[str, str] = field(default_factory=dict)
    """Setting -> what it should be set to in words, where no machine shows the value."""
    decided: Mapping[str, str | None] = field(default_factory=dict)
    """Setting -> the value that the processor's model decides, where no machine shows it."""
    platform: Platform | None = None
    """Whose published results benchmarks are held against."""
    known: Known = field(default_factory=Known)
    found: Places | None = None
    """The places that the audit's own steps name; those of another maker's words, or another BIOS, are not asked for."""

    def places(self, platform: str | None) -> Places:
        """Return where settings are found: as the audit has it, where that was of the same words and the same BIOS."""
        asked = Places(self.vendor, platform, self.bios)
        return self.found if self.found == asked else asked


def checklist_with(audit: Audit, sheets: Sheets, machine: str | None = None) -> tuple[Checklist, tuple[WantedSetting, ...]]:
    """Return the checklist, and the wishes of its lines: what a plan is made from."""
    asked = [each for each in audit.findings if each.verdict in WEIGHT and not unmeasured(each) and not unwatched(each)]
    wanted, absent = _offered(asked_by_setting(asked, sheets.decided), sheets, audit.platform_id)
    rows, places = {row.name: row for row in audit.settings}, sheets.places(audit.platform_id)
    lines = [_setting(sheets.settings[name], rows.get(name), pairs, sheets, places) for name, pairs in wanted.items()]
    numbers = {own[0].id: number for number, own in enumerate(audit.by_rule, 1)}
    items = [_finished(item, numbers) for item in (*(item for item, _ in lines), *_states(asked))]
    vendor = sheets.vendor
    benches = proofs((item.proof for item in items if item.proof), sheets.platform, sheets.known)
    checklist = Checklist(
        machine=machine,
        platform=audit.platform,
        platform_id=audit.platform_id,
        vendor=vendor.name,
        vendor_id=vendor.id,
        scope=audit.scope,
        groups=_groups(items),
        notes=(*notes(items, vendor), *(to_measure(audit.findings) if machine else ())),
        apply=tuple(dict.fromkeys(line for item in items if not item.done for line in item.fix.apply)),
        absent=absent,
        left_out=len({f.id for f in audit.findings if f.verdict == "not-applicable"} - {f.id for f in asked}),
        proofs=benches,
        sources=tuple(_sources(items, benches, sheets.publications)),
    )
    return checklist, tuple(wish for _, wish in lines)


def _finished(item: Item, numbers: Mapping[str, int]) -> Item:
    """Return a line with the numbers that the audit gives its findings, and the benchmark that proves it."""
    found = tuple(sorted(numbers[rule] for rule in item.rules if rule in numbers))
    return item.model_copy(update={"numbers": found, "proof": bench_of(item.rules, item.setting, item.fix.where)})


def _groups(items: list[Item]) -> tuple[Group, ...]:
    """Return the items by where they are set, in the order in which one restart serves all; first what others depend on."""
    needed = {words.partition(" = ")[0] for item in items for words in item.fix.before}

    def order(item: Item) -> tuple[bool, int, int, str]:
        return item.fix.attribute not in needed, _REBOOTS[item.fix.reboot], SEVERITIES.index(item.severity), item.id

    grouped = ((where, tuple(sorted((i for i in items if i.fix.where == where), key=order))) for where in HEADINGS)
    return tuple(Group(where=where, heading=HEADINGS[where], items=found) for where, found in grouped if found)


def _offered(
    wanted: dict[str, list[AskedValue]], sheets: Sheets, platform_id: str | None
) -> tuple[dict[str, list[AskedValue]], tuple[str, ...]]:
    """Return what can be set here, and in words what this vendor does not offer; other processors' settings are in neither."""
    here: dict[str, list[AskedValue]] = {}
    absent = []
    for name, pairs in wanted.items():
        setting = sheets.settings[name]
        if setting.makers and sheets.maker and sheets.maker not in setting.makers:
            continue
        has = entries_of(sheets.vendor, platform_id, name)
        missing = None if has else not_offered(sheets.vendor, platform_id, name, "no")
        if missing is None or any(finding.verdict == "finding" for finding, _ in pairs):
            here[name] = pairs
        else:
            absent.append(f"{setting.term} ({pairs[0][0].id}): {missing.reason}")
    return here, tuple(absent)


def _setting(
    setting: Setting, row: Row | None, pairs: list[AskedValue], sheets: Sheets, places: Places
) -> tuple[Item, WantedSetting]:
    """Return the line of one setting, whatever many rules ask for it, and the wish behind it."""
    findings = [found for found, _ in pairs]
    first = findings[0]
    wish = wanted_setting(setting, row, pairs, places, text=sheets.hints.get(setting.name, ""))
    fix = fix_of(setting, Want(setting=setting.name, value=wish.value), wish.now, places)
    if fix.menu:
        fix = fix.model_copy(update={"menu": _inside(fix.menu, sheets.vendor)})
    # The values that differ from the one chosen, each with the rule that wants it.
    wishes = {want.value: each for each, want in reversed(pairs) if each.verdict != "pass" and want.value is not None}
    item = Item(
        id=first.id,
        rules=wish.rules,
        title=setting.heading,
        setting=setting.name,
        term=setting.term,
        fault=first.title,
        claim=first.claim if first.verdict in OPEN else None,
        look=_look(findings) if wish.done is None else None,
        subjects=_subjects(findings),
        done=wish.done,
        verdict=first.verdict,
        severity=min((each.severity for each in wish.speak), key=SEVERITIES.index),
        now=value_with_unit(setting, wish.now),
        pending=row.pending if row else None,
        wanted=wish.text,
        meaning=setting.values.get(wish.value) if wish.value else None,
        others=tuple(Other(id=each.id, wanted=value, refs=each.refs) for value, each in wishes.items() if value != wish.value),
        fix=fix,
        check=setting.show or _blank(first.check),
        undo=fix.undo or NOTE_FIRST,
        breaks=None if setting.breaks == "nothing known" else setting.breaks,
        **_reasons(findings),
    )
    return item, wish


def _inside(menu: str, vendor: Vendor) -> str:
    """Return the way from the first menu on: how that is reached stands above the list, once."""
    fallback = vendor_by_id(vendor.falls_back).setup if vendor.falls_back else ""
    for setup in filter(None, (vendor.setup, fallback)):
        menu = menu.removeprefix(f"{setup} > ")
    return menu


def _subjects(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.subject for each in findings if each.subject and each.verdict in OPEN))


def _states(asked: Iterable[Finding]) -> Iterator[Item]:
    """Yield a line for each rule that is no setting and is not so, and one for each other state: no title has two answers."""
    by_state: dict[str, dict[str, list[Finding]]] = {}
    states = (each for each in asked if not each.wants and (each.want or each.advice))
    for finding in sorted(states, key=lambda each: (WEIGHT.index(each.verdict), SEVERITIES.index(each.severity))):
        by_state.setdefault(finding.want or finding.title, {}).setdefault(finding.id, []).append(finding)
    for rules in by_state.values():
        first, *more = rules.values()
        apart = [found for found in more if found[0].verdict in OPEN]  # a rule that finds something has its own line
        yield _state([*first, *(each for found in more if found not in apart for each in found)])
        yield from map(_state, apart)


def _state(findings: list[Finding]) -> Item:
    wrong = [each for each in findings if each.verdict in OPEN]
    unknown = any(each.verdict == "unknown" for each in findings)
    first = next(iter(wrong), findings[0])
    claims = list(dict.fromkeys(each.claim for each in wrong if each.claim))
    more, subjects = len(claims) - _MOST_CLAIMS, _subjects(findings)
    state = first.want or first.title
    return Item(
        id=first.id,
        rules=tuple(dict.fromkeys(each.id for each in findings)),
        fault=first.title,
        claim=claims[0] if claims else None,
        look=_look(findings) if unknown and not wrong else None,
        title=f"{state} ({', '.join(subjects)})" if 0 < len(subjects) <= NAMED else state,
        subjects=subjects,
        done=False if wrong else None if unknown else True,
        verdict=first.verdict,
        severity=first.severity,
        now="; ".join([*claims[:_MOST_CLAIMS], *([f"and {more} more"] if more > 0 else [])]) or None,
        wanted=state,
        fix=Fix(text=_blank(first.advice) or state, where=first.where, reboot=_RESTARTS.get(first.where, "no")),
        check=_blank(first.check),
        undo=_blank(first.undo),
        **_reasons(findings),
    )


def _look(findings: Iterable[Finding]) -> str | None:
    """Return what would make a line known: that which most of its rules wait for."""
    ways = Counter(lack.help for finding in findings if finding.verdict == "unknown" for lack in finding.lacks)
    return max(ways, key=lambda way: ways[way], default=None)


def _blank(text: str | None) -> str | None:
    """Return a text with an X where a value is not known: in a command to copy it stands for what the reader has."""
    return None if text is None else re.sub(r"(?<![\w?])\?(?![\w?])", "X", text)


def _reasons(findings: list[Finding]) -> dict[str, Any]:
    """Return why and what it is worth, as the weightiest rule says it, and the guides of all."""
    return {
        "why": findings[0].why,
        "cost": next((gain_text(each) for each in findings if each.cost), None),
        "spare": findings[0].spare,
        "guides": tuple({(guide.says, guide.ref): guide for each in findings for guide in each.guides}.values()),
        "refs": tuple(dict.fromkeys(ref for each in findings for ref in each.refs)),
    }


def _sources(items: list[Item], benches: Iterable[Proof], known: Mapping[str, Publication]) -> Iterator[Cited]:
    refs = dict.fromkeys(ref for item in items for ref in (*item.refs, *(guide.ref for guide in item.guides)))
    refs |= dict.fromkeys(each.ref for bench in benches for each in bench.expected)
    for ref in refs:
        if one := known.get(ref):
            yield Cited(id=ref, text=f"{one.title}, {one.by}{f', {one.year}' if one.year else ''}; {one.where}")
