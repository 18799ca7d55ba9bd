"""Open MPI 4 (and 3; mpirun of ORTE) and 5 (of PRRTE): short forms, lists and rankfiles, and where the two differ."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, Lines, RankVariables
from advisor.jobs.launchers import wrapper
from advisor.jobs.openmpi import (
    OPENMPI,
    OPENMPI_ALIASES,
    long_or_short,
    of_open_mpi,
    open_mpi_claim,
    open_mpi_lists,
    which_open_mpi,
)
from advisor.jobs.openmpi_map import ranks
from advisor.jobs.placement import NodePlan, Placement, homeless, kinds, memory_notes, only_slots, runs
from advisor.jobs.request import MAIN, Release, open_mpi_release
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import LogicalNumbering, logical_numbering, ordered
from advisor.machine.topology import Topology

NAMES = {False: "openmpi4", True: "openmpi5"}
"""The launchers' names, by whether it is 5."""


LEVELS = {"l3cache": "L3 groups", "numa": "NUMA nodes", "socket": "sockets", "package": "sockets"}
"""What ranks can be assigned to, in Open MPI's words and in ours; ``package`` is 5.x's word for a socket."""


_PPR = re.compile(r"ppr:(\d{1,6}):([a-z0-9]+)(?::PE=(\d{1,6}))?", re.ASCII)


_BY_PART = re.compile(r"(l3cache|numa|socket|package)(?::PE=(\d{1,6}))?", re.ASCII)
"""Parts in turn: each takes one rank, whichever of them have none."""


_CPU_LIST = "cpu-list="
"""How a form begins that is 4's --cpu-list: each rank takes one core of it, in the order of their CPUs."""


_PE_LIST = re.compile(r"pe-list=(\d{1,7}(?:,\d{1,7})*):ordered", re.ASCII)


@dataclass(frozen=True)
class Form:
    """A short form: two options."""

    map_by: str
    bind_to: str = "core"

    @property
    def name(self) -> str:
        """What the form is called: a list of cores is in the line already."""
        return self.map_by.partition("=")[0] if self.words[0] == "--cpu-list" or _PE_LIST.fullmatch(self.map_by) else self.map_by

    @property
    def words(self) -> tuple[str, ...]:
        """The words of it on a line."""
        listed = self.map_by.startswith(_CPU_LIST)
        where = ("--cpu-list", self.map_by.removeprefix(_CPU_LIST)) if listed else ("--map-by", self.map_by)
        return *where, "--bind-to", self.bind_to

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
    if level not in LEVELS:
        raise BadValue(f"{level!r} is not a part of a node", cure=f"expected one of {', '.join(LEVELS)}")
    if level == "numa" and any(not node.cpuset for node in inside.nodes):
        raise Uneven("NUMA nodes without CPUs are counted too")
    groups = {"l3cache": [part.cpuset for part in inside.l3], "numa": [node.cpuset for node in inside.nodes]}
    made = ordered(groups.get(level, [part.cpuset for part in inside.packages]), known)
    if sum(len(part) for part in made) != len(known.pus) or union(made) != CpuSet(known.pus):
        raise Uneven(f"the {LEVELS[level]} do not contain every CPU exactly once")
    return made


def places(form: Form, topology: Topology) -> tuple[CpuSet, ...]:
    """Return the CPUs that the local ranks of a full node get, in their order; raise BadValue where that is not known."""
    known = logical_numbering(topology)
    if form == Form("core"):
        return known.cores
    if listed := _PE_LIST.fullmatch(form.map_by):
        return tuple(known.cores_cpus(CpuSet([int(number)])) for number in listed[1].split(","))
    match = _PPR.fullmatch(form.map_by)
    single = _BY_PART.fullmatch(form.map_by) if match is None else None
    if match:
        count, level, each = int(match[1]), match[2], int(match[3] or 1)
    elif single:
        count, level, each = 1, single[1], int(single[2] or 1)
    else:
        raise BadValue(f"--map-by {form.map_by} --bind-to {form.bind_to} is not a combination with a known result")
    found = parts(level, topology, known)
    if form.bind_to == level:
        return tuple(part for part in found for _ in range(count))
    cores = [list(known.core_numbers(part)) for part in found]
    if len({len(numbers) for numbers in cores}) > 1:
        raise Uneven(f"the {LEVELS[level]} have different numbers of cores")
    if count * each > len(cores[0]):
        raise BadValue(f"{count} x {each} cores exceed the {len(cores[0])} cores in each of the {LEVELS[level]}")
    starts = [numbers[i * each : (i + 1) * each] for numbers in cores for i in range(count)]
    return tuple(known.cores_cpus(CpuSet(numbers)) for numbers in starts)


def _forms(plan: NodePlan, first: str, package: str) -> Iterator[Form]:
    """Yield the short forms that might be a plan, the plainest first; ``first`` is the level that the job counts in."""
    known = logical_numbering(plan.topology)
    slots = [slot.cpus for slot in plan.slots]
    width = len(known.core_numbers(slots[0]))
    if width == 1:
        yield Form("core")
    for level in sorted(("l3cache", "numa", package), key=lambda level: level != first):
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
        if count == 1:
            yield Form(level + (f":PE={width}" if width > 1 else ""))


def _fits(form: Form, placement: Placement) -> bool:
    """Whether a form puts every rank of a placement where it should be; raise Uneven where Open MPI is known to fail."""
    made = {position: places(form, placement.plans[position].topology) for position in kinds(placement)}
    hosts = [host for host in placement.hosts if host.ranks]
    if form.deals and any(host.ranks != len(made[host.plan]) for host in hosts[:-1]):
        return False
    used = ((made[at][:ranks], placement.plans[at].slots[:ranks]) for at, ranks in kinds(placement).items())
    return all(given == tuple(slot.cpus for slot in slots) for given, slots in used)


MOST_HOSTS = 64
"""More hosts than these go into a hostfile: a line stays one that a person can read."""


_HOMELESS = (
    "mpirun warns 'failed to bind memory' for ranks whose CPUs are in no visible NUMA node: their CPUs are bound as planned"
)


_BROKEN: tuple[tuple[str, Release, Release, str], ...] = (
    (
        "ppr with PE",
        (3, 1, 3),
        (4, 0, 99),
        "Open MPI 3.1.3 to 4.0 refuses PE in ppr: 'An invalid value was given' (open-mpi/ompi#6236)",
    ),
    (
        "rankfile",
        (4, 0, 0),
        (4, 0, 0),
        "Open MPI 4.0.0 ends with 'Data unpack would read past end of buffer' (open-mpi/ompi#5965)",
    ),
    ("hwthreads", (5, 0, 0), (5, 0, 5), "Open MPI 5.0.0 to 5.0.5 read core numbers as hardware threads (open-mpi/ompi#12967)"),
    # Seen in 5.0.11 (tests/test_binding_openmpi.py): PMIX_ERR_UNPACK_INADEQUATE_SPACE, no rank started, exit status 0.
    ("ppr in part", (5, 0, 0), (5, 999, 0), "Open MPI 5.0 starts no ranks, yet exits successfully, if the last part is not full"),
)
"""Forms that some versions break: the first and the last of them, and how."""


_SUPPOSED: dict[bool, Release] = {False: (4, 1, 4), True: (5, 0, 0)}
"""What is written for where the version is not known: 4.1, and what all of 5.0 understand."""


_LONGEST = 63
"""Characters of a slot list: 5.x drops what is longer, silently (a list of 66 lost its last core)."""


_LONGEST_OF_4 = 63 - 6
"""Characters of host name and slot list together: above, 4.1 writes past a buffer of 64 (rmaps_rank_file.c)."""


_MOST_LISTED = 32
"""Cores that a line enumerates: pe-list takes no ranges, it counts one as a single CPU."""


def _broken(form: str, version: Release) -> str | None:
    """Return how a version breaks a form; None where it does not."""
    return next((why for name, first, last, why in _BROKEN if name == form and first <= version <= last), None)


def _used(placement: Placement) -> list[NodePlan]:
    """Return the kinds of nodes with the slots in use, each kind once however many hosts are of it."""
    plans = ((placement.plans[position], ranks) for position, ranks in kinds(placement).items())
    return [plan.but(slots=plan.slots[:ranks]) for plan, ranks in plans]


def _whole_cores(plans: Iterable[NodePlan]) -> bool:
    """Whether every rank has cores with all their hardware threads, rather than single threads."""
    return all(logical_numbering(plan.topology).whole(slot.cpus) for plan in plans for slot in plan.slots)


def _alike(plans: Iterable[NodePlan]) -> bool:
    """Whether all nodes have the same CPU numbers in the same places."""
    insides = [plan.topology.inside for plan in plans]
    groups = ((inside.packages, inside.nodes, inside.l3) for inside in insides)
    looks = [tuple(tuple(part.cpuset for part in group) for group in each) for each in groups]
    return len({(logical_numbering(inside).cores, look) for inside, look in zip(insides, looks, strict=True)}) <= 1


def _overlapping(plans: Iterable[NodePlan]) -> bool:
    """Whether ranks of one host share CPUs."""
    return any(sum(len(slot.cpus) for slot in plan.slots) > len(union(slot.cpus for slot in plan.slots)) for plan in plans)


def _wants_wrapper(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return why the wrapper is wanted whatever the launcher can do, None where it is not."""
    if wish.wrap:
        return "the wrapper was requested"
    if each_rank.wants_wrapper(placement, wish):
        return "ranks use different adapters or GPUs, and only the wrapper can assign them per rank"
    if any(not plan.topology.inside.cores for plan in _used(placement)):
        return "this machine shows no cores, only hardware threads, and Open MPI cannot place ranks there"
    return None


def launch(placement: Placement, wish: LaunchRequest, *, five: bool) -> Launch:
    """Return the line for Open MPI 4 or 5: a short form where that is the plan, else a rankfile, else the wrapper."""
    version = open_mpi_release(wish.version) if wish.version else _SUPPOSED[five]
    if (version >= (5, 0, 0)) != five:
        raise BadValue(f"Open MPI {wish.version} needs a different launch line", cure=f"use --launcher {NAMES[not five]}")
    plans = _used(placement)
    whole, alike = _whole_cores(plans), _alike(plans)
    short, avoided = _short_form(placement, wish, version)
    if not short and alike and whole and not wish.exact and not _wants_wrapper(placement, wish):
        short = _list_of_cores(placement, plans) if five else _in_order(plans) if version >= _LISTS_SINCE else None
    # Logical numbers, but for hosts that differ: 4.x takes the topology of the first that answers for all hosts with as many
    # objects, so that logical numbers would be looked up on the wrong one.
    count: Count = ("core" if whole else "thread") if alike or five else ("os core" if whole else "os")
    why = None if short else _no_rankfile(placement, wish, version, count)
    command, files, form = each_rank.command(wish, NAMES[five]), dict[str, Lines](), "wrapper"
    words: tuple[str, ...] = ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
    dealt = _dealt(placement) if wish.unnamed else None
    if short:
        short = Form(f"ppr:{dealt}:node") if dealt and short == Form("core") else short
        dealt = dealt if short.deals or short.name == "pe-list" else None
        form, words = short.name, short.words
    elif slots := only_slots(placement) if wish.each and not wish.exact and not why else None:
        words = ("--map-by", f"ppr:{dealt}:node" if dealt else "slot:OVERSUBSCRIBE", "--bind-to", "none")
        form, command = "sh -c taskset", each_rank.command(wish, NAMES[five], [str(slot.cpus) for slot in slots])
    elif why:
        avoided, dealt = [*avoided, why], None
        command, files = wrapper.wrapped(wish.command), wrapper.files(placement)
    else:
        form, words, dealt = "rankfile", _by_file(plans, count, five=five), None
        files = {"rankfile": rankfile(placement, count)}
    if version == MAIN:
        words = tuple({"--map-by": "--mapby", "--bind-to": "--bindto"}.get(word, word) for word in words)
    options, hostfile = ((), {}) if dealt else _hosts(placement)
    # Without --hetero-nodes 5.x looks CPU numbers up on the first node for all nodes that have as many objects.
    before = ("--hetero-nodes",) if five and not alike else ()
    report = (("--display", "bind") if five else ("--report-bindings",)) if wish.report else ()
    passed = _variables(wish, placement, form)
    argv = ("mpirun", *before, "-np", str(placement.size), *options, *words, *report, *passed, *command)
    unknown = () if wish.version else (f"version unknown: written for {'any Open MPI 5.0' if five else 'Open MPI 4.1'}",)
    notes = wrapper.NOTES if form == "wrapper" else (*memory_notes(placement), *((_HOMELESS,) if homeless(placement) else ()))
    if dealt:
        nodes = sum(1 for host in placement.hosts if host.ranks)
        notes = (
            *notes,
            f"no hosts are named: in a job of {nodes} nodes with {dealt} or more slots each, Open MPI uses the job's hosts",
        )
    return Launch(
        NAMES[five], wish.version, form, argv, files={**files, **hostfile}, avoided=tuple(avoided), notes=(*unknown, *notes)
    )


def _by_file(plans: Sequence[NodePlan], count: "Count", *, five: bool) -> tuple[str, ...]:
    """Return the words that go with a rankfile."""
    threads = count in ("thread", "os")
    bind = "hwthread" if threads else "core"
    if five:
        shared = ":overload-allowed" if _overlapping(plans) else ""
        return "--map-by", "rankfile:file=rankfile" + (":hwtcpus" if threads else ""), "--bind-to", bind + shared
    physical = ("--mca", "rmaps_rank_file_physical", "1") if count.startswith("os") else ()
    return ("--rankfile", "rankfile", *(("--use-hwthread-cpus",) if threads else ()), *physical, "--bind-to", bind)


def _no_rankfile(placement: Placement, wish: LaunchRequest, version: Release, count: "Count") -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    if why := _wants_wrapper(placement, wish) or _broken("rankfile", version):
        return Avoided("rankfile", why)
    if count == "thread" and (why := _broken("hwthreads", version)):
        return Avoided("rankfile of hardware threads", why)
    five = version >= (5, 0, 0)
    length = longest(placement, count, with_host=not five)
    if five and length > _LONGEST:
        problem = f"a slot list has {length} characters, and Open MPI 5.x silently drops everything beyond {_LONGEST}"
        return Avoided("rankfile", problem)
    if not five and length > _LONGEST_OF_4:
        problem = (
            f"a host name and its slot list come to {length} characters; above {_LONGEST_OF_4}, Open MPI 4.x writes past "
            "the end of its buffer"
        )
        return Avoided("rankfile", problem)
    return None


def _short_form(placement: Placement, wish: LaunchRequest, version: Release) -> tuple[Form | None, list[Avoided]]:
    """Return the short form that is the plan, and those that would say it but that this version does not do."""
    avoided: list[Avoided] = []
    plans, package = _used(placement), "package" if version >= (5, 0, 0) else "socket"
    if wish.exact or _wants_wrapper(placement, wish) or not _whole_cores(plans):
        return None, []
    last = next(host.ranks for host in reversed(placement.hosts) if host.ranks)
    # among forms that do the same, the one that says what the job counts its ranks in is preferred
    level = {"numa": "numa", "socket": package}.get(placement.job.per or "", "l3cache")
    level = "numa" if placement.job.per is None and placement.strategy == "spread-numa" else level
    for form in _forms(plans[0], level, package):
        try:
            if not _fits(form, placement):
                continue
        except Uneven as error:
            elsewhere = f"{error.problem}, so this option would silently put ranks elsewhere"
            avoided.append(Avoided(f"--map-by {form.map_by}", elsewhere))
            continue
        except BadValue:
            continue
        why = _broken("ppr with PE", version) if form.deals and ":PE=" in form.map_by else None
        why = why or (_broken("ppr in part", version) if form.deals and last % form.deals else None)
        if why is None:
            return form, avoided
        avoided.append(Avoided(f"--map-by {form.map_by}", why))
    return None, avoided


def _list_of_cores(placement: Placement, plans: Sequence[NodePlan]) -> Form | None:
    """Return the list of cores that is the plan on every host, where each rank has one core and they are few."""
    # 5.0 takes the cores of a list that are in no socket for a rank across sockets, and ends
    in_sockets = all(plan.topology.inside.pus <= union(part.cpuset for part in plan.topology.inside.packages) for plan in plans)
    if not in_sockets or _overlapping(plans):
        return None
    longest_plan = max(plans, key=lambda plan: len(plan.slots))
    known = logical_numbering(longest_plan.topology)
    numbers = [known.core_numbers(slot.cpus) for slot in longest_plan.slots]
    if len(numbers) > _MOST_LISTED or any(len(number) != 1 for number in numbers):
        return None
    form = Form(f"pe-list={','.join(map(str, numbers))}:ordered")
    return form if _fits(form, placement) else None


_LISTS_SINCE: Release = (4, 1, 0)
"""The oldest of which a list in order was seen to bind as it says (4.1.4)."""


def _in_order(plans: Sequence[NodePlan]) -> Form | None:
    """Return the cores whose CPUs, in the order of their numbers, are the plan on every host: what cpu-list:ordered gives.

    Only where a core has one CPU: of others each hardware thread would take a rank.
    """
    longest_plan = max(plans, key=lambda plan: len(plan.slots))
    cpus = [slot.cpus for slot in longest_plan.slots]
    firsts = [each.first or 0 for each in cpus]
    if any(len(each) != 1 for each in cpus) or firsts != sorted(set(firsts)):
        return None
    if any([slot.cpus for slot in plan.slots] != cpus[: len(plan.slots)] for plan in plans):
        return None
    return Form(f"{_CPU_LIST}{logical_numbering(longest_plan.topology).core_numbers(union(cpus))}", "cpu-list:ordered")


def _dealt(placement: Placement) -> int | None:
    """Return the ranks that every host has alike, and more than one host has: a line can then do without their names."""
    each = {host.ranks for host in placement.hosts if host.ranks}
    return each.pop() if len(each) == 1 and placement.size not in each else None


def _hosts(placement: Placement) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the options that name the hosts with their ranks as slots, and the hostfile where they are many."""
    list(runs(placement))  # refuses what is no host's name
    named = [(host.name, host.ranks) for host in placement.hosts if host.name and host.ranks]
    if not named:
        return (), {}
    if len(named) <= MOST_HOSTS:
        return ("--host", ",".join(f"{name}:{ranks}" for name, ranks in named)), {}
    return ("--hostfile", "hostfile"), {"hostfile": lambda: (f"{name} slots={ranks}" for name, ranks in named)}


def _variables(wish: LaunchRequest, placement: Placement, form: str) -> Iterator[str]:
    """Yield the options that pass variables on to the ranks; those of UCX ask for UCX too, as the articles do.

    Where adapters differ, each rank has its own by the wrapper or by what is before its program.
    """
    told = form == "wrapper" and any(slot.hca for plan in _used(placement) for slot in plan.slots)
    if told or "UCX_NET_DEVICES" in wish.each or any(name.startswith("UCX_") for name in wish.environment):
        yield from ("--mca", "pml", "ucx")
    for name, value in sorted(wish.environment.items()):
        yield from ("-x", f"{name}={value}")


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
    names = ((len(host.name or LOCAL) if with_host else 0, lengths[host.plan][: host.ranks]) for host in placement.hosts)
    return max((name + max(mine, default=0) for name, mine in names), default=0)


def _texts(plan: NodePlan, count: Count) -> list[str]:
    known = logical_numbering(plan.topology)
    return [slot_text(slot.cpus, known, count) for slot in plan.slots]


UNBOUND = ("--bind-to", "none")


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    each = -(-total // max(1, len(hosts)))
    named = ("--host", ",".join(f"{name}:{each}" for name in hosts)) if hosts else ()
    return "mpirun", "-np", str(total), *named, *UNBOUND


LINES = Dialect(
    programs=("mpirun", "mpiexec", "orterun", "prterun", "prun"),
    options=OPENMPI,
    aliases=OPENMPI_ALIASES,
    ranks=ranks,
    request=of_open_mpi,
    claim=open_mpi_claim,
    which=which_open_mpi,
    lists=open_mpi_lists,
    spellings=long_or_short,
    equals=True,
)


LAUNCHERS = tuple(
    Launcher(
        name=NAMES[five],
        title=f"Open MPI {4 + five}",
        order=10 + five,
        launch=partial(launch, five=five),
        aliases=aliases,
        tools=("openmpi", "prrte"),
        variables=("OMPI_", "PRTE_", "PMIX_"),
        ranks=RankVariables(
            rank=("OMPI_COMM_WORLD_RANK", "PMIX_RANK"), size=("OMPI_COMM_WORLD_SIZE",), local=("OMPI_COMM_WORLD_LOCAL_RANK",)
        ),
        without_binding=UNBOUND,
        dialect=LINES,
        unbound_line=unbound,
    )
    for five, aliases in (
        (False, ("openmpi-4", "ompi4")),
        (True, ("openmpi-5", "ompi5", "openmpi", "ompi", "prrte")),
    )
)
