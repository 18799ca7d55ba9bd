"""Floating point on a terminal: what the cores reach with each kind of instruction, and at which clock."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from advisor.model.measurement import Measurements, Part, Result
from advisor.render.lines import Line
from advisor.render.measured_data import sound
from advisor.render.measured_paint import Bar, Cell, heading, table
from advisor.render.measured_words import figure, how, isa, number, part_name, percent

OPERATIONS = {
    "fma": "fused multiply-add",
    "muladd": "multiply and add",
    "add": "add",
    "mul": "multiply",
    "chain": "chain of adds",
}
_WIDTHS = ("avx512", "sve", "avx2", "avx", "neon", "sse2", "scalar")


@dataclass(frozen=True, slots=True)
class Peak:
    """One kind of instruction on so many cores of alike parts."""

    operation: str
    width: str
    part: Part
    cores: int
    results: tuple[Result, ...]

    @property
    def value(self) -> float:
        """What a part of this kind reaches."""
        return median(result.median for result in self.results)

    @property
    def clock(self) -> float | None:
        """The clock meanwhile, where the kernel told it."""
        clocks = [result.details.get("clock") for result in self.results]
        known = [float(clock) for clock in clocks if isinstance(clock, int | float) and isfinite(clock) and clock > 0]
        return median(known) if known else None


def kind(result: Result) -> tuple[str, str]:
    """Return the operation and the width of the instructions: ``fma`` and ``avx512``."""
    width, _, operation = result.variant.rpartition("-")
    return operation, width or result.isa or ""


def peaks(results: Iterable[Result]) -> list[Peak]:
    """Return results by kind of instruction and by cores, the widest first."""
    groups: dict[tuple[str, str, Part, int], list[Result]] = defaultdict(list)
    for result in results:
        groups[*kind(result), result.part, len(result.cpus)].append(result)
    return sorted((Peak(*key, tuple(found)) for key, found in groups.items()), key=_order)


def _order(peak: Peak) -> tuple[int, int, int]:
    width = _WIDTHS.index(peak.width) if peak.width in _WIDTHS else len(_WIDTHS)
    operation = list(OPERATIONS).index(peak.operation) if peak.operation in OPERATIONS else len(OPERATIONS)
    return -peak.cores, width, operation


def flops(measurements: Measurements, width: int) -> list[Line]:
    """Return floating-point rates with bars, the clock and the operations a cycle."""
    found = [each for each in sound(measurements, "peakflops", "peak", "roofline") if each.unit == "flop/s"]
    if not found:
        return []
    rows = peaks(found)
    most = max(row.value for row in rows)
    head = ("double precision", "width", "cores", "GFLOP/s", "", "spread", "GHz", "flop/cycle")
    body = [_flops(row, most) for row in rows]
    about = f"{how(found)}; flop/cycle are of one core"
    return [*heading("Floating point", about, width), *table(head, body, width, "llrrlrrr")]


def _flops(row: Peak, most: float) -> list[Cell]:
    clock = row.clock
    cycle = "-" if clock is None else figure(row.value / row.cores / clock)
    spread = percent(max(result.spread for result in row.results))
    value: Cell = (number(row.value, "flop/s"), "title")
    name = OPERATIONS.get(row.operation, row.operation)
    cores = f"{len(row.results)}x {row.cores}" if len(row.results) > 1 else str(row.cores)
    return [
        name,
        isa(row.width),
        cores,
        value,
        Bar(row.value / most),
        spread,
        "-" if clock is None else number(clock, "hertz"),
        cycle,
    ]


def clocks(measurements: Measurements, width: int) -> list[Line]:
    """Return the clocks that were measured for themselves."""
    found = list(sound(measurements, "peakflops", "clock"))
    if not found:
        return []
    groups: dict[tuple[Part, int, str], list[Result]] = defaultdict(list)
    for result in found:
        groups[result.part, len(result.cpus), _busy(result)].append(result)
    rows = [_clock(name, results) for (_, _, name), results in sorted(groups.items(), key=lambda item: item[0][1:])]
    repeats = how([result.model_copy(update={"isa": None}) for result in found])
    lines = heading("Clock", repeats, width)
    return lines + table(("part", "cores", "busy with", "GHz", "lowest to highest"), rows, width, "lrlrl")


def _busy(result: Result) -> str:
    """Return what the cores did while their clock was taken."""
    operation, width = kind(result)
    load = str(result.details.get("load", operation))
    return ", ".join(part for part in (isa(width), OPERATIONS.get(load, "")) if part)


def _clock(name: str, results: Sequence[Result]) -> list[Cell]:
    first = results[0]
    places = {result.index for result in results}
    part = part_name(first.part, first.index if len(places) == 1 else None, len(places))
    ordered = sorted(result.median for result in results)
    far = f"{number(ordered[0], 'hertz')} to {number(ordered[-1], 'hertz')}" if len(ordered) > 1 else ""
    value: Cell = (number(median(ordered), "hertz"), "title")
    return [part, str(len(first.cpus)), name, value, (far, "dim")]
