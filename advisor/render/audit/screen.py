"""The first screen of an audit: what to fix first, with how; then what to consider, what was measured, what was not seen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from advisor.language.units import count, duration, plain, throughput
from advisor.model.audit.findings import Audit, Finding
from advisor.model.audit.measured_facts import Compared, MeasuredFacts
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine
from advisor.render.audit.findings import Asker, Group, answered_and_open, cost_words, fix_words, grouped, tally, unseen_items
from advisor.render.audit.summary import identity
from advisor.render.commandline import folded
from advisor.render.lines import Line, Span, clipped, glued, labelled, wrapped
from advisor.render.topology.elements import Picture

HEIGHT, WIDTH = 24, 80
"""Lines of a terminal as it opens, which the screen keeps to from so many columns on."""

ROOM = 10
"""Columns of the word that stands before a section, or of number and severity before a finding."""

FEW = 3
"""So many words before a colon are the name of a thing, not what is so of it."""

LITTLE = 1 / 4
"""Where fewer of the rules that apply have an answer, the screen says first that little is known."""


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


_DETAILS = (
    _Detail(3, 6, 3, 3), _Detail(3, 4, 2, 2), _Detail(3, 3, 1, 1), _Detail(2, 4, 2, 2), _Detail(2, 3, 1, 1), _Detail(1, 4, 2, 2),
    _Detail(1, 3, 1, 1), _Detail(1, 2, 1, 1),
)  # fmt: skip


class Shown(NamedTuple):
    """What a screen is made of."""

    audit: Audit
    machine: Machine
    layout: Layout
    measured: MeasuredFacts | None
    asker: Asker


def screen(shown: Shown, seen: Picture, width: int) -> list[Line]:
    """Return the screen in as much detail as 24 lines hold; a narrow terminal gets the least, on more lines."""
    audit = shown.audit
    rules = audit.by_rule
    harmful = [own for own in rules if own[0].severity != "info"]
    considered = _considered(audit, [own for own in rules if own[0].severity == "info"], len(harmful))
    unseen = unseen_items(audit, shown.asker)
    head = [*identity(shown.machine, shown.layout, seen, width, ROOM), *_verdict(audit, harmful, width)]
    pending = _section("PENDING", _pending(audit), width, 1, "warn")
    measured = _section("MEASURED", _figures(shown.measured), width, 2, "label")
    end = _end(audit, shown.asker, width)

    def lines(detail: _Detail) -> list[Line]:
        consider = _section("CONSIDER", considered, width, detail.considered, "label")
        not_seen = _section("NOT SEEN", unseen, width, detail.unseen, "label")
        return [*head, *_fixes(harmful, width, detail), *pending, *consider, *measured, *not_seen, *end]

    tried = map(lines, _DETAILS[:-1] if width >= WIDTH else ())
    return next((found for found in tried if len(found) <= HEIGHT), None) or lines(_DETAILS[-1])


def _end(audit: Audit, asker: Asker, width: int) -> list[Line]:
    """Return what stands below on every screen: what was waived, what broke, the numbers, the commands to go on with."""
    return [
        *_section("WAIVED", [f"{own.id}: {plain(own.waived or '', 80)}" for own in _of(audit, "waived")], width, 1, "dim"),
        *_section("BROKEN", [f"{own.id}: {plain(own.claim or '', 80)}" for own in _of(audit, "error")], width, 1, "down"),
        *rules_line(audit, width),
        *_next(audit, asker, width),
    ]


def _verdict(audit: Audit, harmful: Sequence[tuple[Finding, ...]], width: int) -> list[Line]:
    """Return the line that a hurried reader takes away."""
    answered, open_rules = answered_and_open(audit)
    head: list[Span]
    if harmful:
        restart = _restart(*(own[0] for own in harmful))
        things = "FIX 1 THING" if len(harmful) == 1 else f"FIX {len(harmful)} THINGS"
        head = [(things, "down"), (f"  {_headline(audit, harmful[0])}{f'; one {restart}' if restart else ''}", "")]
    elif not answered or answered < LITTLE * (answered + open_rules):
        head = [
            ("LITTLE IS KNOWN", "warn"),
            (f"  {answered} of {answered + open_rules} checks could be answered; no fault found", ""),
        ]
    else:
        rest = f"; {open_rules} need more facts" if open_rules else ""
        head = [("NOTHING TO FIX", "good"), (f"  {count(answered, 'check')} answered for {audit.scope}{rest}", "")]
    return [(), *wrapped(head, width)]


def _headline(audit: Audit, found: Sequence[Finding]) -> str:
    head = found[0]
    gain = _gain(head).partition(",")[0]
    return f"{_change(audit, head, explained=True) or plain(head.title, 100)}{f': {gain}' if gain else ''}"


def _gain(head: Finding) -> str:
    return "" if head.cost is None else cost_words(head.cost)


def _restart(*findings: Finding) -> str:
    """Return what the fixes need to take effect, the hardest of them; empty where that is nothing."""
    steps = {step.reboot for finding in findings for step in finding.fix}
    return "power cycle" if "power-cycle" in steps else "reboot" if "yes" in steps else ""


def _change(audit: Audit, finding: Finding, *, explained: bool = False) -> str | None:
    """Return what would be set: ``NPS 1 -> 4``; None where no setting's value is known."""
    rows = {row.name: row for row in audit.settings}
    named = [(rows.get(want.setting), want.value) for want in finding.wants]
    said = [
        f"{plain(row.heading if explained else row.term, 80)} {plain(row.current, 30)} -> {plain(value, 30)}"
        for row, value in named
        if row is not None and row.current is not None and value is not None
    ]
    return ", ".join(said) or None


def _fixes(harmful: Sequence[tuple[Finding, ...]], width: int, detail: _Detail) -> list[Line]:
    """Return the fixes, numbered: some in full, some in a line, the rest counted."""
    result: list[Line] = []
    for number, own in enumerate(harmful[: detail.fixes], 1):
        result += _in_full(number, grouped(own), width)
    rest = harmful[detail.fixes : detail.fixes + detail.lines]
    for number, own in enumerate(rest, detail.fixes + 1):
        result += clipped([_lead(number, own[0]), (_short(own[0]), ""), (_subjects(own), "dim")], width, 2, ROOM)
    left = len(harmful) - detail.fixes - len(rest)
    return [*result, *labelled("", [(f"{left} more to fix: advisor audit -v", "dim")], width, ROOM)] if left > 0 else result


def _in_full(number: int, groups: tuple[Group, ...], width: int) -> list[Line]:
    head = groups[0].head
    subjects = [finding for group in groups for finding in group.members]
    said = [(plain(head.claim or head.title, 300), "title"), (f"{_subjects(subjects)} ({head.id})", "dim")]
    claim = clipped([_lead(number, head), *said], width, 3, ROOM)
    then = f", then {_restart(head)}" if _restart(head) else ""
    rows = [("cost", _gain(head)), ("fix", f"{_steps(head)}{then}"), ("check", head.check or ""), ("undo", _undo(head))]
    return [*claim, *(line for label, text in rows if text for line in _row(label, text, width))]


def _row(label: str, text: str, width: int) -> list[Line]:
    return clipped([(f"{'':3}{label:<{ROOM - 3}}", "label"), (plain(text, 400), "")], width, 2, ROOM)


def _lead(number: int, head: Finding) -> Span:
    return f"{number:>2} {head.severity.upper():<{ROOM - 3}}", head.severity


def _steps(head: Finding) -> str:
    """Return how to fix it: commands of the operating system to paste, the way through the BIOS menus, or words."""
    commands = [line for step in head.fix if step.where != "bios" for line in step.commands]
    return "; ".join(commands) if commands and len(head.fix) == 1 else fix_words(head).removeprefix("BIOS: ")


def _undo(head: Finding) -> str:
    """Return how to undo it; empty where there is nothing to undo."""
    text = head.undo or next((step.undo for step in head.fix if step.undo), "")
    return "" if text.startswith("nothing") else text


def _subjects(found: Sequence[Finding]) -> str:
    """Return the things that it is so of, where the claim names but one of several."""
    names = [plain(finding.subject, 40) for finding in found[1:] if finding.subject]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"; so {'are' if len(names) > 1 else 'is'} {', '.join(names[:3])}{more}" if names else ""


def _short(head: Finding) -> str:
    """Return a finding in a few words: its claim up to what explains it; its title where that is a name alone."""
    claim = plain(head.claim or head.title, 200)
    first = re.split(r"[;:] |, which", claim)[0]
    if len(first.split()) > FEW or first == claim:
        return first
    about = plain(head.subject, 40) if head.subject else ""
    title = plain(head.title, 100)
    return f"{title} ({about})" if about and about not in title else title


def _section(word: str, items: Sequence[str], width: int, most: int, style: str) -> list[Line]:
    """Return items on as many lines as are given, those left out counted; nothing where there are none."""
    for shown in range(len(items), 0, -1):
        more = f" · {len(items) - shown} more: -v" if shown < len(items) else ""
        lines = wrapped([(f"{word:<{ROOM}}", style), (" · ".join(items[:shown]) + more, "")], width, indent=ROOM)
        if len(lines) <= most or shown == 1:
            return lines
    return []


def _considered(audit: Audit, minor: Sequence[tuple[Finding, ...]], before: int) -> list[str]:
    said = (_change(audit, own[0]) or _short(own[0]) for own in minor)
    return [glued(f"{number} ", ROOM) + words for number, words in enumerate(said, before + 1)]


def _pending(audit: Audit) -> list[str]:
    """Return what the next restart brings, where the BIOS holds other values than those in effect."""
    rows = [row for row in audit.settings if row.pending is not None and row.pending != row.current]
    return [
        f"{plain(row.term, 60)} {plain(row.current or '?', 30)} -> {plain(str(row.pending), 30)} at the next boot" for row in rows
    ]


def _of(audit: Audit, verdict: str) -> list[Finding]:
    return list({finding.id: finding for finding in audit.findings if finding.verdict == verdict}.values())


def _figures(measured: MeasuredFacts | None) -> list[str]:
    """Return the figures of the whole machine, each beside what is published or could be."""
    if measured is None:
        return []
    found: list[str] = []
    whole = measured.machine
    if whole is not None and whole.triad:
        found.append(f"triad {throughput(whole.triad)}{_beside(measured.published, 'triad', whole.triad, whole.ceiling)}")
    elif whole is not None and whole.load:
        found.append(f"load {throughput(whole.load)}{_beside(measured.published, 'load', whole.load, whole.ceiling)}")
    if whole is not None and whole.latency:
        found.append(f"latency {duration(whole.latency)}{_beside(measured.published_latency, 'latency', whole.latency, None)}")
    if measured.flops:
        share = f", {100 * measured.flops.share:.0f} % of peak" if measured.flops.share else ""
        found.append(f"{measured.flops.rate / 1e12:.3g} TFLOP/s{share}")
    if measured.hpl and measured.hpl.rate:
        found.append(f"HPL {measured.hpl.rate / 1e12:.3g} TFLOP/s")
    found += [f"{each.name} {throughput(each.bandwidth)} one way" for each in measured.adapters if each.bandwidth]
    busy = ", on a busy machine" if measured.idle is False else ""
    return [*found, f"measured {plain(measured.when, 40)}{busy}"]


def _share(value: float, low: float, high: float) -> str:
    """Return ``56 % of the 270-300 GB/s``, of rates and of times; the share is that of the lower end."""
    write = throughput if low > 1 else duration
    span = write(high) if low == high else f"{write(low).partition(' ')[0]}-{write(high)}"
    return f"{100 * value / low:.0f} % of the {span}"


def _beside(published: Sequence[Compared], what: str, value: float, ceiling: float | None) -> str:
    """Return how a figure stands to what was published for such a machine, or else to what its DIMMs could carry."""
    one = next((each for each in published if what in each.name and "machine" in each.name and each.value == value), None)
    if one is not None and (one.low or one.high):
        low, high = one.low or one.high or 0.0, one.high or one.low or 0.0
        return f", {_share(value, low, high)} published [{one.ref}]"
    return f", {100 * value / ceiling:.0f} % of what the DIMMs carry" if ceiling else ""


def rules_line(audit: Audit, width: int) -> list[Line]:
    """Return how many rules came to what, so that nobody takes silence for health."""
    return wrapped([(f"{'RULES':<{ROOM}}", "dim"), (" · ".join(tally(audit)), "")], width, indent=ROOM)


def _next(audit: Audit, asker: Asker, width: int) -> list[Line]:
    """Return the commands to go on with; of those that need a file one in full, to be copied, whatever the width."""
    names = [*(["explain 1"] if audit.by_rule else []), "checklist", "topology", "audit -v"]
    label = (f"{'MORE':<{ROOM}}", "label")
    if not asker.words:
        said = " · ".join(glued(f"advisor {name}", width - ROOM) for name in names)
        return wrapped([label, (said, "title")], width, indent=ROOM)
    room = max(width - ROOM, ROOM)
    first = folded(("advisor", *names[0].split(), *asker.words), room)
    shows = folded(("advisor", "measure", "show", *asker.files), room) if asker.files else []
    lines = [(label if at == 0 else (" " * ROOM, ""), (text, "title")) for at, text in enumerate([*first, *shows])]
    return [*lines, *labelled("", [(f"and with the same options {', '.join(names[1:])}", "dim")], width, ROOM)]
