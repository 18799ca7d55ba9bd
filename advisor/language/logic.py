"""Three-valued logic: what is not known stays not known, and remembers which facts would tell."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unknown:
    """Not known, for want of these facts."""

    facts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        raise TypeError("unknown is neither true nor false")


class Trouble(Exception):  # noqa: N818 - what went wrong while evaluating; becomes the verdict error
    """An expression that cannot be evaluated: division by zero, overflow, too much work."""


def lacking(*values: Any) -> Unknown | None:
    """Return what is unknown among values and inside lists of them, all wants joined; None where all are known."""
    for value in values:
        if isinstance(value, (Unknown, tuple)):
            wants = list(_wants(values))
            return _joined(wants) if wants else None
    return None


def _wants(values: Iterable[Any]) -> Iterator[Unknown]:
    for value in values:
        if isinstance(value, Unknown):
            yield value
        elif isinstance(value, tuple):
            yield from _wants(value)


def _joined(wants: list[Unknown]) -> Unknown:
    return wants[0] if len(wants) == 1 else Unknown(frozenset().union(*(want.facts for want in wants)))


def filled(value: Any, fact: str) -> Any:
    """Return a list with Unknown, for want of the fact, in place of each None: an item that nobody could read."""
    if isinstance(value, (tuple, list)):
        return tuple(Unknown(frozenset({fact})) if item is None else filled(item, fact) for item in value)
    return value


def tried(function: Callable[..., Any], values: Iterable[Any], text: str) -> Any:
    """Return what a function makes of known values; Trouble, naming the expression, where it cannot."""
    try:
        return function(*values)
    except ZeroDivisionError as error:
        raise Trouble(f"division by zero in {text}"[:200]) from error
    except (OverflowError, ValueError) as error:
        raise Trouble(f"{error} in {text}"[:200]) from error
    except (TypeError, AttributeError) as error:
        raise Trouble(f"a fact is not of its kind in {text}"[:200]) from error


def both(values: Iterable[Any]) -> Any:
    """Return whether all are true: one false decides, however many are unknown."""
    wants: list[Unknown] = []
    for value in values:
        if isinstance(value, Unknown):
            wants.append(value)
        elif not value:
            return False
    return _joined(wants) if wants else True


def either(values: Iterable[Any]) -> Any:
    """Return whether one is true: one true decides, however many are unknown."""
    wants: list[Unknown] = []
    for value in values:
        if isinstance(value, Unknown):
            wants.append(value)
        elif value:
            return True
    return _joined(wants) if wants else False


def opposite(value: Any) -> Any:
    """Return the contrary; of unknown, unknown."""
    return value if isinstance(value, Unknown) else not value
