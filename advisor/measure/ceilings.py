"""What the hardware can give at most, which results are rejected for it, and how long a task should take."""

from collections.abc import Iterable, Mapping
from typing import Final

from advisor.machine.cpuset import CpuSet
from advisor.machine.memory import SocketMemory
from advisor.machine.topology import NumaNode
from advisor.machine.units import throughput
from advisor.measure.bounds import of_nodes
from advisor.measure.measurement import Result
from advisor.measure.platform import Platform
from advisor.measure.resources import Resources, of_node

_ALIKE: Final = 0.1
"""Nodes of a socket whose memory differs by more than this have not the same channels."""
_TOLERANCE: Final = 1.02
"""Clocks of boards and of memory are set a little high, and a timer ticks."""
_FLOPS: Final = 1.05
"""The clock is measured in slices of the same run, not over all of it."""
_CACHED: Final = 2
"""A working set below so many times the L3 may be answered by it for the most part."""


def memory_ceiling(ground: Resources, node: int) -> float | None:
    """Return the bytes a second of a node's channels; None where they are not known."""
    there = next((each for each in ground.whole.nodes if each.os_index == node), None)
    if there is None or there.kind not in (None, "dram"):
        return None
    sockets = [i for i, cpus in enumerate(ground.sockets) if cpus & (there.cpuset or there.near)]
    told = [_of_socket(ground, index) for index in sockets]
    peaks = [float(each.bandwidth) for each in told if each is not None and each.bandwidth is not None]
    if not sockets or len(peaks) != len(sockets):
        return None
    return sum(peaks) / _sharing(ground, there, sockets)


def _of_socket(ground: Resources, index: int) -> SocketMemory | None:
    known = ground.machine.memory.sockets if ground.machine.memory else None
    return next((each for each in known or () if each.socket == index), None)


def _sharing(ground: Resources, node: NumaNode, sockets: list[int]) -> int:
    """Return among how many nodes the channels are shared out evenly; 1 where they may not be, so that the ceiling holds."""
    cpus = CpuSet(cpu for index in sockets for cpu in ground.sockets[index])
    plain = [each for each in ground.whole.nodes if each.kind in (None, "dram") and (each.cpuset or each.near) & cpus]
    sizes = [each.memory for each in plain]
    known = [size for size in sizes if size]
    if len(known) != len(sizes) or node not in plain or max(known) - min(known) > _ALIKE * max(known):
        return 1
    return len(plain)


def bandwidth_ceiling(ground: Resources, cpus: Iterable[int], node: int | None) -> float | None:
    """Return the bytes a second of all channels that a task can draw on."""
    nodes = CpuSet([node]) if node is not None else of_node(ground, cpus)
    peaks = [memory_ceiling(ground, each) for each in nodes]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known and len(known) == len(peaks) else None


def flops_ceiling(cores: int, flops_per_cycle: float | None, clock: float | None) -> float | None:
    """Return the operations a second of some cores at the clock that they were seen to have."""
    return None if flops_per_cycle is None or clock is None else cores * flops_per_cycle * clock


def with_ceiling(result: Result, ground: Resources, platform: Platform | None, clocks: Mapping[tuple[int, ...], float]) -> Result:
    """Return a result with its ceiling, refused where it is above: the instrument is wrong, or the facts are."""
    if result.unit == "flop/s":
        each_cycle = platform.flops_per_cycle if platform else None
        ceiling, room = flops_ceiling(len(result.cpus), each_cycle, clocks.get(result.cpus)), _FLOPS
    elif result.unit == "bytes/s" and result.purpose != "kernel":
        ceiling, room = _of_memory(result, ground)
        if ceiling is None:
            return _within_bound(result, ground, platform, room)
    else:
        return result
    if ceiling is None:
        return result
    above = result.median > ceiling * room
    why = f"instrument error: {result.median / ceiling:.2f} of what the hardware can give" if above else None
    return result.model_copy(update={"ceiling": ceiling, "refused": result.refused or why})


def _within_bound(result: Result, ground: Resources, platform: Platform | None, room: float) -> Result:
    """Return a result whose DIMMs nobody read, refused where no memory that its processors take could carry it."""
    if not _beyond_caches(result, ground):
        return result
    nodes = [result.memory] if result.memory is not None else of_node(ground, result.cpus)
    bound = of_nodes(ground.machine, platform, nodes)
    if bound is None or result.median <= bound.value * room:
        return result
    rates = f"{throughput(result.median)}, and at most {throughput(bound.value)} come over {bound.because}"
    return result.model_copy(update={"refused": result.refused or f"above the ceiling: {rates}"})


def _beyond_caches(result: Result, ground: Resources) -> bool:
    """Return whether a working set is known to be too large for the L3 to answer most of it."""
    l3, size = ground.reached_l3(result.cpus), result.bytes
    return l3 is not None and size is not None and size >= _CACHED * l3


def _of_memory(result: Result, ground: Resources) -> tuple[float | None, float]:
    """Return the ceiling of a bandwidth, and how far above it the L3 can carry it by what stays in it."""
    l3, size = ground.reached_l3(result.cpus), result.bytes
    if l3 is None or size is None or not _beyond_caches(result, ground):
        return None, _TOLERANCE
    return bandwidth_ceiling(ground, result.cpus, result.memory), _TOLERANCE / (1 - l3 / size)


_ASTRAY: Final = 0.01
"""Of a result's pages; a handful may lie elsewhere, such as those of the heap."""


def checked_results(results: Iterable[Result], ground: Resources, platform: Platform | None = None) -> tuple[Result, ...]:
    """Return results with their ceilings; those that are not believed say why."""
    found = tuple(results)
    clocks = {result.cpus: result.best for result in found if result.unit == "hertz"}
    clocks |= {r.cpus: clock for r in found if r.unit == "flop/s" and (clock := _clock(r)) is not None}
    return tuple(with_ceiling(_placed(result, ground), ground, platform, clocks) for result in found)


def _clock(result: Result) -> float | None:
    clock = result.details.get("clock")
    return float(clock) if isinstance(clock, int | float) and not isinstance(clock, bool) and clock > 0 else None


def _placed(result: Result, ground: Resources) -> Result:
    """Return a result, refused where its pages lay on other nodes than they were to."""
    wanted = CpuSet([result.memory]) if result.memory is not None else _own(result, ground)
    pages = result.pages
    if not pages or not wanted or result.refused:
        return result
    elsewhere = {node: count for node, count in pages.items() if node not in wanted}
    astray = sum(elsewhere.values()) / max(1, sum(pages.values()))
    if astray <= _ASTRAY:
        return result
    why = f"{astray:.0%} of its pages lay on node {CpuSet(elsewhere)}, not on {wanted}"
    return result.model_copy(update={"refused": why})


def _own(result: Result, ground: Resources) -> CpuSet:
    """Return the nodes of first touch; none for what has no memory to speak of, such as a line between two cores."""
    return of_node(ground, result.cpus) if result.distance is not None else CpuSet()


START_SECONDS: Final = 0.15
"""Seconds: starting the program, its threads, reading its memory's place."""
_TOUCH: Final = 1.2e9
"""Bytes a second that one core takes from the kernel for the first time: clearing pages of 4 KiB."""
_TOUCH_ALL: Final = 25e9
"""What the kernel's locks let all cores of a machine take together."""
_CORE: Final = 10e9
"""Bytes a second of one core; between 8 (large Xeons) and 40 (Zen 4)."""
_NODE: Final = 25e9
"""Bytes a second of a NUMA node of which nothing is known."""
_OF_PEAK: Final = 0.6
_REMOTE: Final = 0.35
"""What is left of the bandwidth on the other socket, published for EPYC 7601."""


def first_touch_seconds(size: int, threads: int) -> float:
    """Return the seconds in which some threads get their memory from the kernel."""
    return size / min(_TOUCH * threads, _TOUCH_ALL)


def pass_seconds(ground: Resources, cpus: Iterable[int], node: int | None, size: int) -> float:
    """Return the seconds of one pass over a working set."""
    return size / expected_bandwidth(ground, cpus, node)


def expected_bandwidth(ground: Resources, cpus: Iterable[int], node: int | None) -> float:
    """Return the bytes a second that may be expected at least."""
    threads = tuple(cpus)
    nodes = {node} if node is not None else {ground.nearest(cpu) for cpu in threads} if ground.memories else {None}
    known = [memory_ceiling(ground, each) for each in nodes if each is not None]
    peaks = [peak * _OF_PEAK if peak is not None else _NODE for peak in known] or [_NODE]
    far = node is not None and ground.towards(threads, node).distance == "other-socket"
    return min(_CORE * len(threads), sum(peaks)) * (_REMOTE if far else 1.0)
