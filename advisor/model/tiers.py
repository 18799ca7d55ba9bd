"""Kinds of memory by speed: DRAM, HBM, CXL, NVDIMM."""

from pydantic import Field

from advisor.model.names import DeviceName
from advisor.model.value import Value


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
