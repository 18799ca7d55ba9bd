"""The answer of ``advisor topology``: its value and JSON document, and a picture for a terminal, nothing said by colour alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from advisor.machine.hardware import Hca, Locality
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import read_machine
from advisor.machine.topology import Counts, Topology, counts
from advisor.show.lines import Line, Page, Panel, columns_for, framed, glued, wrapped
from advisor.show.picture import (
    Block,
    Box,
    Device,
    Picture,
    Store,
    Table,
    block_facts,
    block_remarks,
    block_title,
    box_memory,
    box_remarks,
    box_title,
    collapsed,
    device_facts,
    device_name,
    group_label,
    group_summary,
    guesses,
    member_text,
    picture,
    store_text,
)

TOPOLOGY_SCHEMA = "advisor-topology/1"
"""The number rises when a key changes meaning or goes."""


def topology_document(machine: Machine, layout: Layout) -> dict[str, Any]:
    """Return the document: plain JSON values, base units, the kernel's numbers."""
    whole = machine.topology
    inside = whole.inside if whole else None
    return {
        "schema": TOPOLOGY_SCHEMA,
        "name": machine.name,
        "counts": counts_document(inside),
        "counts_whole": counts_document(whole),
        **layout_document(layout, whole),
        "hcas": None if machine.hcas is None else [_hca(hca) for hca in machine.hcas],
        "gpus": None
        if machine.gpus is None
        else [{**gpu.model_dump(mode="json", include=_OF_GPU), **_place(gpu.locality)} for gpu in machine.gpus],
        **_parts(whole or Topology()),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "machine": machine.model_dump(mode="json"),
    }


def counts_document(topology: Topology | None) -> dict[str, int] | None:
    """Return how many there are of each part; None without a topology."""
    seen: Counts | None = counts(topology) if topology else None
    return seen.model_dump(mode="json") if seen else None


def layout_document(layout: Layout, topology: Topology | None) -> dict[str, Any]:
    """Return how the firmware partitioned the machine, with the whole table of distances."""
    said = layout.model_dump(mode="json")
    table = topology.distances if topology else None
    rows = table.model_dump(mode="json") if table else {"nodes": None, "rows": None}
    return {**said, "distances": {**said["distances"], **rows}}


_OF_GPU = {"address", "card", "vendor", "model", "memory", "index", "driver_version"}


def _hca(hca: Hca) -> dict[str, Any]:
    keys = {"number", "state", "rate", "rate_name", "link_layer", "netdev"}
    ports = None if hca.ports is None else [port.model_dump(mode="json", include=keys) for port in hca.ports]
    return {"name": hca.name, **_place(hca.locality), "address": hca.address, "firmware": hca.firmware, "ports": ports}


def _place(locality: Locality | None) -> dict[str, Any]:
    """Return where a device is; null where that is not known, and then why not."""
    if locality is None:
        return {"numa_nodes": None, "inferred": None}
    known = () if locality.one_of else locality.numa_nodes
    return {"numa_nodes": list(known) or None, "inferred": locality.inferred}


def _parts(topology: Topology) -> dict[str, Any]:
    """Every part of the whole topology with its CPUs, and what of it may be used."""
    return {
        "nodes": [
            {
                "os_index": node.os_index,
                "cpus": str(node.cpuset),
                "near": str(node.near),
                "memory": node.memory,
                "kind": node.kind,
                "package": topology.package_of(node.near),
            }
            for node in topology.nodes
        ],
        "packages": [{"os_index": package.os_index, "cpus": str(package.cpuset)} for package in topology.packages],
        "l3": [{"size": cache.size, "cpus": str(cache.cpuset)} for cache in topology.l3],
        "cores": [{"os_index": core.os_index, "cpus": str(core.cpuset)} for core in topology.cores],
        "allowed": {
            "cpus": str(topology.allowed & topology.pus),
            "nodes": str(topology.allowed_nodes),
            "limited": topology.limited,
        },
        "missing": {"cpus": str(topology.missing), "nodes": str(topology.missing_nodes)},
    }


class MachineLayout(NamedTuple):
    """A machine, and what its firmware did: how the sockets are cut into NUMA nodes, how cores are numbered."""

    machine: Machine
    layout: Layout

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor topology --json``."""
        return topology_document(self.machine, self.layout)


def topology(source: str | None = None, observer: Observer = SILENT) -> MachineLayout:
    """Return a machine and its layout: of a capture, an hwloc XML, a Machine JSON or a root; of this machine without any."""
    machine = read_machine(source, observer)
    return MachineLayout(machine, infer_layout(machine))


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
