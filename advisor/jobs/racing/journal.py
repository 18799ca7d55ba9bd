"""The journal of a race: a file of JSON lines, each on disk before the next run starts, so that a race goes on after any end."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from advisor.errors import BadInput
from advisor.machine.hosts.journal import FILE, JournalFile, Kind
from advisor.machine.hosts.trust import Use

_KIND: Final = Kind(
    "a race", "advisor-tune-journal/1", cure="begin a race of its own with another -o DIR", other="another folder with -o"
)


_Whole = Annotated[int, Field(ge=0, strict=True)]
_Seconds = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class Run:
    """One run of one line."""

    __pydantic_config__ = ConfigDict(allow_inf_nan=False, extra="forbid")

    block: _Whole
    """0 is the warm-up."""
    candidate: _Whole
    figure: Annotated[float, Field(gt=0)] | None
    """Seconds, or what --metric read; None of a run that does not count."""
    seconds: _Seconds
    """How long it took."""
    at: _Seconds
    """Seconds that the race had taken when it ended, those before an interruption too."""
    why: str | None = None
    """Why it does not count."""
    timed_out: bool = False
    attempt: _Whole = 1
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
    journal, size = _read(folder, Use.RUNS)
    journal.file = _KIND.go_on(folder, size, cure="; copy the folder to where it can")
    return journal


def read_journal(folder: Path, use: Use = Use.NAMED) -> Journal:
    """Return the journal of a race, to be looked at; ``use`` says where more is done with it."""
    return _read(folder, use)[0]


def _read(folder: Path, use: Use) -> tuple[Journal, int]:
    lines, size = _KIND.read(folder, use)
    path = folder / FILE
    return Journal(path, lines[0], [_run(each, str(path), number) for number, each in enumerate(lines[1:], 2)]), size


_RUN: Final = TypeAdapter(Run)


def _run(found: dict[str, Any], name: str, number: int) -> Run:
    try:
        run = _RUN.validate_python(found)
    except ValidationError as error:
        place = f"line {number}, {'.'.join(map(str, error.errors(include_url=False, include_input=False)[0]['loc']))[:60]}"
        raise BadInput("is not a run of a race", file=name, place=place, cure=_KIND.cure) from error
    return run
