"""A stored /sys + /proc tree as a host: links are followed as the machine would, and never lead out of the tree."""

from advisor.host.base import Ran, Reading, Why
from advisor.host.store import Store

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
