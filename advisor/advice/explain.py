"""One rule explained on a machine: what it says of each subject, and how it came to that."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from advisor.advice.audit import Audited, judge_source
from advisor.advice.audit_page.card import Asker
from advisor.advice.audit_page.explain import Told
from advisor.advice.bios_files import BiosInput
from advisor.advice.judgement import explained, rule_named
from advisor.advice.know.benchmarks import BENCHES, bench_of
from advisor.advice.know.vendors import publications
from advisor.advice.model.findings import Explanation, Finding
from advisor.advice.model.rule import RuleText
from advisor.advice.rules import must_be_rules
from advisor.advice.schema import explain_document
from advisor.machine.observer import SILENT, Observer
from advisor.measure.platform import Scope

_FIGURES: Final = {
    "cut": ("triad",), "bandwidth": ("triad",), "distance": ("latency",), "compute": ("flops",), "hpl": ("hpl", "flops"),
    "messages": ("messages",), "preferred": ("messages",), "quick": ("triad", "latency", "flops"),
}  # fmt: skip
"""Benchmark -> the figures of the whole machine that it gives."""


@dataclass(frozen=True)
class Explained:
    """One rule on one machine: its verdicts with all that belongs to them, and how it came to them."""

    explanation: Explanation
    audited: Audited
    rule: RuleText
    subject: str | None = None
    """The only subject that is asked about; None for all."""

    @property
    def verdicts(self) -> tuple[Finding, ...]:
        """What the rule says of each subject."""
        told = (each for each in self.audited.audit.findings if each.id == self.rule.id)
        return tuple(each for each in told if self.subject in (None, each.subject))

    def told(self, asker: Asker) -> Told:
        """Return what its page is made of."""
        setting = next(iter(self.rule.set), None)
        bench = bench_of((self.rule.id,), setting, self.verdicts[0].where)
        return Told(
            rule=self.rule,
            verdicts=self.verdicts,
            explanation=self.explanation,
            audit=self.audited.judgement.audit,
            plan=self.audited.plan,
            publications=publications(),
            measured=self.audited.judgement.case.measured,
            asker=asker,
            number=self.audited.numbers.get(self.rule.id),
            benchmark=BENCHES[bench].command if bench else None,
            shows=_FIGURES.get(bench or "", ()),
        )

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor explain --json``."""
        return explain_document(self.explanation)


def explain_rule(
    rule: str,
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    subject: str | None = None,
    observer: Observer = SILENT,
) -> Explained:
    """Return what a rule, or that of a finding by its number, says of a machine, and how it came to that."""
    must_be_rules(site, [rule])
    found = judge_source(source, scope, site=site, bios=bios, files=measurements, observer=observer)
    asked = rule_named(found.judgement, rule)
    return Explained(explained(found.judgement, asked, subject), found, asked.text, subject)


def explain(
    rule: str,
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    subject: str | None = None,
    observer: Observer = SILENT,
) -> Explanation:
    """Return how a rule, or that of a finding by its number, came to its verdict: every value, and where it was read."""
    given: dict[str, Any] = {"site": site, "bios": bios, "measurements": measurements, "subject": subject, "observer": observer}
    return explain_rule(rule, source, scope, **given).explanation
