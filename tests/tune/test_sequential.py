"""The tests that may be looked at after every block: their errors are counted, not believed."""

from itertools import product
from random import Random

import pytest

from advisor.jobs.racing.proof import SignWalk, gaussian_limits, proves, spent, student_above


def crossed(sizes: list[float], level: float) -> float:
    """Return the share of all patterns of signs for which the walk is proof at any look."""
    signs = list(product((1, -1), repeat=len(sizes)))
    return sum(proves([sign * size for sign, size in zip(each, sizes, strict=True)], 0.0, level) for each in signs) / len(signs)


@pytest.mark.parametrize("sizes", [[1.0] * 12, [float(each) for each in range(1, 13)], [2.0**-each for each in range(12)]])
def test_the_error_holds_over_all_looks_for_any_sizes(sizes: list[float]) -> None:
    """Of all patterns of signs no larger share is proof than may be spent by then, however the sizes grow or shrink."""
    level = 0.2
    assert crossed(sizes, level) <= spent(level, len(sizes))


def test_the_error_is_nearly_used_up() -> None:
    """It is no empty promise: most of what may be spent is spent."""
    assert crossed([1.0 + at % 5 for at in range(12)], 0.2) > 0.7 * spent(0.2, 12)


@pytest.mark.parametrize(("lines", "blocks"), [(4, 8), (8, 9), (12, 10)])
def test_proof_takes_eight_to_ten_blocks(lines: int, blocks: int) -> None:
    """Where a line is faster in every block, proof among so many lines takes so many blocks and no fewer."""
    walk = SignWalk(0.05 / (lines - 1))
    for _ in range(20):
        walk.add(1.0)
    assert walk.proven_at == blocks


def test_a_disturbed_run_is_no_evidence() -> None:
    """A line that is seldom disturbed proves nothing over one that often is: equal lines, a quarter of one's runs 30 % longer."""
    dice, proven = Random(7), 0  # noqa: S311
    for _ in range(200):
        slow = [0.3 if dice.random() < 0.25 else 0.0 for _ in range(30)]
        proven += proves([dice.gauss(0, 0.01) + each for each in slow], 0.0, 0.05)
    assert proven <= 20


def test_a_block_without_a_difference_says_nothing() -> None:
    """Differences of zero, as of a coarse clock, are neither for nor against."""
    walk = SignWalk(0.05)
    for _ in range(100):
        walk.add(0.0)
    assert (walk.proven, walk.blocks) == (False, 100)


def test_a_race_may_go_on_forever() -> None:
    """Some error is left to spend after any number of blocks."""
    assert spent(0.05, 100) < spent(0.05, 1000) < spent(0.05, 10_000) < 0.05


def test_the_normal_limits_hold_over_all_looks() -> None:
    """Of 20,000 walks without a drift so many pass a limit as the level says, within what chance allows."""
    dice, limits, hits = Random(4), gaussian_limits(0.05, 20), 0  # noqa: S311
    for _ in range(20_000):
        total = 0.0
        for block in range(1, 21):
            total += dice.gauss(0, 1)
            if total >= limits[block] * block**0.5:
                hits += 1
                break
    assert abs(hits / 20_000 - spent(0.05, 20)) < 0.005


@pytest.mark.parametrize(
    ("value", "freedom", "chance"), [(2.015, 5, 0.05), (2.228, 10, 0.025), (1.96, 100_000, 0.025), (-2.015, 5, 0.95)]
)
def test_students_t_is_that_of_the_tables(value: float, freedom: int, chance: float) -> None:
    """The chances are those of any printed table."""
    assert round(student_above(value, freedom), 3) == chance
