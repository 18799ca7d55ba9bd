"""What is asked of other nodes, how they are reached, and what they reply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

FAN_OUT: Final = 64
"""Nodes that are asked at the same time."""


class Ended(StrEnum):
    """How asking a node came to its end."""

    ITSELF = "itself"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much"


class Outcome(StrEnum):
    """What became of asking one node."""

    ANSWERED = "answered"
    TIMED_OUT = "timed out"
    NO_ROUTE = "no route"
    REFUSED = "refused"
    HOST_KEY = "host key"
    PERMISSION = "permission"
    NO_SPACE = "no space"
    KILLED = "killed"
    TRUNCATED = "truncated"
    WRONG_NAME = "wrong name"
    FAILED = "failed"


@dataclass(frozen=True)
class Reply:
    """What one node printed, and how that ended; below zero the status is the signal that ended ssh or srun here."""

    node: str
    out: bytes
    err: bytes
    status: int | None
    ended: Ended = Ended.ITSELF


@dataclass(frozen=True)
class Errand:
    """What each node is to run, the same for all."""

    script: bytes
    ends: bytes = b""
    """What the last line of a whole answer begins with: the node's input is closed then."""


@dataclass(frozen=True)
class Way:
    """How nodes are reached: ssh, or where a partition is named one small job of Slurm for each node."""

    partition: str | None = None
    fan_out: int = FAN_OUT
    timeout: float = 60.0
    """Seconds for each node, from when it is asked; in Slurm's queue too."""
    exclusive: bool = False
    """A job has its node for itself."""

    @property
    def name(self) -> str:
        """Return what reaches the nodes."""
        return "ssh" if self.partition is None else "srun"


@dataclass(frozen=True)
class Line:
    """A launcher's line that is started here, and whose ranks run on nodes that it names."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
