"""What the user wants measured."""

from dataclasses import dataclass

from advisor.model.cpuset import CpuSet
from advisor.model.measurement import Part


@dataclass(frozen=True)
class Wish:
    """One request; None where the usual will do."""

    what: str = "quick"
    per: Part | None = None
    patterns: tuple[str, ...] | None = None
    cpus: CpuSet | None = None
    memory: int | None = None
    repeats: int | None = None
    smt: bool = False

    def either(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return the patterns asked for, or those that are usual."""
        return self.patterns or usual
