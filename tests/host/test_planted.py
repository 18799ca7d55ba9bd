"""An anonymised capture of a machine that is full of names, addresses and keys holds none of them, however they are written."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from advisor.advice.judgement import judged
from advisor.machine.anonymise import AnonymousHost, PublicLines, command_keeper, file_keeper
from advisor.machine.hosts.base import Host, RedactedHost, example_path
from advisor.machine.hosts.capture import Link, record
from advisor.machine.hosts.source import open_host, unpack
from advisor.machine.sources.registry import collect_machine, commands, paths, public
from tests.host.planted import Secrets, Stuffed
from tests.host.test_capture import opened
from tests.machines.catalogue import MACHINES, write_archive

ASKED = (*paths(), "/sys/class/net/*/address", "/sys/class/net/*/ifalias", "/etc/a-later-file")
LATER = (*commands(), ("a-later-command", "--all"))


def archive(host: Host) -> bytes:
    """Return all that a capture holds: names of members, targets of links, and contents, each once."""
    nodes = unpack(record(host, ASKED, LATER, {"advisor": "1"}), "node.tar.gz")
    targets = {node.target for node in nodes.values() if isinstance(node, Link)}
    contents = {node for node in nodes.values() if isinstance(node, bytes)}
    return b"\n".join([*(name.encode() for name in nodes), *(target.encode() for target in sorted(targets)), *sorted(contents)])


def writings(word: str) -> Iterator[bytes]:
    """Yield a word as programs write it, in small letters."""
    for raw in (word.encode(), word.encode("utf-16-le"), word.encode("utf-16-be")):
        yield raw
        yield raw[::-1]
        yield raw.hex().encode()
        yield from (base64.b64encode(bytes(shift) + raw)[4 : -4 or None].lower() for shift in range(3) if len(raw) > 8)
    yield quote(word, safe="").encode()
    yield "".join(f"%{byte:02x}" for byte in word.encode()).encode()
    if ":" in word:
        yield word.replace(":", "").encode()
        yield word.replace(":", "-").encode()


def found(secrets: Secrets, data: bytes) -> list[str]:
    """Return the words and addresses of which any writing is in the data."""
    low = data.lower()
    words = [word for word in secrets.words if any(form.lower() in low for form in writings(word.lower()) if len(form) > 5)]
    return words + [raw.hex() for raw in secrets.addresses if raw in data or raw[::-1] in data]


@pytest.fixture(scope="module")
def stuffed() -> Stuffed:
    """Return the machine."""
    return Stuffed()


def test_nothing_that_was_planted_is_in_an_anonymised_capture(stuffed: Stuffed) -> None:
    """More than 300 words and addresses in variables, files, names, tables and commands: none in any case or encoding."""
    data = archive(AnonymousHost(stuffed, public=public()))
    assert len(stuffed.secrets.words) + len(stuffed.secrets.addresses) > 300
    assert found(stuffed.secrets, data) == []


def test_a_plain_capture_keeps_names_and_no_credential(stuffed: Stuffed) -> None:
    """The search finds what is there: the host's name is, and no password, token or key."""
    left = found(stuffed.secrets, archive(RedactedHost(stuffed)))
    assert "zamonia0417" in left
    assert len(left) > 50
    assert [word for word in left if word.startswith(("pw", "jwt"))] == []


def test_a_table_of_the_firmware_keeps_its_length_and_no_password(tmp_path: Path) -> None:
    """An OEM string of SMBIOS that holds one is written over; every other byte stands where it stood."""
    path = "/sys/firmware/dmi/tables/DMI"
    table = b"\x0b\x05\x00\x01\x02password=Hunter2x\0Asset 0417 of rack 3\0\0\x7f\x04\xff\xfe\0\0"
    (tmp_path / path[1:]).parent.mkdir(parents=True)
    (tmp_path / path[1:]).write_bytes(table)
    kept = RedactedHost(open_host(str(tmp_path))).read(path).data
    assert (len(kept), b"Hunter2x" in kept, kept[22:] == table[22:]) == (len(table), False, True)


@pytest.mark.slow
def test_a_plain_capture_is_cleaned_afterwards_as_well(stuffed: Stuffed) -> None:
    """Read again with --anonymise it gives nothing away either."""
    plain = opened(record(RedactedHost(stuffed), ASKED, LATER, {}))
    assert found(stuffed.secrets, archive(AnonymousHost(plain, public=public()))) == []


@pytest.mark.parametrize("argv", commands(), ids=" ".join)
def test_of_every_command_it_is_said_what_may_be_given_away(argv: tuple[str, ...]) -> None:
    """Of a command that nobody has thought about nothing is kept: the answers it gives would be lost."""
    assert "xml" in argv or PublicLines(public()).of_command(argv) or command_keeper(argv), (
        f"{' '.join(argv)}: say what of it may be given away: public of its FactSource"
    )


@pytest.mark.parametrize("pattern", sorted(paths()))
def test_of_every_file_it_is_said_what_may_be_given_away(pattern: str) -> None:
    """Below /proc and /sys the kernel's values, elsewhere only what its source or host/privacy names."""
    path = example_path(pattern)
    assert PublicLines(public()).of_file(path) or file_keeper(path), (
        f"{pattern}: say what of it may be given away: public of its FactSource"
    )


def judged_through(host: Host) -> tuple[list[tuple[str, str, str, str]], dict[str, str]]:
    """Return every verdict with its claim, and the verdicts by rule, of a capture made through a host."""
    machine = collect_machine(opened(record(host, paths(), commands(), {})))
    all_found = judged(machine, "mpi").audit.findings
    return [(each.id, each.verdict, each.severity, str(each.subject)) for each in all_found], {}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MACHINES)[::6])
def test_an_anonymised_capture_is_judged_as_the_plain_one(name: str, tmp_path: Path) -> None:
    """Every verdict of every rule, about the same things."""
    host = open_host(str(write_archive(name, tmp_path / "node.tar.gz")))
    assert judged_through(RedactedHost(host)) == judged_through(AnonymousHost(host, public=public()))
