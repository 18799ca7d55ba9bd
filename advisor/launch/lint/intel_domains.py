"""What Intel MPI's I_MPI_PIN variables make of a node, rank by rank.

Intel publishes no source: what is here was watched on simulated machines (tests/launch/lint/seen_intelmpi.txt); what was not is
left open.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.errors import BadValue
from advisor.launch.intelmpi import MASKS
from advisor.launch.lint.openmpi import Unclear
from advisor.model.cpuset import CpuSet, union
from advisor.model.logical import numbering, ordered
from advisor.model.topology import Topology

Pins = Mapping[str, str]
Given = tuple[CpuSet | None, ...]

OFF = frozenset({"0", "no", "off", "disable"})
_ON = frozenset({"1", "yes", "on", "enable"})
_READ = frozenset({"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_CELL"})
_HARMLESS = re.compile(r"I_MPI_(DEBUG|FABRICS|OFI_|ADJUST_|SHM|STATS|ROOT|HYDRA_(BOOTSTRAP|DEBUG|IFACE)|TUNING|EXTRA|EAGER)")
RESPECT = "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"
PLACES = frozenset({"I_MPI_PERHOST", RESPECT, "I_MPI_HYDRA_HOST_FILE"})
"""Variables that say which host a rank goes to."""
_AUTO = frozenset({"", "auto"})


def pinned(pins: Pins, topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks; raise Unclear where what Intel MPI makes of the variables was not seen."""
    odd = next((name for name in pins if name.startswith("I_MPI_") and name not in _READ | PLACES), None)
    if odd and not _HARMLESS.match(odd):
        raise Unclear(f"what {odd[:40]} does to pinning, is not worked out here")
    switch = pins.get("I_MPI_PIN", "1").lower()
    if switch in OFF:
        return (None,) * count
    if switch not in _ON:
        raise Unclear(f"I_MPI_PIN={switch[:20]} is not understood")
    if topology.limited:
        raise Unclear("a job hides part of this machine, and Intel MPI then pins in ways that are not worked out here")
    domain, order = pins.get("I_MPI_PIN_DOMAIN", "").lower(), pins.get("I_MPI_PIN_ORDER", "bunch").lower()
    listed = pins.get("I_MPI_PIN_PROCESSOR_LIST")
    if "I_MPI_PIN_CELL" in pins and any(len(core) > 1 for core in numbering(topology).cores):
        raise Unclear("what I_MPI_PIN_CELL does where cores have several threads, is not worked out here")
    if domain.startswith("["):
        return _masks(domain, topology, count)
    if listed is not None and not domain:
        return _processors(listed, topology, count)
    return _domains(_Tree(topology), domain, order, count, pins)


def _masks(text: str, topology: Topology, count: int) -> Given:
    entries = text.strip("[]").split(",")
    fitting = len(entries) == count <= MASKS
    if not fitting or not all(re.fullmatch(r"0x[0-9a-f]{1,4096}", entry, re.ASCII) for entry in entries):
        raise Unclear(f"{len(entries)} masks for {count} ranks, or masks without 0x: Intel MPI pins in its own way, silently")
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


def _processors(text: str, topology: Topology, count: int) -> Given:
    """Return one CPU a rank where the list has exactly as many: a list of another length is read as a set."""
    words = text.split(",")
    if len(words) != count or not all(re.fullmatch(r"\d{1,7}", word, re.ASCII) for word in words):
        raise Unclear(f"a list of {len(words)} entries for {count} ranks is read as a set, and its order is lost")
    numbers = [int(word) for word in words]
    if len(set(numbers)) < len(numbers) or any(number not in topology.pus for number in numbers):
        raise Unclear("the list names a CPU twice, or one that this machine does not have")
    return tuple(CpuSet([number]) for number in numbers)


@dataclass(frozen=True)
class _Tree:
    """A machine in the levels that Intel MPI goes by: sockets, NUMA nodes, L3 groups, cores, hardware threads."""

    topology: Topology

    def level(self, kind: str) -> tuple[CpuSet, ...]:
        """Return the CPUs of everything of a kind, in hwloc's order."""
        known, inside = numbering(self.topology), self.topology.inside
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
        if not self.level("socket") or any(node.near and not node.cpuset for node in self.topology.inside.nodes):
            raise Unclear("how Intel MPI divides a machine without sockets, or with memory alone, was not seen")

    def split(self, count: int, *, flat: bool) -> list[CpuSet]:
        """Return the machine divided among some ranks, by the largest parts of which there are enough.

        Each socket has its share of the ranks, unless all is to be flat; of its parts the first ranks get one more.
        """
        whole = self.topology.inside.pus
        sockets = (whole,) if flat or count == 1 else self.level("socket")
        kind = next(kind for kind in ("socket", "numa", "cache3", "core", "pu") if len(self.level(kind)) >= count)
        shares = _shares(count, len(sockets))
        return [mine for socket, share in zip(sockets, shares, strict=True) for mine in self._part(socket, share, kind)]

    def _part(self, socket: CpuSet, ranks: int, kind: str) -> list[CpuSet]:
        parts = [part for part in self.level(kind) if part <= socket]
        if ranks <= 1 or len(parts) == ranks:
            return ([socket] if ranks == 1 else parts)[:ranks]
        if len(parts) < ranks:
            raise Unclear("a socket has fewer parts than ranks, and what Intel MPI does then was not seen")
        nodes = [node for node in self.level("numa") if node <= socket]
        if len(parts) // ranks == 1 and kind in ("cache3", "core") and 1 < len(nodes) < ranks:
            shares = _shares(ranks, len(nodes))
            return [mine for node, share in zip(nodes, shares, strict=True) for mine in self._part(node, share, kind)]
        if kind == "pu":
            raise Unclear("more ranks than cores, and not all threads: what Intel MPI does then was not seen")
        return [union(group) for group in _groups(parts, ranks)]


def _shares(total: int, count: int) -> list[int]:
    return [total // count + (position < total % count) for position in range(count)]


def _groups(parts: Sequence[CpuSet], count: int) -> Iterator[list[CpuSet]]:
    at = 0
    for size in _shares(len(parts), count):
        yield list(parts[at : at + size])
        at += size


def _domains(tree: _Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
    """Return the domains of a node's ranks."""
    threads = pins.get("OMP_NUM_THREADS", "")
    if domain == "omp":
        domain = threads or ""
    everything = tree.topology.inside.pus
    tree.even(("socket", "numa", "core") if domain and domain not in ("auto", "cache3") else ("socket", "numa", "cache3", "core"))
    if domain in _AUTO:
        if order not in ("bunch", "compact", "range"):
            raise Unclear(f"the order {order[:20]} of what Intel MPI chooses itself is not worked out here")
        most = len(everything)
        return tuple((tree.split(min(count, most), flat=order == "compact") * (count // most + 1))[:count])
    if domain == "node":
        return (everything,) * count
    if re.fullmatch(r"[1-9]\d{0,4}", domain, re.ASCII):
        size = int(domain)
        if size > len(everything):
            raise Unclear(f"domains of {size} CPUs on {len(everything)}")
        return _bunched(tree, _blocks(tree, size, everything), order, count, size=size)
    if domain in ("core", "socket", "sock", "numa", "cache3"):
        kind = "socket" if domain == "sock" else domain
        things = tree.level(kind)
        if not things:
            raise Unclear(f"this machine shows no {domain}")
        return _bunched(tree, things, order, count, cache=kind == "cache3")
    raise Unclear(f"what I_MPI_PIN_DOMAIN={domain[:40]} is, was not seen")


def _blocks(tree: _Tree, size: int, home: CpuSet) -> list[CpuSet]:
    """Return so many neighbouring hardware threads of a part of the machine, again and again."""
    pus = [cpus.first or 0 for cpus in tree.level("pu") if cpus <= home]
    return [CpuSet(pus[at : at + size]) for at in range(0, len(pus) - size + 1, size)]


def _bunched(tree: _Tree, things: Sequence[CpuSet], order: str, count: int, *, cache: bool = False, size: int = 0) -> Given:
    """Return the domains of the ranks: one after the other, or the ranks divided among the sockets and there close together."""
    if order == "compact" or count > len(things):
        return tuple(things[rank % len(things)] for rank in range(count))
    if order not in ("bunch", "range"):
        raise Unclear(f"I_MPI_PIN_ORDER={order[:20]} binds each rank to a part of its domain only, and which was not seen often")
    nodes, sockets = tree.level("numa"), tree.level("socket")
    spread = count % len(nodes) == 0 or (cache and len(things) // count == 1)
    found: list[CpuSet] = []
    for socket, share in zip(sockets, _shares(count, len(sockets)), strict=True):
        homes = [node for node in nodes if node <= socket] if spread else [socket]
        for home, mine in zip(homes, _shares(share, len(homes)), strict=True):
            inside = _blocks(tree, size, home) if size else [thing for thing in things if thing <= home]
            found += inside[:mine]
    if len(found) < count:
        raise Unclear("domains lie across sockets or NUMA nodes, and what Intel MPI does then was not seen often")
    return tuple(found)
