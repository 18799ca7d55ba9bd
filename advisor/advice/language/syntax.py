"""Walks Python's tree of an expression; reads literals, units, facts, lists and calls, and refuses what is in no table."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from advisor.advice.language.functions import UNITS, VERBS, WORDS, Gather, Items, Loop, fact_of, items_of
from advisor.advice.language.kinds import NOTHING, NUMBER, TRUTH, Kind, Record, Text, Unknown, alike, joined, listed
from advisor.advice.language.tree import Apply, Constant, Fact, Known, Node
from advisor.errors import BadValue, did_you_mean

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
        before = self.text.splitlines()[getattr(tree, "lineno", 1) - 1 :][:1]  # Python counts bytes, people letters
        column = len("".join(before).encode()[: getattr(tree, "col_offset", 0)].decode(errors="ignore")) + 1
        raise BadValue(f"column {column}: {problem}", cure=cure or "see rules/README.md")


Readers = Mapping[type[ast.expr], Callable[[Reader, Any], Node]]


def unfit(name: str, scope: Scope) -> str | None:
    """Return why a name cannot be given to a value; None where it can."""
    if name in scope:
        return f"{name} is the name of a fact already"
    if name in _TAKEN:
        return f"{name} is a word of the language"
    return None if _NAME.fullmatch(name) else f"{name[:60]} is not a name: small letters, digits and _"


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
    return reader.refuse(tree, f"{text} is not a literal of the rule language", "numbers, texts, True and False are")


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
    unit = None
    for at, name in enumerate(names):
        kind, outer = _inner(reader, tree, kind, ".".join([first, *names[:at]]), name), kind
        unit = outer.unit(name) if isinstance(outer, Record) else None
    return Fact(".".join([first, *names]), kind, (first, *names), ".".join([origin, *names]), unit)


def _word(reader: Reader, tree: ast.expr, name: str, rest: list[str]) -> Node:
    """Return a unit or ``unknown``; refuse any other name."""
    if not rest and name == "unknown":
        return Constant(name, NOTHING, Unknown())
    if not rest and name in UNITS:
        return Constant(name, NUMBER, UNITS[name])
    cure = did_you_mean(name, [*reader.scope, *UNITS, *VERBS, *WORDS], "see advisor rules facts")
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


_LOOPS: Final = 3
_ITEMS: Final = 64
_KNOWN: Final = "known"


def items(reader: Reader, tree: ast.List) -> Node:
    """Return a list written out."""
    if len(tree.elts) > _ITEMS:
        reader.refuse(tree, f"a list of {len(tree.elts)} items", f"at most {_ITEMS}")
    nodes = tuple(reader.read(each) for each in tree.elts)
    kind: Kind = NOTHING
    for node in nodes:
        if not alike(kind, node.kind):
            reader.refuse(tree, f"{node.text} is a {node.kind}, the items before it are not")
        kind = joined(kind, node.kind)
    return Items(reader.words(tree), listed(kind), nodes)


def call(reader: Reader, tree: ast.Call) -> Node:
    """Return a verb or a gathering word applied."""
    name = tree.func.id if isinstance(tree.func, ast.Name) else ""
    if tree.keywords or any(isinstance(each, ast.Starred) for each in tree.args):
        reader.refuse(tree, f"{name or 'a verb'} takes plain arguments")
    if name in WORDS:
        return _gather(reader, tree, name)
    return _known(reader, tree) if name == _KNOWN else _verb(reader, tree, name)


def _known(reader: Reader, tree: ast.Call) -> Node:
    if len(tree.args) != 1:
        reader.refuse(tree, f"known takes 1 argument, not {len(tree.args)}")
    return Known(reader.words(tree), TRUTH, reader.read(tree.args[0]))


def _verb(reader: Reader, tree: ast.Call, name: str) -> Node:
    """Return a verb applied to as many arguments of such kinds as it takes."""
    if name not in VERBS:
        every = sorted([*VERBS, *WORDS, _KNOWN])
        cure = did_you_mean(name, every, f"there are {', '.join(every)}")
        reader.refuse(tree, f"there is no verb {reader.words(tree.func)}", cure)
    verb = VERBS[name]
    if len(tree.args) != len(verb.takes):
        wanted = ", ".join(str(kind) for kind in verb.takes)
        reader.refuse(tree, f"{name} takes {len(verb.takes)} arguments, not {len(tree.args)}", f"{name}({wanted})")
    nodes = tuple(reader.read(each) for each in tree.args)
    for node, kind in zip(nodes, verb.takes, strict=True):
        if not alike(node.kind, kind):
            reader.refuse(tree, f"{name} needs a {kind}, {node.text} is a {node.kind}")
    return Apply(reader.words(tree), verb.gives, verb.function, nodes)


def _gather(reader: Reader, tree: ast.Call, name: str) -> Node:
    """Return ``any all count sum min max distinct list`` of a list, a comprehension, or several numbers."""
    word = WORDS[name]
    node = reader.read(tree.args[0]) if len(tree.args) == 1 else _several(reader, tree, name)
    item = items_of(node.kind)
    if item is None:
        reader.refuse(tree, f"{name} needs a list, {node.text} is a {node.kind}")
    if item != NOTHING and not word.suits(item):
        reader.refuse(tree, f"{name} cannot take a {node.kind}")
    return Gather(reader.words(tree), word.gives(item), word.function, node)


def _several(reader: Reader, tree: ast.Call, name: str) -> Node:
    """Return ``min(a, b)``'s arguments as a list."""
    if name not in ("min", "max") or not tree.args:
        reader.refuse(tree, f"{name} takes one list")
    if len(tree.args) > _ITEMS:
        reader.refuse(tree, f"{len(tree.args)} arguments", f"at most {_ITEMS}")
    nodes = tuple(reader.number(each) for each in tree.args)
    return Items(reader.words(tree), listed(NUMBER), nodes)


def loop(reader: Reader, tree: ast.GeneratorExp) -> Node:
    """Return a comprehension: one ``for``, at most one ``if``."""
    if len(tree.generators) != 1 or len(tree.generators[0].ifs) > 1 or tree.generators[0].is_async:
        reader.refuse(tree, "a comprehension has one for and at most one if", "put a second one inside another word")
    if reader.loops >= _LOOPS:
        reader.refuse(tree, f"more than {_LOOPS} comprehensions inside one another")
    part = tree.generators[0]
    name = part.target.id if isinstance(part.target, ast.Name) else reader.words(part.target)
    problem = unfit(name, reader.scope)
    if problem:
        reader.refuse(part.target, problem, "the variable of a comprehension must be a new name")
    over = reader.read(part.iter)
    item = items_of(over.kind)
    if item is None:
        reader.refuse(tree, f"{over.text} is a {over.kind}, no list to run over")
    inner = reader.within(name, Name(item, fact_of(over)))
    condition = inner.truth(part.ifs[0]) if part.ifs else None
    element = inner.read(tree.elt)
    return Loop(reader.words(tree), listed(element.kind), name, over, condition, element)
