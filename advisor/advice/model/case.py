"""What rules are asked of: a Machine, what was inferred of it, what is known of its kind, joined where facts belong together.

Rules see names of this model and nothing else. A field made from others says from which, so that a finding can tell
where its evidence was read and an unknown what would make it known.
"""

from pydantic import Field

from advisor.advice.model.sheets import Witness
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import BitsPerSecond, Bytes, BytesPerSecond, PacketBytes, Transfers, made_from
from advisor.machine.fault_counters import Watch
from advisor.machine.hardware import Link, Port
from advisor.machine.layout import Layout
from advisor.machine.machine import Facts
from advisor.machine.value import Value, optional
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.platform import MemoryBounds, Platform, Scope


class Shape(Value):
    """The machine in numbers, as this process may see it whole."""

    sockets: int | None = made_from("topology", "real sockets; old kernels call each die of an EPYC 7001 a package")
    nodes: int | None = made_from("topology", "NUMA nodes, those without CPUs too")
    cpu_nodes: int | None = made_from("topology", "NUMA nodes with CPUs")
    l3: int | None = made_from("topology", "groups of cores that share an L3")
    cores: int | None = made_from("topology", "cores online")
    cores_per_socket: int | None = made_from("topology", "cores of each socket; None where sockets differ")
    threads: int | None = made_from("topology", "most hardware threads of a core")
    cpus: int | None = made_from("topology", "CPUs online")
    missing: int | None = made_from("topology", "CPUs that exist but are offline or hidden")
    memory: Bytes | None = made_from("topology", "bytes of all NUMA nodes")
    limited: bool | None = made_from("topology", "whether a cgroup hides part of the machine from this process")
    spinning: CpuSet | None = made_from("cpu.idle_states", "CPUs whose idle states are all switched off but POLL, which spins")
    numa_known: bool | None = made_from("topology", "false where no NUMA information was given and one node stands for all")


class SocketFacts(Value):
    """One real socket."""

    index: int = made_from("topology", "position, from 0")
    cpus: CpuSet | None = made_from("topology", "its CPUs")
    cores: int | None = made_from("topology", "its cores online")
    nodes: int | None = made_from("topology", "NUMA nodes with CPUs in it; one that spans sockets counts in each")
    l3: int | None = made_from("topology", "its L3 groups")
    dies: int | None = made_from("topology", "compute dies, from its L3 groups and the platform; None where that does not tell")
    offered: tuple[int, ...] | None = made_from("platform", "NUMA nodes a socket that the firmware certainly offers here")
    best: int | None = made_from("platform", "NUMA nodes a socket that suit the asked scope best, of those offered")
    best_cut: str | None = made_from("platform", "that cut in its vendor's word")
    dimms: int | None = made_from("memory.sockets", "DIMMs in it")
    slots: int | None = made_from("memory.sockets", "places for DIMMs")
    channels: int | None = made_from("memory.sockets", "channels that hold a DIMM")
    channels_offered: int | None = made_from("platform", "channels that the processor has")
    size: Bytes | None = made_from("memory.sockets", "bytes of its DIMMs")
    configured: Transfers | None = made_from("memory.sockets", "transfers a second of its slowest DIMM as it runs")
    bandwidth: BytesPerSecond | None = made_from("memory.sockets", "bytes a second: the ceiling of the channels in use")
    ceiling: float | None = made_from("memory.sockets", "bytes a second that all channels would give at the speed configured")
    rated: Transfers | None = made_from("memory.dimms", "transfers a second that its slowest DIMM is made for")
    rated_fastest: Transfers | None = made_from("memory.dimms", "transfers a second that its fastest DIMM is made for")
    sizes: tuple[int, ...] | None = made_from("memory.dimms", "the different sizes of its DIMMs, bytes")
    parts: tuple[str, ...] | None = made_from("memory.dimms", "the different part numbers of its DIMMs")
    makers: tuple[str, ...] | None = made_from("memory.dimms", "the different vendors of its DIMMs")
    ranks: tuple[int, ...] | None = made_from("memory.dimms", "the different numbers of ranks of its DIMMs")
    per_channel: tuple[int, ...] | None = made_from("memory.dimms", "the different numbers of DIMMs on its used channels")
    channel_sizes: tuple[int, ...] | None = made_from(
        "memory.dimms", "the different sums of DIMM sizes on its used channels, bytes"
    )


class NodeFacts(Value):
    """One NUMA node."""

    index: int = made_from("topology", "the kernel's number")
    cpus: CpuSet | None = made_from("topology", "its own CPUs")
    cores: int | None = made_from("topology", "its cores online")
    memory: Bytes | None = made_from("topology", "bytes")
    kind: str | None = made_from("topology", "dram, hbm, cxl, nvdimm or gpu where the source says so")
    socket: int | None = made_from("topology", "the socket it is in; None where it spans several")
    sockets: int | None = made_from("topology", "how many sockets its CPUs are in; 0 where none is known of them")
    hugepages: Bytes | None = made_from("kernel.hugepages", "bytes reserved on it as hugepages of any size")
    adapters: tuple[str, ...] | None = made_from("hcas", "HCAs that are local to it")


class L3Facts(Value):
    """One group of cores that share an L3."""

    index: int = made_from("topology", "position, from 0")
    cpus: CpuSet | None = made_from("topology", "its CPUs online")
    allowed: CpuSet | None = made_from("topology", "those that the cgroup and the affinity of this process leave it")
    cores: int | None = made_from("topology", "its cores online")
    reached: int | None = made_from("topology", "its cores of which the cgroup and the affinity leave this process a thread")
    size: Bytes | None = made_from("topology", "bytes")
    nodes: int | None = made_from("topology", "NUMA nodes that it reaches over")
    socket: int | None = made_from("topology", "the socket it is in")


class Device(Value):
    """An adapter or accelerator with its place and its path to the processor."""

    name: str = made_from("pci", "mlx5_0, or the PCI address where it has no other name")
    address: str | None = made_from("pci", "PCI address")
    bus: int | None = made_from("pci", "PCI bus number")
    slot: str | None = made_from("pci", "PCI address without the function: one card shows a function, and an HCA, for each port")
    device_id: int | None = made_from("pci", "PCI vendor and device in one number: 0x15b3101b")
    model: str | None = made_from("pci", "in words where a source has them")
    driver: str | None = made_from("pci", "kernel driver")
    virtual: bool | None = made_from("pci", "whether it is a virtual function")
    nodes: tuple[int, ...] | None = made_from("pci.locality", "NUMA nodes that it is local to")
    inferred: str | None = made_from("pci.locality", "why its nodes are a guess; None where the firmware reports them")
    placed: bool | None = made_from("pci.locality", "whether the firmware reports its NUMA node")
    sockets: tuple[int, ...] | None = made_from("pci.locality", "sockets of those nodes")
    link: Link | None = made_from("pci.link", "the PCIe link as it runs")
    card: Link | None = made_from("pci.card", "what the card could do")
    path: Link | None = made_from("pci.path", "the narrowest link from root to card, as both its ends could run it")
    bottleneck: str | None = made_from("pci.path", "port above the narrowest link; None where the card could do no more")
    max_read_request: PacketBytes | None = made_from("pci.max_read_request", "bytes")
    relaxed_ordering: bool | None = made_from("pci.relaxed_ordering", "whether the card may")


class Adapter(Device):
    """An HCA with its ports and interrupts."""

    kind: str | None = made_from("hcas", "what the driver calls it: MT4119")
    firmware: str | None = made_from("hcas.firmware", "its firmware's version")
    board_id: str | None = made_from("hcas.board_id", "its PSID")
    board: int | None = made_from("hcas.board", "number of the physical card; Socket Direct shows one card in two slots")
    ports: tuple[Port, ...] | None = made_from("hcas.ports", "its ports")
    rate: BitsPerSecond | None = made_from("hcas.ports", "bits a second of its active ports together")
    firmware_options: dict[str, str] | None = made_from(
        "hcas.firmware_options", "options of its firmware: PCI_WR_ORDERING -> per_mkey"
    )
    irqs: int | None = made_from("hcas.irqs", "its interrupts that have CPUs; 0 where none is known to be spread")
    irqs_far: int | None = made_from("hcas.irqs", "its interrupts that may only arrive at CPUs away from its NUMA nodes")


class Accelerator(Device):
    """A GPU or accelerator."""

    vendor: str | None = made_from("gpus", "nvidia, amd, intel")
    memory: Bytes | None = made_from("gpus", "bytes")
    driver_version: str | None = made_from("gpus", "version of its driver")


class Standing(Value):
    """What a setting is set to, and its source."""

    name: str = Field(description="neutral name of the setting: numa.nps")
    title: str = Field(description="the setting in words")
    value: str | None = optional("the value believed to be in effect, in neutral words")
    sure: str | None = optional("high, medium, low")
    how: str | None = optional("how it is known")
    seen: str | None = optional("what the operating system shows")
    applied: str | None = optional("what the BIOS says is applied")
    pending: str | None = optional("what the BIOS will apply at the next boot")
    witnesses: tuple[Witness, ...] = optional("who says what of it, who is believed first", ())
    second: str | None = optional(
        "what another part of the running system shows, one that differs first; None where no other does"
    )
    second_how: str | None = optional("how that is known")


class Case(Facts):
    """Everything a rule may ask about: every fact of the Machine, and these beside them."""

    scope: Scope = optional("what the machine is to be good at", "mpi")
    layout: Layout | None = made_from("topology", "what the firmware did: cut, numbering, SMT, distances")
    platform: Platform | None = optional("what is known of this processor generation")
    vendor: str | None = made_from("firmware", "dell, hpe, lenovo, ...; None where no vendor sheet fits")
    shape: Shape | None = made_from("topology", "the machine in numbers")
    sockets: tuple[SocketFacts, ...] | None = made_from("topology", "real sockets")
    nodes: tuple[NodeFacts, ...] | None = made_from("topology", "NUMA nodes")
    groups: tuple[L3Facts, ...] | None = made_from("topology", "L3 groups")
    bounds: MemoryBounds | None = made_from("topology", "what arithmetic proves of the memory, whatever DIMMs are in it")
    adapters: tuple[Adapter, ...] | None = made_from("hcas", "HCAs joined with their PCI devices")
    accelerators: tuple[Accelerator, ...] | None = made_from("gpus", "GPUs and accelerators joined with their PCI devices")
    hbm: str | None = made_from(
        "tiers", "how HBM in the processor's package is used: flat, cache, only; None where that is not known"
    )
    madt_x2apic: bool | None = made_from("acpi.madt", "whether the firmware lists a processor by an x2APIC ID")
    firmware_cpus: int | None = made_from("acpi.madt", "processors that the firmware lists as enabled")
    firmware_nodes: int | None = made_from("acpi.srat_cpus", "NUMA nodes with CPUs that the firmware's SRAT names")
    firmware_slit: bool | None = made_from("acpi.slit", "whether the firmware has a table of NUMA distances (SLIT)")
    bios_offers: tuple[str, ...] | None = made_from(
        "firmware", "settings that this vendor's sheet knows on this generation; None where vendor or generation is not known"
    )
    standings: tuple[Standing, ...] | None = optional("every setting of which something is known")
    watch: Watch | None = optional("fault counters, read twice; None where nobody looked")
    measured: MeasuredFacts | None = made_from("measured", "what was measured on this machine; None where nothing was")
