"""Bars beside what bounds them: bandwidth of parts, messages near an adapter and far from it, HPL and its peaks."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from advisor.machine.units import binary, plain
from advisor.measure.charts.canvas import COLOURS, FAINT, GRID, INK, entitle, sheet
from advisor.measure.measurement import Measurements, Part, Result, Unit, reported_or_zero, reported_text
from advisor.measure.pages.series import PARTS, amount, headline, part_name, percent, scaled, sound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Bar:
    """One bar: what it is, how long, from where to where alike things lie, what it cannot exceed."""

    name: str
    value: float
    low: float
    high: float
    ceiling: float | None
    results: tuple[Result, ...]
    slowest: str = ""


_MANY: Final = 2
_APART: Final = 0.03
"""Alike parts that lie closer are drawn as one value."""


def parts(measurements: Measurements) -> tuple[Bar, ...]:
    """Return bandwidth of each kind of part from its own memory, medians over the parts of a kind, the smallest part first."""
    found = [each for each in sound(measurements, "part", unit="bytes/s") if each.distance in (None, "local", "spread")]
    pattern = headline(found)
    kinds: dict[Part, list[Result]] = defaultdict(list)
    for each in found:
        if each.variant == pattern and each.part != "pair":
            kinds[each.part].append(each)
    return tuple(_part(kinds[part]) for part in PARTS if part in kinds)


def _part(results: Sequence[Result]) -> Bar:
    values = sorted(each.median for each in results)
    first, many = results[0], len({each.index for each in results})
    lowest = min(results, key=lambda each: each.median)
    name = part_name(first.part, first.index if many == 1 else None, many)
    ceilings = {each.ceiling for each in results}
    apart = many > _MANY and values[0] < (1 - _APART) * median(values)
    slowest = f"slowest: {part_name(lowest.part, lowest.index)}" if apart else ""
    return Bar(
        name, median(values), values[0], values[-1], ceilings.pop() if len(ceilings) == 1 else None, tuple(results), slowest
    )


_NEAR: Final = {"local": "its own NUMA node", "same-socket": "same socket", "other-socket": "other socket"}


def messages(measurements: Measurements) -> dict[str, tuple[Bar, ...]]:
    """Return, adapter by adapter, what all cores of NUMA nodes reach at each distance from it: bandwidth, best size."""
    found: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for each in sound(measurements, "network", variant="mbw_mr", part="numa"):
        where = reported_text(each, "hca_distance")
        if where in _NEAR and reported_or_zero(each, "across"):
            found[plain(reported_text(each, "hca"), 40)][where].append(each)
    bars = {hca: tuple(_reach(where, places[where]) for where in _NEAR if where in places) for hca, places in found.items()}
    return {hca: each for hca, each in bars.items() if each}


def _reach(where: str, results: Sequence[Result]) -> Bar:
    best: dict[int | None, Result] = {}
    for each in results:
        if each.index not in best or each.median > best[each.index].median:
            best[each.index] = each
    values = sorted(each.median for each in best.values())
    ceilings = [each.ceiling for each in best.values() if each.ceiling]
    return Bar(
        f"ranks on\n{_NEAR[where]}", median(values), values[0], values[-1], max(ceilings, default=None), tuple(best.values())
    )


def peaks(measurements: Measurements) -> tuple[Bar, ...]:
    """Return HPL of the most that worked, and what bounds it: DGEMM, the peak under load, the peak at base clock."""
    runs = [each for each in sound(measurements, "hpl") if each.kernel == "hpl"]
    if not runs:
        return ()
    best = max(runs, key=lambda each: (reported_or_zero(each, "cores"), each.median))
    size = f"HPL, N = {reported_or_zero(best, 'n'):.0f}"
    bounds = (
        ("DGEMM,\nall ranks at once", "dgemm_all"), ("peak under load:\nFMA on all cores", "peak_load"),
        ("peak at base clock", "peak_base"),
    )  # fmt: skip
    bars = [Bar(size, best.median, min(best.values), max(best.values), None, (best,))]
    bars += [Bar(name, rate, rate, rate, None, (best,)) for name, key in bounds if (rate := reported_or_zero(best, key))]
    return tuple(bars) if len(bars) > 1 else ()


def draw_parts(measurements: Measurements, bars: Sequence[Bar]) -> "Figure":
    """Return bandwidth by part, each beside what its DIMMs could carry."""
    pattern = headline(result for bar in bars for result in bar.results) or ""
    words = [_beside(bar, "bytes/s") for bar in bars]
    drawn = _bars(bars, words, "bytes/s", [COLOURS[0]] * len(bars))
    about = "whiskers: from the slowest to the fastest of its kind"
    entitle(drawn, f"bandwidth of one part at a time ({pattern})", measurements, _results(bars), about)
    return drawn


def draw_messages(measurements: Measurements, hcas: dict[str, tuple[Bar, ...]]) -> "Figure":
    """Return what ranks near an adapter reach between two hosts, and what those far from it do."""
    bars = [bar for each in hcas.values() for bar in each]
    nears = [each[0].value for each in hcas.values() for _ in each]
    words = [_beside(bar, "bytes/s", near if bar.value != near else None) for bar, near in zip(bars, nears, strict=True)]
    drawn = _bars(bars, words, "bytes/s", [COLOURS[2 if "own" in bar.name else 0 if "same" in bar.name else 1] for bar in bars])
    entitle(drawn, f"messages between two hosts, through {', '.join(hcas)}", measurements, _results(bars), "one way, best size")
    return drawn


def draw_peaks(measurements: Measurements, bars: Sequence[Bar]) -> "Figure":
    """Return HPL beside what bounds it."""
    words = [
        f"{amount(bar.value, 'flop/s')}" + (f"\nHPL reaches {percent(bars[0].value / bar.value)}" if at else "")
        for at, bar in enumerate(bars)
    ]
    drawn = _bars(bars, words, "flop/s", [COLOURS[0], *[FAINT] * (len(bars) - 1)])
    entitle(drawn, "HPL beside its peaks", measurements, _results(bars[:1]))
    return drawn


def _results(bars: Sequence[Bar]) -> list[Result]:
    return [result for bar in bars for result in bar.results]


def _beside(bar: Bar, unit: Unit, near: float | None = None) -> str:
    share = f", {percent(bar.value / bar.ceiling)} of {amount(bar.ceiling, unit)}" if bar.ceiling else ""
    size = max((result.bytes or 0 for result in bar.results), default=0) if near is not None else 0
    far = f"\n{100 * (bar.value / near - 1):+.0f} % against near, {binary(size)} messages" if near else ""
    low = f"\n{bar.slowest}, {amount(bar.low, unit)}" if bar.slowest else ""
    return f"{amount(bar.value, unit)}{share}{low}{far}"


def _bars(bars: Sequence[Bar], words: Sequence[str], unit: Unit, colours: Sequence[str]) -> "Figure":
    """Return bars from the left, each with its words; the room behind a bar ends at its ceiling."""
    high = 1.35 + 0.62 * len(bars)
    whole = sheet((10.0, high))
    axes = whole.add_axes((0.20, 0.5 / high, 0.77, (high - 1.35) / high))
    most = max(max(bar.high, bar.ceiling or 0.0) for bar in bars)
    for at, (bar, word, colour) in enumerate(zip(bars, words, colours, strict=True)):
        if bar.ceiling:
            axes.barh(at, scaled(bar.ceiling, unit), height=0.56, color=GRID, edgecolor=FAINT, linewidth=0.8)
        axes.barh(at, scaled(bar.value, unit), height=0.34, color=colour)
        if bar.high > bar.low:
            ends = [scaled(bar.low, unit), scaled(bar.high, unit)]
            axes.plot(ends, [at, at], color=INK, linewidth=1.2, marker="|", markersize=7)
        end = scaled(max(bar.high, bar.ceiling or 0.0), unit)
        axes.annotate(word, (end, at), (6, 0), textcoords="offset points", va="center", fontsize=9.5, color=INK)
    longest = max(len(line) for word in words for line in word.split("\n"))
    _scale(axes, bars, scaled(most, unit), unit, room=1 / (1 - min(0.6, 0.0105 * longest + 0.02)))
    return whole


def _scale(axes: "Axes", bars: Sequence[Bar], most: float, unit: Unit, *, room: float) -> None:
    """Write what the bars are and how long; behind the longest there is room for its words."""
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, room * most)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    ticks = [tick for tick in axes.get_xticks() if 0 <= tick <= 1.001 * most]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel({"bytes/s": "GB/s", "flop/s": "GFLOP/s"}.get(unit, unit), loc="left")
