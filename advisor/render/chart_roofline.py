"""The roofline as a chart: both axes logarithmic, every roof and ceiling labelled on its line with its measured figure."""

from math import log2
from typing import TYPE_CHECKING

from advisor.model.measurement import Measurements
from advisor.render.chart_canvas import COLOURS, DASHES, FAINT, INK, Label, beside, entitle, sheet, spread
from advisor.render.chart_roofs import Roof, Roofline
from advisor.render.measured_words import amount, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GIGA = 1e9
_YOURS = "#CC79A7"
_LOOKS = ("load", "triad", "copy")
"""A pattern has its colour in every picture, whichever is the fastest."""


def draw(measurements: Measurements, line: Roofline, intensity: float | None) -> "Figure":
    """Return the roofline, with the user's code in it where its intensity is given."""
    whole = sheet((10.6, 6.8))
    axes = whole.add_axes((0.085, 0.1, 0.645, 0.75))
    _scales(axes, line, intensity)
    _ceilings(axes, line)
    _roofs(axes, line)
    if intensity is not None:
        _yours(axes, line, intensity)
    entitle(whole, f"roofline ({line.where})", measurements, line.results)
    return whole


def _scales(axes: "Axes", line: Roofline, intensity: float | None) -> None:
    low, high = extent(line, intensity)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    floor = min(0.7 * line.roofs[-1].at(low), 0.5 * line.ceilings[-1].rate)
    axes.set_ylim(floor / _GIGA, 2 * line.peak / _GIGA)
    ticks = [2.0**power for power in range(round(log2(low)), round(log2(high)) + 1)]
    axes.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: figure(value) if value < 1 else f"{value:g}")
    axes.set_xlabel("intensity: flop for each byte from or to memory")
    axes.set_ylabel("GFLOP/s, double precision")
    axes.grid(visible=True)


def extent(line: Roofline, intensity: float | None) -> tuple[float, float]:
    """Return powers of two around the ridges, the usual intensities and the user's own."""
    ridge = line.peak / line.roofs[-1].rate
    points = [1 / 32, 8 * ridge, *([intensity / 4, intensity * 4] if intensity else [])]
    return 2.0 ** int(log2(min(points)) // 1), 2.0 ** -int(-log2(max(points)) // 1)


def _ceilings(axes: "Axes", line: Roofline) -> None:
    end = axes.get_xlim()[1]
    labels: list[Label] = []
    for number, ceiling in enumerate(line.ceilings):
        rate = ceiling.rate / _GIGA
        colour, wide = (INK, 2.2) if number == 0 else (FAINT, 1.3)
        start = ceiling.rate / line.roofs[0].rate
        axes.plot([start, end], [rate, rate], color=colour, linewidth=wide, linestyle=DASHES[number % len(DASHES)])
        labels.append(((end, rate), f"{ceiling.name}: {amount(ceiling.rate, 'flop/s')}\n{ceiling.what}", colour))
    beside(axes, labels)


def _roofs(axes: "Axes", line: Roofline) -> None:
    """Draw the roofs; their labels stand left of them, where nothing else is, each joined to its line."""
    floor, top = axes.get_ylim()
    heights = spread([0.86] * len(line.roofs), 0.055)
    for roof, height in zip(line.roofs, heights, strict=True):
        number = _LOOKS.index(roof.pattern.removesuffix("-nt"))
        colour, ridge = COLOURS[number], line.peak / roof.rate
        low = axes.get_xlim()[0]
        ends = [roof.at(low) / _GIGA, line.peak / _GIGA]
        axes.plot([low, ridge], ends, color=colour, linewidth=2.2, linestyle=DASHES[number])
        axes.plot([ridge], [line.peak / _GIGA], marker="o", markersize=5, color=colour, zorder=4)
        level = floor * (top / floor) ** height
        point = (level * _GIGA / roof.rate, level)
        _label(axes, roof, ridge, (point, height, colour))


def _label(axes: "Axes", roof: Roof, ridge: float, place: tuple[tuple[float, float], float, str]) -> None:
    point, height, colour = place
    axes.annotate(
        f"{roof.pattern} {amount(roof.rate, 'bytes/s')}, ridge at {figure(ridge)} flop/byte",
        xy=point,
        xytext=(0.012, height),
        textcoords="axes fraction",
        va="center",
        fontsize=9,
        color=colour,
        arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.9, "relpos": (1, 0.5), "shrinkA": 2, "shrinkB": 0},
    )
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
        yours(line, intensity),
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


def yours(line: Roofline, intensity: float) -> str:
    """Return in words what a code of this intensity can reach."""
    reach, code = line.reach(intensity), f"your code, {intensity:.3g} flop/byte"
    if all(rate == line.peak for _, rate in reach):
        return f"{code},\nlimited by the cores:\n{amount(line.peak, 'flop/s')} at most"
    each = "\n".join(f"{amount(rate, 'flop/s')} as {roof.pattern}" for roof, rate in reach)
    return f"{code},\nlimited by memory, at most\n{each}"
