"""Published machines of one processor that differ in a setting: the transform of one against the other as it was read."""

import os
from pathlib import Path

import pytest

from advisor.errors import AdvisorError
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from tests.change.changed import after, layout, topology
from tests.machines.read import published

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[3] / "shared" / "machines"))
XML = CORPUS / "xml"
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not XML.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)"),
]


def real(name: str) -> Machine:
    """Return a published machine."""
    path = XML / f"{name}.xml"
    if not path.exists():
        pytest.skip(f"{name} is not among the published machines")
    return published(path)


def without_sizes(one: Machine) -> Topology:
    """Return a topology without its bytes of memory, for two servers are not filled alike, and without CPUs that are offline.

    On the E5-2695 v4 with one thread a core the kernel switched the second ones off, and keeps their numbers.
    """
    found = topology(one)
    nodes = tuple(node.model_copy(update={"memory": None}) for node in found.nodes)
    return found.model_copy(update={"nodes": nodes, "missing": CpuSet()})


SAME_PROCESSOR = [
    # EPYC 7452, two sockets, SMT on: NPS4 and NPS1
    ("psmgmt-mel2001", "psmgmt-mel3001", "nps=1"),
    ("psmgmt-mel3001", "psmgmt-mel2001", "nps=4"),
    # E5-2695 v4, two sockets: hyper-threading off and on
    ("mpibind-cts1-quartz-smt1", "mpibind-cts1-pascal", "smt=on"),
    ("mpibind-cts1-pascal", "mpibind-cts1-quartz-smt1", "smt=off"),
]


@pytest.mark.parametrize(("one", "other", "wish"), SAME_PROCESSOR)
def test_a_real_machine_leads_to_the_other(one: str, other: str, wish: str) -> None:
    """CPUs, nodes, L3 groups, core numbers, distances, cut and numbering are the other's; only memory is another."""
    found = after(real(one), wish)
    assert without_sizes(found) == without_sizes(real(other))
    assert layout(found) == layout(real(other))


def test_memory_of_a_real_pair_is_nearly_the_others() -> None:
    """Two nodes with EPYC 7452: joined from NPS4, and divided from NPS1, the sizes are within 2 % of what was read."""
    for one, other, wish in SAME_PROCESSOR[:2]:
        pairs = zip(topology(after(real(one), wish)).nodes, topology(real(other)).nodes, strict=True)
        assert [(a.memory, b.memory) for a, b in pairs if abs((a.memory or 0) / (b.memory or 1) - 1) > 0.02] == []


@pytest.mark.parametrize("name", ["psmgmt-jrc0323", "psmgmt-jrc0732", "psmgmt-jrc0832", "psmgmt-mel0001", "psmgmt-mel2001"])
def test_real_nps4_divides_as_assumed(name: str) -> None:
    """EPYC 7742, 7H12 and 7452: NPS4 joined to NPS1 and divided again gives the quadrants and distances that were read."""
    assert without_sizes(after(after(real(name), "nps=1"), "nps=4")) == without_sizes(real(name))


@pytest.mark.parametrize("name", ["fluxcore-ipa20", "psmgmt-dp-intelmax01"])
def test_real_snc4_divides_as_assumed(name: str) -> None:
    """Xeon Platinum 8480+ and Max 9462: the four clusters are runs of cores; their distances are told by no rule."""
    found = after(after(real(name), "snc=off"), "snc=4")
    assert [node.cpuset for node in topology(found).nodes] == [node.cpuset for node in topology(real(name)).nodes]


@pytest.mark.parametrize("name", ["mpibind-epyc-corona", "fluxsched-001N_amd_gpu_corona11", "mpibind-epyc-dual-sock-hwloc1"])
def test_real_naples_divides_as_assumed(name: str) -> None:
    """EPYC 7401 and 7551: the dies of die interleaving divided again are the nodes that were read, distances too."""
    assert without_sizes(after(after(real(name), "interleave=die"), "interleave=channel")) == without_sizes(real(name))


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(XML.glob("*.xml")), ids=lambda path: path.stem)
def test_no_published_machine_breaks_it(path: Path) -> None:
    """Every published machine is transformed, or refused in one line."""
    refused = []
    try:
        machine = published(path)
    except AdvisorError:
        pytest.skip("cannot be read")
    for wish in ("nps=1", "nps=4,smt=off", "l3-as-node=on", "interleave=die", "snc=2", "cod=on", "smt=on", "enumeration=linear"):
        try:
            after(machine, wish)
        except AdvisorError as error:
            refused.append(str(error))
    assert [line for line in refused if "\n" in line] == []
