"""Opens what the user names: capture, /sys + /proc tree, hwloc XML or JSON; decides by content, never by name."""

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from advisor.errors import BadCapture, BadInput, BadXml, CannotWork
from advisor.machine.hosts.archive import LIMIT, decompressed, is_tar, unpack
from advisor.machine.hosts.base import Host, Ran
from advisor.machine.hosts.capture import CaptureHost, DiskStore, MemoryStore, Store, TreeHost, capture_in, top_of
from advisor.machine.hosts.files import open_here
from advisor.machine.secrecy import screened_at

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


def read_json(
    data: bytes, cure: str, *, room: int = ROOM, largest: int = LARGEST_DOCUMENT, hook: Hook = lambda each: each
) -> Any:
    """Return what a document holds, without credentials; raise BadInput where it holds none, or fills the memory."""
    if len(data) > largest:
        raise BadInput(f"larger than {largest >> 20} MiB", cure="refused as unsafe")
    if sum(map(data.count, (b",", b"[", b"{"))) * _VALUE + data.count(b'"') * _QUOTE > room:
        raise BadInput("its values would fill the memory", cure="refused as unsafe")

    def checked(each: dict[str, Any]) -> Any:
        if len(each) > _NAMES:
            raise BadInput(f"an object of {len(each)} entries, more than {_NAMES}", cure="refused as unsafe")
        return hook({key: screened_at(key, value) for key, value in each.items()})

    try:
        return json.loads(str(data, "utf-8"), parse_int=_whole, parse_constant=_no_number, object_hook=checked)
    except UnicodeDecodeError as error:
        raise BadInput("not text in UTF-8", place=f"byte {error.start}", cure=cure) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BadInput("not well-formed JSON", place=place, cure=cure) from error
    except RecursionError as error:
        raise BadInput("lists inside of lists without end", cure=cure) from error
    except ValueError as error:
        raise BadInput(str(error)[:120], cure=cure) from error


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
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


_CURE = "take one with: advisor capture"
_NONE_OF_THESE = "is neither a capture, a /sys + /proc root, an hwloc XML nor a Machine JSON"
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
        raise BadInput("the empty text is not a path", cure="give the path of a capture, a root or an hwloc XML")
    try:
        mode = place.stat().st_mode
        if stat.S_ISDIR(mode):
            next(place.iterdir(), None)  # says whether it may be read
            return None
        if not stat.S_ISREG(mode):
            raise BadInput("is not a regular file", file=path, cure="give a file or a folder")
        with open_here(place) as file:
            data = file.read(LIMIT + 1) or b""
    except (OSError, ValueError) as error:
        problem = (error.strerror or "cannot be read").lower() if isinstance(error, OSError) else "is not a path"
        raise BadInput(problem, file=path, cure="give the path of a capture, a root or an hwloc XML") from error
    if len(data) > LIMIT:
        raise BadInput(f"is larger than {LIMIT >> 20} MiB", file=path, cure=_CURE)
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
        raise BadCapture("holds neither sys nor proc", file=name, cure=_CURE)
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
        raise CannotWork(f"{place.name}: is an XML of hwloc 1.x, and {_CONVERTER} to convert it: {ran.why}; install hwloc 2")
    if ran.status or not ran.out.lstrip().startswith(b"<"):
        said = ran.err.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise BadXml(f"is an XML of hwloc 1.x that {_CONVERTER} refuses: {said!a}", file=place.name)
    return ran.out
