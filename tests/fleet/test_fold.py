"""A node as a fleet sees it: every fact that machines are compared by is in it once, and nothing else is."""

import re
from collections import Counter, defaultdict

import pytest

from advisor.fleet.fold import Fact, fold
from advisor.machine.fact import TOLD_ELSEWHERE, Section, comparable
from advisor.machine.hardware import Bios
from tests.examples import a_third
from tests.machines.catalogue import MACHINES
from tests.machines.read import machine

APART = tuple(section for section in TOLD_ELSEWHERE if section is not Section.BIOS)
LAYOUT = re.compile(
    r"memory\.dimms\.parts|numa\.(partitioning|nodes|distances|memory\.\d+)|cpu\.(numbering|smt)|sockets|cores|cpus\.offline|l3\.groups|boot\..*"
)
"""What the layout says in a word, whose DIMMs they are, and the options of the kernel's command line by their names."""


NO_FACT = re.compile(r"kernel\.cmdline|memory\.dimms\..*\.(maker|part)|.*\.(address|upstream|bottleneck)")
"""What is told otherwise, or only says where a device is."""
PLACED = re.compile(r"(pci|gpus)\.(?:\w+\.)?(?:node[\d,]+|card|[\da-f]{4}:[\da-f:]+\.\w+)(?:\.\d+(?=\.|$))?")


@pytest.mark.parametrize("name", a_third(sorted(MACHINES)))
def test_nothing_that_is_compared_is_lost(name: str) -> None:
    """Expanded, a folded node has each fact of its machine, devices by their places."""
    compared = [each for each in comparable(machine(name), but=APART) if not each.declared.key]
    named = (_renamed(each.name, each.elements) for each in compared if not NO_FACT.fullmatch(each.name))
    found = fold(machine(name)).facts
    there = {fact for fact, each in found.items() if each.key == "there"}
    assert Counter(map(_tail, {*found} - there - {fact for fact in found if LAYOUT.fullmatch(fact)})) == Counter(
        map(_tail, named)
    )


def _renamed(name: str, elements: tuple[str, ...]) -> str:
    """Return a fact whose device is known by its address without that."""
    return name.replace(elements[0], elements[0].partition(".")[0] + ".*") if PLACED.match(name) else name


def _tail(name: str) -> str:
    """Return a fact whose device is called by its place without that."""
    return PLACED.sub(lambda found: f"{found[1]}.*", name)


def test_equal_digests_are_equal_facts() -> None:
    """Over all machines: a part with the same digest has the same facts, and one with other facts another digest."""
    parts: dict[bytes, set[frozenset[tuple[str, object]]]] = defaultdict(set)
    facts: dict[frozenset[tuple[str, object]], set[bytes]] = defaultdict(set)
    for name in MACHINES:
        for part in fold(machine(name)).parts.values():
            own = frozenset((fact, repr(each.key)) for fact, each in part.facts.items())
            parts[part.digest].add(own)
            facts[own].add(part.digest)
    assert ({len(each) for each in parts.values()}, {len(each) for each in facts.values()}) == ({1}, {1})


def test_bios_attributes_are_facts_by_their_own_names_and_what_waits_is_one() -> None:
    """Values as they are, the menu's other words for them left out; of pending values those that differ."""
    bios = Bios(
        attributes={"Smt": "Off", "Watts": 280, "Gone": None},
        pending={"Smt": "On", "Watts": 280},
        also={"Smt": "Disabled"},
        registry="R1",
    )
    facts = fold(machine("b-c6525-2x7702-nps1").model_copy(update={"bios": bios})).facts
    own = {name: fact for name, fact in facts.items() if name.startswith("bios.")}
    assert own == {
        "bios.Smt": Fact("Off", "Off"),
        "bios.Watts": Fact(280, "280"),
        "bios.registry": Fact("R1", "R1"),
        "bios.pending": Fact("Smt=On", "Smt=On"),
    }
