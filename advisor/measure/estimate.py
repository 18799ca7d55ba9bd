"""How long a task takes, before it is run: rough, and rather too long than too short."""

from collections.abc import Iterable
from typing import Final

from advisor.measure.ceilings import memory_ceiling
from advisor.measure.ground import Ground

START: Final = 0.15
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


def first_touch(size: int, threads: int) -> float:
    """Return the seconds in which some threads get their memory from the kernel."""
    return size / min(_TOUCH * threads, _TOUCH_ALL)


def pass_seconds(ground: Ground, cpus: Iterable[int], node: int | None, size: int) -> float:
    """Return the seconds of one pass over a working set."""
    return size / rate(ground, cpus, node)


def rate(ground: Ground, cpus: Iterable[int], node: int | None) -> float:
    """Return the bytes a second that may be expected at least."""
    threads = tuple(cpus)
    nodes = {node} if node is not None else {ground.nearest(cpu) for cpu in threads} if ground.memories else {None}
    known = [memory_ceiling(ground, each) for each in nodes if each is not None]
    peaks = [peak * _OF_PEAK if peak is not None else _NODE for peak in known] or [_NODE]
    far = node is not None and ground.towards(threads, node).distance == "other-socket"
    return min(_CORE * len(threads), sum(peaks)) * (_REMOTE if far else 1.0)
