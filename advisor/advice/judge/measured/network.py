"""Turns messages between hosts into what each adapter gave, near it and far from it. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from advisor.advice.model.case import Case
from advisor.measure.measured_facts import AdapterWay, Exchange, MeasuredAdapter, Reach
from advisor.measure.measurement import NETWORK, Distance, Measurements, Result, reported_integer, reported_number, reported_text
from advisor.measure.measurement_statistics import median_of, spread_of

_SMALL: Final = 64
"""Bytes: larger messages tell no message rate."""
_FAR: tuple[Distance, ...] = ("same-socket", "other-socket")

Places = Sequence[Sequence[Result]]
"""Results of one start of the kernel each."""


def adapters(measurements: Measurements, case: Case) -> tuple[MeasuredAdapter, ...]:
    """Return what every adapter gave that messages went through, once for the hosts between which they went."""
    return _beside([_adapter(own, case) for own in _through(measurements)])


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


def _beside(found: Sequence[MeasuredAdapter]) -> tuple[MeasuredAdapter, ...]:
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
        published, ref = _published(case, distance)
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
_OF_DISTANCE: Final = {"same-socket": "other NUMA nodes of the adapter's socket", "other-socket": "the far socket"}


def _published(case: Case, distance: str) -> tuple[float | None, str | None]:
    """Return the share that a publication of this platform gives for a distance, where the NUMA partitioning is the same."""
    cut = case.layout.cut.name if case.layout else None
    for one in case.platform.references if case.platform else ():
        fits = one.benchmark == "osu-mbw-mr" and one.kind == "share" and one.against == _BESIDE and one.cut in (None, cut)
        if fits and one.condition == _OF_DISTANCE[distance]:
            return one.value.low, one.source
    return None, None
