"""One machine, as far as it is known, with the source of each fact and a gap for each that is not known.

Every source yields a part; merged they are the whole: the first source that knows a fact wins.
"""

from functools import reduce
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import (
    BootOptions,
    Bytes,
    BytesLimit,
    Count,
    CountLimit,
    Identity,
    Key,
    Number,
    Section,
    Volatile,
    keys,
)
from advisor.machine.hardware import Acpi, Bios, Cpu, DaxDevice, Firmware, Gpu, Hca, Memory, MemoryTier, Nic, PciDevice
from advisor.machine.registers import Registers, SocketFirmware
from advisor.machine.topology import Topology
from advisor.machine.value import HostName, Value, Whole, optional


class Hugepages(Value):
    """Hugepages reserved on one NUMA node."""

    node: Key[Number] = Field(description="the kernel's number of the NUMA node")
    page: Key[Bytes] = Field(description="bytes of a page")
    count: Count = Field(description="pages reserved")


class Kernel(Value):
    """The kernel and what was asked of it."""

    release: Annotated[str | None, Section.MACHINE] = optional("uname -r: 5.14.0-427.el9.x86_64")
    version: str | None = optional("uname -v: the build")
    os_name: Annotated[str | None, Section.MACHINE] = optional("PRETTY_NAME of os-release")
    cmdline: BootOptions[tuple[tuple[str, str | None], ...] | None] = optional(
        "boot options in order: (iommu, pt), (nosmt, None); of those not known the value is withheld"
    )
    thp: str | None = optional("transparent hugepages: always, madvise, never")
    thp_defrag: str | None = optional("when the kernel compacts memory for transparent hugepages: always, defer, madvise, never")
    numa_balancing: Number | None = optional("kernel.numa_balancing: 0 off, 1 on, 2 tiering")
    zone_reclaim_mode: Number | None = optional("vm.zone_reclaim_mode: 0 off, a sum of 1 reclaim, 2 write back, 4 swap")
    swappiness: Number | None = optional("vm.swappiness")
    overcommit_memory: Number | None = optional("vm.overcommit_memory: 0 heuristic, 1 always, 2 never")
    min_free: Bytes | None = optional("vm.min_free_kbytes in bytes")
    hugepages: tuple[Hugepages, ...] | None = None
    clocksource: str | None = optional("the clock in use: tsc, hpet")
    clocksources: tuple[str, ...] | None = optional("those the kernel offers")
    isolated: CpuSet | None = optional("CPUs the scheduler leaves alone")
    nohz_full: CpuSet | None = optional("CPUs without the scheduler's tick while one task runs")
    tuned: str | None = optional("active tuned profile; 'none' where tuned is not in use")
    tuned_latency: str | None = optional(
        "what that profile writes to /dev/cpu_dma_latency (force_latency): 1, cstate.id:1|3; 'none' where nothing"
    )
    irqbalance: bool | None = optional("whether the daemon runs")
    modules: tuple[str, ...] | None = optional(
        "the loaded ones of gdrdrv, knem, nv_peer_mem, nvidia_peermem, xpmem: what MPI and GPUs copy with"
    )
    ptrace_scope: Number | None = optional(
        "kernel.yama.ptrace_scope: 0 any own process, 1 those that allow it, 2 root alone, 3 nobody"
    )
    nmi_watchdog: Number | None = optional("kernel.nmi_watchdog: 1 where each CPU is watched by interrupts")
    ksm: Number | None = optional("samepage merging: 0 stopped, 1 running, 2 stopped and undone")
    nvidia_open: bool | None = optional("whether NVIDIA's kernel module is the open one, which shares memory by DMA-BUF")

    def option(self, name: str) -> tuple[str, ...] | None:
        """Return every value given to a boot option ('' for a bare word), () if absent, None if the line is not known."""
        if self.cmdline is None:
            return None
        return tuple(value or "" for key, value in self.cmdline if key == name)


class Limits(Value):
    """What this process may use; unlimited is -1, for None means not known."""

    memlock: BytesLimit | None = optional("bytes it may lock; -1 unlimited")
    stack: BytesLimit | None = optional("bytes; -1 unlimited")
    files: CountLimit | None = optional("open files; -1 unlimited")
    affinity: Volatile[CpuSet | None] = optional("CPUs the process may run on (sched_getaffinity)")
    memory_nodes: Volatile[CpuSet | None] = optional("NUMA nodes it may allocate on (Mems_allowed)")
    cgroup: Volatile[Identity[str | None]] = optional("cgroup path of the process")
    slurmd_memlock: BytesLimit | None = optional("bytes that slurmd, and so any job of it, may lock; -1 unlimited")
    slurmd_stack: BytesLimit | None = optional("bytes of slurmd's stack at most; -1 unlimited")
    slurmd_files: CountLimit | None = optional("files slurmd may open at most; -1 unlimited")
    slurm_carries: tuple[str, ...] | None = optional(
        "limits of the submitting shell that Slurm gives a job: memlock, stack, nofile"
    )


class Iommu(Value):
    """Whether addresses of devices are translated, and who may talk to whom on PCIe, as the running kernel has it."""

    units: tuple[str, ...] | None = optional("IOMMUs at work: dmar0, ivhd0, smmu3; () none")
    types: tuple[str, ...] | None = optional(
        "default domains of the groups of devices: identity is passed through, DMA and DMA-FQ translated"
    )
    redirecting: tuple[str, ...] | None = optional(
        "ports of PCIe switches whose ACS sends packets between devices up to the root; known to root only"
    )


class Environment(Value):
    """Whether this is real hardware."""

    virtual: str | None = optional("kvm, vmware, qemu, ...; 'none' on real hardware")
    container: str | None = optional("docker, podman, apptainer, ...; 'none' outside")

    @property
    def is_virtual(self) -> bool:
        """Return whether this is known to be a virtual machine."""
        return self.virtual not in (None, "none")


class Tool(Value):
    """A launcher, scheduler or library on PATH."""

    name: Key[str] = Field(description="openmpi, prrte, mpich, intelmpi, mvapich, slurm, pbs, flux, ucx, libfabric, hwloc")
    version: str | None = optional("as the program prints it")
    path: str | None = optional("the program found")


class SlurmNode(Value):
    """What Slurm believes this node is."""

    source: Key[str] = Field(description="slurmd -C or scontrol show node")
    cpus: Count | None = optional("CPUs")
    boards: Count | None = optional("boards")
    sockets: Count | None = optional("sockets of a board (SocketsPerBoard) or in all (Sockets)")
    cores_per_socket: Count | None = optional("cores of a socket")
    threads_per_core: Count | None = optional("hardware threads of a core")
    memory: Bytes | None = optional("bytes (RealMemory)")
    core_spec: Count | None = optional("cores kept for the system (CoreSpecCount)")
    cpu_spec: CpuSet | None = optional("CPUs kept for the system, in Slurm's own numbers (CPUSpecList)")
    gres: str | None = optional("generic resources: gpu:4; empty where there are none")


class Slurm(Value):
    """How Slurm is set up to confine and bind what it starts, as its files say."""

    task_plugins: tuple[str, ...] | None = optional("affinity, cgroup; () where there is none (TaskPlugin)")
    proctrack: str | None = optional("cgroup, linuxproc, pgid (ProctrackType)")
    select: str | None = optional("cons_tres, linear (SelectType)")
    off_spec: bool | None = optional("whether slurmd stays off the cores kept for the system (SlurmdOffSpec)")
    constrain_cores: bool | None = optional("whether a job is held to its cores (cgroup.conf)")
    constrain_memory: bool | None = optional("whether a job is held to its memory (ConstrainRAMSpace)")
    constrain_devices: bool | None = optional("whether a job sees its own GPUs alone")
    autodetect: str | None = optional("how Slurm finds GPUs: nvml, rsmi, nvidia, oneapi, off (gres.conf)")
    gres_cores: bool | None = optional("whether gres.conf names the cores near a resource")


class Allocation(Value):
    """The job this process runs in."""

    scheduler: str = Field(description="slurm, pbs, flux, lsf")
    job: Identity[str | None] = optional("its number")
    hosts: Identity[str | None] = optional("the scheduler's own text of the hosts")
    tasks: Count | None = optional("that it was asked for")
    cpus: CpuSet | None = optional("CPUs of the job on this host")


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


SCHEMA = 1
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

    schema_version: Annotated[Literal[1], Section.EVIDENCE] = optional("of this document", SCHEMA)


class Machine(Facts, _Versioned):
    """Everything the sources said, with where it was read and what could not be."""

    sources: Annotated[tuple[Source, ...], Section.EVIDENCE] = ()
    gaps: Annotated[tuple[Gap, ...], Section.EVIDENCE] = ()


V = TypeVar("V", bound=Value)


def merge(parts: tuple[Machine, ...]) -> Machine:
    """Return the machine that the parts describe together; an earlier part's word counts more."""
    whole = reduce(lambda first, second: _join(first, second, lists=True), parts, Machine())
    return whole.but(gaps=tuple(gap for gap in whole.gaps if not known(whole, gap.fact)))


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
    return first.but(**update)


def _choose(first: Any, second: Any, *, lists: bool) -> Any:
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, Value) and not isinstance(first, Whole) and type(first) is type(second):
        return _join(first, second)
    if lists and isinstance(first, tuple) and isinstance(second, tuple):
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
    return first
