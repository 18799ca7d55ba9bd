"""Compares topologies: what the hardware is, how the firmware cuts and numbers it; and CPU numbers with hwloc's logical ones."""

from collections.abc import Iterator

from advisor.advice.model.findings import Change
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import Layout
from advisor.machine.numbering import logical_numbering
from advisor.machine.topology import Topology
from advisor.machine.units import binary


class LogicalNumbering:
    """The cores of a machine in hwloc's order."""

    def __init__(self, topology: Topology) -> None:
        numbers = logical_numbering(topology)
        self._cores, self._core = numbers.cores, numbers.core_of
        self._pus, self._pu = numbers.pus, numbers.pu_of

    def cores(self, cpus: CpuSet) -> CpuSet | None:
        """Return the cores that some CPUs are on, by number; None where one of them is not of this machine."""
        known = [self._core.get(cpu) for cpu in cpus]
        return None if None in known else CpuSet(number for number in known if number is not None)

    def as_logical(self, cpus: CpuSet) -> tuple[CpuSet, ...]:
        """Return where a rank ends up whose CPU numbers are taken for logical ones: of threads, or of cores."""
        found = []
        if (cpus.last or 0) < len(self._pus):
            found.append(CpuSet(self._pus[cpu] for cpu in cpus))
        if (cpus.last or 0) < len(self._cores):
            found.append(union(self._cores[cpu] for cpu in cpus))
        return tuple(found)

    def as_physical(self, cpus: CpuSet) -> tuple[CpuSet, ...]:
        """Return where a rank ends up whose logical numbers are taken for the kernel's: of threads, or of cores."""
        if not all(cpu in self._pu for cpu in cpus):
            return ()
        return CpuSet(self._pu[cpu] for cpu in cpus), CpuSet(self._core[cpu] for cpu in cpus)

    def step(self, planned: CpuSet, seen: CpuSet) -> int | None:
        """Return how many cores further in this order a set lies than another; None where it is no such move."""
        a, b = self.cores(planned), self.cores(seen)
        if not a or not b or len(planned) != len(seen) or a.first is None or b.first is None:
            return None
        return b.first - a.first if a.bits >> a.first == b.bits >> b.first else None


def topology_changes(a: Topology | None, b: Topology | None, first: Layout, second: Layout) -> tuple[Change, ...]:
    """Return what differs; hardware first, then the NUMA partitioning, the numbering and the distances."""
    if a is None or b is None:
        return ()
    pairs = zip(_described(a, first), _described(b, second), strict=True)
    return tuple(
        Change(name=name, title=title, before=mine, after=other) for (name, title, mine), (_, _, other) in pairs if mine != other
    )


def _described(topology: Topology, layout: Layout) -> Iterator[tuple[str, str, str]]:
    sizes = sorted({l3.size for l3 in topology.l3 if l3.size})
    widths = sorted({sum(1 for core in topology.cores if core.cpuset <= l3.cpuset) for l3 in topology.l3})
    memory = [node.memory for node in topology.nodes]
    yield "packages", "sockets", str(len(topology.packages))
    yield "cores", "cores", str(len(topology.cores))
    yield "cpus", "CPUs online", str(len(topology.pus))
    yield "missing", "CPUs offline or hidden", str(topology.missing) or "none"
    yield "l3", "L3 groups", f"{len(topology.l3)} of {'/'.join(map(str, widths)) or '?'} cores"
    yield "l3_size", "size of an L3", ", ".join(binary(size) for size in sizes) or "?"
    yield "memory", "memory", "?" if None in memory else binary(_rounded(sum(m for m in memory if m)))
    yield "nodes", "NUMA nodes", str(len(topology.nodes))
    yield "node_memory", "memory of a node", _spread(memory)
    yield "cut", "NUMA partitioning", layout.cut.name
    yield (
        "numbering",
        "CPU numbering",
        f"{layout.numbering.name}{f' over {layout.numbering.over}' if layout.numbering.over else ''}",
    )
    yield "siblings", "second threads", layout.numbering.siblings
    yield "distances", "distances", f"{layout.distances.name}: {layout.distances.why[0] if layout.distances.why else ''}"
    yield "allowed", "CPUs this process may use", str(topology.allowed & topology.pus)


def _spread(memory: list[int | None]) -> str:
    known = [_rounded(m) for m in memory if m is not None]
    if not known:
        return "?"
    low, high = binary(min(known)), binary(max(known))
    return low if low == high else f"{low} to {high}"


_ROUND = 1 << 30
"""What a kernel keeps for itself differs from boot to boot; memory is compared in whole GiB."""


def _rounded(size: int) -> int:
    return round(size / _ROUND) * _ROUND or size


def renumbered(a: Topology | None, b: Topology | None) -> int | None:
    """Return how many CPU numbers mean another core than before; None where the two have not the same cores."""
    if a is None or b is None or len(a.packages) != len(b.packages) or len(a.cores) != len(b.cores):
        return None
    before, after = _homes(a), _homes(b)
    if not before or set(before) != set(after):
        return None
    return sum(before[cpu] != after[cpu] for cpu in before)


def _homes(topology: Topology) -> dict[int, tuple[int | None, int | None, int]]:
    """Return for each CPU its package, the kernel's number of its core there, and its place among the core's threads."""
    homes = {}
    for core in topology.cores:
        package = topology.package_of(core.cpuset)
        for place, cpu in enumerate(core.cpuset):
            homes[cpu] = (package, core.os_index, place)
    return homes
