"""Ranks that a line lists one by one, as Open MPI 4 and 5 read them: rankfiles, --cpu-list and pe-list."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from advisor.errors import BadValue
from advisor.launch.lint.line import Line
from advisor.launch.lint.openmpi.host_file import NAME, must_have_slots, rows
from advisor.launch.lint.openmpi.mapper import Host, NodeParts, Proc, hosts_with_slots, ranks_in_order
from advisor.launch.lint.openmpi.mca import parameters
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear, bounded
from advisor.launch.lint.request import Request
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

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
    for number, row in enumerate(rows, 1):
        plain = _COMMENT.sub("", row).strip()
        if not plain:
            continue
        try:
            rank, host, cpus = reader.row(plain, number)
        except (Refused, Unclear):
            ahead = _ROW.fullmatch(plain)
            if not found or not ahead or int(ahead[1]) < (want.ranks or MOST_RANKS) or (not five and ahead[2].startswith("+")):
                raise
            if five:
                raise Unclear(f"line {number}: what is wrong with a rank that is not started, 5 may pass over") from None
            continue  # 4.1 reads no slots of a rank that is not started, but its host
        if not found and rank:
            raise Refused("the first line of a rankfile must be that of rank 0; nothing starts")
        if rank in found:
            raise Unclear(f"line {number}: rank {rank} is there twice")
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


def listed5(want: Request, topology: Topology, hosts: Sequence[Host], *, expanded: bool) -> None:
    """Give hosts the ranks of a pe-list: each bound to all of it, or in its order one core each, again on every host.

    ``expanded``: newer ones count what is in a range; 5.0 takes it for one entry.
    """
    if want.oversubscribe or want.overload or (want.pe or 1) > 1 or want.rank_by not in (None, "slot") or not want.cpus:
        raise Unclear("a list with other directives beside it is not worked out here")
    if want.bind not in (None, "core", "hwthread"):
        raise Refused(f"a pe-list needs --bind-to core or hwthread, and {want.bind} is asked for; nothing starts")
    single = want.bind == "hwthread" or (want.hwthreads and want.bind is None)
    if expanded and single != want.hwthreads:
        raise Unclear("what the numbers of a list count beside such a binding, is not worked out for the development branch")
    ground = NodeParts(topology, threads=single if want.ordered else want.hwthreads)  # 5.0.11: the binding counts in order alone
    try:
        numbers = CpuSet.parse(want.cpus)
        whole = union(ground.units[number] for number in numbers)
    except (BadValue, IndexError) as error:
        raise Unclear(f"the list {want.cpus[:60]} names cores that are not there") from error
    if not want.ordered and not any(whole <= package for package in ground.parts("package")):
        raise Refused("the list lies across sockets, which 5.x refuses for ranks bound to all of it; nothing starts")
    if expanded and want.ordered and "-" in want.cpus:
        raise Unclear("ranges in an ordered list are not worked out here")
    entries = [str(number) for number in numbers] if expanded and not want.ordered else want.cpus.split(",")
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
