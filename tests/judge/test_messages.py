"""Messages between hosts become facts of the adapters that they went through."""

from collections.abc import Mapping

import pytest

from advisor.advice.judge.case import Case, case_of
from advisor.advice.judge.measured import adapter_ways, adapters, measured_facts
from advisor.machine.hardware import Hca, Locality, Port
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import AdapterWay, MeasuredAdapter
from advisor.measure.measurement import Measurements
from advisor.measure.platform import match_platform
from tests.judge.sending import Fabric, sent
from tests.model.shapes import NAPLES, shape

EDR = Port(number=1, state="active", rate=100_000_000_000, rate_name="4X EDR", link_layer="infiniband")
CARD = Hca(name="mlx5_0", kind="MT4119", locality=Locality(numa_nodes=(6,)), ports=(EDR,))
TWO = Machine(
    name="n1", topology=shape(2, 4, 8, 32, slit=lambda i, j: 10 if i == j else 16 if i // 4 == j // 4 else 28), cpu=NAPLES
)
R7425 = TWO.model_copy(update={"hcas": (CARD,)})
"""The server of article [000]: eight NUMA nodes of eight cores, the adapter at node 6."""
PLAIN = Machine(
    name="n2", topology=shape(2, 1, 4, 32), hcas=(CARD.model_copy(update={"locality": Locality(numa_nodes=(1,))}),), cpu=NAPLES
)
"""A NUMA node is a socket."""


def case(machine: Machine = R7425) -> Case:
    """Return what rules may ask of a machine."""
    return case_of(machine, infer_layout(machine), match_platform(machine))


def adapter(fabric: Fabric | None = None, machine: Machine = R7425) -> MeasuredAdapter:
    """Return what the one adapter gave."""
    (found,) = adapters(sent(machine, fabric), case(machine))
    return found


def by_distance(fabric: Fabric | None = None) -> Mapping[str, AdapterWay]:
    """Return what is kept at each distance."""
    return {way.distance: way for way in adapter_ways(sent(R7425, fabric), case())}


def changed(run: Measurements, **details: object) -> Measurements:
    """Return a run whose results told something else."""
    results = tuple(each.model_copy(update={"details": {**each.details, **details}}) for each in run.results)
    return run.model_copy(update={"results": results})


def test_the_table_of_the_article() -> None:
    """12.3 GB/s on the adapter's NUMA node, 12.1 on its socket, 6.8 on the other: 45 % are lost there."""
    found = adapter()
    reached = [(part.bandwidth, part.pairs) for part in (found.near, found.same_socket, found.other_socket) if part]
    assert reached == [(12.3e9, 8), (12.1e9, 8), (6.8e9, 8)]
    assert found.gap == pytest.approx(1 - 6.8 / 12.3)


def test_an_adapter_says_between_whom_and_by_what() -> None:
    """Its name, the hosts, the MPI and what bounds it."""
    found = adapter()
    assert (found.name, found.hosts, found.launcher) == ("mlx5_0", ("n1", "n2"), "openmpi4 4.1.4")
    assert (found.line, found.limit, found.of_path) == (12.5e9, "100 Gbit/s (4X EDR)", False)


def test_the_line_is_held_against_the_best_beside_it() -> None:
    """One rank or all cores, whichever is faster; a far place does not count."""
    found = adapter(Fabric(reach={"local": 10e9, "same-socket": 12e9, "other-socket": 6e9}))
    assert (found.bandwidth, found.share, found.spread) == pytest.approx((10e9, 0.8, 0.01))


def test_a_pcie_path_is_told_from_a_port() -> None:
    """The slot of an adapter bounds it otherwise than its cable."""
    assert adapter(Fabric(limit="PCIe, 8 GT/s x8")).of_path is True


def test_a_line_that_is_not_known_leaves_the_share_unknown() -> None:
    """Nothing is divided by what nobody knows."""
    found = adapter(Fabric(line=None))
    assert (found.line, found.share, found.limit, found.of_path) == (None, None, None, None)


def test_messages_are_counted_at_the_smallest_size() -> None:
    """What the kernel counted; the most of any place, with the pairs that sent them."""
    found = adapter(Fabric(each=2e6))
    assert found.near
    told = (found.near.messages, found.messages, found.messages_pairs)
    assert told == pytest.approx((16e6, 64 * 2e6 * 12.2 / 12.3, 64))


def test_large_messages_tell_no_rate() -> None:
    """A run with nothing below 1 KiB counts no messages."""
    run = sent(R7425)
    large = run.model_copy(update={"results": tuple(each for each in run.results if each.bytes != 8)})
    (found,) = adapters(large, case())
    assert (found.messages, found.near and found.near.messages) == (None, None)


def test_sockets_and_the_whole_machine() -> None:
    """All cores of the adapter's socket, of the other one, and of both."""
    found = adapter()
    reached = [(part.bandwidth, part.pairs) for part in (found.socket, found.far_socket, found.everyone) if part]
    assert reached == [(12.3e9, 32), (6.8e9, 32), (12.2e9, 64)]


def test_a_socket_that_is_one_numa_node_was_measured_as_that() -> None:
    """The same cores are not measured twice, and stand for both."""
    found = adapter(machine=PLAIN)
    assert found.socket == found.near is not None
    assert found.far_socket == found.other_socket is not None


def test_one_rank_near_and_far() -> None:
    """Latency, one way and both ways, beside the adapter and as far as can be."""
    found = adapter()
    assert found.one
    assert found.one_far
    assert (found.one.latency, found.one.bandwidth, found.one.both) == (1.1e-6, 12.3e9, 24.6e9)
    assert found.one_far.latency == pytest.approx(1.43e-6)


def test_far_places_as_a_share_of_near_ones() -> None:
    """Median over the nodes at each distance, with what the article of this platform gives."""
    found = by_distance()
    published = {distance: (way.published, way.ref) for distance, way in found.items()}
    assert published == {"same-socket": (0.98, "dell-naples-2018"), "other-socket": (0.55, "dell-naples-2018")}
    assert [way.bandwidth for way in found.values()] == pytest.approx([12.1 / 12.3, 6.8 / 12.3])
    assert [way.latency for way in found.values()] == pytest.approx([None, 1.3])


def test_a_spread_is_the_wider_of_near_and_far() -> None:
    """What is compared must hold still on both sides."""
    assert by_distance(Fabric(apart=0.3))["other-socket"].spread == pytest.approx(0.3)


def test_too_few_repeats_tell_no_spread() -> None:
    """Of two repeats nobody can say how far they lie apart."""
    run = sent(R7425)
    short = run.model_copy(update={"results": tuple(each.model_copy(update={"values": each.values[:2]}) for each in run.results)})
    assert [way.spread for way in adapter_ways(short, case())] == [None, None]


@pytest.mark.parametrize(
    "told",
    [{"across": 0}, {"hca": ""}, {"hca": 7}, {"way": "chosen by the MPI library"}],
    ids=["inside one host", "no adapter", "no word", "the MPI chose"],
)
def test_messages_that_may_have_gone_elsewhere_are_of_no_adapter(told: dict[str, object]) -> None:
    """Shared memory, TCP, or whatever an MPI takes that was told nothing."""
    run = changed(sent(R7425), **told)
    assert (adapters(run, case()), adapter_ways(run, case())) == ((), ())


def test_what_is_refused_counts_for_nothing() -> None:
    """Ranks elsewhere than planned tell nothing of their plan."""
    run = sent(R7425)
    refused = tuple(each.model_copy(update={"refused": "rank 0 was on CPUs 1, but the plan has 0"}) for each in run.results)
    assert adapters(run.model_copy(update={"results": refused}), case()) == ()


def test_an_adapter_whose_node_is_not_known_has_no_near_and_far() -> None:
    """All cores are measured, and nothing is called near."""
    lost = R7425.model_copy(update={"hcas": (CARD.model_copy(update={"locality": None}),)})
    run = changed(sent(R7425), hca_distance="")
    (found,) = adapters(run, case(lost))
    assert (found.near, found.share, found.gap, found.everyone is not None) == (None, None, None, True)
    assert adapter_ways(run, case(lost)) == ()


def test_the_same_adapter_between_other_hosts() -> None:
    """Three pairs of hosts, one of which is slow: it stands against the median of the others."""
    slow = Fabric(hosts=("n1", "n4"), reach={"local": 6e9, "same-socket": 6e9, "other-socket": 5e9})
    runs = [sent(R7425, fabric) for fabric in (Fabric(), Fabric(hosts=("n1", "n3")), slow)]
    joined = runs[0].model_copy(update={"results": tuple(each for run in runs for each in run.results)})
    found = {one.hosts[1]: one.of_others for one in adapters(joined, case())}
    assert found == pytest.approx({"n2": 12.3 / 9.15, "n3": 12.3 / 9.15, "n4": 6 / 12.3})


def test_words_that_are_none_are_not_taken_for_figures() -> None:
    """A file is anybody's: texts where numbers belong, and truth values, tell nothing."""
    run = changed(sent(R7425), pairs=True, messages="many", line=3)
    (found,) = adapters(run, case())
    assert (found.limit, found.of_path, found.near and found.near.pairs) == (None, None, None)


def test_a_run_of_messages_has_facts_and_one_of_memory_has_none() -> None:
    """Measured without messages, there are no adapters, which is known."""
    empty = sent(R7425).model_copy(update={"results": ()})
    assert len(measured_facts(sent(R7425), case()).adapters) == 1
    assert measured_facts(empty, case()).adapters == ()
