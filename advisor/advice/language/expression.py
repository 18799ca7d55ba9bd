"""Reads an expression, checks it against the facts there are, and refuses all else.

The grammar is a closed part of Python's: literals, dotted facts, arithmetic, comparisons, ``in``, ``and or not``,
``A if C else B``, one comprehension inside ``any all count sum min max distinct list``, verbs and units. Nothing is
executed: Python's own parser makes the tree, and only the parts named here are taken from it.
"""

import ast
import operator
import warnings
from collections.abc import Callable
from typing import Any, Final

from advisor.advice.language import syntax
from advisor.advice.language.functions import UNITS, Items, items_of
from advisor.advice.language.kinds import CPUS, NOTHING, NUMBER, TRUTH, Kind, Text, alike, both, either, joined
from advisor.advice.language.syntax import Name, Reader, Readers, Scope
from advisor.advice.language.tree import Apply, Choose, Compare, Constant, Fact, Logic, Member, Node, Not
from advisor.errors import BadValue, did_you_mean

Function = Callable[[Any, Any], Any]

_ARITHMETIC: dict[type[ast.operator], Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SETS: dict[type[ast.operator], Function] = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Sub: operator.sub}
_ORDER: dict[type[ast.cmpop], Function] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SAME: dict[type[ast.cmpop], Function] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}


def logic(reader: Reader, tree: ast.BoolOp) -> Node:
    """Return ``and`` or ``or``."""
    operands = tuple(reader.truth(value) for value in tree.values)
    return Logic(reader.words(tree), TRUTH, both if isinstance(tree.op, ast.And) else either, operands)


def unary(reader: Reader, tree: ast.UnaryOp) -> Node:
    """Return ``not`` or a signed number."""
    if isinstance(tree.op, ast.Not):
        return Not(reader.words(tree), TRUTH, reader.truth(tree.operand))
    if isinstance(tree.op, ast.USub):
        return Apply(reader.words(tree), NUMBER, operator.neg, (reader.number(tree.operand),))
    return reader.refuse(tree, f"{reader.words(tree)} is not part of the rule language")


def arithmetic(reader: Reader, tree: ast.BinOp) -> Node:
    """Return arithmetic on numbers, or algebra on sets of CPUs."""
    left, right = reader.read(tree.left), reader.read(tree.right)
    if CPUS in (left.kind, right.kind) and alike(left.kind, right.kind) and type(tree.op) in _SETS:
        return Apply(reader.words(tree), CPUS, _SETS[type(tree.op)], (left, right))
    function = _ARITHMETIC.get(type(tree.op))
    if function is None:
        reader.refuse(tree, f"{reader.words(tree)}: numbers take + - * / // %")
    for node in (left, right):
        if not alike(node.kind, NUMBER):
            reader.refuse(tree, f"{node.text} is a {node.kind}, arithmetic needs numbers")
    return Apply(reader.words(tree), NUMBER, function, (left, right))


def compare(reader: Reader, tree: ast.Compare) -> Node:
    """Return a comparison, or membership."""
    operands = tuple(reader.read(each) for each in (tree.left, *tree.comparators))
    if isinstance(tree.ops[0], (ast.In, ast.NotIn)):
        if len(tree.ops) > 1:
            reader.refuse(tree, "in does not stand in a chain")
        return _member(reader, tree, operands[0], operands[1])
    tests = tuple(_test(reader, tree, op, a, b) for op, a, b in zip(tree.ops, operands, operands[1:], strict=False))
    return Compare(reader.words(tree), TRUTH, operands, tests)


def _test(reader: Reader, tree: ast.Compare, op: ast.cmpop, left: Node, right: Node) -> Function:
    """Return the function of one comparison after looking at its kinds."""
    if not alike(left.kind, right.kind):
        cure = "for an empty set there is size(...) == 0" if CPUS in (left.kind, right.kind) else None
        reader.refuse(tree, f"{left.text} is a {left.kind}, {right.text} a {right.kind}: they cannot be compared", cure)
    for fact, other in ((left, right), (right, left)):
        if isinstance(fact, Fact) and fact.unit in _MEASURED:
            _measured(reader, tree, fact, other)
    if type(op) in _SAME:
        _spelt(reader, tree, left, right)
        return _SAME[type(op)]
    if type(op) not in _ORDER:
        reader.refuse(tree, "only == != < <= > >= and in compare", "write == or !=, and known(...) for what could be read")
    if any(not alike(node.kind, NUMBER) and node.kind != CPUS for node in (left, right)):
        reader.refuse(tree, f"{left.text} and {right.text} have no order", "numbers and sets of CPUs have; see before, older")
    return _ORDER[type(op)]


_MEASURED: Final = {
    "bytes": ("GiB", "KiB", "MiB", "TiB", "GB"),
    "bytes/s": ("GB", "KiB", "MiB", "GiB", "TiB"),
    "bits/s": ("Gb",),
    "hertz": ("GHz", "MHz"),
    "transfers/s": ("MT", "GT"),
    "seconds": ("us", "ns"),
}
"""Units that are too small to be written alone, with the factors that make them."""
_BARE: Final = 1000
"""Below it a number of bytes, of bits or bytes a second, of hertz or of transfers lacks its factor; 0 and 1 are meant."""


def _measured(reader: Reader, tree: ast.AST, fact: Fact, other: Node) -> None:
    """Refuse a number of another unit than the fact it is compared with, and one without a unit that cannot be meant."""
    factors = _MEASURED[fact.unit or ""]
    for part in (other, *(other.operands if isinstance(other, Apply) else ())):
        if isinstance(part, Constant) and part.text in UNITS and part.text not in factors:
            reader.refuse(tree, f"{fact.text} counts {fact.unit}, and {part.text} does not", f"write {', '.join(factors)}")
    number = other.constant if isinstance(other, Constant) and other.text not in UNITS else None
    if isinstance(number, int) and fact.unit != "seconds" and 1 < number < _BARE:
        cure = f"write {number} * {factors[0]}"
        reader.refuse(tree, f"{fact.text} counts {fact.unit}, and {number} has no unit", cure)


def _spelt(reader: Reader, tree: ast.AST, left: Node, right: Node) -> None:
    """Refuse words that a fact never is; two literals are nobody's mistake."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return
    fact, word = (right, left) if isinstance(left, Constant) else (left, right)
    _is_one(reader, tree, fact, _options(fact), _options(word))


def _options(node: Node) -> tuple[str, ...]:
    inner = items_of(node.kind) or node.kind
    return inner.options if isinstance(inner, Text) else ()


def _is_one(reader: Reader, tree: ast.AST, fact: Node, options: tuple[str, ...], said: tuple[str, ...]) -> None:
    if options and said and not set(options) & set(said):
        cure = did_you_mean(said[0], options, f"it is one of {', '.join(options)}"[:200], cutoff=0.4)
        reader.refuse(tree, f"{fact.text} is never {said[0]!r}", cure)


def _member(reader: Reader, tree: ast.Compare, item: Node, group: Node) -> Node:
    """Return ``in`` or ``not in``."""
    inside = NUMBER if group.kind == CPUS else items_of(group.kind)
    if inside is None and group.kind != NOTHING:
        reader.refuse(tree, f"{group.text} is a {group.kind}, in needs a list", "for texts there are contains() and starts()")
    if inside is not None and not alike(item.kind, inside):
        reader.refuse(tree, f"{item.text} is a {item.kind}, {group.text} a {group.kind}")
    for each in group.operands if isinstance(group, Items) else ():
        _spelt(reader, tree, item, each)
    if isinstance(item, Constant) and not isinstance(group, Items):
        _is_one(reader, tree, group, _options(group), _options(item))
    return Member(reader.words(tree), TRUTH, item, group, isinstance(tree.ops[0], ast.In))


def choose(reader: Reader, tree: ast.IfExp) -> Node:
    """Return ``A if C else B``."""
    then, otherwise = reader.read(tree.body), reader.read(tree.orelse)
    if not alike(then.kind, otherwise.kind):
        problem = f"{then.text} is a {then.kind}, {otherwise.text} a {otherwise.kind}"
        reader.refuse(tree, problem, "both must be of one kind")
    return Choose(reader.words(tree), joined(then.kind, otherwise.kind), reader.truth(tree.test), then, otherwise)


__all__ = ["LONGEST", "Name", "Scope", "parse", "require"]

LONGEST: Final = 600

_READERS: Final[Readers] = {
    ast.Constant: syntax.constant,
    ast.Name: syntax.fact,
    ast.Attribute: syntax.fact,
    ast.BoolOp: logic,
    ast.UnaryOp: unary,
    ast.BinOp: arithmetic,
    ast.Compare: compare,
    ast.IfExp: choose,
    ast.List: syntax.items,
    ast.Call: syntax.call,
    ast.GeneratorExp: syntax.loop,
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
