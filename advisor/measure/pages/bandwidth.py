"""Bandwidth in tables: each part of the machine, each pattern, one core of each L3 against all, more and more threads."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from advisor.measure.measurement import Distance, Measurements, Part, Purpose, Result
from advisor.measure.pages.series import (
    DISTANCES,
    PARTS,
    Bar,
    Cell,
    cores,
    distance,
    heading,
    headline,
    how,
    number,
    part_name,
    percent,
    scaling,
    sound,
    table,
)
from advisor.show.lines import Line

_OF_PARTS: tuple[Purpose, ...] = ("part", "half", "sparse")
_MOST_THREADS = 20
"""Rows of the table of threads; a chart has all."""


@dataclass(frozen=True, slots=True)
class PartGroup:
    """Parts of one kind, measured in the same way: one row."""

    part: Part
    purpose: Purpose
    away: Distance | None
    variant: str
    results: tuple[Result, ...]

    @property
    def name(self) -> str:
        """What was measured."""
        places = {result.index for result in self.results}
        return part_name(self.part, self.results[0].index if len(places) == 1 else None, len(places))

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
    def cores(self) -> str:
        """How many threads worked on a part."""
        return cores((len(result.cpus) for result in self.results), self.purpose)

    @property
    def label(self) -> tuple[str, str, str]:
        """What was measured, where its memory was, and how many cores worked."""
        return self.name, distance(self.away), self.cores

    @property
    def extent(self) -> str:
        """The lowest and the highest of several parts, with the number of the lowest."""
        if len(self.results) == 1:
            return ""
        low, high = (find(self.results, key=_median) for find in (min, max))
        where = "" if low.index is None else f" (no. {low.index})"
        return f"{number(low.median, 'bytes/s')}{where} to {number(high.median, 'bytes/s')}"


def part_groups(results: Iterable[Result]) -> list[PartGroup]:
    """Return results by the kind of part, smallest first, one core of each L3 after all, near memory before far."""
    groups: dict[tuple[Part, Purpose, Distance | None, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.part, result.purpose, result.distance, result.variant].append(result)
    rows = [PartGroup(*key, tuple(found)) for key, found in groups.items()]
    return sorted(rows, key=_order)


def _median(result: Result) -> float:
    return result.median


def _order(row: PartGroup) -> tuple[int, int, int]:
    return PARTS.index(row.part), _OF_PARTS.index(row.purpose), DISTANCES.index(row.away)


def parts(measurements: Measurements, width: int) -> list[Line]:
    """Return the headline pattern part by part, with bars."""
    found = list(sound(measurements, *_OF_PARTS, unit="bytes/s"))
    variant = headline(found)
    shown = [result for result in found if result.variant == variant]
    if not shown:
        return []
    rows = part_groups(shown)
    most = max(row.value for row in rows)
    head = ("part", "memory", "cores", "GB/s", "", "spread", *_ceiling_head(rows), *_range_head(rows, width))
    body = [_part(row, most, head) for row in rows]
    about = f"{variant}, {how(shown)}"
    return [*heading("Memory bandwidth", about, width), *table(head, body, width, "lllrlrrl"), *_ranges(rows, width)]


def _ceiling_head(rows: Sequence[PartGroup]) -> tuple[str, ...]:
    return ("of ceiling",) if any(row.share is not None for row in rows) else ()


def _range_head(rows: Sequence[PartGroup], width: int) -> tuple[str, ...]:
    return ("lowest to highest",) if _wide(width) and any(row.extent for row in rows) else ()


def _wide(width: int) -> bool:
    return width >= 110


def _part(row: PartGroup, most: float, head: Sequence[str]) -> list[Cell]:
    share = "-" if row.share is None else percent(row.share)
    cells: dict[str, Cell] = {"of ceiling": share, "lowest to highest": (row.extent, "dim")}
    value = (number(row.value, "bytes/s"), "title")
    first: list[Cell] = [*row.label, value, Bar(row.value / most)]
    return [*first, row.apart, *(cells[name] for name in head[6:])]


def _ranges(rows: Sequence[PartGroup], width: int) -> list[Line]:
    """Return on lines of their own, where the table has no room for it, how far alike parts lie apart."""
    if _wide(width):
        return []
    told = [(*row.label, (row.extent, "dim")) for row in rows if row.extent]
    return table(("lowest to highest", "", "", "GB/s"), told, width) if told else []


def patterns(measurements: Measurements, width: int) -> list[Line]:
    """Return every pattern of every kind of part, where more than the headline was measured."""
    found = list(sound(measurements, *_OF_PARTS, unit="bytes/s"))
    names = list(dict.fromkeys(result.variant for result in found))
    if len(names) < 2:
        return []
    rows = part_groups(found)
    values = {(row.label, row.variant): number(row.value, "bytes/s") for row in rows}
    labels = list(dict.fromkeys(row.label for row in rows))
    left = sum(max(len(label[at]) for label in labels) + 2 for at in range(3))
    lines = heading("Every pattern", f"GB/s, bytes counted as STREAM does, {how(found)}; -nt stores past the cache", width)
    for some in _fitting(names, width - left):
        known = [label for label in labels if any((label, each) in values for each in some)]
        body = [(*label, *(values.get((label, each), "-") for each in some)) for label in known]
        lines += table(("part", "memory", "cores", *some), body, width, "lll" + "r" * len(some))
    return lines


def _fitting(names: Sequence[str], room: int) -> Iterator[Sequence[str]]:
    """Yield names of columns in lines, as many in each as fit beside the labels."""
    some: list[str] = []
    for name in names:
        if some and sum(max(5, len(each)) + 2 for each in (*some, name)) > room:
            yield some
            some = []
        some.append(name)
    yield some


def sparse(measurements: Measurements, width: int) -> list[Line]:
    """Return one core of each L3 group against all cores of the same part and pattern."""
    all_cores = {_same(result): result for result in sound(measurements, "part", unit="bytes/s")}
    pairs: dict[tuple[Part, str], list[tuple[Result, Result]]] = defaultdict(list)
    for result in sound(measurements, "sparse"):
        if _same(result) in all_cores:
            pairs[result.part, result.variant].append((result, all_cores[_same(result)]))
    if not pairs:
        return []
    ordered = sorted(pairs, key=lambda key: PARTS.index(key[0]))
    rows = [_gain(pairs[key], first=at == 0 or key[0] != ordered[at - 1][0]) for at, key in enumerate(ordered)]
    head = ("part", "cores", "pattern", "1 per L3", "all", "gain", "gains")
    lines = heading(
        "One core of each L3 group against all cores", f"GB/s, {how([r for two in pairs.values() for r, _ in two])}", width
    )
    return lines + table(head, rows, width, "lllrrrl")


def _same(result: Result) -> tuple[object, ...]:
    return result.part, result.index, result.variant, result.distance, result.memory


def _gain(pairs: Sequence[tuple[Result, Result]], *, first: bool) -> list[Cell]:
    few, full = (median(pair[at].median for pair in pairs) for at in (0, 1))
    gains = sorted(one.median / every.median - 1 for one, every in pairs)
    one, every = pairs[0]
    places = {one.index for one, _ in pairs}
    name = part_name(one.part, one.index if len(places) == 1 else None, len(places))
    low, high = _signed(gains[0]), _signed(gains[-1])
    return [
        name if first else "",
        f"{len(one.cpus)} of {len(every.cpus)}" if first else "",
        one.variant,
        number(few, "bytes/s"),
        number(full, "bytes/s"),
        (_signed(median(gains)), "title"),
        (f"{low} to {high}" if low != high else "", "dim"),
    ]


def _signed(share: float) -> str:
    return f"{'+' if share >= 0 else '-'}{percent(abs(share))}"


def threads(measurements: Measurements, width: int) -> list[Line]:
    """Return bandwidth over threads, a column for each pattern; of many rows a part."""
    curves = scaling(measurements)
    if not curves:
        return []
    values = {(curve.name, x): y for curve in curves for x, y in curve.points}
    numbers = sorted({x for curve in curves for x, _ in curve.points})
    shown = _some(numbers)
    lines = heading("Thread scaling", f"GB/s, {how([r for curve in curves for r in curve.results])}", width)
    for names in _fitting([curve.name for curve in curves], width - 9):
        cells = [(str(int(x)), *(_value(values.get((name, x))) for name in names)) for x in shown]
        lines += table(("threads", *names), cells, width, "r" * (len(names) + 1))
    return lines


def _some(numbers: Sequence[float]) -> list[float]:
    """Return the numbers, of many an even choice with the first and the last."""
    if len(numbers) <= _MOST_THREADS:
        return list(numbers)
    steps = _MOST_THREADS - 1
    return [numbers[round(at * (len(numbers) - 1) / steps)] for at in range(_MOST_THREADS)]


def _value(rate: float | None) -> str:
    return "-" if rate is None else number(rate, "bytes/s")
