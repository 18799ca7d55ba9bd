"""Free cores, the parts of a machine that hold them, and ranks distributed over these parts."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from advisor.model.cpuset import CpuSet, union


@dataclass(frozen=True)
class FreeCore:
    """A core, or one hardware thread of a core that ranks share; where it is, by position."""

    cpus: CpuSet
    core: int
    socket: int
    node: int
    l3: int
    """-1 where the L3 group is not known."""
    threads: int = 1
    """Threads of a rank that it carries."""
    l2: int = -1
    """Which level 2 cache of several cores it shares; -1 where it shares none."""


@dataclass(frozen=True)
class RankCores:
    """The seats of one rank, and the device it was seated for."""

    seats: tuple[FreeCore, ...]
    device: str | None = None


Key = tuple[int, ...]
Level = Callable[[FreeCore], Key]
"""Names the part of a machine that a seat is in."""


def whole(seat: FreeCore) -> Key:
    """Return the same for every seat: the machine is one part."""
    del seat
    return ()


def socket(seat: FreeCore) -> Key:
    """Return which socket."""
    return (seat.socket,)


def node(seat: FreeCore) -> Key:
    """Return which NUMA node; one that spans sockets is a part in each."""
    return (seat.socket, seat.node)


def l3(seat: FreeCore) -> Key:
    """Return which L3 group; where it is not known, the node stands for it."""
    return (seat.socket, -1, seat.l3) if seat.l3 >= 0 else (seat.socket, seat.node, -1)


def l3_in_node(seat: FreeCore) -> Key:
    """Return which L3 group of which NUMA node: with sub-NUMA clusters an L3 group spans several nodes."""
    return (seat.socket, seat.node, seat.l3)


def l2(seat: FreeCore) -> Key:
    """Return which level 2 cache of several cores."""
    return (seat.socket, seat.node, seat.l3, seat.l2)


def core(seat: FreeCore) -> Key:
    """Return which core."""
    return (seat.socket, seat.node, seat.l3, seat.core)


def parts(seats: Iterable[FreeCore], level: Level) -> dict[Key, tuple[FreeCore, ...]]:
    """Return the seats by the part they are in, in the order of the seats."""
    found: dict[Key, list[FreeCore]] = {}
    for seat in seats:
        found.setdefault(level(seat), []).append(seat)
    return {key: tuple(group) for key, group in found.items()}


def cpus_of(seats: Iterable[FreeCore]) -> CpuSet:
    """Return the CPUs of seats."""
    return union(seat.cpus for seat in seats)


def split(seats: Sequence[FreeCore], count: int) -> tuple[FreeCore, ...]:
    """Return the seats with so many cores taken apart into hardware threads, spread over the cells so that none has more."""
    waiting = [list(group) for group in parts((s for s in seats if s.threads > 1), l3_in_node).values()]
    chosen: set[int] = set()
    while len(chosen) < count and any(waiting):
        for group in waiting:
            if group and len(chosen) < count:
                chosen.add(group.pop(0).core)
    return tuple(part for seat in seats for part in (_threads(seat) if seat.core in chosen else (seat,)))


def _threads(seat: FreeCore) -> tuple[FreeCore, ...]:
    return tuple(replace(seat, cpus=CpuSet([cpu]), threads=1) for cpu in seat.cpus)


def consecutive_ranks(seats: Iterable[FreeCore], threads: int) -> list[RankCores]:
    """Return ranks of so many threads, one beside the other; what is left over at the end is nobody's."""
    return _chopped(seats, threads)[0]


def _chopped(seats: Iterable[FreeCore], threads: int) -> tuple[list[RankCores], list[FreeCore]]:
    chunks: list[RankCores] = []
    taken: list[FreeCore] = []
    have = 0
    for seat in seats:
        taken.append(seat)
        have += seat.threads
        if have >= threads:
            chunks.append(RankCores(tuple(taken)))
            taken, have = [], 0
    return chunks, taken


def ranks_within_parts(seats: Iterable[FreeCore], level: Level, threads: int) -> list[RankCores]:
    """Return ranks of which none leaves its part of the machine."""
    return [chunk for part in parts(seats, level).values() for chunk in consecutive_ranks(part, threads)]


def packed_ranks(seats: Sequence[FreeCore], threads: int, count: int) -> list[RankCores]:
    """Return so many ranks, or as many as fit; in the order of space.

    As many as can be are inside one L3 group; of what these leave, ranks are made inside a node, and last inside a socket.
    """
    left, chunks = seats, list[RankCores]()
    for level in (l3_in_node, node, socket):
        over: list[FreeCore] = []
        for part in parts(left, level).values():
            made, rest = _chopped(part, threads)
            chunks += made
            over += rest
        if len(chunks) >= count:
            break
        left = over
    place = {seat: position for position, seat in enumerate(seats)}
    return sorted(chunks[:count], key=lambda chunk: place[chunk.seats[0]])


def distributed(count: int, room: Sequence[int], keys: Sequence[Key] | None = None) -> list[int]:
    """Return how many each gets: the same, or less where there is less room.

    Of what is left over one more goes to each of the first, or with keys to parts spaced evenly over the machine. What
    finds no room at all is not placed.
    """
    if not room:
        return []
    low = bisect_right(range(max(room) + 1), count, key=lambda level: sum(min(each, level) for each in room)) - 1
    shares = [min(each, low) for each in room]
    wishing = [i for i, each in enumerate(room) if each > low]
    left = min(count - sum(shares), len(wishing))
    chosen = wishing[:left] if keys is None else [wishing[i] for i in _spaced([keys[i] for i in wishing], left)]
    for i in chosen:
        shares[i] += 1
    return shares


def _spaced(keys: Sequence[Key], count: int, depth: int = 1) -> list[int]:
    """Return so many positions, spread evenly over sockets, inside each over its nodes, and so on."""
    if count >= len(keys):
        return list(range(len(keys)))
    groups: dict[Key, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key[:depth], []).append(i)
    if len(groups) == len(keys):
        return [i * len(keys) // count for i in range(count)]
    heads = list(range(len(groups)))
    shares = distributed(count, [len(group) for group in groups.values()], [(i,) for i in heads])
    chosen: list[int] = []
    for group, share in zip(groups.values(), shares, strict=True):
        chosen += [group[i] for i in _spaced([keys[g] for g in group], share, depth + 1)] if share else []
    return chosen


def _one_for_each_l2(seats: Sequence[FreeCore], threads: int, count: int) -> list[RankCores]:
    """Return so many ranks, of which two share a level 2 cache only where no other is free; in the order of space.

    Cores of which some share none are of several kinds: there the first ones stay the first.
    """
    if any(seat.l2 < 0 for seat in seats):
        return packed_ranks(seats, threads, count)
    tiles = parts(seats, l2)
    made = [consecutive_ranks(tile, threads) for tile in tiles.values()]
    if sum(map(len, made)) < count:
        return packed_ranks(seats, threads, count)
    shares = distributed(count, [len(ranks) for ranks in made], list(tiles))
    place = {seat: position for position, seat in enumerate(seats)}
    chosen = (rank for ranks, share in zip(made, shares, strict=True) for rank in ranks[:share])
    return sorted(chosen, key=lambda rank: place[rank.seats[0]])


def _tiles(seats: Sequence[FreeCore], threads: int) -> int:
    """Return how many level 2 caches that cores share have room for a rank; 0 where some share none."""
    if any(seat.l2 < 0 for seat in seats):
        return 0
    return sum(1 for tile in parts(seats, l2).values() if consecutive_ranks(tile, threads))


def spread_ranks(seats: Sequence[FreeCore], threads: int, count: int, *levels: Level) -> list[RankCores]:
    """Return so many ranks spread over the parts of the first level, inside each over those of the next; block order."""
    if not levels:
        return _one_for_each_l2(seats, threads, count)
    boxes = parts(seats, levels[0])
    tiles = [_tiles(box, threads) for box in boxes.values()]
    room = tiles if sum(tiles) >= count else [len(packed_ranks(box, threads, len(box))) for box in boxes.values()]
    shares = distributed(count, room, list(boxes))
    chunks: list[RankCores] = []
    for box, share in zip(boxes.values(), shares, strict=True):
        inside = spread_ranks(box, threads, share, *levels[1:]) if share else []
        chunks += inside if len(inside) == share else packed_ranks(box, threads, share)
    return chunks
