"""Plans HPL: ranks placed and bound as advisor bind does it, N from the memory, and the lines for it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from advisor.cli.benchmark import files_of, step_of
from advisor.cli.binding import Carrier, Wanted, carry, shape
from advisor.cli.crew import Crew, There, crew_of, of_hosts
from advisor.cli.mpi_programs import program_or_name
from advisor.errors import BadValue
from advisor.host.live import LiveHost, find
from advisor.launch.base import Launch, Wish
from advisor.launch.environment import openmp, without_adapters, without_gpus
from advisor.launch.registry import Choice, choose
from advisor.measure.conditions import free_memory
from advisor.measure.ground import Ground
from advisor.measure.hpl import BLOCKS, FULL_SHARE, KERNEL, Size, for_memory, grid, hpl_dat
from advisor.measure.words import part_called
from advisor.model.machine import Machine
from advisor.model.measurement import Task
from advisor.model.placement import Placement
from advisor.place.place import place
from advisor.render.benchmark import Step


@dataclass(frozen=True)
class Ask:
    """What the user wants, and how."""

    xhpl: Path | None = None
    full: bool = False
    n: int | None = None
    nb: int | None = None
    per: tuple[str, int] | None = None
    blas: str | None = None
    kernels: Path | None = None
    busy_ok: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class Bench:
    """A placement of ranks that HPL will run on."""

    crew: Crew
    choice: Choice
    placement: Placement
    ask: Ask
    notes: tuple[str, ...]

    @property
    def machine(self) -> Machine:
        """The first host's."""
        return self.crew.machines[0]

    @property
    def ranks(self) -> int:
        """How many there are."""
        return self.placement.size

    @property
    def threads(self) -> int:
        """Of each rank."""
        return self.placement.job.threads

    @property
    def environment(self) -> dict[str, str]:
        """Threads of every BLAS that a site may have."""
        count = str(self.threads)
        return {**openmp(self.placement), **{f"{name}_NUM_THREADS": count for name in ("OMP", "OPENBLAS", "BLIS", "MKL")}}

    def size(self, n: int, nb: int) -> Size:
        """Return a run on the squarest grid."""
        return Size(n, nb, *grid(self.ranks))

    def launch(self, command: tuple[str, ...]) -> Launch:
        """Return the line of a command."""
        scheduler = self.crew.hosts.scheduler_of(self.choice.launcher.NAME)
        wish = Wish(command, self.choice.version, scheduler=scheduler, environment=self.environment)
        return carry(self.choice, self.placement, wish)[0]

    def task(self, size: Size, seconds: float, name: str = "") -> Task:
        """Return a run as a task."""
        first = next(host for host in self.placement.hosts if host.ranks)
        slots = self.placement.plans[first.plan].slots[: first.ranks]
        return Task(
            name=f"hpl/hpl/machine/{name or 'lu'}-{size.n}-{size.nb}",
            kernel=KERNEL,
            purpose="hpl",
            variants=("lu",),
            part="machine",
            cpus=tuple(sorted({cpu for slot in slots for cpu in slot.cpus})),
            arguments=size.arguments,
            seconds=round(seconds, 1),
        )


def bench(there: There, carrier: Carrier, ask: Ask, environment: Mapping[str, str]) -> Bench:
    """Return the placement: a rank for each core, or for each part with as many threads as it has cores."""
    crew = crew_of(there, (KERNEL,), environment)
    machine = crew.machines[0]
    choice = choose(machine.tools, carrier.launcher, carrier.version, crew.hosts.scheduler)
    part, count = ask.per or ("core", 1)
    threads = _threads(machine, part, count)
    wanted = Wanted(ranks_per=(part, count), threads=threads, strategy="compact" if part == "core" else "auto")
    placed = without_adapters(without_gpus(place(shape(wanted, crew, []), crew.machines, allowed=crew.affinity)))
    version = choice.version or "version not known"
    said = (f"launcher: {choice.launcher.NAME}, {version}: {choice.why}", *of_hosts(crew.hosts))
    return Bench(crew, choice, placed, ask, said)


def _threads(machine: Machine, part: str, count: int) -> int:
    """Return the cores that each of so many ranks gets in the smallest part of a kind."""
    ground = Ground(machine)
    found = [len(piece.cpus) for piece in ground.pieces(part_called(part))]
    if not found or min(found) < count:
        raise BadValue(
            f"--ranks-per {part}:{count}: there are not so many cores in each", cure="ask for fewer, or --ranks-per core"
        )
    return min(found) // count


def program_of(path: Path) -> str:
    """Return another HPL's program; refuse what is none."""
    found = find(str(path.absolute() if path.exists() else path))
    if found is None:
        raise BadValue(f"--xhpl {path}: there is no such program", cure="give the path of xhpl")
    return found


def command_of(ask: Ask, program: str, size: Size, repeats: int, folder: Path) -> tuple[str, ...]:
    """Return what each rank runs; HPL of others reads HPL.dat where it is started."""
    if ask.xhpl is not None:
        return ("env", "-C", str(folder), program)
    return (program, *size.arguments, "--repeats", str(repeats))


def free_bytes(made: Bench, host: LiveHost) -> float:
    """Return the free bytes of all hosts: this one's as it is, of others what is installed."""
    hosts = max(1, len(made.crew.hosts.names))
    if made.crew.is_here:
        return float(sum(free_memory(host, made.machine).values())) * hosts
    nodes = made.machine.topology.nodes if made.machine.topology else ()
    return 0.9 * sum(node.memory or 0 for node in nodes) * hosts


def steps(made: Bench) -> tuple[list[Step], tuple[str, ...]]:
    """Return the line of one run, and HPL.dat where another's HPL is named."""
    ask, host = made.ask, LiveHost()
    nb = ask.nb or BLOCKS[1]
    size = made.size(ask.n or for_memory(free_bytes(made, host), FULL_SHARE, nb), nb)
    about = f"HPL, N={size.n}, NB={size.nb}, {size.p} x {size.q} ranks of {made.threads} thread{'s' * (made.threads > 1)}"
    if ask.xhpl is not None:
        step = step_of(about, made.launch((program_of(ask.xhpl),)), "")
        dat = hpl_dat(size).splitlines()
        return [replace(step, files={**step.files, "HPL.dat": lambda: iter(dat)})], (*made.notes, _WHERE, *files_of([step]))
    launcher = made.launch((KERNEL,)).argv[0]
    program, notes = program_or_name(host, made.machine, KERNEL, launcher, folder=ask.kernels, blas=ask.blas or "")
    step = step_of(about, made.launch(command_of(ask, program, size, 1, Path())), "")
    return [step], (*made.notes, *notes, *files_of([step]))


_WHERE = "HPL.dat is to lie where the line is started: -o DIR writes it"
