"""How a prediction ends other than with ranks, the bounds of all predictions, and the parts of a machine by their names."""

from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import LogicalNumbering, ordered
from advisor.model.hardware.topology import Topology

OBJECTS = ("hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package")
"""What can be mapped by and bound to, the smallest thing first."""
MOST_RANKS = 65_536
MOST_HOSTS = 4096
MOST_STEPS = 10_000_000
"""Ranks times parts that are tried: more is left to words."""


class Refused(Exception):  # noqa: N818 - no error of ours: what the launcher would say
    """The launcher would start nothing; the text is why."""


class Unclear(Exception):  # noqa: N818 - no error either: what is left to words
    """What happens is not known exactly; the text is what can be said."""


def cpusets_of(kind: str, topology: Topology, known: LogicalNumbering) -> tuple[CpuSet, ...]:
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


def bounded(total: int, parts: int = 1) -> int:
    """Return a number of ranks that is worked out; raise Unclear for more."""
    if total > MOST_RANKS or total * parts > MOST_STEPS:
        raise Unclear(f"{total} ranks are more than those that are worked out one by one")
    return total


def hides_l3(inside: Topology) -> bool:
    """Whether launchers may see an L3 that is none: Xeon Phi's memory-side cache is shown so by hwloc 1 and 2.0."""
    return not inside.l3 and bool(inside.shared_l2) and len(inside.pus) >= 4 * len(inside.cores)
