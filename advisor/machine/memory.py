"""The DIMMs, as SMBIOS describes them, and kinds of memory by speed: DRAM, HBM, CXL, NVDIMM."""

from pydantic import Field

from advisor.machine.fact import Bits, Bytes, BytesPerSecond, Count, Hertz, Key, Number, Seconds, Transfers, optional
from advisor.machine.value import DeviceName, Value


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
