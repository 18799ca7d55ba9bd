"""Where ranks sit against where they should: one verdict, what most likely happened and its cure, and the page that says so."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from advisor.advice.compare import LogicalNumbering
from advisor.jobs.observe import (
    VERDICTS,
    Cause,
    Caution,
    Comparison,
    GatheredReports,
    Observation,
    PlannedRank,
    Process,
    RankVerdict,
    RunningProcesses,
    Verdict,
    same_host,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Hca, fabric_of, is_on_fabric
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from advisor.machine.units import UNKNOWN, count, plain
from advisor.show.lines import Line, Page, cut, listed, numbered, wrapped


@dataclass(frozen=True, slots=True)
class Pair:
    """One rank, planned and seen."""

    place: PlannedRank
    seen: Observation | None
    host: str | None
    """Where it should be, with the name of the nameless node filled in."""
    verdict: Verdict
    shares: bool

    @property
    def cpus(self) -> CpuSet:
        """The CPUs that were seen."""
        return self.seen.cpus if self.seen else CpuSet()

    @property
    def here(self) -> str:
        """The host that was seen, by its short name."""
        return self.seen.host.partition(".")[0].casefold() if self.seen else ""

    @property
    def there(self) -> str:
        """The planned host, by its short name."""
        return (self.host or "").partition(".")[0].casefold()


@dataclass(frozen=True)
class RankComparison:
    """All that is known when a cause is looked for."""

    pairs: tuple[Pair, ...]
    extra: CpuSet
    topology: Topology | None
    launcher: str = ""
    """Whose line it was; nothing where that is not known."""

    @cached_property
    def wrong(self) -> list[Pair]:
        """The ranks that were seen and have other CPUs, or are on another host."""
        return [pair for pair in self.pairs if pair.verdict not in ("exact", "memory", "missing")]

    @cached_property
    def logical(self) -> LogicalNumbering | None:
        """The numbers that hwloc gives this machine's cores, where its cores are known."""
        return LogicalNumbering(self.topology) if self.topology and self.topology.cores else None

    @cached_property
    def every(self) -> CpuSet:
        """All CPUs that any rank is planned on."""
        return union({pair.place.cpus for pair in self.pairs})

    @cached_property
    def widest(self) -> CpuSet:
        """The CPUs of the rank that is planned on most."""
        return max((pair.place.cpus for pair in self.pairs), key=len, default=CpuSet())

    @cached_property
    def _by_verdict(self) -> dict[Verdict, list[Pair]]:
        found: dict[Verdict, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            found[pair.verdict].append(pair)
        return found

    def of(self, verdict: Verdict) -> list[Pair]:
        """Return the ranks of a verdict."""
        return self._by_verdict.get(verdict, [])


def causes(case: RankComparison) -> tuple[Cause, ...]:
    """Return the causes, each rank in the first that explains it."""
    explained, found = CpuSet(), []
    if all(pair.verdict == "exact" for pair in case.pairs) and not case.extra:
        return ()
    for look in _LOOKS:
        for cause in look(case, explained):
            found.append(cause.but(cure=_cure(cause.id, case)))
            explained |= cause.ranks
    return tuple(found)


_PLANNED_LINE = "use the line that advisor bind writes for this launcher"
_BINDS = {
    "openmpi": "use --map-by slot:PE={cores} --bind-to core",
    "srun": "use -c {cpus} --cpu-bind=cores",
    "mpich": "use -bind-to core:{cores}",
    "intelmpi": "set I_MPI_PIN=1 and I_MPI_PIN_DOMAIN={cpus}",
    "pals": "use --cpu-bind depth -d {cpus}",
    "flux": "use -c {cores} -o cpu-affinity=per-task",
}
_WHOLE = {"openmpi": "leave --use-hwthread-cpus out", "srun": "use --cpu-bind=cores"}
_AS_MANY = {"": "start as many ranks as planned: -n {ranks}"}
_CURES: Mapping[str, Mapping[str, str]] = {
    "unbound": _BINDS,
    "wider": _BINDS,
    "one-core": _BINDS,
    "siblings": _WHOLE,
    "siblings-missing": _WHOLE,
    "missing": _AS_MANY,
    "extra": _AS_MANY,
    "cut": {"": "request whole nodes (--exclusive), or plan inside the job"},
    "stacked": {"": "give every launcher its own part of the node: advisor bind --slice 1/2"},
    "host-silent": {"": "check that the host belongs to the job and that a launch line with one rank starts on it"},
    "ranking": {"": "advisor check -- LINE shows how the line numbers ranks"},
    "host": {"": "list the hosts in the plan's order"},
    "memory": {"": "bind memory too: advisor bind --wrapper, or numactl before the program"},
}
"""What to do about a cause, by launcher where that matters; the words of each launcher's manual."""


def _cure(cause: str, case: RankComparison) -> str:
    """Return what to do about a cause, in the words of the line's launcher."""
    cures = _CURES.get(cause, {})
    said = cures.get(case.launcher.rstrip("0123456789"), cures.get("", _PLANNED_LINE))
    cores = len((case.logical.cores(case.widest) if case.logical else None) or case.widest)
    if cores == 1:  # one core is what both bind to without more words
        said = said.replace("--map-by slot:PE={cores} ", "").replace("core:{cores}", "core")
    return said.format(cores=cores, cpus=len(case.widest), ranks=len(case.pairs))


def _ranks(pairs: Iterable[Pair]) -> CpuSet:
    return CpuSet(pair.place.rank for pair in pairs)


def _missing(case: RankComparison, _: CpuSet) -> Iterator[Cause]:
    gone = case.of("missing")
    if not gone:
        return
    hosts = Counter(pair.there for pair in case.pairs)
    lost = Counter(pair.there for pair in gone)
    whole = {host: number for host, number in sorted(lost.items()) if host and number == hosts[host] and len(hosts) > 1}
    if whole:
        ranks = _ranks(pair for pair in gone if pair.there in whole)
        names = ", ".join(list(whole)[:8]) + (", ..." if len(whole) > 8 else "")
        yield Cause(id="host-silent", say=f"no rank of {names} has reported: nothing started there", ranks=ranks)
        gone = [pair for pair in gone if pair.there not in whole]
    if gone:
        ranks = _ranks(gone)
        tail = ranks.last == max(pair.place.rank for pair in case.pairs) and len(list(ranks.ranges())) == 1
        why = "fewer processes were started than planned" if tail else "they were not started, or their output was lost"
        yield Cause(id="missing", say=f"no report: {why}", ranks=ranks)


def _extra(case: RankComparison, _: CpuSet) -> Iterator[Cause]:
    if case.extra:
        say = "not in the plan: the line starts more processes than planned"
        yield Cause(id="extra", say=say, ranks=case.extra)


def _numbers(case: RankComparison, _: CpuSet) -> Iterator[Cause]:
    """Tell whether the kernel's numbers and hwloc's were taken for each other."""
    present = [pair for pair in case.pairs if pair.seen and pair.verdict != "wrong host"]
    moved = case.of("elsewhere") or case.of("overlapping")
    if case.logical is None or not moved or len(present) < max(2, len(case.wrong)):
        return
    for id_, say, turned in (
        ("numbers-as-logical", "the plan's CPU numbers were read as logical ones (hwloc's order)", case.logical.as_logical),
        (
            "numbers-as-physical",
            "logical numbers (hwloc's order) were read as the kernel's CPU numbers",
            case.logical.as_physical,
        ),
    ):
        if all(pair.cpus in turned(pair.place.cpus) for pair in present):
            yield Cause(id=id_, say=say, ranks=_ranks(case.wrong))
            return


def _turned(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    """Tell whether the places are the planned ones, each taken by another rank."""
    wrong = [pair for pair in case.wrong if pair.place.rank not in explained]
    wanted = Counter((pair.there, pair.place.cpus) for pair in wrong)
    if len(wrong) < 2 or wanted != Counter((pair.here, pair.cpus) for pair in wrong):
        return
    hosts = any(pair.verdict == "wrong host" for pair in wrong)
    how = "placed on the hosts in a different order" if hosts else "numbered in a different order"
    cure = "by node instead of by slot, or vice versa" if hosts else "the ranking, --rank-by or --distribution, differs"
    yield Cause(id="ranking", say=f"the CPUs used are as planned, but ranks are {how}: {cure}", ranks=_ranks(wrong))


def _hosts(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    pairs = [pair for pair in case.of("wrong host") if pair.place.rank not in explained]
    if pairs:
        names = sorted({pair.here for pair in pairs})
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        say = f"started on {listed} instead of the planned hosts: the host list or its slots differ from the plan's"
        yield Cause(id="host", say=say, ranks=_ranks(pairs))


_MOVED = ("overlapping", "elsewhere", "narrower")


def _stacked(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    """Tell which ranks are on the very same few CPUs, where each should have its own."""
    groups: dict[tuple[str, CpuSet], list[Pair]] = defaultdict(list)
    for pair in case.pairs:
        if pair.seen:
            groups[pair.here, pair.cpus].append(pair)
    for (host, cpus), pairs in groups.items():
        wrong = [pair for pair in pairs if pair.verdict in _MOVED]
        alone = all(pair.place.cpus == cpus for pair in pairs if pair.verdict not in _MOVED)
        if len(pairs) > 1 and wrong and alone and not _ranks(wrong) <= explained:
            say = (
                f"{len(pairs)} ranks are on CPU {cpus} of {host}: several jobs or launchers start at the same core (give each "
                f"its own --slice), or a launcher got a single CPU for all ranks"
            )
            yield Cause(id="stacked", say=say, ranks=_ranks(wrong))


def _shifted(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    """Tell whether every rank runs as many cores before or after its place."""
    wrong = [pair for pair in case.of("elsewhere") + case.of("overlapping") if pair.place.rank not in explained]
    steps = {case.logical.step(pair.place.cpus, pair.cpus) if case.logical else _step(pair) for pair in wrong}
    step = steps.pop() if len(steps) == 1 else None
    if step and len(wrong) > 1 and len(wrong) == len(case.wrong):
        where = "before" if step < 0 else "after"
        say = (
            f"every rank runs {count(abs(step), 'core' if case.logical else 'CPU')} {where} its planned place: the launcher "
            f"counts from a different first core, so the plan's slice or reserve is ignored"
        )
        yield Cause(id="shifted", say=say, ranks=_ranks(wrong))


def _step(pair: Pair) -> int | None:
    """Return how many CPU numbers further a set lies than planned; None where it is no such move."""
    first, other = pair.place.cpus.first, pair.cpus.first
    if first is None or other is None or pair.place.cpus.bits >> first != pair.cpus.bits >> other:
        return None
    return other - first


def _wider(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in case.of("wider"):
        if pair.place.rank not in explained:
            groups[_breadth(pair.cpus, case)].append(pair)
    for say, pairs in groups.items():
        yield Cause(id="unbound" if say == _UNBOUND else "wider", say=say, ranks=_ranks(pairs))


_UNBOUND = "not bound: they may run on every CPU of their host; binding is off, or it failed and the launcher continued"


def _breadth(cpus: CpuSet, case: RankComparison) -> str:
    """Return what a set that is too wide is."""
    topology = case.topology.inside if case.topology else None
    if topology is None:
        return _UNBOUND if case.every <= cpus and len(case.pairs) > 1 else "bound to more CPUs than planned"
    if topology.pus <= cpus:
        return _UNBOUND
    for parts, word in (
        (topology.nodes, "whole NUMA nodes: the default of Open MPI 4 for more than two ranks"),
        (topology.l3, "whole L3 groups"),
        (topology.packages, "whole sockets: the default of older launchers"),
        (topology.cores, "whole cores instead of single hardware threads"),
    ):
        if any(part.cpuset == cpus for part in parts):
            return f"bound to {word}"
    return "bound to more CPUs than planned"


def _narrower(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    threads: list[Pair] = []
    single: list[Pair] = []
    other: list[Pair] = []
    for pair in case.of("narrower"):
        if pair.place.rank in explained:
            continue
        cores = case.logical.cores(pair.cpus) if case.logical else None
        same = cores is not None and case.logical is not None and cores == case.logical.cores(pair.place.cpus)
        one = len(cores) == 1 if cores is not None else len(pair.cpus) == 1
        (threads if same else single if one else other).append(pair)
    if threads:
        say = "only one hardware thread of each core: the launcher counts hardware threads, or SMT siblings were left out"
        yield Cause(id="siblings-missing", say=say, ranks=_ranks(threads))
    if single:
        say = "one core each instead of several: the launcher was not given the threads per rank (PE=, --cpus-per-task)"
        yield Cause(id="one-core", say=say, ranks=_ranks(single))
    if other:
        say = "fewer CPUs than planned: the rest are excluded by a cgroup or the scheduler's allocation"
        yield Cause(id="cut", say=say, ranks=_ranks(other))


def _siblings(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    logical = case.logical
    wrong = [pair for pair in case.of("elsewhere") + case.of("overlapping") if pair.place.rank not in explained]
    if logical is None:
        return
    off = [pair for pair in wrong if logical.cores(pair.cpus) == logical.cores(pair.place.cpus)]
    if off:
        say = "the planned cores, but different hardware threads: the launcher counts SMT siblings differently from the plan"
        yield Cause(id="siblings", say=say, ranks=_ranks(off))


def _memory(case: RankComparison, _: CpuSet) -> Iterator[Cause]:
    pairs = case.of("memory")
    if pairs:
        say = (
            "on their CPUs, but memory comes from other NUMA nodes: binding CPUs does not bind memory; numactl or the "
            "wrapper does"
        )
        yield Cause(id="memory", say=say, ranks=_ranks(pairs))


def _shared(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    pairs = [pair for pair in case.of("overlapping") if pair.place.rank not in explained]
    if pairs:
        say = "on cores shared with other ranks: the line, rankfile or version differs from the plan"
        yield Cause(id="overlap", say=say, ranks=_ranks(pairs))


_LOOKS: tuple[Callable[[RankComparison, CpuSet], Iterator[Cause]], ...] = (
    _missing, _extra, _numbers, _turned, _hosts, _stacked, _siblings, _shifted, _wider, _narrower, _memory, _shared,
)  # fmt: skip


def compare_ranks(
    plan: Sequence[PlannedRank], gathered: GatheredReports, topology: Topology | None = None, launcher: str = ""
) -> Comparison:
    """Return in what ranks differ from the plan; a topology, of all nodes alike, shows better what happened."""
    seen = {each.rank: each for each in gathered.ranks if each.rank is not None}
    nameless = next((seen[each.rank].host for each in plan if _anywhere(each) and each.rank in seen), None)
    crowded = _crowded(((rank, each.host, each.cpus) for rank, each in seen.items()), topology)
    crowded -= _crowded(((each.rank, (each.host or "").partition(".")[0], each.cpus) for each in plan), topology)
    pairs = [_pair(place, seen.get(place.rank), nameless, crowded, topology) for place in plan]
    extra = tuple(sorted(set(seen) - {place.rank for place in plan}))
    return Comparison(
        planned=len(plan),
        seen=sum(pair.seen is not None for pair in pairs),
        differ=tuple(_judged(pair) for pair in sorted(pairs, key=_worst) if pair.verdict != "exact"),
        extra=extra,
        causes=causes(RankComparison(tuple(pairs), CpuSet(extra), topology, launcher)),
        notes=_notes(gathered),
    )


def _anywhere(place: PlannedRank) -> bool:
    """Return whether a place's host has no name of its own: the one node that the job runs on."""
    return place.host is None or place.host in ("localhost", "localhost.localdomain")


def _worst(pair: Pair) -> tuple[int, int]:
    return VERDICTS.index(pair.verdict), pair.place.rank


def _judged(pair: Pair) -> RankVerdict:
    return RankVerdict(rank=pair.place.rank, verdict=pair.verdict, planned=pair.place, seen=pair.seen, shares=pair.shares)


def _pair(
    place: PlannedRank, here: Observation | None, nameless: str | None, crowded: set[int], topology: Topology | None
) -> Pair:
    host = nameless if _anywhere(place) else place.host
    shares = here is not None and place.rank in crowded
    return Pair(place, here, host, _verdict(place, here, host, topology, shares=shares), shares)


def _verdict(
    place: PlannedRank, here: Observation | None, host: str | None, topology: Topology | None, *, shares: bool
) -> Verdict:
    if here is None:
        return "missing"
    if not same_host(host, here.host):
        return "wrong host"
    if here.cpus == place.cpus:
        return "memory" if memory_differs(place, here, topology) else "exact"
    if place.cpus < here.cpus:
        return "wider"
    if here.cpus < place.cpus:
        return "narrower"
    return "overlapping" if shares else "elsewhere"


def memory_differs(place: PlannedRank, here: Observation, topology: Topology | None) -> bool:
    """Return whether a rank's memory is known to come from other nodes than planned."""
    if not place.memory:
        return False
    kind, _, nodes = (here.policy or "").partition(":")
    if nodes and kind in ("bind", "interleave", "prefer", "prefer(many)"):
        return nodes != str(CpuSet(place.memory)) or (place.policy == "only" and kind != "bind")
    if here.mems is not None and not CpuSet(place.memory) <= here.mems:
        return True
    if here.mems == CpuSet(place.memory):  # its cgroup has no others
        return False
    if place.policy and here.policy is None:
        return False
    own = tuple(node.os_index for node in topology.nodes_of(here.cpus)) if topology else place.nodes
    return own is not None and set(own) != set(place.memory)


def _crowded(places: Iterable[tuple[int, str, CpuSet]], topology: Topology | None) -> set[int]:
    """Return the ranks that may run on a core on which another one of their host may run, too."""
    wide = {cpu: core.cpuset.bits for core in topology.cores for cpu in core.cpuset if len(core.cpuset) > 1} if topology else {}
    once: Counter[str] = Counter()
    twice: Counter[str] = Counter()
    kept = []
    for rank, host, cpus in places:
        bits = cpus.bits
        if wide:
            for cpu in cpus:
                bits |= wide.get(cpu, 0)
        twice[host] |= once[host] & bits
        once[host] |= bits
        kept.append((rank, host, bits))
    return {rank for rank, host, bits in kept if bits & twice[host]}


def _notes(gathered: GatheredReports) -> tuple[str, ...]:
    notes = []
    if gathered.repeated:
        notes.append(
            f"two processes claim to be rank {gathered.repeated[0]}: either the output contains more than one run, or every "
            f"process was started separately by the launcher of a different MPI"
        )
    if gathered.alone:
        notes.append(f"processes without a rank from any launcher: {gathered.alone}")
    if gathered.damaged:
        notes.append(f"damaged lines skipped: {gathered.damaged}")
    return tuple(notes)


def cautions(machine: Machine, processes: Sequence[Process]) -> tuple[Caution, ...]:
    """Return what is to be said against where processes run."""
    topology = machine.topology or Topology()
    found = [caution for process in processes for caution in _own(topology, process)]
    found += _together(topology, [process for process in processes if not unbound(topology, process)])
    found += [caution for process in processes for caution in _far(machine, topology, process, processes)]
    return tuple(found)


def unbound(topology: Topology, process: Process) -> bool:
    """Return whether a process may run everywhere on a machine of several CPUs."""
    return len(topology.pus) > 1 and topology.pus <= process.cpus


def working(process: Process) -> int:
    """Return how many threads of a process work: those that ran when it was looked at, else all."""
    return sum(thread.running for thread in process.threads) or len(process.threads) or 1


def as_gathered(looked: RunningProcesses) -> GatheredReports:
    """Return processes as a probe would have reported them, to be compared with a plan."""
    ranks: dict[int, Observation] = {}
    repeated = set()
    for process in looked.processes:
        seen = Observation(
            rank=process.rank, size=process.size, local=process.local, host=looked.host or "localhost", pid=process.pid,
            cpus=process.cpus, mems=process.mems, policy=process.policy, ucx=process.ucx, omp=process.omp, gpu=process.gpu,
        )  # fmt: skip
        if process.rank is not None and ranks.setdefault(process.rank, seen) != seen:
            repeated.add(process.rank)
    alone = sum(process.rank is None for process in looked.processes)
    return GatheredReports(ranks=tuple(ranks[rank] for rank in sorted(ranks)), alone=alone, repeated=tuple(sorted(repeated)))


def who(process: Process) -> str:
    """Return a process in words."""
    return f"process {process.pid}" if process.rank is None else f"rank {process.rank} (process {process.pid})"


def _own(topology: Topology, process: Process) -> Iterator[Caution]:
    threads, pids = working(process), (process.pid,)
    if unbound(topology, process):
        say = f"{who(process)} is not bound: it may run on all {len(topology.pus)} CPUs"
        yield Caution(id="not-bound", say=say, pids=pids)
    elif spread := _spread(topology, process, threads):
        yield Caution(id=spread[0], say=f"{who(process)}: {spread[1]}", pids=pids)
    if threads > len(process.cpus):
        say = f"{who(process)} has {count(threads, 'thread')} working on {count(len(process.cpus), 'CPU')}"
        yield Caution(id="crowded", say=say, pids=pids)


def _spread(topology: Topology, process: Process, threads: int) -> tuple[str, str] | None:
    """Return that threads lie over several parts although they would find room in one."""
    for id_, word, parts in (
        ("over-numa", "NUMA nodes", [node.cpuset for node in topology.cpu_nodes]),
        ("over-l3", "L3 groups", [l3.cpuset for l3 in topology.l3]),
    ):
        touched = [part for part in parts if part & process.cpus]
        room = max((_cores(topology, part) for part in parts), default=0)
        if len(touched) > 1 and threads <= room:
            return id_, f"its {count(threads, 'thread')} may run on {len(touched)} {word} but would fit in one"
    return None


def _cores(topology: Topology, cpus: CpuSet) -> int:
    return sum(1 for core in topology.cores if core.cpuset & cpus) or len(cpus)


def _together(topology: Topology, bound: Sequence[Process]) -> Iterator[Caution]:
    """Yield the cores on which several processes may run, one caution for those of the same processes."""
    groups: dict[tuple[int, ...], list[CpuSet]] = {}
    cores = [core.cpuset for core in topology.cores] or [CpuSet([cpu]) for cpu in topology.pus]
    for core in cores:
        pids = tuple(process.pid for process in bound if process.cpus & core)
        if len(pids) > 1:
            groups.setdefault(pids, []).append(core)
    by_pid = {process.pid: process for process in bound}
    for pids, shared in groups.items():
        names = ", ".join(who(by_pid[pid]) for pid in pids[:4]) + (f" and {len(pids) - 4} more" if len(pids) > 4 else "")
        say = f"{names} share {count(len(shared), 'core')}: CPU {union(shared)}"
        yield Caution(id="same-core", say=say, pids=pids)


def _far(machine: Machine, topology: Topology, process: Process, every: Sequence[Process]) -> Iterator[Caution]:
    """Yield that a process runs far from its adapter while there is room near it, or another adapter is nearer."""
    own = {node.os_index for node in topology.nodes_of(process.cpus)}
    mine = [hca for hca in machine.hcas or () if hca.name in _devices(process)]
    near = {node for hca in mine for node in _nodes(hca)}
    if not own or not near or own & near or unbound(topology, process):
        return
    name = mine[0].name
    away = [topology.distances.between(a, b) for a in own for b in near] if topology.distances else []
    known = [distance for distance in away if distance is not None]
    where = f"{who(process)} runs on node {_listed(own)}, but its adapter {name} is on node {_listed(near)}"
    where += f" (distance {min(known)})" if known else ""
    fabric = fabric_of(mine)
    better = next((hca.name for hca in machine.hcas or () if _nodes(hca) & own and is_on_fabric(hca, fabric)), None)
    taken = union(each.cpus for each in every)
    beside = union(node.cpuset for node in topology.nodes if node.os_index in near)
    if better:
        yield Caution(id="far-adapter", say=f"{where}; {better} is nearer", pids=(process.pid,))
    elif free := beside - taken:
        yield Caution(id="far-adapter", say=f"{where}; CPUs near it are free: {free}", pids=(process.pid,))


def _nodes(hca: Hca) -> set[int]:
    return set(hca.locality.numa_nodes) if hca.locality else set()


def _devices(process: Process) -> set[str]:
    return {plain(word).partition(":")[0].strip() for word in (process.ucx or "").split(",")}


def _listed(nodes: set[int]) -> str:
    return str(CpuSet(nodes))


SCHEMA = "advisor-verify/1"
_ROWS = 64
"""Rows of a table on a terminal; --json has all."""
_WIDEST = 28
_STYLES = {"exact": "good", "memory": "warn", "wider": "warn", "narrower": "warn"}


def verdict_line(comparison: Comparison) -> str:
    """Return the verdict in one line."""
    if comparison.equal:
        return f"as planned: {_all(comparison.planned)} exactly where the plan has {_it(comparison.planned)}"
    kinds = Counter(row.verdict for row in comparison.differ)
    parts = [f"{kinds[verdict]} {verdict}" for verdict in VERDICTS if kinds[verdict]]
    parts += [f"{len(comparison.extra)} not in the plan"] if comparison.extra else []
    return f"differs from the plan: {len(comparison.differ)} of {count(comparison.planned, 'rank')} ({', '.join(parts)})"


def _all(ranks: int) -> str:
    return "the only rank is" if ranks == 1 else f"all {ranks} ranks are"


def _it(ranks: int) -> str:
    return "it" if ranks == 1 else "them"


def sentence(comparison: Comparison) -> str:
    """Return where the worst rank is instead of its place, why, and what to do: the first line where something differs."""
    row = next(iter(comparison.differ), None)
    rank = row.rank if row else comparison.extra[0]
    cause = next((each for each in comparison.causes if rank in each.ranks), None)
    brief, _, more = cause.say.partition(": ") if cause else ("", "", "")
    if row is None:
        what, brief = "is running but not in the plan", more
    else:
        planned, seen = row.planned, row.seen
        what = f"planned {_cpus(planned.cpus)}{f' of {plain(planned.host, 64)}' if planned.host else ''}"
        if seen is None:
            what, brief = f"has not reported, {what}", more
        elif row.verdict == "memory":
            what = f"has {_policy(seen)}, planned {_memory_of(planned)}"
        else:
            host = f" of {plain(seen.host, 64)}" if row.verdict == "wrong host" else ""
            what = f"runs on {_cpus(seen.cpus)}{host}, {what}"
    return f"rank {rank} {what}" + (f": {brief}; {cause.cure}" if cause else "")


def _cpus(cpus: CpuSet) -> str:
    return f"CPU{'s' * (len(cpus) > 1)} {cut(listed(cpus), _WIDEST)}"


def ranks_of(ranks: CpuSet) -> str:
    """Return ranks in words: ``ranks 0-7,12``."""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {listed(ranks)}"


def comparison_page(comparison: Comparison, width: int | None = None) -> Page:
    """Return a comparison as a page."""
    return Page(lambda room: _comparison(comparison, room), width)


def _comparison(comparison: Comparison, width: int) -> list[Line]:
    style = "good" if comparison.equal else "high"
    lines = [] if comparison.equal else wrapped([(plain(sentence(comparison), 600), "high")], width)
    lines += wrapped([(verdict_line(comparison), style)], width)
    for cause in comparison.causes:
        lines += wrapped([("-> ", "warn"), (f"{ranks_of(cause.ranks)}: ", "title"), (plain(cause.say, 400), "")], width, indent=3)
    for note in comparison.notes:
        lines += wrapped([("!  ", "warn"), (plain(note, 400), "")], width, indent=3)
    if comparison.differ:
        rows = [_row(row) for row in comparison.differ[:_ROWS]]
        lines += [(), *_table(("rank", "verdict", "planned", "observed"), rows, width)]
    return lines + _more(len(comparison.differ))


def _more(rows: int) -> list[Line]:
    return [((f"... and {rows - _ROWS} more; --json has all", "dim"),)] if rows > _ROWS else []


def _row(row: RankVerdict) -> tuple[str, ...]:
    word = f"{row.verdict}, shared" if row.shares and row.verdict not in ("overlapping", "exact") else row.verdict
    return str(row.rank), word, _planned(row), _seen(row)


def _planned(row: RankVerdict) -> str:
    place = row.planned
    return _place(place.host, place.cpus, _memory_of(place) if row.verdict == "memory" else None)


def _memory_of(place: PlannedRank) -> str:
    return f"memory of node {numbered(place.memory or ())}"


def _seen(row: RankVerdict) -> str:
    if row.seen is None:
        return "nothing"
    return _place(
        row.seen.host if row.planned.host else None, row.seen.cpus, _policy(row.seen) if row.verdict == "memory" else None
    )


def _policy(seen: Observation) -> str:
    if seen.policy and ":" in seen.policy:
        return f"memory {seen.policy}"
    return f"memory local, on nodes {seen.mems}" if seen.mems is not None else "memory local"


def _place(host: str | None, cpus: CpuSet, memory: str | None) -> str:
    words = [plain(host, 64)] if host else []
    return " ".join([*words, cut(listed(cpus), _WIDEST), *([memory] if memory else [])])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Return columns as wide as their longest cell; the last one is cut at the width."""
    wide = [max(len(row[at]) for row in (head, *rows)) + 2 for at in range(len(head))]
    lines: list[Line] = []
    for number, row in enumerate((head, *rows)):
        cells = [f"{cell:<{wide[at]}}" for at, cell in enumerate(row)]
        style = "label" if number == 0 else _STYLES.get(row[1].partition(",")[0], "")
        lines.append(((cut("".join(cells).rstrip(), width), style),))
    return lines


def running_page(
    looked: RunningProcesses,
    cautions: Sequence[Caution],
    topology: Topology,
    comparison: Comparison | None = None,
    width: int | None = None,
) -> Page:
    """Return running processes, and what is to be said against where they run, as a page."""
    return Page(lambda room: _running(looked, cautions, topology, comparison, room), width)


def _running(
    looked: RunningProcesses, cautions: Sequence[Caution], topology: Topology, comparison: Comparison | None, width: int
) -> list[Line]:
    many = count(len(looked.processes), "process", "processes")
    lines = [*_comparison(comparison, width), ()] if comparison else []
    said = f"{count(len(cautions), 'warning')} about {many}" if cautions else f"no problem found in the allowed CPUs of {many}"
    lines += wrapped([(said, "warn" if cautions else "good")], width)
    for caution in cautions[:_ROWS]:
        lines += wrapped([("!  ", "warn"), (plain(caution.say, 400), "")], width, indent=3)
    lines += _more(len(cautions))
    for line in looked.unread:
        lines += wrapped([("?  ", "unknown"), (plain(line, 400), "")], width, indent=3)
    head = ("process", "name", "rank", "threads", "CPUs", "NUMA nodes", "L3 groups", "adapter")
    rows = [_process(process, topology) for process in looked.processes[:_ROWS]]
    return [*lines, (), *_table(head, rows, width), *_more(len(looked.processes))]


def _process(process: Process, topology: Topology) -> tuple[str, ...]:
    ran = sum(thread.running for thread in process.threads)
    return (
        str(process.pid),
        plain(process.name, 20),
        "-" if process.rank is None and process.told else UNKNOWN if process.rank is None else str(process.rank),
        f"{len(process.threads)}, {ran} running",
        cut(listed(process.cpus), _WIDEST),
        numbered(_nodes_of(process, topology)) or UNKNOWN,
        numbered(_l3(process, topology)) or UNKNOWN,
        plain(process.ucx, 24) if process.ucx else "-",
    )


def _nodes_of(process: Process, topology: Topology) -> list[int]:
    return [node.os_index for node in topology.nodes_of(process.cpus)]


def _l3(process: Process, topology: Topology) -> list[int]:
    return [at for at, l3 in enumerate(topology.l3) if l3.cpuset & process.cpus]


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return the document of ``advisor verify --json``."""
    kinds = Counter(row.verdict for row in comparison.differ)
    exact = comparison.planned - len(comparison.differ)
    said = comparison.model_dump(mode="json")
    return {
        "schema": SCHEMA,
        "equal": comparison.equal,
        "verdict": verdict_line(comparison),
        "sentence": None if comparison.equal else sentence(comparison),
        "planned": comparison.planned,
        "seen": comparison.seen,
        "counts": {verdict: kinds[verdict] for verdict in VERDICTS if verdict != "exact"} | {"exact": exact},
        **{key: said[key] for key in ("differ", "extra", "causes", "notes")},
    }


def running_document(
    looked: RunningProcesses, cautions: Sequence[Caution], topology: Topology, comparison: Comparison | None
) -> dict[str, Any]:
    """Return the document of ``advisor verify --pid --json``."""
    return {
        "schema": SCHEMA,
        "host": looked.host,
        "processes": [
            {**process.model_dump(mode="json"), "numa_nodes": _nodes_of(process, topology), "l3": _l3(process, topology)}
            for process in looked.processes
        ],
        "warnings": [caution.model_dump(mode="json") for caution in cautions],
        "unread": list(looked.unread),
        "comparison": comparison_document(comparison) if comparison else None,
    }
