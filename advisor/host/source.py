"""Opens what the user names: decides by what a file holds, never by its name."""

import re
import stat
from pathlib import Path

from advisor.errors import BadCapture, BadInput, BadXml, CannotWork
from advisor.host.archive import is_tar, unpack
from advisor.host.base import Host
from advisor.host.capture import CaptureHost, capture_in
from advisor.host.files import open_here
from advisor.host.squeeze import LIMIT, plain
from advisor.host.store import DiskStore, MemoryStore, Store
from advisor.host.tree import TreeHost, top_of
from advisor.host.xmlfile import XmlHost

_CURE = "take one with: advisor capture"
_NONE_OF_THESE = "is neither a capture, a /sys + /proc root, an hwloc XML nor a Machine JSON"
_CONVERTER = "lstopo-no-graphics"
# <topology version="2.0">; hwloc 1.x wrote <topology> alone (hwloc/topology-xml.c).
_ROOT = re.compile(rb"<(?![?!])\s*([^\s/>]{1,100})([^>]{0,1000})>")
_VERSION = re.compile(rb"""\sversion\s*=\s*["'](\d{1,4})""")
_HEAD = 1 << 16


def open_host(path: str) -> Host:
    """Return the machine that a capture, a /sys + /proc root or an hwloc XML holds."""
    place = Path(path)
    if not path:
        raise BadInput("the empty text is no path", cure="give the path of a capture, a root or an hwloc XML")
    try:
        mode = place.stat().st_mode
        if stat.S_ISDIR(mode):
            next(place.iterdir(), None)  # says whether it may be read
            return _from_store(DiskStore(path), place.resolve().name or path)
        if not stat.S_ISREG(mode):
            raise BadInput("is not a regular file", file=path, cure="give a file or a folder")
        with open_here(place) as file:
            data = file.read(LIMIT + 1) or b""
    except (OSError, ValueError) as error:
        problem = (error.strerror or "cannot be read").lower() if isinstance(error, OSError) else "is no path"
        raise BadInput(problem, file=path, cure="give the path of a capture, a root or an hwloc XML") from error
    if len(data) > LIMIT:
        raise BadInput(f"is larger than {LIMIT >> 20} MiB", file=path, cure=_CURE)
    return _from_data(plain(data, place.name), place)


def _from_data(data: bytes, place: Path) -> Host:
    if is_tar(data):
        return _from_store(MemoryStore(unpack(data, place.name), place.name), place.name)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return XmlHost(_modern(data, place), place.name)
    raise BadInput(_NONE_OF_THESE, file=str(place), cure=_CURE)


def _from_store(store: Store, name: str) -> Host:
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
    from advisor.host.live import LiveHost

    asked = (_CONVERTER, "-i", str(place.resolve()), "--if", "xml", "--of", "xml", "-")
    ran = LiveHost().run(asked, timeout=30)
    if ran.why is not None:
        raise CannotWork(f"{place.name}: is an XML of hwloc 1.x, and {_CONVERTER} to convert it: {ran.why}; install hwloc 2")
    if ran.status or not ran.out.lstrip().startswith(b"<"):
        said = ran.err.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise BadXml(f"is an XML of hwloc 1.x that {_CONVERTER} refuses: {said!a}", file=place.name)
    return ran.out
