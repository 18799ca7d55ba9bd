"""Plans what to measure between two hosts, from both their machines, with the lines of the launcher that is there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from advisor.cli.allocation import placeholders
from advisor.cli.benchmark import files_of, spelled, step_of
from advisor.cli.binding import Carrier, Wanted, carry, shape
from advisor.cli.crew import Crew, There, crew_of, of_hosts
from advisor.cli.mpi_programs import program_or_name
from advisor.errors import BadValue
from advisor.host.live import LiveHost
from advisor.launch.base import Launch, Wish
from advisor.launch.environment import article, is_up, unusable, without_adapters, without_gpus
from advisor.launch.registry import Choice, choose
from advisor.measure.network import FEW, KERNEL, REPEATS, SIZES, NetworkRun, Per, network_runs, sizes_of
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import Task
from advisor.model.placement import Placement
from advisor.place.place import place
from advisor.render.commandline import BenchmarkStep


@dataclass(frozen=True)
class Ask:
    """What the user wants measured, and how."""

    per: Per | None = None
    hca: str | None = None
    sizes: str | None = None
    repeats: int | None = None
    kernels: Path | None = None
    busy_ok: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class Experiment:
    """Everything that is to be started, and on which hosts."""

    crew: Crew
    carrier: Carrier
    choice: Choice
    ask: Ask
    legs: tuple[NetworkRun, ...]
    notes: tuple[str, ...]
    asked: bool = True
    """Whether UCX is told the adapter of a leg; else it is where the MPI most likely sends, and no more is known."""

    @property
    def machine(self) -> Machine:
        """The first host's."""
        return self.crew.machines[0]

    @property
    def sizes(self) -> str:
        """The sizes of messages, as the kernel takes them."""
        return sizes_of(self.ask.sizes) if self.ask.sizes else SIZES

    @property
    def repeats(self) -> int:
        """How often each thing is measured."""
        return self.ask.repeats or REPEATS

    def placement(self, leg: NetworkRun) -> Placement:
        """Return where the ranks of a leg are."""
        each = None if leg.ranks else ("numa", FEW)
        wanted = Wanted(ranks_per_node=leg.ranks, ranks_per=each, threads=1, strategy="spread-numa" if each else "compact")
        job = shape(wanted, self.crew, [])
        allowed = leg.cpus if leg.cpus is not None else self.crew.affinity
        return without_adapters(without_gpus(place(job, self.crew.machines, allowed=allowed)))

    def launch(self, leg: NetworkRun, placement: Placement, program: str) -> Launch:
        """Return the line of a leg."""
        command = (program, *leg.arguments(self.sizes, self.repeats))
        wish = Wish(
            command=command,
            version=self.choice.version,
            exact=self.carrier.exact,
            scheduler=self.crew.hosts.scheduler_of(self.choice.launcher.NAME),
            environment=self._settings(leg.hca),
        )
        made, _ = carry(self.choice, placement, wish)
        return spelled(made)

    def _settings(self, hca: str | None) -> Mapping[str, str]:
        """Return what article [000] sets, for an adapter that UCX can be told of; nothing without one."""
        if hca is None or not self.asked:
            return {}
        known = article(hca, self.crew.machines)
        kinds = {each.kind for machine in self.crew.machines for each in machine.hcas or () if each.name == hca}
        soft = any(kind is not None and not kind.startswith("MT") for kind in kinds)
        openmpi = self.choice.launcher.NAME.startswith("openmpi")
        return {
            name: value
            for name, value in known.items()
            if (openmpi or not name.startswith("OMPI_MCA_")) and not (soft and name == "UCX_TLS")
        }

    def task(self, leg: NetworkRun, placement: Placement) -> Task:
        """Return a leg as a task: on the CPUs that its ranks have on the first host."""
        first = next(host for host in placement.hosts if host.ranks)
        slots = placement.plans[first.plan].slots[: first.ranks]
        return leg.task(self.sizes, self.repeats, sorted({slot.cpus.first or 0 for slot in slots}))


def experiment(there: There, carrier: Carrier, ask: Ask, environment: Mapping[str, str], *, dry: bool = False) -> Experiment:
    """Return the whole experiment; what cannot be is refused in one line."""
    crew = _crew(there, environment, dry=dry)
    choice = choose(crew.machines[0].tools, carrier.launcher, carrier.version, crew.hosts.scheduler)
    hcas, asked, notes = _adapters(crew, ask.hca)
    hosts = max(1, len(crew.hosts.names))
    found = network_runs(crew.machines, hcas if hosts > 1 else (), ask.per, hosts=hosts)
    if hosts == 1:
        notes = ("pairs inside one host: shared memory, no network; name two hosts with --hosts A,B",)
    version = choice.version or "version not known"
    said = (f"launcher: {choice.launcher.NAME}, {version}: {choice.why}", *of_hosts(crew.hosts), *notes)
    made = Experiment(crew, carrier, choice, ask, found, said, asked)
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


def _crew(there: There, environment: Mapping[str, str], *, dry: bool) -> Crew:
    """Return two hosts, or one where no other is named."""
    crew = crew_of(there, (KERNEL,), environment)
    names = crew.hosts.names
    if not names and there.sources and dry:
        return replace(crew, hosts=placeholders(2, (KERNEL,)), affinity=None)
    if len(names) > 2 and (there.hosts or there.hostfile):
        raise BadValue(f"messages go between two hosts, and there are {len(names)}", cure="name two: --hosts A,B")
    if len(names) > 2:
        note = f"the first two of the job's {len(names)} hosts: {names[0]} and {names[1]}"
        hosts = replace(crew.hosts, names=names[:2], notes=(*crew.hosts.notes, note))
        return Crew(hosts, crew.machines[:2], None)
    return crew


def _adapters(crew: Crew, wanted: str | None) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """Return the adapters to measure in turn, whether UCX is told them, and why not others."""
    machine = crew.machines[0]
    names = [hca.name for hca in machine.hcas or ()]
    if wanted is not None and wanted not in names:
        raise BadValue(f"no adapter is called {wanted[:64]}", cure=f"there are: {', '.join(names) or 'none'}")
    if not names:
        return (), False, ("no HCA is on this machine: messages take what the MPI has, TCP as a rule",)
    chosen = [wanted] if wanted else names
    reasons = {name: unusable([name], crew.machines) for name in chosen}
    good = tuple(name for name in chosen if reasons[name] is None)
    notes = tuple(f"{name} is not asked for: {why}" for name, why in reasons.items() if why)
    if good:
        supposed = ("UCX is supposed: which MPI and UCX the machine has is not known",) if machine.tools is None else ()
        return good, True, (*notes, *supposed)
    only = _only(machine, chosen)
    marked = tuple(f"{name} is marked all the same: no other adapter is active" for name in only)
    return only, False, (*notes, "which way messages take is left to the MPI", *marked)


def _only(machine: Machine, names: Sequence[str]) -> tuple[str, ...]:
    """Return the one adapter of some that has an active port; none where several have, for no one knows which is taken."""
    active = tuple(hca.name for hca in machine.hcas or () if hca.name in names and is_up(hca))
    return active if len(active) == 1 else ()


def steps(made: Experiment, *, folder_given: bool) -> tuple[list[BenchmarkStep], tuple[str, ...]]:
    """Return every line, ready to paste."""
    first = made.launch(made.legs[0], made.placement(made.legs[0]), KERNEL).argv[0]
    program, notes = program_or_name(LiveHost(), made.machine, KERNEL, first, folder=made.ask.kernels)
    found = []
    for leg in made.legs:
        launch = made.launch(leg, made.placement(leg), program)
        near = f", {leg.hca} {_DISTANCES[leg.distance]}" if leg.hca and leg.distance else f", {leg.hca}" if leg.hca else ""
        found.append(step_of(f"{leg.about}{near}: {leg.tests}", launch, f"{leg.label}{leg.hca or ''}"))
    return found, (*made.notes, *notes, *(() if folder_given else files_of(found)))


_DISTANCES = {"local": "is here", "same-socket": "is on another node of this socket", "other-socket": "is on the other socket"}
