"""Runs HPL: the rate by a small run, NB by trial, then the runs that count, against two peaks."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from advisor.errors import BadInput, CannotWork
from advisor.jobs.hpl_results import (
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
    hpl_dat,
    read_own,
    read_xhpl,
)
from advisor.jobs.observed_binding import planned_ranks
from advisor.jobs.started.folder import File
from advisor.jobs.started.hosts import HostOptions, LauncherOptions
from advisor.jobs.started.hpl import HplJob, HplOptions, command_of, free_bytes, hpl_job, program_of, scaling_runs, size_after
from advisor.jobs.started.mpi import heard_from, mpi_program, running_folder
from advisor.machine.hosts.live import LiveHost
from advisor.machine.observer import SILENT, Observer
from advisor.measure import measurement, plan
from advisor.measure.build import LaunchOutput
from advisor.measure.measurement import Missing, Result, Task
from advisor.measure.plan import Tasks
from advisor.measure.platforms import match_platform
from advisor.measure.resources import Resources
from advisor.measure.run import STOPPED, BusyWatch, Outcome, RunContext, conditions, run
from advisor.measure.task import Measured, gathered, programs_for

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
        return found.model_copy(update={"details": {**found.details, **self._told()}})

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
            why = f"not started, as there was no result on {runner.made.where}"
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
    runner.outcome.results.append(found.model_copy(update={"details": {**found.details, **best}}))
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
            yield result.model_copy(update={"details": {**result.details, **{name: v for name, v in more.items() if v}}})
        else:
            yield result


def _of_core(result: Result) -> float:
    return result.median / len(result.cpus)
