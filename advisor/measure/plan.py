"""What to measure on a machine, most telling first. Pure: a machine and a wish in, tasks out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.measure import kernel_tasks
from advisor.measure.headers import PARTS
from advisor.measure.kernel_tasks import Request, Spot, Tasks
from advisor.measure.measurement import Missing, Order, Part, Purpose, Task
from advisor.measure.own_kernel import kernel_as_it_is, kernel_called
from advisor.measure.resources import CoreGroup, Resources

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
    yield from kernel_tasks.peak_and_clock(tasks)
    for piece in tasks.ground.pieces("core")[:1]:
        seen.setdefault(piece.cpus, piece.label)
        yield from tasks.membw(tasks.spot("part", piece), wish.either(_TABLE), usual=5)
    yield from _distances(tasks, wish.either(_ONE), seen.values(), latency_too=True)
    yield from _fresh(tasks, "l3", wish.either(_ONE), seen)
    yield from kernel_tasks.neighbour_round_trips(tasks)


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
        kernel_tasks.latency_ladder,
        kernel_tasks.loaded_latency,
        kernel_tasks.all_peaks,
        kernel_tasks.core_to_core,
        _scaling,
        _roofline,
    ):
        yield from planner(tasks, wish)


def _roofline(tasks: Tasks, wish: Request) -> Iterator[Task]:
    """Yield the ceilings of a code: peaks of one core and of all, and the bandwidth beneath them."""
    yield from kernel_tasks.roofline_peaks(tasks)
    for piece in (piece for piece in _rungs(tasks.ground, None) if piece.part in ("core", "socket", "machine")):
        yield from tasks.membw(tasks.spot("part", piece, wish.memory), wish.either(_TABLE))


PLANS: Final[dict[str, Planner]] = {
    "quick": _quick,
    "full": _full,
    "membw": _membw,
    "scaling": _scaling,
    "matrix": _matrix,
    "ladder": kernel_tasks.latency_ladder,
    "loaded": kernel_tasks.loaded_latency,
    "c2c": kernel_tasks.core_to_core,
    "peak": kernel_tasks.all_peaks,
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
