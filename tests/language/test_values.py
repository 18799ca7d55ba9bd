import operator

import pytest

from advisor.advice.expression_tree import Trouble, Unknown, both, either, filled, lacking, opposite, tried

A, B = Unknown(frozenset("a")), Unknown(frozenset("b"))
AB = Unknown(frozenset("ab"))


@pytest.mark.parametrize(
    ("values", "every", "some"),
    [
        ((), True, False), ((True,), True, True), ((False,), False, False), ((True, False), False, True), ((A,), A, A),
        ((A, True), A, True), ((A, False), False, A), ((A, B), AB, AB), ((A, B, False), False, AB), ((A, B, True), AB, True),
    ],
)  # fmt: skip
def test_kleene(values: tuple[object, ...], every: object, some: object) -> None:
    """One false decides ``and``, one true ``or``; otherwise all that is wanted is remembered."""
    assert (both(values), either(values)) == (every, some)


def test_the_contrary() -> None:
    """Not of unknown is unknown."""
    assert (opposite(True), opposite(False), opposite(A)) == (False, True, A)


def test_lacking_looks_into_lists() -> None:
    """An unknown item makes a list unknown."""
    assert (lacking(1, (2, (A, 3)), B), lacking(1, (2,)), lacking()) == (AB, None, None)


def test_holes_are_filled() -> None:
    """None in a list, at any depth, is an unknown item."""
    assert filled((1, None, (None,)), "a") == (1, A, (A,))


def test_unknown_is_no_truth_value() -> None:
    """Asking Python whether unknown is true is a mistake of ours, and loud."""
    with pytest.raises(TypeError):
        bool(A)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda: 1 / 0, "division by zero in x"), (lambda: 10.0**999, "in x"), (lambda: int("a"), "in x"),
        (lambda: operator.lt(1, "a"), "has the wrong kind in x"), (lambda: operator.attrgetter("lower")(1), "wrong kind in x"),
    ],
)  # fmt: skip
def test_what_fails_is_trouble(function: object, says: str) -> None:
    """Whatever a function cannot do becomes Trouble that names the expression."""
    with pytest.raises(Trouble, match=says):
        tried(function, (), "x")  # type: ignore[arg-type]
