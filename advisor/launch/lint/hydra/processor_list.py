"""A machine in Intel MPI's levels, how it divides them among ranks, and what it makes of I_MPI_PIN_PROCESSOR_LIST."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from advisor.errors import BadValue
from advisor.launch.launchers.intelmpi import MASKS
from advisor.launch.lint.outcome import Unclear
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering, ordered
from advisor.model.hardware.topology import Topology

Pins = Mapping[str, str]
Given = tuple[CpuSet | None, ...]


@dataclass(frozen=True)
class Tree:
    """A machine in the levels that Intel MPI goes by: sockets, NUMA nodes, L3 groups, cores, hardware threads."""

    topology: Topology

    def level(self, kind: str) -> tuple[CpuSet, ...]:
        """Return the CPUs of everything of a kind, in hwloc's order."""
        known, inside = logical_numbering(self.topology), self.topology.inside
        if kind == "pu":
            return tuple(CpuSet([cpu]) for cpu in known.pus)
        if kind == "core":
            return known.cores
        parts = {
            "socket": [part.cpuset for part in inside.packages],
            "numa": [node.cpuset for node in inside.cpu_nodes],
            "cache3": [part.cpuset for part in inside.l3],
        }
        found = ordered(parts[kind], known)
        if found and (union(found) != inside.pus or sum(map(len, found)) != len(inside.pus)):
            raise Unclear(f"this machine's parts of the kind {kind} do not hold every CPU once")
        return found

    def even(self, kinds: Sequence[str]) -> None:
        """Raise Unclear where parts of one kind have different numbers of CPUs, or lie across others."""
        for kind in kinds:
            if len({len(part) for part in self.level(kind)}) > 1:
                raise Unclear(f"the {kind}s of this machine are not alike, and how Intel MPI divides them was not seen")
        if not self.level("socket"):
            raise Unclear("how Intel MPI divides a machine without sockets, was not seen")

    def nodes(self) -> tuple[CpuSet, ...]:
        """Return the NUMA nodes that ranks are divided over; raise Unclear where some are memory alone: these count too."""
        if any(node.near and not node.cpuset for node in self.topology.inside.nodes):
            raise Unclear("how Intel MPI divides ranks over NUMA nodes of which some are memory alone, was not seen often")
        return self.level("numa")

    def below_nodes(self, count: int) -> tuple[str, ...]:
        """Return L3 groups where ranks are more than NUMA nodes: only then is a node divided by them."""
        return ("cache3",) if count > len(self.level("numa")) else ()

    def split(self, count: int, *, flat: bool) -> list[CpuSet]:
        """Return the machine divided among some ranks, by the largest parts of which there are enough.

        Each socket has its share of the ranks, unless all is to be flat; of its parts the first ranks get one more. NUMA nodes
        have shares too where the ranks are a multiple of all nodes, or where two ranks' parts are more than there are.
        """
        whole = self.topology.inside.pus
        sockets = (whole,) if flat or count == 1 else self.level("socket")
        if 1 < count < len(sockets):
            if len(sockets) % count:
                raise Unclear("sockets are more than ranks and no multiple of them: what Intel MPI does then was not seen")
            return [union(group) for group in _groups(sockets, count)]
        kind = next(kind for kind in ("socket", "numa", "cache3", "core", "pu") if len(self.level(kind)) >= count)
        nodes, dealt = self.nodes(), shares(count, len(sockets))
        if not flat and count > len(nodes) > 1 and (count % len(nodes) == 0 or len(self.level(kind)) < 2 * count):
            within = [[node for node in nodes if node <= socket] or [socket] for socket in sockets]
            pairs = [pair for inside, share in zip(within, dealt, strict=True) for pair in _shared(inside, share)]
        else:
            pairs = list(zip(sockets, dealt, strict=True))
        return [mine for home, share in pairs for mine in self._part(home, share, kind)]

    def spread(self, count: int) -> list[list[CpuSet]]:
        """Return the part of the machine of each rank, by sockets, as scatter and spread keep ranks apart.

        Level by level, rank i of k begins at the thing i * m // k of m: of its socket, its NUMA node, its L3 group.
        """
        self.even(("socket", "numa", *self.below_nodes(count), "core"))
        return [_apart([socket], ranks, self._levels()) for socket, ranks in _dealt(self.level("socket"), count)]

    def _levels(self) -> tuple[tuple[CpuSet, ...], ...]:
        return tuple(self.level(kind) for kind in ("numa", "cache3", "core"))

    def _part(self, socket: CpuSet, ranks: int, kind: str) -> list[CpuSet]:
        parts = [part for part in self.level(kind) if part <= socket]
        if ranks <= 1 or len(parts) == ranks:
            return ([socket] if ranks == 1 else parts)[:ranks]
        if len(parts) < ranks:
            raise Unclear("a socket has fewer parts than ranks, and what Intel MPI does then was not seen")
        return [union(group) for group in _groups(parts, ranks)]


def shares(total: int, count: int) -> list[int]:
    """Return a number divided evenly, the first shares larger."""
    return [total // count + (position < total % count) for position in range(count)]


def _shared(homes: Sequence[CpuSet], ranks: int) -> list[tuple[CpuSet, int]]:
    """Return parts of the machine with their shares of some ranks."""
    return list(zip(homes, shares(ranks, len(homes)), strict=True))


def _groups(parts: Sequence[CpuSet], count: int) -> Iterator[list[CpuSet]]:
    at = 0
    for size in shares(len(parts), count):
        yield list(parts[at : at + size])
        at += size


def _dealt(things: Sequence[CpuSet], count: int) -> Iterator[tuple[CpuSet, int]]:
    """Yield each thing that has ranks, and how many: rank i of k is in i * m // k of m."""
    taken = [rank * len(things) // count for rank in range(count)]
    yield from ((thing, taken.count(position)) for position, thing in enumerate(things) if position in taken)


def _apart(home: Sequence[CpuSet], count: int, levels: Sequence[Sequence[CpuSet]]) -> list[CpuSet]:
    """Return the parts of some neighbouring things that ranks kept apart have."""
    whole = union(home)
    if count == 1:
        return [whole]
    if not levels:
        raise Unclear("a core has several ranks, and what Intel MPI does then was not seen")
    things = [thing for thing in levels[0] if thing <= whole]
    if union(things) != whole:
        return _apart(home, count, levels[1:])
    if count <= len(things):
        edges = [rank * len(things) // count for rank in range(count + 1)]
        return [union(things[first:last]) for first, last in pairwise(edges)]
    return [part for thing, ranks in _dealt(things, count) for part in _apart([thing], ranks, levels[1:])]


_UNREAD = re.compile(
    r"(all|allsocks|allcores:(map=(scatter|bunch|spread)|shift=\d{1,3}|grain=\d{1,3})|all:map=(scatter|bunch|spread)|all:bunch)",
    re.ASCII,
)
"""Words that 2021.18 was seen to pass over: its ranks are then where they are without a list."""

_LEVELS = ("socket", "numa", "cache3", "core", "pu")


def processors(text: str, tree: Tree, count: int) -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each rank, None where the list is passed over; raise Unclear where neither was seen."""
    if _UNREAD.fullmatch(text.lower()):
        return None
    every = tree.topology.inside.pus
    if text.lower() == "allcores":
        return _parts(CpuSet(core.first or 0 for core in tree.level("core")), tree, count)
    numbers = list(_numbers(text, len(every)))
    if len(set(numbers)) < len(numbers) or any(number not in every for number in numbers):
        raise Unclear("the list names a CPU twice, or one that this machine does not have")
    if len(numbers) == count:
        return tuple(CpuSet([number]) for number in numbers)
    if any(len(core & CpuSet(numbers)) > 1 for core in tree.level("core")):
        raise Unclear("the list has several threads of a core and another number of CPUs than ranks: that was not seen often")
    return _parts(CpuSet(numbers), tree, count)


def _numbers(text: str, most: int) -> Iterator[int]:
    given = 0
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", word, re.ASCII)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise Unclear(f"the list has {word[:40]!a}, and what Intel MPI makes of that was not seen")
        given += int(match[2] or match[1]) - int(match[1]) + 1
        if given > most:
            raise Unclear("the list names more CPUs than this machine has")
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)


def _parts(allowed: CpuSet, tree: Tree, count: int) -> tuple[CpuSet, ...]:
    """Return what of a set lies in the first of the largest things that are enough, else its CPUs over and over.

    Of things beside each other the one whose first CPU has the lower number is the first, as hwloc sorts what is left.
    """
    tree.even(("socket", "numa", "cache3", "core"))
    tree.nodes()
    chains: dict[int, tuple[int, ...]] = dict.fromkeys(allowed, ())
    found: list[CpuSet] = []
    for kind in _LEVELS:
        found = [thing & allowed for thing in tree.level(kind) if thing & allowed]
        chains |= {cpu: (*chains[cpu], mine.first or 0) for mine in found for cpu in mine}
        found.sort(key=lambda mine: chains[mine.first or 0])
        if len(found) >= count:
            return tuple(found[:count])
    return tuple(found[rank % len(found)] for rank in range(count))


def masks(text: str, topology: Topology, count: int) -> Given | None:
    """Return the masks of I_MPI_PIN_DOMAIN; None where Intel MPI passes them over, silently: too many, too few, or without 0x."""
    entries = text.strip("[]").split(",")
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


_LAID_OUT = frozenset({"core", "numa", "socket", "sock", "omp", "auto", "node", "cache", "cache1", "cache2", "cache3"})
_LAYOUTS = {"platform": "bunch", "bunch": "bunch", "compact": "compact", "scatter": "scatter", "spread": "spread"}


def laid_out(domain: str, order: str) -> tuple[str, str]:
    """Return a domain without its layout, and the order that this is whatever I_MPI_PIN_ORDER says.

    Of the name of a thing before a layout nothing is read: such a domain is what Intel MPI chooses itself (2021.18, observed).
    """
    domain, colon, layout = domain.partition(":")
    if not colon:
        return domain, order
    if domain not in _LAID_OUT or layout not in _LAYOUTS:
        raise Unclear(f"what I_MPI_PIN_DOMAIN={domain[:20]}:{layout[:20]} is, was not seen")
    return "omp" if domain == "omp" else "", _LAYOUTS[layout]


def first_of(part: CpuSet, pus: Sequence[int], size: int) -> CpuSet:
    """Return so many of the first hardware threads of a part, or all."""
    return CpuSet([pu for pu in pus if pu in part][:size])
