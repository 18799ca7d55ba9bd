"""Nodes of the same hardware are a kind; one that lacks a module is in it."""

from advisor.fleet.fold import Folded, Hardware, Modules
from advisor.fleet.kinds import group


def node(dimms: Modules, adapters: Modules = (("MT4123 adapter", 1),), sold: str = "Dell C6525") -> Folded:
    """Return a node with such modules."""
    modules = (("sockets", (("EPYC 7702", 2),)), ("DIMMs", dimms), ("adapters", adapters), ("GPUs", ()))
    return Folded(Hardware((sold,), modules), {})


FULL, SHORT, MORE = ((("16 GiB DDR4", count),) for count in (16, 15, 32))


def test_a_node_that_lacks_a_dimm_is_of_its_kind_and_named() -> None:
    """One of twenty with a DIMM less is no kind of its own."""
    (kind,) = group({f"n{at}": node(SHORT if at == 7 else FULL) for at in range(20)})
    assert (kind.name[:16], len(kind.nodes), kind.lacking) == ("epyc7702-2s-256g", 20, {("DIMMs", "15 x 16 GiB DDR4"): ["n7"]})


def test_a_node_with_more_memory_is_another_kind() -> None:
    """A few large nodes among many are meant: nobody put DIMMs in by accident."""
    found = group({f"n{at}": node(MORE if at == 7 else FULL) for at in range(20)})
    assert [(kind.name[:16], len(kind.nodes)) for kind in found] == [("epyc7702-2s-256g", 19), ("epyc7702-2s-512g", 1)]


def test_many_that_lack_something_are_another_kind() -> None:
    """A quarter with fewer DIMMs was bought so."""
    found = group({f"n{at}": node(SHORT if at % 4 == 0 else FULL) for at in range(20)})
    assert [(len(kind.nodes), kind.lacking) for kind in found] == [(15, {}), (5, {})]


def test_what_is_not_known_makes_no_kind() -> None:
    """A capture that was not taken as root knows no DIMMs: it is of the kind that it may be of."""
    (kind,) = group({f"n{at}": node(None if at == 3 else FULL) for at in range(12)})
    assert (len(kind.nodes), kind.lacking) == (12, {})


def test_the_largest_kind_comes_first() -> None:
    """Whatever it is called."""
    found = group({**{f"a{at}": node(FULL, sold="HPE") for at in range(3)}, **{f"b{at}": node(FULL) for at in range(5)}})
    assert [kind.hardware.base[0] for kind in found] == ["Dell C6525", "HPE"]


def test_a_kind_keeps_its_name_when_others_grow() -> None:
    """Which is the larger changes nothing in what they are called; two that look alike differ in their hash."""
    few = {f"a{at}": node(FULL, sold="HPE") for at in range(3)}
    many = {f"b{at}": node(FULL) for at in range(5)}
    more = {f"c{at}": node(FULL, sold="HPE") for at in range(9)}
    before, after = ({kind.hardware.base[0]: kind.name for kind in group({**few, **many, **extra})} for extra in ({}, more))
    assert before == after
    assert len(set(before.values())) == 2
    assert {name.rpartition("-")[0] for name in before.values()} == {"epyc7702-2s-256g"}
