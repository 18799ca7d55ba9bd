"""The rules: the product's own and a site's, as they are read, tried by their examples, and one explained on a machine."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from advisor.advice.judge.rule import Rule, Words, facts_of_rules, scope_with
from advisor.advice.judge.rulebook import (
    ExampleResult,
    Rulebook,
    load_rules,
    rule_files,
    run_examples,
    verdicts_without_example,
    words_like_others,
)
from advisor.advice.know.vendors import publications, settings
from advisor.errors import BadSheet, BadValue, did_you_mean, must_be_one_of, nearest
from advisor.machine.hosts.files import Use, at_home, trusted
from advisor.machine.jinja import RULES
from advisor.paths import rules as rules_folder


@cache
def words() -> Words:
    """Return what rules are checked against."""
    return Words(scope_with(settings()), settings(), frozenset(publications()))


def site_files(named: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the rule files of this site, and those named on the command line; refuse what the caller must not believe."""
    found = [path for folder in RULES for path in rule_files(at_home(folder), must=False)]
    theirs = [path for each in named for path in rule_files(each)]
    for path in found:
        trusted(path)
    for path in theirs:
        trusted(path, Use.NAMED)
    return (*found, *theirs)


def rulebook(site: Iterable[Path] = (), *, examples: bool = False) -> Rulebook:
    """Return the product's rules and a site's; the product's with their examples only where these are asked for."""
    theirs = site_files(site)
    if theirs:
        return load_rules(rule_files(rules_folder()), theirs, words(), examples=examples)
    return own_rules(examples=examples)


@cache
def own_rules(*, examples: bool = True) -> Rulebook:
    """Return the product's rules alone."""
    return load_rules(rule_files(rules_folder()), (), words(), examples=examples)


def must_be_rules(site: Iterable[Path], names: Iterable[str]) -> None:
    """Refuse an id that no rule has, before a machine is read or measured; a finding's number is known only then."""
    for name in (name for name in names if not name.isdecimal()):
        rules = rulebook(site).rules
        known = [each.id for each in rules]
        if name not in known and Path(name).exists():
            raise BadValue(f"there is no rule {name[:64]}", cure=f"name a machine with --from {name}")
        if name not in known:
            raise BadValue(f"there is no rule {name[:64]}", cure=_rules_about(name, rules))


def _rules_about(name: str, rules: Sequence[Rule]) -> str:
    """Return which rules a name may mean: one that is spelt alike, or those with the word in their ids or as their topic."""
    near = nearest(name, [rule.id for rule in rules])
    about = sorted((rule.id for rule in rules if name.lower() in (*rule.id.split("-"), rule.topic)), key=len)
    if near or not about:
        return f"did you mean {near}?" if near else "see advisor rules list"
    more = f" and {len(about) - _NAMED} others" if len(about) > _NAMED else ""
    return f"about {name}: {', '.join(about[:_NAMED])}{more}, see advisor rules list"


_NAMED: Final = 3
"""Rules that are named where a word means many."""


def rules_named(
    site: Iterable[Path] = (), names: Iterable[str] = (), numbers: Callable[[], Mapping[str, int]] | None = None
) -> tuple[Rule, ...]:
    """Return the rules of ids, topics or findings, whose ``numbers`` an audit gives, with examples; all where none is named."""
    every, asked = tuple(rulebook(site, examples=True).rules), tuple(names)
    if numbers is not None and any(name.isdecimal() for name in asked):
        found = {str(number): rule for rule, number in numbers().items()}
        asked = tuple(found.get(name, name) for name in asked)
    for name in asked:
        if not any(name in (rule.id, rule.topic) for rule in every):
            known = [*(rule.id for rule in every), *(rule.topic for rule in every)]
            if name.isdecimal():
                raise BadValue(f"there is no finding {name[:20]}", cure="advisor audit numbers them; a rule's id works too")
            last = f"name a file with --rules {name}" if Path(name).exists() else "advisor rules list has them"
            raise BadValue(f"there is no rule or topic {name[:64]}", cure=did_you_mean(name, known, last))
    return tuple(rule for rule in every if not asked or rule.id in asked or rule.topic in asked)


class RuleTrial(NamedTuple):
    """What the examples of a rule showed: each of them, and the verdicts for which there is none."""

    rule: Rule
    examples: tuple[ExampleResult, ...]
    lacking: tuple[str, ...]

    @property
    def wrong(self) -> tuple[ExampleResult, ...]:
        """The examples that gave another verdict than they say."""
        return tuple(each for each in self.examples if each.problem)


def tried(rules: Iterable[Rule]) -> tuple[RuleTrial, ...]:
    """Return what the examples of rules show."""
    scope = words().scope
    return tuple(RuleTrial(rule, tuple(run_examples(rule, scope)), tuple(verdicts_without_example(rule))) for rule in rules)


def mistakes_between(rules: Sequence[Rule]) -> tuple[BadSheet, ...]:
    """Return what rules say without effect, and words in them that look like those of others."""
    idle = (mistake for rule in rules for mistake in _without_effect(rule))
    return (*idle, *words_like_others(rules, own_rules(examples=True).rules))


def _without_effect(rule: Rule) -> Iterator[BadSheet]:
    """Yield what a rule says that nothing reads, or that cannot be meant."""
    text, place = rule.text, f"line {rule.line}"
    gain = text.cost.gain if text.cost else None
    if gain and re.fullmatch(r"\d+(\.\d+)?", gain) and float(gain) > 1:
        said = f"{rule.id}: a gain of {gain} is more than all there is"
        yield BadSheet(said, file=rule.file, place=place, cure="write the part to be won: 0.13")
    places = {settings()[name].where for name in text.set or {}}
    if text.where and places and text.where not in places:
        said = f"{rule.id}: where: {text.where}, and what it sets is of {', '.join(sorted(places))}"
        yield BadSheet(said, file=rule.file, place=place, cure="take where out")
    for name in text.let:
        rest = text.model_dump(mode="json", exclude={"let", "tests", "id"})
        words = " ".join(map(str, (*rest.values(), *(each for other, each in text.let.items() if other != name))))
        if not re.search(rf"\b{name}\b", words):
            yield BadSheet(f"{rule.id}: let: nothing asks for {name}", file=rule.file, place=place, cure="use it, or take it out")


def rule_names(kind: str, words: Sequence[str]) -> list[dict[str, str]]:
    """Return the facts or the settings that a rule may name, those whose names contain one of the words; all without words."""
    rows = [dict(zip(("name", "kind", "unit", "about"), row, strict=True)) for row in facts_of_rules(settings())]
    rows = [row for row in rows if kind == "facts" or row["name"].startswith("setting.")]
    named = [row for row in rows if not words or any(word.casefold() in row["name"].casefold() for word in words)]
    if not named:
        raise BadValue(f"no {kind[:-1]} has {' or '.join(words)[:80]} in its name", cure=f"advisor rules {kind} lists all")
    return [{**row, "about": " ".join(row["about"].split())} for row in named]


def must_be_known(site: Iterable[Path], topics: Iterable[str]) -> None:
    """Refuse rules that cannot be read, folders without any, and topics that no rule has."""
    for folder in (path for path in site if path.is_dir() and not any(rule_files(path, must=False))):
        raise BadValue(f"{folder}: no rule files in it", cure="name a file, or a folder with files *.yaml")
    known = tuple(dict.fromkeys(rule.topic for rule in rulebook(site).rules))
    for topic in topics:
        must_be_one_of("topic", topic, known, f"there are {', '.join(known)}")
