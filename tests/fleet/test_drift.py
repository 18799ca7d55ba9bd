"""A few that differ have drifted, many are asked about, and what names nodes is counted."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from advisor.fleet.fold import Fact, Folded, Hardware, Part
from advisor.fleet.kinds import Difference, differences, group
from advisor.machine.hosts.errands import expanded
from tests.examples import examples


def found(fact: Callable[[int], Fact | None], nodes: int = 40, *, listed: bool = True) -> Difference:
    """Return what is said of nodes that have one fact each, or have it not."""
    made = {}
    for at in range(nodes):
        one = fact(at)
        facts = {} if one is None else {"kernel.x": one}
        part = Part(repr(facts).encode(), facts, frozenset({"list"} if listed else ()))
        made[f"n{at}"] = Folded(Hardware(("Dell",), ()), {"system": part})
    (kind,) = group(made)
    return differences(kind, made)


def text(value: str) -> Fact:
    """Return a fact of plain text."""
    return Fact(value, value)


def test_a_tenth_has_drifted() -> None:
    """Four of forty differ: they are named, with what the rest has."""
    (drift,) = found(lambda at: text("b" if at < 4 else "a")).drift
    assert (drift.fact, drift.nodes, drift.value, drift.majority, drift.of) == ("kernel.x", "n[0-3]", "b", "a", 40)


def test_more_than_a_tenth_is_another_population() -> None:
    """Five of forty are asked about, and not called wrong."""
    difference = found(lambda at: text("b" if at < 5 else "a"))
    (split,) = difference.split
    assert (difference.drift, [(each.value, each.count) for each in split.populations]) == ([], [("a", 35), ("b", 5)])


def test_a_value_of_each_node_names_it() -> None:
    """What is another on each node is counted, and says nothing else."""
    difference = found(lambda at: text(f"{at}"))
    assert (difference.drift, difference.split, difference.same.varied) == ([], [], 1)


def test_amounts_that_are_nearly_the_same_are_the_same() -> None:
    """A kernel keeps another megabyte for itself; a missing module is more than that."""
    size = 128 << 30
    alike = found(lambda at: Fact(size - at * 4096, "128 GiB", size - at * 4096))
    (drift,) = found(lambda at: Fact(less := size * 7 // 8 if at == 3 else size, f"{less >> 30} GiB", less)).drift
    assert (alike.drift, alike.split, drift.nodes) == ([], [], "n3")


def test_what_a_list_does_not_hold_is_not_there() -> None:
    """An adapter that one node does not list is named; where the list was not read nothing is known."""
    adapter = Fact("there", "there", inside="list")
    (drift,) = found(lambda at: None if at == 5 else adapter).drift
    unknown = found(lambda at: None if at == 5 else adapter, listed=False)
    assert ((drift.nodes, drift.value, drift.majority), unknown.drift) == (("n5", "not there", "there"), [])


@examples(300)
@given(st.lists(st.sampled_from("aaaaaaaaab") | st.sampled_from("abcdef"), min_size=2, max_size=40))
def test_what_is_said_of_a_fact_expands_to_every_nodes_value(values: list[str]) -> None:
    """From what most have, who differs and the populations each node's value comes back; what is silent is the same on all."""
    difference = found(lambda at: text(values[at]), len(values))
    told = dict.fromkeys(f"n{at}" for at in range(len(values)))
    for drift in difference.drift:
        told |= {node: drift.majority for node, value in told.items() if value is None}
        told |= dict.fromkeys(expanded(drift.nodes), drift.value)
    for split in difference.split:
        for each in split.populations:
            told |= dict.fromkeys(expanded(each.nodes), each.value)
    if difference.same.varied:
        assert (len(set(values)) > 4, difference.drift, difference.split) == (True, [], [])
    elif difference.same.same:
        assert (len(set(values)), difference.drift, difference.split) == (1, [], [])
    else:
        assert list(told.values()) == values
