"""Audits a machine: reads it, measures what is asked for, judges it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from advisor.advice.audience import Audience, measured_for, told_to
from advisor.advice.bios_files import BiosInput, bios_for
from advisor.advice.checklist import plan_of
from advisor.advice.judge.scope import settings_table
from advisor.advice.judgement import Judgement, judged
from advisor.advice.know.settings import settings
from advisor.advice.model.findings import Audit
from advisor.advice.model.plan import Plan
from advisor.advice.model.rule import SEVERITIES, Severity
from advisor.advice.rules import must_be_known
from advisor.advice.schema import audit_document
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import CounterWatch, read_machine
from advisor.measure.measurement import Measurements
from advisor.measure.platform import Scope
from advisor.measure.task import measurements_from


class MeasuresNow(Protocol):
    """Measures this machine before it is judged (advisor/exports/measuring_now.py)."""

    @property
    def beside_files(self) -> bool:
        """Whether it measures what no file of measurements can stand in for."""

    def __call__(self, machine: Machine, given: Measurements | None, observer: Observer) -> "Measuring":
        """Return what can be measured now, beside what is given; of what cannot the observer is told."""


class Measuring(NamedTuple):
    """What was measured, and the files that keep it for the commands that follow; whether Ctrl-C ended it."""

    measurements: Measurements | None = None
    files: tuple[Path, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True)
class Audited:
    """An audit, what it was judged from, and what was measured for it."""

    judgement: Judgement
    audit: Audit
    measured: Measuring
    given: BiosInput = BiosInput()  # noqa: RUF009 - a frozen value
    """What --bios gave, with which files for tools are made."""

    @property
    def machine(self) -> Machine:
        """The machine as it was read."""
        return self.judgement.machine

    @cached_property
    def plan(self) -> Plan:
        """What files for tools would write here: that of ``advisor checklist`` for the same inputs."""
        return plan_of(self.judgement, self.given)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each rule that found something, by which every command takes it; topics renumber nothing."""
        return {own[0].id: number for number, own in enumerate(self.judgement.audit.by_rule, 1)}

    def reaches(self, severity: Severity) -> bool:
        """Return whether a finding is as severe as this, or worse."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return any(finding.severity in worst for finding in self.audit.found)

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor audit --json``."""
        return audit_document(self.machine, self.judgement.layout, self.audit, self.judgement.case.watch)


def audit(
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    measure: MeasuresNow | None = None,
    topics: Sequence[str] = (),
    audience: Audience = "internal",
    observer: Observer = SILENT,
) -> Audited:
    """Return what is wrong with a machine, what it costs and how to fix it; ``source`` None is this machine.

    Nothing is measured unless ``measure`` says what. ``topics`` keeps the rules of some topics, and the settings they look at.
    """
    if site or topics:  # before anything is measured
        must_be_known(site, topics)
    found = judge_source(
        source, scope, site=site, bios=bios, files=measurements, observer=observer, measure=measure, audience=audience
    )
    return replace(found, audit=_of_topics(found.judgement, topics)) if topics else found


def judge_source(
    source: str | None,
    scope: Scope,
    *,
    site: Sequence[Path],
    bios: Sequence[Path] | BiosInput,
    files: Sequence[Path],
    observer: Observer,
    measure: MeasuresNow | None = None,
    audience: Audience = "internal",
) -> Audited:
    """Read, measure and judge, with a look at the counters of faults before and after."""
    watching, machine = CounterWatch(source), read_machine(source, observer)
    given = bios_for(bios, machine, observer)
    measured = Measuring(None, tuple(files))
    if files:
        measured = Measuring(measurements_from(files, machine), tuple(files))
    if measure is not None and source is None and (not files or measure.beside_files):
        found = measure(machine, measured.measurements, observer)
        measured = found if found.files else found._replace(files=measured.files)
    if audience != "internal":
        measured = measured._replace(measurements=measured_for(audience, measured.measurements))
        machine = told_to(audience, machine, source)
    result = judged(machine, scope, site, bios=given.bios, measurements=measured.measurements, watch=watching.ended())
    return Audited(result, result.audit, measured, given)


def _of_topics(result: Judgement, topics: Sequence[str]) -> Audit:
    """Return the audit with the rules of some topics only, and the settings that those look at."""
    kept = tuple(finding for finding in result.audit.findings if finding.topic in topics)
    rows = tuple(row for row in settings_table(result.case.standings or (), kept, settings()) if row.rules)
    return result.audit.model_copy(update={"findings": kept, "settings": rows})
