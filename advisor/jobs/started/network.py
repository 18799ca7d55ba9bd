"""Measures messages between two hosts: plans the experiment from both machines, runs it leg by leg, believes what is proved."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.bind import launch_or_wrap
from advisor.jobs.environment import article, is_up, unusable, without_adapters, without_gpus
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.network_results import RankPlan, read_network
from advisor.jobs.observed_binding import planned_ranks
from advisor.jobs.place import place
from advisor.jobs.placement import Placement
from advisor.jobs.registry import Choice, choose, is_foreign
from advisor.jobs.started.allocation import placeholders
from advisor.jobs.started.benchmark import Lines, files_of, spelled, step_of
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, host_notes, hosts_of_job, shape
from advisor.jobs.started.mpi import heard_from, mpi_program, program_or_name, running_folder
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.measure.idle_check import conditions
from advisor.measure.measurement import Task
from advisor.measure.network import FEW, KERNEL, REPEATS, SIZES, NetworkRun, Per, network_runs, sizes_of
from advisor.measure.resources import Resources
from advisor.measure.run import Outcome, Progress
from advisor.measure.task import BusyWatch, Measured, gathered


@dataclass(frozen=True)
class NetworkOptions:
    """What the user wants measured, and how."""

    per: Per | None = None
    hca: str | None = None
    sizes: str | None = None
    repeats: int | None = None
    kernels: Path | None = None
    busy_ok: bool = False


@dataclass(frozen=True)
class Experiment:
    """Everything that is to be started, and on which hosts."""

    job_hosts: JobHosts
    launcher_options: LauncherOptions
    choice: Choice
    options: NetworkOptions
    legs: tuple[NetworkRun, ...]
    notes: tuple[str, ...]
    asked: bool = True
    """Whether UCX is given the adapter of a leg; else it is where the MPI most likely sends, and no more is known."""

    @property
    def machine(self) -> Machine:
        """The first host's."""
        return self.job_hosts.machines[0]

    @property
    def sizes(self) -> str:
        """The sizes of messages, as the kernel takes them."""
        return sizes_of(self.options.sizes) if self.options.sizes else SIZES

    @property
    def repeats(self) -> int:
        """How often each thing is measured."""
        return self.options.repeats or REPEATS

    def placement(self, leg: NetworkRun) -> Placement:
        """Return where the ranks of a leg are."""
        each = None if leg.ranks else ("numa", FEW)
        wanted = JobOptions(ranks_per_node=leg.ranks, ranks_per=each, threads=1, strategy="spread-numa" if each else "compact")
        job = shape(wanted, self.job_hosts, [])
        allowed = leg.cpus if leg.cpus is not None else self.job_hosts.affinity
        return without_adapters(without_gpus(place(job, self.job_hosts.machines, allowed=allowed)))

    def launch(self, leg: NetworkRun, placement: Placement, program: str) -> Launch:
        """Return the line of a leg."""
        command = (program, *leg.arguments(self.sizes, self.repeats))
        wish = LaunchRequest(
            command=command,
            version=self.choice.version,
            exact=self.launcher_options.exact,
            scheduler=self.job_hosts.hosts.scheduler_of(self.choice.launcher.name),
            environment=self._settings(leg.hca),
        )
        made, _ = launch_or_wrap(self.choice, placement, wish)
        return spelled(made)

    def _settings(self, hca: str | None) -> Mapping[str, str]:
        """Return what dell-naples-2018 sets, for an adapter that UCX can be given; nothing without one."""
        if hca is None or not self.asked:
            return {}
        known = article(hca, self.job_hosts.machines)
        kinds = {each.kind for machine in self.job_hosts.machines for each in machine.hcas or () if each.name == hca}
        soft = any(kind is not None and not kind.startswith("MT") for kind in kinds)
        return {
            name: value
            for name, value in known.items()
            if not is_foreign(name, self.choice.launcher) and not (soft and name == "UCX_TLS")
        }

    def task(self, leg: NetworkRun, placement: Placement) -> Task:
        """Return a leg as a task: on the CPUs that its ranks have on the first host."""
        first = next(host for host in placement.hosts if host.ranks)
        slots = placement.plans[first.plan].slots[: first.ranks]
        return leg.task(self.sizes, self.repeats, sorted({slot.cpus.first or 0 for slot in slots}))


def experiment(
    host_options: HostOptions,
    launcher_options: LauncherOptions,
    options: NetworkOptions,
    environment: Mapping[str, str] | None = None,
    *,
    dry: bool = False,
    observer: Observer = SILENT,
) -> Experiment:
    """Return the whole experiment; what cannot be is refused in one line."""
    job_hosts = _two_hosts(host_options, environment, observer, dry=dry)
    choice = choose(job_hosts.machines[0].tools, launcher_options.launcher, launcher_options.version, job_hosts.hosts.scheduler)
    hcas, asked, notes = adapters(job_hosts, options.hca)
    hosts = max(1, len(job_hosts.hosts.names))
    found = network_runs(job_hosts.machines, hcas if hosts > 1 else (), options.per, hosts=hosts)
    if hosts == 1:
        notes = ("pairs inside one host: shared memory, no network; name two hosts with --hosts A,B",)
    how = f"launcher: {choice.launcher.name}, {choice.version or 'version not known'}: {choice.why}"
    said = (how, *host_notes(job_hosts.hosts), *notes)
    made = Experiment(job_hosts, launcher_options, choice, options, found, said, asked)
    _ = made.sizes  # refused before anything is built
    return replace(made, legs=tuple(_different(made)))


def _different(made: Experiment) -> Iterator[NetworkRun]:
    """Yield the legs but those whose ranks sit just as another's: two ranks in each node of two cores are all cores."""
    seen: set[object] = set()
    for leg in made.legs:
        try:
            placement = made.placement(leg)
        except BadValue:
            if leg.ranks is None:
                continue  # a NUMA node has fewer cores than that
            raise
        key = leg.hca, leg.tests, tuple((rank.host, rank.slot.cpus) for rank in placement.ranks())
        if key not in seen:
            seen.add(key)
            yield leg


def _two_hosts(host_options: HostOptions, environment: Mapping[str, str] | None, observer: Observer, *, dry: bool) -> JobHosts:
    """Return two hosts, or one where no other is named."""
    job_hosts = hosts_of_job(host_options, (KERNEL,), environment, observer)
    names = job_hosts.hosts.names
    if not names and host_options.sources and dry:
        return replace(job_hosts, hosts=placeholders(2, (KERNEL,)), affinity=None)
    if len(names) > 2 and (host_options.hosts or host_options.hostfile):
        raise BadValue(f"messages go between two hosts, and there are {len(names)}", cure="name two: --hosts A,B")
    if len(names) > 2:
        note = f"the first two of the job's {len(names)} hosts: {names[0]} and {names[1]}"
        hosts = replace(job_hosts.hosts, names=names[:2], notes=(*job_hosts.hosts.notes, note))
        return JobHosts(hosts, job_hosts.machines[:2], None)
    return job_hosts


def adapters(job_hosts: JobHosts, wanted: str | None) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """Return the adapters to measure in turn, whether UCX is given them, and why not others."""
    machine = job_hosts.machines[0]
    names = [hca.name for hca in machine.hcas or ()]
    if wanted is not None and wanted not in names:
        raise BadValue(f"no adapter is called {wanted[:64]}", cure=f"there are: {', '.join(names) or 'none'}")
    if not names:
        return (), False, ("no HCA is on this machine: messages use the MPI's default, usually TCP",)
    chosen = [wanted] if wanted else names
    reasons = {name: unusable([name], job_hosts.machines) for name in chosen}
    good = tuple(name for name in chosen if reasons[name] is None)
    notes = tuple(f"{name} is not asked for: {why}" for name, why in reasons.items() if why)
    if good:
        supposed = ("UCX is assumed: which MPI and UCX the machine has is not known",) if machine.tools is None else ()
        return good, True, (*notes, *supposed)
    only = _only(machine, chosen)
    marked = tuple(f"{name} is marked all the same: no other adapter is active" for name in only)
    return only, False, (*notes, "the MPI chooses the path of messages", *marked)


def _only(machine: Machine, names: Sequence[str]) -> tuple[str, ...]:
    """Return the one adapter of some that is up; none where several are, for no one knows which is taken."""
    active = tuple(hca.name for hca in machine.hcas or () if hca.name in names and is_up(hca))
    return active if len(active) == 1 else ()


def network_lines(made: Experiment, *, folder_given: bool = False, observer: Observer = SILENT) -> Lines:
    """Return every line, ready to paste."""
    first = made.launch(made.legs[0], made.placement(made.legs[0]), KERNEL).argv[0]
    program, notes = program_or_name(LiveHost(), made.machine, KERNEL, first, folder=made.options.kernels, observer=observer)
    found = []
    for leg in made.legs:
        launch = made.launch(leg, made.placement(leg), program)
        near = f", {leg.hca} {_DISTANCES[leg.distance]}" if leg.hca and leg.distance else f", {leg.hca}" if leg.hca else ""
        found.append(step_of(f"{leg.about}{near}: {leg.tests}", launch, f"{leg.label}{leg.hca or ''}"))
    return Lines(tuple(found), (*made.notes, *notes, *(() if folder_given else files_of(found))))


def measure_network(
    hosts: HostOptions,
    options: NetworkOptions | None = None,
    launcher: LauncherOptions | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    observer: Observer = SILENT,
) -> Measured:
    """Measure messages between two hosts, near the network adapter and far from it."""
    made = experiment(hosts, launcher or LauncherOptions(), options or NetworkOptions(), environment, observer=observer)
    return measure(made, observer)


_DISTANCES = {"local": "is here", "same-socket": "is on another node of this socket", "other-socket": "is on the other socket"}


def measure(made: Experiment, observer: Observer = SILENT) -> Measured:
    """Measure; Ctrl-C ends every rank and keeps what is done."""
    host = LiveHost()
    placements = [made.placement(leg) for leg in made.legs]
    first = made.launch(made.legs[0], placements[0], KERNEL).argv[0]
    watch = BusyWatch(host, made.machine, Resources(made.machine)) if made.job_hosts.is_here else None
    if watch:
        watch.must_be_idle(busy_ok=made.options.busy_ok)
    program, compiler, flags = mpi_program(host, made.machine, KERNEL, first, folder=made.options.kernels, observer=observer)
    begun, when = time.monotonic(), datetime.now().astimezone().isoformat(timespec="seconds")
    work = [_Part(leg, place, made.task(leg, place)) for leg, place in zip(made.legs, placements, strict=True)]
    with running_folder("network-") as folder:
        outcome = _run(made, work, _Start(host, program, folder, watch, observer))
    busy, version = watch.words() if watch else None, compiler.version if compiler else None
    under = conditions(made.machine, when, busy, seconds=time.monotonic() - begun, compiler=version, flags=flags)
    return Measured(gathered(made.machine, under, outcome.results, outcome.missing), outcome.interrupted, made.machine)


class _Part(NamedTuple):
    leg: NetworkRun
    placement: Placement
    task: Task


@dataclass(frozen=True)
class _Start:
    host: LiveHost
    program: str
    folder: Path
    watch: BusyWatch | None
    observer: Observer


def _run(made: Experiment, work: list[_Part], start: _Start) -> Outcome:
    """Run leg after leg; where the first brings nothing, none would."""
    outcome = Outcome()
    try:
        for number, part in enumerate(work):
            left = sum(each.task.seconds for each in work[number:])
            start.observer.task(Progress(number + 1, len(work), part.task, left))
            _one(made, part, start, outcome)
            if number == 0 and not outcome.results:
                raise CannotWork(_nothing(made, outcome))
            if start.watch:
                start.watch.look()
    except KeyboardInterrupt:
        outcome.stopped(part.task for part in work)
    finally:
        start.observer.end()
    return outcome


def _nothing(made: Experiment, outcome: Outcome) -> str:
    hosts = made.job_hosts.hosts.names
    why = outcome.missing[0].why if outcome.missing else "no rank printed a result"
    silent = next((name for name in hosts if name in why), hosts[-1] if hosts else "")
    return f"nothing was measured: {why}" + (f"; see that {' and '.join(hosts)} answer: ssh {silent} true" if hosts[1:] else "")


def _one(made: Experiment, part: _Part, start: _Start, outcome: Outcome) -> None:
    leg, placement, task = part
    launch = made.launch(leg, placement, start.program)
    command = [start.program, *leg.arguments(made.sizes, made.repeats)]
    heard = heard_from(start.host, launch, command, start.folder, seconds=task.seconds)
    version = f" {made.choice.version}" if made.choice.version else ""
    hosts = made.job_hosts.hosts.names or (os.uname().nodename,)
    seat = RankPlan(hosts, planned_ranks(placement), made.machine, f"{made.choice.launcher.name}{version}", made.asked)
    try:
        found, why = read_network(leg, task, seat, heard.lines), heard.why
    except BadInput as error:
        found, why = (), str(error)
    outcome.results += found
    if why is not None and len(found) < len(task.variants):
        outcome.lacks(task, why)
    elif not found:
        outcome.lacks(task, "the ranks ended without a result")
