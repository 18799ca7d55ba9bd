"""Arithmetic on measurements for several rooms: the better kind of stores, one core of each L3 group, messages."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from advisor.model.measurement import Measurements, Result
from advisor.model.placement import Measured
from advisor.model.told import figure

FEWEST = 3
"""Repeats of which a spread can be told."""


def spread_of(*results: Result) -> float | None:
    """Return the widest spread of some results; None where one has too few repeats to tell."""
    return None if any(len(each.values) < FEWEST for each in results) else max((each.spread for each in results), default=None)


def fastest(results: Iterable[Result], what: str) -> Result | None:
    """Return the best result of a pattern, whether its stores are regular or streaming (``triad``, ``triad-nt``)."""
    own = [each for each in results if each.variant in (what, f"{what}-nt")]
    return max(own, key=lambda each: each.median, default=None)


class Gain(NamedTuple):
    """One result as a share of another, and how far apart the repeats of either lie."""

    ratio: float
    spread: float | None


def one_core_per_l3(measurements: Measurements, groups: int | None = None) -> Gain | None:
    """Return triad with one core of each L3 group against all cores of the machine, which has so many groups."""
    sparse = list(measurements.of("membw", "sparse", part="machine"))
    fewest = groups or min((len(each.cpus) for each in sparse), default=0)
    few = fastest((each for each in sparse if len(each.cpus) == fewest), "triad")
    every = fastest(measurements.of("membw", "part", part="machine"), "triad")
    if few is None or every is None or every.median <= 0:
        return None
    return Gain(few.median / every.median, spread_of(few, every))


def measured_for_placement(measurements: Measurements, groups: int | None = None) -> Measured:
    """Return what was measured that decides where ranks should sit, on a machine of so many L3 groups."""
    sparse = one_core_per_l3(measurements, groups)
    near, far = _messages(measurements, ("local", "same-socket")), _messages(measurements, ("other-socket",))
    return Measured(
        one_core_per_l3=sparse.ratio if sparse and sparse.ratio > 0 else None,
        near_messages=near / far if near and far else None,
    )


def _messages(measurements: Measurements, distances: tuple[str, ...]) -> float | None:
    """Return the best message rate of all cores of parts at some distances from the adapter that their messages took."""
    own = (each for each in measurements.of("mbw_mr", "network") if not each.details.get("way"))
    return max((rate for each in own if each.details.get("hca_distance") in distances and (rate := _rate(each))), default=None)


def _rate(result: Result) -> float | None:
    """Return messages a second: the result's own unit, or what the kernel told beside its bandwidth."""
    rate = result.median if result.unit == "messages/s" else figure(result, "messages")
    return rate if rate is not None and rate > 0 else None


def middle(values: Iterable[float]) -> float | None:
    """Return the median; None of nothing."""
    known = list(values)
    return median(known) if known else None
