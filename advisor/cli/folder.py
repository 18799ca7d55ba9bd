"""Commands found in a folder, and imported only when they are run: `advisor --help` reads docstrings, no code."""

import ast
import pkgutil
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

import advisor.cli.commands
from advisor.errors import BadInput, did_you_mean

GROUPS = ("Look at a machine", "Set it up", "Run a job", "Explain", "Compare", "Capture")
"""The headings of `advisor --help`, in order; a command of another group comes after them."""


STATUS = "Exit status: 0 done, 1 findings (with --fail-on), 2 the work could not be done (one line on standard error says why)."


class About(NamedTuple):
    """What a command's docstring says."""

    summary: str
    group: str
    text: str
    examples: tuple[str, ...]


@cache
def commands() -> dict[str, About]:
    """Return what each command in the folder says of itself."""
    folder = Path(advisor.cli.commands.__path__[0])
    return {info.name.replace("_", " "): _about(folder / f"{info.name}.py") for info in pkgutil.iter_modules([str(folder)])}


_QUOTES = '"""'


def _about(path: Path) -> About:
    text = path.read_text(encoding="utf-8")
    end = text.find(_QUOTES, len(_QUOTES)) + len(_QUOTES) if text.startswith(_QUOTES) else len(text)
    doc = ast.get_docstring(ast.parse(text[:end])) or ""  # parsing the code below it would take ten times as long
    lines = doc.splitlines()
    marked = {word: [line.partition(": ")[2] for line in lines if line.startswith(f"{word}: ")] for word in ("Group", "Example")}
    text = "\n".join(line for line in lines if not line.startswith(("Group: ", "Example: "))).strip()
    return About(lines[0].rstrip("."), "".join(marked["Group"]) or "Other", text, tuple(marked["Example"]))


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
        module = import_module(f"advisor.cli.commands.{cmd_name.replace(' ', '_')}")
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        epilog = "\n".join(["\b", "Examples:", *(f"  {example}" for example in about.examples), "", STATUS])
        kind = getattr(module, "CommandLine", None)  # of a command that reads its arguments in its own way
        single.command(cmd_name, cls=kind, help=about.text, epilog=epilog, short_help=about.summary)(module.run)
        command = typer.main.get_command(single)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, in two words too; of a name that is none, say which is nearest."""
        if " ".join(args[:2]) in commands():
            args = [" ".join(args[:2]), *args[2:]]
        if args and not args[0].startswith("-") and args[0] not in commands():
            cure = did_you_mean(args[0], commands(), f"there are {', '.join(commands())}")
            raise BadInput(f"No such command '{args[0][:40]}'", cure=cure)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of `advisor` itself: commands by group, each with an example."""
        del ctx
        formatter.write("Usage: advisor COMMAND [OPTIONS]\n\n  Audits HPC servers: what to set, why, and how that is known.\n")
        grouped: dict[str, list[str]] = defaultdict(list)
        for name, about in commands().items():
            grouped[about.group].append(name)
        wide = max(map(len, commands()))
        order = [*GROUPS, *sorted(set(grouped) - set(GROUPS))]
        for group in (group for group in order if group in grouped):
            formatter.write(f"\n{group}:\n")
            for name in grouped[group]:
                about = commands()[name]
                formatter.write(f"  {name:{wide}} {about.summary}\n")
                formatter.write("".join(f"  {'':{wide}}   $ {example}\n" for example in about.examples[:1]))
        formatter.write(_TAIL)


_TAIL = f"""
Options:
  --version              Print the version and stop.
  --install-completion   Install completion of commands and options for this shell.
  --show-completion      Print that completion, to copy or adapt.
  --help                 Show this text; 'advisor COMMAND --help' shows a command's.

Every command looks at this machine, or at another one with --from FILE: a capture, an hwloc XML, a Machine JSON, or
a folder or archive with its /sys and /proc. Nothing is ever changed on the machine.
{STATUS}
"""
