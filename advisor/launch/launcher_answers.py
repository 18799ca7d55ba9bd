"""What a launcher's own functions return, held to what they should: a slip in one of them is one line with file and place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, cast

from advisor.errors import BadInput, CannotWork
from advisor.launch.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, Lines
from advisor.launch.launcher_parts import ANSWERS, CURE, file_of, line_in
from advisor.model.placement import Placement


@contextmanager
def faults_of(name: str, part: str) -> Iterator[None]:
    """Turn a slip in a launcher's own part into one line that names its file, the line in it, and the part."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, TypeError, ValueError) as error:
        where = ": ".join(filter(None, (file_of(name), line_in(error.__traceback__, file_of(name)))))
        raise CannotWork(f"{where}: its {part} fails: {type(error).__name__}: {error}; {CURE}") from error


def guarded(name: str, lines: Dialect) -> Dialect:
    """Return how a launcher's lines are read, with functions whose slips are one line: what they raise, and what they return."""
    own: dict[str, Any] = {part: _guard(name, part, function) for part in ANSWERS if (function := getattr(lines, part))}
    return replace(lines, **own)


def _guard(name: str, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    fits, wanted = ANSWERS[part]

    @wraps(function)
    def called(*given: object) -> Any:
        with faults_of(name, f"LINES.{part}"):
            found = function(*given)
            kept = tuple(found) if isinstance(found, Iterator) else found
            good = fits(kept)
        if not good:
            raise CannotWork(f"{file_of(name)}: its LINES.{part} does not return {wanted}; {CURE}")
        return iter(kept) if isinstance(found, Iterator) else found

    return called


def carried_out(launcher: Launcher, placement: Placement, wish: LaunchRequest) -> Launch:
    """Return how a launcher carries a placement out; raise BadInput, in one line, of one that returns something else."""
    with faults_of(launcher.NAME, "launch"):
        made: object = launcher.launch(placement, wish)
    problem = next(_in_launch(made, launcher), None)
    if problem:
        raise BadInput(f"its launch returns {problem}", file=file_of(launcher.NAME), cure=CURE)
    whole = cast(Launch, made)
    return replace(whole, files={name: _written(launcher.NAME, name, lines) for name, lines in whole.files.items()})


def _in_launch(made: Any, launcher: Launcher) -> Iterator[str]:
    """Yield what is wrong with what a launcher's function returned."""
    if not isinstance(made, Launch) or not made.argv or not _texts(made.argv):
        yield "no Launch with the words of a line"
        return
    programs = launcher.LINES.programs if launcher.LINES else made.argv[:1]
    if made.argv[0] not in programs:
        yield f"a line that starts with {made.argv[0][:40]!a}, which is not in LINES.programs"
    if made.launcher != launcher.NAME:
        yield f"a Launch of the launcher {made.launcher!a:.40}, and not of NAME"
    if not isinstance(made.form, str) or not isinstance(made.version, str | None):
        yield "a Launch whose form is no text, or whose version is neither a text nor None"
    if not isinstance(made.environment, Mapping) or not _texts((*made.environment, *made.environment.values())):
        yield "a Launch whose environment is no mapping of texts to texts"
    if not isinstance(made.files, Mapping) or not all(map(callable, made.files.values())):
        yield 'a Launch whose files are no mapping of names to functions: {"hostfile": lambda: iter(...)}'
    elif not _texts(tuple(made.files)) or any("/" in name for name in made.files):
        yield "a Launch with a file whose name is no plain one"
    if not isinstance(made.avoided, tuple) or not all(isinstance(each, Avoided) for each in made.avoided):
        yield "a Launch whose avoided is no tuple of Avoided"
    if not _texts(made.notes):
        yield "a Launch whose notes are no tuple of texts"


def _written(name: str, file: str, lines: Lines) -> Lines:
    """Return the lines of a file, made when they are written; a slip among them is one line."""

    def checked_lines() -> Iterator[str]:
        with faults_of(name, f"file {file}"):
            for line in lines():
                if not isinstance(line, str):
                    raise TypeError(f"a line is {line!a:.40}, and not a text")
                yield line

    return checked_lines


def without_binding(launcher: Launcher, total: int, hosts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the words of a launcher's line whose ranks are not bound; raise BadInput, in one line, of what is none."""
    with faults_of(launcher.NAME, "unbound"):
        words: object = launcher.unbound(total, hosts)
    if words is not None and not _texts(words):
        raise BadInput("its unbound returns no tuple of words, and not None", file=file_of(launcher.NAME), cure=CURE)
    line = cast("tuple[str, ...] | None", words)
    if line and launcher.LINES and line[0] not in launcher.LINES.programs:
        problem = f"its unbound returns a line that starts with {line[0][:40]!a}, which is not in LINES.programs"
        raise BadInput(problem, file=file_of(launcher.NAME), cure=CURE)
    return line


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(word, str) for word in value)
