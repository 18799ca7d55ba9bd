"""The name of a NUMA partitioning, one function for each way in which sockets are partitioned: NPS, SNC, COD, dies."""

from collections.abc import Callable
from dataclasses import dataclass

from advisor.machine.cpu import advertised_cores
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import Confidence, Cut
from advisor.machine.machine import Machine
from advisor.machine.platform_traits import Scheme
from advisor.machine.schemes import two_l3_a_die
from advisor.machine.topology import L3, NumaNode, Topology


@dataclass(frozen=True)
class Socket:
    """A socket with its NUMA nodes that have CPUs, and its L3 groups."""

    cpus: CpuSet
    nodes: tuple[NumaNode, ...]
    l3: tuple[L3, ...]

    @property
    def nodes_are_l3(self) -> bool:
        """Whether each node is exactly one L3 group."""
        return len(self.nodes) > 1 and {node.cpuset for node in self.nodes} == {l3.cpuset for l3 in self.l3}

    @property
    def l3_spans_nodes(self) -> bool:
        """Whether some L3 group reaches over several nodes, as only Intel's clusters leave it."""
        return any(sum(1 for node in self.nodes if node.cpuset & l3.cpuset) > 1 for l3 in self.l3)


@dataclass(frozen=True)
class View:
    """What a namer may look at."""

    machine: Machine
    topology: Topology
    sockets: tuple[Socket, ...]

    @property
    def l3_per_socket(self) -> int | None:
        """L3 groups of each socket; None where sockets differ or none is shown."""
        counts = {len(socket.l3) for socket in self.sockets}
        return counts.pop() or None if len(counts) == 1 else None


def _cut(name: str, nodes: int, confidence: Confidence, *why: str) -> Cut:
    return Cut(name=name, nodes_per_socket=nodes, confidence=confidence, why=why)


def _per_socket(nodes: int) -> str:
    return f"{nodes} NUMA node{'s' if nodes > 1 else ''} with CPUs in each socket"


def _dies(view: View, nodes: int) -> Cut:
    """EPYC 7001: two L3 groups a die, one memory controller a die."""
    groups = view.l3_per_socket
    dies = groups // 2 if groups and groups % 2 == 0 else None
    if nodes in (2, 4) and all(socket.nodes_are_l3 for socket in view.sockets):
        reason = "each is one L3 group: the other of its die is switched off"
        return _cut("channel-interleaving", nodes, "medium", _per_socket(nodes), reason)
    if dies == 1 and nodes == 1:
        return _cut("none", nodes, "high", "one die a socket, nothing to interleave")
    if nodes == dies or (dies is None and nodes == 4):
        reason = "one node for each die, so memory is interleaved over the channels of a die"
        return _cut("channel-interleaving", nodes, "high" if dies else "medium", _per_socket(nodes), reason)
    if nodes == 1:
        sure: Confidence = "high" if dies else "medium"
        return _cut("die-interleaving", nodes, sure, _per_socket(nodes), "the memory of all its dies is interleaved")
    return _cut(
        "unknown", nodes, "low", _per_socket(nodes), f"{dies or 'an unknown number of'} dies a socket: no BIOS setting gives that"
    )


def _nps(view: View, nodes: int) -> Cut:
    """EPYC 7002 and later. Whether L3-as-NUMA is on top of NPS2 or NPS4 shows only in the distances."""
    alike = all(socket.nodes_are_l3 for socket in view.sockets)
    halves = ("a die has two of them, and NPS divides no die",) if nodes in (2, 4) and _halves_of_dies(view) else ()
    if alike and (nodes not in (2, 4) or halves or _virtual_distance(view)):
        sure: Confidence = "high" if nodes not in (2, 4) or halves else "medium"
        beneath, told = _nps_below(view)
        cut = _cut("L3-as-NUMA", nodes, sure, "every NUMA node is one L3 group", *halves, *told)
        return cut.model_copy(update={"beneath": beneath})
    if nodes not in (1, 2, 4):
        return _cut("unknown", nodes, "low", _per_socket(nodes), "neither an NPS setting nor the number of L3 groups")
    if alike:
        reason = "each is also one L3 group, so L3-as-NUMA would look the same"
        return _cut(f"NPS{nodes}", nodes, "medium", _per_socket(nodes), reason)
    groups = sorted({len(socket.l3) for socket in view.sockets})
    if groups == [0]:
        return _cut(
            f"NPS{nodes}", nodes, "medium", _per_socket(nodes), "the L3 groups are not shown, so L3-as-NUMA is not ruled out"
        )
    shown = " or ".join(map(str, groups))
    return _cut(f"NPS{nodes}", nodes, "high", _per_socket(nodes), f"L3 groups in each: {shown}, so L3-as-NUMA is off")


def _halves_of_dies(view: View) -> bool:
    """Return whether L3 groups are halves of dies: where all cores that the name promises are there, no half is switched off."""
    cpu, cores = view.machine.cpu, len(view.topology.cores)
    return two_l3_a_die(cpu) and cores == (advertised_cores(cpu) or 0) * len(view.sockets)


# AMD's reference BIOS gives nodes that are L3 groups of one quadrant the distance 11 (AGESA "ACPI SLIT virtual distance").
_VIRTUAL = 11


def _virtual_distance(view: View) -> bool:
    table = view.topology.distances
    return table is not None and any(_VIRTUAL in row for row in table.rows)


def _nps_below(view: View) -> tuple[int | None, tuple[str, ...]]:
    """Return the NPS under L3-as-NUMA and how the distances tell it: nodes of one quadrant are 11 apart."""
    table = view.topology.distances
    first = view.sockets[0].nodes
    if table is None or not _virtual_distance(view):
        return None, ("the distances do not tell the NPS setting beneath",)
    near = sum(1 for node in first if table.between(first[0].os_index, node.os_index) in (10, _VIRTUAL))
    if not near:
        return None, ()
    nps = len(first) // near
    return nps, (f"distance {_VIRTUAL} groups {near} of {len(first)} nodes, which means NPS{nps} beneath",)


def _cod(view: View, nodes: int) -> Cut:
    if nodes == 1:
        return _cut("none", nodes, "high", _per_socket(nodes), "cluster on die is off")
    if nodes == 2:
        split = view.l3_per_socket == 2
        return _cut(
            "COD",
            nodes,
            "high" if split else "medium",
            _per_socket(nodes),
            "and two L3 groups" if split else "the L3 groups are not shown split",
        )
    return _cut("unknown", nodes, "low", _per_socket(nodes), "cluster on die gives two")


def _snc(view: View, nodes: int) -> Cut:
    if nodes == 1:
        return _cut("none", nodes, "high", _per_socket(nodes), "sub-NUMA clustering is off")
    dies = _dies_of_advanced(view)
    if nodes == dies:
        return _cut("none", nodes, "high", _per_socket(nodes), "the dies of a Xeon Platinum 9200, each with an L3")
    if dies and nodes == 2 * dies:
        return _cut("SNC2", nodes, "high", _per_socket(nodes), "two on each die of a Xeon Platinum 9200")
    if nodes in (2, 3, 4, 6):
        spans = all(socket.l3_spans_nodes for socket in view.sockets)
        return _cut(
            f"SNC{nodes}",
            nodes,
            "high" if spans else "medium",
            _per_socket(nodes),
            *(("one L3 over all of them",) if spans else ()),
        )
    return _cut("unknown", nodes, "low", _per_socket(nodes), "sub-NUMA clustering gives 2, 3, 4 or 6")


def _dies_of_advanced(view: View) -> int | None:
    """Return 2 for a Cascade Lake AP, whose package has two dies with an L3 each, else None."""
    cpu = view.machine.cpu
    return 2 if cpu and cpu.model == 85 and view.l3_per_socket == 2 else None


def _knl(view: View, nodes: int) -> Cut:
    """Knights Landing. SNC modes show in the nodes; all-to-all, hemisphere and quadrant look alike to the system."""
    firmware = view.machine.firmware
    told = (firmware.cluster_mode, firmware.memory_mode) if firmware else (None, None)
    fast = any(not node.cpuset for node in view.topology.nodes)
    cluster = told[0] or (f"SNC{nodes}" if nodes in (2, 4) else None)
    # Its cores share no L3: what is shown as one, or as a memory-side cache, is MCDRAM if it is a quarter of 16 GB or more.
    shown = (*(l3.size for l3 in view.topology.l3), *(tier.cache for tier in view.machine.tiers or ()))
    cached = sum(size or 0 for size in shown) >= 1 << 31
    memory = (told[1] or (("hybrid" if cached else "flat") if fast else "cache")).lower()
    name = "-".join(
        word for word in ("KNL", cluster if not cluster or cluster.startswith("SNC") else cluster.lower(), memory) if word
    )
    reason = "MCDRAM is a node of its own" if fast else "MCDRAM shows no node, so it is the cache of the DRAM"
    if all(told):
        return _cut(name, nodes, "high", _per_socket(nodes), "the firmware's own tables tell the modes")
    more = () if cluster else ("quadrant, hemisphere and all-to-all look alike to the operating system",)
    return _cut(name, nodes, "high" if cluster else "medium", _per_socket(nodes), reason, *more)


def _fixed(view: View, nodes: int) -> Cut:
    del view
    if nodes == 1:
        return _cut("none", nodes, "high", _per_socket(nodes))
    return _cut("none", nodes, "high", _per_socket(nodes), "the dies of the package, which the BIOS does not cut")


def _whole(view: View, nodes: int) -> Cut:
    del view
    if nodes == 1:
        return _cut("none", nodes, "high", _per_socket(nodes), "this processor has no NUMA partitioning")
    return _cut("unknown", nodes, "low", _per_socket(nodes), "this processor is not known to be cut")


def _unknown(view: View, nodes: int) -> Cut:
    """Without a known processor only the shape speaks."""
    x86 = view.machine.architecture in (None, "x86_64") and (
        view.machine.cpu is None or view.machine.cpu.vendor in (None, "GenuineIntel")
    )
    if nodes == 1:
        return _cut("none", nodes, "medium", _per_socket(nodes))
    if x86 and nodes in (2, 3, 4) and all(socket.l3_spans_nodes for socket in view.sockets):
        return _cut(
            f"SNC{nodes}", nodes, "medium", _per_socket(nodes), "one L3 over all of them, as only Intel's clusters have it"
        )
    return _cut("unknown", nodes, "low", _per_socket(nodes), "advisor does not know the NUMA partitioning of this processor")


NAMERS: dict[Scheme, Callable[[View, int], Cut]] = {
    Scheme.DIES: _dies,
    Scheme.NPS: _nps,
    Scheme.COD: _cod,
    Scheme.SNC: _snc,
    Scheme.KNL: _knl,
    Scheme.FIXED: _fixed,
    Scheme.WHOLE: _whole,
    Scheme.UNKNOWN: _unknown,
}
"""A namer for every scheme."""
