"""The journal of a race: a file of JSON lines, each on disk before the next run starts, so that a race goes on after any end."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from advisor.errors import BadInput, CannotWork
from advisor.host.files import open_here

SCHEMA: Final = "advisor-tune-journal/1"
FILE: Final = "journal.jsonl"
_LARGEST: Final = 64 << 20
_CURE: Final = "begin a race of its own with another -o DIR"


@dataclass(frozen=True)
class Run:
    """One run of one line."""

    block: int
    """0 is the warm-up."""
    candidate: int
    figure: float | None
    """Seconds, or what --metric read; None of a run that does not count."""
    seconds: float
    """How long it took."""
    at: float
    """Seconds that the race had taken when it ended, those before an interruption too."""
    why: str | None = None
    """Why it does not count."""
    timed_out: bool = False
    attempt: int = 1
    busy: tuple[str, ...] = ()
    """Who else worked on the machine."""


@dataclass
class Journal:
    """What was run so far, and the file that keeps it."""

    path: Path
    head: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    _file: BinaryIO | None = None

    def of(self, block: int, candidate: int) -> tuple[Run, ...]:
        """Return the runs of a line in a block."""
        return tuple(run for run in self.runs if (run.block, run.candidate) == (block, candidate))

    def times(self, candidate: int) -> list[float]:
        """Return how long each run of a line took that ran as it should, that of the warm-up too."""
        return [run.seconds for run in self.runs if run.candidate == candidate and run.why is None]

    @property
    def seconds(self) -> float:
        """How long the race took so far."""
        return max((run.at for run in self.runs), default=0.0)

    def add(self, run: Run) -> None:
        """Keep a run; it is on disk when this returns."""
        self.runs.append(run)
        self._write(asdict(run))

    def _write(self, document: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write((json.dumps(document) + "\n").encode())
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def begun(folder: Path, head: dict[str, Any]) -> Journal:
    """Return the journal of a new race; refuse a folder that holds one already."""
    path = folder / FILE
    if path.exists():
        raise CannotWork(f"{folder} holds a race; go on with it by --resume {folder}, or name another folder with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("xb")
    except OSError as error:
        raise CannotWork(f"{folder}: {(error.strerror or 'cannot be written').lower()}; name another folder with -o") from error
    journal = Journal(path, {"schema": SCHEMA, **head}, [], file)
    journal._write(journal.head)  # noqa: SLF001 - its own head
    return journal


def resumed(folder: Path) -> Journal:
    """Return the journal of a race that was begun, ready to be gone on with; a line that was cut off is dropped."""
    path = folder / FILE
    journal, size = _read(path)
    try:
        file = path.open("r+b")
        file.truncate(size)
        file.seek(size)
    except OSError as error:
        raise CannotWork(f"{path}: {(error.strerror or 'cannot be written').lower()}; copy the folder to where it can") from error
    journal._file = file  # noqa: SLF001 - opened here
    return journal


def read_journal(folder: Path) -> Journal:
    """Return the journal of a race, to be looked at."""
    return _read(folder / FILE)[0]


def _read(path: Path) -> tuple[Journal, int]:
    try:
        with open_here(path) as file:
            data = file.read(_LARGEST + 1) or b""
    except OSError as error:
        raise BadInput(f"there is no race here: {(error.strerror or '').lower()}", file=str(path), cure=_CURE) from error
    if len(data) > _LARGEST:
        raise BadInput("larger than any race", file=str(path), cure="refused as unsafe")
    size = data.rfind(b"\n") + 1
    lines = list(_lines(data[:size], str(path)))
    if not lines or lines[0].get("schema") != SCHEMA:
        raise BadInput("is not the journal of a race", file=str(path), place="line 1", cure=_CURE)
    runs = [_run(each, str(path), number) for number, each in enumerate(lines[1:], 2)]
    return Journal(path, lines[0], runs), size


def _lines(data: bytes, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput("is not JSON", file=name, place=f"line {number}", cure=_CURE) from error
        if not isinstance(found, dict):
            raise BadInput("is not an object", file=name, place=f"line {number}", cure=_CURE)
        yield found


def _run(found: dict[str, Any], name: str, number: int) -> Run:
    try:
        run = Run(**{**found, "busy": tuple(found.get("busy") or ())})
        good = run.block >= 0 and run.candidate >= 0 and run.seconds >= 0 and (run.figure is None or run.figure > 0)
    except TypeError:
        good = False
    if not good:
        raise BadInput("is not a run of a race", file=name, place=f"line {number}", cure=_CURE)
    return run
