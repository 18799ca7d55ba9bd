"""One machine, as far as it is known, with the source of each fact and a gap for each that is not known.

Every source yields a part; merged they are the whole: the first source that knows a fact wins.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

from advisor.machine.fact import Identity, Key, Section, Volatile, declarations, declared_at, keys, optional, undeclared
from advisor.machine.hardware import Acpi, Bios, Cpu, DaxDevice, Firmware, Gpu, Hca, Memory, MemoryTier, Nic, PciDevice
from advisor.machine.operating_system import Allocation, Environment, Iommu, Kernel, Limits, Slurm, SlurmNode, Tool
from advisor.machine.registers import Registers, SocketFirmware
from advisor.machine.topology import Topology
from advisor.machine.value import HostName, Value, Whole

NOT_OFFERED = "this kernel or platform does not offer it"
"""The help of a gap that no permission and no package would close."""


class Source(Value):
    """Where a fact or a group of facts was read."""

    fact: Key[str] = Field(description="dotted name of the fact, or of the section that holds it: kernel.thp, memory")
    where: str = Field(description="file or command")


class Gap(Value):
    """A fact that could not be learnt."""

    fact: str = Field(description="dotted name of the fact, or of the section that lacks: memory.dimms")
    why: str = Field(description="what stood in the way: permission denied, not in an hwloc XML, ...")
    help: str = Field(description="what would make it known: run as root, install hwloc, ...")


SCHEMA: Final = 1
"""Raised when a field changes meaning or goes; a reader refuses a newer one."""


class Facts(Value):
    """What the sources say; None where none did. Rules may ask of all of it: the Case has the same fields."""

    name: Annotated[Identity[HostName | None], Section.MACHINE] = optional("host name")
    architecture: Annotated[str | None, Section.MACHINE] = optional("x86_64, aarch64, ...")
    topology: Annotated[Topology | None, Section.TOPOLOGY] = None
    tiers: Annotated[tuple[MemoryTier, ...] | None, Section.MEMORY_KINDS] = None
    dax: Annotated[tuple[DaxDevice, ...] | None, Section.MEMORY_KINDS] = optional(
        "memory kept apart from the system's: CXL, NVDIMM, HBM"
    )
    cpu: Annotated[Cpu | None, Section.PROCESSOR] = None
    registers: Annotated[Registers | None, Section.PROCESSOR] = None
    socket_firmware: Annotated[tuple[SocketFirmware, ...] | None, Section.PROCESSOR] = optional(
        "what the management firmware of each EPYC socket says (HSMP)"
    )
    firmware: Annotated[Firmware | None, Section.FIRMWARE] = None
    bios: Annotated[Bios | None, Section.BIOS] = optional("the BIOS attributes that the management controller gives")
    memory: Annotated[Memory | None, Section.MEMORY] = None
    acpi: Annotated[Acpi | None, Section.TABLES] = None
    pci: Annotated[tuple[PciDevice, ...] | None, Section.DEVICES] = None
    hcas: Annotated[tuple[Hca, ...] | None, Section.DEVICES] = None
    nics: Annotated[tuple[Nic, ...] | None, Section.DEVICES] = None
    gpus: Annotated[tuple[Gpu, ...] | None, Section.DEVICES] = None
    kernel: Annotated[Kernel | None, Section.SYSTEM] = None
    iommu: Annotated[Iommu | None, Section.SYSTEM] = None
    limits: Annotated[Limits | None, Section.SYSTEM] = None
    environment: Annotated[Environment | None, Section.SYSTEM] = None
    tools: Annotated[tuple[Tool, ...] | None, Section.SYSTEM] = None
    slurm_nodes: Annotated[tuple[SlurmNode, ...] | None, Section.SCHEDULER] = None
    slurm_conf: Annotated[Slurm | None, Section.SCHEDULER] = None
    allocation: Annotated[Volatile[Allocation | None], Section.SCHEDULER] = None


class _Versioned(Value):
    """What a reader looks at first."""

    schema_version: Annotated[Literal[1], Section.EVIDENCE] = Field(default=SCHEMA, description="of this document")


class Machine(Facts, _Versioned):
    """Everything the sources said, with where it was read and what could not be."""

    sources: Annotated[tuple[Source, ...], Section.EVIDENCE] = ()
    gaps: Annotated[tuple[Gap, ...], Section.EVIDENCE] = ()


def undeclared_facts(model: type[Facts] = Machine) -> Iterator[str]:
    """Yield a line for each fact of a Machine whose declaration lacks something, or that stands where rules do not see it."""
    for name, declared in declarations(model).items():
        if name not in Facts.model_fields and declared.section != Section.EVIDENCE:
            yield f"{declared_at(model, name)}: {name}: a field of Machine alone, which rules do not know; move it into Facts"
    for name, field in Facts.model_fields.items():
        if field.is_required():
            yield f"{declared_at(Facts, name)}: {name}: no default; write Field(default=None, ...): every fact may be not known"
    yield from undeclared(model)


V = TypeVar("V", bound=Value)


def merge(parts: tuple[Machine, ...]) -> Machine:
    """Return the machine that the parts describe together; an earlier part's word counts more."""
    whole = reduce(lambda first, second: _join(first, second, lists=True), parts, Machine())
    return whole.model_copy(update={"gaps": tuple(gap for gap in whole.gaps if not known(whole, gap.fact))})


def known(machine: Machine, fact: str) -> bool:
    """Return whether a dotted fact (``memory.dimms``) of the machine is known."""
    value: Any = machine
    for name in fact.split("."):
        value = getattr(value, name, None)
        if value is None:
            return False
    return True


def _join(first: V, second: V, *, lists: bool = False) -> V:
    """Return a record with what the second knows where the first does not.

    Joined are a Machine's own lists and the lists of their elements: hwloc has the state of an adapter's port, the kernel its
    rate and what it waits for.
    """
    update = {
        name: _choose(getattr(first, name), getattr(second, name), lists=lists)
        for name in type(first).model_fields
        if getattr(second, name) is not None
    }
    return first.model_copy(update=update)


def _choose(first: Any, second: Any, *, lists: bool) -> Any:
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, Value) and not isinstance(first, Whole) and type(first) is type(second):
        return _join(first, second)
    if lists and isinstance(first, tuple) and isinstance(second, tuple):
        return _join_records(first, second)
    return first


def _join_records(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    sample: Any = next(iter(first or second), None)
    if isinstance(sample, Gap):
        return tuple(dict.fromkeys((*first, *second)))
    names = keys(type(sample)) if isinstance(sample, Value) else ()
    if not names:
        return first
    records = {tuple(getattr(record, name) for name in names): record for record in first}
    for record in second:
        key = tuple(getattr(record, name) for name in names)
        records[key] = _join(records[key], record, lists=True) if key in records else record
    return tuple(records.values())
