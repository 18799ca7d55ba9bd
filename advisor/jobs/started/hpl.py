"""Runs HPL: the rate by a small run, NB by trial, then the runs that count, against two peaks."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.bind import openmp
from advisor.jobs.launcher import Choice, Launch
from advisor.jobs.observe import planned_ranks
from advisor.jobs.placement import Placement
from advisor.jobs.results import (
    BLOCKS,
    FULL_SHARE,
    KERNEL,
    QUICK_SECONDS,
    QUICK_SHARE,
    SEARCH_SECONDS,
    Size,
    blas_doubt,
    for_memory,
    for_time,
    grid,
    grown,
    hpl_dat,
    read_own,
    read_xhpl,
    steps_to,
)
from advisor.jobs.started.benchmark import (
    Lines,
    chosen_for,
    files_of,
    heard_from,
    launch_of,
    mpi_program,
    placed_ranks,
    program_or_name,
    running_folder,
    step_of,
)
from advisor.jobs.started.folder import File
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, host_notes, hosts_of_job
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.measure import measurement, plan
from advisor.measure.build import LaunchOutput
from advisor.measure.contract import part_named
from advisor.measure.measurement import Missing, Part, Result, Task
from advisor.measure.plan import Tasks
from advisor.measure.platform import match_platform
from advisor.measure.resources import Resources
from advisor.measure.run import STOPPED, BusyWatch, Outcome, RunContext, conditions, free_memory, run
from advisor.measure.task import Measured, gathered, programs_for
from advisor.show.commandline import BenchmarkStep

_OF_PEAK = 0.7
"""What HPL gives of the peak at base clock, with which a full run's time is estimated."""


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")


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
        raise BadValue(f"--ranks-per {part}:{count}: not enough cores for that", cure="request fewer, or use --ranks-per core")
    strategy = "compact" if part == "core" else "auto"
    wanted = JobOptions(ranks_per=(part, count), threads=min(cores) // count, strategy=strategy)
    return placed_ranks(wanted, job_hosts, allowed)


def program_of(path: Path) -> str:
    """Return another HPL's program; refuse what is none."""
    found = find(str(path.absolute() if path.exists() else path))
    if found is None:
        raise BadValue(f"--xhpl {path}: no such program", cure="give the path of xhpl")
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
        raise BadValue("--scaling has nothing to compare: one host with one NUMA node", cure="give several hosts: --hosts A,B,..")
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
        problem = "--scaling --dry-run cannot show lines for --xhpl: each run would read its own HPL.dat"
        raise BadValue(problem, cure="omit --scaling and plan the runs one by one with --hosts and -o DIR")
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


_WHERE = "HPL.dat must be in the folder where the command runs: -o DIR writes it"


_PROBE = 1536
"""Equations of the first start, which shows what dgemm gives."""
_SLOWEST = 1e9
"""Flop/s of a rank: below it nothing is waited for."""


def measure_hpl(
    options: HplOptions | None = None,
    hosts: HostOptions | None = None,
    launcher: LauncherOptions | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    observer: Observer = SILENT,
) -> Measured:
    """Measure HPL on this machine, or on hosts like it, beside the peaks; a minute, unless the options say otherwise."""
    made = hpl_job(hosts or HostOptions(), launcher or LauncherOptions(), options or HplOptions(), environment, observer)
    return measure(made, scaling_runs(made), observer)


def measure(whole: HplJob, runs: tuple[HplJob, ...] = (), observer: Observer = SILENT) -> Measured:
    """Measure, of a scaling table the smallest run first; Ctrl-C ends every rank and keeps what is done."""
    runs, host, begun = runs or (whole,), LiveHost(), time.monotonic()
    watch = BusyWatch(host, whole.machine, Resources(whole.machine)) if whole.job_hosts.is_here else None
    if watch:
        watch.must_be_idle(busy_ok=whole.options.busy_ok)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    outcome = Outcome()
    with running_folder("hpl-") as folder:
        start = _Start.of(whole, host, folder, observer)
        try:
            _peaks(whole, start, outcome)
            _linpack([_Runner(made, start, outcome) for made in runs])
        except KeyboardInterrupt:
            outcome.interrupted = True
            done = {each.task.rpartition("/")[0] for each in outcome.results}
            outcome.missing += [Missing(task=made.name, why=STOPPED) for made in runs if made.name not in done]
    if watch:
        watch.look()
    busy = watch.words() if watch else None
    under = conditions(whole.machine, when, busy, seconds=time.monotonic() - begun, **start.built)
    measurements = gathered(whole.machine, under, list(_with_peaks(whole, outcome.results)), outcome.missing)
    return Measured(measurements, outcome.interrupted, whole.machine)


def _peaks(made: HplJob, start: "_Start", outcome: Outcome) -> None:
    """Measure the floating-point peak of all cores and its clock, where this machine is one of the hosts."""
    if not made.job_hosts.is_here:
        return
    tasks = list(plan.peak_and_clock(Tasks(Resources(made.machine))))[-1:]
    try:
        programs, _, _ = programs_for(start.host, made.machine, made.options.kernels, start.observer)
        programs.program(tasks[0].kernel)
    except CannotWork as error:
        outcome.lacks(tasks[0], str(error))
        return
    done = run(tasks, RunContext(start.host, programs, lambda _: None, lambda: None))
    outcome.results += done.results
    outcome.missing += done.missing
    if done.interrupted:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class _Start:
    """What every run is started with: our HPL, built here, or another."""

    host: LiveHost
    folder: Path
    program: str
    built: Mapping[str, str | None]
    observer: Observer

    @classmethod
    def of(cls, made: HplJob, host: LiveHost, folder: Path, observer: Observer) -> "_Start":
        """Build our own kernel where no other HPL is named."""
        options = made.options
        if options.xhpl is not None:
            return cls(host, folder, program_of(options.xhpl), {}, observer)
        launcher = made.launch((KERNEL,)).argv[0]
        program, compiler, flags = mpi_program(
            host, made.machine, KERNEL, launcher, folder=options.kernels, blas=options.blas or "", observer=observer
        )
        return cls(host, folder, program, {"compiler": compiler.version if compiler else None, "flags": flags}, observer)


@dataclass
class _Runner:
    """Starts HPL on one placement of ranks."""

    made: HplJob
    start_with: _Start
    outcome: Outcome
    dgemm: float = 0.0
    """The most that a rank's BLAS gave while all worked: a neighbour holds back one short look, not all of them."""

    def start(self, size: Size, repeats: int, seconds: float, name: str = "") -> Result | None:
        """Return the result of one run; None where there is none, which is noted."""
        task = self.made.task(size, seconds, name)
        where, about = f" on {self.made.where}" if self.made.where else "", f"about {max(1, round(seconds))} s"
        self.start_with.observer.detail(f"hpl{where}: N={size.n} NB={size.nb} on {size.p} x {size.q} ranks, {about}")
        heard = self._heard(size, repeats, seconds)
        try:
            found, why = self._read(task, heard), heard.why
        except BadInput as error:
            found, why = None, heard.why or str(error)
        if found is None:
            self.outcome.lacks(task, why or "it exited without a result")
            return None
        self.dgemm = max(self.dgemm, measurement.reported_or_zero(found, "dgemm"))
        return found.but(details={**found.details, **self._told()})

    def _heard(self, size: Size, repeats: int, seconds: float) -> LaunchOutput:
        command = command_of(self.made.options, self.start_with.program, size, repeats, self.start_with.folder)
        more = {"HPL.dat": File(hpl_dat(size).splitlines())} if self.made.options.xhpl is not None else None
        return heard_from(
            self.start_with.host, self.made.launch(command), command, self.start_with.folder, seconds=seconds, more=more
        )

    def _told(self) -> dict[str, float | int | str | bool]:
        made = self.made
        told: dict[str, float | int | str | bool] = {
            "ranks": made.ranks,
            "threads": made.threads,
            "hosts": made.hosts,
            "cores": made.cores,
            "program": "xhpl" if made.options.xhpl else KERNEL,
        }
        named = {"hosts_named": ",".join(made.job_hosts.hosts.names)} if made.job_hosts.hosts.names else {}
        return told | named | ({"scaling": True} if made.options.scaling else {})

    def _read(self, task: Task, heard: LaunchOutput) -> Result | None:
        if self.made.options.xhpl is not None:
            return read_xhpl(task, heard.text.decode("utf-8", "replace"))
        topology = self.made.machine.topology
        return read_own(task, heard.lines, planned_ranks(self.made.placement), topology.pus if topology else task.cpus)


def _linpack(runners: list[_Runner]) -> None:
    """Find the rate, then NB, then measure run after run; where one brings nothing, none with more hosts would."""
    first, options = runners[0], runners[0].made.options
    rate = _rate(first)
    if rate is None:
        raise CannotWork(f"nothing was measured: {first.outcome.missing[-1].why}")
    memory = free_bytes(first.made, first.start_with.host)
    nb = options.nb or _best_block(first, rate, memory)
    rate = max(rate, first.dgemm * first.made.ranks)
    n = options.n or _order(first, rate, memory, nb)
    for number, runner in enumerate(runners):
        if not _counted(runner, _size(first, n, runner, nb), rate * runner.made.cores / first.made.cores):
            if number == 0:
                raise CannotWork(f"nothing was measured: {first.outcome.missing[-1].why}")
            why = f"not started, because there was no result on {runner.made.where}"
            first.outcome.missing += [Missing(task=each.made.name, why=why) for each in runners[number + 1 :]]
            return


def _order(runner: _Runner, rate: float, memory: float, nb: int) -> int:
    """Return N of the first run: for the whole memory, or for the time."""
    most = for_memory(memory, FULL_SHARE if runner.made.options.full else QUICK_SHARE, nb)
    return most if runner.made.options.full else min(most, for_time(rate, QUICK_SECONDS, nb))


def _size(first: _Runner, n: int, runner: _Runner, nb: int) -> Size:
    if runner.made.options.full:
        return runner.made.size(for_memory(free_bytes(runner.made, runner.start_with.host), FULL_SHARE, nb), nb)
    return size_after(first.made, n, runner.made, nb)


def _counted(runner: _Runner, size: Size, rate: float) -> bool:
    """Measure what counts of one placement; return whether there is a result."""
    options = runner.made.options
    repeats = 1 if options.full or options.xhpl else 3
    found = runner.start(size, repeats, repeats * size.work / max(rate / 2, _SLOWEST))
    if found is None:
        return False
    best = {"dgemm": runner.dgemm} if runner.dgemm else {}
    runner.outcome.results.append(found.but(details={**found.details, **best}))
    return True


def _rate(runner: _Runner) -> float | None:
    """Return what a small run shows of the rate: dgemm of all ranks where our kernel reports it."""
    size = runner.made.size(_PROBE, runner.made.options.nb or BLOCKS[1])
    found = runner.start(size, 1, 15.0, "probe")
    if found is None:
        return None
    return runner.dgemm * runner.made.ranks or found.median


def _best_block(runner: _Runner, rate: float, memory: float) -> int:
    """Return the NB that was fastest in short runs."""
    tried: dict[int, float] = {}
    for nb in BLOCKS:
        size = runner.made.size(min(for_time(rate, SEARCH_SECONDS, nb), for_memory(memory, QUICK_SHARE, nb)), nb)
        found = runner.start(size, 1, SEARCH_SECONDS * 3, "search")
        if found is not None and found.refused is None:
            tried[nb] = found.median
    return max(tried, key=lambda nb: tried[nb]) if tried else BLOCKS[1]


def _with_peaks(made: HplJob, results: list[Result]) -> Iterator[Result]:
    """Yield results; those of HPL with the peaks that they are compared with, and what speaks against the BLAS."""
    platform, cpu = match_platform(made.machine), made.machine.cpu
    base = (platform.core_peak(cpu.base_hz) if platform and cpu else None) or 0.0
    load = max((_of_core(r) for r in results if r.purpose == "peak" and r.unit == "flop/s" and not r.refused), default=0.0)
    for result in results:
        if result.kernel == KERNEL:
            cores = measurement.reported_or_zero(result, "cores")
            doubt = blas_doubt(str(result.details.get("blas_core", "")), cpu)
            more = {
                "peak_base": base * cores,
                "peak_load": load * cores,
                "dgemm_all": measurement.reported_or_zero(result, "dgemm") * measurement.reported_or_zero(result, "ranks"),
                "blas_doubt": doubt or "",
            }
            yield result.but(details={**result.details, **{name: v for name, v in more.items() if v}})
        else:
            yield result


def _of_core(result: Result) -> float:
    return result.median / len(result.cpus)
