"""One machine, as far as it is known. Every source yields a part; merged they are the whole."""

from typing import Final, Literal

from pydantic import Field

from advisor.model.acpi import Acpi
from advisor.model.bios import Bios
from advisor.model.cpu import Cpu
from advisor.model.devices import Gpu, Hca, Nic, PciDevice
from advisor.model.evidence import Gap, Source
from advisor.model.firmware import Firmware
from advisor.model.memory import Memory
from advisor.model.names import HostName
from advisor.model.software import Allocation, Slurm, SlurmNode, Tool
from advisor.model.system import Environment, Iommu, Kernel, Limits
from advisor.model.tiers import DaxDevice, MemoryTier
from advisor.model.topology import Topology
from advisor.model.value import Value

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
