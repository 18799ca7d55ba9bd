"""The NUMA partitioning that is asked for, checked; the cores of each new NUMA node, and the firmware's distances."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from advisor.advice.change.positions import CoreMap, Cores
from advisor.errors import BadValue
from advisor.machine.layout import Assumption, Cut
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_cut, scheme
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import Distances, Topology
from advisor.measure.platform import CutOffer, Platform, dies, offered

Nodes = Literal["all"] | int
"""Domains of memory: one over all sockets, or so many in each."""


@dataclass(frozen=True)
class Target:
    """How the sockets are to be partitioned; None where the partitioning stays."""

    scheme: Scheme
    name: str
    nodes: Nodes | None = None
    l3_as_node: bool = False
    doubt: str | None = None
    """Why it is not sure that the firmware offers it."""


_NAMES = {
    "nps": (Scheme.NPS, "NPS", "EPYC 7002 and later"),
    "l3_as_node": (Scheme.NPS, "L3 as NUMA node", "EPYC 7002 and later"),
    "interleave": (Scheme.DIES, "die or channel interleaving", "EPYC 7001"),
    "snc": (Scheme.SNC, "SNC", "Xeons since Skylake"),
    "cod": (Scheme.COD, "cluster on die", "Haswell and Broadwell"),
}


def target_of(machine: Machine, seats: CoreMap, wish: Assumption, platform: Platform | None) -> Target:
    """Return the NUMA partitioning that is asked for; raise where this processor cannot have it."""
    kind, cut = scheme(machine.cpu), infer_cut(machine)
    _must_suit(machine, wish, kind, platform)
    if wish.nps is not None or wish.l3_as_node is not None:
        target = _nps(cut, wish)
    elif wish.interleave is not None:
        target = _interleave(seats, wish, platform)
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
    return _offered(target, seats, platform)


def _must_suit(machine: Machine, wish: Assumption, kind: Scheme, platform: Platform | None) -> None:
    """Refuse a setting that this generation of processors does not have."""
    for name, (needs, words, who) in _NAMES.items():
        if getattr(wish, name) is None or kind is needs:
            continue
        if kind is Scheme.UNKNOWN or platform is None:
            shown = (machine.cpu.model_name if machine.cpu else None) or "a processor without a name"
            raise BadValue(
                f"{words} is of {who}; what {shown[:60]} offers is not known", cure="only smt and enumeration can be tried"
            )
        raise BadValue(f"{platform.name} has no {words}: that is of {who}", cure=_choice(platform.cuts))


def _nps(cut: Cut, wish: Assumption) -> Target:
    present = {"NPS0": 0, "NPS1": 1, "NPS2": 2, "NPS4": 4, "L3-as-NUMA": cut.beneath}.get(cut.name)
    nps = present if wish.nps is None else wish.nps
    l3 = cut.name == "L3-as-NUMA" if wish.l3_as_node is None else wish.l3_as_node
    if wish.nps is None and l3 == (cut.name == "L3-as-NUMA"):
        return Target(Scheme.NPS, cut.name)
    if nps is None:
        raise BadValue("the NPS under L3-as-NUMA is not known here", cure="say it too: nps=1, nps=2 or nps=4")
    if nps == 0 and l3:
        raise BadValue("how L3 as NUMA node looks over NPS0 is not known", cure="choose nps=1, nps=2 or nps=4")
    name = "L3-as-NUMA" if l3 else f"NPS{nps}"
    return Target(Scheme.NPS, name, "all" if nps == 0 else nps, l3)


def _interleave(seats: CoreMap, wish: Assumption, platform: Platform | None) -> Target:
    if wish.interleave == "socket":
        return Target(Scheme.DIES, "socket-interleaving", "all")
    if wish.interleave == "die":
        return Target(Scheme.DIES, "die-interleaving", 1)
    count = dies(platform, len(seats.groups(0))) if platform else None
    if not count:
        raise BadValue("the L3 groups do not show how many dies a socket has", cure="choose interleave=die")
    return Target(Scheme.DIES, "channel-interleaving", count)


def _offered(target: Target, seats: CoreMap, platform: Platform | None) -> Target:
    """Return the target with any doubt that this processor offers it; raise where it does not."""
    if platform is None:
        return target
    groups, sockets, cores = len(seats.groups(0)), len(seats.sockets), len(seats.sockets[0])
    count = dies(platform, groups)
    choice = offered(platform, count, sockets, cores)
    names = [target.name] if not target.l3_as_node else ["L3-as-NUMA", f"NPS{target.nodes}"]
    doubts = []
    for name in names:
        offer = next((cut for cut in platform.cuts if cut.name == name), None)
        if offer in choice:
            continue
        if offer is None or _excluded(offer, count, sockets):
            shape = f"{platform.name} with {_dies(count)}{sockets} socket{'s' * (sockets > 1)}"
            raise BadValue(f"{name} is not offered by {shape}", cure=_choice(choice))
        doubts.append(f"whether this processor offers {name} is not known")
    return Target(target.scheme, target.name, target.nodes, target.l3_as_node, doubts[0] if doubts else None)


def _dies(count: int | None) -> str:
    return "" if count is None else f"{count} die{'s' * (count > 1)} a socket and "


def _excluded(offer: CutOffer, count: int | None, sockets: int) -> bool:
    """Return whether what the machine shows rules an offer out."""
    if offer.dies_multiple_of and count and count % offer.dies_multiple_of:
        return True
    return offer.sockets is not None and offer.sockets != sockets


def _choice(cuts: tuple[CutOffer, ...]) -> str:
    return f"it offers {', '.join(cut.name for cut in cuts)}" if cuts else "nothing is known of what it offers"


@dataclass(frozen=True)
class NewNode:
    """A NUMA node to be."""

    cores: Cores
    socket: int | None
    """None where it spans several."""
    domain: int
    """Which memory it shares, counted in the machine; L3 groups of one NPS node share one."""


def new_nodes(seats: CoreMap, target: Target) -> tuple[NewNode, ...]:
    """Return the nodes in the order of their numbers."""
    if target.nodes is None:
        raise BadValue("no NUMA partitioning is given", cure="give nps, l3-as-node, interleave, snc or cod")
    if target.nodes == "all":
        return (NewNode(frozenset(seat.core for seat in seats.every), None if len(seats.sockets) > 1 else 0, 0),)
    cells: list[NewNode] = []
    domains = 0
    for number in range(len(seats.sockets)):
        for cores in _domains(seats, number, target.nodes, target.scheme):
            parts = [cores & group for group in seats.groups(number) if cores & group] if target.l3_as_node else [cores]
            cells += [NewNode(part, number, domains) for part in parts]
            domains += 1
    return tuple(cells)


def _domains(seats: CoreMap, socket: int, count: int, kind: Scheme) -> tuple[Cores, ...]:
    """Return so many parts of a socket: present nodes joined, or present nodes divided, or the socket divided again."""
    parts = seats.parts(socket)
    if len(parts) % count == 0:
        return _joined(parts, len(parts) // count)
    whole = parts if count % len(parts) == 0 else (frozenset(seat.core for seat in seats.sockets[socket]),)
    each = count // len(whole)
    return tuple(piece for part in whole for piece in _divided(seats, socket, part, each, kind))


def _joined(parts: tuple[Cores, ...], size: int) -> tuple[Cores, ...]:
    return tuple(frozenset().union(*parts[at : at + size]) for at in range(0, len(parts), size))


def _divided(seats: CoreMap, socket: int, part: Cores, count: int, kind: Scheme) -> tuple[Cores, ...]:
    """Return a node's pieces: whole L3 groups on EPYC, runs of cores on Xeon, where the L3 is one."""
    if kind in (Scheme.NPS, Scheme.DIES):
        groups = tuple(group for group in seats.groups(socket) if group <= part)
        if not seats.topology.l3 or len(groups) % count:
            shown = f"{len(groups)} L3 groups do not divide into {count} nodes" if seats.topology.l3 else "no L3 group is shown"
            raise BadValue(f"{shown}, so the nodes are not known", cure="take a capture on the machine: advisor capture")
        return _joined(groups, len(groups) // count)
    cores = [seat.core for seat in seats.sockets[socket] if seat.core in part]
    if len(cores) < count:
        raise BadValue(f"{len(cores)} cores do not make {count} nodes", cure="choose fewer")
    ends = [len(cores) * at // count for at in range(count + 1)]
    return tuple(frozenset(cores[a:b]) for a, b in pairwise(ends))


LOCAL, VIRTUAL = 10, 11
"""Of a node to itself, and on EPYC to another L3 group of the same NPS node (AMI's "ACPI SLIT virtual distance")."""


class Usual(NamedTuple):
    """Distances inside a socket and to another one."""

    inside: int
    outside: int
    seen: str


_AMD = Usual(12, 32, "AMI's defaults on EPYC 7002")
_NAPLES = Usual(16, 32, "what two-socket EPYC 7001 show")
_COD = Usual(21, 31, "what an E5-2683 v3 with cluster on die shows")
_PLAIN = Usual(21, 21, "what Xeons without clusters show")
_SNC_OLD = Usual(11, 21, "what Skylake and Cascade Lake show")
_SNC_NEW = Usual(12, 21, "what a Xeon Platinum 8480+ shows")
_OLD_SNC_MODEL = 85


def usual(target: Target, model: int | None) -> Usual:
    """Return the distances that firmware usually gives for a NUMA partitioning."""
    if target.scheme is Scheme.NPS:
        return _AMD
    if target.scheme is Scheme.DIES:
        return _NAPLES
    if target.nodes == 1:
        return _PLAIN
    if target.scheme is Scheme.COD:
        return _COD
    return _SNC_OLD if model == _OLD_SNC_MODEL else _SNC_NEW


def distances(seats: CoreMap, cells: Sequence[NewNode], target: Target, model: int | None) -> Distances | None:
    """Return the table of a new cut; of the nodes with CPUs; None where the machine hides its own."""
    topology = seats.topology
    if topology.distances is None and len(topology.nodes) > 1:
        return None
    told = usual(target, model)
    inside, outside = _shown(topology, target)
    near = inside if inside is not None and target.scheme is not Scheme.COD else told.inside
    keeps = outside is not None and target.scheme is not Scheme.COD
    far = outside if keeps and outside is not None else told.outside
    numbers = range(len(cells))
    rows = tuple(tuple(_between(cells[a], cells[b], near, far) for b in numbers) for a in numbers)
    if len(cells) == 1 and topology.distances is None:
        return None
    return Distances(nodes=tuple(numbers), rows=rows)


def has_virtual(topology: Topology) -> bool:
    """Return whether the table distinguishes L3 groups of one NPS node from other nodes."""
    return topology.distances is not None and any(VIRTUAL in row for row in topology.distances.rows)


def _between(a: NewNode, b: NewNode, near: int, far: int) -> int:
    if a is b:
        return LOCAL
    if a.socket != b.socket:
        return far
    return VIRTUAL if a.domain == b.domain else near


def _shown(topology: Topology, target: Target) -> tuple[int | None, int | None]:
    """Return the present distances inside a socket and to another, each where it is one number and no virtual one."""
    table = topology.distances
    ignored = VIRTUAL if target.scheme is Scheme.NPS else None
    home = {node.os_index: topology.package_of(node.cpuset) for node in topology.cpu_nodes}
    inside: set[int] = set()
    outside: set[int] = set()
    for a, row in zip(table.nodes, table.rows, strict=True) if table else ():
        for b, value in zip(table.nodes, row, strict=True) if table else ():
            if a != b and value != ignored and home.get(a) is not None and home.get(b) is not None:
                (inside if home[a] == home[b] else outside).add(value)
    return _one(inside), _one(outside)


def _one(values: set[int]) -> int | None:
    return values.pop() if len(values) == 1 else None
