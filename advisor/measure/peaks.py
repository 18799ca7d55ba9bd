"""Plans floating point: the peak of one core and of all, the clock while it lasts, and what holds a code below it."""

from collections.abc import Iterator, Sequence
from typing import Final

from advisor.measure import words
from advisor.measure.estimate import START
from advisor.measure.ground import Memory
from advisor.measure.tasks import Ask, Spot, Tasks
from advisor.measure.wish import Wish
from advisor.model.measurement import Purpose, Task

_SHOT: Final = 0.12
"""Seconds of a repeat: longer than a core takes to settle at the clock that its vectors allow."""
_QUICK: Final = ("fma", "clock")
_ALL: Final = ("fma", "muladd", "add", "mul", "chain", "scalar-fma", "scalar-muladd", "scalar-add", "scalar-chain", "clock")
_CEILINGS: Final = ("fma", "muladd", "chain", "scalar-fma", "scalar-chain")
"""[delftblue]'s roofline: no FMA is multiplying and adding apart, no SIMD is scalar, no unrolling is a chain."""


def quick(tasks: Tasks) -> Iterator[Task]:
    """Yield the peak and its clock, of one core and of all."""
    yield from _peak(tasks, _QUICK, "peak", ("core", "machine"), 5)


def peak(tasks: Tasks, wish: Wish) -> Iterator[Task]:
    """Yield every kind of instruction on one core, on one part of each kind, and on all cores."""
    del wish
    yield from _peak(tasks, _ALL, "peak", ("core", "l3", "numa", "socket", "machine"), 5)


def ceilings(tasks: Tasks) -> Iterator[Task]:
    """Yield what a roofline draws."""
    yield from _peak(tasks, _CEILINGS, "peak", ("core", "socket", "machine"), 5)


def _peak(tasks: Tasks, variants: Sequence[str], purpose: Purpose, parts: Sequence[str], usual: int) -> Iterator[Task]:
    seen: set[tuple[int, ...]] = set()
    for part in ("core", "l3", "numa", "socket", "machine"):
        for piece in tasks.ground.pieces(part)[:1] if part in parts else ():
            if piece.cpus not in seen:
                seen.add(piece.cpus)
                repeats = tasks.times(usual)
                spot = Spot(purpose, piece, piece.cpus, Memory(None, None), piece.label)
                seconds = START + len(variants) * (repeats + 1) * _SHOT
                yield tasks.other("peakflops", spot, Ask(tuple(variants), words.peak(variants, repeats), seconds))
