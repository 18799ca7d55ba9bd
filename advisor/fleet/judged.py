"""A finding of a node, as a fleet tells it."""

from dataclasses import dataclass

from advisor.advice.model.sheets import Severity


@dataclass(frozen=True)
class Judged:
    """A finding of a node."""

    rule: str
    severity: Severity
    title: str
    claim: str
    fix: str
    topic: str = ""
    subject: str | None = None
    bound: float | None = None
    """The part of a node's work that is surely lost; None where there is no number."""
    facts: tuple[str, ...] = ()
    """The facts that it rests on."""
