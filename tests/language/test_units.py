import pytest

from advisor.machine import units
from advisor.machine.fact import Unit
from advisor.machine.hardware import Link


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("16 GiB", units.binary(16 << 30)),
        ("38.5 MiB", units.binary(38 * (1 << 20) + (1 << 19))),
        ("1 GiB", units.binary((1 << 30) - 1)),
        ("0 B", units.binary(0)),
        ("?", units.binary(None)),
        ("32 GB", units.decimal(32_000_000_000)),
        ("2.25 GHz", units.clock(2.25e9)),
        ("204.8 GB/s", units.throughput(204.8e9)),
        ("100 Gb/s", units.bit_rate(100e9)),
        ("2933 MT/s", units.memory_clock(2933e6)),
        ("150 Mmsg/s", units.message_rate(150e6)),
        ("16 GT/s", units.lane_speed(16e9)),
        ("1133 GFLOP/s", units.flop_rate(1133e9)),
        ("?", units.flop_rate(None)),
        ("?", units.memory_clock(None)),
        ("?", units.duration(None)),
        ("95 ns", units.duration(95e-9)),
        ("999 ns", units.duration(999e-9)),
        ("1 us", units.duration(1e-6)),
        ("1.5 us", units.duration(1.5e-6)),
        ("20 ms", units.duration(0.02)),
        ("2 s", units.duration(2)),
        ("9.99 GHz", units.clock(9.99e9)),
        ("10 GHz", units.clock(9.996e9)),
        ("1023 B", units.binary(1023)),
        ("1000 PB", units.decimal(10**18)),
        ("1 core", units.count(1, "core")),
        ("2 cores", units.count(2, "core")),
        ("0 cores", units.count(0, "core")),
        ("2 addresses", units.count(2, "address", "addresses")),
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
        ("PCIe 5.0 x?", Link(speed=32e9, bandwidth=1)),
        ("PCIe 15.8 GB/s", Link(bandwidth=15_754_000_000)),
        ("PCIe ?", Link()),
        ("PCIe 20 GT/s x16", Link(speed=20e9, width=16)),
        ("PCIe ?", None),
    ],
)
def test_link(expected: str, link: Link | None) -> None:
    """A PCIe link names generation and lanes, or its bandwidth, or that it is not known."""
    assert expected == units.link(link)


def test_link_below_the_card() -> None:
    """A link that runs below the fastest link that the card supports says both."""
    assert units.link_state(Link(speed=8e9, width=8), Link(speed=16e9, width=16)) == "PCIe 3.0 x8 of 4.0 x16"
    assert units.link_state(Link(speed=16e9, width=8), Link(speed=16e9, width=16)) == "PCIe 4.0 x8 of x16"


def test_unknown_speed_is_not_slow() -> None:
    """A link whose state is not known is not called slow, nor one as fast as the card."""
    card = Link(speed=16e9, width=16)
    assert [units.slower(now, card) for now in (Link(), None, card, Link(speed=32e9, width=16))] == [False] * 4
    assert [units.slower(Link(speed=8e9), card), units.slower(Link(width=8), card), units.slower(card, None)] == [
        True,
        True,
        False,
    ]


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
    assert expected == units.span(sizes)


def test_hostile_text() -> None:
    """What could steer a terminal becomes a question mark, and a text has an end."""
    assert units.plain("a\x1b[2J\n b\u202e") == "a?[2J b?"
    assert (units.plain("x" * 300, 10), units.plain("x" * 10, 10)) == ("xxxxxxxxx…", "x" * 10)


@pytest.mark.parametrize(
    ("expected", "number", "unit"),
    [
        ("16 GiB", 16 << 30, Unit("bytes")),
        ("12 W", 12, Unit("watts")),
        ("12 drums", 12, Unit("drums")),
        ("unlimited", -1, Unit("bytes", unlimited=True)),
        ("0 B", 0, Unit("bytes", unlimited=True)),
    ],
)
def test_a_number_in_its_declared_unit(expected: str, number: float, unit: Unit) -> None:
    """Scaled where its unit is, else with the unit's own name; a limit of -1 is none, and 0 is one."""
    assert units.in_unit(number, unit) == expected
