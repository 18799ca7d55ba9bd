"""Transforms a Machine as its firmware would after a restart with other settings. Pure.

NUMA nodes, L3 groups and CPU numbers change, and what that means for all other facts: known, assumed or no longer known, each
with its reason.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from advisor.advice.change.cores import CoreMap, NewNumbers, core_map, new_numbers
from advisor.advice.change.cut import Target, cut_nodes, distances, l3_groups, new_nodes, target_of, usual
from advisor.errors import BadValue
from advisor.machine.cpuset import LIMIT, CpuSet
from advisor.machine.fact import lists_with
from advisor.machine.hardware import Bios, Cpu, Gpu, Hca, Locality, Memory, Nic, PciDevice
from advisor.machine.layout import Assumption
from advisor.machine.machine import Facts, Gap, Machine, Source
from advisor.machine.operating_system import Hugepages, Kernel
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import L3, Core, Die, Package, SharedL2, Topology
from advisor.measure.platform import Platform

_PLACED: Final = lists_with(Facts, "locality")
"""Lists of what has a place in the machine."""
_HELP: Final = "check again after the restart: advisor audit"
_FEW: Final = 8
_MADE: Final = {
    Scheme.NPS: "each node is a run of L3 groups in the order of the core numbers, as NPS4 is on real EPYC 7002",
    Scheme.DIES: "each node is a die: two L3 groups in the order of the core numbers",
}
_CLUSTERS: Final = "each cluster is a run of cores in the order of their numbers; on some dies the clusters take turns"

_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)
FactUpdates = Iterator[tuple[str, Any, tuple[Gap, ...]]]
"""A field of the Machine, what it becomes, and what is to be said of it."""


def _gap(fact: str, why: str) -> Gap:
    """Return a fact that was assumed, or that nobody can know before the restart."""
    return Gap(fact=fact, why=f"assumed, not read: {why}", help=_HELP)


@dataclass(frozen=True)
class TopologyChange:
    """What the firmware did to the topology."""

    before: Topology
    after: Topology
    homes: Mapping[int, tuple[int, ...]]
    """For each old node the new ones that have CPUs of it."""
    recut: bool
    renumbered: bool
    threads: int | None
    """Threads of a core, where SMT was switched."""


def transform(machine: Machine, wish: Assumption, platform: Platform | None, attributes: frozenset[str] | None = None) -> Machine:
    """Return the machine as it would be after a restart with other settings; itself where it has them already.

    ``attributes`` are the BIOS attributes that hold these settings and are forgotten; None forgets all of them.
    """
    if wish == Assumption():
        raise BadValue("no setting given", cure="give nps=4, smt=off, enumeration=linear or another setting")
    cores = core_map(machine)
    target = target_of(machine, cores, wish, platform)
    cells = new_nodes(cores, target)
    numbers = new_numbers(cores, machine.cpu, wish, [cell.cores for cell in cells] if cells else None)
    second = wish.smt is not None and cores.missing_are_second
    if cells is None and numbers.same and not second:
        return machine
    topology, notes = _renumbered(cores, numbers, second=second), [*numbers.notes]
    if cells is not None:
        nodes = cut_nodes(cores, cells, numbers, sure=_full(machine, platform))
        model = machine.cpu.model if machine.cpu else None
        update: dict[str, Any] = {"nodes": nodes, "allowed_nodes": CpuSet(node.os_index for node in nodes)}
        if target.scheme is Scheme.COD:
            update["l3"] = _in_order(l3_groups(cores, cells, numbers))
        topology = topology.model_copy(update={**update, "distances": distances(cores, cells, target, model)})
        notes += _assumed(cores, target, topology, model)
    own = [(at, cell.cores) for at, cell in enumerate(cells or ())]
    homes = {number: tuple(at for at, inside in own if inside & before) for number, before in cores.nodes.items()}
    threads = numbers.threads or (1 if second else None)
    change = TopologyChange(cores.topology, topology, homes, cells is not None, not numbers.same, threads)
    return _assembled(machine, change, [_gap(*note) for note in notes], f"assumed: {wish.text}", attributes)


def _renumbered(cores: CoreMap, numbers: NewNumbers, *, second: bool) -> Topology:
    """Return the topology with its present nodes and new numbers; a job's limits are gone."""
    old, pus = cores.topology, numbers.of(frozenset(range(len(numbers.cpus))))

    def moved(cpus: CpuSet) -> CpuSet:
        return numbers.of(cores.cores_in(cpus))

    def again(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
        """Return the parts with new numbers, in the order of their first CPU where they were so."""
        new = tuple(part.model_copy(update={"cpuset": moved(part.cpuset)}) for part in parts)
        return _in_order(new) if _in_order(parts) == parts else new

    nodes = (node.model_copy(update={"cpuset": moved(node.cpuset), "near": moved(node.near)}) for node in old.nodes)
    return old.model_copy(
        update={
            "packages": again(old.packages),
            "dies": again(old.dies),
            "cores": again(old.cores),
            "l3": again(old.l3),
            "shared_l2": again(old.shared_l2),
            "nodes": tuple(nodes),
            "pus": pus,
            "missing": CpuSet() if second else old.missing,
            "allowed": pus,
            "allowed_nodes": CpuSet(node.os_index for node in old.nodes),
        }
    )


def _in_order(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Return parts in the order of their first CPU, as sources list them."""
    return tuple(sorted(parts, key=lambda part: LIMIT if part.cpuset.first is None else part.cpuset.first))


def _full(machine: Machine, platform: Platform | None) -> bool:
    """Return whether nothing says that a channel is empty: the parts of a socket then have the same memory."""
    sockets = machine.memory.sockets if machine.memory else None
    wanted = platform.channels if platform else None
    return all(socket.channels in (None, wanted) for socket in sockets or ()) or wanted is None


def _assumed(cores: CoreMap, target: Target, after: Topology, model: int | None) -> Iterator[tuple[str, str]]:
    """Yield facts of a new cut, and what was assumed of each."""
    if target.doubt:
        yield "topology.nodes", target.doubt
    if len(after.cpu_nodes) > len(cores.nodes) or target.l3_as_node:
        yield "topology.nodes", _MADE.get(target.scheme, _CLUSTERS)
        even = "assumed: memory is split evenly"
        unknown = "channels are empty or a size is not reported, so the share of each node is not known"
        yield "topology.nodes.memory", unknown if any(node.memory is None for node in after.cpu_nodes) else even
    if after.distances is None and len(after.nodes) > 1:
        yield "topology.distances", "the firmware's distances of the new nodes are not known"
    elif len(after.nodes) > 1:
        alone = "" if len(after.cpu_nodes) == len(after.nodes) else "; those of memory without CPUs are not known"
        seen = usual(target, model).seen
        yield "topology.distances", f"those shown now where they are of the same kind, else {seen}{alone}"


def _assembled(
    machine: Machine, change: TopologyChange, gaps: list[Gap], where: str, attributes: frozenset[str] | None
) -> Machine:
    """Return the machine after the change; sources and gaps say what was not read."""
    updates: dict[str, Any] = {"topology": change.after}
    for field, value, own in _dependent(machine, change):
        updates[field] = value
        gaps += own
    if machine.bios is not None:
        updates["bios"] = _bios(machine.bios, attributes)
        gaps.append(_gap("bios", "the attributes that hold these settings are left out"))
    changed = {fact: value for field in updates for fact, value in _differing(field, getattr(machine, field), updates[field])}
    kept = [each for each in machine.sources if not any(f"{each.fact}.".startswith(f"{fact}.") for fact in changed)]
    read = [fact for fact, value in changed.items() if value is not None or fact.startswith(_PLACED)]
    facts = {each.fact for each in gaps}  # reported anew
    updates["sources"] = (*kept, *(Source(fact=fact, where=where) for fact in read))
    updates["gaps"] = (*(each for each in machine.gaps if each.fact not in facts), *gaps)
    return machine.model_copy(update=updates)


def _bios(bios: Bios, attributes: frozenset[str] | None) -> Bios | None:
    if attributes is None:
        return None
    left = {name: value for name, value in bios.attributes.items() if name not in attributes}
    waits = bios.pending and {name: value for name, value in bios.pending.items() if name not in attributes}
    return bios.model_copy(update={"attributes": left, "pending": waits})


def _differing(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any]]:
    """Yield the facts that differ: a section that went, or its fields; lists of devices by what changed in any of them."""
    if old == new:
        return
    if isinstance(old, BaseModel) and isinstance(new, BaseModel) and name != "topology":
        for field in type(old).model_fields:
            if getattr(old, field) != getattr(new, field):
                yield f"{name}.{field}", getattr(new, field)
    elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        for a, b in zip(old, new, strict=True):
            yield from _differing(name, a, b)
    else:
        yield name, new


def _dependent(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield what becomes of everything that is not topology."""
    yield from _tables(machine, change)
    if machine.limits is not None:
        limits = machine.limits.model_copy(update=dict.fromkeys(("affinity", "memory_nodes", "cgroup")))
        yield "limits", limits, (_gap("limits.affinity", "which CPUs and nodes a process may use then"),)
    if machine.memory and machine.memory.processors and change.threads:
        yield "memory", _processors(machine.memory, change.threads), ()
    if machine.cpu is not None:
        yield "cpu", _cpu(machine.cpu, change), ()
    if machine.kernel is not None:
        yield "kernel", *_kernel(machine.kernel, change)
    named: set[str | None] = set()
    for field in sorted(_PLACED, key=lambda field: field == "pci"):  # a PCI device that is an adapter is listed once
        devices = getattr(machine, field)
        if devices is not None:
            moved = tuple(_moved(device, change) for device in devices)
            why = _lost(devices, moved, change, named)
            irqs = any(getattr(device, "irqs", None) for device in devices)
            reasons = [("locality", why)] if why else []
            reasons += [("irqs", "interrupts are distributed over the CPUs again")] if irqs else []
            yield field, moved, tuple(_gap(f"{field}.{fact}", reason) for fact, reason in reasons)
            named |= {device.address for device in devices}


def _tables(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield what is known of the old nodes and CPUs as a whole, and does not outlive them."""
    if machine.acpi is not None:
        yield "acpi", None, (_gap("acpi", "the firmware rewrites its tables at the restart"),)
    if machine.tiers is not None and change.recut:
        yield "tiers", None, (_gap("tiers", "the memory's speeds were reported for nodes that no longer exist"),)
    if machine.allocation is not None:
        yield "allocation", None, (_gap("allocation", "the job ends with the restart"),)
    if machine.slurm_nodes is not None and (change.recut or change.threads):
        left = tuple(node for node in machine.slurm_nodes if "slurmd" not in node.source)
        if left != machine.slurm_nodes:
            yield "slurm_nodes", left or None, (_gap("slurm_nodes", "what slurmd finds then; what slurm.conf says stays"),)


def _processors(memory: Memory, threads: int) -> Memory:
    processors = []
    for each in memory.processors or ():
        number = (each.cores_enabled or each.cores or 0) * threads or None
        processors.append(each.model_copy(update={"threads": number}) if each.threads else each)
    return memory.model_copy(update={"processors": tuple(processors)})


def _cpu(cpu: Cpu, change: TopologyChange) -> Cpu:
    """Return the processors; a C-state that was off on every CPU stays off on all, one that was off on some is not known."""

    def everywhere(cpus: CpuSet | None) -> CpuSet | None:
        if not cpus or (not change.renumbered and cpus <= change.after.pus):
            return cpus
        return change.after.pus if change.before.pus <= cpus else None

    states, control = cpu.idle_states, cpu.smt_control
    if states is not None:
        states = tuple(state.model_copy(update={"disabled": everywhere(state.disabled)}) for state in states)
    if change.threads and control is not None:
        control = "on" if change.threads > 1 else "notsupported"
    return cpu.model_copy(update={"idle_states": states, "smt_control": control})


def _kernel(kernel: Kernel, change: TopologyChange) -> tuple[Kernel, tuple[Gap, ...]]:
    """Return the kernel with the same boot options: isolated CPUs keep their numbers, whatever cores those now are."""
    updates: dict[str, Any] = {}
    gaps, pages = [], kernel.hugepages
    if change.recut and pages is not None and any(page.count for page in pages):
        updates["hugepages"] = None
        gaps.append(_gap("kernel.hugepages", "the kernel distributes hugepages over the nodes at boot"))
    elif change.recut and pages is not None:  # none on every node where there are none now
        sizes = dict.fromkeys(page.page for page in pages)
        rows = (Hugepages(node=node.os_index, page=size, count=0) for node in change.after.nodes for size in sizes)
        updates["hugepages"] = tuple(rows)
    for name, option in (("isolated", "isolcpus"), ("nohz_full", "nohz_full")) if change.renumbered else ():
        cpus = getattr(kernel, name)
        if cpus:
            stays = bool(kernel.option(option))
            updates[name] = cpus & change.after.pus if stays else None
            why = f"{option} keeps its numbers, which name other cores now" if stays else f"{name} CPUs are not known"
            gaps.append(_gap(f"kernel.{name}", why))
    return kernel.model_copy(update=updates), tuple(gaps)


def _moved(device: Hca | Nic | Gpu | PciDevice, change: TopologyChange) -> Hca | Nic | Gpu | PciDevice:
    place = _place(device.locality, change) if change.recut else device.locality
    # Which CPUs inside a node are nearest is given by their old numbers, and these may have gone to others.
    updates: dict[str, Any] = {"locality": place.model_copy(update={"cpus": None}) if place and place.cpus else place}
    return device.model_copy(update={**updates, **({"irqs": None} if isinstance(device, Hca) else {})})


def _place(place: Locality | None, change: TopologyChange) -> Locality | None:
    """Return where a device is: known where each of its nodes lies in one new node, else on one of those of its old ones.

    Nothing is known where these are all nodes that there are.
    """
    if place is None or not place.numa_nodes:
        return place
    homes = [change.homes.get(node, ()) for node in place.numa_nodes]
    nodes = tuple(sorted({node for new in homes for node in new}))
    if not nodes or not all(homes):
        return None
    if all(len(new) == 1 for new in homes) and not (place.one_of and len(nodes) > 1):
        return place.model_copy(update={"numa_nodes": nodes} | ({"one_of": False, "inferred": None} if place.one_of else {}))
    if set(nodes) >= {node.os_index for node in change.after.cpu_nodes}:
        return None
    why = f"assumed: the coarser partitioning does not show on which of nodes {CpuSet(nodes)} it is"
    return Locality(numa_nodes=nodes, inferred=why, one_of=True)


def _lost(before: Iterable[Any], after: Iterable[Any], change: TopologyChange, named: set[str | None]) -> str | None:
    """Return which devices may now be on several nodes; of those ``named`` before, that they are the same."""
    where: dict[str, list[str]] = {}
    pairs = zip(before, after, strict=True)
    lost = [old for old, new in pairs if old.locality and (not new.locality or new.locality.one_of)]
    for old in lost:
        if not (isinstance(old, PciDevice) and old.address in named):
            maybe = CpuSet(node for home in old.locality.numa_nodes for node in change.homes.get(home, ()))
            where.setdefault(str(maybe), []).append(old.name if isinstance(old, Hca | Nic) else old.address)
    if lost and not where:
        return "those of the adapters and interfaces are as theirs"
    few = {
        nodes: ", ".join(own[:_FEW]) + (f" and {len(own) - _FEW} more" if len(own) > _FEW else "") for nodes, own in where.items()
    }
    words = "; ".join(f"{names} on one of nodes {nodes}" for nodes, names in few.items())
    return f"the present NUMA partitioning is coarser and does not show which: {words}" if words else None
