"""The folder of built kernels: nobody else's, whatever the environment says and whoever is faster."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.machine.hosts.files import doubt_about, own_home
from advisor.measure import build
from advisor.measure.build import cache_candidates, cache_folder, open_program

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user as well")
NOBODY = 65534


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home that the system knows of this user, so that no test touches the real one."""
    home = tmp_path / "own"
    home.mkdir(mode=0o700)
    monkeypatch.setattr(build, "own_home", lambda: str(home))
    build._for_this_run.cache_clear()
    return home


def test_the_cache_is_where_xdg_wants_it(tmp_path: Path, own: Path) -> None:
    """An empty or relative XDG_CACHE_HOME counts as none; without HOME it is the home that the system knows."""
    here = str(tmp_path)
    homes = [{"XDG_CACHE_HOME": f"{here}/c"}, {"XDG_CACHE_HOME": "c", "HOME": f"{here}/h"}, {"HOME": f"{here}/h"}, {}]
    wanted = [f"{here}/c/advisor/kernels", *[f"{here}/h/.cache/advisor/kernels"] * 2, f"{own}/.cache/advisor/kernels"]
    assert wanted == [str(cache_folder(each)) for each in homes]
    assert [Path(each).stat().st_mode & 0o777 for each in wanted] == [0o700] * 4


def test_the_real_home_is_that_of_the_passwords_file() -> None:
    """Whatever HOME says."""
    assert own_home() in (pwd.getpwuid(os.geteuid()).pw_dir, None)
    assert list(cache_candidates({}))[:1] in ([f"{own_home()}/.cache/advisor"], [])


@pytest.mark.parametrize("mode", [0o777, 0o1777 | 0o002, 0o770])
def test_a_folder_that_others_may_write_is_passed_over(tmp_path: Path, own: Path, mode: int) -> None:
    """The cache itself or any folder above it; a group that is not this user's own counts as others."""
    for open_one, wish in (("a", "a"), ("b", "b/c")):
        (tmp_path / wish / "advisor" / "kernels").mkdir(parents=True)
        if mode & 0o1000:
            (tmp_path / wish / "advisor").chmod(mode & 0o777)
        else:
            (tmp_path / open_one).chmod(mode)
            os.chown(tmp_path / open_one, -1, _other_group())
        assert str(own) in str(cache_folder({"XDG_CACHE_HOME": str(tmp_path / wish)}))


def _other_group() -> int:
    groups = [group for group in os.getgroups() if group != os.getegid()]
    return 1 if os.geteuid() == 0 else groups[0] if groups else -1


@needs_root
def test_roots_cache_is_not_in_the_home_of_a_user(tmp_path: Path, own: Path) -> None:
    """HOME may be kept by sudo: what a user owns, he may change."""
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", NOBODY, NOBODY)
    assert str(own) in str(cache_folder({"HOME": str(tmp_path / "home")}))
    assert list((tmp_path / "home").iterdir()) == []


def test_without_any_home_a_folder_is_made_for_the_run_alone(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a folder of root's, under a name of chance."""
    monkeypatch.setattr(build, "own_home", lambda: None)
    folder = cache_folder({})
    assert (folder.stat().st_mode & 0o777, folder.stat().st_uid, doubt_about(folder)) == (0o700, os.geteuid(), None)
    assert folder == cache_folder({})
    shutil.rmtree(folder.parent)


_SWAPS = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder, flag = sys.argv[1:]
ours, other = f"{folder}/cache", f"{folder}/other"
os.makedirs(f"{other}/advisor/kernels", exist_ok=True)
with open(f"{other}/advisor/kernels/six", "w") as file:
    file.write(f"#!/bin/sh\\ntouch {flag}\\n")
os.chmod(f"{other}/advisor/kernels/six", 0o755)
print("ready", flush=True)
while True:
    for act in (
        lambda: os.symlink(other, ours), lambda: os.rename(ours, f"{folder}/gone"), lambda: os.rename(other, ours),
        lambda: os.rename(ours, other), lambda: os.unlink(f"{folder}/gone"), lambda: os.mkdir(ours), lambda: os.rmdir(ours),
    ):
        try: act()
        except OSError: pass
"""


@pytest.fixture
def attacked() -> Iterator[tuple[Path, Path]]:
    """Return a sticky folder for everybody in which another user swaps the cache all the time, and the sign that he was run."""
    folder = Path(tempfile.mkdtemp(prefix="advisor-test-", dir="/tmp"))
    flag = folder / "won"
    folder.chmod(0o1777)
    with subprocess.Popen([sys.executable, "-c", _SWAPS, str(folder), str(flag)], stdout=subprocess.PIPE) as attacker:
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == b"ready\n"
        yield folder, flag
        attacker.kill()
    shutil.rmtree(folder, ignore_errors=True)


@needs_root
def test_the_race_for_the_cache_cannot_be_won(attacked: tuple[Path, Path], own: Path) -> None:
    """Another user makes, links, renames and removes the folder meanwhile: what is taken, and what runs, is ours each time."""
    folder, flag = attacked
    for _ in range(400):
        taken = cache_folder({"XDG_CACHE_HOME": str(folder / "cache")})
        assert doubt_about(taken) is None
        handle = open_program(taken / "six")
        if handle is not None:
            subprocess.run([f"/proc/{os.getpid()}/fd/{handle}"], check=False)
            os.close(handle)
        if taken.is_relative_to(folder):
            shutil.rmtree(folder / "cache", ignore_errors=True)
    assert not flag.exists()


@needs_root
def test_a_link_of_somebody_else_leads_the_cache_nowhere(tmp_path: Path, own: Path) -> None:
    """It points to a folder of ours, which he chose; a link of our own is followed."""
    (tmp_path / "ours").mkdir(mode=0o700)
    for name, user in (("theirs", NOBODY), ("mine", os.geteuid())):
        (tmp_path / name).symlink_to(tmp_path / "ours")
        os.chown(tmp_path / name, user, -1, follow_symlinks=False)
    taken = [cache_folder({"XDG_CACHE_HOME": str(tmp_path / name)}) for name in ("theirs", "mine")]
    assert taken == [own / ".cache/advisor/kernels", tmp_path / "ours/advisor/kernels"]
