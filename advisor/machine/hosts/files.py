"""Reads and writes files of this machine: bounded, never waiting, whole or not at all, never through a stranger's link."""

import errno
import fcntl
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from advisor.errors import BadInput, CannotWork
from advisor.machine.hosts.base import Reading, Why
from advisor.machine.hosts.trust import Use, is_strangers, open_trusted, trusted
from advisor.machine.secrecy import screened, screened_bytes

LIMIT = 16 << 20
"""Bytes. The largest file a collector reads is /proc/cpuinfo, about one MiB on the largest machines."""

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_CHUNK = 1 << 17


def read_file(path: str, *, follow: bool = True) -> Reading:
    """Return what a regular file holds, or why not; without ``follow`` a last symbolic link is refused."""
    try:
        handle = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the path
        return Reading(why=Why.ABSENT)
    except PermissionError:
        return Reading(why=Why.REFUSED)
    except OSError as error:
        return Reading(why=why_not_opened(error))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return Reading(why=Why.FAILED)
        data = os.read(handle, _CHUNK)
        chunks, total = [data], len(data)
        while data and total <= LIMIT:
            data = os.read(handle, _CHUNK)
            chunks.append(data)
            total += len(data)
        return Reading(b"".join(chunks)) if total <= LIMIT else Reading(why=Why.FAILED)
    except PermissionError:  # some sysfs files check at read, not at open
        return Reading(why=Why.REFUSED)
    except OSError:  # EINVAL of a port that is down, EIO, ENODATA
        return Reading(why=Why.FAILED)
    finally:
        os.close(handle)


def why_not_opened(error: OSError) -> Why:
    """Return why a file or a program could not be opened: that this process has too many open says nothing of the file."""
    return Why.FULL if error.errno in (errno.EMFILE, errno.ENFILE) else Why.FAILED


def open_here(path: str | Path) -> BinaryIO:
    """Return a file that the user named, opened for reading; it never waits (/proc/kmsg is a regular file that would)."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def names_in(path: str) -> tuple[str, ...]:
    """Return the names in a folder, sorted; () if it cannot be listed. A process that has too many files open saw nothing."""
    try:
        return tuple(sorted(os.listdir(path)))  # noqa: PTH208 - ten times faster than Path, and asked thousands of times
    except ValueError:
        return ()
    except OSError as error:
        if why_not_opened(error) is Why.FULL:
            raise CannotWork(f"{path}: {Why.FULL}; raise the limit: ulimit -n 1024") from error
        return ()


_HOPS = 40
"""Symbolic links on one path, as in the kernel (MAXSYMLINKS)."""
_OWN_OUTPUT = re.compile(r"/dev/(?:stdout|stderr|fd/(\d{1,4}))|/proc/self/fd/(\d{1,4})")
_PRIVATE = 0o600
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
"""Not opened for reading: a folder above may let pass and not be listed."""
_INTO = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


@dataclass
class PendingFile:
    """A file that is being written beside the one it will replace."""

    folder: int
    part: str
    name: str
    file: BinaryIO

    def finish(self, *, durable: bool = False, new: bool = False) -> None:
        """Put the file in its place, replacing none if ``new``; with ``durable`` it is on disk then, whatever the power does."""
        self.file.flush()
        if durable:
            os.fsync(self.file.fileno())
        self.file.close()  # NFS tells here that it had no room
        put = os.link if new else os.replace
        put(self.part, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        if durable:
            above = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
            with suppress(OSError):  # a file system that syncs no folders
                os.fsync(above)
            os.close(above)
        self.part = self.part if new else ""  # of a link the first name is left
        self.close()

    def close(self) -> None:
        """Leave nothing half made behind."""
        with suppress(OSError):  # on a full disk it tries once more to write what it holds
            self.file.close()
        if self.part:
            with suppress(OSError):
                os.unlink(self.part, dir_fd=self.folder)
            self.part = ""
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1


def write_file(path: Path | str, data: bytes, *, private: bool = False, durable: bool = False, new: bool = False) -> None:
    """Write a file, for its owner alone if ``private``, synced if ``durable``; ``-``, pipes and devices as they are.

    No credential is written in a text.

    A ``new`` one never takes the place of another, which a second process may make meanwhile.
    """
    text, data = str(path), screened_bytes(data)
    try:
        stream = _stream(text)
        if stream is not None:
            _put(stream, data)
            return
        with _opened(text) as (folder, name):
            kept = _lstat(folder, name)
            _refuse(folder, kept, text)
            if kept is not None and not stat.S_ISREG(kept.st_mode):
                _put(os.open(name, _INTO, dir_fd=folder), data)
                return
            if kept is not None and os.geteuid() not in (0, kept.st_uid):  # a new file could not be made its owner's
                _put(os.open(name, _INTO | os.O_TRUNC, dir_fd=folder), data)
                return
            begun = _begin(os.dup(folder), name, kept, private=private, program=False)
        try:
            begun.file.write(data)
            begun.finish(durable=durable, new=new)
        finally:
            begun.close()
    except (OSError, RecursionError) as error:
        problem = error.strerror if isinstance(error, OSError) else None
        raise CannotWork(f"{text}: {(problem or 'cannot be written').lower()}; name another file to write") from error


def begin_file(path: Path, *, program: bool = False) -> PendingFile:
    """Begin a file that is put in its place with ``finish``."""
    with _opened(str(path)) as (folder, name):
        kept = _lstat(folder, name)
        _refuse(folder, kept, str(path))
        if kept is not None and not stat.S_ISREG(kept.st_mode):
            raise CannotWork(f"{path}: is not a regular file; name another folder to write into")
        return _begin(os.dup(folder), name, kept, private=False, program=program)


def _stream(path: str) -> int | None:
    """Return one of this process's own outputs, open, or None where the path is not one."""
    match = _OWN_OUTPUT.fullmatch(path)
    if match is None and path != "-":
        return None
    sys.stdout.flush()
    return os.dup(int(match[1] or match[2] or (2 if path.endswith("stderr") else 1)) if match else 1)


def _put(handle: int, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)


@contextmanager
def _opened(path: str, hops: int = _HOPS) -> Iterator[tuple[int, str]]:
    """Yield the folder of a path, open, and the name in it; symbolic links are followed only where they are ours or root's.

    Each step is made from the folder that is open: nobody can change the way behind it.
    """
    todo = [part for part in path.split("/") if part not in ("", ".")][::-1]
    here = os.open("/" if path.startswith("/") else ".", _FOLDER)
    try:
        while todo:
            part = todo.pop()
            about = _lstat(here, part)
            if about is not None and stat.S_ISLNK(about.st_mode):
                hops -= 1
                if hops < 0:
                    raise CannotWork(f"{path}: too many symbolic links; name another file to write")
                if is_strangers(about):
                    raise CannotWork(f"{path}: {part} is a link that another user made; name another file to write")
                target = os.readlink(part, dir_fd=here)
                todo += [each for each in target.split("/") if each not in ("", ".")][::-1]
                if target.startswith("/"):
                    here = _instead(here, os.open("/", _FOLDER))
            elif todo:
                here = _instead(here, os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=here))
            else:
                yield here, part
                return
        raise CannotWork(f"{path}: is a folder; name a file to write")
    finally:
        os.close(here)


def _instead(before: int, now: int) -> int:
    os.close(before)
    return now


def _lstat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _refuse(folder: int, kept: os.stat_result | None, path: str) -> None:
    """Refuse a folder in place of a file, and in a folder for everybody a file that another user put there to be filled."""
    if kept is None:
        return
    if stat.S_ISDIR(kept.st_mode):
        raise CannotWork(f"{path}: is a directory; name another file to write")
    above = os.fstat(folder)
    if above.st_mode & stat.S_IWOTH and is_strangers(kept):
        raise CannotWork(f"{path}: is another user's, in a folder for everybody; name another file to write")


def _begin(folder: int, name: str, kept: os.stat_result | None, *, private: bool, program: bool) -> PendingFile:
    part = f".{name[:100]}.{secrets.token_hex(6)}"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE, dir_fd=folder)
    begun = PendingFile(folder, part, name, os.fdopen(handle, "wb"))
    try:
        if kept is not None and (kept.st_uid, kept.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):  # only root may give a file away
                os.fchown(handle, kept.st_uid, kept.st_gid)
        if kept is not None:
            mode = stat.S_IMODE(kept.st_mode) & 0o777
            mode |= (mode & 0o444) >> 2 if program else 0
        else:
            umask = os.umask(0)
            os.umask(umask)
            mode = (0o777 if program else 0o666) & ~umask
        own_mode = mode & _PRIVATE if private else mode
        os.fchmod(handle, own_mode)
    except BaseException:
        begun.close()
        raise
    return begun


FILE = "journal.jsonl"
_LARGEST = 64 << 20

Line = dict[str, Any]


@dataclass
class JournalFile:
    """The file, while it is written to."""

    path: Path
    _file: BinaryIO | None

    def write(self, line: Line) -> None:
        """Write a line, without credentials; it is on disk when this returns."""
        if self._file is None:
            return
        try:
            self._file.write((json.dumps(screened(line)) + "\n").encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CannotWork(f"{self.path}: {_why(error)}; make room, and resume") from error

    def cut_after(self, size: int) -> None:
        """Go on after so many bytes."""
        if self._file is not None:
            self._file.truncate(size)
            self._file.seek(size)

    def lock(self) -> None:
        """Keep others from writing to it until it is closed."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True)
class Kind:
    """Of what a journal is one, in the words of its messages."""

    what: str
    """a race, an experiment."""
    schema: str
    cure: str
    other: str
    """How another folder is named: another folder with -o."""
    alone: bool = False
    """Whether one at a time works on it: a lock is held while it is written to."""

    def begin(self, folder: Path, head: Line, *, mode: int = 0o777) -> tuple[JournalFile, Line]:
        """Return a new journal with its first line; refuse a folder that holds one already."""
        path = folder / FILE
        trusted(path, Use.RUNS)
        if path.exists():
            raise CannotWork(f"{folder} holds {self.what}; go on with it by --resume {folder}, or name {self.other}")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=mode)
            file = self._open(path, "xb")
        except OSError as error:
            raise CannotWork(f"{folder}: {_why(error)}; name {self.other}") from error
        first = screened({"schema": self.schema, **head})
        file.write(first)
        return file, first

    def read(self, folder: Path, use: Use = Use.NAMED) -> tuple[list[Line], int]:
        """Return the whole lines, the first of which is the head, and how many bytes they have; one cut off is not among them."""
        path = folder / FILE
        try:
            with open_trusted(path, use) as file:
                data = file.read(_LARGEST + 1) or b""
        except OSError as error:
            raise BadInput(f"there is no {self._word} here: {_why(error, '')}", file=str(path), cure=self.cure) from error
        if len(data) > _LARGEST:
            raise BadInput(f"larger than any {self._word}", file=str(path), cure="refused as unsafe")
        size = data.rfind(b"\n") + 1
        lines = list(self._lines(data[:size], str(path)))
        if not lines or lines[0].get("schema") != self.schema:
            raise BadInput(f"is not the journal of {self.what}", file=str(path), place="line 1", cure=self.cure)
        return lines, size

    def go_on(self, folder: Path, size: int, *, cure: str = "") -> JournalFile:
        """Return a journal to be gone on with after so many bytes."""
        path = folder / FILE
        try:
            file = self._open(path, "r+b")
            file.cut_after(size)
        except OSError as error:
            raise CannotWork(f"{path}: {_why(error)}{cure}") from error
        return file

    def _open(self, path: Path, mode: str) -> JournalFile:
        file = JournalFile(path, cast("BinaryIO", path.open(mode)))
        try:
            if self.alone:
                file.lock()
        except BlockingIOError as error:
            file.close()
            raise CannotWork(f"{path.parent}: somebody works on it now; end that one first") from error
        return file

    @property
    def _word(self) -> str:
        return self.what.split()[-1]

    def _lines(self, data: bytes, name: str) -> Iterator[Line]:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput("is not JSON", file=name, place=f"line {number}", cure=self.cure) from error
            if not isinstance(found, dict):
                raise BadInput("is not an object", file=name, place=f"line {number}", cure=self.cure)
            yield screened(found)


def _why(error: OSError, otherwise: str = "cannot be written") -> str:
    return (error.strerror or otherwise).lower()
