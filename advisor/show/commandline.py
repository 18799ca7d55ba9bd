"""Command lines as they are copied into a shell: quoted, folded; a benchmark's lines as a page, a script and JSON."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.machine.units import printable
from advisor.show.lines import Line, Page, labelled

HERE = "\0"
"""Stands in a word for the folder that a script lies in: no argument of a program can hold it."""

_INDENT = "    "
_WORD = re.compile(r"""(?:[^\s'"\\]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+""")
"""What a shell takes for one word, or for words without a blank between them."""


def word(text: str, here: str = "") -> str:
    r"""Return a word quoted for a shell; one with letters that no terminal shows as bash writes it, $'\t'.

    >>> word("a b"), word("x;y"), word("a\tb"), word("--map-by")
    ("'a b'", "'x;y'", "$'a\\tb'", '--map-by')
    """
    if HERE in text:
        head, _, tail = text.partition(HERE)
        return (shlex.quote(head) if head else "") + here + (shlex.quote(tail) if tail else "")
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(letter if letter.isprintable() else _escaped(letter) for letter in escaped) + "'"


def _escaped(letter: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return named.get(letter) or "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def folded(argv: Sequence[str], width: int) -> list[str]:
    """Return a command line; where it is wider, as lines that a shell reads as one, options beside their values."""
    groups = list(_groups([word(each) for each in argv], argv))
    lines: list[str] = []
    now = ""
    for group in groups:
        longer = f"{now} {group}".strip() if now.strip() else now + group
        if now.strip() and len(longer) > width - 2:
            lines.append(f"{now} \\")
            now = _INDENT + group
        else:
            now = longer if not now.startswith(_INDENT) else f"{_INDENT}{longer.strip()}"
    return [*lines, now]


def _groups(words: Sequence[str], argv: Sequence[str]) -> Iterator[str]:
    """Yield the words that belong on one line: an option and what follows it up to the next one, if that is short."""
    held = ""
    for quoted, plain in zip(words, argv, strict=True):
        if held and (plain.startswith("-") or len(held) + len(quoted) > 40 or not held.startswith("-")):
            yield held
            held = ""
        held = f"{held} {quoted}" if held else quoted
    yield held


def broken(command: str, width: int) -> list[str]:
    """Return a command in lines that a shell reads as one; what is none, or has a text wider than the page, ends at blanks."""
    if len(command) <= width:
        return [command]
    words = _WORD.findall(command)
    # An apostrophe opens quotes that nothing closes; behind a comment no backslash counts.
    wide = any(" " in word and len(word) > width - 4 for word in words)
    plainly = not wide and not _WORD.sub("", command).strip() and not any(word.startswith("#") for word in words)
    lines = [""]
    for word in words if plainly else command.split():
        if lines[-1].strip() and len(lines[-1]) + len(word) + 1 > width - 2:
            lines.append("  ")
        lines[-1] += word if not lines[-1].strip() else f" {word}"
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:] if plainly else lines


def exports(variables: Mapping[str, str], here: str = "") -> list[str]:
    """Return the lines that set variables for what follows: on a terminal, or in a script where ``here`` names its folder."""
    own = script_word if here else word
    return [f"export {name}={own(value)}" for name, value in sorted(variables.items())]


def assignments(variables: Mapping[str, str]) -> list[str]:
    """Return the words that set variables for the one command behind them."""
    return [f"{name}={word(value)}" for name, value in sorted(variables.items())]


def launch_script(argv: Iterable[str], variables: Mapping[str, str], about: str) -> Iterator[str]:
    """Yield the lines of a script that starts the job; words with HERE name the folder it lies in."""
    words = list(argv)
    yield "#!/bin/sh"
    yield f"# {printable(about)}"
    if any(HERE in each for each in (*words, *variables.values())):
        yield 'here=$(cd "$(dirname "$0")" && pwd) || exit'
    yield from exports(variables, '"$here"')
    yield "exec " + " ".join(script_word(each) for each in words)


def script_word(text: str) -> str:
    """Return a word as every shell reads it: sh knows no $'...', and in a file nothing need be shown."""
    return word(text, '"$here"') if HERE in text or text.isprintable() else shlex.quote(text)


BENCHMARK_SCHEMA = "advisor-bind-benchmark/1"

Lines = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class BenchmarkStep:
    """A line, what it measures, and the files it needs."""

    about: str
    argv: Sequence[str]
    variables: Mapping[str, str]
    files: Mapping[str, Lines]
    avoided: tuple[str, ...] = ()


def benchmark_page(steps: Sequence[BenchmarkStep], notes: Sequence[str], width: int | None = None) -> Page:
    """Return the lines, each below what it measures."""
    return Page(lambda room: list(_benchmark_lines(steps, notes, room)), width)


def _benchmark_lines(steps: Sequence[BenchmarkStep], notes: Sequence[str], width: int) -> Iterator[Line]:
    for step in steps:
        yield ((f"# {step.about}", "dim"),)
        yield from (((each, ""),) for each in exports(step.variables))
        yield from (((each, "title"),) for each in folded(step.argv, width))
    rows = [("Note", note) for note in notes] + [("Avoided", each) for each in dict.fromkeys(a for s in steps for a in s.avoided)]
    before = ""
    for label, text in rows:
        if not before:
            yield ()
        yield from labelled("" if label == before else label, [(text, "")], width, 11)
        before = label


def benchmark_script(steps: Sequence[BenchmarkStep]) -> Iterator[str]:
    """Yield the lines of a script that runs them one after the other; words with HERE name the folder it lies in."""
    yield "#!/bin/sh"
    yield 'here=$(cd "$(dirname "$0")" && pwd) || exit'
    for step in steps:
        yield ""
        yield f"printf '%s\\n' {script_word('# ' + printable(step.about))}"
        yield from exports(step.variables, '"$here"')
        yield " ".join(script_word(word) for word in step.argv)


def benchmark_document(steps: Sequence[BenchmarkStep], notes: Sequence[str]) -> dict[str, Any]:
    """Return the JSON document."""
    lines = [
        {
            "about": step.about,
            "command": list(step.argv),
            "env": dict(step.variables),
            "files": {name: "".join(f"{line}\n" for line in lines()) for name, lines in step.files.items()},
        }
        for step in steps
    ]
    return {"schema": BENCHMARK_SCHEMA, "lines": lines, "notes": list(notes)}
