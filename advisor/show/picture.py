"""A machine and its layout as a picture, with its devices and captions: the same for a terminal and for a page."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import ETHERNET, INFINIBAND, NAMES, Gpu, Hca, Locality, Nic, PciDevice, Port
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.topology import NumaNode, Topology, counts
from advisor.machine.units import binary, bit_rate, count, generation, link, link_state, plain, slower, span
from advisor.show.lines import listed, numbered, threads

State = Literal["up", "down", "unknown", "none"]


class Mark(NamedTuple):
    """A finding, at the thing that it is about."""

    number: int
    """As ``advisor explain`` takes it."""
    severity: str
    says: str


class Slot(NamedTuple):
    """A place for a memory module."""

    name: str
    state: Literal["filled", "slow", "empty"]
    says: str


class Strip(NamedTuple):
    """What stands below sockets: their memory channels, the links between them."""

    says: str
    slots: tuple[Slot, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """CPUs drawn together: those of one L3, or of the cores of a node that show none."""

    cpus: CpuSet
    cores: tuple[CpuSet, ...]
    denied: CpuSet
    says: str | None = None
    """What is written of it instead of its CPUs: the ranks that sit on them."""
    marks: tuple[str, ...] = ()
    """The ranks on each of its cores, where ranks are drawn."""

    @property
    def kind(self) -> tuple[tuple[int, ...], bool, bool]:
        """What two members share that are alike: threads of each core, and whether all or none may be used."""
        return tuple(len(core) for core in self.cores), bool(self.denied), self.denied == self.cpus


@dataclass(frozen=True, slots=True)
class Group:
    """Members that are alike."""

    cache: bool
    size: int | None
    members: tuple[Member, ...]
    reaches: tuple[int, ...] = ()
    """Numbers of the NUMA nodes that one L3 spans, where that is several."""


@dataclass(frozen=True, slots=True)
class Store:
    """NUMA nodes of memory alone."""

    nodes: tuple[int, ...]
    sizes: tuple[int | None, ...]
    kind: str | None
    near: str
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """Devices of one kind at one place that say the same of themselves."""

    kind: str
    names: tuple[str, ...]
    facts: tuple[str, ...]
    state: State
    link: str
    slow: bool
    """Whether the way to it is narrower than the card."""
    guessed: str | None
    """Why it is drawn here, where the firmware does not say."""
    remarks: tuple[str, ...] = ()
    """What must be said besides: where its path is narrowed, why its place is not known."""
    marks: tuple[Mark, ...] = ()
    switch: str = ""
    """The PCIe switch that it shares with others; empty if there is none, or it is not known."""


@dataclass(frozen=True, slots=True)
class Box:
    """NUMA nodes with CPUs that are alike; without a number, CPUs that no node owns."""

    nodes: tuple[int, ...]
    sizes: tuple[int | None, ...]
    kind: str | None
    cache: int | None
    groups: tuple[Group, ...]
    stores: tuple[Store, ...] = ()
    devices: tuple[Device, ...] = ()
    denied: bool = False
    marks: tuple[Mark, ...] = ()

    @property
    def repeat(self) -> int:
        """How many nodes it stands for."""
        return max(1, len(self.nodes))

    @property
    def cpus(self) -> CpuSet:
        """Its CPUs."""
        return union(member.cpus for member in self.members())

    @property
    def cores(self) -> int:
        """How many cores it shows."""
        return sum(len(member.cores) for member in self.members())

    def members(self) -> Iterator[Member]:
        """Yield every member of its groups."""
        return (member for group in self.groups for member in group.members)


@dataclass(frozen=True, slots=True)
class Block:
    """Sockets that share a NUMA node, usually one; with repeat, blocks that are alike. No number: no socket is known."""

    sockets: tuple[int, ...]
    ids: tuple[int | None, ...]
    """The kernel's own numbers of the sockets."""
    dies: int
    boxes: tuple[Box, ...]
    stores: tuple[Store, ...] = ()
    devices: tuple[Device, ...] = ()
    repeat: int = 1
    memory: Strip | None = None
    """Its memory channels, where they are to be drawn."""
    marks: tuple[Mark, ...] = ()

    @property
    def cpus(self) -> CpuSet:
        """Its CPUs."""
        return union(box.cpus for box in self.boxes)

    @property
    def cores(self) -> int:
        """How many cores it shows."""
        return sum(box.cores for box in self.boxes)


@dataclass(frozen=True, slots=True)
class Table:
    """Distances between NUMA nodes, each and by kind of neighbour."""

    nodes: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing inferred, and why."""

    about: str
    says: str
    sure: str | None
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A machine as it is drawn, in a terminal or on a page."""

    title: str
    processors: str
    counts: str
    blocks: tuple[Block, ...]
    stores: tuple[Store, ...]
    devices: tuple[Device, ...]
    table: Table | None
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    links: tuple[Strip, ...] = ()
    """What is known of the links between sockets, where they are to be drawn."""

    def boxes(self) -> Iterator[Box]:
        """Yield every box of every block."""
        return (box for block in self.blocks for box in block.boxes)

    @property
    def cpus(self) -> CpuSet:
        """Every CPU drawn."""
        return union(block.cpus for block in self.blocks)


BOXES = 4
"""So many NUMA nodes of a socket are drawn each for itself."""

BLOCKS = 4
"""So many sockets are drawn each for itself."""

_Shape = TypeVar("_Shape", Block, Box)


def collapsed(picture: Picture) -> Picture:
    """Return the picture with alike sockets, and alike nodes of a socket, drawn once where there are many."""
    blocks = picture.blocks
    if len(blocks) > BLOCKS:
        blocks = _merged(blocks, _alike_blocks, _one_block)
    return replace(picture, blocks=tuple(_fewer_boxes(block) for block in blocks))


def _fewer_boxes(block: Block) -> Block:
    if len(block.boxes) <= BOXES or block.repeat > 1:
        return block
    return replace(block, boxes=_merged(block.boxes, _alike_boxes, _one_box))


def _merged(
    shapes: Iterable[_Shape], alike: Callable[[_Shape, _Shape], bool], one: Callable[[list[_Shape]], _Shape]
) -> tuple[_Shape, ...]:
    kinds: list[list[_Shape]] = []
    for shape in shapes:
        same = next((kind for kind in kinds if alike(kind[0], shape)), None)
        if same is None:
            kinds.append([shape])
        else:
            same.append(shape)
    return tuple(one(kind) if len(kind) > 1 else kind[0] for kind in kinds)


def _alike_blocks(a: Block, b: Block) -> bool:
    bare = not (a.stores or b.stores or a.devices or b.devices) and (a.memory, a.marks) == (b.memory, b.marks)
    same = (len(a.sockets), a.dies, len(a.boxes)) == (len(b.sockets), b.dies, len(b.boxes))
    return bare and same and all(map(_alike_boxes, a.boxes, b.boxes))


def _alike_boxes(a: Box, b: Box) -> bool:
    if a.devices or b.devices or a.stores or b.stores or not (a.nodes and b.nodes):
        return False
    plain = (a.kind, a.cache, a.denied, a.marks) == (b.kind, b.cache, b.denied, b.marks)
    return plain and _topology_near(a.sizes, b.sizes) and list(map(_shape, a.groups)) == list(map(_shape, b.groups))


def _topology_near(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
    """Whether memory is the same but for what the kernel keeps of the first node."""
    first, second = a[0], b[0]
    if first is None or second is None:
        return first is second
    return bool(first) == bool(second) and abs(first - second) <= 0.1 * max(first, second)


def _shape(group: Group) -> object:
    return group.cache, group.size, group.reaches, [member.kind for member in group.members]


def _one_box(boxes: list[Box]) -> Box:
    groups = zip(*(box.groups for box in boxes), strict=True)
    return replace(
        boxes[0],
        nodes=tuple(number for box in boxes for number in box.nodes),
        sizes=tuple(size for box in boxes for size in box.sizes),
        groups=tuple(replace(same[0], members=tuple(member for group in same for member in group.members)) for same in groups),
    )


def _one_block(blocks: list[Block]) -> Block:
    boxes = zip(*(block.boxes for block in blocks), strict=True)
    return replace(
        blocks[0],
        sockets=tuple(socket for block in blocks for socket in block.sockets),
        ids=tuple(number for block in blocks for number in block.ids),
        boxes=tuple(_one_box(list(same)) for same in boxes),
        repeat=len(blocks),
    )


QUIET = ("nic", "nvme", "accelerator")
"""Kinds of which an unknown link is not worth a word."""

SHOWN = ("hca", "gpu", "accelerator", "nvme", "nic")
"""Kinds of PCI devices that are drawn, in this order."""

CONSOLES = (0x1A03, 0x102B, 0x1013, 0x1234, 0x1B36, 0x15AD)
"""Vendors of a server's console screen, real or virtual: ASPEED, Matrox, Cirrus, Bochs, Red Hat, VMware."""

_ROCE = ("mlx", "roce", "bnxt_re", "rxe")
"""What drivers of adapters call them whose Ethernet ports speak RoCE: others speak iWARP, usNIC or Amazon's own."""


def link_words(kind: str, card: PciDevice | None) -> str:
    """Return a card's link: ``PCIe 4.0 x16``, ``PCIe 4.0 x8 of x16``, ``NVLink-C2C``; nothing of a device that has none."""
    if card is not None and card.joined:
        return card.joined
    now = card.link if card else None
    known = now is not None and any((now.speed, now.width, now.bandwidth))
    if card is None or (kind in QUIET and not known):
        return ""
    return link(card.card) if _rests(kind, card) else link_state(card.link, card.card)


def held_back(kind: str, card: PciDevice | None) -> bool:
    """Return whether the way to a card is known to be narrower than the card."""
    if card is None or card.joined or _rests(kind, card):
        return False
    return card.bottleneck is not None or slower(card.link, card.card)


def hindrance(kind: str, card: PciDevice | None) -> str:
    """Return what narrows the way to a card: ``narrowed at 0000:40:01.1``; nothing where nothing does."""
    if card is None or card.joined:
        return ""
    now, path = card.link, card.path
    if card.bottleneck is not None:
        same = path is None or (now is not None and (path.speed, path.width) == (now.speed, now.width))
        narrow = "" if same else f" to {link(path).removeprefix('PCIe ')}"
        return f"narrowed{narrow} at {card.bottleneck}"
    if _rests(kind, card):
        return f"at {generation(now.speed) if now else ''} now (idle?)"
    return "its slot is faster" if slower(now, card.card) and not slower(path, card.card) and path else ""


def _rests(kind: str, card: PciDevice) -> bool:
    """Return whether a GPU runs all its lanes at less than its speed: it does so to save power until it has work."""
    now, able = card.link, card.card
    if kind != "gpu" or now is None or able is None or not slower(now, able) or card.bottleneck is not None:
        return False
    return now.width is not None and now.width == able.width


@dataclass(frozen=True, slots=True)
class PlacedDevice:
    """A device and the NUMA nodes it is local to; none where that is not known."""

    nodes: tuple[int, ...]
    device: Device
    unplaced: str | None = None
    """Why its place is not known."""


def devices(machine: Machine) -> tuple[PlacedDevice, ...]:
    """Return what is plugged in and worth drawing: HCAs, GPUs, accelerators, NVMe and network interfaces."""
    pci = {device.address: device for device in machine.pci or ()}
    hcas, gpus, nics = machine.hcas or (), machine.gpus or (), machine.nics or ()
    adapters, ports = {hca.address for hca in hcas} - {None}, {port.netdev for hca in hcas for port in hca.ports or ()}
    found = [*(_hca(hca, pci) for hca in hcas), *(_gpu(gpu, pci) for gpu in gpus)]
    found += [_nic(nic, pci) for nic in nics if nic.address not in adapters and nic.name not in ports]  # not an HCA's own
    named = {*adapters, *(gpu.address for gpu in gpus), *(gpu.card for gpu in gpus), *(nic.address for nic in nics)}
    for device in pci.values():
        screen = device.class_code >> 8 == 0x0300 and device.vendor in CONSOLES
        if device.address not in named and device.kind in SHOWN and not screen:
            name = device.address.removeprefix("0000:")
            found.append(_placed((device.kind, name), (device.name or "",), "none", device.locality, device))
    switches = _shared_switches(pci.values())
    own = (each if each.device.switch in switches else replace(each, device=replace(each.device, switch="")) for each in found)
    return tuple(sorted(own, key=lambda placed: SHOWN.index(placed.device.kind)))


_DEEP = 4
"""Host bridge, root port, a switch's port up, its port down: so many stand above a device behind a switch."""


def _switch(card: PciDevice | None) -> str:
    """Return the upward port of the PCIe switch above a card; empty where there is none, or it is not known."""
    return card.upstream[-2] if card is not None and card.upstream and len(card.upstream) >= _DEEP else ""


def _shared_switches(cards: Iterable[PciDevice]) -> set[str]:
    """Return the switches that have more than one card below them."""
    below: dict[str, set[str]] = {}
    for card in cards:
        if card.kind in SHOWN and card.upstream and _switch(card):
            below.setdefault(_switch(card), set()).add(card.upstream[-1])
    return {switch for switch, ports in below.items() if len(ports) > 1}


def attach(blocks: tuple[Block, ...], placed: Iterable[PlacedDevice]) -> tuple[tuple[Block, ...], tuple[Device, ...]]:
    """Return the blocks with their devices, and the devices that belong to no one block."""
    own: dict[int, list[Device]] = {}
    loose: list[Device] = []
    for each in placed:
        home = _home(blocks, set(each.nodes))
        if home is not None:
            own.setdefault(id(home), []).append(each.device)
        else:
            why = f": {each.unplaced}" if each.unplaced else ""
            place = f"local to nodes {', '.join(map(str, each.nodes))}" if each.nodes else f"NUMA node ?{why}"
            loose.append(replace(each.device, remarks=(*each.device.remarks, place)))
    filled = []
    for block in blocks:
        boxes = tuple(replace(box, devices=together(own.get(id(box), ()))) for box in block.boxes)
        filled.append(replace(block, boxes=boxes, devices=together(own.get(id(block), ()))))
    return tuple(filled), together(loose)


def _home(blocks: tuple[Block, ...], nodes: set[int]) -> Box | Block | None:
    """Return what has all of some nodes, the smallest that does."""
    for block in blocks if nodes else ():
        for box in block.boxes:
            if nodes <= set(box.nodes):
                return box
        if nodes <= {number for box in block.boxes for number in box.nodes}:
            return block
    return None


def together(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Return the devices, those that differ by name alone, or by the reason of a guess, as one."""
    alike: dict[Device, list[Device]] = {}
    for device in devices:
        key = replace(device, names=(), guessed=device.guessed and "~")
        alike.setdefault(key, []).append(device)
    return tuple(replace(same[0], names=tuple(name for device in same for name in device.names)) for same in alike.values())


def _placed(
    named: tuple[str, str], facts: Iterable[str], state: State, own: Locality | None, card: PciDevice | None
) -> PlacedDevice:
    """Return a device where it says that it is, or else where its card does."""
    (kind, name), near = named, own or (card.locality if card else None)
    virtual, functions = bool(card and card.is_virtual_function), card.virtual_functions if card else None
    why = plain(near.inferred) if near and near.inferred else None
    nodes = near.numa_nodes if near else ()
    split = (count(functions, "virtual function"),) if functions else ()
    hindered = "" if virtual else hindrance(kind, card)
    device = Device(
        kind=kind,
        names=(plain(name, 60),),
        facts=("virtual (SR-IOV)",) if virtual else tuple(plain(fact, 80) for fact in (*facts, *split) if fact),
        state="none" if virtual else state,
        link="" if virtual else link_words(kind, card),
        slow=not virtual and held_back(kind, card),
        guessed=why if nodes else None,
        remarks=(hindered,) if hindered else (),
        switch=_switch(card),
    )
    return PlacedDevice(nodes, device, None if nodes else why)


def _hca(hca: Hca, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    ports, states = hca.ports, {port.state for port in hca.ports or ()}
    state: State = "down" if "down" in states else "unknown" if not states or None in states else "up"
    facts = ["ports ?"] if ports is None else [f"port {port.number}: {_port(hca, port)}" for port in ports] or ["no ports"]
    facts = [_port(hca, ports[0])] if ports and len(ports) == 1 else facts
    return _placed(("hca", hca.name), facts, state, hca.locality, pci.get(hca.address or ""))


def _port(hca: Hca, port: Port) -> str:
    """One port: ``100 Gb/s EDR active``; of one that is down the cable's state, for its rate means nothing."""
    layer = "" if port.link_layer in (None, INFINIBAND) else NAMES.get(port.link_layer, "")
    if port.link_layer == ETHERNET and hca.name.startswith(_ROCE):
        layer = "RoCE"
    if port.state == "down":
        known = f"({port.physical})" if port.physical not in (None, "linkup", "") else ""
        return " ".join(filter(None, (layer, "DOWN", known)))
    name = (port.rate_name or "").split()[-1:] if port.rate else []
    return " ".join(filter(None, (layer, bit_rate(port.rate) if port.rate else "rate ?", *name, port.state or "state ?")))


def _gpu(gpu: Gpu, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    card = pci.get(gpu.card or gpu.address)
    name = str(gpu.index) if gpu.index is not None else gpu.address.removeprefix("0000:")
    known = gpu.model or gpu.vendor or (card.name if card else None) or ""
    return _placed(("gpu", name), (known, binary(gpu.memory) if gpu.memory else ""), "none", gpu.locality, card)


def _nic(nic: Nic, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    states: dict[str | None, tuple[str, State]] = {"up": ("up", "up"), "down": ("DOWN", "down")}
    word, state = states.get(nic.state, (nic.state or ("state ?" if nic.speed else ""), "unknown" if nic.speed else "none"))
    speed = bit_rate(nic.speed) if nic.speed else ""
    return _placed(("nic", nic.name), (f"{speed} {word}".strip(),), state, nic.locality, pci.get(nic.address or ""))


KINDS = {"hca": "HCA", "gpu": "GPU", "nic": "NIC", "nvme": "NVMe", "accelerator": "accelerator"}

WRITTEN = 4
"""So many names of alike devices are written out."""

_NAMED = 4
"""So many different distances of one kind are named each."""

_SECOND = {
    "none": "",
    "unknown": ", second threads ?",
    "adjacent": ", each core's second thread numbered right after its first",
    "offset": ", second threads after all first threads",
    "other": ", second threads in another order",
}
"""Where second threads are numbered."""


def block_title(block: Block) -> str:
    """Return ``Socket 0``, ``Sockets 1-23``, or what stands for one that is not known."""
    if not block.sockets:
        return "No socket known"
    name = "Socket" if len(block.sockets) == 1 else "Sockets"
    own = {number for number in block.ids if number is not None and number >= 0}
    renamed = own and own != set(block.sockets) and len(own) <= WRITTEN
    title = f"{name} {numbered(block.sockets)}"
    return f"{title} (id {numbered(own)})" if renamed else title


def block_facts(block: Block) -> str:
    """Return what a block holds: ``32 cores, 64 PUs``, of each where it stands for several."""
    each = " each" if block.repeat > 1 else ""
    alike = f"{block.repeat} alike: " if block.repeat > 1 else ""
    dies = f", {count(block.dies, 'die')}" if block.dies > 1 else ""
    return f"{alike}{_size(block.cores // block.repeat, len(block.cpus) // block.repeat)}{dies}{each}"


def block_remarks(block: Block) -> tuple[str, ...]:
    """Return the caches that several nodes of a block share."""
    wide = (group for box in block.boxes for group in box.groups if group.reaches)
    return tuple(dict.fromkeys(f"L3 {binary(group.size)} shared by nodes {listed(CpuSet(group.reaches))}" for group in wide))


def _size(cores: int, pus: int) -> str:
    if cores in (0, pus):
        return count(cores, "core") if cores else count(pus, "PU")
    return f"{count(cores, 'core')}, {count(pus, 'PU')}"


def box_title(box: Box) -> str:
    """Return ``NUMA node 0`` or ``NUMA nodes 1-15``."""
    if not box.nodes:
        return "No NUMA node"
    return f"NUMA node{'s' if len(box.nodes) > 1 else ''} {listed(CpuSet(box.nodes))}"


def box_memory(box: Box) -> str:
    """Return a node's memory, ``15 x 16 GiB`` where it stands for several."""
    if not box.nodes:
        return "no memory of its own"
    kind = f" {plain(box.kind.upper(), 20)}" if box.kind else ""
    many = f"{len(box.nodes)} x " if len(box.nodes) > 1 else ""
    return f"{many}{_memory(box.sizes)}{kind}"


def _memory(sizes: Sequence[int | None]) -> str:
    if all(size == 0 for size in sizes):
        return "NO MEMORY"
    return "memory ?" if None in sizes else span(tuple(sizes))


def box_remarks(box: Box) -> Iterator[str]:
    """Yield what else must be said of a node."""
    if box.denied:
        yield "memory outside your allocation"
    if box.cache:
        yield f"{binary(box.cache)} memory-side cache"


def group_label(group: Group, *, uneven: bool = False) -> str:
    """Return the name of one member: ``L3 16 MiB``, ``8 cores``; the cores of an L3 where others have more or fewer."""
    cores = _cores(group.members[0])
    if not group.cache or group.reaches:
        return cores
    label = f"L3 {binary(group.size)}"
    return f"{label}, {cores}" if uneven else label


def group_summary(group: Group, repeat: int) -> str:
    """Return all members in one line: ``16 x L3 16 MiB, 4 cores each: 0-3 .. 60-63``."""
    number = len(group.members) // repeat
    many = f"{number} x " if number > 1 else ""
    each = " each" if number > 1 else ""
    own = group.cache and not group.reaches
    name = f"{group_label(group)}, {_cores(group.members[0])}" if own else _cores(group.members[0])
    first, last = member_text(group.members[0]), member_text(group.members[-1])
    return f"{many}{name}{each}: {first} .. {last}"


def _cores(member: Member) -> str:
    return count(len(member.cores), "core") if member.cores else count(len(member.cpus), "PU")


def member_text(member: Member) -> str:
    """Return a member's CPUs, or the ranks on them; in brackets those outside the allocation."""
    if member.says is not None:
        return member.says
    mine, others = _part(member, member.cpus - member.denied), _part(member, member.denied)
    return " ".join(text for text in (mine, f"({others})" if others else "") if text)


def _part(member: Member, cpus: CpuSet) -> str:
    by_threads: dict[int, list[CpuSet]] = {}
    rest = cpus
    for core in member.cores:
        mine = core & cpus
        rest -= mine
        if mine:
            by_threads.setdefault(len(core), []).append(mine)
    parts = [_threads(number, cores, named=len(by_threads) > 1) for number, cores in by_threads.items()]
    return ", ".join([*parts, *([listed(rest)] if rest else [])])


def _threads(number: int, cores: Sequence[CpuSet], *, named: bool) -> str:
    text = threads(cores)
    return f"{text} ({count(len(cores), 'core')} x {count(number, 'thread')})" if named else text


def store_text(store: Store, *, here: bool = False) -> str:
    """Return ``NUMA node 8: 16 GiB HBM, no CPUs, near node 0``; drawn in that node, it need not say so."""
    name = f"NUMA node{'s' if len(store.nodes) > 1 else ''} {listed(CpuSet(store.nodes))}"
    kind = f" {plain(store.kind.upper(), 20)}" if store.kind else ""
    each = " each" if len(store.nodes) > 1 else ""
    near = "" if here else f", {store.near}"
    denied = ", outside your allocation" if store.denied else ""
    return f"{name}: {_memory(store.sizes)}{kind}{each}, no CPUs{near}{denied}"


def device_name(device: Device, *, whole: bool = False) -> str:
    """Return the kind and names of devices: ``NIC em1, em2``; a tilde where the place is inferred."""
    names = ", ".join(device.names)
    if len(device.names) > WRITTEN and not whole:
        names = f"{device.names[0]}, {device.names[1]}, .., {device.names[-1]} ({len(device.names)} alike)"
    return f"{KINDS.get(device.kind, device.kind)} {names}{' ~' if device.guessed else ''}"


def device_facts(device: Device) -> tuple[str, ...]:
    """Return what is known of devices: of themselves, of their link, of what is in its way."""
    behind = f"behind PCIe switch {device.switch.removeprefix('0000:')}" if device.switch else ""
    return tuple(fact for fact in (*device.facts, device.link, behind, *device.remarks) if fact)


def guesses(picture: Picture) -> tuple[str, ...]:
    """Return the legend of the tilde: why devices are drawn where the firmware does not place them."""
    everywhere = [*picture.devices]
    for block in picture.blocks:
        everywhere += [*block.devices, *(device for box in block.boxes for device in box.devices)]
    reasons = tuple(dict.fromkeys(device.guessed for device in everywhere if device.guessed))
    return (f"~ location inferred, not reported by the firmware: {'; '.join(reasons)}",) if reasons else ()


def picture(machine: Machine, layout: Layout) -> Picture:
    """Return what is drawn of a machine, nothing left out."""
    topology = machine.topology or Topology()
    caches = {tier.node: tier.cache for tier in machine.tiers or () if tier.cache}
    drawn, stores = blocks(topology, caches)
    drawn, loose = attach(drawn, devices(machine))
    distances = distance_table(topology)
    return Picture(
        title=_title(machine),
        processors=_processors(machine, topology),
        counts=_counts(topology, layout),
        blocks=drawn,
        stores=stores,
        devices=loose,
        table=distances,
        statements=(*statements(layout, distances), *_core_kinds(machine, topology)),
        notes=tuple(_notes(machine, topology)),
    )


def statements(layout: Layout, distances: Table | None = None) -> tuple[Statement, ...]:
    """Return what was inferred, in words; of distances the reason too where the table does not tell everything."""
    cut, numbering, smt, far = layout.cut, layout.numbering, layout.smt, layout.distances
    nodes = cut.nodes_per_socket
    each = f", {count(nodes, 'NUMA node')} per socket" if nodes is not None else ""
    over = f" over {numbering.over}" if numbering.over else ""
    threads = f" ({smt.threads} threads per core)" if smt.threads and smt.threads > 1 else ""
    values = (", ".join(distances.classes),) if distances else ()
    why = values if values and far.name == "full" else (*values, *map(plain, far.why))
    return (
        Statement("NUMA", f"{plain(cut.name)}{each}", cut.confidence, tuple(map(plain, cut.why))),
        Statement("Numbering", f"{numbering.name}{over}{_SECOND[numbering.siblings]}", None, tuple(map(plain, numbering.why))),
        Statement("SMT", f"{smt.state}{threads}", None, tuple(map(plain, smt.why))),
        Statement("Distances", far.name, None, why),
    )


def _core_kinds(machine: Machine, topology: Topology) -> Iterator[Statement]:
    """Yield which CPUs are of which kind of cores, where there are several."""
    kinds = (machine.cpu.kinds if machine.cpu else None) or ()
    parts = [
        f"{sum(bool(core.cpuset & kind.cpus) for core in topology.cores)} x {plain(kind.name, 40)}: CPUs {listed(kind.cpus)}"
        for kind in kinds
    ]
    if kinds:
        known = all(kind.speed is not None for kind in kinds)
        yield Statement("Cores", "; ".join(parts), None, ("fastest first" if known else "no source ranks them by speed",))


def _title(machine: Machine) -> str:
    firmware = machine.firmware
    maker = (firmware.system_vendor or firmware.board_vendor if firmware else None) or ""
    product = (firmware.product or firmware.board if firmware else None) or ""
    known = product if product.lower().startswith(maker.lower()) else f"{maker} {product}"
    named = " · ".join(plain(part, 80) for part in (machine.name or "", known.strip()) if part)
    return named or "Machine"


def _processors(machine: Machine, topology: Topology) -> str:
    name = machine.cpu.model_name if machine.cpu else None
    kinds = (machine.cpu.kinds if machine.cpu else None) or ()
    if not name and kinds:
        numbers = ((sum(bool(core.cpuset & kind.cpus) for core in topology.cores), plain(kind.name, 40)) for kind in kinds)
        return " + ".join(f"{number} x {kind}" for number, kind in numbers)
    if not name:
        return f"processor unknown{f' ({plain(machine.architecture, 40)})' if machine.architecture else ''}"
    number = len(topology.packages)
    return f"{number} x {plain(name, 80)}" if number > 1 else plain(name, 80)


def _counts(topology: Topology, layout: Layout) -> str:
    seen = counts(topology)
    known = [node.memory for node in topology.nodes if node.memory is not None]
    parts = [
        count(seen.packages, "socket"),
        count(seen.numa_nodes, "NUMA node"),
        count(seen.l3, "L3 group"),
        count(seen.cores, "core"),
        count(seen.pus, "PU"),
        f"SMT {layout.smt.state}",
        *([binary(sum(known))] if known else []),
    ]
    return ", ".join(parts)


def _notes(machine: Machine, topology: Topology) -> Iterator[str]:
    if machine.topology is None:
        yield "The topology is unknown; install hwloc or read a capture of the machine."
    if not topology.numa_known:
        yield "The source has no NUMA information: one node represents all memory."
    if topology.limited:
        usable = topology.pus & topology.allowed
        nodes = CpuSet(node.os_index for node in topology.nodes) & topology.allowed_nodes
        yield (
            f"Inside your allocation: {len(usable)} of {count(len(topology.pus), 'PU')}: {listed(usable) or 'none'};"
            f" NUMA nodes {listed(nodes) or 'none'}."
        )
    affinity = machine.limits.affinity if machine.limits else None
    if affinity is not None and not topology.pus & topology.allowed <= affinity:
        bound = affinity & topology.pus
        yield f"Bound: this process may run only on CPU{'s' if len(bound) > 1 else ''} {listed(bound) or 'none'} (its affinity)."
    if topology.missing:
        yield f"Offline or hidden: {count(len(topology.missing), 'PU')}: {listed(topology.missing)}"
    if topology.missing_nodes:
        yield f"Hidden NUMA nodes: {listed(topology.missing_nodes)}"


class _Region(NamedTuple):
    """Sockets that are drawn as one block."""

    sockets: tuple[int, ...]
    cpus: CpuSet


class _Seen(NamedTuple):
    """A topology and what is looked up in it again and again."""

    topology: Topology
    owned: Mapping[int, CpuSet]
    cores: Mapping[int, CpuSet]
    caches: Mapping[int, int]
    limited: bool

    def denied(self, node: NumaNode) -> bool:
        return self.limited and node.os_index not in self.topology.allowed_nodes


def blocks(topology: Topology, caches: Mapping[int, int]) -> tuple[tuple[Block, ...], tuple[Store, ...]]:
    """Return the blocks and the memory that is in none; caches are bytes in front of a node's memory, by its number."""
    cores = {cpu: core.cpuset for core in topology.cores for cpu in core.cpuset}
    claimed, owned = CpuSet(), {}  # no CPU twice: where nodes overlap, the smaller one and plain DRAM draw it
    for node in sorted(topology.nodes, key=lambda n: (len(n.cpuset), n.kind not in (None, "dram"), n.os_index)):
        owned[node.os_index] = node.cpuset - claimed
        claimed |= node.cpuset
    seen = _Seen(topology, owned, cores, caches, topology.limited)
    return _with_stores(seen, tuple(_block(seen, region) for region in _regions(seen)))


def everything(topology: Topology) -> CpuSet:
    """Return every CPU that any part of the topology names."""
    parts = (topology.packages, topology.nodes, topology.l3, topology.cores)
    return topology.pus | union(part.cpuset for some in parts for part in some)


def _regions(seen: _Seen) -> list[_Region]:
    packages = seen.topology.packages
    regions, rest = [], everything(seen.topology)
    for position, package in enumerate(packages):
        regions.append(_Region((position,), package.cpuset & rest))
        rest -= package.cpuset
    regions.append(_Region((), rest))
    for cpus in seen.owned.values():
        touched = [region for region in regions if region.cpus & cpus]
        if len(touched) > 1:
            sockets = tuple(sorted(socket for region in touched for socket in region.sockets))
            one = _Region(sockets, union(region.cpus for region in touched))
            regions = [*(region for region in regions if region not in touched), one]
    return sorted((region for region in regions if region.cpus), key=lambda region: region.sockets or (len(packages),))


def _block(seen: _Seen, region: _Region) -> Block:
    topology, boxes, rest = seen.topology, [], region.cpus
    for node in topology.nodes:
        cpus, number = seen.owned[node.os_index] & region.cpus, node.os_index
        if cpus:
            cache, groups = seen.caches.get(number), _groups(seen, cpus)
            boxes.append(Box((number,), (node.memory,), node.kind, cache, groups, denied=seen.denied(node)))
            rest -= cpus
    if rest:
        boxes.append(Box((), (), None, None, _groups(seen, rest)))
    ids = tuple(topology.packages[position].os_index for position in region.sockets)
    dies = sum(1 for die in topology.dies if die.cpuset & region.cpus)
    return Block(region.sockets, ids, dies, tuple(boxes))


def _groups(seen: _Seen, cpus: CpuSet) -> tuple[Group, ...]:
    """Return the groups of cores, those joined whose size and members are alike."""
    found, rest = [], cpus
    for cache in seen.topology.l3:
        part = cache.cpuset & rest
        if part:
            nodes = tuple(sorted(number for number, own in seen.owned.items() if own & cache.cpuset))
            found.append(Group(True, cache.size, (_member(seen, part),), nodes if len(nodes) > 1 else ()))  # noqa: FBT003 - a cache
            rest -= part
    for part in (*(package.cpuset for package in seen.topology.packages), rest):
        if part & rest:
            found.append(Group(cache=False, size=None, members=(_member(seen, part & rest),)))
            rest -= part
    kinds: dict[object, list[Group]] = {}
    for group in sorted(found, key=lambda group: group.members[0].cpus.first or 0):
        kinds.setdefault((group.cache, group.size, group.reaches, group.members[0].kind), []).append(group)
    return tuple(replace(same[0], members=tuple(group.members[0] for group in same)) for same in kinds.values())


def _member(seen: _Seen, cpus: CpuSet) -> Member:
    known = {id(core): core for core in (seen.cores.get(cpu) for cpu in cpus) if core}  # each once: a hostile one is large
    cores = {part.bits: part for part in (core & cpus for core in known.values())}
    denied = cpus - seen.topology.allowed if seen.limited else CpuSet()
    return Member(cpus, tuple(cores.values()), denied)


def _with_stores(seen: _Seen, drawn: tuple[Block, ...]) -> tuple[tuple[Block, ...], tuple[Store, ...]]:
    """Put memory-only nodes where they are near, in a box or else a block; those near no one block come back apart."""
    homes = {id(box): box.cpus for block in drawn for box in block.boxes} | {id(block): block.cpus for block in drawn}
    found: dict[int | None, list[NumaNode]] = {}
    for node in seen.topology.nodes:
        if not seen.owned[node.os_index]:
            home = next((key for key, cpus in homes.items() if node.near and node.near <= cpus), None)
            found.setdefault(home, []).append(node)
    filled = []
    for block in drawn:
        boxes = tuple(replace(box, stores=_stores(seen, found.get(id(box), ()))) for box in block.boxes)
        filled.append(replace(block, boxes=boxes, stores=_stores(seen, found.get(id(block), ()))))
    return tuple(filled), _stores(seen, found.get(None, ()))


def _stores(seen: _Seen, nodes: Sequence[NumaNode]) -> tuple[Store, ...]:
    found = []
    for (kind, _, near, denied), group in groupby(
        nodes, key=lambda n: (n.kind, n.memory == 0, _near(seen.topology, n), seen.denied(n))
    ):
        same = list(group)
        found.append(Store(tuple(n.os_index for n in same), tuple(n.memory for n in same), kind, near, denied))
    return tuple(found)


def _near(topology: Topology, node: NumaNode) -> str:
    if not node.near:
        return "nearest CPUs unknown"
    numbers = CpuSet(other.os_index for other in topology.cpu_nodes if other.cpuset & node.near and other != node)
    if not numbers:
        return f"near CPUs {listed(node.near)}"
    return f"near {'node' if len(numbers) == 1 else 'nodes'} {listed(numbers)}"


def distance_table(topology: Topology) -> Table | None:
    """Return the distances, each and by kind of neighbour; None where the firmware gave none."""
    given = topology.distances
    if given is None or not given.nodes:
        return None
    values: dict[str, set[int]] = {}
    nodes = {node.os_index: node for node in topology.nodes}
    sockets = {number: topology.package_of(node.cpuset) for number, node in nodes.items()}
    for a, row in zip(given.nodes, given.rows, strict=False):
        for b, distance in zip(given.nodes, row, strict=False):
            values.setdefault(_kind(a, b, nodes, sockets), set()).add(distance)
    kinds = ("local", "same socket", "other socket", "other node", "memory-only node")
    return Table(given.nodes, given.rows, tuple(f"{_range(values[kind])} {kind}" for kind in kinds if kind in values))


def _kind(a: int, b: int, nodes: Mapping[int, NumaNode], sockets: Mapping[int, int | None]) -> str:
    if a == b:
        return "local"
    if any(number in nodes and not nodes[number].cpuset for number in (a, b)):
        return "memory-only node"
    one, other = sockets.get(a), sockets.get(b)
    if one is None or other is None:
        return "other node"
    return "same socket" if one == other else "other socket"


def _range(values: Iterable[int]) -> str:
    ordered = sorted(values)
    few = len(ordered) <= _NAMED
    return "/".join(map(str, ordered)) if few else f"{ordered[0]}-{ordered[-1]} ({len(ordered)} values)"
