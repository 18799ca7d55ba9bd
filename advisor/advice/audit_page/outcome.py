"""What an audit comes to: the one verdict that every page and export shows first, what passed, what lacks, what would show it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from advisor.advice.audit_page.card import Asker
from advisor.advice.model.findings import Audit, totals, verdicts_of
from advisor.advice.model.rule import SEVERITIES
from advisor.machine.machine import NOT_OFFERED
from advisor.machine.units import count, plain
from advisor.measure.measured_facts import MEASURED
from advisor.show.lines import Line, Span, wrapped

Outcome = Literal["fix", "look", "rejected", "little", "nothing"]
"""Findings, doubts, no result that is believed, few answers, or nothing of all that."""

LITTLE: Final = 1 / 4
"""Where fewer of the rules that apply have an answer, a page says first that little is known."""

NOBODY: Final = "other ways"
"""Where no command shows the fact, or none here: -v says what would."""
THERE: Final = "on that machine"
CAPTURE: Final = "sudo advisor capture"
AGAIN: Final = "run advisor audit on the machine itself"
"""Of a capture that looked only once: counters tell by two looks."""
_NOT_IN_BIOS: Final = "not in the BIOS attributes given"
_COMMAND: Final = re.compile(r"(sudo )?(advisor|modprobe) ")
"""How a command begins: other words say what to add to this one, or why nothing helps."""
_LOAD: Final = re.compile(r"sudo (modprobe \w+)")
"""A module of the kernel that would show registers or messages of the processor."""


class Head(NamedTuple):
    """The verdict of an audit: green only where the outcome is ``nothing``."""

    outcome: Outcome
    little: bool
    """Whether few of the rules that apply have an answer, whatever the outcome."""
    says: str
    """Fix 3 things; empty where no more is known than that it is little."""


def head_of(audit: Audit) -> Head:
    """Return what an audit comes to, the worst that is known first."""
    numbers = totals(audit)
    little = not numbers.answered or numbers.answered < LITTLE * (numbers.answered + numbers.unknown)
    if numbers.fix:
        return Head("fix", little, f"Fix {count(numbers.fix, 'thing')}")
    if audit.doubts:
        return Head("look", little, f"Look at {count(len(audit.doubts), 'thing')}")
    if audit.results and len(audit.rejected) == audit.results:
        verb = "is" if audit.results == 1 else "are"
        return Head("rejected", little, f"{audit.results} of {count(audit.results, 'result')} {verb} rejected")
    return Head("little", little, "") if little else Head("nothing", little, "Nothing to fix")


@dataclass
class MissingFacts:
    """What one cure would make known: facts by what stood in the way, and the rules that wait for them."""

    help: str
    facts: dict[str, list[str]] = field(default_factory=dict)
    """Names of facts, by what stood in the way."""
    rules: dict[str, None] = field(default_factory=dict)

    def add(self, fact: str, why: str) -> None:
        """Take in a fact and why it is not known."""
        names, name = self.facts.setdefault(plain(why), []), plain(fact, 80)
        if name not in names:
            names.append(name)


def missing_facts(audit: Audit) -> tuple[MissingFacts, ...]:
    """Return what is not known by its cure, that for which most rules wait first, what nobody can offer last."""
    cures: dict[str, MissingFacts] = {}
    for gap in audit.unseen:
        cures.setdefault(gap.help, MissingFacts(plain(gap.help))).add(gap.fact, gap.why)
    gaps = frozenset(cures)
    for finding in audit.findings:
        for lack in finding.lacks:
            one = cures.setdefault(lack.help, MissingFacts(plain(lack.help)))
            one.rules[finding.id] = None
            if lack.help not in gaps:
                one.add(lack.fact, lack.why)
    return tuple(sorted(cures.values(), key=lambda one: (one.help == NOT_OFFERED, -len(one.rules))))


def unknown_facts(audit: Audit, width: int, asker: Asker) -> list[Line]:
    """Return a section of what could not be learnt, every fact and rule by name; empty where nothing lacks."""
    result: list[Line] = []
    for one in missing_facts(audit):
        by_section: dict[str, list[str]] = {}
        for why, names in one.facts.items():
            sections: dict[str, dict[str, None]] = {}
            for name in ("nothing was measured" if name == MEASURED else name for name in names):
                sections.setdefault(name.partition(".")[0], {})[name] = None
            by_section[why] = [name for own in sections.values() for name in own]
        what = "; ".join(f"{', '.join(names)}: {why}" for why, names in by_section.items())
        waits = f" [{count(len(one.rules), 'rule')}: {', '.join(one.rules)}]" if one.rules else ""
        cure = (cure_words(one.help, asker), "title")
        spans: list[Span] = [(f"- {what} ", ""), ("-> ", "dim"), cure, (waits, "dim")]
        result += wrapped([(f"- {what}: {NOT_OFFERED}{waits}", "dim")] if one.help == NOT_OFFERED else spans, width)
    return [(), (("What could not be read, and what would reveal it", "heading"),), *result] if result else []


def open_checks(audit: Audit, asker: Asker) -> list[tuple[str, int]]:
    """Return ways to learn more, each with how many checks wait for it, most first.

    A check that waits for several is counted once, with the way that most wait for: together they are those that need more facts.
    """
    waiting: dict[str, set[str]] = {}
    for rule, own in verdicts_of(audit, "unknown")[0].items():
        helps = [lack.help for finding in own for lack in finding.lacks]
        for cure in [NOBODY if text == NOT_OFFERED else _cure(plain(text), asker) for text in helps] or [NOBODY]:
            waiting.setdefault(cure, set()).add(rule)
    result: list[tuple[str, int]] = []
    while waiting:
        cure = max(waiting, key=lambda each: (each != NOBODY, len(waiting[each])))
        rules = waiting.pop(cure)
        result += [(cure, len(rules))] if rules else []
        for others in waiting.values():
            others.difference_update(rules)
    return result


def unseen_words(ways: Sequence[tuple[str, int]], shown: int, asker: Asker) -> str:
    """Return how many checks need more facts, and how many of them each command answers; the numbers add up."""
    named = [(cure, number) for cure, number in ways if cure != NOBODY][:shown]
    every = sum(number for _, number in ways)
    left = every - sum(number for _, number in named)
    there, here = ([f"{cure} ({number})" for cure, number in named if elsewhere(cure, asker) is away] for away in (True, False))
    items = [*([f"{THERE} {', '.join(there)}"] if there else []), *here, *([f"{NOBODY}, see -v ({left})"] if left else [])]
    return f"{count(every, 'check')}: {' · '.join(items)}"


def elsewhere(cure: str, asker: Asker) -> bool:
    """Return whether a command must run on the machine of a capture, not here."""
    return not asker.live and bool(_COMMAND.match(cure))


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
        return "not readable here, even as root"
    return _NOT_IN_BIOS if "--bios" in text and asker.bios else asker.filled(text)


def passed(audit: Audit) -> list[str]:
    """Return how many checks passed, by topic, and the settings that are as wanted, the weightiest first."""
    numbers = Counter(own[0].topic for own in verdicts_of(audit, "pass")[0].values())
    weight, least = {finding.id: SEVERITIES.index(finding.severity) for finding in audit.findings}, len(SEVERITIES)
    met = [row for row in audit.settings if row.met and row.current is not None]
    met.sort(key=lambda row: min((weight.get(rule, least) for rule in row.rules), default=least))
    counted = f"{numbers.total()} passed: {', '.join(f'{topic} {number}' for topic, number in numbers.most_common())}"
    rows = (f"{plain(row.term, 60)}{'' if row.term.endswith('=') else ' '}{plain(row.current or '', 30)}" for row in met)
    return [counted, *rows] if numbers else []


def tally(audit: Audit) -> Iterator[str]:
    """Yield how many rules came to what; the numbers add up to that of the rules."""
    numbers = totals(audit)
    counted = {
        "passed": numbers.passed, "to fix": numbers.fix, "to consider": numbers.consider, "waived": numbers.waived,
        "broken": numbers.error, "need more facts": numbers.unknown, "not applicable": numbers.not_applicable,
    }  # fmt: skip
    first, *others = [f"{number} {what}" for what, number in counted.items() if number or what == "to fix"]
    yield f"{numbers.every} for {audit.scope}: {first}"
    yield from others
