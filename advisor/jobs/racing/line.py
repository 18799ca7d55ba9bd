"""The lines of a race: the user's own, taken apart, and one like it for each placement."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.bind import Binding, carried, lint_line
from advisor.jobs.line import BINDING, parse
from advisor.jobs.lint import command as program_of
from advisor.jobs.placement import JobShape, Lint
from advisor.jobs.racing.candidates import placements
from advisor.jobs.registry import of_lines
from advisor.jobs.request import Line, Said
from advisor.jobs.started.folder import located, write_job
from advisor.jobs.started.hosts import HostOptions, JobHosts, JobOptions, LauncherOptions, hosts_of_job, shape
from advisor.jobs.tune.candidates import MOST, Candidate
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.show.commandline import assignments, word

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
    candidate: Candidate
    binding: Binding | None = None
    expected: tuple[tuple[int, str | None, CpuSet], ...] | None = None
    """Rank, host and CPUs that are planned; None where it is not known."""
    like_first: bool = False
    """Whether its ranks shall be where those of the first line are: it differs in a variable."""

    @property
    def text(self) -> str:
        """The line as it is pasted into a shell."""
        return " ".join([*assignments(self.variables), *map(word, (*self.argv, *self.program))])


@dataclass(frozen=True)
class Options:
    """Which lines race: the options that say it."""

    job: JobOptions = field(default_factory=JobOptions)
    hosts: HostOptions = field(default_factory=HostOptions)
    launcher: LauncherOptions = field(default_factory=LauncherOptions)
    split: bool = False
    """Whether the program does the same work with other numbers of ranks and threads: nobody but its user knows."""
    smt: bool = False
    devices: bool = False
    """Whether ranks near each adapter and each GPU are tried."""
    hugepages: bool = False
    settings: tuple[str, ...] = ()
    """Variables that the user's line is tried with, each alone: ``UCX_TLS=rc,sm``."""
    most: int | None = None


@dataclass(frozen=True)
class RaceField:
    """All lines of a race, the user's first; the hosts they run on; what was left out."""

    lines: tuple[RaceLine, ...]
    job_hosts: JobHosts
    notes: tuple[str, ...] = ()


def lines_of(words: Sequence[str], options: Options, observer: Observer = SILENT) -> RaceField:
    """Return the lines that race; ``write`` writes the files that they need."""
    if not words:
        raise BadValue("no line to tune", cure="put it last, after --: advisor tune -- mpirun -n 16 ./app")
    own = _parsed(words) if _is_line(words) else None
    lint = lint_line(words, version=options.launcher.version, observer=observer) if own else None
    hosts = options.hosts
    if lint and not (hosts.hosts or hosts.hostfile or hosts.nodes):
        named = list(dict.fromkeys(rank.host for rank in lint.ranks or () if rank.host not in (None, "localhost")))
        hosts = replace(hosts, hosts=",".join(map(str, named)) or None)
    program = program_of(own) if own else tuple(words)
    job_hosts = hosts_of_job(hosts, program, None, observer)
    notes: list[str] = []
    job = shape(_asked(options.job, lint, own), job_hosts, notes)
    if job.ranks is None and own is not None:
        raise CannotWork("how many ranks the line starts is not known; say --ranks and --threads")
    varied = settings_of(options, job_hosts.machines[0])
    most = max(1, (options.most or MOST) - len(varied))
    how_far = {"split": options.split, "smt": options.smt, "devices": options.devices, "most": most}
    found, left = placements(job, job_hosts.machines, job_hosts.affinity, **how_far)  # type: ignore[arg-type] # by name
    notes += [f"{left} more placements are not raced: {len(found) + len(varied) + 1} lines are the most"] if left else []
    how = options.launcher
    if lint:
        how = replace(how, launcher=how.launcher or lint.launcher, version=how.version or lint.version)
    made = [_made(each, carried(job_hosts, each.placement, how, program), own) for each in found if each.placement]
    first = _own(words, own, lint, program) if own and lint else _default(made, job, program)
    others = [each for each in made if each.expected is None or each.expected != first.expected]
    return RaceField((first, *(_with(first, *each) for each in varied), *others), job_hosts, tuple(notes))


_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})=([^\x00-\x1f\x7f]{0,200})", re.ASCII)
_HUGEPAGES = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
"""malloc asks the kernel for hugepages: glibc manual, Memory Allocation Tunables, from 2.35 on."""


def settings_of(options: Options, machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return name and value of each variable that the user's line is tried with; refuse what can have no effect."""
    found = []
    for text in options.settings:
        match = _SETTING.fullmatch(text)
        if match is None:
            raise BadValue(f"--with {text[:40]!a} sets no variable", cure="write NAME=VALUE, such as --with UCX_TLS=rc,sm")
        found.append((match[1], match[2]))
    if options.hugepages:
        found.append(_HUGEPAGES)
        if machine.kernel is not None and machine.kernel.thp in ("always", "never"):
            why = {"always": "programs have them already", "never": "the system gives none"}[machine.kernel.thp]
            raise BadValue(f"--hugepages has no effect here: {why}, THP is set to {machine.kernel.thp}", cure="leave it out")
    if len(set(found)) < len(found):
        raise BadValue("--with sets one variable twice to the same", cure="give each value once")
    if len(found) > (options.most or MOST) - 1:
        raise BadValue(
            f"{len(found)} variables are too many", cure=f"{options.most or MOST} lines race at most, yours among them"
        )
    return tuple(found)


def _with(first: RaceLine, name: str, value: str) -> RaceLine:
    """Return the first line with a variable more: env sets it on every node, whatever the launcher."""
    argv = (*first.argv, "env", f"{name}={value}")
    return replace(first, name=f"{first.name} {name}={value}", argv=argv, like_first=True)


def _is_line(words: Sequence[str]) -> bool:
    """Return whether words start a launcher: then they are a line, else a program with its arguments."""
    names = {program for spoken in of_lines().values() for program in spoken.programs}
    return any(each.rpartition("/")[2] in names for each in words[:8])


def _parsed(words: Sequence[str]) -> Line:
    line = parse(words)
    if len(line.segments) > 1:
        raise BadInput("the line starts several programs", cure="tune each by a line of its own")
    if not line.first.command:
        raise BadInput("the line starts no program", cure="put it last: advisor tune -- mpirun -n 16 ./app")
    return line


def _asked(given: JobOptions, lint: Lint | None, line: Line | None) -> JobOptions:
    """Return the job that options ask for; what they leave open, the user's line says."""
    if lint is None or line is None:
        return given
    counted = given.ranks or given.ranks_per_node or given.ranks_per
    written = line.first.value("-n", "-np", "--ntasks") or ""  # known even where it is not where the ranks go
    named = int(written) if re.fullmatch(r"[1-9]\d{0,6}", written, re.ASCII) else None
    ranks = given.ranks if counted else len(lint.ranks) if lint.ranks else named
    return replace(given, ranks=ranks, threads=given.threads or lint.threads or _threads(lint))


def _threads(lint: Lint) -> int | None:
    """Return the CPUs that each rank of a line is bound to, where the line gives each as many of its own."""
    sets = [rank.cpus for rank in lint.ranks or () if rank.cpus is not None]
    words = " ".join(option.text for option in lint.options)
    own = sets and len(set(sets)) == len(sets) and ("pe=" in words.lower() or "cpus-per" in words)
    return min(map(len, sets)) if own else None


def _own(words: Sequence[str], line: Line, lint: Lint, program: tuple[str, ...]) -> RaceLine:
    """Return the user's line as it is."""
    variables = dict(line.words.environment)
    plain = tuple(each for each in words if each not in {f"{name}={value}" for name, value in variables.items()})
    split = len(plain) - len(program)
    bound = [(rank.rank, rank.host, rank.cpus) for rank in lint.ranks or ()]
    known = bound and all(cpus is not None for _, _, cpus in bound)
    expected = tuple((rank, host, cpus) for rank, host, cpus in bound if cpus is not None) if known else None
    return RaceLine(YOURS, plain[:split], plain[split:], variables, Candidate(YOURS, None, None), None, expected)


def _default(made: Sequence[RaceLine], job: JobShape, program: tuple[str, ...]) -> RaceLine:
    """Return the line of somebody who says nothing of where ranks go."""
    binding = next((each.binding for each in made if each.binding), None)
    if binding is None:
        raise CannotWork("no placement fits this job; see advisor bind with the same options")
    spoken = of_lines()[binding.launch.launcher]
    words = (spoken.programs[0], "-n", str(binding.placement.size))
    variables = {"OMP_NUM_THREADS": str(job.threads)} if job.threads > 1 else {}
    return RaceLine(DEFAULT, words, program, variables, Candidate(DEFAULT, None, None))


def _made(each: Candidate, binding: Binding, line: Line | None) -> RaceLine:
    """Return the line of a placement, with the options of the user's own that say something else."""
    program, made = binding.command, binding.launch
    expected = tuple((rank.rank, rank.host, rank.slot.cpus) for rank in binding.placement.ranks())
    kept = _kept(line) if line else ()
    variables = {**(_others(line.words.environment) if line else {}), **made.environment}
    launch = replace(made, argv=(made.argv[0], *kept, *made.argv[1:]), environment=variables)
    return RaceLine(each.name, launch.argv[: -len(program)], program, variables, each, replace(binding, launch=launch), expected)


def _others(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in _SET_BY_US}


def _kept(line: Line) -> tuple[str, ...]:
    """Return the options of the user's line that say neither where ranks go nor how many there are."""
    return tuple(each for said in line.first.options if not _places(said) for each in said.written)


def _places(said: Said) -> bool:
    first = said.values[0] if said.values else ""
    sets = said.name in ("-x", "-genv", "-env", "--env") and first.partition("=")[0] in _SET_BY_US
    parameter = said.name in ("--mca", "--gmca", "--prtemca", "--omca") and first.startswith(
        ("rmaps_", "hwloc_base_bind", "hwloc_base_cpu")
    )
    return said.name in BINDING or said.name in _COUNTS or sets or parameter


def write(line: RaceLine, folder: Path) -> RaceLine:
    """Write what a line needs below a folder; return it with the paths of its files."""
    if line.binding is None:
        return line
    place = folder / line.name.replace(" ", "-")
    write_job(place, line.binding)
    launch = located(line.binding.launch, str(place.absolute()), list(line.program))
    return replace(line, argv=launch.argv[: -len(line.program)], variables=dict(launch.environment))
