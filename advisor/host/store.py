"""Where a stored tree lies: in memory, or in a folder on disk. Nothing here follows a symbolic link."""

import os
from collections.abc import Mapping
from copy import copy
from typing import NamedTuple, Protocol

from advisor.errors import BadCapture
from advisor.host.base import Reading, Why
from advisor.host.files import names_in, read_file


class Link(NamedTuple):
    """A symbolic link, as it was stored."""

    target: str


Node = bytes | Link | None
"""A file, a link or a folder."""


class Store(Protocol):
    """Exactly what lies at a place: an absolute path without symbolic links; the empty text is the top."""

    def link(self, place: str) -> str | None:
        """Return where the symbolic link at a place points, or None if there is none."""
        ...

    def read(self, place: str) -> Reading:
        """Return what the file at a place holds; ABSENT if nothing is there, FAILED for a folder."""
        ...

    def names(self, place: str) -> tuple[str, ...]:
        """Return the names in the folder at a place, sorted."""
        ...

    def has(self, place: str) -> bool:
        """Tell whether anything is at a place."""
        ...

    def below(self, place: str) -> "Store":
        """Return the tree below one of the folders, as a store of its own."""
        ...


class MemoryStore:
    """A tree in memory: what an archive held."""

    def __init__(self, nodes: Mapping[str, Node], file: str = "") -> None:
        self._nodes = nodes
        self._top = ""
        self._folders: dict[str, list[str]] = {"": []}
        for path in nodes:
            self._enter(path)
        for folder in self._folders:
            if nodes.get(folder) is not None:
                raise BadCapture("members lie inside what is not a folder", file=file, place=ascii(folder[1:101]))

    def below(self, place: str) -> "MemoryStore":
        """Return the tree below one of the folders, as a store of its own."""
        part = copy(self)
        part._top = self._top + place  # noqa: SLF001 - a store makes another of its own class
        return part

    def _enter(self, path: str) -> None:
        """Note a path in its folder, and each folder that is new in the one above."""
        while path:
            folder, _, name = path.rpartition("/")
            siblings = self._folders.get(folder)
            if siblings is not None:
                siblings.append(name)
                return
            self._folders[folder] = [name]
            path = folder

    def link(self, place: str) -> str | None:
        """Return where the symbolic link at a place points, or None if there is none."""
        node = self._nodes.get(self._top + place)
        return node.target if isinstance(node, Link) else None

    def read(self, place: str) -> Reading:
        """Return what the file at a place holds."""
        node = self._nodes.get(self._top + place)
        if isinstance(node, bytes):
            return Reading(node)
        return Reading(why=Why.FAILED if self.has(place) else Why.ABSENT)

    def names(self, place: str) -> tuple[str, ...]:
        """Return the names in the folder at a place, sorted."""
        return tuple(sorted(set(self._folders.get(self._top + place, ()))))

    def has(self, place: str) -> bool:
        """Tell whether anything is at a place."""
        path = self._top + place
        return path in self._nodes or path in self._folders


class DiskStore:
    """A tree in a folder on disk. Places come from a walk that stays inside; a link at the end is never followed."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder).rstrip("/")

    def below(self, place: str) -> "DiskStore":
        """Return the tree below one of the folders, as a store of its own; a link in its place leads nowhere."""
        part = copy(self)
        part._folder = self._folder + place if self.link(place) is None else os.devnull  # noqa: SLF001 - as above
        return part

    def link(self, place: str) -> str | None:
        """Return where the symbolic link at a place points, or None if there is none."""
        try:
            return os.readlink(self._folder + place)  # noqa: PTH115 - asked for each component of each path
        except (OSError, ValueError):
            return None

    def read(self, place: str) -> Reading:
        """Return what the file at a place holds."""
        return read_file(self._folder + place, follow=False)

    def names(self, place: str) -> tuple[str, ...]:
        """Return the names in the folder at a place, sorted."""
        return names_in(self._folder + place or "/") if self.link(place) is None else ()

    def has(self, place: str) -> bool:
        """Tell whether anything is at a place."""
        return "\0" not in place and os.path.lexists(self._folder + place)
