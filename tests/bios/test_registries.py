"""What the product says of random writes, beside an evaluation of the registries that shares nothing with it."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from advisor.advice.plan.draft import moved, named, settle, static
from advisor.machine.hardware import Registry, Scalar
from advisor.machine.sources.redfish import bios_of, registry_of
from tests.bios.admin import Admin
from tests.bios.machines import ABSENT, PRESENT, Machine, captured, own
from tests.bios.makers import MAKERS
from tests.bios.registry_oracle import Oracle
from tests.bios.wire import Rack
from tests.examples import ALL

OWN = ("dell", "hpe", "lenovo", "supermicro", "ami", "rome")
REAL = {"dell": 588, "hpe": 723, "lenovo": 95, "supermicro": 350}
"""Dependencies of each real registry."""

Wish = dict[str, Any]


class Judged:
    """One machine, with what the product and the oracle make of its registry."""

    def __init__(self, machine: Machine) -> None:
        self.oracle = Oracle(machine.registry)
        self.registry: Registry = registry_of(machine.registry, "registry")
        bios = bios_of({"Attributes": machine.attributes}, "bios")
        self.present: Mapping[str, Scalar | None] = {name: value for name, value in bios.attributes.items() if value is not None}
        rules = self.oracle.rules
        sources = {term["MapFromAttribute"] for rule in rules for term in rule["MapFrom"]}
        self.others = sorted(set(self.present) & set(self.oracle.attributes) - self.oracle.endless())
        self.touched = sorted((sources | {rule["MapToAttribute"] for rule in rules}) & set(self.others))

    def wishes(self, seed: int) -> Iterator[Wish]:
        """Yield random writes, mostly of attributes that dependencies speak of, now and then of a value that is not legal."""
        chance = random.Random(seed)  # noqa: S311 - the same wishes every time
        while True:
            names = chance.sample(self.touched, min(chance.choice([1, 1, 2, 2, 3, 4, 6]), len(self.touched)))
            if chance.random() < 0.2:
                names.append(chance.choice(self.others))
            yield {name: self.value(name, chance) for name in names}

    def value(self, name: str, chance: random.Random) -> Any:
        """Return a value to write: legal, or seldom not."""
        about = self.oracle.attributes[name]
        if chance.random() < 0.02:
            return "Banana"
        if about["Type"] == "Enumeration":
            value = chance.choice(about["Value"])
            shown = value.get("ValueDisplayName") or value["ValueName"]
            return shown if chance.random() < 0.1 and self.oracle.named(name, shown) == value["ValueName"] else value["ValueName"]
        if about["Type"] == "Integer":
            return chance.choice([about.get("LowerBound") or 0, about.get("UpperBound") or 9, (about.get("UpperBound") or 9) + 1])
        return chance.choice([True, False]) if about["Type"] == "Boolean" else chance.choice([self.present[name], "", "x" * 300])

    def verdict(self, wish: Wish) -> str:
        """Return what the product says of a wish."""
        writes = {
            name: value
            for name, value in wish.items()
            if named(self.registry, name, value) != named(self.registry, name, self.present[name])
        }
        after = settle(self.registry, self.present, wish)
        for name, value in writes.items():
            known = self.registry.attributes[name]
            if static(self.registry, name) or not known.takes(value) or after.refuses(name):
                return "forbidden"
        overridden = [name for name, value in wish.items() if after.values[name] != named(self.registry, name, value)]
        return "forbidden" if overridden else "allowed"

    def moves(self, wish: Wish) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what moves along with a wish, to the product and to the oracle."""
        return moved(self.registry, self.present, wish), self.oracle.moved(self.present, wish)


@cache
def judged(name: str, *, real: bool) -> Judged:
    """Return a machine with both judges; it is made once."""
    return Judged(captured(name) if real else own(name))


def compared(machine: Judged, count: int, seed: int) -> tuple[Counter[str], list[tuple[Wish, str, str]]]:
    """Return how often each verdict came, and every wish of which the two say different things.

    As many wishes are drawn as it takes for the registry to decide so many. It may leave one open for two reasons alone: what is
    written hangs on an attribute that this machine does not show, or two of its rules want one attribute to be different things.
    """
    told: Counter[str] = Counter()
    differ = []
    hanging = machine.oracle.hanging(machine.present)
    for wish in machine.wishes(seed):
        theirs, ours = machine.oracle.verdict(machine.present, wish), machine.verdict(wish)
        told[theirs] += 1
        if theirs == "not told" and hanging.isdisjoint(wish) and not machine.oracle.settle({**machine.present, **wish})[2]:
            differ.append((wish, "not told, for no reason", ours))
        elif theirs not in (ours, "not told"):
            differ.append((wish, theirs, ours))
        elif theirs == "allowed" and told.total() % 10 == 0 and (pair := machine.moves(wish))[0] != pair[1]:
            differ.append((wish, str(pair[1]), str(pair[0])))
        if told["allowed"] + told["forbidden"] == count:
            break
    return told, differ


@pytest.mark.parametrize("name", OWN)
def test_a_registry_is_read_as_an_independent_evaluation_reads_it(name: str) -> None:
    """Of 300 random writes none passes that the registry forbids, none is refused that it allows, and the same moves along."""
    told, differ = compared(judged(name, real=False), 300, seed=15)
    assert (differ[:3], min(told["allowed"], told["forbidden"]) > 20) == ([], True), told


@pytest.mark.often
@pytest.mark.skipif(not PRESENT, reason=ABSENT)
@pytest.mark.parametrize("count", [400 if ALL else 100, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.matrix])])
@pytest.mark.parametrize(("name", "rules"), REAL.items())
def test_a_real_registry_is_read_as_an_independent_evaluation_reads_it(name: str, rules: int, count: int) -> None:
    """The same of 10,000 random writes to the whole registry of a real machine; of 400 in CI, of 100 each time."""
    machine = judged(name, real=True)
    told, differ = compared(machine, count, seed=2026)
    assert (len(machine.oracle.rules), len(machine.registry.dependencies)) == (rules, rules)
    assert (differ[:3], min(told["allowed"], told["forbidden"]) >= count / 25) == ([], True), told


ENDLESS = {
    "dell": {"SetBootOrderEn", "SetBootOrderDis", "SysPassword", "OldSysPassword", "SetupPassword", "OldSetupPassword"}
    | {f"HttpDev{number}{kind}" for number in range(1, 5) for kind in ("Uri", "v6Uri")},
    "hpe": {"PrebootNetworkProxy", "IpxeStartupUrl", "UefiShellStartupUrl"} | {f"UrlBootFile{each}" for each in ("", 2, 3, 4)},
    "lenovo": set(),
    "supermicro": set(),
}
"""What the wishes leave out: boot order, passwords, and where the network is booted from."""


@pytest.mark.skipif(not PRESENT, reason=ABSENT)
@pytest.mark.parametrize(("name", "endless"), ENDLESS.items())
def test_a_text_whose_expression_may_be_searched_for_ever_is_never_written(name: str, endless: set[str]) -> None:
    """Registries come from outside: a new text is refused where its expression repeats groups, though it may be a legal one."""
    machine = judged(name, real=True)
    assert machine.oracle.endless() == endless
    assert [each for each in endless if machine.registry.attributes[each].takes("")] == []


@pytest.mark.skipif(not PRESENT, reason=ABSENT)
def test_a_real_registry_publishes_the_flags_that_are_worked_out() -> None:
    """Every ReadOnly that an R750 publishes, and that dependencies of several terms decide, is what both make of its values.

    Addresses are left out: what is private is not read.
    """
    machine = judged("dell", real=True)
    several = {
        rule["MapToAttribute"]
        for rule in machine.oracle.rules
        if len(rule["MapFrom"]) > 1 and rule["MapToProperty"] == "ReadOnly"
    }
    asked = sorted(several & set(machine.present))
    published = {name for name in asked if machine.oracle.attributes[name]["ReadOnly"]}
    after = settle(machine.registry, machine.present, {})
    assert {name for name in asked if "ReadOnly" in after.refuses(name)} == published
    flags = machine.oracle.settle(machine.present)[1]
    assert {name for name in asked if flags[name, "ReadOnly"]} == published
    assert (len(asked), len(published)) == (21, 12)


ODD: dict[str, tuple[str, str | None, str]] = {
    "dell": (
        "/redfish/v1/Systems/System.Embedded.1/Bios/BiosRegistry",
        "BiosAttributeRegistry.v1_0_3",
        "BiosAttributeRegistry1.0",
    ),
    "supermicro": ("/registries/BiosAttributeRegistry.1.0.0.json", "BiosAttributeRegistry.v1_0_0", "BiosAttributeRegistry.1.0.0"),
    "grace": ("/redfish/v1/Registries/BiosAttributeRegistry/BiosAttributeRegistry", None, "BiosAttributeRegistry.1.0.0"),
    "dgx": (
        "/redfish/v1/Registries/BiosAttributeRegistry113.en-US.1.1.3.json",
        "BiosAttributeRegistry113.1.1.3",
        "x.en-US.1.1.3",
    ),
}
"""Where captured BMCs keep their registry, what their Bios calls it (Grace: nothing), and what its file does."""


@pytest.mark.parametrize(("place", "called", "filed"), ODD.values(), ids=ODD)
def test_a_registry_is_found_as_captured_bmcs_keep_it(
    place: str, called: str | None, filed: str, rack: Rack, admin: Admin
) -> None:
    """By its content, at any address of the BMC and under any name; Banana is refused by it."""
    machine = own("lenovo")
    bmc = rack.add(MAKERS["lenovo"](machine=Machine({**machine.paths, "registry": place}, *_rest(machine))))
    bmc.alter[bmc.paths["bios"]] = lambda told: {**told, "AttributeRegistry": called} if called else _unnamed(told)
    bmc.alter["/redfish/v1/Registries/Bios"] = lambda told: {**told, "Registry": filed}
    said = admin.types("bios", "read", "--json", bmc=bmc).document
    refused = admin.stages(bmc, admin.plan({"Processors_SNC": "Banana"}))
    assert (said["share"], refused.status, "not a legal value" in refused.err, bmc.writes()) == (1.0, 2, True, [])


def _rest(machine: Machine) -> tuple[Any, Any, Any]:
    return machine.system, machine.attributes, machine.registry


def _unnamed(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key != "AttributeRegistry"}
