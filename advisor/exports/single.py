"""Makes the report of a machine: audited, measured where that is asked, drawn, with its plan and the lines of its usual jobs."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from advisor import __version__
from advisor.advice.audit import Audience, Audited, MeasuresNow, Measuring, audit
from advisor.advice.audit_page.card import Asker
from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import TuningChecklist, checklist_of, complaint, template_of
from advisor.advice.judgement import must_be_rules, rule_named
from advisor.advice.know.vendors import publications
from advisor.advice.model.plan import TOOLS
from advisor.errors import AdvisorError, BadValue, CannotWork, must_be_one_of
from advisor.exports.page import LaunchLine, ReportContent, html_report, markdown_report
from advisor.jobs import bind
from advisor.jobs.launcher import title_of
from advisor.jobs.place import place
from advisor.jobs.racing.race import kept_race, read_journal
from advisor.jobs.started import benchmark as network
from advisor.jobs.started import hpl
from advisor.jobs.started.hosts import Allocated, HostOptions, JobHosts, JobOptions, LauncherOptions, of_job
from advisor.jobs.started.hosts import shape as job_shape
from advisor.jobs.started.hpl import HplOptions, full_seconds, hpl_job
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.source import read_json
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import json_data
from advisor.measure import task as measure
from advisor.measure.build import cache_folder
from advisor.measure.measurement import Measurements
from advisor.measure.page import seconds as lasting
from advisor.measure.platform import Scope
from advisor.measure.run import merge_runs
from advisor.show.commandline import word

REPORT_SCHEMA = "advisor-report/2"
"""The number rises when a key changes meaning or goes."""
_PAIRS = 12_000
"""So many round trips between cores, of 155 cores, fit into a document that --from reads; all of 384 do not."""
_ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".xml": "junit"}

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
    return (measured.but(results=kept) if many else measured).model_dump(mode="json")


REPORT_FORMS: tuple[ReportForm, ...] = ("html", "md", "json")
CONTRACT_FORMS: tuple[ReportForm, ...] = (*REPORT_FORMS, "junit")


def form_of(asked: str | None, output: Path | None, forms: Sequence[ReportForm] = REPORT_FORMS) -> ReportForm:
    """Return the format: as asked, else as the file's name ends; a page for a browser is not for a terminal."""
    name = asked or (_ENDINGS.get(output.suffix.lower()) if output is not None else None)
    if name is None and output is not None:
        raise BadValue(f"{output} is not a report format", cure="use .html, .md or .json, or choose a format with --as")
    if name is None:
        raise BadValue("a report needs a file", cure="name it with -o node.html, or print a ticket with --as md")
    named: dict[str, ReportForm] = {each: each for each in forms}
    return named[must_be_one_of("report format", name, named, f"available: {', '.join(named)}")]


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
    own = (name for name in TOOLS if complaint(name, template_of(name) or "", steps.vendor) is None)
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


_HPL_SECONDS = 60.0
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
            raise CannotWork("messages between hosts, because no second host is known; name two with --network A,B")
        return None
    options = network.NetworkOptions(busy_ok=asked.busy_ok)
    made = network.experiment(HostOptions(hosts=asked.network), LauncherOptions(), options, observer=observer)
    names = made.job_hosts.hosts.names
    if len(names) != 2:
        raise BadValue(f"--network {asked.network} is one host", cure="name two: --network A,B")
    if not made.job_hosts.is_here:
        observer.say(f"neither {names[0]} nor {names[1]} is the name of this machine; both are assumed to be identical to it")
    seconds = sum(made.task(leg, made.placement(leg)).seconds for leg in made.legs)
    return _Part(f"messages between {names[0]} and {names[1]}", seconds, lambda: network.measure(made, observer))


def _announced(parts: tuple[_Part, ...], observer: Observer, *, busy_ok: bool) -> None:
    """Say beforehand what will be measured, and how long it takes."""
    if not parts:
        return
    words = ", ".join(f"{part.name} for {_about(part)}" for part in parts)
    known = [part.seconds for part in parts if part.seconds is not None]
    whole = f", {lasting(sum(known))} in all" if 1 < len(parts) == len(known) else ""
    observer.say(f"measuring {words}{whole}{'' if busy_ok else ', if the machine is idle'}; --no-measure skips this")


def _about(part: _Part) -> str:

    return (
        f"about {lasting(max(1.0, part.seconds))}"
        if part.seconds is not None
        else "as long as a run that fills most of the memory"
    )


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
            observer.say("the measurement was interrupted; the results so far are used")
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
