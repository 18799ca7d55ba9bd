"""The exact p over restarts, and the interval that goes with it."""

from itertools import combinations, product
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.bios.experiment_plan import verdict
from advisor.jobs.racing.proof import Contrast, Stratum, contrast, permutation_p
from tests.examples import examples

Some = st.lists(st.integers(0, 300), min_size=1, max_size=4, unique=True)


def by_hand(strata: list[Stratum], slack: float) -> float:
    """Return the p by making every way of dealing the figures out."""
    every = []
    for one, other in strata:
        whole = [*one, *other]
        every.append([sum(whole[at] for at in chosen) for chosen in combinations(range(len(whole)), len(other))])
    middle = sum(sum([*one, *other]) * len(other) / (len(one) + len(other)) for one, other in strata)
    seen = abs(sum(sum(other) for _, other in strata) - middle)
    sums = [abs(sum(each) - middle) for each in product(*every)]
    return sum(each >= seen - slack for each in sums) / len(sums)


@examples(60)
@given(st.lists(st.tuples(Some, Some), min_size=1, max_size=2))
def test_it_is_the_share_of_all_ways_to_deal_the_figures_out(strata: list[tuple[list[int], list[int]]]) -> None:
    """As counted one by one, but for figures that are equal to a ten-thousandth of their range."""
    given_: list[Stratum] = [([each / 100 for each in one], [each / 100 for each in other]) for one, other in strata]
    figures = [each for pair in given_ for part in pair for each in part]
    slack = (max(figures) - min(figures)) * 1e-3
    found = permutation_p(given_)
    assert by_hand(given_, -slack) - 1e-9 <= found <= by_hand(given_, slack) + 1e-9


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        ([1, 2, 3, 4], [5, 6, 7, 8], 2 / 70),
        ([1, 2, 3], [5, 6, 7], 2 / 20),
        ([1, 2], [5, 6], 2 / 6),
        ([1, 2, 3, 5], [4, 6, 7, 8], 4 / 70),
        ([1, 1, 1, 1], [1, 1, 1, 1], 1.0),
        ([], [1.0], 1.0),
    ],
)
def test_known_p(one: list[float], other: list[float], p: float) -> None:
    """Of samples of which it can be counted by hand."""
    assert permutation_p([(one, other)]) == pytest.approx(p)


def test_nodes_are_never_mixed() -> None:
    """A server that is twice as fast as the other says nothing of a state that both have."""
    slow, fast = ([0.0, 0.1, 0.2], [0.3, 0.4, 0.5]), ([5.0, 5.1, 5.2], [5.3, 5.4, 5.5])
    assert permutation_p([slow, fast]) == pytest.approx(2 / 400)
    assert permutation_p([([*slow[0], *fast[0]], [*slow[1], *fast[1]])]) > 0.5


def test_the_interval_of_four_and_four_is_the_whole_range() -> None:
    """At 5 % only samples that do not overlap are refused: the ends are the least and the largest difference of any two."""
    one, other = [log(each) for each in (10, 10.1, 9.9, 10.05)], [log(each) for each in (11, 11.1, 11.2, 10.9)]
    found = contrast([(one, other)], 0.05)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([10.9 / 10.1, 11.2 / 9.9], rel=1e-4)


def test_too_few_have_no_interval() -> None:
    """Three and three refuse no shift at 5 %."""
    found = contrast([([0.0, 0.1, 0.2], [1.0, 1.1, 1.2])], 0.05)
    assert found is not None
    assert (found.low, found.high, round(log(found.ratio), 6)) == (None, None, 1.0)


@examples(40)
@given(st.lists(st.integers(0, 1000), min_size=10, max_size=10, unique=True))
def test_the_interval_never_contradicts_the_verdict(figures: list[int]) -> None:
    """A ratio of 1 is outside of it exactly where the p is below the level."""
    found = contrast([([each / 1000 for each in figures[:5]], [each / 1000 for each in figures[5:]])], 0.05)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.ratio <= found.high
    assert (found.low < 1 < found.high) == (found.p > 0.05) or abs(found.p - 0.05) < 0.02


@pytest.mark.parametrize(
    ("found", "high", "says"),
    [
        (Contrast(1.1, 1.05, 1.15, 0.02), True, "better"),
        (Contrast(1.1, 1.05, 1.15, 0.02), False, "worse"),
        (Contrast(1.005, 0.99, 1.015, 0.4), True, "no difference"),
        (Contrast(1.005, 0.95, 1.015, 0.4), True, "cannot tell"),
        (Contrast(exp(1), None, None, 0.01), True, "cannot tell"),
        (Contrast(1.1, 1.05, 1.15, 0.03), True, "cannot tell"),
    ],
)
def test_three_answers_and_none(found: Contrast, high: bool, says: str) -> None:
    """Better or worse by p times the comparisons, no difference where all of the interval is small, else it cannot tell."""
    assert verdict(found, comparisons=2, alpha=0.05, worth=0.02, high=high) == says


def test_equal_states_are_seldom_called_different() -> None:
    """Of all orders of eight fixed figures 2 in 70 are called different at four and four, however the figures lie."""
    figures = [0.0, 0.01, 0.02, 0.03, 0.5, 0.9, 1.0, 1.1]
    orders = [
        ([figures[at] for at in chosen], [figures[at] for at in range(8) if at not in chosen])
        for chosen in combinations(range(8), 4)
    ]
    assert sum(permutation_p([each]) <= 0.05 for each in orders) == 2
