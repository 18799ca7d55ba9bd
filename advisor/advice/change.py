"""Transforms a Machine as its firmware would after a restart with other settings. Pure.

NUMA nodes, L3 groups and CPU numbers change, and what that means for all other facts: known, assumed or no longer known, each
with its reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from advisor.errors import BadValue, CannotWork
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.fact import lists_with
from advisor.machine.hardware import Bios, Cpu, Gpu, Hca, Locality, Memory, Nic, PciDevice
from advisor.machine.layout import Assumption, Cut, infer_numbering
from advisor.machine.machine import Facts, Gap, Hugepages, Kernel, Machine, Source
from advisor.machine.partitioning import find_sockets, has_smt, infer_cut, scheme
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import L3, Core, Die, Distances, NumaNode, Package, SharedL2, Topology
from advisor.measure.platform import CutOffer, Platform, dies, offered

Cores = frozenset[int]
"""Positions of cores in Topology.cores."""

Order = Literal["linear", "over packages", "over nodes", "over dies"]

_LAST = LIMIT
"""Where what has no number is sorted."""
_TWO = 2
_GROUPS_OF_A_DIE = 2
"""L3 groups of a die of EPYC 7001."""
_ORDERS: dict[Scheme, tuple[Order, ...]] = {
    Scheme.NPS: ("linear", "over nodes", "over packages", "over dies"),
    Scheme.DIES: ("linear", "over dies", "over nodes", "over packages"),
}
"""The orders seen on each generation, in the order in which they are tried; the second is what its round-robin is taken for."""
_USUAL: tuple[Order, ...] = ("linear", "over packages", "over nodes", "over dies")


@dataclass(frozen=True)
class CorePosition:
    """One core's place, each counted from 0 inside the one before."""

    core: int
    socket: int
    index: int
    """Position in the socket."""
    group: int
    """L3 group in the socket; 0 if none is shown."""
    place: int
    """Position in the group."""


@dataclass(frozen=True)
class CoreMap:
    """All cores of a machine in the order of the hardware, and the NUMA nodes they have now."""

    topology: Topology
    sockets: tuple[tuple[CorePosition, ...], ...]

    @cached_property
    def every(self) -> tuple[CorePosition, ...]:
        """The cores of all sockets."""
        return tuple(position for socket in self.sockets for position in socket)

    @cached_property
    def _core_of(self) -> dict[int, int]:
        return {cpu: number for number, core in enumerate(self.topology.cores) for cpu in core.cpuset}

    def cores_in(self, cpus: CpuSet) -> Cores:
        """Return the cores that have a CPU in a set."""
        return frozenset(self._core_of[cpu] for cpu in cpus if cpu in self._core_of)

    @cached_property
    def nodes(self) -> dict[int, Cores]:
        """The cores of each NUMA node that has CPUs."""
        return {node.os_index: self.cores_in(node.cpuset) for node in self.topology.cpu_nodes}

    def whole(self, socket: int) -> Cores:
        """Return the cores of a socket."""
        return frozenset(position.core for position in self.sockets[socket])

    def groups(self, socket: int) -> tuple[Cores, ...]:
        """Return the L3 groups of a socket in order."""
        found: dict[int, set[int]] = defaultdict(set)
        for position in self.sockets[socket]:
            found[position.group].add(position.core)
        return tuple(frozenset(cores) for _, cores in sorted(found.items()))

    def parts(self, socket: int) -> tuple[Cores, ...]:
        """Return the present NUMA nodes of a socket in the order of their numbers; the socket where one spans several."""
        own = self.whole(socket)
        found = tuple(cores for _, cores in sorted(self.nodes.items()) if cores & own)
        return found if all(cores <= own for cores in found) else (own,)

    @cached_property
    def by_first(self) -> tuple[int, ...]:
        """The cores in the order of their first CPU."""
        cores = self.topology.cores
        return tuple(sorted(range(len(cores)), key=lambda core: cores[core].cpuset.first or 0))

    @property
    def missing_are_second(self) -> bool:
        """Whether the CPUs that are missing are the second threads of the cores that are there."""
        topology, count = self.topology, len(self.topology.cores)
        return topology.missing == CpuSet.span(count, 2 * count - 1) and topology.pus == CpuSet.span(0, count - 1)

    def must_be_whole(self) -> None:
        """Refuse a machine of which CPUs are offline or hidden, for their places are not known; second threads may be."""
        topology = self.topology
        missing = CpuSet() if self.missing_are_second else topology.missing
        hidden, what = missing or topology.missing_nodes, "CPUs" if missing else "NUMA nodes"
        if hidden:
            why = f"{what} {hidden} are offline or hidden, so the firmware's result is unknown"
            raise CannotWork(f"{why}; capture the whole machine")
        if topology.pus != CpuSet.span(0, len(topology.pus) - 1):
            raise CannotWork("the CPU numbers have gaps, so part of the machine may be hidden; capture the whole machine")


def core_map(machine: Machine) -> CoreMap:
    """Return where the cores of a machine sit; raise where the input does not say which CPUs are a core."""
    topology = machine.topology
    if topology is None or not topology.pus or not topology.packages:
        raise CannotWork("this input does not list CPUs and sockets; take a capture on the machine itself: advisor capture")
    if union(core.cpuset for core in topology.cores) != topology.pus:
        raise CannotWork("this input does not say which CPUs form a core; take a capture on the machine: advisor capture")

    def first(cpus: CpuSet) -> tuple[int, int]:
        """Return what sockets are sorted by: the first of their NUMA nodes, else their first CPU."""
        own = [node.os_index for node in topology.cpu_nodes if node.cpuset <= cpus]
        return min(own, default=_LAST), cpus.first or 0

    found = sorted(find_sockets(machine, topology)[0], key=first)
    if union(found) != topology.pus:
        raise CannotWork("some CPUs belong to no socket in this input; take a capture on the machine: advisor capture")
    return CoreMap(topology, tuple(_socket(topology, number, cpus) for number, cpus in enumerate(found)))


def _socket(topology: Topology, number: int, cpus: CpuSet) -> tuple[CorePosition, ...]:
    """Return the cores of one socket; its L3 groups are ordered by NUMA node, then by the numbers of their cores."""
    ranks, cores = _ranks(topology, cpus), topology.cores
    node_of = {cpu: node.os_index for node in topology.cpu_nodes for cpu in node.cpuset & cpus}
    caches = [frozenset(core for core in ranks if cores[core].cpuset & l3.cpuset) for l3 in topology.l3]
    caches = [own for own in caches if own] or [frozenset(ranks)]
    caches += [frozenset((core,)) for core in ranks if not any(core in own for own in caches)]

    def order(own: Cores) -> tuple[int, tuple[int, int]]:
        nodes = (node_of.get(cores[core].cpuset.first or 0, _LAST) for core in own)
        return min(nodes), min(ranks[core] for core in own)

    found: list[CorePosition] = []
    for group, own in enumerate(sorted(caches, key=order)):
        for place, core in enumerate(sorted(own, key=ranks.__getitem__)):
            found.append(CorePosition(core, number, len(found), group, place))
    return tuple(found)


def _ranks(topology: Topology, cpus: CpuSet) -> dict[int, tuple[int, int]]:
    """Return what each core of a socket is sorted by: the kernel's number of it, or its first CPU where those do not tell."""
    cores = {position: core for position, core in enumerate(topology.cores) if core.cpuset & cpus}
    packages = [package for package in topology.packages if package.cpuset & cpus]
    ranks: dict[int, tuple[int, int]] = {}
    for position, core in cores.items():
        package = next((at for at, each in enumerate(packages) if core.cpuset & each.cpuset), 0)
        number = packages[package].os_index if packages else None
        if core.os_index is not None:
            ranks[position] = (package if number is None else number, core.os_index)
    if len(set(ranks.values())) == len(cores):
        return ranks
    return {position: (0, core.cpuset.first or 0) for position, core in cores.items()}


class _Keys(NamedTuple):
    """What cores are numbered by in a machine with some NUMA nodes."""

    cores: CoreMap
    node_of: Mapping[int, tuple[int, int]]
    """For each core its NUMA node in the socket, and its L3 group in that node."""

    @classmethod
    def of(cls, cores: CoreMap, nodes: Sequence[Cores], kind: Scheme) -> "_Keys":
        """Return them; dies take the place of nodes where the enumeration of EPYC 7001 has them."""
        if kind is Scheme.DIES:
            return cls(cores, {each.core: divmod(each.group, _GROUPS_OF_A_DIE) for each in cores.every})
        found: dict[int, tuple[int, int]] = {}
        for number in range(len(cores.sockets)):
            own = cores.whole(number)
            for position, node in enumerate([node & own for node in nodes if node & own] or [own]):
                inside = [group & node for group in cores.groups(number) if group & node]
                found.update({core: (position, at) for at, group in enumerate(inside) for core in group})
            found.update(dict.fromkeys(own - found.keys(), (0, 0)))
        return cls(cores, found)

    def sorted(self, order: Order) -> tuple[int, ...]:
        """Return the cores in an order."""

        def key(each: CorePosition) -> tuple[int, ...]:
            node, group = self.node_of[each.core]
            keys: dict[Order, tuple[int, ...]] = {
                "linear": (each.socket, each.index),
                "over packages": (each.index, each.socket),
                "over nodes": (each.place, group, each.socket, node),
                "over dies": (each.place, group, node, each.socket),
            }
            return keys[order]

        return tuple(each.core for each in sorted(self.cores.every, key=key))


@dataclass(frozen=True)
class NewNumbers:
    """The CPUs of every core after the change."""

    cpus: tuple[CpuSet, ...]
    threads: int | None
    """Threads of a core, where SMT was switched."""
    same: bool
    notes: tuple[tuple[str, str], ...]
    """Facts, and what was assumed of them."""

    def of(self, cores: Cores) -> CpuSet:
        """Return the CPUs of some cores."""
        return union(self.cpus[core] for core in cores)


def new_numbers(cores: CoreMap, cpu: Cpu | None, wish: Assumption, nodes: Sequence[Cores] | None) -> NewNumbers:
    """Return the numbers: as they are where nothing asks for others, else counted from 0; ``nodes`` are new NUMA nodes."""
    order, why = _order(cores, scheme(cpu), wish, nodes)
    threads = _threads(cores, cpu, wish)
    present = tuple(core.cpuset for core in cores.topology.cores)
    if order == cores.by_first and threads is None:
        return NewNumbers(present, None, same=True, notes=())
    cores.must_be_whole()
    widths = {len(cpus) for cpus in present}
    if threads is None and len(widths) > 1:
        raise CannotWork("cores differ in their number of threads, so the new numbering is unknown")
    notes = [("topology.numbering", why)] if why else []
    if threads == _TWO:
        notes.append(("topology.cores", "second threads are numbered after all first threads, as in most firmware"))
    # second threads beside the first, or after all first ones, as most firmware lists them
    adjacent = max(widths) > 1 and {b - a for core in cores.topology.cores for a, b in pairwise(core.cpuset)} == {1}
    wide, total = threads or widths.pop(), len(order)
    sets = {
        core: CpuSet((at * wide + thread) if adjacent else (at + total * thread) for thread in range(wide))
        for at, core in enumerate(order)
    }
    cpus = tuple(sets[core] for core in range(total))
    return NewNumbers(cpus, threads, same=cpus == present, notes=tuple(notes))


def _order(cores: CoreMap, kind: Scheme, wish: Assumption, nodes: Sequence[Cores] | None) -> tuple[tuple[int, ...], str | None]:
    """Return the cores in the order of their numbers, and what was assumed of it."""
    present = [own for _, own in sorted(cores.nodes.items())]
    now, then, orders = _Keys.of(cores, present, kind), _Keys.of(cores, nodes or present, kind), _ORDERS.get(kind, _USUAL)
    follows = next((order for order in orders if now.sorted(order) == cores.by_first), None)  # exactly
    if wish.enumeration and infer_numbering(cores.topology).name != wish.enumeration:
        if wish.enumeration == "linear":
            return then.sorted("linear"), "one socket after the other, each in the order of its core numbers"
        return then.sorted(orders[1]), f"round-robin {orders[1]}, as on servers with these processors"
    if nodes and follows == "over nodes" and kind is Scheme.NPS:
        return then.sorted(follows), "round-robin over the new nodes"
    return cores.by_first, None


def _threads(cores: CoreMap, cpu: Cpu | None, wish: Assumption) -> int | None:
    """Return the threads of a core where SMT is to be switched."""
    now = max(len(core.cpuset) for core in cores.topology.cores)
    if wish.smt is None or wish.smt == (now > 1):
        return None
    if wish.smt and not has_smt(cpu):
        shown = (cpu.model_name if cpu else None) or "this processor"
        raise BadValue(f"{shown[:60]} is not known to have SMT with two threads per core", cure="it offers smt=off")
    return _TWO if wish.smt else 1


Nodes = Literal["all"] | int
"""Domains of memory: one over all sockets, or so many in each."""

LOCAL, VIRTUAL = 10, 11
"""Of a node to itself, and on EPYC to another L3 group of the same NPS node (AMI's "ACPI SLIT virtual distance")."""

_NAMES = {
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
                raise BadValue(f"{platform.name} has no {words} (found on {who})", cure=_choice(platform.cuts))
            shown = (machine.cpu.model_name if machine.cpu else None) or "an unnamed processor"
            problem = f"{words} is found on {who}; the NUMA partitioning modes of {shown[:60]} are unknown"
            raise BadValue(problem, cure="try only smt and enumeration on this machine")
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
        raise BadValue(f"the current NUMA partitioning is unknown: {cut.why[0]}", cure="it cannot be changed from here")
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
        raise BadValue("the NPS under L3-as-NUMA is unknown here", cure="add it: nps=1, nps=2 or nps=4")
    if nps == 0 and l3:
        raise BadValue("the result of L3 as NUMA with NPS0 is unknown", cure="choose nps=1, nps=2 or nps=4")
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
            of_dies = "" if count is None else f"{count} die{'s' * (count > 1)} per socket and "
            shape = f"{platform.name} with {of_dies}{sockets} socket{'s' * (sockets > 1)}"
            raise BadValue(f"{name} is not offered by {shape}", cure=_choice(choice))
        target = replace(target, doubt=target.doubt or f"it is unknown whether this processor offers {name}")
    return target


def _choice(cuts: tuple[CutOffer, ...]) -> str:
    return f"available: {', '.join(cut.name for cut in cuts)}" if cuts else "its options are unknown"


class NewNode(NamedTuple):
    """A NUMA node to be."""

    cores: Cores
    socket: int | None
    """None if it spans several."""
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
            shown = (
                f"{len(groups)} L3 groups do not divide evenly into {count} nodes"
                if cores.topology.l3
                else "no L3 group is shown"
            )
            raise BadValue(f"{shown}, so the nodes are unknown", cure="take a capture on the machine: advisor capture")
        return _joined(groups, len(groups) // count)
    own = [each.core for each in cores.sockets[socket] if each.core in part]
    if len(own) < count:
        raise BadValue(f"{len(own)} cores cannot form {count} nodes", cure="choose fewer")
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
        result.append(node.but(near=near))
    return tuple(node.but(os_index=len(cells) + at) for at, node in enumerate(result))


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
        return Usual(16, 32, "those seen on two-socket EPYC 7001")
    if target.nodes == 1:
        return Usual(21, 21, "the values seen on Xeons without sub-NUMA clusters")
    if target.scheme is Scheme.COD:
        return Usual(21, 31, "those seen on an E5-2683 v3 with cluster on die")
    old = model == 85
    return (
        Usual(11, 21, "those seen on Skylake and Cascade Lake") if old else Usual(12, 21, "those seen on a Xeon Platinum 8480+")
    )


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


_PLACED = lists_with(Facts, "locality")
"""Lists of what has a place in the machine."""
_HELP = "check again after the restart: advisor audit"
_FEW = 8
_MADE = {
    Scheme.NPS: "each node is a run of L3 groups in the order of the core numbers, as seen at NPS4 on EPYC 7002",
    Scheme.DIES: "each node is a die: two L3 groups in the order of the core numbers",
}
_CLUSTERS = "each cluster is a run of consecutive core numbers; on some dies the clusters alternate"

_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)
FactUpdates = Iterator[tuple[str, Any, tuple[Gap, ...]]]
"""A field of the Machine, what it becomes, and what is to be said of it."""


def _gap(fact: str, why: str) -> Gap:
    """Return a fact that was assumed, or that nobody can know before the restart."""
    return Gap(fact=fact, why=f"assumed, not read: {why}", help=_HELP)


@dataclass(frozen=True)
class TopologyChange:
    """What the firmware did to the topology."""

    before: Topology
    after: Topology
    homes: Mapping[int, tuple[int, ...]]
    """For each old node the new ones that have CPUs of it."""
    recut: bool
    renumbered: bool
    threads: int | None
    """Threads of a core, where SMT was switched."""


def transform(machine: Machine, wish: Assumption, platform: Platform | None, attributes: frozenset[str] | None = None) -> Machine:
    """Return the machine as it would be after a restart with other settings; itself where it has them already.

    ``attributes`` are the BIOS attributes that hold these settings and are forgotten; None forgets all of them.
    """
    if wish == Assumption():
        raise BadValue("no setting given", cure="give nps=4, smt=off, enumeration=linear or another setting")
    cores = core_map(machine)
    target = target_of(machine, cores, wish, platform)
    cells = new_nodes(cores, target)
    numbers = new_numbers(cores, machine.cpu, wish, [cell.cores for cell in cells] if cells else None)
    second = wish.smt is not None and cores.missing_are_second
    if cells is None and numbers.same and not second:
        return machine
    topology, notes = _renumbered(cores, numbers, second=second), [*numbers.notes]
    if cells is not None:
        nodes = cut_nodes(cores, cells, numbers, sure=_full(machine, platform))
        model = machine.cpu.model if machine.cpu else None
        update: dict[str, Any] = {"nodes": nodes, "allowed_nodes": CpuSet(node.os_index for node in nodes)}
        if target.scheme is Scheme.COD:
            update["l3"] = _in_order(l3_groups(cores, cells, numbers))
        topology = topology.but(**update, distances=distances(cores, cells, target, model))
        notes += _assumed(cores, target, topology, model)
    own = [(at, cell.cores) for at, cell in enumerate(cells or ())]
    homes = {number: tuple(at for at, inside in own if inside & before) for number, before in cores.nodes.items()}
    threads = numbers.threads or (1 if second else None)
    change = TopologyChange(cores.topology, topology, homes, cells is not None, not numbers.same, threads)
    return _assembled(machine, change, [_gap(*note) for note in notes], f"assumed: {wish.text}", attributes)


def _renumbered(cores: CoreMap, numbers: NewNumbers, *, second: bool) -> Topology:
    """Return the topology with its present nodes and new numbers; a job's limits are gone."""
    old, pus = cores.topology, numbers.of(frozenset(range(len(numbers.cpus))))

    def moved(cpus: CpuSet) -> CpuSet:
        return numbers.of(cores.cores_in(cpus))

    def again(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
        """Return the parts with new numbers, in the order of their first CPU where they were so."""
        new = tuple(part.but(cpuset=moved(part.cpuset)) for part in parts)
        return _in_order(new) if _in_order(parts) == parts else new

    nodes = (node.but(cpuset=moved(node.cpuset), near=moved(node.near)) for node in old.nodes)
    return old.but(
        packages=again(old.packages),
        dies=again(old.dies),
        cores=again(old.cores),
        l3=again(old.l3),
        shared_l2=again(old.shared_l2),
        nodes=tuple(nodes),
        pus=pus,
        missing=CpuSet() if second else old.missing,
        allowed=pus,
        allowed_nodes=CpuSet(node.os_index for node in old.nodes),
    )


def _in_order(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Return parts in the order of their first CPU, as sources list them."""
    return tuple(sorted(parts, key=lambda part: LIMIT if part.cpuset.first is None else part.cpuset.first))


def _full(machine: Machine, platform: Platform | None) -> bool:
    """Return whether nothing says that a channel is empty: the parts of a socket then have the same memory."""
    sockets = machine.memory.sockets if machine.memory else None
    wanted = platform.channels if platform else None
    return all(socket.channels in (None, wanted) for socket in sockets or ()) or wanted is None


def _assumed(cores: CoreMap, target: Target, after: Topology, model: int | None) -> Iterator[tuple[str, str]]:
    """Yield facts of a new cut, and what was assumed of each."""
    if target.doubt:
        yield "topology.nodes", target.doubt
    if len(after.cpu_nodes) > len(cores.nodes) or target.l3_as_node:
        yield "topology.nodes", _MADE.get(target.scheme, _CLUSTERS)
        even = "assumed: memory is split evenly"
        unknown = "memory channels are empty or a DIMM's size is not reported, so each node's share is unknown"
        yield "topology.nodes.memory", unknown if any(node.memory is None for node in after.cpu_nodes) else even
    if after.distances is None and len(after.nodes) > 1:
        yield "topology.distances", "the firmware's distances for the new nodes are unknown"
    elif len(after.nodes) > 1:
        alone = "" if len(after.cpu_nodes) == len(after.nodes) else "; the distances for memory-only nodes are unknown"
        seen = usual(target, model).seen
        yield "topology.distances", f"unchanged for nodes whose relation stays the same, otherwise {seen}{alone}"


def _assembled(
    machine: Machine, change: TopologyChange, gaps: list[Gap], where: str, attributes: frozenset[str] | None
) -> Machine:
    """Return the machine after the change; sources and gaps say what was not read."""
    updates: dict[str, Any] = {"topology": change.after}
    for field, value, own in _dependent(machine, change):
        updates[field] = value
        gaps += own
    if machine.bios is not None:
        updates["bios"] = _bios(machine.bios, attributes)
        gaps.append(_gap("bios", "the attributes for these settings are left out"))
    changed = {fact: value for field in updates for fact, value in _differing(field, getattr(machine, field), updates[field])}
    kept = [each for each in machine.sources if not any(f"{each.fact}.".startswith(f"{fact}.") for fact in changed)]
    read = [fact for fact, value in changed.items() if value is not None or fact.startswith(_PLACED)]
    facts = {each.fact for each in gaps}  # reported anew
    updates["sources"] = (*kept, *(Source(fact=fact, where=where) for fact in read))
    updates["gaps"] = (*(each for each in machine.gaps if each.fact not in facts), *gaps)
    return machine.but(**updates)


def _bios(bios: Bios, attributes: frozenset[str] | None) -> Bios | None:
    if attributes is None:
        return None
    left = {name: value for name, value in bios.attributes.items() if name not in attributes}
    waits = bios.pending and {name: value for name, value in bios.pending.items() if name not in attributes}
    return bios.but(attributes=left, pending=waits)


def _differing(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any]]:
    """Yield the facts that differ: a section that went, or its fields; lists of devices by what changed in any of them."""
    if old == new:
        return
    if isinstance(old, BaseModel) and isinstance(new, BaseModel) and name != "topology":
        for field in type(old).model_fields:
            if getattr(old, field) != getattr(new, field):
                yield f"{name}.{field}", getattr(new, field)
    elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        for a, b in zip(old, new, strict=True):
            yield from _differing(name, a, b)
    else:
        yield name, new


def _dependent(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield what becomes of everything that is not topology."""
    yield from _tables(machine, change)
    if machine.limits is not None:
        limits = machine.limits.but(affinity=None, memory_nodes=None, cgroup=None)
        yield "limits", limits, (_gap("limits.affinity", "the CPUs and nodes a process may use are decided at boot"),)
    if machine.memory and machine.memory.processors and change.threads:
        yield "memory", _processors(machine.memory, change.threads), ()
    if machine.cpu is not None:
        yield "cpu", _cpu(machine.cpu, change), ()
    if machine.kernel is not None:
        yield "kernel", *_kernel(machine.kernel, change)
    named: set[str | None] = set()
    for field in sorted(_PLACED, key=lambda field: field == "pci"):  # a PCI device that is an adapter is listed once
        devices = getattr(machine, field)
        if devices is not None:
            moved = tuple(_moved(device, change) for device in devices)
            why = _lost(devices, moved, change, named)
            irqs = any(getattr(device, "irqs", None) for device in devices)
            reasons = [("locality", why)] if why else []
            reasons += [("irqs", "interrupts will be redistributed over the CPUs")] if irqs else []
            yield field, moved, tuple(_gap(f"{field}.{fact}", reason) for fact, reason in reasons)
            named |= {device.address for device in devices}


def _tables(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield what is known of the old nodes and CPUs as a whole, and does not outlive them."""
    if machine.acpi is not None:
        yield "acpi", None, (_gap("acpi", "the firmware rewrites its tables at the restart"),)
    if machine.tiers is not None and change.recut:
        yield "tiers", None, (_gap("tiers", "memory speeds were reported for NUMA nodes that no longer exist"),)
    if machine.allocation is not None:
        yield "allocation", None, (_gap("allocation", "the job ends with the restart"),)
    if machine.slurm_nodes is not None and (change.recut or change.threads):
        left = tuple(node for node in machine.slurm_nodes if "slurmd" not in node.source)
        if left != machine.slurm_nodes:
            yield (
                "slurm_nodes",
                left or None,
                (_gap("slurm_nodes", "what slurmd will detect is unknown; slurm.conf stays as it is"),),
            )


def _processors(memory: Memory, threads: int) -> Memory:
    processors = []
    for each in memory.processors or ():
        number = (each.cores_enabled or each.cores or 0) * threads or None
        processors.append(each.but(threads=number) if each.threads else each)
    return memory.but(processors=tuple(processors))


def _cpu(cpu: Cpu, change: TopologyChange) -> Cpu:
    """Return the processors; a C-state that was off on every CPU stays off on all, one that was off on some is not known."""

    def everywhere(cpus: CpuSet | None) -> CpuSet | None:
        if not cpus or (not change.renumbered and cpus <= change.after.pus):
            return cpus
        return change.after.pus if change.before.pus <= cpus else None

    states, control = cpu.idle_states, cpu.smt_control
    if states is not None:
        states = tuple(state.but(disabled=everywhere(state.disabled)) for state in states)
    if change.threads and control is not None:
        control = "on" if change.threads > 1 else "notsupported"
    return cpu.but(idle_states=states, smt_control=control)


def _kernel(kernel: Kernel, change: TopologyChange) -> tuple[Kernel, tuple[Gap, ...]]:
    """Return the kernel with the same boot options: isolated CPUs keep their numbers, whatever cores those now are."""
    updates: dict[str, Any] = {}
    gaps, pages = [], kernel.hugepages
    if change.recut and pages is not None and any(page.count for page in pages):
        updates["hugepages"] = None
        gaps.append(_gap("kernel.hugepages", "the kernel distributes hugepages over the nodes at boot"))
    elif change.recut and pages is not None:  # none on every node where there are none now
        sizes = dict.fromkeys(page.page for page in pages)
        rows = (Hugepages(node=node.os_index, page=size, count=0) for node in change.after.nodes for size in sizes)
        updates["hugepages"] = tuple(rows)
    for name, option in (("isolated", "isolcpus"), ("nohz_full", "nohz_full")) if change.renumbered else ():
        cpus = getattr(kernel, name)
        if cpus:
            stays = bool(kernel.option(option))
            updates[name] = cpus & change.after.pus if stays else None
            why = f"{option} keeps its CPU numbers, which then refer to different cores" if stays else f"{name} CPUs are unknown"
            gaps.append(_gap(f"kernel.{name}", why))
    return kernel.but(**updates), tuple(gaps)


def _moved(device: Hca | Nic | Gpu | PciDevice, change: TopologyChange) -> Hca | Nic | Gpu | PciDevice:
    place = _place(device.locality, change) if change.recut else device.locality
    # Which CPUs inside a node are nearest is given by their old numbers, and these may have gone to others.
    updates: dict[str, Any] = {"locality": place.but(cpus=None) if place and place.cpus else place}
    return device.but(**updates, **({"irqs": None} if isinstance(device, Hca) else {}))


def _place(place: Locality | None, change: TopologyChange) -> Locality | None:
    """Return where a device is: known where each of its nodes lies in one new node, else on one of those of its old ones.

    Nothing is known where these are all nodes that there are.
    """
    if place is None or not place.numa_nodes:
        return place
    homes = [change.homes.get(node, ()) for node in place.numa_nodes]
    nodes = tuple(sorted({node for new in homes for node in new}))
    if not nodes or not all(homes):
        return None
    if all(len(new) == 1 for new in homes) and not (place.one_of and len(nodes) > 1):
        return place.but(numa_nodes=nodes, **({"one_of": False, "inferred": None} if place.one_of else {}))
    if set(nodes) >= {node.os_index for node in change.after.cpu_nodes}:
        return None
    why = f"assumed: the coarser partitioning does not show which of the nodes {CpuSet(nodes)} it is on"
    return Locality(numa_nodes=nodes, inferred=why, one_of=True)


def _lost(before: Iterable[Any], after: Iterable[Any], change: TopologyChange, named: set[str | None]) -> str | None:
    """Return which devices may now be on several nodes; of those ``named`` before, that they are the same."""
    where: dict[str, list[str]] = {}
    pairs = zip(before, after, strict=True)
    lost = [old for old, new in pairs if old.locality and (not new.locality or new.locality.one_of)]
    for old in lost:
        if not (isinstance(old, PciDevice) and old.address in named):
            maybe = CpuSet(node for home in old.locality.numa_nodes for node in change.homes.get(home, ()))
            where.setdefault(str(maybe), []).append(old.name if isinstance(old, Hca | Nic) else old.address)
    if lost and not where:
        return "the devices of the adapters and interfaces above: on the same nodes"
    few = {
        nodes: ", ".join(own[:_FEW]) + (f" and {len(own) - _FEW} more" if len(own) > _FEW else "") for nodes, own in where.items()
    }
    words = "; ".join(f"{names} on one of the nodes {nodes}" for nodes, names in few.items())
    return f"the current NUMA partitioning is too coarse to show the exact node: {words}" if words else None
