"""Measurements as charts: SVG for a report, PNG for a mail. They need matplotlib, which is an extra."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Final, get_args

from advisor.errors import BadValue, CannotWork, did_you_mean
from advisor.machine.machine import Machine
from advisor.measure.charts import bars, plots, rooflines
from advisor.measure.charts.canvas import Form, need_matplotlib, settings, written
from advisor.measure.charts.rooflines import roofline
from advisor.measure.measurement import Measurements
from advisor.measure.pages.series import caches, ladder, loaded, matrices, round_trips, scaling, sound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_THERE: Final[Mapping[str, Callable[[Measurements], bool]]] = {
    "parts": lambda told: len(bars.parts(told)) > 1,
    "scaling": lambda told: bool(scaling(told)),
    "bandwidth-matrix": lambda told: bool(matrices(told, "bytes/s")),
    "latency-matrix": lambda told: bool(matrices(told, "seconds")),
    "ladder": lambda told: bool(ladder(told)),
    "loaded": lambda told: bool(loaded(told)),
    "map": lambda told: any(len(set(result.cpus)) == 2 for result in sound(told, "map")),
    "roofline": lambda told: roofline(told) is not None,
    "messages": lambda told: bool(bars.messages(told)),
    "hpl": lambda told: bool(bars.peaks(told)),
}
"""Whether there is something measured for a chart: asked one by one, for a map of many cores is long."""
KINDS: Final = tuple(_THERE)


def charts_of(measurements: Measurements) -> tuple[str, ...]:
    """Return the kinds of charts for which there is something measured."""
    return tuple(kind for kind, there in _THERE.items() if there(measurements))


def chart_named(measurements: Measurements, name: str | None) -> str:
    """Return which chart is meant: that of the name, or the only one; refuse to choose among several."""
    there = charts_of(measurements)
    found = name or (there[0] if len(there) == 1 else None)
    if found is None:
        raise BadValue(f"there are {len(there)} charts to draw", cure=f"choose with --chart: {', '.join(there or KINDS)}")
    return found


def chart(
    measurements: Measurements,
    kind: str,
    form: str,
    intensity: float | None = None,
    *,
    machine: Machine | None = None,
    levels: Mapping[str, int] | None = None,
) -> bytes:
    """Return a chart as a file.

    ``intensity`` is the user's code in the roofline, in flop for each byte; the machine, or ``levels`` with the bytes of
    caches by name, add where caches end in the ladder.
    """
    wanted = _form(form)
    _check(measurements, kind, intensity)
    need_matplotlib()
    with settings():
        figure = _drawing(measurements, kind, intensity, {**caches(machine), **(levels or {})})()
        return written(figure, wanted)


def _form(name: str) -> Form:
    for form in get_args(Form):
        if form == name:
            return form  # type: ignore[no-any-return] # get_args says only Any
    raise BadValue(f"{name[:40]!a} is not a format of charts", cure="use svg or png")


def must_be_drawable(kind: str | None, intensity: float | None, charts: Sequence[str], *, drawn: bool, several: bool) -> None:
    """Refuse what ``charts``, those of what is to be measured, do not hold, and to draw without the library.

    ``several`` is one file for all of them.
    """
    _check_wish(kind, intensity)
    if drawn and several and kind is None:
        raise BadValue("one file holds one chart", cure=f"choose with --chart: {', '.join(charts)}")
    if (drawn or kind) and kind not in (None, *charts):
        has = f"there {'is' if len(charts) == 1 else 'are'} {', '.join(charts)}" if charts else "nothing of it can be drawn"
        raise BadValue(f"the chart {kind} cannot be made of what is measured here", cure=has)
    if drawn and not charts:
        raise BadValue("nothing of what is measured here can be drawn", cure="leave --svg and --png out")
    if intensity is not None and "roofline" not in charts:
        raise BadValue("--intensity marks a code in the roofline", cure="advisor measure roofline --intensity 0.25")
    if drawn:
        need_matplotlib()


def _check(measurements: Measurements, kind: str, intensity: float | None) -> None:
    _check_wish(kind, intensity)
    if not _THERE[kind](measurements):
        there = charts_of(measurements)
        has = f"they have {', '.join(there)}" if there else "they have nothing that can be drawn"
        raise CannotWork(f"these measurements have nothing for the chart {kind}; {has}")


def _check_wish(kind: str | None, intensity: float | None) -> None:
    if kind is not None and kind not in KINDS:
        raise BadValue(f"{kind[:40]!a} is not a chart", cure=did_you_mean(kind, KINDS, f"there are {', '.join(KINDS)}"))
    if intensity is not None and not (isfinite(intensity) and 1e-6 <= intensity <= 1e6):
        raise BadValue(f"an intensity of {intensity:g} FLOP/byte is none", cure="give a number above 0: a triad has 1/12")


def _drawing(measurements: Measurements, kind: str, intensity: float | None, levels: Mapping[str, int]) -> Callable[[], "Figure"]:
    line = roofline(measurements) if kind == "roofline" else None
    if line is not None:
        return partial(rooflines.draw, measurements, line, intensity)
    drawings: dict[str, Callable[[], Figure]] = {
        "parts": lambda: bars.draw_parts(measurements, bars.parts(measurements)),
        "messages": lambda: bars.draw_messages(measurements, bars.messages(measurements)),
        "hpl": lambda: bars.draw_peaks(measurements, bars.peaks(measurements)),
        "scaling": lambda: plots.scaling(measurements, scaling(measurements)),
        "bandwidth-matrix": lambda: plots.numa_heatmap(
            measurements, matrices(measurements, "bytes/s"), "bandwidth between NUMA nodes"
        ),
        "latency-matrix": lambda: plots.numa_heatmap(
            measurements, matrices(measurements, "seconds"), "latency between NUMA nodes"
        ),
        "ladder": lambda: plots.ladder(measurements, ladder(measurements), levels),
        "loaded": lambda: plots.loaded(measurements, loaded(measurements)),
        "map": lambda: plots.core_heatmap(measurements, round_trips(measurements)),
    }
    return drawings[kind]
