"""Takes a capture of any host: this machine, a stored tree, or another capture."""

import gzip
import io
import posixpath
import tarfile
from collections.abc import Callable, Iterable, Mapping
from time import monotonic

from advisor.errors import BadInput
from advisor.machine.hosts.base import (
    LINK,
    WILD,
    Host,
    Ran,
    SecondLook,
    Why,
    concrete_patterns,
    example_path,
    expand,
    second_look,
    seconds_since,
)
from advisor.machine.hosts.capture import FORMAT, TOP, WORDS, Entry, Link

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
            problem = f"holds more than {_MOST >> 20} MiB of files that advisor reads, and no machine has as much"
            raise BadInput(problem, file=self._name, cure="name the folder that holds its sys and proc")


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
            self._note_closed_folder(pattern)

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

    def _note_closed_folder(self, pattern: str) -> None:
        fixed = pattern[: min((pattern.index(char) for char in WILD if char in pattern), default=len(pattern))]
        folder = fixed.rpartition("/")[0]
        real = self._real(folder) if folder else None
        if real and not self._host.list(folder) and self._host.read(folder).why is Why.REFUSED:
            self.gaps[real] = Why.REFUSED

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
