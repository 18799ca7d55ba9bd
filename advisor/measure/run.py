"""Runs tasks one after the other: repeats what spreads, ends what hangs, keeps what is done; joins several runs into one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from time import monotonic
from typing import Final, Protocol

from advisor.errors import BadInput, one_line
from advisor.machine.hosts.base import Ran, Why
from advisor.measure.build import Starter
from advisor.measure.contract import Shapes, argv_with_shapes, learn_shapes, results_of
from advisor.measure.measurement import Conditions, KernelSheet, Measurements, Missing, Result, Task

SPREAD: Final = 0.05
"""Of the median: above it the repeats do not tell the value yet."""
_ROUNDS: Final = 3
_PATIENCE: Final = 8.0
"""Times the estimate, and this much at least beside it, before a kernel counts as hung."""
_LEAST: Final = 30.0
_LARGEST: Final = 64 << 20
_CANNOT: Final = 3
_WRONG: Final = 1
STOPPED: Final = "stopped by Ctrl-C"
LATE: Final = "the time was up"


class Programs(Protocol):
    """Where the kernels' programs are."""

    def program(self, name: str) -> str:
        """Return the path of a kernel's program."""
        ...


@dataclass
class Outcome:
    """What a run brought, as far as it came."""

    results: list[Result] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    interrupted: bool = False

    def stopped(self, tasks: Iterable[Task]) -> None:
        """Note that Ctrl-C ended the run, and the tasks that it left undone."""
        self.interrupted = True
        done = {result.task for result in self.results} | {each.task for each in self.missing}
        for task in tasks:
            if task.name not in done:
                self.lacks(task, STOPPED)

    def lacks(self, task: Task, why: str) -> None:
        """Note a task without a result."""
        self.missing.append(Missing(task=task.name, why=one_line(why)[:300]))


@dataclass(frozen=True)
class Progress:
    """How far a run is: the task now begun, how many there are, and the seconds that are left."""

    number: int
    of: int
    task: Task
    left: float


@dataclass(frozen=True)
class RunContext:
    """What a run needs beside its tasks."""

    host: Starter
    programs: Programs
    report: Callable[[Progress], None]
    look: Callable[[], None]
    """Notes who else worked meanwhile."""
    clock: Callable[[], float] = monotonic
    shapes: Shapes = field(default_factory=dict)
    kernels: Mapping[str, KernelSheet] = field(default_factory=dict)
    """What the kernels say of themselves, and so what they may print."""
    budget: float | None = None
    """Seconds after which no task is begun, and none is repeated when the rest would no longer fit."""


def run(tasks: Sequence[Task], around: RunContext) -> Outcome:
    """Run tasks in order; Ctrl-C ends the one that runs and keeps what is done."""
    outcome, begun = Outcome(), around.clock()
    pace = 1.0
    try:
        for number, task in enumerate(tasks):
            spent, left = around.clock() - begun, sum(each.seconds for each in tasks[number:]) * pace
            if around.budget is not None and spent > around.budget:
                outcome.lacks(task, LATE)
                continue
            around.report(Progress(number + 1, len(tasks), task, left))
            spare = None if around.budget is None else around.budget - spent - left
            _one(task, around, outcome, spare)
            pace = _pace(tasks[: number + 1], around.clock() - begun)
            around.look()
    except KeyboardInterrupt:
        outcome.stopped(tasks)
    return outcome


def _pace(done: Sequence[Task], seconds: float) -> float:
    """Return how much longer than planned it takes, so that the time left is honest; the first tasks tell little."""
    planned = sum(task.seconds for task in done)
    return (seconds + 5.0) / (planned + 5.0)


def _one(task: Task, around: RunContext, outcome: Outcome, spare: float | None) -> None:
    """Run a task until its spread is known, three times at most."""
    found: tuple[Result, ...] = ()
    for turn in range(_ROUNDS):
        begun = around.clock()
        try:
            again = _started(task, around)
        except BadInput as error:
            again, why = None, str(error)
        else:
            why = again if isinstance(again, str) else ""
        if not isinstance(again, tuple):
            if not found:
                outcome.lacks(task, why)
            break
        found = _joined(found, again, turn + 1)
        took = around.clock() - begun
        if spare is not None:
            spare -= took if turn else 0.0
        if not _spreads(found) or (spare is not None and spare < took):
            break
    outcome.results += found


def _started(task: Task, around: RunContext) -> tuple[Result, ...] | str:
    """Return the results of one start, or in words why there are none."""
    heard: list[bytes] = []

    def hear(data: bytes) -> None:
        if sum(map(len, heard)) <= _LARGEST:
            heard.append(data)

    program = around.programs.program(task.kernel)
    limit = limit_of(task)
    ran = around.host.launch((program, *argv_with_shapes(task, around.shapes)), hear, timeout=limit)
    text = b"".join(heard)
    if len(text) > _LARGEST:
        return f"{task.kernel} printed without end"
    failed = _failed(task, ran, limit)
    if failed is not None:
        return failed
    results = results_of(task, text.splitlines(), around.kernels.get(task.kernel))
    learn_shapes(around.shapes, results)
    return results or f"{task.kernel} ended without a result"


def limit_of(task: Task) -> float:
    """Return the seconds after which a task's kernel counts as hung."""
    return max(_LEAST, _PATIENCE * task.seconds)


def taken(task: Task, ran: Ran, text: bytes, sheet: KernelSheet | None) -> tuple[Result, ...] | str:
    """Return the results of a start on another node, or in words why there are none."""
    failed = _failed(task, ran, limit_of(task))
    if failed is not None:
        return failed
    try:
        return results_of(task, text.splitlines(), sheet) or f"{task.kernel} ended without a result"
    except BadInput as error:
        return str(error)


def _failed(task: Task, ran: Ran, limit: float) -> str | None:
    """Return in words how a kernel ended badly; None where it did not."""
    said = _last(ran.err)
    if ran.why is Why.TIMEOUT:
        return f"{task.kernel} hung and was killed after {limit:.0f} s"
    if ran.why is not None:
        return f"{task.kernel}: {ran.why.value}"
    if ran.status == 0:
        return None
    if ran.status == _WRONG:
        return f"its result was wrong{said}"
    if ran.status == _CANNOT:
        return f"this machine cannot{said}"
    how = f"was killed by signal {-ran.status}" if ran.status < 0 else f"ended with status {ran.status}"
    return f"{task.kernel} {how}{said}"


def _last(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {lines[-1][:200]}" if lines else ""


def _joined(before: tuple[Result, ...], again: tuple[Result, ...], rounds: int) -> tuple[Result, ...]:
    """Return results with the repeats of every round; those of the last alone where the rounds differ in kind."""
    if [_same(each) for each in before] != [_same(each) for each in again]:
        return again
    details = {"rounds_run": rounds}
    return tuple(
        new.model_copy(update={"values": old.values + new.values, "details": {**new.details, **details}})
        for old, new in zip(before, again, strict=True)
    )


def _same(result: Result) -> tuple[object, ...]:
    return result.variant, result.unit, result.cpus, result.bytes


def _spreads(results: Sequence[Result]) -> bool:
    """Return whether repeats lie too far apart; of many results of one task, whether those of the half do."""
    return median(result.spread for result in results) > SPREAD


_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def merge_runs(runs: Sequence[Measurements]) -> Measurements:
    """Return several runs as one, in the order in which they began; of a thing that two of them have, the later run's."""
    if len(runs) == 1:
        return runs[0]
    ordered = sorted(runs, key=started_at)
    latest = {_thing(result): at for at, run in enumerate(ordered) for result in run.results}
    told = {result.task for run in ordered for result in run.results}
    lacking = {each.task: each for run in ordered for each in run.missing if each.task not in told}
    return ordered[0].model_copy(
        update={
            "conditions": _conditions([run.conditions for run in ordered]),
            "kernels": tuple({each.name: each for run in ordered for each in run.kernels}.values()),
            "results": tuple(r for at, run in enumerate(ordered) for r in run.results if latest[_thing(r)] == at),
            "missing": tuple(lacking.values()),
        }
    )


def started_at(run: Measurements) -> datetime:
    """Return when a run began; what is no time comes before all others."""
    try:
        return datetime.fromisoformat(run.conditions.started).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return _EARLIEST


def _thing(result: Result) -> tuple[object, ...]:
    """Return what was measured: the same thing has the same task in every run; messages go between two hosts."""
    return result.task, result.variant, result.bytes, result.page_kind, result.details.get("hosts_named")


def _conditions(under: Sequence[Conditions]) -> Conditions:
    """Return what holds for all: not idle where one run was not, and what spoke against any of them."""
    looks = [each.idle for each in under]
    measured = next((each for each in under if not each.imported), under[0])
    return measured.model_copy(
        update={
            "imported": tuple(dict.fromkeys(name for each in under for name in each.imported)),
            "seconds": round(sum(each.seconds for each in under), 1),
            "idle": False if False in looks else True if True in looks else None,
            "busy": tuple(dict.fromkeys(words for each in under for words in each.busy)),
            "compiler": _joined_warnings((each.compiler for each in under), "; "),
            "flags": _joined_warnings((each.flags for each in under), "; "),
            "governor": _joined_warnings((name for each in under for name in (each.governor or "").split(",")), ","),
            "hugepages": _joined_warnings((each.hugepages for each in under), ","),
        }
    )


def _joined_warnings(words: Iterable[str | None], mark: str) -> str | None:
    return mark.join(dict.fromkeys(word for word in words if word)) or None
