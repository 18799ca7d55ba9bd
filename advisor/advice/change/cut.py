"""The NUMA partitioning that is asked for, checked; the cores and memory of each new NUMA node, and the firmware's distances."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from advisor.advice.change.cores import CoreMap, Cores, NewNumbers
from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import Assumption, Cut
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_cut, scheme
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import L3, Distances, NumaNode, Topology
from advisor.measure.platform import CutOffer, Platform, dies, offered

Nodes = Literal["all"] | int
"""Domains of memory: one over all sockets, or so many in each."""

LOCAL, VIRTUAL = 10, 11
"""Of a node to itself, and on EPYC to another L3 group of the same NPS node (AMI's "ACPI SLIT virtual distance")."""

_NAMES: Final = {
    "nps": (Scheme.NPS, "NPS", "EPYC 7002 and later"),
    "l3_as_node": (Scheme.NPS, "L3 as NUMA node", "EPYC 7002 and later"),
    "interleave": (Scheme.DIES, "die or channel interleaving", "EPYC 7001"),
    "snc": (Scheme.SNC, "SNC", "Xeons since Skylake"),
    "cod": (Scheme.COD, "cluster on die", "Haswell and Broadwell"),
}


@dataclass(frozen=True)
class Target:
    """How the sockets are to be partitioned; None where the partitioning stays."""

    scheme: Scheme
    name: str
    nodes: Nodes | None = None
    l3_as_node: bool = False
    doubt: str | None = None
    """Why it is not sure that the firmware offers it."""


def target_of(machine: Machine, cores: CoreMap, wish: Assumption, platform: Platform | None) -> Target:
    """Return the NUMA partitioning that is asked for; raise where this processor cannot have it."""
    kind, cut = scheme(machine.cpu), infer_cut(machine)
    for name, (needs, words, who) in _NAMES.items():  # settings that this generation of processors does not have
        if getattr(wish, name) is not None and kind is not needs:
            if kind is not Scheme.UNKNOWN and platform is not None:
                raise BadValue(f"{platform.name} has no {words}: that is of {who}", cure=_choice(platform.cuts))
            shown = (machine.cpu.model_name if machine.cpu else None) or "a processor without a name"
            problem = f"{words} is of {who}; what {shown[:60]} offers is not known"
            raise BadValue(problem, cure="only smt and enumeration can be tried")
    if wish.nps is not None or wish.l3_as_node is not None:
        target = _nps(cut, wish)
    elif wish.interleave is not None:
        target = _interleave(cores, wish, platform)
    elif wish.snc is not None:
        target = Target(kind, "none" if wish.snc == 1 else f"SNC{wish.snc}", wish.snc)
    elif wish.cod is not None:
        target = Target(kind, "COD" if wish.cod else "none", 2 if wish.cod else 1)
    else:
        return Target(kind, cut.name)
    if cut.name == "unknown":
        raise BadValue(f"the present NUMA partitioning is not known: {cut.why[0]}", cure="nothing can be taken from it")
    if cut.name == target.name and (target.nodes is None or not target.l3_as_node or cut.beneath == target.nodes):
        return Target(kind, cut.name)
    return _offered(target, cores, platform) if platform is not None else target


def _nps(cut: Cut, wish: Assumption) -> Target:
    now = cut.name == "L3-as-NUMA"
    present = {"NPS0": 0, "NPS1": 1, "NPS2": 2, "NPS4": 4, "L3-as-NUMA": cut.beneath}.get(cut.name)
    nps = present if wish.nps is None else wish.nps
    l3 = now if wish.l3_as_node is None else wish.l3_as_node
    if wish.nps is None and l3 == now:
        return Target(Scheme.NPS, cut.name)
    if nps is None:
        raise BadValue("the NPS under L3-as-NUMA is not known here", cure="say it too: nps=1, nps=2 or nps=4")
    if nps == 0 and l3:
        raise BadValue("how L3 as NUMA node looks over NPS0 is not known", cure="choose nps=1, nps=2 or nps=4")
    return Target(Scheme.NPS, "L3-as-NUMA" if l3 else f"NPS{nps}", "all" if nps == 0 else nps, l3)


def _interleave(cores: CoreMap, wish: Assumption, platform: Platform | None) -> Target:
    if wish.interleave == "socket":
        return Target(Scheme.DIES, "socket-interleaving", "all")
    if wish.interleave == "die":
        return Target(Scheme.DIES, "die-interleaving", 1)
    count = dies(platform, len(cores.groups(0))) if platform else None
    if not count:
        raise BadValue("the L3 groups do not show how many dies a socket has", cure="choose interleave=die")
    return Target(Scheme.DIES, "channel-interleaving", count)


def _offered(target: Target, cores: CoreMap, platform: Platform) -> Target:
    """Return the target with any doubt that this processor offers it; raise where it does not."""
    sockets = len(cores.sockets)
    count = dies(platform, len(cores.groups(0)))
    choice = offered(platform, count, sockets, len(cores.sockets[0]))
    for name in ["L3-as-NUMA", f"NPS{target.nodes}"] if target.l3_as_node else [target.name]:
        offer = next((cut for cut in platform.cuts if cut.name == name), None)
        if offer in choice:
            continue
        odd = offer and offer.dies_multiple_of and count and count % offer.dies_multiple_of
        if offer is None or odd or (offer.sockets is not None and offer.sockets != sockets):
            of_dies = "" if count is None else f"{count} die{'s' * (count > 1)} a socket and "
            shape = f"{platform.name} with {of_dies}{sockets} socket{'s' * (sockets > 1)}"
            raise BadValue(f"{name} is not offered by {shape}", cure=_choice(choice))
        target = replace(target, doubt=target.doubt or f"whether this processor offers {name} is not known")
    return target


def _choice(cuts: tuple[CutOffer, ...]) -> str:
    return f"it offers {', '.join(cut.name for cut in cuts)}" if cuts else "its options are unknown"


class NewNode(NamedTuple):
    """A NUMA node to be."""

    cores: Cores
    socket: int | None
    """None where it spans several."""
    domain: int
    """Which memory it shares, counted in the machine; L3 groups of one NPS node share one."""


def new_nodes(cores: CoreMap, target: Target) -> tuple[NewNode, ...] | None:
    """Return the nodes in the order of their numbers; None where the nodes stay as they are."""
    if target.nodes is None:
        return None
    found: list[NewNode] = []
    if target.nodes == "all":
        found.append(NewNode(frozenset(each.core for each in cores.every), None if len(cores.sockets) > 1 else 0, 0))
    else:
        domains = [(at, own) for at in range(len(cores.sockets)) for own in _domains(cores, at, target.nodes, target.scheme)]
        for domain, (socket, own) in enumerate(domains):
            parts = [own & group for group in cores.groups(socket) if own & group] if target.l3_as_node else [own]
            found += [NewNode(part, socket, domain) for part in parts]
    same = {node.cores for node in found} == set(cores.nodes.values())
    table = cores.topology.distances
    # L3 groups of one NPS node are told from other nodes by their distance
    virtual = table is not None and any(VIRTUAL in row for row in table.rows)
    if same and len({node.domain for node in found}) == len(found) and not virtual:
        return None
    cores.must_be_whole()
    return tuple(found)


def _domains(cores: CoreMap, socket: int, count: int, kind: Scheme) -> tuple[Cores, ...]:
    """Return so many parts of a socket: present nodes joined, or present nodes divided, or the socket divided again."""
    parts = cores.parts(socket)
    if len(parts) % count == 0:
        return _joined(parts, len(parts) // count)
    whole = parts if count % len(parts) == 0 else (cores.whole(socket),)
    return tuple(piece for part in whole for piece in _divided(cores, socket, part, count // len(whole), kind))


def _joined(parts: tuple[Cores, ...], size: int) -> tuple[Cores, ...]:
    return tuple(frozenset().union(*parts[at : at + size]) for at in range(0, len(parts), size))


def _divided(cores: CoreMap, socket: int, part: Cores, count: int, kind: Scheme) -> tuple[Cores, ...]:
    """Return a node's pieces: whole L3 groups on EPYC, runs of cores on Xeon, where the L3 is one."""
    if kind in (Scheme.NPS, Scheme.DIES):
        groups = tuple(group for group in cores.groups(socket) if group <= part)
        if not cores.topology.l3 or len(groups) % count:
            shown = f"{len(groups)} L3 groups do not divide into {count} nodes" if cores.topology.l3 else "no L3 group is shown"
            raise BadValue(f"{shown}, so the nodes are not known", cure="take a capture on the machine: advisor capture")
        return _joined(groups, len(groups) // count)
    own = [each.core for each in cores.sockets[socket] if each.core in part]
    if len(own) < count:
        raise BadValue(f"{len(own)} cores do not make {count} nodes", cure="choose fewer")
    return tuple(frozenset(own[a:b]) for a, b in pairwise(len(own) * at // count for at in range(count + 1)))


def cut_nodes(cores: CoreMap, cells: Sequence[NewNode], numbers: NewNumbers, *, sure: bool) -> tuple[NumaNode, ...]:
    """Return the nodes of a new cut; memory whose split is not ``sure`` is not known."""
    total: list[int | None] = [0] * len(cells)  # that of the nodes inside each cell, and even shares of those it divides
    for node in cores.topology.cpu_nodes:
        over = [at for at, cell in enumerate(cells) if cell.cores & cores.nodes[node.os_index]]
        for share, at in enumerate(over):
            before, whole = total[at], node.memory
            known = before is not None and whole is not None and (len(over) == 1 or sure)
            total[at] = (before or 0) + (whole or 0) // len(over) + (share < (whole or 0) % len(over)) if known else None
    sets = [numbers.of(cell.cores) for cell in cells]
    nodes = [NumaNode(os_index=at, cpuset=cpus, near=cpus, memory=total[at]) for at, cpus in enumerate(sets)]
    return (*nodes, *_without_cpus(cores, cells, sets))


def _without_cpus(cores: CoreMap, cells: Sequence[NewNode], sets: Sequence[CpuSet]) -> tuple[NumaNode, ...]:
    """Return the nodes without CPUs, numbered after those with: HBM one for each node of its socket, others as they are."""
    others = [node for node in cores.topology.nodes if not node.cpuset]
    hbm = [node for node in others if node.kind == "hbm"]
    result: list[NumaNode] = []
    for cell, near in zip(cells, sets, strict=True) if hbm else ():
        beside = [other.cores for other in cells if other.socket == cell.socket]
        size = _sum(node.memory for node in hbm if cores.cores_in(node.near) & frozenset().union(*beside))
        each = None if size is None else size // len(beside)
        result.append(NumaNode(os_index=0, cpuset=CpuSet(), near=near, memory=each, kind="hbm"))
    for node in (node for node in others if node.kind != "hbm"):
        own = cores.cores_in(node.near)
        near = union(cpus for cell, cpus in zip(cells, sets, strict=True) if cell.cores & own)
        result.append(node.model_copy(update={"near": near}))
    return tuple(node.model_copy(update={"os_index": len(cells) + at}) for at, node in enumerate(result))


def l3_groups(cores: CoreMap, cells: Sequence[NewNode], numbers: NewNumbers) -> tuple[L3, ...]:
    """Return the L3 of each cluster: its share of the L3 groups that reach into it."""
    present = [(cores.cores_in(l3.cpuset), l3.size) for l3 in cores.topology.l3]
    found = []
    for cell in cells:
        parts = [
            (cell.cores & own, size and size * len(cell.cores & own) // len(own)) for own, size in present if cell.cores & own
        ]
        if parts:
            cpus = union(numbers.of(own) for own, _ in parts)
            found.append(L3(cpuset=cpus, size=_sum(size for _, size in parts)))
    return tuple(found)


def _sum(sizes: Iterable[int | None]) -> int | None:
    known = tuple(sizes)
    return None if None in known else sum(size for size in known if size)


class Usual(NamedTuple):
    """Distances inside a socket and to another one."""

    inside: int
    outside: int
    seen: str


def usual(target: Target, model: int | None) -> Usual:
    """Return the distances that firmware usually gives for a NUMA partitioning."""
    if target.scheme is Scheme.NPS:
        return Usual(12, 32, "AMI's defaults on EPYC 7002")
    if target.scheme is Scheme.DIES:
        return Usual(16, 32, "what two-socket EPYC 7001 show")
    if target.nodes == 1:
        return Usual(21, 21, "what Xeons without clusters show")
    if target.scheme is Scheme.COD:
        return Usual(21, 31, "what an E5-2683 v3 with cluster on die shows")
    old = model == 85
    return Usual(11, 21, "what Skylake and Cascade Lake show") if old else Usual(12, 21, "what a Xeon Platinum 8480+ shows")


def distances(cores: CoreMap, cells: Sequence[NewNode], target: Target, model: int | None) -> Distances | None:
    """Return the table of a new cut, of the nodes with CPUs; None where the machine hides its own."""
    topology = cores.topology
    if topology.distances is None and (len(topology.nodes) > 1 or len(cells) == 1):
        return None
    known, (inside, outside) = usual(target, model), _shown(topology, target)
    keeps = target.scheme is not Scheme.COD
    near = inside if inside is not None and keeps else known.inside
    far = outside if outside is not None and keeps else known.outside

    def between(a: NewNode, b: NewNode) -> int:
        return LOCAL if a is b else far if a.socket != b.socket else VIRTUAL if a.domain == b.domain else near

    return Distances(nodes=tuple(range(len(cells))), rows=tuple(tuple(between(a, b) for b in cells) for a in cells))


def _shown(topology: Topology, target: Target) -> tuple[int | None, int | None]:
    """Return the present distances inside a socket and to another, each where it is one number and no virtual one."""
    table = topology.distances
    ignored = VIRTUAL if target.scheme is Scheme.NPS else None
    home = {node.os_index: topology.package_of(node.cpuset) for node in topology.cpu_nodes}
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for a, row in zip(table.nodes, table.rows, strict=True) if table else ():
        for b, value in zip(table.nodes, row, strict=True) if table else ():
            if a != b and value != ignored and home.get(a) is not None and home.get(b) is not None:
                found[home[a] == home[b]].add(value)
    inside, outside = (values.pop() if len(values) == 1 else None for values in found.values())
    return inside, outside
