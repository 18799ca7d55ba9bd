"""Opens what the user names: capture, /sys + /proc tree, hwloc XML or JSON; archives in memory, every offset checked."""

import json
import re
import stat
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from zlib import adler32

from advisor.errors import BadCapture, BadInput, BadXml, CannotWork
from advisor.machine.hosts.base import Host, Ran
from advisor.machine.hosts.capture import CaptureHost, DiskStore, Entry, Link, MemoryStore, Store, TreeHost, capture_in, top_of
from advisor.machine.hosts.files import open_here
from advisor.machine.secrecy import screened_at

LIMIT = 256 << 20
"""Bytes that an archive may hold. The largest published /sys + /proc root holds 40 MiB."""
_MEMORY = 256 << 20
"""Bytes that xz may ask for; its strongest preset asks for 65 MiB."""
_PIECE = 1 << 20
"""Bytes that are taken and given at once."""
_STREAMS = 1000
"""Compressed streams in one file; pigz and pbzip2 write one for each block or CPU."""


def decompressed(data: bytes, file: str) -> bytes:
    """Return the data decompressed if it is compressed, else as it is."""
    if data.startswith(b"\x1f\x8b"):
        return _expand(data, file, lambda: zlib.decompressobj(wbits=31), b"\x1f\x8b")
    if data.startswith(b"BZh"):
        import bz2

        return _expand(data, file, bz2.BZ2Decompressor, b"BZh")
    if data.startswith(b"\xfd7zXZ\0"):
        import lzma

        return _expand(data, file, lambda: lzma.LZMADecompressor(memlimit=_MEMORY), b"\xfd7zXZ\0", lzma.LZMAError)
    return data


def _expand(data: bytes, file: str, start: Callable[[], Any], magic: bytes, torn: type[Exception] = zlib.error) -> bytes:
    """Return all streams of the data; what follows the last one and is none is padding."""
    expanded, position = BytesIO(), 0  # grows in place: pieces that are joined at the end would take the memory twice
    for _ in range(_STREAMS):
        stream, given = start(), b""
        while not stream.eof:
            if getattr(stream, "needs_input", not given):
                given = data[position : position + _PIECE]
                position += len(given)
            try:
                piece = stream.decompress(given, _PIECE)
            except (torn, OSError, EOFError, ValueError, MemoryError) as error:
                raise BadCapture(f"cannot be decompressed: {error}", file=file, cure="copy it again") from error
            if not piece and not given and not stream.eof:
                raise BadCapture("ends early: it was truncated", file=file, cure="copy it again")
            given = getattr(stream, "unconsumed_tail", b"")  # zlib's; the two others keep it
            expanded.write(piece)
            if expanded.tell() > LIMIT:
                raise BadCapture(f"contains more than {LIMIT >> 20} MiB", file=file, cure="unpack it and give the folder instead")
        position -= len(stream.unused_data)
        if not data.startswith(magic, position):
            return expanded.getvalue()
    raise BadCapture(f"has more than {_STREAMS} compressed streams", file=file)


BLOCK = 512
MEMBERS = 400_000
PATH = 4096
"""Bytes of a name."""
MEMBER = 64 << 20
"""Bytes of one member."""

_END = bytes(BLOCK)
_PAX = re.compile(rb"(\d{1,7}) ([^=]{1,256})=", re.DOTALL)
_FILES, _FOLDER, _HARD, _SYMBOLIC = bytes([0, *b"07"]), ord("5"), ord("1"), ord("2")
_WITHOUT_DATA = b"123456"
_LONG_NAME, _LONG_LINK, _EXTENDED = ord("L"), ord("K"), ord("x")
# Devices and pipes hold nothing to read; g, V and D are notes of the archiver about itself.
_PASSED_OVER = b"346gVD"


def unpack(data: bytes, file: str) -> dict[str, Entry]:
    """Return what a tar archive, compressed or not, holds: ``/top/sys/...`` and what lies there; folders only where named."""
    return Tar(decompressed(data, file), file).nodes()


def is_tar(data: bytes) -> bool:
    """Tell whether decompressed data begins as a tar archive does."""
    return len(data) >= BLOCK and (data[:BLOCK] == _END or checksum_holds(data[:BLOCK]))


class Member(NamedTuple):
    """Where a member's header lies, of what kind it is, how long its content, and where it is unpacked to."""

    position: int
    kind: int
    size: int
    path: str | None


class Tar:
    """An archive, read from its first byte to its end."""

    def __init__(self, data: bytes, file: str) -> None:
        self._data, self._file = data, file
        self._nodes: dict[str, Entry] = {}
        self._long: dict[str, str] = {}
        self._place = ""
        self.members: list[Member] = []

    def nodes(self) -> dict[str, Entry]:
        """Return every member by its path."""
        data, position, count = self._data, 0, 0
        if not is_tar(data):
            raise BadCapture("not a tar archive", file=self._file, cure="give an advisor capture or a /sys + /proc root")
        while (header := data[position : position + BLOCK]) != _END:
            self._place = f"byte {position}"
            count += 1
            if len(header) < BLOCK:
                raise self._bad("ends early: it was truncated", cure="copy it again")
            if count > MEMBERS:
                raise self._bad(f"more than {MEMBERS} members")
            if not checksum_holds(header):
                raise self._bad("broken header", cure="copy it again")
            kind, start = header[156], position + BLOCK
            size = 0 if kind in _WITHOUT_DATA else self._size(header)
            if start + size > len(data):
                raise self._bad("ends early: it was truncated", cure="copy it again")
            path = self._take(kind, header, data[start : start + size])
            self.members.append(Member(position, kind, size, path))
            position = start + size + -size % BLOCK
        return self._nodes

    def _take(self, kind: int, header: bytes, content: bytes) -> str | None:
        """Take a member; return its path, None of what only tells of the next one."""
        if kind == _EXTENDED:
            self._pax(content)
            return None
        if kind in (_LONG_NAME, _LONG_LINK):
            self._long["path" if kind == _LONG_NAME else "linkpath"] = self._text(content.partition(b"\0")[0])
            return None
        name = self._long.get("path")
        name = self._text(_field_name(header)) if name is None else name
        path = self._path(name)
        if kind in _FILES:
            self._nodes[path] = None if name.endswith("/") else content
        elif kind == _FOLDER:
            self._nodes[path] = None
        elif kind in (_SYMBOLIC, _HARD):
            self._link(kind, path, header)
        elif kind not in _PASSED_OVER:
            raise self._bad(f"member {_shown(name)} has a file type ({chr(kind)!r}) that captures never contain")
        self._nodes.pop("", None)  # the folder itself: ./
        if self._long:
            self._long = {}
        return path

    def _link(self, kind: int, path: str, header: bytes) -> None:
        target = self._long.get("linkpath")
        target = self._text(header[157:257].partition(b"\0")[0]) if target is None else target
        if kind == _SYMBOLIC:
            self._nodes[path] = Link(target)
            return
        content = self._nodes.get(self._path(target))
        if not isinstance(content, bytes):
            problem = f"member {_shown(path)} is a hard link to {_shown(target)}, which is not an earlier file in the archive"
            raise self._bad(problem)
        self._nodes[path] = content

    def _pax(self, content: bytes) -> None:
        """Note the path, the link's target and the size that an extended header gives the next member."""
        position = 0
        while position < len(content):
            match = _PAX.match(content, position)
            length = int(match[1]) if match else 0
            end = position + length
            if not match or end > len(content) or end <= match.end() or content[end - 1 : end] != b"\n":
                raise self._bad("broken extended header", cure="copy it again")
            key = match[2].decode("ascii", "replace")
            if key.startswith("GNU.sparse."):
                raise self._bad("a sparse member, which no capture contains")
            if key in ("path", "linkpath", "size"):
                self._long[key] = self._text(content[match.end() : end - 1])
            position = end

    def _size(self, header: bytes) -> int:
        text = self._long.get("size")
        size = number_in(header[124:136]) if text is None else int(text) if re.fullmatch(r"\d{1,19}", text, re.ASCII) else -1
        if not 0 <= size <= MEMBER:
            raise self._bad(f"a member larger than {MEMBER >> 20} MiB" if size > MEMBER else "a size that is not a number")
        return size

    def _text(self, raw: bytes) -> str:
        if len(raw) > PATH:
            raise self._bad(f"a name longer than {PATH} bytes")
        return raw.decode("utf-8", "backslashreplace")

    def _path(self, name: str) -> str:
        """Return a member's path from the archive's top, with a slash before it."""
        if name[:1] not in ("/", ".", "") and "/." not in name and "//" not in name:
            return f"/{name.rstrip('/')}"
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts:
            raise self._bad(f"member {_shown(name)} reaches outside the archive", cure="do not trust this archive")
        return "".join(f"/{part}" for part in parts)

    def _bad(self, problem: str, cure: str | None = None) -> BadCapture:
        return BadCapture(problem, file=self._file, place=self._place, cure=cure)


def _field_name(header: bytes) -> bytes:
    """Return the name, with ustar's prefix; GNU's own magic (``ustar  ``) has other things there."""
    name = header[:100].partition(b"\0")[0]
    if header[345] and header[257:263] == b"ustar\0":
        return header[345:500].partition(b"\0")[0] + b"/" + name
    return name


def checksum_holds(header: bytes) -> bool:
    """Tell whether the header's bytes add up to what it says, its own field counted as eight spaces.

    The low half of Adler-32 is one more than the sum, modulo 65521: forty times faster than adding in Python.
    """
    field = header[148:156]
    return ((adler32(header) & 0xFFFF) - 1 - sum(field) + 256 - number_in(field)) % 65521 == 0


def number_in(field: bytes) -> int:
    """Return an octal number, or GNU's binary one; -1 if it is neither."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    try:
        return int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        return -1


def _shown(name: str) -> str:
    """Return a name safe for a terminal."""
    return ascii(name if len(name) <= 100 else name[:97] + "...")


LARGEST_DOCUMENT = 64 << 20
"""Bytes. An audit of 4,096 CPUs has 5 MiB, a plan of 500,000 ranks 60 MiB."""
ROOM = 48 << 20
"""Bytes that the values of a document may announce; an audit of 4,096 CPUs announces 19 MiB."""
MEASURED_ROOM, MOST_RESULTS = 6 * ROOM, 150_000
"""The same of measurements, and how many there may be: between all pairs of 384 cores they are 73,536 and announce 250 MiB."""
_VALUE, _QUOTE = 64, 32
"""Bytes that each comma or bracket announces (an empty list, a pointer to it), and each quote (half a short text)."""
_DIGITS = 20
_NAMES = 10_000
"""Entries of one object; a BIOS with the most attributes has 2,000."""

Hook = Callable[[dict[str, Any]], Any]


def read_json(data: bytes, cure: str, *, room: int = ROOM, hook: Hook = lambda each: each) -> Any:
    """Return what a document holds, without credentials; raise BadInput where it holds none, or fills the memory."""
    if len(data) > LARGEST_DOCUMENT:
        raise BadInput(f"larger than {LARGEST_DOCUMENT >> 20} MiB", cure="refused as unsafe")
    if sum(map(data.count, (b",", b"[", b"{"))) * _VALUE + data.count(b'"') * _QUOTE > room:
        raise BadInput("loading its values would exhaust the memory", cure="refused as unsafe")

    def checked(each: dict[str, Any]) -> Any:
        if len(each) > _NAMES:
            raise BadInput(f"an object has {len(each)} entries, more than {_NAMES}", cure="refused as unsafe")
        return hook({key: screened_at(key, value) for key, value in each.items()})

    try:
        return json.loads(str(data, "utf-8"), parse_int=_whole, parse_constant=_no_number, object_hook=checked)
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8 text", place=f"byte {error.start}", cure=cure) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadInput("not well-formed JSON", place=place, cure=cure) from error
    except RecursionError as error:
        raise BadInput("lists nested too deeply", cure=cure) from error
    except ValueError as error:
        raise BadInput(str(error)[:120], cure=cure) from error


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number with {len(text)} digits is too long")
    return int(text)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


LSTOPO_PROGRAMS = ("lstopo", "lstopo-no-graphics")


class XmlHost(TreeHost):
    """What is left of a machine in an hwloc XML: no file, and no variable."""

    kind = "hwloc xml"

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(MemoryStore({}), name)
        self._data = data

    def real(self, path: str) -> None:
        """Return nothing: no file was kept."""

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return the XML as what lstopo prints; of its version, and of any other command, nothing is known."""
        xml = argv and argv[0] in LSTOPO_PROGRAMS and "--version" not in argv
        return Ran(self._data) if xml else super().run(argv, timeout)


_CURE = "take a capture with: advisor capture"
_NONE_OF_THESE = "not a capture, a /sys + /proc root, an hwloc XML or a Machine JSON"
_CONVERTER = "lstopo-no-graphics"
# <topology version="2.0">; hwloc 1.x wrote <topology> alone (hwloc/topology-xml.c).
_ROOT = re.compile(rb"<(?![?!])\s*([^\s/>]{1,100})([^>]{0,1000})>")
_VERSION = re.compile(rb"""\sversion\s*=\s*["'](\d{1,4})""")
_HEAD = 1 << 16


def open_host(path: str) -> Host:
    """Return the machine that a capture, a /sys + /proc root or an hwloc XML holds."""
    data = contents(path)
    return (
        host_of_data(data, Path(path)) if data is not None else host_of_store(DiskStore(path), Path(path).resolve().name or path)
    )


def contents(path: str) -> bytes | None:
    """Return what a file holds, decompressed; None of a folder."""
    place = Path(path)
    if not path:
        raise BadInput("the path is empty", cure="give the path of a capture, a copy of /sys and /proc, or an hwloc XML")
    try:
        mode = place.stat().st_mode
        if stat.S_ISDIR(mode):
            next(place.iterdir(), None)  # says whether it may be read
            return None
        if not stat.S_ISREG(mode):
            raise BadInput("not a regular file", file=path, cure="give a file or a folder")
        with open_here(place) as file:
            data = file.read(LIMIT + 1) or b""
    except (OSError, ValueError) as error:
        problem = (error.strerror or "cannot be read").lower() if isinstance(error, OSError) else "not a path"
        raise BadInput(
            problem, file=path, cure="give the path of a capture, a copy of /sys and /proc, or an hwloc XML"
        ) from error
    if len(data) > LIMIT:
        raise BadInput(f"larger than {LIMIT >> 20} MiB", file=path, cure=_CURE)
    return decompressed(data, place.name)


def capture_from(data: bytes, name: str) -> CaptureHost | None:
    """Return the capture that the bytes of an archive hold, None where they hold no capture; ``name`` is for messages."""
    found = decompressed(data, name)
    store = capture_in(MemoryStore(unpack(found, name), name)) if is_tar(found) else None
    return None if store is None else CaptureHost(store, name)


def host_of_data(data: bytes, place: Path) -> Host:
    """Return the machine that a file's decompressed data hold."""
    if is_tar(data):
        return host_of_store(MemoryStore(unpack(data, place.name), place.name), place.name)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return XmlHost(_modern(data, place), place.name)
    raise BadInput(_NONE_OF_THESE, file=str(place), cure=_CURE)


def host_of_store(store: Store, name: str) -> Host:
    """Return the machine that a tree of files holds."""
    capture = capture_in(store)
    if capture is not None:
        return CaptureHost(capture, name)
    top = top_of(store)
    if top is None:
        raise BadCapture("contains neither sys nor proc", file=name, cure=_CURE)
    return TreeHost(store.below(top), name)


def _modern(data: bytes, place: Path) -> bytes:
    """Return an hwloc XML of version 2 or later; an older one is rewritten by the lstopo of this machine."""
    root = _ROOT.search(data[:_HEAD])
    if not root or root[1] != b"topology":
        raise BadXml("is XML, but not hwloc's: its root element is not topology", file=place.name, cure=_CURE)
    version = _VERSION.search(root[2])
    if version and int(version[1]) >= 2:
        return data
    if b"<!ENTITY" in data:  # lstopo's parser is not ours to trust with them
        raise BadXml("it declares entities, which no hwloc XML does", file=place.name, cure="refused as unsafe")
    return _converted(place)


def _converted(place: Path) -> bytes:
    from advisor.machine.hosts.live import LiveHost

    asked = (_CONVERTER, "-i", str(place.resolve()), "--if", "xml", "--of", "xml", "-")
    ran = LiveHost().run(asked, timeout=30)
    if ran.why is not None:
        raise CannotWork(f"{place.name}: hwloc 1.x XML, and {_CONVERTER} cannot convert it ({ran.why}); install hwloc 2")
    if ran.status or not ran.out.lstrip().startswith(b"<"):
        said = ran.err.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise BadXml(f"hwloc 1.x XML refused by {_CONVERTER}: {said!a}", file=place.name)
    return ran.out
