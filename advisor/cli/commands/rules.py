"""List, show, test and check rules: the product's own and a site's.

ACTION is list, show, test or check. NAMES are rule ids, topics, or numbers of findings: those of advisor audit of this
machine, or of the audit whose options are given too. 'check' reads the rules and lists every mistake with file and line;
'test' runs the examples beside each rule as well.

Group: Explain
Example: advisor rules list --topic numa
Example: advisor rules show numa-nps-below-best
Example: advisor rules show 1 --from node.tar.gz
Example: advisor rules test --rules my-rules.yaml
Example: advisor rules facts numa
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.advice.rules import mistakes_between, must_be_known, rule_names, rules_named, sheets_checked, tried
from advisor.cli import values
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios
from advisor.cli.options import From, Json, MeasurementsOption, NoColor, Rules, ScopeOption, Topic, Width
from advisor.cli.output import Terminal, emit, emit_json, say
from advisor.errors import BadValue
from advisor.machine.secrecy import without_secrets
from advisor.machine.units import count
from advisor.measure.platform import Scope

if TYPE_CHECKING:
    from advisor.advice.judge.rule import Rule


class Action(StrEnum):
    """What to do with the rules."""

    LIST = "list"
    SHOW = "show"
    TEST = "test"
    CHECK = "check"
    FACTS = "facts"
    SETTINGS = "settings"


@reads_bios
def run(
    action: Annotated[Action, typer.Argument(help="list, show, test, check, facts or settings.")] = Action.LIST,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Rule ids, topics, or numbers of findings.", autocompletion=values.rules_and_topics),
    ] = None,
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: MeasurementsOption = None,
    topic: Topic = None,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """List, show, test or check rules."""
    if action in (Action.FACTS, Action.SETTINGS):
        return _names_of(action, names or [], json=json)
    if rules:
        must_be_known(rules, ())
    named = [*(names or []), *(topic or [])]
    if not any(name.isdecimal() for name in named) and (source is not None or bios.there or measurements):
        raise BadValue("--from is where findings have numbers, and none is named", cure="write advisor rules show 1 --from FILE")
    files: dict[str, Any] = {"site": rules or (), "measurements": measurements or ()}
    chosen = rules_named(rules or (), named, lambda: _numbers(source, scope, bios, files))
    if action in (Action.TEST, Action.CHECK):
        return _test(chosen) if action is Action.TEST else _check(chosen)
    if json:
        emit_json({"schema": "advisor-rules/1", "rules": [_document(rule) for rule in chosen]}, None)
    elif action is Action.SHOW:
        from advisor.advice.rule_page import rule_page

        say("\n\n".join(rule_page(rule.text, rule.topic, rule.where) for rule in chosen) + "\n")
    else:
        from advisor.advice.rule_page import rules_page

        emit([rules_page([(rule.text, rule.topic) for rule in chosen], width)], None, color=not no_color, width=width)
    return 0


def _names_of(action: Action, words: "Sequence[str]", *, json: bool) -> int:
    """Print name, kind and meaning of the facts or settings whose names contain one of the words; all without words."""
    rows = rule_names(action.value, words)
    if json:
        emit_json({"schema": "advisor-rules/1", action.value: rows}, None)
    else:
        say("".join("{name}  ({kind}{comma}{unit})  {about}\n".format(comma=", " * bool(row["unit"]), **row) for row in rows))
    return 0


def _numbers(source: str | None, scope: Scope, bios: GivenBios, files: dict[str, Any]) -> dict[str, int]:
    """Return the number that the audit of a machine gives each rule that found something."""
    from advisor.advice.audit import audit

    observer = Terminal()
    return audit(source, scope, bios=bios.read(observer, here=source is None), **files, observer=observer).numbers


def _check(chosen: "Sequence[Rule]") -> int:
    if wrong := mistakes_between(chosen):
        typer.echo(without_secrets("\n".join(f"advisor: {line}" for line in wrong)), err=True)
        return 2
    say(f"{len(chosen)} rules in {len({rule.file for rule in chosen})} files: every fact, setting and publication exists\n")
    say(
        "{} files of vendors and {} of platforms: of {} names, {} were seen in firmware of the vendor, "
        "and are called verified for its generations\n".format(*sheets_checked())
    )
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
    say(f"{number - wrong} of {number} examples of {count(len(trials), 'rule')} as expected\n")
    return 1 if any(trial.wrong or trial.lacking for trial in trials) else 0
