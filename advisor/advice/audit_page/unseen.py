"""What an audit could answer and what not: what passed, what lacks, and what would show it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from advisor.advice.audit_page.findings import Asker
from advisor.advice.model.findings import Audit
from advisor.advice.model.rule import SEVERITIES
from advisor.advice.model.totals import totals, verdicts_of
from advisor.machine.machine import NOT_OFFERED
from advisor.machine.units import count, plain
from advisor.measure.measured_facts import MEASURED
from advisor.show.lines import Line, Span, wrapped


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


def unknown_facts(audit: Audit, width: int, asker: Asker) -> list[Line]:
    """Return a section of what could not be learnt, every fact and rule by name; empty where nothing lacks."""
    result = [line for one in missing_facts(audit) for line in wrapped(_spans(one, asker), width)]
    return [(), (("What could not be seen, and what would show it", "heading"),), *result] if result else []


def _spans(one: MissingFacts, asker: Asker) -> list[Span]:
    what = "; ".join(f"{_named(names)}: {why}" for why, names in one.facts.items())
    waits = f" [{count(len(one.rules), 'rule')}: {', '.join(one.rules)}]" if one.rules else ""
    if one.help == NOT_OFFERED:
        return [(f"- {what}: {NOT_OFFERED}{waits}", "dim")]
    return [(f"- {what} ", ""), ("-> ", "dim"), (cure_words(one.help, asker), "title"), (waits, "dim")]


def _named(names: Iterable[str]) -> str:
    """Return names of facts, those of one section together."""
    sections: dict[str, list[str]] = {}
    for name in dict.fromkeys("nothing was measured" if name == MEASURED else name for name in names):
        sections.setdefault(name.partition(".")[0], []).append(name)
    return ", ".join(name for own in sections.values() for name in own)


def open_checks(audit: Audit, asker: Asker) -> list[tuple[str, int]]:
    """Return ways to learn more, each with how many checks wait for it, most first.

    A check that waits for several is counted once, with the way that most wait for: together they are those that need more facts.
    """
    waiting: dict[str, set[str]] = {}
    for rule, own in verdicts_of(audit, "unknown")[0].items():
        for lack in (lack for finding in own for lack in finding.lacks):
            waiting.setdefault(NOBODY if lack.help == NOT_OFFERED else _cure(plain(lack.help), asker), set()).add(rule)
        if not any(finding.lacks for finding in own):
            waiting.setdefault(NOBODY, set()).add(rule)
    result: list[tuple[str, int]] = []
    while waiting:
        cure = max(waiting, key=lambda each: (each != NOBODY, len(waiting[each])))
        rules = waiting.pop(cure)
        result += [(cure, len(rules))] if rules else []
        for others in waiting.values():
            others.difference_update(rules)
    return result


NOBODY = "by other means"
"""Where no command shows the fact, or none here: -v says what would."""


def unseen_words(ways: Sequence[tuple[str, int]], shown: int, asker: Asker) -> str:
    """Return how many checks need more facts, and how many of them each command answers; the numbers add up."""
    told = [(cure, number) for cure, number in ways if cure != NOBODY][:shown]
    left = sum(number for _, number in ways) - sum(number for _, number in told)
    there = [f"{cure} ({number})" for cure, number in told if elsewhere(cure, asker)]
    here = [f"{cure} ({number})" for cure, number in told if not elsewhere(cure, asker)]
    items = [f"{THERE} {', '.join(there)}"] if there else []
    items += [*here, *([f"{NOBODY}, see -v ({left})"] if left else [])]
    return f"{count(sum(number for _, number in ways), 'check')}: {' · '.join(items)}"


def elsewhere(cure: str, asker: Asker) -> bool:
    """Return whether a command must run on the machine of a capture, not here."""
    return not asker.live and bool(_COMMAND.match(cure))


THERE = "on that machine"

_COMMAND = re.compile(r"(sudo )?(advisor|modprobe) ")
"""How a command begins: other words say what to add to this one, or why nothing helps."""


_LOAD = re.compile(r"sudo (modprobe \w+)")
"""A module of the kernel that would show registers or messages of the processor."""


def _cure(text: str, asker: Asker) -> str:
    """Return the command of a cure without the words around it, as who asks can use it."""
    if text.startswith(AGAIN):
        return AGAIN if asker.live else CAPTURE
    if load := _LOAD.match(text):
        return load[1] if asker.live and asker.root else load[0]
    command = next((part for part in re.split(r": |, or ", text) if _COMMAND.match(part)), None)
    if command is None:
        return "no data for this processor" if text == "add it to rules/platforms" else NOBODY
    short = asker.filled(re.split(r" \(|, ", command)[0])
    if "--bios" in short:
        return _NOT_IN_BIOS if asker.bios else "add --bmc HOST or --bios FILE"
    if asker.live:
        return NOBODY if asker.root and short.startswith("sudo ") else short
    return CAPTURE if re.match(r"sudo|advisor (audit|capture)", short) else short


def cure_words(text: str, asker: Asker) -> str:
    """Return a cure in words, as who asks can use it: what they did already is not asked of them again."""
    if asker.live and asker.root and re.search(r"\bsudo advisor\b", text):
        return "not shown here, to root either"
    if "--bios" in text and asker.bios:
        return _NOT_IN_BIOS
    return asker.filled(text)


_NOT_IN_BIOS = "not in the BIOS attributes given"
CAPTURE = "sudo advisor capture"
AGAIN = "run advisor audit on the machine itself"
"""Of a capture that looked only once: counters tell by two looks."""


def passed(audit: Audit) -> list[str]:
    """Return how many checks passed, by topic, and the settings that are as wanted, the weightiest first."""
    numbers = Counter(own[0].topic for own in verdicts_of(audit, "pass")[0].values())
    weight = {finding.id: SEVERITIES.index(finding.severity) for finding in audit.findings}
    met = [row for row in audit.settings if row.met and row.current is not None]
    met.sort(key=lambda row: min((weight.get(rule, len(SEVERITIES)) for rule in row.rules), default=len(SEVERITIES)))
    told = f"{numbers.total()} passed: {', '.join(f'{topic} {number}' for topic, number in numbers.most_common())}"
    said = (f"{plain(row.term, 60)}{'' if row.term.endswith('=') else ' '}{plain(row.current or '', 30)}" for row in met)
    return [told, *said] if numbers else []


def tally(audit: Audit) -> Iterator[str]:
    """Yield how many rules came to what; the numbers add up to that of the rules."""
    numbers = totals(audit)
    counted = {
        "passed": numbers.passed, "to fix": numbers.fix, "to consider": numbers.consider, "waived": numbers.waived,
        "broken": numbers.error, "need more facts": numbers.unknown, "not applicable": numbers.not_applicable,
    }  # fmt: skip
    head = f"{numbers.every} for {audit.scope}: "
    kept = [f"{number} {what}" for what, number in counted.items() if number or what == "to fix"]
    yield head + kept[0]
    yield from kept[1:]
