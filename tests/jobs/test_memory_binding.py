"""The memory of ranks where there is HBM: what is planned, how each launcher's line says it, and that lines are read back so."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.jobs.bind import Binding, carried
from advisor.jobs.line import parse
from advisor.jobs.memory_binding import bound_memory, memory_in_words, memory_warnings, with_numactl
from advisor.jobs.observe import Observation, PlannedRank
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Placement
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.jobs.started.hosts import Allocated, JobHosts, LauncherOptions
from advisor.jobs.verdict import memory_differs
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Gpu, Locality
from advisor.machine.machine import Machine
from advisor.machine.topology import NumaNode
from tests.examples import examples
from tests.jobs.place.nodes import from_xml, mi300a
from tests.machines.read import machine, published
from tests.model import shapes

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[3] / "shared" / "machines"))
LAUNCHERS = ("openmpi4", "openmpi5", "mpich", "srun", "intelmpi", "pals", "flux", "jsrun")
FLAT = ("hbm-flat", "knights-landing")


def planned(name: str | Machine, **job: Any) -> Placement:
    """Return the plan of a job on one node."""
    return place(JobShape(**job), [name if isinstance(name, Machine) else machine(name)])


def line(name: str | Machine, launcher: str, **job: Any) -> Binding:
    """Return a job as a launcher starts it."""
    one = name if isinstance(name, Machine) else machine(name)
    return carried(JobHosts(Allocated(), (one,)), planned(one, **job), LauncherOptions(launcher), ("./a",))


def memory(made: Placement) -> list[tuple[tuple[int, ...], str | None]]:
    """Return the memory of every rank."""
    return [(rank.slot.memory, rank.slot.policy) for rank in made.ranks()]


def read(words: Sequence[str], one: Machine, launcher: str) -> Prediction:
    """Return what a line does, as check reads it."""
    return predict(parse(words, launcher), one, {})


def test_auto_prefers_the_hbm_beside_each_rank() -> None:
    """Eight ranks of a Xeon Max in flat mode have nodes 8 to 15, one each."""
    made = planned("hbm-flat", ranks=8, threads=8, mem="auto")
    assert memory(made) == [((8 + rank,), "prefer") for rank in range(8)]
    assert (
        "NUMA nodes 8-15 are HBM (128 GiB), filled first: 16 GiB per rank; the rest comes from DRAM; --mem hbm "
        "allows no DRAM, --mem dram no HBM"
    ) in made.notes


def test_hbm_alone_says_what_happens_to_a_rank_that_takes_more() -> None:
    """Two ranks share a node of 16 GiB."""
    made = planned("hbm-flat", ranks=16, threads=4, mem="hbm")
    assert memory(made) == [((8 + rank // 2,), "only") for rank in range(16)]
    assert "8 GiB per rank; a rank that needs more is killed" in " ".join(made.notes)


def test_dram_leaves_hbm_aside() -> None:
    """As by default, and says so."""
    made = planned("hbm-flat", ranks=8, threads=8, mem="dram")
    assert memory(made) == [((rank,), None) for rank in range(8)]
    assert "NUMA nodes 8-15 are HBM (128 GiB), but it is not used: memory comes from DRAM, the default" in made.notes


def test_a_rank_over_several_nodes_has_the_hbm_of_all() -> None:
    """One rank on a socket of a Xeon Max in SNC4; several nodes can be preferred since Linux 5.15."""
    made = planned("hbm-flat", per="socket", threads=32, mem="auto")
    assert memory(made) == [((8, 9, 10, 11), "prefer"), ((12, 13, 14, 15), "prefer")]
    assert "numactl --preferred-many needs Linux 5.15 and numactl 2.0.15" in made.notes


@pytest.mark.parametrize(
    ("name", "wish", "said"),
    [
        ("hbm-cache", "hbm", "the HBM caches the DRAM (cache mode): there is nothing to bind"),
        ("hbm-cache", "auto", "the HBM caches the DRAM (cache mode): there is nothing to bind"),
        ("mi300a", "hbm", "all of this node's memory is HBM: there is nothing to bind"),
        ("mi300a", "auto", "all of this node's memory is HBM: there is nothing to bind"),
    ],
)
def test_where_hbm_is_no_node_of_its_own_nothing_is_bound(name: str, wish: str, said: str) -> None:
    """In cache mode, and on an APU: the memory of each rank is that of its own node."""
    one = from_xml(mi300a()) if name == "mi300a" else machine(name)
    made = planned(one, per="numa", mem=wish)
    assert said in made.notes
    assert [rank.slot.memory for rank in made.ranks()] == [rank.slot.nodes for rank in made.ranks()]
    assert {rank.slot.policy for rank in made.ranks()} == {None}


@pytest.mark.parametrize(
    ("name", "wish", "said"),
    [
        ("b-c6525-2x7702-nps4", "hbm", "--mem hbm: no NUMA node in this input is known to be HBM; leave --mem out"),
        ("mi300a", "dram", "--mem dram: all of this node's memory is HBM; leave --mem out"),
    ],
)
def test_memory_that_is_not_there_is_refused(name: str, wish: str, said: str) -> None:
    """In one line."""
    one = from_xml(mi300a()) if name == "mi300a" else machine(name)
    with pytest.raises(BadValue) as caught:
        planned(one, ranks=1, mem=wish)
    assert str(caught.value) == said


def test_each_launcher_says_it_in_its_own_words() -> None:
    """Slurm and Intel MPI have words of their own; others have numactl before the program."""
    job: dict[str, Any] = {"ranks": 8, "threads": 8, "mem": "auto"}
    said = {name: line("hbm-flat", name, **job).launch.argv for name in LAUNCHERS}
    assert "--mem-bind=prefer,map_mem:8,9,10,11,12,13,14,15" in said["srun"]
    assert ("I_MPI_HBW_POLICY", "hbw_preferred") in pairwise(said["intelmpi"])
    shell = ("sh", "-c", 'exec numactl --preferred=$((OMPI_COMM_WORLD_LOCAL_RANK+8)) "$@"', "sh", "./a")
    assert (said["openmpi5"][-5:], said["openmpi4"][-5:]) == (shell, shell)
    pals = line("hbm-flat", "pals", ranks=8, threads=8, mem="hbm").launch.argv
    assert ("--mem-bind", "list:8:9:10:11:12:13:14:15") in pairwise(pals)


def test_ranks_of_one_memory_need_no_shell() -> None:
    """On a Knights Landing as one NUMA node all ranks have the same MCDRAM."""
    made = planned(ONE_MCDRAM, ranks=4, mem="hbm")
    assert with_numactl(made, ("./a",), None) == ("numactl", "--membind=1", "./a")


def test_the_wrapper_binds_memory_too() -> None:
    """Its table has the nodes and how strictly."""
    made = line("hbm-flat", "wrapper", per="socket", threads=32, mem="auto")
    assert [row for row in made.launch.files["bind-wrapper.sh"]() if "place 0-31 many:8,9,10,11" in row] != []


@pytest.mark.parametrize("wish", ["auto", "hbm"])
@pytest.mark.parametrize("launcher", LAUNCHERS[:-1])
@pytest.mark.parametrize("name", FLAT)
def test_a_line_is_read_back_with_the_memory_of_its_plan(name: str, launcher: str, wish: str) -> None:
    """Check reads of each launcher's line the nodes that the plan gives each rank, and finds nothing wrong with them."""
    for job in ({"per": "numa"}, {"per": "numa", "per_count": 2}, {"per": "socket"}, {"ranks": 5}):
        made = line(name, launcher, mem=wish, **job)
        if made.launch.form == "wrapper":
            continue
        case = read(made.launch.argv, machine(name), launcher)
        bound = bound_memory(case)
        assert bound is not None
        plan = [rank.slot for rank in made.placement.ranks()]
        assert [(bound.strict, tuple(nodes or ())) for nodes in bound.nodes] == [(slot.policy, slot.memory) for slot in plan]
        assert list(memory_warnings(case)) == []
        assert "Memory: HBM, NUMA node" in memory_in_words(case)


@pytest.mark.parametrize("launcher", ["openmpi4", "openmpi5", "mpich", "srun", "pals", "flux"])
def test_gpus_and_memory_of_a_rank_take_one_shell(launcher: str) -> None:
    """Eight GPUs, numbered otherwise than they lie: each rank's GPU, its CPUs and its HBM are in one sh -c, and read back."""
    cards = [
        Gpu(address=f"0000:{node:02x}:00.0", vendor="nvidia", index=node ^ 2, locality=Locality(numa_nodes=(node,)))
        for node in range(8)
    ]
    node = machine("hbm-flat").model_copy(update={"gpus": tuple(cards)})
    made = line(node, launcher, per="gpu", threads=3, mem="auto")
    bound = bound_memory(read(made.launch.argv, node, launcher))
    assert made.launch.argv.count("-c") == 1
    assert bound is not None
    assert [tuple(nodes or ()) for nodes in bound.nodes] == [(8 + rank,) for rank in range(8)]


@pytest.mark.parametrize(
    ("words", "name", "found"),
    [
        ("mpirun -np 8 --map-by numa --bind-to core ./a", "hbm-flat", ["hbm-unused"]),
        ("mpirun -np 8 --map-by numa --bind-to core numactl --preferred-many=8-15 ./a", "hbm-flat", []),
        ("mpirun -np 8 --map-by numa --bind-to core numactl --membind=0-7 ./a", "hbm-flat", []),
        ("srun -n 3 --cpu-bind=map_cpu:0,1,8 numactl -p 8 ./a", "hbm-flat", ["hbm-far"]),
        ("srun -n 3 --cpu-bind=map_cpu:0,1,8 --mem-bind=map_mem:8,8,9 ./a", "hbm-flat", []),
        ("srun -n 3 --cpu-bind=map_cpu:0,1,8 --mem-bind=mask_mem:0x100 ./a", "hbm-flat", ["hbm-far"]),
        ("mpirun -np 8 --map-by numa --bind-to core numactl -m 8-15 ./a", "hbm-cache", ["memory-beyond"]),
        ("mpirun -np 8 --map-by numa --bind-to core ./a", "hbm-cache", []),
        ("mpirun -np 8 --map-by numa --bind-to core ./a", "b-c6525-2x7702-nps4", []),
    ],
)
def test_lines_that_forget_hbm_or_take_the_wrong_one(words: str, name: str, found: list[str]) -> None:
    """Nothing is said where DRAM is bound on purpose, or where there is no HBM to bind."""
    launcher = "srun" if words.startswith("srun") else "openmpi5"
    assert [each.id for each in memory_warnings(read(words.split(), machine(name), launcher))] == found


@pytest.mark.parametrize(
    ("policy", "observed", "mems", "differs"),
    [
        ("prefer", "prefer:8", "0-15", False),
        ("prefer", "prefer(many):8", "0-15", False),
        ("prefer", "bind:8", "0-15", False),
        ("prefer", "default", "0-15", True),
        ("prefer", "prefer:9", "0-15", True),
        ("only", "bind:8", "0-15", False),
        ("only", "prefer:8", "0-15", True),
        ("only", "local", "8", False),
        ("only", "bind:8", "0-7", False),
        ("prefer", None, "0-15", False),
    ],
)
def test_verify_holds_the_observed_policy_against_the_plan(
    policy: Any, observed: str | None, mems: str, *, differs: bool
) -> None:
    """A wish for HBM is not the default policy, and a rule is more than a wish."""
    cpus = CpuSet.parse("0-7")
    place_ = PlannedRank(rank=0, cpus=cpus, memory=(8,), policy=policy, nodes=(0,))
    seen = Observation(rank=0, host="n1", cpus=cpus, mems=CpuSet.parse(mems), policy=observed)
    assert memory_differs(place_, seen, None) is differs


def _one_mcdram() -> Machine:
    topology = shapes.shape(1, 1, 0, 4)
    fast = NumaNode(os_index=1, cpuset=CpuSet(), near=topology.pus, memory=16 << 30, kind="hbm")
    update = {"nodes": (*topology.nodes, fast), "allowed_nodes": CpuSet([0, 1])}
    return shapes.machine(topology.model_copy(update=update))


ONE_MCDRAM = _one_mcdram()


@st.composite
def flat_machines(draw: st.DrawFn) -> Machine:
    """Return a machine of which some NUMA nodes have HBM beside them, numbered in any order."""
    sockets, nodes = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    topology = shapes.shape(sockets, nodes, nodes, nodes * draw(st.integers(1, 4)))
    beside = draw(st.lists(st.sampled_from(topology.nodes), min_size=1, max_size=8, unique_by=lambda node: node.os_index))
    first = len(topology.nodes)
    fast = tuple(
        NumaNode(os_index=first + at, cpuset=CpuSet(), near=node.cpuset, memory=16 << 30, kind="hbm")
        for at, node in enumerate(beside)
    )
    update = {"nodes": (*topology.nodes, *fast), "allowed_nodes": CpuSet(range(first + len(fast)))}
    return shapes.machine(topology.model_copy(update=update))


@examples(300)
@given(one=flat_machines(), ranks=st.integers(1, 16), threads=st.integers(1, 6), wish=st.sampled_from(["auto", "hbm"]))
def test_memory_of_each_rank_is_local_to_its_cores(one: Machine, ranks: int, threads: int, wish: str) -> None:
    """HBM is taken where some is near a rank's CPUs, and never any other; without it the DRAM of its own nodes."""
    try:
        made = planned(one, ranks=ranks, threads=threads, mem=wish)
    except BadValue:
        return
    assert one.topology is not None
    for rank in made.ranks():
        near = tuple(node.os_index for node in one.topology.nodes if node.kind == "hbm" and node.near & rank.slot.cpus)
        assert rank.slot.memory == (near or rank.slot.nodes)
        assert (rank.slot.policy is None) == (near == ())


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir() or not shutil.which("hwloc-calc"), reason="no published machines, or no hwloc")
@pytest.mark.parametrize(
    ("name", "mode", "ranks"),
    [
        ("psmgmt-dp-intelmax01-flat", "flat", 8),
        ("psmgmt-dp-intelmax01-flat", "flat", 2),
        ("psmgmt-dp-intelmax01", "cache", 8),
        ("psmgmt-knl01", "flat", 4),
        ("psmgmt-knl06", "flat", 4),
        ("hwloc-xml-64intel64-fakeKNL-SNC4-hybrid", "flat", 4),
        ("hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas", "flat", 2),
    ],
)
def test_published_machines_give_each_rank_the_memory_that_hwloc_calls_local(name: str, mode: str, ranks: int) -> None:
    """Of the nodes that hwloc-calc calls local to a rank's CPUs: in flat mode those without CPUs, in cache mode the only ones."""
    path = CORPUS / "xml" / f"{name}.xml"
    one = published(path)
    assert one.topology is not None
    owners = {node.os_index for node in one.topology.cpu_nodes}
    for rank in planned(one, ranks=ranks, mem="hbm").ranks():
        mask = re.sub(r"(?<=.)(?=(.{8})+$)", ",0x", f"{rank.slot.cpus.bits:x}")
        command = ["hwloc-calc", "-i", str(path), "--po", "--local-memory", f"0x{mask}"]
        local = {int(each) for each in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(",")}
        assert set(rank.slot.memory) == (local - owners if mode == "flat" else local)


@pytest.mark.skipif(not shutil.which("hwloc-calc"), reason="hwloc is not installed")
def test_an_apus_ranks_have_the_cpus_and_memory_of_their_own_package_as_hwloc_has_them(tmp_path: Path) -> None:
    """Four ranks of 24 threads on a node of El Capitan: package i, NUMA node i."""
    path = tmp_path / "mi300a.xml"
    path.write_bytes(mi300a())
    for rank in planned(from_xml(mi300a()), ranks=4, threads=24, mem="auto").ranks():
        theirs = [
            subprocess.run(
                ["hwloc-calc", "-i", str(path), *words, f"package:{rank.rank}"], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in ((), ("--po", "--local-memory"))
        ]
        assert (rank.slot.cpus, ",".join(map(str, rank.slot.memory))) == (CpuSet.from_mask(theirs[0]), theirs[1])
