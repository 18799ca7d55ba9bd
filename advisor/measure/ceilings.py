"""What the hardware cannot exceed: bytes a second from the DIMMs, operations a second from cores and clock."""

from collections.abc import Iterable, Mapping
from typing import Final

from advisor.measure.ground import Ground
from advisor.measure.sizes import of_node
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.memory import SocketMemory
from advisor.model.hardware.topology import NumaNode
from advisor.model.measurement import Result

_ALIKE: Final = 0.1
"""Nodes of a socket whose memory differs by more than this have not the same channels."""
_TOLERANCE: Final = 1.02
"""Clocks of boards and of memory are set a little high, and a timer ticks."""
_FLOPS: Final = 1.05
"""The clock is measured in slices of the same run, not over all of it."""
_CACHED: Final = 2
"""A working set below so many times the L3 may be answered by it for the most part."""


def memory_ceiling(ground: Ground, node: int) -> float | None:
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


def _of_socket(ground: Ground, index: int) -> SocketMemory | None:
    known = ground.machine.memory.sockets if ground.machine.memory else None
    return next((each for each in known or () if each.socket == index), None)


def _sharing(ground: Ground, node: NumaNode, sockets: list[int]) -> int:
    """Return among how many nodes the channels are shared out evenly; 1 where they may not be, so that the ceiling holds."""
    cpus = CpuSet(cpu for index in sockets for cpu in ground.sockets[index])
    plain = [each for each in ground.whole.nodes if each.kind in (None, "dram") and (each.cpuset or each.near) & cpus]
    sizes = [each.memory for each in plain]
    known = [size for size in sizes if size]
    if len(known) != len(sizes) or node not in plain or max(known) - min(known) > _ALIKE * max(known):
        return 1
    return len(plain)


def bandwidth_ceiling(ground: Ground, cpus: Iterable[int], node: int | None) -> float | None:
    """Return the bytes a second of all channels that a task can draw on."""
    nodes = CpuSet([node]) if node is not None else of_node(ground, cpus)
    peaks = [memory_ceiling(ground, each) for each in nodes]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known and len(known) == len(peaks) else None


def flops_ceiling(cores: int, flops_per_cycle: float | None, clock: float | None) -> float | None:
    """Return the operations a second of some cores at the clock that they were seen to have."""
    return None if flops_per_cycle is None or clock is None else cores * flops_per_cycle * clock


def with_ceiling(
    result: Result, ground: Ground, flops_per_cycle: float | None, clocks: Mapping[tuple[int, ...], float]
) -> Result:
    """Return a result with its ceiling, refused where it is above: the instrument is wrong, or the facts are."""
    if result.unit == "flop/s":
        ceiling, room = flops_ceiling(len(result.cpus), flops_per_cycle, clocks.get(result.cpus)), _FLOPS
    elif result.unit == "bytes/s" and result.kernel == "membw":
        ceiling, room = _of_memory(result, ground)
    else:
        return result
    if ceiling is None:
        return result
    above = result.median > ceiling * room
    why = f"instrument error: {result.median / ceiling:.2f} of what the hardware can give" if above else None
    return result.model_copy(update={"ceiling": ceiling, "refused": result.refused or why})


def _of_memory(result: Result, ground: Ground) -> tuple[float | None, float]:
    """Return the ceiling of a bandwidth, and how far above it the L3 can carry it by what stays in it."""
    l3, size = ground.reached_l3(result.cpus), result.bytes
    if l3 is None or size is None or size < _CACHED * l3:
        return None, _TOLERANCE
    return bandwidth_ceiling(ground, result.cpus, result.memory), _TOLERANCE / (1 - l3 / size)
