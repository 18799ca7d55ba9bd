"""Latency on a terminal: of each part, by the size of the working set, and while others stream."""

from collections.abc import Mapping, Sequence

from advisor.language.units import binary
from advisor.model.measurement import Measurements
from advisor.render.lines import Line
from advisor.render.measured_bandwidth import alike
from advisor.render.measured_data import Curve, ends, ladder, loaded, matrices, sound
from advisor.render.measured_paint import Bar, Cell, heading, table
from advisor.render.measured_words import how, number, percent

_MOST_STEPS = 26
"""Rows of the ladder; of more sizes those that are powers of two stand there."""


def near(measurements: Measurements, width: int) -> list[Line]:
    """Return latency part by part, where no matrix tells it."""
    found = [] if matrices(measurements, "memlat") else list(sound(measurements, "memlat", "part", "matrix"))
    if not found:
        return []
    rows = alike([result.model_copy(update={"purpose": "part"}) for result in found])
    most = max(row.value for row in rows)
    body: list[list[Cell]] = [
        [row.name, row.label[1], (number(row.value, "seconds"), "title"), Bar(row.value / most), percent(row.spread)]
        for row in rows
    ]
    lines = heading("Memory latency", f"ns a load, {how(found)}", width)
    return lines + table(("part", "memory", "ns", "", "spread"), body, width, "llrlr")


def steps(measurements: Measurements, known: Mapping[str, int], width: int) -> list[Line]:
    """Return latency by working set with bars, and where a cache is full whose size is known."""
    curves = ladder(measurements)
    if not curves:
        return []
    sizes = _sizes(sorted({x for curve in curves for x, _ in curve.points}))
    most = max(y for curve in curves for _, y in curve.points)
    full = ends(sizes, known)
    rows = [_step(size, curves, most, _mark(full.get(size), known)) for size in sizes]
    head = ("working set", *(curve.name for curve in curves), "", "")
    bars = f"; bars: {curves[0].name}" if len(curves) > 1 else ""
    about = f"ns a load, {how([result for curve in curves for result in curve.results])}{bars}"
    return [*heading("Latency by working set", about, width), *table(head, rows, width, "r" * (len(curves) + 1) + "ll")]


def _sizes(sizes: Sequence[float]) -> list[float]:
    if len(sizes) <= _MOST_STEPS:
        return list(sizes)
    powers = [size for size in sizes if int(size) & (int(size) - 1) == 0]
    return powers if len(powers) > 4 else list(sizes)


def _step(size: float, curves: Sequence[Curve], most: float, mark: str) -> list[Cell]:
    found = [dict(curve.points).get(size) for curve in curves]
    drawn = next((value for value in found if value is not None), 0.0)
    values = ("-" if value is None else number(value, "seconds") for value in found)
    return [binary(int(size)), *values, Bar(drawn / most), (mark, "label")]


def _mark(name: str | None, known: Mapping[str, int]) -> str:
    return f"< {name} {binary(known[name])}" if name else ""


def under_load(measurements: Measurements, width: int) -> list[Line]:
    """Return latency on one core while the others stream."""
    lines: list[Line] = []
    curves = loaded(measurements)
    for curve in curves:
        most = max(y for _, y in curve.points)
        rows = [(number(x, "bytes/s") if x else "idle", number(y, "seconds"), Bar(y / most)) for x, y in curve.points]
        where = "" if len(curves) == 1 and curve.name == "any memory" else f"{curve.name}, "
        lines += heading("Latency under load", f"{where}{how(curve.results)}", width)
        lines += table(("others, GB/s", "ns", ""), rows, width, "rr")
    return lines
