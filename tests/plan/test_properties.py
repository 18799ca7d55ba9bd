"""For random machines, captures and wishes: no plan has two values, a profile beside what it overwrites, or no way back."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from advisor.advice.know.fixes import entries_of
from advisor.advice.know.vendors import settings as vocabulary
from advisor.advice.know.vendors import vendors
from advisor.advice.model.findings import Finding
from advisor.advice.model.plan import INCLUDES, Include, Plan
from advisor.advice.model.sheets import Vendor
from advisor.advice.plan.make import with_plan
from advisor.machine.hardware import Bios, Registry, Scalar
from tests.examples import examples
from tests.know.listed import asks, listed
from tests.plan.laws import broken
from tests.plan.made import choice, depends, plan, registry

MAKERS = ("dell", "hpe", "lenovo", "supermicro", "gigabyte", "hpe-cray-xd")
ODD: tuple[Scalar | None, ...] = (None, "NotAvailable", "Auto", "Enable", "$(id)", 7, True)


def allowed(vendor: Vendor, platform: str) -> dict[str, list[Any]]:
    """Return every attribute that a sheet names for a platform, with the values it knows."""
    found: dict[str, list[Any]] = {}
    for name in vendor.settings:
        for entry in entries_of(vendor, platform, name):
            attribute = entry.attribute or (f"{entry.prefix}_1A2B" if entry.prefix else None)
            if attribute:
                found.setdefault(attribute, []).extend([*entry.values.values(), *entry.reads, *([1, 65] if entry.passes else [])])
            for need in entry.requires:
                found.setdefault(need.attribute, []).extend([need.value, "Auto"])
    for lock in vendor.locks:
        for attribute in (*lock.of, *(each for sets in lock.sets.values() for each in sets)):
            found.setdefault(attribute, []).extend(sets[attribute] for sets in lock.sets.values() if attribute in sets)
        found.setdefault(lock.attribute, []).extend([lock.value, *lock.sets, *([lock.best] if lock.best else []), "Other"])
    return found


@some.composite
def wishes(draw: some.DrawFn, vendor: Vendor) -> list[Finding]:
    """Return findings of random rules for settings that the maker has, some of which contradict each other."""
    found = []
    profiles = {lock.attribute for lock in vendor.locks}
    held = {*profiles, *(name for lock in vendor.locks for name in lock.of)}
    some_held = [name for name, entries in vendor.settings.items() if any(entry.attribute in held for entry in entries)]
    whole = [name for name, entries in vendor.settings.items() if any(entry.attribute in profiles for entry in entries)]
    for at in range(draw(some.integers(0, 12))):
        name = draw(
            some.sampled_from(
                sorted(
                    draw(some.sampled_from([[*vendor.settings], some_held or [*vendor.settings], whole or [*vendor.settings]]))
                )
            )
        )
        setting = vocabulary()[name]
        values = [value for value in setting.values if value not in setting.only_read] or ["1", "65"]
        found.append(
            asks(
                f"rule-{at}",
                name,
                draw(some.sampled_from([*values, None])),
                draw(some.sampled_from([*["finding"] * 8, "unknown", "pass", "waived"])),
                severity=draw(some.sampled_from(["high", "medium", "low", "info"])),
            )
        )
    return found


@some.composite
def captures(draw: some.DrawFn, values: dict[str, list[Any]]) -> dict[str, Any] | None:
    """Return the attributes of a random BIOS, or that none were given."""
    if not draw(some.integers(0, 4)):
        return None
    rnd = draw(some.randoms(use_true_random=False))
    lacking = draw(some.sets(some.sampled_from(sorted(values)), max_size=4)) if values else set()
    odd = draw(some.dictionaries(some.sampled_from(sorted(values)), some.sampled_from(ODD), max_size=3)) if values else {}
    return {
        name: odd[name] if name in odd else rnd.choice(known or ["Auto"]) for name, known in values.items() if name not in lacking
    }


@some.composite
def registries(draw: some.DrawFn, values: dict[str, list[Any]]) -> Registry | None:
    """Return a random registry of those attributes: some lack values, some are locked, some move others."""
    if not draw(some.booleans()):
        return None
    lacking = draw(some.sets(some.sampled_from(sorted(values)), max_size=3)) if values else set()
    names = [name for name in values if name not in lacking]
    if not names:
        return None
    short = draw(some.sets(some.sampled_from(sorted(names)), max_size=3))
    attributes = [
        {"AttributeName": name, "Type": "Integer", "LowerBound": 0, "UpperBound": 255}
        if any(isinstance(each, int) and not isinstance(each, bool) for each in values[name])
        else choice(name, *dict.fromkeys(str(each) for each in values[name][name in short :]), ReadOnly=draw(some.booleans()))
        for name in names
    ]
    pick, prop = some.sampled_from(names), some.sampled_from(["ReadOnly", "GrayOut", "CurrentValue", "Hidden"])
    rules = []
    for _ in range(draw(some.integers(0, 12))):
        source, target, what = draw(pick), draw(pick), draw(prop)
        value = draw(some.sampled_from(values[target] or ["Auto"])) if what == "CurrentValue" else True
        how = draw(some.sampled_from(["EQU", "NEQ"]))
        rules.append(depends(target, what, value, (source, how, draw(some.sampled_from(values[source] or ["Auto"])))))
    return registry(attributes, rules)


@some.composite
def machines(draw: some.DrawFn) -> tuple[Plan, dict[str, Any] | None, Registry | None, tuple[Include, ...]]:
    """Return the plan of a random machine, and what it was made from."""
    vendor = vendors()[draw(some.sampled_from(MAKERS))]
    platform = draw(some.sampled_from(sorted({each for ids in vendor.generations.values() for each in ids})))
    values = allowed(vendor, platform)
    findings = draw(wishes(vendor))
    now = {
        want.setting: draw(some.sampled_from(sorted(vocabulary()[want.setting].values) or ["1"]))
        for finding in findings
        for want in finding.wants
        if draw(some.booleans())
    }
    bios, known = draw(captures(values)), draw(registries(values))
    include = tuple(word for word in INCLUDES if draw(some.booleans()))
    order = draw(some.integers(0, 3)) == 0 and bios is None
    made = plan(findings, now, vendor.id, platform, bios=bios, registry=known, include=include, order=order)
    return made, bios, known, include


@examples(400)
@given(machines())
def test_no_plan_has_two_values_a_profile_beside_what_it_overwrites_or_no_way_back(
    drawn: tuple[Plan, dict[str, Any] | None, Registry | None, tuple[Include, ...]],
) -> None:
    """Nor does one write what is not there, is not legal, or is of a current value that nobody knows."""
    made, bios, known, include = drawn
    assert broken(made, Bios(attributes=bios) if bios is not None else None, known, blind="unknown" in include) == []


@examples(60)
@given(machines())
def test_every_plan_dumps_reads_back_and_says_what_it_left(
    drawn: tuple[Plan, dict[str, Any] | None, Registry | None, tuple[Include, ...]],
) -> None:
    """A plan is one value; what it does not write has a reason each time, and the checklist can be told of it."""
    made = drawn[0]
    assert Plan.model_validate_json(made.model_dump_json()) == made
    lists = (*made.look_up, *made.contested, *made.absent, *made.by_hand, *made.refused)
    assert [each for each in lists if not each.reason] == []
    assert with_plan(listed([]), made, vendors()[made.vendor_id]).items == ()
