"""What there is to measure: cores, groups of cores, memories, and how much of the memory each task needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from advisor.errors import CannotWork
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import NumaNode
from advisor.machine.units import throughput
from advisor.measure.measurement import Distance, Part, Result, reported_number
from advisor.measure.platform import Platform, of_nodes


@dataclass(frozen=True)
class CoreGroup:
    """A part of the machine: which one, and the CPUs on which threads run there, nearest together first."""

    part: Part
    index: int | None
    cpus: tuple[int, ...]

    @property
    def label(self) -> str:
        """Its name in a task's: ``numa/3``, ``machine``."""
        return self.part if self.index is None else f"{self.part}/{self.index}"


@dataclass(frozen=True)
class Memory:
    """Where the memory of some cores comes from: one node, or each thread's own."""

    node: int | None
    distance: Distance | None
    slit: int | None = None


class Resources:
    """A machine as far as it may be measured."""

    def __init__(self, machine: Machine, only: CpuSet | None = None, *, smt: bool = False) -> None:
        if machine.topology is None:
            raise CannotWork("this input has no topology; read it from a capture, lstopo XML or the machine itself")
        self.machine, self.whole, self.inside = machine, machine.topology, machine.topology.inside
        affinity = machine.limits.affinity if machine.limits else None
        self.usable = self.inside.pus & (affinity if affinity is not None else self.inside.pus)
        self.asked = only
        if only is not None:
            self.usable = self.usable & only
        self.smt = smt
        if not self.usable:
            raise CannotWork("none of these CPUs may be used here; see advisor topology")

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The CPUs that run threads, in the order of space: socket, NUMA node, L3 group, core; second threads come last."""
        known = tuple(core.cpuset for core in self.inside.cores)
        cores = (*known, *(CpuSet([cpu]) for cpu in self.usable - union(known)))
        levels = (self.sockets, [node.cpuset for node in self.homes], [l3.cpuset for l3 in self.whole.l3])

        def place(cpu: int) -> tuple[int, ...]:
            return (*(next((at for at, each in enumerate(sets) if cpu in each), -1) for sets in levels), cpu)

        threads = sorted((list(cpus & self.usable) for cpus in cores if cpus & self.usable), key=lambda cpus: place(cpus[0]))
        deepest = max(map(len, threads)) if self.smt else 1
        return tuple(cpus[turn] for turn in range(deepest) for cpus in threads if turn < len(cpus))

    @cached_property
    def sockets(self) -> tuple[CpuSet, ...]:
        """All CPUs of each real socket."""
        return find_sockets(self.machine, self.whole)[0]

    @cached_property
    def homes(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes that have CPUs of their own, by number; of several with the same CPUs the first."""
        nodes = sorted(self.inside.cpu_nodes, key=lambda node: node.os_index)
        first = {node.cpuset: node for node in reversed(nodes)}
        return tuple(node for node in nodes if first[node.cpuset] is node)

    @cached_property
    def memories(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes that have memory, by number; memory of a GPU is left to it."""
        nodes = (node for node in self.inside.nodes if node.memory != 0 and node.kind != "gpu")
        return tuple(sorted(nodes, key=lambda node: node.os_index))

    def on(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the CPUs that run threads on some CPUs."""
        return tuple(cpu for cpu in self.order if cpu in cpus)

    def pieces(self, part: Part) -> tuple[CoreGroup, ...]:
        """Return the parts of one kind that have a CPU to run on."""
        parts: dict[Part, Iterable[tuple[int | None, CpuSet]]] = {
            "core": ((cpu, CpuSet([cpu])) for cpu in self.order),
            "l3": self.groups,
            "numa": ((node.os_index, node.cpuset) for node in self.homes),
            "socket": enumerate(self.sockets),
        }
        found = (CoreGroup(part, index, self.on(cpus)) for index, cpus in parts.get(part, [(None, self.usable)]))
        return tuple(piece for piece in found if piece.cpus)

    @cached_property
    def groups(self) -> tuple[tuple[int, CpuSet], ...]:
        """The L3 groups by their position, in the order of space."""
        found = [(index, l3.cpuset) for index, l3 in enumerate(self.whole.l3) if self.on(l3.cpuset)]
        return tuple(sorted(found, key=lambda each: self.order.index(self.on(each[1])[0])))

    def one_of_each_group(self, cpus: Iterable[int], count: int = 1) -> tuple[int, ...]:
        """Return the first CPUs of each L3 group among some CPUs."""
        wanted, inside = CpuSet(cpus), [group for _, group in self.groups]
        chosen = union(CpuSet(self.on(group & wanted)[:count]) for group in inside)
        return self.on(chosen)

    def groups_of(self, cpus: Iterable[int]) -> int | None:
        """Return how many L3 groups some CPUs are in; None where the machine shows none."""
        mine = CpuSet(cpus)
        return sum(1 for group in self.whole.l3 if group.cpuset & mine) or None

    def reached_l3(self, cpus: Iterable[int]) -> int | None:
        """Return the bytes of L3 that some CPUs can keep data in; None where a size is not known."""
        mine = CpuSet(cpus)
        sizes = [group.size for group in self.whole.l3 if group.cpuset & mine]
        known = [size for size in sizes if size is not None]
        return sum(known) if sizes and len(known) == len(sizes) else None

    def memory_of(self, cpus: Iterable[int]) -> Memory:
        """Return where the memory of some CPUs comes from when it is as near as can be."""
        if not self.whole.numa_known or not self.memories:
            return Memory(None, None)
        nearest = {self.nearest(cpu) for cpu in cpus}
        if len(nearest) == 1:
            return self.towards(cpus, nearest.pop())
        return Memory(None, "spread")

    def nearest(self, cpu: int) -> int:
        """Return the node whose memory is nearest to a CPU: its own, or where that has none the next; programs get DRAM first."""

        def far(node: NumaNode) -> tuple[bool, bool, int, bool, int]:
            away = self._between(cpu, node.os_index) or 255
            return cpu not in node.cpuset, not self._together(cpu, node), away, node.kind not in (None, "dram"), node.os_index

        return min(self.memories, key=far).os_index

    def _together(self, cpu: int, node: NumaNode) -> bool:
        """Return whether a node's memory belongs to the socket of a CPU; one that spans sockets belongs to all of them."""
        return any(cpu in socket and bool(socket & (node.near or node.cpuset)) for socket in self.sockets)

    def _between(self, cpu: int, node: int) -> int | None:
        home = next((home.os_index for home in self.inside.cpu_nodes if cpu in home.cpuset), None)
        table = self.whole.distances
        return table.between(home, node) if table is not None and home is not None else None

    def towards(self, cpus: Iterable[int], node: int) -> Memory:
        """Return the memory of one node as some CPUs see it."""
        there = next(each for each in self.memories if each.os_index == node)
        first = next(iter(cpus))
        near = there.near or there.cpuset
        kind: Distance = "local" if first in near else "same-socket" if self._together(first, there) else "other-socket"
        return Memory(node, kind, self._between(first, node))


MIB = 1 << 20
TIMES_L3 = 4
"""STREAM's rule: arrays of at least four times the last level cache in all."""
_LEAST = 256 * MIB
_EACH = 16 * MIB
"""For each thread: what one walks through must last longer than the start of all of them."""
_UNKNOWN_L3 = 256 * MIB
"""What is taken for an L3 whose size is not known: the largest of one group is 96 MiB, of a socket 576 MiB."""
_SHARE = 0.5
"""Of the free memory of a node; the rest stays with the page cache and with whoever else is there."""
_INSTALLED = 0.9
"""Of a node's memory, which is all that is known of a machine elsewhere: the rest is its system's."""


class Sizes:
    """The working sets of one machine; ``free`` are bytes by node, as they are now."""

    def __init__(self, ground: Resources, free: Mapping[int, int] | None = None) -> None:
        installed = {node.os_index: int(node.memory * _INSTALLED) for node in ground.memories if node.memory is not None}
        self.ground, self.free = ground, installed if free is None else free

    def wanted(self, cpus: Iterable[int], times: float = 1.0) -> int:
        """Return the bytes that make a task on some CPUs one of memory."""
        threads = tuple(cpus)
        l3 = self.ground.reached_l3(threads)
        size = max(times * TIMES_L3 * (_UNKNOWN_L3 if l3 is None else l3), _LEAST, _EACH * len(threads))
        return ceil(size / MIB) * MIB

    def room(self, cpus: Iterable[int], node: int | None) -> int | None:
        """Return the bytes that may be taken for a task; None where that is not known."""
        threads = tuple(cpus)
        if node is not None:
            free = self.free.get(node)
            return None if free is None else int(free * _SHARE)
        if not self.ground.memories:
            return None
        homes = [self.ground.nearest(cpu) for cpu in threads]
        known = [(self.free.get(home), homes.count(home)) for home in set(homes)]
        rooms = [free * _SHARE * len(threads) / here for free, here in known if free is not None]
        return int(min(rooms)) if len(rooms) == len(known) else None

    def working_set(self, cpus: Iterable[int], node: int | None, times: float = 1.0) -> int:
        """Return the bytes of a task, so many times what one array needs; 0 where there is not room for enough of them."""
        threads = tuple(cpus)
        wanted, room = self.wanted(threads, times), self.room(threads, node)
        if room is None or wanted <= room:
            return wanted
        l3 = self.ground.reached_l3(threads) or 0
        return room // MIB * MIB if room >= max(2 * times * l3, 64 * MIB) else 0


def free_now(texts: Mapping[int, str | None]) -> dict[int, int]:
    """Return the free bytes of each node from its meminfo, of lines ``Node 0 MemFree: 123 kB``; clean file pages make room."""
    found = {}
    for node, text in texts.items():
        amounts: dict[str, int] = {}
        for line in (text or "").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            if words and words[0].isascii() and words[0].isdecimal() and len(words[0]) < 16:
                amounts[name.split()[-1] if name.split() else ""] = int(words[0]) * 1024
        if "MemFree" in amounts:
            found[node] = amounts["MemFree"] + amounts.get("FilePages", 0) - amounts.get("Shmem", 0)
    return found


def of_node(ground: Resources, cpus: Iterable[int]) -> CpuSet:
    """Return the nodes on which the pages of some CPUs lie when each touches its own first."""
    return CpuSet(ground.nearest(cpu) for cpu in cpus) if ground.memories else CpuSet()


_ALIKE = 0.1
"""Nodes of a socket whose memory differs by more than this have not the same channels."""
_TOLERANCE = 1.02
"""Clocks of boards and of memory are set a little high, and a timer ticks."""
_FLOPS = 1.05
"""The clock is measured in slices of the same run, not over all of it."""
_CACHED = 2
"""A working set below so many times the L3 may be answered by it for the most part."""


def memory_ceiling(ground: Resources, node: int) -> float | None:
    """Return the bytes a second of a node's channels; None where they are not known."""
    there = next((each for each in ground.whole.nodes if each.os_index == node), None)
    if there is None or there.kind not in (None, "dram"):
        return None
    sockets = [at for at, cpus in enumerate(ground.sockets) if cpus & (there.cpuset or there.near)]
    memory = ground.machine.memory
    known = {
        each.socket: float(each.bandwidth) for each in (memory.sockets if memory else None) or () if each.bandwidth is not None
    }
    if not sockets or not all(socket in known for socket in sockets):
        return None
    # Channels are shared out evenly among alike nodes; else one of them may have all, so that the ceiling holds.
    cpus = CpuSet(cpu for at in sockets for cpu in ground.sockets[at])
    plain = [each for each in ground.whole.nodes if each.kind in (None, "dram") and (each.cpuset or each.near) & cpus]
    sizes = [each.memory or 0 for each in plain]
    even = there in plain and all(sizes) and max(sizes) - min(sizes) <= _ALIKE * max(sizes)
    return sum(known[socket] for socket in sockets) / (len(plain) if even else 1)


def bandwidth_ceiling(ground: Resources, cpus: Iterable[int], node: int | None) -> float | None:
    """Return the bytes a second of all channels that a task can draw on."""
    nodes = CpuSet([node]) if node is not None else of_node(ground, cpus)
    peaks = [memory_ceiling(ground, each) for each in nodes]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known and len(known) == len(peaks) else None


def _bounded(result: Result, ground: Resources, platform: Platform | None, clocks: Mapping[tuple[int, ...], float]) -> Result:
    """Return a result with its ceiling, refused where it is above: the instrument is wrong, or the facts are."""
    ceiling, room = None, _FLOPS
    if result.unit == "flop/s":
        each_cycle, clock = platform.flops_per_cycle if platform else None, clocks.get(result.cpus)
        ceiling = len(result.cpus) * each_cycle * clock if each_cycle is not None and clock is not None else None
    elif result.unit == "bytes/s" and result.purpose != "kernel":
        l3, size = ground.reached_l3(result.cpus), result.bytes
        if l3 is None or size is None or size < _CACHED * l3:  # too small for the L3 not to answer most of it
            return result
        room = _TOLERANCE / (1 - l3 / size)  # how far above the ceiling the L3 can carry it by what stays in it
        ceiling = bandwidth_ceiling(ground, result.cpus, result.memory)
        if ceiling is None:  # nobody read the DIMMs: no memory that its processors take may carry less
            nodes = [result.memory] if result.memory is not None else of_node(ground, result.cpus)
            bound = of_nodes(ground.machine, platform, nodes)
            if bound is None or result.median <= bound.value * room:
                return result
            rates = f"{throughput(result.median)}, but {bound.because} carry at most {throughput(bound.value)}"
            return result.but(refused=result.refused or f"above the ceiling: {rates}")
    if ceiling is None:
        return result
    above = result.median > ceiling * room
    why = f"instrument error: {result.median / ceiling:.2f} times what the hardware can deliver" if above else None
    return result.but(ceiling=ceiling, refused=result.refused or why)


_ASTRAY = 0.01
"""Of a result's pages; a handful may lie elsewhere, such as those of the heap."""


def checked_results(results: Iterable[Result], ground: Resources, platform: Platform | None = None) -> tuple[Result, ...]:
    """Return results with their ceilings; those that are not believed say why."""
    found = tuple(results)
    clocks = {result.cpus: result.best for result in found if result.unit == "hertz"}
    clocks |= {r.cpus: clock for r in found if r.unit == "flop/s" and (clock := reported_number(r, "clock")) is not None}
    return tuple(_bounded(_placed(result, ground), ground, platform, clocks) for result in found)


def _placed(result: Result, ground: Resources) -> Result:
    """Return a result, refused where its pages lay on other nodes than they were to: its own, or those of first touch."""
    touched = of_node(ground, result.cpus) if result.distance is not None else CpuSet()
    wanted = CpuSet([result.memory]) if result.memory is not None else touched
    pages = result.pages
    if not pages or not wanted or result.refused:
        return result
    elsewhere = {node: count for node, count in pages.items() if node not in wanted}
    astray = sum(elsewhere.values()) / max(1, sum(pages.values()))
    if astray <= _ASTRAY:
        return result
    why = f"{astray:.0%} of the pages were on node {CpuSet(elsewhere)}, not on {wanted}"
    return result.but(refused=why)


START_SECONDS = 0.15
"""Seconds: starting the program, its threads, reading its memory's place."""
_TOUCH = 1.2e9
"""Bytes a second that one core takes from the kernel for the first time: clearing pages of 4 KiB."""
_TOUCH_ALL = 25e9
"""What the kernel's locks let all cores of a machine take together."""
_CORE = 10e9
"""Bytes a second of one core; between 8 (large Xeons) and 40 (Zen 4)."""
_NODE = 25e9
"""Bytes a second of a NUMA node of which nothing is known."""
_OF_PEAK = 0.6
_REMOTE = 0.35
"""What is left of the bandwidth on the other socket, published for EPYC 7601."""


def first_touch_seconds(size: int, threads: int) -> float:
    """Return the seconds in which some threads get their memory from the kernel."""
    return size / min(_TOUCH * threads, _TOUCH_ALL)


def pass_seconds(ground: Resources, cpus: Sequence[int], node: int | None, size: int) -> float:
    """Return the seconds of one pass over a working set, at the bandwidth that may be expected at least."""
    nodes = {node} if node is not None else {ground.nearest(cpu) for cpu in cpus} if ground.memories else set()
    peaks = [memory_ceiling(ground, each) for each in nodes]
    rates = [_NODE if peak is None else peak * _OF_PEAK for peak in peaks] or [_NODE]
    far = node is not None and ground.towards(cpus, node).distance == "other-socket"
    return size / (min(_CORE * len(cpus), sum(rates)) * (_REMOTE if far else 1.0))
