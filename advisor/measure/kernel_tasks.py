"""What the user wants measured, and the tasks of one machine for it: bandwidth, latency, round trips, floating-point peaks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from advisor.machine.cpuset import CpuSet
from advisor.measure import contract
from advisor.measure.ceilings import START_SECONDS, first_touch_seconds, pass_seconds
from advisor.measure.headers import PARTS
from advisor.measure.measurement import KernelName, Missing, Order, Part, Purpose, Task
from advisor.measure.resources import MIB, CoreGroup, Memory, Resources, Sizes


@dataclass(frozen=True)
class Request:
    """One request; None where the usual will do."""

    what: str = "quick"
    per: Part | None = None
    patterns: tuple[str, ...] | None = None
    cpus: CpuSet | None = None
    memory: int | None = None
    repeats: int | None = None
    smt: bool = False

    def either(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return the patterns asked for, or those that are usual."""
        return self.patterns or usual


_USUAL = (0.05, 0.005)
_BRIEF = (0.03, 0.002)
"""Seconds of a repeat and of a trial of membw; it repeats passes until a repeat lasts so long."""
_TRIALS = 290
"""Shapes that membw tries for a pattern, and the rounds of the best of them."""
_LATENCY_SIZE = 8
"""Times the L3 that one core reaches: random lines find a share of themselves in it."""
_BUILD_CHAIN = 60e6
"""Lines a second, when a chase is laid out at random; each is checked once, by one cold walk."""
_COLD_WALK = 150e-9
_REPEAT = 0.05


@dataclass(frozen=True)
class Spot:
    """What a task is called and what it is about, beside its kernel."""

    purpose: Purpose
    piece: CoreGroup
    cpus: tuple[int, ...]
    memory: Memory
    label: str
    order: Order | None = None


@dataclass(frozen=True)
class Ask:
    """What a kernel is asked: variants, its own arguments, for how long, and on which CPUs if not on all of the spot."""

    variants: tuple[str, ...]
    arguments: tuple[str, ...]
    seconds: float
    cpus: tuple[int, ...] = ()


class Tasks:
    """Makes tasks; what there is no room for is left out, and why."""

    def __init__(
        self, ground: Resources, free: Mapping[int, int] | None = None, repeats: int | None = None, *, brief: bool = False
    ) -> None:
        self.ground, self.sizes, self.repeats = ground, Sizes(ground, free), repeats
        self.left_out: dict[str, Missing] = {}
        self._pace = _BRIEF if brief else _USUAL
        self._tried: set[contract.Kind] = set()

    def times(self, usual: int) -> int:
        """Return how often a thing is repeated: as the user wants it, or as is usual for it."""
        return self.repeats or usual

    def spot(self, purpose: Purpose, piece: CoreGroup, memory: int | None = None) -> Spot:
        """Return the place of a task on all cores of a piece; their memory is the nearest, or of one node."""
        where = self.ground.memory_of(piece.cpus) if memory is None else self.ground.towards(piece.cpus, memory)
        label = piece.label if memory is None else f"{piece.label}-{memory}"
        return Spot(purpose, piece, piece.cpus, where, label)

    def membw(self, spot: Spot, variants: Sequence[str], usual: int = 10) -> list[Task]:
        """Return the task of some patterns on some cores, or none where there is no room."""
        # The pattern with the fewest arrays has the smallest share of the memory, and must not fit the caches either.
        size = self.room_for("membw", spot, "+".join(variants), spot.cpus, contract.most_to_fewest_arrays("membw", variants))
        if not size:
            return []
        repeats, (each, trial) = self.times(usual), self._pace
        task = self.other(
            "membw", spot, Ask(tuple(variants), contract.membw_arguments(variants, size, repeats, each, trial), 0.0)
        )
        kinds = {contract.shape_kind(variant, task) for variant in variants}
        tried, self._tried = kinds - self._tried, self._tried | kinds
        one = max(each, pass_seconds(self.ground, spot.cpus, spot.memory.node, size))
        seconds = first_touch_seconds(size, len(spot.cpus)) + len(variants) * (repeats + 1) * one + len(tried) * _TRIALS * trial
        return [task.model_copy(update={"seconds": round(START_SECONDS + seconds, 2)})]

    def chase(self, spot: Spot, usual: int = 5) -> list[Task]:
        """Return the task of a latency from the first core of a spot, or none where there is no room."""
        cpus = spot.cpus[:1]
        wanted = self.sizes.wanted(cpus)
        size = self.room_for("memlat", spot, "chase", cpus)
        if not size:
            return []
        size = min(size, max(wanted, _LATENCY_SIZE * (self.ground.reached_l3(cpus) or 0)))
        repeats = self.times(usual)
        seconds = chase_seconds(size, repeats)
        return [self.other("memlat", spot, Ask(("chase",), contract.chase_arguments(size, repeats), seconds, cpus))]

    def other(self, kernel: KernelName, spot: Spot, ask: Ask) -> Task:
        """Return the task of a question whose arguments are known already."""
        return Task(
            name=f"{kernel}/{spot.purpose}/{spot.label}/{'+'.join(ask.variants)}",
            kernel=kernel,
            purpose=spot.purpose,
            variants=ask.variants,
            part=spot.piece.part,
            index=spot.piece.index,
            cpus=ask.cpus or spot.cpus,
            memory=spot.memory.node,
            distance=spot.memory.distance,
            slit=spot.memory.slit,
            order=spot.order,
            groups=self.ground.groups_of(ask.cpus or spot.cpus),
            arguments=ask.arguments,
            seconds=round(ask.seconds, 2),
        )

    def room_for(self, kernel: KernelName, spot: Spot, what: str, cpus: Sequence[int], times: float = 1.0) -> int:
        """Return the bytes of a task, so many times what one array needs; notes it as left out where there is no room for it."""
        name = f"{kernel}/{spot.purpose}/{spot.label}/{what}"
        threads, node = tuple(cpus), spot.memory.node
        size = self.sizes.working_set(threads, node, times)
        if not size:
            where = "here" if node is None else f"on node {node}"
            room, wanted = self.sizes.room(threads, node) or 0, self.sizes.wanted(threads, times)
            why = f"{room // MIB} MiB may be taken {where} and {wanted // MIB} MiB are needed"
            self.left_out[name] = Missing(task=name, why=why)
        return size


def chase_seconds(size: int, repeats: int) -> float:
    """Return the seconds of a chase: the chain laid out, walked once, and the repeats."""
    lines = size / 64
    return START_SECONDS + lines / _BUILD_CHAIN + lines * _COLD_WALK + repeats * _REPEAT


_ROUNDS: Final = 2000
_TRIP: Final = 5e-7
"""Seconds of a round trip to the other socket."""
_ALL_PAIRS: Final = 20.0
"""Seconds that c2c shares out among all pairs; it gives none more than 10 ms a repeat."""
_RUNGS: Final = 2
"""Sizes of the ladder between one power of two and the next."""
_STEPS: Final = 10
"""Rates that load is set to: none, the most, and between."""


def latency_ladder(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield latency by size from the first core: each cache, then memory."""
    for core in tasks.ground.pieces("core")[:1]:
        spot = tasks.spot("ladder", core, wish.memory)
        size = tasks.room_for("memlat", spot, "ladder", core.cpus)
        if size:
            repeats, each = tasks.times(3), 0.02
            steps = _RUNGS * (size.bit_length() - 12)
            seconds = chase_seconds(size, 0) * _RUNGS + steps * repeats * each
            yield tasks.other("memlat", spot, Ask(("chase",), contract.ladder_arguments(size, repeats, each), seconds))


def loaded_latency(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield latency of the first core of a NUMA node while the others stream, from idle to all they can."""
    for home in tasks.ground.pieces("numa")[:1]:
        others = home.cpus[1:]
        spot = tasks.spot("loaded", home, wish.memory)
        size = tasks.room_for("memlat", spot, "chase-loaded", home.cpus) if others else 0
        if size:
            repeats, each = tasks.times(3), max(size // len(home.cpus), 4 * MIB)
            own = min(size, tasks.sizes.wanted(home.cpus[:1]))
            seconds = chase_seconds(own, 0) + _STEPS * (repeats + 1) * 0.06 + size / 1e9
            ask = Ask(("chase-loaded",), contract.loaded_arguments(own, others, each, repeats), seconds, home.cpus[:1])
            yield tasks.other("memlat", spot, ask)


def core_to_core(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield round trips between all cores."""
    del wish
    cpus, repeats = tasks.ground.order, tasks.times(5)
    count = len(cpus) * (len(cpus) - 1) // 2
    if count:
        seconds = START_SECONDS + min(_ALL_PAIRS, count * (repeats + 1) * 0.01)
        yield _map(tasks, "all-pairs", cpus, contract.all_pairs_arguments(repeats), seconds)


def neighbour_round_trips(tasks: Tasks) -> Iterator[Task]:
    """Yield round trips that confirm the L3 map: each core with the next, and the first with one of each other L3 group."""
    cpus, repeats = tasks.ground.order, tasks.times(5)
    heads = tasks.ground.one_of_each_group(cpus)
    chosen = tuple(dict.fromkeys((*pairwise(cpus), *((heads[0], head) for head in heads[1:] if heads))))
    if chosen:
        seconds = START_SECONDS + len(chosen) * (repeats + 1) * _ROUNDS * _TRIP
        yield _map(tasks, f"{len(chosen)}-pairs", cpus, contract.pairs_arguments(chosen, _ROUNDS, repeats), seconds)


def _map(tasks: Tasks, label: str, cpus: tuple[int, ...], arguments: tuple[str, ...], seconds: float) -> Task:
    spot = Spot("map", CoreGroup("pair", None, cpus), cpus, Memory(None, None), label)
    return tasks.other("c2c", spot, Ask(("ping-pong",), arguments, seconds))


_SHOT: Final = 0.12
"""Seconds of a repeat: longer than a core takes to settle at the clock that its vectors allow."""
_QUICK: Final = ("fma", "clock")
_ALL: Final = ("fma", "muladd", "add", "mul", "chain", "scalar-fma", "scalar-muladd", "scalar-add", "scalar-chain", "clock")
_CEILINGS: Final = ("fma", "muladd", "chain", "scalar-fma", "scalar-chain")
"""[delftblue]'s roofline: no FMA is multiplying and adding apart, no SIMD is scalar, no unrolling is a chain."""


def peak_and_clock(tasks: Tasks) -> Iterator[Task]:
    """Yield the peak and its clock, of one core and of all."""
    yield from _peak(tasks, _QUICK, "peak", ("core", "machine"), 5)


def all_peaks(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield every kind of instruction on one core, on one part of each kind, and on all cores."""
    del wish
    yield from _peak(tasks, _ALL, "peak", PARTS, 5)


def roofline_peaks(tasks: Tasks) -> Iterator[Task]:
    """Yield what a roofline draws."""
    yield from _peak(tasks, _CEILINGS, "peak", ("core", "socket", "machine"), 5)


def _peak(tasks: Tasks, variants: Sequence[str], purpose: Purpose, parts: Sequence[str], usual: int) -> Iterator[Task]:
    """Yield the first part of each kind; parts with the same cores are one, of the larger kind, as with bandwidth."""
    own = (piece for part in PARTS if part in parts for piece in tasks.ground.pieces(part)[:1])
    for piece in {tuple(sorted(piece.cpus)): piece for piece in own}.values():
        repeats = tasks.times(usual)
        spot = Spot(purpose, piece, piece.cpus, Memory(None, None), piece.label)
        seconds = START_SECONDS + len(variants) * (repeats + 1) * _SHOT
        yield tasks.other("peakflops", spot, Ask(tuple(variants), contract.peak_arguments(variants, repeats), seconds))
