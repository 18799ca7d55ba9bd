"""What ranks say of themselves, by the probe or by /proc; where they were meant to sit, and in what the two differ.

No source of the Machine: what is read here is of one moment. CPU numbers are the kernel's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from sys import intern
from typing import Annotated, Literal

from jinja2 import Environment, StrictUndefined
from pydantic import Field

from advisor.errors import BadInput
from advisor.jobs.launcher import rank_variables
from advisor.jobs.placement import MemoryPolicy, Placement
from advisor.machine.cpuset import CpuSet, bounded_sets
from advisor.machine.hosts.base import Host, Why
from advisor.machine.topology import Topology
from advisor.machine.value import Value

GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRank:
    """Where one rank shall sit. No Value, as Observation: a job has a hundred thousand of them."""

    rank: Annotated[int, Field(ge=0, lt=1 << 24)]
    host: Annotated[str, Field(max_length=255)] | None = None
    """None if the plan has one node without a name."""
    local: int | None = None
    """Its number among the ranks of its host."""
    cpus: CpuSet
    memory: tuple[int, ...] | None = None
    """NUMA nodes its memory shall come from; None: not planned."""
    policy: MemoryPolicy | None = None
    """How strictly: from these nodes first, or from no others; None: as it is by default."""
    nodes: tuple[int, ...] | None = None
    """NUMA nodes of its CPUs; None: the plan does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one rank says of itself."""

    rank: int | None
    """None if no launcher gave it one."""
    size: int | None = None
    """Ranks in all, by the launcher's variable."""
    local: int | None = None
    host: str
    pid: int | None = None
    cpus: CpuSet
    """The CPUs it may run on."""
    mems: CpuSet | None = None
    """The NUMA nodes that its cgroup lets it use."""
    policy: str | None = None
    """Its memory policy, as /proc/self/numa_maps has it: default, bind:0-1."""
    last: int | None = None
    """The CPU it ran on."""
    ucx: str | None = None
    """UCX_NET_DEVICES."""
    omp: str | None = None
    """OMP_PLACES."""
    gpu: str | None = None
    """The GPUs that it is shown."""


class GatheredReports(Value):
    """What was found in the output of a launcher."""

    ranks: tuple[Observation, ...] = ()
    """one per rank, in order"""
    alone: int = 0
    """lines from processes without a rank from any launcher"""
    repeated: tuple[int, ...] = ()
    """ranks claimed by two processes"""
    damaged: int = 0
    """incomplete lines"""


Verdict = Literal["exact", "memory", "wider", "narrower", "overlapping", "elsewhere", "wrong host", "missing"]
VERDICTS: tuple[Verdict, ...] = (
    "missing", "wrong host", "overlapping", "elsewhere", "wider", "narrower", "memory", "exact",
)  # fmt: skip
"""The worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankVerdict:
    """One rank: planned against seen."""

    rank: int
    verdict: Verdict
    planned: PlannedRank
    seen: Observation | None
    """None if it is missing."""
    shares: bool = False
    """Whether another rank may run on one of its cores, unlike in the plan."""


class Cause(Value):
    """What most likely happened to some ranks."""

    id: str
    say: str
    cure: str = ""
    """what to do about it, in the launcher's own words if known"""
    ranks: CpuSet
    """the ranks it explains"""


class Comparison(Value):
    """Everything in which ranks are not where the plan has them."""

    planned: int
    """ranks of the plan"""
    seen: int
    """ranks of the plan that reported"""
    differ: tuple[RankVerdict, ...] = ()
    """every rank that is not exactly where planned"""
    extra: tuple[int, ...] = ()
    """ranks that reported but are not in the plan"""
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = ()
    """further remarks that do not affect the result"""

    @property
    def equal(self) -> bool:
        """Whether every rank is exactly where the plan has it, and there is no other."""
        return not self.differ and not self.extra


class Thread(Value):
    """One thread of a running process."""

    id: int
    cpus: CpuSet
    last: int | None = None
    """the CPU it last ran on"""
    running: bool = False
    """whether it was running or ready to run when sampled"""


class Process(Value):
    """One process of a running application."""

    pid: int
    name: str
    cpus: CpuSet
    """the CPUs allowed to any of its threads"""
    threads: tuple[Thread, ...]
    mems: CpuSet | None = None
    policy: str | None = None
    """its memory policy: default, bind:8; None if it may not be read"""
    rank: int | None = None
    """from the launcher's variables; None without one, or where not readable"""
    local: int | None = None
    size: int | None = None
    ucx: str | None = None
    omp: str | None = None
    gpu: str | None = None
    told: bool = True
    """whether its environment could be read"""


class RunningProcesses(Value):
    """The processes that were looked at, and what of them could not be read."""

    host: str | None = None
    processes: tuple[Process, ...] = ()
    unread: tuple[str, ...] = ()
    """one line each"""


class Caution(Value):
    """Something about running processes that costs them performance."""

    id: str
    say: str
    pids: tuple[int, ...]


class PlannedBinding(Value):
    """A plan as it is read from a file."""

    ranks: tuple[PlannedRank, ...]
    topology: Topology | None = None
    """topology of the nodes, if the file contains it and all agree"""


def planned_ranks(placement: Placement) -> tuple[PlannedRank, ...]:
    """Return where each rank of a placement shall sit."""
    return tuple(
        PlannedRank(
            rank=rank, host=host, local=local, cpus=slot.cpus, memory=slot.memory or None, policy=slot.policy, nodes=slot.nodes
        )
        for rank, host, local, slot in placement.ranks()
    )


def same_host(one: str | None, other: str | None) -> bool:
    """Return whether two names mean one host: a short name is that of any domain.

    >>> same_host("n1", "n1.cluster"), same_host("n1.a", "n1.b"), same_host("N1", "n1"), same_host(None, "n1")
    (True, False, True, True)
    """
    if one is None or other is None or one == other:
        return True
    a, b = one.casefold().rstrip("."), other.casefold().rstrip(".")
    return a == b or (a.partition(".")[0] == b.partition(".")[0] and ("." not in a or "." not in b))


MARK = b"ADVISOR-RANK "
_LONGEST = 8192
"""Bytes of a line; the probe's have less than 4096, and a launcher puts little before them."""
_PIECE = 1 << 20
"""Bytes of an output that are taken apart at once: its lines are not to be held all beside it."""
_RANKS = 1 << 20
_THREADS = 1 << 16
_NUMBER = r"(-|[0-9]{1,9})"
_WORD = r"([A-Za-z0-9._:,/@+={}()-]{1,256}|\?)"
_LINE = re.compile(
    rf"ADVISOR-RANK rank={_NUMBER} size={_NUMBER} local={_NUMBER} host=([A-Za-z0-9][A-Za-z0-9._-]{{0,254}}) pid={_NUMBER}"
    rf" cpus=([0-9a-fx,-]{{1,3000}}) mems=([0-9,-]{{1,256}}) policy={_WORD} last={_NUMBER} ucx={_WORD} omp={_WORD} gpu={_WORD}",
    re.ASCII,
)


class Listener:
    """Hears a launcher's output in pieces and keeps the ranks' lines of it."""

    def __init__(self) -> None:
        self._rest = b""
        self._ranks: dict[int, Observation] = {}
        self._repeated: set[int] = set()
        self._alone = self._damaged = 0

    def hear(self, piece: bytes) -> None:
        """Take the next piece; a line that is too long to be a rank's is forgotten."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._read(line)
        if len(self._rest) > _LONGEST:
            self._rest = self._rest[-_LONGEST:]

    def gathered(self) -> GatheredReports:
        """Return what was heard; a last line without its end counts."""
        self._read(self._rest)
        self._rest = b""
        return GatheredReports(
            ranks=tuple(self._ranks[rank] for rank in sorted(self._ranks)),
            alone=self._alone,
            repeated=tuple(sorted(self._repeated)),
            damaged=self._damaged,
        )

    def _read(self, line: bytes) -> None:
        """Read a line, whatever the launcher put before it; lines that ran together are taken apart."""
        for part in line[-_LONGEST:].split(MARK)[1:]:
            seen = observation("ADVISOR-RANK " + part.decode("ascii", "replace"))
            if seen is None or len(self._ranks) >= _RANKS:
                self._damaged += 1
            elif seen.rank is None:
                self._alone += 1
            elif self._ranks.setdefault(seen.rank, seen) != seen:
                self._repeated.add(seen.rank)


def observation(line: str) -> Observation | None:
    """Return what the probe's line says, None where it is no such line."""
    match = _LINE.match(line)
    if not match:
        return None
    rank, size, local, host, pid, cpus, mems, policy, last, ucx, omp, gpu = match.groups()
    allowed, nodes = _set(cpus), _set(mems)
    if not allowed:
        return None
    return Observation(
        rank=_number(rank),
        size=_number(size),
        local=_number(local),
        host=intern(host),
        pid=_number(pid),
        cpus=allowed,
        mems=nodes,
        policy=_told(policy),
        last=_number(last),
        ucx=_told(ucx),
        omp=_told(omp),
        gpu=_told(gpu),
    )


def reported(text: bytes) -> GatheredReports:
    """Return what the ranks said in a whole output."""
    listener = Listener()
    with bounded_sets():
        for at in range(0, len(text), _PIECE):
            listener.hear(text[at : at + _PIECE])
        return listener.gathered()


def processes_named(host: Host, name: str) -> tuple[int, ...]:
    """Return the processes that run a program: by the kernel's name of it, its file's, or that of the script it runs."""
    return tuple(int(pid) for pid in host.list("/proc") if pid.isdecimal() and pid.isascii() and name in _names(host, pid))


def _names(host: Host, pid: str) -> set[str]:
    comm = (host.read(f"/proc/{pid}/comm").text or "").rstrip("\n")
    words = (host.read(f"/proc/{pid}/cmdline").text or "").split("\0")[:2]
    files = [word.rpartition("/")[2] for word in words if word and not word.startswith("-")]
    return {comm, *files[:1], *(file for file in files[1:] if "/" in words[1] or "." in file)} - {""}


def read_processes(host: Host, pids: Iterable[int]) -> RunningProcesses:
    """Return what /proc says of some processes, and which could not be read."""
    found, unread = [], []
    for pid in dict.fromkeys(pids):
        process = _process(host, pid)
        if process is None:
            unread.append(f"process {pid} is not visible or has ended")
            continue
        found.append(process)
    closed = [process.pid for process in found if not process.told]
    if closed:
        unread.append(f"only the owner or root can read the environment of process {_few(closed)}: ranks unknown")
    name = (host.read("/proc/sys/kernel/hostname").text or "").strip()
    return RunningProcesses(host=name or None, processes=tuple(found), unread=tuple(unread))


def _few(pids: list[int]) -> str:
    return ", ".join(map(str, pids[:8])) + (", ..." if len(pids) > 8 else "")


def _process(host: Host, pid: int) -> Process | None:
    status = host.read(f"/proc/{pid}/status").text
    cpus = _field(status, "Cpus_allowed_list")
    if not status or not cpus:
        return None
    tasks = [name for name in host.list(f"/proc/{pid}/task") if name.isdecimal() and name.isascii()][:_THREADS]
    threads = tuple(thread for thread in (_thread(host, pid, task) for task in tasks) if thread)
    reading = host.read(f"/proc/{pid}/environ")
    variables = _variables(reading.data)
    name = re.search(r"^Name:\s*(.{1,64})", status, re.MULTILINE)
    bits = 0
    for thread in threads:
        bits |= thread.cpus.bits
    return Process(
        pid=pid,
        name=name[1] if name else "?",
        cpus=CpuSet.from_bits(bits) if bits else cpus,
        threads=threads,
        mems=_field(status, "Mems_allowed_list"),
        policy=_policy(host.read(f"/proc/{pid}/numa_maps").text),
        rank=_rank(variables, rank_variables("rank")),
        size=_rank(variables, rank_variables("size")),
        local=_rank(variables, rank_variables("local")),
        ucx=variables.get("UCX_NET_DEVICES"),
        omp=variables.get("OMP_PLACES"),
        gpu=next((variables[name] for name in GPU_VARIABLES if name in variables), None),
        told=reading.why is not Why.REFUSED,
    )


def _policy(maps: str | None) -> str | None:
    """Return the policy of the first mapping, which has none of its own: the process's."""
    match = re.match(r"\S{1,32} ([a-z:0-9,-]{1,256})(?: (\(many\)[0-9:,-]{1,256}))?", maps or "", re.ASCII)
    return f"{match[1]}{match[2] or ''}" if match else None


def _thread(host: Host, pid: int, task: str) -> Thread | None:
    folder = f"/proc/{pid}/task/{task}"
    cpus = _field(host.read(f"{folder}/status").text, "Cpus_allowed_list")
    stat = (host.read(f"{folder}/stat").text or "").rpartition(")")[2].split()
    if not cpus:
        return None
    last = _number(stat[36]) if len(stat) > 36 else None
    return Thread(id=int(task), cpus=cpus, last=last, running=stat[:1] == ["R"])


def _variables(data: bytes) -> dict[str, str]:
    """Return the few variables that matter here; no others are kept."""
    kept = {
        *rank_variables("rank"),
        *rank_variables("size"),
        *rank_variables("local"),
        *GPU_VARIABLES,
        "UCX_NET_DEVICES",
        "OMP_PLACES",
    }
    pairs = (each.decode("utf-8", "replace").partition("=") for each in data.split(b"\0"))
    return {name: value[:256] for name, sign, value in pairs if sign and name in kept}


def _rank(variables: dict[str, str], names: Iterable[str]) -> int | None:
    return next((_number(variables[name]) for name in names if _number(variables.get(name, "-")) is not None), None)


def _field(status: str | None, name: str) -> CpuSet | None:
    match = re.search(rf"^{name}:[ \t]*(\S*)", status or "", re.MULTILINE)
    return _set(match[1]) if match else None


def _set(text: str) -> CpuSet | None:
    if text == "-":
        return None
    try:
        return CpuSet.from_mask(text) if text.startswith("0x") else CpuSet.parse(text)
    except BadInput:
        return None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _told(word: str) -> str | None:
    return None if word == "-" else intern(word)


NAME = "advisor-probe"


def probe_script(template: str) -> str:
    """Return the script, with the launchers' variables in it."""
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a shell script of constants
        comment_start_string="{##",  # ${#cpus} is the shell's
        comment_end_string="##}",
    )
    gpus = "".join(f"${{{name}:-" for name in GPU_VARIABLES) + "}" * len(GPU_VARIABLES)
    numbers = {"rank": rank_variables("rank"), "size": rank_variables("size"), "local": rank_variables("local")}
    told = [(name, " ".join(names)) for name, names in numbers.items()]
    return environment.from_string(template).render(numbers=told, gpus=gpus)


def probe_words(template: str) -> tuple[str, ...]:
    """Return the probe as words of a command line: no file of it has to lie on the hosts. Comments are left out."""
    lines = probe_script(template).splitlines()
    return ("sh", "-c", "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#")), NAME)
