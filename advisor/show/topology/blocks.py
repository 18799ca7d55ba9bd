"""A topology as blocks of sockets, boxes of NUMA nodes and groups of cores; and its NUMA distances as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.topology import NumaNode, Topology
from advisor.show.cpulists import listed
from advisor.show.topology.elements import Block, Box, Group, Member, Store, Table

_NAMED = 4
"""So many different distances of one kind are named each."""


class _Region(NamedTuple):
    """Sockets that are drawn as one block."""

    sockets: tuple[int, ...]
    cpus: CpuSet


class _Seen(NamedTuple):
    """A topology and what is looked up in it again and again."""

    topology: Topology
    owned: Mapping[int, CpuSet]
    cores: Mapping[int, CpuSet]
    caches: Mapping[int, int]
    limited: bool

    def denied(self, node: NumaNode) -> bool:
        return self.limited and node.os_index not in self.topology.allowed_nodes


def blocks(topology: Topology, caches: Mapping[int, int]) -> tuple[tuple[Block, ...], tuple[Store, ...]]:
    """Return the blocks and the memory that is in none; caches are bytes in front of a node's memory, by its number."""
    cores = {cpu: core.cpuset for core in topology.cores for cpu in core.cpuset}
    claimed, owned = CpuSet(), {}  # no CPU twice: where nodes overlap, the smaller one and plain DRAM draw it
    for node in sorted(topology.nodes, key=lambda n: (len(n.cpuset), n.kind not in (None, "dram"), n.os_index)):
        owned[node.os_index] = node.cpuset - claimed
        claimed |= node.cpuset
    seen = _Seen(topology, owned, cores, caches, topology.limited)
    return _with_stores(seen, tuple(_block(seen, region) for region in _regions(seen)))


def everything(topology: Topology) -> CpuSet:
    """Return every CPU that any part of the topology names."""
    parts = (topology.packages, topology.nodes, topology.l3, topology.cores)
    return topology.pus | union(part.cpuset for some in parts for part in some)


def _regions(seen: _Seen) -> list[_Region]:
    packages = seen.topology.packages
    regions, rest = [], everything(seen.topology)
    for position, package in enumerate(packages):
        regions.append(_Region((position,), package.cpuset & rest))
        rest -= package.cpuset
    regions.append(_Region((), rest))
    for cpus in seen.owned.values():
        touched = [region for region in regions if region.cpus & cpus]
        if len(touched) > 1:
            sockets = tuple(sorted(socket for region in touched for socket in region.sockets))
            one = _Region(sockets, union(region.cpus for region in touched))
            regions = [*(region for region in regions if region not in touched), one]
    return sorted((region for region in regions if region.cpus), key=lambda region: region.sockets or (len(packages),))


def _block(seen: _Seen, region: _Region) -> Block:
    topology, boxes, rest = seen.topology, [], region.cpus
    for node in topology.nodes:
        cpus, number = seen.owned[node.os_index] & region.cpus, node.os_index
        if cpus:
            cache, groups = seen.caches.get(number), _groups(seen, cpus)
            boxes.append(Box((number,), (node.memory,), node.kind, cache, groups, denied=seen.denied(node)))
            rest -= cpus
    if rest:
        boxes.append(Box((), (), None, None, _groups(seen, rest)))
    ids = tuple(topology.packages[position].os_index for position in region.sockets)
    dies = sum(1 for die in topology.dies if die.cpuset & region.cpus)
    return Block(region.sockets, ids, dies, tuple(boxes))


def _groups(seen: _Seen, cpus: CpuSet) -> tuple[Group, ...]:
    """Return the groups of cores, those joined whose size and members are alike."""
    found, rest = [], cpus
    for cache in seen.topology.l3:
        part = cache.cpuset & rest
        if part:
            nodes = tuple(sorted(number for number, own in seen.owned.items() if own & cache.cpuset))
            found.append(Group(True, cache.size, (_member(seen, part),), nodes if len(nodes) > 1 else ()))  # noqa: FBT003 - a cache
            rest -= part
    for part in (*(package.cpuset for package in seen.topology.packages), rest):
        if part & rest:
            found.append(Group(cache=False, size=None, members=(_member(seen, part & rest),)))
            rest -= part
    kinds: dict[object, list[Group]] = {}
    for group in sorted(found, key=lambda group: group.members[0].cpus.first or 0):
        kinds.setdefault((group.cache, group.size, group.reaches, group.members[0].kind), []).append(group)
    return tuple(replace(same[0], members=tuple(group.members[0] for group in same)) for same in kinds.values())


def _member(seen: _Seen, cpus: CpuSet) -> Member:
    known = {id(core): core for core in (seen.cores.get(cpu) for cpu in cpus) if core}  # each once: a hostile one is large
    cores = {part.bits: part for part in (core & cpus for core in known.values())}
    denied = cpus - seen.topology.allowed if seen.limited else CpuSet()
    return Member(cpus, tuple(cores.values()), denied)


def _with_stores(seen: _Seen, drawn: tuple[Block, ...]) -> tuple[tuple[Block, ...], tuple[Store, ...]]:
    """Put memory-only nodes where they are near, in a box or else a block; those near no one block come back apart."""
    homes = {id(box): box.cpus for block in drawn for box in block.boxes} | {id(block): block.cpus for block in drawn}
    found: dict[int | None, list[NumaNode]] = {}
    for node in seen.topology.nodes:
        if not seen.owned[node.os_index]:
            home = next((key for key, cpus in homes.items() if node.near and node.near <= cpus), None)
            found.setdefault(home, []).append(node)
    filled = []
    for block in drawn:
        boxes = tuple(replace(box, stores=_stores(seen, found.get(id(box), ()))) for box in block.boxes)
        filled.append(replace(block, boxes=boxes, stores=_stores(seen, found.get(id(block), ()))))
    return tuple(filled), _stores(seen, found.get(None, ()))


def _stores(seen: _Seen, nodes: Sequence[NumaNode]) -> tuple[Store, ...]:
    found = []
    for (kind, _, near, denied), group in groupby(
        nodes, key=lambda n: (n.kind, n.memory == 0, _near(seen.topology, n), seen.denied(n))
    ):
        same = list(group)
        found.append(Store(tuple(n.os_index for n in same), tuple(n.memory for n in same), kind, near, denied))
    return tuple(found)


def _near(topology: Topology, node: NumaNode) -> str:
    if not node.near:
        return "nearest CPUs not known"
    numbers = CpuSet(other.os_index for other in topology.cpu_nodes if other.cpuset & node.near and other != node)
    if not numbers:
        return f"near CPUs {listed(node.near)}"
    return f"near {'node' if len(numbers) == 1 else 'nodes'} {listed(numbers)}"


def distance_table(topology: Topology) -> Table | None:
    """Return the distances, each and by kind of neighbour; None where the firmware gave none."""
    given = topology.distances
    if given is None or not given.nodes:
        return None
    values: dict[str, set[int]] = {}
    nodes = {node.os_index: node for node in topology.nodes}
    sockets = {number: topology.package_of(node.cpuset) for number, node in nodes.items()}
    for a, row in zip(given.nodes, given.rows, strict=False):
        for b, distance in zip(given.nodes, row, strict=False):
            values.setdefault(_kind(a, b, nodes, sockets), set()).add(distance)
    kinds = ("local", "same socket", "other socket", "other node", "memory-only node")
    return Table(given.nodes, given.rows, tuple(f"{_range(values[kind])} {kind}" for kind in kinds if kind in values))


def _kind(a: int, b: int, nodes: Mapping[int, NumaNode], sockets: Mapping[int, int | None]) -> str:
    if a == b:
        return "local"
    if any(number in nodes and not nodes[number].cpuset for number in (a, b)):
        return "memory-only node"
    one, other = sockets.get(a), sockets.get(b)
    if one is None or other is None:
        return "other node"
    return "same socket" if one == other else "other socket"


def _range(values: Iterable[int]) -> str:
    ordered = sorted(values)
    few = len(ordered) <= _NAMED
    return "/".join(map(str, ordered)) if few else f"{ordered[0]}-{ordered[-1]} ({len(ordered)} values)"
