"""The checklist on a terminal or on paper: a line a step, and all that is known of each where that is asked for."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from advisor.advice.checklist_page.order import BIOS_COLUMNS, NO_MENU, BiosRow, bios_rows, left_out, order_verdict, to_come
from advisor.advice.checklist_page.sheet import (
    BOXES,
    NOTHING,
    LookUp,
    Place,
    Sheet,
    Step,
    compared,
    facts,
    published_value,
    right,
    scripts,
)
from advisor.advice.model.checklist import Checklist, Item, Mark
from advisor.machine.jinja import REBOOTS
from advisor.machine.units import count, plain, printable
from advisor.show.commandline import broken
from advisor.show.lines import Line, Page, Span, beside, glued, labelled, wrapped

SCHEMA: Final = "advisor-checklist/1"
"""The number rises when a key changes meaning or goes."""

HEADING: Final = "What the benchmarks should show"
_LABEL, _DEEP, _NARROWEST = 16, 6, 8
_OPEN: Final[tuple[tuple[str, str, Mark], ...]] = (("TO DO", "", "todo"), ("CONSIDER", "if it suits your work", "consider"))


def checklist_document(checklist: Checklist) -> dict[str, Any]:
    """Return the checklist as plain JSON values."""
    return {"schema": SCHEMA, **checklist.model_dump(mode="json")}


def checklist_page(sheet: Sheet, width: int | None = None, *, verbose: bool = False, formats: Sequence[str] = ()) -> Page:
    """Return the checklist as a page: a line a step, and with ``verbose`` all that is known of each."""
    body = _order if sheet.plan.order else _machine

    def lines(room: int) -> list[Line]:
        more = [*details(sheet.checklist, room)] if verbose else []
        return [*_head(sheet, room), *body(sheet, room, verbose=verbose), *more, *_end(sheet, room, formats, verbose=verbose)]

    return Page(lines, width)


def _head(sheet: Sheet, width: int) -> Iterator[Line]:
    title = f"Tuning checklist: {plain(sheet.name, 300)}"
    yield from wrapped([(title, "title"), (f", {plain(sheet.kind, 300)}", "")], width)
    style = {"fix": "high", "nothing": "good"}.get(sheet.head.outcome, "warn")
    order = [(order_verdict(sheet), "")] if sheet.plan.order else []
    yield from wrapped(order or [(sheet.verdict, style), (f"  {sheet.tally}", "")], width)


def _machine(sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield the list of a machine: to do, to consider, to look up, right."""
    for title, about, mark in _OPEN:
        places = sheet.places(mark)
        yield from ((), ((title, "heading"), (f"  {about}" if about else "", "dim"))) if places else ()
        for place in places:
            yield from _place(place, sheet, width, verbose=verbose)
    if sheet.nothing:
        yield from ((), *wrapped([(sheet.nothing, "good")], width))
    if sheet.look_up:
        yield from ((), (("LOOK UP", "heading"), ("  not known: one command each", "dim")))
    for each in sheet.look_up:
        yield from _look_up(each, width, verbose=verbose)
    yield from _right(sheet, width, verbose=verbose)


def _place(place: Place, sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield the steps at one place, below its name, and what makes them take effect."""
    bios = place.where == "bios"
    setup = f"  {plain(sheet.vendor.setup, 200)}" if bios and sheet.vendor.setup else ""
    yield from wrapped([(place.heading, "label"), (setup, "dim")], width)
    for each in place.steps:
        yield from _step(each, width)
        yield from _facts_below(each.item, sheet.checklist, width) if verbose else ()
    if bios and sheet.checklist.apply and any(each.item.fix.commands for each in place.steps):
        yield from wrapped([(f"{'':4}{REBOOTS}", "warn")], width, indent=4)
        for command in sheet.checklist.apply:
            yield from (((f"{'':{_DEEP}}{line}", ""),) for line in broken(printable(command), width - _DEEP))


def _step(one: Step, width: int) -> Iterator[Line]:
    """Yield a step: box, number, severity, what and how on one line; how on its own where that is too long."""
    todo = one.mark == "todo"
    head = f"{BOXES[one.mark]} "
    if one.mark in ("todo", "consider"):
        head += f"{one.number:>2} {one.item.severity.upper() if todo else '':<6} "
    lead: list[Span] = [(head, one.item.severity if todo else ""), (one.what, "title")]
    fits = bool(one.how) and len(head) + len(one.what) + len(one.how) + 2 <= width
    yield from wrapped([*lead, (f"  {one.how}" if fits else "", "")], width, indent=len(head))
    yield from _text("" if fits else one.how, len(head), width, command=one.is_command)
    for line in one.commands:
        yield from _text(line, len(head), width, command=True)
    yield from _text(one.remark, len(head), width, style="warn")


def _text(text: str, indent: int, width: int, *, command: bool = False, style: str = "") -> Iterator[Line]:
    indent = min(indent, max(0, width - 20))
    if text and command:
        yield from (((f"{'':{indent}}{line}", style),) for line in broken(printable(text), width - indent))
    elif text:
        yield from wrapped([(f"{'':{indent}}", ""), (plain(text, 1000), style)], width, indent=indent)


def _look_up(one: LookUp, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield what one command makes known: how much, the command, what is done with it, and the settings by name."""
    box = BOXES["unknown"]
    if one.about:
        yield from wrapped([(f"{box} {one.about}", "title"), (f": {one.then}" if one.then else "", "")], width, indent=4)
        yield from _text(one.command, 4, width, command=" " in one.command)
    else:
        text = f"{count(len(one.items), 'more line', 'more lines')}: {one.command}{'' if verbose else ' (-v)'}"
        yield from wrapped([(f"{box} {text}", "")], width, indent=4)
    for item in one.items if verbose else ():
        text = f"{item.title}: {item.wanted}" if item.setting else item.title
        text += f": {item.look}" if item.look and not one.about else ""
        yield from wrapped([(f"    {box} {plain(text, 300)}", "")], width, indent=8)
    for place, names in one.names if not verbose else ():
        label = f"{place}: " if place else ""
        yield from wrapped([("    ", ""), (label, "label"), *_parts(names)], width, indent=4)


def _parts(names: str) -> list[Span]:
    """Return names between dots, none of which is broken at a blank."""
    first, *more = names.split(" · ")
    return [(glued(first, 60), ""), *((f" · {glued(each, 60)}", "") for each in more)]


def _right(sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield what is right, a line a place, and what is nothing of this machine."""
    checklist = sheet.checklist
    done, waived, away = list(right(checklist)), checklist.marked("waived"), checklist.marked("not-here")
    if done or waived or away:
        yield from ((), (("DONE", "heading"),))
    if verbose:
        for place in sheet.places("done", "waived", "not-here"):
            yield ((place.heading, "label"),)
            yield from (line for each in place.steps for line in _step(each, width))
        return
    for heading, names in done:
        yield from wrapped([(f"{BOXES['done']} ", "good"), (f"{heading}: ", "label"), *_parts(names)], width, indent=4)
    for item in waived:
        yield from wrapped([(f"{BOXES['waived']} {plain(item.title, 200)}: waived", "")], width)
    if away:
        words = f"{count(len(away), 'line is', 'lines are')} about what this machine is not (-v)"
        yield from wrapped([(f"{BOXES['not-here']} {words}", "dim")], width, indent=4)


def _end(sheet: Sheet, width: int, formats: Sequence[str], *, verbose: bool) -> Iterator[Line]:
    """Yield what the marks mean, and how to go on."""
    if not sheet.nothing:
        deeper = [] if verbose else ["-v: why, check, undo and source of each"]
        more = [*deeper, "--as html: to print and tick", *scripts(sheet, formats)]
        same = [("The same with  ", "dim"), (" · ".join(glued(each, 60) for each in more), "dim")]
        yield from ((), *wrapped([(sheet.legend, "dim")], width), *wrapped(same, width))


def proof_lines(checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield each benchmark with all that was published of it for the platform."""
    proofs = compared(checklist)
    yield from ((), ((HEADING, "heading"),)) if proofs else ()
    for proof in proofs:
        yield from wrapped([(plain(proof.command), "title"), (f": {plain(proof.shows)}", "")], width)
        for each in proof.expected:
            yield from wrapped([("  - ", ""), (plain(published_value(each), 400), "")], width, indent=4)
        if not proof.expected:
            yield from wrapped([(f"  - {NOTHING}", "dim")], width, indent=4)


def details(checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield what stands below the list in full: notes, benchmarks, what is not offered, sources."""
    notes, absent = ([[("- ", ""), (plain(line, 8000), "")] for line in own] for own in (checklist.notes, checklist.absent))
    cited = [[(f"[{source.id}] ", "dim"), (plain(source.text, 300), "dim")] for source in checklist.sources]
    yield from _section("Before you start", notes, width)
    yield from proof_lines(checklist, width)
    yield from _section(f"Not offered by {plain(checklist.vendor)} here", absent, width)
    yield from _section("Sources", cited, width, indent=4)


def _section(heading: str, rows: Sequence[list[Span]], width: int, indent: int = 2) -> Iterator[Line]:
    yield from ((), ((heading, "heading"),)) if rows else ()
    yield from (line for spans in rows for line in wrapped(spans, width, indent=indent))


def _facts_below(item: Item, checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield all that is known of a step, a label a line; a command below its label where a word is too long for beside it."""
    for label, text in facts(item, checklist):
        head, line = f"{'':{_DEEP}}{label}", printable(text)
        if label not in ("run", "check", "or") or text.startswith("advisor "):
            yield from labelled(head, [(plain(text, 1000), "warn" if label == "CONFLICT" else "")], width, _LABEL)
        elif max(map(len, line.split()), default=0) > width - _LABEL - 4:
            yield ((head, "label"),)
            yield from (((f"{'':{_DEEP + 2}}{part}", ""),) for part in broken(line, width - _DEEP - 2))
        else:
            parts = enumerate(broken(line, width - _LABEL))
            yield from (((f"{head if at == 0 else '':<{_LABEL}}", "label"), (part, "")) for at, part in parts)


def _order(sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield the list of hardware on order: first the table of the BIOS, then what is set and checked once it is there."""
    rows = bios_rows(sheet)
    if rows:
        setup = f"  {plain(sheet.vendor.setup, 200)}"
        yield from ((), *wrapped([("BIOS SETTINGS", "heading"), (setup, "dim")], width))
        yield from _table(rows, width)
        yield from _after_table(sheet, rows, width)
    for place in to_come(sheet):
        yield from ((), ((place.heading.upper(), "heading"),))
        for each in place.steps:  # the command stands beside it where there is room
            head = f"{BOXES[each.mark]} "
            fits = each.how and len(head) + len(each.what) + len(each.how) + 2 <= width
            yield from wrapped([(head, ""), (each.what, ""), (f"  {each.how}" if fits else "", "dim")], width, indent=4)
            alike = [item for item in sheet.checklist.items if item.title == each.item.title or item is each.item]
            for item in alike if verbose else ():
                yield from _facts_below(item, sheet.checklist, width)


def _after_table(sheet: Sheet, rows: Sequence[BiosRow], width: int) -> Iterator[Line]:
    """Yield what stands in no line of the table with the reason, and what makes the settings take effect."""
    for left in left_out(sheet, rows):
        yield from wrapped([(f"{BOXES['not-here']} ", ""), (left, "dim")], width, indent=4)
    if any(not row.verified and row.attribute for row in rows):
        yield from wrapped([("? behind an attribute: its name was not seen in a registry of such a server", "dim")], width)
    if sheet.checklist.apply:
        lines = "; ".join(printable(line) for line in sheet.checklist.apply)
        yield from wrapped([(f"{REBOOTS} ", "warn"), (lines, "")], width)


def _table(rows: Sequence[BiosRow], width: int) -> Iterator[Line]:
    """Yield the table of BIOS settings, page by page of the menus: setting, value, this vendor's attribute and its menu line."""
    widths = _widths([row.cells for row in rows], width - 4)
    names = (f"{name.upper():<{size}}" for name, size in zip(BIOS_COLUMNS, widths, strict=True))
    yield ((f"{'':4}{' '.join(names)}", "label"),)
    before = None
    for row in rows:
        if row.page != before:
            yield ((row.page or NO_MENU, "label"),)
        before, bold = row.page, "title" if row.mark == "todo" else ""
        cells = zip(row.cells, (bold, bold, "", ""), widths, strict=True)
        columns = [wrapped([(text, style)], size, indent=1) for text, style, size in cells]
        for at, line in enumerate(beside(columns, widths)):
            yield ((f"{BOXES[row.mark] if at == 0 else '':<4}", ""), *line)
        yield from wrapped([(f"{'':6}{row.remark}", "dim")], width, indent=6) if row.remark else ()


def _widths(cells: Sequence[tuple[str, ...]], room: int) -> list[int]:
    """Return the columns' widths: as wide as their texts, the widest made narrower until all fit, names last of all."""
    widths = [max(len(name), *(len(cell[at]) for cell in cells)) for at, name in enumerate(BIOS_COLUMNS)]
    words = [max(len(word) for cell in cells for word in (name, *cell[at].split())) + 1 for at, name in enumerate(BIOS_COLUMNS)]
    while sum(widths) + len(widths) - 1 > room and max(widths) > _NARROWEST:
        loose: Iterable[int] = [at for at, size in enumerate(widths) if size > words[at]] or range(len(widths))
        widths[max(loose, key=widths.__getitem__)] -= 1
    return widths
