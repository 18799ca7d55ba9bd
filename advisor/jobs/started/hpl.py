"""Places the ranks of HPL on every host or on a part of one, and plans one run or those of a scaling table, with their lines."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from advisor.errors import BadValue
from advisor.jobs.environment import openmp
from advisor.jobs.hpl_results import BLOCKS, FULL_SHARE, KERNEL, Size, for_memory, grid, grown, hpl_dat, steps_to
from advisor.jobs.launcher import Launch
from advisor.jobs.placement import Placement
from advisor.jobs.registry import Choice
from advisor.jobs.started.benchmark import Lines, files_of, step_of
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, host_notes, hosts_of_job
from advisor.jobs.started.mpi import chosen_for, launch_of, placed_ranks, program_or_name
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.measure.contract import part_named
from advisor.measure.measurement import Part, Task
from advisor.measure.platforms import match_platform
from advisor.measure.resources import Resources
from advisor.measure.run import free_memory
from advisor.show.commandline import BenchmarkStep

_OF_PEAK: Final = 0.7
"""What HPL gives of the peak at base clock, with which a full run's time is estimated."""


_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class HplOptions:
    """What the user wants, and how."""

    xhpl: Path | None = None
    full: bool = False
    n: int | None = None
    nb: int | None = None
    per: tuple[str, int] | None = None
    blas: str | None = None
    kernels: Path | None = None
    busy_ok: bool = False
    scaling: bool = False


@dataclass(frozen=True)
class Area:
    """A part of a host that ranks are kept to."""

    part: Part
    index: int
    cpus: CpuSet


@dataclass(frozen=True)
class HplJob:
    """A placement of ranks that HPL will run on."""

    job_hosts: JobHosts
    choice: Choice
    placement: Placement
    options: HplOptions
    notes: tuple[str, ...]
    area: Area | None = None
    """The part of the host that is used; None: all of it."""
    job: int = 1
    """Hosts of which these are the first."""

    @property
    def machine(self) -> Machine:
        """The first host's."""
        return self.job_hosts.machines[0]

    @property
    def ranks(self) -> int:
        """How many there are."""
        return self.placement.size

    @property
    def threads(self) -> int:
        """Of each rank."""
        return self.placement.job.threads

    @property
    def cores(self) -> int:
        """How many work, on all hosts."""
        return self.ranks * self.threads

    @property
    def hosts(self) -> int:
        """How many have ranks."""
        return max(1, sum(1 for host in self.placement.hosts if host.ranks))

    @property
    def label(self) -> str:
        """What names it beside others: ``2-hosts``, ``numa0``; of all of one host nothing."""
        if self.area is not None:
            return f"{self.area.part}{self.area.index}"
        return f"{self.hosts}-host{'s' * (self.hosts > 1)}" if self.options.scaling and self.job > 1 else ""

    @property
    def where(self) -> str:
        """Where it runs, in words: ``2 hosts``, ``numa 0``; nothing where that is all of one host."""
        return f"{self.area.part} {self.area.index}" if self.area else self.label.replace("-", " ")

    @property
    def environment(self) -> dict[str, str]:
        """Threads of every BLAS that a site may have."""
        return {**openmp(self.placement), **dict.fromkeys(_THREADS, str(self.threads))}

    def size(self, n: int, nb: int) -> Size:
        """Return a run on the squarest grid."""
        return Size(n, nb, *grid(self.ranks))

    def launch(self, command: tuple[str, ...]) -> Launch:
        """Return the line of a command; srun is given the hosts where it may not take all of the job's."""
        hosts = self.job_hosts.hosts
        fewer = self.choice.launcher.job.schedulers and self.hosts < self.job and hosts.placeholder is None
        return launch_of(self.choice, self.placement, hosts, command, self.environment, **{"scheduler": None} if fewer else {})

    def task(self, size: Size, seconds: float, name: str = "") -> Task:
        """Return a run as a task."""
        first = next(host for host in self.placement.hosts if host.ranks)
        slots = self.placement.plans[first.plan].slots[: first.ranks]
        return Task(
            name=f"{self.name}/{name or 'lu'}-{size.n}-{size.nb}",
            kernel=KERNEL,
            purpose="hpl",
            variants=("lu",),
            part=self.area.part if self.area else "machine",
            index=self.area.index if self.area else None,
            cpus=tuple(sorted({cpu for slot in slots for cpu in slot.cpus})),
            arguments=size.arguments,
            seconds=round(seconds, 1),
        )

    @property
    def name(self) -> str:
        """What its tasks' names begin with."""
        return f"hpl/hpl/{self.label or 'machine'}"


def hpl_job(
    host_options: HostOptions,
    launcher_options: LauncherOptions,
    options: HplOptions,
    environment: Mapping[str, str] | None = None,
    observer: Observer = SILENT,
) -> HplJob:
    """Return the placement: a rank for each core, or for each part with as many threads as it has cores."""
    job_hosts = hosts_of_job(host_options, (KERNEL,), environment, observer)
    choice, note = chosen_for(job_hosts, launcher_options)
    placement, hosts = placed(job_hosts, options, job_hosts.affinity), job_hosts.hosts
    return HplJob(job_hosts, choice, placement, options, (note, *host_notes(hosts)), job=max(1, len(hosts.names)))


def placed(job_hosts: JobHosts, options: HplOptions, allowed: CpuSet | None) -> Placement:
    """Return where the ranks are, on the CPUs that they may use of each host."""
    part, count = options.per or ("core", 1)
    cores = [len(piece.cpus) for piece in Resources(job_hosts.machines[0]).pieces(part_named(part))]
    if not cores or min(cores) < count:
        raise BadValue(f"--ranks-per {part}:{count}: each has fewer cores", cure="ask for fewer, or --ranks-per core")
    strategy = "compact" if part == "core" else "auto"
    wanted = JobOptions(ranks_per=(part, count), threads=min(cores) // count, strategy=strategy)
    return placed_ranks(wanted, job_hosts, allowed)


def program_of(path: Path) -> str:
    """Return another HPL's program; refuse what is none."""
    found = find(str(path.absolute() if path.exists() else path))
    if found is None:
        raise BadValue(f"--xhpl {path}: there is no such program", cure="give the path of xhpl")
    return found


def command_of(options: HplOptions, program: str, size: Size, repeats: int, folder: Path) -> tuple[str, ...]:
    """Return what each rank runs; HPL of others reads HPL.dat where it is started."""
    if options.xhpl is not None:
        return ("env", "-C", str(folder), program)
    return (program, *size.arguments, "--repeats", str(repeats))


def free_bytes(made: HplJob, host: LiveHost) -> float:
    """Return the free bytes of all hosts, or of the part that is used: this one's as it is, of others what is installed.

    The memory of a node without CPUs is the whole machine's.
    """
    topology, area = made.machine.topology, made.area
    nodes = [node for node in topology.nodes if area is None or node.cpuset & area.cpus] if topology else []
    if made.job_hosts.is_here:
        free = free_memory(host, made.machine)
        return float(sum(free.get(node.os_index, 0) for node in nodes)) * made.hosts
    return 0.9 * sum(node.memory or 0 for node in nodes) * made.hosts


def full_seconds(made: HplJob) -> float | None:
    """Return how long HPL takes with most of this host's free memory; None where the peak is not known."""
    platform, cpu = match_platform(made.machine), made.machine.cpu
    peak = platform.core_peak(cpu.base_hz) if platform and cpu else None
    if peak is None:
        return None
    n = for_memory(sum(free_memory(LiveHost(), made.machine).values()), FULL_SHARE, BLOCKS[1])
    return Size(n, BLOCKS[1], 1, 1).work / (made.ranks * peak * _OF_PEAK)


def scaling_runs(whole: HplJob) -> tuple[HplJob, ...]:
    """Return the runs, the smallest first: of a scaling table 1, 2, 4, .. hosts, or a NUMA node, a socket and all of one."""
    if not whole.options.scaling:
        return (whole,)
    runs = (*(_hosts(whole) if whole.job > 1 else _parts(whole)), whole)
    if len(runs) == 1:
        raise BadValue("--scaling has nothing to compare: one host with one NUMA node", cure="name several hosts: --hosts A,B,..")
    return runs


def _hosts(whole: HplJob) -> Iterator[HplJob]:
    """Yield runs on the first hosts, all of them left out."""
    hosts, machines = whole.job_hosts.hosts, whole.job_hosts.machines
    for count in steps_to(whole.job)[:-1]:
        fewer = JobHosts(replace(hosts, names=hosts.names[:count]), machines[:count])
        yield replace(whole, job_hosts=fewer, placement=placed(fewer, whole.options, None))


def _parts(whole: HplJob) -> Iterator[HplJob]:
    """Yield runs on the first NUMA node and the first socket, where they are less than all and hold the ranks."""
    ground = Resources(whole.machine)
    nodes = [Area("numa", node.os_index, node.cpuset & ground.usable) for node in ground.homes]
    sockets = [Area("socket", index, cpus & ground.usable) for index, cpus in enumerate(ground.sockets)]
    seen = {ground.usable}
    for areas in (nodes, sockets):
        area = next((each for each in areas if each.cpus), None)
        if area is None or area.cpus in seen:
            continue
        seen.add(area.cpus)
        with suppress(BadValue):  # such as a rank for each socket, in one of its NUMA nodes
            yield replace(whole, placement=placed(whole.job_hosts, whole.options, area.cpus), area=area)


def size_after(first: HplJob, n: int, made: HplJob, nb: int) -> Size:
    """Return a run in which each core has as large a share of the matrix as in the first one."""
    return made.size(n if made is first else grown(n, made.cores / first.cores, nb), nb)


def hpl_lines(runs: tuple[HplJob, ...], observer: Observer = SILENT) -> Lines:
    """Return the line of each run, and HPL.dat where another's HPL is named."""
    options, host, first = runs[-1].options, LiveHost(), runs[0]
    if options.xhpl is not None and len(runs) > 1:
        problem = "--scaling --dry-run shows no lines of --xhpl: each would read an HPL.dat of its own"
        raise BadValue(problem, cure="leave --scaling out and plan them one by one, with --hosts and -o DIR")
    nb = options.nb or BLOCKS[1]
    steps: list[BenchmarkStep] = []
    notes: tuple[str, ...] = ()
    for made in runs:
        free = for_memory(free_bytes(made, host), FULL_SHARE, nb)
        step, notes = _step(made, observer, size_after(first, options.n, made, nb) if options.n else made.size(free, nb))
        steps.append(step)
    return Lines(tuple(steps), (*runs[-1].notes, *notes, *files_of(steps)))


def _step(made: HplJob, observer: Observer, size: Size) -> tuple[BenchmarkStep, tuple[str, ...]]:
    """Return the line of a run, and what to know of it."""
    options, label = made.options, made.label
    threads = f"{made.threads} thread{'s' * (made.threads > 1)}"
    about = f"HPL{f' on {made.where}' if label else ''}, N={size.n}, NB={size.nb}, {size.p} x {size.q} ranks of {threads}"
    if options.xhpl is not None:
        step, dat = step_of(about, made.launch((program_of(options.xhpl),)), ""), hpl_dat(size).splitlines()
        return replace(step, files={**step.files, "HPL.dat": lambda: iter(dat)}), (_WHERE,)
    launcher, blas = made.launch((KERNEL,)).argv[0], options.blas or ""
    program, notes = program_or_name(made.machine, KERNEL, launcher, folder=options.kernels, blas=blas, observer=observer)
    return step_of(about, made.launch(command_of(options, program, size, 1, Path())), label), notes


_WHERE = "HPL.dat must be in the folder where the command is started: -o DIR writes it"
