"""Measurements for what is drawn of them. EVERY VALUE IS INVENTED: plausible for two EPYC 7702 at NPS4, measured nowhere."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any

from advisor.machine.machine import Machine
from advisor.measure.contract import read_kernels
from advisor.measure.measurement import Conditions, Distance, Identity, Measurements, Missing, Part, Purpose, Result, Task, Unit
from tests.render import made

NODES, CORES = 8, 128
LOW_NODE = 5
"""Invented to be slower than its siblings, as with a DIMM missing."""

PATTERNS = {"load": 1.09, "store": 0.62, "store-nt": 0.96, "copy": 0.72, "copy-nt": 0.98, "triad": 0.78, "triad-nt": 1.0}
ROOFS = ("load", "copy-nt", "triad-nt")


def node_cpus(node: int) -> tuple[int, ...]:
    """Return the CPUs of a NUMA node: 16, in four L3 groups of four."""
    return tuple(range(16 * node, 16 * node + 16))


IDENTITY = Identity(
    name="node001",
    cpu="AMD EPYC 7702 64-Core Processor",
    cpus=CORES,
    nodes=tuple(f"{16 * n}-{16 * n + 15}" for n in range(NODES)),
)


def rome() -> Machine:
    """Return the machine on which nothing of this was measured."""
    return made.machine(made.topology(made.Shape(nodes=4, l3=4, cache=16 << 20)))


def result(variant: str, cpus: Sequence[int], middle: float, unit: Unit = "bytes/s", **more: Any) -> Result:
    """Return five repeats around a value, within one percent; everything else as for one core unless it is given."""
    more = {"isa": "avx2" if unit == "bytes/s" else None, **more}
    known = {"kernel": "membw", "purpose": "part", "part": "core", "page_kind": "huge"}
    values = tuple(middle * factor for factor in (1.0, 0.996, 1.004, 0.993, 1.006))
    fields = {**known, "task": "invented", "variant": variant, "cpus": tuple(cpus), "unit": unit, "values": values, **more}
    return Result.model_validate(fields)


def away(node: int, memory: int) -> Distance:
    """Return how far a node's memory is from another's cores."""
    return "local" if node == memory else "same-socket" if node // 4 == memory // 4 else "other-socket"


_OF_CORES: dict[int, Part] = {1: "core", 4: "l3", 16: "numa"}
_REMOTE = {"local": 1.0, "same-socket": 0.71, "other-socket": 0.36}


def _bandwidth() -> Iterator[Result]:
    for pattern, factor in PATTERNS.items():
        for part, index, cpus, sparse, rate in _parts():
            middle = rate * factor * 1e9
            more: dict[str, Any] = {
                "part": part,
                "index": index,
                "distance": "spread" if part in ("socket", "machine") else "local",
            }
            more |= {"memory": None if part in ("socket", "machine") else cpus[0] // 16, "bytes": 1 << 30}
            ceiling = {"numa": 51.2e9, "socket": 204.8e9, "machine": 409.6e9}.get(part)
            yield result(pattern, cpus, middle, ceiling=ceiling, **more)
            if len(sparse) > 1:
                yield result(pattern, sparse, middle * (1.08 + 0.01 * len(pattern)), ceiling=ceiling, **more, purpose="sparse")
    for memory in (1, 4):
        for cpus, rate in (((0,), 21.4), ((0, 1, 2, 3), 29.1), (node_cpus(0), 34.6)):
            part = _OF_CORES[len(cpus)]
            where = away(0, memory)
            yield result("triad-nt", cpus, rate * 1e9 * _REMOTE[where], part=part, index=0, memory=memory, distance=where)


def _parts() -> Iterator[tuple[Part, int | None, tuple[int, ...], tuple[int, ...], float]]:
    yield "core", 0, (0,), (), 21.4
    yield "l3", 0, (0, 1, 2, 3), (), 29.1
    for node in range(NODES):
        cpus = node_cpus(node)
        yield "numa", node, cpus, cpus[::4], 23.7 if node == LOW_NODE else 34.6 + 0.1 * (node % 3)
    for socket in range(2):
        cpus = tuple(range(64 * socket, 64 * socket + 64))
        yield "socket", socket, cpus, cpus[::4], 138.0 - 10 * socket
    yield "machine", None, tuple(range(CORES)), tuple(range(0, CORES, 4)), 266.0


def _matrices() -> Iterator[Result]:
    for node in range(NODES):
        for memory in range(NODES):
            where = away(node, memory)
            rate = 37.7e9 * _REMOTE[where] * (0.7 if memory == LOW_NODE else 1)
            more: dict[str, Any] = {"memory": memory, "distance": where, "purpose": "matrix"}
            yield result("load", node_cpus(node), rate, part="numa", index=node, **more)
            time = {"local": 96.0, "same-socket": 113.0, "other-socket": 205.0}[where] + (node + memory) % 3
            yield result("chase", node_cpus(node)[:1], time * 1e-9, "seconds", kernel="memlat", part="numa", index=node, **more)


def _latencies() -> Iterator[Result]:
    common: dict[str, Any] = {"kernel": "memlat", "part": "core", "index": 0, "memory": 0, "distance": "local"}
    for power in range(12, 31):
        size = 1 << power
        time = 1.19 if size <= 1 << 15 else 3.6 if size <= 1 << 19 else 11.8 if size <= 1 << 24 else 97.0
        slow = 1.0 if size <= 1 << 20 else 1.25
        yield result("chase", (0,), time * 1e-9, "seconds", purpose="ladder", bytes=size, **common)
        yield result(
            "chase", (0,), time * slow * 1e-9, "seconds", purpose="ladder", bytes=size, **common | {"page_kind": "normal"}
        )
    for rate, time in ((0, 97.0), (5, 99.0), (10, 103.0), (15, 108.0), (20, 117.0), (25, 133.0), (30, 171.0), (34, 262.0)):
        more = {**common, "purpose": "loaded", "bytes": 1 << 28, "details": {"load_rate": rate * 1e9}}
        yield result("chase-loaded", (0,), time * 1e-9, "seconds", **more)


def round_trip(a: int, b: int) -> float:
    """Return an invented round trip in seconds."""
    shared = ((4, 48.0), (16, 172.0), (64, 205.0), (CORES, 428.0))
    base = next(time for cores, time in shared if a // cores == b // cores)
    return (base + (7 * a + 3 * b) % 5) * 1e-9


@cache
def map_of(cpus: tuple[int, ...]) -> tuple[Result, ...]:
    """Return the round trips between CPUs."""
    more: dict[str, Any] = {"kernel": "c2c", "purpose": "map", "part": "pair", "isa": None, "page_kind": None}
    return tuple(result("round-trip", pair, round_trip(*pair), "seconds", **more) for pair in combinations(cpus, 2))


def _scaling() -> Iterator[Result]:
    for pattern in ("load", "store-nt", "copy-nt", "triad-nt"):
        for threads in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128):
            nodes = -(-threads // 16)
            full = threads // 16
            last = min(34.6, 12.5 * (threads - 16 * full) ** 0.7) if nodes > full else 0.0
            rate = (full * 34.6 + last) * PATTERNS[pattern] * 1e9
            yield result(pattern, range(threads), rate, purpose="scaling", part="machine", distance="spread", bytes=1 << 30)


def peaks() -> Iterator[Result]:
    """Yield floating-point rates of one core and of all."""
    rates = (("fma", "avx2", 16), ("add", "avx2", 8), ("mul", "avx2", 8), ("muladd", "avx2", 8), ("scalar-fma", "avx2", 4))
    for variant, isa, cycle in (*rates, ("chain", "avx2", 0.34)):
        for cpus, clock in ((range(1), 3.35e9), (range(CORES), 2.45e9)):
            part: Part = "core" if len(cpus) == 1 else "machine"
            more: dict[str, Any] = {"kernel": "peakflops", "purpose": "peak", "details": {"clock": clock}, "page_kind": None}
            index = 0 if part == "core" else None
            yield result(variant, cpus, cycle * clock * len(cpus), "flop/s", isa=isa, part=part, index=index, **more)
    more = {"kernel": "peakflops", "purpose": "clock", "page_kind": None, "isa": "avx2"}
    yield result("fma", range(1), 3.35e9, "hertz", part="core", index=0, **more)
    yield result("fma", range(CORES), 2.45e9, "hertz", part="machine", **more)


def _refused() -> Iterator[Result]:
    yield result(
        "load", (7,), 512e9, index=7, distance="local", memory=0, ceiling=51.2e9, refused="above its ceiling of 51.2 GB/s"
    )
    yield result("triad-nt", node_cpus(2), 12e9, part="numa", index=2, memory=2, distance="local", refused="pages lay on node 3")


IDLE = Conditions(
    started="2026-11-21T14:03:12+01:00",
    seconds=53.0,
    idle=True,
    compiler="gcc (Debian 12.2.0-14) 12.2.0",
    flags="-O3 -march=native",
    governor="performance",
    hugepages="always",
)


KERNELS = read_kernels().sheets


def whole(cpus: Sequence[int] = tuple(range(CORES)), **more: Any) -> Measurements:
    """Return everything that can be measured, with the round trips of some CPUs."""
    results = (*_bandwidth(), *_scaling(), *_matrices(), *_latencies(), *map_of(tuple(cpus)), *peaks(), *_refused())
    missing = (
        Missing(task="membw/part/numa/3/update", why="killed after 30 s"),
        *(Missing(task=f"membw/scaling/machine/{n}/update", why="stopped by Ctrl-C") for n in (1, 2, 4, 8, 16)),
    )
    known: dict[str, Any] = {"machine": IDENTITY, "conditions": IDLE, "results": results, "missing": missing}
    known["kernels"] = tuple(KERNELS.values())
    return Measurements.model_validate({"advisor": "0.2.0", **known, **more})


def of(*results: Result) -> Measurements:
    """Return only these results."""
    return Measurements(advisor="0.2.0", machine=IDENTITY, conditions=IDLE, kernels=tuple(KERNELS.values()), results=results)


def tasks() -> tuple[Task, ...]:
    """Return a plan as for the articles' tables."""
    found = []
    for part, index, cpus, sparse, _ in _parts():
        whole_node = part not in ("socket", "machine")
        more: dict[str, Any] = {"distance": "local", "memory": cpus[0] // 16} if whole_node else {"distance": "spread"}
        found.append(_task(part, index, cpus, "part", **more))
        found += [_task(part, index, sparse, "sparse", **more)] if sparse else []
    found += [_task("numa", 0, node_cpus(0), "matrix", distance=away(0, memory), memory=memory) for memory in (1, 4)]
    trips = (_task("pair", None, (0, cpu), "map", kernel="c2c", seconds=0.02) for cpu in range(1, 40))
    return (*found, *trips)


def _task(part: Part, index: int | None, cpus: Sequence[int], purpose: Purpose, **more: Any) -> Task:
    variants = ("round-trip",) if part == "pair" else ("load", "copy-nt", "triad-nt")
    known = {"part": part, "index": index, "cpus": tuple(cpus), "purpose": purpose, "variants": variants, "kernel": "membw"}
    return Task.model_validate({**known, "name": f"membw/{purpose}/{part}/{index}", "seconds": 1.4, **more})
