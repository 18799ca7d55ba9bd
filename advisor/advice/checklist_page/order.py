"""Hardware on order: the table of BIOS settings that is ticked at the menus, and what follows once the machine is there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from advisor.advice.checklist_page.details import facts_below
from advisor.advice.checklist_page.steps import BOXES, Place, Sheet, Step, how, remark
from advisor.advice.model.checklist import Item, Mark
from advisor.advice.model.plan import Change, NotWritten, value_text
from advisor.advice.model.rule import SEVERITIES, Severity
from advisor.machine.jinja import REBOOTS
from advisor.machine.units import count, plain, printable
from advisor.show.lines import Line, beside, wrapped

_SMALL: Final = ("low", "info")
COLUMNS: Final = ("setting", "value", "attribute", "in the menu")
NO_MENU: Final = "Menu not known: look for"
BY_HAND: Final = "by hand"
NEEDED: Final = "needed first"
FIRST: Final = "Before all others"
_NARROWEST: Final = 8


class Row(NamedTuple):
    """One line of the table of BIOS settings: what is ticked at the menus."""

    mark: Mark
    term: str
    value: str
    attribute: str
    page: str
    """The page of the menus that it stands on."""
    label: str
    remark: str = ""
    verified: bool = True
    severity: Severity = "info"
    needs: str = ""
    """What it would need first, which the other rows do not set."""


def bios_rows(sheet: Sheet) -> tuple[Row, ...]:
    """Return the table of BIOS settings: what to write, then what to consider; what has no name is by hand."""
    names: dict[str | None, Item] = {item.setting: item for item in sheet.checklist.items if item.setting}
    changes = [each for each in sheet.plan.changes if not each.settings or any(name in names for name in each.settings)]
    changes.sort(key=lambda each: each.kind != "first")
    needs = {each.attribute: [one.attribute for one in changes if each.attribute in one.first] for each in changes}
    known = {name for change in sheet.plan.changes for name in change.settings}
    hand = [each for each in sheet.plan.by_hand if _is_line(each) and each.setting not in known]
    weight = {each.attribute: _severity(each, changes) for each in changes}
    rows = [
        *(_row(change, names, needs[change.attribute], weight[change.attribute]) for change in changes),
        *(_by_hand(each, names[each.setting]) for each in hand if each.setting in names),
    ]
    pages = list(dict.fromkeys(row.page for row in sorted(rows, key=_weight)))
    return tuple(sorted(rows, key=lambda row: (not row.page, pages.index(row.page), _weight(row))))


def _severity(change: Change, changes: Sequence[Change]) -> Severity:
    """Return the weight of a change: of one that others need, theirs."""
    own = [each.severity for one in changes if one is change or change.attribute in one.first for each in one.wanted]
    return min(own, key=SEVERITIES.index, default="info")


def _weight(row: Row) -> tuple[bool, int]:
    return row.mark != "todo", SEVERITIES.index(row.severity)


def _is_line(left: NotWritten) -> bool:
    """Return whether it can be set at the menus: its name or value is not certain, and nothing speaks against it."""
    return left.setting is not None and (left.attribute is None or not left.wanted.startswith(f"{left.attribute}="))


def order_verdict(sheet: Sheet) -> str:
    """Return how much there is to do at the menus, and how much once the machine is there."""
    rows = bios_rows(sheet)
    todo, more = sum(row.mark == "todo" for row in rows), sum(len(place.steps) for place in to_come(sheet))
    menus = f"{count(todo, 'BIOS setting')} to make, {len(rows) - todo} to consider; " if rows else ""
    return f"{menus}{count(more, 'line')} once it is there, most of which sudo advisor audit looks at"


def left_out(sheet: Sheet, rows: Sequence[Row]) -> Iterator[str]:
    """Yield which rows need another first, and what stands in no row, each with the first clause of the reason."""
    first = {f"{row.attribute}={row.value}" for row in rows}
    for needs in dict.fromkeys(row.needs for row in rows if row.needs and row.needs not in first):
        yield f"{', '.join(row.attribute for row in rows if row.needs == needs)}: only with {needs}"
    shown = {row.attribute for row in rows}
    for each in (*sheet.plan.by_hand, *sheet.plan.refused, *sheet.plan.absent):
        if not _is_line(each) and each.attribute not in shown:
            yield f"not {plain(each.wanted, 100)}: {plain(re.split(r', and |: |; ', each.reason)[0], 160)}"


def to_come(sheet: Sheet) -> tuple[Place, ...]:
    """Return what is set or checked once the machine is there, place by place, settings first."""
    found = []
    for group in sheet.checklist.groups:
        items = [item for item in group.items if group.where != "bios" or item.setting is None]
        steps: dict[str, Step] = {}
        for one in map(_step, sorted(items, key=lambda item: item.setting is None)):
            if one.what not in steps or one.mark == "todo":  # several rules may want the same: it is done once
                steps[one.what] = one
        found += [Place(group.where, group.heading, tuple(steps.values()))] if steps else []
    return tuple(found)


def order_lines(sheet: Sheet, width: int, *, verbose: bool) -> Iterator[Line]:
    """Yield the list of hardware on order: first the table of the BIOS, then what is set and checked once it is there."""
    rows = bios_rows(sheet)
    if rows:
        yield ()
        yield from wrapped([("BIOS SETTINGS", "heading"), (f"  {plain(sheet.vendor.setup, 200)}", "dim")], width)
        yield from _table(rows, width)
        yield from _after_table(sheet, rows, width)
    for place in to_come(sheet):
        yield ()
        yield ((place.heading.upper(), "heading"),)
        for each in place.steps:
            yield from _short(each, width)
            alike = [item for item in sheet.checklist.items if item.title == each.item.title or item is each.item]
            for item in alike if verbose else ():
                yield from facts_below(item, sheet.checklist, width)


def _after_table(sheet: Sheet, rows: Sequence[Row], width: int) -> Iterator[Line]:
    """Yield what stands in no line of the table with the reason, and what makes the settings take effect."""
    for left in left_out(sheet, rows):
        yield from wrapped([(f"{BOXES['not-here']} ", ""), (left, "dim")], width, indent=4)
    if any(not row.verified and row.attribute for row in rows):
        yield from wrapped([("? behind an attribute: its name was not seen in a registry of such a server", "dim")], width)
    if sheet.checklist.apply:
        told = "; ".join(printable(line) for line in sheet.checklist.apply)
        yield from wrapped([(f"{REBOOTS} ", "warn"), (told, "")], width)


def _short(one: Step, width: int) -> Iterator[Line]:
    """Yield a step of hardware on order on one line: the command stands beside it where there is room."""
    head = f"{BOXES[one.mark]} "
    fits = one.how and len(head) + len(one.what) + len(one.how) + 2 <= width
    yield from wrapped([(head, ""), (one.what, ""), (f"  {one.how}" if fits else "", "dim")], width, indent=4)


def _table(rows: Sequence[Row], width: int) -> Iterator[Line]:
    """Yield the table of BIOS settings, page by page of the menus: setting, value, this vendor's attribute and its menu line."""
    widths = _widths([_cells(row) for row in rows], width - 4)
    names = (f"{name.upper():<{size}}" for name, size in zip(COLUMNS, widths, strict=True))
    yield ((f"{'':4}{' '.join(names)}", "label"),)
    before = None
    for row in rows:
        if row.page != before:
            yield ((row.page or NO_MENU, "label"),)
        before = row.page
        yield from _row_lines(row, widths, width)


def _row_lines(row: Row, widths: Sequence[int], width: int) -> Iterator[Line]:
    styles = ("title", "title", "", "") if row.mark == "todo" else ("", "", "", "")
    columns = [wrapped([(text, style)], size, indent=1) for text, style, size in zip(_cells(row), styles, widths, strict=True)]
    for at, line in enumerate(beside(columns, widths)):
        yield ((f"{BOXES[row.mark] if at == 0 else '':<4}", ""), *line)
    if row.remark:
        yield from wrapped([(f"{'':6}{row.remark}", "dim")], width, indent=6)


def _cells(row: Row) -> tuple[str, str, str, str]:
    return row.term, row.value, row.attribute + ("" if row.verified or not row.attribute else " ?"), row.label


def _widths(cells: Sequence[tuple[str, ...]], room: int) -> list[int]:
    """Return the columns' widths: as wide as their texts, the widest made narrower until all fit, names last of all."""
    widths = [max(len(name), *(len(cell[at]) for cell in cells)) for at, name in enumerate(COLUMNS)]
    words = [max(len(word) for cell in cells for word in (name, *cell[at].split())) + 1 for at, name in enumerate(COLUMNS)]
    while sum(widths) + len(widths) - 1 > room and max(widths) > _NARROWEST:
        loose = [at for at, size in enumerate(widths) if size > words[at]] or range(len(widths))
        widths[max(loose, key=widths.__getitem__)] -= 1
    return widths


def _row(change: Change, names: Mapping[str | None, Item], needs: Sequence[str], severity: Severity) -> Row:
    own = [names[name] for name in change.settings if name in names and names[name].fix.attribute == change.attribute]
    named = change.label if change.label != change.attribute else NEEDED
    term = " and ".join(plain(item.term or item.title, 60) for item in own) or plain(named, 60)
    first = [f"before {', '.join(needs[:2])}{' and others' if len(needs) > 2 else ''}"] if needs else []
    moves = [f"sets {', '.join(change.moves)} too"] if change.moves else []
    page, label = _page(change.menu or f"{FIRST} > {change.label}")
    label = label if change.kind == "wanted" or change.label != change.attribute else ""
    return Row(
        "todo" if change.active else "consider",
        term,
        plain(value_text(change.value), 60),
        plain(change.attribute, 80),
        page,
        label,
        plain("; ".join((*first, *moves)), 400),
        change.verified,
        severity,
        plain(change.needs or "", 120),
    )


def _page(menu: str) -> tuple[str, str]:
    """Return the page of the menus and the line on it."""
    page, _, label = plain(menu, 200).rpartition(" > ")
    return page, label


def _by_hand(left: NotWritten, item: Item) -> Row:
    mark: Mark = "consider" if item.severity in _SMALL else "todo"
    page, label = _page("" if item.fix.menu in (None, item.title) else item.fix.menu or "")
    return Row(
        mark,
        plain(item.term or item.title, 60),
        plain(left.wanted, 120),
        plain(left.attribute or BY_HAND, 80),
        page,
        label,
        verified=left.attribute is None or item.fix.verified is True,
        severity=item.severity,
    )


def _step(item: Item) -> Step:
    """Return a line of hardware on order as a step: a setting with its value, or a state to check."""
    mark: Mark = "consider" if item.severity in _SMALL else "todo"
    if item.setting is None:
        return Step(mark, item, plain(item.title, 300), "")
    return Step(mark, item, f"{plain(item.term or item.title, 100)} {plain(item.wanted, 120)}", how(item), remark(item))
