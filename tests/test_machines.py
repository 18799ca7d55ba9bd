"""Every machine of the catalogue through every source and the inference, against its right answer."""

import pytest

from advisor.machine.hardware import Locality
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets, infer_layout
from advisor.machine.sources.hwloc import machine_from_xml
from advisor.machine.topology import Topology, counts
from advisor.show.terminal import draw
from tests.examples import a_third
from tests.machines.catalogue import MACHINES
from tests.machines.expected import Counts
from tests.machines.read import machine, seen_by_lstopo

every_machine = pytest.mark.parametrize("name", MACHINES)


def counted(topology: Topology | None) -> Counts:
    """Return a topology's counts as the catalogue writes them."""
    assert topology is not None
    return Counts(**counts(topology).model_dump())


@every_machine
def test_counts(name: str) -> None:
    """The whole machine, and what a cgroup leaves of it, are counted right."""
    topology, expected = machine(name).topology, MACHINES[name][1]
    assert topology is not None
    assert (counted(topology), counted(topology.inside)) == (expected.counts, expected.inside or expected.counts)


@every_machine
def test_layout(name: str) -> None:
    """What the BIOS did is named right, and never surely where it cannot be told."""
    layout, expected = infer_layout(machine(name)), MACHINES[name][1]
    assert (layout.cut.name, layout.cut.nodes_per_socket, layout.numbering.name, layout.numbering.over, layout.smt.state) == (
        expected.cut,
        expected.nodes_per_socket,
        expected.numbering,
        expected.over,
        expected.smt,
    )
    assert expected.sure or layout.cut.confidence != "high"


@every_machine
def test_adapters(name: str) -> None:
    """Every HCA is where it was put; where the firmware does not say, that is said."""
    hcas = {hca.name: hca.locality or Locality(numa_nodes=()) for hca in machine(name).hcas or ()}
    expected = MACHINES[name][1].hcas
    assert hcas.keys() == expected.keys()
    for hca, nodes in expected.items():
        assert hcas[hca].inferred if nodes is None else hcas[hca].numa_nodes == nodes


@pytest.mark.slow
@pytest.mark.parametrize("name", a_third(MACHINES))
def test_root_and_xml_are_one_topology(name: str) -> None:
    """What /sys alone tells is what hwloc makes of the same files."""
    xml = seen_by_lstopo(name)
    if xml is None:
        pytest.skip("lstopo is not installed (Debian: hwloc)")
    if MACHINES[name][1].old_hwloc:
        pytest.skip("hwloc before 2.10 keeps one node of each CPU set here")
    ours, theirs = machine(name).topology, machine_from_xml(xml.encode(), name).topology
    assert ours is not None
    assert theirs is not None
    assert _comparable(ours, theirs) == _comparable(theirs, theirs)


def _comparable(topology: Topology, theirs: Topology) -> Topology:
    """Return a topology without what hwloc leaves out: Knights Landing's distances, and kinds of memory it guesses otherwise."""
    nodes = tuple(node.model_copy(update={"kind": None}) for node in topology.nodes)
    distances = topology.distances if theirs.distances else None
    return topology.model_copy(update={"nodes": nodes, "distances": distances, "numa_known": True})


@every_machine
def test_no_source_fails(name: str) -> None:
    """No source gives up on a machine, and none contradicts another."""
    failures = [gap for gap in machine(name).gaps if gap.fact == "agreement" or "other sources were still read" in gap.help]
    assert failures == []


@every_machine
def test_json_round_trip(name: str) -> None:
    """A Machine written as JSON reads back equal."""
    one = machine(name)
    assert Machine.model_validate_json(one.model_dump_json()) == one


@every_machine
def test_it_can_be_drawn(name: str) -> None:
    """Every machine has a drawing."""
    one = machine(name)
    assert draw(one, infer_layout(one)) is not None


def test_the_dies_of_a_socket_are_found_whatever_order_the_packages_have() -> None:
    """An old kernel that calls dies packages lists them by CPU number; the sockets are nodes 0 to 3 and 4 to 7."""
    one = machine("dies-as-packages")
    assert one.topology is not None
    sockets = find_sockets(one, one.topology)[0]
    assert [[node.os_index for node in one.topology.nodes_of(cpus)] for cpus in sockets] == [[0, 1, 2, 3], [4, 5, 6, 7]]
