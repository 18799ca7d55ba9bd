import pytest

from advisor.model import amounts
from advisor.model.devices import Link


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("16 GiB", amounts.binary(16 << 30)),
        ("38.5 MiB", amounts.binary(38 * (1 << 20) + (1 << 19))),
        ("1 GiB", amounts.binary((1 << 30) - 1)),
        ("0 B", amounts.binary(0)),
        ("?", amounts.binary(None)),
        ("32 GB", amounts.decimal(32_000_000_000)),
        ("2.25 GHz", amounts.clock(2.25e9)),
        ("204.8 GB/s", amounts.throughput(204.8e9)),
        ("100 Gb/s", amounts.bit_rate(100e9)),
        ("2933 MT/s", amounts.memory_clock(2933e6)),
        ("95 ns", amounts.duration(95e-9)),
        ("1 us", amounts.duration(1e-6)),
        ("2 s", amounts.duration(2)),
        ("1 core", amounts.count(1, "core")),
        ("2 cores", amounts.count(2, "core")),
    ],
)
def test_words(expected: str, actual: str) -> None:
    """A number in base units becomes the words a sysadmin uses."""
    assert expected == actual


@pytest.mark.parametrize(
    ("expected", "link"),
    [
        ("PCIe 4.0 x16", Link(speed=16e9, width=16)),
        ("PCIe 1.0 x?", Link(speed=2.5e9)),
        ("PCIe ? x4", Link(width=4)),
        ("PCIe 15.8 GB/s", Link(bandwidth=15_754_000_000)),
        ("PCIe ?", Link()),
        ("PCIe 20 GT/s x16", Link(speed=20e9, width=16)),
        ("PCIe ?", None),
    ],
)
def test_link(expected: str, link: Link | None) -> None:
    """A PCIe link names generation and lanes, or its bandwidth, or that it is not known."""
    assert expected == amounts.link(link)


def test_link_below_the_card() -> None:
    """A link that runs below what the card could do says both."""
    assert amounts.link_state(Link(speed=8e9, width=8), Link(speed=16e9, width=16)) == "PCIe 3.0 x8 of 4.0 x16"
    assert amounts.link_state(Link(speed=16e9, width=8), Link(speed=16e9, width=16)) == "PCIe 4.0 x8 of x16"


def test_unknown_speed_is_not_slow() -> None:
    """A link whose state is not known is not called slow."""
    assert not amounts.slower(Link(), Link(speed=16e9, width=16))


@pytest.mark.parametrize(
    ("expected", "sizes"),
    [
        ("16 GiB", (16 << 30, 16 << 30)),
        ("31.5-32 GiB", (32 << 30, 63 << 29)),
        ("512 MiB - 1 GiB", (1 << 30, 512 << 20)),
        ("?", (1, None)),
        ("?", ()),
    ],
)
def test_span(expected: str, sizes: tuple[int | None, ...]) -> None:
    """Several sizes are said as one, as a range, or as not known."""
    assert expected == amounts.span(sizes)


def test_hostile_text() -> None:
    """What could steer a terminal becomes a question mark, and a text has an end."""
    assert amounts.plain("a\x1b[2J\n b\u202e") == "a?[2J b?"
    assert amounts.plain("x" * 300, 10) == "xxxxxxxxx…"
