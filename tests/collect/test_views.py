"""What sources take of files that are another on each node."""

from advisor.machine.hosts.source import XmlHost
from advisor.machine.sources.hwloc import collect, machine_from_xml
from advisor.machine.sources.reader import arm_parts, memory_total, of_family_15h, of_knights_landing, own_words, shared_text
from tests.collect.xmls import adapter, cores, document, info, node

BULLDOZER = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t\t: 1\n"
KNIGHTS_LANDING = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 87\n"
GRACE = (
    "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
)


def test_a_cpuinfo_says_which_processors_need_another_reading() -> None:
    """AMD's compute units and Intel's Knights are told by vendor, family and model; no other is taken for one."""
    found = [(of_family_15h(text), of_knights_landing(text)) for text in (BULLDOZER, KNIGHTS_LANDING, GRACE, "")]
    assert found == [(True, False), (False, True), (False, False), (False, False)]


def test_cpus_of_arm_stand_by_their_part() -> None:
    """Implementer and part, with the CPUs of each; () of other processors."""
    assert (arm_parts(GRACE), arm_parts(BULLDOZER)) == ((((0x41, 0xD4F), (0, 1)),), ())


def test_only_the_total_of_a_meminfo_counts() -> None:
    """Free memory is another at each look."""
    texts = ("MemTotal: 4 kB\nMemFree: 2 kB\n", "MemTotal: 4 kB\nMemFree: 1 kB\n", "nothing")
    assert [memory_total(text) for text in texts] == [4096, 4096, None]


def printed(name: str, lid: int, memory: int) -> bytes:
    """Return what lstopo prints on one of two nodes that are equal but for their own words."""
    port = info("NodeGUID", f"{name}:1") + info("Port1State", "4") + info("Port1LID", f"{lid:#x}")
    card = adapter("0000:41:00.0", "0207 [15b3:101b]", "mlx5_0", "3", port)
    pages = f'<page_type size="4096" count="{memory // 4096}"/>'
    numa = node(0, [0, 1], memory).replace("/>", f">{pages}</object>", 1)
    return document(info("HostName", name) + numa + cores([0, 1]) + card, [0, 1])


def test_equal_nodes_share_the_text_of_lstopo() -> None:
    """Names, GUIDs, LIDs, pages and some kB of memory are no difference; an adapter that is down is."""
    one, other = printed("n1", 7, 1 << 34), printed("n02", 300, (1 << 34) - 65536)
    assert shared_text(one) == shared_text(other)
    assert shared_text(one) != shared_text(one.replace(b'name="Port1State" value="4"', b'name="Port1State" value="1"'))


def test_each_node_keeps_its_own_words() -> None:
    """The words that marks stand for are those of the node, in the order of the marks."""
    assert own_words(printed("n02", 300, 4096 << 10)) == ("n02", "4194304", "0x12c")


class Printed(XmlHost):
    """A capture of which only what lstopo printed is known."""

    kind = "capture"


def test_a_machine_put_together_from_shared_text_is_that_of_the_whole() -> None:
    """Name, LID and the exact memory are put in again."""
    xml = printed("n02", 300, (1 << 34) - 65536)
    assert collect(Printed(xml, "x")) == machine_from_xml(xml, "lstopo", "lstopo", alone=False)
