import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Locality
from advisor.machine.sources.pci import Clues, Nodes, locality


def nodes(*lists: str) -> Nodes:
    """Return nodes 0, 1, ... with these CPUs."""
    cpus = {number: CpuSet.parse(text) for number, text in enumerate(lists)}
    return Nodes(cpus, CpuSet.parse(",".join(text for text in lists if text)))


FOUR = nodes("0-7", "8-15", "16-23", "24-31")


@pytest.mark.parametrize(
    ("clues", "found", "reason"),
    [
        (Clues(2), (2,), None),
        (Clues(0, CpuSet.parse("0-31")), (0,), None),
        (Clues(2, CpuSet.parse("16-31")), (2, 3), "numa_node is 2; local_cpulist 16-31 covers several nodes"),
        (
            Clues(-1, above=(("0000:60:01.1", -1), ("0000:60:00.0", 3))),
            (3,),
            "numa_node is -1; 0000:60:00.0 above it is on node 3",
        ),
        (Clues(None, CpuSet.parse("8-15")), (1,), "numa_node is absent; local_cpulist is 8-15"),
        (Clues(-1, CpuSet.parse("0-15")), (0, 1), "numa_node is -1; local_cpulist is 0-15"),
        (Clues(-1, CpuSet.parse("9")), (1,), "numa_node is -1; local_cpulist is 9"),
        (
            Clues(-1, CpuSet.parse("0-31"), beside=lambda: {"0000:60:08.1": 2, "0000:60:07.1": 2}),
            (2,),
            "numa_node is -1; 0000:60:07.1 under the same root bus is on node 2",
        ),
        (
            Clues(-1, beside=lambda: {"0000:60:07.1": 2, "0000:60:08.1": 1}),
            (),
            "numa_node is -1, and no neighbouring device shows its location",
        ),
        (Clues(-1, CpuSet.parse("0-31")), (), "numa_node is -1, and no neighbouring device shows its location"),
        (Clues(-1, CpuSet.parse("0,8,16,24")), (), "numa_node is -1, and no neighbouring device shows its location"),
        (Clues(9, CpuSet.parse("8-15")), (1,), "numa_node 9 does not exist; local_cpulist is 8-15"),
        (Clues(-1, above=(("0000:60:00.0", 9),)), (), "numa_node is -1, and no neighbouring device shows its location"),
    ],
)
def test_four_nodes(clues: Clues, found: tuple[int, ...], reason: str | None) -> None:
    """The firmware's word counts most, then bridges, CPUs and neighbours; what says nothing leaves the place unknown."""
    assert locality(clues, FOUR) == Locality(numa_nodes=found, inferred=reason)


def test_only_node() -> None:
    """On a machine of one node every device is local to it."""
    expected = Locality(numa_nodes=(0,), inferred="numa_node is -1; node 0 is the only node")
    assert locality(Clues(-1, CpuSet.parse("0-7")), nodes("0-7")) == expected


def test_only_node_with_cpus() -> None:
    """Nodes of memory alone are no place to look for the CPUs near a device."""
    assert locality(Clues(-1), nodes("0-7", "")).numa_nodes == (0,)


def test_minus_one_is_not_zero() -> None:
    """Where the host shows no nodes, -1 is not taken for node 0."""
    assert locality(Clues(-1, CpuSet.parse("0-7")), Nodes({})).numa_nodes == ()


def test_told_without_nodes() -> None:
    """A node that the firmware names is believed where the host does not show its nodes."""
    assert locality(Clues(1), Nodes({})) == Locality(numa_nodes=(1,))
