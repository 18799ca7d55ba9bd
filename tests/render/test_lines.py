"""Blocks of styled text at every width, also those that hold no word."""

import string

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from advisor.show.lines import labelled, text_of, width_of, wrapped

LETTERS = st.text(string.ascii_letters + string.digits + ",- \u4e2d\u00e9", max_size=60)


def letters_of(text: str) -> str:
    """Return a text without its blanks."""
    return text.replace(" ", "")


@given(st.lists(LETTERS, max_size=5), st.integers(-5, 60), st.integers(0, 40))
def test_wrapping_loses_nothing(texts: list[str], width: int, indent: int) -> None:
    """Wrapping ends at every width, also a negative one, and loses no letter."""
    lines = wrapped([(text, "") for text in texts], width, indent)
    assert letters_of("".join(texts)) == letters_of("".join(text_of(line) for line in lines))


@given(st.lists(LETTERS, max_size=5), st.integers(2, 60), st.integers(0, 40))
def test_wrapped_lines_fit(texts: list[str], width: int, indent: int) -> None:
    """No line is wider than it may be."""
    assert [line for line in wrapped([(text, "") for text in texts], width, indent) if width_of(line) > width] == []


def test_wide_letter() -> None:
    """A letter of two cells is printed also where a line has one."""
    assert [text_of(line) for line in wrapped([("\u4e2d", "")], 1)] == ["\u4e2d"]


def test_wide_label() -> None:
    """A label that is wider than the line leaves the text room."""
    assert [text_of(line).strip() for line in labelled("Where", [("BIOS", "")], 9, room=12)] == ["Where", "BIOS"]


def test_full_line() -> None:
    """A line is filled to its last cell."""
    assert max(cell_len(text_of(line)) for line in wrapped([("aaaaa bbbb cc", "")], 10)) == 10
