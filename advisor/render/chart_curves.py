"""Curves: bandwidth over threads, latency over the working set, latency under load."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from advisor.language.units import binary
from advisor.model.measurement import Measurements, Unit
from advisor.render.chart_canvas import COLOURS, DASHES, FAINT, MARKERS, Label, beside, entitle, sheet
from advisor.render.measured_data import Curve
from advisor.render.measured_words import amount, scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
