"""A slurm.conf beside nodes: each difference once, with its cost and the whole line to write; a right one has none."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from advisor.errors import BadInput
from advisor.exports.slurm_check import CheckedConf, checked
from advisor.machine.hardware import Gpu, Locality
from advisor.machine.machine import Machine
from advisor.machine.slurm import definition_of, names_of, read_slurm_conf
from tests.machines.read import machine

SMT = "b-c6525-2x7702-nps4-smt"
"""2 x 64 cores, 2 threads per core, 8 NUMA nodes of 16 cores, 256 GiB."""
PLAIN = "b-c6525-2x7702-nps4"
HEAD = "SelectTypeParameters=CR_Core_Memory\nGresTypes=gpu\n"
SHAPE = "CPUs=256 Boards=1 SocketsPerBoard=2 CoresPerSocket=64 ThreadsPerCore=2"
GOOD = f"{SHAPE} RealMemory=261120"


def check(nodes: Mapping[str, Machine] | Machine, text: str, gres: str | None = None) -> CheckedConf:
    """Return what differs between the lines of a slurm.conf and nodes; one machine is n1."""

    def opened(path: str) -> str:
        if path == "slurm.conf":
            return text
        if path == "gres.conf" and gres is not None:
            return gres
        raise BadInput("no such file or directory", file=path)

    conf = read_slurm_conf("slurm.conf", opened)
    names = {line: names_of(line) for line in (*conf.nodes, *(line for line in conf.gres or () if line.nodes))}
    rows = {"n1": nodes} if isinstance(nodes, Machine) else nodes
    return checked(conf, names, [((name,), each) for name, each in rows.items()])


def said(found: CheckedConf) -> list[tuple[str, str]]:
    """Return each difference's id and severity."""
    return [(each.id, each.severity) for each in found.differences]


def with_gpus(name: str, nodes: Sequence[int], **more: Any) -> Machine:
    """Return a machine with a GPU at each of some NUMA nodes."""
    gpus = tuple(
        Gpu(
            **{
                "address": f"0000:{i + 16:02x}:00.0",
                "vendor": "nvidia",
                "model": "NVIDIA A100-SXM4-40GB",
                "minor": i,
                "locality": Locality(numa_nodes=(node,)),
                **more,
            }
        )
        for i, node in enumerate(nodes)
    )
    return machine(name).model_copy(update={"gpus": gpus})


@pytest.mark.parametrize("name", [SMT, PLAIN, "a-r7425-2x7601-dell-smt", "epyc-nps4-l3numa-smt-roundrobin", "uneven-l3", "dies"])
def test_what_is_exported_has_no_difference(name: str) -> None:
    """Its own line, of machines of all kinds, with GPUs too."""
    for each in (machine(name), with_gpus(name, [0, 1])):
        made = definition_of(each)
        assert made is not None
        gres = "".join(f"{line.line('n1')}\n" for line in made.gpus)
        assert said(check(each, HEAD + made.line("n1") + "\n", gres)) == []


@pytest.mark.parametrize(
    ("name", "line", "difference"),
    [
        (SMT, SHAPE.replace("CPUs=256", "CPUs=128"), None),
        (SMT, SHAPE.replace(" Boards=1 SocketsPerBoard=2", " Sockets=2"), None),
        (PLAIN, SHAPE, ("scheduler-cpus-too-many", "high")),
        (PLAIN, "CPUs=128 Sockets=4 CoresPerSocket=64", ("scheduler-cpus-too-many", "high")),
        (PLAIN, "CPUs=128 Sockets=2 CoresPerSocket=64 ThreadsPerCore=2", ("slurm-threads-not-there", "high")),
        (PLAIN, "CPUs=64 Sockets=1 CoresPerSocket=64", ("scheduler-cpus-too-few", "medium")),
        (PLAIN, "CPUs=128 Sockets=1 CoresPerSocket=128", ("scheduler-sockets-differ", "low")),
        (PLAIN, "CPUs=128 Sockets=8 CoresPerSocket=16", ("scheduler-sockets-differ", "low")),
        (SMT, "CPUs=256", ("scheduler-sockets-of-one-core", "high")),
        (SMT, "CPUs=128 Sockets=2 CoresPerSocket=64", ("scheduler-threads-as-cores", "high")),
        (SMT, "CPUs=256 Sockets=2 CoresPerSocket=128", ("scheduler-threads-as-cores", "high")),
        (SMT, SHAPE + " Sockets=2", ("slurm-sockets-twice", "low")),
    ],
)
def test_a_shape_that_differs_is_one_difference(name: str, line: str, difference: tuple[str, str] | None) -> None:
    """What follows from it is not said too; CPUs=cores on a machine with SMT is a site's own choice."""
    found = check(machine(name), f"{HEAD}NodeName=n1 {line} RealMemory=261120\n")
    assert said(found) == ([difference] if difference else [])


@pytest.mark.parametrize(
    "line", ["CPUs=256", "CPUs=128 Sockets=2 CoresPerSocket=64", SHAPE + " Sockets=2", "CPUs=512 RealMemory=999999"]
)
def test_the_line_to_write_ends_the_difference(line: str) -> None:
    """It is whole: all that the old one says beside stays, in its place."""
    found = check(machine(SMT), f'{HEAD}NodeName=n[1-3] {line} Feature=rome Reason="a b" Weight=7\n')
    writes = {each.write for each in found.differences}
    assert len(writes) == 1
    assert writes.copy().pop().endswith('Feature=rome Reason="a b" Weight=7')
    assert said(check(machine(SMT), HEAD + writes.pop() + "\n")) == []


@pytest.mark.parametrize(
    ("head", "memory", "difference"),
    [
        (HEAD, "RealMemory=262144", None),
        (HEAD, "RealMemory=250000", None),
        (HEAD, "RealMemory=262145", ("scheduler-memory-too-high", "high")),
        (HEAD, "RealMemory=200000", ("slurm-memory-unused", "low")),
        (HEAD + "NodeName=DEFAULT RealMemory=1000\n", "", ("slurm-memory-unused", "medium")),
        ("", "RealMemory=200000", None),
        ("", "RealMemory=1000", ("slurm-memory-unused", "low")),
        (HEAD, "", ("slurm-memory-not-said", "high")),
        ("", "", ("slurm-memory-not-said", "low")),
    ],
)
def test_memory_is_held_against_the_nodes_own(head: str, memory: str, difference: tuple[str, str] | None) -> None:
    """More than it has drains it; much less is lost where jobs are given memory at all."""
    assert said(check(machine(SMT), f"{head}NodeName=n1 {SHAPE} {memory}\n")) == ([difference] if difference else [])


@pytest.mark.parametrize(
    ("gres", "lines", "difference"),
    [
        ("gpu:2", "Name=gpu File=/dev/nvidia[0-1]\nAutoDetect=off\n", ("scheduler-gpus-not-placed", "low")),
        ("gpu:2", "AutoDetect=nvml\n", None),
        ("gpu:2", "Name=gpu File=/dev/nvidia0 Cores=16-31\nName=gpu File=/dev/nvidia1 Cores=32-47\n", None),
        ("gpu:2", "Name=gpu Count=2 Cores=16-31\n", ("slurm-gres-without-file", "high")),
        ("gpu:2", None, ("slurm-gres-without-file", "high")),
        ("gpu:2", "NodeName=n9 Name=gpu File=/dev/nvidia[0-1]\n", ("slurm-gres-without-file", "high")),
        ("gpu:v100:2", "Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=16-47\n", ("slurm-gres-without-file", "high")),
        ("gpu:4", "Name=gpu File=/dev/nvidia[0-3] Cores=16-47\n", ("slurm-gpus-too-many", "high")),
        ("gpu:14", "AutoDetect=nvml\n", None),
        ("gpu:1g.5gb:14", "Name=gpu MultipleFiles=/dev/nvidia-caps/nvidia-cap[1-2] Cores=16-47\n", None),
        ("gpu", "AutoDetect=nvml\n", ("slurm-gpus-too-few", "medium")),
        ("nic:1", "AutoDetect=nvml\n", ("slurm-gpus-too-few", "medium")),
        ("gpu:2", "Name=gpu File=/dev/nvidia[0-1] Cores=16-200\n", ("slurm-gres-cores-not-there", "medium")),
        ("gpu:2", "Name=gpu File=/dev/nvidia[0-1] Cores=64-79\n", ("slurm-gres-cores-far", "medium")),
    ],
)
def test_gpus_are_held_against_the_nodes_own(gres: str, lines: str | None, difference: tuple[str, str] | None) -> None:
    """How many, whether slurmd is given their files, and which cores: seen on slurmctld 22.05.8 to drain the node, or not."""
    found = check(with_gpus(SMT, [1, 2]), f"{HEAD}NodeName=n1 {GOOD} Gres={gres}\n", lines)
    assert said(found) == ([difference] if difference else [])


def test_cores_that_are_the_kernels_numbers_are_named_so() -> None:
    """On a machine whose CPU numbers alternate between its sockets."""
    node = with_gpus("a-r7425-2x7601-dell-smt", [4])
    made = definition_of(node)
    topology = node.topology
    assert made is not None
    assert topology is not None
    cpus = next(each.cpuset for each in topology.nodes if each.os_index == 4)
    cores = ",".join(str(cpu) for cpu in cpus if cpu < 64)
    found = check(node, f"{HEAD}{made.line('n1')}\n", f"Name=gpu Type=a100 File=/dev/nvidia0 Cores={cores}\n")
    assert ["these are the kernel's CPU numbers, but Slurm needs its own" in each.claim for each in found.differences] == [True]


def test_gres_types_must_name_gpu() -> None:
    """Else slurmctld ignores Gres."""
    found = check(with_gpus(SMT, [1]), f"GresTypes=nic\nNodeName=n1 {SHAPE} RealMemory=261120 Gres=gpu:1\n", "AutoDetect=nvml\n")
    assert [(each.id, each.write) for each in found.differences] == [("slurm-gres-types", "GresTypes=gpu,nic")]


def test_a_processors_own_graphics_want_no_job() -> None:
    """Intel's GPUs may be for a screen: that none is named is no difference, that more are is one."""
    node = with_gpus(SMT, [1], vendor="intel", minor=None)
    texts = (f"{HEAD}NodeName=n1 {GOOD}\n", f"{HEAD}NodeName=n1 {GOOD} Gres=gpu:2\n")
    assert [said(check(node, text)) for text in texts] == [[], [("slurm-gpus-too-many", "high")]]


def test_nothing_is_said_of_gpus_that_are_not_known() -> None:
    """An hwloc XML without PCI devices has None, and not ()."""
    node = machine(SMT).model_copy(update={"gpus": None})
    assert said(check(node, f"{HEAD}NodeName=n1 {GOOD} Gres=gpu:4\n")) == []


@pytest.mark.parametrize(
    ("parameter", "line", "difference"),
    [
        ("numa_node_as_socket", "CPUs=128 Sockets=8 CoresPerSocket=16", None),
        ("l3cache_as_socket", "CPUs=128 Sockets=32 CoresPerSocket=4", None),
        ("numa_node_as_socket", "CPUs=128 Sockets=2 CoresPerSocket=64", ("scheduler-sockets-differ", "low")),
    ],
)
def test_sockets_are_those_that_slurmd_is_told_to_take(parameter: str, line: str, difference: tuple[str, str] | None) -> None:
    """By SlurmdParameters in the same file."""
    found = check(machine(PLAIN), f"{HEAD}SlurmdParameters=x,{parameter}\nNodeName=n1 {line} RealMemory=261120\n")
    assert said(found) == ([difference] if difference else [])


def test_nodes_that_no_line_or_two_lines_define_are_named() -> None:
    """Of two lines slurmctld does not start; of a file that was not read nothing is said to be missing."""
    nodes = {name: machine(SMT) for name in ("n1", "n2", "n3")}
    text = f"{HEAD}NodeName=n[1-2] {GOOD}\nNodeName=n2 {GOOD}\n"
    found = check(nodes, text)
    assert [(each.id, each.nodes, each.place) for each in found.differences] == [
        ("slurm-node-twice", ("n2",), "slurm.conf line 3 and slurm.conf line 4"),
        ("slurm-node-not-defined", ("n3",), "slurm.conf"),
    ]
    assert said(check(nodes, f"{text}Include gone\n")) == [("slurm-node-twice", "high")]


def test_a_line_whose_nodes_have_other_host_names_is_not_compared() -> None:
    """Nor are its hosts called missing, which are known by the other name."""
    found = check({"h2": machine(SMT)}, f"{HEAD}NodeName=n[1-2] NodeHostName=h[1-2] CPUs=1\n")
    assert (said(found), found.not_known) == ([], ("slurm.conf line 3: NodeHostName is set, so these nodes are not compared",))


def test_memory_that_no_source_shows_is_not_known() -> None:
    """And so no pass."""
    topology = machine(SMT).topology
    assert topology is not None
    bare = topology.model_copy(update={"nodes": tuple(each.model_copy(update={"memory": None}) for each in topology.nodes)})
    found = check(machine(SMT).model_copy(update={"topology": bare}), f"{HEAD}NodeName=n1 {GOOD}\n")
    assert found.not_known == ("n1: its memory",)


def test_gpus_to_be_added_are_said_to_want_their_files_first() -> None:
    """Gres= alone would drain the node."""
    cost = (
        "2 of 2 GPUs get no jobs; write gres.conf first (AutoDetect, or advisor export slurm on the node), "
        "otherwise Slurm drains it"
    )
    assert [each.cost for each in check(with_gpus(SMT, [1, 2]), f"{HEAD}NodeName=n1 {GOOD}\n").differences] == [cost]


def test_of_a_fleet_a_difference_is_said_once_with_its_nodes() -> None:
    """Where only some nodes of a line differ, the line to write is for those alone."""
    nodes = {"n1": machine(PLAIN), "n2": machine(SMT), "n3": machine(PLAIN)}
    found = check(nodes, f"{HEAD}NodeName=n[1-3] {GOOD} Feature=x\n")
    assert [(each.id, each.nodes, each.write.split()[0], each.write.split()[-1]) for each in found.differences] == [
        ("scheduler-cpus-too-many", ("n1", "n3"), "NodeName=n[1,3]", "Feature=x")
    ]
