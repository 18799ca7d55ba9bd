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

    name: Key[str]
    """POLL, C1, C2, C6"""
    latency: Microseconds | None = None
    """microseconds to leave the state"""
    off_by_default: bool | None = None
    """whether the kernel started with it disabled, as when the firmware's _CST lacks it"""
    disabled: CpuSet | None
    """CPUs on which it is disabled; None if the kernel does not say"""


class PowerCap(Value):
    """What a package's power is held to."""

    name: Key[str]
    """package-0"""
    enabled: bool | None = None
    """whether the limit is enforced"""
    limit: Watts | None = None
    """watts over the long term (PL1)"""
    short: Watts | None = None
    """watts over the short term (PL2)"""
    nominal: Watts | None = None
    """rated watts of the processor (TDP)"""


class UncoreClock(Value):
    """Limits of the clock of L3 and memory controllers of a die (Intel)."""

    name: Key[str]
    """package_00_die_00"""
    began_min: Hertz | None = None
    """the lowest clock that the driver found when it loaded"""
    began_max: Hertz | None = None
    """the highest"""
    min: Hertz | None = None
    """the lowest clock allowed now"""
    max: Hertz | None = None
    """the highest"""


class CoreKind(Value):
    """Cores of one kind, on a machine that has several."""

    name: Key[str]
    """P-core, E-core, Cortex-X925"""
    cpus: CpuSet
    """its CPUs"""
    speed: Number | None = None
    """its rank by speed among the kinds; 0 is the slowest, None if unranked"""


class Cpu(Value):
    """What every CPU of the machine has in common; a tuple where they differ."""

    vendor: str | None = None
    """AuthenticAMD, GenuineIntel, ARM implementer, ..."""
    model_name: Annotated[str | None, Section.MACHINE] = None
    """the marketing name"""
    family: Number | None = None
    """as CPUID reports it: 25"""
    model: Number | None = None
    """as CPUID reports it; the part number on Arm"""
    stepping: Number | None = None
    """as CPUID reports it"""
    kinds: tuple[CoreKind, ...] | None = None
    """the kinds of cores, fastest first if known; None if all are identical or not reported"""
    flags: tuple[str, ...] | None = None
    """sorted"""
    microcode: Annotated[tuple[str, ...] | None, Section.MACHINE] = None
    """revisions in use; more than one is a fault"""
    base_hz: Hertz | None = None
    """the base clock"""
    min_hz: Hertz | None = None
    """the lowest clock"""
    max_hz: Hertz | None = None
    """the highest clock the driver allows now"""
    boost_headroom: Ratio | None = None
    """how far the fastest core's highest clock is above the base clock, as a fraction: 0.33"""
    limit_hz: Hertz | None = None
    """the lowest scaling_max_freq of the CPUs: the cap set by software"""
    driver: str | None = None
    """cpufreq driver: acpi-cpufreq, amd-pstate-epp, intel_pstate"""
    pstate: str | None = None
    """status of intel_pstate or amd_pstate: active, passive, guided, off"""
    governors: tuple[str, ...] | None = None
    """governors in use; more than one is a fault"""
    epp: tuple[str, ...] | None = None
    """energy performance preferences in use"""
    epb: tuple[Number, ...] | None = None
    """energy performance bias values in use: 0 performance, 15 power save"""
    boost: bool | None = None
    """whether the kernel lets cores exceed the base clock"""
    cppc_highest: Number | None = None
    """highest performance that the firmware's CPPC table names"""
    cppc_nominal: Number | None = None
    """performance at the base clock, in the same units"""
    smt_control: str | None = None
    """on, off, forceoff, notsupported, notimplemented"""
    idle_driver: str | None = None
    """cpuidle driver: intel_idle, acpi_idle"""
    idle_states: tuple[IdleState, ...] | None = None
    wakeup_limits: tuple[Microseconds, ...] | None = None
    """per-CPU limits of the wake-up time from PM QoS, in microseconds; () if there are none"""
    power_caps: tuple[PowerCap, ...] | None = None
    """power limits of the packages (RAPL); () if the kernel shows none"""
    uncore: tuple[UncoreClock, ...] | None = None
    """uncore clock limits per die; None if no driver shows them"""
    vulnerabilities: dict[str, str] | None = None
    """the kernel's name of each vulnerability and its mitigation"""


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

    locator: Key[str]
    """the board's name for the slot: A1, P1-DIMMA1"""
    bank: str | None = None
    """the board's name for the bank"""
    socket: Number | None = None
    """position of the processor it belongs to, from 0"""
    channel: Number | None = None
    """memory channel of that processor, from 0; None if the names do not show it"""
    size: Bytes | None
    """bytes; 0 for an empty slot, None if the firmware does not know"""
    kind: str | None = None
    """DDR4, DDR5, HBM2e, ..."""
    rated: Transfers | None = None
    """rated transfers per second of the module"""
    configured: Transfers | None = None
    """transfers per second at which it runs"""
    width: Bits | None = None
    """data width in bits, without ECC"""
    ranks: Count | None = None
    """ranks of the module"""
    maker: str | None = None
    """vendor of the module"""
    part: str | None = None
    """part number"""


class SocketMemory(Value):
    """Totals of one processor's DIMMs. A socket without a processor and without DIMMs has no entry."""

    socket: Key[Number]
    """position of the processor, from 0"""
    dimms: Count
    """DRAM modules present; not persistent memory, not HBM in the processor's package"""
    slots: Count
    """slots for modules, populated or not"""
    channels: Count | None = None
    """channels with at least one module; None if the names do not show it"""
    size: Bytes | None
    """bytes; None if a module's size is not known"""
    configured: Transfers | None = None
    """transfers per second of the slowest module; None if one is not known"""
    bandwidth: BytesPerSecond | None = None
    """bytes per second: channels x width x transfers; the ceiling"""


class Processor(Value):
    """A processor socket, as SMBIOS describes it."""

    socket: Key[str]
    """the board's name for the socket: CPU1"""
    populated: bool
    """whether a processor is installed in it"""
    model: str | None = None
    """the marketing name"""
    cores: Count | None = None
    """number of cores"""
    cores_enabled: Count | None = None
    """cores enabled by the firmware"""
    threads: Count | None = None
    """hardware threads of all its cores"""
    max_hz: Hertz | None = None
    """the highest clock that the socket supports"""


class Memory(Value):
    """The memory of the machine, from its firmware."""

    dimms: tuple[Dimm, ...] | None = None
    """every slot, including empty ones; without root only the modules that EDAC counts"""
    sockets: tuple[SocketMemory, ...] | None = None
    processors: tuple[Processor, ...] | None = None
    encrypted: bool | None = None
    """whether the firmware encrypts all memory (AMD TSME)"""
    scrub_rate: BytesPerSecond | None = None
    """scrub rate of the slowest memory controller, bytes per second (EDAC); 0: off"""


class MemoryTier(Value):
    """What the kernel says of one NUMA node's memory as seen from its best initiators (HMAT)."""

    node: Key[Number]
    """the kernel's number of the NUMA node"""
    initiators: tuple[Number, ...] | None = None
    """nodes whose CPUs reach it best (access0 or access1)"""
    read_bandwidth: BytesPerSecond | None = None
    """bytes per second"""
    write_bandwidth: BytesPerSecond | None = None
    """bytes per second"""
    read_latency: Seconds | None = None
    """seconds"""
    write_latency: Seconds | None = None
    """seconds"""
    tier: Number | None = None
    """the kernel's memory tier number"""
    cache: Bytes | None = None
    """bytes of the memory-side cache in front of it"""


class DaxDevice(Value):
    """Memory that the kernel keeps apart until somebody says what for."""

    name: Key[DeviceName]
    """dax0.0"""
    kind: str | None = None
    """cxl, nvdimm, or reserved by the firmware (HBM, CXL); None if it is not reported"""
    size: Bytes | None = None
    """bytes"""
    node: Number | None = None
    """its NUMA node, or the one it would become"""
    use: str | None = None
    """system if all programs can use it as memory, device if only programs that open it can; None without a driver"""


INFINIBAND = "infiniband"
ETHERNET = "ethernet"
OMNI_PATH = "omni-path"
SLINGSHOT = "slingshot"


class Link(Whole):
    """A PCIe link: transfers a second and lanes."""

    speed: LaneTransfers | None = None
    """transfers per second of one lane: 16e9"""
    width: Count | None = None
    """lanes"""
    bandwidth: BytesPerSecond | None = None
    """bytes per second one way after line coding"""


class Locality(Whole):
    """Location of a device."""

    numa_nodes: tuple[Number, ...]
    """CPU nodes it is local to; several if it is attached to a whole socket or machine"""
    inferred: str | None = None
    """why its nodes are inferred, if the firmware reports none (numa_node is -1)"""
    cpus: CpuSet | None = None
    """the CPUs nearest to it, if the source is finer than a NUMA node: those of an L3 group"""
    one_of: bool = False
    """whether it is on just one of these nodes, but it is not yet known on which (advisor whatif)"""


class PciDevice(Value):
    """A device that matters to a sysadmin: HCA, NIC, GPU, NVMe, accelerator."""

    address: Key[DeviceName]
    """0000:61:00.0"""
    kind: str
    """hca, nic, gpu, nvme, accelerator, bridge or other"""
    class_code: PciClass
    """PCI class: 0x020700"""
    vendor: PciId
    """the vendor: 0x15b3"""
    device: PciId
    """the vendor's product number"""
    name: str | None = None
    """vendor and device names, if a source has them"""
    driver: DeviceName | None = None
    """kernel driver"""
    locality: Locality | None = None
    upstream: tuple[DeviceName, ...] | None = None
    """path from the processor to the card, root first: pci0000:60, 0000:60:01.1"""
    joined: str | None = None
    """the link that carries its data if PCIe is only for set-up: NVLink, Infinity Fabric"""
    link: Link | None = None
    """the link as it runs now"""
    card: Link | None = None
    """the fastest link that the card supports"""
    path: Link | None = None
    """the narrowest link from root to card, at the best speed that both of its ends support"""
    bottleneck: DeviceName | None = None
    """address of the port above the path's narrowest link (of several, the one nearest to the root); None if the card
    itself is the limit"""
    max_read_request: PacketBytes | None = None
    """bytes; readable only as root, and not for virtual functions"""
    relaxed_ordering: bool | None = None
    """whether the card may reorder transfers; readable under the same conditions as max_read_request"""
    aspm: bool | None = None
    """whether its idle link may sleep; None if unsupported, or without root"""
    ten_bit_tags: bool | None = None
    """whether it may use ten-bit tags; None if unsupported, or if not read as root"""
    virtual_functions: Count | None = None
    """SR-IOV functions enabled"""
    max_virtual_functions: Count | None = None
    """SR-IOV functions the card offers"""
    is_virtual_function: bool = False
    """whether it is a virtual function of another device"""


class Port(Value):
    """A port of an HCA."""

    number: Key[Number]
    """from 1"""
    state: str | None = None
    """active, init, down, armed"""
    physical: str | None = None
    """linkup, polling, disabled, ..."""
    rate: BitsPerSecond | None = None
    """bits per second: 100e9"""
    rate_name: str | None = None
    """4X EDR"""
    link_layer: str | None = None
    """infiniband, ethernet, omni-path or slingshot"""
    netdev: DeviceName | None = None
    """the network interface on it"""
    lid: Volatile[Number | None] = None
    """the local identifier from the subnet manager; may change at any boot"""


class Irq(Value):
    """An interrupt of a device and the CPUs it may arrive at."""

    number: Key[Number]
    """the kernel's number"""
    cpus: CpuSet
    """the CPUs that smp_affinity allows"""
    effective: CpuSet | None = None
    """the CPUs that the interrupt controller sends it to"""


class Hca(Value):
    """An adapter through which programs send messages: InfiniBand, RoCE, Omni-Path, Slingshot."""

    name: Key[DeviceName]
    """mlx5_0, hfi1_0, cxi0; hsn0 if nothing else of a Slingshot adapter is visible"""
    address: DeviceName | None = None
    """PCI address; None for a software device without one"""
    locality: Locality | None = None
    firmware: str | None = None
    """version: 16.35.3502"""
    board_id: str | None = None
    """the PSID: MT_0000000008"""
    board: Number | None = None
    """number of the physical card: functions in several slots with the same number are one card (Socket Direct)"""
    kind: str | None = None
    """the driver's name for it: MT4119"""
    ports: tuple[Port, ...] | None = None
    """its ports"""
    layer: str | None = None
    """link layer from the card's class or name, if no port shows it"""
    irqs: Volatile[tuple[Irq, ...] | None] = None
    """its interrupts"""
    firmware_options: dict[str, str] | None = None
    """its firmware options from the next restart: PCI_WR_ORDERING -> per_mkey; readable only as root"""


class Nic(Value):
    """A network interface with hardware behind it."""

    name: Key[DeviceName]
    """eno1, ib0"""
    address: DeviceName | None = None
    """PCI address"""
    locality: Locality | None = None
    speed: BitsPerSecond | None = None
    """bits per second"""
    state: str | None = None
    """up, down"""
    mtu: PacketBytes | None = None
    """the largest packet"""


class Gpu(Value):
    """A graphics processor or accelerator, or a partition of one that the driver shows as a separate device."""

    address: Key[DeviceName]
    """PCI address; for a partition, the card's address with the partition in place of the function, as rocm-smi prints it"""
    card: DeviceName | None = None
    """PCI address of a partition's card"""
    vendor: str | None = None
    """nvidia, amd, intel"""
    model: str | None = None
    """its model: NVIDIA H100 80GB HBM3"""
    locality: Locality | None = None
    memory: Bytes | None = None
    """bytes of its own memory"""
    driver_version: str | None = None
    """version of its driver"""
    vbios: str | None = None
    """version of its own firmware (Video BIOS): 92.00.36.00.01"""
    index: Number | None = None
    """the GPU's number in the vendor's tool"""
    minor: Number | None = None
    """number of its device file: 0 for /dev/nvidia0, 128 for /dev/dri/renderD128 (AMD)"""
    persistence: bool | None = None
    """whether its driver stays loaded while unused (NVIDIA)"""
    ecc: bool | None = None
    """whether its memory corrects errors"""
    ecc_pending: bool | None = None
    """whether its memory will correct errors after its next reset"""
    max_hz: Hertz | None = None
    """the highest clock of its cores"""
    power_limit: Watts | None = None
    """its power limit in watts"""
    power_default: Watts | None = None
    """its default power limit in watts"""
    nvlinks: Count | None = None
    """its NVLinks, up or not; None if its tool shows none"""
    nvlinks_up: Count | None = None
    """number of NVLinks that are up"""
    repair_pending: bool | None = None
    """whether memory rows are waiting for a reset to be remapped, or could not be remapped"""
    compute_partition: str | None = None
    """how an AMD Instinct's dies are partitioned: SPX, DPX, TPX, QPX, CPX"""
    instances: Count | None = None
    """MIG instances of an NVIDIA GPU that programs can use, if any"""
    tiles: Count | None = None
    """tiles of an Intel GPU, which programs may see as separate devices"""
    memory_partition: str | None = None
    """how an AMD Instinct's memory is partitioned: NPS1, NPS2, NPS4, NPS8"""

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

    system_vendor: str | None = None
    """vendor of the system: Dell Inc."""
    product: str | None = None
    """product name: PowerEdge R7425"""
    product_version: str | None = None
    """the vendor's version of the product"""
    board_vendor: str | None = None
    """vendor of the board"""
    board: str | None = None
    """board name: 02MJ3T"""
    bios_vendor: str | None = None
    """vendor of the BIOS"""
    bios_version: str | None = None
    """1.26.0"""
    bios_date: str | None = None
    """ISO date: 2024-01-01"""
    smbios: str | None = None
    """version of the SMBIOS table: 3.3; readable only as root"""
    cluster_mode: str | None = None
    """Knights Landing only: Quadrant, SNC4, ... as reported by its firmware"""
    memory_mode: str | None = None
    """Knights Landing only: Cache, Flat, Hybrid50, ... as reported by its firmware"""

    @property
    def sold(self) -> str:
        """Return what the system was sold as, with its vendor once: HPE's Gen12 say "HPE ProLiant Compute DL360 Gen12"."""
        vendor, product = self.system_vendor or "", self.product or ""
        return product if vendor and product.lower().startswith(f"{vendor.lower()} ") else f"{vendor} {product}".strip()


Scalar = bool | int | str
"""A vendor's value; "1" and 1 differ, and a controller refuses the wrong one."""


class Bios(Value):
    """The BIOS as it is set, and as it will be after the next restart."""

    attributes: Settings[dict[str, Scalar | None]]
    """attribute -> value; serial numbers and addresses left out, passwords withheld"""
    pending: Settings[dict[str, Scalar | None] | None] = None
    """what is pending for the next restart; None if not read, {} if nothing is"""
    also: dict[str, str] = optional({})
    """attribute -> other name of its value: the menu's text for a registry name, or the reverse"""
    registry: str | None = None
    """attribute registry that explains the names: BiosAttributeRegistryA42.v1_2_60"""

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
    kind: str
    """Enumeration, Integer, String, Boolean, Password"""
    shown: str | None = None
    """DisplayName"""
    values: tuple[Allowed, ...] = ()
    flags: tuple[str, ...] = ()
    """the flags it states: ReadOnly, GrayOut, Hidden, Immutable"""
    lower: int | None = None
    upper: int | None = None
    shortest: int | None = None
    longest: int | None = None
    expression: str | None = None
    """the pattern that a text must match"""

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
    joined: tuple[Literal["AND", "OR"], ...] = ()
    """in postfix: joins the last two results, after this term"""


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
    maker: str | None = None
    """OwningEntity: Dell, HPE, AMI"""
    product: str | None = None
    attributes: dict[str, Attribute]
    dependencies: tuple[Dependency, ...] = ()


class MadtEntry(Value):
    """A processor in the order in which the firmware lists it."""

    apic_id: Number
    """APIC ID; on Arm the MPIDR"""
    uid: Number
    """ACPI processor UID"""
    enabled: bool
    """whether it is usable at boot"""
    online_capable: bool = False
    """may be enabled later, at run time"""
    x2apic: bool = False
    """listed as a Local x2APIC (type 9)"""


class SratCpu(Value):
    """Which proximity domain a processor is in."""

    apic_id: Number | None = None
    """None if the table names the UID instead (Arm)"""
    uid: Number | None = None
    """ACPI processor UID, as in the MADT; None on x86"""
    domain: Number
    """proximity domain"""
    enabled: bool
    """whether the entry is enabled"""


class SratMemory(Value):
    """A range of memory and its proximity domain."""

    domain: Number
    """proximity domain"""
    base: MemoryAddress
    """first physical address"""
    size: Bytes
    """bytes"""
    enabled: bool
    """whether the entry is enabled"""
    hotplug: bool
    """whether memory may be added at run time"""
    non_volatile: bool
    """whether it is non-volatile"""


class HmatEntry(Value):
    """One latency or bandwidth from the HMAT: that of the memory itself, not of a cache in front of it."""

    initiator: Number
    """proximity domain of the initiator"""
    target: Number
    """proximity domain of the memory"""
    kind: str
    """access-latency, read-latency, write-latency, access-bandwidth, read-bandwidth, write-bandwidth"""
    value: SecondsOrBandwidth
    """seconds or bytes per second"""


class Acpi(Value):
    """The tables that could be read; None for each that could not, () for each that the firmware does not have."""

    madt: PerCpu[tuple[MadtEntry, ...] | None] = None
    """the processors listed in the APIC table (MADT), in table order"""
    srat_cpus: PerCpu[tuple[SratCpu, ...] | None] = None
    srat_memory: tuple[SratMemory, ...] | None = None
    slit: tuple[tuple[Number, ...], ...] | None = None
    """distances, one row per proximity domain"""
    hmat: tuple[HmatEntry, ...] | None = None
