"""Measured figures as they are written and laid out: numbers with units, tables, curves, matrices, the roofline."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor, isfinite, log10
from statistics import median

from rich.cells import cell_len

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.units import UNKNOWN, binary, count, plain
from advisor.measure.measurement import Distance, Measurements, Part, Purpose, Result, Unit
from advisor.show.lines import STYLES, Line, Span, cut, width_of, wrapped
from advisor.show.svg import heat_colour

SCALES: dict[Unit, tuple[float, str]] = {
    "bytes/s": (1e9, "GB/s"),
    "seconds": (1e-9, "ns"),
    "flop/s": (1e9, "GFLOP/s"),
    "hertz": (1e9, "GHz"),
    "messages/s": (1e6, "M msg/s"),
}

_STEPS: Mapping[Unit, Sequence[tuple[float, str]]] = {
    "seconds": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
    "messages/s": ((1e6, "M msg/s"), (1e3, "k msg/s"), (1.0, "msg/s")),
}
"""Units in which a person reads one value alone, the largest first; a table keeps one unit for all."""
_PREFIXES = ("", "k", "M", "G", "T")

PARTS: tuple[Part, ...] = ("core", "l3", "numa", "socket", "machine", "pair")
DISTANCES: tuple[Distance | None, ...] = (None, "local", "spread", "same-socket", "other-socket")
OWN = (None, "local", "spread")
"""Distances of memory that is as near as can be."""

_PART = {"core": "core", "l3": "L3 group", "numa": "NUMA node", "socket": "socket", "machine": "machine", "pair": "pair"}
_CHOICE: dict[Purpose, str] = {"sparse": ", 1 per L3", "half": ", half of each L3"}
_DISTANCE = {None: "", "spread": "first touch", "same-socket": "same socket", "other-socket": "other socket", "local": "local"}
_ISA = {"avx512": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4": "SSE4.1", "sse2": "SSE2", "neon": "NEON", "sve": "SVE"}


def figure(value: float) -> str:
    """Return a number with three significant digits.

    >>> figure(21.437), figure(0.98765), figure(3838.2), figure(99.97)
    ('21.4', '0.988', '3840', '100')
    """
    if not isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    rounded = float(f"{value:.2e}")
    return f"{rounded:.{max(0, 2 - floor(log10(abs(rounded))))}f}"


def unit_name(unit: Unit) -> str:
    """Return the unit that is written: ``GB/s``; one that only its kernel knows as it is."""
    return SCALES[unit][1] if unit in SCALES else plain(unit, 40)


def scaled(value: float, unit: Unit) -> float:
    """Return a value in the unit that is written."""
    return value / SCALES.get(unit, (1.0, unit))[0]


def number(value: float | None, unit: Unit) -> str:
    """Return a value as it is written, without its unit; a dash where there is none."""
    return "-" if value is None else figure(scaled(value, unit))


def short_number(value: float, unit: Unit) -> str:
    """Return a value without its unit; with a prefix where the unit has no usual one.

    >>> short_number(2.14e10, "bytes/s"), short_number(3.3e7, "updates/s"), short_number(42.0, "updates/s")
    ('21.4', '33.0 M', '42.0')
    """
    if unit in SCALES or not isfinite(value):
        return number(value, unit)
    power = sum(abs(value) >= 1000.0**step for step in range(1, len(_PREFIXES)))
    return f"{figure(value / 1000.0**power)} {_PREFIXES[power]}".strip()


def amount(value: float, unit: Unit) -> str:
    """Return a value with its unit.

    >>> amount(2.14e10, "bytes/s"), amount(3.3e7, "updates/s"), amount(0.0999, "seconds"), amount(188.0, "messages/s")
    ('21.4 GB/s', '33.0 M updates/s', '99.9 ms', '188 msg/s')
    """
    for step, name in _STEPS.get(unit, ()):
        if value >= 0.9995 * step:
            return f"{figure(value / step)} {name}"
    return f"{short_number(value, unit)} {unit_name(unit)}"


def percent(share: float) -> str:
    """Return a share: ``0.4 %``, ``87 %``."""
    if not isfinite(share):
        return UNKNOWN
    return f"{100 * share:.0f} %" if abs(share) >= 0.0995 else f"{100 * share:.1f} %"


def isa(name: str | None) -> str:
    """Return instructions as their vendor writes them: ``AVX-512``."""
    return _ISA.get(name or "", plain(name or "", 20))


def distance(of: Distance | None) -> str:
    """Return how far away the memory is, in words."""
    return _DISTANCE[of]


def part_name(part: Part, index: int | None = None, alike: int = 1) -> str:
    """Return what was measured: ``NUMA node 3``, ``socket (2)`` for the median of both."""
    which = f" ({alike})" if alike > 1 else "" if index is None else f" {index}"
    return f"{_PART[part]}{which}"


def parts_name(results: Sequence[Result]) -> str:
    """Return what some results of one kind of part are of, by its number where that is one part."""
    places = {result.index for result in results}
    return part_name(results[0].part, results[0].index if len(places) == 1 else None, len(places))


def how(results: Sequence[Result]) -> str:
    """Return the conditions that results share: repeats, instructions, pages, working set."""

    def either(words: Iterable[str]) -> str:
        return " or ".join(sorted(set(words)))

    numbers = sorted({len(result.values) for result in results})
    repeats = count(numbers[0], "repeat") if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]} repeats" if numbers else ""
    kinds = either(plain(result.page_kind, 20) for result in results if result.page_kind)
    spans = list(dict.fromkeys(map(binary, sorted({result.bytes for result in results if result.bytes is not None}))))
    words = [
        "one run" if numbers == [1] else f"median of {repeats}" if numbers else "",
        either(isa(result.isa) for result in results if result.isa),
        f"{kinds} pages" if kinds else "",
        " to ".join(dict.fromkeys([*spans[:1], *spans[-1:]])),
    ]
    return ", ".join(filter(None, words))


# ---- tables ----

HEATS = 5
"""So many colours tell values of a matrix apart; the numbers stand in the squares."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


STYLES.update({f"heat {at}": f"black on {heat_colour(at / (HEATS - 1))}" for at in range(HEATS)})


def heat(value: float, values: Sequence[float], *, more_is_better: bool) -> str:
    """Return the style of a value among others: heat 0 is the best."""
    low, high = min(values), max(values)
    share = (value - low) / (high - low) if high > low else 0.0
    worse = 1 - share if more_is_better and high > low else share
    return f"heat {round(worse * (HEATS - 1))}"


def bar(share: float, room: int) -> str:
    """Return a bar for a share of the room, filled with blanks; what is above nothing shows."""
    eighths = max(1 if share > 0 else 0, round(min(1.0, max(0.0, share)) * room * 8))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(room)


def heading(title: str, about: str, width: int) -> list[Line]:
    """Return the head of a section after an empty line: what it is, in which unit and under which conditions."""
    return [(), *wrapped([(title, "heading"), (f"  {about}" if about else "", "dim")], width)]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar for a share of the longest one; it takes the room that a table has left."""

    share: float


Cell = str | Span | Bar

_BARS = 4, 40
"""Cells that a bar takes at least and at most."""


def table(
    head: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, right: str = "", *, short: int = 0, sparse: bool = False
) -> list[Line]:
    """Return columns as wide as their longest cell.

    ``right`` has a letter for each column: r sets it to the right, everything else to the left. If not all fits, the
    column ``short`` is shortened. With ``sparse`` columns are left out in which nothing stands, or dashes alone.
    """

    def span(cell: Cell, room: int) -> Span:
        if isinstance(cell, Bar):
            return bar(cell.share, room) if room else "", "cache"
        return cell if isinstance(cell, tuple) else (cell, "")

    def widths(room: int) -> dict[int, int]:
        return {at: max(cell_len(span(row[at], room)[0]) for row in (head, *rows)) for at in shown}

    shown = [at for at in range(len(head)) if not sparse or any(span(row[at], 1)[0] not in ("", "-") for row in rows)]
    room = max(_BARS[0], min(_BARS[1], width - 2 * len(shown) - sum(widths(0).values())))
    wide = widths(room)
    wide[short] = max(6, wide[short] - max(0, sum(wide.values()) + 2 * len(wide) - width))
    lines: list[Line] = []
    for row in ([(word, "label") for word in head], *rows):
        line: list[Span] = []
        for at in shown:
            words, style = span(row[at], room)
            words = cut(words, wide[at])
            blanks = (" " * (wide[at] - cell_len(words)), "")
            pair = [blanks, (words, style)] if right[at : at + 1] == "r" else [(words, style), blanks]
            for text, look in (("  ", ""), *pair):
                left = width - width_of(tuple(line))
                line += [(cut(text, left), look)] if left > 0 else []
        lines.append(tuple(line))
    return lines


def verdict_lines(verdict: Iterable[Span], width: int) -> list[Line]:
    """Return sentences below a table, each with its style."""
    return [line for said, style in verdict for line in wrapped([("  = ", "label"), (said, style)], width, indent=4)]


# ---- results in series ----

Pair = tuple[int, int]
Points = tuple[tuple[float, float], ...]

HEADLINE = ("triad-nt", "triad", "copy-nt", "copy", "load")
"""The pattern that stands for a part's bandwidth: the first that all parts were measured with."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart, rising in x: what it is called, its points, and the results behind them."""

    name: str
    points: Points
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """CPUs of one NUMA node against memory of another."""

    variant: str
    unit: Unit
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: dict[Pair, float]
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """Parts of one kind, measured in the same way: one row."""

    results: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """One of them, for what they have in common."""
        return self.results[0]

    @property
    def name(self) -> str:
        """What was measured."""
        return parts_name(self.results)

    @property
    def value(self) -> float:
        """What a part of this kind gives."""
        return median(result.median for result in self.results)

    @property
    def spread(self) -> float:
        """How far the repeats of one part were apart, at worst."""
        return max(result.spread for result in self.results)

    @property
    def apart(self) -> str:
        """Return that in words; one figure alone, as other programs print it, does not say."""
        return percent(self.spread) if any(len(result.values) > 1 for result in self.results) else "-"

    @property
    def share(self) -> float | None:
        """Which part of the ceiling was reached, where the ceiling is known."""
        shares = [result.median / result.ceiling for result in self.results if result.ceiling]
        return median(shares) if shares else None

    @property
    def label(self) -> tuple[str, str, str]:
        """What was measured, where its memory was, and how many cores worked: ``16``; ``4, 1 per L3``."""
        numbers = sorted({len(result.cpus) for result in self.results})
        cores = "-".join(map(str, dict.fromkeys([numbers[0], numbers[-1]])))
        return self.name, distance(self.first.distance), f"{cores}{_CHOICE.get(self.first.purpose, '')}"

    @property
    def extent(self) -> str:
        """The lowest and the highest of several parts, with the number of the lowest."""
        if len(self.results) == 1:
            return ""
        ordered = sorted(self.results, key=lambda result: result.median)
        where = "" if ordered[0].index is None else f" (no. {ordered[0].index})"
        return f"{number(ordered[0].median, 'bytes/s')}{where} to {number(ordered[-1].median, 'bytes/s')}"


_OF_PARTS: tuple[Purpose, ...] = ("part", "half", "sparse")


def alike(results: Iterable[Result]) -> list[Alike]:
    """Return results by the kind of part, smallest first, one core of each L3 after all, near memory before far."""
    groups: dict[tuple[Part, Purpose, Distance | None, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.part, result.purpose, result.distance, result.variant].append(result)
    ordered = sorted(groups, key=lambda key: (PARTS.index(key[0]), _OF_PARTS.index(key[1]), DISTANCES.index(key[2])))
    return [Alike(tuple(groups[key])) for key in ordered]


def sound(
    measurements: Measurements,
    *purposes: Purpose,
    unit: Unit | None = None,
    variant: str | None = None,
    part: Part | None = None,
) -> Iterator[Result]:
    """Yield what is believed and can be drawn: finite values above nothing."""
    for purpose in purposes:
        for result in measurements.of(purpose, unit, variant, part):
            if all(isfinite(value) for value in result.values) and result.median > 0:
                yield result


def title(measurements: Measurements, kernel: str, variant: str) -> str:
    """Return what a variant is called in tables: as its kernel says, or by its name where the file does not hold that."""
    sheet = measurements.sheet(kernel)
    known = sheet.variant(variant) if sheet else None
    return plain(known.title if known else variant, 60)


def headline(results: Iterable[Result]) -> str | None:
    """Return the pattern that most parts were measured with, the more telling one of several."""
    parts: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    for result in results:
        parts[result.variant].add((result.part, result.distance))
    best = sorted(parts, key=lambda name: (-len(parts[name]), HEADLINE.index(name) if name in HEADLINE else len(HEADLINE)))
    return best[0] if best else None


def _curves(named: Mapping[str, Sequence[Result]], x: Callable[[Result], float]) -> tuple[Curve, ...]:
    curves = []
    for name, results in named.items():
        at: dict[float, list[float]] = defaultdict(list)
        for result in results:
            at[x(result)].append(result.median)
        curves.append(Curve(name, tuple((place, median(at[place])) for place in sorted(at)), tuple(results)))
    return tuple(curves)


def scaling(measurements: Measurements) -> tuple[Curve, ...]:
    """Return bandwidth over threads, a curve for each pattern, named by memory and order of the threads where these differ."""
    found = list(sound(measurements, "scaling"))
    patterns = list(dict.fromkeys(result.variant for result in found))
    found.sort(key=lambda each: (patterns.index(each.variant), DISTANCES.index(each.distance), each.order or ""))
    aways, orders = {distance(each.distance) for each in found}, {each.order for each in found}
    named: dict[str, list[Result]] = defaultdict(list)
    for each in found:
        away, order = distance(each.distance) if len(aways) > 1 else "", each.order if len(orders) > 1 else ""
        named[", ".join(part for part in (each.variant, away, order) if part)].append(each)
    return _curves(named, lambda result: float(len(result.cpus)))


def ladder(measurements: Measurements) -> tuple[Curve, ...]:
    """Return latency over the working set, a curve for each kind of page and, where several were asked, each memory."""
    found = [result for result in sound(measurements, "ladder") if result.bytes]
    several = len({result.memory for result in found}) > 1
    named: dict[str, list[Result]] = defaultdict(list)
    for result in found:
        where = f", node {result.memory}" if several and result.memory is not None else ""
        named[f"{result.page_kind or 'any'} pages{where}"].append(result)
    return _curves(dict(sorted(named.items())), lambda result: float(result.bytes or 0))


def loaded(measurements: Measurements) -> tuple[Curve, ...]:
    """Return latency over what the other cores stream meanwhile."""

    def load(result: Result) -> float:
        rate = result.details.get("load_rate")
        return float(rate) if isinstance(rate, int | float) and isfinite(rate) else -1.0

    named: dict[str, list[Result]] = defaultdict(list)
    for result in sound(measurements, "loaded"):
        if load(result) >= 0:
            named["any memory" if result.memory is None else f"memory of node {result.memory}"].append(result)
    return _curves(dict(sorted(named.items())), load)


def matrices(measurements: Measurements, unit: Unit) -> tuple[Matrix, ...]:
    """Return CPU node against memory node, one matrix a variant; a node against itself may have been measured as a part."""
    found = list(sound(measurements, "matrix", unit=unit))
    made = []
    for variant in dict.fromkeys(result.variant for result in found):
        results = tuple(result for result in found if result.variant == variant)
        own = [each for each in sound(measurements, "part", unit=unit, variant=variant, part="numa") if each.distance == "local"]
        cells: dict[Pair, list[Result]] = defaultdict(list)
        for result in (*results, *own):
            row = node_of(measurements, result)
            pair = None if row is None else (row, row if result.memory is None else result.memory)
            if pair is not None and (result.purpose == "matrix" or not cells[pair]):
                cells[pair].append(result)
        values = {pair: median(each.median for each in cell) for pair, cell in cells.items() if cell}
        rows, columns = (tuple(sorted({pair[side] for pair in values})) for side in (0, 1))
        if len(rows) > 1 or len(columns) > 1:
            made.append(Matrix(variant, unit, rows, columns, values, results))
    return tuple(made)


def node_of(measurements: Measurements, result: Result) -> int | None:
    """Return the NUMA node whose CPUs worked."""
    return result.index if result.part == "numa" and result.index is not None else node_with(measurements, result.cpus[0])


def node_with(measurements: Measurements, cpu: int) -> int | None:
    """Return the NUMA node of a CPU; None where the file does not tell."""
    return next((at for at, cpus in enumerate(nodes(measurements.machine.nodes)) if cpu in cpus), None)


@lru_cache(maxsize=8)
def nodes(lists: tuple[str, ...]) -> tuple[CpuSet, ...]:
    """Return the CPUs of each NUMA node; none where the file does not tell them."""
    try:
        return tuple(CpuSet.parse(cpus) for cpus in lists)
    except BadInput:
        return ()


def round_trips(measurements: Measurements) -> dict[Pair, float]:
    """Return the time of a round trip between two CPUs, the lower one first."""
    found: dict[Pair, list[float]] = defaultdict(list)
    for result in sound(measurements, "map"):
        if len(set(result.cpus)) == 2:
            found[min(result.cpus), max(result.cpus)].append(result.median)
    return {pair: median(times) for pair, times in sorted(found.items())}


def caches(machine: Machine | None) -> dict[str, int]:
    """Return the sizes of the caches that are known by name: of an L3 the smallest."""
    known = [cache.size for cache in (machine.topology.l3 if machine and machine.topology else ()) if cache.size]
    return {"L3": min(known)} if known else {}


def ends(sizes: Iterable[float], known: Mapping[str, int]) -> dict[float, str]:
    """Return at which of the sizes a cache is full: its name by the largest size that fits it."""
    ordered = sorted(sizes)
    fitting = {name: [size for size in ordered if size <= most] for name, most in known.items()}
    return {each[-1]: name for name, each in fitting.items() if each and each[-1] < ordered[-1]}


# ---- the roofline, with the ceilings of [delftblue] below the peak ----


def kind(result: Result) -> tuple[str, str]:
    """Return the operation and the width of the instructions: ``fma`` and ``avx512``."""
    width, _, operation = result.variant.rpartition("-")
    return operation, width or result.isa or ""


@dataclass(frozen=True, slots=True)
class Roof:
    """Bandwidth of one pattern: left of the kink it decides."""

    pattern: str
    rate: float


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Floating-point rate of a code that lacks something."""

    name: str
    what: str
    rate: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofs and ceilings of one part of the machine, the highest first."""

    where: str
    roofs: tuple[Roof, ...]
    ceilings: tuple[Ceiling, ...]
    results: tuple[Result, ...]

    @property
    def peak(self) -> float:
        """The highest floating-point rate that was measured."""
        return self.ceilings[0].rate

    def reach(self, intensity: float) -> tuple[tuple[Roof, float], ...]:
        """Return what a code of this intensity can reach, by the pattern that it streams with."""
        return tuple((roof, min(self.peak, roof.rate * intensity)) for roof in self.roofs)


def roofline(measurements: Measurements) -> Roofline | None:
    """Return the roofline of the largest part that has bandwidth and flops; None where one of them was not measured."""
    memory = [r for r in sound(measurements, "roofline", "part", unit="bytes/s") if r.distance in OWN]
    compute = list(sound(measurements, "roofline", "peak", unit="flop/s"))
    part = max({result.part for result in memory} & {result.part for result in compute}, key=PARTS.index, default=None)
    if part is None:
        return None
    here = [result for result in memory if result.part == part]
    most = max(len(result.cpus) for result in compute if result.part == part)
    full = [result for result in compute if result.part == part and len(result.cpus) == most]
    ceilings = sorted(_ceilings(full, compute, most), key=lambda ceiling: -ceiling.rate)
    roofs = []
    for pattern in ("load", "copy", "triad"):  # each with the stores that are faster here
        rates = {name: _rate([r for r in here if r.variant == name]) for name in (pattern, f"{pattern}-nt")}
        best = max(rates, key=lambda name: rates[name])
        roofs += [Roof(best, rates[best])] if rates[best] else []
    if not (roofs and ceilings):
        return None
    where = f"{parts_name(here)}, {count(most, 'core')}"
    return Roofline(where, tuple(sorted(roofs, key=lambda roof: -roof.rate)), tuple(ceilings), (*here, *full))


def _rate(results: Sequence[Result]) -> float:
    """Return the rate of alike parts, 0 of none; where it was measured for the roofline, only that counts."""
    own = [result.median for result in results if result.purpose == "roofline"]
    return median(own or [result.median for result in results]) if results else 0.0


_OPERATION = {"fma": "FMA", "muladd": "multiply and add", "add": "adds only", "mul": "multiplies only", "chain": "chain of adds"}


def _ceilings(results: Sequence[Result], every: Sequence[Result], cores: int) -> Iterator[Ceiling]:
    """Yield the peak of all cores, what is left without one thing after the other, and what one core reaches."""
    peak = _best(results, "fma") or _best(results, "muladd", "add", "mul")
    if peak is not None:
        operation, width, rate = peak
        yield Ceiling("peak", f"{_OPERATION[operation]}, {isa(width)}, {count(cores, 'core')}", rate)
        apart = _best(results, "muladd") or _best(results, "add", "mul")
        if operation == "fma" and apart:
            yield Ceiling("no FMA", _OPERATION[apart[0]], apart[2])
        if scalar := _best(results, "fma", "muladd", "add", "mul", scalar=True):
            yield Ceiling("no SIMD", f"scalar {_OPERATION[scalar[0]]}", scalar[2])
        if chain := _best(results, "chain") or _best(results, "chain", scalar=True):
            yield Ceiling("no unrolling", "one chain of adds per core", chain[2])
    if cores > 1 and (alone := _best([result for result in every if len(result.cpus) == 1], "fma")):
        yield Ceiling("serial", f"one core, FMA, {isa(alone[1])}", alone[2])


def _best(results: Iterable[Result], *operations: str, scalar: bool = False) -> tuple[str, str, float] | None:
    """Return the fastest width of these operations, with its rate."""
    fitting: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        operation, width = kind(result)
        if operation in operations and (width == "scalar") == scalar:
            fitting[operation, width].append(result)
    rates = [(*key, _rate(found)) for key, found in fitting.items()]
    return max(rates, key=lambda each: each[2], default=None)
