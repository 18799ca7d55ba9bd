from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from advisor.errors import BadValue
from advisor.machine.value import UNITS, Amount, Quantity, quantity
from advisor.measure.platform import Transfers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("244 GB/s", Quantity(244e9, "bytes/s")),
        ("12061 MB/s", Quantity(12.061e9, "bytes/s")),
        ("100 Gb/s", Quantity(12.5e9, "bytes/s")),
        ("3200 MT/s", Quantity(3.2e9, "transfers/s")),
        ("2.2 GHz", Quantity(2.2e9, "hertz")),
        ("1126 GFLOP/s", Quantity(1.126e12, "flop/s")),
        ("5.7 TFLOP/s", Quantity(5.7e12, "flop/s")),
        ("1.07 us", Quantity(1.07e-6, "seconds")),
        ("150 Mmsg/s", Quantity(150e6, "messages/s")),
        ("96 MiB", Quantity(96 * 2**20, "bytes")),
        ("96 MB", Quantity(96e6, "bytes")),
        ("100.6 %", Quantity(1.006, "ratio")),
        ("  13%", Quantity(0.13, "ratio")),
    ],
)
def test_a_quantity_is_read_into_its_base_unit(text: str, expected: Quantity) -> None:
    """Decimal prefixes, bits as eighths of bytes, percents as shares."""
    assert expected == quantity(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("270..300 GB/s", (270e9, 300e9)),
        ("2.. GB/s", (2e9, None)),
        ("665.5.. GB/s", (665.5e9, None)),
        ("..2 us", (None, 2e-6)),
        ("244 GB/s", (244e9, 244e9)),
    ],
)
def test_a_range_may_be_open_at_one_end(text: str, expected: tuple[float | None, float | None]) -> None:
    """A missing end is not known, and not zero."""
    amount = Amount.model_validate(text)
    assert expected == (amount.low, amount.high)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("244 GBps", "unknown unit 'GBps'; did you mean GB/s?"),
        ("5 gb/s", "unknown unit 'gb/s'; did you mean GB/s or Gb/s?"),
        ("5 furlongs", "unknown unit 'furlongs'; write GB/s, MT/s, GHz, GFLOP/s, us, Mmsg/s, MiB or %"),
        ("244", "'244' is not a quantity; write 244 GB/s, or 270..300 GB/s for a range"),
        ("..GB/s", "'..GB/s' is not a quantity; write 244 GB/s, or 270..300 GB/s for a range"),
        ("-3 GB/s", "'-3 GB/s' is not a quantity; write 244 GB/s, or 270..300 GB/s for a range"),
        ("1..2 MT/s", "'1..2 MT/s' is a range; a single number is expected here"),
    ],
)
def test_what_is_no_quantity_is_refused_in_one_line(text: str, expected: str) -> None:
    """The error says the bad thing and the good one."""
    with pytest.raises(BadValue) as caught:
        quantity(text)
    assert expected == str(caught.value)


def test_a_range_that_runs_backwards_is_refused() -> None:
    """The lower end stands first."""
    with pytest.raises(ValidationError, match="lower end of a range first"):
        Amount.model_validate("300..270 GB/s")


def test_a_field_refuses_a_quantity_of_another_kind() -> None:
    """A memory speed is not a bandwidth."""

    class Speed(BaseModel):
        speed: Transfers

    with pytest.raises(ValidationError, match="counts bytes/s; transfers/s are expected"):
        Speed.model_validate({"speed": "3200 MB/s"})


def test_an_amount_is_read_back_as_it_was_dumped() -> None:
    """Its JSON is its base units, not the text of the sheet."""
    amount = Amount.model_validate("2.. GB/s")
    assert amount == Amount.model_validate_json(amount.model_dump_json())


@given(st.text(max_size=40) | st.from_regex(r"[0-9.]{0,6} ?[kMGT]?(B/s|b/s|Hz|s)", fullmatch=True))
def test_any_text_is_a_quantity_or_a_bad_value(text: str) -> None:
    """Nothing else comes out of the reader."""
    with suppress(BadValue):
        assert quantity(text).unit in {unit for _, unit in UNITS.values()}
