"""What the mappers of Open MPI 4 and 5 have in common: hosts with slots, parts of a machine, lists, programs of a line."""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.errors import BadValue
from advisor.jobs.line import BINDING, binders
from advisor.jobs.openmpi_request import unclear_parameters
from advisor.jobs.openmpi_words import apart, missing, newer, parameters
from advisor.jobs.placement import LintRank
from advisor.jobs.request import (
    MOST_HOSTS,
    MOST_RANKS,
    OBJECTS,
    Line,
    Prediction,
    Refused,
    Request,
    Unclear,
    bounded,
    cpusets_of,
    hides_l3,
    hosts,
    number,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.numbering import logical_numbering
from advisor.machine.topology import Topology

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
    if want.ppr and want.level == "ppr" and "span" not in want.modifiers:
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


Hosts = tuple[tuple[str, int | None], ...]


MOST_ROWS = 65_536


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)


_SLOTS = re.compile(r"(slots|max_slots|max-slots)\s*=\s*(\d{1,6})", re.ASCII)


def hosts_of_file(text: str, *, crowded: bool) -> Hosts:
    """Return the hosts of a file with their slots, None for as many as cores; raise Refused or Unclear.

    ``crowded``: 5 is to allow more ranks than slots; then a max_slots= would count, as it does not in 4 (4.1.4, observed).
    """
    found: dict[str, int | None] = {}
    bare: Counter[str] = Counter()
    for position, row in enumerate(rows(text), 1):
        name, rest = row
        if ":" in name:
            raise Refused(f"row {position} of the host file: {name[:60]} is not a name to it; nothing starts")
        if not NAME.fullmatch(name):
            raise Unclear(f"row {position} of the host file: {name[:60]!r} is not worked out here")
        said = {match[1][:3]: int(match[2]) for match in _SLOTS.finditer(rest)}
        if _SLOTS.sub("", rest).strip() or 0 in said.values():
            raise Unclear(f"row {position} of the host file: {rest[:60]!r} is not worked out here")
        if crowded and "max" in said:
            raise Unclear("how many ranks a max_slots= allows is not worked out here")
        slots = said.get("slo", said.get("max"))
        if slots is not None and found.get(name) is not None:
            raise Refused(f"the host file gives {name[:60]} slots= twice; nothing starts")
        if name in found and (slots is None) != (found[name] is None):
            raise Unclear(f"the host file has {name[:60]} with slots= and without")
        bare[name] += slots is None
        found[name] = slots
    return tuple((name, bare[name] if bare[name] > 1 else slots) for name, slots in found.items())


def rows(text: str) -> list[tuple[str, str]]:
    """Return the name and the rest of every row that has any; raise Unclear for too many."""
    lines = text.splitlines()
    if len(lines) > MOST_ROWS:
        raise Unclear(f"the host file has more than the {MOST_ROWS} rows that are read")
    plain = (" ".join(line.partition("#")[0].split()).partition(" ") for line in lines)
    return [(name, rest) for name, _, rest in plain if name]


def must_have_slots(want: Request, ranks: Mapping[str | None, int]) -> None:
    """Raise Refused or Unclear where a rankfile puts more ranks on a host than the line gives it slots (5.0.11, observed)."""
    for name, slots in want.hosts:
        room = (None if want.from_file else 1) if slots is None else slots
        if not room or ranks.get(name, 0) <= room:
            continue
        if want.oversubscribe or want.oversubscribe_option:
            raise Unclear("how 5.x binds where a rankfile has more ranks on a host than slots, is not worked out here")
        raise Refused(f"the rankfile has {ranks[name]} ranks on {name}, more than its slots ({room}); nothing starts")


_COUNT = re.compile(r"[1-9][0-9]{0,6}|\*|auto", re.ASCII)


_ELSEWHERE = ("--app", "--dvm", "--dvm-uri", "--tune", "-am", "--default-hostfile")


def readable(line: Line) -> None:
    """Raise Unclear where words of a line say of hosts or of mapping what is not read here."""
    odd = next((said for said in line.options if not said.known), None)
    if odd:
        raise Unclear(f"{odd.written[0][:60]} is not an option that is known here")
    for word in (line.first.value("--host") or "").split(","):
        name, colon, count = word.strip().partition(":")
        if word and (not NAME.fullmatch(name) or (colon and not _COUNT.fullmatch(count))):
            raise Unclear(f"the host {word[:60]} is not worked out here")
    five = ("--rtos", "--runtime-options", "--display-topo") if line.family == "openmpi5" else ()
    harmless = (("donotlaunch",), ("show-progress",), ("error-nonzero-status",))
    asked = (each for each in line.options if each.name in (*_ELSEWHERE, *five))
    said = next((each for each in asked if each.values not in harmless), None)
    said = said or next((each for each in line.options if each.name.endswith("mca") and each.values[0].startswith("ras")), None)
    if said:
        raise Unclear(f"what {' '.join(said.written)[:80]} adds to the line is not read here")
    old = next((name for name, _, _ in parameters(line) if name in _OLD_PARAMETERS), None)
    if old and line.family == "openmpi4":
        raise Unclear(f"what the old parameter {old} does, is not worked out here")
    if any("_MCA_ras" in name for name in line.words.environment):
        raise Unclear("a parameter says where the hosts come from, and that is not read here")


def in_sequence(want: Request, topology: Topology, text: str | None, *, five: bool) -> tuple[LintRank, ...]:
    """Return ranks that go to the hosts of a file row by row: 5 binds them to the cores of each host in order."""
    if not five or text is None or want.bind != "core" or want.hwthreads or want.pe or want.oversubscribe or want.rank_by:
        raise Unclear("--map-by seq is worked out for 5.x with --bind-to core and a host file alone")
    names = [name for name, _ in rows(text)]
    total = want.ranks or len(names)
    if total > len(names):
        raise Refused(f"{total} ranks and {len(names)} rows of the host file; nothing starts")
    cores = logical_numbering(topology).cores
    before: Counter[str] = Counter()
    found: list[LintRank] = []
    for rank, name in enumerate(names[:total]):
        if before[name] >= len(cores):
            raise Unclear(f"more ranks than cores on {name}")
        found.append(LintRank(rank=rank, host=name, cpus=cores[before[name]]))
        before[name] += 1
    return tuple(found)


_ON = r"([A-Za-z0-9][A-Za-z0-9._-]{0,254}|\+[nN]\d{1,6})"


_ROW = re.compile(rf"rank\s+(\d{{1,9}})\s*=\s*{_ON}\s+slots?\s*=\s*(\S{{1,4096}})", re.ASCII)


_COMMENT = re.compile(r"(#|//).*")


_LIST = re.compile(r"\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)*", re.ASCII)


_PAIRS = re.compile(r"\d{1,4}:(?:\*|\d{1,7}(?:-\d{1,7})?)(?:[,;]\d{1,4}:(?:\*|\d{1,7}(?:-\d{1,7})?))*", re.ASCII)


_SOCKET_LIST = re.compile(r"(\d{1,4}):(\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)+)", re.ASCII)


_WHOLE = re.compile(r"[sS](\d{1,4})", re.ASCII)


_OLD_PARAMETERS = frozenset(
    {
        f"rmaps_base_{word}"
        for word in ("pattern", "n_pernode", "n_persocket", "pernode", "bynode", "byslot", "bycore", "cpus_per_proc")
    }
    | {"rmaps_ppr_pattern", "rmaps_ppr_n_pernode", "rmaps_ppr_n_persocket", "rmaps_ppr_pernode"}
)


LETTERS = 63
"""What both read of a slot list; 4.1 puts the name of the host beside it."""


def ranks_of_rankfile(want: Request, topology: Topology, text: str, *, five: bool) -> tuple[LintRank, ...]:
    """Return where a rankfile puts every rank; raise Refused or Unclear."""
    rows = text.splitlines()
    if len(rows) > MOST_RANKS:
        raise Unclear(f"the rankfile has more than the {MOST_RANKS} lines that are worked out one by one")
    reader = _Reader(want, topology, five=five)
    found: dict[int, LintRank] = {}
    for position, row in enumerate(rows, 1):
        plain = _COMMENT.sub("", row).strip()
        if not plain:
            continue
        try:
            rank, host, cpus = reader.row(plain, position)
        except (Refused, Unclear):
            ahead = _ROW.fullmatch(plain)
            if not found or not ahead or int(ahead[1]) < (want.ranks or MOST_RANKS) or (not five and ahead[2].startswith("+")):
                raise
            if five:
                raise Unclear(f"line {position}: what is wrong with a rank that is not started, 5 may pass over") from None
            continue  # 4.1 reads no slots of a rank that is not started, but its host
        if not found and rank:
            raise Refused("the first line of a rankfile must be that of rank 0; nothing starts")
        if rank in found:
            raise Unclear(f"line {position}: rank {rank} is there twice")
        found[rank] = LintRank(rank=rank, host=host, cpus=cpus)
    return tuple(_whole(want, found, reader, five=five))


def _whole(want: Request, found: dict[int, LintRank], reader: "_Reader", *, five: bool) -> Iterator[LintRank]:
    total = want.ranks or len(found)
    if any(rank not in found for rank in range(total)):
        raise Refused("a rank has no line in the rankfile; nothing starts")
    hosts = {each.host for each in found.values()}
    named = {name for name, _ in want.hosts}
    if named and not hosts <= named:
        raise Unclear("the rankfile names a host that the line does not")
    if five:
        must_have_slots(want, Counter(found[rank].host for rank in range(total)))
    local = hosts == {"localhost"} and not named
    taken: dict[str | None, CpuSet] = {}
    for rank in range(total):
        each = found[rank]
        units = reader.touched(each.cpus or CpuSet())
        if five and not want.overload and taken.get(each.host, CpuSet()) & units:
            raise Refused(f"rank {rank} has cores of another, which 5.x refuses; nothing starts")
        taken[each.host] = taken.get(each.host, CpuSet()) | units
        yield each.model_copy(update={"host": None}) if local else each


def _numbers5(part: str) -> list[str]:
    """Return the cores of one part: with a hyphen in it, all from its first number to the one behind the hyphen."""
    if "-" not in part:
        return part.split(",")
    first, last, *more = (piece.partition(",")[0] for piece in part.split("-"))
    if more:
        raise BadValue(f"{part[:40]} has two ranges")
    if first.isdigit() and last.isdigit() and int(last) < int(first):
        raise Unclear(f"{part[:40]} runs backwards, and such ranks are not bound")
    return [f"{first}-{last}"]


class _Reader:
    def __init__(self, want: Request, topology: Topology, *, five: bool) -> None:
        self.five = five
        self.ground = NodeParts(topology, threads=want.hwthreads)
        self.physical = not five and want.parameters.get("rmaps_rank_file_physical") == "1"
        self.known: dict[str, CpuSet] = {}
        self.hosts = [name for name, _ in want.hosts]

    def host(self, name: str) -> str:
        """Return the name of a host; +n1 is the second of the line's hosts."""
        if not name.startswith("+"):
            return name
        if not self.five:
            raise Refused(f"4.1 takes {name[:20]} in a scheduler's job alone; nothing starts")
        if int(name[2:]) >= len(self.hosts):
            raise Unclear(f"the line does not name the host that is {name[:20]}")
        return self.hosts[int(name[2:])]

    def row(self, text: str, number: int) -> tuple[int, str, CpuSet]:
        """Return the rank, the host and the CPUs of a line."""
        match = _ROW.fullmatch(text)
        if not match:
            raise Unclear(f"line {number}: {text[:60]!r} is not a rank as both versions read it")
        slots = match[3]
        if len(slots) > (LETTERS if self.five else LETTERS - len(match[2]) - 6):
            raise Unclear(f"line {number}: the slot list has {len(slots)} letters, more than are read")
        if slots not in self.known:
            try:
                self.known[slots] = self._cpus(slots)
            except BadValue as error:
                raise Refused(f"line {number}: {error.problem}; nothing starts") from error
        return int(match[1]), self.host(match[2]), self.known[slots]

    def touched(self, cpus: CpuSet) -> CpuSet:
        """Return the CPUs of all cores of some CPUs."""
        known = self.ground.known
        return cpus if self.ground.threads else union(known.cores[known.core_of[cpu]] for cpu in cpus)

    def _cpus(self, slots: str) -> CpuSet:
        known = self.ground.known
        if _LIST.fullmatch(slots):
            if any(int(b) < int(a) for a, b in re.findall(r"(\d+)-(\d+)", slots)):
                raise Unclear(f"slot={slots[:40]} runs backwards, and such ranks are not bound")
            numbers = CpuSet.parse(slots)
            if self.physical:
                cores = known.cores_cpus(known.core_numbers(numbers))  # refuses CPUs that are not there
                return numbers if self.ground.threads else cores
            return known.pus_cpus(numbers) if self.ground.threads else known.cores_cpus(numbers)
        if self.physical or self.ground.threads:
            raise Unclear(f"slot={slots[:40]} is not worked out where hardware threads or the kernel's numbers are meant")
        if match := _WHOLE.fullmatch(slots):
            return self._package(int(match[1]))
        if _PAIRS.fullmatch(slots):
            return self._pairs(slots)
        if _SOCKET_LIST.fullmatch(slots):
            return self._pairs(slots)
        raise Unclear(f"slot={slots[:40]} is not what both versions read alike")

    def _pairs(self, slots: str) -> CpuSet:
        """Return the cores of ``0:1,1:2``; 5.x reads what stands between colons as cores of the first socket."""
        if not self.five:
            return union(self._pair4(piece) for piece in re.split("[,;]", slots))
        found = CpuSet()
        for piece in slots.split(";"):
            socket, _, rest = piece.partition(":")
            texts = ["*"] if "*" in rest else [text for part in rest.split(":") for text in _numbers5(part)]
            found = found | union(self._in_package(int(socket), text) for text in texts)
        return found

    def _pair4(self, piece: str) -> CpuSet:
        """Return the cores of one ``0:1``; a number alone is taken for a socket, and gives no core."""
        socket, colon, text = piece.partition(":")
        if colon:
            return self._in_package(int(socket), text)
        return self._package(int(socket.partition("-")[0])) & CpuSet()

    def _package(self, socket: int) -> CpuSet:
        packages = self.ground.parts("package")
        if socket >= len(packages):
            raise BadValue(f"there is no socket {socket}")
        return packages[socket]

    def _in_package(self, socket: int, text: str) -> CpuSet:
        """Return the cores of a socket by their numbers in it; 5.x counts as if all sockets were as large as this one."""
        mine = self.ground.cores_in(self._package(socket))
        if text == "*":
            return union(mine)
        first, _, last = text.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[-1] >= len(mine):
            raise BadValue(f"socket {socket} has no core {text[:20]}")
        if not self.five:
            return union(mine[i] for i in numbers)
        start = socket * len(mine)
        return self.ground.known.cores_cpus(CpuSet(start + i for i in numbers))


def listed4(want: Request, ground: NodeParts) -> tuple[LintRank, ...]:
    """Return ranks that --cpu-set or --cpu-list binds: all to the whole list, or in the order of its CPUs' numbers."""
    if {"hwloc_base_cpu_list", "hwloc_base_cpu_set"} <= want.parameters.keys() or (want.bind == "cpu-list" and want.map_text):
        raise Unclear("a list of cores said in several ways is not worked out here")
    if not want.cpus or want.oversubscribe or want.no_local:
        raise Unclear("a list of cores is worked out only where ranks have slots and the list is there")
    try:
        numbers = CpuSet.parse(want.cpus)
        cpus = ground.known.pus_cpus(numbers) if want.hwthreads else ground.known.cores_cpus(numbers)
    except BadValue as error:
        raise Refused(f"the list {want.cpus[:60]} cannot be used: {error.problem}") from error
    hosts = hosts_with_slots(want, len(ground.known.pus if want.hwthread_slots else ground.known.cores))
    total = bounded(want.ranks or sum(host.slots for host in hosts))
    single = list(cpus)
    rank = 0
    for host in hosts:
        for local in range(min(host.slots, total - rank)):
            if want.ordered and local >= len(single):
                raise Refused(f"the list has {len(single)} CPUs and more ranks are on a node; nothing starts")
            host.procs.append(Proc(cpus, 0, CpuSet([single[local]]) if want.ordered else cpus, rank))
            rank += 1
    if rank < total:
        raise Refused(f"{total} ranks, and there are {rank} slots; nothing starts")
    return ranks_in_order(hosts, total)


def listed5(want: Request, topology: Topology, hosts: Sequence[Host]) -> None:
    """Give hosts the ranks of a pe-list: each bound to all of it, or in its order one core each, again on every host."""
    if want.oversubscribe or want.overload or (want.pe or 1) > 1 or want.rank_by not in (None, "slot") or not want.cpus:
        raise Unclear("a list with other directives beside it is not worked out here")
    if want.bind not in (None, "core", "hwthread"):
        raise Refused(f"a pe-list needs --bind-to core or hwthread, and {want.bind} is asked for; nothing starts")
    single = want.bind == "hwthread" or (want.hwthreads and want.bind is None)
    ground = NodeParts(topology, threads=single if want.ordered else want.hwthreads)  # 5.0.11: the binding counts in order alone
    try:
        numbers = CpuSet.parse(want.cpus)
        whole = union(ground.units[number] for number in numbers)
    except (BadValue, IndexError) as error:
        raise Unclear(f"the list {want.cpus[:60]} names cores that are not there") from error
    if not want.ordered and not any(whole <= package for package in ground.parts("package")):
        raise Refused("the list lies across sockets, which 5.x refuses for ranks bound to all of it; nothing starts")
    entries = want.cpus.split(",")  # 5.0 takes a range for one entry
    first = rank = sum(len(host.procs) for host in hosts)
    total = first + bounded(want.ranks or len(entries))
    for host in hosts:
        room = max(0, min(len(entries), host.free, ground.count(whole), total - rank))
        for entry in entries[:room]:
            cpus = ground.units[int(entry.partition("-")[0])] if want.ordered else whole
            host.procs.append(Proc(whole, 0, cpus, rank))
            rank += 1
    if rank < total:
        raise Refused(f"{total} ranks, and the list of {len(entries)} entries and the slots allow {rank}; nothing starts")


def adapters(machine: Machine) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each HCA and its NUMA nodes."""
    for hca in machine.hcas or ():
        if hca.locality and hca.locality.numa_nodes:
            yield hca.name, hca.locality.numa_nodes


_HOSTS = frozenset({"--host", "--hostfile"})


_OWN = frozenset({"--map-by", "--rank-by", "--bind-to"})


_OLD = frozenset(
    {"--tag-output", "--timestamp-output", "--merge-stderr-to-stdout", "--report-bindings", "--display-map", "--cpus-per-proc"}
    | {"--display-allocation", "--oversubscribe", "--nooversubscribe", "--use-hwthread-cpus", "--cpus-per-rank"}
)
"""Old words that 5.0.11 turns into new ones: behind --npernode beside a --map-by it then passes over that they contradict."""


DEVELOPMENT = "what the development branch of PRRTE does with a line, is not worked out here"


def together(line: Line, want: Request) -> Request:
    """Return what a line wants with the ranks of all its programs; raise Refused or Unclear where that is not known."""
    count = len(line.segments)
    if count == 1:
        return want
    if newer(line):
        raise Unclear(DEVELOPMENT)
    ranks = [number(segment.value("-np")) for segment in line.segments] if line.family.startswith("openmpi") else [None]
    begin = f"one line starts {count} programs, and "
    if None in ranks:
        raise Unclear(f"{begin}what each gets is known of Open MPI only, where each has its -np")
    if not _apart(line) and any(said.name in _HOSTS for segment in line.segments[1:] for said in segment.options):
        raise Unclear(f"{begin}another than the first says where its ranks go")
    if any(list(binders(segment.command)) for segment in line.segments):
        raise Unclear(f"{begin}numactl or taskset binds the ranks of some")
    _said_twice(line, begin)
    if want.rankfile:
        raise Unclear(f"{begin}a rankfile for several is not worked out here")
    everywhere = tuple(host for segment in line.segments for host in hosts(segment.value("--host") or ""))
    return replace(want, ranks=sum(each or 0 for each in ranks), threads=None, hosts=everywhere if _apart(line) else want.hosts)


def _apart(line: Line) -> bool:
    """Whether every program has hosts of its own, by --host alone."""
    named = [{name for name, _ in hosts(segment.value("--host") or "")} for segment in line.segments]
    files = any(segment.has("--hostfile") for segment in line.segments)
    return all(named) and not files and sum(map(len, named)) == len(set().union(*named))


def _said_twice(line: Line, begin: str) -> None:
    for name in ("--rank-by", "--bind-to"):
        if line.family == "openmpi5" and line.release and sum(segment.has(name) for segment in line.segments) > 1:
            raise Refused(f"5.0 takes {name} once in a line, and it is there for several programs; nothing starts")
    first = {(said.name, said.values) for said in line.first.options if said.name in _OWN}
    later = [said for segment in line.segments[1:] for said in segment.options if said.name in BINDING]
    if line.family == "openmpi4" and all((said.name, said.values) in first for said in later):
        return  # the same words again change nothing (4.1.4, observed)
    if later:
        raise Unclear(f"{begin}another than the first says where its ranks go")


def programs(line: Line, want: Request) -> tuple[Request, ...]:
    """Return what each program of a line wants; ``want`` is that of all, with the hosts."""
    if len(line.segments) == 1:
        return (want,)
    found = []
    for segment in line.segments:
        mine = hosts(segment.value("--host") or "") if _apart(line) else want.hosts
        found.append(replace(want, ranks=number(segment.value("-np")), hosts=mine, from_file=want.from_file))
    if any(each.oversubscribe for each in found) and any(each.no_oversubscribe for each in found):
        raise Refused("one program allows more ranks than slots and another forbids them; nothing starts")
    if any(each.oversubscribe for each in found):
        found = [replace(each, oversubscribe=True) for each in found]
    return tuple(found)


def _understood(made: Prediction) -> None:
    """Raise Refused or Unclear where this version does not know a word, or finds two that contradict each other."""
    for word in missing(made.line, made.want):
        if made.line.known_from.startswith("nothing"):
            raise Unclear(f"Open MPI 5 does not know {word.word[:80]}, and which launcher is meant is not known")
        raise Refused(f"it does not know {word.word[:80]}")
    joined = (said for said in made.line.options if said.known and "=" in said.written[0] and apart(said))
    if said := next(joined, None):
        raise Unclear(f"5.0.11 refuses {said.written[0][:60]}, and whether this release takes it was not seen")
    old = made.five and (made.want.fault or "").startswith("both ") and any(said.name in _OLD for said in made.line.options)
    if old:
        raise Unclear(f"{made.want.fault}: 5.0.11 passes over that where another old word is behind it")
    if made.want.fault:
        raise Refused(f"{made.want.fault}; nothing starts")


Placing = Callable[[Prediction, tuple[Request, ...]], tuple[LintRank, ...]]
"""Places the ranks of the programs of a line."""


def open_mpi_ranks(made: Prediction, place: Placing) -> tuple[LintRank, ...]:
    """Return what a mapper of Open MPI does with all hosts, after what both versions do alike."""
    want = made.want
    if newer(made.line):
        raise Unclear(DEVELOPMENT)
    _understood(made)
    readable(made.line)
    unclear_parameters(want, made.line, five=made.five)
    if want.rankfile or want.level == "rankfile":
        return _by_rankfile(made)
    if want.level == "seq":
        return in_sequence(want, made.topology, made.files.get(want.hostfile or ""), five=made.five)
    if want.hostfile and want.hostfile not in made.files:
        raise Unclear(f"the hosts stand in the file {want.hostfile[:80]}, and it was not read")
    return place(made, programs(made.line, want))


def faultless(parts: Sequence[Request]) -> None:
    """Raise Refused where a program of a line has words that contradict each other."""
    if part := next((part for part in parts if part.fault), None):
        raise Refused(f"{part.fault}; nothing starts")


def _by_rankfile(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks that a rankfile places."""
    want = made.want
    text = made.files.get(want.rankfile or "")
    if text is None:
        raise Unclear(f"the ranks are where the rankfile {(want.rankfile or '')[:80]} has them, and it was not read")
    if made.five and "hwloc_default_cpu_list" in want.parameters:
        raise Unclear("a rankfile beside hwloc_default_cpu_list is not worked out here")
    return ranks_of_rankfile(want, made.topology, text, five=made.five)
