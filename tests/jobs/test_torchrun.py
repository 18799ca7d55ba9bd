"""Lines of torchrun: the mode of --numa-binding that is the plan, and each worker behind numactl where none is."""

from pathlib import Path

import pytest

from advisor.errors import BadValue
from advisor.jobs.bind import Binding, bind
from advisor.jobs.launchers.torchrun import bound
from advisor.jobs.started.hosts import HostOptions, JobOptions, LauncherOptions
from advisor.machine.cpuset import CpuSet
from tests.jobs.place.nodes import cluster, gpu_node_file


def line(node: str, folder: Path, job: JobOptions, nodes: int | None = None, version: str | None = None) -> Binding:
    """Return what bind makes of a node for torchrun."""
    there = HostOptions(sources=(str(gpu_node_file(node, folder)),), nodes=nodes)
    return bind(["train.py", "--lr", "3"], job, there, LauncherOptions("torchrun", version=version), environment={})


def test_exclusive_divides_the_cores_of_a_node_among_its_gpus(scratch: Path) -> None:
    """A DGX H100's plan, 14 cores for each GPU of a socket, is that mode; the script stands where torchrun wants it."""
    made = line("dgx_h100", scratch, JobOptions())
    expected = ("torchrun", "--standalone", "--nproc-per-node=8", "--numa-binding=exclusive", "train.py", "--lr", "3")
    assert made.launch.argv == expected
    assert made.launch.environment["OMP_NUM_THREADS"] == "14"


def test_on_several_hosts_srun_starts_one_agent_on_each(scratch: Path) -> None:
    """They meet at the first of them."""
    argv = line("dgx_h100", scratch, JobOptions(), nodes=2).launch.argv
    assert argv[:8] == ("srun", "--nodes", "2", "--ntasks", "2", "--ntasks-per-node", "1", "--cpu-bind=none")
    assert "--rdzv-endpoint=NODE1:29500" in argv


@pytest.mark.parametrize(("threads", "version"), [(8, None), (14, "2.8.0")])
def test_numactl_binds_each_worker_where_no_mode_is_the_plan(threads: int, version: str | None, scratch: Path) -> None:
    """Eight cores of fourteen are no mode's; before PyTorch 2.9 there is none."""
    made = line("dgx_h100", scratch, JobOptions(threads=threads), version=version)
    script = made.launch.argv[made.launch.argv.index("-c") + 1]
    cpus = " ".join(str(slot.cpus) for slot in made.placement.plans[0].slots)
    assert script == f'each() {{ shift $LOCAL_RANK; echo $1; }}; exec numactl --localalloc --physcpubind=$(each {cpus}) "$@"'
    assert made.launch.argv[-4:] == ("python", "train.py", "--lr", "3")


def test_gpus_that_the_firmware_does_not_place_are_bound_by_numactl(scratch: Path) -> None:
    """On MI250X numa_node is -1, which torchrun takes for node 0: no mode is right there, though the plan knows the places."""
    made = line("frontier", scratch, JobOptions())
    assert (made.launch.form, made.launch.avoided[0].form) == ("numactl", "--numa-binding")


def test_two_ranks_on_a_gpu_are_refused(scratch: Path) -> None:
    """Worker i uses GPU i."""
    with pytest.raises(BadValue, match="worker i of torchrun uses GPU i"):
        line("dgx_h100", scratch, JobOptions(ranks_per=("gpu", 2)))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("node", ["0-5,48-53", "0-5,48-53", "6-11,54-59"]),
        ("socket", ["0-23,48-71", "0-23,48-71", "0-23,48-71"]),
        ("exclusive", ["0-2,48-50", "3-5,51-53", "6-11,54-59"]),
        ("core-complex", ["0-2,48-50", "3-5,51-53", "6-8,54-56"]),
    ],
)
def test_modes_give_what_their_page_says(mode: str, expected: list[str]) -> None:
    """Two GPUs at NUMA node 0 and one at node 1, of nodes of six cores with two L3 groups (docs.pytorch.org)."""
    topology = cluster("juwels_booster").topology
    assert topology is not None
    assert bound(mode, topology, (0, 0, 1)) == [CpuSet.parse(cpus) for cpus in expected]


def test_cores_left_over_go_to_the_first_gpus() -> None:
    """Six cores among four workers are two, two, one, one."""
    topology = cluster("juwels_booster").topology
    assert topology is not None
    assert [len(cpus) // 2 for cpus in bound("exclusive", topology, (2,) * 4)] == [2, 2, 1, 1]
