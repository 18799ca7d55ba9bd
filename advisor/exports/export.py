"""Exports a machine, an audit or a fleet in another program's words; and any task's value as the document of its --json."""

import re
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from pydantic import ValidationError

from advisor import __version__
from advisor.advice.audit import AUDIT_SCHEMA, AUDIT_SCHEMA_1, audit, explain_document
from advisor.advice.compare import WhatIf, before_after_document, difference_document, whatif_document
from advisor.advice.model.findings import Audit, Difference, Explanation
from advisor.errors import AdvisorError, BadInput, BadValue, must_be_one_of
from advisor.exports.format import ExportFormat, ExportOptions, ExportSubject, built_in, of_template
from advisor.fleet.audit import AuditedFleet, audit_fleet, file_of_node
from advisor.fleet.fleet import ANSWERS, CAPTURE_SUFFIX, Fleet
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
from advisor.machine.jinja import template_files, template_text
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import json_data, open_machine, read_machine
from advisor.machine.value import Value
from advisor.measure.measurement import BeforeAfter
from advisor.measure.platform import Scope

TEMPLATES: Final = "export"
"""The folder of a site's own formats among its templates."""
_PREFIX: Final = re.compile(r"[a-z][a-z0-9_]{0,30}", re.ASCII)
_CURE: Final = "write it again with advisor audit --json"


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
            raise BadValue(f"{self.format} is {len(self.files)} files: {names}", cure="name a folder for them: -o DIR")
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
    return known[must_be_one_of("export", name, known, f"there are {', '.join(known)}")]


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
        must_be_one_of("such --include", word, known, f"there are {', '.join(known)}" if known else f"{name} has none")
    if not _PREFIX.fullmatch(prefix):
        raise BadValue(f"--prefix {prefix[:40]!a} is not a name", cure="small letters, digits and _: advisor, site_a")
    if source is not None and is_golden(Path(source)):
        subject = _golden(made, Path(source))
    elif "machine" not in made.takes and "fleet" not in made.takes:
        if source is not None:
            raise BadValue(f"{name} does not belong to a machine in --from", cure="leave --from out, or name a golden file")
        subject = ExportSubject()
    elif source is not None and is_fleet(Path(source)):
        if made.takes == ("machine",):
            raise BadValue(
                f"{name} is not made of a fleet", cure=f"name one node's capture: --from {source}/NODE{CAPTURE_SUFFIX}"
            )
        subject = _fleet(made, Path(source), scope or "mpi", site, observer)
    elif "machine" not in made.takes:
        raise BadValue(f"{name} is not made of one machine", cure="name a fleet's folder with --from: advisor fleet capture")
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
        raise BadValue(f"{made.name} is not made of a golden file", cure="name a fleet's folder, or a capture")
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
        raise BadInput("is not an audit this advisor can read", file=source, cure=_CURE) from error


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
            raise TypeError(f"{type(value).__name__} is not a value of a task")
