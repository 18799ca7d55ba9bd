"""Walks Python's tree of an expression: what is not in the table of readers is refused."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from advisor.errors import BadValue
from advisor.language.kinds import NUMBER, TRUTH, Kind, alike
from advisor.language.nodes import Node
from advisor.language.verbs import UNITS

_DEEPEST: Final = 24
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}", re.ASCII)
_TAKEN: Final = frozenset(("unknown", "known", *UNITS))


class Name(NamedTuple):
    """What a name stands for: its kind, and the fact it is (of a loop's variable, the list it runs over)."""

    kind: Kind
    fact: str


Scope = Mapping[str, Name]


class Reader:
    """Turns Python's tree into ours."""

    def __init__(self, text: str, scope: Scope, readers: "Readers") -> None:
        self.text, self.scope, self.depth, self.loops = text, scope, 0, 0
        self._readers = readers
        self._plain = text.isascii() and "\n" not in text and "\f" not in text

    def read(self, tree: ast.expr) -> Node:
        """Return the node of a tree."""
        reader = self._readers.get(type(tree))
        if reader is None:
            self.refuse(tree, f"{self.words(tree)} is not part of the rule language")
        if self.depth >= _DEEPEST:
            self.refuse(tree, "nested too deeply", "name a part of it with let")
        self.depth += 1
        node = reader(self, tree)
        self.depth -= 1
        return node

    def within(self, name: str, what: Name) -> "Reader":
        """Return a reader for the inside of a comprehension, where one more name stands for something."""
        inner = Reader(self.text, {**self.scope, name: what}, self._readers)
        inner.depth, inner.loops = self.depth, self.loops + 1
        return inner

    def truth(self, tree: ast.expr) -> Node:
        """Return an expression that yields a truth value."""
        node = self.read(tree)
        if not alike(node.kind, TRUTH):
            self.refuse(tree, f"{node.text} is a {node.kind}, a truth value is expected", "compare it with something")
        return node

    def number(self, tree: ast.expr) -> Node:
        """Return an expression that yields a number."""
        node = self.read(tree)
        if not alike(node.kind, NUMBER):
            self.refuse(tree, f"{node.text} is a {node.kind}, a number is expected")
        return node

    def words(self, tree: ast.AST) -> str:
        """Return the text that a tree was read from."""
        if self._plain and isinstance(tree, ast.expr):
            return self.text[tree.col_offset : tree.end_col_offset][:80]
        return (ast.get_source_segment(self.text, tree) or self.text)[:80]

    def refuse(self, tree: ast.AST, problem: str, cure: str | None = None) -> NoReturn:
        """Refuse a part."""
        column = getattr(tree, "col_offset", 0) + 1
        raise BadValue(f"column {column}: {problem}", cure=cure or "see rules/README.md")


Readers = Mapping[type[ast.expr], Callable[[Reader, Any], Node]]


def unfit(name: str, scope: Scope) -> str | None:
    """Return why a name cannot be given to a value; None where it can."""
    if name in scope:
        return f"{name} is the name of a fact already"
    if name in _TAKEN:
        return f"{name} is a word of the language"
    return None if _NAME.fullmatch(name) else f"{name[:60]} is no name: small letters, digits and _"
