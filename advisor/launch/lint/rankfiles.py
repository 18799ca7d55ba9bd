"""Rankfiles as Open MPI 4 and 5 read them: ``slot=0-3``, ``slot=0:1-2;1:0``, ``slot=s0``, each where both were watched.

What is written in any other way is not guessed at: both versions mistake such lines silently.
"""

import re
from collections.abc import Iterator

from advisor.errors import BadValue
from advisor.launch.lint.openmpi import MOST_RANKS, Ground, Refused, Unclear
from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank

_ROW = re.compile(r"rank\s+(\d{1,9})\s*=\s*([A-Za-z0-9][A-Za-z0-9._-]{0,254})\s+slots?\s*=\s*(\S{1,4096})", re.ASCII)
_COMMENT = re.compile(r"(#|//).*")
_LIST = re.compile(r"\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)*", re.ASCII)
_PAIRS = re.compile(r"\d{1,4}:(?:\*|\d{1,7}(?:-\d{1,7})?)(?:[,;]\d{1,4}:(?:\*|\d{1,7}(?:-\d{1,7})?))*", re.ASCII)
_SOCKET_LIST = re.compile(r"(\d{1,4}):(\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)+)", re.ASCII)
_WHOLE = re.compile(r"[sS](\d{1,4})", re.ASCII)
LETTERS = 63
"""What both read of a slot list; 4.1 puts the name of the host beside it."""


def ranks(want: Wanted, topology: Topology, text: str, *, five: bool) -> tuple[LintRank, ...]:
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
        rank, host, cpus = reader.row(plain, number)
        if not found and rank:
            raise Refused("the first line of a rankfile must be that of rank 0; nothing starts")
        if rank in found:
            raise Unclear(f"line {number}: rank {rank} is there twice")
        found[rank] = LintRank(rank=rank, host=host, cpus=cpus)
    return tuple(_whole(want, found, reader, five=five))


def _whole(want: Wanted, found: dict[int, LintRank], reader: "_Reader", *, five: bool) -> Iterator[LintRank]:
    total = want.ranks or len(found)
    if any(rank not in found for rank in range(total)):
        raise Refused("a rank has no line in the rankfile; nothing starts")
    hosts = {each.host for each in found.values()}
    named = {name for name, _ in want.hosts}
    if named and not hosts <= named:
        raise Unclear("the rankfile names a host that the line does not")
    local = hosts == {"localhost"} and not named
    taken: dict[str | None, CpuSet] = {}
    for rank in range(total):
        each = found[rank]
        units = reader.touched(each.cpus or CpuSet())
        if five and not want.overload and taken.get(each.host, CpuSet()) & units:
            raise Refused(f"rank {rank} has cores of another, which 5.x refuses; nothing starts")
        taken[each.host] = taken.get(each.host, CpuSet()) | units
        yield each.model_copy(update={"host": None}) if local else each


class _Reader:
    def __init__(self, want: Wanted, topology: Topology, *, five: bool) -> None:
        self.five = five
        self.ground = Ground(topology, threads=want.hwthreads)
        self.physical = not five and want.parameters.get("rmaps_rank_file_physical") == "1"
        self.known: dict[str, CpuSet] = {}

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
        return int(match[1]), match[2], self.known[slots]

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
            pieces = [piece.partition(":") for piece in re.split("[,;]", slots)]
            return union(self._in_package(int(socket), text) for socket, _, text in pieces)
        if match := _SOCKET_LIST.fullmatch(slots):
            if not self.five:
                raise BadValue(f"4.1 takes the numbers after the comma in slot={slots[:40]} for sockets and finds none")
            return union(self._in_package(int(match[1]), piece) for piece in match[2].split(","))
        raise Unclear(f"slot={slots[:40]} is not what both versions read alike")

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
