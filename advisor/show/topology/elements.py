"""What a picture of a machine is made of: blocks, boxes, groups of cores, devices; what is alike is drawn once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar

from advisor.machine.cpuset import CpuSet, union

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
