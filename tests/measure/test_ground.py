import pytest

from advisor.errors import CannotWork
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.measure.resources import Resources
from tests.jobs.place.samples import machine
from tests.measure.samples import NAPLES, ROME, ground


def test_cores_stand_in_the_order_of_space() -> None:
    """The R7425 deals its numbers to the nodes in turn: the first die's two CCXs come first."""
    assert ground(NAPLES).order[:9] == (0, 16, 32, 48, 8, 24, 40, 56, 2)


def test_second_threads_are_left_out_unless_asked_for() -> None:
    """With SMT each core is one thread; asked for, the second threads come after all first ones."""
    smt = machine("b-c6525-2x7702-nps4-smt")
    assert (len(Resources(smt).order), len(Resources(smt, smt=True).order), Resources(smt, smt=True).order[128]) == (
        128,
        256,
        128,
    )


def test_parts_are_numbered_as_the_facts_are() -> None:
    """NUMA nodes go by the kernel's number, L3 groups and sockets by position, cores by their first CPU."""
    parts = {part: ground(NAPLES).pieces(part) for part in ("core", "l3", "numa", "socket", "machine")}
    assert [(len(found), found[-1].label) for found in parts.values()] == [
        (64, "core/63"),
        (16, "l3/15"),
        (8, "numa/7"),
        (2, "socket/1"),
        (1, "machine"),
    ]


def test_memory_is_local_on_the_socket_or_beyond() -> None:
    """Distances are told by sockets, and one hop from two by the firmware's table."""
    there = ground(NAPLES)
    seen = [there.towards((0,), node) for node in (0, 1, 4, 6)]
    assert [(view.distance, view.slit) for view in seen] == [
        ("local", 10),
        ("same-socket", 16),
        ("other-socket", 28),
        ("other-socket", 22),
    ]


def test_a_node_without_memory_takes_the_nearest() -> None:
    """Cores of a node whose DIMMs are missing use the next node of their socket."""
    there = ground("memoryless")
    view = there.memory_of(next(piece.cpus for piece in there.pieces("numa") if piece.index == 1))
    assert view.distance == "same-socket"


def test_only_what_a_job_has_is_measured() -> None:
    """In a cgroup of half the machine the other half is not there; a list of CPUs narrows it further."""
    half = ground("job-half-v2")
    assert (len(half.order), [piece.index for piece in half.pieces("numa")]) == (16, [0, 1, 2, 3])
    assert Resources(machine(ROME), CpuSet.parse("16-19")).order == (16, 17, 18, 19)


def test_nothing_to_measure_is_one_line() -> None:
    """An input without a topology, and CPUs that are not there, are refused."""
    with pytest.raises(CannotWork, match="no topology"):
        Resources(Machine())
    with pytest.raises(CannotWork, match="none of these CPUs"):
        Resources(machine(ROME), CpuSet.parse("500"))


def test_one_core_of_each_l3_group() -> None:
    """[dell-rome]'s sparse run has one core of each CCX."""
    there = ground(ROME)
    assert there.one_of_each_group(there.order) == tuple(range(0, 128, 4))
    assert there.reached_l3((0, 4)) == 32 << 20
