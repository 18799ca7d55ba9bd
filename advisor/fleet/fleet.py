"""The folder of a fleet: which node was asked when, what it answered, and where the capture lies.

A fleet's folder holds ``NODE.tar.gz`` for each node that answered, ``NODE.measured.json`` where one was measured, and
``answers.jsonl``: a line for each node and try, the last line of a node counts. Captures are the truth, all else is derived.
"""

import json
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationError

from advisor.advice.model.sheets import SEVERITIES, Severity
from advisor.machine.hosts.errands import Outcome, expanded
from advisor.machine.secrecy import without_secrets
from advisor.machine.value import HostName, Value, optional

ANSWERS: Final = "answers.jsonl"
"""The file in a fleet's folder that holds the Answers."""
CAPTURE_SUFFIX: Final = ".tar.gz"
MEASURED_SUFFIX: Final = ".measured.json"
PAIRS: Final = "fleet-pairs.json"
"""The file in a fleet's folder that holds what its pairs gave last."""
BIOS_SUFFIX: Final = ".bios.json"
"""Beside a node's capture: its BIOS attributes, as ``advisor bios read`` or its BMC gave them."""
BEFORE_SUFFIX: Final = ".before.measured.json"
"""Of a node that was measured again: what it had the first time."""
_LONGEST: Final = 1 << 16
"""Bytes of a line: a reason is a line of ssh's."""


KEPT: Final = (Outcome.ANSWERED, Outcome.WRONG_NAME)
"""Outcomes that leave a whole capture: a node that calls itself otherwise is named, and its capture is read."""


class Answer(Value):
    """What became of asking one node once."""

    node: HostName = Field(description="the name it was asked by")
    at: str = Field(description="when, by the clock of who asked: 2026-01-31T06:10:00Z", max_length=40)
    outcome: Outcome = Field(description="answered, or why not")
    why: Annotated[str, AfterValidator(lambda why: without_secrets(why)[:400])] | None = optional(
        "the reason in the words of ssh, srun or the shell, without credentials", max_length=400
    )
    archive: str | None = optional("the capture's file, in the same folder", max_length=300)
    sha256: str | None = optional("of the capture's file", max_length=64)
    seen_as: str | None = optional("the name that the node has itself", max_length=300)

    def line(self) -> bytes:
        """Return the line that is put at the end of ``answers.jsonl``."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), separators=(",", ":")).encode() + b"\n"


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


class Silent(Value):
    """A node of which nothing is known, and why."""

    node: str
    why: str = Field(description="timed out, no route, truncated, ...: what stood in the way")


class Kind(Value):
    """Nodes of the same hardware."""

    name: str = Field(description="epyc7702-2s-256g-3686: what it is made of, and a hash of it; the largest kind comes first")
    hardware: str = Field(description="what it is made of: vendor, product, processors, DIMMs, adapters, GPUs")
    nodes: str = Field(description="its nodes, folded: n[001-400]")
    count: int


class Wrong(Value):
    """A finding, and the nodes of a kind that have it."""

    rule: str
    severity: Severity
    kind: str
    nodes: str = Field(description="folded")
    count: int
    title: str = ""
    claim: str = optional("what is so on the first of them", "")
    fix: str = optional("one step for all of them", "")
    of: int = optional("nodes of the kind", 0)
    bound: float | None = optional("the part of a node's work that is surely lost")


class Drift(Value):
    """A fact in which at most a tenth of a kind differs from the rest."""

    fact: str
    kind: str
    majority: str = Field(description="the value of the rest")
    nodes: str = Field(description="those that differ, folded")
    count: int
    value: str = optional("what they have instead", "")
    of: int = optional("nodes of the kind of which it is known", 0)


class Population(Value):
    """The nodes of a kind that have one value."""

    value: str
    nodes: str
    count: int


class Split(Value):
    """A fact that divides a kind: nobody but its owner knows which side is meant."""

    fact: str
    kind: str
    populations: tuple[Population, ...] = Field(description="the largest first")


class Slow(Value):
    """A figure of a node that is far below those of its like."""

    figure: str
    node: str
    value: float = Field(description="in the base unit")
    median: float = Field(description="of the nodes that it is compared with")
    z: float = Field(description="how many times the usual distance from the median it is away; below 0 is worse")
    kind: str = ""
    unit: str = ""
    among: int = optional("nodes that it is compared with", 0)
    explained: str | None = optional("the setting that accounts for it: nodes with the same value are as slow")
    again: bool = optional("it was measured twice, and is slow in both", default=False)


class Same(Value):
    """How many facts of a kind are the same everywhere."""

    kind: str
    same: int
    facts: int
    varied: int = optional("facts that are another on most nodes, such as an address", 0)


class Odd(Value):
    """What is odd about an answer, and was used all the same."""

    what: str = Field(description="wrong name, same name twice, clock, version, ...")
    node: str
    why: str


Action = Literal["drain", "ticket", "ask", "watch", "ignore"]
ACTIONS: Final[tuple[Action, ...]] = ("drain", "ticket", "ask", "watch", "ignore")
"""What is to be done about an incident, the most urgent first."""


class Incident(Value):
    """One cause, with the facts and findings that come of it, and the nodes that have it."""

    id: str = Field(description="kind/rule/subject: stays the same while the cause does, for tickets")
    action: Action = Field(description="drain: keep jobs away; ticket: repair or set; ask: which side is meant; watch; ignore")
    severity: Severity
    kind: str = optional("of hardware; empty: of several, or not known", "")
    nodes: str = Field(description="folded")
    count: int
    of: int = optional("nodes of the kind", 0)
    text: str = Field(description="the cause in words")
    facts: tuple[str, ...] = optional("what differs because of it, equal values folded", ())
    rules: tuple[str, ...] = optional("what is found because of it", ())
    fix: str = ""
    lost: float | None = optional("node-hours a day: all of a node to be drained, or the part surely lost")

    @property
    def rule(self) -> str:
        """The rule or fact that names the cause."""
        return self.id.split("/")[1]

    def holds(self, node: str) -> bool:
        """Return whether a node has it."""
        return bool(self.nodes) and node in expanded(self.nodes)


class Fleet(Value):
    """Many nodes on one screen."""

    asked: int
    answered: int
    silent: tuple[Silent, ...] = ()
    kinds: tuple[Kind, ...] = ()
    wrong: tuple[Wrong, ...] = ()
    drift: tuple[Drift, ...] = ()
    split: tuple[Split, ...] = ()
    slow: tuple[Slow, ...] = ()
    same: tuple[Same, ...] = ()
    odd: tuple[Odd, ...] = ()
    incidents: tuple[Incident, ...] = optional("the same by causes, the most urgent first", ())
    begun: str | None = optional("when the first node was asked")
    ended: str | None = optional("when the last was")
    exclude: str = optional("nodes that should get no jobs, folded, as srun --exclude takes them", "")

    def reaches(self, severity: Severity) -> bool:
        """Return whether a finding is as severe as this, or worse."""
        return any(SEVERITIES.index(each.severity) <= SEVERITIES.index(severity) for each in self.wrong)


class Change(Value):
    """What happened to an incident since a day, and on which nodes."""

    what: str = Field(description="appeared, went, healed (came and went in between), flaps")
    id: str
    action: Action
    severity: Severity
    nodes: str = Field(description="folded")
    count: int
    text: str
    first: str = Field(description="the first snapshot that has it")
    last: str = Field(description="the last that has it")
    after: str = Field(description="it changed after this snapshot was taken")
    until: str = Field(description="and until this one was")
    changes: int = Field(description="how often it came or went since the day")


class Since(Value):
    """What a fleet became since a day."""

    since: str = Field(description="the snapshot that it is compared with")
    until: str = Field(description="the last one")
    snapshots: int = Field(description="how many were read")
    changes: tuple[Change, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet since --json``."""
        return {"schema": "advisor-fleet-since/1", **self.model_dump(mode="json")}
