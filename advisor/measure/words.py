"""How the kernels want to be asked: their own arguments, in one place."""

from collections.abc import Iterable, Mapping
from typing import Final

from advisor.errors import BadValue, did_you_mean
from advisor.model.measurement import Part

_STORING: Final = ("store", "copy", "scale", "add", "triad", "update")
PATTERNS: Final = ("load", *(f"{name}{past}" for name in _STORING for past in ("", "-nt")), "copy-memcpy")
"""What membw can do; ``-nt`` stores past the cache, ``copy-memcpy`` is the C library's."""


def patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of a list: ``load,triad-nt``, or ``all``."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if names == ("all",):
        return PATTERNS
    wrong = next((name for name in names if name not in PATTERNS), None)
    if wrong is not None or not names:
        raise BadValue(
            f"there is no pattern {wrong[:40]}" if wrong else "--pattern names nothing",
            cure=did_you_mean(wrong or "", PATTERNS, f"there are {', '.join(PATTERNS)}, and all of them"),
        )
    return names


_CALLED: Final[Mapping[str, Part]] = {"core": "core", "l3": "l3", "numa": "numa", "socket": "socket", "node": "machine"}
"""What the articles call a node is the whole machine."""


def part_called(word: str) -> Part:
    """Return the part that an option names."""
    return _CALLED[word]


def arrays(variant: str) -> int:
    """Return how many arrays a pattern needs."""
    return {"load": 1, "store": 1, "update": 1, "copy": 2, "scale": 2}.get(variant.partition("-")[0], 3)


def membw(variants: Iterable[str], size: int, repeats: int, each: float, trial: float) -> tuple[str, ...]:
    """Return membw's arguments: patterns, bytes of all arrays together, seconds of a repeat and of a trial."""
    times = ("--seconds", f"{each:g}", "--trial-seconds", f"{trial:g}")
    return ("--pattern", ",".join(variants), "--bytes", str(size), *times, "--repeats", str(repeats))


def chase(size: int, repeats: int) -> tuple[str, ...]:
    """Return memlat's arguments for one size; on huge pages, or address translation would be paid for too."""
    return ("--bytes", str(size), "--pages", "huge", "--repeats", str(repeats))


def ladder(size: int, repeats: int, seconds: float) -> tuple[str, ...]:
    """Return memlat's arguments for all sizes up to one."""
    return ("--sizes", "ladder", "--bytes", str(size), "--seconds", f"{seconds:g}", "--repeats", str(repeats))


def loaded(size: int, others: Iterable[int], each: int, repeats: int) -> tuple[str, ...]:
    """Return memlat's arguments for a chase while other CPUs stream at rising rates, each through so many bytes."""
    load = ("--load-cpus", ",".join(map(str, others)), "--load-rate", "steps", "--load-bytes", str(each))
    return ("--bytes", str(size), *load, "--repeats", str(repeats))


def pairs(chosen: Iterable[tuple[int, int]], rounds: int, repeats: int) -> tuple[str, ...]:
    """Return c2c's arguments for some pairs of CPUs."""
    return ("--pairs", ",".join(f"{a}-{b}" for a, b in chosen), "--rounds", str(rounds), "--repeats", str(repeats))


def all_pairs(repeats: int) -> tuple[str, ...]:
    """Return c2c's arguments for every pair of its CPUs; it shares 20 s out among them."""
    return ("--pairs", "all", "--repeats", str(repeats))


def peak(variants: Iterable[str], repeats: int) -> tuple[str, ...]:
    """Return peakflops' arguments."""
    return ("--variants", ",".join(variants), "--repeats", str(repeats))
