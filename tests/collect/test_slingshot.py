from advisor.machine.hardware import Hca, Locality, Port
from advisor.machine.sources.network import SLINGSHOT_PATHS, collect_slingshot, with_link_layers
from advisor.machine.sources.registry import collect_machine
from tests.collect.device_host import Server, uncovered

CASSINI = {"class": "0x020000", "vendor": "0x17db", "device": "0x0501"}
PLACE = "pci0000:d0/0000:d0:01.1/0000:d5:00.0"


def with_card(*, driver: bool = True, interface: str | None = "hsn2") -> Server:
    """Return a server of two NUMA nodes with a Slingshot adapter near the second."""
    server = Server("0-7", "8-15")
    at = server.plug(PLACE, CASSINI, numa_node=1, driver="cxi_ss1")
    if driver:
        server.files[f"{at}/cxi/cxi2/uevent"] = ""
        server.links |= {"/sys/class/cxi/cxi2": f"{at}/cxi/cxi2", f"{at}/cxi/cxi2/device": at}
    if interface:
        server.net(interface, at, speed="200000", operstate="up")
    return server


def test_an_adapter_has_the_name_that_libfabric_knows() -> None:
    """The driver's class tells cxi2, and where it is."""
    server = with_card()
    host = server.host
    machine = collect_slingshot(host)
    assert machine.hcas == (Hca(name="cxi2", address="0000:d5:00.0", locality=Locality(numa_nodes=(1,)), kind="Slingshot"),)
    assert uncovered(host, SLINGSHOT_PATHS) == []


def test_without_slingshot_nothing_is_said() -> None:
    """A machine without the driver's class keeps what other sources say of its adapters."""
    assert collect_slingshot(Server("0-7").host).hcas is None


def test_adapter_and_interface_are_one() -> None:
    """The card is one adapter with the interface, the rate and the state of its port."""
    machine = collect_machine(with_card().host)
    port = Port(number=1, state="active", rate=200_000_000_000, link_layer="slingshot", netdev="hsn2")
    assert [(hca.name, hca.ports) for hca in machine.hcas or ()] == [("cxi2", (port,))]
    assert [card.kind for card in machine.pci or ()] == ["hca"]


def test_without_the_driver_the_interface_names_it() -> None:
    """Where the class of the driver was not kept, the adapter goes by its interface, at some sites hsi2."""
    machine = collect_machine(with_card(driver=False, interface="hsi2").host)
    assert [(hca.name, hca.locality) for hca in machine.hcas or ()] == [("hsi2", Locality(numa_nodes=(1,)))]


def test_an_adapter_without_interface_is_still_of_its_fabric() -> None:
    """A card whose Ethernet part is off is a Slingshot adapter of which the state is not known."""
    machine = collect_machine(with_card(interface=None).host)
    assert [hca.ports for hca in machine.hcas or ()] == [(Port(number=1, link_layer="slingshot"),)]


def test_doing_it_twice_changes_nothing() -> None:
    """What is told of several sources together is not told again."""
    machine = collect_machine(with_card().host)
    assert with_link_layers(machine) == machine
