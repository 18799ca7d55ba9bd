"""What Intel MPI makes of I_MPI_PIN_PROCESSOR_LIST, and of masks in I_MPI_PIN_DOMAIN."""

import re
from collections.abc import Iterator

from advisor.errors import BadValue
from advisor.launch.launchers.intelmpi import MASKS
from advisor.launch.lint.hydra.intelmpi_levels import LEVELS, Given, Tree
from advisor.launch.lint.outcome import Unclear
from advisor.model.cpuset import LIMIT, CpuSet
from advisor.model.hardware.topology import Topology

_UNREAD = re.compile(
    r"(all|allsocks|allcores:(map=(scatter|bunch|spread)|shift=\d{1,3}|grain=\d{1,3})|all:map=(scatter|bunch|spread)|all:bunch)",
    re.ASCII,
)
"""Words that 2021.18 was seen to pass over: its ranks are then where they are without a list."""


def processors(text: str, tree: Tree, count: int, *, cell: str = "") -> tuple[CpuSet, ...] | None:
    """Return the CPUs of each rank, None where the list is passed over; raise Unclear where neither was seen.

    Beside I_MPI_PIN_CELL a rank has one CPU of the list.
    """
    if _UNREAD.fullmatch(text.lower()):
        return None
    every = tree.topology.inside.pus
    if text.lower() == "allcores":
        return _parts(every, tree, count, cell=cell)
    said = list(_numbers(text, LIMIT))
    numbers = [number for number in said if number in every]
    if len(set(numbers)) < len(numbers) or not numbers:
        raise Unclear("the list names a CPU twice, or none that this machine has")
    if len(said) == count:
        return tuple(CpuSet([numbers[rank % len(numbers)]]) for rank in range(count))
    return _parts(CpuSet(numbers), tree, count, cell=cell)


def _numbers(text: str, most: int) -> Iterator[int]:
    given = 0
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", word, re.ASCII)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise Unclear(f"the list has {word[:40]!a}, and what Intel MPI makes of that was not seen")
        given += int(match[2] or match[1]) - int(match[1]) + 1
        if given > most:
            raise Unclear("the list names more CPUs than any machine has")
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)


def _parts(allowed: CpuSet, tree: Tree, count: int, *, cell: str) -> tuple[CpuSet, ...]:
    """Return what of a set lies in the first of the largest things that are enough, else its CPUs over and over.

    Of each core only the first such CPU counts, unless hardware threads are needed or are the cells. Of things beside each
    other the one whose first CPU has the lower number is the first, as hwloc sorts what is left.
    """
    first = CpuSet(min(core & allowed) for core in tree.level("core") if core & allowed)
    chains: dict[int, tuple[int, ...]] = dict.fromkeys(allowed, ())
    found, cores = [CpuSet()], [CpuSet()]
    for kind in LEVELS:
        mine = allowed if kind == "pu" else first
        found = [thing & mine for thing in tree.level(kind) if thing & mine]
        chains |= {cpu: (*chains[cpu], (thing & allowed).first or 0) for thing in tree.level(kind) for cpu in thing & allowed}
        found.sort(key=lambda part: chains[part.first or 0])
        cores = found if kind == "core" else cores
        single = kind == "pu" if cell == "unit" else kind in ("core", "pu")
        if len(found) >= count and (single or not cell):
            return tuple(found[:count])
    fall = found if cell == "unit" else cores
    return tuple(fall[rank % len(fall)] for rank in range(count))


def masks(text: str, topology: Topology, count: int) -> Given | None:
    """Return the masks of I_MPI_PIN_DOMAIN; None where Intel MPI passes them over, silently: too many, too few, or without 0x.

    Commas with nothing between them are one, and of the last word its last letter is left out, bracket or not (observed).
    """
    if "]" in text[:-1] and text[-1] != "]":
        raise Unclear("what follows the masks in I_MPI_PIN_DOMAIN ends Intel MPI, or not: it was not seen often")
    entries = [entry for entry in text[1:-1].split(",") if entry]
    fitting = len(entries) == count <= MASKS
    if not fitting or not all(re.fullmatch(r"0x[0-9a-f]{1,4096}", entry, re.ASCII) for entry in entries):
        return None
    found = []
    for entry in entries:
        try:
            cpus = CpuSet.from_bits(int(entry, 16))
        except BadValue as error:
            raise Unclear(f"a mask is {error.problem}") from error
        if not cpus or not cpus <= topology.pus:
            raise Unclear(f"the mask {entry[:40]} names CPUs that this machine does not have")
        found.append(cpus)
    return tuple(found)
