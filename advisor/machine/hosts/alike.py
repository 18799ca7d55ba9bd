"""Archives that are alike: of a fleet's captures most bytes are the same, and only the members that differ are taken out.

A member is taken for the same only where its bytes are. An archive whose members are others, or stand in another order, is not
alike: it is unpacked as any other.
"""

from collections.abc import Iterator
from typing import Final

from advisor.machine.hosts.archive import BLOCK, Member, checksum_holds, number_in
from advisor.machine.hosts.tree import Entry, MemoryStore

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
