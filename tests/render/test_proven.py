"""What is proven of a machine of which little is known."""

import pytest

from advisor.advice.audit_page.machine import proven
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.platform import match_platform, memory_bounds
from tests.machines.read import machine


def said(of: Machine) -> list[str]:
    """Return what is proven of a machine whose DIMMs nobody read."""
    found = of.model_copy(update={"memory": None})
    return list(proven(found, infer_layout(found), memory_bounds(found, match_platform(found))))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gold-6146", "memory bandwidth is at most 255.9 GB/s: 6 channels of DDR4-2666 in each of 2 sockets"),
        ("gold-6146", "96 GiB on each of 2 NUMA nodes"),
        ("xeon-6972p-126gib", "at most 8 of 24 memory channels are filled (16 GiB is the smallest DIMM)"),
        ("epyc-9135", "memory bandwidth is at most 334.4 GB/s: the links of 2 dies (about 152 GB/s each)"),
        ("b-c6525-2x7702-nps4", "NPS4, 4 NUMA nodes per socket"),
        ("b-c6525-2x7702-nps4", "32 L3 groups of 4 CPUs, 16 MiB each"),
        ("nps0", "1 NUMA node over 2 sockets"),
    ],
)
def test_something_is_proven(name: str, words: str) -> None:
    """Ceilings, channels, partitioning, memory and caches, each in a few words."""
    assert words in said(machine(name))


def test_channels_of_a_guest_are_not_counted() -> None:
    """Whether it is one nobody knows of an hwloc XML: then its memory proves nothing of the channels."""
    guest = machine("xeon-6972p-126gib").model_copy(update={"environment": Environment(virtual=None)})
    assert not any("channels are filled" in words for words in said(guest))


def test_of_nothing_nothing_is_proven() -> None:
    """A machine without a topology."""
    assert said(Machine()) == []
