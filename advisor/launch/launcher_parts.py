"""What parts a launcher's module must have, and of what kind: half a launcher is refused in one line that names file and part."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from string import Formatter
from types import ModuleType, TracebackType
from typing import Any, Final, cast

from advisor.errors import BadInput, CannotWork
from advisor.launch.launcher import (
    JOB_SCRIPTS,
    Dialect,
    JobScript,
    Launch,
    Launcher,
    LaunchRequest,
    RankVariables,
    VersionQuery,
)
from advisor.model.hardware.operating_system import SCHEDULERS
from advisor.model.placement import Placement

_CURE: Final = "docs/adding.md says what a launcher has"


def file_of(name: str) -> str:
    """Return the file of a launcher as messages name it."""
    return f"advisor/launch/launchers/{name}.py"


def loaded(name: str) -> Launcher:
    """Return the launcher of a module; raise BadInput, in one line, of one that cannot be read or is half a launcher."""
    try:
        module = import_module(f"{__package__}.launchers.{name}")
    except (SyntaxError, ImportError, NameError, AttributeError, TypeError, ValueError, LookupError, re.error) as error:
        place = _line(error.__traceback__, file_of(name))
        raise BadInput(f"this launcher cannot be loaded: {error}", file=file_of(name), place=place, cure=_CURE) from error
    return checked(module)


def _line(trace: TracebackType | None, file: str) -> str | None:
    """Return the line of a file at which a traceback last was."""
    found = None
    while trace is not None:
        found = f"line {trace.tb_lineno}" if trace.tb_frame.f_code.co_filename.endswith(file) else found
        trace = trace.tb_next
    return found


def checked(module: ModuleType) -> Launcher:
    """Return a module as a launcher; raise BadInput, in one line, of one with a part that is missing or is no such part."""
    name = module.__name__.rpartition(".")[2]
    lacking = [part for part in PARTS if not hasattr(module, part)]
    if lacking:
        raise BadInput(f"this launcher lacks {', '.join(lacking)}", file=file_of(name), cure=_CURE)
    for part, (fits, wanted) in PARTS.items():
        if not fits(getattr(module, part)):
            raise BadInput(f"its {part} is not {wanted}", file=file_of(name), cure=_CURE)
    for problem in (*_in_job(module.JOB), *_in_lines(module.LINES)):
        raise BadInput(f"its {problem}", file=file_of(name), cure=_CURE)
    launcher = cast(Launcher, module)
    if name != launcher.NAME:
        raise BadInput(f"its NAME is {launcher.NAME[:40]!a}", file=file_of(name), cure="it is the name of its module")
    return launcher


def _words(value: Any) -> bool:
    """Whether a value is a tuple of words, which may be empty: a text in parentheses without a comma is none."""
    return isinstance(value, tuple) and all(isinstance(word, str) and word for word in value)


def _is_query(value: Any) -> bool:
    try:
        good = isinstance(value, VersionQuery) and re.compile(value.says, re.MULTILINE).groups <= 1
    except (re.error, TypeError):
        return False
    lines = value.commands if good and isinstance(value.commands, tuple) else (None,)
    return bool(good and value.tool and isinstance(value.tool, str)) and all(_words(argv) and argv for argv in lines)


def _is_variables(value: Any) -> bool:
    each = isinstance(value, RankVariables)
    return value is None or bool(each and value.rank and all(map(_words, (value.rank, value.size, value.local))))


def _in_job(job: JobScript) -> Iterator[str]:
    """Yield what is wrong with what job scripts must know."""
    if job.schedulers is not None and not (_words(job.schedulers) and set(job.schedulers) <= set(SCHEDULERS)):
        yield f"JOB.schedulers is not None or a tuple of {', '.join(SCHEDULERS)}"
    if not isinstance(job.lines, Mapping) or not set(job.lines) <= set(JOB_SCRIPTS):
        yield f"JOB.lines is not a mapping whose keys are of {', '.join(JOB_SCRIPTS)}, of which job scripts are written"
    elif not all(map(_words, job.lines.values())):
        yield 'JOB.lines is not a mapping to tuples of lines: {"slurm": ("unset X",)}'


def _in_lines(lines: Dialect | None) -> Iterator[str]:
    """Yield what is wrong with how lines are read."""
    if lines is None:
        return
    if not _words(lines.programs) or not lines.programs:
        yield 'LINES.programs is not a tuple of words: ("mpirun",)'
    if not _words(lines.verbs):
        yield 'LINES.verbs is not a tuple of words: ("run",) or ()'
    if not isinstance(lines.options, Mapping) or not isinstance(lines.aliases, Mapping):
        yield "LINES.options and LINES.aliases are not both mappings of words"
        return
    for name, means in lines.options.items():
        if not _is_meaning(means):
            yield f'LINES.options[{name!a}] is not (how many words follow, what it means): (1, "starts {{0}} ranks")'
    for name, other in lines.aliases.items():
        if other not in lines.options:
            yield f"LINES.aliases[{name!a}] is {other!a}, which is not in LINES.options"


def _is_meaning(value: Any) -> bool:
    """Whether a value is a count of words and a text that speaks of no others."""
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int) and isinstance(value[1], str)):
        return False
    try:
        spoken = {field for _, field, _, _ in Formatter().parse(value[1]) if field is not None}
    except ValueError:
        return False
    return spoken <= {str(position) for position in range(value[0])}


@contextmanager
def faults_of(name: str, part: str) -> Iterator[None]:
    """Turn a slip in a launcher's own part into one line that names its file, the line in it, and the part."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, TypeError, ValueError) as error:
        where = ": ".join(filter(None, (file_of(name), _line(error.__traceback__, file_of(name)))))
        raise CannotWork(f"{where}: its {part} fails: {type(error).__name__}: {error}; {_CURE}") from error


def carried_out(launcher: Launcher, placement: Placement, wish: LaunchRequest) -> Launch:
    """Return how a launcher carries a placement out; raise BadInput, in one line, of one that returns something else."""
    with faults_of(launcher.NAME, "launch"):
        made: object = launcher.launch(placement, wish)
    if not isinstance(made, Launch) or not made.argv or not _texts(made.argv):
        raise BadInput("its launch returns no Launch with the words of a line", file=file_of(launcher.NAME), cure=_CURE)
    return made


def without_binding(launcher: Launcher, total: int, hosts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the words of a launcher's line whose ranks are not bound; raise BadInput, in one line, of what is none."""
    with faults_of(launcher.NAME, "unbound"):
        words: object = launcher.unbound(total, hosts)
    if words is not None and not _texts(words):
        raise BadInput("its unbound returns no tuple of words, and not None", file=file_of(launcher.NAME), cure=_CURE)
    return cast("tuple[str, ...] | None", words)


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(word, str) for word in value)


def _takes_two(value: Any) -> bool:
    """Whether a value can be called with two arguments."""
    try:
        signature(value).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


PARTS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "NAME": (lambda value: isinstance(value, str) and value.isidentifier(), "a text, the name of its module"),
    "TITLE": (lambda value: isinstance(value, str) and bool(value.strip()), "a text"),
    "ALIASES": (_words, 'a tuple of texts: ("hpc-run",) or ()'),
    "ORDER": (lambda value: isinstance(value, int), "a whole number"),
    "VERSIONS": (
        lambda value: isinstance(value, tuple) and all(map(_is_query, value)),
        "a tuple of VersionQuery, each with a tool, commands as tuples of words, and an expression of at most one group; or ()",
    ),
    "VARIABLES": (_words, 'a tuple of texts: ("SLURM_",) or ()'),
    "RANKS": (_is_variables, "RankVariables, whose variables are tuples of texts and whose rank is not empty; or None"),
    "UNBOUND": (_words, 'a tuple of words: ("--bind-to", "none") or ()'),
    "JOB": (lambda value: isinstance(value, JobScript), "a JobScript"),
    "LINES": (lambda value: value is None or isinstance(value, Dialect), "a Dialect, or None"),
    "launch": (_takes_two, "a function of (placement, wish)"),
    "unbound": (_takes_two, "a function of (total, hosts)"),
}
"""What a launcher has, whether a value is that, and what it has to be."""
