"""What holds of every plan, whatever it was made of: asked of captures, of seeds and of random machines."""

from collections.abc import Iterator, Mapping

from advisor.advice.know.vendors import vendors
from advisor.advice.model.plan import Plan
from advisor.advice.model.sheets import is_named
from advisor.advice.plan.draft import named, settle
from advisor.machine.hardware import Bios, Registry, Scalar


def broken(plan: Plan, bios: Bios | None = None, registry: Registry | None = None, *, blind: bool = False) -> list[str]:
    """Return every law that a plan breaks; ``blind`` where unknown values were asked for."""
    found = [*_one_value(plan), *_profile_beside(plan), *_way_back(plan), *_lone_preferred(plan)]
    found += [*_present(plan, bios, registry)] if bios else []
    found += [] if blind or plan.order else [f"{c.attribute} of unknown value" for c in plan.writes if c.now is None]
    return found + ([*_legal(plan, bios.attributes if bios else {}, registry)] if registry else [])


def _one_value(plan: Plan) -> Iterator[str]:
    names = [change.attribute for change in plan.writes]
    yield from (f"{name} twice" for name in set(names) if names.count(name) > 1)


def _profile_beside(plan: Plan) -> Iterator[str]:
    """Yield profiles that stand beside what they overwrite; their free value is what lets those be written."""
    vendor = vendors()[plan.vendor_id]
    for change in plan.writes:
        beside = [each.attribute for each in plan.writes if each is not change]
        for lock in vendor.locks:
            if is_named(lock.attribute, change.attribute) and change.value != lock.value:
                yield from (f"{change.attribute} beside {name}" for name in beside if any(is_named(of, name) for of in lock.of))
        for once in vendor.one_time:
            if change.attribute == once.attribute and change.value != once.rest:
                yield f"{change.attribute} writes others once"


def _lone_preferred(plan: Plan) -> Iterator[str]:
    """Yield preferred I/O that is switched on while its bus is left."""
    off = {entry.values.get("off") for entry in vendors()[plan.vendor_id].settings.get("io.preferred", ())}
    on = any("io.preferred" in change.settings and change.value not in off for change in plan.writes)
    lists = (*plan.look_up, *plan.contested, *plan.absent, *plan.by_hand, *plan.refused)
    if on and any(left.setting == "io.preferred_bus" for left in lists):
        yield "preferred I/O without its bus"


def _way_back(plan: Plan) -> Iterator[str]:
    for change in plan.writes:
        if not change.back or (change.now is not None and change.back[0].value != change.now):
            yield f"{change.attribute} has no way back"


def _present(plan: Plan, bios: Bios, registry: Registry | None) -> Iterator[str]:
    """Yield what is not there, and what is not so; a file may have the menu's words of what is written by name."""
    shown = vendors()[plan.vendor_id].shown
    for change in plan.writes:
        there = bios.attributes.get(change.attribute)
        if there is None:
            yield f"{change.attribute} is not there"
        own = named(registry, change.attribute, there) if registry else there
        names = {there, own, *(name for name, word in shown.get(change.attribute, {}).items() if word == there)}
        if change.now is not None and change.now not in names:
            yield f"{change.attribute} is not set to {change.now}"


def _legal(plan: Plan, present: Mapping[str, Scalar | None], registry: Registry) -> Iterator[str]:
    """Yield what a registry refuses: of each write when its turn comes, and of all of them together."""
    values: dict[str, Scalar | None] = dict(present)
    for change in plan.writes:
        known = registry.attributes.get(change.attribute)
        if known is None or not known.takes(change.value):
            yield f"{change.attribute}={change.value} is not legal"
        if change.now is not None and known is not None and not known.takes(change.now):
            yield f"{change.attribute} cannot go back to {change.now}"
        if flags := settle(registry, values, {}).refuses(change.attribute):
            yield f"{change.attribute} is {flags} when its turn comes"
        values = dict(settle(registry, values, {change.attribute: change.value}).values)
        if values[change.attribute] != named(registry, change.attribute, change.value):
            yield f"{change.attribute} is taken back at once when its turn comes"
    after = settle(registry, present, plan.attributes)
    for change in plan.writes:
        if after.refuses(change.attribute) or after.values[change.attribute] != named(registry, change.attribute, change.value):
            yield f"{change.attribute} does not stand beside the others"
