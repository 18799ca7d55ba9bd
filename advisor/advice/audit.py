"""Audits a machine: reads it, measures what is asked for, judges it; explains one rule; withholds what no reader may see."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from advisor.advice.audit_page.card import Asker, missing_facts
from advisor.advice.audit_page.explain import Told
from advisor.advice.bios_files import BiosInput, bios_for
from advisor.advice.checklist import plan_of
from advisor.advice.judge.rule import settings_table
from advisor.advice.judgement import Judgement, explained, judged, must_be_known, must_be_rules, rule_named
from advisor.advice.know.benchmarks import BENCHES, bench_of
from advisor.advice.know.vendors import publications, settings
from advisor.advice.model.findings import Audit, Explanation, Finding, totals
from advisor.advice.model.plan import Plan
from advisor.advice.model.sheets import SEVERITIES, RuleText, Severity
from advisor.errors import AdvisorError
from advisor.machine.anonymise import AnonymousHost
from advisor.machine.fact import without_identities
from advisor.machine.fault_counters import Watch
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import CounterWatch, json_data, open_machine, read_machine
from advisor.machine.secrecy import WITHHELD
from advisor.machine.sources.registry import collect_machine, identities_of, public
from advisor.measure.measurement import Measurements
from advisor.measure.platform import Scope
from advisor.measure.task import measurements_from
from advisor.show.terminal import counts_document, layout_document

Audience = Literal["internal", "vendor", "public"]
"""internal: all but credentials; vendor: no people, hosts and networks; public: nothing that an anonymised capture drops."""


def told_to(audience: Audience, machine: Machine, source: str | None) -> Machine:
    """Return a machine as an audience may know it."""
    if audience == "internal":
        return machine
    if audience == "public" and (source is None or json_data(source) is None):
        host = open_machine(source)
        with suppress(AdvisorError):  # an hwloc XML may have nothing but what an anonymous one lacks
            machine = collect_machine(AnonymousHost(host, identities=identities_of(host), public=public()))
    return without_identities(machine)


def measured_for(audience: Audience, measurements: Measurements | None) -> Measurements | None:
    """Return measurements as an audience may know them: without hosts, and without who else worked there."""
    if audience == "internal" or measurements is None:
        return measurements
    named = measurements.machine.name
    conditions = measurements.conditions
    busy = (WITHHELD,) if conditions.busy else ()
    results = tuple(
        each.but(details={**each.details, "hosts_named": WITHHELD}) if "hosts_named" in each.details else each
        for each in measurements.results
    )
    return measurements.but(
        machine=measurements.machine.but(name=named and WITHHELD), conditions=conditions.but(busy=busy), results=results
    )


AUDIT_SCHEMA = "advisor-audit/2"
AUDIT_SCHEMA_1 = "advisor-audit/1"
"""Its ``findings`` were all verdicts; it is still read back."""
EXPLAIN_SCHEMA = "advisor-explain/1"
"""A number rises when a key changes meaning or goes."""


def audit_document(machine: Machine, layout: Layout, audit: Audit, watch: Watch | None = None) -> dict[str, Any]:
    """Return the document of ``advisor audit --json``: verdicts, settings, what could not be seen, and the whole machine.

    The counters of faults stand beside the machine, which holds nothing that changes by itself.
    """
    whole = machine.topology
    said = audit.model_dump(mode="json")
    return {
        "schema": AUDIT_SCHEMA,
        "name": machine.name,
        **{key: said[key] for key in ("scope", "platform", "platform_id", "vendor")},
        "totals": totals(audit).model_dump(mode="json"),
        "findings": [each.model_dump(mode="json") for each in audit.found],
        "verdicts": [each.model_dump(mode="json") for each in (*audit.found, *audit.others)],
        "settings": said["settings"],
        "doubts": said["doubts"],
        "unseen": [
            {
                "help": one.help,
                "facts": [{"why": why, "names": names} for why, names in one.facts.items()],
                "rules": list(one.rules),
            }
            for one in missing_facts(audit)
        ],
        "counts": counts_document(whole.inside if whole else None),
        "counts_whole": counts_document(whole),
        **layout_document(layout, whole),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "watch": None if watch is None else watch.model_dump(mode="json"),
        "machine": machine.model_dump(mode="json"),
    }


def explain_document(told: Explanation) -> dict[str, Any]:
    """Return the document of ``advisor explain --json``."""
    return {"schema": EXPLAIN_SCHEMA, **told.model_dump(mode="json")}


class MeasuresNow(Protocol):
    """Measures this machine before it is judged (advisor/exports/single.py)."""

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
        measured = Measuring(measurements_from(files, machine, observer), tuple(files))
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
    return result.audit.but(findings=kept, settings=rows)


_FIGURES = {
    "cut": ("triad",), "bandwidth": ("triad",), "distance": ("latency",), "compute": ("flops",), "hpl": ("hpl", "flops"),
    "messages": ("messages",), "preferred": ("messages",), "quick": ("triad", "latency", "flops"),
}  # fmt: skip
"""Benchmark -> the figures of the whole machine that it gives."""


@dataclass(frozen=True)
class Explained:
    """One rule on one machine: its verdicts with all that belongs to them, and how it came to them."""

    explanation: Explanation
    audited: Audited
    rule: RuleText
    subject: str | None = None
    """The only subject that is asked about; None for all."""

    @property
    def verdicts(self) -> tuple[Finding, ...]:
        """What the rule says of each subject."""
        told = (each for each in self.audited.audit.findings if each.id == self.rule.id)
        return tuple(each for each in told if self.subject in (None, each.subject))

    def told(self, asker: Asker) -> Told:
        """Return what its page is made of."""
        setting = next(iter(self.rule.set), None)
        bench = bench_of((self.rule.id,), setting, self.verdicts[0].where)
        return Told(
            rule=self.rule,
            verdicts=self.verdicts,
            explanation=self.explanation,
            audit=self.audited.judgement.audit,
            plan=self.audited.plan,
            publications=publications(),
            measured=self.audited.judgement.case.measured,
            asker=asker,
            number=self.audited.numbers.get(self.rule.id),
            benchmark=BENCHES[bench].command if bench else None,
            shows=_FIGURES.get(bench or "", ()),
        )

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor explain --json``."""
        return explain_document(self.explanation)


def explain_rule(
    rule: str,
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    subject: str | None = None,
    observer: Observer = SILENT,
) -> Explained:
    """Return what a rule, or that of a finding by its number, says of a machine, and how it came to that."""
    must_be_rules(site, [rule])
    found = judge_source(source, scope, site=site, bios=bios, files=measurements, observer=observer)
    asked = rule_named(found.judgement, rule)
    return Explained(explained(found.judgement, asked, subject), found, asked.text, subject)


def explain(
    rule: str,
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    subject: str | None = None,
    observer: Observer = SILENT,
) -> Explanation:
    """Return how a rule, or that of a finding by its number, came to its verdict: every value, and where it was read."""
    given: dict[str, Any] = {"site": site, "bios": bios, "measurements": measurements, "subject": subject, "observer": observer}
    return explain_rule(rule, source, scope, **given).explanation
