"""Machines of the catalogue, transformed as a test asks."""

from advisor.advice.change import transform
from advisor.machine.layout import Layout, parse_assumption
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.topology import Topology
from advisor.measure.platform import match_platform
from tests.machines.read import machine

__all__ = ["after", "layout", "machine", "topology"]


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
