"""Reads many captures and judges each distinct machine once, on every core that there is."""

import gc
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from threading import active_count
from typing import Final

from advisor.collect.fault_counters import look, watched
from advisor.collect.memo import CaptureReader
from advisor.errors import AdvisorError, BadInput, CannotWork
from advisor.fleet.assemble import Judged
from advisor.fleet.essence import digest_of
from advisor.fleet.fold import Folded, fold
from advisor.host.base import Host, second_look
from advisor.host.capture import CaptureHost
from advisor.judge.engine import judge
from advisor.judge.evidence import Origins
from advisor.judge.rule import Rule
from advisor.know.settings import settings
from advisor.model.audit.case import Case
from advisor.model.audit.findings import Finding
from advisor.model.audit.platform import Scope
from advisor.model.hardware.fault_counters import Watch
from advisor.model.hardware.machine import Machine
from advisor.work import SILENT, Observer
from advisor.work.bios import bios_of
from advisor.work.fleet.folder import Entry
from advisor.work.judgement import Judgement, judged
from advisor.work.machine import json_data, machine_from_json
from advisor.work.rules import rulebook

_CHUNK: Final = 50
"""Captures that a process is given at once."""
_CASES: Final = 64
"""Machines whose cases are kept; the largest have a megabyte."""
_ALONE: Final = 40
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
            raise CannotWork("a process that read captures was ended; see the memory limit, or give fewer captures") from error
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
        self.distinct: dict[str, Distinct] = {}

    def read(self, entry: Entry) -> Record:
        """Return what a capture tells, or why it cannot be read."""
        try:
            machine, about, watch = self._opened(entry.file)
        except BadInput as error:
            return Record(entry.node, error="truncated" if "cut short" in error.problem else error.problem[:120])
        except (AdvisorError, OSError) as error:
            return Record(entry.node, error=str(error)[:120])
        machine, unfit = self._with_bios(machine, entry.bios)
        digest = digest_of(machine)
        if digest not in self.distinct:
            judgement = self._judged(digest, machine)
            found = (each for each in judgement.audit.found if each.id not in _counting(self._book.site))
            self.distinct[digest] = Distinct(fold(machine), tuple(map(_told, found)))
        added = self._on_counters(digest, machine, watch) if watch else ()
        told = (machine.name, about.get("advisor"), about.get("time"))
        return Record(entry.node, digest, None, *told, tuple(map(_told, added)), unfit)

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
            given = bios_of((file,), machine)
            host = given.owner.host_name if given.owner else None
            if host and machine.name and short_name(host) != short_name(machine.name):
                return machine, f"its BMC says that the server is {host[:64]}"
            return machine.model_copy(update={"bios": given.bios}), None
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

    def _on_counters(self, digest: str, machine: Machine, watch: Watch) -> Iterator[Finding]:
        """Yield the findings on counters of faults."""
        known = self._cases.get(digest) or self._judged(digest, machine).case
        case = known.model_copy(update={"watch": watch})
        rules = _counting(self._book.site)
        origins = Origins(watch.sources, watch.gaps, case, settings())
        return (each for each in judge(case, rules.values(), settings(), origins) if each.verdict == "finding")


@cache
def _counting(site: tuple[Path, ...]) -> dict[str, Rule]:
    """Return the rules that ask for counters of faults; no other can see them."""
    return {rule.id: rule for rule in rulebook(site).rules if re.search(r"\bwatch\b", rule.text.model_dump_json())}


def short_name(name: str) -> str:
    """Return a host's name without its domain, as two that are the same are written alike."""
    return name.partition(".")[0].lower()


def _told(finding: Finding) -> Judged:
    fix = finding.fix[0].text if finding.fix else finding.advice or finding.want or ""
    return Judged(finding.id, finding.severity, finding.title, finding.claim or "", fix)


def _watch(host: Host, sharing: Host) -> Watch | None:
    if host.kind == "hwloc xml":
        return None
    second, first = second_look(host), look(sharing)
    return watched(host, first) if second is None else watched(host, first, look(second.host), second.seconds)
