"""Builds the Case of a machine: joins facts that belong together, computes what rules compare. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from advisor.advice.judge.devices import accelerators, adapters
from advisor.advice.model.case import Case, L3Facts, NodeFacts, Shape, SocketFacts, Standing
from advisor.machine.cpu import Cpu
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import Layout
from advisor.machine.machine import Facts, Machine
from advisor.machine.memory import Dimm, SocketMemory
from advisor.machine.numbering import srat_nodes
from advisor.machine.partitioning import find_sockets, hbm_mode
from advisor.machine.topology import Topology
from advisor.measure.platform import Platform, Scope, best_cut, dies, memory_bounds, offered


def case_of(
    machine: Machine,
    layout: Layout | None,
    platform: Platform | None,
    vendor: str | None = None,
    scope: Scope = "mpi",
) -> Case:
    """Return what rules may ask of the machine; its settings are read afterwards (advisor.advice.judge.settings)."""
    topology = machine.topology if machine.topology and machine.topology.pus else None
    sockets = find_sockets(machine, topology)[0] if topology else None
    shared = {name: getattr(machine, name) for name in Facts.model_fields}
    parts = _parts(machine, topology, sockets, platform, scope) if topology and sockets is not None else {}
    return Case(
        **shared,
        **parts,
        scope=scope,
        layout=layout if topology else None,
        platform=platform,
        vendor=vendor,
        bounds=memory_bounds(machine, platform) if topology else None,
        adapters=adapters(machine, sockets),
        accelerators=accelerators(machine, sockets),
        hbm=hbm_mode(machine),
        madt_x2apic=any(e.x2apic for e in machine.acpi.madt) if machine.acpi and machine.acpi.madt else None,
        firmware_cpus=sum(e.enabled for e in machine.acpi.madt) if machine.acpi and machine.acpi.madt else None,
        firmware_nodes=srat_nodes(machine),
        firmware_slit=None if machine.acpi is None or machine.acpi.slit is None else bool(machine.acpi.slit),
    )


def _parts(
    machine: Machine, topology: Topology, sockets: tuple[CpuSet, ...], platform: Platform | None, scope: Scope
) -> dict[str, Any]:
    """Return the machine in numbers, and its sockets, NUMA nodes and L3 groups."""
    cores = CoresOf(topology)
    return {
        "shape": _shape(machine, topology, sockets, cores),
        "sockets": _sockets(machine, topology, sockets, platform, scope, cores_of=cores),
        "nodes": _nodes(machine, topology, sockets, cores),
        "groups": _groups(machine, topology, sockets, cores) if topology.l3 else None,
    }


def with_standings(case: Case, standings: Iterable[Standing]) -> Case:
    """Return the case that also knows what the settings are set to."""
    return case.model_copy(update={"standings": tuple(standings)})


class CoresOf:
    """Which cores the CPUs of a set belong to; asked for every part of a machine, so that all together walk each CPU once."""

    def __init__(self, topology: Topology) -> None:
        self._core = {cpu: at for at, core in enumerate(topology.cores) for cpu in core.cpuset}
        self._threads = tuple(len(core.cpuset) for core in topology.cores)

    def _held(self, cpus: CpuSet) -> Counter[int]:
        return Counter(self._core[cpu] for cpu in cpus if cpu in self._core)

    def whole(self, cpus: CpuSet) -> int:
        """Return how many cores have all their threads in a set."""
        return sum(1 for core, threads in self._held(cpus).items() if threads == self._threads[core])

    def reached(self, cpus: CpuSet) -> int:
        """Return how many cores have a thread in a set."""
        return len(self._held(cpus))


def _shape(machine: Machine, topology: Topology, sockets: tuple[CpuSet, ...], cores_of: CoresOf) -> Shape:
    cores = {cores_of.whole(cpus) for cpus in sockets}
    memories = [node.memory for node in topology.nodes]
    return Shape(
        sockets=len(sockets),
        nodes=len(topology.nodes),
        cpu_nodes=len(topology.cpu_nodes),
        l3=len(topology.l3) or None,
        cores=len(topology.cores) or None,
        cores_per_socket=(cores.pop() or None) if len(cores) == 1 else None,
        threads=max((len(core.cpuset) for core in topology.cores), default=None),
        cpus=len(topology.pus),
        missing=len(topology.missing),
        memory=None if None in memories else sum(m for m in memories if m),
        limited=topology.limited,
        spinning=_spinning(machine.cpu, topology.pus),
        numa_known=topology.numa_known,
    )


def _spinning(cpu: Cpu | None, cpus: CpuSet) -> CpuSet | None:
    """Return the CPUs that have no idle state left but POLL, a loop; None where a state's switches were not read."""
    if cpu is None or not cpu.idle_states:
        return None
    left = cpus
    for state in cpu.idle_states:
        if state.name == "POLL":
            continue
        if state.disabled is None:
            return None
        left &= state.disabled
    return left


def _sockets(
    machine: Machine,
    topology: Topology,
    sockets: tuple[CpuSet, ...],
    platform: Platform | None,
    scope: Scope,
    *,
    cores_of: CoresOf,
) -> tuple[SocketFacts, ...]:
    slots = machine.memory.dimms if machine.memory else None
    modules = {m.socket: m for m in (machine.memory.sockets or ())} if machine.memory else {}
    # SMBIOS counts places for processors, the kernel those with CPUs: only equal counts can be matched by position.
    matched = modules if len(modules) == len(sockets) else {}
    result = []
    for index, cpus in enumerate(sockets):
        cores = cores_of.whole(cpus) or None
        groups = sum(1 for l3 in topology.l3 if l3.cpuset and l3.cpuset <= cpus)
        own = tuple(d for d in slots or () if d.socket == index) if slots is not None and matched else None
        result.append(
            SocketFacts(
                index=index,
                cpus=cpus,
                cores=cores,
                nodes=sum(1 for node in topology.cpu_nodes if node.cpuset & cpus),
                l3=groups or None,
                **_cuts(platform, groups, len(sockets), scope, cores),
                **_memory(matched.get(index), platform),
                **_modules(own),
            )
        )
    return tuple(result)


def _cuts(platform: Platform | None, groups: int, sockets: int, scope: Scope, cores: int | None) -> dict[str, Any]:
    if platform is None:
        return {}
    count = dies(platform, groups) if groups else None
    best = best_cut(platform, scope, count, sockets, cores)
    choice = offered(platform, count, sockets, cores)
    return {
        "dies": count,
        "offered": tuple(sorted({cut.nodes for cut in choice if cut.per == "socket"})),
        "best": best.nodes if best and best.per == "socket" else None,
        "best_cut": best.name if best else None,
        "channels_offered": platform.channels,
    }


def _memory(memory: SocketMemory | None, platform: Platform | None) -> dict[str, Any]:
    if memory is None:
        return {}
    names = ("dimms", "slots", "channels", "size", "configured", "bandwidth")
    full = None
    if memory.bandwidth and memory.channels and platform and platform.channels:
        full = memory.bandwidth / memory.channels * platform.channels
    return {**{name: getattr(memory, name) for name in names}, "ceiling": full}


def _modules(slots: tuple[Dimm, ...] | None) -> dict[str, Any]:
    """Return what a socket's modules have in common or not; nothing where the firmware names none of a socket."""
    modules = [slot for slot in slots or () if slot.size != 0 and not (slot.kind or "").startswith(_NO_DRAM)]
    if not modules:
        return {}
    rated = [m.rated for m in modules]
    channels = [m.channel for m in modules]
    return {
        "rated": min(r for r in rated if r) if all(rated) else None,
        "rated_fastest": max(r for r in rated if r) if all(rated) else None,
        "sizes": _distinct(m.size for m in modules),
        "parts": _distinct(m.part for m in modules),
        "makers": _distinct(m.maker for m in modules),
        "ranks": _distinct(m.ranks for m in modules),
        "per_channel": None if None in channels else tuple(sorted({channels.count(c) for c in channels})),
        "channel_sizes": _channel_sizes(modules),
    }


_NO_DRAM = ("HBM", "Logical", "Optane", "NVDIMM")
"""Kinds that share no channel's speed and size with the DIMMs: in the package, or persistent."""


def _channel_sizes(modules: list[Dimm]) -> tuple[int, ...] | None:
    """Return the different sums of the sizes on one channel; None where a size or a channel is not known."""
    sums: dict[int, int] = {}
    for module in modules:
        if module.channel is None or module.size is None:
            return None
        sums[module.channel] = sums.get(module.channel, 0) + module.size
    return tuple(sorted(set(sums.values())))


def _distinct(values: Iterable[Any]) -> tuple[Any, ...] | None:
    """Return the different values in order; None where one is not known."""
    seen = tuple(dict.fromkeys(values))
    return None if None in seen else seen


def _nodes(machine: Machine, topology: Topology, sockets: tuple[CpuSet, ...], cores_of: CoresOf) -> tuple[NodeFacts, ...]:
    pages = machine.kernel.hugepages if machine.kernel else None
    return tuple(
        NodeFacts(
            index=node.os_index,
            cpus=node.cpuset,
            cores=cores_of.whole(node.cpuset),
            memory=node.memory,
            kind=node.kind,
            socket=next((i for i, cpus in enumerate(sockets) if node.cpuset and node.cpuset <= cpus), None),
            sockets=sum(1 for cpus in sockets if node.cpuset & cpus),
            hugepages=None if pages is None else sum(p.page * p.count for p in pages if p.node == node.os_index),
            adapters=None
            if machine.hcas is None or any(hca.locality and hca.locality.one_of for hca in machine.hcas)
            else tuple(h.name for h in machine.hcas if h.locality and node.os_index in h.locality.numa_nodes),
        )
        for node in topology.nodes
    )


def _groups(machine: Machine, topology: Topology, sockets: tuple[CpuSet, ...], cores_of: CoresOf) -> tuple[L3Facts, ...]:
    affinity = machine.limits.affinity if machine.limits else None
    usable = topology.allowed if affinity is None else topology.allowed & affinity
    return tuple(
        L3Facts(
            index=index,
            cpus=l3.cpuset,
            allowed=l3.cpuset & usable,
            cores=cores_of.whole(l3.cpuset),
            reached=cores_of.reached(l3.cpuset & usable),
            size=l3.size,
            nodes=sum(1 for node in topology.cpu_nodes if node.cpuset & l3.cpuset),
            socket=next((i for i, cpus in enumerate(sockets) if l3.cpuset <= cpus), None),
        )
        for index, l3 in enumerate(topology.l3)
        if l3.cpuset
    )
