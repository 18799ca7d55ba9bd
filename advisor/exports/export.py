"""What ``advisor export`` writes: a machine or a fleet in the words of another program; each format is a module of ``exports``.

A module of that folder, which names the format (- for _), has::

    TITLE = "JUnit XML: ..."            # one line for --list
    ORDER = 30                          # where it stands there
    PROVEN = "xmllint 2.9.14"           # the tool and version that took what it writes
    TAKES = ("machine", "fleet")        # what it can be made of; ("machine",) unless it says so; () of nothing
    INCLUDES = {"identity": "..."}      # the words of --include that it knows, none unless it says so
    COMMENT = "#"                       # what a comment begins with, where its files may be printed below each other

    def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]: ...
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from pydantic import ValidationError

from advisor import __version__
from advisor.advice.audit import AUDIT_SCHEMA, AUDIT_SCHEMA_1, audit, explain_document
from advisor.advice.audit_page.card import Outcome, head_of
from advisor.advice.compare import WhatIf, before_after_document, difference_document, whatif_document
from advisor.advice.model.findings import Audit, Difference, Explanation, worst_verdicts
from advisor.advice.model.sheets import Verdict
from advisor.errors import AdvisorError, BadInput, BadValue, must_be_one_of
from advisor.fleet.audit import AuditedFleet, audit_fleet, file_of_node
from advisor.fleet.fleet import ANSWERS, CAPTURE_SUFFIX, Fleet, Kind
from advisor.fleet.golden import golden_in, golden_kinds, is_golden
from advisor.fleet.kinds import deviants
from advisor.jobs.bind_page import lint_document
from advisor.jobs.observe import Comparison
from advisor.jobs.placement import Lint
from advisor.jobs.started.folder import File, write_folder
from advisor.jobs.verdict import comparison_document
from advisor.machine.hosts.capture import CaptureHost
from advisor.machine.hosts.errands import expanded
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.source import read_json
from advisor.machine.jinja import about, fill, template_files, template_text
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import json_data, open_machine, read_machine
from advisor.machine.units import plain
from advisor.machine.value import Value
from advisor.measure.measurement import BeforeAfter, Measurements, Purpose, Result, Unit
from advisor.measure.platform import Scope

Takes = Literal["machine", "fleet", "kinds", "alike", "golden"]
"""A machine that was audited; a fleet's screen; the same with the machine of a node of each kind of hardware, or with one for
all nodes whose facts are the same; ``golden``: nothing, or a golden file (one of those two takes such a file, too)."""

OWN = "your own template"
"""What stands under PROVEN of a site's template."""
_FOLDER = Path(__file__).parent / "formats"
_LAST = 1000
"""Where a site's own templates stand: after ours."""


@dataclass(frozen=True)
class ExportSubject:
    """What is exported: one machine with its audit and what was measured on it, or a fleet."""

    machine: Machine | None = None
    layout: Layout | None = None
    audit: Audit | None = None
    measurements: Measurements | None = None
    read: float | None = None
    """When the machine was read, in seconds of Unix; None if nobody knows."""
    fleet: Fleet | None = None
    kinds: Mapping[str, Machine] = field(default_factory=dict)
    """Of a fleet: the name of a kind -> the machine of its first node that is like the rest; for formats that take kinds."""
    alike: tuple[tuple[tuple[str, ...], Machine], ...] = ()
    """Of a fleet: nodes whose facts are the same, and the machine of the first; for formats that take alike."""

    def audited(self) -> tuple[Machine, Audit]:
        """Return the machine and its audit; refuse a fleet."""
        if self.machine is None or self.audit is None:
            raise BadValue("this format describes one machine", cure="give the capture of one machine with --from")
        return self.machine, self.audit

    def machines(self) -> Iterator[tuple[Kind | None, Machine]]:
        """Yield the machine, of no kind, or one machine for each kind of the fleet."""
        if self.machine is not None:
            yield None, self.machine
        for kind in self.fleet.kinds if self.fleet else ():
            yield kind, self.kinds[kind.name]


@dataclass(frozen=True)
class ExportOptions:
    """What the command line asks of a format."""

    version: str
    """Of advisor, for a comment."""
    made: float
    """When it is exported, in seconds of Unix."""
    prefix: str = "advisor"
    """What names in the other program begin with: metrics, groups, suites."""
    include: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExportFormat:
    """A format, whether a module or a site's template makes it."""

    name: str
    title: str
    order: int
    proven: str
    files: Callable[[ExportSubject, ExportOptions], Mapping[str, str]]
    takes: tuple[Takes, ...] = ("machine",)
    includes: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


@cache
def built_in() -> Mapping[str, ExportFormat]:
    """Return the formats of the folder by name, in their order."""
    found = sorted((_loaded(info.name) for info in iter_modules([str(_FOLDER)])), key=lambda each: (each.order, each.name))
    return {each.name: each for each in found}


def of_template(name: str, text: str, file: str) -> ExportFormat:
    """Return the format that a site's template makes; its first line says what it is."""
    head = about(text)

    def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
        if head.wrong:
            raise BadInput(head.wrong, file=file, place="line 1", cure="see docs/adding.md")
        given = {
            part: getattr(subject, part) for part in ("machine", "layout", "audit", "measurements", "read", "fleet", "kinds")
        }
        return {name: fill(text, {**given, "version": options.version, "prefix": options.prefix}, file)}

    summary = head.wrong or head.summary or "its first line must describe it"
    return ExportFormat(name, summary, _LAST, OWN, files, ("machine", "kinds"))


_SAID = {"machine": "a machine", "golden": "a golden file"}


def listing(formats: Iterable[ExportFormat]) -> str:
    """Return the formats, a line each with what it is, and below it what it was proven with."""
    rows = list(formats)
    wide = max((len(each.name) for each in rows), default=0)
    lines = []
    for each in rows:
        lines.append(f"{each.name:<{wide}}  {plain(each.title, 160)}")
        of = " or ".join(dict.fromkeys(_SAID.get(take, "a fleet") for take in each.takes))
        lines.append(f"{'':<{wide}}  {f'for {of}; ' if of else ''}tested with: {each.proven}")
        lines += [f"{'':<{wide}}  --include {word}: {what}" for word, what in each.includes.items()]
    return "".join(f"{line}\n" for line in lines)


def _loaded(module: str) -> ExportFormat:
    """Return the format of a module of the folder, which has the module's name."""
    parts: Any = import_module(f"{__package__}.formats.{module}")
    return ExportFormat(
        module.replace("_", "-"),
        parts.TITLE,
        parts.ORDER,
        parts.PROVEN,
        parts.files,
        getattr(parts, "TAKES", ("machine",)),
        getattr(parts, "INCLUDES", {}),
        getattr(parts, "COMMENT", None),
    )


Labels = tuple[tuple[str, str], ...]

_LONGEST = 200
"""Letters of a label's value."""
_OWN = (None, "local", "spread")
"""Distances at which a part uses the memory that is its own."""
_WHOLE = ("machine", "socket", "numa")
"""Parts whose figures are exported: single cores and L3 groups would be a series each."""


@dataclass(frozen=True)
class Family:
    """A metric with all its samples."""

    name: str
    help: str
    samples: tuple[tuple[Labels, float], ...]


def families(subject: ExportSubject, options: ExportOptions) -> tuple[Family, ...]:
    """Return the families that have samples, of which none has the labels of another: node_exporter complains of such."""
    made = _of_fleet(subject.fleet) if subject.fleet is not None else _of_machine(*subject.audited(), subject)
    result = []
    for each in (*made, *_about(subject, options)):
        samples: dict[Labels, float] = {}
        for labels, value in each.samples:
            samples.setdefault(labels, value)
        if samples:
            result.append(Family(f"{options.prefix}_{each.name}", each.help, tuple(samples.items())))
    return tuple(result)


def _labels(**values: object) -> Labels:
    """Return labels; what is None is none, as Prometheus has it."""
    return tuple((name, plain(str(value), _LONGEST)) for name, value in values.items() if value is not None)


def _of_machine(machine: Machine, audit: Audit, subject: ExportSubject) -> Iterator[Family]:
    found = tuple((_labels(rule=each.id, object=each.subject, severity=each.severity), 1.0) for each in audit.found)
    yield Family("finding", "1 if a rule has a finding, by rule, object and severity.", found)
    verdicts = Counter(worst_verdicts(audit).values())
    counted = tuple((_labels(verdict=name), float(verdicts[name])) for name in get_args(Verdict))
    yield Family("verdicts", "Rules by verdict in the last audit; each rule counts once, with its worst verdict.", counted)
    outcome = head_of(audit).outcome
    heads = tuple((_labels(outcome=name), float(name == outcome)) for name in get_args(Outcome))
    yield Family("outcome", "1 for the audit's result, as in its first line; outcome=nothing means nothing to fix.", heads)
    topology = machine.topology
    nodes = tuple(
        (_labels(socket=at), float(sum(node.cpuset <= package.cpuset for node in topology.cpu_nodes)))
        for at, package in enumerate(topology.packages)
    ) if topology is not None and topology.numa_known else ()  # fmt: skip
    yield Family("numa_nodes", "NUMA nodes with CPUs per socket, as reported by the kernel.", nodes)
    figures = (
        ("memory_bandwidth_bytes_per_second", "Best measured median of STREAM triad, in bytes per second.", TRIAD),
        ("memory_latency_seconds", "Measured median latency of local memory, in seconds.", LATENCY),
        ("hpl_flops_per_second", "Measured median of HPL, in floating-point operations per second.", HPL),
    )
    for name, text, figure in figures if subject.measurements is not None else ():
        best = best_results(subject.measurements, figure) if subject.measurements else {}  # of whole parts, believed
        yield Family(name, text, tuple((_labels(per=part, index=at), each.median) for (part, at), each in sorted(best.items())))


class Figure(NamedTuple):
    """Which results are one figure of a part."""

    purpose: Purpose
    unit: Unit
    variant: str = ""
    """What the variant begins with."""


TRIAD = Figure("part", "bytes/s", "triad")
LATENCY = Figure("part", "seconds")
HPL = Figure("hpl", "flop/s")


def best_results(measurements: Measurements, figure: Figure) -> dict[tuple[str, int], Result]:
    """Return the believed result of each whole part that is best by its median, of its own memory."""
    best: dict[tuple[str, int], Result] = {}
    for each in measurements.of(figure.purpose, figure.unit):
        if each.part not in _WHOLE or each.distance not in _OWN or not each.variant.startswith(figure.variant):
            continue
        key = each.part, each.index or 0
        kept = best.get(key)
        if kept is None or (each.median < kept.median if each.unit == "seconds" else each.median > kept.median):
            best[key] = each
    return best


def _of_fleet(fleet: Fleet) -> Iterator[Family]:
    nodes = ((_labels(state="asked"), float(fleet.asked)), (_labels(state="answered"), float(fleet.answered)))
    yield Family("fleet_nodes", "Nodes of the fleet by state: asked, answered.", nodes)
    kinds = tuple((_labels(kind=each.name), float(each.count)) for each in fleet.kinds)
    yield Family("fleet_kind_nodes", "Nodes per kind of hardware, largest kind first.", kinds)
    incidents = tuple(
        (_labels(node=node, rule=each.rule, severity=each.severity, action=each.action, kind=each.kind or None), 1.0)
        for each in fleet.incidents
        if each.action != "ignore" and each.nodes
        for node in expanded(each.nodes)
    )
    about = "1 if a node has an incident, by rule or fact, severity, action and kind of hardware."
    yield Family("finding", about, incidents)
    wrong = tuple((_labels(rule=w.rule, severity=w.severity, kind=w.kind), float(w.count)) for w in fleet.wrong)
    about = "Nodes with a finding, by rule, severity and kind of hardware."
    yield Family("fleet_finding_nodes", about, wrong)
    drift: Counter[tuple[str, str]] = Counter()  # several values of one fact are one sample
    for each in fleet.drift:
        drift[each.fact, each.kind] += each.count
    drifted = tuple((_labels(fact=fact, kind=kind), float(count)) for (fact, kind), count in drift.items())
    yield Family("fleet_drift_nodes", "Nodes that differ in a fact from the rest of their kind.", drifted)
    slow = Counter((each.figure, each.kind) for each in fleet.slow)
    rows = tuple((_labels(figure=figure, kind=kind), float(count)) for (figure, kind), count in slow.items())
    yield Family("fleet_slow_nodes", "Nodes with a figure far below those of similar nodes.", rows)


def _about(subject: ExportSubject, options: ExportOptions) -> Iterator[Family]:
    """Yield when the machine was read, and the family whose labels are words: version, platform, partitioning."""
    read = () if subject.read is None else (((), float(round(subject.read))),)
    yield Family("last_audit_timestamp_seconds", "When the last audited machine was read.", read)
    audit, layout = subject.audit, subject.layout
    scope, platform = (audit.scope, audit.platform_id) if audit else (None, None)
    cut = layout.cut.name if layout else None
    words = _labels(version=options.version, scope=scope, platform=platform, partitioning=cut)
    yield Family("build_info", "Always 1; labels: version of advisor, detected machine.", ((words, 1.0),))


TEMPLATES = "export"
"""The folder of a site's own formats among its templates."""
_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,30}", re.ASCII)
_CURE = "write it again with advisor audit --json"


@dataclass(frozen=True)
class Exported:
    """The files of a format, by name."""

    format: str
    files: Mapping[str, str]
    comment: str | None = None
    """What a comment begins with, where several files may stand below each other on a screen."""

    @property
    def text(self) -> str:
        """Return the only file, or several of a format with comments, each named; refuse others."""
        if len(self.files) > 1 and self.comment:
            first, *others = self.files.items()
            return first[1] + "".join(f"\n{self.comment} {name}\n{text}" for name, text in others)
        if len(self.files) > 1:
            names = ", ".join(self.files)
            raise BadValue(f"{self.format} is {len(self.files)} files: {names}", cure="name a folder with -o DIR")
        return next(iter(self.files.values()))

    def write(self, place: Path) -> tuple[str, ...]:
        """Write the one file there, or all of them into a folder, what begins with #! as a program; return the paths."""
        several = len(self.files) > 1 or place.is_dir()
        if not several and not self.text.startswith("#!"):
            write_file(place, self.text.encode())  # whole or not at all: node_exporter may read it meanwhile
            return (str(place),)
        folder, names = (place, tuple(self.files)) if several else (place.parent, (place.name,))
        texts = zip(names, self.files.values(), strict=True)
        return write_folder(
            folder, {name: File(text.removesuffix("\n").split("\n"), text.startswith("#!")) for name, text in texts}
        )


def formats() -> Mapping[str, ExportFormat]:
    """Return every format by name: ours, and a site's templates, which may not take the name of one of ours."""
    ours = built_in()
    own = {name: path for name, path in template_files(TEMPLATES).items() if name not in ours}
    return {**ours, **{name: of_template(name, template_text(path), str(path)) for name, path in own.items()}}


def export_format(name: str) -> ExportFormat:
    """Return the format of a name; refuse one that is none."""
    known = formats()
    return known[must_be_one_of("export", name, known, f"available: {', '.join(known)}")]


def export(
    name: str,
    source: str | None = None,
    scope: Scope | None = None,
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    prefix: str = "advisor",
    include: Sequence[str] = (),
    observer: Observer = SILENT,
) -> Exported:
    """Return the files of a format: of this machine, a capture, an hwloc XML, a saved audit, or a fleet's folder.

    A saved audit (advisor audit --json) is exported as it was, unless something is given that it was not judged by.
    """
    made = export_format(name)
    for word in include:
        known = made.includes
        must_be_one_of("--include value", word, known, f"available: {', '.join(known)}" if known else f"{name} has none")
    if not _PREFIX.fullmatch(prefix):
        raise BadValue(
            f"--prefix {prefix[:40]!a} is not a valid prefix", cure="use lower-case letters, digits and _: advisor, site_a"
        )
    if source is not None and is_golden(Path(source)):
        subject = _golden(made, Path(source))
    elif "machine" not in made.takes and "fleet" not in made.takes:
        if source is not None:
            raise BadValue(f"{name} cannot be made from a machine", cure="leave out --from, or name a golden file")
        subject = ExportSubject()
    elif source is not None and is_fleet(Path(source)):
        if made.takes == ("machine",):
            raise BadValue(
                f"{name} cannot be made from a fleet", cure=f"name one node's capture: --from {Path(source)}/NODE{CAPTURE_SUFFIX}"
            )
        subject = _fleet(made, Path(source), scope or "mpi", site, observer)
    elif "machine" not in made.takes:
        raise BadValue(
            f"{name} cannot be made from one machine", cure="specify a fleet's folder with --from (see advisor fleet capture)"
        )
    elif source is not None and not (scope or site or bios or measurements) and (kept := saved_audit(source)) is not None:
        machine = read_machine(source, observer)
        subject = ExportSubject(machine, infer_layout(machine), kept, None, read_at(source))
    else:
        found = audit(source, scope or "mpi", site=site, bios=bios, measurements=measurements, observer=observer)
        layout, measured = found.judgement.layout, found.measured.measurements
        subject = ExportSubject(found.machine, layout, found.audit, measured, read_at(source))
    options = ExportOptions(__version__, time.time(), prefix, frozenset(include))
    return Exported(name, made.files(subject, options), made.comment)


def is_fleet(place: Path) -> bool:
    """Return whether a path is a fleet's folder: what fleet capture wrote, or captures beside each other."""
    return place.is_dir() and ((place / ANSWERS).is_file() or any(place.glob(f"*{CAPTURE_SUFFIX}")))


def _fleet(made: ExportFormat, place: Path, scope: Scope, site: Sequence[Path], observer: Observer) -> ExportSubject:
    """Return a fleet, with a machine of each kind, or of all that are alike, where the format takes them."""
    found = audit_fleet([place], scope, site=site, observer=observer)
    fleet, kinds, odd = found.fleet, {}, deviants(found.fleet)
    for kind in fleet.kinds if "kinds" in made.takes else ():
        kinds[kind.name] = _machine_of(found, usual_node(kind.nodes, odd), observer)
    alike = _usual(found, odd, observer) if "alike" in made.takes else ()
    return ExportSubject(fleet=fleet, kinds=kinds, alike=alike, read=_seconds(fleet.ended))


def _golden(made: ExportFormat, file: Path) -> ExportSubject:
    """Return the kinds of a golden file as a fleet; no node's state is in it."""
    if not {"alike", "kinds", "golden"} & {*made.takes}:
        raise BadValue(f"{made.name} cannot be made from a golden file", cure="name a folder of captures, or one capture")
    kinds, machines = golden_kinds(golden_in(file), file)
    alike = tuple((expanded(kind.nodes), machines[kind.name]) for kind in kinds)
    return ExportSubject(fleet=Fleet(asked=0, answered=0, kinds=kinds), kinds=machines, alike=alike)


def _usual(found: AuditedFleet, odd: frozenset[str], observer: Observer) -> tuple[tuple[tuple[str, ...], Machine], ...]:
    """Return the nodes of each kind, of one that a fact divides each side, with the machine of one that is as most of them."""
    sides: dict[str, list[str]] = {}
    for each in found.fleet.split:
        for side in each.populations[1:]:
            for name in expanded(side.nodes):
                sides.setdefault(name, []).append(f"{each.fact} {side.value}")
    groups: dict[tuple[str, ...], list[str]] = {}
    for kind in found.fleet.kinds:
        for name in expanded(kind.nodes):
            groups.setdefault((kind.name, *sides.get(name, ())), []).append(name)
    return tuple((tuple(names), _machine_of(found, _most(names, found, odd, sides), observer)) for names in groups.values())


def _most(names: Sequence[str], found: AuditedFleet, odd: frozenset[str], sides: Collection[str]) -> str:
    """Return a node that is as most of some: of which nothing is odd, else whose facts most have."""
    alike = Counter(found.read.records[name].digest for name in names)
    return min(names, key=lambda name: (name in odd and name not in sides, -alike[found.read.records[name].digest]))


def _machine_of(found: AuditedFleet, node: str, observer: Observer) -> Machine:
    return read_machine(str(file_of_node(found.asked, node)), observer)


def nodes_alike(place: Path, observer: Observer = SILENT) -> tuple[tuple[tuple[str, ...], Machine], ...]:
    """Return the nodes of a fleet's folder that have the same facts, with the machine of the first: each is read once."""
    return _alike(audit_fleet([place], observer=observer), observer)


def _alike(found: AuditedFleet, observer: Observer) -> tuple[tuple[tuple[str, ...], Machine], ...]:
    nodes: dict[str, list[str]] = {}
    for node, record in found.read.records.items():
        if record.digest is not None:
            nodes.setdefault(record.digest, []).append(node)
    return tuple((tuple(names), _machine_of(found, names[0], observer)) for names in nodes.values())


def usual_node(nodes: str, odd: Collection[str]) -> str:
    """Return the first of a kind's nodes that is not among the odd ones; the first where all are.

    >>> usual_node("n[1-3]", ("n1", "n7")), usual_node("n[1-3]", ("n1", "n2", "n3"))
    ('n2', 'n1')
    """
    names = expanded(nodes)
    return next((name for name in names if name not in odd), names[0])


def saved_audit(source: str) -> Audit | None:
    """Return the audit that a document of ``advisor audit --json`` holds; None of what is no such document."""
    data = json_data(source)
    try:
        found = None if data is None else read_json(data, _CURE)
    except BadInput as error:
        raise error.within(source) from error
    if not isinstance(found, dict):
        return None
    if found.get("schema") not in (AUDIT_SCHEMA, AUDIT_SCHEMA_1):
        return None
    try:
        kept: dict[str, Any] = {key: found[key] for key in ("scope", "platform", "platform_id", "vendor", "settings")}
        verdicts = found["verdicts" if found["schema"] == AUDIT_SCHEMA else "findings"]
        return Audit.model_validate({**kept, "findings": verdicts, "unseen": found.get("gaps", ())})
    except (ValidationError, KeyError) as error:
        raise BadInput("not an audit that this version of advisor can read", file=source, cure=_CURE) from error


def read_at(source: str | None) -> float | None:
    """Return when a machine was read, in seconds of Unix: now, as its capture says, or when its JSON was written."""
    if source is None:
        return time.time()
    if json_data(source) is not None:
        return Path(source).stat().st_mtime
    try:
        host = open_machine(source)
    except AdvisorError:
        return None
    return _seconds(host.about.get("time")) if isinstance(host, CaptureHost) else None


def _seconds(text: str | None) -> float | None:
    """Return the seconds of Unix of 2026-01-31T06:10:00Z; None of what is no time."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


@runtime_checkable
class _Documented(Protocol):
    def document(self) -> dict[str, Any]: ...


def document(value: object) -> dict[str, Any]:
    """Return a task's value as plain JSON values: the document that the command prints with --json (docs/json.md)."""
    match value:
        case _Documented():
            return value.document()
        case Difference():
            return difference_document(value)
        case Explanation():
            return explain_document(value)
        case Lint():
            return lint_document(value)
        case Comparison():
            return comparison_document(value)
        case WhatIf():
            return whatif_document(value)
        case BeforeAfter():
            return before_after_document(value)
        case Value():
            return value.model_dump(mode="json")
        case _:
            raise TypeError(f"{type(value).__name__} is not a type that a task returns")
