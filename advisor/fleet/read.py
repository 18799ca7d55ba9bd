"""Reads a fleet's folder: which file is whose, each capture once, what was made of it kept in an index beside them."""

import gc
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from threading import active_count
from typing import Any

import advisor
from advisor.advice.bios_files import bios_for
from advisor.advice.judge.case import Case
from advisor.advice.judge.engine import Origins, ask, finding
from advisor.advice.judge.rule import Rule, env_of
from advisor.advice.judgement import Judgement, judged, rulebook, site_files
from advisor.advice.know.vendors import settings
from advisor.advice.model.findings import Finding
from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork
from advisor.fleet.fleet import (
    ANSWERS,
    BIOS_SUFFIX,
    CAPTURE_SUFFIX,
    KEPT,
    MEASURED_SUFFIX,
    PAIRS,
    Answer,
    Odd,
    Silent,
    answers_in,
)
from advisor.fleet.fold import Fact, Folded, Hardware, Judged, Part, digest_of, fold, modules_sold, socket_parts
from advisor.machine.fault_counters import Watch
from advisor.machine.hosts.base import Host, second_look
from advisor.machine.hosts.capture import CaptureHost
from advisor.machine.hosts.errands import Outcome
from advisor.machine.hosts.files import Use, open_here, open_trusted, write_file
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import json_data, machine_from_json
from advisor.machine.sources.fault_counters import look, watched
from advisor.machine.sources.registry import CaptureReader
from advisor.measure.platform import Scope
from advisor.paths import rules

INDEX = "fleet-index.zst"
_SUFFIXES = (CAPTURE_SUFFIX, ".tgz", ".tar", ".tar.xz", ".tar.bz2", ".xml", ".json")
_OWN = (ANSWERS, INDEX, PAIRS)
_BESIDE = (MEASURED_SUFFIX, BIOS_SUFFIX)
"""What stands beside a node's capture, and is no node."""
_LARGEST = 256 << 20
"""Bytes of answers.jsonl: a hundred thousand nodes, asked ten times."""


@dataclass(frozen=True)
class Entry:
    """A node, and the file that tells of it."""

    node: str
    file: Path
    answer: Answer | None = None
    measured: Path | None = None
    bios: Path | None = None


@dataclass(frozen=True)
class Asked:
    """Every node of a fleet: those that left a file, those that did not, and what is odd about the list itself."""

    entries: tuple[Entry, ...]
    silent: tuple[Silent, ...] = ()
    odd: tuple[Odd, ...] = ()
    folder: Path | None = None
    """Where the index may be kept; None of files that are named one by one."""


def asked(places: Sequence[Path]) -> Asked:
    """Return the nodes of a fleet's folder, or of files."""
    if not places:
        raise BadValue("no fleet given", cure="give a folder of captures, or several capture files: *.tar.gz")
    if len(places) == 1 and places[0].is_dir():
        folder = places[0]
        return _answered(folder) if (folder / ANSWERS).is_file() else _found(_files(folder), folder)
    for place in places:
        if not place.exists():
            raise BadInput(
                "no such file or directory", file=str(place), cure="give a folder of captures, or several capture files: *.tar.gz"
            )
    named = (place for place in places if len(places) == 1 or not place.name.endswith(_BESIDE))
    return _found([file for place in named for file in (_files(place) if place.is_dir() else [place])], None)


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIXES) and not path.name.startswith("."))
    except OSError as error:
        raise BadInput(
            (error.strerror or "cannot be read").lower(), file=str(folder), cure="give a folder of captures"
        ) from error
    found = [path for path in names if path.name not in _OWN and not path.name.endswith(_BESIDE)]
    if not found:
        raise BadInput("contains no captures", file=str(folder), cure="put a capture of each node there: n001.tar.gz")
    return found


def _found(files: Sequence[Path], folder: Path | None) -> Asked:
    """Return files as nodes; two of one name are told apart by their folders."""
    names: dict[str, Entry] = {}
    for file in files:
        name = base = node_name(file)
        number = 2
        while name in names:
            name, number = f"{base}.{number}", number + 1
        names[name] = Entry(name, file, None, *_beside(file.parent, base))
    return Asked(tuple(names.values()), folder=folder)


def node_name(file: Path) -> str:
    """Return what a node is called whose file has this name.

    >>> node_name(Path("a/n001.tar.gz")), node_name(Path("rome (2).xml"))
    ('n001', 'rome_2')
    """
    name = next((file.name.removesuffix(suffix) for suffix in _SUFFIXES if file.name.endswith(suffix)), file.name)
    return re.sub(r"[^A-Za-z0-9_.:+-]+", "_", name).strip("_.:+-") or "node"


def _beside(folder: Path, node: str) -> tuple[Path | None, ...]:
    """Return what was measured on a node, and its BIOS attributes, where they are there."""
    return tuple(file if (file := folder / f"{node}{suffix}").is_file() else None for suffix in _BESIDE)


def _answered(folder: Path) -> Asked:
    """Return the nodes that were asked; a capture of which no answer tells was put there by hand, and counts."""
    with open_here(folder / ANSWERS) as opened:
        size = os.fstat(opened.fileno()).st_size  # room is taken for all that is asked for
        told = answers_in(opened.read(min(size, _LARGEST)) or b"")
    entries: list[Entry] = []
    silent: list[Silent] = []
    for answer in told.last.values():
        file = folder / (answer.archive or f"{answer.node}{CAPTURE_SUFFIX}")
        inside = answer.archive is None or (Path(answer.archive).name == answer.archive and not answer.archive.startswith("."))
        if answer.outcome in KEPT and inside:
            there = file.is_file()
            if there:
                entries.append(Entry(answer.node, file, answer, *_beside(folder, answer.node)))
            else:
                silent.append(Silent(node=answer.node, why="its capture is missing"))
        else:
            silent.append(Silent(node=answer.node, why=_why(answer)))
    named = {entry.file.name for entry in entries} | {f"{node}{CAPTURE_SUFFIX}" for node in told.last}
    more = [file for file in _more(folder) if file.name not in named]
    odd = [Odd(what="damaged answers", node="", why=f"{ANSWERS}: line {line} cannot be read") for line in told.damaged[:10]]
    return Asked((*entries, *_found(more, folder).entries), tuple(silent), tuple(odd), folder)


def _more(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.name.endswith(CAPTURE_SUFFIX) and not path.name.startswith("."))


def _why(answer: Answer) -> str:
    """Return why a node did not answer: so few words that many fold into one."""
    return answer.outcome.value if answer.outcome is not Outcome.FAILED or not answer.why else f"failed: {answer.why[:80]}"


_CHUNK = 50
"""Captures that a process is given at once."""
_CASES = 64
"""Machines whose cases are kept; the largest have a megabyte."""
_ALONE = 40
"""Captures below which starting processes costs more than it saves."""


@dataclass(frozen=True)
class Record:
    """What one capture told, beside what it shares with its equals."""

    node: str
    digest: str | None = None
    error: str | None = None
    seen_as: str | None = None
    version: str | None = None
    taken: str | None = None
    added: tuple[Judged, ...] = ()
    """Findings on counters of faults, which are the node's own."""
    unfit: str | None = None
    """Why the BIOS attributes beside the capture are not used."""
    modules: str | None = None
    """Whose DIMMs it has: equal nodes have others."""


@dataclass(frozen=True)
class Distinct:
    """What equal nodes share."""

    folded: Folded
    judged: tuple[Judged, ...]


@dataclass(frozen=True)
class Book:
    """What captures are judged by."""

    scope: Scope = "mpi"
    site: tuple[Path, ...] = ()


@dataclass
class Read:
    """What was read of many captures."""

    records: dict[str, Record] = field(default_factory=dict)
    distinct: dict[str, Distinct] = field(default_factory=dict)


def read_all(entries: Sequence[Entry], book: Book, observer: Observer = SILENT) -> Read:
    """Return what captures tell; one that cannot be read is a record of that."""
    found = Read()
    if len(entries) <= _ALONE or _cores() < 2:
        reader = Reader(book)
        for number, entry in enumerate(entries, 1):
            observer.step("reading captures", f"{number} of {len(entries)}")
            found.records[entry.node] = reader.read(entry)
        found.distinct = reader.distinct
        return found
    chunks = [tuple(entries[at : at + _CHUNK]) for at in range(0, len(entries), _CHUNK)]
    # A fork has the rules read already; beside other threads it may hang, and a new process is begun.
    begun = get_context("fork" if active_count() == 1 else "spawn")
    with ProcessPoolExecutor(_cores(), mp_context=begun, initializer=_begin, initargs=(book,)) as pool:
        try:
            for number, future in enumerate(as_completed([pool.submit(_read_chunk, chunk) for chunk in chunks]), 1):
                records, distinct = future.result()
                found.records.update({record.node: record for record in records})
                found.distinct.update(distinct)
                observer.step("reading captures", f"{min(number * _CHUNK, len(entries))} of {len(entries)}")
        except BrokenProcessPool as error:
            raise CannotWork("a process reading captures was killed; check the memory limit, or give fewer captures") from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    found.records = {entry.node: found.records[entry.node] for entry in entries}
    return found


def _cores() -> int:
    return min(16, len(os.sched_getaffinity(0)))


_READERS: "list[Reader]" = []


def _begin(book: Book) -> None:
    gc.freeze()
    _READERS[:] = [Reader(book)]


def _read_chunk(entries: Sequence[Entry]) -> tuple[list[Record], dict[str, Distinct]]:
    """Return the records of a chunk, and what no chunk before it in this process has brought."""
    reader = _READERS[0]
    known = set(reader.distinct)
    records = [reader.read(entry) for entry in entries]
    return records, {digest: each for digest, each in reader.distinct.items() if digest not in known}


class Reader:
    """Reads captures one after the other; what was judged is not judged again."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._captures = CaptureReader()
        self._cases: dict[str, Case] = {}
        self._mixing: set[str] = set()
        """Of which machines a socket mixes DIMMs: each is told of its own."""
        self.distinct: dict[str, Distinct] = {}

    def read(self, entry: Entry) -> Record:
        """Return what a capture tells, or why it cannot be read."""
        try:
            if entry.file.stat().st_size == 0:
                return Record(entry.node, error="its capture is empty")
            machine, about, watch = self._opened(entry.file)
        except BadInput as error:
            return Record(entry.node, error="truncated" if "it was truncated" in error.problem else error.problem[:120])
        except (AdvisorError, OSError) as error:
            return Record(entry.node, error=str(error)[:120])
        machine, unfit = self._with_bios(machine, entry.bios)
        digest = digest_of(machine, modules=_asks_of_modules(self._book.site))
        if digest not in self.distinct:
            judgement = self._judged(digest, machine)
            own, found = {*_counting(self._book.site), _MIXED}, judgement.audit.found
            self.distinct[digest] = Distinct(fold(machine), tuple(_told(each) for each in found if each.id not in own))
            if any(each.id == _MIXED for each in found):
                self._mixing.add(digest)
        added = self._on_its_own(digest, machine, watch)
        told = (machine.name, about.get("advisor"), about.get("time"))
        return Record(entry.node, digest, None, *told, tuple(map(_told, added)), unfit, modules_sold(machine))

    def _opened(self, file: Path) -> tuple[Machine, dict[str, str], Watch | None]:
        """Return the machine of a file, what its capture says of itself, and its counters."""
        data = json_data(str(file))
        if data is not None:
            return machine_from_json(data, str(file)), {}, None
        machine, host, sharing = self._captures.read(file)
        return machine, host.about if isinstance(host, CaptureHost) else {}, _watch(host, sharing)

    def _with_bios(self, machine: Machine, file: Path | None) -> tuple[Machine, str | None]:
        """Return a machine with the BIOS attributes that lie beside its capture; or in words why they are not its own."""
        if file is None:
            return machine, None
        try:
            given = bios_for((file,), machine)
            host = given.owner.host_name if given.owner else None
            if host and machine.name and short_name(host) != short_name(machine.name):
                return machine, f"its BMC reports the server as {host[:64]}"
            return machine.but(bios=given.bios), None
        except BadInput as error:
            return machine, error.problem[:120]
        except (AdvisorError, OSError) as error:
            return machine, str(error)[:120]

    def _judged(self, digest: str, machine: Machine) -> Judgement:
        """Return the judgement of a machine; its case is kept for a while, for the counters of its equals."""
        judgement = judged(machine, self._book.scope, self._book.site)
        self._cases[digest] = judgement.case
        if len(self._cases) > _CASES:
            del self._cases[next(iter(self._cases))]
        return judgement

    def _on_its_own(self, digest: str, machine: Machine, watch: Watch | None) -> Iterable[Finding]:
        """Return the findings on counters of faults and on DIMMs that a socket mixes: equal nodes have others."""
        rules = dict(_counting(self._book.site)) if watch else {}
        if digest in self._mixing:
            rules |= {rule.id: rule for rule in rulebook(self._book.site).rules if rule.id == _MIXED}
        if not rules:
            return ()
        known = self._cases.get(digest) or self._judged(digest, machine).case
        parts = socket_parts((machine.memory and machine.memory.dimms) or ())
        own = (each.but(parts=parts.get(each.index, each.parts)) for each in known.sockets or ())
        case = known.but(watch=watch, sockets=known.sockets and tuple(own))
        origins = Origins(*((watch.sources, watch.gaps) if watch else (machine.sources, machine.gaps)), case, settings())
        env = env_of(case, settings())
        asked_now = (each for rule in rules.values() for each in ask(rule, case, env))
        return (finding(each, origins) for each in asked_now if each.verdict == "finding")


_MIXED = "memory-modules-mixed"
"""The rule that names the DIMMs of a socket; no other asks whose they are."""


@cache
def _counting(site: tuple[Path, ...]) -> dict[str, Rule]:
    """Return the rules that ask for counters of faults; no other can see them."""
    return {rule.id: rule for rule in rulebook(site).rules if re.search(r"\bwatch\b", rule.text.model_dump_json())}


@cache
def _asks_of_modules(site: tuple[Path, ...]) -> bool:
    """Return whether a rule asks whose DIMMs a node has, other than whether a socket mixes them."""
    own = {"each", "let", "only", "when", "agree", "say", "subject", "cost", "set"}
    texts = {rule.id: rule.text.model_dump_json(include=own) for rule in rulebook(site).rules}
    asking = re.compile(r"\.(makers?|parts)\b|memory\.dimms.*\.part\b")
    return any(asking.search(text) for id_, text in texts.items() if id_ != _MIXED)


def short_name(name: str) -> str:
    """Return a host's name without its domain, as two that are the same are written alike."""
    return name.partition(".")[0].lower()


def _told(finding: Finding) -> Judged:
    fix = finding.fix[0].text if finding.fix else finding.advice or finding.want or ""
    facts = tuple(each.fact for each in finding.evidence)
    told = (finding.id, finding.severity, finding.title, finding.claim or "", fix, finding.topic, finding.subject, finding.bound)
    return Judged(*told, facts)


def _watch(host: Host, sharing: Host) -> Watch | None:
    if host.kind == "hwloc xml":
        return None
    second, first = second_look(host), look(sharing)
    return watched(host, first) if second is None else watched(host, first, look(second.host), second.seconds)


_FORMAT = 4
_LARGEST_INDEX = 1 << 30
"""Bytes of an index, unpacked: a hundred thousand nodes of which each is different have as many."""

Stamp = tuple[tuple[str, int, int], ...]
"""File, bytes, and when it last changed, in its permissions too, of a capture and of the BIOS beside it: the same is the same."""


def indexed(named: Asked, book: Book, observer: Observer = SILENT) -> Read:
    """Return what the captures tell, from the index where they have not changed."""
    if named.folder is None:
        return read_all(named.entries, book, observer)
    place, mark = named.folder / INDEX, _mark(book)
    stamps = {entry.node: stamp for entry in named.entries if (stamp := _stamp(entry))}
    kept, known = _load(place, mark)
    fresh = {node: record for node, record in kept.records.items() if known.get(node) == stamps.get(node, ())}
    new = [entry for entry in named.entries if entry.node not in fresh]
    if not new and len(fresh) == len(kept.records):
        return kept
    read = read_all(new, book, observer)
    distinct = {**kept.distinct, **read.distinct}
    records = {entry.node: fresh.get(entry.node) or read.records[entry.node] for entry in named.entries}
    used = {record.digest for record in records.values()}
    found = Read(records, {digest: each for digest, each in distinct.items() if digest in used})
    _save(place, mark, found, stamps, observer)
    return found


def _stamp(entry: Entry) -> Stamp | None:
    try:
        files = [(file.name, file.stat()) for file in (entry.file, entry.bios) if file is not None]
    except OSError:
        return None
    return tuple((name, about.st_size, about.st_ctime_ns) for name, about in files)


def _mark(book: Book) -> str:
    """Return what the verdicts of an index hang on: this advisor, its rules and sheets, a site's, the work, and the day."""
    own = Path(advisor.__file__).parent
    files = [*own.rglob("*.py"), *rules().rglob("*.yaml"), *site_files(book.site)]
    told = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    text = json.dumps([_FORMAT, advisor.__version__, book.scope, time.strftime("%Y-%m-%d"), told])
    return hashlib.sha256(text.encode()).hexdigest()


def _save(place: Path, mark: str, read: Read, stamps: Mapping[str, Stamp], observer: Observer) -> None:
    """Write the index; where the folder is not ours to write in, the next look reads everything again."""
    import zstandard

    packed = zstandard.ZstdCompressor(level=3).compressobj()
    pieces = [packed.compress(json.dumps(line).encode() + b"\n") for line in _lines(mark, read, stamps)]
    try:
        write_file(place, b"".join((*pieces, packed.flush())))
    except AdvisorError as error:
        observer.detail(f"index not saved: {error}")


def _lines(mark: str, read: Read, stamps: Mapping[str, Stamp]) -> Iterator[dict[str, Any]]:
    yield {"mark": mark}
    parts: set[str] = set()
    for digest, each in read.distinct.items():
        for part in each.folded.parts.values():
            if part.digest.hex() not in parts:
                parts.add(part.digest.hex())
                facts = {name: (fact.key, fact.text, fact.size, fact.inside) for name, fact in part.facts.items()}
                yield {"part": part.digest.hex(), "facts": facts, "lists": sorted(part.lists)}
        yield {
            "distinct": digest,
            "hardware": (each.folded.hardware.base, each.folded.hardware.modules),
            "parts": {name: part.digest.hex() for name, part in each.folded.parts.items()},
            "judged": [list(asdict(one).values()) for one in each.judged],
        }
    for node, record in read.records.items():
        told = asdict(record)
        del told["node"]
        yield {"node": node, "stamp": stamps.get(node), "record": told}


def _load(place: Path, mark: str) -> tuple[Read, dict[str, Stamp | None]]:
    """Return what an index holds; nothing where it is another's, damaged, or not there."""
    try:
        return _read(place, mark)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AdvisorError, RecursionError):
        return Read(), {}


def _read(place: Path, mark: str) -> tuple[Read, dict[str, Stamp | None]]:
    read, stamps, parts = Read(), dict[str, Stamp | None](), dict[str, Part]()
    lines = _unpacked(place)
    if json.loads(next(lines, b"{}")).get("mark") != mark:
        return Read(), {}
    for line in lines:
        told = json.loads(line)
        if "part" in told:
            facts = {name: Fact(_hashable(key), text, size, inside) for name, (key, text, size, inside) in told["facts"].items()}
            parts[told["part"]] = Part(bytes.fromhex(told["part"]), facts, frozenset(told["lists"]))
        elif "distinct" in told:
            base, modules = _hashable(told["hardware"])
            own = {name: parts[digest] for name, digest in told["parts"].items()}
            judged = tuple(Judged(*_hashable(each)) for each in told["judged"])
            read.distinct[told["distinct"]] = Distinct(Folded(Hardware(base, modules), own), judged)
        else:
            fields = told["record"]
            added = tuple(Judged(**{**each, "facts": tuple(each["facts"])}) for each in fields.pop("added"))
            read.records[told["node"]] = Record(told["node"], **fields, added=added)
            stamps[told["node"]] = _hashable(told["stamp"])
    missing = {record.digest for record in read.records.values()} - {None, *read.distinct}
    if missing:
        raise ValueError("the index ends early")
    return read, stamps


def _unpacked(place: Path) -> Iterator[bytes]:
    import zstandard

    with open_trusted(place, Use.NAMED) as file:
        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as reader:
                rest, total = b"", 0
                while piece := reader.read(1 << 20):
                    total += len(piece)
                    if total > _LARGEST_INDEX:
                        raise ValueError("too large for an index")
                    *lines, rest = (rest + piece).split(b"\n")
                    yield from lines
                if rest:
                    raise ValueError("the index ends early")
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error


def _hashable(value: Any) -> Any:
    """Return a value of JSON with tuples in place of its lists."""
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value
