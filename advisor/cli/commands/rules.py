"""List, show, test and check rules: the product's own and a site's.

ACTION is list, show, test or check. NAMES are rule ids or topics; for check they are rule files too. 'check' reads the
rules and lists every mistake with file and line; 'test' runs the examples beside each rule as well.

Group: Explain
Example: advisor rules list --topic numa
Example: advisor rules show numa-nps-below-best
Example: advisor rules test --rules my-rules.yaml
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import Json, NoColor, Rules, Topic, Width
from advisor.cli.output import emit, emit_json, say
from advisor.work import values
from advisor.work.rules import mistakes_between, rules_named, sheets_checked, tried

if TYPE_CHECKING:
    from advisor.judge.rule import Rule


class Action(StrEnum):
    """What to do with the rules."""

    LIST = "list"
    SHOW = "show"
    TEST = "test"
    CHECK = "check"


def run(
    action: Annotated[Action, typer.Argument(help="list, show, test or check.")] = Action.LIST,
    names: Annotated[list[str] | None, typer.Argument(help="Rule ids or topics.", autocompletion=values.rules_and_topics)] = None,
    *,
    rules: Rules = None,
    topic: Topic = None,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """List, show, test or check rules."""
    chosen = rules_named(rules or (), [*(names or []), *(topic or [])])
    if action is Action.TEST:
        return _test(chosen)
    if action is Action.CHECK:
        if wrong := mistakes_between(chosen):
            typer.echo("\n".join(f"advisor: {line}" for line in wrong), err=True)
            return 2
        say(f"{len(chosen)} rules in {len({rule.file for rule in chosen})} files: every fact, setting and publication exists\n")
        say(
            "{} files of vendors and {} of platforms: of {} names, {} were seen in firmware of the vendor, "
            "and are called verified for its generations\n".format(*sheets_checked())
        )
    elif json:
        emit_json({"schema": "advisor-rules/1", "rules": [_document(rule) for rule in chosen]}, None)
    elif action is Action.SHOW:
        from advisor.render.rule import rule_page

        say("\n\n".join(rule_page(rule.text, rule.topic, rule.where) for rule in chosen) + "\n")
    else:
        from advisor.render.rule import rules_page

        emit([rules_page([(rule.text, rule.topic) for rule in chosen], width)], None, color=not no_color, width=width)
    return 0


def _document(rule: "Rule") -> dict[str, object]:
    return {**rule.text.model_dump(mode="json"), "topic": rule.topic, "where": rule.where, "file": rule.file, "line": rule.line}


def _test(rules: "Iterable[Rule]") -> int:
    """Print what the examples show; return 1 where one went wrong, or a verdict has none."""
    trials = tried(rules)
    for rule, _, lacking in trials:
        if lacking:
            say(f"{rule.file}: line {rule.line}: {rule.id} has no example for {', '.join(lacking)}\n")
    for trial in trials:
        for each in trial.wrong:
            say(f"{trial.rule.file}: line {trial.rule.line}: {each.rule}: example {each.number}: {each.problem}\n")
    number, wrong = sum(len(trial.examples) for trial in trials), sum(len(trial.wrong) for trial in trials)
    say(f"{number - wrong} of {number} examples of {len(trials)} rules as expected\n")
    return 1 if any(trial.wrong or trial.lacking for trial in trials) else 0
