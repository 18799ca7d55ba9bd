"""What the templates of a checklist's files may use: the list, its plan, and its lines ready to be put down."""

import json
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from advisor.advice.checklist_page.order import NO_MENU, bios_rows, left_out, order_verdict, to_come
from advisor.advice.checklist_page.sheet import Sheet, compared, facts, published_value, right
from advisor.advice.model.checklist import CERTIFICATE, CURL, Mark
from advisor.advice.model.plan import Keeper, NotWritten, Plan, System, one_a_line, value_text
from advisor.advice.model.vendor import Redfish, Vendor
from advisor.machine.units import count, plain, printable
from advisor.show.commandline import word

_NAMES: Final = 6


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
    parts: dict[Mark, str] = {"todo": "To do", "consider": "Consider"}
    named = {"bios": ("BIOS settings", bool(rows)), "system": ("Once it is there", True)}
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
        "Left to you: guides differ, or it is a choice; --include contested adds it": plan.contested,
        "Rejected: contradicts something else": plan.refused,
        "By hand, in the setup menus": plan.by_hand,
        "Not on this machine": plan.absent,
        "Check first: the present value, or whether it is wrong here, is unknown": plan.look_up,
    }
    yield from ((heading, list(map(_line, found))) for heading, found in lists.items() if found)
    if plan.notes:
        yield "Note", list(plan.notes)


def closing(plan: Plan) -> Iterator[str]:
    """Yield what a script says that writes nothing: what was found is named, with who is to decide."""
    found = [each for each in (*plan.contested, *plan.refused, *plan.by_hand, *plan.absent) if each.says]
    if plan.order:
        yield "advisor: nothing to write: no attribute name is certain here; this file lists the settings for the menus"
    elif not found:
        yield "advisor: nothing to write: no finding needs it; this file lists what is unknown"
    else:
        yield f"advisor: nothing to write here: {count(len(found), 'finding is', 'findings are')} left to you:"
    yield from (f"  {_line(each)}" for each in found)


def _line(left: NotWritten) -> str:
    where = f"{left.menu}: " if left.menu and left.attribute is None else ""
    rules = f" ({', '.join(left.rules)})" if left.rules else ""
    return f"{where}{left.title}: {left.wanted}: {f'{left.says}; ' if left.says else ''}{left.reason}{rules}"


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
        line = f"# in the setup menus, as the tool's name for it is unknown: {pair}" if by_hand else back.command
        yield line or shlex.quote(pair)
    if unknown:
        yield f"{', '.join(unknown)}: {vendor.tools.restore or 'the file saved first'}"


def remarks(name: str, plan: Plan, vendor: Vendor, output: Path | None) -> Iterator[str]:
    """Yield what a format cannot say in the file itself: JSON has no comments."""
    if name != "redfish" or vendor.redfish is None:
        return
    yield from _staged(plan, vendor.redfish, output) if plan.writes else ("nothing to stage this way",)
    if plan.look_up_with:
        yield f"look up first, all at once: {CURL} https://BMC{vendor.redfish.bios}"
    for heading, lines in untouched(plan):  # by their titles alone: the checklist has all of each
        titles = [line.partition(" (")[0].partition(": ")[0] for line in lines]
        more = f" and {len(titles) - _NAMES} more (advisor checklist)" if len(titles) > _NAMES else ""
        yield f"{heading}: {', '.join(titles[:_NAMES])}{more}"


def _staged(plan: Plan, redfish: Redfish, output: Path | None) -> Iterator[str]:
    """Yield how a body is staged and taken back."""
    yield f"save the present values first: (umask 077; {CURL} -o bios-before.json https://BMC{redfish.bios})"
    headers = {"Content-Type": "application/json", **redfish.headers}
    words = " ".join(f"-H {shlex.quote(f'{key}: {value}')}" for key, value in headers.items())
    yield f"stage it: {CURL} -X PATCH {words} -d @{word(str(output or 'FILE'))} https://BMC{redfish.settings}"
    yield from (CERTIFICATE, *redfish.notes)
    undo = {back.attribute: back.value for change in plan.writes for back in change.back if back.value is not None}
    if undo:
        yield f"undo, as a body: {json.dumps({'Attributes': undo, **redfish.apply}, ensure_ascii=True)}"
    data = shlex.quote(f'{{"ResetType": "{redfish.reset_type}"}}')
    reset = f"-H 'Content-Type: application/json' -d {data} https://BMC{redfish.reset}"
    yield f"then, drained, restart: {CURL} -X POST {reset}"
