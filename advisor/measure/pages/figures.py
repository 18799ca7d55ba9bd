"""How measured values are written and drawn on a terminal: three digits and a unit, tables, bars, heat."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from advisor.machine.units import UNKNOWN, binary, count, plain, printable
from advisor.measure.measurement import Distance, Part, Purpose, Result, Unit
from advisor.show.lines import STYLES, Line, Page, Span, cut, width_of, wrapped
from advisor.show.topology.tiles import AWAY, BETWEEN, HOME

SCALES: Final[dict[Unit, tuple[float, str]]] = {
    "bytes/s": (1e9, "GB/s"),
    "seconds": (1e-9, "ns"),
    "flop/s": (1e9, "GFLOP/s"),
    "hertz": (1e9, "GHz"),
    "messages/s": (1e6, "M msg/s"),
}

_PREFIXES: Final = ("", "k", "M", "G", "T")

PARTS: Final[tuple[Part, ...]] = ("core", "l3", "numa", "socket", "machine", "pair")
DISTANCES: Final[tuple[Distance | None, ...]] = (None, "local", "spread", "same-socket", "other-socket")

_PART = {"core": "core", "l3": "L3 group", "numa": "NUMA node", "socket": "socket", "machine": "machine", "pair": "pair"}
_CHOICE: dict[Purpose, str] = {"sparse": ", 1 per L3", "half": ", half of each L3"}
_DISTANCE = {
    None: "",
    "local": "local",
    "spread": "first touch",
    "same-socket": "same socket",
    "other-socket": "other socket",
}
_ISA = {"avx512": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4": "SSE4.1", "sse2": "SSE2", "neon": "NEON", "sve": "SVE"}


def figure(value: float) -> str:
    """Return a number with three significant digits.

    >>> figure(21.437), figure(0.98765), figure(3838.2), figure(99.97)
    ('21.4', '0.988', '3840', '100')
    """
    if not isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    rounded = float(f"{value:.2e}")
    return f"{rounded:.{max(0, 2 - floor(log10(abs(rounded))))}f}"


def unit_name(unit: Unit) -> str:
    """Return the unit that is written: ``GB/s``; one that only its kernel knows as it is."""
    return SCALES[unit][1] if unit in SCALES else plain(unit, 40)


def scaled(value: float, unit: Unit) -> float:
    """Return a value in the unit that is written."""
    return value / SCALES.get(unit, (1.0, unit))[0]


def number(value: float, unit: Unit) -> str:
    """Return a value as it is written, without its unit."""
    return figure(scaled(value, unit))


def short_number(value: float, unit: Unit) -> str:
    """Return a value without its unit; with a prefix where the unit has no usual one.

    >>> short_number(2.14e10, "bytes/s"), short_number(3.3e7, "updates/s"), short_number(42.0, "updates/s")
    ('21.4', '33.0 M', '42.0')
    """
    if unit in SCALES or not isfinite(value):
        return number(value, unit)
    power = sum(abs(value) >= 1000.0**step for step in range(1, len(_PREFIXES)))
    return f"{figure(value / 1000.0**power)} {_PREFIXES[power]}".strip()


def amount(value: float, unit: Unit) -> str:
    """Return a value with its unit.

    >>> amount(2.14e10, "bytes/s"), amount(3.3e7, "updates/s")
    ('21.4 GB/s', '33.0 M updates/s')
    """
    return f"{short_number(value, unit)} {unit_name(unit)}"


def percent(share: float) -> str:
    """Return a share: ``0.4 %``, ``87 %``."""
    if not isfinite(share):
        return UNKNOWN
    return f"{100 * share:.0f} %" if abs(share) >= 0.0995 else f"{100 * share:.1f} %"


def isa(name: str | None) -> str:
    """Return instructions as their vendor writes them: ``AVX-512``."""
    return _ISA.get(name or "", plain(name or "", 20))


def distance(of: Distance | None) -> str:
    """Return how far away the memory is, in words."""
    return _DISTANCE[of]


def part_name(part: Part, index: int | None = None, alike: int = 1) -> str:
    """Return what was measured: ``NUMA node 3``, ``socket (2)`` for the median of both."""
    which = f" ({alike})" if alike > 1 else "" if index is None else f" {index}"
    return f"{_PART[part]}{which}"


def cores(numbers: Iterable[int], purpose: Purpose) -> str:
    """Return how many cores worked: ``16``; ``4, 1 per L3``."""
    ordered = sorted(set(numbers))
    span = str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]}-{ordered[-1]}"
    return f"{span}{_CHOICE.get(purpose, '')}"


def how(results: Sequence[Result]) -> str:
    """Return the conditions that results share: repeats, instructions, pages, working set."""
    sizes = sorted({result.bytes for result in results if result.bytes is not None})
    spans = list(dict.fromkeys(map(binary, sizes)))
    words = [
        _repeats(sorted({len(result.values) for result in results})),
        _either(isa(result.isa) for result in results if result.isa),
        _pages(results),
        "" if not spans else spans[0] if len(spans) == 1 else f"{spans[0]} to {spans[-1]}",
    ]
    return ", ".join(word for word in words if word)


def _repeats(numbers: Sequence[int]) -> str:
    if list(numbers) == [1]:
        return "one run"
    if len(numbers) == 1:
        return f"median of {count(numbers[0], 'repeat')}"
    return f"median of {numbers[0]}-{numbers[-1]} repeats" if numbers else ""


def _pages(results: Sequence[Result]) -> str:
    kinds = _either(plain(result.page_kind, 20) for result in results if result.page_kind)
    return f"{kinds} pages" if kinds else ""


def _either(words: Iterable[str]) -> str:
    return " or ".join(sorted(set(words)))


HEATS: Final = 5
"""So many colours tell values of a matrix apart; the numbers stand in the squares."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = str.maketrans(dict(zip(_EIGHTHS[1:] + "…", "...-####.", strict=True)))
_STRUCK: Final = "struck"


class MeasuredPage(Page):
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


def rejected_span(words: str) -> Span:
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
