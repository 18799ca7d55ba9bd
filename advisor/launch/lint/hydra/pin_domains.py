"""What Intel MPI's I_MPI_PIN variables make of a node, rank by rank: watched on simulated machines; what was not is left open."""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from advisor.errors import BadValue
from advisor.launch.intelmpi import MASKS
from advisor.launch.lint.hydra.processor_list import Tree, processors, shares
from advisor.launch.lint.openmpi.mapper import Unclear
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology

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
_APART = frozenset({"scatter", "spread"})
"""Orders that keep ranks apart."""


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
    if "I_MPI_PIN_CELL" in pins and any(len(core) > 1 for core in logical_numbering(topology).cores):
        raise Unclear("what I_MPI_PIN_CELL does where cores have several threads, is not worked out here")
    domain, order = pins.get("I_MPI_PIN_DOMAIN", "").lower(), pins.get("I_MPI_PIN_ORDER", "bunch").lower()
    if "I_MPI_PIN_PROCESSOR_LIST" in pins and (given := _processors(pins, topology, count)) is not None:
        return given
    if domain.startswith("["):
        return _masks(domain, topology, count)
    return _domains(Tree(topology), domain, order, count, pins)


def _processors(pins: Pins, topology: Topology, count: int) -> Given | None:
    """Return what a processor list gives; None where it is passed over."""
    if "I_MPI_PIN_DOMAIN" in pins:
        raise Unclear("I_MPI_PIN_PROCESSOR_LIST beside I_MPI_PIN_DOMAIN: the list was seen to win, but not often")
    if "I_MPI_PIN_ORDER" in pins:
        raise Unclear("I_MPI_PIN_PROCESSOR_LIST beside I_MPI_PIN_ORDER was not seen often")
    return processors(pins["I_MPI_PIN_PROCESSOR_LIST"], Tree(topology), count)


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


def _domains(tree: Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
    """Return the domains of a node's ranks."""
    threads = pins.get("OMP_NUM_THREADS", "")
    if domain == "omp":
        domain = threads or ""
    everything = tree.topology.inside.pus
    tree.even(("socket", "numa", "core") if domain and domain not in ("auto", "cache3") else ("socket", "numa", "cache3", "core"))
    if domain in _AUTO:
        return _chosen(tree, order, count)
    if domain == "node":
        return (everything,) * count
    if re.fullmatch(r"[1-9]\d{0,4}", domain, re.ASCII):
        size = int(domain)
        if size > len(everything):
            raise Unclear(f"domains of {size} CPUs on {len(everything)}")
        blocks = _blocks(tree, size, everything)
        if order in _APART and count <= len(blocks):
            pus = [cpus.first or 0 for cpus in tree.level("pu")]
            found = [[_first(part, pus, size) for part in parts] for parts in tree.spread(count)]
            return _ordered(found, order, whole=False)
        if len(everything) % size and count > len(blocks):
            turn = [cpus.first or 0 for cpus in tree.level("pu")] * (size // len(everything) + 2)
            starts = [rank * size % len(everything) for rank in range(count)]
            return tuple(CpuSet(turn[start : start + size]) for start in starts)
        return _bunched(tree, blocks, order, count, size=size)
    return _named(tree, domain, order, count)


def _chosen(tree: Tree, order: str, count: int) -> Given:
    """Return what Intel MPI chooses itself."""
    if order in _APART and count > 1:
        parts = [len(tree.level(kind)) for kind in ("cache3", "core")]
        return _ordered(tree.spread(count), order, whole=count in parts)
    if order not in ("bunch", "compact", "range", *_APART):
        raise Unclear(f"the order {order[:20]} of what Intel MPI chooses itself is not worked out here")
    most = len(tree.topology.inside.pus)
    return tuple((tree.split(min(count, most), flat=order == "compact") * (count // most + 1))[:count])


def _named(tree: Tree, domain: str, order: str, count: int) -> Given:
    """Return the domains where each is a socket, a NUMA node, an L3 group or a core."""
    if domain not in ("core", "socket", "sock", "numa", "cache3"):
        raise Unclear(f"what I_MPI_PIN_DOMAIN={domain[:40]} is, was not seen")
    kind = "socket" if domain == "sock" else domain
    cores = kind == "numa" and order in _APART  # so it was seen on every machine: a rank has a core of its own
    things = tree.level("core" if cores else kind)
    if not things:
        raise Unclear(f"this machine shows no {domain}")
    if order in _APART and count <= len(things):
        found = [[_inside(part, things) for part in parts] for parts in tree.spread(count)]
        return _ordered(found, order, whole=count == len(things))
    return _bunched(tree, things, order, count, cache=kind == "cache3")


def _first(part: CpuSet, pus: Sequence[int], size: int) -> CpuSet:
    """Return so many of the first hardware threads of a part, or all."""
    return CpuSet([pu for pu in pus if pu in part][:size])


def _inside(part: CpuSet, things: Sequence[CpuSet]) -> CpuSet:
    """Return the first whole thing of a part."""
    found = next((thing for thing in things if thing <= part), None)
    if found is None:
        raise Unclear("ranks kept apart have less than their domain, and what Intel MPI does then was not seen")
    return found


def _ordered(sockets: Sequence[Sequence[CpuSet]], order: str, *, whole: bool) -> Given:
    """Return what ranks have: socket by socket, or of each socket in turn unless every thing of the machine is taken."""
    if order == "spread" or whole:
        return tuple(mine for parts in sockets for mine in parts)
    return tuple(mine for turn in zip_longest(*sockets) for mine in turn if mine is not None)


def _blocks(tree: Tree, size: int, home: CpuSet) -> list[CpuSet]:
    """Return so many neighbouring hardware threads of a part of the machine, again and again."""
    pus = [cpus.first or 0 for cpus in tree.level("pu") if cpus <= home]
    return [CpuSet(pus[at : at + size]) for at in range(0, len(pus) - size + 1, size)]


def _bunched(tree: Tree, things: Sequence[CpuSet], order: str, count: int, *, cache: bool = False, size: int = 0) -> Given:
    """Return the domains of the ranks: one after the other, or the ranks divided among the sockets and there close together."""
    if order == "compact" or count > len(things):
        return tuple(things[rank % len(things)] for rank in range(count))
    if order not in ("bunch", "range"):
        raise Unclear(f"I_MPI_PIN_ORDER={order[:20]} binds each rank to a part of its domain only, and which was not seen often")
    nodes, sockets = tree.level("numa"), tree.level("socket")
    spread = count % len(nodes) == 0 or (cache and len(things) // count == 1)
    found: list[CpuSet] = []
    for socket, share in zip(sockets, shares(count, len(sockets)), strict=True):
        homes = [node for node in nodes if node <= socket] if spread else [socket]
        for home, mine in zip(homes, shares(share, len(homes)), strict=True):
            inside = _blocks(tree, size, home) if size else [thing for thing in things if thing <= home]
            found += inside[:mine]
    if len(found) < count:
        raise Unclear("domains lie across sockets or NUMA nodes, and what Intel MPI does then was not seen often")
    return tuple(found)
