"""A picture as one self-contained SVG: for a report, a ticket, a wall."""

from collections.abc import Iterable, Iterator, Sequence

from advisor.show.topology.elements import Block, Picture, Statement, collapsed
from advisor.show.topology.picture import guesses, store_text
from advisor.show.topology.sockets import COLOURS, RANKS, SLOTS, CellSize, block, cell_size, chips, strip
from advisor.show.topology.tiles import (
    Font,
    Tile,
    broken,
    columns_for,
    gridded,
    heatmap,
    moved,
    rect,
    safe,
    stacked,
    text,
    width_of,
)

PAGES, MARGIN = (960, 1280, 1600), 24
"""Widths of a page: the narrowest is taken on which a picture is not too high, so that its letters are not too small."""

TALL = 0.8
"""A page is too high above so much of its width."""

LEAST_BLOCK = 440
CORES, SOCKETS = 576, 8
"""With more than this, what is alike is drawn once."""

TITLE, SUBTITLE, BODY = Font(22, bold=True), Font(14, "#52606d"), Font(13)


def draw_svg(seen: Picture, *, whole: bool = False, head: bool = True) -> str:
    """Return a picture as SVG; on large machines alike parts are drawn once, unless the whole is asked for.

    Without a head, its name and size stand on the page around it.
    """
    if not whole and (sum(part.cores for part in seen.blocks) > CORES or len(seen.blocks) > SOCKETS):
        seen = collapsed(seen)
    page, width = _page(seen, head=head)
    height = page.height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}" '
        'font-family="DejaVu Sans, Verdana, Arial, Helvetica, sans-serif" role="img">'
        f"<title>{safe(seen.title)}</title>"
        f'<rect width="{width}" height="{height:g}" fill="#ffffff"/>{moved(page, MARGIN, MARGIN)}</svg>\n'
    )


def _page(seen: Picture, *, head: bool) -> tuple[Tile, int]:
    """Return the drawing and the width of its page."""
    for width in PAGES:
        room = width - 2 * MARGIN
        tiles = (
            *([_head(seen, room)] if head else []),
            _blocks(seen, room),
            *_links(seen, room),
            *_loose(seen, room),
            _foot(seen, room),
        )
        page = stacked((tile for tile in tiles if tile.height), 18)
        if page.height <= TALL * width:
            break
    return page, width


def _head(seen: Picture, room: float) -> Tile:
    cut = next((each for each in seen.statements if each.about == "NUMA"), None)
    lines = broken(f"{seen.processors} · {seen.counts}", SUBTITLE, room)
    words = text(0, 22, seen.title, TITLE, room)
    words += "".join(text(0, 46 + 19 * at, each, SUBTITLE, room) for at, each in enumerate(lines))
    height = 33.0 + 19 * len(lines)
    if cut is None:
        return Tile(room, height, words)
    sentence = f"Cut: {cut.says}, {cut.sure} confidence"
    return Tile(room, height + 24, words + text(0, height + 18, sentence, Font(14, bold=True), room))


def _blocks(seen: Picture, room: float) -> Tile:
    columns = columns_for(len(seen.blocks), room, LEAST_BLOCK)
    each = (room + 16) / columns - 16
    core = cell_size(seen)
    rows = [seen.blocks[start : start + columns] for start in range(0, len(seen.blocks), columns)]
    return stacked((_row(row, each, core) for row in rows), 16)


def _row(blocks: Sequence[Block], width: float, core: CellSize) -> Tile:
    """Sockets beside each other, all as high as the highest."""
    height = max(block(part, width, core).height for part in blocks)
    return gridded([block(part, width, core, height) for part in blocks], len(blocks), 16)


def _links(seen: Picture, room: float) -> Iterator[Tile]:
    """Links between sockets: a bar that reaches below all of them, with what is known of it."""
    for link in seen.links:
        words = strip(link, room - 2 * MARGIN)
        bar = rect(room, words.height + 12, *COLOURS["link between sockets"])
        yield Tile(room, words.height + 12, bar + moved(words, 12, 7))


def _loose(seen: Picture, room: float) -> Iterator[Tile]:
    """Memory and devices that belong to no one socket."""
    colours = COLOURS["memory without CPUs"]
    for store in seen.stores:
        body = rect(room, 26, *colours) + text(10, 17, store_text(store), Font(12), room - 20)
        yield Tile(room, 26, body)
    if seen.devices:
        head = Tile(room, 16, text(0, 12, "Not local to one socket, or place not known", Font(12, bold=True), room))
        yield stacked((head, chips(seen.devices, room)), 4)


def _foot(seen: Picture, room: float) -> Tile:
    """Distances at the left; what was inferred, notes and legend at the right."""
    table = heatmap(seen.table, room * 0.4) if seen.table else Tile(0, 0, "")
    left = table.width + 40 if table.width else 0
    words = stacked((_statements(seen.statements, room - left), _notes(seen, room - left), _legend(seen, room - left)), 12)
    body = moved(table, 0, 0) + moved(words, left, 0)
    return Tile(room, max(table.height, words.height), body)


def _statements(statements: Iterable[Statement], room: float) -> Tile:
    tiles = []
    for each in statements:
        sure = f", {each.sure} confidence" if each.sure else ""
        why = f": {'; '.join(each.why)}" if each.why else ""
        label = Tile(96, 18, text(0, 13, each.about, Font(13, bold=True), 94))
        tiles.append(gridded((label, _paragraph(f"{each.says}{sure}{why}", BODY, room - 106)), 2))
    return stacked(tiles, 6)


def _paragraph(words: str, font: Font, room: float) -> Tile:
    step = font.size + 5
    lines = broken(words, font, room)
    body = "".join(text(0, font.size + at * step, each, font, room) for at, each in enumerate(lines))
    return Tile(room, len(lines) * step, body)


def _notes(seen: Picture, room: float) -> Tile:
    font = Font(12, "#8d2b0b")
    return stacked((_paragraph(note, font, room) for note in (*guesses(seen), *seen.notes)), 2)


def _used(seen: Picture) -> Iterator[str]:
    """Names of the colours that the picture uses."""
    devices = [device for part in seen.blocks for device in part.devices] + list(seen.devices)
    devices += [device for box in seen.boxes() for device in box.devices]
    own = {group.cache and not group.reaches for box in seen.boxes() for group in box.groups}
    yield from ("socket", "NUMA node", *(["L3 group"] if True in own else []))
    yield from ("cores without an L3 of their own", "core") if False in own else ("core",)
    if any(any(member.marks) for box in seen.boxes() for member in box.members()):
        yield "core with ranks"
    if any(box.denied or any(member.denied for member in box.members()) for box in seen.boxes()):
        yield "outside the allocation"
    if seen.stores or any(part.stores for part in seen.blocks) or any(box.stores for box in seen.boxes()):
        yield "memory without CPUs"
    if devices:
        yield "device"
    if any(device.state == "down" for device in devices):
        yield "port down"
    strips = [*(part.memory for part in seen.blocks if part.memory), *seen.links]
    slots = {slot.state for each in strips for slot in each.slots}
    yield from (words for state, words in SLOTS.items() if state in slots)


def _legend(seen: Picture, room: float) -> Tile:
    """Return the colours and what they stand for."""
    font, x, y, parts = Font(11, "#52606d"), 0.0, 0.0, []
    for name in _used(seen):
        fill, stroke = COLOURS[name]
        words = f"{name}, {len(RANKS)} colours in turn" if name == "core with ranks" else name
        size = 22 + width_of(words, font) + 12
        if x + size > room:
            x, y = 0.0, y + 20
        parts.append(rect(16, 12, fill, stroke, x=x, y=y + 2) + text(x + 22, y + 12, words, font, room))
        x += size
    return Tile(room, y + 18, "".join(parts))
