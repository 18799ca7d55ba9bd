"""The firmware's distances, as a table and by kind of neighbour."""

from collections.abc import Iterator

from advisor.model.hardware.topology import Distances, NumaNode, Topology
from advisor.render.shapes import Table

NAMED = 4
"""So many different distances of one kind are named each."""


def table(topology: Topology) -> Table | None:
    """Return the distances, or None where the firmware gave none."""
    given = topology.distances
    if given is None or not given.nodes:
        return None
    return Table(given.nodes, given.rows, tuple(_classes(topology, given)))


def _classes(topology: Topology, given: Distances) -> Iterator[str]:
    values: dict[str, set[int]] = {}
    nodes = {node.os_index: node for node in topology.nodes}
    sockets = {number: _socket(topology, node) for number, node in nodes.items()}
    for a, row in zip(given.nodes, given.rows, strict=False):
        for b, distance in zip(given.nodes, row, strict=False):
            values.setdefault(_kind(a, b, nodes, sockets), set()).add(distance)
    for kind in ("local", "same socket", "other socket", "other node", "memory-only node"):
        if kind in values:
            yield f"{_range(values[kind])} {kind}"


def _socket(topology: Topology, node: NumaNode) -> int | None:
    return topology.package_of(node.cpuset)


def _kind(a: int, b: int, nodes: dict[int, NumaNode], sockets: dict[int, int | None]) -> str:
    if a == b:
        return "local"
    if any(number in nodes and not nodes[number].cpuset for number in (a, b)):
        return "memory-only node"
    one, other = sockets.get(a), sockets.get(b)
    if one is None or other is None:
        return "other node"
    return "same socket" if one == other else "other socket"


def _range(values: set[int]) -> str:
    ordered = sorted(values)
    if len(ordered) <= NAMED:
        return "/".join(map(str, ordered))
    return f"{ordered[0]}-{ordered[-1]} ({len(ordered)} values)"
