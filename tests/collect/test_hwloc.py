import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadXml
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Locality
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.sources.hwloc import LSTOPO, LSTOPO_PLAIN, collect, machine_from_xml
from advisor.machine.topology import Counts, counts
from tests.collect.os_host import FakeHost
from tests.collect.xmls import CONNECTX, adapter, core, cores, document, info, node, thing
from tests.examples import examples

TWO = document(
    thing("Package", 0, [0, 1], node(0, [0, 1]) + thing("L3Cache", None, [0, 1], cores([0, 1]), cache_size="8388608"), [0])
    + thing(
        "Package", 1, [2, 3], node(1, [2, 3]) + thing("L3Cache", None, [2, 3], cores([2, 3], [1]), [1], cache_size="8388608"), [1]
    ),
    [0, 1, 2, 3],
    [0, 1],
    tail='<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">'
    "<indexes>0 1 </indexes><u64values>10 21 </u64values><u64values>21 10 </u64values></distances2>",
)


def test_a_small_machine() -> None:
    """Packages, nodes, L3 groups, cores, PUs and distances are those of the file."""
    topology = machine_from_xml(TWO, "two.xml").topology
    assert topology is not None
    assert counts(topology) == Counts(packages=2, numa_nodes=2, l3=2, cores=4, pus=4)
    assert topology.distances is not None
    assert topology.distances.rows == ((10, 21), (21, 10))
    assert (topology.l3[0].size, [n.memory for n in topology.nodes]) == (8 << 20, [1 << 30, 1 << 30])


@pytest.mark.parametrize(("version", "osdev"), [("2.0", "3"), ("3.0", "32")])
def test_an_adapter_is_near_the_object_that_holds_it(version: str, osdev: str) -> None:
    """An HCA is found in files of both formats, near the nodes of the package its bridge hangs under."""
    ports = info("Port1State", "4") + info("Port1LID", "0x1a")
    xml = document(
        thing("Package", 0, [0, 1], node(0, [0, 1]) + cores([0, 1]))
        + thing(
            "Package",
            1,
            [2, 3],
            node(1, [2, 3]) + cores([2, 3], [1]) + adapter("0000:c1:00.0", CONNECTX, "mlx5_0", osdev, ports),
            [1],
        ),
        [0, 1, 2, 3],
        [0, 1],
        version=version,
    )
    hcas = machine_from_xml(xml, "x.xml").hcas
    assert hcas is not None
    assert [(h.name, h.address, h.locality, h.ports and [(p.number, p.state, p.lid) for p in h.ports]) for h in hcas] == [
        ("mlx5_0", "0000:c1:00.0", Locality(numa_nodes=(1,)), [(1, "active", 26)])
    ]


def test_an_adapter_of_the_whole_machine_is_near_every_node() -> None:
    """A bridge that hangs under the machine itself is local to all of its nodes."""
    xml = document(node(0, [0]) + node(1, [1]) + cores([0, 1]) + adapter("0000:01:00.0", CONNECTX, "mlx5_0", "3"), [0, 1], [0, 1])
    hcas = machine_from_xml(xml, "x.xml").hcas
    assert hcas is not None
    assert hcas[0].locality == Locality(numa_nodes=(0, 1))


def test_without_devices_nothing_is_said_of_them() -> None:
    """A file written without I/O leaves the devices unknown, not absent."""
    machine = machine_from_xml(TWO, "two.xml")
    assert (machine.hcas, machine.nics, machine.gpus, machine.pci) == (None, None, None, None)


def test_memory_of_another_kind_shares_the_cpus() -> None:
    """A second node of the same CPUs is memory alone when its kind or its size says so."""
    for extra in ({"subtype": "MCDRAM"}, {}):
        xml = document(node(0, [0, 1], 96 << 30) + node(1, [0, 1], 16 << 30, **extra) + cores([0, 1]), [0, 1], [0, 1])
        topology = machine_from_xml(xml, "x.xml").topology
        assert topology is not None
        assert [(str(n.cpuset), str(n.near)) for n in topology.nodes] == [("0-1", "0-1"), ("", "0-1")]


def test_alike_nodes_of_one_cpuset_both_count() -> None:
    """Two nodes of like size in one package are cluster on die that lost its groups in conversion."""
    xml = document(
        thing("Package", 0, [0, 1], node(0, [0, 1], 16 << 30) + node(1, [0, 1], 17 << 30) + cores([0, 1]), [0, 1]), [0, 1], [0, 1]
    )
    topology = machine_from_xml(xml, "x.xml").topology
    assert topology is not None
    assert len(topology.cpu_nodes) == 2


def test_memory_near_several_nodes_is_memory_alone() -> None:
    """CXL memory near both clusters of a package owns none of their CPUs, whatever its number."""
    xml = document(
        thing("Package", 0, [0, 1], node(0, [0, 1], 8 << 30) + node(1, [0]) + node(2, [1]) + cores([0, 1]), [0, 1, 2]),
        [0, 1],
        [0, 1, 2],
    )
    topology = machine_from_xml(xml, "x.xml").topology
    assert topology is not None
    assert [(n.os_index, str(n.cpuset), str(n.near)) for n in topology.nodes] == [(0, "", "0-1"), (1, "0", "0"), (2, "1", "1")]


def test_the_processor_may_be_named_beside_the_machine() -> None:
    """Files of format 3.x keep what is true of the whole machine at their end."""
    xml = document(node(0, [0]) + core(0, [0]), [0], version="3.0", tail=info("CPUModel", "UltraSparc"))
    cpu = machine_from_xml(xml, "x.xml").cpu
    assert cpu is not None
    assert cpu.model_name == "UltraSparc"


def test_disallowed_parts_are_known_and_left_out_inside() -> None:
    """A file written with --disallowed shows the whole machine, and what the cgroup leaves."""
    xml = TWO.replace(b'allowed_cpuset="0x0000000f"', b'allowed_cpuset="0x00000003"').replace(
        b'allowed_nodeset="0x00000003"', b'allowed_nodeset="0x00000001"'
    )
    topology = machine_from_xml(xml, "x.xml").topology
    assert topology is not None
    assert (counts(topology).pus, counts(topology.inside)) == (4, Counts(packages=1, numa_nodes=1, l3=1, cores=2, pus=2))


def test_hidden_cpus_are_named() -> None:
    """CPUs in the complete set and not in the file are missing ones."""
    xml = document(node(0, [0]) + core(0, [0]), [0], complete_cpuset="0x00000003")
    head, _, tail = xml.partition(b'complete_cpuset="0x00000001"')
    topology = machine_from_xml(head + tail, "x.xml").topology
    assert topology is not None
    assert topology.missing == CpuSet([1])


def test_no_memory_sizes_means_no_numa_information() -> None:
    """One node without a size stands for a machine whose NUMA is not known; beside nodes with sizes it has none."""
    bare = machine_from_xml(document(node(0, [0], None) + core(0, [0]), [0]), "x.xml").topology
    two = machine_from_xml(document(node(0, [0], None) + node(1, [1]) + cores([0, 1]), [0, 1], [0, 1]), "x.xml").topology
    assert bare is not None
    assert two is not None
    assert (bare.numa_known, bare.nodes[0].memory, two.numa_known, two.nodes[0].memory) == (False, None, True, 0)


def test_identity_and_firmware() -> None:
    """Names of the host, its maker and its processor are read, wherever the version of the format keeps them."""
    package = (
        info("CPUVendor", "AuthenticAMD")
        + info("CPUFamilyNumber", "23")
        + info("CPUModelNumber", "49")
        + info("CPUModel", "EPYC  X")
    )
    machine_infos = info("DMISysVendor", "Dell Inc.") + info("DMIBIOSDate", "06/10/2022")
    inner = machine_infos + thing("Package", 0, [0], package + node(0, [0]) + core(0, [0]))
    machine = machine_from_xml(document(inner, [0], version="3.0", tail=info("HostName", "n1")), "x.xml")
    assert machine.cpu is not None
    assert machine.firmware is not None
    assert (machine.name, machine.cpu.family, machine.cpu.model, machine.cpu.model_name, machine.firmware.bios_date) == (
        "n1",
        23,
        49,
        "EPYC X",
        "2022-06-10",
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<topology", "x.xml: line 1, column 0: not well-formed XML (unclosed token); write the XML again with lstopo"),
        (b"<a/>", "x.xml: its first element is <a>, not <topology>; give an XML file written by lstopo --of xml"),
        (b"<topology/>", "x.xml: it is in the format of hwloc 1.x; convert it: lstopo -i OLD.xml --of xml NEW.xml (hwloc 2.x)"),
        (b'<topology version="9.0"/>', "x.xml: format 9.0 is newer than this program reads (2.x and 3.x); update advisor"),
        (b'<topology version="2.0"/>', "x.xml: it contains no Machine object; give an XML file written by lstopo --of xml"),
        (
            b'<topology version="2.0"><object type="Machine"/></topology>',
            "x.xml: the Machine object has no cpuset; write the XML again with lstopo 2.0 or newer",
        ),
        (document("", [0]), "x.xml: it contains no PU; write the XML again with lstopo, without --filter"),
        (
            b'<!DOCTYPE t [<!ENTITY a "b">]><topology version="2.0">&a;</topology>',
            "x.xml: it declares entities, which no hwloc XML does; refused as unsafe",
        ),
        (
            TWO.replace(b'os_index="3"', b'os_index="x"'),
            "x.xml: PU os_index=x: os_index='x' is not a whole number; write the file again with lstopo",
        ),
        (
            TWO.replace(b"10 21 ", b"10 "),
            "x.xml: distances for 2 nodes, but 3 values; write the XML again with lstopo",
        ),
    ],
)
def test_bad_files(data: bytes, message: str) -> None:
    """What cannot be a machine is refused in one line with file, place and cure."""
    with pytest.raises(BadXml) as caught:
        machine_from_xml(data, "x.xml")
    assert str(caught.value) == message


@examples(300)
@given(st.data())
def test_damaged_files_are_refused_or_read(data: st.DataObject) -> None:
    """No change of bytes makes the reader fail in any other way than by refusing the file."""
    damaged = bytearray(TWO)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        machine_from_xml(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]), "x.xml")
    except BadXml:
        return


def test_deep_nesting_is_refused() -> None:
    """Objects nested deeper than any machine are refused before they hurt."""
    inner = core(0, [0])
    for _ in range(100):
        inner = thing("Group", None, [0], inner)
    with pytest.raises(BadXml, match="deeper nesting"):
        machine_from_xml(document(inner, [0]), "x.xml")


def test_live_lstopo_is_asked_once_more_without_an_option_it_may_not_know() -> None:
    """Lstopo 2.0 does not know --disallowed; the plain form is tried next."""
    host = FakeHost(commands={LSTOPO: Ran(status=1), LSTOPO_PLAIN: Ran(out=TWO)}, kind="live")
    topology = collect(host).topology
    assert topology is not None
    assert len(topology.pus) == 4


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Ran(why=Why.ABSENT), "lstopo is not installed; the topology is read from /sys alone"),
        (Ran(why=Why.TIMEOUT), "lstopo did not answer (took too long); the topology is read from /sys alone"),
        (Ran(status=3), "lstopo did not answer (status 3); the topology is read from /sys alone"),
        (Ran(why=Why.NOT_KEPT), "no lstopo output in this input"),
    ],
)
def test_without_lstopo(answer: Ran, why: str) -> None:
    """A host without a working lstopo leaves a gap that says so, and nothing else."""
    machine = collect(FakeHost(commands={LSTOPO: answer, LSTOPO_PLAIN: answer}))
    assert (machine.topology, [gap.why for gap in machine.gaps]) == (None, [why])
