"""The folder of a fleet: which node was asked when, what it answered, and where the capture lies.

A fleet's folder holds ``NODE.tar.gz`` for each node that answered, ``NODE.measured.json`` where one was measured, and
``answers.jsonl``: a line for each node and try, the last line of a node counts. Captures are the truth, all else is derived.
"""

import json
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationError

from advisor.advice.model.sheets import SEVERITIES, Severity
from advisor.machine.hosts.errands import Outcome, expanded
from advisor.machine.secrecy import without_secrets
from advisor.machine.value import HostName, Value, optional

ANSWERS = "answers.jsonl"
"""The file in a fleet's folder that holds the Answers."""
CAPTURE_SUFFIX = ".tar.gz"
MEASURED_SUFFIX = ".measured.json"
PAIRS = "fleet-pairs.json"
"""The file in a fleet's folder that holds what its pairs gave last."""
BIOS_SUFFIX = ".bios.json"
"""Beside a node's capture: its BIOS attributes, as ``advisor bios read`` or its BMC gave them."""
BEFORE_SUFFIX = ".before.measured.json"
"""Of a node that was measured again: what it had the first time."""
_LONGEST = 1 << 16
"""Bytes of a line: a reason is a line of ssh's."""


KEPT = (Outcome.ANSWERED, Outcome.WRONG_NAME)
"""Outcomes that leave a whole capture: a node that calls itself otherwise is named, and its capture is read."""


class Answer(Value):
    """What became of asking one node once."""

    node: HostName
    """the name under which it was contacted"""
    at: str = Field(max_length=40)
    """when, by the asking host's clock: 2026-01-31T06:10:00Z"""
    outcome: Outcome
    """answered, or why not"""
    why: Annotated[str, AfterValidator(lambda why: without_secrets(why)[:400])] | None = optional(max_length=400)
    """the reason in the words of ssh, srun or the shell, without credentials"""
    archive: str | None = optional(max_length=300)
    """the capture file, in the same folder"""
    sha256: str | None = optional(max_length=64)
    """SHA-256 of the capture file"""
    seen_as: str | None = optional(max_length=300)
    """the node's own name"""

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
    why: str
    """the reason: timed out, no route, truncated, ..."""


class Kind(Value):
    """Nodes of the same hardware."""

    name: str
    """epyc7702-2s-256g-3686: its hardware and a hash of it; the largest kind comes first"""
    hardware: str
    """its hardware: vendor, product, processors, DIMMs, adapters, GPUs"""
    nodes: str
    """its nodes, folded: n[001-400]"""
    count: int


class Wrong(Value):
    """A finding, and the nodes of a kind that have it."""

    rule: str
    severity: Severity
    kind: str
    nodes: str
    """folded"""
    count: int
    title: str = ""
    claim: str = ""
    """the claim for the first of them"""
    fix: str = ""
    """a single step for all of them"""
    of: int = 0
    """number of nodes of the kind"""
    bound: float | None = None
    """the part of a node's work that is certainly lost"""


class Drift(Value):
    """A fact in which at most a tenth of a kind differs from the rest."""

    fact: str
    kind: str
    majority: str
    """the value on all other nodes"""
    nodes: str
    """the nodes that differ, folded"""
    count: int
    value: str = ""
    """their value"""
    of: int = 0
    """number of nodes of the kind for which it is known"""


class Population(Value):
    """The nodes of a kind that have one value."""

    value: str
    nodes: str
    count: int


class Split(Value):
    """A fact that divides a kind: nobody but its owner knows which side is meant."""

    fact: str
    kind: str
    populations: tuple[Population, ...]
    """the largest first"""


class Slow(Value):
    """A figure of a node that is far below those of its like."""

    figure: str
    node: str
    value: float
    """in the base unit"""
    median: float
    """median over the nodes it is compared with"""
    z: float
    """distance from the median, in units of the usual distance; below 0 is worse"""
    kind: str = ""
    unit: str = ""
    among: int = 0
    """number of nodes it is compared with"""
    explained: str | None = None
    """the setting that explains it: nodes with the same value are equally slow"""
    again: bool = False
    """measured twice and slow both times"""


class Same(Value):
    """How many facts of a kind are the same everywhere."""

    kind: str
    same: int
    facts: int
    varied: int = 0
    """facts that differ on most nodes, such as an address"""


class Odd(Value):
    """What is odd about an answer, and was used all the same."""

    what: str
    """wrong name, same name twice, clock, version, ..."""
    node: str
    why: str


Action = Literal["drain", "ticket", "ask", "watch", "ignore"]
ACTIONS: tuple[Action, ...] = ("drain", "ticket", "ask", "watch", "ignore")
"""What is to be done about an incident, the most urgent first."""


class Incident(Value):
    """One cause, with the facts and findings that come of it, and the nodes that have it."""

    id: str
    """kind/rule/subject: stable as long as the cause lasts, for tickets"""
    action: Action
    """drain: keep jobs away; ticket: repair or set; ask: which side is intended; watch; ignore"""
    severity: Severity
    kind: str = ""
    """kind of hardware; empty: several, or unknown"""
    nodes: str
    """folded"""
    count: int
    of: int = 0
    """number of nodes of the kind"""
    text: str
    """the cause in words"""
    facts: tuple[str, ...] = ()
    """the facts that differ because of it, identical values folded"""
    rules: tuple[str, ...] = ()
    """the findings it causes"""
    fix: str = ""
    lost: float | None = None
    """node-hours per day: the whole node if it should be drained, otherwise the part that is certainly lost"""

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
    incidents: tuple[Incident, ...] = ()
    """the same grouped by cause, most urgent first"""
    begun: str | None = None
    """when the first node was asked"""
    ended: str | None = None
    """when the last node was asked"""
    exclude: str = ""
    """nodes that should get no jobs, folded, for srun --exclude"""

    def reaches(self, severity: Severity) -> bool:
        """Return whether a finding is as severe as this, or worse."""
        return any(SEVERITIES.index(each.severity) <= SEVERITIES.index(severity) for each in self.wrong)


class Change(Value):
    """What happened to an incident since a day, and on which nodes."""

    what: str
    """appeared, went, healed (came and went in between), flaps"""
    id: str
    action: Action
    severity: Severity
    nodes: str
    """folded"""
    count: int
    text: str
    first: str
    """the first snapshot that shows it"""
    last: str
    """the last snapshot that shows it"""
    after: str
    """it changed after this snapshot was taken"""
    until: str
    """and before this one was taken"""
    changes: int
    """how often it appeared or disappeared since that day"""


class Since(Value):
    """What a fleet became since a day."""

    since: str
    """the snapshot compared with"""
    until: str
    """the last snapshot"""
    snapshots: int
    """number of snapshots read"""
    changes: tuple[Change, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet since --json``."""
        return {"schema": "advisor-fleet-since/1", **self.model_dump(mode="json")}
