"""Series of figures by size, and the figures of any kernel, in columns."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor, isfinite, log10
from statistics import median
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.style import Style
from rich.text import Text

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.units import UNKNOWN, binary, count, plain, printable
from advisor.measure.measurement import Distance, KernelSheet, Measurements, Order, Part, Purpose, Result, Unit
from advisor.show.lines import STYLES, Line, Page, Span, cut, width_of, wrapped
from advisor.show.topology.tiles import AWAY, BETWEEN, HOME

SCALES: Final[dict[Unit, tuple[float, str]]] = {
    "bytes/s": (1e9, "GB/s"),
    "seconds": (1e-9, "ns"),
    "flop/s": (1e9, "GFLOP/s"),
    "hertz": (1e9, "GHz"),
    "messages/s": (1e6, "M msg/s"),
}

_PREFIXES: Final = ("", "k", "M", "G", "T")

PARTS: Final[tuple[Part, ...]] = ("core", "l3", "numa", "socket", "machine", "pair")
DISTANCES: Final[tuple[Distance | None, ...]] = (None, "local", "spread", "same-socket", "other-socket")

_PART = {"core": "core", "l3": "L3 group", "numa": "NUMA node", "socket": "socket", "machine": "machine", "pair": "pair"}
_CHOICE: dict[Purpose, str] = {"sparse": ", 1 per L3", "half": ", half of each L3"}
_DISTANCE = {
    None: "",
    "local": "local",
    "spread": "first touch",
    "same-socket": "same socket",
    "other-socket": "other socket",
}
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


def number(value: float, unit: Unit) -> str:
    """Return a value as it is written, without its unit."""
    return figure(scaled(value, unit))


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

    >>> amount(2.14e10, "bytes/s"), amount(3.3e7, "updates/s")
    ('21.4 GB/s', '33.0 M updates/s')
    """
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


def cores(numbers: Iterable[int], purpose: Purpose) -> str:
    """Return how many cores worked: ``16``; ``4, 1 per L3``."""
    ordered = sorted(set(numbers))
    span = str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]}-{ordered[-1]}"
    return f"{span}{_CHOICE.get(purpose, '')}"


def how(results: Sequence[Result]) -> str:
    """Return the conditions that results share: repeats, instructions, pages, working set."""
    sizes = sorted({result.bytes for result in results if result.bytes is not None})
    spans = list(dict.fromkeys(map(binary, sizes)))
    words = [
        _repeats(sorted({len(result.values) for result in results})),
        _either(isa(result.isa) for result in results if result.isa),
        _pages(results),
        "" if not spans else spans[0] if len(spans) == 1 else f"{spans[0]} to {spans[-1]}",
    ]
    return ", ".join(word for word in words if word)


def _repeats(numbers: Sequence[int]) -> str:
    if list(numbers) == [1]:
        return "one run"
    if len(numbers) == 1:
        return f"median of {count(numbers[0], 'repeat')}"
    return f"median of {numbers[0]}-{numbers[-1]} repeats" if numbers else ""


def _pages(results: Sequence[Result]) -> str:
    kinds = _either(plain(result.page_kind, 20) for result in results if result.page_kind)
    return f"{kinds} pages" if kinds else ""


def _either(words: Iterable[str]) -> str:
    return " or ".join(sorted(set(words)))


HEATS: Final = 5
"""So many colours tell values of a matrix apart; the numbers stand in the squares."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = str.maketrans(dict(zip(_EIGHTHS[1:] + "…", "...-####.", strict=True)))
_STRUCK: Final = "struck"


class MeasuredPage(Page):
    """A page with bars and coloured squares."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(self.width or options.max_width):
            yield _painted(line, ascii_only=options.ascii_only)


def _painted(line: Line, *, ascii_only: bool) -> Text:
    """Return a line as rich text, by the rules of every page, with the styles that only measurements need."""
    result = Text(no_wrap=True, overflow="ignore")
    for words, style in line:
        clean = printable(words)  # the last gate before the terminal
        shown = clean.translate(_ASCII).encode("ascii", "replace").decode() if ascii_only else clean
        result.append(shown, _style(style))
    result.rstrip()
    return result


def _style(name: str) -> Style | str | None:
    if name == _STRUCK:
        return "dim strike"
    if name.startswith("heat "):
        return Style(color="black", bgcolor=heat_colour(int(name[5:]) / (HEATS - 1)))
    return STYLES.get(name, "") or None


def heat_colour(share: float) -> str:
    """Return the colours of the distances' heat map: green at home, sand between, coral far away; lighter where nearer."""
    near, far, part = (HOME, BETWEEN, 2 * share) if share < 0.5 else (BETWEEN, AWAY, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(near, far, strict=True))


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


def rejected_span(words: str) -> Span:
    """Return words that are not believed; a terminal that cannot strike shows them dim."""
    return words, _STRUCK


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar for a share of the longest one; it takes the room that a table has left."""

    share: float


Cell = str | Span | Bar

_BARS = 4, 40
"""Cells that a bar takes at least and at most."""


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, right: str = "", *, short: int = 0) -> list[Line]:
    """Return columns as wide as their longest cell.

    ``right`` has a letter for each column: r sets it to the right, everything else to the left. If not all fits, the
    column ``short`` is shortened.
    """
    others = 2 * len(head) + sum(max(_size(row[at]) for row in (head, *rows)) for at in range(len(head)))
    room = max(_BARS[0], min(_BARS[1], width - others))
    cells = [[_span(cell, room) for cell in row] for row in rows]
    everything = [[(word, "label") for word in head], *cells]
    wide = [max(cell_len(row[at][0]) for row in everything) for at in range(len(head))]
    wide[short] = max(6, wide[short] - max(0, sum(wide) + 2 * len(wide) - width))
    return [_fitting(_row(row, wide, right), width) for row in everything]


def _size(cell: Cell) -> int:
    return 0 if isinstance(cell, Bar) else cell_len(cell if isinstance(cell, str) else cell[0])


def _span(cell: Cell, room: int) -> Span:
    if isinstance(cell, Bar):
        return bar(cell.share, room), "cache"
    return cell if isinstance(cell, tuple) else (cell, "")


def _row(cells: Sequence[Span], wide: Sequence[int], right: str) -> Line:
    spans: list[Span] = []
    for (words, style), room, side in zip(cells, wide, right.ljust(len(wide))[: len(wide)], strict=True):
        short = cut(words, room)
        blanks = " " * (room - cell_len(short))
        spans += [("  ", ""), *([(blanks, ""), (short, style)] if side == "r" else [(short, style), (blanks, "")])]
    return tuple(spans)


def _fitting(line: Line, width: int) -> Line:
    """Cut a line at the width."""
    result: list[Span] = []
    for words, style in line:
        room = width - width_of(tuple(result))
        if room <= 0:
            break
        result.append((cut(words, room), style))
    return tuple(result)


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


def scaling(measurements: Measurements) -> tuple[Curve, ...]:
    """Return bandwidth over threads, a curve for each pattern."""
    found = list(sound(measurements, "scaling"))
    kinds = {(result.distance, result.order) for result in found}
    patterns = list(dict.fromkeys(result.variant for result in found))
    named: dict[tuple[int, int, str], list[Result]] = defaultdict(list)
    for result in found:
        named[patterns.index(result.variant), DISTANCES.index(result.distance), result.order or ""].append(result)
    curves = (each for _, each in sorted(named.items(), key=lambda item: item[0]))
    return tuple(_curve(_scaling_name(each[0], kinds), each, _threads) for each in curves)


def _scaling_name(result: Result, kinds: Collection[tuple[Distance | None, Order | None]]) -> str:
    """Return the pattern, with the memory and the order of the threads where curves differ in them."""
    away = distance(result.distance) if len({away for away, _ in kinds}) > 1 else ""
    order = result.order or "" if len({order for _, order in kinds}) > 1 else ""
    return ", ".join(part for part in (result.variant, away, order) if part)


def ladder(measurements: Measurements) -> tuple[Curve, ...]:
    """Return latency over the working set, a curve for each kind of page and, where several were asked, each memory."""
    found = [result for result in sound(measurements, "ladder") if result.bytes]
    several = len({result.memory for result in found}) > 1
    named: dict[str, list[Result]] = defaultdict(list)
    for result in found:
        where = f", node {result.memory}" if several and result.memory is not None else ""
        named[f"{result.page_kind or 'any'} pages{where}"].append(result)
    return tuple(_curve(name, named[name], lambda result: float(result.bytes or 0)) for name in sorted(named))


def loaded(measurements: Measurements) -> tuple[Curve, ...]:
    """Return latency over what the other cores stream meanwhile."""
    found = [result for result in sound(measurements, "loaded") if _load(result) is not None]
    named: dict[str, list[Result]] = defaultdict(list)
    for result in found:
        named["any memory" if result.memory is None else f"memory of node {result.memory}"].append(result)
    return tuple(_curve(name, named[name], lambda result: _load(result) or 0.0) for name in sorted(named))


def _load(result: Result) -> float | None:
    rate = result.details.get("load_rate")
    return float(rate) if isinstance(rate, int | float) and isfinite(rate) and rate >= 0 else None


def _threads(result: Result) -> float:
    return float(len(result.cpus))


def _curve(name: str, results: Sequence[Result], x: Callable[[Result], float]) -> Curve:
    at: dict[float, list[float]] = defaultdict(list)
    for result in results:
        at[x(result)].append(result.median)
    return Curve(name, tuple((place, median(at[place])) for place in sorted(at)), tuple(results))


def matrices(measurements: Measurements, unit: Unit) -> tuple[Matrix, ...]:
    """Return CPU node against memory node, one matrix a variant; a node against itself may have been measured as a part."""
    found = list(sound(measurements, "matrix", unit=unit))
    variants = dict.fromkeys(result.variant for result in found)
    made = (_matrix(measurements, unit, variant, found) for variant in variants)
    return tuple(each for each in made if len(each.rows) > 1 or len(each.columns) > 1)


def _matrix(measurements: Measurements, unit: Unit, variant: str, found: Iterable[Result]) -> Matrix:
    results = [result for result in found if result.variant == variant]
    cells: dict[Pair, list[Result]] = defaultdict(list)
    own = [each for each in sound(measurements, "part", unit=unit, variant=variant, part="numa") if each.distance == "local"]
    for result in (*results, *own):
        row = node_of(measurements, result)
        pair = None if row is None else (row, row if result.memory is None else result.memory)
        if pair is not None and (result.purpose == "matrix" or not cells[pair]):
            cells[pair].append(result)
    values = {pair: median(each.median for each in cell) for pair, cell in cells.items() if cell}
    return Matrix(
        variant=variant,
        unit=unit,
        rows=tuple(sorted({row for row, _ in values})),
        columns=tuple(sorted({column for _, column in values})),
        values=values,
        results=tuple(results),
    )


def node_of(measurements: Measurements, result: Result) -> int | None:
    """Return the NUMA node whose CPUs worked."""
    if result.part == "numa" and result.index is not None:
        return result.index
    return next((at for at, cpus in enumerate(nodes(measurements.machine.nodes)) if result.cpus[0] in cpus), None)


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


KERNELS_SCHEMA: Final = "advisor-kernels/1"
"""The number rises when a key changes meaning or goes."""
_COLUMNS: Final = ("variant", "unit", "arrays", "read", "written", "flops", "iteration")


def own_kernels(measurements: Measurements, width: int) -> list[Line]:
    """Return, kernel by kernel, what was measured for its own sake."""
    found = list(sound(measurements, "kernel"))
    lines: list[Line] = []
    for kernel in dict.fromkeys(each.kernel for each in found):
        own = [each for each in found if each.kernel == kernel]
        sheet = measurements.sheet(kernel)
        about = ", ".join(word for word in (plain(sheet.summary) if sheet else "", how(own)) if word)
        rows = [_series_row(measurements, each, own) for each in own]
        head = ("part", "cores", "memory", "measures", "median", "", "spread")
        lines += [*heading(plain(kernel), about, width), *table(head, rows, width, "lrllrlr", short=3)]
    return lines


def _series_row(measurements: Measurements, result: Result, own: Sequence[Result]) -> list[Cell]:
    alike = [each.median for each in own if (each.variant, each.unit) == (result.variant, result.unit)]
    value: Cell = (amount(result.median, result.unit), "title")
    return [
        part_name(result.part, result.index),
        str(len(result.cpus)),
        distance(result.distance),
        title(measurements, result.kernel, result.variant),
        value,
        Bar(result.median / max(alike)),
        percent(result.spread),
    ]


def kernels_page(kernels: Iterable[KernelSheet], wrong: Iterable[str] = (), width: int | None = None) -> RenderableType:
    """Return what every kernel can measure, and which header comments cannot be read."""
    sheets, problems = tuple(kernels), tuple(wrong)
    return MeasuredPage(lambda room: _list(sheets, problems, room), width)


def kernels_document(kernels: Iterable[KernelSheet], wrong: Sequence[str]) -> dict[str, Any]:
    """Return the same as plain JSON values."""
    return {"schema": KERNELS_SCHEMA, "kernels": [each.model_dump(mode="json") for each in kernels], "wrong": [*wrong]}


def _list(kernels: Sequence[KernelSheet], wrong: Sequence[str], width: int) -> list[Line]:
    lines = [line for each in kernels for line in _kernel(each, width)]
    lines += [line for each in wrong for line in wrapped([("! ", "warn"), (plain(each), "warn")], width, indent=2)]
    return lines[1:] if lines and not lines[0] else lines


def _kernel(sheet: KernelSheet, width: int) -> list[Line]:
    where = "between hosts or ranks, by MPI" if sheet.mpi else f"on {', '.join(part_name(part) for part in sheet.parts)}"
    rows: list[list[Cell]] = [
        [
            plain(each.name, 40),
            plain(each.unit, 40),
            *map(_amount, (each.arrays, each.read, each.written, each.flops)),
        ]
        for each in sheet.variants
    ]
    told = [_COLUMNS[-1], *(each.iteration for each in sheet.variants)]
    lines = table(_COLUMNS[:-1], rows, width, "llrrrr")
    result = heading(sheet.name, f"{sheet.summary}, {where}", width)
    for line, words in zip(lines, told, strict=True):
        result += wrapped([*line, (f"  {plain(words, 400)}", "")], width, indent=min(width_of(line) + 2, max(4, width - 24)))
    return result


def _amount(number: int | None) -> str:
    return "-" if number is None else str(number)
