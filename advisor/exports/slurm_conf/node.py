"""A node and its line, as they are compared, and what was found."""

from dataclasses import dataclass

from advisor.advice.model.rule import Severity
from advisor.machine.machine import Machine
from advisor.machine.slurm_conf import ConfLine, Said, SlurmConf
from advisor.machine.slurm_definition import Definition
from advisor.machine.slurm_node import FoundNode
from advisor.machine.topology import Topology

SHAPE = ("cpus", "procs", "boards", "socketsperboard", "sockets", "corespersocket", "threadspercore")
"""Keys that a line's shape is made of."""


@dataclass(frozen=True)
class Found:
    """A difference of one node."""

    id: str
    severity: Severity
    place: str
    claim: str
    cost: str
    fix: "Fix | str"
    """What the node's line wants, or a line of another kind to write."""


@dataclass(frozen=True)
class Fix:
    """What is to be written otherwise in a node's line; None of what stays."""

    cpus: int | None = None
    """With sockets, cores and threads as they are."""
    memory: int | None = None
    gres: str | None = None

    def __or__(self, other: "Fix") -> "Fix":
        """Return both."""
        return Fix(self.cpus or other.cpus, self.memory or other.memory, self.gres or other.gres)


@dataclass(frozen=True)
class Compared:
    """A node's line and the node."""

    conf: SlurmConf
    line: ConfLine
    said: Said
    machine: Machine
    topology: Topology
    wanted: Definition
    found: FoundNode
    """With the sockets that SlurmdParameters chooses."""
    gres: tuple[ConfLine, ...]
    """The lines of gres.conf that are for the node."""
    sockets_known: bool
    """Whether what SlurmdParameters makes sockets of is known."""
    name: str

    @property
    def cores(self) -> int:
        """Cores that Slurm can describe."""
        return self.wanted.found.described // self.wanted.found.threads

    def differs(self, id: str, severity: Severity, claim: str, cost: str, fix: "Fix | str") -> Found:  # noqa: A002 - as rules say
        """Return a difference of the node's line."""
        return Found(id, severity, self.line.place, claim, cost, fix)

    def reshaped(self, cpus: int | None = None) -> Fix:
        """Return the fix of a shape: with as many CPUs as slurmd finds, or as a site counts them."""
        return Fix(cpus=cpus or self.found.described)

    def corrected(self, names: str, fix: Fix) -> str:
        """Return the line as it should be, with all that it says beside; what NodeName=DEFAULT says stays there."""
        found = self.found
        new = {
            "cpus": f"CPUs={fix.cpus} Boards={found.boards} SocketsPerBoard={found.per_board} CoresPerSocket={found.cores} "
            f"ThreadsPerCore={found.threads}"
            if fix.cpus
            else "",
            "realmemory": f"RealMemory={fix.memory}" if fix.memory else "",
            "gres": f"Gres={fix.gres}" if fix.gres else "",
        }
        gone = {*(SHAPE if fix.cpus else ()), *(key for key, text in new.items() if text)}
        kept = [f"{key}={_quoted(value)}" for key, value in self.line.own if key.lower() not in gone]
        return " ".join([f"NodeName={names}", *filter(None, new.values()), *kept])

    @property
    def shares_memory(self) -> bool:
        """Whether jobs are given memory at all (SelectTypeParameters=CR_Core_Memory)."""
        return any("memory" in word for word in self.conf.words("selecttypeparameters"))


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
