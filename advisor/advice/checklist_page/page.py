"""The checklist on a terminal or on paper: a line a step, and all that is known of each where that is asked for."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from advisor.advice.checklist_page.details import broken, details, facts_below
from advisor.advice.checklist_page.order import order_lines, order_verdict
from advisor.advice.checklist_page.steps import BOXES, LookUp, Place, Sheet, Step, right, scripts
from advisor.advice.model.checklist import Checklist, Mark
from advisor.machine.jinja import REBOOTS
from advisor.machine.units import count, plain, printable
from advisor.show.lines import Line, Page, Span, glued, wrapped

SCHEMA: Final = "advisor-checklist/1"
"""The number rises when a key changes meaning or goes."""

_DEEP: Final = 6
_OPEN: Final[tuple[tuple[str, str, Mark], ...]] = (("TO DO", "", "todo"), ("CONSIDER", "where it suits your work", "consider"))


def checklist_document(checklist: Checklist) -> dict[str, Any]:
    """Return the checklist as plain JSON values."""
    return {"schema": SCHEMA, **checklist.model_dump(mode="json")}


def checklist_page(sheet: Sheet, width: int | None = None, *, verbose: bool = False, formats: Sequence[str] = ()) -> Page:
    """Return the checklist as a page: a line a step, and with ``verbose`` all that is known of each."""
    body = order_lines if sheet.plan.order else _machine

    def lines(room: int) -> list[Line]:
        more = [*details(sheet.checklist, room)] if verbose else []
        return [*_head(sheet, room), *body(sheet, room, verbose=verbose), *more, *_end(sheet, room, formats, verbose=verbose)]

    return Page(lines, width)


def _head(sheet: Sheet, width: int) -> Iterator[Line]:
    yield from wrapped(
        [("Tuning checklist: ", "title"), (plain(sheet.name, 300), "title"), (f", {plain(sheet.kind, 300)}", "")], width
    )
    style = "high" if sheet.head.outcome == "fix" else "good" if sheet.head.outcome == "nothing" else "warn"
    if sheet.plan.order:
        yield from wrapped([(order_verdict(sheet), "")], width)
    else:
        yield from wrapped([(sheet.verdict, style), (f"  {sheet.tally}", "")], width)


def _machine(sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield the list of a machine: to do, to consider, to look up, right."""
    for title, about, mark in _OPEN:
        places = sheet.places(mark)
        if places:
            yield ()
            yield ((title, "heading"), (f"  {about}" if about else "", "dim"))
        for place in places:
            yield from _place(place, sheet, width, verbose=verbose)
    if sheet.nothing:
        yield ()
        yield from wrapped([(sheet.nothing, "good")], width)
    if sheet.look_up:
        yield ()
        yield (("LOOK UP", "heading"), ("  not known: one command each", "dim"))
        for each in sheet.look_up:
            yield from _look_up(each, width, verbose=verbose)
    yield from _right(sheet, width, verbose=verbose)


def _place(place: Place, sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield the steps at one place, below its name, and what makes them take effect."""
    setup = f"  {plain(sheet.vendor.setup, 200)}" if place.where == "bios" and sheet.vendor.setup else ""
    yield from wrapped([(place.heading, "label"), (setup, "dim")], width)
    for each in place.steps:
        yield from _step(each, width)
        yield from facts_below(each.item, sheet.checklist, width) if verbose else ()
    if place.where == "bios" and sheet.checklist.apply and any(each.item.fix.commands for each in place.steps):
        yield from wrapped([(f"{'':4}{REBOOTS}", "warn")], width, indent=4)
        for command in sheet.checklist.apply:
            yield from (((f"{'':{_DEEP}}{line}", ""),) for line in broken(printable(command), width - _DEEP))


def _step(one: Step, width: int) -> Iterator[Line]:
    """Yield a step: box, number, severity, what and how on one line; how on its own where that is too long."""
    severity = one.item.severity.upper() if one.mark == "todo" else ""
    head = f"{BOXES[one.mark]} {one.number:>2} {severity:<6} "
    if one.mark not in ("todo", "consider"):
        head = f"{BOXES[one.mark]} "
    lead: list[Span] = [(head, one.item.severity if one.mark == "todo" else ""), (one.what, "title")]
    room = width - len(head)
    if one.how and len(one.what) + len(one.how) + 2 <= room:
        yield from wrapped([*lead, (f"  {one.how}", "")], width, indent=len(head))
    else:
        yield from wrapped(lead, width, indent=len(head))
        yield from _text(one.how, len(head), width, command=one.is_command)
    for line in one.commands:
        yield from _text(line, len(head), width, command=True)
    yield from _text(one.remark, len(head), width, style="warn")


def _text(text: str, indent: int, width: int, *, command: bool = False, style: str = "") -> Iterator[Line]:
    if not text:
        return
    indent = min(indent, max(0, width - 20))
    if command:
        yield from (((f"{'':{indent}}{line}", style),) for line in broken(printable(text), width - indent))
    else:
        yield from wrapped([(f"{'':{indent}}", ""), (plain(text, 1000), style)], width, indent=indent)


def _look_up(one: LookUp, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield what one command makes known: how much, the command, what is done with it, and the settings by name."""
    if not one.about:
        text = f"{count(len(one.items), 'more line', 'more lines')}: {one.command}{'' if verbose else ' (-v)'}"
        yield from wrapped([(f"{BOXES['unknown']} {text}", "")], width, indent=4)
        yield from () if not verbose else _unknown(one, width)
        return
    yield from wrapped([(f"{BOXES['unknown']} {one.about}", "title"), (f": {one.then}" if one.then else "", "")], width, indent=4)
    yield from _text(one.command, 4, width, command=" " in one.command)
    if verbose:
        yield from _unknown(one, width)
        return
    for place, names in one.names:
        label = f"{place}: " if place else ""
        yield from wrapped([("    ", ""), (label, "label"), *_parts(names)], width, indent=4)


def _unknown(one: LookUp, width: int) -> Iterator[Line]:
    for item in one.items:
        text = f"{item.title}: {item.wanted}" if item.setting else item.title
        text += f": {item.look}" if item.look and not one.about else ""
        yield from wrapped([(f"    {BOXES['unknown']} {plain(text, 300)}", "")], width, indent=8)


def _parts(names: str) -> list[Span]:
    """Return names between dots, none of which is broken at a blank."""
    first, *more = names.split(" · ")
    return [(glued(first, 60), ""), *((f" · {glued(each, 60)}", "") for each in more)]


def _right(sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield what is right, a line a place, and what is nothing of this machine."""
    checklist = sheet.checklist
    done, waived = list(right(checklist)), checklist.marked("waived")
    away = checklist.marked("not-here")
    if done or waived or away:
        yield ()
        yield (("DONE", "heading"),)
    if verbose:
        for place in sheet.places("done", "waived", "not-here"):
            yield ((place.heading, "label"),)
            yield from (line for each in place.steps for line in _step(each, width))
        return
    for heading, names in done:
        yield from wrapped([(f"{BOXES['done']} ", "good"), (f"{heading}: ", "label"), *_parts(names)], width, indent=4)
    yield from (line for item in waived for line in wrapped([(f"{BOXES['waived']} {plain(item.title, 200)}: waived", "")], width))
    if away:
        told = f"{count(len(away), 'line is', 'lines are')} about what this machine is not (-v)"
        yield from wrapped([(f"{BOXES['not-here']} {told}", "dim")], width, indent=4)


def _end(sheet: Sheet, width: int, formats: Sequence[str], *, verbose: bool) -> Iterator[Line]:
    """Yield what the marks mean, and how to go on."""
    if sheet.nothing:
        return
    yield ()
    yield from wrapped([(sheet.legend, "dim")], width)
    more = [
        *([] if verbose else ["-v: why, check, undo and source of each"]),
        "--as html: to print and tick",
        *scripts(sheet, formats),
    ]
    yield from wrapped([("The same with  ", "dim"), (" · ".join(glued(each, 60) for each in more), "dim")], width)
