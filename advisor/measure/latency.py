"""Plans what waits: the cache ladder, latency under load, round trips between cores."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from advisor.measure import words
from advisor.measure.estimate import START
from advisor.measure.ground import Memory, Piece
from advisor.measure.sizes import MIB
from advisor.measure.tasks import Ask, Spot, Tasks, chase_seconds
from advisor.measure.wish import Wish
from advisor.model.measurement import Task

_ROUNDS: Final = 2000
_TRIP: Final = 5e-7
"""Seconds of a round trip to the other socket."""
_ALL_PAIRS: Final = 20.0
"""Seconds that c2c shares out among all pairs; it gives none more than 10 ms a repeat."""
_RUNGS: Final = 2
"""Sizes of the ladder between one power of two and the next."""
_STEPS: Final = 10
"""Rates that load is set to: none, the most, and between."""


def ladder(tasks: Tasks, wish: Wish) -> Iterator[Task]:
    """Yield latency by size from the first core: each cache, then memory."""
    for core in tasks.ground.pieces("core")[:1]:
        spot = tasks.spot("ladder", core, wish.memory)
        size = tasks.room_for("memlat", spot, "ladder", core.cpus)
        if size:
            repeats, each = tasks.times(3), 0.02
            steps = _RUNGS * (size.bit_length() - 12)
            seconds = chase_seconds(size, 0) * _RUNGS + steps * repeats * each
            yield tasks.other("memlat", spot, Ask(("chase",), words.ladder(size, repeats, each), seconds))


def loaded(tasks: Tasks, wish: Wish) -> Iterator[Task]:
    """Yield latency of the first core of a NUMA node while the others stream, from idle to all they can."""
    for home in tasks.ground.pieces("numa")[:1]:
        others = home.cpus[1:]
        spot = tasks.spot("loaded", home, wish.memory)
        size = tasks.room_for("memlat", spot, "chase-loaded", home.cpus) if others else 0
        if size:
            repeats, each = tasks.times(3), max(size // len(home.cpus), 4 * MIB)
            own = min(size, tasks.sizes.wanted(home.cpus[:1]))
            seconds = chase_seconds(own, 0) + _STEPS * (repeats + 1) * 0.06 + size / 1e9
            ask = Ask(("chase-loaded",), words.loaded(own, others, each, repeats), seconds, home.cpus[:1])
            yield tasks.other("memlat", spot, ask)


def c2c(tasks: Tasks, wish: Wish) -> Iterator[Task]:
    """Yield round trips between all cores."""
    del wish
    cpus, repeats = tasks.ground.order, tasks.times(5)
    count = len(cpus) * (len(cpus) - 1) // 2
    if count:
        seconds = START + min(_ALL_PAIRS, count * (repeats + 1) * 0.01)
        yield _map(tasks, "all-pairs", cpus, words.all_pairs(repeats), seconds)


def neighbours(tasks: Tasks) -> Iterator[Task]:
    """Yield round trips that confirm the L3 map: each core with the next, and the first with one of each other L3 group."""
    cpus, repeats = tasks.ground.order, tasks.times(5)
    heads = tasks.ground.one_of_each_group(cpus)
    chosen = tuple(dict.fromkeys((*pairwise(cpus), *((heads[0], head) for head in heads[1:] if heads))))
    if chosen:
        seconds = START + len(chosen) * (repeats + 1) * _ROUNDS * _TRIP
        yield _map(tasks, f"{len(chosen)}-pairs", cpus, words.pairs(chosen, _ROUNDS, repeats), seconds)


def _map(tasks: Tasks, label: str, cpus: tuple[int, ...], arguments: tuple[str, ...], seconds: float) -> Task:
    spot = Spot("map", Piece("pair", None, cpus), cpus, Memory(None, None), label)
    return tasks.other("c2c", spot, Ask(("ping-pong",), arguments, seconds))
