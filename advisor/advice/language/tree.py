"""The parts of a checked expression; each knows its text, its kind, and how to evaluate itself."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from advisor.advice.language.kinds import Kind, ListOf, Record, Trouble, Unknown, both, either, filled, lacking, opposite, tried

Env = dict[str, Any]
"""Names and their values; under ``_steps`` how much work is left."""

STEPS = 200_000
_HUGE = 1e30


@dataclass(frozen=True)
class Node:
    """An expression or a part of one."""

    text: str
    kind: Kind

    def value(self, env: Env) -> Any:
        """Return what it yields: a plain value or Unknown."""
        raise NotImplementedError  # every kind of node has its own

    def parts(self) -> tuple["Node", ...]:
        """Return the expressions inside it that its own names can evaluate."""
        return ()

    def inside(self) -> tuple["Node", ...]:
        """Return every expression inside it."""
        return self.parts()


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
        if self._of_values:
            return filled(value, self.fact)
        return value  # or the Unknown of a let that is not known

    @cached_property
    def _of_values(self) -> bool:
        """Whether it is a list of values, any of which may be None; a list of records has none."""
        return isinstance(self.kind, ListOf) and not isinstance(self.kind.item, Record)


@dataclass(frozen=True)
class Logic(Node):
    """``and`` or ``or``."""

    join: Callable[[Iterator[Any]], Any]
    operands: tuple[Node, ...]

    def value(self, env: Env) -> Any:
        """Return true, false or Unknown after Kleene."""
        return self.join(operand.value(env) for operand in self.operands)

    def parts(self) -> tuple[Node, ...]:
        """Return the operands."""
        return self.operands


@dataclass(frozen=True)
class Not(Node):
    """``not``."""

    operand: Node

    def value(self, env: Env) -> Any:
        """Return the contrary."""
        return opposite(self.operand.value(env))

    def parts(self) -> tuple[Node, ...]:
        """Return the operand."""
        return (self.operand,)


@dataclass(frozen=True)
class Apply(Node):
    """Arithmetic, or a verb: all operands must be known."""

    function: Callable[..., Any]
    operands: tuple[Node, ...]

    def value(self, env: Env) -> Any:
        """Return the function's value, Unknown if an operand is."""
        values = [operand.value(env) for operand in self.operands]
        want = lacking(*values)
        if want is not None:
            return want
        result = tried(self.function, values, self.text)
        if result is None:
            return Unknown(frozenset(fact for operand in self.operands for fact in facts_of(operand)))
        if isinstance(result, (int, float)) and not (math.isfinite(result) and abs(result) < _HUGE):
            raise Trouble(f"overflow in {self.text}"[:200])
        return result

    def parts(self) -> tuple[Node, ...]:
        """Return the operands."""
        return self.operands


@dataclass(frozen=True)
class Known(Node):
    """``known(fact)``: the one verb that turns unknown into false."""

    operand: Node

    def value(self, env: Env) -> Any:
        """Return whether the operand is known, and of a list every item."""
        return lacking(self.operand.value(env)) is None

    def parts(self) -> tuple[Node, ...]:
        """Return the operand."""
        return (self.operand,)


@dataclass(frozen=True)
class Compare(Node):
    """One comparison, or a chain of them."""

    operands: tuple[Node, ...]
    tests: tuple[Callable[[Any, Any], Any], ...]

    def value(self, env: Env) -> Any:
        """Return whether every link of the chain holds."""
        values = [operand.value(env) for operand in self.operands]
        if len(values) == 2:
            return self._link(values[0], values[1], self.tests[0])
        return both(self._link(*link) for link in zip(values, values[1:], self.tests, strict=False))

    def _link(self, left: Any, right: Any, test: Callable[[Any, Any], Any]) -> Any:
        want = lacking(left, right)
        return tried(test, (left, right), self.text) if want is None else want

    def parts(self) -> tuple[Node, ...]:
        """Return what is compared."""
        return self.operands


@dataclass(frozen=True)
class Member(Node):
    """``in`` and ``not in``."""

    item: Node
    group: Node
    wanted: bool

    def value(self, env: Env) -> Any:
        """Return whether the item is in the group; an unknown item of the group may be the one."""
        item, group = self.item.value(env), self.group.value(env)
        if isinstance(group, Unknown):
            return lacking(item, group)
        want = lacking(item)
        if want is not None:
            return want
        if isinstance(group, tuple):
            found = either(each == item if (gap := lacking(each)) is None else gap for each in group)
        else:
            found = int(item) in group if item == item // 1 else False  # a set of CPUs
        return found if self.wanted else opposite(found)

    def parts(self) -> tuple[Node, ...]:
        """Return item and group."""
        return (self.item, self.group)


@dataclass(frozen=True)
class Choose(Node):
    """``A if CONDITION else B``."""

    condition: Node
    then: Node
    otherwise: Node

    def value(self, env: Env) -> Any:
        """Return one of the two; Unknown where the condition is."""
        chosen = self.condition.value(env)
        if isinstance(chosen, Unknown):
            return chosen
        result = (self.then if chosen else self.otherwise).value(env)
        # "unknown" written out: the condition would tell more.
        return Unknown(frozenset(facts_of(self.condition))) if isinstance(result, Unknown) and not result.facts else result

    def parts(self) -> tuple[Node, ...]:
        """Return the condition and the two."""
        return (self.condition, self.then, self.otherwise)


def facts_of(node: Node) -> tuple[str, ...]:
    """Return every fact that an expression may look at, in order."""
    found: dict[str, None] = {}
    todo = [node]
    while todo:
        current = todo.pop(0)
        if isinstance(current, Fact):
            found[current.fact] = None
        todo += current.inside()
    return tuple(found)
