"""The tournament: every node meets as many others at the same time; one bad link and one bad node are told apart."""

from collections import Counter
from collections.abc import Iterable
from random import Random

import pytest

from advisor.errors import BadValue
from advisor.fleet.measure_pairs import MEETINGS, Blame, Pair, again, blame, confirmed, tournament

NODES = [f"n{number:02d}" for number in range(1, 65)]
USUAL, SPREAD = 12.1e9, 0.015
"""Bytes a second of a pair and the spread between pairs: an invented fleet."""


def met(nodes: list[str], meetings: int = MEETINGS) -> list[Pair]:
    """Return every pair of a tournament."""
    return [pair for row in tournament(nodes, meetings) for pair in row]


def measured(
    pairs: Iterable[Pair], seed: int, *, node: str | None = None, link: Pair | None = None, factor: float = 0.9
) -> dict[Pair, float | None]:
    """Return what each pair measures, where one node or one link is slower by a factor."""
    chance = Random(seed)  # noqa: S311 - not for secrets
    return {pair: USUAL * chance.gauss(1, SPREAD) * (factor if node in pair or pair == link else 1) for pair in pairs}


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 64, 65])
def test_in_a_round_no_node_is_in_two_pairs_and_none_meets_another_twice(count: int) -> None:
    """All work at once: n/2 pairs; of an odd number one rests, another each time."""
    nodes = [*NODES, "last"]
    rounds = tournament(nodes[:count])
    busy = [Counter(node for pair in row for node in pair) for row in rounds]
    assert [max(each.values()) for each in busy] == [1] * len(rounds)
    assert [len(each) for each in busy] == [count - count % 2] * len(rounds)
    pairs = [frozenset(pair) for row in rounds for pair in row]
    assert len(set(pairs)) == len(pairs)


def test_every_node_meets_as_many_others_as_wished() -> None:
    """Or all there are."""
    assert set(Counter(node for pair in met(NODES, 5) for node in pair).values()) == {5}
    assert {len(met(NODES[:4], 9)), len(tournament(NODES[:4], 9))} == {6, 3}


def test_one_node_alone_has_nobody_to_meet() -> None:
    """It is said."""
    with pytest.raises(BadValue, match="at least two nodes"):
        tournament(["n1", "n1"])


@pytest.mark.parametrize("seed", range(25))
def test_one_bad_node_of_64_is_named_and_no_link(seed: int) -> None:
    """Ten percent below, where pairs spread by 1.5 percent; those whom it met are not blamed."""
    bad = Random(seed).choice(NODES)  # noqa: S311
    found = blame(measured(met(NODES), seed, node=bad))
    assert ([each.node for each in found.nodes], found.links) == ([bad], ())


@pytest.mark.parametrize("seed", range(25))
def test_one_bad_link_of_64_nodes_is_named_and_no_node(seed: int) -> None:
    """Fifteen percent below, ten times the spread: one value alone tells less than the four of a node."""
    bad = Random(seed).choice(met(NODES))  # noqa: S311
    found = blame(measured(met(NODES), seed, link=bad, factor=0.85))
    assert ([each.pair for each in found.links], found.nodes, found.unclear) == ([bad], (), ())


@pytest.mark.parametrize("count", [8, 9, 16, 64, 400, 2000])
def test_where_nothing_is_planted_nothing_is_found(count: int) -> None:
    """In tournaments of eight nodes to two thousand, with other chances each."""
    nodes = [f"n{number}" for number in range(count)]
    pairs = met(nodes)
    assert [seed for seed in range(50 if count < 100 else 5) if not blame(measured(pairs, seed)).good] == []


def test_a_bad_node_and_a_bad_link_are_found_at_once() -> None:
    """And two bad nodes that met each other."""
    pairs = met(NODES)
    link = next(pair for pair in pairs if "n10" not in pair)
    values = measured(pairs, 1, node="n10")
    values[link] = USUAL * 0.5
    found = blame(values)
    assert ([each.node for each in found.nodes], [each.pair for each in found.links]) == (["n10"], [link])
    one, other = pairs[0]
    slow = {pair: (value or 0) * (0.6 if one in pair or other in pair else 1) for pair, value in measured(pairs, 2).items()}
    assert {each.node for each in blame(slow).nodes} == {one, other}


def test_half_of_a_nodes_pairs_blame_nobody() -> None:
    """The links are named, and that it is not told whose fault it is."""
    pairs = met(NODES)
    mine = [pair for pair in pairs if "n05" in pair][:2]
    found = blame({pair: (value or 0) * (0.6 if pair in mine else 1) for pair, value in measured(pairs, 3).items()})
    assert (found.nodes, {each.pair for each in found.links}, found.unclear) == ((), set(mine), ("n05",))


def test_a_pair_without_a_result_counts_as_slow() -> None:
    """A node with which nobody can talk is bad, one pair that cannot is a bad link."""
    pairs = met(NODES)
    values = measured(pairs, 4)
    assert [each.node for each in blame({p: None if "n33" in p else v for p, v in values.items()}).nodes] == ["n33"]
    assert [each.pair for each in blame({**values, pairs[7]: None}).links] == [pairs[7]]


def test_of_seconds_more_is_worse() -> None:
    """A node whose messages take long."""
    values = {pair: 1.2e-6 * (1.4 if "n07" in pair else 1 + at % 5 / 500) for at, pair in enumerate(met(NODES))}
    assert [each.node for each in blame(values, "seconds").nodes] == ["n07"]
    assert blame({pair: 1 / value for pair, value in values.items()}, "seconds").good


def test_of_few_pairs_nothing_is_said() -> None:
    """Of six nobody knows what is usual."""
    assert blame(measured(met(NODES[:4]), 0, node="n01", factor=0.5)) == Blame(pairs=6)


def test_suspects_are_measured_again_with_others_and_named_only_then() -> None:
    """A bad node meets good ones that it has not met, a link is measured as it was; what is good the second time is not named."""
    pairs = met(NODES)
    link = next(pair for pair in pairs if "n10" not in pair)
    found = blame({**measured(pairs, 1, node="n10"), link: USUAL * 0.5})
    rounds = again(found, NODES, pairs)
    second = [pair for row in rounds for pair in row]
    assert {frozenset(pair) for pair in second if "n10" in pair} & {frozenset(pair) for pair in pairs} == set()
    assert (link in second, [max(Counter(n for p in row for n in p).values()) for row in rounds]) == (True, [1] * len(rounds))
    still = confirmed(found, {pair: USUAL * (0.9 if "n10" in pair else 0.5) for pair in second})
    assert ([each.node for each in still.nodes], [each.pair for each in still.links]) == (["n10"], [link])
    assert confirmed(found, dict.fromkeys(second, USUAL)).good
