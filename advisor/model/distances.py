"""Whether the firmware's distance table describes the machine it came with."""

from advisor.model.generation import Scheme
from advisor.model.layout import DistanceTable
from advisor.model.topology import Distances, Topology


def judge_distances(topology: Topology, scheme: Scheme) -> DistanceTable:
    """Return whether the distances tell the whole layout, part of it, nothing, or what cannot be."""
    table = topology.distances
    if table is None or len(table.nodes) < 2:
        why = "one NUMA node needs none" if len(topology.nodes) < 2 else "the kernel shows no distances"
        return DistanceTable(name="absent", why=(why,))
    fault = _fault(topology, table)
    if fault:
        return DistanceTable(name="contradicting", why=(fault,))
    inside, outside = _split(topology, table)
    if scheme is Scheme.DIES and inside and len(outside) == 1:
        why = "all nodes of the other socket are equally far; EPYC 7001 links dies in pairs, and the full table shows it"
        return DistanceTable(name="simplified", why=(why,))
    if inside and inside == outside:
        return DistanceTable(name="simplified", why=("nodes of the same socket and of another are equally far in it",))
    return DistanceTable(name="full", why=(_summary(inside, outside),))


def _fault(topology: Topology, table: Distances) -> str | None:
    for i, a in enumerate(table.nodes):
        for j, b in enumerate(table.nodes):
            here, there = table.rows[i][j], table.rows[j][i]
            if i != j and here < table.rows[i][i]:
                return f"node {b} is nearer to node {a} ({here}) than node {a} itself ({table.rows[i][i]})"
            if here != there:
                return f"from node {a} to {b} it is {here}, back it is {there}"
    inside, outside = _split(topology, table)
    if inside and outside and max(inside) > min(outside):
        return f"some nodes of one socket are {max(inside)} apart, some of different sockets {min(outside)}"
    return None


def _split(topology: Topology, table: Distances) -> tuple[set[int], set[int]]:
    """Return the distances between different nodes of one socket, and those between sockets."""
    socket = {node.os_index: topology.package_of(node.cpuset) for node in topology.cpu_nodes}
    inside: set[int] = set()
    outside: set[int] = set()
    for i, a in enumerate(table.nodes):
        for j, b in enumerate(table.nodes):
            if i != j and socket.get(a) is not None and socket.get(b) is not None:
                (inside if socket[a] == socket[b] else outside).add(table.rows[i][j])
    return inside, outside


def _summary(inside: set[int], outside: set[int]) -> str:
    parts = [
        f"{words} {' '.join(map(str, sorted(values)))}"
        for words, values in (("same socket", inside), ("other socket", outside))
        if values
    ]
    return ", ".join(parts) or "nodes that share no socket with CPUs"
