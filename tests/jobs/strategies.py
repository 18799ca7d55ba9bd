"""Placements that hypothesis makes up: any CPUs in any order, on one to four hosts of two kinds."""

from hypothesis import strategies as st

from advisor.jobs.placement import NodePlan, Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.plan import node, planned
from tests.model.shapes import shape

SHAPES = (
    shape(2, 2, 4, 8),
    shape(2, 2, 4, 8, threads=2),
    shape(2, 1, 1, 6, number=lambda i, n: (i * 2) % n + i * 2 // n),
    shape(1, 4, 8, 24),
)


@st.composite
def node_plans(draw: st.DrawFn, topology: Topology) -> NodePlan:
    """Return a kind of node: whole cores in order, or any CPUs of its, never one twice."""
    cores = [core.cpuset for core in topology.cores]
    size = draw(st.sampled_from([1, 2, 3]))
    if draw(st.booleans()):
        parts = [cores[i : i + size] for i in range(0, len(cores) - size + 1, size)]
        sets = [CpuSet(cpu for core in part for cpu in core) for part in parts]
    else:
        cpus = draw(st.permutations(list(topology.pus)))
        sets = [CpuSet(cpus[i : i + size]) for i in range(0, len(cpus) - size + 1, size)]
    return node(topology, *map(str, sets[: draw(st.integers(1, len(sets)))]))


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Return a placement of one host without a name, or of some with names."""
    plans = tuple(draw(node_plans(draw(st.sampled_from(SHAPES)))) for _ in range(draw(st.integers(1, 2))))
    if draw(st.booleans()):
        return planned(plans[:1], (None, 0, draw(st.integers(1, len(plans[0].slots)))))
    names = draw(st.lists(st.sampled_from(["n1", "n2", "n10", "gpu-3", "a.example.org"]), min_size=1, max_size=4, unique=True))
    kinds = [draw(st.integers(0, len(plans) - 1)) for _ in names]
    counts = [draw(st.one_of(st.just(len(plans[kind].slots)), st.integers(1, len(plans[kind].slots)))) for kind in kinds]
    return planned(plans, *zip(names, kinds, counts, strict=True))
