"""What cannot be placed at all, each refusal to the letter; and what comes near to it and can."""

import pytest

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Hca, Locality
from advisor.machine.machine import Machine
from tests.model import shapes

NODE = shapes.machine(shapes.shape(2, 2, 4, 8, threads=2))
"""Two sockets of two NUMA nodes, sixteen cores with two threads each."""


def refused(job: JobShape, *machines: Machine, allowed: CpuSet | None = None) -> str:
    """Return the one line that refuses a job."""
    with pytest.raises(BadValue) as caught:
        place(job, machines, allowed=allowed)
    return str(caught.value)


@pytest.mark.parametrize(
    ("job", "machines", "allowed", "line"),
    [
        (
            JobShape(ranks=1), (Machine(),), None,
            "this input has no topology; read it from lstopo XML, a capture or the machine itself",
        ),
        (
            JobShape(ranks=1), (NODE,), CpuSet(),
            "no CPU is free for the job; check the job's cgroup and CPU affinity (taskset -p)",
        ),
        (
            JobShape(ranks=1, hosts=("a", "b")), (NODE, NODE, NODE), None,
            "2 hosts but 3 machines; name every host, or give one machine for all",
        ),
        (
            JobShape(strategy="hca-near"), (NODE,), None,
            "hca-near needs an adapter, but this node shows none; try --strategy balanced",
        ),
    ],
)  # fmt: skip
def test_a_job_without_a_place_is_refused(
    job: JobShape, machines: tuple[Machine, ...], allowed: CpuSet | None, line: str
) -> None:
    """The line says what is missing and where it may be got."""
    assert refused(job, *machines, allowed=allowed) == line


def test_ranks_on_hardware_threads_are_counted_in_those() -> None:
    """With --smt use it is hardware threads that are too few."""
    cores, threads = 16, 32
    assert NODE.topology is not None
    assert (len(NODE.topology.cores), len(NODE.topology.pus)) == (cores, threads)
    line = f"33 ranks x 1 thread need 33 hardware threads, but only {threads} are free; try {threads} ranks x 1 thread"
    assert refused(JobShape(ranks=33, smt="use"), NODE) == line


def without_l3(some: bool) -> Machine:
    """Return the node without its L3 groups, or without the first alone."""
    assert NODE.topology is not None
    return NODE.model_copy(update={"topology": NODE.topology.model_copy(update={"l3": NODE.topology.l3[1:] if some else ()})})


def test_some_l3_groups_are_enough_to_count_in() -> None:
    """Where no core has an L3 group ranks cannot be counted in them; where some have, they can."""
    assert refused(JobShape(per="l3"), without_l3(some=False)) == (
        "no L3 groups are known on this node; use numa, socket, core or node"
    )
    assert place(JobShape(per="l3"), [without_l3(some=True)]).size > 0


def with_adapters(*nodes: int) -> Machine:
    """Return the node with an adapter at each of some NUMA nodes."""
    hcas = tuple(
        Hca(name=f"mlx5_{at}", address=f"0000:{at}1:00.0", locality=Locality(numa_nodes=(node,))) for at, node in enumerate(nodes)
    )
    return NODE.model_copy(update={"hcas": hcas})


@pytest.mark.parametrize(("nodes", "strategy"), [((0, 2), "per-hca"), ((2, 2), "spread-numa")])
def test_adapters_of_one_node_share_the_ranks_near_it(nodes: tuple[int, int], strategy: str) -> None:
    """Ranks are dealt to adapters only where these are on different NUMA nodes."""
    made = place(JobShape(ranks=8, hosts=("a", "b")), [with_adapters(*nodes)])
    assert made.strategy == strategy


def test_an_adapter_that_was_asked_for_serves_every_rank() -> None:
    """Whatever the strategy, but for one that deals ranks to adapters."""
    made = place(JobShape(ranks=4, near="mlx5_1", strategy="compact"), [with_adapters(0, 2)])
    assert {rank.slot.hca for rank in made.ranks()} == {"mlx5_1"}
    dealt = place(JobShape(ranks=4, near="mlx5_1", strategy="per-hca"), [with_adapters(0, 2)])
    assert {rank.slot.hca for rank in dealt.ranks()} == {"mlx5_0", "mlx5_1"}


@pytest.mark.parametrize(("ranks", "strategy"), [(3, "spread-numa"), (4, "spread-numa"), (8, "spread-numa"), (6, "balanced")])
def test_ranks_that_go_evenly_into_nodes_are_dealt_to_them(ranks: int, strategy: str) -> None:
    """Where a node has no more than one L3 group, as many ranks as nodes or a multiple of them are spread over the nodes."""
    one_l3_a_node = shapes.machine(shapes.shape(2, 2, 2, 8))
    made = place(JobShape(ranks=ranks), [one_l3_a_node])
    assert made.strategy == strategy


def test_cores_of_which_a_part_is_free_are_named() -> None:
    """A core is partly free where one of its threads is not the job's; none is where all of them are."""

    def told(allowed: CpuSet | None) -> list[str]:
        return [note for note in place(JobShape(ranks=1), [NODE], allowed=allowed).notes if "only some threads" in note]

    assert NODE.topology is not None
    whole = NODE.topology.pus
    assert (told(None), told(whole - CpuSet((0, 16)))) == ([], [])
    assert [note.partition(";")[0] for note in told(whole - CpuSet((16,)))] == [
        "the job may use only some threads of the cores of CPUs 0"
    ]
