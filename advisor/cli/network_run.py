"""Runs the experiment between two hosts leg by leg, and believes what is proved."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from advisor import __version__
from advisor.cli.jobscripts import located
from advisor.cli.measuring import Measured, Watch, told
from advisor.cli.mpi_programs import mpi_program
from advisor.cli.networking import Experiment
from advisor.cli.writing import File, write_folder
from advisor.errors import BadInput, CannotWork
from advisor.host.live import LiveHost
from advisor.measure.build import Compiler, cache_folder
from advisor.measure.conditions import conditions
from advisor.measure.ground import Ground
from advisor.measure.mpi_run import started
from advisor.measure.network import KERNEL, Leg
from advisor.measure.network_read import Seat, read
from advisor.measure.run import STOPPED, Outcome, Progress
from advisor.model.identity import identity_of
from advisor.model.measurement import Measurements, Task
from advisor.model.observation import planned, same_host
from advisor.model.placement import Placement


def measure(made: Experiment) -> Measured:
    """Measure; Ctrl-C ends every rank and keeps what is done."""
    host = LiveHost()
    placements = [made.placement(leg) for leg in made.legs]
    first = made.launch(made.legs[0], placements[0], KERNEL).argv[0]
    program, compiler, flags = mpi_program(host, made.machine, KERNEL, first, folder=made.ask.kernels)
    watch = _watch(made, host)
    before = watch.before() if watch else ()
    if before and not made.ask.busy_ok:
        raise CannotWork(f"this machine is not idle: {'; '.join(before)}; wait, or measure all the same with --busy-ok")
    begun, when = time.monotonic(), datetime.now().astimezone().isoformat(timespec="seconds")
    work = [_Part(leg, place, made.task(leg, place)) for leg, place in zip(made.legs, placements, strict=True)]
    with running_folder() as folder:
        outcome = _run(made, work, _Start(host, program, folder, watch))
    busy = watch.words() if watch else None
    return Measured(_measurements(made, outcome, (when, time.monotonic() - begun, busy), (compiler, flags)), outcome.interrupted)


class _Part(NamedTuple):
    leg: Leg
    placement: Placement
    task: Task


@dataclass(frozen=True)
class _Start:
    host: LiveHost
    program: str
    folder: Path
    watch: Watch | None


def _watch(made: Experiment, host: LiveHost) -> Watch | None:
    """Return who watches this machine, where it is one of the hosts."""
    names, own = made.crew.hosts.names, os.uname().nodename
    here = not names or any(same_host(name, own) or name == "localhost" for name in names)
    return Watch(host, made.machine, Ground(made.machine)) if here else None


@contextmanager
def running_folder(prefix: str = "network-") -> Iterator[Path]:
    """Make a folder for rankfiles; it lies in the home, which the other host sees, too, where a rank must read it."""
    parent = cache_folder(os.environ).parent
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
            yield Path(name)
    except OSError as error:
        why = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{parent}: {why}; set XDG_CACHE_HOME to another folder") from error


def _run(made: Experiment, work: list[_Part], start: _Start) -> Outcome:
    """Run leg after leg; where the first brings nothing, none would."""
    outcome = Outcome()
    try:
        with told(made.ask.verbose) as report:
            for number, part in enumerate(work):
                left = sum(each.task.seconds for each in work[number:])
                report(Progress(number + 1, len(work), part.task, left))
                _one(made, part, start, outcome)
                if number == 0 and not outcome.results:
                    raise CannotWork(_nothing(made, outcome))
                if start.watch:
                    start.watch.look()
    except KeyboardInterrupt:
        outcome.interrupted = True
        done = {result.task for result in outcome.results} | {each.task for each in outcome.missing}
        for part in work:
            if part.task.name not in done:
                outcome.lacks(part.task, STOPPED)
    return outcome


def _nothing(made: Experiment, outcome: Outcome) -> str:
    hosts = made.crew.hosts.names
    why = outcome.missing[0].why if outcome.missing else "no rank printed a result"
    cure = f"; see that {' and '.join(hosts)} answer: ssh {hosts[-1]} true" if len(hosts) > 1 else ""
    return f"nothing was measured: {why}{cure}"


def _one(made: Experiment, part: _Part, start: _Start, outcome: Outcome) -> None:
    leg, placement, task = part
    launch = made.launch(leg, placement, start.program)
    command = [start.program, *leg.arguments(made.sizes, made.repeats)]
    files = {name: File(lines(), program=True) for name, lines in launch.files.items()}
    if files:
        write_folder(start.folder, files)
    put = located(launch, str(start.folder), command)
    lines, why = started(start.host, put.argv, put.environment, task.seconds)
    version = f" {made.choice.version}" if made.choice.version else ""
    hosts = made.crew.hosts.names or (os.uname().nodename,)
    seat = Seat(hosts, planned(placement), made.machine, f"{made.choice.launcher.NAME}{version}")
    try:
        found = read(leg, task, seat, lines)
    except BadInput as error:
        found, why = (), str(error)
    outcome.results += found
    if why is not None and len(found) < len(task.variants):
        outcome.lacks(task, why)
    elif not found:
        outcome.lacks(task, "the ranks ended without a result")


def _measurements(
    made: Experiment, outcome: Outcome, run: tuple[str, float, tuple[str, ...] | None], built: tuple[Compiler | None, str | None]
) -> Measurements:
    when, seconds, busy = run
    compiler, flags = built
    under = conditions(made.machine, when, busy or ()).model_copy(
        update={
            "idle": None if busy is None else not busy,
            "seconds": round(seconds, 1),
            "compiler": compiler.version if compiler else None,
            "flags": flags,
        }
    )
    return Measurements(
        advisor=__version__,
        machine=identity_of(made.machine),
        conditions=under,
        results=tuple(outcome.results),
        missing=tuple(outcome.missing),
    )
