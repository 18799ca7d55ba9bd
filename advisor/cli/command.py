"""A command: its help, wrapped to the terminal, what is checked before it runs, and mistakes in the words of its help."""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from advisor.cli.manual import NARROWEST, WIDEST, help_of, page, typed
from advisor.cli.values import instead_of, must_be_writable, must_not_be_read_too, option_meant
from advisor.errors import BadValue


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
