"""What an archive that is like another differs in: nothing more and nothing less than a whole unpacking finds."""

import random

from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hosts.source import Tar, unpack
from advisor.machine.sources.registry import Pattern
from tests.examples import examples
from tests.fleet.planted import noise, shape


def pattern() -> Pattern:
    """Return the pattern of a capture."""
    data = shape("haswell").data
    tar = Tar(data, "a")
    return Pattern(data, tar.nodes(), tar.members, "a")


PATTERN = pattern()


@examples(40)
@given(seed=st.integers(0, 10_000))
def test_the_files_that_differ_are_found(seed: int) -> None:
    """The pattern with the changes is what unpacking gives."""
    own = shape("haswell")
    data = own.copy(noise(own, f"node{seed}", random.Random(seed)))  # noqa: S311 - no secret
    changes = PATTERN.changes(data)
    assert changes is not None
    assert {**PATTERN.nodes, **changes} == unpack(data, "b")


def test_an_archive_with_other_members_is_not_alike() -> None:
    """Another kind of machine, and a capture that was cut short, are unpacked as any other."""
    own = shape("haswell").data
    assert [PATTERN.changes(data) for data in (shape("naples").data, own[:50_000], b"", own[512:])] == [None] * 4


def test_another_time_of_change_is_no_difference() -> None:
    """A script's archive has the time of each file in its header."""
    data = bytearray(shape("haswell").data)
    data[136:148] = b"00000001234\0"
    data[148:156] = b"        "
    data[148:156] = b"%06o\0 " % sum(data[:512])
    assert PATTERN.changes(bytes(data)) == {}


def test_a_header_that_was_damaged_is_not_taken() -> None:
    """Its checksum does not hold: the whole reader says what is wrong."""
    data = bytearray(shape("haswell").data)
    data[130] ^= 1
    assert PATTERN.changes(bytes(data)) is None


def test_members_in_another_order_are_compared_by_their_names() -> None:
    """A folder's order is another on each file system."""
    nodes = dict(reversed(PATTERN.nodes.items()))
    path = next(path for path, node in nodes.items() if isinstance(node, bytes) and node)
    assert (PATTERN.difference(nodes), PATTERN.difference({**nodes, path: b"x"})) == ({}, {path: b"x"})
    assert PATTERN.difference({**nodes, "/new": b"x"}) is None
