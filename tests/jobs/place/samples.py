"""Machines of the catalogue, and what a placement on them comes to."""

from typing import Any

import pytest

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Placement
from advisor.machine.cpuset import CpuSet
from tests.machines.read import machine

__all__ = ["cpus", "machine", "nodes", "placed", "refused", "span"]


def placed(name: str, **job: Any) -> Placement:
    """Return the placement of a job on a machine of the catalogue."""
    return place(JobShape(**job), [machine(name)])


def cpus(placement: Placement) -> list[str]:
    """Return the CPUs of every rank, as text."""
    return [str(rank.slot.cpus) for rank in placement.ranks()]


def nodes(placement: Placement) -> list[int]:
    """Return the first NUMA node of every rank."""
    return [rank.slot.nodes[0] for rank in placement.ranks()]


def refused(name: str, **job: Any) -> str:
    """Return the one line that refuses a job."""
    with pytest.raises(BadValue) as caught:
        placed(name, **job)
    return str(caught.value)


def span(first: int, count: int, size: int) -> list[str]:
    """Return so many lists of neighbouring CPUs."""
    return [str(CpuSet.span(i, i + size - 1)) for i in range(first, first + count * size, size)]
