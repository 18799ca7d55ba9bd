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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, Literal, NamedTuple, get_args

from advisor.advice.audit_page.card import Outcome, head_of
from advisor.advice.model.findings import Audit, worst_verdicts
from advisor.advice.model.sheets import Verdict
from advisor.errors import BadInput, BadValue
from advisor.fleet.fleet import Fleet, Kind
from advisor.machine.hosts.errands import expanded
from advisor.machine.jinja import about, fill
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import plain
from advisor.measure.measurement import Measurements, Purpose, Result, Unit

Takes = Literal["machine", "fleet", "kinds", "alike", "golden"]
"""A machine that was audited; a fleet's screen; the same with the machine of a node of each kind of hardware, or with one for
all nodes whose facts are the same; ``golden``: nothing, or a golden file (one of those two takes such a file, too)."""

OWN: Final = "a template of your own"
"""What stands under PROVEN of a site's template."""
_FOLDER: Final = Path(__file__).parent / "formats"
_LAST: Final = 1000
"""Where a site's own templates stand: after ours."""


@dataclass(frozen=True)
class ExportSubject:
    """What is exported: one machine with its audit and what was measured on it, or a fleet."""

    machine: Machine | None = None
    layout: Layout | None = None
    audit: Audit | None = None
    measurements: Measurements | None = None
    read: float | None = None
    """When the machine was read, in seconds of Unix; None where nobody knows."""
    fleet: Fleet | None = None
    kinds: Mapping[str, Machine] = field(default_factory=dict)
    """Of a fleet: the name of a kind -> the machine of its first node that is like the rest; for formats that take kinds."""
    alike: tuple[tuple[tuple[str, ...], Machine], ...] = ()
    """Of a fleet: nodes whose facts are the same, and the machine of the first; for formats that take alike."""

    def audited(self) -> tuple[Machine, Audit]:
        """Return the machine and its audit; refuse a fleet."""
        if self.machine is None or self.audit is None:
            raise BadValue("this format describes one machine", cure="name a capture of it with --from")
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
            raise BadInput(head.wrong, file=file, place="line 1", cure="docs/adding.md says what stands there")
        given = {
            part: getattr(subject, part) for part in ("machine", "layout", "audit", "measurements", "read", "fleet", "kinds")
        }
        return {name: fill(text, {**given, "version": options.version, "prefix": options.prefix}, file)}

    summary = head.wrong or head.summary or "its first line does not describe it"
    return ExportFormat(name, summary, _LAST, OWN, files, ("machine", "kinds"))


_SAID: Final = {"machine": "a machine", "golden": "a golden file"}


def listing(formats: Iterable[ExportFormat]) -> str:
    """Return the formats, a line each with what it is, and below it what it was proven with."""
    rows = list(formats)
    wide = max((len(each.name) for each in rows), default=0)
    lines = []
    for each in rows:
        lines.append(f"{each.name:<{wide}}  {plain(each.title, 160)}")
        of = " or ".join(dict.fromkeys(_SAID.get(take, "a fleet") for take in each.takes))
        lines.append(f"{'':<{wide}}  {f'of {of}; ' if of else ''}proven: {each.proven}")
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

_LONGEST: Final = 200
"""Letters of a label's value."""
_OWN: Final = (None, "local", "spread")
"""Distances at which a part uses the memory that is its own."""
_WHOLE: Final = ("machine", "socket", "numa")
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
    yield Family("finding", "1 where a rule found something, by rule, object and severity.", found)
    verdicts = Counter(worst_verdicts(audit).values())
    counted = tuple((_labels(verdict=name), float(verdicts[name])) for name in get_args(Verdict))
    yield Family("verdicts", "Rules by verdict in the last audit, each counted once, by the worst of its objects.", counted)
    outcome = head_of(audit).outcome
    heads = tuple((_labels(outcome=name), float(name == outcome)) for name in get_args(Outcome))
    yield Family("outcome", "1 for what the audit comes to, as its first line says; only nothing is green.", heads)
    topology = machine.topology
    nodes = tuple(
        (_labels(socket=at), float(sum(node.cpuset <= package.cpuset for node in topology.cpu_nodes)))
        for at, package in enumerate(topology.packages)
    ) if topology is not None and topology.numa_known else ()  # fmt: skip
    yield Family("numa_nodes", "NUMA nodes with CPUs in each socket, as the kernel shows them.", nodes)
    figures = (
        ("memory_bandwidth_bytes_per_second", "Best median STREAM triad that was measured, in bytes per second.", TRIAD),
        ("memory_latency_seconds", "Median latency of local memory that was measured, in seconds.", LATENCY),
        ("hpl_flops_per_second", "Median HPL that was measured, in floating-point operations per second.", HPL),
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


TRIAD: Final = Figure("part", "bytes/s", "triad")
LATENCY: Final = Figure("part", "seconds")
HPL: Final = Figure("hpl", "flop/s")


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
    yield Family("fleet_nodes", "Nodes of the fleet: asked, and answered.", nodes)
    kinds = tuple((_labels(kind=each.name), float(each.count)) for each in fleet.kinds)
    yield Family("fleet_kind_nodes", "Nodes of each kind of hardware, the largest kind first.", kinds)
    incidents = tuple(
        (_labels(node=node, rule=each.rule, severity=each.severity, action=each.action, kind=each.kind or None), 1.0)
        for each in fleet.incidents
        if each.action != "ignore" and each.nodes
        for node in expanded(each.nodes)
    )
    about = "1 where a node has an incident, by the rule or fact that names it, severity, what to do, kind of hardware."
    yield Family("finding", about, incidents)
    wrong = tuple((_labels(rule=w.rule, severity=w.severity, kind=w.kind), float(w.count)) for w in fleet.wrong)
    about = "Nodes on which a rule found something, by rule, severity and kind of hardware."
    yield Family("fleet_finding_nodes", about, wrong)
    drift: Counter[tuple[str, str]] = Counter()  # several values of one fact are one sample
    for each in fleet.drift:
        drift[each.fact, each.kind] += each.count
    drifted = tuple((_labels(fact=fact, kind=kind), float(count)) for (fact, kind), count in drift.items())
    yield Family("fleet_drift_nodes", "Nodes that differ from the rest of their kind in a fact.", drifted)
    slow = Counter((each.figure, each.kind) for each in fleet.slow)
    rows = tuple((_labels(figure=figure, kind=kind), float(count)) for (figure, kind), count in slow.items())
    yield Family("fleet_slow_nodes", "Nodes with a figure far below those of their like.", rows)


def _about(subject: ExportSubject, options: ExportOptions) -> Iterator[Family]:
    """Yield when the machine was read, and the family whose labels are words: version, platform, partitioning."""
    read = () if subject.read is None else (((), float(round(subject.read))),)
    yield Family("last_audit_timestamp_seconds", "When the machine was read that was audited last.", read)
    audit, layout = subject.audit, subject.layout
    scope, platform = (audit.scope, audit.platform_id) if audit else (None, None)
    cut = layout.cut.name if layout else None
    words = _labels(version=options.version, scope=scope, platform=platform, partitioning=cut)
    yield Family("build_info", "1; version of advisor, and what it took the machine for.", ((words, 1.0),))
