"""Runs the experiment between two hosts leg by leg, and believes what is proved."""

import os
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from advisor.cli.measuring import Measured, Watch, gathered, told
from advisor.cli.mpi_programs import mpi_program
from advisor.cli.mpi_start import heard_from, running_folder
from advisor.cli.networking import Experiment
from advisor.errors import BadInput, CannotWork
from advisor.host.live import LiveHost
from advisor.measure.idle_check import conditions
from advisor.measure.network import KERNEL, NetworkRun
from advisor.measure.network_results import RankPlan, read_network
from advisor.measure.resources import Resources
from advisor.measure.run import Outcome, Progress
from advisor.model.measurement import Task
from advisor.model.observed_binding import planned_ranks
from advisor.model.placement import Placement


def measure(made: Experiment) -> Measured:
    """Measure; Ctrl-C ends every rank and keeps what is done."""
    host = LiveHost()
    placements = [made.placement(leg) for leg in made.legs]
    first = made.launch(made.legs[0], placements[0], KERNEL).argv[0]
    watch = Watch(host, made.machine, Resources(made.machine)) if made.crew.is_here else None
    if watch:
        watch.must_be_idle(busy_ok=made.ask.busy_ok)
    program, compiler, flags = mpi_program(host, made.machine, KERNEL, first, folder=made.ask.kernels)
    begun, when = time.monotonic(), datetime.now().astimezone().isoformat(timespec="seconds")
    work = [_Part(leg, place, made.task(leg, place)) for leg, place in zip(made.legs, placements, strict=True)]
    with running_folder("network-") as folder:
        outcome = _run(made, work, _Start(host, program, folder, watch))
    busy, version = watch.words() if watch else None, compiler.version if compiler else None
    under = conditions(made.machine, when, busy, seconds=time.monotonic() - begun, compiler=version, flags=flags)
    return Measured(gathered(made.machine, under, outcome.results, outcome.missing), outcome.interrupted)


class _Part(NamedTuple):
    leg: NetworkRun
    placement: Placement
    task: Task


@dataclass(frozen=True)
class _Start:
    host: LiveHost
    program: str
    folder: Path
    watch: Watch | None


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
        outcome.stopped(part.task for part in work)
    return outcome


def _nothing(made: Experiment, outcome: Outcome) -> str:
    hosts = made.crew.hosts.names
    why = outcome.missing[0].why if outcome.missing else "no rank printed a result"
    silent = next((name for name in hosts if name in why), hosts[-1] if hosts else "")
    cure = f"; see that {' and '.join(hosts)} answer: ssh {silent} true" if len(hosts) > 1 else ""
    return f"nothing was measured: {why}{cure}"


def _one(made: Experiment, part: _Part, start: _Start, outcome: Outcome) -> None:
    leg, placement, task = part
    launch = made.launch(leg, placement, start.program)
    command = [start.program, *leg.arguments(made.sizes, made.repeats)]
    heard = heard_from(start.host, launch, command, start.folder, seconds=task.seconds)
    version = f" {made.choice.version}" if made.choice.version else ""
    hosts = made.crew.hosts.names or (os.uname().nodename,)
    seat = RankPlan(hosts, planned_ranks(placement), made.machine, f"{made.choice.launcher.NAME}{version}", made.asked)
    try:
        found, why = read_network(leg, task, seat, heard.lines), heard.why
    except BadInput as error:
        found, why = (), str(error)
    outcome.results += found
    if why is not None and len(found) < len(task.variants):
        outcome.lacks(task, why)
    elif not found:
        outcome.lacks(task, "the ranks ended without a result")
