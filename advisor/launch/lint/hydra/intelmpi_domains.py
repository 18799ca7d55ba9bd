"""What Intel MPI's I_MPI_PIN_DOMAIN and I_MPI_PIN_ORDER make of a machine: observed of 2021.18."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from advisor.launch.lint.hydra.intelmpi_levels import LEVELS, Given, Pins, Tree, groups, shares
from advisor.launch.lint.outcome import Refused, Unclear
from advisor.model.cpuset import CpuSet, union

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


def counted(tree: Tree, number: int, order: str, count: int) -> int:
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


def domains(tree: Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
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
        size = counted(tree, int(match[1]), order, count) if cells else int(match[1])
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
    return tuple(cpus and cpus & first for cpus in domains(tree, wide, order, count, pins))
