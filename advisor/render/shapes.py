"""What a picture is made of. Several numbers in one shape stand for things that are alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from advisor.model.cpuset import CpuSet, union

State = Literal["up", "down", "unknown", "none"]


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

    def boxes(self) -> Iterator[Box]:
        """Yield every box of every block."""
        return (box for block in self.blocks for box in block.boxes)

    @property
    def cpus(self) -> CpuSet:
        """Every CPU drawn."""
        return union(block.cpus for block in self.blocks)
