"""Builds the Case of a machine, which rules are asked of: joins facts that belong together, computes what rules compare. Pure.

Rules see names of this model and nothing else. A field made from others says from which, so that a finding can tell
where its evidence was read and an unknown what would reveal it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from advisor.advice.model.sheets import Witness
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.fact import BitsPerSecond, Bytes, BytesPerSecond, PacketBytes, Transfers, made_from
from advisor.machine.fault_counters import Watch
from advisor.machine.hardware import Cpu, Dimm, Hca, Irq, Link, Locality, Port, bus_of
from advisor.machine.layout import Layout, srat_nodes
from advisor.machine.machine import Facts, Machine
from advisor.machine.partitioning import find_sockets, hbm_mode
from advisor.machine.topology import Topology
from advisor.machine.value import Value
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.platform import MemoryBounds, Platform, Scope, best_cut, dies, memory_bounds, offered


class Shape(Value):
    """The machine in numbers, as this process may see it whole."""

    sockets: int | None = made_from("topology")
    """real sockets (old kernels report each die of an EPYC 7001 as a package)"""
    nodes: int | None = made_from("topology")
    """NUMA nodes, including those without CPUs"""
    cpu_nodes: int | None = made_from("topology")
    """NUMA nodes with CPUs"""
    l3: int | None = made_from("topology")
    """groups of cores that share an L3"""
    cores: int | None = made_from("topology")
    """cores online"""
    cores_per_socket: int | None = made_from("topology")
    """cores of each socket; None if sockets differ"""
    threads: int | None = made_from("topology")
    """largest number of hardware threads per core"""
    cpus: int | None = made_from("topology")
    """CPUs online"""
    missing: int | None = made_from("topology")
    """CPUs that exist but are offline or hidden"""
    memory: Bytes | None = made_from("topology")
    """memory of all NUMA nodes, bytes"""
    limited: bool | None = made_from("topology")
    """whether a cgroup hides part of the machine from this process"""
    spinning: CpuSet | None = made_from("cpu.idle_states")
    """CPUs with every idle state except POLL (spinning) disabled"""
    numa_known: bool | None = made_from("topology")
    """false if there is no NUMA information and one node represents all"""


class SocketFacts(Value):
    """One real socket."""

    index: int = made_from("topology")
    """position, from 0"""
    cpus: CpuSet | None = made_from("topology")
    """its CPUs"""
    cores: int | None = made_from("topology")
    """its cores online"""
    nodes: int | None = made_from("topology")
    """NUMA nodes with CPUs in it; a node that spans sockets counts in each"""
    l3: int | None = made_from("topology")
    """its L3 groups"""
    dies: int | None = made_from("topology")
    """compute dies, from its L3 groups and the platform; None if those do not show it"""
    offered: tuple[int, ...] | None = made_from("platform")
    """NUMA nodes per socket that the firmware is certain to offer here"""
    best: int | None = made_from("platform")
    """offered number of NUMA nodes per socket that suits the scope best"""
    best_cut: str | None = made_from("platform")
    """the vendor's term for the best partitioning"""
    dimms: int | None = made_from("memory.sockets")
    """DIMMs in it"""
    slots: int | None = made_from("memory.sockets")
    """places for DIMMs"""
    channels: int | None = made_from("memory.sockets")
    """channels that hold a DIMM"""
    channels_offered: int | None = made_from("platform")
    """memory channels of the processor"""
    size: Bytes | None = made_from("memory.sockets")
    """bytes of its DIMMs"""
    configured: Transfers | None = made_from("memory.sockets")
    """transfers per second at which its slowest DIMM runs"""
    bandwidth: BytesPerSecond | None = made_from("memory.sockets")
    """bytes per second: the ceiling of the channels in use"""
    ceiling: float | None = made_from("memory.sockets")
    """bytes per second of all channels at the configured speed"""
    rated: Transfers | None = made_from("memory.dimms")
    """rated transfers per second of its slowest DIMM"""
    rated_fastest: Transfers | None = made_from("memory.dimms")
    """rated transfers per second of its fastest DIMM"""
    sizes: tuple[int, ...] | None = made_from("memory.dimms")
    """the different sizes of its DIMMs, in bytes"""
    parts: tuple[str, ...] | None = made_from("memory.dimms")
    """the different part numbers of its DIMMs"""
    makers: tuple[str, ...] | None = made_from("memory.dimms")
    """the different vendors of its DIMMs"""
    ranks: tuple[int, ...] | None = made_from("memory.dimms")
    """the different rank counts of its DIMMs"""
    per_channel: tuple[int, ...] | None = made_from("memory.dimms")
    """the different DIMM counts of its used channels"""
    channel_sizes: tuple[int, ...] | None = made_from("memory.dimms")
    """the different sums of DIMM sizes on its used channels, bytes"""


class NodeFacts(Value):
    """One NUMA node."""

    index: int = made_from("topology")
    """the kernel's number"""
    cpus: CpuSet | None = made_from("topology")
    """its own CPUs"""
    cores: int | None = made_from("topology")
    """its cores online"""
    memory: Bytes | None = made_from("topology")
    """bytes"""
    kind: str | None = made_from("topology")
    """dram, hbm, cxl, nvdimm or gpu, if the source says"""
    socket: int | None = made_from("topology")
    """the socket it is in; None if it spans several"""
    sockets: int | None = made_from("topology")
    """number of sockets that its CPUs are in; 0 if unknown"""
    hugepages: Bytes | None = made_from("kernel.hugepages")
    """bytes reserved on it as hugepages of any size"""
    adapters: tuple[str, ...] | None = made_from("hcas")
    """HCAs that are local to it"""


class L3Facts(Value):
    """One group of cores that share an L3."""

    index: int = made_from("topology")
    """position, from 0"""
    cpus: CpuSet | None = made_from("topology")
    """its CPUs online"""
    allowed: CpuSet | None = made_from("topology")
    """CPUs that the cgroup and affinity of this process allow"""
    cores: int | None = made_from("topology")
    """its cores online"""
    reached: int | None = made_from("topology")
    """its cores with at least one thread allowed by the cgroup and affinity of this process"""
    size: Bytes | None = made_from("topology")
    """bytes"""
    nodes: int | None = made_from("topology")
    """NUMA nodes that the group spans"""
    socket: int | None = made_from("topology")
    """the socket it is in"""


class Device(Value):
    """An adapter or accelerator with its place and its path to the processor."""

    name: str = made_from("pci")
    """mlx5_0, or the PCI address if it has no other name"""
    address: str | None = made_from("pci")
    """PCI address"""
    bus: int | None = made_from("pci")
    """PCI bus number"""
    slot: str | None = made_from("pci")
    """PCI address without the function: a card has one function, and one HCA, per port"""
    device_id: int | None = made_from("pci")
    """PCI vendor and device as one number: 0x15b3101b"""
    model: str | None = made_from("pci")
    """its description, if a source has one"""
    driver: str | None = made_from("pci")
    """kernel driver"""
    virtual: bool | None = made_from("pci")
    """whether it is a virtual function"""
    nodes: tuple[int, ...] | None = made_from("pci.locality")
    """NUMA nodes that the device is local to"""
    inferred: str | None = made_from("pci.locality")
    """why its nodes are a guess; None if the firmware reports them"""
    placed: bool | None = made_from("pci.locality")
    """whether the firmware reports its NUMA node"""
    sockets: tuple[int, ...] | None = made_from("pci.locality")
    """sockets of those nodes"""
    link: Link | None = made_from("pci.link")
    """the PCIe link as it runs now"""
    card: Link | None = made_from("pci.card")
    """the fastest link that the card supports"""
    path: Link | None = made_from("pci.path")
    """the narrowest link from root to card, at the best speed that both of its ends support"""
    bottleneck: str | None = made_from("pci.path")
    """port above the narrowest link; None if the card itself is the limit"""
    max_read_request: PacketBytes | None = made_from("pci.max_read_request")
    """bytes"""
    relaxed_ordering: bool | None = made_from("pci.relaxed_ordering")
    """whether the card may reorder"""


class Adapter(Device):
    """An HCA with its ports and interrupts."""

    kind: str | None = made_from("hcas")
    """the driver's name for it: MT4119"""
    firmware: str | None = made_from("hcas.firmware")
    """its firmware's version"""
    board_id: str | None = made_from("hcas.board_id")
    """its PSID"""
    board: int | None = made_from("hcas.board")
    """number of the physical card; Socket Direct shows one card in two slots"""
    ports: tuple[Port, ...] | None = made_from("hcas.ports")
    """its ports"""
    rate: BitsPerSecond | None = made_from("hcas.ports")
    """total bits per second of its active ports"""
    firmware_options: dict[str, str] | None = made_from("hcas.firmware_options")
    """options of its firmware: PCI_WR_ORDERING -> per_mkey"""
    irqs: int | None = made_from("hcas.irqs")
    """number of its interrupts with known CPUs"""
    irqs_far: int | None = made_from("hcas.irqs")
    """number of its interrupts allowed only on CPUs away from its NUMA nodes"""


class Accelerator(Device):
    """A GPU or accelerator."""

    vendor: str | None = made_from("gpus")
    """nvidia, amd, intel"""
    memory: Bytes | None = made_from("gpus")
    """bytes"""
    driver_version: str | None = made_from("gpus")
    """version of its driver"""


class Standing(Value):
    """What a setting is set to, and its source."""

    name: str
    """neutral name of the setting: numa.nps"""
    title: str
    """the setting in words"""
    value: str | None = None
    """the value believed to be in effect, in vendor-neutral terms"""
    sure: str | None = None
    """high, medium, low"""
    how: str | None = None
    """where the value was read, or how it was derived"""
    seen: str | None = None
    """what the operating system shows"""
    applied: str | None = None
    """what the BIOS says is applied"""
    pending: str | None = None
    """what the BIOS will apply at the next boot"""
    witnesses: tuple[Witness, ...] = ()
    """each source and its value, most trusted first"""
    second: str | None = None
    """what another part of the running system shows, preferably one that differs; None if no other part shows it"""
    second_how: str | None = None
    """where that second value was read"""


class Case(Facts):
    """Everything a rule may ask about: every fact of the Machine, and these beside them."""

    scope: Scope = "mpi"
    """the workload for which the machine is judged"""
    layout: Layout | None = made_from("topology")
    """what the firmware set up: NUMA partitioning, numbering, SMT, distances"""
    platform: Platform | None = None
    """facts about this processor generation"""
    vendor: str | None = made_from("firmware")
    """dell, hpe, lenovo, ...; None if no vendor sheet fits"""
    shape: Shape | None = made_from("topology")
    """the machine in numbers"""
    sockets: tuple[SocketFacts, ...] | None = made_from("topology")
    """real sockets"""
    nodes: tuple[NodeFacts, ...] | None = made_from("topology")
    """NUMA nodes"""
    groups: tuple[L3Facts, ...] | None = made_from("topology")
    """L3 groups"""
    bounds: MemoryBounds | None = made_from("topology")
    """what can be calculated about the memory without knowing its DIMMs"""
    adapters: tuple[Adapter, ...] | None = made_from("hcas")
    """HCAs joined with their PCI devices"""
    accelerators: tuple[Accelerator, ...] | None = made_from("gpus")
    """GPUs and accelerators joined with their PCI devices"""
    hbm: str | None = made_from("tiers")
    """how HBM in the processor's package is used: flat, cache, only; None if unknown"""
    madt_x2apic: bool | None = made_from("acpi.madt")
    """whether the firmware lists any processor by x2APIC ID"""
    firmware_cpus: int | None = made_from("acpi.madt")
    """number of processors that the firmware lists as enabled"""
    firmware_nodes: int | None = made_from("acpi.srat_cpus")
    """number of NUMA nodes with CPUs in the firmware's SRAT"""
    firmware_slit: bool | None = made_from("acpi.slit")
    """whether the firmware has a table of NUMA distances (SLIT)"""
    bios_offers: tuple[str, ...] | None = made_from("firmware")
    """settings that this vendor's sheet has for this generation; None if vendor or generation is not known"""
    standings: tuple[Standing, ...] | None = None
    """every setting about which something is known"""
    watch: Watch | None = None
    """fault counters, read twice; None if not read"""
    measured: MeasuredFacts | None = made_from("measured")
    """measurements of this machine; None if there are none"""


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
    return case.but(standings=tuple(standings))


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


_NO_DRAM = ("HBM", "Logical", "Optane", "NVDIMM")
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
