"""The roofline's numbers: bandwidth roofs, the ceilings of [delftblue] below the peak, and what a code can reach."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from advisor.language.units import count
from advisor.model.measurement import Measurements, Part, Result
from advisor.render.measured_data import sound
from advisor.render.measured_peak import kind
from advisor.render.measured_words import PARTS, isa, part_name


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
    memory = [r for r in sound(measurements, "membw", "roofline", "part") if r.distance in (None, "local", "spread")]
    compute = [r for r in sound(measurements, "peakflops", "roofline", "peak") if r.unit == "flop/s"]
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
        yield Ceiling("no unrolling", "one chain of adds a core", chain[1])


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
