"""List, show, test and check rules: the product's own and a site's.

ACTION is list, show, test or check. NAMES are rule ids or topics; for check they are rule files too. 'check' reads the
rules and lists every mistake with file and line; 'test' runs the examples beside each rule as well.

Group: Explain
Example: advisor rules list --topic numa
Example: advisor rules show numa-nps-below-best
Example: advisor rules test --rules my-rules.yaml
"""

from enum import StrEnum
from typing import Annotated

import typer

from advisor.cli.options import Json, Rules, Topic
from advisor.errors import BadValue, did_you_mean
from advisor.judge.rule import Rule
from advisor.judge.rulebook import ExampleResult, run_examples, verdicts_without_example
from advisor.know.platforms import platforms
from advisor.know.vendors import vendors
from advisor.work.judgement import rulebook, words
from advisor.work.machine import emit_json, say


class Action(StrEnum):
    """What to do with the rules."""

    LIST = "list"
    SHOW = "show"
    TEST = "test"
    CHECK = "check"


def run(
    action: Annotated[Action, typer.Argument(help="list, show, test or check.")] = Action.LIST,
    names: Annotated[list[str] | None, typer.Argument(help="Rule ids or topics.")] = None,
    *,
    rules: Rules = None,
    topic: Topic = None,
    json: Json = False,
) -> int:
    """List, show, test or check rules."""
    chosen = _chosen(tuple(rulebook(rules or (), examples=True).rules), [*(names or []), *(topic or [])])
    if action is Action.TEST:
        return _test(chosen)
    if action is Action.CHECK:
        say(f"{len(chosen)} rules in {len({rule.file for rule in chosen})} files: every fact, setting and publication exists\n")
        say(_sheets())
    elif json:
        emit_json({"schema": "advisor-rules/1", "rules": [_document(rule) for rule in chosen]}, None)
    elif action is Action.SHOW:
        from advisor.render.rule import rule_page

        say("\n\n".join(rule_page(rule.text, rule.topic, rule.where) for rule in chosen) + "\n")
    else:
        say("".join(f"{rule.id:44} {rule.text.severity:7} {rule.topic:12} {rule.text.title}\n" for rule in chosen))
    return 0


def _sheets() -> str:
    """Return what the files of vendors and platforms rest on; loading them checks that no name is called seen that was not."""
    makers = vendors().values()
    entries = [(maker, entry) for maker in makers for entries in maker.settings.values() for entry in entries]
    named = [(maker, entry) for maker, entry in entries if entry.attribute or entry.prefix or entry.numbered]
    shown = sum(any(maker.evidence[name].proves for name in entry.seen) for maker, entry in named)
    return (
        f"{len(makers)} files of vendors and {len(platforms())} of platforms: of {len(named)} names, {shown} were seen in "
        "firmware of the vendor, and are called verified for its generations\n"
    )


def _chosen(every: tuple[Rule, ...], names: list[str]) -> tuple[Rule, ...]:
    for name in names:
        if not any(name in (rule.id, rule.topic) for rule in every):
            known = [*(rule.id for rule in every), *(rule.topic for rule in every)]
            raise BadValue(f"there is no rule or topic {name[:64]}", cure=did_you_mean(name, known, None))
    return tuple(rule for rule in every if not names or rule.id in names or rule.topic in names)


def _document(rule: Rule) -> dict[str, object]:
    return {**rule.text.model_dump(mode="json"), "topic": rule.topic, "where": rule.where, "file": rule.file, "line": rule.line}


def _test(rules: tuple[Rule, ...]) -> int:
    trials: list[ExampleResult] = []
    for rule in rules:
        trials += run_examples(rule, words().scope)
        lacking = verdicts_without_example(rule)
        if lacking:
            say(f"{rule.file}: line {rule.line}: {rule.id} has no example for {', '.join(lacking)}\n")
    wrong = [trial for trial in trials if trial.problem]
    places = {rule.id: rule for rule in rules}
    for trial in wrong:
        rule = places[trial.rule]
        say(f"{rule.file}: line {rule.line}: {trial.rule}: example {trial.number}: {trial.problem}\n")
    say(f"{len(trials) - len(wrong)} of {len(trials)} examples of {len(rules)} rules as expected\n")
    return 1 if wrong or any(verdicts_without_example(rule) for rule in rules) else 0
