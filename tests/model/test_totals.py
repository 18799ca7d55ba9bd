"""One count of rules for every page: each rule once, of several subjects the worst."""

import json
import re

from advisor.advice.audit import audit_document
from advisor.advice.audit_page.card import tally
from advisor.advice.model.findings import Audit, Totals, totals, verdicts_of
from tests.render import audits, made


def two_adapters() -> Audit:
    """Return the audit of a rule that passes for one adapter and finds something on the other, and of one that passes."""
    told = (
        audits.finding("fabric-a", "high", "finding", subject="mlx5_0"),
        audits.finding("fabric-a", "high", "pass", subject="mlx5_1"),
    )
    return Audit(scope="mpi", findings=(*told, audits.finding("os-b", "low", "pass")), settings=())


def test_a_rule_of_two_verdicts_is_counted_once() -> None:
    """By its finding; that it passes for the other adapter is told, and counted nowhere."""
    counted, partly = verdicts_of(two_adapters(), "pass")
    assert totals(two_adapters()) == Totals(fix=1, consider=0, passed=1, waived=0, error=0, unknown=0, not_applicable=0)
    assert (list(counted), list(partly)) == (["os-b"], ["fabric-a"])


def test_the_totals_add_up_to_the_rules() -> None:
    """Of an audit with every verdict."""
    assert totals(audits.audit()).every == len({each.id for each in audits.audit().findings})


def test_the_screen_and_the_document_have_one_count() -> None:
    """What CHECKS says is what the JSON says."""
    numbers = [int(number) for line in tally(audits.audit()) for number in re.findall(r"\d+", line)]
    machine = made.naples()
    document = json.loads(json.dumps(audit_document(machine, made.layout(), audits.audit())))
    assert sorted(numbers[1:]) == sorted(number for number in document["totals"].values() if number)
