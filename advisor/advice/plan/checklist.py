"""Puts a plan into the words of the checklist: what is typed at the lines that it writes, the reason at all others."""

from collections.abc import Iterator

from advisor.advice.model.checklist import NOTE_FIRST, Checklist, Item
from advisor.advice.model.findings import Fix
from advisor.advice.model.plan import LOOK_UP_WITH, Change, NotWritten, Plan, Target, filled_lines
from advisor.advice.model.vendor import Vendor
from advisor.advice.plan.make import SAVED

LISTS = ("look up first", "left to you", "not on this machine", "by hand", "rejected")


def with_plan(checklist: Checklist, plan: Plan, vendor: Vendor) -> Checklist:
    """Return the checklist as the plan has it: no page says to type what the scripts would not."""
    groups = tuple(
        group.model_copy(update={"items": tuple(_item(item, plan, vendor) for item in group.items)}) for group in checklist.groups
    )
    return checklist.model_copy(
        update={
            "groups": groups,
            "notes": tuple(dict.fromkeys((*checklist.notes, *_notes(plan)))),
            "apply": checklist.apply if plan.writes else (),
        }
    )


def _notes(plan: Plan) -> Iterator[str]:
    """Yield what must be set first, what is looked up first, and what holds for all."""
    for change in plan.writes:
        if change.kind != "wanted":
            word = "First" if change.kind == "first" else "Then again"
            yield f"{word}: {change.attribute} = {change.value}: {'; '.join(change.why)}"
    if plan.look_up_with and not plan.order:
        yield f"{LOOK_UP_WITH} {plan.look_up_with}"
    yield from plan.notes


def _item(item: Item, plan: Plan, vendor: Vendor) -> Item:
    if item.setting is None or item.fix.where != "bios" or item.done:
        return item
    change = next((each for each in plan.changes if item.setting in each.settings), None)
    if change is not None and change.active:
        return item.model_copy(update={"fix": _written(item.fix, change, plan, vendor), "undo": _undo(change) or item.undo})
    left = next(iter(_reasons(item.setting, change, plan)), None)
    return item.model_copy(update={"left": left, "fix": item.fix.model_copy(update={"commands": (), "before": ()})})


def _written(fix: Fix, change: Change, plan: Plan, vendor: Vendor) -> Fix:
    """Return the step as the plan writes it: what it needs first, then itself."""
    first = [each for each in plan.writes if each.attribute in change.first]
    targets = tuple(Target(each.attribute, each.value, each.group, each.label, each.menu) for each in (*first, change))
    update: dict[str, object] = {
        "commands": (*vendor.tools.prepare, *filled_lines(vendor.tools.set, targets)),
        "before": tuple(f"{each.attribute} = {each.value}: {'; '.join(each.why)}" for each in first),
    }
    if fix.attribute == change.attribute:
        update["attribute_value"] = change.value
    elif fix.attribute is not None:
        update["notes"] = (*fix.notes, f"{change.attribute}={change.value} sets it")
    return fix.model_copy(update=update)


def _undo(change: Change) -> str | None:
    told = [f"{back.attribute}={back.value}" for back in change.back if back.value is not None]
    if not told:
        return NOTE_FIRST
    return f"set it back to {change.back[0].value}" + (f", then {', '.join(told[1:])}" if told[1:] else "")


def _reasons(setting: str, change: Change | None, plan: Plan) -> Iterator[str]:
    """Yield why a setting is not written."""
    if change is not None:
        yield "; ".join(change.marks) or SAVED
    lists: tuple[tuple[NotWritten, ...], ...] = (plan.look_up, plan.contested, plan.absent, plan.by_hand, plan.refused)
    for name, found in zip(LISTS, lists, strict=True):
        yield from (f"{name}: {each.reason}" for each in found if each.setting == setting)
