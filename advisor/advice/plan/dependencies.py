"""Adds what a write needs beside it, joins or refuses writes of one attribute, and orders them as the registry asks."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from advisor.advice.model.vendor import Lock, Require, VendorValue, is_named
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut
from advisor.advice.plan.registry import Settled, moved, named, settle
from advisor.machine.firmware import Registry, Scalar


def with_needs(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts with what each needs first; one whose need cannot be met is listed with the reason."""
    served = {entry.attribute for entries in ground.vendor.settings.values() for entry in entries if entry.attribute}
    kept: list[Draft] = []
    for draft in drafts:
        more = _all_met(draft, drafts, served, ground=ground, lists=lists)
        if more is not None:
            there = {each.attribute for each in (*drafts, *more)}
            needed = [need.attribute for need in _needs(draft, ground) if need.attribute in there]
            kept += [*more, replace(draft, first=tuple(dict.fromkeys((*draft.first, *needed))))]
    return consistent(one_each(kept, lists), lists)


def _needs(draft: Draft, ground: FirmwareState) -> list[Require]:
    """Return what a draft needs beside it; the free value of a profile is the profile's own matter."""
    needs = [need for wish in draft.wishes if wish.place for need in wish.place.requires]
    return [need for need in needs if not any(frees(lock, need) for lock in ground.locks)]


def frees(lock: Lock, need: Require) -> bool:
    """Return whether a need is that a profile is set to its free value."""
    return is_named(lock.attribute, need.attribute) and need.value == lock.value


def _all_met(draft: Draft, drafts: list[Draft], served: set[str], *, ground: FirmwareState, lists: LeftOut) -> list[Draft] | None:
    """Return the writes that meet all needs of a draft; None where one cannot be met."""
    more: list[Draft] = []
    for need in _needs(draft, ground):
        found = _met(draft, need, drafts, served, ground=ground, lists=lists)
        if found is None:
            return None
        more += found
    return more


def consistent(drafts: list[Draft], lists: LeftOut) -> list[Draft]:
    """Return the drafts without those whose need has gone, and without needs that nobody has any more."""
    while True:
        there = {draft.attribute for draft in drafts}
        lone = [draft for draft in drafts if not there.issuperset(draft.first)]
        lists.refuse(lone, lambda each: f"needs {' and '.join(each.first)} first, which cannot be written")
        kept = [draft for draft in drafts if draft not in lone]
        needed = {name for draft in kept for name in draft.first}
        kept = [draft for draft in kept if draft.kind != "first" or draft.wishes or draft.attribute in needed]
        if len(kept) == len(drafts):
            return kept
        drafts = kept


def _met(
    draft: Draft, need: Require, drafts: list[Draft], served: set[str], *, ground: FirmwareState, lists: LeftOut
) -> list[Draft] | None:
    """Return the writes that meet a need, () where it is met, None where it cannot be."""
    now, value = ground.now(need.attribute), ground.spelled(need.attribute, need.value)
    if now is not None and ground.same(need.attribute, now, need.value):
        return []
    other = next((each for each in drafts if each.attribute == need.attribute), None)
    same = other is not None and ground.same(need.attribute, other.value, need.value)
    if other is not None and not same:
        lists.refuse([draft], lambda _: f"needs {need.attribute}={need.value}, and {other.told()} is wanted")
    elif other is not None and (other.active or not draft.active):
        return []
    elif other is None and (value is None or ground.lacks(need.attribute)):
        lacks = ground.lacks(need.attribute) or "this machine does not take that"
        lists.absent.append(draft.left(f"needs {need.attribute}={need.value}: {lacks}"))
    elif other is not None or need.attribute in served:
        lists.refuse([draft], lambda _: f"it counts only with {need.attribute}={need.value}, which no finding wants")
    elif value is not None:
        return _first(draft, need, value, now, ground=ground, lists=lists)
    return None


def _first(
    draft: Draft, need: Require, value: VendorValue, now: Scalar | None, *, ground: FirmwareState, lists: LeftOut
) -> list[Draft] | None:
    """Return the write that goes before another; None where its present value is not known, and was not asked for."""
    first = Draft(
        attribute=need.attribute,
        value=value,
        now=now,
        kind="first",
        group=need.group or draft.group,
        label=need.label or need.attribute,
        menu=draft.menu,
        why=(f"needed first: {need.because}",),
        active=draft.active,
        marks=("unknown",) if now is None else (),
        verified=ground.vendor.shows_need(need, ground.platform),
    )
    if now is not None or ground.order or "unknown" in ground.include:
        return [first]
    lists.look_up.append(draft.left(f"needs {need.attribute}={need.value} first, whose present value is not known"))
    lists.look_up.append(first.left(f"{draft.attribute} needs it, and its present value is not known"))
    return None


def one_each(drafts: Iterable[Draft], lists: LeftOut) -> list[Draft]:
    """Return one draft for each attribute: equal values are joined, different ones refused with both wishes named."""
    by_attribute: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_attribute.setdefault(draft.attribute, []).append(draft)
    kept = []
    for found in by_attribute.values():
        if len({(type(each.value), each.value) for each in found}) > 1:
            lists.refuse(found, lambda each, found=found: _both(each, found))  # type: ignore[misc] # mypy infers no lambda with a default
            continue
        joined = found[0]
        for each in found[1:]:
            joined = joined.joined(each)
        kept.append(joined)
    return kept


def _both(draft: Draft, found: list[Draft]) -> str:
    return f"{' and '.join(each.told() for each in found if each is not draft)} is wanted of the same attribute"


def unclaimed(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts without those of attributes for which somebody else's value waits: it would be lost unseen."""
    waiting = ground.bios.changed() if ground.bios else {}
    others = {name: value for name, value in waiting.items() if value is not None}
    lost = [
        each
        for each in drafts
        if each.attribute in others and not ground.same(each.attribute, others[each.attribute], each.value)
    ]
    why = "waits for the next restart already: let it take effect, or clear it, first"
    lists.refuse(lost, lambda each: f"{each.attribute}={others[each.attribute]} {why}")
    return consistent([each for each in drafts if each not in lost], lists)


_KINDS = ("first", "wanted", "again")


def ordered(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the writes in order; those that the registry would refuse or another write would undo are listed as refused."""
    drafts = consistent(drafts, lists)
    if ground.registry is not None:
        drafts = _allowed(drafts, ground, ground.registry, lists)
    active = _by_needs([draft for draft in drafts if draft.active])
    if ground.registry is not None:
        active = _by_registry(active, ground, ground.registry, lists)
    return [*active, *_by_needs([draft for draft in drafts if not draft.active])]


def _by_needs(drafts: list[Draft]) -> list[Draft]:
    """Return what others need first before them, else as they stand."""
    left = sorted(drafts, key=lambda draft: _KINDS.index(draft.kind))
    done: list[Draft] = []
    while left:
        names = {draft.attribute for draft in left}
        ready = next((draft for draft in left if not names.intersection(draft.first)), left[0])
        done.append(ready)
        left.remove(ready)
    return done


def _allowed(drafts: list[Draft], ground: FirmwareState, registry: Registry, lists: LeftOut) -> list[Draft]:
    """Return the writes that stand together: none read-only once all are written, none undone by another's side effect."""
    while True:
        active = [draft for draft in drafts if draft.active]
        wanted = {draft.attribute: draft.value for draft in active}
        after = settle(registry, ground.present, wanted)
        bad = next(
            ((draft, why) for draft in reversed(active) if (why := _refusal(draft, after, active, ground, registry))), None
        )
        if bad is None:
            return drafts
        lists.refused.append(bad[0].left(bad[1]))
        drafts = consistent([draft for draft in drafts if draft is not bad[0]], lists)


def _refusal(draft: Draft, after: Settled, active: list[Draft], ground: FirmwareState, registry: Registry) -> str | None:
    """Return why a write cannot stand; None where it can."""
    others = [each.told() for each in active if each is not draft]
    beside = f" beside {', '.join(others[:3])}" if others else ""
    if flags := after.refuses(draft.attribute):
        return f"the attribute registry makes it {' and '.join(flags)}{beside}"
    if after.values.get(draft.attribute) != named(registry, draft.attribute, draft.value):
        return f"the attribute registry sets it to {after.word(draft.attribute)}{beside}"
    upset = moved(registry, ground.present, {draft.attribute: draft.value})
    wanted = {each.attribute for each in active}
    for attribute, value in upset.items():
        mine = next((each for each in active if each.attribute == attribute and each is not draft), None)
        if mine is not None and draft.kind == "wanted" and mine.serious and not draft.serious:
            return f"it would set {attribute} to {_word(value)}, and {mine.told()} is wanted"
    lost = _lost(draft, upset.keys() - wanted, ground, registry)
    return f"it would change {lost}, which could not be put back" if lost else None


def _lost(draft: Draft, upset: Iterable[str], ground: FirmwareState, registry: Registry) -> str | None:
    """Return what changes along with a write, does not go back with it, and could not be written back after it.

    What is read-only once the write is taken back is the firmware's to bring back: a profile has its own settings.
    """
    present = {name: value for name in sorted(upset) if (value := ground.present.get(name)) is not None}
    if draft.now is None or not present:
        return None
    after = settle(registry, ground.present, {draft.attribute: draft.value}).values
    again = settle(registry, after, {draft.attribute: draft.now})
    for name, own in present.items():
        if ground.no_way_back(name, own) and again.values.get(name) != own and not again.refuses(name):
            return f"{name} from {own} to {_word(after.get(name))}"
    return None


def _word(value: Scalar | None) -> str:
    return "what is not known" if value is None else str(value)


def _by_registry(drafts: list[Draft], ground: FirmwareState, registry: Registry, lists: LeftOut) -> list[Draft]:
    """Return the writes so that each may be written when its turn comes, and what one moves is written after it."""
    values: dict[str, Scalar | None] = dict(ground.present)
    left, done = list(drafts), list[Draft]()
    while left:
        flags = settle(registry, values, {})
        free = [draft for draft in left if not flags.refuses(draft.attribute)]
        ready = [draft for draft in free if not _moved_by_others(draft, free, values, registry)]
        stands = ((draft, after) for draft in (ready or free) if (after := _standing(draft, values, registry)))
        found = next(stands, None)
        if found is None:
            lists.refuse(left, lambda each: f"the attribute registry keeps {each.attribute} from being written")
            return consistent(done, lists)
        values = found[1]
        done.append(found[0])
        left.remove(found[0])
    return done


def _standing(draft: Draft, values: Mapping[str, Scalar | None], registry: Registry) -> dict[str, Scalar | None] | None:
    """Return the values once a write was made; None where a dependency takes it back at once."""
    after = dict(settle(registry, values, {draft.attribute: draft.value}).values)
    return after if after.get(draft.attribute) == named(registry, draft.attribute, draft.value) else None


def _moved_by_others(draft: Draft, free: list[Draft], values: Mapping[str, Scalar | None], registry: Registry) -> bool:
    others = (each for each in free if each is not draft)
    return any(draft.attribute in moved(registry, values, {each.attribute: each.value}) for each in others)
