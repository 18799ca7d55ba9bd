"""A finding in words, made once: claim, cost, evidence, steps, check, undo, sources. Pages and exports only lay it out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from advisor.advice.model.bios_change import CODE
from advisor.advice.model.findings import Audit, Cost, Evidence, Finding, Fix, Want
from advisor.advice.model.plan import Change, Plan, Planned, planned_for
from advisor.advice.model.rule import BASES, Publication
from advisor.machine.units import count, plain
from advisor.show.lines import Span

LONGEST: Final = 400

ROOM: Final = 10
"""Columns of the word that stands before a section, or of number and severity before a finding."""

_FEW: Final = 3
"""So many words before a colon are the name of a thing, not what is so of it."""

_STEPS: Final = 2
"""So many steps of a fix stand in one line; more are counted."""

_RESTARTS: Final = {"yes": "reboot", "power-cycle": "power cycle"}

_CODED: Final = re.compile(rf" \({CODE.pattern}=[^()]{{1,60}}\)")
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


def card_steps(own: Sequence[Finding], planned: Planned, plan: Plan) -> Iterator[CardStep]:
    """Yield what to do, step by step, with the lines to copy: of the BIOS those that the plan has."""
    for fix in dict.fromkeys(fix for group in grouped(own) for fix in group[0].fix):
        change = next((each for each in planned.changes if fix.setting in each.settings), None)
        before = tuple(each for each in plan.writes if change is not None and each.attribute in change.first)
        written = tuple(each.command for each in (*before, change) if each and each.command)
        lines = written or fix.commands if change is not None or fix.where != "bios" else ()
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
    how_much = "; the amount here is unknown" if cost.gain is None else ""
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


def fix_rows(head: Finding, planned: Planned, vendor: str | None, asker: Asker) -> Iterator[tuple[str, str]]:
    """Yield how to fix it: the vendor's line that a script would hold, else why it is done by hand; then the way by the menus."""
    then = f", then {restart(head)}" if restart(head) else ""
    command = planned.changes[0].command if planned.changes else None
    menus = fix_words(head).removeprefix("BIOS: ")
    commands = [line for step in head.fix if step.where != "bios" for line in step.commands]
    if command is not None and len(head.fix) == 1:
        own = any(line.split()[0] == command.split()[0] for line in head.fix[0].apply)
        # a restart alone changes nothing where the vendor's tool must commit what is staged, and that line restarts at once
        yield "fix", f"{command}, then commit it" if own else f"{command}{then}"
        yield "or", menus
    elif commands and len(head.fix) == 1:
        yield "fix", f"{'' if asker.live and asker.root else 'as root: '}{'; '.join(commands)}{then}"
    else:
        caveat = _caveat(head, vendor)
        why = "" if caveat else f", {re.split(r'[:(;]', planned.by_hand)[0].strip()}"
        words = f"by hand{why}: {_CODED.sub('', menus)}" if planned.by_hand else menus
        yield "fix", f"{words}{f' ({caveat})' if caveat else ''}{then}"


def _caveat(head: Finding, vendor: str | None) -> str:
    """Return what must be known of a way through menus that is not this vendor's own."""
    if all(step.where != "bios" for step in head.fix):
        return ""
    if vendor is None:
        return "usual names: the vendor of this server is unknown"
    notes = (note for step in head.fix if step.attribute is None for note in step.notes)
    return next((note for note in notes if "usual name" in note or "not known" in note), "")


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
    return f"; also {', '.join(names[:3])}{more}" if names else ""


def headline(head: Finding) -> str:
    """Return what a verdict names a finding by: its title, or of what was measured the figure, which says more."""
    measured = head.topic == "measured" and not head.wants
    return plain(head.claim or head.title, 300).partition(", ")[0] if measured else plain(head.title, 200)


def unsure_words(audit: Audit) -> str:
    """Return what forbids a green verdict though nothing is found: a figure that may be of a busy machine, or is not believed."""
    if audit.doubts:
        return f"{plain(audit.doubts[0].claim or audit.doubts[0].title, 300)}; not known whether the machine was idle"
    return "; ".join(f"{plain(each.name, 100)}: {plain(each.why, 200)}" for each in audit.rejected[:1])


def in_short(head: Finding) -> str:
    """Return a finding in a few words: its claim up to what explains it; its title where that is a name alone."""
    claim = plain(head.claim or head.title, 200)
    first = re.split(r"[;:] |, which|, estimated", claim)[0]
    if len(first.split()) > _FEW or first == claim:
        return first
    about, title = plain(head.subject or "", 40), plain(head.title, 100)
    return f"{title} ({about})" if about and about not in title else title
