"""What there is to say of a command: its help, wrapped to the terminal, and mistakes in the words of that help."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from advisor.errors import did_you_mean, in_words, nearest

NARROWEST, WIDEST = 40, 250
_NAMES = 26
"""Columns that options take beside their meaning; a longer one has a line of its own."""
STATUS = "Exit status: 0 done, 1 findings (with --fail-on), 2 the work could not be done (one line on standard error says why)."
_STATUS_OF_BIOS = STATUS.replace("findings (with --fail-on)", "proven not in effect (bios prove)")


def status_of(command: str) -> str:
    """Return the exit statuses of a command."""
    return _STATUS_OF_BIOS if command.startswith("bios") else STATUS


class Row(NamedTuple):
    """An option or argument, and what it means."""

    names: str
    about: str


class CommandHelp(NamedTuple):
    """What there is to say of a command: the one source of its help and its man page."""

    usage: str
    paragraphs: tuple[str, ...]
    arguments: tuple[Row, ...]
    options: tuple[Row, ...]
    examples: tuple[str, ...]
    first: frozenset[str] = frozenset()
    """Names of the options that --help shows, where there are more than that: --help-all shows the others, too."""


class About(NamedTuple):
    """What a command's docstring says."""

    summary: str
    group: str
    text: str
    examples: tuple[str, ...]
    first: frozenset[str] = frozenset()
    """The options that matter most, where its docstring names them."""


MOST: Final = 10
"""Options that --help shows of a command."""
_SELDOM: Final = frozenset({"--width", "--no-color", "--rules", "--launcher-version"})
"""Options that --help leaves out first."""
HELP_ALL: Final = "--help-all"
OPTIONS = (
    Row("--version", "Print the version and stop."),
    Row("--install-completion", "Install completion of commands, options and values for this shell."),
    Row("--show-completion", "Print the completion script, to copy or adapt."),
    Row("--help", "Show this text; 'advisor COMMAND --help' shows a command's."),
)
SOURCES = (
    "Every command looks at this machine, or at another one with --from FILE: a capture, an hwloc XML, a Machine JSON, or a"
    " folder or archive with its /sys and /proc. Only advisor bios stage, undo and restart, and advisor experiment,"
    " change anything on a machine, and they ask first."
)


def wrapped(text: str, width: int, indent: str = "", first: str | None = None) -> str:
    """Return a paragraph in lines of at most a width; a word is never broken."""
    lead = indent if first is None else first
    return textwrap.fill(
        text, width, initial_indent=lead, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def table(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Yield options beside their meaning, or above it where there is no room."""
    beside = width >= 2 * _NAMES
    names = min(_NAMES, max(len(row.names) for row in rows) + 2) if beside else 4
    indent = " " * (names + 2)
    for row in rows:
        if beside and len(row.names) + 2 <= names:
            yield wrapped(row.about, width, indent, f"  {row.names:<{names}}")
        else:
            yield f"  {row.names}"
            yield wrapped(row.about, width, indent)


def short_page(commands: Mapping[str, About], groups: Sequence[str], width: int, other: str | None) -> str:
    """Return what `advisor` alone prints: a line for each first word of a command; ``other`` is what PATH finds in its place."""
    parts = ["Usage: advisor COMMAND [OPTIONS]; on a server begin with: sudo advisor audit"]
    for group, names in grouped(commands, groups).items():
        parts.append(f"{group}:")
        for first in dict.fromkeys(name.partition(" ")[0] for name in names):
            verbs = "|".join(name.partition(" ")[2] for name in names if name.startswith(f"{first} "))
            parts.append(f"  {first:<10}  {commands[first].summary if first in commands else verbs}"[:width])
    parts.append("advisor COMMAND --help: options and examples; advisor --help: every command")
    parts += [f"PATH finds {other} first: call this one hpc-advisor"] if other else []
    return "\n".join(parts) + "\n"


def front_page(commands: Mapping[str, About], groups: Sequence[str], width: int, of: str | None = None) -> str:
    """Return the help of `advisor` itself, or ``of`` the first word of several: commands by group, each with an example."""
    wide = max(map(len, commands))
    parts = [f"Usage: advisor {f'{of} ' if of else ''}COMMAND [OPTIONS]"]
    if not of:
        parts += [
            "",
            wrapped(
                "Checks how an HPC server is configured - BIOS, operating system, job launch - and shows the evidence.",
                width,
                "  ",
            ),
        ]
    for group, names in grouped(commands, groups).items():
        parts.append(f"\n{group}:")
        for name in names:
            parts.append(wrapped(commands[name].summary, width, " " * (wide + 3), f"  {name:{wide}} "))
            parts += [f"  {'':{wide}}   $ {example}" for example in commands[name].examples[:1]]
    if of:
        return "\n".join([*parts, "", wrapped(f"More about each: advisor {of} COMMAND --help.", width)]) + "\n"
    return (
        "\n".join([*parts, "\nOptions:", *table(OPTIONS, width), "", *(wrapped(text, width) for text in (SOURCES, STATUS))])
        + "\n"
    )


def grouped(commands: Mapping[str, About], groups: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of commands by group, the groups in order; those of other groups come last."""
    order = [*groups, *sorted({about.group for about in commands.values()} - set(groups))]
    found = {group: [name for name, about in commands.items() if about.group == group] for group in order}
    return {group: names for group, names in found.items() if names}


def first_options(names: Sequence[str], told: frozenset[str]) -> frozenset[str]:
    """Return the options that --help shows: those that are ``told`` to matter, or all but what is seldom needed, or all."""
    if len(names) <= MOST:
        return frozenset(names)
    return told or frozenset([name for name in names if name not in _SELDOM][:MOST])


def page(told: CommandHelp, width: int, *, whole: bool = False) -> str:
    """Return the help of a command; ``whole`` with the options that few need."""
    parts = [wrapped(f"Usage: {told.usage}", width, "  ", ""), *(wrapped(each, width, "  ") for each in told.paragraphs)]
    shown = tuple(row for row in told.options if whole or not told.first or told.first & {*row.names.replace(",", " ").split()})
    for head, rows in (("Arguments", told.arguments), ("Options", shown)):
        if rows:
            parts.append("\n".join([f"{head}:", *table(rows, width)]))
    if told.examples:
        parts.append("\n".join(["Examples:", *(f"  {example}" for example in told.examples)]))
    return "\n\n".join([*parts, wrapped(status_of(told.usage.removeprefix("advisor ")), width)]) + "\n"


def help_of(command: Any, context: Any, path: str, about: str, examples: tuple[str, ...]) -> CommandHelp:
    """Return what a command says of itself."""
    arguments: list[Row] = []
    options: list[Row] = []
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if record is not None:
            rows = arguments if each.param_type_name == "argument" else options
            rows.append(Row(_names(each, record[0]), _meaning(record[1])))
    words = " ".join(_metavar(each) for each in command.get_params(context) if each.param_type_name == "argument")
    few = command.first | {HELP_ALL, "--help"} if any(HELP_ALL in row.names for row in options) else frozenset()
    return CommandHelp(
        f"advisor {path} [OPTIONS] {words}".strip(),
        (tuple(" ".join(each.split()) for each in about.split("\n\n") if each.strip())),
        tuple(arguments),
        tuple(options),
        examples,
        few,
    )


def _metavar(argument: Any) -> str:
    word = str(argument.metavar or argument.name.upper())
    return word if argument.required or word.startswith(("[", "-")) else f"[{word}]"


def _names(parameter: Any, shown: str) -> str:
    """Return the names as they are typed: no type of a programming language stands beside them."""
    if parameter.param_type_name == "argument":
        return _metavar(parameter)
    shown = re.sub(r" \[([^\[\]|]+(?:\|[^\[\]|]+)+)\]", r" \1", shown)  # as typer 0.26 has them
    return re.sub(r"\s*<([^<>]*)>(?:\.\.\.)?", lambda match: f" {match[1]}" if "|" in match[1] else "", shown)


_BRACKETS = re.compile(r"\s*\[([^\[\]]*)\]$")
_RANGE = re.compile(r"^(?:(\S+?)<=)?x(?:<=(\S+))?$|^x>=(\S+)$")


def _meaning(text: str) -> str:
    """Return a help text with its default and range in words."""
    match = _BRACKETS.search(text)
    told = match[1].split("; ") if match else []
    words = [_range(each) or each.replace("default: ", "default ") for each in told if each != "required"]
    return f"{text[: match.start()]} ({'; '.join(words)})" if match and words else text[: match.start()] if match else text


def _range(text: str) -> str | None:
    match = _RANGE.match(text)
    if match is None:
        return None
    low, high, least = match.groups()
    low = low or least
    return f"{low} to {high}" if low and high else f"{low} or more" if low else f"{high} or less"


def typed(option: Any) -> str:
    """Return an option as it is typed, with its opposite."""
    return "/".join([max(option.opts, key=len), *option.secondary_opts])


def mistake(error: Any) -> tuple[str, str | None]:
    """Return what is wrong on a command line, and what to do, of an error that the parser raised."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    kind, message = type(error).__name__, str(error.format_message()).rstrip(".")
    if kind == "NoSuchOption" and context is not None:
        names = [name for each in context.command.get_params(context) for name in (*each.opts, *each.secondary_opts)]
        words = {name.strip("-"): name for name in names if name[0] == "-"}  # the dashes that all have make none alike
        near = nearest(error.option_name.strip("-"), words)
        return f"no option {error.option_name[:40]}", f"did you mean {words[near]}?" if near else None
    if kind == "MissingParameter" and parameter is not None:
        name = _metavar(parameter) if parameter.param_type_name == "argument" else typed(parameter)
        about = f": {parameter.help[:1].lower()}{parameter.help[1:].rstrip('.')}" if parameter.help else ""
        return f"{name} is missing{about}", None
    if kind == "BadOptionUsage":
        return f"{error.option_name} needs a value", None
    if kind == "BadParameter" and parameter is not None and context is not None:
        return _bad_value(error.message, parameter, context)
    extra = re.match(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)$", message)
    return (f"{extra[1][:60]} is an extra word", None) if extra else (in_words(message), None)


def _bad_value(message: str, parameter: Any, context: Any) -> tuple[str, str | None]:
    """Return what a value should be: one of some words, a number in a range, or what a validator says of it."""
    name = parameter.name.upper() if parameter.param_type_name == "argument" else typed(parameter)
    words = re.findall(r"'([^']*)'", message) if "is not one of" in message else []
    if len(words) > 1:
        value, choices = words[0], words[1:]
        return f"{name} {value[:40]} is none of {', '.join(choices)}", did_you_mean(value, choices, None)
    told = _BRACKETS.search((parameter.get_help_record(context) or ("", ""))[1])
    ranges = [span for each in (told[1].split("; ") if told else []) if (span := _range(each))]
    if ranges and not re.search(r"integer|\bint\b|number|float", message):
        return f"{name} must be {ranges[0]}", None
    number = re.search(r"\b(?:int|integer)\b", message)
    return f"{name} {'must be a whole number' if number else in_words(message)}{f', {ranges[0]}' if ranges else ''}", None


_FILES: Final = (
    Row("/etc/advisor/rules.d/", "Rules, thresholds and waivers of a site, read by every command that judges."),
    Row("/etc/advisor/templates/, ~/.config/advisor/templates/", "Templates of a site for the checklist."),
    Row("~/.cache/advisor/", "Kernels that were built here, and what was measured last."),
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
        *_usage(told.usage),
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
    lines = [*_head("", summary, of), ".SH SYNOPSIS", *_usage("advisor COMMAND [OPTIONS]"), ".SH DESCRIPTION"]
    lines += [*_man_paragraphs([SOURCES]), ".SH COMMANDS"]
    for group, names in grouped(commands, groups).items():
        lines += [f".SS {_plain(group)}", *_rows([Row(f"advisor {name}", f"{commands[name].summary}.") for name in names])]
    return _text([*lines, ".SH OPTIONS", *_rows(OPTIONS), ".SH FILES", *_rows(_FILES), *_tail("", commands)])


def _head(name: str, summary: str, of: Edition) -> list[str]:
    page = "-".join(["advisor", *name.split()])
    title = f'.TH {page.upper()} 1 "{of.date}" "advisor {of.version}" "Manual of advisor"'
    return [title, ".SH NAME", f"{_plain(page)} \\- {_plain(summary[:1].lower() + summary[1:])}"]


def _usage(usage: str) -> list[str]:
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
