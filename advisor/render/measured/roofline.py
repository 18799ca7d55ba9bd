"""The roofline as a table: bandwidth with its ridge, ceilings below the peak, and what a code of some intensity can reach."""

from advisor.language.units import flop_rate
from advisor.model.measurement import Measurements
from advisor.render.charts.rooflines import Roofline, roofline
from advisor.render.lines import Line, wrapped
from advisor.render.measured.figures import Bar, Cell, amount, figure, heading, number, table


def roofs(measurements: Measurements, intensity: float | None, width: int) -> list[Line]:
    """Return the roofs and ceilings of the largest part that has both, and what the user's code can reach beneath them."""
    line = roofline(measurements)
    if line is None or not (intensity is not None or measurements_for_it(measurements)):
        return []
    return [
        *heading("Roofline", line.where, width),
        *_roofs(line, width),
        *_ceilings(line, width),
        *_verdict(line, intensity, width),
    ]


def measurements_for_it(measurements: Measurements) -> bool:
    """Return whether a roofline was asked for: nothing else measures what a code without SIMD or unrolling reaches."""
    return any("chain" in result.variant for result in measurements.of("peak", "flop/s"))


def _roofs(line: Roofline, width: int) -> list[Line]:
    most = max(roof.rate for roof in line.roofs)
    rows: list[list[Cell]] = [
        [roof.pattern, (number(roof.rate, "bytes/s"), "title"), Bar(roof.rate / most), figure(line.peak / roof.rate)]
        for roof in line.roofs
    ]
    return table(("memory", "GB/s", "", "ridge, FLOP/byte"), rows, width, "lrlr")


def _ceilings(line: Roofline, width: int) -> list[Line]:
    rows: list[list[Cell]] = [
        [each.name, each.what, (number(each.rate, "flop/s"), "title"), Bar(each.rate / line.peak)] for each in line.ceilings
    ]
    return table(("ceiling", "", "GFLOP/s", ""), rows, width, "llrl", short=1)


def _verdict(line: Roofline, intensity: float | None, width: int) -> list[Line]:
    ridge = line.peak / line.roofs[0].rate
    if intensity is None:
        said = (
            f"below {figure(ridge)} FLOP/byte memory limits a code, above it the cores; --intensity X says what yours can reach"
        )
        return _line(said, width)
    own, reach = f"a code of {figure(intensity)} FLOP/byte", line.reach(intensity)
    if all(rate == line.peak for _, rate in reach):
        return _line(f"{own} is limited by the cores: {flop_rate(line.peak)} at most", width)
    each = ", ".join(f"{amount(rate, 'flop/s')} as {roof.pattern}" for roof, rate in reach)
    return _line(f"{own} is limited by memory: at most {each}; the ridge is at {figure(ridge)} FLOP/byte", width)


def _line(words: str, width: int) -> list[Line]:
    return wrapped([("  = ", "label"), (words, "")], width, indent=4)
