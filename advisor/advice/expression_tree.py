"""The parts of a checked expression: each knows its text, its kind and how to evaluate itself; verbs, words and units.

A verb that returns None could not tell. An unknown item of a list decides nothing unless another one already does.
"""

import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

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
        raise Trouble(f"a fact has the wrong kind in {text}"[:200]) from error


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
            cure = did_you_mean(name, names, f"available: {', '.join(names)}"[:300])
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
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return Text(options=tuple(str(each.value) for each in annotation))
    known = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return Record(name=annotation.__name__, model=annotation) if known else MIXED


_PAIR = tuple[str, str | None]


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


Env = dict[str, Any]
"""Names and their values; under ``_steps`` how much work is left."""

STEPS = 200_000
_HUGE = 1e30


@dataclass(frozen=True)
class Node:
    """An expression or a part of one; its operands are the expressions inside it that its own names can evaluate."""

    text: str
    kind: Kind
    operands: tuple["Node", ...]

    def value(self, env: Env) -> Any:
        """Return what it yields: a plain value or Unknown."""
        raise NotImplementedError  # every kind of node has its own

    def inside(self) -> tuple["Node", ...]:
        """Return every expression inside it."""
        return self.operands


@dataclass(frozen=True)
class Constant(Node):
    """A literal, a unit, or ``unknown``."""

    constant: Any

    def value(self, env: Env) -> Any:  # noqa: ARG002 - a constant is the same in every case
        """Return the constant."""
        return self.constant


@dataclass(frozen=True)
class Fact(Node):
    """A dotted fact."""

    names: tuple[str, ...]
    fact: str
    """Its name in the Case: of a loop's variable, the list it runs over and the rest."""
    unit: str | None = None
    """What it counts, where its declaration says so."""

    def value(self, env: Env) -> Any:
        """Return the fact; Unknown, naming it, where it or what holds it is None."""
        value = env.get(self.names[0])
        for name in self.names[1:]:
            if value is None or isinstance(value, Unknown):
                break
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if value is None:
            return Unknown(frozenset({self.fact}))
        return filled(value, self.fact) if self._of_values else value  # or the Unknown of a let that is not known

    @cached_property
    def _of_values(self) -> bool:
        """Whether it is a list of values, any of which may be None; a list of records has none."""
        return isinstance(self.kind, ListOf) and not isinstance(self.kind.item, Record)


@dataclass(frozen=True)
class Open(Node):
    """What may have a value though an operand is unknown: ``not``, ``known``, ``in``, a list written out."""

    function: Callable[[Iterator[Any]], Any]

    def value(self, env: Env) -> Any:
        """Return what the function makes of the operands' values, each of which may be Unknown."""
        return self.function(operand.value(env) for operand in self.operands)


class Logic(Open):
    """``and`` or ``or``, after Kleene."""


class Items(Open):
    """A list written out; items may be Unknown."""


@dataclass(frozen=True)
class Apply(Node):
    """Arithmetic, or a verb: all operands must be known."""

    function: Callable[..., Any]

    def value(self, env: Env) -> Any:
        """Return the function's value, Unknown if an operand is."""
        values = [operand.value(env) for operand in self.operands]
        want = lacking(*values)
        if want is not None:
            return want
        result = tried(self.function, values, self.text)
        if isinstance(result, (int, float)) and not (math.isfinite(result) and abs(result) < _HUGE):
            raise Trouble(f"overflow in {self.text}"[:200])
        return _of(self.operands) if result is None else result


@dataclass(frozen=True)
class Compare(Node):
    """One comparison, or a chain of them."""

    tests: tuple[Callable[[Any, Any], Any], ...]

    def value(self, env: Env) -> Any:
        """Return whether every link of the chain holds."""
        values = [operand.value(env) for operand in self.operands]
        if len(values) == 2:  # most of them: no rule waits for it
            return self._link(values[0], values[1], self.tests[0])
        return both(self._link(*link) for link in zip(values, values[1:], self.tests, strict=False))

    def _link(self, left: Any, right: Any, test: Callable[[Any, Any], Any]) -> Any:
        want = lacking(left, right)
        return tried(test, (left, right), self.text) if want is None else want


@dataclass(frozen=True)
class Gather(Node):
    """``any all count sum min max distinct list`` of a list."""

    function: Callable[[tuple[Any, ...]], Any]

    def value(self, env: Env) -> Any:
        """Return what the list comes to."""
        items = self.operands[0].value(env)
        if isinstance(items, Unknown):
            return items
        result = tried(self.function, (tuple(items),), self.text)
        return _of(self.operands) if result is None else result


@dataclass(frozen=True)
class Choose(Node):
    """``A if CONDITION else B``: the condition and the two."""

    def value(self, env: Env) -> Any:
        """Return one of the two; Unknown where the condition is."""
        condition, then, otherwise = self.operands
        chosen = condition.value(env)
        if isinstance(chosen, Unknown):
            return chosen
        result = (then if chosen else otherwise).value(env)
        # "unknown" written out: the condition would tell more.
        return _of((condition,)) if isinstance(result, Unknown) and not result.facts else result


@dataclass(frozen=True)
class Loop(Node):
    """``ELEMENT for NAME in LIST if CONDITION``: a list of what each item yields; its operand is the list."""

    name: str
    condition: Node | None
    element: Node

    def value(self, env: Env) -> Any:
        """Return the elements; one whose condition is not known is Unknown itself."""
        things = self.operands[0].value(env)
        if isinstance(things, Unknown):
            return things
        inner = dict(env)
        result: list[Any] = []
        for thing in things:
            env["_steps"][0] -= 1
            if env["_steps"][0] < 0:
                raise Trouble(f"too many steps to evaluate {self.text}"[:200])
            if isinstance(thing, Unknown):  # perhaps it is not there at all
                result.append(thing)
                continue
            inner[self.name] = thing
            kept = self.condition.value(inner) if self.condition else True
            if isinstance(kept, Unknown):
                result.append(kept)
            elif kept:
                result.append(self.element.value(inner))
        return tuple(result)

    def inside(self) -> tuple[Node, ...]:
        """Return element, condition and list."""
        return (self.element, *((self.condition,) if self.condition else ()), *self.operands)


def facts_of(*nodes: Node) -> tuple[str, ...]:
    """Return every fact that expressions may look at, in order."""
    facts: dict[str, None] = {}
    todo = [*nodes]
    while todo:
        current = todo.pop(0)
        if isinstance(current, Fact):
            facts[current.fact] = None
        todo += current.inside()
    return tuple(facts)


def _of(nodes: tuple[Node, ...]) -> Unknown:
    return Unknown(frozenset(facts_of(*nodes)))


def items_of(kind: Kind) -> Kind | None:
    """Return the kind of a list's items, None of what is no list."""
    return kind.item if isinstance(kind, ListOf) else None


def fact_of(node: Node) -> str:
    """Return the fact that the items of a list are: of a part of a list the whole, of anything else its text."""
    while isinstance(node, (Loop, Gather)):
        if isinstance(node, Loop) and not (isinstance(node.element, Fact) and node.element.names == (node.name,)):
            return node.element.fact if isinstance(node.element, Fact) else node.text
        node = node.operands[0]
    return node.fact if isinstance(node, Fact) else node.text


_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


def _older(version: str, than: str) -> bool | None:
    """Return whether a version such as 4.1.4 is older than another; unknown where one is no version."""
    numbers = []
    for text in (version, than):
        match = re.search(r"\d{1,6}(?:\.\d{1,6}){0,5}", text, re.ASCII)
        if match is None:
            return None
        parts = [int(part) for part in match[0].split(".")]
        numbers.append(parts + [0] * (6 - len(parts)))  # 4.1 is 4.1.0
    return numbers[0] < numbers[1]


def _bus(address: str) -> int | None:
    match = re.fullmatch(r"(?:[0-9a-f]{4,8}:)?([0-9a-f]{2}):[0-9a-f]{2}\.[0-7]", address, re.ASCII | re.IGNORECASE)
    return int(match[1], 16) if match else None


def _before(day: str, other: str) -> bool | None:
    if not (_DATE.fullmatch(day) and _DATE.fullmatch(other)):
        return None
    return None if len(day) < len(other) and other.startswith(day) else day < other


class Verb(NamedTuple):
    """A function with the kinds it takes and gives, and what it does."""

    function: Callable[..., Any]
    takes: tuple[Kind, ...]
    gives: Kind
    about: str


VERBS: dict[str, Verb] = {
    "option": Verb(
        lambda options, name: tuple(value or "" for key, value in options if key == name),
        (PAIRS, TEXT),
        listed(TEXT),
        "Return every value given to a boot option; an empty list if it is not on the command line.",
    ),
    "starts": Verb(
        lambda text, word: text.lower().startswith(word.lower()),
        (TEXT, TEXT),
        TRUTH,
        "Return whether a text begins with a word, ignoring case.",
    ),
    "contains": Verb(
        lambda text, word: word.lower() in text.lower(),
        (TEXT, TEXT),
        TRUTH,
        "Return whether a text contains a word, ignoring case.",
    ),
    "values": Verb(lambda table: tuple(table.values()), (TABLE,), listed(TEXT), "Return the values of a table."),
    "entry": Verb(
        lambda table, name: table.get(name),
        (TABLE, TEXT),
        TEXT,
        "Return the text stored in a table under a name; unknown if there is none.",
    ),
    "older": Verb(
        _older,
        (TEXT, TEXT),
        TRUTH,
        "Return whether a version such as 4.1.4 is older than another; unknown if one is not a version.",
    ),
    "before": Verb(
        _before,
        (TEXT, TEXT),
        TRUTH,
        "Return whether one ISO date is before another; for a month or a year, before its start. Unknown unless both are dates.",
    ),
    "bus": Verb(_bus, (TEXT,), NUMBER, "Return the bus number of a PCI address: 193 of 0000:c1:00.0."),
    "hex": Verb(lambda number: hex(int(number)), (NUMBER,), TEXT, "Return a whole number in hexadecimal: 0xc1."),
    "size": Verb(len, (CPUS,), NUMBER, "Return how many CPUs a set has."),
    "first": Verb(lambda cpus: cpus.first, (CPUS,), NUMBER, "Return the smallest CPU number of a set."),
    "round": Verb(round, (NUMBER,), NUMBER, "Return the nearest whole number."),
    "floor": Verb(lambda number: int(number // 1), (NUMBER,), NUMBER, "Return the number rounded down."),
    "abs": Verb(abs, (NUMBER,), NUMBER, "Return the absolute value of the argument."),
    "ratio": Verb(lambda a, b: a / b if b else None, (NUMBER, NUMBER), NUMBER, "Return a divided by b; unknown if b is zero."),
}
"""Every verb; the page of facts and the messages of the checker list them from here."""

UNITS: dict[str, float] = {
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "MHz": 10**6, "GHz": 10**9, "MT": 10**6, "GT": 10**9,
    "Gb": 10**9, "GB": 10**9, "us": 1e-6, "ns": 1e-9,
}  # fmt: skip
"""Units as factors: ``32 * GiB``."""


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


def _is(kind: Kind) -> Callable[[Kind], bool]:
    return lambda other: other == kind


def _simple(kind: Kind) -> bool:
    return isinstance(kind, Text) or kind == NUMBER


WORDS: dict[str, Word] = {
    "any": Word(either, _is(TRUTH), lambda _: TRUTH),
    "all": Word(both, _is(TRUTH), lambda _: TRUTH),
    "count": Word(_known(len), lambda _: True, lambda _: NUMBER),
    "sum": Word(_known(sum), _is(NUMBER), lambda _: NUMBER),
    "min": Word(_known(lambda items: min(items, default=None)), _is(NUMBER), lambda _: NUMBER),
    "max": Word(_known(lambda items: max(items, default=None)), _is(NUMBER), lambda _: NUMBER),
    "distinct": Word(_known(lambda items: tuple(dict.fromkeys(items))), _simple, listed),
    "list": Word(_known(tuple), _simple, listed),
}
"""``min`` and ``max`` of an empty list are unknown; ``any`` is false, ``all`` true, ``count`` and ``sum`` are 0."""
