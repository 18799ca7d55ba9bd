"""docs/adding.md, "A kernel": one file is added to a copy of the project, everything works with it, and it is removed again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from advisor.paths import kernels

PROJECT = Path(__file__).parents[1]
EXAMPLE = PROJECT / "docs" / "examples" / "gups.c"
CPU = str(min(os.sched_getaffinity(0)))
RUN = ("measure", "gups", "--busy-ok", "--cpus", CPU, "--repeats", "2")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project."""
    copy = tmp_path_factory.mktemp("project")
    for folder in ("advisor", "kernels"):
        shutil.copytree(PROJECT / folder, copy / folder, ignore=shutil.ignore_patterns("build"))
    for folder in ("rules", "templates"):
        (copy / folder).symlink_to(PROJECT / folder)
    return copy


@pytest.fixture
def project(copied: Path) -> Path:
    """Return the copy with the kernel of the example, as it is in the docs."""
    shutil.copy(EXAMPLE, copied / "kernels")
    return copied


def advisor(project: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the copy's advisor, which keeps what it builds in the copy."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(project / "cache"), "PYTHONPATH": str(project), "COLUMNS": "120"}
    line = [sys.executable, "-m", "advisor", *words]
    done = subprocess.run(line, cwd=project, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr if status == 0 and done.returncode else "") == (status, "")
    return done


def changed(project: Path, old: str, new: str) -> Path:
    """Return the copy after another version of the example was laid there."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert old in text
    (project / "kernels" / "gups.c").write_text(text.replace(old, new, 1), encoding="utf-8")
    return project


@pytest.fixture(scope="module")
def measured(copied: Path) -> Path:
    """Return what the kernel measured on one CPU."""
    shutil.copy(EXAMPLE, copied / "kernels")
    advisor(copied, *RUN, "--save", str(copied / "gups.json"))
    return copied / "gups.json"


def test_it_is_in_the_list(project: Path) -> None:
    """With its unit and what an update costs, from the header comment alone."""
    found = json.loads(advisor(project, "measure", "--list", "--json").stdout)
    gups: dict[str, Any] = next(each for each in found["kernels"] if each["name"] == "gups")
    update = {"name": "update", "unit": "updates/s", "arrays": 1, "read": 8, "written": 8, "flops": 0}
    assert (gups["summary"], found["wrong"]) == ("random updates of memory", [])
    assert update.items() <= gups["variants"][0].items()


@pytest.mark.slow
@needs_cc
def test_its_figures_are_kept(measured: Path) -> None:
    """Every repeat in its own unit, with what the kernel says of itself."""
    found = json.loads(measured.read_text(encoding="utf-8"))
    (result,) = found["results"]
    assert (result["kernel"], result["variant"], result["unit"], result["purpose"]) == ("gups", "update", "updates/s", "kernel")
    assert (result["cpus"], len(result["values"]) >= 2, [each["name"] for each in found["kernels"]]) == (
        [int(CPU)],
        True,
        ["gups"],
    )


@pytest.mark.slow
@needs_cc
def test_its_figures_are_shown(project: Path, measured: Path) -> None:
    """Under its name, with its title, in its unit."""
    said = advisor(project, "measure", "show", str(measured), "--width", "120").stdout
    assert [word for word in ("gups  random updates of memory", "random updates  ", "updates/s") if word not in said] == []


@pytest.mark.slow
@needs_cc
def test_its_figures_are_compared(project: Path, measured: Path) -> None:
    """A run against itself is no difference."""
    said = advisor(project, "compare", str(measured), str(measured), "--json").stdout
    (row,) = json.loads(said)["rows"]
    assert (row["kernel"], row["variant"], row["unit"], row["ratio"], row["says"]) == (
        "gups",
        "update",
        "updates/s",
        1.0,
        "no difference shown",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("update   updates/s       1 ", "update                   1 ", 7, "update unit: "),
        (" * parts: core numa socket machine\n", "", 1, "no line 'parts: "),
        (" * parts: core numa socket machine\n", " * parts: core core2 machine\n", 4, "parts: must be 'core'"),
        (
            "0  random updates, table",
            "random updates",
            7,
            "update flops: must be a whole number",
        ),
    ],
)
def test_what_its_header_comment_lacks_is_named(project: Path, old: str, new: str, line: int, said: str) -> None:
    """The list ends with status 2, and who wants to run it reads the same line."""
    copy = changed(project, old, new)
    place = f"{copy}/kernels/gups.c: line {line}: {said}"
    assert place in " ".join(json.loads(advisor(copy, "measure", "--list", "--json", status=2).stdout)["wrong"])
    assert place in advisor(copy, *RUN, status=2).stderr


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"update", "updates/s");', '"change", "updates/s");', "the variant change, which its header comment does not list"),
        (
            '    line_numbers("values", values, common.repeats);',
            '    line_numbers("values", values, 1);',
            "values of update, although --repeats",
        ),
    ],
)
def test_a_program_that_says_other_than_its_header_is_refused(project: Path, old: str, new: str, said: str) -> None:
    """By what it prints."""
    assert said in advisor(changed(project, old, new), *RUN, status=2).stderr


@pytest.mark.slow
def test_it_is_gone_with_its_file(project: Path) -> None:
    """Nothing else had to be touched: the copy is the project again, and the name is not known."""
    (project / "kernels" / "gups.c").unlink(missing_ok=True)
    assert "unknown measurement gups" in advisor(project, *RUN, status=2).stderr
    own = sorted(path.relative_to(project / "kernels") for path in (project / "kernels").rglob("*.[ch]"))
    assert own == sorted(path.relative_to(kernels()) for path in kernels().rglob("*.[ch]"))
