"""The words in a drawing of a machine, each way that they can come out."""

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import Cut, Numbering, Smt
from advisor.show.picture import (
    Block,
    Box,
    Device,
    Group,
    Member,
    Picture,
    Store,
    block_facts,
    block_remarks,
    block_title,
    box_memory,
    box_remarks,
    box_title,
    device_facts,
    device_name,
    group_label,
    group_summary,
    guesses,
    member_text,
    statements,
    store_text,
)
from tests.render import made

GIB = 1 << 30
MIB = 1 << 20


def member(first: int, *cores: int, denied: str = "", says: str | None = None) -> Member:
    """Return a member of cores of so many threads each, numbered from a first CPU on; without cores, of two CPUs."""
    sets, at = list[CpuSet](), first
    for threads in cores:
        sets.append(CpuSet(range(at, at + threads)))
        at += threads
    return Member(CpuSet(range(first, at if cores else first + 2)), tuple(sets), CpuSet.parse(denied), says)


def group(*members: Member, cache: bool = True, size: int | None = 16 * MIB, reaches: tuple[int, ...] = ()) -> Group:
    """Return a group, of an L3 where nothing else is said."""
    return Group(cache, size, members, reaches)


def box(*groups: Group, nodes: tuple[int, ...] = (0,), sizes: tuple[int | None, ...] = (16 * GIB,), **more: object) -> Box:
    """Return a NUMA node."""
    whole: dict[str, object] = {"kind": None, "cache": None, **more}
    return Box(nodes=nodes, sizes=sizes, groups=groups, **whole)  # type: ignore[arg-type]


def block(
    *boxes: Box, sockets: tuple[int, ...] = (0,), ids: tuple[int | None, ...] = (0,), dies: int = 1, repeat: int = 1
) -> Block:
    """Return a socket."""
    return Block(sockets, ids, dies, boxes, repeat=repeat)


@pytest.mark.parametrize(
    ("sockets", "ids", "title"),
    [
        ((), (), "No socket known"),
        ((0,), (0,), "Socket 0"),
        ((1,), (36,), "Socket 1 (id 36)"),
        ((0, 1), (0, 1), "Sockets 0-1"),
        ((0, 1), (None, -1), "Sockets 0-1"),
        ((0, 1, 2, 3), (0, 2, 4, 6), "Sockets 0-3 (id 0,2,4,6)"),
        ((0, 1, 2, 3, 4), (0, 2, 4, 6, 8), "Sockets 0-4"),
    ],
)
def test_a_socket_is_called_by_its_number(sockets: tuple[int, ...], ids: tuple[int | None, ...], title: str) -> None:
    """The kernel's own number stands beside ours where the two differ, of up to four sockets."""
    assert block_title(block(sockets=sockets, ids=ids)) == title


@pytest.mark.parametrize(
    ("cores", "dies", "repeat", "says"),
    [
        ((1, 1), 1, 1, "2 cores"),
        ((2, 2), 1, 1, "2 cores, 4 PUs"),
        ((2,), 1, 1, "1 core, 2 PUs"),
        ((), 1, 1, "2 PUs"),
        ((1, 1), 2, 1, "2 cores, 2 dies"),
        ((2, 2), 1, 2, "2 alike: 1 core, 2 PUs each"),
    ],
)
def test_a_socket_says_what_it_holds(cores: tuple[int, ...], dies: int, repeat: int, says: str) -> None:
    """Cores, and hardware threads where there are more of them; of each, where a drawing stands for several."""
    assert block_facts(block(box(group(member(0, *cores))), dies=dies, repeat=repeat)) == says


def test_a_cache_of_several_nodes_is_named_once() -> None:
    """An L3 that reaches over nodes is a remark of the socket, once however many nodes show it."""
    shared = group(member(0, 1), reaches=(0, 1))
    assert block_remarks(block(box(shared), box(shared, nodes=(1,)))) == ("L3 16 MiB shared by nodes 0-1",)
    assert block_remarks(block(box(group(member(0, 1))))) == ()


@pytest.mark.parametrize(
    ("nodes", "sizes", "kind", "title", "memory"),
    [
        ((), (), None, "No NUMA node", "no memory of its own"),
        ((3,), (16 * GIB,), None, "NUMA node 3", "16 GiB"),
        ((3,), (16 * GIB,), "hbm", "NUMA node 3", "16 GiB HBM"),
        ((0, 1, 2), (GIB, GIB, GIB), None, "NUMA nodes 0-2", "3 x 1 GiB"),
        ((3,), (0,), None, "NUMA node 3", "NO MEMORY"),
        ((3,), (None,), None, "NUMA node 3", "memory ?"),
        ((0, 1), (0, GIB), None, "NUMA nodes 0-1", "2 x 0 B - 1 GiB"),
    ],
)
def test_a_node_says_its_memory(
    nodes: tuple[int, ...], sizes: tuple[int | None, ...], kind: str | None, title: str, memory: str
) -> None:
    """A node without memory says so in capitals, and one of which it is not known has a question mark."""
    made_box = box(nodes=nodes, sizes=sizes, kind=kind)
    assert (box_title(made_box), box_memory(made_box)) == (title, memory)


def test_a_node_says_what_else_is_so() -> None:
    """Memory that the job may not use, and a cache on the side of the memory."""
    assert list(box_remarks(box(denied=True, cache=8 * GIB))) == ["memory outside your allocation", "8 GiB memory-side cache"]
    assert list(box_remarks(box())) == []


def test_a_group_is_called_by_its_cache() -> None:
    """Cores of one L3 go by its size, with their number where groups are uneven; others by their number alone."""
    assert group_label(group(member(0, 1, 1))) == "L3 16 MiB"
    assert group_label(group(member(0, 1, 1)), uneven=True) == "L3 16 MiB, 2 cores"
    assert group_label(group(member(0, 1, 1), cache=False)) == "2 cores"
    assert group_label(group(member(0, 1, 1), reaches=(0, 1)), uneven=True) == "2 cores"
    assert group_label(group(member(0), cache=False)) == "2 PUs"


@pytest.mark.parametrize(
    ("made_group", "repeat", "says"),
    [
        (group(member(0, 1, 1), member(2, 1, 1)), 1, "2 x L3 16 MiB, 2 cores each: 0-1 .. 2-3"),
        (group(member(0, 1, 1), member(2, 1, 1)), 2, "L3 16 MiB, 2 cores: 0-1 .. 2-3"),
        (group(member(0, 1), member(1, 1), cache=False), 1, "2 x 1 core each: 0 .. 1"),
        (group(member(0, 1), member(1, 1), reaches=(0, 1)), 1, "2 x 1 core each: 0 .. 1"),
    ],
)
def test_a_group_in_one_line(made_group: Group, repeat: int, says: str) -> None:
    """How many, of what, and the first and the last of them."""
    assert group_summary(made_group, repeat) == says


@pytest.mark.parametrize(
    ("made_member", "says"),
    [
        (member(4, 1, 1), "4-5"),
        (member(0, 2, 1), "0-1 (1 core x 2 threads), 2 (1 core x 1 thread)"),
        (member(0, 1, 1, 1, denied="2"), "0-1 (2)"),
        (member(0, 1, 1, denied="0-1"), "(0-1)"),
        (member(6), "6-7"),
        (member(0, 1, 1, says="ranks 0-1"), "ranks 0-1"),
    ],
)
def test_a_member_lists_its_cpus(made_member: Member, says: str) -> None:
    """CPUs outside the allocation stand in brackets, ranks instead of CPUs where they are drawn."""
    assert member_text(made_member) == says


@pytest.mark.parametrize(
    ("store", "here", "says"),
    [
        (Store((8,), (GIB,), "hbm", "near node 0"), False, "NUMA node 8: 1 GiB HBM, no CPUs, near node 0"),
        (Store((8,), (GIB,), "hbm", "near node 0"), True, "NUMA node 8: 1 GiB HBM, no CPUs"),
        (Store((8, 9), (GIB, GIB), None, "near node 0"), True, "NUMA nodes 8-9: 1 GiB each, no CPUs"),
        (Store((8,), (None,), None, "x", denied=True), True, "NUMA node 8: memory ?, no CPUs, outside your allocation"),
    ],
)
def test_memory_without_cpus(store: Store, here: bool, says: str) -> None:
    """What it is, and near which node, unless it is drawn in that node."""
    assert store_text(store, here=here) == says


def device(*names: str, guessed: str | None = None, facts: tuple[str, ...] = (), link: str = "") -> Device:
    """Return adapters."""
    return Device("nic", names, facts, "up", link, slow=False, guessed=guessed, remarks=("behind a bridge",))


def test_devices_are_named() -> None:
    """Up to four by name, more by the first two and the last; with a tilde where the place is inferred."""
    assert device_name(device("a", "b", "c", "d")) == "NIC a, b, c, d"
    assert device_name(device("a", "b", "c", "d", "e")) == "NIC a, b, .., e (5 alike)"
    assert device_name(device("a", "b", "c", "d", "e", guessed="no ACPI"), whole=True) == "NIC a, b, c, d, e ~"
    assert device_facts(device("a", facts=("100 Gb/s", ""), link="PCIe 4.0 x16")) == (
        "100 Gb/s",
        "PCIe 4.0 x16",
        "behind a bridge",
    )


def test_the_legend_tells_each_reason_once() -> None:
    """The tilde is explained wherever it stands, in a node, in a socket or beside both; without one there is no legend."""
    inside = box()
    inside = Box(inside.nodes, inside.sizes, None, None, (), devices=(device("a", guessed="no _PXM"),))
    around = Block((0,), (0,), 1, (inside,), devices=(device("b", guessed="of its bridge"),))
    beside = (device("c", guessed="no _PXM"), device("d", guessed="by its number"))
    drawn = Picture("", "", "", (around,), (), beside, None, (), ())
    assert guesses(drawn) == ("~ location inferred, not reported by the firmware: no _PXM; by its number; of its bridge",)
    assert guesses(Picture("", "", "", (), (), (device("a"),), None, (), ())) == ()


@pytest.mark.parametrize(
    ("siblings", "says"),
    [
        ("none", "linear"),
        ("unknown", "linear, second threads ?"),
        ("adjacent", "linear, each core's second thread numbered right after its first"),
        ("offset", "linear, second threads after all first threads"),
        ("other", "linear, second threads in another order"),
    ],
)
def test_what_was_inferred_in_words(siblings: str, says: str) -> None:
    """The cut, the numbering and the hardware threads, with numbers only where they are known."""
    layout = made.layout()
    numbering = layout.numbering.model_copy(update={"name": "linear", "over": None, "siblings": siblings})
    assert isinstance(numbering, Numbering)
    found = {each.about: each.says for each in statements(layout.model_copy(update={"numbering": numbering}))}
    assert found["Numbering"] == says


def test_the_cut_and_the_threads_in_words() -> None:
    """Nodes per socket and threads per core are told where they are known and more than one."""
    layout = made.layout()

    def said(cut: Cut, smt: Smt, over: str | None) -> list[str]:
        numbering = layout.numbering.model_copy(update={"name": "round-robin", "over": over, "siblings": "none"})
        changed = layout.model_copy(update={"cut": cut, "smt": smt, "numbering": numbering})
        return [each.says for each in statements(changed)][:3]

    cut, smt = layout.cut, layout.smt
    assert said(
        cut.model_copy(update={"name": "NPS4", "nodes_per_socket": 4}),
        smt.model_copy(update={"state": "on", "threads": 2}),
        "sockets",
    ) == ["NPS4, 4 NUMA nodes per socket", "round-robin over sockets", "on (2 threads per core)"]
    assert said(
        cut.model_copy(update={"name": "?", "nodes_per_socket": None}),
        smt.model_copy(update={"state": "off", "threads": 1}),
        None,
    ) == ["?", "round-robin", "off"]
