"""What the mappers of Open MPI 4 and 5 have in common: hosts with slots, parts of a machine, rankfiles, what is left open."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from advisor.errors import BadValue
from advisor.jobs.openmpi import apart, missing, newer
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
    cpusets_of,
    hides_l3,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import LogicalNumbering, logical_numbering
from advisor.machine.topology import Topology


@dataclass(eq=False)
class Proc:
    """A rank while it is placed."""

    home: CpuSet
    """What it was assigned to."""
    part: int = 0
    """The number of that among its kind on the host."""
    cpus: CpuSet | None = None
    rank: int | None = None


@dataclass(eq=False)
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
                raise Unclear("NUMA nodes without CPUs are counted too, and how is not predicted here")
            if kind in ("core", "l1cache", "l2cache") and not inside.cores:
                raise Unclear("this machine shows no cores")
            if kind == "l3cache" and hides_l3(inside):
                raise Unclear("whether the memory-side cache of this machine is shown as an L3 is not known")
            unknown = not inside.l3 and not inside.shared_l2
            if (kind == "l2cache" and unknown) or (kind == "l1cache" and (unknown or inside.shared_l2 or inside.dies)):
                raise Unclear(f"whether this machine shows an {kind[:2].upper()} cache is not known")
            group = inside.packages if kind == "package" else inside.l3 if kind == "l3cache" else ()
            if any(not part.cpuset for part in group):
                raise Unclear("parts that the process may not use are counted too, and how is not predicted here")
            if kind == "l2cache" and inside.shared_l2 and union(cpusets_of(kind, self.topology, self.known)) != self.all:
                raise Unclear("not every CPU of this machine has an L2 cache that is shown")
            self._parts[kind] = cpusets_of(kind, self.topology, self.known)
        return self._parts[kind]

    @property
    def units(self) -> tuple[CpuSet, ...]:
        """What a rank needs one of: a core, or a hardware thread."""
        return self.parts("hwthread") if self.threads else self.known.cores

    def units_in(self, cpus: CpuSet) -> list[CpuSet]:
        """Return what a rank needs one of, wholly inside some CPUs, in order."""
        if self.threads:
            mine = (cpu for cpu in cpus if cpu in self.known.pu_of)
            return [CpuSet([cpu]) for cpu in sorted(mine, key=self.known.pu_of.__getitem__)]
        numbers = {self.known.core_of[cpu] for cpu in cpus if cpu in self.known.core_of}
        return [self.known.cores[number] for number in sorted(numbers) if self.known.cores[number] <= cpus]

    def count(self, cpus: CpuSet) -> int:
        """Return how many of these lie wholly inside some CPUs."""
        return len(cpus & self.all) if self.threads else len(self.units_in(cpus))


def hosts_with_slots(want: Request, node: NodeParts) -> list[Host]:
    """Return the hosts of a line; one of which nothing is said has a slot for each core, or one where it is a word of --host."""
    if len(want.hosts) > MOST_HOSTS:
        raise Unclear(f"{len(want.hosts)} hosts are more than those that are predicted one by one")
    cores = len(node.known.pus if want.hwthread_slots else node.known.cores)
    if not want.hosts:
        return [Host(None, cores)]
    default = cores if want.from_file else 1
    return [Host(name, default if slots is None else slots or cores) for name, slots in want.hosts]


def ranks_in_order(hosts: Sequence[Host], total: int) -> tuple[LintRank, ...]:
    """Return the ranks in order; raise Unclear where numbers are missing or given twice."""
    found: dict[int, LintRank] = {}
    for host in hosts:
        for proc in host.procs:
            if proc.rank is None or proc.rank in found:
                raise Unclear("a rank is numbered twice or not at all there, and what happens then is not predicted here")
            found[proc.rank] = LintRank(rank=proc.rank, host=host.name, cpus=proc.cpus)
    if sorted(found) != list(range(total)):
        raise Unclear("some numbers of ranks are left out there, and what happens then is not predicted here")
    return tuple(found[rank] for rank in range(total))


def numbered(procs: Iterable[Proc]) -> None:
    """Give ranks their numbers in their order."""
    for rank, proc in enumerate(procs):
        proc.rank = rank


def default_level(want: Request, *, five: bool, few: bool) -> str:
    """Return what ranks are spread over where the line does not say; ``few``: not more than two."""
    unit = "hwthread" if want.hwthreads or (want.bind == "hwthread" and not five) else "core"
    if five:
        if want.pe and want.pe > 1:
            return "slot"
        if want.bind in OBJECTS:
            return want.bind
        return "slot" if want.bind == "none" else unit
    if want.modifiers or (want.map_text or "").startswith(":"):
        return "package"
    if want.pe and want.pe > 1:
        return "numa"
    return unit if few else "numa"


Hosts = tuple[tuple[str, int | None], ...]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)

_SLOTS = re.compile(r"(slots|max_slots|max-slots)\s*=\s*(\d{1,6})", re.ASCII)


def hosts_of_file(text: str, *, crowded: bool) -> Hosts:
    """Return the hosts of a file with their slots, None for as many as cores; raise Refused or Unclear.

    ``crowded``: 5 is to allow more ranks than slots; then a max_slots= would count, as it does not in 4 (4.1.4, observed).
    """
    found: dict[str, int | None] = {}
    bare: Counter[str] = Counter()
    lines = text.splitlines()
    if len(lines) > MOST_RANKS:
        raise Unclear(f"the host file has more than the {MOST_RANKS} rows that are read")
    for position, line in enumerate(lines, 1):
        name, _, rest = " ".join(line.partition("#")[0].split()).partition(" ")
        if not name:
            continue
        if ":" in name:
            raise Refused(f"row {position} of the host file: {name[:60]} is not a valid host name for it; nothing starts")
        said = {match[1][:3]: int(match[2]) for match in _SLOTS.finditer(rest)}
        if not _NAME.fullmatch(name) or _SLOTS.sub("", rest).strip() or 0 in said.values():
            raise Unclear(f"row {position} of the host file: {f'{name} {rest}'[:60]!r} is not predicted here")
        slots = said.get("slo", said.get("max"))
        if (crowded and "max" in said) or (name in found and (slots is not None or found[name] is not None)):
            raise Unclear(f"how many ranks {name[:60]} of the host file may have is not predicted here")
        bare[name] += slots is None
        found[name] = slots
    return tuple((name, bare[name] if bare[name] > 1 else slots) for name, slots in found.items())


_COUNT = re.compile(r"[1-9][0-9]{0,6}|\*|auto", re.ASCII)

_ELSEWHERE = ("--app", "--dvm", "--dvm-uri", "--tune", "-am", "--default-hostfile")

_LEFT_OPEN = ("--rtos", "--runtime-options", "--display-topo")

DEVELOPMENT = "what the development branch of PRRTE does with a line is not predicted here"


def understood(made: Prediction) -> None:
    """Raise Refused or Unclear where this version does not know a word of a line, or what it says is not read here."""
    line, want = made.line, made.want
    if newer(line):
        raise Unclear(DEVELOPMENT)
    for word in missing(line, want):
        if line.known_from.startswith("nothing"):
            raise Unclear(f"Open MPI 5 does not know {word.word[:80]}, and which launcher is meant is not known")
        raise Refused(f"it does not know {word.word[:80]}")
    if said := next((said for said in line.options if said.known and "=" in said.written[0] and apart(said)), None):
        raise Unclear(f"5.0.11 refuses {said.written[0][:60]}, and whether this release takes it was not seen")
    _readable(line)
    if want.odd:
        raise Unclear(want.odd)
    if want.fault:
        raise Refused(f"{want.fault}; nothing starts")


def _readable(line: Line) -> None:
    """Raise Unclear where words of a line are not known, or say of hosts what is not read here."""
    for said in line.options:
        if not said.known:
            raise Unclear(f"{said.written[0][:60]} is not an option that is known here")
        harmless = said.values in (("donotlaunch",), ("show-progress",), ("error-nonzero-status",))
        if said.name in _ELSEWHERE or (line.family == "openmpi5" and said.name in _LEFT_OPEN and not harmless):
            raise Unclear(f"what {' '.join(said.written)[:80]} adds to the line is not read here")
    for word in (line.first.value("--host") or "").split(","):
        name, colon, count = word.strip().partition(":")
        if word and (not _NAME.fullmatch(name) or (colon and not _COUNT.fullmatch(count))):
            raise Unclear(f"the host {word[:60]} is not predicted here")


Placing = Callable[[Prediction, NodeParts, list[Host]], tuple[LintRank, ...]]
"""Places the ranks of a line on its hosts."""


def open_mpi_ranks(made: Prediction, place: Placing) -> tuple[LintRank, ...]:
    """Return what a mapper of Open MPI does with all hosts, after what both versions do alike."""
    understood(made)
    want = made.want
    if want.level == "rankfile":
        text = made.files.get(want.rankfile or "")
        if text is None:
            raise Unclear(f"the ranks are where the rankfile {(want.rankfile or '')[:80]} has them, and it was not read")
        return tuple(_ranks_of_rankfile(want, made.topology, text, five=made.five))
    if want.hostfile and want.hostfile not in made.files:
        raise Unclear(f"the hosts stand in the file {want.hostfile[:80]}, and it was not read")
    if want.level in ("seq", "dist") and made.five:
        raise Unclear(f"--map-by {want.map_text} is not predicted here")
    threads = want.hwthreads or "hwthread" in (want.level, None if made.five else want.bind)
    node = NodeParts(made.topology, threads=threads)
    if len(made.line.segments) > 1 and want.level == "core" and (want.ranks or 0) > len(node.units):
        raise Unclear("where a second program goes on over parts of a machine that have ranks is not predicted here")
    return place(made, node, hosts_with_slots(want, node))


_ROW = re.compile(r"rank\s+(\d{1,9})\s*=\s*([A-Za-z0-9][A-Za-z0-9._-]{0,254})\s+slots?\s*=\s*(\S{1,4096})", re.ASCII)

_COMMENT = re.compile(r"(#|//).*")

_LIST = re.compile(r"\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)*", re.ASCII)

LETTERS = 63
"""What both read of a slot list; 4.1 puts the name of the host beside it."""


def _ranks_of_rankfile(want: Request, topology: Topology, text: str, *, five: bool) -> Iterable[LintRank]:
    """Return where a rankfile of lists puts every rank; raise Refused or Unclear."""
    rows = text.splitlines()
    if len(rows) > MOST_RANKS:
        raise Unclear(f"the rankfile has more than the {MOST_RANKS} lines that are predicted one by one")
    found: dict[int, LintRank] = {}
    for position, row in enumerate(rows, 1):
        plain = _COMMENT.sub("", row).strip()
        match = _ROW.fullmatch(plain)
        if not plain:
            continue
        if not match or not _LIST.fullmatch(match[3]):
            raise Unclear(f"line {position}: {plain[:60]!r} is not a rank as both versions read it")
        rank, host, slots = int(match[1]), match[2], match[3]
        if len(slots) > (LETTERS if five else LETTERS - len(host) - 6):
            raise Unclear(f"line {position}: the slot list has {len(slots)} letters, more than are read")
        if not found and rank:
            raise Refused("the first line of a rankfile must be that of rank 0; nothing starts")
        if rank in found or (want.ranks and rank >= want.ranks) or (want.hosts and host not in dict(want.hosts)):
            raise Unclear(f"line {position}: a rank that is there twice or not started, or a host that the line does not name")
        try:
            found[rank] = LintRank(rank=rank, host=host, cpus=_listed(slots, want, logical_numbering(topology), five=five))
        except BadValue as error:
            raise Refused(f"line {position}: {error.problem}; nothing starts") from error
    if sorted(found) != list(range(want.ranks or len(found))):
        raise Refused("a rank has no line in the rankfile; nothing starts")
    _must_fit(want, found, topology, five=five)
    local = not want.hosts and {each.host for each in found.values()} == {"localhost"}
    return (found[rank].model_copy(update={"host": None} if local else {}) for rank in range(len(found)))


def _listed(slots: str, want: Request, known: LogicalNumbering, *, five: bool) -> CpuSet:
    """Return the CPUs of a slot list; raise BadValue of numbers that are not there."""
    if any(int(last) < int(first) for first, last in re.findall(r"(\d+)-(\d+)", slots)):
        raise Unclear(f"slot={slots[:40]} runs backwards, and such ranks are not bound")
    numbers = CpuSet.parse(slots)
    if not five and want.parameters.get("rmaps_rank_file_physical") == "1":
        cores = known.cores_cpus(known.core_numbers(numbers))
        return numbers if want.hwthreads else cores
    return known.pus_cpus(numbers) if want.hwthreads else known.cores_cpus(numbers)


def _must_fit(want: Request, found: dict[int, LintRank], topology: Topology, *, five: bool) -> None:
    """Raise Refused or Unclear of a rankfile that 5 refuses: more ranks of a host than slots, cores that another rank has."""
    counts = Counter(each.host for each in found.values())
    known, taken = logical_numbering(topology), dict[str | None, CpuSet]()
    for name, slots in want.hosts if five else ():
        room = (None if want.from_file else 1) if slots is None else slots
        if room and counts[name] > room:
            raise Unclear(f"the rankfile has {counts[name]} ranks on {name}, more than its slots ({room})")
    for rank, each in sorted(found.items()) if five and not want.overload else ():
        cpus = each.cpus or CpuSet()
        mine = cpus if want.hwthreads else union(known.cores[known.core_of[cpu]] for cpu in cpus)
        if taken.get(each.host, CpuSet()) & mine:
            raise Refused(f"rank {rank} has cores of another, which 5.x refuses; nothing starts")
        taken[each.host] = taken.get(each.host, CpuSet()) | mine
