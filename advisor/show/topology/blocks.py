"""A topology as blocks of sockets, boxes of NUMA nodes and groups of cores; and its NUMA distances as a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.topology import L3, Distances, NumaNode, Topology
from advisor.show.cpulists import listed
from advisor.show.topology.elements import Block, Box, Group, Member, Store, Table


@dataclass(frozen=True, slots=True)
class _Region:
    """Sockets that are drawn as one block."""

    sockets: tuple[int, ...]
    cpus: CpuSet


@dataclass(frozen=True, slots=True)
class _Seen:
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
    seen = _Seen(topology, _owned(topology.nodes), cores, caches, topology.limited)
    return _with_stores(seen, tuple(_block(seen, region) for region in _regions(seen)))


def everything(topology: Topology) -> CpuSet:
    """Return every CPU that any part of the topology names."""
    parts = (topology.packages, topology.nodes, topology.l3, topology.cores)
    return topology.pus | union(part.cpuset for some in parts for part in some)


def _owned(nodes: Iterable[NumaNode]) -> dict[int, CpuSet]:
    """Each node's CPUs, no CPU twice: where nodes overlap, the smaller one and plain DRAM draw it."""
    claimed, owned = CpuSet(), {}
    for node in sorted(nodes, key=lambda n: (len(n.cpuset), n.kind not in (None, "dram"), n.os_index)):
        owned[node.os_index] = node.cpuset - claimed
        claimed |= node.cpuset
    return owned


def _regions(seen: _Seen) -> list[_Region]:
    packages = seen.topology.packages
    regions, rest = [], everything(seen.topology)
    for position, package in enumerate(packages):
        regions.append(_Region((position,), package.cpuset & rest))
        rest -= package.cpuset
    regions.append(_Region((), rest))
    for cpus in seen.owned.values():
        regions = _joined(regions, cpus)
    return sorted((region for region in regions if region.cpus), key=lambda region: region.sockets or (len(packages),))


def _joined(regions: list[_Region], cpus: CpuSet) -> list[_Region]:
    touched = [region for region in regions if region.cpus & cpus]
    if len(touched) < 2:
        return regions
    sockets = tuple(sorted(socket for region in touched for socket in region.sockets))
    one = _Region(sockets, union(region.cpus for region in touched))
    return [region for region in regions if region not in touched] + [one]


def _block(seen: _Seen, region: _Region) -> Block:
    topology, boxes, rest = seen.topology, [], region.cpus
    for node in topology.nodes:
        cpus = seen.owned[node.os_index] & region.cpus
        if cpus:
            boxes.append(_box(seen, node, cpus))
            rest -= cpus
    if rest:
        boxes.append(Box((), (), None, None, _groups(seen, rest)))
    ids = tuple(topology.packages[position].os_index for position in region.sockets)
    dies = sum(1 for die in topology.dies if die.cpuset & region.cpus)
    return Block(region.sockets, ids, dies, tuple(boxes))


def _box(seen: _Seen, node: NumaNode, cpus: CpuSet) -> Box:
    return Box(
        nodes=(node.os_index,),
        sizes=(node.memory,),
        kind=node.kind,
        cache=seen.caches.get(node.os_index),
        groups=_groups(seen, cpus),
        denied=seen.denied(node),
    )


def _groups(seen: _Seen, cpus: CpuSet) -> tuple[Group, ...]:
    found, rest = [], cpus
    for cache in seen.topology.l3:
        part = cache.cpuset & rest
        if part:
            found.append(Group(cache=True, size=cache.size, members=(_member(seen, part),), reaches=_reach(cache, seen.owned)))
            rest -= part
    for part in (*(package.cpuset for package in seen.topology.packages), rest):
        if part & rest:
            found.append(Group(cache=False, size=None, members=(_member(seen, part & rest),)))
            rest -= part
    return _same(sorted(found, key=lambda group: group.members[0].cpus.first or 0))


def _reach(cache: L3, owned: Mapping[int, CpuSet]) -> tuple[int, ...]:
    nodes = tuple(sorted(number for number, cpus in owned.items() if cpus & cache.cpuset))
    return nodes if len(nodes) > 1 else ()


def _member(seen: _Seen, cpus: CpuSet) -> Member:
    known = {id(core): core for core in (seen.cores.get(cpu) for cpu in cpus) if core}  # each once: a hostile one is large
    cores = {part.bits: part for part in (core & cpus for core in known.values())}
    denied = cpus - seen.topology.allowed if seen.limited else CpuSet()
    return Member(cpus, tuple(cores.values()), denied)


def _same(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Join groups where size and members are alike."""
    kinds: dict[object, list[Group]] = {}
    for group in groups:
        key = group.cache, group.size, group.reaches, group.members[0].kind
        kinds.setdefault(key, []).append(group)
    return tuple(
        replace(alike[0], members=tuple(member for group in alike for member in group.members)) for alike in kinds.values()
    )


def _with_stores(seen: _Seen, drawn: tuple[Block, ...]) -> tuple[tuple[Block, ...], tuple[Store, ...]]:
    """Put memory-only nodes where they are near; those near no one block come back apart."""
    homes = _homes(drawn)
    found: dict[int | None, list[NumaNode]] = {}
    for node in seen.topology.nodes:
        if not seen.owned[node.os_index]:
            home = next((key for key, cpus in homes.items() if node.near and node.near <= cpus), None)
            found.setdefault(home, []).append(node)
    filled = tuple(
        replace(
            block,
            boxes=tuple(replace(box, stores=_stores(seen, found.get(id(box), ()))) for box in block.boxes),
            stores=_stores(seen, found.get(id(block), ())),
        )
        for block in drawn
    )
    return filled, _stores(seen, found.get(None, ()))


def _homes(drawn: tuple[Block, ...]) -> dict[int, CpuSet]:
    """Where memory can be near: each box, then each block, by identity."""
    boxes = {id(box): box.cpus for block in drawn for box in block.boxes}
    return {**boxes, **{id(block): block.cpus for block in drawn}}


def _stores(seen: _Seen, nodes: Sequence[NumaNode]) -> tuple[Store, ...]:
    alike = groupby(nodes, key=lambda n: (n.kind, n.memory == 0, _near(seen.topology, n), seen.denied(n)))
    return tuple(_store(list(same), near, denied=denied) for (_, _, near, denied), same in alike)


def _store(nodes: Sequence[NumaNode], near: str, *, denied: bool) -> Store:
    numbers = tuple(node.os_index for node in nodes)
    return Store(numbers, tuple(node.memory for node in nodes), nodes[0].kind, near, denied)


def _near(topology: Topology, node: NumaNode) -> str:
    if not node.near:
        return "nearest CPUs not known"
    numbers = CpuSet(other.os_index for other in topology.cpu_nodes if other.cpuset & node.near and other != node)
    if not numbers:
        return f"near CPUs {listed(node.near)}"
    return f"near {'node' if len(numbers) == 1 else 'nodes'} {listed(numbers)}"


NAMED = 4
"""So many different distances of one kind are named each."""


def distance_table(topology: Topology) -> Table | None:
    """Return the distances, or None where the firmware gave none."""
    given = topology.distances
    if given is None or not given.nodes:
        return None
    return Table(given.nodes, given.rows, tuple(_classes(topology, given)))


def _classes(topology: Topology, given: Distances) -> Iterator[str]:
    values: dict[str, set[int]] = {}
    nodes = {node.os_index: node for node in topology.nodes}
    sockets = {number: _socket(topology, node) for number, node in nodes.items()}
    for a, row in zip(given.nodes, given.rows, strict=False):
        for b, distance in zip(given.nodes, row, strict=False):
            values.setdefault(_kind(a, b, nodes, sockets), set()).add(distance)
    for kind in ("local", "same socket", "other socket", "other node", "memory-only node"):
        if kind in values:
            yield f"{_range(values[kind])} {kind}"


def _socket(topology: Topology, node: NumaNode) -> int | None:
    return topology.package_of(node.cpuset)


def _kind(a: int, b: int, nodes: dict[int, NumaNode], sockets: dict[int, int | None]) -> str:
    if a == b:
        return "local"
    if any(number in nodes and not nodes[number].cpuset for number in (a, b)):
        return "memory-only node"
    one, other = sockets.get(a), sockets.get(b)
    if one is None or other is None:
        return "other node"
    return "same socket" if one == other else "other socket"


def _range(values: set[int]) -> str:
    ordered = sorted(values)
    if len(ordered) <= NAMED:
        return "/".join(map(str, ordered))
    return f"{ordered[0]}-{ordered[-1]} ({len(ordered)} values)"
