"""Turns measurements of a machine into the facts that rules may ask for. Pure."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final, NamedTuple

from advisor.advice.judge.measured.published import (
    Parts,
    linpack,
    places,
    published,
    published_hpl,
    published_latency,
    published_network,
    published_network_latency,
)
from advisor.advice.model.case import Case
from advisor.machine.cpuset import CpuSet
from advisor.measure.measured_facts import (
    AdapterWay,
    Caches,
    Clock,
    Exchange,
    Flops,
    MeasuredAdapter,
    MeasuredFacts,
    PublishedFigure,
    Reach,
    Refused,
    Speed,
    Way,
)
from advisor.measure.measurement import (
    FEWEST,
    NETWORK,
    Distance,
    Gain,
    Measurements,
    Part,
    Result,
    Unit,
    fastest,
    median_of,
    one_core_per_l3,
    reported_integer,
    reported_number,
    reported_text,
    spread_of,
)

_REMOTE: tuple[Distance, ...] = ("same-socket", "other-socket")
_PATTERNS = ("triad", "load", "copy")
"""In the order in which parts are compared by them."""


def speeds(measurements: Measurements, part: Part, case: Case) -> tuple[Speed, ...] | None:
    """Return what each part of a kind gave; None where none was measured."""
    every = [each for each in measurements.of("part", "bytes/s") if each.distance not in _REMOTE]
    found: dict[int, list[Result]] = {}
    for each in every:
        if each.part == part:
            found.setdefault(each.index or 0, []).append(each)
    for index, cpus, cores in _parts(case, part):
        # What has the same cores is measured once, as the larger part: a socket that is one NUMA node.
        same = [each for each in every if set(each.cpus) <= set(cpus) and len(each.cpus) in (cores, len(cpus))]
        if same and index not in found:
            found[index] = same
    latencies = _latencies(measurements, part)
    kinds = _kinds(case, part)
    parts = [_speed(index, found.get(index, []), latencies.get(index)) for index in sorted({*found, *latencies})]
    bounds = _ceilings(case, part)
    beside = _beside(parts, lambda one: (len(one.cpus), kinds.get(one.index)))
    return tuple(_bounded(one, bounds).model_copy(update=more) for one, more in beside) or None


def _kinds(case: Case, part: Part) -> Mapping[int, Hashable]:
    """Return what parts must have in common to be compared: NUMA nodes their kind of memory, L3 groups their NUMA node."""
    if part == "l3":
        homes = [(node.index, node.cpus) for node in case.nodes or () if node.cpus]
        return {
            one.index: next((index for index, cpus in homes if one.cpus and one.cpus <= cpus), None) for one in case.groups or ()
        }
    return {node.index: node.kind for node in case.nodes or ()} if part == "numa" else {}


def _parts(case: Case, part: Part) -> list[tuple[int, CpuSet, int]]:
    """Return the number, the CPUs and how many cores each part of a kind has."""
    kinds = {"l3": case.groups, "numa": case.nodes, "socket": case.sockets}
    return [(one.index, one.cpus, one.cores) for one in kinds.get(part) or () if one.cpus and one.cores]


def _bounded(one: Speed, bounds: Mapping[int, float]) -> Speed:
    """Return a part with what its DIMMs could carry: as the measurement has it, or as the firmware reports them now."""
    return one if one.ceiling is not None else one.model_copy(update={"ceiling": bounds.get(one.index)})


def _speed(index: int, results: Sequence[Result], latency: Result | None) -> Speed:
    own = _local(results)
    best = {what: fastest(own, what) for what in _PATTERNS}
    first = next((each for each in best.values() if each is not None), None)
    regular, streaming = (_median(each for each in own if each.variant == name) for name in ("triad", "triad-nt"))
    return Speed(
        index=index,
        cpus=CpuSet((first or latency or results[0]).cpus),
        load=_rate(best["load"]),
        copying=_rate(best["copy"]),
        triad=_rate(best["triad"]),
        regular=regular,
        streaming=streaming,
        rate=_rate(first),
        what=first.variant.removesuffix("-nt") if first else None,
        spread=spread_of(first) if first else None,
        ceiling=max((each.ceiling for each in own if each.ceiling is not None), default=None),
        latency=_rate(latency),
        latency_spread=spread_of(latency) if latency else None,
    )


def _local(results: Sequence[Result]) -> list[Result]:
    """Return the results with memory of the part's own; all of them where none says so."""
    return [each for each in results if each.distance == "local"] or list(results)


def _rate(result: Result | None) -> float | None:
    return result.median if result else None


def _median(results: Iterable[Result]) -> float | None:
    return max((each.median for each in results), default=None)


def _latencies(measurements: Measurements, part: Part) -> dict[int, Result]:
    """Return the latency of each part's own memory, by the largest working set that was walked."""
    found: dict[int, Result] = {}
    for each in measurements.results:
        if (each.part, each.refused, each.unit) != (part, None, "seconds") or each.distance in _REMOTE:
            continue
        index = each.index or 0
        if each.purpose in ("part", "matrix") and (index not in found or (each.bytes or 0) > (found[index].bytes or 0)):
            found[index] = each
    return found


def _ceilings(case: Case, part: Part) -> Mapping[int, float]:
    """Return what the DIMMs of each part could carry, where the firmware reports them."""
    sockets = {socket.index: float(socket.bandwidth) for socket in case.sockets or () if socket.bandwidth}
    if part == "socket":
        return sockets
    whole = len(sockets) == len(case.sockets or ()) > 0
    return {0: sum(sockets.values())} if part == "machine" and whole else {}


def _beside(parts: Sequence[Speed], kind: Callable[[Speed], Hashable]) -> list[tuple[Speed, dict[str, float | None]]]:
    """Return each part with what the others of its kind gave: the median of those, so that one sick part hides none."""
    kinds = [kind(one) for one in parts]
    result = []
    for at, one in enumerate(parts):
        others = [other for place, other in enumerate(parts) if place != at and kinds[place] == kinds[at]]
        rate = median_of(other.rate for other in others if other.rate is not None and other.what == one.what)
        latency = median_of(other.latency for other in others if other.latency is not None)
        share = one.rate / rate if one.rate is not None and rate else None
        result.append((one, {"siblings": rate, "share": share, "latency_siblings": latency}))
    return result


Pairs = Mapping[tuple[int, int], Result]
"""Results by the NUMA node of the cores and that of the memory."""


def _matrix(measurements: Measurements, unit: Unit, what: str) -> Pairs:
    found: dict[tuple[int, int], list[Result]] = {}
    for each in measurements.results:
        if (each.unit, each.refused) != (unit, None) or each.part != "numa" or each.index is None:
            continue
        local = each.distance == "local" and each.purpose == "part"
        if each.purpose == "matrix" or local:
            memory = each.memory if each.memory is not None else each.index
            found.setdefault((each.index, memory), []).append(each)
    best = {pair: own[0] if unit == "seconds" else fastest(own, what) for pair, own in found.items()}
    return {pair: result for pair, result in best.items() if result is not None}


def remote_memory(measurements: Measurements, case: Case) -> tuple[Way, ...] | None:
    """Return memory of other NUMA nodes against local memory; None where that was not measured."""
    bandwidths = next((each for what in _PATTERNS if _remote(each := _matrix(measurements, "bytes/s", what))), {})
    latencies = _matrix(measurements, "seconds", "chase")
    result = []
    for distance in _REMOTE:
        bandwidth, latency = _against(bandwidths, distance), _against(latencies, distance)
        if bandwidth or latency:
            result.append(
                Way(
                    distance=distance,
                    bandwidth=bandwidth.ratio if bandwidth else None,
                    latency=latency.ratio if latency else None,
                    spread=bandwidth.spread if bandwidth else None,
                    **_published(case, distance),
                )
            )
    return tuple(result) or None


def _remote(pairs: Pairs) -> bool:
    return any(each.distance in _REMOTE for each in pairs.values())


def _against(pairs: Pairs, distance: Distance) -> Gain | None:
    """Return the median, over all pairs at a distance, of what they give as a share of the cores' own memory."""
    gains = []
    for (cores, _), far in pairs.items():
        near = pairs.get((cores, cores))
        if far.distance == distance and near is not None and near.median > 0:
            gains.append((far.median / near.median, spread_of(far, near)))
    if not gains:
        return None
    spreads = [spread for _, spread in gains]
    known = [spread for spread in spreads if spread is not None]
    return Gain(median(ratio for ratio, _ in gains), median(known) if len(known) == len(spreads) else None)


_OF_DISTANCE = {"same-socket": "memory of another die of the socket", "other-socket": "memory of the other socket"}


def _published(case: Case, distance: str) -> dict[str, float | str | None]:
    """Return the share that a publication of this platform gives for a distance, where the NUMA partitioning is the same."""
    for one in case.platform.references if case.platform else ():
        cut = case.layout.cut.name if case.layout else None
        fits = one.kind == "share" and one.against == "local memory" and one.cut in (None, cut)
        if fits and one.condition == _OF_DISTANCE[distance]:
            return {"published": one.value.low, "ref": one.source}
    return {}


def interleaving(remote: Sequence[Way], case: Case) -> Gain | None:
    """Return local memory against memory interleaved over the nodes of a socket, estimated: times add up, rates do not.

    Of n lines in turn one is local, and each of the others takes as much longer as memory of another node of the socket does.
    """
    nodes = case.layout.cut.nodes_per_socket if case.layout else None
    way = next((each for each in remote if each.distance == "same-socket"), None)
    if way is None or not way.bandwidth or nodes is None or nodes < 2:
        return None
    return Gain((1 + (nodes - 1) / way.bandwidth) / nodes, way.spread)


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


_SMALL: Final = 64
"""Bytes: larger messages tell no message rate."""
_FAR: tuple[Distance, ...] = ("same-socket", "other-socket")

Places = Sequence[Sequence[Result]]
"""Results of one start of the kernel each."""


def adapters(measurements: Measurements, case: Case) -> tuple[MeasuredAdapter, ...]:
    """Return what every adapter gave that messages went through, once for the hosts between which they went."""
    return _network_beside([_adapter(own, case) for own in _through(measurements)])


def adapter_ways(measurements: Measurements, case: Case) -> tuple[AdapterWay, ...]:
    """Return what ranks far from an adapter reach, as a share of those of its own NUMA node."""
    return tuple(way for own in _through(measurements) for way in _ways(own, case))


def _through(measurements: Measurements) -> list[list[Result]]:
    """Return believed results by adapter and hosts; pairs inside one host, or left to the MPI, are known to go through none."""
    found: dict[tuple[str, str], list[Result]] = {}
    for each in measurements.results:
        through = (
            each.refused is None
            and reported_text(each, "hca")
            and reported_number(each, "across")
            and not reported_text(each, "way")
        )
        if each.purpose in NETWORK and through:
            found.setdefault((reported_text(each, "hca"), reported_text(each, "hosts_named")), []).append(each)
    return list(found.values())


def _network_beside(found: Sequence[MeasuredAdapter]) -> tuple[MeasuredAdapter, ...]:
    """Return adapters with what the same one gave between other hosts: the median of those."""
    result = []
    for at, one in enumerate(found):
        same = [other for place, other in enumerate(found) if place != at and other.name == one.name]
        others = median_of(other.bandwidth for other in same if other.bandwidth is not None)
        share = one.bandwidth / others if one.bandwidth is not None and others else None
        result.append(one.model_copy(update={"others": others, "of_others": share}))
    return tuple(result)


def _adapter(own: Sequence[Result], case: Case) -> MeasuredAdapter:
    first = own[0]
    limited = next((each for each in own if each.variant == "mbw_mr" and each.ceiling), None)
    best = _fastest(each for each in own if _away(each) == "local")
    quick = max(_small(own), key=_messages, default=None)
    line = limited.ceiling if limited else None
    near, other = _of_node(own, "local"), _of_node(own, "other-socket")
    return MeasuredAdapter(
        name=reported_text(first, "hca"),
        hosts=_hosts(first),
        launcher=reported_text(first, "launcher") or None,
        line=line,
        limit=reported_text(limited, "line") or None if limited else None,
        of_path=reported_text(limited, "line").startswith("PCIe") if limited and reported_text(limited, "line") else None,
        bandwidth=best.median if best else None,
        spread=spread_of(best) if best else None,
        share=best.median / line if best and line else None,
        messages=_messages(quick) if quick else None,
        messages_spread=spread_of(quick) if quick else None,
        messages_pairs=reported_integer(quick, "pairs") if quick else None,
        near=near,
        same_socket=_of_node(own, "same-socket"),
        other_socket=other,
        socket=_of_socket(own, case, "local"),
        far_socket=_of_socket(own, case, "other-socket"),
        everyone=_reach(_places(own, lambda each: (each.part, each.purpose) == ("machine", "network"))),
        one=_one(own, ("local",)),
        one_far=_one(own, _FAR),
        gap=1 - other.bandwidth / near.bandwidth if near and other and near.bandwidth and other.bandwidth else None,
    )


def _hosts(result: Result) -> tuple[str, ...]:
    return tuple(name for name in reported_text(result, "hosts_named").split(",") if name)


def _away(result: Result) -> str:
    return reported_text(result, "hca_distance")


def _fastest(results: Iterable[Result], variant: str = "mbw_mr") -> Result | None:
    return max((each for each in results if each.variant == variant), key=lambda each: each.median, default=None)


def _small(results: Iterable[Result]) -> list[Result]:
    """Return the results at the smallest size, where that is small enough to count messages."""
    own = [each for each in results if each.variant == "mbw_mr" and each.bytes and each.bytes <= _SMALL]
    least = min((each.bytes or 0 for each in own), default=0)
    return [each for each in own if each.bytes == least]


def _messages(result: Result) -> float:
    return reported_number(result, "messages") or result.median / (result.bytes or 1)


def _places(results: Iterable[Result], fits: Callable[[Result], bool]) -> Places:
    places: dict[str, list[Result]] = {}
    for each in results:
        if fits(each):
            places.setdefault(each.task, []).append(each)
    return list(places.values())


def _of_node(results: Iterable[Result], distance: Distance) -> Reach | None:
    """Return what all cores of a NUMA node reach at a distance from the adapter."""
    return _reach(_places(results, lambda each: (each.part, each.purpose, _away(each)) == ("numa", "network", distance)))


def _of_socket(results: Sequence[Result], case: Case, distance: Distance) -> Reach | None:
    """Return what all cores of a socket reach; one that is a single NUMA node was measured as that."""
    whole = _reach(_places(results, lambda each: (each.part, each.purpose, _away(each)) == ("socket", "network", distance)))
    single = {node.index for node in case.nodes or () for one in case.sockets or () if node.cpus and node.cpus == one.cpus}
    return whole or _of_node((each for each in results if each.index in single), distance)


def _reach(places: Places) -> Reach | None:
    """Return the medians over places; None where there is none."""
    best = [found for place in places if (found := _fastest(place)) is not None]
    small = [found for place in places for found in _small(place)]
    if not best:
        return None
    return Reach(
        bandwidth=median_of(each.median for each in best),
        spread=_spread(best),
        messages=median_of(_messages(each) for each in small),
        messages_spread=_spread(small),
        pairs=reported_integer(best[0], "pairs"),
    )


def _spread(results: Sequence[Result]) -> float | None:
    """Return the median spread of several results; None where one has too few repeats to tell."""
    spreads = [spread_of(each) for each in results]
    known = [spread for spread in spreads if spread is not None]
    return median_of(known) if len(known) == len(spreads) else None


def _one(results: Iterable[Result], distances: Sequence[Distance]) -> Exchange | None:
    """Return what one rank on each host reaches at some distances from the adapter."""
    own = [each for each in results if each.purpose == "network-pair" and _away(each) in distances]
    latencies = [each for each in own if each.variant == "latency" and each.bytes and each.bytes <= _SMALL]
    latency = min(latencies, key=lambda each: each.bytes or 0, default=None)
    fast, both = _fastest(own), _fastest(own, "bibw")
    if latency is None and fast is None:
        return None
    return Exchange(
        latency=latency.median if latency else None,
        latency_spread=spread_of(latency) if latency else None,
        bandwidth=fast.median if fast else None,
        both=both.median if both else None,
        spread=spread_of(fast) if fast else None,
    )


def _ways(own: Sequence[Result], case: Case) -> Iterator[AdapterWay]:
    near, beside = _of_node(own, "local"), _one(own, ("local",))
    if near is None or not near.bandwidth:
        return
    for distance in _FAR:
        far, away = _of_node(own, distance), _one(own, (distance,))
        if far is None or not far.bandwidth:
            continue
        spreads = (near.spread, far.spread)
        published, ref = _network_published(case, distance)
        yield AdapterWay(
            adapter=reported_text(own[0], "hca"),
            hosts=_hosts(own[0]),
            distance=distance,
            near=near.bandwidth,
            far=far.bandwidth,
            bandwidth=far.bandwidth / near.bandwidth,
            spread=None if None in spreads else max(spread for spread in spreads if spread is not None),
            latency=away.latency / beside.latency if away and beside and away.latency and beside.latency else None,
            published=published,
            ref=ref,
        )


_BESIDE: Final = "the adapter's NUMA node"
_NETWORK_OF_DISTANCE: Final = {"same-socket": "other NUMA nodes of the adapter's socket", "other-socket": "the far socket"}


def _network_published(case: Case, distance: str) -> tuple[float | None, str | None]:
    """Return the share that a publication of this platform gives for a distance, where the NUMA partitioning is the same."""
    cut = case.layout.cut.name if case.layout else None
    for one in case.platform.references if case.platform else ():
        fits = one.benchmark == "osu-mbw-mr" and one.kind == "share" and one.against == _BESIDE and one.cut in (None, cut)
        if fits and one.condition == _NETWORK_OF_DISTANCE[distance]:
            return one.value.low, one.source
    return None, None


def with_measurements(case: Case, measurements: Measurements | None, figures: Sequence[PublishedFigure] = ()) -> Case:
    """Return the case that also knows what was measured on its machine, and how that stands among published figures."""
    return case if measurements is None else case.model_copy(update={"measured": measured_facts(measurements, case, figures)})


def measured_facts(measurements: Measurements, case: Case, figures: Sequence[PublishedFigure] = ()) -> MeasuredFacts:
    """Return the facts; None for each thing that was not measured, or not believed."""
    worst, clocks = _worst(measurements.results), _clocks(measurements, case)
    facts = MeasuredFacts(
        when=measurements.conditions.when,
        idle=measurements.conditions.idle,
        busy=measurements.conditions.busy,
        results=len(measurements.results),
        worst_spread=worst.spread if worst else None,
        worst=worst.task if worst else None,
        caches=shared_caches(measurements, case),
        clocks=clocks or None,
        flops=_flops(measurements, case, clocks),
        refused=tuple(Refused(name=_name(each), why=each.refused) for each in measurements.results if each.refused is not None),
        missing=tuple(each.task for each in measurements.missing),
        **_facts_parts(measurements, case),
        **_ratios(measurements, case),
        **_of_mpi(measurements, case, clocks),
    )
    return facts.model_copy(update={"places": places(facts, measurements, case, figures)})


def _of_mpi(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> dict[str, Any]:
    """Return what ranks of MPI gave: messages between hosts, and HPL."""
    through, runs = adapters(measurements, case), linpack(measurements, case, clocks)
    return {
        "adapters": through,
        "adapter_ways": adapter_ways(measurements, case),
        "hpl": runs[0] if runs else None,
        "hpl_runs": runs,
        "published_network": published_network(through, case),
        "published_network_latency": published_network_latency(through, case),
        "published_hpl": published_hpl(runs, case),
    }


def _facts_parts(measurements: Measurements, case: Case) -> dict[str, Any]:
    """Return what each part gave, and what was published of the same."""
    cores, groups, nodes, sockets = (speeds(measurements, part, case) for part in ("core", "l3", "numa", "socket"))
    whole = speeds(measurements, "machine", case)
    parts: Parts = {
        "core": cores or (),
        "l3": groups or (),
        "numa-node": nodes or (),
        "socket": sockets or (),
        "node": whole or (),
    }
    return {
        "cores": cores,
        "groups": groups,
        "nodes": nodes,
        "sockets": sockets,
        "machine": _whole(whole, nodes),
        "published": published(parts, case),
        "published_latency": published_latency(parts, case),
    }


def _ratios(measurements: Measurements, case: Case) -> dict[str, Any]:
    """Return what one placement gives against another."""
    sparse, remote = one_core_per_l3(measurements, case.shape.l3 if case.shape else None), remote_memory(measurements, case)
    inner = interleaving(remote or (), case)
    return {
        "one_core_per_l3": sparse.ratio if sparse else None,
        "one_core_spread": sparse.spread if sparse else None,
        "remote": remote,
        "nps_gain": inner.ratio - 1 if inner else None,
        "nps_spread": inner.spread if inner else None,
    }


def _name(result: Result) -> str:
    return result.task if result.task.endswith(result.variant) else f"{result.task} {result.variant}"


def _worst(results: Iterable[Result]) -> Result | None:
    believed = [each for each in results if each.refused is None and len(each.values) >= FEWEST]
    return max(believed, key=lambda each: each.spread, default=None)


def _whole(whole: Sequence[Speed] | None, nodes: Sequence[Speed] | None) -> Speed | None:
    """Return the machine; the nearest of its memories gives its latency where that was measured node by node."""
    if not whole:
        return None
    latencies = [each.latency for each in nodes or () if each.latency is not None]
    return whole[0].model_copy(update={"latency": min(latencies)}) if latencies and whole[0].latency is None else whole[0]


def _isa(result: Result) -> str:
    """Return the instructions of a floating-point result; of the clock's those of the load it was measured under."""
    told = result.details.get("load")
    words = re.split(r"[^a-z0-9]+", f"{result.variant} {told if isinstance(told, str) else ''}".lower())
    known = (each for each in _WIDTHS if each in words)
    return next(known, result.isa or "scalar")


_WIDTHS = ("scalar", "avx512", "avx2", "avx", "sse2", "sve", "neon")


def _hertz(result: Result) -> float | None:
    if result.unit == "hertz":
        return result.median
    told = result.details.get("clock")  # of the same run as the rate
    return float(told) if isinstance(told, (int, float)) and not isinstance(told, bool) and told > 0 else None


def _clocks(measurements: Measurements, case: Case) -> tuple[Clock, ...]:
    """Return the clock by instructions, each of the result with most cores at work."""
    base = case.cpu.base_hz if case.cpu else None
    found: dict[str, Result] = {}
    for each in (*measurements.of("clock"), *measurements.of("peak")):
        isa = _isa(each)
        if _hertz(each) and (isa not in found or len(each.cpus) > len(found[isa].cpus)):
            found[isa] = each
    clocks = []
    for isa, result in found.items():
        hertz = _hertz(result) or 0.0
        share = hertz / base if base else None
        clocks.append(Clock(isa=isa, hertz=hertz, spread=spread_of(result), nominal=base, share=share))
    return tuple(clocks)


def _flops(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> Flops | None:
    """Return the best rate of the most cores, beside the peak of those cores at the clock they ran at."""
    rates = [each for each in measurements.of("peak", "flop/s") if each.variant.endswith("fma")]
    best = max(rates, key=lambda each: (len(each.cpus), each.median), default=None)
    if best is None:
        return None
    achieved = next((clock.hertz for clock in clocks if clock.isa == _isa(best)), None)
    clock = _hertz(best) or achieved or (case.cpu.base_hz if case.cpu else None)
    each_cycle = case.platform.flops_per_cycle if case.platform else None
    cores = _cores(best, case)
    peak = cores * each_cycle * clock if each_cycle and clock else None
    share = best.median / peak if peak else None
    return Flops(rate=best.median, isa=_isa(best), cores=cores, spread=spread_of(best), clock=clock, peak=peak, share=share)


def _cores(result: Result, case: Case) -> int:
    """Return on how many cores a result's threads worked."""
    cpus = set(result.cpus)
    cores = [core for core in (case.topology.cores if case.topology else ()) if any(cpu in core.cpuset for cpu in cpus)]
    return len(cores) or len(cpus)
