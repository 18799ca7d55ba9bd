"""Lines with bars, tables and heat, for a terminal: in ASCII where nothing else is understood, readable without colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from advisor.language.units import printable
from advisor.render.heatmap import AWAY, BETWEEN, HOME
from advisor.render.lines import Line, Span, cut, width_of, wrapped
from advisor.render.page import STYLES, Page

HEATS: Final = 5
"""So many colours tell values of a matrix apart; the numbers stand in the squares."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = str.maketrans(dict(zip(_EIGHTHS[1:] + "…", "...-####.", strict=True)))
_STRUCK: Final = "struck"


class Chart(Page):
    """A page with bars and coloured squares."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(self.width or options.max_width):
            yield _painted(line, ascii_only=options.ascii_only)


def _painted(line: Line, *, ascii_only: bool) -> Text:
    """Return a line as rich text, by the rules of every page, with the styles that only measurements need."""
    result = Text(no_wrap=True, overflow="ignore")
    for words, style in line:
        clean = printable(words)  # the last gate before the terminal
        shown = clean.translate(_ASCII).encode("ascii", "replace").decode() if ascii_only else clean
        result.append(shown, _style(style))
    result.rstrip()
    return result


def _style(name: str) -> Style | str | None:
    if name == _STRUCK:
        return "dim strike"
    if name.startswith("heat "):
        return Style(color="black", bgcolor=heat_colour(int(name[5:]) / (HEATS - 1)))
    return STYLES.get(name, "") or None


def heat_colour(share: float) -> str:
    """Return the colours of the distances' heat map: green at home, sand between, coral far away; lighter where nearer."""
    near, far, part = (HOME, BETWEEN, 2 * share) if share < 0.5 else (BETWEEN, AWAY, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(near, far, strict=True))


def heat(value: float, values: Sequence[float], *, more_is_better: bool) -> str:
    """Return the style of a value among others: heat 0 is the best."""
    low, high = min(values), max(values)
    share = (value - low) / (high - low) if high > low else 0.0
    worse = 1 - share if more_is_better and high > low else share
    return f"heat {round(worse * (HEATS - 1))}"


def bar(share: float, room: int) -> str:
    """Return a bar for a share of the room, filled with blanks; what is above nothing shows."""
    eighths = max(1 if share > 0 else 0, round(min(1.0, max(0.0, share)) * room * 8))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(room)


def heading(title: str, about: str, width: int) -> list[Line]:
    """Return the head of a section after an empty line: what it is, in which unit and under which conditions."""
    return [(), *wrapped([(title, "heading"), (f"  {about}" if about else "", "dim")], width)]


def struck(words: str) -> Span:
    """Return words that are not believed; a terminal that cannot strike shows them dim."""
    return words, _STRUCK


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar for a share of the longest one; it takes the room that a table has left."""

    share: float


Cell = str | Span | Bar

_BARS = 4, 40
"""Cells that a bar takes at least and at most."""


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, right: str = "", *, short: int = 0) -> list[Line]:
    """Return columns as wide as their longest cell.

    ``right`` has a letter for each column: r sets it to the right, everything else to the left. If not all fits, the
    column ``short`` is shortened.
    """
    others = 2 * len(head) + sum(max(_size(row[at]) for row in (head, *rows)) for at in range(len(head)))
    room = max(_BARS[0], min(_BARS[1], width - others))
    cells = [[_span(cell, room) for cell in row] for row in rows]
    everything = [[(word, "label") for word in head], *cells]
    wide = [max(cell_len(row[at][0]) for row in everything) for at in range(len(head))]
    wide[short] = max(6, wide[short] - max(0, sum(wide) + 2 * len(wide) - width))
    return [_fitting(_row(row, wide, right), width) for row in everything]


def _size(cell: Cell) -> int:
    return 0 if isinstance(cell, Bar) else cell_len(cell if isinstance(cell, str) else cell[0])


def _span(cell: Cell, room: int) -> Span:
    if isinstance(cell, Bar):
        return bar(cell.share, room), "cache"
    return cell if isinstance(cell, tuple) else (cell, "")


def _row(cells: Sequence[Span], wide: Sequence[int], right: str) -> Line:
    spans: list[Span] = []
    for (words, style), room, side in zip(cells, wide, right.ljust(len(wide))[: len(wide)], strict=True):
        short = cut(words, room)
        blanks = " " * (room - cell_len(short))
        spans += [("  ", ""), *([(blanks, ""), (short, style)] if side == "r" else [(short, style), (blanks, "")])]
    return tuple(spans)


def _fitting(line: Line, width: int) -> Line:
    """Cut a line at the width."""
    result: list[Span] = []
    for words, style in line:
        room = width - width_of(tuple(result))
        if room <= 0:
            break
        result.append((cut(words, room), style))
    return tuple(result)
