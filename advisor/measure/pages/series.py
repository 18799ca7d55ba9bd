"""Series of figures by size, and the figures of any kernel, in columns."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from statistics import median
from typing import Any, Final

from rich.console import RenderableType

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.units import plain
from advisor.measure.measurement import Distance, KernelSheet, Measurements, Order, Part, Purpose, Result, Unit
from advisor.measure.pages.figures import (
    DISTANCES,
    Bar,
    Cell,
    MeasuredPage,
    amount,
    distance,
    heading,
    how,
    part_name,
    percent,
    table,
)
from advisor.show.lines import Line, width_of, wrapped

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
        rows = [_row(measurements, each, own) for each in own]
        head = ("part", "cores", "memory", "measures", "median", "", "spread")
        lines += [*heading(plain(kernel), about, width), *table(head, rows, width, "lrllrlr", short=3)]
    return lines


def _row(measurements: Measurements, result: Result, own: Sequence[Result]) -> list[Cell]:
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
