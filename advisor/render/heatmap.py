"""The distances as coloured squares with their numbers."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from advisor.render.shapes import Table
from advisor.render.tiles import Font, Tile, moved, rect, stacked, text, width_of

NUMBERED = 32
"""Up to so many nodes each distance is written; above, it is its square's tooltip."""

HOME, BETWEEN, AWAY = (0xE6, 0xF6, 0xE9), (0xF6, 0xDD, 0xA2), (0xDE, 0x8A, 0x72)
"""Lighter where nearer, in grey too."""


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
        font = Font(11, anchor="middle")
        return Tile(width, height, box + text(width / 2, height / 2 + 4, str(distance), font, width - 1))
    return Tile(width, height, f"<g><title>{distance}</title>{box}</g>")


def _colour(share: float) -> str:
    """Green at home, sand in between, coral far away: light enough for dark numbers."""
    near, far, part = (HOME, BETWEEN, 2 * share) if share < 0.5 else (BETWEEN, AWAY, 2 * share - 1)
    mixed = (round(a + (b - a) * part) for a, b in zip(near, far, strict=True))
    return "#" + "".join(f"{level:02x}" for level in mixed)
