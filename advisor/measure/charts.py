"""Measurements as charts: SVG for a report, PNG for a mail, with direct labels and the same bytes every time.

They need matplotlib, which is an extra and only imported where a chart is asked for; nothing here touches pyplot or leaves its
settings changed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from math import isfinite, log2
from statistics import median
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, get_args

from advisor.errors import BadValue, CannotWork, did_you_mean
from advisor.machine.machine import Machine
from advisor.machine.units import binary, plain
from advisor.measure.figures import (
    OWN,
    PARTS,
    Curve,
    Matrix,
    Pair,
    Roofline,
    amount,
    caches,
    figure,
    headline,
    how,
    ladder,
    loaded,
    matrices,
    node_with,
    part_name,
    parts_name,
    percent,
    roofline,
    round_trips,
    scaled,
    scaling,
    sound,
    unit_name,
)
from advisor.measure.measurement import Contrast, Measurements, Part, Result, Unit, reported_or_zero, reported_text
from advisor.show.svg import AWAY, BETWEEN, HOME, ON_HEAT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ---- a sheet ----

Form = Literal["svg", "png"]

INK, FAINT, GRID = "#1f2933", "#52606d", "#d5dae0"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1f2933")
"""Of Okabe and Ito: distinguished by the colour-blind too."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (2, 1.5)), (0, (9, 2)), (0, (4, 1, 1, 1, 1, 1)), "-")
"""So that lines are distinguished in grey as well."""

SIZE = (10.0, 6.4)
DOTS = 110
_LETTER = 0.076
"""Inches that a letter of the conditions takes, on an average line."""

_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "advisor",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.unicode_minus": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


def need_matplotlib() -> None:
    """Refuse in one line where matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401 - only whether it is there
    except ImportError as error:
        problem = "charts need matplotlib, which is not installed; install it beside advisor: python -m pip install matplotlib"
        raise CannotWork(problem) from error


@contextmanager
def settings() -> Iterator[None]:
    """Draw with our settings alone, whatever the user's own file says; afterwards all is as before."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        ours: Any = mpl.rcParams  # their names are a type of their own, another in each version
        ours.update(_SETTINGS)
        yield


def sheet(size: tuple[float, float] = SIZE) -> "Figure":
    """Return an empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=DOTS, facecolor="white")


def written(figure: "Figure", form: Form) -> bytes:
    """Return a figure as a file, without the date and the version of what wrote it."""
    nothing: dict[Form, dict[str, Any]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    buffer = BytesIO()
    figure.savefig(buffer, format=form, metadata=nothing[form])
    return buffer.getvalue()


def entitle(figure: "Figure", title: str, measurements: Measurements, results: Sequence[Result], more: str = "") -> None:
    """Write what is drawn, of which machine, and under which conditions, in two lines where one is too short."""
    machine, told = measurements.machine, measurements.conditions
    idle = {True: "idle machine", False: "BUSY machine, results unreliable", None: "unknown whether idle"}[told.idle]
    parts = (plain(machine.cpu, 60) if machine.cpu else "", plain(told.started[:10], 10), idle, how(results), more)
    name = f"{plain(machine.name, 40)}: {title}" if machine.name else title[:1].upper() + title[1:]
    write_head(figure, name, parts)


def write_head(figure: "Figure", name: str, parts: Sequence[str]) -> None:
    """Write a title, and below it what there is to know of it."""
    wide, high = figure.get_size_inches()
    lines = wrap("; ".join(part for part in parts if part), int((wide - 0.3) / _LETTER), max_lines=2, placeholder=" ...")
    left = 0.2 / wide
    figure.text(left, 1 - 0.30 / high, name, fontsize=14, fontweight="bold", va="center")
    figure.text(left, 1 - 0.48 / high, "\n".join(lines), fontsize=9, color=FAINT, va="top")


Label = tuple[tuple[float, float], str, str]
"""A point of the chart, what is said of it, and in which colour."""


def beside(axes: "Axes", labels: Sequence[Label], gap: float = 0.078) -> None:
    """Write labels right of the axes, each joined to its point in its colour, no two closer than a share of the axes' height."""
    shares = [axes.transAxes.inverted().transform(axes.transData.transform(point)) for point, _, _ in labels]
    heights = spread([float(share[1]) for share in shares], gap)
    for share, (_, words, colour), height in zip(shares, labels, heights, strict=True):
        axes.annotate(
            words,
            xy=(float(share[0]), float(share[1])),
            xytext=(1.035, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 0},
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return heights near the wanted ones, in the same order, at least a gap apart, none above 1 or, if they fit, below 0."""
    order = sorted(range(len(wanted)), key=lambda at: -wanted[at])
    heights = [min(1.0, wanted[at]) for at in order]
    for at in range(1, len(heights)):
        heights[at] = min(heights[at], heights[at - 1] - gap)
    floor = 0.0
    for at in reversed(range(len(heights))):
        heights[at] = max(heights[at], floor)
        floor = heights[at] + gap
    placed = dict(zip(order, heights, strict=True))
    return [placed[at] for at in range(len(wanted))]


_LOOKS = {"faster": (COLOURS[2], "o"), "slower": (COLOURS[1], "s")}
"""In shape too, for those who see no green; what shows no difference is a hollow ring."""


def change_chart(rows: Sequence[Contrast], names: Sequence[str], title: str, form: Form) -> bytes:
    """Return the chart as a file; times are turned round, so that right is better of all."""
    need_matplotlib()
    with settings():
        high = 1.3 + 0.36 * len(rows)
        whole = sheet((10.0, high))
        axes = whole.add_axes((0.30, 0.55 / high, 0.46, (high - 1.2) / high))
        axes.axvline(0, color=INK, linewidth=1.2)
        for at, row in enumerate(rows):
            _change(axes, at, row)
        axes.set_yticks(range(len(rows)), [plain(name, 44) for name in names])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=True, axis="x")
        axes.margins(x=0.08)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g} %" if value else "0")
        axes.set_xlabel("improvement: bandwidth and rates higher, times lower")
        whole.text(0.02, 1 - 0.3 / high, plain(title, 100), fontsize=14, fontweight="bold", va="center")
        about = "lines: minimum to maximum of the repeats"
        whole.text(0.02, 1 - 0.55 / high, about, fontsize=9, color=FAINT, va="center")
        return written(whole, form)


def _change(axes: "Axes", at: int, row: Contrast) -> None:
    """Draw by how much one thing is better than the median before, in percent."""
    colour, marker = _LOOKS.get(row.says, (FAINT, "o"))
    before, values = row.before.median, (row.after.low, row.after.median, row.after.high)
    ratios = (before / value if row.unit == "seconds" else value / before for value in values)
    low, middle, most = (100 * (ratio - 1) for ratio in ratios)
    axes.plot([low, most], [at, at], color=colour, linewidth=2.2)
    filled = colour if row.says in _LOOKS else "white"
    axes.plot([middle], [at], marker=marker, markersize=8, color=colour, markerfacecolor=filled)
    words = f"{amount(before, row.unit)} → {amount(row.after.median, row.unit)}, p {row.p:.2g}"
    axes.annotate(words, (1.02, at), xycoords=("axes fraction", "data"), va="center", fontsize=9, annotation_clip=False)


# ---- bars beside what bounds them: bandwidth of parts, messages near an adapter and far from it, HPL and its peaks ----


@dataclass(frozen=True)
class Bar:
    """One bar: what it is, how long, from where to where alike things lie, what it cannot exceed."""

    name: str
    value: float
    low: float
    high: float
    results: tuple[Result, ...]
    ceiling: float | None = None
    words: str = ""


def _bar(name: str, results: Sequence[Result], ceiling: float | None, words: str = "") -> Bar:
    values = [each.median for each in results]
    return Bar(name, median(values), min(values), max(values), tuple(results), ceiling, words)


_MANY = 2
_APART = 0.03
"""Alike parts that lie closer are drawn as one value."""


def _parts(measurements: Measurements) -> list[Bar]:
    """Return bandwidth of each kind of part from its own memory, medians over the parts of a kind, the smallest part first."""
    found = [each for each in sound(measurements, "part", unit="bytes/s") if each.distance in OWN]
    pattern = headline(found)
    kinds: dict[Part, list[Result]] = defaultdict(list)
    for each in found:
        if each.variant == pattern and each.part != "pair":
            kinds[each.part].append(each)
    bars = []
    for part in sorted(kinds, key=PARTS.index):
        results, ceilings = kinds[part], {each.ceiling for each in kinds[part]}
        lowest = min(results, key=lambda each: each.median)
        apart = len({each.index for each in results}) > _MANY
        slowest = apart and lowest.median < (1 - _APART) * median(each.median for each in results)
        words = f"\nslowest: {part_name(lowest.part, lowest.index)}, {amount(lowest.median, 'bytes/s')}" if slowest else ""
        bars.append(_bar(parts_name(results), results, ceilings.pop() if len(ceilings) == 1 else None, words))
    return bars


_NEAR = {"local": "its own NUMA node", "same-socket": "same socket", "other-socket": "other socket"}


def _messages(measurements: Measurements) -> dict[str, list[Bar]]:
    """Return, adapter by adapter, what all cores of NUMA nodes reach at each distance from it: bandwidth, best size."""
    found: dict[str, dict[str, dict[int | None, Result]]] = defaultdict(lambda: defaultdict(dict))
    for each in sound(measurements, "network", variant="mbw_mr", part="numa"):
        where = reported_text(each, "hca_distance")
        if where in _NEAR and reported_or_zero(each, "across"):
            best = found[plain(reported_text(each, "hca"), 40)][where]
            if each.index not in best or each.median > best[each.index].median:
                best[each.index] = each
    bars: dict[str, list[Bar]] = {}
    for hca, places in found.items():
        for where in (where for where in _NEAR if where in places):
            results = list(places[where].values())
            ceiling = max((each.ceiling for each in results if each.ceiling), default=None)
            bars.setdefault(hca, []).append(_bar(f"ranks on\n{_NEAR[where]}", results, ceiling))
    return bars


def _peaks(measurements: Measurements) -> list[Bar]:
    """Return HPL of the most that worked, and what bounds it: DGEMM, the peak under load, the peak at base clock."""
    runs = [each for each in sound(measurements, "hpl") if each.kernel == "hpl"]
    if not runs:
        return []
    best = max(runs, key=lambda each: (reported_or_zero(each, "cores"), each.median))
    bounds = (
        ("DGEMM,\nall ranks at once", "dgemm_all"), ("peak under load:\nFMA on all cores", "peak_load"),
        ("peak at base clock", "peak_base"),
    )  # fmt: skip
    size = f"HPL, N = {reported_or_zero(best, 'n'):.0f}"
    bars = [Bar(size, best.median, min(best.values), max(best.values), (best,))]
    bars += [Bar(name, rate, rate, rate, (best,)) for name, key in bounds if (rate := reported_or_zero(best, key))]
    return bars if len(bars) > 1 else []


def _draw_parts(measurements: Measurements) -> "Figure":
    """Return bandwidth by part, each beside what its DIMMs could carry."""
    bars = _parts(measurements)
    results = [result for bar in bars for result in bar.results]
    drawn = _bars(bars, [_beside(bar) for bar in bars], "bytes/s", [COLOURS[0]] * len(bars))
    spread = any(bar.high > bar.low for bar in bars)
    about = "whiskers: slowest to fastest part of each kind" if spread else "no difference between parts of the same kind"
    entitle(drawn, f"bandwidth of one part at a time ({headline(results) or ''})", measurements, results, about)
    return drawn


def _draw_messages(measurements: Measurements) -> "Figure":
    """Return what ranks near an adapter reach between two hosts, and what those far from it do."""
    hcas = _messages(measurements)
    bars = [(bar, each[0].value) for each in hcas.values() for bar in each]
    words = [_beside(bar, near if bar.value != near else None) for bar, near in bars]
    colours = [COLOURS[2 if "own" in bar.name else 0 if "same" in bar.name else 1] for bar, _ in bars]
    drawn = _bars([bar for bar, _ in bars], words, "bytes/s", colours)
    results = [result for bar, _ in bars for result in bar.results]
    entitle(drawn, f"messages between two hosts, through {', '.join(hcas)}", measurements, results, "one way, best size")
    return drawn


def _draw_peaks(measurements: Measurements) -> "Figure":
    """Return HPL beside what bounds it."""
    bars = _peaks(measurements)
    words = [amount(bar.value, "flop/s") for bar in bars]
    words[1:] = [
        f"{word}\nHPL reaches {percent(bars[0].value / bar.value)}" for word, bar in zip(words[1:], bars[1:], strict=True)
    ]
    drawn = _bars(bars, words, "flop/s", [COLOURS[0], *[FAINT] * (len(bars) - 1)])
    entitle(drawn, "HPL compared with its peaks", measurements, bars[0].results)
    return drawn


def _beside(bar: Bar, near: float | None = None) -> str:
    share = f", {percent(bar.value / bar.ceiling)} of {amount(bar.ceiling, 'bytes/s')}" if bar.ceiling else ""
    size = max((result.bytes or 0 for result in bar.results), default=0)
    far = f"\n{100 * (bar.value / near - 1):+.0f} % relative to near ranks, {binary(size)} messages" if near else ""
    return f"{amount(bar.value, 'bytes/s')}{share}{bar.words}{far}"


def _bars(bars: Sequence[Bar], words: Sequence[str], unit: Unit, colours: Sequence[str]) -> "Figure":
    """Return bars from the left, each with its words; the room behind a bar ends at its ceiling."""
    high = 1.35 + 0.62 * len(bars)
    whole = sheet((10.0, high))
    axes = whole.add_axes((0.20, 0.5 / high, 0.77, (high - 1.35) / high))
    most = scaled(max(max(bar.high, bar.ceiling or 0.0) for bar in bars), unit)
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
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, most / (1 - min(0.6, 0.0105 * longest + 0.02)))  # behind the longest there is room for its words
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    ticks = [tick for tick in axes.get_xticks() if 0 <= tick <= 1.001 * most]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel(unit_name(unit), loc="left")
    return whole


# ---- curves: bandwidth over threads, latency over working set and under load ----


def _draw_scaling(measurements: Measurements) -> "Figure":
    """Return bandwidth over threads, a curve a pattern, each labelled with what all threads reach."""
    curves = scaling(measurements)
    whole, axes, highest = _curves(curves, "bytes/s")
    numbers = sorted({int(x) for curve in curves for x, _ in curve.points})
    shown = [numbers[-1]]  # those measured that lie far enough from each other, the last among them
    for number in reversed(numbers):
        if shown[-1] - number >= numbers[-1] / 16:
            shown.append(number)
    axes.set_xlim(0, numbers[-1])
    axes.set_ylim(0, 1.08 * highest)
    axes.set_xticks(shown[::-1])
    axes.set_xlabel("threads, one per core")
    axes.set_ylabel("GB/s")
    entitle(whole, "bandwidth over threads", measurements, _label(axes, curves, "bytes/s"))
    return whole


def _draw_ladder(measurements: Measurements, levels: Mapping[str, int]) -> "Figure":
    """Return latency over the working set, with a line where each cache ends whose size is known."""
    curves = ladder(measurements)
    whole, axes, highest = _curves(curves, "seconds")
    low, high = scaled(min(y for curve in curves for _, y in curve.points), "seconds") / 1.6, highest * 1.6
    sizes = sorted({x for curve in curves for x, _ in curve.points})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(sizes[0], max(sizes[-1], 2 * sizes[0]))
    axes.set_ylim(low, high)
    powers = [2.0**power for power in range(8, 48) if sizes[0] <= 2.0**power <= sizes[-1]]
    shown = powers[:: -(-len(powers) // 12)]
    axes.set_xticks(shown, [binary(int(size)).replace(" ", "\n") for size in shown])
    axes.set_xticks([], minor=True)
    steps = [step * 10**power for power in range(-2, 7) for step in (1, 2, 5) if low <= step * 10**power <= high]
    axes.set_yticks(steps, [f"{step:g}" for step in steps])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("working set")
    axes.set_ylabel("ns per load")
    look: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 9, "color": FAINT, "textcoords": "offset points"}
    for name, size in levels.items():
        if sizes[0] < size < sizes[-1]:
            axes.axvline(size, color=FAINT, linewidth=1.1, linestyle=(0, (3, 2)))
            axes.annotate(f"{name}\n{binary(size)}", (size, 1.0), (-4, -3), xycoords=("data", "axes fraction"), **look)
    entitle(whole, "latency by working set", measurements, _label(axes, curves, "seconds"))
    return whole


def _draw_loaded(measurements: Measurements) -> "Figure":
    """Return latency on one core over what the others stream."""
    curves = tuple(
        Curve(curve.name, tuple((x * 1e-9, y) for x, y in curve.points), curve.results) for curve in loaded(measurements)
    )
    whole, axes, highest = _curves(curves, "seconds")
    axes.set_xlim(0, 1.03 * max(x for curve in curves for x, _ in curve.points) or 1)
    axes.set_ylim(0, 1.1 * highest)
    axes.set_xlabel("GB/s streamed by the other cores")
    axes.set_ylabel("ns per load")
    results = _label(axes, curves, "seconds")
    for curve in curves:
        x, y = curve.points[0]
        words = f"{amount(y, 'seconds')}{' idle' if x == 0 else ''}"
        axes.annotate(words, (x, scaled(y, "seconds")), (6, -14), textcoords="offset points", fontsize=9, color=FAINT)
    entitle(whole, "latency under load", measurements, results)
    return whole


def _curves(curves: Sequence[Curve], unit: Unit) -> tuple["Figure", "Axes", float]:
    """Return a sheet with curves, and the highest of their points."""
    whole = sheet()
    axes = whole.add_axes((0.075, 0.1, 0.745, 0.75))
    axes.grid(visible=True)
    for number, curve in enumerate(curves):
        at = number % len(COLOURS)
        look: dict[str, Any] = {"color": COLOURS[at], "marker": MARKERS[at], "linestyle": DASHES[at]}
        xs, ys = [x for x, _ in curve.points], [scaled(y, unit) for _, y in curve.points]
        axes.plot(xs, ys, markersize=5, linewidth=1.8, clip_on=False, label=curve.name, **look)
    return whole, axes, scaled(max(y for curve in curves for _, y in curve.points), unit)


def _label(axes: "Axes", curves: Sequence[Curve], unit: Unit) -> list[Result]:
    """Write the name of each curve and its last value where it ends; return the results behind them."""
    labels: list[Label] = []
    for at, curve in enumerate(curves):
        x, y = curve.points[-1]
        labels.append(((x, scaled(y, unit)), f"{curve.name}\n{amount(y, unit)}", COLOURS[at % len(COLOURS)]))
    beside(axes, labels)
    return [result for curve in curves for result in curve.results]


# ---- heat maps: NUMA nodes, cores ----

_NUMBERED = 16
"""Up to so many columns each square has its number; of more there is a scale."""

_FARTHEST = (0x7A, 0x2E, 0x3A)
"""Where no numbers stand in the squares, the end of the scale is darker."""

_FEW = 4
_VECTORS = 1024
"""With more squares than this an SVG holds them as one image."""


def _draw_nodes(measurements: Measurements, unit: Unit) -> "Figure":
    """Return matrices of NUMA nodes beside each other."""
    shown: Sequence[Matrix] = matrices(measurements, unit)[:2]
    # Few nodes need little room: a square is then as large as its number asks for.
    few = max(len(matrix.columns) for matrix in shown) <= _FEW
    whole = sheet(((8.0, 4.4) if few else (10.8, 6.2)) if len(shown) > 1 else (5.4, 5.0) if few else (6.8, 6.8))
    for number, matrix in enumerate(shown):
        wide = 1 / len(shown)
        axes = whole.add_axes(((number + 0.12) * wide, 0.04, 0.84 * wide, 0.66 if few else 0.73))
        _squares(whole, axes, (matrix.rows, matrix.columns), matrix.values, unit)
        axes.set_ylabel("CPUs of NUMA node")
        axes.set_xlabel(f"{matrix.variant}, {unit_name(unit)}: memory of NUMA node")
    better, what = ("higher", "bandwidth") if unit == "bytes/s" else ("lower", "latency")
    results = [result for matrix in shown for result in matrix.results]
    entitle(whole, f"{what} between NUMA nodes", measurements, results, f"{better} is better; light colours are good")
    return whole


def _draw_cores(measurements: Measurements) -> "Figure":
    """Return the round trips between CPUs, with lines between the NUMA nodes."""
    trips = round_trips(measurements)
    cpus = sorted({cpu for pair in trips for cpu in pair})
    whole = sheet((8.4, 7.6))
    axes = whole.add_axes((0.08, 0.05, 0.8, 0.78))
    _squares(whole, axes, (cpus, cpus), {**trips, **{(b, a): time for (a, b), time in trips.items()}}, "seconds")
    homes = [node_with(measurements, cpu) for cpu in cpus]
    edges = [at for at, (a, b) in enumerate(pairwise(homes), 1) if a != b]
    for edge in edges if len(edges) < len(cpus) / 2 else ():
        axes.axhline(edge, color=INK, linewidth=0.8)
        axes.axvline(edge, color=INK, linewidth=0.8)
    axes.set_ylabel("CPU")
    axes.set_xlabel("round trip of a cache line to CPU, ns")
    lines = "; lines separate NUMA nodes" if edges else ""
    entitle(whole, "core-to-core latency", measurements, [], f"lower is better; light colours are good{lines}")
    return whole


def _squares(
    whole: "Figure", axes: "Axes", sides: tuple[Sequence[int], Sequence[int]], values: Mapping[Pair, float], unit: Unit
) -> None:
    """Draw squares, light where near and dark where far: of few columns with their numbers, of more with a scale."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = sides
    numbered = len(columns) <= _NUMBERED
    stops = [HOME, BETWEEN, AWAY] if numbered else [HOME, BETWEEN, AWAY, _FARTHEST]
    if unit == "bytes/s":
        stops.reverse()
    colours = LinearSegmentedColormap.from_list("advisor", [tuple(level / 255 for level in stop) for stop in stops])
    grid = [[scaled(values.get((row, column), float("nan")), unit) for column in columns] for row in rows]
    mesh = axes.pcolormesh(grid, cmap=colours, edgecolors="white" if numbered else "none")
    mesh.set_linewidth(1.5 if numbered else 0)
    mesh.set_rasterized(len(rows) * len(columns) > _VECTORS)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    for axis, numbers in ((axes.xaxis, columns), (axes.yaxis, rows)):
        step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 1 << 20) if len(numbers) <= 20 * step)
        axis.set_ticks([at + 0.5 for at in range(0, len(numbers), step)], [str(each) for each in numbers[::step]])
        axis.set_tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    if not numbered:
        whole.colorbar(mesh, ax=axes, shrink=0.7, pad=0.02).set_label(unit_name(unit))
        return
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11 if len(columns) <= 8 else 8}
    for y, line in enumerate(grid):
        for x, value in enumerate(line):
            known = isfinite(value)
            axes.text(x + 0.5, y + 0.5, figure(value) if known else "-", color=ON_HEAT if known else FAINT, **middle)


# ---- the roofline: bandwidth roofs, the ceilings of [delftblue] below the peak, every line labelled ----

_GIGA = 1e9
_YOURS = "#CC79A7"
_PATTERNS = ("load", "triad", "copy")
"""A pattern has its colour in every picture, whichever is the fastest."""


def _draw_roofline(measurements: Measurements, intensity: float | None) -> "Figure":
    """Return the roofline, with the user's code in it where its intensity is given."""
    line = roofline(measurements)
    whole = sheet((10.6, 6.8))
    axes = whole.add_axes((0.085, 0.1, 0.645, 0.75))
    if line is not None:
        _scales(axes, line, intensity)
        _draw_ceilings(axes, line)
        _draw_roofs(axes, line)
        if intensity is not None:
            _yours(axes, line, intensity)
        entitle(whole, f"roofline ({line.where})", measurements, line.results)
    return whole


def _scales(axes: "Axes", line: Roofline, intensity: float | None) -> None:
    low, high = extent(line, intensity)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    floor = min(0.7 * line.roofs[-1].rate * low, 0.5 * line.ceilings[-1].rate)
    axes.set_ylim(floor / _GIGA, 2 * line.peak / _GIGA)
    ticks = [2.0**power for power in range(round(log2(low)), round(log2(high)) + 1)]
    axes.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: figure(value) if value < 1 else f"{value:g}")
    axes.set_xlabel("intensity: FLOP per byte of memory traffic")
    axes.set_ylabel("GFLOP/s, double precision")
    axes.grid(visible=True)


def extent(line: Roofline, intensity: float | None) -> tuple[float, float]:
    """Return powers of two around the ridges, the usual intensities and the user's own."""
    ridge = line.peak / line.roofs[-1].rate
    points = [1 / 32, 8 * ridge, *([intensity / 4, intensity * 4] if intensity else [])]
    return 2.0 ** int(log2(min(points)) // 1), 2.0 ** -int(-log2(max(points)) // 1)


def _draw_ceilings(axes: "Axes", line: Roofline) -> None:
    end = axes.get_xlim()[1]
    labels: list[Label] = []
    for number, ceiling in enumerate(line.ceilings):
        rate = ceiling.rate / _GIGA
        colour, wide = (INK, 2.2) if number == 0 else (FAINT, 1.3)
        start = ceiling.rate / line.roofs[0].rate
        axes.plot([start, end], [rate, rate], color=colour, linewidth=wide, linestyle=DASHES[number % len(DASHES)])
        labels.append(((end, rate), f"{ceiling.name}: {amount(ceiling.rate, 'flop/s')}\n{ceiling.what}", colour))
    beside(axes, labels)


def _draw_roofs(axes: "Axes", line: Roofline) -> None:
    """Draw the roofs; their labels stand left of them, where nothing else is, each joined to its line."""
    floor, top = axes.get_ylim()
    heights = spread([0.86] * len(line.roofs), 0.055)
    for roof, height in zip(line.roofs, heights, strict=True):
        number = _PATTERNS.index(roof.pattern.removesuffix("-nt"))
        colour, ridge = COLOURS[number], line.peak / roof.rate
        low = axes.get_xlim()[0]
        ends = [roof.rate * low / _GIGA, line.peak / _GIGA]
        axes.plot([low, ridge], ends, color=colour, linewidth=2.2, linestyle=DASHES[number])
        axes.plot([ridge], [line.peak / _GIGA], marker="o", markersize=5, color=colour, zorder=4)
        level = floor * (top / floor) ** height
        point = (level * _GIGA / roof.rate, level)
        words = f"{roof.pattern} {amount(roof.rate, 'bytes/s')}, ridge at {figure(ridge)} FLOP/byte"
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.9, "relpos": (1, 0.5), "shrinkA": 2, "shrinkB": 0}
        look: dict[str, Any] = {"va": "center", "fontsize": 9, "color": colour, "arrowprops": arrow}
        axes.annotate(words, xy=point, xytext=(0.012, height), textcoords="axes fraction", **look)
        axes.plot(*([each] for each in point), marker="o", markersize=3, color=colour, zorder=4)


def _yours(axes: "Axes", line: Roofline, intensity: float) -> None:
    """Draw the user's code: what it can reach with each pattern."""
    reach = line.reach(intensity)
    best = max(rate for _, rate in reach)
    floor = axes.get_ylim()[0]
    axes.plot([intensity] * 2, [floor, best / _GIGA], color=_YOURS, linewidth=1.6, linestyle=(0, (1, 1.2)))
    for _, rate in reach:
        axes.plot([intensity], [rate / _GIGA], marker="D", markersize=7, color=_YOURS, markeredgecolor=INK, zorder=5)
    low, high = (log2(each) for each in axes.get_xlim())
    right = (log2(intensity) - low) / (high - low) < 0.6
    axes.annotate(
        your_code(line, intensity),
        xy=(intensity, floor),
        xytext=(8 if right else -8, 8),
        textcoords="offset points",
        ha="left" if right else "right",
        va="bottom",
        multialignment="left",
        fontsize=9.5,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": _YOURS},
        zorder=6,
    )


def your_code(line: Roofline, intensity: float) -> str:
    """Return in words what a code of this intensity can reach."""
    reach, code = line.reach(intensity), f"your code, {intensity:.3g} FLOP/byte"
    if all(rate == line.peak for _, rate in reach):
        return f"{code},\nlimited by the cores:\n{amount(line.peak, 'flop/s')} at most"
    each = "\n".join(f"{amount(rate, 'flop/s')} as {roof.pattern}" for roof, rate in reach)
    return f"{code},\nlimited by memory, at most\n{each}"


# ---- which chart ----

Levels = Mapping[str, int]
_KINDS: Mapping[str, tuple[Callable[[Measurements], object], Callable[[Measurements, float | None, Levels], "Figure"]]] = {
    "parts": (lambda told: len(_parts(told)) > 1, lambda told, _, __: _draw_parts(told)),
    "scaling": (scaling, lambda told, _, __: _draw_scaling(told)),
    "bandwidth-matrix": (lambda told: matrices(told, "bytes/s"), lambda told, _, __: _draw_nodes(told, "bytes/s")),
    "latency-matrix": (lambda told: matrices(told, "seconds"), lambda told, _, __: _draw_nodes(told, "seconds")),
    "ladder": (ladder, lambda told, _, levels: _draw_ladder(told, levels)),
    "loaded": (loaded, lambda told, _, __: _draw_loaded(told)),
    "map": (
        lambda told: any(len(set(result.cpus)) == 2 for result in sound(told, "map")),
        lambda told, _, __: _draw_cores(told),
    ),
    "roofline": (roofline, lambda told, intensity, _: _draw_roofline(told, intensity)),
    "messages": (_messages, lambda told, _, __: _draw_messages(told)),
    "hpl": (_peaks, lambda told, _, __: _draw_peaks(told)),
}
"""Whether there is something measured for a chart, asked one by one, for a map of many cores is long; and how it is drawn."""
KINDS = tuple(_KINDS)


def charts_of(measurements: Measurements) -> tuple[str, ...]:
    """Return the kinds of charts for which there is something measured."""
    return tuple(kind for kind, (there, _) in _KINDS.items() if there(measurements))


def chart_named(measurements: Measurements, name: str | None) -> str:
    """Return which chart is meant: that of the name, or the only one; refuse to choose among several."""
    there = charts_of(measurements)
    found = name or (there[0] if len(there) == 1 else None)
    if found is None:
        raise BadValue(f"{len(there)} charts can be drawn from this", cure=f"choose with --chart: {', '.join(there or KINDS)}")
    return found


def chart(
    measurements: Measurements,
    kind: str,
    form: str,
    intensity: float | None = None,
    *,
    machine: Machine | None = None,
) -> bytes:
    """Return a chart as a file.

    ``intensity`` is the user's code in the roofline, in flop for each byte; the machine adds where caches end in the ladder.
    """
    wanted = next((each for each in get_args(Form) if each == form), None)
    if wanted is None:
        raise BadValue(f"{form[:40]!a} is not a chart format", cure="use svg or png")
    _check_wish(kind, intensity)
    if not _KINDS[kind][0](measurements):
        there = charts_of(measurements)
        has = f"they have {', '.join(there)}" if there else "no chart can be drawn from them"
        raise CannotWork(f"these measurements contain no data for the chart {kind}; {has}")
    need_matplotlib()
    with settings():
        return written(drawing(measurements, kind, intensity, caches(machine)), wanted)


def drawing(measurements: Measurements, kind: str, intensity: float | None, levels: Levels) -> "Figure":
    """Return a chart as it is drawn; the settings are the caller's."""
    return _KINDS[kind][1](measurements, intensity, levels)


def must_be_drawable(kind: str | None, intensity: float | None, charts: Sequence[str], *, drawn: bool, several: bool) -> None:
    """Refuse what ``charts``, those of what is to be measured, do not hold, and to draw without the library.

    ``several`` is one file for all of them.
    """
    _check_wish(kind, intensity)
    if drawn and several and kind is None:
        raise BadValue("a file can contain only one chart", cure=f"choose with --chart: {', '.join(charts)}")
    if (drawn or kind) and kind not in (None, *charts):
        has = f"available: {', '.join(charts)}" if charts else "this kind of measurement has no charts"
        raise BadValue(f"the chart {kind} cannot be drawn from this measurement", cure=has)
    if drawn and not charts:
        raise BadValue("no chart can be drawn from these measurements", cure="omit --svg and --png")
    if intensity is not None and "roofline" not in charts:
        raise BadValue("--intensity applies only to the roofline", cure="advisor measure roofline --intensity 0.25")
    if drawn:
        need_matplotlib()


def _check_wish(kind: str | None, intensity: float | None) -> None:
    if kind is not None and kind not in KINDS:
        raise BadValue(f"{kind[:40]!a} is not a chart", cure=did_you_mean(kind, KINDS, f"available: {', '.join(KINDS)}"))
    if intensity is not None and not (isfinite(intensity) and 1e-6 <= intensity <= 1e6):
        raise BadValue(f"an intensity of {intensity:g} FLOP/byte is not possible", cure="give 1e-6 to 1e6; STREAM triad has 1/12")
