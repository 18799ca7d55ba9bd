"""Which strategy is chosen, and why."""

import pytest

from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Strategy
from advisor.measure.measurement import MeasuredForPlacement
from tests.jobs.place.samples import machine, placed
from tests.model import shapes

ROME = "b-c6525-2x7702-nps4"
TWO = ("a", "b")


@pytest.mark.parametrize(
    ("name", "job", "strategy", "why"),
    [
        (ROME, {"ranks": 128}, "compact", "128 ranks take every core, so consecutive ranks are on consecutive cores"),
        (ROME, {"ranks": 32}, "spread-l3", "32 ranks, 32 L3 groups: at most one in each"),
        (ROME, {"ranks": 64}, "spread-l3", "64 ranks, 32 L3 groups: 2 in each"),
        (ROME, {"ranks": 8}, "spread-numa", "8 ranks, 8 NUMA nodes: one node each"),
        (
            ROME,
            {"ranks": 40},
            "balanced",
            "40 ranks, 8 NUMA nodes, 32 L3 groups: spread over the nodes, then over their L3 groups",
        ),
        (ROME, {"ranks": 16, "threads": 4}, "hybrid", "the 4 threads of a rank share one L3 group of 4"),
        (
            ROME,
            {"ranks": 16, "threads": 8},
            "hybrid",
            "an L3 group holds only 4 of a rank's 8 threads; one NUMA node is large enough",
        ),
        (
            ROME,
            {"ranks": 2, "threads": 64},
            "hybrid",
            "an L3 group holds only 4 of a rank's 64 threads; even a NUMA node is too small",
        ),
        (ROME, {"ranks": 2, "hosts": TWO}, "hca-near", "one rank per node on 2 nodes: placed near mlx5_0"),
        (ROME, {"ranks": 8, "near": "mlx5_0"}, "hca-near", "cores near mlx5_0 were requested"),
        (ROME, {"per": "numa"}, "spread-numa", "ranks are counted per NUMA node"),
        (ROME, {"per": "l3"}, "spread-l3", "ranks are counted per L3 group"),
        ("two-hcas", {"ranks": 2}, "gpu-near", "2 ranks for 2 GPUs: 1 near each GPU"),
        (
            "two-hcas",
            {"ranks": 64, "hosts": TWO},
            "per-hca",
            "2 adapters on different NUMA nodes: each carries the messages of the ranks near it",
        ),
    ],
)
def test_choice(name: str, job: dict[str, object], strategy: Strategy, why: str) -> None:
    """The job's shape and the machine's choose."""
    made = placed(name, **job)
    assert (made.strategy, made.why[0]) == (strategy, why)


def test_what_failed_is_said() -> None:
    """A better strategy that does not fit is named with its reason."""
    made = placed("hca-unplaced", ranks=2, near="mlx5_0")
    assert (made.strategy, made.why[1]) == ("spread-numa", "not hca-near: the location of mlx5_0 is unknown")


def test_the_runner_up_seats_somebody_elsewhere() -> None:
    """Strategies that come to the same are passed over; where all do there is none."""
    assert placed(ROME, ranks=32, threads=4).runner_up is None
    assert placed(ROME, ranks=8).runner_up == (
        "compact",
        "ranks crowd onto the first nodes, leaving the other nodes' memory idle",
    )


def test_measured_messages() -> None:
    """Where the adapter's socket was measured to send twice the messages, ranks that fit there go there."""
    job = JobShape(ranks=64, hosts=TWO)
    made = place(job, [machine(ROME)], MeasuredForPlacement(near_messages=2.1))
    why = "measured: cores of mlx5_0's socket send 2.1 times as many messages as the others"
    assert (made.strategy, made.why[0]) == ("hca-near", why)
    assert place(job, [machine(ROME)], MeasuredForPlacement(near_messages=1.0)).strategy == "spread-l3"


def test_measured_bandwidth() -> None:
    """Where one core an L3 group was measured to gain nothing, ranks are not spread over the groups."""
    job = JobShape(ranks=32)
    measured = "measured: one core per group delivers 1.12 times the bandwidth of all cores"
    assert place(job, [machine(ROME)], MeasuredForPlacement(one_core_per_l3=1.12)).why == (
        f"32 ranks, 32 L3 groups: at most one in each; {measured}",
    )
    assert place(job, [machine(ROME)], MeasuredForPlacement(one_core_per_l3=1.0)).strategy == "balanced"


def test_latency_without_an_adapter_is_ranks_side_by_side() -> None:
    """Where no adapter has a known place, ranks that wait for short messages sit core beside core."""
    made = place(JobShape(ranks=4, purpose="latency"), [shapes.machine(shapes.shape(2, 2, 2, 8))])
    assert (made.strategy, [str(rank.slot.cpus) for rank in made.ranks()]) == ("compact", ["0", "1", "2", "3"])


@pytest.mark.parametrize(
    ("job", "notes"),
    [
        ({}, ("number of ranks not given: using as many as fit",)),
        (
            {"strategy": "spread-numa"},
            ("number of ranks not given: using one per NUMA node", "120 of 128 cores stay idle"),
        ),
        ({"strategy": "spread-l3"}, ("number of ranks not given: using one per L3 group", "96 of 128 cores stay idle")),
        ({"ranks": 8}, ("120 of 128 cores stay idle",)),
        ({"ranks": 128}, ()),
    ],
)
def test_what_was_not_said_and_what_stays_idle(job: dict[str, object], notes: tuple[str, ...]) -> None:
    """How many ranks there are where none were asked for, and the cores that no rank has."""
    assert placed(ROME, **job).notes == notes
