"""Where built kernels are kept: a folder that nobody else may change, for what lies in it is run, by root too."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from advisor.errors import CannotWork
from advisor.host.ownership import home_of_user, is_safe, stranger_above

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - folders are made in them with names of chance, for this user alone


def cache_wishes(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield where kernels may be kept, the best place first; an XDG_CACHE_HOME that is no absolute path is not one."""
    named, home = variables.get("XDG_CACHE_HOME", ""), variables.get("HOME", "")
    if named.startswith("/"):
        yield f"{named}/advisor"
    if home.startswith("/"):
        yield f"{home}/.cache/advisor"
    own = home_of_user()
    if own:
        yield f"{own}/.cache/advisor"


def cache_folder(variables: Mapping[str, str]) -> Path:
    """Return where built kernels are kept: the first wish that is this user's, else a folder for this run alone."""
    for wish in dict.fromkeys(cache_wishes(variables)):
        try:
            place = os.path.realpath(f"{wish}/kernels")
            if _made(place):
                return Path(place)
        except OSError:  # a link that was there, and is not: somebody changes the folder meanwhile
            continue
    return _for_this_run(variables.get("TMPDIR", "")) / "kernels"


def _made(place: str) -> bool:
    """Make a folder if it is not there; tell whether nobody else may change it or a folder above."""
    if stranger_above(place) is not None:
        return False
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)  # noqa: PTH103 - a text that realpath made
    except OSError:
        return False
    # Looked at again: somebody may have been faster where it was not there.
    return os.path.realpath(place) == place and stranger_above(place) is None and os.access(place, os.W_OK | os.X_OK)


@cache
def _for_this_run(named: str) -> Path:
    for folder in (named, *_TEMPORARY):
        real = os.path.realpath(folder) if folder.startswith("/") else ""
        if real and stranger_above(f"{real}/x") is None and os.access(real, os.W_OK | os.X_OK):
            made = tempfile.mkdtemp(prefix="advisor-", dir=real)
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            Path(made, "kernels").mkdir(mode=0o700)
            return Path(made)
    raise CannotWork("there is no folder that is yours alone to build in; set XDG_CACHE_HOME to one")


def held(program: Path) -> int | None:
    """Return a program of ours, opened; None where it is not there, or where somebody else could have put it there.

    What is looked at is what is open: who changes the name afterwards changes nothing.
    """
    try:
        handle = os.open(program, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    about = os.fstat(handle)
    if is_program(about) and is_safe(about) and stranger_above(os.path.realpath(program.parent)) is None:
        return handle
    os.close(handle)
    return None


def is_program(about: os.stat_result) -> bool:
    """Tell whether a file is one of this user's programs, under one name alone."""
    return about.st_uid == os.geteuid() and about.st_nlink == 1 and about.st_mode & 0o170111 == 0o100111


def by_descriptor(handle: int, program: Path) -> str:
    """Return the name under which this process and its children start an open program; its own name without /proc."""
    name = f"/proc/{os.getpid()}/fd/{handle}"
    return name if os.path.exists(name) else str(program)  # noqa: PTH110 - a magic link, not a path
