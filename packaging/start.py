#!/usr/bin/env python3
"""Starts advisor from one file (advisor.pyz), or from a folder of the same parts, as the packages for Debian and RPM have it.

A Python as old as 3.6 reads this file, so that it can look for a newer one or say in one line what is wrong.
"""

import sys

if __name__ == "__main__" and not sys.flags.isolated:
    import os  # Python itself has loaded it, before it looked into any folder of PYTHONPATH

    if os.environ.get("PYTHONPATH") or os.environ.get("PYTHONHOME"):  # what is imported below would come from there
        os.execv(sys.executable, [sys.executable, "-I", *sys.argv])

import atexit
import contextlib
import grp
import json
import os
import platform
import pwd
import shutil
import stat
import subprocess
import tempfile
import zipfile
import zlib

ASK = "import sys; print('cp%d%d%s' % (*sys.version_info[:2], 't' * ('t' in sys.abiflags)), sys.implementation.name)"
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
CURE = "see docs/install.md for what else there is"


def main():
    """Put the parts for this Python on the path and hand over to advisor."""
    here = os.path.dirname(os.path.realpath(__file__))
    about = json.loads(read_own(here, "bundle.json"))
    tag = own_tag()
    if tag not in about["tags"]:
        start_with_another(about["tags"], tag)
    root = unpacked(here, about["id"], tag) if os.path.isfile(here) else here
    sys.path[:1] = [os.path.join(root, tag), os.path.join(root, "common")]
    from advisor.cli.main import main as advisor

    advisor()


def read_own(here, name):
    """Return a small file that lies beside this one, in the archive or in the folder."""
    if os.path.isfile(here):
        return __loader__.get_data(os.path.join(here, name)).decode()
    with open(os.path.join(here, name), encoding="utf-8") as file:
        return file.read()


def own_tag():
    """Return which compiled parts this Python loads: cp312-x86_64."""
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}{'t' * ('t' in sys.abiflags)}"
    named = version if sys.implementation.name == "cpython" else sys.implementation.name
    return f"{named}-{os.uname().machine}" + ("" if platform.libc_ver()[0] == "glibc" else "-without-glibc")


def start_with_another(tags, tag):
    """Go on in a Python of this machine that the parts are for; where there is none, say so and stop."""
    _, _, here = tag.partition("-")
    fit = sorted((int(each[3 : each.index("-")]) for each in tags if each.endswith(f"-{here}")), reverse=True)
    for minor in fit:
        found = shutil.which(f"python3.{minor}")
        if found and says(found) == f"cp3{minor} cpython":
            os.execv(found, [found, "-I", *sys.argv])
    has = ", ".join(f"3.{minor}" for minor in reversed(fit)) or f"none on {here}, but for {', '.join(sorted(tags))}"
    found = f"{platform.python_implementation()} {platform.python_version()} on {here}"
    sys.stderr.write(f"advisor: this copy is for Python {has}; this is {found}, and no other is on PATH; {CURE}\n")
    sys.exit(2)


def says(program):
    """Return what a Python says of itself; nothing where it is a stand-in that cannot start."""
    asked = [program, "-I", "-c", ASK]
    try:
        done = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip()


def unpacked(archive, build, tag):
    """Return the folder with this archive's parts: kept where only this user can write, else made for this run alone."""
    for wish in wishes():
        folder = os.path.realpath(os.path.join(wish, "pyz"))
        done = os.path.join(folder, f"{build}-{tag}")
        try:
            if led_elsewhere(wish) or not usable(folder):
                continue
            if not os.path.isdir(done):
                with made_beside(folder) as new:
                    unpack(archive, tag, new)
                    if not os.path.isdir(done):
                        rename(new, done)
            if os.path.realpath(done) == done and unsafe(done) is None:
                return done
        except OSError:  # full, read-only below, over quota: the next place may do
            continue
    return for_this_run(archive, tag)


def wishes():
    """Yield where the product keeps what it builds, best first; root's own home comes from the system, not from HOME."""
    for name, rest in (("XDG_CACHE_HOME", "advisor"), ("HOME", ".cache/advisor")):
        if os.environ.get(name, "").startswith("/"):
            yield os.path.join(os.environ[name], rest)
    with contextlib.suppress(KeyError):
        home = pwd.getpwuid(os.geteuid()).pw_dir
        if home.startswith("/") and home != "/":
            yield os.path.join(home, ".cache/advisor")


def usable(folder):
    """Make a folder if it is not there; tell whether only this user may change it, and whether programs may lie in it."""
    if unsafe(folder) is not None:
        return False
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return unsafe(folder) is None and os.access(folder, os.W_OK | os.X_OK) and not os.statvfs(folder).f_flag & os.ST_NOEXEC


def led_elsewhere(wish):
    """Tell whether a link that somebody else made stands on the way: he would say in which of our folders the parts are."""
    steps = [wish[:end] for end in range(1, len(wish) + 1) if wish[end : end + 1] in ("", "/")]
    return any(os.path.islink(step) and os.lstat(step).st_uid not in (0, os.geteuid()) for step in steps)


def unsafe(path):
    """Return the first folder on the way to a path, itself among them, that somebody else may change: None where none may."""
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts) + 1):
        here = "/" + "/".join(parts[:count])
        try:
            about = os.lstat(here)
        except FileNotFoundError:
            return None
        except OSError:
            return here
        sticky = count < len(parts) and about.st_mode & stat.S_ISVTX
        if not stat.S_ISDIR(about.st_mode) or about.st_uid not in (0, os.geteuid()) or (open_to_others(about) and not sticky):
            return here
    return None


def open_to_others(about):
    """Tell whether others than the owner may write; a group that is the user's own counts as the user."""
    if about.st_mode & stat.S_IWOTH:
        return True
    return bool(about.st_mode & stat.S_IWGRP) and not alone_in(about.st_gid)


def alone_in(group):
    """Tell whether a group is this user's own, as distributions make one for each."""
    user = os.geteuid()
    if user == 0:
        return group == 0
    with contextlib.suppress(KeyError):
        own, members = pwd.getpwuid(user), grp.getgrgid(group)
        return own.pw_gid == group and members.gr_name == own.pw_name and set(members.gr_mem) <= {own.pw_name}
    return False


@contextlib.contextmanager
def made_beside(folder):
    """Give a new folder, which is gone afterwards unless it has another name by then."""
    new = tempfile.mkdtemp(prefix="new-", dir=folder)
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def rename(new, done):
    """Give a whole folder its name at once: of many that start together one wins, and the others use what it made."""
    try:
        os.rename(new, done)
    except OSError:
        if not os.path.isdir(done):
            raise


def unpack(archive, tag, folder):
    """Write the parts that every Python shares and those for this one; a file that is damaged stops it."""
    with zipfile.ZipFile(archive) as packed:
        for each in packed.infolist():
            if each.filename.startswith(("common/", f"{tag}/")):
                packed.extract(each, folder)


def for_this_run(archive, tag):
    """Return a folder of chance that is removed at the end: nothing that others can write is trusted instead."""
    for place in (os.environ.get("TMPDIR", ""), *TEMPORARY):
        real = os.path.realpath(place) if place.startswith("/") else ""
        try:
            if not real or unsafe(os.path.join(real, "x")) or os.statvfs(real).f_flag & os.ST_NOEXEC:
                continue
            made = tempfile.mkdtemp(prefix="advisor-pyz-", dir=real)
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            unpack(archive, tag, made)
        except OSError:
            continue
        sys.dont_write_bytecode = True  # it would be thrown away
        return made
    sys.stderr.write("advisor: no folder that is yours alone has room and may hold programs; set XDG_CACHE_HOME to one\n")
    sys.exit(2)


if __name__ == "__main__":
    try:
        main()
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        sys.stderr.write(f"advisor: {sys.argv[0]} is damaged ({error}); copy it again\n")
        sys.exit(2)
