"""Measures HPL on many nodes at once, each for itself with the same N, and says who is slow beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Final

from advisor.errors import AdvisorError, BadValue
from advisor.fleet.capture import AnswersFolder
from advisor.fleet.fleet import MEASURED_SUFFIX, Slow
from advisor.fleet.kinds import Figure, slow
from advisor.fleet.measure import NO_SECOND, Beside, MeasuredFleet
from advisor.fleet.measure_launches import Alike, Start, chosen, folder_of, gate, groups_of, start_all
from advisor.jobs.hpl_results import BLOCKS, FULL_SHARE, KERNEL, QUICK_SECONDS, QUICK_SHARE, Size, for_memory, for_time, hpl_dat
from advisor.jobs.hpl_results import read_own as own_result
from advisor.jobs.hpl_results import read_xhpl as xhpl_result
from advisor.jobs.observed_binding import planned_ranks
from advisor.jobs.started.folder import File
from advisor.jobs.started.hosts import Allocated, JobHosts, LauncherOptions
from advisor.jobs.started.hpl import HplJob, HplOptions, command_of, free_bytes, placed
from advisor.jobs.started.mpi import mpi_program, prepared, running_folder
from advisor.machine.hosts.errands import Way, checked_names
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.live import LiveHost
from advisor.machine.observer import SILENT, Observer
from advisor.measure.build import LaunchOutput
from advisor.measure.measurement import Measurements, Result, reported_or_zero
from advisor.measure.run import conditions, merge_runs
from advisor.measure.task import gathered, read_measurements

_PROBE: Final = 4096
"""Equations of the first start, which shows how fast the nodes are: 128 MiB."""
_SLOWEST: Final = 1e9
"""Flop/s of a rank: below it nothing is waited for."""
_FIGURE: Final = "hpl machine"


def measure_fleet_hpl(
    nodes: Sequence[str] | None,
    folder: Path,
    way: Way | None = None,
    options: HplOptions | None = None,
    *,
    launcher: LauncherOptions | None = None,
    observer: Observer = SILENT,
) -> MeasuredFleet:
    """Measure HPL on the nodes of a fleet's folder, all at once; those that are slow beside the others a second time."""
    way, options = way or Way(), options or HplOptions()
    if options.xhpl is not None and not options.xhpl.is_absolute():
        raise BadValue(f"--xhpl {options.xhpl}: which file it is on the nodes is not said", cure="give its whole path")
    kept = AnswersFolder(folder, must_exist=True)
    names = checked_names(nodes if nodes is not None else tuple(node for node in kept.last if kept.is_kept(node)))
    groups, why_not = groups_of(names, kept)
    done = _Done(folder, why_not)
    interrupted = False
    try:
        for group in groups:
            runner = _Runner(group, options, way, launcher or LauncherOptions(), observer)
            idle, others = gate(
                tuple(group.machines), way, runner.program, ours=options.xhpl is None, busy_ok=options.busy_ok, observer=observer
            )
            why_not |= others
            _measure(runner, idle, done)
    except KeyboardInterrupt:
        interrupted = True
    measured = tuple(name for name in names if name in done.rates)
    again, late = tuple(done.again), tuple(done.slow)
    return MeasuredFleet(str(folder), names, measured, why_not, again, late, interrupted, tuple(done.figures.values()))


class _Done:
    """What came of all kinds, kept as it comes."""

    def __init__(self, folder: Path, why_not: dict[str, str]) -> None:
        self.folder, self.why_not = folder, why_not
        self.rates: dict[str, Result] = {}
        self.again: list[str] = []
        self.slow: list[Slow] = []
        self.figures: dict[str, Beside] = {}

    def keep(self, group: Alike, node: str, found: Result, when: str) -> None:
        """Keep a result beside what else was measured on its node."""
        self.rates[node] = found
        kind, size = group.kind.name, found.details
        values = {**(self.figures[kind].values if kind in self.figures else {}), node: found.median}
        self.figures[kind] = Beside(kind, "HPL", found.unit, values, f"N={size['n']}, NB={size['nb']}")
        place = self.folder / f"{node}{MEASURED_SUFFIX}"
        machine = group.machines[node]
        new = gathered(machine, conditions(machine, when, ()), [found], [])
        write_file(place, _beside(place, new).model_dump_json(indent=1).encode() + b"\n", durable=True)


def _beside(place: Path, new: Measurements) -> Measurements:
    """Return new measurements with those that a file has of the same machine, HPL's left out."""
    if not place.is_file():
        return new
    try:
        old = read_measurements([place])
    except AdvisorError:
        return new
    rest = tuple(each for each in old.results if each.kernel != KERNEL)
    return merge_runs([old.model_copy(update={"results": rest}), new]) if rest and old.machine == new.machine else new


@dataclass
class _Runner:
    """Starts HPL on nodes that are alike."""

    group: Alike
    options: HplOptions
    way: Way
    launcher: LauncherOptions
    observer: Observer

    def __post_init__(self) -> None:
        self._choice = chosen(self.launcher, self.way)
        first = self.job(next(iter(self.group.machines)))
        self.most = min(free_bytes(self.job(node), LiveHost()) for node in self.group.machines)
        self.program = str(self.options.xhpl) if self.options.xhpl else self._built(first)

    def _built(self, made: HplJob) -> str:
        options, argv = self.options, made.launch((KERNEL,)).argv
        program, _, _ = mpi_program(
            LiveHost(),
            made.machine,
            KERNEL,
            argv[0],
            folder=options.kernels,
            blas=options.blas or "",
            portable=True,
            observer=self.observer,
        )
        return program

    def job(self, node: str) -> HplJob:
        """Return the placement of ranks on all cores of a node."""
        job_hosts = JobHosts(Allocated((node,)), (self.group.machines[node],), None)
        return HplJob(job_hosts, self._choice, placed(job_hosts, self.options, None), self.options, ())

    def round(
        self, nodes: Sequence[str], size: Size, repeats: int, rate: float, about: str
    ) -> tuple[dict[str, Result], dict[str, str]]:
        """Run HPL on some nodes at the same time; return what each gave, or why nothing came."""
        found: dict[str, Result] = {}
        whys: dict[str, str] = {}

        def take(node: str, said: LaunchOutput) -> None:
            try:
                found[node] = self._read(node, size, said)
            except AdvisorError as error:
                whys[node] = said.why or str(error)
            self.observer.step("measuring", f"HPL, {about}: {len(found) + len(whys)} of {len(nodes)} nodes")

        try:
            with running_folder("hpl-") as folder:
                seconds = repeats * size.work / max(rate / 2, _SLOWEST)
                starts = [self._start(node, size, repeats, seconds, folder_of(folder, at)) for at, node in enumerate(nodes)]
                start_all(starts, self.way, take)
        finally:
            self.observer.end()
        return found, whys

    def _start(self, node: str, size: Size, repeats: int, seconds: float, folder: Path) -> Start:
        made = self.job(node)
        command = command_of(self.options, self.program, size, repeats, folder)
        more = {"HPL.dat": File(hpl_dat(size).splitlines())} if self.options.xhpl is not None else None
        return Start(node, prepared(made.launch(command), command, folder, more), seconds)

    def _read(self, node: str, size: Size, said: LaunchOutput) -> Result:
        made = self.job(node)
        task = made.task(size, 0.0)
        if self.options.xhpl is not None:
            if said.why is not None:
                raise AdvisorError(said.why)
            result: Result | None = xhpl_result(task, said.text.decode("utf-8", "replace"))
        else:
            topology = made.machine.topology
            result = own_result(task, said.lines, planned_ranks(made.placement), topology.pus if topology else task.cpus)
        if result is None or result.refused:
            raise AdvisorError((result.refused if result else said.why) or "it ended without a result")
        about = {"ranks": made.ranks, "threads": made.threads, "hosts": 1, "cores": made.cores}
        return result.model_copy(
            update={"details": {**result.details, **about, "program": KERNEL if not self.options.xhpl else "xhpl"}}
        )


def _measure(runner: _Runner, idle: tuple[str, ...], done: _Done) -> None:
    """Measure the nodes of a kind: a small run that shows their rate, the run that counts, and the suspects again."""
    if not idle:
        return
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    options, made = runner.options, runner.job(idle[0])
    nb = options.nb or BLOCKS[1]
    n, rate = options.n or 0, _SLOWEST
    if not options.n:
        tried, whys = runner.round(idle, made.size(_PROBE // nb * nb, nb), 1, _SLOWEST * made.ranks, "a small run")
        done.why_not |= whys
        idle = tuple(node for node in idle if node in tried)
        if not idle:
            return
        # What its BLAS gives, where that is known: a small run mostly waits.
        rate = median(reported_or_zero(each, "dgemm") * made.ranks or each.median for each in tried.values())
        n = for_memory(runner.most, FULL_SHARE if options.full else QUICK_SHARE, nb)
        n = n if options.full else min(n, for_time(rate, QUICK_SECONDS, nb))
    size, repeats = made.size(n, nb), 1 if options.full or options.xhpl else 3
    found, whys = runner.round(idle, size, repeats, rate, f"N={n}")
    done.why_not |= whys
    for node, each in found.items():
        done.keep(runner.group, node, each, when)
    suspects = tuple(dict.fromkeys(each.node for each in _slow(runner, found)))
    if not suspects:
        return
    runner.observer.say(f"{len(suspects)} of {len(found)} nodes are slow beside the others: they are measured again")
    second, whys = runner.round(suspects, size, repeats, rate, "again")
    for node, each in second.items():
        done.keep(runner.group, node, each, when)
    done.why_not |= {node: f"{NO_SECOND}: {why}" for node, why in whys.items()}
    done.again += suspects
    done.slow += [each for each in _slow(runner, {**found, **second}) if each.node in second]


def _slow(runner: _Runner, found: Mapping[str, Result]) -> tuple[Slow, ...]:
    """Return who is slow among those measured now, with the same N."""
    figures = {
        node: {_FIGURE: Figure(_FIGURE, each.unit, each.median, each.spread if len(each.values) > 1 else 0.0)}
        for node, each in found.items()
    }
    return tuple(slow(replace(runner.group.kind, nodes=list(found)), figures, {}))
