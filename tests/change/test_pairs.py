"""Machines that differ only in a setting: the transform of one is the other."""

from itertools import product

import pytest

from tests.change.changed import after, layout, machine, topology
from tests.examples import a_third
from tests.machines.product import Choice, choices

PLAIN = [choice for choice in choices() if not choice.adjacent]
ADJACENT = [choice for choice in choices() if choice.adjacent]


def wish_of(choice: Choice) -> str:
    """Return the assumption that makes a machine of the product."""
    l3, smt = ("on" if state else "off" for state in (choice.l3_as_numa, choice.smt))
    return f"nps={choice.nps},l3-as-node={l3},smt={smt},enumeration={'round-robin' if choice.round_robin else 'linear'}"


def must_match(one: str, other: str, wish: str) -> None:
    """Transform a machine and compare it with the real one: topology, distances, cut, numbering, SMT."""
    found, real = after(machine(one), wish), machine(other)
    assert topology(found) == topology(real)
    assert layout(found) == layout(real)


@pytest.mark.parametrize("one", a_third(PLAIN), ids=lambda choice: choice.name)
def test_every_setting_of_a_rome_leads_to_every_other(one: Choice) -> None:
    """From each of 24 settings of NPS, L3 as NUMA node, SMT and enumeration to each other: as the other is generated."""
    for other in PLAIN:
        must_match(one.name, other.name, wish_of(other))


@pytest.mark.parametrize(("one", "other"), list(product(ADJACENT, repeat=2)), ids=lambda choice: choice.name)
def test_adjacent_threads_stay_adjacent(one: Choice, other: Choice) -> None:
    """A new cut leaves second threads beside the first, and SMT off closes the gaps in the numbers."""
    must_match(one.name, other.name, f"nps={other.nps}")
    must_match(one.name, Choice(other.nps).name, f"nps={other.nps},smt=off")


C6525 = ("7702-nps1", "7702-nps2", "7702-nps4", "7702-l3numa", "7402-nps1", "7402-nps4")
SEEDS = [
    *(
        (f"b-c6525-2x{a}", f"b-c6525-2x{b}", "nps=1,l3-as-node=on" if b.endswith("numa") else f"nps={b[-1]},l3-as-node=off")
        for a, b in product(C6525, repeat=2)
        if a[:4] == b[:4]
    ),
    ("b-c6525-2x7702-nps4", "b-c6525-2x7702-nps4-smt", "smt=on"),
    ("b-c6525-2x7702-nps4-smt", "b-c6525-2x7702-nps4", "smt=off"),
    ("c-c6320-2x2660v3", "c-c6320-2x2660v3-cod", "cod=on"),
    ("c-c6320-2x2660v3-cod", "c-c6320-2x2660v3", "cod=off"),
    ("a-r7425-2x7601-dell", "a-r7425-2x7601-dell-smt", "smt=on"),
    ("a-r7425-2x7601-dell-smt", "a-r7425-2x7601-dell", "smt=off"),
    ("a-r7425-2x7601-dell", "a-r7425-2x7601-linear", "enumeration=linear"),
    ("a-r7425-2x7601-nodeorder", "a-r7425-2x7601-linear", "enumeration=linear"),
    ("a-r7425-2x7601-linear", "a-r7425-2x7601-dell", "enumeration=round-robin"),
    ("smt-disabled", "epyc-nps4-linear", "smt=off"),
    ("smt-disabled", "epyc-nps4-smt-linear", "smt=on"),
    ("nps0", "epyc-nps1-linear", "nps=1"),
]


@pytest.mark.parametrize(("one", "other", "wish"), SEEDS)
def test_the_articles_systems_lead_to_each_other(one: str, other: str, wish: str) -> None:
    """C6525, C6320 and R7425: the transform of one setting is the machine generated with the other."""
    must_match(one, other, wish)


@pytest.mark.parametrize(
    ("one", "other", "wish"),
    [
        ("epyc-nps4-linear", "epyc-nps1-linear", "nps=1"),
        ("epyc-nps4-l3numa-linear", "epyc-nps4-linear", "l3-as-node=off"),
        ("b-c6525-2x7702-nps4", "b-c6525-2x7702-nps2", "nps=2"),
        ("c-c6320-2x2660v3-cod", "c-c6320-2x2660v3", "cod=off"),
    ],
)
def test_a_device_is_placed_where_nodes_are_joined(one: str, other: str, wish: str) -> None:
    """From a finer cut to a coarser one the node of every adapter and interface is known, and right."""
    found, real = after(machine(one), wish), machine(other)
    assert [h.locality for h in found.hcas or ()] == [h.locality for h in real.hcas or ()]
    assert [n.locality for n in found.nics or ()] == [n.locality for n in real.nics or ()]
    assert [p.locality for p in found.pci or ()] == [p.locality for p in real.pci or ()]
