"""Reads lists, comprehensions, verbs and the words that gather a list into one value."""

import ast
from typing import Final

from advisor.errors import did_you_mean
from advisor.language.gather import WORDS, items_of
from advisor.language.kinds import NOTHING, NUMBER, TRUTH, Kind, alike, joined, listed
from advisor.language.lists import Gather, Items, Loop, fact_of
from advisor.language.nodes import Apply, Known, Node
from advisor.language.reader import Name, Reader, unfit
from advisor.language.verbs import VERBS

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
