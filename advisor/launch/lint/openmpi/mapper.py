"""What the mappers of Open MPI 4 and 5 have in common: hosts with slots, parts of a machine, ranks on them and their numbers."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from advisor.launch.lint.outcome import MOST_HOSTS, OBJECTS, Refused, Unclear, cpusets_of, hides_l3
from advisor.launch.lint.request import Request
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

LEVELS = frozenset({*OBJECTS, "slot", "node", "ppr", "pe-list", "rankfile", "seq", "dist"})


@dataclass
class Proc:
    """A rank while it is placed."""

    home: CpuSet
    """What it was assigned to."""
    part: int = 0
    """The number of that among its kind on the host."""
    cpus: CpuSet | None = None
    rank: int | None = None


@dataclass
class Host:
    """A host while ranks are assigned to it."""

    name: str | None
    slots: int
    procs: list[Proc] = field(default_factory=list)

    @property
    def free(self) -> int:
        """Slots that no rank has yet."""
        return self.slots - len(self.procs)


class NodeParts:
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
            if kind == "l3cache" and hides_l3(inside):
                raise Unclear("whether the memory-side cache of this machine is shown as an L3 is not known")
            unknown = not inside.l3 and not inside.shared_l2
            if (kind == "l2cache" and unknown) or (kind == "l1cache" and (unknown or inside.shared_l2 or inside.dies)):
                raise Unclear(f"whether this machine shows an {kind[:2].upper()} cache is not known")
            group = inside.packages if kind == "package" else inside.l3 if kind == "l3cache" else ()
            if any(not part.cpuset for part in group):
                raise Unclear("parts that the process may not use are counted too, and how is not worked out here")
            if kind == "l2cache" and inside.shared_l2 and union(cpusets_of(kind, self.topology, self.known)) != self.all:
                raise Unclear("not every CPU of this machine has an L2 cache that is shown")
            self._parts[kind] = cpusets_of(kind, self.topology, self.known)
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


def hosts_with_slots(want: Request, cores: int) -> list[Host]:
    """Return the hosts of a line; ``cores`` is the slots of one of which nothing is said and that is no word of --host."""
    if len(want.hosts) > MOST_HOSTS:
        raise Unclear(f"{len(want.hosts)} hosts are more than those that are worked out one by one")
    if not want.hosts:
        return [Host(None, cores)]
    default = cores if want.from_file else 1
    return [Host(name, default if slots is None else slots or cores) for name, slots in want.hosts]


def not_here(want: Request) -> None:
    """Raise what comes of --nolocal: whether mpirun runs on a host that is named cannot be known."""
    if want.no_local and want.hosts:
        raise Unclear("whether mpirun runs on one of the hosts, which --nolocal leaves out, is not known")
    if want.no_local:
        raise Refused("--nolocal leaves out the only host; nothing starts")


def ranks_in_order(hosts: Sequence[Host], total: int) -> tuple[LintRank, ...]:
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


def default_level(want: Request, *, five: bool, few: bool) -> str:
    """Return what ranks are spread over where the line does not say; ``few``: not more than two."""
    unit = "hwthread" if want.hwthreads or (want.bind == "hwthread" and not five) else "core"
    if five:
        if want.pe and want.pe > 1:
            return "slot"
        bind = None if want.bind_by_parameter else want.bind
        if bind in OBJECTS:
            return bind
        return "slot" if bind == "none" else unit
    if want.modifiers or (want.map_text or "").startswith(":"):
        return "package"
    if want.pe and want.pe > 1:
        return "numa"
    return unit if few else "numa"


def number4(want: Request, level: str, hosts: Sequence[Host], ground: NodeParts, first: int = 0) -> None:
    """Give ranks their numbers as 4 does; hosts are in the order in which they got ranks."""
    kind, how = _order4(want, level, ground)
    if kind == "slot":
        _count((proc for host in hosts for proc in host.procs), first)
    elif kind == "node":
        deepest = max((len(host.procs) for host in hosts), default=0)
        _count((host.procs[i] for i in range(deepest) for host in hosts if i < len(host.procs)), first)
    else:
        _count(_over_parts(hosts, ground.parts(kind), how), first)


def _order4(want: Request, level: str, ground: NodeParts) -> tuple[str, str]:
    text = want.rank_by
    if not text:
        given = want.level != "ppr" and bool(want.level or want.modifiers or want.pe)
        return (level if given and (level == "node" or level in OBJECTS) else "slot"), ""
    kind, _, how = text.partition(":")
    if kind not in ("slot", "node") and not ground.parts(kind):
        raise Refused(f"--rank-by {text}: this machine shows no {kind}; nothing starts")
    return kind, how


def _over_parts(hosts: Sequence[Host], parts: Sequence[CpuSet], how: str) -> Iterator[Proc]:
    """Yield ranks as they are numbered over parts: one each in turn, all of one part first, or over all hosts in turn."""
    queues = {id(host): _Waiting(host, parts) for host in hosts}
    for group in [hosts] if how == "span" else [[host] for host in hosts]:
        left = sum(len(host.procs) for host in group)
        while left:
            before = left
            for host in group:
                for proc in queues[id(host)].turn(all_of_one=how == "fill"):
                    left -= 1
                    yield proc
            if before == left:
                raise Unclear("some ranks are in none of the parts of --rank-by")


class _Waiting:
    """The ranks of a host that have no number yet, by what they were assigned to."""

    def __init__(self, host: Host, parts: Sequence[CpuSet]) -> None:
        self.queues: dict[CpuSet, deque[tuple[int, Proc]]] = {}
        for position, proc in enumerate(host.procs):
            self.queues.setdefault(proc.home, deque()).append((position, proc))
        self.touching = [[queue for home, queue in self.queues.items() if home & part] for part in parts]

    def turn(self, *, all_of_one: bool) -> Iterator[Proc]:
        """Take the next rank of each part, or all of each."""
        for queues in self.touching:
            waiting = [queue for queue in queues if queue]
            while waiting:
                first = min(waiting, key=lambda queue: queue[0][0])
                yield first.popleft()[1]
                waiting = [queue for queue in waiting if queue] if all_of_one else []


def number5(want: Request, level: str, hosts: Sequence[Host], ground: NodeParts, first: int = 0) -> None:
    """Give ranks their numbers as 5 does; hosts are in the order in which they got ranks."""
    order = want.rank_by or _own_order(want, level)
    if order == "slot":
        _count((proc for host in hosts for proc in host.procs), first)
    elif order == "node":
        for position, host in enumerate(hosts):
            for i, proc in enumerate(host.procs):
                proc.rank = first + position + i * len(hosts)
    elif order == "fill":
        _count((proc for host in hosts for proc in sorted(host.procs, key=lambda proc: proc.part)), first)
    else:
        _count(_spanned(hosts, len(ground.parts(level))), first)


def _own_order(want: Request, level: str) -> str:
    if level == "device" or (want.ppr and want.level == "ppr" and "span" not in want.modifiers):
        return "slot"
    if level in ("node", "slot"):
        return level
    return "span" if "span" in want.modifiers else "fill"


def _spanned(hosts: Sequence[Host], parts: int) -> Iterator[Proc]:
    """Yield one rank of every part of every host in turn."""
    queues = [[[proc for proc in host.procs if proc.part == part] for part in range(parts)] for host in hosts]
    deepest = max((len(queue) for host in queues for queue in host), default=0)
    for turn in range(deepest):
        for host in queues:
            yield from (queue[turn] for queue in host if turn < len(queue))


def _count(procs: Iterable[Proc], first: int) -> None:
    for rank, proc in enumerate(procs, first):
        proc.rank = rank
