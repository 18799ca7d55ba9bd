"""Measurements become facts for rules."""

import pytest

from advisor.advice.judge.case import Case, case_of
from advisor.advice.judge.measured import measured_facts, with_measurements
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import Measurements, Missing
from advisor.measure.platform import match_platform
from tests.judge.measuring import World, measured
from tests.model.shapes import NAPLES, ROME, shape

TWO = Machine(name="n1", topology=shape(2, 4, 8, 32), cpu=NAPLES.model_copy(update={"base_hz": 2_200_000_000}))
"""Two sockets of four nodes, two L3 groups of four cores in each."""
WHOLE = Machine(name="n2", topology=shape(2, 1, 8, 32), cpu=ROME)
"""A NUMA node is a socket."""


def case(machine: Machine) -> Case:
    """Return what rules may ask of a machine."""
    return case_of(machine, infer_layout(machine), match_platform(machine))


def facts(machine: Machine = TWO, world: World | None = None, what: str = "quick") -> MeasuredFacts:
    """Return what rules may ask of a machine's measurements."""
    return measured_facts(measured(machine, world, what), case(machine))


def test_nothing_measured_leaves_the_case_as_it_is() -> None:
    """Without measurements there are no facts, not facts of nothing."""
    assert with_measurements(case(TWO), None).measured is None
    assert with_measurements(case(TWO), measured(TWO)).measured == facts()


def test_when_it_was_measured_and_whether_undisturbed() -> None:
    """The time to the minute; who worked meanwhile."""
    busy = facts(world=World(idle=False))
    assert (facts().when, facts().idle, busy.idle) == ("2026-11-21 12:00", True, False)
    assert busy.busy == ("user alice runs xhpl on 32 CPUs",)


def test_parts_are_those_of_the_machine() -> None:
    """The quick set measures the machine, sockets, NUMA nodes and L3 groups; each with its own number."""
    found = facts()
    assert found.machine
    counts = [len(parts or ()) for parts in (found.cores, found.groups, found.nodes, found.sockets)]
    assert counts == [1, 16, 8, 2]
    assert found.machine.triad == pytest.approx(320e9)


def test_a_part_that_is_a_larger_one_has_its_results() -> None:
    """One NUMA node a socket is measured once, as the socket."""
    found = facts(WHOLE)
    assert [(node.index, node.triad) for node in found.nodes or ()] == [(0, 40e9), (1, 40e9)]


def test_one_core_of_each_l3_group_against_all() -> None:
    """The ratio of both triads, as the placement takes it."""
    assert facts(world=World(crowd=0.5)).one_core_per_l3 == pytest.approx(192 / 160, rel=0.01)


def test_the_clock_and_the_peak() -> None:
    """The clock while all cores compute, beside the base clock; the rate beside the peak at that clock."""
    found = facts(world=World(clock=1.1e9, flops=6))
    assert [(clock.isa, clock.share) for clock in found.clocks or ()] == [("avx2", 0.5)]
    assert found.flops
    assert (found.flops.cores, found.flops.share) == pytest.approx((64, 6 / 8))


def test_scalar_and_vector_clocks_are_told_apart() -> None:
    """A full run has both."""
    assert {clock.isa for clock in facts(world=World(isa="avx512"), what="full").clocks or ()} == {"scalar", "avx512"}


def test_what_is_not_believed_counts_for_nothing() -> None:
    """A refused result is listed with its reason, and in no other fact."""
    run = measured(TWO)
    wrong = tuple(
        each if each.part != "machine" else each.model_copy(update={"refused": "instrument error"}) for each in run.results
    )
    found = measured_facts(run.model_copy(update={"results": wrong}), case(TWO))
    assert (found.machine, found.one_core_per_l3, found.flops and found.flops.cores) == (None, None, 1)
    assert {each.why for each in found.refused} == {"instrument error"}


def test_tasks_without_a_result_are_named() -> None:
    """What is missing is missing, with its name."""
    empty = measured(TWO).model_copy(update={"results": (), "missing": (Missing(task="membw/part/l3/3/load", why="killed"),)})
    found = measured_facts(empty, case(TWO))
    assert (found.missing, found.machine, found.groups, found.caches) == (("membw/part/l3/3/load",), None, None, None)


def test_the_widest_spread_is_named() -> None:
    """A reader sees how noisy the run was."""
    assert facts(world=World(apart=0.2)).worst_spread == pytest.approx(0.2)


def test_measurements_of_an_empty_machine() -> None:
    """Measurements without a topology beside them yield what they say themselves."""
    alone: Measurements = measured(TWO)
    assert len(measured_facts(alone, case_of(Machine(), None, None)).groups or ()) == 16
