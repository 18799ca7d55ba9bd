"""Styled lines of text: wrapped, framed, set side by side, and as a page that rich prints; widths are cells of a terminal."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.units import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text


Span = tuple[str, str]
"""A text and the name of its style."""

Line = tuple[Span, ...]

_GLUE = "\u00a0"
"""A blank at which no line is broken; in names from outside there is none, see units.plain."""


def width_of(line: Line) -> int:
    """Return the cells that a line takes."""
    return sum(cell_len(text) for text, _ in line)


def text_of(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(text for text, _ in line)


def cut(text: str, width: int) -> str:
    """Return a text that fits, with an ellipsis where it had to be cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def padded(line: Line, width: int) -> Line:
    """Return a line filled with blanks."""
    return (*line, (" " * max(0, width - width_of(line)), ""))


LONGEST_WORD = 1000
"""Cells of a word that is still kept whole."""

_LEAST = 8
"""Cells that an indent leaves a line; a terminal narrower than this has no indents."""


def wrapped(spans: Iterable[Span], width: int, indent: int = 2, *, whole: bool = False) -> list[Line]:
    """Return spans broken at blanks, and after commas where a word is too long; later lines are indented.

    With ``whole`` a word that is too long stands on a line of its own, unbroken: it is to be copied.
    """
    indent = max(0, min(indent, width - _LEAST))
    lines: list[list[Span]] = [[]]
    room = width
    for word, style in _words(spans, LONGEST_WORD if whole else width - indent):
        size = cell_len(word.rstrip())
        if size > room and lines[-1]:
            lines.append([(" " * indent, "")])
            room = width - indent
        lines[-1].append((word, style))
        room -= cell_len(word)
    return [_trimmed(line) for line in lines]


def clipped(spans: list[Span], width: int, most: int, indent: int, *, whole: bool = False) -> list[Line]:
    """Return wrapped lines, cut between words where they would be more than so many; a mark says where all of it stands."""
    lines = wrapped(spans, width, indent=indent, whole=whole)
    head, words = spans[:1], "".join(text for text, _ in spans[1:]).split(" ")
    while len(lines) > most and len(words) > 1:
        words.pop()
        lines = wrapped([*head, (" ".join(words).rstrip(",;:") + " ... (-v)", spans[1][1])], width, indent=indent, whole=whole)
    return lines


def labelled(label: str, spans: Iterable[Span], width: int, room: int) -> list[Line]:
    """Return spans beside a label, later lines below the first."""
    return wrapped([(f"{label:<{room - 1}} ", "label"), *spans], width, indent=room)


def glued(text: str, width: int) -> str:
    """Return a text that is not broken inside where a line holds it whole."""
    return text.replace(" ", _GLUE) if cell_len(text) < width else text


def with_units(text: str) -> str:
    """Return a text in which no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(?:[KMGT]i?B(?:/s)?|[KMG]b/s|[GT]FLOP/s|[num]?s|%)(?:[ ,;:)]|$))", _GLUE, text)


def _words(spans: Iterable[Span], width: int) -> Iterable[Span]:
    for text, style in spans:
        start = 0
        while start < len(text):
            blank = text.find(" ", start)
            end = len(text) if blank < 0 else blank + 1
            yield from ((piece, style) for piece in _pieces(text[start:end], width))
            start = end


def _pieces(word: str, width: int) -> Iterable[str]:
    """Cut a word that is wider than a line, after commas where it has some; a piece has a letter, also where none fits."""
    while cell_len(word.rstrip()) > max(width, 1) and len(word) > 1:
        letters = max(1, _fitting(word, width))
        comma = word.rfind(",", 0, letters) + 1
        yield word[: comma or letters]
        word = word[comma or letters :]
    yield word


def _fitting(word: str, width: int) -> int:
    """Return how many letters of a word take no more cells than a width."""
    room = width
    for at, letter in enumerate(word):
        room -= cell_len(letter)
        if room < 0:
            return at
    return len(word)


def _trimmed(line: list[Span]) -> Line:
    if line and line[-1][0].endswith(" "):
        text, style = line[-1]
        line[-1] = (text.rstrip(" "), style)
    return tuple((text.replace(_GLUE, " "), style) for text, style in line)


Panel = tuple[tuple[str, str], list[Line]]
"""What is framed: a title, a second one at the right end, and the lines."""


def framed(panels: Sequence[Panel], width: int, styles: Sequence[str]) -> list[Line]:
    """Return panels in frames of one width and height beside each other, each in its style."""
    fitting = [_titled(panel, width - 2) for panel in panels]
    height = max(len(body) for _, body in fitting)
    frames = [_frame(panel, width, style, height) for panel, style in zip(fitting, styles, strict=True)]
    return beside(frames, [width] * len(fitting))


def _titled(panel: Panel, inner: int) -> Panel:
    """Move the second title into the body where there is no room for both."""
    (title, right), body = panel
    if not right or cell_len(title) + cell_len(right) + 6 <= inner:
        return panel
    return (title, ""), [((cut(right, inner - 2), ""),), *body]


def _frame(panel: Panel, width: int, style: str, height: int) -> list[Line]:
    (title, right), body = panel
    inner = width - 2
    left = f" {cut(title, inner - 3)} "
    end = f" {right} ─" if right else ""
    rule = "─" * (inner - 1 - cell_len(left) - cell_len(end))
    top: Line = (("┌─", style), (left, f"{style} title"), (f"{rule}{end}┐", style))
    rows = [*body, *[()] * (height - len(body))]
    sides = [(("│ ", style), *padded(row, inner - 2), (" │", style)) for row in rows]
    return [top, *sides, (("└" + "─" * inner + "┘", style),)]


def beside(columns: Sequence[Sequence[Line]], widths: Sequence[int], gap: int = 1) -> list[Line]:
    """Return blocks of lines next to each other."""
    rows = zip_longest(*columns, fillvalue=())
    return [_row(row, widths, gap) for row in rows]


def _row(cells: Sequence[Line], widths: Sequence[int], gap: int) -> Line:
    spans: list[Span] = []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        spans += [(" " * gap, "")] if at else []
        spans += padded(cell, width)
    return tuple(spans)


def columns_for(items: int, width: int, least: int, gap: int = 1) -> int:
    """Return how many columns, evenly filled, as many items take in a width."""
    most = max(1, min(items, (width + gap) // (least + gap)))
    rows = -(-items // most)
    return -(-items // rows)


STYLES = {
    "title": "bold",
    "socket": "bright_blue",
    "socket title": "bold bright_blue",
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
    "struck": "dim strike",
    **{f"rank {at}": style for at, style in enumerate(("green", "magenta", "cyan", "yellow"))},
    **{f"rank {at}": f"bold {style}" for at, style in enumerate(("green", "magenta", "cyan", "yellow"), start=4)},
}

_ASCII = str.maketrans(
    {
        "─": "-",
        "│": "|",
        "┌": "+",
        "┐": "+",
        "└": "+",
        "┘": "+",
        "…": ".",
        "·": "-",
        **dict(zip("▏▎▍▌▋▊▉█", "...-####", strict=True)),
    }
)


class Page:
    """Lines that rich prints at the console's width, or at the width that was asked for."""

    def __init__(self, lines: Callable[[int], list[Line]], width: int | None = None) -> None:
        self.lines, self.width = lines, width

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        yield text(self.lines(self.width or options.max_width), ascii_only=options.ascii_only)


def text(drawn: Sequence[Line], *, ascii_only: bool = False) -> "Text":
    """Return lines as rich text, in ASCII for an encoding that is not UTF-8."""
    from rich.text import Text  # the JSON paths need no rich.text: 20 ms of every boot

    pieces: list[tuple[str, str]] = []
    for line in drawn:
        for style, run in groupby(line, itemgetter(1)):  # one escape for what has one style, not one a word
            clean = printable("".join(words for words, _ in run))  # the last gate before the terminal
            pieces.append((_ascii(clean) if ascii_only else clean, STYLES.get(style, "")))
        if line:
            _strip(pieces)
        pieces.append(("\n", ""))
    result = Text(no_wrap=True, overflow="ignore", end="")
    for words, style in pieces:
        result.append(words, style or None)
    return result


def _strip(pieces: list[tuple[str, str]]) -> None:
    """Take the blanks from the end, here and not in the text, which would be put together for each line."""
    while pieces:
        words, style = pieces.pop()
        if kept := words.rstrip():
            pieces.append((kept, style))
            return


def _ascii(words: str) -> str:
    plain = words.translate(_ASCII)
    return plain if plain.isascii() else "".join(c if c.isascii() else "?" * cell_len(c) for c in plain)


Run = tuple[int, int]

LANES = 16
"""No core has more hardware threads; a file that names one with a million must not take a million lists."""

FULL = 4
"""A sequence up to this long is written out: 0,16,32,48."""


def listed(cpus: CpuSet) -> str:
    """Return a set with its sequences shortened.

    >>> listed(CpuSet.parse("0-3,8")), listed(CpuSet.parse("0-56:1/8")), listed(CpuSet.parse("0-48:1/16"))
    ('0-3,8', '0,8,..,56', '0,16,32,48')
    """
    return ",".join(
        _run(runs[0]) if len(runs) == 1 else f"{_run(runs[0])},{_run(runs[1])},..,{_run(runs[-1])}"
        for runs in _sequences(list(cpus.ranges()))
    )


def numbered(numbers: Iterable[int]) -> str:
    """Return any numbers in rising order: the kernel's ids of sockets, and the nodes a JSON names, know no limit.

    >>> numbered([3, 1, 2]), numbered([4294967295, -1])
    ('1-3', '-1,4294967295')
    """
    known = sorted(set(numbers))
    return listed(CpuSet(known)) if known and known[0] >= 0 and known[-1] < LIMIT else ",".join(map(str, known))


def threads(cores: Sequence[CpuSet]) -> str:
    """Return the CPUs of cores, second threads after a plus where they are numbered apart.

    >>> threads([CpuSet([0, 64]), CpuSet([1, 65])]), threads([CpuSet([0, 1]), CpuSet([2, 3])])
    ('0-1 +64-65', '0-3')
    """
    adjacent = all(core and core == CpuSet.span(core.first or 0, core.last or 0) for core in cores)
    if adjacent or any(len(core) > LANES for core in cores):
        return listed(union(cores))
    lanes: dict[int, list[int]] = {}
    for core in cores:
        for lane, cpu in enumerate(core):
            lanes.setdefault(lane, []).append(cpu)
    return " +".join(listed(CpuSet(lane)) for lane in lanes.values())


def _sequences(runs: list[Run]) -> Iterator[list[Run]]:
    at = 0
    while at < len(runs):
        long = _length(runs, at)
        take = long if long > FULL else 1
        yield runs[at : at + take]
        at += take


def _length(runs: list[Run], at: int) -> int:
    """How many runs from here on have one length and one step."""
    end = at + 1
    while end < len(runs) and _step(runs, end) == _step(runs, at + 1):
        end += 1
    return end - at


def _step(runs: list[Run], at: int) -> tuple[int, int, int]:
    (first, last), (next_first, next_last) = runs[at - 1], runs[at]
    return next_first - first, last - first, next_last - next_first


def _run(run: Run) -> str:
    first, last = run
    return str(first) if first == last else f"{first}-{last}"
