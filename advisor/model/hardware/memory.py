"""The DIMMs, as SMBIOS describes them, and kinds of memory by speed: DRAM, HBM, CXL, NVDIMM."""

from pydantic import Field

from advisor.model.value import DeviceName, Value


class Dimm(Value):
    """One memory slot."""

    locator: str = Field(description="the board's name of the slot: A1, P1-DIMMA1")
    bank: str | None = None
    socket: int | None = Field(default=None, description="position of the processor it belongs to, from 0")
    channel: int | None = Field(
        default=None, description="memory channel of that processor, from 0; None where the names do not tell"
    )
    size: int | None = Field(description="bytes; 0 for an empty slot, None where the firmware does not know")
    kind: str | None = Field(default=None, description="DDR4, DDR5, HBM2e, ...")
    rated: int | None = Field(default=None, description="transfers a second that the module is made for")
    configured: int | None = Field(default=None, description="transfers a second that it runs at")
    width: int | None = Field(default=None, description="data bits, without ECC")
    ranks: int | None = None
    maker: str | None = None
    part: str | None = None


class SocketMemory(Value):
    """What one processor's DIMMs add up to. A socket that holds neither processor nor module has none."""

    socket: int
    dimms: int = Field(description="DRAM modules present; not persistent memory, not HBM in the processor's package")
    slots: int = Field(description="places for modules, filled or not")
    channels: int | None = Field(
        default=None, description="channels that hold at least one module; None where the names do not tell"
    )
    size: int | None = Field(description="bytes; None where a module's is not known")
    configured: int | None = Field(
        default=None, description="transfers a second of the slowest module; None where one is not known"
    )
    bandwidth: int | None = Field(default=None, description="bytes a second: channels x width x transfers; the ceiling")


class Processor(Value):
    """A processor socket, as SMBIOS describes it."""

    socket: str = Field(description="the board's name of the socket: CPU1")
    populated: bool = Field(description="whether a processor is in it")
    model: str | None = None
    cores: int | None = None
    cores_enabled: int | None = None
    threads: int | None = None
    max_hz: int | None = None


class Memory(Value):
    """The memory of the machine, from its firmware."""

    dimms: tuple[Dimm, ...] | None = Field(
        default=None, description="every slot, empty ones too; without root the modules alone, as EDAC counts them"
    )
    sockets: tuple[SocketMemory, ...] | None = None
    processors: tuple[Processor, ...] | None = None


class MemoryTier(Value):
    """What the kernel says of one NUMA node's memory as seen from its best initiators (HMAT)."""

    node: int
    initiators: tuple[int, ...] | None = Field(default=None, description="nodes whose CPUs reach it best (access0 or access1)")
    read_bandwidth: int | None = Field(default=None, description="bytes a second")
    write_bandwidth: int | None = Field(default=None, description="bytes a second")
    read_latency: float | None = Field(default=None, description="seconds")
    write_latency: float | None = Field(default=None, description="seconds")
    tier: int | None = Field(default=None, description="the kernel's memory tier number")
    cache: int | None = Field(default=None, description="bytes of the memory-side cache in front of it")


class DaxDevice(Value):
    """Memory that the kernel keeps apart until somebody says what for."""

    name: DeviceName = Field(description="dax0.0")
    kind: str | None = Field(
        default=None, description="cxl, nvdimm, or reserved by the firmware (HBM, CXL); None where it is not told"
    )
    size: int | None = Field(default=None, description="bytes")
    node: int | None = Field(default=None, description="the NUMA node that it is, or would be")
    use: str | None = Field(
        default=None,
        description="system where programs get it as memory, device where only who opens it does; None without driver",
    )
