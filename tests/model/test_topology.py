from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Counts, Topology, counts
from tests.model.shapes import shape

EPYC = shape(sockets=2, nodes=4, l3=8, cores=32)


def test_counts() -> None:
    """A two-socket EPYC 7601 counts as 2, 8, 16, 64, 64."""
    assert counts(EPYC) == Counts(packages=2, numa_nodes=8, l3=16, cores=64, pus=64)


def test_whole_machine_is_not_limited() -> None:
    """Without a cgroup the part inside is the machine itself."""
    assert (EPYC.limited, EPYC.inside == EPYC) == (False, True)


def test_cgroup_slice_hides_the_rest() -> None:
    """Inside a slice of one socket's half only what the cgroup allows is left, an L3 cut by it keeps its share."""
    limited = EPYC.model_copy(update={"allowed": CpuSet.parse("0-13"), "allowed_nodes": CpuSet([0, 1])})
    inside = limited.inside
    assert counts(inside) == Counts(packages=1, numa_nodes=2, l3=4, cores=14, pus=14)
    assert [str(l3.cpuset) for l3 in inside.l3] == ["0-3", "4-7", "8-11", "12-13"]


def test_package_without_cpus_stays_for_its_memory() -> None:
    """A socket whose memory is allowed and whose CPUs are not is still shown, an L3 group without either is not, as in hwloc."""
    limited = EPYC.model_copy(update={"allowed": CpuSet.parse("0-3")})
    assert counts(limited.inside) == Counts(packages=2, numa_nodes=8, l3=1, cores=4, pus=4)


def test_nodes_near_a_device() -> None:
    """A device local to one node is near that node, one local to a socket is near all of its nodes."""
    assert (EPYC.nodes_near(CpuSet.parse("8-15")), EPYC.nodes_near(CpuSet.parse("0-31")), EPYC.nodes_near(CpuSet([9]))) == (
        (1,),
        (0, 1, 2, 3),
        (1,),
    )


def test_package_of() -> None:
    """A set of CPUs is in the package that holds all of them, or in none."""
    assert (EPYC.package_of(CpuSet([40])), EPYC.package_of(CpuSet([0, 40])), EPYC.package_of(CpuSet())) == (1, None, None)


def test_distance_between() -> None:
    """Distances are looked up by node number, and unknown ones are not known."""
    table = EPYC.distances
    assert table is not None
    assert (table.between(0, 0), table.between(0, 3), table.between(0, 4), table.between(0, 99)) == (10, 12, 32, None)


def test_json_round_trip() -> None:
    """A topology written as JSON reads back equal."""
    assert Topology.model_validate_json(EPYC.model_dump_json()) == EPYC
