"""Machines of the catalogue, read once, and transformed as a test asks."""

import tempfile
from functools import cache
from pathlib import Path

from advisor.change.transform import transform
from advisor.collect.sources import collect_machine
from advisor.host.source import open_host
from advisor.know.platforms import match_platform
from advisor.model.hardware.layout import Layout, parse_assumption
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.partitioning import infer_layout
from advisor.model.hardware.topology import Topology
from tests.machines.catalogue import write_root


@cache
def machine(name: str) -> Machine:
    """Return a machine of the catalogue as the collectors read it."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="advisor-test-") as folder:
        return collect_machine(open_host(str(write_root(name, Path(folder)))))


def after(before: Machine, wish: str) -> Machine:
    """Return a machine as it would be with other settings."""
    return transform(before, parse_assumption([wish]), match_platform(before))


def topology(one: Machine) -> Topology:
    """Return a machine's topology, which must be known."""
    assert one.topology is not None
    return one.topology


def layout(one: Machine) -> Layout:
    """Return what the operating system's view tells of a machine; the firmware's tables are read after a restart only."""
    return infer_layout(one.model_copy(update={"acpi": None}))
