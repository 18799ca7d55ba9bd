"""The parts of a checked expression that make and gather lists."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from advisor.language.nodes import Env, Fact, Node, facts_of
from advisor.language.values import Trouble, Unknown, tried


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
