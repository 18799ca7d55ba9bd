"""An experiment as a chart: each state in each program relative to the first, every restart a dot, with its interval."""

from typing import TYPE_CHECKING

from advisor.language.units import count, plain
from advisor.model.experiment import Cell, Column, ExperimentResult
from advisor.render.charts.canvas import COLOURS, FAINT, INK, Form, need_matplotlib, settings, sheet, write_head, written
from advisor.render.experiment import SPOKEN, spoken_median
from advisor.render.tune import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _GAP, _HEAD, _FOOT = 0.36, 0.75, 0.95, 0.25
"""Inches: of a state, between two programs, above and below all."""


def experiment_chart(result: ExperimentResult, form: Form = "svg") -> bytes:
    """Return the chart of an experiment as a file: a panel a program, a grey band within which a difference is worth nothing."""
    need_matplotlib()
    panel = _ROW * len(result.states)
    high = _HEAD + _FOOT + len(result.columns) * (panel + _GAP)
    with settings():
        whole = sheet((10.0, high))
        for at, column in enumerate(result.columns):
            bottom = high - _HEAD - (at + 1) * (panel + _GAP) + _GAP / 2
            _panel(whole.add_axes((0.24, bottom / high, 0.5, panel / high)), result, column)
        runs = f"{count(result.restarts, 'restart')} of each state on {count(len(result.nodes), 'server')}"
        band = f"dots: restarts; line: interval over all comparisons; grey: within {percent(result.worth)}"
        write_head(whole, plain(result.title, 80) or "Experiment", (plain(result.answer, 160), runs, band))
        return written(whole, form)


def _panel(axes: "Axes", result: ExperimentResult, column: Column) -> None:
    cells = {each.state: each for each in result.cells if each.column == column.name}
    names = [each.name for each in result.states]
    axes.axvspan(1 / (1 + result.worth), 1 + result.worth, color="#eef1f4")
    axes.axvline(1.0, color=FAINT, linewidth=1.0)
    first = cells[names[0]].median if names[0] in cells else None
    for at, name in enumerate(names):
        if name in cells:
            _state(axes, at, cells[name], column, first)
    axes.set_yticks(range(len(names)), [plain(name, 34) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    better = "more is better" if column.better == "high" else "less is better"
    axes.set_title(f"{plain(column.name, 40)}, relative to {plain(names[0], 40)}: {better}", loc="left", fontsize=10)


def _state(axes: "Axes", at: int, cell: Cell, column: Column, first: float | None) -> None:
    colour = {"better": COLOURS[2], "worse": COLOURS[1], "first": FAINT}.get(cell.says, COLOURS[0])
    if first:
        dots = [each / first for each in cell.restarts]
        axes.plot(dots, [at] * len(dots), color=colour, marker="o", markersize=3.5, linestyle="none", alpha=0.45)
    if cell.low is not None and cell.high is not None:
        axes.plot([cell.low, cell.high], [at, at], color=colour, linewidth=2.2)
    if cell.ratio is not None:
        axes.plot([cell.ratio], [at], color=colour, marker="D", markersize=6, linestyle="none")
    said = "1" if cell.says == "first" else "no figure" if cell.ratio is None else f"{cell.ratio:.3f} {cell.says}"
    unit = "" if cell.median is None or column.unit in SPOKEN else f" {column.unit}"
    words = f"{spoken_median(cell, column.unit)}{unit}, {said}"
    axes.annotate(words, (1.02, at), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=INK)
