"""Hardware on order: the table of BIOS settings that is ticked at the menus, and what follows once the machine is there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from advisor.advice.checklist_page.sheet import SMALL, Place, Sheet, Step, how, remark
from advisor.advice.model.checklist import Item, Mark
from advisor.advice.model.plan import Change, NotWritten, value_text
from advisor.advice.model.rule import SEVERITIES, Severity
from advisor.machine.units import count, plain

BIOS_COLUMNS: Final = ("setting", "value", "attribute", "in the menu")
NO_MENU: Final = "Menu unknown: look for"


class BiosRow(NamedTuple):
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

    @property
    def weight(self) -> tuple[bool, int]:
        """What rows are sorted by."""
        return self.mark != "todo", SEVERITIES.index(self.severity)

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What stands in the columns."""
        return self.term, self.value, self.attribute + ("" if self.verified or not self.attribute else " ?"), self.label


def bios_rows(sheet: Sheet) -> tuple[BiosRow, ...]:
    """Return the table of BIOS settings: what to write, then what to consider; what has no name is by hand."""
    names: dict[str | None, Item] = {item.setting: item for item in sheet.checklist.items if item.setting}
    changes = [each for each in sheet.plan.changes if not each.settings or any(name in names for name in each.settings)]
    changes.sort(key=lambda each: each.kind != "first")
    known = {name for change in sheet.plan.changes for name in change.settings}
    hand = [each for each in sheet.plan.by_hand if _is_line(each) and each.setting not in known]
    rows = [
        *(_row(change, names, [each for each in changes if change.attribute in each.first]) for change in changes),
        *(_by_hand(each, names[each.setting]) for each in hand if each.setting in names),
    ]
    pages = list(dict.fromkeys(row.page for row in sorted(rows, key=lambda row: row.weight)))
    return tuple(sorted(rows, key=lambda row: (not row.page, pages.index(row.page), row.weight)))


def _is_line(left: NotWritten) -> bool:
    """Return whether it can be set at the menus: its name or value is not certain, and nothing speaks against it."""
    return left.setting is not None and (left.attribute is None or not left.wanted.startswith(f"{left.attribute}="))


def order_verdict(sheet: Sheet) -> str:
    """Return how much there is to do at the menus, and how much once the machine is there."""
    rows = bios_rows(sheet)
    todo, more = sum(row.mark == "todo" for row in rows), sum(len(place.steps) for place in to_come(sheet))
    menus = f"{count(todo, 'BIOS setting')} to make, {len(rows) - todo} to consider; " if rows else ""
    return f"{menus}{count(more, 'line')} once it is there, most of which sudo advisor audit looks at"


def left_out(sheet: Sheet, rows: Sequence[BiosRow]) -> Iterator[str]:
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


def _row(change: Change, names: Mapping[str | None, Item], needing: Sequence[Change]) -> BiosRow:
    """Return a change as a row; it weighs as much as those that need it first."""
    own = [names[name] for name in change.settings if name in names and names[name].fix.attribute == change.attribute]
    labelled = change.label != change.attribute
    term = " and ".join(plain(item.term or item.title, 60) for item in own) or plain(
        change.label if labelled else "needed first", 60
    )
    needs = [each.attribute for each in needing]
    first = [f"before {', '.join(needs[:2])}{' and others' if len(needs) > 2 else ''}"] if needs else []
    moves = [f"sets {', '.join(change.moves)} too"] if change.moves else []
    page, label = _page(change.menu or f"Before all others > {change.label}")
    weights = [each.severity for one in (change, *needing) for each in one.wanted]
    return BiosRow(
        "todo" if change.active else "consider",
        term,
        plain(value_text(change.value), 60),
        plain(change.attribute, 80),
        page,
        label if change.kind == "wanted" or labelled else "",
        plain("; ".join((*first, *moves)), 400),
        change.verified,
        min(weights, key=SEVERITIES.index, default="info"),
        plain(change.needs or "", 120),
    )


def _page(menu: str) -> tuple[str, str]:
    """Return the page of the menus and the line on it."""
    page, _, label = plain(menu, 200).rpartition(" > ")
    return page, label


def _mark(item: Item) -> Mark:
    return "consider" if item.severity in SMALL else "todo"


def _by_hand(left: NotWritten, item: Item) -> BiosRow:
    page, label = _page("" if item.fix.menu in (None, item.title) else item.fix.menu or "")
    term, wanted, attribute = plain(item.term or item.title, 60), plain(left.wanted, 120), plain(left.attribute or "by hand", 80)
    verified = left.attribute is None or item.fix.verified is True
    return BiosRow(_mark(item), term, wanted, attribute, page, label, verified=verified, severity=item.severity)


def _step(item: Item) -> Step:
    """Return a line of hardware on order as a step: a setting with its value, or a state to check."""
    if item.setting is None:
        return Step(_mark(item), item, plain(item.title, 300), "")
    return Step(_mark(item), item, f"{plain(item.term or item.title, 100)} {plain(item.wanted, 120)}", how(item), remark(item))
