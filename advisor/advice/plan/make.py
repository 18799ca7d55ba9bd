"""Makes the Plan: the firmware's changes, reconciled, in order, each with how to undo it; and the operating system's part."""

from collections.abc import Iterable, Iterator

from advisor.advice.model.checklist import CURL
from advisor.advice.model.plan import (
    Back,
    Change,
    Include,
    Kept,
    Mark,
    NotWritten,
    Plan,
    System,
    Target,
    WantedSetting,
    filled_lines,
    look_up_line,
    one_a_line,
)
from advisor.advice.model.vendor import Vendor, VendorValue
from advisor.advice.plan.dependencies import consistent, one_each, ordered, unclaimed, with_needs
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut
from advisor.advice.plan.profiles import reconcile
from advisor.advice.plan.registry import moved, named, settle
from advisor.advice.plan.sorting import accompanied, dissent, sort
from advisor.machine.firmware import Scalar
from advisor.machine.units import count

PROFILE = "os.tuned"
"""The setting that names a tuned profile; a profile of ours builds on it."""

_SMALL = ("low", "info")


def system_of(
    wishes: Iterable[WantedSetting], states: Iterable[str] = (), include: frozenset[Include] = frozenset(), *, order: bool = False
) -> System:
    """Return what the system shall hold: what is so already, and what findings want; ``states`` are listed beside."""
    kept: list[Kept] = []
    left: list[NotWritten] = []
    profile = in_use = None
    for wish in (wish for wish in wishes if wish.value is not None and (wish.kept is not None or wish.setting == PROFILE)):
        if wish.setting == PROFILE:
            in_use = wish.now
        reason = None if wish.done else _left_out(wish, include, order=order)
        if reason is not None:
            left.append(_left(wish, reason))
        elif wish.setting == PROFILE:
            profile = None if wish.done else wish.value
        elif wish.kept is not None:
            kept.append(_kept(wish, wish.kept, order=order))
    return System(kept=tuple(kept), profile=profile, in_use=in_use, by_hand=tuple(states), left=tuple(left))


def _left_out(wish: WantedSetting, include: frozenset[Include], *, order: bool) -> str | None:
    """Return why a wish is not written; None where it is."""
    if wish.others:
        wants = [f"{', '.join(wish.rules)} wants {wish.value}", *(f"{other.id} wants {other.wanted}" for other in wish.others)]
        return f"rules contradict each other: {', '.join(wants)}"
    if not wish.found and any(each.verdict == "waived" for each in wish.wanted):
        return "waived: the site accepts it as it is"
    if order:
        return None
    if (wish.now is None or not wish.found) and "unknown" not in include:
        known = "whether it is wrong here is not known" if wish.now is not None else "its present value is not known"
        return f"look up first: {known}"
    return dissent(wish) if wish.contested and "contested" not in include else None


def _left(wish: WantedSetting, reason: str) -> NotWritten:
    keeper = wish.kept.keeper if wish.kept else None
    own = {"rules": wish.rules, "setting": wish.setting, "says": wish.claim, "keeper": keeper}
    return NotWritten(title=wish.title, wanted=wish.text, reason=reason, **own)


def _kept(wish: WantedSetting, kept: Kept, *, order: bool) -> Kept:
    marks = () if wish.done else tuple(_marks(wish, order=order))
    active = bool(wish.done) or not order or not {"contested", "low"}.intersection(marks)
    return kept.model_copy(update={"done": wish.done, "marks": marks, "active": active, "about": tuple(_about(wish, kept))})


def _marks(wish: WantedSetting, *, order: bool) -> Iterator[Mark]:
    if wish.contested:
        yield "contested"
    elif order and wish.speak[0].severity in _SMALL:
        yield "low"
    if wish.now is None or not wish.found:
        yield "unknown"


def _about(wish: WantedSetting, kept: Kept) -> Iterator[str]:
    """Yield what it is, what it was, who asks, how it goes back, and where guides differ."""
    was = "so already, kept" if wish.done else f"was {wish.stands}" if wish.now is not None else "present value not known"
    yield f"{wish.title}: {wish.text} ({was}; {', '.join(wish.rules)})"
    if wish.contested or len(wish.guides) > 1:
        said = "; ".join(f"{guide.says} [{guide.ref}]" for guide in wish.guides)
        yield f"guides differ: {said}" if said else "a matter of taste, or of the work"
    if kept.back and not wish.done:
        yield f"undo: {kept.back}"


SAVED = "the file that the script saves first has the present value"
_MARKS: dict[Mark, str] = {
    "unknown": "present value not known",
    "contested": "guides differ",
    "low": "little gain, or only in some use",
}


def plan_of(
    wishes: Iterable[WantedSetting],
    ground: FirmwareState,
    *,
    states: Iterable[NotWritten] = (),
    system: System | None = None,
    machine: str | None = None,
    platform: str | None = None,
    scope: str = "mpi",
) -> Plan:
    """Return the plan for what is wanted on a machine of which ``ground`` is known."""
    lists = LeftOut()
    drafts = sort(wishes, ground, lists)
    drafts = with_needs(one_each(drafts, lists), ground, lists)
    drafts = unclaimed(one_each(reconcile(drafts, ground, lists), lists), ground, lists)
    drafts = ordered(drafts, ground, lists)
    drafts = consistent(accompanied(drafts, lists), lists)
    vendor = ground.vendor
    lists.look_up = _moved_anyway(lists.look_up, drafts, ground)
    lists.contested = _moved_anyway(lists.contested, drafts, ground)
    return Plan(
        machine=machine,
        platform=platform,
        vendor=vendor.name,
        vendor_id=vendor.id,
        scope=scope,
        order=ground.order,
        changes=tuple(_change(draft, drafts, ground) for draft in drafts),
        look_up=_each_once(lists.look_up),
        look_up_with=_look_up(lists.look_up, vendor),
        contested=_each_once(lists.contested),
        absent=_each_once(lists.absent),
        by_hand=_each_once([*lists.by_hand, *states]),
        refused=_each_once(lists.refused),
        notes=tuple(_notes(ground)),
        system=system or System(),
    )


def _each_once(found: list[NotWritten]) -> tuple[NotWritten, ...]:
    return tuple(dict.fromkeys(found))


def _look_up(found: list[NotWritten], vendor: Vendor) -> str | None:
    """Return one command that reads all present values that are not known."""
    targets = tuple(Target(each.attribute, "", each.group) for each in found if each.attribute and each.now is None)
    if not targets:
        return None
    if vendor.tools.look is not None:
        return look_up_line(vendor.tools.look, targets)
    return f"{CURL} https://BMC{vendor.redfish.bios}" if vendor.redfish else None


def _change(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> Change:
    """Return a draft as a change, with what moves along and how to undo it."""
    moves = _moves(draft, drafts, ground)
    told = _told(draft, drafts, ground) | moves
    return Change(
        attribute=draft.attribute,
        group=draft.group,
        label=draft.label,
        menu=draft.menu,
        title=draft.title,
        settings=tuple(dict.fromkeys(wish.setting for wish in draft.wishes)),
        now=draft.now,
        value=draft.value,
        kind=draft.kind,
        wanted=tuple(each for wish in draft.wishes for each in wish.speak),
        guides=tuple(dict.fromkeys(guide for wish in draft.wishes for guide in wish.guides)),
        why=tuple(_why(draft)),
        first=draft.first,
        needs=draft.needs,
        moves=tuple(f"{name}={'not known' if value is None else value}" for name, value in told.items()),
        back=tuple(_back(draft, moves, ground)),
        marks=draft.marks,
        active=draft.active,
        command=_command(draft, draft.value, ground.vendor),
        verified=draft.verified,
    )


def _moves(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> dict[str, Scalar | None]:
    """Return what the registry says changes along, but for what the plan writes itself."""
    if ground.registry is None:
        return {}
    own = {each.attribute for each in drafts if each.active}
    along = moved(ground.registry, ground.present, {draft.attribute: draft.value})
    return {name: value for name, value in along.items() if name not in own}


def _told(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> dict[str, Scalar | None]:
    """Return what the vendor's sheet says a profile sets besides; going back to the profile before brings that back."""
    own = {each.attribute for each in drafts if each.active}
    return {name: value for name, value in ground.told_by_sheet(draft.attribute, draft.value).items() if name not in own}


def _moved_anyway(found: list[NotWritten], drafts: list[Draft], ground: FirmwareState) -> list[NotWritten]:
    """Return what is left, and where a profile that is written changes it all the same, with that noted."""
    moved = {
        name: (value, draft)
        for draft in drafts
        if draft.active
        for name, value in {**_told(draft, drafts, ground), **_moves(draft, drafts, ground)}.items()
    }
    return [_also(each, *moved[each.attribute]) if each.attribute in moved else each for each in found]


def _also(left: NotWritten, value: Scalar | None, by: Draft) -> NotWritten:
    to = "what is not known" if value is None else value
    return left.model_copy(update={"reason": f"{left.reason}; {by.attribute}={by.value} sets it to {to} anyway"})


def _why(draft: Draft) -> Iterable[str]:
    """Yield what it is, what it was, and who asks; then where to look twice."""
    was = f"was {draft.now}" if draft.now is not None else "present value not known"
    for wish in draft.wishes:
        own = wish in draft.own
        yield f"{wish.title}: {wish.text} ({was if own else 'set by this too'}; {', '.join(wish.rules)})"
        if gain := next((each.gain for each in wish.speak if each.gain), None):
            yield f"worth: {gain}"
    yield from draft.why
    yield from (f"look twice: {_MARKS[mark]}" for mark in draft.marks if mark != "unknown" and mark in _MARKS)
    if "unknown" in draft.marks and draft.now is not None:
        yield "look twice: whether it is wrong here is not known"
    if not draft.verified:
        yield "name not verified against a registry"
    guides = dict.fromkeys(f"{guide.says} [{guide.ref}]" for wish in draft.own for guide in wish.guides)
    if guides and ("contested" in draft.marks or len(guides) > 1):
        yield f"guides differ: {'; '.join(guides)}"


def _back(draft: Draft, moves: dict[str, Scalar | None], ground: FirmwareState) -> Iterable[Back]:
    """Yield undo: the attribute, then what moved along, does not go back with it, and may be written then."""
    now = draft.now
    if now is None:
        yield Back(attribute=draft.attribute, value=None)
        return
    yield Back(attribute=draft.attribute, value=now, command=_command(draft, now, ground.vendor))
    if ground.registry is None or not moves:
        return
    after = settle(ground.registry, ground.present, {draft.attribute: draft.value}).values
    again = settle(ground.registry, after, {draft.attribute: now})
    for name in moves:
        value = ground.now(name)
        if value is not None and again.values.get(name) != named(ground.registry, name, value) and not again.refuses(name):
            target = Target(name, value, _group(ground.vendor, name))
            yield Back(attribute=name, value=value, command=_line(target, ground.vendor))


def _group(vendor: Vendor, attribute: str) -> str | None:
    """Return the group under which the vendor's tool has an attribute, as the sheet says; None where it does not."""
    entries = (entry for entries in vendor.settings.values() for entry in entries)
    groups = (entry.group for entry in entries if entry.attribute == attribute)
    return next((group for group in groups if group), None)


def _command(draft: Draft, value: VendorValue, vendor: Vendor) -> str | None:
    """Return the line that stages one attribute, of a tool that takes one a line."""
    return _line(Target(draft.attribute, value, draft.group, draft.label, draft.menu), vendor)


def _line(target: Target, vendor: Vendor) -> str | None:
    """Return the line of the vendor's tool for one attribute; None where it takes all at once, or the group is not known."""
    lines = [line for line in vendor.tools.set if one_a_line([line]) and (target.group or "{group}" not in line)]
    return filled_lines(lines[:1], (target,))[0] if lines else None


def _notes(ground: FirmwareState) -> Iterable[str]:
    """Yield what holds for the whole plan: what waits already, and what could not be checked."""
    waiting = ground.bios.changed() if ground.bios else {}
    if waiting:
        told = ", ".join(f"{name}={value}" for name, value in list(waiting.items())[:5])
        wait = count(len(waiting), "change waits", "changes wait")
        yield f"{wait} for the next restart already ({told}): taking effect together with these"
    if ground.bios is not None and ground.registry is None:
        name = ground.bios.registry or "the attribute registry"
        yield f"{name} was not given: whether every value is legal here was not checked; add its file with a further --bios"
