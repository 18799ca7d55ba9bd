"""Manual pages: made from what the help is made of, fresh, clean for groff and mandoc, and installed with the wheel."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from advisor.cli.main import About, CommandHelp, Row, _names, commands, told
from docs import generate
from docs.manpage import Edition, command_page, file_name, program_page

ROOT = Path(__file__).parents[2]
MANUALS = ROOT / "docs" / "man"
OF = Edition("1.2.3", "2026-01-02")
HOSTILE = CommandHelp(
    "advisor x [OPTIONS] FILE", (".SH evil", "'br\\fB and -o."), (), (Row("--a-b", ".so /etc/passwd"),), (".ig",)
)


def test_manual_pages_are_fresh() -> None:
    """The pages in docs/man are what `make docs` writes now, one for the program and one for each command."""
    made = generate.manuals()
    kept = {path.name: path.read_text(encoding="utf-8") for path in MANUALS.glob("*.1")}
    assert sorted(name for name in {*made, *kept} if made.get(name) != kept.get(name)) == [], "run make docs"


def test_the_list_of_commands_is_fresh() -> None:
    """docs/commands.md is what `make docs` writes now: every command with its examples."""
    assert generate.COMMANDS.read_text(encoding="utf-8") == generate.command_list(), "run make docs"


def test_a_page_says_all_that_the_help_says() -> None:
    """Each option, argument and example of each command stands in its page."""
    assert [f"no page of advisor {name}: run make docs" for name in commands() if not (MANUALS / file_name(name)).is_file()] == []
    lacking = [
        (name, word)
        for name in commands()
        for word in (*(row.names for row in (*told(name).options, *told(name).arguments)), *told(name).examples)
        if word not in (MANUALS / file_name(name)).read_text(encoding="utf-8").replace("\\-", "-").replace("\\e", "\\")
    ]
    assert lacking == []


@pytest.mark.parametrize("shown", ["--scope [mpi|hpl]", "--scope <mpi|hpl>", "--scope mpi|hpl"])
def test_choices_are_written_alike_whatever_the_parser_puts_around_them(shown: str) -> None:
    """Releases of typer differ in the brackets; the help and the pages do not."""
    assert _names(SimpleNamespace(param_type_name="option"), shown) == "--scope mpi|hpl"


def test_no_text_is_an_instruction_of_roff() -> None:
    """A text that begins with a dot or has a backslash is shown as it is."""
    page = command_page("x", "do", HOSTILE, OF, ["x", "y z"])
    known = (".TH", ".SH", ".B ", ".BR", ".PP", ".TP", ".nf", ".fi", '.\\"')
    assert [line for line in page.splitlines() if line.startswith((".", "'")) and not line.startswith(known)] == []
    assert ("\\&.so /etc/passwd" in page, "\\efB and \\-o." in page, ".SH evil" in page.splitlines()) == (True, True, False)


CHECKERS = {
    "groff": ("groff", "-man", "-ww", "-z", "-Tutf8"),
    "mandoc": ("mandoc", "-T", "lint", "-W", "warning"),
    "man": ("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8"),
}


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_pages_are_clean(checker: str, tmp_path: Path) -> None:
    """What formats or checks manual pages has nothing to say of any of them."""
    if shutil.which(checker) is None:
        pytest.skip(f"there is no {checker} here")
    about = {"x y": About("Do", "Other", "Do.", ())}
    (tmp_path / "x.1").write_text(command_page("x", "Do", HOSTILE, OF, ["x"]))
    (tmp_path / "advisor.1").write_text(program_page(about, (), OF))
    said = []
    for page in (*sorted(MANUALS.glob("*.1")), *sorted(tmp_path.glob("*.1"))):
        done = subprocess.run(
            [*CHECKERS[checker], page], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}
        )
        said += [page.name, done.stderr] if done.returncode or done.stderr else []
        said += [page.name, done.stdout] if checker == "mandoc" and done.stdout else []
    assert said == []


def test_the_wheel_brings_its_manual_pages() -> None:
    """Data files of the wheel put them where man looks beside the program: share/man/man1."""
    made = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert made["shared-data"]["docs/man"] == "share/man/man1"


@pytest.mark.slow
def test_man_finds_the_installed_pages(tmp_path: Path) -> None:
    """In a clean environment `man advisor` and `man advisor-bind` show the pages of the wheel."""
    if shutil.which("man") is None:
        pytest.skip("there is no man here")
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path / "dist"), str(ROOT)]
    built = subprocess.run(wheel, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"no wheel can be built here: {built.stderr.strip().splitlines()[-1]}")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "clean"], check=True)
    (found,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([tmp_path / "clean/bin/python", "-m", "pip", "install", "-q", "--no-deps", found], check=True)
    asked = {"PATH": "/usr/bin:/bin", "MANPATH": str(tmp_path / "clean/share/man"), "MANPAGER": "cat", "LC_ALL": "C.UTF-8"}
    shown = [
        subprocess.run(["man", page], env=asked, capture_output=True, text=True, check=False).stdout.splitlines()
        for page in ("advisor", "advisor-bind")
    ]
    assert [page[0].split()[0] if page else "" for page in shown] == ["ADVISOR(1)", "ADVISOR-BIND(1)"]
