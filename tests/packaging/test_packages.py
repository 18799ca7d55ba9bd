"""What is installed elsewhere, by the real tools: the same bytes twice, clean for their checkers; each audits a machine."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.machines.catalogue import write_archive

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
BESIDE = Path(sys.executable).parent
ONE = f"--python {sys.version_info[0]}.{sys.version_info[1]} --machine {os.uname().machine}"
"""The bundle for this Python alone: all of them take minutes."""
TOOLS = {"deb": ("dpkg-buildpackage", "dh"), "rpm": ("rpmbuild",)}
KINDS = ("wheel", "pyz", "deb", "rpm", "sbom", "recipes")


def lacking(kind: str) -> str:
    """Return the name of a program that a kind of package needs and that is not here."""
    return next((name for name in TOOLS.get(kind, ()) if shutil.which(name) is None), "")


def run(*words: str | Path, at: Path = ROOT, **variables: str) -> str:
    """Return what a command prints, errors too; refuse one that fails."""
    known = {"PATH": f"{BESIDE}:{os.environ['PATH']}", **variables}
    kept = {name: value for name, value in os.environ.items() if name not in {"SOURCE_DATE_EPOCH", "OUT", "VIRTUAL_ENV"}}
    done = subprocess.run(words, cwd=at, env=kept | known, capture_output=True, text=True, check=False)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, f"{words}: {shown[-3000:]}"
    return shown


def built(place: Path) -> Path:
    """Return dist/ of a copy of what git has, or would have, with every kind of package that can be built here."""
    names = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    for kind in KINDS:
        if not lacking(kind):
            dated = {"SOURCE_DATE_EPOCH": "1700000000", "PARTS": ONE, "PYTHON": sys.executable}
            run("sh", "packaging/packages.sh", kind, at=place, **dated)
    return place / "dist"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return dist/, built once a run."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: git says what belongs to the project")
    for name in ("uv", "pyproject-build"):
        if not (BESIDE / name).exists():
            pytest.skip(f"{name} is not beside this Python: pip install -e '.[package]'")
    shared = tmp_path_factory.getbasetemp()
    shared = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "packages"
    with (shared.with_suffix(".lock")).open("w") as lock:  # of several processes that test, one builds
        fcntl.flock(lock, fcntl.LOCK_EX)
        return shared / "dist" if (shared / "dist/recipes").is_dir() else built(shared)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture to audit."""
    return write_archive("b-c6525-2x7702-nps1", tmp_path_factory.mktemp("node") / "node.tar.gz")


@pytest.fixture(scope="module")
def said(node: Path) -> str:
    """Return what the checkout's own audit says of it."""
    return run(sys.executable, "-m", "advisor", "audit", "--from", node)


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of a pattern."""
    (found,) = folder.glob(pattern)
    return found


def sums(folder: Path) -> Mapping[str, str]:
    """Return the hash of each file that goes out."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "bundle" not in path.parts and path.suffix not in {".buildinfo", ".changes"}
    }


def test_two_builds_give_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    """In another folder, at another time, with another umask: nothing that goes out differs by a bit."""
    before = os.umask(0o077)
    try:
        again = built(tmp_path / "elsewhere" / "copy")
    finally:
        os.umask(before)
    assert sums(again) == sums(dist)


def test_the_wheel_has_every_file_that_is_read(dist: Path) -> None:
    """Rules, templates and the kernels' sources, manual pages and the pages that messages name."""
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        has = {name.partition("_data/")[2] or name.partition(".data/data/share/")[2] for name in wheel.namelist()}
    folders = [(each, each) for each in ("rules", "templates", "kernels")] + [("docs/man", "man/man1"), ("docs", "doc/advisor")]
    wanted = {
        f"{inside}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, inside in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".yaml", ".csv", ".j2", ".c", ".h", ".inc", ".1", ".md", ".json"} or path.name == "Makefile"
        if "reference" not in path.parts  # written by make docs; deb and rpm carry it
    }
    assert sorted(wanted - has) == []


def test_a_wheel_of_the_sdist_is_the_wheel(dist: Path, tmp_path: Path) -> None:
    """Whoever builds from the source archive gets the same file."""
    run("uv", "build", "--quiet", "--wheel", "-o", tmp_path, only(dist, "*.tar.gz"), SOURCE_DATE_EPOCH="1700000000")
    assert only(tmp_path, "*.whl").read_bytes() == only(dist, "*.whl").read_bytes()


def test_the_installed_wheel_audits(dist: Path, node: Path, said: str, tmp_path: Path) -> None:
    """In a clean environment, away from the checkout, with the releases of the lock by their hashes; manual pages beside it."""
    run("uv", "venv", "--quiet", "--python", sys.executable, tmp_path / "clean")
    to = ("--quiet", "--python", tmp_path / "clean/bin/python")
    run("uv", "pip", "install", *to, "--require-hashes", "-r", ROOT / "packaging/lock.txt")
    run("uv", "pip", "install", *to, "--no-deps", only(dist, "*.whl"))
    program = tmp_path / "clean/bin/advisor"
    assert (run(program, "audit", "--from", node, at=tmp_path), (tmp_path / "clean/share/man/man1/advisor.1").is_file()) == (
        said,
        True,
    )


def test_the_one_file_audits(dist: Path, node: Path, said: str, tmp_path: Path) -> None:
    """From a folder that cannot be written, also without a home; its own rules pass their examples."""
    shutil.copy(dist / "advisor.pyz", tmp_path / "advisor.pyz")
    (tmp_path / "cache").mkdir(mode=0o700)
    started = (sys.executable, tmp_path / "advisor.pyz")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run(*started, "audit", "--from", node, at=Path("/"), **cache) == said
    assert "examples of" in run(*started, "rules", "test", at=Path("/"), **cache)


@pytest.mark.parametrize("kind", ["deb", "rpm"])
def test_a_package_audits_where_it_is_unpacked(dist: Path, node: Path, said: str, tmp_path: Path, kind: str) -> None:
    """By dpkg, or by rpm, into an empty folder: the program, manual pages, completions and /etc/advisor are in their places."""
    if lacking(kind):
        pytest.skip(f"there is no {lacking(kind)} here")
    file = only(dist, f"advisor*.{kind}")
    if kind == "deb":
        run("dpkg", "-x", file, tmp_path)
    elif os.geteuid():
        pytest.skip("rpm unpacks into a folder as root alone")
    else:
        run("rpm", "--root", tmp_path, "-i", "--nodeps", "--noscripts", "--ignorearch", file)
    assert run(tmp_path / "usr/bin/advisor", "audit", "--from", node, at=Path("/")) == said
    zsh = "usr/share/zsh/vendor-completions/_advisor" if kind == "deb" else "usr/share/zsh/site-functions/_advisor"
    others = ("usr/share/bash-completion/completions/advisor", "usr/share/fish/vendor_completions.d/advisor.fish", zsh)
    wanted = ("etc/advisor/README", "etc/advisor/rules.d", "usr/share/man/man1/advisor.1.gz", *others)
    assert [name for name in wanted if not (tmp_path / name).exists()] == []


@pytest.mark.parametrize(("kind", "checker"), [("deb", "lintian"), ("rpm", "rpmlint")])
def test_the_checker_of_packages_finds_nothing(dist: Path, kind: str, checker: str) -> None:
    """But for what packaging/ says is meant so, each with its reason."""
    for name in (lacking(kind), "" if shutil.which(checker) else checker):
        if name:
            pytest.skip(f"there is no {name} here")
    more = ("--fail-on", "error,warning") if kind == "deb" else ("-c", ROOT / "packaging/rpmlint.toml")
    shown = run(checker, *more, only(dist, f"advisor*.{kind}"))
    assert [line for line in shown.splitlines() if " E: " in line or " W: " in line or line.startswith(("E:", "W:"))] == []


def test_the_bill_of_materials_is_valid(dist: Path) -> None:
    """CycloneDX's own strict validator has nothing to say, and it lists what the bundle carries."""
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    text = (dist / "advisor.cdx.json").read_text(encoding="utf-8")
    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text) is None
    carried = {path.name.rpartition(".dist-info")[0] for path in (dist / "bundle").glob("*/*.dist-info")}
    lines = [each for each in carried if not each.startswith("hpc_advisor") and f"@{each.rpartition('-')[2]}" not in text]
    assert (len(carried) > 20, lines) == (True, [])
