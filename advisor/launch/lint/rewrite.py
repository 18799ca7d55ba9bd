"""A line written anew with some of its words changed."""

import shlex
from collections.abc import Callable, Sequence

from advisor.launch.lint.line import Line, Said
from advisor.launch.lint.words import HYPHENS, hyphened

Change = Callable[[Said], Sequence[str] | None]
"""Gives the words that stand for an option; None: as it is."""

BINDING = frozenset(
    {
        "--map-by",
        "--rank-by",
        "--bind-to",
        "--rankfile",
        "-rf",
        "--cpu-set",
        "--cpu-list",
        "--cpus-per-proc",
        "--cpus-per-rank",
        "-N",
        "--npernode",
        "--npersocket",
        "--pernode",
        "--bycore",
        "--bynode",
        "--byslot",
        "--bysocket",
        "--bind-to-core",
        "--bind-to-socket",
        "--bind-to-none",
        "--use-hwthread-cpus",
        "--hetero-nodes",
        "-bind-to",
        "-map-by",
        "--cpu-bind",
        "--distribution",
        "--cpus-per-task",
    }
)
"""Options that say where ranks go."""


def written(line: Line) -> str:
    """Return the line as it was understood, quoted for a shell."""
    return rewrite(line, lambda _: None)


def rewrite(line: Line, change: Change, *, add: Sequence[str] = (), command: Sequence[str] | None = None) -> str:
    """Return the line with options changed, and words added before the command of its first program."""
    words = [f"{name}={value}" for name, value in line.words.environment.items()]
    quoted = [_variable(word) for word in words]
    quoted += [binder.written for binder in line.words.around]
    quoted.append(line.words.launcher)
    for position, segment in enumerate(line.segments):
        quoted += [":"] if position else []
        parts: list[str] = []
        for said in segment.options:
            new = change(said)
            parts += said.written if new is None else new
        parts += add if position == 0 else ()
        parts += segment.command if command is None or position else command
        quoted.append(shlex.join(parts))
    return " ".join(word for word in quoted if word)


def _variable(word: str) -> str:
    name, _, value = word.partition("=")
    return f"{name}={shlex.quote(value)}"


def swapped(line: Line, said: Said, words: Sequence[str]) -> str:
    """Return the line with one option written otherwise; what said the same beside it before is left out."""
    beside = next((part.options for part in line.segments if any(each is said for each in part.options)), ())
    twice = [each for each in beside if each is not said and each.name == words[0]]
    return rewrite(line, lambda each: words if each is said else () if any(each is other for other in twice) else None)


def rebound(line: Line, words: Sequence[str]) -> str:
    """Return the line with all that says where ranks go replaced."""
    return rewrite(line, lambda said: () if said.name in BINDING else None, add=words)


def shown(word: str) -> str:
    """Return a word with its odd hyphens marked, so that they can be seen."""
    return "".join(f"<U+{ord(letter):04X}>" if letter in HYPHENS else letter for letter in word)


__all__ = ["BINDING", "hyphened", "rebound", "rewrite", "shown", "swapped", "written"]
