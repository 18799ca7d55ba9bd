"""Decides how the cores are numbered after the change."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.change.cells import Cell
from advisor.change.numbers import (
    by_first,
    must_be_whole,
    plan,
    present_order,
    present_threads,
    renumbered,
    round_robin,
)
from advisor.change.seats import Cores, Seats
from advisor.errors import BadValue, CannotWork
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.cpu import Cpu, Scheme, scheme
from advisor.model.hardware.layout import Assumption
from advisor.model.hardware.numbering import infer_numbering


@dataclass(frozen=True)
class Numbered:
    """The CPUs of every core after the change."""

    cpus: tuple[CpuSet, ...]
    threads: int | None
    """Threads of a core, where SMT was switched."""
    same: bool
    notes: tuple[tuple[str, str], ...]
    """Facts, and what was assumed of them."""


def number(seats: Seats, cpu: Cpu | None, wish: Assumption, cells: Sequence[Cell] | None) -> Numbered:
    """Return the numbers: as they are where nothing asks for others, else counted from 0."""
    now = by_first(seats)
    order, why = _order(seats, scheme(cpu), wish, cells)
    threads = _threads(seats, cpu, wish)
    present = tuple(core.cpuset for core in seats.topology.cores)
    if order == now and threads is None:
        return Numbered(present, None, same=True, notes=())
    must_be_whole(seats)
    widths = {len(cpus) for cpus in present}
    if threads is None and len(widths) > 1:
        raise CannotWork("cores differ in their number of threads, so how they would be numbered anew is not known")
    notes = [("topology.numbering", why)] if why else []
    if threads == _TWO:
        notes.append(("topology.cores", "second threads are numbered after all first ones, as most firmware lists them"))
    style = present_threads(seats) if max(widths) > 1 else "offset"
    cpus = renumbered(seats, order, threads or widths.pop(), style)
    return Numbered(cpus, threads, same=cpus == present, notes=tuple(notes))


_TWO = 2
_INTEL_E_CORES = (175, 221)
"""Sierra Forest and Clearwater Forest."""


def _order(seats: Seats, kind: Scheme, wish: Assumption, cells: Sequence[Cell] | None) -> tuple[tuple[int, ...], str | None]:
    """Return the cores in the order of their numbers, and what was assumed of it."""
    present: tuple[Cores, ...] = tuple(cores for _, cores in sorted(seats.nodes.items()))
    then = plan(seats, tuple(cell.cores for cell in cells) if cells else present, kind)
    follows = present_order(plan(seats, present, kind), kind)
    if wish.enumeration and infer_numbering(seats.topology).name != wish.enumeration:
        if wish.enumeration == "linear":
            return then.sorted("linear"), "one socket after the other, each in the order of its core numbers"
        order = round_robin(kind)
        return then.sorted(order), f"a round robin {order}, as servers with such processors show it"
    if cells and follows == "over nodes" and kind is Scheme.NPS:
        return then.sorted(follows), "the round robin goes over the new nodes"
    return by_first(seats), None


def _threads(seats: Seats, cpu: Cpu | None, wish: Assumption) -> int | None:
    """Return the threads of a core where SMT is to be switched."""
    now = max(len(core.cpuset) for core in seats.topology.cores)
    if wish.smt is None or wish.smt == (now > 1):
        return None
    if wish.smt and not _has_smt(cpu):
        shown = (cpu.model_name if cpu else None) or "this processor"
        raise BadValue(f"{shown[:60]} is not known to have SMT with two threads a core", cure="it offers smt=off")
    return _TWO if wish.smt else 1


def _has_smt(cpu: Cpu | None) -> bool:
    if cpu is None or cpu.vendor not in ("AuthenticAMD", "GenuineIntel", "HygonGenuine"):
        return False
    return scheme(cpu) is not Scheme.KNL and not (cpu.vendor == "GenuineIntel" and cpu.model in _INTEL_E_CORES)
