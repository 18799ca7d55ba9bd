"""Findings on one screen: claim, cost, evidence and fix; and what could not be learnt, by what would make it known."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from advisor.language.units import count, plain
from advisor.model.audit.findings import Audit, Cost, Evidence, Finding, Fix
from advisor.model.audit.measured_facts import MEASURED
from advisor.model.audit.rule import SEVERITIES
from advisor.model.hardware.machine import NOT_OFFERED
from advisor.render.lines import Line, Span, wrapped

MARK = 8
"""Columns of the mark that says how bad it is."""

SUBJECTS, INFOS, LOWS, STEPS, ALIKE = 4, 3, 6, 2, 2
"""So many subjects of one finding, findings to know, low findings, steps of a fix, and groups of one rule are shown."""

LONGEST = 400
_RESTART = {"yes": "reboot", "power-cycle": "power cycle"}


class Group(NamedTuple):
    """Findings of one rule that are mended by the same steps."""

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


def findings(audit: Audit, width: int) -> list[Line]:
    """Return the section of all findings: the costly ones in full, those to know in one line each."""
    groups = grouped(audit.found)
    result: list[Line] = [(), _heading(audit)]
    seen: dict[str, int] = {}
    for severity in SEVERITIES:
        own = [group for group in groups if group.head.severity == severity]
        shown = own[: {"low": LOWS, "info": INFOS}.get(severity, len(own))]
        hidden = own[len(shown) :]
        for group in shown:
            seen[group.head.id] = seen.get(group.head.id, 0) + 1
            if seen[group.head.id] > ALIKE:
                hidden.append(group)
            else:
                result += in_one_line(group, width) if severity == "info" else in_two_lines(group, width)
        result += _more(hidden, severity, width)
    return [*result, *_waived(audit, width), *_broken(audit, width)]


def _heading(audit: Audit) -> Line:
    numbers = {severity: sum(f.severity == severity for f in audit.found) for severity in SEVERITIES}
    said = ", ".join(f"{number} {severity}" for severity, number in numbers.items() if number)
    return (("Findings", "heading"), (f"  {said}" if said else "  none: nothing known of this machine costs anything", "dim"))


def _more(hidden: list[Group], severity: str, width: int) -> list[Line]:
    if not hidden:
        return []
    names = ", ".join(dict.fromkeys(group.head.id for group in hidden))
    number = sum(len(group.members) for group in hidden)
    return _marked("", "dim", [(f"{number} more {severity}: {names} (-v shows them)", "dim")], width)


def in_two_lines(group: Group, width: int) -> list[Line]:
    """Return a finding: what is so, what it costs and how that is known; below it the fix."""
    head = group.head
    spans: list[Span] = [*_claim(group), *_cost(head.cost)]
    claim = _with_evidence(head.severity, spans, head.evidence, width)
    return [*claim, *_marked("     ->", "good", [(fix_words(head), ""), (_restart(head.fix), "dim")], width)]


def in_one_line(group: Group, width: int) -> list[Line]:
    """Return a finding that is worth knowing and costs little."""
    return _marked(mark(group.head.severity), group.head.severity, _claim(group), width)


def mark(severity: str) -> str:
    """Return the word that stands before a finding."""
    return severity.upper()


def _marked(word: str, style: str, spans: Iterable[Span], width: int) -> list[Line]:
    return wrapped([(f"{word:<{MARK}}", style), *spans], width, indent=MARK)


def _claim(group: Group) -> list[Span]:
    head = group.head
    claim = plain(head.claim or head.title, LONGEST)
    about = plain(head.subject, 60) if head.subject else ""
    spans: list[Span] = [(head.id, "title"), (": ", "")]
    spans += [(f"{about}: ", "")] if about and about not in claim else []
    return [*spans, (claim, ""), (_also(group), "")]


def _also(group: Group) -> str:
    names = [plain(finding.subject or "", 60) for finding in group.rest if finding.subject]
    if not names:
        return ""
    more = f" and {len(names) - SUBJECTS} more" if len(names) > SUBJECTS else ""
    return f"; so {'are' if len(names) > 1 else 'is'} {', '.join(names[:SUBJECTS])}{more}"


def _cost(cost: Cost | None) -> list[Span]:
    return [("; ", ""), (cost_words(cost), "warn")] if cost else []


def cost_words(cost: Cost) -> str:
    """Return what it costs and who says so: ``costs 13 % of STREAM triad, published [dell-rome-2019]``."""
    part = "some" if cost.gain is None else f"{100 * cost.gain:.2g} %" if cost.gain < 1 else f"{100 * cost.gain:.0f} %"
    source = f" [{cost.ref}]" if cost.ref else ""
    return f"costs {part} of {plain(cost.of)}, {cost.basis}{source}"


def _with_evidence(severity: str, spans: list[Span], evidence: tuple[Evidence, ...], width: int) -> list[Line]:
    """Return the claim with as much evidence as fits into the lines it takes and one; what was read on the machine first."""
    ranked = _ranked(evidence, spans)
    bare = _marked(mark(severity), severity, spans, width)
    best = bare
    for number in range(1, len(ranked) + 1):
        words = " (" + "; ".join(evidence_words(one, 90) for one in ranked[:number]) + ")"
        tried = _marked(mark(severity), severity, [*spans, (words, "dim")], width)
        if len(tried) > max(2, len(bare)) and number > 1:
            break
        best = tried
    return best


def _ranked(evidence: tuple[Evidence, ...], spans: Iterable[Span]) -> list[Evidence]:
    """Return evidence in the order of what it tells: read on the machine, named in the claim, looked at last."""
    words = set(re.split(r"[\s,;:()]+", "".join(text for text, _ in spans)))
    order = range(len(evidence) - 1, -1, -1)
    sheet = [(one.where or "rules/").startswith("rules/") for one in evidence]
    return [evidence[at] for at in sorted(order, key=lambda at: (sheet[at], evidence[at].value not in words))]


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


def _restart(steps: tuple[Fix, ...]) -> str:
    """Return whether the machine must start anew for it, as the hardest of the steps wants."""
    needed = {step.reboot for step in steps}
    return next((f" (then {_RESTART[each]})" for each in ("power-cycle", "yes") if each in needed), "")


def _waived(audit: Audit, width: int) -> list[Line]:
    waived = grouped(finding for finding in audit.findings if finding.verdict == "waived")
    return [
        line
        for group in waived
        for line in _marked("WAIVED", "dim", [*_claim(group), (f" - {plain(group.head.waived or '', LONGEST)}", "dim")], width)
    ]


def _broken(audit: Audit, width: int) -> list[Line]:
    broken = grouped(finding for finding in audit.findings if finding.verdict == "error")
    return [line for group in broken for line in _marked("ERROR", "down", _claim(group), width)]


def tally(audit: Audit, width: int) -> list[Line]:
    """Return one line that counts the verdicts, so that nobody takes silence for health."""
    numbers: dict[str, int] = {}
    for finding in audit.findings:
        numbers[finding.verdict] = numbers.get(finding.verdict, 0) + 1
    named = [("pass", "pass"), ("unknown", "unknown"), ("not-applicable", "not applicable"), ("error", "broken")]
    said = ", ".join(f"{numbers[verdict]} {word}" for verdict, word in named if numbers.get(verdict))
    rules = count(len({finding.id for finding in audit.findings}), "rule")
    head = f"{count(numbers.get('finding', 0), 'finding')}{f', {said}' if said else ''}"
    line = f"{rules} asked for {audit.scope}: {head}. -v lists them all."
    return [(), *wrapped([(line, "dim")], width)]


FEW = 3
"""So many facts of one section are named each; more are counted."""

SHOWN = 5
"""So many cures stand on one screen, those for which most rules wait."""


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


def unknown_facts(audit: Audit, width: int, *, verbose: bool = False) -> list[Line]:
    """Return a section of what could not be learnt, empty where nothing lacks; verbose, every fact and rule by name."""
    every = missing_facts(audit)
    shown = every if verbose else every[:SHOWN]
    result = [line for one in shown for line in wrapped(_spans(one, verbose=verbose), width)]
    if len(every) > len(shown):
        facts = sum(len(names) for one in every[SHOWN:] for names in one.facts.values())
        result += wrapped([(f"- {count(facts, 'more fact')} by other means: -v names them", "dim")], width)
    return [(), (("What could not be seen, and what would show it", "heading"),), *result] if result else []


def _spans(one: MissingFacts, *, verbose: bool) -> list[Span]:
    if verbose:
        what = "; ".join(f"{_named(names, verbose=True)}: {why}" for why, names in one.facts.items())
        waits = f" [{count(len(one.rules), 'rule')}: {', '.join(one.rules)}]" if one.rules else ""
    else:
        what = _named((name for names in one.facts.values() for name in names), verbose=False)
        waits = f" [{count(len(one.rules), 'rule waits', 'rules wait')}]" if one.rules else ""
    if one.help == NOT_OFFERED:
        return [(f"- {what}: {NOT_OFFERED}{waits}", "dim")]
    return [(f"- {what} ", ""), ("-> ", "dim"), (one.help, "title"), (waits, "dim")]


def _named(names: Iterable[str], *, verbose: bool) -> str:
    """Return names of facts: ``memory, cpu.epp, 6 facts of kernel``."""
    sections: dict[str, list[str]] = {}
    for name in dict.fromkeys("nothing was measured" if name == MEASURED else name for name in names):
        sections.setdefault(name.partition(".")[0], []).append(name)
    return ", ".join(
        ", ".join(own) if verbose or len(own) <= FEW else _counted(section, own) for section, own in sections.items()
    )


def _counted(section: str, own: list[str]) -> str:
    return f"{len(own)} settings" if section == "setting" else f"{len(own)} facts of {section}"
