from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest

from advisor.advice.expression_tree import (
    CPUS,
    MIXED,
    NOTHING,
    NUMBER,
    PAIRS,
    TABLE,
    TEXT,
    TRUTH,
    Kind,
    ListOf,
    Record,
    Text,
    alike,
    joined,
    kind_of,
    listed,
)  # fmt: skip
from advisor.advice.judge.case import SocketFacts
from advisor.advice.judge.rule import fact_kinds
from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Distances


class Colour(StrEnum):
    """Words of an enumeration."""

    RED = "red"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, NUMBER), (float | None, NUMBER), (int | float, NUMBER), (bool | None, TRUTH), (str, TEXT), (CpuSet | None, CPUS),
        (Annotated[float, "x"] | None, NUMBER), (Literal["a", "b"] | None, Text(options=("a", "b"))), (Literal[1, 2], NUMBER),
        (Literal["a", 1], MIXED), (str | int, MIXED), (Any, MIXED), (tuple[int, ...] | None, listed(NUMBER)),
        (tuple[tuple[int, ...], ...], listed(listed(NUMBER))), (tuple[int, str], MIXED), (dict[str, str], TABLE),
        (dict[str, int], MIXED), (tuple[tuple[str, str | None], ...], PAIRS), (Colour, Text(options=("red",))),
        (SocketFacts, Record(name="SocketFacts", model=SocketFacts)),
    ],
)  # fmt: skip
def test_kinds_come_from_annotations(annotation: Any, expected: Kind) -> None:
    """A field's annotation says what kind its values are; None in it says they may be unknown."""
    assert kind_of(annotation) == expected


def test_every_fact_of_a_case_has_a_kind() -> None:
    """No fact of the model is of a kind that the language cannot compare."""
    seen: set[Any] = set()
    mixed = [name for kind in fact_kinds().values() for name in _mixed(kind, seen)]
    assert mixed == []


def _mixed(kind: Kind, seen: set[Any], name: str = "") -> list[str]:
    if isinstance(kind, ListOf):
        return _mixed(kind.item, seen, f"{name}[]")
    if isinstance(kind, Record) and kind.model not in seen:
        seen.add(kind.model)
        return [each for fact, inner in kind.facts().items() for each in _mixed(inner, seen, f"{kind.name}.{fact}")]
    return [name] if kind in (MIXED, NOTHING) else []


def test_what_can_be_compared() -> None:
    """Numbers go with numbers, texts with texts, unknown with all, records with none."""
    record = Record(name="Distances", model=Distances)
    pairs = [(NUMBER, NUMBER), (TEXT, Text(options=("a",))), (NOTHING, CPUS), (listed(NOTHING), listed(TEXT)), (NUMBER, TEXT),
             (TRUTH, NUMBER), (record, record), (listed(NUMBER), NUMBER), (listed(TEXT), listed(NUMBER))]  # fmt: skip
    assert [alike(a, b) for a, b in pairs] == [True, True, True, True, False, False, False, False, False]


def test_joining_keeps_what_is_known_of_either() -> None:
    """Of two lists the kind of the items that has one, of two words both."""
    assert joined(listed(NOTHING), listed(TEXT)) == listed(TEXT)
    assert joined(Text(options=("a",)), Text(options=("b",))) == Text(options=("a", "b"))
    assert joined(Text(options=("a",)), TEXT) == joined(TEXT, Text(options=("a",))) == TEXT
    assert joined(NOTHING, NUMBER) == joined(NUMBER, NOTHING) == NUMBER


def test_a_wrong_fact_names_the_nearest() -> None:
    """A fact that a record has not is refused with what it has."""
    kind = Record(name="SocketFacts", model=SocketFacts)
    with pytest.raises(BadValue, match=r"SocketFacts has no fact corse; did you mean cores\?"):
        kind.fact("corse")
    with pytest.raises(BadValue, match="available: index, cpus"):
        kind.fact("zzzzzz")
