"""The manual pages, made from what the help of each command is made of."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from advisor.cli.main import OPTIONS, SOURCES, About, CommandHelp, Row, grouped, status_of

_FILES: Final = (
    Row("/etc/advisor/rules.d/", "A site's rules, thresholds and waivers, read by every command that evaluates rules."),
    Row("/etc/advisor/templates/, ~/.config/advisor/templates/", "A site's templates for the checklist."),
    Row("~/.cache/advisor/", "Kernels built on this machine, and the latest measurements."),
)


class Edition(NamedTuple):
    """Of which version the pages are."""

    version: str
    date: str


def file_name(command: str) -> str:
    """Return the file of a command's page: ``advisor-bind-lint.1``; of the program itself without a command."""
    return f"{'-'.join(['advisor', *command.split()])}.1"


def command_page(name: str, summary: str, told: CommandHelp, of: Edition, beside: Iterable[str]) -> str:
    """Return the page of a command."""
    lines = [
        *_head(name, summary, of),
        ".SH SYNOPSIS",
        *_usage_line(told.usage),
        ".SH DESCRIPTION",
        *_man_paragraphs(told.paragraphs[1:] or told.paragraphs),
    ]
    for head, rows in (("ARGUMENTS", told.arguments), ("OPTIONS", told.options)):
        lines += [f".SH {head}", *_rows(rows)] if rows else []
    lines += [".SH EXAMPLES", *_examples(told.examples)] if told.examples else []
    return _text([*lines, *_tail(name, beside)])


def program_page(commands: Mapping[str, About], groups: Sequence[str], of: Edition) -> str:
    """Return the page of the program: its commands by group."""
    summary = "check how an HPC server is configured, and show the evidence"
    lines = [*_head("", summary, of), ".SH SYNOPSIS", *_usage_line("advisor COMMAND [OPTIONS]"), ".SH DESCRIPTION"]
    lines += [*_man_paragraphs([SOURCES]), ".SH COMMANDS"]
    for group, names in grouped(commands, groups).items():
        lines += [f".SS {_plain(group)}", *_rows([Row(f"advisor {name}", f"{commands[name].summary}.") for name in names])]
    return _text([*lines, ".SH OPTIONS", *_rows(OPTIONS), ".SH FILES", *_rows(_FILES), *_tail("", commands)])


def _head(name: str, summary: str, of: Edition) -> list[str]:
    page = "-".join(["advisor", *name.split()])
    title = f'.TH {page.upper()} 1 "{of.date}" "advisor {of.version}" "Manual of advisor"'
    return [title, ".SH NAME", f"{_plain(page)} \\- {_plain(summary[:1].lower() + summary[1:])}"]


def _usage_line(usage: str) -> list[str]:
    words = usage.split()
    at = next((at for at, word in enumerate(words) if not word.islower()), len(words))
    return [f".B {_plain(' '.join(words[:at]))}", _plain(" ".join(words[at:]))]


def _man_paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    for at, paragraph in enumerate(paragraphs):
        yield from [".PP"] if at else []
        yield from _sentences(paragraph)


def _sentences(text: str) -> Iterator[str]:
    """Yield a line for each sentence, as man pages are written."""
    yield from (_plain(sentence) for sentence in re.split(r"(?<=[a-z)][.:;]) (?=[A-Z\"'-])", text))


def _rows(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield from (".TP", f".B {_plain(row.names)}", *_sentences(row.about))


def _examples(examples: Sequence[str]) -> Iterator[str]:
    yield from (".nf", *(f"\\&    {_plain(example)}" for example in examples), ".fi")


def _tail(name: str, beside: Iterable[str]) -> list[str]:
    others = [f"advisor{''.join(f'-{word}' for word in other.split())}" for other in ("", *beside) if other != name]
    named = [f".BR {_plain(other)} (1){',' if other != others[-1] else ''}" for other in others]
    return [".SH EXIT STATUS", *_sentences(status_of(name).removeprefix("Exit status: ")), ".SH SEE ALSO", *named]


def _plain(text: str) -> str:
    """Return a text in which nothing is an instruction of roff, and a hyphen can be copied."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def _text(lines: Iterable[str]) -> str:
    return "\n".join(['.\\" Written by make docs; do not edit.', *lines]) + "\n"
