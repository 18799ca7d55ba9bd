"""Which placements are worth a race: splits of a job into ranks and threads, those that are one and the same, what differs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from advisor.jobs.placement import JobShape, Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.units import count

FACTORS: Final = (1, 2, 4)
"""So many times more, or fewer, threads per rank are tried."""
MOST: Final = 12
"""Candidates of a race: with more, each takes longer to be told from the others."""

Seats = tuple[tuple[str, str, str, str, str], ...]
"""What each rank gets: host, CPUs, memory, adapter, GPU."""


class Candidate(NamedTuple):
    """One line of a race."""

    name: str
    job: JobShape | None
    """None of the line that the user had."""
    placement: Placement | None
    """None where it is not known where its ranks go."""


def splits(ranks: int, threads: int, hosts: int = 1) -> tuple[tuple[int, int], ...]:
    """Return ranks and threads with the same product: the job's own first, then its neighbours; ranks share out over hosts.

    >>> splits(8, 2)
    ((8, 2), (16, 1), (4, 4), (2, 8))
    """
    whole = ranks * threads
    wider = [threads * each for each in FACTORS[1:]]
    finer = [threads // each for each in FACTORS[1:] if threads % each == 0]
    near = sorted({*wider, *finer}, key=lambda each: (max(each, threads) // min(each, threads), each))
    fitting = [each for each in near if whole % each == 0 and whole // each >= hosts and (whole // each) % hosts == 0]
    return ((ranks, threads), *((whole // each, each) for each in fitting))


def seats(placement: Placement) -> Seats:
    """Return what each rank of a placement gets."""
    return tuple(
        (rank.host or "", str(rank.slot.cpus), str(CpuSet(rank.slot.memory)), rank.slot.hca or "", rank.slot.gpu or "")
        for rank in placement.ranks()
    )


def distinct(found: Iterable[Candidate], known: Iterable[Seats] = ()) -> Iterator[Candidate]:
    """Yield the candidates whose ranks get something else than those of all before."""
    seen = set(known)
    for each in found:
        if each.placement is None:
            yield each
        elif (own := seats(each.placement)) not in seen:
            seen.add(own)
            yield each


def what_ranks_get(placement: Placement) -> dict[str, str]:
    """Return in a few words each what the ranks of a placement have for themselves, on the first host."""
    plan = placement.plans[0]
    caches: Counter[int] = Counter(group for slot in plan.slots for group in slot.l3)
    nodes: Counter[int] = Counter(node for slot in plan.slots for node in slot.memory)
    distances = sorted({slot.distance for slot in plan.slots if slot.distance is not None})
    found = {"memory": f"{count(max(nodes.values()), 'rank')} on a NUMA node, {len(nodes)} in use"} if nodes else {}
    if caches:
        found["L3"] = f"{count(max(caches.values()), 'rank')} on an L3 group, {len(caches)} in use"
        wide = sum(len(slot.l3) > 1 for slot in plan.slots)
        found["L3"] += f", {count(wide, 'rank')} across several" if wide else ""
    if distances:
        found["adapter"] = f"distance {distances[0]}" + (f" to {distances[-1]}" if len(distances) > 1 else "")
    return found


def why_different(one: Placement, other: Placement) -> tuple[str, ...]:
    """Return what the ranks of one placement get that those of another do not, a sentence each."""
    mine, theirs = what_ranks_get(one), what_ranks_get(other)
    return tuple(f"{key}: {mine[key]}; before: {theirs[key]}" for key in mine if key in theirs and mine[key] != theirs[key])
