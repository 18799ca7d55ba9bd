"""Transforms a Machine as its firmware would after a restart with other settings. Pure."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from advisor.change.around import Change
from advisor.change.assemble import assembled, notes_of
from advisor.change.caches import caches
from advisor.change.cells import Cell, cells_of
from advisor.change.distances import distances, has_virtual
from advisor.change.nodes import Numbers, cpus_of, kept, recut
from advisor.change.numbering import Numbered, number
from advisor.change.numbers import missing_are_second, must_be_whole
from advisor.change.seats import Seats, seats_of
from advisor.change.target import Target, target_of
from advisor.errors import BadValue
from advisor.model.audit.platform import Platform
from advisor.model.cpuset import LIMIT, CpuSet
from advisor.model.hardware.cpu import Scheme
from advisor.model.hardware.layout import Assumption
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import L3, Core, Die, Package, SharedL2, Topology


def transform(machine: Machine, wish: Assumption, platform: Platform | None, attributes: frozenset[str] | None = None) -> Machine:
    """Return the machine as it would be after a restart with other settings; itself where it has them already.

    ``attributes`` are the BIOS attributes that hold these settings and are forgotten; None forgets all of them.
    """
    if wish == Assumption():
        raise BadValue("nothing is assumed", cure="say nps=4, smt=off, enumeration=linear or another setting")
    seats = seats_of(machine)
    target = target_of(machine, seats, wish, platform)
    cells = _new_cells(seats, target)
    numbered = number(seats, machine.cpu, wish, cells)
    second = wish.smt is not None and missing_are_second(seats)
    if cells is None and numbered.same and not second:
        return machine
    topology = _topology(seats, numbered, second=second)
    if cells is not None:
        model = machine.cpu.model if machine.cpu else None
        new = _Recut(target, cells, _full(machine, platform), model)
        topology = _cut_anew(topology, seats, numbered.cpus, new)
    threads = numbered.threads or (1 if second else None)
    homes = _homes(seats, cells or ())
    change = Change(seats.topology, topology, homes, cells is not None, not numbered.same, threads)
    notes = [*numbered.notes, *(notes_of(machine, seats, target, topology) if cells else ())]
    return assembled(machine, change, notes, wish.text, attributes)


def _new_cells(seats: Seats, target: Target) -> tuple[Cell, ...] | None:
    """Return the new nodes; None where the nodes stay as they are."""
    if target.nodes is None:
        return None
    cells = cells_of(seats, target)
    domains = {cell.domain for cell in cells}
    same = {cell.cores for cell in cells} == set(seats.nodes.values())
    if same and len(domains) == len(cells) and not has_virtual(seats.topology):
        return None
    must_be_whole(seats)
    return cells


def _homes(seats: Seats, cells: Iterable[Cell]) -> dict[int, tuple[int, ...]]:
    """Return for each present node the new ones that have cores of it."""
    new = [(at, cell.cores) for at, cell in enumerate(cells)]
    return {number: tuple(at for at, inside in new if inside & cores) for number, cores in seats.nodes.items()}


def _topology(seats: Seats, numbered: Numbered, *, second: bool) -> Topology:
    """Return the topology with its present nodes and new numbers; a job's limits are gone."""
    old, cpus = seats.topology, numbered.cpus
    pus = cpus_of(frozenset(range(len(cpus))), cpus)
    return old.model_copy(
        update={
            "packages": _again(old.packages, seats, cpus),
            "dies": _again(old.dies, seats, cpus),
            "cores": _again(old.cores, seats, cpus),
            "l3": _again(old.l3, seats, cpus),
            "shared_l2": _again(old.shared_l2, seats, cpus),
            "nodes": kept(seats, cpus),
            "pus": pus,
            "missing": CpuSet() if second else old.missing,
            "allowed": pus,
            "allowed_nodes": CpuSet(node.os_index for node in old.nodes),
        }
    )


class _Recut(NamedTuple):
    """A new cut, and what of the machine it needs to know."""

    target: Target
    cells: tuple[Cell, ...]
    sure: bool
    """Whether parts of a socket have the same memory."""
    model: int | None
    """Model of the processor."""


def _cut_anew(topology: Topology, seats: Seats, numbers: Numbers, new: _Recut) -> Topology:
    """Return the topology, its cores numbered already, with new nodes."""
    nodes = recut(seats, new.cells, numbers, sure=new.sure)
    split = new.target.scheme is Scheme.COD
    return topology.model_copy(
        update={
            "nodes": nodes,
            "allowed_nodes": CpuSet(node.os_index for node in nodes),
            "l3": in_order(caches(seats, new.cells, numbers)) if split else topology.l3,
            "distances": distances(seats, new.cells, new.target, new.model),
        }
    )


def _full(machine: Machine, platform: Platform | None) -> bool:
    """Return whether nothing says that a channel is empty: the parts of a socket then have the same memory."""
    sockets = machine.memory.sockets if machine.memory else None
    wanted = platform.channels if platform else None
    return all(socket.channels in (None, wanted) for socket in sockets or ()) or wanted is None


_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)


def _again(parts: tuple[_Part, ...], seats: Seats, numbers: Numbers) -> tuple[_Part, ...]:
    """Return the parts with new numbers, in the order of their first CPU where they were so."""
    new = tuple(part.model_copy(update={"cpuset": cpus_of(seats.cores_in(part.cpuset), numbers)}) for part in parts)
    return in_order(new) if in_order(parts) == parts else new


def in_order(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Return parts in the order of their first CPU, as sources list them."""
    return tuple(sorted(parts, key=lambda part: LIMIT if part.cpuset.first is None else part.cpuset.first))
