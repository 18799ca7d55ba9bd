"""Open MPI 4 (and 3): mpirun of ORTE."""

from collections.abc import Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs import mpirun
from advisor.jobs.launcher import Avoided, Launch, Launcher, LaunchRequest, Lines
from advisor.jobs.launchers import openmpi5, wrapper
from advisor.jobs.launchers.openmpi5 import RANKS, TOOLS, UNBOUND, VARIABLES, unbound
from advisor.jobs.mpirun import Count, Fault, longest, rankfile
from advisor.jobs.openmpi_map import (
    Host,
    NodeParts,
    Proc,
    adapters,
    default_level,
    faultless,
    hosts_with_slots,
    listed4,
    not_here,
    number4,
    open_mpi_ranks,
    ranks_in_order,
)
from advisor.jobs.openmpi_words import settled4
from advisor.jobs.placement import LintRank, NodePlan, Placement
from advisor.jobs.request import OBJECTS, Local, Prediction, Refused, Release, Request, Unclear, bounded
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.numbering import logical_numbering
from advisor.machine.topology import Topology

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
    files: dict[str, Lines] = {}
    command = wish.command
    form: tuple[str, ...]
    if short:
        name, form = short.name, ("--map-by", short.map_by, "--bind-to", short.bind_to)
    elif device := _near(placement, plans, wish):
        name = "dist"
        form = ("--map-by", "dist:span", "--mca", "rmaps_dist_device", device, "--bind-to", "core")
    elif why := _no_rankfile(placement, wish, version):
        avoided.append(why)
        name, form = "wrapper", ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        command, files = wrapper.wrapped(wish.command), wrapper.files(placement)
    else:
        name, form = "rankfile", ("--rankfile", "rankfile", *_numbers(plans))
        files = {"rankfile": rankfile(placement, _count(plans))}
    options, hostfile = mpirun.hosts(placement)
    report = ("--report-bindings",) if wish.report else ()
    passed = tuple(mpirun.variables(wish, placement, name))
    argv = ("mpirun", "-np", str(placement.size), *options, *form, *report, *passed, *command)
    unknown = () if wish.version else ("version not known: written for Open MPI 4.1",)
    notes = (*unknown, *mpirun.notes(placement, name))
    return Launch(NAME, wish.version, name, argv, files={**files, **hostfile}, avoided=tuple(avoided), notes=notes)


def _count(plans: list[NodePlan]) -> Count:
    """Return what the rankfile's numbers are.

    Logical ones, but for hosts that differ: 4.x takes the topology of the first that answers for all hosts with as many
    objects, so that logical numbers would be looked up on the wrong one.
    """
    if mpirun.alike(plans):
        return "core" if mpirun.whole_cores(plans) else "thread"
    return "os core" if mpirun.whole_cores(plans) else "os"


def _numbers(plans: list[NodePlan]) -> tuple[str, ...]:
    """Return the options that go with what the rankfile's numbers are."""
    whole = mpirun.whole_cores(plans)
    threads = () if whole else ("--use-hwthread-cpus",)
    physical = () if mpirun.alike(plans) else ("--mca", "rmaps_rank_file_physical", "1")
    return (*threads, *physical, "--bind-to", "core" if whole else "hwthread")


def _no_rankfile(placement: Placement, wish: LaunchRequest, version: Release) -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    if why := mpirun.wants_wrapper(placement, wish):
        return Avoided("rankfile", why)
    if broken := mpirun.fault(FAULTS, "rankfile", version):
        return Avoided("rankfile", broken.reason)
    length = longest(placement, _count(mpirun.used(placement)), with_host=True)
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


class Job:
    """A program of a line on its hosts."""

    def __init__(self, want: Request, ground: NodeParts, whole: int) -> None:
        """Count its hosts' slots; ``whole`` is the ranks of all programs."""
        self.want, self.ground = want, ground
        self.hosts = hosts_with_slots(
            want, len(ground.known.pus if want.hwthread_slots or want.bind == "hwthread" else ground.known.cores)
        )
        self.width = want.pe or 1
        self.overload = want.overload or (want.oversubscribe_option and not want.bind)
        self.slots = sum(host.slots for host in self.hosts)
        self.total = bounded(whole or self._counted(), len(ground.known.cores))
        self.program = self.total
        self.few = self.total <= 2
        self.level = want.level or default_level(want, five=False, few=self.few)
        self.pass_limit = self._limit()
        """What -N beside --map-by allows a host in each turn."""
        self.mapped: list[Host] = []
        """The hosts in the order in which they got ranks."""
        self.known: set[int] = set()
        self.next_part = 0

    def _limit(self) -> int | None:
        want, each = self.want, self._per_host()
        if not each or not (want.level not in (None, "ppr") or (want.map_text or "").startswith(":")):
            return None
        if want.ranks is None:
            self._full(each)
            return None
        if "span" in want.modifiers and len(self.hosts) > 1:
            raise Unclear("how -N beside --map-by shares ranks with span over several hosts, is not worked out here")
        turns = self.total > each * (1 if want.level == "node" else len(self.hosts))
        if turns and want.level not in (None, "slot", "core", "hwthread"):
            raise Unclear("how ranks go on after a turn of -N beside --map-by, is not worked out here")
        return each

    def _full(self, each: int) -> None:
        """Raise Refused or Unclear where -N beside --map-by does not fill the slots of several hosts in whole turns."""
        slots = {host.slots for host in self.hosts}
        if len(slots) > 1:
            raise Unclear("how many ranks -N beside --map-by starts on hosts of unlike slots, is not worked out here")
        slot = max(slots)
        if len(self.hosts) == 1 or slot == each or (self.level != "slot" and not slot % each):
            return
        if self.want.oversubscribe or (self.level == "slot" and each > slot):
            raise Unclear("where ranks go that -N beside --map-by puts beyond the slots of a host, is not worked out here")
        raise Refused(f"{each} ranks for each host beside --map-by do not fill {slot} slots in turns, and no -np; nothing starts")

    def _counted(self) -> int:
        """Return the number of ranks of a line that does not say it: ppr is counted for hosts and sockets only."""
        ppr = self.want.ppr
        if ppr and ppr[1] in ("node", "package"):
            return ppr[0] * (1 if ppr[1] == "node" else len(self.ground.parts("package"))) * len(self.hosts)
        return self.slots

    def _per_host(self) -> int | None:
        want = self.want
        if want.per_socket:
            return want.per_socket * len(self.ground.parts("package"))
        return want.per_node

    def deal(self, program: int) -> None:
        """Give every host its ranks of one program; ranks over parts go on where those before ended."""
        self.program = program
        kind = self.want.level if self.want.level == "ppr" else self.level
        if kind == "ppr" and self.want.ppr:
            self._ppr(*self.want.ppr)
        elif kind == "slot":
            self._by_slot()
        elif kind == "node":
            self._by_node()
        elif kind in OBJECTS:
            parts = self.ground.parts(kind)
            if not parts:
                if "span" in self.want.modifiers or self.want.rank_by or self.want.hosts:
                    raise Unclear(f"this machine shows no {kind}")
                self.level = "slot"
                self._by_slot()
            elif "span" in self.want.modifiers:
                self._span(parts)
            else:
                self._by_part(parts)
        else:
            raise Unclear(f"--map-by {self.want.map_text or kind} is not worked out here")

    def _add(self, host: Host, home: CpuSet, part: int = 0) -> None:
        if id(host) not in self.known:
            self.known.add(id(host))
            self.mapped.append(host)
        host.procs.append(Proc(home, part))

    def _allowed(self, host: Host) -> None:
        """Raise Refused where a host has more ranks than slots and nothing allows that."""
        if host.free < 0 and not self.want.oversubscribe:
            raise Refused(f"{len(host.procs)} ranks on a host with {host.slots} slots, without --oversubscribe; nothing starts")

    def _enough(self) -> None:
        if self.slots < self.total and not self.want.oversubscribe:
            raise Refused(f"{self.total} ranks, and there are {self.slots} slots, outside a scheduler's job; nothing starts")

    def _by_slot(self) -> None:
        self._enough()
        left = self.program
        for host in self.hosts:
            if self.pass_limit and min(left, self.pass_limit) > host.free:
                raise Unclear("where ranks go that -N beside --map-by puts beyond the slots of a host, is not worked out here")
            for _ in range(min(left, host.free, self.pass_limit or host.free)):
                self._add(host, self.ground.all)
                left -= 1
        if not left:
            return
        more, rest = divmod(left, len(self.hosts))
        for position, host in enumerate(self.hosts):
            for _ in range(min(left, max(0, host.free) + more + (position < rest))):
                self._add(host, self.ground.all)
                left -= 1
            self._allowed(host)

    def _by_node(self) -> None:
        self._enough()
        room = sum(max(0, host.free) for host in self.hosts)  # for each program, not for all of them
        over = room < self.program
        if self.mapped and not room and len(self.hosts) > 1:
            raise Unclear("on which of several full hosts a later program begins is not worked out here")
        left, count = self.program, len(self.hosts)
        while left > 0 and count > 0:
            share = left // count or 1
            rest = left - share * count
            count = 0
            for host in self.hosts:
                if not over and host.free <= 0:
                    continue
                number = share + (rest > 0) if over else min(share + (rest > 0), host.free)
                rest -= 1
                count += 1
                for _ in range(min(number, left)):
                    self._add(host, self.ground.all)
                    left -= 1
                self._allowed(host)
                if not left:
                    return

    def _check_width(self, part: CpuSet) -> None:
        if self.width > self.ground.count(part):
            raise Refused(f"PE={self.width} is more cores than one of the objects that ranks are placed over has; nothing starts")

    def _by_part(self, parts: Sequence[CpuSet]) -> None:
        self._enough()
        left, second = self.program, False
        while left:
            for host in self.hosts:
                start, number = self.next_part, self._turn(host)
                if number < 1:
                    if not second:
                        continue
                    number, start = 1, len(host.procs) % len(parts)
                for i in range(min(number, left)):
                    at = (start + i) % len(parts)
                    self._check_width(parts[at])
                    self._add(host, parts[at], at)
                    left -= 1
                self._allowed(host)
                if not left:
                    self.next_part = (at + 1) % len(parts)
                    return
            second = True

    def _turn(self, host: Host) -> int:
        """Return how many ranks a host gets in one turn: what -N allows, be there room for them or not."""
        if self.pass_limit and self.program < self.total and self.pass_limit > host.free:
            raise Unclear("where a later program's ranks go beside -N and --map-by, is not worked out here")
        return self.pass_limit or host.free

    def _span(self, parts: Sequence[CpuSet]) -> None:
        """Share ranks evenly over the parts of all hosts; inside a host they are placed in turn."""
        self._enough()
        count = len(parts) * len(self.hosts)
        share = self.program // count or 1
        extra = max(0, self.program - share * count)
        left = self.program
        for host in self.hosts:
            shares = []
            for part in parts:
                self._check_width(part)
                shares.append(min(left, share + (extra > 0)))
                left -= shares[-1]
                extra -= 1
            for turn in range(max(shares)):
                for at, part in enumerate(parts):
                    if turn < shares[at]:
                        self._add(host, part, at)

    def _ppr(self, each: int, kind: str) -> None:
        self.level = kind
        parts = (self.ground.all,) if kind == "node" else self.ground.parts(kind)
        left = self.program
        for host in [host for host in self.hosts if host.free > 0] or self.hosts:  # a later program begins on those not full
            for at, part in enumerate(parts):
                for _ in range(min(each, left)):
                    self._add(host, part, at)
                    left -= 1
            if host.free < 0 and self.want.no_oversubscribe:
                raise Refused(f"{len(host.procs)} ranks on a host with {host.slots} slots; nothing starts")
            self._allowed(host)
            if not left:
                return
        raise Refused(f"ppr:{each}:{kind} has room for fewer than {self.program} ranks; nothing starts")

    def _target(self) -> tuple[str, bool]:
        """Return what ranks are bound to, and whether the line itself says so."""
        want = self.want
        if want.bind:
            return want.bind, True
        if want.pe:
            return ("hwthread" if self.ground.threads else "core"), True
        if any(host.free < 0 for host in self.hosts):
            return "none", False
        if want.level in OBJECTS or (want.level is None and "span" in want.modifiers):
            return want.level or self.level, False
        if self.few:
            return ("hwthread" if self.ground.threads else "core"), False
        return ("numa" if self.ground.parts("numa") else "package"), False

    def bind(self) -> None:
        """Give every rank its CPUs; a default that does not fit leaves the ranks of a host unbound."""
        kind, given = self._target()
        if kind == "none":
            return
        if self.want.pe and kind != ("hwthread" if self.ground.threads else "core"):
            raise Refused(f"PE={self.width} needs --bind-to core, and {kind} is asked for; nothing starts")
        parts = self.ground.parts(kind)
        if not parts:
            raise Refused(f"--bind-to {kind}: this machine shows none; nothing starts")
        for host in self.hosts:
            fits = self._in_place(host, parts) if kind == self.level else self._below(host, parts)
            if fits:
                continue
            if given:
                raise Refused(f"more ranks than cores are bound to one {kind}, without overload-allowed; nothing starts")
            for proc in host.procs:
                proc.cpus = None

    def _in_place(self, host: Host, parts: Sequence[CpuSet]) -> bool:
        room = [self.ground.count(part) for part in parts]
        taken = [0] * len(parts)
        for proc in host.procs:
            at = proc.part
            if not room[at]:
                raise Refused("one of the objects has no core that counts; nothing starts")
            if taken[at] >= room[at]:
                beside = [*range(at + 1, len(parts)), *range(at - 1, -1, -1)]
                better = next((i for i in beside if taken[i] < room[i]), None)
                if better is None and not self.overload:
                    return False
                at = at if better is None else better
            taken[at] += 1
            proc.cpus = parts[at]
        return True

    def _below(self, host: Host, parts: Sequence[CpuSet]) -> bool:
        room = [self.ground.count(part) for part in parts]
        taken = [0] * len(parts)
        touching: dict[CpuSet, list[int]] = {}
        for proc in host.procs:
            if proc.home not in touching:
                touching[proc.home] = [i for i, part in enumerate(parts) if part & proc.home]
            inside = touching[proc.home]
            if not inside:
                raise Refused("there is nothing to bind to where ranks are placed; nothing starts")
            at = min(inside, key=taken.__getitem__)
            chosen: list[CpuSet] = []
            found = 0
            while found < self.width:
                if at >= len(parts):
                    raise Refused(f"PE={self.width} is more cores than there are; nothing starts")
                taken[at] += 1
                if room[at] < taken[at] and not self.overload:
                    return False
                chosen.append(parts[at])
                found += max(1, room[at])
                at += 1
            proc.cpus = union(chosen)
        return True


def ranks(programs: Sequence[Request], topology: Topology) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be, program after program; raise Refused or Unclear."""
    want = programs[0]
    ground = NodeParts(topology, threads=want.hwthreads or "hwthread" in (want.level, want.bind))
    if want.level == "pe-list":
        if len(programs) > 1:
            raise Unclear("a list of cores for several programs is not worked out here")
        return listed4(want, ground)
    not_here(want)
    whole = sum(program.ranks or 0 for program in programs)
    if len({program.hosts for program in programs}) > 1:
        return _apart(programs, ground, whole)
    job = Job(want, ground, whole)
    for program in programs:
        before = [len(host.procs) for host in job.hosts]
        first = sum(before)
        job.deal(program.ranks or job.total)
        fresh = {id(host): Host(host.name, host.slots, host.procs[count:]) for host, count in zip(job.hosts, before, strict=True)}
        number4(want, job.level, [fresh[id(host)] for host in job.mapped], ground, first)
    total = sum(len(host.procs) for host in job.hosts)
    if not total:
        raise Refused("no rank is mapped; nothing starts")
    if len(programs) > 1 and job.level in OBJECTS and (len(job.mapped) > 1 or "span" in want.modifiers):
        raise Unclear("where a second program goes on over parts of several hosts is not worked out here")
    job.bind()
    return ranks_in_order(job.hosts, total)


def _apart(programs: Sequence[Request], ground: NodeParts, whole: int) -> tuple[LintRank, ...]:
    """Return the ranks of programs that have hosts of their own: each is a job, and all together are few or many."""
    hosts: list[Host] = []
    first = 0
    for program in programs:
        job = Job(program, ground, whole)
        job.total = program.ranks or 0
        job.deal(job.total)
        number4(program, job.level, job.mapped, ground, first)
        job.bind()
        hosts += job.hosts
        first += job.total
    return ranks_in_order(hosts, first)


def ranks4(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of Open MPI 4; raise Refused or Unclear."""
    return open_mpi_ranks(made, _placed4)


def _placed4(made: Prediction, parts: tuple[Request, ...]) -> tuple[LintRank, ...]:
    if made.want.level == "dist":
        return _by_distance(made)
    faultless(parts)
    return ranks(parts, made.topology)


def _by_distance(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks that Open MPI 4 maps by their distance to an adapter."""
    want = made.want
    if len(want.hosts) > 1:
        raise Unclear("dist on several hosts is not worked out here")
    host, count = want.hosts[0][0] if want.hosts else None, want.ranks or len(logical_numbering(made.topology).cores)
    return tuple(LintRank(rank=rank, host=host, cpus=cpus) for rank, cpus in enumerate(_cores_near(made, count)))


def _cores_near(made: Prediction, count: int) -> Local:
    """Return the cores of the adapter's NUMA node, in order: what ``dist`` gives."""
    places = dict(adapters(made.machine))
    if made.want.device not in places or made.want.bind != "core":
        raise Unclear(f"dist places ranks by distance to {made.want.device or 'a device that is not named'}")
    if len(places[made.want.device or ""]) > 1:
        raise Unclear(f"on which NUMA node {made.want.device} is, is not known")
    own = union(node.cpuset for node in made.topology.inside.cpu_nodes if node.os_index in places[made.want.device or ""])
    cores = [core for core in logical_numbering(made.topology).cores if core <= own]
    if count > len(cores):
        raise Unclear(f"{count} ranks are more than the {len(cores)} cores of the adapter's node; the others follow by distance")
    return tuple(cores[:count])


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
    job=openmpi5.JOB,
    dialect=replace(
        openmpi5.LINES,
        ranks=ranks4,
        claim=lambda _words, _tools: 0,  # what speaks for 4 is looked at when it is Open MPI's
        settle=settled4,
    ),
    unbound_line=unbound,
)
