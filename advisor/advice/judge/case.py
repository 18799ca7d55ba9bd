"""Builds the Case of a machine: joins facts that belong together, computes what rules compare. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from advisor.advice.model.case import Accelerator, Adapter, Case, L3Facts, NodeFacts, Shape, SocketFacts, Standing
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Cpu, Dimm, Hca, Irq, Locality, bus_of
from advisor.machine.layout import Layout, srat_nodes
from advisor.machine.machine import Facts, Machine
from advisor.machine.partitioning import find_sockets, hbm_mode
from advisor.machine.topology import Topology
from advisor.measure.platform import Platform, Scope, best_cut, dies, memory_bounds, offered

Sockets = Sequence[CpuSet]


def case_of(
    machine: Machine,
    layout: Layout | None,
    platform: Platform | None,
    vendor: str | None = None,
    scope: Scope = "mpi",
) -> Case:
    """Return what rules may ask of the machine; its settings are read afterwards (advisor.advice.judge.rule)."""
    topology = machine.topology if machine.topology and machine.topology.pus else None
    sockets = find_sockets(machine, topology)[0] if topology else None
    parts: dict[str, Any] = {name: getattr(machine, name) for name in Facts.model_fields}
    if topology and sockets is not None:
        cores = CoresOf(topology)
        parts |= {
            "shape": _shape(machine, topology, sockets, cores),
            "sockets": tuple(_sockets(machine, topology, sockets, platform, scope, cores_of=cores)),
            "nodes": _nodes(machine, topology, sockets, cores),
            "groups": _groups(machine, topology, sockets, cores) if topology.l3 else None,
        }
    madt = machine.acpi.madt if machine.acpi else None
    slit = machine.acpi.slit if machine.acpi else None
    return Case(
        **parts,
        scope=scope,
        layout=layout if topology else None,
        platform=platform,
        vendor=vendor,
        bounds=memory_bounds(machine, platform) if topology else None,
        adapters=None if machine.hcas is None else tuple(_adapter(machine, hca, sockets) for hca in machine.hcas),
        accelerators=_accelerators(machine, sockets),
        hbm=hbm_mode(machine),
        madt_x2apic=any(entry.x2apic for entry in madt) if madt else None,
        firmware_cpus=sum(entry.enabled for entry in madt) if madt else None,
        firmware_nodes=srat_nodes(machine),
        firmware_slit=None if slit is None else bool(slit),
    )


def with_standings(case: Case, standings: Iterable[Standing]) -> Case:
    """Return the case that also knows what the settings are set to."""
    return case.model_copy(update={"standings": tuple(standings)})


class CoresOf:
    """Which cores the CPUs of a set belong to; asked for every part of a machine, so that all together walk each CPU once."""

    def __init__(self, topology: Topology) -> None:
        self._core = {cpu: at for at, core in enumerate(topology.cores) for cpu in core.cpuset}
        self._threads = tuple(len(core.cpuset) for core in topology.cores)

    def reached(self, cpus: CpuSet) -> Counter[int]:
        """Return how many threads of each core are in a set."""
        return Counter(self._core[cpu] for cpu in cpus if cpu in self._core)

    def whole(self, cpus: CpuSet) -> int:
        """Return how many cores have all their threads in a set."""
        return sum(threads == self._threads[core] for core, threads in self.reached(cpus).items())


def _shape(machine: Machine, topology: Topology, sockets: Sockets, cores_of: CoresOf) -> Shape:
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
        memory=None if None in memories else sum(filter(None, memories)),
        limited=topology.limited,
        spinning=_spinning(machine.cpu, topology.pus),
        numa_known=topology.numa_known,
    )


def _spinning(cpu: Cpu | None, cpus: CpuSet) -> CpuSet | None:
    """Return the CPUs that have no idle state left but POLL, a loop; None where a state's switches were not read."""
    if cpu is None or not cpu.idle_states:
        return None
    for state in cpu.idle_states:
        if state.name != "POLL":
            if state.disabled is None:
                return None
            cpus &= state.disabled
    return cpus


def _sockets(
    machine: Machine,
    topology: Topology,
    sockets: Sockets,
    platform: Platform | None,
    scope: Scope,
    *,
    cores_of: CoresOf,
) -> Iterable[SocketFacts]:
    memory = machine.memory
    known = {m.socket: m for m in (memory.sockets or ())} if memory else {}
    # SMBIOS counts places for processors, the kernel those with CPUs: only equal counts can be matched by position.
    matched = known if len(known) == len(sockets) else {}
    for index, cpus in enumerate(sockets):
        cores = cores_of.whole(cpus) or None
        groups = sum(bool(l3.cpuset) and l3.cpuset <= cpus for l3 in topology.l3)
        facts = _modules([slot for slot in (memory.dimms if memory else None) or () if slot.socket == index]) if matched else {}
        if index in matched:
            own = matched[index]
            facts |= {name: getattr(own, name) for name in ("dimms", "slots", "channels", "size", "configured", "bandwidth")}
            if own.bandwidth and own.channels and platform and platform.channels:
                facts["ceiling"] = own.bandwidth / own.channels * platform.channels
        if platform is not None:
            count = dies(platform, groups) if groups else None
            best = best_cut(platform, scope, count, len(sockets), cores)
            cuts = offered(platform, count, len(sockets), cores)
            facts |= {
                "dies": count,
                "offered": tuple(sorted({cut.nodes for cut in cuts if cut.per == "socket"})),
                "best": best.nodes if best and best.per == "socket" else None,
                "best_cut": best.name if best else None,
                "channels_offered": platform.channels,
            }
        nodes = sum(bool(node.cpuset & cpus) for node in topology.cpu_nodes)
        yield SocketFacts(index=index, cpus=cpus, cores=cores, nodes=nodes, l3=groups or None, **facts)


_NO_DRAM: Final = ("HBM", "Logical", "Optane", "NVDIMM")
"""Kinds that share no channel's speed and size with the DIMMs: in the package, or persistent."""


def _modules(slots: Iterable[Dimm]) -> dict[str, Any]:
    """Return what a socket's modules have in common or not; nothing where the firmware names none of a socket."""
    modules = [slot for slot in slots if slot.size != 0 and not (slot.kind or "").startswith(_NO_DRAM)]
    if not modules:
        return {}
    rated = [module.rated for module in modules]
    speeds = list(filter(None, rated)) if all(rated) else []
    channels = [module.channel for module in modules]
    sums: Counter[int | None] = Counter()
    for module in modules:
        sums[module.channel] += module.size or 0
    sized = None not in channels and all(module.size is not None for module in modules)
    return {
        "rated": min(speeds, default=None),
        "rated_fastest": max(speeds, default=None),
        "sizes": _distinct(module.size for module in modules),
        "parts": _distinct(module.part for module in modules),
        "makers": _distinct(module.maker for module in modules),
        "ranks": _distinct(module.ranks for module in modules),
        "per_channel": None if None in channels else tuple(sorted(set(Counter(channels).values()))),
        "channel_sizes": tuple(sorted(set(sums.values()))) if sized else None,
    }


def _distinct(values: Iterable[Any]) -> tuple[Any, ...] | None:
    """Return the different values in order; None where one is not known."""
    different = tuple(dict.fromkeys(values))
    return None if None in different else different


def _nodes(machine: Machine, topology: Topology, sockets: Sockets, cores_of: CoresOf) -> tuple[NodeFacts, ...]:
    pages = machine.kernel.hugepages if machine.kernel else None
    placed = None if any(hca.locality and hca.locality.one_of for hca in machine.hcas or ()) else machine.hcas
    return tuple(
        NodeFacts(
            index=node.os_index,
            cpus=node.cpuset,
            cores=cores_of.whole(node.cpuset),
            memory=node.memory,
            kind=node.kind,
            socket=_inside(node.cpuset, sockets),
            sockets=sum(bool(node.cpuset & cpus) for cpus in sockets),
            hugepages=None if pages is None else sum(p.page * p.count for p in pages if p.node == node.os_index),
            adapters=None
            if placed is None
            else tuple(hca.name for hca in placed if hca.locality and node.os_index in hca.locality.numa_nodes),
        )
        for node in topology.nodes
    )


def _inside(cpus: CpuSet, sockets: Sockets) -> int | None:
    return next((index for index, whole in enumerate(sockets) if cpus and cpus <= whole), None)


def _groups(machine: Machine, topology: Topology, sockets: Sockets, cores_of: CoresOf) -> tuple[L3Facts, ...]:
    affinity = machine.limits.affinity if machine.limits else None
    usable = topology.allowed if affinity is None else topology.allowed & affinity
    return tuple(
        L3Facts(
            index=index,
            cpus=l3.cpuset,
            allowed=l3.cpuset & usable,
            cores=cores_of.whole(l3.cpuset),
            reached=len(cores_of.reached(l3.cpuset & usable)),
            size=l3.size,
            nodes=sum(bool(node.cpuset & l3.cpuset) for node in topology.cpu_nodes),
            socket=_inside(l3.cpuset, sockets),
        )
        for index, l3 in enumerate(topology.l3)
        if l3.cpuset
    )


def _accelerators(machine: Machine, sockets: Sockets | None) -> tuple[Accelerator, ...] | None:
    """Return GPUs and other accelerators with their PCI devices; None where no GPU is known and GPUs were not looked for."""
    cards = [
        Accelerator(**_device(machine, card.address, card.address, card.locality, sockets), vendor="other")
        for card in machine.pci or ()
        if card.kind == "accelerator"
    ]
    for gpu in machine.gpus or ():
        facts = _device(machine, gpu.address, gpu.card or gpu.address, gpu.locality, sockets)
        cards.append(Accelerator(**facts, vendor=gpu.vendor, memory=gpu.memory, driver_version=gpu.driver_version))
    return tuple(cards) if cards or machine.gpus is not None else None


def _adapter(machine: Machine, hca: Hca, sockets: Sockets | None) -> Adapter:
    """Return an HCA with its PCI device."""
    rates = [port.rate if port.state else None for port in hca.ports or () if port.state in ("active", None)]
    facts = _device(machine, hca.name, hca.address, hca.locality, sockets)
    local = _cpus(machine, facts["nodes"] or ())
    names = ("kind", "firmware", "board_id", "board", "firmware_options", "ports")
    return Adapter(
        **facts,
        **{name: getattr(hca, name) for name in names},
        rate=None if hca.ports is None or None in rates else sum(filter(None, rates)),
        irqs=None if hca.irqs is None else len(hca.irqs),
        irqs_far=sum(_far(irq, local) for irq in hca.irqs) if hca.irqs is not None and local else None,
    )


def _far(irq: Irq, local: CpuSet) -> bool:
    """Return whether an interrupt goes only to CPUs away from its device."""
    cpus = irq.effective or irq.cpus
    return bool(cpus) and not cpus & local


def _device(
    machine: Machine, name: str, address: str | None, locality: Locality | None, sockets: Sockets | None
) -> dict[str, Any]:
    pci = next((device for device in machine.pci or () if device.address == address), None) if address else None
    place = locality or (pci.locality if pci else None)
    nodes = place.numa_nodes if place else None
    cpus = _cpus(machine, nodes or ())
    sockets_of = tuple(index for index, own in enumerate(sockets) if own & cpus) if nodes and sockets else None
    if place and place.one_of:
        place = nodes = None
    facts = {
        "name": name,
        "address": address,
        "bus": bus_of(address),
        "slot": address.rpartition(".")[0] or None if address else None,
        "nodes": nodes,
        "inferred": place.inferred if place else None,
        "placed": None if place is None else place.inferred is None,
        "sockets": sockets_of,
    }
    if pci is None:
        return facts
    names = ("driver", "link", "card", "path", "bottleneck", "max_read_request", "relaxed_ordering")
    own = {"device_id": (pci.vendor << 16) + pci.device, "model": pci.name, "virtual": pci.is_virtual_function}
    return {**facts, **own, **{name: getattr(pci, name) for name in names}}


def _cpus(machine: Machine, nodes: Iterable[int]) -> CpuSet:
    every = machine.topology.nodes if machine.topology else ()
    return union(node.cpuset for node in every if node.os_index in nodes)
