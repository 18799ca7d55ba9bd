"""A capture as a host: answers what the machine would have answered, and says what was never asked of it.

A capture is a tar archive with one folder, ``advisor-capture/``, which a plain shell script can write:

    format                     one line: advisor-capture 1
    about                      lines key: value: advisor, made (python or shell), time, uid, anonymised (yes or no)
    patterns                   the paths that were looked for, one a line (see patterns.py)
    root/...                   the files and symbolic links as they lay on the machine
    gaps                       lines of what could not be read: refused<TAB>path, failed<TAB>path or full<TAB>path
    environment                lines NAME=value
    commands/000/argv          one argument a line
    commands/000/path          where the program was found
    commands/000/stdout, commands/000/stderr
    commands/000/status        its exit status; or absent, refused, failed, timeout, full
    again/seconds              how long after the first look the counters of faults were looked at again
    again/root/...             what they said then, under their own names, without links

A path in gaps answers so. A path that was looked for and is not there was absent. Of any other nothing is known.
"""

import gzip
import io
import os
import posixpath
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from time import monotonic
from typing import NamedTuple, Protocol

from advisor.errors import BadCapture, BadInput
from advisor.machine.hosts.base import (
    ENVIRONMENT_PREFIXES,
    LINK,
    WILD,
    Host,
    PathPatterns,
    Ran,
    Reading,
    SecondLook,
    Why,
    any_match,
    concrete_patterns,
    example_path,
    expand,
    second_look,
    seconds_since,
)
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
                raise BadCapture("not a folder, but other members are inside it", file=file, place=ascii(folder[1:101]))

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
        self._leads: dict[str, str | None] = {}
        """Where paths lead that were asked for: the same in every capture with the same files, folders and links."""

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
        if path in self._leads:
            return self._leads[path]
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = walk(self._store, "", folder)
        start = self._folders[folder]
        found = self._leads[path] = None if start is None else walk(self._store, start, name)
        return found

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


def top_of(store: Store) -> str | None:
    """Return the highest folder of a store that holds ``sys`` or ``proc``, or None if there is none."""
    level = [""]
    for _ in range(3):
        for folder in level:
            if {"sys", "proc"} & set(store.names(folder)):
                return folder
        level = [f"{folder}/{name}" for folder in level for name in store.names(folder)[:1000]][:1000]
    return None


TOP = "advisor-capture"
FORMAT = "advisor-capture 1"
WORDS = {"absent": Why.ABSENT, "refused": Why.REFUSED, "failed": Why.FAILED, "timeout": Why.TIMEOUT, "full": Why.FULL}
"""How a capture writes why there is no content."""
_SIGN = b"advisor-capture "
_SECONDS = re.compile(r"\d{1,7}(\.\d{1,9})?", re.ASCII)
_PATTERNS = 10_000
_ENTRIES = 1000
_BUDGET = 1_000_000
"""Names that are compared with patterns before a hostile capture's answer is that nothing is known."""


def capture_in(store: Store) -> Store | None:
    """Return the part of a store that is a capture, or None if it holds none."""
    places = ["", *(f"/{name}" for name in store.names("")[:_ENTRIES])]
    place = next((place for place in places if store.read(f"{place}/format").data.startswith(_SIGN)), None)
    return None if place is None else store.below(place)


class CaptureHost(TreeHost):
    """A machine that was captured."""

    kind = "capture"

    def __init__(self, store: Store, name: str) -> None:
        super().__init__(store.below("/root"), name)
        self._capture = store
        self._check_format()
        self.about = dict(self._pairs("about", ": "))
        self.patterns = tuple(line for line in self._lines("patterns") if line.startswith("/"))
        if len(self.patterns) > _PATTERNS:
            raise BadCapture(f"more than {_PATTERNS} patterns", file=name, place="patterns")
        self._looked = PathPatterns(self.patterns)
        self._looked_in: dict[str, list[str]] | None = None
        self._gaps = self._read_gaps()
        self._closed = MemoryStore(dict.fromkeys(self._gaps))
        self._ran = self._read_commands()
        self._whys: dict[str, Why] = {}
        self._again: TreeHost | None = None

    def alike(self, store: Store, name: str) -> "CaptureHost":
        """Return the host of a capture with the same files, folders, links, patterns and gaps, and other contents."""
        self._was_looked_in("/")  # what holds for all of them is found once
        self._again = self._again or TreeHost(self._capture.below("/again/root"), self.name)
        other = copy(self)
        other.name, other._capture, other._store = name, store, store.below("/root")  # noqa: SLF001 - of its own class
        other.about, other._ran = dict(other._pairs("about", ": ")), other._read_commands()  # noqa: SLF001 - as above
        return other

    def read(self, path: str) -> Reading:
        """Return what a file held, or why that is not known."""
        reading = super().read(path)
        if reading.why and self._gaps:
            place = self.place(path)
            return Reading(why=self._gaps.get(place or "", reading.why))
        return reading

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder that were kept or could not be read, sorted."""
        place = self.place(path)
        return () if place is None else tuple(sorted({*self._store.names(place), *self._closed.names(place)}))

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing was there."""
        place = self.place(path)
        return place if place and self._closed.has(place) else super().real(path)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what the command printed on the machine, if it was asked there."""
        del timeout
        return self._ran.get(tuple(argv), Ran(why=Why.NOT_KEPT))

    @property
    def again(self) -> SecondLook | None:
        """The second look at the counters of faults; None where they were looked at once."""
        text = self._text("again/seconds").strip()
        if not _SECONDS.fullmatch(text):
            return None
        tree = TreeHost(self._capture.below("/again/root"), self.name)
        if self._again is not None:
            tree._folders, tree._leads = self._again._folders, self._again._leads  # noqa: SLF001 - of its own class
        return SecondLook(float(text), tree)

    def environment(self) -> dict[str, str]:
        """Return the variables that were set."""
        return {name: value for name, value in self._pairs("environment", "=") if name.startswith(ENVIRONMENT_PREFIXES)}

    def _missing(self, path: str, place: str) -> Why:
        """Return ABSENT for what was looked for; inside a folder that could not be opened, that; else NOT_KEPT."""
        if path not in self._whys:
            self._whys[path] = self._why(path, place)
        return self._whys[path]

    def _why(self, path: str, place: str) -> Why:
        if self._closed.has(place):
            return Why.FAILED  # a folder of which only closed files are known
        folder = place
        while self._gaps and (folder := folder.rpartition("/")[0]):
            if folder in self._gaps:
                return self._gaps[folder]
        looked = self._looked.covers(path) or self._looked.covers(place) or self._was_looked_in(place)
        return Why.ABSENT if looked else Why.NOT_KEPT

    def _was_looked_in(self, place: str) -> bool:
        """Tell whether a place was looked for under another name, through symbolic links."""
        if self._looked_in is None:
            self._looked_in = {}
            budget = iter(range(_BUDGET))
            for pattern, names in self._looked.folders.items():
                for folder in self._places(pattern, budget):
                    self._looked_in.setdefault(folder, []).extend(names)
        folder, _, name = place.rpartition("/")
        return any_match(name, self._looked_in.get(folder, ()))

    def _places(self, pattern: str, budget: Iterator[int]) -> set[str]:
        """Return the places that a pattern's folders lead to; each but once, so that loops of links do not multiply."""
        places = {""}
        for part in pattern.split("/")[1:]:
            found = {self.place(f"{place}/{name}") for place in places for name in self._names(place, part, budget)}
            places = {place for place in found if place is not None}
        return places

    def _names(self, place: str, part: str, budget: Iterator[int]) -> Iterator[str]:
        """Yield the names in a folder that a component matches, while the budget of names lasts."""
        names = self._store.names(place) if any(char in part for char in WILD) else (part,)
        return (name for name in names if next(budget, None) is not None and any_match(name, (part,)))

    def _check_format(self) -> None:
        line = self._text("format").strip()
        if line != FORMAT:
            cure = "update advisor" if line.startswith(_SIGN.decode()) else None
            raise BadCapture(f"its format is {line[:40]!a}, but this advisor reads {FORMAT!r}", file=self.name, cure=cure)

    def _read_gaps(self) -> dict[str, Why]:
        gaps: dict[str, Why] = {}
        for word, path in self._pairs("gaps", "\t"):
            place = self.place(path) if path.startswith("/") else None
            if word not in WORDS or place is None:
                raise BadCapture(f"cannot read {f'{word} {path}'[:100]!a}", file=self.name, place="gaps")
            gaps[place] = WORDS[word]
        return gaps

    def _read_commands(self) -> dict[tuple[str, ...], Ran]:
        numbers = self._capture.names("/commands")[:_ENTRIES]
        return {self._lines(f"commands/{number}/argv"): self._read_command(f"commands/{number}") for number in numbers}

    def _read_command(self, folder: str) -> Ran:
        status = self._text(f"{folder}/status").strip()
        if status in WORDS:
            return Ran(why=WORDS[status])
        if not status.lstrip("-").isdecimal() or len(status) > 9:
            raise BadCapture(f"{status[:40]!a} is not an exit status", file=self.name, place=f"{folder}/status")
        out, err = (self._capture.read(f"/{folder}/{name}").data for name in ("stdout", "stderr"))
        return Ran(out, err, int(status), path=self._text(f"{folder}/path").strip() or None)

    def _pairs(self, file: str, between: str) -> tuple[tuple[str, str], ...]:
        pairs = (line.partition(between) for line in self._lines(file))
        return tuple((key, value) for key, found, value in pairs if found)

    def _lines(self, file: str) -> tuple[str, ...]:
        """Return a file's lines; only a newline ends one."""
        return tuple(self._text(file).removesuffix("\n").split("\n"))

    def _text(self, file: str) -> str:
        return self._capture.read(f"/{file}").data.decode("utf-8", "backslashreplace")


Tell = Callable[[int, int], None]
"""Hears how many steps are done, and of how many."""

_MOST = 192 << 20
"""Bytes of an archive, before it is compressed; the largest published /sys + /proc root holds 40 MiB."""
_HEADER = 1024
"""Bytes of an archive for a member beside its content, about."""

_WORD_OF = {why: word for word, why in WORDS.items()}


def record(
    host: Host,
    patterns: Iterable[str],
    commands: Iterable[tuple[str, ...]],
    about: Mapping[str, str],
    tell: Tell | None = None,
    *,
    twice: Iterable[str] = (),
) -> bytes:
    """Return a capture as a tar.gz: the same bytes for the same answers and the same ``about``.

    What the patterns ``twice`` match on a live machine is looked at again in the end.
    """
    counters, begun = tuple(twice), monotonic()
    asked, argvs = concrete_patterns(host, (*counters, *patterns)), tuple(dict.fromkeys(commands))
    room = _Room(host.name)
    keeper = _Keeper(host, room)
    steps = len(asked) + len(argvs)
    for done, pattern in enumerate(asked):
        keeper.keep(pattern)
        if tell:
            tell(done + 1, steps)
    kept: dict[str, Entry] = {
        "/format": f"{FORMAT}\n".encode(),
        "/about": _lines(f"{key}: {_one_line(value)}" for key, value in about.items()),
        "/patterns": _lines(pattern for pattern in asked if (host.read(example_path(pattern)).why is not Why.NOT_KEPT)),
        "/root": None,
        **{f"/root{path}": node for path, node in sorted(keeper.nodes.items())},
        "/gaps": _lines(f"{_WORD_OF[why]}\t{path}" for path, why in sorted(keeper.gaps.items())),
        "/environment": _lines(f"{name}={_one_line(value)}" for name, value in sorted(host.environment().items())),
    }
    for number, argv in enumerate(argvs):
        said = _command(f"/commands/{number:03}", argv, host.run(argv))
        room.take(said.values())
        kept |= said
        if tell:
            tell(len(asked) + number + 1, steps)
    second = _again(host, counters, begun)
    room.take(second.values())
    return _archive(kept | second)


class _Room:
    """What is left of the largest archive that can be read back."""

    def __init__(self, name: str) -> None:
        self._name, self._left = name, _MOST

    def take(self, nodes: Iterable[Entry]) -> None:
        """Take room for members, or refuse what has more than any machine."""
        self._left -= sum(_HEADER + (len(node) if isinstance(node, bytes) else 0) for node in nodes)
        if self._left < 0:
            problem = f"contains more than {_MOST >> 20} MiB of files that advisor reads, more than any machine has"
            raise BadInput(problem, file=self._name, cure="name the folder that contains its sys and proc")


def _again(host: Host, patterns: tuple[str, ...], begun: float) -> dict[str, Entry]:
    """Return the second look at counters: that of a machine is taken now, a capture has its own."""
    second = second_look(host)
    if second is None and host.kind == "live" and any(path for pattern in patterns for path in expand(host, pattern)):
        second = SecondLook(seconds_since(begun), host)
    if second is None:
        return {}
    kept: dict[str, Entry] = {"/again/seconds": _lines([f"{second.seconds:.2f}"]), "/again/root": None}
    for pattern in patterns:
        for path in expand(second.host, pattern):
            reading = second.host.read(path)
            if reading.why is None and "\n" not in path:
                kept[f"/again/root{path}"] = reading.data
    return kept


class _Keeper:
    """Collects files, links and gaps by their real paths."""

    def __init__(self, host: Host, room: _Room) -> None:
        self._host, self._room = host, room
        self._reals: dict[str, str | None] = {"": "", "/": ""}
        self.nodes: dict[str, Entry] = {}
        self.gaps: dict[str, Why] = {}

    def keep(self, pattern: str) -> None:
        """Keep what a pattern matches; if that is nothing, and a folder on the way was closed, note that."""
        matched = False
        for path in expand(self._host, pattern.removesuffix(LINK)):
            if "\n" not in path:
                matched = self._keep_path(path, link_only=pattern.endswith(LINK)) or matched
        if not matched:
            fixed = pattern[: min((pattern.index(char) for char in WILD if char in pattern), default=len(pattern))]
            folder = fixed.rpartition("/")[0]
            real = self._real(folder) if folder else None
            if real and not self._host.list(folder) and self._host.read(folder).why is Why.REFUSED:
                self.gaps[real] = Why.REFUSED

    def _put(self, path: str, node: Entry) -> None:
        if path not in self.nodes or self.nodes[path] != node:
            self._room.take((node,))
        self.nodes[path] = node

    def _keep_path(self, path: str, *, link_only: bool) -> bool:
        real = self._real(path)
        if real is None:
            why = self._host.read(path).why
            folder, _, name = path.rpartition("/")
            above = self._real(folder)
            if why is Why.REFUSED:
                self.gaps[self._closed_above(path)] = Why.REFUSED
            elif why is Why.FAILED and above is not None:  # a loop of links: there, and not to be read
                self.gaps[f"{above}/{name}"] = Why.FAILED
            return why in (Why.REFUSED, Why.FAILED)
        if self.nodes.get(real) is not None or real in self.gaps:
            return True
        if link_only and self._is_link(path):
            self._put(real, None)  # the target may be a file, but nobody asks what it holds
            return True
        reading = self._host.read(path)
        if reading.why is None:
            self._put(real, reading.data)
        elif self._host.list(path) or link_only:
            self._put(real, None)
        elif reading.why in _WORD_OF and reading.why is not Why.ABSENT:
            self.gaps[real] = reading.why
        return True

    def _closed_above(self, path: str) -> str:
        """Return the folder that does not let a path be seen: the last on the way that can be seen itself."""
        folder = path.rpartition("/")[0]
        real = self._real(folder)
        return self._closed_above(folder) if real is None else real or path

    def _is_link(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return self._reals[path] != f"{self._reals.get(folder)}/{name}"

    def _real(self, path: str) -> str | None:
        """Return the real path, and keep each symbolic link on the way."""
        if path not in self._reals:
            folder, _, name = path.rpartition("/")
            above = self._real(folder)
            real = None if above is None else self._host.real(f"{above}/{name}")
            self._reals[path] = real
            if real is not None and real != f"{above}/{name}":
                self._put(f"{above}/{name}", Link(posixpath.relpath(real, above or "/")))
        return self._reals[path]


def _command(folder: str, argv: tuple[str, ...], ran: Ran) -> dict[str, Entry]:
    if ran.why is Why.NOT_KEPT or any("\n" in word for word in argv):
        return {}
    kept: dict[str, Entry] = {f"{folder}/argv": _lines(argv)}
    if ran.why:
        return kept | {f"{folder}/status": _lines([_WORD_OF[ran.why]])}
    return kept | {
        f"{folder}/path": _lines([ran.path or ""]),
        f"{folder}/stdout": ran.out,
        f"{folder}/stderr": ran.err,
        f"{folder}/status": _lines([str(ran.status)]),
    }


def _archive(kept: Mapping[str, Entry]) -> bytes:
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=6, mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path, node in kept.items():
            member, content = _member(f"{TOP}{path}", node)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _member(name: str, node: Entry) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    if isinstance(node, Link):
        member.type, member.linkname = tarfile.SYMTYPE, node.target
    elif node is None:
        member.type, member.mode = tarfile.DIRTYPE, 0o755
    else:
        member.size = len(node)
        return member, node
    return member, b""


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _one_line(value: str) -> str:
    return " ".join(value.split("\n"))
