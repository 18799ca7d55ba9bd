from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.expression import FORMATS, read_sentence, written_value
from advisor.advice.expression_tree import STEPS, Unknown
from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from tests.conftest import Golden
from tests.language.words import SCOPE


def said(sentence: str, **facts: object) -> str:
    """Return a sentence with its values filled in."""
    return read_sentence(sentence, SCOPE).fill({**facts, "_steps": [STEPS]})


@pytest.mark.parametrize(
    ("how", "number", "expected"),
    [
        ("size", 32 << 30, "32 GiB"), ("rate", 2.048e11, "204.8 GB/s"), ("bits", 1e11, "100 Gb/s"), ("clock", 2.25e9, "2.25 GHz"),
        ("memory", 3.2e9, "3200 MT/s"), ("lane", 1.6e10, "16 GT/s"), ("time", 9.5e-8, "95 ns"), ("percent", 0.125, "12 %"),
        ("hex", 193, "0xc1"),
    ],
)  # fmt: skip
def test_every_format(how: str, number: float, expected: str) -> None:
    """Each format writes a number in its unit."""
    assert (said(f"{{a:{how}}}", a=number), how in FORMATS) == (expected, True)


@pytest.mark.parametrize(
    ("numbers", "expected"), [((4, 5, 6, 7), "4-7"), ((2, 3), "2, 3"), ((0, 2, 4, 6), "0, 2, 4, 6"), ((1, 1, 1, 1), "1, 1, 1, 1")]
)
def test_whole_numbers_that_follow_one_another_are_a_range(numbers: tuple[int, ...], expected: str) -> None:
    """Sixteen NUMA nodes are two numbers to read; what is no run stays a list."""
    assert written_value(numbers) == expected


def test_values_stand_in_their_places() -> None:
    """A sentence has plain words and values; a colon inside a text is no format."""
    facts = {
        "b": 2,
        "p": True,
        "cpus": CpuSet.parse("0-3"),
        "texts": ("x", "y"),
        "numbers": (),
        "text": "",
        "table": {"a:b": "c"},
    }
    assert said("{b} nodes, {p}, {1 / 7}", **facts) == "2 nodes, yes, 0.1429"
    assert said("{cpus}; {texts}; {numbers}; {a}; {text}", **facts) == "0-3; x, y; none; ?; ''"
    assert said("{table} {entry(table, 'a:b')}", **facts) == "a:b: c c"
    assert said("{line}", line=(("iommu", "pt"), ("quiet", None))) == "iommu=pt, quiet"


def test_lists_of_numbers_take_a_format() -> None:
    """A format is laid on each item; an item that is not known is a question mark."""
    assert said("{numbers:size}", numbers=(1024, None)) == "1 KiB, ?"


def test_hostile_texts_steer_no_terminal() -> None:
    """What a device calls itself is written without control characters, and not without end."""
    assert (written_value("a\x1b[31mb"), len(written_value("x" * 999))) == ("a?[31mb", 200)
    assert written_value(Unknown()) == "?"


WRONG = [
    ("{a", "an unmatched brace"), ("a}", "an unmatched brace"), ("{{a}}", "an unmatched brace"),
    ("{a:sise}", "did you mean size?"), ("{a:.2f}", "there is no format .2f"), ("{text:size}", "size needs a number"),
    ("{thing}", "such as thing.n"), ("{things}", "name a fact of things"), ("{wrod}", "did you mean word?"),
    ("{}", "an expression is expected"), ("x" * 2001, "at most 2000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_a_wrong_sentence_is_refused(text: str, words: str) -> None:
    """Braces hold expressions and formats that there are."""
    with pytest.raises(BadValue) as error:
        read_sentence(text, SCOPE)
    assert words in str(error.value)


def test_each_wrong_sentence_to_the_letter(golden: Golden) -> None:
    """What a writer of rules reads of a sentence with a mistake in it."""
    lines = []
    for text, _ in WRONG:
        with pytest.raises(BadValue) as error:
            read_sentence(text, SCOPE)
        lines.append(f"{text[:60]!r}\n  {str(error.value)[:300]}\n")
    golden("sentences.txt", "".join(lines))


@given(st.lists(st.sampled_from(["{", "}", "a", ":", "size", " ", "text", "'", '"', "(", "\n", "$"]), max_size=12).map("".join))
def test_any_sentence_is_read_or_refused(text: str) -> None:
    """Arbitrary sentences raise nothing but BadValue."""
    with suppress(BadValue):
        read_sentence(text, SCOPE)


@pytest.mark.parametrize(
    ("sentence", "name", "expected"),
    [
        ("cat '{text}'", "mlx5_0", "cat 'mlx5_0'"),
        ("cat '{text}'", "x' ; reboot '", "cat 'NAME'"),
        ("cat {text}", "x;y", "cat 'x;y'"),
        ("cat {text}", "-rf", "cat NAME"),
    ],
)
def test_a_name_in_a_command_stays_one_word(sentence: str, name: str, expected: str) -> None:
    """Between quotes of the rule's own nothing but a harmless name is written; elsewhere a name is quoted."""
    assert read_sentence(sentence, SCOPE).command({"text": name, "_steps": [STEPS]}) == expected
