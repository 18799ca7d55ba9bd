"""The order of an experiment's restarts, and what they show: each state beside the first, by what chance alone could do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb, exp, floor, log, prod
from statistics import median
from typing import Final, Literal, NamedTuple

from advisor.bios.experiment_plan import Cell, Column, Says
from advisor.jobs.racing.proof import order

Stratum = tuple[Sequence[float], Sequence[float]]
"""Logarithms of the first state's figures and of the other's, of restarts that may be exchanged."""
_GRAINS: Final = 1 << 17
"""Grains of the range of all figures, for so many of them: those of eight are told apart to a sixteen-thousandth of it."""
_HALVINGS: Final = 18


def permutation_p(strata: Sequence[Stratum], shift: float = 0.0) -> float:
    """Return how often chance alone, dealing the same figures out again, sets the sums as far apart: exact, two-sided.

    ``shift`` is taken from the other state's figures first. 1 where there is nothing to exchange.
    """
    moved = [(list(one), [each - shift for each in other]) for one, other in strata if one and other]
    figures = [each for pair in moved for part in pair for each in part]
    if not figures or max(figures) == min(figures):
        return 1.0
    grain = (max(figures) - min(figures)) * len(figures) / _GRAINS
    total = prod(comb(len(one) + len(other), len(other)) for one, other in moved)
    bits, ways, seen, middle = total.bit_length() + 1, 1, 0, 0.0
    for one, other in moved:
        least = min(*one, *other)
        whole = [round((each - least) / grain) for each in (*one, *other)]
        ways *= _dealt(whole, len(other), bits)
        seen += sum(whole[len(one) :])
        middle += sum(whole) * len(other) / len(whole)
    away = abs(seen - middle) - _GRAINLET
    above, below = ceil(middle + away), floor(middle - away)
    far = _digits(ways >> bits * max(0, above), bits) + (
        _digits(ways & ((1 << bits * (below + 1)) - 1), bits) if below >= 0 else 0
    )
    return min(1.0, far / total)


_GRAINLET: Final = 1e-6


def _dealt(values: Sequence[int], size: int, bits: int) -> int:
    """Return in how many ways each sum of so many of some values comes about: digit by digit of one large number.

    A digit has so many bits that it never runs over: to add a value to every sum is then one shift.
    """
    sums = [1, *([0] * size)]
    for value in values:
        for chosen in range(size, 0, -1):
            sums[chosen] += sums[chosen - 1] << bits * value
    return sums[size]


def _digits(number: int, bits: int) -> int:
    """Return the sum of a number's digits; it is below the largest digit, so that casting out gives it whole."""
    return number % ((1 << bits) - 1)


class Contrast(NamedTuple):
    """How another state's figures lie beside those of the first, as ratios."""

    ratio: float
    low: float | None
    high: float | None
    p: float


def contrast(strata: Sequence[Stratum], level: float) -> Contrast | None:
    """Return the ratio of two states (Hodges and Lehmann), its interval at a level, and the p; None without a pair."""
    pairs = [theirs - own for one, other in strata for own in one for theirs in other]
    if not pairs:
        return None
    middle, width = median(pairs), max(pairs) - min(pairs) + 1e-3
    low = _end(strata, level, min(pairs) - width, middle)
    high = _end(strata, level, max(pairs) + width, middle)
    return Contrast(exp(middle), None if low is None else exp(low), None if high is None else exp(high), permutation_p(strata))


def _end(strata: Sequence[Stratum], level: float, far: float, near: float) -> float | None:
    """Return up to where shifts are refused, between one far off and the middle; None where not even that one is."""
    if permutation_p(strata, far) > level:
        return None
    if permutation_p(strata, 0.0) <= level and min(far, near) < 0 < max(far, near):
        far = 0.0  # the verdict and the interval answer alike
    for _ in range(_HALVINGS):
        at = (far + near) / 2
        far, near = (at, near) if permutation_p(strata, at) <= level else (far, at)
    return far


def verdict(found: Contrast, *, comparisons: int, alpha: float, worth: float, high: bool) -> Says:
    """Return what a comparison says; ``high`` where more of the figure is better."""
    if found.low is None or found.high is None:
        return "cannot tell"
    if found.p * comparisons <= alpha and found.ratio != 1:
        return "better" if (found.ratio > 1) is high else "worse"
    is_small = -log(1 + worth) < log(found.low) and log(found.high) < log(1 + worth)
    return "no difference" if is_small else "cannot tell"


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


Figures = Mapping[tuple[int, int, str], Sequence[float]]
"""Node, number of the restart and column -> the figures of its runs; nothing of runs that failed."""


class Design(NamedTuple):
    """What was planned: the restarts in their order, and whether they can prove anything."""

    states: Sequence[str]
    columns: Sequence[Column]
    units: Sequence[Unit]
    restarts: int
    nodes: int
    kind: str
    worth: float

    @property
    def comparisons(self) -> int:
        """Return how many comparisons share the error: each state but the first, in each column."""
        return (len(self.states) - 1) * len(self.columns)

    @property
    def proves(self) -> bool:
        """Return whether it has restarts enough to prove anything."""
        return can_prove(self.restarts, self.nodes, "balanced" if self.kind == "balanced" else "random", self.comparisons)


def cells(design: Design, figures: Figures, *, complete: bool) -> tuple[Cell, ...]:
    """Return every state in every column; verdicts only of an experiment that ran to its end as it was planned."""
    return tuple(
        _cell(design, figures, state, column, complete=complete)
        for column in design.columns
        for state in range(len(design.states))
    )


def _cell(design: Design, figures: Figures, state: int, column: Column, *, complete: bool) -> Cell:
    measured = {key[:2] for key in figures}
    own = [unit for unit in design.units if unit.state == state and (unit.node, unit.number) in measured]
    values = [value for unit in own if (value := _restart(figures, unit, column)) is not None]
    found, says = None, "first"
    if state:
        found = contrast(_strata(design, figures, state, column), ALPHA / design.comparisons)
        first = [_restart(figures, unit, column) for unit in design.units if unit.state == 0]
        whole = complete and len(own) == len(values) and None not in first
        high = column.better == "high"
        says = "described"
        if found and whole and design.proves:
            says = verdict(found, comparisons=design.comparisons, alpha=ALPHA, worth=design.worth, high=high)
        found = found if says != "described" else found and found._replace(low=None, high=None)
    known: Says = says  # type: ignore[assignment] # one of its words
    return Cell(
        state=design.states[state],
        column=column.name,
        restarts=tuple(values),
        median=median(values) if values else None,
        failed=len(own) - len(values),
        ratio=found.ratio if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        p=min(1.0, found.p * design.comparisons) if found and known != "described" else None,
        says=known,
    )


def _restart(figures: Figures, unit: Unit, column: Column) -> float | None:
    """Return the one figure of a restart: the median of its runs, which are alike and no proof of anything."""
    found = figures.get((unit.node, unit.number, column.name)) or ()
    return median(found) if found else None


def _strata(design: Design, figures: Figures, state: int, column: Column) -> list[Stratum]:
    dealt: dict[tuple[int, int], tuple[list[float], list[float]]] = {}
    for unit in design.units:
        value = _restart(figures, unit, column)
        if unit.state in (0, state) and value is not None and value > 0:
            dealt.setdefault(unit.stratum, ([], []))[unit.state != 0].append(log(value))
    return list(dealt.values())


_BAD: Final = ("worse",)


def winner(design: Design, found: Sequence[Cell]) -> str | None:
    """Return the state that is proven better than the first in the first column, and proven worse in none; None without one."""
    first = design.columns[0].name
    high = design.columns[0].better == "high"
    worse = {each.state for each in found if each.says in _BAD}
    good = [each for each in found if each.column == first and each.says == "better" and each.state not in worse and each.ratio]
    return max(good, key=lambda each: (each.ratio or 1.0) if high else 1 / (each.ratio or 1.0)).state if good else None
