"""Slurm's lines: GPUs by Slurm's core numbers and only with their files, memory with a margin, a fleet in few lines."""

from collections.abc import Sequence
from typing import Any

import pytest

from advisor.errors import BadValue
from advisor.exports.export import ExportSubject
from advisor.exports.formats.slurm import files
from advisor.machine.hardware import Gpu, Locality
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from tests.conftest import Golden
from tests.exports import OPTIONS
from tests.machines.read import machine

ROUND_ROBIN = "a-r7425-2x7601-dell-smt"
ROME = "b-c6525-2x7702-nps4-smt"


def gpu(number: int, node: int, model: str | None = "NVIDIA A100-SXM4-40GB", **more: Any) -> Gpu:
    """Return a GPU at a NUMA node."""
    given = {"vendor": "nvidia", "minor": number, "model": model, "locality": Locality(numa_nodes=(node,)), **more}
    return Gpu(address=f"0000:{number + 16:02x}:00.0", **given)


def with_gpus(name: str, gpus: Sequence[Gpu]) -> Machine:
    """Return a machine with GPUs."""
    return machine(name).model_copy(update={"gpus": tuple(gpus)})


def lines(of: Machine) -> list[str]:
    """Return the lines of all files, comments too."""
    return [line for text in files(ExportSubject(machine=of), OPTIONS).values() for line in text.splitlines()]


def test_the_page_of_a_node_with_gpus(golden: Golden) -> None:
    """First the line, then what it rests on; gres.conf with Slurm's numbers of cores whose CPU numbers alternate."""
    made = files(ExportSubject(machine=with_gpus(ROUND_ROBIN, [gpu(1, 0), gpu(0, 4), gpu(2, 4)])), OPTIONS)
    golden("slurm-gpus", "".join(f"==> {name}\n{text}" for name, text in made.items()))


def test_a_gpu_without_its_file_is_in_no_line() -> None:
    """It would drain the node: the line is without Gres, there is no gres.conf, and the page says why."""
    made = files(ExportSubject(machine=with_gpus(ROME, [gpu(0, 1), gpu(1, 2, minor=None)])), OPTIONS)
    text = made["advisor-nodes.conf"]
    assert (list(made), text.splitlines()[0].count("Gres=")) == (["advisor-nodes.conf"], 0)
    assert "# Gres: this source does not show the device files of the 2 GPUs" in text


def test_gpus_in_parts_are_in_no_line() -> None:
    """MIG instances have files of their own, which are not read."""
    text = lines(with_gpus(ROME, [gpu(0, 1, instances=7)]))
    assert [line for line in text if "Gres" in line] == [
        "# Gres: GPUs are split into MIG instances; list them with AutoDetect=nvml or MultipleFiles="
    ]


def test_amds_gpus_have_the_files_that_their_driver_says() -> None:
    """/dev/dri/renderD128 and on, a line for GPUs near the same cores."""
    gpus = [gpu(i, 0, "AMD Instinct MI210", vendor="amd", minor=128 + i) for i in range(2)]
    found = [line for line in lines(with_gpus(ROME, gpus)) if line.startswith("NodeName=") and "File=" in line]
    assert found == ["NodeName=c6525 Name=gpu Type=mi210 File=/dev/dri/renderD[128-129] Cores=0-15"]


def test_cpus_that_are_off_or_hidden_are_named() -> None:
    """Which it is an hwloc XML does not tell, and slurmd counts only online CPUs."""
    text = lines(machine("offline"))
    assert [line.partition(":")[2] for line in text if line.startswith("# CPUs ")] == [
        " offline, or hidden from this source; slurmd counts only online CPUs"
    ]


def test_types_are_given_to_all_or_to_none() -> None:
    """Slurm forbids typed and untyped GPUs side by side."""
    mixed = lines(with_gpus(ROME, [gpu(0, 1), gpu(1, 1, None)]))
    assert [line.split(" ")[-1] for line in mixed if line.startswith("NodeName=")] == ["Gres=gpu:2", "Cores=16-31"]


def test_gpus_near_a_whole_machine_have_no_cores() -> None:
    """Cores are only named where they are nearer than others."""
    everywhere = Locality(numa_nodes=tuple(range(8)))
    found = [line for line in lines(with_gpus(ROME, [gpu(0, 0, locality=everywhere)])) if "File=" in line]
    assert found == ["NodeName=c6525 Name=gpu Type=a100 File=/dev/nvidia0"]


@pytest.mark.parametrize(
    ("name", "place", "word"),
    [
        (ROME, Locality(numa_nodes=(3,)), "numa_node_as_socket"),
        (ROME, Locality(numa_nodes=(0, 1, 2, 3)), None),
        ("b-c6525-2x7702-nps1", Locality(numa_nodes=(1,)), None),
        ("cxl", Locality(numa_nodes=(0,)), None),
    ],
)
def test_other_sockets_are_suggested_where_gpus_are_near_parts_of_one(name: str, place: Locality, word: str | None) -> None:
    """And only where those parts are all alike; not where the GPU's cores are whole sockets already."""
    found = [line for line in lines(with_gpus(name, [gpu(0, 0, locality=place)])) if "SlurmdParameters=" in line]
    assert [word in line for line in found if word] == ([True] if word else [])
    assert len(found) == (1 if word else 0)


def test_l3_groups_are_suggested_where_gpus_are_near_single_ones() -> None:
    """As each die of an MI250X is near one L3 group."""
    topology = machine("b-c6525-2x7702-nps1").topology
    assert topology is not None
    near = topology.l3[5].cpuset
    found = lines(with_gpus("b-c6525-2x7702-nps1", [gpu(0, 0, locality=Locality(numa_nodes=(0,), cpus=near))]))
    at = next(i for i, line in enumerate(found) if "SlurmdParameters=l3cache_as_socket" in line)
    assert found[at + 1].split()[1:6] == ["NodeName=c6525", "CPUs=128", "Boards=1", "SocketsPerBoard=32", "CoresPerSocket=4"]


def of_memory(topology: Topology, sizes: Sequence[int]) -> Topology:
    """Return a topology whose NUMA nodes have some MiB."""
    nodes = (node.model_copy(update={"memory": size << 20}) for node, size in zip(topology.nodes, sizes, strict=True))
    return topology.model_copy(update={"nodes": tuple(nodes)})


def fleet(*parts: tuple[tuple[str, ...], str, int]) -> ExportSubject:
    """Return nodes by machine and MiB of each of two NUMA nodes."""
    made = []
    for names, name, size in parts:
        whole = machine(name)
        assert whole.topology is not None
        made.append((names, whole.model_copy(update={"topology": of_memory(whole.topology, (size, size))})))
    return ExportSubject(alike=tuple(made))


def definitions(subject: ExportSubject) -> list[str]:
    """Return the NodeName lines."""
    return [line for line in files(subject, OPTIONS)["advisor-nodes.conf"].splitlines() if not line.startswith("#")]


def test_nodes_of_a_fleet_share_a_line_where_they_want_the_same() -> None:
    """Memory that differs little is that of the least, for several captures stand for nodes alike within a 64th."""
    near = fleet((("n1", "n2"), "epyc-nps1-linear", 131072), (("n4",), "epyc-nps1-linear", 131000))
    shape = "CPUs=32 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=1"
    assert definitions(near) == [f"NodeName=n[1-2,4] {shape} RealMemory={262144 - 4096 - 1024}"]
    far = fleet((("n1", "n2"), "epyc-nps1-linear", 131072), (("n4",), "epyc-nps1-linear", 65536))
    assert definitions(far) == [
        f"NodeName=n4 {shape} RealMemory={131072 - 1024}",
        f"NodeName=n[1-2] {shape} RealMemory={262144 - 4096 - 1024}",
    ]


def test_a_machine_that_slurm_cannot_describe_is_refused() -> None:
    """As slurmd -C prints 0 sockets or cores there."""
    whole = machine("b-c6525-2x7702-nps1")
    assert whole.topology is not None
    bare = whole.topology.model_copy(update={"cores": ()})
    with pytest.raises(BadValue, match="run slurmd -C on the node"):
        files(ExportSubject(machine=whole.model_copy(update={"topology": bare})), OPTIONS)
