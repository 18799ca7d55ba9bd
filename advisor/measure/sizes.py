"""How much memory a task needs, so that caches cannot answer for it, and whether there is as much."""

from collections.abc import Iterable, Mapping
from math import ceil

from advisor.measure.ground import Ground
from advisor.model.cpuset import CpuSet

MIB = 1 << 20
TIMES_L3 = 4
"""STREAM's rule: arrays of at least four times the last level cache in all."""
_LEAST = 256 * MIB
_EACH = 16 * MIB
"""For each thread: what one walks through must last longer than the start of all of them."""
_UNKNOWN_L3 = 256 * MIB
"""What is taken for an L3 whose size is not known: the largest of one group is 96 MiB, of a socket 576 MiB."""
_SHARE = 0.5
"""Of the free memory of a node; the rest stays with the page cache and with whoever else is there."""
_INSTALLED = 0.9
"""Of a node's memory, which is all that is known of a machine elsewhere: the rest is its system's."""


class Sizes:
    """The working sets of one machine; ``free`` are bytes by node, as they are now."""

    def __init__(self, ground: Ground, free: Mapping[int, int] | None = None) -> None:
        self.ground = ground
        self.free = free if free is not None else _installed(ground)

    def wanted(self, cpus: Iterable[int], times: float = 1.0) -> int:
        """Return the bytes that make a task on some CPUs one of memory."""
        threads = tuple(cpus)
        l3 = self.ground.reached_l3(threads)
        return _whole(max(times * TIMES_L3 * (_UNKNOWN_L3 if l3 is None else l3), _LEAST, _EACH * len(threads)))

    def room(self, cpus: Iterable[int], node: int | None) -> int | None:
        """Return the bytes that may be taken for a task; None where that is not known."""
        threads = tuple(cpus)
        if node is not None:
            free = self.free.get(node)
            return None if free is None else int(free * _SHARE)
        if not self.ground.memories:
            return None
        homes = [self.ground.nearest(cpu) for cpu in threads]
        known = [(self.free.get(home), homes.count(home)) for home in set(homes)]
        rooms = [free * _SHARE * len(threads) / here for free, here in known if free is not None]
        return int(min(rooms)) if len(rooms) == len(known) else None

    def working_set(self, cpus: Iterable[int], node: int | None, times: float = 1.0) -> int:
        """Return the bytes of a task, so many times what one array needs; 0 where there is not room for enough of them."""
        threads = tuple(cpus)
        wanted, room = self.wanted(threads, times), self.room(threads, node)
        if room is None or wanted <= room:
            return wanted
        l3 = self.ground.reached_l3(threads) or 0
        return room // MIB * MIB if room >= max(2 * times * l3, 64 * MIB) else 0


def free_now(texts: Mapping[int, str | None]) -> dict[int, int]:
    """Return the free bytes of each node from its meminfo; clean file pages make room."""
    found = {node: _free(text) for node, text in texts.items() if text}
    return {node: free for node, free in found.items() if free is not None}


def _free(text: str) -> int | None:
    amounts = dict(_amounts(text))
    free = amounts.get("MemFree")
    return None if free is None else free + amounts.get("FilePages", 0) - amounts.get("Shmem", 0)


def _amounts(text: str) -> Iterable[tuple[str, int]]:
    """Yield the lines ``Node 0 MemFree: 123 kB`` of a node's meminfo in bytes."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isascii() and words[0].isdecimal() and len(words[0]) < 16:
            yield name.split()[-1] if name.split() else "", int(words[0]) * 1024


def _installed(ground: Ground) -> dict[int, int]:
    return {node.os_index: int(node.memory * _INSTALLED) for node in ground.memories if node.memory is not None}


def of_node(ground: Ground, cpus: Iterable[int]) -> CpuSet:
    """Return the nodes on which the pages of some CPUs lie when each touches its own first."""
    return CpuSet(ground.nearest(cpu) for cpu in cpus) if ground.memories else CpuSet()


def _whole(size: float) -> int:
    return ceil(size / MIB) * MIB
