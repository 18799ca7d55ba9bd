"""What judging a machine gives: findings, the audit they stand in, one rule explained, and what two audits differ in."""

from collections import Counter
from typing import Literal

from pydantic import Field, computed_field, model_validator

from advisor.advice.model.sheets import BASES, SEVERITIES, Basis, Guide, Severity, Verdict, Where, Witness
from advisor.machine.machine import Gap
from advisor.machine.value import Value
from advisor.measure.measured_facts import Refused
from advisor.measure.platform import Scope


class Evidence(Value):
    """A fact that a verdict rests on."""

    fact: str
    """its dotted name"""
    value: str
    """its value in words"""
    where: str | None = None
    """the file or command it was read from"""


class Lack(Value):
    """A fact that would be needed for a verdict."""

    fact: str
    why: str
    """why it is unknown"""
    help: str
    """what would reveal it"""


class Cost(Value):
    """What it costs to leave things as they are."""

    gain: float | None = None
    """fraction certain to be gained: 0.13"""
    of: str
    """of what"""
    basis: Literal["published", "computed", "measured"]
    ref: str | None = None
    """the publication"""


class Want(Value):
    """A setting and the value it should have."""

    setting: str
    value: str | None = None
    """None if it depends on something unknown"""


USUAL_NAME = "the usual name in setup menus"
UNKNOWN_NAME = "its name in this server's setup is unknown"
"""Notes on a way through menus that is not this vendor's own."""


class Fix(Value):
    """One step in this machine's own words."""

    setting: str | None = None
    value: str | None = None
    """the neutral value wanted"""
    text: str
    """the step in one line"""
    where: Where
    menu: str | None = None
    """path through the BIOS menus"""
    attribute: str | None = None
    """the BIOS's own name for it"""
    attribute_value: str | int | bool | None = None
    """the BIOS's own value for it"""
    commands: tuple[str, ...] = ()
    """lines to paste; they stage BIOS changes but do not apply them"""
    apply: tuple[str, ...] = ()
    """lines that apply all staged changes at once, with a restart"""
    before: tuple[str, ...] = ()
    """what must be set first"""
    notes: tuple[str, ...] = ()
    reboot: str = "no"
    check: str | None = None
    """the command that shows the current value"""
    undo: str | None = None
    """how to undo it"""
    verified: bool | None = None
    """whether the vendor's own registry has this name and value"""


class Finding(Value):
    """One verdict of one rule on one subject."""

    id: str
    """the rule"""
    title: str
    topic: str
    verdict: Verdict
    severity: Severity
    """for a finding it follows from the certain loss; info: consider, all others: fix"""
    basis: Basis = "guides"
    """the basis of the severity"""
    scope: tuple[Scope, ...]
    """the work it matters for"""
    where: Where
    subject: str | None = None
    """the subject, if there are several: mlx5_0, socket 1"""
    claim: str | None = None
    """the claim; for an unknown or error, the obstacle"""
    why: str = ""
    evidence: tuple[Evidence, ...] = ()
    lacks: tuple[Lack, ...] = ()
    """the facts that an unknown needs"""
    cost: Cost | None = None
    wants: tuple[Want, ...] = ()
    want: str | None = None
    """the wanted state, as a checklist line"""
    advice: str | None = None
    """what to do if no setting does it"""
    fix: tuple[Fix, ...] = ()
    """the steps in this machine's own terms"""
    check: str | None = None
    undo: str | None = None
    spare: str | None = None
    guides: tuple[Guide, ...] = ()
    refs: tuple[str, ...] = ()
    waived: str | None = None
    """reason and last day of a waiver"""

    @model_validator(mode="before")
    @classmethod
    def _without_derived(cls, data: object) -> object:
        """Accept what a document holds: the bound is the cost's."""
        return {key: value for key, value in data.items() if key != "bound"} if isinstance(data, dict) else data

    @computed_field(description="the minimum loss: 0.13; None if there is no number")  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def bound(self) -> float | None:
        """The least that is lost; None where there is no number."""
        return self.cost.gain if self.cost else None


class Step(Value):
    """An expression or a part of one, and what it came to."""

    depth: int = Field(ge=0)
    """its depth in the whole expression"""
    text: str
    value: str
    """in words; true, false or unknown for a truth value"""
    where: str | None = None
    """the file or command a fact was read from"""
    decides: bool
    """whether this part decided the result"""


class Part(Value):
    """One expression of the rule."""

    key: Literal["each", "let", "only", "when", "set", "gain"]
    name: str | None = None
    """the name given by let, or the setting named by set"""
    steps: tuple[Step, ...]


class Answer(Value):
    """The rule's verdict on one subject."""

    subject: str | None = None
    verdict: Verdict
    said: str | None = None
    """the claim, or why the rule does not apply"""
    parts: tuple[Part, ...] = ()
    lacks: tuple[Lack, ...] = ()
    """the facts needed, if it is unknown"""


class Explanation(Value):
    """A rule with all its verdicts on one machine."""

    id: str
    title: str
    topic: str
    severity: Severity
    scope: tuple[Scope, ...]
    """the work it matters for"""
    asked: Scope
    """the workload it was requested for"""
    file: str
    line: int
    answers: tuple[Answer, ...]


class Row(Value):
    """One line of the table of settings."""

    name: str
    """neutral name: numa.nps"""
    term: str
    """the term people search for: NPS, vm.swappiness"""
    title: str
    """the term explained: NUMA nodes per socket"""
    where: Where
    current: str | None = None
    """its current value, in neutral words; None if unknown"""
    wanted: str | None = None
    """the value that rules want for the scope; None if none does"""
    confidence: str | None = None
    """confidence in the current value: high, medium, low"""
    how: str | None = None
    """how the current value is known"""
    bios: str | None = None
    """the BIOS's value, if it was read"""
    pending: str | None = None
    """what the BIOS will apply at the next boot"""
    witnesses: tuple[Witness, ...] = ()
    """each source and its value, most trusted first"""
    rules: tuple[str, ...] = ()
    """the rules that want it"""
    met: bool | None = None
    """whether current is as wanted; None if either is not known"""

    @property
    def heading(self) -> str:
        """Return the term with what it means: ``NPS (NUMA nodes per socket)``."""
        return f"{self.term} ({self.title})"


class Audit(Value):
    """Everything an audit says; the Machine itself travels beside it."""

    scope: Scope
    """the workload it was judged for"""
    platform: str | None = None
    """processor generation in words: EPYC 7002 (Rome)"""
    platform_id: str | None = None
    vendor: str | None = None
    """server vendor whose names are used; None for neutral names"""
    findings: tuple[Finding, ...]
    """every verdict of every rule"""
    settings: tuple[Row, ...]
    doubts: tuple[Finding, ...] = ()
    """findings that hold only if the measurements were steady and from an idle machine, which is unknown"""
    unseen: tuple[Gap, ...] = ()
    """what could not be read, and what would reveal it"""
    results: int = 0
    """number of measured results given"""
    rejected: tuple[Refused, ...] = ()
    """number of rejected results"""

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings alone, costliest first."""
        return tuple(sorted((f for f in self.findings if f.verdict == "finding"), key=cost_order))

    @property
    def by_rule(self) -> tuple[tuple[Finding, ...], ...]:
        """The findings by their rule, costliest rule first: finding number 1 is the first of these, on however many subjects."""
        rules: dict[str, list[Finding]] = {}
        for finding in self.found:
            rules.setdefault(finding.id, []).append(finding)
        return tuple(map(tuple, rules.values()))

    @property
    def others(self) -> tuple[Finding, ...]:
        """All other verdicts, in the rules' own order."""
        return tuple(f for f in self.findings if f.verdict != "finding")


_SUREST = tuple(BASES)


def cost_order(finding: Finding) -> tuple[int, bool, float, int, str, str]:
    """Return the key that sorts findings: what costs most and is surest first.

    Of one severity what is broken or unequal stands before what a number speaks for, and that before what guides say.
    """
    sure = _SUREST.index(finding.basis)
    by_guides = sure > _SUREST.index("fault")
    bound = 1.0 if finding.basis == "fault" and finding.bound is None else finding.bound or 0.0
    return SEVERITIES.index(finding.severity), by_guides, -bound, sure, finding.id, finding.subject or ""


class Change(Value):
    """One thing that differs; None on the side that has it not, or where it was not read."""

    name: str
    """dotted name, or the setting"""
    title: str
    """in words"""
    before: str | None
    after: str | None
    absent: bool = False
    """for a side that is None: whether the value is known to be absent"""

    def sides(self, unread: str = "not read") -> tuple[str, str]:
        """Return both sides in words: what is known not to be there stands apart from what was not read."""
        missing = "not there" if self.absent else unread
        return missing if self.before is None else self.before, missing if self.after is None else self.after


class FindingChange(Value):
    """A finding that one side has and the other has not."""

    id: str
    subject: str | None = None
    severity: str
    claim: str | None
    now: str
    """the verdict on the other side: pass, unknown, not-applicable"""


class Difference(Value):
    """Everything in which two audits differ."""

    before: str
    """name of the first one"""
    after: str
    identity: tuple[Change, ...] = ()
    settings: tuple[Change, ...] = ()
    topology: tuple[Change, ...] = ()
    renumbered: int | None = None
    """number of CPU numbers that now mean a different core; None if shapes differ"""
    devices: tuple[Change, ...] = ()
    facts: tuple[Change, ...] = ()
    gained: tuple[FindingChange, ...] = ()
    lost: tuple[FindingChange, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (
            self.identity or self.settings or self.topology or self.devices or self.facts or self.gained or self.lost
            or self.renumbered
        )  # fmt: skip


_WORST: tuple[Verdict, ...] = ("finding", "error", "unknown", "waived", "pass", "not-applicable")


class Totals(Value):
    """Rules by what they came to, each counted once: with several subjects the worst verdict counts."""

    fix: int
    """findings to fix"""
    consider: int
    """findings of severity info"""
    passed: int
    waived: int
    error: int
    """rules that could not be evaluated"""
    unknown: int
    """rules that need more facts"""
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
