import pytest

from advisor.measure.resources import MIB, Sizes, free_now
from tests.measure.samples import NAPLES, ROME, ground


def test_the_working_set_is_four_times_the_l3_that_the_cores_reach() -> None:
    """One CCX reaches 16 MiB, all 32 of them 512 MiB; a little is never enough to time."""
    there = ground(ROME)
    sizes = Sizes(there)
    assert [sizes.wanted(cpus) // MIB for cpus in ((0,), there.order[:64], there.order)] == [256, 1024, 2048]


def test_an_array_of_each_pattern_is_that_large() -> None:
    """Where triad and load share memory for three arrays, load's one is still four times the L3."""
    assert Sizes(ground(ROME)).wanted(range(64), 3) == 3 * Sizes(ground(ROME)).wanted(range(64))


@pytest.mark.parametrize(("free", "size"), [(600, 256), (400, 200), (100, 0)], ids=["enough", "less", "too little"])
def test_half_of_the_free_memory_may_be_taken(free: int, size: int) -> None:
    """A node with little free memory gets a smaller working set, or none where the L3 would answer."""
    assert Sizes(ground(NAPLES), {0: free * MIB}).working_set((0, 16), 0) == size * MIB


def test_free_memory_is_read_from_a_nodes_meminfo() -> None:
    """Clean file pages make room; a damaged file is not known."""
    text = "Node 0 MemFree: 100 kB\nNode 0 FilePages: 50 kB\nNode 0 Shmem: 10 kB\n"
    assert free_now({0: text, 1: None, 2: "Node 2 MemFree: x kB"}) == {0: 140 * 1024}
