import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Hca, Irq, Locality, Port
from advisor.machine.machine import Gap
from advisor.machine.sources.network import INFINIBAND_PATHS, collect_infiniband, rate, word
from tests.collect.device_host import CONNECTX, ETHERNET, Server, uncovered

CARD = "pci0000:60/0000:60:01.1/0000:61:00.0"
UP = {
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "rate": "100 Gb/sec (4X EDR)",
    "link_layer": "InfiniBand",
    "lid": "0x1a",
}
DOWN = {
    "state": "1: DOWN",
    "phys_state": "3: Disabled",
    "rate": "10 Gb/sec (4X SDR)",
    "link_layer": "InfiniBand",
    "lid": "0xffff",
}
ROCE = UP | {"link_layer": "Ethernet", "lid": "0x0", "gid_attrs/ndevs/0": "eth0\n", "gid_attrs/ndevs/1": "eth0\n"}
NODES = ("0-7", "8-15")


def only(server: Server) -> Hca:
    """Return the one adapter."""
    hcas = collect_infiniband(server.host).hcas
    assert hcas is not None
    assert len(hcas) == 1
    return hcas[0]


def test_hca() -> None:
    """An adapter tells its card, its place, its firmware and its ports."""
    server = Server(*NODES)
    card = server.plug(CARD, CONNECTX, numa_node=1)
    server.hca("mlx5_0", card, {1: UP}, fw_ver="20.39.3560", hca_type="MT4123", board_id="MT_0000000223\n", node_guid="0c42:a103")
    server.net("ib0", card, dev_port="0")
    port = Port(
        number=1,
        state="active",
        physical="linkup",
        rate=100_000_000_000,
        rate_name="4X EDR",
        link_layer="infiniband",
        netdev="ib0",
        lid=26,
    )
    assert only(server) == Hca(
        name="mlx5_0",
        address="0000:61:00.0",
        locality=Locality(numa_nodes=(1,)),
        firmware="20.39.3560",
        board_id="MT_0000000223",
        kind="MT4123",
        ports=(port,),
    )


def test_port_down() -> None:
    """A port that is down is said to be, with the rate the driver still tells."""
    server = Server(*NODES)
    server.hca("mlx5_0", server.plug(CARD, CONNECTX), {1: DOWN})
    port = Port(
        number=1,
        state="down",
        physical="disabled",
        rate=10_000_000_000,
        rate_name="4X SDR",
        link_layer="infiniband",
        lid=65535,
    )
    assert only(server).ports == (port,)


def test_two_ports_of_one_card() -> None:
    """Each port of a card has the IPoIB interface with its port's number, and not a child of it."""
    server = Server(*NODES)
    card = server.plug(CARD, CONNECTX)
    server.hca("mlx4_0", card, {1: UP, 2: DOWN})
    server.net("ib0.8001", card, dev_port="0")
    server.net("ib0", card, dev_port="0")
    server.net("ib1", card, dev_id="0x1")
    assert [port.netdev for port in only(server).ports or ()] == ["ib0", "ib1"]


def test_two_functions() -> None:
    """Two functions of one card are two adapters with an interface each."""
    server = Server(*NODES)
    for number in (0, 1):
        card = server.plug(f"pci0000:60/0000:60:01.1/0000:61:00.{number}", CONNECTX)
        server.hca(f"mlx5_{number}", card, {1: UP})
        server.net(f"ib{number}", card)
    hcas = collect_infiniband(server.host).hcas or ()
    assert [(hca.address, hca.ports[0].netdev) for hca in hcas if hca.ports] == [("0000:61:00.0", "ib0"), ("0000:61:00.1", "ib1")]


def test_roce_names_its_interface() -> None:
    """A port of an Ethernet card has the interface that its GIDs name."""
    server = Server(*NODES)
    card = server.plug(CARD, ETHERNET)
    server.hca("mlx5_0", card, {1: ROCE})
    server.net("eth0_rep", card)
    server.net("eth0", card)
    assert [port.netdev for port in only(server).ports or ()] == ["eth0"]


def test_soft_roce() -> None:
    """A soft device has no PCI address and is where its parent's card is."""
    server = Server(*NODES)
    server.net("eth0", server.plug(CARD, ETHERNET, numa_node=1))
    server.hca("rxe0", "/sys/devices/virtual", {1: ROCE}, parent="eth0\n")
    hca = only(server)
    assert (hca.address, hca.locality) == (None, Locality(numa_nodes=(1,), inferred="software device on eth0"))


def test_soft_device_without_parent() -> None:
    """A soft device whose driver names no parent is where its port's interface is, with both reasons."""
    server = Server("0-7")
    server.net("eth0", server.plug(CARD, ETHERNET))
    server.hca("siw0", "/sys/devices/virtual", {1: ROCE})
    reason = "software device on eth0; numa_node is -1; node 0 is the only node"
    assert only(server).locality == Locality(numa_nodes=(0,), inferred=reason)


@pytest.mark.parametrize("parent", ["br0", "../../eth0", "", "."])
def test_soft_device_on_no_card(parent: str) -> None:
    """A soft device on a bridge, or on a name that is none, has no place, and a gap says so."""
    server = Server(*NODES)
    server.net("br0", "/sys/devices/virtual")
    server.hca("rxe0", "/sys/devices/virtual", {}, parent=parent)
    gap = Gap(
        fact="hcas.rxe0.locality",
        why="rxe0 is a software device without a network card",
        help="use a hardware adapter",
    )
    assert (only(server).locality, collect_infiniband(server.host).gaps) == (None, (gap,))


def test_irqs() -> None:
    """An adapter's interrupts come in the order of their numbers, with the CPUs they may arrive at."""
    server = Server(*NODES)
    card = server.plug(CARD, CONNECTX)
    server.hca("mlx5_0", card, {1: UP})
    server.files |= {f"{card}/msi_irqs/{number}": "msix" for number in (100, 99, 98)}
    server.files |= {"/proc/irq/99/smp_affinity_list": "0-15", "/proc/irq/99/effective_affinity_list": "8"}
    server.files |= {"/proc/irq/100/smp_affinity_list": "9", "/proc/irq/98/smp_affinity_list": "nonsense"}
    irqs = (Irq(number=99, cpus=CpuSet.parse("0-15"), effective=CpuSet([8])), Irq(number=100, cpus=CpuSet([9])))
    assert only(server).irqs == irqs


def test_irqs_unknown() -> None:
    """Interrupts whose CPUs cannot be read are not known, rather than none."""
    server = Server(*NODES)
    card = server.plug(CARD, CONNECTX)
    server.hca("mlx5_0", card, {1: UP})
    server.files[f"{card}/msi_irqs/98"] = "msix"
    assert only(server).irqs is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100 Gb/sec (4X EDR)", (100_000_000_000, "4X EDR")),
        ("2.5 Gb/sec", (2_500_000_000, None)),
        ("400 Gb/sec (4X NDR)", (400_000_000_000, "4X NDR")),
        ("fast", (None, None)),
        (None, (None, None)),
    ],
)
def test_rate(text: str | None, expected: tuple[int | None, str | None]) -> None:
    """A rate has bits a second and often a name."""
    assert rate(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("4: ACTIVE", "active"), ("5: LinkUp", "linkup"), ("ACTIVE", None), (None, None)])
def test_word(text: str | None, expected: str | None) -> None:
    """A numbered state gives its word."""
    assert word(text) == expected


def test_none() -> None:
    """A kernel with networks and no RDMA class has no adapter."""
    server = Server(*NODES)
    server.net("lo", "/sys/devices/virtual")
    assert collect_infiniband(server.host).hcas == ()


def test_unseen() -> None:
    """An input without device classes says that they were not kept, even if it has others than networks."""
    server = Server(*NODES, kind="root")
    server.files["/sys/class/dmi/id/sys_vendor"] = "Dell Inc."
    gap = Gap(fact="hcas", why="not in this input", help="take a capture on the machine itself: advisor capture")
    machine = collect_infiniband(server.host)
    assert (machine.hcas, machine.gaps) == (None, (gap,))


def test_guids_stay() -> None:
    """The GUIDs of a lone adapter are not asked for."""
    server = Server(*NODES)
    server.hca(
        "mlx5_0", server.plug(CARD, CONNECTX), {1: UP}, node_guid="0c42:a103:0000:0001", sys_image_guid="0c42:a103:0000:0001"
    )
    host = server.host
    collect_infiniband(host)
    assert [path for path in host.asked if "guid" in path] == []


def test_two_functions_of_one_socket_direct_card_are_known_for_one() -> None:
    """Functions in two slots with one system image GUID are one card; only that they are equal is kept."""
    server = Server(*NODES)
    for name, place, guid in (
        ("mlx5_0", CARD, "0c42:a103:0000:0001"),
        ("mlx5_1", CARD.replace("60", "80").replace("61", "81"), "0c42:a103:0000:0001"),
        ("mlx5_2", CARD.replace("60", "a0").replace("61", "a1"), "0c42:a103:0000:0099"),
        ("mlx5_3", CARD.replace("60", "b0").replace("61", "b1"), "0000:0000:0000:0000"),
    ):
        server.hca(name, server.plug(place, CONNECTX), {1: UP}, sys_image_guid=guid)
    host = server.host
    machine = collect_infiniband(host)
    assert [hca.board for hca in machine.hcas or ()] == [0, 0, 1, None]
    assert "a103" not in machine.model_dump_json()
    assert uncovered(host, INFINIBAND_PATHS) == []


def test_paths() -> None:
    """A capture keeps every file that the source reads."""
    server = Server(*NODES)
    card = server.plug(CARD, ETHERNET)
    server.hca("mlx5_0", card, {1: ROCE, 2: UP})
    server.hca("rxe0", "/sys/devices/virtual", {1: ROCE}, parent="eth0")
    server.net("eth0", card)
    server.files[f"{card}/msi_irqs/98"] = "msix"
    host = server.host
    collect_infiniband(host)
    assert uncovered(host, INFINIBAND_PATHS) == []
