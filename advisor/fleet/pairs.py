"""A tournament of pairs: every node meets a few others, all at the same time, so that a bad node and a bad link are told apart.

A pair that is slow blames neither end alone. A node that is slow is so with everybody whom it meets; a link that is bad is so for
one pair, whose both ends do well with all others. What is between (half of a node's pairs) is named and nobody is blamed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import median
from typing import Final

from advisor.errors import BadValue
from advisor.fleet.slow import FAR, FINEST, practical, spread_of

Pair = tuple[str, str]
"""Two nodes, as the schedule has them."""
MEETINGS: Final = 4
"""Others that each node meets. With three, two bad links of one node look like a bad node."""
_LEAST: Final = 3
"""Meetings of a node without which it is not judged."""
LEAST_PAIRS: Final = 8
"""Pairs without which nothing is usual."""
_MEDIANS: Final = 1.2533
"""The standard deviation of a median by that of a mean, of normal values: sqrt(pi / 2)."""


@dataclass(frozen=True)
class SlowNode:
    """A node that is slow with most of those whom it met."""

    node: str
    value: float
    median: float
    z: float
    met: int
    slow_with: int


@dataclass(frozen=True)
class SlowLink:
    """A pair that is slow, though both nodes do well with others."""

    pair: Pair
    value: float | None
    median: float
    z: float


@dataclass(frozen=True)
class Blame:
    """What a tournament tells: bad nodes, bad links, and nodes of whose pairs some are slow and some are not."""

    nodes: tuple[SlowNode, ...] = ()
    links: tuple[SlowLink, ...] = ()
    unclear: tuple[str, ...] = ()
    pairs: int = 0

    @property
    def good(self) -> bool:
        """Return whether nothing was found."""
        return not self.nodes and not self.links


def tournament(nodes: Sequence[str], meetings: int = MEETINGS) -> tuple[tuple[Pair, ...], ...]:
    """Return rounds of pairs that have no node in common: in each round every node meets another, and nobody twice.

    The circle method: one stays, the others go round. Of its n-1 rounds those are taken that lie evenly, so that a node meets
    near and far ones. Of an odd number one rests in each round, another each time.

    >>> tournament(["a", "b", "c", "d"], 3)
    ((('a', 'd'), ('b', 'c')), (('a', 'b'), ('c', 'd')), (('a', 'c'), ('d', 'b')))
    """
    players: list[str | None] = list(dict.fromkeys(nodes))
    if len(players) < 2:
        raise BadValue("a tournament needs two nodes at least", cure="name more with -w")
    if len(players) % 2:
        players.append(None)
    rounds = len(players) - 1
    chosen = range(rounds) if meetings >= rounds else [at * rounds // meetings for at in range(meetings)]
    return tuple(_round(players, at) for at in chosen)


def _round(players: Sequence[str | None], turn: int) -> tuple[Pair, ...]:
    first, rest = players[0], [*players[1:]]
    rest = rest[turn:] + rest[:turn]
    ring = [first, *rest]
    half = len(ring) // 2
    facing = zip(ring[:half], reversed(ring[half:]), strict=True)
    return tuple((one, other) for one, other in facing if one is not None and other is not None)


def blame(values: Mapping[Pair, float | None], unit: str = "bytes/s") -> Blame:
    """Return who is to blame for slow pairs; None is a pair of which no result came, as slow as can be.

    ``unit`` says whether more is better: of seconds less is.
    """
    told = [value for value in values.values() if value is not None]
    if len(values) < LEAST_PAIRS or len(told) * 2 < len(values):
        return Blame(pairs=len(values))
    judge = _Judge(values, unit, median(told), max(spread_of(told), FINEST * abs(median(told))))
    bad = judge.bad_nodes()
    guilty = {each.node for each in bad}
    links = tuple(judge.slow_links(guilty))
    ends = [node for link in links for node in link.pair]
    unclear = sorted({node for node in ends if ends.count(node) > 1})
    return Blame(bad, links, tuple(unclear), len(values))


class _Judge:
    def __init__(self, values: Mapping[Pair, float | None], unit: str, middle: float, scale: float) -> None:
        self._values, self._middle, self._scale = values, middle, scale
        self._worse = 1 if unit == "seconds" else -1
        self._practical = practical(unit, middle)

    def _away(self, value: float | None) -> float:
        """Return how far a value is on the bad side of the median."""
        return inf if value is None else (value - self._middle) * self._worse

    def _is_slow(self, away: float, scale: float) -> bool:
        return away > FAR * scale and away > self._practical

    def bad_nodes(self) -> tuple[SlowNode, ...]:
        """Return the nodes that are slow with most; the worst is taken first, and its pairs then speak against nobody else."""
        left, found = dict(self._values), list[SlowNode]()
        while True:
            worst = max(self._suspects(left), key=lambda each: -each.z, default=None)
            if worst is None:
                return tuple(found)
            found.append(worst)
            left = {pair: value for pair, value in left.items() if worst.node not in pair}

    def _suspects(self, left: Mapping[Pair, float | None]) -> list[SlowNode]:
        met: dict[str, list[float]] = defaultdict(list)
        for pair, value in left.items():
            for node in pair:
                met[node].append(self._away(value))
        found: list[SlowNode] = []
        for node, away in met.items():
            # The better one of the two in the middle: where half of its pairs are good the node is.
            typical = sorted(away)[(len(away) - 1) // 2]
            scale = self._scale * _MEDIANS / sqrt(len(away))
            if len(away) >= _LEAST and self._is_slow(typical, scale):
                slow = sum(self._is_slow(each, self._scale) for each in away)
                value = self._middle + self._worse * typical if typical < inf else 0.0
                found.append(SlowNode(node, value, self._middle, _z(typical, scale), len(away), slow))
        return found

    def slow_links(self, guilty: Iterable[str]) -> list[SlowLink]:
        """Return the slow pairs that no bad node accounts for, the worst first."""
        bad = frozenset(guilty)
        found = [
            SlowLink(pair, value, self._middle, _z(self._away(value), self._scale))
            for pair, value in self._values.items()
            if not bad.intersection(pair) and self._is_slow(self._away(value), self._scale)
        ]
        return sorted(found, key=lambda each: each.z)


def _z(away: float, scale: float) -> float:
    return -inf if away == inf else round(-away / scale, 1)


def again(found: Blame, nodes: Sequence[str], met: Iterable[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """Return the rounds in which suspects are measured again before they are named.

    A link once more as it was; a bad node with good ones that it has not met, so that their links are not blamed on it.
    """
    known = {frozenset(pair) for pair in met}
    guilty = {each.node for each in found.nodes} | {node for link in found.links for node in link.pair}
    good = [node for node in nodes if node not in guilty]
    wanted: list[Pair] = [link.pair for link in found.links]
    for at, each in enumerate(found.nodes):
        fresh = [other for other in good[at:] + good[:at] if frozenset((each.node, other)) not in known]
        wanted += [(each.node, other) for other in fresh[:_LEAST]]
    rounds: list[list[Pair]] = []
    for pair in wanted:
        free = next((row for row in rounds if not any(set(pair) & set(other) for other in row)), None)
        if free is None:
            rounds.append([pair])
        else:
            free.append(pair)
    return tuple(tuple(row) for row in rounds)


def confirmed(found: Blame, second: Mapping[Pair, float | None], unit: str = "bytes/s") -> Blame:
    """Return what of the suspects was slow the second time too; the median is that of the first."""
    worse = 1 if unit == "seconds" else -1

    def slow(value: float | None, middle: float) -> bool:
        return value is None or (value - middle) * worse > practical(unit, middle)

    nodes = []
    for each in found.nodes:
        pairs = [value for pair, value in second.items() if each.node in pair]
        if pairs and sum(slow(value, each.median) for value in pairs) * 2 > len(pairs):
            nodes.append(each)
    links = [link for link in found.links if link.pair in second and slow(second[link.pair], link.median)]
    ends = [node for link in links for node in link.pair]
    return Blame(tuple(nodes), tuple(links), tuple(each for each in found.unclear if ends.count(each) > 1), found.pairs)
