"""Measures messages between two hosts: plans the experiment from both machines, runs it leg by leg, believes what is proved."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from advisor.advice.whatif import runs_in
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.bind import article, is_up, unusable
from advisor.jobs.launcher import Choice, Launch, is_foreign
from advisor.jobs.observe import planned_ranks
from advisor.jobs.placement import Placement
from advisor.jobs.results import RankPlan, read_network
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
    spelled,
    step_of,
)
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, host_notes, hosts_of_job, placeholders
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.measure.measurement import Measurements, Task
from advisor.measure.plan import FEW, MESSAGE_REPEATS, MESSAGE_SIZES, MESSAGES, NetworkRun, Per, network_runs, sizes_of
from advisor.measure.resources import Resources
from advisor.measure.run import BusyWatch, Outcome, Progress, conditions
from advisor.measure.task import Measured, Setup, before_setup, gathered, must_be_alike, must_be_of_machine, sizes_argument


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
    def names(self) -> tuple[str, ...]:
        """The hosts' names; this one's where none is given."""
        return self.job_hosts.hosts.names or (os.uname().nodename,)

    @property
    def launcher(self) -> str:
        """The launcher, with its version where it is known."""
        return " ".join(filter(None, (self.choice.launcher.name, self.choice.version)))

    @property
    def sizes(self) -> str:
        """The sizes of messages, as the kernel takes them."""
        return sizes_of(self.options.sizes) if self.options.sizes else MESSAGE_SIZES

    @property
    def repeats(self) -> int:
        """How often each thing is measured."""
        return self.options.repeats or MESSAGE_REPEATS

    def placement(self, leg: NetworkRun) -> Placement:
        """Return where the ranks of a leg are."""
        each = None if leg.ranks else ("numa", FEW)
        wanted = JobOptions(ranks_per_node=leg.ranks, ranks_per=each, threads=1, strategy="spread-numa" if each else "compact")
        return placed_ranks(wanted, self.job_hosts, leg.cpus if leg.cpus is not None else self.job_hosts.affinity)

    def command(self, leg: NetworkRun, program: str) -> tuple[str, ...]:
        """Return what each rank of a leg runs."""
        return (program, *leg.arguments(self.sizes, self.repeats))

    def launch(self, leg: NetworkRun, placement: Placement, program: str) -> Launch:
        """Return the line of a leg."""
        hosts, exact = self.job_hosts.hosts, self.launcher_options.exact
        return spelled(launch_of(self.choice, placement, hosts, self.command(leg, program), self._settings(leg.hca), exact=exact))

    def _settings(self, hca: str | None) -> Mapping[str, str]:
        """Return what dell-naples-2018 sets, for an adapter that UCX can be given; nothing without one."""
        if hca is None or not self.asked:
            return {}
        machines = self.job_hosts.machines
        kinds = {each.kind for machine in machines for each in machine.hcas or () if each.name == hca}
        soft = any(kind is not None and not kind.startswith("MT") for kind in kinds)
        return {
            name: value
            for name, value in article(hca, machines).items()
            if not is_foreign(name, self.choice.launcher) and not (soft and name == "UCX_TLS")
        }

    def task(self, leg: NetworkRun, placement: Placement) -> Task:
        """Return a leg as a task: on the CPUs that its ranks have on the first host."""
        first = next(host for host in placement.hosts if host.ranks)
        slots = placement.plans[first.plan].slots[: first.ranks]
        return leg.task(self.sizes, self.repeats, sorted({slot.cpus.first or 0 for slot in slots}))

    def rank_plan(self, placement: Placement) -> RankPlan:
        """Return what the ranks of a placement are held against."""
        return RankPlan(self.names, planned_ranks(placement), self.machine, self.launcher, self.asked)


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
    choice, note = chosen_for(job_hosts, launcher_options)
    hcas, asked, notes = adapters(job_hosts, options.hca)
    hosts = max(1, len(job_hosts.hosts.names))
    legs = network_runs(job_hosts.machines, hcas if hosts > 1 else (), options.per, hosts=hosts)
    if hosts == 1:
        notes = ("pairs inside one host: shared memory, no network; name two hosts with --hosts A,B",)
    all_notes = (note, *host_notes(job_hosts.hosts), *notes)
    made = Experiment(job_hosts, launcher_options, choice, options, legs, all_notes, asked)
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
    job_hosts = hosts_of_job(host_options, (MESSAGES,), environment, observer)
    names = job_hosts.hosts.names
    if not names and host_options.sources and dry:
        return replace(job_hosts, hosts=placeholders(2, (MESSAGES,)), affinity=None)
    if len(names) <= 2:
        return job_hosts
    if host_options.hosts or host_options.hostfile:
        raise BadValue(f"messages go between two hosts, and there are {len(names)}", cure="name two: --hosts A,B")
    note = f"the first two of the job's {len(names)} hosts: {names[0]} and {names[1]}"
    hosts = replace(job_hosts.hosts, names=names[:2], notes=(*job_hosts.hosts.notes, note))
    return JobHosts(hosts, job_hosts.machines[:2])


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
    notes = [f"{name} is not asked for: {why}" for name, why in reasons.items() if why]
    if good := tuple(name for name in chosen if reasons[name] is None):
        notes += ["UCX is assumed: the MPI and UCX of this machine are unknown"] if machine.tools is None else []
        return good, True, tuple(notes)
    # The one adapter that is up; none where several are, for no one knows which is taken.
    active = tuple(hca.name for hca in machine.hcas or () if hca.name in chosen and is_up(hca))
    only = active if len(active) == 1 else ()
    marked = (f"{name} is marked all the same: no other adapter is active" for name in only)
    return only, False, (*notes, "the MPI chooses the path of messages", *marked)


def fitting_runs(place: Path, made: Experiment) -> list[Measurements]:
    """Return earlier runs; refuse them before anything is measured where the new one would be of other things."""
    before = runs_in(place)
    parts = {(leg.part, leg.index) for leg in made.legs if leg.purpose == "network"}
    if len(parts) != 1 and not any(part == "machine" for part, _ in parts):
        raise BadValue("--before compares what all cores send", cure="leave --per out, or take --per node")
    hcas = tuple(dict.fromkeys(leg.hca or "" for leg in made.legs))
    after = Setup(hosts=",".join(made.names), launcher=made.launcher, hcas=hcas, sizes=sizes_argument(made.sizes))
    for run in before:
        must_be_of_machine(run, made.machine, str(place))
        must_be_alike(before_setup(run), after)
    return before


_DISTANCES = {"local": "is here", "same-socket": "is on another node of this socket", "other-socket": "is on the other socket"}


def network_lines(made: Experiment, *, folder_given: bool = False, observer: Observer = SILENT) -> Lines:
    """Return every line, ready to paste."""
    first = made.launch(made.legs[0], made.placement(made.legs[0]), MESSAGES).argv[0]
    program, notes = program_or_name(made.machine, MESSAGES, first, folder=made.options.kernels, observer=observer)
    steps = []
    for leg in made.legs:
        launch = made.launch(leg, made.placement(leg), program)
        near = f", {leg.hca} {_DISTANCES[leg.distance]}" if leg.hca and leg.distance else f", {leg.hca}" if leg.hca else ""
        steps.append(step_of(f"{leg.about}{near}: {leg.tests}", launch, f"{leg.label}{leg.hca or ''}"))
    return Lines(tuple(steps), (*made.notes, *notes, *(() if folder_given else files_of(steps))))


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


class _Part(NamedTuple):
    leg: NetworkRun
    placement: Placement
    task: Task


def measure(made: Experiment, observer: Observer = SILENT) -> Measured:
    """Measure leg after leg, of which the first has to bring something; Ctrl-C ends every rank and keeps what is done."""
    host, outcome = LiveHost(), Outcome()
    work = [_Part(leg, place, made.task(leg, place)) for leg in made.legs for place in (made.placement(leg),)]
    first = made.launch(work[0].leg, work[0].placement, MESSAGES).argv[0]
    watch = BusyWatch(host, made.machine, Resources(made.machine)) if made.job_hosts.is_here else None
    if watch:
        watch.must_be_idle(busy_ok=made.options.busy_ok)
    program, compiler, flags = mpi_program(host, made.machine, MESSAGES, first, folder=made.options.kernels, observer=observer)
    begun, when = time.monotonic(), datetime.now().astimezone().isoformat(timespec="seconds")
    with running_folder("network-") as folder:
        try:
            for number, part in enumerate(work):
                left = sum(each.task.seconds for each in work[number:])
                observer.task(Progress(number + 1, len(work), part.task, left))
                _one(made, part, (host, program, folder), outcome)
                if number == 0 and not outcome.results:
                    raise CannotWork(_nothing(made, outcome))
                if watch:
                    watch.look()
        except KeyboardInterrupt:
            outcome.stopped(part.task for part in work)
        finally:
            observer.end()
    busy, version = watch.words() if watch else None, compiler.version if compiler else None
    under = conditions(made.machine, when, busy, seconds=time.monotonic() - begun, compiler=version, flags=flags)
    return Measured(gathered(made.machine, under, outcome.results, outcome.missing), outcome.interrupted, made.machine)


def _nothing(made: Experiment, outcome: Outcome) -> str:
    hosts = made.job_hosts.hosts.names
    why = outcome.missing[0].why if outcome.missing else "no rank printed a result"
    silent = next((name for name in hosts if name in why), hosts[-1] if hosts else "")
    return f"nothing was measured: {why}" + (f"; see that {' and '.join(hosts)} answer: ssh {silent} true" if hosts[1:] else "")


def _one(made: Experiment, part: _Part, start: tuple[LiveHost, str, Path], outcome: Outcome) -> None:
    leg, placement, task = part
    host, program, folder = start
    launch, command = made.launch(leg, placement, program), made.command(leg, program)
    heard = heard_from(host, launch, command, folder, seconds=task.seconds)
    try:
        results, why = read_network(leg, task, made.rank_plan(placement), heard.lines), heard.why
    except BadInput as error:
        results, why = (), str(error)
    outcome.results += results
    if why is not None and len(results) < len(task.variants):
        outcome.lacks(task, why)
    elif not results:
        outcome.lacks(task, "the ranks exited without a result")
