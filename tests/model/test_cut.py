import pytest

from advisor.model.cpu import Cpu
from advisor.model.cpuset import CpuSet
from advisor.model.cut import infer_cut, infer_layout, infer_smt
from advisor.model.firmware import Firmware
from advisor.model.machine import Machine
from advisor.model.memory import Memory, Processor
from advisor.model.system import Environment
from advisor.model.topology import L3, NumaNode, Package, Topology
from tests.model.shapes import CASCADE_LAKE, HASWELL, KNIGHTS_LANDING, NAPLES, ROME, machine, shape

GIB = 1 << 30


@pytest.mark.parametrize(
    ("cpu", "nodes", "l3", "cores", "expected"),
    [
        (NAPLES, 4, 8, 32, ("channel-interleaving", 4, "high")),
        (NAPLES, 1, 8, 32, ("die-interleaving", 1, "high")),
        (ROME, 1, 16, 64, ("NPS1", 1, "high")),
        (ROME, 2, 16, 64, ("NPS2", 2, "high")),
        (ROME, 4, 16, 64, ("NPS4", 4, "high")),
        (ROME, 16, 16, 64, ("L3-as-NUMA", 16, "high")),
        (ROME, 4, 4, 16, ("NPS4", 4, "medium")),
        (HASWELL, 1, 1, 10, ("none", 1, "high")),
        (HASWELL, 2, 2, 10, ("COD", 2, "high")),
        (CASCADE_LAKE, 1, 1, 24, ("none", 1, "high")),
        (CASCADE_LAKE, 2, 1, 24, ("SNC2", 2, "high")),
        (CASCADE_LAKE, 4, 1, 24, ("SNC4", 4, "high")),
        (KNIGHTS_LANDING, 4, 0, 64, ("KNL-SNC4-cache", 4, "high")),
        (None, 2, 1, 24, ("SNC2", 2, "medium")),
        (None, 1, 1, 24, ("none", 1, "medium")),
        (None, 4, 8, 32, ("unknown", 4, "low")),
        (ROME, 8, 16, 64, ("unknown", 8, "low")),
    ],
)
def test_names(cpu: Cpu | None, nodes: int, l3: int, cores: int, expected: tuple[str, int, str]) -> None:
    """Each generation's cut is named in its vendor's word, as surely as the shape allows."""
    cut = infer_cut(machine(shape(2, nodes, l3, cores), cpu))
    assert (cut.name, cut.nodes_per_socket, cut.confidence) == expected


def test_l3_as_numa_tells_the_setting_beneath() -> None:
    """Under L3-as-NUMA the distance 11 groups the nodes of one quadrant, which gives the NPS setting."""

    def slit(i: int, j: int) -> int:
        return 10 if i == j else 11 if i // 4 == j // 4 else 12 if i // 16 == j // 16 else 32

    cut = infer_cut(machine(shape(2, 16, 16, 64, slit=slit), ROME))
    assert cut.why == ("every NUMA node is one L3 group", "distance 11 groups 4 of 16 nodes, which means NPS4 beneath")


@pytest.mark.parametrize(
    ("cmdline", "reason"),
    [
        ("numa=off", "the kernel was started with numa=off, so its NUMA nodes are not the firmware's"),
        ("numa=fake=8U", "the kernel was started with numa=fake=8U, so its NUMA nodes are not the firmware's"),
    ],
)
def test_kernel_options_are_ruled_out(cmdline: str, reason: str) -> None:
    """Nodes that the kernel was told to make up, or to forget, are never taken for the BIOS's."""
    cut = infer_cut(machine(shape(2, 4, 16, 64), ROME, cmdline))
    assert (cut.name, cut.why) == ("unknown", (reason,))


def test_fake_nodes_show_in_the_distances() -> None:
    """Without a command line, nodes at the local distance from each other give numa=fake away."""
    cut = infer_cut(machine(shape(2, 4, 16, 64, slit=lambda i, j: 10 if i // 4 == j // 4 else 32), ROME, None))
    assert (cut.name, cut.why) == ("unknown", ("nodes 0 and 1 are at distance 10, as only numa=fake makes them",))


def one_node_over_two_sockets() -> Topology:
    """Return two sockets whose memory is one node."""
    two = shape(2, 1, 8, 32)
    node = NumaNode(os_index=0, cpuset=two.pus, near=two.pus, memory=GIB)
    return two.model_copy(update={"nodes": (node,), "distances": None, "allowed_nodes": CpuSet([0])})


def test_one_node_over_two_sockets() -> None:
    """It is NPS0 on an EPYC whose command line is known, and unknown where numa=off cannot be excluded or on a Xeon."""
    spread = one_node_over_two_sockets()
    got = [
        infer_cut(machine(spread, cpu, cmdline)).name for cpu, cmdline in ((ROME, "quiet"), (ROME, None), (CASCADE_LAKE, "quiet"))
    ]
    assert got == ["NPS0", "unknown", "unknown"]


def test_no_numa_information_is_not_nps0() -> None:
    """A dump of CPUID alone has one node for want of information, and is never called NPS0."""
    bare = one_node_over_two_sockets().model_copy(update={"numa_known": False})
    assert infer_cut(machine(bare, ROME)).why == ("this input has no NUMA information; one node stands for the whole machine",)


def test_memory_only_nodes_are_not_counted() -> None:
    """Nodes of HBM or CXL memory leave the count alone, and the reasons say so."""
    base = shape(2, 4, 1, 32)
    extra = tuple(
        NumaNode(os_index=8 + i, cpuset=CpuSet(), near=node.cpuset, memory=16 * GIB, kind="hbm")
        for i, node in enumerate(base.nodes)
    )
    cut = infer_cut(machine(base.model_copy(update={"nodes": base.nodes + extra}), CASCADE_LAKE))
    assert (cut.name, cut.nodes_per_socket, cut.why[-1]) == ("SNC4", 4, "not counted: 8 nodes of memory without CPUs (8-15)")


def test_missing_dimms_do_not_change_the_name() -> None:
    """Nodes without memory count as long as they have CPUs, and the missing DIMMs are named."""
    base = shape(2, 4, 8, 32)
    nodes = tuple(node.model_copy(update={"memory": node.memory if node.os_index in (1, 5) else 0}) for node in base.nodes)
    cut = infer_cut(machine(base.model_copy(update={"nodes": nodes}), NAPLES))
    assert (cut.name, cut.why[-1]) == ("channel-interleaving", "6 of 8 nodes have no memory (0,2-4,6-7): DIMMs missing")


def test_virtual_machines_lower_the_confidence() -> None:
    """In a virtual machine the layout is named, and believed little."""
    guest = machine(shape(2, 4, 16, 64), ROME).model_copy(update={"environment": Environment(virtual="kvm")})
    named = machine(shape(2, 4, 16, 64), ROME).model_copy(update={"firmware": Firmware(system_vendor="QEMU")})
    metal = machine(shape(2, 4, 16, 64), ROME).model_copy(
        update={"firmware": Firmware(system_vendor="Amazon EC2", product="c5a.metal")}
    )
    assert [infer_cut(m).confidence for m in (guest, named, metal)] == ["low", "low", "high"]


def test_dies_reported_as_packages() -> None:
    """An old kernel's eight packages on two EPYC 7601 are two sockets of four nodes."""
    base = shape(2, 4, 8, 32)
    dies = tuple(Package(os_index=i, cpuset=node.cpuset) for i, node in enumerate(base.nodes))
    cut = infer_cut(machine(base.model_copy(update={"packages": dies}), NAPLES))
    assert (cut.name, cut.nodes_per_socket, cut.why[-1]) == (
        "channel-interleaving",
        4,
        "this kernel reports each of the 4 dies of a socket as a package",
    )


def test_smbios_counts_the_sockets() -> None:
    """Where SMBIOS names two processors, four packages are two sockets of two."""
    base = shape(4, 1, 1, 8)
    two = Memory(processors=tuple(Processor(socket=f"CPU{i}", populated=True) for i in (1, 2)))
    cut = infer_cut(machine(base, CASCADE_LAKE).model_copy(update={"memory": two}))
    assert (cut.name, cut.nodes_per_socket) == ("SNC2", 2)


def test_hidden_parts_are_not_guessed() -> None:
    """CPUs without a node, and a file written inside a cgroup, leave the cut unknown."""
    base = shape(2, 4, 16, 64)
    homeless = base.model_copy(update={"nodes": base.nodes[:6]})
    hidden = shape(1, 4, 16, 64).model_copy(update={"missing": CpuSet(range(64, 128)), "missing_nodes": CpuSet([4, 5, 6, 7])})
    assert [infer_cut(machine(t, ROME)).name for t in (homeless, hidden)] == ["unknown", "unknown"]


def test_uneven_sockets_are_not_averaged() -> None:
    """Sockets of different node counts have no cut in common."""
    base = shape(2, 2, 8, 32)
    left = base.nodes[0].cpuset | base.nodes[1].cpuset
    nodes = (NumaNode(os_index=0, cpuset=left, near=left, memory=GIB), *base.nodes[2:])
    assert infer_cut(machine(base.model_copy(update={"nodes": nodes, "distances": None}), ROME)).name == "unknown"


def test_uneven_l3_groups_are_ordinary() -> None:
    """Nodes of five full L3 groups and one of four cores are NPS4 all the same."""
    sizes = [8, 8, 8, 8, 8, 4] * 8
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    groups = tuple(L3(cpuset=CpuSet(range(a, a + n)), size=32 << 20) for a, n in zip(starts, sizes, strict=True))
    uneven = shape(2, 4, 1, 176).model_copy(update={"l3": groups})
    assert infer_cut(machine(uneven, Cpu(vendor="AuthenticAMD", family=25, model=17))).name == "NPS4"


def test_nothing_is_known_of_nothing() -> None:
    """A machine without a topology has no cut, and a reason."""
    assert infer_cut(Machine()).why == ("no topology in this input",)


@pytest.mark.parametrize(
    ("threads", "control", "state"), [(2, "on", "on"), (1, "off", "off"), (1, None, "off"), (1, "notsupported", "off")]
)
def test_smt(threads: int, control: str | None, state: str) -> None:
    """SMT is what the cores show, and the kernel's control is named where it explains it."""
    assert infer_smt(shape(1, 1, 1, 4, threads=threads), control).state == state


def test_smt_without_cores_is_unknown() -> None:
    """An input that names no cores does not tell SMT."""
    assert infer_smt(Topology(pus=CpuSet([0, 1])), None).state == "unknown"


def test_layout_is_one_value() -> None:
    """The four inferences come together in one value that dumps to JSON and reads back."""
    layout = infer_layout(machine(shape(2, 4, 8, 32), NAPLES))
    assert type(layout).model_validate_json(layout.model_dump_json()) == layout
