from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Locality, Nic
from advisor.machine.machine import Limits, Machine
from advisor.machine.topology import Core, NumaNode, Topology
from advisor.show.picture import (
    Picture,
    block_remarks,
    block_title,
    collapsed,
    group_label,
    guesses,
    member_text,
    picture,
    store_text,
)
from tests.render import made


def seen(machine: Machine) -> Picture:
    """Return the picture of a machine."""
    return picture(machine, made.layout())


def test_sockets_that_share_a_node_are_one_block() -> None:
    """With one NUMA node over two sockets, both are drawn around it."""
    base = made.topology(made.Shape(nodes=1))
    node = NumaNode(os_index=0, cpuset=base.pus, near=base.pus, memory=1)
    blocks = seen(made.machine(base.model_copy(update={"nodes": (node,)}))).blocks
    assert [block_title(block) for block in blocks] == ["Sockets 0-1"]
    assert [box.nodes for box in blocks[0].boxes] == [(0,)]


def test_cpus_without_a_node() -> None:
    """CPUs that no NUMA node owns are drawn in a box without a number."""
    base = made.topology(made.Shape(nodes=2))
    blocks = seen(made.machine(base.model_copy(update={"nodes": base.nodes[1:]}))).blocks
    assert [box.nodes for box in blocks[0].boxes] == [(1,), ()]


def test_no_package() -> None:
    """A source without sockets still shows its nodes."""
    base = made.topology(made.Shape(sockets=1))
    blocks = seen(made.machine(base.model_copy(update={"packages": ()}))).blocks
    assert [block_title(block) for block in blocks] == ["No socket known"]
    assert base.pus == blocks[0].cpus


def test_l3_over_several_nodes() -> None:
    """An L3 that several nodes share is named once at their socket, and their cores by number alone."""
    base = made.topology(made.Shape(sockets=1, nodes=4, l3=1))
    one = base.l3[0].model_copy(update={"cpuset": base.pus})
    block = seen(made.machine(base.model_copy(update={"l3": (one,)}))).blocks[0]
    assert block_remarks(block) == ("L3 8 MiB shared by nodes 0-3",)
    assert group_label(block.boxes[0].groups[0]) == "4 cores"


def test_uneven_l3_is_not_hidden() -> None:
    """An L3 with fewer cores is a group of its own."""
    base = made.topology(made.Shape(sockets=1, nodes=1, l3=8))
    gone = CpuSet((0,))
    less = base.model_copy(
        update={
            "l3": (base.l3[0].model_copy(update={"cpuset": base.l3[0].cpuset - gone}), *base.l3[1:]),
            "cores": base.cores[1:],
            "packages": (base.packages[0].model_copy(update={"cpuset": base.pus - gone}),),
            "nodes": (base.nodes[0].model_copy(update={"cpuset": base.pus - gone, "near": base.pus - gone}),),
            "pus": base.pus - gone,
        }
    )
    groups = seen(made.machine(less)).blocks[0].boxes[0].groups
    assert [len(group.members) for group in groups] == [1, 7]


def test_overlapping_nodes_draw_no_cpu_twice() -> None:
    """Where memory of two kinds has the same CPUs, plain memory draws them and the other is memory beside it."""
    base = made.topology(made.Shape(sockets=1, nodes=1))
    fast = NumaNode(os_index=1, cpuset=base.pus, near=base.pus, memory=1 << 30, kind="hbm")
    box = (
        seen(made.machine(base.model_copy(update={"nodes": (fast, *base.nodes), "allowed_nodes": CpuSet((0, 1))})))
        .blocks[0]
        .boxes[0]
    )
    assert box.nodes == (0,)
    assert [store_text(store) for store in box.stores] == ["NUMA node 1: 1 GiB HBM, no CPUs, near node 0"]
    assert store_text(box.stores[0], here=True) == "NUMA node 1: 1 GiB HBM, no CPUs"


def test_hybrid_cores() -> None:
    """Cores with two threads and cores with one are told apart."""
    pus = CpuSet.span(0, 3)
    cores = (
        Core(os_index=0, cpuset=CpuSet((0, 1))),
        Core(os_index=1, cpuset=CpuSet((2,))),
        Core(os_index=2, cpuset=CpuSet((3,))),
    )
    box = next(seen(made.machine(Topology(cores=cores, pus=pus, allowed=pus))).boxes())
    assert [member_text(member) for member in box.members()] == ["0-1 (1 core x 2 threads), 2-3 (2 cores x 1 thread)"]


def test_partly_allowed() -> None:
    """CPUs outside the allocation stand in brackets."""
    members = [member_text(member) for box in seen(made.confined()).boxes() for member in box.members()]
    assert members == ["0-3", "4-5 (6-7)", "(8-11)", "(12-15)"]


def test_a_bound_process_is_told() -> None:
    """A process whose affinity is narrower than its cgroup hears of it; one that may run everywhere does not."""
    base = made.machine(made.topology(made.Shape(sockets=1)))
    bound, free = (base.model_copy(update={"limits": Limits(affinity=cpus)}) for cpus in (CpuSet([0]), CpuSet(range(4096))))
    assert seen(bound).notes == ("Bound: this process may run only on CPU 0 (its affinity).",)
    assert seen(free).notes == seen(base).notes == ()


def test_device_of_a_whole_socket() -> None:
    """A device that is local to all nodes of a socket is drawn at the socket."""
    nic = Nic(name="eth0", locality=Locality(numa_nodes=(0, 1, 2, 3)), state="up")
    blocks = seen(made.machine(made.topology(made.Shape()), nics=(nic,))).blocks
    assert [device.names for device in blocks[0].devices] == [("eth0",)]


def test_device_of_no_known_node() -> None:
    """A device whose node is not known is drawn outside the sockets, and says so."""
    nic = Nic(name="eth0", state="up")
    devices = seen(made.machine(made.topology(made.Shape()), nics=(nic,))).devices
    assert [(device.facts, device.remarks) for device in devices] == [(("up",), ("NUMA node ?",))]


def test_a_place_that_could_not_be_told_is_no_guess() -> None:
    """A device without a node has the reason beside it, and no tilde."""
    nic = Nic(name="eth0", locality=Locality(numa_nodes=(), inferred="numa_node is -1"), state="up")
    picture_ = seen(made.machine(made.topology(made.Shape()), nics=(nic,)))
    assert [(device.guessed, device.remarks) for device in picture_.devices] == [(None, ("NUMA node ?: numa_node is -1",))]
    assert guesses(picture_) == ()


def test_guesses_of_one_kind_are_one() -> None:
    """Devices whose places were inferred for different reasons stand together; the legend has every reason."""
    nics = tuple(Nic(name=f"eth{at}", locality=Locality(numa_nodes=(0,), inferred=f"bridge {at}"), state="up") for at in range(2))
    picture_ = seen(made.machine(made.topology(made.Shape()), nics=nics))
    assert next(picture_.boxes()).devices[0].names == ("eth0", "eth1")


def test_virtual_functions_are_one() -> None:
    """Virtual functions stand together under their card, which says how many it has; none of them is called down."""
    real = made.card("0000:c1:00.0", "hca", 0).model_copy(update={"virtual_functions": 3, "max_virtual_functions": 8})
    parts = [made.card(f"0000:c1:00.{at}", "hca", 0).model_copy(update={"is_virtual_function": True}) for at in (1, 2, 3)]
    hcas = [made.hca(f"mlx5_{at}", f"0000:c1:00.{at}", 0, state="down" if at else "active") for at in range(4)]
    card, functions = next(seen(made.machine(made.topology(made.Shape()), pci=(real, *parts), hcas=hcas)).boxes()).devices
    assert card.facts == ("100 Gb/s EDR active", "3 virtual functions")
    assert (functions.names, functions.facts, functions.state) == (("mlx5_1", "mlx5_2", "mlx5_3"), ("virtual (SR-IOV)",), "none")


def test_alike_devices_are_one() -> None:
    """Devices that differ in name alone are drawn together."""
    nics = tuple(Nic(name=f"eth{at}", locality=Locality(numa_nodes=(0,)), state="up") for at in range(3))
    boxes = seen(made.machine(made.topology(made.Shape()), nics=nics)).boxes()
    assert next(boxes).devices[0].names == ("eth0", "eth1", "eth2")


def test_nodes_that_differ_are_not_merged() -> None:
    """A node without memory is not drawn as one of those that have some."""
    base = made.topology(made.Shape(sockets=1, nodes=16, l3=1))
    bare = (base.nodes[0].model_copy(update={"memory": 0}), *base.nodes[1:])
    block = collapsed(seen(made.machine(base.model_copy(update={"nodes": bare})))).blocks[0]
    assert [box.nodes for box in block.boxes] == [(0,), tuple(range(1, 16))]


def test_distance_classes() -> None:
    """Distances are summed up by kind of neighbour."""
    table = seen(made.gpu_memory()).table
    assert table is not None
    assert table.classes == ("10 local", "40 other socket", "80 memory-only node")
