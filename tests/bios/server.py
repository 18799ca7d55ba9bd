"""A machine that is none: settings that wait and take effect at a restart, a clock, a plug that can be pulled at any step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor.bios.experiment import Ran, Runner
from advisor.bios.experiment_plan import ExperimentPlan, schedule
from advisor.bios.experiment_server import Journal, begun, resumed
from advisor.errors import CannotWork
from advisor.machine.hosts.files import JournalFile

DOWN = 4
"""Looks at which a machine that restarts does not answer."""


class PulledPlug(BaseException):
    """advisor ends here, as by kill -9: nothing after this is carried out."""


@dataclass
class Given:
    """What a program gave."""

    figure: float | None
    why: str | None = None


@dataclass
class Plug:
    """Ends advisor at a step, before it is done or after it."""

    at: int | None = None
    after: bool = False
    steps: int = 0
    names: list[str] = field(default_factory=list)

    def around(self, name: str, work: Callable[[], Any]) -> Any:
        """Do a step, unless the plug is pulled."""
        self.steps += 1
        self.names.append(name)
        if self.at == self.steps and not self.after:
            raise PulledPlug(name)
        found = work()
        if self.at == self.steps:
            raise PulledPlug(name)
        return found


@dataclass
class Machine:
    """What survives advisor: a server, its BIOS, its kernel."""

    name: str = "n1"
    states: tuple[dict[str, str], ...] = ()
    applied: dict[str, str] = field(default_factory=lambda: {"nps": "2"})
    waiting: dict[str, str] = field(default_factory=dict)
    kernel: dict[str, str] = field(default_factory=lambda: {"os.thp": "madvise"})
    boots: int = 1
    down: int = 0
    clock: float = 0.0
    restarts: list[dict[str, str]] = field(default_factory=list)
    measured: list[tuple[int, dict[str, str], dict[str, str]]] = field(default_factory=list)
    lies: frozenset[str] = frozenset()
    time: Callable[["Machine", str], float] = lambda machine, column: 10.0 + int(machine.applied["nps"]) + len(column)
    broken: Callable[["Machine"], bool] = lambda _: False
    busy: str | None = None
    loses_power_at: int | None = None
    """The run in which somebody else restarts it."""

    def __post_init__(self) -> None:
        self.home = dict(self.applied), dict(self.kernel)


class Pretended:
    """The server as the driver sees it; every step of it can be the last."""

    def __init__(self, machine: Machine, plug: Plug) -> None:
        self.name, self._machine, self._plug = machine.name, machine, plug

    def _step(self, name: str, work: Callable[[], Any]) -> Any:
        return self._plug.around(name, work)

    def boot(self) -> str | None:
        """Say which boot runs, when it has come up."""
        machine = self._machine
        if machine.down:
            machine.down -= 1
            return None
        return f"boot {machine.boots}"

    def stage(self, state: int, unit: int) -> None:
        """Stage a state."""
        del unit
        self._step("stage", lambda: self._machine.waiting.update(self._machine.states[state]))

    def back(self) -> None:
        """Stage what was."""
        self._step("back", lambda: self._machine.waiting.update(self._machine.home[0]))

    def restart(self) -> None:
        """Restart."""

        def work() -> None:
            machine = self._machine
            if machine.broken(machine):
                raise CannotWork("n1: the BMC refused")
            assert not machine.down, "a restart was requested while one was under way"
            machine.applied |= {} if "applies nothing" in machine.lies else machine.waiting
            machine.waiting, machine.kernel = {}, dict(machine.home[1])
            machine.boots, machine.down = machine.boots + 1, DOWN
            machine.restarts.append(dict(machine.applied))

        self._step("restart", work)

    def away(self) -> list[str]:
        """Say what is not as it was."""
        machine = self._machine
        wrong = [f"{name} is {value}" for name, value in machine.applied.items() if value != machine.home[0][name]]
        waits = {name: value for name, value in machine.waiting.items() if value != machine.applied[name]}
        return [*wrong, *(f"{name}={value} waits for a restart" for name, value in waits.items())]

    def proven(self, state: int, unit: int) -> dict[str, Any]:
        """Prove a state."""
        del unit

        def work() -> dict[str, Any]:
            machine = self._machine
            if any(machine.applied[name] != value for name, value in machine.states[state].items()):
                raise CannotWork("n1: not in the staged state")
            return {}

        found: dict[str, Any] = self._step("proven", work)
        return found

    def read(self, setting: str) -> str:
        """Read a setting of the kernel."""
        return self._machine.kernel[setting]

    def write(self, setting: str, text: str) -> None:
        """Write a setting of the kernel."""
        self._step("write", lambda: self._machine.kernel.update({setting: text}))

    def busy(self) -> str | None:
        """Say what others do."""
        return self._machine.busy

    def run(self, column: str) -> Given:
        """Run a program."""

        def work() -> Given:
            machine = self._machine
            machine.measured.append((machine.boots, dict(machine.applied), dict(machine.kernel)))
            if machine.loses_power_at == len(machine.measured):
                machine.boots, machine.kernel = machine.boots + 1, dict(machine.home[1])
            return Given(machine.time(machine, column))

        found: Given = self._step("run", work)
        return found

    def now(self) -> float:
        """Tell the time."""
        return self._machine.clock

    def pause(self, seconds: float) -> None:
        """Let time go by."""
        self._machine.clock += seconds


class Watched(JournalFile):
    """The file of a journal in which each line is a step, too: the plug may be pulled before it, after it, or within it."""

    plug: Plug

    def write(self, line: dict[str, Any]) -> None:
        """Keep a line, unless the plug is pulled."""
        self.plug.around(f"journal {line.get('event', 'head')}", lambda: super(Watched, self).write(line))
        # what is not on disk yet is lost with half of it: resumed() drops a line without an end


def watched(journal: Journal, plug: Plug) -> Journal:
    """Return the journal whose lines are steps."""
    assert journal.file is not None
    journal.file.__class__ = Watched
    journal.file.plug = plug  # type: ignore[attr-defined]
    return journal


def plan(restarts: int = 2, **more: Any) -> ExperimentPlan:
    """Return a plan of two states in BIOS and kernel."""
    given = {
        "format": "advisor-experiment/1",
        "states": [
            {"name": "one", "set": {"numa.nps": 1, "os.thp": "never"}},
            {"name": "four", "set": {"numa.nps": 4, "os.thp": "always"}},
        ],
        "measure": [{"name": "prog", "run": "./prog"}],
        "restarts": restarts,
        "repeats": 2,
        **more,
    }
    return ExperimentPlan.model_validate(given)


STATES = ({"nps": "1"}, {"nps": "4"})


def begin(folder: Path, what: ExperimentPlan, names: tuple[str, ...] = ("n1",), **more: Any) -> None:
    """Begin an experiment's journal."""
    head = {"plan": what.model_dump(mode="json"), "seed": 7, "nodes": [{"node": each, "bmc": each} for each in names], **more}
    begun(folder, head).close()


def go(folder: Path, what: ExperimentPlan, *machines: Machine, plug: Plug | None = None, only_back: bool = False) -> Ran:
    """Run an experiment, or go on with it, up to its end or until the plug is pulled."""
    plug = plug or Plug()
    journal = watched(resumed(folder), plug)
    try:
        order = schedule(len(what.every_state), what.restarts, len(machines), what.order, 7)
        return Runner(what, journal, [Pretended(each, plug) for each in machines], order).run(only_back=only_back)
    finally:
        journal.close()


def every_step(folder: Path, what: ExperimentPlan, make: Callable[[], Machine]) -> Iterator[tuple[int, bool]]:
    """Yield each step of an experiment, before and after it."""
    plug = Plug()
    begin(folder, what)
    go(folder, what, make(), plug=plug)
    for at in range(1, plug.steps + 1):
        yield at, False
        yield at, True
