"""A node as slurmd finds it with hwloc: boards, sockets, cores, threads, and Slurm's own numbers of the cores.

Slurm numbers cores socket by socket (gres.conf calls that logical, slurmd's log abstract), not as the kernel numbers CPUs.
Written from what slurmd 22.05.8 prints on simulated nodes (tests/render/exports/slurmd.txt), and from its source, xcpuinfo.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.numbering import LogicalNumbering, distance_groups, logical_numbering
from advisor.machine.topology import L3, Core, Die, Package, Topology

SocketsAre = Literal["sockets", "l3", "numa"]
"""What slurmd takes for a socket: SlurmdParameters=l3cache_as_socket or numa_node_as_socket make it another."""

PARAMETERS: Final[dict[str, SocketsAre]] = {"l3cache_as_socket": "l3", "numa_node_as_socket": "numa"}
"""The words of SlurmdParameters."""


@dataclass(frozen=True)
class FoundNode:
    """What ``slurmd -C`` prints of a node."""

    cpus: int
    boards: int
    sockets: int
    """Of all boards."""
    cores: int
    """Of a socket, rounded down where sockets differ."""
    threads: int
    order: tuple[CpuSet, ...]
    """The CPUs of each core by Slurm's number."""
    alike: bool
    """Whether sockets have as many cores as each other, and cores as many threads."""

    @property
    def per_board(self) -> int:
        """Sockets of a board."""
        return self.sockets // self.boards

    @property
    def described(self) -> int:
        """CPUs that a definition of these numbers has."""
        return self.boards * self.per_board * self.cores * self.threads

    @property
    def even(self) -> bool:
        """Whether the numbers describe every CPU."""
        return 0 < self.cpus == self.described

    def numbers(self, cpus: CpuSet) -> CpuSet:
        """Return Slurm's numbers of the cores that some CPUs are on."""
        return CpuSet(number for number, core in enumerate(self.order) if core & cpus)

    def whole_sockets(self, cores: CpuSet) -> bool:
        """Return whether some cores, by Slurm's numbers, are whole sockets."""
        firsts = range(0, self.sockets * self.cores, max(1, self.cores))
        sockets = (CpuSet(range(first, first + self.cores)) for first in firsts)
        return union(socket for socket in sockets if socket & cores) == cores


def found_by_slurmd(topology: Topology, sockets_are: SocketsAre = "sockets") -> FoundNode | None:
    """Return what slurmd finds on a machine, that which a cgroup hides too; None where no such sockets are known."""
    whole = _whole(topology)
    known = logical_numbering(whole)
    cores = frozenset(core.cpuset for core in whole.cores if core.cpuset)
    parts = _sockets(whole, sockets_are)
    if parts is None:
        return None
    sockets = _in_order([part for part in parts if any(core <= part for core in cores)], known)
    inside = [[core for core in known.cores if core in cores and core <= part] for part in sockets or (whole.pus,)]
    count, total = len(sockets) or len(parts) or 1, max(1, len(cores))
    return FoundNode(
        cpus=len(whole.pus),
        boards=_boards(whole),
        sockets=count,
        cores=total // count,
        threads=len(whole.pus) // total,
        order=tuple(core for socket in inside for core in socket),
        alike=len({len(socket) for socket in inside}) == 1 == len({len(core) for core in cores}),
    )


def _whole(topology: Topology) -> Topology:
    """Return a machine as slurmd asks hwloc for it: with what is disallowed too, and without the caches of level 2."""
    nodes = CpuSet(node.os_index for node in topology.nodes)
    return topology.model_copy(update={"allowed": topology.pus, "allowed_nodes": nodes, "shared_l2": ()})


def _sockets(topology: Topology, sockets_are: SocketsAre) -> Sequence[CpuSet] | None:
    if sockets_are == "sockets":
        return [package.cpuset for package in topology.packages]
    if sockets_are == "l3":
        return [cache.cpuset for cache in topology.l3] or None
    return _of_numa_nodes(topology)


def _of_numa_nodes(topology: Topology) -> Sequence[CpuSet] | None:
    """Return what slurmd takes for sockets: all objects of the kind that the first NUMA node hangs off in hwloc's tree.

    None where nodes hang off several kinds, or there are more of the kind than nodes: what it counts then is not worked out.
    """
    near = {node.near for node in topology.nodes}
    if len(topology.nodes) == 1 and near == {topology.pus}:  # it hangs off the machine, however many sockets that has
        return [topology.pus]
    if union(near) != topology.pus or not all(node.cpuset for node in topology.nodes):
        return None
    packages, dies = {part.cpuset for part in topology.packages}, {part.cpuset for part in topology.dies}
    caches, groups = {part.cpuset for part in topology.l3}, set(groups_of_nodes(topology))
    kind = next((kind for kind in (packages, dies, caches, groups) if kind & near), None)
    return tuple(near) if kind == near else None


def groups_of_nodes(topology: Topology) -> frozenset[CpuSet]:
    """Return the CPUs of the groups that hwloc's tree has for NUMA nodes that are no socket, die, L3 or core."""
    named = set(_named(topology))
    near = [node.near for node in topology.nodes if node.near]
    return frozenset(part for part in (*near, *distance_groups(topology)) if part not in named and part != topology.pus)


def _named(topology: Topology) -> list[CpuSet]:
    """Return the CPUs of every socket, die, L3 and core."""
    parts: Sequence[Package | Die | L3 | Core] = (*topology.packages, *topology.dies, *topology.l3, *topology.cores)
    return [part.cpuset for part in parts]


def _in_order(parts: Sequence[CpuSet], known: LogicalNumbering) -> Sequence[CpuSet]:
    return sorted(parts, key=lambda part: min((known.pu_of[cpu] for cpu in part if cpu in known.pu_of), default=0))


def _boards(topology: Topology) -> int:
    """Return how many groups of sockets hwloc's tree begins with: NUMA nodes of several sockets, or nodes close to each other."""
    every, groups = topology.pus, groups_of_nodes(topology)
    named = _named(topology)
    beside = [part for part in (*groups, *named) if every and every.first in part]
    if not groups or every in named or not beside or max(beside, key=len) not in groups:
        return 1
    return sum(not any(group != other and group <= other for other in groups) for group in groups)
