"""Reads rule files into checked rules, gives their JSON Schema, and runs the examples that stand beside each rule."""

import errno
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from advisor.advice.expression import Scope
from advisor.advice.judge.case import Case
from advisor.advice.judge.engine import Asked, ask
from advisor.advice.judge.rule import Misplaced, Rule, Stand, Words, WrongOverride, check_rule, example_facts
from advisor.advice.model.sheets import ExampleText, RuleText, SiteFile, Waiver
from advisor.errors import BadInput, BadSheet, did_you_mean
from advisor.sheets import Place, Sheet, model_of, read_sheet

NO_RULES = ("settings", "sources", "intents", "benchmarks")
"""Sheets beside the rules that hold none."""


@dataclass(frozen=True)
class Rulebook:
    """Every rule, and what a site waives."""

    rules: tuple[Rule, ...]
    waivers: tuple[Waiver, ...] = ()

    def named(self, name: str) -> Rule | None:
        """Return the rule of an id."""
        return next((rule for rule in self.rules if rule.id == name), None)


def rule_files(folder: Path, *, must: bool = True) -> tuple[Path, ...]:
    """Return the rule files of a folder by name, or the one file that is named; where there need be none, perhaps none."""
    try:
        if not folder.is_dir():
            if must:
                folder.lstat()
            return (folder,) if must or folder.is_file() else ()
        found = [path for path in folder.iterdir() if path.suffix in _SUFFIXES and not path.name.startswith(".")]
    except OSError as error:
        if not must and error.errno in (errno.ENOENT, errno.ENOTDIR):
            return ()
        raise BadSheet(
            (error.strerror or "cannot be read").lower(), file=str(folder), cure="check its name and permissions"
        ) from error
    return tuple(path for path in sorted(found) if path.stem not in NO_RULES)


_SUFFIXES = (".yaml", ".yml")


def load_rules(own: Iterable[Path], site: Iterable[Path], words: Words, *, examples: bool = True) -> Rulebook:
    """Return all rules; refuse, naming file and line, what is wrong in any of them.

    The product's own rules are checked and their examples tried before it is shipped. Without ``examples`` these, half of
    the sheets, are not read, and an expression is read when the rule comes to it.
    """
    shipped = [read_sheet(path, without=None if examples else "tests") for path in own]
    files = [(sheet, *_file(sheet)) for sheet in (*shipped, *map(read_sheet, site))]
    lets: dict[str, dict[str, tuple[str, Sheet, Place]]] = {}
    for sheet, file, _ in files:
        for rule, values in file.let.items():
            lets.setdefault(rule, {}).update({name: (value, sheet, ("let", rule, name)) for name, value in values.items()})
    rules: dict[str, Rule] = {}
    for sheet, file, place in files:
        for at, text in enumerate(file.rules):
            first = rules.get(text.id)
            if first:
                cure = f"the first one is in {first.file} line {first.line}; use another id"
                raise sheet.wrong((*place, at, "id"), f"rule {text.id} appears twice", cure)
            if not text.tests and (examples or sheet not in shipped):
                raise sheet.wrong(
                    (*place, at), f"{text.id}: tests is missing", "add examples in which the rule fires, passes and stays unknown"
                )
            trusted = not examples and sheet in shipped and text.id not in lets
            there, let = (*place, at), lets.get(text.id, {})
            stand = Stand(Path(sheet.file).stem, sheet.file, sheet.line(there))
            rules[text.id] = Rule(text, words, stand) if trusted else _checked(sheet, there, text, words, stand, let=let)
    for sheet, file, _ in files:
        _refuse_idle(sheet, file, rules)
    return Rulebook(tuple(rules.values()), tuple(waiver for _, file, _ in files for waiver in file.waivers))


_File = tuple[Sheet, SiteFile, Place]
_Let = Mapping[str, tuple[str, Sheet, Place]]
"""A site's values for what a rule names, each with where it stands."""


def _file(sheet: Sheet) -> tuple[SiteFile, Place]:
    """Return a file's rules, and the place in the sheet where they stand: a list of rules, or a mapping that has one."""
    if isinstance(sheet.data, list):
        whole = Sheet(sheet.file, {"rules": sheet.data}, {("rules", *place): line for place, line in sheet.lines.items()})
        return model_of(whole, SiteFile), ()
    return model_of(sheet, SiteFile), ("rules",)


def _checked(sheet: Sheet, place: Place, text: RuleText, words: Words, stand: Stand, *, let: _Let) -> Rule:
    try:
        return check_rule(text, words, stand, {name: value for name, (value, _, _) in let.items()})
    except WrongOverride as error:
        _, theirs, where = let[str(error.inside[0])]
        raise theirs.wrong(where, f"let: {text.id}: {error.problem}", error.cure) from error
    except Misplaced as error:
        if let:  # right without the site's values, wrong with them?
            _checked(sheet, place, text, words, stand, let={})
            _, theirs, where = next(iter(let.values()))
            raise theirs.wrong(where, f"let: {text.id}: {error.problem}", error.cure) from error
        name = ".".join(str(part) for part in error.inside)
        raise sheet.wrong((*place, *error.inside), f"{text.id}: {name}: {error.problem}", error.cure) from error


def _refuse_idle(sheet: Sheet, file: SiteFile, rules: Mapping[str, Rule]) -> None:
    """Refuse a threshold or a waiver that would silently do nothing: of no rule, or until a day that never comes."""
    named: list[tuple[Place, str]] = [(("let", name), name) for name in file.let]
    named += [(("waivers", at, "id"), waiver.id) for at, waiver in enumerate(file.waivers)]
    for place, name in named:
        if name not in rules:
            raise sheet.wrong(place, f"there is no rule {name[:64]}", did_you_mean(name, rules, "see advisor rules list"))
    for at, waiver in enumerate(file.waivers):
        try:
            date.fromisoformat(waiver.until)
        except ValueError as error:
            problem = f"until: {waiver.until} is not a date: {error}"
            raise sheet.wrong(("waivers", at, "until"), problem, "write 2027-06-30") from error


class ExampleResult(NamedTuple):
    """One example and how it went."""

    rule: str
    number: int
    expected: str
    found: str
    problem: str | None


def run_examples(rule: Rule, scope: Scope) -> tuple[ExampleResult, ...]:
    """Return how each example of a rule went; a problem where it went otherwise than expected."""
    return tuple(_run_example(rule, number, example, scope) for number, example in enumerate(rule.text.tests, 1))


def verdicts_without_example(rule: Rule) -> tuple[str, ...]:
    """Return which of finding, pass and unknown no example shows."""
    shown = {example.expect for example in rule.text.tests}
    return tuple(verdict for verdict in ("finding", "pass", "unknown") if verdict not in shown)


def _run_example(rule: Rule, number: int, example: ExampleText, scope: Scope) -> ExampleResult:
    try:
        asked = asked_of_example(rule, example, scope)
    except BadInput as error:
        return ExampleResult(rule.id, number, example.expect, "error", str(error))
    found = min((each.verdict for each in asked), key=_WEIGHT.index)
    own = [each for each in asked if each.verdict == found]
    problem = None
    if found != example.expect:
        reason = own[0].said or ", ".join(sorted(own[0].missing))
        problem = f"expected {example.expect}, found {found}: {reason}"[:300]
    elif example.say and not any(example.say in (each.said or "") for each in own):
        problem = f"says {own[0].said or ''!r}, expected words {example.say!r}"
    return ExampleResult(rule.id, number, example.expect, found, problem)


_WEIGHT = ["error", "finding", "unknown", "pass", "not-applicable", "waived"]
"""Of several subjects the worst counts."""


def asked_of_example(rule: Rule, example: ExampleText, scope: Scope) -> tuple[Asked, ...]:
    """Return the verdicts of a rule on the facts of an example."""
    asked_for = example.scope or rule.text.scope[0]
    env = example_facts(example.given, scope)
    env["scope"] = asked_for
    return tuple(ask(rule, Case(scope=asked_for), env))


def expressions(rule: Rule) -> tuple[str, ...]:
    """Return the texts of a rule that are expressions."""
    gain = rule.text.cost.gain if rule.text.cost else None
    return tuple(text for text in (*rule.text.let.values(), rule.text.only, rule.text.when, gain) if text)


_COMPARED = re.compile(r'([a-z]\w*(?:\.\w+)+) (?:==|!=|in|not in) ("[^"]*"|\[[^\]]*\])')


def words_like_others(rules: Iterable[Rule], every: Iterable[Rule]) -> Iterator[BadSheet]:
    """Yield words that look like one that other rules compare the same fact with, and that no example shows to be meant.

    Of a fact that is free text (a driver, a clock source) nothing else tells a word from its misspelling.
    """
    compared = {
        rule.id: {
            (fact.rpartition(".")[2], word)  # driver, of cpu.driver and adapter.driver
            for text in expressions(rule)
            for fact, words in _COMPARED.findall(text)
            for word in re.findall(r'"([^"]*)"', words)
        }
        for rule in (*every, *rules)
    }
    users = Counter(pair for pairs in compared.values() for pair in pairs)
    for rule in rules:
        shown = json.dumps([each.given for each in rule.text.tests], default=str)
        for fact, word in sorted(compared[rule.id]):
            if users[fact, word] == 1 and f'"{word}"' not in shown:
                others = {each for name, each in users if name == fact} - {each for _, each in compared[rule.id]}
                if near := did_you_mean(word, others, None, cutoff=0.7):
                    said = f"{rule.id}: {fact} is compared with {word}, which no example uses"
                    cure = f"{near} Otherwise add an example that uses it"
                    yield BadSheet(said, file=rule.file, place=f"line {rule.line}", cure=cure)
