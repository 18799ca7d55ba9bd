"""The distances that the firmware of each generation gives: the machine's own where it showed them, else the usual ones."""

from collections.abc import Sequence
from typing import NamedTuple

from advisor.change.cells import Cell
from advisor.change.seats import Seats
from advisor.change.target import Target
from advisor.model.hardware.cpu import Scheme
from advisor.model.hardware.topology import Distances, Topology

LOCAL, VIRTUAL = 10, 11
"""Of a node to itself, and on EPYC to another L3 group of the same NPS node (AMI's "ACPI SLIT virtual distance")."""


class Usual(NamedTuple):
    """Distances inside a socket and to another one."""

    inside: int
    outside: int
    seen: str


_AMD = Usual(12, 32, "AMI's defaults on EPYC 7002")
_NAPLES = Usual(16, 32, "what two-socket EPYC 7001 show")
_COD = Usual(21, 31, "what an E5-2683 v3 with cluster on die shows")
_PLAIN = Usual(21, 21, "what Xeons without clusters show")
_SNC_OLD = Usual(11, 21, "what Skylake and Cascade Lake show")
_SNC_NEW = Usual(12, 21, "what a Xeon Platinum 8480+ shows")
_OLD_SNC_MODEL = 85


def usual(target: Target, model: int | None) -> Usual:
    """Return the distances that firmware usually gives for a cut."""
    if target.scheme is Scheme.NPS:
        return _AMD
    if target.scheme is Scheme.DIES:
        return _NAPLES
    if target.nodes == 1:
        return _PLAIN
    if target.scheme is Scheme.COD:
        return _COD
    return _SNC_OLD if model == _OLD_SNC_MODEL else _SNC_NEW


def distances(seats: Seats, cells: Sequence[Cell], target: Target, model: int | None) -> Distances | None:
    """Return the table of a new cut; of the nodes with CPUs; None where the machine hides its own."""
    topology = seats.topology
    if topology.distances is None and len(topology.nodes) > 1:
        return None
    told = usual(target, model)
    inside, outside = _shown(topology, target)
    near = inside if inside is not None and target.scheme is not Scheme.COD else told.inside
    keeps = outside is not None and target.scheme is not Scheme.COD
    far = outside if keeps and outside is not None else told.outside
    numbers = range(len(cells))
    rows = tuple(tuple(_between(cells[a], cells[b], near, far) for b in numbers) for a in numbers)
    if len(cells) == 1 and topology.distances is None:
        return None
    return Distances(nodes=tuple(numbers), rows=rows)


def has_virtual(topology: Topology) -> bool:
    """Return whether the table tells L3 groups of one NPS node from other nodes."""
    return topology.distances is not None and any(VIRTUAL in row for row in topology.distances.rows)


def _between(a: Cell, b: Cell, near: int, far: int) -> int:
    if a is b:
        return LOCAL
    if a.socket != b.socket:
        return far
    return VIRTUAL if a.domain == b.domain else near


def _shown(topology: Topology, target: Target) -> tuple[int | None, int | None]:
    """Return the present distances inside a socket and to another, each where it is one number and no virtual one."""
    table = topology.distances
    ignored = VIRTUAL if target.scheme is Scheme.NPS else None
    home = {node.os_index: topology.package_of(node.cpuset) for node in topology.cpu_nodes}
    inside: set[int] = set()
    outside: set[int] = set()
    for a, row in zip(table.nodes, table.rows, strict=True) if table else ():
        for b, value in zip(table.nodes, row, strict=True) if table else ():
            if a != b and value != ignored and home.get(a) is not None and home.get(b) is not None:
                (inside if home[a] == home[b] else outside).add(value)
    return _one(inside), _one(outside)


def _one(values: set[int]) -> int | None:
    return values.pop() if len(values) == 1 else None
