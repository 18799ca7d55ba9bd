"""What parts a launcher's module must have, and of what kind: half a launcher is refused in one line that names file and part."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import signature
from string import Formatter
from types import ModuleType, TracebackType
from typing import Any, Final, cast

from advisor.errors import BadInput
from advisor.launch.launcher import (
    JOB_SCRIPTS,
    Dialect,
    JobScript,
    Launcher,
    RankVariables,
    VersionQuery,
)
from advisor.model.hardware.operating_system import SCHEDULERS
from advisor.model.placement import LintRank, LintWarning

CURE: Final = "docs/adding.md says what a launcher has"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A variable's name, or how one begins: it is written into scripts."""


def file_of(name: str) -> str:
    """Return the file of a launcher as messages name it."""
    return f"advisor/launch/launchers/{name}.py"


def loaded(name: str) -> Launcher:
    """Return the launcher of a module; raise BadInput, in one line, of one that cannot be read or is half a launcher."""
    try:
        module = import_module(f"{__package__}.launchers.{name}")
    except (SyntaxError, ImportError, NameError, AttributeError, TypeError, ValueError, LookupError, re.error) as error:
        place = line_in(error.__traceback__, file_of(name))
        raise BadInput(f"this launcher cannot be loaded: {error}", file=file_of(name), place=place, cure=CURE) from error
    return checked(module)


def line_in(trace: TracebackType | None, file: str) -> str | None:
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
        raise BadInput(f"this launcher lacks {', '.join(lacking)}", file=file_of(name), cure=CURE)
    for part, (fits, wanted) in PARTS.items():
        if not fits(getattr(module, part)):
            raise BadInput(f"its {part} is not {wanted}", file=file_of(name), cure=CURE)
    for problem in (*_in_job(module.JOB), *_in_lines(module.LINES)):
        raise BadInput(f"its {problem}", file=file_of(name), cure=CURE)
    launcher = cast(Launcher, module)
    if name != launcher.NAME:
        raise BadInput(f"its NAME is {launcher.NAME[:40]!a}", file=file_of(name), cure="it is the name of its module")
    return launcher


def _words(value: Any) -> bool:
    """Whether a value is a tuple of words, which may be empty: a text in parentheses without a comma is none."""
    return isinstance(value, tuple) and all(isinstance(word, str) and word for word in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_variable(word: str) -> bool:
    return _VARIABLE.fullmatch(word) is not None


def _is_query(value: Any) -> bool:
    try:
        good = isinstance(value, VersionQuery) and re.compile(value.says, re.MULTILINE).groups <= 1
    except (re.error, TypeError):
        return False
    lines = value.commands if good and isinstance(value.commands, tuple) else (None,)
    return bool(good and value.tool and isinstance(value.tool, str)) and all(_words(argv) and argv for argv in lines)


def _is_variables(value: Any) -> bool:
    each = isinstance(value, RankVariables)
    names = each and all(map(_words, (value.rank, value.size, value.local)))
    return value is None or bool(names and value.rank and all(map(_is_variable, (*value.rank, *value.size, *value.local))))


def _in_job(job: JobScript) -> Iterator[str]:
    """Yield what is wrong with what job scripts must know."""
    if job.schedulers is not None and not (_words(job.schedulers) and set(job.schedulers) <= set(SCHEDULERS)):
        yield f"JOB.schedulers is not None or a tuple of {', '.join(SCHEDULERS)}"
    if not isinstance(job.lines, Mapping) or not set(job.lines) <= set(JOB_SCRIPTS):
        yield f"JOB.lines is not a mapping whose keys are of {', '.join(JOB_SCRIPTS)}, of which job scripts are written"
    elif not all(_words(lines) and all(line.isprintable() for line in lines) for lines in job.lines.values()):
        yield 'JOB.lines is not a mapping to tuples of lines: {"slurm": ("unset X",)}'


def _in_lines(lines: Dialect | None) -> Iterator[str]:
    """Yield what is wrong with how lines are read."""
    if lines is None:
        return
    if not _words(lines.programs) or not lines.programs or any("/" in word or not word.isprintable() for word in lines.programs):
        yield 'LINES.programs is not a tuple of names without a path: ("mpirun",)'
    if not _words(lines.verbs):
        yield 'LINES.verbs is not a tuple of words: ("run",) or ()'
    if lines.glued is not None and not isinstance(lines.glued, re.Pattern):
        yield "LINES.glued is not None or a compiled expression: re.compile(...)"
    yield from (f"LINES.{part} is not a function" for part in ANSWERS if not callable(getattr(lines, part) or print))
    if not isinstance(lines.options, Mapping) or not isinstance(lines.aliases, Mapping):
        yield "LINES.options and LINES.aliases are not both mappings of words"
        return
    yield from _in_options(lines)


def _in_options(lines: Dialect) -> Iterator[str]:
    """Yield what is wrong with the table of options and their other spellings."""
    for name, means in lines.options.items():
        if not _is_meaning(means):
            yield f'LINES.options[{name!a}] is not (how many words follow, what it means): (1, "starts {{0}} ranks")'
    for name in (name for name in (*lines.options, *lines.aliases) if not str(name).startswith("-")):
        yield f"LINES.{'options' if name in lines.options else 'aliases'}[{name!a}] is no option: it does not begin with a hyphen"
    for name, other in lines.aliases.items():
        if other not in lines.options:
            yield f"LINES.aliases[{name!a}] is {other!a}, which is not in LINES.options"
        elif name in lines.options:
            yield f"LINES.aliases[{name!a}] is {other!a}, and {name!a} is an option of its own in LINES.options"


def _is_meaning(value: Any) -> bool:
    """Whether a value is a count of words and a text that speaks of no others."""
    if not (isinstance(value, tuple) and len(value) == 2 and _is_number(value[0]) and isinstance(value[1], str)):
        return False
    try:
        spoken = {field for _, field, _, _ in Formatter().parse(value[1]) if field is not None}
    except ValueError:
        return False
    return value[0] >= 0 and bool(value[1].strip()) and spoken <= {str(position) for position in range(value[0])}


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
    "ALIASES": (
        lambda value: _words(value) and all(word == word.lower() for word in value),
        'a tuple of texts in small letters: ("hpc-run",) or ()',
    ),
    "ORDER": (_is_number, "a whole number"),
    "VERSIONS": (
        lambda value: isinstance(value, tuple) and all(map(_is_query, value)),
        "a tuple of VersionQuery, each with a tool, commands as tuples of words, and an expression of at most one group; or ()",
    ),
    "VARIABLES": (
        lambda value: _words(value) and all(map(_is_variable, value)),
        'a tuple of how variables begin: ("SLURM_",) or ()',
    ),
    "RANKS": (_is_variables, "RankVariables, whose variables are tuples of texts and whose rank is not empty; or None"),
    "UNBOUND": (_words, 'a tuple of words: ("--bind-to", "none") or ()'),
    "JOB": (lambda value: isinstance(value, JobScript), "a JobScript"),
    "LINES": (lambda value: value is None or isinstance(value, Dialect), "a Dialect, or None"),
    "launch": (_takes_two, "a function of (placement, wish)"),
    "unbound": (_takes_two, "a function of (total, hosts)"),
}
"""What a launcher has, whether a value is that, and what it has to be."""
ANSWERS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "ranks": (
        lambda value: isinstance(value, tuple) and all(isinstance(each, LintRank) for each in value),
        "a tuple of LintRank",
    ),
    "request": (lambda value: hasattr(value, "hosts"), "a Request"),
    "claim": (lambda value: isinstance(value, int), "a whole number"),
    "which": (lambda value: isinstance(value, tuple) and len(value) == 3, "the launcher, its version and how they are known"),
    "lists": (lambda value: all(isinstance(each, LintWarning) for each in value), "LintWarnings"),
    "spellings": (
        lambda value: isinstance(value, tuple | list) and all(isinstance(each, str) for each in value),
        "a tuple of words",
    ),
    "settle": (lambda value: isinstance(value, tuple) and len(value) == 2, "the options, and where the program stands"),
}
"""The functions of a Dialect, whether a value is what they return, and what that is."""
