"""Makes the Plan of wishes: the firmware's changes, in order, each with how to undo it; the system's part; what is left, and why.

The checklist is then put into the plan's words.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from advisor.advice.model.findings import Fix
from advisor.advice.model.plan import (
    CURL,
    LOOK_UP_WITH,
    NOTE_FIRST,
    Back,
    Change,
    Checklist,
    Include,
    Item,
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
from advisor.advice.model.sheets import Place, Vendor, VendorValue
from advisor.advice.plan.dependencies import consistent, one_each, ordered, reconcile, unclaimed, with_needs
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut, moved, named, settle
from advisor.machine.hardware import Scalar
from advisor.machine.units import count

PROFILE: Final = "os.tuned"
"""The setting that names a tuned profile; a profile of ours builds on it."""

_SMALL: Final = ("low", "info")
_WAIVED: Final = "waived: the site accepts it as it is"


def _is_waived(wish: WantedSetting) -> bool:
    return not wish.found and any(each.verdict == "waived" for each in wish.wanted)


def _contradiction(wish: WantedSetting, rules: Iterable[str]) -> str:
    """Return the wishes that cannot both be met, each with who has it."""
    mine = f"{', '.join(dict.fromkeys(rules))} wants {wish.value}"
    return ", ".join([mine, *(f"{other.id} wants {other.wanted}" for other in wish.others)])


def _dissent(wish: WantedSetting) -> str:
    """Return why a finding is left to a person: the guides that want otherwise, or that it is a matter of choice."""
    others = [f"{guide.says} [{guide.ref}]" for guide in wish.guides if guide.otherwise]
    return f"a guide wants otherwise: {'; '.join(others)}" if others else "worth considering, not a fault"


def system_of(
    wishes: Iterable[WantedSetting], states: Iterable[str] = (), include: frozenset[Include] = frozenset(), *, order: bool = False
) -> System:
    """Return what the system shall hold: what is so already, and what findings want; ``states`` are listed beside."""
    kept: list[Kept] = []
    left: list[NotWritten] = []
    profile = in_use = None
    for wish in (wish for wish in wishes if wish.value is not None and (wish.kept is not None or wish.setting == PROFILE)):
        reason = None if wish.done else _why_not_kept(wish, include, order=order)
        if wish.setting == PROFILE:
            in_use = wish.now
        if reason is not None:
            own = {"rules": wish.rules, "setting": wish.setting, "says": wish.claim}
            keeper = wish.kept.keeper if wish.kept else None
            left.append(NotWritten(title=wish.title, wanted=wish.text, reason=reason, keeper=keeper, **own))
        elif wish.setting == PROFILE:
            profile = None if wish.done else wish.value
        elif wish.kept is not None:
            marks = () if wish.done else tuple(_marks(wish, order=order))
            active = bool(wish.done) or not order or not {"contested", "low"}.intersection(marks)
            update = {"done": wish.done, "marks": marks, "active": active, "about": tuple(_about(wish, wish.kept))}
            kept.append(wish.kept.model_copy(update=update))
    return System(kept=tuple(kept), profile=profile, in_use=in_use, by_hand=tuple(states), left=tuple(left))


def _why_not_kept(wish: WantedSetting, include: frozenset[Include], *, order: bool) -> str | None:
    """Return why a wish is not written; None where it is."""
    if wish.others:
        return f"rules contradict each other: {_contradiction(wish, wish.rules)}"
    if _is_waived(wish):
        return _WAIVED
    if order:
        return None
    if (wish.now is None or not wish.found) and "unknown" not in include:
        known = "it may not be wrong here" if wish.now is not None else "its present value is unknown"
        return f"check first: {known}"
    return _dissent(wish) if wish.contested and "contested" not in include else None


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
        guides = "; ".join(f"{guide.says} [{guide.ref}]" for guide in wish.guides)
        yield f"guides differ: {guides}" if guides else "a matter of preference or workload"
    if kept.back and not wish.done:
        yield f"undo: {kept.back}"


def _draft(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> Draft | None:
    """Return the write that a wish for the BIOS may become; else list it, with the reason."""
    place = wish.place
    if wish.done:
        if place and place.attribute and place.vendor_value is not None and place.exact:  # nothing else is to move it
            now = ground.now(place.attribute)
            lists.content[place.attribute] = (place.vendor_value if now is None else now, wish)
        return None
    if wish.value is None or place is None or not place.attribute or place.vendor_value is None or not place.exact:
        _list_nameless(wish, ground, lists)
        return None
    name = place.attribute
    value = ground.spelled(name, place.vendor_value)
    untaken = f"{place.vendor_value} is not a value that this machine's {name} takes"
    if (lacks := ground.lacks(name)) or value is None:
        lists.absent.append(_left(wish, lacks or untaken))
        return None
    # The present value as the BIOS says, or as its sheet calls what the system shows.
    now = ground.now(name) if ground.bios is not None else place.spoken.get(wish.now) if wish.now is not None else None
    if now is not None and ground.same(name, now, value):
        if wish.done is False:
            lists.by_hand.append(_left(wish, "the BIOS already has it: a restart is due, or something overrides it"))
    elif now is not None and (why := _no_way_back(place, now, ground)):
        lists.refused.append(_left(wish, why))
    elif wish.others:
        lists.refused.append(_left(wish, _contradiction(wish, (each.id for each in wish.speak))))
    elif _is_waived(wish):
        lists.by_hand.append(_left(wish, _WAIVED))
    else:
        return _weighed(wish, place, value, now, ground=ground, lists=lists)
    return None


def _no_way_back(place: Place, now: Scalar, ground: FirmwareState) -> str | None:
    """Return why a present value could not be written again; None where it could."""
    if why := ground.no_way_back(place.attribute or "", now):
        return f"it {why}"
    if ground.nameless(place.attribute or "", place.spoken.values()):
        cure = "give the attribute registry with a further --bios"
        return f"it is set to {now}, the menu's words; what the tools call that is not known: {cure}"
    return None


def _weighed(
    wish: WantedSetting, place: Place, value: VendorValue, now: Scalar | None, *, ground: FirmwareState, lists: LeftOut
) -> Draft | None:
    """Return a draft, marked where it is one to look at twice, or list it where it is not asked for."""
    unknown, small = now is None or not wish.found, wish.speak[0].severity in _SMALL
    marks: list[Mark] = ["contested"] if wish.contested else []
    marks += ["unknown"] if unknown else []
    if ground.order:
        marks += ["low"] if small and not wish.contested else []
    elif unknown and "unknown" not in ground.include:
        known = f"it is set to {now}; whether that is wrong here is not known"
        reason = "its present value is unknown" if now is None else known
        lists.look_up.append(_left(wish, reason).model_copy(update={"now": now}))
        return None
    elif wish.contested and "contested" not in ground.include:
        lists.contested.append(_left(wish, _dissent(wish)).model_copy(update={"now": now}))
        return None
    if unsaid := ground.unsaid(place.attribute or "", place.label):
        lists.by_hand.append(_left(wish, unsaid))
        return None
    return Draft(
        attribute=place.attribute or "",
        value=value,
        now=now,
        wishes=(wish,),
        group=place.group,
        label=place.label,
        menu=wish.menu,
        marks=tuple(marks),
        active=not ground.order or not (small or wish.contested),
        verified=place.verified,
    )


def _accompanied(drafts: list[Draft], lists: LeftOut) -> list[Draft]:
    """Return the drafts without those that do harm alone: preferred I/O is never switched on without a bus."""
    there = {wish.setting for draft in drafts if draft.active for wish in draft.wishes}
    there |= {wish.setting for _, wish in lists.content.values() if wish.now is not None}
    kept = []
    for draft in drafts:
        lone = [wish for wish in draft.wishes if wish.only_with and wish.only_with not in there]
        if lone:
            lists.by_hand.append(draft.left(f"never without {lone[0].only_with}, which is not known or cannot be written here"))
        else:
            kept.append(draft)
    return kept


def _left(wish: WantedSetting, reason: str) -> NotWritten:
    place = wish.place
    attribute = place.attribute if place and place.exact else None
    word = place.vendor_value if place and attribute is not None and wish.value is not None else None
    return NotWritten(
        title=wish.title,
        wanted=f"{attribute}={word}" if word is not None else wish.text,
        reason=reason,
        rules=wish.rules,
        setting=wish.setting,
        attribute=attribute,
        group=place.group if place else None,
        menu=wish.menu,
        says=wish.claim,
    )


def _list_nameless(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> None:
    """List a wish without an attribute: as absent where the BIOS was given and has none of that beginning."""
    stem = wish.place.attribute if wish.place and wish.place.vendor_value is not None else None
    shown = (stem or "").replace("{n}", "N")
    if wish.value is None:
        why = "the machine decides the value"
    elif stem is None:
        why = "its name or value is unknown here"
    elif ground.bios is None:
        why = f"the attribute's name is not certain here ({stem}...): give the BIOS attributes with --bios"
    elif any(name.startswith(stem.partition("{n}")[0]) for name in ground.present):
        why = f"which of the attributes {shown}... is meant is not certain here"
    else:
        lists.absent.append(_left(wish, f"the BIOS attributes given have no {shown}..."))
        return
    lists.by_hand.append(_left(wish, why))


SAVED: Final = "the file that the script saves first has the present value"
_MARKS: Final[dict[Mark, str]] = {"contested": "guides differ", "low": "little gain, or only for some uses"}


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
    lists, vendor = LeftOut(), ground.vendor
    drafts = [draft for wish in wishes if wish.where == "bios" and wish.kept is None and (draft := _draft(wish, ground, lists))]
    drafts = _accompanied(drafts, lists)
    drafts = with_needs(one_each(drafts, lists), ground, lists)
    drafts = unclaimed(one_each(reconcile(drafts, ground, lists), lists), ground, lists)
    drafts = ordered(drafts, ground, lists)
    drafts = consistent(_accompanied(drafts, lists), lists)
    lists.look_up = _moved_anyway(lists.look_up, drafts, ground)
    lists.contested = _moved_anyway(lists.contested, drafts, ground)
    lists.by_hand += states
    names = ("look_up", "contested", "absent", "by_hand", "refused")
    return Plan(
        machine=machine,
        platform=platform,
        vendor=vendor.name,
        vendor_id=vendor.id,
        scope=scope,
        order=ground.order,
        changes=tuple(_change(draft, drafts, ground) for draft in drafts),
        look_up_with=_look_up(lists.look_up, vendor),
        notes=tuple(_notes(ground)),
        system=system or System(),
        **{name: tuple(dict.fromkeys(getattr(lists, name))) for name in names},
    )


def _look_up(left: list[NotWritten], vendor: Vendor) -> str | None:
    """Return one command that reads all present values that are not known."""
    targets = tuple(Target(each.attribute, "", each.group) for each in left if each.attribute and each.now is None)
    if not targets:
        return None
    if vendor.tools.look is not None:
        return look_up_line(vendor.tools.look, targets)
    return f"{CURL} https://BMC{vendor.redfish.bios}" if vendor.redfish else None


_COPIED: Final = (
    "attribute", "group", "label", "menu", "title", "now", "value", "kind", "first", "needs", "marks", "active", "verified",
)  # fmt: skip


def _change(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> Change:
    """Return a draft as a change, with what moves along and how to undo it."""
    by_sheet, moves = _along(draft, drafts, ground)
    return Change(
        **{name: getattr(draft, name) for name in _COPIED},
        settings=tuple(dict.fromkeys(wish.setting for wish in draft.wishes)),
        wanted=tuple(each for wish in draft.wishes for each in wish.speak),
        guides=tuple(dict.fromkeys(guide for wish in draft.wishes for guide in wish.guides)),
        why=tuple(_why(draft)),
        moves=tuple(f"{name}={'not known' if value is None else value}" for name, value in (by_sheet | moves).items()),
        back=tuple(_back(draft, moves, ground)),
        command=_command(draft, draft.value, ground.vendor),
    )


def _along(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> tuple[dict[str, Scalar | None], dict[str, Scalar | None]]:
    """Return what changes along, but for what the plan writes itself: what the vendor's sheet, and what the registry says.

    Going back to the profile before brings back what the sheet says that a profile sets besides.
    """
    own = {each.attribute for each in drafts if each.active}
    told = ground.told_by_sheet(draft.attribute, draft.value)
    along = moved(ground.registry, ground.present, {draft.attribute: draft.value}) if ground.registry else {}
    by_sheet, by_registry = ({name: to for name, to in each.items() if name not in own} for each in (told, along))
    return by_sheet, by_registry


def _moved_anyway(left: list[NotWritten], drafts: list[Draft], ground: FirmwareState) -> list[NotWritten]:
    """Return what is left, and where a profile that is written changes it all the same, with that noted."""
    changed: dict[str | None, str] = {}
    for draft in (draft for draft in drafts if draft.active):
        by_sheet, moves = _along(draft, drafts, ground)
        for name, value in (by_sheet | moves).items():
            to = "what is not known" if value is None else value
            changed[name] = f"{draft.attribute}={draft.value} sets it to {to} anyway"
    return [
        each.model_copy(update={"reason": f"{each.reason}; {changed[each.attribute]}"}) if each.attribute in changed else each
        for each in left
    ]


def _why(draft: Draft) -> Iterable[str]:
    """Yield what it is, what it was, and who asks; then where to look twice."""
    was = f"was {draft.now}" if draft.now is not None else "present value not known"
    for wish in draft.wishes:
        own = wish in draft.own
        yield f"{wish.title}: {wish.text} ({was if own else 'set by this too'}; {', '.join(wish.rules)})"
        if gain := next((each.gain for each in wish.speak if each.gain), None):
            yield f"worth: {gain}"
    yield from draft.why
    yield from (f"look twice: {_MARKS[mark]}" for mark in draft.marks if mark in _MARKS)
    if "unknown" in draft.marks and draft.now is not None:
        yield "check twice: it may not be wrong here"
    if not draft.verified:
        yield "name not verified against a registry"
    guides = dict.fromkeys(f"{guide.says} [{guide.ref}]" for wish in draft.own for guide in wish.guides)
    if guides and ("contested" in draft.marks or len(guides) > 1):
        yield f"guides differ: {'; '.join(guides)}"


def _back(draft: Draft, moves: dict[str, Scalar | None], ground: FirmwareState) -> Iterable[Back]:
    """Yield undo: the attribute, then what moved along, does not go back with it, and may be written then."""
    now, registry = draft.now, ground.registry
    yield Back(attribute=draft.attribute, value=now, command=None if now is None else _command(draft, now, ground.vendor))
    if now is None or registry is None or not moves:
        return
    after = settle(registry, ground.present, {draft.attribute: draft.value}).values
    again = settle(registry, after, {draft.attribute: now})
    for name in moves:
        value = ground.now(name)
        if value is not None and again.values.get(name) != named(registry, name, value) and not again.refuses(name):
            entries = (entry for entries in ground.vendor.settings.values() for entry in entries if entry.attribute == name)
            group = next((entry.group for entry in entries if entry.group), None)
            yield Back(attribute=name, value=value, command=_line(Target(name, value, group), ground.vendor))


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
        first = ", ".join(f"{name}={value}" for name, value in list(waiting.items())[:5])
        wait = count(len(waiting), "change waits", "changes wait")
        yield f"{wait} for the next restart already ({first}): taking effect together with these"
    if ground.bios is not None and ground.registry is None:
        name = ground.bios.registry or "the attribute registry"
        yield f"{name} was not given: whether every value is legal here was not checked; add its file with a further --bios"


def with_plan(checklist: Checklist, plan: Plan, vendor: Vendor) -> Checklist:
    """Return the checklist as the plan has it, what is typed or the reason: no page says to type what the scripts would not."""
    notes = list(checklist.notes)
    for change in plan.writes:
        if change.kind != "wanted":
            word = "First" if change.kind == "first" else "Then again"
            notes.append(f"{word}: {change.attribute} = {change.value}: {'; '.join(change.why)}")
    if plan.look_up_with and not plan.order:
        notes.append(f"{LOOK_UP_WITH} {plan.look_up_with}")
    groups = tuple(
        group.model_copy(update={"items": tuple(_item(item, plan, vendor) for item in group.items)}) for group in checklist.groups
    )
    apply = checklist.apply if plan.writes else ()
    return checklist.model_copy(update={"groups": groups, "notes": tuple(dict.fromkeys((*notes, *plan.notes))), "apply": apply})


def _item(item: Item, plan: Plan, vendor: Vendor) -> Item:
    if item.setting is None or item.fix.where != "bios" or item.done:
        return item
    change = next((each for each in plan.changes if item.setting in each.settings), None)
    if change is not None and change.active:
        back = [f"{each.attribute}={each.value}" for each in change.back if each.value is not None]
        undo = f"set it back to {change.back[0].value}" + (f", then {', '.join(back[1:])}" if back[1:] else "")
        return item.model_copy(update={"fix": _written(item.fix, change, plan, vendor), "undo": undo if back else NOTE_FIRST})
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


def _reasons(setting: str, change: Change | None, plan: Plan) -> Iterator[str]:
    """Yield why a setting is not written."""
    if change is not None:
        yield "; ".join(change.marks) or SAVED
    lists = {
        "look up first": plan.look_up,
        "left to you": plan.contested,
        "not on this machine": plan.absent,
        "by hand": plan.by_hand,
        "rejected": plan.refused,
    }
    for name, left in lists.items():
        yield from (f"{name}: {each.reason}" for each in left if each.setting == setting)
