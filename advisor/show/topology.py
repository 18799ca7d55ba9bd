"""What a picture of a machine is made of: boxes, groups of cores, devices at their NUMA nodes; what is alike is drawn once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeVar

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import ETHERNET, INFINIBAND, NAMES, Gpu, Hca, Locality, Nic, PciDevice, Port
from advisor.machine.machine import Machine
from advisor.machine.units import binary, bit_rate, count, generation, link, link_state, plain, slower

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
    """The PCIe switch that it shares with others; empty where there is none, or it is not known."""


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
    return plain and _near(a.sizes, b.sizes) and list(map(_shape, a.groups)) == list(map(_shape, b.groups))


def _near(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> bool:
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
    return "its slot allows more" if slower(now, card.card) and not slower(path, card.card) and path else ""


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


_DEEP: Final = 4
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
