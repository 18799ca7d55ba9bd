"""hwloc's own numbers of every test machine, and of every published one, against ours."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import logical_numbering, ordered
from advisor.machine.sources.hwloc import machine_from_xml
from advisor.machine.topology import SharedL2, Topology
from tests.machines.catalogue import MACHINES
from tests.machines.read import seen_by_lstopo
from tests.model.shapes import shape

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[3] / "shared" / "machines"))
XMLS = sorted(CORPUS.glob("xml/*.xml"))
FEW = ("a-r7425-2x7601-dell-smt", "c-c6320-2x2660v3-cod", "d-delftblue-2x6248r-snc2", "uneven-l3", "job-cuts-l3-v2", "hbm-flat")
MANY = [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in MACHINES]
needs_hwloc = pytest.mark.skipif(not shutil.which("hwloc-calc"), reason="hwloc is not installed")

OTHERWISE = {
    "hwloc-old-node-template",
    "hwloc-old-node01",
    "hwloc-old-node04",
    "hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas",
    "hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas.v1tov2",
    "hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas.v2tov1",
}
"""Files in which hwloc orders by what a Topology does not keep.

CPUs that the file names and then leaves out (node01), parts whose first CPU is offline (fakeKNL).
"""


def by_hwloc(file: Path, kind: str, count: int) -> list[CpuSet]:
    """Return the CPUs of the first objects of a kind in hwloc's own order."""
    environment = {**os.environ, "HWLOC_XMLFILE": str(file), "HWLOC_THISSYSTEM": "0"}
    asked = "".join(f"{kind}:{number}\n" for number in range(count))
    done = subprocess.run(["hwloc-calc"], env=environment, input=asked, capture_output=True, text=True, check=True)
    return [CpuSet.from_mask(line) for line in done.stdout.splitlines() if line.startswith("0x")]


def topology_of(file: Path) -> Topology:
    """Return the topology of an XML."""
    topology = machine_from_xml(file.read_bytes(), file.name).topology
    assert topology is not None
    return topology


def check(file: Path) -> None:
    """Compare all cores and all hardware threads of a file."""
    known = logical_numbering(topology_of(file))
    assert list(known.cores) == by_hwloc(file, "core", len(known.cores)) or not topology_of(file).cores
    assert [CpuSet([cpu]) for cpu in known.pus] == by_hwloc(file, "pu", len(known.pus))


@needs_hwloc
@pytest.mark.parametrize("name", MANY)
def test_numbers_of_a_test_machine_are_those_of_hwloc(name: str, scratch: Path) -> None:
    """Cores and threads of every test machine have hwloc's logical numbers, inside its cgroup."""
    text = seen_by_lstopo(name)
    assert text is not None
    file = scratch / "machine.xml"
    file.write_text(text)
    check(file)


@pytest.mark.slow
@needs_hwloc
@pytest.mark.corpus
@pytest.mark.skipif(not XMLS, reason="no published machines here (set ADVISOR_CORPUS)")
@pytest.mark.parametrize("file", XMLS, ids=lambda path: path.stem)
def test_numbers_of_a_published_machine_are_those_of_hwloc(file: Path) -> None:
    """Cores and threads of every published machine have hwloc's logical numbers, but for the six listed above."""
    if file.stem in OTHERWISE:
        pytest.skip("ordered by something that a Topology does not keep")
    check(file)


def test_dealt_numbers_are_counted_through_the_sockets() -> None:
    """With even CPUs on socket 0 and odd ones on socket 1, logical core 1 is CPU 2."""
    known = logical_numbering(shape(2, 1, 2, 4, number=lambda i, total: i % (total // 2) * 2 + i // (total // 2)))
    assert known.pus == (0, 2, 4, 6, 1, 3, 5, 7)
    assert known.core_numbers(CpuSet([1, 6])) == CpuSet([3, 4])
    assert known.cores_cpus(CpuSet([3, 4])) == CpuSet([1, 6])


def test_cores_that_share_an_l2_stand_side_by_side() -> None:
    """On a Xeon E5345 the L2 of CPU 0 is that of CPU 4: it is logical core 1."""
    topology = shape(2, 1, 1, 4, number=lambda i, total: i % (total // 2) * 2 + i // (total // 2))
    pairs = ((0, 4), (2, 6), (1, 5), (3, 7))
    known = logical_numbering(topology.model_copy(update={"shared_l2": tuple(SharedL2(cpuset=CpuSet(pair)) for pair in pairs)}))
    assert known.pus == (0, 4, 2, 6, 1, 5, 3, 7)


def test_threads_of_a_core_stand_side_by_side() -> None:
    """Logical threads 2 and 3 are those of core 1, whatever the kernel calls them."""
    known = logical_numbering(shape(1, 1, 1, 4, threads=2))
    assert known.pus_cpus(CpuSet([2, 3])) == CpuSet([1, 5])
    assert known.pu_numbers(CpuSet([1, 5])) == CpuSet([2, 3])
    assert known.whole(CpuSet([1, 5]))
    assert not known.whole(CpuSet([1, 4]))


def test_a_cgroup_shifts_the_numbers() -> None:
    """Cores that the cgroup hides are not counted, and a CPU among them is refused."""
    whole = shape(1, 1, 2, 4)
    part = whole.model_copy(update={"allowed": CpuSet([2, 3])})
    known = logical_numbering(part)
    assert known.core_numbers(CpuSet([2, 3])) == CpuSet([0, 1])
    with pytest.raises(BadValue, match="CPU 1 is not among the CPUs"):
        known.core_numbers(CpuSet([1]))


def test_a_number_beyond_the_last_is_refused() -> None:
    """A core or thread that does not exist is named, with the last that does."""
    known = logical_numbering(shape(1, 1, 1, 4))
    with pytest.raises(BadValue, match="logical core 4 does not exist; the last core is 3"):
        known.cores_cpus(CpuSet([4]))


def test_parts_come_in_the_order_of_their_first_core() -> None:
    """Parts of a machine are ordered by hwloc's numbers; empty ones are left out."""
    topology = shape(2, 1, 1, 2, number=lambda i, total: total - 1 - i)
    parts = ordered([p.cpuset for p in topology.packages] + [CpuSet()], logical_numbering(topology))
    assert parts == (CpuSet([0, 1]), CpuSet([2, 3]))
