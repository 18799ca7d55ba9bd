"""Slurm's view of a machine is what the real slurmd printed: boards, sockets, cores, threads, and its numbers of the cores."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.slurm import FoundNode, SocketsAre, found_by_slurmd
from advisor.machine.topology import Core, NumaNode, Package, SharedL2, Topology
from tests.fakenode import slurmd
from tests.machines.read import machine, seen_by_lstopo

SEEN = Path(__file__).with_name("slurmd_found.txt")
"""Machine, SlurmdParameters, what slurmd 22.05.8 found, the first CPU of each core by Slurm's number."""
WORDS: dict[str, SocketsAre] = {"": "sockets", "l3cache_as_socket": "l3", "numa_node_as_socket": "numa"}
NO_ROOM = -1
"""Stands for a CPU whose number is as large as there are CPUs, or larger: slurmd has no room for it."""
NAMES = (
    "a-r7425-2x7601-dell-smt",
    "b-c6525-2x7702-l3numa",
    "b-c6525-2x7702-nps4-smt",
    "c-c6320-2x2660v3-cod",
    "d-delftblue-2x6248r-snc2",
    "epyc-nps4-l3numa-smt-roundrobin",
    "epyc-nps2-smt-linear-adjacent",
    "uneven-l3",
    "virtual",
    "numa-off",
    "isolated",
    "offline",
    "smt-disabled",
    "dies",
    "dies-as-packages",
    "job-half-v2",
    "nps0",
    "knights-landing",
)


def topology(name: str) -> Topology:
    """Return a machine's topology."""
    found = machine(name).topology
    assert found is not None
    return found


def rows() -> list[tuple[str, str, str, str]]:
    """Return what was seen."""
    lines = SEEN.read_text().splitlines() if SEEN.exists() else []
    return [(a, b, c, d) for a, b, c, d in (line.split("\t") for line in lines)]


def runs(numbers: list[int]) -> str:
    """Return numbers in their order, those that follow each other by the same step as one: 0-63 0-126:2."""
    parts: list[list[int]] = []
    for number in numbers:
        last = parts[-1] if parts else []
        if len(last) == 1 or (len(last) > 1 and number - last[-1] == last[1] - last[0]):
            last.append(number)
        else:
            parts.append([number])
    return " ".join(_run(part) for part in parts)


def _run(part: list[int]) -> str:
    step = {b - a for a, b in pairwise(part)}
    return f"{part[0]}-{part[-1]}" + (f":{step.pop()}" if step not in (set(), {1}) else "")


def written(name: str, parameter: str, shape: tuple[int, ...], firsts: list[int]) -> str:
    """Return a row."""
    return "\t".join((name, parameter, " ".join(map(str, shape)), runs(firsts)))


def ours(found: FoundNode) -> tuple[tuple[int, ...], list[int]]:
    """Return what we say of a node, as slurmd says it."""
    firsts = [first if (first := core.first or 0) < found.cpus else NO_ROOM for core in found.order] if found.even else []
    return (found.cpus, found.boards, found.sockets, found.cores, found.threads), firsts


def theirs(name: str, parameter: str) -> Iterator[str]:
    """Yield the row that the real slurmd makes of a machine, none where it does not start."""
    text = seen_by_lstopo(name)
    assert text is not None
    seen = slurmd.started(slurmd.kept_xml(name, text), parameter)
    if seen is not None:
        shape, numbers = seen
        even = shape[0] == shape[2] * shape[3] * shape[4]
        firsts = [numbers.get(core * shape[4], NO_ROOM) for core in range(shape[2] * shape[3])]
        yield written(name, parameter, shape, firsts if even else [])


@pytest.mark.parametrize(("name", "parameter", "shape", "firsts"), rows())
def test_slurms_view_is_what_slurmd_printed(name: str, parameter: str, shape: str, firsts: str) -> None:
    """Of machines read from /sys: with sockets as they are, with L3 groups and with NUMA nodes as sockets."""
    found = found_by_slurmd(topology(name), WORDS[parameter])
    assert found is not None
    assert written(name, parameter, *ours(found)) == f"{name}\t{parameter}\t{shape}\t{firsts}"


@pytest.mark.slow
@pytest.mark.skipif(not slurmd.available(), reason="slurmd is not installed")
def test_slurmd_still_prints_what_was_seen() -> None:
    """The recorded rows are those of the slurmd that is here, and none is missing but what we say nothing of."""
    seen = [row for name in NAMES for parameter in WORDS for row in theirs(name, parameter)]
    kept = ["\t".join(row) for row in rows()]
    unsaid = [row for row in seen if row not in kept]
    assert ([row for row in kept if row not in seen], [said(row) for row in unsaid]) == ([], [None] * len(unsaid))


def said(row: str) -> FoundNode | None:
    """Return what we say of a row's machine."""
    name, parameter, *_ = row.split("\t")
    return found_by_slurmd(topology(name), WORDS[parameter])


def test_numbers_count_cores_socket_by_socket() -> None:
    """With CPUs that alternate between sockets, and a second thread of each core far away."""
    packages = tuple(Package(os_index=i, cpuset=CpuSet(range(i, 8, 2))) for i in range(2))
    cores = tuple(Core(os_index=i, cpuset=CpuSet([i, i + 4])) for i in range(4))
    node = NumaNode(os_index=0, cpuset=CpuSet(range(8)), near=CpuSet(range(8)), memory=0)
    found = found_by_slurmd(Topology(packages=packages, cores=cores, nodes=(node,), pus=CpuSet(range(8))))
    assert found is not None
    assert [found.numbers(CpuSet([cpu])) for cpu in range(4)] == [CpuSet([0]), CpuSet([2]), CpuSet([1]), CpuSet([3])]
    assert [found.whole_sockets(CpuSet.parse(cores)) for cores in ("0-1", "0-3", "1", "1-2")] == [True, True, False, False]


def test_caches_of_level_2_do_not_count() -> None:
    """Where two cores share one hwloc counts them together; slurmd leaves such caches out (seen of a Xeon E5345)."""
    cores = tuple(Core(os_index=i, cpuset=CpuSet([i])) for i in range(4))
    shared = tuple(SharedL2(cpuset=CpuSet([i, i + 2])) for i in range(2))
    package = Package(os_index=0, cpuset=CpuSet(range(4)))
    found = found_by_slurmd(Topology(packages=(package,), cores=cores, shared_l2=shared, pus=CpuSet(range(4))))
    assert found is not None
    assert [core.first for core in found.order] == [0, 1, 2, 3]


def test_what_a_cgroup_hides_counts_too() -> None:
    """The part of slurmd is the whole machine, whatever a job may use of it."""
    whole = topology("b-c6525-2x7702-nps4")
    assert found_by_slurmd(whole.model_copy(update={"allowed": CpuSet([3]), "allowed_nodes": CpuSet([0])})) == found_by_slurmd(
        whole
    )


def test_sockets_that_differ_are_described_in_part_and_named_so() -> None:
    """What slurmd does is to round down: of 3 sockets with 40 cores 39 are described."""
    sizes, start = (10, 10, 20), 0
    packages: list[Package] = []
    for size in sizes:
        packages.append(Package(os_index=len(packages), cpuset=CpuSet(range(start, start + size))))
        start += size
    cores = tuple(Core(os_index=i, cpuset=CpuSet([i])) for i in range(40))
    found = found_by_slurmd(Topology(packages=tuple(packages), cores=cores, pus=CpuSet(range(40))))
    assert found is not None
    assert (found.cpus, found.described, found.even, found.alike) == (40, 39, False, False)
