"""The folder of a fleet: which node was asked when, what it answered, and where the capture lies.

A fleet's folder holds ``NODE.tar.gz`` for each node that answered, ``NODE.measured.json`` where one was measured, and
``answers.jsonl``: a line for each node and try, the last line of a node counts. Captures are the truth, all else is derived.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import Field, ValidationError

from advisor.model.value import HostName, Value

ANSWERS: Final = "answers.jsonl"
"""The file in a fleet's folder that holds the Answers."""
CAPTURE_SUFFIX: Final = ".tar.gz"
MEASURED_SUFFIX: Final = ".measured.json"
_LONGEST: Final = 1 << 16
"""Bytes of a line: a reason is a line of ssh's."""


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


KEPT: Final = (Outcome.ANSWERED, Outcome.WRONG_NAME)
"""Outcomes that leave a whole capture: a node that calls itself otherwise is named, and its capture is read."""


class Answer(Value):
    """What became of asking one node once."""

    node: HostName = Field(description="the name it was asked by")
    at: str = Field(description="when, by the clock of who asked: 2026-01-31T06:10:00Z", max_length=40)
    outcome: Outcome = Field(description="answered, or why not")
    why: str | None = Field(default=None, description="the reason in the words of ssh, srun or the shell", max_length=400)
    archive: str | None = Field(default=None, description="the capture's file, in the same folder", max_length=300)
    sha256: str | None = Field(default=None, description="of the capture's file", max_length=64)
    seen_as: str | None = Field(
        default=None, description="the name that the node has itself", max_length=300
    )

    def line(self) -> bytes:
        """Return the line that is put at the end of ``answers.jsonl``."""
        return self.model_dump_json(exclude_none=True).encode() + b"\n"


class Answers(NamedTuple):
    """The last answer of each node, in the order in which they were first asked, and the lines that are none."""

    last: dict[str, Answer]
    damaged: tuple[int, ...] = ()


def answers_in(data: bytes) -> Answers:
    """Return what the lines of ``answers.jsonl`` say; one that was cut short by a full disk stops no other."""
    last: dict[str, Answer] = {}
    damaged: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            answer = Answer.model_validate_json(line[:_LONGEST])
        except ValidationError:
            damaged.append(number)
            continue
        last[answer.node] = answer
    return Answers(last, tuple(damaged))
