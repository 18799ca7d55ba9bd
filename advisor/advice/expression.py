"""Reads an expression, or a sentence with expressions in braces, checks it against the facts there are, and refuses all else.

The grammar is a closed part of Python's: literals, dotted facts, arithmetic, comparisons, ``in``, ``and or not``,
``A if C else B``, one comprehension inside ``any all count sum min max distinct list``, verbs and units. Nothing is
executed: Python's own parser makes the tree, and only the parts named here are taken from it.
"""

import ast
import operator
import re
import shlex
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from advisor.advice.expression_tree import (
    CPUS,
    NOTHING,
    NUMBER,
    TRUTH,
    UNITS,
    VERBS,
    WORDS,
    Apply,
    Choose,
    Compare,
    Constant,
    Env,
    Fact,
    Gather,
    Items,
    Kind,
    ListOf,
    Logic,
    Loop,
    Node,
    Open,
    Record,
    Text,
    Unknown,
    alike,
    both,
    either,
    fact_of,
    items_of,
    joined,
    lacking,
    listed,
    opposite,
)
from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.units import binary, bit_rate, clock, duration, lane_speed, memory_clock, plain, throughput

LONGEST = 600
_DEEPEST = 24
_LARGEST = 1e30
_LONGEST_TEXT = 200
_LOOPS = 3
_ITEMS = 64
_KNOWN = "known"

Function = Callable[[Any, Any], Any]

_ARITHMETIC: dict[type[ast.operator], Function] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_SETS: dict[type[ast.operator], Function] = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Sub: operator.sub}
_SAME: dict[type[ast.cmpop], Function] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
_ORDER: dict[type[ast.cmpop], Function] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip

_MEASURED = {
    "bytes": ("GiB", "KiB", "MiB", "TiB", "GB"),
    "bytes/s": ("GB", "KiB", "MiB", "GiB", "TiB"),
    "bits/s": ("Gb",),
    "hertz": ("GHz", "MHz"),
    "transfers/s": ("MT", "GT"),
    "seconds": ("us", "ns"),
}
"""Units that are too small to be written alone, with the factors that make them."""
_BARE = 1000
"""Below it a number of bytes, of bits or bytes a second, of hertz or of transfers lacks its factor; 0 and 1 are meant."""


class Name(NamedTuple):
    """What a name stands for: its kind, and the fact it is (of a loop's variable, the list it runs over)."""

    kind: Kind
    fact: str


Scope = Mapping[str, Name]


def parse(text: str, scope: Scope) -> Node:
    """Return the checked expression; refuse with BadValue what is not of the language or does not fit the facts."""
    if not isinstance(text, str) or not text.strip():
        raise BadValue("an expression is expected", cure="write a fact, such as kernel.numa_balancing")
    if len(text) > LONGEST:
        raise BadValue(f"the expression has {len(text)} characters", cure=f"at most {LONGEST}; define part of it with let")
    text = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python only warns of, such as a wrong escape in a text, is refused too
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, Warning, RecursionError, MemoryError) as error:
        where = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise BadValue(f"not an expression{where}: {text[:80]}", cure=_cure(text)) from error
    return _Reader(text, scope).read(tree)


def _cure(text: str) -> str:
    """Return what may have been meant by what Python's grammar has not."""
    for wrong, right in (("&&", "and"), ("||", "or"), ("=", "=="), ("!", "not")):
        if wrong in text and not any(sign in text for sign in ("==", "!=", "<=", ">=")):
            return f"write {right} for {wrong}"
    return "see rules/README.md"


def require(node: Node, kind: Kind, what: str) -> Node:
    """Return the expression if it yields the kind; refuse it otherwise."""
    if not alike(node.kind, kind):
        raise BadValue(f"{what} must be a {kind}, but {node.text} is a {node.kind}")
    return node


def unfit(name: str, scope: Scope) -> str | None:
    """Return why a name cannot be given to a value; None where it can."""
    if name in scope:
        return f"{name} is already the name of a fact"
    if name in ("unknown", _KNOWN, *UNITS):
        return f"{name} is a reserved word of the language"
    fits = re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name, re.ASCII)
    return None if fits else f"{name[:60]} is not a name; use lower-case letters, digits and _"


class _Reader:
    """Turns Python's tree into ours."""

    def __init__(self, text: str, scope: Scope, depth: int = 0, loops: int = 0) -> None:
        self.text, self.scope, self.depth, self.loops = text, scope, depth, loops
        self._plain = text.isascii() and "\n" not in text and "\f" not in text

    def read(self, tree: ast.expr) -> Node:
        """Return the node of a tree."""
        reader = _READERS.get(type(tree))
        if reader is None:
            self.refuse(tree, f"{self.words(tree)} is not part of the rule language")
        if self.depth >= _DEEPEST:
            self.refuse(tree, "nested too deeply", "define part of it with let")
        self.depth += 1
        node = reader(self, tree)
        self.depth -= 1
        return node

    def truth(self, tree: ast.expr) -> Node:
        """Return an expression that yields a truth value."""
        node = self.read(tree)
        if not alike(node.kind, TRUTH):
            self.refuse(tree, f"{node.text} is a {node.kind}, but a truth value is expected", "compare it with a value")
        return node

    def number(self, tree: ast.expr) -> Node:
        """Return an expression that yields a number."""
        node = self.read(tree)
        if not alike(node.kind, NUMBER):
            self.refuse(tree, f"{node.text} is a {node.kind}, but a number is expected")
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

    def constant(self, tree: ast.Constant) -> Node:
        """Return a literal."""
        value, text = tree.value, self.words(tree)
        if isinstance(value, bool):
            return Constant(text, TRUTH, (), value)
        if isinstance(value, (int, float)) and abs(value) < _LARGEST:
            return Constant(text, NUMBER, (), value)
        if isinstance(value, str) and len(value) <= _LONGEST_TEXT:
            return Constant(text, Text(options=(value,)), (), value)
        return self.refuse(tree, f"{text} is not a literal of the rule language", "use a number, quoted text, True or False")

    def fact(self, tree: ast.Name | ast.Attribute) -> Node:
        """Return a dotted fact, a unit, or ``unknown``."""
        names: list[str] = []
        inner: ast.expr = tree
        while isinstance(inner, ast.Attribute):
            names.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self.refuse(tree, f"{self.words(tree)}: facts are names joined by dots")
        first = inner.id
        if first not in self.scope:
            if not names and first == "unknown":
                return Constant(first, NOTHING, (), Unknown())
            if not names and first in UNITS:
                return Constant(first, NUMBER, (), UNITS[first])
            cure = did_you_mean(first, [*self.scope, *UNITS, *VERBS, *WORDS], "see advisor rules facts")
            self.refuse(tree, f"there is no fact {first[:60]}", cure)
        kind, origin = self.scope[first]
        unit = None
        for at, name in enumerate(names):
            if not isinstance(kind, Record):
                path = ".".join([first, *names[:at]])
                hint = f"loop over it: any(x.{name} ... for x in {path})" if items_of(kind) else None
                self.refuse(tree, f"{path} is a {kind} and contains no facts", hint)
            try:
                unit = kind.unit(name)
                kind = kind.fact(name)
            except BadValue as error:
                self.refuse(tree, error.problem, error.cure)
        return Fact(".".join([first, *names]), kind, (), (first, *names), ".".join([origin, *names]), unit)

    def logic(self, tree: ast.BoolOp) -> Node:
        """Return ``and`` or ``or``."""
        operands = tuple(self.truth(value) for value in tree.values)
        return Logic(self.words(tree), TRUTH, operands, both if isinstance(tree.op, ast.And) else either)

    def unary(self, tree: ast.UnaryOp) -> Node:
        """Return ``not`` or a signed number."""
        if isinstance(tree.op, ast.Not):
            return Open(self.words(tree), TRUTH, (self.truth(tree.operand),), lambda values: opposite(next(values)))
        if isinstance(tree.op, ast.USub):
            return Apply(self.words(tree), NUMBER, (self.number(tree.operand),), operator.neg)
        return self.refuse(tree, f"{self.words(tree)} is not part of the rule language")

    def arithmetic(self, tree: ast.BinOp) -> Node:
        """Return arithmetic on numbers, or algebra on sets of CPUs."""
        operands = left, right = self.read(tree.left), self.read(tree.right)
        if CPUS in (left.kind, right.kind) and alike(left.kind, right.kind) and type(tree.op) in _SETS:
            return Apply(self.words(tree), CPUS, operands, _SETS[type(tree.op)])
        function = _ARITHMETIC.get(type(tree.op))
        if function is None:
            self.refuse(tree, f"{self.words(tree)}: numbers take + - * / // %")
        for node in operands:
            if not alike(node.kind, NUMBER):
                self.refuse(tree, f"{node.text} is a {node.kind}; arithmetic needs numbers")
        return Apply(self.words(tree), NUMBER, operands, function)

    def choose(self, tree: ast.IfExp) -> Node:
        """Return ``A if C else B``."""
        then, otherwise = self.read(tree.body), self.read(tree.orelse)
        if not alike(then.kind, otherwise.kind):
            problem = f"{then.text} is a {then.kind}, {otherwise.text} a {otherwise.kind}"
            self.refuse(tree, problem, "both must be of the same kind")
        return Choose(self.words(tree), joined(then.kind, otherwise.kind), (self.truth(tree.test), then, otherwise))

    def compare(self, tree: ast.Compare) -> Node:
        """Return a comparison, or a chain of them, or membership."""
        operands = tuple(map(self.read, (tree.left, *tree.comparators)))
        if isinstance(tree.ops[0], (ast.In, ast.NotIn)):
            if len(tree.ops) > 1:
                self.refuse(tree, "'in' cannot be chained")
            return self.member(tree, operands)
        links = zip(tree.ops, operands, operands[1:], strict=False)
        tests = tuple(self.test(tree, op, left, right) for op, left, right in links)
        return Compare(self.words(tree), TRUTH, operands, tests)

    def test(self, tree: ast.Compare, op: ast.cmpop, left: Node, right: Node) -> Function:
        """Return the function of one comparison after looking at its kinds."""
        if not alike(left.kind, right.kind):
            cure = "for an empty set use size(...) == 0" if CPUS in (left.kind, right.kind) else None
            self.refuse(tree, f"{left.text} is a {left.kind}, {right.text} a {right.kind}: they cannot be compared", cure)
        self.must_be_of_unit(tree, left, right)
        self.must_be_of_unit(tree, right, left)
        if type(op) in _SAME:
            self.must_be_one(tree, left, right)
            return _SAME[type(op)]
        if type(op) not in _ORDER:
            cure = "write == or !=, or use known(...) to test whether it could be read"
            self.refuse(tree, "only == != < <= > >= and in compare", cure)
        if any(not alike(node.kind, NUMBER) and node.kind != CPUS for node in (left, right)):
            cure = "only numbers and sets of CPUs can be ordered; for dates and versions write before(...) or older(...)"
            self.refuse(tree, f"{left.text} and {right.text} cannot be ordered", cure)
        return _ORDER[type(op)]

    def must_be_of_unit(self, tree: ast.AST, fact: Node, other: Node) -> None:
        """Refuse a number of another unit than the fact it is compared with, and one without a unit that cannot be meant."""
        if not isinstance(fact, Fact) or fact.unit not in _MEASURED:
            return
        factors = _MEASURED[fact.unit or ""]
        for part in (other, *(other.operands if isinstance(other, Apply) else ())):
            if isinstance(part, Constant) and part.text in UNITS and part.text not in factors:
                self.refuse(tree, f"{fact.text} is in {fact.unit}, but {part.text} is not", f"write {', '.join(factors)}")
        number = other.constant if isinstance(other, Constant) and other.text not in UNITS else None
        if isinstance(number, int) and fact.unit != "seconds" and 1 < number < _BARE:
            cure = f"write {number} * {factors[0]}"
            self.refuse(tree, f"{fact.text} is in {fact.unit}, but {number} has no unit", cure)

    def must_be_one(self, tree: ast.AST, left: Node, right: Node) -> None:
        """Refuse words that a fact never is; two literals are nobody's mistake."""
        if isinstance(left, Constant) and isinstance(right, Constant):
            return
        fact, word = (right, left) if isinstance(left, Constant) else (left, right)
        options, given = _options(fact), _options(word)
        if options and given and not set(options) & set(given):
            cure = did_you_mean(given[0], options, f"use one of {', '.join(options)}"[:200], cutoff=0.4)
            self.refuse(tree, f"{fact.text} is never {given[0]!r}", cure)

    def member(self, tree: ast.Compare, operands: tuple[Node, ...]) -> Node:
        """Return ``in`` or ``not in``."""
        item, group = operands
        inside = NUMBER if group.kind == CPUS else items_of(group.kind)
        if inside is None and group.kind != NOTHING:
            cure = "for text, use contains() or starts()"
            self.refuse(tree, f"{group.text} is a {group.kind}, but in needs a list", cure)
        if inside is not None and not alike(item.kind, inside):
            self.refuse(tree, f"{item.text} is a {item.kind}, {group.text} a {group.kind}")
        for each in group.operands if isinstance(group, Items) else (group,) if isinstance(item, Constant) else ():
            self.must_be_one(tree, item, each)
        wanted = isinstance(tree.ops[0], ast.In)
        return Open(self.words(tree), TRUTH, operands, lambda values: _is_in(*values) if wanted else opposite(_is_in(*values)))

    def items(self, tree: ast.List) -> Node:
        """Return a list written out."""
        if len(tree.elts) > _ITEMS:
            self.refuse(tree, f"a list of {len(tree.elts)} items", f"at most {_ITEMS}")
        nodes = tuple(map(self.read, tree.elts))
        kind: Kind = NOTHING
        for node in nodes:
            if not alike(kind, node.kind):
                self.refuse(tree, f"{node.text} is a {node.kind}, but the items before it are not")
            kind = joined(kind, node.kind)
        return Items(self.words(tree), listed(kind), nodes, tuple)

    def call(self, tree: ast.Call) -> Node:
        """Return a verb or a gathering word applied."""
        name = tree.func.id if isinstance(tree.func, ast.Name) else ""
        if tree.keywords or any(isinstance(each, ast.Starred) for each in tree.args):
            self.refuse(tree, f"{name or 'a verb'} takes plain arguments")
        if name in WORDS:
            return self.gather(tree, name)
        if name == _KNOWN:
            if len(tree.args) != 1:
                self.refuse(tree, f"known takes 1 argument, not {len(tree.args)}")
            return Open(self.words(tree), TRUTH, (self.read(tree.args[0]),), lambda values: lacking(*values) is None)
        if name not in VERBS:
            every = sorted([*VERBS, *WORDS, _KNOWN])
            cure = did_you_mean(name, every, f"available: {', '.join(every)}")
            self.refuse(tree, f"there is no verb {self.words(tree.func)}", cure)
        verb = VERBS[name]
        if len(tree.args) != len(verb.takes):
            wanted = ", ".join(map(str, verb.takes))
            self.refuse(tree, f"{name} takes {len(verb.takes)} arguments, not {len(tree.args)}", f"{name}({wanted})")
        nodes = tuple(map(self.read, tree.args))
        for node, kind in zip(nodes, verb.takes, strict=True):
            if not alike(node.kind, kind):
                self.refuse(tree, f"{name} needs a {kind}, but {node.text} is a {node.kind}")
        return Apply(self.words(tree), verb.gives, nodes, verb.function)

    def gather(self, tree: ast.Call, name: str) -> Node:
        """Return ``any all count sum min max distinct list`` of a list, a comprehension, or several numbers."""
        if len(tree.args) == 1:
            node = self.read(tree.args[0])
        else:
            if name not in ("min", "max") or not tree.args:
                self.refuse(tree, f"{name} takes one list")
            if len(tree.args) > _ITEMS:
                self.refuse(tree, f"{len(tree.args)} arguments", f"at most {_ITEMS}")
            node = Items(self.words(tree), listed(NUMBER), tuple(map(self.number, tree.args)), tuple)
        word, item = WORDS[name], items_of(node.kind)
        if item is None:
            self.refuse(tree, f"{name} needs a list, {node.text} is a {node.kind}")
        if item != NOTHING and not word.suits(item):
            self.refuse(tree, f"{name} cannot take a {node.kind}")
        return Gather(self.words(tree), word.gives(item), (node,), word.function)

    def loop(self, tree: ast.GeneratorExp) -> Node:
        """Return a comprehension: one ``for``, at most one ``if``."""
        part = tree.generators[0]
        if len(tree.generators) != 1 or len(part.ifs) > 1 or part.is_async:
            self.refuse(tree, "a comprehension takes one for and at most one if", "nest the second one: any(any(...) for ...)")
        if self.loops >= _LOOPS:
            self.refuse(tree, f"more than {_LOOPS} nested comprehensions")
        name = part.target.id if isinstance(part.target, ast.Name) else self.words(part.target)
        if problem := unfit(name, self.scope):
            self.refuse(part.target, problem, "the variable of a comprehension must be a new name")
        over = self.read(part.iter)
        item = items_of(over.kind)
        if item is None:
            self.refuse(tree, f"{over.text} is a {over.kind}, not a list to iterate over")
        inner = _Reader(self.text, {**self.scope, name: Name(item, fact_of(over))}, self.depth, self.loops + 1)
        condition = inner.truth(part.ifs[0]) if part.ifs else None
        element = inner.read(tree.elt)
        return Loop(self.words(tree), listed(element.kind), (over,), name, condition, element)


_READERS: Mapping[type[ast.expr], Callable[[_Reader, Any], Node]] = {
    ast.Constant: _Reader.constant,
    ast.Name: _Reader.fact,
    ast.Attribute: _Reader.fact,
    ast.BoolOp: _Reader.logic,
    ast.UnaryOp: _Reader.unary,
    ast.BinOp: _Reader.arithmetic,
    ast.Compare: _Reader.compare,
    ast.IfExp: _Reader.choose,
    ast.List: _Reader.items,
    ast.Call: _Reader.call,
    ast.GeneratorExp: _Reader.loop,
}


def _options(node: Node) -> tuple[str, ...]:
    inner = items_of(node.kind) or node.kind
    return inner.options if isinstance(inner, Text) else ()


def _is_in(item: Any, group: Any) -> Any:
    """Return whether an item is in a group; an unknown item of the group may be the one."""
    if (want := lacking(item, group) if isinstance(group, Unknown) else lacking(item)) is not None:
        return want
    if isinstance(group, tuple):
        return either(each == item if (gap := lacking(each)) is None else gap for each in group)
    return int(item) in group if item == item // 1 else False  # a set of CPUs


FORMATS: Mapping[str, Callable[[float], str]] = {
    "size": lambda value: binary(int(value)),
    "rate": throughput,
    "bits": bit_rate,
    "clock": clock,
    "memory": memory_clock,
    "lane": lane_speed,
    "time": duration,
    "percent": lambda value: f"{100 * value:.0f} %",
    "hex": lambda value: f"{int(value):#x}",
}
"""How a number is written: ``{adapter.path.bandwidth:rate}``."""

LISTED = "list"
"""How values stand in a command: with commas and no blanks, ``--membind={spare:list}``."""

_PART = re.compile(r"\{([^{}]*)\}")
_LONGEST = 2000


@dataclass(frozen=True)
class Sentence:
    """A text with expressions in it."""

    text: str
    parts: tuple[str | tuple[Node, str], ...]

    def nodes(self) -> tuple[Node, ...]:
        """Return the expressions in it."""
        return tuple(part[0] for part in self.parts if not isinstance(part, str))

    def fill(self, env: Env) -> str:
        """Return the sentence with every value in its place; a question mark for what is not known."""
        return "".join(part if isinstance(part, str) else written_value(part[0].value(env), part[1]) for part in self.parts)

    def command(self, env: Env) -> str:
        """Return the same as it is copied into a shell: a name that came from outside is one word there, and says nothing."""
        filled, quoted = [], ""
        for part in self.parts:
            if isinstance(part, str):
                quoted = _quoted_after(part, quoted)
                filled.append(part)
            else:
                filled.append(written_value(part[0].value(env), part[1], name=_between_quotes if quoted else as_word))
        return "".join(filled)


def read_sentence(text: str, scope: Scope) -> Sentence:
    """Return a checked sentence; refuse with BadValue what its braces hold wrongly."""
    if len(text) > _LONGEST:
        raise BadValue(f"the text has {len(text)} characters", cure=f"at most {_LONGEST}")
    parts: list[str | tuple[Node, str]] = []
    end = 0
    for match in _PART.finditer(text):
        parts.append(_plain(text[end : match.start()]))
        parts.append(_filled(match[1], scope))
        end = match.end()
    parts.append(_plain(text[end:]))
    return Sentence(text, tuple(part for part in parts if part))


def _plain(text: str) -> str:
    if "{" in text or "}" in text:
        raise BadValue(f"an unmatched brace: {text.strip()[:60]}", cure="put each expression in {braces}; do not nest braces")
    return text


def _filled(inside: str, scope: Scope) -> tuple[Node, str]:
    text, colon, how = inside.rpartition(":")
    if not colon or '"' in how or "'" in how:  # the colon of a text, such as a PCI address
        text, how = inside, ""
    text, how = text.strip(), how.strip()
    node = parse(text, scope)
    known = (*FORMATS, LISTED)
    if how and how not in known:
        cure = did_you_mean(how, known, f"available: {', '.join(known)}", cutoff=0.4)
        raise BadValue(f"{{{inside}}}: there is no format {how}", cure=cure)
    if how == LISTED and not isinstance(node.kind, ListOf):
        raise BadValue(f"{{{inside}}}: {node.text} is a {node.kind}, {how} needs a list")
    if how in FORMATS and not alike(_inner(node.kind), NUMBER):
        raise BadValue(f"{{{inside}}}: {node.text} is a {node.kind}, but {how} needs a number")
    if isinstance(record := _inner(node.kind), Record):
        first = next(iter(record.facts()), "")
        raise BadValue(f"{{{inside}}}: name a fact of {node.text}", cure=f"such as {node.text}.{first}")
    return node, how


def _inner(kind: Kind) -> Kind:
    return kind.item if isinstance(kind, ListOf) else kind


_HARMLESS = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_.,:/@%+=-]*")
_NAMELESS = "NAME"
"""What stands where a name could not: to be filled in by whoever copies the line."""
_LONGEST_NAME = 80


def as_word(text: str) -> str:
    """Return a name as one word of a shell that is no option.

    >>> as_word("mlx5_0"), as_word("mlx5_0;touch x"), as_word("-rf")
    ('mlx5_0', "'mlx5_0;touch x'", 'NAME')
    """
    if text.startswith("-"):
        return _NAMELESS
    text = plain(text, _LONGEST_NAME)
    return text if _HARMLESS.fullmatch(text) else shlex.quote(text)


def _between_quotes(text: str) -> str:
    return text if _HARMLESS.fullmatch(text) else _NAMELESS


def _quoted_after(text: str, quoted: str) -> str:
    """Return the quote that is open behind a text, given the one that was open before."""
    for letter in text:
        if letter in "'\"":
            quoted = "" if letter == quoted else quoted or letter
    return quoted


def written_value(value: Any, how: str = "", *, name: Callable[[str], str] = plain) -> str:
    """Return a value as a sentence shows it: numbers without needless digits, lists with commas; ``name`` writes the texts."""
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, (tuple, list)):
        between, inner = (",", "") if how == LISTED else (", ", how)
        if (
            how == ""
            and len(value) > _RUN
            and all(type(each) is int for each in value)
            and (all((one + 1 == other for one, other in pairwise(value))))
        ):
            return f"{value[0]}-{value[-1]}"
        return between.join(_option(each, name) or written_value(each, inner, name=name) for each in value) or "none"
    if how:
        return FORMATS[how](value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, CpuSet):
        return str(value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name(str(key))}: {written_value(each, name=name)}" for key, each in value.items()) or "none"
    return name(str(value)) if value != "" else "''"


_RUN = 3


def _option(value: Any, name: Callable[[str], str]) -> str | None:
    """Return a boot option as it stands on the line; None of what is none."""
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)):
        return None
    return name(value[0] if value[1] is None else f"{value[0]}={value[1]}")
