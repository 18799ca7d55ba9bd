"""What a launcher is: a module of the folder launchers owns its names, versions, lines both ways, jobs, ranks' variables."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from advisor.jobs.placement import LintRank, LintWarning, Placement
from advisor.jobs.request import Line, Prediction, Request, Said, Words
from advisor.machine.operating_system import Tool

Lines = Callable[[], Iterator[str]]
"""A file's lines, made when they are written: a rankfile of a million ranks is never held in memory."""


@dataclass(frozen=True)
class LaunchRequest:
    """What is to be started, and with what."""

    command: tuple[str, ...]
    version: str | None = None
    """The launcher's version, 5.0.6; None where it is not known: then the form that all versions understand."""
    exact: bool = False
    """Whether the exact form (rankfile, masks) is wanted even where a short one is faithful."""
    report: bool = False
    """Whether the launcher shall print the bindings it makes."""
    scheduler: str | None = None
    """slurm, pbs: the hosts come from it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the job needs beside those of the launcher: OMP_NUM_THREADS, UCX_NET_DEVICES."""
    wrap: bool = False
    """Whether the portable wrapper does the binding and the launcher none."""


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


@dataclass(frozen=True)
class RankVariables:
    """The variables by which a launcher tells each process its rank, the number of ranks, and its place on the host."""

    rank: tuple[str, ...]
    size: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    inherited: bool = False
    """Whether what is started inside by another launcher inherits them: then they count last."""


JOB_SCRIPTS: Final = ("slurm", "pbs", "flux", "lsf", "sge")
"""The schedulers whose job scripts are written."""


USUAL_SCRIPTS: Final = ("slurm", "pbs", "lsf", "sge")
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
    """A launcher: each module of the folder launchers has one, LAUNCHER."""

    name: str
    """The name of its module."""
    title: str
    """What it is called on a page."""
    order: int
    """Its place in lists: what most clusters have comes first."""
    launch: Callable[[Placement, LaunchRequest], Launch]
    """Returns how it carries a placement out; raises BadValue in one line where it cannot."""
    aliases: tuple[str, ...] = ()
    """Other names that people give it; no other launcher's."""
    tools: tuple[str, ...] = ()
    """What Machine.tools calls it: rows of VERSIONS in advisor/machine/sources/scheduler.py; () where nothing tells."""
    variables: tuple[str, ...] = ()
    """How its own variables begin: what is set for it means nothing to others."""
    ranks: RankVariables | None = None
    """How it tells ranks their numbers, which the wrapper and advisor verify need; None of none of its own."""
    without_binding: tuple[str, ...] = ()
    """The words that make it leave binding alone; () where it is none that starts ranks itself."""
    job: JobScript = field(default_factory=JobScript)
    dialect: Dialect | None = None
    """How its lines are read; None where it has none of its own."""
    unbound_line: Callable[[int, Sequence[str]], tuple[str, ...] | None] = _no_line
    """Returns the words, up to the program, of a line of so many ranks on these hosts that are not bound."""
