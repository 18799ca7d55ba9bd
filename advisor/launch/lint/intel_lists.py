"""What Intel MPI makes of I_MPI_PIN_PROCESSOR_LIST: one CPU a rank where it has as many, else parts of a set of CPUs.

Watched in 2021.18 (tests/launch/lint/seen_intelmpi.txt).
"""

import re
from collections.abc import Iterator

from advisor.launch.lint.intel_tree import Tree
from advisor.launch.lint.openmpi import Unclear
from advisor.model.cpuset import CpuSet

_UNREAD = re.compile(
    r"(all|allsocks|allcores:(map=(scatter|bunch|spread)|shift=\d{1,3}|grain=\d{1,3})|all:map=(scatter|bunch|spread)|all:bunch)",
    re.ASCII,
)
"""Words that 2021.18 was seen to pass over: its ranks are then where they are without a list."""

_LEVELS = ("socket", "numa", "cache3", "core", "pu")


def processors(text: str, tree: Tree, count: int) -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each rank, None where the list is passed over; raise Unclear where neither was seen."""
    if _UNREAD.fullmatch(text.lower()):
        return None
    every = tree.topology.inside.pus
    if text.lower() == "allcores":
        return _parts(CpuSet(core.first or 0 for core in tree.level("core")), tree, count)
    numbers = list(_numbers(text, len(every)))
    if len(set(numbers)) < len(numbers) or any(number not in every for number in numbers):
        raise Unclear("the list names a CPU twice, or one that this machine does not have")
    if len(numbers) == count:
        return tuple(CpuSet([number]) for number in numbers)
    return _parts(CpuSet(numbers), tree, count)


def _numbers(text: str, most: int) -> Iterator[int]:
    given = 0
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", word, re.ASCII)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise Unclear(f"the list has {word[:40]!a}, and what Intel MPI makes of that was not seen")
        given += int(match[2] or match[1]) - int(match[1]) + 1
        if given > most:
            raise Unclear("the list names more CPUs than this machine has")
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)


def _parts(allowed: CpuSet, tree: Tree, count: int) -> tuple[CpuSet, ...]:
    """Return what of a set lies in the first of the largest things that are enough, else its CPUs over and over.

    Of things beside each other the one whose first CPU has the lower number is the first, as hwloc sorts what is left.
    """
    tree.even(("socket", "numa", "cache3", "core"))
    chains: dict[int, tuple[int, ...]] = dict.fromkeys(allowed, ())
    found: list[CpuSet] = []
    for kind in _LEVELS:
        found = [thing & allowed for thing in tree.level(kind) if thing & allowed]
        chains |= {cpu: (*chains[cpu], mine.first or 0) for mine in found for cpu in mine}
        found.sort(key=lambda mine: chains[mine.first or 0])
        if len(found) >= count:
            return tuple(found[:count])
    return tuple(found[rank % len(found)] for rank in range(count))
