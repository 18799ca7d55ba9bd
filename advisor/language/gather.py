"""The words that make one value of a list. An unknown item decides nothing unless another one already does."""

from collections.abc import Callable
from typing import Any, NamedTuple

from advisor.language.kinds import NUMBER, TRUTH, Kind, ListOf, Text, listed
from advisor.language.values import both, either, lacking


class Word(NamedTuple):
    """A word with its function, whether items of a kind suit it, and the kind it gives."""

    function: Callable[[tuple[Any, ...]], Any]
    suits: Callable[[Kind], bool]
    gives: Callable[[Kind], Kind]


def _known(function: Callable[[Any], Any]) -> Callable[[tuple[Any, ...]], Any]:
    """Return the function made to answer Unknown where an item is."""

    def answer(items: tuple[Any, ...]) -> Any:
        want = lacking(*items)
        return function(items) if want is None else want

    return answer


def _distinct(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


def _anything(_: Kind) -> bool:
    return True


def _truths(kind: Kind) -> bool:
    return kind == TRUTH


def _numbers(kind: Kind) -> bool:
    return kind == NUMBER


def _simple(kind: Kind) -> bool:
    return isinstance(kind, Text) or kind == NUMBER


WORDS: dict[str, Word] = {
    "any": Word(either, _truths, lambda _: TRUTH),
    "all": Word(both, _truths, lambda _: TRUTH),
    "count": Word(_known(len), _anything, lambda _: NUMBER),
    "sum": Word(_known(sum), _numbers, lambda _: NUMBER),
    "min": Word(_known(lambda items: min(items, default=None)), _numbers, lambda _: NUMBER),
    "max": Word(_known(lambda items: max(items, default=None)), _numbers, lambda _: NUMBER),
    "distinct": Word(_known(_distinct), _simple, listed),
    "list": Word(_known(tuple), _simple, listed),
}
"""``min`` and ``max`` of an empty list are unknown; ``any`` is false, ``all`` true, ``count`` and ``sum`` are 0."""


def items_of(kind: Kind) -> Kind | None:
    """Return the kind of a list's items, None of what is no list."""
    return kind.item if isinstance(kind, ListOf) else None
