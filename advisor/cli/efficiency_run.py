"""Runs HPL: the rate by a small run, NB by trial, then the run that counts, against two peaks."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from advisor.cli.efficiency import Bench, command_of, free_bytes, program_of
from advisor.cli.measuring import How, Measured, Watch, announce, gathered, programs_for
from advisor.cli.mpi_programs import mpi_program
from advisor.cli.mpi_start import heard_from, running_folder
from advisor.cli.writing import File
from advisor.errors import BadInput, CannotWork
from advisor.host.live import LiveHost
from advisor.know.platforms import match_platform
from advisor.measure import peaks
from advisor.measure.conditions import conditions
from advisor.measure.ground import Ground
from advisor.measure.hpl import (
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
from advisor.measure.mpi_run import Heard
from advisor.measure.run import STOPPED, Outcome, Surroundings, run
from advisor.measure.tasks import Tasks
from advisor.model.measurement import Missing, Result, Task
from advisor.model.observation import planned

_PROBE = 1536
"""Equations of the first start, which tells what dgemm gives."""
_SLOWEST = 1e9
"""Flop/s of a rank: below it nothing is waited for."""


def measure(made: Bench) -> Measured:
    """Measure; Ctrl-C ends every rank and keeps what is done."""
    host, begun = LiveHost(), time.monotonic()
    watch = Watch(host, made.machine, Ground(made.machine)) if made.crew.is_here else None
    if watch:
        watch.must_be_idle(busy_ok=made.ask.busy_ok)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    outcome = Outcome()
    with running_folder("hpl-") as folder:
        runner = _Runner(made, host, folder, outcome)
        try:
            _peaks(made, host, outcome)
            _linpack(runner)
        except KeyboardInterrupt:
            outcome.interrupted = True
            outcome.missing.append(Missing(task="hpl/hpl/machine", why=STOPPED))
    if watch:
        watch.look()
    busy = watch.words() if watch else None
    under = conditions(made.machine, when, busy, seconds=time.monotonic() - begun, **runner.built)
    measurements = gathered(made.machine, under, list(_with_peaks(made, outcome.results)), outcome.missing)
    return Measured(measurements, outcome.interrupted)


def _peaks(made: Bench, host: LiveHost, outcome: Outcome) -> None:
    """Measure the floating-point peak of all cores and its clock, where this machine is one of the hosts."""
    if not made.crew.is_here:
        return
    tasks = list(peaks.quick(Tasks(Ground(made.machine))))[-1:]
    try:
        programs, _, _ = programs_for(host, made.machine, How(kernels=made.ask.kernels))
        programs.program("peakflops")
    except CannotWork as error:
        outcome.lacks(tasks[0], str(error))
        return
    done = run(tasks, Surroundings(host, programs, lambda _: None, lambda: None))
    outcome.results += done.results
    outcome.missing += done.missing
    if done.interrupted:
        raise KeyboardInterrupt


@dataclass
class _Runner:
    """Starts HPL, ours or another."""

    made: Bench
    host: LiveHost
    folder: Path
    outcome: Outcome
    dgemm: float = 0.0
    """The most that a rank's BLAS gave while all worked: a neighbour holds back one short look, not all of them."""

    def __post_init__(self) -> None:
        """Build our own kernel where no other HPL is named."""
        ask, self.built = self.made.ask, dict[str, str | None]()
        if ask.xhpl is not None:
            self.program = program_of(ask.xhpl)
            return
        launcher = self.made.launch((KERNEL,)).argv[0]
        blas = ask.blas or ""
        self.program, compiler, flags = mpi_program(self.host, self.made.machine, KERNEL, launcher, folder=ask.kernels, blas=blas)
        self.built = {"compiler": compiler.version if compiler else None, "flags": flags}

    def start(self, size: Size, repeats: int, seconds: float, name: str = "") -> Result | None:
        """Return the result of one run; None where there is none, which is noted."""
        task = self.made.task(size, seconds, name)
        if self.made.ask.verbose:
            announce(f"hpl: N={size.n} NB={size.nb} on {size.p} x {size.q} ranks, about {max(1, round(seconds))} s")
        command = command_of(self.made.ask, self.program, size, repeats, self.folder)
        launch = self.made.launch(command)
        more = {"HPL.dat": File(hpl_dat(size).splitlines())} if self.made.ask.xhpl is not None else None
        heard = heard_from(self.host, launch, command, self.folder, seconds=seconds, more=more)
        try:
            found, why = self._read(task, heard), heard.why
        except BadInput as error:
            found, why = None, heard.why or str(error)
        if found is None:
            self.outcome.lacks(task, why or "it ended without a result")
            return None
        details = {"ranks": self.made.ranks, "threads": self.made.threads, "program": "xhpl" if self.made.ask.xhpl else KERNEL}
        self.dgemm = max(self.dgemm, _dgemm(found))
        return found.model_copy(update={"details": {**found.details, **details}})

    def _read(self, task: Task, heard: Heard) -> Result | None:
        if self.made.ask.xhpl is not None:
            return read_xhpl(task, heard.text.decode("utf-8", "replace"))
        topology = self.made.machine.topology
        return read_own(task, heard.lines, planned(self.made.placement), topology.pus if topology else task.cpus)


def _linpack(runner: _Runner) -> None:
    """Find the rate, then NB, then measure."""
    made, ask = runner.made, runner.made.ask
    rate = _rate(runner)
    if rate is None:
        raise CannotWork(f"nothing was measured: {runner.outcome.missing[-1].why}")
    memory = free_bytes(made, runner.host)
    nb = ask.nb or _best_block(runner, rate, memory)
    share = FULL_SHARE if ask.full else QUICK_SHARE
    most = for_memory(memory, share, nb)
    rate = max(rate, runner.dgemm * made.ranks)
    n = ask.n or (most if ask.full else min(most, for_time(rate, QUICK_SECONDS, nb)))
    size = made.size(n, nb)
    repeats = 1 if ask.full or ask.xhpl else 3
    found = runner.start(size, repeats, repeats * size.work / max(rate / 2, _SLOWEST))
    if found is not None:
        best = {"dgemm": runner.dgemm} if runner.dgemm else {}
        runner.outcome.results.append(found.model_copy(update={"details": {**found.details, **best}}))
    elif not runner.outcome.results:
        raise CannotWork(f"nothing was measured: {runner.outcome.missing[-1].why}")


def _rate(runner: _Runner) -> float | None:
    """Return what a small run tells of the rate: dgemm of all ranks where our kernel tells it."""
    size = runner.made.size(_PROBE, runner.made.ask.nb or BLOCKS[1])
    found = runner.start(size, 1, 15.0, "probe")
    if found is None:
        return None
    return runner.dgemm * runner.made.ranks or found.median


def _dgemm(result: Result) -> float:
    value = result.details.get("dgemm", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _best_block(runner: _Runner, rate: float, memory: float) -> int:
    """Return the NB that was fastest in short runs."""
    tried: dict[int, float] = {}
    for nb in BLOCKS:
        size = runner.made.size(min(for_time(rate, SEARCH_SECONDS, nb), for_memory(memory, QUICK_SHARE, nb)), nb)
        found = runner.start(size, 1, SEARCH_SECONDS * 3, "search")
        if found is not None and found.refused is None:
            tried[nb] = found.median
    return max(tried, key=lambda nb: tried[nb]) if tried else BLOCKS[1]


def _with_peaks(made: Bench, results: list[Result]) -> Iterator[Result]:
    """Yield results; those of HPL with the peaks that they are compared with, and what speaks against the BLAS."""
    hosts = max(1, sum(1 for host in made.placement.hosts if host.ranks))
    cores = made.ranks * made.threads
    platform, cpu = match_platform(made.machine), made.machine.cpu
    each = platform.flops_per_cycle if platform else None
    base = cores * each * cpu.base_hz if each and cpu and cpu.base_hz else 0.0
    load = max((r.median for r in results if r.kernel == "peakflops" and r.unit == "flop/s" and r.refused is None), default=0.0)
    for result in results:
        if result.kernel == KERNEL:
            doubt = blas_doubt(str(result.details.get("blas_core", "")), cpu)
            told = {
                "peak_base": base,
                "peak_load": load * hosts,
                "dgemm_all": _dgemm(result) * made.ranks,
                "blas_doubt": doubt or "",
            }
            yield result.model_copy(update={"details": {**result.details, **{name: v for name, v in told.items() if v}}})
        else:
            yield result
