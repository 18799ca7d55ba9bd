"""Transforms a Machine as its firmware would after a restart with other settings: NUMA nodes, L3 groups, CPU numbers. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from advisor.advice.change.consequences import TopologyChange, assembled, notes_of
from advisor.advice.change.cut import NewNode, Target, distances, has_virtual, new_nodes, target_of
from advisor.advice.change.numbering import NewNumbers, missing_are_second, must_be_whole, new_numbers
from advisor.advice.change.positions import CoreMap, Cores, core_map
from advisor.errors import BadValue
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.layout import Assumption
from advisor.machine.machine import Machine
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import L3, Core, Die, NumaNode, Package, SharedL2, Topology
from advisor.measure.platform import Platform

CpusOfCores = Sequence[CpuSet]
"""The CPUs of every core."""


def cpus_of(cores: Cores, numbers: CpusOfCores) -> CpuSet:
    """Return the CPUs of some cores."""
    return union(numbers[core] for core in cores)


def kept_nodes(seats: CoreMap, numbers: CpusOfCores) -> tuple[NumaNode, ...]:
    """Return the present nodes with their CPUs renumbered."""
    return tuple(
        node.model_copy(
            update={
                "cpuset": cpus_of(seats.cores_in(node.cpuset), numbers),
                "near": cpus_of(seats.cores_in(node.near), numbers),
            }
        )
        for node in seats.topology.nodes
    )


def cut_nodes(seats: CoreMap, cells: Sequence[NewNode], numbers: CpusOfCores, *, sure: bool) -> tuple[NumaNode, ...]:
    """Return the nodes of a new cut; memory whose split is not ``sure`` is not known."""
    memory = _memory(seats, cells, sure=sure)
    nodes = [
        NumaNode(os_index=at, cpuset=cpus, near=cpus, memory=memory[at])
        for at, cpus in enumerate(cpus_of(cell.cores, numbers) for cell in cells)
    ]
    return (*nodes, *_alone(seats, cells, numbers))


def _memory(seats: CoreMap, cells: Sequence[NewNode], *, sure: bool) -> list[int | None]:
    """Return the memory of each cell: that of the nodes inside it, and even shares of those it divides."""
    total: list[int | None] = [0] * len(cells)
    size = {node.os_index: node.memory for node in seats.topology.cpu_nodes}
    for number, cores in seats.nodes.items():
        over = [at for at, cell in enumerate(cells) if cell.cores & cores]
        whole = size[number]
        for share, at in enumerate(over):
            before = total[at]
            if before is None or whole is None or (len(over) > 1 and not sure):
                total[at] = None
            else:
                total[at] = before + whole // len(over) + (share < whole % len(over))
    return total


def _alone(seats: CoreMap, cells: Sequence[NewNode], numbers: CpusOfCores) -> tuple[NumaNode, ...]:
    """Return the nodes without CPUs, numbered after those with: HBM one for each node of its socket, others as they are."""
    others = [node for node in seats.topology.nodes if not node.cpuset]
    hbm = [node for node in others if node.kind == "hbm"]
    result: list[NumaNode] = []
    for cell in cells if hbm else ():
        beside = [other.cores for other in cells if other.socket == cell.socket]
        own = [node for node in hbm if seats.cores_in(node.near) & frozenset().union(*beside)]
        sizes = [node.memory for node in own]
        each = None if None in sizes else sum(size for size in sizes if size) // len(beside)
        near = cpus_of(cell.cores, numbers)
        result.append(NumaNode(os_index=0, cpuset=CpuSet(), near=near, memory=each, kind="hbm"))
    for node in others:
        if node.kind != "hbm":
            near = union(cpus_of(cell.cores, numbers) for cell in cells if cell.cores & seats.cores_in(node.near))
            result.append(node.model_copy(update={"near": near}))
    return tuple(node.model_copy(update={"os_index": len(cells) + at}) for at, node in enumerate(result))


def l3_groups(seats: CoreMap, cells: Sequence[NewNode], numbers: CpusOfCores) -> tuple[L3, ...]:
    """Return the L3 of each cluster: its share of the L3 groups that reach into it."""
    present = [(seats.cores_in(l3.cpuset), l3.size) for l3 in seats.topology.l3]
    found = []
    for cell in cells:
        own = [(cell.cores & cores, size and size * len(cell.cores & cores) // len(cores)) for cores, size in present]
        parts = [(cores, size) for cores, size in own if cores]
        cpus = cpus_of(frozenset[int]().union(*(cores for cores, _ in parts)), numbers)
        if parts:
            found.append(L3(cpuset=cpus, size=_sum(size for _, size in parts)))
    return tuple(found)


def _sum(sizes: Iterable[int | None]) -> int | None:
    known = tuple(sizes)
    return None if None in known else sum(size for size in known if size)


def transform(machine: Machine, wish: Assumption, platform: Platform | None, attributes: frozenset[str] | None = None) -> Machine:
    """Return the machine as it would be after a restart with other settings; itself where it has them already.

    ``attributes`` are the BIOS attributes that hold these settings and are forgotten; None forgets all of them.
    """
    if wish == Assumption():
        raise BadValue("no setting is given", cure="give nps=4, smt=off, enumeration=linear or another setting")
    seats = core_map(machine)
    target = target_of(machine, seats, wish, platform)
    cells = _new_cells(seats, target)
    numbered = new_numbers(seats, machine.cpu, wish, cells)
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
    change = TopologyChange(seats.topology, topology, homes, cells is not None, not numbered.same, threads)
    notes = [*numbered.notes, *(notes_of(machine, seats, target, topology) if cells else ())]
    return assembled(machine, change, notes, wish.text, attributes)


def _new_cells(seats: CoreMap, target: Target) -> tuple[NewNode, ...] | None:
    """Return the new nodes; None where the nodes stay as they are."""
    if target.nodes is None:
        return None
    cells = new_nodes(seats, target)
    domains = {cell.domain for cell in cells}
    same = {cell.cores for cell in cells} == set(seats.nodes.values())
    if same and len(domains) == len(cells) and not has_virtual(seats.topology):
        return None
    must_be_whole(seats)
    return cells


def _homes(seats: CoreMap, cells: Iterable[NewNode]) -> dict[int, tuple[int, ...]]:
    """Return for each present node the new ones that have cores of it."""
    new = [(at, cell.cores) for at, cell in enumerate(cells)]
    return {number: tuple(at for at, inside in new if inside & cores) for number, cores in seats.nodes.items()}


def _topology(seats: CoreMap, numbered: NewNumbers, *, second: bool) -> Topology:
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
            "nodes": kept_nodes(seats, cpus),
            "pus": pus,
            "missing": CpuSet() if second else old.missing,
            "allowed": pus,
            "allowed_nodes": CpuSet(node.os_index for node in old.nodes),
        }
    )


class _Recut(NamedTuple):
    """A new cut, and what of the machine it needs to know."""

    target: Target
    cells: tuple[NewNode, ...]
    sure: bool
    """Whether parts of a socket have the same memory."""
    model: int | None
    """Model of the processor."""


def _cut_anew(topology: Topology, seats: CoreMap, numbers: CpusOfCores, new: _Recut) -> Topology:
    """Return the topology, its cores numbered already, with new nodes."""
    nodes = cut_nodes(seats, new.cells, numbers, sure=new.sure)
    split = new.target.scheme is Scheme.COD
    return topology.model_copy(
        update={
            "nodes": nodes,
            "allowed_nodes": CpuSet(node.os_index for node in nodes),
            "l3": in_order(l3_groups(seats, new.cells, numbers)) if split else topology.l3,
            "distances": distances(seats, new.cells, new.target, new.model),
        }
    )


def _full(machine: Machine, platform: Platform | None) -> bool:
    """Return whether nothing says that a channel is empty: the parts of a socket then have the same memory."""
    sockets = machine.memory.sockets if machine.memory else None
    wanted = platform.channels if platform else None
    return all(socket.channels in (None, wanted) for socket in sockets or ()) or wanted is None


_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)


def _again(parts: tuple[_Part, ...], seats: CoreMap, numbers: CpusOfCores) -> tuple[_Part, ...]:
    """Return the parts with new numbers, in the order of their first CPU where they were so."""
    new = tuple(part.model_copy(update={"cpuset": cpus_of(seats.cores_in(part.cpuset), numbers)}) for part in parts)
    return in_order(new) if in_order(parts) == parts else new


def in_order(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Return parts in the order of their first CPU, as sources list them."""
    return tuple(sorted(parts, key=lambda part: LIMIT if part.cpuset.first is None else part.cpuset.first))
