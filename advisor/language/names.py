"""Reads literals, units and dotted facts."""

import ast

from advisor.errors import BadValue, did_you_mean
from advisor.language.gather import WORDS, items_of
from advisor.language.kinds import NOTHING, NUMBER, TRUTH, Kind, Record, Text
from advisor.language.nodes import Constant, Fact, Node
from advisor.language.reader import Reader
from advisor.language.values import Unknown
from advisor.language.verbs import UNITS, VERBS

_LARGEST = 1e30
_LONGEST = 200


def constant(reader: Reader, tree: ast.Constant) -> Node:
    """Return a literal."""
    value, text = tree.value, reader.words(tree)
    if isinstance(value, bool):
        return Constant(text, TRUTH, value)
    if isinstance(value, (int, float)) and abs(value) < _LARGEST:
        return Constant(text, NUMBER, value)
    if isinstance(value, str) and len(value) <= _LONGEST:
        return Constant(text, Text(options=(value,)), value)
    return reader.refuse(tree, f"{text} is no literal of the rule language", "numbers, texts, True and False are")


def fact(reader: Reader, tree: ast.Name | ast.Attribute) -> Node:
    """Return a dotted fact, a unit, or ``unknown``."""
    names: list[str] = []
    inner: ast.expr = tree
    while isinstance(inner, ast.Attribute):
        names.insert(0, inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        reader.refuse(tree, f"{reader.words(tree)}: facts are names joined by dots")
    first = inner.id
    if first not in reader.scope:
        return _word(reader, tree, first, names)
    kind, origin = reader.scope[first]
    for at, name in enumerate(names):
        kind = _inner(reader, tree, kind, ".".join([first, *names[:at]]), name)
    return Fact(".".join([first, *names]), kind, (first, *names), ".".join([origin, *names]))


def _word(reader: Reader, tree: ast.expr, name: str, rest: list[str]) -> Node:
    """Return a unit or ``unknown``; refuse any other name."""
    if not rest and name == "unknown":
        return Constant(name, NOTHING, Unknown())
    if not rest and name in UNITS:
        return Constant(name, NUMBER, UNITS[name])
    cure = did_you_mean(name, [*reader.scope, *UNITS, *VERBS, *WORDS], "see docs/reference/rule-facts.md")
    return reader.refuse(tree, f"there is no fact {name[:60]}", cure)


def _inner(reader: Reader, tree: ast.expr, kind: Kind, path: str, name: str) -> Kind:
    """Return the kind of a fact inside what a path leads to."""
    if not isinstance(kind, Record):
        hint = f"run over it: any(x.{name} ... for x in {path})" if items_of(kind) else None
        reader.refuse(tree, f"{path} is a {kind} and has no facts in it", hint)
    try:
        return kind.fact(name)
    except BadValue as error:
        reader.refuse(tree, error.problem, error.cure)
