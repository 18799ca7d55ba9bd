"""A rollout as values: where each node is, what comes next, who may begin. Nothing here does anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Event = dict[str, Any]
End = Literal["done", "proven", "as before", "by hand"]
Step = Literal[
    "stage", "drain", "wait until free", "look before", "restart", "find out", "wait until up", "prove", "measure", "undo",
    "compare", "release",
]  # fmt: skip
STEPS: tuple[Step, ...] = (
    "release", "compare", "measure", "prove", "wait until up", "find out", "undo", "restart", "look before", "wait until free",
    "drain", "stage",
)  # fmt: skip
"""In the order in which they are looked after: a node that is nearly through goes first."""
SECOND_WAVE = 5
"""Nodes after the first one, before the rest."""

_FORWARD: Mapping[str, Step] = {
    "begun": "stage",
    "staging": "stage",
    "staged": "drain",
    "draining": "wait until free",
    "drained": "look before",
    "ready": "restart",
    "up": "prove",
    "proven": "measure",
    "measured": "release",
    "returning": "release",
}
_BACK: Mapping[str, Step] = {"unstaged": "restart", "up": "compare", "returning": "release", "free": "release"}
"""Of a node that is taken back; of every other phase of it the next step is undo."""
_WORDS: Mapping[Step, str] = {
    "stage": "being staged",
    "drain": "staged",
    "wait until free": "draining",
    "look before": "drained",
    "restart": "ready to restart",
    "find out": "checking whether the restart was requested",
    "wait until up": "restarting",
    "prove": "up again",
    "measure": "proven, being measured",
    "undo": "being rolled back",
    "compare": "comparing with its previous state",
    "release": "returning to service",
}


@dataclass(frozen=True)
class Node:
    """Where one node is, by its events so far."""

    name: str
    phase: str = "new"
    restart: Literal["", "asking", "asked"] = ""
    """asking: it may have been asked for; asked: it was; empty once the node was up again."""
    boot: str | None = None
    """The boot before the restart that was asked for."""
    back: bool = False
    """Whether it is being taken back."""
    restarted: bool = False
    """Whether it was restarted with our change."""
    drained: Literal["", "ours", "before"] = ""
    """Who drained it: we, or somebody before us, who gets it back drained."""
    measures: bool = False
    """Whether it is measured before and after."""
    failed: bool = False
    """Whether it did not come back, or was not proven."""
    end: End | None = None
    why: str = ""
    by: str = ""
    """Who proved it."""
    gain: tuple[str, ...] = ()

    @property
    def next(self) -> Step | None:
        """Return what comes next; None of a node that was not begun, or is through."""
        if self.end is not None or self.phase == "new":
            return None
        if self.restart:
            return "find out" if self.restart == "asking" else "wait until up"
        if self.back:
            return _BACK.get(self.phase, "undo")
        return _FORWARD[self.phase]

    @property
    def word(self) -> str:
        """Return where it is, by which many are folded."""
        if self.end is not None:
            told = "; ".join(part for part in (self.by, self.why) if part)
            return f"{self.end}: {told}" if told else self.end
        step = self.next
        return "as before: not started" if step is None else f"under way: {_WORDS[step]}"

    @property
    def ended(self) -> End | Literal["under way"]:
        """Return how it ended; one that was not begun is as before."""
        return self.end or ("as before" if self.phase == "new" else "under way")

    def take(self, event: Event) -> "Node":
        """Return where it is after one more event."""
        taken: Node = _TAKES[event["event"]](self, event)
        return taken


def _over(node: Node, event: Event, end: End) -> Node:
    return replace(node, end=end, why=event.get("why") or node.why)


def _up(node: Node, event: Event) -> Node:
    return replace(node, phase="up", restart="", boot=event["boot"], restarted=True)


def _wrong(node: Node, event: Event) -> Node:
    if event.get("undo"):
        return replace(node, failed=True, back=True, phase="wrong", why=event["why"])
    return replace(node, failed=True, end="by hand", why=event["why"])


def _not_asked(node: Node, event: Event) -> Node:
    if node.back:
        return replace(node, restart="", failed=True, end="by hand", why=event["why"])
    return replace(node, restart="", back=True, why=event["why"])


def _undone(node: Node, event: Event) -> Node:
    return replace(node, phase="unstaged" if event["waits"] else "free")


def _released(node: Node, event: Event) -> Node:
    kept, end = event.get("why"), "as before" if node.back else "done"
    if kept and not node.back:
        end = "proven"
    why = "; ".join(part for part in (node.why, kept, event.get("note")) if part)
    return replace(node, end=end, why=why)  # type: ignore[arg-type] # one of the three


_TAKES: Mapping[str, Any] = {
    "begin": lambda node, event: replace(node, phase="begun", measures=bool(event.get("measures"))),
    "stage": lambda node, _: replace(node, phase="staging"),
    "staged": lambda node, _: replace(node, phase="staged"),
    "applied": lambda node, _: replace(node, phase="up", restarted=True),
    "in effect": lambda node, event: _over(node, event, "done"),
    "refused": lambda node, event: _over(node, event, "as before"),
    "unclear": lambda node, event: replace(_over(node, event, "by hand"), failed=True),
    "drain": lambda node, event: replace(node, phase="draining", drained="before" if event.get("before") else "ours"),
    "free": lambda node, _: replace(node, phase="drained"),
    "before": lambda node, event: replace(node, phase="ready", gain=tuple(event.get("notes") or ())),
    "back": lambda node, event: replace(node, back=True, why=event["why"]),
    "asking": lambda node, event: replace(node, restart="asking", boot=event["boot"]),
    "asked": lambda node, _: replace(node, restart="asked"),
    "not asked": _not_asked,
    "ask again": lambda node, _: replace(node, restart=""),
    "up": _up,
    "lost": lambda node, event: replace(_over(node, event, "by hand"), failed=True),
    "proven": lambda node, event: replace(node, phase="proven", by=event["by"]),
    "wrong": _wrong,
    "measured": lambda node, event: replace(node, phase="measured", gain=(*node.gain, *(event.get("gain") or ()))),
    "undo": lambda node, _: replace(node, phase="undoing"),
    "undone": _undone,
    "as it was": lambda node, _: replace(node, phase="free"),
    "return": lambda node, _: replace(node, phase="returning"),
    "released": _released,
}
EVENTS = frozenset(_TAKES)


@dataclass(frozen=True)
class Policy:
    """How a rollout goes on."""

    at_a_time: int = SECOND_WAVE
    max_failures: int = 1
    undo_on_failure: bool = False
    measure: Literal["first", "all", "none"] = "first"
    restart_minutes: float = 45
    """Count a node as not back after this time."""
    drain_hours: float = 24
    """A node that is not free by then is taken back."""
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Now:
    """All nodes, and what was said of all of them."""

    nodes: tuple[Node, ...]
    approved: bool = False
    """Whether somebody said that the first node's result is good enough to go on."""
    forgiven: int = 0
    """Failures from before somebody resumed it."""
    stopped: str = ""
    """Why nothing more is begun."""

    @property
    def failures(self) -> int:
        """Return how many nodes did not come back or were not proven, since it was begun or resumed."""
        return sum(node.failed for node in self.nodes) - self.forgiven

    @property
    def proven(self) -> int:
        """Return how many nodes are through a restart, and proven."""
        return sum(node.restarted and node.end in ("done", "proven") for node in self.nodes)

    @property
    def running(self) -> tuple[Node, ...]:
        """Return the nodes that are under way."""
        return tuple(node for node in self.nodes if node.next is not None)

    @property
    def waits_for_a_yes(self) -> bool:
        """Return whether the first node is through, and somebody has to look at it before others are begun."""
        return self.proven > 0 and not self.approved and not self.stopped and any(node.phase == "new" for node in self.nodes)


def must_stop(now: Now, policy: Policy) -> str | None:
    """Return why nothing more may be begun; None where it may."""
    failed = [node.name for node in now.nodes if node.failed]
    if now.failures and not now.proven and not now.approved:
        return f"the first node, {failed[-1]}, did not come back, or its change could not be proven"
    if now.failures >= policy.max_failures:
        many = "1 node" if now.failures == 1 else f"{now.failures} nodes"
        return f"{many} failed (did not come back, or change not proven): {', '.join(failed[-3:])}"
    return None


def may_begin(now: Now, policy: Policy) -> tuple[str, ...]:
    """Return who is begun next: one node whole, then five, then so many at a time."""
    if now.stopped or now.waits_for_a_yes:
        return ()
    if not now.proven:
        room = 1
    elif now.proven < 1 + SECOND_WAVE:
        room = min(policy.at_a_time, 1 + SECOND_WAVE - now.proven)
    else:
        room = policy.at_a_time
    waiting: Sequence[str] = [node.name for node in now.nodes if node.phase == "new" and node.end is None]
    return tuple(waiting[: max(0, room - len(now.running))])


def to_take_back(now: Now) -> tuple[str, ...]:
    """Return the nodes that are not restarted yet, and are not to be once a rollout has stopped."""
    held = ("begun", "staged", "draining", "drained", "ready")
    return tuple(node.name for node in now.running if node.phase in held and not node.back and not node.restart)
