"""Latency in tables: of each part, by working set, under load; and the matrices of NUMA nodes and of cores."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.units import binary, count
from advisor.measure.measurement import Measurements, Unit
from advisor.measure.pages.bandwidth import part_groups
from advisor.measure.pages.series import (
    Bar,
    Cell,
    Curve,
    Matrix,
    Pair,
    distance,
    ends,
    heading,
    heat,
    how,
    ladder,
    loaded,
    matrices,
    nodes,
    number,
    round_trips,
    sound,
    table,
    unit_name,
)
from advisor.show.cpulists import listed
from advisor.show.lines import Line, Span, cut, width_of, wrapped

_MOST_STEPS = 26
"""Rows of the ladder; of more sizes those that are powers of two stand there."""


def by_part(measurements: Measurements, width: int) -> list[Line]:
    """Return latency part by part, where no matrix has it."""
    found = [] if matrices(measurements, "seconds") else list(sound(measurements, "part", "matrix", unit="seconds"))
    if not found:
        return []
    rows = part_groups([result.model_copy(update={"purpose": "part"}) for result in found])
    most = max(row.value for row in rows)
    body: list[list[Cell]] = [
        [row.name, row.label[1], (number(row.value, "seconds"), "title"), Bar(row.value / most), row.apart] for row in rows
    ]
    lines = heading("Memory latency", f"ns a load, {how(found)}", width)
    return lines + table(("part", "memory", "ns", "", "spread"), body, width, "llrlr")


def by_working_set(measurements: Measurements, known: Mapping[str, int], width: int) -> list[Line]:
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


_MOST_CPUS = 16
"""Up to so many CPUs a round trip stands in a square; of more it is summarised."""

_AIRY = 8
"""Up to so many columns a square has a blank on both sides."""

_STEP = 1.3
"""Round trips that lie further apart than this are of different kinds: inside an L3 and outside it they differ by more."""

_TITLES: dict[Unit, str] = {"bytes/s": "Bandwidth from node to node", "seconds": "Latency from node to node"}


def numa(measurements: Measurements, unit: Unit, width: int) -> list[Line]:
    """Return bandwidth or latency between NUMA nodes."""
    return [line for each in matrices(measurements, unit) for line in _numa(each, width)]


def _numa(matrix: Matrix, width: int) -> list[Line]:
    better = "less" if matrix.unit == "seconds" else "more"
    about = f"{unit_name(matrix.unit)}, {matrix.variant}, {how(matrix.results)}; {better} is better"
    lines = heading(_TITLES[matrix.unit], about, width)
    written = {pair: number(value, matrix.unit) for pair, value in matrix.values.items()}
    named = ("CPUs", "memory", better == "more")
    squares = _squares(matrix.rows, matrix.columns, matrix.values, written, named)
    return lines + (squares if width_of(squares[0]) <= width else _by_distance(matrix, width))


def _squares(
    rows: Sequence[int],
    columns: Sequence[int],
    values: Mapping[Pair, float],
    written: Mapping[Pair, str],
    named: tuple[str, str, bool],
) -> list[Line]:
    """Return coloured squares with their numbers; named are the rows, the columns, and whether more is better."""
    widest = max(map(len, (*written.values(), *map(str, columns))))
    room = widest + 2 if len(columns) <= _AIRY else widest + 1
    left, over, more = named
    heads = ((f"{column:>{room - 1}} ", "label") for column in columns)
    lines: list[Line] = [((f"  {left:<5}", "label"), *heads, (f" {over}" if over else "", "label"))]
    known = list(values.values())
    for row in rows:
        squares: list[Span] = [(f"  {row:>4} ", "label")]
        for column in columns:
            value = values.get((row, column))
            word = written.get((row, column), "-" if row == column else "?")
            squares.append((f"{word:>{room - 1}} ", "" if value is None else heat(value, known, more_is_better=more)))
        lines.append(tuple(squares))
    return lines


def _by_distance(matrix: Matrix, width: int) -> list[Line]:
    """Return a matrix that is too wide by distance: what lies in the middle and at the ends."""
    groups: dict[str, list[float]] = defaultdict(list)
    for result in matrix.results:
        groups[distance(result.distance) or "not known"].append(result.median)
    rows = [
        (name, str(len(found)), *(number(value, matrix.unit) for value in (median(found), min(found), max(found))))
        for name, found in groups.items()
    ]
    return table(("memory", "pairs", "median", "lowest", "highest"), rows, width, "lrrrr")


def cores(measurements: Measurements, machine: Machine | None, width: int) -> list[Line]:
    """Return round trips between CPUs: of few CPUs each, of many by where they lie, and which are closest in any case."""
    trips = round_trips(measurements)
    if not trips:
        return []
    cpus = sorted({cpu for pair in trips for cpu in pair})
    about = f"ns for a round trip of a cache line, {count(len(trips), 'pair')} of {count(len(cpus), 'CPU')}; less is better"
    lines = heading("From core to core", about, width)
    both = {**trips, **{(b, a): time for (a, b), time in trips.items()}}
    written = {pair: number(time, "seconds") for pair, time in both.items()}
    squares = _squares(cpus, cpus, both, written, ("CPU", "", False)) if len(cpus) <= _MOST_CPUS else []
    if squares and width_of(squares[0]) <= width:
        return lines + squares + _closest(trips, width)
    return lines + _kinds(_sorted_by_place(trips, measurements, machine), width) + _closest(trips, width)


def _kinds(groups: Mapping[str, Sequence[float]], width: int) -> list[Line]:
    rows = [
        (name, str(len(found)), *(number(value, "seconds") for value in (median(found), min(found), max(found))))
        for name, found in groups.items()
        if found
    ]
    return table(("both CPUs in", "pairs", "median", "fastest", "slowest"), rows, width, "lrrrr")


def _sorted_by_place(trips: Mapping[Pair, float], measurements: Measurements, machine: Machine | None) -> dict[str, list[float]]:
    """Return round trips by the smallest part that holds both CPUs."""
    places = _places(measurements, machine)
    apart = f"{places[-1][0].replace('one', 'two')}s"
    groups: dict[str, list[float]] = {name: [] for name in (*(name for name, _ in places), apart)}
    where = {name: {cpu: at for at, cpus in enumerate(sets) for cpu in cpus} for name, sets in places}
    for (a, b), time in trips.items():
        shared = (name for name, of in where.items() if a in of and of[a] == of.get(b))
        groups[next(shared, apart)].append(time)
    return groups


def _places(measurements: Measurements, machine: Machine | None) -> list[tuple[str, list[CpuSet]]]:
    """Return the parts of a machine, smallest first; without it only the NUMA nodes are known."""
    seen = machine.topology if machine else None
    if seen is None:
        return [("one NUMA node", list(nodes(measurements.machine.nodes)))]
    return [
        ("one core", [core.cpuset for core in seen.cores]),
        ("one L3 group", [cache.cpuset for cache in seen.l3]),
        ("one NUMA node", [node.cpuset for node in seen.cpu_nodes]),
        ("one socket", [package.cpuset for package in seen.packages]),
    ]


def _closest(trips: Mapping[Pair, float], width: int) -> list[Line]:
    """Return the CPUs that are closest to each other, known by the round trips alone."""
    fast = nearest(trips)
    if len(trips) < 3:  # two CPUs have nobody else to be compared with
        return []
    if not fast:
        return wrapped([("  All pairs are alike: nothing shows that some CPUs share a cache.", "")], width)
    groups = joined(pair for pair, time in trips.items() if time <= fast)
    words = cut("  ".join(listed(group) for group in groups), 4 * width)
    below = f"  Closest to each other, at most {number(fast, 'seconds')} ns: "
    return wrapped([(below, "label"), (words, "")], width, indent=4)


def nearest(trips: Mapping[Pair, float]) -> float | None:
    """Return the slowest of the fastest kind of round trip; None where there is only one kind."""
    ordered = sorted(trips.values())
    return next((low for low, high in pairwise(ordered) if high > low * _STEP), None)


def joined(pairs: Iterable[Pair]) -> list[CpuSet]:
    """Return CPUs in groups, so that every pair lies in one."""
    groups: list[CpuSet] = []
    for pair in pairs:
        both = CpuSet(pair)
        touched = [group for group in groups if group & both]
        groups = [group for group in groups if not group & both] + [union([both, *touched])]
    return sorted(groups, key=lambda group: group.first or 0)
