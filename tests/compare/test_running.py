from advisor.jobs.observe import PlannedRank, Process, RunningProcesses, Thread
from advisor.jobs.verdict import as_gathered, cautions, compare_ranks
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Hca, Locality, Port
from advisor.machine.machine import Machine
from tests.model.shapes import machine, shape

NODE = machine(shape(2, 2, 4, 8))
"""Two sockets of two nodes, 16 cores, two cores an L3."""


def process(pid: int, cpus: str, threads: int = 1, ucx: str | None = None, rank: int | None = None) -> Process:
    """Return a process whose threads all run and may use the same CPUs."""
    allowed = CpuSet.parse(cpus)
    each = tuple(Thread(id=pid + i, cpus=allowed, running=True) for i in range(threads))
    return Process(pid=pid, name="app", cpus=allowed, threads=each, ucx=ucx, rank=rank)


def ids(node: Machine, *processes: Process) -> list[tuple[str, tuple[int, ...]]]:
    """Return what is said against processes, and of which."""
    return [(caution.id, caution.pids) for caution in cautions(node, processes)]


def with_adapters(**nodes: int) -> Machine:
    """Return the machine with adapters at nodes."""
    hcas = tuple(Hca(name=name, locality=Locality(numa_nodes=(node,))) for name, node in nodes.items())
    return NODE.model_copy(update={"hcas": hcas})


def test_bound_ranks_need_no_warning() -> None:
    """Ranks with cores of their own, inside an L3, are as they should be."""
    assert ids(NODE, process(10, "0-1", 2), process(20, "2-3", 2)) == []


def test_an_unbound_process_is_told_once() -> None:
    """That it is not bound says also that it is spread and shares cores."""
    assert ids(NODE, process(10, "0-15"), process(20, "0-15")) == [("not-bound", (10,)), ("not-bound", (20,))]


def test_spread_threads_are_told_where_they_would_fit() -> None:
    """Threads over several nodes or L3 groups are a fault only if one would have had room for them."""
    assert ids(NODE, process(10, "2-5", 2)) == [("over-numa", (10,))]
    assert ids(NODE, process(10, "1-2", 2)) == [("over-l3", (10,))]
    assert ids(NODE, process(10, "0-3", 4)) == []
    assert ids(NODE, process(10, "0-7", 8)) == []


def test_more_threads_than_cpus() -> None:
    """Threads at work that have to share CPUs are told."""
    assert ids(NODE, process(10, "0", 3)) == [("crowded", (10,))]


def test_processes_on_one_core_are_told_together() -> None:
    """Two processes on one core are one warning, on hardware threads of one core as well."""
    assert ids(NODE, process(10, "0-1", 2), process(20, "1", 1), process(30, "1")) == [
        ("same-core", (10, 20, 30)),
    ]
    smt = machine(shape(1, 1, 1, 4, threads=2))
    assert ids(smt, process(10, "0"), process(20, "4")) == [("same-core", (10, 20))]


def test_far_from_the_adapter_counts_where_there_is_better() -> None:
    """A rank far from its adapter is told where CPUs near it are free or another adapter is nearer, and not otherwise."""
    assert ids(with_adapters(mlx5_0=0), process(10, "12", ucx="mlx5_0:1")) == [("far-adapter", (10,))]
    full = [process(10 + i, str(i), ucx="mlx5_0:1") for i in range(5)]
    assert ids(with_adapters(mlx5_0=0), *full) == []
    full_node = [process(10 + i, str(i)) for i in range(4)]
    both = with_adapters(mlx5_0=0, mlx5_1=3)
    assert ids(both, *full_node, process(50, "12", ucx="mlx5_0:1")) == [("far-adapter", (50,))]
    assert "mlx5_1 is nearer" in cautions(both, [process(50, "12", ucx="mlx5_0:1")])[0].say


def test_an_adapter_of_another_network_is_not_nearer() -> None:
    """A rank far from its InfiniBand adapter is not sent to the Ethernet card beside it."""
    both = with_adapters(mlx5_0=0, mlx5_1=3)
    layers = ("infiniband", "ethernet")
    ports = [(Port(number=1, state="active", link_layer=layer),) for layer in layers]
    hcas = tuple(hca.model_copy(update={"ports": own}) for hca, own in zip(both.hcas or (), ports, strict=True))
    (found,) = cautions(both.model_copy(update={"hcas": hcas}), [process(50, "12", ucx="mlx5_0:1")])
    assert "mlx5_1" not in found.say


def test_running_ranks_compare_with_a_plan() -> None:
    """A running application is an observation; a process without a rank is noted."""
    found = as_gathered(
        RunningProcesses(host="n1", processes=(process(10, "0", rank=0), process(20, "3", rank=1), process(30, "3")))
    )
    plan = [PlannedRank(rank=i, host="n1.cluster", cpus=CpuSet([i])) for i in range(2)]
    result = compare_ranks(plan, found)
    assert ([row.rank for row in result.differ], len(result.notes)) == ([1], 1)
