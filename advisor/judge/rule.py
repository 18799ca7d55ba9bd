"""A rule that was checked against the facts there are: every path, kind, verb, setting and publication in it exists."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from advisor.errors import BadValue, did_you_mean
from advisor.judge.scope import BadExampleFact, example_facts
from advisor.judge.settings import wanted_node
from advisor.language.expression import Name, Scope, parse, require
from advisor.language.functions import fact_of, items_of
from advisor.language.kinds import NUMBER, TEXT, TRUTH, Kind, Text
from advisor.language.sentences import Sentence, read_sentence
from advisor.language.syntax import unfit
from advisor.language.tree import Constant, Fact, Node
from advisor.model.audit.rule import RuleText
from advisor.model.audit.setting import Setting, Where

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
class Rule:
    """A checked rule."""

    text: RuleText
    topic: str
    file: str
    line: int
    where: Where
    each: Each | None
    let: tuple[tuple[str, Node], ...]
    only: Node | None
    when: Node
    say: Sentence
    subject: Sentence | None
    gain: Node | None
    measured: Node | None
    wants: tuple[tuple[str, Node], ...]
    fix: Sentence | None
    check: Sentence
    undo: Sentence | None

    @property
    def id(self) -> str:
        """The rule's id."""
        return self.text.id


@dataclass(frozen=True)
class Words:
    """What rules are checked against: facts, settings, publications."""

    scope: Scope
    settings: Mapping[str, Setting]
    publications: Collection[str]


_EACH = re.compile(r"([a-z][a-z0-9_]{0,30}) in (.+)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Stand:
    """Where a rule stands."""

    topic: str
    file: str
    line: int


def check_rule(text: RuleText, words: Words, stand: Stand, let: Mapping[str, str] | None = None) -> Rule:
    """Return the checked rule; raise Misplaced, naming the part, where something in it does not fit.

    ``let`` holds a site's own values for what the rule's let names.
    """
    scope = dict(words.scope)
    each = _at(("each",), _each, text, scope)
    lets = _lets(text, scope, let or {})
    _cite(text, words)
    _try_given(text, words.scope)
    return Rule(
        text=text,
        topic=stand.topic,
        file=stand.file,
        line=stand.line,
        where=_at(("where",), _where, text, words.settings),
        each=each,
        let=lets,
        only=_expression(("only",), text.only, scope, TRUTH),
        when=_at(("when",), _typed, text.when, scope, TRUTH),
        say=_at(("say",), read_sentence, text.say, scope),
        subject=_sentence("subject", text.subject, scope),
        gain=_expression(("cost", "gain"), text.cost.gain if text.cost else None, scope, NUMBER),
        measured=_expression(("cost", "measured"), text.cost.measured if text.cost else None, scope, NUMBER),
        wants=tuple(
            (name, _at(("set", name), wanted_node, name, value, scope, words.settings)) for name, value in text.set.items()
        ),
        fix=_sentence("fix", text.fix, scope),
        check=_at(("check",), read_sentence, text.check, scope),
        undo=_sentence("undo", text.undo, scope),
    )


T = TypeVar("T")


def _at(place: Place, read: Callable[..., T], *arguments: object) -> T:
    """Return what a reader makes of a part of the rule; its mistake names that part."""
    try:
        return read(*arguments)
    except Misplaced:
        raise
    except BadValue as error:
        raise Misplaced(place, error) from error


def _typed(text: str, scope: Scope, kind: Kind) -> Node:
    return require(parse(text, scope), kind, text[:60])


def _expression(place: Place, text: str | None, scope: Scope, kind: Kind) -> Node | None:
    return _at(place, _typed, text, scope, kind) if text else None


def _sentence(name: str, text: str | None, scope: Scope) -> Sentence | None:
    return _at((name,), read_sentence, text, scope) if text else None


def _each(text: RuleText, scope: dict[str, Name]) -> Each | None:
    if text.each is None:
        return None
    match = _EACH.fullmatch(text.each)
    if not match:
        raise BadValue(f"{text.each[:60]} is not NAME in LIST", cure="write it as: each: socket in sockets")
    name, over = match[1], parse(match[2], scope)
    item = items_of(over.kind)
    if item is None:
        raise BadValue(f"{over.text} is a {over.kind}, no list to run over")
    problem = unfit(name, scope)
    if problem:
        raise BadValue(problem, cure="take another name")
    scope[name] = Name(item, fact_of(over))
    return Each(name, over, fact_of(over))


def _lets(text: RuleText, scope: dict[str, Name], changed: Mapping[str, str]) -> tuple[tuple[str, Node], ...]:
    """Return the named values in order, each usable in the next; a site's own value must be of the same kind."""
    for name in changed:
        if name not in text.let:
            cure = did_you_mean(name, text.let, f"it has {', '.join(text.let) or 'no let'}", cutoff=0.6)
            raise WrongOverride((name,), BadValue(f"{text.id} has no {name} to override", cure=cure))
    result = []
    for name, value in text.let.items():
        problem = unfit(name, scope)
        if problem:
            raise Misplaced(("let", name), BadValue(problem, cure="take another name"))
        node = _at(("let", name), parse, value, scope)
        if name in changed:
            node = _changed(name, changed[name], scope, node.kind)
        scope[name] = Name(_widened(node), node.fact if isinstance(node, Fact) else name)
        result.append((name, node))
    return tuple(result)


def _changed(name: str, value: str, scope: Scope, kind: Kind) -> Node:
    try:
        return _typed(value, scope, kind)
    except BadValue as error:
        raise WrongOverride((name,), error) from error


def _widened(node: Node) -> Kind:
    """Return the kind of a named value: of a word any text, for a site may put another there."""
    return TEXT if isinstance(node, Constant) and isinstance(node.kind, Text) else node.kind


def _where(text: RuleText, settings: Mapping[str, Setting]) -> Where:
    if text.set:
        first = settings.get(next(iter(text.set)))
        return first.where if first else "bios"  # a setting that is none is refused where it is wanted
    if text.where is None:
        raise BadValue("a rule without set needs where", cure="hardware, bios, boot, os, fabric, scheduler, mpi or job")
    missing = [name for name in ("want", "fix", "undo") if getattr(text, name) is None]
    if missing:
        raise BadValue(f"a rule without set needs {missing[0]}", cure="say what to do, and how to go back")
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
            raise Misplaced(place, BadValue(f"there is no publication {ref}", cure=cure))


def _try_given(text: RuleText, scope: Scope) -> None:
    """Refuse an example that gives a fact there is not, or one that is never so."""
    for at, example in enumerate(text.tests):
        try:
            example_facts(example.given, scope)
        except BadExampleFact as error:
            raise Misplaced(("tests", at, "given", error.name), error) from error
