"""A topology as the XML that hwloc 2 reads (HWLOC_XMLFILE): what launchers are given in place of the machine they run on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import distance_groups
from advisor.machine.topology import NumaNode, Topology

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'


@dataclass(eq=False)
class _Thing:
    """An object of hwloc's tree."""

    kind: str
    cpus: CpuSet
    number: int | None = None
    more: str = ""
    inside: list["_Thing"] = field(default_factory=list)
    memory: list[NumaNode] = field(default_factory=list)

    @property
    def nodes(self) -> set[int]:
        """The NUMA nodes that it and what is inside it hold."""
        return {node.os_index for node in self.memory}.union(*(each.nodes for each in self.inside))


def hwloc_xml(topology: Topology) -> str | None:
    """Return the part of a machine that may be used; None where it shows no cores, or parts that cross each other."""
    inside = topology.inside
    if not inside.cores or not inside.pus or any(not package.cpuset for package in inside.packages):
        return None
    root = _Thing("Machine", inside.pus, 0)
    if not all(_put(root, thing) for thing in sorted(_things(inside), key=lambda each: -len(each.cpus))):
        return None
    nodes = inside.nodes or (NumaNode(os_index=0, cpuset=inside.pus, near=inside.pus, memory=None),)
    if not all(_hold(root, node) for node in sorted(nodes, key=lambda node: -len(node.near))):
        return None
    return f"{_HEAD}{''.join(_written(root, set(), count(1)))}</topology>\n"


def _things(inside: Topology) -> Iterator[_Thing]:
    """Yield what hwloc shows, of those with the same CPUs the outer one first; where no cache is known none is shown."""
    yield from (_Thing("Group", cpus) for cpus in distance_groups(inside))
    yield from (_Thing("Package", each.cpuset, each.os_index) for each in inside.packages)
    yield from (_Thing("Die", each.cpuset, each.os_index) for each in inside.dies)
    yield from (_Thing("L3Cache", each.cpuset, None, _cache(3, each.size)) for each in inside.l3)
    yield from (_Thing("L2Cache", each.cpuset, None, _cache(2, None)) for each in inside.shared_l2)
    covered = union(each.cpuset for each in inside.shared_l2)
    for level in sorted(inside.own_caches, reverse=True):
        own = (each.cpuset for each in inside.cores if level == 1 or not each.cpuset & covered)
        yield from (_Thing(f"L{level}Cache", cpus, None, _cache(level, None)) for cpus in own)
    yield from (_Thing("Core", each.cpuset, each.os_index) for each in inside.cores)
    yield from (_Thing("PU", CpuSet([cpu]), cpu) for cpu in inside.pus)


def _cache(level: int, size: int | None) -> str:
    kind = int(level == 1)  # 0 unified, 1 data
    return f' cache_size="{size or 0}" depth="{level}" cache_linesize="64" cache_associativity="0" cache_type="{kind}"'


def _put(root: _Thing, thing: _Thing) -> bool:
    """Put an object into the smallest that holds it; return whether it crosses none."""
    outer = root
    while inner := next((each for each in outer.inside if thing.cpus <= each.cpus), None):
        outer = inner
    if any(each.cpus & thing.cpus for each in outer.inside):
        return False
    outer.inside.append(thing)
    return bool(thing.cpus)


def _hold(root: _Thing, node: NumaNode) -> bool:
    """Attach memory to the object with its CPUs, to a group where there is none; return whether it crosses none."""
    near, outer = node.near & root.cpus or root.cpus, root
    while inner := next((each for each in outer.inside if near <= each.cpus), None):
        outer = inner
        if outer.cpus == near:
            break
    if outer.cpus != near:
        group, crossed = _Thing("Group", near), [each for each in outer.inside if each.cpus & near]
        if not all(each.cpus <= near for each in crossed):
            return False
        group.inside, outer.inside = crossed, [each for each in outer.inside if each not in crossed] + [group]
        outer = group
    outer.memory.append(node)
    return True


def _written(thing: _Thing, above: set[int], numbers: Iterator[int]) -> Iterator[str]:
    """Yield an object's elements, those inside it in the order of their first CPU, as hwloc has them."""
    nodes = above | {node.os_index for node in thing.memory}
    sets = _sets(thing.cpus, CpuSet(nodes | thing.nodes), whole=thing.kind == "Machine")
    number = "" if thing.number is None else f' os_index="{thing.number}"'
    yield f'<object type="{thing.kind}"{number}{sets}{thing.more} gp_index="{next(numbers)}">\n'
    for node in sorted(thing.memory, key=lambda each: each.os_index):
        sets = _sets(thing.cpus, CpuSet([node.os_index]))
        memory = f'local_memory="{node.memory or 0}"'
        yield f'<object type="NUMANode" os_index="{node.os_index}"{sets} {memory} gp_index="{next(numbers)}"/>\n'
    for each in sorted(thing.inside, key=lambda each: each.cpus.first or 0):
        yield from _written(each, nodes, numbers)
    yield "</object>\n"


def _sets(cpus: CpuSet, nodes: CpuSet, *, whole: bool = False) -> str:
    made = ""
    for name, members in (("cpuset", cpus), ("nodeset", nodes)):
        mask = ",".join(f"0x{word}" for word in members.mask().split(","))
        made += f' {name}="{mask}" complete_{name}="{mask}"' + (f' allowed_{name}="{mask}"' if whole else "")
    return made
