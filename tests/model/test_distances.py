from collections.abc import Callable

import pytest

from advisor.model.hardware.cpu import Scheme
from advisor.model.hardware.layout import judge_distances
from tests.model.shapes import shape


def naples(i: int, j: int) -> int:
    """Return a PowerEdge R7425's full table: dies of the two sockets are linked in pairs."""
    return 10 if i == j else 16 if i // 4 == j // 4 else 22 if i % 4 == j % 4 else 28


def three(i: int, j: int) -> int:
    """Return the same machine's simplified table."""
    return 10 if i == j else 16 if i // 4 == j // 4 else 32


def flat(i: int, j: int) -> int:
    """Return a table that knows no sockets."""
    return 10 if i == j else 20


def backwards(i: int, j: int) -> int:
    """Return a table in which the other socket is nearer than the own."""
    return 10 if i == j else 32 if i // 4 == j // 4 else 12


def lopsided(i: int, j: int) -> int:
    """Return a table whose ways there and back differ."""
    return 10 if i == j else 12 if i < j else 14


def inside_out(i: int, j: int) -> int:
    """Return a table in which a node is farther from itself than from others."""
    return 20 if i == j else 12


@pytest.mark.parametrize(
    ("slit", "scheme", "expected"),
    [
        (naples, Scheme.DIES, "full"),
        (three, Scheme.DIES, "simplified"),
        (three, Scheme.NPS, "full"),
        (flat, Scheme.NPS, "simplified"),
        (backwards, Scheme.NPS, "contradicting"),
        (lopsided, Scheme.NPS, "contradicting"),
        (inside_out, Scheme.NPS, "contradicting"),
    ],
)
def test_tables(slit: Callable[[int, int], int], scheme: Scheme, expected: str) -> None:
    """A table is full, simplified or impossible by what it says of sockets and by what the processor links."""
    assert judge_distances(shape(2, 4, 8, 32, slit=slit), scheme).name == expected


def test_one_node_needs_no_table() -> None:
    """A machine of one node has no distances, and the reason is not a fault."""
    assert judge_distances(shape(1, 1, 1, 4), Scheme.WHOLE).why == ("one NUMA node needs none",)


def test_missing_table() -> None:
    """Several nodes without a table are said to have none."""
    bare = shape(2, 1, 1, 4).model_copy(update={"distances": None})
    assert judge_distances(bare, Scheme.NPS).why == ("the kernel shows no distances",)
