"""Proves where ranks sit: runs a launch line with the probe where the command stands, or looks at processes that run."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork
from advisor.jobs.launcher import why_failed
from advisor.jobs.launchers.wrapper import FILE as WRAPPER
from advisor.jobs.line import parse, program_at
from advisor.jobs.observe import (
    Caution,
    Comparison,
    GatheredReports,
    Listener,
    PlannedBinding,
    RunningProcesses,
    probe_script,
    probe_words,
    processes_named,
    read_processes,
    reported,
    same_host,
)
from advisor.jobs.started.hosts import plan_in, read_bytes
from advisor.jobs.verdict import as_gathered, cautions, compare_ranks, running_document
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.files import Use, trusted
from advisor.machine.hosts.live import LiveHost
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.topology import Topology
from advisor.paths import template
from advisor.show.commandline import word

STANDS_FOR = "{}"
"""What stands for the command in a launch line."""
SCRIPT = "launch.sh"
_HERE = '"$here"'
_STATEMENT = re.compile(r"^(?:here=\$\(cd [^\n]*|(export) ([A-Za-z_][A-Za-z0-9_]*)=(.*)|(exec) (.*))$", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'")
_SHELL = re.compile(r"[$`;|&<>(){}*?\\#~]")


class Line(NamedTuple):
    """How ranks are started."""

    argv: tuple[str, ...]
    """With STANDS_FOR for each command in it."""
    variables: dict[str, str]
    whole: tuple[str, ...] = ()
    """With the commands themselves; () if STANDS_FOR was written."""

    @property
    def launcher(self) -> str:
        """Whose line it is; nothing where that is not known."""
        try:
            return parse(self.argv).family or ""
        except AdvisorError:
            return ""


def line_of(words: Sequence[str], variables: dict[str, str] | None = None) -> Line:
    """Return a line with STANDS_FOR for its command: where that is written, else where the launcher's options end."""
    if STANDS_FOR in words:
        return Line(tuple(words), variables or {})
    if not words:
        raise CannotWork(f"no launch line; add it after --, with {STANDS_FOR} in place of the command")
    return Line(tuple(_replaced(words)), variables or {}, tuple(words))


def _replaced(words: Sequence[str]) -> Iterator[str]:
    cure = f"write {STANDS_FOR} in place of the command: -- mpirun -n 4 --bind-to core {STANDS_FOR}"
    try:
        line = parse(words)
    except BadInput as error:
        raise BadInput(error.problem, cure=cure) from error
    rest = len(line.words.rest)
    commands = [segment.command for segment in line.segments]
    if tuple(words[len(words) - rest :]) != line.words.rest or not all(commands):
        raise BadInput("the launch line does not show where its command starts", cure=cure)
    yield from words[: len(words) - rest]
    at = 0
    for command in commands:
        while tuple(line.words.rest[at : at + len(command)]) != command or _goes_on(line.words.rest, at + len(command)):
            yield line.words.rest[at]
            at += 1
        yield from _kept(command)
        yield STANDS_FOR
        at += len(command)
    yield from line.words.rest[at:]


def _goes_on(words: Sequence[str], at: int) -> bool:
    """Return whether a segment of the line has not ended at a word."""
    return at < len(words) and words[at] != ":"


def _kept(command: Sequence[str]) -> Sequence[str]:
    """Return what of a command is no application: the wrapper that binds, numactl or taskset, and env with its variables."""
    if len(command) > 1 and command[0] == "sh" and command[1].rpartition("/")[2] == WRAPPER:
        return command[:2]
    return command[: program_at(command)]


def line_in(folder: Path) -> Line:
    """Return the line of a folder that advisor bind wrote: of its launch.sh, in which there is nothing but words."""
    name = str(folder / SCRIPT)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():  # its files name programs, too
        trusted(path, Use.RUNS)
    cure = f"use advisor verify --plan {word(str(folder / 'plan.json'))} -- LINE, with {STANDS_FOR} in place of the command"
    try:
        text = read_bytes(name, "launch script").decode("utf-8", "surrogateescape")
        variables: dict[str, str] = {}
        for export, key, value, words in _statements(text.replace(_HERE, shlex.quote(str(folder.absolute()))), name):
            if not export:
                return line_of(words)._replace(variables=variables)
            variables[key] = value
    except ValueError as error:
        raise BadInput(f"cannot be read: {error}", file=name, cure=cure) from error
    except BadInput as error:
        raise BadInput(error.problem, file=error.file or name, cure=cure) from error
    raise BadInput("it does not start a launcher", file=name, cure=cure)


def _statements(text: str, name: str) -> Iterator[tuple[bool, str, str, list[str]]]:
    """Yield the exports, and the words of the exec at the end; refuse what somebody has added by hand."""
    held = ""
    for line in text.splitlines():
        held = f"{held}\n{line}" if held else line
        if held.count("'") % 2:
            continue
        statement, held = held, ""
        if not statement.strip() or statement.startswith("#"):
            continue
        match = _STATEMENT.match(statement)
        changed = match and _SHELL.search(_QUOTED.sub("", match[3] or match[5] or ""))
        if not match or changed:
            raise BadInput("it differs from what advisor bind wrote", file=name)
        if match[1]:
            yield True, match[2], "".join(shlex.split(match[3])[:1]), []
        elif match[4]:
            yield False, "", "", shlex.split(match[5])


def verify(
    folder: str | Path | None = None,
    *,
    plan: str | None = None,
    line: Sequence[str] = (),
    observed: str | None = None,
    source: str | None = None,
    timeout: float = 60.0,
    observer: Observer = SILENT,
) -> Comparison:
    """Return how ranks sit beside their plan: that of a folder which ``bind`` wrote, or a plan's file with a launch line.

    With ``observed`` nothing is run: the file holds what the probe printed in a job. ``source`` is what its nodes are.
    """
    if plan == "-" and observed == "-":
        raise BadValue("--plan and --observed both read standard input", cure="give one of them as a file")
    if plan is None and folder is None:
        raise CannotWork(
            "verify needs a plan: DIR from advisor bind -o DIR -- ./app, --plan plan.json, or --pid or --job of a running "
            "application"
        )
    place = Path(folder) if plan is None and folder is not None else None
    if plan != "-":
        trusted(place / "plan.json" if place else str(plan), Use.NAMED)
    wanted = plan_in(str(place / "plan.json") if place else str(plan))
    if observed is not None:
        gathered, ended, launcher = reported(read_bytes(observed, "output of a job")), None, ""
        if not gathered.ranks:
            raise CannotWork(f"{observed}: contains no probe output{_alone(gathered)}")
    else:
        started = line_in(place) if place else line_of(line)
        (gathered, ended), launcher = _launched(started, timeout, observer), started.launcher
    comparison = compare_ranks(wanted.ranks, gathered, _topology(wanted, source, observer), launcher)
    return comparison.but(notes=(*comparison.notes, *_ending(ended, timeout)))


def program_line(folder: str | Path | None, words: Sequence[str]) -> Line:
    """Return the line that verify --then becomes where ranks are as planned; refuse one without its program."""
    line = line_in(Path(folder)) if folder is not None else line_of(words)
    if not line.whole:
        cure = "give the whole line: advisor verify --then --plan plan.json -- mpirun -n 4 ./app"
        raise BadValue(f"--then must start the program, but the line has {STANDS_FOR} in its place", cure=cure)
    return line


def become(line: Line) -> NoReturn:
    """Start the line with its program in the place of this process: its output, its input and its status are the caller's."""
    why = LiveHost().become(line.whole, line.variables)
    raise CannotWork(f"{line.whole[0]} {'was not found' if why is Why.ABSENT else 'cannot be started'}")


def _topology(plan: PlannedBinding, source: str | None, observer: Observer) -> Topology | None:
    """Return the nodes' topology: of --from, or the plan's own, or this machine's where the plan has no host."""
    if source is not None:
        return read_machine(source, observer).topology
    if plan.topology is not None or any(each.host not in (None, "localhost") for each in plan.ranks):
        return plan.topology
    return read_machine(None, observer).topology


def _launched(line: Line, timeout: float, observer: Observer) -> tuple[GatheredReports, Ran]:
    """Run a line with the probe for the command; refuse to judge where no rank has reported."""
    words = probe_words(template("probe.sh.j2"))
    argv = tuple(word for each in line.argv for word in (words if each == STANDS_FOR else (each,)))
    listener = Listener()
    try:
        ran = LiveHost().launch(argv, listener.hear, timeout=timeout, variables=line.variables)
    except KeyboardInterrupt:
        observer.say("the launcher and the processes it started here were stopped")
        raise
    if ran.why in (Why.ABSENT, Why.REFUSED):
        why = "was not found" if ran.why is Why.ABSENT else "is not executable"
        raise CannotWork(f"{argv[0]} {why}; load the module of the plan's MPI, or give its path")
    gathered = listener.gathered()
    if not gathered.ranks:
        raise CannotWork(f"no rank has reported{_alone(gathered)}; {_how(ran, timeout, ' '.join(line.argv))}")
    return gathered, ran


def _alone(gathered: GatheredReports) -> str:
    if gathered.alone:
        return (
            f", but {gathered.alone} processes got no rank from any launcher: give srun --mpi=pmi2 or pmix, or use another "
            f"launcher"
        )
    return f", but {gathered.damaged} damaged lines" if gathered.damaged else ""


def _how(ran: Ran, timeout: float, line: str = "") -> str:
    if ran.why is None and (known := why_failed(ran.err.decode("utf-8", "replace"), line)):
        return known
    said = _last(ran.err)
    if ran.why is Why.TIMEOUT:
        return f"the launcher was stopped after {timeout:g} s (--timeout){said}"
    return f"the launcher exited with status {ran.status}{said}" if ran.why is None else f"the launcher {ran.why.value}{said}"


def _last(errors: bytes) -> str:
    """Return the last line with a word in it, as a launcher frames its complaints with dashes."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    words = next((line for line in reversed(lines) if any(letter.isalnum() for letter in line)), None)
    return f": {words[:300]}" if words else ", without a message"


def _ending(ran: Ran | None, timeout: float) -> tuple[str, ...]:
    """Return a note on a launcher that ended badly, or that warned of a binding that it could not make and went on."""
    if ran is None or (ran.why is None and ran.status == 0):
        refused = ran is not None and (
            b"tried to bind a process but failed" in ran.err or b"hwloc_set_cpubind returned" in ran.err
        )
        return ("the launcher reports that it could not bind, and continued",) if refused else ()
    return (_how(ran, timeout),)


def probe() -> str:
    """Return the script that each rank of a job may run to say where it is."""
    return probe_script(template("probe.sh.j2"))


def prolog() -> str:
    """Return the same as a prolog of Slurm's tasks: what it prints behind the word print goes to the task's output (srun(1))."""
    first, _, rest = probe().partition("\n")
    return f"{first}\nprintf 'print '\n{rest}"


class Running(NamedTuple):
    """Processes that run here, what to warn of, and how they sit beside a plan where there is one."""

    found: RunningProcesses
    cautions: tuple[Caution, ...]
    topology: Topology
    comparison: Comparison | None

    @property
    def good(self) -> bool:
        """Whether nothing differs from the plan, or without one nothing is to be warned of."""
        return self.comparison.equal if self.comparison else not self.cautions

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor verify --pid --json``."""
        return running_document(*self)


def running(
    pids: Sequence[str | int] = (), program: str | None = None, *, plan: str | None = None, observer: Observer = SILENT
) -> Running:
    """Return where processes of this machine may run and where their memory is."""
    host = LiveHost()
    found = read_processes(host, _pids(host, [str(pid) for pid in pids], program))
    if not found.processes:
        raise CannotWork("; ".join(found.unread))
    machine = read_machine(None, observer)
    comparison = _against(plan, found, machine.topology) if plan is not None else None
    return Running(found, cautions(machine, found.processes), machine.topology or Topology(), comparison)


def _pids(host: LiveHost, given: list[str], job: str | None) -> list[int]:
    """Return the processes that are meant; this one is never."""
    numbers = [word.strip() for each in given for word in each.split(",")]
    wrong = next((word for word in numbers if not (word.isascii() and word.isdecimal() and len(word) < 10)), None)
    if wrong is not None:
        raise BadValue(f"--pid {wrong[:40]!a} is not a process ID", cure="give numbers: --pid 4711,4712")
    of_job = [pid for pid in processes_named(host, job) if pid != os.getpid()] if job is not None else []
    if job is not None and not of_job:
        raise CannotWork(f"no process named {job[:60]!a} is running here; run this on a node of the job; ps -e shows names")
    return [int(word) for word in numbers] + of_job


def _against(plan: str, found: RunningProcesses, topology: Topology | None) -> Comparison:
    """Compare running ranks with those that the plan has for this host."""
    here = [each for each in plan_in(plan).ranks if same_host(each.host, found.host)]
    if not here:
        raise BadValue(f"the plan has no rank on {found.host or 'this host'}", cure="run this on a node in the plan")
    return compare_ranks(here, as_gathered(found), topology)
