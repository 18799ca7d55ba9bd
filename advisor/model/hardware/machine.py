"""One machine, as far as it is known, with the source of each fact and a gap for each that is not known.

Every source yields a part; merged they are the whole: the first source that knows a fact wins.
"""

from functools import reduce
from typing import Any, Final, Literal, TypeVar

from pydantic import Field

from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.devices import Gpu, Hca, Link, Locality, Nic, PciDevice
from advisor.model.hardware.firmware import Acpi, Bios, Firmware
from advisor.model.hardware.memory import DaxDevice, Memory, MemoryTier
from advisor.model.hardware.operating_system import Allocation, Environment, Iommu, Kernel, Limits, Slurm, SlurmNode, Tool
from advisor.model.hardware.topology import Topology
from advisor.model.value import HostName, Value

NOT_OFFERED = "this kernel or platform does not offer it"
"""The help of a gap that no permission and no package would close."""


class Source(Value):
    """Where a fact or a group of facts was read."""

    fact: str = Field(description="dotted name of the fact, or of the section that holds it: kernel.thp, memory")
    where: str = Field(description="file or command")


class Gap(Value):
    """A fact that could not be learnt."""

    fact: str = Field(description="dotted name of the fact, or of the section that lacks: memory.dimms")
    why: str = Field(description="what stood in the way: permission denied, not in an hwloc XML, ...")
    help: str = Field(description="what would make it known: run as root, install hwloc, ...")


SCHEMA: Final = 1
"""Raised when a field changes meaning or goes; a reader refuses a newer one."""


class Machine(Value):
    """Everything the sources said; None where none did."""

    schema_version: Literal[1] = SCHEMA
    name: HostName | None = Field(default=None, description="host name")
    architecture: str | None = Field(default=None, description="x86_64, aarch64, ...")
    topology: Topology | None = None
    tiers: tuple[MemoryTier, ...] | None = None
    dax: tuple[DaxDevice, ...] | None = Field(default=None, description="memory kept apart from the system's: CXL, NVDIMM, HBM")
    cpu: Cpu | None = None
    firmware: Firmware | None = None
    bios: Bios | None = Field(default=None, description="the BIOS attributes that the management controller gives")
    memory: Memory | None = None
    acpi: Acpi | None = None
    pci: tuple[PciDevice, ...] | None = None
    hcas: tuple[Hca, ...] | None = None
    nics: tuple[Nic, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    kernel: Kernel | None = None
    iommu: Iommu | None = None
    limits: Limits | None = None
    environment: Environment | None = None
    tools: tuple[Tool, ...] | None = None
    slurm_nodes: tuple[SlurmNode, ...] | None = None
    slurm_conf: Slurm | None = None
    allocation: Allocation | None = None
    sources: tuple[Source, ...] = ()
    gaps: tuple[Gap, ...] = ()


_KEY: dict[type[Value], str] = {
    PciDevice: "address",
    Hca: "name",
    Nic: "name",
    Gpu: "address",
    MemoryTier: "node",
    DaxDevice: "name",
    Tool: "name",
    SlurmNode: "source",
    Source: "fact",
}
"""By what two sources' records of the same thing are known to be the same."""

V = TypeVar("V", bound=Value)

_WHOLE = (Topology, Locality, Link)
"""Values that come from one source whole: halves of two topologies would be a machine that does not exist."""


def merge(parts: tuple[Machine, ...]) -> Machine:
    """Return the machine that the parts describe together; an earlier part's word counts more."""
    whole = reduce(_join, parts, Machine())
    return whole.model_copy(update={"gaps": tuple(gap for gap in whole.gaps if not known(whole, gap.fact))})


def known(machine: Machine, fact: str) -> bool:
    """Return whether a dotted fact (``memory.dimms``) of the machine is known."""
    value: Any = machine
    for name in fact.split("."):
        value = getattr(value, name, None)
        if value is None:
            return False
    return True


def _join(first: V, second: V) -> V:
    update = {
        name: _choose(getattr(first, name), getattr(second, name))
        for name in type(first).model_fields
        if getattr(second, name) is not None
    }
    return first.model_copy(update=update)


def _choose(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, Value) and not isinstance(first, _WHOLE) and type(first) is type(second):
        return _join(first, second)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return _join_records(first, second)
    return first


def _join_records(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    sample: Any = next(iter(first or second), None)
    if isinstance(sample, Gap):
        return tuple(dict.fromkeys((*first, *second)))
    key = _KEY.get(type(sample)) if isinstance(sample, Value) else None
    if key is None:
        return first
    records = {getattr(record, key): record for record in first}
    for record in second:
        name = getattr(record, key)
        records[name] = _join(records[name], record) if name in records else record
    return tuple(records.values())
