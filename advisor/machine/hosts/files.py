"""Files of this machine: whose are believed, as sshd does for a user's keys; read and written whole, bounded, never waiting.

A file is as good as everybody who may have put it there. So it, each folder above it and each symbolic link on the way must
belong to root or to the caller, and nobody else may write them; a sticky folder such as /tmp lets nobody rename what is not his,
so what lies in it counts by its own owner. Nobody can change a way between two looks at it whose every step only root and the
caller may write: the steps are judged from / downward.

Root is refused everything else. For other callers a group that may write is named once and works, for shared project folders
are how sites live; of a file that they name themselves so is another owner, unless it says which programs to start.

What is written is there whole or not at all, and never through a stranger's link.
"""

import errno
import fcntl
import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, cast

from advisor.errors import BadInput, CannotWork
from advisor.machine.hosts.base import Reading, Why
from advisor.machine.secrecy import screened, screened_bytes

MOST_LINKS = 40
"""Symbolic links on one path, as in the kernel (MAXSYMLINKS)."""
_FOLDERS_OF_HOME = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR", "CLUSTERSHELL_CFGDIR")
"""Variables beside HOME that tell libraries and programs where their settings are."""


class Use(Enum):
    """What a file is for; it matters to callers who are not root."""

    FOUND = "found in a default location, not named by the caller"
    NAMED = "named by the caller"
    RUNS = "named by the caller, and defines which programs are started"


@dataclass(frozen=True)
class Doubt:
    """Why a path is not believed."""

    where: str
    """The file, folder or link on the way that is at fault."""
    problem: str
    cure: str
    grave: bool = True
    """Whether it is refused; else it is named, and believed."""


def trusted(path: Path | str, use: Use = Use.FOUND) -> os.stat_result | None:
    """Return what the path leads to, None where nothing is there yet; refuse what the caller must not believe."""
    doubt, about = _judged(str(path), use)
    if doubt is not None and doubt.grave:
        who = "root does not trust it" if os.geteuid() == 0 else "it is not trusted"
        raise BadInput(f"{who}: {doubt.problem}", file=str(path), cure=doubt.cure)
    if doubt is not None:
        ledger.name(doubt)
    if about is not None and stat.S_ISREG(about.st_mode) and use is not Use.RUNS:
        ledger.believed[str(path)] = about
    return about


def doubt_about(path: Path | str, use: Use = Use.FOUND) -> Doubt | None:
    """Return why others may change what a path leads to, the gravest reason first; None where only root and the caller may."""
    return _judged(str(path), use)[0]


def open_trusted(path: Path | str, use: Use = Use.FOUND) -> BinaryIO:
    """Return a file that is believed, opened for reading; it is the one that was judged, whatever its name is by now."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115 - the caller closes it
    try:
        about = trusted(path, use)
        same = about is None or os.path.samestat(about, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    if not same:
        file.close()
        raise BadInput("was replaced while it was read", file=str(path), cure="check who writes to its folder, and retry")
    return file


def is_strangers(about: os.stat_result) -> bool:
    """Tell whether something belongs to somebody who is neither root nor the caller."""
    # In a user namespace that does not know root outside of it, folders and links of the system's are the overflow user's:
    # whoever owns / owns every program there. Of a file one cannot tell whether it is root's or that of another user.
    return about.st_uid not in (0, os.geteuid()) and not (
        about.st_uid == _OVERFLOW and not stat.S_ISREG(about.st_mode) and os.lstat("/").st_uid == _OVERFLOW
    )


def _judged(path: str, use: Use) -> tuple[Doubt | None, os.stat_result | None]:
    """Return the first grave doubt about a path, else the first of the others, and what it leads to."""
    lesser: Doubt | None = None
    last: os.stat_result | None = None
    try:
        for where, about, end in _steps(path):
            found = _doubt(where, about, use, end=end)
            if found is not None and found.grave:
                return found, None
            lesser, last = lesser or found, about if end else None
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return lesser, None
        return Doubt(path, (error.strerror or "cannot be examined").lower(), "name another"), None
    return lesser, last


def _steps(path: str) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Yield each folder, link and file on the way to a path, from / downward, and whether it is the end of it."""
    whole = path if path.startswith("/") else f"{os.getcwd()}/{path}"  # noqa: PTH109 - Path would take .. away
    todo, here, hops = _parts(whole), "", 0
    yield "/", os.lstat("/"), not todo
    while todo:
        part = todo.pop()
        if part == "..":
            here = here.rpartition("/")[0]
            continue
        at = f"{here}/{part}"
        about = os.lstat(at)
        if not stat.S_ISLNK(about.st_mode):
            yield at, about, not todo
            here = at
            continue
        if here == f"/proc/{os.getpid()}/fd":
            return  # an open file that the caller handed over: <(...), 3<FILE
        yield at, about, False
        hops += 1
        if hops > MOST_LINKS:
            raise OSError(0, "too many symbolic links")
        target = os.readlink(at)  # noqa: PTH115 - Path would take .. and // away
        todo += _parts(target)
        here = "" if target.startswith("/") else here


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")][::-1]


def _doubt(where: str, about: os.stat_result, use: Use, *, end: bool) -> Doubt | None:
    """Return why one step of a path is not believed."""
    root, folder = os.geteuid() == 0, stat.S_ISDIR(about.st_mode)
    kind = "link" if stat.S_ISLNK(about.st_mode) else "folder" if folder else "file"
    if is_strangers(about):
        named = not root and (use is Use.NAMED or (use is Use.RUNS and not end))
        return Doubt(where, f"the {kind} {where} belongs to {_user(about.st_uid)}", _own(where, kind), grave=not named)
    if kind == "link" or not (folder or stat.S_ISREG(about.st_mode)):
        return None
    if folder and not end and about.st_mode & stat.S_ISVTX:
        return None
    mode = f"mode {stat.S_IMODE(about.st_mode):04o}"
    if about.st_mode & stat.S_IWOTH:
        return Doubt(where, f"anyone may write to the {kind} {where} ({mode})", f"chmod go-w {shlex.quote(where)}")
    if about.st_mode & stat.S_IWGRP and not _is_alone_in(about.st_gid):
        problem = f"group {_group(about.st_gid)} may write to the {kind} {where} ({mode})"
        return Doubt(where, problem, f"chmod g-w {shlex.quote(where)}", grave=root)
    return None


def _own(where: str, kind: str) -> str:
    """Return what to do about an owner; files that lie in a home which is not root's are best left alone."""
    root, home = os.geteuid() == 0, home_given()
    if root and home and (where == home or where.startswith(f"{home}/") or home.startswith(f"{where}/")):
        return f"HOME is {home}: use root's (sudo -H, or HOME={own_home() or '/root'}), or put the file into /etc/advisor"
    if kind == "link":
        return "remove the link, and name its target"
    if kind == "folder":
        return f"use a folder {'owned by root' if root else 'of your own'}: check what is in this one, then copy it there"
    return f"read it, then chown root {shlex.quote(where)}" if root else "read it, then use your own copy"


_OVERFLOW = 65534
"""The kernel's default for whom it cannot name; /proc/sys/kernel/overflowuid has it."""


def _user(uid: int) -> str:
    import pwd

    if uid == _OVERFLOW:
        return "uid 65534, which the kernel cannot map to a user: root on NFS with root_squash, or a user outside this container"
    with suppress(KeyError):
        return f"{pwd.getpwuid(uid).pw_name}, uid {uid}"
    return f"uid {uid}"


def _group(gid: int) -> str:
    import grp

    with suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)


def _is_alone_in(group: int) -> bool:
    """Tell whether a group is the caller's own, as distributions make one for each: its members may write with umask 002."""
    import grp
    import pwd

    user = os.geteuid()
    if user == 0:
        return group == 0
    with suppress(KeyError):
        own, members = pwd.getpwuid(user), grp.getgrgid(group)
        return own.pw_gid == group and members.gr_name == own.pw_name and set(members.gr_mem) <= {own.pw_name}
    return False


def own_home() -> str | None:
    """Return the home that the system knows of the caller, whatever the environment says."""
    import pwd

    with suppress(KeyError):
        home = pwd.getpwuid(os.geteuid()).pw_dir
        return home if home.startswith("/") and home != "/" else None
    return None


class _Ledger:
    """What was believed and named so far: each is said once, however many commands of a process look."""

    def __init__(self) -> None:
        self.believed: dict[str, os.stat_result] = {}
        """Files that say what is judged, written or asked: a site's rules, templates and pins, plans, lists of hosts."""
        self.hear: Callable[[str], object] = str
        self.home: str | None = None
        """HOME as it was given, where root has its own instead."""
        self._named: set[str] = set()

    def name(self, doubt: Doubt) -> None:
        """Say once what is believed although others may write it."""
        self.say(doubt.where, f"{doubt.problem}; accepted because you are not root")

    def say(self, about: str, text: str) -> None:
        """Say something once."""
        if about not in self._named:
            self._named.add(about)
            self.hear(text)


ledger = _Ledger()


def believed_files() -> tuple[str, ...]:
    """Return the files that were believed so far, a line each: owner and mode beside the name."""
    return tuple(
        f"{path} (owner {_user(about.st_uid)}, mode {stat.S_IMODE(about.st_mode):04o})"
        for path, about in sorted(ledger.believed.items())
    )


def home_given() -> str | None:
    """Return HOME as the caller gave it."""
    return ledger.home or os.environ.get("HOME")


def at_home(path: Path) -> Path:
    """Return a path whose ~ stands for the home that the caller gave: what lies there is read only if it is believed."""
    home = home_given()
    return Path(home, *path.parts[1:]) if home and path.parts[:1] == ("~",) else path


def keep_to_own_home() -> None:
    """Give libraries and programs that root starts root's own home where HOME is a stranger's (sudo -E).

    They too read settings there that name programs: ~/.openmpi, ClusterShell's groups.
    """
    if os.geteuid() != 0:
        return
    for name in _FOLDERS_OF_HOME:
        if (folder := os.environ.get(name)) and doubt_about(folder) is not None:
            del os.environ[name]
    home = os.environ.get("HOME")
    if home and (doubt := doubt_about(home)) is not None:
        ledger.home, os.environ["HOME"] = home, own_home() or "/"
        ledger.say(home, f"programs started by advisor do not use HOME={home}: {doubt.problem}")


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


def open_given(path: Path) -> AbstractContextManager[BinaryIO]:
    """Return a file that the user named; ``-`` is standard input, which stays open."""
    return nullcontext(sys.stdin.buffer) if str(path) == "-" else open_here(path)


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
            raise CannotWork(f"{path}: not a regular file; name another folder to write into")
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
def _opened(path: str, hops: int = MOST_LINKS) -> Iterator[tuple[int, str]]:
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
                    raise CannotWork(f"{path}: {part} is a link made by another user; name another file to write")
                target = os.readlink(part, dir_fd=here)
                todo += [each for each in target.split("/") if each not in ("", ".")][::-1]
                if target.startswith("/"):
                    here = _instead(here, os.open("/", _FOLDER))
            elif todo:
                here = _instead(here, os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=here))
            else:
                yield here, part
                return
        raise CannotWork(f"{path} is a folder; name a file to write")
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
        raise CannotWork(f"{path}: belongs to another user, in a world-writable folder; name another file to write")


def _begin(folder: int, name: str, kept: os.stat_result | None, *, private: bool, program: bool) -> PendingFile:
    part = f".{name[:100]}.{os.urandom(6).hex()}"
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
            raise CannotWork(f"{self.path}: {_why(error)}; free some space, and resume") from error

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
            raise CannotWork(f"{folder} contains {self.what}; continue it with --resume {folder}, or name {self.other}")
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
            raise BadInput(f"too large for a {self._word}", file=str(path), cure="refused as unsafe")
        size = data.rfind(b"\n") + 1
        lines = list(self._lines(data[:size], str(path)))
        if not lines or lines[0].get("schema") != self.schema:
            raise BadInput(f"not the journal of {self.what}", file=str(path), place="line 1", cure=self.cure)
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
            raise CannotWork(f"{path.parent}: in use by another run; stop that run first") from error
        return file

    @property
    def _word(self) -> str:
        return self.what.split()[-1]

    def _lines(self, data: bytes, name: str) -> Iterator[Line]:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput("not JSON", file=name, place=f"line {number}", cure=self.cure) from error
            if not isinstance(found, dict):
                raise BadInput("not an object", file=name, place=f"line {number}", cure=self.cure)
            yield screened(found)


def _why(error: OSError, otherwise: str = "cannot be written") -> str:
    return (error.strerror or otherwise).lower()
