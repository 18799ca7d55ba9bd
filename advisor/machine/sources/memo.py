"""Reads many captures that are alike: what a source made of the same bytes is not made again.

Kept is exactly what each source asked: the bytes of each file and of each command's answer, the variables, and of a file of which
it looks at a part, what it made of that. Which files, folders and links there are, what could not be read, and what was never
looked for is the same in all captures that share a memo: one in which that differs has a memo of its own.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from advisor.machine.hosts.archive import BLOCK, Member, checksum_holds, is_tar, laid_out, number_in
from advisor.machine.hosts.base import Host, Ran, Reading, RedactedHost
from advisor.machine.hosts.capture import CaptureHost, Entry, MemoryStore
from advisor.machine.hosts.source import contents, host_of_data, host_of_store, open_host
from advisor.machine.machine import Machine
from advisor.machine.sources.reader import FactSource
from advisor.machine.sources.registry import asked, collect_machine

_FILES: Final = bytes([0, *b"07"])
_ODD: Final = b"xg1"
"""Extended headers, and hard links: what a member holds stands elsewhere too."""
_RUN: Final = 32
"""Members that are compared at once, as one stretch of bytes."""
_END: Final = bytes(BLOCK)


class Pattern:
    """An archive that others may be alike to."""

    def __init__(self, data: bytes, nodes: dict[str, Entry], members: list[Member], file: str) -> None:
        self._data, self.nodes, self._members = data, nodes, members
        self.store = MemoryStore(nodes, file)
        self._runs = list(self._stretches())
        files = [member.path for member in self._members if member.kind in _FILES]
        self._plain = len(files) == len(set(files)) and not any(member.kind in _ODD for member in self._members)

    def changes(self, data: bytes) -> dict[str, bytes] | None:
        """Return the files of an archive whose content differs from this one's; None where it is not alike."""
        found: dict[str, bytes] = {}
        at = 0
        for start, end, members in self._runs if self._plain else ():
            if data[at : at + end - start] == self._data[start:end]:
                at += end - start
                continue
            for member in members:
                after = self._compared(member, data, at, found)
                if after is None:
                    return None
                at = after
        return found if self._plain and data[at : at + BLOCK] == _END else None

    def with_changes(self, changes: dict[str, bytes]) -> MemoryStore:
        """Return the store of an archive with such changes."""
        return self.store.with_files(changes)

    def difference(self, nodes: dict[str, Entry]) -> dict[str, bytes] | None:
        """Return the files of other nodes whose content differs; None where other files, folders or links are there."""
        if nodes.keys() != self.nodes.keys():
            return None
        found: dict[str, bytes] = {}
        for path, node in nodes.items():
            own = self.nodes[path]
            if node != own:
                if not isinstance(node, bytes) or not isinstance(own, bytes):
                    return None
                found[path] = node
        return found

    def _stretches(self) -> Iterator[tuple[int, int, list[Member]]]:
        """Yield runs of members, and from where to where they lie."""
        for first in range(0, len(self._members), _RUN):
            run = self._members[first : first + _RUN]
            last = run[-1]
            yield run[0].position, last.position + BLOCK + _padded(last.size), run

    def _compared(self, member: Member, data: bytes, at: int, found: dict[str, bytes]) -> int | None:
        """Note a member's content where it differs; return where the next one lies, None where this is another member."""
        size, start = member.size, member.position
        header, own = data[at : at + BLOCK], self._data[start : start + BLOCK]
        if header != own:
            if len(header) < BLOCK or header[:100] != own[:100] or header[156:] != own[156:] or not checksum_holds(header):
                return None
            size = number_in(header[124:136])
            if size < 0 or (size != member.size and member.kind not in _FILES):
                return None
        content = data[at + BLOCK : at + BLOCK + size]
        if len(content) < size:
            return None
        if size != member.size or content != self._data[start + BLOCK : start + BLOCK + size]:
            if member.kind not in _FILES or member.path is None or not isinstance(self.nodes.get(member.path), bytes):
                return None
            found[member.path] = content
        return at + BLOCK + _padded(size)


def _padded(size: int) -> int:
    return size + -size % BLOCK


V = TypeVar("V")
_PATTERNS: Final = 6
"""Captures that others are compared with, in memory; the largest machines' have 20 MB."""
_RESULTS: Final = 32
"""Results of a source that are kept for one way of asking; what names a node is another on each."""
_GROUPS: Final = 8


class Asked(NamedTuple):
    """What a source asked of a capture, beside which files and folders there are."""

    files: frozenset[str] = frozenset()
    views: frozenset[tuple[str, Callable[[str], Any]]] = frozenset()
    commands: frozenset[tuple[str, ...]] = frozenset()
    answers: frozenset[tuple[tuple[str, ...], Callable[[bytes], Any]]] = frozenset()
    environment: bool = False


class Traced:
    """A capture that notes what it is asked, and takes parts from a memo."""

    screened = True

    def __init__(self, host: CaptureHost, memo: "_Memo", changes: "_Changes") -> None:
        self._host, self._memo, self._changes = host, memo, changes
        self._screened = RedactedHost(host)
        self.name, self.kind = host.name, host.kind
        self._files: set[str] = set()
        self._views: set[tuple[str, Callable[[str], Any]]] = set()
        self._commands: set[tuple[str, ...]] = set()
        self._answers: set[tuple[tuple[str, ...], Callable[[bytes], Any]]] = set()
        self._environment = False

    @property
    def asked(self) -> Asked:
        """What was asked up to now."""
        commands, answers = frozenset(self._commands), frozenset(self._answers)
        return Asked(frozenset(self._files), frozenset(self._views), commands, answers, self._environment)

    def read(self, path: str) -> Reading:
        """Return what a file held."""
        place = self._host.place(path)
        if place is not None:
            self._files.add(place)
        return self._screened.read(path)

    def view(self, path: str, view: Callable[[str], V]) -> V:
        """Return what a function makes of a file's text."""
        place = self._host.place(path)
        if place is not None:
            self._views.add((place, view))
        return view(_text(self._screened.read(path)))

    def part(self, make: Callable[[Host], V]) -> V:
        """Return what a function learns, from a capture that showed it the same where there is one."""
        way, made = self._memo.made(self._changes, make, make, self._host)
        self._files |= way.files
        self._views |= way.views
        self._commands |= way.commands
        self._answers |= way.answers
        self._environment |= way.environment
        return made

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder: the same in all captures that share a memo."""
        return self._host.list(path)

    def real(self, path: str) -> str | None:
        """Return the path without links: the same in all captures that share a memo."""
        return self._host.real(path)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed."""
        self._commands.add(tuple(argv))
        return self._screened.run(argv, timeout)

    def answer_view(self, argv: tuple[str, ...], view: Callable[[bytes], V]) -> V:
        """Return what a function makes of a command's output."""
        self._answers.add((argv, view))
        return view(self._screened.run(argv).out)

    def environment(self) -> dict[str, str]:
        """Return the variables that were set."""
        self._environment = True
        return self._screened.environment()


def _text(reading: Reading) -> str:
    """Return a file's text as Reader.text does; the empty text where there is none."""
    return (reading.text or "").strip().rstrip("\0")


@dataclass
class _Changes:
    """In what a capture differs from the one that it is alike to."""

    files: dict[str, bytes] = field(default_factory=dict)
    commands: dict[tuple[str, ...], dict[str, bytes]] = field(default_factory=dict)
    environment: bytes | None = None
    deep: bool = False
    """Whether what was looked for is another: then nothing is taken over."""


class _Memo:
    """What sources made of captures that are alike."""

    def __init__(self, pattern: Pattern, host: CaptureHost, top: str) -> None:
        self.pattern, self._host, self._top = pattern, host, top
        self._results: dict[Hashable, dict[Asked, dict[Hashable, Any]]] = {}
        self._base: dict[tuple[str, Callable[[str], Any]], Any] = {}

    def host(self, found: dict[str, bytes], name: str) -> CaptureHost:
        """Return the host of a capture that differs so."""
        return self._host.alike(self.pattern.with_changes(found).below(self._top), name)

    def changes(self, found: Mapping[str, bytes]) -> _Changes:
        """Return changed members as what sources ask for."""
        made = _Changes()
        for path, content in found.items():
            part, _, rest = path.removeprefix(f"{self._top}/").partition("/")
            if part == "root":
                made.files[f"/{rest}"] = content
            elif part == "commands" and (argv := self._argv(rest.partition("/")[0])) and not rest.endswith("/argv"):
                made.commands.setdefault(argv, {})[rest.partition("/")[2]] = content
            elif part == "environment":
                made.environment = content
            else:
                made.deep = made.deep or part not in ("about", "again")
        return made

    def _argv(self, number: str) -> tuple[str, ...] | None:
        content = self.pattern.nodes.get(f"{self._top}/commands/{number}/argv")
        if not isinstance(content, bytes):
            return None
        return tuple(content.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n"))

    def ask(self, changes: _Changes, source: FactSource, host: Host) -> Machine:
        """Return what a source makes of a capture, from another that showed it the same where there is one."""
        return self.made(changes, source.name, partial(asked, source), host)[1]

    def made(self, changes: _Changes, name: Hashable, make: Callable[[Host], V], host: Host) -> tuple[Asked, V]:
        """Return what a function makes of a capture, and what it asked."""
        known = self._results.setdefault(name, {})
        for way, results in known.items():
            found = results.get(self._key(way, changes))
            if found is not None:
                return way, found
        traced = Traced(host, self, changes)  # type: ignore[arg-type]  # every host of a memo is a capture
        made = make(traced)
        results = known.setdefault(traced.asked, {})
        results[self._key(traced.asked, changes)] = made
        if len(results) > _RESULTS:
            del results[next(iter(results))]
        if len(known) > _GROUPS:
            del known[next(iter(known))]
        return traced.asked, made

    def _key(self, way: Asked, changes: _Changes) -> Hashable:
        """Return in what a capture differs where a source looked; equal keys are equal answers to all that it asked."""
        files = changes.files
        views = ((each, _viewed(files[each[0]], each[1])) for each in way.views if each[0] in files)
        return (
            frozenset((path, files[path]) for path in way.files & files.keys()),
            frozenset((each, value) for each, value in views if value != self._of_pattern(each)),
            frozenset((argv, frozenset(changes.commands[argv].items())) for argv in way.commands & changes.commands.keys()),
            frozenset((each, self._answered(changes, *each)) for each in way.answers if each[0] in changes.commands),
            changes.environment if way.environment else None,
        )

    def _answered(self, changes: _Changes, argv: tuple[str, ...], view: Callable[[bytes], Any]) -> Hashable:
        """Return in what a command's answer differs where only a part of its output is looked at."""
        members = changes.commands[argv]
        rest = frozenset((name, content) for name, content in members.items() if name != "stdout")
        told = view(members["stdout"]) if "stdout" in members else None
        return rest, blake2b(told, digest_size=16).digest() if isinstance(told, bytes) else told

    def _of_pattern(self, each: tuple[str, Callable[[str], Any]]) -> Any:
        """Return what a function makes of the pattern's own file."""
        if each not in self._base:
            place, view = each
            self._base[each] = view(_text(self._host.read(place)))
        return self._base[each]


def _viewed(content: bytes, view: Callable[[str], V]) -> V:
    return view(_text(Reading(content)))


class CaptureReader:
    """Reads captures one after the other."""

    def __init__(self) -> None:
        self._memos: list[_Memo] = []

    def read(self, file: Path) -> tuple[Machine, Host, Host]:
        """Return the machine of a capture, an hwloc XML or a root, the host that it was read from, and one that takes parts."""
        data = contents(str(file))
        if data is None or not is_tar(data):
            host = open_host(str(file)) if data is None else host_of_data(data, file)
            return collect_machine(host), host, host
        memo, found = self._alike(data, file.name)
        if memo is None:
            host = host_of_data(data, file)
            return collect_machine(host), host, host
        changes = memo.changes(found)
        if changes.deep:
            host = host_of_data(data, file)
            return collect_machine(host), host, host
        capture = memo.host(found, file.name)
        return collect_machine(capture, ask=partial(memo.ask, changes)), capture, Traced(capture, memo, changes)

    def _alike(self, data: bytes, name: str) -> tuple[_Memo | None, dict[str, bytes]]:
        """Return the memo of captures that are alike to one, and in what it differs; a new memo where there is none."""
        for memo in self._memos:
            found = memo.pattern.changes(data)
            if found is not None:
                return self._first(memo), found
        nodes, members = laid_out(data, name)
        for memo in self._memos:
            found = memo.pattern.difference(nodes)
            if found is not None:
                return self._first(memo), found
        pattern = Pattern(data, nodes, members, name)
        host = host_of_store(pattern.store, name)
        top = next((path.removesuffix("/format") for path in nodes if path.endswith("/format") and path.count("/") <= 2), None)
        if not isinstance(host, CaptureHost) or top is None:
            return None, {}
        self._memos = [_Memo(pattern, host, top), *self._memos][:_PATTERNS]
        return self._memos[0], {}

    def _first(self, memo: _Memo) -> _Memo:
        self._memos.remove(memo)
        self._memos.insert(0, memo)
        return memo
