"""Intervals: they hold the truth, and never contradict the verdict."""

from collections import Counter
from random import Random

import pytest

from advisor.jobs.racing.proof import Race, hodges_lehmann, interval, median_interval, proves, two_speeds
from tests.tune.simulation import NOISES, Bench, raced

LEVELS = (0.025, 0.025)


def test_the_interval_holds_the_truth_nineteen_times_in_twenty() -> None:
    """Of 200 series that are stopped when something is proven, at least 95 % have an interval with the true difference."""
    dice, inside = Random(2), 0  # noqa: S311
    for _ in range(200):
        values = [dice.gauss(0.03, 0.03) for _ in range(dice.choice((10, 14, 20)))]
        found = interval(values, LEVELS)
        inside += found is not None and found[0] <= 0.03 <= found[2]
    assert inside >= 190


def test_zero_is_outside_exactly_where_the_test_refuses_it() -> None:
    """Whether all of the interval is above zero is what the test answers, in all of 100 series."""
    dice, both = Random(5), []  # noqa: S311
    for _ in range(100):
        values = [dice.gauss(0.012, 0.02) for _ in range(14)]
        found = interval(values, LEVELS)
        assert found is not None
        both.append((found[0] >= 0, proves(values, 0.0, LEVELS[0])))
    assert [pair for pair in both if pair[0] != pair[1]] == []
    assert {pair[0] for pair in both} == {True, False}


def test_too_few_values_have_no_interval() -> None:
    """Where no test can refuse anything yet there is no interval, rather than a narrow one."""
    assert interval([0.01, 0.02, 0.03, 0.02], LEVELS) is None
    assert interval([], LEVELS) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None


def test_the_medians_interval_is_that_of_the_tables() -> None:
    """Of ten values the second and the ninth hold the median with at least 95 % (97.9 %)."""
    assert median_interval([float(each) for each in range(1, 11)]) == (2.0, 9.0)


def test_one_wild_value_moves_the_middle_little() -> None:
    """The middle of differences is not that of an outlier."""
    assert abs(hodges_lehmann([1.0, 1.1, 0.9, 1.05, 0.95, 50.0]) - 1.0) < 0.15


def test_two_speeds_are_seen_and_one_is_not_made_two() -> None:
    """A line that runs at two speeds shows both; one with a tail has one."""
    dice = Random(1)  # noqa: S311
    assert two_speeds([10 + dice.gauss(0, 0.05) + at % 2 for at in range(20)]) is not None
    assert two_speeds([10 + dice.gauss(0, 0.05) for _ in range(20)]) is None
    assert two_speeds([10.0] * 19 + [15.0]) is None


def test_few_runs_of_one_speed_are_seldom_called_two() -> None:
    """Of 600 lines with normal noise, of 10 to 40 runs, at most one in fifty: a gap among few is often chance."""
    dice = Random(3)  # noqa: S311
    lines = [[10 + dice.gauss(0, 0.05) for _ in range(runs)] for runs in (10, 12, 16, 20, 30, 40) for _ in range(100)]
    assert sum(two_speeds(each) is not None for each in lines) <= 12


@pytest.mark.slow
def test_intervals_by_the_model_hold_the_truth_too() -> None:
    """Of lines that were left out early, under each kind of noise: at least 95 % of all, and 85 % of each kind."""
    held: dict[str, Counter[bool]] = {noise: Counter() for noise in NOISES}
    for noise in NOISES:
        for seed in range(30):
            dice = Random(f"{noise}{seed}")  # noqa: S311
            truth = [0.0, *(dice.choice((0, 0, 0.01, 0.03, 0.1, -0.03)) for _ in range(7))]
            race = Race(len(truth))
            raced(Bench(truth, dice.choice((0.01, 0.025, 0.05)), noise, dice), seed, race)
            for each in range(1, len(truth)):
                low, _, high, is_exact = race.interval(each) or (0.0, 0.0, 0.0, True)
                held[noise][low <= truth[each] <= high] += not is_exact
    assert {noise: dict(each) for noise, each in held.items() if each[True] < 0.85 * each.total()} == {}
    assert sum(each[False] for each in held.values()) <= 0.05 * sum(each.total() for each in held.values())
