"""The strategies: each puts so many ranks on free seats, or as many as fit. A docstring's first line is its explanation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.model.placement import Strategy
from advisor.place.cores import (
    FreeCore,
    RankCores,
    distributed,
    l3,
    l3_in_node,
    node,
    packed_ranks,
    parts,
    ranks_within_parts,
    socket,
    spread_ranks,
)
from advisor.place.resources import Device, NodeResources


@dataclass(frozen=True)
class Space:
    """Free seats of a node for ranks of so many threads, and the devices to be near: one, or all of a kind."""

    ground: NodeResources
    seats: tuple[FreeCore, ...]
    threads: int
    near: tuple[Device, ...] = ()


Way = Callable[[Space, int], list[RankCores]]


def compact(space: Space, count: int) -> list[RankCores]:
    """Fill core after core, L3 after L3, node after node."""
    return ranks_within_parts(space.seats, socket, space.threads)[:count]


def spread_numa(space: Space, count: int) -> list[RankCores]:
    """Spread the ranks evenly over the NUMA nodes, each with all its threads inside one."""
    return spread_ranks(space.seats, space.threads, count, node)


def spread_l3(space: Space, count: int) -> list[RankCores]:
    """Spread the ranks evenly over the L3 groups, so that each has as much cache and memory bandwidth as possible."""
    return spread_ranks(space.seats, space.threads, count, l3, l3_in_node)


def hybrid(space: Space, count: int) -> list[RankCores]:
    """Keep a rank's threads inside one L3 group, or if they do not fit inside one NUMA node, or else one socket."""
    best: list[RankCores] = []
    for level in (l3_in_node, l3, node, socket):
        chunks = spread_ranks(space.seats, space.threads, count, level)
        if len(chunks) >= count:
            return chunks
        best = max(best, chunks, key=len)
    return best


def balanced(space: Space, count: int) -> list[RankCores]:
    """Share the memories evenly: over nodes that have memory first, then over the L3 groups near each."""

    def memory(seat: FreeCore) -> tuple[int, ...]:
        return (seat.socket, *space.ground.memory_of(seat))

    # Cores without memory of their own add no channel: they serve only when those beside a memory do not suffice.
    beside = [seat for seat in space.seats if seat.node in space.ground.memory_of(seat)]
    chunks = spread_ranks(beside, space.threads, count, memory, l3_in_node)
    if len(chunks) < count:
        chunks = spread_ranks(space.seats, space.threads, count, memory, l3_in_node)
    return chunks if len(chunks) >= count else spread_ranks(space.seats, space.threads, count, socket)


def hca_near(space: Space, count: int) -> list[RankCores]:
    """Fill the cores of the adapter's NUMA node first, then its socket's nodes by distance, then the other sockets."""
    device = space.near[0]
    near = sorted(space.seats, key=lambda seat: space.ground.nearness(seat, device))
    chunks: list[RankCores] = []
    for box in parts(near, node).values():
        chunks += packed_ranks(box, space.threads, count - len(chunks))
    if len(chunks) < count:
        chunks = max(chunks, ranks_within_parts(near, socket, space.threads)[:count], key=len)
    return _over_caches(space, [RankCores(chunk.seats, device.name) for chunk in chunks])


def per_hca(space: Space, count: int) -> list[RankCores]:
    """Split the ranks evenly over the adapters, each rank near its own: on the adapter's node, socket, or as near as possible."""
    return _shared(space, count)


def gpu_near(space: Space, count: int) -> list[RankCores]:
    """Split the ranks evenly over the GPUs, each rank on the cores nearest to its own."""
    return _shared(space, count)


def _shared(space: Space, count: int) -> list[RankCores]:
    # A GPU that is beside one L3 group of a node gets the ranks of that group, where they fit into such groups.
    level = l3_in_node if any(device.cpus for device in space.near) else node
    stacks = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, level).values()]
    if sum(map(len, stacks)) < count and level is l3_in_node:
        stacks = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, node).values()]
    if sum(map(len, stacks)) < count:
        wide = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, socket).values()]
        stacks = max(stacks, wide, key=lambda each: sum(map(len, each)))
    total = sum(map(len, stacks))
    quota = distributed(min(count, total), [total] * len(space.near))
    return _over_caches(space, _by_turns(space, stacks, quota))


def _by_turns(space: Space, stacks: list[list[RankCores]], quota: Sequence[int]) -> list[RankCores]:
    """Return ranks by device: again and again the device that has the nearest seats free takes some."""
    taken: list[list[RankCores]] = [[] for _ in quota]
    sizes = [len(stack) for stack in stacks]

    def cost(device: int, at: int) -> tuple[tuple[int, int, int], int, int]:
        near = space.near[device]
        tier, far, last = max(space.ground.nearness(seat, near) for seat in stacks[at][0].seats)
        # Where nobody says which of several nodes a device is on, its ranks are spread over them.
        order = sizes[at] - len(stacks[at]) if len(near.nodes) > 1 else last
        return (tier, far, order), len(taken[device]), device

    for _ in range(sum(quota)):
        waiting = [device for device, most in enumerate(quota) if len(taken[device]) < most]
        device, at = min(((d, i) for d in waiting for i, stack in enumerate(stacks) if stack), key=lambda pair: cost(*pair))
        taken[device].append(stacks[at].pop(0))
    return [
        RankCores(chunk.seats, device.name)
        for device, mine in zip(space.near, taken, strict=True)
        for chunk in sorted(mine, key=lambda c: max(space.ground.nearness(seat, device) for seat in c.seats))
    ]


def _over_caches(space: Space, ranks: list[RankCores]) -> list[RankCores]:
    """Return the ranks, those of each node spread over its caches where all its cores are equally near to the devices."""
    if any(device.cpus for device in space.near):
        return ranks
    found, place = list(ranks), {seat: position for position, seat in enumerate(space.seats)}
    for box in parts(space.seats, node).values():
        own = set(box)
        mine = sorted((i for i, rank in enumerate(ranks) if own & set(rank.seats)), key=lambda i: place[ranks[i].seats[0]])
        spread = spread_ranks(box, space.threads, len(mine), l3_in_node)
        if len(spread) == len(mine) and all(own >= set(ranks[i].seats) for i in mine):
            for i, rank in zip(mine, spread, strict=True):
                found[i] = RankCores(rank.seats, ranks[i].device)
    return found


WAYS: Final[dict[Strategy, Way]] = {
    "compact": compact,
    "spread-numa": spread_numa,
    "spread-l3": spread_l3,
    "hybrid": hybrid,
    "balanced": balanced,
    "hca-near": hca_near,
    "per-hca": per_hca,
    "gpu-near": gpu_near,
}


def sentence(strategy: Strategy) -> str:
    """Return what a strategy does, in one sentence."""
    return (WAYS[strategy].__doc__ or "").splitlines()[0]
