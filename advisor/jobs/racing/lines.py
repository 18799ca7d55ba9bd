"""The lines of a race: the user's own, taken apart, and one like it for each placement that gives its ranks something else."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.bind import Binding, carried
from advisor.jobs.launcher import of_lines
from advisor.jobs.line import BINDING, parse
from advisor.jobs.lint import command as program_of
from advisor.jobs.lint import lint_line
from advisor.jobs.place import place
from advisor.jobs.place_cores import device_names
from advisor.jobs.placement import STRATEGIES, JobShape, Lint, Placement
from advisor.jobs.racing.energy import Goal
from advisor.jobs.racing.kernel import KernelChange, change_of
from advisor.jobs.request import Line, Said
from advisor.jobs.started.folder import located, write_job
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, hosts_of_job, shape
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.units import count
from advisor.show.commandline import assignments, word

FACTORS = (1, 2, 4)
"""So many times more, or fewer, threads per rank are tried."""
MOST = 12
"""Candidates of a race: with more, each takes longer to be told from the others."""

Seats = tuple[tuple[str, str, str, str, str], ...]
"""What each rank gets: host, CPUs, memory, adapter, GPU."""


class Candidate(NamedTuple):
    """A placement that may race."""

    name: str
    job: JobShape
    placement: Placement


def splits(ranks: int, threads: int, hosts: int = 1) -> tuple[tuple[int, int], ...]:
    """Return ranks and threads with the same product: the job's own first, then its neighbours; ranks share out over hosts.

    >>> splits(8, 2)
    ((8, 2), (16, 1), (4, 4), (2, 8))
    """
    whole = ranks * threads
    near = {threads * each for each in FACTORS[1:]} | {threads // each for each in FACTORS[1:] if threads % each == 0}
    ordered = sorted(near, key=lambda each: (max(each, threads) // min(each, threads), each))
    fitting = (each for each in ordered if whole % each == 0 and whole // each >= hosts and (whole // each) % hosts == 0)
    return ((ranks, threads), *((whole // each, each) for each in fitting))


def seats(placement: Placement) -> Seats:
    """Return what each rank of a placement gets."""
    return tuple(
        (rank.host or "", str(rank.slot.cpus), str(CpuSet(rank.slot.memory)), rank.slot.hca or "", rank.slot.gpu or "")
        for rank in placement.ranks()
    )


def distinct(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates whose ranks get something else than those of all before."""
    seen = set[Seats]()
    for each in candidates:
        if (own := seats(each.placement)) not in seen:
            seen.add(own)
            yield each


def what_ranks_get(placement: Placement) -> dict[str, str]:
    """Return in a few words each what the ranks of a placement have for themselves, on the first host."""
    slots = placement.plans[0].slots
    caches: Counter[int] = Counter(group for slot in slots for group in slot.l3)
    nodes: Counter[int] = Counter(node for slot in slots for node in slot.memory)
    distances = sorted({slot.distance for slot in slots if slot.distance is not None})
    gets = {"memory": f"{count(max(nodes.values()), 'rank')} per NUMA node, {count(len(nodes), 'node')} in use"} if nodes else {}
    if caches:
        wide = sum(len(slot.l3) > 1 for slot in slots)
        across = f", {count(wide, 'rank')} across several" if wide else ""
        gets["L3"] = f"{count(max(caches.values()), 'rank')} per L3 group, {len(caches)} in use{across}"
    if distances:
        gets["adapter"] = f"distance {distances[0]}" + (f" to {distances[-1]}" if len(distances) > 1 else "")
    return gets


def why_different(one: Placement, other: Placement) -> tuple[str, ...]:
    """Return what the ranks of one placement get that those of another do not, a sentence each."""
    mine, theirs = what_ranks_get(one), what_ranks_get(other)
    return tuple(f"{key}: {mine[key]}; before: {theirs[key]}" for key in mine if key in theirs and mine[key] != theirs[key])


def placements(
    job: JobShape,
    machines: Sequence[Machine],
    allowed: CpuSet | None = None,
    *,
    split: bool = True,
    smt: bool = False,
    devices: bool = False,
    most: int = MOST,
) -> tuple[list[Candidate], int]:
    """Return the distinct placements of a job, one fewer than the ``most`` lines of a race, and how many were left out.

    ``split`` allows other numbers of ranks and threads with the same product, ``smt`` second hardware threads, ``devices``
    ranks near each adapter and each GPU.
    """
    ranks = job.ranks or place(job, machines, allowed=allowed).size
    plain = {"ranks_per_node": None, "per": None, "purpose": None}

    def near_each() -> Iterator[Candidate]:
        for name in device_names(machines[0]) if devices else ():
            wanted = job.but(**plain, ranks=ranks, strategy="hca-near", near=name)
            with suppress(BadValue):
                yield Candidate(f"near {name} {ranks}x{job.threads}", wanted, place(wanted, machines, allowed=allowed))

    def every() -> Iterator[Candidate]:
        shapes = splits(ranks, job.threads, max(1, len(job.hosts))) if split else ((ranks, job.threads),)
        kinds = ("skip", "use") if smt and job.smt == "skip" else (job.smt,)
        wishes = [(kind, shape, strategy) for kind in kinds for shape in shapes for strategy in ("auto", *STRATEGIES)]
        for kind, (many, threads), strategy in sorted(wishes, key=lambda wish: (wish[1] != shapes[0]) + (wish[2] != "auto")):
            wanted = job.but(**plain, ranks=many, threads=threads, strategy=strategy, smt=kind)
            with suppress(BadValue):
                placed = place(wanted, machines, allowed=allowed)
                second = " smt" if kind == "use" else ""
                yield Candidate(f"{placed.strategy} {many}x{threads}{second}", wanted, placed)

    different = list(distinct((*near_each(), *every())))
    return different[: most - 1], max(0, len(different) - most + 1)


YOURS = "yours"
DEFAULT = "default"
"""What the line is called that all are held against: the user's own, or what the launcher does by itself."""

_COUNTS = frozenset(
    ("-np", "-n", "-c", "-ppn", "--ntasks", "--nodes", "--ntasks-per-node", "--host", "--hostfile", "-hosts", "-host", "-f")
)
_SET_BY_US = frozenset({"OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "UCX_NET_DEVICES"})
"""Variables that each line gets for its own placement."""


@dataclass(frozen=True)
class RaceLine:
    """One line that races."""

    name: str
    argv: tuple[str, ...]
    """Up to the program's own words."""
    program: tuple[str, ...]
    variables: Mapping[str, str]
    job: JobShape | None = None
    """None of the line that the user had."""
    placement: Placement | None = None
    """None if unknown where its ranks go."""
    binding: Binding | None = None
    expected: tuple[tuple[int, str | None, CpuSet], ...] | None = None
    """Rank, host and CPUs that are planned; None if unknown."""
    setting: str | None = None
    """NAME=VALUE, where it differs from the first line in a variable alone: its ranks shall be where those of the first are."""
    change: KernelChange | None = None
    """Where it is the first line, with a setting of the kernel changed."""

    @property
    def text(self) -> str:
        """The line as it is pasted into a shell."""
        return " ".join([*assignments(self.variables), *map(word, (*self.argv, *self.program))])


@dataclass(frozen=True)
class Asked:
    """What is to be tuned, in words that a journal can hold."""

    command: tuple[str, ...]
    ranks: int | None = None
    threads: int | None = None
    hosts: str | None = None
    near: str | None = None
    smt: bool = False
    split: bool = False
    """Whether the program does the same work with other numbers of ranks and threads: nobody but its user knows."""
    lines: int | None = None
    launcher: str | None = None
    version: str | None = None
    metric: str | None = None
    metric_file: str | None = None
    better: str | None = None
    devices: bool = False
    """Whether ranks near each adapter and each GPU are tried."""
    hugepages: bool = False
    settings: tuple[str, ...] = ()
    """Variables and kernel settings that the user's line is tried with, each alone: ``UCX_TLS=rc,sm``."""
    goal: Goal = "time"
    prepare: str | None = None
    """What is run before each run, so that all find the machine alike."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "command": list(self.command), "settings": list(self.settings)}


@dataclass(frozen=True)
class RaceField:
    """All lines of a race, the user's first; the hosts they run on; what was left out."""

    lines: tuple[RaceLine, ...]
    job_hosts: JobHosts
    notes: tuple[str, ...] = ()


def lines_of(asked: Asked, observer: Observer = SILENT) -> RaceField:
    """Return the lines that race; ``write`` writes the files that they need."""
    words = asked.command
    if not words:
        raise BadValue("no launch line given", cure="put it last, after --: advisor tune -- mpirun -n 16 ./app")
    own, program = parted(words)
    lint = lint_line(words, version=asked.version, observer=observer) if own else None
    hosts = asked.hosts
    if lint and not hosts:
        hosts = ",".join(dict.fromkeys(rank.host for rank in lint.ranks or () if rank.host not in (None, "localhost"))) or None
    job_hosts = hosts_of_job(HostOptions(hosts=hosts), program, None, observer)
    changes = [change for text in asked.settings if (change := change_of(text))]
    if (asked.goal != "time" or changes) and (len(job_hosts.hosts.names) > 1 or not job_hosts.is_here):
        where = f"but the job runs on {', '.join(job_hosts.hosts.names[:4])}; race it on this node only"
        what = f"--with {changes[0].name} changes this node" if changes else f"--for {asked.goal} reads this node's counters"
        raise CannotWork(f"{what}, {where}")
    notes: list[str] = []
    job = shape(_with_line(JobOptions(ranks=asked.ranks, threads=asked.threads, near=asked.near), lint, own), job_hosts, notes)
    if job.ranks is None and own is not None:
        raise CannotWork("the line's number of ranks is unknown; give --ranks and --threads")
    varied = settings_of(asked, job_hosts.machines[0])
    extra = len(varied) + len(changes)
    most = max(1, (asked.lines or MOST) - extra)
    found, left = placements(
        job, job_hosts.machines, job_hosts.affinity, split=asked.split, smt=asked.smt, devices=asked.devices, most=most
    )
    notes += [f"{left} more placements are not raced: the limit is {len(found) + extra + 1} lines"] if left else []
    how = LauncherOptions(asked.launcher, asked.version)
    if lint:
        how = LauncherOptions(how.launcher or lint.launcher, how.version or lint.version)
    placed = [_placed(each, carried(job_hosts, each.placement, how, program), own) for each in found]
    first = _own(words, own, lint, program) if own and lint else _default(placed, job, program)
    # env sets a variable on every node, whatever the launcher
    tried = (
        replace(
            first, name=f"{first.name} {name}={value}", argv=(*first.argv, "env", f"{name}={value}"), setting=f"{name}={value}"
        )
        for name, value in varied
    )
    changed = (replace(first, name=f"{first.name} {change.title}", change=change) for change in changes)
    others = (each for each in placed if each.expected is None or each.expected != first.expected)
    return RaceField((first, *tried, *changed, *others), job_hosts, tuple(notes))


_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})=([^\x00-\x1f\x7f]{0,200})", re.ASCII)
_HUGEPAGES = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
"""malloc asks the kernel for hugepages: glibc manual, Memory Allocation Tunables, from 2.35 on."""


def settings_of(asked: Asked, machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return name and value of each variable that the user's line is tried with; refuse what can have no effect."""
    pairs, most = [], asked.lines or MOST
    for text in asked.settings:
        if change_of(text):
            continue
        match = _SETTING.fullmatch(text)
        if match is None:
            raise BadValue(f"--with {text[:40]!a} sets no variable", cure="write NAME=VALUE, such as --with UCX_TLS=rc,sm")
        pairs.append((match[1], match[2]))
    if asked.hugepages:
        pairs.append(_HUGEPAGES)
        thp = machine.kernel.thp if machine.kernel else None
        if thp in ("always", "never"):
            why = "programs already use them" if thp == "always" else "programs get no hugepages"
            raise BadValue(f"--hugepages has no effect here: THP is set to {thp}, so {why}", cure="leave it out")
    if len(set(pairs)) < len(pairs) or len(set(asked.settings)) < len(asked.settings):
        raise BadValue("--with lists the same value twice for a variable or setting", cure="give each value once")
    if (many := len(asked.settings) + asked.hugepages) > most - 1:
        raise BadValue(
            f"{many} variables and settings are too many", cure=f"at most {most} launch lines can be compared, including yours"
        )
    return tuple(pairs)


def parted(words: tuple[str, ...]) -> tuple[Line | None, tuple[str, ...]]:
    """Return a line's launch, None where it has no launcher, and the words of the program that it starts."""
    launchers = {program for spoken in of_lines().values() for program in spoken.programs}
    own = _parsed(words) if any(each.rpartition("/")[2] in launchers for each in words[:8]) else None
    return own, program_of(own) if own else words


def _parsed(words: Sequence[str]) -> Line:
    line = parse(words)
    if len(line.segments) > 1:
        raise BadInput("the line starts several programs", cure="tune each program with its own line")
    if not line.first.command:
        raise BadInput("the line starts no program", cure="put it last: advisor tune -- mpirun -n 16 ./app")
    return line


def _with_line(given: JobOptions, lint: Lint | None, line: Line | None) -> JobOptions:
    """Return the job that options ask for; what they leave open, the user's line says."""
    if lint is None or line is None:
        return given
    written = line.first.value("-n", "-np", "--ntasks") or ""  # known even where it is not where the ranks go
    counted = int(written) if re.fullmatch(r"[1-9]\d{0,6}", written, re.ASCII) else None
    bound = [rank.cpus for rank in lint.ranks or () if rank.cpus is not None]
    options = " ".join(option.text for option in lint.options)
    # The CPUs that each rank is bound to, where the line gives each as many of its own.
    own = bound and len(set(bound)) == len(bound) and ("pe=" in options.lower() or "cpus-per" in options)
    threads = given.threads or lint.threads or (min(map(len, bound)) if own else None)
    return replace(given, ranks=given.ranks or (len(lint.ranks) if lint.ranks else counted), threads=threads)


def _own(words: Sequence[str], line: Line, lint: Lint, program: tuple[str, ...]) -> RaceLine:
    """Return the user's line as it is."""
    variables = dict(line.words.environment)
    plain = tuple(each for each in words if each not in {f"{name}={value}" for name, value in variables.items()})
    at = len(plain) - len(program)
    bound = tuple((rank.rank, rank.host, rank.cpus) for rank in lint.ranks or () if rank.cpus is not None)
    expected = bound if bound and len(bound) == len(lint.ranks or ()) else None
    return RaceLine(YOURS, plain[:at], plain[at:], variables, expected=expected)


def _default(lines: Sequence[RaceLine], job: JobShape, program: tuple[str, ...]) -> RaceLine:
    """Return the line of somebody who says nothing of where ranks go."""
    binding = next((each.binding for each in lines if each.binding), None)
    if binding is None:
        raise CannotWork("no placement fits this job; see advisor bind with the same options")
    words = (of_lines()[binding.launch.launcher].programs[0], "-n", str(binding.placement.size))
    return RaceLine(DEFAULT, words, program, {"OMP_NUM_THREADS": str(job.threads)} if job.threads > 1 else {})


def _placed(each: Candidate, binding: Binding, line: Line | None) -> RaceLine:
    """Return the line of a placement, with the options of the user's own that say nothing of where ranks go or how many."""
    program, launch = binding.command, binding.launch
    expected = tuple((rank.rank, rank.host, rank.slot.cpus) for rank in binding.placement.ranks())
    variables, kept = dict(launch.environment), tuple[str, ...]()
    if line:
        others = {name: value for name, value in line.words.environment.items() if name not in _SET_BY_US}
        variables = {**others, **variables}
        kept = tuple(word for said in line.first.options if not _says_where(said) for word in said.written)
    launch = replace(launch, argv=(launch.argv[0], *kept, *launch.argv[1:]), environment=variables)
    binding = replace(binding, launch=launch)
    return RaceLine(each.name, launch.argv[: -len(program)], program, variables, each.job, each.placement, binding, expected)


def _says_where(said: Said) -> bool:
    first = said.values[0] if said.values else ""
    sets = said.name in ("-x", "-genv", "-env", "--env") and first.partition("=")[0] in _SET_BY_US
    parameter = said.name in ("--mca", "--gmca", "--prtemca", "--omca")
    binds = parameter and first.startswith(("rmaps_", "hwloc_base_bind", "hwloc_base_cpu"))
    return said.name in BINDING or said.name in _COUNTS or sets or binds


def write(line: RaceLine, folder: Path) -> RaceLine:
    """Write what a line needs below a folder; return it with the paths of its files."""
    if line.binding is None:
        return line
    home = folder / line.name.replace(" ", "-")
    write_job(home, line.binding)
    launch = located(line.binding.launch, str(home.absolute()), list(line.program))
    return replace(line, argv=launch.argv[: -len(line.program)], variables=dict(launch.environment))
