"""What most likely happened to ranks that are not where they should be, from the pattern that they make."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from advisor.advice.compare import LogicalNumbering
from advisor.jobs.observed_binding import Cause, Observation, PlannedRank, Verdict
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.topology import Topology
from advisor.machine.units import count


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
            found.append(cause)
            explained |= cause.ranks
    return tuple(found)


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
        ("numbers-as-logical", "the plan's CPU numbers were taken for logical ones (hwloc's order)", case.logical.as_logical),
        (
            "numbers-as-physical",
            "logical numbers (hwloc's order) were taken for the kernel's CPU numbers",
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
    how = "placed on the hosts in another order" if hosts else "numbered in another order"
    cure = "by node instead of by slot, or the reverse" if hosts else "the ranking, --rank-by or --distribution, differs"
    yield Cause(id="ranking", say=f"the places are the planned ones, but ranks are {how}: {cure}", ranks=_ranks(wrong))


def _hosts(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    pairs = [pair for pair in case.of("wrong host") if pair.place.rank not in explained]
    if pairs:
        names = sorted({pair.here for pair in pairs})
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        say = f"started on {listed} instead of the planned hosts: the host list or its slots differ from the plan's"
        yield Cause(id="host", say=say, ranks=_ranks(pairs))


_MOVED: Final = ("overlapping", "elsewhere", "narrower")


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
                f"{len(pairs)} ranks are on CPU {cpus} of {host}: several jobs or launchers that start at the same core "
                "without slices, or a launcher that was given one CPU for all"
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
            f"every rank runs {count(abs(step), 'core' if case.logical else 'CPU')} {where} its place: the launcher counts "
            "from another first core, so that a slice or a reserve of the plan is not kept"
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


_UNBOUND = "not bound: they may run on every CPU of their host; the launcher was set not to bind, or could not and continued"


def _breadth(cpus: CpuSet, case: RankComparison) -> str:
    """Return what a set that is too wide is."""
    topology = case.topology.inside if case.topology else None
    if topology is None:
        return _UNBOUND if case.every <= cpus and len(case.pairs) > 1 else "bound to more than planned"
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
    return "bound to more than planned"


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
        say = "one hardware thread of each core only: the launcher counts hardware threads, or SMT siblings were left out"
        yield Cause(id="siblings-missing", say=say, ranks=_ranks(threads))
    if single:
        say = "one core each instead of several: the launcher was not given the threads per rank (PE=, --cpus-per-task)"
        yield Cause(id="one-core", say=say, ranks=_ranks(single))
    if other:
        say = "fewer CPUs than planned: a cgroup or the scheduler's allocation holds the rest back"
        yield Cause(id="cut", say=say, ranks=_ranks(other))


def _siblings(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    logical = case.logical
    wrong = [pair for pair in case.of("elsewhere") + case.of("overlapping") if pair.place.rank not in explained]
    if logical is None:
        return
    off = [pair for pair in wrong if logical.cores(pair.cpus) == logical.cores(pair.place.cpus)]
    if off:
        say = "the planned cores, but other hardware threads of them: the launcher counts SMT siblings differently from the plan"
        yield Cause(id="siblings", say=say, ranks=_ranks(off))


def _memory(case: RankComparison, _: CpuSet) -> Iterator[Cause]:
    pairs = case.of("memory")
    if pairs:
        say = "on their CPUs, but memory comes from other NUMA nodes: binding CPUs does not bind memory, the plan's wrapper does"
        yield Cause(id="memory", say=say, ranks=_ranks(pairs))


def _shared(case: RankComparison, explained: CpuSet) -> Iterator[Cause]:
    pairs = [pair for pair in case.of("overlapping") if pair.place.rank not in explained]
    if pairs:
        say = "on cores shared with other ranks: another line, rankfile or version than planned was used"
        yield Cause(id="overlap", say=say, ranks=_ranks(pairs))


_LOOKS: tuple[Callable[[RankComparison, CpuSet], Iterator[Cause]], ...] = (
    _missing, _extra, _numbers, _turned, _hosts, _stacked, _siblings, _shifted, _wider, _narrower, _memory, _shared,
)  # fmt: skip
