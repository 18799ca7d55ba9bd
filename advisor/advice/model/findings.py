"""What judging a machine gives: findings, the audit they stand in, one rule explained, and what two audits differ in."""

from collections import Counter
from typing import Literal

from pydantic import Field, computed_field, model_validator

from advisor.advice.model.sheets import BASES, SEVERITIES, Basis, Guide, Severity, Verdict, Where, Witness
from advisor.machine.machine import Gap
from advisor.machine.value import Value, optional
from advisor.measure.measured_facts import Refused
from advisor.measure.platform import Scope


class Evidence(Value):
    """A fact that a verdict rests on."""

    fact: str = Field(description="its dotted name")
    value: str = Field(description="its value in words")
    where: str | None = optional("the file or command it was read from")


class Lack(Value):
    """A fact that would be needed for a verdict."""

    fact: str
    why: str = Field(description="why it is not known")
    help: str = Field(description="what would make it known")


class Cost(Value):
    """What it costs to leave things as they are."""

    gain: float | None = optional("part that is surely won: 0.13")
    of: str = Field(description="of what")
    basis: Literal["published", "computed", "measured"]
    ref: str | None = optional("the publication")


class Want(Value):
    """A setting and the value it should have."""

    setting: str
    value: str | None = optional("None where it depends on what is not known")


class Fix(Value):
    """One step in this machine's own words."""

    setting: str | None = None
    value: str | None = optional("the neutral value wanted")
    text: str = Field(description="the step, one line")
    where: Where
    menu: str | None = optional("path through the BIOS menus")
    attribute: str | None = optional("the BIOS's own name of it")
    attribute_value: str | int | bool | None = optional("the BIOS's own value")
    commands: tuple[str, ...] = optional("lines to paste; BIOS changes are staged by them, not applied", ())
    apply: tuple[str, ...] = optional("lines that make all staged changes take effect, once, with a restart", ())
    before: tuple[str, ...] = optional("what must be set first", ())
    notes: tuple[str, ...] = ()
    reboot: str = "no"
    check: str | None = optional("the command that shows the present value")
    undo: str | None = optional("how to undo it")
    verified: bool | None = optional("whether the vendor's own registry has this name and value")


class Finding(Value):
    """One verdict of one rule on one subject."""

    id: str = Field(description="the rule")
    title: str
    topic: str
    verdict: Verdict
    severity: Severity = Field(description="of a finding what is surely lost makes it; info is to consider, all else to fix")
    basis: Basis = optional("what the severity rests on", "guides")
    scope: tuple[Scope, ...] = Field(description="the work it matters for")
    where: Where
    subject: str | None = optional("which of several things: mlx5_0, socket 1")
    claim: str | None = optional("what is so; of an unknown or an error, what stands in the way")
    why: str = ""
    evidence: tuple[Evidence, ...] = ()
    lacks: tuple[Lack, ...] = optional("what an unknown would need", ())
    cost: Cost | None = None
    wants: tuple[Want, ...] = ()
    want: str | None = optional("the state wanted, as a line of a checklist")
    advice: str | None = optional("what to do where no setting does it")
    fix: tuple[Fix, ...] = optional("the steps in this machine's own words", ())
    check: str | None = None
    undo: str | None = None
    spare: str | None = None
    guides: tuple[Guide, ...] = ()
    refs: tuple[str, ...] = ()
    waived: str | None = optional("reason and last day of a waiver")

    @model_validator(mode="before")
    @classmethod
    def _without_derived(cls, data: object) -> object:
        """Accept what a document holds: the bound is the cost's."""
        return {key: value for key, value in data.items() if key != "bound"} if isinstance(data, dict) else data

    @computed_field(description="the least that is lost: 0.13; None where there is no number")  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def bound(self) -> float | None:
        """The least that is lost; None where there is no number."""
        return self.cost.gain if self.cost else None


class Step(Value):
    """An expression or a part of one, and what it came to."""

    depth: int = Field(ge=0, description="how deep inside the whole expression it stands")
    text: str
    value: str = Field(description="in words; true, false or unknown of a truth value")
    where: str | None = optional("the file or command a fact was read from")
    decides: bool = Field(description="whether the whole came out as it did because of this part")


class Part(Value):
    """One expression of the rule."""

    key: Literal["each", "let", "only", "when", "set", "gain"]
    name: str | None = optional("the name that let gives it, the setting that set is about")
    steps: tuple[Step, ...]


class Answer(Value):
    """The rule's verdict on one subject."""

    subject: str | None = None
    verdict: Verdict
    said: str | None = optional("the claim, or why the rule does not apply")
    parts: tuple[Part, ...] = ()
    lacks: tuple[Lack, ...] = optional("what would be needed where it is unknown", ())


class Explanation(Value):
    """A rule with all its verdicts on one machine."""

    id: str
    title: str
    topic: str
    severity: Severity
    scope: tuple[Scope, ...] = Field(description="the work it matters for")
    asked: Scope = Field(description="the work it was asked for")
    file: str
    line: int
    answers: tuple[Answer, ...]


class Row(Value):
    """One line of the table of settings."""

    name: str = Field(description="neutral name: numa.nps")
    term: str = Field(description="the word that people search for: NPS, vm.swappiness")
    title: str = Field(description="the term explained: NUMA nodes per socket")
    where: Where
    current: str | None = optional("what it is set to, in neutral words; None where that is not known")
    wanted: str | None = optional("what the rules want for the scope; None where none asks")
    confidence: str | None = optional("high, medium, low: how sure the current value is")
    how: str | None = optional("how the current value is known")
    bios: str | None = optional("what the BIOS says, where it was asked")
    pending: str | None = optional("what the BIOS will apply at the next boot")
    witnesses: tuple[Witness, ...] = optional("who says what of it, who is believed first", ())
    rules: tuple[str, ...] = optional("the rules that want it", ())
    met: bool | None = optional("whether current is as wanted; None where either is not known")

    @property
    def heading(self) -> str:
        """Return the term with what it means: ``NPS (NUMA nodes per socket)``."""
        return f"{self.term} ({self.title})"


class Audit(Value):
    """Everything an audit says; the Machine itself travels beside it."""

    scope: Scope = Field(description="the work it was judged for")
    platform: str | None = optional("processor generation in words: EPYC 7002 (Rome)")
    platform_id: str | None = None
    vendor: str | None = optional("vendor of the server whose names are used; None for neutral names")
    findings: tuple[Finding, ...] = Field(description="every verdict of every rule")
    settings: tuple[Row, ...]
    doubts: tuple[Finding, ...] = optional(
        "what would be findings if the measurements were of an idle machine, and steady: nobody knows", ()
    )
    unseen: tuple[Gap, ...] = optional("what could not be read, and what would make it known", ())
    results: int = optional("how many measured results were given", 0)
    rejected: tuple[Refused, ...] = optional("those of them that are not believed", ())

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

    name: str = Field(description="dotted name, or the setting")
    title: str = Field(description="in words")
    before: str | None
    after: str | None
    absent: bool = optional("of a side that is None: whether it is known to have no such thing", default=False)

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
    now: str = Field(description="the verdict on the other side: pass, unknown, not-applicable")


class Difference(Value):
    """Everything in which two audits differ."""

    before: str = Field(description="what the first one is called")
    after: str
    identity: tuple[Change, ...] = ()
    settings: tuple[Change, ...] = ()
    topology: tuple[Change, ...] = ()
    renumbered: int | None = optional("CPU numbers that mean another core; None where shapes differ")
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
