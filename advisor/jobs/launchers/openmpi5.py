"""Open MPI 5: mpirun of PRRTE 3, and the spellings of PRRTE's development branch."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from advisor.errors import BadValue
from advisor.jobs import mpirun
from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, RankVariables
from advisor.jobs.mpirun import Count, Fault, Form, fits, longest
from advisor.jobs.openmpi import (
    OPENMPI,
    OPENMPI_ALIASES,
    long_or_short,
    of_open_mpi,
    open_mpi_claim,
    open_mpi_lists,
    which_open_mpi,
)
from advisor.jobs.openmpi_map import Host, NodeParts, Proc, default_level, numbered, open_mpi_ranks, ranks_in_order
from advisor.jobs.placement import LintRank, NodePlan, Placement
from advisor.jobs.request import MAIN, OBJECTS, Prediction, Refused, Release, Request, Unclear, bounded
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering

NAME = "openmpi5"


TOOLS = ("openmpi", "prrte")
VARIABLES = ("OMPI_", "PRTE_", "PMIX_")


RANKS = RankVariables(
    rank=("OMPI_COMM_WORLD_RANK", "PMIX_RANK"), size=("OMPI_COMM_WORLD_SIZE",), local=("OMPI_COMM_WORLD_LOCAL_RANK",)
)


UNBOUND = ("--bind-to", "none")


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
    whole = mpirun.whole_cores(plans)
    count: Count = "core" if whole else "thread"
    shared = ":overload-allowed" if mpirun.overlapping(plans) else ""
    source = "rankfile:file=rankfile" + ("" if whole else ":hwtcpus")
    by_file = ("--map-by", source, "--bind-to", ("core" if whole else "hwthread") + shared)
    why = None if short else _no_rankfile(placement, wish, version, count)
    # Without it 5.x looks CPU numbers up on the first node for all nodes that have as many objects.
    differ = () if mpirun.alike(plans) else ("--hetero-nodes",)
    spelled = {"--map-by": "--mapby", "--bind-to": "--bindto"} if version == MAIN else {}
    note = "written for all of Open MPI 5.0"
    return mpirun.launched(
        placement,
        wish,
        mpirun.Writing(NAME, short, why, by_file, count, tuple(avoided), note, ("--display", "bind"), differ, spelled),
    )


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


def _no_rankfile(placement: Placement, wish: LaunchRequest, version: Release, count: Count) -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    if why := mpirun.wants_wrapper(placement, wish):
        return Avoided("rankfile", why)
    if count == "thread" and (broken := mpirun.fault(FAULTS, "hwthreads", version)):
        return Avoided("rankfile of hardware threads", broken.reason)
    length = longest(placement, count, with_host=False)
    if length > _LONGEST:
        return Avoided("rankfile", f"a slot list has {length} characters, and 5.x drops what is beyond {_LONGEST}, silently")
    return None


_DEPTH = {"none": 0} | {kind: depth for depth, kind in enumerate(reversed(OBJECTS), 1)}
"""How deep in a machine things are: ranks are not bound to what lies above that which they are spread over."""


class _Full(Exception):  # noqa: N818 - no error: the host takes no more
    """A host takes no more ranks."""


class _Job:
    """The ranks of a line, its hosts, and the CPUs that are left on each."""

    def __init__(self, want: Request, node: NodeParts, hosts: list[Host]) -> None:
        self.want, self.node, self.hosts = want, node, hosts
        self.free = {host.name: node.all for host in hosts}
        self.width = want.pe or 1
        self.slots = sum(host.slots for host in hosts)
        counted = self.slots
        if want.ppr:
            counted = want.ppr[0] * (1 if want.ppr[1] == "node" else len(node.parts(want.ppr[1]))) * len(hosts)
        elif self.width > 1:
            counted = max(1, min(self.slots, len(hosts) * (len(node.units) // self.width)))
        self.total = bounded(want.ranks or counted, len(node.known.cores))
        few = self.total <= 2
        self.level = want.level or default_level(want, five=True, few=few)
        self.ppr = want.ppr[0] if want.ppr and self.level == "ppr" else 0
        if want.ppr and self.ppr:
            self.level = want.ppr[1]
        unit = "hwthread" if node.threads else "core"
        self.given = bool(want.bind) or self.width > 1
        """Whether the line itself says what ranks are bound to."""
        if self.given:
            self.bound = want.bind or unit
        elif want.oversubscribe:
            self.bound = "none"
        elif want.pe or (few and self.level not in OBJECTS):
            self.bound = unit
        else:
            self.bound = self.level if self.level in OBJECTS else "numa" if node.parts("numa") else "package"
        self._refuse()
        self.mapped: list[Host] = []
        """The hosts in the order in which they got ranks."""
        self.left = self.total

    def _refuse(self) -> None:
        want, wide = self.want, self.width > 1
        if wide and (self.level == "hwthread" or (self.level == "core" and not self.node.threads)):
            raise Refused(f"PE={self.width} is more than one {self.level} has; nothing starts")
        if _DEPTH.get(self.level, 0) > _DEPTH[self.bound] and self.bound != "none":
            raise Refused(f"--bind-to {self.bound} is larger than what ranks are placed over, which 5.x refuses; nothing starts")
        if want.pe and self.given and self.bound not in ("core", "hwthread"):
            raise Refused(f"PE={self.width} needs --bind-to core or hwthread, and {self.bound} is asked for; nothing starts")
        if wide:
            self.node = NodeParts(self.node.topology, threads=self.bound == "hwthread")
        if want.rank_by in ("fill", "span") and self.level not in OBJECTS:
            raise Refused(f"--rank-by {want.rank_by} needs a --map-by over parts of the node; nothing starts")
        if "span" in want.modifiers and (self.ppr or len(self.hosts) > 1):
            raise Unclear("span beside ppr or on several hosts is not predicted here")

    def deal(self) -> None:
        """Give every host its ranks."""
        if self.total > self.slots:
            if not self.want.oversubscribe:
                raise Refused(f"{self.total} ranks, and there are {self.slots} slots, outside a scheduler's job; nothing starts")
            if not self.given:
                self.bound = "none"
        if self.ppr:
            self._by_pattern()
        elif self.level in ("slot", "node"):
            self._by_host()
        elif self.level in OBJECTS:
            self._by_part(self.node.parts(self.level))
        else:
            raise Unclear(f"--map-by {self.want.map_text or self.level} is not predicted here")
        if self.left > 0:
            raise Refused(f"{self.left} of {self.total} ranks find no room; nothing starts")

    def _by_host(self) -> None:
        if self.level == "slot":
            for host in self.hosts:
                self._fill(host, host.free)
            more, rest = divmod(self.left, len(self.hosts))
            for position, host in enumerate(self.hosts if self.left else ()):  # more ranks than slots: the rest is shared out
                self._fill(host, more + (position < rest))
            return
        for _ in range(2):
            each = self.left // len(self.hosts) or 1
            for host in self.hosts:
                each = self._fill(host, each) if self.left else each  # what one has no room for, the next does not get either

    def _fill(self, host: Host, number: int) -> int:
        """Put up to a number of ranks on a host; return how many it had room for."""
        if not self.want.oversubscribe:
            if host.free <= 0:
                return min(number, host.slots)
            number = min(number, host.slots)
        bound, free = self.bound, self.free[host.name]
        self._unbind_if_crowded(host, number)
        room: int | None = number
        fit = self.node.count(free) // self.width
        if self.bound != "none" and number >= fit and not self.want.overload:
            room = fit or None
        try:
            for _ in range(min(room or 0, self.left)):
                self._place(host, free, None, 0)
        except _Full:
            pass
        self.bound = bound
        return number if room is None else room

    def _place(self, host: Host, target: CpuSet, part: CpuSet | None, number: int) -> None:
        """Put a rank on a host; raise _Full where the host has taken its last one."""
        self.left -= 1
        home = self.node.all if part is None else part
        if self.bound == "none":
            cpus = None
        elif self.width > 1:
            cpus = self._several(host, target, part)
        else:
            cpus = self._one(host, target & home)
        if host not in self.mapped:
            self.mapped.append(host)
        host.procs.append(Proc(home, number, cpus))
        if not self.want.oversubscribe and host.free == 0:
            raise _Full

    def _one(self, host: Host, inside: CpuSet) -> CpuSet | None:
        things, free = self.node.parts(self.bound), self.free[host.name]
        for thing in things:
            if units := self.node.units_in(free & thing & inside):
                rest = free - units[0]
                self.free[host.name] = rest if rest or not self.want.overload else self.node.all
                return thing
        if not self.given:
            return None
        if not things:
            raise Refused(f"--bind-to {self.bound}: this machine shows none; nothing starts")
        raise Refused("more ranks than cores where they are placed, without overload-allowed; nothing starts")

    def _several(self, host: Host, target: CpuSet, part: CpuSet | None) -> CpuSet:
        usable = target & self.free[host.name] & (self.node.all if part is None else part)
        if part is None:
            packages = self.node.parts("package")
            usable = next((usable & p for p in packages if self.node.count(usable & p) >= self.width), CpuSet())
        units = self.node.units_in(usable)[: self.width]
        if len(units) < self.width and self.want.overload:
            raise Unclear(f"PE={self.width} where ranks may share cores is not predicted here")
        if part is None and not usable:
            raise Refused(f"no socket has {self.width} cores left for a rank; nothing starts")
        if len(units) < self.width:
            raise Refused(f"PE={self.width} for {self.total} ranks is more cores than there are; nothing starts")
        self.free[host.name] -= union(units)
        return union(units)

    def _unbind_if_crowded(self, host: Host, number: int) -> None:
        """Leave the ranks of a host unbound where slots allow more than it has cores and the line says nothing of binding."""
        if not self.given and self.node.count(self.free[host.name]) < number <= host.free:
            self.bound = "none"

    def _lacks(self, free: CpuSet, cores: int) -> bool:
        """Whether there are fewer free cores than ranks need that are bound to cores of their own."""
        return self.bound != "none" and not self.want.overload and self.node.count(free) < cores

    def _by_part(self, parts: Sequence[CpuSet]) -> None:
        topology = self.node.topology
        if len(self.hosts) > 1 and self.total > len(parts) and topology.inside != topology:
            raise Unclear("parts that the process may not use are counted too, and how on several hosts is not predicted here")
        waiting, moved = [host for host in self.hosts if parts], True
        while self.left and moved:
            placed = [(host, self._rounds(host, parts)) for host in waiting if self.left]
            waiting, moved = [host for host, (full, _) in placed if not full], any(any_placed for _, (_, any_placed) in placed)

    def _rounds(self, host: Host, parts: Sequence[CpuSet]) -> tuple[bool, bool]:
        """Give one rank to each part again and again until the host is full or short of cores; say which, and if any."""
        moved = False
        while True:
            placed = short = False
            for at, part in enumerate(parts):
                if not self.left:
                    return False, True
                if self._lacks(self.free[host.name] & part, self.width):
                    short = True
                    continue
                placed = moved = True
                try:
                    self._place(host, self.free[host.name] & part, part, at)
                except _Full:
                    return True, True
            if short or not placed or "span" in self.want.modifiers:
                return False, moved

    def _by_pattern(self) -> None:
        """Put so many ranks on each part of every host, or on the hosts."""
        bound, whole = self.bound, self.level == "node"
        parts: Sequence[CpuSet | None] = (None,) if whole else self.node.parts(self.level)
        for host in self.hosts:
            self.bound = bound
            self._unbind_if_crowded(host, self.ppr * len(parts))
            snapshot = self.free[host.name]
            for at, part in enumerate(parts):
                target = snapshot if part is None else snapshot & part
                if (
                    self.left <= 0
                    or (not self.want.oversubscribe and host.free <= 0)
                    or self._lacks(target, self.ppr * self.width)
                ):
                    continue
                try:
                    for _ in range(min(self.ppr, self.left) if whole else self.ppr):
                        self._place(host, target, part, at)
                except _Full:
                    pass
        if self.left > 0:
            raise Refused(f"{self.want.map_text or 'that'} has room for fewer than {self.total} ranks; nothing starts")
        if self.left < 0 and self.want.rank_by not in (None, "slot"):
            raise Unclear(f"which of the ranks of {self.want.map_text} are left out is not predicted here")
        if self.left < 0:
            raise Refused(
                f"{self.total} ranks are not a multiple of {self.want.map_text}: 5.0 starts none, and ends as if all were well"
            )

    def number(self) -> None:
        """Give ranks their numbers: host by host, hosts in turn, part by part, or of every part one in turn."""
        own = "slot" if self.ppr else self.level if self.level in ("node", "slot") else "fill"
        order = self.want.rank_by or ("span" if "span" in self.want.modifiers and own == "fill" else own)
        if order == "slot":
            numbered(proc for host in self.mapped for proc in host.procs)
        elif order == "node":
            for position, host in enumerate(self.mapped):
                for i, proc in enumerate(host.procs):
                    proc.rank = position + i * len(self.mapped)
        elif order == "fill":
            numbered(proc for host in self.mapped for proc in sorted(host.procs, key=lambda proc: proc.part))
        else:
            numbered(_spanned(self.mapped))


def _spanned(hosts: Sequence[Host]) -> Iterable[Proc]:
    """Return the ranks as --rank-by span numbers them: one of every part of every host in turn."""
    turns = Counter[tuple[int, int]]()
    found: list[tuple[int, int, int, Proc]] = []
    for position, host in enumerate(hosts):
        for proc in host.procs:
            found.append((turns[position, proc.part], position, proc.part, proc))
            turns[position, proc.part] += 1
    return (proc for *_, proc in sorted(found, key=lambda each: each[:3]))


def _placed(made: Prediction, node: NodeParts, hosts: list[Host]) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be; raise Refused or Unclear."""
    if made.want.level == "pe-list":
        return tuple(_by_list(made.want, made.want.cpus or "", node, hosts))
    job = _Job(made.want, node, hosts)
    job.deal()
    job.number()
    return ranks_in_order(job.hosts, job.total)


def _by_list(want: Request, listed: str, node: NodeParts, hosts: list[Host]) -> Iterator[LintRank]:
    """Yield the ranks of a pe-list: each bound to all of it, or in its order one core each, again on every host."""
    if want.oversubscribe or want.overload or (want.pe or 1) > 1 or want.rank_by not in (None, "slot"):
        raise Unclear("a list with other directives beside it is not predicted here")
    if want.bind not in (None, "core", "hwthread"):
        raise Refused(f"a pe-list needs --bind-to core or hwthread, and {want.bind} is asked for; nothing starts")
    single = want.bind == "hwthread" or (want.hwthreads and want.bind is None)
    node = NodeParts(node.topology, threads=single if want.ordered else want.hwthreads)  # the binding counts in order alone
    try:
        whole = union(node.units[number] for number in CpuSet.parse(listed))
    except (BadValue, IndexError) as error:
        raise Unclear(f"the list {listed[:60]} names cores that are not there") from error
    if not want.ordered and not any(whole <= package for package in node.parts("package")):
        raise Refused("the list lies across sockets, which 5.x refuses for ranks bound to all of it; nothing starts")
    entries = listed.split(",")  # 5.0 takes a range for one entry
    total, rank = bounded(want.ranks or len(entries)), 0
    rooms = [min(len(entries), host.slots, node.count(whole)) for host in hosts]
    if sum(rooms) < total:
        raise Refused(f"{total} ranks, and the list of {len(entries)} entries and the slots allow {sum(rooms)}; nothing starts")
    for host, room in zip(hosts, rooms, strict=True):
        for entry in entries[: min(room, total - rank)]:
            cpus = node.units[int(entry.partition("-")[0])] if want.ordered else whole
            yield LintRank(rank=rank, host=host.name, cpus=cpus)
            rank += 1


LINES = Dialect(
    programs=("mpirun", "mpiexec", "orterun", "prterun", "prun"),
    options=OPENMPI,
    aliases=OPENMPI_ALIASES,
    ranks=lambda made: open_mpi_ranks(made, _placed),
    request=of_open_mpi,
    claim=open_mpi_claim,
    which=which_open_mpi,
    lists=open_mpi_lists,
    spellings=long_or_short,
    equals=True,
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
    dialect=LINES,
    unbound_line=unbound,
)
