import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Link
from advisor.machine.sources.pci import (
    Edge,
    address_of,
    addresses,
    edges,
    hierarchy,
    link,
    narrowest,
    root_bus,
    speed,
    width,
)


@pytest.mark.parametrize(
    ("text", "transfers"),
    [
        ("16.0 GT/s PCIe", 16e9),
        ("8 GT/s", 8e9),
        ("2.5 GT/s", 2.5e9),
        ("64.0 GT/s PCIe\n", 64e9),
        ("Unknown", None),
        ("Unknown speed", None),
        ("133 MHz PCI-X", None),
        ("0 GT/s", None),
        ("", None),
        (None, None),
    ],
)
def test_speed(text: str | None, transfers: float | None) -> None:
    """The kernel's several ways to write a link's speed give transfers a second."""
    assert speed(text) == transfers


@pytest.mark.parametrize(("lanes", "known"), [(16, 16), (1, 1), (0, None), (63, None), (255, None), (-1, None), (None, None)])
def test_width(lanes: int | None, known: int | None) -> None:
    """A width that no link has stands for a register without meaning."""
    assert width(lanes) == known


@pytest.mark.parametrize(
    ("transfers", "lanes", "bandwidth"),
    [
        (2.5e9, 1, 250_000_000),
        (5e9, 8, 4_000_000_000),
        (8e9, 16, 15_753_846_154),
        (16e9, 16, 31_507_692_308),
        (32e9, 16, 63_015_384_615),
        (64e9, 16, 121_000_000_000),
        (7e9, 16, None),
    ],
)
def test_bandwidth(transfers: float, lanes: int, bandwidth: int | None) -> None:
    """A link's bandwidth is what is left after its generation's line coding."""
    assert link(transfers, lanes) == Link(speed=transfers, width=lanes, bandwidth=bandwidth)


def test_link_unknown() -> None:
    """A link of which nothing is known is none."""
    assert link(None, None) is None


@given(st.text(), st.integers())
def test_hostile_texts(text: str, lanes: int) -> None:
    """No text and no number makes the parsers fail."""
    found = link(speed(text), width(lanes))
    assert found is None or found.width in (None, 1, 2, 4, 8, 12, 16, 32)


def test_addresses() -> None:
    """A path's addresses come from the root's side, the device's own is the last one."""
    path = "/sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0/net/ib0"
    assert (addresses(path), address_of(path), root_bus(path)) == (("0000:60:01.1", "0000:61:00.0"), "0000:61:00.0", "pci0000:60")


def test_no_address() -> None:
    """A soft device has no PCI address, and no root bus."""
    path = "/sys/devices/virtual/infiniband/rxe0"
    assert (addresses(path), address_of(path), root_bus(path)) == ((), None, None)


def test_vmd_hierarchy() -> None:
    """Behind a VMD device a new hierarchy begins, in a domain of more than 16 bits."""
    path = "/sys/devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0"
    assert hierarchy(path) == ("10000:00:02.0", "10000:01:00.0")


@pytest.mark.parametrize(
    ("ports", "pairs"),
    [
        ((), ()),
        (("card",), ()),
        (("root", "card"), (("root", "card"),)),
        (("root", "up", "down", "card"), (("root", "up"), ("down", "card"))),
        (("root", "bridge", "card"), (("root", "bridge"), ("bridge", "card"))),
    ],
)
def test_edges(ports: tuple[str, ...], pairs: tuple[tuple[str, str], ...]) -> None:
    """Links join root and switch, switch and card, but not the two sides of one switch."""
    assert edges(ports) == pairs


G5, G4, G3 = link(32e9, 16), link(16e9, 16), link(8e9, 16)


@pytest.mark.parametrize(
    ("path", "way", "port"),
    [
        ([Edge("root", G4, G4)], G4, None),
        ([Edge("root", G4, G5)], G4, "root"),
        ([Edge("root", G5, G4)], G4, None),
        ([Edge("root", G5, G4), Edge("switch", G5, G5)], G4, "root"),
        ([Edge("root", G5, G5), Edge("switch", G4, G5)], G4, "switch"),
        ([Edge("root", G4, G4), Edge("switch", G4, G5)], G4, "root"),
        ([Edge("root", G3, G4), Edge("switch", G4, G3)], G3, None),
        ([Edge("root", link(16e9, 8), G4)], link(16e9, 8), "root"),
        ([Edge("root", None, G4)], None, None),
        ([Edge("root", link(16e9, None), G4)], None, None),
        ([Edge("root", G4, G4), Edge("switch", G4, None)], None, None),
        ([], None, None),
    ],
)
def test_narrowest(path: list[Edge], way: Link | None, port: str | None) -> None:
    """The narrowest link names the port above it where the card could do more; one unknown end leaves the path unknown."""
    assert narrowest(path) == (way, port)


def test_switch_is_no_link() -> None:
    """A Gen4 x16 uplink and a Gen5 x8 slot carry the same, so neither makes a Gen4 x8 of the path."""
    path = [Edge("root", G5, G4), Edge("switch", link(32e9, 8), link(32e9, 8))]
    assert narrowest(path) == (G4, None)
