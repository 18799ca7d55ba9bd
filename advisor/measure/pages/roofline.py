"""What limits: one core its own misses or memory; a code the roofline, with its ridge and the ceilings below the peak."""

from statistics import median
from typing import Final

from advisor.machine.units import duration, flop_rate, throughput
from advisor.measure.charts.rooflines import Roofline, roofline
from advisor.measure.measurement import Measurements
from advisor.measure.pages.bandwidth import part_groups
from advisor.measure.pages.series import Bar, Cell, amount, figure, heading, number, sound, table
from advisor.show.lines import Line, wrapped

_EQUAL: Final = 1.05
_MORE: Final = 1.25
"""Several cores that read so many times as much leave no doubt that one alone does not use memory up: its own misses hold it."""
_LINE: Final = 64
_OWN: Final = (None, "local", "spread")


def one_core(measurements: Measurements) -> list[tuple[str, str]]:
    """Say whether one core reads all that memory gives, or what its own misses in flight let it: bandwidth x latency / line."""
    read = [each for each in sound(measurements, "part", unit="bytes/s") if each.distance in _OWN and each.variant[:4] == "load"]
    one = max((row for row in part_groups(read) if row.part == "core"), key=lambda row: row.value, default=None)
    all_of = next((row for row in part_groups(read) if row.part != "core" and len(row.results[0].cpus) > 1), None)
    waits = [each.median for each in sound(measurements, "part", "matrix", unit="seconds") if each.distance in _OWN]
    if one is None or all_of is None or not waits or _EQUAL < all_of.value / one.value < _MORE:
        return []
    said = f"{one.name}: {throughput(one.value)} is"
    if all_of.value / one.value <= _EQUAL:
        return [(f"{said} all that memory gives, not the core's limit", "")]
    flight = f"{one.value * median(waits) / _LINE:.0f} lines of 64 bytes in flight ({duration(median(waits))} each)"
    return [(f"{said} the core's limit, {flight}: {all_of.name} reads {all_of.value / one.value:.1f} times as much", "")]


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
