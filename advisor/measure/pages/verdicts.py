"""The last line of each table: what was measured beside what is published for such machines, or what can be computed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

from advisor.machine.units import binary, duration, flop_rate, plain, throughput
from advisor.measure.measured_facts import UNPUBLISHED, Compared, Linpack, MeasuredAdapter, MeasuredFacts, Place, Way
from advisor.measure.measurement import Distance, Measurements, Purpose, Result, Unit
from advisor.measure.pages import roofline
from advisor.measure.pages.bandwidth import PartGroup, part_groups
from advisor.measure.pages.figures import amount, distance, part_name, percent
from advisor.measure.pages.series import HEADLINE, headline, ladder, loaded, matrices, scaling, sound
from advisor.show.lines import Line, wrapped

Verdict = list[tuple[str, str]]
"""Sentences, each with its style."""

_NEAR: Final = 0.9
"""What is within a tenth of a publication is not below it: rule measured-below-published."""
_MOST: Final = 0.95
_DOUBLE: Final = 2.0
_AWAY: Final[tuple[Distance, ...]] = ("same-socket", "other-socket")
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


def _near(seen: Seen, *purposes: Purpose) -> list[Result]:
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
    rows = part_groups(_near(seen, "part"))
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
    known = {(row.part, row.variant, row.purpose): row.value for row in part_groups(_near(seen, "part", "sparse"))}
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
    far = {away: found for away in _AWAY if (found := [r.median for r in results if r.distance == away])}
    if not (near and far):
        return [("all memory is equally near", "")]
    ratios = {distance(away): median(found) / median(near) for away, found in far.items()}
    if unit == "seconds":
        words = [f"{away} {ratio:.1f} times" for away, ratio in ratios.items()]
        return [(f"against the latency of local memory, {amount(median(near), unit)}: {', '.join(words)}", "")]
    words = [f"{away} {percent(ratio)}" for away, ratio in ratios.items()]
    return [(f"against the bandwidth of local memory, {amount(median(near), unit)}: {', '.join(words)}", "")]


def latency(seen: Seen) -> Verdict:
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
    return [(steps, "warn" if any("NOT" in each for each in said) else ""), *(latency(seen) if seen.facts else [])]


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


def flops(seen: Seen) -> Verdict:
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


def own_kernels(seen: Seen) -> Verdict:
    """Say that nobody has published anything of a kernel of one's own, and what its spread means."""
    spread = max((each.spread for each in sound(seen.measurements, "kernel")), default=0.0)
    return [(f"{UNPUBLISHED}; compare runs with advisor measure show --before OLD NEW (repeats differ by {percent(spread)})", "")]


def all_of(tables: Iterable[tuple[list[Line], Callable[[Seen], Verdict]]], seen: Seen, width: int) -> list[Line]:
    """Return tables, each with its verdict."""
    return [line for lines, verdict in tables for line in judged(lines, verdict, seen, width)]
