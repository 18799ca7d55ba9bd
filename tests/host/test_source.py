"""Opening what the user names: by content, with one line for whatever is wrong."""

import gzip
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.errors import AdvisorError, BadCapture, BadInput, BadXml, CannotWork
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.capture import Link, record
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.source import XmlHost, open_host
from tests.host.shelf import MACHINE, PATTERNS, lay, tar
from tests.host.test_archive import mutated

CORPUS = Path(__file__).parents[3] / "shared" / "machines"
XML = b"""<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine"/></topology>
"""
SETS = " ".join(f'{name}="0x00000001"' for name in ("cpuset", "complete_cpuset", "online_cpuset", "allowed_cpuset"))
NODE = ' nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001"'
OLD = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
<object type="Machine" os_level="-1" os_index="0" {SETS}{NODE} local_memory="1024">
<object type="NUMANode" os_level="-1" os_index="0" {SETS}{NODE} local_memory="1024">
<object type="Core" os_level="-1" os_index="0" {SETS}{NODE}><object type="PU" os_level="-1" os_index="0" {SETS}{NODE}/></object>
</object></object>
</topology>
"""


def refusal(path: object) -> str:
    """Return the one line that a path is refused with."""
    with pytest.raises(AdvisorError) as caught:
        open_host(str(path))
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_folder_is_a_root(tmp_path: Path) -> None:
    """A folder with sys and proc is a root, also when it is one folder further down."""
    lay(tmp_path / "outer" / "m")
    for folder in (tmp_path / "outer", tmp_path / "outer" / "m"):
        host = open_host(str(folder))
        assert (host.kind, host.read("/sys/devices/system/cpu/online").text) == ("root", "0-3\n")


@pytest.mark.parametrize("name", ["m.tar.gz", "m.xml", "m"])
def test_archive_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    """Whatever it is called, an archive of a tree is a root."""
    (tmp_path / name).write_bytes(gzip.compress(tar({f"top/{path}": node for path, node in MACHINE.items()})))
    host = open_host(str(tmp_path / name))
    assert ("root", name, "0-3\n") == (host.kind, host.name, host.read("/sys/devices/system/cpu/online").text)


def test_capture_is_known(tmp_path: Path) -> None:
    """What record() writes is a capture."""
    (tmp_path / "c").write_bytes(record(open_host(str(lay(tmp_path / "root"))), PATTERNS, (), {}))
    assert open_host(str(tmp_path / "c")).kind == "capture"


@pytest.mark.parametrize("squeezed", [bytes, gzip.compress])
def test_xml_is_what_lstopo_prints(tmp_path: Path, squeezed: Callable[[bytes], bytes]) -> None:
    """An hwloc XML answers for lstopo, with any arguments but the version's, and for nothing else."""
    (tmp_path / "x").write_bytes(squeezed(XML))
    host = open_host(str(tmp_path / "x"))
    assert (host.kind, host.name) == ("hwloc xml", "x")
    assert Ran(XML) == host.run(("lstopo",)) == host.run(("lstopo-no-graphics", "--of", "xml", "-"))
    assert [host.run(argv).why for argv in (("lstopo", "--version"), ("lspci",))] == [Why.NOT_KEPT] * 2
    assert (host.read("/proc/meminfo").why, host.list("/"), host.real("/"), host.environment()) == (Why.NOT_KEPT, (), None, {})


def test_old_xml_is_converted(tmp_path: Path) -> None:
    """An XML of hwloc 1.x comes out as one of version 2."""
    if not shutil.which("lstopo-no-graphics"):
        pytest.skip("lstopo-no-graphics is not installed")
    (tmp_path / "-old.xml").write_text(OLD)
    host = open_host(str(tmp_path / "-old.xml"))
    assert isinstance(host, XmlHost)
    assert b'<topology version="2' in host.run(("lstopo",)).out


@pytest.mark.parametrize(
    ("ran", "error", "said"),
    [
        (
            Ran(why=Why.ABSENT),
            CannotWork,
            "old.xml: hwloc 1.x XML, and lstopo-no-graphics cannot convert it (not present); install hwloc 2",
        ),
        (
            Ran(err=b"a\nbad\x1b\n", status=1),
            BadXml,
            "old.xml: hwloc 1.x XML refused by lstopo-no-graphics: 'bad\\x1b'",
        ),
    ],
)
def test_old_xml_that_cannot_be_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Ran, error: type[AdvisorError], said: str
) -> None:
    """Without lstopo, or where it refuses, one line says so."""
    monkeypatch.setattr(LiveHost, "run", lambda *_, **__: ran)
    (tmp_path / "old.xml").write_text(OLD)
    with pytest.raises(error) as caught:
        open_host(str(tmp_path / "old.xml"))
    assert said == str(caught.value)


def test_what_is_none_of_these_is_named(tmp_path: Path) -> None:
    """Every other thing is refused with what was expected."""
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_text("")
    (tmp_path / "page").write_text("<html></html>")
    (tmp_path / "tar").write_bytes(tar({"a": b"1"}))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    none = "not a capture, a /sys + /proc root, an hwloc XML or a Machine JSON; take a capture with: advisor capture"
    assert f"{tmp_path}/text: {none}" == refusal(tmp_path / "text")
    assert f"{tmp_path}/empty: {none}" == refusal(tmp_path / "empty")
    assert "page: is XML, but not hwloc's: its root element is not topology" in refusal(tmp_path / "page")
    assert refusal(tmp_path / "tar") == "tar: contains neither sys nor proc; take a capture with: advisor capture"
    assert refusal(tmp_path / "folder") == "folder: contains neither sys nor proc; take a capture with: advisor capture"
    assert "not a regular file" in refusal(tmp_path / "pipe")
    assert f"{tmp_path}/none: no such file or directory" in refusal(tmp_path / "none")
    assert "loop: too many levels of symbolic links" in refusal(tmp_path / "loop")
    assert "not a path" in refusal("a\0b")
    assert "the path is empty; give the path" in refusal("")


def test_closed_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is refused in one line."""

    def closed(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").write_text("x")
    monkeypatch.setattr("advisor.machine.hosts.source.open_here", closed)
    with pytest.raises(BadInput, match="file: permission denied"):
        open_host(str(tmp_path / "file"))


def test_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the limit is not read."""
    monkeypatch.setattr("advisor.machine.hosts.source.LIMIT", 1 << 20)
    (tmp_path / "file").write_bytes(bytes((1 << 20) + 1))
    assert "larger than 1 MiB" in refusal(tmp_path / "file")


def test_hostile_archive_is_named(tmp_path: Path) -> None:
    """A link out and a file through it is refused, naming archive and member, and nothing is written."""
    (tmp_path / "evil").write_bytes(tar({"sys/out": Link(str(tmp_path)), "sys/out/written": b"x"}))
    with pytest.raises(BadCapture, match=r"evil: 'sys/out': not a folder, but other members are inside it"):
        open_host(str(tmp_path / "evil"))
    assert [path.name for path in tmp_path.iterdir()] == ["evil"]


def poke(path: Path, data: bytes) -> None:
    """Open a file and ask it things; only our own errors may come out."""
    path.write_bytes(data)
    try:
        host = open_host(str(path))
        for asked in ("/proc/meminfo", "/sys/bus/pci/devices/0000:61:00.0/max_link_width", "/x"):
            host.read(asked)
            host.real(asked)
            host.list(asked)
        host.run(("lstopo",))
        host.environment()
    except AdvisorError as error:
        assert "\n" not in str(error)  # noqa: PT017 - one line is what is tested, whichever error it is


@pytest.mark.parametrize("cases", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutated_captures_raise_only_our_errors(tmp_path: Path, cases: int) -> None:
    """A changed capture is opened and asked, or refused in one line, and nothing is written beside it."""
    capture = gzip.decompress(record(open_host(str(lay(tmp_path / "root"))), PATTERNS, (), {"a": "b"}))
    rng = random.Random(11)  # noqa: S311 - the same cases every time
    place = tmp_path / "case"
    place.mkdir()
    for _ in range(cases):
        raw = bytearray(capture)
        for _ in range(rng.randint(1, 8)):  # in the text of members: the headers have their checksums
            at = rng.randrange(len(raw))
            raw[at] = raw[at] if at % 1024 < 512 else rng.randrange(256)
        poke(place / "x", mutated(capture, rng) if rng.random() < 0.5 else bytes(raw))
    assert [path.name for path in place.iterdir()] == ["x"]


@pytest.mark.slow
@pytest.mark.corpus
def test_published_roots_open() -> None:
    """Every published root is opened, and its CPUs are seen."""
    roots = sorted((CORPUS / "roots").glob("*.tar.*")) if CORPUS.exists() else []
    if not roots:
        pytest.skip("the published machines are not beside the project")
    for root in roots:
        host = open_host(str(root))
        assert host.list("/sys/devices/system/cpu") or host.list("/proc"), root.name
