"""What the firmware's own tables say, before the kernel read them."""

from pydantic import Field

from advisor.model.value import Value


class MadtEntry(Value):
    """A processor in the order in which the firmware lists it."""

    apic_id: int
    uid: int
    enabled: bool
    x2apic: bool = Field(default=False, description="listed as a Local x2APIC (type 9)")


class SratCpu(Value):
    """Which proximity domain a processor is in."""

    apic_id: int
    domain: int
    enabled: bool


class SratMemory(Value):
    """A range of memory and its proximity domain."""

    domain: int
    base: int
    size: int
    enabled: bool
    hotplug: bool
    non_volatile: bool


class HmatEntry(Value):
    """One latency or bandwidth of the HMAT."""

    initiator: int = Field(description="proximity domain that accesses")
    target: int = Field(description="proximity domain of the memory")
    kind: str = Field(
        description="access-latency, read-latency, write-latency, access-bandwidth, read-bandwidth, write-bandwidth"
    )
    value: float = Field(description="seconds or bytes a second")


class Acpi(Value):
    """The tables that could be read; None for each that could not."""

    madt: tuple[MadtEntry, ...] | None = None
    srat_cpus: tuple[SratCpu, ...] | None = None
    srat_memory: tuple[SratMemory, ...] | None = None
    slit: tuple[tuple[int, ...], ...] | None = None
    hmat: tuple[HmatEntry, ...] | None = None
