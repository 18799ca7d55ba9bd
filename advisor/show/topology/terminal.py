"""A picture for a terminal: sockets side by side, nodes as boxes, nothing said by colour alone."""

from collections.abc import Iterator, Sequence

from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.show.lines import Line, Page, Span, columns_for, framed, glued, wrapped
from advisor.show.topology.elements import Block, Box, Device, Group, Picture, Store, Table, collapsed
from advisor.show.topology.picture import (
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

LEAST_BLOCK, LEAST_BOX, MOST = 38, 36, 100
"""Columns that a socket and a node need at least, and take at most."""

MEMBERS = 4
"""So many L3 groups of a node are listed each for itself."""


def draw(machine: Machine, layout: Layout, width: int | None = None, *, whole: bool = False) -> Page:
    """Return the drawing of a machine; whole draws alike parts each for itself."""
    seen = picture(machine, layout)
    drawn = seen if whole else collapsed(seen)
    return Page(lambda room: picture_lines(drawn, room, whole=whole), width)


def picture_lines(drawn: Picture, width: int, *, whole: bool = False) -> list[Line]:
    """Return the picture as lines of at most a width."""
    result = wrapped([(drawn.title, "title")], width)
    result += wrapped([(drawn.processors, "")], width) + wrapped([(drawn.counts, "")], width)
    result += _blocks(drawn.blocks, width, whole=whole)
    result += [line for store in drawn.stores for line in _store(store, width)]
    result += [line for device in drawn.devices for line in _device(device, width, whole=whole)]
    result += [line for note in _notes(drawn) for line in wrapped([(note, "warn")], width)]
    result += list(_statements(drawn, width))
    return result + (_table(drawn.table, width) if drawn.table else [])


def _notes(drawn: Picture) -> Iterator[str]:
    """Yield the legend of signs, and what limits the picture."""
    yield from guesses(drawn)
    yield from drawn.notes
    if any(member.denied for box in drawn.boxes() for member in box.members()):
        yield "(In brackets: outside your allocation.)"


def _blocks(blocks: Sequence[Block], width: int, *, whole: bool) -> list[Line]:
    if not blocks:
        return []
    columns = columns_for(len(blocks), width, LEAST_BLOCK)
    each = min((width + 1) // columns - 1, MOST)
    result: list[Line] = []
    for start in range(0, len(blocks), columns):
        row = blocks[start : start + columns]
        panels = [((block_title(block), block_facts(block)), _block(block, each - 4, whole=whole)) for block in row]
        result += framed(panels, each, ["socket"] * len(row))
    return result


def _block(block: Block, width: int, *, whole: bool) -> list[Line]:
    result = [line for remark in block_remarks(block) for line in wrapped([(remark, "cache")], width)]
    columns = columns_for(len(block.boxes), width, LEAST_BOX)
    each = (width + 1) // columns - 1
    for start in range(0, len(block.boxes), columns):
        row = block.boxes[start : start + columns]
        panels = [((box_title(box), box_memory(box)), _box(box, each - 4, whole=whole)) for box in row]
        result += framed(panels, each, [_frame_of(box) for box in row])
    result += [line for store in block.stores for line in _store(store, width)]
    return result + [line for device in block.devices for line in _device(device, width, whole=whole)]


def _frame_of(box: Box) -> str:
    """Return the style of a node's frame: a node that cannot be used, or has no memory, is not like the others."""
    if box.denied:
        return "dim"
    return "warn" if box.nodes and not any(size != 0 for size in box.sizes) else "node"


def _box(box: Box, width: int, *, whole: bool) -> list[Line]:
    result = [line for remark in box_remarks(box) for line in wrapped([(remark, "warn" if box.denied else "cache")], width)]
    uneven = len({len(member.cores) for member in box.members()}) > 1
    for spans in _rows(box.groups, box.repeat, whole=whole, uneven=uneven):
        result += wrapped(spans, width)
    result += [line for store in box.stores for line in _store(store, width, here=True)]
    return result + [line for device in box.devices for line in _device(device, width, whole=whole)]


def _rows(groups: Sequence[Group], repeat: int, *, whole: bool, uneven: bool) -> Iterator[list[Span]]:
    for group in groups:
        if repeat > 1 or (len(group.members) > MEMBERS and not whole):
            yield [(group_summary(group, repeat), "dim" if group.members[0].denied else "")]
            continue
        for member in group.members:
            label = f"{group_label(group, uneven=uneven)}  "
            yield [(label, "cache"), (member_text(member), "dim" if member.denied == member.cpus else "")]


def _store(store: Store, width: int, *, here: bool = False) -> list[Line]:
    return wrapped([(store_text(store, here=here), "store")], width)


def _device(device: Device, width: int, *, whole: bool) -> list[Line]:
    style = "slow" if device.slow and device.state != "down" else device.state
    facts = ", ".join(glued(fact, width - 3) if fact == device.link else fact for fact in device_facts(device))
    return wrapped([(f"{device_name(device, whole=whole)}  ", "device"), (facts, style)], width)


def _table(table: Table, width: int) -> list[Line]:
    """Return the distances between nodes in rows, where they are few enough to be read."""
    cell = max(len(str(number)) for numbers in (table.nodes, *table.rows) for number in numbers) + 1
    if len(table.nodes) > 16 or len(table.nodes) < 2 or (len(table.nodes) + 1) * cell + 5 > width:
        return []
    result: list[Line] = [(("node ", "dim"), *((f"{number:>{cell}}", "dim") for number in table.nodes))]
    for number, row in zip(table.nodes, table.rows, strict=False):
        values = ((f"{distance:>{cell}}", _distance(number, at, table)) for at, distance in enumerate(row))
        result.append(((f"{number:>4} ", "dim"), *values))
    return result


def _distance(number: int, at: int, table: Table) -> str:
    return "local" if table.nodes[at : at + 1] == (number,) else ""


def _statements(drawn: Picture, width: int) -> Iterator[Line]:
    size = max((len(each.about) for each in drawn.statements), default=0) + 2
    for each in drawn.statements:
        sure = f", {each.sure} confidence" if each.sure else ""
        why = f": {'; '.join(each.why)}" if each.why else ""
        spans = [(each.about.ljust(size), "dim"), (each.says, "title"), (f"{sure}{why}", "")]
        yield from wrapped(spans, width, indent=size)
