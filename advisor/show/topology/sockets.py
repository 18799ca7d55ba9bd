"""Sockets, NUMA nodes, L3 groups and cores as tiles of an SVG, with the devices that hang off them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from advisor.machine.cpuset import CpuSet
from advisor.show.cpulists import listed
from advisor.show.topology.elements import Block, Box, Device, Group, Mark, Member, Picture, Store, Strip
from advisor.show.topology.picture import (
    NAMES,
    block_facts,
    block_remarks,
    block_title,
    box_memory,
    box_remarks,
    box_title,
    device_name,
    group_label,
    group_summary,
    member_text,
    store_text,
)
from advisor.show.topology.tiles import (
    Font,
    Tile,
    badges,
    badges_width,
    broken,
    columns_for,
    gridded,
    inset,
    line,
    rect,
    safe,
    stacked,
    text,
    width_of,
)

COLOURS = {
    "socket": ("#f4f6f9", "#9aa8b8"),
    "NUMA node": ("#e8f3ea", "#7fb08a"),
    "L3 group": ("#fdf3dc", "#d9b665"),
    "cores without an L3 of their own": ("#f6faf7", "#b3cbb8"),
    "core": ("#ffffff", "#b8c2cc"),
    "core with ranks": ("#ffd8a6", "#c77f1a"),
    "outside the allocation": ("#e4e7eb", "#9aa5b1"),
    "memory without CPUs": ("#efe7f6", "#a98bc4"),
    "device": ("#e1eefb", "#6c9bd1"),
    "port down": ("#fde2df", "#d64535"),
    "link between sockets": ("#eef1f5", "#6b7a8c"),
    "memory module": ("#d5e3f7", "#5b7fb2"),
    "module below its speed": ("#fbe3c0", "#b06a00"),
    "empty slot": ("#fafbfc", "#9aa5b1"),
}
SLOTS = {"filled": "memory module", "slow": "module below its speed", "empty": "empty slot"}

RANKS = ("#ffd8a6", "#bfe3c8", "#e6cdf0", "#bfe2ee", "#f6efa9", "#f3c6d6", "#d5d9f5", "#e3dccb")
"""Fills of the cores of one rank and the next ones; each core has its rank's name, too."""

PAD, HEAD = 10, 30
CORES = 144
"""Up to so many cores of a member are drawn as squares."""

CHIP = 640.0
"""Pixels that a device takes at most, with its branch."""

NAME = 160.0
"""Pixels that the name of an L3 group takes."""

MEMBERS = 32
"""Up to so many members of a group are drawn each for itself."""


@dataclass(frozen=True, slots=True)
class CellSize:
    """The size of a core in one picture, the same everywhere."""

    width: float
    height: float


LINK, SLOW_LINK, DOWN = Font(11, "#3e5c7e"), Font(11, "#9a3f0a", bold=True), Font(11, "#a0210f", bold=True)
SMALL, SMALL_BOLD, PLAIN, STRONG = Font(11, anchor="middle"), Font(11, bold=True), Font(12), Font(14, bold=True)
MARK = Font(11, bold=True, anchor="middle")


def cell_size(picture: Picture) -> CellSize:
    """Return what the widest core needs."""
    words = [_core_lines(*each) for box in picture.boxes() for member in box.members() for each in _marked(member)]
    letters = max((width_of(word, SMALL) for lines in words for word in lines), default=20.0)
    return CellSize(max(28.0, letters + 6), 12.0 * max(map(len, words), default=1) + 6)


def _marked(member: Member) -> Iterator[tuple[CpuSet, str]]:
    """Yield the cores of a member, each with its ranks."""
    return zip(member.cores, member.marks or ("",) * len(member.cores), strict=True)


def _core_lines(core: CpuSet, mark: str) -> tuple[str, ...]:
    """Return a core's ranks and PU numbers: one a line, or as a range where that is shorter."""
    words = listed(core)
    numbers = tuple(map(str, core)) if len(core) == 2 or (len(core) <= 4 and "," in words) else (words,)
    return (mark, *numbers) if mark else numbers


def block(part: Block, width: float, core: CellSize, height: float = 0) -> Tile:
    """Return a socket, or several that are alike, at least as high as asked."""
    room = width - 2 * PAD
    columns = columns_for(len(part.boxes), room, _least(part, core))
    each = (room + PAD) / columns - PAD
    boxes = gridded([_box(box, each, core) for box in part.boxes], columns, PAD)
    remarks = [Tile(room, 16, text(0, 12, remark, SMALL_BOLD, room)) for remark in block_remarks(part)]
    tiles = [
        *remarks,
        boxes,
        *(_store(store, room) for store in part.stores),
        *([strip(part.memory, room)] if part.memory else []),
    ]
    body = stacked([*tiles, chips(part.devices, room)] if part.devices else tiles)
    inner = Tile(room, max(body.height, height - HEAD - PAD), body.body)
    return inset(inner, (PAD, HEAD), COLOURS["socket"], _titles(block_title(part), block_facts(part), width, part.marks))


def _titles(left: str, right: str, width: float, marks: tuple[Mark, ...] = ()) -> str:
    second = Font(13, "#52606d", anchor="end")
    used, numbers = min(width_of(right, second), width / 2), badges_width(marks)
    title = text(PAD + numbers, 20, left, STRONG, width - 3 * PAD - used - numbers)
    return badges(marks, PAD, 15) + title + text(width - PAD, 20, right, second, used + 1)


def strip(told: Strip, room: float) -> Tile:
    """Return what stands below sockets: words, and the places for memory modules in a row, each with its name as a tooltip."""
    numbers = badges_width(told.marks)
    lines = broken(told.says, PLAIN, room - numbers)
    words = "".join(text(numbers, 13 + 16 * at, each, PLAIN, room - numbers) for at, each in enumerate(lines))
    head = Tile(room, 16.0 * len(lines) + 2, badges(told.marks, 0, 9) + words)
    if not told.slots:
        return head
    columns = min(len(told.slots), 16 if len(told.slots) % 12 else 12)
    widest = max(width_of(slot.name, Font(10)) for slot in told.slots) + 6
    while columns > 4 and (room + 3) / columns - 3 < widest:
        columns //= 2
    width = min(max(46.0, widest), (room + 3) / columns - 3)
    each = []
    for slot in told.slots:
        colours = COLOURS[SLOTS[slot.state]]
        name = text(width / 2, 12, slot.name, Font(10, anchor="middle"), width) if width_of(slot.name, Font(10)) <= width else ""
        body = rect(width, 16, *colours, dashed=slot.state == "empty") + name
        each.append(Tile(width, 16, f"<g><title>{safe(slot.says)}</title>{body}</g>"))
    return stacked((head, gridded(each, columns, 3)), 3)


def _least(part: Block, core: CellSize) -> float:
    """Return the width that two L3 groups beside each other want, within reason."""
    cores = max((len(member.cores) for box in part.boxes for member in box.members()), default=1)
    return min(360.0, max(280.0, 2 * (min(cores, 4) * core.width + 2 * PAD)))


def _box(box: Box, width: float, core: CellSize) -> Tile:
    room = width - 2 * PAD
    remarks = [Tile(room, 16, text(0, 12, remark, PLAIN, room)) for remark in box_remarks(box)]
    groups = list(_groups(box, room, core))
    stores = [_store(store, room, here=True) for store in box.stores]
    body = stacked((*remarks, *groups, *stores), 6)
    colours = COLOURS["outside the allocation" if box.denied else "NUMA node"]
    head = _titles(box_title(box), box_memory(box), width, box.marks)
    node = inset(Tile(room, body.height, body.body), (PAD, HEAD), colours, head, dashed=box.denied)
    return stacked((node, chips(box.devices, width)), 0) if box.devices else node


def _groups(box: Box, room: float, core: CellSize) -> Iterator[Tile]:
    """Yield the members of a node in one grid, by CPU number; in words where they are too many or stand for several."""
    members = sorted(
        ((member, group) for group in box.groups for member in group.members), key=lambda pair: pair[0].cpus.first or 0
    )
    if box.repeat > 1 or len(members) > MEMBERS:
        yield from (_words(group_summary(group, box.repeat), room, _colours(group)) for group in box.groups)
        return
    cores = max((len(member.cores) for member, _ in members), default=0)
    least = max(NAME, min(cores, 4) * (core.width + 3) + 2 * 6)
    columns = columns_for(len(members), room, least, 6)
    each = (room + 6) / columns - 6
    yield gridded([_member(group, member, each, core) for member, group in members], columns, 6)


def _words(words: str, room: float, colours: tuple[str, str]) -> Tile:
    lines = broken(words, PLAIN, room - 16)
    body = "".join(text(8, 18 + 16 * at, each, PLAIN, room - 16) for at, each in enumerate(lines))
    height = 16.0 * len(lines) + 12
    return Tile(room, height, rect(room, height, *colours) + body)


def _member(group: Group, member: Member, width: float, core: CellSize) -> Tile:
    room = width - 12
    label = group_label(group)
    colours = _colours(group)
    if not member.cores or len(member.cores) > CORES:
        return _words(f"{label}: {member_text(member)}", width, colours)
    columns = columns_for(len(member.cores), room, core.width, 3)
    wide = CellSize(min(2.2 * core.width, (room + 3) / columns - 3), core.height)
    cells = gridded([_core(each, wide, mark, denied=each <= member.denied) for each, mark in _marked(member)], columns, 3)
    head = text(6, 14, group_label(group, uneven=True), SMALL_BOLD, room)
    return inset(Tile(room, cells.height, cells.body), (6, 20), colours, head)


def _colours(group: Group) -> tuple[str, str]:
    return COLOURS["L3 group" if group.cache and not group.reaches else "cores without an L3 of their own"]


def _core(core: CpuSet, size: CellSize, mark: str, *, denied: bool) -> Tile:
    fill, stroke = COLOURS["outside the allocation" if denied else "core with ranks" if mark else "core"]
    rank = mark.split(" ", maxsplit=1)[0].removeprefix("r")
    colours = (RANKS[int(rank) % len(RANKS)] if rank.isdecimal() and not denied else fill, stroke)
    lines = _core_lines(core, mark)
    top = (size.height - 12 * len(lines)) / 2 + 10
    fonts = (MARK if mark else SMALL, *[SMALL] * (len(lines) - 1))
    each = zip(lines, fonts, strict=True)
    words = "".join(text(size.width / 2, top + 12 * at, line, font, size.width) for at, (line, font) in enumerate(each))
    return Tile(size.width, size.height, rect(size.width, size.height, *colours, dashed=denied) + words)


def _store(store: Store, room: float, *, here: bool = False) -> Tile:
    body = rect(room, 24, *COLOURS["memory without CPUs"]) + text(8, 16, store_text(store, here=here), PLAIN, room - 16)
    return Tile(room, 24, body)


def chips(devices: Iterable[Device], width: float) -> Tile:
    """Return devices on the branches of a line that comes from above, each with its link."""
    devices, width = tuple(devices), min(width, CHIP)
    links = (width_of(device.link, SLOW_LINK if device.slow else LINK) for device in devices)
    branch = min(0.6 * width, max(links, default=0) + 32) if devices else 0
    tiles = [_chip(device, width, branch) for device in devices]
    last = sum(tile.height for tile in tiles[:-1])
    trunk = line(16, 0, 16, last + 26, "#6c9bd1")
    hung = stacked(tiles, 0)
    return Tile(width, hung.height, trunk + hung.body)


def _chip(device: Device, width: float, branch: float) -> Tile:
    """Return a device: its name, what is known of it, and on lines of their own what must be said besides."""
    room = width - branch - 16
    colours = COLOURS["port down" if device.state == "down" else "device"]
    font = DOWN if device.state == "down" else Font(11)
    facts = [(each, font) for each in broken(", ".join(fact for fact in device.facts if fact), font, room) if each]
    notable = (
        SLOW_LINK
        if device.slow or (device.guessed is None and any(each.startswith("NUMA node ?") for each in device.remarks))
        else LINK
    )
    facts += [(each, notable) for remark in device.remarks for each in broken(remark, notable, room)]
    bold, whole = Font(12, bold=True), device_name(device, whole=True)
    numbers = badges_width(device.marks)
    names = [(each, bold) for each in broken(device_name(device), bold, room - numbers)]
    lines = [*names, *facts]
    height = 14.0 * len(lines) + 8
    body = line(16, 26, branch, 26, "#6c9bd1") + text(24, 21, device.link, SLOW_LINK if device.slow else LINK, branch - 26)
    body += rect(width - branch, max(36.0, height), *colours, x=branch, y=8)
    body += badges(device.marks, width - numbers, 8 + max(36.0, height) / 2 if len(lines) < 2 else 21)
    top = 23 if len(lines) > 1 else 30
    told = [whole if len(device.names) > NAMES else "", *[""] * (len(lines) - 1)]
    for at, ((words, each), full) in enumerate(zip(lines, told, strict=True)):
        body += text(branch + 8, top + 14 * at, words, each, room, whole=full)
    return Tile(width, max(36.0, height) + 8, body)
