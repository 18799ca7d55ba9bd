"""Kinds of values in expressions, and the logic of three values."""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import declarations


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


@dataclass(frozen=True)
class Kind:
    """A simple kind, by the name a message gives it."""

    name: str

    def __str__(self) -> str:
        return self.name


NUMBER, TRUTH, CPUS = Kind("number"), Kind("truth value"), Kind("set of CPUs")
PAIRS, TABLE = Kind("list of boot options"), Kind("table of texts")
NOTHING = Kind("unknown")
"""The kind of ``unknown``: it goes with every other."""
MIXED = Kind("value of several kinds")
"""The kind of a fact that is a text here and a number there: it can be shown, and asked for with known()."""


@dataclass(frozen=True)
class Text(Kind):
    """A text; with options, one of a few words."""

    name: str = "text"
    options: tuple[str, ...] = ()


TEXT = Text()


@dataclass(frozen=True)
class ListOf(Kind):
    """A list of things of one kind."""

    name: str = "list"
    item: Kind = NOTHING

    def __str__(self) -> str:
        return f"list of {self.item}"


@dataclass(frozen=True)
class Record(Kind):
    """A thing with named facts: a model, or a tree of settings."""

    name: str = "record"
    model: type[BaseModel] | None = None
    tree: Any = None

    def __hash__(self) -> int:
        return hash((self.name, self.model, id(self.tree)))

    def fact(self, name: str) -> Kind:
        """Return the kind of one fact of it; refuse a name it has not, with the nearest it has."""
        names = self.facts()
        if name not in names:
            cure = did_you_mean(name, names, f"there are {', '.join(names)}"[:300])
            raise BadValue(f"{self.name} has no fact {name}", cure=cure)
        return names[name]

    def unit(self, name: str) -> str | None:
        """Return what a number of it counts, where that is declared."""
        found = declarations(self.model)[name].unit if self.model and name in self.model.model_fields else None
        return found.name if found else None

    def facts(self) -> Mapping[str, Kind]:
        """Return its facts and their kinds."""
        return self.tree if self.model is None else _facts(self.model)


def listed(item: Kind) -> ListOf:
    """Return the kind of a list of such items."""
    return ListOf(item=item)


_SIMPLE: dict[Any, Kind] = {bool: TRUTH, int: NUMBER, float: NUMBER, str: TEXT, CpuSet: CPUS}


def kind_of(annotation: Any) -> Kind:
    """Return the kind that a field's annotation means; None in it is what may be unknown."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return kind_of(parts[0])
    if origin in (Union, types.UnionType):
        kinds = {kind_of(part) for part in parts if part is not type(None)}
        return kinds.pop() if len(kinds) == 1 else MIXED
    if origin is Literal:
        if all(isinstance(word, str) for word in parts):
            return Text(options=parts)
        return NUMBER if all(type(word) is int for word in parts) else MIXED
    if origin is tuple:
        if parts[-1] is not ...:
            return MIXED
        return PAIRS if parts[0] == _PAIR else listed(kind_of(parts[0]))
    if annotation == dict[str, str]:
        return TABLE
    return _named(annotation) if isinstance(annotation, type) else MIXED


_PAIR = tuple[str, str | None]


def _named(annotation: type) -> Kind:
    if issubclass(annotation, StrEnum):
        return Text(options=tuple(str(each.value) for each in annotation))
    return Record(name=annotation.__name__, model=annotation) if issubclass(annotation, BaseModel) else MIXED


@cache
def _facts(model: type[BaseModel]) -> Mapping[str, Kind]:
    """Return the fields that expressions can compare; BIOS attributes of any type, say, are asked for as settings."""
    kinds = {name: kind_of(field.annotation) for name, field in model.model_fields.items()}
    return types.MappingProxyType({name: kind for name, kind in kinds.items() if kind != MIXED})


def alike(a: Kind, b: Kind) -> bool:
    """Return whether values of two kinds can be compared."""
    if NOTHING in (a, b):
        return True
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        return alike(a.item, b.item)
    if isinstance(a, Record) or isinstance(b, Record):
        return False
    return (isinstance(a, Text) and isinstance(b, Text)) or a == b


def joined(a: Kind, b: Kind) -> Kind:
    """Return the kind of what is one or the other of two alike."""
    if NOTHING in (a, b):
        return b if a == NOTHING else a
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        return listed(joined(a.item, b.item))
    if isinstance(a, Text) and isinstance(b, Text):
        return Text(options=tuple(dict.fromkeys((*a.options, *b.options)))) if a.options and b.options else TEXT
    return a
