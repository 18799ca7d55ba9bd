"""Makes a tuning checklist, of a machine or of hardware on order, the Plan behind it, and the format that is asked for."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from advisor import __version__
from advisor.advice.audit_page.card import Head, head_of
from advisor.advice.bios_files import BiosInput, firmware_from, must_fit, with_apply_time
from advisor.advice.checklist_page import Sheet, checklist_document, values
from advisor.advice.judgement import (
    HardwareOnOrder,
    Judgement,
    decided_by_model,
    forecast,
    judged,
    maker_of,
    named,
    rule_named,
)
from advisor.advice.know.benchmarks import Known, bench_of, proofs, to_measure, unmeasured, unwatched
from advisor.advice.know.fixes import (
    OPEN,
    WEIGHT,
    AskedValue,
    Asking,
    Ground,
    Places,
    asked_by_setting,
    asked_for,
    entries_of,
    fix_of,
    gain_text,
    intents,
    not_offered,
    settled,
    value_with_unit,
    wanted_setting,
    what_breaks,
)
from advisor.advice.know.vendors import FALLBACK, not_vendors, publications, settings, vendor_by_id
from advisor.advice.model.findings import Audit, Finding, Fix, Row, Want
from advisor.advice.model.plan import (
    HEADINGS,
    INCLUDES,
    NAMED,
    NOTE_FIRST,
    Checklist,
    Cited,
    Group,
    Include,
    Item,
    NotWritten,
    Other,
    Plan,
    Proof,
    WantedSetting,
)
from advisor.advice.model.sheets import SEVERITIES, Publication, Setting, Vendor
from advisor.advice.plan import make
from advisor.advice.plan.draft import FirmwareState, Forecast
from advisor.advice.plan.make import with_plan
from advisor.errors import BadInput, BadValue, must_be_one_of
from advisor.machine.hardware import Bios
from advisor.machine.jinja import about, fill, template_files, template_text
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.platform_traits import Maker
from advisor.machine.read import read_machine
from advisor.measure.platform import IntentName, Platform, Scope, platform_on_order
from advisor.measure.task import measurements_from


def notes(items: list[Item], vendor: Vendor) -> tuple[str, ...]:
    """Return what holds for several lines: the way to the menus, one restart, the vendor's quirks."""
    left = [item for item in items if not item.done]
    bios = [item for item in left if item.fix.where == "bios"]
    wrong = [item for item in left if item.done is False] or left
    restarts = [item for item in wrong if item.setting and item.fix.reboot != "no"]
    found = [f"To open the BIOS menus: {vendor.setup}."] if bios and vendor.setup else []
    if len(restarts) > 1:
        found.append(f"{len(restarts)} settings need a restart: change all of them, then restart once.")
    if any(item.fix.reboot == "power-cycle" for item in restarts):
        found.append("At least one of them needs a power cycle, not only a restart.")
    if any(item.undo == NOTE_FIRST for item in left):
        found.append("Where no undo is given, note the current value first.")
    found += [*vendor.notes, *vendor.tools.notes] if bios else []
    return tuple(dict.fromkeys(found))


_REBOOTS = {"power-cycle": 0, "yes": 1, "no": 2}
_MOST_CLAIMS = 3

_RESTARTS = {"hardware": "power-cycle", "bios": "yes", "boot": "yes"}
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
    """Setting -> the target value in words, where no machine shows the value."""
    decided: Mapping[str, str | None] = field(default_factory=dict)
    """Setting -> the value that the processor's model decides, where no machine shows it."""
    platform: Platform | None = None
    """Whose published results benchmarks are held against."""
    known: Known = field(default_factory=Known)
    asking: Asking | None = None
    """What the server is set for, beside what its rules want."""
    found: Places | None = None
    """The places that the audit's own steps name; those of another maker's words, or another BIOS, are not asked for."""

    def places(self, platform: str | None) -> Places:
        """Return where settings are found: as the audit has it, where that was of the same words and the same BIOS."""
        asked = Places(self.vendor, platform, self.bios)
        return self.found if self.found == asked else asked


def checklist_with(audit: Audit, sheets: Sheets, machine: str | None = None) -> tuple[Checklist, tuple[WantedSetting, ...]]:
    """Return the checklist, and the wishes of its lines: what a plan is made from."""
    rows, places = {row.name: row for row in audit.settings}, sheets.places(audit.platform_id)
    findings = audit.findings
    if sheets.asking is not None:
        findings = sheets.asking.heard(findings)
        ground = Ground(findings, rows, places, sheets.platform, sheets.decided)
        findings = (*findings, *asked_for(sheets.asking, ground))
    asked = [each for each in findings if each.verdict in WEIGHT and not unmeasured(each) and not unwatched(each)]
    wanted, absent = _offered(settled(asked_by_setting(asked, sheets.decided)), sheets, audit.platform_id)
    lines = [_setting(sheets.settings[name], rows.get(name), pairs, sheets, places) for name, pairs in wanted.items()]
    numbers = {own[0].id: number for number, own in enumerate(audit.by_rule, 1)}
    items = [
        item.but(
            numbers=tuple(sorted(numbers[rule] for rule in item.rules if rule in numbers)),
            proof=bench_of(item.rules, item.setting, item.fix.where),
        )
        for item in (*(item for item, _ in lines), *_wanted_states(asked))
    ]
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
        fix = fix.but(menu=_inside(fix.menu, sheets.vendor))
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
        breaks=what_breaks(setting),
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


def _wanted_states(asked: Iterable[Finding]) -> Iterator[Item]:
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


class Made(NamedTuple):
    """A checklist, the wishes of its lines, in whose words it is, and the BIOS, given or of the machine's own capture."""

    checklist: Checklist
    wishes: tuple[WantedSetting, ...]
    words: Vendor
    given: BiosInput
    head: Head
    """What the audit comes to."""
    intent: IntentName | None = None
    forecast: Forecast | None = None
    """What rules would find once attributes of the BIOS are changed."""


class Ordered(NamedTuple):
    """Hardware on order as it is named: by its platform, such as rome, or by its processor, such as EPYC 7702."""

    platform: str | None = None
    cpu: str | None = None


@dataclass(frozen=True)
class TuningChecklist:
    """A checklist, the plan behind it, and in whose words they are."""

    checklist: Checklist
    plan: Plan
    vendor: Vendor
    whole: Checklist
    """The list of which ``checklist`` may be a part."""
    head: Head
    again: tuple[str, ...] = ()
    """The words that ask for the same list once more: --from node.tar.gz."""

    def todo(self) -> "TuningChecklist":
        """Return it with what is known to be wrong alone."""
        return replace(self, checklist=self.checklist.todo())

    @property
    def sheet(self) -> Sheet:
        """Return it as pages show it."""
        return Sheet(self.checklist, self.plan, self.whole, self.vendor, self.head, self.again)

    @property
    def scripts(self) -> tuple[str, ...]:
        """Return the formats that this vendor's and every system's own tools take."""
        serving = {name: about(template_text(path)).vendors for name, path in formats().items()}
        own = [name for name, vendors in serving.items() if self.vendor.id in vendors]
        bmc = ["redfish"] if self.vendor.redfish else []
        return (*own, *bmc, *(name for name in SYSTEM_FILES if name in serving))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist --as json``."""
        return checklist_document(self.checklist)

    def plan_document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist --as plan``."""
        return {"schema": "advisor-plan/1", **self.plan.model_dump(mode="json")}

    def text(self, form: str) -> str:
        """Return the file of a format that a template makes; refuse one that is for another maker's tools."""
        template = template_of(form)
        if template is None:
            raise BadValue(f"no template makes {form}", cure="use document() or plan_document()")
        refused = complaint(form, template, self.vendor)
        if refused:
            raise refused
        return fill(template, values(self.sheet, __version__), str(formats()[form]))


def checklist(
    source: str | Machine | Ordered | None = None,
    scope: Scope = "mpi",
    *,
    vendor: str | None = None,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    include: Sequence[str] = (),
    only: Sequence[str] = (),
    intent: IntentName | None = None,
    unchecked: Sequence[str] = (),
    observer: Observer = SILENT,
) -> TuningChecklist:
    """Return the tuning checklist of a machine, None is this one, or of hardware on order, in its vendor's words or another's.

    A Machine itself is taken as it is: nothing asks whether the BIOS can be its own.

    ``include`` adds to the plan what files for tools leave out: unknown (current values), contested (by guides). ``only`` keeps
    the lines of some rules, each by its id or by the number that the audit gives its finding, of settings or of attributes.
    ``intent`` is what the server is set for: it settles what guides dispute, and its scope is the one that counts. ``unchecked``
    names attributes that it may set though neither a registry nor firmware of this generation shows their values.
    """
    scope = intents()[intent].scope if intent else scope
    given = firmware_from(bios)
    words = vendor_by_id(vendor) if vendor is not None else None
    order = isinstance(source, Ordered)
    if isinstance(source, Ordered):
        platform, model = platform_on_order(source.platform, source.cpu)
        line = must_fit(given, words, platform.id)
        result = judged(HardwareOnOrder(platform, words or vendor_by_id(FALLBACK), model), scope, site, bios=given.bios)
    else:
        machine = source if isinstance(source, Machine) else read_machine(source, observer)
        result = judged(machine, scope, site, bios=given.bios, measurements=measurements_from(measurements, machine, observer))
        own = isinstance(source, Machine)
        line = None if own else must_fit(given, words or result.vendor, result.audit.platform_id, machine.firmware)
    if line:
        observer.say(line)
    whole = listed(result, words or result.vendor, given, order=order, intent=intent)
    return _planned(_chosen(whole, result, only), _included(include), order=order, unchecked=unchecked)


def checklist_of(result: Judgement, given: BiosInput, only: Sequence[str] = ()) -> TuningChecklist:
    """Return the tuning checklist of a machine that is judged already, in its own vendor's words; of some findings alone."""
    return _planned(_chosen(listed(result, result.vendor, given), result, only))


def listed(result: Judgement, words: Vendor, given: BiosInput, *, order: bool = False, intent: IntentName | None = None) -> Made:
    """Return the checklist of a judged machine in a vendor's words, or of hardware on order, of which nothing is known."""
    machine, platform = result.machine, result.platform
    given = given if given.bios is not None or machine.bios is None else given._replace(bios=machine.bios)
    sheets = Sheets(settings(), words, publications(), given.bios, maker_of(platform), platform=platform)
    if intent is not None:
        setters = {
            name: frozenset(
                rule.id for rule in result.book.rules if name in rule.text.set and result.case.scope in rule.text.scope
            )
            for name in intents()[intent].settings
        }
        sheets = replace(sheets, asking=Asking(intent, intents()[intent], setters), decided=decided_by_model(result))
    if order:
        sheets = replace(sheets, hints=result.hints, decided=result.decided)
    else:
        cpu, shape, environment = machine.cpu, result.case.shape, result.case.environment
        virtual = environment is not None and environment.virtual not in (None, "none")
        known = Known(cpu.model_name if cpu else None, shape.sockets if shape else None, virtual)
        sheets = replace(sheets, known=known, found=result.places)
    found = checklist_with(result.audit, sheets, None if order else named(machine))
    bios = given.bios
    aside = intents()[intent].sets_aside if intent else {}
    told = None if bios is None else lambda changes: forecast(result, words, bios, changes, aside)
    return Made(*found, words, given, head_of(result.audit), intent, told)


def plan_of(result: Judgement, given: BiosInput) -> Plan:
    """Return the plan of a judged machine in its own vendor's words: that of ``advisor checklist`` for the same inputs."""
    made = listed(result, result.vendor, given)
    return planned(made.checklist, made.wishes, made.words, made.given, forecast=made.forecast)


def _planned(
    made: Made, include: Sequence[Include] = (), *, order: bool = False, unchecked: Sequence[str] = ()
) -> TuningChecklist:
    more: dict[str, Any] = {"intent": made.intent, "unchecked": unchecked, "forecast": made.forecast}
    plan = planned(made.checklist, made.wishes, made.words, made.given, include, order=order, **more)
    found = with_plan(made.checklist, plan, made.words)
    return TuningChecklist(found, plan, with_apply_time(made.words, made.given), found, made.head)


def _chosen(made: Made, result: Judgement, only: Sequence[str]) -> Made:
    """Return the lines of what is named, and their wishes; all where nothing is.

    A name is a rule's id or the audit's number of its finding, a setting, or an attribute of this firmware.
    """
    places = {name: each.setting for each in made.wishes for name in (each.setting, each.place and each.place.attribute) if name}
    known = {*places, *(each.id for each in result.book.rules)}
    for name in (name for name in only if not name.isdecimal()):
        must_be_one_of("rule, setting or attribute", name, known, "see advisor rules list")
    rules = {rule_named(result, name).id for name in only if name not in places}
    for name in rules:
        if not any(name in item.rules for item in made.checklist.items):
            raise BadValue(f"{name} is not on the checklist", cure=f"see why: advisor explain {name}")
    chosen = {places[name] for name in only if name in places}
    kept = made.checklist.only(lambda item: not only or item.setting in chosen or not rules.isdisjoint(item.rules))
    settings = {item.setting for item in kept.items} | chosen
    if only:
        asked = {rule for item in kept.items for rule in item.rules}
        update = {
            name: tuple(each for each in getattr(result.audit, name) if each.id in asked) for name in ("findings", "doubts")
        }
        made = made._replace(head=head_of(result.audit.but(**update)))
    return made._replace(checklist=kept, wishes=tuple(each for each in made.wishes if each.done or each.setting in settings))


def _included(words: Sequence[str]) -> list[Include]:
    asked = [must_be_one_of("--include value", word, INCLUDES, f"available: {', '.join(INCLUDES)}") for word in words]
    return [word for word in INCLUDES if word in asked]


SYSTEM = ("boot", "os", "fabric", "scheduler", "mpi", "job")


def planned(
    checklist: Checklist,
    wishes: Sequence[WantedSetting],
    vendor: Vendor,
    given: BiosInput,
    include: Sequence[Include] = (),
    *,
    order: bool = False,
    intent: IntentName | None = None,
    unchecked: Sequence[str] = (),
    forecast: Forecast | None = None,
) -> Plan:
    """Return the plan of a checklist's wishes."""
    ground = FirmwareState(
        vendor,
        checklist.platform_id,
        given.bios,
        given.registry,
        frozenset(include),
        order=order and given.bios is None,
        unchecked=frozenset(unchecked),
        forecast=forecast,
    )
    told = [f"{item.title}: {item.fix.text} ({item.id})" for item in _states(checklist, SYSTEM)]
    return make.plan_of(
        wishes,
        ground,
        states=[
            NotWritten(title=item.title, wanted=item.fix.text, reason="not a BIOS setting", rules=item.rules, says=item.claim)
            for item in _states(checklist, ("bios",))
        ],
        system=make.system_of(wishes, told, ground.include, order=ground.order),
        machine=checklist.machine,
        platform=checklist.platform,
        scope=checklist.scope,
        intent=intent,
    )


def _states(checklist: Checklist, where: Iterable[str]) -> list[Item]:
    """Return the lines that are no setting and are not so."""
    return [item for item in checklist.items if item.setting is None and item.done is False and item.fix.where in where]


FOLDER = "checklist"
SYSTEM_FILES = ("sysctl", "kernel-cmdline", "tuned", "ansible")
"""Formats for the operating system, whatever the vendor."""
BUILT_IN = {
    "txt": "plain text, as shown in a terminal",
    "json": "the list as JSON (docs/json.md)",
    "plan": "the plan from which the tools' files are made, as JSON",
}
"""Formats that no template makes."""


def formats() -> dict[str, Path]:
    """Return every template by the name of its format."""
    return template_files(FOLDER)


def formats_told() -> dict[str, str]:
    """Return what each format is, in a few words: of a template it is its first line."""
    told = dict(BUILT_IN)
    for name, path in formats().items():
        head = about(template_text(path))
        whose = f" (--vendor {', '.join(head.vendors)})" if head.vendors else ""
        wrong = head.wrong or not_vendors(head.vendors) or (None if head.summary else "its first line must describe the format")
        told[name] = f"{path}: {wrong}" if wrong else f"{head.summary}{whose}"
    return told


def template_of(name: str) -> str | None:
    """Return the template of a format, None for one that is built in; refuse a name that is none."""
    known = formats()
    if name in known:
        return template_text(known[name])
    if name in BUILT_IN:
        return None
    names = (*BUILT_IN, *known)
    must_be_one_of("format", name, names, f"available: {', '.join(names)}")
    return None


def complaint(name: str, template: str, vendor: Vendor) -> BadInput | BadValue | None:
    """Return why a format does not serve a vendor, naming the one that does, or what is wrong with it; None where it serves."""
    head = about(template)
    for_whom = head.vendors
    if wrong := head.wrong or not_vendors(for_whom):
        return BadInput(wrong, file=str(formats()[name]), place="line 1", cure="see docs/adding.md")
    if name == "redfish":
        return None if vendor.redfish else BadValue(f"no Redfish path is known for {vendor.name}", cure="use --as md")
    if not for_whom or vendor.id in for_whom:
        return None
    serving = [each for each, path in formats().items() if vendor.id in about(template_text(path)).vendors]
    better = serving[0] if serving else "redfish" if vendor.redfish else "md"
    cure = f"use --as {better}" if vendor.match else f"name the vendor with --vendor {for_whom[0]}"
    whose = ", ".join(vendor_by_id(each).name for each in for_whom)
    return BadValue(f"{name} is a tool for {whose} servers, but this server is from {vendor.name}", cure=cure)
