"""Curves (bandwidth over threads, latency over working set and under load) and heat maps (NUMA nodes, cores)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from advisor.machine.units import binary
from advisor.measure.charts.canvas import COLOURS, DASHES, FAINT, INK, MARKERS, Label, beside, entitle, sheet
from advisor.measure.measurement import Measurements, Unit
from advisor.measure.pages.series import Curve, Matrix, Pair, amount, figure, nodes, scaled, unit_name
from advisor.show.topology.tiles import AWAY, BETWEEN, HOME, ON_HEAT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


def scaling(measurements: Measurements, curves: Sequence[Curve]) -> "Figure":
    """Return bandwidth over threads, a curve a pattern, each labelled with what all threads reach."""
    whole, axes = _sheet()
    drawn = [_line(axes, curve, number, (1.0, "bytes/s")) for number, curve in enumerate(curves)]
    most = max(max(ys) for _, ys in drawn)
    axes.set_xlim(0, max(x for curve in curves for x, _ in curve.points))
    axes.set_ylim(0, 1.08 * most)
    axes.set_xticks(_threads(sorted({int(x) for curve in curves for x, _ in curve.points})))
    axes.set_xlabel("threads, one per core")
    axes.set_ylabel("GB/s")
    _labels(axes, curves, (1.0, "bytes/s"))
    _done(whole, "bandwidth over threads", measurements, curves)
    return whole


def ladder(measurements: Measurements, curves: Sequence[Curve], levels: Mapping[str, int]) -> "Figure":
    """Return latency over the working set, with a line where each cache ends whose size is known."""
    whole, axes = _sheet()
    drawn = [_line(axes, curve, number, (1.0, "seconds")) for number, curve in enumerate(curves)]
    low, high = min(min(ys) for _, ys in drawn) / 1.6, max(max(ys) for _, ys in drawn) * 1.6
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({x for curve in curves for x, _ in curve.points})
    axes.set_xlim(sizes[0], max(sizes[-1], 2 * sizes[0]))
    axes.set_ylim(low, high)
    _powers(axes, sizes)
    steps = [step * 10**power for power in range(-2, 7) for step in (1, 2, 5) if low <= step * 10**power <= high]
    axes.set_yticks(steps, [f"{step:g}" for step in steps])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("working set")
    axes.set_ylabel("ns a load")
    _levels(axes, {name: size for name, size in levels.items() if sizes[0] < size < sizes[-1]})
    _labels(axes, curves, (1.0, "seconds"))
    _done(whole, "latency over the working set", measurements, curves)
    return whole


def loaded(measurements: Measurements, curves: Sequence[Curve]) -> "Figure":
    """Return latency on one core over what the others stream."""
    whole, axes = _sheet()
    drawn = [_line(axes, curve, number, (1e-9, "seconds")) for number, curve in enumerate(curves)]
    most = max(max(ys) for _, ys in drawn)
    axes.set_xlim(0, 1.03 * max(max(xs) for xs, _ in drawn) or 1)
    axes.set_ylim(0, 1.1 * most)
    axes.set_xlabel("GB/s that the other cores stream")
    axes.set_ylabel("ns a load")
    _labels(axes, curves, (1e-9, "seconds"))
    for curve in curves:
        x, y = curve.points[0]
        words = f"{amount(y, 'seconds')}{' idle' if x == 0 else ''}"
        axes.annotate(words, (x * 1e-9, scaled(y, "seconds")), (6, -14), textcoords="offset points", fontsize=9, color=FAINT)
    _done(whole, "latency under load", measurements, curves)
    return whole


def _threads(numbers: Sequence[int]) -> list[int]:
    """Return numbers of threads to write: those measured that lie far enough from each other, the last among them."""
    shown = [numbers[-1]]
    for number in reversed(numbers):
        if shown[-1] - number >= numbers[-1] / 16:
            shown.append(number)
    return shown[::-1]


def _sheet() -> tuple["Figure", "Axes"]:
    whole = sheet()
    axes = whole.add_axes((0.075, 0.1, 0.745, 0.75))
    axes.grid(visible=True)
    return whole, axes


def _line(axes: "Axes", curve: Curve, number: int, units: tuple[float, Unit]) -> tuple[list[float], list[float]]:
    factor, unit = units
    xs, ys = [x * factor for x, _ in curve.points], [scaled(y, unit) for _, y in curve.points]
    look = number % len(COLOURS)
    axes.plot(
        xs,
        ys,
        color=COLOURS[look],
        marker=MARKERS[look],
        linestyle=DASHES[look],
        markersize=5,
        linewidth=1.8,
        clip_on=False,
        label=curve.name,
    )
    return xs, ys


def _labels(axes: "Axes", curves: Sequence[Curve], units: tuple[float, Unit]) -> None:
    """Write the name of each curve and its last value where it ends."""
    labels: list[Label] = []
    for at, curve in enumerate(curves):
        (x, y), (factor, unit) = curve.points[-1], units
        labels.append(((x * factor, scaled(y, unit)), f"{curve.name}\n{amount(y, unit)}", COLOURS[at % len(COLOURS)]))
    beside(axes, labels)


def _powers(axes: "Axes", sizes: Sequence[float]) -> None:
    powers = [2.0**power for power in range(8, 48) if sizes[0] <= 2.0**power <= sizes[-1]]
    step = -(-len(powers) // 12)
    shown = powers[::step]
    axes.set_xticks(shown, [binary(int(size)).replace(" ", "\n") for size in shown])
    axes.set_xticks([], minor=True)


def _levels(axes: "Axes", levels: Mapping[str, int]) -> None:
    for name, size in levels.items():
        axes.axvline(size, color=FAINT, linewidth=1.1, linestyle=(0, (3, 2)))
        axes.annotate(
            f"{name}\n{binary(size)}",
            (size, 1.0),
            (-4, -3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=9,
            color=FAINT,
        )


def _done(whole: "Figure", title: str, measurements: Measurements, curves: Sequence[Curve]) -> None:
    entitle(whole, title, measurements, [result for curve in curves for result in curve.results])


_NUMBERED = 16
"""Up to so many columns each square has its number; of more there is a scale."""

_FARTHEST = (0x7A, 0x2E, 0x3A)
"""Where no numbers stand in the squares, the end of the scale is darker."""

_FEW = 4
_VECTORS = 1024
"""With more squares than this an SVG holds them as one image."""


def numa_heatmap(measurements: Measurements, matrices: Sequence[Matrix], title: str) -> "Figure":
    """Return matrices of NUMA nodes beside each other."""
    shown = matrices[:2]
    # Few nodes need little room: a square is then as large as its number asks for.
    few = max(len(matrix.columns) for matrix in shown) <= _FEW
    whole = sheet(((8.0, 4.4) if few else (10.8, 6.2)) if len(shown) > 1 else (5.4, 5.0) if few else (6.8, 6.8))
    for number, matrix in enumerate(shown):
        wide = 1 / len(shown)
        axes = whole.add_axes(((number + 0.12) * wide, 0.04, 0.84 * wide, 0.66 if few else 0.73))
        _squares(whole, axes, (matrix.rows, matrix.columns), matrix.values, matrix.unit)
        axes.set_ylabel("CPUs of NUMA node")
        axes.set_xlabel(f"{matrix.variant}, {unit_name(matrix.unit)}: memory of NUMA node")
    better = "more" if shown[0].unit == "bytes/s" else "less"
    entitle(whole, title, measurements, [r for matrix in shown for r in matrix.results], f"{better} is better, light is good")
    return whole


def core_heatmap(measurements: Measurements, trips: Mapping[Pair, float]) -> "Figure":
    """Return the round trips between CPUs, with lines between the NUMA nodes."""
    cpus = sorted({cpu for pair in trips for cpu in pair})
    whole = sheet((8.4, 7.6))
    axes = whole.add_axes((0.08, 0.05, 0.8, 0.78))
    both = {**trips, **{(b, a): time for (a, b), time in trips.items()}}
    _squares(whole, axes, (cpus, cpus), both, "seconds")
    edges = [at + 1 for at, (a, b) in enumerate(pairwise(cpus)) if _node(measurements, a) != _node(measurements, b)]
    if len(edges) < len(cpus) / 2:
        for edge in edges:
            axes.axhline(edge, color=INK, linewidth=0.8)
            axes.axvline(edge, color=INK, linewidth=0.8)
    axes.set_ylabel("CPU")
    axes.set_xlabel("round trip of a cache line to CPU, ns")
    lines = "; lines between NUMA nodes" if edges else ""
    entitle(whole, "from core to core", measurements, [], f"lower is better, light is good{lines}")
    return whole


def _node(measurements: Measurements, cpu: int) -> int | None:
    return next((at for at, cpus in enumerate(nodes(measurements.machine.nodes)) if cpu in cpus), None)


def _squares(
    whole: "Figure", axes: "Axes", sides: tuple[Sequence[int], Sequence[int]], values: Mapping[Pair, float], unit: Unit
) -> None:
    rows, columns = sides
    numbered = len(columns) <= _NUMBERED
    more = unit == "bytes/s"
    grid = [
        [scaled(values[row, column], unit) if (row, column) in values else float("nan") for column in columns] for row in rows
    ]
    mesh = axes.pcolormesh(grid, cmap=_colours(numbered=numbered, more=more), edgecolors="white" if numbered else "none")
    mesh.set_linewidth(1.5 if numbered else 0)
    mesh.set_rasterized(len(rows) * len(columns) > _VECTORS)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    _numbers_of(axes, rows, columns)
    for side in axes.spines.values():
        side.set_visible(False)
    if numbered:
        _write(axes, grid)
    else:
        scale = whole.colorbar(mesh, ax=axes, shrink=0.7, pad=0.02)
        scale.set_label(unit_name(unit))


def _numbers_of(axes: "Axes", rows: Sequence[int], columns: Sequence[int]) -> None:
    """Write the numbers of rows and columns; of many, so many that they do not touch."""
    for axis, numbers in ((axes.xaxis, columns), (axes.yaxis, rows)):
        step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 1 << 20) if len(numbers) <= 20 * step)
        shown = range(0, len(numbers), step)
        axis.set_ticks([at + 0.5 for at in shown], [str(numbers[at]) for at in shown])
        axis.set_tick_params(length=0)


def _write(axes: "Axes", grid: Sequence[Sequence[float]]) -> None:
    size = 11 if len(grid[0]) <= 8 else 8
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            known = value == value  # noqa: PLR0124  nan is not itself
            axes.text(
                x + 0.5,
                y + 0.5,
                figure(value) if known else "-",
                ha="center",
                va="center",
                fontsize=size,
                color=ON_HEAT if known else FAINT,
            )


def _colours(*, numbered: bool, more: bool) -> "Colormap":
    """Return the colours of the distances' heat map: light where near, dark where far."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [HOME, BETWEEN, AWAY] if numbered else [HOME, BETWEEN, AWAY, _FARTHEST]
    if more:
        stops.reverse()
    return LinearSegmentedColormap.from_list("advisor", [tuple(level / 255 for level in stop) for stop in stops])
