"""The lines that show what a fabric or a memory gives, place by place: those of dell-naples-2018, for any machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from advisor.errors import BadValue
from advisor.jobs.bind import launch_or_wrap
from advisor.jobs.environment import article, unusable, without_adapters, without_gpus
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import wrapper
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.jobs.registry import Choice, choose, is_foreign
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, hosts_of_job, one_machine, shape
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Locality
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import Topology
from advisor.show.commandline import BenchmarkStep

PROGRAMS: Final = {
    "mbw_mr": "osu_mbw_mr",
    "latency": "osu_latency",
    "bw": "osu_bw",
    "bibw": "osu_bibw",
    "stream": "stream",
}
_PAIRS: Final = ("latency", "bw", "bibw")
"""Benchmarks of two ranks."""


@dataclass(frozen=True)
class Part:
    """A part of the machine that a line measures."""

    name: str
    cpus: CpuSet
    nodes: tuple[int, ...]
    """The NUMA nodes that it is; () where it is none or part of one."""


class Lines(NamedTuple):
    """Lines to paste, and what to know of them."""

    steps: tuple[BenchmarkStep, ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the document of what only prints lines: --benchmark, and --dry-run of measure network and measure hpl."""
        from advisor.show.commandline import benchmark_document

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
            raise BadValue("stream runs on one host, with threads", cure="leave hosts and ranks out")
        machine = one_machine(host_options, observer)
        return Lines(tuple(_stream(machine, part, words) for part in _parts(machine, per or "numa")), ())
    job_hosts = _two(host_options, words, environment, observer)
    if job_options.ranks_per and per:
        raise BadValue("--per makes a line for each part, --ranks-per one for all of them", cure="give one of the two")
    bench = _Bench(name, job_hosts, launcher_options, words, _adapter(job_hosts.machines[0], job_options.near))
    made = tuple(_lines(bench, job_options, per))
    return Lines(made, (*bench.notes(), *files_of(made)))


def files_of(made: Sequence[BenchmarkStep]) -> Iterator[str]:
    """Yield a note on the files that lines need."""
    names = [name for step in made for name in step.files]
    if names:
        them = "it" if len(names) == 1 else "them"
        yield f"{', '.join(names)}: the lines need {them}; -o DIR writes {them}"


def _two(
    host_options: HostOptions, command: Sequence[str], environment: Mapping[str, str] | None, observer: Observer
) -> JobHosts:
    """Return the two hosts, by stand-ins where they have no names yet."""
    job_hosts = hosts_of_job(host_options, command, environment, observer)
    if not job_hosts.hosts.names and len(job_hosts.machines) == 1:
        job_hosts = hosts_of_job(replace(host_options, nodes=2), command, environment, observer)
    names, chosen = job_hosts.hosts.names, host_options.hosts or host_options.hostfile or host_options.nodes
    if len(names) < 2 or (len(names) > 2 and chosen):
        raise BadValue(f"it runs between two hosts, and there {'is' if len(names) == 1 else 'are'} {len(names)}", cure="name two")
    return JobHosts(replace(job_hosts.hosts, names=names[:2]), job_hosts.machines[:2], None)


@dataclass(frozen=True)
class _Bench:
    name: str
    job_hosts: JobHosts
    launcher_options: LauncherOptions
    command: tuple[str, ...]
    hca: str | None

    def launched(self, job: JobShape, allowed: CpuSet | None, pin: tuple[str, ...] = ()) -> Launch:
        """Return the line of a job on some CPUs; ``pin`` binds all its ranks alike, instead of the launcher."""
        job_hosts, launcher_options = self.job_hosts, self.launcher_options
        placed = without_gpus(place(job, job_hosts.machines, allowed=allowed))
        plan = placed if job.strategy == "hca-near" else without_adapters(placed)
        choice = self._choice()
        scheduler = job_hosts.hosts.scheduler_of(choice.launcher.name)
        wish = LaunchRequest(
            self.command,
            choice.version,
            launcher_options.exact,
            launcher_options.report,
            scheduler,
            self._settings(choice),
            bool(pin),
        )
        launch, _ = launch_or_wrap(choice, plan, wish)
        return spelled(_pinned(launch, pin) if pin else launch)

    def notes(self) -> Iterator[str]:
        """Yield what to know of all lines."""
        choice = self._choice()
        yield f"launcher: {choice.launcher.name}, {choice.version or 'version not known'}: {choice.why}"
        yield from self.job_hosts.hosts.notes
        if self.hca is None:
            yield "no adapter is set: none has an active port, or no UCX is on this machine"
        elif self.job_hosts.machines[0].tools is None:
            yield "UCX is assumed: which MPI and UCX the machine has is not known"

    def _choice(self) -> Choice:
        job_hosts, launcher_options = self.job_hosts, self.launcher_options
        return choose(job_hosts.machines[0].tools, launcher_options.launcher, launcher_options.version, job_hosts.hosts.scheduler)

    def _settings(self, choice: Choice) -> dict[str, str]:
        known = article(self.hca, self.job_hosts.machines)
        return {name: value for name, value in known.items() if not is_foreign(name, choice.launcher)}


def _lines(bench: _Bench, job_options: JobOptions, per: str | None) -> Iterator[BenchmarkStep]:
    pair = bench.name in _PAIRS
    job = shape(replace(job_options, ranks_per_node=None if job_options.ranks_per else 1, ranks=None), bench.job_hosts, [])
    machine = bench.job_hosts.machines[0]
    if job_options.ranks_per:
        what, each = job_options.ranks_per
        yield step_of(f"{each} rank{'s' * (each > 1)} in each {what} of both hosts", bench.launched(job, None), "")
        return
    if per is None and pair:
        near = _home(machine, bench.hca).numa_nodes != ()
        job = job.model_copy(update={"strategy": "hca-near" if near else "compact", "near": bench.hca if near else None})
        where = f"beside {bench.hca}" if near else "on the first core"
        yield step_of(f"one rank on each host, {where}", bench.launched(job, None), "")
        return
    home = _home(machine, bench.hca)
    for part in _parts(machine, per or "numa"):
        count = 1 if pair else _cores(machine, part.cpus)
        job = job.model_copy(update={"strategy": "compact", "near": None, "ranks_per_node": count})
        pin = ("numactl", f"--cpunodebind={part.nodes[0]}") if len(part.nodes) == 1 and not bench.launcher_options.exact else ()
        local = f" ({bench.hca} {'may be' if home.one_of else 'is'} here)" if set(home.numa_nodes) & set(part.nodes) else ""
        about = f"{part.name}{local}: {count} rank{'s' * (count > 1)} on each host"
        yield step_of(about, bench.launched(job, part.cpus, pin), part.name)


def step_of(about: str, launch: Launch, part: str) -> BenchmarkStep:
    """Return a line; its files get names of their own, for there are others beside them."""
    tail = "-" + re.sub(r"[^a-z0-9]", "", part.lower().replace("numa node", "numa")) if part else ""
    names = {name: _renamed(name, tail) for name in launch.files}
    argv = tuple(_with_file(word, names) for word in launch.argv)
    variables = {name: names.get(value, value) for name, value in launch.environment.items()}
    files = {names[name]: lines for name, lines in launch.files.items()}
    return BenchmarkStep(about, argv, variables, files, tuple(f"{each.form}: {each.reason}" for each in launch.avoided))


def _renamed(name: str, tail: str) -> str:
    stem, dot, end = name.rpartition(".")
    return f"{stem}{tail}.{end}" if dot else f"{name}{tail}"


def _with_file(word: str, names: Mapping[str, str]) -> str:
    if word in names:
        return names[word]
    match = re.search(r"(?:^|:)file=([^:=]+)", word)
    return word[: match.start(1)] + names[match[1]] + word[match.end(1) :] if match and match[1] in names else word


def _pinned(launch: Launch, pin: tuple[str, ...]) -> Launch:
    """Return a line with numactl where it has the wrapper."""
    at = launch.argv.index(wrapper.FILE)
    argv = (*launch.argv[: at - 1], *pin, *launch.argv[at + 1 :])
    return replace(launch, argv=argv, files={name: f for name, f in launch.files.items() if name != wrapper.FILE}, avoided=())


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


def _stream(machine: Machine, part: Part, command: tuple[str, ...]) -> BenchmarkStep:
    """Return the line that measures the memory of a part with all its cores."""
    count = _cores(machine, part.cpus)
    topology = _topology(machine)
    filled = [node.os_index for node in topology.nodes if node.os_index in part.nodes and node.memory != 0]
    nodes = ",".join(map(str, part.nodes))
    where = f"--cpunodebind={nodes}" if part.nodes else f"--physcpubind={part.cpus}"
    memory = f"--membind={','.join(map(str, filled))}" if filled else "--localalloc"
    threads = ("env", f"OMP_NUM_THREADS={count}", "OMP_PLACES=cores", "OMP_PROC_BIND=close")
    about = f"{part.name}: {count} thread{'s' * (count > 1)}"
    return BenchmarkStep(about, (*threads, "numactl", where, memory, *command), {}, {}, ())


def _parts(machine: Machine, per: str) -> list[Part]:
    """Return the parts to measure, of what this process may use."""
    topology = _topology(machine)
    inside = topology.inside
    if per == "numa":
        return [Part(f"NUMA node {node.os_index}", node.cpuset, (node.os_index,)) for node in inside.cpu_nodes]
    if per == "node":
        return [Part("whole node", inside.pus, tuple(node.os_index for node in inside.cpu_nodes))]
    sockets = [cpus & inside.pus for cpus in find_sockets(machine, topology)[0]]
    return [Part(f"socket {number}", cpus, _whole(inside, cpus)) for number, cpus in enumerate(sockets) if cpus]


def _whole(inside: Topology, cpus: CpuSet) -> tuple[int, ...]:
    """Return the NUMA nodes that make up some CPUs, () where they do not."""
    nodes = [node for node in inside.cpu_nodes if node.cpuset & cpus]
    return tuple(node.os_index for node in nodes) if all(node.cpuset <= cpus for node in nodes) else ()


def _topology(machine: Machine) -> Topology:
    if machine.topology is None:
        raise BadValue("this input has no topology", cure="read it from lstopo XML, a capture or the machine itself")
    return machine.topology


def _cores(machine: Machine, cpus: CpuSet) -> int:
    inside = _topology(machine).inside
    return sum(1 for core in inside.cores if core.cpuset & cpus) or len(cpus)


def _adapter(machine: Machine, near: str | None) -> str | None:
    """Return the adapter that was asked for, else the first that can be used."""
    names = [hca.name for hca in machine.hcas or ()]
    if near is not None and near not in names:
        raise BadValue(f"no adapter is called {near[:64]}", cure=f"there are: {', '.join(names) or 'none'}")
    return next((name for name in ([near] if near else names) if unusable([name], [machine]) is None), None)


def _home(machine: Machine, hca: str | None) -> Locality:
    return next((each.locality for each in machine.hcas or () if each.name == hca and each.locality), Locality(numa_nodes=()))
