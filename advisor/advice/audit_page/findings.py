"""A finding in words and numbers: number, cost, evidence, fix, undo."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from advisor.advice.model.bios_change import CODE
from advisor.advice.model.findings import Audit, Cost, Evidence, Finding, Want
from advisor.advice.model.planned import Planned
from advisor.advice.model.rule import BASES
from advisor.machine.units import count, plain
from advisor.show.lines import Span

LONGEST = 400

ROOM = 10
"""Columns of the word that stands before a section, or of number and severity before a finding."""

FEW = 3
"""So many words before a colon are the name of a thing, not what is so of it."""

STEPS = 2
"""So many steps of a fix stand in one line; more are counted."""


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
    part = "" if cost.gain is None else f"{100 * cost.gain:.2g} % of " if cost.gain < 1 else f"{100 * cost.gain:.0f} % of "
    source = f" [{cost.ref}]" if cost.ref else ""
    how_much = "; how much here is not known" if cost.gain is None else ""
    return f"{part}{plain(cost.of)}, {cost.basis}{source}{how_much}"


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


def gain(head: Finding) -> str:
    """Return what it costs, at least; empty where nothing is known of that."""
    return "" if head.cost is None else cost_words(head.cost)


def cost_or_basis(head: Finding) -> str:
    """Return what a finding costs; without a number what it rests on."""
    if head.bound is not None:
        return gain(head)
    of = f"{plain(head.cost.of)}: " if head.cost else ""
    ref = f" [{head.cost.ref}]" if head.cost and head.cost.ref else ""
    return f"{of}{BASES[head.basis]}{ref}"


def restart(*findings: Finding) -> str:
    """Return what the fixes need to take effect, the hardest of them; empty where that is nothing."""
    steps = {step.reboot for finding in findings for step in finding.fix}
    return "power cycle" if "power-cycle" in steps else "reboot" if "yes" in steps else ""


def changed(audit: Audit, wants: Iterable[Want], *, explained: bool = False) -> str | None:
    """Return what would be set: ``NPS 1 -> 4``; None where no setting's value is known."""
    rows = {row.name: row for row in audit.settings}
    named = [(rows.get(want.setting), want.value) for want in wants]
    said = [
        f"{plain(row.heading if explained else row.term, 80)} {plain(row.current, 30)} -> {plain(value, 30)}"
        for row, value in named
        if row is not None and row.current is not None and value is not None
    ]
    return ", ".join(said) or None


def lead(number: int, head: Finding) -> Span:
    """Return what stands before a finding: its number, by which every command takes it, and its severity."""
    return f"{number:>2} {head.severity.upper():<{ROOM - 3}}", head.severity


_CODED = re.compile(rf" \({CODE.pattern}=[^()]{{1,60}}\)")
"""A code of AMI's and its value, which no menu shows."""


def fix_rows(head: Finding, planned: Planned, vendor: str | None, asker: Asker) -> Iterator[tuple[str, str]]:
    """Yield how to fix it: the vendor's line that a script would hold, else why it is done by hand; then the way by the menus."""
    then = f", then {restart(head)}" if restart(head) else ""
    command = planned.changes[0].command if planned.changes else None
    menus = fix_words(head).removeprefix("BIOS: ")
    if command is not None and len(head.fix) == 1:
        own = any(line.split()[0] == command.split()[0] for line in head.fix[0].apply)
        # a restart alone changes nothing where the vendor's tool must commit what is staged, and that line restarts at once
        yield "fix", f"{command}, then commit it" if own else f"{command}{then}"
        yield "or", menus
        return
    commands = [line for step in head.fix if step.where != "bios" for line in step.commands]
    if commands and len(head.fix) == 1:
        who = "" if asker.live and asker.root else "as root: "
        yield "fix", f"{who}{'; '.join(commands)}{then}"
        return
    caveat = _caveat(head, vendor)
    why = "" if caveat else f", {re.split(r'[:(;]', planned.by_hand)[0].strip()}"
    hand = f"by hand{why}: " if planned.by_hand else ""
    shown = _CODED.sub("", menus) if planned.by_hand else menus
    yield "fix", f"{hand}{shown}{f' ({caveat})' if caveat else ''}{then}"


def _caveat(head: Finding, vendor: str | None) -> str:
    """Return what must be known of a way through menus that is not this vendor's own."""
    if all(step.where != "bios" for step in head.fix):
        return ""
    if vendor is None:
        return "the usual names: this server's vendor is not known"
    notes = (note for step in head.fix if step.attribute is None for note in step.notes)
    return next((note for note in notes if "usual name" in note or "not known" in note), "")


def undo_words(head: Finding) -> str:
    """Return how to undo it; empty where there is nothing to undo."""
    text = head.undo or next((step.undo for step in head.fix if step.undo), "")
    return "" if text.startswith("nothing") else text


def subjects(found: Sequence[Finding]) -> str:
    """Return the others that it is so of, where the claim names but one of several."""
    names = [plain(finding.subject, 40) for finding in found[1:] if finding.subject]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"; also {', '.join(names[:3])}{more}" if names else ""


def headline(head: Finding) -> str:
    """Return what a verdict names a finding by: its title, or of what was measured the figure, which says more."""
    measured = head.topic == "measured" and not head.wants
    return plain(head.claim or head.title, 300).partition(", ")[0] if measured else plain(head.title, 200)


def unsure_words(audit: Audit) -> str:
    """Return what forbids a green verdict though nothing is found: a figure that may be of a busy machine, or is not believed."""
    if audit.doubts:
        return f"{plain(audit.doubts[0].claim or audit.doubts[0].title, 300)}; whether the machine was idle is not known"
    return "; ".join(f"{plain(each.name, 100)}: {plain(each.why, 200)}" for each in audit.rejected[:1])


def in_short(head: Finding) -> str:
    """Return a finding in a few words: its claim up to what explains it; its title where that is a name alone."""
    claim = plain(head.claim or head.title, 200)
    first = re.split(r"[;:] |, which|, estimated", claim)[0]
    if len(first.split()) > FEW or first == claim:
        return first
    about = plain(head.subject, 40) if head.subject else ""
    title = plain(head.title, 100)
    return f"{title} ({about})" if about and about not in title else title
