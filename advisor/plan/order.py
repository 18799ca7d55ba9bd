"""Puts writes in the order that their needs and the registry's dependencies ask for, and drops what the registry refuses."""

from collections.abc import Mapping

from advisor.model.hardware.firmware import Registry, Scalar
from advisor.plan.draft import Draft, Lists
from advisor.plan.ground import Ground
from advisor.plan.needs import consistent
from advisor.plan.registry import Settled, moved, named, settle

_KINDS = ("first", "wanted", "again")


def ordered(drafts: list[Draft], ground: Ground, lists: Lists) -> list[Draft]:
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


def _allowed(drafts: list[Draft], ground: Ground, registry: Registry, lists: Lists) -> list[Draft]:
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


def _refusal(draft: Draft, after: Settled, active: list[Draft], ground: Ground, registry: Registry) -> str | None:
    """Return why a write cannot stand; None where it can."""
    others = [each.told() for each in active if each is not draft]
    beside = f" beside {', '.join(others[:3])}" if others else ""
    if flags := after.refuses(draft.attribute):
        return f"the attribute registry makes it {' and '.join(flags)}{beside}"
    if after.values.get(draft.attribute) != named(registry, draft.attribute, draft.value):
        return f"the attribute registry sets it to {after.values.get(draft.attribute)}{beside}"
    upset = moved(registry, ground.present, {draft.attribute: draft.value})
    for attribute, value in upset.items():
        mine = next((each for each in active if each.attribute == attribute and each is not draft), None)
        if mine is not None and draft.kind == "wanted" and mine.serious and not draft.serious:
            return f"it would set {attribute} to {value}, and {mine.told()} is wanted"
    return None


def _by_registry(drafts: list[Draft], ground: Ground, registry: Registry, lists: Lists) -> list[Draft]:
    """Return the writes so that each may be written when its turn comes, and what one moves is written after it."""
    values: dict[str, Scalar | None] = dict(ground.present)
    left, done = list(drafts), list[Draft]()
    while left:
        flags = settle(registry, values, {})
        free = [draft for draft in left if not flags.refuses(draft.attribute)]
        ready = next((draft for draft in free if not _moved_by_others(draft, free, values, registry)), next(iter(free), None))
        if ready is None:
            lists.refuse(left, lambda each: f"the attribute registry keeps {each.attribute} from being written")
            return consistent(done, lists)
        values = dict(settle(registry, values, {ready.attribute: ready.value}).values)
        done.append(ready)
        left.remove(ready)
    return done


def _moved_by_others(draft: Draft, free: list[Draft], values: Mapping[str, Scalar | None], registry: Registry) -> bool:
    others = (each for each in free if each is not draft)
    return any(draft.attribute in moved(registry, values, {each.attribute: each.value}) for each in others)
