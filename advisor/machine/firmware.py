"""What the firmware says: vendor and version (SMBIOS), BIOS attributes, the registry of what they allow, ACPI tables."""

import re
from typing import Final, Literal

from pydantic import Field

from advisor.machine.fact import Bytes, MemoryAddress, Number, PerCpu, SecondsOrBandwidth, Settings, optional
from advisor.machine.value import Value


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
    also: dict[str, str] = Field(
        default={}, description="attribute -> its value's other name, where a registry has both that and the menu's words"
    )
    registry: str | None = optional("attribute registry that explains the names: BiosAttributeRegistryA42.v1_2_60")

    def changed(self) -> dict[str, Scalar | None]:
        """Return the pending values that differ from the present ones: HPE and Lenovo list all of them as pending."""
        return {name: value for name, value in (self.pending or {}).items() if self.attributes.get(name) != value}


Condition = Literal["EQU", "NEQ", "GTR", "GEQ", "LSS", "LEQ"]

FLAGS: Final = ("ReadOnly", "GrayOut", "Hidden", "Immutable")
"""Properties that keep an attribute from being written."""


_REPEATED_GROUP: Final = re.compile(r"\)(?:[*+]|\{\d*,\}|\{\d{2,}|\{\d*,\d{2,})")
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
    flags: tuple[str, ...] = Field(default=(), description="of ReadOnly, GrayOut, Hidden, Immutable, those that it states")
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
    joined: tuple[Literal["AND", "OR"], ...] = Field(
        default=(), description="in postfix: each joins the last two of what came so far, once this term has come"
    )


class Dependency(Value):
    """While its terms hold, an attribute's property has a value."""

    target: str
    property: str
    value: Scalar | None
    terms: tuple[Term, ...] = Field(min_length=1)


COVERS: Final = 0.95
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
    online_capable: bool = Field(default=False, description="may be enabled later, at run time")
    x2apic: bool = Field(default=False, description="listed as a Local x2APIC (type 9)")


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
