"""Holds what ranks observed, inside a launcher or as processes that run already, against a plan. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from advisor.jobs.causes import Pair, RankComparison, causes
from advisor.jobs.observed_binding import (
    VERDICTS,
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
from advisor.machine.devices import Hca, fabric_of, is_on_fabric
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from advisor.machine.units import count, plain


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
            cpus=process.cpus, mems=process.mems, ucx=process.ucx, omp=process.omp, gpu=process.gpu,
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
        say = f"{who(process)} has {count(threads, 'thread')} at work on {count(len(process.cpus), 'CPU')}"
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
            return id_, f"its {count(threads, 'thread')} may run on {len(touched)} {word} and would have room in one"
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
    where = f"{who(process)} runs on node {_listed(own)}, its adapter {name} is at node {_listed(near)}"
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
