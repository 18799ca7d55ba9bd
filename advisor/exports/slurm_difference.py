"""What a site's slurm.conf says of nodes otherwise than they are, what that costs, and the line to write."""

from dataclasses import dataclass

from advisor.advice.model.rule import SEVERITIES, Severity


@dataclass(frozen=True)
class SlurmDifference:
    """One difference, of nodes that have it in common."""

    id: str
    severity: Severity
    place: str
    """slurm.conf line 12."""
    nodes: tuple[str, ...]
    claim: str
    cost: str
    write: str
    """The line that ends it."""


@dataclass(frozen=True)
class CheckedConf:
    """A slurm.conf against nodes."""

    file: str
    differences: tuple[SlurmDifference, ...]
    nodes: int
    """That were compared."""
    unread: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()

    def reaches(self, severity: Severity) -> bool:
        """Return whether a difference is as severe as this, or worse."""
        return any(SEVERITIES.index(each.severity) <= SEVERITIES.index(severity) for each in self.differences)
