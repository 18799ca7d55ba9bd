"""What Intel MPI's I_MPI_PIN variables make of a machine: levels, domains, lists of processors, masks. Observed of 2021.18."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, zip_longest

from advisor.errors import BadValue
from advisor.jobs.request import Refused, Unclear
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.numbering import distance_groups, logical_numbering, ordered
from advisor.machine.topology import Topology

MASKS = 112
"""Masks that a list may hold: 2021.18 writes past an array from 115 on and dies ("stack smashing detected", observed)."""


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


_AUTO = frozenset({"", "auto", "cache"})
"""``cache`` is what it chooses itself (2021.18, observed)."""


_CACHES = ("cache1", "cache2", "cache3")


_LAID_OUT = frozenset({"core", "numa", "socket", "sock", "omp", "auto", "node", "cache", "cache1", "cache2", "cache3"})


_LAYOUTS = {"platform": "bunch", "bunch": "bunch", "compact": "compact", "scatter": "scatter", "spread": "spread"}


APART = frozenset({"scatter", "spread"})
"""Orders that keep ranks apart."""


def laid_out(domain: str, order: str) -> tuple[str, str]:
    """Return a domain without its layout, and the order that this is whatever I_MPI_PIN_ORDER says.

    Of the name of a thing before a layout nothing is read: such a domain is what Intel MPI chooses itself (2021.18, observed).
    A number stays one, with a colon behind it: what it counts then is not hardware threads.
    """
    domain, colon, layout = domain.partition(":")
    if not colon:
        return domain, order
    if layout not in _LAYOUTS or not (domain in _LAID_OUT or re.fullmatch(r"[1-9]\d{0,3}", domain, re.ASCII)):
        raise Unclear(f"what I_MPI_PIN_DOMAIN={domain[:20]}:{layout[:20]} is, was not seen")
    return "omp" if domain == "omp" else f"{domain}:" if domain.isdecimal() else "", _LAYOUTS[layout]


def threads_counted(tree: Tree, number: int, order: str, count: int) -> int:
    """Return how many hardware threads a number with a layout is: of the largest things of which all ranks have enough.

    That is sockets, NUMA nodes, L3 groups, shared L2, cores, threads; cores where not even threads are enough, and in place of
    NUMA nodes where ranks are kept apart (2021.18, observed).
    """
    kinds = [kind for kind in LEVELS if kind != "numa" or order not in APART]
    kind = next((kind for kind in kinds if len(tree.level(kind)) >= number * count), "core")
    if order in APART and kind in ("cache3", "cache2") and len(tree.level("numa")) >= number * count:
        kind = "core"
    if number >= len(tree.level(kind)):
        return len(tree.topology.inside.pus) + (kind == "socket" or number > len(tree.level(kind)))
    tree.even((kind,))
    if len(set(tree.level(kind))) < len(tree.level(kind)):
        raise Unclear("a number with a layout counts NUMA nodes here, of which some are memory alone: that was not seen often")
    return number * len(tree.level(kind)[0])


def first_of(part: CpuSet, pus: Sequence[int], size: int) -> CpuSet:
    """Return so many of the first hardware threads of a part, or all."""
    return CpuSet([pu for pu in pus if pu in part][:size])


def domains_of_ranks(tree: Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
    """Return the domains of a node's ranks."""
    domain, order = laid_out(domain, order)
    if domain == "omp":
        domain = pins.get("OMP_NUM_THREADS", "")
    if domain in _AUTO:
        return _chosen(tree, order, count)
    if domain == "node":
        return (tree.topology.inside.pus,) * count
    if match := re.fullmatch(r"([1-9]\d{0,4})(:?)", domain, re.ASCII):
        cells = match[2] and "I_MPI_PIN_CELL" not in pins
        nodes = len(tree.level("numa"))
        if cells and order == "bunch" and count > nodes > 1 and count % nodes:
            raise Unclear("how a number with a layout divides ranks that the NUMA nodes do not divide, was not seen of all")
        size = threads_counted(tree, int(match[1]), order, count) if cells else int(match[1])
        return _sized(tree, size, order, count)
    return _whole_things(tree, domain, order, count)


def _sized(tree: Tree, size: int, order: str, count: int) -> Given:
    """Return domains of so many hardware threads."""
    everything = tree.topology.inside.pus
    order = "compact" if tree.partial else order
    if size > len(everything) or (size == len(everything) and (count > 1 or order not in ("bunch", "range"))):
        return (everything,) * count  # one rank of as many as there are has a socket: the homes of ranks say which (observed)
    blocks, pus = _blocks(tree, size, everything), [cpus.first or 0 for cpus in tree.level("pu")]
    if order in APART and count <= len(blocks):
        found = [[first_of(part, pus, size) for part in parts] for parts in tree.spread(count)]
        return _ordered(found, order, count, len(tree.sockets()))
    if len(everything) % size and count > len(blocks):
        turn = pus * (size // len(everything) + 2)
        starts = [rank * size % len(everything) for rank in range(count)]
        return tuple(CpuSet(turn[start : start + size]) for start in starts)
    return _bunched(tree, blocks, order, count, size=size)


def _chosen(tree: Tree, order: str, count: int) -> Given:
    """Return what Intel MPI chooses itself."""
    most = len(tree.topology.inside.pus)
    if order not in ("bunch", "compact", "range", *APART):
        raise Unclear(f"the order {order[:20]} of what Intel MPI chooses itself is not worked out here")
    if count > most:  # of all machines with several threads a core, whatever the order (2021.18, observed)
        if tree.partial and most > len(tree.level("core")):
            raise Unclear("more ranks than CPUs where some are hidden or off: that was not seen often")
        return tuple(tree.level("core")[rank % len(tree.level("core"))] for rank in range(count))
    if order in APART and 1 < count <= most and tree.partial:
        kind = tree.enough(count)
        return tuple(union(group) for group in groups(tree.level("core" if kind == "numa" else kind), count))
    if order in APART and 1 < count < most:
        if whole := next((kind for kind in (*tree.below_nodes(count), "core") if len(tree.level(kind)) == count), None):
            return tree.level(whole)
        return _ordered(tree.spread(count), order, count, len(tree.sockets()))
    return tuple(tree.split(count, flat=order == "compact"))


def _whole_things(tree: Tree, domain: str, order: str, count: int) -> Given:
    """Return the domains where each is a socket, a NUMA node, a cache or a core."""
    if domain not in ("core", "socket", "sock", "numa", *_CACHES):
        raise Unclear(f"what I_MPI_PIN_DOMAIN={domain[:40]} is, was not seen")
    kind = _kind(tree, domain)
    if kind is None or (kind == "cache3" and not tree.level(kind)):
        return _without(tree, domain, order, count)
    order = "compact" if domain == "cache1" else order  # whatever order is asked for (2021.18, observed)
    cores = kind == "numa" and order in APART  # so it was seen on every machine: a rank has a core of its own
    things = tree.level("core") if cores else tree.level("numa") if kind == "numa" else tree.level(kind)
    if not things:
        raise Unclear(f"this machine shows no {domain}")
    if order in APART and tree.partial and len(tree.level("socket")) > 1:
        raise Unclear("how whole things are kept apart on a machine some of whose CPUs are hidden or off, was not seen often")
    if order in APART and count <= len(things):
        found = [[_inside(part, things) for part in parts] for parts in tree.spread(count)]
        return _ordered(found, order, count, len(tree.sockets()), whole=count == len(things))
    return _bunched(tree, things, order, count)


def _kind(tree: Tree, domain: str) -> str | None:
    """Return the level of a domain's name; None where the machine shows none, and Intel MPI chooses itself."""
    inside = tree.topology.inside
    if domain == "cache2" and tree.level("cache2"):
        return "cache2"
    if domain in ("cache1", "cache2"):
        own = int(domain[-1]) in inside.own_caches or bool(inside.l3)
        if not own and (inside.shared_l2 or inside.own_caches):
            raise Unclear(f"which cores of this machine share a {domain}, is not known")
        return "core" if own else None
    return {"sock": "socket"}.get(domain, domain)


def _without(tree: Tree, domain: str, order: str, count: int) -> Given:
    """Return what a cache gives that the machine does not show: on one socket what it chooses itself, but at least a core."""
    if len(tree.level("socket")) > 1 or count <= len(tree.level("numa")) > 1:
        raise Unclear(f"this machine shows no {domain}, and what Intel MPI makes of that was not seen often")
    if count > len(cores := tree.level("core")):
        return tuple(cores[rank % len(cores)] for rank in range(count))
    return _chosen(tree, order, count)


def _inside(part: CpuSet, things: Sequence[CpuSet]) -> CpuSet:
    """Return the first whole thing of a part."""
    found = next((thing for thing in things if thing <= part), None)
    if found is None:
        raise Unclear("ranks kept apart have less than their domain, and what Intel MPI does then was not seen")
    return found


def _ordered(sockets: Sequence[Sequence[CpuSet]], order: str, count: int, number: int, *, whole: bool = False) -> Given:
    """Return what ranks have: socket by socket, or of each socket in turn unless every thing of the machine is taken."""
    if order == "spread" or whole:
        return tuple(mine for parts in sockets for mine in parts)
    if 2 <= count % number <= number - 2:
        raise Refused("with so many ranks beyond a multiple of the sockets, scatter ends Intel MPI's proxy")
    return tuple(mine for turn in zip_longest(*sockets) for mine in turn if mine is not None)


def _blocks(tree: Tree, size: int, home: CpuSet) -> list[CpuSet]:
    """Return so many neighbouring hardware threads of a part of the machine, again and again."""
    pus = [cpus.first or 0 for cpus in tree.level("pu") if cpus <= home]
    return [CpuSet(pus[at : at + size]) for at in range(0, len(pus) - size + 1, size)]


def _bunched(tree: Tree, things: Sequence[CpuSet], order: str, count: int, *, size: int = 0) -> Given:
    """Return the domains of the ranks: one after the other, or the ranks divided among the sockets and there close together."""
    if order == "compact" or tree.partial or count > len(things) or (count == len(things) and not size):
        return tuple(things[rank % len(things)] for rank in range(count))
    if order not in ("bunch", "range"):
        raise Unclear(f"I_MPI_PIN_ORDER={order[:20]} binds each rank to a part of its domain only, and which was not seen often")
    sockets = tree.sockets()
    large = len(things) <= max(len(tree.level("numa")), len(sockets)) and not size
    parts = len(tree.level("pu")) if size else len(things)
    dealt = zip(sockets, shares(count, len(sockets)), strict=True) if large else tree.homes(count, parts)
    found: list[CpuSet] = []
    for home, mine in dealt:
        inside = _round(tree, size, home, mine) if size else [thing for thing in things if thing <= home]
        found += inside[:mine]
    if len(found) < count:
        raise Unclear("domains lie across sockets or NUMA nodes, and what Intel MPI does then was not seen often")
    return tuple(found)


def _round(tree: Tree, size: int, home: CpuSet, count: int) -> list[CpuSet]:
    """Return so many neighbouring hardware threads of a part of the machine for each rank, after its last the first again."""
    pus = [cpus.first or 0 for cpus in tree.level("pu") if cpus <= home]
    turn = pus * (size // len(pus) + 2)
    starts = [rank * size % len(pus) for rank in range(count)]
    return [CpuSet(turn[start : start + size]) for start in starts]


def by_cores(tree: Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
    """Return the domains where a cell is a core: of each core its first thread, and a size counts cores (2021.18, observed)."""
    domain, order = laid_out(domain, order)
    if domain == "omp":
        domain = pins.get("OMP_NUM_THREADS", "")
    if domain in _CACHES:
        raise Unclear("caches beside I_MPI_PIN_CELL=core are not worked out here")
    cores = tree.level("core")
    number = re.fullmatch(r"([1-9]\d{0,3}):?", domain, re.ASCII)
    wide = str(int(number[1]) * len(cores[0])) if number else domain
    first = CpuSet(core.first or 0 for core in cores)
    return tuple(cpus and cpus & first for cpus in domains_of_ranks(tree, wide, order, count, pins))


_UNREAD = re.compile(
    r"(all|allsocks|allcores:(map=(scatter|bunch|spread)|shift=\d{1,3}|grain=\d{1,3})|all:map=(scatter|bunch|spread)|all:bunch)",
    re.ASCII,
)
"""Words that 2021.18 was seen to pass over: its ranks are then where they are without a list."""


def processors(text: str, tree: Tree, count: int, *, cell: str = "") -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each rank, None where the list is passed over; raise Unclear where neither was seen.

    Beside I_MPI_PIN_CELL a rank has one CPU of the list.
    """
    if _UNREAD.fullmatch(text.lower()):
        return None
    every = tree.topology.inside.pus
    if text.lower() == "allcores":
        return _parts(every, tree, count, cell=cell)
    said = list(_numbers(text, LIMIT))
    numbers = [number for number in said if number in every]
    if len(set(numbers)) < len(numbers) or not numbers:
        raise Unclear("the list names a CPU twice, or none that this machine has")
    if len(said) == count:
        return tuple(CpuSet([numbers[rank % len(numbers)]]) for rank in range(count))
    return _parts(CpuSet(numbers), tree, count, cell=cell)


def _numbers(text: str, most: int) -> Iterator[int]:
    given = 0
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", word, re.ASCII)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise Unclear(f"the list has {word[:40]!a}, and what Intel MPI makes of that was not seen")
        given += int(match[2] or match[1]) - int(match[1]) + 1
        if given > most:
            raise Unclear("the list names more CPUs than any machine has")
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)


def _parts(allowed: CpuSet, tree: Tree, count: int, *, cell: str) -> tuple[CpuSet, ...]:
    """Return what of a set lies in the first of the largest things that are enough, else its CPUs over and over.

    Of each core only the first such CPU counts, unless hardware threads are needed or are the cells. Of things beside each
    other the one whose first CPU has the lower number is the first, as hwloc sorts what is left.
    """
    first = CpuSet(min(core & allowed) for core in tree.level("core") if core & allowed)
    chains: dict[int, tuple[int, ...]] = dict.fromkeys(allowed, ())
    found, cores = [CpuSet()], [CpuSet()]
    for kind in LEVELS:
        mine = allowed if kind == "pu" else first
        found = [thing & mine for thing in tree.level(kind) if thing & mine]
        chains |= {cpu: (*chains[cpu], (thing & allowed).first or 0) for thing in tree.level(kind) for cpu in thing & allowed}
        found.sort(key=lambda part: chains[part.first or 0])
        cores = found if kind == "core" else cores
        single = kind == "pu" if cell == "unit" else kind in ("core", "pu")
        if len(found) >= count and (single or not cell):
            return tuple(found[:count])
    fall = found if cell == "unit" else cores
    return tuple(fall[rank % len(fall)] for rank in range(count))


def masks(text: str, topology: Topology, count: int) -> Given | None:
    """Return the masks of I_MPI_PIN_DOMAIN; None where Intel MPI passes them over, silently: too many, too few, or without 0x.

    Commas with nothing between them are one, and of the last word its last letter is left out, bracket or not (observed).
    """
    if "]" in text[:-1] and text[-1] != "]":
        raise Unclear("what follows the masks in I_MPI_PIN_DOMAIN ends Intel MPI, or not: it was not seen often")
    entries = [entry for entry in text[1:-1].split(",") if entry]
    fitting = len(entries) == count <= MASKS
    if not fitting or not all(re.fullmatch(r"0x[0-9a-f]{1,4096}", entry, re.ASCII) for entry in entries):
        return None
    found = []
    for entry in entries:
        try:
            cpus = CpuSet.from_bits(int(entry, 16))
        except BadValue as error:
            raise Unclear(f"a mask is {error.problem}") from error
        if not cpus or not cpus <= topology.pus:
            raise Unclear(f"the mask {entry[:40]} names CPUs that this machine does not have")
        found.append(cpus)
    return tuple(found)
