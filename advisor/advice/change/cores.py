"""Where every core is, whatever its CPUs are numbered; which order the numbers follow now, and which they have after a change."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from advisor.errors import BadValue, CannotWork
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.hardware import Cpu
from advisor.machine.layout import Assumption, infer_numbering
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets, has_smt, scheme
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import Topology

Cores = frozenset[int]
"""Positions of cores in Topology.cores."""

Order = Literal["linear", "over packages", "over nodes", "over dies"]

_LAST: Final = LIMIT
"""Where what has no number is sorted."""
_TWO: Final = 2
_GROUPS_OF_A_DIE: Final = 2
"""L3 groups of a die of EPYC 7001."""
_ORDERS: Final[dict[Scheme, tuple[Order, ...]]] = {
    Scheme.NPS: ("linear", "over nodes", "over packages", "over dies"),
    Scheme.DIES: ("linear", "over dies", "over nodes", "over packages"),
}
"""The orders seen on each generation, in the order in which they are tried; the second is what its round-robin is taken for."""
_USUAL: Final[tuple[Order, ...]] = ("linear", "over packages", "over nodes", "over dies")


@dataclass(frozen=True)
class CorePosition:
    """One core's place, each counted from 0 inside the one before."""

    core: int
    socket: int
    index: int
    """Position in the socket."""
    group: int
    """L3 group in the socket; 0 where none is shown."""
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
            why = f"{what} {hidden} are offline or hidden, so what the firmware would do is not known"
            raise CannotWork(f"{why}; capture all of it")
        if topology.pus != CpuSet.span(0, len(topology.pus) - 1):
            raise CannotWork("the CPU numbers have holes, so part of the machine may be hidden; capture all of it")


def core_map(machine: Machine) -> CoreMap:
    """Return where the cores of a machine sit; raise where the input does not say which CPUs are a core."""
    topology = machine.topology
    if topology is None or not topology.pus or not topology.packages:
        raise CannotWork("this input shows no CPUs in sockets; take a capture on the machine itself: advisor capture")
    if union(core.cpuset for core in topology.cores) != topology.pus:
        raise CannotWork("this input does not say which CPUs make a core; take a capture on the machine: advisor capture")

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
        raise CannotWork("cores differ in their number of threads, so their new numbering is not known")
    notes = [("topology.numbering", why)] if why else []
    if threads == _TWO:
        notes.append(("topology.cores", "second threads are numbered after all first ones, as most firmware lists them"))
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
        return then.sorted(orders[1]), f"a round-robin {orders[1]}, as servers with such processors show it"
    if nodes and follows == "over nodes" and kind is Scheme.NPS:
        return then.sorted(follows), "the round-robin goes over the new nodes"
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
