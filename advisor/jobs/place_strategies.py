"""The strategies by which ranks are dealt to the cores of a node, and the cores that a job may have."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from advisor.errors import BadValue
from advisor.jobs.place_cores import (
    Device,
    FreeCore,
    Key,
    Level,
    NodeResources,
    RankCores,
    adapters,
    core,
    distributed,
    gpus,
    l3,
    l3_in_node,
    named,
    node,
    packed_ranks,
    parts,
    ranks_within_parts,
    socket,
    split,
    spread_ranks,
    whole,
)
from advisor.jobs.placement import JobShape, Per, Strategy


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
    levels = (l3_in_node, node) if any(device.cpus for device in space.near) else (node,)
    stacks: list[list[RankCores]] = []
    for level in levels:
        stacks = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, level).values()]
        if sum(map(len, stacks)) >= count:
            break
    else:
        wide = [packed_ranks(box, space.threads, len(box)) for box in parts(space.seats, socket).values()]
        stacks = max(stacks, wide, key=lambda each: sum(map(len, each)))
    total = sum(map(len, stacks))
    return _over_caches(space, _by_turns(space, stacks, distributed(min(count, total), [total] * len(space.near))))


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


NATURAL: Final[dict[Strategy, Per]] = {"spread-l3": "l3", "spread-numa": "numa"}
"""What gets a rank each where no number of ranks is given; in the other strategies as many as fit."""


def _domain(seat: FreeCore) -> Key:
    """Return which NUMA node, as people count them: one that spans sockets is one."""
    return (seat.node,)


PARTS: Final[dict[Per, Level]] = {"node": whole, "socket": socket, "numa": _domain, "l3": l3, "core": core}


_BY_DEVICE: Final = ("hca-near", "per-hca", "gpu-near")


@dataclass(frozen=True)
class JobCores:
    """A kind of node, and the cores of it that this job may fill."""

    ground: NodeResources
    cores: tuple[FreeCore, ...]
    job: JobShape

    @cached_property
    def near(self) -> Device | None:
        """The device that was asked for."""
        return named(self.ground, self.job.near) if self.job.near else None

    def devices(self, strategy: Strategy) -> tuple[Device, ...]:
        """Return what a strategy needs to be near to; refused where there is none."""
        if strategy not in _BY_DEVICE:
            return ()
        every = gpus(self.ground) if strategy == "gpu-near" else adapters(self.ground)
        if strategy == "hca-near":
            every = ((self.near,) if self.near else tuple(d for d in every if d.nodes) or every)[:1]
        if not every:
            what = "a GPU" if strategy == "gpu-near" else "an adapter"
            raise BadValue(f"{strategy} needs {what}, and this node shows none", cure="try --strategy balanced")
        if strategy == "hca-near" and not every[0].nodes:
            raise BadValue(f"where {every[0].name} is, is not known", cure="try --strategy balanced")
        return every

    def boxes(self, per: Per) -> list[tuple[FreeCore, ...]]:
        """Return the parts that ranks are counted in."""
        if per == "l3" and all(seat.l3 < 0 for seat in self.cores):
            raise BadValue("this node shows no L3 groups", cure="count in numa, socket, core or node")
        return list(parts(self.cores, PARTS[per]).values())

    def fill(self, strategy: Strategy, count: int, threads: int | None = None) -> list[RankCores]:
        """Return the ranks in their order; fewer than asked for where no more fit."""
        need = threads or self.job.threads
        if strategy == "spread-l3":
            self.boxes("l3")
        near = self.devices(strategy)
        if self.job.per is None or strategy in _BY_DEVICE:
            return self._fit(strategy, self.cores, count, need, near)
        boxes = self.boxes(self.job.per)
        each, chunks = -(-count // len(boxes)), []
        for box in boxes:
            chunks += self._fit(strategy, box, each, need, near)
        return chunks[:count]

    def _fit(
        self, strategy: Strategy, cores: tuple[FreeCore, ...], count: int, need: int, near: tuple[Device, ...]
    ) -> list[RankCores]:
        """Return ranks that share no core; where they must, as few shared cores as will do."""
        way = WAYS[strategy]

        def tried(shared: int) -> list[RankCores]:
            return way(Space(self.ground, split(cores, shared) if shared else cores, need, near), count)

        chunks = tried(0)
        wide = sum(1 for seat in cores if seat.threads > 1)
        if len(chunks) >= count or not wide:
            return chunks
        most = tried(wide)
        if len(most) < count:
            return max(chunks, most, key=len)
        return tried(bisect_left(range(wide), x=True, key=lambda shared: len(tried(shared)) >= count))

    def most(self, strategy: Strategy, threads: int | None = None) -> int:
        """Return how many ranks of so many threads fit."""
        per = self.job.per if strategy not in _BY_DEVICE else None
        every = sum(len(seat.cpus) for seat in self.cores)
        if per is None:
            return len(self.fill(strategy, every, threads))
        return self.most_each(strategy, threads) * len(self.boxes(per))

    def most_each(self, strategy: Strategy, threads: int | None = None) -> int:
        """Return how many ranks fit into every one of the parts that ranks are counted in."""
        near, need = self.devices(strategy), threads or self.job.threads
        boxes = self.boxes(self.job.per or "node")
        if strategy in _BY_DEVICE:
            return self.most(strategy, threads) // len(boxes)
        return min(len(self._fit(strategy, box, sum(len(seat.cpus) for seat in box), need, near)) for box in boxes)

    def natural(self, strategy: Strategy) -> int:
        """Return how many ranks a node gets where no number is given."""
        if strategy == "gpu-near":
            return len(self.devices(strategy))
        per = NATURAL.get(strategy)
        most = self.most(strategy)
        return min(len(self.boxes(per)), most) if per else most


def job_cores(ground: NodeResources, job: JobShape) -> JobCores:
    """Return the cores that a job may fill: without the reserved ones, and of the others its slice."""
    reserved = {seat.core for seat in reserved_cores(ground, job)}
    cores = tuple(seat for seat in ground.cores if seat.core not in reserved)
    if not cores:
        raise BadValue(f"no core is left: {len(ground.cores)} are free, {len(reserved)} are reserved", cure="reserve fewer")
    if job.slice:
        cores = _slices(cores, job.slice.of)[job.slice.part - 1]
    if job.smt == "use":
        cores = tuple(replace(seat, threads=len(seat.cpus)) for seat in cores)
    return JobCores(ground, cores, job)


def reserved_cores(ground: NodeResources, job: JobShape) -> tuple[FreeCore, ...]:
    """Return the cores that a job leaves to the system: the first ones of the node, or of each of its parts."""
    first = sorted(ground.cores, key=lambda seat: seat.core)
    groups = parts(first, PARTS[job.reserve_per or "node"]).values()
    return tuple(sorted((seat for group in groups for seat in group[: job.reserve]), key=lambda seat: seat.core))


def _slices(cores: Sequence[FreeCore], count: int) -> list[tuple[FreeCore, ...]]:
    """Return so many parts side by side: of whole sockets, nodes or L3 groups where there are enough, else of cores."""
    largest = max(len(group) for group in parts(cores, l3_in_node).values())
    for level in (socket, node, l3_in_node):
        groups = list(parts(cores, level).values())
        if len(groups) % count == 0 or (level is l3_in_node and len(groups) >= count):
            made = _runs(groups, count)
            if level is l3_in_node or max(map(len, made)) - min(map(len, made)) <= largest:
                return made
    if count > len(cores):
        raise BadValue(f"{count} slices of {len(cores)} cores: some would be empty", cure=f"make {len(cores)} at most")
    return _runs([(seat,) for seat in cores], count)


def _runs(groups: Sequence[tuple[FreeCore, ...]], count: int) -> list[tuple[FreeCore, ...]]:
    """Return the groups joined to so many runs; the first have one more where they do not divide evenly."""
    size, more = divmod(len(groups), count)
    starts = [i * size + min(i, more) for i in range(count + 1)]
    return [tuple(seat for group in groups[a:b] for seat in group) for a, b in pairwise(starts)]
