"""Places the ranks of a job: how many on each host, and the CPUs, memory, adapter and GPU of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.errors import BadValue
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.placement import HostPlan, JobShape, Measured, NodePlan, Placement, Slot, Strategy
from advisor.place.auto import LOSES, candidates, notes
from advisor.place.cores import FreeCore, RankCores, cpus_of
from advisor.place.fill import JobCores
from advisor.place.hosts import JobHosts, job_hosts
from advisor.place.resources import Device, NodeResources, adapters, beside, gpus, nearest


def node_plan(field: JobCores, strategy: Strategy, chunks: Sequence[RankCores]) -> NodePlan:
    """Return the slots of a node, in the order of its ranks."""
    devices = {device.name: device for device in (*adapters(field.ground), *gpus(field.ground))}
    if field.near:
        devices[field.near.name] = field.near
    hcas = _adapters(field, strategy, chunks, devices)
    slots = tuple(_slot(field, chunk, hca, _gpu(chunk, devices)) for chunk, hca in zip(chunks, hcas, strict=True))
    return NodePlan(topology=field.ground.inside, slots=slots)


def _adapters(
    field: JobCores, strategy: Strategy, chunks: Sequence[RankCores], devices: Mapping[str, Device]
) -> list[Device | None]:
    """Return each rank's adapter: the one it was seated for, else of the nearest that with the fewest ranks.

    Ranks with the least choice choose first, or those with more would take what is the only one for others.
    """
    wanted = field.near if field.near and not field.near.gpu and strategy != "per-hca" else None
    every = (wanted,) if wanted else adapters(field.ground)
    choices = [_choice(field.ground, chunk, devices.get(chunk.device or ""), every) for chunk in chunks]
    found: list[Device | None] = [None] * len(chunks)
    load: Counter[str] = Counter()
    for i in sorted(range(len(chunks)), key=lambda i: len(choices[i])):
        if choices[i]:
            chosen = min(choices[i], key=lambda device: load[device.name])
            found[i] = chosen
            load[chosen.name] += 1
    return found


def _choice(ground: NodeResources, chunk: RankCores, own: Device | None, every: Sequence[Device]) -> list[Device]:
    """Return the adapters that are as good as each other for a rank; of the nearest those beside its GPU."""
    if own and not own.gpu:
        return [own]
    if not every:
        return []
    near = nearest(ground, chunk.seats[0], every)
    return beside(own, near) if own else near


def _gpu(chunk: RankCores, devices: Mapping[str, Device]) -> str | None:
    device = devices.get(chunk.device or "")
    return device.name if device and device.gpu else None


def _slot(field: JobCores, chunk: RankCores, hca: Device | None, gpu: str | None) -> Slot:
    ground = field.ground
    cpus = _cpus(chunk, field)
    return Slot(
        cpus=cpus,
        cores=len({seat.core for seat in chunk.seats}),
        nodes=tuple(node.os_index for node in ground.inside.nodes_of(cpus)),
        memory=_memory(ground, chunk.seats),
        l3=tuple(i for i, group in enumerate(ground.inside.l3) if group.cpuset & cpus),
        socket=ground.inside.package_of(cpus),
        hca=hca.name if hca else None,
        distance=_distance(ground, chunk.seats, hca) if hca else None,
        gpu=gpu,
    )


def _cpus(chunk: RankCores, field: JobCores) -> CpuSet:
    """Return whole cores, or with SMT as many hardware threads as the rank has threads, core after core."""
    if field.job.smt == "skip":
        return cpus_of(chunk.seats)
    every = [cpu for seat in chunk.seats for cpu in seat.cpus]
    return CpuSet(every[: field.job.threads])


def _memory(ground: NodeResources, seats: Sequence[FreeCore]) -> tuple[int, ...]:
    """Return the nodes under the rank that have memory, or where none has the nearest that do."""
    homes = {seat.node: ground.memory_of(seat) for seat in seats}
    own = {number for at, nodes in homes.items() if at >= 0 for number in nodes if number in ground.domains[at].nodes}
    return tuple(sorted(own or {number for nodes in homes.values() for number in nodes}))


def _distance(ground: NodeResources, seats: Sequence[FreeCore], hca: Device) -> int | None:
    """Return the distance from the farthest of the rank's nodes."""
    found = {seat.node: ground.distance(seat, hca) for seat in seats}
    known = [distance for distance in found.values() if distance is not None]
    return max(known) if len(known) == len(found) else None


RanksByNode = dict[tuple[int, int], list[RankCores]]
"""The ranks of a node by its kind and their number."""


def place(
    job: JobShape, machines: Sequence[Machine], measured: Measured | None = None, *, allowed: CpuSet | None = None
) -> Placement:
    """Return where every rank runs; the machines are one for each host, or one for all of them.

    ``allowed`` are the CPUs that a process may use where that is less than its cgroup allows (``limits.affinity``).
    """
    hosts = job_hosts(job, machines, allowed)
    if job.strategy == "auto":
        return _placement(hosts, *_chosen(hosts, measured))
    return _placement(hosts, _tried(hosts, job.strategy, (f"{job.strategy} was asked for",)), None)


@dataclass(frozen=True)
class _Attempt:
    """A strategy that fits: the ranks of each host, and their seats on each kind of host."""

    strategy: Strategy
    why: tuple[str, ...]
    shares: tuple[int, ...]
    seating: RanksByNode

    def places(self) -> dict[tuple[int, int], list[CpuSet]]:
        """Return the CPUs of every rank."""
        return {pair: [cpus_of(chunk.seats) for chunk in chunks] for pair, chunks in self.seating.items()}


def _tried(hosts: JobHosts, strategy: Strategy, why: tuple[str, ...]) -> _Attempt:
    shares = hosts.shares(strategy)
    pairs = dict.fromkeys(pair for pair in zip(hosts.kinds, shares, strict=True) if pair[1])
    seating = {(kind, ranks): hosts.fields[kind].fill(strategy, ranks) for kind, ranks in pairs}
    return _Attempt(strategy, why, tuple(shares), seating)


def _chosen(hosts: JobHosts, measured: Measured | None) -> tuple[_Attempt, tuple[Strategy, str] | None]:
    """Return the first candidate that fits; the runner-up is the next that seats somebody elsewhere."""
    best: _Attempt | None = None
    failed: list[str] = []
    fault: BadValue | None = None
    for strategy, reason in candidates(hosts.fields[0], hosts.local(), len(hosts.kinds), measured):
        try:
            trial = _tried(hosts, strategy, (reason, *failed))
        except BadValue as error:
            fault = error
            failed.append(f"not {strategy}: {error.problem}")
            continue
        if best is None:
            best = trial
        elif trial.places() != best.places():
            return best, (strategy, LOSES[strategy])
    if best is None:
        raise fault or BadValue("no strategy fits this job")
    return best, None


def _placement(hosts: JobHosts, trial: _Attempt, runner_up: tuple[Strategy, str] | None) -> Placement:
    plans = {pair: node_plan(hosts.fields[pair[0]], trial.strategy, chunks) for pair, chunks in trial.seating.items()}
    position = {pair: i for i, pair in enumerate(plans)}
    placed = zip(hosts.names, zip(hosts.kinds, trial.shares, strict=True), strict=True)
    return Placement(
        job=hosts.job,
        strategy=trial.strategy,
        why=trial.why,
        runner_up=runner_up,
        notes=notes(hosts, trial.strategy, trial.shares, plans),
        plans=tuple(plans.values()),
        hosts=tuple(HostPlan(name=name, plan=position[pair], ranks=pair[1]) for name, pair in placed if pair[1]),
    )
