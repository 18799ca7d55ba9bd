from collections.abc import Callable

import pytest

from advisor.machine.layout import judge_distances
from advisor.machine.platform_traits import Scheme
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


TABLES: tuple[tuple[Callable[[int, int], int], Scheme, str], ...] = (
    (naples, Scheme.DIES, "full"),
    (three, Scheme.DIES, "simplified"),
    (three, Scheme.NPS, "full"),
    (flat, Scheme.NPS, "simplified"),
    (backwards, Scheme.NPS, "contradictory"),
    (lopsided, Scheme.NPS, "contradictory"),
    (inside_out, Scheme.NPS, "contradictory"),
)


@pytest.mark.parametrize(("slit", "scheme", "expected"), TABLES)
def test_tables(slit: Callable[[int, int], int], scheme: Scheme, expected: str) -> None:
    """A table is full, simplified or impossible by what it says of sockets and by what the processor links."""
    assert judge_distances(shape(2, 4, 8, 32, slit=slit), scheme).name == expected


@pytest.mark.parametrize(
    ("slit", "scheme", "why"),
    [
        (naples, Scheme.DIES, "same socket 16, other socket 22 28"),
        (three, Scheme.NPS, "same socket 16, other socket 32"),
        (flat, Scheme.NPS, "nodes of the same socket and nodes of other sockets are equally far away"),
        (backwards, Scheme.NPS, "some nodes of one socket are 32 apart, but some nodes of different sockets are only 12 apart"),
        (lopsided, Scheme.NPS, "the distance from node 0 to 1 is 12, but from 1 to 0 it is 14"),
        (inside_out, Scheme.NPS, "node 1 is nearer to node 0 (12) than node 0 is to itself (20)"),
    ],
)
def test_a_table_is_judged_with_its_figures(slit: Callable[[int, int], int], scheme: Scheme, why: str) -> None:
    """The reason has the distances that decide."""
    assert judge_distances(shape(2, 4, 8, 32, slit=slit), scheme).why == (why,)


def test_one_node_needs_no_table() -> None:
    """A machine of one node has no distances, and the reason is not a fault."""
    assert judge_distances(shape(1, 1, 1, 4), Scheme.WHOLE).why == ("not needed for one NUMA node",)


def test_missing_table() -> None:
    """Several nodes without a table are said to have none."""
    bare = shape(2, 1, 1, 4).model_copy(update={"distances": None})
    assert judge_distances(bare, Scheme.NPS).why == ("the kernel reports no NUMA distances",)
