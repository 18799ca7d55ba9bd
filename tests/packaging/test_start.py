"""What starts advisor.pyz: which Python, which parts, and above all from which folders it takes them."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from advisor.machine.hosts.files import doubt_about

ROOT = Path(__file__).parents[2]
OTHER = 61234
"""A user that is not this one."""


def script(name: str) -> ModuleType:
    """Return a script of the folder packaging as a module."""
    spec = importlib.util.spec_from_file_location(f"packaging_{name}", ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


START, BUNDLE = script("start"), script("bundle")
TAG = START.own_tag()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return an archive whose product says which of its parts were found, and where."""
    return archive_for(tmp_path, TAG)


def archive_for(place: Path, *tags: str) -> Path:
    """Return an archive with parts for these Pythons."""
    bundle = place / "bundle"
    for tag in tags:
        (bundle / tag).mkdir(parents=True)
        (bundle / tag / "compiled.py").write_text(f"FOR = {tag!r}\n")
    main = bundle / "common/advisor/cli/main.py"
    main.parent.mkdir(parents=True)
    main.write_text("import compiled, sys\ndef main():\n    print(compiled.FOR, sys.argv[1:], __file__)\n    sys.exit(3)\n")
    for package in (main.parent, main.parents[1]):
        (package / "__init__.py").touch()
    (bundle / "__main__.py").write_bytes((ROOT / "packaging/start.py").read_bytes())
    about = {"version": "1", "id": BUNDLE.content_id(bundle), "tags": list(tags)}
    (bundle / "bundle.json").write_text(json.dumps(about))
    BUNDLE.pack(bundle, place / "advisor.pyz")
    (place / "home").mkdir(mode=0o700)
    return place / "advisor.pyz"


def started(archive: Path, *words: str, **variables: str) -> tuple[int, str, str]:
    """Return status, output and errors of a start with these variables alone."""
    known = {"PATH": "/usr/bin:/bin", "HOME": str(archive.parent / "home"), **variables}
    done = subprocess.run([sys.executable, archive, *words], env=known, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def places(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which a cache may be; the system knows no home, and temporary folders are beside it."""

    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(START.pwd, "getpwuid", nobody)
    monkeypatch.setattr(START, "TEMPORARY", ())
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    (tmp_path / "temporary").mkdir(mode=0o700)
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HOME", raising=False)
    return tmp_path


def folder_of(place: Path) -> str:
    """Return in which folder below a place the parts are now."""
    return str(Path(START.unpacked(str(place / "advisor.pyz"), "build", TAG)).relative_to(place)).partition("/")[0]


def test_the_first_start_keeps_the_parts_and_the_next_uses_them(archive: Path) -> None:
    """They are in ~/.cache/advisor, readable by this user alone; a second start writes nothing there."""
    first = started(archive, "a", "b c")
    (kept,) = (archive.parent / "home/.cache/advisor/pyz").iterdir()
    (kept / "common/advisor/cli/main.py").write_text("def main():\n    print('as it was kept')\n")
    assert (first[0], first[1].split(" /")[0], first[2]) == (3, f"{TAG} ['a', 'b c']", "")
    assert (oct(kept.stat().st_mode), started(archive)[1]) == ("0o40700", "as it was kept\n")


def test_a_folder_of_the_same_parts_starts_where_it_lies(archive: Path) -> None:
    """As in the packages for Debian and RPM, also by a link from /usr/bin; nothing is copied."""
    link = archive.parent / "advisor"
    link.symlink_to("bundle/__main__.py")
    assert started(link)[1].strip().endswith("bundle/common/advisor/cli/main.py")
    assert list((archive.parent / "home").iterdir()) == []


def test_the_next_build_has_a_folder_of_its_own(archive: Path) -> None:
    """What was kept of another archive is not used, whatever its version says."""
    started(archive)
    (archive.parent / "bundle/common/more.py").write_text("")
    about = archive.parent / "bundle/bundle.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "id": BUNDLE.content_id(archive.parent / "bundle")}))
    BUNDLE.pack(archive.parent / "bundle", archive)
    started(archive)
    assert len(list((archive.parent / "home/.cache/advisor/pyz").iterdir())) == 2


def test_a_safe_cache_is_used(places: Path) -> None:
    """The folder that XDG_CACHE_HOME names, where only this user can write."""
    assert folder_of(places) == "cache"


@pytest.mark.parametrize("at", ["cache", "cache/advisor", "cache/advisor/pyz", f"cache/advisor/pyz/build-{TAG}"])
def test_no_folder_that_others_can_write_is_used(places: Path, at: str) -> None:
    """Where anybody may write, on the way or at its end, the parts go into a folder of chance for this run alone."""
    (places / at).mkdir(parents=True, exist_ok=True)
    for folder in (places / "cache", *(path for path in (places / "cache").rglob("*"))):
        folder.chmod(0o700)
    (places / at).chmod(0o777)
    assert folder_of(places) == "temporary"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_root_uses_no_folder_of_a_user(places: Path) -> None:
    """After sudo with HOME kept, the user's own cache is not root's; nor is what he has put there beforehand."""
    folder_of(places)
    os.chown(places / "cache", OTHER, OTHER)
    assert folder_of(places) == "temporary"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to somebody else")
def test_no_link_of_somebody_else_leads_to_the_cache(places: Path) -> None:
    """He would say in which of our folders the parts are."""
    (places / "cache/advisor").symlink_to(places / "temporary")
    os.lchown(places / "cache/advisor", OTHER, OTHER)
    assert (folder_of(places), (places / "temporary/pyz").exists()) == ("temporary", False)


def test_without_a_home_the_parts_are_gone_at_the_end(archive: Path) -> None:
    """No cache can be made: the run has a folder of its own, which it removes."""
    (archive.parent / "t").mkdir(mode=0o700)
    code = (
        "import runpy, pwd, sys\n"
        "def nobody(_): raise KeyError\n"
        "pwd.getpwuid = nobody\n"
        f"sys.argv = {[str(archive)]!r}\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    known = {"PATH": "/usr/bin:/bin", "HOME": "/proc/nothing", "TMPDIR": str(archive.parent / "t")}
    done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True, check=False)
    assert (done.stdout.split(" /")[0], str(archive.parent / "t") in done.stdout, done.returncode) == (f"{TAG} []", True, 3)
    assert list((archive.parent / "t").iterdir()) == []


def test_a_start_beside_another_uses_what_that_made(places: Path) -> None:
    """Of a thousand that start at once one gives its folder the name; the others take that and leave nothing."""
    folder_of(places)
    folder = places / "cache/advisor/pyz"
    with START.made_beside(str(folder)) as new:
        START.rename(new, str(folder / f"build-{TAG}"))
    assert [path.name for path in folder.iterdir()] == [f"build-{TAG}"]


def test_where_there_is_no_place_at_all_one_line_says_so(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every folder may be written by others: it stops."""
    for name in ("cache", "temporary"):
        (places / name).chmod(0o777)
    with pytest.raises(SystemExit) as ended:
        folder_of(places)
    line = "advisor: no folder that is yours alone has room and may hold programs; set XDG_CACHE_HOME to one\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, line)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o770, 0o777, 0o1777])
def test_what_is_safe_is_what_the_product_calls_so(tmp_path: Path, mode: int) -> None:
    """The kernels' cache and the parts' follow one law: advisor.machine.hosts.files has it."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a").chmod(mode)
    asked = [str(tmp_path / name) for name in ("a", "a/b", "a/b/c", "nothing")]
    doubts = [doubt_about(path) for path in asked]
    assert [START.unsafe(path) for path in asked] == [doubt and doubt.where for doubt in doubts]


@pytest.mark.parametrize("way", ["by Python", "by itself", "from a folder"])
def test_no_module_of_others_is_loaded(archive: Path, way: str) -> None:
    """PYTHONPATH and the current folder hold modules of Python's own names; so they do in the folder that packages install."""
    evil = archive.parent / "evil"
    evil.mkdir()
    for name in ("json", "zipfile", "typer", "compiled"):
        (evil / f"{name}.py").write_text("raise SystemExit('loaded')\n")
    bundle = archive.parent / "bundle/__main__.py"
    ways = {"by Python": (sys.executable, archive), "by itself": (archive,), "from a folder": (sys.executable, bundle)}
    known = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(archive.parent / "home"),
        "PYTHONPATH": str(evil),
    }
    done = subprocess.run([*ways[way], "a"], cwd=evil, env=known, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.partition(" /")[0], done.stderr) == (3, f"{TAG} ['a']", "")


def test_a_damaged_file_says_so(archive: Path) -> None:
    """A copy that lost bytes on its way is named in one line."""
    data = bytearray(archive.read_bytes())
    at = data.index(b"common/advisor/cli/main.py") + 40
    data[at : at + 8] = b"\xff" * 8
    archive.write_bytes(data)
    status, shown, wrong = started(archive)
    assert (status, shown, wrong.count("\n"), "is damaged" in wrong) == (2, "", 1, True)


def test_a_python_that_the_parts_are_not_for_is_named(tmp_path: Path) -> None:
    """What this copy is for, what this Python is, that no other was found."""
    machine = os.uname().machine
    status, _, wrong = started(archive_for(tmp_path, f"cp398-{machine}", f"cp399-{machine}", "cp399-vax"))
    assert (status, wrong.count("\n"), wrong.startswith("advisor: this copy is for Python 3.98, 3.99; this is ")) == (2, 1, True)


def test_another_python_on_the_path_goes_on(tmp_path: Path) -> None:
    """RHEL 9 has Python 3.12 beside its own: the newest that the parts are for takes over; one that cannot start is passed by."""
    archive = archive_for(tmp_path, *(f"cp{version}-{os.uname().machine}" for version in ("397", "398", "399")))
    (tmp_path / "bin").mkdir()
    for minor, does in ((99, "exit 127"), (98, '[ "$2" = -c ] && echo cp398 cpython || echo now "$@"'), (97, "echo no")):
        program = tmp_path / f"bin/python3.{minor}"
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    assert started(archive, "a b", PATH=f"{tmp_path}/bin:/usr/bin:/bin") == (0, f"now -I {archive} a b\n", "")
