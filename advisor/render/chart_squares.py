"""Squares: NUMA node against memory, CPU against CPU. Lighter is better, in grey too."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from advisor.model.measurement import Measurements, Unit
from advisor.render.chart_canvas import FAINT, INK, entitle, sheet
from advisor.render.heatmap import AWAY, BETWEEN, HOME
from advisor.render.measured_data import Matrix, Pair, nodes
from advisor.render.measured_words import SCALES, figure, scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

_NUMBERED = 16
"""Up to so many columns each square has its number; of more there is a scale."""

_FARTHEST = (0x7A, 0x2E, 0x3A)
"""Where no numbers stand in the squares, the end of the scale is darker."""

_VECTORS = 1024
"""With more squares than this an SVG holds them as one image."""


def numa(measurements: Measurements, matrices: Sequence[Matrix], title: str) -> "Figure":
    """Return matrices of NUMA nodes beside each other."""
    shown = matrices[:2]
    whole = sheet((10.8, 6.2) if len(shown) > 1 else (6.8, 6.8))
    for number, matrix in enumerate(shown):
        wide = 1 / len(shown)
        axes = whole.add_axes(((number + 0.12) * wide, 0.04, 0.84 * wide, 0.73))
        _squares(whole, axes, (matrix.rows, matrix.columns), matrix.values, matrix.unit)
        axes.set_ylabel("CPUs of NUMA node")
        axes.set_xlabel(f"{matrix.variant}, {SCALES[matrix.unit][1]}: memory of NUMA node")
    better = "more" if shown[0].unit == "bytes/s" else "less"
    entitle(whole, title, measurements, [r for matrix in shown for r in matrix.results], f"{better} is better, light is good")
    return whole


def cores(measurements: Measurements, trips: Mapping[Pair, float]) -> "Figure":
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
    entitle(whole, "from core to core", measurements, [], f"less is better, light is good{lines}")
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
        scale.set_label(SCALES[unit][1])


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
                color=INK if known else FAINT,
            )


def _colours(*, numbered: bool, more: bool) -> "Colormap":
    """Return the colours of the distances' heat map: light where near, dark where far."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [HOME, BETWEEN, AWAY] if numbered else [HOME, BETWEEN, AWAY, _FARTHEST]
    if more:
        stops.reverse()
    return LinearSegmentedColormap.from_list("advisor", [tuple(level / 255 for level in stop) for stop in stops])
