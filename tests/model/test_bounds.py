"""What arithmetic proves of memory that nobody read."""

import pytest

from advisor.machine.machine import Environment
from advisor.measure.platform import GIB, MemoryBounds, match_platform, memory_bounds, most_modules, of_nodes
from tests.machines.read import machine


def bounds(name: str, **changes: object) -> MemoryBounds:
    """Return the bounds of a machine of the catalogue whose DIMMs nobody read."""
    found = machine(name).model_copy(update={"memory": None, **changes})
    return memory_bounds(found, match_platform(found))


@pytest.mark.parametrize(
    ("name", "most", "because"),
    [
        ("gold-6146", 255_936_000_000, "6 channels of DDR4-2666 in each of 2 sockets"),
        ("b-c6525-2x7702-nps4", 409_600_000_000, "8 channels of DDR4-3200 in each of 2 sockets"),
        ("xeon-6972p-126gib", 1_689_600_000_000, "12 channels of DDR5-8800 in each of 2 sockets"),
        ("epyc-9135", 334_400_000_000, "the links of 2 dies (about 152 GB/s each)"),
        ("big", 1_228_800_000_000, "12 channels of DDR5-6400 in each of 2 sockets"),
    ],
)
def test_memory_carries_no_more_than_channels_and_links(name: str, most: int, because: str) -> None:
    """The fastest memory that any board runs on all channels; two dies of Turin reach half of what twelve of them give."""
    found = bounds(name)
    assert (found.bandwidth, found.because) == (most, because)


@pytest.mark.parametrize("name", ["hbm-flat", "hbm-cache", "cxl", "nvdimm", "knights-landing", "virtual"])
def test_memory_beside_the_channels_has_no_bound(name: str) -> None:
    """HBM, CXL and what a hypervisor shows."""
    assert bounds(name).bandwidth is None


def test_126_gib_are_at_most_eight_of_24_channels() -> None:
    """No registered DDR5 DIMM is below 16 GiB; mirrored, 17 of them show as much."""
    found = bounds("xeon-6972p-126gib")
    assert (found.modules, found.modules_mirrored, found.channels) == (8, 17, 24)


def test_guests_see_a_part() -> None:
    """A guest of such a host may be given any memory."""
    assert bounds("xeon-6972p-126gib", environment=Environment(virtual="kvm")) == MemoryBounds()


@pytest.mark.parametrize(("size", "kind", "most"), [(0, "DDR5", 0), (15, "DDR5", 1), (252, "DDR4", 69), (64, "HBM3", None)])
def test_memory_is_made_of_modules(size: int, kind: str, most: int | None) -> None:
    """A tenth more than is seen may be there; of kinds whose smallest is not known nothing follows."""
    assert most_modules(size * GIB, kind) == most


def test_a_nodes_bound_is_its_sockets() -> None:
    """Node 0 of NPS4 draws on no more than socket 0."""
    found = machine("b-c6525-2x7702-nps4")
    bound = of_nodes(found, match_platform(found), [0, 1])
    assert bound is not None
    assert bound.value == 204_800_000_000
