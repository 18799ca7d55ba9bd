"""Open MPI 5: mpirun of PRRTE 3, and the spellings of PRRTE's development branch."""

from collections.abc import Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs import mpirun
from advisor.jobs.launcher import Avoided, Dialect, JobScript, Launch, Launcher, LaunchRequest, Lines, RankVariables
from advisor.jobs.launchers import wrapper
from advisor.jobs.mpirun import Fault, Form, fits, longest, rankfile
from advisor.jobs.openmpi_map import (
    Host,
    NodeParts,
    Proc,
    default_level,
    faultless,
    hosts_with_slots,
    listed5,
    not_here,
    number5,
    open_mpi_ranks,
    ranks_in_order,
)
from advisor.jobs.openmpi_request import of_open_mpi, open_mpi_lists
from advisor.jobs.openmpi_words import OPENMPI, OPENMPI_ALIASES, long_or_short, open_mpi_claim, settled5, which_open_mpi
from advisor.jobs.placement import LintRank, NodePlan, Placement
from advisor.jobs.request import MAIN, OBJECTS, Prediction, Refused, Release, Request, Unclear, bounded
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.numbering import logical_numbering
from advisor.machine.topology import Topology

NAME = "openmpi5"


TOOLS = ("openmpi", "prrte")
VARIABLES = ("OMPI_", "PRTE_", "PMIX_")


RANKS = RankVariables(
    rank=("OMPI_COMM_WORLD_RANK", "PMIX_RANK"), size=("OMPI_COMM_WORLD_SIZE",), local=("OMPI_COMM_WORLD_LOCAL_RANK",)
)


UNBOUND = ("--bind-to", "none")


JOB = JobScript()


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    each = -(-total // max(1, len(hosts)))
    named = ("--host", ",".join(f"{name}:{each}" for name in hosts)) if hosts else ()
    return "mpirun", "-np", str(total), *named, *UNBOUND


FAULTS = (
    Fault(
        "hwthreads", (5, 0, 0), (5, 0, 5), "5.0.0 to 5.0.5 take the numbers of hardware threads for cores (open-mpi/ompi#12967)"
    ),
    # Seen in 5.0.11 (tests/test_binding_openmpi.py): PMIX_ERR_UNPACK_INADEQUATE_SPACE, no rank started, exit status 0.
    Fault(
        "ppr in part", (5, 0, 0), (5, 999, 0), "5.0 starts no rank, and ends as if all were well, where the last part is not full"
    ),
)


_SUPPOSED: Release = (5, 0, 0)
"""What is written where the version is not known: what all of 5.0 understand."""


_LONGEST = 63
"""Characters of a slot list: 5.x drops what is longer, silently (a list of 66 lost its last core)."""


_MOST_LISTED = 32
"""Cores that a line enumerates: pe-list takes no ranges, it counts one as a single CPU."""


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line for Open MPI 5: a short form where that is the plan, else a rankfile, else the wrapper."""
    version = mpirun.release(wish.version) if wish.version else _SUPPOSED
    if version < (5, 0, 0):
        raise BadValue(f"Open MPI {wish.version} is started in another way", cure="ask for the launcher openmpi4")
    plans = mpirun.used(placement)
    last = next(host.ranks for host in reversed(placement.hosts) if host.ranks)
    partly = mpirun.fault(FAULTS, "ppr in part", version)
    short, avoided = mpirun.short_form(
        placement, wish, "package", lambda form: partly.reason if partly and form.deals and last % form.deals else None
    )
    short = short or _listed(placement, plans, wish)
    files: dict[str, Lines] = {}
    command = wish.command
    form: tuple[str, ...]
    if short:
        name, form = short.name, ("--map-by", short.map_by, "--bind-to", short.bind_to)
    elif why := _no_rankfile(placement, plans, wish, version):
        avoided.append(why)
        name, form = "wrapper", ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        command, files = wrapper.wrapped(wish.command), wrapper.files(placement)
    else:
        whole = mpirun.whole_cores(plans)
        name, form = "rankfile", _with_rankfile(plans)
        files = {"rankfile": rankfile(placement, "core" if whole else "thread")}
    # Without it 5.x looks CPU numbers up on the first node for all nodes that have as many objects.
    differ = () if mpirun.alike(plans) else ("--hetero-nodes",)
    options, hostfile = mpirun.hosts(placement)
    report = ("--display", "bind") if wish.report else ()
    passed = tuple(mpirun.variables(wish, placement, name))
    argv = ("mpirun", *differ, "-np", str(placement.size), *options, *_spelled(form, version), *report, *passed, *command)
    unknown = () if wish.version else ("version not known: written for all of Open MPI 5.0",)
    notes = (*unknown, *mpirun.notes(placement, name))
    return Launch(NAME, wish.version, name, argv, files={**files, **hostfile}, avoided=tuple(avoided), notes=notes)


def _with_rankfile(plans: list[NodePlan]) -> tuple[str, ...]:
    whole = mpirun.whole_cores(plans)
    shared = ":overload-allowed" if mpirun.overlapping(plans) else ""
    source = "rankfile:file=rankfile" + ("" if whole else ":hwtcpus")
    return "--map-by", source, "--bind-to", ("core" if whole else "hwthread") + shared


def _spelled(options: tuple[str, ...], version: Release) -> tuple[str, ...]:
    """Return options as a version spells them: the development branch wants --mapby and --bindto."""
    if version != MAIN:
        return options
    return tuple({"--map-by": "--mapby", "--bind-to": "--bindto"}.get(word, word) for word in options)


def _listed(placement: Placement, plans: list[NodePlan], wish: LaunchRequest) -> Form | None:
    """Return the list of cores that is the plan on every host, where each rank has one core and they are few."""
    if wish.exact or mpirun.wants_wrapper(placement, wish) or not mpirun.alike(plans) or not mpirun.whole_cores(plans):
        return None
    if mpirun.outside(plans):  # 5.0 takes the cores of a list that are in no socket for a rank across sockets, and ends
        return None
    longest_plan = max(plans, key=lambda plan: len(plan.slots))
    known = logical_numbering(longest_plan.topology)
    numbers = [known.core_numbers(slot.cpus) for slot in longest_plan.slots]
    if len(numbers) > _MOST_LISTED or any(len(number) != 1 for number in numbers) or mpirun.overlapping(plans):
        return None
    form = Form(f"pe-list={','.join(map(str, numbers))}:ordered")
    return form if fits(form, placement) else None


def _no_rankfile(placement: Placement, plans: list[NodePlan], wish: LaunchRequest, version: Release) -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    whole = mpirun.whole_cores(plans)
    if why := mpirun.wants_wrapper(placement, wish):
        return Avoided("rankfile", why)
    if not whole and (broken := mpirun.fault(FAULTS, "hwthreads", version)):
        return Avoided("rankfile of hardware threads", broken.reason)
    length = longest(placement, "core" if whole else "thread", with_host=False)
    if length > _LONGEST:
        return Avoided("rankfile", f"a slot list has {length} characters, and 5.x drops what is beyond {_LONGEST}, silently")
    return None


DEPTH = {"none": 0} | {kind: depth for depth, kind in enumerate(reversed(OBJECTS), 1)}
"""How deep in a machine things are: ranks are not bound to what lies above that which they are spread over."""


class Full(Exception):  # noqa: N818 - no error: the host takes no more
    """A host takes no more ranks."""


class FreeHost:
    """A host and the cores that are left on it."""

    def __init__(self, host: Host, free: CpuSet) -> None:
        self.host, self.free, self.at_first = host, free, free
        self.offer = host.slots
        """The slots that were free before the program that is placed."""


def open_cores(want: Request, topology: Topology) -> CpuSet:
    """Return the CPUs that ranks may have on each host: all, or the cores that hwloc_default_cpu_list names."""
    known = logical_numbering(topology)
    everything, listed = CpuSet(known.pus), want.parameters.get("hwloc_default_cpu_list")
    if not listed:
        return everything
    threads = want.hwthreads or "hwthread" in (want.bind, want.level)
    if want.overload or want.level == "pe-list" or (threads and any(len(core) > 1 for core in known.cores)):
        raise Unclear("hwloc_default_cpu_list beside such directives is not worked out here")
    try:
        numbers = CpuSet.parse(listed)
    except BadValue as error:
        raise Unclear(f"hwloc_default_cpu_list={listed[:40]} is no list of cores") from error
    return union(known.cores[number] for number in numbers if number < len(known.cores))


def _counted(want: Request, ground: NodeParts, hosts: int, slots: int) -> int:
    """Return the number of ranks of a line that does not say it."""
    if want.ppr:
        return want.ppr[0] * (1 if want.ppr[1] == "node" else len(ground.parts(want.ppr[1]))) * hosts
    if (want.pe or 1) > 1:
        return max(1, min(slots, hosts * (len(ground.units) // (want.pe or 1))))
    return slots


class Free:
    """What a program of a line wants, and the hosts with the cores that those before it left."""

    def __init__(self, want: Request, topology: Topology, seats: list[FreeHost], whole: int) -> None:
        self.want, self.seats = want, seats
        self.ground = NodeParts(topology, threads=want.hwthreads or want.level == "hwthread")
        self.width = want.pe or 1
        for seat in seats:
            seat.offer = max(0, seat.host.free)
        self.slots = sum(seat.offer for seat in seats)
        self.total = bounded(want.ranks or _counted(want, self.ground, len(seats), self.slots), len(self.ground.known.cores))
        self.few = max(whole, self.total) <= 2
        self.level = want.level or default_level(want, five=True, few=self.few)
        self.ppr = want.ppr if self.level == "ppr" else None
        if self.ppr:
            self.level = self.ppr[1]
        self.bound, self.given = self._target()
        self._refuse()
        self.mapped: list[FreeHost] = []
        self.used: set[FreeHost] = set()
        self.left = 0

    def _target(self) -> tuple[str, bool]:
        want = self.want
        unit = "hwthread" if self.ground.threads else "core"
        if want.bind:
            return want.bind, True
        if self.width > 1:
            return unit, True
        if want.oversubscribe:
            return "none", False
        if want.pe:
            return unit, False
        if self.level in OBJECTS:
            return self.level, False
        if self.few:
            return unit, False
        return ("numa" if self.ground.parts("numa") else "package"), False

    def _refuse(self) -> None:
        want = self.want
        if self.width > 1 and (self.level == "hwthread" or (self.level == "core" and not self.ground.threads)):
            raise Refused(f"PE={self.width} is more than one {self.level} has; nothing starts")
        if DEPTH.get(self.level, 0) > DEPTH[self.bound] and self.bound != "none":
            raise Refused(f"--bind-to {self.bound} is larger than what ranks are placed over, which 5.x refuses; nothing starts")
        if want.pe and self.given and self.bound not in ("core", "hwthread"):
            raise Refused(f"PE={self.width} needs --bind-to core or hwthread, and {self.bound} is asked for; nothing starts")
        if self.width > 1:
            self.ground = NodeParts(self.ground.topology, threads=self.bound == "hwthread")
        order = want.rank_by or ("span" if self.ppr and "span" in want.modifiers else "")
        if order in ("fill", "span") and self.level not in OBJECTS:
            raise Refused(f"--rank-by {order} needs a --map-by over parts of the node; nothing starts")

    def place(self, seat: FreeHost, target: CpuSet, part: CpuSet | None, number: int) -> None:
        """Put a rank on a host; raise Full where the host has taken its last one."""
        home = self.ground.all if part is None else part
        proc = Proc(home, number)
        proc.cpus = self._cpus(seat, target, part)
        if seat not in self.used:
            self.used.add(seat)
            self.mapped.append(seat)
        seat.host.procs.append(proc)
        if not self.want.oversubscribe and seat.host.free == 0:
            raise Full

    def _cpus(self, seat: FreeHost, target: CpuSet, part: CpuSet | None) -> CpuSet | None:
        if self.bound == "none":
            return None
        if self.width > 1:
            return self._several(seat, target, part)
        inside = target & (self.ground.all if part is None else part)
        things = self.ground.parts(self.bound)
        if not things:
            if self.given:
                raise Refused(f"--bind-to {self.bound}: this machine shows none; nothing starts")
            return None
        for thing in things:
            usable = seat.free & thing & inside
            units = self.ground.units_in(usable) if usable else []
            if units:
                seat.free = seat.free - units[0]
                if not seat.free and self.want.overload:
                    seat.free = seat.at_first
                return thing
        if self.given:
            raise Refused("more ranks than cores where they are placed, without overload-allowed; nothing starts")
        return None

    def _several(self, seat: FreeHost, target: CpuSet, part: CpuSet | None) -> CpuSet | None:
        usable = target & seat.free & (self.ground.all if part is None else part)
        if part is None:
            packages = self.ground.parts("package")
            usable = next((usable & p for p in packages if self.ground.count(usable & p) >= self.width), CpuSet())
            if not usable and self.want.overload:
                raise Unclear(f"PE={self.width} where ranks may share cores is not worked out here")
            if not usable:
                raise Refused(f"no socket has {self.width} cores left for a rank; nothing starts")
        units = self.ground.units_in(usable)[: self.width]
        if len(units) < self.width and self.want.overload:
            raise Unclear(f"PE={self.width} where ranks may share cores is not worked out here")
        if len(units) < self.width:
            raise Refused(f"PE={self.width} for {self.total} ranks is more cores than there are; nothing starts")
        seat.free = seat.free - union(units)
        return union(units)

    def room(self, snapshot: CpuSet, wanted: int) -> int | None:
        """Return how many of the wanted ranks a host's free cores allow; None where it takes none."""
        if self.bound == "none":
            return wanted
        fit = self.ground.count(snapshot) // self.width
        if wanted < fit or self.want.overload:
            return wanted
        return fit or None

    def unbind_if_crowded(self, seat: FreeHost, number: int) -> None:
        """Leave the ranks of a host unbound where slots allow more than it has cores and the line says nothing of binding."""
        if not self.given and self.ground.count(seat.free) < number <= seat.host.free:
            self.bound = "none"

    def lacks(self, free: CpuSet, cores: int) -> bool:
        """Whether there are fewer free cores than ranks need that are bound to cores of their own."""
        return self.bound != "none" and not self.want.overload and self.ground.count(free) < cores


def ranks(programs: Sequence[Request], topology: Topology) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be, program after program; raise Refused or Unclear."""
    want = programs[0]
    not_here(want)
    known = logical_numbering(topology)
    apart = len({program.hosts for program in programs}) > 1
    named = tuple(host for program in programs for host in program.hosts) if apart else want.hosts
    hosts = hosts_with_slots(replace(want, hosts=named), len(known.pus if want.hwthread_slots else known.cores))
    free = open_cores(want, topology)
    seats = [FreeHost(host, free) for host in hosts]
    whole = sum(program.ranks or 0 for program in programs)
    for program in programs:
        before = [len(host.procs) for host in hosts]
        first = sum(before)
        if program.level == "pe-list":
            listed5(program, topology, hosts)
            continue
        own = [seat for seat in seats if not apart or seat.host.name in dict(program.hosts)]
        job = _Job(program, topology, own, whole)
        job.deal()
        fresh = [Host(host.name, host.slots, host.procs[count:]) for host, count in zip(hosts, before, strict=True)]
        place = dict(zip(seats, fresh, strict=True))
        order = [place[seat] for seat in job.mapped]
        number5(program, job.level, order, job.ground, first)
        if job.left < 0:  # only what has a number below theirs is started
            for host in hosts:
                host.procs = [proc for proc in host.procs if proc.rank is not None and proc.rank < first + job.total]
    total = sum(len(host.procs) for host in hosts)
    if not total:
        raise Refused("no rank is mapped; nothing starts")
    return ranks_in_order(hosts, total)


class _Job(Free):
    def deal(self) -> None:
        """Give every host its ranks."""
        if self.total > self.slots:
            if not self.want.oversubscribe:
                raise Refused(f"{self.total} ranks, and there are {self.slots} slots, outside a scheduler's job; nothing starts")
            if not self.given:
                self.bound = "none"
        if self.ppr:
            self._ppr(self.ppr[0])
        elif self.level == "slot":
            self._by_slot()
        elif self.level == "node":
            self._by_node()
        elif self.level in OBJECTS:
            self._by_part()
        else:
            raise Unclear(f"--map-by {self.want.map_text or self.level} is not worked out here")

    def _by_slot(self) -> None:
        left = self.total
        for seat in self.seats:
            left -= self._fill(seat, max(0, seat.host.free), left)[0]
        if left:  # more ranks than slots: the rest is shared out
            more, rest = divmod(left, len(self.seats))
            for position, seat in enumerate(self.seats):
                left -= self._fill(seat, more + (position < rest), left)[0]
        self._none_left(left)

    def _by_node(self) -> None:
        left = self.total
        for _ in range(2):
            each = left // len(self.seats) or 1
            for seat in self.seats:
                if left:
                    placed, each = self._fill(seat, each, left)  # what one host has no room for, the next does not get either
                    left -= placed
        self._none_left(left)

    def _none_left(self, left: int) -> None:
        if left:
            raise Refused(f"{left} of {self.total} ranks find no room; nothing starts")

    def _fill(self, seat: FreeHost, number: int, left: int) -> tuple[int, int]:
        """Put up to a number of ranks on a host; return how many, and how many it had room for."""
        if not self.want.oversubscribe:
            number = min(number, seat.offer)
            if seat.host.free <= 0:
                return 0, number
        bound = self.bound
        self.unbind_if_crowded(seat, number)
        room = self.room(seat.free, number)
        target, placed = seat.free, 0
        try:
            for _ in range(min(room or 0, left)):
                placed += 1
                self.place(seat, target, None, 0)
        except Full:
            pass
        self.bound = bound
        return placed, number if room is None else room

    def _by_part(self) -> None:
        parts = self.ground.parts(self.level)
        if len(self.seats) > 1 and self.total > len(parts) and self.ground.hides(self.level):
            raise Unclear("parts that the process may not use are counted too, and how on several hosts is not worked out here")
        waiting = [seat for seat in self.seats if parts and (self.want.oversubscribe or seat.host.free > 0)]
        self.left, moved = self.total, True
        while self.left and moved:
            moved = False
            left_open = []
            for seat in waiting:
                full, placed = self._rounds(seat, parts)
                moved = moved or placed
                if not full:
                    left_open.append(seat)
                if not self.left:
                    return
            waiting = left_open
        self._none_left(self.left)

    def _rounds(self, seat: FreeHost, parts: Sequence[CpuSet]) -> tuple[bool, bool]:
        """Give one rank to each part again and again until the host is full or short of cores; say which, and if any."""
        moved = False
        while True:
            placed = short = False
            for at, part in enumerate(parts):
                if not self.left:
                    return False, True
                if self.lacks(seat.free & part, self.width):
                    short = True
                    continue
                self.left -= 1
                placed = moved = True
                try:
                    self.place(seat, seat.free & part, part, at)
                except Full:
                    return True, True
            if short or not placed or "span" in self.want.modifiers:
                return False, moved

    def _ppr(self, each: int) -> None:
        self.left = self.total
        bound = self.bound
        for seat in self.seats:
            self._pattern(seat, each)
            self.bound = bound
        if self.left > 0:
            raise Refused(f"{self.want.map_text or 'that'} has room for fewer than {self.total} ranks; nothing starts")
        order = self.want.rank_by or ("span" if "span" in self.want.modifiers else "slot")
        if self.left < 0 and order == "node":
            raise Unclear(f"which of the ranks of {self.want.map_text} are left out is not worked out here")
        if self.left < 0 and order == "slot":
            raise Refused(
                f"{self.total} ranks are not a multiple of {self.want.map_text}: 5.0 starts none, and ends as if all were well"
            )

    def _pattern(self, seat: FreeHost, each: int) -> None:
        """Put so many ranks on each part of a host, or on the host."""
        whole = self.level == "node"
        parts: Sequence[CpuSet | None] = (None,) if whole else self.ground.parts(self.level)
        self.unbind_if_crowded(seat, each * len(parts))
        snapshot = seat.free
        for at, part in enumerate(parts):
            if self.left <= 0 or (not self.want.oversubscribe and seat.host.free <= 0):
                return
            target = snapshot if part is None else snapshot & part
            if self.lacks(target, each * self.width):
                continue
            try:
                for _ in range(min(each, self.left) if whole else each):
                    self.left -= 1
                    self.place(seat, target, part, at)
            except Full:
                continue


def ranks5(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of Open MPI 5; raise Refused or Unclear."""
    return open_mpi_ranks(made, _placed5)


def _placed5(made: Prediction, parts: tuple[Request, ...]) -> tuple[LintRank, ...]:
    faultless(parts)
    return ranks(parts, made.topology)


LINES = Dialect(
    programs=("mpirun", "mpiexec", "orterun", "prterun", "prun"),
    options=OPENMPI,
    aliases=OPENMPI_ALIASES,
    ranks=ranks5,
    request=of_open_mpi,
    claim=open_mpi_claim,
    which=which_open_mpi,
    lists=open_mpi_lists,
    spellings=long_or_short,
    equals=True,
    settle=settled5,
)


LAUNCHER = Launcher(
    name=NAME,
    title="Open MPI 5",
    order=11,
    launch=launch,
    aliases=("openmpi-5", "ompi5", "openmpi", "ompi", "prrte"),
    tools=TOOLS,
    variables=VARIABLES,
    ranks=RANKS,
    without_binding=UNBOUND,
    job=JOB,
    dialect=LINES,
    unbound_line=unbound,
)
