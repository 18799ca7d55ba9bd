"""A server in an experiment: the steps that drive it, each in the journal before it is done, and the real one behind them."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.advice.model.plan import BiosPlan
from advisor.bios.door import Door
from advisor.bios.experiment_plan import Program, Reads, Unit
from advisor.bios.plan import ground_of, load_plan
from advisor.bios.prove import prove_bios
from advisor.bios.reading import BiosReading, open_jobs, reading_of
from advisor.bios.stage import load_record, record_of, restart_server, save_record, stage_bios, undo_bios
from advisor.errors import AdvisorError, BadInput, CannotWork
from advisor.jobs.racing.race import read_figure
from advisor.machine.hosts.errands import Outcome, Reply, Way
from advisor.machine.hosts.files import FILE, JournalFile, Kind, Use, write_file
from advisor.machine.hosts.nodes import Brought, ask_nodes, brought, errand, new_mark
from advisor.machine.hosts.settings import chosen
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import capture_script
from advisor.measure.measurement import Measurements, reported_text
from advisor.measure.run import LEAST, MOST, SHARE

_KIND = Kind(
    "an experiment",
    "advisor-experiment-journal/1",
    cure="name the folder of an experiment; if it is damaged, advisor bios undo can still use home-NODE.json",
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
            raise BadInput("not a step of an experiment", file=str(journal.path), place=place, cure=_KIND.cure) from error
    return journal, size


GRACE = 300.0
"""Seconds in which a server that was asked to restart begins to, where it is not known whether it was asked."""
_LOOK = 5.0
_PATIENCE = 3
"""How many times the expected time a restart may take."""
_ATTEMPTS = 2
_WAYS_BACK = 3
_ARRIVES = 900.0


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
                    raise CannotWork(f"{self.server.name}: it restarted unexpectedly twice while being measured")
                yield from self._unit(unit, len(units))

    def _unit(self, unit: Unit, many: int) -> Iterator[None]:
        at, number = self.at, unit.number
        self._observer.step(self.server.name, f"restart {number + 1} of {many}")
        if at.unit == number and at.phase in ("up", "proven", "measuring") and not at.restart and self._is_another_boot():
            self._keep("void", unit=number, why="someone else restarted the server")
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
            self._keep("void", unit=number, why="the server restarted while being measured")
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
            raise CannotWork(f"{self.server.name}: it does not answer, so it was not restarted")
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
                raise CannotWork(
                    f"{self.server.name}: the server still {what} {patience / 60:.0f} minutes after the restart was requested"
                )
            self._observer.step(self.server.name, "waiting for the server to come back up")
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
            raise CannotWork(f"{self.server.name}: not restored: {'; '.join(left[:5])}")
        self._keep("home", how="as before")

    def _stage_back(self) -> None:
        """Stage the way back; where the BMC takes nothing more before a restart, that comes first."""
        try:
            self.server.back()
        except AdvisorError as error:
            if not any("waits" in each for each in self.server.away()):
                raise
            self._observer.say(f"{self.server.name}: the pending change is applied first, then undone: {error}")

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


_MOMENT = 60.0
_CAPTURE = 600.0
_BESIDE = 120.0
"""Seconds beside a program's own: to connect, to bring what it printed."""
_MOST = 16 << 20
_LOOKS = 180
"""At the CPUs, a second each: what a boot leaves behind, such as a file system that is checked, has ended by then."""
_BOOT = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True)
class RunOutcome:
    """How a program ended: its figure, or why it has none."""

    figure: float | None
    why: str | None = None


class Node:
    """A node that is asked over ssh; nothing is installed there, and nothing left."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _bring(self, script: str, seconds: float) -> Brought:
        mark, answers = new_mark(), list[Reply]()
        ask_nodes((self.name,), errand(script, mark), Way(timeout=seconds), answers.append)
        return brought(answers[0], mark) if answers else Brought(Outcome.FAILED, "no answer")

    def ask(self, script: str, seconds: float = _MOMENT) -> bytes:
        """Return the file that a script writes; refuse where it did not."""
        found = self._bring(script, seconds)
        if found.outcome is not Outcome.ANSWERED:
            raise CannotWork(f"{self.name}: {found.outcome}: {found.why or 'it does not answer'}"[:300])
        return found.file

    def boot(self) -> str | None:
        """Return which boot runs; None where the node does not answer."""
        found = self._bring('cat /proc/sys/kernel/random/boot_id >"$2"\n', _MOMENT)
        text = found.file.decode("ascii", "replace").strip()
        return text if _BOOT.fullmatch(text) else None

    def uuid(self) -> str | None:
        """Return the server's UUID as its firmware has it; None where this user is not allowed to read it."""
        text = (
            self.ask('cat /sys/class/dmi/id/product_uuid >"$2" 2>/dev/null || echo - >"$2"\n').decode("ascii", "replace").strip()
        )
        return text.lower() if _BOOT.fullmatch(text.lower()) else None

    def capture(self, place: Path) -> Path:
        """Capture the node into a file."""
        write_file(place, self.ask(capture_script(), _CAPTURE), private=True, durable=True)
        return place

    def read(self, path: str) -> str:
        """Return what stands in a setting's file, or in all files of a pattern; of a choice the one in brackets."""
        script = f'for each in {_pattern(path)}; do cat "$each" || exit 1; echo; done | grep -v "^$" | sort -u >"$2"\n'
        lines = self.ask(script).decode("utf-8", "replace").splitlines()
        if len(lines) != 1:
            raise CannotWork(f"{self.name}: {path} differs between CPUs, so it could not be restored")
        return chosen(lines[0])

    def write(self, path: str, text: str) -> None:
        """Write a setting's file, or all files of a pattern, and see that it stands there."""
        self.ask(f'for each in {_pattern(path)}; do printf %s {quote(text)} >"$each" || exit 1; done; echo done >"$2"\n')
        if (found := self.read(path)) != text:
            raise CannotWork(f"{self.name}: {path} is {found} after {text} was written")

    def busy(self) -> str | None:
        """Wait until nobody else works on the node, some minutes at most; return what still does, None of an idle one."""
        said = self.ask(_until_idle(_LOOKS), _LOOKS * 2 + _MOMENT).decode("ascii", "replace")
        busy = re.fullmatch(r"busy ([0-9]+) ([0-9]+)\n", said)
        return f"{int(busy[1]) / 100:.3g} of {busy[2]} CPUs were busy before the measurement" if busy else None

    def run(self, program: Program, place: str) -> RunOutcome:
        """Run a program once; what it gave, or why it gave nothing."""
        words = program.run.replace("{place}", place).replace("{node}", quote(self.name))
        found = self._bring(_script(words, program.folder), program.minutes * 60 + _BESIDE)
        if found.outcome is not Outcome.ANSWERED:
            return RunOutcome(None, f"{found.outcome}: {found.why or ''}"[:300])
        head, _, rest = found.file.partition(b"\n")
        complaint, _, output = rest.partition(b"\n")
        status, begun, ended = head.split()
        if int(status):
            said = complaint.decode("utf-8", "replace")[:200]
            return RunOutcome(None, f"ended with status {int(status)}" + (f": {said}" if said.strip() else ""))
        return _figure(program, output.decode("utf-8", "replace"), float(ended) - float(begun))


def _until_idle(looks: int) -> str:
    """Return what waits until little else runs, by the limits of our own measurements, and writes how busy it was in the end."""
    share, most, least = (round(100 * each) for each in (SHARE, MOST, LEAST))
    return (
        "used() { read -r _ user nice system _ _ irq soft steal _ </proc/stat; "
        "echo $((user + nice + system + irq + soft + steal)); }\n"
        "cpus=$(grep -c '^cpu[0-9]' /proc/stat)\n"
        f'most=$(({share} * cpus)); [ "$most" -lt {most} ] || most={most}; [ "$most" -gt {least} ] || most={least}\n'
        f"left={looks} state=busy\n"
        'while [ "$left" -gt 0 ] && [ "$state" = busy ]; do\n'
        "before=$(used); sleep 1; busy=$(($(used) - before)); left=$((left - 1))\n"
        '[ "$busy" -gt "$most" ] || state=idle\n'
        "done\n"
        'echo "$state" "$busy" "$cpus" >"$2"\n'
    )


def _pattern(path: str) -> str:
    """Return a path for the shell, of which the stars alone mean something."""
    return "*".join(quote(part) for part in path.split("*"))


def _script(words: str, folder: str | None) -> str:
    """Return what runs a command, and writes how it ended, its last complaint, and the end of what it printed."""
    goes = f"cd {quote(folder)} && " if folder else ""
    return (
        "read -r begun rest </proc/uptime\n"
        f'( {goes}exec /bin/sh -c {quote(words)} ) >"$TMPDIR/said" 2>"$TMPDIR/complained" </dev/null\n'
        "status=$?\n"
        "read -r ended rest </proc/uptime\n"
        '{ echo "$status" "$begun" "$ended"; echo "$(tail -n 1 "$TMPDIR/complained")"; '
        f'tail -c {_MOST} "$TMPDIR/said"; }} >"$2"\n'
    )


def _figure(program: Program, text: str, seconds: float) -> RunOutcome:
    if program.reads is not None:
        return _of_results(program.reads, text)
    if program.metric is None:
        return RunOutcome(seconds) if seconds > 0 else RunOutcome(None, "its run time was too short to measure")
    found = read_figure(re.compile(program.metric), text)
    if found is None:
        return RunOutcome(None, "its output does not contain the figure")
    return RunOutcome(found) if found > 0 else RunOutcome(None, f"its figure is {found:g}: only positive figures can be compared")


def _of_results(reads: Reads, text: str) -> RunOutcome:
    """Return the best of the results that are meant, of what advisor measure --json printed."""
    try:
        document, _ = JSONDecoder().raw_decode(text[text.index("{") :])
        results = Measurements.model_validate(document.get("measurements", document))
    except (ValueError, JSONDecodeError, ValidationError, RecursionError, AttributeError):
        return RunOutcome(None, "printed no results of advisor measure --json")
    wanted = (None,) if reads.variant is None else (reads.variant, f"{reads.variant}-nt")
    near = {"near": ("local", "same-socket"), "far": ("other-socket",), None: None}[reads.adapter]
    values = [
        each.median
        for each in results.of(reads.purpose, part=reads.part)
        if (wanted == (None,) or each.variant in wanted) and (near is None or reported_text(each, "hca_distance") in near)
    ]
    good = [each for each in values if each > 0]
    return RunOutcome(max(good)) if good else RunOutcome(None, "its output does not contain the expected result")


_WAIT = 900.0
"""Seconds for the BMC's job to end once the system answers."""


class RealServer:
    """One server."""

    def __init__(
        self,
        node: Node,
        door: Door,
        folder: Path,
        programs: Mapping[str, tuple[Program, str]],
        files: Mapping[str, str],
        *,
        no_slurm: bool = False,
        observer: Observer = SILENT,
    ) -> None:
        self.name, self.node, self._door, self._folder = node.name, node, door, folder
        self._programs, self._files, self._no_slurm, self._observer = programs, files, no_slurm, observer

    @property
    def home_record(self) -> Path:
        """Where the record lies with which advisor bios undo goes back, should all else be lost."""
        return home_of(self._folder, self.name)

    def plan_of(self, state: int) -> Path:
        """Where the plan of a state lies."""
        return self._folder / f"plan-{self.name}-{state}.yaml"

    def boot(self) -> str | None:
        """Return which boot runs."""
        return self.node.boot()

    def stage(self, state: int, unit: int) -> None:
        """Stage a state; what brings back the beginning says first what may wait from now on."""
        del unit
        plan = _plan(self.plan_of(state))
        record = load_record(self.home_record)
        kinds = {name: value for name, value in plan.values.items() if isinstance(value, bool | int | float | str)}
        save_record(self.home_record, record.but(asked={**record.asked, **kinds}, outcome="staged"))
        stage_bios(self.plan_of(state), self._door, self._free("stage"), lambda _: True)

    def _free(self, doing: str) -> Path:
        """Return the name of a record that is not there yet: none is ever written over."""
        numbers = range(1, 100_000)
        return next(path for each in numbers if not (path := self._folder / f"{doing}-{self.name}-{each}.json").exists())

    def restart(self) -> None:
        """Ask for a restart, once: of a drained node, where Slurm is."""
        record = self.home_record if self.home_record.exists() else None
        ways: dict[str, Any] = {
            "record": record,
            "exactly": False,
            "node": self.name,
            "no_slurm": self._no_slurm,
            "drained": True,
        }
        restart_server(self._door, lambda _: True, **ways)

    def back(self) -> None:
        """Stage what was there in the beginning."""
        undo_bios(self.home_record, self._door, self._free("undo"), lambda _: True)

    def away(self) -> list[str]:
        """Return what is not as in the beginning, or waits."""
        with self._door.open() as session:
            reading, jobs = reading_of(session), open_jobs(session)
        record = load_record(self.home_record)
        names = dict.fromkeys((*record.asked, *record.moves))
        differ = [name for name in names if not same(reading, name, reading.raw.applied.get(name), record.applied.get(name))]
        applied = [f"{name} is {reading.raw.applied.get(name)}, but was {record.applied.get(name)}" for name in differ]
        waits = [f"{name}={value} waits for a restart" for name, value in reading.waiting.items()]
        return [*applied, *waits, *(f"a BMC job is pending or running: {job.state}" for job in jobs)]

    def proven(self, state: int, unit: int) -> dict[str, Any]:
        """Prove a state by the BMC and by a capture; return what else is not as in the beginning."""
        capture = self.node.capture(self._folder / f"capture-{self.name}-{unit}.tar.gz")
        proof = prove_bios(self.plan_of(state), self._door, str(capture), wait=_WAIT, observer=self._observer)
        if not proof.good:
            against = [line for each in proof.witnesses if each.says == "does not hold" for line in each.lines]
            raise CannotWork(f"{self.name}: not in the staged state: {'; '.join(against[:3])}")
        with self._door.open() as session:
            reading = reading_of(session)
        record, planned = load_record(self.home_record), _plan(self.plan_of(state)).values
        beside = {
            name: value
            for name, value in reading.bios.attributes.items()
            if name not in planned and name in record.applied and not same(reading, name, value, record.applied[name])
        }
        goes_back = {name: value for name, value in beside.items() if _may_be_written(reading, name)}
        save_record(self.home_record, record.but(moves={**record.moves, **goes_back}))
        return beside

    def read(self, setting: str) -> str:
        """Return what stands in a setting of the running kernel."""
        return self.node.read(self._files[setting])

    def write(self, setting: str, text: str) -> None:
        """Write a setting of the running kernel."""
        self.node.write(self._files[setting], text)

    def busy(self) -> str | None:
        """Wait until nobody else works there; return who still does."""
        return self.node.busy()

    def run(self, column: str) -> RunOutcome:
        """Run a program once."""
        return self.node.run(*self._programs[column])

    def now(self) -> float:
        """Return the seconds of a clock that only goes forward."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def home_of(folder: Path, name: str) -> Path:
    """Return where the record of a server's beginning lies."""
    return folder / f"home-{name}.json"


def _may_be_written(reading: BiosReading, name: str) -> bool:
    """Return whether the registry lets an attribute be written: what moved though no registry said so goes back as well."""
    known = reading.registry.attributes.get(name) if reading.registry else None
    return known is not None and not {"ReadOnly", "Immutable"} & set(known.flags)


def same(reading: BiosReading, name: str, one: Any, other: Any) -> bool:
    """Return whether two values of an attribute mean the same to this BIOS."""
    known = reading.registry.attributes.get(name) if reading.registry else None
    return bool(one == other or (known is not None and known.named(one) == known.named(other)))


def write_plan(place: Path, plan: BiosPlan) -> None:
    """Write a state's plan, so that it can be read, and staged by hand."""
    write_file(place, (json.dumps(plan.model_dump(mode="json"), indent=1) + "\n").encode(), private=True, durable=True)


def _plan(place: Path) -> BiosPlan:

    return load_plan(place)


def begin_home(place: Path, reading: BiosReading, plans: Sequence[BiosPlan], moves: Mapping[str, Any]) -> None:
    """Keep all that a BIOS is, and what may be changed of it: written once, before anything is staged."""
    asked = {name: value for plan in plans for name, value in plan.values.items()}
    record = record_of(reading, ground_of(plans[0], reading), asked, moves)
    if place.exists():
        raise BadInput("already exists", file=str(place), cure="name another --folder")
    save_record(place, record, new=True)
