"""How many rules came to what: the one count that every page, document and export shows."""

from collections import Counter

from pydantic import Field

from advisor.advice.model.findings import Audit, Finding
from advisor.advice.model.rule import Verdict
from advisor.machine.value import Value

_WORST: tuple[Verdict, ...] = ("finding", "error", "unknown", "waived", "pass", "not-applicable")


class Totals(Value):
    """Rules by what they came to, each counted once: of several subjects the worst verdict counts."""

    fix: int = Field(description="findings that do harm")
    consider: int = Field(description="findings of severity info")
    passed: int
    waived: int
    error: int = Field(description="rules that could not be evaluated")
    unknown: int = Field(description="rules that need more facts")
    not_applicable: int

    @property
    def answered(self) -> int:
        """How many rules have an answer."""
        return self.passed + self.fix + self.consider + self.waived

    @property
    def every(self) -> int:
        """How many rules there are for this kind of work."""
        return self.answered + self.error + self.unknown + self.not_applicable


def worst_verdicts(audit: Audit) -> dict[str, Verdict]:
    """Return the verdict of each rule, in the rules' own order; one of several subjects has the worst of theirs."""
    worst: dict[str, int] = {}
    for finding in audit.findings:
        worst[finding.id] = min(worst.get(finding.id, len(_WORST)), _WORST.index(finding.verdict))
    return {rule: _WORST[at] for rule, at in worst.items()}


def totals(audit: Audit) -> Totals:
    """Return how many rules came to what; the numbers add up to that of the rules."""
    numbers = Counter(worst_verdicts(audit).values())
    minor = sum(own[0].severity == "info" for own in audit.by_rule)
    return Totals(
        fix=numbers["finding"] - minor,
        consider=minor,
        passed=numbers["pass"],
        waived=numbers["waived"],
        error=numbers["error"],
        unknown=numbers["unknown"],
        not_applicable=numbers["not-applicable"],
    )


def verdicts_of(audit: Audit, verdict: Verdict) -> tuple[dict[str, list[Finding]], dict[str, list[Finding]]]:
    """Return the verdicts of one kind by their rules: of those that ``totals`` counts there, and of those counted elsewhere.

    A rule that passes for one adapter and finds something on another is counted once, by its finding.
    """
    worst = worst_verdicts(audit)
    counted: dict[str, list[Finding]] = {}
    partly: dict[str, list[Finding]] = {}
    for finding in audit.findings:
        if finding.verdict == verdict:
            (counted if worst[finding.id] == verdict else partly).setdefault(finding.id, []).append(finding)
    return counted, partly
