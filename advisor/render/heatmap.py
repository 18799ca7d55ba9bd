"""The distances as coloured squares with their numbers."""

from advisor.render.shapes import Table
from advisor.render.tiles import Font, Tile, broken, moved, rect, stacked, text

NUMBERED = 24
"""Up to so many nodes each distance is written; above, it is its square's tooltip."""

HOME, BETWEEN, AWAY = (0xD3, 0xEB, 0xD8), (0xFB, 0xEE, 0xCB), (0xE9, 0x9A, 0x80)


def heatmap(table: Table, room: float) -> Tile:
    """Return the distances between NUMA nodes, light where near and dark where far."""
    squares, font = _squares(table, room), Font(12, "#52606d")
    width = max(squares.width, 380.0)
    head = Tile(width, 18, text(0, 13, "Distances between NUMA nodes (10 = local)", Font(13, bold=True), width))
    lines = broken("; ".join(table.classes), font, width)
    return stacked((head, *(Tile(width, 16, text(0, 12, each, font, width)) for each in lines), squares), 4)


def _squares(table: Table, room: float) -> Tile:
    numbered = len(table.nodes) <= NUMBERED
    most = (room - 40) / len(table.nodes)
    size = min(34.0, max(24.0, most)) if numbered else max(4.0, min(12.0, most))
    low, high = _range(table)
    parts = [_label(table, at, size) for at in range(len(table.nodes))] if numbered else []
    for y, row in enumerate(table.rows[: len(table.nodes)]):
        for x, distance in enumerate(row[: len(table.nodes)]):
            square = _square(distance, size, low, high, numbered=numbered)
            parts.append(moved(square, 40 + x * size, 20 + y * size))
    side = len(table.nodes) * size
    return Tile(40 + side, 20 + side, "".join(parts))


def _range(table: Table) -> tuple[int, int]:
    values = [distance for row in table.rows for distance in row] or [10]
    return min(values), max(values)


def _label(table: Table, at: int, size: float) -> str:
    font = Font(11, "#52606d", anchor="middle")
    number, middle = str(table.nodes[at]), at * size + size / 2
    return text(40 + middle, 14, number, font, size) + text(20, 24 + middle, number, font, 36)


def _square(distance: int, size: float, low: int, high: int, *, numbered: bool) -> Tile:
    share = (distance - low) / (high - low) if high > low else 0.0
    box = rect(size - 1, size - 1, _colour(share), "none")
    if numbered:
        font = Font(11, anchor="middle")
        return Tile(size, size, box + text(size / 2, size / 2 + 4, str(distance), font, size - 1))
    return Tile(size, size, f"<g><title>{distance}</title>{box}</g>")


def _colour(share: float) -> str:
    """Green at home, sand in between, coral far away: light enough for dark numbers."""
    near, far, part = (HOME, BETWEEN, 2 * share) if share < 0.5 else (BETWEEN, AWAY, 2 * share - 1)
    mixed = (round(a + (b - a) * part) for a, b in zip(near, far, strict=True))
    return "#" + "".join(f"{level:02x}" for level in mixed)
