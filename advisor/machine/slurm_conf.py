"""What a site's slurm.conf and gres.conf say of its nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

COUNTS = ("cpus", "boards", "socketsperboard", "sockets", "corespersocket", "threadspercore", "realmemory")
"""Keys of a node's line that are numbers."""


@dataclass(frozen=True, eq=False)
class ConfLine:
    """A line NodeName= of slurm.conf, or a line of gres.conf."""

    place: str
    """The file and the line: slurm.conf line 12."""
    nodes: str | None
    """As they stand there: n[001-400]; None of a line of gres.conf for all nodes."""
    said: Mapping[str, str]
    """Key in small letters -> value; of slurm.conf with what NodeName=DEFAULT says."""
    own: tuple[tuple[str, str], ...] = ()
    """Keys and values of the line itself, as they are written there."""

    def number(self, key: str) -> int | None:
        """Return a value that is a whole number, with K for 1024 of them as slurmctld reads it; None where there is none."""
        text = self.said.get(key, "")
        digits = text.rstrip("kK")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 16 and len(text) - len(digits) < 2):
            return None
        return int(digits) << (10 if text != digits else 0)


@dataclass(frozen=True)
class Said:
    """The node that slurmctld makes of a line: as 22.05.8 was seen to."""

    cpus: int
    sockets: int
    """Of all boards."""
    cores: int
    threads: int
    reset: int | None = None
    """What CPUs= said, where slurmctld did not take it."""

    @property
    def product(self) -> int:
        """CPUs that sockets, cores and threads multiply to."""
        return self.sockets * self.cores * self.threads


def said_node(line: ConfLine) -> Said:
    """Return the node of a line: Sockets are those of all boards, whatever the manual says; CPUs that no product gives go."""
    numbers = {key: line.number(key) for key in COUNTS}
    cpus = numbers["cpus"] if numbers["cpus"] is not None else line.number("procs")
    boards, cores, threads = (numbers[key] or 1 for key in ("boards", "corespersocket", "threadspercore"))
    inferred = max(1, (cpus or 1) // (cores * threads))
    sockets = (numbers["socketsperboard"] or 0) * boards or numbers["sockets"] or inferred
    made = Said(cpus or 0, sockets, cores, threads)
    if cpus is None:
        return replace(made, cpus=made.product)
    return made if cpus in (sockets, sockets * cores, made.product) else replace(made, cpus=made.product, reset=cpus)


@dataclass(frozen=True)
class SlurmConf:
    """A site's slurm.conf with all that it includes, and gres.conf beside it."""

    file: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Key in small letters -> value; the last counts, as slurmctld says."""
    nodes: tuple[ConfLine, ...] = ()
    gres: tuple[ConfLine, ...] | None = None
    """None where there is no gres.conf."""
    unread: tuple[str, ...] = ()
    """Included files that could not be read, and why."""

    def words(self, key: str) -> frozenset[str]:
        """Return the words of a setting, in small letters."""
        return frozenset(word.strip() for word in self.settings.get(key, "").lower().split(",") if word.strip())
