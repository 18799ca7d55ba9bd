"""The lines that show what a fabric or a memory gives, place by place, as dell-naples-2018 has them; messages measured so."""

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.whatif import runs_in
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.bind import article, is_up, launch_or_wrap, unusable, without_adapters, without_gpus
from advisor.jobs.launcher import Choice, Launch, LaunchRequest, choose, is_foreign
from advisor.jobs.launchers import wrapper
from advisor.jobs.observe import planned_ranks
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Placement
from advisor.jobs.results import RankPlan, read_network
from advisor.jobs.started.folder import File, located, write_folder
from advisor.jobs.started.hosts import (
    Allocated,
    HostOptions,
    JobHosts,
    JobOptions,
    LauncherOptions,
    host_notes,
    hosts_of_job,
    one_machine,
    placeholders,
    shape,
)
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Locality
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer, Progress
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import Topology
from advisor.machine.units import count as counted
from advisor.measure.build import (
    Builder,
    Compiler,
    LaunchOutput,
    PrebuiltPrograms,
    cache_folder,
    cpu_of,
    find_blas,
    find_mpicc,
    flags_for,
    launch_output,
    mpi_recipe,
)
from advisor.measure.measurement import Measurements, Task
from advisor.measure.plan import FEW, MESSAGE_REPEATS, MESSAGE_SIZES, MESSAGES, NetworkRun, Per, network_runs, sizes_of
from advisor.measure.resources import Resources
from advisor.measure.run import BusyWatch, Outcome, conditions
from advisor.measure.task import Measured, Setup, before_setup, gathered, must_be_alike, must_be_of_machine, sizes_argument
from advisor.paths import kernels
from advisor.show.commandline import BenchmarkStep, benchmark_document

_PORTABLE = ("-std=c11", "-O2", "-pthread", "-fdiagnostics-color=never")


def chosen_for(job_hosts: JobHosts, options: LauncherOptions) -> tuple[Choice, str]:
    """Return the launcher of a job's hosts, and a note on it."""
    choice = choose(job_hosts.machines[0].tools, options.launcher, options.version, job_hosts.hosts.scheduler)
    version = f"version {choice.version}" if choice.version else "version unknown"
    return choice, f"launcher {choice.launcher.name}: {choice.why}; {version}"


def placed_ranks(options: JobOptions, job_hosts: JobHosts, allowed: CpuSet | None) -> Placement:
    """Return where the ranks of a kernel are, which uses no devices of its own."""
    return without_adapters(without_gpus(place(shape(options, job_hosts, []), job_hosts.machines, allowed=allowed)))


def launch_of(
    choice: Choice, placement: Placement, hosts: Allocated, command: tuple[str, ...], environment: Mapping[str, str], **more: Any
) -> Launch:
    """Return the line of a command; ``more`` is what else the launcher is asked for."""
    scheduler = hosts.scheduler_of(choice.launcher.name)
    wish = LaunchRequest(command, choice.version, **{"scheduler": scheduler, "environment": environment, **more})
    return launch_or_wrap(choice, placement, wish)[0]


def mpi_program(
    host: LiveHost,
    machine: Machine,
    kernel: str,
    launcher: str,
    *,
    folder: Path | None,
    blas: str | None = None,
    portable: bool = False,
    observer: Observer = SILENT,
) -> tuple[str, Compiler | None, str | None]:
    """Return a kernel's program, and the compiler and flags where it was built here.

    ``launcher`` is the first word of its line; ``blas`` is what to link, '' for what is found, None where none is needed.
    What sends messages only is built for every processor of the architecture, and the rest where it is to be ``portable``: the
    other host may have another.
    """
    if folder is not None:
        return PrebuiltPrograms(folder.absolute()).program(kernel), None, None
    compiler = find_mpicc(host, find(launcher), os.environ.get("MPICC"))
    library = find_blas(host, compiler, blas or None) if blas is not None else None
    native = library is not None and not portable
    recipe = mpi_recipe(kernels(), compiler, flags_for(machine) if native else _PORTABLE, library)
    cpu = cpu_of(machine) if native else os.uname().machine
    program = Builder(host, recipe, cpu, cache_folder(os.environ), observer.say).program(kernel)
    return program, compiler, " ".join((*recipe.flags, *recipe.libraries))


def program_or_name(
    machine: Machine, kernel: str, launcher: str, *, folder: Path | None, blas: str | None = None, observer: Observer = SILENT
) -> tuple[str, tuple[str, ...]]:
    """Return a kernel as lines that are only printed name it: as it is kept here, else its plain name with a note why."""
    try:
        return mpi_program(LiveHost(), machine, kernel, launcher, folder=folder, blas=blas, observer=observer)[0], ()
    except CannotWork as error:
        if folder is not None:
            raise
        return kernel, (f"{kernel} is a placeholder for the program, which could not be built: {error}",)


@contextmanager
def running_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for rankfiles; it lies in the home, which the other host sees, too, where a rank must read it."""
    parent = cache_folder(os.environ).parent
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
            yield Path(name)
    except OSError as error:
        why = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{parent}: {why}; set XDG_CACHE_HOME to another folder") from error


def prepared(launch: Launch, command: Sequence[str], folder: Path, more: Mapping[str, File] | None = None) -> Launch:
    """Return a line as it can be started: its files, and more, are written into a folder, and it names them there."""
    files = {name: File(lines(), program=True) for name, lines in launch.files.items()} | dict(more or {})
    if files:
        write_folder(folder, files)
    return located(launch, str(folder), list(command))


def heard_from(
    host: LiveHost,
    launch: Launch,
    command: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    more: Mapping[str, File] | None = None,
) -> LaunchOutput:
    """Start a line with its files, and more, in a folder; return what its ranks printed."""
    put = prepared(launch, command, folder, more)
    return launch_output(host, put.argv, put.environment, seconds)


PROGRAMS = {
    "mbw_mr": "osu_mbw_mr",
    "latency": "osu_latency",
    "bw": "osu_bw",
    "bibw": "osu_bibw",
    "stream": "stream",
}
_PAIRS = ("latency", "bw", "bibw")
"""Benchmarks of two ranks."""


class Part(NamedTuple):
    """A part of the machine that a line measures."""

    name: str
    cpus: CpuSet
    nodes: tuple[int, ...]
    """The NUMA nodes that it is; () if it is none or part of one."""


class Lines(NamedTuple):
    """Lines to paste, and what to know of them."""

    steps: tuple[BenchmarkStep, ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the document of what only prints lines: --benchmark, and --dry-run of measure network and measure hpl."""
        return benchmark_document(self.steps, self.notes)


def benchmark_lines(
    host_options: HostOptions,
    job_options: JobOptions,
    launcher_options: LauncherOptions,
    benchmark: tuple[str, str | None],
    *,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    observer: Observer = SILENT,
) -> Lines:
    """Return the lines of a benchmark, one for each part of the machine, and what to know of them."""
    name, per = benchmark
    words = tuple(command) or (PROGRAMS[name],)
    if name == "stream":
        if job_options.ranks_per or host_options.hosts or host_options.hostfile or host_options.nodes:
            raise BadValue("stream runs on one host with threads", cure="omit hosts and ranks")
        topology = _topology(machine := one_machine(host_options, observer))
        return Lines(tuple(_stream(topology, part, words) for part in _parts(machine, topology, per or "numa")), ())
    job_hosts = hosts_of_job(host_options, words, environment, observer)
    if not job_hosts.hosts.names and len(job_hosts.machines) == 1:  # they have no names yet: stand-ins
        job_hosts = hosts_of_job(replace(host_options, nodes=2), words, environment, observer)
    names, chosen = job_hosts.hosts.names, host_options.hosts or host_options.hostfile or host_options.nodes
    if len(names) < 2 or (len(names) > 2 and chosen):
        raise BadValue(f"the test needs two hosts, but {len(names)} {'is' if len(names) == 1 else 'are'} given", cure="give two")
    job_hosts = JobHosts(replace(job_hosts.hosts, names=names[:2]), job_hosts.machines[:2])
    if job_options.ranks_per and per:
        raise BadValue("--per writes one line per part, --ranks-per a single line for all parts", cure="give one of the two")
    machine = job_hosts.machines[0]
    every = [hca.name for hca in machine.hcas or ()]
    if job_options.near is not None and job_options.near not in every:
        raise BadValue(f"no adapter is called {job_options.near[:64]}", cure=f"available: {', '.join(every) or 'none'}")
    hca = next((hca for hca in ([job_options.near] if job_options.near else every) if unusable([hca], [machine]) is None), None)
    choice, note = chosen_for(job_hosts, launcher_options)
    notes = [note, *job_hosts.hosts.notes]
    if hca is None:
        notes.append("no adapter is set: none has an active port, or this machine has no UCX")
    elif machine.tools is None:
        notes.append("UCX is assumed: the MPI library and UCX of this machine are unknown")
    steps = tuple(_lines(_Bench(name, job_hosts, launcher_options, words, hca, choice), job_options, per))
    return Lines(steps, (*notes, *files_of(steps)))


def files_of(steps: Sequence[BenchmarkStep]) -> Iterator[str]:
    """Yield a note on the files that lines need."""
    names = [name for step in steps for name in step.files]
    if names:
        them = "it" if len(names) == 1 else "them"
        yield f"the lines need {', '.join(names)}; -o DIR writes {them}"


@dataclass(frozen=True)
class _Bench:
    name: str
    job_hosts: JobHosts
    options: LauncherOptions
    command: tuple[str, ...]
    hca: str | None
    choice: Choice

    def launched(self, job: JobShape, allowed: CpuSet | None = None, pin: tuple[str, ...] = ()) -> Launch:
        """Return the line of a job on some CPUs; ``pin`` binds all its ranks alike, instead of the launcher."""
        choice, machines = self.choice, self.job_hosts.machines
        placed = without_gpus(place(job, machines, allowed=allowed))
        plan = placed if job.strategy == "hca-near" else without_adapters(placed)
        known = {name: value for name, value in article(self.hca, machines).items() if not is_foreign(name, choice.launcher)}
        asked = {"exact": self.options.exact, "report": self.options.report, "wrap": bool(pin)}
        launch = launch_of(choice, plan, self.job_hosts.hosts, self.command, known, **asked)
        if pin:  # numactl stands where it has the wrapper
            at, files = launch.argv.index(wrapper.FILE), dict(launch.files)
            del files[wrapper.FILE]
            launch = replace(launch, argv=(*launch.argv[: at - 1], *pin, *launch.argv[at + 1 :]), files=files, avoided=())
        return spelled(launch)


def _lines(bench: _Bench, options: JobOptions, per: str | None) -> Iterator[BenchmarkStep]:
    pair, machine = bench.name in _PAIRS, bench.job_hosts.machines[0]
    job = shape(replace(options, ranks_per_node=None if options.ranks_per else 1, ranks=None), bench.job_hosts, [])
    home = next((hca.locality for hca in machine.hcas or () if hca.name == bench.hca and hca.locality), Locality(numa_nodes=()))
    if options.ranks_per:
        what, each = options.ranks_per
        yield step_of(f"{counted(each, 'rank')} in each {what} of both hosts", bench.launched(job), "")
    elif per is None and pair:
        near = bench.hca if home.numa_nodes else None
        job = job.but(strategy="hca-near" if near else "compact", near=near)
        where = f"beside {near}" if near else "on the first core"
        yield step_of(f"one rank on each host, {where}", bench.launched(job), "")
    else:
        topology = _topology(machine)
        for part in _parts(machine, topology, per or "numa"):
            many = 1 if pair else _cores(topology, part.cpus)
            job = job.but(strategy="compact", near=None, ranks_per_node=many)
            pin = ("numactl", f"--cpunodebind={part.nodes[0]}") if len(part.nodes) == 1 and not bench.options.exact else ()
            local = f" ({bench.hca} {'may be' if home.one_of else 'is'} here)" if {*home.numa_nodes} & {*part.nodes} else ""
            about = f"{part.name}{local}: {counted(many, 'rank')} on each host"
            yield step_of(about, bench.launched(job, part.cpus, pin), part.name)


def step_of(about: str, launch: Launch, part: str) -> BenchmarkStep:
    """Return a line; its files get names of their own, for there are others beside them."""
    tail = "-" + re.sub(r"[^a-z0-9]", "", part.lower().replace("numa node", "numa")) if part else ""
    names = {name: re.sub(r"(\.[^.]*)?$", rf"{tail}\1", name, count=1) for name in launch.files}
    argv = tuple(_with_file(word, names) for word in launch.argv)
    variables = {name: names.get(value, value) for name, value in launch.environment.items()}
    files = {names[name]: lines for name, lines in launch.files.items()}
    return BenchmarkStep(about, argv, variables, files, tuple(f"{each.form}: {each.reason}" for each in launch.avoided))


def _with_file(word: str, names: Mapping[str, str]) -> str:
    if word in names:
        return names[word]
    match = re.search(r"(?:^|:)file=([^:=]+)", word)
    return word[: match.start(1)] + names[match[1]] + word[match.end(1) :] if match and match[1] in names else word


def spelled(launch: Launch) -> Launch:
    """Return a line with Open MPI's own parameters as options rather than as variables."""
    words: list[str] = []
    for word in launch.argv:
        name, equals, value = word.partition("=")
        if equals and name.startswith("OMPI_MCA_") and words[-1:] == ["-x"]:
            words[-1:] = ["--mca", name.removeprefix("OMPI_MCA_"), value]
        else:
            words.append(word)
    return replace(launch, argv=tuple(words))


def _stream(topology: Topology, part: Part, command: tuple[str, ...]) -> BenchmarkStep:
    """Return the line that measures the memory of a part with all its cores."""
    count = _cores(topology, part.cpus)
    filled = [str(node.os_index) for node in topology.nodes if node.os_index in part.nodes and node.memory != 0]
    where = f"--cpunodebind={','.join(map(str, part.nodes))}" if part.nodes else f"--physcpubind={part.cpus}"
    memory = f"--membind={','.join(filled)}" if filled else "--localalloc"
    threads = ("env", f"OMP_NUM_THREADS={count}", "OMP_PLACES=cores", "OMP_PROC_BIND=close")
    return BenchmarkStep(f"{part.name}: {counted(count, 'thread')}", (*threads, "numactl", where, memory, *command), {}, {}, ())


def _parts(machine: Machine, topology: Topology, per: str) -> list[Part]:
    """Return the parts to measure, of what this process may use."""
    inside = topology.inside
    if per == "numa":
        return [Part(f"NUMA node {node.os_index}", node.cpuset, (node.os_index,)) for node in inside.cpu_nodes]
    if per == "node":
        return [Part("whole node", inside.pus, tuple(node.os_index for node in inside.cpu_nodes))]
    parts = []
    for number, cpus in enumerate(cpus & inside.pus for cpus in find_sockets(machine, topology)[0]):
        nodes = [node for node in inside.cpu_nodes if node.cpuset & cpus]
        whole = all(node.cpuset <= cpus for node in nodes)
        if cpus:
            parts.append(Part(f"socket {number}", cpus, tuple(node.os_index for node in nodes) if whole else ()))
    return parts


def _topology(machine: Machine) -> Topology:
    if machine.topology is None:
        raise BadValue("this input has no topology", cure="read it from lstopo XML, a capture or the machine itself")
    return machine.topology


def _cores(topology: Topology, cpus: CpuSet) -> int:
    return sum(1 for core in topology.inside.cores if core.cpuset & cpus) or len(cpus)


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
        notes = ("pairs inside one host use shared memory, not the network; name two hosts with --hosts A,B",)
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
        raise BadValue(f"messages need two hosts, but there are {len(names)}", cure="name two: --hosts A,B")
    note = f"the first two of the job's {len(names)} hosts: {names[0]} and {names[1]}"
    hosts = replace(job_hosts.hosts, names=names[:2], notes=(*job_hosts.hosts.notes, note))
    return JobHosts(hosts, job_hosts.machines[:2])


def adapters(job_hosts: JobHosts, wanted: str | None) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """Return the adapters to measure in turn, whether UCX is given them, and why not others."""
    machine = job_hosts.machines[0]
    names = [hca.name for hca in machine.hcas or ()]
    if wanted is not None and wanted not in names:
        raise BadValue(f"no adapter is called {wanted[:64]}", cure=f"available: {', '.join(names) or 'none'}")
    if not names:
        return (), False, ("this machine has no HCA: messages use the MPI library's default, usually TCP",)
    chosen = [wanted] if wanted else names
    reasons = {name: unusable([name], job_hosts.machines) for name in chosen}
    notes = [f"{name} is not selected: {why}" for name, why in reasons.items() if why]
    if good := tuple(name for name in chosen if reasons[name] is None):
        notes += ["UCX is assumed: the MPI library and UCX of this machine are unknown"] if machine.tools is None else []
        return good, True, tuple(notes)
    # The one adapter that is up; none where several are, for no one knows which is taken.
    active = tuple(hca.name for hca in machine.hcas or () if hca.name in chosen and is_up(hca))
    only = active if len(active) == 1 else ()
    marked = (f"{name} is recorded anyway: no other adapter is active" for name in only)
    return only, False, (*notes, "the MPI library chooses the message path", *marked)


def fitting_runs(place: Path, made: Experiment) -> list[Measurements]:
    """Return earlier runs; refuse them before anything is measured where the new one would be of other things."""
    before = runs_in(place)
    parts = {(leg.part, leg.index) for leg in made.legs if leg.purpose == "network"}
    if len(parts) != 1 and not any(part == "machine" for part, _ in parts):
        raise BadValue("--before compares only runs that use all cores", cure="omit --per, or use --per node")
    hcas = tuple(dict.fromkeys(leg.hca or "" for leg in made.legs))
    after = Setup(hosts=",".join(made.names), launcher=made.launcher, hcas=hcas, sizes=sizes_argument(made.sizes))
    for run in before:
        must_be_of_machine(run, made.machine, str(place))
        must_be_alike(before_setup(run), after)
    return before


_DISTANCES = {
    "local": "is here",
    "same-socket": "is on another NUMA node of this socket",
    "other-socket": "is on the other socket",
}


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
    """Measure message rates and latency between two hosts, near the network adapter and far from it."""
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
    return f"nothing was measured: {why}" + (f"; check that {' and '.join(hosts)} answer: ssh {silent} true" if hosts[1:] else "")


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
