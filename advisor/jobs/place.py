"""Places a job's ranks on machines: which hosts, which strategy, which cores and devices each rank has."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from advisor.errors import BadInput, BadValue
from advisor.jobs.memory_binding import memory_choice, memory_notes
from advisor.jobs.place_cores import (
    NATURAL,
    Device,
    FreeCore,
    JobCores,
    NodeResources,
    RankCores,
    accelerators,
    adapters,
    beside,
    computes,
    core,
    cores_of_kind,
    cpus_of,
    distributed,
    gpus,
    job_cores,
    l3,
    l3_in_node,
    named,
    nearest,
    node,
    parts,
    passed_over,
    ranked_kinds,
    reserved_cores,
)
from advisor.jobs.placement import HostPlan, JobShape, NodePlan, Per, Placement, Slot, Strategy
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import is_active
from advisor.machine.machine import Machine
from advisor.machine.units import count
from advisor.measure.measurement import MeasuredForPlacement

BOUNDARIES: dict[Strategy, str] = {
    "spread-numa": "each rank stays in one NUMA node",
    "spread-l3": "each rank stays in one L3 group",
}
_WORDS: dict[Per, str] = {
    "socket": "socket", "numa": "NUMA node", "l3": "L3 group", "core": "core", "node": "node", "gpu": "GPU",
}  # fmt: skip


@dataclass(frozen=True)
class JobHosts:
    """The hosts of a job: their names, the kinds of node among them, and for each host the position of its kind."""

    job: JobShape
    names: tuple[str | None, ...]
    fields: tuple[JobCores, ...]
    kinds: tuple[int, ...]

    def shares(self, strategy: Strategy) -> list[int]:
        """Return how many ranks each host gets; refused where they do not all fit."""
        ranks = self.job.ranks
        if ranks is None:
            each = [self._each(strategy, kind) for kind in range(len(self.fields))]
            return [each[kind] for kind in self.kinds]
        most = [one.most(strategy) for one in self.fields]
        shares = distributed(ranks, [most[kind] for kind in self.kinds])
        if sum(shares) < ranks:
            every = [self.fields[kind] for kind in self.kinds]
            free = [seat for one in every for seat in one.cores]
            times = Counter(self.kinds)

            def fits(threads: int) -> int:
                return sum(one.most(strategy, threads) * times[kind] for kind, one in enumerate(self.fields))

            raise self._refused(strategy, ranks, free, fits)
        return shares

    def local(self) -> int:
        """Return how many ranks the first host gets, before a strategy is chosen."""
        job, first = self.job, self.fields[0]
        if job.ranks is not None:
            return -(-job.ranks // len(self.kinds))
        if job.per is not None:
            return job.per_count * len(first.boxes(job.per))
        return job.ranks_per_node or first.natural(self.natural(first))

    def natural(self, one: JobCores) -> Strategy:
        """Return by what strategy ranks are counted where their number is left out: by GPUs on a node that computes with them."""
        job = self.job
        alone = job.strategy == "auto" and job.purpose is None and job.near is None
        if job.strategy != "auto":
            return job.strategy
        return "gpu-near" if alone and (job.gpus or (computes(one.ground) and len(one.cards) <= len(one.cores))) else "compact"

    def _each(self, strategy: Strategy, kind: int) -> int:
        """Return how many ranks every host of a kind gets where they are counted by host or by its parts."""
        job, one = self.job, self.fields[kind]
        boxes = one.boxes(job.per) if job.per else [one.cores]
        natural = self.natural(one) if job.strategy == "auto" else strategy
        wanted = job.per_count if job.per else job.ranks_per_node or max(1, one.natural(natural))
        if one.most_each(strategy) < wanted:
            where = f" in each {_WORDS[job.per]}" if job.per not in (None, "node") else " on a node"
            where += f" ({self.names[self.kinds.index(kind)] or 'no name'})" if len(self.fields) > 1 else ""
            raise self._refused(strategy, wanted, min(boxes, key=len), lambda threads: one.most_each(strategy, threads), where)
        return wanted * len(boxes)

    def _refused(
        self, strategy: Strategy, ranks: int, free: Sequence[FreeCore], fits: Callable[[int], int], where: str = ""
    ) -> BadValue:
        size, smt = (len(free), sum(len(seat.cpus) for seat in free)), self.job.smt == "use"
        return refusal(strategy, (ranks, self.job.threads), size, fits, where=where, smt=smt)


def refusal(
    strategy: Strategy,
    shape: tuple[int, int],
    free: tuple[int, int],
    fits: Callable[[int], int],
    *,
    where: str = "",
    smt: bool = False,
) -> BadValue:
    """Return the refusal of (ranks, threads) where so many (cores, hardware threads) are free.

    ``fits`` says how many ranks of some threads would fit.
    """
    (ranks, threads), (cores, pus) = shape, free
    wish = f"{count(ranks, 'rank')} x {count(threads, 'thread')}{where}"
    room, what = (pus, "hardware threads") if smt else (cores, "cores")
    if ranks * threads > room:
        problem = f"{wish} need {ranks * threads} {what}, but only {room} {'is' if room == 1 else 'are'} free"
    else:
        problem = f"{wish} do not fit: with {strategy} {BOUNDARIES.get(strategy, 'no rank straddles sockets')}"
    most = fits(threads)
    options = [f"{count(most, 'rank')} x {count(threads, 'thread')}"] if most else []
    thinner = next((each for each in range(min(threads - 1, room // ranks), 0, -1) if fits(each) >= ranks), None)
    if thinner:
        options.append(f"{ranks if options else count(ranks, 'rank')} x {count(thinner, 'thread')}")
    if not options and (widest := next((each for each in range(min(threads - 1, room), 0, -1) if fits(each)), None)):
        options = [f"{count(fits(widest), 'rank')} x {count(widest, 'thread')}"]
    if not smt and room < ranks * threads <= pus:
        options.append("--smt use")
    return BadValue(f"{problem}; try {', or '.join(options)}" if options else problem)


def job_hosts(job: JobShape, machines: Sequence[Machine], allowed: CpuSet | None) -> JobHosts:
    """Return the hosts of a job; machines that offer the same are one kind."""
    names: tuple[str | None, ...] = job.hosts or (None,)
    if len(machines) not in (1, len(names)):
        raise BadValue(f"{len(names)} hosts but {len(machines)} machines", cure="name every host, or give one machine for all")
    kinds: list[Machine] = []
    known: dict[int, int] = {}
    for machine in machines:
        if id(machine) not in known:
            same = next((i for i, kind in enumerate(kinds) if _OFFERS(kind) == _OFFERS(machine)), len(kinds))
            known[id(machine)] = same
            kinds += [machine] if same == len(kinds) else []
    positions = tuple(known[id(machine)] for machine in machines)
    hosts = positions if len(positions) == len(names) else positions * len(names)
    fields = []
    for position, machine in enumerate(kinds):
        try:
            fields.append(_field(job, machine, allowed))
        except BadInput as error:
            host = names[hosts.index(position)]
            raise (error.within(host) if host and len(kinds) > 1 else error) from error
    return JobHosts(job, names, tuple(fields), hosts)


_OFFERS = attrgetter("topology", "hcas", "gpus", "cpu", "kernel")


def _field(job: JobShape, machine: Machine, allowed: CpuSet | None) -> JobCores:
    if machine.topology is None:
        raise BadValue("this input has no topology", cure="read it from lstopo XML, a capture or the machine itself")
    inside = machine.topology.inside
    free = inside.pus if allowed is None else inside.pus & allowed
    if not free:
        raise BadValue("no CPU is free for the job", cure="check the job's cgroup and CPU affinity (taskset -p)")
    ground = NodeResources(machine, machine.topology, inside, free)
    if job.near:
        named(ground, job.near)
    return job_cores(ground, job)


def notes(
    hosts: JobHosts, strategy: Strategy, shares: Sequence[int], plans: Mapping[tuple[int, int], NodePlan]
) -> tuple[str, ...]:
    """Return what to know, of the job first, then of each kind of node."""
    texts = [*_of_job(hosts, strategy, shares)]
    for kind, field in enumerate(hosts.fields):
        mine = [ranks for of, ranks in plans if of == kind]
        if mine:
            prefix = f"{hosts.names[hosts.kinds.index(kind)]} and nodes like it: " if len(hosts.fields) > 1 else ""
            texts += [prefix + note for note in (*_of_node(field), *_of_plan(field, plans[kind, max(mine)]))]
    return tuple(dict.fromkeys(texts))


def _of_job(hosts: JobHosts, strategy: Strategy, shares: Sequence[int]) -> Iterator[str]:
    job = hosts.job
    if job.ranks is None and job.ranks_per_node is None and job.per is None:
        per = {"gpu-near": "using one per GPU", "numa": "using one per NUMA node", "l3": "using one per L3 group"}
        asked = hosts.natural(hosts.fields[0]) if job.strategy == "auto" else strategy
        what = per.get(asked if asked == "gpu-near" else NATURAL.get(asked, "node"), "using as many as fit")
        yield f"number of ranks not given: {what}"
    if len(set(shares)) > 1:
        groups = [f"{ranks} on {count(many, 'host')}" for ranks, many in sorted(Counter(shares).items(), reverse=True)]
        yield f"hosts differ: ranks {', '.join(groups)}"


def _of_node(field: JobCores) -> Iterator[str]:
    """Yield what the job's share of a node lacks."""
    ground, job = field.ground, field.job
    if job.reserve:
        first = reserved_cores(ground, job)
        yield f"{count(len(first), 'core')} left to the system: CPUs {cpus_of(first)}"
    if job.slice:
        yield f"slice {job.slice.part}/{job.slice.of} of the node: CPUs {cpus_of(field.cores)}"
    own = cpus_of(field.cores)
    if ground.partial & own:
        yield f"the job may use only some threads of the cores of CPUs {ground.partial & own}; some launchers skip these cores"
    filled = {node.os_index for node in ground.inside.nodes if node.memory != 0}
    empty = CpuSet(node for d in ground.domains if d.cpus & own and not filled & {*d.nodes} for node in d.nodes)
    if empty:
        yield f"NUMA nodes {empty} have no memory: their ranks use the nearest node with memory"
    kernel = ground.machine.kernel
    if kernel and kernel.isolated and kernel.isolated & own:
        yield f"CPUs {kernel.isolated & own} are isolated from the scheduler (isolcpus): threads there stay where they start"
    yield from _of_devices(ground, {field.near.name} if field.near else set())


def _of_devices(ground: NodeResources, asked: set[str]) -> Iterator[str]:
    """Yield what is not known of the devices, and which adapters are not used although nobody asked for others."""
    for device in (*adapters(ground), *gpus(ground)):
        if not device.nodes:
            yield f"the location of {device.name} is unknown: no CPUs count as near it"
        elif device.one_of:
            numbers = CpuSet(device.nodes)
            yield f"{device.name} is on one of NUMA nodes {numbers}, but it is unknown which: only its socket counts as near"
    reasons: dict[str, list[str]] = {}
    for name, why in passed_over(ground):
        if name not in asked:
            reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield f"not used: {', '.join(names)} ({why})"
    used = {device.name for device in adapters(ground)}
    for hca in ground.machine.hcas or ():
        if hca.ports and hca.name in used and not any(map(is_active, hca.ports)):
            yield f"no port of {hca.name} is active"
    others = accelerators(ground)
    if others:
        yield f"accelerators that plans never assign to ranks: {', '.join(others)}"


def _of_kinds(field: JobCores, plan: NodePlan) -> Iterator[str]:
    """Yield which kind of cores a plan takes and how to take the other; of several the slower make all others wait."""
    machine = field.ground.machine
    kinds, ranked = (machine.cpu and machine.cpu.kinds) or (), ranked_kinds(machine)
    ranks = {kind.name: sum(1 for slot in plan.slots if slot.cpus & kind.cpus) for kind in kinds}
    both = sum(1 for slot in plan.slots if sum(1 for kind in kinds if slot.cpus & kind.cpus) > 1)
    # P-cores, cores of up to 5.0 GHz, Cortex-X925
    used = [f"{count(many, 'rank')} on {cores_of_kind(name)}" for name, many in ranks.items() if many]
    if len(used) == 1:
        word = (
            {ranked[0].name: "the fastest", ranked[-1].name: "the slowest"}.get(next(n for n in ranks if ranks[n]))
            if ranked
            else None
        )
        others = [f'"{name}"' if " " in name else name for name, many in ranks.items() if not many]
        way = ("slow" if word == "the fastest" else "fast") if len(ranked) == 2 else " or ".join(others)
        yield f"cores of several kinds: {used[0]}{f', {word}' if word else ''}; --core-kind {way} uses other cores"
    elif used:
        cure = "--core-kind fast uses only the fastest" if ranked else "this input does not say which are slower"
        yield f"cores of several kinds: {', '.join(used)}; the slower ones make the others wait; {cure}"
    if both:
        yield f"the threads of {count(both, 'rank')} run on cores of several kinds"


def _of_gpus(field: JobCores, plan: NodePlan) -> Iterator[str]:
    """Yield which GPUs of the node no rank is given: a plan says so, for a program would look for them in vain."""
    every, given = [device.name for device in field.cards], {slot.gpu for slot in plan.slots}
    left = [name for name in every if name not in given]
    if every and left == every:
        yield f"no rank gets a GPU: this node has {len(every)}; --ranks-per gpu assigns them"
    elif left:
        yield f"{count(len(left), 'GPU')} of {len(every)} assigned to no rank: {', '.join(left)}"


def _of_plan(field: JobCores, plan: NodePlan) -> Iterator[str]:
    """Yield what is uneven among the ranks of a node, and what they leave out."""
    yield from memory_notes(field.job, field.ground.machine, plan)
    yield from _of_gpus(field, plan)
    yield from _of_kinds(field, plan)
    used = union(slot.cpus for slot in plan.slots)
    idle = [seat for seat in field.cores if not seat.cpus & used]
    if idle:
        yield f"{len(idle)} of {count(len(field.cores), 'core')} {'stays' if len(idle) == 1 else 'stay'} idle"
    sharing = Counter(seat.core for seat in field.cores for slot in plan.slots if seat.cpus & slot.cpus)
    if shared := sum(ranks > 1 for ranks in sharing.values()):
        yield f"{count(shared, 'core')} shared by ranks, each on its own hardware threads"
    by_node = Counter(slot.nodes for slot in plan.slots if len(slot.nodes) == 1)
    if len(set(by_node.values())) > 1:
        most = max(by_node.values())
        first = CpuSet(nodes[0] for nodes, count in by_node.items() if count == most)
        yield f"NUMA nodes differ: {most} ranks on {first}, fewer on others"
    if wide := sum(len(slot.l3) > 1 for slot in plan.slots):
        yield f"the threads of {count(wide, 'rank')} span several L3 groups"
    if apart := sum(len(slot.nodes) > 1 for slot in plan.slots):
        yield f"the threads of {count(apart, 'rank')} span several NUMA nodes"


_GPU_RANKS = 4
"""More ranks than so many for each GPU are taken for ranks that compute on CPUs."""


_WORTH = 1.02
"""A measured gain below this is noise."""


_FAST = 1.2
"""The HCA's own socket sends so many times the messages of the other one: worth crowding on it."""


LOSES: dict[Strategy, str] = {
    "compact": "ranks crowd onto the first nodes, leaving the other nodes' memory idle",
    "spread-numa": "ranks of a node may share an L3 group while another stays empty",
    "spread-l3": "ranks are spread over L3 groups, not over NUMA nodes",
    "hybrid": "it keeps threads together, which matters most for ranks with many threads",
    "balanced": "it considers only memory, not devices or whole caches",
    "hca-near": "messages start closer to the adapter, but ranks crowd its socket's memory",
    "per-hca": "it considers only adapters, not caches or memory",
    "gpu-near": "it considers only GPUs, not caches or memory",
}
"""Why a strategy that fits came second."""


Reason = tuple[Strategy, str]


def candidates(field: JobCores, ranks: int, hosts: int, measured: MeasuredForPlacement | None) -> list[Reason]:
    """Return strategies, the best first, each with its reason; ``ranks`` are those of one node."""
    reasons: dict[Strategy, str] = {}
    for strategy, why in (
        *_asked(field),
        *_by_device(field, ranks, hosts, measured.near_messages if measured else None),
        *_by_threads(field),
        *_by_number(field, ranks, measured.one_core_per_l3 if measured else None),
        *_always(field, hosts),
    ):
        reasons.setdefault(strategy, why)
    return list(reasons.items())


def _asked(field: JobCores) -> Iterator[Reason]:
    """Yield the strategies that serve what the job is asked to be placed for."""
    if field.near:
        yield "hca-near", f"cores near {field.near.name} were requested"
    purpose = field.job.purpose
    if purpose == "bandwidth":
        yield "balanced", "for bandwidth: each cache and each NUMA node's memory serves as few ranks as possible"
    elif purpose == "throughput":
        yield "compact", "for throughput: the job uses as few caches and NUMA nodes as possible, leaving the rest to other jobs"
    elif purpose and any(device.nodes for device in adapters(field.ground)):
        yield "hca-near", "for latency: messages start on the adapter's own NUMA node and socket"
    elif purpose:
        yield "compact", "for latency: ranks are adjacent; no adapter location is known"
    if field.job.per == "gpu":
        yield "gpu-near", "ranks are counted per GPU"
    elif field.job.gpus:
        yield "gpu-near", f"{count(field.job.gpus, 'GPU')} requested"
    elif field.job.per == "numa":
        yield "spread-numa", "ranks are counted per NUMA node"
    elif field.job.per == "l3":
        yield "spread-l3", "ranks are counted per L3 group"


def _by_device(field: JobCores, ranks: int, hosts: int, gain: float | None) -> Iterator[Reason]:
    """Yield what devices ask for; ``gain`` is how many times the messages of others the adapter's socket sends."""
    cards, cables = field.cards, [device for device in adapters(field.ground) if device.nodes]
    if cards and ranks % len(cards) == 0 and ranks // len(cards) <= _GPU_RANKS:
        yield "gpu-near", f"{ranks} ranks for {len(cards)} GPUs: {ranks // len(cards)} near each GPU"
    if hosts == 1 or not cables:
        return
    if ranks == 1:
        yield "hca-near", f"one rank per node on {hosts} nodes: placed near {cables[0].name}"
    if ranks >= len(cables) > 1 and len({device.nodes for device in cables}) > 1:
        yield "per-hca", f"{len(cables)} adapters on different NUMA nodes: each carries the messages of the ranks near it"
    beside = sum(seat.socket in cables[0].sockets for seat in field.cores)
    if gain is not None and gain >= _FAST and ranks * field.job.threads <= beside:
        yield "hca-near", f"measured: cores of {cables[0].name}'s socket send {gain:.1f} times as many messages as the others"


def _by_threads(field: JobCores) -> Iterator[Reason]:
    threads = field.job.threads
    size, room = (
        max(sum(seat.threads for seat in group) for group in parts(field.cores, level).values()) for level in (l3, node)
    )
    if threads == 1:
        return
    if all(seat.l3 < 0 for seat in field.cores):
        yield "hybrid", f"no L3 groups are known, so the {threads} threads of a rank share one NUMA node if they fit"
    elif threads <= size:
        yield "hybrid", f"the {threads} threads of a rank share one L3 group of {size}"
    else:
        inside = "one NUMA node is large enough" if threads <= room else "even a NUMA node is too small"
        yield "hybrid", f"an L3 group holds only {size} of a rank's {threads} threads; {inside}"


def _by_number(field: JobCores, ranks: int, gain: float | None) -> Iterator[Reason]:
    """Yield what the number of ranks asks for; ``gain`` is what one core in each L3 group has of the bandwidth of all."""
    nodes, caches, cores = (len(parts(field.cores, level)) for level in (node, l3_in_node, core))
    many = count(ranks, "rank")
    if ranks >= cores:
        yield "compact", f"{many} {'takes' if ranks == 1 else 'take'} every core, so consecutive ranks are on consecutive cores"
    if nodes < caches and (nodes < ranks <= caches or ranks % caches == 0):
        each = "at most one in each" if ranks <= caches else f"{ranks // caches} in each"
        said = f"{many}, {count(caches, 'L3 group')}: {each}"
        if gain is None:
            yield "spread-l3", said
        elif gain >= _WORTH:
            yield "spread-l3", f"{said}; measured: one core per group delivers {gain:.2f} times the bandwidth of all cores"
    if ranks <= nodes or (ranks % nodes == 0 and caches <= nodes):
        what = "one node each" if ranks <= nodes else f"{ranks // nodes} in each"
        yield "spread-numa", f"{many}, {count(nodes, 'NUMA node')}: {what}"
    counted = f"{many}, {count(nodes, 'NUMA node')}, {count(caches, 'L3 group')}"
    yield "balanced", f"{counted}: spread over the nodes, then over their L3 groups"


def _always(field: JobCores, hosts: int) -> Iterator[Reason]:
    yield "hybrid", "a rank's threads stay as close together as possible"
    if hosts > 1 and any(device.nodes for device in adapters(field.ground)):
        yield "hca-near", "messages start on the adapter's own socket"
    yield "spread-numa", "each rank stays in one NUMA node"
    yield "compact", "only consecutive cores fit"


def node_plan(field: JobCores, strategy: Strategy, chunks: Sequence[RankCores]) -> NodePlan:
    """Return the slots of a node, in the order of its ranks."""
    ground = field.ground
    devices = {device.name: device for device in (*adapters(ground), *gpus(ground), *([field.near] if field.near else []))}
    hcas, slots = _adapters(field, strategy, chunks, devices), []
    choice = memory_choice(field.job, ground.machine)
    for chunk, hca in zip(chunks, hcas, strict=True):
        own = devices.get(chunk.device or "")
        cpus = cpus_of(chunk.seats)
        if field.job.smt == "first":
            cpus = CpuSet(seat.cpus.first or 0 for seat in chunk.seats)
        if field.job.smt == "use":  # not whole cores: as many hardware threads as the rank has threads, core after core
            cpus = CpuSet([cpu for seat in chunk.seats for cpu in seat.cpus][: field.job.threads])
        memory, policy = choice.of(cpus, _memory(ground, chunk.seats))
        slot = Slot(
            cpus=cpus,
            cores=len({seat.core for seat in chunk.seats}),
            nodes=tuple(node.os_index for node in ground.inside.nodes_of(cpus)),
            memory=memory,
            policy=policy,
            l3=tuple(i for i, group in enumerate(ground.inside.l3) if group.cpuset & cpus),
            socket=ground.inside.package_of(cpus),
            hca=hca.name if hca else None,
            distance=_distance(ground, chunk.seats, hca) if hca else None,
            gpu=own.name if own and own.gpu else None,
        )
        slots.append(slot)
    return NodePlan(topology=ground.inside, slots=tuple(slots))


def _adapters(
    field: JobCores, strategy: Strategy, chunks: Sequence[RankCores], devices: Mapping[str, Device]
) -> list[Device | None]:
    """Return each rank's adapter: the one it was seated for, else of the nearest that with the fewest ranks.

    Of the nearest, those beside its GPU come first. Ranks with the least choice choose first, or those with more would take
    what is the only one for others.
    """
    wanted = field.near if field.near and not field.near.gpu and strategy != "per-hca" else None
    every = (wanted,) if wanted else adapters(field.ground)
    choices = []
    for chunk in chunks:
        own = devices.get(chunk.device or "")
        if own and not own.gpu:
            choices.append([own])
        else:
            close = nearest(field.ground, chunk.seats[0], every) if every else []
            choices.append(beside(own, close) if own and close else close)
    given: list[Device | None] = [None] * len(chunks)
    load: Counter[str] = Counter()
    for i in sorted(range(len(chunks)), key=lambda i: len(choices[i])):
        if choices[i]:
            given[i] = chosen = min(choices[i], key=lambda device: load[device.name])
            load[chosen.name] += 1
    return given


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
    job: JobShape, machines: Sequence[Machine], measured: MeasuredForPlacement | None = None, *, allowed: CpuSet | None = None
) -> Placement:
    """Return where every rank runs; the machines are one for each host, or one for all of them.

    ``allowed`` are the CPUs that a process may use where that is less than its cgroup allows (``limits.affinity``).
    """
    hosts = job_hosts(job, machines, allowed)
    if job.strategy == "auto":
        return _placement(hosts, *_chosen(hosts, measured))
    return _placement(hosts, _tried(hosts, job.strategy, (f"{job.strategy} was requested",)), None)


class _Attempt(NamedTuple):
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


def _chosen(hosts: JobHosts, measured: MeasuredForPlacement | None) -> tuple[_Attempt, tuple[Strategy, str] | None]:
    """Return the first candidate that fits; the runner-up is the next that seats somebody elsewhere."""
    best: _Attempt | None = None
    failed: list[str] = []
    fault: BadValue | None = None
    every = candidates(hosts.fields[0], hosts.local(), len(hosts.kinds), measured)
    if hosts.job.per == "gpu" or hosts.job.gpus:  # no other strategy gives ranks a GPU
        every = [each for each in every if each[0] == "gpu-near"]
    for strategy, reason in every:
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


def room_beside_gpus(placement: Placement, machines: Sequence[Machine], allowed: CpuSet | None = None) -> int:
    """Return how many threads each rank with a GPU can have on the NUMA nodes that it is on, the same number for all."""
    room: list[int] = []
    for field in job_hosts(placement.job, machines, allowed).fields:
        homes = [{*field.ground.domains[seat.node].nodes} if seat.node >= 0 else set[int]() for seat in field.cores]
        for plan in placement.plans:
            if plan.topology == field.ground.inside:
                for nodes, ranks in Counter(slot.nodes for slot in plan.slots).items():
                    free = sum(seat.threads for seat, home in zip(field.cores, homes, strict=True) if home & {*nodes})
                    room.append(max(1, free // ranks))
    return min(room, default=1)
