"""The program `advisor`: its commands are the folder's modules, their help, and every failure as one line and a status."""

import ast
import contextlib
import gc
import inspect
import io
import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

import advisor.cli.commands
from advisor import __version__
from advisor.errors import (
    AdvisorError,
    BadInput,
    BadValue,
    CannotWork,
    Interrupted,
    did_you_mean,
    in_words,
    loading,
    nearest,
    one_line,
    slip,
)
from advisor.machine.hosts.files import keep_to_own_home, ledger
from advisor.machine.secrecy import without_secrets

NARROWEST, WIDEST = 40, 250
_NAMES = 26
"""Columns that options take beside their meaning; a longer one has a line of its own."""
STATUS = "Exit status: 0 done, 1 findings (with --fail-on), 2 the command failed (one line on standard error says why)."
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


MOST = 10
"""Options that --help shows of a command."""
_SELDOM = frozenset({"--width", "--no-color", "--rules", "--launcher-version"})
"""Options that --help leaves out first."""
HELP_ALL = "--help-all"
OPTIONS = (
    Row("--version", "Print the version and exit."),
    Row("--install-completion", "Install completion for commands, options and values in this shell."),
    Row("--show-completion", "Print the completion script, to copy or adapt."),
    Row("--help", "Show this help; 'advisor COMMAND --help' shows the help for a command."),
)
SOURCES = (
    "Every command looks at this machine, or at another one with --from FILE: a capture, an hwloc XML, a Machine JSON, or a"
    " folder or archive with its /sys and /proc. Only advisor bios stage, undo, restart and rollout, and advisor experiment,"
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


def short_page(commands: Mapping[str, About], groups: Sequence[str], other: str | None) -> str:
    """Return what `advisor` alone prints: a line for each first word of a command; ``other`` is what PATH finds in its place."""
    parts = ["Usage: advisor COMMAND [OPTIONS]; on a server begin with: sudo advisor audit"]
    for group, names in grouped(commands, groups).items():
        parts.append(f"{group}:")
        for first in dict.fromkeys(name.partition(" ")[0] for name in names):
            verbs = "|".join(name.partition(" ")[2] for name in names if name.startswith(f"{first} "))
            parts.append(f"  {first:<10}  {commands[first].summary if first in commands else verbs}")
    parts.append("advisor COMMAND --help: options and examples; advisor --help: every command")
    parts += [f"{other} comes first in PATH: run this program as hpc-advisor"] if other else []
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
    """Return what a command says about itself."""
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
        return f"{name} {value[:40]} is not one of {', '.join(choices)}", did_you_mean(value, choices, None)
    told = _BRACKETS.search((parameter.get_help_record(context) or ("", ""))[1])
    ranges = [span for each in (told[1].split("; ") if told else []) if (span := _range(each))]
    if ranges and not re.search(r"integer|\bint\b|number|float", message):
        return f"{name} must be {ranges[0]}", None
    number = re.search(r"\b(?:int|integer)\b", message)
    return f"{name} {'must be a whole number' if number else in_words(message)}{f', {ranges[0]}' if ranges else ''}", None


GROUPS = ("Look", "Set up", "Run", "Measure", "Many nodes", "For programs")
"""The headings of `advisor --help`, in order; a command of another group comes after them."""


@cache
def _placed() -> dict[str, tuple[About, str, str]]:
    """Return what each command says about itself, its module and its function."""
    files = sorted(Path(advisor.cli.commands.__path__[0]).glob("[a-z]*.py"))
    found = {name: (about, file.stem, function) for file in files for name, function, about in commands_in(file)}
    return dict(sorted(found.items()))


@cache
def commands() -> dict[str, About]:
    """Return what each command in the folder says about itself."""
    return {name: about for name, (about, _, _) in _placed().items()}


def place_of(command: str) -> tuple[str, str]:
    """Return the module and the function of a command."""
    return _placed()[command][1:]


_QUOTES = '"""'
_COMMAND = re.compile(r'^def ([a-z]\w*)\(.*?\) -> (?:int|None):\n    """(.*?)"""', re.MULTILINE | re.DOTALL)
"""A public function of a file that begins with "Commands": bios_read is advisor bios read."""


def commands_in(path: Path) -> Iterator[tuple[str, str, About]]:
    """Yield the commands of a file, their functions and what they say: each public function, or ``run`` of a file of one."""
    text = path.read_text(encoding="utf-8")
    if text.startswith(f"{_QUOTES}Commands "):
        for function, doc in _COMMAND.findall(text):
            yield function.replace("_", " "), function, _about(cleandoc(doc))
        return
    end = text.find(_QUOTES, len(_QUOTES)) + len(_QUOTES) if text.startswith(_QUOTES) else len(text)
    try:
        doc = ast.get_docstring(ast.parse(text[:end])) or ""  # parsing the code below it would take ten times as long
    except SyntaxError:
        doc = "This command cannot be loaded."  # which is said when it is called; the others are as before
    yield path.stem.replace("_", " "), "run", _about(doc)


def _about(doc: str) -> About:
    lines = doc.splitlines()
    kinds = ("Group", "First", "Example")
    marked = {word: [line.partition(": ")[2] for line in lines if line.startswith(f"{word}: ")] for word in kinds}
    text = "\n".join(line for line in lines if line.partition(": ")[0] not in kinds).strip()
    group, first = "".join(marked["Group"]) or "Other", frozenset(" ".join(marked["First"]).split())
    return About(lines[0].rstrip(".") if lines else "", group, text, tuple(marked["Example"]), first)


def told(name: str) -> CommandHelp:
    """Return what there is to say of a command."""
    command = CommandFolder().get_command(None, name)
    return help_of(command, typer.Context(command), name, command.about, command.examples)


def terminal_width() -> int:
    """Return the columns to print help in."""
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))


class Command(TyperCommand):
    """A command whose help is wrapped to the terminal, and that takes each of its options once."""

    path, about, examples = "", "", ()
    first: frozenset[str] = frozenset()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(page(help_of(self, ctx, self.path, self.about, self.examples), terminal_width()))

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that refuses an option that is given twice: one of the two would be passed over silently."""
        parser: Any = super().make_parser(ctx)
        plain = parser.parse_args

        def once(args: list[str]) -> Any:
            found = plain(args=args)
            if not ctx.resilient_parsing:
                _refuse_twice(found[2], self.path)
            return found

        parser.parse_args = once
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Run the command, once it is known that its files can be written: nobody measures for a minute and keeps nothing."""
        for each in self.params:
            named = ctx.params.get(each.name)  # a text with typer 0.26.0, a path with later ones
            if isinstance(named, str | Path) and each.name in _WRITTEN:
                path = Path(named)
                must_be_writable(path, folder=getattr(each, "metavar", None) == "DIR")
                must_not_be_read_too(path, {name: value for name, value in ctx.params.items() if name not in _WRITTEN})
        return super().invoke(ctx)


_WRITTEN = ("output", "svg", "png", "save")


def _show_all(ctx: typer.Context, value: bool) -> None:  # noqa: FBT001 - typer hands a flag's value to its callback this way
    if value and not ctx.resilient_parsing:
        command: Any = ctx.command
        typer.echo(
            page(help_of(command, ctx, command.path, command.about, command.examples), terminal_width(), whole=True), nl=False
        )
        raise typer.Exit


def _with_help_all(run: Callable[..., Any], number: int) -> Callable[..., Any]:
    """Return a command that has --help-all beside its options."""

    def command(**given: Any) -> Any:
        """Run the command."""
        del given["help_all"]
        return run(**given)

    option = Option(HELP_ALL, callback=_show_all, is_eager=True, help=f"Show all {number} options.")
    more = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
    command.__signature__ = inspect.Signature([*inspect.signature(run).parameters.values(), more])  # type: ignore[attr-defined] # typer reads options there
    command.__annotations__ = {**getattr(run, "__annotations__", {}), "help_all": more.annotation}
    command.__module__ = run.__module__
    return command


def better_cure(error: Any, context: Any) -> str | None:
    """Return what to write instead of an option or a word that a command does not take; None where only its help says it."""
    if context is None:
        return None
    names = {name for each in context.command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    if type(error).__name__ == "NoSuchOption":
        return instead_of(error.option_name, names, getattr(context.command, "path", ""))
    extra = re.search(r"unexpected extra arguments? ?(?:\(s\) )?\((\S+).*\)", str(error.format_message()))
    return option_meant(extra[1], names, context.command.name or "") if extra else None


_MANY = {("audit", "--from"): "to audit many nodes, use advisor fleet audit FILE FILE..."}
"""What to do where somebody gives an option twice because he has many."""


def _refuse_twice(order: Sequence[Any], command: str) -> None:
    single = [each for each in order if each.param_type_name == "option" and not each.multiple]
    for option, count in Counter(single).items():
        if count > 1 and (not option.is_flag or option.secondary_opts):
            cure = _MANY.get((command, typed(option)), "give it only once")
            raise BadValue(f"{typed(option)} is given {'twice' if count == 2 else f'{count} times'}", cure=cure)


def must_be_writable(path: Path, *, folder: bool = False) -> None:
    """Refuse a file or folder that could not be written; nothing is left behind."""
    what = "folder" if folder else "file"
    if str(path) == "-" or "%h" in str(path) or str(path).startswith(("/dev/", "/proc/self/fd/")):
        return  # %h: a file for each BMC, in folders that are made then
    above = next(each for each in (path, *path.absolute().parents) if each.exists())
    if above != path and not folder and path.absolute().parent != above:
        raise CannotWork(f"{path}: there is no folder {path.parent}; create it first, or name another file to write")
    if path.is_dir() != folder and path.exists():
        raise CannotWork(
            f"{path}: is {'not a folder' if folder else 'a directory'}; name another {what} to write{' into' * folder}"
        )
    if not above.is_dir() and above != path:
        raise CannotWork(f"{path}: {above} is not a folder; name another {what} to write")
    if not os.access(above, os.W_OK | (os.X_OK if above.is_dir() else 0)):
        raise CannotWork(f"{path}: permission denied; name another {what} to write{' into' * folder}")


def must_not_be_read_too(path: Path, others: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the same command reads: a capture taken on a machine that is gone cannot be had again."""
    if not path.is_file():
        return
    for value in others.values():
        for named in value if isinstance(value, list | tuple) else [value]:
            if isinstance(named, str | Path) and os.path.lexists(named) and path.samefile(named):
                raise CannotWork(f"{path}: is also an input of this command; name another file to write")


_FOREIGN = {
    "-n": "--ranks", "-np": "--ranks", "--np": "--ranks", "--ntasks": "--ranks", "-c": "--threads",
    "--cpus-per-task": "--threads", "-H": "--hosts", "--host": "--hosts", "-f": "--from", "--file": "--from", "--input": "--from",
    "--format": "--as", "--out": "--output", "--outfile": "--output",
}  # fmt: skip
"""What other programs call an option of ours."""


def instead_of(option: str, names: Collection[str], path: str) -> str | None:
    """Return what to write instead of an option that a command does not take."""
    if option == "--from" and not path:
        return "put options after the command: advisor audit --from FILE"
    if path == "check":
        return "write -- before the line: advisor check -- mpirun ..."
    ours = _FOREIGN.get(option)
    return f"write {ours}" if ours in {*names, "--help"} else None


def option_meant(word: str, names: Collection[str], command: str) -> str | None:
    """Return the option that an extra word probably belongs to: a file that is there, a number, a file to be written."""
    if "--from" in names and os.path.lexists(word) and command != "capture":
        return f"name another machine with --from {word}"
    if "--only" in names and word.isdecimal():
        return f"name a finding with --only {word}"
    return f"name a file to write with -o {word}" if "--output" in names and "." in word[1:] else None


class CommandFolder(TyperGroup):
    """A group whose commands are the modules of advisor.cli.commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, importing its module now; None if there is none."""
        del ctx
        about = commands().get(cmd_name)
        if about is None:
            return None
        name, function = place_of(cmd_name)
        module = import_module(f"advisor.cli.commands.{name}")
        run = getattr(module, function, None)
        if not callable(run):
            file = f"advisor/cli/commands/{name}.py"
            raise BadInput("this command has no run function", file=file, cure="docs/adding.md shows what a command needs")
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        kind = getattr(module, "CommandLine", Command)  # of a command that reads its arguments in its own way
        own = [each for each in inspect.signature(run).parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
        called = _with_help_all(run, len(own)) if len(own) > MOST else run
        single.command(cmd_name, cls=kind, help=about.text, short_help=about.summary)(called)
        command: Any = typer.main.get_command(single)
        command.name = command.path = cmd_name
        command.about, command.examples = about.text, about.examples
        command.first = first_options([typed(each) for each in command.params if each.param_type_name == "option"], about.first)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, in two words too; of a name that is none, say which is nearest."""
        if " ".join(args[:2]) in commands():
            args = [" ".join(args[:2]), *args[2:]]
        if args and not args[0].startswith("-") and args[0] not in commands():
            _show_group(ctx, args)
            cure = did_you_mean(args[0], commands(), f"available: {', '.join(commands())}")
            raise BadInput(f"there is no command {args[0][:40]}", cure=cure)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of `advisor` itself: commands by group, each with an example."""
        del ctx
        formatter.write(front_page(commands(), GROUPS, terminal_width()))


def _show_group(ctx: Any, args: list[str]) -> None:
    """Show the commands that begin with a word which is none itself (such as `bios`); refuse what it is followed by."""
    members = {name: about for name, about in commands().items() if name.startswith(f"{args[0]} ")}
    if not members:
        return
    if [each for each in args[1:] if each != "--help"]:
        cure = did_you_mean(" ".join(args[:2]), members, f"available: {', '.join(members)}")
        raise BadInput(f"there is no command {' '.join(args[:2])[:40]}", cure=cure)
    typer.echo(front_page(members, GROUPS, terminal_width(), of=args[0]), nl=False)
    ctx.exit(0)


app = typer.Typer(cls=CommandFolder, add_completion=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _show_version(value: bool) -> None:  # noqa: FBT001 - typer hands a flag's value to its callback this way
    if value:
        typer.echo(f"advisor {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Check how an HPC server is configured, and show the evidence."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def main() -> None:
    """Run the command line and end the process with its status: 0, 1 for findings, 2 for what could not be done."""
    if "_ADVISOR_COMPLETE" in os.environ:
        os.environ["COLUMNS"] = "1000"  # a description is one line of the shell's menu, however long
    else:
        ledger.hear = _complain
    _open_streams()
    keep_to_own_home()
    gc.disable()  # a short life full of small values: collecting garbage costs more than keeping it
    try:
        ended = status(sys.argv[1:])
    except Exception as error:
        if os.environ.get("ADVISOR_TRACEBACK"):
            raise
        ended = _complain(f"{slip(error)}; this is a bug in advisor: rerun with ADVISOR_TRACEBACK=1 and report the traceback")
    gc.freeze()  # nor is it searched for once more at the end, a fifth of an audit: the kernel takes all of it back
    sys.exit(ended)


def _open_streams() -> None:
    """Give a process that was started with a closed standard stream one in its place, which refuses what is written to it.

    No other file may get its number: it would receive what is meant for the terminal.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR if name == "stderr" else os.O_RDONLY)  # the lowest number that is free
        if getattr(sys, name) is None:
            raw = io.FileIO(number, "r" if name == "stdin" else "w", closefd=False)
            stream = io.BufferedReader(raw) if name == "stdin" else io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", errors="replace"))


_INTERRUPTED = 130
_STATUSES = frozenset({0, 1, 2, _INTERRUPTED})


def status(arguments: list[str]) -> int:
    """Return the exit status of one command line; what went wrong is one line on standard error."""
    try:
        result = _answer(arguments)
        sys.stdout.flush()
    except AdvisorError as error:
        return _INTERRUPTED if _complain(str(error)) and isinstance(error, Interrupted) else 2
    except BrokenPipeError:
        _forget_output()  # the reader (head, less) has gone
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted") and _INTERRUPTED
    except OSError as error:
        if error.filename is None:
            _forget_output()
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}")
    except MemoryError:
        return _complain("not enough memory; see ulimit -v and the memory limit of the job")
    except Exception as error:
        return _usage(error)
    if result == _INTERRUPTED:  # typer turns Ctrl-C into a status and says nothing
        _complain("interrupted")
    if isinstance(result, int) and result not in _STATUSES:
        return _complain(f"it returned the undefined status {result}; docs/adding.md shows what run may return")
    return result if isinstance(result, int) else 0


def _answer(arguments: list[str]) -> Any:
    """Run one command line; alone, `advisor` prints a screen before the parser loads what takes time."""
    if arguments or "_ADVISOR_COMPLETE" in os.environ:
        return app(_as_options(arguments), standalone_mode=False, prog_name="advisor")
    typer.echo(short_page(commands(), GROUPS, _other_advisor()), nl=False)
    return _answer(["audit"]) if _wants_audit() else 0


def _wants_audit() -> bool:
    """Return whether the person at a terminal says yes to an audit of this machine; nobody is asked elsewhere."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    sys.stderr.write("Audit this machine now? It measures for under a minute and changes nothing. [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _as_options(arguments: list[str]) -> list[str]:
    """Return a command line in which `help`, `version` and -h, as other programs have them, are options."""
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    own = arguments.index("--") if "--" in arguments else len(arguments)
    words = ["--help" if word == "-h" else word for word in arguments[:own]] + arguments[own:]
    return ["--version"] if words == ["version"] else words


def _other_advisor() -> str | None:
    """Return the program called advisor that PATH finds in place of this one: Intel's oneAPI has one, too."""
    own, first = Path(sys.argv[0]), shutil.which("advisor")
    if first is None or own.name not in ("advisor", "hpc-advisor"):
        return None
    return None if Path(first).resolve().parent == own.resolve().parent else first


def _forget_output() -> None:
    """Let nothing more be written to where it cannot be, not even at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Exception) -> int:
    """Return 2 after naming a wrong option or argument, or what cannot be loaded; anything else is a fault of ours."""
    message = getattr(error, "format_message", None)
    if message is None and not loading(error):
        raise error
    if message is None:
        return _complain(f"{slip(error)}; it cannot be loaded: see docs/adding.md")
    context = getattr(error, "ctx", None)
    command = " ".join(context.command_path.split()) if context else "advisor"
    problem, cure = mistake(error)
    cure = better_cure(error, context) or cure
    return _complain(f"{problem}; {cure or f'see {command} --help'}", command)


def _complain(line: str, who: str = "advisor") -> int:
    sys.stderr.write(f"{who}: {without_secrets(one_line(line))}\n")
    return 2
