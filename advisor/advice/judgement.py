"""Judges a machine, or hardware on order: sheets, rules and facts become findings and settings."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.judge.case import Case, Standing, case_of, with_standings
from advisor.advice.judge.engine import Origins, ask, ask_of_any, explain, finding, foreseen, judge, waive
from advisor.advice.judge.measured import with_measurements
from advisor.advice.judge.rule import (
    Rule,
    SettingReader,
    Words,
    env_of,
    facts_of_rules,
    scope_with,
    setting_readers,
    settings_in_effect,
    settings_table,
)
from advisor.advice.judge.rulebook import (
    ExampleResult,
    Rulebook,
    load_rules,
    rule_files,
    run_examples,
    verdicts_without_example,
    words_like_others,
)
from advisor.advice.know.fixes import Places, entries_of, intents, neutral_values, with_fixes
from advisor.advice.know.vendors import match_vendor, publications, settings, sheet_for_machine, vendor_by_id, vendors
from advisor.advice.model.findings import Audit, Explanation, Finding, cost_order
from advisor.advice.model.sheets import Vendor
from advisor.errors import BadSheet, BadValue, did_you_mean, must_be_one_of, nearest
from advisor.machine.fault_counters import Watch
from advisor.machine.hardware import Bios, Cpu, Scalar
from advisor.machine.hosts.files import Use, at_home, trusted
from advisor.machine.jinja import RULES
from advisor.machine.layout import Layout
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.platform_traits import Maker
from advisor.measure.measurement import Measurements
from advisor.measure.platform import Ordered, Platform, Scope, best_cut, match_platform, platform_on_order, published_figures
from advisor.paths import rules as rules_folder


@cache
def _ways() -> tuple[SettingReader, ...]:
    """Return how settings are read from a system, their expressions parsed once for all machines."""
    return setting_readers(settings())


@cache
def words() -> Words:
    """Return what rules are checked against."""
    return Words(scope_with(settings()), settings(), frozenset(publications()))


def site_files(named: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the rule files of this site, and those named on the command line; refuse what the caller must not believe."""
    found = [path for folder in RULES for path in rule_files(at_home(folder), must=False)]
    theirs = [path for each in named for path in rule_files(each)]
    for path in found:
        trusted(path)
    for path in theirs:
        trusted(path, Use.NAMED)
    return (*found, *theirs)


def rulebook(site: Iterable[Path] = (), *, examples: bool = False) -> Rulebook:
    """Return the product's rules and a site's; the product's with their examples only where these are asked for."""
    theirs = site_files(site)
    if theirs:
        return load_rules(rule_files(rules_folder()), theirs, words(), examples=examples)
    return own_rules(examples=examples)


@cache
def own_rules(*, examples: bool = True) -> Rulebook:
    """Return the product's rules alone."""
    return load_rules(rule_files(rules_folder()), (), words(), examples=examples)


def must_be_rules(site: Iterable[Path], names: Iterable[str]) -> None:
    """Refuse an id that no rule has, before a machine is read or measured; a finding's number is known only then."""
    for name in (name for name in names if not name.isdecimal()):
        rules = rulebook(site).rules
        known = [each.id for each in rules]
        if name not in known and Path(name).exists():
            raise BadValue(f"there is no rule {name[:64]}", cure=f"name a machine with --from {name}")
        if name not in known:
            raise BadValue(f"there is no rule {name[:64]}", cure=_rules_about(name, rules))


def _rules_about(name: str, rules: Sequence[Rule]) -> str:
    """Return which rules a name may mean: one that is spelt alike, or those with the word in their ids or as their topic."""
    near = nearest(name, [rule.id for rule in rules])
    about = sorted((rule.id for rule in rules if name.lower() in (*rule.id.split("-"), rule.topic)), key=len)
    if near or not about:
        return f"did you mean {near}?" if near else "see advisor rules list; advisor check explains the faults that it reports"
    more = f" and {len(about) - _NAMED} others" if len(about) > _NAMED else ""
    return f"rules about {name}: {', '.join(about[:_NAMED])}{more}; see advisor rules list"


_NAMED = 3
"""Rules that are named where a word means many."""


def rules_named(
    site: Iterable[Path] = (), names: Iterable[str] = (), numbers: Callable[[], Mapping[str, int]] | None = None
) -> tuple[Rule, ...]:
    """Return the rules of ids, topics or findings, whose ``numbers`` an audit gives, with examples; all where none is named."""
    every, asked = tuple(rulebook(site, examples=True).rules), tuple(names)
    if numbers is not None and any(name.isdecimal() for name in asked):
        found = {str(number): rule for rule, number in numbers().items()}
        asked = tuple(found.get(name, name) for name in asked)
    for name in asked:
        if not any(name in (rule.id, rule.topic) for rule in every):
            known = [*(rule.id for rule in every), *(rule.topic for rule in every)]
            if name.isdecimal():
                raise BadValue(f"there is no finding {name[:20]}", cure="give a number from advisor audit, or a rule's id")
            last = f"name a file with --rules {name}" if Path(name).exists() else "see advisor rules list"
            raise BadValue(f"there is no rule or topic {name[:64]}", cure=did_you_mean(name, known, last))
    return tuple(rule for rule in every if not asked or rule.id in asked or rule.topic in asked)


class RuleTrial(NamedTuple):
    """What the examples of a rule showed: each of them, and the verdicts for which there is none."""

    rule: Rule
    examples: tuple[ExampleResult, ...]
    lacking: tuple[str, ...]

    @property
    def wrong(self) -> tuple[ExampleResult, ...]:
        """The examples that gave another verdict than they say."""
        return tuple(each for each in self.examples if each.problem)


def tried(rules: Iterable[Rule]) -> tuple[RuleTrial, ...]:
    """Return what the examples of rules show."""
    scope = words().scope
    return tuple(RuleTrial(rule, tuple(run_examples(rule, scope)), tuple(verdicts_without_example(rule))) for rule in rules)


def mistakes_between(rules: Sequence[Rule]) -> tuple[BadSheet, ...]:
    """Return what rules say without effect, and words in them that look like those of others."""
    idle = (mistake for rule in rules for mistake in _without_effect(rule))
    return (*idle, *words_like_others(rules, own_rules(examples=True).rules))


def _without_effect(rule: Rule) -> Iterator[BadSheet]:
    """Yield what a rule says that nothing reads, or that cannot be meant."""
    text, place = rule.text, f"line {rule.line}"
    gain = text.cost.gain if text.cost else None
    if gain and re.fullmatch(r"\d+(\.\d+)?", gain) and float(gain) > 1:
        said = f"{rule.id}: a gain of {gain} is more than 1"
        yield BadSheet(said, file=rule.file, place=place, cure="write the gain as a fraction, such as 0.13")
    places = {settings()[name].where for name in text.set or {}}
    if text.where and places and text.where not in places:
        said = f"{rule.id}: where: {text.where}, but the settings it sets belong to {', '.join(sorted(places))}"
        yield BadSheet(said, file=rule.file, place=place, cure="remove where")
    for name in text.let:
        rest = text.model_dump(mode="json", exclude={"let", "tests", "id"})
        words = " ".join(map(str, (*rest.values(), *(each for other, each in text.let.items() if other != name))))
        if not re.search(rf"\b{name}\b", words):
            yield BadSheet(f"{rule.id}: let: nothing uses {name}", file=rule.file, place=place, cure="use it or remove it")


def rule_names(kind: str, words: Sequence[str]) -> list[dict[str, str]]:
    """Return the facts or the settings that a rule may name, those whose names contain one of the words; all without words."""
    rows = [dict(zip(("name", "kind", "unit", "about"), row, strict=True)) for row in facts_of_rules(settings())]
    rows = [row for row in rows if kind == "facts" or row["name"].startswith("setting.")]
    named = [row for row in rows if not words or any(word.casefold() in row["name"].casefold() for word in words)]
    if not named:
        raise BadValue(f"no {kind[:-1]} has {' or '.join(words)[:80]} in its name", cure=f"advisor rules {kind} lists all")
    return [{**row, "about": " ".join(row["about"].split())} for row in named]


def must_be_known(site: Iterable[Path], topics: Iterable[str]) -> None:
    """Refuse rules that cannot be read, folders without any, and topics that no rule has."""
    for folder in (path for path in site if path.is_dir() and not any(rule_files(path, must=False))):
        raise BadValue(f"{folder}: contains no rule files", cure="name a file, or a folder of *.yaml files")
    known = tuple(dict.fromkeys(rule.topic for rule in rulebook(site).rules))
    for topic in topics:
        must_be_one_of("topic", topic, known, f"available: {', '.join(known)}")


UNKNOWN_VENDOR = "generic"
"""The sheet with the usual words, for a vendor that has none of its own."""


@dataclass(frozen=True)
class HardwareOnOrder:
    """A server that nobody has yet: its processors' generation, if that is known, their model, and in whose words to speak."""

    platform: Platform | None
    vendor: Vendor
    model: Ordered | None = None

    @property
    def machine(self) -> Machine:
        """What is known of it: it is real, and has such a processor."""
        if self.platform is None:
            return Machine(environment=_REAL)
        match = self.platform.match
        return Machine(
            architecture="aarch64" if maker_of(self.platform) == "arm" else "x86_64",
            cpu=Cpu(vendor=match.vendor, family=match.family, model=match.models[0] if len(match.models) == 1 else None),
            environment=_REAL,
        )


@dataclass(frozen=True)
class Ground:
    """What is judged: the machine as far as it is known, the sheets that fit it, and the case that rules see."""

    machine: Machine
    layout: Layout
    platform: Platform | None
    vendor: Vendor
    """The sheet whose words are used."""
    case: Case
    origins: Origins = field(repr=False)
    places: Places = field(repr=False)
    """Where the BIOS has the settings: what the findings' steps name, and checklists take over."""


@dataclass(frozen=True)
class Judgement(Ground):
    """A machine judged for a scope, or hardware on order: the audit, and what it was made from."""

    book: Rulebook
    audit: Audit
    hints: Mapping[str, str] = field(default_factory=dict)
    """Of hardware on order: setting -> what it should stand at in words, where no machine tells the value."""
    decided: Mapping[str, str | None] = field(default_factory=dict)
    """Of hardware on order: setting -> the value that the platform or the processor's model decides; None if neither does."""


def judged(
    subject: Machine | HardwareOnOrder,
    scope: Scope = "mpi",
    site: Iterable[Path] = (),
    *,
    bios: Bios | None = None,
    measurements: Measurements | None = None,
    watch: Watch | None = None,
) -> Judgement:
    """Return what the rules say of a machine and what was measured on it, with the steps that fix it in its vendor's words.

    Of hardware on order nothing was seen but perhaps its BIOS: every rule that may apply asks for its state.
    """
    book = rulebook(site)
    doubts: tuple[Finding, ...] = ()
    order = subject if isinstance(subject, HardwareOnOrder) else None
    maker: str | None
    if isinstance(subject, HardwareOnOrder):
        ground, maker = _ordered(subject, scope, bios), subject.vendor.id
        found = _asked_of_order(ground, book)
    else:
        ground, maker = _seen(subject, scope, bios, measurements, watch)
        found = _waived(judge(ground.case, book.rules, settings(), ground.origins), ground, book)
        present = {standing.name: standing.value for standing in ground.case.standings or () if standing.value is not None}
        found = with_fixes(found, settings(), present, ground.places)
        doubts = _doubts(ground, book, found)
    platform, measured = ground.platform, ground.case.measured
    audit = Audit(
        scope=scope,
        platform=platform.name if platform else None,
        platform_id=platform.id if platform else None,
        vendor=maker,
        findings=found,
        settings=settings_table(ground.case.standings or (), found, settings()),
        doubts=doubts,
        unseen=ground.machine.gaps,
        results=measured.results if measured else 0,
        rejected=measured.refused if measured else (),
    )
    parts: dict[str, Any] = {**vars(ground), "book": book, "audit": audit}
    if order is not None:
        parts |= {"hints": _hints(platform, scope), "decided": _decided(platform, scope, order.model)}
    return Judgement(**parts)


def _seen(
    machine: Machine, scope: Scope, bios: Bios | None, measurements: Measurements | None, watch: Watch | None
) -> tuple[Ground, str | None]:
    """Return what is known of a machine that was read, and who made it."""
    layout, platform, vendor = infer_layout(machine), match_platform(machine), match_vendor(machine.firmware)
    maker, kind, bios = vendor.id if vendor else None, platform.id if platform else None, bios or machine.bios
    figures = published_figures(platform) if measurements is not None else ()
    case = with_measurements(case_of(machine, layout, platform, maker, scope), measurements, figures)
    offers = None
    if vendor is not None and kind is not None and maker != UNKNOWN_VENDOR:  # what its own sheet has a place for
        offers = tuple(name for name in vendor.settings if entries_of(vendor, kind, name))
    case = case.but(bios_offers=offers, watch=watch)
    applied = neutral_values(vendor, kind, bios) if vendor and bios else {}
    coming = neutral_values(vendor, kind, bios, pending=True) if vendor and bios else {}
    pending = {name: value for name, value in coming.items() if applied.get(name) != value}
    case = with_standings(case, settings_in_effect(case, settings(), _ways(), applied, pending))
    looked, missed = (watch.sources, watch.gaps) if watch else ((), ())
    origins = Origins((*machine.sources, *looked), (*machine.gaps, *missed), case, settings())
    words = sheet_for_machine(vendor or vendor_by_id(UNKNOWN_VENDOR), machine.cpu, kind, known_maker=vendor is not None)
    return Ground(machine, layout, platform, words, case, origins, Places(words, kind, bios)), maker


def _waived(findings: Iterable[Finding], ground: Ground, book: Rulebook) -> tuple[Finding, ...]:
    today = date.today().isoformat()  # noqa: DTZ011 - a waiver ends on a local day
    return waive(findings, book.waivers, ground.machine.name, today)


def _doubts(ground: Ground, book: Rulebook, found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return what measured rules would find if the machine was idle, which nobody knows: it forbids a green verdict."""
    measured = ground.case.measured
    if measured is None or measured.idle is not None:
        return ()
    waiting = {
        each.id for each in found if each.verdict == "unknown" and any(lack.fact.startswith("measured.") for lack in each.lacks)
    }
    case = ground.case.but(measured=measured.as_if_idle())
    again = judge(case, [rule for rule in book.rules if rule.text.id in waiting], settings(), ground.origins)
    adverse = (each for each in _waived(again, ground, book) if each.verdict == "finding" and each.severity != "info")
    return tuple(sorted(adverse, key=cost_order))


def _ordered(order: HardwareOnOrder, scope: Scope, bios: Bios | None) -> Ground:
    """Return what is known of hardware on order: no setting can be read, but what its BIOS says of itself."""
    machine, platform, vendor = order.machine, order.platform, order.vendor
    layout, kind = infer_layout(machine), platform.id if platform else None
    case = case_of(machine, layout, platform, vendor.id if vendor.match else None, scope)
    if bios is not None:
        case = with_standings(case, settings_in_effect(case, settings(), (), neutral_values(vendor, kind, bios), {}))
    return Ground(machine, layout, platform, vendor, case, Origins((), (), case, settings()), Places(vendor, kind, bios))


def _asked_of_order(ground: Ground, book: Rulebook) -> tuple[Finding, ...]:
    """Return the verdicts on hardware on order; nothing is waived, and the checklist words the steps."""
    env = env_of(ground.case, settings())
    found = (finding(ask_of_any(rule, ground.case, env), ground.origins) for rule in book.rules)
    return tuple(each for each in found if _of_order(each, ground.platform))


def forecast(
    result: Judgement, words: Vendor, bios: Bios, changes: Mapping[str, Scalar | None], aside: Container[str] = ()
) -> tuple[str, ...]:
    """Return what of weight rules would find once attributes of the BIOS are changed, and what nobody can say, in words.

    Rules that are set ``aside`` are not asked.
    """
    kind = result.platform.id if result.platform else None
    after = bios.but(attributes={**bios.attributes, **changes})
    now, then = (neutral_values(words, kind, each) for each in (bios, after))
    moved = {
        name: None if then.get(name) is None else str(then[name]) for name in {*now, *then} if now.get(name) != then.get(name)
    }
    if not moved:
        return ()
    known = {each.name: each for each in result.case.standings or ()}
    new = {
        name: Standing(name=name, title=settings()[name].title, value=value, sure="high", how="assumed after the change")
        for name, value in moved.items()
    }
    case = with_standings(result.case, ({**known, **new}).values())
    rules = (rule for rule in result.book.rules if rule.id not in aside)
    found = foreseen(rules, result.case, case, settings(), result.origins)
    told = {"finding": "with it {} ({})", "unknown": "whether this change causes {} ({}) is unknown here: give --from CAPTURE"}
    return tuple(dict.fromkeys(told[each.verdict].format(each.rule.id, each.rule.text.title) for each in found))


def explained(judgement: Judgement, rule: Rule, subject: str | None = None) -> Explanation:
    """Return how a rule came to its verdict, on one subject where one is named."""
    asked = tuple(ask(rule, judgement.case, env_of(judgement.case, settings())))
    if subject is not None:
        names = [each.subject for each in asked if each.subject]
        there = f"available: {', '.join(names)[:200]}" if names else "this rule has only one subject"
        must_be_one_of("subject", subject, names, there)
        asked = tuple(each for each in asked if each.subject == subject)
    return explain(rule, asked, judgement.origins, judgement.case.scope)


def rule_named(judgement: Judgement, name: str) -> Rule:
    """Return the rule of an id, or of a finding by the number that the audit of the same inputs gives it."""
    if name.isdecimal():
        found = judgement.audit.by_rule
        if not 0 < int(name[:6]) <= len(found):
            what = f"this audit has findings 1 to {len(found)}" if found else "this audit has no findings"
            raise BadValue(f"there is no finding {name[:20]}: {what}", cure="give a number from advisor audit, or a rule's id")
        name = found[int(name) - 1][0].id
    must_be_one_of("rule", name, (each.id for each in judgement.book.rules), "see advisor rules list")
    return next(each for each in judgement.book.rules if each.id == name)


_REAL = Environment(virtual="none", container="none")
"""What is ordered is a real machine."""

_CUT_SETTING = {"NPS": "numa.nps", "SNC": "cpu.snc", "COD": "cpu.snoop_mode", "DIES": "memory.interleave"}
"""Scheme of a platform -> the setting that cuts its sockets."""


_OF_MODULES = frozenset({"memory.mirroring", "memory.speed", "memory.refresh_rate"})
"""Settings of memory in modules; soldered memory has none of them."""

_SPELLED = {
    "NPS1": "1", "NPS2": "2", "NPS4": "4", "SNC2": "snc2", "SNC3": "snc3", "SNC4": "snc4", "COD": "cod",
    "channel-interleaving": "channel",
}  # fmt: skip
"""A NUMA partitioning -> the value of the setting that makes it."""


def maker_of(platform: Platform | None) -> Maker | None:
    """Return who makes a platform's processors, as settings name them."""
    return None if platform is None else platform.maker


def _of_order(found: Finding, platform: Platform | None) -> bool:
    """Return whether a verdict is one for hardware that is not there: nothing was observed, and memory may be soldered on.

    What is worth knowing of a machine, and no setting, was seen on no machine here.
    """
    if not found.wants and found.severity == "info":
        return False
    soldered = platform is not None and platform.memory_kind is not None and not platform.memory_kind.startswith("DDR")
    slots = "DIMM" in f"{found.title} {found.want} {found.advice}" or (found.topic == "memory" and found.where == "hardware")
    of_modules = bool(found.wants) and all(want.setting in _OF_MODULES for want in found.wants)
    return not (soldered and (of_modules or (slots and not found.wants)))


def _decided(platform: Platform | None, scope: Scope, model: Ordered | None) -> dict[str, str | None]:
    """Return the NUMA partitioning that platform or model decides, as its setting spells it; None where both leave that open.

    A rule asks for a NUMA partitioning of machines that offer it; for hardware on order its platform and model decide.
    """
    name = _CUT_SETTING.get(platform.scheme) if platform else None
    if platform is None or name is None:
        return {}
    cut = best_cut(platform, scope, model.dies if model else None, None, model.cores if model else None)
    return {name: _SPELLED.get(cut.name) if cut else None}


def decided_by_model(result: Judgement) -> Mapping[str, str | None]:
    """Return what platform and processor's model decide of a machine of which only these are known; {} where more is."""
    name = result.machine.cpu.model_name if result.machine.cpu else None
    if result.decided or result.machine.topology is not None or name is None:
        return result.decided
    with suppress(BadValue):
        return _decided(result.platform, result.case.scope, platform_on_order(None, name)[1])
    return {}


def _hints(platform: Platform | None, scope: Scope) -> dict[str, str]:
    """Return the NUMA partitioning that the platform's guides want, in words: which one a processor offers is not known yet."""
    if platform is None:
        return {}
    cut = next((advice.cut for advice in platform.best if scope in advice.scopes), None)
    name = _CUT_SETTING.get(platform.scheme)
    return {name: f"{cut}, or the highest below it that the setup menu offers"} if name and cut else {}


def named(machine: Machine) -> str:
    """Return the machine in words: its name and what it was sold as."""
    return ", ".join(part for part in (machine.name, machine.firmware.sold if machine.firmware else "") if part) or "this machine"


def source_document(ref: str, site: Iterable[Path]) -> dict[str, object]:
    """Return a publication, and what rests on it: rules, choices of --for, and names of settings."""
    texts = [rule.text for rule in rulebook(site).rules]
    cited = {each.id: each.title for each in texts if ref in (*each.refs, *(guide.ref for guide in each.guides))}
    chosen = [
        f"--for {work}: {setting} = {choice.value or 'depends on the machine'}: {guide.says}"
        for work, intent in intents().items()
        for setting, choices in intent.settings.items()
        for choice in choices
        for guide in choice.guides
        if guide.ref == ref
    ]
    names = [
        f"{vendor.name}: {shown.product} ({name})"
        for vendor in vendors().values()
        for name, shown in vendor.evidence.items()
        if shown.source == ref
    ]
    known = publications()[ref].model_dump()
    return {"schema": "advisor-source/1", "id": ref, **known, "rules": cited, "choices": chosen, "names": names}
