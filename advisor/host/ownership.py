"""Who may change what lies at a path: nothing is run, and nothing kept, where somebody else could put his own.

Somebody else is any user but this one and root.
"""

import grp
import os
import pwd
import stat
from contextlib import suppress


def stranger_above(path: str) -> str | None:
    """Return the first folder on the way to a path, itself among them, that somebody else may change; None where none may.

    The path has no symbolic links (os.path.realpath). A sticky folder of root, such as /tmp, lets nobody rename what is
    not his: what lies in it counts by its own owner. What is not there is nobody's.
    """
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts) + 1):
        here = "/" + "/".join(parts[:count])
        try:
            about = os.lstat(here)
        except FileNotFoundError:
            return None
        except OSError:
            return here
        if not is_safe(about, sticky=count < len(parts)):
            return here
    return None


def is_safe(about: os.stat_result, *, sticky: bool = False) -> bool:
    """Tell whether only this user and root may change a file or a folder; a folder with the sticky bit where told."""
    if about.st_uid not in (0, os.geteuid()) or stat.S_ISLNK(about.st_mode):
        return False
    if sticky and about.st_mode & stat.S_ISVTX and stat.S_ISDIR(about.st_mode):
        return True
    return not about.st_mode & stat.S_IWOTH and (not about.st_mode & stat.S_IWGRP or _alone_in(about.st_gid))


def _alone_in(group: int) -> bool:
    """Tell whether a group is this user's own, as distributions make one for each: its members may write with umask 002."""
    user = os.geteuid()
    if group == 0 and user == 0:
        return True
    with suppress(KeyError):
        own, members = pwd.getpwuid(user), grp.getgrgid(group)
        return user != 0 and own.pw_gid == group and members.gr_name == own.pw_name and set(members.gr_mem) <= {own.pw_name}
    return False


def home_of_user() -> str | None:
    """Return the home that the system knows of this user, whatever the environment says."""
    with suppress(KeyError):
        home = pwd.getpwuid(os.geteuid()).pw_dir
        return home if home.startswith("/") and home != "/" else None
    return None
