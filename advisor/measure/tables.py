"""Measurements of one machine in tables, each with what it means below it: bandwidth, latency, floating point, own kernels."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from statistics import median
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, duration, flop_rate, plain, throughput
from advisor.measure.figures import (
    HEADLINE,
    OWN,
    PARTS,
    Alike,
    Bar,
    Cell,
    Pair,
    alike,
    amount,
    distance,
    ends,
    figure,
    heading,
    headline,
    heat,
    how,
    isa,
    kind,
    ladder,
    loaded,
    matrices,
    nodes,
    number,
    part_name,
    parts_name,
    percent,
    roofline,
    round_trips,
    scaling,
    sound,
    table,
    title,
    unit_name,
    verdict_lines,
)
from advisor.measure.measured_facts import UNPUBLISHED, Compared, MeasuredFacts
from advisor.measure.measurement import Distance, Measurements, Part, Result, Unit, reported_text
from advisor.show.lines import Line, Span, cut, listed, width_of, wrapped

NEAR = 0.9
"""What is within a tenth of a publication is not below it: rule measured-below-published."""
_MOST = 0.95
_DOUBLE = 2.0


class Seen(NamedTuple):
    """What tables and verdicts are made from; facts are None of a machine that is not at hand."""

    measurements: Measurements
    facts: MeasuredFacts | None
    width: int
    levels: Mapping[str, int] = {}
    machine: Machine | None = None
    intensity: float | None = None


def section(
    seen: Seen,
    name: str,
    about: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    right: str = "",
    verdict: Iterable[Span] = (),
    short: int = 0,
    sparse: bool = False,
) -> list[Line]:
    """Return a table with its head above it, and with its verdict below."""
    drawn = table(head, rows, seen.width, right, short=short, sparse=sparse)
    return [*heading(name, about, seen.width), *drawn, *verdict_lines(verdict, seen.width)]


# ---- beside what is published ----


def beside(shown: str, value: float, one: Compared, write: Callable[[float], str], *, less: bool = False) -> Span:
    """Return a value beside a published one: what share that is, under which conditions, and whether it is as published."""
    low, high = one.low or one.high or value, one.high or one.low or value
    span = write(low) if low == high else f"{write(low).partition(' ')[0]} to {write(high)}"
    worse = value > high / NEAR if less else value < NEAR * low
    said = f"{shown}: {percent(value / (high if less else low))} of the {span} published [{one.ref}]"
    under = f" for {plain(one.conditions, 120)}" if one.conditions else ""
    return f"{said}{under}, {'worse than' if worse else 'as'} published", "warn" if worse else "good"


def beside_published(found: Iterable[Compared], write: Callable[[float], str], *, less: bool = False) -> list[Span]:
    """Return the first values that have a published one, beside it."""
    known = [one for one in found if one.low or one.high]
    return [beside(f"{plain(one.name, 80)} {write(one.value)}", one.value, one, write, less=less) for one in known[:3]]


def among_published(seen: Seen, *metrics: str) -> list[Span]:
    """Say where the machine's figure stands among those published under conditions that are other ones, or not known here."""
    found = (place for metric in metrics for place in (seen.facts.places if seen.facts else ()) if place.metric == metric)
    place = next(found, None)
    if place is None:
        return []
    below = place.metric != "latency" and place.low is not None and place.value < NEAR * place.low
    return [("; ".join(filter(None, (f"{place.name} {place.says}", place.of_ceiling))), "warn" if below else "")]


# ---- bandwidth ----

_MOST_THREADS = 20
"""Rows of the table of threads; a chart has all."""


def parts(seen: Seen) -> list[Line]:
    """Return the headline pattern part by part, beside publications or what the DIMMs can carry, and who lags behind."""
    found = list(sound(seen.measurements, "part", "half", "sparse", unit="bytes/s"))
    variant = headline(found)
    shown = [result for result in found if result.variant == variant]
    if not shown:
        return []
    rows = alike(shown)
    most, wide = max(row.value for row in rows), seen.width >= 110
    head = ["part", "memory", "cores", "GB/s", "", "spread"]
    body: list[list[Cell]] = [
        [*row.label, (number(row.value, "bytes/s"), "title"), Bar(row.value / most), row.apart] for row in rows
    ]
    if any(row.share is not None for row in rows):
        head.append("of ceiling")
        for row, cells in zip(rows, body, strict=True):
            cells.append("-" if row.share is None else percent(row.share))
    extents = any(row.extent for row in rows)
    if wide and extents:
        head.append("lowest to highest")
        for row, cells in zip(rows, body, strict=True):
            cells.append((row.extent, "dim"))
    lines = section(seen, "Memory bandwidth", f"{variant}, {how(shown)}", head, body, right="lllrlrrl")
    if extents and not wide:  # where the table has no room for it
        told = [(*row.label, (row.extent, "dim")) for row in rows if row.extent]
        lines += table(("lowest to highest", "", "", "GB/s"), told, seen.width)
    near = alike(each for each in shown if each.distance in OWN)
    verdict = beside_published(seen.facts.published, throughput) if seen.facts else []
    verdict = verdict or among_published(seen, "triad", "load") or _ceiling(near, seen)
    return lines + verdict_lines([*verdict, *_behind(near)], seen.width)


def _ceiling(rows: Sequence[Alike], seen: Seen) -> list[Span]:
    own = [row for row in rows if row.share is not None]
    if own:
        what = f"{own[-1].name} {amount(own[-1].value, 'bytes/s')}: {percent(own[-1].share or 0)} of what its DIMMs can deliver"
        return [(f"{what}{f'; {UNPUBLISHED}' if seen.facts else ''}", "")]
    return [(f"{UNPUBLISHED}; its DIMMs, and therefore its ceiling, are unknown", "unknown")] if seen.facts else []


def _behind(rows: Sequence[Alike]) -> list[Span]:
    """Say which part is slower than its like by more than a tenth."""
    for row in rows:
        low = min(row.results, key=lambda each: each.median)
        if len(row.results) > 2 and low.median < NEAR * row.value:
            less = f"{percent(1 - low.median / row.value)} less than its peers"
            return [(f"{part_name(low.part, low.index)} reaches {amount(low.median, 'bytes/s')}, {less}", "warn")]
    return []


_SAVED = 1 / 3
"""A triad moves three arrays, and a fourth time what it writes, unless the stores go past the cache."""
_ERROR = 0.05


def patterns(seen: Seen) -> list[Line]:
    """Return every pattern of every kind of part, where more than the headline was measured."""
    found = list(sound(seen.measurements, "part", "half", "sparse", unit="bytes/s"))
    names = list(dict.fromkeys(result.variant for result in found))
    if len(names) < 2:
        return []
    rows = alike(found)
    values = {(row.label, row.first.variant): number(row.value, "bytes/s") for row in rows}
    labels = list(dict.fromkeys(row.label for row in rows))
    left = sum(max(len(label[at]) for label in labels) + 2 for at in range(3))
    about = f"GB/s, bytes counted as in STREAM, {how(found)}; -nt: non-temporal stores"
    lines = heading("Every pattern", about, seen.width)
    for some in _fitting(names, seen.width - left):
        known = [label for label in labels if any((label, each) in values for each in some)]
        body = [(*label, *(values.get((label, each), "-") for each in some)) for label in known]
        lines += table(("part", "memory", "cores", *some), body, seen.width, "lll" + "r" * len(some))
    near = [row for row in rows if row.first.purpose == "part" and row.first.distance in OWN]
    largest = {row.first.variant: row for row in near if row.first.part == near[-1].first.part}
    return lines + verdict_lines([*_stores(largest), *_one_core(seen.measurements)] if largest else [], seen.width)


def _fitting(names: Sequence[str], room: int) -> Iterator[Sequence[str]]:
    """Yield names of columns in lines, as many in each as fit beside the labels."""
    some: list[str] = []
    for name in names:
        if some and sum(max(5, len(each)) + 2 for each in (*some, name)) > room:
            yield some
            some = []
        some.append(name)
    yield some


def _stores(largest: Mapping[str, Alike]) -> list[Span]:
    """Say what stores past the cache bring, or which pattern is the fastest."""
    usual, past = largest.get("triad"), largest.get("triad-nt")
    if usual is None or past is None:
        best = max(largest.values(), key=lambda row: row.value)
        return [(f"{best.name}: {best.first.variant} is the fastest, {throughput(best.value)}", "")]
    more = past.value / usual.value - 1
    said = f"{past.name}: with non-temporal stores triad is {percent(abs(more))} {'faster' if more >= 0 else 'slower'}"
    if more > _SAVED + max(usual.spread or 0.0, past.spread or 0.0, _ERROR):
        return [(f"{said}, but they save at most a third: measure again when idle", "warn")]
    return [(f"{said}; the read that they avoid is worth at most 33 %", "")]


_EQUAL = 1.05
_MORE = 1.25
"""Several cores that read so many times as much leave no doubt that one alone does not use memory up: its own misses hold it."""


def _one_core(measurements: Measurements) -> list[Span]:
    """Say whether one core reads all that memory gives, or what its own misses in flight let it: bandwidth x latency / line."""
    read = [each for each in sound(measurements, "part", unit="bytes/s") if each.distance in OWN and each.variant[:4] == "load"]
    rows = alike(read)
    one = max((row for row in rows if row.first.part == "core"), key=lambda row: row.value, default=None)
    every = next((row for row in rows if row.first.part != "core" and len(row.first.cpus) > 1), None)
    waits = [each.median for each in sound(measurements, "part", "matrix", unit="seconds") if each.distance in OWN]
    if one is None or every is None or not waits or _EQUAL < every.value / one.value < _MORE:
        return []
    said, times = f"{one.name}: {throughput(one.value)} is", every.value / one.value
    if times <= _EQUAL:
        return [(f"{said} the memory's limit, not the core's", "")]
    flight = f"{one.value * median(waits) / 64:.0f} cache lines of 64 bytes in flight ({duration(median(waits))} each)"
    return [(f"{said} the core's limit, {flight}: {every.name} reads {times:.1f} times as much", "")]


def sparse(seen: Seen) -> list[Line]:
    """Return one core of each L3 group against all cores of the same part and pattern."""

    def same(result: Result) -> tuple[object, ...]:
        return result.part, result.index, result.variant, result.distance, result.memory

    full = {same(result): result for result in sound(seen.measurements, "part", unit="bytes/s")}
    few = list(sound(seen.measurements, "sparse"))
    pairs: dict[tuple[Part, str], list[tuple[Result, Result]]] = defaultdict(list)
    for result in few:
        if same(result) in full:
            pairs[result.part, result.variant].append((result, full[same(result)]))
    if not pairs:
        return []
    rows: list[list[Cell]] = []
    before: Part | None = None
    for part, variant in sorted(pairs, key=lambda key: PARTS.index(key[0])):
        both = pairs[part, variant]
        one, every = both[0]
        gains = sorted(few.median / full.median - 1 for few, full in both)
        low, middle, high = (f"{'-' if gain < 0 else '+'}{percent(abs(gain))}" for gain in (gains[0], median(gains), gains[-1]))
        name = (parts_name([few for few, _ in both]), f"{len(one.cpus)} of {len(every.cpus)}")
        values = (number(median(pair[at].median for pair in both), "bytes/s") for at in (0, 1))
        cells = (*(name if part != before else ("", "")), variant, *values)
        rows.append([*cells, (middle, "title"), (f"{low} to {high}" if low != high else "", "dim")])
        before = part
    about = f"GB/s, {how([few for both in pairs.values() for few, _ in both])}"
    known = {(row.first.part, row.first.variant, row.first.purpose): row.value for row in alike(_near(seen, "part", "sparse"))}
    shares = [value / known[part, variant, "part"] for (part, variant, why), value in known.items()
              if why == "sparse" and variant in HEADLINE and (part, variant, "part") in known]  # fmt: skip
    verdict = []
    if shares:
        means = "memory-bound ranks need no more cores" if shares[-1] >= _MOST else "full memory bandwidth needs more cores"
        verdict = [(f"one core per L3 group reaches {percent(shares[-1])} of all cores' bandwidth: {means}", "")]
    head = ("part", "cores", "pattern", "1 per L3", "all", "gain", "range")
    return section(seen, "One core per L3 group compared with all cores", about, head, rows, right="lllrrrl", verdict=verdict)


def _near(seen: Seen, *purposes: str) -> list[Result]:
    found = sound(seen.measurements, "part", "sparse", unit="bytes/s")
    return [each for each in found if each.purpose in purposes and each.distance in OWN]


def threads(seen: Seen) -> list[Line]:
    """Return bandwidth over threads, a column for each pattern, of many rows a part; and how many threads reach nearly all."""
    curves = scaling(seen.measurements)
    if not curves:
        return []
    values = {(curve.name, x): y for curve in curves for x, y in curve.points}
    shown = sorted({x for curve in curves for x, _ in curve.points})
    if len(shown) > _MOST_THREADS:
        shown = [shown[round(at * (len(shown) - 1) / (_MOST_THREADS - 1))] for at in range(_MOST_THREADS)]
    lines = heading("Thread scaling", f"GB/s, {how([r for curve in curves for r in curve.results])}", seen.width)
    for names in _fitting([curve.name for curve in curves], seen.width - 9):
        cells = [(str(int(x)), *(number(values.get((name, x)), "bytes/s") for name in names)) for x in shown]
        lines += table(("threads", *names), cells, seen.width, "r" * (len(names) + 1))
    curve = curves[-1]
    most = max(rate for _, rate in curve.points)
    enough, rate = next(point for point in curve.points if point[1] >= NEAR * most)
    of = f"{curve.name}: {int(enough)} of {int(curve.points[-1][0])} threads"
    return lines + verdict_lines([(f"{of} reach {percent(rate / most)} of the maximum, {throughput(most)}", "")], seen.width)


# ---- latency, and matrices of NUMA nodes and of cores ----

_MOST_STEPS = 26
"""Rows of the ladder; of more sizes those that are powers of two stand there."""
_MOST_CPUS = 16
"""Up to so many CPUs a round trip stands in a square; of more it is summarised."""
_AIRY = 8
"""Up to so many columns a square has a blank on both sides."""
_STEP = 1.3
"""Round trips that lie further apart than this are of different kinds: inside an L3 and outside it they differ by more."""


def numa(seen: Seen, unit: Unit) -> list[Line]:
    """Return bandwidth or latency between NUMA nodes, and what far memory has against local memory."""
    drawn: list[Line] = []
    every = matrices(seen.measurements, unit)
    for matrix in every:
        better = "lower" if unit == "seconds" else "higher"
        about = f"{unit_name(unit)}, {matrix.variant}, {how(matrix.results)}; {better} is better"
        name = "Latency from node to node" if unit == "seconds" else "Bandwidth from node to node"
        written = {pair: number(value, unit) for pair, value in matrix.values.items()}
        squares = _squares((matrix.rows, matrix.columns), matrix.values, written, ("CPUs", "memory"), more=better == "higher")
        if width_of(squares[0]) > seen.width:
            groups: dict[str, list[float]] = defaultdict(list)
            for result in matrix.results:
                groups[distance(result.distance) or "not known"].append(result.median)
            squares = _summary(groups, ("memory", "pairs", "median", "lowest", "highest"), unit, seen.width)
        drawn += [*heading(name, about, seen.width), *squares]
    ways = [each for each in (seen.facts.remote or ()) if each.bandwidth] if seen.facts and unit == "bytes/s" else []
    verdict: list[Span] = []
    for way in ways:
        share = way.bandwidth or 0.0
        said = f"{way.distance.replace('-', ' ')}: {percent(share)} of the bandwidth of local memory"
        if way.published is None:
            verdict.append((f"{said}; {UNPUBLISHED}", ""))
        else:
            worse = share < NEAR * way.published
            than = f"{percent(way.published)} published [{way.ref}], {'worse than' if worse else 'as'} published"
            verdict.append((f"{said}; {than}", "warn" if worse else "good"))
    verdict = verdict or _far(every[0].results if every else (), unit)
    if seen.facts and unit == "seconds":
        verdict += beside_published(seen.facts.published_latency, duration, less=True)
    return [*drawn, *verdict_lines(verdict, seen.width)] if drawn else []


def _far(results: Sequence[Result], unit: Unit) -> list[Span]:
    """Compare the memory of other nodes with the nodes' own, distance by distance."""
    at: dict[Distance | None, list[float]] = defaultdict(list)
    for result in results:
        at[result.distance].append(result.median)
    far: tuple[Distance, ...] = ("same-socket", "other-socket")
    ratios = {distance(away): median(at[away]) / median(at["local"]) for away in far if at["local"] and at[away]}
    if not ratios:
        return [("all memory is at the same distance", "")]
    what, near = ("latency" if unit == "seconds" else "bandwidth"), amount(median(at["local"]), unit)
    words = [f"{away} {f'{ratio:.1f} times' if unit == 'seconds' else percent(ratio)}" for away, ratio in ratios.items()]
    return [(f"compared with the {what} of local memory, {near}: {', '.join(words)}", "")]


def _squares(
    sides: tuple[Sequence[int], Sequence[int]],
    values: Mapping[Pair, float],
    written: Mapping[Pair, str],
    named: tuple[str, str],
    *,
    more: bool,
) -> list[Line]:
    """Return coloured squares with their numbers; named are the rows and the columns."""
    rows, columns = sides
    widest = max(map(len, (*written.values(), *map(str, columns))))
    room = widest + 2 if len(columns) <= _AIRY else widest + 1
    heads = ((f"{column:>{room - 1}} ", "label") for column in columns)
    lines: list[Line] = [((f"  {named[0]:<5}", "label"), *heads, (f" {named[1]}" if named[1] else "", "label"))]
    known = list(values.values())
    for row in rows:
        squares: list[Span] = [(f"  {row:>4} ", "label")]
        for column in columns:
            value = values.get((row, column))
            word = written.get((row, column), "-" if row == column else "?")
            squares.append((f"{word:>{room - 1}} ", "" if value is None else heat(value, known, more_is_better=more)))
        lines.append(tuple(squares))
    return lines


def _summary(groups: Mapping[str, Sequence[float]], head: Sequence[str], unit: Unit, width: int) -> list[Line]:
    """Return what lies in the middle and at the ends of groups of pairs."""
    rows = [
        (name, str(len(found)), *(number(value, unit) for value in (median(found), min(found), max(found))))
        for name, found in groups.items()
        if found
    ]
    return table(head, rows, width, "lrrrr")


def by_part(seen: Seen) -> list[Line]:
    """Return latency part by part, where no matrix has it."""
    if matrices(seen.measurements, "seconds"):
        return []
    found = list(sound(seen.measurements, "part", "matrix", unit="seconds"))
    if not found:
        return []
    rows = alike(result.but(purpose="part") for result in found)
    most = max(row.value for row in rows)
    body: list[list[Cell]] = [
        [row.name, row.label[1], (number(row.value, "seconds"), "title"), Bar(row.value / most), row.apart] for row in rows
    ]
    head = ("part", "memory", "ns", "", "spread")
    return section(seen, "Memory latency", f"ns per load, {how(found)}", head, body, right="llrlr", verdict=_memory_latency(seen))


def _memory_latency(seen: Seen) -> list[Span]:
    if seen.facts is None:
        return []
    found = beside_published(seen.facts.published_latency, duration, less=True)
    return found or among_published(seen, "latency") or [(UNPUBLISHED, "unknown")]


def by_working_set(seen: Seen) -> list[Line]:
    """Return latency by working set with bars, and whether it rises where the caches end, as far as these are known."""
    curves = ladder(seen.measurements)
    if not curves:
        return []
    sizes = sorted({x for curve in curves for x, _ in curve.points})
    powers = [size for size in sizes if int(size) & (int(size) - 1) == 0]
    sizes = powers if len(sizes) > _MOST_STEPS and len(powers) > 4 else sizes
    most, full = max(y for curve in curves for _, y in curve.points), ends(sizes, seen.levels)
    rows: list[list[Cell]] = []
    for size in sizes:
        found = [dict(curve.points).get(size) for curve in curves]
        mark = f"< {full[size]} {binary(seen.levels[full[size]])}" if size in full else ""
        longest = next((value for value in found if value is not None), 0.0) / most
        rows.append([binary(int(size)), *(number(value, "seconds") for value in found), Bar(longest), (mark, "label")])
    bars = f"; bars: {curves[0].name}" if len(curves) > 1 else ""
    about = f"ns per load, {how([result for curve in curves for result in curve.results])}{bars}"
    points, steps = curves[0].points, []
    for name, end in sorted(seen.levels.items(), key=lambda level: level[1]):
        inside = [time for at, time in points if at <= end / _DOUBLE]
        outside = [time for at, time in points if at >= _DOUBLE * end]
        if inside and outside:
            steps.append(f"{name} ends {'at' if min(outside) > 1.2 * inside[-1] else 'NOT at'} {binary(end)}")
    last = f"memory {duration(points[-1][1])}"
    said = f"latency steps at the cache sizes that the firmware reports: {', '.join(steps)}; {last}" if steps else last
    verdict = [(said, "warn" if any("NOT" in each for each in steps) else ""), *_memory_latency(seen)]
    head = ("working set", *(curve.name for curve in curves), "", "")
    return section(seen, "Latency by working set", about, head, rows, right="r" * (len(curves) + 1) + "ll", verdict=verdict)


def under_load(seen: Seen) -> list[Line]:
    """Return latency on one core while the others stream, and at how much traffic of theirs it doubles."""
    lines: list[Line] = []
    verdict: list[Span] = []
    curves = loaded(seen.measurements)
    for curve in curves:
        most = max(y for _, y in curve.points)
        rows = [(number(x, "bytes/s") if x else "idle", number(y, "seconds"), Bar(y / most)) for x, y in curve.points]
        where = "" if len(curves) == 1 and curve.name == "any memory" else f"{curve.name}, "
        lines += section(seen, "Latency under load", f"{where}{how(curve.results)}", ("others, GB/s", "ns", ""), rows, right="rr")
        idle = curve.points[0][1]
        double = next((rate for rate, time in curve.points if time >= _DOUBLE * idle), None)
        twice = f"twice its idle value of {duration(idle)}"
        said = f"{twice} at {throughput(double)}" if double else f"below {twice}"
        verdict.append((f"latency is {said}; the others reached {throughput(max(rate for rate, _ in curve.points))}", ""))
    return lines + verdict_lines(verdict, seen.width)


def cores(seen: Seen) -> list[Line]:
    """Return round trips between CPUs: of few CPUs each, of many by where they lie, and which are closest in any case."""
    trips = round_trips(seen.measurements)
    if not trips:
        return []
    cpus = sorted({cpu for pair in trips for cpu in pair})
    about = f"ns for a round trip of a cache line, {count(len(trips), 'pair')} of {count(len(cpus), 'CPU')}; lower is better"
    both = {**trips, **{(b, a): time for (a, b), time in trips.items()}}
    written = {pair: number(time, "seconds") for pair, time in both.items()}
    lines = _squares((cpus, cpus), both, written, ("CPU", ""), more=False) if len(cpus) <= _MOST_CPUS else []
    if not lines or width_of(lines[0]) > seen.width:
        head = ("both CPUs in", "pairs", "median", "fastest", "slowest")
        lines = _summary(_by_place(trips, seen), head, "seconds", seen.width)
    return [
        *heading("From core to core", about, seen.width),
        *lines,
        *_closest(trips, seen.width),
        *verdict_lines(_l3_verdict(seen), seen.width),
    ]


def _by_place(trips: Mapping[Pair, float], seen: Seen) -> dict[str, list[float]]:
    """Return round trips by the smallest part that holds both CPUs; without the machine only NUMA nodes are known."""
    topology = seen.machine.topology if seen.machine else None
    places = [("one NUMA node", list(nodes(seen.measurements.machine.nodes)))]
    if topology:
        places = [
            ("one core", [core.cpuset for core in topology.cores]),
            ("one L3 group", [cache.cpuset for cache in topology.l3]),
            ("one NUMA node", [node.cpuset for node in topology.cpu_nodes]),
            ("one socket", [package.cpuset for package in topology.packages]),
        ]
    apart = f"{places[-1][0].replace('one', 'two')}s"
    groups: dict[str, list[float]] = {name: [] for name in (*(name for name, _ in places), apart)}
    where = {name: {cpu: at for at, cpus in enumerate(sets) for cpu in cpus} for name, sets in places}
    for (a, b), time in trips.items():
        groups[next((name for name, of in where.items() if a in of and of[a] == of.get(b)), apart)].append(time)
    return groups


def _closest(trips: Mapping[Pair, float], width: int) -> list[Line]:
    """Return the CPUs that are closest to each other, known by the round trips alone."""
    fast = nearest(trips)
    if len(trips) < 3:  # two CPUs have nobody else to be compared with
        return []
    if not fast:
        return wrapped([("  All pairs are alike: no sign that some CPUs share a cache.", "")], width)
    words = cut("  ".join(listed(group) for group in joined(pair for pair, time in trips.items() if time <= fast)), 4 * width)
    below = f"  Closest to each other, at most {number(fast, 'seconds')} ns: "
    return wrapped([(below, "label"), (words, "")], width, indent=4)


def nearest(trips: Mapping[Pair, float]) -> float | None:
    """Return the slowest of the fastest kind of round trip; None where there is only one kind."""
    return next((low for low, high in pairwise(sorted(trips.values())) if high > low * _STEP), None)


def joined(pairs: Iterable[Pair]) -> list[CpuSet]:
    """Return CPUs in groups, so that every pair lies in one."""
    groups: list[CpuSet] = []
    for pair in pairs:
        both = CpuSet(pair)
        touched = [group for group in groups if group & both]
        groups = [group for group in groups if not group & both] + [union([both, *touched])]
    return sorted(groups, key=lambda group: group.first or 0)


def _l3_verdict(seen: Seen) -> list[Span]:
    """Say whether round trips show the caches that firmware reports."""
    found = seen.facts.caches if seen.facts else None
    if found is None or found.agrees is None:
        return [("round trips do not distinguish near cores from far ones", "unknown")] if seen.facts else []
    times = f" ({duration(found.near)} inside, {duration(found.far)} between)" if found.near and found.far else ""
    if found.agrees and not found.far:
        return [("only one L3 group: nothing to compare", "")]
    if found.agrees:
        return [(f"round trips confirm the L3 groups that the firmware reports{times}", "good")]
    return [(f"round trips contradict the L3 groups that the firmware reports: {plain(found.example or '', 120)}", "warn")]


# ---- floating point ----

_WIDTHS = ("avx512", "sve", "avx2", "avx", "neon", "sse2", "scalar")


def flops(seen: Seen) -> list[Line]:
    """Return floating-point rates with bars, clocks and operations a cycle, beside what so many cores can do at that clock."""
    found = list(sound(seen.measurements, "peak", "roofline", unit="flop/s"))
    if not found:
        return []
    sheet = seen.measurements.sheet(found[0].kernel)
    groups: dict[tuple[str, str, Part, int], list[Result]] = defaultdict(list)
    for each in found:
        groups[*kind(each), each.part, len(each.cpus)].append(each)
    order = list(dict.fromkeys([*(each.name for each in (sheet.variants if sheet else ())), *(key[0] for key in groups)]))

    def place(key: tuple[str, str, Part, int]) -> tuple[int, int, int]:
        return -key[3], _WIDTHS.index(key[1]) if key[1] in _WIDTHS else len(_WIDTHS), order.index(key[0])

    rows = {key: Alike(tuple(groups[key])) for key in sorted(groups, key=place)}
    most = max(row.value for row in rows.values())
    body: list[list[Cell]] = []
    for (operation, width, _, alone), row in rows.items():
        clocks = [clock for each in row.results if isinstance(clock := each.details.get("clock"), int | float)]
        known = [float(clock) for clock in clocks if isfinite(clock) and clock > 0]
        clock = median(known) if known else None
        body.append(
            [
                title(seen.measurements, row.first.kernel, operation),
                isa(width),
                f"{len(row.results)}x {alone}" if len(row.results) > 1 else str(alone),
                (number(row.value, "flop/s"), "title"),
                Bar(row.value / most),
                percent(row.spread),
                number(clock, "hertz"),
                "-" if clock is None else figure(row.value / alone / clock),
            ]
        )
    own = seen.facts.flops if seen.facts else None
    verdict: list[Span] = []
    if own and own.share and own.peak:
        clock_words = f" at {own.clock / 1e9:.3g} GHz" if own.clock else ""
        of = f"{percent(own.share)} of the {flop_rate(own.peak)} computed for {own.cores} cores{clock_words}"
        verdict = [(f"{flop_rate(own.rate)}: {of}", "warn" if own.share < NEAR else "good")]
    elif seen.facts:
        why = "the peak of these cores cannot be computed: the operations per cycle or the clock is unknown"
        verdict = [(why, "unknown")]
    head = ("double precision", "width", "cores", "GFLOP/s", "", "spread", "GHz", "flop/cycle")
    return section(seen, "Floating point", f"{how(found)}; FLOP/cycle is per core", head, body, right="llrrlrrr", verdict=verdict)


def clocks(seen: Seen) -> list[Line]:
    """Return the clocks that were measured for themselves, and how they stand to the base clock."""
    groups: dict[tuple[int, str, Part], list[Result]] = defaultdict(list)
    found = list(sound(seen.measurements, "clock"))
    if not found:
        return []
    for each in found:
        operation, width = kind(each)
        load = reported_text(each, "load") or operation
        busy = (isa(width), "" if load == "clock" else title(seen.measurements, each.kernel, load))
        groups[len(each.cpus), ", ".join(filter(None, busy)), each.part].append(each)
    rows: list[list[Cell]] = []
    for (some, busy_with, _), results in sorted(groups.items(), key=lambda item: item[0][:2]):
        ordered = sorted(result.median for result in results)
        far = f"{number(ordered[0], 'hertz')} to {number(ordered[-1], 'hertz')}" if len(ordered) > 1 else ""
        rows.append([parts_name(results), str(some), busy_with, (number(median(ordered), "hertz"), "title"), (far, "dim")])
    verdict: list[Span] = []
    for own in (seen.facts.clocks or ()) if seen.facts else ():
        if own.share:
            said = f"{own.isa}: {own.hertz / 1e9:.3g} GHz with all cores busy, {percent(own.share)} of the base clock"
            verdict.append((f"{said} of {(own.nominal or 0.0) / 1e9:.3g} GHz", "warn" if own.share < _MOST else "good"))
    if seen.facts and not verdict:
        verdict = [("the base clock is unknown", "unknown")]
    about = how([result.but(isa=None) for result in found])
    return section(
        seen, "Clock", about, ("part", "cores", "busy with", "GHz", "lowest to highest"), rows, right="lrlrl", verdict=verdict
    )


def roofs(seen: Seen) -> list[Line]:
    """Return the roofs and ceilings of the largest part that has both, and what the user's code can reach beneath them."""
    line, intensity = roofline(seen.measurements), seen.intensity
    asked = intensity is not None or any("chain" in result.variant for result in seen.measurements.of("peak", "flop/s"))
    if line is None or not asked:
        return []
    above: list[list[Cell]] = [
        [
            roof.pattern,
            (number(roof.rate, "bytes/s"), "title"),
            Bar(roof.rate / line.roofs[0].rate),
            figure(line.peak / roof.rate),
        ]
        for roof in line.roofs
    ]
    below: list[list[Cell]] = [
        [each.name, each.what, (number(each.rate, "flop/s"), "title"), Bar(each.rate / line.peak)] for each in line.ceilings
    ]
    ridge = figure(line.peak / line.roofs[0].rate)
    if intensity is None:
        said = f"below {ridge} FLOP/byte, memory limits a program; above, the cores do; --intensity X shows what yours can reach"
    else:
        own, reach = f"a code with {figure(intensity)} FLOP/byte", line.reach(intensity)
        each_roof = ", ".join(f"{amount(rate, 'flop/s')} as {roof.pattern}" for roof, rate in reach)
        said = f"{own} is limited by memory: at most {each_roof}; the ridge is at {ridge} FLOP/byte"
        if all(rate == line.peak for _, rate in reach):
            said = f"{own} is limited by the cores: {flop_rate(line.peak)} at most"
    return [
        *section(seen, "Roofline", line.where, ("memory", "GB/s", "", "ridge, FLOP/byte"), above, right="lrlr"),
        *table(("ceiling", "", "GFLOP/s", ""), below, seen.width, "llrl", short=1),
        *verdict_lines([(said, "")], seen.width),
    ]


# ---- kernels of one's own ----


def own_kernels(seen: Seen) -> list[Line]:
    """Return, kernel by kernel, what was measured for its own sake, and what its spread means: nobody has published any of it."""
    found = list(sound(seen.measurements, "kernel"))
    lines: list[Line] = []
    for kernel in dict.fromkeys(each.kernel for each in found):
        own = [each for each in found if each.kernel == kernel]
        sheet = seen.measurements.sheet(kernel)
        about = ", ".join(filter(None, (plain(sheet.summary) if sheet else "", how(own))))
        rows: list[list[Cell]] = []
        for each in own:
            most = max(other.median for other in own if (other.variant, other.unit) == (each.variant, each.unit))
            rows.append(
                [
                    part_name(each.part, each.index),
                    str(len(each.cpus)),
                    distance(each.distance),
                    title(seen.measurements, kernel, each.variant),
                    (amount(each.median, each.unit), "title"),
                    Bar(each.median / most),
                    percent(each.spread),
                ]
            )
        head = ("part", "cores", "memory", "measures", "median", "", "spread")
        lines += section(seen, plain(kernel), about, head, rows, right="lrllrlr", short=3)
    if not lines:
        return []
    spread = max(each.spread for each in found)
    again = f"compare runs with advisor compare OLD NEW (repeats differ by {percent(spread)})"
    return lines + verdict_lines([(f"{UNPUBLISHED}; {again}", "")], seen.width)
