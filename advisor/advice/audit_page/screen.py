"""The first screen of an audit: what to fix first, with how; then what to consider, what was measured, what was not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from advisor.advice.audit_page.findings import (
    LONGEST,
    ROOM,
    Asker,
    Group,
    changed,
    cost_or_basis,
    fix_rows,
    fix_words,
    gain,
    grouped,
    headline,
    in_short,
    lead,
    restart,
    subjects,
    undo_words,
    unsure_words,
)
from advisor.advice.audit_page.head import head_of
from advisor.advice.audit_page.proven import proven
from advisor.advice.audit_page.summary import figures, identity
from advisor.advice.audit_page.unseen import open_checks, passed, tally, unseen_words
from advisor.advice.model.findings import Audit, Finding
from advisor.advice.model.plan import Plan
from advisor.advice.model.planned import Planned, planned_for
from advisor.advice.model.totals import totals
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import count, plain
from advisor.measure.bounds import MemoryBounds
from advisor.measure.measured_facts import MeasuredFacts
from advisor.show.commandline import folded
from advisor.show.lines import Line, Span, clipped, glued, labelled, with_units, wrapped
from advisor.show.topology.elements import Picture

HEIGHT, WIDTH = 24, 80
"""Lines of a terminal as it opens, which the screen keeps to from so many columns on."""


@dataclass(frozen=True)
class _Detail:
    """How much a screen shows: the first that fits is taken."""

    fixes: int
    """Fixes with all that belongs to them."""
    lines: int
    """Fixes with a line or two."""
    considered: int
    """Lines of what to consider."""
    unseen: int
    """Lines of what was not seen."""
    each: int
    """Lines that a fix in short may take."""


_DETAILS = (
    _Detail(3, 6, 5, 3, 4), _Detail(3, 6, 3, 3, 4), _Detail(3, 4, 2, 2, 2), _Detail(3, 3, 1, 1, 2), _Detail(2, 4, 2, 2, 2),
    _Detail(2, 3, 1, 1, 2), _Detail(1, 6, 3, 3, 4), _Detail(1, 4, 2, 2, 3), _Detail(1, 3, 1, 1, 3), _Detail(1, 3, 1, 1, 2),
    _Detail(1, 3, 0, 1, 2), _Detail(1, 2, 0, 1, 1),
)  # fmt: skip

_LONG_COMMAND = 3
"""Lines of a command with long paths, beside which a full screen has no line for the names of others."""

_NARROW = _Detail(1, 4, 4, 6, 10)
"""On a terminal that scrolls in any case: whatever is shown is shown whole."""


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

    def planned(self, head: Finding) -> Planned:
        """Return what files for tools would write for a finding."""
        return planned_for(self.plan, head) if self.plan is not None else Planned()


def screen(shown: Shown, seen: Picture, width: int) -> list[Line]:
    """Return the screen in as much detail as 24 lines hold; a narrow terminal gets the least, on more lines."""
    audit = shown.audit
    rules = audit.by_rule
    harmful = [own for own in rules if own[0].severity != "info"]
    considered = _considered(shown, [own for own in rules if own[0].severity == "info"], width)
    unseen = open_checks(audit, shown.asker)
    head = [*identity(shown.machine, shown.layout, seen, width, ROOM), *_verdict(shown, harmful, width)]
    little = head_of(audit).little
    checked = _section("CHECKED", list(passed(audit)), width, 2, "good") if not harmful and not little else []
    facts = list(proven(shown.machine, shown.layout, shown.bounds)) if little else []
    pending = _section("PENDING", _pending(audit), width, 1, "warn")
    results = list(figures(shown.measured).values()) if shown.measured else []

    def lines(detail: _Detail) -> list[Line]:
        consider = _section("CONSIDER", considered, width, detail.considered, "label")
        measured = _section("MEASURED", results, width, max(detail.considered - 1, 2 if detail.considered else 1), "label")
        if measured and not detail.considered:
            measured = clipped([(f"{'MEASURED':<{ROOM}}", "label"), (with_units(" · ".join(results)), "")], width, 1, ROOM)
        not_seen = _not_seen(unseen, width, detail.unseen, shown.asker)
        fixes = _fixes(shown, harmful, width, detail)
        return [
            *head,
            *fixes,
            *checked,
            *_proven(facts, width, detail.considered),
            *pending,
            *consider,
            *measured,
            *not_seen,
            *_end(shown, width, brief=not detail.considered),
        ]

    if width < WIDTH:
        return lines(_NARROW)
    return next((found for found in map(lines, _DETAILS[:-1]) if len(found) <= HEIGHT), None) or lines(_DETAILS[-1])


def _end(shown: Shown, width: int, *, brief: bool) -> list[Line]:
    """Return what stands below on every screen: what was waived, what broke, the numbers, the commands to go on with."""
    audit = shown.audit
    return [
        *_section("WAIVED", [f"{own.id}: {plain(own.waived or '', 80)}" for own in _of(audit, "waived")], width, 1, "dim"),
        *_section("BROKEN", [f"{own.id}: {plain(own.claim or '', 80)}" for own in _of(audit, "error")], width, 1, "down"),
        *rules_line(audit, width),
        *_next(shown, width, brief=brief),
    ]


def _verdict(shown: Shown, harmful: Sequence[tuple[Finding, ...]], width: int) -> list[Line]:
    """Return the line that a hurried reader takes away; where little is known, that comes first."""
    audit, outcome = shown.audit, head_of(shown.audit)
    answered, open_rules = totals(audit).answered, totals(audit).unknown
    lines: list[list[Span]] = []
    if outcome.little:
        said = f"  {_input(shown)} answers {answered} of {answered + open_rules} checks{'' if harmful else '; no fault found'}"
        lines.append([("LITTLE IS KNOWN", "warn"), (said, "")])
    if harmful:
        needs = restart(*(own[0] for own in harmful))
        what, style = f"{_headline(audit, harmful[0])}{f'; one {needs}' if needs else ''}", "down"
    elif outcome.outcome == "nothing":
        rest = f", {open_rules} need{'s' if open_rules == 1 else ''} more facts" if open_rules else ""
        what, style = f"{count(answered, 'check')} answered for {audit.scope}{rest}", "good"
    else:
        what, style = unsure_words(audit), "warn"
    if outcome.says:
        lines.append([(outcome.says.upper(), style), (f"  {what}", "")])
    return [(), *(line for each in lines for line in wrapped(each, width))]


def _input(shown: Shown) -> str:
    """Return what the machine is known from, for a reader who may have a better source."""
    where = next((source.where for source in shown.machine.sources if source.fact == "topology"), "")
    return f"this {'hwloc XML' if where == 'hwloc XML' else 'machine' if shown.asker.live else 'input'}"


def _headline(audit: Audit, found: Sequence[Finding]) -> str:
    head = found[0]
    worth = gain(head).partition(",")[0] if head.cost and head.cost.gain is not None and headline(head) == head.title else ""
    return f"{changed(audit, head.wants, explained=True) or headline(head)}{f': {worth}' if worth else ''}"


def _fixes(shown: Shown, harmful: Sequence[tuple[Finding, ...]], width: int, detail: _Detail) -> list[Line]:
    """Return the fixes, numbered: some in full, some in a line or two, the rest counted."""
    result: list[Line] = []
    for own in harmful[: detail.fixes]:
        result += _in_full(shown, grouped(own), width)
    rest = harmful[detail.fixes : detail.fixes + detail.lines]
    for own in rest:
        head = own[0]
        change = changed(shown.audit, head.wants)
        what = f": {change}" if change else f"; fix: {fix_words(head).removeprefix('BIOS: ')}"
        words = [(in_short(head), ""), (subjects(own), "dim"), (what, "")]
        result += clipped([lead(shown.number(head.id), head), *words], width, detail.each, ROOM)
    left = len(harmful) - detail.fixes - len(rest)
    return [*result, *labelled("", [(f"{left} more to fix: advisor audit -v", "dim")], width, ROOM)] if left > 0 else result


def _in_full(shown: Shown, groups: tuple[Group, ...], width: int) -> list[Line]:
    head = groups[0].head
    members = [finding for group in groups for finding in group.members]
    said = [(plain(head.claim or head.title, 300), "title"), (f"{subjects(members)} ({head.id})", "dim")]
    claim = clipped([lead(shown.number(head.id), head), *said], width, 3 if width >= WIDTH else LONGEST, ROOM)
    fix = fix_rows(head, shown.planned(head), shown.audit.vendor, shown.asker)
    rows = [*fix, ("cost", cost_or_basis(head)), ("check", shown.asker.filled(head.check or "")), ("undo", undo_words(head))]
    return [*claim, *(line for label, text in rows if text for line in _row(label, text, width))]


def _row(label: str, text: str, width: int) -> list[Line]:
    """Return a part of a finding, on few lines where the screen is to be one; a word to be copied is never broken."""
    most = LONGEST if width < WIDTH else 3 if label in ("fix", "or") else 2
    return clipped([(f"{'':3}{label:<{ROOM - 3}}", "label"), (plain(text, 400), "")], width, most, ROOM, whole=True)


def _section(word: str, items: Sequence[str], width: int, most: int, style: str) -> list[Line]:
    """Return items on as many lines as are given, those left out counted, all of them on none; nothing where there are none."""
    if items and not most:
        return [((f"{word:<{ROOM}}", style), (f"{count(len(items), 'thing')}: -v", ""))]
    for shown in range(len(items), 0, -1):
        more = f" · {len(items) - shown} more: -v" if shown < len(items) else ""
        lines = wrapped([(f"{word:<{ROOM}}", style), (with_units(" · ".join(items[:shown])) + more, "")], width, indent=ROOM)
        if len(lines) <= most or shown == 1:
            return lines
    return []


def _proven(facts: Sequence[str], width: int, most: int) -> list[Line]:
    """Return what is proven on as many lines as are given, the most useful first."""
    for shown in range(len(facts), 0, -1):
        words = with_units(" · ".join(facts[:shown]))
        lines = wrapped([(f"{'PROVEN':<{ROOM}}", "label"), (words, "")], width, indent=ROOM)
        if len(lines) <= most:
            return lines
    return []


def _not_seen(ways: Sequence[tuple[str, int]], width: int, most: int, asker: Asker) -> list[Line]:
    """Return how many checks need more facts and which command has them; ways that find no room are counted together."""
    label = f"{'NOT SEEN':<{ROOM}}"
    for shown in range(len(ways), -1, -1):
        lines = wrapped([(label, "label"), (unseen_words(ways, shown, asker), "")], width, indent=ROOM)
        if len(lines) <= most or shown <= 1:
            return lines if ways else []
    return []


def _others(own: tuple[Finding, ...]) -> str:
    more = len({finding.subject for finding in own}) - 1
    return f" and {more} more" if more else ""


_SHORT = 44
"""Columns of what stands on one line, where a longer text is broken."""


def _considered(shown: Shown, minor: Sequence[tuple[Finding, ...]], width: int) -> list[str]:
    """Return what to consider, a few words each; where guides differ these words say so."""
    said = (
        (
            own[0].id,
            (changed(shown.audit, own[0].wants) or f"{in_short(own[0])}{_others(own)}")
            + (", guides differ" if own[0].basis == "disputed" else ""),
        )
        for own in minor
    )
    return [glued(f"({shown.number(rule)}) ", ROOM) + glued(words, min(_SHORT, width - 2 * ROOM)) for rule, words in said]


def _pending(audit: Audit) -> list[str]:
    """Return what the next restart brings, where the BIOS holds other values than those in effect."""
    rows = [row for row in audit.settings if row.pending is not None and row.pending != row.current]
    return [
        f"{plain(row.term, 60)} {plain(row.current or '?', 30)} -> {plain(str(row.pending), 30)} at the next boot" for row in rows
    ]


def _of(audit: Audit, verdict: str) -> list[Finding]:
    return list({finding.id: finding for finding in audit.findings if finding.verdict == verdict}.values())


def rules_line(audit: Audit, width: int) -> list[Line]:
    """Return how many rules came to what, so that nobody takes silence for health."""
    return wrapped([(f"{'CHECKS':<{ROOM}}", "dim"), (" · ".join(tally(audit)), "")], width, indent=ROOM)


def _next(shown: Shown, width: int, *, brief: bool) -> list[Line]:
    """Return the commands to go on with; of those that need a file one in full, to be copied, whatever the width."""
    asker, rules = shown.asker, shown.audit.by_rule
    names = [*([f"explain {shown.number(rules[0][0].id)}"] if rules else []), "checklist", "report -o FILE.html", "audit -v"]
    label = (f"{'MORE':<{ROOM}}", "label")
    if not asker.words:
        said = " · ".join(glued(f"advisor {name}", width - ROOM) for name in names)
        return wrapped([label, (said, "title")], width, indent=ROOM)
    room = max(width - ROOM, ROOM)
    first = folded(("advisor", *names[0].split(), *asker.words), room)
    shows = folded(("advisor", "measure", "show", *asker.files), room) if asker.files and not brief else []
    lines: list[Line] = [(label if at == 0 else (" " * ROOM, ""), (text, "title")) for at, text in enumerate([*first, *shows])]
    if brief and len(first) > _LONG_COMMAND:
        return lines
    return [*lines, *labelled("", [(f"and with the same options {', '.join(names[1:])}", "dim")], width, ROOM)]
