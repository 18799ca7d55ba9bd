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
    core_spec: int | None = Field(default=None, description="cores kept for the system (CoreSpecCount)")
    cpu_spec: CpuSet | None = Field(default=None, description="CPUs kept for the system, in Slurm's own numbers (CPUSpecList)")
    gres: str | None = Field(default=None, description="generic resources: gpu:4; empty where there are none")


class Slurm(Value):
    """How Slurm is set up to confine and bind what it starts, as its files say."""

    task_plugins: tuple[str, ...] | None = Field(
        default=None, description="affinity, cgroup; () where there is none (TaskPlugin)"
    )
    proctrack: str | None = Field(default=None, description="cgroup, linuxproc, pgid (ProctrackType)")
    select: str | None = Field(default=None, description="cons_tres, linear (SelectType)")
    off_spec: bool | None = Field(
        default=None, description="whether slurmd stays off the cores kept for the system (SlurmdOffSpec)"
    )
    constrain_cores: bool | None = Field(default=None, description="whether a job is held to its cores (cgroup.conf)")
    constrain_memory: bool | None = Field(default=None, description="whether a job is held to its memory (ConstrainRAMSpace)")
    constrain_devices: bool | None = Field(default=None, description="whether a job sees its own GPUs alone")
    autodetect: str | None = Field(default=None, description="how Slurm finds GPUs: nvml, rsmi, nvidia, oneapi, off (gres.conf)")
    gres_cores: bool | None = Field(default=None, description="whether gres.conf names the cores near a resource")


class Allocation(Value):
    """The job this process runs in."""

    scheduler: str = Field(description="slurm, pbs, flux, lsf")
    job: str | None = None
    hosts: str | None = Field(default=None, description="the scheduler's own text of the hosts")
    tasks: int | None = None
    cpus: CpuSet | None = None
