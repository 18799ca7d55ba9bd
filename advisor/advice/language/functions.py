"""The functions of the rule language: verbs, and the words that make one value of a list.

A verb that returns None could not tell. An unknown item of a list decides nothing unless another one already does.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from advisor.advice.language.kinds import (
    CPUS,
    NUMBER,
    PAIRS,
    TABLE,
    TEXT,
    TRUTH,
    Kind,
    ListOf,
    Text,
    Trouble,
    Unknown,
    both,
    either,
    lacking,
    listed,
    tried,
)
from advisor.advice.language.tree import Env, Fact, Node, facts_of
from advisor.machine.cpuset import CpuSet

_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


class Verb(NamedTuple):
    """A function with the kinds it takes and gives."""

    function: Callable[..., Any]
    takes: tuple[Kind, ...]
    gives: Kind


def _option(options: Sequence[tuple[str, str | None]], name: str) -> tuple[str, ...]:
    """Return every value given to a boot option; an empty list where it is not on the command line."""
    return tuple(value or "" for key, value in options if key == name)


def _starts(text: str, word: str) -> bool:
    """Return whether a text begins with a word, whatever the case."""
    return text.lower().startswith(word.lower())


def _contains(text: str, word: str) -> bool:
    """Return whether a text holds a word, whatever the case."""
    return word.lower() in text.lower()


def _values(table: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts of a table."""
    return tuple(table.values())


def _entry(table: Mapping[str, str], name: str) -> str | None:
    """Return the text that a table has under a name; unknown where it has none."""
    return table.get(name)


def _older(version: str, than: str) -> bool | None:
    """Return whether a version such as 4.1.4 is older than another; unknown where one is no version."""
    a, b = _numbers(version), _numbers(than)
    if a is None or b is None:
        return None
    length = max(len(a), len(b))  # 4.1 is 4.1.0
    return a + (0,) * (length - len(a)) < b + (0,) * (length - len(b))


def _numbers(version: str) -> tuple[int, ...] | None:
    match = re.search(r"\d{1,6}(?:\.\d{1,6}){0,5}", version, re.ASCII)
    return tuple(int(part) for part in match[0].split(".")) if match else None


def _bus(address: str) -> int | None:
    """Return the bus number of a PCI address: 193 of 0000:c1:00.0."""
    match = re.fullmatch(r"(?:[0-9a-f]{4,8}:)?([0-9a-f]{2}):[0-9a-f]{2}\.[0-7]", address, re.ASCII | re.IGNORECASE)
    return int(match[1], 16) if match else None


def _hex(number: float) -> str:
    """Return a whole number in hexadecimal: 0xc1."""
    return hex(int(number))


def _before(day: str, other: str) -> bool | None:
    """Return whether one ISO date is before another; of a month or a year, before it begins. Unknown where one is no date."""
    if not (_DATE.fullmatch(day) and _DATE.fullmatch(other)):
        return None
    return None if len(day) < len(other) and other.startswith(day) else day < other


def _size(cpus: CpuSet) -> int:
    """Return how many CPUs a set has."""
    return len(cpus)


def _first(cpus: CpuSet) -> int | None:
    """Return the smallest CPU number of a set."""
    return cpus.first


def _round(number: float) -> int:
    """Return the nearest whole number."""
    return round(number)


def _floor(number: float) -> int:
    """Return the whole number at or below."""
    return int(number // 1)


def _ratio(a: float, b: float) -> float | None:
    """Return a over b; unknown where b is zero."""
    return a / b if b else None


VERBS: dict[str, Verb] = {
    "option": Verb(_option, (PAIRS, TEXT), listed(TEXT)),
    "starts": Verb(_starts, (TEXT, TEXT), TRUTH),
    "contains": Verb(_contains, (TEXT, TEXT), TRUTH),
    "values": Verb(_values, (TABLE,), listed(TEXT)),
    "entry": Verb(_entry, (TABLE, TEXT), TEXT),
    "older": Verb(_older, (TEXT, TEXT), TRUTH),
    "before": Verb(_before, (TEXT, TEXT), TRUTH),
    "bus": Verb(_bus, (TEXT,), NUMBER),
    "hex": Verb(_hex, (NUMBER,), TEXT),
    "size": Verb(_size, (CPUS,), NUMBER),
    "first": Verb(_first, (CPUS,), NUMBER),
    "round": Verb(_round, (NUMBER,), NUMBER),
    "floor": Verb(_floor, (NUMBER,), NUMBER),
    "abs": Verb(abs, (NUMBER,), NUMBER),
    "ratio": Verb(_ratio, (NUMBER, NUMBER), NUMBER),
}
"""Every verb; the page of facts and the messages of the checker list them from here."""

UNITS: dict[str, float] = {
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "MHz": 10**6,
    "GHz": 10**9,
    "MT": 10**6,
    "GT": 10**9,
    "Gb": 10**9,
    "GB": 10**9,
    "us": 1e-6,
    "ns": 1e-9,
}
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


def _distinct(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


def _anything(_: Kind) -> bool:
    return True


def _is_truth(kind: Kind) -> bool:
    return kind == TRUTH


def _is_number(kind: Kind) -> bool:
    return kind == NUMBER


def _simple(kind: Kind) -> bool:
    return isinstance(kind, Text) or kind == NUMBER


WORDS: dict[str, Word] = {
    "any": Word(either, _is_truth, lambda _: TRUTH),
    "all": Word(both, _is_truth, lambda _: TRUTH),
    "count": Word(_known(len), _anything, lambda _: NUMBER),
    "sum": Word(_known(sum), _is_number, lambda _: NUMBER),
    "min": Word(_known(lambda items: min(items, default=None)), _is_number, lambda _: NUMBER),
    "max": Word(_known(lambda items: max(items, default=None)), _is_number, lambda _: NUMBER),
    "distinct": Word(_known(_distinct), _simple, listed),
    "list": Word(_known(tuple), _simple, listed),
}
"""``min`` and ``max`` of an empty list are unknown; ``any`` is false, ``all`` true, ``count`` and ``sum`` are 0."""


def items_of(kind: Kind) -> Kind | None:
    """Return the kind of a list's items, None of what is no list."""
    return kind.item if isinstance(kind, ListOf) else None


@dataclass(frozen=True)
class Items(Node):
    """A list written out."""

    operands: tuple[Node, ...]

    def value(self, env: Env) -> Any:
        """Return the list; items may be Unknown."""
        return tuple(operand.value(env) for operand in self.operands)

    def parts(self) -> tuple[Node, ...]:
        """Return the items."""
        return self.operands


@dataclass(frozen=True)
class Loop(Node):
    """``ELEMENT for NAME in LIST if CONDITION``: a list of what each item yields."""

    name: str
    over: Node
    condition: Node | None
    element: Node

    def value(self, env: Env) -> Any:
        """Return the elements; one whose condition is not known is Unknown itself."""
        things = self.over.value(env)
        if isinstance(things, Unknown):
            return things
        inner = dict(env)
        result: list[Any] = []
        for thing in things:
            env["_steps"][0] -= 1
            if env["_steps"][0] < 0:
                raise Trouble(f"too much work in {self.text}"[:200])
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

    def parts(self) -> tuple[Node, ...]:
        """Return the list it runs over."""
        return (self.over,)

    def inside(self) -> tuple[Node, ...]:
        """Return element, condition and list."""
        return (self.element, *((self.condition,) if self.condition else ()), self.over)


@dataclass(frozen=True)
class Gather(Node):
    """``any all count sum min max distinct list`` of a list."""

    function: Callable[[tuple[Any, ...]], Any]
    operand: Node

    def value(self, env: Env) -> Any:
        """Return what the list comes to."""
        items = self.operand.value(env)
        if isinstance(items, Unknown):
            return items
        result = tried(self.function, (tuple(items),), self.text)
        if result is None:
            return Unknown(frozenset(facts_of(self.operand)))
        return result

    def parts(self) -> tuple[Node, ...]:
        """Return the list."""
        return (self.operand,)


def fact_of(node: Node) -> str:
    """Return the fact that the items of a list are: of a part of a list the whole, of anything else its text."""
    while isinstance(node, (Loop, Gather)):
        if isinstance(node, Loop) and not (isinstance(node.element, Fact) and node.element.names == (node.name,)):
            return node.element.fact if isinstance(node.element, Fact) else node.text
        node = node.over if isinstance(node, Loop) else node.operand
    return node.fact if isinstance(node, Fact) else node.text
