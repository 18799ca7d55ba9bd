"""Placements made by hand, for tests of launchers."""

from advisor.jobs.placement import HostPlan, JobShape, NodePlan, Placement, Slot
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology


def slot(topology: Topology, cpus: str, hca: str | None = None, memory: tuple[int, ...] | None = None) -> Slot:
    """Return a rank's place with everything that follows from its CPUs."""
    mine = CpuSet.parse(cpus)
    nodes = tuple(node.os_index for node in topology.nodes_of(mine))
    l3 = tuple(i for i, each in enumerate(topology.l3) if each.cpuset & mine)
    cores = sum(1 for core in topology.cores if core.cpuset & mine)
    memory = nodes if memory is None else memory
    return Slot(cpus=mine, cores=cores, nodes=nodes, memory=memory, l3=l3, socket=topology.package_of(mine), hca=hca)


def node(topology: Topology, *cpus: str, hca: tuple[str | None, ...] = ()) -> NodePlan:
    """Return a kind of node with a place for each list of CPUs."""
    devices = hca or (None,) * len(cpus)
    return NodePlan(topology=topology, slots=tuple(slot(topology, each, name) for each, name in zip(cpus, devices, strict=True)))


def planned(plans: tuple[NodePlan, ...], *hosts: tuple[str | None, int, int]) -> Placement:
    """Return a placement: hosts are a name, the position of a plan, and how many ranks."""
    return Placement(
        job=JobShape(ranks_per_node=1),
        strategy="compact",
        why=(),
        plans=plans,
        hosts=tuple(HostPlan(name=name, plan=plan, ranks=ranks) for name, plan, ranks in hosts),
    )


def bindings(placement: Placement) -> dict[int, tuple[str | None, CpuSet | None]]:
    """Return each rank's host and CPUs, as a launcher's ``parse`` gives them."""
    return {each.rank: (each.host, each.slot.cpus) for each in placement.ranks()}


def topologies(placement: Placement) -> dict[str | None, Topology]:
    """Return the hosts' topologies."""
    return {host.name: placement.plans[host.plan].topology for host in placement.hosts}
