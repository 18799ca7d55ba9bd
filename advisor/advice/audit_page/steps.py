"""The steps of a fix in full: what is set, by which line, where in the menus, what moves along; and how to go back."""

from collections.abc import Iterator

from advisor.advice.audit_page.findings import Asker, changed, undo_words
from advisor.advice.model.findings import Audit, Finding, Fix
from advisor.advice.model.plan import Change, Plan
from advisor.advice.model.planned import Planned
from advisor.machine.jinja import REBOOTS

Row = tuple[str, str]
"""A label and what is said; a label that begins with $ is a command to copy."""

_RESTARTS = {"yes": "takes effect after a reboot", "power-cycle": "takes effect after a power cycle"}
_SURE = {False: " (from the vendor's documents; not seen in its attribute registry)", True: " (as in the vendor's registry)"}


def fix_steps(head: Finding, planned: Planned, audit: Audit, plan: Plan, asker: Asker) -> Iterator[Row]:
    """Yield each step: what is set, by which line, where in the menus, what it needs and what moves with it."""
    for at, step in enumerate(head.fix):
        own = [want for want in head.wants if want.setting == step.setting]
        change = changed(audit, own, explained=True)
        restart = f"; {_RESTARTS[step.reboot]}" if step.reboot in _RESTARTS else ""
        yield "FIX" if at == 0 else "AND", f"{change or step.text.removeprefix('BIOS: ')}{restart}"
        writes = next((each for each in planned.changes if step.setting in each.settings), None)
        if step.where != "bios" or writes is not None:
            yield from _lines_to_run(step, writes, plan, asker)
        if step.menu and change:
            yield "   menu", f"{step.menu}: {step.value if step.attribute_value is None else step.attribute_value}"
        yield from _names(step, writes)
        if why := planned.left.get(step.setting or ""):
            yield "   script", f"none holds it: {why}{_adds(why)}"
    if not head.fix:
        yield "FIX", head.advice or head.want or "see the sources"


def _names(step: Fix, writes: Change | None) -> Iterator[Row]:
    """Yield the vendor's name with how sure it is, what moves with it, and what must be known beside."""
    if step.attribute and step.attribute_value is not None:
        yield "   name", f"{step.attribute}={step.attribute_value}{'' if step.verified is None else _SURE[step.verified]}"
    if writes is not None and writes.moves:
        yield "   moves", f"with it: {', '.join(writes.moves)}"
    yield from (("   note", note.replace(_UNSEEN, "the name is not verified: look for one like it")) for note in step.notes)


_UNSEEN = "from memory, check"
"""What a vendor's sheet says of a name that no firmware showed; a reader would look for memory."""


def _adds(reason: str) -> str:
    """Return how files for tools are made to hold it all the same; empty where nothing makes them."""
    if reason.endswith("its present value is not known"):
        return " (advisor checklist --include unknown adds it, marked)"
    contested = reason.startswith(("guides differ", "a guide wants", "worth considering"))
    return " (advisor checklist --include contested adds it, marked)" if contested else ""


def _lines_to_run(step: Fix, change: Change | None, plan: Plan, asker: Asker) -> Iterator[Row]:
    """Yield the lines to copy; of the BIOS those that the plan has, and what makes them take effect."""
    if change is None:
        yield from (("$   run" if at == 0 else "$", line) for at, line in enumerate(step.commands))
        if step.commands and not (asker.live and asker.root):
            yield "   note", "run it as root"
        return
    before = [each for each in plan.writes if each.attribute in change.first]
    for needed in before:
        yield "   first", f"{needed.attribute}={needed.value}: {'; '.join(needed.why)}"
    lines = [each.command for each in (*before, change) if each.command] or list(step.commands)
    yield from (("$   run" if at == 0 else "$", line) for at, line in enumerate(lines))
    if lines and step.apply:
        yield "   then", REBOOTS
        yield from (("$", line) for line in step.apply)


def undo_steps(head: Finding, planned: Planned) -> Iterator[Row]:
    """Yield how to go back: the lines of the plan or of the system's settings, else in words."""
    lines = [back.command for change in planned.changes for back in change.back if back.command]
    if not lines and head.undo is None:
        lines = [step.undo for step in head.fix if step.undo and step.commands and step.where != "bios"]
    if not lines:
        yield "UNDO", undo_words(head)
    yield from (("$UNDO" if at == 0 else "$", line) for at, line in enumerate(lines))
