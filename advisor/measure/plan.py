"""What to measure on a machine, most telling first, and between two hosts. Pure: machines and a wish in, tasks out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from advisor.errors import BadValue, CannotWork, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Locality
from advisor.machine.machine import Machine
from advisor.measure.contract import PARTS, Kind, most_to_fewest_arrays, read_kernels, shape_kind
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


@dataclass
class Tasks:
    """Makes the tasks of a wish; what there is no room for is left out, and why."""

    ground: Resources
    wish: Request = field(default_factory=Request)
    free: Mapping[int, int] | None = None
    left_out: dict[str, Missing] = field(default_factory=dict)
    _tried: set[Kind] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sizes = Sizes(self.ground, self.free)

    def patterns(self, *usual: str) -> tuple[str, ...]:
        """Return the patterns asked for, or those that are usual."""
        return self.wish.patterns or usual

    def spot(self, purpose: Purpose, piece: CoreGroup, memory: int | None = None) -> Spot:
        """Return the place of a task on all cores of a piece; their memory is the nearest, or of one node."""
        where = self.ground.memory_of(piece.cpus) if memory is None else self.ground.towards(piece.cpus, memory)
        label = piece.label if memory is None else f"{piece.label}-{memory}"
        return Spot(purpose, piece, piece.cpus, where, label)

    def membw(self, spot: Spot, variants: Sequence[str], usual: int = 10) -> Iterator[Task]:
        """Yield the task of some patterns on some cores, or none where there is no room."""
        # The pattern with the fewest arrays has the smallest share of the memory, and must not fit the caches either.
        size = self.room_for("membw", spot, "+".join(variants), spot.cpus, most_to_fewest_arrays("membw", variants))
        if not size:
            return
        repeats, (each, trial) = self.wish.repeats or usual, _BRIEF if self.wish.what == "quick" else _USUAL
        arguments = (
            "--pattern",
            ",".join(variants),
            "--bytes",
            str(size),
            "--seconds",
            f"{each:g}",
            "--trial-seconds",
            f"{trial:g}",
        )
        kinds = {shape_kind(variant, spot.piece.part, spot.cpus, spot.memory.distance) for variant in variants}
        tried, self._tried = kinds - self._tried, self._tried | kinds
        one = max(each, pass_seconds(self.ground, spot.cpus, spot.memory.node, size))
        seconds = first_touch_seconds(size, len(spot.cpus)) + len(variants) * (repeats + 1) * one + len(tried) * _TRIALS * trial
        yield self.task("membw", spot, variants, arguments, repeats=repeats, seconds=START_SECONDS + seconds)

    def chase(self, spot: Spot, usual: int = 5) -> Iterator[Task]:
        """Yield the task of a latency from the first core of a spot; on huge pages, or it would pay for address translation."""
        cpus, repeats = spot.cpus[:1], self.wish.repeats or usual
        if size := self.room_for("memlat", spot, "chase", cpus):
            size = min(size, max(self.sizes.wanted(cpus), _LATENCY_SIZE * (self.ground.reached_l3(cpus) or 0)))
            arguments, seconds = ("--bytes", str(size), "--pages", "huge"), chase_seconds(size, repeats)
            yield self.task("memlat", spot, ("chase",), arguments, repeats=repeats, seconds=seconds, cpus=cpus)

    def task(
        self,
        kernel: KernelName,
        spot: Spot,
        variants: Sequence[str],
        arguments: Sequence[str] = (),
        *,
        repeats: int,
        seconds: float,
        cpus: tuple[int, ...] = (),
    ) -> Task:
        """Return the task of some variants and arguments of a kernel, on all CPUs of a spot if not on others."""
        cpus = cpus or spot.cpus
        return Task(
            name=f"{kernel}/{spot.purpose}/{spot.label}/{'+'.join(variants)}",
            kernel=kernel,
            purpose=spot.purpose,
            variants=tuple(variants),
            part=spot.piece.part,
            index=spot.piece.index,
            cpus=cpus,
            memory=spot.memory.node,
            distance=spot.memory.distance,
            slit=spot.memory.slit,
            order=spot.order,
            groups=self.ground.groups_of(cpus),
            arguments=(*arguments, "--repeats", str(repeats)),
            seconds=round(seconds, 2),
        )

    def room_for(self, kernel: KernelName, spot: Spot, what: str, cpus: Sequence[int], times: float = 1.0) -> int:
        """Return the bytes of a task, so many times what one array needs; notes it as left out where there is no room for it."""
        name = f"{kernel}/{spot.purpose}/{spot.label}/{what}"
        threads, node = tuple(cpus), spot.memory.node
        size = self.sizes.working_set(threads, node, times)
        if not size:
            where = "here" if node is None else f"on node {node}"
            room, wanted = self.sizes.room(threads, node) or 0, self.sizes.wanted(threads, times)
            why = f"{wanted // MIB} MiB is needed {where}, but only {room // MIB} MiB may be used"
            self.left_out[name] = Missing(task=name, why=why)
        return size


def chase_seconds(size: int, repeats: int) -> float:
    """Return the seconds of a chase: the chain laid out, walked once, and the repeats."""
    lines = size / 64
    return START_SECONDS + lines / _BUILD_CHAIN + lines * _COLD_WALK + repeats * _REPEAT


_ROUNDS = 2000
_TRIP = 5e-7
"""Seconds of a round trip to the other socket."""
_ALL_PAIRS = 20.0
"""Seconds that c2c shares out among all pairs; it gives none more than 10 ms a repeat."""
_RUNGS = 2
"""Sizes of the ladder between one power of two and the next."""
_STEPS = 10
"""Rates that load is set to: none, the most, and between."""


def latency_ladder(tasks: Tasks) -> Iterator[Task]:
    """Yield latency by size from the first core: each cache, then memory."""
    for core in tasks.ground.pieces("core")[:1]:
        spot = tasks.spot("ladder", core, tasks.wish.memory)
        if size := tasks.room_for("memlat", spot, "ladder", core.cpus):
            repeats, each = tasks.wish.repeats or 3, 0.02
            seconds = chase_seconds(size, 0) * _RUNGS + _RUNGS * (size.bit_length() - 12) * repeats * each
            arguments = ("--sizes", "ladder", "--bytes", str(size), "--seconds", f"{each:g}")
            yield tasks.task("memlat", spot, ("chase",), arguments, repeats=repeats, seconds=seconds)


def loaded_latency(tasks: Tasks) -> Iterator[Task]:
    """Yield latency of the first core of a NUMA node while the others stream, from idle to all they can."""
    for home in tasks.ground.pieces("numa")[:1]:
        own, others = home.cpus[:1], home.cpus[1:]
        spot = tasks.spot("loaded", home, tasks.wish.memory)
        size = tasks.room_for("memlat", spot, "chase-loaded", home.cpus) if others else 0
        if size:
            repeats, each = tasks.wish.repeats or 3, max(size // len(home.cpus), 4 * MIB)
            chased = min(size, tasks.sizes.wanted(own))
            load = ("--load-cpus", ",".join(map(str, others)), "--load-rate", "steps", "--load-bytes", str(each))
            seconds = chase_seconds(chased, 0) + _STEPS * (repeats + 1) * 0.06 + size / 1e9
            arguments = ("--bytes", str(chased), *load)
            yield tasks.task("memlat", spot, ("chase-loaded",), arguments, repeats=repeats, seconds=seconds, cpus=own)


def core_to_core(tasks: Tasks) -> Iterator[Task]:
    """Yield round trips between all cores; c2c shares 20 s out among them."""
    cpus, repeats = tasks.ground.order, tasks.wish.repeats or 5
    count = len(cpus) * (len(cpus) - 1) // 2
    if count:
        spot = Spot("map", CoreGroup("pair", None, cpus), cpus, Memory(None, None), "all-pairs")
        seconds = START_SECONDS + min(_ALL_PAIRS, count * (repeats + 1) * 0.01)
        yield tasks.task("c2c", spot, ("ping-pong",), ("--pairs", "all"), repeats=repeats, seconds=seconds)


def neighbour_round_trips(tasks: Tasks) -> Iterator[Task]:
    """Yield round trips that confirm the L3 map: each core with the next, and the first with one of each other L3 group."""
    cpus, repeats = tasks.ground.order, tasks.wish.repeats or 5
    heads = tasks.ground.one_of_each_group(cpus)
    chosen = tuple(dict.fromkeys((*pairwise(cpus), *((heads[0], head) for head in heads[1:] if heads))))
    if chosen:
        spot = Spot("map", CoreGroup("pair", None, cpus), cpus, Memory(None, None), f"{len(chosen)}-pairs")
        arguments = ("--pairs", ",".join(f"{a}-{b}" for a, b in chosen), "--rounds", str(_ROUNDS))
        seconds = START_SECONDS + len(chosen) * (repeats + 1) * _ROUNDS * _TRIP
        yield tasks.task("c2c", spot, ("ping-pong",), arguments, repeats=repeats, seconds=seconds)


_SHOT = 0.12
"""Seconds of a repeat: longer than a core takes to settle at the clock that its vectors allow."""
_BRIEFLY = ("fma", "clock")
_INSTRUCTIONS = (
    "fma",
    "muladd",
    "add",
    "mul",
    "chain",
    "scalar-fma",
    "scalar-muladd",
    "scalar-add",
    "scalar-chain",
    "clock",
)
_CEILINGS = ("fma", "muladd", "chain", "scalar-fma", "scalar-chain")
"""[delftblue]'s roofline: no FMA is multiplying and adding apart, no SIMD is scalar, no unrolling is a chain."""


def peak_and_clock(tasks: Tasks) -> Iterator[Task]:
    """Yield the peak and its clock, of one core and of all."""
    yield from _peak(tasks, _BRIEFLY, ("core", "machine"))


def all_peaks(tasks: Tasks) -> Iterator[Task]:
    """Yield every kind of instruction on one core, on one part of each kind, and on all cores."""
    yield from _peak(tasks, _INSTRUCTIONS, PARTS)


def _peak(tasks: Tasks, variants: Sequence[str], parts: Sequence[str]) -> Iterator[Task]:
    """Yield the first part of each kind; parts with the same cores are one, of the larger kind, as with bandwidth."""
    own = (piece for part in PARTS if part in parts for piece in tasks.ground.pieces(part)[:1])
    repeats = tasks.wish.repeats or 5
    for piece in {tuple(sorted(piece.cpus)): piece for piece in own}.values():
        spot = Spot("peak", piece, piece.cpus, Memory(None, None), piece.label)
        seconds = START_SECONDS + len(variants) * (repeats + 1) * _SHOT
        yield tasks.task("peakflops", spot, variants, ("--variants", ",".join(variants)), repeats=repeats, seconds=seconds)


_OWN_KERNEL_REPEAT = 0.3
"""Seconds of a repeat of a kernel of which nothing else is known."""
_REPEATS = 5


def kernel_called(what: str, others: Sequence[str]) -> KernelSheet:
    """Return what a kernel that one machine can run says of itself; refuse what is none, naming what else can be measured."""
    kernels = read_kernels()
    alone = [name for name, sheet in kernels.sheets.items() if not sheet.mpi]
    if what in alone or what in kernels.wrong:
        return kernels.sheet(what)
    if what in kernels.sheets:
        raise BadValue(
            f"{what} runs under MPI", cure="advisor measure network and advisor measure hpl start kernels like this one"
        )
    known = [*others, *(name for name in alone if name not in others)]
    cure = did_you_mean(what, known, f"available: {', '.join(known)}; --list shows what each measures")
    raise BadValue(f"unknown measurement {what[:40]}", cure="write --list" if what == "list" else cure)


def kernel_as_it_is(tasks: Tasks, sheet: KernelSheet) -> Iterator[Task]:
    """Yield the kernel on the CPUs of --cpus, or on those groups of cores that it can run on."""
    wish = tasks.wish
    if wish.per is not None and wish.per not in sheet.parts:
        raise BadValue(f"{sheet.name} does not run on a single {wish.per}", cure=f"it runs on {', '.join(sheet.parts)}")
    asked = wish.cpus is not None and wish.per is None
    variants, repeats = tuple(each.name for each in sheet.variants), wish.repeats or _REPEATS
    for group in tasks.ground.pieces("machine") if asked else _rungs(tasks.ground, wish.per):
        if not asked and (group.part not in sheet.parts or wish.per not in (None, group.part)):
            continue
        spot = _asked(tasks.spot("kernel", group, wish.memory), asked=asked)
        if not any(each.arrays for each in sheet.variants):
            spot = replace(spot, memory=Memory(None, None))
        size = 0
        if sheet.takes("--bytes"):  # one start is asked for a size alone
            size = tasks.room_for(sheet.name, spot, "+".join(variants), spot.cpus, most_to_fewest_arrays(sheet.name, variants))
            if not size:
                continue
        seconds = START_SECONDS + first_touch_seconds(size, len(spot.cpus)) + len(variants) * (repeats + 2) * _OWN_KERNEL_REPEAT
        yield tasks.task(sheet.name, spot, variants, ("--bytes", str(size)) if size else (), repeats=repeats, seconds=seconds)


def _asked(spot: Spot, *, asked: bool) -> Spot:
    """Return a spot named by its CPUs where --cpus asks for these as one part."""
    return replace(spot, label=f"{spot.label}-cpus-{CpuSet(spot.cpus)}") if asked else spot


_TABLE = ("load", "copy-nt", "triad", "triad-nt")
"""Reading, the fastest copy, and triad with both kinds of stores: the figures that are published."""
_CURVES = ("load", "store", "copy", "triad")
"""The access patterns of [delftblue]'s curves."""
_MANY = 8
_FARTHER = (None, "local", "same-socket", "other-socket", "spread")


@dataclass(frozen=True)
class Plan:
    """Tasks in the order in which they are run, and what there is no room for."""

    tasks: tuple[Task, ...]
    left_out: tuple[Missing, ...] = ()

    @property
    def seconds(self) -> float:
        """How long all of it should take."""
        return sum(task.seconds for task in self.tasks)


Planner = Callable[[Tasks], Iterable[Task]]


def plan(machine: Machine, wish: Request, free: Mapping[int, int] | None = None) -> Plan:
    """Return the tasks of a wish; ``free`` are the bytes of each NUMA node, where they are known."""
    planner = PLANS.get(wish.what)
    sheet = None if planner else kernel_called(wish.what, [name for name in PLANS if name not in SETS])
    ground = Resources(machine, wish.cpus, smt=wish.smt)
    nodes = [node.os_index for node in ground.memories]
    if wish.memory is not None and wish.memory not in nodes:
        raise BadValue(f"--node {wish.memory}: no such NUMA node", cure=f"available: {CpuSet(nodes)}")
    if wish.cpus is not None and not wish.cpus <= ground.usable:
        raise BadValue(f"--cpus: CPUs {wish.cpus - ground.usable} may not be used here", cure=f"available: {ground.inside.pus}")
    tasks = Tasks(ground, wish, free)
    found = planner(tasks) if planner else kernel_as_it_is(tasks, sheet) if sheet else ()
    last = {task.name: task for task in reversed(tuple(found))}
    return Plan(tuple(reversed(last.values())), tuple(tasks.left_out.values()))


def _membw(tasks: Tasks) -> Iterator[Task]:
    """Yield one part of every kind, its siblings, fewer cores, and memory farther away; or the CPUs of --cpus, as one part."""
    wish = tasks.wish
    patterns = tasks.patterns(*_TABLE)
    if wish.cpus is not None and wish.per is None:
        for piece in tasks.ground.pieces("machine"):
            yield from tasks.membw(_asked(tasks.spot("part", piece, wish.memory), asked=True), patterns)
        return
    yield from _bandwidth(tasks, patterns, wish.per)


def _bandwidth(tasks: Tasks, patterns: tuple[str, ...], per: Part | None) -> Iterator[Task]:
    memory, rungs = tasks.wish.memory, _rungs(tasks.ground, per)
    for piece in rungs:
        yield from tasks.membw(tasks.spot("part", piece, memory), patterns)
    yield from _sparse(tasks, patterns)
    if memory is None:
        yield from _distances(tasks, patterns, {piece.label for piece in rungs})


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
    counts: dict[int, Purpose] = {size // 2: "half", 1: "sparse"}
    for machine in ground.pieces("machine") if len(ground.groups) > 1 else ():
        for count, purpose in sorted(counts.items()):
            if purpose in purposes and 0 < count < size:
                cpus = ground.one_of_each_group(machine.cpus, count)
                yield from tasks.membw(Spot(purpose, machine, cpus, ground.memory_of(cpus), "machine"), patterns)


def _distances(tasks: Tasks, patterns: tuple[str, ...], done: Collection[str], *, latency_too: bool = False) -> Iterator[Task]:
    """Yield memory at each distance from the first NUMA node: local, same socket, other socket by one hop and by two."""
    ground = tasks.ground
    for home in ground.pieces("numa")[:1] if len(ground.memories) > 1 else ():
        kinds = {node.os_index: node.kind for node in ground.memories}
        views = {node: ground.towards(home.cpus, node) for node in kinds}
        first = {(view.distance, view.slit, kinds[node]): node for node, view in reversed(views.items())}
        for node in sorted(first.values(), key=lambda node: (_FARTHER.index(views[node].distance), views[node].slit or 0, node)):
            spot = tasks.spot("matrix", home, node)
            own = spot.memory.distance == "local" and node == ground.nearest(home.cpus[0]) and home.label in done
            yield from () if own else tasks.membw(spot, patterns)
            yield from tasks.chase(spot) if latency_too and node != ground.nearest(home.cpus[0]) else ()


def _matrix(tasks: Tasks) -> Iterator[Task]:
    """Yield cores of every NUMA node against memory of every one: bandwidth and latency."""
    if tasks.wish.what == "matrix" and len(tasks.ground.pieces("numa")) < 2 and len(tasks.ground.memories) < 2:
        return  # in the whole set it is the only latency of that one node
    for home in tasks.ground.pieces("numa"):
        for memory in tasks.ground.memories:
            if tasks.wish.memory in (None, memory.os_index):
                spot = tasks.spot("matrix", home, memory.os_index)
                yield from tasks.membw(spot, tasks.patterns("load", "triad-nt"), usual=5)
                yield from tasks.chase(spot, usual=3)


def _scaling(tasks: Tasks) -> Iterator[Task]:
    """Yield threads from one to all: one NUMA node after the other, and assigned to the nodes in turn."""
    ground, memory = tasks.ground, tasks.wish.memory
    orders: dict[Order, tuple[int, ...]] = {"filled": ground.order}
    homes = [piece.cpus for piece in ground.pieces("numa")]
    dealt = tuple(cpus[turn] for turn in range(max(map(len, homes), default=0)) for cpus in homes if turn < len(cpus))
    if len(homes) > 1 and len(dealt) == len(ground.order):
        orders["dealt"] = dealt
    for machine in ground.pieces("machine"):
        for order, cpus in orders.items():
            for count in _counts(len(cpus)):
                some = cpus[:count]
                where = ground.memory_of(some) if memory is None else ground.towards(some, memory)
                spot = Spot("scaling", machine, some, where, f"machine/{count}-{order}", order)
                yield from tasks.membw(spot, tasks.patterns(*_CURVES), usual=5)


def _counts(most: int) -> tuple[int, ...]:
    """Return the numbers of threads: all up to 8, then half-way between powers of two, and the last.

    >>> _counts(48)
    (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48)
    """
    steps = [*range(1, 9), *(count << power for power in range(2, 12) for count in (3, 4))]
    return tuple(sorted({count for count in steps if count < most} | {most}))


def _quick(tasks: Tasks) -> Iterator[Task]:
    """Yield what an audit needs, in under a minute on two sockets of 64 cores: the whole first, then smaller parts."""
    ground = tasks.ground
    seen: dict[tuple[int, ...], str] = {}

    def fresh(part: Part, *usual: str) -> Iterator[Task]:
        """Yield every part of a kind whose cores were not measured as a larger part."""
        for piece in ground.pieces(part):
            cpus = tuple(sorted(piece.cpus))
            if cpus not in seen:
                seen[cpus] = piece.label
                yield from tasks.membw(tasks.spot("part", piece), tasks.patterns(*usual), usual=5)

    yield from fresh("machine", *_TABLE)
    yield from fresh("socket", *_TABLE)
    yield from fresh("numa", "load", "triad-nt")
    homes = ground.pieces("numa")
    if len(homes) > _MANY:  # then latency of its own memory is measured of the first of each socket
        homes = tuple(next(home for home in homes if home.cpus[0] in each.cpus) for each in ground.pieces("socket"))
    for home in homes:
        yield from tasks.chase(tasks.spot("part", home), usual=3)
    yield from _sparse(tasks, tasks.patterns("triad-nt"), ("sparse",))
    yield from peak_and_clock(tasks)
    for piece in ground.pieces("core")[:1]:
        seen.setdefault(piece.cpus, piece.label)
        yield from tasks.membw(tasks.spot("part", piece), tasks.patterns(*_TABLE), usual=5)
    yield from _distances(tasks, tasks.patterns("triad-nt"), seen.values(), latency_too=True)
    yield from fresh("l3", "triad-nt")
    yield from neighbour_round_trips(tasks)


def _full(tasks: Tasks) -> Iterator[Task]:
    """Yield everything."""
    yield from _bandwidth(tasks, tasks.patterns(*_TABLE), "socket")
    for per in ("numa", "l3", "core"):
        yield from _bandwidth(tasks, tasks.patterns("triad-nt"), per)
    for planner in (_matrix, latency_ladder, loaded_latency, all_peaks, core_to_core, _scaling, _roofline):
        yield from planner(tasks)


def _roofline(tasks: Tasks) -> Iterator[Task]:
    """Yield the ceilings of a code: peaks of one core and of all, and the bandwidth beneath them."""
    parts = ("core", "socket", "machine")
    yield from _peak(tasks, _CEILINGS, parts)
    for piece in (piece for piece in _rungs(tasks.ground, None) if piece.part in parts):
        yield from tasks.membw(tasks.spot("part", piece, tasks.wish.memory), tasks.patterns(*_TABLE))


PLANS: dict[str, Planner] = {
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
CHARTS: dict[str, tuple[str, ...]] = {
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
SETS = ("quick", "full")


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
    return any(task.purpose == "matrix" and task.memory not in (None, task.index) for task in tasks)


# ---- between two hosts, part by part as dell-naples-2018 does: rank i on the first sends to rank i + n/2 on the second ----

MESSAGES = "mbw_mr"
MESSAGE_SIZES = "8,65536,1048576"
"""Message rate; what UCX sends at once; what it sends by rendezvous."""
MESSAGE_REPEATS = 9
FEW = 2
"""Ranks in each NUMA node where all nodes take part: the last line of Table 2 in dell-naples-2018."""

Per = Literal["numa", "socket", "machine"]
_KINDS: tuple[Per, ...] = ("numa", "socket", "machine")
Node = tuple[int | None, CpuSet]
"""A part by its number, None for the whole, and its CPUs."""


@dataclass(frozen=True)
class NetworkRun:
    """One start of the kernel: where its ranks are on each host, and what they send."""

    purpose: Purpose
    part: Part
    index: int | None
    cpus: CpuSet | None
    """What they may use on each host; None: everything."""
    ranks: int | None
    """On each host; None: FEW in each NUMA node."""
    hca: str | None
    distance: str
    """From the part to the adapter: local, same-socket, other-socket; empty if that is not known."""
    about: str

    @property
    def tests(self) -> str:
        """What the kernel is asked for."""
        return "latency,mbw_mr,bibw" if self.purpose == "network-pair" else "mbw_mr"

    @property
    def label(self) -> str:
        """What names it beside others: ``numa3``, ``machine``."""
        kind = self.purpose.removeprefix("network")
        near = "-near" if self.distance == "local" else "-far" if self.distance else ""
        return f"{self.part}{'' if self.index is None else self.index}{kind}{near if kind == '-pair' else ''}"

    def arguments(self, sizes: str, repeats: int) -> tuple[str, ...]:
        """Return the kernel's arguments."""
        return ("--test", self.tests, "--sizes", sizes, "--repeats", str(repeats))

    def task(self, sizes: str, repeats: int, cpus: Iterable[int]) -> Task:
        """Return the leg as a task."""
        rounds = len(self.tests.split(",")) * count_sizes(sizes)
        return Task(
            name=f"{MESSAGES}/{self.purpose}/{self.hca or 'any'}/{self.label}",
            kernel=MESSAGES,
            purpose=self.purpose,
            variants=tuple(self.tests.split(",")),
            part=self.part,
            index=self.index,
            cpus=tuple(cpus),
            arguments=self.arguments(sizes, repeats),
            seconds=round(4.0 + rounds * (repeats + 4) * _REPEAT, 1),
        )


def sizes_of(text: str) -> str:
    """Return message sizes as the kernel takes them; refuse what it would."""
    units = {"KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "K": 1 << 10, "M": MIB, "G": 1 << 30}
    mark = ":" if ":" in text else ","
    sizes = []
    for word in text.replace(" ", "").split(mark):
        unit = next((each for each in units if word.endswith(each)), "")
        number = word.removesuffix(unit)
        sizes.append(int(number) * units.get(unit, 1) if number.isascii() and number.isdecimal() and len(number) < 11 else 0)
    wrong = any(not 0 < size <= 1 << 30 for size in sizes) or len(sizes) > 64
    if wrong or (mark == ":" and (len(sizes) != 2 or sizes[0] > sizes[1])):
        cure = "write 8,64KiB, or 1:4MiB for every power of two from 1 byte to 4 MiB"
        raise BadValue(f"--sizes {text[:40]} is not a list of message sizes", cure=cure)
    return mark.join(map(str, sizes))


def count_sizes(sizes: str) -> int:
    """Return how many sizes a list or a range of doublings has."""
    low, colon, high = sizes.partition(":")
    return (int(high) // int(low)).bit_length() if colon else len(sizes.split(","))


def network_runs(
    machines: Sequence[Machine], hcas: Sequence[str], per: Per | None = None, *, hosts: int = 2
) -> tuple[NetworkRun, ...]:
    """Return what to measure: one start of the kernel after the other, each adapter in turn."""
    ground, *others = map(Resources, machines)
    cuts = [([(node.os_index, node.cpuset) for node in each.homes], each.inside.pus) for each in (ground, *others)]
    for other, cut in zip(others, cuts[1:], strict=True):
        if cut != cuts[0]:  # NUMA node 3 of one would be compared with other cores of the other
            names = " and ".join(each.machine.name or "a host" for each in (ground, other))
            counts = " and ".join(str(len(homes)) for homes, _ in (cuts[0], cut))
            problem = (
                f"{names} differ in NUMA partitioning ({counts} NUMA nodes, or different CPUs in them); choose identical hosts"
            )
            raise CannotWork(problem)
    found = [leg for hca in hcas or (None,) for leg in _of_adapter(ground, hca, per, hosts)]
    if not found:
        raise CannotWork("nothing to measure: pairs inside one host need two cores; name two hosts with --hosts A,B")
    return tuple(found)


def _of_adapter(ground: Resources, hca: str | None, per: Per | None, hosts: int) -> Iterator[NetworkRun]:
    home = home_of(ground.machine, hca)
    if per is None:
        yield from _rank_pairs(ground, home, hca, hosts)
    seen: set[CpuSet] = set()
    for part in (per,) if per else _KINDS:
        for index, cpus in _parts(ground, part):
            ranks = sum(1 for core in ground.inside.cores if core.cpuset & cpus) or len(cpus)
            ranks -= ranks % 2 if hosts == 1 else 0
            if ranks and cpus not in seen:
                seen.add(cpus)
                away, about = _distance(ground, home, cpus), f"{_place(part, index)}, all cores"
                yield NetworkRun("network", part, index, cpus, ranks, hca, away, about)
    if per is None and len(ground.homes) > 1:
        yield NetworkRun("network-few", "machine", None, None, None, hca, "", f"{FEW} ranks in each NUMA node")


def home_of(machine: Machine, hca: str | None) -> Locality:
    """Return where an adapter is; nowhere where that is not known."""
    return next((each.locality for each in machine.hcas or () if each.name == hca and each.locality), Locality(numa_nodes=()))


def _rank_pairs(ground: Resources, home: Locality, hca: str | None, hosts: int) -> Iterator[NetworkRun]:
    """Yield one rank per host beside the adapter, and as far from it as possible."""
    nodes = list(_parts(ground, "numa")) or list(_parts(ground, "machine"))
    near = next((each for each in nodes if each[0] in home.numa_nodes), nodes[0])
    far = _farthest(ground, near, nodes)
    for node in dict.fromkeys((near, far)):
        index, cpus = node
        part: Part = "machine" if index is None else "numa"
        if hosts > 1:
            about = f"one rank per host, on {_place(part, index)}"
            yield NetworkRun("network-pair", part, index, cpus, 1, hca, _distance(ground, home, cpus), about)
        elif two := _two_cores(ground, near[1], cpus):
            about = f"one rank on {_place(part, near[0])}, one on {_place(part, index)}"
            yield NetworkRun("network-pair", part, index, two, 2, hca, "", about)


def _farthest(ground: Resources, near: Node, nodes: Sequence[Node]) -> Node:
    """Return the node farthest from one: by the socket, then by the firmware's distances."""
    table = ground.whole.distances
    mine = {at for at, socket in enumerate(ground.sockets) if socket & near[1]}

    def away(node: Node) -> tuple[bool, int]:
        other = not any(at in mine and socket & node[1] for at, socket in enumerate(ground.sockets))
        if table is None or near[0] is None or node[0] is None:
            return other, 0
        return other, table.between(near[0], node[0]) or 0

    return max(nodes, key=lambda node: (node != near, away(node)))


def _parts(ground: Resources, part: str) -> Iterator[Node]:
    if part == "numa":
        yield from ((node.os_index, node.cpuset & ground.inside.pus) for node in ground.homes)
    elif part == "socket":
        yield from ((at, cpus & ground.inside.pus) for at, cpus in enumerate(ground.sockets) if cpus & ground.inside.pus)
    else:
        yield None, ground.inside.pus


def _two_cores(ground: Resources, one: CpuSet, other: CpuSet) -> CpuSet:
    """Return a core of each of two parts; none where these are one part of a single core."""

    def core_of(cpus: CpuSet) -> CpuSet:
        cores = (core.cpuset for core in ground.inside.cores if core.cpuset & cpus)
        return min(cores, key=lambda core: core.first or 0, default=CpuSet([cpus.first or 0]))

    first = core_of(one)
    rest = other - first
    return first | core_of(rest) if rest else CpuSet()


def _distance(ground: Resources, home: Locality, cpus: CpuSet) -> str:
    """Return how far an adapter is from some cores; empty where it is not known, or where they are near and far from it."""
    if not home.numa_nodes or home.one_of:
        return ""
    beside = CpuSet(cpu for node in ground.homes if node.os_index in home.numa_nodes for cpu in node.cpuset)
    if cpus & beside:
        return "local" if cpus != ground.inside.pus or beside >= cpus else ""
    return "same-socket" if any(socket & beside and socket & cpus for socket in ground.sockets) else "other-socket"


def _place(part: str, index: int | None) -> str:
    return "the whole node" if index is None else f"{'NUMA node' if part == 'numa' else part} {index}"
