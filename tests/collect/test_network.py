import pytest

from advisor.machine.hardware import Locality, Nic
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Gap
from advisor.machine.sources.network import NETWORK_PATHS, bits, card_of, collect_network, state
from tests.collect.device_host import BRIDGE, CONNECTX, ETHERNET, Server, uncovered

CARD = "pci0000:60/0000:60:01.1/0000:61:00.0"


def test_nic() -> None:
    """An interface tells its card, its place, its speed and its state."""
    server = Server("0-7", "8-15")
    server.net("eth0", server.plug(CARD, ETHERNET, numa_node=1), speed="25000", operstate="up", mtu="9000")
    server.net("lo", "/sys/devices/virtual", operstate="unknown")
    nic = Nic(name="eth0", address="0000:61:00.0", locality=Locality(numa_nodes=(1,)), speed=25_000_000_000, state="up", mtu=9000)
    assert collect_network(server.host).nics == (nic,)


def test_virtio() -> None:
    """An interface of a virtio device is its PCI device's, and its place is inferred in a machine of one node."""
    server = Server("0-1")
    server.net("ens3", f"{server.plug('pci0000:00/0000:00:03.0', ETHERNET)}/virtio0", speed="-1", operstate="up")
    place = Locality(numa_nodes=(0,), inferred="numa_node is -1; node 0 is the only node")
    assert collect_network(server.host).nics == (Nic(name="ens3", address="0000:00:03.0", locality=place, state="up", mtu=1500),)


def test_down() -> None:
    """An interface that is down refuses to tell its speed."""
    server = Server("0-7")
    card = server.plug(CARD, ETHERNET, numa_node=0)
    server.net("eth0", card, operstate="down")
    server.files[f"{card}/net/eth0/speed"] = Why.FAILED
    nic = Nic(name="eth0", address="0000:61:00.0", locality=Locality(numa_nodes=(0,)), state="down", mtu=1500)
    assert collect_network(server.host).nics == (nic,)


def test_not_pci() -> None:
    """An interface of a platform or of a hypervisor's bus has a place but no PCI address."""
    server = Server("0-7", "8-15")
    device = "/sys/devices/LNXSYSTM:00/VMBUS:01/f8615163"
    server.net("eth0", device)
    server.files[f"{device}/numa_node"] = "1"
    assert collect_network(server.host).nics == (Nic(name="eth0", locality=Locality(numa_nodes=(1,)), mtu=1500),)


def test_link_lost() -> None:
    """A tree that lost the device link still tells the card by the interface's own place."""
    server = Server("0-7")
    card = server.plug(CARD, CONNECTX, numa_node=0)
    server.net("ib0", card)
    del server.links[f"{card}/net/ib0/device"]
    assert [nic.address for nic in collect_network(server.host).nics or ()] == ["0000:61:00.0"]


@pytest.mark.parametrize(
    ("place", "card"),
    [
        ("/sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0", "0000:61:00.0"),
        ("/sys/devices/pci0000:00/0000:00:03.0/virtio2", "0000:00:03.0"),
        ("/sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0/mlx5_core.sf.4", "0000:61:00.0"),
        ("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0", None),
        ("/sys/devices/platform/soc/fe1.ethernet", None),
    ],
)
def test_card_of(place: str, card: str | None) -> None:
    """A card or a part of it is named, a USB controller is not the interface's card."""
    assert card_of(place) == card


@pytest.mark.parametrize(("megabits", "expected"), [(100_000, 10**11), (-1, None), (0, None), (0xFFFFFFFF, None), (None, None)])
def test_bits(megabits: int | None, expected: int | None) -> None:
    """The several ways to say that there is no speed mean not known."""
    assert bits(megabits) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("up", "up"), ("dormant", "dormant"), ("unknown", None), ("", None), (None, None)]
)
def test_state(text: str, expected: str | None) -> None:
    """A driver that does not say whether a link is up leaves it unknown."""
    assert state(text) == expected


def test_none() -> None:
    """A host with nothing but a loopback interface has no network card."""
    server = Server("0-7")
    server.net("lo", "/sys/devices/virtual")
    assert collect_network(server.host).nics == ()


def test_unseen() -> None:
    """An input without networks says that they were not kept."""
    gap = Gap(fact="nics", why="not in this input", help="take a capture on the machine itself: advisor capture")
    machine = collect_network(Server(kind="hwloc xml").host)
    assert (machine.nics, machine.gaps) == (None, (gap,))


def test_paths() -> None:
    """A capture keeps every file that the source reads."""
    server = Server("0-7", "8-15")
    server.plug("pci0000:60/0000:60:01.1", BRIDGE)
    server.net("eth0", server.plug(CARD, ETHERNET))
    server.net("eth1", "/sys/devices/platform/ethernet")
    host = server.host
    collect_network(host)
    assert uncovered(host, NETWORK_PATHS) == []
