"""The L3 groups after a change: cluster on die cuts the L3 with the socket, nothing else does."""

from collections.abc import Iterable, Sequence

from advisor.change.cells import Cell
from advisor.change.nodes import Numbers, cpus_of
from advisor.change.seats import Seats
from advisor.model.hardware.topology import L3


def caches(seats: Seats, cells: Sequence[Cell], numbers: Numbers) -> tuple[L3, ...]:
    """Return the L3 of each cluster: its share of the L3 groups that reach into it."""
    present = [(seats.cores_in(l3.cpuset), l3.size) for l3 in seats.topology.l3]
    found = []
    for cell in cells:
        own = [(cell.cores & cores, size and size * len(cell.cores & cores) // len(cores)) for cores, size in present]
        parts = [(cores, size) for cores, size in own if cores]
        cpus = cpus_of(frozenset[int]().union(*(cores for cores, _ in parts)), numbers)
        if parts:
            found.append(L3(cpuset=cpus, size=_sum(size for _, size in parts)))
    return tuple(found)


def _sum(sizes: Iterable[int | None]) -> int | None:
    known = tuple(sizes)
    return None if None in known else sum(size for size in known if size)
