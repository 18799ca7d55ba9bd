"""The CPU numbers of every core: which order they follow now, and which they have after the change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from advisor.advice.change.cut import NewNode
from advisor.advice.change.positions import CoreMap, CorePosition, Cores
from advisor.errors import BadValue, CannotWork
from advisor.machine.cpu import Cpu
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import Assumption
from advisor.machine.numbering import infer_numbering
from advisor.machine.partitioning import has_smt, scheme
from advisor.machine.platform_traits import Scheme

Order = Literal["linear", "over packages", "over nodes", "over dies"]
Threads = Literal["offset", "adjacent"]

_GROUPS_OF_A_DIE = 2
"""L3 groups of a die of EPYC 7001."""


@dataclass(frozen=True)
class NumberingKeys:
    """What cores are numbered by."""

    seats: CoreMap
    node_of: Mapping[int, tuple[int, int]]
    """For each core its NUMA node in the socket, and its L3 group in that node."""
    die_cut: bool
    """Whether dies take the place of nodes, as the enumeration of EPYC 7001 has them."""

    def key(self, order: Order, seat: CorePosition) -> tuple[int, ...]:
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


def numbering_keys(seats: CoreMap, nodes: tuple[Cores, ...], kind: Scheme) -> NumberingKeys:
    """Return what cores are numbered by in a machine with these NUMA nodes."""
    found: dict[int, tuple[int, int]] = {}
    for number, socket in enumerate(seats.sockets):
        own = frozenset(seat.core for seat in socket)
        here = [cores & own for cores in nodes if cores & own] or [own]
        for position, cores in enumerate(here):
            inside = [group & cores for group in seats.groups(number) if group & cores]
            found.update({core: (position, at) for at, group in enumerate(inside) for core in group})
        found.update(dict.fromkeys(own - found.keys(), (0, 0)))
    return NumberingKeys(seats, found, kind is Scheme.DIES)


_ORDERS: dict[Scheme, tuple[Order, ...]] = {
    Scheme.NPS: ("linear", "over nodes", "over packages", "over dies"),
    Scheme.DIES: ("linear", "over dies", "over nodes", "over packages"),
}
"""The orders seen on each generation, in the order in which they are tried; the second is what its round-robin is taken for."""
_USUAL: tuple[Order, ...] = ("linear", "over packages", "over nodes", "over dies")


def present_order(now: NumberingKeys, kind: Scheme) -> Order | None:
    """Return the order that the present numbers follow exactly; None where none does."""
    numbered = by_first(now.seats)
    return next((order for order in _ORDERS.get(kind, _USUAL) if now.sorted(order) == numbered), None)


def round_robin(kind: Scheme) -> Order:
    """Return how a generation's firmware numbers the cores round-robin."""
    return _ORDERS.get(kind, _USUAL)[1]


def by_first(seats: CoreMap) -> tuple[int, ...]:
    """Return the cores in the order of their first CPU."""
    cores = seats.topology.cores
    return tuple(sorted(range(len(cores)), key=lambda core: cores[core].cpuset.first or 0))


def present_threads(seats: CoreMap) -> Threads:
    """Return where second threads are numbered: beside the first, or after all first ones, as most firmware lists them."""
    steps = {b - a for core in seats.topology.cores for a, b in pairwise(core.cpuset)}
    return "adjacent" if steps == {1} else "offset"


def renumbered(seats: CoreMap, order: tuple[int, ...], threads: int, style: Threads) -> tuple[CpuSet, ...]:
    """Return the CPUs of every core, counted from 0 in an order."""
    total = len(order)
    step = 1 if style == "adjacent" else total
    sets = {
        core: CpuSet((at * threads if style == "adjacent" else at) + step * thread for thread in range(threads))
        for at, core in enumerate(order)
    }
    return tuple(sets[core] for core in range(len(seats.topology.cores)))


def must_be_whole(seats: CoreMap) -> None:
    """Refuse a machine of which CPUs are offline or hidden, for their places are not known; second threads may be."""
    topology = seats.topology
    missing = CpuSet() if missing_are_second(seats) else topology.missing
    hidden = missing or topology.missing_nodes
    if hidden:
        what = "CPUs" if missing else "NUMA nodes"
        raise CannotWork(f"{what} {hidden} are offline or hidden, so what the firmware would do is not known; capture all of it")
    if topology.pus != CpuSet.span(0, len(topology.pus) - 1):
        raise CannotWork("the CPU numbers have holes, so part of the machine may be hidden; capture all of it")


def missing_are_second(seats: CoreMap) -> bool:
    """Return whether the CPUs that are missing are the second threads of the cores that are there."""
    topology = seats.topology
    count = len(topology.cores)
    return topology.missing == CpuSet.span(count, 2 * count - 1) and topology.pus == CpuSet.span(0, count - 1)


@dataclass(frozen=True)
class NewNumbers:
    """The CPUs of every core after the change."""

    cpus: tuple[CpuSet, ...]
    threads: int | None
    """Threads of a core, where SMT was switched."""
    same: bool
    notes: tuple[tuple[str, str], ...]
    """Facts, and what was assumed of them."""


def new_numbers(seats: CoreMap, cpu: Cpu | None, wish: Assumption, cells: Sequence[NewNode] | None) -> NewNumbers:
    """Return the numbers: as they are where nothing asks for others, else counted from 0."""
    now = by_first(seats)
    order, why = _order(seats, scheme(cpu), wish, cells)
    threads = _threads(seats, cpu, wish)
    present = tuple(core.cpuset for core in seats.topology.cores)
    if order == now and threads is None:
        return NewNumbers(present, None, same=True, notes=())
    must_be_whole(seats)
    widths = {len(cpus) for cpus in present}
    if threads is None and len(widths) > 1:
        raise CannotWork("cores differ in their number of threads, so their new numbering is not known")
    notes = [("topology.numbering", why)] if why else []
    if threads == _TWO:
        notes.append(("topology.cores", "second threads are numbered after all first ones, as most firmware lists them"))
    style = present_threads(seats) if max(widths) > 1 else "offset"
    cpus = renumbered(seats, order, threads or widths.pop(), style)
    return NewNumbers(cpus, threads, same=cpus == present, notes=tuple(notes))


_TWO = 2


def _order(seats: CoreMap, kind: Scheme, wish: Assumption, cells: Sequence[NewNode] | None) -> tuple[tuple[int, ...], str | None]:
    """Return the cores in the order of their numbers, and what was assumed of it."""
    present: tuple[Cores, ...] = tuple(cores for _, cores in sorted(seats.nodes.items()))
    then = numbering_keys(seats, tuple(cell.cores for cell in cells) if cells else present, kind)
    follows = present_order(numbering_keys(seats, present, kind), kind)
    if wish.enumeration and infer_numbering(seats.topology).name != wish.enumeration:
        if wish.enumeration == "linear":
            return then.sorted("linear"), "one socket after the other, each in the order of its core numbers"
        order = round_robin(kind)
        return then.sorted(order), f"a round-robin {order}, as servers with such processors show it"
    if cells and follows == "over nodes" and kind is Scheme.NPS:
        return then.sorted(follows), "the round-robin goes over the new nodes"
    return by_first(seats), None


def _threads(seats: CoreMap, cpu: Cpu | None, wish: Assumption) -> int | None:
    """Return the threads of a core where SMT is to be switched."""
    now = max(len(core.cpuset) for core in seats.topology.cores)
    if wish.smt is None or wish.smt == (now > 1):
        return None
    if wish.smt and not has_smt(cpu):
        shown = (cpu.model_name if cpu else None) or "this processor"
        raise BadValue(f"{shown[:60]} is not known to have SMT with two threads per core", cure="it offers smt=off")
    return _TWO if wish.smt else 1
