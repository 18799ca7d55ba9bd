"""The journal of an experiment: each step before it is done and after it, on disk; what it says of where each server stands."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from advisor.errors import BadInput
from advisor.host.journal import FILE, JournalFile, Kind

_KIND: Final = Kind(
    "an experiment",
    "advisor-experiment-journal/1",
    cure="name the folder of an experiment; one that is damaged has home-NODE.json for advisor bios undo",
    other="another --folder",
    alone=True,
)

Event = dict[str, Any]


@dataclass
class Progress:
    """Where one server stands, by its steps so far."""

    unit: int | None = None
    """The restart that is under way."""
    phase: str = ""
    """Its last step: stage, staged, up, proven, measuring."""
    restart: str = ""
    """asking: it may have been asked for; asked: it was; empty once the server was up again."""
    boot: str | None = None
    """The boot before the restart that was asked for, or the one that is measured."""
    touched: bool = False
    """Whether anything may have been staged that is not back yet."""
    kernel: dict[str, str] = field(default_factory=dict)
    """Settings of the running kernel that may have been written, with what stood there."""
    runs: dict[tuple[int, str, int], float | None] = field(default_factory=dict)
    """Restart, column and number of the run -> its figure; None of one that failed."""
    why: dict[tuple[int, str, int], str] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    failed: str | None = None
    home: str | None = None
    """How it ended: as before, or kept."""
    beside: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Restart -> BIOS attributes that are no factors, and were not as before."""

    def take(self, event: Event) -> None:
        """Take one step into account."""
        if (step := _STEPS.get(event["event"])) is not None:
            step(self, event)


def _stage(now: Progress, event: Event) -> None:
    now.unit, now.phase, now.touched, now.home = event["unit"], "stage", True, None


def _phase(now: Progress, event: Event) -> None:
    now.phase = event["event"]
    now.beside |= {event["unit"]: event["beside"]} if event.get("beside") else {}


def _asking(now: Progress, event: Event) -> None:
    now.restart, now.boot = event["event"], event.get("boot", now.boot)


def _up(now: Progress, event: Event) -> None:
    now.restart, now.boot, now.phase, now.kernel = "", event["boot"], "up", {}


def _void(now: Progress, event: Event) -> None:
    now.unit, now.phase, now.kernel = None, "", {}
    now.runs = {key: value for key, value in now.runs.items() if key[0] != event["unit"]}


def _run(now: Progress, event: Event) -> None:
    key = (event["unit"], event["column"], event["number"])
    now.runs[key], now.phase = event["figure"], "measuring"
    now.why |= {key: event["why"]} if event.get("why") else {}


def _done(now: Progress, event: Event) -> None:
    now.done.add(event["unit"])
    now.unit, now.phase = None, ""


def _home(now: Progress, event: Event) -> None:
    now.home, now.touched, now.unit, now.phase = event["how"], False, None, ""


def _nowhere(now: Progress) -> None:
    now.unit, now.phase = None, ""


def _set(now: Progress, event: Event) -> None:
    now.kernel.setdefault(event["setting"], event["was"])


def _unset(now: Progress, event: Event) -> None:
    now.kernel.pop(event["setting"], None)


def _failed(now: Progress, event: Event) -> None:
    now.failed = event["why"]


_STEPS: Final[dict[str, Callable[[Progress, Event], None]]] = {
    "stage": _stage,
    "staged": _phase,
    "proven": _phase,
    "asking": _asking,
    "asked": _asking,
    "up": _up,
    "void": _void,
    "set": _set,
    "unset": _unset,
    "run": _run,
    "back": lambda now, _: _nowhere(now),
    "not restarted": lambda now, _: setattr(now, "restart", ""),
    "resumed": lambda now, _: setattr(now, "failed", None),
    "done": _done,
    "home": _home,
    "failed": _failed,
}


@dataclass
class Journal:
    """What was done so far, and the file that keeps it."""

    path: Path
    head: Event
    events: list[Event] = field(default_factory=list)
    progress: dict[str, Progress] = field(default_factory=dict)
    file: JournalFile | None = None
    """None of one that is only looked at."""

    def of(self, node: str) -> Progress:
        """Return where a server stands."""
        return self.progress.setdefault(node, Progress())

    def add(self, node: str, event: str, **more: Any) -> None:
        """Keep a step; it is on disk when this returns."""
        step = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "node": node, "event": event, **more}
        if self.file is not None:
            self.file.write(step)
        self.take(step)

    def take(self, step: Event) -> None:
        """Take a step into account."""
        self.events.append(step)
        self.of(step["node"]).take(step)

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()


def begun(folder: Path, head: Event) -> Journal:
    """Return the journal of a new experiment; refuse a folder that holds one already."""
    file, first = _KIND.begin(folder, head, mode=0o700)
    return Journal(file.path, first, file=file)


def resumed(folder: Path) -> Journal:
    """Return the journal of an experiment, to be gone on with: by nobody else at the same time; a line cut off is dropped."""
    journal, size = _read(folder)
    journal.file = _KIND.go_on(folder, size)
    return journal


def read_journal(folder: Path) -> Journal:
    """Return the journal of an experiment, to be looked at."""
    return _read(folder)[0]


def _read(folder: Path) -> tuple[Journal, int]:
    lines, size = _KIND.read(folder)
    journal = Journal(folder / FILE, lines[0])
    for number, each in enumerate(lines[1:], 2):
        try:
            journal.take(each)
        except (KeyError, TypeError, AttributeError) as error:
            place = f"line {number}"
            raise BadInput("is not a step of an experiment", file=str(journal.path), place=place, cure=_KIND.cure) from error
    return journal, size
