"""The machine drawn with what is wrong marked on it: sockets, NUMA nodes, memory channels, links, adapters, GPUs."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from advisor.advice.model.findings import Audit, Finding
from advisor.machine.hardware import Dimm, SocketMemory
from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, memory_clock, plain, throughput
from advisor.measure.measured_facts import MeasuredFacts
from advisor.show.topology import Block, Device, Mark, Picture, Slot, Strip

MOST_SLOTS: Final = 32
"""Places for modules of one socket that are drawn each for itself."""

_OF_SOCKETS: Final = ("numa", "cpu", "power")
"""Topics of which a finding without a subject is true of every socket alike."""

_OF_LINKS: Final = ("fabric.xgmi", "fabric.upi", "cpu.prefetch_upi")
_WORDS: Final = {"fabric.xgmi_width": "xGMI width", "fabric.upi_power": "UPI power saving"}


class _Findings(NamedTuple):
    """The findings to be marked, by the number that the audit gives their rule."""

    numbered: Sequence[tuple[int, Sequence[Finding]]]
    names: Mapping[str, str]
    """What a device is called in the picture, by the other names that findings have for it."""

    def about(self, *subjects: str, memory: bool = False) -> tuple[Mark, ...]:
        """Return the marks of findings on some subjects; those on memory modules stand at the modules."""
        return self.marks(lambda each: each.subject in subjects and (each.topic == "memory") == memory)

    def marks(self, wanted: Callable[[Finding], bool]) -> tuple[Mark, ...]:
        """Return the marks of the findings that are wanted."""
        result = []
        for number, own in self.numbered:
            some = [each for each in own if wanted(each)]
            claims = "; ".join(dict.fromkeys(plain(each.claim or each.title, 300) for each in some))
            if some:
                result.append(Mark(number, some[0].severity, f"finding {number}, {some[0].severity}: {claims}"))
        return tuple(result)

    def device(self, device: Device) -> Device:
        """Return a device with its marks: a finding names it, its address, or its PCIe port."""
        words = re.compile(r"[^,\s]+")
        own = {name for name, other in self.names.items() if other in device.names} | {*device.names}
        return replace(device, marks=self.marks(lambda each: not own.isdisjoint(words.findall(each.subject or ""))))


def marked(
    picture: Picture, machine: Machine, audit: Audit, measured: MeasuredFacts | None, only: Collection[str] = ()
) -> Picture:
    """Return the picture with memory channels, links between sockets, and the number of each finding at what it is about."""
    numbered = [(number, own) for number, own in enumerate(audit.by_rule, 1) if not only or own[0].id in only]
    found = _Findings(numbered, _names(machine))
    modules = tuple(machine.memory.dimms or ()) if machine.memory else ()
    sockets = {each.socket: each for each in (machine.memory.sockets or () if machine.memory else ())}
    blocks = tuple(_block(block, found, _memory(block, modules, sockets, found)) for block in picture.blocks)
    below = []
    unplaced = [each for each in modules if each.socket is None]
    if unplaced:  # the names of modules do not tell which socket each serves
        marks = found.about(*(each.locator for each in unplaced), memory=True)
        below.append(Strip(f"{_modules(unplaced)}: the socket of each is not known", _slots(unplaced), marks))
    if sum(max(1, len(block.sockets)) for block in blocks) > 1:
        below += _links(audit, measured, found)
    return replace(picture, blocks=blocks, devices=tuple(map(found.device, picture.devices)), links=tuple(below))


def places(picture: Picture) -> frozenset[int]:
    """Return the numbers of the findings that stand on the picture."""
    boxes = tuple(picture.boxes())
    devices = [*picture.devices, *(device for block in picture.blocks for device in block.devices)]
    devices += [device for box in boxes for device in box.devices]
    strips = [*picture.links, *(block.memory for block in picture.blocks if block.memory)]
    own = [part.marks for part in picture.blocks] + [part.marks for part in boxes]
    own += [part.marks for part in devices] + [part.marks for part in strips]
    return frozenset(mark.number for marks in own for mark in marks)


def _block(block: Block, found: _Findings, memory: Strip | None) -> Block:
    names = [f"socket {number}" for number in block.sockets]
    whole = [
        (number, own)
        for number, own in found.numbered
        if own[0].subject is None and own[0].topic in _OF_SOCKETS and not any(_of_links(want.setting) for want in own[0].wants)
    ]
    everywhere = found._replace(numbered=whole).marks(lambda _: True)
    marks = sorted((*everywhere, *found.about(*names), *(() if memory else found.about(*names, memory=True))))
    boxes = tuple(
        replace(
            box, marks=found.about(*(f"node {number}" for number in box.nodes)), devices=tuple(map(found.device, box.devices))
        )
        for box in block.boxes
    )
    return replace(block, boxes=boxes, marks=tuple(marks), devices=tuple(map(found.device, block.devices)), memory=memory)


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


def _memory(block: Block, modules: Sequence[Dimm], sockets: Mapping[int, SocketMemory], found: _Findings) -> Strip | None:
    """Return the memory modules of a socket; None where the firmware was not asked for them."""
    own = [each for each in modules if each.socket in block.sockets]
    known = [sockets[number] for number in block.sockets if number in sockets]
    if not own or len(known) > 1:
        return None
    marks = found.about(*(f"socket {number}" for number in block.sockets), *(each.locator for each in own), memory=True)
    return Strip(_channels(known[0], own) if known else _modules(own), _slots(own), marks)


def _modules(modules: Sequence[Dimm]) -> str:
    """Return ``24 memory modules (DDR5)``, of what the names of modules alone tell."""
    filled = sum(each.size != 0 for each in modules)
    kinds = ", ".join(dict.fromkeys(plain(each.kind, 20) for each in modules if each.kind and each.size != 0))
    slots = f" in {count(len(modules), 'slot')}" if len(modules) > filled else ""
    return f"{count(filled, 'memory module')}{f' ({kinds})' if kinds else ''}{slots}"


def _slots(modules: Sequence[Dimm]) -> tuple[Slot, ...]:
    """Return the places in the order of their channels and names; none where they are too many."""

    def order(dimm: Dimm) -> tuple[int, list[tuple[int, str]]]:
        parts = re.findall(r"\d{1,9}|\D+", dimm.locator)
        natural = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return -1 if dimm.channel is None or dimm.socket is None else dimm.channel, natural

    return tuple(map(_slot, sorted(modules, key=order))) if len(modules) <= MOST_SLOTS else ()


def _slot(dimm: Dimm) -> Slot:
    name = plain(dimm.locator, 40)
    if dimm.size == 0:
        return Slot(name, "empty", f"{name}: empty")
    slow = dimm.rated is not None and dimm.configured is not None and dimm.configured < dimm.rated
    speed = f", {memory_clock(dimm.rated)}" if dimm.rated else ""
    runs = f", runs at {memory_clock(dimm.configured)}" if slow else ""
    return Slot(name, "slow" if slow else "filled", f"{name}: {binary(dimm.size)} {plain(dimm.kind or '', 20)}{speed}{runs}")


def _channels(socket: SocketMemory, modules: Sequence[Dimm]) -> str:
    """Return ``8 DIMMs in 8 channels, 2933 of 3200 MT/s, at most 187.7 GB/s``."""
    channels = f" in {count(socket.channels, 'channel')}" if socket.channels is not None else ""
    rated = max((each.rated for each in modules if each.rated and each.size), default=None)
    speed = memory_clock(socket.configured) if socket.configured else ""
    if rated and socket.configured and socket.configured < rated:
        speed = f"at {speed}, made for {memory_clock(rated)}"
    most = f"at most {throughput(socket.bandwidth)}" if socket.bandwidth else ""
    return ", ".join(filter(None, (f"{count(socket.dimms, 'DIMM')}{channels}", speed, most)))


def _links(audit: Audit, measured: MeasuredFacts | None, found: _Findings) -> Iterator[Strip]:
    """Yield what was measured across the links between sockets, how they are set, and the findings about either."""
    words = []
    far = next((way for way in (measured.remote or () if measured else ()) if way.distance == "other-socket"), None)
    if far and far.bandwidth:
        published = f" (published {100 * far.published:.0f} %)" if far.published else ""
        words.append(f"memory of the other socket gives {100 * far.bandwidth:.0f} % of the bandwidth of local memory{published}")
    if far and far.latency:
        words.append(f"{far.latency:.2g} times its latency")
    words += [f"{_WORDS.get(row.name, row.term)} {row.current}" for row in audit.settings if _of_links(row.name) and row.current]
    own = [
        (number, some)
        for number, some in found.numbered
        if some[0].subject == "other-socket memory" or any(_of_links(want.setting) for want in some[0].wants)
    ]
    marks = found._replace(numbered=own).marks(lambda _: True)
    if words or marks:
        yield Strip(f"Links between sockets: {', '.join(words) or 'not measured'}", (), marks)


def _of_links(setting: str) -> bool:
    return setting.startswith(_OF_LINKS)
