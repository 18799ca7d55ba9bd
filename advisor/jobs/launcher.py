"""What a launcher is, which there are (the modules of the folder ``launchers``), and what their complaints mean."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal, NamedTuple

from advisor.errors import BadValue, did_you_mean
from advisor.jobs import launchers as folder
from advisor.jobs.placement import LintRank, LintWarning, Placement, version_of
from advisor.jobs.request import BoundMemory, Line, Prediction, Request, Said, Words
from advisor.machine.machine import Tool
from advisor.machine.sources.scheduler import VERSIONS

Lines = Callable[[], Iterator[str]]
"""A file's lines, made when they are written: a rankfile of a million ranks is never held in memory."""


@dataclass(frozen=True)
class LaunchRequest:
    """What is to be started, and with what."""

    command: tuple[str, ...]
    version: str | None = None
    """The launcher's version, 5.0.6; None if unknown: then the form that all versions understand."""
    exact: bool = False
    """Whether the exact form (rankfile, masks) is wanted even where a short one is faithful."""
    report: bool = False
    """Whether the launcher shall print the bindings it makes."""
    scheduler: str | None = None
    """slurm, pbs: the hosts come from it."""
    unnamed: bool = False
    """Whether the names of the hosts only stand for those that a job will have."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the job needs beside those of the launcher: OMP_NUM_THREADS, UCX_NET_DEVICES."""
    wrap: bool = False
    """Whether the portable wrapper does the binding and the launcher none."""
    each: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variables that differ among the ranks of a host, such as that of their GPU: the value of each local rank."""
    gpus: int = 0
    """How many GPUs a host has where ranks choose among them; 0 if they need not."""


@dataclass(frozen=True)
class Avoided:
    """A form that was not used."""

    form: str
    reason: str


@dataclass(frozen=True)
class Launch:
    """How a placement is carried out by one launcher."""

    launcher: str
    version: str | None
    form: str
    """The form used, in a few words: ppr, rankfile, cpu-bind masks."""
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set before the line; those that ranks need are also passed on by options where the launcher wants it."""
    files: Mapping[str, Lines] = field(default_factory=dict)
    """Names of files beside the line, such as rankfile, and their lines, without line ends."""
    avoided: tuple[Avoided, ...] = ()
    notes: tuple[str, ...] = ()
    memory: bool = False
    """Whether it gives ranks the memory of the plan itself, where that is not what their CPUs give them."""


@dataclass(frozen=True)
class RankVariables:
    """The variables by which a launcher tells each process its rank, the number of ranks, and its place on the host."""

    rank: tuple[str, ...]
    size: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    inherited: bool = False
    """Whether what is started inside by another launcher inherits them: then they count last."""


JOB_SCRIPTS = ("slurm", "pbs", "flux", "lsf", "sge")
"""The schedulers whose job scripts are written."""


USUAL_SCRIPTS = ("slurm", "pbs", "lsf", "sge")
"""Those of launchers that start ranks in any job; of other schedulers a launcher says that it is theirs."""


@dataclass(frozen=True)
class JobScript:
    """What job scripts must know of a launcher."""

    schedulers: tuple[str, ...] | None = None
    """The schedulers in whose jobs alone it starts anything; None: in any."""
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Lines of shell before the launch, by scheduler, one of JOB_SCRIPTS."""


Options = Mapping[str, tuple[int, str]]
"""How many words follow an option, and what it means; {0} and {1} are those words."""


def option_table(text: str) -> tuple[Options, Mapping[str, str]]:
    """Return the options that a table has, one a line, and their other spellings.

    >>> option_table("-n -np 1 starts {0} ranks")
    ({'-n': (1, 'starts {0} ranks')}, {'-np': '-n'})
    """
    options: dict[str, tuple[int, str]] = {}
    aliases: dict[str, str] = {}
    for row in filter(None, map(str.strip, text.splitlines())):
        names, count, meaning = re.split(r" (\d) ", row, maxsplit=1)
        name, *others = names.split()
        options[name] = int(count), meaning
        aliases |= dict.fromkeys(others, name)
    return options, aliases


@dataclass(frozen=True)
class Dialect:
    """How the lines of a launcher are read. What is left out is done in the plain way, and of ranks nothing is told."""

    programs: tuple[str, ...]
    """What its lines start with; the first stands for it on a page."""
    options: Options
    """A closed table: a word that is not in it is named and never guessed at."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of options."""
    verbs: tuple[str, ...] = ()
    """What stands between the program and its options, one of these: run, submit."""
    ranks: Callable[[Prediction], tuple[LintRank, ...]] | None = None
    """Tells where each rank goes; raises lint.outcome.Refused or Unclear. None: it is not told."""
    request: Callable[[Line, Request], Request] | None = None
    """Adds what a line asks for to its variables; None: its ranks, by -n, -np or --ntasks."""
    claim: Callable[[Words, frozenset[str]], int] = lambda _words, _tools: 0
    """Of launchers that share a program (mpirun), says how surely a line is this one's; the tools on the machine help."""
    memory: Callable[[Prediction, int], BoundMemory | None] = lambda _case, _ranks: None
    """Returns where the launcher's own words take the memory of so many local ranks from; None if they do not say it."""
    which: Callable[[Words, str | None, str | None, Sequence[Tool]], tuple[str, str | None, str]] | None = None
    """Of a family, returns the launcher, its version and what tells them; it gets the number and the name that were said."""
    lists: Callable[[Prediction], Iterator[LintWarning]] | None = None
    """Yields warnings about the lists of CPUs in a line."""
    spellings: Callable[[str], Sequence[str]] = lambda name: (name,)
    """Returns the names under which an option is looked up."""
    glued: re.Pattern[str] | None = None
    """Options whose value may be in the same word: -n4; its groups are the option, a sign, the value."""
    equals: bool = False
    """Whether the value of an option with one hyphen may follow a sign of equality."""
    settle: Callable[[list[Said], Sequence[str], int], tuple[list[Said], int]] | None = None
    """Takes words between the options and the program: hosts, variables."""
    binds: bool = True
    """Whether it binds ranks where the line says nothing of it."""
    parted: bool = True
    """Whether a last colon without a program after it is nothing."""


def _no_line(_total: int, _hosts: Sequence[str]) -> None:
    """Return None: lines are not translated to it."""


@dataclass(frozen=True)
class Launcher:
    """A launcher: each module of the folder launchers has one, LAUNCHER; of versions that differ LAUNCHERS."""

    name: str
    """What it is called here and with --launcher."""
    title: str
    """What it is called on a page."""
    order: int
    """Its place in lists: what most clusters have comes first."""
    launch: Callable[[Placement, LaunchRequest], Launch]
    """Returns how it carries a placement out; raises BadValue in one line where it cannot."""
    aliases: tuple[str, ...] = ()
    """Other names that people give it; no other launcher's."""
    tools: tuple[str, ...] = ()
    """What Machine.tools calls it: rows of VERSIONS in advisor/machine/sources/scheduler.py; () if nothing tells."""
    variables: tuple[str, ...] = ()
    """How its own variables begin: what is set for it means nothing to others."""
    ranks: RankVariables | None = None
    """How it tells ranks their numbers, which the wrapper and advisor verify need; None of none of its own."""
    without_binding: tuple[str, ...] = ()
    """The words that make it leave binding alone; () if it is none that starts ranks itself."""
    job: JobScript = field(default_factory=JobScript)
    dialect: Dialect | None = None
    """How its lines are read; None if it has none of its own."""
    unbound_line: Callable[[int, Sequence[str]], tuple[str, ...] | None] = _no_line
    """Returns the words, up to the program, of a line of so many ranks on these hosts that are not bound."""


OTHERS = ("ibrun", "ccc_mprun", "yod", "poe")
"""Programs of launchers whose lines are neither written nor read here: they are refused by name."""
_SUPPOSED = "openmpi"
"""What most clusters have."""


@dataclass(frozen=True)
class Choice:
    """A launcher, its version where it is known, and why it was taken."""

    launcher: Launcher
    version: str | None
    why: str


@cache
def launchers() -> Mapping[str, Launcher]:
    """Return the launchers by name, in their order."""
    modules = [import_module(f"{folder.__name__}.{info.name}") for info in iter_modules(folder.__path__)]
    every: list[Launcher] = [each for module in modules for each in getattr(module, "LAUNCHERS", ()) or (module.LAUNCHER,)]
    return {launcher.name: launcher for launcher in sorted(every, key=lambda launcher: launcher.order)}


@cache
def of_lines() -> Mapping[str, Dialect]:
    """Return how the lines of each launcher are read, of those that have lines of their own."""
    return {name: launcher.dialect for name, launcher in launchers().items() if launcher.dialect}


def title_of(name: str) -> str:
    """Return what a launcher is called on a page."""
    return launchers()[name].title if name in launchers() else name


def names(*, starting: bool = False) -> tuple[str, ...]:
    """Return what can be asked for, those of a family by its one name; ``starting``: only what starts ranks itself."""
    some = (each for each in launchers().values() if each.without_binding or not starting)
    return tuple(dict.fromkeys(re.sub(r"\d+$", "", each.name) for each in some))


def is_foreign(variable: str, launcher: Launcher | None = None) -> bool:
    """Whether a variable is set for a launcher, and not for this one."""
    own = launcher.variables if launcher else ()
    return not variable.startswith(own) and any(variable.startswith(each.variables) for each in launchers().values())


def rank_variables(kind: Literal["rank", "size", "local"]) -> tuple[str, ...]:
    """Return the variables by which ranks are told; those that are inherited come last."""
    told = sorted((each.ranks for each in launchers().values() if each.ranks), key=lambda each: each.inherited)
    return tuple(dict.fromkeys(name for each in told for name in getattr(each, kind)))


def find(name: str, version: str | None = None) -> Launcher:
    """Return the launcher of a name or an alias; of those of a family, openmpi4 and openmpi5, the one for the version."""
    wanted = name.lower()
    family = _family(wanted)
    if wanted not in launchers() and family and (version is not None or not _aliased(wanted)):
        numbers = version_of(version)
        fitting = [number for number in family if not numbers or number <= numbers[0]]
        return family[max(fitting) if fitting else min(family)]
    found = launchers().get(wanted) or _aliased(wanted)
    if found is None:
        every = [*launchers(), *{re.sub(r"\d+$", "", each) for each in launchers()}]
        every += [alias for each in launchers().values() for alias in each.aliases]
        cure = did_you_mean(wanted, every, f"available: {', '.join(launchers())}")
        raise BadValue(f"unknown launcher {name[:40]}", cure=cure)
    return found


def _aliased(name: str) -> Launcher | None:
    return next((each for each in launchers().values() if name in each.aliases), None)


def _family(name: str) -> dict[int, Launcher]:
    """Return the launchers that are this name and a number, by the number."""
    matches = ((re.fullmatch(rf"{re.escape(name)}(\d+)", each), launcher) for each, launcher in launchers().items())
    return {int(match[1]): launcher for match, launcher in matches if match}


def choose(
    tools: Iterable[Tool] | None, name: str | None = None, version: str | None = None, scheduler: str | None = None
) -> Choice:
    """Return the launcher of a name, else the one found on the machine, else Open MPI."""
    there = [(tool, launcher) for tool in tools or () if (launcher := _of_tool(tool))]
    if name is not None:
        return _named(name, version, there)
    mpi = [pair for pair in there if not pair[1].job.schedulers]
    for tool, launcher in (*mpi, *there):
        if version is not None:
            return Choice(find(tool.name, version), version, f"{tool.name} is on this machine; the version was given")
        if not launcher.job.schedulers:
            return Choice(launcher, _version(tool), f"{_said(tool)} is on this machine")
        here = scheduler in launcher.job.schedulers
        job = f"{_job(scheduler)}, and no mpirun was found on this machine" if here else "it is the only launcher on this machine"
        return Choice(launcher, tool.version, f"{_said(tool)}: {job}")
    looked = "no launcher was found on this machine" if tools is not None else "the launchers on this machine are unknown"
    if own := next((each for each in launchers().values() if scheduler in (each.job.schedulers or ())), None):
        return Choice(own, version, f"{_job(scheduler)}, and {looked}")
    given = "; the version was given" if version else ""
    return Choice(find(_SUPPOSED, version), version, f"Open MPI assumed, because {looked}; choose with --launcher{given}")


def _job(scheduler: str | None) -> str:
    return f"this is a {(scheduler or '').capitalize()} job"


def _version(tool: Tool) -> str | None:
    """Return the launcher's version: PRRTE's own number is not that of the Open MPI it belongs to."""
    own = next((query.own for query in VERSIONS if query.tool == tool.name), True)
    return tool.version if own else None


def _said(tool: Tool) -> str:
    return f"{tool.name} {tool.version or '(version not known)'}"


def _of_tool(tool: Tool) -> Launcher | None:
    try:
        return find(tool.name, _version(tool))
    except BadValue:
        return None


def _named(name: str, version: str | None, there: Iterable[tuple[Tool, Launcher]]) -> Choice:
    if version is not None:
        return Choice(find(name, version), version, "as requested")
    plain = find(name)
    same = _family(name.lower()).values() if name.lower() not in launchers() else (plain,)
    for tool, launcher in there:
        if launcher is plain or launcher in same:
            return Choice(launcher, _version(tool), f"as requested; {_said(tool)} is on this machine")
    return Choice(plain, None, "as requested")


PLACEHOLDERS = ("NODE", "HOST", "PLACE", "ADVISORNODE")
"""What the names of hosts begin with that only stand for names (advisor bind --nodes)."""


class Failure(NamedTuple):
    """A complaint of a launcher, and what it means; ``{0}`` is what the complaint names."""

    says: str
    cause: str
    cure: str


_STANDS = rf"(?:{'|'.join(PLACEHOLDERS)})[0-9]+"


FAILURES = (
    Failure(
        r"(\w+) has detected an attempt to run as root",
        "{0} refuses to start as root",
        "run it as another user, or in a container set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    Failure(
        r"There are not enough slots available in the system to satisfy the (\d+)",
        "the launcher has fewer slots than the {0} requested",
        "run this inside the job, or give each host its slots: --host NAME:RANKS, or NAME slots=RANKS in the hostfile",
    ),
    Failure(
        rf"(?:resolve hostname |bstrap_proxy on |Invalid node name specified.*?)({_STANDS})\b",
        "{0} is a placeholder for a host whose name was unknown",
        "plan again with --hosts, or inside the job: advisor bind --hosts a,b -o DIR -- ./app",
    ),
    Failure(
        r"resolve hostname ([^\s:]+)",
        "host {0} is unknown here",
        "check the names with getent hosts {0}, and plan again with --hosts",
    ),
    Failure(
        r"ssh: connect to host ([^\s:]+) port \d+: (.+)|([^\s:@]+@[^\s:]+): (Permission denied.*)|(Host key verification failed)",
        "ssh cannot reach a host ({0})",
        "ssh must work without a password: ssh -o BatchMode=yes HOST true",
    ),
    Failure(
        r"Unable to run bstrap_proxy on ([^\s:]+)",
        "Intel MPI cannot start on {0}",
        "check that the host exists and needs no password: ssh -o BatchMode=yes {0} true",
    ),
    Failure(
        r"Could not establish a configuration source|Unable to contact slurm controller",
        "srun cannot reach a Slurm controller from here",
        "run this on a login node or in a job of the cluster, or plan for another --launcher",
    ),
    Failure(
        r"Requested node configuration is not available|More processors requested than permitted",
        "the Slurm job has fewer CPUs or nodes than the plan",
        "request whole nodes (salloc --exclusive -N ...), and run this inside that job",
    ),
    Failure(
        r"(?:error while loading shared libraries: )([^\s:]+)",
        "{0} was not found",
        "load the module of the MPI the plan is for",
    ),
    Failure(
        r"(?:cannot open|Can't open|can't open) '?((?:[^\s:']*/)?(?:bind-wrapper\.sh|rankfile|hostfile))",
        "{0} is not at the path given in the launch line",
        "advisor bind -o DIR -- ./app writes it; the folder must be the same on every host",
    ),
    Failure(
        r"(?:Executable: |execvp error on file |execve\(\): )([^\s:]+)",
        "{0} cannot be started on a host",
        "give a path that is the same on every host, or load the program's module on each host",
    ),
    Failure(
        r"requested more processes than the ppr",
        "ranks are counted per part, and this node has fewer such parts than the plan's node",
        "plan again on this node, or name the node the plan is for",
    ),
    Failure(
        r"unable to reliably start one or more daemons|A daemon failed to report back",
        "Open MPI cannot start daemons on the other hosts",
        "check that ssh HOST works without a password and finds the same Open MPI there (mpirun --prefix)",
    ),
)


def why_failed(complaints: str, line: str = "") -> str | None:
    """Return the first cause that the complaints about a line show, with its cure; None where none is known.

    >>> why_failed("ssh: Could not resolve hostname node01: Name or service not known")
    'host node01 is unknown here; check the names with getent hosts node01, and plan again with --hosts'
    """
    for name in set(re.findall(rf"\b{_STANDS}\b", line)):
        complaints = complaints.replace(name.lower(), name)  # ssh writes the names of hosts small
    for each in FAILURES:
        match = re.search(each.says, complaints)
        if match:
            named = ": ".join(word[:120] for word in match.groups() if word)
            return f"{each.cause}; {each.cure}".replace("{0}", named)
    return None
