"""Adds what a write needs beside it, and joins or refuses writes of one attribute."""

from collections.abc import Iterable
from dataclasses import replace

from advisor.model.audit.vendor import Lock, Require, VendorValue, is_named
from advisor.model.hardware.firmware import Scalar
from advisor.plan.draft import Draft, Lists
from advisor.plan.ground import Ground


def with_needs(drafts: list[Draft], ground: Ground, lists: Lists) -> list[Draft]:
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


def _needs(draft: Draft, ground: Ground) -> list[Require]:
    """Return what a draft needs beside it; the free value of a profile is the profile's own matter."""
    needs = [need for wish in draft.wishes if wish.place for need in wish.place.requires]
    return [need for need in needs if not any(frees(lock, need) for lock in ground.locks)]


def frees(lock: Lock, need: Require) -> bool:
    """Return whether a need is that a profile stands at its free value."""
    return is_named(lock.attribute, need.attribute) and need.value == lock.value


def _all_met(draft: Draft, drafts: list[Draft], served: set[str], *, ground: Ground, lists: Lists) -> list[Draft] | None:
    """Return the writes that meet all needs of a draft; None where one cannot be met."""
    more: list[Draft] = []
    for need in _needs(draft, ground):
        found = _met(draft, need, drafts, served, ground=ground, lists=lists)
        if found is None:
            return None
        more += found
    return more


def consistent(drafts: list[Draft], lists: Lists) -> list[Draft]:
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
    draft: Draft, need: Require, drafts: list[Draft], served: set[str], *, ground: Ground, lists: Lists
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
    draft: Draft, need: Require, value: VendorValue, now: Scalar | None, *, ground: Ground, lists: Lists
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


def one_each(drafts: Iterable[Draft], lists: Lists) -> list[Draft]:
    """Return one draft for each attribute: equal values are joined, different ones refused with both wishes named."""
    by_attribute: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_attribute.setdefault(draft.attribute, []).append(draft)
    kept = []
    for found in by_attribute.values():
        if len({(type(each.value), each.value) for each in found}) > 1:
            lists.refuse(found, lambda each, found=found: _both(each, found))  # type: ignore[misc]
            continue
        joined = found[0]
        for each in found[1:]:
            joined = joined.joined(each)
        kept.append(joined)
    return kept


def _both(draft: Draft, found: list[Draft]) -> str:
    return f"{' and '.join(each.told() for each in found if each is not draft)} is wanted of the same attribute"
