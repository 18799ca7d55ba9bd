"""Chooses a strategy from the job's shape, the machine's, and what was measured on it."""

from collections.abc import Iterator
from typing import Final

from advisor.model.placement import Measured, Strategy
from advisor.place.cores import Level, core, l3, l3_in_node, node, parts
from advisor.place.fill import JobCores
from advisor.place.resources import Device, adapters, gpus

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
    if field.job.per == "numa":
        yield "spread-numa", "ranks are counted in NUMA nodes"
    elif field.job.per == "l3":
        yield "spread-l3", "ranks are counted in L3 groups"


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
        yield "compact", f"{ranks} ranks take every core, so neighbours are side by side"
    if nodes < caches and (nodes < ranks <= caches or ranks % caches == 0):
        gain = measured.one_core_per_l3 if measured else None
        if gain is None:
            yield "spread-l3", _caches(ranks, caches)
        elif gain >= _WORTH:
            yield "spread-l3", f"{_caches(ranks, caches)}; measured: one core each gives {gain:.2f} times the bandwidth of all"
    if ranks <= nodes or (ranks % nodes == 0 and caches <= nodes):
        what = "a memory of its own for each" if ranks <= nodes else f"{ranks // nodes} in each"
        yield "spread-numa", f"{ranks} ranks, {nodes} NUMA nodes: {what}"
    yield "balanced", f"{ranks} ranks, {nodes} NUMA nodes, {caches} L3 groups: spread over the nodes, in each over its groups"


def _caches(ranks: int, caches: int) -> str:
    each = "one each at most" if ranks <= caches else f"{ranks // caches} in each"
    return f"{ranks} ranks, {caches} L3 groups: {each}"


def _always(field: JobCores, ranks: int, hosts: int, measured: Measured | None) -> Iterator[Reason]:
    del ranks, measured
    yield "hybrid", "a rank's threads stay as near to each other as they fit"
    if hosts > 1 and any(device.nodes for device in adapters(field.ground)):
        yield "hca-near", "messages start on the adapter's own socket"
    yield "spread-numa", "each rank stays in one NUMA node"
    yield "compact", "core after core is the one order that fits"


def _largest(field: JobCores, level: Level) -> int:
    return max(sum(seat.threads for seat in group) for group in parts(field.cores, level).values())
