"""The machine drawn with what is wrong marked on it: sockets, NUMA nodes, memory channels, links, adapters, GPUs."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from advisor.advice.model.findings import Audit, Finding
from advisor.machine.machine import Machine
from advisor.machine.memory import Dimm, SocketMemory
from advisor.machine.units import binary, count, memory_clock, plain, throughput
from advisor.measure.measured_facts import MeasuredFacts, Way
from advisor.show.topology.elements import Block, Box, Device, Mark, Picture, Slot, Strip

MOST_SLOTS: Final = 32
"""Places for modules of one socket that are drawn each for itself."""

Numbered = Sequence[tuple[int, Sequence[Finding]]]
"""Findings by the number that the audit gives their rule."""


def marked(
    picture: Picture, machine: Machine, audit: Audit, measured: MeasuredFacts | None, only: Collection[str] = ()
) -> Picture:
    """Return the picture with memory channels, links between sockets, and the number of each finding at what it is about."""
    found = [(number, own) for number, own in enumerate(audit.by_rule, 1) if not only or own[0].id in only]
    modules = tuple(machine.memory.dimms or ()) if machine.memory else ()
    sockets = {each.socket: each for each in (machine.memory.sockets or () if machine.memory else ())}
    names = _names(machine)
    blocks = tuple(_block(block, found, names, _strip(block, modules, sockets, found)) for block in picture.blocks)
    loose = tuple(_device(device, found, names) for device in picture.devices)
    several = sum(max(1, len(block.sockets)) for block in blocks) > 1
    below = (*_anywhere(modules, found), *(_links(audit, measured, found) if several else ()))
    return replace(picture, blocks=blocks, devices=loose, links=below)


def places(picture: Picture) -> frozenset[int]:
    """Return the numbers of the findings that stand on the picture."""
    boxes = tuple(picture.boxes())
    devices = [*picture.devices, *(device for block in picture.blocks for device in block.devices)]
    devices += [device for box in boxes for device in box.devices]
    strips = [*picture.links, *(block.memory for block in picture.blocks if block.memory)]
    own = [[part.marks for part in parts] for parts in (picture.blocks, boxes)]
    own += [[device.marks for device in devices], [strip.marks for strip in strips]]
    return frozenset(mark.number for kind in own for marks in kind for mark in marks)


def _mark(number: int, found: Sequence[Finding]) -> Mark:
    claims = "; ".join(dict.fromkeys(plain(each.claim or each.title, 300) for each in found))
    return Mark(number, found[0].severity, f"finding {number}, {found[0].severity}: {claims}")


def _about(found: Numbered, *subjects: str, memory: bool = False) -> tuple[Mark, ...]:
    """Return the marks of findings on some subjects; those on memory modules stand at the modules."""
    wanted = frozenset(subjects)
    own = ((number, [each for each in some if each.subject in wanted and _of_memory(each) == memory]) for number, some in found)
    return tuple(_mark(number, some) for number, some in own if some)


_OF_SOCKETS: Final = ("numa", "cpu", "power")
"""Topics of which a finding without a subject is true of every socket alike."""


def _everywhere(found: Numbered) -> tuple[Mark, ...]:
    own = ((number, some) for number, some in found if some[0].subject is None and some[0].topic in _OF_SOCKETS)
    return tuple(_mark(number, some) for number, some in own if not any(_of_links(want.setting) for want in some[0].wants))


def _of_memory(finding: Finding) -> bool:
    return finding.topic == "memory"


def _block(block: Block, found: Numbered, names: Mapping[str, str], memory: Strip | None) -> Block:
    boxes = tuple(_box(box, found, names) for box in block.boxes)
    own = (*_everywhere(found), *_about(found, *(f"socket {number}" for number in block.sockets)))
    devices = tuple(_device(device, found, names) for device in block.devices)
    lost = () if memory else _about(found, *(f"socket {number}" for number in block.sockets), memory=True)
    return replace(block, boxes=boxes, marks=tuple(sorted((*own, *lost))), devices=devices, memory=memory)


def _box(box: Box, found: Numbered, names: Mapping[str, str]) -> Box:
    own = _about(found, *(f"node {number}" for number in box.nodes))
    devices = tuple(_device(device, found, names) for device in box.devices)
    return replace(box, marks=own, devices=devices)


def _device(device: Device, found: Numbered, names: Mapping[str, str]) -> Device:
    """Return a device with its marks: a finding names it, its address, or its PCIe port."""
    own = frozenset(device.names)

    def here(finding: Finding) -> bool:
        words = re.findall(r"[^,\s]+", finding.subject or "")
        return any(word in own or names.get(word) in own for word in words)

    some = ((number, [each for each in each_found if here(each)]) for number, each_found in found)
    return replace(device, marks=tuple(_mark(number, each) for number, each in some if each))


def _names(machine: Machine) -> dict[str, str]:
    """Return what a device is called in the picture, by the other names that findings have for it."""
    names: dict[str, str] = {}
    for hca in machine.hcas or ():
        names |= {other: hca.name for other in (hca.address, *(port.netdev for port in hca.ports or ())) if other}
    for gpu in machine.gpus or ():
        name = str(gpu.index) if gpu.index is not None else gpu.address.removeprefix("0000:")
        names |= {gpu.address: name, gpu.card or gpu.address: name}
    names |= {nic.address: nic.name for nic in machine.nics or () if nic.address and nic.address not in names}
    for device in machine.pci or ():
        name = names.setdefault(device.address, device.address.removeprefix("0000:"))
        if device.bottleneck:
            names.setdefault(device.bottleneck, name)
    return names


def _strip(block: Block, modules: Sequence[Dimm], sockets: Mapping[int, SocketMemory], found: Numbered) -> Strip | None:
    """Return the memory modules of a socket; None where the firmware was not asked for them."""
    own = [each for each in modules if each.socket in block.sockets]
    known = [sockets[number] for number in block.sockets if number in sockets]
    if not own or len(known) > 1:
        return None
    marks = _about(found, *(f"socket {number}" for number in block.sockets), *(each.locator for each in own), memory=True)
    ordered = sorted(own, key=lambda each: (each.channel if each.channel is not None else -1, _natural(each.locator)))
    slots = tuple(map(_slot, ordered)) if len(own) <= MOST_SLOTS else ()
    return Strip(_memory(known[0], own) if known else _modules(own), slots, marks)


def _anywhere(modules: Sequence[Dimm], found: Numbered) -> Iterator[Strip]:
    """Yield the memory modules where their names do not tell which socket each serves."""
    own = [each for each in modules if each.socket is None]
    if own:
        told = f"{_modules(own)}: the socket of each is not known"
        marks = _about(found, *(each.locator for each in own), memory=True)
        slots = tuple(map(_slot, sorted(own, key=lambda each: _natural(each.locator)))) if len(own) <= MOST_SLOTS else ()
        yield Strip(told, slots, marks)


def _modules(modules: Sequence[Dimm]) -> str:
    """Return ``24 memory modules (DDR5)``, of what the names of modules alone tell."""
    filled = sum(each.size != 0 for each in modules)
    kinds = ", ".join(dict.fromkeys(plain(each.kind, 20) for each in modules if each.kind and each.size != 0))
    places = f" in {count(len(modules), 'slot')}" if len(modules) > filled else ""
    return f"{count(filled, 'memory module')}{f' ({kinds})' if kinds else ''}{places}"


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d{1,9}|\D+", name)]


def _slot(dimm: Dimm) -> Slot:
    name = plain(dimm.locator, 40)
    if dimm.size == 0:
        return Slot(name, "empty", f"{name}: empty")
    slow = dimm.rated is not None and dimm.configured is not None and dimm.configured < dimm.rated
    speed = f", {memory_clock(dimm.rated)}" if dimm.rated else ""
    runs = f", runs at {memory_clock(dimm.configured)}" if slow else ""
    return Slot(name, "slow" if slow else "filled", f"{name}: {binary(dimm.size)} {plain(dimm.kind or '', 20)}{speed}{runs}")


def _memory(told: SocketMemory, modules: Sequence[Dimm]) -> str:
    """Return ``8 DIMMs in 8 channels, 2933 of 3200 MT/s, at most 187.7 GB/s``."""
    channels = f" in {count(told.channels, 'channel')}" if told.channels is not None else ""
    rated = max((each.rated for each in modules if each.rated and each.size), default=None)
    speed = memory_clock(told.configured) if told.configured else ""
    if rated and told.configured and told.configured < rated:
        speed = f"at {speed}, made for {memory_clock(rated)}"
    most = f"at most {throughput(told.bandwidth)}" if told.bandwidth else ""
    return ", ".join(part for part in (f"{count(told.dimms, 'DIMM')}{channels}", speed, most) if part)


_OF_LINKS: Final = ("fabric.xgmi", "fabric.upi", "cpu.prefetch_upi")
_WORDS: Final = {"fabric.xgmi_width": "xGMI width", "fabric.upi_power": "UPI power saving"}


def _links(audit: Audit, measured: MeasuredFacts | None, found: Numbered) -> tuple[Strip, ...]:
    """Return what was measured across the links between sockets, how they are set, and the findings about either."""
    far = next((way for way in (measured.remote or () if measured else ()) if way.distance == "other-socket"), None)
    told = [*_measured_link(far)] if far else []
    told += [f"{_WORDS.get(row.name, row.term)} {row.current}" for row in audit.settings if _of_links(row.name) and row.current]
    marks = tuple(
        _mark(number, some)
        for number, some in found
        if some[0].subject == "other-socket memory" or any(_of_links(want.setting) for want in some[0].wants)
    )
    if not told and not marks:
        return ()
    return (Strip(f"Links between sockets: {', '.join(told) or 'not measured'}", (), marks),)


def _of_links(setting: str) -> bool:
    return setting.startswith(_OF_LINKS)


def _measured_link(far: Way) -> Iterator[str]:
    if far.bandwidth:
        published = f" (published {100 * far.published:.0f} %)" if far.published else ""
        yield f"memory of the other socket gives {100 * far.bandwidth:.0f} % of the bandwidth of local memory{published}"
    if far.latency:
        yield f"{far.latency:.2g} times its latency"
