"""The index beside the captures: what each told, so that the second look at a fleet reads only what is new.

It is derived: an index of another advisor, of other rules or of another day, or one that is damaged, is made again. JSON lines,
compressed: a line for each node, and one for each distinct part, that equal nodes share.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import advisor
from advisor.errors import AdvisorError
from advisor.fleet.assemble import Judged
from advisor.fleet.fold import Fact, Folded, Hardware, Part
from advisor.host.files import open_here, write_file
from advisor.paths import rules
from advisor.work import SILENT, Observer
from advisor.work.fleet.folder import INDEX, Asked, Entry
from advisor.work.fleet.reading import Book, Distinct, Read, Record, read_all
from advisor.work.rules import site_files

_FORMAT: Final = 2
_LARGEST: Final = 1 << 30
"""Bytes of an index, unpacked: a hundred thousand nodes of which each is different have as many."""

Stamp = tuple[tuple[str, int, int], ...]
"""File, bytes, and when it was last written, of a capture and of the BIOS beside it: what has the same is the same."""


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
    return tuple((name, about.st_size, about.st_mtime_ns) for name, about in files)


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
        observer.detail(f"no index is kept: {error}")


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
            judged = tuple(Judged(*each) for each in told["judged"])
            read.distinct[told["distinct"]] = Distinct(Folded(Hardware(base, modules), own), judged)
        else:
            fields = told["record"]
            added = tuple(Judged(**each) for each in fields.pop("added"))
            read.records[told["node"]] = Record(told["node"], **fields, added=added)
            stamps[told["node"]] = _hashable(told["stamp"])
    missing = {record.digest for record in read.records.values()} - {None, *read.distinct}
    if missing:
        raise ValueError("the index ends early")
    return read, stamps


def _unpacked(place: Path) -> Iterator[bytes]:
    import zstandard

    with open_here(place) as file:
        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as reader:
                rest, total = b"", 0
                while piece := reader.read(1 << 20):
                    total += len(piece)
                    if total > _LARGEST:
                        raise ValueError("larger than any index")
                    *lines, rest = (rest + piece).split(b"\n")
                    yield from lines
                if rest:
                    raise ValueError("the index ends early")
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error


def _hashable(value: Any) -> Any:
    """Return a value of JSON with tuples in place of its lists."""
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value
