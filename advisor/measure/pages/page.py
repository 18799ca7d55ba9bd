"""The page of measurements: conditions, tables with their verdicts, what is rejected or missing."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

from rich.console import RenderableType

from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, duration, flop_rate, plain, throughput
from advisor.measure import measurement
from advisor.measure.measured_facts import UNPUBLISHED, Compared, Linpack, MeasuredAdapter, MeasuredFacts, Place, Way
from advisor.measure.measurement import NETWORK, Conditions, Distance, Identity, Measurements, Missing, Purpose, Result, Unit
from advisor.measure.pages import bandwidth, flops, latency, roofline
from advisor.measure.pages.bandwidth import PartGroup, part_groups
from advisor.measure.pages.series import (
    HEADLINE,
    Cell,
    MeasuredPage,
    amount,
    caches,
    distance,
    figure,
    heading,
    headline,
    ladder,
    loaded,
    matrices,
    number,
    own_kernels,
    part_name,
    percent,
    rejected_span,
    scaling,
    sound,
    table,
)
from advisor.show.cpulists import numbered
from advisor.show.lines import Line, wrapped

_PURPOSES: Final[tuple[Purpose, ...]] = ("network", "network-few")
_LITTLE: Final = 0.02
"""Less cannot be distinguished from noise."""
_MICRO: Final = 1e-6
_AWAY: Final = {"local": "here", "same-socket": "same socket", "other-socket": "other socket"}
_LOSES: Final = 0.1

Found = dict[tuple[str, int], Result]
"""Results of one place by variant and size."""


def tables(measurements: Measurements, width: int) -> list[Line]:
    """Return for each adapter what pairs of ranks reach, place by place."""
    believed = [each for each in measurements.results if each.purpose in measurement.NETWORK and each.refused is None]
    lines: list[Line] = []
    for hca in dict.fromkeys(_text(each, "hca") for each in believed):
        own = [each for each in believed if _text(each, "hca") == hca]
        lines += _pairs([each for each in own if each.purpose == "network-pair"], width)
        lines += _parts([each for each in own if each.purpose in _PURPOSES], width)
    return lines


def _text(result: Result, name: str) -> str:
    return plain(measurement.reported_text(result, name), 80)


def _by_place(results: Iterable[Result]) -> list[Found]:
    places: dict[str, Found] = defaultdict(dict)
    for each in results:
        places[each.task][each.variant, each.bytes or 0] = each
    return list(places.values())


def _about(results: Sequence[Result]) -> str:
    first = results[0]
    hosts = _text(first, "hosts_named").split(",")
    inside = not measurement.reported_or_zero(first, "across")
    where = f"inside {hosts[0]}, shared memory" if inside else " and ".join(hosts)
    words = [where, _text(first, "launcher"), _adapter(first) or ("" if inside else "no adapter chosen"), _limit(results)]
    repeats = f"median of {len(first.values)} repeats"
    return ", ".join(word for word in (*words, repeats) if word)


def _adapter(result: Result) -> str:
    """Return the adapter, and what is known of the way there where nobody asked for it."""
    way = _text(result, "way")
    return _text(result, "hca") + (f" (the way there {way})" if way else "")


def _limit(results: Sequence[Result]) -> str:
    found = next((each for each in results if each.ceiling is not None), None)
    if found is None:
        return ""
    one_way = (found.ceiling or 0.0) / (2 if found.variant == "bibw" else 1)
    return f"line: {amount(one_way, 'bytes/s')} one way ({_text(found, 'line')})"


def _mark(result: Result) -> str:
    """Return where the adapter is as seen from a place."""
    hca = _text(result, "hca")
    where = _text(result, "hca_distance")
    return f"{hca} {_AWAY.get(where, '')}".strip() if hca and where else ""


# ---- one rank on each host ----


def _pairs(results: Sequence[Result], width: int) -> list[Line]:
    if not results:
        return []
    places = _by_place(results)
    small = min(each.bytes or 0 for each in results)
    head = ("part", "adapter", f"us, {_size(small)}", "GB/s one way", "both ways", "at", "of line", "spread")
    rows = [_pair(found, small) for found in places]
    return [*heading("Two ranks", _about(results), width), *_told(head, rows, width), *_compared(places, small, width)]


def _pair(found: Found, small: int) -> list[Cell]:
    latency, one, both = found.get(("latency", small)), _best(found, "mbw_mr"), _best(found, "bibw")
    some = next(iter(found.values()))
    return [
        part_name(some.part, some.index),
        _mark(some),
        f"{latency.median / _MICRO:.2f}" if latency else "",
        number(one.median, "bytes/s") if one else "",
        number(both.median, "bytes/s") if both else "",
        _size(one.bytes or 0) if one else "",
        _share(one),
        percent(max(each.spread for each in (latency, one, both) if each)),
    ]


def _compared(places: Sequence[Found], small: int, width: int) -> list[Line]:
    """Return what distance from the adapter costs two ranks."""
    known = {_text(next(iter(found.values())), "hca_distance"): found for found in places}
    near, far = known.pop("local", None), next((known[way] for way in ("other-socket", "same-socket") if way in known), None)
    if near is None or far is None:
        return []
    a, b = near.get(("latency", small)), far.get(("latency", small))
    if a is None or b is None:
        return []
    more = b.median / a.median - 1
    return wrapped([(f"Far from the adapter latency is {percent(more)} {'longer' if more >= 0 else 'shorter'}.", "")], width)


# ---- all cores of a part ----


def _parts(results: Sequence[Result], width: int) -> list[Line]:
    if not results:
        return []
    places = _by_place(results)
    small = min(each.bytes or 0 for each in results)
    near = _nearest(places)
    head = ("part", "adapter", "pairs", f"M msg/s, {_size(small)}", "GB/s", "at", "of line", "against near", "spread")
    rows = [_part(found, small, near) for found in places]
    return [*heading("Many pairs", _about(results), width), *_told(head, rows, width), *_summary(places, near, width)]


def _nearest(places: Sequence[Found]) -> float | None:
    """Return the bandwidth of the adapter's own NUMA node; of several the best."""
    found = [_best(place, "mbw_mr") for place in places if _is_node(place) and _near(place)]
    return max((each.median for each in found if each), default=None)


def _is_node(found: Found) -> bool:
    some = next(iter(found.values()))
    return some.part == "numa" and some.purpose == "network"


def _near(found: Found) -> bool:
    return _text(next(iter(found.values())), "hca_distance") == "local"


def _part(found: Found, small: int, near: float | None) -> list[Cell]:
    some, best, rate = next(iter(found.values())), _best(found, "mbw_mr"), found.get(("mbw_mr", small))
    name = part_name(some.part, some.index)
    few = ", 2 a node" if some.purpose == "network-few" else ""
    loss = best.median / near - 1 if best and near else None
    lost = _is_node(found) and loss is not None and not _near(found)
    mark = _mark(some)
    return [
        (f"{name}{few}", "title" if _is_node(found) and _near(found) else ""),
        (mark, "good" if mark.endswith("here") else "dim"),
        f"{measurement.reported_or_zero(some, 'pairs'):.0f}",
        figure(measurement.reported_or_zero(rate, "messages") / 1e6) if rate else "",
        number(best.median, "bytes/s") if best else "",
        _size(best.bytes or 0) if best else "",
        _share(best),
        (f"{100 * loss:+.0f} %", "warn" if loss < -_LOSES else "") if lost and loss is not None else "",
        percent(best.spread) if best else "",
    ]


def _summary(places: Sequence[Found], near: float | None, width: int) -> list[Line]:
    """Return what the place of the ranks costs, as the median of the nodes of the other socket."""
    far = [_best(found, "mbw_mr") for found in places if _is_node(found) and _distance(found) == "other-socket"]
    rates = sorted(each.median for each in far if each)
    if near is None or not rates:
        return []
    loss = 1 - rates[len(rates) // 2] / near
    if abs(loss) < _LITTLE:
        return wrapped([("On the other socket messages are as fast as beside the adapter.", "good")], width)
    words = f"On the other socket {percent(abs(loss))} of the bandwidth is {'lost' if loss > 0 else 'gained'}"
    return wrapped([(f"{words}: {number(rates[len(rates) // 2], 'bytes/s')} of {amount(near, 'bytes/s')}.", "")], width)


def _distance(found: Found) -> str:
    return _text(next(iter(found.values())), "hca_distance")


# ---- cells ----


def _best(found: Mapping[tuple[str, int], Result], variant: str) -> Result | None:
    some = [each for (name, _), each in found.items() if name == variant]
    return max(some, key=lambda each: each.median, default=None)


def _share(result: Result | None) -> str:
    return percent(result.median / result.ceiling) if result and result.ceiling else ""


def _size(size: int) -> str:
    return binary(size) if size >= 1024 else f"{size} B"


def _told(head: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    """Return a table without the columns in which nothing stands."""
    kept = [at for at in range(len(head)) if any(_words(row[at]) for row in rows)]
    right = "".join("l" if head[at] in ("part", "adapter") else "r" for at in kept)
    return table([head[at] for at in kept], [[row[at] for at in kept] for row in rows], width, right)


def _words(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0] if isinstance(cell, tuple) else "bar"


Verdict = list[tuple[str, str]]
"""Sentences, each with its style."""

_NEAR: Final = 0.9
"""What is within a tenth of a publication is not below it: rule measured-below-published."""
_MOST: Final = 0.95
_DOUBLE: Final = 2.0
_VERDICTS_AWAY: Final[tuple[Distance, ...]] = ("same-socket", "other-socket")
_OWN: Final = (None, "local", "spread")
ANOTHER: Final = "What is published for this machine is not looked up: the file is of another one, which --from would name."


class Seen(NamedTuple):
    """What verdicts are made from; facts are None of a machine that is not at hand."""

    measurements: Measurements
    facts: MeasuredFacts | None
    levels: Mapping[str, int]


def judged(lines: list[Line], verdict: Callable[[Seen], Verdict], seen: Seen, width: int) -> list[Line]:
    """Return a table with its verdict below it; nothing where there is no table."""
    said = verdict(seen) if lines else []
    return [*lines, *(line for words, style in said for line in wrapped([("  = ", "label"), (words, style)], width, indent=4))]


def beside(shown: str, value: float, one: Compared, write: Callable[[float], str], *, less: bool = False) -> tuple[str, str]:
    """Return a value beside a published one: what share that is, under which conditions, and whether it is as published."""
    low, high = one.low or one.high or value, one.high or one.low or value
    span = write(low) if low == high else f"{write(low).partition(' ')[0]} to {write(high)}"
    worse = value > high / _NEAR if less else value < _NEAR * low
    said = f"{shown}: {percent(value / (high if less else low))} of the {span} published [{one.ref}]"
    under = f" for {plain(one.conditions, 120)}" if one.conditions else ""
    return f"{said}{under}, {'worse than' if worse else 'as'} published", "warn" if worse else "good"


def _fact(found: Sequence[Compared], write: Callable[[float], str], *, less: bool = False) -> Verdict:
    known = [one for one in found if one.low or one.high]
    return [beside(f"{plain(one.name, 80)} {write(one.value)}", one.value, one, write, less=less) for one in known[:3]]


def _verdicts_near(seen: Seen, *purposes: Purpose) -> list[Result]:
    return [each for each in sound(seen.measurements, *purposes, unit="bytes/s") if each.distance in _OWN]


def parts(seen: Seen) -> Verdict:
    """Say how bandwidth stands to what is published, or to what the DIMMs can carry; and which part lags behind its like."""
    found = list(sound(seen.measurements, "part", "half", "sparse", unit="bytes/s"))
    shown = [each for each in found if each.variant == headline(found) and each.distance in _OWN]
    told = _fact(seen.facts.published, throughput) if seen.facts else []
    return [*(told or _placed(seen, "triad", "load") or _ceiling(shown, seen)), *_behind(shown)]


def _placed(seen: Seen, *metrics: str) -> Verdict:
    """Say where the machine's figure stands among those published under conditions that are other ones, or not known here."""
    found = [place for metric in metrics for place in (seen.facts.places if seen.facts else ()) if place.metric == metric]
    return [("; ".join(filter(None, (f"{place.name} {place.says}", place.of_ceiling))), _style(place)) for place in found[:1]]


def _style(place: Place) -> str:
    return "warn" if place.metric != "latency" and place.low is not None and place.value < _NEAR * place.low else ""


def _ceiling(shown: Sequence[Result], seen: Seen) -> Verdict:
    own = [row for row in part_groups(shown) if row.share is not None]
    if own:
        row = own[-1]
        what = f"{row.name} {amount(row.value, 'bytes/s')}: {percent(row.share or 0)} of what its DIMMs can carry"
        return [(f"{what}{f'; {UNPUBLISHED}' if seen.facts else ''}", "")]
    return [(f"{UNPUBLISHED}, and its DIMMs are not known: no share can be computed", "unknown")] if seen.facts else []


def _behind(shown: Sequence[Result]) -> Verdict:
    """Say which part is slower than its like by more than a tenth."""
    for row in part_groups(shown):
        low = min(row.results, key=lambda each: each.median)
        if len(row.results) > 2 and low.median < _NEAR * row.value:
            less = f"{percent(1 - low.median / row.value)} less than its like"
            return [(f"{part_name(low.part, low.index)} reaches {amount(low.median, 'bytes/s')}, {less}", "warn")]
    return []


_SAVED: Final = 1 / 3
"""A triad moves three arrays, and a fourth time what it writes, unless the stores go past the cache."""
_ERROR: Final = 0.05


def patterns(seen: Seen) -> Verdict:
    """Say of the largest part what stores past the cache bring, or which pattern is the fastest."""
    rows = part_groups(_verdicts_near(seen, "part"))
    largest = {row.variant: row for row in rows if row.part == rows[-1].part}
    return [*_stores(largest), *roofline.one_core(seen.measurements)] if largest else []


def _stores(largest: Mapping[str, PartGroup]) -> Verdict:
    usual, past = largest.get("triad"), largest.get("triad-nt")
    if usual is None or past is None:
        best = max(largest.values(), key=lambda row: row.value)
        return [(f"{best.name}: {best.variant} is the fastest, {throughput(best.value)}", "")]
    more = past.value / usual.value - 1
    share = f"{percent(abs(more))} {'more' if more >= 0 else 'less'}"
    if more > _SAVED + max(usual.spread or 0.0, past.spread or 0.0, _ERROR):
        return [(f"{past.name}: stores past the cache give triad {share}, and save a third at most: measure again, idle", "warn")]
    return [(f"{past.name}: stores past the cache give triad {share}; the read that they save is worth 33 % at most", "")]


def sparse(seen: Seen) -> Verdict:
    """Say of the largest part whether one core of each L3 group is enough for memory."""
    known = {(row.part, row.variant, row.purpose): row.value for row in part_groups(_verdicts_near(seen, "part", "sparse"))}
    pairs = [(few, known[part, variant, "part"]) for (part, variant, why), few in known.items()
             if why == "sparse" and variant in HEADLINE and (part, variant, "part") in known]  # fmt: skip
    if not pairs:
        return []
    share = pairs[-1][0] / pairs[-1][1]
    said = "ranks that wait for memory need no more cores" if share >= _MOST else "memory wants more cores than these"
    return [(f"one core of each L3 group reaches {percent(share)} of what all reach: {said}", "")]


def threads(seen: Seen) -> Verdict:
    """Say with how many threads bandwidth is nearly all there is."""
    curves = scaling(seen.measurements)
    if not curves:
        return []
    curve = curves[-1]
    most = max(rate for _, rate in curve.points)
    enough, rate = next(point for point in curve.points if point[1] >= _NEAR * most)
    last = int(curve.points[-1][0])
    return [(f"{curve.name}: {int(enough)} of {last} threads reach {percent(rate / most)} of the most, {throughput(most)}", "")]


def nodes(seen: Seen) -> Verdict:
    """Say what bandwidth far memory has against local memory, beside the publication."""
    ways = [each for each in (seen.facts.remote or ()) if each.bandwidth] if seen.facts else []
    return [_way(each) for each in ways] or _far(seen, "bytes/s")


def _way(way: Way) -> tuple[str, str]:
    share = way.bandwidth or 0.0
    text = f"{way.distance.replace('-', ' ')}: {percent(share)} of the bandwidth of local memory"
    if way.published is None:
        return f"{text}; {UNPUBLISHED}", ""
    worse = share < _NEAR * way.published
    verdict = f"{percent(way.published)} published [{way.ref}], {'worse than' if worse else 'as'} published"
    return f"{text}; {verdict}", "warn" if worse else "good"


def node_latency(seen: Seen) -> Verdict:
    """Say what latency far memory has against local memory, and how the latter stands to publications."""
    return [*_far(seen, "seconds"), *(_fact(seen.facts.published_latency, duration, less=True) if seen.facts else [])]


def _far(seen: Seen, unit: Unit) -> Verdict:
    """Compare the memory of other nodes with the nodes' own, distance by distance."""
    results = [each for matrix in matrices(seen.measurements, unit)[:1] for each in matrix.results]
    near = [each.median for each in results if each.distance == "local"]
    far = {away: found for away in _VERDICTS_AWAY if (found := [r.median for r in results if r.distance == away])}
    if not (near and far):
        return [("all memory is equally near", "")]
    ratios = {distance(away): median(found) / median(near) for away, found in far.items()}
    if unit == "seconds":
        words = [f"{away} {ratio:.1f} times" for away, ratio in ratios.items()]
        return [(f"against the latency of local memory, {amount(median(near), unit)}: {', '.join(words)}", "")]
    words = [f"{away} {percent(ratio)}" for away, ratio in ratios.items()]
    return [(f"against the bandwidth of local memory, {amount(median(near), unit)}: {', '.join(words)}", "")]


def memory_latency(seen: Seen) -> Verdict:
    """Say how latency of memory stands to what is published."""
    if seen.facts is None:
        return []
    return _fact(seen.facts.published_latency, duration, less=True) or _placed(seen, "latency") or [(UNPUBLISHED, "unknown")]


def working_set(seen: Seen) -> Verdict:
    """Say whether latency rises where the caches end, as far as these are known, and how memory stands to the publication."""
    curves = ladder(seen.measurements)
    if not curves:
        return []
    points, said = curves[0].points, []
    for name, size in sorted(seen.levels.items(), key=lambda level: level[1]):
        inside = [time for at, time in points if at <= size / _DOUBLE]
        outside = [time for at, time in points if at >= _DOUBLE * size]
        if inside and outside:
            said.append(f"{name} ends {'at' if min(outside) > 1.2 * inside[-1] else 'NOT at'} {binary(size)}")
    last = f"memory {duration(points[-1][1])}"
    steps = f"latency steps where firmware says that caches end: {', '.join(said)}; {last}" if said else last
    return [(steps, "warn" if any("NOT" in each for each in said) else ""), *(memory_latency(seen) if seen.facts else [])]


def load(seen: Seen) -> Verdict:
    """Say at how much traffic of others latency doubles."""
    said: Verdict = []
    for curve in loaded(seen.measurements):
        idle = curve.points[0][1]
        double = next((rate for rate, time in curve.points if time >= _DOUBLE * idle), None)
        most = max(rate for rate, _ in curve.points)
        where = f"twice the idle {duration(idle)} at {throughput(double)}" if double else f"below twice the idle {duration(idle)}"
        said.append((f"latency is {where}; the others reached {throughput(most)}", ""))
    return said


def cores(seen: Seen) -> Verdict:
    """Say whether round trips show the caches that firmware reports."""
    found = seen.facts.caches if seen.facts else None
    if found is None or found.agrees is None:
        return [("round trips do not tell near cores from far ones", "unknown")] if seen.facts else []
    times = f" ({duration(found.near)} inside, {duration(found.far)} between)" if found.near and found.far else ""
    if found.agrees and not found.far:
        return [("there is no second L3 group to tell from the first", "")]
    if found.agrees:
        return [(f"the L3 groups that firmware reports are those that round trips show{times}", "good")]
    return [(f"round trips contradict the L3 groups that firmware reports: {plain(found.example or '', 120)}", "warn")]


def floating_point(seen: Seen) -> Verdict:
    """Say how floating point stands to what so many cores can do at the clock that was measured."""
    own = seen.facts.flops if seen.facts else None
    if own is None or not own.share or not own.peak:
        why = "the peak of these cores cannot be computed: operations per cycle or the clock are not known"
        return [(why, "unknown")] if seen.facts else []
    clock = f" at {own.clock / 1e9:.3g} GHz" if own.clock else ""
    worse = own.share < _NEAR
    said = f"{flop_rate(own.rate)}: {percent(own.share)} of the {flop_rate(own.peak)} computed for {own.cores} cores{clock}"
    return [(said, "warn" if worse else "good")]


def clocks(seen: Seen) -> Verdict:
    """Say how the clock under load stands to the base clock."""
    known = [each for each in (seen.facts.clocks or ()) if each.share] if seen.facts else []
    if not known:
        return [("the base clock is not known", "unknown")] if seen.facts else []
    return [_clock(each.isa, each.hertz, each.share or 0.0, each.nominal or 0.0) for each in known]


def _clock(isa: str, hertz: float, share: float, base: float) -> tuple[str, str]:
    said = f"{isa}: {hertz / 1e9:.3g} GHz with all cores at work, {percent(share)} of the base clock of {base / 1e9:.3g} GHz"
    return said, "warn" if share < _MOST else "good"


def hpl(seen: Seen) -> Verdict:
    """Say how HPL stands to publications, or else to the peak under load."""
    if seen.facts is None:
        return []
    own = seen.facts.hpl
    return _fact(seen.facts.published_hpl, flop_rate) or (
        [*([(_bound(own), "")] if own else []), *_placed(seen, "hpl")] if own else []
    )


def _bound(run: Linpack) -> str:
    if run.of_load:
        return f"{flop_rate(run.rate)}: {percent(run.of_load)} of the peak under load"
    return f"{flop_rate(run.rate)}: {percent(run.of_base)} of the peak at base clock" if run.of_base else flop_rate(run.rate)


def messages(seen: Seen) -> Verdict:
    """Say how messages stand to publications and to the line of their adapter."""
    if seen.facts is None:
        return []
    told = [*_fact(seen.facts.published_network, throughput), *_fact(seen.facts.published_network_latency, duration, less=True)]
    return [*(_line(each) for each in seen.facts.adapters if each.bandwidth), *(told or [(UNPUBLISHED, "")])]


def _line(adapter: MeasuredAdapter) -> tuple[str, str]:
    name, rate = plain(adapter.name, 40), throughput(adapter.bandwidth or 0.0)
    if not adapter.share:
        return f"{name} {rate} one way; the rate of its line is not known", "unknown"
    said = f"{name} {rate} one way: {percent(adapter.share)} of {plain(adapter.limit or 'its line', 60)}"
    return said, "good" if adapter.share >= _NEAR else "warn"


def own_spread(seen: Seen) -> Verdict:
    """Say that nobody has published anything of a kernel of one's own, and what its spread means."""
    spread = max((each.spread for each in sound(seen.measurements, "kernel")), default=0.0)
    return [(f"{UNPUBLISHED}; compare runs with advisor measure show --before OLD NEW (repeats differ by {percent(spread)})", "")]


def all_of(tables: Iterable[tuple[list[Line], Callable[[Seen], Verdict]]], seen: Seen, width: int) -> list[Line]:
    """Return tables, each with its verdict."""
    return [line for lines, verdict in tables for line in judged(lines, verdict, seen, width)]


_MOST_REFUSED, _MOST_TASKS = 12, 3
"""So many results and so many tasks of one reason are named; the file has all."""


def conditions(measurements: Measurements, width: int) -> list[Line]:
    """Return the machine, the time, whether it was idle, and how the kernels were built."""
    told, kinds = measurements.conditions, {result.page_kind for result in measurements.results if result.page_kind}
    when = plain(told.when, 120)
    took = f"measured {when}, {duration(told.seconds)}, advisor {plain(measurements.advisor, 20)}" if told.started else when
    lines = wrapped(
        [(plain(measurements.machine.name or "Machine", 80), "title"), (f"  {_machine(measurements.machine)}", "")], width
    )
    lines += wrapped([(took, "")], width)
    if not told.started:
        return lines
    lines += _idle(told, width)
    return lines + wrapped([(_built(told, kinds), "dim")], width)


def _machine(machine: Identity) -> str:
    parts = [plain(machine.cpu, 80) if machine.cpu else "processor not known"]
    parts += [count(machine.cpus, "CPU")] if machine.cpus else []
    parts += [count(len(machine.nodes), "NUMA node")] if machine.nodes else []
    return ", ".join(parts)


def _idle(told: Conditions, width: int) -> list[Line]:
    if told.idle:
        return wrapped([("The machine was idle.", "good")], width)
    if told.idle is None:
        return wrapped([("Whether the hosts were idle was not checked.", "unknown")], width)
    why = f": {'; '.join(plain(each) for each in told.busy)}" if told.busy else ""
    return wrapped([(f"! The machine was BUSY, the results are disturbed{why}", "warn")], width)


def _built(told: Conditions, kinds: Iterable[str]) -> str:
    built = " ".join(plain(each) for each in (told.compiler, told.flags) if each) if told.compiler else "kernels built elsewhere"
    got = " and ".join(sorted(plain(kind, 20) for kind in kinds))
    parts = [
        built,
        f"governor {plain(told.governor, 80)}" if told.governor else "",
        f"transparent hugepages {plain(told.hugepages, 40)}" if told.hugepages else "",
        f"memory came in {got} pages" if got else "",
    ]
    return "; ".join(part for part in parts if part)


def rejected(measurements: Measurements, width: int) -> list[Line]:
    """Return what is rejected, with the reason."""
    found = [result for result in measurements.results if result.refused is not None]
    if not found:
        return []
    lines = heading("Not believed", f"{count(len(found), 'result')}, in no table above", width)
    for result in found[:_MOST_REFUSED]:
        why = f"  {plain(result.refused or '')}"
        lines += wrapped([("x ", "warn"), rejected_span(_result(result)), (why, "warn")], width, indent=4)
    return lines + _more(len(found) - _MOST_REFUSED, "result", width)


def _result(result: Result) -> str:
    away = distance(result.distance)
    where = part_name(result.part, result.index)
    cpus = f" {numbered(result.cpus)}" if result.part == "pair" else ""
    what = f"{plain(result.kernel)} {plain(result.variant, 40)}, {where}{cpus}{', ' if away else ''}{away}"
    return f"{what}: {amount(result.median, result.unit)}"


def missing(measurements: Measurements, width: int) -> list[Line]:
    """Return what could not be measured, by the reason."""
    if not measurements.missing:
        return []
    reasons: dict[str, list[Missing]] = defaultdict(list)
    for each in measurements.missing:
        reasons[each.why].append(each)
    lines = heading("Missing", count(len(measurements.missing), "task"), width)
    for why, tasks in reasons.items():
        lines += wrapped([("? ", "unknown"), (f"{plain(why)}: ", ""), (_named(tasks), "dim")], width, indent=4)
    return lines


def _named(tasks: Sequence[Missing]) -> str:
    names = ", ".join(plain(each.task, 80) for each in tasks[:_MOST_TASKS])
    return names + (f" and {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else "")


def _more(number: int, what: str, width: int) -> list[Line]:
    return wrapped([(f"  and {count(number, what)} more: --json has all", "dim")], width) if number > 0 else []


def measured_page(
    measurements: Measurements,
    width: int | None = None,
    *,
    machine: Machine | None = None,
    levels: Mapping[str, int] | None = None,
    facts: MeasuredFacts | None = None,
    intensity: float | None = None,
) -> RenderableType:
    """Return everything that was measured; the machine adds where its caches end and which cores share what.

    ``levels`` are the bytes of caches by name, where the caller knows more of them than the machine tells; ``facts`` have
    what is published for such a machine; ``intensity`` is that of a code in the roofline.
    """
    seen = Seen(measurements, facts, {**caches(machine), **(levels or {})})
    return MeasuredPage(lambda room: _lines(seen, machine, intensity, room), width)


def _lines(seen: Seen, machine: Machine | None, intensity: float | None, width: int) -> list[Line]:
    measurements, tables = seen.measurements, _tables(seen, machine, intensity, width)
    nothing: list[Line] = [(), (("Nothing was measured.", "warn"),)]
    if tables and seen.facts is None:
        tables += [(), *wrapped([(ANOTHER, "dim")], width)]
    return [*conditions(measurements, width), *(tables or nothing), *rejected(measurements, width), *missing(measurements, width)]


def measured_lines(
    measurements: Measurements, machine: Machine | None, width: int, facts: MeasuredFacts | None = None
) -> list[Line]:
    """Return the tables of what was measured, what is rejected and what is missing, without the conditions."""
    seen = Seen(measurements, facts, caches(machine))
    return [*_tables(seen, machine, None, width), *rejected(measurements, width), *missing(measurements, width)]


def _tables(seen: Seen, machine: Machine | None, intensity: float | None, width: int) -> list[Line]:
    measurements = seen.measurements
    return [
        *all_of(
            (
                (bandwidth.parts(measurements, width), parts),
                (bandwidth.sparse(measurements, width), sparse),
                (bandwidth.patterns(measurements, width), patterns),
                (bandwidth.threads(measurements, width), threads),
                (latency.numa(measurements, "bytes/s", width), nodes),
                (latency.numa(measurements, "seconds", width), node_latency),
                (latency.by_part(measurements, width), memory_latency),
                (latency.by_working_set(measurements, seen.levels, width), working_set),
                (latency.under_load(measurements, width), load),
                (latency.cores(measurements, machine, width), cores),
                (flops.flops(measurements, width), floating_point),
                (flops.clocks(measurements, width), clocks),
            ),
            seen,
            width,
        ),
        *roofline.roofs(measurements, intensity, width),
        *_added(seen, width),
        *judged(own_kernels(measurements, width), own_spread, seen, width),
    ]


def _added(seen: Seen, width: int) -> list[Line]:
    """Return the tables of HPL and of messages between hosts."""
    found = seen.measurements
    both = ((flops.hpl_tables(found, width), hpl), (tables(found, width), messages))
    return all_of(both, seen, width)


_ADDED: Final[tuple[Purpose, ...]] = (*NETWORK, "hpl")


def hpl_and_network(measurements: Measurements, width: int, facts: MeasuredFacts | None = None) -> list[Line]:
    """Return those tables, and what of them is not believed or is missing; nothing where neither was measured."""
    found = measurements.model_copy(
        update={
            "results": tuple(each for each in measurements.results if each.purpose in _ADDED),
            "missing": tuple(each for each in measurements.missing if _purpose(each) in _ADDED),
        }
    )
    return [*_added(Seen(found, facts, {}), width), *rejected(found, width), *missing(found, width)]


def _purpose(missing: Missing) -> str:
    """Return why a task was to run: the second word of its name."""
    return [*missing.task.split("/"), ""][1]
