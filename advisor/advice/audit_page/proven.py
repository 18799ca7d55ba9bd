"""What is proven of a machine of which little is known: how its sockets are partitioned, its memory, what bounds it. Pure."""

from collections.abc import Iterator
from typing import Final

from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import NumaNode, Topology
from advisor.machine.units import binary, count, plain, throughput
from advisor.measure.bounds import MemoryBounds
from advisor.show.cpulists import numbered

_ALIKE: Final = 0.1
"""Nodes whose memory differs by less hold the same: firmware and kernel keep a part of some of them."""
_ADAPTERS: Final = 2


def proven(machine: Machine, layout: Layout, bounds: MemoryBounds | None) -> Iterator[str]:
    """Yield what the topology and arithmetic prove, the most useful first."""
    topology = machine.topology
    if topology is None or not topology.pus:
        return
    yield from of_bounds(bounds, virtual=machine.environment.virtual if machine.environment else None)
    yield from _partitioning(machine, topology, layout)
    if memory := _memory([node for node in topology.cpu_nodes if node.memory]):
        yield memory
    yield from _groups(topology)
    linked = {device.address: device.link for device in machine.pci or () if device.link and device.link.bandwidth}
    for hca in [each for each in machine.hcas or () if each.address in linked][:_ADAPTERS]:
        link = linked[hca.address or ""]
        yield f"PCIe carries {throughput(link.bandwidth)} each way to {plain(hca.name, 40)}"


def of_bounds(bounds: MemoryBounds | None, *, virtual: str | None) -> Iterator[str]:
    """Yield what the memory is at most; how many channels are filled only of real machines, for guests are given a part."""
    if bounds is None:
        return
    if bounds.modules is not None and bounds.channels and bounds.modules < bounds.channels and virtual == "none":
        filled = f"at most {bounds.modules} of {bounds.channels} memory channels are filled"
        yield f"{filled} ({binary(bounds.module)} is the smallest DIMM)"
    if bounds.bandwidth:
        yield f"memory carries at most {throughput(bounds.bandwidth)}: {bounds.because}"


def _partitioning(machine: Machine, topology: Topology, layout: Layout) -> Iterator[str]:
    """Yield how the sockets are partitioned: by its name where that is sure, else the nodes of each socket."""
    cut, sockets = layout.cut, find_sockets(machine, topology)[0]
    if not topology.numa_known or not sockets:
        return
    nodes = {sum(1 for node in topology.cpu_nodes if node.cpuset & cpus) for cpus in sockets}
    spanning = any(sum(1 for cpus in sockets if node.cpuset & cpus) > 1 for node in topology.cpu_nodes)
    if spanning:
        yield f"{count(len(topology.cpu_nodes), 'NUMA node')} over {count(len(sockets), 'socket')}"
    elif len(nodes) == 1:
        name = "" if cut.name in ("none", "unknown") or cut.confidence == "low" else f"{plain(cut.name, 40)}, "
        yield f"{name}{count(nodes.pop(), 'NUMA node')} per socket"
    else:
        yield f"sockets have {' and '.join(map(str, sorted(nodes)))} NUMA nodes"


def _memory(nodes: list[NumaNode]) -> str:
    """Return the memory of the nodes: equal, or which have how much."""
    sizes = [node.memory or 0 for node in nodes]
    if len(sizes) < 2:
        return ""
    if max(sizes) - min(sizes) <= _ALIKE * max(sizes):
        return f"{binary(max(sizes))} on each of {len(sizes)} NUMA nodes"
    least = [node.os_index for node in nodes if (node.memory or 0) <= (1 + _ALIKE) * min(sizes)]
    return f"memory is unequal: {binary(min(sizes))} on node {numbered(least)}, up to {binary(max(sizes))} on the others"


def _groups(topology: Topology) -> Iterator[str]:
    """Yield the L3 groups where they are alike and more than one."""
    kinds = {(len(group.cpuset), group.size) for group in topology.l3}
    if len(topology.l3) > 1 and len(kinds) == 1:
        cpus, size = kinds.pop()
        yield f"{len(topology.l3)} L3 groups of {count(cpus, 'CPU')}{f', {binary(size)} each' if size else ''}"
