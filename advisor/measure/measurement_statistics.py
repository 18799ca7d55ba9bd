"""Arithmetic on measurements: spread, the better kind of stores, shares, and whether two samples differ by more than chance."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import comb, erfc, sqrt
from statistics import median
from typing import Final, Literal, NamedTuple

from pydantic import Field

from advisor.machine.value import Value
from advisor.measure.measurement import Distance, Measurements, Part, Result, Unit, reported_number

FEWEST = 3
"""Repeats that a spread needs."""


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
    sparse = list(measurements.of("sparse", part="machine"))
    fewest = groups or min((len(each.cpus) for each in sparse), default=0)
    few = fastest((each for each in sparse if len(each.cpus) == fewest), "triad")
    every = fastest(measurements.of("part", "bytes/s", part="machine"), "triad")
    if few is None or every is None or every.median <= 0:
        return None
    return Gain(few.median / every.median, spread_of(few, every))


class MeasuredForPlacement(Value):
    """What was measured on a machine that bears on placement; None where it was not."""

    one_core_per_l3: float | None = Field(
        default=None, gt=0, description="memory bandwidth with one core of each L3 group, as a share of that with all cores"
    )
    near_messages: float | None = Field(
        default=None, gt=0, description="message rate of the adapter's socket, as a share of the other socket's"
    )


def measured_for_placement(measurements: Measurements, groups: int | None = None) -> MeasuredForPlacement:
    """Return what was measured that decides where ranks should sit, on a machine of so many L3 groups."""
    sparse = one_core_per_l3(measurements, groups)
    near, far = _messages(measurements, ("local", "same-socket")), _messages(measurements, ("other-socket",))
    return MeasuredForPlacement(
        one_core_per_l3=sparse.ratio if sparse and sparse.ratio > 0 else None,
        near_messages=near / far if near and far else None,
    )


def _messages(measurements: Measurements, distances: tuple[str, ...]) -> float | None:
    """Return the best message rate of all cores of parts at some distances from the adapter that their messages took."""
    own = (each for each in measurements.of("network") if not each.details.get("way"))
    return max((rate for each in own if each.details.get("hca_distance") in distances and (rate := _rate(each))), default=None)


def _rate(result: Result) -> float | None:
    """Return messages/s: the result's own unit, or what the kernel reported beside its bandwidth."""
    rate = result.median if result.unit == "messages/s" else reported_number(result, "messages")
    return rate if rate is not None and rate > 0 else None


def median_of(values: Iterable[float]) -> float | None:
    """Return the median; None of nothing."""
    known = list(values)
    return median(known) if known else None


EXACT: Final = 40
"""Values of both samples together up to which every way of dealing them out is counted."""
_LITTLE: Final = 1e-9


def rank_sum_p(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how often chance alone, dealing out the same values, sets ranks as far apart as these: two-sided, ties shared.

    1 where a sample is empty. Above EXACT values the normal curve stands in, corrected for ties and for whole ranks.
    """
    if not one or not other:
        return 1.0
    ranks = doubled_ranks([*one, *other])
    found = sum(ranks[: len(one)])
    return _exact(ranks, len(one), found) if len(ranks) <= EXACT else _normal(ranks, len(one), found)


def least_p(one: int, other: int) -> float:
    """Return the smallest p that samples of such sizes can have at all: that of two that do not overlap."""
    return min(1.0, 2 / comb(one + other, one)) if one and other else 1.0


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, which is whole where equal values share theirs.

    >>> doubled_ranks([5.0, 1.0, 5.0])
    [5, 2, 5]
    """
    below = dict[float, int]()
    seen = 0
    for value, many in sorted(Counter(values).items()):
        below[value] = 2 * seen + many + 1
        seen += many
    return [below[value] for value in values]


def _exact(ranks: Sequence[int], size: int, found: int) -> float:
    """Return the share of all choices of so many ranks whose sum is as far from the middle as the one found."""
    sums: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in range(size))]
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for total, ways in sums[chosen - 1].items():
                sums[chosen][total + rank] += ways
    middle = size * sum(ranks)  # times the number of ranks, to stay whole
    away = abs(found * len(ranks) - middle)
    far = sum(ways for total, ways in sums[size].items() if abs(total * len(ranks) - middle) >= away)
    return far / comb(len(ranks), size)


def _normal(ranks: Sequence[int], size: int, found: int) -> float:
    """Return the same from the normal curve."""
    number, rest = len(ranks), len(ranks) - size
    mean = sum(ranks) / number
    spread = sum((rank - mean) ** 2 for rank in ranks) / (number - 1)
    deviation = sqrt(spread * size * rest / number)
    if deviation < _LITTLE:
        return 1.0
    away = max(0.0, abs(found - size * mean) - 1)  # ranks are doubled: half a rank is one
    return erfc(away / deviation / sqrt(2))


SIGNIFICANT: Final = 0.01
"""A p above it shows nothing: of some sizes and adapters at once, one in a hundred is seldom met by chance."""
NEGLIGIBLE: Final = 0.02
"""A smaller part is no difference, however sure: two runs with nothing changed lie as far apart."""

Outcome = Literal["faster", "slower", "no difference shown"]


def significance(p: float, ratio: float) -> Outcome:
    """Return in words what a p and a ratio of medians show."""
    if p > SIGNIFICANT or abs(ratio - 1) < NEGLIGIBLE:
        return "no difference shown"
    return "faster" if ratio > 1 else "slower"


class Side(Value):
    """One of the two settings, of one thing."""

    number: int = Field(description="of starts or repeats")
    median: float = Field(description="in the unit of the row")
    low: float = Field(description="the least of them")
    high: float = Field(description="the most of them")


class Contrast(Value):
    """One thing that was measured under both settings."""

    hca: str | None = Field(default=None, description="the adapter; None where the MPI chose")
    what: Literal["message rate", "bandwidth", "part"] = Field(description="of messages the first two; part: of one machine")
    kernel: str | None = Field(default=None, description="of a part: what measured it")
    variant: str | None = Field(default=None, description="of a part")
    part: Part | None = None
    index: int | None = None
    distance: Distance | None = Field(default=None, description="of a part: to its memory")
    bytes: int | None = Field(default=None, description="size of a message, or of the working set")
    pairs: int = Field(default=0, description="pairs of ranks that sent at once")
    unit: Unit
    before: Side
    after: Side
    ratio: float = Field(description="median after through median before")
    p: float = Field(description="two-sided, rank-sum test of Mann and Whitney over all starts or repeats")
    says: Outcome = Field(
        description=f"faster or slower where p is at most {SIGNIFICANT} and the medians differ by {NEGLIGIBLE} or more"
    )


class BeforeAfter(Value):
    """The same experiment under two settings, compared."""

    hosts: str = Field(description="between which hosts: a,b; of one machine its name")
    launcher: str = Field(default="", description="empty of one machine")
    before: str = Field(description="when the first run of it began")
    after: str = Field(description="when the first run of it began")
    of: Literal["starts", "repeats"] = Field(
        description="what was compared: medians of several starts of each setting, or the repeats of one start"
    )
    rows: tuple[Contrast, ...]
    warnings: tuple[str, ...] = Field(default=(), description="what speaks against believing it")
