"""Reads many captures that are alike: what a source made of the same bytes is not made again.

Kept is exactly what each source asked: the bytes of each file and of each command's answer, the variables, and of a file of which
it looks at a part, what it made of that. Which files, folders and links there are, what could not be read, and what was never
looked for is the same in all captures that share a memo: one in which that differs has a memo of its own.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from advisor.machine.hosts.archive import BLOCK, Member, Tar, checksum_holds, is_tar, number_in
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
        # Runs of members, and from where to where they lie.
        runs = [members[first : first + _RUN] for first in range(0, len(members), _RUN)]
        self._runs = [(run[0].position, run[-1].position + BLOCK + _padded(run[-1].size), run) for run in runs]
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


Question = str | tuple[str, ...]
"""A file of the capture by its place, a command by its words, or the variables, which the empty text stands for."""
View = tuple[Question, Callable[[Any], Any]]
"""A file or a command's output, and what was made of it, which is all that counts."""


class Asked(NamedTuple):
    """What a source asked of a capture, beside which files and folders there are."""

    whole: frozenset[Question] = frozenset()
    views: frozenset[View] = frozenset()


class Traced(RedactedHost):
    """A capture that notes what it is asked, and takes parts from a memo."""

    def __init__(self, host: CaptureHost, memo: "_Memo", changes: "_Changes") -> None:
        super().__init__(host)
        self._capture, self._memo, self._changes = host, memo, changes
        self._whole: set[Question] = set()
        self._views: set[View] = set()

    @property
    def asked(self) -> Asked:
        """What was asked up to now."""
        return Asked(frozenset(self._whole), frozenset(self._views))

    def read(self, path: str) -> Reading:
        """Return what a file held."""
        if (place := self._capture.place(path)) is not None:
            self._whole.add(place)
        return super().read(path)

    def view(self, path: str, view: Callable[[str], V]) -> V:
        """Return what a function makes of a file's text."""
        if (place := self._capture.place(path)) is not None:
            self._views.add((place, view))
        return view(_text(super().read(path)))

    def part(self, make: Callable[[Host], V]) -> V:
        """Return what a function learns, from a capture that showed it the same where there is one."""
        asked, made = self._memo.made(self._changes, make, make, self._capture)
        self._whole |= asked.whole
        self._views |= asked.views
        return made

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed."""
        self._whole.add(tuple(argv))
        return super().run(argv, timeout)

    def answer_view(self, argv: tuple[str, ...], view: Callable[[bytes], V]) -> V:
        """Return what a function makes of a command's output."""
        self._views.add((argv, view))
        return view(super().run(argv).out)

    def environment(self) -> dict[str, str]:
        """Return the variables that were set."""
        self._whole.add("")
        return super().environment()


def _text(reading: Reading) -> str:
    """Return a file's text as Reader.text does; the empty text where there is none."""
    return (reading.text or "").strip().rstrip("\0")


_Changes = dict[Question, Any]
"""In what a capture differs from the one that it is alike to: bytes, of a command those of its members by name."""


class _Memo:
    """What sources made of captures that are alike."""

    def __init__(self, pattern: Pattern, host: CaptureHost, top: str) -> None:
        self.pattern, self._host, self._top = pattern, host, top
        self._results: dict[Hashable, dict[Asked, dict[Hashable, Any]]] = {}
        self._base: dict[View, Any] = {}

    def host(self, found: dict[str, bytes], name: str) -> CaptureHost:
        """Return the host of a capture that differs so."""
        return self._host.alike(self.pattern.store.with_files(found).below(self._top), name)

    def changes(self, found: Mapping[str, bytes]) -> _Changes | None:
        """Return changed members as what sources ask for; None where what was looked for is another: nothing is taken over."""
        changes: _Changes = {}
        for path, content in found.items():
            part, _, rest = path.removeprefix(f"{self._top}/").partition("/")
            number, _, member = rest.partition("/")
            if part == "root":
                changes[f"/{rest}"] = content
            elif part == "commands" and (argv := self._argv(number)) and not rest.endswith("/argv"):
                changes.setdefault(argv, {})[member] = content
            elif part == "environment":
                changes[""] = content
            elif part not in ("about", "again"):
                return None
        return changes

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
        whole = {question: changes[question] for question in way.whole & changes.keys()}
        return (
            frozenset((of, frozenset(new.items()) if isinstance(new, dict) else new) for of, new in whole.items()),
            frozenset((view, seen) for view in way.views if view[0] in changes for seen in self._seen(view, changes[view[0]])),
        )

    def _seen(self, view: View, new: Any) -> Iterator[Hashable]:
        """Yield what is seen of a file or an answer that differs, where that differs too."""
        place, of = view
        if isinstance(new, dict):
            seen = of(new["stdout"]) if "stdout" in new else None
            rest = frozenset((name, content) for name, content in new.items() if name != "stdout")
            yield rest, blake2b(seen, digest_size=16).digest() if isinstance(seen, bytes) else seen
            return
        if view not in self._base:
            self._base[view] = of(_text(self._host.read(str(place))))
        if (seen := of(_text(Reading(new)))) != self._base[view]:
            yield seen


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
        changes = memo.changes(found) if memo else None
        if memo is None or changes is None:
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
        tar = Tar(data, name)
        nodes = tar.nodes()
        for memo in self._memos:
            found = memo.pattern.difference(nodes)
            if found is not None:
                return self._first(memo), found
        pattern = Pattern(data, nodes, tar.members, name)
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
