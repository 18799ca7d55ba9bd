"""Published machines that lie outside the project: read them all, and say what lstopo says of the same file."""

import csv
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from advisor.errors import AdvisorError
from advisor.machine.hardware import Hca, Nic
from advisor.machine.hosts.source import XmlHost
from advisor.machine.partitioning import infer_layout
from advisor.machine.sources.hwloc import collect, machine_from_xml
from advisor.machine.topology import counts
from tests.examples import a_third
from tests.machines.read import published

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[2] / "shared" / "machines"))
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)"),
]

XMLS = sorted(CORPUS.glob("xml/*.xml")) + sorted(CORPUS.glob("seed/*.xml"))
ROOTS = sorted(CORPUS.glob("roots/*.tar.*")) + sorted(CORPUS.glob("seed/*.tar.gz"))
TYPES = {"Package": "packages", "NUMANode": "numa_nodes", "L3Cache": "l3", "Core": "cores", "PU": "pus"}
EMPTY_PACKAGES = {"hwloc-xml-64intel64-3g2n+2n-irregulargroups+pci.xml"}
"""Files in which lstopo keeps packages for nothing but the devices below them; hwloc-calc does not count them, nor do we."""


def stem(path: Path) -> str:
    """Return a machine's name."""
    return re.sub(r"\.(xml|tar\.\w+)$", "", path.name)


def expected() -> list[dict[str, str]]:
    """Return the rows of the table of right answers."""
    table = CORPUS / "expected.csv"
    return list(csv.DictReader(table.read_text().splitlines())) if table.exists() else []


def lstopo(path: Path) -> Counter[str]:
    """Return how many objects of each type lstopo shows in a file; MCDRAM that caches a memory is no L3 of a processor."""
    command = ["lstopo-no-graphics", "-i", str(path), "--of", "xml", "-"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    types = re.findall(r'<object type="(\w+)"(?![^>]*subtype="MemorySideCache")', shown)
    return Counter({name: types.count(kind) for kind, name in TYPES.items()})


def hwloc_nodes(path: Path, device: str) -> str:
    """Return the NUMA nodes that hwloc-calc calls local to a device."""
    command = ["hwloc-calc", "-i", str(path), "--po", "-I", "numanode", f"os={device}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(not shutil.which("hwloc-calc"), reason="hwloc is not installed")
@pytest.mark.parametrize("path", a_third(XMLS), ids=stem)
def test_xml_counts_and_places_as_hwloc_does(path: Path) -> None:
    """Packages, nodes, L3 groups, cores, PUs and the place of every adapter are what lstopo and hwloc-calc say.

    Of the nodes beside a device hwloc names those of HBM and Optane too; a rank is bound to those with CPUs.
    """
    machine = published(path)
    assert machine.topology is not None
    ours = Counter(counts(machine.topology.inside).model_dump())
    theirs = lstopo(path)
    if path.name in EMPTY_PACKAGES:
        del ours["packages"], theirs["packages"]
    assert ours == theirs
    devices: list[Hca | Nic] = [*(machine.hcas or ()), *(machine.nics or ())]
    places = {each.name: ",".join(map(str, each.locality.numa_nodes)) for each in devices if each.locality}
    with_cpus = {str(node.os_index) for node in machine.topology.cpu_nodes}
    theirs_of = {name: hwloc_nodes(path, name).split(",") for name in places}
    assert places == {name: ",".join(node for node in nodes if node in with_cpus) for name, nodes in theirs_of.items()}


@pytest.mark.slow
def test_what_equal_nodes_share_of_an_xml_leaves_nothing_out() -> None:
    """In a capture, whose nodes share the text without their own words, every XML is the same Machine as read whole."""
    differing = []
    for path in XMLS:
        ran = CapturedXml(path.read_bytes(), path.name)
        if collect(ran) != machine_from_xml(path.read_bytes(), "lstopo", "lstopo", alone=False):
            differing.append(path.name)
    assert (differing, len(XMLS) > 100) == ([], True)


class CapturedXml(XmlHost):
    """A capture of which only what lstopo printed is known."""

    kind = "capture"


@pytest.mark.slow
@pytest.mark.parametrize("path", ROOTS, ids=stem)
def test_roots_are_read_like_their_xml(path: Path) -> None:
    """A machine's files in /sys give the counts that hwloc's XML of the same machine gives."""
    twin = next((p for p in XMLS if stem(p) == stem(path) and p.parent.name in ("xml", path.parent.name)), None)
    if twin is None:
        pytest.skip("no XML of this machine")
    ours, theirs = published(path).topology, published(twin).topology
    assert ours is not None
    assert theirs is not None
    assert counts(ours.inside) == counts(theirs.inside)
    if path.parent.name == "seed":
        assert ours == theirs


@pytest.mark.parametrize("row", expected(), ids=lambda row: row["name"])
def test_the_table_of_right_answers(row: dict[str, str]) -> None:
    """Cut, nodes per socket, numbering, SMT and the adapter's node are those of the table."""
    name = row["name"]
    machine = published(CORPUS / f"{name if '/' in name else f'xml/{name}'}.xml")
    layout = infer_layout(machine)
    places = {hca.name: ",".join(map(str, hca.locality.numa_nodes)) for hca in machine.hcas or () if hca.locality}
    assert {
        "cut": layout.cut.name,
        "nodes_per_socket": str(layout.cut.nodes_per_socket or ""),
        "numbering": layout.numbering.name,
        "smt": layout.smt.state,
        "hca_node": places.get(row["hca"], ""),
    } == {key: row[key] for key in ("cut", "nodes_per_socket", "numbering", "smt", "hca_node")}


@pytest.mark.parametrize("path", a_third([*XMLS, *ROOTS]), ids=lambda path: path.name)
def test_no_machine_is_refused_without_a_reason(path: Path) -> None:
    """Every published machine is read, or refused in one line that names it."""
    refused = ""
    try:
        published(path)
    except AdvisorError as error:
        refused = str(error)
    assert not refused or (path.name in refused and "\n" not in refused)
