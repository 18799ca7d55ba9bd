"""What Open MPI 4 and 5 make of --map-by, --rank-by and --bind-to on one node, as arithmetic.

Every branch was watched in 4.1.4 and 5.0.11 on simulated machines (tests/launch/lint/seen.py); what was not is left to words.
"""

from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet, union
from advisor.model.logical import Numbering, numbering, ordered
from advisor.model.topology import Topology

OBJECTS = ("hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package")
"""What can be mapped by and bound to, the smallest thing first."""
LEVELS = frozenset({*OBJECTS, "slot", "node", "ppr", "pe-list", "rankfile", "seq", "dist"})


class Refused(Exception):  # noqa: N818 - no error of ours: what the launcher would say
    """The launcher would start nothing; the text is why."""


class Unclear(Exception):  # noqa: N818 - no error either: what is left to words
    """What happens cannot be told exactly; the text is what can be said."""


def sets(kind: str, topology: Topology, known: Numbering) -> tuple[CpuSet, ...]:
    """Return the CPUs of everything of one kind, in hwloc's order."""
    inside = topology.inside
    if kind == "hwthread":
        return tuple(CpuSet([cpu]) for cpu in known.pus)
    if kind in ("core", "l1cache", "l2cache"):  # a private cache is its core's on all machines that are seen here
        return known.cores
    if kind == "l3cache":
        return ordered((part.cpuset for part in inside.l3), known)
    if kind == "numa":
        return ordered((node.cpuset for node in inside.cpu_nodes), known)
    return ordered((part.cpuset for part in inside.packages), known)


def local(want: Wanted, count: int, topology: Topology, *, five: bool) -> tuple[CpuSet | None, ...]:
    """Return the CPUs of the local ranks of a node; raise Refused or Unclear."""
    known = numbering(topology)
    units = known.pus if want.hwthreads else known.cores
    if count > len(units) and not want.oversubscribe and not want.overload:
        raise Refused(f"{count} ranks on a node need as many slots, and it has {len(units)} cores; nothing starts")
    if count > len(units) and want.overload:
        raise Unclear(f"{count} ranks share {len(units)} cores, in an order that is not worked out here")
    if want.bind == "none" or (five and want.oversubscribe and not want.bind):
        return (None,) * count
    level = want.level
    if level == "pe-list":
        return _listed(want, count, known, five=five)
    if (level not in LEVELS and level is not None) or (not five and "," in (want.map_text or "").partition(":")[0]):
        raise Refused(f"--map-by {want.map_text} is no form that it knows; nothing starts")
    if level in ("seq", "dist", "rankfile") or (want.oversubscribe and (five or level is None)):
        raise Unclear(f"--map-by {want.map_text or ''} is not worked out here")
    homes = _homes(want, count, topology, known, five=five)
    if want.pe:
        return _chunks(want.pe, homes, known)
    return _bound(_target(want, count, five=five), homes, topology, known, five=five)


def default_level(want: Wanted, count: int, *, five: bool) -> str:
    """Return what ranks are dealt over where the line does not say."""
    if five:
        return want.bind if want.bind in OBJECTS else "slot" if want.pe else "core"
    return "core" if count <= 2 else "numa"


def _homes(want: Wanted, count: int, topology: Topology, known: Numbering, *, five: bool) -> list[CpuSet]:
    """Return the object that each rank is dealt to, in the order of ranks."""
    level = want.level or default_level(want, count, five=five)
    if want.level is None and want.modifiers and not five:
        raise Unclear("--map-by with modifiers alone is not worked out here")
    if not five and "package" in (want.map_text or "").lower():
        raise Refused(f"Open MPI 4 calls a package socket: --map-by {want.map_text} is not known to it; nothing starts")
    if level == "ppr" and want.ppr:
        return _ppr(want, want.ppr, count, topology, known)
    if level in ("slot", "node"):
        return [CpuSet(known.pus)] * count
    parts = sets("hwthread" if want.hwthreads and level == "core" and five else level, topology, known)
    if not parts:
        raise Unclear(f"this machine shows no {level}")
    dealt = [parts[i % len(parts)] for i in range(count)]
    order = want.rank_by or ("fill" if five and "span" not in want.modifiers else "slot")
    if (order == "fill" and five) or (not five and (order == "core" or order.endswith(":fill"))):
        return sorted(dealt, key=parts.index)
    if order not in ("slot", "span", "core", "hwthread", level):
        raise Unclear("the order of --rank-by is not worked out here")
    return dealt


def _ppr(want: Wanted, ppr: tuple[int, str], count: int, topology: Topology, known: Numbering) -> list[CpuSet]:
    each, kind = ppr
    if kind == "node":
        return [CpuSet(known.pus)] * count
    if kind not in OBJECTS:
        raise Refused(f"ppr:N:{kind} is not known; nothing starts")
    homes = [part for part in sets(kind, topology, known) for _ in range(each)]
    if count > len(homes):
        raise Refused(f"{want.map_text} gives a node {len(homes)} ranks, and {count} are asked for; nothing starts")
    return homes[:count]


def _target(want: Wanted, count: int, *, five: bool) -> str:
    """Return what ranks are bound to."""
    if want.bind in OBJECTS:
        return want.bind
    if want.bind:
        raise Refused(f"--bind-to {want.bind} is not known; nothing starts")
    level = want.level
    if level == "ppr" and want.ppr:
        level = want.ppr[1] if five else "node"
    if level in OBJECTS:
        return level
    if level is None and five:
        return "hwthread" if want.hwthreads else "core"
    return "core" if count <= 2 else "numa"


def _bound(kind: str, homes: Sequence[CpuSet], topology: Topology, known: Numbering, *, five: bool) -> tuple[CpuSet, ...]:
    things = sets(kind, topology, known)
    taken: dict[CpuSet, int] = {}
    used = CpuSet()
    found: list[CpuSet] = []
    for home in homes:
        inside = [thing for thing in things if thing <= home]
        above = next((thing for thing in things if home <= thing), None)
        if not inside:
            if above is None:
                raise Unclear(f"what it is dealt over does not lie in one {kind}")
            if five and above != home:
                raise Refused(f"--bind-to {kind} is larger than what ranks are dealt over, which 5.x refuses; nothing starts")
            found.append(above)
            continue
        turn = taken.get(home, 0)
        taken[home] = turn + 1
        if five:  # each rank uses up a core of the first object that has one left
            mine = next((thing for thing in inside if thing - used), inside[0])
            core = next((core for core in known.cores if core <= mine and core - used), CpuSet())
            used |= core if kind != "hwthread" else mine
        else:
            mine = inside[turn % len(inside)]
        found.append(mine)
    if kind in ("core", "hwthread") and len(set(found)) < len(found):
        raise Refused("more ranks than cores where they are dealt to; nothing starts")
    return tuple(found)


def _chunks(size: int, homes: Sequence[CpuSet], known: Numbering) -> tuple[CpuSet, ...]:
    """Return the next cores of each rank's home, so many for each."""
    next_one: dict[CpuSet, int] = {}
    found: list[CpuSet] = []
    widths = {len([core for core in known.cores if core <= home]) for home in homes}
    if min(widths, default=0) < size:
        raise Refused(f"PE={size} is more cores than one of the objects that ranks are dealt over has; nothing starts")
    for home in homes:
        cores = [core for core in known.cores if core <= home]
        at = next_one.get(home, 0)
        if at + size > len(cores):
            raise Refused(f"PE={size} for {len(homes)} ranks is more cores than there are; nothing starts")
        found.append(union(cores[at : at + size]))
        next_one[home] = at + size
    if len(widths) > 1:
        raise Unclear("the parts of this machine are not alike, and versions do different things there")
    return tuple(found)


def _listed(want: Wanted, count: int, known: Numbering, *, five: bool) -> tuple[CpuSet, ...]:
    text = want.cpus or ""
    if not want.ordered:
        try:
            numbers = CpuSet.parse(text)
            whole = known.pus_cpus(numbers) if want.hwthreads else known.cores_cpus(numbers)
        except BadValue as error:
            raise Refused(f"the list {text[:60]} cannot be used: {error.problem}") from error
        return (whole,) * count
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 8 for word in words):
        raise Unclear("ranges in an ordered list are not expanded")
    picked = [_one(int(word), known, threads=want.hwthreads) for word in words]
    if not five:
        picked = sorted(picked, key=lambda cpus: cpus.first or 0)
    if count > len(picked):
        raise Refused(f"the list has {len(picked)} cores and {count} ranks are asked for on a node; nothing starts")
    return tuple(picked[:count])


def _one(index: int, known: Numbering, *, threads: bool) -> CpuSet:
    try:
        return known.pus_cpus(CpuSet([index])) if threads else known.cores_cpus(CpuSet([index]))
    except BadValue as error:
        raise Refused(error.problem) from error
