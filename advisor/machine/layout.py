"""What the BIOS did to the machine, or would do: NUMA partitioning, CPU numbering, SMT, distances, each with its reasons.

hwloc numbers cores in the order of its tree: the children of an object stand in the order of their first CPU. On a
machine whose numbers are round-robin across the sockets, logical core 1 is CPU 2. Launchers read the part of the machine
that the cgroup allows, so logical numbers are counted in ``Topology.inside``.

The part of a machine that may be used is written as the XML that hwloc 2 reads (HWLOC_XMLFILE): what launchers are given in place
of the machine they run on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from itertools import count, pairwise
from typing import Any, Literal

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import Distances, NumaNode, Topology
from advisor.machine.value import Value

Confidence = Literal["high", "medium", "low"]


class Cut(Value):
    """How the firmware divides a socket into NUMA nodes, in the word its vendor uses."""

    name: str
    """channel-interleaving, NPS4, L3-as-NUMA, COD, SNC2, ..., none, unknown"""
    nodes_per_socket: int | None = None
    """NUMA nodes with CPUs in each socket; None if sockets differ or unknown"""
    confidence: Confidence
    beneath: int | None = None
    """underlying NPS setting with L3-as-NUMA, if the distances show it"""
    why: tuple[str, ...]
    """the reasons, most important first"""


class Numbering(Value):
    """The order in which the kernel numbers the machine's CPUs."""

    name: Literal["linear", "round-robin", "other", "unknown"]
    over: Literal["packages", "nodes"] | None = None
    """what a round-robin numbering alternates over"""
    siblings: Literal["adjacent", "offset", "other", "none", "unknown"]
    """how a core's second thread is numbered"""
    why: tuple[str, ...]


class Smt(Value):
    """Whether cores have more than one hardware thread online."""

    state: Literal["on", "off", "unknown"]
    threads: int | None = None
    """largest number of hardware threads per core"""
    why: tuple[str, ...]


class DistanceTable(Value):
    """Whether the firmware's distances describe the machine."""

    name: Literal["full", "simplified", "absent", "contradictory"]
    why: tuple[str, ...]


class Layout(Value):
    """All that was inferred about the firmware's choices."""

    cut: Cut
    numbering: Numbering
    smt: Smt
    distances: DistanceTable


Enumeration = Literal["linear", "round-robin"]
Interleave = Literal["channel", "die", "socket"]


class Assumption(Value):
    """Firmware settings taken as given; None leaves a setting as it is."""

    nps: Literal[0, 1, 2, 4] | None = None
    """NUMA nodes per socket of EPYC 7002 and later"""
    l3_as_node: bool | None = None
    """whether each L3 group is a NUMA node (EPYC 7002 and later)"""
    interleave: Interleave | None = None
    """memory interleaving of EPYC 7001"""
    snc: Literal[1, 2, 3, 4, 6] | None = None
    """sub-NUMA clusters of a socket; 1 is off"""
    cod: bool | None = None
    """whether cluster on die is on (Haswell, Broadwell)"""
    smt: bool | None = None
    """whether cores show their second thread"""
    enumeration: Enumeration | None = None
    """the order in which the firmware lists the cores"""

    @property
    def text(self) -> str:
        """The assumption as ``parse`` reads it: ``nps=4,smt=off``."""
        told = ((name, getattr(self, name)) for name in type(self).model_fields)
        return ",".join(f"{name.replace('_', '-')}={_word(name, value)}" for name, value in told if value is not None)


def parse_assumption(texts: Iterable[str]) -> Assumption:
    """Return what texts such as ``nps=4,smt=off`` ask for.

    >>> parse_assumption(["nps=4,smt=off", "enumeration=linear"]).text
    'nps=4,smt=off,enumeration=linear'
    """
    wanted: dict[str, Any] = {}
    for word in (part.strip() for text in texts for part in text.split(",")):
        if not word:
            continue
        name, equals, value = (part.strip() for part in word.lower().partition("="))
        key = _key(name, value)
        if not equals or not value:
            raise BadValue(f"{word[:40]!r} sets nothing", cure=f"write {name[:40]}={'|'.join(_VALUES[key])}")
        if value not in _VALUES[key]:
            raise BadValue(f"{name} cannot be {value[:40]!r}", cure=f"use one of {', '.join(_VALUES[key])}")
        meaning = _VALUES[key][value]
        if wanted.setdefault(key, meaning) != meaning:
            raise BadValue(f"{name} is given two values", cure="give each setting once")
    return Assumption(**wanted)


_SWITCH: dict[str, Any] = {"on": True, "off": False}
_VALUES: dict[str, dict[str, Any]] = {
    "nps": {"1": 1, "2": 2, "4": 4, "0": 0},
    "l3_as_node": _SWITCH,
    "interleave": {"channel": "channel", "die": "die", "socket": "socket"},
    "snc": {"off": 1, "2": 2, "3": 3, "4": 4, "6": 6},
    "cod": _SWITCH,
    "smt": _SWITCH,
    "enumeration": {"linear": "linear", "round-robin": "round-robin"},
}
"""What may be written for each setting, and what it means."""


def _key(name: str, value: str) -> str:
    key = name.replace("-", "_")
    if key in _VALUES:
        return key
    near = get_close_matches(key, _VALUES, n=1, cutoff=0.5)
    shown = ", ".join(key.replace("_", "-") for key in _VALUES)
    meant = value if near and value in _VALUES[near[0]] else next(iter(_VALUES[near[0]])) if near else ""
    cure = f"did you mean {near[0].replace('_', '-')}={meant}?" if near else f"available: {shown}"
    raise BadValue(f"cannot predict a change of {name[:40]!r}", cure=cure)


def _word(name: str, value: object) -> str:
    return next(word for word, meaning in _VALUES[name].items() if meaning == value and type(meaning) is type(value))


def judge_distances(topology: Topology, scheme: Scheme) -> DistanceTable:
    """Return whether the distances tell the whole layout, part of it, nothing, or what cannot be."""
    table = topology.distances
    if table is None or len(table.nodes) < 2:
        why = "not needed for one NUMA node" if len(topology.nodes) < 2 else "the kernel reports no NUMA distances"
        return DistanceTable(name="absent", why=(why,))
    fault = _fault(topology, table)
    if fault:
        return DistanceTable(name="contradictory", why=(fault,))
    inside, outside = _split(topology, table)
    if scheme is Scheme.DIES and inside and len(outside) == 1:
        why = (
            "all nodes of the other socket are at the same distance; EPYC 7001 links dies in pairs, which a full table would show"
        )
        return DistanceTable(name="simplified", why=(why,))
    if inside and inside == outside:
        return DistanceTable(name="simplified", why=("nodes of the same socket and nodes of other sockets are equally far away",))
    parts = [
        f"{words} {' '.join(map(str, sorted(values)))}"
        for words, values in (("same socket", inside), ("other socket", outside))
        if values
    ]
    summary = ", ".join(parts) or "fewer than two nodes belong to a known socket"
    return DistanceTable(name="full", why=(summary,))


def _fault(topology: Topology, table: Distances) -> str | None:
    for i, a in enumerate(table.nodes):
        for j, b in enumerate(table.nodes):
            here, there = table.rows[i][j], table.rows[j][i]
            if i != j and here < table.rows[i][i]:
                return f"node {b} is nearer to node {a} ({here}) than node {a} is to itself ({table.rows[i][i]})"
            if here != there:
                return f"the distance from node {a} to {b} is {here}, but from {b} to {a} it is {there}"
    inside, outside = _split(topology, table)
    if inside and outside and max(inside) > min(outside):
        return (
            f"some nodes of one socket are {max(inside)} apart, but some nodes of different sockets are only {min(outside)} apart"
        )
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


def infer_numbering(topology: Topology) -> Numbering:
    """Return the order of the CPU numbers, judged on the first thread of every core."""
    siblings = _siblings(topology)
    firsts = sorted(core.cpuset.first for core in topology.cores if core.cpuset.first is not None) or list(topology.pus)
    packages = _owners(firsts, [package.cpuset for package in topology.packages])
    nodes = _owners(firsts, [node.cpuset for node in topology.cpu_nodes])
    if not topology.packages or -1 in packages:
        return Numbering(name="unknown", siblings=siblings, why=("some CPUs belong to no package",))
    if len(set(packages)) > 1 and _deals(packages):
        why = f"consecutive cores go to packages {_few(packages)}"
        return Numbering(name="round-robin", over="packages", siblings=siblings, why=(why,))
    if len(set(nodes)) > 1 and -1 not in nodes and _deals(nodes):
        return Numbering(
            name="round-robin", over="nodes", siblings=siblings, why=(f"consecutive cores go to nodes {_few(nodes)}",)
        )
    if not _fills(packages):
        why = f"consecutive cores go to packages {_few(packages)}, in no simple order"
        return Numbering(name="other", siblings=siblings, why=(why,))
    return Numbering(name="linear", siblings=siblings, why=_linear_reasons(len(set(packages)), nodes))


def _linear_reasons(packages: int, nodes: Sequence[int]) -> tuple[str, ...]:
    first = "CPU numbers fill one package after another" if packages > 1 else "there is only one package"
    if len(set(nodes)) > 1 and not _fills(nodes):
        return (f"{first}, but inside a package the numbers alternate between its NUMA nodes",)
    return (first,)


def _owners(cpus: Sequence[int], groups: Sequence[CpuSet]) -> list[int]:
    """Return for each CPU the position of its group, -1 where it has none."""
    owner: dict[int, int] = {}
    left = CpuSet(cpus)
    for position, group in enumerate(groups):
        owner.update(dict.fromkeys(group & left, position))
        left -= group
    return [owner.get(cpu, -1) for cpu in cpus]


def _fills(owners: Sequence[int]) -> bool:
    """Return whether every group's members stand together."""
    changes = sum(1 for a, b in pairwise(owners) if a != b)
    return changes == len(set(owners)) - 1


def _deals(owners: Sequence[int]) -> bool:
    """Return whether the groups take turns, smaller ones dropping out when they are full."""
    if len(owners) == len(set(owners)):
        return False
    left = Counter(owners)
    order, position = list(left), 0
    while position < len(owners):
        for owner in order:
            if owners[position] != owner:
                return False
            left[owner] -= 1
            position += 1
        order = [owner for owner in order if left[owner]]
    return True


def _siblings(topology: Topology) -> Literal["adjacent", "offset", "other", "none", "unknown"]:
    """Return how the second threads are numbered: beside the first, a constant away, or otherwise."""
    threaded = [tuple(core.cpuset) for core in topology.cores if len(core.cpuset) > 1]
    if not topology.cores:
        return "unknown"
    if not threaded:
        return "none"
    steps = {b - a for cpus in threaded for a, b in pairwise(cpus)}
    if steps == {1}:
        return "adjacent"
    return "offset" if len(steps) == 1 else "other"


def _few(owners: Sequence[int]) -> str:
    return " ".join(str(owner) for owner in owners[:8]) + (" ..." if len(owners) > 8 else "")


def srat_nodes(machine: Machine) -> int | None:
    """Return how many proximity domains with CPUs the SRAT names; None where it could not be read."""
    cpus = machine.acpi.srat_cpus if machine.acpi else None
    return len({cpu.domain for cpu in cpus if cpu.enabled}) if cpus else None


def srat_agreement(machine: Machine, topology: Topology) -> tuple[str, ...]:
    """Return what the SRAT adds to the count of nodes: that it agrees, or that it does not."""
    told, shown = srat_nodes(machine), len(topology.cpu_nodes)
    if told is None:
        return ()
    if told == shown:
        return (f"the firmware's SRAT has the same {told} nodes with CPUs",)
    return (f"the firmware's SRAT has {told} nodes with CPUs, but the kernel shows {shown}",)


def madt_order(machine: Machine, topology: Topology) -> tuple[str, ...]:
    """Return whether the kernel numbers the CPUs as the MADT lists them; () where that is not known."""
    acpi = machine.acpi
    if acpi is None or not acpi.madt or not acpi.srat_cpus:
        return ()
    domain = {cpu.apic_id: cpu.domain for cpu in acpi.srat_cpus if cpu.enabled}
    listed = [domain.get(entry.apic_id) for entry in acpi.madt if entry.enabled]
    owner = {cpu: node.os_index for node in topology.cpu_nodes for cpu in node.cpuset}
    numbered = [owner.get(cpu) for cpu in topology.pus]
    if len(listed) != len(numbered) or None in listed or None in numbered or len(set(listed)) < 2:
        return ()
    if _pattern(listed) == _pattern(numbered):
        return ("in the same order as the firmware's MADT",)
    return ("the order of the firmware's MADT differs from the kernel's numbering",)


def _pattern(owners: Iterable[int | None]) -> list[int]:
    """Return a sequence with its members named by their first appearance: nodes and domains need not share numbers."""
    names: dict[int | None, int] = {}
    return [names.setdefault(owner, len(names)) for owner in owners]


@dataclass(frozen=True)
class LogicalNumbering:
    """What hwloc calls the cores and hardware threads of a machine."""

    cores: tuple[CpuSet, ...]
    """The CPUs of each core, by its logical number."""
    pus: tuple[int, ...]
    """The kernel's number of each hardware thread, by its logical number."""
    core_of: dict[int, int] = field(repr=False)
    """The logical core of each CPU."""
    pu_of: dict[int, int] = field(repr=False)
    """The logical hardware thread of each CPU."""

    def whole(self, cpus: CpuSet) -> bool:
        """Whether some CPUs are cores with all their hardware threads."""
        return all(cpu in self.core_of and self.cores[self.core_of[cpu]] <= cpus for cpu in cpus)

    def core_numbers(self, cpus: CpuSet) -> CpuSet:
        """Return the logical numbers of the cores that some CPUs are on."""
        return CpuSet({self._known(self.core_of, cpu) for cpu in cpus})

    def pu_numbers(self, cpus: CpuSet) -> CpuSet:
        """Return the logical numbers of the hardware threads that some CPUs are."""
        return CpuSet(self._known(self.pu_of, cpu) for cpu in cpus)

    def cores_cpus(self, numbers: CpuSet) -> CpuSet:
        """Return the CPUs of the cores with some logical numbers."""
        _refuse_beyond(numbers, len(self.cores), "core")
        return union(self.cores[number] for number in numbers)

    def pus_cpus(self, numbers: CpuSet) -> CpuSet:
        """Return the CPUs with some logical numbers of hardware threads."""
        _refuse_beyond(numbers, len(self.pus), "hardware thread")
        return CpuSet(self.pus[number] for number in numbers)

    @staticmethod
    def _known(table: dict[int, int], cpu: int) -> int:
        if cpu not in table:
            raise BadValue(f"CPU {cpu} is not among the CPUs that this machine allows")
        return table[cpu]


def _refuse_beyond(numbers: CpuSet, count: int, kind: str) -> None:
    if numbers and (numbers.last or 0) >= count:
        raise BadValue(f"logical {kind} {numbers.last} does not exist", cure=f"the last {kind} is {count - 1}")


class _Same:
    """A topology as a key: that very one. To compare all that is in it would take as long as to number it."""

    __slots__ = ("topology",)

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.topology is self.topology

    def __hash__(self) -> int:
        return id(self.topology)


def logical_numbering(topology: Topology) -> LogicalNumbering:
    """Return hwloc's numbers of the part of a machine that may be used."""
    return _numbered(_Same(topology))


@lru_cache(maxsize=32)
def _numbered(of: _Same) -> LogicalNumbering:
    """Return the numbers of a machine, which a line that is read asks for a dozen times."""
    inside = of.topology.inside
    places = _places(inside)
    bare = [CpuSet([cpu]) for cpu in inside.pus - union(core.cpuset for core in inside.cores)]
    sets = [core.cpuset for core in inside.cores if core.cpuset] + bare
    cores = tuple(sorted(sets, key=lambda core: (*places.get(core.first or 0, ()), core.first or 0)))
    pus = tuple(cpu for core in cores for cpu in sorted(core, key=lambda cpu: (*places.get(cpu, ()), cpu)))
    return LogicalNumbering(
        cores=cores,
        pus=pus,
        core_of={cpu: number for number, core in enumerate(cores) for cpu in core},
        pu_of={cpu: number for number, cpu in enumerate(pus)},
    )


def _places(topology: Topology) -> dict[int, tuple[int, ...]]:
    """Return the first CPUs of everything that holds a CPU, the largest thing first: the path to it in hwloc's tree."""
    parts = [part.cpuset for group in (topology.packages, topology.dies, topology.l3, topology.shared_l2) for part in group]
    parts += [node.near for node in topology.nodes]
    parts += distance_groups(topology)
    places: dict[int, list[int]] = {cpu: [] for cpu in topology.pus}
    for part in sorted({part for part in parts if part}, key=len, reverse=True):
        for cpu in part:
            if cpu in places:
                places[cpu].append(part.first or 0)
    return {cpu: tuple(place) for cpu, place in places.items()}


def distance_groups(topology: Topology) -> list[CpuSet]:
    """Return the CPUs of the groups that hwloc makes of NUMA nodes which are closest to each other, and of such groups again."""
    table = topology.distances
    near = {node.os_index: node.near for node in topology.nodes}
    if table is None or not all(number in near for number in table.nodes) or not _plausible(table.rows):
        return []
    sets, rows = [near[number] for number in table.nodes], [[float(value) for value in row] for row in table.rows]
    found: list[CpuSet] = []
    while len(sets) > 2:
        groups = _closest(rows)
        if not groups:
            break
        sets = [union(sets[i] for i in group) for group in groups]
        rows = [[(sum(rows[i][j] for i in a for j in b) / (len(a) * len(b))) for b in groups] for a in groups]
        found += sets
    return found


def _plausible(rows: Sequence[Sequence[int]]) -> bool:
    """Whether distances are the same both ways and each node is closest to itself: hwloc groups by no others."""
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
    return all(rows[i][j] == rows[j][i] and rows[i][j] > rows[i][i] for i, j in pairs)


def _closest(rows: list[list[float]]) -> list[list[int]]:
    """Return which are joined by the shortest distance there is, directly or through others; [] where that is all or none."""
    count = len(rows)
    least = min(rows[i][j] for i in range(count) for j in range(count) if i != j)
    groups: list[list[int]] = []
    seen: set[int] = set()
    for start in range(count):
        group = [start] if start not in seen else []
        for member in group:
            group += [k for k in range(count) if k not in seen and k not in group and rows[member][k] == least and k != member]
        seen.update(group)
        if len(group) > 1:
            groups.append(group)
    return [] if len(groups) == 1 and len(groups[0]) == count else groups


def ordered(parts: Iterable[CpuSet], known: LogicalNumbering) -> tuple[CpuSet, ...]:
    """Return parts of a machine in hwloc's order, which is that of their first logical core; empty ones are left out."""
    return tuple(sorted((part for part in parts if part), key=lambda part: min(known.core_of[cpu] for cpu in part)))


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
