"""One machine, as far as it is known, with the source of each fact and a gap for each that is not known.

Every source yields a part; merged they are the whole: the first source that knows a fact wins.
"""

from functools import reduce
from typing import Annotated, Any, Literal, TypeVar

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

    node: Key[Number]
    """the kernel's number of the NUMA node"""
    page: Key[Bytes]
    """page size in bytes"""
    count: Count
    """pages reserved"""


class Kernel(Value):
    """The kernel and its configuration."""

    release: Annotated[str | None, Section.MACHINE] = None
    """uname -r: 5.14.0-427.el9.x86_64"""
    version: str | None = None
    """uname -v: the build"""
    os_name: Annotated[str | None, Section.MACHINE] = None
    """PRETTY_NAME of os-release"""
    cmdline: BootOptions[tuple[tuple[str, str | None], ...] | None] = None
    """boot options in order: (iommu, pt), (nosmt, None); values of unknown options are withheld"""
    thp: str | None = None
    """transparent hugepages: always, madvise, never"""
    thp_defrag: str | None = None
    """when the kernel compacts memory for transparent hugepages: always, defer, madvise, never"""
    numa_balancing: Number | None = None
    """kernel.numa_balancing: 0 off, 1 on, 2 tiering"""
    zone_reclaim_mode: Number | None = None
    """vm.zone_reclaim_mode: 0 off, a sum of 1 reclaim, 2 write back, 4 swap"""
    swappiness: Number | None = None
    """vm.swappiness"""
    swap: Bytes | None = None
    """the size of all swap areas together; 0 if there is none"""
    overcommit_memory: Number | None = None
    """vm.overcommit_memory: 0 heuristic, 1 always, 2 never"""
    min_free: Bytes | None = None
    """vm.min_free_kbytes in bytes"""
    hugepages: tuple[Hugepages, ...] | None = None
    clocksource: str | None = None
    """the clock in use: tsc, hpet"""
    clocksources: tuple[str, ...] | None = None
    """clock sources that the kernel offers"""
    isolated: CpuSet | None = None
    """CPUs isolated from the scheduler"""
    nohz_full: CpuSet | None = None
    """CPUs without the scheduler's tick while one task runs"""
    tuned: str | None = None
    """active tuned profile; 'none' if tuned is not in use"""
    tuned_latency: str | None = None
    """what that profile writes to /dev/cpu_dma_latency (force_latency): 1, cstate.id:1|3; 'none' if nothing"""
    irqbalance: bool | None = None
    """whether the daemon runs"""
    modules: tuple[str, ...] | None = None
    """loaded modules that MPI and GPUs use to copy data: gdrdrv, knem, nv_peer_mem, nvidia_peermem, xpmem"""
    ptrace_scope: Number | None = None
    """kernel.yama.ptrace_scope: 0 any own process, 1 those that allow it, 2 only root, 3 nobody"""
    nmi_watchdog: Number | None = None
    """kernel.nmi_watchdog: 1 if the hard lockup detector runs on every CPU"""
    ksm: Number | None = None
    """samepage merging: 0 stopped, 1 running, 2 stopped and all pages unmerged"""
    nvidia_open: bool | None = None
    """whether NVIDIA's kernel module is the open one, which shares memory by DMA-BUF"""

    def option(self, name: str) -> tuple[str, ...] | None:
        """Return every value given to a boot option ('' for a bare word), () if absent, None if the line is not known."""
        if self.cmdline is None:
            return None
        return tuple(value or "" for key, value in self.cmdline if key == name)


class Limits(Value):
    """What this process may use; -1 means unlimited, None not known."""

    memlock: BytesLimit | None = None
    """maximum bytes that this process may lock; -1 unlimited"""
    stack: BytesLimit | None = None
    """bytes; -1 unlimited"""
    files: CountLimit | None = None
    """open files; -1 unlimited"""
    affinity: Volatile[CpuSet | None] = None
    """CPUs the process may run on (sched_getaffinity)"""
    memory_nodes: Volatile[CpuSet | None] = None
    """NUMA nodes it may allocate on (Mems_allowed)"""
    cgroup: Volatile[Identity[str | None]] = None
    """cgroup path of the process"""
    slurmd_memlock: BytesLimit | None = None
    """bytes that slurmd, and therefore its jobs, may lock; -1 unlimited"""
    slurmd_stack: BytesLimit | None = None
    """maximum bytes of slurmd's stack; -1 unlimited"""
    slurmd_files: CountLimit | None = None
    """maximum number of files slurmd may open; -1 unlimited"""
    slurm_carries: tuple[str, ...] | None = None
    """limits of the submitting shell that Slurm gives a job: memlock, stack, nofile"""


class Iommu(Value):
    """Whether device addresses are translated, and which PCIe devices may access each other, in the running kernel."""

    units: tuple[str, ...] | None = None
    """active IOMMUs: dmar0, ivhd0, smmu3; () none"""
    types: tuple[str, ...] | None = None
    """default domains of the device groups: identity passes addresses through, DMA and DMA-FQ translate them"""
    redirecting: tuple[str, ...] | None = None
    """PCIe switch ports whose ACS sends packets between devices up to the root complex; readable only as root"""


class Environment(Value):
    """Whether this is real hardware."""

    virtual: str | None = None
    """kvm, vmware, qemu, ...; 'none' on bare metal"""
    container: str | None = None
    """docker, podman, apptainer, ...; 'none' outside"""

    @property
    def is_virtual(self) -> bool:
        """Return whether this is known to be a virtual machine."""
        return self.virtual not in (None, "none")


class Tool(Value):
    """A launcher, scheduler or library on PATH."""

    name: Key[str]
    """openmpi, prrte, mpich, intelmpi, mvapich, slurm, pbs, flux, ucx, libfabric, hwloc"""
    version: str | None = None
    """as the program prints it"""
    path: str | None = None
    """the program found"""


class SlurmNode(Value):
    """What Slurm reports about this node."""

    source: Key[str]
    """slurmd -C or scontrol show node"""
    cpus: Count | None = None
    """CPUs"""
    boards: Count | None = None
    """boards"""
    sockets: Count | None = None
    """sockets per board (SocketsPerBoard) or in total (Sockets)"""
    cores_per_socket: Count | None = None
    """cores per socket"""
    threads_per_core: Count | None = None
    """hardware threads per core"""
    memory: Bytes | None = None
    """bytes (RealMemory)"""
    core_spec: Count | None = None
    """cores reserved for the system (CoreSpecCount)"""
    cpu_spec: CpuSet | None = None
    """CPUs reserved for the system, in Slurm's own numbers (CPUSpecList)"""
    gres: str | None = None
    """generic resources: gpu:4; empty if there are none"""


class Slurm(Value):
    """How Slurm confines and binds the processes that it starts, according to its configuration files."""

    task_plugins: tuple[str, ...] | None = None
    """affinity, cgroup; () if there is none (TaskPlugin)"""
    proctrack: str | None = None
    """cgroup, linuxproc, pgid (ProctrackType)"""
    select: str | None = None
    """cons_tres, linear (SelectType)"""
    off_spec: bool | None = None
    """whether slurmd stays off the cores reserved for the system (SlurmdOffSpec)"""
    constrain_cores: bool | None = None
    """whether jobs are confined to their cores (cgroup.conf)"""
    constrain_memory: bool | None = None
    """whether jobs are confined to their memory (ConstrainRAMSpace)"""
    constrain_devices: bool | None = None
    """whether jobs see only their own GPUs"""
    autodetect: str | None = None
    """how Slurm finds GPUs: nvml, rsmi, nvidia, oneapi, off (gres.conf)"""
    gres_cores: bool | None = None
    """whether gres.conf names the cores near a resource"""


class Allocation(Value):
    """The job this process runs in."""

    scheduler: str
    """slurm, pbs, flux, lsf"""
    job: Identity[str | None] = None
    """its ID"""
    hosts: Identity[str | None] = None
    """the scheduler's own list of hosts"""
    tasks: Count | None = None
    """number of requested tasks"""
    cpus: CpuSet | None = None
    """CPUs of the job on this host"""


NOT_OFFERED = "this kernel or platform does not offer it"
"""The help of a gap that no permission and no package would close."""


class Source(Value):
    """Where a fact or a group of facts was read."""

    fact: Key[str]
    """dotted name of the fact, or of the section that contains it: kernel.thp, memory"""
    where: str
    """file or command"""


class Gap(Value):
    """A fact that could not be read."""

    fact: str
    """dotted name of the missing fact or section: memory.dimms"""
    why: str
    """the reason: permission denied, not in an hwloc XML, ..."""
    help: str
    """what would reveal it: run as root, install hwloc, ..."""


SCHEMA = 1
"""Raised when a field changes meaning or goes; a reader refuses a newer one."""


class Facts(Value):
    """What the sources say; None where none did. Rules may ask of all of it: the Case has the same fields."""

    name: Annotated[Identity[HostName | None], Section.MACHINE] = None
    """host name"""
    architecture: Annotated[str | None, Section.MACHINE] = None
    """x86_64, aarch64, ..."""
    topology: Annotated[Topology | None, Section.TOPOLOGY] = None
    tiers: Annotated[tuple[MemoryTier, ...] | None, Section.MEMORY_KINDS] = None
    dax: Annotated[tuple[DaxDevice, ...] | None, Section.MEMORY_KINDS] = None
    """memory separate from the system's: CXL, NVDIMM, HBM"""
    cpu: Annotated[Cpu | None, Section.PROCESSOR] = None
    registers: Annotated[Registers | None, Section.PROCESSOR] = None
    socket_firmware: Annotated[tuple[SocketFirmware, ...] | None, Section.PROCESSOR] = None
    """data from the management firmware of every EPYC socket (HSMP)"""
    firmware: Annotated[Firmware | None, Section.FIRMWARE] = None
    bios: Annotated[Bios | None, Section.BIOS] = None
    """the BIOS attributes from the management controller"""
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

    schema_version: Annotated[Literal[1], Section.EVIDENCE] = optional(SCHEMA)
    """of this document"""


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
