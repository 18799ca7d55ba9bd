"""The order of an experiment's restarts, and what so many of them can show at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Final, Literal

from advisor.tune.race import order

ALPHA: Final = 0.05
"""The error over all comparisons of an experiment."""
FEWEST: Final = 4
"""Restarts of a state below which nothing is proven: 3 and 3 of two states have p = 0.1 at best."""
_MOST: Final = 64

Order = Literal["random", "balanced"]


@dataclass(frozen=True)
class Unit:
    """One restart: where, the how-manieth there, in which state, and with which others it may be exchanged by chance."""

    node: int
    number: int
    state: int
    stratum: tuple[int, int]


def schedule(states: int, restarts: int, nodes: int, kind: Order, seed: int) -> tuple[tuple[Unit, ...], ...]:
    """Return each node's restarts in their order: all shuffled, or in shuffled blocks that have each state once.

    A node is a block of its own: every node sees every state equally often, so that nodes may differ.
    """
    return tuple(tuple(_of_node(node, states, restarts, kind, seed)) for node in range(nodes))


def _of_node(node: int, states: int, restarts: int, kind: Order, seed: int) -> list[Unit]:
    if kind == "random":
        cards = [card % states for card in order(range(states * restarts), seed, node)]
        return [Unit(node, number, state, (node, 0)) for number, state in enumerate(cards)]
    blocks = [(block, state) for block in range(restarts) for state in order(range(states), seed, node * restarts + block)]
    return [Unit(node, number, state, (node, block)) for number, (block, state) in enumerate(blocks)]


def least_p(restarts: int, nodes: int, kind: Order) -> float:
    """Return the smallest two-sided p that two states with so many restarts each can have.

    >>> least_p(4, 1, "random") == 2 / 70, least_p(4, 1, "balanced") == 2 / 16, least_p(2, 2, "random") == 2 / 36
    (True, True, True)
    """
    strata = [comb(2 * restarts, restarts)] * nodes if kind == "random" else [2] * (restarts * nodes)
    return min(1.0, 2 / prod(strata))


def can_prove(restarts: int, nodes: int, kind: Order, comparisons: int) -> bool:
    """Return whether any figures of so many restarts could prove a difference; fewer than four of a state never do."""
    return restarts * nodes >= FEWEST and least_p(restarts, nodes, kind) * comparisons <= ALPHA


def needed(nodes: int, kind: Order, comparisons: int) -> int:
    """Return how many restarts of each state on each node a proof takes at least.

    >>> needed(1, "random", 1), needed(1, "random", 2), needed(1, "balanced", 1), needed(2, "random", 1)
    (4, 5, 6, 3)
    """
    return next((each for each in range(1, _MOST) if can_prove(each, nodes, kind, comparisons)), _MOST)


def duration(nodes: Sequence[Sequence[Unit]], restart: float, measuring: float) -> float:
    """Return how many seconds an experiment takes: nodes restart at the same time and are measured one after the other."""
    longest = max((len(each) for each in nodes), default=0)
    return (longest + 1) * restart + sum(len(each) for each in nodes) * measuring  # one restart more: the way back
