"""Plans the runs of HPL, one or those of a scaling table as in articles [002] and [003], and the lines for them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from advisor.cli.benchmark import files_of, step_of
from advisor.cli.crew import Crew
from advisor.cli.efficiency import Area, Bench, command_of, free_bytes, placed, program_of
from advisor.cli.mpi_programs import program_or_name
from advisor.errors import BadValue
from advisor.host.live import LiveHost
from advisor.measure.hpl import BLOCKS, FULL_SHARE, KERNEL, Size, for_memory, grown, hpl_dat, steps_to
from advisor.measure.resources import Resources
from advisor.render.commandline import BenchmarkStep


def ladder(whole: Bench) -> tuple[Bench, ...]:
    """Return the runs, the smallest first: of a scaling table 1, 2, 4, .. hosts, or a NUMA node, a socket and all of one."""
    if not whole.ask.scaling:
        return (whole,)
    found = (*(_hosts(whole) if whole.job > 1 else _parts(whole)), whole)
    if len(found) == 1:
        raise BadValue("--scaling has nothing to compare: one host with one NUMA node", cure="name several hosts: --hosts A,B,..")
    return found


def _hosts(whole: Bench) -> Iterator[Bench]:
    """Yield runs on the first hosts, all of them left out."""
    crew = whole.crew
    for count in steps_to(whole.job)[:-1]:
        machines = crew.machines[:count] if len(crew.machines) > 1 else crew.machines
        fewer = Crew(replace(crew.hosts, names=crew.hosts.names[:count]), machines, None)
        yield replace(whole, crew=fewer, placement=placed(fewer, whole.ask, None))


def _parts(whole: Bench) -> Iterator[Bench]:
    """Yield runs on the first NUMA node and the first socket, where they are less than all and hold the ranks."""
    ground = Resources(whole.machine)
    nodes = [Area("numa", node.os_index, node.cpuset & ground.usable) for node in ground.homes]
    sockets = [Area("socket", index, cpus & ground.usable) for index, cpus in enumerate(ground.sockets)]
    seen = {ground.usable}
    for areas in (nodes, sockets):
        area = next((each for each in areas if each.cpus), None)
        if area is None or area.cpus in seen:
            continue
        seen.add(area.cpus)
        try:
            yield replace(whole, placement=placed(whole.crew, whole.ask, area.cpus), area=area)
        except BadValue:
            continue  # such as a rank for each socket, in one of its NUMA nodes


def size_after(first: Bench, n: int, made: Bench, nb: int) -> Size:
    """Return a run in which each core has as large a share of the matrix as in the first one."""
    return made.size(n if made is first else grown(n, made.cores / first.cores, nb), nb)


def steps(runs: tuple[Bench, ...]) -> tuple[list[BenchmarkStep], tuple[str, ...]]:
    """Return the line of each run, and HPL.dat where another's HPL is named."""
    ask, host, first = runs[-1].ask, LiveHost(), runs[0]
    if ask.xhpl is not None and len(runs) > 1:
        problem = "--scaling --dry-run shows no lines of --xhpl: each would read an HPL.dat of its own"
        raise BadValue(problem, cure="leave --scaling out and plan them one by one, with --hosts and -o DIR")
    nb = ask.nb or BLOCKS[1]
    found: list[BenchmarkStep] = []
    notes: tuple[str, ...] = ()
    for made in runs:
        free = for_memory(free_bytes(made, host), FULL_SHARE, nb)
        step, notes = _step(made, size_after(first, ask.n, made, nb) if ask.n else made.size(free, nb))
        found.append(step)
    return found, (*runs[-1].notes, *notes, *files_of(found))


def _step(made: Bench, size: Size) -> tuple[BenchmarkStep, tuple[str, ...]]:
    """Return the line of a run, and what to know of it."""
    ask, label = made.ask, made.label
    threads = f"{made.threads} thread{'s' * (made.threads > 1)}"
    about = f"HPL{f' on {made.where}' if label else ''}, N={size.n}, NB={size.nb}, {size.p} x {size.q} ranks of {threads}"
    if ask.xhpl is not None:
        step, dat = step_of(about, made.launch((program_of(ask.xhpl),)), ""), hpl_dat(size).splitlines()
        return replace(step, files={**step.files, "HPL.dat": lambda: iter(dat)}), (_WHERE,)
    launcher = made.launch((KERNEL,)).argv[0]
    program, notes = program_or_name(LiveHost(), made.machine, KERNEL, launcher, folder=ask.kernels, blas=ask.blas or "")
    return step_of(about, made.launch(command_of(ask, program, size, 1, Path())), label), notes


_WHERE = "HPL.dat is to lie where the line is started: -o DIR writes it"
