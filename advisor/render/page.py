"""Lines on their way to a terminal or a file: in colours where there are some, in ASCII where nothing else is understood."""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from advisor.language.units import printable
from advisor.render.lines import Line

STYLES = {
    "title": "bold",
    "socket": "blue",
    "socket title": "bold blue",
    "node": "green",
    "node title": "bold green",
    "dim title": "dim bold",
    "warn title": "bold yellow",
    "cache": "cyan",
    "store": "magenta",
    "device": "bold",
    "up": "",
    "none": "",
    "down": "bold red",
    "unknown": "yellow",
    "slow": "yellow",
    "dim": "dim",
    "heading": "bold underline",
    "label": "cyan",
    "warn": "yellow",
    "local": "bold",
    "high": "bold red",
    "medium": "bold yellow",
    "low": "bold cyan",
    "info": "dim",
    "good": "green",
}

_ASCII = str.maketrans({"─": "-", "│": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "…": ".", "·": "-"})


class Page:
    """Lines that rich prints at the console's width, or at the width that was asked for."""

    def __init__(self, lines: Callable[[int], list[Line]], width: int | None = None) -> None:
        self.lines, self.width = lines, width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield text(self.lines(self.width or options.max_width), ascii_only=options.ascii_only)


def text(drawn: Sequence[Line], *, ascii_only: bool = False) -> Text:
    """Return lines as rich text, in ASCII for an encoding that is not UTF-8."""
    result = Text(no_wrap=True, overflow="ignore", end="")
    for line in drawn:
        for words, style in line:
            clean = printable(words)  # the last gate before the terminal
            result.append(_ascii(clean) if ascii_only else clean, STYLES.get(style, "") or None)
        if line:
            result.rstrip()
        result.append("\n")
    return result


def _ascii(words: str) -> str:
    plain = words.translate(_ASCII)
    return plain if plain.isascii() else "".join(c if c.isascii() else "?" * cell_len(c) for c in plain)
