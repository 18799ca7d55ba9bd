"""Open MPI 4 (and 3): mpirun of ORTE."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs import mpirun
from advisor.jobs.launcher import Avoided, Launch, Launcher, LaunchRequest
from advisor.jobs.launchers import openmpi5
from advisor.jobs.launchers.openmpi5 import RANKS, TOOLS, UNBOUND, VARIABLES, unbound
from advisor.jobs.mpirun import Count, Fault, Form, longest
from advisor.jobs.openmpi_map import Host, NodeParts, Proc, default_level, numbered, open_mpi_ranks, ranks_in_order
from advisor.jobs.placement import LintRank, NodePlan, Placement
from advisor.jobs.request import OBJECTS, Prediction, Refused, Release, Request, Unclear, adapters, bounded
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering

NAME = "openmpi4"


FAULTS = (
    Fault(
        "ppr with PE", (3, 1, 3), (4, 0, 99), "3.1.3 to 4.0 refuse PE in it: 'An invalid value was given' (open-mpi/ompi#6236)"
    ),
    Fault("rankfile", (4, 0, 0), (4, 0, 0), "4.0.0 ends with 'Data unpack would read past end of buffer' (open-mpi/ompi#5965)"),
)


_SUPPOSED: Release = (4, 1, 4)
"""What is written where the version is not known."""


_LONGEST = 63 - 6
"""Characters of host name and slot list together: above, 4.1 writes past a buffer of 64 (rmaps_rank_file.c)."""


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line for Open MPI 4: a short form where that is the plan, else a rankfile, else the wrapper."""
    version = mpirun.release(wish.version) if wish.version else _SUPPOSED
    if version >= (5, 0, 0):
        raise BadValue(f"Open MPI {wish.version} is started in another way", cure="ask for the launcher openmpi5")
    plans = mpirun.used(placement)
    no_pe = mpirun.fault(FAULTS, "ppr with PE", version)
    short, avoided = mpirun.short_form(
        placement, wish, "socket", lambda form: no_pe.reason if no_pe and ":PE=" in form.map_by else None
    )
    if not short and (device := _near(placement, plans, wish)):
        short = Form("dist:span", near=("--mca", "rmaps_dist_device", device))
    # Logical numbers, but for hosts that differ: 4.x takes the topology of the first that answers for all hosts with as many
    # objects, so that logical numbers would be looked up on the wrong one.
    whole, alike = mpirun.whole_cores(plans), mpirun.alike(plans)
    count: Count = ("core" if whole else "thread") if alike else ("os core" if whole else "os")
    threads = () if whole else ("--use-hwthread-cpus",)
    physical = () if alike else ("--mca", "rmaps_rank_file_physical", "1")
    by_file = ("--rankfile", "rankfile", *threads, *physical, "--bind-to", "core" if whole else "hwthread")
    why = None if short else _no_rankfile(placement, wish, version, count)
    return mpirun.launched(
        placement,
        wish,
        mpirun.Writing(NAME, short, why, by_file, count, tuple(avoided), "written for Open MPI 4.1", ("--report-bindings",)),
    )


def _no_rankfile(placement: Placement, wish: LaunchRequest, version: Release, count: Count) -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    if why := mpirun.wants_wrapper(placement, wish):
        return Avoided("rankfile", why)
    if broken := mpirun.fault(FAULTS, "rankfile", version):
        return Avoided("rankfile", broken.reason)
    length = longest(placement, count, with_host=True)
    if length > _LONGEST:
        problem = f"a host name and its slot list have {length} characters, and 4.x writes past its buffer above {_LONGEST}"
        return Avoided("rankfile", problem)
    return None


def _near(placement: Placement, plans: list[NodePlan], wish: LaunchRequest) -> str | None:
    """Return the adapter whose own cores, from the first, are the plan on every host: what ``dist`` gives."""
    devices = {slot.hca if slot.distance == 10 else None for plan in plans for slot in plan.slots}
    if wish.exact or mpirun.wants_wrapper(placement, wish) or len(devices) != 1 or not mpirun.whole_cores(plans):
        return None
    device = devices.pop()
    return device.partition(":")[0] if device and all(_from_the_first(plan) for plan in plans) else None


def _from_the_first(plan: NodePlan) -> bool:
    """Whether a plan's slots are the first cores of one NUMA node, one each, in order."""
    known = logical_numbering(plan.topology)
    home = next((node.cpuset for node in plan.topology.inside.cpu_nodes if plan.slots[0].cpus <= node.cpuset), CpuSet())
    numbers = list(known.core_numbers(home))[: len(plan.slots)]
    return [known.cores[number] for number in numbers] == [slot.cpus for slot in plan.slots]


class _Job:
    """The ranks of a line on its hosts."""

    def __init__(self, want: Request, node: NodeParts, hosts: list[Host]) -> None:
        self.want, self.node, self.hosts = want, node, hosts
        self.width = want.pe or 1
        self.slots = sum(host.slots for host in hosts)
        counted = self.slots
        if want.ppr and want.ppr[1] in ("node", "package"):  # without -np a pattern is counted for hosts and sockets only
            counted = want.ppr[0] * (1 if want.ppr[1] == "node" else len(node.parts("package"))) * len(hosts)
        self.total = bounded(want.ranks or counted, len(node.known.cores))
        self.few = self.total <= 2
        self.level = want.level or default_level(want, five=False, few=self.few)
        self.mapped: list[Host] = []
        """The hosts in the order in which they got ranks."""

    def deal(self) -> None:
        """Give every host its ranks."""
        if self.level == "ppr" and self.want.ppr:
            self._ppr(*self.want.ppr)
            return
        if self.slots < self.total and not self.want.oversubscribe:
            raise Refused(f"{self.total} ranks, and there are {self.slots} slots, outside a scheduler's job; nothing starts")
        if self.level == "slot":
            self._by_slot()
        elif self.level == "node":
            self._by_node()
        elif self.level in OBJECTS:
            parts = self.node.parts(self.level)
            if not parts or (len(self.hosts) > 1 and "span" in self.want.modifiers):
                raise Unclear(f"--map-by {self.want.map_text} on a machine that shows no {self.level}, or on several hosts")
            self._by_part(parts)
        else:
            raise Unclear(f"--map-by {self.want.map_text or self.level} is not predicted here")

    def _add(self, host: Host, count: int, home: CpuSet, part: int = 0) -> int:
        """Put ranks on a host; return how many."""
        if count > 0 and host not in self.mapped:
            self.mapped.append(host)
        host.procs += [Proc(home, part) for _ in range(count)]
        return max(0, count)

    def _by_slot(self) -> None:
        left = self.total
        for host in self.hosts:
            left -= self._add(host, min(left, host.free), self.node.all)
        more, rest = divmod(left, len(self.hosts))
        for position, host in enumerate(self.hosts):
            left -= self._add(host, min(left, more + (position < rest)), self.node.all)

    def _by_node(self) -> None:
        over = self.slots < self.total
        left, count = self.total, len(self.hosts)
        while left > 0 and count > 0:
            share = left // count or 1
            rest, count = left - share * count, 0
            for host in self.hosts:
                if not over and host.free <= 0:
                    continue
                number = share + (rest > 0) if over else min(share + (rest > 0), host.free)
                rest, count = rest - 1, count + 1
                left -= self._add(host, min(number, left), self.node.all)

    def _by_part(self, parts: Sequence[CpuSet]) -> None:
        if any(self.width > self.node.count(part) for part in parts[: self.total]):
            raise Refused(f"PE={self.width} is more cores than one of the objects that ranks are placed over has; nothing starts")
        left, again = self.total, False
        while left:
            for host in self.hosts:
                start, number = (0, host.free) if host.free > 0 else (len(host.procs) % len(parts), int(again))
                for i in range(min(number, left)):
                    at = (start + i) % len(parts)
                    left -= self._add(host, 1, parts[at], at)
            again = True

    def _ppr(self, each: int, kind: str) -> None:
        self.level = kind
        left = self.total
        for host in self.hosts:
            for at, part in enumerate((self.node.all,) if kind == "node" else self.node.parts(kind)):
                left -= self._add(host, min(each, left), part, at)
            if host.free < 0 and not self.want.oversubscribe:
                raise Refused(
                    f"{len(host.procs)} ranks on a host with {host.slots} slots, without --oversubscribe; nothing starts"
                )
        if left:
            raise Refused(f"ppr:{each}:{kind} has room for fewer than {self.total} ranks; nothing starts")

    def number(self) -> None:
        """Give ranks their numbers: host by host, hosts in turn, or of each part of a host one in turn."""
        want = self.want
        over = (
            want.level != "ppr" and (want.level or want.modifiers or want.pe) and (self.level == "node" or self.level in OBJECTS)
        )
        order = want.rank_by or (self.level if over else "slot")
        if order == "slot":
            numbered(proc for host in self.mapped for proc in host.procs)
        elif order == "node":
            deepest = max(len(host.procs) for host in self.mapped)
            numbered(host.procs[i] for i in range(deepest) for host in self.mapped if i < len(host.procs))
        else:
            numbered(proc for host in self.mapped for proc in _in_turn(host.procs, self.node.parts(order)))

    def _target(self) -> tuple[str, bool]:
        """Return what ranks are bound to, and whether the line itself says so."""
        want, unit = self.want, "hwthread" if self.node.threads else "core"
        if want.bind or want.pe:
            return want.bind or unit, True
        if any(host.free < 0 for host in self.hosts):
            return "none", False
        if want.level in OBJECTS or (want.level is None and "span" in want.modifiers):
            return want.level or self.level, False
        return unit if self.few else "numa" if self.node.parts("numa") else "package", False

    def bind(self) -> None:
        """Give every rank its CPUs; a default that does not fit leaves the ranks of a host unbound."""
        kind, given = self._target()
        if kind == "none":
            return
        if self.want.pe and kind != ("hwthread" if self.node.threads else "core"):
            raise Refused(f"PE={self.width} needs --bind-to core, and {kind} is asked for; nothing starts")
        parts = self.node.parts(kind)
        if not parts:
            raise Refused(f"--bind-to {kind}: this machine shows none; nothing starts")
        room = [self.node.count(part) for part in parts]
        for host in self.hosts:
            if (self._in_place if kind == self.level else self._below)(host, parts, room):
                continue
            if given:
                raise Refused(f"more ranks than cores are bound to one {kind}, without overload-allowed; nothing starts")
            for proc in host.procs:
                proc.cpus = None

    def _in_place(self, host: Host, parts: Sequence[CpuSet], room: Sequence[int]) -> bool:
        taken = [0] * len(parts)
        for proc in host.procs:
            at = proc.part
            if not room[at]:
                raise Refused("one of the objects has no core that counts; nothing starts")
            if taken[at] >= room[at]:
                beside = [*range(at + 1, len(parts)), *range(at - 1, -1, -1)]
                better = next((i for i in beside if taken[i] < room[i]), None)
                if better is None and not self.want.overload:
                    return False
                at = at if better is None else better
            taken[at] += 1
            proc.cpus = parts[at]
        return True

    def _below(self, host: Host, parts: Sequence[CpuSet], room: Sequence[int]) -> bool:
        taken = [0] * len(parts)
        touching = {home: [i for i, part in enumerate(parts) if part & home] for home in {proc.home for proc in host.procs}}
        for proc in host.procs:
            if not touching[proc.home]:
                raise Refused("there is nothing to bind to where ranks are placed; nothing starts")
            at, proc.cpus, found = min(touching[proc.home], key=taken.__getitem__), CpuSet(), 0
            while found < self.width:
                if at >= len(parts):
                    raise Refused(f"PE={self.width} is more cores than there are; nothing starts")
                taken[at] += 1
                if room[at] < taken[at] and not self.want.overload:
                    return False
                proc.cpus |= parts[at]
                found, at = found + max(1, room[at]), at + 1
        return True


def _in_turn(procs: Sequence[Proc], parts: Sequence[CpuSet]) -> Iterator[Proc]:
    """Yield the next rank of each part, again and again."""
    if not parts:
        raise Unclear("this machine shows nothing of what ranks are to be numbered by")
    queues: dict[CpuSet, deque[tuple[int, Proc]]] = {}
    for position, proc in enumerate(procs):
        queues.setdefault(proc.home, deque()).append((position, proc))
    touching = [[queue for home, queue in queues.items() if home & part] for part in parts]
    left = len(procs)
    while left:
        before = left
        for waiting in touching:
            if queue := min(filter(None, waiting), key=lambda queue: queue[0][0], default=None):
                left -= 1
                yield queue.popleft()[1]
        if before == left:
            raise Unclear("some ranks are in none of the parts of --rank-by")


def _placed(made: Prediction, node: NodeParts, hosts: list[Host]) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be; raise Refused or Unclear."""
    if made.want.level == "dist":
        return _by_distance(made)
    if made.want.level == "pe-list":
        return _listed(made.want, node, hosts)
    job = _Job(made.want, node, hosts)
    job.deal()
    job.number()
    job.bind()
    return ranks_in_order(job.hosts, job.total)


def _listed(want: Request, node: NodeParts, hosts: list[Host]) -> tuple[LintRank, ...]:
    """Return ranks that --cpu-set or --cpu-list binds: all to the whole list, or in the order of its CPUs' numbers."""
    if not want.cpus or want.oversubscribe:
        raise Unclear("a list of cores is worked out only where ranks have slots and the list is there")
    try:
        numbers = CpuSet.parse(want.cpus)
        cpus = node.known.pus_cpus(numbers) if want.hwthreads else node.known.cores_cpus(numbers)
    except BadValue as error:
        raise Refused(f"the list {want.cpus[:60]} cannot be used: {error.problem}") from error
    total, single = bounded(want.ranks or sum(host.slots for host in hosts)), list(cpus)
    places = [(host.name, local) for host in hosts for local in range(min(host.slots, total))][:total]
    if len(places) < total:
        raise Refused(f"{total} ranks, and there are {len(places)} slots; nothing starts")
    if want.ordered and any(local >= len(single) for _, local in places):
        raise Refused(f"the list has {len(single)} CPUs and more ranks are on a node; nothing starts")
    return tuple(
        LintRank(rank=rank, host=host, cpus=CpuSet([single[local]]) if want.ordered else cpus)
        for rank, (host, local) in enumerate(places)
    )


def _by_distance(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks that dist maps: to the cores of the adapter's NUMA node, in order."""
    want, places = made.want, dict(adapters(made.machine))
    if len(want.hosts) > 1:
        raise Unclear("dist on several hosts is not predicted here")
    if want.device not in places or want.bind != "core":
        raise Unclear(f"dist places ranks by distance to {want.device or 'a device that is not named'}")
    if len(places[want.device]) > 1:
        raise Unclear(f"on which NUMA node {want.device} is, is not known")
    every = logical_numbering(made.topology).cores
    own = union(node.cpuset for node in made.topology.inside.cpu_nodes if node.os_index in places[want.device])
    cores, count = [core for core in every if core <= own], want.ranks or len(every)
    if count > len(cores):
        raise Unclear(f"{count} ranks are more than the {len(cores)} cores of the adapter's node; the others follow by distance")
    host = want.hosts[0][0] if want.hosts else None
    return tuple(LintRank(rank=rank, host=host, cpus=cpus) for rank, cpus in enumerate(cores[:count]))


LAUNCHER = Launcher(
    name=NAME,
    title="Open MPI 4",
    order=10,
    launch=launch,
    aliases=("openmpi-4", "ompi4"),
    tools=TOOLS,
    variables=VARIABLES,
    ranks=RANKS,
    without_binding=UNBOUND,
    dialect=replace(
        openmpi5.LINES,
        ranks=lambda made: open_mpi_ranks(made, _placed),
        claim=lambda _words, _tools: 0,  # what speaks for 4 is looked at when it is Open MPI's
    ),
    unbound_line=unbound,
)
