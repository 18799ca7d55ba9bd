"""What ``-bind-to X:k -map-by Y`` of MPICH's Hydra makes of a node: a small model, held to the real one by test_binding_hydra."""

from collections.abc import Iterator, Sequence

from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering, ordered
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Slot

OBJECTS = ("hwthread", "core", "l3cache", "numa", "socket")
"""Hydra's names, the smallest thing first."""


def objects(topology: Topology) -> dict[str, tuple[CpuSet, ...]]:
    """Return the CPUs of everything that ranks can be bound to or dealt over, by Hydra's names and in hwloc's order."""
    known, inside = logical_numbering(topology), topology.inside
    # Where some nodes have memory alone, Hydra 5.0.2 counts these too, and its proxy dies of -map-by numa now and then.
    alone = any(not node.cpuset for node in inside.nodes)
    parts = {
        "l3cache": [l3.cpuset for l3 in inside.l3],
        "numa": [] if alone else [node.cpuset for node in inside.nodes],
        "socket": [package.cpuset for package in inside.packages],
    }
    found = {name: ordered(sets, known) for name, sets in parts.items()}
    cores = known.cores if inside.cores else ()  # where none are shown, those that launchers count are not ours
    return {"hwthread": tuple(CpuSet([cpu]) for cpu in known.pus), "core": cores, **found}


def alike(sets: Sequence[CpuSet], topology: Topology) -> bool:
    """Whether some parts hold as many CPUs each and no CPU twice, and together the whole of what may be used."""
    return bool(sets) and len({len(each) for each in sets}) == 1 and sum(map(len, sets)) == len(topology.inside.pus)


def bound(things: Sequence[CpuSet], over: Sequence[CpuSet], count: int) -> Iterator[CpuSet]:
    """Yield what one rank after the other is bound to, without end: ``count`` things, dealt over the larger ones in turn.

    Each larger one has its own cursor, and it turns over (``core:4`` of six gives 0-3 and then 4,5,0,1).
    """
    inside = [[thing for thing in things if thing <= large] for large in over]
    turn = 0
    while all(inside):
        for mine in inside:
            yield union(mine[(turn * count + i) % len(mine)] for i in range(count))
        turn += 1


def forms(topology: Topology, slots: Sequence[Slot]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of bind-to and map-by that put ranks on a node as planned, the shortest first."""
    have = objects(topology)
    good = {name: sets for name, sets in have.items() if alike(sets, topology)}
    for bind in OBJECTS:
        size = len(good[bind][0]) if bind in good else 0
        if not size or len(slots[0].cpus) % size:
            continue
        count = len(slots[0].cpus) // size
        for over in (name for name in OBJECTS if name in good and len(good[name][0]) > size):
            if _follows(bound(good[bind], good[over], count), slots):
                yield _named(bind, count), over
        chunks = [union(good[bind][i : i + count]) for i in range(0, len(good[bind]) - count + 1, count)]
        if len(chunks) >= len(slots) and _follows(iter(chunks), slots):
            yield _named(bind, count), _named(bind, count)


def shortest(found: Iterator[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the pair of the largest thing to bind to, dealt over itself where that does; None of none."""
    pairs = list(found)
    return (
        min(pairs, key=lambda pair: (":" in pair[0], pair[0] != pair[1], -OBJECTS.index(pair[0].split(":")[0])))
        if pairs
        else None
    )


def _follows(given: Iterator[CpuSet], slots: Sequence[Slot]) -> bool:
    return all(next(given, None) == slot.cpus for slot in slots)


def _named(thing: str, count: int) -> str:
    return thing if count == 1 else f"{thing}:{count}"
