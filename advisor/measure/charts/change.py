"""What a change brought, as a chart: each figure after it as a share of the one before, with where its repeats lie."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from advisor.machine.units import plain
from advisor.measure.charts.canvas import COLOURS, FAINT, INK, Form, need_matplotlib, settings, sheet, written
from advisor.measure.measurement_statistics import Contrast
from advisor.measure.pages.figures import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = {"faster": (COLOURS[2], "o"), "slower": (COLOURS[1], "s")}
"""In shape too, for those who see no green; what shows no difference is a hollow ring."""


def change_chart(rows: Sequence[Contrast], names: Sequence[str], title: str, form: Form) -> bytes:
    """Return the chart as a file; times are turned round, so that right is better of all."""
    need_matplotlib()
    with settings():
        return written(_draw(rows, names, title), form)


def _draw(rows: Sequence[Contrast], names: Sequence[str], title: str) -> "Figure":
    high = 1.3 + 0.36 * len(rows)
    whole = sheet((10.0, high))
    axes = whole.add_axes((0.30, 0.55 / high, 0.46, (high - 1.2) / high))
    axes.axvline(0, color=INK, linewidth=1.2)
    for at, row in enumerate(rows):
        _row(axes, at, row)
    axes.set_yticks(range(len(rows)), [plain(name, 44) for name in names])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    axes.margins(x=0.08)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g} %" if value else "0")
    axes.set_xlabel("better than before: bandwidth and rates by how much more, times by how much less")
    whole.text(0.02, 1 - 0.3 / high, plain(title, 100), fontsize=14, fontweight="bold", va="center")
    whole.text(
        0.02, 1 - 0.55 / high, "lines: from the least to the most of the repeats after it", fontsize=9, color=FAINT, va="center"
    )
    return whole


def _row(axes: "Axes", at: int, row: Contrast) -> None:
    colour, marker = _LOOKS.get(row.says, (FAINT, "o"))
    low, middle, most = (_better(row, value) for value in (row.after.low, row.after.median, row.after.high))
    axes.plot([low, most], [at, at], color=colour, linewidth=2.2)
    filled = colour if row.says in _LOOKS else "white"
    axes.plot([middle], [at], marker=marker, markersize=8, color=colour, markerfacecolor=filled)
    words = f"{amount(row.before.median, row.unit)} → {amount(row.after.median, row.unit)}, p {row.p:.2g}"
    axes.annotate(words, (1.02, at), xycoords=("axes fraction", "data"), va="center", fontsize=9, annotation_clip=False)


def _better(row: Contrast, value: float) -> float:
    """Return by how much a value is better than the median before, in percent."""
    ratio = row.before.median / value if row.unit == "seconds" else value / row.before.median
    return 100 * (ratio - 1)
