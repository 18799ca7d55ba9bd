"""hwloc's order of the cores, as far as it takes to see that numbers were taken for what they are not."""

from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology


class Logical:
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
