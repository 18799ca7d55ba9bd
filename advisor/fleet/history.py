"""What a fleet was on other days: a snapshot is a file of lines, one a node, with its incidents; what appeared, went, flaps.

``DIR/history/2026-01-31T061000Z.jsonl.gz``: plain JSON, so that DuckDB, jq and pandas read it, too.
"""

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from advisor.advice.model.sheets import Severity
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.fleet.audit import AuditedFleet
from advisor.fleet.fleet import Action, Change, Incident, Since
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.hosts.files import Use, open_trusted, write_file
from advisor.machine.units import count
from advisor.machine.value import Value

HISTORY = "history"
SUFFIX = ".jsonl.gz"
_NAMED = "%Y-%m-%dT%H%M%SZ"
_LARGEST = 64 << 20
_UNPACKED = 1 << 30
_GZIP = 31
_CURE = "advisor fleet audit DIR --keep 52w writes one"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Seen(Value):
    """An incident of a node, as a snapshot keeps it."""

    id: str
    rule: str
    action: Action
    severity: Severity
    text: str


class Row(Value):
    """A node on one day."""

    at: str
    node: str
    kind: str = ""
    answered: bool
    incidents: tuple[Seen, ...] = ()


def rows_of(found: AuditedFleet, at: str) -> Iterator[Row]:
    """Yield a line for each node that was asked."""
    own: dict[str, list[Seen]] = defaultdict(list)
    for each in found.fleet.incidents:
        if each.action != "ignore" and each.nodes:
            seen = Seen(id=each.id, rule=each.rule, action=each.action, severity=each.severity, text=each.text)
            for node in expanded(each.nodes):
                own[node].append(seen)
    kinds = {node: kind.name for kind in found.fleet.kinds for node in expanded(kind.nodes)}
    for node in sorted({*kinds, *(each.node for each in found.fleet.silent)}):
        yield Row(at=at, node=node, kind=kinds.get(node, ""), answered=node in kinds, incidents=tuple(own[node]))


def keep(found: AuditedFleet, folder: Path, now: datetime, oldest: timedelta) -> Path:
    """Write a snapshot of when the last node was asked, and remove those that are older than wished; return its file."""
    at = _time(found.fleet.ended or "") or now
    lines = (
        row.model_dump_json(exclude_defaults=True).encode() + b"\n" for row in rows_of(found, at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    )
    packed = gzip.compress(b"".join(lines), 6, mtime=0)
    place = folder / HISTORY
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CannotWork(f"{place}: {(error.strerror or 'cannot be written').lower()}; make it writable") from error
    written = place / f"{at.strftime(_NAMED)}{SUFFIX}"
    write_file(written, packed)
    for other in snapshots(folder):
        if taken_at(other) < at - oldest:
            other.unlink(missing_ok=True)
    return written


def snapshots(folder: Path) -> list[Path]:
    """Return the snapshots of a fleet's folder, the oldest first; other files are none."""
    return sorted(file for file in (folder / HISTORY).glob(f"*{SUFFIX}") if _dated(file) is not None)


def _dated(file: Path) -> datetime | None:
    try:
        return datetime.strptime(file.name.removesuffix(SUFFIX), _NAMED).replace(tzinfo=UTC)
    except ValueError:
        return None


def taken_at(file: Path) -> datetime:
    """Return when a snapshot is of, by its name."""
    return _dated(file) or datetime.fromtimestamp(0, UTC)


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def day_named(word: str, now: datetime) -> datetime:
    """Return the moment that a word names: a weekday, yesterday, today, a date, a snapshot by its name or file.

    >>> now = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday
    >>> [day_named(word, now).isoformat()[:16] for word in ("monday", "Wednesday", "yesterday", "2026-02-01")]
    ['2026-03-02T00:00', '2026-02-25T00:00', '2026-03-03T00:00', '2026-02-01T00:00']
    """
    lower = word.lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if lower in _DAYS:
        return midnight - timedelta(days=(now.weekday() - _DAYS.index(lower) - 1) % 7 + 1)
    if lower in {"today", "yesterday"}:
        return midnight - timedelta(days=lower == "yesterday")
    named = _dated(Path(word))
    found = named or (_time(word) if re.match(r"\d{4}-\d\d-\d\d", word) else None)
    if found is None:
        raise BadValue(
            f"{word[:40]!a} is not a day or a snapshot",
            cure="write monday, yesterday, 2026-01-31, or a snapshot of DIR/history",
        )
    return found


def read_snapshot(file: Path) -> Iterator[Row]:
    """Yield the lines of a snapshot; refuse one that is damaged."""
    try:
        with open_trusted(file, Use.NAMED) as opened:
            packed = opened.read(_LARGEST + 1) or b""
        unpacked = zlib.decompressobj(wbits=_GZIP)
        data = unpacked.decompress(packed, _UNPACKED)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure="remove it") from error
    except zlib.error as error:
        raise BadInput("damaged", file=str(file), cure="remove it") from error
    if not unpacked.eof:
        why = "is too large for a snapshot" if len(packed) > _LARGEST or len(data) == _UNPACKED else "ends early"
        raise BadInput(why, file=str(file), cure="remove it")
    for number, line in enumerate(data.splitlines(), 1):
        try:
            yield Row.model_validate_json(line)
        except ValidationError as error:
            raise BadInput("not a snapshot", file=str(file), place=f"line {number}", cure="remove it") from error


@dataclass
class _Course:
    """An incident of a node over the snapshots."""

    seen: Seen
    first: str
    last: str
    there: bool
    before: bool
    """Whether it was there at the snapshot that all is compared with."""
    after: str = ""
    until: str = ""
    changes: int = field(default=0)


def since(folder: Path, when: datetime) -> Since:
    """Return what became of each incident since the last snapshot that is not younger than a moment."""
    files = snapshots(folder)
    if len(files) < 2:
        raise CannotWork(f"{folder / HISTORY} contains {count(len(files), 'snapshot')}, but at least 2 are needed; {_CURE}")
    at = max((number for number, file in enumerate(files) if taken_at(file) <= when), default=0)
    if at == len(files) - 1:
        raise CannotWork(f"no snapshot is newer than {when.strftime('%Y-%m-%d')}; the last is {files[-1].name}")
    courses: dict[tuple[str, str], _Course] = {}
    previous = ""
    for number, file in enumerate(files):
        previous = _look(courses, read_snapshot(file), taken_at(file).strftime("%Y-%m-%dT%H:%M:%SZ"), previous, number - at)
    begun, ended = (taken_at(files[each]).strftime("%Y-%m-%dT%H:%M:%SZ") for each in (at, -1))
    return Since(since=begun, until=ended, snapshots=len(files), changes=tuple(_changes(courses)))


def _look(courses: dict[tuple[str, str], _Course], rows: Iterator[Row], at: str, previous: str, number: int) -> str:
    """Add a snapshot to the courses; of a node that did not answer nothing else is known than that. ``number`` 0 is the day's."""
    told: dict[tuple[str, str], Seen] = {}
    silent: set[str] = set()
    for row in rows:
        told |= {(row.node, each.id): each for each in row.incidents}
        if not row.answered:
            silent.add(row.node)
    for key, seen in told.items():
        course = courses.get(key)
        if course is None:
            courses[key] = _Course(
                seen, at, at, there=True, before=number <= 0, after=previous, until=at, changes=int(number > 0)
            )
            continue
        if not course.there:
            course.there, course.after, course.until = True, previous, at
            course.changes += int(number > 0)
        course.seen, course.last = seen, at
    for (node, id_), course in courses.items():
        if course.there and (node, id_) not in told and node not in silent:
            course.there, course.after, course.until = False, previous, at
            course.changes += int(number > 0)
        if number <= 0:
            course.before = course.there
    return at


def _changes(courses: Mapping[tuple[str, str], _Course]) -> Iterator[Change]:
    """Yield what changed, the same of several nodes in one; what flaps first, then what appeared."""
    same: dict[tuple[str, ...], list[tuple[str, _Course]]] = defaultdict(list)
    for (node, id_), course in courses.items():
        if course.changes:
            same[_became(course), id_, course.first, course.last, course.after, course.until].append((node, course))
    order = ("appeared", "flaps", "healed", "went")
    for key in sorted(same, key=lambda each: (order.index(each[0]), each[1:])):
        own = same[key]
        one = own[0][1]
        yield Change(
            what=key[0], id=key[1], action=one.seen.action, severity=one.seen.severity, nodes=folded(node for node, _ in own),
            count=len(own), text=one.seen.text, first=one.first, last=one.last, after=one.after, until=one.until,
            changes=max(course.changes for _, course in own),
        )  # fmt: skip


def _became(course: _Course) -> str:
    if course.changes == 1:
        return "appeared" if course.there else "went"
    return "healed" if course.changes == 2 and not course.before else "flaps"


def new_incidents(found: AuditedFleet, before: Path | None) -> list[Incident]:
    """Return the incidents that nodes have and had not in a snapshot, each with those nodes alone; without one all are new."""
    known = {(row.node, each.id) for row in read_snapshot(before) for each in row.incidents} if before is not None else set()
    fresh = []
    for each in found.fleet.incidents:
        nodes = [node for node in expanded(each.nodes) if (node, each.id) not in known] if each.nodes else []
        if nodes and each.action != "ignore":
            fresh.append(each.but(nodes=folded(nodes), count=len(nodes)))
    return fresh


def arguments(command: Sequence[str], each: Incident) -> tuple[str, ...]:
    """Return the command for an incident: action, severity, id, nodes and text are arguments of their own, for no shell."""
    return (*command, each.action, each.severity, each.id, each.nodes, json.dumps(each.text)[1:-1])
