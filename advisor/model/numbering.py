"""In what order the kernel's CPU numbers go over the machine."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from advisor.model.cpuset import CpuSet
from advisor.model.layout import Numbering
from advisor.model.topology import Topology


def infer_numbering(topology: Topology) -> Numbering:
    """Return the order of the CPU numbers, judged on the first thread of every core."""
    siblings = _siblings(topology)
    firsts = sorted(core.cpuset.first for core in topology.cores if core.cpuset.first is not None) or list(topology.pus)
    packages = _owners(firsts, [package.cpuset for package in topology.packages])
    nodes = _owners(firsts, [node.cpuset for node in topology.cpu_nodes])
    if not topology.packages or -1 in packages:
        return Numbering(name="unknown", siblings=siblings, why=("some CPUs belong to no package",))
    if len(set(packages)) > 1 and _deals(packages):
        why = f"consecutive cores go to packages {_few(packages)}"
        return Numbering(name="round-robin", over="packages", siblings=siblings, why=(why,))
    if len(set(nodes)) > 1 and -1 not in nodes and _deals(nodes):
        return Numbering(
            name="round-robin", over="nodes", siblings=siblings, why=(f"consecutive cores go to nodes {_few(nodes)}",)
        )
    if not _fills(packages):
        why = f"consecutive cores go to packages {_few(packages)}: in no plain order to the end"
        return Numbering(name="other", siblings=siblings, why=(why,))
    return Numbering(name="linear", siblings=siblings, why=_linear_reasons(len(set(packages)), nodes))


def _linear_reasons(packages: int, nodes: Sequence[int]) -> tuple[str, ...]:
    first = "numbers fill one package before the next" if packages > 1 else "there is one package"
    if len(set(nodes)) > 1 and not _fills(nodes):
        return (first, "inside a package the numbers go back and forth between its NUMA nodes")
    return (first,)


def _owners(cpus: Sequence[int], groups: Sequence[CpuSet]) -> list[int]:
    """Return for each CPU the position of its group, -1 where it has none."""
    owner: dict[int, int] = {}
    left = CpuSet(cpus)
    for position, group in enumerate(groups):
        owner.update(dict.fromkeys(group & left, position))
        left -= group
    return [owner.get(cpu, -1) for cpu in cpus]


def _fills(owners: Sequence[int]) -> bool:
    """Return whether every group's members stand together."""
    changes = sum(1 for a, b in pairwise(owners) if a != b)
    return changes == len(set(owners)) - 1


def _deals(owners: Sequence[int]) -> bool:
    """Return whether the groups take turns, smaller ones dropping out when they are full."""
    if len(owners) == len(set(owners)):
        return False
    left = Counter(owners)
    order, position = list(left), 0
    while position < len(owners):
        for owner in order:
            if owners[position] != owner:
                return False
            left[owner] -= 1
            position += 1
        order = [owner for owner in order if left[owner]]
    return True


def _siblings(topology: Topology) -> Literal["adjacent", "offset", "other", "none", "unknown"]:
    """Return how the second threads are numbered: beside the first, a constant away, or otherwise."""
    threaded = [tuple(core.cpuset) for core in topology.cores if len(core.cpuset) > 1]
    if not topology.cores:
        return "unknown"
    if not threaded:
        return "none"
    steps = {b - a for cpus in threaded for a, b in pairwise(cpus)}
    if steps == {1}:
        return "adjacent"
    return "offset" if len(steps) == 1 else "other"


def _few(owners: Sequence[int]) -> str:
    return " ".join(str(owner) for owner in owners[:8]) + (" ..." if len(owners) > 8 else "")
