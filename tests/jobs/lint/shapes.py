"""Small machines for launch lines, as hwloc XML that real launchers read too: the shapes of MPICH's own four test topologies.

Their facts are from pmodels/mpich, test/mpi/impls/hydra/config/topo*.xml; the descriptions are written anew. ``off`` is one
more: two sockets with SMT, of whose CPUs 0-3, 12 and 13 are off.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import machine_from_xml

Cores = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Shape:
    """Sockets, of each its level 2 caches, of each its cores, of each its CPUs."""

    sockets: tuple[tuple[Cores, ...], ...]
    shows_sockets: bool = True
    node_each: bool = False
    """Whether each socket has a NUMA node; otherwise the machine has one."""
    l3: bool = True


SHAPES = {
    "topo1": Shape(((((0, 1),), ((2, 3),), ((4, 5),), ((6, 7),)),), shows_sockets=False),
    "topo2": Shape(
        tuple(tuple(((first + i, first + i + 8),) for i in range(4)) for first in (0, 4)),
        node_each=True,
    ),
    "topo3": Shape(tuple((((2 * i,),), ((2 * i + 1,),)) for i in range(4)), l3=False),
    "off": Shape(tuple(tuple(((cpu, cpu + 1),) for cpu in range(first, first + 8, 2)) for first in (4, 14)), node_each=True),
    "topo4": Shape(tuple(tuple(((a + s,), (a + 2 + s,)) for a in (0, 4)) for s in (0, 1)), l3=False),
}


@cache
def machine(name: str) -> Machine:
    """Return a shape as advisor reads it."""
    return machine_from_xml(xml(name).encode(), name)


@cache
def xml(name: str) -> str:
    """Return a shape as hwloc XML."""
    shape = SHAPES[name]
    cpus = [cpu for socket in shape.sockets for cache in socket for core in cache for cpu in core]
    nodes = (1 << len(shape.sockets)) - 1 if shape.node_each else 1
    number = iter(range(1, 10_000))

    def thing(kind: str, of: list[int], node: int, *inside: str, **more: int) -> str:
        mask = f"0x{sum(1 << cpu for cpu in of):08x}"
        words = {**more, "cpuset": mask, "complete_cpuset": mask}
        words |= {"nodeset": f"0x{node:08x}", "complete_nodeset": f"0x{node:08x}", "gp_index": next(number)}
        if kind == "Machine":
            words |= {"allowed_cpuset": mask, "allowed_nodeset": f"0x{node:08x}"}
        attributes = " ".join(f'{key}="{value}"' for key, value in words.items())
        return f'<object type="{kind}" {attributes}>{"".join(inside)}</object>'

    def memory(of: list[int], node: int, index: int) -> str:
        return thing("NUMANode", of, node, os_index=index, local_memory=1 << 34)

    def sockets() -> Iterator[str]:
        for position, socket in enumerate(shape.sockets):
            node = 1 << position if shape.node_each else 1
            inner = []
            for shared in socket:
                cores = []
                for core in shared:
                    pus = [thing("PU", [cpu], node, os_index=cpu) for cpu in core]
                    l1 = thing("Core", list(core), node, *pus, os_index=core[0])
                    cores.append(thing("L1Cache", list(core), node, l1, depth=1, cache_type=1, cache_size=1 << 15))
                l2 = [cpu for core in shared for cpu in core]
                inner.append(thing("L2Cache", l2, node, *cores, depth=2, cache_type=0, cache_size=1 << 18))
            own = [cpu for shared in socket for core in shared for cpu in core]
            whole = "".join(inner)
            if shape.l3:
                whole = thing("L3Cache", own, node, whole, depth=3, cache_type=0, cache_size=1 << 23)
            local = memory(own, node, position) if shape.node_each else ""
            yield thing("Package", own, node, local, whole, os_index=position) if shape.shows_sockets else whole

    local = "" if shape.node_each else memory(cpus, 1, 0)
    root = thing("Machine", cpus, nodes, local, *sockets(), os_index=0)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return f'{head}<topology version="2.0">{root}</topology>\n'
