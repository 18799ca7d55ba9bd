"""A machine and its layout as a picture, with its captions: the same for a terminal and for a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.topology import NumaNode, Topology, counts
from advisor.machine.units import binary, count, plain, span
from advisor.show.lines import listed, numbered, threads
from advisor.show.topology import Block, Box, Device, Group, Member, Picture, Statement, Store, Table, attach, devices

KINDS = {"hca": "HCA", "gpu": "GPU", "nic": "NIC", "nvme": "NVMe", "accelerator": "accelerator"}

NAMES = 4
"""So many names of alike devices are written out."""

_NAMED = 4
"""So many different distances of one kind are named each."""

_SECOND = {
    "none": "",
    "unknown": ", second threads ?",
    "adjacent": ", second threads next to the first",
    "offset": ", second threads after all first ones",
    "other": ", second threads in another order",
}
"""Where second threads are numbered."""


def block_title(block: Block) -> str:
    """Return ``Socket 0``, ``Sockets 1-23``, or what stands for one that is not known."""
    if not block.sockets:
        return "No socket known"
    name = "Socket" if len(block.sockets) == 1 else "Sockets"
    own = {number for number in block.ids if number is not None and number >= 0}
    renamed = own and own != set(block.sockets) and len(own) <= NAMES
    title = f"{name} {numbered(block.sockets)}"
    return f"{title} (id {numbered(own)})" if renamed else title


def block_facts(block: Block) -> str:
    """Return what a block holds: ``32 cores, 64 PUs``, of each where it stands for several."""
    each = " each" if block.repeat > 1 else ""
    alike = f"{block.repeat} alike: " if block.repeat > 1 else ""
    dies = f", {count(block.dies, 'die')}" if block.dies > 1 else ""
    return f"{alike}{_size(block.cores // block.repeat, len(block.cpus) // block.repeat)}{dies}{each}"


def block_remarks(block: Block) -> tuple[str, ...]:
    """Return the caches that several nodes of a block share."""
    wide = (group for box in block.boxes for group in box.groups if group.reaches)
    return tuple(dict.fromkeys(f"L3 {binary(group.size)} shared by nodes {listed(CpuSet(group.reaches))}" for group in wide))


def _size(cores: int, pus: int) -> str:
    if cores in (0, pus):
        return count(cores, "core") if cores else count(pus, "PU")
    return f"{count(cores, 'core')}, {count(pus, 'PU')}"


def box_title(box: Box) -> str:
    """Return ``NUMA node 0`` or ``NUMA nodes 1-15``."""
    if not box.nodes:
        return "No NUMA node"
    return f"NUMA node{'s' if len(box.nodes) > 1 else ''} {listed(CpuSet(box.nodes))}"


def box_memory(box: Box) -> str:
    """Return a node's memory, ``15 x 16 GiB`` where it stands for several."""
    if not box.nodes:
        return "no memory of its own"
    kind = f" {plain(box.kind.upper(), 20)}" if box.kind else ""
    many = f"{len(box.nodes)} x " if len(box.nodes) > 1 else ""
    return f"{many}{_memory(box.sizes)}{kind}"


def _memory(sizes: Sequence[int | None]) -> str:
    if all(size == 0 for size in sizes):
        return "NO MEMORY"
    return "memory ?" if None in sizes else span(tuple(sizes))


def box_remarks(box: Box) -> Iterator[str]:
    """Yield what else must be said of a node."""
    if box.denied:
        yield "memory outside your allocation"
    if box.cache:
        yield f"{binary(box.cache)} memory-side cache"


def group_label(group: Group, *, uneven: bool = False) -> str:
    """Return the name of one member: ``L3 16 MiB``, ``8 cores``; the cores of an L3 where others have more or fewer."""
    cores = _cores(group.members[0])
    if not group.cache or group.reaches:
        return cores
    label = f"L3 {binary(group.size)}"
    return f"{label}, {cores}" if uneven else label


def group_summary(group: Group, repeat: int) -> str:
    """Return all members in one line: ``16 x L3 16 MiB, 4 cores each: 0-3 .. 60-63``."""
    number = len(group.members) // repeat
    many = f"{number} x " if number > 1 else ""
    each = " each" if number > 1 else ""
    own = group.cache and not group.reaches
    name = f"{group_label(group)}, {_cores(group.members[0])}" if own else _cores(group.members[0])
    first, last = member_text(group.members[0]), member_text(group.members[-1])
    return f"{many}{name}{each}: {first} .. {last}"


def _cores(member: Member) -> str:
    return count(len(member.cores), "core") if member.cores else count(len(member.cpus), "PU")


def member_text(member: Member) -> str:
    """Return a member's CPUs, or the ranks on them; in brackets those outside the allocation."""
    if member.says is not None:
        return member.says
    mine, others = _part(member, member.cpus - member.denied), _part(member, member.denied)
    return " ".join(text for text in (mine, f"({others})" if others else "") if text)


def _part(member: Member, cpus: CpuSet) -> str:
    by_threads: dict[int, list[CpuSet]] = {}
    rest = cpus
    for core in member.cores:
        mine = core & cpus
        rest -= mine
        if mine:
            by_threads.setdefault(len(core), []).append(mine)
    parts = [_threads(number, cores, named=len(by_threads) > 1) for number, cores in by_threads.items()]
    return ", ".join([*parts, *([listed(rest)] if rest else [])])


def _threads(number: int, cores: Sequence[CpuSet], *, named: bool) -> str:
    text = threads(cores)
    return f"{text} ({count(len(cores), 'core')} x {count(number, 'thread')})" if named else text


def store_text(store: Store, *, here: bool = False) -> str:
    """Return ``NUMA node 8: 16 GiB HBM, no CPUs, near node 0``; drawn in that node, it need not say so."""
    name = f"NUMA node{'s' if len(store.nodes) > 1 else ''} {listed(CpuSet(store.nodes))}"
    kind = f" {plain(store.kind.upper(), 20)}" if store.kind else ""
    each = " each" if len(store.nodes) > 1 else ""
    near = "" if here else f", {store.near}"
    denied = ", outside your allocation" if store.denied else ""
    return f"{name}: {_memory(store.sizes)}{kind}{each}, no CPUs{near}{denied}"


def device_name(device: Device, *, whole: bool = False) -> str:
    """Return the kind and names of devices: ``NIC em1, em2``; a tilde where the place is inferred."""
    names = ", ".join(device.names)
    if len(device.names) > NAMES and not whole:
        names = f"{device.names[0]}, {device.names[1]}, .., {device.names[-1]} ({len(device.names)} alike)"
    return f"{KINDS.get(device.kind, device.kind)} {names}{' ~' if device.guessed else ''}"


def device_facts(device: Device) -> tuple[str, ...]:
    """Return what is known of devices: of themselves, of their link, of what is in its way."""
    behind = f"behind PCIe switch {device.switch.removeprefix('0000:')}" if device.switch else ""
    return tuple(fact for fact in (*device.facts, device.link, behind, *device.remarks) if fact)


def guesses(picture: Picture) -> tuple[str, ...]:
    """Return the legend of the tilde: why devices are drawn where the firmware does not place them."""
    everywhere = [*picture.devices]
    for block in picture.blocks:
        everywhere += [*block.devices, *(device for box in block.boxes for device in box.devices)]
    reasons = tuple(dict.fromkeys(device.guessed for device in everywhere if device.guessed))
    return (f"~ place inferred, not reported by the firmware: {'; '.join(reasons)}",) if reasons else ()


def picture(machine: Machine, layout: Layout) -> Picture:
    """Return what is drawn of a machine, nothing left out."""
    topology = machine.topology or Topology()
    caches = {tier.node: tier.cache for tier in machine.tiers or () if tier.cache}
    drawn, stores = blocks(topology, caches)
    drawn, loose = attach(drawn, devices(machine))
    distances = distance_table(topology)
    return Picture(
        title=_title(machine),
        processors=_processors(machine, topology),
        counts=_counts(topology, layout),
        blocks=drawn,
        stores=stores,
        devices=loose,
        table=distances,
        statements=(*statements(layout, distances), *_core_kinds(machine, topology)),
        notes=tuple(_notes(machine, topology)),
    )


def statements(layout: Layout, distances: Table | None = None) -> tuple[Statement, ...]:
    """Return what was inferred, in words; of distances the reason too where the table does not tell everything."""
    cut, numbering, smt, far = layout.cut, layout.numbering, layout.smt, layout.distances
    nodes = cut.nodes_per_socket
    each = f", {count(nodes, 'NUMA node')} per socket" if nodes is not None else ""
    over = f" over {numbering.over}" if numbering.over else ""
    threads = f" ({smt.threads} threads per core)" if smt.threads and smt.threads > 1 else ""
    values = (", ".join(distances.classes),) if distances else ()
    why = values if values and far.name == "full" else (*values, *map(plain, far.why))
    return (
        Statement("NUMA", f"{plain(cut.name)}{each}", cut.confidence, tuple(map(plain, cut.why))),
        Statement("Numbering", f"{numbering.name}{over}{_SECOND[numbering.siblings]}", None, tuple(map(plain, numbering.why))),
        Statement("SMT", f"{smt.state}{threads}", None, tuple(map(plain, smt.why))),
        Statement("Distances", far.name, None, why),
    )


def _core_kinds(machine: Machine, topology: Topology) -> Iterator[Statement]:
    """Yield which CPUs are of which kind of cores, where there are several."""
    kinds = (machine.cpu.kinds if machine.cpu else None) or ()
    parts = [
        f"{sum(bool(core.cpuset & kind.cpus) for core in topology.cores)} x {plain(kind.name, 40)}: CPUs {listed(kind.cpus)}"
        for kind in kinds
    ]
    if kinds:
        known = all(kind.speed is not None for kind in kinds)
        yield Statement("Cores", "; ".join(parts), None, ("the fastest first" if known else "nothing here ranks them",))


def _title(machine: Machine) -> str:
    firmware = machine.firmware
    maker = (firmware.system_vendor or firmware.board_vendor if firmware else None) or ""
    product = (firmware.product or firmware.board if firmware else None) or ""
    known = product if product.lower().startswith(maker.lower()) else f"{maker} {product}"
    named = " · ".join(plain(part, 80) for part in (machine.name or "", known.strip()) if part)
    return named or "Machine"


def _processors(machine: Machine, topology: Topology) -> str:
    name = machine.cpu.model_name if machine.cpu else None
    kinds = (machine.cpu.kinds if machine.cpu else None) or ()
    if not name and kinds:
        numbers = ((sum(bool(core.cpuset & kind.cpus) for core in topology.cores), plain(kind.name, 40)) for kind in kinds)
        return " + ".join(f"{number} x {kind}" for number, kind in numbers)
    if not name:
        return f"processor not known{f' ({plain(machine.architecture, 40)})' if machine.architecture else ''}"
    number = len(topology.packages)
    return f"{number} x {plain(name, 80)}" if number > 1 else plain(name, 80)


def _counts(topology: Topology, layout: Layout) -> str:
    seen = counts(topology)
    known = [node.memory for node in topology.nodes if node.memory is not None]
    parts = [
        count(seen.packages, "socket"),
        count(seen.numa_nodes, "NUMA node"),
        count(seen.l3, "L3 group"),
        count(seen.cores, "core"),
        count(seen.pus, "PU"),
        f"SMT {layout.smt.state}",
        *([binary(sum(known))] if known else []),
    ]
    return ", ".join(parts)


def _notes(machine: Machine, topology: Topology) -> Iterator[str]:
    if machine.topology is None:
        yield "The topology is not known; install hwloc or read a capture of the machine."
    if not topology.numa_known:
        yield "The source has no NUMA information: one node stands for all memory."
    if topology.limited:
        usable = topology.pus & topology.allowed
        nodes = CpuSet(node.os_index for node in topology.nodes) & topology.allowed_nodes
        yield (
            f"Inside your allocation: {len(usable)} of {count(len(topology.pus), 'PU')}: {listed(usable) or 'none'};"
            f" NUMA nodes {listed(nodes) or 'none'}."
        )
    affinity = machine.limits.affinity if machine.limits else None
    if affinity is not None and not topology.pus & topology.allowed <= affinity:
        bound = affinity & topology.pus
        yield f"Bound: this process may run on CPU{'s' if len(bound) > 1 else ''} {listed(bound) or 'none'} only (its affinity)."
    if topology.missing:
        yield f"Offline or hidden: {count(len(topology.missing), 'PU')}: {listed(topology.missing)}"
    if topology.missing_nodes:
        yield f"Hidden NUMA nodes: {listed(topology.missing_nodes)}"


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
