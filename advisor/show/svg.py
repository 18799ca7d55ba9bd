"""A picture as one self-contained SVG, for a report, a ticket, a wall: sockets, NUMA nodes, L3 groups, cores, devices as tiles.

Each tile knows its size, so that they are put together without measuring twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet
from advisor.show.lines import listed
from advisor.show.picture import (
    WRITTEN,
    Block,
    Box,
    Device,
    Group,
    Mark,
    Member,
    Picture,
    Statement,
    Strip,
    Table,
    block_facts,
    block_remarks,
    block_title,
    box_memory,
    box_remarks,
    box_title,
    collapsed,
    device_name,
    group_label,
    group_summary,
    guesses,
    member_text,
    store_text,
)

PAGES, MARGIN = (960, 1280, 1600), 24
"""Widths of a page: the narrowest is taken on which a picture is not too high, so that its letters are not too small."""

NARROW = (520,)
"""The width on a telephone: the sockets stand below each other."""

TALL = 0.8
"""A page is too high above so much of its width."""

LEAST_BLOCK = 440
PICTURE_CORES, SOCKETS = 576, 8
"""With more than this, what is alike is drawn once."""

COLOURS = {
    "socket": ("#f4f6f9", "#9aa8b8"),
    "NUMA node": ("#e8f3ea", "#7fb08a"),
    "L3 group": ("#fdf3dc", "#d9b665"),
    "cores without their own L3": ("#f6faf7", "#b3cbb8"),
    "core": ("#ffffff", "#b8c2cc"),
    "core with ranks": ("#ffd8a6", "#c77f1a"),
    "outside the allocation": ("#e4e7eb", "#9aa5b1"),
    "memory without CPUs": ("#efe7f6", "#a98bc4"),
    "device": ("#e1eefb", "#6c9bd1"),
    "port down": ("#fde2df", "#d64535"),
    "link between sockets": ("#eef1f5", "#6b7a8c"),
    "memory module": ("#d5e3f7", "#5b7fb2"),
    "module below its rated speed": ("#fbe3c0", "#b06a00"),
    "empty slot": ("#fafbfc", "#9aa5b1"),
}
_SLOTS = {"filled": "memory module", "slow": "module below its rated speed", "empty": "empty slot"}

_RANKS = ("#ffd8a6", "#bfe3c8", "#e6cdf0", "#bfe2ee", "#f6efa9", "#f3c6d6", "#d5d9f5", "#e3dccb")
"""Fills of the cores of one rank and the next ones; each core has its rank's name, too."""

_PAD, _HEAD, _GAP = 10, 30, 10
_CORES = 144
"""Up to so many cores of a member are drawn as squares."""

_CHIP = 640.0
"""Pixels that a device takes at most, with its branch."""

_NAME = 160.0
"""Pixels that the name of an L3 group takes."""

_MEMBERS = 32
"""Up to so many members of a group are drawn each for itself."""

_SANS, _BOLD = 0.62, 0.68
"""Width of a letter of the widest common sans-serif (DejaVu, Verdana), in font sizes; text is shortened by it."""

_DISC = 9.0
"""Radius of a finding's number."""

ALARM = {
    "high": ("#b3261e", "#ffffff"),
    "medium": ("#f0b429", "#1f2934"),
    "low": ("#f7e3a1", "#1f2934"),
    "info": ("#e4e7ec", "#1f2934"),
}
"""Of a finding's number: the colour below it, and its own; dark on light or light on dark in grey too."""

_NUMBERED = 32
"""Up to so many nodes each distance is written; above, it is its square's tooltip."""

HOME, BETWEEN, AWAY = (0xE6, 0xF6, 0xE9), (0xF6, 0xDD, 0xA2), (0xDE, 0x8A, 0x72)
"""Lighter where nearer, in grey too."""

ON_HEAT = "#1f2934"
"""Ink on those colours, which are the same in the light and in the dark: a hair off the other ink, which is not."""


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


_TITLE, _SUBTITLE, _BODY, _SCALE = Font(22, bold=True), Font(14, "#52606d"), Font(13), Font(11, "#52606d")
_LINK, _SLOW_LINK, _DOWN = Font(11, "#3e5c7e"), Font(11, "#9a3f0a", bold=True), Font(11, "#a0210f", bold=True)
_SMALL, _SMALL_BOLD, _PLAIN, _STRONG = Font(11, anchor="middle"), Font(11, bold=True), Font(12), Font(14, bold=True)
_MARK, _NODE = Font(11, bold=True, anchor="middle"), Font(11, "#52606d", anchor="middle")


def width_of(text: str, font: Font) -> float:
    """Return the pixels that a text takes at most; letters of wide scripts count double."""
    return sum(1 if ord(letter) < 0x1100 else 2 for letter in text) * font.size * (_BOLD if font.bold else _SANS)


def _text(x: float, y: float, words: str, font: Font, room: float, *, whole: str = "") -> str:
    """Return a text on a base line, shortened with an ellipsis to the room it has; then the whole of it is its tooltip."""
    shown = words
    if width_of(words, font) > room:
        while shown and width_of(shown + "…", font) > room:
            shown = shown[:-1]
        shown = shown.rstrip() + "…" if shown else ""
    weight = ' font-weight="bold"' if font.bold else ""
    anchor = f' text-anchor="{font.anchor}"' if font.anchor != "start" else ""
    title = f"<title>{_safe(whole or words)}</title>" if shown != (whole or words) else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{font.size}" fill="{font.fill}"{weight}{anchor}>{title}{_safe(shown)}</text>'


def _broken(words: str, font: Font, room: float) -> list[str]:
    """Return a text as lines that fit, broken at blanks."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, font) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class _Place(NamedTuple):
    """Where the first line of a text begins, and how far below it the next one stands."""

    x: float
    y: float
    step: float = 16


def _paragraph(words: str, font: Font, room: float, place: _Place) -> tuple[str, int]:
    """Return a text in as many lines as it takes, and their number."""
    lines = _broken(words, font, room)
    return "".join(_text(place.x, place.y + place.step * at, each, font, room) for at, each in enumerate(lines)), len(lines)


def _safe(words: str) -> str:
    """Return a text that XML takes, whatever it holds."""
    return escape("".join(letter if letter.isprintable() else "?" for letter in words))


def _rect(width: float, height: float, fill: str, stroke: str, *, x: float = 0, y: float = 0, dashed: bool = False) -> str:
    """Return a rounded box."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{min(4, width / 5, height / 4):g}"'
    return f'<rect {place} fill="{fill}" stroke="{stroke}"{dash}/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a straight line from which devices hang."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="#6c9bd1" stroke-width="1.5"/>'


def _moved(tile: Tile, x: float, y: float) -> str:
    """Return a tile at a place."""
    return f'<g transform="translate({x:g},{y:g})">{tile.body}</g>' if tile.body else ""


def _stacked(tiles: Iterable[Tile], gap: float = _GAP) -> Tile:
    """Return tiles below each other."""
    parts, y, width = [], 0.0, 0.0
    for tile in tiles:
        parts.append(_moved(tile, 0, y))
        y += tile.height + gap
        width = max(width, tile.width)
    return Tile(width, max(0.0, y - gap), "".join(parts))


def _gridded(tiles: Sequence[Tile], columns: int, gap: float = _GAP) -> Tile:
    """Return tiles in rows of so many columns, each row as high as its highest."""
    rows = []
    for start in range(0, len(tiles), columns):
        row, parts, x = tiles[start : start + columns], [], 0.0
        for tile in row:
            parts.append(_moved(tile, x, 0))
            x += tile.width + gap
        rows.append(Tile(max(0.0, x - gap), max(tile.height for tile in row), "".join(parts)))
    return _stacked(rows, gap)


def _columns_for(items: int, width: float, least: float, gap: float = _GAP) -> int:
    """Return how many columns as many items take in a width: a number that leaves no row short, if that is most of what fits."""
    most = max(1, min(items, int((width + gap) // (least + gap))))
    full = next((number for number in range(most, most // 2, -1) if items % number == 0), None)
    return full or (-(-items // -(-items // most)) if items else 1)


def _inset(tile: Tile, edges: tuple[float, float], colours: tuple[str, str], head: str, *, dashed: bool = False) -> Tile:
    """Return a tile in a box, with a head drawn above it; edges are the margin and the room of the head."""
    pad, top = edges
    width, height = tile.width + 2 * pad, tile.height + top + (pad if tile.height else 0)
    return Tile(width, height, _rect(width, height, *colours, dashed=dashed) + head + _moved(tile, pad, top))


def _badges(marks: Sequence[Mark], x: float, y: float) -> str:
    """Return the numbers of findings in a row from here: a square where it is severe, else a disc; tooltips say what is so."""
    parts = []
    for at, mark in enumerate(marks):
        (fill, ink), left = ALARM[mark.severity], x + at * (2 * _DISC + 4)
        corner = 1 if mark.severity == "high" else _DISC
        place = f'x="{left:g}" y="{y - _DISC:g}" width="{2 * _DISC:g}" height="{2 * _DISC:g}" rx="{corner:g}"'
        number = _text(left + _DISC, y + 4, str(mark.number), Font(11, ink, bold=True, anchor="middle"), 2 * _DISC + 4)
        box = f'<rect {place} fill="{fill}" stroke="#1f2934"/>{number}'
        parts.append(f'<g class="mark"><title>{_safe(mark.says)}</title>{box}</g>')
    return "".join(parts)


def _badges_width(marks: Sequence[Mark]) -> float:
    """Return the room that numbers of findings take, with a gap behind them."""
    return len(marks) * (2 * _DISC + 4) + 4 if marks else 0.0


def draw_svg(seen: Picture, *, whole: bool = False, head: bool = True, pages: Sequence[int] = PAGES) -> str:
    """Return a picture as SVG; on large machines alike parts are drawn once, unless the whole is asked for.

    Without a head, its name and size stand on the page around it. ``pages`` are the widths to choose from.
    """
    if not whole and (sum(part.cores for part in seen.blocks) > PICTURE_CORES or len(seen.blocks) > SOCKETS):
        seen = collapsed(seen)
    for width in pages:
        room = width - 2 * MARGIN
        tiles = (*([_head(seen, room)] if head else []), _blocks(seen, room), *_links_and_loose(seen, room), _foot(seen, room))
        page = _stacked((tile for tile in tiles if tile.height), 18)
        if page.height <= TALL * width:
            break
    height = page.height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}" '
        'font-family="DejaVu Sans, Verdana, Arial, Helvetica, sans-serif" role="img">'
        f"<title>{_safe(seen.title)}</title>"
        f'<rect width="{width}" height="{height:g}" fill="#ffffff"/>{_moved(page, MARGIN, MARGIN)}</svg>\n'
    )


def _head(seen: Picture, room: float) -> Tile:
    cut = next((each for each in seen.statements if each.about == "NUMA"), None)
    below, lines = _paragraph(f"{seen.processors} · {seen.counts}", _SUBTITLE, room, _Place(0, 46, 19))
    words, height = _text(0, 22, seen.title, _TITLE, room) + below, 33.0 + 19 * lines
    if cut is None:
        return Tile(room, height, words)
    sentence = f"NUMA partitioning: {cut.says}, {cut.sure} confidence"
    return Tile(room, height + 24, words + _text(0, height + 18, sentence, _STRONG, room))


class CellSize(NamedTuple):
    """The size of a core in one picture, the same everywhere."""

    width: float
    height: float


def _blocks(seen: Picture, room: float) -> Tile:
    """Return the sockets beside each other, all of a row as high as the highest, a core as wide as the widest needs."""
    columns = _columns_for(len(seen.blocks), room, LEAST_BLOCK)
    each = (room + 16) / columns - 16
    words = [_core_lines(*each) for box in seen.boxes() for member in box.members() for each in _marked(member)]
    letters = max((width_of(word, _SMALL) for lines in words for word in lines), default=20.0)
    core = CellSize(max(28.0, letters + 6), 12.0 * max(map(len, words), default=1) + 6)
    rows = []
    for start in range(0, len(seen.blocks), columns):
        blocks = seen.blocks[start : start + columns]
        height = max(_block(part, each, core).height for part in blocks)
        rows.append(_gridded([_block(part, each, core, height) for part in blocks], len(blocks), 16))
    return _stacked(rows, 16)


def _marked(member: Member) -> Iterator[tuple[CpuSet, str]]:
    """Yield the cores of a member, each with its ranks."""
    return zip(member.cores, member.marks or ("",) * len(member.cores), strict=True)


def _core_lines(core: CpuSet, mark: str) -> tuple[str, ...]:
    """Return a core's ranks and PU numbers: one a line, or as a range where that is shorter."""
    words = listed(core)
    numbers = tuple(map(str, core)) if len(core) == 2 or (len(core) <= 4 and "," in words) else (words,)
    return (mark, *numbers) if mark else numbers


def _block(part: Block, width: float, core: CellSize, height: float = 0) -> Tile:
    """Return a socket, or several that are alike, at least as high as asked; two L3 groups stand beside each other, in reason."""
    room = width - 2 * _PAD
    cores = max((len(member.cores) for box in part.boxes for member in box.members()), default=1)
    columns = _columns_for(len(part.boxes), room, min(360.0, max(280.0, 2 * (min(cores, 4) * core.width + 2 * _PAD))))
    each = (room + _PAD) / columns - _PAD
    tiles = [
        *(Tile(room, 16, _text(0, 12, remark, _SMALL_BOLD, room)) for remark in block_remarks(part)),
        _gridded([_box(box, each, core) for box in part.boxes], columns, _PAD),
        *(_store(store_text(store), room) for store in part.stores),
        *([_strip(part.memory, room)] if part.memory else []),
        *([_chips(part.devices, room)] if part.devices else []),
    ]
    body = _stacked(tiles)
    inner = Tile(room, max(body.height, height - _HEAD - _PAD), body.body)
    return _inset(inner, (_PAD, _HEAD), COLOURS["socket"], _titles(block_title(part), block_facts(part), width, part.marks))


def _titles(left: str, right: str, width: float, marks: tuple[Mark, ...]) -> str:
    second = Font(13, "#52606d", anchor="end")
    used, numbers = min(width_of(right, second), width / 2), _badges_width(marks)
    title = _text(_PAD + numbers, 20, left, _STRONG, width - 3 * _PAD - used - numbers)
    return _badges(marks, _PAD, 15) + title + _text(width - _PAD, 20, right, second, used + 1)


def _strip(strip: Strip, room: float) -> Tile:
    """Return what stands below sockets: words, and the places for memory modules in a row, each with its name as a tooltip."""
    numbers = _badges_width(strip.marks)
    words, lines = _paragraph(strip.says, _PLAIN, room - numbers, _Place(numbers, 13))
    head = Tile(room, 16.0 * lines + 2, _badges(strip.marks, 0, 9) + words)
    if not strip.slots:
        return head
    columns = min(len(strip.slots), 16 if len(strip.slots) % 12 else 12)
    widest = max(width_of(slot.name, Font(10)) for slot in strip.slots) + 6
    while columns > 4 and (room + 3) / columns - 3 < widest:
        columns //= 2
    width = min(max(46.0, widest), (room + 3) / columns - 3)
    slots = []
    for slot in strip.slots:
        fits = width_of(slot.name, Font(10)) <= width
        name = _text(width / 2, 12, slot.name, Font(10, anchor="middle"), width) if fits else ""
        body = _rect(width, 16, *COLOURS[_SLOTS[slot.state]], dashed=slot.state == "empty") + name
        slots.append(Tile(width, 16, f"<g><title>{_safe(slot.says)}</title>{body}</g>"))
    return _stacked((head, _gridded(slots, columns, 3)), 3)


def _box(box: Box, width: float, core: CellSize) -> Tile:
    room = width - 2 * _PAD
    remarks = [Tile(room, 16, _text(0, 12, remark, _PLAIN, room)) for remark in box_remarks(box)]
    stores = [_store(store_text(store, here=True), room) for store in box.stores]
    body = _stacked((*remarks, *_groups(box, room, core), *stores), 6)
    colours = COLOURS["outside the allocation" if box.denied else "NUMA node"]
    head = _titles(box_title(box), box_memory(box), width, box.marks)
    node = _inset(Tile(room, body.height, body.body), (_PAD, _HEAD), colours, head, dashed=box.denied)
    return _stacked((node, _chips(box.devices, width)), 0) if box.devices else node


def _groups(box: Box, room: float, core: CellSize) -> Iterator[Tile]:
    """Yield the members of a node in one grid, by CPU number; in words where they are too many or stand for several."""
    members = [(member, group) for group in box.groups for member in group.members]
    members.sort(key=lambda pair: pair[0].cpus.first or 0)
    if box.repeat > 1 or len(members) > _MEMBERS:
        yield from (_words(group_summary(group, box.repeat), room, group) for group in box.groups)
        return
    cores = max((len(member.cores) for member, _ in members), default=0)
    columns = _columns_for(len(members), room, max(_NAME, min(cores, 4) * (core.width + 3) + 2 * 6), 6)
    each = (room + 6) / columns - 6
    yield _gridded([_member(group, member, each, core) for member, group in members], columns, 6)


def _words(words: str, room: float, group: Group) -> Tile:
    body, lines = _paragraph(words, _PLAIN, room - 16, _Place(8, 18))
    height = 16.0 * lines + 12
    return Tile(room, height, _rect(room, height, *_colours(group)) + body)


def _member(group: Group, member: Member, width: float, core: CellSize) -> Tile:
    room = width - 12
    if not member.cores or len(member.cores) > _CORES:
        return _words(f"{group_label(group)}: {member_text(member)}", width, group)
    columns = _columns_for(len(member.cores), room, core.width, 3)
    wide = CellSize(min(2.2 * core.width, (room + 3) / columns - 3), core.height)
    cells = _gridded([_core(each, wide, mark, denied=each <= member.denied) for each, mark in _marked(member)], columns, 3)
    head = _text(6, 14, group_label(group, uneven=True), _SMALL_BOLD, room)
    return _inset(Tile(room, cells.height, cells.body), (6, 20), _colours(group), head)


def _colours(group: Group) -> tuple[str, str]:
    return COLOURS["L3 group" if group.cache and not group.reaches else "cores without their own L3"]


def _core(core: CpuSet, size: CellSize, mark: str, *, denied: bool) -> Tile:
    fill, stroke = COLOURS["outside the allocation" if denied else "core with ranks" if mark else "core"]
    rank = mark.split(" ", maxsplit=1)[0].removeprefix("r")
    colours = (_RANKS[int(rank) % len(_RANKS)] if rank.isdecimal() and not denied else fill, stroke)
    lines = _core_lines(core, mark)
    top = (size.height - 12 * len(lines)) / 2 + 10
    fonts = (_MARK if mark else _SMALL, *[_SMALL] * (len(lines) - 1))
    each = enumerate(zip(lines, fonts, strict=True))
    words = "".join(_text(size.width / 2, top + 12 * at, line, font, size.width) for at, (line, font) in each)
    return Tile(size.width, size.height, _rect(size.width, size.height, *colours, dashed=denied) + words)


def _store(words: str, room: float) -> Tile:
    return Tile(room, 24, _rect(room, 24, *COLOURS["memory without CPUs"]) + _text(8, 16, words, _PLAIN, room - 16))


def _chips(devices: Sequence[Device], width: float) -> Tile:
    """Return devices on the branches of a line that comes from above, each with its link."""
    width = min(width, _CHIP)
    devices = [  # a GPU is too much of a machine to be one of several
        replace(device, names=names)
        for device in devices
        for names in ([(name,) for name in device.names] if device.kind == "gpu" else [device.names])
    ]
    links = max(width_of(device.link, _SLOW_LINK if device.slow else _LINK) for device in devices)
    tiles = [_chip(device, width, min(0.6 * width, links + 32)) for device in devices if not device.switch]
    for switch in dict.fromkeys(device.switch for device in devices if device.switch):
        own = _chips([replace(device, switch="") for device in devices if device.switch == switch], width - 32)
        head = _rect(width - 24, 24, *COLOURS["link between sockets"], x=24, y=8) + _line(16, 20, 24, 20)
        head += _text(34, 24, f"PCIe switch {switch.removeprefix('0000:')}", Font(12, bold=True), width - 44)
        tiles.append(_stacked((Tile(width, 32, head), Tile(width, own.height, _moved(own, 24, 0))), 0))
    hung = _stacked(tiles, 0)
    return Tile(width, hung.height, _line(16, 0, 16, sum(tile.height for tile in tiles[:-1]) + 26) + hung.body)


def _chip(device: Device, width: float, branch: float) -> Tile:
    """Return a device: its name, what is known of it, and on lines of their own what must be said besides."""
    room, down = width - branch - 16, device.state == "down"
    colours, font, bold = COLOURS["port down" if down else "device"], _DOWN if down else Font(11), Font(12, bold=True)
    lost = device.guessed is None and any(each.startswith("NUMA node ?") for each in device.remarks)
    link, notable = (_SLOW_LINK if slow else _LINK for slow in (device.slow, device.slow or lost))
    numbers, whole = _badges_width(device.marks), device_name(device, whole=True)
    lines = [(each, bold) for each in _broken(device_name(device), bold, room - numbers)]
    lines += [(each, font) for each in _broken(", ".join(filter(None, device.facts)), font, room) if each]
    lines += [(each, notable) for remark in device.remarks for each in _broken(remark, notable, room)]
    height = max(36.0, 14.0 * len(lines) + 8)
    body = _line(16, 26, branch, 26) + _text(24, 21, device.link, link, branch - 26)
    body += _rect(width - branch, height, *colours, x=branch, y=8)
    body += _badges(device.marks, width - numbers, 8 + height / 2 if len(lines) < 2 else 21)
    top = 23 if len(lines) > 1 else 30
    for at, (words, each) in enumerate(lines):
        full = whole if at == 0 and len(device.names) > WRITTEN else ""
        body += _text(branch + 8, top + 14 * at, words, each, room, whole=full)
    return Tile(width, height + 8, body)


def _links_and_loose(seen: Picture, room: float) -> Iterator[Tile]:
    """Yield links between sockets, bars that reach below all of them; memory and devices that belong to no one socket."""
    for link in seen.links:
        words = _strip(link, room - 2 * MARGIN)
        bar = _rect(room, words.height + 12, *COLOURS["link between sockets"])
        yield Tile(room, words.height + 12, bar + _moved(words, 12, 7))
    for store in seen.stores:
        body = _rect(room, 26, *COLOURS["memory without CPUs"]) + _text(10, 17, store_text(store), _PLAIN, room - 20)
        yield Tile(room, 26, body)
    if seen.devices:
        head = Tile(room, 16, _text(0, 12, "Not local to one socket, or location unknown", Font(12, bold=True), room))
        yield _stacked((head, _chips(seen.devices, room)), 4)


def _foot(seen: Picture, room: float) -> Tile:
    """Distances at the left; what was inferred, notes and legend at the right, or below where that is too narrow."""
    table = _heatmap(seen.table, room * 0.4) if seen.table else Tile(0, 0, "")
    left = table.width + 40 if table.width and room >= LEAST_BLOCK + 100 else 0
    notes = []
    for note in (*guesses(seen), *seen.notes):
        body, lines = _paragraph(note, Font(12, "#8d2b0b"), room - left, _Place(0, 12, 17))
        notes.append(Tile(room - left, lines * 17, body))
    words = _stacked((_statements(seen.statements, room - left), _stacked(notes, 2), _legend(seen, room - left)), 12)
    if table.width and not left:
        return _stacked((table, words), 12)
    return Tile(room, max(table.height, words.height), _moved(table, 0, 0) + _moved(words, left, 0))


def _statements(statements: Iterable[Statement], room: float) -> Tile:
    tiles = []
    for each in statements:
        sure = f", {each.sure} confidence" if each.sure else ""
        why = f": {'; '.join(each.why)}" if each.why else ""
        label = Tile(96, 18, _text(0, 13, each.about, Font(13, bold=True), 94))
        body, lines = _paragraph(f"{each.says}{sure}{why}", _BODY, room - 106, _Place(0, 13, 18))
        tiles.append(_gridded((label, Tile(room - 106, lines * 18, body)), 2))
    return _stacked(tiles, 6)


def _used(seen: Picture) -> Iterator[str]:
    """Names of the colours that the picture uses."""
    boxes = tuple(seen.boxes())
    members = [member for box in boxes for member in box.members()]
    devices = [*seen.devices, *(device for part in seen.blocks for device in part.devices)]
    devices += [device for box in boxes for device in box.devices]
    own = {group.cache and not group.reaches for box in boxes for group in box.groups}
    yield from ("socket", "NUMA node", *(["L3 group"] if True in own else []))
    yield from ("cores without their own L3", "core") if False in own else ("core",)
    slots = {slot.state for each in (*(part.memory for part in seen.blocks), *seen.links) if each for slot in each.slots}
    there = {
        "core with ranks": any(any(member.marks) for member in members),
        "outside the allocation": any(box.denied for box in boxes) or any(member.denied for member in members),
        "memory without CPUs": seen.stores or any(part.stores for part in seen.blocks) or any(box.stores for box in boxes),
        "device": devices,
        "port down": any(device.state == "down" for device in devices),
        **{words: state in slots for state, words in _SLOTS.items()},
    }
    yield from (name for name, used in there.items() if used)


def _legend(seen: Picture, room: float) -> Tile:
    """Return the colours and what they stand for."""
    x, y, parts = 0.0, 0.0, []
    for name in _used(seen):
        words = f"{name}, {len(_RANKS)} colours in turn" if name == "core with ranks" else name
        size = 22 + width_of(words, _SCALE) + 12
        if x + size > room:
            x, y = 0.0, y + 20
        parts.append(_rect(16, 12, *COLOURS[name], x=x, y=y + 2) + _text(x + 22, y + 12, words, _SCALE, room))
        x += size
    return Tile(room, y + 18, "".join(parts))


def _heatmap(table: Table, room: float) -> Tile:
    """Return the distances between NUMA nodes, light where near and dark where far."""
    distances = [distance for row in table.rows for distance in row] or [10]
    low, high, few = min(distances), max(distances), len(table.nodes) <= _NUMBERED
    squares = _squares(table, room, low, high)
    width = max(squares.width, 340.0)
    head = Tile(width, 18, _text(0, 13, "Distances between NUMA nodes", Font(13, bold=True), width))
    scale = Tile(width, 16, _text(0, 12, f"light is near ({low}), dark is far ({high})", _SCALE, width))
    return _stacked((head, squares) if few else (head, scale, squares), 4)


def _squares(table: Table, room: float, low: int, high: int) -> Tile:
    nodes, few = len(table.nodes), len(table.nodes) <= _NUMBERED
    longest = str(max((*table.nodes, *(distance for row in table.rows for distance in row))))
    most = (room - 40) / nodes
    size = min(30.0, max(width_of(longest, Font(11)) + 4, most)) if few else max(4.0, min(12.0, most))
    parts = []
    for at, number in enumerate(map(str, table.nodes if few else ())):
        middle = at * size + size / 2
        parts.append(_text(40 + middle, 14, number, _NODE, size) + _text(20, 24 + middle, number, _NODE, 36))
    for y, row in enumerate(table.rows[:nodes]):
        x = 0
        for distance, same in groupby(row[:nodes]):
            long = len(list(same))
            colour = heat_colour((distance - low) / (high - low) if high > low else 0.0)
            for wide in [1] * long if few else [long]:  # many are one square each run
                parts.append(_moved(_square(distance, (wide * size, size), colour, few=few), 40 + x * size, 20 + y * size))
                x += wide
    return Tile(40 + nodes * size, 20 + nodes * size, "".join(parts))


def _square(distance: int, size: tuple[float, float], colour: str, *, few: bool) -> Tile:
    width, height = size
    box = _rect(width - 1, height - 1, colour, "none")
    number = _text(width / 2, height / 2 + 4, str(distance), Font(11, ON_HEAT, anchor="middle"), width - 1)
    return Tile(width, height, box + number if few else f"<g><title>{distance}</title>{box}</g>")


def heat_colour(share: float) -> str:
    """Green at home, sand in between, coral far away: light enough for dark numbers."""
    near, far, part = (HOME, BETWEEN, 2 * share) if share < 0.5 else (BETWEEN, AWAY, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(near, far, strict=True))
