"""Writing for a user: whole or not at all, never through a stranger's link, and nobody's file changes hands."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.errors import CannotWork
from advisor.machine.hosts.files import write_file

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
NOBODY = 65534


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return path.stat().st_mode & 0o777


@pytest.fixture
def umask() -> Iterator[None]:
    """Set the mask that most have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A place that cannot be written is named, and nothing half made is left."""
    write_file(tmp_path / "a", b"x")
    write_file(tmp_path / "p", b"x", private=True)
    assert [(path.read_bytes(), mode(path)) for path in (tmp_path / "a", tmp_path / "p")] == [(b"x", 0o644), (b"x", 0o600)]
    with pytest.raises(CannotWork, match="no such file or directory; name another file to write"):
        write_file(tmp_path / "none" / "a", b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotWork, match="folder: is a directory; name another file to write"):
        write_file(tmp_path / "folder", b"x")
    with pytest.raises(CannotWork, match="is a folder; name a file"):
        write_file("/", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder", "p"]


def test_a_file_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    """A private one loses what others might read."""
    for name, before, private, after in (("a", 0o640, False, 0o640), ("b", 0o664, True, 0o600), ("c", 0o400, False, 0o400)):
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / name).chmod(before)
        write_file(tmp_path / name, b"new", private=private)
        assert ((tmp_path / name).read_bytes(), mode(tmp_path / name)) == (b"new", after)


@needs_root
def test_a_file_that_was_there_keeps_its_owner(tmp_path: Path) -> None:
    """Root does not take it away from a user."""
    (tmp_path / "a").write_bytes(b"old")
    os.chown(tmp_path / "a", NOBODY, NOBODY)
    write_file(tmp_path / "a", b"new", private=True)
    about = (tmp_path / "a").stat()
    assert (about.st_uid, about.st_gid, (tmp_path / "a").read_bytes()) == (NOBODY, NOBODY, b"new")


def test_own_links_are_followed_and_stay(tmp_path: Path) -> None:
    """Relative ones, absolute ones, and those of folders on the way."""
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "a")
    write_file(tmp_path / "link", b"x")
    assert ((tmp_path / "real" / "a").read_bytes(), (tmp_path / "link").is_symlink()) == (b"x", True)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(CannotWork, match="loop: too many symbolic links"):
        write_file(tmp_path / "loop", b"x")


@needs_root
@pytest.mark.parametrize("folder_mode", [0o1777, 0o777, 0o755])
def test_root_writes_through_no_link_of_another_user(tmp_path: Path, folder_mode: int) -> None:
    """Neither to what it leads to, nor in its place; whatever fs.protected_symlinks says."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"root's")
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(folder_mode)
    for link, target, path in (
        ("a", victim, public / "a"),
        ("b", tmp_path, public / "b" / "victim"),
        ("c", "/dev/null", public / "c"),
    ):
        (public / link).symlink_to(target)
        os.lchown(public / link, NOBODY, NOBODY)
        with pytest.raises(CannotWork, match=f"{link} is a link made by another user; name another file to write"):
            write_file(path, b"x")
    assert (victim.read_bytes(), (public / "a").is_symlink()) == (b"root's", True)


@needs_root
def test_root_fills_no_file_that_another_user_put_into_a_folder_for_all(tmp_path: Path) -> None:
    """It would stay his, and hold what only root may read; a pipe of his likewise."""
    tmp_path.chmod(0o1777)
    (tmp_path / "a").write_bytes(b"")
    os.mkfifo(tmp_path / "b")
    for name in ("a", "b"):
        os.chown(tmp_path / name, NOBODY, NOBODY)
        with pytest.raises(CannotWork, match="belongs to another user, in a world-writable folder"):
            write_file(tmp_path / name, b"x", private=True)
    assert (tmp_path / "a").read_bytes() == b""


@needs_root
def test_the_race_for_the_link_cannot_be_won(tmp_path: Path) -> None:
    """Somebody swaps a file of ours and a link of his meanwhile: what the link leads to is never touched."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"root's")
    public = tmp_path / "public"
    public.mkdir()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("link", "plain"):
                (public / "next").unlink(missing_ok=True)
                if name == "link":
                    (public / "next").symlink_to(victim)
                    os.lchown(public / "next", NOBODY, NOBODY)
                else:
                    (public / "next").write_bytes(b"")
                (public / "next").replace(public / "a")

    attacker = threading.Thread(target=swap)
    attacker.start()
    refused = 0
    for _ in range(500):
        try:
            write_file(public / "a", b"x")
        except CannotWork:
            refused += 1
    stop.set()
    attacker.join()
    assert (victim.read_bytes(), victim.stat().st_uid, refused > 0) == (b"root's", 0, True)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_to_as_it_is(name: str, tmp_path: Path) -> None:
    """A pipe, and a file that the shell has opened."""
    code = f"from advisor.machine.hosts.files import write_file; print('first'); write_file({name!r}, b'x\\n'); print('last')"
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert piped.stdout == b"first\nx\nlast\n"
    with (tmp_path / "out").open("wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "out").read_bytes() == b"first\nx\nlast\n"


def test_a_pipe_and_a_device_are_written_to_as_they_are(tmp_path: Path) -> None:
    """Nothing is put in their place."""
    os.mkfifo(tmp_path / "pipe")
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_file(tmp_path / "pipe", b"x" * 100_000)
    reader.join()
    write_file("/dev/null", b"x")
    assert (heard, (tmp_path / "pipe").is_fifo(), Path("/dev/null").is_char_device()) == ([b"x" * 100_000], True, True)
