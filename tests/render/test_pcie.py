import pytest

from advisor.machine.hardware import Link, PciDevice
from advisor.show.picture import held_back, hindrance, link_words
from tests.render import made

GEN3, GEN4, HALF = Link(speed=8e9, width=16), Link(speed=16e9, width=16), Link(speed=16e9, width=8)
SLOW = Link(speed=2.5e9, width=16)


def card(**known: object) -> PciDevice:
    """Return a card of PCIe 4 with 16 lanes."""
    return made.card("0000:41:00.0", "hca", 0).model_copy(update={"card": GEN4, **known})


@pytest.mark.parametrize(
    ("kind", "known", "words", "what", "held"),
    [
        ("hca", {"link": GEN4, "path": GEN4}, "PCIe 4.0 x16", "", False),
        (
            "hca",
            {"link": HALF, "path": HALF, "bottleneck": "0000:40:01.1"},
            "PCIe 4.0 x8 of x16",
            "narrowed at 0000:40:01.1",
            True,
        ),
        (
            "hca",
            {"link": GEN4, "path": HALF, "bottleneck": "0000:40:01.1"},
            "PCIe 4.0 x16",
            "narrowed to 4.0 x8 at 0000:40:01.1",
            True,
        ),
        ("hca", {"link": GEN3, "path": GEN4}, "PCIe 3.0 x16 of 4.0 x16", "its slot is faster", True),
        ("hca", {"link": HALF, "path": None}, "PCIe 4.0 x8 of x16", "", True),
        ("gpu", {"link": SLOW, "path": GEN4}, "PCIe 4.0 x16", "at 1.0 now (idle?)", False),
        ("gpu", {"link": HALF, "path": GEN4}, "PCIe 4.0 x8 of x16", "its slot is faster", True),
        ("gpu", {"link": Link(bandwidth=15_754_000_000), "path": None}, "PCIe 15.8 GB/s", "", False),
        ("nic", {"link": None}, "", "", False),
        ("hca", {"link": None}, "PCIe ?", "", False),
    ],
)
def test_words(kind: str, known: dict[str, object], words: str, what: str, *, held: bool) -> None:
    """A link says how it runs, what the card could do, and what holds it back; a resting GPU is not held back."""
    device = card(**known)
    assert (link_words(kind, device), hindrance(kind, device), held_back(kind, device)) == (words, what, held)


def test_no_card() -> None:
    """A device without PCI says nothing of a link."""
    assert (link_words("hca", None), hindrance("hca", None), held_back("hca", None)) == ("", "", False)
