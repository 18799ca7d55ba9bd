"""Compares where ranks are with where the plan has them. What the launcher prints of its bindings is not asked."""

from collections import Counter
from collections.abc import Iterable, Sequence

from advisor.compare.causes import Pair, RankComparison, causes
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.topology import Topology
from advisor.model.observed_binding import (
    VERDICTS,
    Comparison,
    GatheredReports,
    Observation,
    PlannedRank,
    RankVerdict,
    Verdict,
    same_host,
)


def compare_ranks(plan: Sequence[PlannedRank], gathered: GatheredReports, topology: Topology | None = None) -> Comparison:
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
        differ=tuple(_row(pair) for pair in sorted(pairs, key=_worst) if pair.verdict != "exact"),
        extra=extra,
        causes=causes(RankComparison(tuple(pairs), CpuSet(extra), topology)),
        notes=_notes(gathered),
    )


def _anywhere(place: PlannedRank) -> bool:
    """Return whether a place's host has no name of its own: the one node that the job runs on."""
    return place.host is None or place.host in ("localhost", "localhost.localdomain")


def _worst(pair: Pair) -> tuple[int, int]:
    return VERDICTS.index(pair.verdict), pair.place.rank


def _row(pair: Pair) -> RankVerdict:
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
        return nodes != str(CpuSet(place.memory))
    if here.mems is not None and not CpuSet(place.memory) <= here.mems:
        return True
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
            f"two processes say that they are rank {gathered.repeated[0]}: the output has more than one run, or every process "
            "was started alone, by a launcher of another MPI than it expects"
        )
    if gathered.alone:
        notes.append(f"processes that no launcher gave a rank: {gathered.alone}")
    if gathered.damaged:
        notes.append(f"lines that are damaged and were left out: {gathered.damaged}")
    return tuple(notes)
