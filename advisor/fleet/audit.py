"""Audits a fleet: reads its captures, judges each kind once, folds what they say; a row for each node as Parquet."""

import io
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from advisor import __version__
from advisor.advice.judgement import must_be_known
from advisor.advice.model.findings import Difference
from advisor.advice.model.sheets import Severity
from advisor.advice.whatif import diff
from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork, must_be_one_of
from advisor.fleet.fleet import (
    ANSWERS,
    BEFORE_SUFFIX,
    BIOS_SUFFIX,
    CAPTURE_SUFFIX,
    MEASURED_SUFFIX,
    Fleet,
    Incident,
    Odd,
    Silent,
    Slow,
    Wrong,
)
from advisor.fleet.fold import with_modules
from advisor.fleet.kinds import Figure, Figures, Holding, Nodes, assemble, deviants, suspected
from advisor.fleet.page import fleet_document, fleet_report
from advisor.fleet.read import Asked, Book, Entry, Read, Record, asked, indexed, short_name
from advisor.machine.hosts.errands import expanded
from advisor.machine.observer import SILENT, Observer
from advisor.measure.measurement import Measurements, Result, reported_or_zero
from advisor.measure.platform import Scope
from advisor.measure.task import read_measurements
from advisor.paths import template

_SKEW = 600.0
"""Seconds that a node's clock may differ from that of who asked: a job's start and a slow answer are within."""
_OLD = timedelta(days=2)
"""A capture so much older than half of the fleet shows a node as it was: a large fleet is captured within two days."""
_WHOLE = ("numa", "socket", "machine")
"""Parts whose figures are compared; single cores have too many for one to be named by chance alone."""


@dataclass(frozen=True)
class AuditedFleet:
    """A fleet, and what it was read from."""

    fleet: Fleet
    nodes: Nodes
    asked: Asked
    read: Read

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet audit --json``."""
        return fleet_document(self.fleet)

    def html(self, scope: Scope = "mpi") -> str:
        """Return the page of ``advisor report FLEET``."""
        about = {"scope": scope, "version": __version__, "made": time.strftime("%Y-%m-%d %H:%M")}
        return fleet_report(self.fleet, template("report/fleet.html.j2"), template("report/style.css"), about)

    @property
    def suspects(self) -> tuple[Slow, ...]:
        """Who is worth measuring again before anybody is called slow."""
        return suspected(self.nodes)

    def incident_named(self, word: str) -> Incident | None:
        """Return the incident of a number on the screen, or of an id; None where the word is neither."""
        found = self.fleet.incidents
        if word.isdecimal() and word not in self.nodes.folded:
            if not 0 < int(word[:6]) <= len(found):
                raise BadValue(
                    f"incident {word[:20]} does not exist: the fleet has {len(found)}", cure="advisor fleet audit numbers them"
                )
            return found[int(word[:6]) - 1]
        return next((each for each in found if each.id == word), None)

    def wrong_named(self, word: str) -> Wrong | None:
        """Return the first finding of a rule; None where the word is none."""
        return next((each for each in self.fleet.wrong if each.rule == word), None)

    def claims_of(self, incident: Incident) -> tuple[str, ...]:
        """Return what is observed on the first node of an incident."""
        node = expanded(incident.nodes)[0] if incident.nodes else ""
        own = (each for each in self.nodes.judged.get(node, ()) if each.rule in incident.rules)
        return tuple(dict.fromkeys(f"{each.rule}: {each.claim or each.title}" for each in own))

    def node_named(self, word: str) -> str:
        """Return a node of the fleet that told something; refuse a name that is none."""
        silent = next((each for each in self.fleet.silent if each.node == word), None)
        if silent is not None:
            raise nothing_known(silent)
        return must_be_one_of("finding or node", word, self.nodes.folded, "advisor fleet audit --verbose fleet/ lists them")

    def bios_of(self, node: str) -> tuple[Path, ...]:
        """Return the file of a node's BIOS attributes, where one lies beside its capture and is its own."""
        return () if self.read.records[node].unfit else bios_beside(self.asked, node)

    def source_of(self, nodes: str) -> tuple[str, ...]:
        """Return how other commands name the capture of the first of a set of nodes."""
        first = expanded(nodes)[0] if nodes else ""
        if first not in self.nodes.folded:
            return ()
        files = (file_of_node(self.asked, first), *self.bios_of(first))
        return tuple(word for option, file in zip(("--from", "--bios"), files, strict=False) for word in (option, str(file)))

    def usual_beside(self, node: str) -> str | None:
        """Return a node of the same kind of which nothing is odd; None where there is none."""
        sets = (expanded(kind.nodes) for kind in self.fleet.kinds)
        names: Sequence[str] = next((each for each in sets if node in each), ())
        odd = deviants(self.fleet)
        return next((name for name in names if name not in odd and name != node), None)


def audit_fleet(
    places: Sequence[Path],
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    exclude_from: Severity = "high",
    holding: Holding | None = None,
    observer: Observer = SILENT,
) -> AuditedFleet:
    """Return what is wrong, drifted and slow in a fleet's folder, or in files.

    Jobs are kept (``exclude``) from nodes with an incident of severity ``exclude_from`` or worse. ``holding`` is what
    nodes are held to in place of the rest of their kind: a golden file.
    """
    if site:
        must_be_known(site, ())
    named = asked(places)
    try:
        read = indexed(named, Book(scope, tuple(site)), observer)
    finally:
        observer.end()
    nodes = _nodes(named, read)
    if not nodes.folded:
        whys = ", ".join(f"{count} {why}" for why, count in Counter(each.why for each in nodes.silent).most_common(3))
        raise CannotWork(f"no node answered: {whys or 'nothing to read'}; give captures of nodes that answered")
    return AuditedFleet(assemble(nodes, exclude_from, holding), nodes, named, read)


def nothing_known(silent: Silent) -> BadValue:
    """Return that a node did not answer."""
    return BadValue(f"no capture of {silent.node[:64]}: {silent.why}", cure="capture it again")


def bios_beside(named: Asked, node: str) -> tuple[Path, ...]:
    """Return the file of a node's BIOS attributes, where one lies beside its capture."""
    return tuple(entry.bios for entry in named.entries if entry.node == node and entry.bios is not None)


def file_of_node(named: Asked, node: str) -> Path:
    """Return where the capture of a node lies; refuse one that left none, with the reason."""
    silent = next((each for each in named.silent if each.node == node), None)
    if silent is not None:
        raise nothing_known(silent)
    files = {entry.node: entry.file for entry in named.entries}
    return files[must_be_one_of("node", node, files, "advisor fleet audit --verbose fleet/ lists them")]


def is_fleet(place: Path) -> bool:
    """Return whether a folder holds captures of nodes, or the answers of a fleet."""
    return (place / ANSWERS).is_file() or any(place.glob(f"*{CAPTURE_SUFFIX}"))


def diff_nodes(
    places: Sequence[Path],
    one: str,
    other: str,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    observer: Observer = SILENT,
) -> Difference:
    """Return what differs between two nodes of a fleet."""
    named = asked(places)
    a, b = (str(file_of_node(named, node)) for node in (one, other))
    found = diff(a, b, scope, site=site, bios=(bios_beside(named, one), bios_beside(named, other)), observer=observer)
    return found.but(before=one, after=other)


def _nodes(named: Asked, read: Read) -> Nodes:
    told = {node: record for node, record in read.records.items() if record.digest is not None}
    silent = (*named.silent, *(Silent(node=each.node, why=each.error) for each in read.records.values() if each.error))
    figures, unread = _measured(named.entries)
    times = sorted(entry.answer.at for entry in named.entries if entry.answer)
    return Nodes(
        folded={node: with_modules(read.distinct[record.digest or ""].folded, record.modules) for node, record in told.items()},
        judged={node: (*read.distinct[record.digest or ""].judged, *record.added) for node, record in told.items()},
        measured=figures,
        silent=silent,
        odd=(*named.odd, *_odd(named.entries, told), *unread),
        begun=times[0] if times else None,
        ended=times[-1] if times else None,
    )


def _odd(entries: Sequence[Entry], told: dict[str, Record]) -> Iterator[Odd]:
    """Yield what is odd about answers that are used all the same."""
    named: dict[str, list[str]] = defaultdict(list)
    usual = Counter(record.version for record in told.values() if record.version).most_common(1)
    for entry in entries:
        record = told.get(entry.node)
        if record is None:
            continue
        seen = record.seen_as
        if seen:
            named[seen].append(entry.node)
        if record.unfit:
            yield Odd(what="BIOS", node=entry.node, why=f"{entry.node}{BIOS_SUFFIX} is not used: {record.unfit}")
        if seen and entry.answer and short_name(seen) != short_name(entry.node):
            yield Odd(what="wrong name", node=entry.node, why=f"reports the name {seen}")
        if record.version and record.version != usual[0][0]:
            yield Odd(what="version", node=entry.node, why=f"captured by advisor {record.version}, most others by {usual[0][0]}")
    for name, nodes in named.items():
        if len(nodes) > 1:
            yield Odd(what="same name twice", node=nodes[0], why=f"the name {name} is also reported by {', '.join(nodes[1:4])}")
    yield from _in_time(entries, told)


def _in_time(entries: Sequence[Entry], told: Mapping[str, Record]) -> Iterator[Odd]:
    """Yield whose clock is off, and whose capture is older than the rest."""
    times = {node: at for node, record in told.items() if (at := _at(record.taken))}
    usual = sorted(times.values())[len(times) // 2] if times else None
    for entry in entries:
        taken, asked_at = times.get(entry.node), _at(entry.answer.at if entry.answer else None)
        away = (taken - asked_at).total_seconds() if taken and asked_at else 0.0
        if abs(away) > _SKEW:
            yield Odd(what="clock", node=entry.node, why=f"its clock is {_time(abs(away))} {'behind' if away < 0 else 'ahead'}")
        elif taken and usual and usual - taken > _OLD:
            yield Odd(
                what="old", node=entry.node, why=f"captured {(usual - taken).days} days before most others; capture it again"
            )


def _at(text: str | None) -> datetime | None:
    """Return a time that a capture has; None of what is none."""
    try:
        return datetime.fromisoformat(text or "").astimezone(UTC)
    except ValueError:
        return None


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def _measured(entries: Sequence[Entry]) -> tuple[dict[str, Figures], list[Odd]]:
    """Return the figures of the nodes that were measured; measurements that cannot be read are named, and stop no other."""
    figures: dict[str, Figures] = {}
    unread: list[Odd] = []
    for entry in entries:
        if entry.measured is None:
            continue
        try:
            before = _before(entry.measured)
            first = {} if before is None else dict(_figures(read_measurements([before])))
            figures[entry.node] = {
                name: figure if name not in first else replace(figure, before=first[name].value)
                for name, figure in _figures(read_measurements([entry.measured]))
            }
        except AdvisorError as error:
            why = error.problem if isinstance(error, BadInput) else str(error)
            unread.append(Odd(what="measurements", node=entry.node, why=f"cannot be read: {why[:80]}"))
    return figures, unread


def _before(measured: Path) -> Path | None:
    """Return what a node had when it was measured the first time; None where it was measured once."""
    file = measured.with_name(f"{measured.name.removesuffix(MEASURED_SUFFIX)}{BEFORE_SUFFIX}")
    return file if file.is_file() else None


def _figures(found: Measurements) -> Iterator[tuple[str, Figure]]:
    """Yield what was measured of whole parts, and is believed."""
    for result in found.results:
        if result.refused is None and result.part in _WHOLE:
            name = _figure_name(result)
            yield name, Figure(name, result.unit, result.median, result.spread if len(result.values) > 1 else 0.0)


def _figure_name(result: Result) -> str:
    where = result.part if result.index is None else f"{result.part} {result.index}"
    if result.purpose == "hpl":  # imported, each may be of another N, and a smaller one is slower
        where += f" N={reported_or_zero(result, 'n'):.0f}"
    return f"{result.kernel} {result.variant} {where}" + ("" if result.purpose == "part" else f" ({result.purpose})")


@dataclass(frozen=True)
class Words:
    """A column of which many rows are the same: its values once, and for each row the number of its own, None where not known."""

    values: Sequence[str | int]
    rows: Sequence[int | None]


Column = Words | Sequence[float | None] | Sequence[bool]
"""Facts are words or amounts, figures are numbers in base units, findings are true where the node has them."""


def need_parquet() -> None:
    """Refuse in one line where nothing that writes Parquet is installed."""
    if not (find_spec("pyarrow") or find_spec("polars")):
        problem = "--as parquet needs pyarrow or polars, and neither is installed"
        raise CannotWork(f"{problem}; install one next to advisor: python -m pip install pyarrow")


def columns(found: AuditedFleet) -> dict[str, Column]:
    """Return the columns by their names, each as long as there are nodes that answered."""
    nodes = found.nodes.folded
    kinds = {node: kind.name for kind in found.fleet.kinds for node in expanded(kind.nodes)}
    hardware = {kind.name: kind.hardware for kind in found.fleet.kinds}
    made: dict[str, Column] = {
        "node": _words(nodes),
        "kind": _words([kinds[node] for node in nodes]),
        "hardware": _words([hardware[kinds[node]] for node in nodes]),
    }
    made |= dict(sorted(_facts(found)))
    for name in sorted({name for figures in found.nodes.measured.values() for name in figures}):
        own = [found.nodes.measured.get(node, {}).get(name) for node in nodes]
        unit = next(figure.unit for figure in own if figure is not None)
        made[f"measured.{name} [{unit}]"] = [None if figure is None else figure.value for figure in own]
    for rule in sorted({each.rule for each in found.fleet.wrong}):
        having = {node for each in found.fleet.wrong if each.rule == rule for node in expanded(each.nodes)}
        made[f"finding.{rule}"] = [node in having for node in nodes]
    return made


def _words(texts: Sequence[str] | Mapping[str, Any]) -> Words:
    values = dict.fromkeys(texts)
    numbers = {value: number for number, value in enumerate(values)}
    return Words(tuple(values), tuple(numbers[text] for text in texts))


@dataclass
class _Fact:
    """A column in the making."""

    numbers: dict[str | int, int] = field(default_factory=dict)
    of_part: dict[bytes, int] = field(default_factory=dict)


def _facts(found: AuditedFleet) -> Iterator[tuple[str, Words]]:
    """Yield a column for each fact; what equal nodes share is looked at once."""
    facts: dict[str, tuple[str, _Fact]] = {}
    seen: set[bytes] = set()
    for node in found.nodes.folded.values():
        for section, part in node.parts.items():
            if part.digest in seen:
                continue
            seen.add(part.digest)
            for name, fact in part.facts.items():
                column = facts.setdefault(name, (section, _Fact()))[1]
                value = fact.text if fact.size is None else fact.size
                column.of_part[part.digest] = column.numbers.setdefault(value, len(column.numbers))
    digests = {section: [_digest(node.parts, section) for node in found.nodes.folded.values()] for section, _ in facts.values()}
    for name, (section, column) in facts.items():
        values = tuple(column.numbers)
        if any(isinstance(value, int) for value in values) and any(isinstance(value, str) for value in values):
            values = tuple(map(str, values))
        yield name, Words(values, [column.of_part.get(digest) for digest in digests[section]])


def _digest(parts: Mapping[str, Any], section: str) -> bytes:
    part = parts.get(section)
    return part.digest if part is not None else b""


def parquet(made: Mapping[str, Column]) -> bytes:
    """Return a table as a Parquet file; by pyarrow, else by polars."""
    need_parquet()
    file = io.BytesIO()
    if find_spec("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        def arrow(column: Column) -> Any:
            if not isinstance(column, Words):
                return pa.array(column)
            return pa.DictionaryArray.from_arrays(pa.array(column.rows, pa.int32()), pa.array(column.values))

        pq.write_table(pa.table({name: arrow(column) for name, column in made.items()}), file, compression="zstd")
    else:
        import polars as pl

        pl.DataFrame({name: _plain(column) for name, column in made.items()}).write_parquet(file, compression="zstd")
    return file.getvalue()


def _plain(column: Column) -> Sequence[Any]:
    if not isinstance(column, Words):
        return column
    return [None if row is None else column.values[row] for row in column.rows]
