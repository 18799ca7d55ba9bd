from advisor.advice.judge.case import Standing, case_of, with_standings
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, Dimm, Hca, IdleState, Irq, Locality, Memory, PciDevice, Port, SocketMemory
from advisor.machine.machine import Kernel, Limits, Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.topology import Topology
from tests.model.shapes import shape

TWO = Machine(topology=shape(2, 4, 8, 32, threads=2))


def test_sockets_nodes_and_groups_count_their_cores() -> None:
    """Each part of the machine knows how much of it there is, and the socket it is in."""
    case = case_of(TWO, infer_layout(TWO), None)
    assert [(s.index, s.cores, s.nodes, s.l3, len(s.cpus or ())) for s in case.sockets or ()] == [
        (0, 32, 4, 8, 64),
        (1, 32, 4, 8, 64),
    ]
    assert [(n.index, n.cores, n.socket) for n in case.nodes or ()] == [(i, 8, i // 4) for i in range(8)]
    assert [(g.index, g.cores, g.nodes, g.socket) for g in case.groups or ()] == [(i, 4, 1, i // 8) for i in range(16)]
    assert case.shape
    assert (case.shape.cores, case.shape.threads, case.shape.cpus, case.shape.cores_per_socket) == (64, 2, 128, 32)


def test_what_nobody_looked_for_is_not_known() -> None:
    """Without a topology there are no sockets, not none; the same of adapters and of what the firmware lists."""
    case = case_of(Machine(), None, None)
    parts = (case.sockets, case.nodes, case.groups, case.shape, case.layout, case.adapters, case.accelerators, case.firmware_cpus)
    assert parts == (None,) * 8
    assert case_of(Machine(topology=Topology()), None, None).sockets is None


def test_groups_know_what_this_process_may_use() -> None:
    """A group's allowed CPUs are those of cgroup and affinity."""
    case = case_of(TWO.model_copy(update={"limits": Limits(affinity=CpuSet([0, 1]))}), None, None)
    assert [len(group.allowed or ()) for group in case.groups or ()] == [2] + [0] * 15


def test_hugepages_are_summed_by_node() -> None:
    """No hugepages are zero bytes; a kernel that was not asked leaves them unknown."""
    assert {node.hugepages for node in case_of(TWO, None, None).nodes or ()} == {None}
    empty = TWO.model_copy(update={"kernel": Kernel(hugepages=())})
    assert {node.hugepages for node in case_of(empty, None, None).nodes or ()} == {0}


def test_adapters_are_joined_with_their_cards() -> None:
    """An HCA has its PCI device's facts, its sockets, its rate, and the interrupts that only go elsewhere."""
    place = Locality(numa_nodes=(5,))
    irqs = (Irq(number=1, cpus=CpuSet([0])), Irq(number=2, cpus=CpuSet([40])))
    ports = (Port(number=1, state="active", rate=10**11), Port(number=2, state="down", rate=10**10))
    hca = Hca(name="mlx5_0", address="0000:c1:00.0", locality=place, irqs=irqs, ports=ports)
    card = PciDevice(address="0000:c1:00.0", kind="hca", class_code=0x020700, vendor=0x15B3, device=0x101B, driver="mlx5_core")
    (adapter,) = case_of(TWO.model_copy(update={"hcas": (hca,), "pci": (card,)}), None, None).adapters or ()
    assert (adapter.bus, adapter.device_id, adapter.driver) == (0xC1, 0x15B3101B, "mlx5_core")
    assert (adapter.sockets, adapter.rate, adapter.irqs, adapter.irqs_far, adapter.placed) == ((1,), 10**11, 2, 1, True)


def test_an_adapter_on_one_of_several_nodes_is_on_none_that_is_known() -> None:
    """Its socket is certain; neither it nor any node says that they belong together."""
    hca = Hca(name="mlx5_0", locality=Locality(numa_nodes=(4, 5, 6, 7), inferred="assumed", one_of=True))
    case = case_of(TWO.model_copy(update={"hcas": (hca,)}), None, None)
    (adapter,) = case.adapters or ()
    assert (adapter.nodes, adapter.placed, adapter.inferred, adapter.sockets) == (None, None, None, (1,))
    assert {node.adapters for node in case.nodes or ()} == {None}


def test_a_port_of_unknown_state_leaves_the_rate_unknown() -> None:
    """What may be active is not left out of the sum."""
    hca = Hca(name="mlx5_0", ports=(Port(number=1, state="active", rate=1), Port(number=2, rate=1)))
    assert [each.rate for each in case_of(Machine(hcas=(hca,)), None, None).adapters or ()] == [None]


def test_standings_are_laid_on_a_case() -> None:
    """A case with its settings is the case, and they."""
    standing = Standing(name="numa.nps", title="NPS", value="4")
    case = case_of(TWO, None, None)
    assert with_standings(case, [standing]) == case.model_copy(update={"standings": (standing,)})


def test_cpus_with_no_idle_state_but_poll_are_spinning() -> None:
    """A CPU spins where every state but POLL is switched off on it; one that keeps C1 does not."""
    states = (
        IdleState(name="POLL", latency=0, disabled=CpuSet()),
        IdleState(name="C1", latency=2, disabled=CpuSet([0, 1, 2])),
        IdleState(name="C6", latency=133, disabled=CpuSet([1, 2, 3])),
    )
    case = case_of(TWO.model_copy(update={"cpu": Cpu(idle_states=states)}), None, None)
    assert case.shape
    assert case.shape.spinning == CpuSet([1, 2])
    unread = case_of(
        TWO.model_copy(update={"cpu": Cpu(idle_states=(IdleState(name="C1", latency=2, disabled=None),))}), None, None
    )
    assert unread.shape
    assert unread.shape.spinning is None


def test_a_socket_has_its_own_modules() -> None:
    """Those that the firmware lists at its position; of nobody's where it counts other sockets than the kernel."""
    dimms = tuple(Dimm(locator=f"A{at}", socket=at % 2, channel=at // 2, size=16 << 30, rated=3.2e9) for at in range(8))
    memory = Memory(dimms=dimms, sockets=tuple(SocketMemory(socket=at, dimms=4, slots=4, size=64 << 30) for at in (0, 1)))
    case = case_of(TWO.model_copy(update={"memory": memory}), None, None)
    assert [(socket.sizes, socket.per_channel) for socket in case.sockets or ()] == [((16 << 30,), (1,))] * 2
    other = memory.model_copy(update={"sockets": (*(memory.sockets or ()), SocketMemory(socket=2, dimms=0, slots=4, size=0))})
    case = case_of(TWO.model_copy(update={"memory": other}), None, None)
    assert [socket.sizes for socket in case.sockets or ()] == [None] * 2
