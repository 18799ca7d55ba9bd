"""An audit: what a machine is, how it is set, what the rules found, what could not be seen."""

from pydantic import Field

from advisor.model.evidence import Gap
from advisor.model.finding import Finding
from advisor.model.platform import Scope
from advisor.model.setting import Where
from advisor.model.value import Value


class Row(Value):
    """One line of the table of settings."""

    name: str = Field(description="neutral name: numa.nps")
    title: str
    where: Where
    current: str | None = Field(default=None, description="what it stands at, in neutral words; None where that is not known")
    wanted: str | None = Field(default=None, description="what the rules want for the scope; None where none asks")
    confidence: str | None = Field(default=None, description="high, medium, low: how sure the current value is")
    how: str | None = Field(default=None, description="how the current value is known")
    bios: str | None = Field(default=None, description="what the BIOS says, where it was asked")
    pending: str | None = Field(default=None, description="what the BIOS will apply at the next boot")
    rules: tuple[str, ...] = Field(default=(), description="the rules that want it")
    met: bool | None = Field(default=None, description="whether current is as wanted; None where either is not known")


class Audit(Value):
    """Everything an audit says; the Machine itself travels beside it."""

    scope: Scope = Field(description="the work it was judged for")
    platform: str | None = Field(default=None, description="processor generation in words: EPYC 7002 (Rome)")
    platform_id: str | None = None
    vendor: str | None = Field(default=None, description="maker of the server whose words are used; None for neutral words")
    findings: tuple[Finding, ...] = Field(description="every verdict of every rule")
    settings: tuple[Row, ...]
    unseen: tuple[Gap, ...] = Field(default=(), description="what could not be read, and what would make it known")

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings alone, costliest first."""
        return tuple(sorted((f for f in self.findings if f.verdict == "finding"), key=cost_order))

    @property
    def others(self) -> tuple[Finding, ...]:
        """All other verdicts, in the rules' own order."""
        return tuple(f for f in self.findings if f.verdict != "finding")


_WEIGHT = {"high": 0, "medium": 1, "low": 2, "info": 3}


def cost_order(finding: Finding) -> tuple[int, float, str, str]:
    """Return the key that sorts findings: by what they cost, severity first, then the part to be won."""
    gain = finding.cost.gain if finding.cost and finding.cost.gain else 0.0
    return _WEIGHT[finding.severity], -gain, finding.id, finding.subject or ""
