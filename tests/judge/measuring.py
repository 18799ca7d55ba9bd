"""Measurements as a machine would give them: the tasks that advisor measure plans for it, with values of a simple world."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from advisor.measure.measurement import Measurements, Result, Task, Unit
from advisor.measure.plan import Request, plan
from tests.judge.sending import measurements


@dataclass(frozen=True)
class World:
    """What the machine gives; bytes a second, seconds and hertz."""

    node: float = 40e9
    """Triad of a NUMA node with streaming stores."""
    core: float = 12e9
    near: float = 0.7
    far: float = 0.35
    latency: float = 100e-9
    clock: float = 2.4e9
    flops: float = 16
    """Operations of a core in a cycle."""
    crowd: float = 1.0
    """All cores of a part give so much of what one of each L3 group does."""
    nodes: dict[int, float] = field(default_factory=dict)
    """Nodes that give another share of it."""
    groups: dict[int, float] = field(default_factory=dict)
    """L3 groups whose cores give another share of theirs."""
    apart: float = 0.01
    """How far apart the repeats lie, as a share."""
    size: int | None = None
    """Cores that really share a cache, where the firmware says otherwise."""
    idle: bool = True
    isa: str = "avx2"


def measured(machine: Machine, world: World | None = None, what: str = "quick") -> Measurements:
    """Return what a machine would measure."""
    told, topology = world or World(), machine.topology
    assert topology is not None
    results = (each for task in plan(machine, Request(what)).tasks for each in _results(task, told, topology))
    return measurements(machine, results, idle=told.idle)


def result(task: Task, variant: str, unit: Unit, value: float, apart: float, **more: object) -> Result:
    """Return a result of a task with five repeats, whose middle half lies so far apart."""
    values = tuple(value * (1 + apart * step / 2) for step in (-2, -1, 0, 1, 2))
    made = {"task": task.name, "kernel": task.kernel, "purpose": task.purpose, "variant": variant, "part": task.part}
    place = {"index": task.index, "cpus": task.cpus, "memory": task.memory, "distance": task.distance}
    return Result.model_validate({**made, **place, "unit": unit, "values": values, **more})


def _results(task: Task, world: World, topology: Topology) -> Iterator[Result]:
    for variant in task.variants:
        if task.kernel == "membw":
            yield result(task, variant, "bytes/s", _bandwidth(task, variant, world, topology), world.apart)
        elif task.kernel == "memlat":
            slower = {"same-socket": 1.4, "other-socket": 2.0}.get(task.distance or "", 1.0)
            yield result(task, variant, "seconds", world.latency * slower, world.apart)
        elif task.kernel == "peakflops":
            rate = len(task.cpus) * world.flops * world.clock * (1 if variant == "fma" else 0.25)
            yield result(task, variant, "flop/s", rate, world.apart, isa=world.isa, details={"clock": world.clock})
        elif task.kernel == "c2c":
            for pair in _pairs(task):
                yield result(task, variant, "seconds", _trip(*pair, world, topology), world.apart, cpus=pair)


_FASTER = {"load": 1.1, "copy": 0.72, "copy-nt": 0.95, "triad": 0.75}


def _bandwidth(task: Task, variant: str, world: World, topology: Topology) -> float:
    total = 0.0
    for node in topology.cpu_nodes:
        cpus = [cpu for cpu in task.cpus if cpu in node.cpuset]
        shares = [world.groups.get(at, 1.0) for cpu in cpus for at, l3 in enumerate(topology.l3) if cpu in l3.cpuset]
        cores = sum(shares) if shares else len(cpus)
        total += min(cores * world.core, world.node * world.nodes.get(node.os_index, 1.0))
    full = task.purpose == "part" and task.part in ("machine", "socket")
    reach = {"same-socket": world.near, "other-socket": world.far}.get(task.distance or "", 1.0)
    return total * reach * (world.crowd if full else 1.0) * _FASTER.get(variant, 1.0)


def _pairs(task: Task) -> list[tuple[int, int]]:
    text = task.arguments[task.arguments.index("--pairs") + 1]
    if text == "all":
        return [(a, b) for a in task.cpus for b in task.cpus if a < b]
    return [(a, b) for a, b in (tuple(map(int, word.split("-"))) for word in text.split(","))]


def _trip(a: int, b: int, world: World, topology: Topology) -> float:
    if world.size:
        return 40e-9 if a // world.size == b // world.size else 110e-9
    if any(a in l3.cpuset and b in l3.cpuset for l3 in topology.l3):
        return 40e-9
    return 110e-9 if topology.package_of(topology.cores[0].cpuset) == 0 and _together(a, b, topology) else 220e-9


def _together(a: int, b: int, topology: Topology) -> bool:
    return any(a in package.cpuset and b in package.cpuset for package in topology.packages)


def neighbours(count: int) -> list[tuple[int, int]]:
    """Return each CPU with the next."""
    return list(pairwise(range(count)))
