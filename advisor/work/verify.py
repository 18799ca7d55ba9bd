"""Launch lines with the probe where the command stands: a user's own, or the one in a folder of `advisor bind -o DIR`."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from advisor.errors import BadInput, CannotWork
from advisor.launch.wrapper import FILE as WRAPPER
from advisor.render.commandline import word
from advisor.work.job.folder import read_bytes

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


def line_of(words: Sequence[str], variables: dict[str, str] | None = None) -> Line:
    """Return a line with STANDS_FOR for its command: where that is written, else where the launcher's options end."""
    if STANDS_FOR in words:
        return Line(tuple(words), variables or {})
    if not words:
        raise CannotWork(f"there is no launch line; write it after --, {STANDS_FOR} where the command stands")
    return Line(tuple(_replaced(words)), variables or {})


def _replaced(words: Sequence[str]) -> Iterator[str]:
    from advisor.launch.lint.line import parse

    cure = f"write {STANDS_FOR} where the command stands: -- mpirun -n 4 --bind-to core {STANDS_FOR}"
    try:
        line = parse(words)
    except BadInput as error:
        raise BadInput(error.problem, cure=cure) from error
    rest = len(line.words.rest)
    commands = [segment.command for segment in line.segments]
    if tuple(words[len(words) - rest :]) != line.words.rest or not all(commands):
        raise BadInput("the launch line does not show where its command stands", cure=cure)
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
    """Return what of a command is no application: the wrapper that binds, and numactl or taskset."""
    from advisor.launch.lint.command_line import binders, read_binder

    if len(command) > 1 and command[0] == "sh" and command[1].rpartition("/")[2] == WRAPPER:
        return command[:2]
    at = 0
    for _ in binders(command):
        at = read_binder(command, at, len(command))[1]
    return command[:at]


def line_in(folder: Path) -> Line:
    """Return the line of a folder that advisor bind wrote: of its launch.sh, in which there is nothing but words."""
    name = str(folder / SCRIPT)
    cure = f"say advisor verify --plan {word(str(folder / 'plan.json'))} -- LINE, with {STANDS_FOR} where the command stands"
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
    raise BadInput("it starts no launcher", file=name, cure=cure)


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
            raise BadInput("it is not as advisor bind wrote it", file=name)
        if match[1]:
            yield True, match[2], "".join(shlex.split(match[3])[:1]), []
        elif match[4]:
            yield False, "", "", shlex.split(match[5])
