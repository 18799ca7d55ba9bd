"""A stored /sys + /proc tree as a host, in memory or on disk: links are followed, and never lead out of the tree."""

import os
from collections.abc import Mapping
from copy import copy
from typing import NamedTuple, Protocol

from advisor.errors import BadCapture
from advisor.machine.hosts.base import Ran, Reading, Why
from advisor.machine.hosts.files import names_in, read_file


class Link(NamedTuple):
    """A symbolic link, as it was stored."""

    target: str


Entry = bytes | Link | None
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

    def __init__(self, nodes: Mapping[str, Entry], file: str = "") -> None:
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

    def with_files(self, files: Mapping[str, bytes]) -> "MemoryStore":
        """Return a store with other contents of some of its files; what lies where is the same."""
        part = copy(self)
        part._nodes = {**self._nodes, **files}  # noqa: SLF001 - as above
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


HOPS = 40
"""Symbolic links on one path, as in the kernel (MAXSYMLINKS)."""
DEPTH = 4096
"""Components on one path with its links put in; the kernel's PATH_MAX is as long."""


class TreeHost:
    """What is left of a machine in a tree. It cannot tell what was not there from what was not kept."""

    kind = "root"

    def __init__(self, store: Store, name: str) -> None:
        self.name = name
        self._store = store
        self._folders: dict[str, str | None] = {}

    def read(self, path: str) -> Reading:
        """Return what a file holds; links are followed inside the tree."""
        place = self.place(path)
        if place is None:
            return Reading(why=Why.FAILED)
        reading = self._store.read(place)
        return Reading(why=self._missing(path, place)) if reading.why is Why.ABSENT else reading

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if it is not there."""
        place = self.place(path)
        return () if place is None else self._store.names(place)

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing is there."""
        place = self.place(path)
        return (place or "/") if place is not None and self._store.has(place) else None

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return that no command was kept."""
        del argv, timeout
        return Ran(why=Why.NOT_KEPT)

    def environment(self) -> dict[str, str]:
        """Return nothing: a tree keeps no variables."""
        return {}

    def place(self, path: str) -> str | None:
        """Return where a path leads, whether or not something is there; None for a loop of links."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = walk(self._store, "", folder)
        start = self._folders[folder]
        return None if start is None else walk(self._store, start, name)

    def _missing(self, path: str, place: str) -> Why:
        """Return why nothing is at a place."""
        del path, place
        return Why.NOT_KEPT


def walk(store: Store, start: str, path: str) -> str | None:
    """Return the place that a path names from a starting place; None if its links loop."""
    todo = path.split("/")[::-1]
    here, hops = start, HOPS
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":  # above the top is the top, as in a chroot
            here = here.rpartition("/")[0]
            continue
        target = store.link(f"{here}/{part}")
        if target is None:
            here = f"{here}/{part}"
            continue
        hops -= 1
        if hops < 0 or len(todo) > DEPTH:
            return None
        here = "" if target.startswith("/") else here
        todo.extend(reversed(target.split("/")))
    return here


def top_of(store: Store, depth: int = 3) -> str | None:
    """Return the highest folder of a store that holds ``sys`` or ``proc``, or None if there is none."""
    level = [""]
    for _ in range(depth):
        for folder in level:
            if {"sys", "proc"} & set(store.names(folder)):
                return folder
        level = [f"{folder}/{name}" for folder in level for name in store.names(folder)[:1000]][:1000]
    return None
