"""What Open MPI's ``--map-by`` would do on a node, as arithmetic: a short form is used only where this equals the plan.

Open MPI 4.1 and 5.0 were watched doing the same for every form here (tests/test_binding_openmpi.py). Forms that
behave otherwise on nodes whose parts are not alike (``ppr:2:l3cache:PE=2`` crosses an L3 in 4.1 and skips one in 5.0)
are refused on such nodes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from advisor.errors import BadValue
from advisor.launch.hosts import kinds
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import LogicalNumbering, logical_numbering, ordered
from advisor.model.hardware.topology import Topology
from advisor.model.placement import NodePlan, Placement

LEVELS = {"l3cache": "L3 groups", "numa": "NUMA nodes", "socket": "sockets", "package": "sockets"}
"""What ranks can be dealt to, in Open MPI's words and in ours; ``package`` is 5.x's word for a socket."""

_PPR = re.compile(r"ppr:(\d{1,6}):([a-z0-9]+)(?::PE=(\d{1,6}))?", re.ASCII)
_PE_LIST = re.compile(r"pe-list=(\d{1,7}(?:,\d{1,7})*):ordered", re.ASCII)


@dataclass(frozen=True)
class Form:
    """A short form: two options."""

    map_by: str
    bind_to: str = "core"

    @property
    def name(self) -> str:
        """What the form is called: a list of cores is in the line already."""
        return "pe-list" if _PE_LIST.fullmatch(self.map_by) else self.map_by

    @property
    def deals(self) -> int:
        """How many ranks each part of a node takes, whatever the slots of the host; 0 where slots are filled instead."""
        match = _PPR.fullmatch(self.map_by)
        return int(match[1]) if match else 0


class Uneven(BadValue):
    """The parts of the node are not alike, and Open MPI does not do there what the form says."""


def parts(level: str, topology: Topology, known: LogicalNumbering) -> tuple[CpuSet, ...]:
    """Return the parts of a node at one level in hwloc's order; raise Uneven where no form may count in them."""
    inside = topology.inside
    if level == "numa":
        if any(not node.cpuset for node in inside.nodes):
            raise Uneven("NUMA nodes without CPUs are counted too")
        found = [node.cpuset for node in inside.nodes]
    elif level in LEVELS:
        found = [part.cpuset for part in (inside.l3 if level == "l3cache" else inside.packages)]
    else:
        raise BadValue(f"{level!r} is no part of a node", cure=f"expected one of {', '.join(LEVELS)}")
    made = ordered(found, known)
    if sum(len(part) for part in made) != len(known.pus) or union(made) != CpuSet(known.pus):
        raise Uneven(f"the {LEVELS[level]} do not hold every CPU once")
    return made


def places(form: Form, topology: Topology) -> tuple[CpuSet, ...]:
    """Return the CPUs that the local ranks of a full node get, in their order; raise BadValue where that cannot be told."""
    known = logical_numbering(topology)
    if form == Form("core"):
        return known.cores
    if listed := _PE_LIST.fullmatch(form.map_by):
        return tuple(known.cores_cpus(CpuSet([int(number)])) for number in listed[1].split(","))
    match = _PPR.fullmatch(form.map_by)
    if match is None:
        raise BadValue(f"--map-by {form.map_by} --bind-to {form.bind_to} is not a form whose result is known")
    count, level, each = int(match[1]), match[2], int(match[3] or 1)
    found = parts(level, topology, known)
    if form.bind_to == level:
        return tuple(part for part in found for _ in range(count))
    cores = [list(known.core_numbers(part)) for part in found]
    if len({len(numbers) for numbers in cores}) > 1:
        raise Uneven(f"the {LEVELS[level]} have different numbers of cores")
    if count * each > len(cores[0]):
        raise BadValue(f"{count} x {each} cores are more than the {len(cores[0])} of one of the {LEVELS[level]}")
    starts = [numbers[i * each : (i + 1) * each] for numbers in cores for i in range(count)]
    return tuple(known.cores_cpus(CpuSet(numbers)) for numbers in starts)


def forms(plan: NodePlan, first: str, package: str) -> Iterator[Form]:
    """Yield the short forms that might be a plan, the plainest first; ``first`` is the level that the job counts in."""
    known = logical_numbering(plan.topology)
    slots = [slot.cpus for slot in plan.slots]
    width = len(known.core_numbers(slots[0]))
    if width == 1:
        yield Form("core")
    levels = sorted(("l3cache", "numa", package), key=lambda level: level != first)
    for level in levels:
        try:
            found = parts(level, plan.topology, known)
        except Uneven:
            continue
        home = next((part for part in found if slots[0] <= part), None)
        if home is None:
            continue
        count = sum(1 for slot in slots if slot <= home)
        yield Form(f"ppr:{count}:{level}" + (f":PE={width}" if width > 1 else ""))
        if count == 1 and slots[0] == home:
            yield Form(f"ppr:1:{level}", level)


def fits(form: Form, placement: Placement) -> bool:
    """Whether a form puts every rank of a placement where it should be; raise Uneven where Open MPI is known to fail."""
    made = {position: places(form, placement.plans[position].topology) for position in kinds(placement)}
    hosts = [host for host in placement.hosts if host.ranks]
    if form.deals and any(host.ranks != len(made[host.plan]) for host in hosts[:-1]):
        return False
    return all(_agrees(made[position], placement.plans[position], ranks) for position, ranks in kinds(placement).items())


def _agrees(made: tuple[CpuSet, ...], plan: NodePlan, ranks: int) -> bool:
    planned = tuple(slot.cpus for slot in plan.slots[:ranks])
    return planned == made[:ranks]
