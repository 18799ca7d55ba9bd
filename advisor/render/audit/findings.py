"""Findings in words and numbers: cost, evidence, fix; verdicts counted; what could not be learnt, and what would show it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from advisor.language.units import count, plain
from advisor.model.audit.findings import Audit, Cost, Evidence, Finding
from advisor.model.audit.measured_facts import MEASURED
from advisor.model.hardware.machine import NOT_OFFERED
from advisor.render.lines import Line, Span, wrapped

LONGEST = 400

STEPS = 2
"""So many steps of a fix stand in one line; more are counted."""


class Group(NamedTuple):
    """Findings of one rule that are fixed by the same steps."""

    head: Finding
    rest: tuple[Finding, ...]

    @property
    def members(self) -> tuple[Finding, ...]:
        """All of them."""
        return (self.head, *self.rest)


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Return findings with those of the same rule and the same steps together, in the order of the first of each."""
    found: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        steps = tuple(step.text for step in finding.fix) or (finding.advice or "",)
        found.setdefault((finding.id, *steps), []).append(finding)
    return tuple(Group(own[0], tuple(own[1:])) for own in found.values())


def mark(severity: str) -> str:
    """Return the word that stands before a finding."""
    return severity.upper()


def cost_words(cost: Cost) -> str:
    """Return what it costs and its source: ``13 % of STREAM triad, published [dell-rome-2019]``."""
    part = "some" if cost.gain is None else f"{100 * cost.gain:.2g} %" if cost.gain < 1 else f"{100 * cost.gain:.0f} %"
    source = f" [{cost.ref}]" if cost.ref else ""
    return f"{part} of {plain(cost.of)}, {cost.basis}{source}"


def evidence_words(one: Evidence, longest: int = LONGEST) -> str:
    """Return a fact with its value and where it was read: ``kernel.thp = always, /sys/kernel/mm/...``."""
    where = f", {plain(one.where, longest)}" if one.where else ""
    return f"{plain(one.fact, longest)} = {plain(one.value, longest)}{where}"


def fix_words(finding: Finding) -> str:
    """Return the steps in one line; where none is known, what is wanted."""
    texts = [plain(step.text, LONGEST) for step in finding.fix]
    if not texts:
        wanted = (f"{want.setting} = {want.value or 'see -v'}" for want in finding.wants)
        return plain(finding.advice or finding.want or ", ".join(wanted) or "see the sources: -v", LONGEST)
    more = f"; and {count(len(texts) - STEPS, 'more step')} (-v)" if len(texts) > STEPS else ""
    return "; ".join(texts[:STEPS]) + more


@dataclass
class MissingFacts:
    """What one cure would make known: facts by what stood in the way, and the rules that wait for them."""

    help: str
    facts: dict[str, list[str]] = field(default_factory=dict)
    """Names of facts, by what stood in the way."""
    rules: dict[str, None] = field(default_factory=dict)

    def add(self, fact: str, why: str) -> None:
        """Take in a fact and why it is not known."""
        names = self.facts.setdefault(plain(why), [])
        name = plain(fact, 80)
        if name not in names:
            names.append(name)


def missing_facts(audit: Audit) -> tuple[MissingFacts, ...]:
    """Return what is not known by its cure, that for which most rules wait first, what nobody can offer last."""
    found: dict[str, MissingFacts] = {}
    for gap in audit.unseen:
        found.setdefault(gap.help, MissingFacts(plain(gap.help))).add(gap.fact, gap.why)
    gaps = frozenset(found)
    for finding in audit.findings:
        for lack in finding.lacks:
            one = found.setdefault(lack.help, MissingFacts(plain(lack.help)))
            one.rules[finding.id] = None
            if lack.help not in gaps:
                one.add(lack.fact, lack.why)
    return tuple(sorted(found.values(), key=lambda one: (one.help == NOT_OFFERED, -len(one.rules))))


def unknown_facts(audit: Audit, width: int) -> list[Line]:
    """Return a section of what could not be learnt, every fact and rule by name; empty where nothing lacks."""
    result = [line for one in missing_facts(audit) for line in wrapped(_spans(one), width)]
    return [(), (("What could not be seen, and what would show it", "heading"),), *result] if result else []


def _spans(one: MissingFacts) -> list[Span]:
    what = "; ".join(f"{_named(names)}: {why}" for why, names in one.facts.items())
    waits = f" [{count(len(one.rules), 'rule')}: {', '.join(one.rules)}]" if one.rules else ""
    if one.help == NOT_OFFERED:
        return [(f"- {what}: {NOT_OFFERED}{waits}", "dim")]
    return [(f"- {what} ", ""), ("-> ", "dim"), (one.help, "title"), (waits, "dim")]


def _named(names: Iterable[str]) -> str:
    """Return names of facts, those of one section together."""
    sections: dict[str, list[str]] = {}
    for name in dict.fromkeys("nothing was measured" if name == MEASURED else name for name in names):
        sections.setdefault(name.partition(".")[0], []).append(name)
    return ", ".join(name for own in sections.values() for name in own)


class Asker(NamedTuple):
    """Who reads the screen: of which machine, and what it was given already."""

    words: tuple[str, ...] = ()
    """What the commands to go on with need to see the same: ``--from node.tar.gz``."""

    @property
    def live(self) -> bool:
        """Whether it is this machine."""
        return "--from" not in self.words

    @property
    def files(self) -> tuple[str, ...]:
        """Files of measurements."""
        return tuple(value for option, value in pairwise(self.words) if option == "--measurements")


def unseen_items(audit: Audit, asker: Asker) -> list[str]:
    """Return what could not be learnt with what would show it, that for which most rules wait first."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for one in missing_facts(audit):
        if one.help == NOT_OFFERED or not one.rules:
            continue
        rules, facts = found.setdefault(_cure(one.help, asker), (set(), set()))
        rules.update(one.rules)
        facts.update(name for names in one.facts.values() for name in names)
    ordered = sorted(found.items(), key=lambda each: -len(each[1][0]))
    return [f"{_what(facts, rules, cure)}: {cure}" for cure, (rules, facts) in ordered]


def _what(facts: set[str], rules: set[str], cure: str) -> str:
    settings = sum(name.startswith("setting.") for name in facts)
    if "--bios" in cure and settings == len(facts):
        return f"{count(settings, 'setting')} of the BIOS"
    return count(len(rules), "check")


def _cure(text: str, asker: Asker) -> str:
    """Return the command of a cure without the words around it; what must run on another machine says so."""
    command = next((part for part in re.split(r": |, or ", text) if re.match(r"(sudo )?advisor ", part)), None)
    if command is None:
        return "advisor has no data for this processor" if text == "add it to rules/platforms" else text
    short = re.split(r" \(|, ", command)[0]
    if asker.live or "--bios" in short:
        return short
    return f"on it, {'sudo advisor capture' if re.match(r'sudo|advisor (audit|capture)', short) else short}"


def answered_and_open(audit: Audit) -> tuple[int, int]:
    """Return how many rules have an answer, and how many lack facts for one."""
    verdicts = _by_verdict(audit)
    return verdicts.get("pass", 0) + verdicts.get("finding", 0) + verdicts.get("waived", 0), verdicts.get("unknown", 0)


_WORST = ("finding", "error", "unknown", "waived", "pass", "not-applicable")


def _by_verdict(audit: Audit) -> Mapping[str, int]:
    """Return how many rules came to each verdict; a rule of several subjects counts once, by the worst of them."""
    worst: dict[str, int] = {}
    for finding in audit.findings:
        worst[finding.id] = min(worst.get(finding.id, len(_WORST)), _WORST.index(finding.verdict))
    numbers: dict[str, int] = {}
    for at in worst.values():
        numbers[_WORST[at]] = numbers.get(_WORST[at], 0) + 1
    return numbers


def tally(audit: Audit) -> Iterator[str]:
    """Yield how many rules came to what; the numbers add up to that of the rules."""
    numbers = _by_verdict(audit)
    minor = sum(own[0].severity == "info" for own in audit.by_rule)
    said = {
        "passed": numbers.get("pass", 0), "to fix": numbers.get("finding", 0) - minor, "to consider": minor,
        "waived": numbers.get("waived", 0), "broken": numbers.get("error", 0), "need more facts": numbers.get("unknown", 0),
        "not for this machine": numbers.get("not-applicable", 0),
    }  # fmt: skip
    head = f"{sum(numbers.values())} for {audit.scope}: "
    kept = [f"{number} {what}" for what, number in said.items() if number or what == "to fix"]
    yield head + kept[0]
    yield from kept[1:]
