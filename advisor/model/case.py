"""What rules are asked of: a Machine, what was inferred of it, what is known of its kind, joined where facts belong together.

Rules see names of this model and nothing else. A field made from others says from which, so that a finding can tell
where its evidence was read and an unknown what would make it known.
"""

from typing import Any

from pydantic import Field

from advisor.model.cpu import Cpu
from advisor.model.cpuset import CpuSet
from advisor.model.devices import Gpu, Link, Nic, PciDevice, Port
from advisor.model.firmware import Firmware
from advisor.model.layout import Layout
from advisor.model.measured import MeasuredFacts
from advisor.model.memory import Memory
from advisor.model.platform import Platform, Scope
from advisor.model.software import Allocation, Slurm, SlurmNode, Tool
from advisor.model.system import Environment, Iommu, Kernel, Limits
from advisor.model.tiers import DaxDevice, MemoryTier
from advisor.model.topology import Topology
from advisor.model.value import Value
from advisor.model.watch import Watch


def of(origin: str, description: str, default: Any = None) -> Any:
    """Return a field that is made from another fact of the Machine."""
    return Field(default=default, description=description, json_schema_extra={"of": origin})


class Shape(Value):
    """The machine in numbers, as this process may see it whole."""

    sockets: int | None = of("topology", "real sockets; old kernels call each die of an EPYC 7001 a package")
    nodes: int | None = of("topology", "NUMA nodes, those without CPUs too")
    cpu_nodes: int | None = of("topology", "NUMA nodes with CPUs")
    l3: int | None = of("topology", "groups of cores that share an L3")
    cores: int | None = of("topology", "cores online")
    cores_per_socket: int | None = of("topology", "cores of each socket; None where sockets differ")
    threads: int | None = of("topology", "most hardware threads of a core")
    cpus: int | None = of("topology", "CPUs online")
    missing: int | None = of("topology", "CPUs that exist but are offline or hidden")
    memory: int | None = of("topology", "bytes of all NUMA nodes")
    limited: bool | None = of("topology", "whether a cgroup hides part of the machine from this process")
    spinning: CpuSet | None = of("cpu.idle_states", "CPUs whose idle states are all switched off but POLL, which spins")
    numa_known: bool | None = of("topology", "false where no NUMA information was given and one node stands for all")


class SocketFacts(Value):
    """One real socket."""

    index: int = of("topology", "position, from 0")
    cpus: CpuSet | None = of("topology", "its CPUs")
    cores: int | None = of("topology", "its cores online")
    nodes: int | None = of("topology", "NUMA nodes with CPUs in it; one that spans sockets counts in each")
    l3: int | None = of("topology", "its L3 groups")
    dies: int | None = of("topology", "compute dies, from its L3 groups and the platform; None where that does not tell")
    offered: tuple[int, ...] | None = of("platform", "NUMA nodes a socket that the firmware certainly offers here")
    best: int | None = of("platform", "NUMA nodes a socket that suit the asked scope best, of those offered")
    best_cut: str | None = of("platform", "that cut in its vendor's word")
    dimms: int | None = of("memory.sockets", "DIMMs in it")
    slots: int | None = of("memory.sockets", "places for DIMMs")
    channels: int | None = of("memory.sockets", "channels that hold a DIMM")
    channels_offered: int | None = of("platform", "channels that the processor has")
    size: int | None = of("memory.sockets", "bytes of its DIMMs")
    configured: int | None = of("memory.sockets", "transfers a second of its slowest DIMM as it runs")
    bandwidth: int | None = of("memory.sockets", "bytes a second: the ceiling of the channels in use")
    ceiling: float | None = of("memory.sockets", "bytes a second that all channels would give at the speed configured")
    rated: int | None = of("memory.dimms", "transfers a second that its slowest DIMM is made for")
    rated_fastest: int | None = of("memory.dimms", "transfers a second that its fastest DIMM is made for")
    sizes: tuple[int, ...] | None = of("memory.dimms", "the different sizes of its DIMMs, bytes")
    parts: tuple[str, ...] | None = of("memory.dimms", "the different part numbers of its DIMMs")
    makers: tuple[str, ...] | None = of("memory.dimms", "the different makers of its DIMMs")
    ranks: tuple[int, ...] | None = of("memory.dimms", "the different numbers of ranks of its DIMMs")
    per_channel: tuple[int, ...] | None = of("memory.dimms", "the different numbers of DIMMs on its used channels")
    channel_sizes: tuple[int, ...] | None = of("memory.dimms", "the different sums of DIMM sizes on its used channels, bytes")


class NodeFacts(Value):
    """One NUMA node."""

    index: int = of("topology", "the kernel's number")
    cpus: CpuSet | None = of("topology", "its own CPUs")
    cores: int | None = of("topology", "its cores online")
    memory: int | None = of("topology", "bytes")
    kind: str | None = of("topology", "dram, hbm, cxl, nvdimm or gpu where the source says so")
    socket: int | None = of("topology", "the socket it is in; None where it spans several")
    sockets: int | None = of("topology", "how many sockets its CPUs are in; 0 where none is known of them")
    hugepages: int | None = of("kernel.hugepages", "bytes reserved on it as hugepages of any size")
    adapters: tuple[str, ...] | None = of("hcas", "HCAs that are local to it")


class L3Facts(Value):
    """One group of cores that share an L3."""

    index: int = of("topology", "position, from 0")
    cpus: CpuSet | None = of("topology", "its CPUs online")
    allowed: CpuSet | None = of("topology", "those that the cgroup and the affinity of this process leave it")
    cores: int | None = of("topology", "its cores online")
    reached: int | None = of("topology", "its cores of which the cgroup and the affinity leave this process a thread")
    size: int | None = of("topology", "bytes")
    nodes: int | None = of("topology", "NUMA nodes that it reaches over")
    socket: int | None = of("topology", "the socket it is in")


class Device(Value):
    """An adapter or accelerator with its place and its path to the processor."""

    name: str = of("pci", "mlx5_0, or the PCI address where it has no other name")
    address: str | None = of("pci", "PCI address")
    bus: int | None = of("pci", "PCI bus number")
    slot: str | None = of("pci", "PCI address without the function: one card shows a function, and an HCA, for each port")
    device_id: int | None = of("pci", "PCI vendor and device in one number: 0x15b3101b")
    model: str | None = of("pci", "in words where a source has them")
    driver: str | None = of("pci", "kernel driver")
    virtual: bool | None = of("pci", "whether it is a virtual function")
    nodes: tuple[int, ...] | None = of("pci.locality", "NUMA nodes that it is local to")
    inferred: str | None = of("pci.locality", "why its nodes are a guess; None where the firmware told")
    placed: bool | None = of("pci.locality", "whether the firmware told its NUMA node")
    sockets: tuple[int, ...] | None = of("pci.locality", "sockets of those nodes")
    link: Link | None = of("pci.link", "the PCIe link as it runs")
    card: Link | None = of("pci.card", "what the card could do")
    path: Link | None = of("pci.path", "the narrowest link from root to card, as both its ends could run it")
    bottleneck: str | None = of("pci.path", "port above the narrowest link; None where the card could do no more")
    max_read_request: int | None = of("pci.max_read_request", "bytes")
    relaxed_ordering: bool | None = of("pci.relaxed_ordering", "whether the card may")


class Adapter(Device):
    """An HCA with its ports and interrupts."""

    kind: str | None = of("hcas", "what the driver calls it: MT4119")
    firmware: str | None = of("hcas.firmware", "its firmware's version")
    board_id: str | None = of("hcas.board_id", "its PSID")
    board: int | None = of("hcas.board", "number of the physical card; Socket Direct shows one card in two slots")
    ports: tuple[Port, ...] | None = of("hcas.ports", "its ports")
    rate: int | None = of("hcas.ports", "bits a second of its active ports together")
    firmware_options: dict[str, str] | None = of("hcas.firmware_options", "options of its firmware: PCI_WR_ORDERING -> per_mkey")
    irqs: int | None = of("hcas.irqs", "its interrupts that have CPUs; 0 where none is known to be spread")
    irqs_far: int | None = of("hcas.irqs", "its interrupts that may only arrive at CPUs away from its NUMA nodes")


class Accelerator(Device):
    """A GPU or accelerator."""

    vendor: str | None = of("gpus", "nvidia, amd, intel")
    memory: int | None = of("gpus", "bytes")
    driver_version: str | None = of("gpus", "version of its driver")


class Standing(Value):
    """What a setting stands at, and who says so."""

    name: str = Field(description="neutral name of the setting: numa.nps")
    title: str = Field(description="the setting in words")
    value: str | None = Field(default=None, description="the value believed to be in effect, in neutral words")
    sure: str | None = Field(default=None, description="high, medium, low")
    how: str | None = Field(default=None, description="how it is known")
    seen: str | None = Field(default=None, description="what the operating system shows")
    applied: str | None = Field(default=None, description="what the BIOS says is applied")
    pending: str | None = Field(default=None, description="what the BIOS will apply at the next boot")


class Case(Value):
    """Everything a rule may ask about."""

    scope: Scope = Field(default="mpi", description="what the machine is to be good at")
    name: str | None = of("name", "host name")
    architecture: str | None = of("architecture", "x86_64, aarch64, ...")
    cpu: Cpu | None = None
    firmware: Firmware | None = None
    memory: Memory | None = None
    topology: Topology | None = None
    tiers: tuple[MemoryTier, ...] | None = None
    dax: tuple[DaxDevice, ...] | None = None
    kernel: Kernel | None = None
    iommu: Iommu | None = None
    limits: Limits | None = None
    environment: Environment | None = None
    tools: tuple[Tool, ...] | None = None
    slurm_nodes: tuple[SlurmNode, ...] | None = None
    slurm_conf: Slurm | None = None
    allocation: Allocation | None = None
    pci: tuple[PciDevice, ...] | None = None
    nics: tuple[Nic, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    layout: Layout | None = of("topology", "what the firmware did: cut, numbering, SMT, distances")
    platform: Platform | None = Field(default=None, description="what is known of this processor generation")
    vendor: str | None = of("firmware", "dell, hpe, lenovo, ...; None where no vendor sheet fits")
    shape: Shape | None = of("topology", "the machine in numbers")
    sockets: tuple[SocketFacts, ...] | None = of("topology", "real sockets")
    nodes: tuple[NodeFacts, ...] | None = of("topology", "NUMA nodes")
    groups: tuple[L3Facts, ...] | None = of("topology", "L3 groups")
    adapters: tuple[Adapter, ...] | None = of("hcas", "HCAs joined with their PCI devices")
    accelerators: tuple[Accelerator, ...] | None = of("gpus", "GPUs and accelerators joined with their PCI devices")
    hbm: str | None = of("tiers", "how HBM in the processor's package is used: flat, cache, only; None where nothing tells")
    madt_x2apic: bool | None = of("acpi.madt", "whether the firmware lists a processor by an x2APIC ID")
    firmware_cpus: int | None = of("acpi.madt", "processors that the firmware lists as enabled")
    firmware_nodes: int | None = of("acpi.srat_cpus", "NUMA nodes with CPUs that the firmware's SRAT names")
    firmware_slit: bool | None = of("acpi.slit", "whether the firmware has a table of NUMA distances (SLIT)")
    bios_offers: tuple[str, ...] | None = of(
        "firmware", "settings that this maker's sheet knows on this generation; None where maker or generation is not known"
    )
    standings: tuple[Standing, ...] | None = Field(default=None, description="every setting of which something is known")
    watch: Watch | None = Field(default=None, description="counters of faults, looked at twice; None where nobody looked")
    measured: MeasuredFacts | None = of("measured", "what was measured on this machine; None where nothing was")
