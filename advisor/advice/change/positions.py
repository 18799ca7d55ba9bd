"""Where every core is, whatever its CPUs are numbered: socket, NUMA node, L3 group, position in the group."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from advisor.errors import CannotWork
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import Topology

Cores = frozenset[int]
"""Positions of cores in Topology.cores."""


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
        """The seats of all sockets."""
        return tuple(seat for socket in self.sockets for seat in socket)

    @cached_property
    def _core_of(self) -> dict[int, int]:
        return {cpu: position for position, core in enumerate(self.topology.cores) for cpu in core.cpuset}

    def cores_in(self, cpus: CpuSet) -> Cores:
        """Return the cores that have a CPU in a set."""
        return frozenset(self._core_of[cpu] for cpu in cpus if cpu in self._core_of)

    @cached_property
    def nodes(self) -> dict[int, Cores]:
        """The cores of each NUMA node that has CPUs."""
        return {node.os_index: self.cores_in(node.cpuset) for node in self.topology.cpu_nodes}

    def groups(self, socket: int) -> tuple[Cores, ...]:
        """Return the L3 groups of a socket in order."""
        return _split(self.sockets[socket], lambda seat: seat.group)

    def parts(self, socket: int) -> tuple[Cores, ...]:
        """Return the present NUMA nodes of a socket in the order of their numbers; the socket where one spans several."""
        own = frozenset(seat.core for seat in self.sockets[socket])
        found = tuple(cores for _, cores in sorted(self.nodes.items()) if cores & own)
        return found if all(cores <= own for cores in found) else (own,)


def core_map(machine: Machine) -> CoreMap:
    """Return where the cores of a machine sit; raise where the input does not say which CPUs are a core."""
    topology = machine.topology
    if topology is None or not topology.pus or not topology.packages:
        raise CannotWork("this input shows no CPUs in sockets; take a capture on the machine itself: advisor capture")
    if union(core.cpuset for core in topology.cores) != topology.pus:
        raise CannotWork("this input does not say which CPUs make a core; take a capture on the machine: advisor capture")
    found = sorted(find_sockets(machine, topology)[0], key=lambda cpus: _place(topology, cpus))
    if union(found) != topology.pus:
        raise CannotWork("some CPUs belong to no socket in this input; take a capture on the machine: advisor capture")
    return CoreMap(topology, tuple(_socket(topology, number, cpus) for number, cpus in enumerate(found)))


_LAST = LIMIT
"""Where what has no number is sorted."""


def _place(topology: Topology, cpus: CpuSet) -> tuple[int, int]:
    """Return what sockets are sorted by: the first of their NUMA nodes, else their first CPU."""
    own = [node.os_index for node in topology.cpu_nodes if node.cpuset <= cpus]
    return min(own, default=_LAST), cpus.first or 0


def _socket(topology: Topology, number: int, cpus: CpuSet) -> tuple[CorePosition, ...]:
    """Return the seats of one socket; its L3 groups are ordered by NUMA node, then by the numbers of their cores."""
    ranks = _ranks(topology, cpus)
    node_of = {cpu: node.os_index for node in topology.cpu_nodes for cpu in node.cpuset & cpus}
    caches = [frozenset(core for core in ranks if _in(topology, core, l3.cpuset)) for l3 in topology.l3]
    caches = [cores for cores in caches if cores] or [frozenset(ranks)]
    caches += [frozenset((core,)) for core in ranks if not any(core in cores for cores in caches)]

    def order(cores: Cores) -> tuple[int, tuple[int, int]]:
        nodes = (node_of.get(topology.cores[core].cpuset.first or 0, _LAST) for core in cores)
        return min(nodes), min(ranks[core] for core in cores)

    seats: list[CorePosition] = []
    for group, cores in enumerate(sorted(caches, key=order)):
        for place, core in enumerate(sorted(cores, key=ranks.__getitem__)):
            seats.append(CorePosition(core, number, len(seats), group, place))
    return tuple(seats)


def _in(topology: Topology, core: int, cpus: CpuSet) -> bool:
    return bool(topology.cores[core].cpuset & cpus)


def _ranks(topology: Topology, cpus: CpuSet) -> dict[int, tuple[int, int]]:
    """Return what each core of a socket is sorted by: the kernel's number of it, or its first CPU where those do not tell."""
    cores = [position for position, core in enumerate(topology.cores) if core.cpuset & cpus]
    packages = [package for package in topology.packages if package.cpuset & cpus]
    ranks: dict[int, tuple[int, int]] = {}
    for position in cores:
        core = topology.cores[position]
        package = next((at for at, each in enumerate(packages) if core.cpuset & each.cpuset), 0)
        number = packages[package].os_index if packages else None
        if core.os_index is not None:
            ranks[position] = (package if number is None else number, core.os_index)
    if len(set(ranks.values())) == len(cores):
        return ranks
    return {position: (0, topology.cores[position].cpuset.first or 0) for position in cores}


def _split(seats: Iterable[CorePosition], by: Callable[[CorePosition], int]) -> tuple[Cores, ...]:
    found: dict[int, set[int]] = defaultdict(set)
    for seat in seats:
        found[by(seat)].add(seat.core)
    return tuple(frozenset(cores) for _, cores in sorted(found.items()))
