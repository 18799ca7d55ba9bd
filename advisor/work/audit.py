"""Audits a machine: reads it, measures what is asked for, judges it."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from advisor.work import SILENT, Observer
from advisor.work.bios import BiosInput

if TYPE_CHECKING:
    from advisor.model.audit.findings import Audit
    from advisor.model.audit.plan import Plan
    from advisor.model.audit.platform import Scope
    from advisor.model.audit.rule import Severity
    from advisor.model.hardware.machine import Machine
    from advisor.model.measurement import Measurements
    from advisor.work.bios import BiosInput
    from advisor.work.job.hosts import HostOptions
    from advisor.work.judgement import Judgement
    from advisor.work.measure import Measured

_HPL_SECONDS: Final = 60.0
"""The first small run, the search of NB, and three runs of a quarter of a minute."""


@dataclass(frozen=True)
class MeasureNow:
    """What an audit is to measure before it judges; nothing without it, and only on this machine."""

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
class Audited:
    """An audit, what it was judged from, and what was measured for it."""

    judgement: "Judgement"
    audit: "Audit"
    measured: Measuring
    given: "BiosInput" = BiosInput()  # noqa: RUF009 - a frozen value
    """What --bios gave, with which files for tools are made."""

    @property
    def machine(self) -> "Machine":
        """The machine as it was read."""
        return self.judgement.machine

    @cached_property
    def plan(self) -> "Plan":
        """What files for tools would write here: that of ``advisor checklist`` for the same inputs."""
        from advisor.work.bios import plan_of

        return plan_of(self.judgement, self.given)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each rule that found something, by which every command takes it; topics renumber nothing."""
        return {own[0].id: number for number, own in enumerate(self.judgement.audit.by_rule, 1)}

    def reaches(self, severity: "Severity") -> bool:
        """Return whether a finding is as severe as this, or worse."""
        from advisor.model.audit.rule import SEVERITIES

        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return any(finding.severity in worst for finding in self.audit.found)

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor audit --json``."""
        from advisor.render.schema import audit_document

        return audit_document(self.machine, self.judgement.layout, self.audit, self.judgement.case.watch)


def audit(
    source: str | None = None,
    scope: "Scope" = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: "Sequence[Path] | BiosInput" = (),
    measurements: Sequence[Path] = (),
    measure: MeasureNow | None = None,
    topics: Sequence[str] = (),
    observer: Observer = SILENT,
) -> Audited:
    """Return what is wrong with a machine, what it costs and how to fix it; ``source`` None is this machine.

    Nothing is measured unless ``measure`` says what. ``topics`` keeps the rules of some topics, and the settings they look at.
    """
    if site or topics:  # before anything is measured
        from advisor.work.rules import must_be_known

        must_be_known(site, topics)
    found = judge_source(source, scope, site=site, bios=bios, files=measurements, observer=observer, measure=measure)
    return replace(found, audit=_of_topics(found.judgement, topics)) if topics else found


def judge_source(
    source: str | None,
    scope: "Scope",
    *,
    site: Sequence[Path],
    bios: "Sequence[Path] | BiosInput",
    files: Sequence[Path],
    observer: Observer,
    measure: MeasureNow | None = None,
) -> Audited:
    """Read, measure and judge, with a look at the counters of faults before and after."""
    from advisor.work.bios import bios_of
    from advisor.work.judgement import judged
    from advisor.work.machine import CounterWatch, read_machine

    watching, machine = CounterWatch(source), read_machine(source, observer)
    given = bios_of(bios, machine, observer)
    measured = Measuring(None, tuple(files))
    if files:
        from advisor.work.measure import measurements_from

        measured = Measuring(measurements_from(files, machine), tuple(files))
    if measure is not None and source is None and (not files or measure.network is not None or measure.hpl):
        found = measured_now(machine, measure, measured.measurements, observer)
        measured = found if found.files else found._replace(files=measured.files)
    result = judged(machine, scope, site, bios=given.bios, measurements=measured.measurements, watch=watching.ended())
    return Audited(result, result.audit, measured, given)


def _of_topics(result: "Judgement", topics: Sequence[str]) -> "Audit":
    """Return the audit with the rules of some topics only, and the settings that those look at."""
    from advisor.judge.settings import settings_table
    from advisor.know.settings import settings

    kept = tuple(finding for finding in result.audit.findings if finding.topic in topics)
    rows = tuple(row for row in settings_table(result.case.standings or (), kept, settings()) if row.rules)
    return result.audit.model_copy(update={"findings": kept, "settings": rows})


@dataclass(frozen=True)
class _Part:
    """One thing to measure; ``seconds`` None where nobody can tell them beforehand."""

    name: str
    seconds: float | None
    run: "Callable[[], Measured]" = field(repr=False)


def measured_now(machine: "Machine", asked: MeasureNow, given: "Measurements | None", observer: Observer) -> Measuring:
    """Return what can be measured now, beside what is given; of what cannot the observer is told."""
    parts = tuple(_parts(machine, asked, observer))
    _announced(parts, observer, busy_ok=asked.busy_ok)
    found, interrupted = _run(parts, observer)
    if not found:
        return Measuring(given, interrupted=interrupted)
    from advisor.measure.run import merge_runs

    measurements = merge_runs([given, *found] if given else found)
    kept = _kept(measurements)
    return Measuring(measurements, (kept,) if kept else (), interrupted)


def _parts(machine: "Machine", asked: MeasureNow, observer: Observer) -> Iterator[_Part]:
    """Yield what to measure; a host that cannot be is refused, what is not here is reported."""
    from advisor.errors import CannotWork

    for made in (_own, _hpl, _network):
        try:
            part = made(machine, asked, observer)
        except CannotWork as error:
            observer.say(f"not measured: {error}")
        else:
            yield from [part] if part else []


def _own(machine: "Machine", asked: MeasureNow, observer: Observer) -> _Part | None:
    """Return the quick set, or everything."""
    from advisor.work.measure import MeasureOptions, measure, planned, wished

    if not asked.own:
        return None
    wish, how = wished("full" if asked.full else "quick"), MeasureOptions(asked.busy_ok)
    return _Part("bandwidth, latency and peak", planned(machine, wish).seconds, lambda: measure(machine, wish, how, observer))


def _hpl(machine: "Machine", asked: MeasureNow, observer: Observer) -> _Part | None:
    """Return HPL on this machine alone."""
    from advisor.work.hpl import measure
    from advisor.work.job.hosts import LauncherOptions
    from advisor.work.job.hpl import HplOptions, full_seconds, hpl_job

    if not (asked.hpl or asked.full):
        return None
    options = HplOptions(full=asked.full, busy_ok=asked.busy_ok)
    del machine  # read again, as one of the hosts
    made = hpl_job(_here(), LauncherOptions(), options, observer=observer)
    seconds = full_seconds(made) if asked.full else _HPL_SECONDS
    return _Part("HPL", seconds, lambda: measure(made, observer=observer))


def _here() -> "HostOptions":
    """Return this machine alone, in a job of several hosts too."""
    from advisor.work.job.allocation import of_job
    from advisor.work.job.hosts import HostOptions

    job = of_job(os.environ)
    return HostOptions(hosts=os.uname().nodename if job and len(job.names) > 1 else None)


def _network(machine: "Machine", asked: MeasureNow, observer: Observer) -> _Part | None:
    """Return messages to another host: one that is named, or the job's second."""
    from advisor.errors import BadValue, CannotWork
    from advisor.work.job.allocation import of_job
    from advisor.work.job.hosts import HostOptions, LauncherOptions
    from advisor.work.job.network import NetworkOptions, experiment, measure

    del machine  # each host's is read by its own rules
    job = of_job(os.environ) if asked.full else None
    if asked.network is None and not (job and len(job.names) > 1):
        if asked.full:
            raise CannotWork("messages between hosts, for no second host is known; name two with --network A,B")
        return None
    options = NetworkOptions(busy_ok=asked.busy_ok)
    made = experiment(HostOptions(hosts=asked.network), LauncherOptions(), options, observer=observer)
    names = made.job_hosts.hosts.names
    if len(names) != 2:
        raise BadValue(f"--network {asked.network} is one host", cure="name two: --network A,B")
    if not made.job_hosts.is_here:
        observer.say(f"neither {names[0]} nor {names[1]} is the name of this machine; both are taken to be like it")
    seconds = sum(made.task(leg, made.placement(leg)).seconds for leg in made.legs)
    return _Part(f"messages between {names[0]} and {names[1]}", seconds, lambda: measure(made, observer))


def _announced(parts: tuple[_Part, ...], observer: Observer, *, busy_ok: bool) -> None:
    """Say beforehand what will be measured, and how long it takes."""
    from advisor.render.measured.plan import seconds as lasting

    if not parts:
        return
    words = ", ".join(f"{part.name} for {_about(part)}" for part in parts)
    known = [part.seconds for part in parts if part.seconds is not None]
    whole = f", {lasting(sum(known))} in all" if 1 < len(parts) == len(known) else ""
    observer.say(f"measuring {words}{whole}{'' if busy_ok else ', if the machine is idle'}; --no-measure leaves it out")


def _about(part: _Part) -> str:
    from advisor.render.measured.plan import seconds as lasting

    return f"about {lasting(max(1.0, part.seconds))}" if part.seconds is not None else "as long as most of the memory takes"


def _run(parts: tuple[_Part, ...], observer: Observer) -> tuple[list["Measurements"], bool]:
    """Return what each part brought, and whether Ctrl-C ended it: the finished part is used."""
    from advisor.errors import AdvisorError

    found: list[Measurements] = []
    for number, part in enumerate(parts, 1):
        try:
            if number > 1:
                observer.say(f"{number}/{len(parts)}: {part.name}, {_about(part)}")
            done: Measured | None = part.run()
        except AdvisorError as error:
            observer.say(f"{part.name} not measured: {str(error).removeprefix('nothing was measured: ')}")
            continue
        except KeyboardInterrupt:
            done = None
        found += [done.measurements] if done else []
        if done is None or done.interrupted:
            observer.say("measuring was stopped; the finished part is used")
            return found, True
    return found, False


def _kept(measurements: "Measurements") -> Path | None:
    """Keep measurements beside the built kernels, where explain and checklist can be pointed to them."""
    from advisor.errors import AdvisorError
    from advisor.host.files import write_file
    from advisor.measure.build import cache_folder

    file = cache_folder(os.environ).parent / "measured.json"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(file, json.dumps(measurements.model_dump(mode="json")).encode())
    except (AdvisorError, OSError):
        return None
    return file
