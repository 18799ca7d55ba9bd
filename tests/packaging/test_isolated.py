"""Whose modules the installed program loads: with a stranger's typer.py and json.py on PYTHONPATH and in the current folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from advisor import __version__
from advisor.start import kept_folders

SCRIPT = """#!{python}
import sys
from advisor.start import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""
"""What pip writes of an entry point."""


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Return a folder with modules of names that the program imports."""
    folder = tmp_path / "evil"
    folder.mkdir()
    for name in ("typer", "json", "rich", "yaml", "pydantic", "ast"):
        (folder / f"{name}.py").write_text("raise SystemExit('loaded')\n")
    return folder


def version(evil: Path, *line: str | Path) -> tuple[int, str, str]:
    """Return how the program ended that was to print its version and to read a sheet."""
    known = {"PATH": "/usr/bin:/bin", "HOME": str(evil.parent), "PYTHONPATH": str(evil)}
    done = subprocess.run([*line, "--version"], cwd=evil, env=known, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_python_m_takes_nothing_from_there(evil: Path) -> None:
    """The current folder comes first there."""
    assert version(evil, sys.executable, "-m", "advisor") == (0, f"advisor {__version__}\n", "")


def test_the_script_of_pip_takes_nothing_from_there(evil: Path) -> None:
    """Nor from the folder in which it lies itself."""
    script = evil / "advisor"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    assert version(evil, script) == (0, f"advisor {__version__}\n", "")


def test_the_script_that_make_audit_leaves_starts_isolated(evil: Path) -> None:
    """Not even what pip's own script imports comes from there."""
    script = Path(sys.executable).parent / "advisor"
    if not script.exists() or " -I" not in script.read_text(encoding="utf-8").partition("\nimport")[0]:
        pytest.skip("the program beside this Python was not installed by make")
    for name in ("re", "sitecustomize", "usercustomize", "typing"):
        (evil / f"{name}.py").write_text("raise SystemExit('loaded')\n")
    assert version(evil, script) == (0, f"advisor {__version__}\n", "")


@pytest.mark.parametrize(
    ("folders", "named", "safe", "kept"),
    [
        (["/bin", "/lib"], "", False, ["/lib"]),
        (["/lib", "/own"], "", True, ["/lib", "/own"]),
        (["/own", "/lib"], "/own", False, ["/own", "/lib"]),
        (["", "/x", "/x/../y", "/lib"], "/x:/y", False, ["/lib"]),
    ],
)
def test_what_stays_of_the_path(*, folders: list[str], named: str, safe: bool, kept: list[str]) -> None:
    """Where the product lies stays, for it may be there that PYTHONPATH leads."""
    assert kept_folders(folders, named, "/own", safe=safe) == kept
