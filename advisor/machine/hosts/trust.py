"""Whose files are believed: the one place that decides it, as sshd does for a user's keys.

A file is as good as everybody who may have put it there. So it, each folder above it and each symbolic link on the way must
belong to root or to the caller, and nobody else may write them; a sticky folder such as /tmp lets nobody rename what is not his,
so what lies in it counts by its own owner. Nobody can change a way between two looks at it whose every step only root and the
caller may write: the steps are judged from / downward.

Root is refused everything else. For other callers a group that may write is named once and works, for shared project folders
are how sites live; of a file that they name themselves so is another owner, unless it says which programs to start.
"""

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from advisor.errors import BadInput

_HOPS = 40
"""Symbolic links on one path, as in the kernel (MAXSYMLINKS)."""
_FOLDERS_OF_HOME = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR", "CLUSTERSHELL_CFGDIR")
"""Variables beside HOME that tell libraries and programs where their settings are."""


class Use(Enum):
    """What a file is for; it matters to callers who are not root."""

    FOUND = "found where files of its kind are looked for, nobody named it"
    NAMED = "named by the caller"
    RUNS = "named by the caller, and says which programs are started"


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
        who = "root does not believe it" if os.geteuid() == 0 else "it is not believed"
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
        raise BadInput("was replaced while it was read", file=str(path), cure="look who writes into its folder, and repeat")
    return file


def is_strangers(about: os.stat_result) -> bool:
    """Tell whether something belongs to somebody who is neither root nor the caller."""
    # In a user namespace that does not know root outside of it, folders and links of the system's are the overflow user's: whoever
    # owns / owns every program there. Of a file one cannot tell whether it is root's or that of another user.
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
        return Doubt(path, (error.strerror or "cannot be looked at").lower(), "name another"), None
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
        if hops > _HOPS:
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
        return Doubt(where, f"everybody may write the {kind} {where} ({mode})", f"chmod go-w {shlex.quote(where)}")
    if about.st_mode & stat.S_IWGRP and not _is_alone_in(about.st_gid):
        problem = f"group {_group(about.st_gid)} may write the {kind} {where} ({mode})"
        return Doubt(where, problem, f"chmod g-w {shlex.quote(where)}", grave=root)
    return None


def _own(where: str, kind: str) -> str:
    """Return what to do about an owner; files that lie in a home which is not root's are best left alone."""
    root, home = os.geteuid() == 0, home_given()
    if root and home and (where == home or where.startswith(f"{home}/") or home.startswith(f"{where}/")):
        return (
            f"HOME is {home}: start it with root's (sudo -H, or HOME={own_home() or '/root'}), or put the file into /etc/advisor"
        )
    if kind == "link":
        return "remove the link, and name the file that it leads to"
    if kind == "folder":
        return f"use a folder {'of root' if root else 'of your own'}: read what is in this one, and copy it there"
    return f"read it, then chown root {shlex.quote(where)}" if root else "read it, and use a copy of your own"


_OVERFLOW = 65534
"""The kernel's default for whom it cannot name; /proc/sys/kernel/overflowuid has it."""


def _user(uid: int) -> str:
    import pwd

    if uid == _OVERFLOW:
        return "uid 65534, whom the kernel cannot name: root on NFS with root_squash, or a user outside of this container"
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
        self.say(doubt.where, f"{doubt.problem}; believed, for you are not root")

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
        ledger.say(home, f"HOME={home} is not used by what advisor starts: {doubt.problem}")
