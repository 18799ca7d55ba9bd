"""Runs the examples that stand beside each rule. Pure."""

from typing import NamedTuple

from advisor.errors import BadInput
from advisor.judge.engine import Asked, ask
from advisor.judge.given import given
from advisor.judge.rule import Rule
from advisor.language.expression import Scope
from advisor.model.case import Case
from advisor.model.rule import ExampleText


class Trial(NamedTuple):
    """One example and how it went."""

    rule: str
    number: int
    expected: str
    found: str
    problem: str | None


def try_rule(rule: Rule, scope: Scope) -> tuple[Trial, ...]:
    """Return how each example of a rule went; a problem where it went otherwise than expected."""
    return tuple(_try(rule, number, example, scope) for number, example in enumerate(rule.text.tests, 1))


def kinds_lacking(rule: Rule) -> tuple[str, ...]:
    """Return which of finding, pass and unknown no example shows."""
    shown = {example.expect for example in rule.text.tests}
    return tuple(verdict for verdict in ("finding", "pass", "unknown") if verdict not in shown)


def _try(rule: Rule, number: int, example: ExampleText, scope: Scope) -> Trial:
    try:
        asked = asked_of(rule, example, scope)
    except BadInput as error:
        return Trial(rule.id, number, example.expect, "error", str(error))
    verdicts = sorted({each.verdict for each in asked}, key=_WEIGHT.index)
    found = verdicts[0]
    claims = [each.said or "" for each in asked if each.verdict == found]
    if found != example.expect:
        reason = next((each.said or ", ".join(sorted(each.missing)) for each in asked if each.verdict == found), "")
        return Trial(rule.id, number, example.expect, found, f"expected {example.expect}, found {found}: {reason}"[:300])
    if example.say and not any(example.say in claim for claim in claims):
        return Trial(rule.id, number, example.expect, found, f"says {claims[0]!r}, expected words {example.say!r}")
    return Trial(rule.id, number, example.expect, found, None)


_WEIGHT = ["error", "finding", "unknown", "pass", "not-applicable", "waived"]
"""Of several subjects the worst counts."""


def asked_of(rule: Rule, example: ExampleText, scope: Scope) -> tuple[Asked, ...]:
    """Return the verdicts of a rule on the facts of an example."""
    asked_for = example.scope or rule.text.scope[0]
    env = given(example.given, scope)
    env["scope"] = asked_for
    return tuple(ask(rule, Case(scope=asked_for), env))
