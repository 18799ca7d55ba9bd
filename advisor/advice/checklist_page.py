"""A checklist step by step, on a terminal, on paper, for hardware on order, and what the templates of its files may use."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.audit_page.card import Head
from advisor.advice.know.vendors import FALLBACK
from advisor.advice.model.plan import (
    CERTIFICATE,
    CURL,
    HEADINGS,
    LOOK_UP_WITH,
    NAMED,
    NOTE_FIRST,
    Change,
    Checklist,
    Expected,
    Item,
    Keeper,
    NotWritten,
    Plan,
    Proof,
    System,
    Tick,
    one_a_line,
    value_text,
)
from advisor.advice.model.sheets import SEVERITIES, Redfish, Severity, Vendor, Where
from advisor.machine.jinja import REBOOTS
from advisor.machine.units import count, plain, printable
from advisor.show.commandline import broken, word
from advisor.show.lines import Line, Page, Span, beside, glued, labelled, wrapped

BOXES: dict[Tick, str] = {
    "todo": "[ ]", "consider": "( )", "unknown": "[?]", "done": "[x]", "not-here": "[-]", "waived": "[~]",
}  # fmt: skip
"""Marks that differ in shape, on paper as on a terminal."""

MEANS: dict[Tick, str] = {
    "todo": "to do", "consider": "to consider", "unknown": "not known", "done": "right", "not-here": "not applicable",
    "waived": "waived by the site",
}  # fmt: skip

SMALL = ("low", "info")
NOTHING = "no published value for this platform"
NO_COMMAND = "not readable from this system"
_BIOS = "--bios"
_NAME = 3
"""So many words before a colon are the name of a thing, not what is so of it."""
_COMMAND = re.compile(r"(?:sudo )?advisor ")
_HERE = re.compile(r"\b(?:sudo )?advisor (?:audit|capture)\b")
_RESTART = {"no": "no restart", "yes": "restart", "power-cycle": "power cycle"}


class Step(NamedTuple):
    """One line to tick."""

    mark: Tick
    item: Item
    what: str
    """NPS 1 -> 4, or what is wrong."""
    how: str
    """The way through the menus, the command, or what to do."""
    remark: str = ""
    """Why it is left to whoever reads."""

    @property
    def number(self) -> str:
        """Return the numbers that the audit gives it."""
        return ",".join(map(str, self.item.numbers))

    @property
    def is_command(self) -> bool:
        """Return whether what is to be done is a line to paste."""
        return bool(self.item.fix.commands) and self.item.fix.where != "bios"

    @property
    def commands(self) -> tuple[str, ...]:
        """Return the lines of the vendor's tool beside the way through the menus; () where no script writes it."""
        fix = self.item.fix
        return fix.commands if fix.where == "bios" and self.mark == "todo" and not self.item.done else ()


class Place(NamedTuple):
    """Steps that are done at one place: in the menus of the BIOS, on the system, in the rack."""

    where: Where
    heading: str
    steps: tuple[Step, ...]


class LookUp(NamedTuple):
    """What one command makes known."""

    command: str
    then: str
    """What is done with what it brings."""
    about: str
    names: tuple[tuple[str, str], ...]
    """What it is of: settings of the BIOS by name, those that matter with the value wanted; all else by number."""
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Sheet:
    """A checklist and its plan, as pages show them."""

    checklist: Checklist
    plan: Plan
    whole: Checklist
    """The list of which the one that is shown may be a part."""
    vendor: Vendor
    head: Head
    """What the audit comes to, whatever part of the list is shown."""
    again: tuple[str, ...] = field(default=())
    """The words that ask for the same list once more: --from node.tar.gz."""

    @property
    def name(self) -> str:
        """Return what the list is of."""
        asked = dict(zip(self.again[::2], self.again[1::2], strict=False))
        names = [plain(name, 80) for name in (asked.get("--cpu"), self.checklist.platform) if name]
        return self.checklist.machine or f"{', '.join(names) or 'hardware'}, on order"

    @property
    def kind(self) -> str:
        """Return for which work it is, on which platform, and in whose words."""
        on = f" on {self.checklist.platform}" if self.checklist.platform and self.checklist.machine else ""
        own = "the usual" if self.vendor.id == FALLBACK else f"{self.checklist.vendor}'s"
        return f"for {self.checklist.scope} work{on}, with {own} setting names"

    @property
    def verdict(self) -> str:
        """Return what a hurried reader takes away."""
        return " · ".join(filter(None, ("LIMITED DATA" if self.head.little else "", self.head.says.upper())))

    @property
    def nothing(self) -> str:
        """Return what is said where a part of the list is asked for that has no line; empty where it has one."""
        if self.checklist.items or not self.whole.items:
            return ""
        marks: tuple[Tick, ...] = ("consider", "unknown")
        rest = " and ".join(f"{number} {MEANS[mark]}" for mark in marks if (number := len(self.whole.marked(mark))))
        return f"Nothing to do. {rest}: the same list without --todo." if rest else "Nothing to do."

    @property
    def tally(self) -> str:
        """Return how many lines have which mark: the numbers add up to all of them."""
        numbers = {mark: len(self.whole.marked(mark)) for mark in BOXES}
        words = ", ".join(f"{number} {MEANS[mark]}" for mark, number in numbers.items() if number or mark == "todo")
        return f"{count(len(self.whole.items), 'line')}: {words}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what holds for several lines and is said nowhere else on the page."""
        setup = self.plan.order or any(place.where == "bios" for place in self.places("todo", "consider"))
        elsewhere = f"To open the BIOS menus: {self.vendor.setup}." if setup else None
        return tuple(note for note in self.checklist.notes if note != elsewhere and not note.startswith(LOOK_UP_WITH))

    @property
    def legend(self) -> str:
        """Return what the marks mean, of those that stand on the page."""
        order: tuple[Tick, ...] = ("todo", "consider")
        there = order if self.plan.order else [mark for mark in BOXES if self.checklist.marked(mark)]
        return " · ".join(f"{BOXES[mark]} {MEANS[mark]}" for mark in there)

    def places(self, *marks: Tick) -> tuple[Place, ...]:
        """Return the steps of some marks, place by place."""
        found = ((group, tuple(step(i) for i in group.items if i.mark in marks)) for group in self.checklist.groups)
        return tuple(Place(group.where, group.heading, steps) for group, steps in found if steps)

    @property
    def look_up(self) -> tuple[LookUp, ...]:
        """Return what is not known by the command that makes it known, that of most lines first."""
        ways: dict[str, list[Item]] = {}
        for item in self.checklist.marked("unknown"):  # ways to the same end are one
            look = item.look or ""
            bios = _BIOS in look or (item.fix.where == "bios" and item.setting and (not look or _HERE.search(look)))
            ways.setdefault(_BIOS if bios else "capture" if _HERE.search(look) else look, []).append(item)
        few = [way for way in ways if way not in (_BIOS, "capture") and not _COMMAND.match(way)]
        ordered = sorted((way for way in ways if way not in few), key=lambda way: -len(ways[way]))
        rest = [LookUp(NO_COMMAND, "", "", (), tuple(i for way in few for i in ways[way]))]
        return (*(self._look_up(way, ways[way]) for way in ordered), *(rest if few else ()))

    def _look_up(self, way: str, items: list[Item]) -> LookUp:
        """Return one way, settings that are read at the menus by name, and how many lines there are at other places."""
        of_bios = way == _BIOS and all(item.fix.where == "bios" for item in items)
        about = count(len(items), "BIOS setting", "BIOS settings") if of_bios else count(len(items), "line")
        refused = {each.setting for each in self.plan.refused}
        settings = [item for item in items if item.fix.where == "bios" and item.setting]
        heavy = [item for item in settings if item.setting not in refused and item.severity not in SMALL]
        places = Counter(HEADINGS[item.fix.where] for item in items if item not in settings)
        names = {
            "wanted": [f"{_term(item, 60)} {_wanted(item)}" for item in heavy],
            "less important": [_term(item, 60) for item in settings if item not in heavy],
            "": [f"{heading} {places[heading]}" for heading in HEADINGS.values() if places[heading]],
        }
        named = tuple((label, " · ".join(own)) for label, own in names.items() if own)
        return LookUp(*self._command(way), about, named, tuple(items))

    def _command(self, way: str) -> tuple[str, str]:
        if way == _BIOS:
            menus = "" if self.vendor.redfish else "; without a Redfish BMC, check the menus"
            command = " ".join(("advisor checklist", *map(word, self.again), "--bmc HOST"))
            return command, f"through the server's BMC, or from a file with --bios FILE{menus}"
        if way == "capture" and "--from" in self.again:
            return "sudo advisor capture -o node.tar.gz", "on the machine, then rerun this list with --from node.tar.gz"
        return ("sudo advisor checklist", "") if way == "capture" else (plain(way, 300), "")


def step(item: Item) -> Step:
    """Return a line of a machine as a step: a setting with its value, or a state with what to do where it is not so."""
    term, claim = _term(item, 100), item.claim
    if item.setting is None and item.mark == "not-here":
        return Step(item.mark, item, f"does not apply here: {plain(item.fault, 200)}", "")
    if item.setting is None and item.mark in ("unknown", "done", "waived"):
        return Step(item.mark, item, plain(item.title, 300), "")
    if item.setting is None:
        return Step(item.mark, item, _short(claim or item.title), _short(item.fix.text))
    if item.done:
        return Step(item.mark, item, f"{term} {plain(item.now or item.wanted, 60)}", "")
    change = f"{term} {f'{plain(item.now, 60)} ' if item.now else ''}-> {plain(item.wanted, 120)}"
    return Step(item.mark, item, change + ("" if item.now or not claim else f": {_short(claim)}"), how(item), remark(item))


def _short(text: str) -> str:
    """Return a text up to what explains it: the first clause, where that is more than a name."""
    first = re.split(r"; |: ", text)[0]
    return plain(first if len(first.split()) > _NAME else text.partition("; ")[0], 300)


def how(item: Item) -> str:
    """Return the command, what to do, or the way through the menus to the value, and the attribute behind it."""
    fix = item.fix
    if fix.where != "bios" and fix.commands:
        return fix.commands[0]
    if fix.where != "bios" or not fix.menu:
        return plain(fix.text, 300)
    value = fix.attribute_value if fix.attribute_value is not None else fix.value
    name = f" ({plain(fix.attribute, 100)})" if fix.attribute and fix.attribute_value is not None else ""
    return f"{plain(fix.menu, 200)}{f': {plain(value_text(value), 80)}' if value is not None else ''}{name}"


def remark(item: Item) -> str:
    """Return why whoever reads decides, and no script does."""
    if item.others:
        wants = ", ".join(f"{other.id} wants {other.wanted}" for other in item.others)
        return plain(f"CONFLICT: {item.id} wants {item.wanted}, {wants}", 300)
    if item.pending:
        return plain(f"{item.pending} already takes effect at the next restart", 200)
    return plain(item.left or "", 400)


def _term(item: Item, longest: int) -> str:
    return plain(item.term or item.title, longest)


def _wanted(item: Item) -> str:
    """Return the value wanted in the vendor's word, where it has one."""
    value = item.fix.attribute_value
    return plain(item.wanted if value is None else value_text(value), 60)


def right(checklist: Checklist) -> Iterator[tuple[str, str]]:
    """Yield what is right, a line a place: settings with their values, other checks by number."""
    for group in checklist.groups:
        own = [item for item in group.items if item.mark == "done"]
        names = [f"{_term(item, 60)} {plain(item.now or item.wanted, 40)}" for item in own if item.setting]
        checks = len(own) - len(names)
        if checks:
            names.append(f"{'and ' if names else ''}{count(checks, 'check')} passed")
        if names:
            yield group.heading, " · ".join(names)


def scripts(sheet: Sheet, formats: Iterable[str]) -> Iterator[str]:
    """Yield the formats that write something of a plan, with how much."""
    system = sheet.plan.system
    files = len(system.writes) + bool(system.profile)
    options = len(system.options) + len(system.unwanted)
    numbers = {"sysctl": len(system.by("sysctl")), "kernel-cmdline": options, "tuned": files, "ansible": files}
    for name in formats:
        number = numbers.get(name, len(sheet.plan.writes))
        if number:
            yield f"--as {name} ({count(number, 'setting')})"


def proof_of(checklist: Checklist, item: Item) -> str:
    """Return the benchmark that proves a line, with the first value that was published of it."""
    proof = checklist.proof_of(item)
    if proof is None:
        return "no benchmark covers it; use the check"
    published = published_value(proof.expected[0]) if proof.expected else NOTHING
    return f"{proof.command}: {published if proof.figures else proof.shows}"


def published_value(expected: Expected) -> str:
    """Return a published value with its conditions and its source."""
    conditions = f" ({expected.conditions})" if expected.conditions else ""
    return f"{expected.what} {expected.value}{conditions} [{expected.ref}]"


def compared(checklist: Checklist) -> tuple[Proof, ...]:
    """Return the benchmarks whose figures can be held against publications; those of one command are listed together."""
    found: dict[str, Proof] = {}
    for proof in (each for each in checklist.proofs if each.figures):
        command = proof.command.partition(" --before")[0]
        first = found.get(command, proof.but(command=command))
        every = tuple(dict.fromkeys((*first.expected, *proof.expected)))
        found[command] = first.but(expected=every)
    return tuple(found.values())


def facts(item: Item, checklist: Checklist) -> Iterator[tuple[str, str]]:
    """Yield all that is known of a step, each text behind its label: what is to be done, why, how it is checked and undone."""
    fix, rules = item.fix, ", ".join(item.rules or (item.id,))
    yield "what", f"{item.title} [{item.severity}, {_RESTART[fix.reboot]}]"
    named = [*_states(item), *_steps(item), ("why", item.why), ("worth", item.cost)]
    named += [("guide", f"{guide.says} [{guide.ref}]") for guide in item.guides]
    named += [("leave it", item.spare), ("can break", item.breaks)]
    named += [("note", note) for note in fix.notes if note not in checklist.notes]
    named += [("script", f"does not contain it ({item.left})" if item.left else None), ("check", item.check)]
    named += [("or", fix.check if fix.check != item.check else None), ("prove", proof_of(checklist, item))]
    named += [("undo", None if item.undo == NOTE_FIRST else item.undo), ("rule", rules)]
    yield from ((label, text) for label, text in named if text)


def _states(item: Item) -> Iterator[tuple[str, str | None]]:
    """Yield where it is, what it means, and what stands against it."""
    if item.setting or len(item.subjects) > NAMED:
        yield "at", ", ".join(item.subjects)
    yield "means", item.meaning
    for other in item.others:
        yield "CONFLICT", f"{other.id} wants {other.wanted}{''.join(f' [{ref}]' for ref in other.refs)}"
    yield "now", None if item.setting else item.now
    yield "pending", f"{item.pending} takes effect at the next restart" if item.pending else None


def _steps(item: Item) -> Iterator[tuple[str, str | None]]:
    fix, known = item.fix, item.fix.attribute_value is not None
    value = fix.attribute_value if known else fix.value or None
    if fix.menu:
        yield "menu", f"{fix.menu}{'' if value is None else f': {value}'}"
    if fix.attribute and known:
        sure = "" if fix.verified else " (name not verified against a registry)"
        yield "attribute", f"{fix.attribute}={fix.attribute_value}{sure}"
    if not item.setting or not (fix.menu or fix.commands):
        yield "do", fix.text
    yield from (("run", line) for line in fix.commands)


BIOS_COLUMNS = ("setting", "value", "attribute", "in the menu")
NO_MENU = "Menu unknown: look for"


class BiosRow(NamedTuple):
    """One line of the table of BIOS settings: what is ticked at the menus."""

    mark: Tick
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
    menus = f"{count(todo, 'BIOS setting')} to apply, {len(rows) - todo} to consider; " if rows else ""
    return f"{menus}{count(more, 'line')} to check after delivery; most are checked by sudo advisor audit"


def left_out(sheet: Sheet, rows: Sequence[BiosRow]) -> Iterator[str]:
    """Yield which rows need another first, and what stands in no row, each with the first clause of the reason."""
    first = {f"{row.attribute}={row.value}" for row in rows}
    for needs in dict.fromkeys(row.needs for row in rows if row.needs and row.needs not in first):
        yield f"{', '.join(row.attribute for row in rows if row.needs == needs)}: only with {needs}"
    shown = {row.attribute for row in rows}
    for each in (*sheet.plan.by_hand, *sheet.plan.refused, *sheet.plan.absent):
        if not _is_line(each) and each.attribute not in shown:
            yield f"{plain(each.wanted, 100)} is left out: {plain(re.split(r', and |: |; ', each.reason)[0], 160)}"


def to_come(sheet: Sheet) -> tuple[Place, ...]:
    """Return what is set or checked once the machine is there, place by place, settings first."""
    found = []
    for group in sheet.checklist.groups:
        items = [item for item in group.items if group.where != "bios" or item.setting is None]
        steps: dict[str, Step] = {}
        for one in map(_order_step, sorted(items, key=lambda item: item.setting is None)):
            if one.what not in steps or one.mark == "todo":  # several rules may want the same: it is done once
                steps[one.what] = one
        found += [Place(group.where, group.heading, tuple(steps.values()))] if steps else []
    return tuple(found)


def _row(change: Change, names: Mapping[str | None, Item], needing: Sequence[Change]) -> BiosRow:
    """Return a change as a row; it weighs as much as those that need it first."""
    own = [names[name] for name in change.settings if name in names and names[name].fix.attribute == change.attribute]
    labelled = change.label != change.attribute
    term = " and ".join(plain(item.term or item.title, 60) for item in own) or plain(
        change.label if labelled else "prerequisite", 60
    )
    needs = [each.attribute for each in needing]
    first = [f"before {', '.join(needs[:2])}{' and others' if len(needs) > 2 else ''}"] if needs else []
    moves = [f"also sets {', '.join(change.moves)}"] if change.moves else []
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


def _mark(item: Item) -> Tick:
    return "consider" if item.severity in SMALL else "todo"


def _by_hand(left: NotWritten, item: Item) -> BiosRow:
    page, label = _page("" if item.fix.menu in (None, item.title) else item.fix.menu or "")
    term, wanted, attribute = plain(item.term or item.title, 60), plain(left.wanted, 120), plain(left.attribute or "by hand", 80)
    verified = left.attribute is None or item.fix.verified is True
    return BiosRow(_mark(item), term, wanted, attribute, page, label, verified=verified, severity=item.severity)


def _order_step(item: Item) -> Step:
    """Return a line of hardware on order as a step: a setting with its value, or a state to check."""
    if item.setting is None:
        return Step(_mark(item), item, plain(item.title, 300), "")
    return Step(_mark(item), item, f"{plain(item.term or item.title, 100)} {plain(item.wanted, 120)}", how(item), remark(item))


_NAMES = 6


def values(sheet: Sheet, version: str) -> dict[str, object]:
    """Return what templates may use."""
    checklist, plan, vendor = sheet.checklist, sheet.plan, sheet.vendor
    beside = vendor.redfish.apply if vendor.redfish else {}
    mine = {change.group for change in plan.changes}
    groups = dict.fromkeys(entry.group for entries in vendor.settings.values() for entry in entries)
    return {
        "list": checklist,
        "sheet": sheet,
        "plan": plan,
        "tools": vendor.tools,
        "system": plan.system,
        "version": plain(version, 40),
        "body": json.dumps({"Attributes": plan.attributes, **beside}, indent=1, ensure_ascii=True),
        "untouched": list(untouched(plan)),
        "system_left": lambda *keepers: list(system_left(plan.system, keepers)),
        "closing": list(closing(plan)),
        "undo": list(undo_lines(plan, vendor)),
        "unsaid": any(back.value is None for change in plan.writes for back in change.back),
        "blind": any(change.now is None for change in plan.changes),
        "groups": list(dict.fromkeys(change.group for change in plan.changes if change.group)),
        # those in which the plan writes nothing: hardware on order is saved whole
        "others": [group for group in groups if group and group not in mine] if plan.order else [],
        "facts": lambda item: list(facts(item, checklist)),
        **_pages(sheet),
        "benches": [
            {"command": proof.command, "shows": proof.shows, "expected": [published_value(each) for each in proof.expected]}
            for proof in compared(checklist)
        ],
    }


def _pages(sheet: Sheet) -> dict[str, object]:
    """Return what pages show: the way to the menus, the table of hardware on order, what is right, the contents."""
    order, done = sheet.plan.order, list(right(sheet.checklist))
    rows = bios_rows(sheet) if order else ()
    parts: dict[Tick, str] = {"todo": "To do", "consider": "Consider"}
    named = {"bios": ("BIOS settings", bool(rows)), "system": ("After delivery", True)}
    if not order:
        named = {mark: (name, bool(sheet.places(mark))) for mark, name in parts.items()}
        named |= {"look-up": ("Look up", bool(sheet.look_up)), "done": ("Done", bool(done))}
    named |= {"notes": ("Notes", bool(sheet.notes and not sheet.nothing)), "more": ("Benchmarks and sources", True)}
    return {
        "setup": sheet.vendor.setup or "",
        "verdict": order_verdict(sheet) if order else sheet.verdict,
        "pages": [(page or NO_MENU, list(own)) for page, own in groupby(rows, key=lambda row: row.page)],
        "left_out": list(left_out(sheet, rows)) if order else [],
        "places": to_come(sheet) if order else (),
        "right": done,
        "contents": [(name, title) for name, (title, there) in named.items() if there],
    }


def untouched(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Yield the lists of what the plan does not write, each with its heading; nothing of an empty one."""
    lists = {
        "Left to you: guides differ, or it is a matter of choice; --include contested adds these": plan.contested,
        "Rejected: conflicts with another change": plan.refused,
        "By hand, in the setup menus": plan.by_hand,
        "Not on this machine": plan.absent,
        "Check first: the current value is unknown, or may already be right": plan.look_up,
    }
    for heading, found in lists.items():
        at_once = [f"read all at once: {plan.look_up_with}"] if found is plan.look_up and plan.look_up_with else []
        if found:
            yield heading, [*map(_line, found), *at_once]
    if plan.notes:
        yield "Note", list(plan.notes)


def closing(plan: Plan) -> Iterator[str]:
    """Yield what a script says that writes nothing: what was found is named, with who is to decide."""
    found = [each for each in (*plan.contested, *plan.refused, *plan.by_hand, *plan.absent) if each.says]
    if plan.order:
        yield "advisor: nothing to write: no attribute name is known for certain; the settings to change in the menus are below"
    elif not found:
        more = "; the comments below say what is not written, and why" if any(untouched(plan)) else ""
        yield f"advisor: nothing to write: no finding needs this file{more}"
    else:
        yield f"advisor: nothing to write here: {count(len(found), 'finding is', 'findings are')} left to you:"
    yield from (f"  {_line(each)}" for each in found)


def _line(left: NotWritten) -> str:
    where = f"{left.menu}: " if left.menu and left.attribute is None else ""
    rules = f" ({', '.join(left.rules)})" if left.rules else ""
    return f"{where}{left.title}: {left.wanted}; {f'{left.says}; ' if left.says else ''}{left.reason}{rules}"


def system_left(system: System, keepers: tuple[Keeper, ...] = ()) -> Iterator[str]:
    """Yield what of the operating system, or of some keepers, is wanted and not written: why, or how it would be written."""
    own = [left for left in system.left if not keepers or left.keeper in keepers]
    yield from (_line(left) for left in own if left.says)
    reasons: dict[str, list[str]] = {}
    for left in (left for left in own if not left.says):
        reasons.setdefault(left.reason, []).append(left.title.partition(" (")[0])
    yield from (f"{reason}: {', '.join(names)}" for reason, names in reasons.items())
    for kept in (kept for kept in system.kept if not kept.active and (not keepers or kept.keeper in keepers)):
        key = f"{kept.key} = {kept.value}" if kept.key and kept.keeper not in ("cmdline", "command") else kept.key
        what = kept.line or kept.option or key
        differ = "guides differ" if "contested" in kept.marks else "little gain"
        yield f"{f'{what}: ' if what else ''}{kept.about[0]}: {differ}"


def undo_lines(plan: Plan, vendor: Vendor) -> Iterator[str]:
    """Yield how to undo every change that is written, the last one first; of what was not known, the saved file.

    A line that writes a value back is quoted as a shell takes it, and a comment where the tool's own name is not known.
    """
    unknown = []
    for back in (back for change in reversed(plan.writes) for back in change.back):
        if back.value is None:
            unknown.append(back.attribute)
            continue
        pair = printable(f"{back.attribute}={value_text(back.value)}")
        by_hand = back.command is None and one_a_line(vendor.tools.set)
        line = f"# set in the setup menus, because the tool's name for it is unknown: {pair}" if by_hand else back.command
        yield line or shlex.quote(pair)
    if unknown:
        yield f"{', '.join(unknown)}: {vendor.tools.restore or 'restore them from the file that you saved first'}"


def remarks(name: str, plan: Plan, vendor: Vendor, output: Path | None) -> Iterator[str]:
    """Yield what a format cannot say in the file itself: JSON has no comments."""
    if name != "redfish" or vendor.redfish is None:
        return
    yield from _staged(plan, vendor.redfish, output) if plan.writes else ("nothing to stage through Redfish",)
    if plan.look_up_with:
        yield f"read the current values first, with one command: {CURL} https://BMC{vendor.redfish.bios}"
        plan = plan.but(look_up_with=None)
    for heading, lines in untouched(plan):  # by their titles alone: the checklist has all of each
        titles = [line.partition(" (")[0].partition(": ")[0] for line in lines]
        more = f" and {len(titles) - _NAMES} more (advisor checklist)" if len(titles) > _NAMES else ""
        yield f"{heading}: {', '.join(titles[:_NAMES])}{more}"


def _staged(plan: Plan, redfish: Redfish, output: Path | None) -> Iterator[str]:
    """Yield how a body is staged and taken back."""
    yield f"save the current values first: (umask 077; {CURL} -o bios-before.json https://BMC{redfish.bios})"
    headers = {"Content-Type": "application/json", **redfish.headers}
    words = " ".join(f"-H {shlex.quote(f'{key}: {value}')}" for key, value in headers.items())
    yield f"stage it: {CURL} -X PATCH {words} -d @{word(str(output or 'FILE'))} https://BMC{redfish.settings}"
    yield from (CERTIFICATE, *redfish.notes)
    undo = {back.attribute: back.value for change in plan.writes for back in change.back if back.value is not None}
    if undo:
        yield f"request body for undo: {json.dumps({'Attributes': undo, **redfish.apply}, ensure_ascii=True)}"
    data = shlex.quote(f'{{"ResetType": "{redfish.reset_type}"}}')
    reset = f"-H 'Content-Type: application/json' -d {data} https://BMC{redfish.reset}"
    yield f"then, on the drained node, restart: {CURL} -X POST {reset}"


SCHEMA = "advisor-checklist/1"
"""The number rises when a key changes meaning or goes."""

HEADING = "What the benchmarks should show"
_LABEL, _DEEP, _NARROWEST = 16, 6, 8
_OPEN: tuple[tuple[str, str, Tick], ...] = (("TO DO", "", "todo"), ("CONSIDER", "if it suits your workload", "consider"))


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
        yield from ((), (("LOOK UP", "heading"), ("  unknown values, each with the command that reads it", "dim")))
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
        words = f"{count(len(away), 'line does', 'lines do')} not apply to this machine (-v)"
        yield from wrapped([(f"{BOXES['not-here']} {words}", "dim")], width, indent=4)


def _end(sheet: Sheet, width: int, formats: Sequence[str], *, verbose: bool) -> Iterator[Line]:
    """Yield what the marks mean, and how to go on."""
    if not sheet.nothing:
        deeper = [] if verbose else ["-v: reason, check, undo and source of each step"]
        more = [*deeper, "--as html: printable, with tick boxes", *scripts(sheet, formats)]
        same = [("Options  ", "dim"), (" · ".join(glued(each, 60) for each in more), "dim")]
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
    yield from _section(f"Not offered by {plain(checklist.vendor)} on this server", absent, width)
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
        yield from wrapped([("? after an attribute: name not found in the registry of any server of this kind", "dim")], width)
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
