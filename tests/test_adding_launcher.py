"""docs/adding.md adds a launcher in one module: here it is added to a copy, used, and left incomplete."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[1]
MODULE, READER = "advisor/jobs/launchers/hpcrun.py", "tests/jobs/readers/hpcrun.py"
VERSIONS, ROWS = "advisor/machine/sources/scheduler.py", "VERSIONS = (\n"
USED = """
import contextlib, io, json, sys
from advisor.cli.job_options import LauncherName
from advisor.cli.main import status
from advisor.machine.sources.registry import commands
from advisor.machine.sources.scheduler import classify
from advisor.jobs.launcher import find, rank_variables
from docs.generate import launcher_page

def said(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        found = status([*words])
    assert found in (0, 1), (words, err.getvalue())
    return out.getvalue()

def bound(*words):
    return said("bind", "--from", sys.argv[1], "--ranks", "2", "--launcher", "hpcrun", *words, "--", "./app")

def lint(*words):
    return json.loads(said("check", "--from", sys.argv[1], "--json", "--", *words, "./app"))

option = LauncherName.__metadata__[0]
told = {
    "help": option.help,
    "completion": option.autocompletion("hp"),
    "alias": find("hpc-run").name,
    "bound": json.loads(bound("--json")),
    "wrapped": json.loads(bound("--wrapper", "--json")),
    "written": bool(bound("-o", sys.argv[2])),
    "lint": lint("hpcrun", "-n", "2", "--cpus", "0:1", "--odd"),
    "others": lint("mpirun", "-np", "2", "--bind-to", "core"),
    "unbound": lint("mpirun", "-np", "2", "--bind-to", "none"),
    "tool": [classify("hpcrun 1.2.3").name, classify("hpcrun 1.2.3").version, ["hpcrun", "--version"] in map(list, commands())],
    "ranks": rank_variables("rank"),
    "reference": launcher_page(),
}
print(json.dumps(told))
"""


def examples() -> tuple[str, str, str]:
    """Return the module that docs/adding.md shows, the row of its version, and what reads its lines back."""
    section = (ROOT / "docs/adding.md").read_text(encoding="utf-8").partition("## A launcher\n")[2].partition("\n## ")[0]
    module, row, reader = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    return module, row, reader


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what Python did in a copy of the project."""
    environment = {"PATH": os.defpath, "HOME": str(copy), "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with one module more."""
    place = tmp_path_factory.mktemp("copy")
    for name in ("advisor", "rules", "templates", "docs", "tests/machines", "tests/jobs", "tests/model"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("pictures", "reference"))
    for name in ("kernels", "README.md", "pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/examples.py"):
        (place / name).symlink_to(ROOT / name)
    module, row, reader = examples()
    (place / MODULE).write_text(module, encoding="utf-8")
    (place / VERSIONS).write_text((place / VERSIONS).read_text().replace(ROWS, ROWS + row), encoding="utf-8")
    (place / READER).write_text(reader, encoding="utf-8")
    write_archive("b-c6525-2x7702-nps4", place / "node.tar.gz")
    return place


@pytest.fixture(scope="module")
def used(copy: Path) -> dict[str, Any]:
    """Return what the product says with the new launcher, read once."""
    ran = run(copy, "-c", USED, "node.tar.gz", "job")
    assert (ran.returncode, ran.stderr) == (0, "")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
def test_it_can_be_asked_for(used: dict[str, Any]) -> None:
    """--launcher names it, the shell completes it, and its other name finds it."""
    assert [", hpcrun," in used["help"], used["completion"], used["alias"]] == [True, ["hpcrun"], "hpcrun"]


@pytest.mark.slow
def test_bind_writes_its_line(used: dict[str, Any]) -> None:
    """The plan is its list of CPUs; with the wrapper it is told to leave binding alone."""
    assert used["bound"]["command"] == ["hpcrun", "-n", "2", "--cpus", "0:64", "./app"]
    assert used["wrapped"]["command"][:7] == ["hpcrun", "-n", "2", "--cpus", "all", "sh", "bind-wrapper.sh"]


def test_the_wrapper_knows_its_ranks(used: dict[str, Any], copy: Path) -> None:
    """The script that binds, and the probe of advisor verify, read the variables that it declares."""
    ran = run(
        copy,
        "-m",
        "advisor",
        "bind",
        "--from",
        "node.tar.gz",
        "--ranks",
        "2",
        "--launcher",
        "hpcrun",
        "--wrapper",
        "-o",
        "w",
        "--",
        "./app",
    )
    script = (copy / "w/bind-wrapper.sh").read_text(encoding="utf-8")
    assert [ran.returncode, "${HPCRUN_RANK:-" in script, "${HPCRUN_LOCAL_RANK:-" in script] == [0, True, True]
    assert "HPCRUN_RANK" in used["ranks"]


@pytest.mark.slow
def test_job_scripts_have_its_lines(used: dict[str, Any], copy: Path) -> None:
    """What it wants before a launch stands in the job script of that scheduler, and in no other."""
    assert used["written"]
    scripts = {name: (copy / "job" / f"job.{name}").read_text(encoding="utf-8") for name in ("slurm", "pbs")}
    assert {name: "unset HPCRUN_HOSTS\n" in text for name, text in scripts.items()} == {"slurm": True, "pbs": False}


def test_lint_recognises_its_word_and_guesses_nothing(used: dict[str, Any]) -> None:
    """Options of its table are explained, others named; where ranks go is not told."""
    read = used["lint"]
    assert [read["launcher"], read["ranks"]] == ["hpcrun", None]
    assert [option["says"] for option in read["options"]] == [
        "starts 2 ranks",
        "binds each rank of a host to its entry of 0:1",
        "unknown; not guessed",
    ]
    assert read["binding"] == "Placement unknown: rank placement by HPC run is not predicted."


def test_other_lines_are_translated_to_it(used: dict[str, Any]) -> None:
    """A line of Open MPI is said in its words, bound and not bound."""
    lines = [
        next(each["line"] for each in used[name]["translations"] if each["launcher"] == "hpcrun")
        for name in ("others", "unbound")
    ]
    assert lines == ["hpcrun -n 2 --cpus 0:1 ./app", "hpcrun -n 2 --cpus all ./app"]


def test_its_version_is_a_fact(used: dict[str, Any]) -> None:
    """The machine is asked by its command, and what that prints is understood."""
    assert used["tool"] == ["hpcrun", "1.2.3", True]


def test_the_reference_lists_it(used: dict[str, Any]) -> None:
    """docs/reference/launchers.md has it without a word written there."""
    assert "## HPC run\n" in used["reference"]
    assert "- where ranks go: not predicted\n" in used["reference"].partition("## HPC run\n")[2]


def properties(copy: Path, only: str) -> subprocess.CompletedProcess[str]:
    """Return what the tests of all launchers say of this one."""
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/jobs/test_properties.py", "-k", only)
    return run(copy, *words)


@pytest.mark.slow
def test_its_lines_are_held_to_the_plan(copy: Path) -> None:
    """The tests of every launcher place jobs with it, and what reads its lines back finds the plan in them."""
    done = properties(copy, "hpcrun or reader")
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout[-2000:]


@pytest.mark.slow
def test_a_launcher_whose_lines_nothing_reads_back_is_named(copy: Path) -> None:
    """The file that is missing is named."""
    (copy / READER).unlink()
    try:
        done = properties(copy, "reader")
    finally:
        (copy / READER).write_text(examples()[2], encoding="utf-8")
    assert (done.returncode, f"one more item: '{READER}'" in done.stdout) == (1, True), done.stdout


@pytest.mark.slow
def test_a_verb_stands_between_the_program_and_its_options(copy: Path) -> None:
    """Lines such as flux run -n 2 are read and written with their verb; those of another verb are refused in one line."""
    whole = (copy / MODULE).read_text(encoding="utf-8")
    (copy / MODULE).write_text(whole.replace('programs=("hpcrun",)', 'programs=("hpcrun",), verbs=("run", "submit")'))
    try:
        lint = ("-m", "advisor", "check", "--from", "node.tar.gz", "--", "hpcrun")
        read, other = run(copy, *lint, "run", "-n", "2", "./app"), run(copy, *lint, "alloc", "-n", "2", "./app")
    finally:
        (copy / MODULE).write_text(whole, encoding="utf-8")
    assert read.stdout.splitlines()[1:5] == ["  hpcrun run -n 2 ./app", "", "Options", "  -n 2  starts 2 ranks"]
    assert other.stderr == "advisor: hpcrun alloc: this command is not supported; use hpcrun run or submit\n"


def test_what_needs_no_launcher_loads_none() -> None:
    """Help and the check of rules start without reading a launcher's module."""
    code = "import sys; from advisor.cli.main import status; status(sys.argv[1:])\n"
    code += "print([name for name in sys.modules if 'jobs.launchers.' in name])"
    for words in (("rules", "check"), ("audit", "--help"), ("--help",), ("topology", "--help")):
        assert run(ROOT, "-c", code, *words).stdout.splitlines()[-1] == "[]"
