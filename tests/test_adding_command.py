"""docs/adding.md performed in a copy of the project: a command, a format of the checklist, and a machine for the tests."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[1]
EXAMPLES = dict(
    re.findall(
        r"```(?:python|jinja)\n(?:# |\{#- )(\S+\.(?:py|j2))[^\n]*\n(.*?)```", (ROOT / "docs/adding.md").read_text(), re.DOTALL
    )
)
SOCKETS, SPECIAL, CATALOGUE = "advisor/cli/commands/sockets.py", "tests/machines/special.py", "tests/machines/catalogue.py"
FORMAT = "templates/checklist/tsv.j2"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of what a checkout needs to run and to be tested."""
    for folder in ("advisor", "rules", "templates", "tests/machines", "docs"):
        copytree(ROOT / folder, tmp_path / folder, ignore=ignore_patterns("__pycache__", "pictures", "reference"))
    for file in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/test_machines.py", "tests/test_house.py"):
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    write_archive("b-c6525-2x7702-nps1", tmp_path / "node.tar.gz")
    return tmp_path


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the copy's Python in the copy."""
    return subprocess.run([sys.executable, *words], cwd=copy, capture_output=True, text=True, check=False, timeout=300)


def test_a_command_is_one_file(copy: Path) -> None:
    """It runs, stands in the help of its group and in the reference, and is gone with its file."""
    file = copy / SOCKETS
    file.write_text(EXAMPLES[SOCKETS])
    assert run(copy, "-m", "advisor", "sockets", "--from", "node.tar.gz").stdout == "2 128\n"
    assert "sockets  " in run(copy, "-m", "advisor", "--help").stdout
    page = run(copy, "-c", "from docs.generate import commands; print(commands())").stdout
    assert "## advisor sockets\n\nSay how many sockets and cores a machine has." in page
    file.unlink()
    assert "sockets  " not in run(copy, "-m", "advisor", "--help").stdout


def test_a_command_without_an_example_is_named(copy: Path) -> None:
    """What was left out is said by the check of the house."""
    (copy / SOCKETS).write_text(re.sub(r"Example: .*\n", "", EXAMPLES[SOCKETS]))
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_house.py", "-k", "every_command_has")
    assert (done.returncode, "['sockets'] == []" in done.stdout) == (1, True)


def test_a_format_of_the_checklist_is_one_template(copy: Path) -> None:
    """--as takes its name, the help lists it, and what it writes is the plan's one change."""
    (copy / FORMAT).write_text("{#- what to change, for a spreadsheet -#}\n" + EXAMPLES[FORMAT])
    done = run(copy, "-m", "advisor", "checklist", "--from", "node.tar.gz", "--as", "tsv")
    assert (done.returncode, done.stdout) == (0, "attribute\tnow\twanted\nNumaNodesPerSocket\t1\t4\n")
    assert "did you mean tsv?" in run(copy, "-m", "advisor", "checklist", "--as", "tvs", "--from", "node.tar.gz").stderr


def test_a_format_that_asks_for_what_is_not_there_is_refused_in_one_line(copy: Path) -> None:
    """The line names the template and the word."""
    (copy / FORMAT).write_text("{#- a mistake -#}\n{{ plan.chnages }}\n")
    done = run(copy, "-m", "advisor", "checklist", "--from", "node.tar.gz", "--as", "tsv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert ("tsv.j2" in done.stderr, "chnages" in done.stderr) == (True, True)


def test_a_machine_for_the_tests_is_a_function_and_its_answer(copy: Path) -> None:
    """It is read through every source in both forms, and the tests of all machines hold it to its answer."""
    special, catalogue = copy / SPECIAL, copy / CATALOGUE
    special.write_text(f"{special.read_text()}\n\n{EXAMPLES[SPECIAL]}")
    before, mark, after = catalogue.read_text().partition("\n\ndef _tiers")
    catalogue.write_text(before.rstrip("\n") + "\n" + EXAMPLES[CATALOGUE] + "\n" + mark + after)
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_machines.py", "-k", "rome-half-filled")
    assert (done.returncode, re.findall(r"(\d+) passed", done.stdout) > ["2"]) == (0, True), done.stdout[-2000:]
