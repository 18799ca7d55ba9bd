"""A memo of readings changes no answer: with it and without it a capture is the same Machine."""

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from advisor.errors import AdvisorError
from advisor.machine.hosts.source import open_host
from advisor.machine.machine import Machine
from advisor.machine.sources.fault_counters import look
from advisor.machine.sources.registry import CaptureReader, collect_machine
from tests.examples import examples
from tests.fleet.planted import noise, shape

SORTS = ("haswell", "haswell cod", "haswell slot", "naples")
SHARED = CaptureReader()
"""One memo for all examples, as a fleet's: what one capture taught it another must not be told wrongly."""


def mutated(sort: str, seed: int, cuts: int) -> bytes:
    """Return a capture with a node's noise, in which some files hold other bytes, digits or nothing."""
    chance, own = random.Random(seed), shape(sort)  # noqa: S311 - no secret
    changes = noise(own, f"n{seed}", chance)
    for path in chance.sample(sorted(own.members), cuts):
        content = bytearray(changes.get(path, own.content(path)))
        if content:
            content[chance.randrange(len(content))] = chance.choice(b"0123456789\n \xff")
        changes[path] = bytes(content if chance.random() < 0.8 else content[: len(content) // 2])
    return own.copy(changes)


def told(data: bytes, folder: Path, reader: CaptureReader | None) -> Machine | str:
    """Return the Machine of a capture, or what is wrong with it."""
    file = folder / "node.tar.gz"
    file.write_bytes(gzip.compress(data, 1))
    try:
        return collect_machine(open_host(str(file))) if reader is None else reader.read(file)[0]
    except AdvisorError as error:
        return str(error)


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sort=st.sampled_from(SORTS), seed=st.integers(0, 10_000), cuts=st.integers(0, 12))
def test_a_memo_changes_no_machine(tmp_path: Path, sort: str, seed: int, cuts: int) -> None:
    """Whatever was read before, a capture is the Machine that it is without a memo: facts, sources and gaps."""
    data = mutated(sort, seed, cuts)
    assert told(data, tmp_path, SHARED) == told(data, tmp_path, None)


@pytest.mark.slow
@examples(600, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sort=st.sampled_from(SORTS), seed=st.integers(0, 10**9), cuts=st.integers(0, 60))
def test_a_memo_changes_no_machine_of_many(tmp_path: Path, sort: str, seed: int, cuts: int) -> None:
    """The same of hundreds of captures, one after the other."""
    data = mutated(sort, seed, cuts)
    assert told(data, tmp_path, SHARED) == told(data, tmp_path, None)


def test_counters_are_read_of_each_capture(tmp_path: Path) -> None:
    """The paths of counters are shared, what they say is not."""
    reader, own = CaptureReader(), shape("haswell")
    counts = []
    for seed in (1, 2):
        file = tmp_path / f"n{seed}.tar.gz"
        file.write_bytes(gzip.compress(own.copy(noise(own, "n", random.Random(seed))), 1))  # noqa: S311 - no secret
        _, host, sharing = reader.read(file)
        counts.append((look(sharing), look(host)))
    assert (counts[0][0] == counts[0][1], counts[1][0] == counts[1][1], counts[0] == counts[1]) == (True, True, False)


def test_what_was_asked_before_is_not_asked_again(tmp_path: Path) -> None:
    """Of a second capture that differs in names and free memory alone no folder of a CPU is looked at."""
    reader, own = CaptureReader(), shape("haswell")
    seen = []
    for seed in (1, 2):
        file = tmp_path / f"n{seed}.tar.gz"
        file.write_bytes(gzip.compress(own.copy(noise(own, "n", random.Random(seed))), 1))  # noqa: S311 - no secret
        machine, _, _ = reader.read(file)
        assert machine.topology is not None
        seen.append(machine.topology.cores)
    assert seen[0][0] is seen[1][0]
