"""How ranks are dealt over parts."""

import pytest

from advisor.jobs.place_cores import distributed


@pytest.mark.parametrize(
    ("count", "room", "shares"),
    [
        (8, [4, 4, 4, 4], [2, 2, 2, 2]),
        (10, [4, 4, 4, 4], [3, 3, 2, 2]),
        (10, [1, 4, 4, 4], [1, 3, 3, 3]),
        (11, [1, 4, 4, 4], [1, 4, 3, 3]),
        (99, [1, 4], [1, 4]),
        (0, [3, 3], [0, 0]),
        (5, [], []),
    ],
)
def test_even(count: int, room: list[int], shares: list[int]) -> None:
    """Each gets the same as far as there is room, and the first of those that could take more get one more."""
    assert distributed(count, room) == shares


@pytest.mark.parametrize(
    ("count", "shares"), [(1, [1, 0, 0, 0, 0, 0]), (2, [1, 0, 0, 1, 0, 0]), (4, [1, 1, 0, 1, 1, 0]), (8, [2, 1, 1, 2, 1, 1])]
)
def test_spaced(count: int, shares: list[int]) -> None:
    """What is left over goes to both sockets alike."""
    keys = [(socket, node) for socket in (0, 1) for node in (0, 1, 2)]
    assert distributed(count, [9] * 6, keys) == shares
