"""What Open MPI 4 and 5 have in common: hosts with slots, parts of a machine, and ranks on them.

orte.py and prrte.py are arithmetic of what each version's mapper does; tests/launch/lint holds what the real ones did.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import LogicalNumbering, logical_numbering, ordered
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank

OBJECTS = ("hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package")
"""What can be mapped by and bound to, the smallest thing first."""
LEVELS = frozenset({*OBJECTS, "slot", "node", "ppr", "pe-list", "rankfile", "seq", "dist"})
MOST_RANKS = 65_536
MOST_HOSTS = 4096
MOST_STEPS = 10_000_000
"""Ranks times parts that are tried: more is left to words."""


class Refused(Exception):  # noqa: N818 - no error of ours: what the launcher would say
    """The launcher would start nothing; the text is why."""


class Unclear(Exception):  # noqa: N818 - no error either: what is left to words
    """What happens cannot be told exactly; the text is what can be said."""


def sets(kind: str, topology: Topology, known: LogicalNumbering) -> tuple[CpuSet, ...]:
    """Return the CPUs of everything of one kind, in hwloc's order."""
    inside = topology.inside
    if kind == "hwthread":
        return tuple(CpuSet([cpu]) for cpu in known.pus)
    if kind == "l2cache" and inside.shared_l2:
        return ordered((part.cpuset for part in inside.shared_l2), known)
    if kind in ("core", "l1cache", "l2cache"):  # a private cache is its core's on all machines that are seen here
        return known.cores
    if kind == "l3cache":
        return ordered((part.cpuset for part in inside.l3), known)
    if kind == "numa":
        return ordered((node.cpuset for node in inside.cpu_nodes), known)
    return ordered((part.cpuset for part in inside.packages), known)


@dataclass
class Proc:
    """A rank while it is placed."""

    home: CpuSet
    """What it was dealt to."""
    part: int = 0
    """The number of that among its kind on the host."""
    cpus: CpuSet | None = None
    rank: int | None = None


@dataclass
class Host:
    """A host while ranks are dealt to it."""

    name: str | None
    slots: int
    procs: list[Proc] = field(default_factory=list)

    @property
    def free(self) -> int:
        """Slots that no rank has yet."""
        return self.slots - len(self.procs)


class Ground:
    """A machine as a mapper counts it."""

    def __init__(self, topology: Topology, *, threads: bool) -> None:
        """Count in hardware threads or in cores."""
        self.topology = topology
        self.known = logical_numbering(topology)
        self.threads = threads
        self.all = CpuSet(self.known.pus)
        self._parts: dict[str, tuple[CpuSet, ...]] = {}

    def parts(self, kind: str) -> tuple[CpuSet, ...]:
        """Return everything of one kind; raise Unclear where launchers count what has no CPUs too."""
        if kind not in self._parts:
            inside = self.topology.inside
            if kind == "numa" and (len(inside.cpu_nodes) < len(inside.nodes) or not inside.nodes):
                raise Unclear("NUMA nodes without CPUs are counted too, and how is not worked out here")
            if kind in ("core", "l1cache", "l2cache") and not inside.cores:
                raise Unclear("this machine shows no cores")
            unknown = not inside.l3 and not inside.shared_l2
            if (kind == "l2cache" and unknown) or (kind == "l1cache" and (unknown or inside.shared_l2 or inside.dies)):
                raise Unclear(f"whether this machine shows an {kind[:2].upper()} cache is not known")
            group = inside.packages if kind == "package" else inside.l3 if kind == "l3cache" else ()
            if any(not part.cpuset for part in group):
                raise Unclear("parts that the process may not use are counted too, and how is not worked out here")
            if kind == "l2cache" and inside.shared_l2 and union(sets(kind, self.topology, self.known)) != self.all:
                raise Unclear("not every CPU of this machine has an L2 cache that is shown")
            self._parts[kind] = sets(kind, self.topology, self.known)
        return self._parts[kind]

    def hides(self, kind: str) -> bool:
        """Whether the machine has more of a kind than the process may use."""
        whole, inside = self.topology, self.topology.inside
        pairs = {
            "package": (whole.packages, inside.packages),
            "numa": ([node for node in whole.nodes if node.cpuset], inside.cpu_nodes),
            "l3cache": (whole.l3, inside.l3),
        }
        all_of_it, mine = pairs.get(kind, (whole.cores, inside.cores))
        return len(all_of_it) > len(mine)

    @property
    def units(self) -> tuple[CpuSet, ...]:
        """What a rank needs one of: a core, or a hardware thread."""
        return self.parts("hwthread") if self.threads else self.known.cores

    def count(self, cpus: CpuSet) -> int:
        """Return how many cores, or hardware threads, lie wholly inside some CPUs."""
        return len(cpus & self.all) if self.threads else len(self.cores_in(cpus))

    def cores_in(self, cpus: CpuSet) -> list[CpuSet]:
        """Return the cores that lie wholly inside some CPUs."""
        numbers = {self.known.core_of[cpu] for cpu in cpus if cpu in self.known.core_of}
        return [self.known.cores[number] for number in sorted(numbers) if self.known.cores[number] <= cpus]

    def units_in(self, cpus: CpuSet) -> list[CpuSet]:
        """Return what a rank needs one of, inside some CPUs, in order."""
        if not self.threads:
            return self.cores_in(cpus)
        mine = (cpu for cpu in cpus if cpu in self.known.pu_of)
        return [CpuSet([cpu]) for cpu in sorted(mine, key=self.known.pu_of.__getitem__)]


def hosts_with_slots(want: Wanted, cores: int) -> list[Host]:
    """Return the hosts of a line; ``cores`` is the slots of one of which nothing is said and that is no word of --host."""
    if len(want.hosts) > MOST_HOSTS:
        raise Unclear(f"{len(want.hosts)} hosts are more than those that are worked out one by one")
    if not want.hosts:
        return [Host(None, cores)]
    default = cores if want.from_file else 1
    return [Host(name, default if slots is None else slots or cores) for name, slots in want.hosts]


def not_here(want: Wanted) -> None:
    """Raise what comes of --nolocal: whether mpirun runs on a host that is named cannot be known."""
    if want.no_local and want.hosts:
        raise Unclear("whether mpirun runs on one of the hosts, which --nolocal leaves out, is not known")
    if want.no_local:
        raise Refused("--nolocal leaves out the only host; nothing starts")


def told(hosts: Sequence[Host], total: int) -> tuple[LintRank, ...]:
    """Return the ranks in order; raise Unclear where numbers are missing or given twice."""
    found: dict[int, LintRank] = {}
    for host in hosts:
        for proc in host.procs:
            if proc.rank is None or proc.rank in found:
                raise Unclear("a rank is numbered twice or not at all there, and what happens then is not worked out here")
            found[proc.rank] = LintRank(rank=proc.rank, host=host.name, cpus=proc.cpus)
    if sorted(found) != list(range(total)):
        raise Unclear("some numbers of ranks are left out there, and what happens then is not worked out here")
    return tuple(found[rank] for rank in range(total))


def bounded(total: int, parts: int = 1) -> int:
    """Return a number of ranks that is worked out; raise Unclear for more."""
    if total > MOST_RANKS or total * parts > MOST_STEPS:
        raise Unclear(f"{total} ranks are more than those that are worked out one by one")
    return total


def default_level(want: Wanted, *, five: bool, few: bool) -> str:
    """Return what ranks are dealt over where the line does not say; ``few``: not more than two."""
    unit = "hwthread" if want.hwthreads else "core"
    if five:
        if want.pe and want.pe > 1:
            return "slot"
        if want.bind in OBJECTS:
            return want.bind
        return "slot" if want.bind == "none" else unit
    if want.modifiers or (want.map_text or "").startswith(":"):
        return "package"
    if want.pe:
        return "numa"
    return unit if few else "numa"
