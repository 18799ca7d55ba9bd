"""MPI, schedulers and fabrics found on the machine."""

from pydantic import Field

from advisor.model.cpuset import CpuSet
from advisor.model.value import Value


class Tool(Value):
    """A launcher, scheduler or library on PATH."""

    name: str = Field(description="openmpi, prrte, mpich, intelmpi, mvapich, slurm, pbs, flux, ucx, libfabric, hwloc")
    version: str | None = None
    path: str | None = Field(default=None, description="the program found")


class SlurmNode(Value):
    """What Slurm believes this node is."""

    source: str = Field(description="slurmd -C or scontrol show node")
    cpus: int | None = None
    boards: int | None = None
    sockets: int | None = Field(default=None, description="sockets of a board (SocketsPerBoard) or in all (Sockets)")
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    memory: int | None = Field(default=None, description="bytes (RealMemory)")


class Allocation(Value):
    """The job this process runs in."""

    scheduler: str = Field(description="slurm, pbs, flux, lsf")
    job: str | None = None
    hosts: str | None = Field(default=None, description="the scheduler's own text of the hosts")
    tasks: int | None = None
    cpus: CpuSet | None = None
