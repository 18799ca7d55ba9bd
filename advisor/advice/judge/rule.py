"""A rule, checked against the facts there are: every path, kind, verb, setting and publication in it exists."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from advisor.advice.judge.scope import BadExampleFact, example_facts, wanted_node
from advisor.advice.language.expression import Name, Scope, parse, require, unfit
from advisor.advice.language.kinds import NOTHING, NUMBER, TEXT, TRUTH, Kind, Text
from advisor.advice.language.sentences import Sentence, read_sentence
from advisor.advice.language.tree import Constant, Fact, Node, fact_of, items_of
from advisor.advice.model.rule import RuleText
from advisor.advice.model.setting import Setting, Where
from advisor.errors import BadValue, did_you_mean

Place = tuple[str | int, ...]

SITE = "site"
"""What a site cites for its own knowledge."""


class Misplaced(BadValue):
    """A mistake at a place inside a rule."""

    def __init__(self, place: Place, error: BadValue) -> None:
        self.inside = place
        super().__init__(error.problem, cure=error.cure)


class WrongOverride(Misplaced):
    """A site's own value for what a rule's let names, which does not fit the rule."""


@dataclass(frozen=True)
class Each:
    """``NAME in LIST``."""

    name: str
    over: Node
    fact: str


@dataclass(frozen=True)
class Words:
    """What rules are checked against: facts, settings, publications."""

    scope: Scope
    settings: Mapping[str, Setting]
    publications: Collection[str]


@dataclass(frozen=True)
class Stand:
    """Where a rule stands."""

    topic: str
    file: str
    line: int


T = TypeVar("T")


def _expression(*place: str, kind: Kind = TRUTH) -> Any:
    """Return the property of an expression, by its place in the rule; None where the rule has none."""

    def read(rule: "Rule") -> Node | None:
        text = _text_at(rule, place)
        return rule.at(place, _typed, text, rule.scope, kind) if text else None

    return cached_property(read)


def _sentence(*place: str) -> Any:
    """Return the property of a sentence, by its place in the rule; None where the rule has none."""

    def read(rule: "Rule") -> Sentence | None:
        text = _text_at(rule, place)
        return rule.at(place, read_sentence, text, rule.scope) if text else None

    return cached_property(read)


def _text_at(rule: "Rule", place: tuple[str, ...]) -> str | None:
    text: Any = rule.text
    for name in place:
        text = getattr(text, name, None)
    return text or None


class Rule:
    """A rule: what its sheet says, and its expressions, each read and checked when it is first asked for.

    A part that does not fit the facts raises Misplaced; ``check_rule`` asks for every part.
    """

    only: cached_property[Node | None] = _expression("only")
    agree: cached_property[Node | None] = _expression("agree")
    when: cached_property[Node] = _expression("when")
    gain: cached_property[Node | None] = _expression("cost", "gain", kind=NUMBER)
    """What is lost, as published."""
    measured: cached_property[Node | None] = _expression("cost", "measured", kind=NUMBER)
    say: cached_property[Sentence] = _sentence("say")
    subject: cached_property[Sentence | None] = _sentence("subject")
    fix: cached_property[Sentence | None] = _sentence("fix")
    check: cached_property[Sentence] = _sentence("check")
    undo: cached_property[Sentence | None] = _sentence("undo")

    def __init__(self, text: RuleText, words: Words, stand: Stand, let: Mapping[str, str] | None = None) -> None:
        self.text, self._words, self._changed = text, words, let or {}
        self.id, self.topic, self.file, self.line = text.id, stand.topic, stand.file, stand.line

    def at(self, place: Place, read: Callable[..., T], *arguments: object) -> T:
        """Return what a reader makes of a part of the rule; its mistake names that part, and where the rule stands."""
        try:
            return read(*arguments)
        except BadValue as error:
            mistake = error if isinstance(error, Misplaced) else Misplaced(place, error)
            mistake.file, mistake.place = self.file, f"line {self.line}: {self.id}: {'.'.join(map(str, mistake.inside))}"
            raise mistake from error

    @cached_property
    def where(self) -> Where:
        """Where what it asks for is set."""
        return self.at(("where",), _where, self.text, self._words.settings)

    @cached_property
    def each(self) -> Each | None:
        """The list that it runs over."""
        return self.at(("each",), _each, self.text.each, self._words.scope) if self.text.each is not None else None

    @cached_property
    def _lets(self) -> tuple[tuple[tuple[str, Node], ...], Scope]:
        """The named values, and every name that its expressions may use."""
        scope = dict(self._words.scope)
        if self.each:
            scope[self.each.name] = Name(items_of(self.each.over.kind) or NOTHING, self.each.fact)
        return self.at(("let",), _lets, self.text, scope, self._changed), scope

    @property
    def let(self) -> tuple[tuple[str, Node], ...]:
        """The named values in order, each usable in the next."""
        return self._lets[0]

    @property
    def scope(self) -> Scope:
        """Every name that its expressions may use."""
        return self._lets[1]

    @cached_property
    def wants(self) -> tuple[tuple[str, Node], ...]:
        """The settings that it asks for, each with its value."""
        known, rows = self._words.settings, self.text.set.items()
        return tuple((name, self.at(("set", name), wanted_node, name, value, self.scope, known)) for name, value in rows)


_PARTS = ("where", "only", "agree", "when", "say", "subject", "gain", "measured", "wants", "fix", "check", "undo")
"""The parts of a rule that can be wrong though its sheet is well-formed, beside the names that they use."""


def check_rule(text: RuleText, words: Words, stand: Stand, let: Mapping[str, str] | None = None) -> Rule:
    """Return the rule with every part read; raise Misplaced, naming the part, where something in it does not fit.

    ``let`` holds a site's own values for what the rule's let names.
    """
    rule = Rule(text, words, stand, let)
    for part in ("each", "let"):
        getattr(rule, part)
    _cite(text, words)
    if disputed(text) and text.severity != "info":
        raise Misplaced(("severity",), BadValue("a guide wants it otherwise", cure="write info: it is to consider, not to fix"))
    if text.severity == "high" and text.cost is None and text.basis != "fault" and SITE not in text.refs:
        cure = "give the least that is lost in cost, or basis: fault where something is broken"
        raise Misplaced(("severity",), BadValue("high needs a number", cure=cure))
    for at, example in enumerate(text.tests):
        try:
            example_facts(example.given, words.scope)
        except BadExampleFact as error:
            raise Misplaced(("tests", at, "given", error.name), error) from error
    for part in _PARTS:
        getattr(rule, part)
    return rule


def _typed(text: str, scope: Scope, kind: Kind) -> Node:
    return require(parse(text, scope), kind, text[:60])


def _each(text: str, scope: Scope) -> Each:
    match = re.fullmatch(r"([a-z][a-z0-9_]{0,30}) in (.+)", text, re.ASCII | re.DOTALL)
    if not match:
        raise BadValue(f"{text[:60]} is not NAME in LIST", cure="write it as: each: socket in sockets")
    name, over = match[1], parse(match[2], scope)
    if items_of(over.kind) is None:
        raise BadValue(f"{over.text} is a {over.kind}, no list to run over")
    if problem := unfit(name, scope):
        raise BadValue(problem, cure="take another name")
    return Each(name, over, fact_of(over))


def _lets(text: RuleText, scope: dict[str, Name], changed: Mapping[str, str]) -> tuple[tuple[str, Node], ...]:
    """Return the named values in order, each usable in the next; a site's own value must be of the same kind."""
    for name in changed:
        if name not in text.let:
            cure = did_you_mean(name, text.let, f"it has {', '.join(text.let) or 'no let'}", cutoff=0.6)
            raise WrongOverride((name,), BadValue(f"{text.id} has no {name} to override", cure=cure))
    result = []
    for name, value in text.let.items():
        if problem := unfit(name, scope):
            raise Misplaced(("let", name), BadValue(problem, cure="take another name"))
        try:
            node = parse(value, scope)
        except BadValue as error:
            raise Misplaced(("let", name), error) from error
        try:
            node = _typed(changed[name], scope, node.kind) if name in changed else node
        except BadValue as error:
            raise WrongOverride((name,), error) from error
        # The kind of a word is any text, for a site may put another there.
        kind = TEXT if isinstance(node, Constant) and isinstance(node.kind, Text) else node.kind
        scope[name] = Name(kind, node.fact if isinstance(node, Fact) else name)
        result.append((name, node))
    return tuple(result)


def _where(text: RuleText, settings: Mapping[str, Setting]) -> Where:
    if text.set:
        first = settings.get(next(iter(text.set)))
        return first.where if first else "bios"  # a setting that is none is refused where it is wanted
    if text.where is None:
        raise BadValue("a rule without set needs where", cure="hardware, bios, boot, os, fabric, scheduler, mpi or job")
    missing = [name for name in ("want", "fix", "undo") if getattr(text, name) is None]
    if missing:
        raise BadValue(f"a rule without set needs {missing[0]}", cure="say what to do, and how to undo it")
    return text.where


def _cite(text: RuleText, words: Words) -> None:
    """Refuse a publication that is not in the list."""
    cited: list[tuple[Place, str]] = [(("refs", at), ref) for at, ref in enumerate(text.refs)]
    cited += [(("guides", at, "ref"), guide.ref) for at, guide in enumerate(text.guides)]
    if text.cost:
        if text.cost.basis == "published" and text.cost.ref is None:
            raise Misplaced(("cost",), BadValue("a published cost needs ref", cure="name the publication"))
        cited += [(("cost", "ref"), text.cost.ref)] if text.cost.ref else []
    for place, ref in cited:
        if ref not in words.publications and ref != SITE:
            cure = did_you_mean(ref, words.publications, "add it to rules/sources.yaml")
            raise Misplaced(place, BadValue(f"there is not a known publication {ref}", cure=cure))


def disputed(text: RuleText) -> bool:
    """Return whether a guide wants another state than the rule does."""
    return any(guide.otherwise for guide in text.guides)
