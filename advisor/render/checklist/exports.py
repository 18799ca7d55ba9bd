"""What the templates of a checklist's files may use: the list, its plan, and its lines ready to be put down."""

import json
import shlex
from collections.abc import Iterator

from advisor.language.units import plain, printable
from advisor.model.audit.checklist import NOTE_FIRST, Checklist
from advisor.model.audit.plan import Back, NotWritten, Plan, System, value_text
from advisor.model.audit.vendor import Vendor
from advisor.render.checklist.page import compared, proof_of, published_value


def values(checklist: Checklist, plan: Plan, vendor: Vendor, version: str) -> dict[str, object]:
    """Return what templates may use."""
    beside = vendor.redfish.apply if vendor.redfish else {}
    return {
        "list": checklist,
        "plan": plan,
        "tools": vendor.tools,
        "system": plan.system,
        "version": plain(version, 40),
        "body": json.dumps({"Attributes": plan.attributes, **beside}, indent=1, ensure_ascii=True),
        "untouched": list(untouched(plan)),
        "system_left": list(system_left(plan.system)),
        "undo": list(undo_lines(plan, vendor)),
        "unsaid": any(back.value is None for change in plan.writes for back in change.back),
        "blind": any(change.now is None for change in plan.changes),
        "groups": list(dict.fromkeys(change.group for change in plan.changes if change.group)),
        "others": _other_groups(plan, vendor),
        "note_first": NOTE_FIRST,
        "proofs": {item.id: proof_of(checklist, item) for item in checklist.items},
        "benches": [
            {"command": proof.command, "shows": proof.shows, "expected": [published_value(each) for each in proof.expected]}
            for proof in compared(checklist)
        ],
    }


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
        ("Look up first: the present value, or whether it is wrong here, is not known", plan.look_up),
        ("Guides differ: --include contested adds them", plan.contested),
        ("Not on this machine", plan.absent),
        ("Rejected: contradicts something else", plan.refused),
        ("By hand, in the setup menus", plan.by_hand),
    )
    for heading, found in lists:
        if found:
            yield heading, [_line(each) for each in found]
    if plan.notes:
        yield "Note", list(plan.notes)


def _line(left: NotWritten) -> str:
    where = f"{left.menu}: " if left.menu and left.attribute is None else ""
    rules = f" ({', '.join(left.rules)})" if left.rules else ""
    return f"{where}{left.title}: {left.wanted}: {left.reason}{rules}"


def system_left(system: System) -> Iterator[str]:
    """Yield what of the operating system is wanted and not written: with the reason, or with how it would be written."""
    yield from (_line(left) for left in system.left)
    for kept in (kept for kept in system.kept if not kept.active):
        told = f"{kept.key} = {kept.value}" if kept.key and kept.keeper not in ("cmdline", "command") else kept.key
        what = f"{kept.line or kept.option or told}: " if kept.line or kept.option or told else ""
        yield f"{what}{kept.about[0]}: {'guides differ' if 'contested' in kept.marks else 'little gain'}"


def undo_lines(plan: Plan, vendor: Vendor) -> Iterator[str]:
    """Yield how to undo every change that is written, the last one first; of what was not known, the saved file."""
    backs = [back for change in reversed(plan.writes) for back in change.back]
    yield from (_undo(back) for back in backs if back.value is not None)
    unknown = [back.attribute for back in backs if back.value is None]
    if unknown:
        way = vendor.tools.restore or "the file that was saved first"
        yield f"{', '.join(unknown)}: {way}"


def _undo(back: Back) -> str:
    """Return the line that writes a value back, quoted as a shell takes it."""
    return back.command or shlex.quote(printable(f"{back.attribute}={value_text(back.value if back.value is not None else '')}"))
