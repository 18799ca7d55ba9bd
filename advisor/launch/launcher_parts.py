"""What parts a launcher's module must have, and of what kind: half a launcher is refused in one line that names file and part."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from types import ModuleType, TracebackType
from typing import Any, Final, cast

from advisor.errors import BadInput
from advisor.launch.launcher import Dialect, JobScript, Launcher, RankVariables, VersionQuery

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


def _is_job(value: Any) -> bool:
    if not isinstance(value, JobScript) or not isinstance(value.lines, Mapping):
        return False
    return (value.schedulers is None or _words(value.schedulers)) and all(map(_words, value.lines.values()))


def _is_dialect(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, Dialect) or not _words(value.programs) or not value.programs:
        return False
    if not isinstance(value.options, Mapping) or not isinstance(value.aliases, Mapping):
        return False
    pairs = [each for each in value.options.values() if isinstance(each, tuple) and len(each) == 2]
    counted = all(isinstance(count, int) and isinstance(text, str) for count, text in pairs)
    return counted and len(pairs) == len(value.options) and set(value.aliases.values()) <= set(value.options)


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
    "JOB": (_is_job, "a JobScript, whose lines are tuples of texts by scheduler"),
    "LINES": (
        _is_dialect,
        "a Dialect of programs (a tuple of texts), options (how many words follow, what it means) and aliases of these; or None",
    ),
    "launch": (_takes_two, "a function of (placement, wish)"),
    "unbound": (_takes_two, "a function of (total, hosts)"),
}
"""What a launcher has, whether a value is that, and what it has to be."""
