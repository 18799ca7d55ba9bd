"""The journal of a race: a file of JSON lines, each on disk before the next run starts, so that a race goes on after any end."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from advisor.errors import BadInput
from advisor.host.journal import FILE, JournalFile, Kind

_KIND: Final = Kind(
    "a race", "advisor-tune-journal/1", cure="begin a race of its own with another -o DIR", other="another folder with -o"
)


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
    file: JournalFile | None = None
    """None of one that is only looked at."""

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
        if self.file is not None:
            self.file.write(asdict(run))

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()


def begun(folder: Path, head: dict[str, Any]) -> Journal:
    """Return the journal of a new race; refuse a folder that holds one already."""
    file, first = _KIND.begin(folder, head)
    return Journal(file.path, first, file=file)


def resumed(folder: Path) -> Journal:
    """Return the journal of a race that was begun, ready to be gone on with; a line that was cut off is dropped."""
    journal, size = _read(folder)
    journal.file = _KIND.go_on(folder, size, cure="; copy the folder to where it can")
    return journal


def read_journal(folder: Path) -> Journal:
    """Return the journal of a race, to be looked at."""
    return _read(folder)[0]


def _read(folder: Path) -> tuple[Journal, int]:
    lines, size = _KIND.read(folder)
    path = folder / FILE
    return Journal(path, lines[0], [_run(each, str(path), number) for number, each in enumerate(lines[1:], 2)]), size


def _run(found: dict[str, Any], name: str, number: int) -> Run:
    try:
        run = Run(**{**found, "busy": tuple(found.get("busy") or ())})
        good = run.block >= 0 and run.candidate >= 0 and run.seconds >= 0 and (run.figure is None or run.figure > 0)
    except TypeError:
        good = False
    if not good:
        raise BadInput("is not a run of a race", file=name, place=f"line {number}", cure=_KIND.cure)
    return run
