"""Whether attributes may be written as somebody edited them: each that may not, with the reason and the cure."""

from collections.abc import Iterator, Mapping
from typing import Final

from advisor.advice.model.bios_change import CODE, out_of_reach
from advisor.advice.model.vendor import VendorValue
from advisor.advice.plan.draft import FLAG_WORDS, FirmwareState, Settled, holds, named, settle
from advisor.errors import did_you_mean
from advisor.machine.firmware import FLAGS, Attribute, Registry, Scalar

Wanted = Mapping[str, VendorValue]

_FREE: Final = ("custom", "custommode", "manual")
"""What vendors call the value of a profile that lets go of what it holds."""
_TRIES: Final = 12


def refusals(wanted: Wanted, ground: FirmwareState) -> dict[str, str]:
    """Return why attributes may not be written: attribute -> the reason and the cure; {} where all may.

    A value that was read is a legal way back, whatever the registry says of it.
    """
    found = {name: why for name, value in wanted.items() if (why := _alone(name, value, ground))}
    if found or ground.registry is None:
        return found
    changing = {name: value for name, value in wanted.items() if not ground.same(name, ground.now(name), value)}
    return dict(_together(changing, ground, ground.registry)) if changing else {}


def _alone(name: str, value: VendorValue, ground: FirmwareState) -> str | None:
    """Return why an attribute may not have a value, whatever else is written."""
    known = ground.registry.attributes.get(name) if ground.registry else None
    if what := out_of_reach(name, known.shown if known else None):
        return f"{what}: out of reach of any plan"
    if known is not None and known.kind == "Password":
        return "passwords and keys: out of reach of any plan"
    if ground.registry is None and CODE.fullmatch(name):
        return f"what {name} is, only its attribute registry says, and there is none: nothing is changed blindly"
    if ground.bios is not None and name not in ground.present:
        near = did_you_mean(name, ground.present, "see advisor bios read", cutoff=0.8)
        return f"this machine's BIOS does not have it; {near}"
    if lacks := ground.lacks(name):
        return lacks
    now = ground.now(name)
    if type(now) is type(value) and now == value:
        return None
    if known is not None and not ground.takes(name, value):
        return f"{_worded(value)} is not a value that it takes: {legal(known)}"
    kinds = {type(now), type(value)}
    if known is None and now is not None and len(kinds) > 1:
        return f"{_worded(value)} is of another kind than its present value {_worded(now)}"
    return None


def legal(known: Attribute) -> str:
    """Return what an attribute takes, in words."""
    if known.values:
        return ", ".join(each.name if each.name == each.shown else f"{each.name} ({each.shown})" for each in known.values[:16])
    if known.kind == "Integer":
        low, high = (str(each) if each is not None else "" for each in (known.lower, known.upper))
        return f"a whole number, {low}..{high}" if low or high else "a whole number"
    return {"Boolean": "true or false", "String": "a text"}.get(known.kind, known.kind)


def _worded(value: Scalar | None) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _together(wanted: Wanted, ground: FirmwareState, registry: Registry) -> Iterator[tuple[str, str]]:
    """Yield what the dependencies keep from being written, or set to something else."""
    after = settle(registry, ground.present, wanted)
    for name, value in wanted.items():
        if flags := after.refuses(name):
            yield name, _held(name, flags[0], wanted, after, ground=ground, registry=registry)
        elif after.values.get(name) != named(registry, name, value):
            yield name, _overwritten(name, after, registry)


def _held(name: str, flag: str, wanted: Wanted, after: Settled, *, ground: FirmwareState, registry: Registry) -> str:
    """Return by what an attribute is held, and what lets go of it."""
    rule = next(
        (
            each
            for each in registry.dependencies
            if (each.target == name and each.property == flag and (each.value is True)) and holds(each, registry, after)
        ),
        None,
    )
    if rule is None:
        return f"it is {FLAG_WORDS[flag]}"
    holders = [term.attribute for term in rule.terms if term.property not in FLAGS]
    said = " and ".join(f"{each}={after.values.get(each)}" for each in dict.fromkeys(holders))
    if not said:
        return f"it is {FLAG_WORDS[flag]}"
    for holder in dict.fromkeys(holders):
        if (value := _free(name, holder, wanted, ground=ground, registry=registry)) is not None:
            return f"{said} makes it {FLAG_WORDS[flag]}: set {holder} to {value} first (the same plan may do both)"
    return f"{said} makes it {FLAG_WORDS[flag]}"


def _free(name: str, holder: str, wanted: Wanted, *, ground: FirmwareState, registry: Registry) -> str | None:
    """Return a value of what holds an attribute that lets go of it; those that vendors mean for that come first."""
    known = registry.attributes.get(holder)
    choices = [each.name for each in known.values] if known and not out_of_reach(holder) else []
    ranked = sorted(choices, key=lambda each: each.lower().replace(" ", "") not in _FREE)
    for value in ranked[:_TRIES]:
        after = settle(registry, ground.present, {**wanted, holder: value})
        if not after.refuses(name) and after.values.get(name) == named(registry, name, wanted[name]):
            return value
    return None


def _overwritten(name: str, after: Settled, registry: Registry) -> str:
    """Return what sets an attribute to something else."""
    if name in after.contradicted:
        return f"the attribute registry contradicts itself about it: {after.word(name)}; leave it out, or what it hangs on"
    value = after.values.get(name)
    rules = [rule for rule in registry.dependencies if rule.target == name and rule.property == "CurrentValue"]
    rule = next((each for each in rules if named(registry, name, each.value) == value and holds(each, registry, after)), None)
    if rule is None:
        return f"the attribute registry sets it to {value}"
    said = " and ".join(f"{each}={after.values.get(each)}" for each in dict.fromkeys(term.attribute for term in rule.terms))
    return f"{said} sets it to {value}: ask for one of the two"
