"""Measures this machine for an audit: its own figures, HPL, messages to another host; and keeps them."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from advisor.advice.audit import Measuring
from advisor.errors import AdvisorError, BadValue, CannotWork
from advisor.jobs.started import hpl, network
from advisor.jobs.started.hosts import HostOptions, LauncherOptions, of_job
from advisor.jobs.started.hpl import HplOptions, full_seconds, hpl_job
from advisor.machine.hosts.files import write_file
from advisor.machine.machine import Machine
from advisor.machine.observer import Observer
from advisor.measure import task as measure
from advisor.measure.build import cache_folder
from advisor.measure.measurement import Measurements
from advisor.measure.page import seconds as lasting
from advisor.measure.run import merge_runs

_HPL_SECONDS: Final = 60.0
"""The first small run, the search of NB, and three runs of a quarter of a minute."""


@dataclass(frozen=True)
class _Part:
    """One thing to measure; ``seconds`` None where nobody can tell them beforehand."""

    name: str
    seconds: float | None
    run: Callable[[], measure.Measured] = field(repr=False)


@dataclass(frozen=True)
class MeasureNow:
    """What an audit is to measure before it judges; nothing without it, and only on this machine."""

    own: bool = True
    """The machine's own figures; False where files stand in for them."""
    full: bool = False
    network: str | None = None
    hpl: bool = False
    busy_ok: bool = False

    @property
    def beside_files(self) -> bool:
        """Messages between hosts and HPL are measured though files hold the machine's own figures."""
        return self.network is not None or self.hpl

    def __call__(self, machine: Machine, given: Measurements | None, observer: Observer) -> Measuring:
        """Return what can be measured now, beside what is given; of what cannot the observer is told."""
        parts = tuple(_parts(machine, self, observer))
        _announced(parts, observer, busy_ok=self.busy_ok)
        found, interrupted = _run(parts, observer)
        if not found:
            return Measuring(given, interrupted=interrupted)
        measurements = merge_runs([given, *found] if given else found)
        kept = _kept(measurements)
        return Measuring(measurements, (kept,) if kept else (), interrupted)


def _parts(machine: Machine, asked: MeasureNow, observer: Observer) -> Iterator[_Part]:
    """Yield what to measure; a host that cannot be is refused, what is not here is reported."""
    for made in (_own, _hpl, _network):
        try:
            part = made(machine, asked, observer)
        except CannotWork as error:
            observer.say(f"not measured: {error}")
        else:
            yield from [part] if part else []


def _own(machine: Machine, asked: MeasureNow, observer: Observer) -> _Part | None:
    """Return the quick set, or everything."""
    if not asked.own:
        return None
    wish, how = measure.wished("full" if asked.full else "quick"), measure.MeasureOptions(asked.busy_ok)
    return _Part(
        "bandwidth, latency and peak",
        measure.planned(machine, wish).seconds,
        lambda: measure.measure(machine, wish, how, observer),
    )


def _hpl(machine: Machine, asked: MeasureNow, observer: Observer) -> _Part | None:
    """Return HPL on this machine alone."""
    if not (asked.hpl or asked.full):
        return None
    options = HplOptions(full=asked.full, busy_ok=asked.busy_ok)
    del machine  # read again, as one of the hosts
    made = hpl_job(_here(), LauncherOptions(), options, observer=observer)
    seconds = full_seconds(made) if asked.full else _HPL_SECONDS
    return _Part("HPL", seconds, lambda: hpl.measure(made, observer=observer))


def _here() -> HostOptions:
    """Return this machine alone, in a job of several hosts too."""
    job = of_job(os.environ)
    return HostOptions(hosts=os.uname().nodename if job and len(job.names) > 1 else None)


def _network(machine: Machine, asked: MeasureNow, observer: Observer) -> _Part | None:
    """Return messages to another host: one that is named, or the job's second."""
    del machine  # each host's is read by its own rules
    job = of_job(os.environ) if asked.full else None
    if asked.network is None and not (job and len(job.names) > 1):
        if asked.full:
            raise CannotWork("messages between hosts, for no second host is known; name two with --network A,B")
        return None
    options = network.NetworkOptions(busy_ok=asked.busy_ok)
    made = network.experiment(HostOptions(hosts=asked.network), LauncherOptions(), options, observer=observer)
    names = made.job_hosts.hosts.names
    if len(names) != 2:
        raise BadValue(f"--network {asked.network} is one host", cure="name two: --network A,B")
    if not made.job_hosts.is_here:
        observer.say(f"neither {names[0]} nor {names[1]} is the name of this machine; both are taken to be like it")
    seconds = sum(made.task(leg, made.placement(leg)).seconds for leg in made.legs)
    return _Part(f"messages between {names[0]} and {names[1]}", seconds, lambda: network.measure(made, observer))


def _announced(parts: tuple[_Part, ...], observer: Observer, *, busy_ok: bool) -> None:
    """Say beforehand what will be measured, and how long it takes."""
    if not parts:
        return
    words = ", ".join(f"{part.name} for {_about(part)}" for part in parts)
    known = [part.seconds for part in parts if part.seconds is not None]
    whole = f", {lasting(sum(known))} in all" if 1 < len(parts) == len(known) else ""
    observer.say(f"measuring {words}{whole}{'' if busy_ok else ', if the machine is idle'}; --no-measure leaves it out")


def _about(part: _Part) -> str:

    return f"about {lasting(max(1.0, part.seconds))}" if part.seconds is not None else "as long as most of the memory takes"


def _run(parts: tuple[_Part, ...], observer: Observer) -> tuple[list[Measurements], bool]:
    """Return what each part brought, and whether Ctrl-C ended it: the finished part is used."""
    found: list[Measurements] = []
    for number, part in enumerate(parts, 1):
        try:
            if number > 1:
                observer.say(f"{number}/{len(parts)}: {part.name}, {_about(part)}")
            done: measure.Measured | None = part.run()
        except AdvisorError as error:
            observer.say(f"{part.name} not measured: {str(error).removeprefix('nothing was measured: ')}")
            continue
        except KeyboardInterrupt:
            done = None
        found += [done.measurements] if done else []
        if done is None or done.interrupted:
            observer.say("measuring was interrupted; the finished part is used")
            return found, True
    return found, False


def _kept(measurements: Measurements) -> Path | None:
    """Keep measurements beside the built kernels, where explain and checklist can be pointed to them."""
    file = cache_folder(os.environ).parent / "measured.json"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(file, json.dumps(measurements.model_dump(mode="json")).encode())
    except (AdvisorError, OSError):
        return None
    return file
