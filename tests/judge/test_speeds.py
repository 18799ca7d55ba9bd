"""Bandwidths and latencies of parts, beside their siblings."""

import pytest

from advisor.advice.judge.case import case_of
from advisor.advice.judge.measured import interleaving, remote_memory, speeds
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import Way
from advisor.measure.measurement import Measurements
from advisor.measure.platform import match_platform
from tests.judge.measuring import World, measured
from tests.model.shapes import NAPLES, shape

TWO = Machine(name="n1", topology=shape(2, 4, 8, 32), cpu=NAPLES)
CASE = case_of(TWO, infer_layout(TWO), match_platform(TWO))


def quick(**world: object) -> Measurements:
    """Return what the machine measures in a world."""
    return measured(TWO, World(**world))  # type: ignore[arg-type]


def test_a_node_that_lost_a_dimm_stands_out() -> None:
    """Its share is that of the others' median, which it does not lower itself."""
    nodes = speeds(quick(nodes={3: 0.7}), "numa", CASE) or ()
    assert [round(node.share or 0, 2) for node in nodes] == [1.0, 1.0, 1.0, 0.7, 1.0, 1.0, 1.0, 1.0]
    assert nodes[3].siblings == pytest.approx(40e9)


def test_half_of_the_nodes_being_slow_does_not_hide_them() -> None:
    """The median of the others is that of the faster half for each slow one."""
    nodes = speeds(quick(nodes={0: 0.7, 1: 0.7, 2: 0.7, 3: 0.7}), "numa", CASE) or ()
    assert [node.index for node in nodes if (node.share or 0) < 0.85] == [0, 1, 2, 3]


def test_l3_groups_are_compared_inside_their_node() -> None:
    """A node without a DIMM slows both of its groups: that is the node's fault, and no group's."""
    groups = speeds(quick(nodes={3: 0.5}, core=12e9), "l3", CASE) or ()
    assert [group.index for group in groups if (group.share or 0) < 0.85] == []
    slow = speeds(quick(groups={6: 0.5}), "l3", CASE) or ()
    assert [group.index for group in slow if (group.share or 0) < 0.85] == [6]


def test_the_better_stores_count() -> None:
    """Triad is that with streaming stores where those are faster; both are kept."""
    (whole,) = speeds(quick(), "machine", CASE) or ()
    assert (whole.triad, whole.regular, whole.streaming) == pytest.approx((320e9, 240e9, 320e9))


def test_too_few_repeats_tell_no_spread() -> None:
    """Of two repeats nobody knows how far apart more would lie."""
    run = quick()
    short = tuple(each.model_copy(update={"values": each.values[:2]}) for each in run.results)
    (whole,) = speeds(run.model_copy(update={"results": short}), "machine", CASE) or ()
    assert (whole.spread, whole.triad is None) == (None, False)


def test_a_lonely_part_has_no_siblings() -> None:
    """The machine is compared with nothing inside it."""
    (whole,) = speeds(quick(), "machine", CASE) or ()
    assert (whole.siblings, whole.share) == (None, None)


def test_remote_memory_against_local() -> None:
    """Bandwidth as a share, latency as a multiple, and what the platform's publication says of the same."""
    found = remote_memory(quick(), CASE) or ()
    assert [way.distance for way in found] == ["same-socket", "other-socket"]
    assert [way.bandwidth for way in found] == pytest.approx([0.7, 0.35])
    assert [way.latency for way in found] == pytest.approx([1.4, 2.0])
    assert [(way.published, way.ref) for way in found] == [(0.7, "dell-naples-2018"), (0.35, "dell-naples-2018")]


def test_nothing_remote_was_measured() -> None:
    """One node has no other."""
    one = Machine(name="n1", topology=shape(1, 1, 2, 8))
    assert remote_memory(measured(one), case_of(one, infer_layout(one), None)) is None


def test_interleaving_is_estimated_from_the_ways() -> None:
    """Three of four lines take 1/0.7 as long: on average 1.32 times the local time."""
    way = Way(distance="same-socket", bandwidth=0.7, spread=0.02)
    gain = interleaving([way], CASE)
    assert gain
    assert (gain.ratio, gain.spread) == pytest.approx(((1 + 3 / 0.7) / 4, 0.02))


def test_interleaving_needs_several_nodes() -> None:
    """Without memory of another node of the socket nothing can be said."""
    assert interleaving([Way(distance="other-socket", bandwidth=0.35)], CASE) is None
    assert interleaving([], CASE) is None
