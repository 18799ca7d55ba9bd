"""What is built in and plugged in: processors, DIMMs, devices and networks; and what the firmware says of it."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import (
    Bits,
    BitsPerSecond,
    Bytes,
    BytesPerSecond,
    Count,
    Hertz,
    Key,
    LaneTransfers,
    MemoryAddress,
    Microseconds,
    Number,
    PacketBytes,
    PciClass,
    PciId,
    PerCpu,
    Ratio,
    Seconds,
    SecondsOrBandwidth,
    Section,
    Settings,
    Transfers,
    Volatile,
    Watts,
)
from advisor.machine.value import DeviceName, Value, Whole, optional


class IdleState(Value):
    """A C-state of the cpuidle driver."""

    name: Key[str] = Field(description="POLL, C1, C2, C6")
    latency: Microseconds | None = optional("microseconds to leave it")
    off_by_default: bool | None = optional(
        "whether the kernel began with it switched off, as it does where the firmware's _CST lacks it"
    )
    disabled: CpuSet | None = Field(description="CPUs on which it is switched off; None where the kernel does not say")


class PowerCap(Value):
    """What a package's power is held to."""

    name: Key[str] = Field(description="package-0")
    enabled: bool | None = optional("whether the limit holds")
    limit: Watts | None = optional("watts over the long term (PL1)")
    short: Watts | None = optional("watts over the short term (PL2)")
    nominal: Watts | None = optional("watts that the processor is made for (TDP)")


class UncoreClock(Value):
    """Limits of the clock of L3 and memory controllers of a die (Intel)."""

    name: Key[str] = Field(description="package_00_die_00")
    began_min: Hertz | None = optional("the lowest clock that the driver found when it loaded")
    began_max: Hertz | None = optional("the highest")
    min: Hertz | None = optional("the lowest clock allowed now")
    max: Hertz | None = optional("the highest")


class CoreKind(Value):
    """Cores of one kind, on a machine that has several."""

    name: Key[str] = Field(description="P-core, E-core, Cortex-X925")
    cpus: CpuSet = Field(description="its CPUs")
    speed: Number | None = optional("its place among the kinds by speed, 0 the slowest; None where nothing ranks them")


class Cpu(Value):
    """What every CPU of the machine has in common; a tuple where they differ."""

    vendor: str | None = optional("AuthenticAMD, GenuineIntel, ARM implementer, ...")
    model_name: Annotated[str | None, Section.MACHINE] = optional("the marketing name")
    family: Number | None = optional("as CPUID reports it: 25")
    model: Number | None = optional("as CPUID reports it; of Arm the part number")
    stepping: Number | None = optional("as CPUID reports it")
    kinds: tuple[CoreKind, ...] | None = optional(
        "the kinds of cores, the fastest first where that is known; None where all are alike or not reported"
    )
    flags: tuple[str, ...] | None = optional("sorted")
    microcode: Annotated[tuple[str, ...] | None, Section.MACHINE] = optional("revisions in use; several is a fault")
    base_hz: Hertz | None = optional("the base clock")
    min_hz: Hertz | None = optional("the lowest clock")
    max_hz: Hertz | None = optional("the highest clock the driver allows now")
    boost_headroom: Ratio | None = optional("highest clock of a core above its own base clock, of the core that has most: 0.33")
    limit_hz: Hertz | None = optional("the lowest scaling_max_freq of the CPUs: what software caps them at")
    driver: str | None = optional("cpufreq driver: acpi-cpufreq, amd-pstate-epp, intel_pstate")
    pstate: str | None = optional("status of intel_pstate or amd_pstate: active, passive, guided, off")
    governors: tuple[str, ...] | None = optional("governors in use; several is a fault")
    epp: tuple[str, ...] | None = optional("energy performance preferences in use")
    epb: tuple[Number, ...] | None = optional("energy performance bias values in use: 0 performance, 15 power save")
    boost: bool | None = optional("whether the kernel lets cores exceed the base clock")
    cppc_highest: Number | None = optional("highest performance that the firmware's CPPC table names")
    cppc_nominal: Number | None = optional("performance of the base clock in the same units")
    smt_control: str | None = optional("on, off, forceoff, notsupported, notimplemented")
    idle_driver: str | None = optional("cpuidle driver: intel_idle, acpi_idle")
    idle_states: tuple[IdleState, ...] | None = None
    wakeup_limits: tuple[Microseconds, ...] | None = optional(
        "microseconds that waking may take on CPUs that PM QoS limits one by one; () where none is limited"
    )
    power_caps: tuple[PowerCap, ...] | None = optional("limits of the packages' power (RAPL); () where the kernel shows none")
    uncore: tuple[UncoreClock, ...] | None = optional("limits of the uncore's clock, die by die; None where no driver shows them")
    vulnerabilities: dict[str, str] | None = optional("kernel's name of each and its mitigation")


def is_model(name: str, marketing: str | None) -> bool:
    """Return whether a processor, by its marketing name, is of a model: EPYC 7551 is not EPYC 7551P.

    >>> is_model("Gold 6148", "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"), is_model("EPYC 7551", "AMD EPYC 7551P")
    (True, False)
    """
    own = " ".join(re.sub(r"\((?:R|TM)\)", "", marketing or "").split())
    return re.search(rf"\b{re.escape(name)}(?!\w)", own) is not None


def advertised_cores(cpu: Cpu | None) -> int | None:
    """Return the cores of a socket as its name gives them: 32 of ``AMD EPYC 7601 32-Core Processor``."""
    match = re.search(r"\b(\d{1,3})-Core\b", (cpu and cpu.model_name) or "", re.ASCII | re.IGNORECASE)
    return int(match[1]) if match else None


class Dimm(Value):
    """One memory slot."""

    locator: Key[str] = Field(description="the board's name of the slot: A1, P1-DIMMA1")
    bank: str | None = optional("the board's name of the bank")
    socket: Number | None = optional("position of the processor it belongs to, from 0")
    channel: Number | None = optional("memory channel of that processor, from 0; None where the names do not tell")
    size: Bytes | None = Field(description="bytes; 0 for an empty slot, None where the firmware does not know")
    kind: str | None = optional("DDR4, DDR5, HBM2e, ...")
    rated: Transfers | None = optional("transfers a second that the module is made for")
    configured: Transfers | None = optional("transfers a second that it runs at")
    width: Bits | None = optional("data bits, without ECC")
    ranks: Count | None = optional("ranks of the module")
    maker: str | None = optional("vendor of the module")
    part: str | None = optional("part number")


class SocketMemory(Value):
    """What one processor's DIMMs add up to. A socket that holds neither processor nor module has none."""

    socket: Key[Number] = Field(description="position of the processor, from 0")
    dimms: Count = Field(description="DRAM modules present; not persistent memory, not HBM in the processor's package")
    slots: Count = Field(description="places for modules, filled or not")
    channels: Count | None = optional("channels that hold at least one module; None where the names do not tell")
    size: Bytes | None = Field(description="bytes; None where a module's is not known")
    configured: Transfers | None = optional("transfers a second of the slowest module; None where one is not known")
    bandwidth: BytesPerSecond | None = optional("bytes a second: channels x width x transfers; the ceiling")


class Processor(Value):
    """A processor socket, as SMBIOS describes it."""

    socket: Key[str] = Field(description="the board's name of the socket: CPU1")
    populated: bool = Field(description="whether a processor is in it")
    model: str | None = optional("the marketing name")
    cores: Count | None = optional("that it has")
    cores_enabled: Count | None = optional("that the firmware has switched on")
    threads: Count | None = optional("hardware threads of all its cores")
    max_hz: Hertz | None = optional("the highest clock that the socket takes")


class Memory(Value):
    """The memory of the machine, from its firmware."""

    dimms: tuple[Dimm, ...] | None = optional("every slot, empty ones too; without root the modules alone, as EDAC counts them")
    sockets: tuple[SocketMemory, ...] | None = None
    processors: tuple[Processor, ...] | None = None
    encrypted: bool | None = optional("whether the firmware encrypts all memory (AMD TSME)")
    scrub_rate: BytesPerSecond | None = optional(
        "bytes a second at which the slowest memory controller scrubs (EDAC); 0 not at all"
    )


class MemoryTier(Value):
    """What the kernel says of one NUMA node's memory as seen from its best initiators (HMAT)."""

    node: Key[Number] = Field(description="the kernel's number of the NUMA node")
    initiators: tuple[Number, ...] | None = optional("nodes whose CPUs reach it best (access0 or access1)")
    read_bandwidth: BytesPerSecond | None = optional("bytes a second")
    write_bandwidth: BytesPerSecond | None = optional("bytes a second")
    read_latency: Seconds | None = optional("seconds")
    write_latency: Seconds | None = optional("seconds")
    tier: Number | None = optional("the kernel's memory tier number")
    cache: Bytes | None = optional("bytes of the memory-side cache in front of it")


class DaxDevice(Value):
    """Memory that the kernel keeps apart until somebody says what for."""

    name: Key[DeviceName] = Field(description="dax0.0")
    kind: str | None = optional("cxl, nvdimm, or reserved by the firmware (HBM, CXL); None where it is not reported")
    size: Bytes | None = optional("bytes")
    node: Number | None = optional("the NUMA node that it is, or would be")
    use: str | None = optional("system where programs get it as memory, device where only who opens it does; None without driver")


INFINIBAND = "infiniband"
ETHERNET = "ethernet"
OMNI_PATH = "omni-path"
SLINGSHOT = "slingshot"


class Link(Whole):
    """A PCIe link: transfers a second and lanes."""

    speed: LaneTransfers | None = optional("transfers a second of one lane: 16e9")
    width: Count | None = optional("lanes")
    bandwidth: BytesPerSecond | None = optional("bytes a second one way after line coding")


class Locality(Whole):
    """Where a device is."""

    numa_nodes: tuple[Number, ...] = Field(
        description="CPU nodes it is local to; several where it hangs off a whole socket or machine"
    )
    inferred: str | None = optional("the reason, where the firmware said nothing (numa_node is -1)")
    cpus: CpuSet | None = optional("the CPUs nearest to it, where the source is finer than a NUMA node: those of an L3 group")
    one_of: bool = optional(
        "whether it is on one of these nodes, and nobody can say yet on which (advisor whatif)", default=False
    )


class PciDevice(Value):
    """A device worth a sysadmin's look: HCA, NIC, GPU, NVMe, accelerator."""

    address: Key[DeviceName] = Field(description="0000:61:00.0")
    kind: str = Field(description="hca, nic, gpu, nvme, accelerator, bridge or other")
    class_code: PciClass = Field(description="PCI class: 0x020700")
    vendor: PciId = Field(description="the vendor: 0x15b3")
    device: PciId = Field(description="the vendor's number of the product")
    name: str | None = optional("vendor and device in words where a source has them")
    driver: DeviceName | None = optional("kernel driver")
    locality: Locality | None = None
    upstream: tuple[DeviceName, ...] | None = optional(
        "what is between it and the processor, the root's side first: pci0000:60, 0000:60:01.1"
    )
    joined: str | None = optional("what carries its data to the processor where PCIe only sets it up: NVLink, Infinity Fabric")
    link: Link | None = optional("the link as it runs now")
    card: Link | None = optional("what the card could do")
    path: Link | None = optional("the narrowest link from root to card, as both its ends could run it")
    bottleneck: DeviceName | None = optional(
        "address of the port above the path's narrowest link, nearest to the root of several; None where the card "
        "itself could do no more"
    )
    max_read_request: PacketBytes | None = optional("bytes; known to root only, and not of virtual functions")
    relaxed_ordering: bool | None = optional("whether the card may; known as max_read_request is")
    aspm: bool | None = optional("whether its idle link may sleep; None where it could not, or of no root")
    ten_bit_tags: bool | None = optional("whether it may use ten-bit tags; None where it could not, or of no root")
    virtual_functions: Count | None = optional("SR-IOV functions enabled")
    max_virtual_functions: Count | None = optional("SR-IOV functions the card offers")
    is_virtual_function: bool = optional("whether it is a virtual function of another", default=False)


class Port(Value):
    """A port of an HCA."""

    number: Key[Number] = Field(description="from 1")
    state: str | None = optional("active, init, down, armed")
    physical: str | None = optional("linkup, polling, disabled, ...")
    rate: BitsPerSecond | None = optional("bits a second: 100e9")
    rate_name: str | None = optional("4X EDR")
    link_layer: str | None = optional("infiniband, ethernet, omni-path or slingshot")
    netdev: DeviceName | None = optional("the network interface on it")
    lid: Volatile[Number | None] = optional("the local identifier that the subnet manager gave it; another at each start")


class Irq(Value):
    """An interrupt of a device and the CPUs it may arrive at."""

    number: Key[Number] = Field(description="the kernel's number")
    cpus: CpuSet = Field(description="the CPUs that smp_affinity allows it")
    effective: CpuSet | None = optional("those of them that the interrupt controller sends it to")


class Hca(Value):
    """An adapter that programs send messages by: InfiniBand, RoCE, Omni-Path, Slingshot."""

    name: Key[DeviceName] = Field(description="mlx5_0, hfi1_0, cxi0; hsn0 where no more is shown of a Slingshot adapter")
    address: DeviceName | None = optional("PCI address; None for a soft device without one")
    locality: Locality | None = None
    firmware: str | None = optional("version: 16.35.3502")
    board_id: str | None = optional("the PSID: MT_0000000008")
    board: Number | None = optional(
        "number of the physical card: functions in several slots with one number are one card (Socket Direct)"
    )
    kind: str | None = optional("what the driver calls it: MT4119")
    ports: tuple[Port, ...] | None = optional("its ports")
    layer: str | None = optional("link layer as its card's class or its name tell it, where no port does")
    irqs: Volatile[tuple[Irq, ...] | None] = optional("its interrupts")
    firmware_options: dict[str, str] | None = optional(
        "options of its firmware at the next restart: PCI_WR_ORDERING -> per_mkey; root alone sees them"
    )


class Nic(Value):
    """A network interface with hardware behind it."""

    name: Key[DeviceName] = Field(description="eno1, ib0")
    address: DeviceName | None = optional("PCI address")
    locality: Locality | None = None
    speed: BitsPerSecond | None = optional("bits a second")
    state: str | None = optional("up, down")
    mtu: PacketBytes | None = optional("the largest packet")


class Gpu(Value):
    """A graphics processor or accelerator; a partition of one where the driver shows it as a device of its own."""

    address: Key[DeviceName] = Field(
        description="PCI address; of a partition the card's with the partition in place of the function, as rocm-smi prints it"
    )
    card: DeviceName | None = optional("PCI address of the card that a partition is of")
    vendor: str | None = optional("nvidia, amd, intel")
    model: str | None = optional("in words: NVIDIA H100 80GB HBM3")
    locality: Locality | None = None
    memory: Bytes | None = optional("bytes of its own")
    driver_version: str | None = optional("version of its driver")
    vbios: str | None = optional("version of its own firmware (Video BIOS): 92.00.36.00.01")
    index: Number | None = optional("the vendor tool's number")
    minor: Number | None = optional("number in its device file: 0 of /dev/nvidia0, 128 of /dev/dri/renderD128 (AMD)")
    persistence: bool | None = optional("whether its driver stays loaded while nobody uses it (NVIDIA)")
    ecc: bool | None = optional("whether its memory corrects errors")
    ecc_pending: bool | None = optional("the same after its next reset")
    max_hz: Hertz | None = optional("the highest clock of its cores")
    power_limit: Watts | None = optional("watts that it may take")
    power_default: Watts | None = optional("watts that it may take as it was made")
    nvlinks: Count | None = optional("its NVLinks, up or not; None where its tool shows none")
    nvlinks_up: Count | None = optional("those of them that are up")
    repair_pending: bool | None = optional("whether rows of its memory wait for a reset to be replaced, or could not be replaced")
    compute_partition: str | None = optional("how an AMD Instinct's dies are partitioned: SPX, DPX, TPX, QPX, CPX")
    instances: Count | None = optional("MIG instances of an NVIDIA GPU that programs can use, if any")
    tiles: Count | None = optional("tiles of an Intel GPU, each of which programs may take for a device of its own")
    memory_partition: str | None = optional("how an AMD Instinct's memory is partitioned: NPS1, NPS2, NPS4, NPS8")

    @property
    def file(self) -> str | None:
        """Its device file; None where it is not known."""
        start = {"nvidia": "/dev/nvidia", "amd": "/dev/dri/renderD"}.get(self.vendor or "")
        return f"{start}{self.minor}" if start and self.minor is not None else None


def bus_of(address: str | None) -> int | None:
    """Return the bus of a PCI address; None where it is not known."""
    parts = (address or "").split(":")
    try:
        return int(parts[-2], 16) if len(parts) > 1 else None
    except ValueError:
        return None


NAMES = {
    INFINIBAND: "InfiniBand",
    ETHERNET: "Ethernet",
    OMNI_PATH: "Omni-Path",
    SLINGSHOT: "Slingshot",
}
"""Link layers as people write them."""
_MADE_FOR_MESSAGES = (INFINIBAND, SLINGSHOT, OMNI_PATH)


def is_active(port: Port) -> bool:
    """Return whether a port is active, or not known to be anything else."""
    return port.state in (None, "active")


def fabric_of(hcas: Sequence[Hca]) -> str | None:
    """Return the link layer of the network that messages go over; None where no port's is known.

    A network made for messages goes before Ethernet, which such nodes have for storage and services. Its ports count where
    they are down too, or a plan made while a cable is out would name the wrong network for good; not those of a card whose
    other port is active as Ethernet: they were never cabled.
    """
    ports = [(hca, port) for hca in hcas for port in shown_ports(hca) if port.link_layer]
    services = {_slot(hca) for hca, port in ports if port.link_layer == ETHERNET and port.state == "active"}
    meant = [(h, p) for h, p in ports if p.link_layer != ETHERNET and (is_active(p) or _slot(h) not in services)]
    counted = {layer: [p for _, p in meant if p.link_layer == layer] for layer in _MADE_FOR_MESSAGES}
    best = max(counted, key=lambda layer: (sum(map(is_active, counted[layer])), len(counted[layer])))
    if counted[best]:
        return best
    return ETHERNET if any(port.link_layer == ETHERNET for _, port in ports) else None


def shown_ports(hca: Hca) -> tuple[Port, ...]:
    """Return the ports of an adapter; where none is shown, one of which the link layer alone is known, if that is."""
    if hca.ports is not None:
        return hca.ports
    return (Port(number=1, link_layer=hca.layer),) if hca.layer else ()


def ports_of(hca: Hca, fabric: str | None) -> tuple[Port, ...] | None:
    """Return the ports of an adapter that are of a fabric; None where nothing is known of its ports."""
    if hca.ports is None:
        return None
    return tuple(port for port in hca.ports if fabric is None or port.link_layer == fabric)


def is_on_fabric(hca: Hca, fabric: str | None) -> bool:
    """Return whether an adapter is of a fabric: where none is known of any, all are."""
    return fabric is None or any(port.link_layer == fabric for port in shown_ports(hca))


def other_layers(hca: Hca, fabric: str | None) -> tuple[str, ...]:
    """Return the link layers of an adapter that is none of the fabric's, () where they are not known."""
    return () if is_on_fabric(hca, fabric) else tuple(sorted({port.link_layer for port in shown_ports(hca) if port.link_layer}))


def _slot(hca: Hca) -> str:
    """Return the card of an adapter: the functions of a card, or the adapter's own name where it has no address."""
    return hca.address.rpartition(".")[0] if hca.address else hca.name


class Firmware(Value):
    """The system, board and BIOS names that SMBIOS gives."""

    system_vendor: str | None = optional("vendor of the system: Dell Inc.")
    product: str | None = optional("product name: PowerEdge R7425")
    product_version: str | None = optional("the vendor's version of the product")
    board_vendor: str | None = optional("vendor of the board")
    board: str | None = optional("board name: 02MJ3T")
    bios_vendor: str | None = optional("vendor of the BIOS")
    bios_version: str | None = optional("1.26.0")
    bios_date: str | None = optional("ISO date: 2024-01-01")
    smbios: str | None = optional("version of the SMBIOS table: 3.3; root alone can read it")
    cluster_mode: str | None = optional("Knights Landing only: Quadrant, SNC4, ... as its firmware reports")
    memory_mode: str | None = optional("Knights Landing only: Cache, Flat, Hybrid50, ... as its firmware reports")


Scalar = bool | int | str
"""A vendor's value; "1" and 1 differ, and a controller refuses the wrong one."""


class Bios(Value):
    """The BIOS as it is set, and as it will be after the next restart."""

    attributes: Settings[dict[str, Scalar | None]] = Field(
        description="attribute -> value; serial numbers and addresses left out, passwords withheld"
    )
    pending: Settings[dict[str, Scalar | None] | None] = optional(
        "what waits for the next restart; None where it was not read, {} where nothing waits"
    )
    also: dict[str, str] = optional(
        "attribute -> its value's other name, where a registry has both that and the menu's words", {}
    )
    registry: str | None = optional("attribute registry that explains the names: BiosAttributeRegistryA42.v1_2_60")

    def changed(self) -> dict[str, Scalar | None]:
        """Return the pending values that differ from the present ones: HPE and Lenovo list all of them as pending."""
        return {name: value for name, value in (self.pending or {}).items() if self.attributes.get(name) != value}


Condition = Literal["EQU", "NEQ", "GTR", "GEQ", "LSS", "LEQ"]

FLAGS = ("ReadOnly", "GrayOut", "Hidden", "Immutable")
"""Properties that keep an attribute from being written."""


_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,\}|\{\d{2,}|\{\d*,\d{2,})")
"""A group that is repeated without a bound, or often: registries come from outside, and such an expression can take ages."""


class Allowed(Value):
    """One value of an enumeration: what a PATCH takes, and what the menu shows."""

    name: str
    shown: str


class Attribute(Value):
    """One attribute as the registry describes it."""

    name: str
    kind: str = Field(description="Enumeration, Integer, String, Boolean, Password")
    shown: str | None = optional("DisplayName")
    values: tuple[Allowed, ...] = ()
    flags: tuple[str, ...] = optional("of ReadOnly, GrayOut, Hidden, Immutable, those that it states", ())
    lower: int | None = None
    upper: int | None = None
    shortest: int | None = None
    longest: int | None = None
    expression: str | None = optional("what a text must match")

    def named(self, value: Scalar | None) -> Scalar | None:
        """Return the registry's own name for a value, where the menu's words for it were given."""
        meant = None
        for each in self.values if isinstance(value, str) else ():  # a script of a hundred changes asks a million times
            if each.name == value:
                return value
            if meant is None and each.shown == value:
                meant = each.name
        return value if meant is None else meant

    def takes(self, value: Scalar) -> bool:
        """Return whether a value is legal; the name and the menu's words of an enumeration both are."""
        if self.kind == "Enumeration":
            return isinstance(value, str) and any(value in (each.name, each.shown) for each in self.values)
        if self.kind == "Integer":
            if isinstance(value, bool) or not isinstance(value, int):
                return False
            return (self.lower is None or value >= self.lower) and (self.upper is None or value <= self.upper)
        return isinstance(value, bool) if self.kind == "Boolean" else isinstance(value, str) and self._fits(value)

    def _fits(self, text: str) -> bool:
        """Return whether a text is one that it takes; an expression that might be searched for ever fits nothing."""
        if len(text) < (self.shortest or 0) or (self.longest is not None and len(text) > self.longest):
            return False
        if self.expression is None:
            return True
        try:
            return not _REPEATED_GROUP.search(self.expression) and bool(re.search(self.expression, text))
        except re.error:
            return False


class Term(Value):
    """One condition of a dependency."""

    attribute: str
    property: str
    condition: Condition
    value: Scalar | None
    joined: tuple[Literal["AND", "OR"], ...] = optional(
        "in postfix: each joins the last two of what came so far, once this term has come", ()
    )


class Dependency(Value):
    """While its terms hold, an attribute's property has a value."""

    target: str
    property: str
    value: Scalar | None
    terms: tuple[Term, ...] = Field(min_length=1)


COVERS = 0.95
"""The part of a BIOS's attributes that a registry must name to be that BIOS's."""


class Registry(Value):
    """An attribute registry."""

    id: str | None = None
    maker: str | None = optional("OwningEntity: Dell, HPE, AMI")
    product: str | None = None
    attributes: dict[str, Attribute]
    dependencies: tuple[Dependency, ...] = ()


class MadtEntry(Value):
    """A processor in the order in which the firmware lists it."""

    apic_id: Number = Field(description="APIC ID; on Arm the MPIDR")
    uid: Number = Field(description="ACPI processor UID")
    enabled: bool = Field(description="whether it may be used from the start")
    online_capable: bool = optional("may be enabled later, at run time", default=False)
    x2apic: bool = optional("listed as a Local x2APIC (type 9)", default=False)


class SratCpu(Value):
    """Which proximity domain a processor is in."""

    apic_id: Number | None = optional("None where the table names the UID instead (Arm)")
    uid: Number | None = optional("ACPI processor UID, as in the MADT; None on x86")
    domain: Number = Field(description="proximity domain")
    enabled: bool = Field(description="whether the entry counts")


class SratMemory(Value):
    """A range of memory and its proximity domain."""

    domain: Number = Field(description="proximity domain")
    base: MemoryAddress = Field(description="first physical address")
    size: Bytes = Field(description="bytes")
    enabled: bool = Field(description="whether the entry counts")
    hotplug: bool = Field(description="whether memory may come in at run time")
    non_volatile: bool = Field(description="whether it keeps its content without power")


class HmatEntry(Value):
    """One latency or bandwidth of the HMAT, of the memory itself and not of a cache in front of it."""

    initiator: Number = Field(description="proximity domain that accesses")
    target: Number = Field(description="proximity domain of the memory")
    kind: str = Field(
        description="access-latency, read-latency, write-latency, access-bandwidth, read-bandwidth, write-bandwidth"
    )
    value: SecondsOrBandwidth = Field(description="seconds or bytes a second")


class Acpi(Value):
    """The tables that could be read; None for each that could not, () for each that the firmware does not have."""

    madt: PerCpu[tuple[MadtEntry, ...] | None] = optional("the APIC table's processors, in its order")
    srat_cpus: PerCpu[tuple[SratCpu, ...] | None] = None
    srat_memory: tuple[SratMemory, ...] | None = None
    slit: tuple[tuple[Number, ...], ...] | None = optional("distances, one row a proximity domain")
    hmat: tuple[HmatEntry, ...] | None = None
