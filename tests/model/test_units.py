import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.fact import Unit
from advisor.machine.units import in_unit
from advisor.machine.value import iso_date, number, size


@pytest.mark.parametrize(
    ("text", "expected"), [("32K", 32768), ("16384 kB", 1 << 24), ("8 GB", 8 << 30), ("5", 5), ("x", None), ("", None)]
)
def test_size(text: str, expected: int | None) -> None:
    """Sizes of the kernel are powers of two; what is no size is not known."""
    assert size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("12\n", 12), ("-1", -1), ("0x1f", 31), ("1.5", None), ("", None), (None, None), ("٣", None)]
)
def test_number(text: str | None, expected: int | None) -> None:
    """Whole numbers are read in decimal and hexadecimal; what is none is not known."""
    assert number(text) == expected


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_none(text: str) -> None:
    """No text makes the readers fail."""
    assert [type(value).__name__ in ("int", "str", "NoneType") for value in (number(text), size(text), iso_date(text))] == [
        True
    ] * 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [("01/31/2024", "2024-01-31"), ("12/01/99", "1999-12-01"), ("31/01/2024", None), ("2024-01-31", None), (None, None)],
)
def test_date(text: str | None, expected: str | None) -> None:
    """SMBIOS writes month/day/year; what is no date is not known."""
    assert iso_date(text) == expected


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, Unit("bytes", unlimited=True), "0 B"),
        (-1, Unit("bytes", unlimited=True), "unlimited"),
        (-5.5, Unit("degrees Celsius"), "-5.5 °C"),
        (4096, Unit("bytes of a packet"), "4096 B"),
        (8e9, Unit("transfers/s of a lane"), "8 GT/s"),
        (0x15B3, Unit("PCI ID"), "0x15b3"),
        (0x020700, Unit("PCI class"), "0x020700"),
        (250.0, Unit("watts"), "250 W"),
        (12, Unit("number"), "12"),
        (1.5, Unit("turns/s"), "1.5 turns/s"),
    ],
)
def test_facts_are_written_in_their_declared_unit(value: float, unit: Unit, text: str) -> None:
    """Scaled where people scale it; with the unit's own name where nothing else is said; no limit only where -1 means that."""
    assert in_unit(value, unit) == text
