"""Lines of torchrun: each worker behind numactl."""

from pathlib import Path

import pytest

from advisor.errors import BadValue
from advisor.jobs.bind import Binding, bind
from advisor.jobs.started.hosts import HostOptions, JobOptions, LauncherOptions
from tests.jobs.place.nodes import gpu_node_file


def line(node: str, folder: Path, job: JobOptions, nodes: int | None = None, version: str | None = None) -> Binding:
    """Return what bind makes of a node for torchrun."""
    there = HostOptions(sources=(str(gpu_node_file(node, folder)),), nodes=nodes)
    return bind(["train.py", "--lr", "3"], job, there, LauncherOptions("torchrun", version=version), environment={})


def test_on_several_hosts_srun_starts_one_agent_on_each(scratch: Path) -> None:
    """They meet at the first of them."""
    argv = line("dgx_h100", scratch, JobOptions(), nodes=2).launch.argv
    assert argv[:8] == ("srun", "--nodes", "2", "--ntasks", "2", "--ntasks-per-node", "1", "--cpu-bind=none")
    assert "--rdzv-endpoint=NODE1:29500" in argv


def test_numactl_binds_each_worker(scratch: Path) -> None:
    """To the cores of its GPU; a script of Python's has its interpreter."""
    made = line("dgx_h100", scratch, JobOptions(threads=8))
    script = made.launch.argv[made.launch.argv.index("-c") + 1]
    cpus = " ".join(str(slot.cpus) for slot in made.placement.plans[0].slots)
    assert script == f'each() {{ shift $LOCAL_RANK; echo $1; }}; exec numactl --localalloc --physcpubind=$(each {cpus}) "$@"'
    assert made.launch.argv[-4:] == ("python", "train.py", "--lr", "3")


def test_two_ranks_on_a_gpu_are_refused(scratch: Path) -> None:
    """Worker i uses GPU i."""
    with pytest.raises(BadValue, match="worker i of torchrun uses GPU i"):
        line("dgx_h100", scratch, JobOptions(ranks_per=("gpu", 2)))
