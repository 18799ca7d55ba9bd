"""What lines of Open MPI 4 and 5 share when they are written: versions and faults, hosts, variables, short forms, rankfiles."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import Avoided, Launch, LaunchRequest, Lines
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import NodePlan, Placement, homeless, kinds, memory_notes, only_slots, runs
from advisor.jobs.request import MAIN, Release
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import LogicalNumbering, logical_numbering, ordered
from advisor.machine.topology import Topology

LEVELS = {"l3cache": "L3 groups", "numa": "NUMA nodes", "socket": "sockets", "package": "sockets"}
"""What ranks can be assigned to, in Open MPI's words and in ours; ``package`` is 5.x's word for a socket."""


_PPR = re.compile(r"ppr:(\d{1,6}):([a-z0-9]+)(?::PE=(\d{1,6}))?", re.ASCII)


_PE_LIST = re.compile(r"pe-list=(\d{1,7}(?:,\d{1,7})*):ordered", re.ASCII)


@dataclass(frozen=True)
class Form:
    """A short form: two options."""

    map_by: str
    bind_to: str = "core"
    near: tuple[str, ...] = ()
    """The words that name the adapter of dist."""

    @property
    def name(self) -> str:
        """What the form is called: a list of cores is in the line already."""
        return "dist" if self.near else "pe-list" if _PE_LIST.fullmatch(self.map_by) else self.map_by

    @property
    def words(self) -> tuple[str, ...]:
        """The words of it on a line."""
        return "--map-by", self.map_by, *self.near, "--bind-to", self.bind_to

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
        raise BadValue(f"{level!r} is not a part of a node", cure=f"expected one of {', '.join(LEVELS)}")
    made = ordered(found, known)
    if sum(len(part) for part in made) != len(known.pus) or union(made) != CpuSet(known.pus):
        raise Uneven(f"the {LEVELS[level]} do not hold every CPU once")
    return made


def places(form: Form, topology: Topology) -> tuple[CpuSet, ...]:
    """Return the CPUs that the local ranks of a full node get, in their order; raise BadValue where that is not known."""
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


MOST_HOSTS = 64
"""More hosts than these go into a hostfile: a line stays one that a person can read."""


_HOMELESS = (
    "mpirun warns 'failed to bind memory' of ranks whose CPUs are in no NUMA node that is shown: their CPUs are bound as planned"
)


_RELEASE = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", re.ASCII)


@dataclass(frozen=True)
class Fault:
    """A form that some versions break."""

    form: str
    first: Release
    last: Release
    reason: str


def release(version: str) -> Release:
    """Return the numbers of a version: 5.0.6, 4.1.4rc1, main."""
    if version in ("main", "master"):
        return MAIN
    match = _RELEASE.match(version)
    if not match:
        raise BadValue(f"{version[:40]!r} is not a version of Open MPI", cure="expected such as 4.1.4, 5.0.6 or main")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def of_prrte(number: str) -> str:
    """Return the Open MPI that does as a PRRTE of this number: 3.0 is that of 5.0, 3.0.7 that of 5.0.6; 4.0 came after."""
    own = release(f"{number}.0" if number.isdigit() else number)
    return "main" if own >= (3, 1, 0) else "5.0.6" if own >= (3, 0, 7) else "5.0.5"


def fault(faults: Iterable[Fault], form: str, version: Release) -> Fault | None:
    """Return the fault that a version has in a form, if any."""
    return next((each for each in faults if each.form == form and each.first <= version <= each.last), None)


def used(placement: Placement) -> list[NodePlan]:
    """Return the kinds of nodes with the slots in use, each kind once however many hosts are of it."""
    plans = ((placement.plans[position], ranks) for position, ranks in kinds(placement).items())
    return [plan.model_copy(update={"slots": plan.slots[:ranks]}) for plan, ranks in plans]


def whole_cores(plans: Iterable[NodePlan]) -> bool:
    """Whether every rank has cores with all their hardware threads, rather than single threads."""
    return all(known.whole(slot.cpus) for plan in plans for known in (logical_numbering(plan.topology),) for slot in plan.slots)


def alike(plans: Iterable[NodePlan]) -> bool:
    """Whether all nodes have the same CPU numbers in the same places."""
    return len({_looks(plan.topology) for plan in plans}) <= 1


def _looks(topology: Topology) -> tuple[object, ...]:
    inside = topology.inside
    groups = (inside.packages, inside.nodes, inside.l3)
    return (logical_numbering(topology).cores, *(tuple(part.cpuset for part in group) for group in groups))


def outside(plans: Iterable[NodePlan]) -> bool:
    """Whether some nodes show cores that are in no socket."""
    topologies = [plan.topology.inside for plan in plans]
    return any(not inside.pus <= union(part.cpuset for part in inside.packages) for inside in topologies)


def overlapping(plans: Iterable[NodePlan]) -> bool:
    """Whether ranks of one host share CPUs."""
    for plan in plans:
        taken = CpuSet()
        for slot in plan.slots:
            if taken & slot.cpus:
                return True
            taken = taken | slot.cpus
    return False


def wants_wrapper(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return why the wrapper is wanted whatever the launcher can do, None where it is not."""
    if wish.wrap:
        return "the wrapper was asked for"
    if each_rank.wants_wrapper(placement, wish):
        return "ranks use different adapters or GPUs, and only the wrapper can tell each its own"
    if any(not plan.topology.inside.cores for plan in used(placement)):
        return "this machine shows no cores, only hardware threads, and Open MPI finds no place there"
    return None


@dataclass(frozen=True)
class Writing:
    """What a version writes for a placement: a short form, a rankfile, or the wrapper where neither is right."""

    name: str
    form: Form | None
    why: Avoided | None
    """Why no rankfile is written."""
    by_file: tuple[str, ...]
    """The words that go with a rankfile."""
    count: "Count"
    avoided: tuple[Avoided, ...]
    supposed: str
    """For what it is written where the version is not known."""
    report: tuple[str, ...]
    before: tuple[str, ...] = ()
    spelled: Mapping[str, str] = field(default_factory=dict)


def launched(placement: Placement, wish: LaunchRequest, writing: Writing) -> Launch:
    """Return the line with all that both versions say alike."""
    command, files, avoided = each_rank.command(wish, writing.name), dict[str, Lines](), writing.avoided
    if writing.form:
        name, words = writing.form.name, writing.form.words
    elif slots := only_slots(placement) if wish.each and not wish.exact and not writing.why else None:
        name, words = "sh -c taskset", ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        command = each_rank.command(wish, writing.name, [str(slot.cpus) for slot in slots])
    elif writing.why:
        avoided = (*avoided, writing.why)
        name, words = "wrapper", ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        command, files = wrapper.wrapped(wish.command), wrapper.files(placement)
    else:
        name, words, files = "rankfile", writing.by_file, {"rankfile": rankfile(placement, writing.count)}
    options, hostfile = hosts(placement)
    report = writing.report if wish.report else ()
    form = tuple(writing.spelled.get(word, word) for word in words)
    passed = tuple(variables(wish, placement, name))
    argv = ("mpirun", *writing.before, "-np", str(placement.size), *options, *form, *report, *passed, *command)
    unknown = () if wish.version else (f"version not known: {writing.supposed}",)
    notes = wrapper.NOTES if name == "wrapper" else (*memory_notes(placement), *((_HOMELESS,) if homeless(placement) else ()))
    files = {**files, **hostfile}
    return Launch(writing.name, wish.version, name, argv, files=files, avoided=avoided, notes=(*unknown, *notes))


def hosts(placement: Placement) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the options that name the hosts with their ranks as slots, and the hostfile where they are many."""
    list(runs(placement))  # refuses what is no host's name
    named = [(host.name, host.ranks) for host in placement.hosts if host.name and host.ranks]
    if not named:
        return (), {}
    if len(named) <= MOST_HOSTS:
        return ("--host", ",".join(f"{name}:{ranks}" for name, ranks in named)), {}

    def lines() -> Iterator[str]:
        return (f"{name} slots={ranks}" for name, ranks in named)

    return ("--hostfile", "hostfile"), {"hostfile": lines}


def variables(wish: LaunchRequest, placement: Placement, form: str) -> Iterator[str]:
    """Yield the options that pass variables on to the ranks; those of UCX ask for UCX too, as the articles do.

    Where adapters differ, each rank has its own by the wrapper or by what is before its program.
    """
    told = form == "wrapper" and any(slot.hca for plan in used(placement) for slot in plan.slots)
    if told or "UCX_NET_DEVICES" in wish.each or any(name.startswith("UCX_") for name in wish.environment):
        yield from ("--mca", "pml", "ucx")
    for name, value in sorted(wish.environment.items()):
        yield from ("-x", f"{name}={value}")


def short_form(
    placement: Placement, wish: LaunchRequest, package: str, broken: Callable[[Form], str | None]
) -> tuple[Form | None, list[Avoided]]:
    """Return the short form that is the plan, and those that would say it but that this version does not do."""
    avoided: list[Avoided] = []
    plans = used(placement)
    if wish.exact or wants_wrapper(placement, wish) or not whole_cores(plans):
        return None, []
    for form in forms(plans[0], _level(placement, package), package):
        try:
            if not fits(form, placement):
                continue
        except Uneven as error:
            avoided.append(Avoided(f"--map-by {form.map_by}", f"{error.problem}: it would put ranks elsewhere, silently"))
            continue
        except BadValue:
            continue
        why = broken(form)
        if why is None:
            return form, avoided
        avoided.append(Avoided(f"--map-by {form.map_by}", why))
    return None, avoided


def _level(placement: Placement, package: str) -> str:
    """Return the parts that a job counts its ranks in: among forms that do the same, the one that says so is preferred."""
    if placement.job.per is None and placement.strategy == "spread-numa":
        return "numa"
    return {"numa": "numa", "socket": package}.get(placement.job.per or "", "l3cache")


Count = Literal["core", "thread", "os core", "os"]
"""What a rankfile's numbers are.

Logical cores, logical hardware threads, or the kernel's CPU numbers: of each core its first CPU, which stands for the
whole core, or of just these CPUs.
"""


LOCAL = "localhost"
"""What the one host without a name is called."""


def slot_text(cpus: CpuSet, known: LogicalNumbering, count: Count) -> str:
    """Return a rank's slot list."""
    if count == "os":
        return str(cpus)
    if count == "os core":
        return str(CpuSet(known.cores[number].first or 0 for number in known.core_numbers(cpus)))
    return str(known.core_numbers(cpus) if count == "core" else known.pu_numbers(cpus))


def rankfile(placement: Placement, count: Count = "core") -> Callable[[], Iterator[str]]:
    """Return what yields a placement's rankfile line by line, without line ends; nothing is kept but one node's slots."""
    texts = [_texts(plan, count) for plan in placement.plans]

    def lines() -> Iterator[str]:
        rank = 0
        for host in placement.hosts:
            name = host.name or LOCAL
            for text in texts[host.plan][: host.ranks]:
                yield f"rank {rank}={name} slot={text}"
                rank += 1

    return lines


def longest(placement: Placement, count: Count, *, with_host: bool) -> int:
    """Return the length of the longest slot list, or of host name and slot list together."""
    lengths = [[len(text) for text in _texts(plan, count)] for plan in placement.plans]
    most = 0
    for host in placement.hosts:
        name = len(host.name or LOCAL) if with_host else 0
        most = max(most, name + max(lengths[host.plan][: host.ranks], default=0))
    return most


def _texts(plan: NodePlan, count: Count) -> list[str]:
    known = logical_numbering(plan.topology)
    return [slot_text(slot.cpus, known, count) for slot in plan.slots]
