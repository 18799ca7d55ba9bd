"""What to measure on a machine, most telling first. Pure: a machine and a wish in, tasks out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.measure import contract
from advisor.measure.contract import PARTS, most_to_fewest_arrays, read_kernels
from advisor.measure.measurement import KernelName, KernelSheet, Missing, Order, Part, Purpose, Task
from advisor.measure.resources import MIB, START_SECONDS, CoreGroup, Memory, Resources, Sizes, first_touch_seconds, pass_seconds


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


_OWN_KERNEL_REPEAT: Final = 0.3
"""Seconds of a repeat of a kernel of which nothing else is known."""
_REPEATS: Final = 5


def kernel_called(what: str, others: Sequence[str]) -> KernelSheet:
    """Return what a kernel that one machine can run says of itself; refuse what is none, naming what else can be measured."""
    kernels = read_kernels()
    alone = [name for name, sheet in kernels.sheets.items() if not sheet.mpi]
    if what in alone or what in kernels.wrong:
        return kernels.sheet(what)
    if what in kernels.sheets:
        raise BadValue(f"{what} runs under MPI", cure="advisor measure network and advisor measure hpl start such kernels")
    known = [*others, *(name for name in alone if name not in others)]
    cure = did_you_mean(what, known, f"there are {', '.join(known)}; --list says what each measures")
    raise BadValue(f"there is no measurement {what[:40]}", cure="write --list" if what == "list" else cure)


def kernel_as_it_is(sheet: KernelSheet, tasks: Tasks, wish: Request, groups: Iterable[CoreGroup]) -> Iterator[Task]:
    """Yield the kernel on the CPUs of --cpus, or on those groups of cores that it can run on."""
    if wish.per is not None and wish.per not in sheet.parts:
        raise BadValue(f"{sheet.name} does not run on one {wish.per}", cure=f"it runs on {', '.join(sheet.parts)}")
    if wish.cpus is not None and wish.per is None:
        for group in tasks.ground.pieces("machine"):
            spot = _spot(sheet, tasks, group, wish.memory)
            yield from _task(sheet, tasks, replace(spot, label=f"{spot.label}-cpus-{CpuSet(group.cpus)}"))
        return
    for group in groups:
        if group.part in sheet.parts and wish.per in (None, group.part):
            yield from _task(sheet, tasks, _spot(sheet, tasks, group, wish.memory))


def _spot(sheet: KernelSheet, tasks: Tasks, group: CoreGroup, memory: int | None) -> Spot:
    spot = tasks.spot("kernel", group, memory)
    return spot if any(each.arrays for each in sheet.variants) else replace(spot, memory=Memory(None, None))


def _task(sheet: KernelSheet, tasks: Tasks, spot: Spot) -> Iterator[Task]:
    """Yield one start, which is asked for a size alone; nothing where there is no room for that."""
    variants = tuple(each.name for each in sheet.variants)
    size, repeats = 0, tasks.times(_REPEATS)
    if sheet.takes("--bytes"):
        size = tasks.room_for(sheet.name, spot, "+".join(variants), spot.cpus, most_to_fewest_arrays(sheet.name, variants))
        if not size:
            return
    arguments = (*(("--bytes", str(size)) if size else ()), "--repeats", str(repeats))
    seconds = START_SECONDS + first_touch_seconds(size, len(spot.cpus)) + len(variants) * (repeats + 2) * _OWN_KERNEL_REPEAT
    yield tasks.other(sheet.name, spot, Ask(variants, arguments, seconds))


_TABLE: Final = ("load", "copy-nt", "triad", "triad-nt")
"""Reading, the fastest copy, and triad with both kinds of stores: the figures that are published."""
_ONE: Final = ("triad-nt",)
_CURVES: Final = ("load", "store", "copy", "triad")
"""The access patterns of [delftblue]'s curves."""
_MANY: Final = 8
_FARTHER: Final = (None, "local", "same-socket", "other-socket", "spread")


@dataclass(frozen=True)
class Plan:
    """Tasks in the order in which they are run, and what there is no room for."""

    tasks: tuple[Task, ...]
    left_out: tuple[Missing, ...] = ()

    @property
    def seconds(self) -> float:
        """How long all of it should take."""
        return sum(task.seconds for task in self.tasks)


Planner = Callable[[Tasks, Request], Iterable[Task]]


def plan(machine: Machine, wish: Request, free: Mapping[int, int] | None = None) -> Plan:
    """Return the tasks of a wish; ``free`` are the bytes of each NUMA node, where they are known."""
    planner = PLANS.get(wish.what) or _own_kernel(wish.what)
    ground = Resources(machine, wish.cpus, smt=wish.smt)
    _must_fit(ground, wish)
    tasks = Tasks(ground, free, wish.repeats, brief=wish.what == "quick")
    made = {task.name: task for task in reversed(tuple(planner(tasks, wish)))}
    return Plan(tuple(reversed(made.values())), tuple(tasks.left_out.values()))


def _own_kernel(what: str) -> Planner:
    """Return the planner of a kernel that has no plan of its own."""
    sheet = kernel_called(what, [name for name in PLANS if name not in SETS])
    return lambda tasks, wish: kernel_as_it_is(sheet, tasks, wish, _rungs(tasks.ground, wish.per))


def _must_fit(ground: Resources, wish: Request) -> None:
    nodes = [node.os_index for node in ground.memories]
    if wish.memory is not None and wish.memory not in nodes:
        raise BadValue(f"--node {wish.memory}: there is no such memory", cure=f"there are {CpuSet(nodes)}")
    if wish.cpus is not None and not wish.cpus <= ground.usable:
        raise BadValue(f"--cpus: CPUs {wish.cpus - ground.usable} may not be used here", cure=f"there are {ground.inside.pus}")


def _membw(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield one part of every kind, its siblings, fewer cores, and memory farther away."""
    patterns = wish.either(_TABLE)
    if wish.cpus is not None and wish.per is None:
        yield from _as_asked(tasks, wish, patterns)
        return
    rungs = _rungs(tasks.ground, wish.per)
    for piece in rungs:
        yield from tasks.membw(tasks.spot("part", piece, wish.memory), patterns)
    yield from _sparse(tasks, patterns)
    if wish.memory is None:
        yield from _distances(tasks, patterns, {piece.label for piece in rungs})


def _as_asked(tasks: Tasks, wish: Request, patterns: tuple[str, ...]) -> Iterator[Task]:
    """Yield the CPUs of --cpus, as one part."""
    for piece in tasks.ground.pieces("machine"):
        spot = tasks.spot("part", piece, wish.memory)
        yield from tasks.membw(replace(spot, label=f"{spot.label}-cpus-{CpuSet(piece.cpus)}"), patterns)


def _rungs(ground: Resources, per: Part | None) -> tuple[CoreGroup, ...]:
    """Return the first part of each kind and all of one kind; parts with the same cores are one, of the larger kind."""
    found: dict[tuple[int, ...], CoreGroup] = {}
    for part in reversed(PARTS):
        pieces = ground.pieces(part)
        for piece in pieces if part == per else pieces[:1]:
            found.setdefault(tuple(sorted(piece.cpus)), piece)
            if part == per:
                found[tuple(sorted(piece.cpus))] = piece
    return tuple(sorted(found.values(), key=lambda piece: PARTS.index(piece.part)))


def _sparse(tasks: Tasks, patterns: tuple[str, ...], purposes: tuple[Purpose, ...] = ("sparse", "half")) -> Iterator[Task]:
    """Yield one core of each L3 group against all of them, and half of them."""
    ground = tasks.ground
    size = max((len(ground.on(cpus)) for _, cpus in ground.groups), default=0)
    counts: dict[int, Purpose] = {size // 2: "half"}
    counts[1] = "sparse"
    for machine in ground.pieces("machine") if len(ground.groups) > 1 else ():
        for count, purpose in sorted(counts.items()):
            if purpose in purposes and 0 < count < size:
                cpus = ground.one_of_each_group(machine.cpus, count)
                yield from tasks.membw(Spot(purpose, machine, cpus, ground.memory_of(cpus), "machine"), patterns)


def _distances(tasks: Tasks, patterns: tuple[str, ...], done: Collection[str], *, latency_too: bool = False) -> Iterator[Task]:
    """Yield memory at each distance from the first NUMA node: local, same socket, other socket by one hop and by two."""
    ground = tasks.ground
    for home in ground.pieces("numa")[:1] if len(ground.memories) > 1 else ():
        for node in _one_of_each_distance(ground, home):
            spot = tasks.spot("matrix", home, node)
            own = spot.memory.distance == "local" and node == ground.nearest(home.cpus[0]) and home.label in done
            yield from () if own else tasks.membw(spot, patterns)
            yield from tasks.chase(spot) if latency_too and node != ground.nearest(home.cpus[0]) else ()


def _one_of_each_distance(ground: Resources, home: CoreGroup) -> tuple[int, ...]:
    kinds = {node.os_index: node.kind for node in ground.memories}
    views = {node: ground.towards(home.cpus, node) for node in kinds}
    first = {(view.distance, view.slit, kinds[node]): node for node, view in reversed(views.items())}
    return tuple(sorted(first.values(), key=lambda node: (_FARTHER.index(views[node].distance), views[node].slit or 0, node)))


def _matrix(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield cores of every NUMA node against memory of every one: bandwidth and latency."""
    if wish.what == "matrix" and len(tasks.ground.pieces("numa")) < 2 and len(tasks.ground.memories) < 2:
        return  # in the whole set it is the only latency of that one node
    patterns = wish.either(("load", "triad-nt"))
    for home in tasks.ground.pieces("numa"):
        for memory in tasks.ground.memories:
            if wish.memory in (None, memory.os_index):
                spot = tasks.spot("matrix", home, memory.os_index)
                yield from tasks.membw(spot, patterns, usual=5)
                yield from tasks.chase(spot, usual=3)


def _scaling(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield threads from one to all: one NUMA node after the other, and assigned to the nodes in turn."""
    ground = tasks.ground
    for machine in ground.pieces("machine"):
        for order, cpus in _orders(ground):
            for count in _counts(len(cpus)):
                some = cpus[:count]
                where = ground.memory_of(some) if wish.memory is None else ground.towards(some, wish.memory)
                spot = Spot("scaling", machine, some, where, f"machine/{count}-{order}", order)
                yield from tasks.membw(spot, wish.either(_CURVES), usual=5)


def _orders(ground: Resources) -> Iterator[tuple[Order, tuple[int, ...]]]:
    yield "filled", ground.order
    homes = [list(piece.cpus) for piece in ground.pieces("numa")]
    dealt = tuple(cpus[turn] for turn in range(max(map(len, homes), default=0)) for cpus in homes if turn < len(cpus))
    if len(homes) > 1 and len(dealt) == len(ground.order):
        yield "dealt", dealt


def _counts(most: int) -> tuple[int, ...]:
    """Return the numbers of threads: all up to 8, then half-way between powers of two, and the last.

    >>> _counts(48)
    (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48)
    """
    steps = [*range(1, 9), *(count << power for power in range(2, 12) for count in (3, 4))]
    return tuple(sorted({count for count in steps if count < most} | {most}))


def _quick(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield what an audit needs, in under a minute on two sockets of 64 cores: the whole first, then smaller parts."""
    seen: dict[tuple[int, ...], str] = {}
    patterns: dict[Part, tuple[str, ...]] = {"machine": _TABLE, "socket": _TABLE, "numa": ("load", "triad-nt")}
    for part, usual in patterns.items():
        yield from _fresh(tasks, part, wish.either(usual), seen)
    yield from _own_latency(tasks)
    yield from _sparse(tasks, wish.either(_ONE), ("sparse",))
    yield from peak_and_clock(tasks)
    for piece in tasks.ground.pieces("core")[:1]:
        seen.setdefault(piece.cpus, piece.label)
        yield from tasks.membw(tasks.spot("part", piece), wish.either(_TABLE), usual=5)
    yield from _distances(tasks, wish.either(_ONE), seen.values(), latency_too=True)
    yield from _fresh(tasks, "l3", wish.either(_ONE), seen)
    yield from neighbour_round_trips(tasks)


def _own_latency(tasks: Tasks) -> Iterator[Task]:
    """Yield latency of each NUMA node's own memory; where there are many of them, of the first of each socket."""
    homes = tasks.ground.pieces("numa")
    if len(homes) > _MANY:
        homes = tuple(next(home for home in homes if home.cpus[0] in each.cpus) for each in tasks.ground.pieces("socket"))
    for home in homes:
        yield from tasks.chase(tasks.spot("part", home), usual=3)


def _fresh(tasks: Tasks, part: Part, patterns: tuple[str, ...], seen: dict[tuple[int, ...], str]) -> Iterator[Task]:
    """Yield every part of a kind whose cores were not measured as a larger part."""
    for piece in tasks.ground.pieces(part):
        cpus = tuple(sorted(piece.cpus))
        if cpus not in seen:
            seen[cpus] = piece.label
            yield from tasks.membw(tasks.spot("part", piece), patterns, usual=5)


def _full(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield everything."""
    yield from _membw(tasks, replace(wish, per="socket"))
    for per in ("numa", "l3", "core"):
        yield from _membw(tasks, replace(wish, per=per, patterns=wish.either(_ONE)))
    for planner in (
        _matrix,
        latency_ladder,
        loaded_latency,
        all_peaks,
        core_to_core,
        _scaling,
        _roofline,
    ):
        yield from planner(tasks, wish)


def _roofline(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield the ceilings of a code: peaks of one core and of all, and the bandwidth beneath them."""
    yield from roofline_peaks(tasks)
    for piece in (piece for piece in _rungs(tasks.ground, None) if piece.part in ("core", "socket", "machine")):
        yield from tasks.membw(tasks.spot("part", piece, wish.memory), wish.either(_TABLE))


PLANS: Final[dict[str, Planner]] = {
    "quick": _quick,
    "full": _full,
    "membw": _membw,
    "scaling": _scaling,
    "matrix": _matrix,
    "ladder": latency_ladder,
    "loaded": loaded_latency,
    "c2c": core_to_core,
    "peak": all_peaks,
    "roofline": _roofline,
}
"""What can be asked for; the first two are sets, chosen by an option."""
CHARTS: Final[dict[str, tuple[str, ...]]] = {
    "quick": ("parts", "bandwidth-matrix", "latency-matrix", "map", "roofline"),
    "full": ("parts", "scaling", "bandwidth-matrix", "latency-matrix", "ladder", "loaded", "map", "roofline"),
    "membw": ("parts", "bandwidth-matrix"),
    "scaling": ("scaling",),
    "matrix": ("bandwidth-matrix", "latency-matrix"),
    "ladder": ("ladder",),
    "loaded": ("loaded",),
    "c2c": ("map",),
    "roofline": ("roofline", "parts"),
}
"""What can be drawn of a thing that was asked for; the first is drawn where no chart is named. A set needs a name."""
SETS: Final = ("quick", "full")


def charts_of_plan(tasks: Iterable[Task], what: str) -> tuple[str, ...]:
    """Return those charts of a thing for which this machine has enough parts: one NUMA node makes no matrix."""
    made = tuple(tasks)
    rates = [task for task in made if task.kernel == "membw"]
    own = {task.part for task in rates if task.purpose == "part" and task.distance in (None, "local", "spread")}
    peaks = {task.part for task in made if task.purpose in ("peak", "roofline") and task.kernel != "membw"}
    there = {
        "parts": len(own - {"pair"}) > 1,
        "bandwidth-matrix": _crosses(rates),
        "latency-matrix": _crosses(task for task in made if task.kernel == "memlat"),
        "roofline": bool(own & peaks),
    }
    purposes = {task.purpose for task in made}
    return tuple(name for name in CHARTS.get(what, ()) if there.get(name, name in purposes))


def _crosses(tasks: Iterable[Task]) -> bool:
    """Return whether CPUs of one NUMA node meet the memory of another."""
    found = [task for task in tasks if task.purpose == "matrix"]
    return any(task.memory not in (None, task.index) for task in found)
