"""What an audit measures before it judges: the quick set or everything, and where that is asked messages and HPL."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from advisor.model.hardware.machine import Machine
    from advisor.model.measurement import Measurements
    from advisor.work.job.hosts import HostOptions
    from advisor.work.measure import Measured


_HPL_SECONDS: Final = 60.0
"""The first small run, the search of NB, and three runs of a quarter of a minute."""
_OF_PEAK: Final = 0.7
"""What HPL gives of the peak at base clock, with which a full run's time is estimated."""


@dataclass(frozen=True)
class ExtraMeasuring:
    """What is to be measured beside what the audit reads."""

    own: bool = True
    """The machine's own figures; False where files stand in for them."""
    full: bool = False
    network: str | None = None
    hpl: bool = False
    busy_ok: bool = False


class Measuring(NamedTuple):
    """What was measured, and the files that keep it for the commands that follow; whether Ctrl-C ended it."""

    measurements: "Measurements | None" = None
    files: tuple[Path, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True)
class _Part:
    """One thing to measure; ``seconds`` None where nobody can tell them beforehand."""

    name: str
    seconds: float | None
    run: "Callable[[], Measured]" = field(repr=False)


def measured_now(machine: "Machine", asked: ExtraMeasuring, given: "Measurements | None" = None) -> Measuring:
    """Return what can be measured now, beside what is given; what cannot is one line on standard error."""
    parts = tuple(_parts(machine, asked))
    _announced(parts, busy_ok=asked.busy_ok)
    found, interrupted = _run(parts)
    if not found:
        return Measuring(given, interrupted=interrupted)
    from advisor.measure.run import merge_runs

    measurements = merge_runs([given, *found] if given else found)
    kept = _kept(measurements)
    return Measuring(measurements, (kept,) if kept else (), interrupted)


def _parts(machine: "Machine", asked: ExtraMeasuring) -> Iterator[_Part]:
    """Yield what to measure; a host that cannot be is refused, what is not here is reported."""
    from advisor.errors import CannotWork
    from advisor.work.measure import announce

    for made in (_own, _hpl, _network):
        try:
            part = made(machine, asked)
        except CannotWork as error:
            announce(f"not measured: {error}")
        else:
            yield from [part] if part else []


def _own(machine: "Machine", asked: ExtraMeasuring) -> _Part | None:
    """Return the quick set, or everything."""
    from advisor.measure.kernel_tasks import Request
    from advisor.work.measure import QUICK_SECONDS, MeasureOptions, measure, planned

    if not asked.own:
        return None
    wish = Request("full" if asked.full else "quick")
    how = MeasureOptions(asked.busy_ok, budget=None if asked.full else QUICK_SECONDS)
    return _Part("bandwidth, latency and peak", planned(machine, wish).seconds, lambda: measure(machine, wish, how))


def _hpl(machine: "Machine", asked: ExtraMeasuring) -> _Part | None:
    """Return HPL on this machine alone."""
    from advisor.work.bind import LauncherOptions
    from advisor.work.hpl import measure
    from advisor.work.hpl_plan import HplOptions, hpl_job

    if not (asked.hpl or asked.full):
        return None
    ask = HplOptions(full=asked.full, busy_ok=asked.busy_ok, verbose=sys.stderr.isatty())
    made = hpl_job(_here(), LauncherOptions(), ask, os.environ)
    return _Part("HPL", _full_seconds(made.ranks, machine) if asked.full else _HPL_SECONDS, lambda: measure(made))


def _here() -> "HostOptions":
    """Return this machine alone, in a job of several hosts too."""
    from advisor.work.job.allocation import of_job
    from advisor.work.job.hosts import HostOptions

    job = of_job(os.environ)
    return HostOptions(hosts=os.uname().nodename if job and len(job.names) > 1 else None)


def _full_seconds(cores: int, machine: "Machine") -> float | None:
    """Return how long HPL takes with most of the free memory; None where the peak is not known."""
    from advisor.host.live import LiveHost
    from advisor.know.platforms import match_platform
    from advisor.measure.hpl import BLOCKS, FULL_SHARE, Size, for_memory
    from advisor.measure.idle_check import free_memory

    platform, cpu = match_platform(machine), machine.cpu
    if not (platform and platform.flops_per_cycle and cpu and cpu.base_hz):
        return None
    n = for_memory(sum(free_memory(LiveHost(), machine).values()), FULL_SHARE, BLOCKS[1])
    return Size(n, BLOCKS[1], 1, 1).work / (cores * platform.flops_per_cycle * cpu.base_hz * _OF_PEAK)


def _network(machine: "Machine", asked: ExtraMeasuring) -> _Part | None:
    """Return messages to another host: one that is named, or the job's second."""
    from advisor.errors import BadValue, CannotWork
    from advisor.work.bind import LauncherOptions
    from advisor.work.job.allocation import of_job
    from advisor.work.job.hosts import HostOptions
    from advisor.work.measure import announce
    from advisor.work.network import NetworkOptions, experiment, measure

    del machine  # each host's is read by its own rules
    job = of_job(os.environ) if asked.full else None
    if asked.network is None and not (job and len(job.names) > 1):
        if asked.full:
            raise CannotWork("messages between hosts, for no second host is known; name two with --network A,B")
        return None
    made = experiment(HostOptions(hosts=asked.network), LauncherOptions(), NetworkOptions(busy_ok=asked.busy_ok), os.environ)
    names = made.crew.hosts.names
    if len(names) != 2:
        raise BadValue(f"--network {asked.network} is one host", cure="name two: --network A,B")
    if not made.crew.is_here:
        announce(f"neither {names[0]} nor {names[1]} is the name of this machine; both are taken to be like it")
    seconds = sum(made.task(leg, made.placement(leg)).seconds for leg in made.legs)
    return _Part(f"messages between {names[0]} and {names[1]}", seconds, lambda: measure(made))


def _announced(parts: tuple[_Part, ...], *, busy_ok: bool) -> None:
    """Say beforehand what will be measured, and how long it takes."""
    from advisor.render.measured.page import seconds as lasting
    from advisor.work.measure import announce

    if not parts:
        return
    words = [f"{part.name} for {_about(part)}" for part in parts]
    known = [part.seconds for part in parts if part.seconds is not None]
    whole = f", {lasting(sum(known))} in all" if 1 < len(parts) == len(known) else ""
    idle = "" if busy_ok else ", if the machine is idle"
    announce(f"measuring {', '.join(words)}{whole}{idle}; --no-measure leaves it out")


def _about(part: _Part) -> str:
    from advisor.render.measured.page import seconds as lasting

    return f"about {lasting(max(1.0, part.seconds))}" if part.seconds is not None else "as long as most of the memory takes"


def _run(parts: tuple[_Part, ...]) -> tuple[list["Measurements"], bool]:
    """Return what each part brought, and whether Ctrl-C ended it: the finished part is used."""
    from advisor.errors import AdvisorError
    from advisor.work.measure import announce

    found: list[Measurements] = []
    for number, part in enumerate(parts, 1):
        try:
            if number > 1:
                announce(f"{number}/{len(parts)}: {part.name}, {_about(part)}")
            done = part.run()
        except AdvisorError as error:
            announce(f"{part.name} not measured: {str(error).removeprefix('nothing was measured: ')}")
        except KeyboardInterrupt:
            announce("measuring was stopped; the finished part is used")
            return found, True
        else:
            found.append(done.measurements)
            if done.interrupted:
                announce("measuring was stopped; the finished part is used")
                return found, True
    return found, False


def _kept(measurements: "Measurements") -> Path | None:
    """Keep measurements beside the built kernels, where explain and checklist can be pointed to them."""
    from advisor.errors import AdvisorError
    from advisor.measure.build import cache_folder
    from advisor.work.machine import write_whole
    from advisor.work.measure import document

    file = cache_folder(os.environ).parent / "measured.json"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, json.dumps(document(measurements)).encode())
    except (AdvisorError, OSError):
        return None
    return file
