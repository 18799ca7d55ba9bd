"""A picture for a terminal: sockets side by side, nodes as boxes, nothing said by colour alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.show.lines import Line, Page, Panel, columns_for, framed, glued, wrapped
from advisor.show.picture import (
    block_facts,
    block_remarks,
    block_title,
    box_memory,
    box_remarks,
    box_title,
    device_facts,
    device_name,
    group_label,
    group_summary,
    guesses,
    member_text,
    picture,
    store_text,
)
from advisor.show.topology import Block, Box, Device, Picture, Store, Table, collapsed

LEAST_BLOCK, LEAST_BOX, MOST = 38, 36, 100
"""Columns that a socket and a node need at least, and take at most."""

MEMBERS = 4
"""So many L3 groups of a node are listed each for itself."""

_Part = TypeVar("_Part", Block, Box)


def draw(machine: Machine, layout: Layout, width: int | None = None, *, whole: bool = False) -> Page:
    """Return the drawing of a machine; whole draws alike parts each for itself."""
    seen = picture(machine, layout)
    drawn = seen if whole else collapsed(seen)
    return Page(lambda room: picture_lines(drawn, room, whole=whole), width)


def picture_lines(drawn: Picture, width: int, *, whole: bool = False) -> list[Line]:
    """Return the picture as lines of at most a width."""
    notes = [*guesses(drawn), *drawn.notes]
    if any(member.denied for box in drawn.boxes() for member in box.members()):
        notes.append("(In brackets: outside your allocation.)")
    result = wrapped([(drawn.title, "title")], width)
    result += wrapped([(drawn.processors, "")], width) + wrapped([(drawn.counts, "")], width)
    result += _blocks(drawn.blocks, width, whole=whole)
    result += _stores_and_devices(drawn.stores, drawn.devices, width, whole=whole)
    result += [line for note in notes for line in wrapped([(note, "warn")], width)]
    result += list(_statements(drawn, width))
    return result + (_table(drawn.table, width) if drawn.table else [])


def _blocks(blocks: Sequence[Block], width: int, *, whole: bool) -> list[Line]:
    def panel(block: Block, room: int) -> Panel:
        return (block_title(block), block_facts(block)), _block(block, room, whole=whole)

    return _side_by_side(blocks, width, (LEAST_BLOCK, MOST), panel, lambda _: "socket")


def _side_by_side(
    parts: Sequence[_Part],
    width: int,
    limits: tuple[int, int],
    panel: Callable[[_Part, int], Panel],
    frame: Callable[[_Part], str],
) -> list[Line]:
    """Return parts in frames beside each other, as many in a row as their least width allows."""
    columns = columns_for(len(parts), width, limits[0]) if parts else 1
    each = min((width + 1) // columns - 1, limits[1])
    result: list[Line] = []
    for start in range(0, len(parts), columns):
        row = parts[start : start + columns]
        result += framed([panel(part, each - 4) for part in row], each, list(map(frame, row)))
    return result


def _block(block: Block, width: int, *, whole: bool) -> list[Line]:
    def panel(box: Box, room: int) -> Panel:
        return (box_title(box), box_memory(box)), _box(box, room, whole=whole)

    result = [line for remark in block_remarks(block) for line in wrapped([(remark, "cache")], width)]
    result += _side_by_side(block.boxes, width, (LEAST_BOX, width), panel, _frame_of)
    return [*result, *_stores_and_devices(block.stores, block.devices, width, whole=whole)]


def _stores_and_devices(
    stores: Iterable[Store], devices: Iterable[Device], width: int, *, whole: bool, here: bool = False
) -> Iterator[Line]:
    for store in stores:
        yield from wrapped([(store_text(store, here=here), "store")], width)
    for device in devices:
        style = "slow" if device.slow and device.state != "down" else device.state
        facts = ", ".join(glued(fact, width - 3) if fact == device.link else fact for fact in device_facts(device))
        yield from wrapped([(f"{device_name(device, whole=whole)}  ", "device"), (facts, style)], width)


def _frame_of(box: Box) -> str:
    """Return the style of a node's frame: a node that cannot be used, or has no memory, is not like the others."""
    if box.denied:
        return "dim"
    return "warn" if box.nodes and not any(size != 0 for size in box.sizes) else "node"


def _box(box: Box, width: int, *, whole: bool) -> list[Line]:
    remark_style = "warn" if box.denied else "cache"
    result = [line for remark in box_remarks(box) for line in wrapped([(remark, remark_style)], width)]
    uneven = len({len(member.cores) for member in box.members()}) > 1
    for group in box.groups:
        if box.repeat > 1 or (len(group.members) > MEMBERS and not whole):
            result += wrapped([(group_summary(group, box.repeat), "dim" if group.members[0].denied else "")], width)
            continue
        label = f"{group_label(group, uneven=uneven)}  "
        for member in group.members:
            text = (member_text(member), "dim" if member.denied == member.cpus else "")
            result += wrapped([(label, "cache"), text], width)
    return [*result, *_stores_and_devices(box.stores, box.devices, width, whole=whole, here=True)]


def _table(table: Table, width: int) -> list[Line]:
    """Return the distances between nodes in rows, where they are few enough to be read."""
    cell = max(len(str(number)) for numbers in (table.nodes, *table.rows) for number in numbers) + 1
    if len(table.nodes) > 16 or len(table.nodes) < 2 or (len(table.nodes) + 1) * cell + 5 > width:
        return []
    result: list[Line] = [(("node ", "dim"), *((f"{number:>{cell}}", "dim") for number in table.nodes))]
    for number, row in zip(table.nodes, table.rows, strict=False):
        local = [table.nodes[at : at + 1] == (number,) for at in range(len(row))]
        values = ((f"{distance:>{cell}}", "local" if own else "") for distance, own in zip(row, local, strict=True))
        result.append(((f"{number:>4} ", "dim"), *values))
    return result


def _statements(drawn: Picture, width: int) -> Iterator[Line]:
    size = max((len(each.about) for each in drawn.statements), default=0) + 2
    for each in drawn.statements:
        sure = f", {each.sure} confidence" if each.sure else ""
        why = f": {'; '.join(each.why)}" if each.why else ""
        spans = [(each.about.ljust(size), "dim"), (each.says, "title"), (f"{sure}{why}", "")]
        yield from wrapped(spans, width, indent=size)
