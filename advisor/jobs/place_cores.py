"""The free cores of a node and its devices, the strategies by which ranks are dealt to cores, and what a job may have of them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise, takewhile

from advisor.errors import BadValue
from advisor.jobs.placement import JobShape, Per, Strategy
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import (
    NAMES,
    CoreKind,
    Gpu,
    Hca,
    Locality,
    fabric_of,
    is_active,
    is_on_fabric,
    other_layers,
    ports_of,
)
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import NumaNode, Topology


def ranked_kinds(machine: Machine) -> tuple[CoreKind, ...]:
    """Return the kinds of cores, the fastest first; () where there is one, or nothing ranks them."""
    kinds = (machine.cpu and machine.cpu.kinds) or ()
    ranked = sorted((kind for kind in kinds if kind.speed is not None), key=lambda kind: -(kind.speed or 0))
    return tuple(ranked) if len(ranked) == len(kinds) > 1 else ()


def cores_of_kind(name: str) -> str:
    """Return what several cores of a kind are called.

    >>> cores_of_kind("P-core"), cores_of_kind("core of capacity 718"), cores_of_kind("Cortex-X925")
    ('P-cores', 'cores of capacity 718', 'Cortex-X925')
    """
    return re.sub(r"\bcore\b", "cores", name, count=1)


def cpus_of_kind(machine: Machine, wish: str) -> CpuSet | None:
    """Return the CPUs of the kind that is asked for, fast, slow, or by its name; None where all kinds may be taken."""
    if wish in ("auto", "any"):
        return None
    kinds = (machine.cpu and machine.cpu.kinds) or ()
    ranked = ranked_kinds(machine)
    if wish in ("fast", "slow") and not ranked:
        problem = "this input does not rank its kinds of cores" if kinds else "this node has only one kind of core"
        cure = f"name one: {', '.join(kind.name for kind in kinds)}" if kinds else "leave --core-kind out"
        raise BadValue(f"--core-kind {wish}: {problem}", cure=cure)
    by_word = {"fast": ranked[:1], "slow": ranked[-1:]}.get(wish)
    chosen = by_word or [kind for kind in kinds if kind.name.casefold() == wish.casefold()]
    if not chosen:
        known = ", ".join(kind.name for kind in kinds) or "none"
        raise BadValue(f"--core-kind {wish}: this node has no such kind of core", cure=f"available: {known}")
    return chosen[0].cpus


@dataclass(frozen=True)
class FreeCore:
    """A core, or one hardware thread of a core that ranks share; where it is, by position."""

    cpus: CpuSet
    core: int
    socket: int
    node: int
    l3: int
    """-1 where the L3 group is not known."""
    threads: int = 1
    """Threads of a rank that it carries."""
    l2: int = -1
    """Which level 2 cache of several cores it shares; -1 where it shares none."""
    slower: int = 0
    """How many kinds of cores of this machine are faster; 0 of all where they are alike or nothing ranks them."""


@dataclass(frozen=True)
class RankCores:
    """The seats of one rank, and the device it was seated for."""

    seats: tuple[FreeCore, ...]
    device: str | None = None


Key = tuple[int, ...]


Level = Callable[[FreeCore], Key]
"""Names the part of a machine that a seat is in."""


def whole(seat: FreeCore) -> Key:
    """Return the same for every seat: the machine is one part."""
    del seat
    return ()


def socket(seat: FreeCore) -> Key:
    """Return which socket."""
    return (seat.socket,)


def node(seat: FreeCore) -> Key:
    """Return which NUMA node; one that spans sockets is a part in each."""
    return (seat.socket, seat.node)


def l3(seat: FreeCore) -> Key:
    """Return which L3 group; where it is not known, the node stands for it."""
    return (seat.socket, -1, seat.l3) if seat.l3 >= 0 else (seat.socket, seat.node, -1)


def l3_in_node(seat: FreeCore) -> Key:
    """Return which L3 group of which NUMA node: with sub-NUMA clusters an L3 group spans several nodes."""
    return (seat.socket, seat.node, seat.l3)


def l2(seat: FreeCore) -> Key:
    """Return which level 2 cache of several cores."""
    return (seat.socket, seat.node, seat.l3, seat.l2)


def core(seat: FreeCore) -> Key:
    """Return which core."""
    return (seat.socket, seat.node, seat.l3, seat.core)


def parts(seats: Iterable[FreeCore], level: Level) -> dict[Key, tuple[FreeCore, ...]]:
    """Return the seats by the part they are in, in the order of the seats."""
    found: dict[Key, list[FreeCore]] = {}
    for seat in seats:
        found.setdefault(level(seat), []).append(seat)
    return {key: tuple(group) for key, group in found.items()}


def cpus_of(seats: Iterable[FreeCore]) -> CpuSet:
    """Return the CPUs of seats."""
    return union(seat.cpus for seat in seats)


def split(seats: Sequence[FreeCore], count: int) -> tuple[FreeCore, ...]:
    """Return the seats with so many cores taken apart into hardware threads, spread over the cells so that none has more."""
    waiting = [list(group) for group in parts((s for s in seats if s.threads > 1), l3_in_node).values()]
    chosen: set[int] = set()
    while len(chosen) < count and any(waiting):
        for group in waiting:
            if group and len(chosen) < count:
                chosen.add(group.pop(0).core)
    threads = ([replace(s, cpus=CpuSet([cpu]), threads=1) for cpu in s.cpus] if s.core in chosen else [s] for s in seats)
    return tuple(chain.from_iterable(threads))


def consecutive_ranks(seats: Iterable[FreeCore], threads: int) -> list[RankCores]:
    """Return ranks of so many threads, one beside the other; what is left over at the end is nobody's."""
    return _chopped(seats, threads)[0]


def _chopped(seats: Iterable[FreeCore], threads: int) -> tuple[list[RankCores], list[FreeCore]]:
    chunks: list[RankCores] = []
    taken: list[FreeCore] = []
    have = 0
    for seat in seats:
        taken.append(seat)
        have += seat.threads
        if have >= threads:
            chunks.append(RankCores(tuple(taken)))
            taken, have = [], 0
    return chunks, taken


def ranks_within_parts(seats: Iterable[FreeCore], level: Level, threads: int) -> list[RankCores]:
    """Return ranks of which none leaves its part of the machine."""
    return [chunk for part in parts(seats, level).values() for chunk in consecutive_ranks(part, threads)]


def packed_ranks(seats: Sequence[FreeCore], threads: int, count: int) -> list[RankCores]:
    """Return so many ranks, or as many as fit; in the order of space.

    As many as can be are inside one L3 group; of what these leave, ranks are made inside a node, and last inside a socket.
    """
    left, chunks = seats, list[RankCores]()
    for level in (l3_in_node, node, socket):
        over: list[FreeCore] = []
        for part in parts(left, level).values():
            made, rest = _chopped(part, threads)
            chunks += made
            over += rest
        if len(chunks) >= count:
            break
        left = over
    place = {seat: position for position, seat in enumerate(seats)}
    return sorted(chunks[:count], key=lambda chunk: place[chunk.seats[0]])


def distributed(count: int, room: Sequence[int], keys: Sequence[Key] | None = None) -> list[int]:
    """Return how many each gets: the same, or less where there is less room.

    Of what is left over one more goes to each of the first, or with keys to parts spaced evenly over the machine. What
    finds no room at all is not placed.
    """
    if not room:
        return []
    low = bisect_right(range(max(room) + 1), count, key=lambda level: sum(min(each, level) for each in room)) - 1
    shares = [min(each, low) for each in room]
    wishing = [i for i, each in enumerate(room) if each > low]
    left = min(count - sum(shares), len(wishing))
    chosen = wishing[:left] if keys is None else [wishing[i] for i in _spaced([keys[i] for i in wishing], left)]
    for i in chosen:
        shares[i] += 1
    return shares


def _spaced(keys: Sequence[Key], count: int, depth: int = 1) -> list[int]:
    """Return so many positions, spread evenly over sockets, inside each over its nodes, and so on."""
    if count >= len(keys):
        return list(range(len(keys)))
    groups: dict[Key, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key[:depth], []).append(i)
    if len(groups) == len(keys):
        return [i * len(keys) // count for i in range(count)]
    heads = list(range(len(groups)))
    shares = distributed(count, [len(group) for group in groups.values()], [(i,) for i in heads])
    chosen: list[int] = []
    for group, share in zip(groups.values(), shares, strict=True):
        chosen += [group[i] for i in _spaced([keys[g] for g in group], share, depth + 1)] if share else []
    return chosen


def _one_for_each_l2(seats: Sequence[FreeCore], threads: int, count: int) -> list[RankCores]:
    """Return so many ranks, of which two share a level 2 cache only where no other is free; in the order of space.

    Cores of which some share none are of several kinds: there the first ones stay the first.
    """
    if any(seat.l2 < 0 for seat in seats):
        return packed_ranks(seats, threads, count)
    tiles = parts(seats, l2)
    made = [consecutive_ranks(tile, threads) for tile in tiles.values()]
    if sum(map(len, made)) < count:
        return packed_ranks(seats, threads, count)
    shares = distributed(count, [len(ranks) for ranks in made], list(tiles))
    place = {seat: position for position, seat in enumerate(seats)}
    chosen = (rank for ranks, share in zip(made, shares, strict=True) for rank in ranks[:share])
    return sorted(chosen, key=lambda rank: place[rank.seats[0]])


def _tiles(seats: Sequence[FreeCore], threads: int) -> int:
    """Return how many level 2 caches that cores share have room for a rank; 0 where some share none."""
    if any(seat.l2 < 0 for seat in seats):
        return 0
    return sum(1 for tile in parts(seats, l2).values() if consecutive_ranks(tile, threads))


def spread_ranks(seats: Sequence[FreeCore], threads: int, count: int, *levels: Level) -> list[RankCores]:
    """Return so many ranks spread over the parts of the first level, inside each over those of the next; block order."""
    if not levels:
        return _one_for_each_l2(seats, threads, count)
    boxes = parts(seats, levels[0])
    tiles = [_tiles(box, threads) for box in boxes.values()]
    room = tiles if sum(tiles) >= count else [len(packed_ranks(box, threads, len(box))) for box in boxes.values()]
    shares = distributed(count, room, list(boxes))
    chunks: list[RankCores] = []
    for box, share in zip(boxes.values(), shares, strict=True):
        inside = spread_ranks(box, threads, share, *levels[1:]) if share else []
        chunks += inside if len(inside) == share else packed_ranks(box, threads, share)
    return chunks


@dataclass(frozen=True)
class Device:
    """An HCA or a GPU: the NUMA nodes it is local to, and the sockets these are in; () where not known."""

    name: str
    nodes: tuple[int, ...]
    sockets: tuple[int, ...]
    gpu: bool = False
    one_of: bool = False
    """Whether it is on one of its nodes, and which is not known."""
    cpus: CpuSet = field(default_factory=CpuSet)
    """The CPUs nearest to it, where these are fewer than its nodes'."""
    upstream: tuple[str, ...] = ()
    """Host bridges and bridges between it and the processor, the root's side first."""


@dataclass(frozen=True)
class Domain:
    """CPUs and the NUMA nodes that own them: one, or several where nodes share their CPUs."""

    nodes: tuple[int, ...]
    cpus: CpuSet


FAR = 1 << 16
"""Farther than any distance that firmware reports."""


@dataclass(frozen=True)
class NodeResources:
    """One kind of node."""

    machine: Machine
    whole: Topology
    inside: Topology
    free: CpuSet

    @cached_property
    def sockets(self) -> tuple[CpuSet, ...]:
        """The CPUs of each real socket."""
        return find_sockets(self.machine, self.whole)[0]

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The NUMA nodes that have CPUs, by number; those of the same CPUs are one."""
        found: dict[CpuSet, list[int]] = {}
        for node in sorted(self.inside.cpu_nodes, key=lambda node: node.os_index):
            found.setdefault(node.cpuset, []).append(node.os_index)
        return tuple(Domain(tuple(nodes), cpus) for cpus, nodes in found.items())

    @cached_property
    def cores(self) -> tuple[FreeCore, ...]:
        """Every free core, in the order of space: socket, NUMA node, L3 group, first CPU."""
        left, sets, cores = self.free & self.inside.pus, [], [core.cpuset for core in self.inside.cores]
        for cpus in (*cores, *(CpuSet([cpu]) for cpu in left - union(cores))):
            if cpus & left:
                sets.append(cpus & left)
                left -= cpus
        sets.sort(key=lambda cpus: cpus.first or 0)
        layers = (
            self.sockets,
            [domain.cpus for domain in self.domains],
            [group.cpuset for group in self.inside.l3],
            [cache.cpuset for cache in self.inside.shared_l2],
        )
        seats, kinds = [], ranked_kinds(self.machine)
        for position, cpus in enumerate(sets):
            socket, domain, l3, l2 = (_holder(layer, CpuSet([cpus.first or 0]), -1) for layer in layers)
            slower = next((at for at, kind in enumerate(kinds) if kind.cpus & cpus), len(kinds))
            place = socket if socket >= 0 else len(self.sockets)
            seats.append(FreeCore(cpus, position, place, domain, l3, l2=l2, slower=slower))
        return tuple(sorted(seats, key=lambda seat: (seat.socket, seat.node, seat.l3, seat.core)))

    @cached_property
    def partial(self) -> CpuSet:
        """The CPUs of cores of which the job may use some hardware threads only."""
        cores = (core.cpuset & self.whole.pus for core in self.whole.cores)
        return union(cpus & self.free for cpus in cores if cpus & self.free and not cpus <= self.free)

    @cached_property
    def memories(self) -> tuple[tuple[int, ...], ...]:
        """For each domain the nodes its memory comes from: its own, or the nearest that have memory."""
        return tuple(self._memory(domain) for domain in self.domains)

    def _memory(self, domain: Domain) -> tuple[int, ...]:
        nodes = {node.os_index: node for node in self.inside.nodes}
        own = tuple(number for number in domain.nodes if _plain(nodes[number]))
        filled = [n for n in self.inside.nodes if _plain(n)] or [n for n in self.inside.nodes if n.memory != 0]
        if own or not filled:
            return own or domain.nodes
        socket = _holder(self.sockets, domain.cpus, -1)

        def far(node: NumaNode) -> tuple[bool, int]:
            return _holder(self.sockets, node.near, -2) != socket, self._between(domain.nodes, (node.os_index,)) or FAR

        nearest = min(map(far, filled))
        return tuple(node.os_index for node in filled if far(node) == nearest)

    def memory_of(self, seat: FreeCore) -> tuple[int, ...]:
        """Return the nodes that a seat's memory comes from; of a CPU that no node owns, all that have memory."""
        return self.memories[seat.node] if seat.node >= 0 else tuple(n.os_index for n in self.inside.nodes if n.memory != 0)

    def distance(self, seat: FreeCore, device: Device) -> int | None:
        """Return the SLIT distance from a seat's node to a device's, None where not known."""
        if seat.node < 0:
            return None
        here = self.domains[seat.node].nodes
        if not device.one_of:
            return self._between(here, device.nodes)
        each = {self._between(here, (node,)) for node in device.nodes}
        return each.pop() if len(each) == 1 else None

    def nearness(self, seat: FreeCore, device: Device) -> tuple[int, int, int]:
        """Return what sorts seats by a device: its own CPUs, its own nodes, its socket's by distance, the others by distance."""
        close = bool(seat.cpus & device.cpus)
        key = seat.socket, seat.node, close, device
        if key not in self._steps:
            own = seat.node >= 0 and not device.one_of and bool({*self.domains[seat.node].nodes} & {*device.nodes})
            tier = 0 if own and (close or not device.cpus) else 1 if own else 2 if seat.socket in device.sockets else 3
            distance = self.distance(seat, device)
            self._steps[key] = tier, FAR if distance is None else distance, seat.node
        return self._steps[key]

    @cached_property
    def _steps(self) -> dict[tuple[int, int, bool, Device], tuple[int, int, int]]:
        return {}

    def _between(self, here: Sequence[int], there: Sequence[int]) -> int | None:
        table = self.whole.distances
        known = [10 for number in here if number in there]
        if table is not None:
            known += [far for a in here for b in there if (far := table.between(a, b)) is not None]
        return min(known, default=None)


def _plain(node: NumaNode) -> bool:
    """Return whether a node has memory that programs get by default."""
    return node.memory != 0 and node.kind in (None, "dram")


def _holder(sets: Sequence[CpuSet], cpus: CpuSet, otherwise: int) -> int:
    return next((i for i, each in enumerate(sets) if cpus & each), otherwise)


def adapters(ground: NodeResources) -> tuple[Device, ...]:
    """Return the HCAs to use, all of one link layer: with an active port of the highest rate, or all where none is active."""
    fabric = fabric_of(ground.machine.hcas or ())
    hcas = [hca for hca in ground.machine.hcas or () if is_on_fabric(hca, fabric)]
    rates = {hca.name: _rate(hca, fabric) for hca in hcas}
    best = max((rate for rate in rates.values() if rate is not None), default=None)
    return tuple(_device(ground, hca) for hca in sorted(hcas, key=_counted) if rates[hca.name] == best)


def _counted(hca: Hca) -> list[tuple[int, str]]:
    """Return what sorts adapters by the numbers in their names: mlx5_6 before mlx5_10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", hca.name)]


def passed_over(ground: NodeResources) -> Iterator[tuple[str, str]]:
    """Yield the HCAs that are not used, each with the reason."""
    hcas = ground.machine.hcas or ()
    fabric, used = fabric_of(hcas), {device.name for device in adapters(ground)}
    for hca in hcas:
        if hca.name in used:
            continue
        layers = other_layers(hca, fabric)
        if layers and fabric:
            words = ", ".join(NAMES.get(layer, layer) for layer in layers)
            yield hca.name, f"{words}, but the plan uses only one network: {NAMES.get(fabric, fabric)}"
        elif not is_on_fabric(hca, fabric):
            yield hca.name, f"its network type is unknown; the plan uses {NAMES.get(fabric or '', 'another')}"
        else:
            yield hca.name, "no active port, or a slower port than the others"


def gpus(ground: NodeResources) -> tuple[Device, ...]:
    """Return the GPUs, their partitions or MIG instances, in the runtime's order where it is known, else of their addresses.

    A GPU with MIG instances stands for them, 0000:61:00.0-mig0: CUDA gives a process one.
    """
    found: list[Device] = []
    for gpu in ground.machine.gpus or ():
        whole = _device(ground, gpu)
        found += [replace(whole, name=f"{whole.name}-mig{at}") for at in range(gpu.instances or 0)] or [whole]
    return tuple(found)


def computes(ground: NodeResources) -> bool:
    """Return whether a node has GPUs to compute with: not those of AMD and Intel that may be there for a screen (class VGA)."""
    cards = {gpu.card or gpu.address: gpu.vendor for gpu in ground.machine.gpus or ()}
    screens = {device.address for device in ground.machine.pci or () if device.class_code >> 8 == 0x0300}
    return any(vendor == "nvidia" or address not in screens for address, vendor in cards.items())


def accelerators(ground: NodeResources) -> tuple[str, ...]:
    """Return the processing accelerators (PCI class 12) that are no GPUs: no plan assigns them."""
    known = {name for gpu in ground.machine.gpus or () for name in (gpu.address, gpu.card)}
    every = ground.machine.pci or ()
    return tuple(d.address for d in every if d.class_code >> 16 == 0x12 and not d.is_virtual_function and d.address not in known)


def named(ground: NodeResources, name: str) -> Device:
    """Return the HCA or GPU of a name (mlx5_0), a PCI address, an HCA's interface (hsn0), or a GPU's number (gpu0)."""
    hcas, cards = ground.machine.hcas or (), ground.machine.gpus or ()
    matches: list[Hca | Gpu] = [hca for hca in hcas if name in (hca.name, hca.address)]
    matches += [hca for hca in hcas if any(name == port.netdev for port in hca.ports or ())]
    matches += [gpu for gpu, number in zip(cards, _numbers(cards), strict=True) if name in (gpu.address, number)]
    if matches:
        return _device(ground, matches[0])
    there = [h.name for h in hcas] + [g.address for g in cards]
    known = ", ".join(there) or ("none" if ground.machine.hcas is not None else "unknown, because this input lists no adapters")
    raise BadValue(f"no adapter or GPU is called {name}", cure=f"available: {known}")


def device_names(machine: Machine) -> tuple[str, ...]:
    """Return a name for each adapter and GPU of a machine, as ``named`` knows it."""
    return (*(hca.name for hca in machine.hcas or ()), *_numbers(machine.gpus or ()))


def _numbers(cards: Sequence[Gpu]) -> list[str]:
    return [f"gpu{position if gpu.index is None else gpu.index}" for position, gpu in enumerate(cards)]


def nearest(ground: NodeResources, seat: FreeCore, devices: Sequence[Device]) -> list[Device]:
    """Return the devices that are nearest to a seat: several where they are equally near."""
    steps = [ground.nearness(seat, device)[:2] for device in devices]
    return [device for device, step in zip(devices, steps, strict=True) if step == min(steps)]


def beside(gpu: Device, devices: Sequence[Device]) -> list[Device]:
    """Return those of some adapters that share most of a GPU's way to the processor, or are in its NUMA node, or all."""
    shared = [_shared(gpu, device) for device in devices]
    most = max(shared, default=0)
    if most:
        return [device for device, count in zip(devices, shared, strict=True) if count == most]
    return [device for device in devices if set(device.nodes) & set(gpu.nodes)] or list(devices)


def _shared(one: Device, other: Device) -> int:
    """Return how many host bridges and bridges two devices share, from the processor down."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.upstream, other.upstream, strict=False)))


def _device(ground: NodeResources, it: Hca | Gpu) -> Device:
    locality, is_gpu = it.locality or Locality(numa_nodes=()), isinstance(it, Gpu)
    name, address = (it.address, it.card or it.address) if isinstance(it, Gpu) else (it.name, it.address)
    cpus = union(node.cpuset for node in ground.whole.nodes if node.os_index in locality.numa_nodes)
    sockets = tuple(i for i, socket in enumerate(ground.sockets) if socket & cpus)
    card = next((each for each in ground.machine.pci or () if each.address == address), None) if address else None
    upstream = (card.upstream if card else None) or ()
    own = locality.cpus or CpuSet()
    return Device(name, locality.numa_nodes, sockets, is_gpu, one_of=bool(locality.one_of), cpus=own, upstream=upstream)


def _rate(hca: Hca, fabric: str | None) -> int | None:
    """Return the highest rate of an HCA's active ports; 0 where nothing is known of its ports, None where none is active."""
    ports = ports_of(hca, fabric)
    if ports is None:
        return 0
    return max((port.rate or 0 for port in ports if is_active(port)), default=None)


@dataclass(frozen=True)
class Space:
    """Free seats of a node for ranks of so many threads, and the devices to be near: one, or all of a kind."""

    ground: NodeResources
    seats: tuple[FreeCore, ...]
    threads: int
    near: tuple[Device, ...] = ()


Way = Callable[[Space, int], list[RankCores]]


def compact(space: Space, count: int) -> list[RankCores]:
    """Fill core after core, L3 after L3, node after node."""
    return ranks_within_parts(space.seats, socket, space.threads)[:count]


def spread_numa(space: Space, count: int) -> list[RankCores]:
    """Spread the ranks evenly over the NUMA nodes, keeping each rank's threads inside one."""
    return spread_ranks(space.seats, space.threads, count, node)


def spread_l3(space: Space, count: int) -> list[RankCores]:
    """Spread the ranks evenly over the L3 groups, so that each has as much cache and memory bandwidth as possible."""
    return spread_ranks(space.seats, space.threads, count, l3, l3_in_node)


def hybrid(space: Space, count: int) -> list[RankCores]:
    """Keep a rank's threads inside one L3 group; if they do not fit, inside one NUMA node, or else inside one socket."""
    best: list[RankCores] = []
    for level in (l3_in_node, l3, node, socket):
        chunks = spread_ranks(space.seats, space.threads, count, level)
        if len(chunks) >= count:
            return chunks
        best = max(best, chunks, key=len)
    return best


def balanced(space: Space, count: int) -> list[RankCores]:
    """Spread the ranks evenly over the memory: first over the nodes with memory, then over the L3 groups near each."""

    def memory(seat: FreeCore) -> tuple[int, ...]:
        return (seat.socket, *space.ground.memory_of(seat))

    # Cores without memory of their own add no channel: they serve only when those beside a memory do not suffice.
    beside = [seat for seat in space.seats if seat.node in space.ground.memory_of(seat)]
    chunks = spread_ranks(beside, space.threads, count, memory, l3_in_node)
    if len(chunks) < count:
        chunks = spread_ranks(space.seats, space.threads, count, memory, l3_in_node)
    return chunks if len(chunks) >= count else spread_ranks(space.seats, space.threads, count, socket)


def hca_near(space: Space, count: int) -> list[RankCores]:
    """Fill the cores of the adapter's NUMA node first, then its socket's nodes by distance, then the other sockets."""
    device = space.near[0]
    near = sorted(space.seats, key=lambda seat: space.ground.nearness(seat, device))
    chunks: list[RankCores] = []
    for box in parts(near, node).values():
        chunks += packed_ranks(box, space.threads, count - len(chunks))
    if len(chunks) < count:
        chunks = max(chunks, ranks_within_parts(near, socket, space.threads)[:count], key=len)
    return _over_caches(space, [RankCores(chunk.seats, device.name) for chunk in chunks])


def per_hca(space: Space, count: int) -> list[RankCores]:
    """Split the ranks evenly over the adapters, each rank near its own: on the adapter's node, socket, or as near as possible."""
    return _among_devices(space, count)


def gpu_near(space: Space, count: int) -> list[RankCores]:
    """Split the ranks evenly over the GPUs, each rank on the cores nearest to its own."""
    return _among_devices(space, count)


def _among_devices(space: Space, count: int) -> list[RankCores]:
    # A GPU that is beside one L3 group of a node gets the ranks of that group, where they fit into such groups.
    levels = (l3_in_node, node) if any(device.cpus for device in space.near) else (node,)
    stacks: list[list[RankCores]] = []
    for level in levels:
        stacks = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, level).values()]
        if sum(map(len, stacks)) >= count:
            break
    else:
        wide = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, socket).values()]
        stacks = max(stacks, wide, key=lambda each: sum(map(len, each)))
    total = sum(map(len, stacks))
    return _over_caches(space, _by_turns(space, stacks, distributed(min(count, total), [total] * len(space.near))))


def _by_turns(space: Space, stacks: list[list[RankCores]], quota: Sequence[int]) -> list[RankCores]:
    """Return ranks by device: again and again the device that has the nearest seats free takes some."""
    taken: list[list[RankCores]] = [[] for _ in quota]
    sizes = [len(stack) for stack in stacks]

    def cost(device: int, at: int) -> tuple[tuple[int, int, int], int, int]:
        near = space.near[device]
        tier, far, last = max(space.ground.nearness(seat, near) for seat in stacks[at][0].seats)
        # Where nobody says which of several nodes a device is on, its ranks are spread over them.
        order = sizes[at] - len(stacks[at]) if len(near.nodes) > 1 else last
        return (tier, far, order), len(taken[device]), device

    for _ in range(sum(quota)):
        waiting = [device for device, most in enumerate(quota) if len(taken[device]) < most]
        device, at = min(((d, i) for d in waiting for i, stack in enumerate(stacks) if stack), key=lambda pair: cost(*pair))
        taken[device].append(stacks[at].pop(0))
    return [
        RankCores(chunk.seats, device.name)
        for device, mine in zip(space.near, _side_by_side(space, taken), strict=True)
        for chunk in sorted(mine, key=lambda c: max(space.ground.nearness(seat, device) for seat in c.seats))
    ]


def _side_by_side(space: Space, taken: Sequence[list[RankCores]]) -> list[list[RankCores]]:
    """Return the ranks of devices; of those that are in the same place each has neighbouring ones, in the order of space."""
    place = {seat: position for position, seat in enumerate(space.seats)}
    alike: dict[tuple[tuple[int, ...], CpuSet], list[int]] = {}
    for at, device in enumerate(space.near):
        alike.setdefault((device.nodes, device.cpus), []).append(at)
    found = [list(mine) for mine in taken]
    for group in alike.values():
        every = iter(sorted((rank for at in group for rank in taken[at]), key=lambda rank: place[rank.seats[0]]))
        for at in group:
            found[at] = [next(every) for _ in taken[at]]
    return found


def _over_caches(space: Space, ranks: list[RankCores]) -> list[RankCores]:
    """Return the ranks, those of each node spread over its caches where all its cores are equally near to the devices."""
    if any(device.cpus for device in space.near):
        return ranks
    found, place = list(ranks), {seat: position for position, seat in enumerate(space.seats)}
    for box in parts(space.seats, node).values():
        own = set(box)
        mine = sorted((i for i, rank in enumerate(ranks) if own & set(rank.seats)), key=lambda i: place[ranks[i].seats[0]])
        spread = spread_ranks(box, space.threads, len(mine), l3_in_node)
        if len(spread) == len(mine) and all(own >= set(ranks[i].seats) for i in mine):
            for i, rank in zip(mine, spread, strict=True):
                found[i] = RankCores(rank.seats, ranks[i].device)
    return found


def fastest_first(space: Space, way: Way, count: int) -> list[RankCores]:
    """Return ranks on the fastest kind of cores, on slower ones those that find no room there.

    Only where they still do not all fit has a rank cores of several kinds, and then no slow core is taken too many.
    """
    made: list[RankCores] = []
    for kind in sorted({seat.slower for seat in space.seats}):
        made += way(replace(space, seats=tuple(seat for seat in space.seats if seat.slower == kind)), count - len(made))
        if len(made) == count:
            place = {seat: position for position, seat in enumerate(space.seats)}
            return made if space.near else sorted(made, key=lambda rank: place[rank.seats[0]])
    every = sorted(space.seats, key=lambda seat: seat.slower)

    def first(many: int) -> list[RankCores]:
        taken = set(every[:many])
        return way(replace(space, seats=tuple(seat for seat in space.seats if seat in taken)), count)

    least = bisect_left(range(len(every)), x=True, key=lambda many: len(first(many)) >= count)
    return max(first(least), first(len(every)), made, key=len)


WAYS: dict[Strategy, Way] = {
    "compact": compact,
    "spread-numa": spread_numa,
    "spread-l3": spread_l3,
    "hybrid": hybrid,
    "balanced": balanced,
    "hca-near": hca_near,
    "per-hca": per_hca,
    "gpu-near": gpu_near,
}


def sentence(strategy: Strategy) -> str:
    """Return what a strategy does, in one sentence."""
    return (WAYS[strategy].__doc__ or "").splitlines()[0]


NATURAL: dict[Strategy, Per] = {"spread-l3": "l3", "spread-numa": "numa"}
"""What gets a rank each where no number of ranks is given; in the other strategies as many as fit."""


def _domain(seat: FreeCore) -> Key:
    """Return which NUMA node, as people count them: one that spans sockets is one."""
    return (seat.node,)


PARTS: Mapping[Per, Level] = {"node": whole, "socket": socket, "numa": _domain, "l3": l3, "core": core}


_BY_DEVICE = ("hca-near", "per-hca", "gpu-near")


@dataclass(frozen=True)
class JobCores:
    """A kind of node, and the cores of it that this job may fill."""

    ground: NodeResources
    cores: tuple[FreeCore, ...]
    job: JobShape

    @cached_property
    def near(self) -> Device | None:
        """The device that was asked for."""
        return named(self.ground, self.job.near) if self.job.near else None

    @cached_property
    def cards(self) -> tuple[Device, ...]:
        """The GPUs that the job uses on each host: all, or the first of them."""
        every = gpus(self.ground)
        wanted = self.job.gpus // max(1, len(self.job.hosts)) if self.job.gpus else len(every)
        if wanted > len(every):
            has = f"this node has {len(every) or 'none'}" if len(every) != 1 else "this node has 1"
            raise BadValue(f"{wanted} GPUs per node, but {has}", cure=f"--gpus {len(every)}" if every else "leave --gpus out")
        return every[:wanted]

    def devices(self, strategy: Strategy) -> tuple[Device, ...]:
        """Return what a strategy needs to be near to; refused where there is none."""
        if strategy not in _BY_DEVICE:
            return ()
        every = self.cards if strategy == "gpu-near" else adapters(self.ground)
        if strategy == "hca-near":
            every = ((self.near,) if self.near else tuple(d for d in every if d.nodes) or every)[:1]
        if not every:
            what = "a GPU" if strategy == "gpu-near" else "an adapter"
            raise BadValue(f"{strategy} needs {what}, but this node shows none", cure="try --strategy balanced")
        if strategy == "hca-near" and not every[0].nodes:
            raise BadValue(f"the location of {every[0].name} is unknown", cure="try --strategy balanced")
        return every

    def boxes(self, per: Per) -> list[tuple[FreeCore, ...]]:
        """Return the parts that ranks are counted in."""
        if per == "l3" and all(seat.l3 < 0 for seat in self.cores):
            raise BadValue("no L3 groups are known on this node", cure="use numa, socket, core or node")
        if per == "gpu":
            return [self.cores] * len(self.devices("gpu-near"))
        return list(parts(self.cores, PARTS[per]).values())

    def fill(self, strategy: Strategy, count: int, threads: int | None = None) -> list[RankCores]:
        """Return the ranks in their order; fewer than asked for where no more fit."""
        need = threads or self.job.threads
        if strategy == "spread-l3":
            self.boxes("l3")
        near = self.devices(strategy)
        if self.job.per is None or strategy in _BY_DEVICE:
            return self._fit(strategy, self.cores, count, need, near)
        boxes = self.boxes(self.job.per)
        each, chunks = -(-count // len(boxes)), []
        for box in boxes:
            chunks += self._fit(strategy, box, each, need, near)
        return chunks[:count]

    def _fit(
        self, strategy: Strategy, cores: tuple[FreeCore, ...], count: int, need: int, near: tuple[Device, ...]
    ) -> list[RankCores]:
        """Return ranks that share no core; where they must, as few shared cores as will do."""
        way = WAYS[strategy]
        by_speed = self.job.core_kind != "any" and len({seat.slower for seat in cores}) > 1

        def tried(shared: int) -> list[RankCores]:
            space = Space(self.ground, split(cores, shared) if shared else cores, need, near)
            return fastest_first(space, way, count) if by_speed else way(space, count)

        chunks = tried(0)
        wide = sum(1 for seat in cores if seat.threads > 1)
        if len(chunks) >= count or not wide:
            return chunks
        most = tried(wide)
        if len(most) < count:
            return max(chunks, most, key=len)
        return tried(bisect_left(range(wide), x=True, key=lambda shared: len(tried(shared)) >= count))

    def most(self, strategy: Strategy, threads: int | None = None) -> int:
        """Return how many ranks of so many threads fit."""
        per = self.job.per if strategy not in _BY_DEVICE else None
        every = sum(len(seat.cpus) for seat in self.cores)
        if per is None:
            return len(self.fill(strategy, every, threads))
        return self.most_each(strategy, threads) * len(self.boxes(per))

    def most_each(self, strategy: Strategy, threads: int | None = None) -> int:
        """Return how many ranks fit into every one of the parts that ranks are counted in."""
        near, need = self.devices(strategy), threads or self.job.threads
        boxes = self.boxes(self.job.per or "node")
        if strategy in _BY_DEVICE:
            return self.most(strategy, threads) // len(boxes)
        return min(len(self._fit(strategy, box, sum(len(seat.cpus) for seat in box), need, near)) for box in boxes)

    def natural(self, strategy: Strategy) -> int:
        """Return how many ranks a node gets where no number is given."""
        if strategy == "gpu-near":
            return len(self.devices(strategy))
        per = NATURAL.get(strategy)
        most = self.most(strategy)
        return min(len(self.boxes(per)), most) if per else most


def job_cores(ground: NodeResources, job: JobShape) -> JobCores:
    """Return the cores that a job may fill: without the reserved ones, and of the others its slice."""
    reserved = {seat.core for seat in reserved_cores(ground, job)}
    cores = tuple(seat for seat in ground.cores if seat.core not in reserved)
    if not cores:
        raise BadValue(f"no core is left: {len(ground.cores)} are free, {len(reserved)} are reserved", cure="reserve fewer")
    if wanted := cpus_of_kind(ground.machine, job.core_kind):
        cores = tuple(seat for seat in cores if seat.cpus & wanted)
    if not cores:
        raise BadValue(f"--core-kind {job.core_kind}: no core of this kind is free", cure="leave --core-kind out")
    if job.slice:
        cores = _slices(cores, job.slice.of)[job.slice.part - 1]
    if job.smt == "use":
        cores = tuple(replace(seat, threads=len(seat.cpus)) for seat in cores)
    return JobCores(ground, cores, job)


def reserved_cores(ground: NodeResources, job: JobShape) -> tuple[FreeCore, ...]:
    """Return the cores that a job leaves to the system: the first ones of the node, or of each of its parts."""
    first = sorted(ground.cores, key=lambda seat: seat.core)
    groups = parts(first, PARTS[job.reserve_per or "node"]).values()
    return tuple(sorted((seat for group in groups for seat in group[: job.reserve]), key=lambda seat: seat.core))


def _slices(cores: Sequence[FreeCore], count: int) -> list[tuple[FreeCore, ...]]:
    """Return so many parts side by side: of whole sockets, nodes or L3 groups where there are enough, else of cores."""
    largest = max(len(group) for group in parts(cores, l3_in_node).values())
    for level in (socket, node, l3_in_node):
        groups = list(parts(cores, level).values())
        if len(groups) % count == 0 or (level is l3_in_node and len(groups) >= count):
            made = _runs(groups, count)
            if level is l3_in_node or max(map(len, made)) - min(map(len, made)) <= largest:
                return made
    if count > len(cores):
        raise BadValue(
            f"{len(cores)} cores cannot be divided into {count} slices: some would be empty", cure=f"use at most {len(cores)}"
        )
    return _runs([(seat,) for seat in cores], count)


def _runs(groups: Sequence[tuple[FreeCore, ...]], count: int) -> list[tuple[FreeCore, ...]]:
    """Return the groups joined to so many runs; the first have one more where they do not divide evenly."""
    size, more = divmod(len(groups), count)
    starts = [i * size + min(i, more) for i in range(count + 1)]
    return [tuple(seat for group in groups[a:b] for seat in group) for a, b in pairwise(starts)]
