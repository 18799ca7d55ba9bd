"""docs/adding.md performed in a copy of the project: a command, a format of the checklist, and a machine for the tests."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.machines.catalogue import write_archive
from tests.test_house import lacks

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
    """Return a copy of what a checkout needs to run and to be tested, compiled as far as the checkout is."""
    for folder in ("advisor", "rules", "templates", "tests/machines", "docs"):
        copytree(ROOT / folder, tmp_path / folder, ignore=ignore_patterns("pictures", "reference"))
    for file in (
        "pyproject.toml",
        "tests/__init__.py",
        "tests/conftest.py",
        "tests/examples.py",
        "tests/test_machines.py",
        "tests/test_house.py",
        "tests/printing.py",
    ):
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    write_archive("b-c6525-2x7702-nps1", tmp_path / "node.tar.gz")
    return tmp_path


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the copy's Python in the copy, as users do: a fault shows no traceback."""
    own = {name: value for name, value in os.environ.items() if name != "ADVISOR_TRACEBACK"}
    return subprocess.run([sys.executable, *words], cwd=copy, env=own, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "new", "said"),
    [
        (r"Example: .*\n", "", "no line 'Example: advisor sockets ...'"),
        (r"Example: advisor sockets", "Example: advisor socket", "no line 'Example: advisor sockets ...'"),
        (r"Group: .*\n", "", "Group: Other is none of Look, Set up"),
        (r"Group: Look", "Group: Look on", "Group: Look on is none of Look, Set up"),
        (r'(?s)^""".*?"""\n', "", "no docstring, whose first line is the help of the command"),
        (r"def run", "def main", "no function run"),
        (r"source: From = None", "source=None", "source, an option of run, has no type"),
    ],
)
def test_what_a_command_lacks_is_named(tmp_path: Path, pattern: str, new: str, said: str) -> None:
    """What was left out or misspelt is what the check of the house says."""
    text, count = re.subn(pattern, new, EXAMPLES[SOCKETS])
    file = tmp_path / "sockets.py"
    file.write_text(text)
    assert (count, [each for each in lacks(file) if each.startswith(said)] != []) == (1, True)


@pytest.mark.slow
def test_the_example_lacks_nothing(tmp_path: Path) -> None:
    """What the page shows passes the check of the house."""
    (tmp_path / "sockets.py").write_text(EXAMPLES[SOCKETS])
    assert list(lacks(tmp_path / "sockets.py")) == []


@pytest.mark.slow
def test_the_check_of_the_house_names_the_file(copy: Path) -> None:
    """Its failure names the file and what is missing."""
    (copy / SOCKETS).write_text(re.sub(r"Example: .*\n", "", EXAMPLES[SOCKETS]))
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_house.py", "-k", "help_needs and sockets")
    assert (done.returncode, "no line 'Example: advisor sockets ...'" in done.stdout, SOCKETS in done.stdout) == (1, True, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def run(", "def main(", "this command has no run function"),
        ("import counts", "import count", "line 11: ImportError: cannot import name 'count'"),
        ("source: From", "source: Form", "line 15: NameError: name 'Form' is not defined"),
        ("return 0", "return = 0", "line 22: SyntaxError: invalid syntax; it cannot be loaded"),
        ('node.tar.gz\n"""', "node.tar.gz", "line 15: SyntaxError: unterminated triple-quoted string literal"),
        ("topology is None", "topolgy is None", "line 18: NameError: name 'topolgy' is not defined"),
        (
            "seen.packages",
            "seen.pakages",
            "line 21: AttributeError: 'Counts' object has no attribute 'pakages' (did you mean packages?)",
        ),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_in_one_line(copy: Path, old: str, new: str, said: str) -> None:
    """The line names the file and what is wrong; the other commands are as before."""
    (copy / SOCKETS).write_text(EXAMPLES[SOCKETS].replace(old, new, 1))
    done = run(copy, "-m", "advisor", "sockets", "--from", "node.tar.gz")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"advisor: {SOCKETS}: {said}")
    assert run(copy, "-m", "advisor", "rules", "--help").returncode == run(copy, "-m", "advisor", "--help").returncode == 0


@pytest.mark.slow
def test_a_status_that_means_nothing_is_a_fault(copy: Path) -> None:
    """Scripts go by 0, 1 and 2: a command that returns another says so in one line, and ends with 2."""
    (copy / SOCKETS).write_text(EXAMPLES[SOCKETS].replace("    return 0", "    return 7", 1))
    done = run(copy, "-m", "advisor", "sockets", "--from", "node.tar.gz")
    assert (done.returncode, done.stderr) == (
        2,
        "advisor: it returned the undefined status 7; docs/adding.md shows what run may return\n",
    )


@pytest.mark.slow
def test_a_slip_in_what_all_commands_load_is_named_where_it_is(copy: Path) -> None:
    """A section that there is none of, in the facts of the machine: its file and line, and the name that was meant."""
    file = copy / "advisor/machine/machine.py"
    text = file.read_text()
    number = text.partition("Section.MEMORY]")[0].count("\n") + 1
    file.write_text(text.replace("Section.MEMORY]", "Section.MEMROY]", 1))
    said = f"advisor: advisor/machine/machine.py: line {number}: AttributeError: MEMROY (did you mean MEMORY?); "
    for words in (("audit", "--no-measure", "--from", "node.tar.gz"), ("topology", "--from", "node.tar.gz"), ("rules", "check")):
        done = run(copy, "-m", "advisor", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n"), done.stderr.startswith(said)) == (2, "", 1, True), (
            done.stderr
        )


@pytest.mark.slow
def test_a_fault_shows_itself_whole_to_who_asks(copy: Path) -> None:
    """ADVISOR_TRACEBACK=1 shows the traceback of a bug in advisor."""
    (copy / SOCKETS).write_text(EXAMPLES[SOCKETS].replace("seen.packages", "seen.pakages"))
    done = subprocess.run(
        [sys.executable, "-m", "advisor", "sockets", "--from", "node.tar.gz"],
        cwd=copy,
        env={**os.environ, "ADVISOR_TRACEBACK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr, done.stderr.count("\n") > 10) == (1, True, True)


@pytest.mark.slow
def test_a_format_of_the_checklist_is_one_template(copy: Path) -> None:
    """--as takes its name, the help lists it, and what it writes is the plan's one change."""
    (copy / FORMAT).write_text("{#- what to change, for a spreadsheet -#}\n" + EXAMPLES[FORMAT])
    done = run(copy, "-m", "advisor", "checklist", "--from", "node.tar.gz", "--as", "tsv")
    assert (done.returncode, done.stdout) == (0, "attribute\tnow\twanted\nNumaNodesPerSocket\t1\t4\n")
    assert (
        "tsv              what to change, for a spreadsheet\n" in run(copy, "-m", "advisor", "checklist", "--as", "help").stdout
    )
    assert "did you mean tsv?" in run(copy, "-m", "advisor", "checklist", "--as", "tvs", "--from", "node.tar.gz").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "only", "said"),
    [
        ("", "what_it_is", "['templates/checklist/tsv.j2'] == []"),
        ("{#- for a spreadsheet | vendors: del -#}\n", "what_it_is", "('tsv', ('del',))"),
        (
            "{#- for a spreadsheet -#}\n",
            "prints_as_it_did",
            "no golden text checklist.tsv: run pytest tests/render/test_checklist.py --accept",
        ),
    ],
)
def test_what_a_format_lacks_is_named(copy: Path, first: str, only: str, said: str) -> None:
    """A first line that says what it is, a vendor that is none, and the text to be read."""
    for folder in ("tests/render", "tests/know"):
        copytree(ROOT / folder, copy / folder, ignore=ignore_patterns("seen"))
    (copy / FORMAT).write_text(first + EXAMPLES[FORMAT])
    words = (
        "-m",
        "pytest",
        "-q",
        "-vv",
        "-p",
        "no:cacheprovider",
        "tests/render/test_checklist.py",
        "-k",
        f"{only} and not docs",
    )
    done = run(copy, *words)
    assert (done.returncode, said in " ".join(done.stdout.split())) == (1, True), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("quoted", "status"), [("now | note", 0), ("now", 1)])
def test_a_format_is_tried_with_hostile_names(copy: Path, quoted: str, status: int) -> None:
    """The example stands the test of every format; without its filter for a word from outside it does not."""
    for folder in ("tests/render", "tests/know"):
        copytree(ROOT / folder, copy / folder, ignore=ignore_patterns("seen"))
    (copy / FORMAT).write_text("{#- for a spreadsheet -#}\n" + EXAMPLES[FORMAT].replace("now | note", quoted))
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/render/test_checklist.py", "-k", "nothing_from and tsv")
    assert run(copy, *words).returncode == status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{#- a mistake -#}\n{{ plan.chnages }}\n", "line 2: 'advisor.advice.model.plan.Plan object' has no attribute 'chnages'"),
        ("{#- a mistake -#}\n\n{{ changes }}\n", "line 3: 'changes' is undefined"),
        ("{#- a mistake -#}\n{{ version | csv }}\n", "line 2: No filter named 'csv'"),
        ("{#- for one vendor | vendor: dell -#}\n", "line 1: unknown key 'vendor': use escape or vendors"),
        ("{#- a page | escape: xml -#}\n", "line 1: escape is 'xml', not none or html"),
        (
            "{#- a report -#}\n<?xml version='1.0'?>\n",
            'line 1: it inserts values into HTML or XML: add "| escape: html" to its first line',
        ),
        ("{#- for one vendor | vendors: del -#}\n", "line 1: there is no vendor 'del'; available: "),
    ],
)
def test_a_format_that_is_wrong_is_refused_in_one_line(copy: Path, text: str, said: str) -> None:
    """The line names the template, its line, and the word; where formats are listed a first line that is wrong says so."""
    (copy / FORMAT).write_text(text)
    done = run(copy, "-m", "advisor", "checklist", "--from", "node.tar.gz", "--as", "tsv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"advisor: {copy / FORMAT}: {said}"), done.stderr
    listed = run(copy, "-m", "advisor", "checklist", "--as", "help").stdout
    assert (said.removeprefix("line 1: ") in listed) is said.startswith("line 1: ")


@pytest.mark.slow
def test_a_machine_for_the_tests_is_a_function_and_its_answer(copy: Path) -> None:
    """It is read through every source in both forms, and the tests of all machines hold it to its answer."""
    special, catalogue = copy / SPECIAL, copy / CATALOGUE
    special.write_text(f"{special.read_text()}\n\n{EXAMPLES[SPECIAL]}")
    before, mark, after = catalogue.read_text().partition("\n\ndef _tiers")
    catalogue.write_text(before.rstrip("\n") + "\n" + EXAMPLES[CATALOGUE] + "\n" + mark + after)
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_machines.py", "-k", "rome-half-filled")
    assert (done.returncode, re.findall(r"(\d+) passed", done.stdout) > ["2"]) == (0, True), done.stdout[-2000:]
