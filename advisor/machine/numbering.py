"""In what order the kernel's CPU numbers go over the machine, whether ACPI's tables agree, and hwloc's logical numbers.

hwloc numbers cores in the order of its tree: the children of an object stand in the order of their first CPU. On a
machine whose numbers are round-robin across the sockets, logical core 1 is CPU 2. Launchers read the part of the machine
that the cgroup allows, so logical numbers are counted in ``Topology.inside``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import Numbering
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology


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
        why = f"consecutive cores go to packages {_few(packages)}: in no plain order to the end"
        return Numbering(name="other", siblings=siblings, why=(why,))
    return Numbering(name="linear", siblings=siblings, why=_linear_reasons(len(set(packages)), nodes))


def _linear_reasons(packages: int, nodes: Sequence[int]) -> tuple[str, ...]:
    first = "numbers fill one package before the next" if packages > 1 else "there is one package"
    if len(set(nodes)) > 1 and not _fills(nodes):
        return (first, "inside a package the numbers go back and forth between its NUMA nodes")
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
    return (f"the firmware's SRAT has {told} nodes with CPUs, the kernel shows {shown}",)


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
        return ("the firmware's MADT lists the processors in the same order",)
    return ("the firmware's MADT lists the processors in another order than the kernel numbers them",)


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
            raise BadValue(f"CPU {cpu} is not among those that this machine allows")
        return table[cpu]


def _refuse_beyond(numbers: CpuSet, count: int, kind: str) -> None:
    if numbers and (numbers.last or 0) >= count:
        raise BadValue(f"logical {kind} {numbers.last} does not exist", cure=f"the last one is {count - 1}")


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
        rows = [[_mean(rows, a, b) for b in groups] for a in groups]
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


def _mean(rows: list[list[float]], a: list[int], b: list[int]) -> float:
    return sum(rows[i][j] for i in a for j in b) / (len(a) * len(b))


def ordered(parts: Iterable[CpuSet], known: LogicalNumbering) -> tuple[CpuSet, ...]:
    """Return parts of a machine in hwloc's order, which is that of their first logical core; empty ones are left out."""
    return tuple(sorted((part for part in parts if part), key=lambda part: min(known.core_of[cpu] for cpu in part)))
