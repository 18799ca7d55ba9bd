"""What a new cut or numbering means for all other facts: known, assumed or no longer known, each with its reason."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from advisor.advice.change.cut import Target, usual
from advisor.advice.change.positions import CoreMap
from advisor.machine.cpu import Cpu
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Gpu, Hca, Locality, Nic, PciDevice
from advisor.machine.fact import lists_with
from advisor.machine.firmware import Bios
from advisor.machine.machine import Facts, Gap, Machine, Source
from advisor.machine.memory import Memory
from advisor.machine.operating_system import Hugepages, Kernel
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import Topology

HELP = "look again after the restart: advisor audit"


def gap(fact: str, why: str) -> Gap:
    """Return a fact that was assumed, or that nobody can know before the restart."""
    return Gap(fact=fact, why=f"assumed, not read: {why}", help=HELP)


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


_PLACED: Final = lists_with(Facts, "locality")
"""Lists of what has a place in the machine."""

FactUpdates = Iterator[tuple[str, Any, tuple[Gap, ...]]]
"""A field of the Machine, what it becomes, and what is to be said of it."""


def dependent_facts(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield what becomes of everything that is not topology."""
    yield from _tables(machine, change)
    if machine.limits is not None:
        gone = dict.fromkeys(("affinity", "memory_nodes", "cgroup"))
        told = gap("limits.affinity", "which CPUs and nodes a process may use then")
        yield "limits", machine.limits.model_copy(update=gone), (told,)
    if machine.memory and machine.memory.processors and change.threads:
        yield "memory", _processors(machine.memory, change.threads), ()
    if machine.cpu is not None:
        yield "cpu", _cpu(machine.cpu, change), ()
    if machine.kernel is not None:
        yield "kernel", *_kernel(machine.kernel, change)
    yield from _devices(machine, change)


def _devices(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield the devices; a PCI device that is an adapter is listed once."""
    named: set[str | None] = set()
    for field in sorted(_PLACED, key=lambda field: field == "pci"):
        devices = getattr(machine, field)
        if devices is not None:
            moved = tuple(_moved(device, change) for device in devices)
            why = _lost(devices, moved, change, named)
            told = [gap(f"{field}.locality", why)] if why else []
            if any(getattr(device, "irqs", None) for device in devices):
                told.append(gap(f"{field}.irqs", "interrupts are distributed over the CPUs again"))
            yield field, moved, tuple(told)
            named |= {device.address for device in devices}


def _tables(machine: Machine, change: TopologyChange) -> FactUpdates:
    """Yield what is known of the old nodes and CPUs as a whole, and does not outlive them."""
    if machine.acpi is not None:
        yield "acpi", None, (gap("acpi", "the firmware rewrites its tables at the restart"),)
    if machine.tiers is not None and change.recut:
        yield "tiers", None, (gap("tiers", "the memory's speeds were reported for nodes that no longer exist"),)
    if machine.allocation is not None:
        yield "allocation", None, (gap("allocation", "the job ends with the restart"),)
    if machine.slurm_nodes is not None and (change.recut or change.threads):
        left = tuple(node for node in machine.slurm_nodes if "slurmd" not in node.source)
        if left != machine.slurm_nodes:
            yield "slurm_nodes", left or None, (gap("slurm_nodes", "what slurmd finds then; what slurm.conf says stays"),)


def _processors(memory: Memory, threads: int) -> Memory:
    told = tuple(
        each.model_copy(update={"threads": (each.cores_enabled or each.cores or 0) * threads or None}) if each.threads else each
        for each in memory.processors or ()
    )
    return memory.model_copy(update={"processors": told})


def _cpu(cpu: Cpu, change: TopologyChange) -> Cpu:
    """Return the processors; a C-state that was off on every CPU stays off on all, one that was off on some is not known."""
    states = cpu.idle_states
    if states is not None:
        states = tuple(state.model_copy(update={"disabled": _everywhere(state.disabled, change)}) for state in states)
    control = cpu.smt_control
    if change.threads and control is not None:
        control = "on" if change.threads > 1 else "notsupported"
    return cpu.model_copy(update={"idle_states": states, "smt_control": control})


def _everywhere(cpus: CpuSet | None, change: TopologyChange) -> CpuSet | None:
    if not cpus or (not change.renumbered and cpus <= change.after.pus):
        return cpus
    return change.after.pus if change.before.pus <= cpus else None


def _kernel(kernel: Kernel, change: TopologyChange) -> tuple[Kernel, tuple[Gap, ...]]:
    """Return the kernel with the same boot options: isolated CPUs keep their numbers, whatever cores those now are."""
    updates: dict[str, Any] = {}
    reasons = []
    if change.recut and kernel.hugepages is not None:
        updates["hugepages"] = _hugepages(kernel.hugepages, change.after)
        if updates["hugepages"] is None:
            reasons.append(("kernel.hugepages", "hugepages are distributed over the nodes at boot"))
    if change.renumbered:
        for name, option in (("isolated", "isolcpus"), ("nohz_full", "nohz_full")):
            cpus = getattr(kernel, name)
            if cpus:
                stays = bool(kernel.option(option))
                updates[name] = cpus & change.after.pus if stays else None
                told = f"{option} keeps its numbers, which name other cores now" if stays else f"{name} CPUs are not known"
                reasons.append((f"kernel.{name}", told))
    return kernel.model_copy(update=updates), tuple(gap(*reason) for reason in reasons)


def _hugepages(pages: tuple[Hugepages, ...], after: Topology) -> tuple[Hugepages, ...] | None:
    """Return no pages on every node where there are none now; None where the kernel would have to distribute them."""
    if any(page.count for page in pages):
        return None
    sizes = dict.fromkeys(page.page for page in pages)
    return tuple(Hugepages(node=node.os_index, page=size, count=0) for node in after.nodes for size in sizes)


def _moved(device: Hca | Nic | Gpu | PciDevice, change: TopologyChange) -> Hca | Nic | Gpu | PciDevice:
    place = _place(device.locality, change) if change.recut else device.locality
    # Which CPUs inside a node are nearest is given by their old numbers, and these may have gone to others.
    updates: dict[str, Any] = {"locality": place.model_copy(update={"cpus": None}) if place and place.cpus else place}
    if isinstance(device, Hca):
        updates["irqs"] = None
    return device.model_copy(update=updates)


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


def _lost(before: tuple[Any, ...], after: tuple[Any, ...], change: TopologyChange, named: set[str | None]) -> str | None:
    """Return which devices may now be on several nodes; of those ``named`` before, that they are the same."""
    where: dict[str, list[str]] = {}
    lost = [old for old, new in zip(before, after, strict=True) if old.locality and (not new.locality or new.locality.one_of)]
    for old in lost:
        if not (isinstance(old, PciDevice) and old.address in named):
            maybe = CpuSet(node for home in old.locality.numa_nodes for node in change.homes.get(home, ()))
            where.setdefault(str(maybe), []).append(old.name if isinstance(old, Hca | Nic) else old.address)
    if lost and not where:
        return "those of the adapters and interfaces are as theirs"
    words = "; ".join(f"{_few(names)} on one of nodes {nodes}" for nodes, names in where.items())
    return f"the present NUMA partitioning is coarser and does not show which: {words}" if words else None


def _few(names: list[str]) -> str:
    return ", ".join(names[:_FEW]) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")


_FEW = 8


Note = tuple[str, str]
"""A fact, and what was assumed of it."""


def notes_of(machine: Machine, seats: CoreMap, target: Target, after: Topology) -> Iterator[Note]:
    """Yield what was assumed of a new cut."""
    if target.doubt:
        yield "topology.nodes", target.doubt
    if len(after.cpu_nodes) > len(seats.nodes) or target.l3_as_node:
        yield "topology.nodes", _MADE.get(target.scheme, _CLUSTERS)
        if any(node.memory is None for node in after.cpu_nodes):
            yield "topology.nodes.memory", "channels are empty or a size is not reported, so the share of each node is not known"
        else:
            yield "topology.nodes.memory", "the memory is split evenly"
    if after.distances is None and len(after.nodes) > 1:
        yield "topology.distances", "the firmware's distances of the new nodes are not known"
    elif len(after.nodes) > 1:
        seen = usual(target, machine.cpu.model if machine.cpu else None).seen
        alone = "" if len(after.cpu_nodes) == len(after.nodes) else "; those of memory without CPUs are not known"
        yield "topology.distances", f"those shown now where they are of the same kind, else {seen}{alone}"


_EPYC = "each node is a run of L3 groups in the order of the core numbers, as NPS4 is on real EPYC 7002"
_CLUSTERS = "each cluster is a run of cores in the order of their numbers; on some dies the clusters take turns"
_MADE = {Scheme.NPS: _EPYC, Scheme.DIES: "each node is a die: two L3 groups in the order of the core numbers"}


def assembled(
    machine: Machine, change: TopologyChange, notes: Iterable[Note], text: str, attributes: frozenset[str] | None
) -> Machine:
    """Return the machine after the change; sources and gaps say what was not read."""
    updates: dict[str, Any] = {"topology": change.after}
    gaps = [gap(fact, why) for fact, why in notes]
    for field, value, told in dependent_facts(machine, change):
        updates[field] = value
        gaps += told
    if machine.bios is not None:
        updates["bios"] = _bios(machine.bios, attributes)
        gaps.append(gap("bios", "the attributes that hold these settings are left out"))
    changed = {fact: value for field in updates for fact, value in _differing(field, getattr(machine, field), updates[field])}
    updates["sources"] = tuple(_sources(machine.sources, changed, f"assumed: {text}"))
    updates["gaps"] = (*_still(machine.gaps, gaps), *gaps)
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


def _sources(sources: tuple[Source, ...], changed: dict[str, Any], told: str) -> Iterator[Source]:
    """Yield where every fact comes from now: the input, or the assumption."""
    for source in sources:
        if not any(source.fact == fact or source.fact.startswith(f"{fact}.") for fact in changed):
            yield source
    for fact, value in changed.items():
        if value is not None or fact.startswith(_PLACED):
            yield Source(fact=fact, where=told)


def _still(gaps: tuple[Gap, ...], new: list[Gap]) -> Iterator[Gap]:
    """Yield the gaps that were there before and are not reported again."""
    facts = {each.fact for each in new}
    return (each for each in gaps if each.fact not in facts)
