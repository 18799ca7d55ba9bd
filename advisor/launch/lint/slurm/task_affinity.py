"""Which CPUs srun gives the tasks of a node: what slurmctld picks for a step, and how task/affinity distributes it.

Written from what Slurm 22.05.8 was seen to do on simulated nodes (tests/launch/lint/seen_srun.txt).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.launch.lint.outcome import Refused
from advisor.launch.lint.slurm.node import Entity, Setup, Shape
from advisor.model.cpuset import CpuSet


@dataclass(frozen=True)
class Step:
    """What a step asks for on one node."""

    tasks: int
    each: int = 1
    """CPUs of a task."""
    inner: str | None = None
    """How tasks are spread over the sockets: block, cyclic, fcyclic, plane; None: as Slurm was set up."""
    exact: bool = False
    bind: Entity | None = None
    per_core: int | None = None
    """Tasks of a core at most."""
    per_socket: int | None = None
    used: int | None = None
    """Threads of a core that are used."""


def masks(step: Step, node: Shape, setup: Setup) -> tuple[CpuSet, ...]:
    """Return the CPUs of each task, in their order on the node, those that the kernel lacks among them."""
    free = available(step, node, setup)
    bind = step.bind or _automatic(step, node, setup, free)
    if bind is None:
        return (node.real(free),) * step.tasks
    block = step.inner in ("block", "plane") or (step.inner is None and setup.blocks)
    try:
        given = [_wide(mine, node, bind, free) for mine in (_block if block else _cyclic)(step, node, setup, free, bind)]
    except _TooFewError:
        given = [free] * step.tasks
    every = tuple(node.real(mine) for mine in given)
    return tuple(node.widened(cpus) for cpus in every) if bind == "ldoms" else every


def available(step: Step, node: Shape, setup: Setup) -> set[int]:
    """Return the CPUs of the step: all of the node, or exactly the cores that its tasks need."""
    if not step.exact:
        return set(range(node.count))
    if step.tasks == node.sockets * node.cores and step.each <= node.threads:
        return set(range(node.count))
    width = 1 if setup.single else min(step.used or node.threads, node.threads)
    if step.per_core in (None, 1) and step.each > width:
        cores = step.tasks * -(-step.each // width)
    else:
        cores = -(-step.tasks * step.each // width)
    if cores > node.sockets * node.cores:
        raise Refused(f"its tasks need {cores} cores of a node, and it has {node.sockets * node.cores}; nothing starts")
    order = _picked(step, node, cores // step.tasks)
    picked = {core for core, _ in zip(order, range(cores), strict=False)}
    return {core * node.threads + thread for core in picked for thread in range(node.threads)}


def _picked(step: Step, node: Shape, group: int) -> Iterator[int]:
    """Yield the cores in the order in which slurmctld takes them; a group of 0 fills one socket after the other."""
    if step.inner == "block" or (group == 0 and step.inner != "fcyclic"):
        yield from range(node.sockets * node.cores)
    elif step.inner == "fcyclic":
        yield from (socket * node.cores + core for core in range(node.cores) for socket in range(node.sockets))
    else:
        yield from _grouped(node, group)


def _grouped(node: Shape, group: int) -> Iterator[int]:
    """Yield the cores of a task from one socket, those of the next task from the next."""
    following = [0] * node.sockets
    taken = 0
    while any(core < node.cores for core in following):
        for socket in range(node.sockets):
            while following[socket] < node.cores:
                yield socket * node.cores + following[socket]
                following[socket] += 1
                taken += 1
                if taken == group:
                    taken = 0
                    break


def _automatic(step: Step, node: Shape, setup: Setup, free: set[int]) -> Entity | None:
    """Return what tasks are bound to where the line does not say: what there is exactly one of for each of their CPUs."""
    wanted = step.tasks * step.each
    sizes: tuple[tuple[Entity, int], ...] = (("sockets", node.socket), ("cores", node.threads), ("threads", 1))
    for entity, size in sizes:
        whole = [start for start in range(0, node.count, size) if set(range(start, start + size)) <= free]
        part = any(0 < len(free & set(range(start, start + size))) < size for start in range(0, node.count, size))
        if wanted == len(whole) and not part:
            return entity
    return setup.automatic


class _TooFewError(Exception):
    """Fewer CPUs than tasks: all get the CPUs of the step."""


class _Count:
    """How many tasks and threads are on each core and socket so far."""

    def __init__(self, step: Step, node: Shape, setup: Setup, free: set[int]) -> None:
        self.step, self.node = step, node
        self.used = step.used or (1 if setup.single else None)
        if len(free) < step.tasks or (self.used and len(free) < step.each * (node.threads // self.used)):
            raise _TooFewError
        self.each = step.each if len(free) >= step.tasks * step.each else len(free) // step.tasks
        self.clear()

    def clear(self) -> None:
        """Begin again: CPUs are given a second time."""
        self.tasks: dict[int, int] = {}
        self.threads: dict[int, int] = {}
        self.sockets: dict[int, int] = {}

    def full(self, cpu: int, *, sockets: bool) -> bool:
        """Whether no more may be taken of a CPU's core or socket."""
        core, socket, step = cpu // self.node.threads, cpu // self.node.socket, self.step
        if step.per_core and self.tasks.get(core, 0) >= step.per_core:
            return True
        if sockets and step.per_socket and self.sockets.get(socket, 0) >= step.per_socket:
            return True
        return bool(self.used and self.threads.get(core, 0) >= self.used)

    def take(self, cpu: int) -> None:
        """Count a thread."""
        core = cpu // self.node.threads
        self.threads[core] = self.threads.get(core, 0) + 1

    def done(self, cpu: int) -> None:
        """Count a task whose last CPU this is."""
        core, socket = cpu // self.node.threads, cpu // self.node.socket
        self.tasks[core] = self.tasks.get(core, 0) + 1
        self.sockets[socket] = self.sockets.get(socket, 0) + 1

    def skipped(self, bind: Entity) -> int:
        """Return the threads that are left out after a task, so that the next one begins on another core."""
        if bind != "cores" and self.step.per_core != 1:
            return 0
        threads = self.node.threads
        return threads - self.each if self.each < threads else self.each % threads


def _block(step: Step, node: Shape, setup: Setup, free: set[int], bind: Entity) -> Iterator[set[int]]:
    count = _Count(step, node, setup, free)
    mine: set[int] = set()
    made = taken = 0
    while made < step.tasks:
        before = made
        if made:
            count.clear()
        at = 0
        while at < len(node.cpus) and made < step.tasks:
            cpu, at = at, at + 1
            if cpu not in free or count.full(cpu, sockets=True):
                continue
            mine.add(cpu)
            count.take(cpu)
            taken += 1
            if taken < count.each:
                continue
            count.done(cpu)
            at += count.skipped(bind)
            yield mine
            mine, taken, made = set(), 0, made + 1
        if made == before:
            raise _TooFewError


def _cyclic(step: Step, node: Shape, setup: Setup, free: set[int], bind: Entity) -> Iterator[set[int]]:
    count, socket = _Count(step, node, setup, free), 0
    following = [0] * node.sockets
    mine: set[int] = set()
    made = taken = 0
    while made < step.tasks:
        before = made
        for _ in range(len(node.cpus)):
            first = socket
            while following[socket] >= node.socket:
                socket = (socket + 1) % node.sockets
                if socket == first:
                    count.clear()
                    following = [0] * node.sockets
            cpu = (following[socket] + socket * node.socket) % len(node.cpus)
            following[socket] += 1
            if cpu not in free or count.full(cpu, sockets=False):
                continue
            mine.add(cpu)
            switched = step.inner == "fcyclic"
            socket = (socket + 1) % node.sockets if switched else socket
            count.take(cpu)
            taken += 1
            if taken < count.each:
                continue
            count.done(cpu)
            following[socket] += count.skipped(bind)
            socket = socket if switched else (socket + 1) % node.sockets
            yield mine
            mine, taken, made = set(), 0, made + 1
            if made >= step.tasks:
                return
        if made == before:
            raise _TooFewError


def _wide(mine: set[int], node: Shape, bind: Entity, free: set[int]) -> set[int]:
    """Return the free CPUs of all cores or sockets that a task has a CPU of."""
    size = {"threads": 1, "ldoms": 1, "cores": node.threads, "sockets": max(1, len(node.cpus) // node.sockets)}[bind]
    starts = {cpu // size * size for cpu in mine}
    return {cpu for start in starts for cpu in range(start, start + size) if cpu in free}
