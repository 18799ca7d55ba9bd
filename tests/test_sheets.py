from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from advisor.errors import BadSheet
from advisor.machine.value import Value
from advisor.sheets import load_sheet, model_of, parse_sheet, read_sheet


class Inner(Value):
    """A part of a sheet."""

    colour: Literal["red", "green"] = "red"
    size: int = Field(default=1, description="in metres")


class Outer(Value):
    """A sheet."""

    title: str = Field(description="its title")
    parts: tuple[Inner, ...] = ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: on", {"a": "on"}),
        ("a: yes", {"a": "yes"}),
        ("a: true", {"a": True}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 012", {"a": "012"}),
        ("a: 12", {"a": 12}),
        ("a: -1.5e3", {"a": -1500.0}),
        ("a: 1e999", {"a": "1e999"}),
        ("a: 0x1F", {"a": 31}),
        ('a: "12"', {"a": "12"}),
        ("a: 2027-06-30", {"a": "2027-06-30"}),
        ("1: x", {"1": "x"}),
        ("a: {b: [1, x]}", {"a": {"b": [1, "x"]}}),
        ("\ufeffa: 1", {"a": 1}),
        ("- a\n- b", ["a", "b"]),
        ("", {}),
        ("# nothing", {}),
        ("--- \na: 1\n...\n", {"a": 1}),
    ],
)
def test_words_are_read_as_yaml_1_2_has_them(text: str, expected: Any) -> None:
    """Only true and false are truth values; numbers look like numbers; what is quoted is a text."""
    assert parse_sheet(text, "x").data == expected


def test_every_value_has_its_line() -> None:
    """A value's line is that of its key; of what is not there, that of what would hold it."""
    sheet = parse_sheet("a:\n  b: 1\n  c:\n    - x\n    - y\n", "x")
    places = ((), ("a",), ("a", "b"), ("a", "c", 1), ("a", "c", 9), ("z",))
    assert [sheet.line(place) for place in places] == [1, 1, 2, 5, 3, 1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("parts: []", "x: line 1: title is missing; its title"),
        ("title: a\nparst: []", "x: line 2: parst is not a key of this sheet; did you mean parts?"),
        ("title: a\nparts:\n- color: red", "x: line 3: color is not a key of this sheet; did you mean colour?"),
        ("title: a\nparts:\n- title: b", "x: line 3: title is not a key of this sheet; did you mean title?"),
        ("title: a\nparts:\n- weight: b", "x: line 3: weight is not a key of this sheet; available: colour, size"),
        ("title: a\nparts:\n- colour: gren", "x: line 3: colour: gren is not one of red, green; did you mean green?"),
        ("title: a\nparts:\n- size: [1]", "x: line 3: size: a list is not a whole number; in metres"),
        ("title: a\nparts: {size: 1}", "x: line 2: parts: a mapping is not a list; write [one, another]"),
        ("title: a\nparts:\n- red", "x: line 3: parts, entry 1: red is not a mapping of names to values"),
        ("title: []", "x: line 1: title: a list is not text; its title"),
        ("just words", "x: line 1: sheet: just words is not a mapping of names to values; its keys are title, parts"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_line_and_the_right_word(text: str, says: str) -> None:
    """A value that does not fit the model is named with line and cure."""
    with pytest.raises(BadSheet) as error:
        model_of(parse_sheet(text, "x"), Outer)
    assert str(error.value) == says


def test_a_file_becomes_a_model(tmp_path: Path) -> None:
    """A file is read into the model of its kind."""
    (tmp_path / "a.yaml").write_text("title: a\nparts: [{size: 3}]\n")
    assert load_sheet(tmp_path / "a.yaml", Outer) == Outer(title="a", parts=(Inner(size=3),))


def test_a_name_that_is_none_is_refused() -> None:
    """A path with a null byte in it is refused in one line."""
    with pytest.raises(BadSheet, match="not a file name"):
        read_sheet(Path("a\0b"))


PIECES = [*"{}[]:-|>\"'\n\t#?,é\x00", "a: 1", "- x", "&a", "*a", "!t", "  ", "---", "%YAML 1.1"]


@given(st.one_of(st.text(max_size=100), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Arbitrary text raises nothing but BadSheet, which names the file."""
    with suppress(BadSheet):
        parse_sheet(text, "x")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Arbitrary bytes in a file raise nothing but BadSheet."""
    with suppress(BadSheet):
        parse_sheet(data.decode("utf-8", errors="surrogateescape"), "x")
