"""Machines of the catalogue, read once, and what a placement on them comes to."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from advisor.errors import BadValue
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.placement import JobShape, Placement
from advisor.place.place import place
from advisor.work.machine import read_machine
from tests.machines.catalogue import write_archive


@cache
def machine(name: str) -> Machine:
    """Return a machine of the catalogue as advisor reads it."""
    with tempfile.TemporaryDirectory() as folder:
        return read_machine(str(write_archive(name, Path(folder) / f"{name}.tar.gz")))


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
