"""A command: its help, wrapped to the terminal, what is checked before it runs, and mistakes in the words of its help."""

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from advisor.errors import BadValue, CannotWork
from advisor.render.manual import NARROWEST, WIDEST, help_of, page, typed


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
                _refuse_twice(found[2])
            return found

        parser.parse_args = once
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Run the command, once it is known that its files can be written: nobody measures for a minute and keeps nothing."""
        for each in self.params:
            path = ctx.params.get(each.name)
            if isinstance(path, Path) and each.name in _WRITTEN:
                must_be_writable(path, folder=getattr(each, "metavar", None) == "DIR")
        return super().invoke(ctx)


_WRITTEN = ("output", "svg", "png", "save")


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


def _refuse_twice(order: Sequence[Any]) -> None:
    single = [each for each in order if each.param_type_name == "option" and not each.multiple]
    for option, count in Counter(single).items():
        if count > 1 and (not option.is_flag or option.secondary_opts):
            raise BadValue(f"{typed(option)} is given {'twice' if count == 2 else f'{count} times'}", cure="give it once")
