"""The NUMA nodes that a cut makes: which cores are in each."""

from dataclasses import dataclass
from itertools import pairwise

from advisor.change.seats import Cores, Seats
from advisor.change.target import Target
from advisor.errors import BadValue
from advisor.model.hardware.cpu import Scheme


@dataclass(frozen=True)
class Cell:
    """A NUMA node to be."""

    cores: Cores
    socket: int | None
    """None where it spans several."""
    domain: int
    """Which memory it shares, counted in the machine; L3 groups of one NPS node share one."""


def cells_of(seats: Seats, target: Target) -> tuple[Cell, ...]:
    """Return the nodes in the order of their numbers."""
    if target.nodes is None:
        raise BadValue("no cut is wished for", cure="say nps, l3-as-node, interleave, snc or cod")
    if target.nodes == "all":
        return (Cell(frozenset(seat.core for seat in seats.every), None if len(seats.sockets) > 1 else 0, 0),)
    cells: list[Cell] = []
    domains = 0
    for number in range(len(seats.sockets)):
        for cores in _domains(seats, number, target.nodes, target.scheme):
            parts = [cores & group for group in seats.groups(number) if cores & group] if target.l3_as_node else [cores]
            cells += [Cell(part, number, domains) for part in parts]
            domains += 1
    return tuple(cells)


def _domains(seats: Seats, socket: int, count: int, kind: Scheme) -> tuple[Cores, ...]:
    """Return so many parts of a socket: present nodes joined, or present nodes divided, or the socket divided anew."""
    parts = seats.parts(socket)
    if len(parts) % count == 0:
        return _joined(parts, len(parts) // count)
    whole = parts if count % len(parts) == 0 else (frozenset(seat.core for seat in seats.sockets[socket]),)
    each = count // len(whole)
    return tuple(piece for part in whole for piece in _divided(seats, socket, part, each, kind))


def _joined(parts: tuple[Cores, ...], size: int) -> tuple[Cores, ...]:
    return tuple(frozenset().union(*parts[at : at + size]) for at in range(0, len(parts), size))


def _divided(seats: Seats, socket: int, part: Cores, count: int, kind: Scheme) -> tuple[Cores, ...]:
    """Return a node's pieces: whole L3 groups on EPYC, runs of cores on Xeon, where the L3 is one."""
    if kind in (Scheme.NPS, Scheme.DIES):
        groups = tuple(group for group in seats.groups(socket) if group <= part)
        if not seats.topology.l3 or len(groups) % count:
            shown = f"{len(groups)} L3 groups do not divide into {count} nodes" if seats.topology.l3 else "no L3 group is shown"
            raise BadValue(f"{shown}, so the nodes cannot be told", cure="take a capture on the machine: advisor capture")
        return _joined(groups, len(groups) // count)
    cores = [seat.core for seat in seats.sockets[socket] if seat.core in part]
    if len(cores) < count:
        raise BadValue(f"{len(cores)} cores do not make {count} nodes", cure="choose fewer")
    ends = [len(cores) * at // count for at in range(count + 1)]
    return tuple(frozenset(cores[a:b]) for a, b in pairwise(ends))
