import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from tests.machines import hwloc_xml
from tests.machines.catalogue import MACHINES, write_root
from tests.machines.expected import Counts

QUICK = ("c-c6320-2x2660v3-cod", "epyc-nps4-smt-roundrobin", "job-cuts-l3-v1", "job-half-v2", "hbm-flat", "numa-fake-8u")
TYPES = ("Package", "NUMANode", "L3Cache", "Core", "PU")

every_machine = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in MACHINES]
)


def seen(root: Path, *, disallowed: bool) -> Element:
    """Return the objects that lstopo sees in a root, or skip the test without it."""
    text = hwloc_xml.xml(root, disallowed=disallowed)
    if text is None:
        pytest.skip("lstopo is not installed (Debian: hwloc)")
    element: Element = fromstring(re.sub("<!DOCTYPE[^>]*>", "", text))
    return element


def counts(topology: Element) -> Counts:
    """Return how many objects of each kind there are; a package left without CPUs, kept for its devices, is not one."""
    types = [item.get("type") for item in topology.iter("object") if item.get("cpuset") != "0x0"]
    return Counts(*(types.count(kind) for kind in TYPES))


def locality(topology: Element) -> dict[str, tuple[int, ...] | None]:
    """Return the nodes that each HCA is below; None where it is below the whole machine."""
    parents = {child: parent for parent in topology.iter() for child in parent}
    found: dict[str, tuple[int, ...] | None] = {}
    for item in topology.iter("object"):
        if item.get("type") == "OSDev" and item.get("osdev_type") == "3":
            holder = parents[item]
            while not holder.get("nodeset"):
                holder = parents[holder]
            bits = int((holder.get("nodeset") or "0").replace(",", ""), 16)
            nodes = tuple(node for node in range(bits.bit_length()) if bits >> node & 1)
            found[item.get("name") or ""] = None if holder.get("type") == "Machine" else nodes
    return found


@every_machine
def test_lstopo_counts_what_the_description_says(name: str, scratch: Path) -> None:
    """The generated files show lstopo as many packages, nodes, L3 groups, cores and CPUs as were described."""
    expected = MACHINES[name][1]
    root = write_root(name, scratch)
    whole = counts(seen(root, disallowed=True))
    assert whole in {expected.counts, expected.old_hwloc}
    assert (expected.inside or whole) == counts(seen(root, disallowed=False))


@pytest.mark.parametrize("name", ["two-hcas", "hca-unplaced", "a-r7425-2x7601-dell"])
def test_lstopo_finds_the_hcas_where_they_were_put(name: str, scratch: Path) -> None:
    """An HCA is local to its node, and to nothing where the firmware does not say."""
    assert MACHINES[name][1].hcas == locality(seen(write_root(name, scratch), disallowed=True))


def test_a_memory_of_its_own_is_near_its_initiator(scratch: Path) -> None:
    """The HBM node 8 of a Xeon Max hangs at the CPUs of node 0, though it has none."""
    nodes = [
        item for item in seen(write_root("hbm-flat", scratch), disallowed=True).iter("object") if item.get("type") == "NUMANode"
    ]
    cpusets = {int(item.get("os_index") or -1): item.get("cpuset") for item in nodes}
    assert cpusets[0] == cpusets[8]


@pytest.mark.parametrize("name", MACHINES)
def test_every_answer_is_complete(name: str) -> None:
    """A cut that is known has its number of nodes, a doubtful machine says why, and HCAs are on nodes that exist."""
    spec, expected = MACHINES[name]
    assert (expected.numbering == "round-robin") == (expected.over is not None)
    assert expected.why or (expected.sure and expected.cut != "unknown")
    assert {node for nodes in expected.hcas.values() for node in nodes or ()} <= {node.number for node in spec.nodes}
