import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Acpi, Cpu, Firmware, Memory, MemoryTier, Processor, SratCpu
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_cut, infer_layout, infer_smt
from advisor.machine.topology import L3, Distances, NumaNode, Package, Topology
from tests.conftest import Golden
from tests.model.shapes import CASCADE_LAKE, HASWELL, KNIGHTS_LANDING, NAPLES, ROME, machine, shape

GIB = 1 << 30


def amd(family: int, model: int, cores: int) -> Cpu:
    """Return an AMD processor whose name tells its cores."""
    return Cpu(vendor="AuthenticAMD", family=family, model=model, model_name=f"AMD EPYC {cores}-Core Processor")


def intel(model: int) -> Cpu:
    """Return a Xeon."""
    return Cpu(vendor="GenuineIntel", family=6, model=model)


CUTS: tuple[tuple[Cpu | None, int, int, int, tuple[str, int, str]], ...] = (
    (NAPLES, 4, 8, 32, ("channel-interleaving", 4, "high")),
    (NAPLES, 1, 8, 32, ("die-interleaving", 1, "high")),
    (ROME, 1, 16, 64, ("NPS1", 1, "high")),
    (ROME, 2, 16, 64, ("NPS2", 2, "high")),
    (ROME, 4, 16, 64, ("NPS4", 4, "high")),
    (ROME, 16, 16, 64, ("L3-as-NUMA", 16, "high")),
    (ROME, 4, 4, 16, ("NPS4", 4, "medium")),
    (amd(23, 49, 16), 4, 4, 16, ("L3-as-NUMA", 4, "high")),
    (amd(25, 160, 128), 16, 16, 128, ("L3-as-NUMA", 16, "high")),
    (amd(25, 160, 32), 4, 4, 32, ("L3-as-NUMA", 4, "high")),
    (amd(25, 1, 64), 4, 8, 64, ("NPS4", 4, "high")),
    (amd(25, 1, 64), 8, 8, 64, ("L3-as-NUMA", 8, "high")),
    (amd(25, 1, 16), 4, 4, 16, ("NPS4", 4, "medium")),
    (amd(25, 17, 96), 4, 12, 96, ("NPS4", 4, "high")),
    (amd(25, 17, 96), 12, 12, 96, ("L3-as-NUMA", 12, "high")),
    (amd(25, 144, 24), 1, 3, 24, ("NPS1", 1, "high")),
    (amd(25, 144, 24), 3, 3, 24, ("L3-as-NUMA", 3, "high")),
    (amd(26, 17, 192), 2, 12, 192, ("NPS2", 2, "high")),
    (amd(23, 8, 16), 2, 4, 16, ("channel-interleaving", 2, "high")),
    (NAPLES, 4, 4, 16, ("channel-interleaving", 4, "medium")),
    (intel(85), 2, 2, 24, ("none", 2, "high")),
    (intel(85), 4, 2, 48, ("SNC2", 4, "high")),
    (intel(143), 4, 1, 56, ("SNC4", 4, "high")),
    (intel(173), 3, 1, 120, ("SNC3", 3, "high")),
    (intel(79), 2, 2, 14, ("COD", 2, "high")),
    (intel(62), 1, 1, 12, ("none", 1, "high")),
    (Cpu(vendor="0x46", model=1), 4, 0, 48, ("none", 4, "high")),
    (Cpu(vendor="0x41", model=0xD4F), 1, 1, 72, ("none", 1, "medium")),
    (Cpu(model_name="AMD EPYC 7551 32-Core Processor"), 4, 8, 32, ("channel-interleaving", 4, "medium")),
    (Cpu(model_name="AMD EPYC 74F3 24-Core Processor"), 2, 8, 24, ("NPS2", 2, "medium")),
    (Cpu(model_name="Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz"), 1, 1, 8, ("none", 1, "medium")),
    (Cpu(model_name="Intel(R) Xeon(R) CPU E7-8890 v4 @ 2.20GHz"), 2, 2, 24, ("COD", 2, "medium")),
    (Cpu(model_name="Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"), 2, 1, 20, ("SNC2", 2, "medium")),
    (Cpu(model_name="AMD Opteron(tm) Processor 6134"), 2, 2, 8, ("none", 2, "medium")),
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
)


@pytest.mark.parametrize(("cpu", "nodes", "l3", "cores", "expected"), CUTS)
def test_names(cpu: Cpu | None, nodes: int, l3: int, cores: int, expected: tuple[str, int, str]) -> None:
    """Each generation's cut is named in its vendor's word, as surely as the shape allows."""
    cut = infer_cut(machine(shape(2, nodes, l3, cores), cpu))
    assert (cut.name, cut.nodes_per_socket, cut.confidence) == expected


def test_each_reason_to_the_letter(golden: Golden) -> None:
    """What an audit says of how it knows: for each shape above, and for those that fit no setting of their generation."""
    odd = ((HASWELL, 2, 1, 10), (HASWELL, 4, 1, 12), (CASCADE_LAKE, 5, 1, 25), (ROME, 4, 0, 64), (KNIGHTS_LANDING, 1, 0, 64))
    told = []
    for cpu, nodes, l3, cores in (*(row[:4] for row in CUTS), *odd):
        cut = infer_cut(machine(shape(2, nodes, l3, cores), cpu))
        name = (cpu.model_name or f"{cpu.vendor} {cpu.family} {cpu.model}") if cpu else "not known"
        told.append(
            f"{name}, a socket: {nodes} nodes, {l3} L3, {cores} cores\n  {cut.name}, {cut.confidence}: {'; '.join(cut.why)}\n"
        )
    golden("cuts.txt", "".join(told))


def test_l3_as_numa_tells_the_setting_beneath() -> None:
    """Under L3-as-NUMA the distance 11 groups the nodes of one quadrant, which gives the NPS setting."""

    def slit(i: int, j: int) -> int:
        return 10 if i == j else 11 if i // 4 == j // 4 else 12 if i // 16 == j // 16 else 32

    cut = infer_cut(machine(shape(2, 16, 16, 64, slit=slit), ROME))
    assert cut.beneath == 4
    assert cut.why == ("every NUMA node is one L3 group", "distance 11 groups 4 of 16 nodes: the underlying setting is NPS4")


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
    assert (cut.name, cut.why) == ("unknown", ("nodes 0 and 1 are at distance 10, which only numa=fake produces",))


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


def test_one_node_over_two_naples() -> None:
    """AMD calls it socket interleaving there."""
    cut = infer_cut(machine(one_node_over_two_sockets(), NAPLES))
    assert (cut.name, cut.nodes_per_socket, cut.confidence) == ("socket-interleaving", None, "medium")


def test_one_node_that_the_firmware_did_not_make() -> None:
    """More nodes in the SRAT, a hypervisor and packages that are less than sockets are no NPS0."""
    spread = machine(one_node_over_two_sockets(), ROME)
    apart = Acpi(srat_cpus=tuple(SratCpu(apic_id=i, domain=i, enabled=True) for i in (0, 1)))
    eight = shape(8, 1, 1, 4)
    halves = tuple(
        NumaNode(os_index=i, cpuset=cpus, near=cpus, memory=GIB)
        for i, cpus in enumerate((CpuSet(range(16)), CpuSet(range(16, 32))))
    )
    machines = (
        spread.model_copy(update={"acpi": apart}),
        spread.model_copy(update={"environment": Environment(virtual="kvm")}),
        machine(eight.model_copy(update={"nodes": halves, "distances": None}), ROME),
    )
    reasons = [infer_cut(each).why[0].partition(":")[0] for each in machines]
    assert reasons == [
        "the firmware's SRAT has 2 nodes with CPUs, but the kernel shows one",
        "a NUMA node spans several sockets of a virtual machine",
        "one of several NUMA nodes spans several packages",
    ]


def test_one_socket_is_nps1() -> None:
    """The one node of a machine with one EPYC is its socket's, not NPS0."""
    cut = infer_cut(machine(shape(1, 1, 16, 64), ROME, None))
    assert (cut.name, cut.nodes_per_socket, cut.confidence) == ("NPS1", 1, "high")


def test_packages_of_one_number_are_one() -> None:
    """An old kernel's packages of cluster on die carry their socket's number, however the CPUs are dealt."""
    base = shape(2, 2, 2, 4, number=lambda position, count: position // 4 + count // 4 * (position % 4))
    split = tuple(Package(os_index=i // 2, cpuset=node.cpuset) for i, node in enumerate(base.nodes))
    layout = infer_layout(machine(base.model_copy(update={"packages": split}), HASWELL))
    assert (layout.cut.name, layout.cut.nodes_per_socket, layout.numbering.name) == ("COD", 2, "round-robin")


def test_offline_cpus_may_own_nodes_of_memory() -> None:
    """Nodes left without CPUs by maxcpus= are not taken for another kind of memory; with SMT switched off they are."""
    base = shape(2, 4, 16, 64)
    kept = CpuSet(range(32))
    nodes = tuple(node.model_copy(update={"cpuset": node.cpuset & kept}) for node in base.nodes)
    one = base.model_copy(update={"packages": base.packages[:1], "nodes": nodes, "pus": kept, "missing": base.pus - kept})
    names = [infer_cut(machine(each, ROME)) for each in (one, one.model_copy(update={"missing": CpuSet(range(128, 160))}))]
    assert [(cut.name, cut.confidence) for cut in names] == [("NPS2", "low"), ("NPS2", "high")]
    assert names[0].why[-1] == "CPUs 32-127 are offline or hidden: some of the nodes without CPUs may belong to them"


def test_mcdram_that_is_both_cache_and_memory_is_hybrid() -> None:
    """A node of MCDRAM beside a memory-side cache of gigabytes is Knights Landing's hybrid mode."""
    base = shape(1, 4, 0, 64)
    fast = tuple(NumaNode(os_index=4 + i, cpuset=CpuSet(), near=n.cpuset, memory=2 * GIB) for i, n in enumerate(base.nodes))
    knl = machine(base.model_copy(update={"nodes": base.nodes + fast}), KNIGHTS_LANDING)
    both = knl.model_copy(update={"tiers": tuple(MemoryTier(node=i, cache=2 * GIB) for i in range(4))})
    assert [infer_cut(each).name for each in (knl, both)] == ["KNL-SNC4-flat", "KNL-SNC4-hybrid"]


def test_memory_at_the_local_distance_is_not_fake() -> None:
    """A node without CPUs that the firmware puts at distance 10 is no sign of numa=fake."""
    base = shape(1, 1, 1, 8)
    far = NumaNode(os_index=1, cpuset=CpuSet(), near=base.pus, memory=GIB)
    table = Distances(nodes=(0, 1), rows=((10, 10), (10, 10)))
    cut = infer_cut(machine(base.model_copy(update={"nodes": (*base.nodes, far), "distances": table}), CASCADE_LAKE, None))
    assert cut.name == "none"


def test_no_numa_information_is_not_nps0() -> None:
    """A dump of CPUID alone has one node for want of information, and is never called NPS0."""
    bare = one_node_over_two_sockets().model_copy(update={"numa_known": False})
    assert infer_cut(machine(bare, ROME)).why == ("this input has no NUMA information; one node represents the whole machine",)


def test_memory_only_nodes_are_not_counted() -> None:
    """Nodes of HBM or CXL memory leave the count alone, and the reasons say so."""
    base = shape(2, 4, 1, 32)
    extra = tuple(
        NumaNode(os_index=8 + i, cpuset=CpuSet(), near=node.cpuset, memory=16 * GIB, kind="hbm")
        for i, node in enumerate(base.nodes)
    )
    cut = infer_cut(machine(base.model_copy(update={"nodes": base.nodes + extra}), CASCADE_LAKE))
    assert (cut.name, cut.nodes_per_socket, cut.why[-1]) == ("SNC4", 4, "not counted: 8 memory-only nodes (8-15)")


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
    """Where SMBIOS names two processors, four packages are two sockets of two: Xeon Platinum 9200."""
    base = shape(4, 1, 1, 8)
    two = Memory(processors=tuple(Processor(socket=f"CPU{i}", populated=True) for i in (1, 2)))
    cut = infer_cut(machine(base, CASCADE_LAKE).model_copy(update={"memory": two}))
    assert (cut.name, cut.nodes_per_socket) == ("none", 2)


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
