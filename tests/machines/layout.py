"""How cores are laid out over sockets, nodes and L3 groups, and how they are numbered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.machines.spec import Core


@dataclass(frozen=True)
class Place:
    """Where a core is, each counted inside the one before; ``index`` counts inside the socket."""

    socket: int
    node: int
    l3: int
    core: int
    index: int


Order = Callable[[Place], tuple[int, ...]]
"""What cores are sorted by before they are numbered."""


def linear(place: Place) -> tuple[int, ...]:
    """Go through one socket after the other."""
    return place.socket, place.index


def over_packages(place: Place) -> tuple[int, ...]:
    """Deal the numbers to the sockets in turn."""
    return place.index, place.socket


def over_nodes(place: Place) -> tuple[int, ...]:
    """Deal the numbers to the nodes in turn, and inside a node to its L3 groups."""
    return place.core, place.l3, place.socket, place.node


def as_dell_naples(place: Place) -> tuple[int, ...]:
    """Deal the numbers as a PowerEdge R7425 does: CPU = socket + 2 x die + 8 x (core in die)."""
    return place.core, place.l3, place.node, place.socket


@dataclass(frozen=True)
class Shape:
    """One socket: for each of its nodes the number of cores of each L3 group, and how often it is there."""

    nodes: tuple[tuple[int, ...], ...]
    sockets: int = 2
    one_l3: bool = False
    """Whether the nodes share one L3, as the clusters of a Xeon do."""
    core_ids: tuple[int, ...] = ()
    """The kernel's core_id of each core of a socket; counted up where not given."""

    @property
    def cores(self) -> int:
        """Cores of the machine."""
        return self.sockets * sum(map(sum, self.nodes))

    def places(self) -> Iterator[Place]:
        """Yield every core's place, socket after socket."""
        for socket in range(self.sockets):
            inside = ((n, x, c) for n, groups in enumerate(self.nodes) for x, size in enumerate(groups) for c in range(size))
            for index, (node, l3, core) in enumerate(inside):
                yield Place(socket, node, l3, core, index)

    def l3_in_socket(self, place: Place) -> int:
        """Return the number of a core's L3 group in its socket."""
        return 0 if self.one_l3 else sum(len(groups) for groups in self.nodes[: place.node]) + place.l3


def cores(shape: Shape, order: Order = linear, threads: int = 1, *, adjacent: bool = False) -> tuple[Core, ...]:
    """Return the cores of a shape with their CPU numbers; second threads come last, or beside the first."""
    numbers = {place: number for number, place in enumerate(sorted(shape.places(), key=order))}
    return tuple(
        Core(
            package=place.socket,
            node=place.socket * len(shape.nodes) + place.node,
            l3=shape.l3_in_socket(place),
            core_id=shape.core_ids[place.index] if shape.core_ids else place.index,
            pus=_threads(numbers[place], shape.cores, threads, adjacent=adjacent),
        )
        for place in shape.places()
    )


def _threads(number: int, total: int, threads: int, *, adjacent: bool) -> tuple[int, ...]:
    if adjacent:
        return tuple(number * threads + thread for thread in range(threads))
    return tuple(number + total * thread for thread in range(threads))


def distances(nodes: int, packages: int, inside: int, outside: int) -> tuple[tuple[int, ...], ...]:
    """Return the SLIT of nodes spread evenly over packages."""
    per = max(1, nodes // packages)
    return tuple(tuple(10 if a == b else inside if a // per == b // per else outside for b in range(nodes)) for a in range(nodes))
