"""A machine in the levels that Intel MPI goes by, and how it divides them among ranks: observed of 2021.18."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from advisor.launch.lint.outcome import Unclear
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import distance_groups, logical_numbering, ordered
from advisor.model.hardware.topology import Topology

LEVELS = ("socket", "numa", "cache3", "cache2", "core", "pu")
"""What Intel MPI divides a machine by, the largest first."""

Pins = Mapping[str, str]
Given = tuple[CpuSet | None, ...]


@dataclass(frozen=True)
class Tree:
    """A machine in the levels that Intel MPI goes by: sockets, NUMA nodes, L3 groups, shared L2, cores, hardware threads."""

    topology: Topology
    clusters: bool = False
    """Whether hwloc may show clusters of cores: its Groups, which are not kept."""

    @cached_property
    def partial(self) -> bool:
        """Whether some CPUs of the machine are off or hidden: ranks then follow each other, whatever order is asked for."""
        return bool(self.topology.missing) or self.topology.inside.pus != self.topology.pus

    @cached_property
    def _levels(self) -> dict[str, tuple[CpuSet, ...]]:
        return {}

    def level(self, kind: str) -> tuple[CpuSet, ...]:
        """Return the CPUs of everything of a kind, in hwloc's order; NUMA nodes of memory alone have those near them."""
        if kind not in self._levels:
            self._levels[kind] = self._level(kind)
        return self._levels[kind]

    def _level(self, kind: str) -> tuple[CpuSet, ...]:
        known, inside = logical_numbering(self.topology), self.topology.inside
        if kind == "pu":
            return tuple(CpuSet([cpu]) for cpu in known.pus)
        if kind == "core":
            return known.cores
        if kind == "numa":
            return self._nodes()
        if kind == "cache2":
            return self._second(known.cores)
        parts = {"socket": [part.cpuset for part in inside.packages], "cache3": [part.cpuset for part in inside.l3]}
        return self._whole(kind, ordered(parts[kind], known))

    def _second(self, cores: Sequence[CpuSet]) -> tuple[CpuSet, ...]:
        """Return the L2 caches where some are shared; others are a core's own."""
        shared = [part.cpuset for part in self.topology.inside.shared_l2]
        covered = union(shared)
        if not shared or any(core & covered and not core <= covered for core in cores):
            return ()
        own = (core for core in cores if not core <= covered)
        return self._whole("cache2", ordered((*shared, *own), logical_numbering(self.topology)))

    def _whole(self, kind: str, found: tuple[CpuSet, ...]) -> tuple[CpuSet, ...]:
        inside = self.topology.inside
        if found and (union(found) != inside.pus or sum(map(len, found)) != len(inside.pus)):
            raise Unclear(f"this machine's parts of the kind {kind} do not hold every CPU once")
        return found

    def _nodes(self) -> tuple[CpuSet, ...]:
        known, inside = logical_numbering(self.topology), self.topology.inside
        if any(not node.near for node in inside.nodes) and not self.partial:
            raise Unclear("some NUMA node is near no CPU, and what Intel MPI makes of it was not seen often")
        own = self._whole("numa", ordered(dict.fromkeys(node.near for node in inside.cpu_nodes), known))
        near = Counter(node.near for node in inside.nodes if node.near)
        if near.keys() - {*own}:
            raise Unclear("some NUMA node of memory alone is near other CPUs than those of one node: that was not seen often")
        return tuple(cpus for node in own for cpus in (node,) * near[node])

    def readable(self) -> None:
        """Raise Unclear of machines on which Intel MPI was seen to fail, or to divide otherwise."""
        inside, sockets = self.topology.inside, self.level("socket")
        if not sockets:
            raise Unclear("how Intel MPI divides a machine without sockets, was not seen often")
        if self.partial and any(not any(node <= socket for socket in sockets) for node in self.level("numa")):
            raise Unclear("CPUs are hidden or off, and a NUMA node lies in several sockets: that was not seen often")
        if any(part.cpuset < core.cpuset for part in inside.shared_l2 for core in inside.cores):
            raise Unclear("some cores of this machine have several L2 caches, and how Intel MPI divides them was not seen often")

    def even(self, kinds: Sequence[str]) -> None:
        """Raise Unclear where parts of one kind have different numbers of CPUs, or lie across others."""
        for kind in kinds:
            if len({len(part) for part in self.level(kind)}) > 1:
                raise Unclear(f"the {kind}s of this machine are not alike, and how Intel MPI divides them was not seen")

    def sockets(self) -> tuple[CpuSet, ...]:
        """Return the sockets among which ranks are divided: the machine where it shows none, or only a part of itself."""
        return (self.topology.inside.pus,) if self.partial else self.level("socket") or (self.topology.inside.pus,)

    def enough(self, count: int, kinds: Sequence[str] = LEVELS) -> str:
        """Return the kind of the largest parts of which there are enough."""
        return next(kind for kind in kinds if len(self.level(kind)) >= count)

    def below_nodes(self, count: int) -> tuple[str, ...]:
        """Return L3 groups and shared L2 where ranks are more than NUMA nodes: only then is a node divided by them."""
        return ("cache3", "cache2") if count > len(self.level("numa")) else ()

    def split(self, count: int, *, flat: bool) -> list[CpuSet]:
        """Return the machine divided among some ranks, by the largest parts of which there are enough.

        Each socket has its share of the ranks, unless all is to be flat; of its parts the first ranks get one more.
        """
        whole = self.topology.inside.pus
        if flat or count == 1 or self.partial:
            return self._part(whole, count, self.enough(count))
        sockets, kind = self.sockets(), self.enough(count)
        if count < len(sockets):
            return [union(group) for group in groups(sockets, count)]
        if count == len(self.level(kind)):
            return list(self.level(kind))
        small = count > len(self.level("numa"))
        dealt = self.homes(count, len(self.level(kind))) if small else _shared(sockets, count)
        return [mine for home, share in dealt for mine in self._part(home, share, kind)]

    def homes(self, count: int, parts: int) -> list[tuple[CpuSet, int]]:
        """Return the sockets with their shares of some ranks, or NUMA nodes with theirs.

        These where the ranks are a multiple of all nodes, or more than a socket's parts. A socket is taken to have the next nodes
        of all, as many as each has on average: with unlike numbers of nodes that are another's (2021.18, observed).
        """
        sockets, nodes = self.sockets(), self.level("numa")
        each = 0 if self.partial else len(nodes) // len(sockets)
        if not each or not (each == 1 or count % (each * len(sockets)) == 0 or count * len(sockets) > parts):
            return _shared(sockets, count)
        within = [nodes[position * each : (position + 1) * each] for position in range(len(sockets))]
        dealt = zip(within, shares(count, len(sockets)), strict=True)
        return [pair for inside, share in dealt for pair in _shared(inside, share)]

    def spread(self, count: int) -> list[list[CpuSet]]:
        """Return the part of the machine of each rank, by sockets, as scatter and spread keep ranks apart.

        Level by level, rank i of k begins with the thing that has the hardware thread i * m // k of m: of its socket, its NUMA
        node, its L3 group, its L2.
        """
        self.even(("socket", "numa"))
        self._grouped(count)
        sockets = self.sockets()
        levels = tuple(tuple(dict.fromkeys(self.level(kind))) for kind in LEVELS[1:])
        if count < len(sockets):
            return [[part] for part in self._apart(sockets, count, (sockets,))]
        return [self._apart([socket], ranks, levels) for socket, ranks in self._dealt(sockets, count)]

    def _grouped(self, count: int) -> None:
        """Raise Unclear where hwloc may show groups between these levels: by distances, or clusters of cores (not on x86)."""
        known = {cpus for kind in LEVELS for cpus in self.level(kind)} | {self.topology.inside.pus}
        if any(cpus not in known for cpus in distance_groups(self.topology.inside)):
            raise Unclear("hwloc groups NUMA nodes of this machine, and how ranks are kept apart in groups, was not seen often")
        most = max(len(self.level(kind)) for kind in ("numa", "cache3", "cache2"))
        if self.clusters and most < count < len(self.level("core")):
            raise Unclear("whether hwloc shows clusters of cores on this machine, where ranks are kept apart, is not kept")

    def _dealt(self, things: Sequence[CpuSet], count: int) -> Iterator[tuple[CpuSet, int]]:
        """Yield each thing that has ranks, and how many."""
        taken = self._begun(things, count)
        yield from ((thing, taken.count(position)) for position, thing in enumerate(things) if position in taken)

    def _begun(self, things: Sequence[CpuSet], count: int) -> list[int]:
        """Return the position of the thing that each rank begins with."""
        ends = list(accumulate(map(len, things)))
        return [bisect_right(ends, rank * ends[-1] // count) for rank in range(count)]

    def _apart(self, home: Sequence[CpuSet], count: int, levels: Sequence[Sequence[CpuSet]]) -> list[CpuSet]:
        """Return the parts of some neighbouring things that ranks kept apart have."""
        whole = union(home)
        if count == 1:
            return [whole]
        if not levels:
            raise Unclear("a core has several ranks, and what Intel MPI does then was not seen")
        things = [thing for thing in levels[0] if thing <= whole]
        if union(things) != whole:
            return self._apart(home, count, levels[1:])
        edges = [*self._begun(things, count), len(things)]
        if len(set(edges)) == len(edges):
            return [union(things[first:last]) for first, last in pairwise(edges)]
        return [part for thing, ranks in self._dealt(things, count) for part in self._apart([thing], ranks, levels[1:])]

    def _part(self, socket: CpuSet, ranks: int, kind: str) -> list[CpuSet]:
        parts = [part for part in self.level(kind) if part <= socket]
        if ranks <= 1 or len(parts) == ranks:
            return ([socket] if ranks == 1 else parts)[:ranks]
        if len(parts) < ranks:
            raise Unclear("a socket has fewer parts than ranks, and what Intel MPI does then was not seen")
        return [union(group) for group in groups(parts, ranks)]


def shares(total: int, count: int) -> list[int]:
    """Return a number divided evenly, the first shares larger."""
    return [total // count + (position < total % count) for position in range(count)]


def _shared(homes: Sequence[CpuSet], ranks: int) -> list[tuple[CpuSet, int]]:
    """Return parts of the machine with their shares of some ranks."""
    return list(zip(homes, shares(ranks, len(homes)), strict=True))


def groups(parts: Sequence[CpuSet], count: int) -> Iterator[list[CpuSet]]:
    """Yield neighbouring parts together, in so many groups of which the first are larger."""
    at = 0
    for size in shares(len(parts), count):
        yield list(parts[at : at + size])
        at += size
