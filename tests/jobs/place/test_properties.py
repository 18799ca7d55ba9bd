"""What holds of every placement, on machines of any shape and on every machine of the catalogue."""

import re
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.placement import STRATEGIES, JobShape, Placement, Slice
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Gpu, Hca, Locality
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from tests.examples import a_third, examples
from tests.jobs.place.samples import machine
from tests.machines.catalogue import MACHINES
from tests.model import shapes


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Return a regular machine, perhaps with some CPUs kept from the job and some nodes without memory."""
    sockets, nodes, l3, cores = (draw(st.integers(1, most)) for most in (3, 4, 3, 4))
    whole = shapes.shape(
        sockets,
        nodes,
        draw(st.sampled_from([0, nodes * l3])),
        nodes * l3 * cores,
        threads=draw(st.integers(1, 2)),
        number=draw(st.sampled_from([shapes.linear, lambda i, n: i * 7 % n if n % 7 else i])),
    )
    allowed = whole.pus & CpuSet.from_bits(draw(st.just((1 << 300) - 1) | st.integers(1, (1 << 60) - 1)))
    bare = draw(st.sets(st.integers(1, 12), max_size=3))
    memory = tuple(n.model_copy(update={"memory": 0}) if n.os_index in bare else n for n in whole.nodes)
    return whole.model_copy(update={"allowed": allowed, "nodes": memory})


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Return a machine with adapters and GPUs somewhere."""
    topology = draw(topologies())
    assume(topology.inside.pus)
    numbers = st.integers(0, len(topology.nodes) - 1)
    places = st.lists(numbers, max_size=1).map(lambda nodes: Locality(numa_nodes=tuple(nodes)))
    hcas = draw(st.lists(places, max_size=3))
    gpus = draw(st.lists(places, max_size=3))
    return shapes.machine(topology).model_copy(
        update={
            "hcas": tuple(Hca(name=f"mlx5_{i}", locality=where) for i, where in enumerate(hcas)),
            "gpus": tuple(Gpu(address=f"0000:{i:02x}:00.0", locality=where) for i, where in enumerate(gpus)),
        }
    )


@st.composite
def jobs(draw: st.DrawFn) -> JobShape:
    """Return a job of any shape."""
    amount: dict[str, Any] = draw(
        st.fixed_dictionaries({"ranks": st.integers(1, 80)})
        | st.fixed_dictionaries({"ranks_per_node": st.integers(1, 40)})
        | st.fixed_dictionaries(
            {"per": st.sampled_from(["node", "socket", "numa", "l3", "core"]), "per_count": st.integers(1, 4)}
        )
        | st.just({})
    )
    return JobShape(
        **amount,
        threads=draw(st.integers(1, 9)),
        strategy=draw(st.sampled_from(["auto", *STRATEGIES])),
        smt=draw(st.sampled_from(["skip", "use"])),
        reserve=draw(st.integers(0, 2)),
        hosts=draw(st.sampled_from([(), ("a",), ("a", "b", "c")])),
    )


def tried(job: JobShape, *where: Machine, allowed: CpuSet | None = None) -> Placement | None:
    """Return the placement, or None where it is refused."""
    try:
        return place(job, where, allowed=allowed)
    except BadValue:
        return None


def check(made: Placement) -> None:
    """Check what holds of every placement."""
    job = made.job
    for plan in made.plans:
        inside = plan.topology.inside
        sets = [slot.cpus for slot in plan.slots]
        cores = [core.cpuset for core in inside.cores]
        touched = [union(core for core in cores if core & cpus) for cpus in sets]
        assert len(union(sets)) == sum(map(len, sets)), "no CPU has two ranks"
        assert union(sets) <= inside.pus, "the union is within what is allowed"
        assert job.smt == "use" or len(union(touched)) == sum(map(len, touched)), "no core has two ranks"
        assert all(slot.memory for slot in plan.slots), "every rank has memory"
        for slot in plan.slots:
            assert (len(slot.cpus) if job.smt == "use" else slot.cores) == job.threads, "every rank has its threads"
    assert all(len(made.plans[host.plan].slots) == host.ranks for host in made.hosts)
    if job.ranks is not None:
        assert made.size == job.ranks


@examples(400)
@given(one=machines(), job=jobs())
def test_any_placement(one: Machine, job: JobShape) -> None:
    """No two ranks share a CPU, none leaves what is allowed or its socket, each has its threads, and none is lost."""
    made = tried(job, one)
    if made is None:
        return
    check(made)
    assert all(slot.socket is not None for plan in made.plans for slot in plan.slots), "no rank straddles sockets"


@examples(100)
@given(one=machines(), job=jobs())
def test_deterministic(one: Machine, job: JobShape) -> None:
    """The same job on an equal machine gives the same placement."""
    assert tried(job, one) == tried(job, one.model_copy(deep=True))


@examples(100)
@given(one=machines(), threads=st.integers(1, 4), ranks=st.integers(1, 40), smt=st.booleans())
def test_cores_are_shared_only_when_needed(one: Machine, threads: int, ranks: int, *, smt: bool) -> None:
    """Where whole cores are enough for all ranks no core has two."""
    made = tried(JobShape(ranks=ranks, threads=threads, strategy="compact", smt="use" if smt else "skip"), one)
    if made is None:
        return
    topology = made.plans[0].topology
    size = max(len(core.cpuset) for core in topology.cores) if smt else 1
    least = min((len(core.cpuset) for core in topology.cores), default=1) if smt else 1
    if size != least:
        return
    room = sum(sum(1 for c in topology.cores if c.cpuset <= p.cpuset) // -(-threads // size) for p in topology.packages)
    sharing = [1 for core in topology.cores if sum(1 for slot in made.plans[0].slots if slot.cpus & core.cpuset) > 1]
    assert (ranks > room) >= bool(sharing)


@examples(100)
@given(one=machines(), ranks=st.integers(1, 40), threads=st.integers(1, 3))
def test_distance_grows(one: Machine, ranks: int, threads: int) -> None:
    """With hca-near no rank is nearer to the adapter than one before it."""
    made = tried(JobShape(ranks=ranks, threads=threads, strategy="hca-near"), one)
    if made is None:
        return
    distances = [rank.slot.distance for rank in made.ranks()]
    assert all(a <= b for a, b in pairwise(distances) if a is not None and b is not None)


@examples(100)
@given(one=machines(), count=st.integers(1, 9), reserve=st.integers(0, 2))
def test_slices(one: Machine, count: int, reserve: int) -> None:
    """The slices of a node are disjoint, and together they are what is free."""
    whole = tried(JobShape(strategy="compact", reserve=reserve), one)
    made = [tried(JobShape(strategy="compact", reserve=reserve, slice=Slice(part=k + 1, of=count)), one) for k in range(count)]
    if whole is None or None in made:
        return
    sets = [union(slot.cpus for slot in each.plans[0].slots) for each in made if each]
    assert all(not a & b for a, b in combinations(sets, 2))
    assert union(sets) == union(slot.cpus for slot in whole.plans[0].slots)


@examples(100)
@given(one=machines(), other=machines(), job=jobs(), allowed=st.integers(1, (1 << 64) - 1).map(CpuSet.from_bits))
def test_hosts_that_differ(one: Machine, other: Machine, job: JobShape, allowed: CpuSet) -> None:
    """What holds of one machine holds of different ones, and of those CPUs only that the process may use."""
    made = tried(job.model_copy(update={"hosts": ("a", "b", "c")}), one, other, one, allowed=allowed)
    if made is not None:
        check(made)
        assert all(slot.cpus <= allowed for plan in made.plans for slot in plan.slots)


@examples(100)
@given(one=machines(), ranks=st.integers(1, 60), threads=st.integers(1, 9), strategy=st.sampled_from(STRATEGIES))
def test_what_a_refusal_offers_fits(one: Machine, ranks: int, threads: int, strategy: Any) -> None:
    """The shapes that a refusal names are placed when asked for."""
    try:
        place(JobShape(ranks=ranks, threads=threads, strategy=strategy), [one])
    except BadValue as error:
        for number, size in re.findall(r"\b(\d+)(?: ranks?)? of (\d+)\b", str(error).rpartition(": ")[2]):
            if "needs a" not in str(error):
                assert place(JobShape(ranks=int(number), threads=int(size), strategy=strategy), [one]).size == int(number)


SHAPES: tuple[dict[str, Any], ...] = (
    {},
    {"ranks": 7, "threads": 2},
    {"per": "l3"},
    {"ranks_per_node": 16, "threads": 3, "smt": "use"},
    {"ranks": 4, "threads": 5, "reserve": 1, "slice": Slice(part=1, of=2)},
)


@pytest.mark.parametrize("name", a_third(MACHINES))
def test_catalogue(name: str) -> None:
    """On every machine every strategy gives a plan that holds, or one line that says why not."""
    for strategy in (*STRATEGIES, "auto"):
        for shape in SHAPES:
            made = tried(JobShape(strategy=strategy, **shape), machine(name))
            if made is not None:
                check(made)
