"""Turns measured bandwidths and latencies into what each part of a machine gave, beside its siblings. Pure."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from statistics import median

from advisor.advice.model.case import Case
from advisor.machine.cpuset import CpuSet
from advisor.measure.measured_facts import Speed, Way
from advisor.measure.measurement import Distance, Measurements, Part, Result, Unit
from advisor.measure.measurement_statistics import Gain, fastest, median_of, spread_of

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
