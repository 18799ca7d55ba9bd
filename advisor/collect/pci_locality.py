"""Which NUMA nodes a device is local to: as the firmware says, or inferred with the reason."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.devices import Locality


class Nodes(NamedTuple):
    """The NUMA nodes and their CPUs; empty where the host does not show them."""

    cpus: Mapping[int, CpuSet]
    online: CpuSet | None = None

    def within(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the nodes whose CPUs lie inside the given ones, else the node that holds them all, else ()."""
        own = {node: mine for node, mine in self.cpus.items() if mine}
        inside = tuple(sorted(node for node, mine in own.items() if mine <= cpus))
        return inside or tuple(sorted(node for node, mine in own.items() if cpus and cpus <= mine))


class Clues(NamedTuple):
    """What is told of a device and of its neighbourhood."""

    node: int | None
    """Its numa_node."""
    cpus: CpuSet | None = None
    """Its local_cpulist."""
    above: tuple[tuple[str, int | None], ...] = ()
    """The bridges above it and their numa_node, the nearest first."""
    beside: Callable[[], Mapping[str, int]] = dict
    """The numa_node of other devices under the same root bus; asked for last, because it takes many reads."""


def locality(clues: Clues, nodes: Nodes) -> Locality:
    """Return where a device is; no nodes, and the reason, where nothing says so.

    numa_node is -1 where the firmware gives the root bridge no _PXM: that is not node 0.
    """
    if _exists(clues.node, nodes):
        return _told(clues, nodes)
    for step in (_above, _by_cpus, _beside, _only):
        found, because = step(clues, nodes)
        if found:
            return Locality(numa_nodes=found, inferred=f"{_lacks(clues.node)}; {because}")
    return Locality(numa_nodes=(), inferred=f"{_lacks(clues.node)}, and nothing around it says where it is")


def _exists(node: int | None, nodes: Nodes) -> bool:
    return node is not None and node >= 0 and (not nodes.cpus or node in nodes.cpus)


def _lacks(node: int | None) -> str:
    if node is None:
        return "numa_node is absent"
    return "numa_node is -1" if node < 0 else f"numa_node {node} does not exist"


def _told(clues: Clues, nodes: Nodes) -> Locality:
    node = clues.node or 0
    wide = nodes.within(clues.cpus) if _limits(clues.cpus, nodes) and clues.cpus else ()
    if node in wide and len(wide) > 1:
        return Locality(numa_nodes=wide, inferred=f"numa_node is {node}; local_cpulist {clues.cpus} covers several nodes")
    return Locality(numa_nodes=(node,))


def _limits(cpus: CpuSet | None, nodes: Nodes) -> bool:
    """Return whether the CPUs are fewer than all: without a node the kernel lists every CPU online, which says nothing."""
    everyone = nodes.online if nodes.online is not None else union(nodes.cpus.values())
    return bool(cpus) and cpus is not None and (cpus & everyone) < everyone


def _above(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    for address, node in clues.above:
        if node is not None and _exists(node, nodes):
            return (node,), f"{address} above it is on node {node}"
    return (), ""


def _by_cpus(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    if clues.cpus is None or not _limits(clues.cpus, nodes):
        return (), ""
    return nodes.within(clues.cpus), f"local_cpulist is {clues.cpus}"


def _beside(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    told = {address: node for address, node in clues.beside().items() if _exists(node, nodes)}
    if len(set(told.values())) != 1:
        return (), ""
    address, node = min(told.items())
    return (node,), f"{address} under the same root bus is on node {node}"


def _only(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    del clues
    own = tuple(node for node, mine in nodes.cpus.items() if mine)
    return (own, f"node {own[0]} is the only node") if len(own) == 1 else ((), "")
