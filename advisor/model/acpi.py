"""What the firmware's own tables say, before the kernel read them."""

from pydantic import Field

from advisor.model.value import Value


class MadtEntry(Value):
    """A processor in the order in which the firmware lists it."""

    apic_id: int = Field(description="APIC ID; on Arm the MPIDR")
    uid: int = Field(description="ACPI processor UID")
    enabled: bool
    online_capable: bool = Field(default=False, description="may be enabled later, at run time")
    x2apic: bool = Field(default=False, description="listed as a Local x2APIC (type 9)")


class SratCpu(Value):
    """Which proximity domain a processor is in."""

    apic_id: int | None = Field(default=None, description="None where the table names the UID instead (Arm)")
    uid: int | None = Field(default=None, description="ACPI processor UID, as in the MADT; None on x86")
    domain: int
    enabled: bool


class SratMemory(Value):
    """A range of memory and its proximity domain."""

    domain: int
    base: int = Field(description="first physical address")
    size: int = Field(description="bytes")
    enabled: bool
    hotplug: bool
    non_volatile: bool


class HmatEntry(Value):
    """One latency or bandwidth of the HMAT, of the memory itself and not of a cache in front of it."""

    initiator: int = Field(description="proximity domain that accesses")
    target: int = Field(description="proximity domain of the memory")
    kind: str = Field(
        description="access-latency, read-latency, write-latency, access-bandwidth, read-bandwidth, write-bandwidth"
    )
    value: float = Field(description="seconds or bytes a second")


class Acpi(Value):
    """The tables that could be read; None for each that could not, () for each that the firmware does not have."""

    madt: tuple[MadtEntry, ...] | None = Field(default=None, description="the APIC table's processors, in its order")
    srat_cpus: tuple[SratCpu, ...] | None = None
    srat_memory: tuple[SratMemory, ...] | None = None
    slit: tuple[tuple[int, ...], ...] | None = Field(default=None, description="distances, one row a proximity domain")
    hmat: tuple[HmatEntry, ...] | None = None
