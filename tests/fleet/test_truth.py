"""Fleets with planted oddities: every one is named, and nothing else is."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Fleet
from advisor.fleet.fold import Folded, Hardware
from advisor.fleet.kinds import Figure, Nodes, assemble, suspected
from advisor.machine.hosts.errands import expanded
from tests.fleet.planted import PLANTS, Planted, plant, untrue

PLAIN = Folded(Hardware(("Dell C6525",), ()), {})


def mistakes(made: Planted, fleet: Fleet) -> Iterator[str]:
    """Yield what a screen leaves out of the truth, and what it says beside it."""
    drifted = {each.fact: set(expanded(each.nodes)) for each in fleet.drift}
    for each in PLANTS:
        found, planted = drifted.get(each.drift or "", set()), made.plants.get(each.name, [])
        if found != set(planted):
            yield f"{each.name}: {sorted(found)} for {planted}"
    yield from (f"DRIFT {each.fact} {each.nodes}" for each in fleet.drift if not set(expanded(each.nodes)) <= made.odd)
    yield from untrue(fleet, made.rules)
    yield from (f"SPLIT {each.fact}" for each in fleet.split)
    if [each.node for each in fleet.slow] != made.slow:
        yield f"SLOW {[each.node for each in fleet.slow]} for {made.slow}"
    if {each.node: each.why for each in fleet.silent} != made.silent:
        yield f"silent: {fleet.silent}"
    kinds = [set(expanded(kind.nodes)) for kind in fleet.kinds]
    if sorted(kinds, key=len, reverse=True) != [set(made.kinds["haswell"]), set(made.kinds["naples"])]:
        yield f"kinds: {fleet.kinds}"
    yield from (f"ODD {each}" for each in fleet.odd)
    excluded, severe = (
        set(expanded(fleet.exclude)),
        {*made.slow, *made.silent, *made.plants.get("dimm", ()), *made.plants.get("port", ())},
    )
    if excluded != severe:
        yield f"exclude: {sorted(excluded ^ severe)}"


def test_every_planted_oddity_is_named_and_nothing_else(tmp_path: Path) -> None:
    """Names, serial numbers, clocks, counters and free memory are another on each node; only what is planted is odd."""
    made = plant(tmp_path, 1, nodes=40)
    assert list(mistakes(made, audit_fleet([tmp_path]).fleet)) == []


def test_a_finding_that_all_nodes_of_a_kind_have_is_held_against_the_truth_too(tmp_path: Path) -> None:
    """One more that is said of all of a kind is named by the checker, and so is one that is said of none, or of one node less."""
    made = plant(tmp_path, 1, nodes=20, plants=())
    fleet = audit_fleet([tmp_path]).fleet
    first, *others = fleet.wrong
    names = expanded(first.nodes)
    false = first.model_copy(update={"rule": "io-adapter-link"})
    less = first.model_copy(update={"nodes": ",".join(names[1:])})
    said = [
        list(mistakes(made, fleet.model_copy(update={"wrong": wrong})))
        for wrong in ((first, *others), (false, first, *others), others, (less, *others))
    ]
    assert said == [
        [],
        [f"WRONG io-adapter-link {first.nodes}"],
        [f"not WRONG {first.rule} {first.nodes}"],
        [f"not WRONG {first.rule} {names[0]}"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_other_fleets_have_no_false_finding(tmp_path: Path, seed: int) -> None:
    """Twenty fleets with other seeds: every oddity, and no other."""
    made = plant(tmp_path, seed, nodes=40)
    assert list(mistakes(made, audit_fleet([tmp_path]).fleet)) == []


def null(chance: random.Random, nodes: int, spread: float) -> Nodes:
    """Return nodes of one kind of which nothing is odd, with three figures that differ by chance alone."""
    units = ("bytes/s", "flop/s", "seconds")
    measured = {
        f"n{number}": {unit: Figure(unit, unit, 100 * chance.gauss(1, spread)) for unit in units} for number in range(nodes)
    }
    return Nodes(dict.fromkeys(measured, PLAIN), {}, measured)


def null_fleets(count: int, most: int) -> Iterator[Fleet]:
    """Yield fleets of 8 nodes and more of which nothing is odd."""
    for seed in range(count):
        chance = random.Random(seed)  # noqa: S311 - no secret
        yield assemble(null(chance, int(8 * (most / 8) ** (seed / count)), chance.choice((0.002, 0.008, 0.015, 0.03))))


def named(fleets: Iterator[Fleet]) -> Counter[str]:
    """Return how often fleets name somebody."""
    return Counter(what for fleet in fleets for what, found in (("slow", fleet.slow), ("drift", fleet.drift)) for _ in found)


def test_chance_alone_names_nobody() -> None:
    """Thirty fleets of 8 to 400 nodes without an oddity: no SLOW, no DRIFT."""
    assert named(null_fleets(30, 400)) == {}


@pytest.mark.slow
def test_chance_alone_names_nobody_in_large_fleets() -> None:
    """Fifty fleets of 8 to 10,000 nodes without an oddity: no SLOW, no DRIFT."""
    assert named(null_fleets(50, 10_000)) == {}


def found_slow(nodes: int, seed: int, *, looks: int) -> bool:
    """Tell whether the one node that is a tenth slow is the one that is named, where values spread by 1.5 %.

    With two looks whoever may be slow is measured again, as ``fleet measure`` does.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret

    def value(node: str) -> float:
        return (90 if node == "n3" else 100) * chance.gauss(1, 0.015)

    first = {f"n{number}": value(f"n{number}") for number in range(nodes)}
    figures = {node: {"membw": Figure("membw", "bytes/s", each)} for node, each in first.items()}
    found = Nodes(dict.fromkeys(figures, PLAIN), {}, figures)
    if looks == 2:
        for each in suspected(found):
            figures[each.node] = {"membw": Figure("membw", "bytes/s", value(each.node), before=first[each.node])}
    return [each.node for each in assemble(found).slow] == ["n3"]


@pytest.mark.parametrize(
    ("nodes", "looks", "least"), [(8, 1, 77), (40, 1, 92), (400, 1, 93), (8, 2, 95), (40, 2, 97), (400, 2, 97)]
)
def test_a_node_that_is_a_tenth_slow_is_found(nodes: int, looks: int, least: int) -> None:
    """At a spread of 1.5 % a tenth is 6.7 spreads: of a hundred fleets so many name it, and it alone; more with a second look."""
    assert sum(found_slow(nodes, seed, looks=looks) for seed in range(100)) >= least


def measured_again(chance: random.Random, nodes: int, spread: float) -> Fleet:
    """Return a fleet of which nothing is odd, in which whoever seemed slow was measured again."""
    found = null(chance, nodes, spread)
    again = {node: dict(figures) for node, figures in found.measured.items()}
    for node in {each.node for each in suspected(found)}:
        for name, figure in again[node].items():
            again[node][name] = replace(figure, value=100 * chance.gauss(1, spread), before=figure.value)
    return assemble(replace(found, measured=again))


@pytest.mark.slow
def test_chance_alone_names_nobody_who_was_measured_again() -> None:
    """Of a thousand small fleets, where chance is worst, two looks name nobody while values spread by 1.5 % or less."""
    spreads = (0.002, 0.008, 0.015)
    fleets = (measured_again(random.Random(seed), 8 + seed % 33, spreads[seed % 3]) for seed in range(1000))  # noqa: S311 - no secret
    assert named(fleets) == {}
