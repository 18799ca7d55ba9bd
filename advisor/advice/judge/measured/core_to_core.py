"""Finds which cores share a cache from round trips between them, and holds it against the firmware's L3 groups. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from advisor.advice.model.case import Case
from advisor.machine.cpuset import CpuSet
from advisor.measure.measured_facts import Caches
from advisor.measure.measurement import Measurements

Trips = Mapping[tuple[int, int], float]
"""Seconds of a round trip by the two cores, the smaller number first."""

_GAP = 1.3
"""Near and far pairs are distinguished where times in order jump by so much; meshes and rings vary less from core to core."""


def shared_caches(measurements: Measurements, case: Case) -> Caches | None:
    """Return what round trips tell of shared caches; None where none were measured."""
    trips = _trips(measurements, case)
    if not trips:
        return None
    firmware = _firmware(case, trips)
    inside = [time for pair, time in trips.items() if _same(firmware, pair)]
    outside = [time for pair, time in trips.items() if not _same(firmware, pair)]
    if firmware and inside and outside and _most(inside) < -_most(-time for time in outside):
        groups = _complete(tuple(_members(firmware)), trips)
        return Caches(groups=groups, agrees=True, near=median(inside), far=median(outside))
    return _found(trips, firmware, virtual=not case.environment or case.environment.virtual != "none")


_STRAY = 0.05
"""So many pairs may be disturbed in spite of all repeats."""


def _most(times: Iterable[float]) -> float:
    """Return the longest time but for strays."""
    ordered = sorted(times)
    return ordered[len(ordered) - 1 - int(_STRAY * len(ordered))]


def _trips(measurements: Measurements, case: Case) -> Trips:
    """Return the shortest round trip of each pair of cores: what disturbs one only makes it longer."""
    core_of = {cpu: next(iter(core.cpuset)) for core in (case.topology.cores if case.topology else ()) for cpu in core.cpuset}
    found: dict[tuple[int, int], float] = {}
    for each in measurements.of("map"):
        if len(each.cpus) != 2 or each.unit != "seconds":
            continue
        a, b = sorted(core_of.get(cpu, cpu) for cpu in each.cpus)
        if a != b and each.best > 0:
            found[a, b] = min(each.best, found.get((a, b), each.best))
    return found


def _firmware(case: Case, trips: Trips) -> Mapping[int, int]:
    """Return the L3 group of each core that was paired; empty where the firmware names none of one of them."""
    group_of = {cpu: group.index for group in case.groups or () for cpu in group.cpus or ()}
    cores = {core for pair in trips for core in pair}
    return {core: group_of[core] for core in cores} if cores <= group_of.keys() else {}


def _same(firmware: Mapping[int, int], pair: tuple[int, int]) -> bool:
    return pair[0] in firmware and firmware[pair[0]] == firmware.get(pair[1])


def _members(group_of: Mapping[int, int]) -> Iterator[CpuSet]:
    for group in sorted(set(group_of.values())):
        yield CpuSet(core for core, own in group_of.items() if own == group)


class _Split(NamedTuple):
    """Pairs sorted into near and far, and the groups that the near ones join."""

    limit: float
    group_of: Mapping[int, int]


def _found(trips: Trips, firmware: Mapping[int, int], *, virtual: bool) -> Caches:
    """Return the finest grouping that the times themselves show, and whether it contradicts the firmware."""
    # A hypervisor may show two threads of a core as two cores: groups of two are no caches there.
    split = next((each for each in _splits(trips) if not virtual or _largest(each.group_of) > 2), None)
    if split is None:
        one = len(set(firmware.values())) == 1
        # One group named and nothing that speaks against it; with several, times that run together tell nothing.
        return Caches(agrees=True if one else None, near=median(trips.values()))
    near = [time for time in trips.values() if time <= split.limit]
    far = [time for time in trips.values() if time > split.limit]
    wrong = [pair for pair, time in sorted(trips.items()) if firmware and (time <= split.limit) != _same(firmware, pair)]
    return Caches(
        groups=_complete(tuple(_members(split.group_of)), trips),
        agrees=None if not firmware else not wrong,
        near=median(near),
        far=median(far),
        example=_example(wrong, trips, split.limit) if wrong else None,
    )


def _splits(trips: Trips) -> Iterator[_Split]:
    """Yield groupings, the finest first: at each jump of the times, if all near pairs then form groups without a far one."""
    times = sorted(trips.values())
    for low, high in pairwise(times):
        if high >= _GAP * low:
            group_of = _joined([pair for pair, time in trips.items() if time <= low], {core for pair in trips for core in pair})
            if all((group_of[a] == group_of[b]) == (time <= low) for (a, b), time in trips.items()):
                yield _Split(low, group_of)


def _largest(group_of: Mapping[int, int]) -> int:
    members = list(group_of.values())
    return max(members.count(group) for group in set(members))


def _joined(pairs: Sequence[tuple[int, int]], cores: set[int]) -> Mapping[int, int]:
    """Return the group of each core, by its smallest member, where each pair is in one group."""
    leader = {core: core for core in cores}

    def first(core: int) -> int:
        while leader[core] != core:
            core = leader[core]
        return core

    for a, b in pairs:
        one, other = sorted((first(a), first(b)))
        leader[other] = one
    return {core: first(core) for core in cores}


def _complete(groups: tuple[CpuSet, ...], trips: Trips) -> tuple[CpuSet, ...] | None:
    """Return the groups if every two cores were paired; else a core that seems alone may not be."""
    cores = sum(len(group) for group in groups)
    return groups if len(trips) == cores * (cores - 1) // 2 else None


def _example(wrong: Sequence[tuple[int, int]], trips: Trips, limit: float) -> str:
    a, b = wrong[0]
    near = trips[a, b] <= limit
    told = "are near, in different groups of the firmware" if near else "are far apart, in one group of the firmware"
    return f"CPUs {a} and {b} {told}"
