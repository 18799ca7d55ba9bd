"""A rule, checked against the facts there are: every path, kind, verb, setting and publication in it exists.

The names that its expressions may use, and the values they stand for: in a Case, or as an example gives them. Pure.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from advisor.advice.expression import Name, Scope, Sentence, parse, read_sentence, require, unfit, written_value
from advisor.advice.expression_tree import (
    CPUS,
    MIXED,
    NOTHING,
    NUMBER,
    PAIRS,
    STEPS,
    TABLE,
    TEXT,
    TRUTH,
    UNITS,
    Choose,
    Constant,
    Env,
    Fact,
    Kind,
    ListOf,
    Node,
    Record,
    Text,
    Trouble,
    Unknown,
    alike,
    fact_of,
    items_of,
    kind_of,
    lacking,
)
from advisor.advice.judge.case import Case, Standing
from advisor.advice.model.findings import Finding, Row, Want
from advisor.advice.model.sheets import Neutral, RuleText, Setting, Source, Where, Witness
from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import declarations
from advisor.machine.layout import Confidence
from advisor.machine.value import meaning

SETTING = "setting"
"""The name under which settings stand: ``setting.numa.nps``."""


@cache
def fact_kinds() -> dict[str, Kind]:
    """Return the kinds of all facts of a Case."""
    return {name: kind_of(field.annotation) for name, field in Case.model_fields.items()}


def facts_of_rules(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, kind, unit and meaning of every fact that a rule may use."""
    for name, kind in fact_kinds().items():
        yield from _rows(name, kind, Case, name)
    for name, setting in settings.items():
        yield f"{SETTING}.{name}", "number" if setting.type == "number" else "text", "", setting.title


def _rows(name: str, kind: Kind, model: type[BaseModel], field: str) -> Iterator[tuple[str, str, str, str]]:
    item = items_of(kind)
    inner, shown = item or kind, f"{name}[]" if item else name
    text, unit = meaning(model, field), declarations(model)[field].unit
    if isinstance(inner, Record) and inner.model is not None:
        about = text or (inner.model.__doc__ or "").strip().splitlines()[0]
        yield shown, "list" if item else "record", "", about
        for part, part_kind in inner.facts().items():
            yield from _rows(f"{shown}.{part}", part_kind, inner.model, part)
        return
    options = f": {', '.join(inner.options)}" if isinstance(inner, Text) and inner.options else ""
    yield shown, f"{kind}{options}", unit.name if unit else "", text


def scope_with(settings: Mapping[str, Setting] | None) -> Scope:
    """Return the scope of all facts; with settings, those too."""
    names = {name: Name(kind, name) for name, kind in fact_kinds().items()}
    if settings is not None:
        names[SETTING] = Name(Record(name=SETTING, tree=_tree(settings)), SETTING)
    return names


def _tree(settings: Mapping[str, Setting]) -> dict[str, Kind]:
    """Return nested records by the dotted names of the settings."""
    tree: dict[str, Kind] = {}
    for name, setting in settings.items():
        place = tree
        path = name.split(".")
        for at, part in enumerate(path[:-1]):
            record = place.setdefault(part, Record(name=".".join([SETTING, *path[: at + 1]]), tree={}))
            place = record.tree if isinstance(record, Record) else {}
        place[path[-1]] = setting_kind(setting)
    return tree


def setting_kind(setting: Setting) -> Kind:
    """Return the kind of a setting's values."""
    if setting.type == "number":
        return NUMBER
    return Text(options=tuple(setting.values)) if setting.type == "choice" else TEXT


def env_of(case: Case, settings: Mapping[str, Setting] | None = None) -> Env:
    """Return the values that the names stand for."""
    env: Env = {name: getattr(case, name) for name in Case.model_fields}
    env["_steps"] = [STEPS]
    if settings is not None:
        env[SETTING] = _standing_tree(case, settings)
    return env


def _standing_tree(case: Case, settings: Mapping[str, Setting]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    known = {standing.name: standing.value for standing in case.standings or ()}
    for name, setting in settings.items():
        place = tree
        *path, last = name.split(".")
        for part in path:
            place = place.setdefault(part, {})
        text = known.get(name)
        value = None if text is None else setting.neutral(text)
        if value is not None and (setting.type != "number" or isinstance(value, int)):  # "auto" of a number tells no number
            place[last] = value
    return tree


class BadExampleFact(BadValue):
    """A fact of an example that does not exist or is not of its kind."""

    def __init__(self, name: str, error: BadValue) -> None:
        self.name = name
        super().__init__(f"given: {error.problem}", cure=error.cure)


def example_facts(facts: Mapping[str, Any], scope: Scope) -> Env:
    """Return the values of facts by their dotted names."""
    env: Env = {"_steps": [STEPS]}
    for name, value in facts.items():
        try:
            _put(env, name, value, scope)
        except BadExampleFact:
            raise
        except BadValue as error:
            raise BadExampleFact(name, error) from error
    return env


def _put(env: Env, name: str, value: Any, scope: Scope) -> None:
    """Put one value where its dotted name leads."""
    first, *rest = path = name.split(".")
    if first not in scope:
        cure = did_you_mean(first, scope, "see advisor rules facts")
        raise BadValue(f"there is no fact {name[:80]}", cure=cure)
    kind, place = scope[first].kind, env
    for part, inner in zip(path, rest, strict=False):
        if not isinstance(kind, Record):
            raise BadValue(f"{name[:80]}: a {kind} has no fact {inner[:60]}", cure="give the whole list")
        kind = kind.fact(inner)
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise BadValue(f"{name[:80]} is part of a fact already given", cure="give this fact only once")
    if path[-1] in place:
        raise BadValue(f"{name[:80]} is given twice", cure="give this fact only once")
    place[path[-1]] = _typed(value, kind, name)


def _typed(value: Any, kind: Kind, name: str) -> Any:
    """Return a value of a sheet as the kind wants it."""
    if value is None or kind in (NOTHING, MIXED):
        return value
    if isinstance(kind, Record) and isinstance(value, dict):
        return {key: _typed(inner, kind.fact(key), f"{name}.{key}") for key, inner in value.items()}
    if isinstance(kind, ListOf) and isinstance(value, list):
        return tuple(_typed(each, kind.item, name) for each in value)
    if isinstance(kind, Text) and isinstance(value, str):
        if kind.options and value not in kind.options:
            raise BadValue(f"{name} is never {value[:60]!r}", cure=f"it must be one of {', '.join(kind.options)}"[:200])
        return value
    if kind == TABLE and isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return value
    return _plain(value, kind, name)


def _plain(value: Any, kind: Kind, name: str) -> Any:
    """Return a truth value, a number, a set of CPUs or boot options."""
    truth = isinstance(value, bool)
    if truth == (kind == TRUTH) and kind in (TRUTH, NUMBER) and isinstance(value, (int, float)):
        return value
    if kind == NUMBER and isinstance(value, str):
        match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?) ?([A-Za-z]{1,4})", value, re.ASCII)
        if match is None or match[2] not in UNITS:
            raise BadValue(f"{name} must be a number, not {value[:60]!r}", cure=f"units are {', '.join(UNITS)}")
        return float(match[1]) * UNITS[match[2]]
    if kind == CPUS and isinstance(value, (str, int)) and not truth:
        return CpuSet.parse(str(value))
    if kind == PAIRS and isinstance(value, str):
        return tuple((key, rest if sign else None) for key, sign, rest in (word.partition("=") for word in value.split()))
    raise BadValue(f"{name} must be a {kind}, not {str(value)[:60]!r}", cure=_WRITTEN.get(kind))


_WRITTEN: dict[Kind, str] = {
    CPUS: "write 0-3,8",
    PAIRS: 'write one string: "iommu=pt quiet"',
    TABLE: "write {name: text}",
    TRUTH: "write true or false",
}


def wanted_node(name: str, value: str, scope: Scope, settings: Mapping[str, Setting]) -> Node:
    """Return the wanted value: one of the setting's words, or an expression that yields one."""
    if name not in settings:
        cure = did_you_mean(name, settings, "see advisor rules settings")
        raise BadValue(f"there is no setting {name}", cure=cure)
    setting = settings[name]
    if value in setting.values:
        return Constant(value, setting_kind(setting), (), setting.neutral(value))
    try:
        node = parse(value, scope)
    except BadValue as error:
        if re.fullmatch(r"[\w-]+", value, re.ASCII) and setting.values:
            raise _never(setting, name, value) from error
        raise
    kind = setting_kind(setting)
    if not alike(node.kind, kind):
        raise BadValue(f"{name} takes a {kind}, but {node.text} is a {node.kind}")
    for word in _words(node):
        if setting.values and word not in setting.values:
            raise _never(setting, name, word)
    return node


def _words(node: Node) -> Iterator[str]:
    """Yield the values that an expression names outright."""
    if isinstance(node, Choose):
        for part in node.operands[1:]:
            yield from _words(part)
    elif isinstance(node, Constant) and not isinstance(node.constant, Unknown):
        yield neutral_text(node.constant)
    elif isinstance(node.kind, Text):
        yield from node.kind.options


def _never(setting: Setting, name: str, value: str) -> BadValue:
    cure = did_you_mean(value, setting.values, f"it takes {', '.join(setting.values)}", cutoff=0.4)
    return BadValue(f"{name} is never {value}", cure=cure)


def neutral_text(value: object) -> str:
    """Return a value as settings spell it: whole numbers without a point, every digit of it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return str(int(value)) if value == value // 1 else repr(value)
    return written_value(value)


def wanted_values(nodes: tuple[tuple[str, Node], ...], env: Env) -> tuple[Want, ...]:
    """Return what settings should be; None where that depends on what is not known."""
    result = []
    for name, node in nodes:
        try:
            value = node.value(env)
        except Trouble:
            value = Unknown()
        result.append(Want(setting=name, value=neutral_text(value) if lacking(value) is None else None))
    return tuple(result)


BIOS = "the BIOS attributes given"


class SettingReader(NamedTuple):
    """One checked way to read a setting from the operating system."""

    setting: str
    node: Node
    sure: Confidence
    how: str
    by: Source = "system"


def setting_readers(settings: Mapping[str, Setting]) -> tuple[SettingReader, ...]:
    """Return the checked expressions of all settings."""
    scope = scope_with(None)
    return tuple(
        SettingReader(name, parse(reading.value, scope), reading.sure, reading.how, reading.by)
        for name, setting in settings.items()
        for reading in setting.read
    )


def settings_in_effect(
    case: Case,
    settings: Mapping[str, Setting],
    ways: Iterable[SettingReader],
    applied: Mapping[str, Neutral],
    pending: Mapping[str, Neutral],
) -> tuple[Standing, ...]:
    """Return what each setting of which anything is known is set to."""
    env = env_of(case)
    seen: dict[str, dict[Source, Witness]] = {}
    for way in ways:
        if way.by not in seen.get(way.setting, {}):
            value = _value(way, env)
            if value is not None:
                seen.setdefault(way.setting, {})[way.by] = Witness(by=way.by, value=value, sure=way.sure, how=way.how)
    known = [name for name in settings if name in seen or name in applied or name in pending]
    return tuple(
        _standing(settings[name], tuple(seen.get(name, {}).values()), applied.get(name), pending.get(name)) for name in known
    )


def _value(way: SettingReader, env: Env) -> str | None:
    try:
        value = way.node.value(env)
    except Trouble:
        return None
    if isinstance(value, Unknown):
        return None
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _standing(setting: Setting, seen: tuple[Witness, ...], applied: Neutral | None, pending: Neutral | None) -> Standing:
    """Return a standing: what the running system shows is in effect, what the BIOS says is believed where that shows nothing."""
    bios = () if applied is None else (Witness(by="BIOS", value=str(applied), sure="high", how=BIOS),)
    believed = next(iter((*seen, *bios)), None)
    second = min(seen[1:], key=lambda each: each.value == seen[0].value, default=None)
    known = {name: getattr(believed, name) for name in ("value", "sure", "how")} if believed else {}
    return Standing(
        name=setting.name,
        title=setting.heading,
        seen=seen[0].value if seen else None,
        applied=None if applied is None else str(applied),
        pending=None if pending is None else str(pending),
        witnesses=(*seen, *bios),
        second=second.value if second else None,
        second_how=second.how if second else None,
        **known,
    )


def settings_table(
    standings: Iterable[Standing], findings: Iterable[Finding], settings: Mapping[str, Setting]
) -> tuple[Row, ...]:
    """Return a row for each setting that is known or wanted, in the order of the vocabulary."""
    known = {standing.name: standing for standing in standings}
    asked: dict[str, list[tuple[Finding, str | None]]] = {}
    for finding in findings:
        for want in finding.wants:
            asked.setdefault(want.setting, []).append((finding, want.value))
    names = (name for name in settings if name in known or name in asked)
    return tuple(_row(settings[name], known.get(name), asked.get(name, [])) for name in names)


def _row(setting: Setting, standing: Standing | None, asked: Sequence[tuple[Finding, str | None]]) -> Row:
    current = standing.value if standing else None
    wanted = tuple(dict.fromkeys(value for _, value in asked if value is not None))
    verdicts = {finding.verdict for finding, _ in asked}
    if current is not None and "pass" in verdicts and verdicts <= {"pass", "unknown", "not-applicable"}:
        wanted = (current,)  # every rule which could tell is content with it, though it would write another value itself
    known = standing or Standing(name=setting.name, title="")
    return Row(
        name=setting.name,
        term=setting.term,
        title=setting.title,
        where=setting.where,
        current=_in_own_unit(setting, current),
        wanted=" or ".join(filter(None, (_in_own_unit(setting, each) for each in wanted))) or None,
        confidence=known.sure,
        how=known.how,
        bios=known.applied,
        pending=known.pending,
        witnesses=known.witnesses,
        rules=tuple(dict.fromkeys(finding.id for finding, _ in asked)),
        met=None if current is None or not wanted else current in wanted,
    )


def _in_own_unit(setting: Setting, value: str | None) -> str | None:
    """Return a value in the unit of the setting's own name: vm.min_free_kbytes in kilobytes, as somebody would type it."""
    divide = setting.set.divide if setting.set else 1
    return str(int(value) // divide) if value is not None and divide > 1 and value.isdecimal() else value


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
        return rule.at(place, _rule_typed, text, rule.scope, kind) if text else None

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
    foresee: cached_property[Node | None] = _expression("foresee")
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


_PARTS = ("where", "only", "agree", "when", "foresee", "say", "subject", "gain", "measured", "wants", "fix", "check", "undo")
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
        raise Misplaced(
            ("severity",),
            BadValue("a guide recommends another value", cure="write 'severity: info', and 'consider' instead of 'fix'"),
        )
    if text.severity == "high" and text.cost is None and text.basis != "fault" and SITE not in text.refs:
        cure = "give the minimum loss under 'cost', or write 'basis: fault' if something is broken"
        raise Misplaced(("severity",), BadValue("severity high needs a number", cure=cure))
    for at, example in enumerate(text.tests):
        try:
            example_facts(example.given, words.scope)
        except BadExampleFact as error:
            raise Misplaced(("tests", at, "given", error.name), error) from error
    for part in _PARTS:
        getattr(rule, part)
    return rule


def _rule_typed(text: str, scope: Scope, kind: Kind) -> Node:
    return require(parse(text, scope), kind, text[:60])


def _each(text: str, scope: Scope) -> Each:
    match = re.fullmatch(r"([a-z][a-z0-9_]{0,30}) in (.+)", text, re.ASCII | re.DOTALL)
    if not match:
        raise BadValue(f"{text[:60]} is not of the form NAME in LIST", cure="for example each: socket in sockets")
    name, over = match[1], parse(match[2], scope)
    if items_of(over.kind) is None:
        raise BadValue(f"{over.text} is a {over.kind}, not a list to iterate over")
    if problem := unfit(name, scope):
        raise BadValue(problem, cure="use another name")
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
            raise Misplaced(("let", name), BadValue(problem, cure="use another name"))
        try:
            node = parse(value, scope)
        except BadValue as error:
            raise Misplaced(("let", name), error) from error
        try:
            node = _rule_typed(changed[name], scope, node.kind) if name in changed else node
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
        raise BadValue("a rule without 'set' needs 'where'", cure="hardware, bios, boot, os, fabric, scheduler, mpi or job")
    missing = [name for name in ("want", "fix", "undo") if getattr(text, name) is None]
    if missing:
        raise BadValue(f"a rule without 'set' needs '{missing[0]}'", cure="give the fix and how to undo it")
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
            raise Misplaced(place, BadValue(f"{ref} is not a known publication", cure=cure))


def disputed(text: RuleText) -> bool:
    """Return whether a guide wants another state than the rule does."""
    return any(guide.otherwise for guide in text.guides)
