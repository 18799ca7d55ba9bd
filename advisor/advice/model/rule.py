"""A rule as it is written, not yet checked against the facts, and the publications that rules and sheets cite."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, RootModel, StringConstraints

from advisor.advice.model.setting import Where
from advisor.machine.value import Value, optional
from advisor.measure.platform import Scope


class Publication(Value):
    """Who said it, when, and where to read it."""

    title: str = Field(description="what it is called", min_length=3)
    by: str = Field(description="author or publisher", min_length=2)
    year: int | None = Field(default=None, ge=1990, le=2100, description="year of publication; None where it does not state one")
    where: str = Field(description="URL, or the document by the name under which it can be found", min_length=3)


class Publications(RootModel[dict[str, Publication]]):
    """All publications by the id under which they are cited."""

    model_config = ConfigDict(frozen=True)


Severity = Literal["high", "medium", "low", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("high", "medium", "low", "info")
"""Worst first."""

WHERES: Final[tuple[Where, ...]] = ("hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job")
"""The order in which one visit to the machine room and one reboot serve all."""

Basis = Literal["measured", "computed", "published", "fault", "guides", "elsewhere", "disputed"]
BASES: Final[dict[Basis, str]] = {
    "measured": "measured on this machine",
    "computed": "arithmetic on what this machine shows",
    "published": "published for this generation",
    "fault": "a fault seen on this machine",
    "guides": "guides agree; how much it costs here is not known",
    "elsewhere": "no number and no guides that agree for this generation",
    "disputed": "guides differ",
}
"""What a severity rests on, surest first; on the last two nothing is to be fixed, only to be considered."""

BOUNDS: Final[tuple[tuple[float, Severity], ...]] = ((0.10, "high"), (0.02, "medium"), (0.0, "low"))
"""The part that is surely lost, and the severity that more than that can have."""

Verdict = Literal["finding", "pass", "unknown", "not-applicable", "error", "waived"]

SCOPES: Final[tuple[Scope, ...]] = ("mpi", "hpl", "latency", "throughput", "virtualisation")

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+){0,11}$", max_length=64)]
Plain = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]


def _as_text(value: Any) -> Any:
    """Return a number or truth value as the expression that yields it."""
    return str(value) if isinstance(value, (bool, int, float)) else value


Expression = Annotated[str, BeforeValidator(_as_text), StringConstraints(min_length=1, strip_whitespace=True)]


class CostText(Value):
    """What it costs to leave things as they are."""

    gain: Expression | None = optional(
        "part that is surely won, 0.13 for 13 %: a number or an expression, of a range its lower end; unknown where "
        "the source is of another generation"
    )
    of: Plain = Field(description="of what: triad, HPL, message rate")
    basis: Literal["published", "computed", "measured"] = Field(
        description="whether a source measured it, it follows from the facts, or it was measured on this machine"
    )
    ref: Id | None = optional("the publication that measured it")
    measured: Expression | None = optional("the same part as measured on this machine; stands in place of gain where it is known")
    measured_of: Plain | None = optional("of what, where that differs from `of`")


class Guide(Value):
    """What one guide says, where guides differ."""

    says: Plain
    ref: Id
    otherwise: bool = optional("whether it wants another state than the rule does", default=False)


class ExampleText(Value):
    """A test of the rule: facts, and the verdict they must give."""

    given: dict[str, Any] = Field(description="facts by dotted name; those not given are not known")
    scope: Scope | None = optional("the asked scope; the rule's first where none is given")
    expect: Verdict
    say: str | None = optional("words that the claim must contain")


class RuleText(Value):
    """One rule of a rule file."""

    id: Id = Field(description="reads after 'allow'; never reused")
    title: Plain = Field(description="the fault in a few words")
    severity: Severity = Field(description="the most that it may be; the engine lowers it to what is surely lost")
    basis: Literal["fault", "guides"] = optional(
        "what it rests on where no number is known: a fault, at any price, or guides, which allow medium at most", "guides"
    )
    agree: Expression | None = optional(
        "where guides agree; elsewhere, without a number, there is something to consider and not to fix"
    )
    scope: tuple[Scope, ...] = Field(default=SCOPES, min_length=1, description="the work it matters for; all if none")
    where: Where | None = optional("where it is fixed; the setting's own place where set is given")
    each: Plain | None = optional("NAME in LIST: one verdict for each item")
    subject: Plain | None = optional("what the verdict is about: {adapter.name}")
    let: dict[str, Expression] = optional("named values, which a site may override", {})
    only: Expression | None = optional("where this is false the rule does not apply")
    when: Expression = Field(description="where this is true there is a finding")
    say: Plain = Field(description="the claim")
    why: Plain = Field(description="the mechanism, two sentences")
    cost: CostText | None = None
    set: dict[str, Expression] = optional("settings and the values they should have", {})
    want: Plain | None = optional("the state wanted, as a line of a checklist; needed without set")
    fix: Plain | None = optional("what to do where no setting does it")
    check: Plain = Field(description="how to see that it is fixed")
    undo: Plain | None = optional("how to go back; a setting goes back to what it was")
    spare: Plain | None = optional("when to leave it as it is")
    guides: tuple[Guide, ...] = optional("what differing guides say", ())
    refs: tuple[Id, ...] = Field(min_length=1, description="publications it rests on")
    tests: tuple[ExampleText, ...] = Field(
        default=(), min_length=1, description="examples that fire, pass and stay unknown; () where they were not read"
    )


class Waiver(Value):
    """A finding that a site accepts, with the reason, until a day."""

    id: Id = Field(description="the rule")
    hosts: tuple[Plain, ...] = optional("host names; * and ? stand for letters", ("*",))
    reason: Plain
    until: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")] = Field(
        description="ISO date, the last day it holds"
    )


class SiteFile(Value):
    """A file of a site: its own rules, other thresholds, and waivers. A plain list is a file of rules alone."""

    rules: tuple[RuleText, ...] = ()
    let: dict[str, dict[str, Expression]] = optional("by rule, other values for what its let names", {})
    waivers: tuple[Waiver, ...] = ()
