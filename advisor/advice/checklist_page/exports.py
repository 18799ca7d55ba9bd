"""What the templates of a checklist's files may use: the list, its plan, and its lines ready to be put down."""

import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from advisor.advice.checklist_page.details import compared, facts, published_value
from advisor.advice.checklist_page.order import NO_MENU, bios_rows, left_out, order_verdict, to_come
from advisor.advice.checklist_page.steps import Sheet, right
from advisor.advice.model.checklist import CERTIFICATE, CURL, Mark
from advisor.advice.model.plan import Back, Keeper, NotWritten, Plan, System, one_a_line, value_text
from advisor.advice.model.vendor import Redfish, Vendor
from advisor.machine.units import count, plain, printable
from advisor.show.commandline import word


def values(sheet: Sheet, version: str) -> dict[str, object]:
    """Return what templates may use."""
    checklist, plan, vendor = sheet.checklist, sheet.plan, sheet.vendor
    beside = vendor.redfish.apply if vendor.redfish else {}
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
        "others": _other_groups(plan, vendor),
        "facts": lambda item: list(facts(item, checklist)),
        **_pages(sheet),
        "benches": [
            {"command": proof.command, "shows": proof.shows, "expected": [published_value(each) for each in proof.expected]}
            for proof in compared(checklist)
        ],
    }


def _pages(sheet: Sheet) -> dict[str, object]:
    """Return what pages show: the way to the menus, the table of hardware on order, what is right, the contents."""
    rows = bios_rows(sheet) if sheet.plan.order else ()
    named = [("bios", "BIOS settings"), ("system", "Once it is there")] if sheet.plan.order else list(_sections(sheet))
    notes = [("notes", "Notes")] if sheet.notes and not sheet.nothing else []
    return {
        "setup": sheet.vendor.setup or "",
        "verdict": order_verdict(sheet) if sheet.plan.order else sheet.verdict,
        "pages": [(page or NO_MENU, list(own)) for page, own in groupby(rows, key=lambda row: row.page)],
        "left_out": list(left_out(sheet, rows)) if sheet.plan.order else [],
        "places": to_come(sheet) if sheet.plan.order else (),
        "right": list(right(sheet.checklist)),
        "contents": [*(each for each in named if rows or each[0] != "bios"), *notes, ("more", "Benchmarks and sources")],
    }


def _sections(sheet: Sheet) -> Iterator[tuple[str, str]]:
    """Yield the parts of a machine's list that have something in them."""
    parts: dict[Mark, str] = {"todo": "To do", "consider": "Consider"}
    yield from ((mark, name) for mark, name in parts.items() if sheet.places(mark))
    if sheet.look_up:
        yield "look-up", "Look up"
    if any(right(sheet.checklist)):
        yield "done", "Done"


def _other_groups(plan: Plan, vendor: Vendor) -> list[str]:
    """Return the groups of the vendor's sheet in which the plan writes nothing: hardware on order is saved whole."""
    if not plan.order:
        return []
    mine = {change.group for change in plan.changes}
    groups = (entry.group for entries in vendor.settings.values() for entry in entries)
    return [group for group in dict.fromkeys(groups) if group and group not in mine]


def untouched(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Yield the lists of what the plan does not write, each with its heading; nothing of an empty one."""
    lists = (
        ("Left to you: guides differ, or it is a matter of choice; --include contested adds it", plan.contested),
        ("Rejected: contradicts something else", plan.refused),
        ("By hand, in the setup menus", plan.by_hand),
        ("Not on this machine", plan.absent),
        ("Look up first: the present value, or whether it is wrong here, is not known", plan.look_up),
    )
    for heading, found in lists:
        if found:
            yield heading, [_line(each) for each in found]
    if plan.notes:
        yield "Note", list(plan.notes)


def closing(plan: Plan) -> Iterator[str]:
    """Yield what a script says that writes nothing: what was found is named, with who is to decide."""
    found = [each for each in (*plan.contested, *plan.refused, *plan.by_hand, *plan.absent) if each.says]
    if plan.order:
        yield "advisor: nothing can be written: no attribute's name is certain here; the settings for the menus are in this file"
    elif not found:
        yield "advisor: nothing is to be written: no finding asks for it; what is not known is listed in this file"
    else:
        yield f"advisor: nothing is to be written here: {count(len(found), 'finding is', 'findings are')} left to you:"
    yield from (f"  {_line(each)}" for each in found)


def _line(left: NotWritten) -> str:
    where = f"{left.menu}: " if left.menu and left.attribute is None else ""
    rules = f" ({', '.join(left.rules)})" if left.rules else ""
    says = f"{left.says}; " if left.says else ""
    return f"{where}{left.title}: {left.wanted}: {says}{left.reason}{rules}"


def system_left(system: System, keepers: tuple[Keeper, ...] = ()) -> Iterator[str]:
    """Yield what of the operating system, or of some keepers, is wanted and not written: why, or how it would be written."""
    own = [left for left in system.left if not keepers or left.keeper in keepers]
    yield from (_line(left) for left in own if left.says)
    for reason in dict.fromkeys(left.reason for left in own if not left.says):
        names = (left.title.partition(" (")[0] for left in own if left.reason == reason and not left.says)
        yield f"{reason}: {', '.join(names)}"
    for kept in (kept for kept in system.kept if not kept.active and (not keepers or kept.keeper in keepers)):
        told = f"{kept.key} = {kept.value}" if kept.key and kept.keeper not in ("cmdline", "command") else kept.key
        what = f"{kept.line or kept.option or told}: " if kept.line or kept.option or told else ""
        yield f"{what}{kept.about[0]}: {'guides differ' if 'contested' in kept.marks else 'little gain'}"


def undo_lines(plan: Plan, vendor: Vendor) -> Iterator[str]:
    """Yield how to undo every change that is written, the last one first; of what was not known, the saved file."""
    backs = [back for change in reversed(plan.writes) for back in change.back]
    yield from (_undo(back, vendor) for back in backs if back.value is not None)
    unknown = [back.attribute for back in backs if back.value is None]
    if unknown:
        way = vendor.tools.restore or "the file that was saved first"
        yield f"{', '.join(unknown)}: {way}"


def _undo(back: Back, vendor: Vendor) -> str:
    """Return the line that writes a value back, quoted as a shell takes it; a comment where the tool's own name is not known."""
    told = printable(f"{back.attribute}={value_text(back.value if back.value is not None else '')}")
    if back.command is None and one_a_line(vendor.tools.set):
        return f"# in the setup menus, for what the tool calls it is not known: {told}"
    return back.command or shlex.quote(told)


def remarks(name: str, plan: Plan, vendor: Vendor, output: Path | None) -> Iterator[str]:
    """Yield what a format cannot say in the file itself: JSON has no comments."""
    if name != "redfish" or vendor.redfish is None:
        return
    redfish = vendor.redfish
    if plan.writes:
        yield from _staged(plan, redfish, output)
    else:
        yield "there is nothing to stage this way"
    if plan.look_up_with:
        yield f"look up first, all at once: {CURL} https://BMC{redfish.bios}"
    for heading, lines in untouched(plan):
        yield f"{heading}: {_named(lines)}"


_NAMES: Final = 6


def _named(lines: Sequence[str]) -> str:
    """Return lines by their titles alone: the checklist has all of each."""
    titles = [line.partition(" (")[0].partition(": ")[0] for line in lines]
    more = f" and {len(titles) - _NAMES} more (advisor checklist)" if len(titles) > _NAMES else ""
    return f"{', '.join(titles[:_NAMES])}{more}"


def _staged(plan: Plan, redfish: Redfish, output: Path | None) -> Iterator[str]:
    """Yield how a body is staged and taken back."""
    bmc = f"https://BMC{redfish.settings}"
    yield f"save the present values first: (umask 077; {CURL} -o bios-before.json https://BMC{redfish.bios})"
    headers = {"Content-Type": "application/json", **redfish.headers}
    words = [f"-H {shlex.quote(f'{key}: {value}')}" for key, value in headers.items()]
    file = word(str(output or "FILE"))
    yield f"stage it: {CURL} -X PATCH {' '.join(words)} -d @{file} {bmc}"
    yield from (CERTIFICATE, *redfish.notes)
    undo = {back.attribute: back.value for change in plan.writes for back in change.back if back.value is not None}
    if undo:
        yield f"undo, as a body: {json.dumps({'Attributes': undo, **redfish.apply}, ensure_ascii=True)}"
    data = f'{{"ResetType": "{redfish.reset_type}"}}'
    yield (
        f"then, drained, restart: {CURL} -X POST -H 'Content-Type: application/json' "
        f"-d {shlex.quote(data)} https://BMC{redfish.reset}"
    )
