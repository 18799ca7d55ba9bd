"""Reads an expression, checks it against the facts there are, and refuses all else.

The grammar is a closed part of Python's: literals, dotted facts, arithmetic, comparisons, ``in``, ``and or not``,
``A if C else B``, one comprehension inside ``any all count sum min max distinct list``, verbs and units. Nothing is
executed: Python's own parser makes the tree, and only the parts named here are taken from it.
"""

import ast
import warnings
from typing import Final

from advisor.errors import BadValue
from advisor.language import calls, names, operators
from advisor.language.kinds import Kind, alike
from advisor.language.nodes import Node
from advisor.language.reader import Name, Reader, Readers, Scope

__all__ = ["LONGEST", "Name", "Scope", "parse", "require"]

LONGEST: Final = 600

_READERS: Final[Readers] = {
    ast.Constant: names.constant,
    ast.Name: names.fact,
    ast.Attribute: names.fact,
    ast.BoolOp: operators.logic,
    ast.UnaryOp: operators.unary,
    ast.BinOp: operators.arithmetic,
    ast.Compare: operators.compare,
    ast.IfExp: operators.choose,
    ast.List: calls.items,
    ast.Call: calls.call,
    ast.GeneratorExp: calls.loop,
}


def parse(text: str, scope: Scope) -> Node:
    """Return the checked expression; refuse with BadValue what is not of the language or does not fit the facts."""
    if not isinstance(text, str) or not text.strip():
        raise BadValue("an expression is expected", cure="write a fact, such as kernel.numa_balancing")
    if len(text) > LONGEST:
        raise BadValue(f"an expression of {len(text)} letters", cure=f"at most {LONGEST}; name a part of it with let")
    return Reader(text.strip(), scope, _READERS).read(_tree(text.strip()))


def _tree(text: str) -> ast.expr:
    """Return Python's tree; what Python only warns of, such as a wrong escape in a text, is refused too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, Warning, RecursionError, MemoryError) as error:
        where = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise BadValue(f"not an expression{where}: {text[:80]}", cure=_cure(text)) from error


def _cure(text: str) -> str:
    """Return what may have been meant by what Python's grammar has not."""
    for wrong, right in (("&&", "and"), ("||", "or"), ("=", "=="), ("!", "not")):
        if wrong in text and not any(sign in text for sign in ("==", "!=", "<=", ">=")):
            return f"write {right} for {wrong}"
    return "see rules/README.md"


def require(node: Node, kind: Kind, what: str) -> Node:
    """Return the expression if it yields the kind; refuse it otherwise."""
    if not alike(node.kind, kind):
        raise BadValue(f"{what} must be a {kind}, {node.text} is a {node.kind}")
    return node
