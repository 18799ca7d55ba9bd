"""The order of an experiment's restarts, and what they can show."""

from collections import Counter
from typing import Any

import pytest

from advisor.bios.experiment_plan import FEWEST, can_prove, columns_of, duration, least_p, listed, needed, schedule
from advisor.paths import rules


@pytest.mark.parametrize("kind", ["random", "balanced"])
def test_every_node_sees_every_state_equally_often(kind: Any) -> None:
    """Three states, four restarts, two nodes: each state four times on each node, numbered in order."""
    order = schedule(3, 4, 2, kind, 5)
    assert [Counter(unit.state for unit in node) for node in order] == [Counter({0: 4, 1: 4, 2: 4})] * 2
    assert [unit.number for unit in order[1]] == list(range(12))


def test_a_balanced_order_has_every_state_once_in_a_block() -> None:
    """Each block is a shuffle of all states."""
    node = schedule(3, 4, 1, "balanced", 5)[0]
    blocks = [sorted(unit.state for unit in node if unit.stratum == (0, block)) for block in range(4)]
    assert blocks == [[0, 1, 2]] * 4


def test_the_seed_is_the_order() -> None:
    """The same seed gives the same order, another one another: whoever goes on after a power cut goes on with the same."""
    assert schedule(2, 4, 1, "random", 1) == schedule(2, 4, 1, "random", 1)
    assert len({schedule(2, 4, 1, "random", seed) for seed in range(40)}) > 20


def test_every_order_is_as_likely_as_any_other() -> None:
    """The state of each place is the second in half of all seeds, within what chance allows: the dice are fair."""
    seeds = 2000
    orders = [schedule(2, 4, 1, "random", seed)[0] for seed in range(seeds)]
    shares = [sum(order[place].state for order in orders) / seeds for place in range(8)]
    assert [abs(share - 0.5) < 0.05 for share in shares] == [True] * 8


@pytest.mark.parametrize(
    ("restarts", "nodes", "kind", "p"),
    [
        (4, 1, "random", 2 / 70),
        (3, 1, "random", 0.1),
        (5, 1, "random", 2 / 252),
        (4, 1, "balanced", 2 / 16),
        (2, 2, "random", 2 / 36),
    ],
)
def test_the_least_p_is_that_of_restarts_that_do_not_overlap(restarts: int, nodes: int, kind: Any, p: float) -> None:
    """Two of all ways to deal the restarts out are as extreme."""
    assert least_p(restarts, nodes, kind) == pytest.approx(p)


def test_below_four_restarts_nothing_is_proven() -> None:
    """Three of each of two states never are, whatever they give; four are, five with two comparisons."""
    assert [can_prove(each, 1, "random", 1) for each in (1, 2, 3, 4)] == [False, False, False, True]
    assert (FEWEST, needed(1, "random", 2), can_prove(4, 1, "random", 2)) == (4, 5, False)


def test_the_time_counts_the_way_back() -> None:
    """Two nodes restart at the same time, are measured one after the other, and go back once."""
    assert duration(schedule(2, 2, 2, "random", 1), 600, 60) == 5 * 600 + 8 * 60


@pytest.mark.parametrize("name", sorted(listed()))
def test_a_ready_plan_can_prove_what_it_asks(name: str) -> None:
    """Its restarts are enough for its comparisons, on one server, and it names what was published."""
    plan = listed()[name]
    comparisons = (len(plan.every_state) - 1) * len(columns_of(plan))
    assert (can_prove(plan.restarts, 1, plan.order, comparisons), bool(plan.published), bool(plan.needs)) == (True, True, True)
    assert (rules() / "experiments" / f"{name}.yaml").is_file()
