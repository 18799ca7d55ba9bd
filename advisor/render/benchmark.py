"""The lines of a benchmark as a page, as a script, and as JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from advisor.language.units import printable
from advisor.render.commandline import exports, folded, script_word
from advisor.render.lines import Line, labelled
from advisor.render.page import Page

SCHEMA: Final = "advisor-bind-benchmark/1"

Lines = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class Step:
    """A line, what it measures, and the files it needs."""

    about: str
    argv: Sequence[str]
    variables: Mapping[str, str]
    files: Mapping[str, Lines]
    avoided: tuple[str, ...] = ()


def benchmark_page(steps: Sequence[Step], notes: Sequence[str], width: int | None = None) -> Page:
    """Return the lines, each below what it measures."""
    return Page(lambda room: list(_lines(steps, notes, room)), width)


def _lines(steps: Sequence[Step], notes: Sequence[str], width: int) -> Iterator[Line]:
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


def benchmark_script(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the lines of a script that runs them one after the other; words with HERE name the folder it lies in."""
    yield "#!/bin/sh"
    yield 'here=$(cd "$(dirname "$0")" && pwd) || exit'
    for step in steps:
        yield ""
        yield f"printf '%s\\n' {script_word('# ' + printable(step.about))}"
        yield from exports(step.variables, '"$here"')
        yield " ".join(script_word(word) for word in step.argv)


def benchmark_document(steps: Sequence[Step], notes: Sequence[str]) -> dict[str, Any]:
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
    return {"schema": SCHEMA, "lines": lines, "notes": list(notes)}
