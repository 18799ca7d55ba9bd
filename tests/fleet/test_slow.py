"""Who is slow: far by the spread of the rest, and by so much that it matters; in both looks of who was measured twice."""

import pytest

from advisor.fleet.fleet import Slow
from advisor.fleet.fold import Hardware
from advisor.fleet.kinds import Figure, Group, near, slow, spread_of

USUAL = (100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.0, 100.1, 99.9)


def named(values: dict[str, Figure], settings: dict[str, str] | None = None, *, maybe: bool = False) -> list[Slow]:
    """Return who is slow of nodes with one figure each."""
    return list(
        slow(
            Group("A", Hardware((), ()), list(values)),
            {node: {"x": each} for node, each in values.items()},
            settings or {},
            first=maybe,
        )
    )


def figures(*values: float, unit: str = "bytes/s", spread: float = 0.0) -> dict[str, Figure]:
    """Return figures of nodes a, b, c..."""
    return {chr(97 + at): Figure("x", unit, value, spread) for at, value in enumerate(values)}


def test_what_is_far_and_matters_is_slow() -> None:
    """The worst first, with how far it is; it does not widen the spread that it is measured by."""
    assert [(each.node, each.z < -30, each.median, each.among) for each in named(figures(*USUAL, 70, 60))] == [
        ("l", True, 99.95, 12),
        ("k", True, 99.95, 12),
    ]


@pytest.mark.parametrize(("unit", "value"), [("bytes/s", 95.5), ("flop/s", 97.5), ("seconds", 109)])
def test_what_is_far_and_does_not_matter_is_not_slow(unit: str, value: float) -> None:
    """Nodes that are equal to a thousandth: a few per cent are many spreads, and nobody's trouble."""
    assert named(figures(*(100 + at / 100 for at in range(9)), value, unit=unit)) == []


def test_better_is_not_slow() -> None:
    """A bandwidth above the others, a latency below them."""
    assert (named(figures(*USUAL, 150)), named(figures(*USUAL, 50, unit="seconds"))) == ([], [])


def test_what_repeats_cannot_tell_apart_is_not_slow() -> None:
    """Where one node's repeats spread by 3 %, a tenth is within what the instrument does."""
    assert (len(named(figures(*USUAL, 90))), named(figures(*USUAL, 90, spread=0.03))) == (1, [])


def test_of_fewer_than_eight_nobody_is_slow() -> None:
    """The spread of seven is not known."""
    assert (named(figures(*USUAL[:6], 50)), len(named(figures(*USUAL[:7], 50)))) == ([], 1)


def test_a_node_that_is_set_up_otherwise_is_explained_by_that() -> None:
    """Its own settings have too few nodes: it is compared with all, and the setting stands beside it."""
    (each,) = named(figures(*USUAL, 50), {"k": "smt on"} | dict.fromkeys("abcdefghij", "smt off"))
    assert (each.node, each.explained) == ("k", "smt on")


def test_who_may_be_slow_is_measured_again_before_being_named() -> None:
    """Four spreads are worth a second look; in one look five are asked for."""
    values = figures(*(100 + 2 * at for at in (-2, -1, 0, 0, 0, 0, 1, 2)), 89.5)
    assert (named(values), [each.node for each in named(values, maybe=True)]) == ([], ["i"])


@pytest.mark.parametrize(("before", "slow_"), [(89.0, ["i"]), (99.0, [])])
def test_who_was_measured_twice_is_slow_in_both_or_not_at_all(before: float, slow_: list[str]) -> None:
    """Chance does not strike the same node twice."""
    values = figures(*(100 + 2 * at for at in (-2, -1, 0, 0, 0, 0, 1, 2)))
    found = named(values | {"i": Figure("x", "bytes/s", 89.5, before=before)})
    assert ([each.node for each in found], all(each.again for each in found)) == (slow_, True)


def test_the_distance_in_two_looks_grows_with_the_nodes() -> None:
    """More nodes, more chance: of ten thousand as far as in one look."""
    assert [near(nodes) for nodes in (8, 10**4, 10**5)] == [3.5, pytest.approx(5, abs=0.1), 5.0]


@pytest.mark.parametrize("odd", [(), (50.0,), (50.0, 60.0, 170.0)])
def test_odd_values_do_not_widen_the_spread(odd: tuple[float, ...]) -> None:
    """Up to a quarter may be anywhere."""
    assert spread_of([*USUAL, *odd]) == pytest.approx(spread_of(USUAL), rel=0.05)
