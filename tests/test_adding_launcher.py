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

from advisor.launch.launcher_parts import PARTS
from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[1]
MODULE, READER = "advisor/launch/launchers/hpcrun.py", "tests/launch/readers/hpcrun.py"
USED = """
import contextlib, io, json, sys
from advisor.cli.job_options import LauncherName
from advisor.cli.main import status
from advisor.collect.sources import commands
from advisor.collect.system.software import classify
from advisor.launch.registry import find, rank_variables
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
    return json.loads(said("bind", "lint", "--from", sys.argv[1], "--json", "--", *words, "./app"))

option = LauncherName.__metadata__[0]
told = {
    "help": option.help,
    "completion": option.autocompletion("hp"),
    "alias": find("hpc-run").NAME,
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


def examples() -> tuple[str, str]:
    """Return the module that docs/adding.md shows, and what reads its lines back."""
    section = (ROOT / "docs/adding.md").read_text(encoding="utf-8").partition("## A launcher\n")[2].partition("\n## ")[0]
    module, reader = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return module, reader


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what Python did in a copy of the project."""
    environment = {"PATH": os.defpath, "HOME": str(copy), "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with one module more."""
    place = tmp_path_factory.mktemp("copy")
    for name in ("advisor", "rules", "templates", "docs", "tests/machines", "tests/launch", "tests/place", "tests/model"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("pictures", "reference"))
    for name in ("kernels", "README.md", "pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/examples.py"):
        (place / name).symlink_to(ROOT / name)
    for name, text in zip((MODULE, READER), examples(), strict=True):
        (place / name).write_text(text, encoding="utf-8")
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
        "not known; nothing is guessed of it",
    ]
    assert read["binding"] == "Not predicted rank by rank: where HPC run puts ranks, is not worked out here."


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
    assert "- where ranks go: not told\n" in used["reference"].partition("## HPC run\n")[2]


def properties(copy: Path, only: str) -> subprocess.CompletedProcess[str]:
    """Return what the tests of all launchers say of this one."""
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/launch/test_properties.py", "-k", only)
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
        (copy / READER).write_text(examples()[1], encoding="utf-8")
    assert (done.returncode, f"one more item: '{READER}'" in done.stdout) == (1, True), done.stdout


BIND = ("bind", "--from", "node.tar.gz", "--ranks", "2")


def broken(copy: Path, old: str, new: str, *words: str) -> str:
    """Return what a command says where the module is wrong in one place: one line, and nothing else."""
    whole = (copy / MODULE).read_text(encoding="utf-8")
    assert whole.count(old) == 1
    (copy / MODULE).write_text(whole.replace(old, new), encoding="utf-8")
    try:
        ran = run(copy, "-m", "advisor", *(words or (*BIND, "--", "./app")))
    finally:
        (copy / MODULE).write_text(whole, encoding="utf-8")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert ran.stderr.startswith(f"advisor: {MODULE}: "), ran.stderr
    return ran.stderr.strip().removeprefix(f"advisor: {MODULE}: ").removesuffix("; docs/adding.md says what a launcher has")


@pytest.mark.slow
@pytest.mark.parametrize("part", [part for part in PARTS if part.isupper()])
def test_a_launcher_that_lacks_a_part_is_named_in_one_line(copy: Path, part: str) -> None:
    """Half a launcher stops bind with the file and the part, not with a traceback, and is never left out silently."""
    assert broken(copy, f"\n{part} = ", f"\nMY_{part} = ") == f"this launcher lacks {part}"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["launch", "unbound"])
def test_a_launcher_that_lacks_a_function_is_named_in_one_line(copy: Path, part: str) -> None:
    """What it cannot do without its functions is said before it is tried."""
    assert broken(copy, f"\ndef {part}(", f"\ndef my_{part}(") == f"this launcher lacks {part}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('ALIASES = ("hpc-run",)', 'ALIASES = ("hpc-run")', "ALIASES"),
        ('VARIABLES = ("HPCRUN_",)', 'VARIABLES = ("HPCRUN_", "")', "VARIABLES"),
        ('(("hpcrun", "--version"),)', '("hpcrun", "--version")', "VERSIONS"),
        ("[^\\s]*)", "[^\\s]*", "VERSIONS"),
        ("VERSIONS = (", "VERSIONS = [*(", ""),
        ('rank=("HPCRUN_RANK",)', 'rank="HPCRUN_RANK"', "RANKS"),
        ('("unset HPCRUN_HOSTS",)', '("unset HPCRUN_HOSTS")', "JOB.lines"),
        ('lines={"slurm"', 'lines={"slrum"', "JOB.lines"),
        ('JobScript(lines={"slurm": ("unset HPCRUN_HOSTS",)})', 'JobScript(("slrum",))', "JOB.schedulers"),
        ('"-n": (1, "starts {0} ranks")', '"-n": "starts {0} ranks"', "LINES.options['-n']"),
        ('"starts {0} ranks"', '"starts {1} ranks"', "LINES.options['-n']"),
        ('programs=("hpcrun",)', 'programs=("hpcrun")', "LINES.programs"),
        ('programs=("hpcrun",)', 'programs=("hpcrun",), verbs="run"', "LINES.verbs"),
        ('programs=("hpcrun",)', 'programs=("hpcrun",), aliases={"--host": "--hots"}', "LINES.aliases['--host']"),
        ("ORDER = 60", 'ORDER = "60"', "ORDER"),
        ('ALIASES = ("hpc-run",)', 'ALIASES = ("HPC-run",)', "ALIASES"),
        ('rank=("HPCRUN_RANK",)', 'rank=("HPCRUN RANK; id",)', "RANKS"),
        ('("unset HPCRUN_HOSTS",)', '("unset A\\nid",)', "JOB.lines"),
        ('programs=("hpcrun",)', 'programs=("/opt/hpcrun",)', "LINES.programs"),
        ('programs=("hpcrun",)', 'programs=("hpcrun",), request=5', "LINES.request"),
        ('programs=("hpcrun",)', 'programs=("hpcrun",), glued="-n"', "LINES.glued"),
        ('programs=("hpcrun",)', 'programs=("hpcrun",), aliases={"-n": "--cpus"}', "LINES.aliases['-n']"),
        ('"--hosts": (1,', '"hosts": (1,', "LINES.options['hosts']"),
        ('"--hosts": (1,', '"--hosts": (-1,', "LINES.options['--hosts']"),
        ("def launch(placement: Placement, wish: LaunchRequest)", "def launch(wish: LaunchRequest)", "launch"),
    ],
)
def test_a_part_that_is_not_what_it_should_be_is_named_in_one_line(copy: Path, old: str, new: str, part: str) -> None:
    """A text in place of a tuple, an expression that is none, a function of too little: named before anything goes wrong."""
    said = broken(copy, old, new)
    assert said.startswith((f"its {part} is ", f"its {part} are ") if part else "this launcher cannot be loaded: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    return Launch(NAME,", "    Launch(NAME,", "its launch returns no Launch with the words of a line"),
        (
            "return Launch(NAME,",
            'return Launch("hpcrnu",',
            "its launch returns a Launch of the launcher 'hpcrnu', and not of NAME",
        ),
        (
            'argv = ("hpcrun", "-n"',
            'argv = ("hpcrnu", "-n"',
            "its launch returns a line that starts with 'hpcrnu', which is not in LINES.programs",
        ),
        (
            "argv, wish.environment, files",
            'argv, {"A": 1}, files',
            "its launch returns a Launch whose environment is no mapping of texts to texts",
        ),
        ("files, (), notes)", 'files, ("why",), notes)', "its launch returns a Launch whose avoided is no tuple of Avoided"),
        ("files, (), notes)", "files, (), None)", "its launch returns a Launch whose notes are no tuple of texts"),
        (
            '("list", {}) if slots',
            '("list", {"x": ["a"]}) if slots',
            'its launch returns a Launch whose files are no mapping of names to functions: {"hostfile": lambda: iter(...)}',
        ),
        (
            '("list", {}) if slots',
            '("list", {"x": lambda: iter(placement.rnaks)}) if slots',
            "line 36: its file x fails: AttributeError: 'Placement' object has no attribute 'rnaks'",
        ),
    ],
)
def test_a_launch_that_returns_what_is_none_is_named_in_one_line(copy: Path, old: str, new: str, said: str) -> None:
    """A return that was forgotten, another name, a part of another kind stop bind with the file and what is expected."""
    assert broken(copy, old, new, *BIND, "--launcher", "hpcrun", "--", "./app") == said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said", "command"),
    [
        ("wish.command if slots", "wish.commnd if slots", "line 33: its launch fails: AttributeError: 'LaunchRequest'", "bind"),
        ("str(total), *(", "str(total), *{}[0], *(", "line 43: its unbound fails: KeyError: 0", "openmpi"),
        (
            'programs=("hpcrun",)',
            'programs=("hpcrun",), ranks=lambda made: 1 // 0',
            "line 20: its LINES.ranks fails: ZeroDivisionError",
            "hpcrun",
        ),
        (
            'programs=("hpcrun",)',
            'programs=("hpcrun",), ranks=lambda made: (1,)',
            "its LINES.ranks does not return a tuple of",
            "hpcrun",
        ),
        (
            'programs=("hpcrun",)',
            'programs=("hpcrun",), request=lambda line, told: line.foo',
            "line 20: its LINES.request fails: AttributeError: 'Line' object has no attribute 'foo'",
            "hpcrun",
        ),
        ('programs=("hpcrun",)', 'programs=("hpcrun",), lists=lambda made: made.foo', "line 20: its LINES.lists fails", "hpcrun"),
        ('return "hpcrun", "-n"', 'return "hpcrnu", "-n"', "its unbound returns a line that starts with 'hpcrnu'", "openmpi"),
    ],
)
def test_a_slip_inside_of_a_launchers_own_function_is_named_in_one_line(
    copy: Path, old: str, new: str, said: str, command: str
) -> None:
    """What is raised there names the file, the line and the function: no traceback ends bind or lint."""
    lint = ("bind", "lint", "--from", "node.tar.gz", "--")
    words = {
        "bind": (*BIND, "--launcher", "hpcrun", "--", "./app"),
        "openmpi": (*lint, "mpirun", "-np", "2", "--bind-to", "none", "./app"),
        "hpcrun": (*lint, "hpcrun", "-n", "2", "./app"),
    }
    assert broken(copy, old, new, *words[command]).startswith(said)


@pytest.mark.slow
def test_a_line_without_binding_that_is_no_words_is_named_in_one_line(copy: Path) -> None:
    """A number among the words would be a traceback of the translation."""
    words = ("bind", "lint", "--from", "node.tar.gz", "--", "mpirun", "-np", "2", "--bind-to", "none", "./app")
    said = broken(copy, "if hosts else ()), *UNBOUND", "if hosts else ()), total", *words)
    assert said == "its unbound returns no tuple of words, and not None"


@pytest.mark.slow
def test_a_verb_stands_between_the_program_and_its_options(copy: Path) -> None:
    """Lines such as flux run -n 2 are read and written with their verb; those of another verb are refused in one line."""
    whole = (copy / MODULE).read_text(encoding="utf-8")
    (copy / MODULE).write_text(whole.replace('programs=("hpcrun",)', 'programs=("hpcrun",), verbs=("run", "submit")'))
    try:
        lint = ("-m", "advisor", "bind", "lint", "--from", "node.tar.gz", "--", "hpcrun")
        read, other = run(copy, *lint, "run", "-n", "2", "./app"), run(copy, *lint, "alloc", "-n", "2", "./app")
    finally:
        (copy / MODULE).write_text(whole, encoding="utf-8")
    assert read.stdout.splitlines()[1:5] == ["  hpcrun run -n 2 ./app", "", "Options", "  -n 2  starts 2 ranks"]
    assert other.stderr == "advisor: hpcrun alloc: its lines are not read here; it reads hpcrun run or submit\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import wrapper\n", "import wrappre\n", "line 5: this launcher cannot be loaded: cannot import name 'wrappre'"),
        ("ORDER = 60", "ORDER = SIXTY", "line 13: this launcher cannot be loaded: name 'SIXTY' is not defined"),
        ("ORDER = 60", "ORDER = = 60", "this launcher cannot be loaded: invalid syntax (hpcrun.py, line 13)"),
        (
            'VersionQuery("hpcrun", ',
            "VersionQuery(",
            "line 14: this launcher cannot be loaded: VersionQuery.__init__() missing 1",
        ),
        ('ALIASES = ("hpc-run",)', 'ALIASES = ("impi",)', "ALIASES has 'impi'; intelmpi has that name"),
        ('TITLE = "HPC run"', 'TITLE = "PALS"', "TITLE is 'PALS'; pals has that name"),
        ('VersionQuery("hpcrun"', 'VersionQuery("hpcrnu"', "VERSIONS has the tool 'hpcrnu', by which no launcher is found"),
    ],
)
@pytest.mark.parametrize("command", ["bind", "audit", "capture"])
def test_a_module_that_cannot_be_read_is_named_in_one_line(copy: Path, old: str, new: str, said: str, command: str) -> None:
    """Every command that needs launchers says which file, which line and what, not only bind."""
    words = {"audit": ("audit", "--no-measure"), "capture": ("capture", "-o", "x.tar.gz")}.get(command, ())
    assert said in broken(copy, old, new, *words)


def test_what_needs_no_launcher_loads_none() -> None:
    """Help and the check of rules start without reading a launcher's module."""
    code = "import sys; from advisor.cli.main import status; status(sys.argv[1:])\n"
    code += "print([name for name in sys.modules if 'launchers' in name])"
    for words in (("rules", "check"), ("audit", "--help"), ("--help",), ("topology", "--help")):
        assert run(ROOT, "-c", code, *words).stdout.splitlines()[-1] == "[]"
