"""Seats, the smallest places a rank can have, and the parts of a machine that hold them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from advisor.model.cpuset import CpuSet, union


@dataclass(frozen=True)
class Seat:
    """A core, or one hardware thread of a core that ranks share; where it is, by position."""

    cpus: CpuSet
    core: int
    socket: int
    node: int
    l3: int
    """-1 where the L3 group is not known."""
    threads: int = 1
    """Threads of a rank that it carries."""


@dataclass(frozen=True)
class Chunk:
    """The seats of one rank, and the device it was seated for."""

    seats: tuple[Seat, ...]
    device: str | None = None


Key = tuple[int, ...]
Level = Callable[[Seat], Key]
"""Names the part of a machine that a seat is in."""


def whole(seat: Seat) -> Key:
    """Return the same for every seat: the machine is one part."""
    del seat
    return ()


def socket(seat: Seat) -> Key:
    """Return which socket."""
    return (seat.socket,)


def node(seat: Seat) -> Key:
    """Return which NUMA node; one that spans sockets is a part in each."""
    return (seat.socket, seat.node)


def l3(seat: Seat) -> Key:
    """Return which L3 group; where it is not known, the node stands for it."""
    return (seat.socket, -1, seat.l3) if seat.l3 >= 0 else (seat.socket, seat.node, -1)


def cell(seat: Seat) -> Key:
    """Return which L3 group of which NUMA node: with sub-NUMA clusters an L3 group spans several nodes."""
    return (seat.socket, seat.node, seat.l3)


def core(seat: Seat) -> Key:
    """Return which core."""
    return (seat.socket, seat.node, seat.l3, seat.core)


def parts(seats: Iterable[Seat], level: Level) -> dict[Key, tuple[Seat, ...]]:
    """Return the seats by the part they are in, in the order of the seats."""
    found: dict[Key, list[Seat]] = {}
    for seat in seats:
        found.setdefault(level(seat), []).append(seat)
    return {key: tuple(group) for key, group in found.items()}


def cpus_of(seats: Iterable[Seat]) -> CpuSet:
    """Return the CPUs of seats."""
    return union(seat.cpus for seat in seats)


def split(seats: Sequence[Seat], count: int) -> tuple[Seat, ...]:
    """Return the seats with so many cores taken apart into hardware threads, dealt over the cells so that none has more."""
    waiting = [list(group) for group in parts((s for s in seats if s.threads > 1), cell).values()]
    chosen: set[int] = set()
    while len(chosen) < count and any(waiting):
        for group in waiting:
            if group and len(chosen) < count:
                chosen.add(group.pop(0).core)
    return tuple(part for seat in seats for part in (_threads(seat) if seat.core in chosen else (seat,)))


def _threads(seat: Seat) -> tuple[Seat, ...]:
    return tuple(replace(seat, cpus=CpuSet([cpu]), threads=1) for cpu in seat.cpus)


def chop(seats: Iterable[Seat], threads: int) -> list[Chunk]:
    """Return ranks of so many threads, one beside the other; what is left over at the end is nobody's."""
    return _chopped(seats, threads)[0]


def _chopped(seats: Iterable[Seat], threads: int) -> tuple[list[Chunk], list[Seat]]:
    chunks: list[Chunk] = []
    taken: list[Seat] = []
    have = 0
    for seat in seats:
        taken.append(seat)
        have += seat.threads
        if have >= threads:
            chunks.append(Chunk(tuple(taken)))
            taken, have = [], 0
    return chunks, taken


def fenced(seats: Iterable[Seat], level: Level, threads: int) -> list[Chunk]:
    """Return ranks of which none leaves its part of the machine."""
    return [chunk for part in parts(seats, level).values() for chunk in chop(part, threads)]


def seated(seats: Sequence[Seat], threads: int, count: int) -> list[Chunk]:
    """Return so many ranks, or as many as fit; in the order of space.

    As many as can be are inside one L3 group; of what these leave, ranks are made inside a node, and last inside a socket.
    """
    left, chunks = seats, list[Chunk]()
    for level in (cell, node, socket):
        over: list[Seat] = []
        for part in parts(left, level).values():
            made, rest = _chopped(part, threads)
            chunks += made
            over += rest
        if len(chunks) >= count:
            break
        left = over
    place = {seat: position for position, seat in enumerate(seats)}
    return sorted(chunks[:count], key=lambda chunk: place[chunk.seats[0]])
