"""Sorts wishes: what may be written, and what is looked up, listed or left, with the reason."""

from collections.abc import Iterable

from advisor.advice.model.plan import Mark, NotWritten, WantedSetting
from advisor.advice.model.vendor import Place, VendorValue
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut
from advisor.machine.firmware import Scalar

_SMALL = ("low", "info")


def sort(wishes: Iterable[WantedSetting], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the writes that the wishes for the BIOS may become; everything else goes into the lists."""
    drafts = [draft for wish in wishes if wish.where == "bios" and wish.kept is None and (draft := _draft(wish, ground, lists))]
    return accompanied(drafts, lists)


def _draft(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> Draft | None:
    place = wish.place
    if wish.done:
        _content(wish, ground, lists)
        return None
    if wish.value is None or place is None or place.attribute is None or place.vendor_value is None or not place.exact:
        _list_nameless(wish, ground, lists)
        return None
    if lacks := ground.lacks(place.attribute):
        lists.absent.append(_left(wish, lacks))
        return None
    value = ground.spelled(place.attribute, place.vendor_value)
    if value is None:
        lists.absent.append(_left(wish, f"{place.vendor_value} is not a value that this machine's {place.attribute} takes"))
        return None
    now = _now(wish, place, ground)
    if now is not None and ground.same(place.attribute, now, value):
        if wish.done is False:
            lists.by_hand.append(_left(wish, "the BIOS says so already: a restart is due, or something overrides it"))
        return None
    if now is not None and (why := _no_way_back(place, now, ground)):
        lists.refused.append(_left(wish, why))
        return None
    if wish.others:
        lists.refused.append(_left(wish, _contradiction(wish)))
        return None
    if not wish.found and any(each.verdict == "waived" for each in wish.wanted):
        lists.by_hand.append(_left(wish, "waived: the site accepts it as it is"))
        return None
    return _weighed(wish, place, value, now, ground=ground, lists=lists)


def _no_way_back(place: Place, now: Scalar, ground: FirmwareState) -> str | None:
    """Return why a present value could not be written again; None where it could."""
    if why := ground.no_way_back(place.attribute or "", now):
        return f"it {why}"
    if ground.nameless(place.attribute or "", place.spoken.values()):
        cure = "give the attribute registry with a further --bios"
        return f"it is set to {now}, the menu's words; what the tools call that is not known: {cure}"
    return None


def _content(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> None:
    """Note what is as wanted already, so that nothing else moves it."""
    place = wish.place
    if place and place.attribute and place.vendor_value is not None and place.exact:
        now = ground.now(place.attribute)
        lists.content[place.attribute] = (place.vendor_value if now is None else now, wish)


def _now(wish: WantedSetting, place: Place, ground: FirmwareState) -> Scalar | None:
    """Return the present value in the vendor's word: as the BIOS says, or as its sheet calls what the system shows."""
    if ground.bios is not None:
        return ground.now(place.attribute or "")
    return place.spoken.get(wish.now) if wish.now is not None else None


def _contradiction(wish: WantedSetting) -> str:
    """Return the wishes that cannot both be met, each with who has it."""
    mine = f"{', '.join(dict.fromkeys(each.id for each in wish.speak))} wants {wish.value}"
    return ", ".join([mine, *(f"{other.id} wants {other.wanted}" for other in wish.others)])


def _weighed(
    wish: WantedSetting, place: Place, value: VendorValue, now: Scalar | None, *, ground: FirmwareState, lists: LeftOut
) -> Draft | None:
    """Return a draft, marked where it is one to look at twice, or list it where it is not asked for."""
    marks: list[Mark] = ["contested"] if wish.contested else []
    unknown = now is None or not wish.found
    marks += ["unknown"] if unknown else []
    small = wish.speak[0].severity in _SMALL
    if ground.order:
        marks += ["low"] if small and not wish.contested else []
    elif unknown and "unknown" not in ground.include:
        known = now is not None
        reason = f"it is set to {now}; whether that is wrong here is not known" if known else "its present value is not known"
        lists.look_up.append(_left(wish, reason).model_copy(update={"now": now}))
        return None
    elif wish.contested and "contested" not in ground.include:
        lists.contested.append(_left(wish, dissent(wish)).model_copy(update={"now": now}))
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


def accompanied(drafts: list[Draft], lists: LeftOut) -> list[Draft]:
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


def dissent(wish: WantedSetting) -> str:
    """Return why a finding is left to a person: the guides that want otherwise, or that it is a matter of choice."""
    others = [f"{guide.says} [{guide.ref}]" for guide in wish.guides if guide.otherwise]
    return f"a guide wants otherwise: {'; '.join(others)}" if others else "worth considering, and no fault"


def _left(wish: WantedSetting, reason: str) -> NotWritten:
    place = wish.place
    named = place is not None and place.attribute is not None and place.exact
    word = place.vendor_value if place and named and wish.value is not None else None
    return NotWritten(
        title=wish.title,
        wanted=f"{place.attribute}={word}" if place and word is not None else wish.text,
        reason=reason,
        rules=wish.rules,
        setting=wish.setting,
        attribute=place.attribute if place and named else None,
        group=place.group if place else None,
        menu=wish.menu,
        says=wish.claim,
    )


def _list_nameless(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> None:
    """List a wish without an attribute: as absent where the BIOS was given and has none of that beginning."""
    stem = wish.place.attribute if wish.place and wish.place.vendor_value is not None else None
    if wish.value is None:
        lists.by_hand.append(_left(wish, "the machine decides the value"))
    elif stem is None:
        lists.by_hand.append(_left(wish, "its name or value is not known here"))
    elif ground.bios is None:
        why = f"the attribute's name is not certain here ({stem}...): give the BIOS attributes with --bios"
        lists.by_hand.append(_left(wish, why))
    elif any(name.startswith(stem.partition("{n}")[0]) for name in ground.present):
        lists.by_hand.append(_left(wish, f"which of the attributes {stem.replace('{n}', 'N')}... is meant is not certain here"))
    else:
        lists.absent.append(_left(wish, f"the BIOS attributes given have no {stem.replace('{n}', 'N')}..."))
