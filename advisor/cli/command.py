"""A command: its help, wrapped to the terminal, what is checked before it runs, and mistakes in the words of its help."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from advisor.cli.manual import NARROWEST, WIDEST, help_of, page, typed
from advisor.errors import BadValue, CannotWork


def terminal_width() -> int:
    """Return the columns to print help in."""
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))


class Command(TyperCommand):
    """A command whose help is wrapped to the terminal, and that takes each of its options once."""

    path, about, examples = "", "", ()

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
            path = ctx.params.get(each.name)
            if isinstance(path, Path) and each.name in _WRITTEN:
                must_be_writable(path, folder=getattr(each, "metavar", None) == "DIR")
                must_not_be_read_too(path, {name: value for name, value in ctx.params.items() if name not in _WRITTEN})
        return super().invoke(ctx)


_WRITTEN = ("output", "svg", "png", "save")


def better_cure(error: Any, context: Any) -> str | None:
    """Return what to write instead of an option or a word that a command does not take; None where only its help says it."""
    if context is None:
        return None
    names = {name for each in context.command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    if type(error).__name__ == "NoSuchOption":
        return instead_of(error.option_name, names, getattr(context.command, "path", ""))
    extra = re.search(r"unexpected extra arguments? ?(?:\(s\) )?\((\S+).*\)", str(error.format_message()))
    return option_meant(extra[1], names, context.command.name or "") if extra else None


_MANY = {("audit", "--from"): "many nodes are audited by advisor fleet audit FILE FILE..."}
"""What to do where somebody gives an option twice because he has many."""


def _refuse_twice(order: Sequence[Any], command: str) -> None:
    single = [each for each in order if each.param_type_name == "option" and not each.multiple]
    for option, count in Counter(single).items():
        if count > 1 and (not option.is_flag or option.secondary_opts):
            cure = _MANY.get((command, typed(option)), "give it once")
            raise BadValue(f"{typed(option)} is given {'twice' if count == 2 else f'{count} times'}", cure=cure)


def must_be_writable(path: Path, *, folder: bool = False) -> None:
    """Refuse a file or folder that could not be written; nothing is left behind."""
    what = "folder" if folder else "file"
    if str(path) == "-" or "%h" in str(path) or str(path).startswith(("/dev/", "/proc/self/fd/")):
        return  # %h: a file for each BMC, in folders that are made then
    above = next(each for each in (path, *path.absolute().parents) if each.exists())
    if above != path and not folder and path.absolute().parent != above:
        raise CannotWork(f"{path}: there is no folder {path.parent}; make it first, or name another file to write")
    if path.is_dir() != folder and path.exists():
        raise CannotWork(f"{path}: is {'no folder' if folder else 'a directory'}; name another {what} to write{' into' * folder}")
    if not above.is_dir() and above != path:
        raise CannotWork(f"{path}: {above} is no folder; name another {what} to write")
    if not os.access(above, os.W_OK | (os.X_OK if above.is_dir() else 0)):
        raise CannotWork(f"{path}: permission denied; name another {what} to write{' into' * folder}")


def must_not_be_read_too(path: Path, others: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the same command reads: a capture taken on a machine that is gone cannot be had again."""
    if not path.is_file():
        return
    for value in others.values():
        for named in value if isinstance(value, list | tuple) else [value]:
            if isinstance(named, str | Path) and os.path.lexists(named) and path.samefile(named):
                raise CannotWork(f"{path}: is read by this command too; name another file to write")


_FOREIGN = {
    "-h": "--help", "-n": "--ranks", "-np": "--ranks", "--np": "--ranks", "--ntasks": "--ranks", "-c": "--threads",
    "--cpus-per-task": "--threads", "-H": "--hosts", "--host": "--hosts", "-f": "--from", "--file": "--from", "--input": "--from",
    "--format": "--as", "--out": "--output", "--outfile": "--output",
}  # fmt: skip
"""What other programs call an option of ours."""


def instead_of(option: str, names: Collection[str], path: str) -> str | None:
    """Return what to write instead of an option that a command does not take."""
    if option == "--from" and not path:
        return "an option stands behind its command: advisor audit --from FILE"
    if option == "--from" and path == "diff":
        return "name both machines: advisor diff BEFORE AFTER"
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
