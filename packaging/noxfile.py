"""The wheel in clean environments: with the oldest releases that it may have, and with the newest on every Python that is here.

nox -f packaging/noxfile.py, or `make test-pythons`; a Python that is not here is skipped, and named.
"""

import shutil
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TESTS = ("tests/cli/test_main.py", "tests/judge", "tests/language", "tests/model", "tests/plan", "tests/test_sheets.py")
"""Those that a release of Python or of a package has ever changed, without what needs other programs."""

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Run with the floors of pyproject.toml on the oldest Python."""
    needs = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    floors = Path(session.create_tmp()) / "floors.txt"
    floors.write_text("".join(f"{need.replace('>=', '==')}\n" for need in needs), encoding="utf-8")
    try_out(session, "-c", str(floors))


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def newest(session: nox.Session) -> None:
    """Run with the newest releases of everything."""
    try_out(session, "--upgrade")


def try_out(session: nox.Session, *constraint: str) -> None:
    """Install the wheel, look at a machine with it away from the checkout, then run the tests beside it."""
    place = Path(session.create_tmp())
    shutil.rmtree(place / "wheel", ignore_errors=True)
    session.run("uv", "build", "--quiet", "--wheel", "-o", str(place / "wheel"), str(ROOT), external=True)
    (wheel,) = (place / "wheel").glob("*.whl")
    session.install(*constraint, f"{wheel}[test]")
    session.chdir(ROOT)
    session.run("python", "-m", "tests.machines", "b-c6525-2x7702-nps1", "-o", str(place / "node.tar.gz"))
    with session.chdir(place):
        session.run(
            "python", "-c", "import advisor, sys, pydantic, typer; print(sys.version, pydantic.VERSION, typer.__version__)"
        )
        session.run("advisor", "rules", "test")
        session.run("advisor", "audit", "--from", "node.tar.gz")
        session.run("advisor", "audit", "--no-measure")
    quiet = ("-q", "-p", "no:cacheprovider", "-m", "not slow", "-W", "ignore::DeprecationWarning")
    session.run("python", "-m", "pytest", *quiet, *(session.posargs or TESTS))
