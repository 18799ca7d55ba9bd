"""Where Open MPI 4 and 5 put the ranks of plain lines; what fills a host beyond its slots or its cores is left open."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from advisor.errors import BadValue
from advisor.jobs.openmpi import apart, missing, newer
from advisor.jobs.placement import LintRank
from advisor.jobs.request import (
    ASSUMED,
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
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import LogicalNumbering, logical_numbering
from advisor.machine.topology import Topology

Hosts = tuple[tuple[str, int | None], ...]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)

_HOST_ROW = re.compile(rf"({_NAME.pattern})(?:\s+slots\s*=\s*([1-9]\d{{0,5}}))?", re.ASCII)


def hosts_of_file(text: str) -> Hosts:
    """Return the hosts of a file with their slots, None for as many as cores; raise Refused or Unclear."""
    found: dict[str, int | None] = {}
    bare: Counter[str] = Counter()
    lines = text.splitlines()
    if len(lines) > MOST_RANKS:
        raise Unclear(f"the host file exceeds the limit of {MOST_RANKS} rows")
    for position, line in enumerate(lines, 1):
        row = line.partition("#")[0].strip()
        if not row:
            continue
        if ":" in row.split()[0]:
            raise Refused(f"row {position} of the host file: {row[:60]} is not a valid host name; nothing starts")
        match = _HOST_ROW.fullmatch(row)
        if not match or (match[1] in found and (match[2] or found[match[1]])):
            raise Unclear(f"row {position} of the host file: {row[:60]!r} is not predicted")
        found[match[1]] = int(match[2]) if match[2] else None
        bare[match[1]] += not match[2]
    return tuple((name, bare[name] if bare[name] > 1 else slots) for name, slots in found.items())


class NodeParts:
    """A machine as a mapper counts it, in hardware threads or in cores."""

    def __init__(self, topology: Topology, *, threads: bool) -> None:
        self.topology, self.threads = topology, threads
        self.known = logical_numbering(topology)
        self.all = CpuSet(self.known.pus)

    def parts(self, kind: str) -> tuple[CpuSet, ...]:
        """Return everything of one kind; raise Unclear where launchers count what has no CPUs too."""
        inside = self.topology.inside
        if kind in ("slot", "node"):
            return (self.all,)
        if kind == "numa" and (len(inside.cpu_nodes) < len(inside.nodes) or not inside.nodes):
            raise Unclear("Open MPI also counts NUMA nodes without CPUs, and the result is not predicted")
        if kind == "core" and not inside.cores:
            raise Unclear("this machine shows no cores")
        if kind == "l3cache" and hides_l3(inside):
            raise Unclear("it is unknown whether the memory-side cache of this machine appears as an L3")
        group = inside.packages if kind == "package" else inside.l3 if kind == "l3cache" else ()
        if any(not part.cpuset for part in group):
            raise Unclear("the count also includes parts that the process may not use, so it is not predicted")
        found = cpusets_of(kind, self.topology, self.known)
        if not found:
            raise Unclear(f"this machine shows no {kind}")
        return found

    @property
    def units(self) -> tuple[CpuSet, ...]:
        """What a rank needs one of: a core, or a hardware thread."""
        return self.parts("hwthread") if self.threads else self.known.cores

    def units_in(self, cpus: CpuSet) -> list[CpuSet]:
        """Return what a rank needs one of, wholly inside some CPUs, in order."""
        return [unit for unit in self.units if unit <= cpus]


@dataclass(frozen=True)
class Host:
    """A host with its slots."""

    name: str | None
    slots: int


def _hosts_with_slots(want: Request, node: NodeParts) -> list[Host]:
    """Return the hosts of a line; one of which nothing is said has a slot for each core, or one where it is a word of --host."""
    if len(want.hosts) > MOST_HOSTS:
        raise Unclear(f"{len(want.hosts)} hosts exceed the limit for prediction")
    cores = len(node.known.pus if want.hwthread_slots else node.known.cores)
    if not want.hosts:
        return [Host(None, cores)]
    default = cores if want.from_file else 1
    return [Host(name, default if slots is None else slots or cores) for name, slots in want.hosts]


def default_level(want: Request, *, five: bool, few: bool) -> str:
    """Return what ranks are spread over where the line does not say; ``few``: not more than two."""
    unit = "hwthread" if want.hwthreads or (want.bind == "hwthread" and not five) else "core"
    wide = want.pe is not None and want.pe > 1
    if five:
        return "slot" if wide or want.bind == "none" else want.bind if want.bind in OBJECTS else unit
    if want.modifiers or (want.map_text or "").startswith(":"):
        return "package"
    return unit if few and not wide else "numa"


_COUNT = re.compile(r"[1-9][0-9]{0,6}|\*|auto", re.ASCII)

_ELSEWHERE = ("--app", "--dvm", "--dvm-uri", "--tune", "-am", "--default-hostfile", "--nolocal")

_LEFT_OPEN = ("--rtos", "--runtime-options", "--display-topo")

DEVELOPMENT = "lines for PRRTE's development branch are not predicted"


def _understood(made: Prediction) -> None:
    """Raise Refused or Unclear where this version does not know a word of a line, or what it says is not read here."""
    line, want = made.line, made.want
    if newer(line):
        raise Unclear(DEVELOPMENT)
    for word in missing(line, want):
        if line.known_from == ASSUMED:
            raise Unclear(f"Open MPI 5 does not recognize {word.word[:80]}, and the intended launcher is unknown")
        raise Refused(f"this version does not recognize {word.word[:80]}")
    if said := next((said for said in line.options if said.known and "=" in said.written[0] and apart(said)), None):
        raise Unclear(f"Open MPI 5.0.11 refuses {said.written[0][:60]}; it is unknown whether this release accepts it")
    _readable(line)
    if want.odd:
        raise Unclear(f"{want.odd} is not predicted")


def _readable(line: Line) -> None:
    """Raise Unclear where words of a line are not known, or say of hosts what is not read here."""
    for said in line.options:
        if not said.known:
            raise Unclear(f"{said.written[0][:60]} is an unknown option")
        harmless = said.values in (("donotlaunch",), ("show-progress",), ("error-nonzero-status",))
        if said.name in _ELSEWHERE or (line.family == "openmpi5" and said.name in _LEFT_OPEN and not harmless):
            raise Unclear(f"advisor cannot read what {' '.join(said.written)[:80]} adds to the line")
    for word in (line.first.value("--host") or "").split(","):
        name, colon, count = word.strip().partition(":")
        if word and (not _NAME.fullmatch(name) or (colon and not _COUNT.fullmatch(count))):
            raise Unclear(f"the host {word[:60]} in --host is written in a form whose effect advisor does not predict")


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be; raise Refused or Unclear."""
    _understood(made)
    want = made.want
    if want.level == "rankfile":
        text = made.files.get(want.rankfile or "")
        if text is None:
            raise Unclear(f"the rankfile {(want.rankfile or '')[:80]} places the ranks, but was not read")
        return tuple(_ranks_of_rankfile(want, made.topology, text, five=made.five))
    if want.hostfile and want.hostfile not in made.files:
        raise Unclear(f"the hosts are listed in the file {want.hostfile[:80]}, which was not read")
    if want.overload:
        raise Unclear("the placement of ranks that share cores is not predicted")
    threads = want.hwthreads or "hwthread" in (want.level, None if made.five else want.bind)
    node = NodeParts(made.topology, threads=threads)
    hosts = _hosts_with_slots(want, node)
    if want.level == "pe-list":
        return tuple((_in_list_of_5 if made.five else _in_list_of_4)(want, node, hosts))
    return _Job(want, node, hosts, five=made.five).ranks()


_DEPTH = {"none": 0} | {kind: depth for depth, kind in enumerate(reversed(OBJECTS), 1)}
"""How deep in a machine things are: 5 does not bind ranks to what lies above that which they are spread over."""

Home = tuple[CpuSet, int]
"""The part of a host that a rank was assigned to, and its number among its kind."""


class _Job:
    """The ranks of a line and its hosts."""

    def __init__(self, want: Request, node: NodeParts, hosts: Sequence[Host], *, five: bool) -> None:
        self.want, self.node, self.hosts, self.five = want, node, hosts, five
        self.width, self.unit = want.pe or 1, "hwthread" if node.threads else "core"
        self.slots = sum(host.slots for host in hosts)
        self.total = bounded(want.ranks or self._counted(), len(node.known.cores))
        few = self.total <= 2
        self.level = want.ppr[1] if want.ppr else want.level or default_level(want, five=five, few=few)
        self.given = bool(want.bind or (self.width > 1 if five else want.pe))
        """Whether the line itself says what ranks are bound to."""
        self.bound = self._target(few=few)
        self._refuse()

    def _counted(self) -> int:
        """Return how many ranks there are without -np."""
        want, count = self.want, len(self.hosts)
        if want.ppr and (self.five or want.ppr[1] in ("node", "package")):
            return want.ppr[0] * len(self.node.parts(want.ppr[1])) * count
        if self.five and self.width > 1:
            return max(1, min(self.slots, count * (len(self.node.units) // self.width)))
        return self.slots

    def _target(self, *, few: bool) -> str:
        """Return what ranks are bound to."""
        want, four = self.want, not self.five
        if self.given:
            return want.bind or self.unit
        if want.oversubscribe if self.five else self.total > self.slots:
            return "none"
        if self.level in OBJECTS and not (four and (want.ppr or want.level is None)) and not want.pe:
            return self.level
        return self.unit if few or want.pe else "numa"

    def _refuse(self) -> None:
        if self.width > 1 and (self.level == "hwthread" or (self.level == "core" and not self.node.threads)):
            raise Refused(f"PE={self.width} exceeds one {self.level}; nothing starts")
        if self.five and _DEPTH.get(self.level, 0) > _DEPTH[self.bound] and self.bound != "none":
            raise Refused(
                f"--bind-to {self.bound} is larger than the parts that ranks are mapped to; Open MPI 5.x starts nothing"
            )
        if self.want.pe and self.given and self.bound not in (("core", "hwthread") if self.five else (self.unit, "none")):
            raise Refused(f"PE={self.width} needs --bind-to {self.unit}, not {self.bound}; nothing starts")
        if self.bound in ("core", "hwthread") and self.bound != self.unit and (self.bound == "hwthread" or self.width > 1):
            raise Unclear(f"--bind-to {self.bound} is not predicted when each {self.unit} counts as a slot")
        if self.total > self.slots and not self.want.oversubscribe and not self.want.ppr:
            raise Refused(f"{self.total} ranks exceed the {self.slots} slots available outside a scheduler's job; nothing starts")
        crowds = self.five and self.want.oversubscribe and len(self.hosts) > 1
        if crowds and self.level != "slot" and (self.bound != "none" or self.level not in OBJECTS):
            raise Unclear("advisor does not predict which of several hosts Open MPI 5.x oversubscribes")
        inside = self.node.topology.inside
        if self.five and len(self.hosts) > 1 and self.level in OBJECTS and inside != self.node.topology:
            raise Unclear("on several hosts, advisor does not predict how Open MPI 5 counts parts that the process may not use")
        if self.want.rank_by in ("fill", "span") and self.level not in OBJECTS:
            raise Refused(f"--rank-by {self.want.rank_by} needs a --map-by that names a part of the node; nothing starts")

    def ranks(self) -> tuple[LintRank, ...]:
        """Return every rank by its number."""
        homes = [self._pattern(*self.want.ppr)] if self.want.ppr else [self._dealt()]
        placed: list[tuple[tuple[int, ...], str | None, CpuSet | None]] = []
        for position, (host, mine) in enumerate(zip(self.hosts, homes[0], strict=True)):
            for i, ((_, part), cpus) in enumerate(zip(mine, self._bind(mine), strict=True)):
                placed.append((self._key(position, i, part), host.name, cpus))
        placed.sort(key=lambda each: each[0])
        return tuple(LintRank(rank=rank, host=host, cpus=cpus) for rank, (_, host, cpus) in enumerate(placed))

    def _dealt(self) -> list[list[Home]]:
        """Return the homes of each host's ranks: hosts are filled slot by slot, or have as many each by node."""
        count, left = len(self.hosts), self.total
        if self.level == "node":
            shares = [left // count + (position < left % count) for position in range(count)]
            if any(share > host.slots for share, host in zip(shares, self.hosts, strict=True)):
                raise Unclear("placement on hosts with fewer slots than their share of ranks is not predicted")
        else:
            shares = []
            first = len(self.hosts) == 1 or (self.five and self.want.oversubscribe and self.level in OBJECTS)
            for host in self.hosts:
                shares.append(left if first and self.bound == "none" else min(left, host.slots))
                left -= shares[-1]
            if left and (self.bound != "none" or self.level != "slot"):
                raise Unclear("it is unknown where ranks beyond the slots run if they are bound or spread over parts of a node")
            shares = [share + left // count + (position < left % count) for position, share in enumerate(shares)]
        parts = self.node.parts(self.level)
        return [[(parts[i % len(parts)], i % len(parts)) for i in range(share)] for share in shares]

    def _pattern(self, each: int, kind: str) -> list[list[Home]]:
        """Return the homes of ranks of which so many are on each part of every host."""
        parts, left, text = self.node.parts(kind), self.total, f"ppr:{each}:{kind}"
        lacking = [part for part in parts if self.bound != "none" and len(self.node.units_in(part)) < each * self.width]
        told = self.given and self.width == 1 and kind != self.bound == self.unit
        if self.five:  # it leaves ranks unbound for which there are slots and no cores
            told = self.given or each * len(parts) > max(host.slots for host in self.hosts)
        if lacking and (len(lacking) < len(parts) or not told):
            raise Unclear(f"{text} is not predicted if some {kind} has fewer cores than its ranks need")
        if lacking or left > each * len(parts) * len(self.hosts):
            raise Refused(f"{text} allows fewer than {self.total} ranks; nothing starts")
        if self.five and left % each and self.want.rank_by not in (None, "slot"):
            raise Unclear(f"it is not predicted which ranks of {text} are left out")
        if self.five and kind != "node" and left % each:
            raise Refused(f"{left} ranks are not a multiple of {text}: Open MPI 5.0 starts no ranks, yet exits successfully")
        found: list[list[Home]] = []
        for host in self.hosts:
            mine = [(part, at) for at, part in enumerate(parts) for _ in range(each)][:left]
            left -= len(mine)
            if len(mine) > host.slots and not self.want.oversubscribe:
                if self.five:
                    raise Unclear(f"it is unknown where {text} puts ranks beyond a host's {host.slots} slots")
                raise Refused(f"{len(mine)} ranks on a host with {host.slots} slots, without --oversubscribe; nothing starts")
            if len(mine) > host.slots and self.bound != "none":
                raise Unclear(f"{text} beyond the {host.slots} slots of a host is not predicted")
            found.append(mine)
        return found

    def _bind(self, homes: Sequence[Home]) -> Iterator[CpuSet | None]:
        """Yield the CPUs of a host's ranks."""
        if self.bound == "none":
            yield from [None] * len(homes)
            return
        if self.bound == self.unit:
            rooms = {home: self._chunks(home) for home, _ in homes}
            for home, _ in homes:
                yield next(rooms[home], None) or self._crowded()
            return
        things = self.node.parts(self.bound)
        room, taken = [len(self.node.units_in(thing)) for thing in things], [0] * len(things)
        for home, _ in homes:
            inside = [at for at, thing in enumerate(things) if thing & home]
            free = [at for at in inside if taken[at] < room[at]]
            at = next(iter(free), None) if self.five else min(free, key=taken.__getitem__, default=None)
            if at is None:
                self._crowded()
            else:
                taken[at] += 1
                yield things[at]

    def _chunks(self, home: CpuSet) -> Iterator[CpuSet]:
        """Yield so many neighbouring cores of a part, again and again; 5 leaves no socket for them where it has the choice."""
        apart = self.five and self.width > 1 and self.level in ("slot", "node")
        for group in self.node.parts("package") if apart else (home,):
            units = self.node.units_in(group)
            yield from (union(units[at : at + self.width]) for at in range(0, len(units) - self.width + 1, self.width))

    def _crowded(self) -> CpuSet:
        """Refuse more ranks of the one host than it has cores, or leave them open."""
        if self.given and len(self.hosts) == 1 and self.total * self.width > len(self.node.units):
            raise Refused(f"more ranks than {self.unit}s on the host, without overload-allowed; nothing starts")
        raise Unclear("placing more ranks than a host has cores is not predicted")

    def _key(self, host: int, i: int, part: int) -> tuple[int, ...]:
        """Return what sorts the rank that came to a host as its i-th: host by host, hosts in turn, or part by part."""
        order, level = self.want.rank_by, self.level
        spread = level in OBJECTS and not self.want.ppr
        if order is None:
            named = self.want.level or self.want.modifiers or self.want.pe
            own = level if level == "node" and not self.want.ppr and (self.five or named) else "slot"
            order = "fill" if self.five and spread else own
        if order == "node":
            return (i, host)
        filled = order == "fill" or (order in ("core", "hwthread") and level not in (order, "slot", "node"))
        if filled and spread:
            return (host, part, i)
        if order in ("slot", level) or (level in ("slot", "node") and not self.five):
            return (host, i)
        raise Unclear(f"--rank-by {order} for ranks mapped by {level} is not predicted")


def _in_list_of_4(want: Request, node: NodeParts, hosts: Sequence[Host]) -> Iterator[LintRank]:
    """Yield ranks that --cpu-set or --cpu-list binds: all to the whole list, or in the order of its CPUs' numbers."""
    if not want.cpus or want.oversubscribe:
        raise Unclear("placement by a list of cores is predicted only if the list is known and slots are not oversubscribed")
    try:
        numbers = CpuSet.parse(want.cpus)
        cpus = node.known.pus_cpus(numbers) if want.hwthreads else node.known.cores_cpus(numbers)
    except BadValue as error:
        raise Refused(f"the list {want.cpus[:60]} cannot be used: {error.problem}") from error
    total, single = bounded(want.ranks or sum(host.slots for host in hosts)), list(cpus)
    places = [(host.name, local) for host in hosts for local in range(min(host.slots, total))][:total]
    if len(places) < total:
        raise Refused(f"{total} ranks, but only {len(places)} slots; nothing starts")
    if want.ordered and any(local >= len(single) for _, local in places):
        raise Refused(f"the list has {len(single)} CPUs, fewer than the ranks on a node; nothing starts")
    for rank, (host, local) in enumerate(places):
        yield LintRank(rank=rank, host=host, cpus=CpuSet([single[local]]) if want.ordered else cpus)


def _in_list_of_5(want: Request, node: NodeParts, hosts: Sequence[Host]) -> Iterator[LintRank]:
    """Yield the ranks of a pe-list: each bound to all of it, or in its order one core each, again on every host."""
    listed = want.cpus or ""
    if want.oversubscribe or (want.pe or 1) > 1 or want.rank_by not in (None, "slot"):
        raise Unclear("a pe-list with additional directives is not predicted")
    if want.bind not in (None, "core", "hwthread"):
        raise Refused(f"a pe-list needs --bind-to core or hwthread, not {want.bind}; nothing starts")
    single = want.bind == "hwthread" or (want.hwthreads and want.bind is None)
    node = NodeParts(node.topology, threads=single if want.ordered else want.hwthreads)  # the binding counts in order alone
    try:
        whole = union(node.units[number] for number in CpuSet.parse(listed))
    except (BadValue, IndexError) as error:
        raise Unclear(f"the list {listed[:60]} names cores that do not exist") from error
    if not want.ordered and not any(whole <= package for package in node.parts("package")):
        raise Refused("the list spans sockets, and Open MPI 5.x refuses to bind ranks to all of it; nothing starts")
    entries = listed.split(",")  # 5.0 takes a range for one entry
    total, rank = bounded(want.ranks or len(entries)), 0
    rooms = [min(len(entries), host.slots, len(node.units_in(whole))) for host in hosts]
    if sum(rooms) < total:
        raise Refused(
            f"{total} ranks, but the list of {len(entries)} entries and the slots allow only {sum(rooms)}; nothing starts"
        )
    for host, room in zip(hosts, rooms, strict=True):
        for entry in entries[: min(room, total - rank)]:
            cpus = node.units[int(entry.partition("-")[0])] if want.ordered else whole
            yield LintRank(rank=rank, host=host.name, cpus=cpus)
            rank += 1


_ROW = re.compile(rf"rank\s+(\d{{1,9}})\s*=\s*({_NAME.pattern})\s+slots?\s*=\s*(\S{{1,4096}})", re.ASCII)

_COMMENT = re.compile(r"(#|//).*")

_LIST = re.compile(r"\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)*", re.ASCII)

LETTERS = 63
"""What both read of a slot list; 4.1 puts the name of the host beside it."""


def _ranks_of_rankfile(want: Request, topology: Topology, text: str, *, five: bool) -> Iterator[LintRank]:
    """Yield where a rankfile of lists puts every rank; raise Refused or Unclear."""
    known = logical_numbering(topology)
    found: dict[int, LintRank] = {}
    plain_rows = ((position, _COMMENT.sub("", row).strip()) for position, row in enumerate(text.splitlines(), 1))
    for position, plain in filter(lambda each: each[1], plain_rows):
        if position > MOST_RANKS:
            raise Unclear(f"the rankfile has more than {MOST_RANKS} lines, the limit for prediction")
        match = _ROW.fullmatch(plain)
        if not match or not _LIST.fullmatch(match[3]):
            raise Unclear(f"line {position}: {plain[:60]!r} is not a rank line that both versions read the same way")
        rank, host, slots = int(match[1]), match[2], match[3]
        if len(slots) > (LETTERS if five else LETTERS - len(host) - 6):
            raise Unclear(f"line {position}: the slot list has {len(slots)} characters, more than Open MPI reads")
        if not found and rank:
            raise Refused("the first line of a rankfile must be for rank 0; nothing starts")
        if rank in found or (want.ranks and rank >= want.ranks) or (want.hosts and host not in dict(want.hosts)):
            raise Unclear(f"line {position}: the rank is repeated or not started, or its host is not in the launch line")
        try:
            found[rank] = LintRank(rank=rank, host=host, cpus=_listed(slots, want, known, five=five))
        except BadValue as error:
            raise Refused(f"line {position}: {error.problem}; nothing starts") from error
    if sorted(found) != list(range(want.ranks or len(found))):
        raise Refused("a rank has no line in the rankfile; nothing starts")
    if five:
        _must_fit(want, found, known)
    local = not want.hosts and {each.host for each in found.values()} == {"localhost"}
    yield from (found[rank].but(**({"host": None} if local else {})) for rank in range(len(found)))


def _listed(slots: str, want: Request, known: LogicalNumbering, *, five: bool) -> CpuSet:
    """Return the CPUs of a slot list; raise BadValue of numbers that are not there."""
    if any(int(last) < int(first) for first, last in re.findall(r"(\d+)-(\d+)", slots)):
        raise Unclear(f"slot={slots[:40]}: a range runs backwards; ranks with such a range are not bound")
    numbers = CpuSet.parse(slots)
    if not five and want.parameters.get("rmaps_rank_file_physical") == "1":
        cores = known.cores_cpus(known.core_numbers(numbers))
        return numbers if want.hwthreads else cores
    return known.pus_cpus(numbers) if want.hwthreads else known.cores_cpus(numbers)


def _must_fit(want: Request, found: dict[int, LintRank], known: LogicalNumbering) -> None:
    """Raise Refused or Unclear of a rankfile that 5 refuses: more ranks of a host than slots, cores that another rank has."""
    counts, taken = Counter(each.host for each in found.values()), dict[str | None, CpuSet]()
    for name, slots in want.hosts:
        room = (None if want.from_file else 1) if slots is None else slots
        if room and counts[name] > room:
            raise Unclear(f"the rankfile has {counts[name]} ranks on {name}, more than its slots ({room})")
    for rank, each in sorted(found.items()) if not want.overload else ():
        cpus = each.cpus or CpuSet()
        mine = cpus if want.hwthreads else union(known.cores[known.core_of[cpu]] for cpu in cpus)
        if taken.get(each.host, CpuSet()) & mine:
            raise Refused(f"rank {rank} shares cores with another rank, which Open MPI 5.x refuses; nothing starts")
        taken[each.host] = taken.get(each.host, CpuSet()) | mine
