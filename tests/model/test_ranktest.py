from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.measure import measurement
from advisor.measure.measurement import doubled_ranks, least_p, rank_sum_p

some = st.lists(st.integers(0, 6), min_size=1, max_size=5)


def by_hand(one: list[int], other: list[int]) -> float:
    """Return the same p by dealing out all values in every way, one by one."""
    ranks = doubled_ranks([float(value) for value in (*one, *other)])
    middle = len(one) * sum(ranks) / len(ranks)
    away = abs(sum(ranks[: len(one)]) - middle)
    dealt = [sum(chosen) for chosen in combinations(ranks, len(one))]
    return sum(abs(total - middle) >= away - 1e-9 for total in dealt) / len(dealt)


@given(some, some)
def test_it_counts_every_way_of_dealing_out(one: list[int], other: list[int]) -> None:
    """The p of small samples, with ties too, is that of all ways of dealing out their values."""
    assert rank_sum_p(one, other) == pytest.approx(by_hand(one, other), abs=1e-12)


@given(some, some)
def test_it_does_not_matter_which_comes_first_nor_in_which_unit(one: list[int], other: list[int]) -> None:
    """Samples changed for one another, or their values scaled, have the same p, and it is a probability."""
    p = rank_sum_p(one, other)
    assert (rank_sum_p(other, one), rank_sum_p([3 * v + 1 for v in one], [3 * v + 1 for v in other])) == (p, p)
    assert 0 < p <= 1


@given(st.integers(1, 12), st.integers(1, 12))
def test_samples_apart_have_the_least_p(one: int, other: int) -> None:
    """Two samples that do not overlap have the smallest p that their sizes allow."""
    assert (
        rank_sum_p(range(one), range(100, 100 + other))
        == pytest.approx(least_p(one, other))
        == min(1, 2 / comb(one + other, one))
    )


def test_a_published_table() -> None:
    """U = 2 of five and five values is p = 0.032, as the tables of the test print it."""
    assert round(rank_sum_p([1, 2, 3, 4, 7], [5, 6, 8, 9, 10]), 4) == 0.0317


@pytest.mark.parametrize("shift", [0, 2, 5, 9])
def test_the_normal_curve_goes_on_where_counting_ends(shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty values and twenty have nearly the p by the normal curve that counting gives."""
    one, other = [float(v) for v in range(20)], [v + shift + 0.5 for v in range(20)]
    counted = rank_sum_p(one, other)
    monkeypatch.setattr(measurement, "EXACT", 0)
    assert rank_sum_p(one, other) == pytest.approx(counted, abs=0.004)


def test_what_does_not_differ_shows_nothing() -> None:
    """Values that are all equal, in samples of any size, and an empty sample have p 1."""
    assert [rank_sum_p([1.0] * n, [1.0] * n) for n in (3, 30)] + [rank_sum_p([], [1.0]), least_p(0, 3)] == [1, 1, 1, 1]
