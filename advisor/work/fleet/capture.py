"""Captures many nodes at once: nothing is installed there and nothing left, every node is accounted for, each file is whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from advisor.errors import AdvisorError, CannotWork
from advisor.host.errands import Reply, Way
from advisor.host.node_lists import checked_names, nodes_of_partition
from advisor.host.nodes import ask_nodes
from advisor.host.source import capture_from
from advisor.model.fleet import CAPTURE_SUFFIX, KEPT, Answer, Outcome
from advisor.model.node_sets import folded
from advisor.model.value import is_name
from advisor.work import SILENT, Observer
from advisor.work.fleet.answers import AnswersFolder, checked_again, grouped, is_one_of
from advisor.work.fleet.on_node import Brought, brought, errand, new_mark
from advisor.work.machine import capture_script

_HOSTNAME: Final = "/proc/sys/kernel/hostname"


@dataclass(frozen=True)
class CaptureOptions:
    """How a fleet is captured."""

    way: Way = field(default_factory=Way)
    fresh_after: timedelta | None = None
    """Captures that are older are taken again."""
    again: str | None = None
    """Only nodes whose last outcome was this; failed is each that left no capture."""


@dataclass(frozen=True)
class Captured:
    """What became of a fleet: the last answer of each node, how many were asked now, and who was not."""

    folder: str
    answers: tuple[Answer, ...]
    asked_now: int
    not_asked: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def answered(self) -> tuple[Answer, ...]:
        """Return the answers that left a capture."""
        return tuple(each for each in self.answers if each.outcome in KEPT)

    @property
    def silent(self) -> tuple[Answer, ...]:
        """Return those that left none."""
        return tuple(each for each in self.answers if each.outcome not in KEPT)

    def status(self, *, fail_on_missing: bool) -> int:
        """Return the exit status: 130 interrupted, 2 where no node answered, 1 where some did not and that counts."""
        if self.interrupted:
            return 130
        if self.answers and not self.answered:
            return 2
        return int(fail_on_missing and bool(self.silent))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet capture --json``."""
        outcomes = grouped(self.answers).items()
        return {
            "schema": "advisor-fleet-capture/1",
            "folder": self.folder,
            "asked": len(self.answers) + len(self.not_asked),
            "asked_now": self.asked_now,
            "answered": len(self.answered),
            "interrupted": self.interrupted,
            "not_asked": list(self.not_asked),
            "outcomes": [{"is": str(is_), "count": len(names), "nodes": folded(names)} for is_, names in outcomes],
            "silent": [{"node": each.node, "is": str(each.outcome), "why": each.why} for each in self.silent],
            "other_names": [{"node": each.node, "seen_as": each.seen_as} for each in self.answered if _is_other(each)],
        }


def _is_other(answer: Answer) -> bool:
    return answer.seen_as is not None and _short(answer.seen_as) != _short(answer.node)


def capture_fleet(
    nodes: Sequence[str] | None, folder: Path, how: CaptureOptions | None = None, observer: Observer = SILENT
) -> Captured:
    """Capture many nodes into a folder, those first that it does not have; without names all of the partition, or --again's."""
    how = how or CaptureOptions()
    kept = AnswersFolder(folder, must_exist=nodes is None and how.way.partition is None)
    names = _names(nodes, kept, how)
    asked = kept.to_ask(names, how.fresh_after, checked_again(how.again))
    kept.begin()
    taker = _Taker(kept, frozenset(_short(name) for name in names), len(asked), observer)
    mark = new_mark()
    interrupted = False
    try:
        if asked:
            sent = errand(capture_script(), mark)
            ask_nodes(asked, sent, how.way, lambda reply: taker.take(reply, brought(reply, mark)))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        observer.end()
    answers = tuple(kept.last[name] for name in names if name in kept.last)
    left = tuple(name for name in asked if name not in taker.heard)
    return Captured(str(folder), answers, len(taker.heard), tuple(n for n in left if n not in kept.last), interrupted)


def capture_now(nodes: Sequence[str] | None, folder: Path, way: Way, observer: Observer = SILENT) -> None:
    """Capture nodes anew, whatever of them is there; say who is silent. Raise CannotWork where nobody answered."""
    done = capture_fleet(nodes, folder, CaptureOptions(way, timedelta(0)), observer)
    if done.interrupted:
        raise KeyboardInterrupt
    if not done.answered:
        whys = ", ".join(f"{len(names)} {outcome}" for outcome, names in grouped(done.silent).items())
        raise CannotWork(f"no node answered: {whys or 'none was asked'}; see advisor fleet capture --again failed -o {folder}")
    observer.say(f"{len(done.answered)} of {len(done.answers)} nodes captured into {folder}")


def _names(nodes: Sequence[str] | None, kept: AnswersFolder, how: CaptureOptions) -> tuple[str, ...]:
    if nodes is not None:
        return checked_names(nodes)
    if how.way.partition is not None:
        return checked_names(nodes_of_partition(how.way.partition))
    if how.again is None:
        raise CannotWork("which nodes is not said; give -w LIST, --hosts FILE, --slurm PARTITION, or --again failed")
    checked_again(how.again)
    return tuple(name for name, answer in kept.last.items() if is_one_of(answer.outcome, how.again))


class _Taker:
    """Takes what comes back: checked, then kept."""

    def __init__(self, kept: AnswersFolder, asked: frozenset[str], of: int, observer: Observer) -> None:
        self._kept, self._asked, self._of, self._observer = kept, asked, of, observer
        self.heard: set[str] = set()

    def take(self, reply: Reply, told: Brought) -> None:
        """Keep what one node answered."""
        seen, outcome, why = None, told.outcome, told.why
        if outcome is Outcome.ANSWERED:
            seen, outcome, why = self._checked(reply.node, told.file)
        whole = outcome in KEPT
        answer = Answer(
            node=reply.node,
            at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            outcome=outcome,
            why=why,
            archive=f"{reply.node}{CAPTURE_SUFFIX}" if whole else None,
            sha256=sha256(told.file).hexdigest() if whole else None,
            seen_as=seen,
        )
        self._kept.add(answer, told.file if whole else None)
        self.heard.add(reply.node)
        self._observer.step("capturing", f"{len(self.heard)} of {self._of} nodes")

    def _checked(self, node: str, data: bytes) -> tuple[str | None, Outcome, str | None]:
        """Return the name that a capture has itself, and what that makes of the answer: it must open as a capture."""
        try:
            host = capture_from(data, node)
        except AdvisorError as error:
            return None, Outcome.TRUNCATED, str(error)[:300]
        if host is None:
            return None, Outcome.FAILED, "answered with something that is no capture"
        told = (host.read(_HOSTNAME).text or "").strip()
        seen = told if is_name(told) else None
        if seen is not None and _short(seen) != _short(node) and _short(seen) in self._asked:
            return seen, Outcome.WRONG_NAME, f"calls itself {seen}, which is another of the nodes"
        return seen, Outcome.ANSWERED, None


def _short(name: str) -> str:
    """Return a name without its domain, in one case: n1.site.org is n1; an address is itself."""
    return name.lower() if name.replace(".", "").isdigit() else name.partition(".")[0].lower()
