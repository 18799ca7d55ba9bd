"""Makes the report of one machine: audited, drawn, measured, with its plan, and the lines that start its usual jobs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from advisor import __version__
from advisor.advice.audit import Audience, Audited, MeasuresNow, audit
from advisor.advice.audit_page.card import Asker
from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import TuningChecklist, checklist_of, complaint, template_of
from advisor.advice.judgement import rule_named
from advisor.advice.know.vendors import publications
from advisor.advice.rules import must_be_rules
from advisor.errors import AdvisorError, BadValue, must_be_one_of
from advisor.exports.page import LaunchLine, ReportContent, html_report, markdown_report
from advisor.jobs import bind
from advisor.jobs.launcher import title_of
from advisor.jobs.place import place
from advisor.jobs.racing.race import kept_race
from advisor.jobs.racing.runs import read_journal
from advisor.jobs.started.hosts import Allocated, JobHosts, JobOptions, LauncherOptions
from advisor.jobs.started.hosts import shape as job_shape
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.source import read_json
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import json_data
from advisor.measure.measurement import Measurements
from advisor.measure.platform import Scope
from advisor.show.commandline import word

REPORT_SCHEMA: Final = "advisor-report/2"
"""The number rises when a key changes meaning or goes."""
_PAIRS: Final = 12_000
"""So many round trips between cores, of 155 cores, fit into a document that --from reads; all of 384 do not."""
_ENDINGS: Final = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".xml": "junit"}
_TOOLS: Final = ("racadm", "ilorest", "onecli", "sum", "redfish")

ReportForm = Literal["html", "md", "json", "junit"]
"""A page for a browser, text for a ticket, a document that compare, audit and report read again."""


@dataclass(frozen=True)
class Report:
    """A report of one machine."""

    audited: Audited
    content: ReportContent

    def html(self) -> str:
        """Return one page: no script, no request, light, dark and for printing."""
        return html_report(self.content)

    def markdown(self) -> str:
        """Return the first page, the plan and the launch lines for a ticket."""
        return markdown_report(self.content)

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor report --as json``: the audit's, with measurements, plan and launch lines."""
        content, races = self.content, [page.result.model_dump(mode="json", by_alias=True) for page in self.content.races]
        return {
            **self.audited.document(),
            "schema": REPORT_SCHEMA,
            "advisor": content.version,
            "made": content.made,
            "for": content.audience,
            "withheld": content.withheld(),
            "measurements": _measurements(content.measurements) if content.measurements else None,
            "measured": None if content.measured is None else content.measured.model_dump(mode="json"),
            "plan": content.plan.model_dump(mode="json"),
            "launch": [{**line._asdict(), "notes": list(line.notes)} for line in content.launches],
            **({"races": races} if races else {}),
        }

    def text(self, form: ReportForm) -> str:
        """Return the report in a form."""
        if form == "json":
            return json.dumps(self.document(), indent=1, ensure_ascii=True) + "\n"
        return self.html() if form == "html" else self.markdown()


def _measurements(measured: Measurements) -> dict[str, Any]:
    """Return what is measured, without round trips where they are too many: the file of measurements has those."""
    kept = tuple(each for each in measured.results if each.purpose != "map")
    many = len(measured.results) - len(kept) > _PAIRS
    return (measured.model_copy(update={"results": kept}) if many else measured).model_dump(mode="json")


REPORT_FORMS: Final[tuple[ReportForm, ...]] = ("html", "md", "json")
CONTRACT_FORMS: Final[tuple[ReportForm, ...]] = (*REPORT_FORMS, "junit")


def form_of(asked: str | None, output: Path | None, forms: Sequence[ReportForm] = REPORT_FORMS) -> ReportForm:
    """Return the format: as asked, else as the file's name ends; a page for a browser is not for a terminal."""
    name = asked or (_ENDINGS.get(output.suffix.lower()) if output is not None else None)
    if name is None and output is not None:
        raise BadValue(f"{output} is not a report format", cure="take .html, .md or .json, or choose it with --as")
    if name is None:
        raise BadValue("a report is a file", cure="name it with -o node.html; --as md prints one for a ticket")
    named: dict[str, ReportForm] = {each: each for each in forms}
    return named[must_be_one_of("format of reports:", name, named, f"there are {', '.join(named)}")]


def report(
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    measure: MeasuresNow | None = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    tuned: Sequence[Path] = (),
    audience: Audience = "internal",
    observer: Observer = SILENT,
) -> Report:
    """Return the report of a machine; ``source`` None is this one. Nothing is measured unless ``measure`` says what.

    ``only`` keeps some findings, each by its number in the audit or its rule's id. ``again`` are the words
    with which a command line gives the same ``bios``. ``tuned`` are folders of advisor tune, whose races it shows.
    From a vendor or the public what names people, hosts and networks is withheld.
    """
    must_be_rules(site, only)
    for folder in tuned:
        read_journal(folder)  # what is none is refused before anything is measured
    files = tuple(measurements) or measurements_inside(source)
    audited = audit(
        source, scope, site=site, bios=bios, measurements=files, measure=measure, audience=audience, observer=observer
    )
    chosen = [rule_named(audited.judgement, name).id for name in only]
    for name in (name for name in chosen if name not in audited.numbers):
        raise BadValue(f"{name} found nothing on this machine", cure=f"see why: advisor explain {name}")
    given = () if isinstance(bios, BiosInput) else tuple(word for file in bios for word in ("--bios", str(file)))
    words = [*(("--from", source) if source is not None else ()), *(("--scope", scope) if scope != "mpi" else ())]
    words += [*(again or given), *(word for file in measurements for word in ("--measurements", str(file)))]
    content = _content(audited, words if audience == "internal" else (), chosen)  # paths of files name people
    races = tuple(kept_race(folder, audited.machine) for folder in tuned)
    return Report(audited, replace(content, audience=audience, races=races))


def measurements_inside(source: str | None) -> tuple[Path, ...]:
    """Return the file itself where it is a report, which holds its measurements."""
    data = json_data(source) if source is not None else None
    if source is None or data is None or REPORT_SCHEMA.encode() not in data[:200]:
        return ()
    found = read_json(data, "write it again with advisor report --as json")
    return (Path(source),) if isinstance(found, dict) and isinstance(found.get("measurements"), dict) else ()


def _content(audited: Audited, words: Sequence[str], only: Sequence[str]) -> ReportContent:
    """Return what the report of an audit is made of, with the plan and the launch lines."""
    judgement = audited.judgement
    steps = checklist_of(judgement, audited.given, only)
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


def _scripts(steps: TuningChecklist) -> Iterator[tuple[str, str]]:
    """Yield the plan as the lines of the vendor's own tool, and those of the operating system; nothing of an empty one."""
    own = (name for name in _TOOLS if complaint(name, template_of(name) or "", steps.vendor) is None)
    if steps.plan.writes and (name := next(own, None)) is not None:
        yield f"BIOS: {name}", steps.text(name)
    system = steps.plan.system
    if any(not each.done for each in system.by("sysctl")):
        yield "Operating system: sysctl", steps.text("sysctl")
    if system.options or system.unwanted:
        yield "Operating system: kernel command line", steps.text("kernel-cmdline")


def launch_lines(machine: Machine) -> Iterator[LaunchLine]:
    """Yield the commands for the usual shapes of a machine: one rank per core, L3 group, NUMA node, socket, GPU."""
    seen: set[str] = set()
    for shape, threads, options in _shapes(machine):
        name = shape if threads == 1 else f"{shape}, {threads} threads each"
        made = _launch(machine, name, JobOptions(**options, threads=threads))
        if made is not None and made.command not in seen:
            seen.add(made.command)
            yield made


def _shapes(machine: Machine) -> Iterator[tuple[str, int, dict[str, Any]]]:
    topology = machine.topology.inside if machine.topology else None
    if topology is None or not topology.cores:
        return
    parts = (
        ("core", "core", [core.cpuset for core in topology.cores]),
        ("l3", "L3 group", [cache.cpuset for cache in topology.l3]),
        ("numa", "NUMA node", [node.cpuset for node in topology.nodes if node.cpuset]),
        ("socket", "socket", [package.cpuset for package in topology.packages]),
    )
    alike: dict[frozenset[CpuSet], list[tuple[str, str]]] = {}
    for part, name, sets in parts:
        alike.setdefault(frozenset(sets), []).append((part, name))
    for own, kinds in alike.items():
        threads = min((sum(bool(core.cpuset & each) for core in topology.cores) for each in own), default=0)
        if threads:
            yield f"One rank per {' = '.join(name for _, name in kinds)}", threads, {"ranks_per": (kinds[0][0], 1)}
    if machine.gpus:
        number = len(machine.gpus)
        yield "One rank per GPU", max(1, len(topology.cores) // number), {"ranks_per_node": number, "strategy": "gpu-near"}


def _launch(machine: Machine, shape: str, options: JobOptions) -> LaunchLine | None:
    """Return one line; None where the machine cannot take such a job."""
    hosts, notes = JobHosts(Allocated(), (machine,)), list[str]()
    try:
        placement = place(job_shape(options, hosts, notes), hosts.machines, None)
        made = bind.carried(hosts, placement, LauncherOptions(), ("./app",), notes).launch
    except AdvisorError:
        return None
    words = [*(f"{name}={word(value)}" for name, value in sorted(made.environment.items())), *map(word, made.argv)]
    needs = (f"needs {', '.join(made.files)}, which advisor bind -o DIR -- ./app writes",) if made.files else ()
    return LaunchLine(shape, " ".join(words), title_of(made.launcher), (*needs, *placement.notes))
