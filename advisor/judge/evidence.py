"""The facts that an expression looked at, with their values. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from advisor.judge.origins import Origins
from advisor.language.lists import Loop
from advisor.language.nodes import STEPS, Env, Fact, Node
from advisor.language.say import written
from advisor.language.values import Trouble, Unknown
from advisor.model.finding import Evidence

_FEW = 6
_MOST = 5000
"""Values that are looked at for one verdict: enough for every CPU of a machine."""


def evidence(nodes: Iterable[Node], env: Env, origins: Origins) -> tuple[Evidence, ...]:
    """Return every known fact that the expressions looked at, each once."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    budget = iter(range(_MOST))
    for node in nodes:
        for text, fact, value in looked_at(node, env):
            found.setdefault(text, (fact, {}))[1][value] = None
            if next(budget, None) is None:
                break
    return tuple(
        Evidence(fact=text, value=_few(tuple(values)), where=origins.where(fact)) for text, (fact, values) in found.items()
    )


def _few(values: tuple[str, ...]) -> str:
    more = f", ... ({len(values)} different)" if len(values) > _FEW else ""
    return ", ".join(values[:_FEW]) + more


def looked_at(node: Node, env: Env) -> Iterator[tuple[str, str, str]]:
    """Yield the text, the name and the written value of each known fact in an expression, inside loops for each item.

    What cannot be written itself, such as a list of sockets or the boot options, is told by what was made of it.
    """
    if isinstance(node, Fact):
        value = node.value(env)
        if not isinstance(value, Unknown) and not _hidden(value):
            yield node.text, node.fact, written(value)
        return
    parts = node.parts()
    for part in parts:
        if isinstance(part, Fact) and _hidden(part.value(env)):
            value = evaluated(node, env)
            if not isinstance(node, Loop) and not isinstance(value, Unknown) and not _hidden(value):
                yield node.text, part.fact, written(value)
        yield from looked_at(part, env)
    if isinstance(node, Loop):
        for thing in _things(node, env):
            inner = {**env, node.name: thing}
            for each in (node.condition, node.element):
                if each is not None:
                    yield from looked_at(each, inner)


def evaluated(node: Node, env: Env) -> Any:
    """Return what an expression yields, Unknown where it cannot be evaluated; it has the whole budget of work."""
    try:
        return node.value({**env, "_steps": [STEPS]})
    except Trouble:
        return Unknown()


def _things(loop: Loop, env: Env) -> tuple[Any, ...]:
    things = evaluated(loop.over, env)
    return () if isinstance(things, Unknown) else things


def _hidden(value: object) -> bool:
    """Return whether a value is too large to be written as evidence: a thing with facts of its own, or a list of such."""
    inner = value if isinstance(value, tuple) else (value,)
    return any(isinstance(each, (BaseModel, dict, tuple)) for each in inner)
