"""Makes the tasks of one machine: each with its size, its place, its distance and the seconds it should take."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from advisor.measure import shapes, words
from advisor.measure.estimate import START, first_touch, pass_seconds
from advisor.measure.ground import Ground, Memory, Piece
from advisor.measure.sizes import MIB, Sizes
from advisor.model.measurement import Kernel, Missing, Order, Purpose, Task

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
    piece: Piece
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
        self, ground: Ground, free: Mapping[int, int] | None = None, repeats: int | None = None, *, brief: bool = False
    ) -> None:
        self.ground, self.sizes, self.repeats = ground, Sizes(ground, free), repeats
        self.left_out: dict[str, Missing] = {}
        self._pace = _BRIEF if brief else _USUAL
        self._tried: set[shapes.Kind] = set()

    def times(self, usual: int) -> int:
        """Return how often a thing is repeated: as the user wants it, or as is usual for it."""
        return self.repeats or usual

    def spot(self, purpose: Purpose, piece: Piece, memory: int | None = None) -> Spot:
        """Return the place of a task on all cores of a piece; their memory is the nearest, or of one node."""
        where = self.ground.memory_of(piece.cpus) if memory is None else self.ground.towards(piece.cpus, memory)
        label = piece.label if memory is None else f"{piece.label}-{memory}"
        return Spot(purpose, piece, piece.cpus, where, label)

    def membw(self, spot: Spot, variants: Sequence[str], usual: int = 10) -> list[Task]:
        """Return the task of some patterns on some cores, or none where there is no room."""
        # The pattern with the fewest arrays has the smallest share of the memory, and must not fit the caches either.
        most, fewest = max(map(words.arrays, variants)), min(map(words.arrays, variants))
        size = self._room(f"membw/{spot.purpose}/{spot.label}/{'+'.join(variants)}", spot, spot.cpus, most / fewest)
        if not size:
            return []
        repeats, (each, trial) = self.times(usual), self._pace
        task = self.other("membw", spot, Ask(tuple(variants), words.membw(variants, size, repeats, each, trial), 0.0))
        kinds = {shapes.kind(variant, task) for variant in variants}
        tried, self._tried = kinds - self._tried, self._tried | kinds
        one = max(each, pass_seconds(self.ground, spot.cpus, spot.memory.node, size))
        seconds = first_touch(size, len(spot.cpus)) + len(variants) * (repeats + 1) * one + len(tried) * _TRIALS * trial
        return [task.model_copy(update={"seconds": round(START + seconds, 2)})]

    def chase(self, spot: Spot, usual: int = 5) -> list[Task]:
        """Return the task of a latency from the first core of a spot, or none where there is no room."""
        cpus = spot.cpus[:1]
        wanted = self.sizes.wanted(cpus)
        size = self._room(f"memlat/{spot.purpose}/{spot.label}/chase", spot, cpus)
        if not size:
            return []
        size = min(size, max(wanted, _LATENCY_SIZE * (self.ground.reached_l3(cpus) or 0)))
        repeats = self.times(usual)
        seconds = chase_seconds(size, repeats)
        return [self.other("memlat", spot, Ask(("chase",), words.chase(size, repeats), seconds, cpus))]

    def other(self, kernel: Kernel, spot: Spot, ask: Ask) -> Task:
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

    def room_for(self, kernel: Kernel, spot: Spot, what: str, cpus: Sequence[int]) -> int:
        """Return the bytes for a thing that is no plain task of membw; 0 where there is not room for enough of them."""
        return self._room(f"{kernel}/{spot.purpose}/{spot.label}/{what}", spot, cpus)

    def _room(self, name: str, spot: Spot, cpus: Iterable[int], times: float = 1.0) -> int:
        """Return the bytes of a task; notes it as left out where there is not room for enough of them."""
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
    return START + lines / _BUILD_CHAIN + lines * _COLD_WALK + repeats * _REPEAT
