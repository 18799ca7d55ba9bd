"""Which NUMA nodes are HBM, and how it is used: as nodes of its own, as a cache of the DRAM, or as all memory there is."""

import re
from dataclasses import dataclass
from typing import Literal

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.partitioning import hbm_mode
from advisor.machine.topology import NumaNode

_HBM_ALONE = re.compile(r"\b(MI300A|A64FX)\b")
"""Processors without DIMMs: AMD Instinct MI300A data sheet (128 GB of HBM3), A64FX data sheet (32 GiB of HBM2)."""

MI300A = 0x74A0
"""Its GPU in the PCI ID Repository; it shares a package with its cores."""
_AMD = 0x1002


@dataclass(frozen=True)
class FastMemory:
    """The HBM of a machine."""

    mode: Literal["flat", "cache", "only"]
    nodes: tuple[NumaNode, ...]
    """The NUMA nodes that are HBM: without CPUs in flat mode, () where it is a cache, all where there is no other memory."""

    def near(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the nodes that are nearest to some CPUs."""
        return tuple(node.os_index for node in self.nodes if node.near & cpus)


def fast_memory(machine: Machine) -> FastMemory | None:
    """Return the HBM of a machine that its kinds of memory, its firmware or its processor show; None where nothing does."""
    nodes = machine.topology.inside.nodes if machine.topology else ()
    apart = tuple(_placed(machine, node) for node in nodes if node.kind == "hbm" and not node.cpuset and node.memory)
    if apart:
        return FastMemory("flat", apart)
    mode, owners = hbm_mode(machine), tuple(node for node in nodes if node.cpuset and node.memory != 0)
    named = machine.cpu is not None and _HBM_ALONE.search(machine.cpu.model_name or "") is not None
    apu = any((card.vendor, card.device) == (_AMD, MI300A) for card in machine.pci or ())
    if mode == "only" or named or apu or (owners and all(node.kind == "hbm" for node in owners)):
        return FastMemory("only", owners)
    return FastMemory("cache", ()) if mode == "cache" else None


def _placed(machine: Machine, node: NumaNode) -> NumaNode:
    """Return a node with the CPUs that are nearest to it: where no source shows them, those at the least distance, or all."""
    topology = machine.topology
    if node.near or topology is None:
        return node
    owners, table = topology.cpu_nodes, topology.distances
    far = {each.os_index: table.between(each.os_index, node.os_index) for each in owners} if table else {}
    least = min((value for value in far.values() if value is not None), default=None)
    near = union(each.cpuset for each in owners if far.get(each.os_index) == least)
    return node.but(near=near)


def nodes_in_words(numbers: CpuSet) -> str:
    """Return ``NUMA node 1`` or ``NUMA nodes 8-15``."""
    return f"NUMA node{'s' * (len(numbers) > 1)} {numbers}"
