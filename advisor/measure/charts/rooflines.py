"""The roofline: bandwidth roofs, the ceilings of [delftblue] below the peak, and the chart with every line labelled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from statistics import median
from typing import TYPE_CHECKING

from advisor.machine.units import count
from advisor.measure.charts.canvas import COLOURS, DASHES, FAINT, INK, Label, beside, entitle, sheet, spread
from advisor.measure.measurement import Measurements, Part, Result
from advisor.measure.pages.flops import kind
from advisor.measure.pages.series import PARTS, amount, figure, isa, part_name, sound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Roof:
    """Bandwidth of one pattern: left of the kink it decides."""

    pattern: str
    rate: float

    def at(self, intensity: float) -> float:
        """Return the flop/s that this bandwidth feeds."""
        return self.rate * intensity


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Floating-point rate of a code that lacks something."""

    name: str
    what: str
    rate: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofs and ceilings of one part of the machine, the highest first."""

    where: str
    roofs: tuple[Roof, ...]
    ceilings: tuple[Ceiling, ...]
    results: tuple[Result, ...]

    @property
    def peak(self) -> float:
        """The highest floating-point rate that was measured."""
        return self.ceilings[0].rate

    def reach(self, intensity: float) -> tuple[tuple[Roof, float], ...]:
        """Return what a code of this intensity can reach, by the pattern that it streams with."""
        return tuple((roof, min(self.peak, roof.at(intensity))) for roof in self.roofs)


def roofline(measurements: Measurements) -> Roofline | None:
    """Return the roofline of the largest part that has bandwidth and flops; None where one of them was not measured."""
    memory = [r for r in sound(measurements, "roofline", "part", unit="bytes/s") if r.distance in (None, "local", "spread")]
    compute = list(sound(measurements, "roofline", "peak", unit="flop/s"))
    both = {result.part for result in memory} & {result.part for result in compute}
    part = max(both, key=PARTS.index, default=None)
    if part is None:
        return None
    here = [result for result in memory if result.part == part]
    most = max(len(result.cpus) for result in compute if result.part == part)
    full = [result for result in compute if result.part == part and len(result.cpus) == most]
    ceilings = [*_ceilings(full, most), *_serial(compute, most)]
    roofs = tuple(sorted(_roofs(here), key=lambda roof: -roof.rate))
    if not (roofs and ceilings):
        return None
    ordered = tuple(sorted(ceilings, key=lambda ceiling: -ceiling.rate))
    return Roofline(_where(part, here, most), roofs, ordered, (*here, *full))


def _where(part: Part, results: Sequence[Result], cores: int) -> str:
    places = {result.index for result in results}
    return f"{part_name(part, next(iter(places)) if len(places) == 1 else None)}, {count(cores, 'core')}"


def _roofs(results: Sequence[Result]) -> Iterable[Roof]:
    """Yield load, copy and triad, each with the stores that are faster here."""
    for pattern in ("load", "copy", "triad"):
        rates = {name: _rate(r for r in results if r.variant == name) for name in (pattern, f"{pattern}-nt")}
        known = {name: rate for name, rate in rates.items() if rate is not None}
        if known:
            best = max(known, key=lambda name: known[name])
            yield Roof(best, known[best])


def _rate(results: Iterable[Result]) -> float | None:
    """Return the rate of alike parts; where it was measured for the roofline, only that counts."""
    found = list(results)
    own = [result.median for result in found if result.purpose == "roofline"]
    return median(own or [result.median for result in found]) if found else None


def _ceilings(results: Sequence[Result], cores: int) -> Iterable[Ceiling]:
    """Yield the peak of all cores, and what is left without one thing after the other."""
    peak = _best(results, ("fma",)) or _best(results, ("muladd", "add", "mul"))
    if peak is None:
        return
    (operation, width), rate = peak
    yield Ceiling("peak", f"{_OPERATION[operation]}, {isa(width)}, {count(cores, 'core')}", rate)
    apart = _best(results, ("muladd",)) or _best(results, ("add", "mul"))
    if operation == "fma" and apart:
        yield Ceiling("no FMA", _OPERATION[apart[0][0]], apart[1])
    scalar = _best(results, ("fma", "muladd", "add", "mul"), scalar=True)
    if scalar:
        yield Ceiling("no SIMD", f"scalar {_OPERATION[scalar[0][0]]}", scalar[1])
    chain = _best(results, ("chain",)) or _best(results, ("chain",), scalar=True)
    if chain:
        yield Ceiling("no unrolling", "one chain of adds per core", chain[1])


_OPERATION = {"fma": "FMA", "muladd": "multiply and add", "add": "adds only", "mul": "multiplies only", "chain": "chain of adds"}


def _serial(results: Sequence[Result], cores: int) -> Iterable[Ceiling]:
    best = _best([result for result in results if len(result.cpus) == 1], ("fma",)) if cores > 1 else None
    if best:
        yield Ceiling("serial", f"one core, FMA, {isa(best[0][1])}", best[1])


def _best(results: Sequence[Result], operations: Sequence[str], *, scalar: bool = False) -> tuple[tuple[str, str], float] | None:
    """Return the fastest width of these operations, with its rate."""
    fitting: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        operation, width = kind(result)
        if operation in operations and (width == "scalar") == scalar:
            fitting.setdefault((operation, width), []).append(result)
    rates = {key: rate for key, found in fitting.items() if (rate := _rate(found)) is not None}
    return max(rates.items(), key=lambda item: item[1]) if rates else None


_GIGA = 1e9
_YOURS = "#CC79A7"
_LOOKS = ("load", "triad", "copy")
"""A pattern has its colour in every picture, whichever is the fastest."""


def draw(measurements: Measurements, line: Roofline, intensity: float | None) -> "Figure":
    """Return the roofline, with the user's code in it where its intensity is given."""
    whole = sheet((10.6, 6.8))
    axes = whole.add_axes((0.085, 0.1, 0.645, 0.75))
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
    floor = min(0.7 * line.roofs[-1].at(low), 0.5 * line.ceilings[-1].rate)
    axes.set_ylim(floor / _GIGA, 2 * line.peak / _GIGA)
    ticks = [2.0**power for power in range(round(log2(low)), round(log2(high)) + 1)]
    axes.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: figure(value) if value < 1 else f"{value:g}")
    axes.set_xlabel("intensity: FLOP per byte from or to memory")
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
        f"{roof.pattern} {amount(roof.rate, 'bytes/s')}, ridge at {figure(ridge)} FLOP/byte",
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
