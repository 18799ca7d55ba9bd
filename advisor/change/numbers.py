"""The CPU numbers of every core: which order they follow now, and which they would follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from advisor.change.seats import Cores, Seat, Seats
from advisor.errors import CannotWork
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.cpu import Scheme

Order = Literal["linear", "over packages", "over nodes", "over dies"]
Threads = Literal["offset", "adjacent"]

_GROUPS_OF_A_DIE = 2
"""L3 groups of a die of EPYC 7001."""


@dataclass(frozen=True)
class Plan:
    """What cores are numbered by."""

    seats: Seats
    node_of: Mapping[int, tuple[int, int]]
    """For each core its NUMA node in the socket, and its L3 group in that node."""
    die_cut: bool
    """Whether dies take the place of nodes, as the enumeration of EPYC 7001 has them."""

    def key(self, order: Order, seat: Seat) -> tuple[int, ...]:
        """Return what a core is sorted by."""
        node, group = divmod(seat.group, _GROUPS_OF_A_DIE) if self.die_cut else self.node_of[seat.core]
        keys: dict[Order, tuple[int, ...]] = {
            "linear": (seat.socket, seat.index),
            "over packages": (seat.index, seat.socket),
            "over nodes": (seat.place, group, seat.socket, node),
            "over dies": (seat.place, group, node, seat.socket),
        }
        return keys[order]

    def sorted(self, order: Order) -> tuple[int, ...]:
        """Return the cores in an order."""
        return tuple(seat.core for seat in sorted(self.seats.every, key=lambda seat: self.key(order, seat)))


def plan(seats: Seats, nodes: tuple[Cores, ...], kind: Scheme) -> Plan:
    """Return what cores are numbered by in a machine with these NUMA nodes."""
    found: dict[int, tuple[int, int]] = {}
    for number, socket in enumerate(seats.sockets):
        own = frozenset(seat.core for seat in socket)
        here = [cores & own for cores in nodes if cores & own] or [own]
        for position, cores in enumerate(here):
            inside = [group & cores for group in seats.groups(number) if group & cores]
            found.update({core: (position, at) for at, group in enumerate(inside) for core in group})
        found.update(dict.fromkeys(own - found.keys(), (0, 0)))
    return Plan(seats, found, kind is Scheme.DIES)


_ORDERS: dict[Scheme, tuple[Order, ...]] = {
    Scheme.NPS: ("linear", "over nodes", "over packages", "over dies"),
    Scheme.DIES: ("linear", "over dies", "over nodes", "over packages"),
}
"""The orders seen on each generation, in the order in which they are tried; the second is what its round robin is taken for."""
_USUAL: tuple[Order, ...] = ("linear", "over packages", "over nodes", "over dies")


def present_order(now: Plan, kind: Scheme) -> Order | None:
    """Return the order that the present numbers follow exactly; None where none does."""
    numbered = by_first(now.seats)
    return next((order for order in _ORDERS.get(kind, _USUAL) if now.sorted(order) == numbered), None)


def round_robin(kind: Scheme) -> Order:
    """Return how a generation's firmware deals the cores in turn."""
    return _ORDERS.get(kind, _USUAL)[1]


def by_first(seats: Seats) -> tuple[int, ...]:
    """Return the cores in the order of their first CPU."""
    cores = seats.topology.cores
    return tuple(sorted(range(len(cores)), key=lambda core: cores[core].cpuset.first or 0))


def present_threads(seats: Seats) -> Threads:
    """Return where second threads are numbered: beside the first, or after all first ones, as most firmware lists them."""
    steps = {b - a for core in seats.topology.cores for a, b in pairwise(core.cpuset)}
    return "adjacent" if steps == {1} else "offset"


def renumbered(seats: Seats, order: tuple[int, ...], threads: int, style: Threads) -> tuple[CpuSet, ...]:
    """Return the CPUs of every core, counted from 0 in an order."""
    total = len(order)
    step = 1 if style == "adjacent" else total
    sets = {
        core: CpuSet((at * threads if style == "adjacent" else at) + step * thread for thread in range(threads))
        for at, core in enumerate(order)
    }
    return tuple(sets[core] for core in range(len(seats.topology.cores)))


def must_be_whole(seats: Seats) -> None:
    """Refuse a machine of which CPUs are offline or hidden, for their places are not known; second threads may be."""
    topology = seats.topology
    missing = CpuSet() if missing_are_second(seats) else topology.missing
    hidden = missing or topology.missing_nodes
    if hidden:
        what = "CPUs" if missing else "NUMA nodes"
        raise CannotWork(f"{what} {hidden} are offline or hidden, so what the firmware would do is not known; capture all of it")
    if topology.pus != CpuSet.span(0, len(topology.pus) - 1):
        raise CannotWork("the CPU numbers have holes, so part of the machine may be hidden; capture all of it")


def missing_are_second(seats: Seats) -> bool:
    """Return whether the CPUs that are missing are the second threads of the cores that are there."""
    topology = seats.topology
    count = len(topology.cores)
    return topology.missing == CpuSet.span(count, 2 * count - 1) and topology.pus == CpuSet.span(0, count - 1)
