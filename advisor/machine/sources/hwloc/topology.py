"""From hwloc objects to a Topology and to memory tiers."""

import re
from typing import TypeVar

from advisor.errors import BadXml
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.memory import MemoryTier
from advisor.machine.sources.hwloc.objects import Document, Element, cpuset, os_index, whole_number
from advisor.machine.sources.pci.spec import COHERENT
from advisor.machine.topology import L3, Core, Die, Distances, NumaNode, Package, SharedL2, Topology
from advisor.machine.value import number

_KINDS = {
    "DRAM": "dram",
    "HBM": "hbm",
    "MCDRAM": "hbm",
    "NVM": "nvdimm",
    "NVDIMM": "nvdimm",
    "GPUMemory": "gpu",
    "CXL-DRAM": "cxl",
    "CXL": "cxl",
    "SPM": "hbm",
}
"""hwloc's subtype (or MemoryTier) of a NUMA node, in our words."""

_SIDE = "MemorySideCache"
"""hwloc's subtype of an L3 that is a cache of the memory behind it."""

_ALIKE = 1.25
"""Two nodes of one cpuset within this ratio of size are two banks of the same memory, not DRAM beside something else."""

MOST_NODES = 1024
"""As in Linux, where CONFIG_NODES_SHIFT is 10 at most."""

_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)


def topology(document: Document) -> Topology:
    """Return the topology of the whole machine, as far as the file shows it."""
    root = document.root
    pus = CpuSet(os_index(pu) for pu in document.of_type("PU"))
    if not pus:
        raise BadXml("no PU in it", cure="write it again with lstopo, without --filter")
    nodes = _nodes(document)
    numbers = CpuSet(node.os_index for node in nodes)
    packages = tuple(Package(os_index=whole_number(e, "os_index"), cpuset=_own(e)) for e in document.of_type("Package"))
    cores = _sorted(tuple(Core(os_index=whole_number(e, "os_index"), cpuset=_own(e)) for e in document.of_type("Core")))
    return Topology(
        packages=_sorted(packages),
        dies=_dies(document, packages),
        nodes=nodes,
        l3=_sorted(tuple(L3(cpuset=_own(e), size=whole_number(e, "cache_size")) for e in _processor_l3(document))),
        shared_l2=_shared_l2(document, cores),
        cores=cores,
        own_caches=_own_caches(document, cores),
        pus=pus,
        missing=(cpuset(root, "complete_cpuset") or pus) - pus,
        missing_nodes=(cpuset(root, "complete_nodeset") or numbers) - numbers,
        allowed=_or_all(cpuset(root, "allowed_cpuset"), pus),
        allowed_nodes=_or_all(cpuset(root, "allowed_nodeset"), numbers),
        distances=_distances(document, numbers),
        numa_known=not (len(nodes) == 1 and not nodes[0].memory),
    )


def memory_tiers(document: Document) -> tuple[MemoryTier, ...] | None:
    """Return each node's best bandwidth and latency where the file has memory attributes (HMAT), else None."""
    by_gp = {element.get("gp_index"): os_index(element) for element in document.of_type("NUMANode")}
    facts: dict[int, dict[str, float]] = {}
    for attr in document.top.findall("memattr"):
        field = _ATTRIBUTES.get(attr.get("name", ""))
        for value in attr.findall("memattr_value") if field else ():
            node, amount = by_gp.get(value.get("target_obj_gp_index")), number(value.get("value"))
            if field and node is not None and amount is not None:
                name, scale, better = field
                known = facts.setdefault(node, {})
                known[name] = better(known.get(name, amount * scale), amount * scale)
    for element in document.of_type("NUMANode"):
        # A memory-side cache (Xeon Max and Knights Landing in cache mode) is the parent of the memory behind it.
        parent = document.parent(element)
        cache = whole_number(parent, "cache_size") if parent is not None and parent.get("type") == "MemCache" else None
        if cache:
            facts.setdefault(os_index(element), {})["cache"] = cache
    for element in document.of_type("L3Cache"):
        size = whole_number(element, "cache_size") if element.get("subtype") == _SIDE else None
        if size:
            for node in (cpuset(element, "nodeset") or CpuSet()) & CpuSet(by_gp.values()):
                facts.setdefault(node, {}).setdefault("cache", size)
    return tuple(_tier(node, facts[node]) for node in sorted(facts)) or None


# hwloc keeps bandwidth in MiB/s and latency in ns; the best initiator's value is what the node offers (hwloc/memattrs.h).
_MIB, _NS = float(1 << 20), 1e-9
_ATTRIBUTES = {
    "ReadBandwidth": ("read_bandwidth", _MIB, max),
    "WriteBandwidth": ("write_bandwidth", _MIB, max),
    "ReadLatency": ("read_latency", _NS, min),
    "WriteLatency": ("write_latency", _NS, min),
}


def _tier(node: int, facts: dict[str, float]) -> MemoryTier:
    return MemoryTier(
        node=node,
        read_bandwidth=int(facts["read_bandwidth"]) if "read_bandwidth" in facts else None,
        write_bandwidth=int(facts["write_bandwidth"]) if "write_bandwidth" in facts else None,
        read_latency=facts.get("read_latency"),
        write_latency=facts.get("write_latency"),
        cache=int(facts["cache"]) if "cache" in facts else None,
    )


def _nodes(document: Document) -> tuple[NumaNode, ...]:
    """Return the nodes by number. Each CPU is a node's own only once: other memory near it is memory alone."""
    nodes: list[NumaNode] = []
    elements = document.of_type("NUMANode")
    shared = any(_is_coherent(element) for element in document.of_type("PCIDev"))
    if len(elements) > MOST_NODES:
        raise BadXml(f"{len(elements)} NUMA nodes, more than the {MOST_NODES} that Linux knows", cure="refused as unsafe")
    for element in sorted(elements, key=os_index):
        memory, kind = whole_number(element, "local_memory"), _KINDS.get(element.get("subtype", ""))
        near, size = _own(element), _memory(document, memory)
        if shared and any(node.near == near for node in nodes):
            kind = "gpu"
        nodes.append(NumaNode(os_index=os_index(element), cpuset=near, near=near, memory=size, kind=kind))
    if len({node.os_index for node in nodes}) < len(nodes):
        raise BadXml("two NUMA nodes of one number", cure="write it again with lstopo")
    owners: list[NumaNode] = []
    for node in sorted(nodes, key=_claim):
        if not node.near <= union(owner.near for owner in owners) or any(_alike(owner, node) for owner in owners):
            owners.append(node)
    own = {node.os_index for node in owners}
    nodes = [node if node.os_index in own else node.model_copy(update={"cpuset": CpuSet()}) for node in nodes]
    return tuple(sorted(nodes, key=lambda node: node.os_index))


def _is_coherent(element: Element) -> bool:
    """Return whether a PCI device is a GPU whose memory the kernel shows as NUMA nodes, beside those of a Grace."""
    match = re.fullmatch(r"03\d\d \[10de:([0-9a-f]{4})\].*", element.get("pci_type", ""), re.ASCII | re.IGNORECASE)
    return match is not None and int(match[1], 16) in COHERENT


def _claim(node: NumaNode) -> tuple[bool, int, int]:
    """Return who is asked first whether CPUs are its own: DRAM, the node of fewer CPUs, the lower number."""
    return (node.kind not in (None, "dram"), len(node.near), node.os_index)


def _alike(owner: NumaNode, node: NumaNode) -> bool:
    return owner.near == node.near and _same_memory(owner, node.memory, node.kind)


def _memory(document: Document, memory: int | None) -> int | None:
    # lstopo leaves the attribute out when it is 0, and also when nothing is known: other nodes' sizes tell which.
    if memory is None and any(element.get("local_memory") for element in document.of_type("NUMANode")):
        return 0
    return memory


def _same_memory(node: NumaNode, memory: int | None, kind: str | None) -> bool:
    if node.kind != kind or not node.memory or not memory:
        return False
    return max(node.memory, memory) <= _ALIKE * min(node.memory, memory)


def _processor_l3(document: Document) -> tuple[Element, ...]:
    """Return the L3 caches of processors: files of hwloc 1.x and those converted show MCDRAM before a memory as one."""
    return tuple(element for element in document.of_type("L3Cache") if element.get("subtype") != _SIDE)


def _dies(document: Document, packages: tuple[Package, ...]) -> tuple[Die, ...]:
    sockets = {package.cpuset for package in packages}
    dies = tuple(Die(os_index=whole_number(e, "os_index"), cpuset=_own(e)) for e in document.of_type("Die"))
    return _sorted(tuple(die for die in dies if die.cpuset not in sockets))


def _shared_l2(document: Document, cores: tuple[Core, ...]) -> tuple[SharedL2, ...]:
    """Return the level 2 caches that are not just one core's."""
    own = {core.cpuset for core in cores}
    found = tuple(SharedL2(cpuset=_own(element)) for element in document.of_type("L2Cache"))
    return _sorted(tuple(cache for cache in found if len(cache.cpuset) > 1 and cache.cpuset not in own))


def _own_caches(document: Document, cores: tuple[Core, ...]) -> tuple[int, ...]:
    """Return the levels of cache of which each core has just one, and shares it with no other."""
    wanted = sorted(str(core.cpuset) for core in cores)
    found = {level: sorted(str(_own(element)) for element in document.of_type(f"L{level}Cache")) for level in (1, 2)}
    return tuple(level for level, sets in found.items() if cores and sets == wanted)


def _distances(document: Document, numbers: CpuSet) -> Distances | None:
    for table in document.top.findall("distances2"):
        if (
            table.get("type") == "NUMANode"
            and table.get("name", "NUMALatency") == "NUMALatency"
            and table.get("indexing") == "os"
        ):
            indexes = _values(table, "indexes")
            values = _values(table, "u64values")
            if len(values) != len(indexes) ** 2 or len(indexes) > MOST_NODES:
                raise BadXml(f"distances of {len(indexes)} nodes with {len(values)} values", cure="write it again with lstopo")
            if not CpuSet(indexes) <= numbers:
                raise BadXml("distances name a NUMA node that is not there", cure="write it again with lstopo")
            n = len(indexes)
            return Distances(nodes=indexes, rows=tuple(values[i * n : (i + 1) * n] for i in range(n)))
    return None


def _values(table: Element, tag: str) -> tuple[int, ...]:
    numbers = tuple(number(word) for part in table.findall(tag) for word in (part.text or "").split())
    good = tuple(value for value in numbers if value is not None and 0 <= value < 1 << 32)
    if len(good) < len(numbers):
        raise BadXml(f"<{tag}> of the distances holds a word that is not a number", cure="write it again with lstopo")
    return good


def _own(element: Element) -> CpuSet:
    return cpuset(element, "cpuset") or CpuSet()


def _or_all(given: CpuSet | None, everything: CpuSet) -> CpuSet:
    return everything if given is None else given & everything


def _sorted(things: tuple[_Part, ...]) -> tuple[_Part, ...]:
    return tuple(sorted(things, key=lambda thing: thing.cpuset.first if thing.cpuset.first is not None else LIMIT))
