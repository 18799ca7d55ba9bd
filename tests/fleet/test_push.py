"""A node that captures itself puts the file into a fleet's folder, here or where rsync reaches it, whole or not at all."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.errors import AdvisorError
from advisor.fleet.audit import audit_fleet
from advisor.fleet.capture import push
from tests.fleet.planted import noise, shape
from tests.nodes.sshd import capture_named
from tests.ports import free_port

needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="no rsync here")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[str]:
    """Start rsync's daemon for tmp_path/fleet, and return its address."""
    port, log = free_port(), tmp_path / "log"
    (tmp_path / "fleet").mkdir()
    lines = [f"port = {port}", "address = 127.0.0.1", "use chroot = no", f"log file = {log}", f"pid file = {tmp_path / 'pid'}"]
    lines += ["[fleet]", f"path = {tmp_path / 'fleet'}", "read only = no"]
    lines += ["uid = 0", "gid = 0"] if os.geteuid() == 0 else []
    (tmp_path / "conf").write_text("\n".join(lines) + "\n")
    server = subprocess.Popen(["rsync", "--daemon", "--no-detach", f"--config={tmp_path / 'conf'}"])
    for _ in range(100):
        if log.is_file() and "listening" in log.read_text():
            break
        time.sleep(0.1)
    yield f"rsync://127.0.0.1:{port}/fleet"
    server.terminate()
    server.wait(30)


def files(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@needs_rsync
def test_rsync_brings_a_capture_to_a_folder_elsewhere(tmp_path: Path, daemon: str) -> None:
    """Under the node's own name; the same node replaces it, whatever its size and time; rsync's own words say why not."""
    first = capture_named("n1")
    second = first[:4] + b"\0\0\0\1" + first[8:]  # as if packed at another time
    assert (push(first, daemon), files(tmp_path / "fleet")) == (f"{daemon}/n1.tar.gz", {"n1.tar.gz": first})
    push(second, f"{daemon}/")
    assert files(tmp_path / "fleet") == {"n1.tar.gz": second}
    with pytest.raises(AdvisorError, match=r"rsync to rsync://.*: @ERROR: Unknown module 'other'; try rsync by hand"):
        push(first, daemon.replace("/fleet", "/other"))


def test_a_folder_here_gets_the_capture_of_the_node_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For its owner alone, as for other captures; where the folder gives its group to its files, as the umask says."""
    (tmp_path / "fleet").mkdir()
    (tmp_path / "group").mkdir()
    (tmp_path / "group").chmod(0o2770)
    for folder in ("fleet", "group"):
        assert status(["capture", "--push", str(tmp_path / folder)]) == 0
    (own,), (shared,) = ((tmp_path / folder).glob("*.tar.gz") for folder in ("fleet", "group"))
    assert (own.stat().st_mode & 0o777, shared.stat().st_mode & 0o040, own.name in capsys.readouterr().err) == (
        0o600,
        0o040,
        True,
    )


@pytest.mark.parametrize("name", ["../x", "-rf", "a b", "$(touch x)", "", ".hidden"])
def test_a_host_name_that_could_be_no_file_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written."""
    with pytest.raises(AdvisorError, match="cannot be used as a file name"):
        push(capture_named(name), str(tmp_path))
    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--push", "nowhere"], "nowhere: no such folder; mount or create it, or give HOST:DIR for rsync"),
        (["--push", "-oProxyCommand=touch x:dir"], "no such folder"),
        (["--push", ".", "-o", "x.tar.gz"], "--push"),
        (["--push", ".", "--anonymise"], "--push"),
    ],
)
def test_what_cannot_be_pushed_is_one_line(
    words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that looks like an option never reaches ssh."""
    monkeypatch.chdir(tmp_path)
    assert status(["capture", *words]) == 2
    said = capsys.readouterr().err
    assert (why in said, said.count("\n"), files(tmp_path)) == (True, 1, {})


def test_a_pushed_folder_is_audited_whatever_lies_there(tmp_path: Path) -> None:
    """Half a file of an interrupted rsync is none; hostile names, links to elsewhere, pipes and folders harm nothing."""
    import gzip
    import random

    for name in ("n1", "n2"):
        data = shape("haswell").copy(noise(shape("haswell"), name, random.Random(name)))  # noqa: S311 - no secret
        (tmp_path / f"{name}.tar.gz").write_bytes(gzip.compress(data, 1))
    (tmp_path / ".n1.tar.gz.Ab12Cd").write_bytes(b"half")
    (tmp_path / "$(touch x);\x1b[31m\n.tar.gz").write_bytes(b"junk")
    (tmp_path / "-rf.tar.gz").write_bytes(b"junk")
    (tmp_path / "link.tar.gz").symlink_to("/etc/passwd")
    (tmp_path / "folder.tar.gz").mkdir()
    os.mkfifo(tmp_path / "pipe.tar.gz")
    found = audit_fleet([tmp_path]).fleet
    assert (found.answered, {each.node for each in found.silent}) == (2, {"touch_x_31m", "rf", "link", "folder", "pipe"})
    assert "root:" not in "".join(each.why for each in found.silent)
