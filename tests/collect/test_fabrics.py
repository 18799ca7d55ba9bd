"""Link layers, as the driver, the LID, the card's class or the name tell them."""

import pytest

from advisor.machine.hardware import Hca, PciDevice, Port
from advisor.machine.machine import Machine
from advisor.machine.sources.network import with_link_layers

AT = "0000:21:00.0"


def layer(
    name: str = "mlx5_0", *, lid: int | None = None, told: str | None = None, code: int = 0, vendor: int = 0x15B3
) -> str | None:
    """Return the link layer of an adapter's only port."""
    card = PciDevice(address=AT, kind="hca", class_code=code, vendor=vendor, device=0x101B)
    hca = Hca(name=name, address=AT, ports=(Port(number=1, state="active", lid=lid, link_layer=told),))
    (found,) = with_link_layers(Machine(hcas=(hca,), nics=(), pci=(card,) if code else ())).hcas or ()
    return found.ports[0].link_layer if found.ports else None


@pytest.mark.parametrize(
    ("lid", "code", "expected"),
    [
        (26, 0x020700, "infiniband"),
        (0xFFFF, 0x020700, "infiniband"),
        (0, 0x020700, "infiniband"),
        (0, 0x020000, "ethernet"),
        (None, 0x020000, "ethernet"),
        (26, 0, "infiniband"),
        (0xFFFF, 0, "infiniband"),
        (0, 0, None),
        (0xC001, 0, None),
    ],
)
def test_a_file_of_hwloc_tells_the_layer_by_lid_and_class(lid: int | None, code: int, expected: str | None) -> None:
    """An Ethernet port has LID 0 on a card of class 0200; a multicast LID is no port's; nothing known stays nothing known."""
    assert layer(lid=lid, code=code) == expected


def test_what_the_driver_says_goes_before() -> None:
    """A card of InfiniBand's class with a port set to Ethernet has an Ethernet port."""
    assert layer(told="ethernet", lid=0, code=0x020700) == "ethernet"


def test_azures_names_tell() -> None:
    """mlx5_an0 is Accelerated Networking, mlx5_ib0 the InfiniBand beside it."""
    assert (layer("mlx5_an0", lid=0), layer("mlx5_ib0", lid=0)) == ("ethernet", "infiniband")


def test_omni_path_is_not_infiniband() -> None:
    """hfi1 calls its link layer InfiniBand; the name, or the card 8086:24f0, tells otherwise."""
    assert layer("hfi1_0", told="infiniband", lid=2030) == "omni-path"
    assert layer("ibp131s0", told="infiniband", lid=2030, code=0x020800, vendor=0x8086) == "omni-path"


def test_truescale_is_infiniband() -> None:
    """Qib adapters, from before Omni-Path, are InfiniBand."""
    assert layer("qib0", lid=298, code=0x0C0600, vendor=0x1077) == "infiniband"
