"""A finding in words, made once, and the verdict of a whole audit. Pages and exports only lay them out."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from advisor.advice.model.findings import (
    UNKNOWN_NAME,
    USUAL_NAME,
    Audit,
    Cost,
    Evidence,
    Finding,
    Fix,
    Want,
    totals,
    verdicts_of,
)
from advisor.advice.model.plan import CODE, Change, Plan, Planned, planned_for
from advisor.advice.model.sheets import BASES, SEVERITIES, Publication
from advisor.machine.layout import Layout
from advisor.machine.machine import NOT_OFFERED, Machine
from advisor.machine.units import count, plain
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.platform import MemoryBounds
from advisor.show.lines import Line, Span, wrapped

LONGEST = 400

ROOM = 10
"""Columns of the word that stands before a section, or of number and severity before a finding."""

_FEW = 3
"""So many words before a colon are the name of a thing, not what is so of it."""

_STEPS = 2
"""So many steps of a fix stand in one line; more are counted."""

_RESTARTS = {"yes": "reboot", "power-cycle": "power cycle"}

_CODED = re.compile(rf" \({CODE.pattern}=[^()]{{1,60}}\)")
"""A code of AMI's and its value, which no menu shows."""


class Asker(NamedTuple):
    """Who reads the screen: of which machine, and what it was given already."""

    words: tuple[str, ...] = ()
    """What the commands to go on with need to see the same: ``--from node.tar.gz``."""
    root: bool = False
    """Whether root asks: then nothing is to be had by sudo."""
    hosts: tuple[str, ...] = ()
    """The hosts of the job that this runs in."""
    bios: bool = False
    """Whether the BIOS's attributes were given, by files or by a BMC."""

    @property
    def live(self) -> bool:
        """Whether it is this machine."""
        return "--from" not in self.words

    @property
    def source(self) -> tuple[str, ...]:
        """The words that name the machine of a command; () of this one."""
        return next((pair for pair in pairwise(self.words) if pair[0] == "--from"), ())

    @property
    def files(self) -> tuple[str, ...]:
        """Files of measurements."""
        return tuple(value for option, value in pairwise(self.words) if option == "--measurements")

    def filled(self, text: str) -> str:
        """Return a command with the job's own hosts where A,B stands for two: it can be copied then."""
        return re.sub(r"(--hosts|--network) A,B\b", rf"\1 {','.join(self.hosts[:2])}", text) if len(self.hosts) > 1 else text


class Shown(NamedTuple):
    """What a screen is made of."""

    audit: Audit
    machine: Machine
    layout: Layout
    measured: MeasuredFacts | None
    asker: Asker
    plan: Plan | None = None
    """What files for tools would write: what they leave out is done by hand."""
    bounds: MemoryBounds | None = None
    """What arithmetic proves of the memory."""
    numbers: Mapping[str, int] | None = None
    """Rule -> number of its finding; None where the audit is of all topics, and they stand in order."""

    def number(self, rule: str) -> int:
        """Return the number by which every command takes a finding."""
        return (self.numbers or {own[0].id: at for at, own in enumerate(self.audit.by_rule, 1)})[rule]


class CardStep(NamedTuple):
    """One step of a fix, and the lines that do it: the same that files for tools hold, none where a person must do it."""

    fix: Fix
    restart: str = ""
    change: Change | None = None
    """What the plan writes for it."""
    before: tuple[Change, ...] = ()
    """What the plan writes first."""
    lines: tuple[str, ...] = ()
    left: str = ""
    """Why no file for a tool holds it."""


class Source(NamedTuple):
    """A publication as it is cited; all but its name is empty where nothing is known of it."""

    ref: str
    title: str = ""
    by: str = ""
    year: str = ""
    where: str = ""

    @property
    def says(self) -> str:
        """What it is, by whom; empty where that is not known."""
        return f"{self.title}, {self.by}{f' {self.year}' if self.year else ''}" if self.title else ""

    @property
    def url(self) -> str:
        """Where it is read; empty where it has no address."""
        return self.where if self.where.startswith("https://") else ""


class Card(NamedTuple):
    """A finding with all that belongs to it."""

    number: int
    head: Finding
    claims: tuple[str, ...]
    """Of its first four subjects."""
    subjects: tuple[str, ...]
    cost: str
    steps: tuple[CardStep, ...]
    undo: tuple[str, ...]
    """In words, or the lines that take the fix back."""
    undo_runs: bool
    """Whether those are lines to run."""
    evidence: tuple[str, ...]
    sources: tuple[Source, ...]


def card(number: int, own: Sequence[Finding], plan: Plan, publications: Mapping[str, Publication]) -> Card:
    """Return the findings of one rule as pages show them."""
    head = own[0]
    planned = planned_for(plan, head)
    lines, words = back_lines(planned), undo_words(head)
    known = (evidence_words(one) for finding in own for one in finding.evidence if one.where)
    return Card(
        number=number,
        head=head,
        claims=tuple(dict.fromkeys(plain(finding.claim or finding.title, 1000) for finding in own[:4])),
        subjects=tuple(dict.fromkeys(plain(finding.subject, 80) for finding in own if finding.subject)),
        cost=cost_or_basis(head),
        steps=tuple(card_steps(own, planned, plan)) or (CardStep(Fix(text=fix_words(head), where=head.where)),),
        undo=lines or ((words,) if words else ()),
        undo_runs=bool(lines),
        evidence=tuple(dict.fromkeys(known)),
        sources=tuple(source(ref, publications) for ref in head.refs),
    )


def card_steps(own: Sequence[Finding], planned: Planned, plan: Plan | None) -> Iterator[CardStep]:
    """Yield what to do, step by step, with the lines to copy: of the BIOS those that the plan has."""
    for fix in dict.fromkeys(fix for group in grouped(own) for fix in group[0].fix):
        change = next((each for each in planned.changes if fix.setting in each.settings), None)
        before = tuple(each for each in (plan.writes if plan and change else ()) if change and each.attribute in change.first)
        written = tuple(each.command for each in (*before, change) if each and each.command)
        lines = written or fix.commands if change or not plan or fix.where != "bios" else ()
        yield CardStep(fix, _RESTARTS.get(fix.reboot, ""), change, before, lines, planned.left.get(fix.setting or "", ""))


def source(ref: str, publications: Mapping[str, Publication]) -> Source:
    """Return a publication with its title and where to read it."""
    known = publications.get(ref)
    year = str(known.year) if known and known.year else ""
    return Source(ref, plain(known.title), plain(known.by), year, plain(known.where, LONGEST)) if known else Source(ref)


def grouped(findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], ...]:
    """Return findings with those of the same rule and the same steps together, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        steps = tuple(step.text for step in finding.fix) or (finding.advice or "",)
        groups.setdefault((finding.id, *steps), []).append(finding)
    return tuple(map(tuple, groups.values()))


def cost_words(cost: Cost) -> str:
    """Return what it costs and its source: ``13 % of STREAM triad, published [dell-rome-2019]``."""
    part = "" if cost.gain is None else f"{100 * cost.gain:.2g} % of " if cost.gain < 1 else f"{100 * cost.gain:.0f} % of "
    how_much = "; the loss on this machine is unknown" if cost.gain is None else ""
    return f"{part}{plain(cost.of)}, {cost.basis}{f' [{cost.ref}]' if cost.ref else ''}{how_much}"


def evidence_words(one: Evidence) -> str:
    """Return a fact with its value and where it was read: ``kernel.thp = always, /sys/kernel/mm/...``."""
    where = f", {plain(one.where, LONGEST)}" if one.where else ""
    return f"{plain(one.fact, LONGEST)} = {plain(one.value, LONGEST)}{where}"


def fix_words(finding: Finding) -> str:
    """Return the steps in one line; where none is known, what is wanted."""
    texts = [plain(step.text, LONGEST) for step in finding.fix]
    if not texts:
        wanted = (f"{want.setting} = {want.value or 'see -v'}" for want in finding.wants)
        return plain(finding.advice or finding.want or ", ".join(wanted) or "see the sources: -v", LONGEST)
    more = f"; and {count(len(texts) - _STEPS, 'more step')} (-v)" if len(texts) > _STEPS else ""
    return "; ".join(texts[:_STEPS]) + more


def cost_label(head: Finding) -> str:
    """Return the label of what ``cost_or_basis`` says."""
    return "basis" if head.cost is None else "cost"


def cost_or_basis(head: Finding) -> str:
    """Return what a finding costs; without a number what it rests on."""
    cost = head.cost
    if cost is None or head.bound is not None:
        return BASES[head.basis] if cost is None else cost_words(cost)
    return f"{plain(cost.of)}: {BASES[head.basis]}{f' [{cost.ref}]' if cost.ref else ''}"


def restart(*findings: Finding) -> str:
    """Return what the fixes need to take effect, the hardest of them; empty where that is nothing."""
    steps = {step.reboot for finding in findings for step in finding.fix}
    return next((word for reboot, word in reversed(_RESTARTS.items()) if reboot in steps), "")


def changed(audit: Audit, wants: Iterable[Want], *, explained: bool = False) -> str | None:
    """Return what would be set: ``NPS 1 -> 4``; None where no setting's value is known."""
    rows = {row.name: row for row in audit.settings}
    words = [
        f"{plain(row.heading if explained else row.term, 80)} {plain(row.current, 30)} -> {plain(want.value, 30)}"
        for want in wants
        if (row := rows.get(want.setting)) is not None and row.current is not None and want.value is not None
    ]
    return ", ".join(words) or None


def lead(number: int, head: Finding) -> Span:
    """Return what stands before a finding: its number, by which every command takes it, and its severity."""
    return f"{number:>2} {head.severity.upper():<{ROOM - 3}}", head.severity


def fix_rows(
    head: Finding, planned: Planned, vendor: str | None, asker: Asker, *, commit: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield how to fix it: the vendor's line that a script would hold, else why it is done by hand; then the way by the menus."""
    then = f", then {restart(head)}" if restart(head) else ""
    command = planned.changes[0].command if planned.changes else None
    menus = fix_words(head).removeprefix("BIOS: ")
    commands = [line for step in head.fix if step.where != "bios" for line in step.commands]
    if command is not None and len(head.fix) == 1:
        commits = _commits(head, command)
        yield "fix", f"{command}{'' if commits and commit else ', then commit it' if commits else then}"
        if commits and commit:
            yield "then", f"{'; '.join(commits)} (once after all changes, on a drained node: it restarts)"
        yield "or", menus
    elif commands and len(head.fix) == 1:
        yield "fix", f"{'' if asker.live and asker.root else 'as root: '}{'; '.join(commands)}{then}"
    else:
        caveat = _caveat(head, vendor)
        why = "" if caveat else f" ({re.split(r'[:(;]', planned.by_hand)[0].strip()})"
        words = f"by hand{why}: {_CODED.sub('', menus)}" if planned.by_hand else menus
        yield "fix", f"{words}{f' ({caveat})' if caveat else ''}{then}"


def _commits(head: Finding, command: str) -> list[str]:
    """Return the lines that commit what a command staged: a restart alone would change nothing, and they restart at once."""
    return [line for line in head.fix[0].apply if line.split()[0] == command.split(maxsplit=1)[0]]


def undo_row(head: Finding, planned: Planned) -> str:
    """Return how to undo it, the vendor's own line where that must be committed as the fix was."""
    back = back_lines(planned)
    is_staged = len(back) == 1 and len(head.fix) == 1 and _commits(head, back[0])
    return f"{back[0]}, then commit it" if is_staged else undo_words(head)


def _caveat(head: Finding, vendor: str | None) -> str:
    """Return what must be known of a way through menus that is not this vendor's own."""
    if all(step.where != "bios" for step in head.fix):
        return ""
    if vendor is None:
        return "generic names, because the server's vendor is unknown"
    notes = (note for step in head.fix if step.attribute is None for note in step.notes)
    return next((note for note in notes if note in (USUAL_NAME, UNKNOWN_NAME)), "")


def undo_words(head: Finding) -> str:
    """Return how to undo it; empty where there is nothing to undo."""
    text = head.undo or next((step.undo for step in head.fix if step.undo), "")
    return "" if text.startswith("nothing") else text


def back_lines(planned: Planned) -> tuple[str, ...]:
    """Return the plan's own lines that take a fix back."""
    return tuple(dict.fromkeys(back.command for change in planned.changes for back in change.back if back.command))


def subjects(own: Sequence[Finding]) -> str:
    """Return the others that it is so of, where the claim names but one of several."""
    names = [plain(finding.subject, 40) for finding in own[1:] if finding.subject]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"; the same for {', '.join(names[:3])}{more}" if names else ""


def headline(head: Finding) -> str:
    """Return what a verdict names a finding by: its title, or of what was measured the figure, which says more."""
    measured = head.topic == "measured" and not head.wants
    return plain(head.claim or head.title, 300).partition(", ")[0] if measured else plain(head.title, 200)


def unsure_words(audit: Audit) -> str:
    """Return what forbids a green verdict though nothing is found: a figure that may be of a busy machine, or is not believed."""
    if audit.doubts:
        return f"{plain(audit.doubts[0].claim or audit.doubts[0].title, 300)}; it is unknown whether the machine was idle"
    return "; ".join(f"{plain(each.name, 100)}: {plain(each.why, 200)}" for each in audit.rejected[:1])


def in_short(head: Finding) -> str:
    """Return a finding in a few words: its claim up to what explains it; its title where that is a name alone."""
    claim = plain(head.claim or head.title, 200)
    first = re.split(r"[;:] |, which|, estimated", claim)[0]
    if len(first.split()) > _FEW or first == claim:
        return first
    about, title = plain(head.subject or "", 40), plain(head.title, 100)
    return f"{title} ({about})" if about and about not in title else title


Outcome = Literal["fix", "look", "rejected", "little", "nothing"]
"""Findings, doubts, no result that is believed, few answers, or nothing of all that."""

LITTLE = 1 / 4
"""Where fewer of the rules that apply have an answer, a page says first that little is known."""

NOBODY = "other ways"
"""Where no command shows the fact, or none here: -v says what would."""
THERE = "on that machine"
CAPTURE = "sudo advisor capture"
AGAIN = "run advisor audit on the machine itself"
"""Of a capture that looked only once: counters tell by two looks."""
_NOT_IN_BIOS = "not in the BIOS attributes given"
_COMMAND = re.compile(r"(sudo )?(advisor|modprobe) ")
"""How a command begins: other words say what to add to this one, or why nothing helps."""
_LOAD = re.compile(r"sudo (modprobe \w+)")
"""A module of the kernel that would show registers or messages of the processor."""


class Head(NamedTuple):
    """The verdict of an audit: green only where the outcome is ``nothing``."""

    outcome: Outcome
    little: bool
    """Whether few of the rules that apply have an answer, whatever the outcome."""
    says: str
    """Fix 3 things; empty if no more is known than that it is little."""


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
        """Take in a fact and why it is unknown."""
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
            for name in names:
                sections.setdefault(name.partition(".")[0], {})[name] = None
            by_section[why] = [name for own in sections.values() for name in own]
        what = "; ".join(f"{', '.join(names)}: {why}" for why, names in by_section.items())
        waits = f" [{count(len(one.rules), 'rule')}: {', '.join(one.rules)}]" if one.rules else ""
        cure = (cure_words(one.help, asker), "title")
        spans: list[Span] = [(f"- {what} ", ""), ("-> ", "dim"), cure, (waits, "dim")]
        result += wrapped([(f"- {what}: {NOT_OFFERED}{waits}", "dim")] if one.help == NOT_OFFERED else spans, width)
    return [(), (("What could not be read, and how to read it", "heading"),), *result] if result else []


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
    items = [*([f"{THERE} run {', '.join(there)}"] if there else []), *here, *([f"{NOBODY}, see -v ({left})"] if left else [])]
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
    yield f"{numbers.every} with --scope {audit.scope}: {first}"
    yield from others
