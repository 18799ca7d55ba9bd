"""The journal of an experiment: each step before it is done and after it, on disk; what it says of where each server stands."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from advisor.errors import BadInput, CannotWork
from advisor.host.files import open_here

SCHEMA: Final = "advisor-experiment-journal/1"
FILE: Final = "journal.jsonl"
_LARGEST: Final = 64 << 20
_CURE: Final = "name the folder of an experiment; one that is damaged has home-NODE.json for advisor bios undo"

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
    _file: BinaryIO | None = None

    def of(self, node: str) -> Progress:
        """Return where a server stands."""
        return self.progress.setdefault(node, Progress())

    def add(self, node: str, event: str, **more: Any) -> None:
        """Keep a step; it is on disk when this returns."""
        step = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "node": node, "event": event, **more}
        self._write(step)
        self.take(step)

    def take(self, step: Event) -> None:
        """Take a step into account."""
        self.events.append(step)
        self.of(step["node"]).take(step)

    def _write(self, document: Event) -> None:
        if self._file is None:
            return
        try:
            self._file.write((json.dumps(document) + "\n").encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CannotWork(f"{self.path}: {(error.strerror or 'cannot be written').lower()}; make room, and resume") from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def begun(folder: Path, head: Event) -> Journal:
    """Return the journal of a new experiment; refuse a folder that holds one already."""
    path = folder / FILE
    if path.exists():
        raise CannotWork(f"{folder} holds an experiment; go on with it by --resume {folder}, or name another --folder")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        journal = Journal(path, {"schema": SCHEMA, **head}, _file=path.open("xb"))
    except OSError as error:
        raise CannotWork(f"{folder}: {(error.strerror or 'cannot be written').lower()}; name another --folder") from error
    journal._write(journal.head)  # noqa: SLF001 - its own head
    return journal


def resumed(folder: Path) -> Journal:
    """Return the journal of an experiment, to be gone on with: by nobody else at the same time; a line cut off is dropped."""
    import fcntl

    journal, size = _read(folder / FILE)
    try:
        file = journal.path.open("r+b")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate(size)
        file.seek(size)
    except BlockingIOError as error:
        file.close()
        raise CannotWork(f"{folder}: somebody works on it now; end that one first") from error
    except OSError as error:
        raise CannotWork(f"{journal.path}: {(error.strerror or 'cannot be written').lower()}") from error
    journal._file = file  # noqa: SLF001 - opened here
    return journal


def read_journal(folder: Path) -> Journal:
    """Return the journal of an experiment, to be looked at."""
    return _read(folder / FILE)[0]


def _read(path: Path) -> tuple[Journal, int]:
    try:
        with open_here(path) as file:
            data = file.read(_LARGEST + 1) or b""
    except OSError as error:
        raise BadInput(f"there is no experiment here: {(error.strerror or '').lower()}", file=str(path), cure=_CURE) from error
    if len(data) > _LARGEST:
        raise BadInput("larger than any experiment", file=str(path), cure="refused as unsafe")
    size = data.rfind(b"\n") + 1
    lines = list(_lines(data[:size], str(path)))
    if not lines or lines[0].get("schema") != SCHEMA:
        raise BadInput("is not the journal of an experiment", file=str(path), place="line 1", cure=_CURE)
    journal = Journal(path, lines[0])
    for number, each in enumerate(lines[1:], 2):
        try:
            journal.take(each)
        except (KeyError, TypeError, AttributeError) as error:
            raise BadInput("is not a step of an experiment", file=str(path), place=f"line {number}", cure=_CURE) from error
    return journal, size


def _lines(data: bytes, name: str) -> Iterator[Event]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput("is not JSON", file=name, place=f"line {number}", cure=_CURE) from error
        if not isinstance(found, dict):
            raise BadInput("is not an object", file=name, place=f"line {number}", cure=_CURE)
        yield found
