"""Makes the report of one machine: audited, drawn, measured, with its plan and launch lines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from advisor import __version__
from advisor.errors import BadValue, must_be_one_of
from advisor.exports.reports.launches import launch_lines
from advisor.machine.observer import SILENT, Observer
from advisor.paths import template

if TYPE_CHECKING:
    from advisor.advice.audience import Audience
    from advisor.advice.audit import Audited, MeasuresNow
    from advisor.advice.bios_files import BiosInput
    from advisor.advice.checklist import TuningChecklist
    from advisor.exports.report.content import ReportContent, Script
    from advisor.jobs.pages.tune import RacePage
    from advisor.machine.machine import Machine
    from advisor.measure.platform import Scope

ReportForm = Literal["html", "md", "json"]
"""A page for a browser, text for a ticket, a document that diff, audit and report read again."""


@dataclass(frozen=True)
class Report:
    """A report of one machine."""

    audited: "Audited"
    content: "ReportContent"

    def html(self) -> str:
        """Return one page: no script, no request, light, dark and for printing."""
        from advisor.exports.report.page import html_report

        return html_report(self.content, template("report/report.html.j2"), template("report/style.css"))

    def markdown(self) -> str:
        """Return the first page, the plan and the launch lines for a ticket."""
        from advisor.exports.report.page import markdown_report

        return markdown_report(self.content, template("report/report.md.j2"))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor report --as json``: the audit's, with measurements, plan and launch lines."""
        from advisor.exports.report.document import report_document

        return report_document(self.audited.document(), self.content)

    def text(self, form: ReportForm) -> str:
        """Return the report in a form."""
        if form == "json":
            return json.dumps(self.document(), indent=1, ensure_ascii=True) + "\n"
        return self.html() if form == "html" else self.markdown()


_ENDINGS: Final = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


def form_of(asked: str | None, output: Path | None) -> ReportForm:
    """Return the format: as asked, else as the file's name ends; a page for a browser is not for a terminal."""
    name = asked or (_ENDINGS.get(output.suffix.lower()) if output is not None else None)
    if name is None and output is not None:
        raise BadValue(f"{output} ends as no report does", cure="take .html, .md or .json, or say which with --as")
    if name is None:
        raise BadValue("a report is a file", cure="name it with -o node.html; --as md prints one for a ticket")
    found: ReportForm = "html" if name == "html" else "md" if name == "md" else "json"
    must_be_one_of("format of reports:", name, ("html", "md", "json"), "there are html, md, json")
    return found


def report(
    source: str | None = None,
    scope: "Scope" = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: "Sequence[Path] | BiosInput" = (),
    measurements: Sequence[Path] = (),
    measure: "MeasuresNow | None" = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    tuned: Sequence[Path] = (),
    audience: "Audience" = "internal",
    observer: Observer = SILENT,
) -> Report:
    """Return the report of a machine; ``source`` None is this one. Nothing is measured unless ``measure`` says what.

    ``only`` keeps some findings, each by its number in the audit or its rule's id. ``again`` are the words
    with which a command line gives the same ``bios``. ``tuned`` are folders of advisor tune, whose races it shows.
    From a vendor or the public what names people, hosts and networks is withheld.
    """
    from advisor.advice.audit import audit
    from advisor.advice.judgement import rule_named
    from advisor.advice.rules import must_be_rules
    from advisor.jobs.racing.runs import read_journal

    must_be_rules(site, only)
    for folder in tuned:
        read_journal(folder)  # what is none is refused before anything is measured
    files = tuple(measurements) or _inside(source)
    audited = audit(
        source, scope, site=site, bios=bios, measurements=files, measure=measure, audience=audience, observer=observer
    )
    chosen = [rule_named(audited.judgement, name).id for name in only]
    for name in (name for name in chosen if name not in audited.numbers):
        raise BadValue(f"{name} found nothing on this machine", cure=f"see why: advisor explain {name}")
    content = content_of(audited, source, again or _named(bios), tuple(measurements), chosen)
    if audience != "internal":  # paths of files name people
        content = replace(content, audience=audience, asker=content.asker._replace(words=()))
    return Report(audited, replace(content, races=tuple(_races(tuned, audited.machine))))


def _races(folders: Sequence[Path], machine: "Machine") -> "Iterator[RacePage]":
    for folder in folders:
        from advisor.jobs.racing.task import kept_race

        yield kept_race(folder, machine)


def _named(bios: "Sequence[Path] | BiosInput") -> tuple[str, ...]:
    """Return the options that give the same files again."""
    from advisor.advice.bios_files import BiosInput

    return () if isinstance(bios, BiosInput) else tuple(word for file in bios for word in ("--bios", str(file)))


def _inside(source: str | None) -> tuple[Path, ...]:
    """Return the file itself where it is a report, which holds its measurements."""
    from advisor.exports.report.content import REPORT_SCHEMA
    from advisor.machine.hosts.source import read_json
    from advisor.machine.read import json_data

    data = json_data(source) if source is not None else None
    if source is None or data is None or REPORT_SCHEMA.encode() not in data[:200]:
        return ()
    found = read_json(data, "write it again with advisor report --as json")
    return (Path(source),) if isinstance(found, dict) and isinstance(found.get("measurements"), dict) else ()


def content_of(
    audited: "Audited", source: str | None, again: Sequence[str], given: tuple[Path, ...], only: Sequence[str] = ()
) -> "ReportContent":
    """Return what the report of an audit is made of, with the plan and the launch lines."""
    from advisor.advice.audit_page.findings import Asker
    from advisor.advice.checklist import checklist_of
    from advisor.advice.know.vendors import publications
    from advisor.exports.report.content import ReportContent

    judgement, scope = audited.judgement, audited.audit.scope
    steps = checklist_of(judgement, audited.given, only)
    words = [*(("--from", source) if source is not None else ()), *(("--scope", scope) if scope != "mpi" else ())]
    words += [*again, *(word for file in given for word in ("--measurements", str(file)))]
    return ReportContent(
        machine=audited.machine,
        layout=judgement.layout,
        audit=audited.audit,
        measured=judgement.case.measured,
        measurements=audited.measured.measurements,
        plan=steps.plan,
        vendor=steps.vendor.name,
        scripts=tuple(_scripts(steps)),
        launches=tuple(launch_lines(audited.machine)),
        publications=publications(),
        asker=Asker(tuple(words), bios=audited.given.bios is not None),
        version=__version__,
        only=frozenset(only),
        made=datetime.now().astimezone().strftime("%d %b %Y %H:%M %Z"),
    )


_TOOLS: Final = ("racadm", "ilorest", "onecli", "sum", "redfish")
_SYSTEM: Final = {"sysctl": "sysctl", "kernel-cmdline": "kernel command line"}


def _scripts(steps: "TuningChecklist") -> "Iterator[Script]":
    """Yield the plan as the lines of the vendor's own tool, and those of the operating system; nothing of an empty one."""
    from advisor.advice.checklist import complaint, template_of
    from advisor.exports.report.content import Script

    if steps.plan.writes:
        own = (name for name in _TOOLS if complaint(name, template_of(name) or "", steps.vendor) is None)
        name = next(own, None)
        if name is not None:
            yield Script(f"BIOS: {name}", steps.text(name))
    system = steps.plan.system
    there = {
        "sysctl": [each for each in system.by("sysctl") if not each.done],
        "kernel-cmdline": system.options or system.unwanted,
    }
    for form, title in _SYSTEM.items():
        if there[form]:
            yield Script(f"Operating system: {title}", steps.text(form))
