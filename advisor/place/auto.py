"""Which strategy suits a job by itself, and what is worth saying of a plan."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.devices import is_active
from advisor.model.placement import Measured, NodePlan, Purpose, Strategy
from advisor.place.cores import Level, core, cpus_of, l3, l3_in_node, node, parts
from advisor.place.fill import NATURAL, JobCores, reserved_cores
from advisor.place.hosts import JobHosts
from advisor.place.resources import Device, NodeResources, accelerators, adapters, gpus, passed_over

Plans = Mapping[tuple[int, int], NodePlan]


def notes(hosts: JobHosts, strategy: Strategy, shares: Sequence[int], plans: Plans) -> tuple[str, ...]:
    """Return what to know, of the job first, then of each kind of node."""
    found = [*_of_job(hosts, strategy, shares)]
    for kind, field in enumerate(hosts.fields):
        mine = {ranks: plan for (of, ranks), plan in plans.items() if of == kind}
        if not mine:
            continue
        name = hosts.names[hosts.kinds.index(kind)]
        prefix = f"{name} and nodes like it: " if len(hosts.fields) > 1 else ""
        found += [prefix + note for note in (*_of_node(field), *_of_plan(field, mine[max(mine)]))]
    return tuple(dict.fromkeys(found))


def _of_job(hosts: JobHosts, strategy: Strategy, shares: Sequence[int]) -> Iterator[str]:
    job = hosts.job
    if job.ranks is None and job.ranks_per_node is None and job.per is None:
        per = {"gpu-near": "one for each GPU", "numa": "one for each NUMA node", "l3": "one for each L3 group"}
        asked = "compact" if job.strategy == "auto" else strategy
        what = per.get(asked if asked == "gpu-near" else NATURAL.get(asked, "node"), "as many as fit")
        yield f"no number of ranks was given: {what}"
    if len(set(shares)) > 1:
        groups = Counter(shares)
        parts = [f"{count} on {_count(groups[count], 'host')}" for count in sorted(groups, reverse=True)]
        yield f"hosts are not alike: ranks {', '.join(parts)}"


def _of_node(field: JobCores) -> Iterator[str]:
    """Yield what the job's share of a node lacks."""
    ground, job = field.ground, field.job
    if job.reserve:
        first = reserved_cores(ground, job)
        yield f"{_count(len(first), 'core')} left to the system: CPUs {cpus_of(first)}"
    if job.slice:
        yield f"slice {job.slice.part}/{job.slice.of} of the node: CPUs {cpus_of(field.cores)}"
    own = cpus_of(field.cores)
    if ground.partial & own:
        yield f"of the cores of CPUs {ground.partial & own} the job may use some threads only; some launchers leave them out"
    empty = [d.nodes for d in ground.domains if d.cpus & own and not set(d.nodes) & _filled(ground)]
    if empty:
        numbers = CpuSet(number for nodes in empty for number in nodes)
        yield f"NUMA nodes {numbers} have no memory: their ranks use the nearest that has"
    kernel = ground.machine.kernel
    if kernel and kernel.isolated and kernel.isolated & own:
        yield f"CPUs {kernel.isolated & own} are kept from the scheduler (isolcpus): threads there stay where they start"
    yield from _of_devices(ground, {field.near.name} if field.near else set())


def _of_devices(ground: NodeResources, asked: set[str]) -> Iterator[str]:
    """Yield what is not known of the devices, and which adapters are not used although nobody asked for others."""
    for device in (*adapters(ground), *gpus(ground)):
        if not device.nodes:
            yield f"where {device.name} is, is not known: no place is near it"
        elif device.one_of:
            numbers = CpuSet(device.nodes)
            yield f"{device.name} is on one of NUMA nodes {numbers}, on which is not known yet: its socket alone counts as near"
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
        yield f"accelerators that no plan assigns to ranks: {', '.join(others)}"


def _of_kinds(ground: NodeResources, plan: NodePlan) -> Iterator[str]:
    """Yield which kinds of cores a plan mixes: ranks that share out work evenly wait for those on the slower."""
    kinds = (ground.machine.cpu and ground.machine.cpu.kinds) or ()
    ranks = {kind.name: sum(1 for slot in plan.slots if slot.cpus & kind.cpus) for kind in kinds}
    both = sum(1 for slot in plan.slots if sum(1 for kind in kinds if slot.cpus & kind.cpus) > 1)
    used = [f"{_count(count, 'rank')} on {_several(name)}" for name, count in ranks.items() if count]
    if len(used) > 1:
        yield f"the cores are of several kinds: {', '.join(used)}; the slower ones make the others wait"
    if both:
        yield f"the threads of {_count(both, 'rank')} are on cores of several kinds"


def _several(kind: str) -> str:
    """Return a kind of core in the plural: P-cores, cores of up to 5.0 GHz, Cortex-X925."""
    return re.sub(r"\bcore\b", "cores", kind, count=1)


def _of_gpus(ground: NodeResources, plan: NodePlan) -> Iterator[str]:
    """Yield which GPUs of the node no rank is given: a plan says so, for a program would look for them in vain."""
    every = [device.name for device in gpus(ground)]
    given = {slot.gpu for slot in plan.slots}
    left = [name for name in every if name not in given]
    if every and len(left) == len(every):
        yield f"no rank is given a GPU: this node has {len(every)}, and --strategy gpu-near assigns them evenly"
    elif left:
        yield f"{_count(len(left), 'GPU')} of {len(every)} no rank is given: {', '.join(left)}"


def _filled(ground: NodeResources) -> set[int]:
    return {node.os_index for node in ground.inside.nodes if node.memory != 0}


def _of_plan(field: JobCores, plan: NodePlan) -> Iterator[str]:
    """Yield what is uneven among the ranks of a node, and what they leave out."""
    yield from _of_gpus(field.ground, plan)
    yield from _of_kinds(field.ground, plan)
    used = union(slot.cpus for slot in plan.slots)
    idle = [seat for seat in field.cores if not seat.cpus & used]
    if idle:
        yield f"{len(idle)} of {_count(len(field.cores), 'core')} {'stays' if len(idle) == 1 else 'stay'} idle"
    sharing = Counter(seat.core for seat in field.cores for slot in plan.slots if seat.cpus & slot.cpus)
    shared = sum(1 for ranks in sharing.values() if ranks > 1)
    if shared:
        yield f"{_count(shared, 'core')} shared by ranks: each has hardware threads of its own"
    by_node = Counter(slot.nodes for slot in plan.slots if len(slot.nodes) == 1)
    if len(set(by_node.values())) > 1:
        most = max(by_node.values())
        first = CpuSet(nodes[0] for nodes, count in by_node.items() if count == most)
        yield f"NUMA nodes are not alike: {most} ranks on {first}, fewer on others"
    wide = sum(1 for slot in plan.slots if len(slot.l3) > 1)
    if wide:
        yield f"the threads of {_count(wide, 'rank')} span several L3 groups"
    apart = sum(1 for slot in plan.slots if len(slot.nodes) > 1)
    if apart:
        yield f"the threads of {_count(apart, 'rank')} span several NUMA nodes"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_GPU_RANKS: Final = 4
"""More ranks than so many for each GPU are taken for ranks that compute on CPUs."""
_WORTH: Final = 1.02
"""A measured gain below this is noise."""
_FAST: Final = 1.2
"""The HCA's own socket sends so many times the messages of the other one: worth crowding on it."""

LOSES: Final[dict[Strategy, str]] = {
    "compact": "ranks crowd on the first nodes, and the memory of the others stays idle",
    "spread-numa": "ranks of a node may share an L3 group while another stays empty",
    "spread-l3": "ranks are spread over caches, not over memories",
    "hybrid": "it keeps threads together, which matters most to ranks of many threads",
    "balanced": "it looks at memory only, not at devices or whole caches",
    "hca-near": "messages start sooner, but ranks crowd on the memory of the adapter's socket",
    "per-hca": "it looks at the adapters only, not at caches and memories",
    "gpu-near": "it looks at the GPUs only, not at caches and memories",
}
"""Why a strategy that fits came second."""

Reason = tuple[Strategy, str]


def candidates(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> list[Reason]:
    """Return strategies, the best first, each with its reason; ``ranks`` are those of one node."""
    found: dict[Strategy, str] = {}
    for one in (_asked, _by_device, _by_measurement, _by_threads, _by_number, _always):
        for strategy, why in one(field, ranks, hosts, measured):
            found.setdefault(strategy, why)
    return list(found.items())


def _asked(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    del ranks, hosts, measured
    if field.near:
        yield "hca-near", f"cores near {field.near.name} were asked for"
    if field.job.purpose:
        yield from _for(field, field.job.purpose)
    if field.job.per == "numa":
        yield "spread-numa", "ranks are counted in NUMA nodes"
    elif field.job.per == "l3":
        yield "spread-l3", "ranks are counted in L3 groups"


def _for(field: JobCores, purpose: Purpose) -> Iterator[Reason]:
    """Yield the strategies that serve what the job is asked to be placed for."""
    if purpose == "bandwidth":
        yield "balanced", "for bandwidth: every memory and cache feeds as few ranks as possible"
    elif purpose == "throughput":
        yield "compact", "for throughput: the job takes as few caches and memories as it can, the others are for other jobs"
    elif any(device.nodes for device in adapters(field.ground)):
        yield "hca-near", "for latency: messages start on the adapter's own NUMA node and socket"
    else:
        yield "compact", "for latency: ranks are side by side, and no place of an adapter is known"


def _by_device(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    del measured
    cards, cables = gpus(field.ground), [device for device in adapters(field.ground) if device.nodes]
    if cards and ranks % len(cards) == 0 and ranks // len(cards) <= _GPU_RANKS:
        each = ranks // len(cards)
        yield "gpu-near", f"{ranks} ranks for {len(cards)} GPUs: {each} beside each of them"
    if hosts == 1:
        return
    if ranks == 1 and cables:
        yield "hca-near", f"one rank per node, and {hosts} nodes: it is placed beside {cables[0].name}"
    if ranks >= len(cables) > 1 and _apart(cables):
        yield "per-hca", f"{len(cables)} adapters on different NUMA nodes: each carries the messages of the ranks near it"


def _apart(devices: list[Device]) -> bool:
    return len({device.nodes for device in devices}) > 1


def _by_measurement(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    cables = [device for device in adapters(field.ground) if device.nodes]
    gain = measured.near_messages if measured else None
    if hosts == 1 or not cables or gain is None or gain < _FAST:
        return
    beside = sum(1 for seat in field.cores if seat.socket in cables[0].sockets)
    if ranks * field.job.threads <= beside:
        yield "hca-near", f"measured: cores of {cables[0].name}'s socket send {gain:.1f} times the messages of the others"


def _by_threads(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    del ranks, hosts, measured
    threads = field.job.threads
    if threads == 1:
        return
    size, room = _largest(field, l3), _largest(field, node)
    if all(seat.l3 < 0 for seat in field.cores):
        yield "hybrid", f"{threads} threads per rank stay together: no L3 groups are shown, so in one NUMA node where they fit"
    elif threads <= size:
        yield "hybrid", f"the {threads} threads of a rank share one L3 group of {size}"
    else:
        inside = "one NUMA node holds them" if threads <= room else "not even a NUMA node holds them"
        yield "hybrid", f"{threads} threads are more than an L3 group of {size} takes; {inside}"


def _by_number(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    del hosts
    nodes, caches, cores = (len(parts(field.cores, level)) for level in (node, l3_in_node, core))
    if ranks >= cores:
        yield "compact", f"{_count(ranks, 'rank')} {'takes' if ranks == 1 else 'take'} every core, so neighbours are side by side"
    if nodes < caches and (nodes < ranks <= caches or ranks % caches == 0):
        gain = measured.one_core_per_l3 if measured else None
        if gain is None:
            yield "spread-l3", _caches(ranks, caches)
        elif gain >= _WORTH:
            yield "spread-l3", f"{_caches(ranks, caches)}; measured: one core each gives {gain:.2f} times the bandwidth of all"
    if ranks <= nodes or (ranks % nodes == 0 and caches <= nodes):
        what = "a memory of its own for each" if ranks <= nodes else f"{ranks // nodes} in each"
        yield "spread-numa", f"{_count(ranks, 'rank')}, {_count(nodes, 'NUMA node')}: {what}"
    counted = f"{_count(ranks, 'rank')}, {_count(nodes, 'NUMA node')}, {_count(caches, 'L3 group')}"
    yield "balanced", f"{counted}: spread over the nodes, in each over its groups"


def _caches(ranks: int, caches: int) -> str:
    each = "one each at most" if ranks <= caches else f"{ranks // caches} in each"
    return f"{_count(ranks, 'rank')}, {_count(caches, 'L3 group')}: {each}"


def _always(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    del ranks, measured
    yield "hybrid", "a rank's threads stay as near to each other as they fit"
    if hosts > 1 and any(device.nodes for device in adapters(field.ground)):
        yield "hca-near", "messages start on the adapter's own socket"
    yield "spread-numa", "each rank stays in one NUMA node"
    yield "compact", "core after core is the one order that fits"


def _largest(field: JobCores, level: Level) -> int:
    return max(sum(seat.threads for seat in group) for group in parts(field.cores, level).values())
