"""The tar reader: what it reads, what it refuses, and that nothing makes it fail otherwise."""

import bz2
import gzip
import lzma
import random
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import AdvisorError, BadCapture
from advisor.machine.hosts import source as archive
from advisor.machine.hosts.capture import Entry, Link, MemoryStore
from advisor.machine.hosts.source import unpack
from tests.counting import calls
from tests.examples import examples
from tests.host.shelf import MACHINE, special, tar

Squeeze = Callable[[bytes], bytes]
LONG = "top/" + "deep/" * 60 + "x" * 120


def refusal(data: bytes) -> str:
    """Return the one line that an archive is refused with."""
    with pytest.raises(BadCapture) as caught:
        MemoryStore(unpack(data, "a.tar"), "a.tar")
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("squeezed", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_reads_what_tarfile_wrote(form: int, squeezed: Squeeze) -> None:
    """Files, folders and links come back, whatever the format and the compression."""
    nodes: dict[str, Entry] = {**MACHINE, "sys/empty": None}
    expected = {f"/{path}": node for path, node in nodes.items()}
    assert expected == unpack(squeezed(tar(nodes, form=form)), "x")


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_reads_long_names(form: int) -> None:
    """Names and link targets longer than a header's fields come back whole."""
    nodes: dict[str, Entry] = {LONG: b"1", "link": Link(LONG), "é": b"2"}
    assert {f"/{path}": node for path, node in nodes.items()} == unpack(tar(nodes, form=form), "x")


def test_dots_and_double_slashes_are_the_same_place() -> None:
    """``./a//b/`` is ``a/b``."""
    member = tarfile.TarInfo("./a//./b")
    assert unpack(tar({"x": member}), "x") == {"/a/b": b""}


def test_hard_link_is_the_file_it_names() -> None:
    """A hard link holds what its target holds."""
    nodes: dict[str, Entry | tarfile.TarInfo] = {"a": b"1", "b": special("b", tarfile.LNKTYPE, "a")}
    assert unpack(tar(nodes), "x") == {"/a": b"1", "/b": b"1"}


def test_devices_and_pipes_are_passed_over() -> None:
    """What holds nothing to read is not there."""
    nodes: dict[str, Entry | tarfile.TarInfo] = {
        "p": special("p", tarfile.FIFOTYPE),
        "d": special("d", tarfile.CHRTYPE),
        "a": b"1",
    }
    assert unpack(tar(nodes), "x") == {"/a": b"1"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../../etc/passwd", "a.tar: byte 0: member '../../etc/passwd' reaches outside the archive; do not trust this archive"),
        ("/etc/passwd", "a.tar: byte 0: member '/etc/passwd' reaches outside the archive; do not trust this archive"),
        ("a/../b", "a.tar: byte 0: member 'a/../b' reaches outside the archive; do not trust this archive"),
        ("a\x1b[2J/..", "a.tar: byte 0: member 'a\\x1b[2J/..' reaches outside the archive; do not trust this archive"),
    ],
)
def test_names_that_reach_outside_are_refused(name: str, said: str) -> None:
    """A name that is absolute or goes up is refused, and shown safely."""
    assert said == refusal(tar({name: b"x"}))


def test_hard_link_outside_is_refused() -> None:
    """A hard link must name a file that came before it."""
    assert "is a hard link to 'etc/shadow', which is not an earlier file in the archive" in refusal(
        tar({"b": special("b", tarfile.LNKTYPE, "etc/shadow")})
    )
    assert "reaches outside" in refusal(tar({"b": special("b", tarfile.LNKTYPE, "../etc/shadow")}))


def test_file_through_a_link_is_refused() -> None:
    """A link and then a file below it is how archives escape."""
    assert (
        refusal(tar({"top/out": Link("/etc"), "top/out/passwd": b"x"}))
        == "a.tar: 'top/out': not a folder, but other members are inside it"
    )


def test_sparse_member_is_refused() -> None:
    """No capture has sparse members."""
    assert "has a file type ('S') that captures never contain" in refusal(tar({"s": special("s", b"S")}))


@pytest.mark.parametrize("squeezed", [gzip.compress, bz2.compress, lzma.compress])
def test_bomb_stops_at_the_limit(squeezed: Squeeze, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grows without end is refused when it passes the limit."""
    monkeypatch.setattr(archive, "LIMIT", 8 << 20)
    assert refusal(squeezed(bytes(64 << 20))) == "a.tar: contains more than 8 MiB; unpack it and give the folder instead"


def test_a_million_members_are_refused() -> None:
    """Empty members without end are refused by their number or their size."""
    header = tarfile.TarInfo("sys/a").tobuf()
    data = gzip.compress(header * 10_000, 1) * 100
    assert "contains more than 256 MiB" in refusal(data)


def test_too_many_members_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of members has a limit of its own."""
    monkeypatch.setattr(archive, "MEMBERS", 1000)
    assert "more than 1000 members" in refusal(tarfile.TarInfo("sys/a").tobuf() * 1001 + bytes(1024))


def test_too_many_streams_are_refused() -> None:
    """A file of a great many compressed streams is refused before it takes long."""
    assert "compressed streams" in refusal(gzip.compress(b"") * 5000)


def test_huge_member_is_refused() -> None:
    """A size beyond the limit or beyond the file is refused."""
    member = tarfile.TarInfo("a")
    member.size = 1 << 40
    assert "a member larger than 64 MiB" in refusal(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    member.size = 4096
    assert "ends early: it was truncated; copy it again" in refusal(member.tobuf() + bytes(1024))


@pytest.mark.parametrize("record", [b"9 path=\n", b"x\n", b"99 path=a\n", b"12 size=-100\n", b"22 GNU.sparse.major=1\n"])
def test_broken_extended_headers_are_refused(record: bytes) -> None:
    """A pax header that contradicts itself is refused."""
    header = tarfile.TarInfo("h")
    header.type, header.size = b"x", len(record)
    member = tarfile.TarInfo("a")
    data = header.tobuf() + record.ljust(512, b"\0") + member.tobuf() + bytes(1024)
    assert refusal(data).startswith("a.tar: byte ")


@pytest.mark.parametrize("squeezed", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_truncation_is_named(squeezed: Squeeze) -> None:
    """An archive cut anywhere is refused."""
    data = squeezed(tar({"sys/a": b"1", "sys/b": b"2"})[:3072])
    for length in range(6, len(data), max(1, len(data) // 40)):
        if bytes is squeezed and length >= 2560:  # both members and an end are there
            break
        assert refusal(data[:length])


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the data with a few bytes changed, cut out, or doubled."""
    raw = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(raw)) if raw else 0
        match rng.randrange(4):
            case 0 if raw:
                raw[at] ^= 1 << rng.randrange(8)
            case 1 if raw:
                raw[at] = rng.randrange(256)
            case 2:
                del raw[at : at + rng.randint(1, 2000)]
            case _:
                raw[at:at] = raw[at : at + rng.randint(1, 600)]
    return bytes(raw)


def survives(data: bytes) -> None:
    """Read an archive; only our own errors may come out."""
    try:
        MemoryStore(unpack(data, "x"), "x")
    except AdvisorError as error:
        assert "\n" not in str(error)  # noqa: PT017 - one line is what is tested, whichever error it is


SEEDS = [
    squeezed(tar(MACHINE, form=form)) for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT) for squeezed in (bytes, gzip.compress)
]


@examples(200)
@given(st.integers(0, 2**32), st.sampled_from(SEEDS))
def test_mutations_raise_only_our_errors(seed: int, data: bytes) -> None:
    """A changed archive is read or refused in one line."""
    rng = random.Random(seed)  # noqa: S311 - the same cases every time
    survives(mutated(data, rng))


@examples(200)
@given(st.binary(max_size=2000))
def test_noise_raises_only_our_errors(data: bytes) -> None:
    """Bytes without meaning are refused in one line."""
    survives(data)


@pytest.mark.slow
def test_ten_thousand_mutations() -> None:
    """The same, ten thousand times over."""
    rng = random.Random(7)  # noqa: S311 - the same cases every time
    for number in range(10_000):
        survives(mutated(SEEDS[number % len(SEEDS)], rng))


def test_large_machine_is_read_fast() -> None:
    """Each member costs a few calls and no more than in a small archive: the published machines have up to 25 thousand."""

    def work(members: int) -> int:
        data = tar(
            {f"sys/devices/system/cpu/cpu{i // 50}/cache/index{i % 5}/attribute_{i % 50}": b"%d\n" % i for i in range(members)}
        )
        return calls(lambda: MemoryStore(unpack(data, "x")))

    small, large = work(2000), work(8000)
    assert (large < 50 * 8000, large < 4.1 * small) == (True, True)
