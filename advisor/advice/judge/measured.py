"""Turns measurements of a machine into the facts that rules may ask for. Pure."""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from advisor.advice.judge.case import Case
from advisor.advice.judge.published import (
    cores_at_work,
    linpack,
    places,
    published,
    published_hpl,
    published_latency,
    published_network,
    published_network_latency,
    references,
    share_of,
    spread_of_all,
)
from advisor.machine.cpuset import CpuSet
from advisor.measure.measured_facts import (
    AdapterWay,
    Caches,
    Clock,
    Exchange,
    Flops,
    MeasuredAdapter,
    MeasuredFacts,
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
from advisor.measure.platform import PublishedFigure

_REMOTE: tuple[Distance, ...] = ("same-socket", "other-socket")
_PATTERNS = ("triad", "load", "copy")
"""In the order in which parts are compared by them."""


def speeds(measurements: Measurements, part: Part, case: Case) -> tuple[Speed, ...] | None:
    """Return what each part of a kind gave, beside its siblings; None where none was measured."""
    every = [each for each in measurements.of("part", "bytes/s") if each.distance not in _REMOTE]
    results: dict[int, list[Result]] = {}
    for each in every:
        if each.part == part:
            results.setdefault(each.index or 0, []).append(each)
    alike: Any = {"l3": case.groups, "numa": case.nodes, "socket": case.sockets}.get(part) or ()
    for one in alike:
        if one.cpus and one.cores and one.index not in results:
            # What has the same cores is measured once, as the larger part: a socket that is one NUMA node.
            same = [each for each in every if set(each.cpus) <= set(one.cpus) and len(each.cpus) in (one.cores, len(one.cpus))]
            results |= {one.index: same} if same else {}
    latencies: dict[int, Result] = {}  # by the largest working set that was walked in the part's own memory
    for each in measurements.results:
        own = (each.part, each.refused, each.unit) == (part, None, "seconds") and each.purpose in ("part", "matrix")
        longest = latencies.get(each.index or 0)
        if own and each.distance not in _REMOTE and (longest is None or (each.bytes or 0) > (longest.bytes or 0)):
            latencies[each.index or 0] = each
    bounds, kinds = _ceilings(case, part), _kinds(case, part)
    parts = [_speed(at, results.get(at, []), latencies.get(at), bounds.get(at)) for at in sorted({*results, *latencies})]
    return tuple(_beside(parts, kinds)) or None


def _kinds(case: Case, part: Part) -> Mapping[int, Hashable]:
    """Return what parts must have in common to be compared: NUMA nodes their kind of memory, L3 groups their NUMA node."""
    nodes = case.nodes or ()
    if part != "l3":
        return {node.index: node.kind for node in nodes} if part == "numa" else {}
    return {
        one.index: next((node.index for node in nodes if node.cpus and one.cpus and one.cpus <= node.cpus), None)
        for one in case.groups or ()
    }


def _ceilings(case: Case, part: Part) -> Mapping[int, float]:
    """Return what the DIMMs of each part could carry, where the firmware reports them."""
    sockets = {socket.index: float(socket.bandwidth) for socket in case.sockets or () if socket.bandwidth}
    if part == "socket":
        return sockets
    whole = len(sockets) == len(case.sockets or ()) > 0
    return {0: sum(sockets.values())} if part == "machine" and whole else {}


def _speed(index: int, results: Sequence[Result], latency: Result | None, bound: float | None) -> Speed:
    """Return what a part gave with memory of its own, or with any where none says so."""
    own = [each for each in results if each.distance == "local"] or list(results)
    best = [fastest(own, what) for what in _PATTERNS]
    first = next((each for each in best if each is not None), None)
    triad, load, copying = (_rate(each) for each in best)
    stores = {name: max((each.median for each in own if each.variant == name), default=None) for name in ("triad", "triad-nt")}
    ceiling = max((each.ceiling for each in own if each.ceiling is not None), default=None)
    return Speed(
        index=index,
        cpus=CpuSet((first or latency or results[0]).cpus),
        load=load,
        copying=copying,
        triad=triad,
        regular=stores["triad"],
        streaming=stores["triad-nt"],
        rate=_rate(first),
        what=first.variant.removesuffix("-nt") if first else None,
        spread=spread_of(first) if first else None,
        ceiling=bound if ceiling is None else ceiling,
        latency=_rate(latency),
        latency_spread=spread_of(latency) if latency else None,
    )


def _rate(result: Result | None) -> float | None:
    return result.median if result else None


def _beside(parts: Sequence[Speed], kinds: Mapping[int, Hashable]) -> Iterator[Speed]:
    """Yield each part with what the others of its kind gave: the median of those, so that one sick part hides none."""
    for one in parts:
        alike = (len(one.cpus), kinds.get(one.index))
        others = [each for each in parts if each is not one and (len(each.cpus), kinds.get(each.index)) == alike]
        rate = median_of(each.rate for each in others if each.rate is not None and each.what == one.what)
        latency = median_of(each.latency for each in others if each.latency is not None)
        yield one.but(siblings=rate, share=share_of(one.rate, rate), latency_siblings=latency)


Pairs = Mapping[tuple[int, int], Result]
"""Results by the NUMA node of the cores and that of the memory."""


def _matrix(measurements: Measurements, unit: Unit, what: str) -> Pairs:
    results: dict[tuple[int, int], list[Result]] = {}
    for each in measurements.results:
        fits = each.purpose == "matrix" or (each.distance == "local" and each.purpose == "part")
        if fits and (each.unit, each.refused, each.part) == (unit, None, "numa") and each.index is not None:
            memory = each.memory if each.memory is not None else each.index
            results.setdefault((each.index, memory), []).append(each)
    best = {pair: own[0] if unit == "seconds" else fastest(own, what) for pair, own in results.items()}
    return {pair: result for pair, result in best.items() if result is not None}


def remote_memory(measurements: Measurements, case: Case) -> tuple[Way, ...] | None:
    """Return memory of other NUMA nodes against local memory; None where that was not measured."""
    matrices = (_matrix(measurements, "bytes/s", what) for what in _PATTERNS)
    bandwidths = next((pairs for pairs in matrices if any(each.distance in _REMOTE for each in pairs.values())), {})
    latencies = _matrix(measurements, "seconds", "chase")
    ways = []
    for distance in _REMOTE:
        bandwidth, latency = _against(bandwidths, distance), _against(latencies, distance)
        if bandwidth or latency:
            ratio, spread = bandwidth or (None, None)
            far = _published_share(case, None, "local memory", _OF_DISTANCE[distance])
            ways.append(Way(distance=distance, bandwidth=ratio, latency=latency.ratio if latency else None, spread=spread, **far))
    return tuple(ways) or None


def _against(pairs: Pairs, distance: Distance) -> Gain | None:
    """Return the median, over all pairs at a distance, of what they give as a share of the cores' own memory."""
    gains = []
    for (cores, _), far in pairs.items():
        near = pairs.get((cores, cores))
        if far.distance == distance and near is not None and near.median > 0:
            gains.append((far.median / near.median, spread_of(far, near)))
    return Gain(median(ratio for ratio, _ in gains), spread_of_all(spread for _, spread in gains)) if gains else None


_OF_DISTANCE = {"same-socket": "memory of another die of the same socket", "other-socket": "memory of the other socket"}
_NETWORK_OF_DISTANCE = {"same-socket": "other NUMA nodes of the adapter's socket", "other-socket": "the far socket"}


def _published_share(case: Case, benchmark: str | None, against: str, condition: str) -> dict[str, Any]:
    """Return the share that a publication of this platform gives, where the NUMA partitioning is the same."""
    cut = case.layout.cut.name if case.layout else None
    for one in references(case):
        fits = one.cut in (None, cut) and benchmark in (None, one.benchmark)
        if fits and (one.kind, one.against, one.condition) == ("share", against, condition):
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
_STRAY = 0.05
"""So many pairs may be disturbed in spite of all repeats."""


def shared_caches(measurements: Measurements, case: Case) -> Caches | None:
    """Return what round trips tell of shared caches; None where none were measured."""
    trips = _trips(measurements, case)
    if not trips:
        return None
    group_of = {cpu: group.index for group in case.groups or () for cpu in group.cpus or ()}
    cores = {core for pair in trips for core in pair}
    firmware = {core: group_of[core] for core in cores} if cores <= group_of.keys() else {}  # none where it names not all
    inside = [time for pair, time in trips.items() if _same(firmware, pair)]
    outside = [time for pair, time in trips.items() if not _same(firmware, pair)]
    if firmware and inside and outside and _most(inside) < -_most(-time for time in outside):
        return Caches(groups=_groups(firmware, trips), agrees=True, near=median(inside), far=median(outside))
    return _by_times(trips, firmware, virtual=not case.environment or case.environment.virtual != "none")


def _most(times: Iterable[float]) -> float:
    """Return the longest time but for strays."""
    ordered = sorted(times)
    return ordered[len(ordered) - 1 - int(_STRAY * len(ordered))]


def _trips(measurements: Measurements, case: Case) -> Trips:
    """Return the shortest round trip of each pair of cores: what disturbs one only makes it longer."""
    core_of = {cpu: next(iter(core.cpuset)) for core in (case.topology.cores if case.topology else ()) for cpu in core.cpuset}
    trips: dict[tuple[int, int], float] = {}
    for each in measurements.of("map", "seconds"):
        if len(each.cpus) == 2:
            a, b = sorted(core_of.get(cpu, cpu) for cpu in each.cpus)
            if a != b and each.best > 0:
                trips[a, b] = min(each.best, trips.get((a, b), each.best))
    return trips


def _same(group_of: Mapping[int, int], pair: tuple[int, int]) -> bool:
    return pair[0] in group_of and group_of[pair[0]] == group_of.get(pair[1])


def _groups(group_of: Mapping[int, int], trips: Trips) -> tuple[CpuSet, ...] | None:
    """Return the groups if every two cores were paired; else a core that seems alone may not be."""
    if len(trips) != len(group_of) * (len(group_of) - 1) // 2:
        return None
    return tuple(CpuSet(core for core, own in group_of.items() if own == group) for group in sorted(set(group_of.values())))


def _by_times(trips: Trips, firmware: Mapping[int, int], *, virtual: bool) -> Caches:
    """Return the finest grouping that the times themselves show, and whether it contradicts the firmware."""
    for limit, group_of in _splits(trips):
        members = list(group_of.values())
        if virtual and max(map(members.count, members)) <= 2:
            continue  # a hypervisor may show two threads of a core as two cores: groups of two are no caches there
        near, far = [time for time in trips.values() if time <= limit], [time for time in trips.values() if time > limit]
        wrong = [pair for pair, time in sorted(trips.items()) if firmware and (time <= limit) != _same(firmware, pair)]
        example = None
        if wrong:
            close = "are near each other, but the firmware reports them in different groups"
            told = close if trips[wrong[0]] <= limit else "are far apart, but the firmware reports them in the same group"
            example = f"CPUs {wrong[0][0]} and {wrong[0][1]} {told}"
        agrees = not wrong if firmware else None
        return Caches(groups=_groups(group_of, trips), agrees=agrees, near=median(near), far=median(far), example=example)
    one = len(set(firmware.values())) == 1
    # One group named and nothing that speaks against it; with several, times that run together tell nothing.
    return Caches(agrees=True if one else None, near=median(trips.values()))


def _splits(trips: Trips) -> Iterator[tuple[float, Mapping[int, int]]]:
    """Yield limits of near, with the groups that the near pairs join, the finest first.

    They lie at each jump of the times, if all near pairs then form groups without a far one.
    """
    times = sorted(trips.values())
    for low, high in pairwise(times):
        if high >= _GAP * low:
            group_of = _joined([pair for pair, time in trips.items() if time <= low], {core for pair in trips for core in pair})
            if all((group_of[a] == group_of[b]) == (time <= low) for (a, b), time in trips.items()):
                yield low, group_of


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


_SMALL = 64
"""Bytes: larger messages tell no message rate."""


def adapters(measurements: Measurements, case: Case) -> tuple[MeasuredAdapter, ...]:
    """Return what every adapter gave that messages went through, once for the hosts between which they went.

    Beside it stands what the same one gave between other hosts: the median of those.
    """
    every = [_adapter(own, case) for own in _through(measurements)]
    beside = []
    for one in every:
        same = [each.bandwidth for each in every if each is not one and each.name == one.name]
        others = median_of(each for each in same if each is not None)
        beside.append(one.but(others=others, of_others=share_of(one.bandwidth, others)))
    return tuple(beside)


def _through(measurements: Measurements) -> list[list[Result]]:
    """Return believed results by adapter and hosts; pairs inside one host, or left to the MPI, are known to go through none."""
    results: dict[tuple[str, str], list[Result]] = {}
    for each in measurements.results:
        through = reported_text(each, "hca") and reported_number(each, "across") and not reported_text(each, "way")
        if each.purpose in NETWORK and each.refused is None and through:
            results.setdefault((reported_text(each, "hca"), reported_text(each, "hosts_named")), []).append(each)
    return list(results.values())


def _adapter(own: Sequence[Result], case: Case) -> MeasuredAdapter:
    limited = next((each for each in own if each.variant == "mbw_mr" and each.ceiling), None)
    limit = reported_text(limited, "line") if limited else ""
    line = limited.ceiling if limited else None
    best = _fastest(each for each in own if _away(each) == "local")
    quick = max(_small(own), key=_messages, default=None)
    near, other = _reach(own, "numa", "local"), _reach(own, "numa", "other-socket")
    single = {node.index for node in case.nodes or () for one in case.sockets or () if node.cpus and node.cpus == one.cpus}
    alone = [each for each in own if each.index in single]  # a socket that is a single NUMA node was measured as that
    return MeasuredAdapter(
        name=reported_text(own[0], "hca"),
        hosts=_hosts(own[0]),
        launcher=reported_text(own[0], "launcher") or None,
        line=line,
        limit=limit or None,
        of_path=limit.startswith("PCIe") if limit else None,
        bandwidth=best.median if best else None,
        spread=spread_of(best) if best else None,
        share=share_of(_rate(best), line),
        messages=_messages(quick) if quick else None,
        messages_spread=spread_of(quick) if quick else None,
        messages_pairs=reported_integer(quick, "pairs") if quick else None,
        near=near,
        same_socket=_reach(own, "numa", "same-socket"),
        other_socket=other,
        socket=_reach(own, "socket", "local") or _reach(alone, "numa", "local"),
        far_socket=_reach(own, "socket", "other-socket") or _reach(alone, "numa", "other-socket"),
        everyone=_reach(own, "machine"),
        one=_one(own, "local"),
        one_far=_one(own, *_REMOTE),
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


def _reach(results: Iterable[Result], part: Part, distance: Distance | None = None) -> Reach | None:
    """Return what all cores of parts reach at a distance from the adapter: medians over starts; None where there is none."""
    starts: dict[str, list[Result]] = {}
    for each in results:
        if (each.part, each.purpose) == (part, "network") and distance in (None, _away(each)):
            starts.setdefault(each.task, []).append(each)
    best = [fast for start in starts.values() if (fast := _fastest(start)) is not None]
    small = [each for start in starts.values() for each in _small(start)]
    if not best:
        return None
    return Reach(
        bandwidth=median_of(each.median for each in best),
        spread=spread_of_all(map(spread_of, best)),
        messages=median_of(map(_messages, small)),
        messages_spread=spread_of_all(map(spread_of, small)),
        pairs=reported_integer(best[0], "pairs"),
    )


def _one(results: Iterable[Result], *distances: Distance) -> Exchange | None:
    """Return what one rank on each host reaches at some distances from the adapter."""
    own = [each for each in results if each.purpose == "network-pair" and _away(each) in distances]
    latencies = [each for each in own if each.variant == "latency" and each.bytes and each.bytes <= _SMALL]
    latency = min(latencies, key=lambda each: each.bytes or 0, default=None)
    fast, both = _fastest(own), _fastest(own, "bibw")
    if latency is None and fast is None:
        return None
    return Exchange(
        latency=_rate(latency),
        latency_spread=spread_of(latency) if latency else None,
        bandwidth=_rate(fast),
        both=_rate(both),
        spread=spread_of(fast) if fast else None,
    )


def adapter_ways(measurements: Measurements, case: Case) -> tuple[AdapterWay, ...]:
    """Return what ranks far from an adapter reach, as a share of those of its own NUMA node."""
    return tuple(way for own in _through(measurements) for way in _ways(own, case))


def _ways(own: Sequence[Result], case: Case) -> Iterator[AdapterWay]:
    near, beside = _reach(own, "numa", "local"), _one(own, "local")
    if near is None or not near.bandwidth:
        return
    for distance in _REMOTE:
        far, away = _reach(own, "numa", distance), _one(own, distance)
        if far is not None and far.bandwidth:
            spread = None if near.spread is None or far.spread is None else max(near.spread, far.spread)
            yield AdapterWay(
                adapter=reported_text(own[0], "hca"),
                hosts=_hosts(own[0]),
                distance=distance,
                near=near.bandwidth,
                far=far.bandwidth,
                bandwidth=far.bandwidth / near.bandwidth,
                spread=spread,
                latency=share_of(away.latency, beside.latency) if away and beside else None,
                **_published_share(case, "osu-mbw-mr", "the adapter's NUMA node", _NETWORK_OF_DISTANCE[distance]),
            )


def with_measurements(case: Case, measurements: Measurements | None, figures: Sequence[PublishedFigure] = ()) -> Case:
    """Return the case that also knows what was measured on its machine, and how that stands among published figures."""
    return case if measurements is None else case.but(measured=measured_facts(measurements, case, figures))


def measured_facts(measurements: Measurements, case: Case, figures: Sequence[PublishedFigure] = ()) -> MeasuredFacts:
    """Return the facts; None for each thing that was not measured, or not believed."""
    results, conditions = measurements.results, measurements.conditions
    believed = (each for each in results if each.refused is None and len(each.values) >= FEWEST)
    worst = max(believed, key=lambda each: each.spread, default=None)
    refused = tuple(
        Refused(name=each.task if each.task.endswith(each.variant) else f"{each.task} {each.variant}", why=each.refused)
        for each in results
        if each.refused is not None
    )
    clocks = _clocks(measurements, case)
    through, runs = adapters(measurements, case), linpack(measurements, case, clocks)
    facts = MeasuredFacts(
        when=conditions.when,
        idle=conditions.idle,
        busy=conditions.busy,
        results=len(results),
        worst_spread=worst.spread if worst else None,
        worst=worst.task if worst else None,
        caches=shared_caches(measurements, case),
        clocks=clocks or None,
        flops=_flops(measurements, case, clocks),
        refused=refused,
        missing=tuple(each.task for each in measurements.missing),
        adapters=through,
        adapter_ways=adapter_ways(measurements, case),
        hpl=runs[0] if runs else None,
        hpl_runs=runs,
        published_network=published_network(through, case),
        published_network_latency=published_network_latency(through, case),
        published_hpl=published_hpl(runs, case),
        **_of_parts(measurements, case),
        **_ratios(measurements, case),
    )
    return facts.but(places=places(facts, measurements, case, figures))


def _of_parts(measurements: Measurements, case: Case) -> dict[str, Any]:
    """Return what each part gave, and what was published of the same."""
    cores, groups, nodes, sockets = (speeds(measurements, part, case) for part in ("core", "l3", "numa", "socket"))
    whole = speeds(measurements, "machine", case)
    machine = whole[0] if whole else None
    latencies = [each.latency for each in nodes or () if each.latency is not None]
    if machine and machine.latency is None and latencies:  # measured node by node: the nearest of its memories
        machine = machine.but(latency=min(latencies))
    named = {"core": cores, "l3": groups, "numa-node": nodes, "socket": sockets, "node": whole}
    parts = {name: parts or () for name, parts in named.items()}
    return {
        "cores": cores,
        "groups": groups,
        "nodes": nodes,
        "sockets": sockets,
        "machine": machine,
        "published": published(parts, case),
        "published_latency": published_latency(parts, case),
    }


def _ratios(measurements: Measurements, case: Case) -> dict[str, Any]:
    """Return what one placement gives against another."""
    remote = remote_memory(measurements, case)
    sparse, sparse_spread = one_core_per_l3(measurements, case.shape.l3 if case.shape else None) or (None, None)
    inner, inner_spread = interleaving(remote or (), case) or (None, None)
    gain = None if inner is None else inner - 1
    own = {"one_core_per_l3": sparse, "one_core_spread": sparse_spread, "nps_gain": gain, "nps_spread": inner_spread}
    return {**own, "remote": remote}


_WIDTHS = ("scalar", "avx512", "avx2", "avx", "sse2", "sve", "neon")


def _isa(result: Result) -> str:
    """Return the instructions of a floating-point result; of the clock's those of the load it was measured under."""
    words = re.split(r"[^a-z0-9]+", f"{result.variant} {reported_text(result, 'load')}".lower())
    return next((each for each in _WIDTHS if each in words), result.isa or "scalar")


def _hertz(result: Result) -> float | None:
    """Return the clock of a result; of a rate that of the same run."""
    return result.median if result.unit == "hertz" else reported_number(result, "clock")


def _clocks(measurements: Measurements, case: Case) -> tuple[Clock, ...]:
    """Return the clock by instructions, each of the result with most cores at work."""
    base = case.cpu.base_hz if case.cpu else None
    widest: dict[str, Result] = {}
    for each in (*measurements.of("clock"), *measurements.of("peak")):
        isa = _isa(each)
        if _hertz(each) and (isa not in widest or len(each.cpus) > len(widest[isa].cpus)):
            widest[isa] = each
    clocks = ((isa, result, _hertz(result) or 0.0) for isa, result in widest.items())
    return tuple(
        Clock(isa=isa, hertz=hertz, spread=spread_of(result), nominal=base, share=hertz / base if base else None)
        for isa, result, hertz in clocks
    )


def _flops(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> Flops | None:
    """Return the best rate of the most cores, beside the peak of those cores at the clock they ran at."""
    rates = [each for each in measurements.of("peak", "flop/s") if each.variant.endswith("fma")]
    best = max(rates, key=lambda each: (len(each.cpus), each.median), default=None)
    if best is None:
        return None
    isa, cores = _isa(best), cores_at_work(best, case) or len(set(best.cpus))
    achieved = next((clock.hertz for clock in clocks if clock.isa == isa), None)
    clock = _hertz(best) or achieved or (case.cpu.base_hz if case.cpu else None)
    each_cycle = case.platform.flops_per_cycle if case.platform else None
    peak = cores * each_cycle * clock if each_cycle and clock else None
    share = best.median / peak if peak else None
    return Flops(rate=best.median, isa=isa, cores=cores, spread=spread_of(best), clock=clock, peak=peak, share=share)
