"""Who is slow: far below the nodes of its kind by their own spread, and by so much that it matters."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from advisor.fleet.kinds import Group
from advisor.model.fleet import Slow

LEAST: Final = 8
"""Nodes without which nothing is usual: of fewer the spread is not known."""
FAR: Final = 5.0
"""How many times the spread. In ten thousand normal values one lies as far in three hundred fleets; at 3.5 five lie in each."""
_NORMAL: Final = 1.4826
"""The standard deviation of normal values by the median of their distances from the median."""
_FEW: Final = 20
"""Below this so few are left out that what is left is as wide as all."""
_WITHOUT_TENTH: Final = 1.267
"""The standard deviation of normal values by that of the nine tenths in their middle: 1 / sqrt(1 - 2 q f(q) / 0.9), q = 1.645."""
FINEST: Final = 0.005
"""Of the median: values that are rounded may all be equal, and then every other is infinitely far."""
_PRACTICAL: Final = {"bytes/s": 0.05, "flop/s": 0.03, "seconds": 0.10}
"""A distance from the median that matters, by the unit; what has none of its own is judged as a bandwidth."""


@dataclass(frozen=True)
class Figure:
    """One number that was measured on a node."""

    name: str
    unit: str
    value: float
    spread: float = 0.0
    """Of its repeats, as a share: what the instrument cannot tell apart."""


Figures = Mapping[str, Figure]
"""Name -> figure, of one node."""


def slow(kind: Group, measured: Mapping[str, Figures], settings: Mapping[str, str]) -> Iterator[Slow]:
    """Yield each figure of a node that is far worse than those of its kind; the worst first.

    ``settings`` are the nodes' settings that decide how fast they are, in words: a node is compared with those that are set up
    as it is. Where these are too few it is compared with all of its kind, and its settings may explain it.
    """
    figures: dict[str, dict[str, Figure]] = defaultdict(dict)
    for node in kind.nodes:
        for name, figure in measured.get(node, {}).items():
            figures[name][node] = figure
    found = [each for own in figures.values() for each in _of_one(kind.name, own, settings)]
    yield from sorted(found, key=lambda each: each.z)


def _of_one(kind: str, figures: Mapping[str, Figure], settings: Mapping[str, str]) -> Iterator[Slow]:
    """Yield who is slow in one figure."""
    alike: dict[str, list[str]] = defaultdict(list)
    for node in figures:
        alike[settings.get(node, "")].append(node)
    for setting, nodes in alike.items():
        if len(nodes) >= LEAST:
            yield from _far(kind, {node: figures[node] for node in nodes}, nodes)
        elif len(figures) >= LEAST and len(alike) > 1:
            others = {node: figure for node, figure in figures.items() if settings.get(node, "") != setting}
            for each in _far(kind, {**others, **{node: figures[node] for node in nodes}}, nodes):
                yield each.model_copy(update={"explained": setting})


def _far(kind: str, figures: Mapping[str, Figure], asked: Sequence[str]) -> Iterator[Slow]:
    if len(figures) < LEAST:
        return
    values = [figure.value for figure in figures.values()]
    middle, sample = median(values), next(iter(figures.values()))
    scale = max(spread_of(values), FINEST * abs(middle), abs(middle) * median(each.spread for each in figures.values()))
    worse = 1 if sample.unit == "seconds" else -1
    for node in asked:
        figure = figures[node]
        away = (figure.value - middle) * worse
        if scale > 0 and away > FAR * scale and away > practical(sample.unit, middle):
            yield Slow(
                figure=figure.name,
                node=node,
                value=figure.value,
                median=middle,
                z=round(-away / scale, 1),
                kind=kind,
                unit=figure.unit,
                among=len(figures),
            )


def practical(unit: str, middle: float) -> float:
    """Return how far from a median a figure of some unit has to be for it to matter."""
    return _PRACTICAL.get(unit, _PRACTICAL["bytes/s"]) * abs(middle)


def spread_of(values: Sequence[float]) -> float:
    """Return the usual distance from the median, one that a few odd values do not move.

    >>> round(spread_of([10, 10.1, 9.9, 10.2, 9.8, 10, 10.1, 5]), 2)
    0.14
    """
    middle = median(values)
    away = sorted(abs(value - middle) for value in values)
    few = len(away) < _FEW
    kept = away[: -max(1, len(away) // 10)]
    left = float((sum(each * each for each in kept) / max(1, len(kept) - 1)) ** 0.5) * (1 if few else _WITHOUT_TENTH)
    robust = _NORMAL * median(away)
    return (
        robust if not few and left > 2 * robust else left
    )  # more than a tenth is odd: half of them must be before this one moves
