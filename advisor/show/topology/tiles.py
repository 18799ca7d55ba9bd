"""Pieces of an SVG: each knows its size, so that they are put together without measuring twice; distances as a heat map."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from advisor.show.topology.elements import Mark, Table

SANS, BOLD = 0.62, 0.68
"""Width of a letter of the widest common sans-serif (DejaVu, Verdana), in font sizes; text is shortened by it."""

GAP = 10


@dataclass(frozen=True, slots=True)
class Tile:
    """A piece of the drawing, from its own origin."""

    width: float
    height: float
    body: str


@dataclass(frozen=True, slots=True)
class Font:
    """How a text is written."""

    size: int = 12
    fill: str = "#1f2933"
    bold: bool = False
    anchor: str = "start"

    @property
    def letter(self) -> float:
        """Width of a letter in pixels."""
        return self.size * (BOLD if self.bold else SANS)


def width_of(text: str, font: Font) -> float:
    """Return the pixels that a text takes at most; letters of wide scripts count double."""
    return sum(1 if ord(letter) < 0x1100 else 2 for letter in text) * font.letter


def text(x: float, y: float, words: str, font: Font, room: float, *, whole: str = "") -> str:
    """Return a text on a base line, shortened to the room it has; then the whole of it is its tooltip."""
    shown = fitted(words, font, room)
    weight = ' font-weight="bold"' if font.bold else ""
    anchor = f' text-anchor="{font.anchor}"' if font.anchor != "start" else ""
    title = f"<title>{safe(whole or words)}</title>" if shown != (whole or words) else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{font.size}" fill="{font.fill}"{weight}{anchor}>{title}{safe(shown)}</text>'


def fitted(words: str, font: Font, room: float) -> str:
    """Return a text as it fits, with an ellipsis where it is cut."""
    if width_of(words, font) <= room:
        return words
    while words and width_of(words + "…", font) > room:
        words = words[:-1]
    return words.rstrip() + "…" if words else ""


def broken(words: str, font: Font, room: float) -> list[str]:
    """Return a text as lines that fit, broken at blanks."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, font) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def safe(words: str) -> str:
    """Return a text that XML takes, whatever it holds."""
    return escape("".join(letter if letter.isprintable() else "?" for letter in words))


def rect(width: float, height: float, fill: str, stroke: str, *, x: float = 0, y: float = 0, dashed: bool = False) -> str:
    """Return a rounded box."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{min(4, width / 5, height / 4):g}"'
    return f'<rect {place} fill="{fill}" stroke="{stroke}"{dash}/>'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str) -> str:
    """Return a straight line."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{stroke}" stroke-width="1.5"/>'


def moved(tile: Tile, x: float, y: float) -> str:
    """Return a tile at a place."""
    return f'<g transform="translate({x:g},{y:g})">{tile.body}</g>' if tile.body else ""


DISC = 9.0
"""Radius of a finding's number."""

ALARM = {
    "high": ("#b3261e", "#ffffff"),
    "medium": ("#f0b429", "#1f2934"),
    "low": ("#f7e3a1", "#1f2934"),
    "info": ("#e4e7ec", "#1f2934"),
}
"""Of a finding's number: the colour below it, and its own; dark on light or light on dark in grey too."""


def badges(marks: Sequence[Mark], x: float, y: float) -> str:
    """Return the numbers of findings in a row from here: a square where it is severe, else a disc; tooltips say what is so."""
    return "".join(_badge(mark, x + at * (2 * DISC + 4), y) for at, mark in enumerate(marks))


def badges_width(marks: Sequence[Mark]) -> float:
    """Return the room that numbers of findings take, with a gap behind them."""
    return len(marks) * (2 * DISC + 4) + 4 if marks else 0.0


def _badge(mark: Mark, x: float, y: float) -> str:
    fill, ink = ALARM[mark.severity]
    square = 1 if mark.severity == "high" else DISC
    place = f'x="{x:g}" y="{y - DISC:g}" width="{2 * DISC:g}" height="{2 * DISC:g}" rx="{square:g}"'
    number = text(x + DISC, y + 4, str(mark.number), Font(11, ink, bold=True, anchor="middle"), 2 * DISC + 4)
    return f'<g class="mark"><title>{safe(mark.says)}</title><rect {place} fill="{fill}" stroke="#1f2934"/>{number}</g>'


def stacked(tiles: Iterable[Tile], gap: float = GAP) -> Tile:
    """Return tiles below each other."""
    parts, y, width = [], 0.0, 0.0
    for tile in tiles:
        parts.append(moved(tile, 0, y))
        y += tile.height + gap
        width = max(width, tile.width)
    return Tile(width, max(0.0, y - gap), "".join(parts))


def gridded(tiles: Sequence[Tile], columns: int, gap: float = GAP) -> Tile:
    """Return tiles in rows of so many columns, each row as high as its highest."""
    rows = [tiles[start : start + columns] for start in range(0, len(tiles), columns)]
    return stacked((_row(row, gap) for row in rows), gap)


def _row(tiles: Sequence[Tile], gap: float) -> Tile:
    parts, x = [], 0.0
    for tile in tiles:
        parts.append(moved(tile, x, 0))
        x += tile.width + gap
    return Tile(max(0.0, x - gap), max(tile.height for tile in tiles), "".join(parts))


def columns_for(items: int, width: float, least: float, gap: float = GAP) -> int:
    """Return how many columns, evenly filled, as many items take in a width."""
    most = max(1, min(items, int((width + gap) // (least + gap))))
    return -(-items // -(-items // most)) if items else 1


def inset(tile: Tile, edges: tuple[float, float], colours: tuple[str, str], head: str, *, dashed: bool = False) -> Tile:
    """Return a tile in a box, with a head drawn above it; edges are the margin and the room of the head."""
    pad, top = edges
    width, height = tile.width + 2 * pad, tile.height + top + (pad if tile.height else 0)
    body = rect(width, height, *colours, dashed=dashed) + head + moved(tile, pad, top)
    return Tile(width, height, body)


NUMBERED = 32
"""Up to so many nodes each distance is written; above, it is its square's tooltip."""

HOME, BETWEEN, AWAY = (0xE6, 0xF6, 0xE9), (0xF6, 0xDD, 0xA2), (0xDE, 0x8A, 0x72)
"""Lighter where nearer, in grey too."""

ON_HEAT = "#1f2934"
"""Ink on those colours, which are the same in the light and in the dark: a hair off the other ink, which is not."""


def heatmap(table: Table, room: float) -> Tile:
    """Return the distances between NUMA nodes, light where near and dark where far."""
    squares = _squares(table, room)
    width = max(squares.width, 340.0)
    words = "Distances between NUMA nodes"
    head = Tile(width, 18, text(0, 13, words, Font(13, bold=True), width))
    low, high = _range(table)
    scale = Tile(width, 16, text(0, 12, f"light is near ({low}), dark is far ({high})", Font(11, "#52606d"), width))
    return stacked((head, squares) if len(table.nodes) <= NUMBERED else (head, scale, squares), 4)


def _squares(table: Table, room: float) -> Tile:
    numbered = len(table.nodes) <= NUMBERED
    most = (room - 40) / len(table.nodes)
    size = min(30.0, max(_least(table), most)) if numbered else max(4.0, min(12.0, most))
    low, high = _range(table)
    parts = [_label(table, at, size) for at in range(len(table.nodes))] if numbered else []
    for y, row in enumerate(table.rows[: len(table.nodes)]):
        for x, long, distance in _runs(row[: len(table.nodes)], join=not numbered):
            square = _square(distance, (long * size, size), _colour(_share(distance, low, high)), numbered=numbered)
            parts.append(moved(square, 40 + x * size, 20 + y * size))
    side = len(table.nodes) * size
    return Tile(40 + side, 20 + side, "".join(parts))


def _runs(row: Sequence[int], *, join: bool) -> Iterator[tuple[int, int, int]]:
    """Yield where equal distances begin, how many they are, and the distance; each for itself if they are not joined."""
    at = 0
    for distance, same in groupby(row):
        long = len(list(same))
        yield from [(at, long, distance)] if join else [(at + step, 1, distance) for step in range(long)]
        at += long


def _share(distance: int, low: int, high: int) -> float:
    return (distance - low) / (high - low) if high > low else 0.0


def _least(table: Table) -> float:
    """Return what the longest number needs."""
    return width_of(str(max((*table.nodes, *(distance for row in table.rows for distance in row)))), Font(11)) + 4


def _range(table: Table) -> tuple[int, int]:
    values = [distance for row in table.rows for distance in row] or [10]
    return min(values), max(values)


def _label(table: Table, at: int, size: float) -> str:
    font = Font(11, "#52606d", anchor="middle")
    number, middle = str(table.nodes[at]), at * size + size / 2
    return text(40 + middle, 14, number, font, size) + text(20, 24 + middle, number, font, 36)


def _square(distance: int, size: tuple[float, float], colour: str, *, numbered: bool) -> Tile:
    width, height = size
    box = rect(width - 1, height - 1, colour, "none")
    if numbered:
        font = Font(11, ON_HEAT, anchor="middle")
        return Tile(width, height, box + text(width / 2, height / 2 + 4, str(distance), font, width - 1))
    return Tile(width, height, f"<g><title>{distance}</title>{box}</g>")


def _colour(share: float) -> str:
    """Green at home, sand in between, coral far away: light enough for dark numbers."""
    near, far, part = (HOME, BETWEEN, 2 * share) if share < 0.5 else (BETWEEN, AWAY, 2 * share - 1)
    mixed = (round(a + (b - a) * part) for a, b in zip(near, far, strict=True))
    return "#" + "".join(f"{level:02x}" for level in mixed)
