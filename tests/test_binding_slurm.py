"""Slurm as it is, with nodes that are not here: what its tasks observe is what was planned."""

from functools import partial

import pytest

from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import srun
from advisor.jobs.placement import Placement
from advisor.machine.topology import Topology
from tests.fakenode import slurm
from tests.fakenode.lab import probe
from tests.fakenode.plans import SEEDS, file_of, machine_of, plans
from tests.fakenode.run import LaunchFailedError
from tests.fakenode.tally import tallied

FEW = ("b-c6525-2x7402-nps4", "c-c6320-2x2660v3")
MORE = ("uneven-l3", "memoryless", "smt-disabled", "dies", "cxl", "two-hcas")
NODES = ("n1", "n2", "n3")

pytestmark = pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)")


def topology_of(name: str) -> Topology:
    """Return a machine's topology."""
    topology = machine_of(name).topology
    assert topology is not None
    return topology


def far(placement: Placement) -> bool:
    """Whether some rank shall take memory of another node than its own."""
    return any(slot.memory and set(slot.memory) != set(slot.nodes) for plan in placement.plans for slot in plan.slots)


def tried(cluster: slurm.Cluster, names: tuple[str, ...], hosts: tuple[str, ...], *, brief: bool) -> list[str]:
    """Launch every plan of some machines in its short and in its exact form; return what went wrong."""
    faults: list[str] = []
    for words, placement in plans(names, hosts, brief=brief):
        forms: set[str] = set()
        for exact in (False, True):
            launch = srun.launch(placement, LaunchRequest((probe(),), exact=exact, version="22.05"))
            if launch.form in forms:
                continue
            forms.add(launch.form)
            if launch.form == "map_ldom" or (launch.form == "wrapper" and far(placement)):
                continue  # libnuma, in slurmd and in numactl, reads this machine's own /sys for the nodes
            try:
                wrong = tallied(names[0], launch, placement, partial(cluster.observe, launch, hosts))
            except LaunchFailedError as error:
                wrong = [str(error)[:800]]
            faults += [f"{words} {launch.form}: {line}" for line in wrong[:4]]
    return faults


def test_tasks_on_two_nodes_alike_and_one_that_differs_are_where_the_plan_says() -> None:
    """Cores in blocks, maps and masks where nodes are alike; the wrapper where they differ."""
    machines = {"n1": FEW[0], "n2": FEW[0], "n3": FEW[1]}
    with slurm.cluster({node: file_of(name) for node, name in machines.items()}) as cluster:
        assert tried(cluster, (FEW[0], FEW[0]), ("n1", "n2"), brief=True) == []
        assert tried(cluster, (FEW[1],), ("n3",), brief=True) == []
        assert tried(cluster, (FEW[0], FEW[1]), ("n1", "n3"), brief=True) == []
        assert tried(cluster, (FEW[0], FEW[0]), ("n2", "n1"), brief=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SEEDS, *MORE])
def test_tasks_are_where_the_plan_says(name: str) -> None:
    """On one node, on two alike, and beside another kind."""
    topology = topology_of(name)
    if len({len(package.cpuset) for package in topology.packages}) > 1 or topology.missing:
        pytest.skip("Slurm cannot describe sockets that differ")
    machines = {"n1": name, "n2": name, "n3": FEW[0]}
    with slurm.cluster({node: file_of(machine) for node, machine in machines.items()}) as cluster:
        assert tried(cluster, (name,), ("n1",), brief=False) == []
        assert tried(cluster, (name, name), ("n1", "n2"), brief=True) == []
        assert tried(cluster, (name, FEW[0]), ("n2", "n3"), brief=True) == []
