"""How measured values are written: three digits and a unit, the part they belong to, the memory they came from."""

from collections.abc import Iterable, Sequence
from math import floor, isfinite, log10
from typing import Final

from advisor.language.units import UNKNOWN, binary, count, plain
from advisor.model.measurement import Distance, Part, Purpose, Result, Unit

SCALES: Final[dict[Unit, tuple[float, str]]] = {
    "bytes/s": (1e9, "GB/s"),
    "seconds": (1e-9, "ns"),
    "flop/s": (1e9, "GFLOP/s"),
    "hertz": (1e9, "GHz"),
    "messages/s": (1e6, "M msg/s"),
}

PARTS: Final[tuple[Part, ...]] = ("core", "l3", "numa", "socket", "machine", "pair")
DISTANCES: Final[tuple[Distance | None, ...]] = (None, "local", "spread", "same-socket", "other-socket")
PATTERNS: Final = tuple(
    pattern + stores
    for pattern in ("load", "store", "copy", "scale", "add", "triad", "update")
    for stores in ("", "-nt")
)  # fmt: skip
"""In the order in which STREAM and [delftblue] list them, regular stores before non-temporal ones."""

_PART = {"core": "core", "l3": "L3 group", "numa": "NUMA node", "socket": "socket", "machine": "machine", "pair": "pair"}
_CHOICE: dict[Purpose, str] = {"sparse": ", 1 per L3", "half": ", half of each L3"}
_DISTANCE = {
    None: "",
    "local": "local",
    "spread": "first touch",
    "same-socket": "same socket",
    "other-socket": "other socket",
}
_ISA = {"avx512": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4": "SSE4.1", "sse2": "SSE2", "neon": "NEON", "sve": "SVE"}


def figure(value: float) -> str:
    """Return a number with three significant digits.

    >>> figure(21.437), figure(0.98765), figure(3838.2), figure(99.97)
    ('21.4', '0.988', '3840', '100')
    """
    if not isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    rounded = float(f"{value:.2e}")
    return f"{rounded:.{max(0, 2 - floor(log10(abs(rounded))))}f}"


def scaled(value: float, unit: Unit) -> float:
    """Return a value in the unit that is written."""
    return value / SCALES[unit][0]


def number(value: float, unit: Unit) -> str:
    """Return a value as it is written, without its unit."""
    return figure(scaled(value, unit))


def amount(value: float, unit: Unit) -> str:
    """Return a value with its unit: ``21.4 GB/s``."""
    return f"{number(value, unit)} {SCALES[unit][1]}"


def percent(share: float) -> str:
    """Return a share: ``0.4 %``, ``87 %``."""
    if not isfinite(share):
        return UNKNOWN
    return f"{100 * share:.0f} %" if abs(share) >= 0.0995 else f"{100 * share:.1f} %"


def isa(name: str | None) -> str:
    """Return instructions as their maker writes them: ``AVX-512``."""
    return _ISA.get(name or "", plain(name or "", 20))


def distance(of: Distance | None) -> str:
    """Return how far away the memory is, in words."""
    return _DISTANCE[of]


def part_name(part: Part, index: int | None = None, alike: int = 1) -> str:
    """Return what was measured: ``NUMA node 3``, ``socket (2)`` for the median of both."""
    which = f" ({alike})" if alike > 1 else "" if index is None else f" {index}"
    return f"{_PART[part]}{which}"


def cores(numbers: Iterable[int], purpose: Purpose) -> str:
    """Return how many cores worked: ``16``; ``4, 1 per L3``."""
    ordered = sorted(set(numbers))
    span = str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]}-{ordered[-1]}"
    return f"{span}{_CHOICE.get(purpose, '')}"


def how(results: Sequence[Result]) -> str:
    """Return the conditions that results share: repeats, instructions, pages, working set."""
    sizes = sorted({result.bytes for result in results if result.bytes is not None})
    words = [
        _repeats(sorted({len(result.values) for result in results})),
        _either(isa(result.isa) for result in results if result.isa),
        _pages(results),
        "" if not sizes else binary(sizes[0]) if len(sizes) == 1 else f"{binary(sizes[0])} to {binary(sizes[-1])}",
    ]
    return ", ".join(word for word in words if word)


def _repeats(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"median of {count(numbers[0], 'repeat')}"
    return f"median of {numbers[0]}-{numbers[-1]} repeats" if numbers else ""


def _pages(results: Sequence[Result]) -> str:
    kinds = _either(plain(result.page_kind, 20) for result in results if result.page_kind)
    return f"{kinds} pages" if kinds else ""


def _either(words: Iterable[str]) -> str:
    return " or ".join(sorted(set(words)))
