"""Measures many nodes at once: kernels sent with the plan behind each node's own idle gate, programs under MPI, HPL on each.

The plan of a node is made from its capture, so that it fits the node: its NUMA nodes, its caches, its free memory. Whoever is
slow beside the others is measured a second time before anybody is named: slow is who is so in both runs.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from advisor.errors import AdvisorError, BadValue, CannotWork
from advisor.fleet.audit import audit_fleet
from advisor.fleet.capture import AnswersFolder
from advisor.fleet.fleet import BEFORE_SUFFIX, MEASURED_SUFFIX, Slow
from advisor.fleet.kinds import Figure, Group, group, slow
from advisor.jobs.launcher import Choice, Launch, choose
from advisor.jobs.observe import planned_ranks
from advisor.jobs.results import BLOCKS, FULL_SHARE, KERNEL, QUICK_SECONDS, QUICK_SHARE, Size, for_memory, for_time, hpl_dat
from advisor.jobs.results import read_own as own_result
from advisor.jobs.results import read_xhpl as xhpl_result
from advisor.jobs.started.benchmark import mpi_program, prepared, running_folder
from advisor.jobs.started.folder import File
from advisor.jobs.started.hosts import Allocated, JobHosts, LauncherOptions
from advisor.jobs.started.hpl import HplJob, HplOptions, command_of, free_bytes, placed
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.errands import Ended, Line, Reply, Way, folded
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.nodes import ask_nodes, brought, errand, measure_script, new_mark, start_lines
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import open_machine, read_machine
from advisor.measure.build import LaunchOutput, Recipe, build, failed, find_compiler, flags_for, limit_of
from advisor.measure.contract import read_kernels
from advisor.measure.measurement import Measurements, Result, Task, reported_or_zero
from advisor.measure.plan import Request, plan
from advisor.measure.platform import match_platform
from advisor.measure.resources import Resources, checked_results
from advisor.measure.run import conditions, free_memory, merge_runs, recorded, results_on_node, template_values
from advisor.measure.task import gathered, read_measurements
from advisor.paths import kernels, template

LACKS = "on this node"
"""What the script says of a program that is not there, or is another one."""
_LOOK = 90.0
"""Seconds for the idle gate of a node: to connect, to look for a second."""
Heard = Callable[[str, LaunchOutput], None]
"""Takes what a line printed, by the line's name."""


@dataclass(frozen=True)
class Alike:
    """Nodes of one kind of hardware, cut alike into NUMA nodes: only these are compared."""

    kind: Group
    machines: Mapping[str, Machine]


@dataclass(frozen=True)
class Start:
    """A launcher's line that is ready to be started, and how long it should take."""

    name: str
    launch: Launch
    seconds: float


def groups_of(names: Sequence[str], kept: AnswersFolder) -> tuple[list[Alike], dict[str, str]]:
    """Return the nodes kind by kind, each with its machine, of which equal nodes share one; and why others are left out."""
    found, here = audit_fleet([kept.folder]), os.uname().machine
    why_not: dict[str, str] = {}
    shared: dict[str, Machine] = {}
    groups: list[Alike] = []
    for kind in group(found.nodes.folded):
        machines: dict[str, Machine] = {}
        for name in (name for name in kind.nodes if name in names and kept.is_kept(name)):
            digest = found.read.records[name].digest or name
            try:
                if digest not in shared:
                    shared[digest] = read_machine(str(kept.folder / (kept.last[name].archive or "")))
                machines[name] = shared[digest]
            except AdvisorError as error:
                why_not[name] = str(error)
                continue
            if machines[name].architecture not in (None, here):
                why_not[name] = f"its architecture is {machines.pop(name).architecture}, but kernels are built here for {here}"
        groups.append(Alike(kind, _cut_alike(machines, why_not)))
    known = {name for each in groups for name in each.machines} | set(why_not)
    why_not |= {name: _not_captured(name, kept) for name in names if name not in known}
    return [each for each in groups if each.machines], why_not


def _not_captured(name: str, kept: AnswersFolder) -> str:
    return f"not captured; run advisor fleet capture -w {name} -o {kept.folder} first"


def _cut_alike(machines: Mapping[str, Machine], why_not: dict[str, str]) -> dict[str, Machine]:
    """Return the nodes that are cut into NUMA nodes as most are: figures of others would differ for that alone."""
    cuts = {}
    for machine in {id(machine): machine for machine in machines.values()}.values():
        ground = Resources(machine)
        cuts[id(machine)] = f"{[(node.os_index, str(node.cpuset)) for node in ground.homes]} {ground.inside.pus}"
    most = Counter(cuts[id(machine)] for machine in machines.values()).most_common(1)
    alike = {name: machine for name, machine in machines.items() if cuts[id(machine)] == most[0][0]}
    why = "its NUMA nodes or CPUs differ from those of most nodes of its kind; see advisor fleet audit"
    why_not |= {name: why for name in machines if name not in alike}
    return alike


def chosen(options: LauncherOptions, way: Way) -> Choice:
    """Return the launcher that is here; srun where nodes are reached through Slurm."""
    named = options.launcher or ("srun" if way.partition is not None else None)
    tools = None if named and options.version else read_machine(None).tools
    return choose(tools, named, options.version, None)


def gate(
    names: Sequence[str],
    way: Way,
    program: str | None = None,
    *,
    ours: bool = True,
    busy_ok: bool = False,
    observer: Observer = SILENT,
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the nodes that are idle and see a program, and why others can take no part.

    One that is ``ours`` has to be the same there as here; one of the site's may be built for the nodes.
    """
    idle: list[str] = []
    why_not: dict[str, str] = {}
    try:
        holds = Path(program).read_bytes() if ours and program else None
    except OSError:  # of a site's own, on the nodes alone
        holds = None
    values = template_values((), {}, busy_ok=busy_ok, sees=program or "/bin/sh", holds=holds)
    mark = new_mark()

    def take(reply: Reply) -> None:
        told = brought(reply, mark)
        busy = recorded(told.file).busy
        if not told.file:
            why_not[reply.node] = f"{told.outcome}: {told.why}" if told.why else str(told.outcome)
        elif busy and not busy_ok:
            why_not[reply.node] = f"not idle: {'; '.join(busy)}"
        else:
            idle.append(reply.node)
        observer.step("looking", f"{len(idle) + len(why_not)} of {len(names)} nodes")

    try:
        script = measure_script(template("measure_on_node.sh.j2"), values)
        ask_nodes(names, errand(script, mark), replace(way, timeout=max(way.timeout, _LOOK)), take)
    finally:
        observer.end()
    lacking = [node for node, why in why_not.items() if LACKS in why]
    if lacking:
        cure = "copy it to the same path on each node, or to a shared folder given with --kernels"
        observer.say(f"{folded(lacking)} skipped because {program} is missing: {cure}")
    return tuple(name for name in names if name in idle), why_not


def start_all(starts: Sequence[Start], way: Way, heard: Heard) -> None:
    """Start lines, as many at a time as the way has; ``heard`` gets what each printed. Ctrl-C ends them all, and is raised."""
    limit = max([way.timeout, *(limit_of(start.seconds) for start in starts)])
    by_name = {start.name: start for start in starts}

    def take(reply: Reply) -> None:
        launcher = by_name[reply.node].launch.argv[0]
        why = {Ended.TIMED_OUT: Why.TIMEOUT, Ended.TOO_MUCH: Why.FAILED}.get(reply.ended)
        ran = Ran(err=reply.err, status=-15 if reply.status is None else reply.status, why=why)
        heard(reply.node, LaunchOutput(reply.out, failed(launcher, ran, limit)))

    start_lines([_line(start, way) for start in starts], take, at_once=way.fan_out, timeout=limit)


def _line(start: Start, way: Way) -> Line:
    """Return a line; srun outside a job gets a small one of its own in the partition."""
    argv, launch = start.launch.argv, start.launch
    if way.partition is not None and argv[0] == way.name and "SLURM_JOB_ID" not in os.environ:
        minutes = int(limit_of(start.seconds) / 60) + 1
        argv = (argv[0], f"--partition={way.partition}", "--exclusive", "--nice", f"--time={minutes}", *argv[1:])
    return Line(start.name, argv, launch.environment)


def folder_of(whole: Path, number: int) -> Path:
    """Return the folder of one line's files."""
    return whole / str(number)


_PORTABLE = {"x86_64": "x86-64", "aarch64": "armv8-a"}
"""What every server of an architecture runs; the kernels choose the widest instructions themselves when they start."""
_STATIC = ("-static", "-s")
"""Whatever C library a node has, and however old."""
NO_SECOND = "it was slow and produced no result when remeasured"
_BESIDE = 120.0
"""Seconds beside the plan's own: to connect, to send the kernels, for the idle gate."""


@dataclass(frozen=True)
class Beside:
    """One figure of the nodes of a kind, beside each other."""

    kind: str
    figure: str
    unit: str
    values: Mapping[str, float]
    about: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        about = {"kind": self.kind, "figure": self.figure, "unit": self.unit, "about": self.about}
        return {**about, "median": median(self.values.values()), "values": dict(self.values)}


@dataclass(frozen=True)
class MeasuredFleet:
    """Who was measured, why others were not, and who is slow in two runs."""

    folder: str
    asked: tuple[str, ...]
    measured: tuple[str, ...]
    why_not: Mapping[str, str]
    again: tuple[str, ...] = ()
    slow: tuple[Slow, ...] = ()
    interrupted: bool = False
    figures: tuple[Beside, ...] = ()

    @property
    def status(self) -> int:
        """Return the exit status: 130 interrupted, 2 where nobody was measured, 1 where some are slow."""
        return 130 if self.interrupted else 2 if not self.measured else int(bool(self.slow))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet measure --json``."""
        return {
            "schema": "advisor-fleet-measure/1",
            "folder": self.folder,
            "asked": len(self.asked),
            "measured": len(self.measured),
            "interrupted": self.interrupted,
            "not_measured": [{"node": node, "why": why} for node, why in self.why_not.items()],
            "measured_again": list(self.again),
            "slow": [each.model_dump(mode="json") for each in self.slow],
            **({"figures": [each.document() for each in self.figures]} if self.figures else {}),
        }


class _Node(NamedTuple):
    """What is known of a node before it is measured."""

    machine: Machine
    tasks: tuple[Task, ...]


@dataclass
class _Run:
    """One round: what is asked of whom, and what came."""

    folder: Path
    nodes: Mapping[str, _Node]
    observer: Observer
    measured: dict[str, Measurements] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)

    def take(self, reply: Reply, mark: str, started: str) -> None:
        """Keep what one node answered."""
        told, node = brought(reply, mark), self.nodes[reply.node]
        found = recorded(told.file)
        if not told.file:
            self.why_not[reply.node] = f"{told.outcome}: {told.why}" if told.why else str(told.outcome)
        elif found.looks and not found.runs:
            self.why_not[reply.node] = f"not idle: {'; '.join(found.busy)}"
        else:
            sheets = read_kernels().sheets
            outcome = results_on_node(node.tasks, found, sheets)
            results = checked_results(outcome.results, Resources(node.machine), match_platform(node.machine))
            if not results:
                self.why_not[reply.node] = outcome.missing[0].why if outcome.missing else "no kernel printed a result"
                return
            under = conditions(node.machine, started, found.busy)
            self.measured[reply.node] = gathered(node.machine, under, results, outcome.missing)
            self.observer.step("measuring", f"{len(self.measured)} of {len(self.nodes)} nodes")


def measure_fleet(
    nodes: Sequence[str] | None, folder: Path, way: Way | None = None, *, busy_ok: bool = False, observer: Observer = SILENT
) -> MeasuredFleet:
    """Measure the quick set on the nodes of a fleet's folder, all at once; those that are slow a second time."""
    kept, way = AnswersFolder(folder, must_exist=True), way or Way()
    names = kept.named(nodes)
    ready, why_not = _ready(names, kept)
    first, interrupted = _round(folder, ready, way, busy_ok=busy_ok, observer=observer)
    why_not |= first.why_not
    for node, found in first.measured.items():
        (folder / f"{node}{BEFORE_SUFFIX}").unlink(missing_ok=True)
        _keep(folder, node, found)
    odd = audit_fleet([folder]).suspects if first.measured and not interrupted else ()
    suspects = tuple(dict.fromkeys(each.node for each in odd if each.node in first.measured))
    sure: tuple[Slow, ...] = ()
    if suspects:
        observer.say(f"{len(suspects)} of {len(first.measured)} nodes may be slower than the others and are remeasured")
        again = {node: ready[node] for node in suspects}
        second, interrupted = _round(folder, again, way, busy_ok=busy_ok, observer=observer)
        for node, found in second.measured.items():
            _keep(folder, node, first.measured[node], BEFORE_SUFFIX)
            _keep(folder, node, found)
        why_not |= {node: f"{NO_SECOND}: {why}" for node, why in second.why_not.items()}
        sure = tuple(each for each in audit_fleet([folder]).fleet.slow if each.node in second.measured)
    return MeasuredFleet(str(folder), names, tuple(first.measured), why_not, suspects, sure, interrupted)


def _keep(folder: Path, node: str, found: Measurements, suffix: str = MEASURED_SUFFIX) -> None:
    write_file(folder / f"{node}{suffix}", found.model_dump_json(indent=1).encode() + b"\n", durable=True)


def _ready(names: Sequence[str], kept: AnswersFolder) -> tuple[dict[str, _Node], dict[str, str]]:
    """Return what each node is to do, from its capture; and why others do nothing."""
    ready: dict[str, _Node] = {}
    why_not: dict[str, str] = {}
    for name in names:
        answer = kept.last.get(name)
        if answer is None or not kept.is_kept(name):
            why_not[name] = _not_captured(name, kept)
            continue
        file = str(kept.folder / (answer.archive or ""))
        try:
            machine = read_machine(file)
            made = plan(machine, Request("quick"), free_memory(open_machine(file), machine))
        except AdvisorError as error:
            why_not[name] = str(error)
            continue
        if made.tasks:
            ready[name] = _Node(machine, made.tasks)
        else:
            why_not[name] = "its capture has too little data to plan a measurement"
    return ready, why_not


def _round(folder: Path, nodes: Mapping[str, _Node], way: Way, *, busy_ok: bool, observer: Observer) -> tuple[_Run, bool]:
    """Measure some nodes at once, those with the same plan by one script; return what came, and whether Ctrl-C ended it."""
    done = _Run(folder, nodes, observer)
    plans: dict[tuple[str | None, tuple[Task, ...]], list[str]] = {}
    for name, node in nodes.items():
        plans.setdefault((node.machine.architecture, node.tasks), []).append(name)
    try:
        for (architecture, tasks), names in plans.items():
            programs = _programs(architecture, {task.kernel for task in tasks})
            if isinstance(programs, str):
                done.why_not |= dict.fromkeys(names, programs)
                continue
            script = measure_script(template("measure_on_node.sh.j2"), template_values(tasks, programs, busy_ok=busy_ok))
            mark, started = new_mark(), datetime.now(UTC).astimezone().isoformat(timespec="seconds")
            longest = replace(way, timeout=max(way.timeout, _BESIDE + 4 * sum(task.seconds for task in tasks)), exclusive=True)
            ask_nodes(names, errand(script, mark), longest, lambda reply: done.take(reply, mark, started))  # noqa: B023 - called within
    except KeyboardInterrupt:
        return done, True
    finally:
        observer.end()
    return done, False


def _programs(architecture: str | None, names: set[str]) -> dict[str, bytes] | str:
    """Return kernels that run on every node of this host's architecture; in words why there are none for another."""
    here = os.uname().machine
    if here not in _PORTABLE:
        raise CannotWork(f"kernels are not built on {here}; measure from a host with architecture {' or '.join(_PORTABLE)}")
    if architecture != here:
        return f"its architecture is {architecture or 'unknown'}, but kernels are built here for {here}"
    host, flags = LiveHost(), flags_for(Machine(architecture=here), _PORTABLE[here])
    compiler = find_compiler(host, None)
    with TemporaryDirectory(prefix="advisor-kernels-") as made:
        for more in (_STATIC, ()):  # a host without a static C library builds for nodes with the same one
            try:
                for name in names:
                    build(host, Recipe(kernels(), compiler, (*flags, *more)), name, Path(made) / name)
                return {name: (Path(made) / name).read_bytes() for name in names}
            except CannotWork as error:
                why = str(error)
    raise CannotWork(why)


_PROBE = 4096
"""Equations of the first start, which shows how fast the nodes are: 128 MiB."""
_SLOWEST = 1e9
"""Flop/s of a rank: below it nothing is waited for."""
_FIGURE = "hpl machine"


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
        raise BadValue(f"--xhpl {options.xhpl}: not an absolute path", cure="give its absolute path on the nodes")
    kept = AnswersFolder(folder, must_exist=True)
    names = kept.named(nodes)
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
    return merge_runs([old.but(results=rest), new]) if rest and old.machine == new.machine else new


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
        options, self.program = self.options, str(self.options.xhpl)
        if options.xhpl is None:
            how = {"folder": options.kernels, "blas": options.blas or "", "portable": True, "observer": self.observer}
            self.program = mpi_program(LiveHost(), first.machine, KERNEL, first.launch((KERNEL,)).argv[0], **how)[0]  # type: ignore[arg-type] # by name

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
            raise AdvisorError((result.refused if result else said.why) or "it exited without a result")
        about = {"ranks": made.ranks, "threads": made.threads, "hosts": 1, "cores": made.cores}
        return result.but(details={**result.details, **about, "program": KERNEL if not self.options.xhpl else "xhpl"})


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
    runner.observer.say(f"{len(suspects)} of {len(found)} nodes are slower than the others and are remeasured")
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
