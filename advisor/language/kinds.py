"""What kind of thing an expression yields, taken from the model's own annotations."""

import types
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from advisor.errors import BadValue, did_you_mean
from advisor.model.cpuset import CpuSet


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
        return _literal(parts)
    if origin is tuple:
        if parts[-1] is not ...:
            return MIXED
        return PAIRS if parts[0] == _PAIR else listed(kind_of(parts[0]))
    if annotation == dict[str, str]:
        return TABLE
    return _named(annotation) if isinstance(annotation, type) else MIXED


_PAIR = tuple[str, str | None]


def _literal(words: tuple[Any, ...]) -> Kind:
    if all(isinstance(word, str) for word in words):
        return Text(options=words)
    return NUMBER if all(type(word) is int for word in words) else MIXED


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
