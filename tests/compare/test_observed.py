from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.jobs.observe import Comparison, GatheredReports, Observation, PlannedRank, planned_ranks, same_host
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.jobs.verdict import compare_ranks
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from tests.counting import calls
from tests.examples import examples
from tests.model.shapes import machine, shape

EIGHT = shape(2, 2, 2, 8)
"""Two sockets of two nodes, 16 cores, one L3 group a node."""


def ranks(*cpus: str, host: str | None = None, first: int = 0, memory: tuple[int, ...] | None = None) -> list[PlannedRank]:
    """Return ranks on a host, planned on these CPUs."""
    sets = enumerate(cpus)
    return [PlannedRank(rank=first + i, host=host, local=i, cpus=CpuSet.parse(c), memory=memory, nodes=memory) for i, c in sets]


def saw(*cpus: str, host: str = "n1", first: int = 0, policy: str = "default", mems: str = "0-3") -> list[Observation]:
    """Return what ranks on a host saw."""
    nodes = CpuSet.parse(mems)
    return [Observation(rank=first + i, host=host, cpus=CpuSet.parse(c), policy=policy, mems=nodes) for i, c in enumerate(cpus)]


def compared(plan: list[PlannedRank], seen: list[Observation], topology: Topology | None = None) -> Comparison:
    """Return the comparison of a plan with observations."""
    return compare_ranks(plan, GatheredReports(ranks=tuple(seen)), topology)


def verdicts(found: Comparison) -> list[tuple[int, str]]:
    """Return the ranks that differ, in order, each with its verdict."""
    return sorted((row.rank, row.verdict) for row in found.differ)


def said(found: Comparison) -> list[tuple[str, str]]:
    """Return the causes with their ranks."""
    return [(cause.id, str(cause.ranks)) for cause in found.causes]


SHAPES = st.builds(
    shape,
    st.integers(1, 2),
    st.sampled_from([1, 2]),
    st.sampled_from([0, 2, 4]),
    st.sampled_from([4, 8]),
    threads=st.integers(1, 2),
    number=st.sampled_from([lambda at, _: at, lambda at, total: at * 2 % total + at * 2 // total]),
)


def placed(job: JobShape, node: Machine) -> list[PlannedRank]:
    """Return a job's plan."""
    return list(planned_ranks(place(job, [node])))


@examples(60)
@given(SHAPES, st.integers(1, 8), st.sampled_from([(), ("n1", "n2.cluster")]), st.booleans())
def test_what_is_as_planned_is_exact(topology: Topology, per_node: int, hosts: tuple[str, ...], known: bool) -> None:
    """Of any placement, ranks that see what was planned are exactly as planned, whether the topology is known or not."""
    job = JobShape(ranks_per_node=min(per_node, len(topology.cores)), hosts=hosts)
    plan = placed(job, machine(topology))
    seen = [
        Observation(
            rank=each.rank,
            host=(each.host or "here").partition(".")[0],
            cpus=each.cpus,
            mems=topology.allowed_nodes,
            policy=f"bind:{CpuSet(each.memory)}" if each.memory else "default",
        )
        for each in reversed(plan)
    ]
    found = compared(plan, seen, topology if known else None)
    assert (found.equal, found.differ, found.causes, found.seen) == (True, (), (), len(plan))


@examples(60)
@given(SHAPES, st.data())
def test_what_is_not_as_planned_is_named(topology: Topology, data: st.DataObject) -> None:
    """Of any placement, a rank that sees other CPUs is not exact, and the ranks that do are not named with it."""
    plan = placed(JobShape(ranks_per_node=2), machine(topology))
    cpus = CpuSet(data.draw(st.sets(st.sampled_from(list(topology.pus)), min_size=1)))
    seen = saw(*(str(each.cpus) for each in plan[:1]), str(cpus), mems=str(topology.allowed_nodes))
    found = compared(plan, seen, topology)
    assert [row.rank for row in found.differ] == ([] if cpus == plan[1].cpus else [1])


def test_each_difference_has_its_word() -> None:
    """Wider, narrower, overlapping, elsewhere, missing and wrong host are told apart."""
    plan = [*ranks("0-1", "2-3", "4-5", "6-7", "8-9", host="n1"), *ranks("0-1", host="n2", first=5)]
    found = compared(plan, [*saw("0-3", "2", "7-8", "10-11"), *saw("0-1", host="n3", first=5)])
    assert verdicts(found) == [
        (0, "wider"),
        (1, "narrower"),
        (2, "elsewhere"),
        (3, "elsewhere"),
        (4, "missing"),
        (5, "wrong host"),
    ]
    assert [(row.rank, row.shares) for row in found.differ if row.shares] == [(0, True), (1, True)]
    both = compared(ranks("0-1", "2-3"), saw("0-1", "1-2"))
    assert verdicts(both) == [(1, "overlapping")]


def test_hardware_threads_of_one_core_are_one_core() -> None:
    """Two ranks on two threads of a core overlap where the topology says that they are threads of one."""
    smt = shape(1, 1, 1, 4, threads=2)
    plan, seen = ranks("0,4", "1,5", "2,6"), saw("0,4", "1,5", "3-4")
    assert verdicts(compared(plan, seen, smt)) == [(2, "overlapping")]
    assert verdicts(compared(ranks("0", "4"), saw("0", "4"), smt)) == []


def test_short_host_names_match_full_ones() -> None:
    """n1 and n1.cluster are one host; n1.a and n1.b are two; a plan without a name takes any one host."""
    assert compared(ranks("0", host="n1.cluster"), saw("0", host="n1")).equal
    assert not same_host("n1.a", "n1.b")
    assert compared(ranks("0", host="localhost"), saw("0", host="vm")).equal
    assert verdicts(compared(ranks("0", "1"), [*saw("0", host="a"), *saw("1", host="b", first=1)])) == [(1, "wrong host")]


@pytest.mark.parametrize(
    ("policy", "mems", "memory", "same"),
    [
        ("default", "0-1", (0,), True),
        ("bind:0", "0-1", (0,), True),
        ("bind:0-1", "0-1", (0,), False),
        ("prefer:1", "0-1", (0,), False),
        ("interleave:0-1", "0-1", (0, 1), True),
        ("default", "1", (0,), False),
        ("local", "0-3", (3,), False),
    ],
)
def test_memory_is_compared_too(policy: str, mems: str, memory: tuple[int, ...], *, same: bool) -> None:
    """Memory is that of the policy, else that of the CPUs' own nodes, and must be in the cgroup's."""
    found = compared(ranks("0", memory=memory), saw("0", policy=policy, mems=mems), EIGHT)
    assert verdicts(found) == ([] if same else [(0, "memory")])
    assert said(found) == ([] if same else [("memory", "0")])


def test_ranks_beyond_the_plan_are_a_difference() -> None:
    """More ranks than planned are named, and make the comparison fail."""
    found = compared(ranks("0"), saw("0", "1", "2"))
    assert (found.equal, found.extra, said(found)) == (False, (1, 2), [("extra", "1-2")])


ROUND = shape(2, 1, 2, 4, number=lambda at, total: at * 2 % total + at * 2 // total)
"""Two sockets whose CPU numbers are dealt in turn."""
SMT = shape(2, 1, 2, 4, threads=2)


@pytest.mark.parametrize(
    ("plan", "seen", "topology", "cause"),
    [
        (ranks("0", "1", "2"), saw("0", "0", "0"), EIGHT, [("stacked", "1-2")]),
        (ranks("8", "9"), saw("0", "0"), None, [("stacked", "0-1")]),
        (ranks("0", "1"), saw("0-15", "0-15"), EIGHT, [("unbound", "0-1")]),
        (ranks("0", "1"), saw("0-3", "0-3"), EIGHT, [("wider", "0-1")]),
        (ranks("0", "1"), saw("0-3", "0-3"), None, [("unbound", "0-1")]),
        (ranks("0-1", "2-3"), saw("0", "2"), EIGHT, [("one-core", "0-1")]),
        (ranks("0-1,8-9"), saw("0-1"), SMT, [("siblings-missing", "0")]),
        (ranks("0-3"), saw("0-1"), EIGHT, [("cut", "0")]),
        (ranks("0", "1"), saw("8", "9"), SMT, [("siblings", "0-1")]),
        (ranks("0", "1", "2"), saw("1", "2", "0"), EIGHT, [("ranking", "0-2")]),
        (ranks("8", "9", "10"), saw("0", "1", "2"), EIGHT, [("shifted", "0-2")]),
        (ranks("8", "9", "10"), saw("0", "1", "2"), None, [("shifted", "0-2")]),
        (ranks("0", "2", "4", "6"), saw("0", "4", "1", "5"), ROUND, [("numbers-as-logical", "1-3")]),
        (ranks("0", "2", "4", "1"), saw("0", "1", "2", "4"), ROUND, [("numbers-as-physical", "1-3")]),
        (ranks("0", "1", "2", "3"), saw("0", "1"), EIGHT, [("missing", "2-3")]),
        (
            [*ranks("0", host="a"), *ranks("0", host="b", first=1)],
            [*saw("0", host="b"), *saw("0", host="a", first=1)],
            None,
            [("ranking", "0-1")],
        ),
        (
            [*ranks("0", "1", host="a"), *ranks("0", "1", host="b", first=2)],
            saw("0", "1", host="a"),
            None,
            [("host-silent", "2-3")],
        ),
        (ranks("0", "1", host="a"), saw("0", "1", host="b"), None, [("host", "0-1")]),
        (ranks("0-1", "2-3", "4-5"), saw("0-1", "1-2", "4-5"), EIGHT, [("overlap", "1")]),
    ],
)
def test_the_pattern_tells_what_happened(
    plan: list[PlannedRank], seen: list[Observation], topology: Topology | None, cause: list[tuple[str, str]]
) -> None:
    """Every usual accident is known by the pattern that it makes, and its ranks are named."""
    assert said(compared(plan, seen, topology)) == cause


def test_what_was_heard_of_is_noted() -> None:
    """Ranks that two processes claim, processes without a rank and damaged lines are told of."""
    found = compare_ranks(ranks("0"), GatheredReports(ranks=tuple(saw("0")), alone=2, repeated=(0,), damaged=1))
    assert (found.equal, len(found.notes)) == (True, 3)


def hosts_of(many: int, cpus: Callable[[int, int], str], host: Callable[[int], str] = "n{}".format) -> list[Observation]:
    """Return what sixteen ranks of each host see, by the numbers of host and rank there."""
    places = [(at, local) for at in range(many) for local in range(16)]
    return [
        Observation(rank=rank, host=host(at), cpus=CpuSet.parse(cpus(at, local)), mems=CpuSet([0]))
        for rank, (at, local) in enumerate(places)
    ]


@pytest.mark.parametrize(
    "seen",
    [
        lambda many: hosts_of(many, lambda _, local: str(local)),
        lambda many: hosts_of(many, lambda _at, _local: "0-15"),
        lambda many: hosts_of(many, lambda _, local: str((local + 1) % 16)),
        lambda many: hosts_of(many, lambda _at, _local: "3"),
        lambda many: hosts_of(many, lambda _, local: str(local), lambda at: f"n{(at + 1) % many}"),
        lambda many: hosts_of(many, lambda _, local: str(local), lambda at: f"other{at}"),
        lambda many: hosts_of(many, lambda _, local: str(local))[: many * 8],
        lambda many: hosts_of(many, lambda _, local: str(local))[::2],
    ],
    ids=[
        "exact",
        "unbound",
        "shifted",
        "stacked",
        "hosts in a different order",
        "other hosts",
        "half of the hosts",
        "every other rank",
    ],
)
@pytest.mark.parametrize("topology", [None, shape(1, 1, 4, 16)], ids=["no topology", "topology"])
def test_work_grows_with_the_ranks(seen: Callable[[int], list[Observation]], topology: Topology | None) -> None:
    """Four times as many hosts take about four times the work, whatever happened to their ranks."""
    plans = {
        many: [rank for at in range(many) for rank in ranks(*map(str, range(16)), host=f"n{at}", first=16 * at)]
        for many in (8, 32)
    }
    few, many = (calls(partial(compared, plan, seen(size), topology)) for size, plan in plans.items())
    assert many < 5 * few
