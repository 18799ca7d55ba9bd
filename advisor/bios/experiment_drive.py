"""Drives one server through its restarts, step by step, and always back to where it began.

Each step is written down before it is done. Whoever goes on after a power cut finds the last step, looks at the server
whether it came about, and does it again only where that is harmless: to stage is, a restart is asked for again only where the
server answers after a while that it never went down.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.bios.experiment_statistics import Unit
from advisor.errors import AdvisorError, BadInput, CannotWork
from advisor.machine.hosts.journal import FILE, JournalFile, Kind
from advisor.machine.hosts.trust import Use
from advisor.machine.observer import SILENT, Observer

_KIND: Final = Kind(
    "an experiment",
    "advisor-experiment-journal/1",
    cure="name the folder of an experiment; one that is damaged has home-NODE.json for advisor bios undo",
    other="another --folder",
    alone=True,
)

Event = dict[str, Any]

_Number = Annotated[int, Field(ge=0, strict=True)]


class _Step(BaseModel):
    """The fields of every kind of step, each of its type where it is there; which a step needs, it asks for itself."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    node: str
    event: str
    unit: _Number = 0
    column: str = ""
    number: _Number = 0
    figure: float | None = None
    why: str | None = None
    boot: str | None = None
    setting: str = ""
    was: str = ""
    how: str = ""
    beside: dict[str, Any] | None = None


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

    def take(self, event: Event) -> None:  # noqa: C901, PLR0912 - a case a step
        """Take one step into account."""
        match event["event"]:
            case "stage":
                self.unit, self.phase, self.touched, self.home = event["unit"], "stage", True, None
            case "staged" | "proven" as phase:
                self.phase = phase
                self.beside |= {event["unit"]: event["beside"]} if event.get("beside") else {}
            case "asking" | "asked" as restart:
                self.restart, self.boot = restart, event.get("boot", self.boot)
            case "not restarted":
                self.restart = ""
            case "up":
                self.restart, self.boot, self.phase, self.kernel = "", event["boot"], "up", {}
            case "void":
                self.unit, self.phase, self.kernel = None, "", {}
                self.runs = {key: value for key, value in self.runs.items() if key[0] != event["unit"]}
            case "set":
                self.kernel.setdefault(event["setting"], event["was"])
            case "unset":
                self.kernel.pop(event["setting"], None)
            case "run":
                key = (event["unit"], event["column"], event["number"])
                self.runs[key], self.phase = event["figure"], "measuring"
                self.why |= {key: event["why"]} if event.get("why") else {}
            case "done":
                self.done.add(event["unit"])
                self.unit, self.phase = None, ""
            case "back":
                self.unit, self.phase = None, ""
            case "home":
                self.home, self.touched, self.unit, self.phase = event["how"], False, None, ""
            case "failed":
                self.failed = event["why"]
            case "resumed":
                self.failed = None
            case str():
                pass  # such as busy: kept for the notes
            case _:
                raise TypeError


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
    journal, size = _read(folder, Use.RUNS)
    journal.file = _KIND.go_on(folder, size)
    return journal


def read_journal(folder: Path, use: Use = Use.NAMED) -> Journal:
    """Return the journal of an experiment, to be looked at; ``use`` says where more is done with it."""
    return _read(folder, use)[0]


def _read(folder: Path, use: Use) -> tuple[Journal, int]:
    lines, size = _KIND.read(folder, use)
    journal = Journal(folder / FILE, lines[0])
    for number, each in enumerate(lines[1:], 2):
        try:
            _Step.model_validate(each)
            journal.take(each)
        except (KeyError, ValidationError) as error:
            place = f"line {number}"
            raise BadInput("is not a step of an experiment", file=str(journal.path), place=place, cure=_KIND.cure) from error
    return journal, size


GRACE: Final = 300.0
"""Seconds in which a server that was asked to restart begins to, where it is not known whether it was asked."""
_LOOK: Final = 5.0
_PATIENCE: Final = 3
"""How many times the expected time a restart may take."""
_ATTEMPTS: Final = 2
_WAYS_BACK: Final = 3
_ARRIVES: Final = 900.0


class Ran(Protocol):
    """How a program ended."""

    @property
    def figure(self) -> float | None:
        """Return what it gave."""

    @property
    def why(self) -> str | None:
        """Return why it gave nothing."""


class Server(Protocol):
    """One server, its BMC, and what may be done with both."""

    name: str

    def boot(self) -> str | None:
        """Return which boot runs; None where the server does not answer."""

    def stage(self, state: int, unit: int) -> None:
        """Stage a state for the next restart; staged twice it is staged once."""

    def restart(self) -> None:
        """Ask for a restart, once."""

    def back(self) -> None:
        """Stage what was there in the beginning."""

    def away(self) -> list[str]:
        """Return what is not as in the beginning, or waits; nothing where it is at home."""

    def proven(self, state: int, unit: int) -> dict[str, Any]:
        """Return the attributes that are no factors and differ from the beginning; raise where the state is not in effect."""

    def read(self, setting: str) -> str:
        """Return what stands in a setting of the running kernel."""

    def write(self, setting: str, text: str) -> None:
        """Write a setting of the running kernel, and see that it stands there."""

    def busy(self) -> str | None:
        """Wait until nobody else works there, for a while; return what still does."""

    def run(self, column: str) -> Ran:
        """Run a program once."""

    def now(self) -> float:
        """Return a clock's seconds."""

    def pause(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True)
class Course:
    """What each server goes through."""

    columns: Sequence[str]
    repeats: int
    settle: float
    expected: float
    """Seconds that a restart takes."""
    kernel: Sequence[Mapping[str, str]]
    """State -> setting of the kernel -> what is written there."""
    firmware: bool = True
    """Whether the states differ in the BIOS at all."""


class Driver:
    """Drives one server; its generators pause where a restart has been asked for, so that others may be asked meanwhile."""

    def __init__(self, server: Server, journal: Journal, course: Course, observer: Observer = SILENT) -> None:
        self.server, self._journal, self._course, self._observer = server, journal, course, observer

    @property
    def at(self) -> Progress:
        """Return where the server stands."""
        return self._journal.of(self.server.name)

    def _keep(self, event: str, **more: Any) -> None:
        self._journal.add(self.server.name, event, **more)

    def through(self, units: Sequence[Unit]) -> Iterator[None]:
        """Measure every restart that is left; what went wrong is kept, and raised."""
        for unit in units:
            attempts = 0
            while unit.number not in self.at.done:
                attempts += 1
                if attempts > _ATTEMPTS:
                    raise CannotWork(f"{self.server.name}: it restarted by itself while it was measured, twice")
                yield from self._unit(unit, len(units))

    def _unit(self, unit: Unit, many: int) -> Iterator[None]:
        at, number = self.at, unit.number
        self._observer.step(self.server.name, f"restart {number + 1} of {many}")
        if at.unit == number and at.phase in ("up", "proven", "measuring") and not at.restart and self._is_another_boot():
            self._keep("void", unit=number, why="the server was restarted by somebody else")
        if at.unit != number and at.restart:
            yield from self._restart()  # one that belongs to a way back: what is staged now must not meet it
        if at.unit != number or at.phase == "stage":
            self._keep("stage", unit=number)
            if self._course.firmware:
                self.server.stage(unit.state, number)
            self._keep("staged", unit=number)
        if at.phase == "staged":
            yield from self._restart()
        if at.phase == "up":
            self._keep("proven", unit=number, beside=self.server.proven(unit.state, number))
            self.server.pause(self._course.settle)
        self._measure(unit)
        if self._is_another_boot():
            self._keep("void", unit=number, why="the server restarted while it was measured")
            return
        self._unset()
        self._keep("done", unit=number)

    def _is_another_boot(self) -> bool:
        """Return whether another boot runs than the one that is measured."""
        return self.server.boot() != self.at.boot

    def _measure(self, unit: Unit) -> None:
        todo = [(number, column) for number in range(self._course.repeats + 1) for column in self._course.columns]
        left = [(number, column) for number, column in todo if (unit.number, column, number) not in self.at.runs]
        if not left:
            return
        for setting, text in self._course.kernel[unit.state].items():
            if setting not in self.at.kernel:
                self._keep("set", unit=unit.number, setting=setting, was=self.server.read(setting))
            self.server.write(setting, text)
        if busy := self.server.busy():
            self._keep("busy", unit=unit.number, why=busy)
        for number, column in left:  # run 0 does not count
            ran = self.server.run(column)
            self._observer.detail(f"{self.server.name}: {column}: {ran.figure if ran.why is None else ran.why}")
            self._keep("run", unit=unit.number, column=column, number=number, figure=ran.figure, why=ran.why)

    def _unset(self) -> None:
        for setting, was in list(self.at.kernel.items()):
            self.server.write(setting, was)
            self._keep("unset", setting=setting)

    def _restart(self) -> Iterator[None]:
        """Restart, or wait for the restart that was asked for before."""
        at = self.at
        if not at.restart or (at.restart == "asking" and not self._goes_down()):
            self._ask()
        yield
        boot = self._wait_until_up()
        self._keep("up", boot=boot)

    def _ask(self) -> None:
        boot = self.server.boot()
        if boot is None:
            raise CannotWork(f"{self.server.name}: it does not answer, and is not restarted unseen")
        self._keep("asking", boot=boot)
        self.server.restart()
        self._keep("asked")

    def _goes_down(self) -> bool:
        """Return whether a server that may have been asked to restart does, or did."""
        until = self.server.now() + GRACE
        while self.server.boot() == self.at.boot:
            if self.server.now() >= until:
                return False
            self.server.pause(_LOOK)
        return True

    def _wait_until_up(self) -> str:
        patience = max(_PATIENCE * self._course.expected, 2 * GRACE)
        until = self.server.now() + patience
        while (boot := self.server.boot()) is None or boot == self.at.boot:
            if self.server.now() >= until:
                if boot is not None:
                    self._keep("not restarted")
                what = "does not answer" if boot is None else "has not restarted"
                raise CannotWork(f"{self.server.name}: it {what}, {patience / 60:.0f} minutes after it was asked to restart")
            self._observer.step(self.server.name, "waiting until it is up again")
            self.server.pause(_LOOK)
        return boot

    def home(self) -> Iterator[None]:
        """Go back to where it began: what runs, what is applied, and what waits."""
        at = self.at
        if at.home is not None:
            return
        self._keep("back")
        if at.restart == "asking" and not self._goes_down():
            self._keep("not restarted")
        if at.restart:
            yield from self._restart()
        if at.kernel and self.server.boot() == at.boot:
            self._unset()
        for _ in range(_WAYS_BACK):
            if not (at.touched and self._course.firmware and self.server.away()):
                break
            self._stage_back()
            if self.server.away():
                yield from self._restart()
                until = self.server.now() + _ARRIVES  # some BMCs carry it out only minutes after the system is up
                while self.server.away() and self.server.now() < until:
                    self.server.pause(_LOOK)
        if at.touched and self._course.firmware and (left := self.server.away()):
            raise CannotWork(f"{self.server.name}: not as before: {'; '.join(left[:5])}")
        self._keep("home", how="as before")

    def _stage_back(self) -> None:
        """Stage the way back; where the BMC takes nothing more before a restart, that comes first."""
        try:
            self.server.back()
        except AdvisorError as error:
            if not any("waits" in each for each in self.server.away()):
                raise
            self._observer.say(f"{self.server.name}: what waits is applied first, then taken back: {error}")

    def keep(self, state: int, unit: int) -> Iterator[None]:
        """Go to a state and stay there, in place of going back."""
        if self.at.home is not None:
            return
        self._unset()
        if self._course.firmware:
            if self.at.phase not in ("stage", "staged", "up") or self.at.unit != unit:
                self._keep("stage", unit=unit)
            if self.at.phase == "stage":
                self.server.stage(state, unit)
                self._keep("staged", unit=unit)
            if self.at.phase == "staged":
                yield from self._restart()
            self.server.proven(state, unit)
        self._keep("home", how="kept")


def in_turns(running: Sequence[Iterator[None]]) -> list[AdvisorError | None]:
    """Let each go on in its turn until all have ended; return what went wrong with each."""
    wrong: list[AdvisorError | None] = [None] * len(running)
    left = dict(enumerate(running))
    while left:
        for number, each in list(left.items()):
            try:
                next(each)
            except StopIteration:
                del left[number]
            except AdvisorError as error:
                wrong[number] = error
                del left[number]
            except Exception as error:  # noqa: BLE001 - whatever it is, the server is to go back
                wrong[number] = CannotWork(f"{type(error).__name__}: {error}")
                del left[number]
    return wrong
