"""What is plugged in: PCI devices, HCAs, network interfaces, GPUs, disks; and over which network of several messages go."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import (
    BitsPerSecond,
    Bytes,
    BytesPerSecond,
    Count,
    Hertz,
    Key,
    LaneTransfers,
    Number,
    PacketBytes,
    PciClass,
    PciId,
    Volatile,
    Watts,
    optional,
)
from advisor.machine.value import DeviceName, Value, Whole

INFINIBAND: Final = "infiniband"
ETHERNET: Final = "ethernet"
OMNI_PATH: Final = "omni-path"
SLINGSHOT: Final = "slingshot"


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
    one_of: bool = Field(
        default=False, description="whether it is on one of these nodes, and nobody can say yet on which (advisor whatif)"
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
    is_virtual_function: bool = Field(default=False, description="whether it is a virtual function of another")


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


NAMES: Final = {
    INFINIBAND: "InfiniBand",
    ETHERNET: "Ethernet",
    OMNI_PATH: "Omni-Path",
    SLINGSHOT: "Slingshot",
}
"""Link layers as people write them."""
_MADE_FOR_MESSAGES: Final = (INFINIBAND, SLINGSHOT, OMNI_PATH)


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
