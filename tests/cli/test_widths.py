"""Every page on every width of terminal: nothing hangs, nothing ends in a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.show.lines import STYLES
from tests.examples import a_third
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]
NAME = "b-c6525-2x7702-nps1"
PAGES = {
    "audit": "audit --no-measure --from {}",
    "audit, every fact": "audit -v --no-measure --from {}",
    "topology": "topology --from {}",
    "bind": "bind --ranks 16 --from {} -- ./a",
    "check": "check --from {} -- mpirun -np 4 --bind-to core ./a",
    "checklist": "checklist --from {}",
    "explain": "explain numa-nps-below-best --from {}",
    "whatif": "whatif --nps 4 --from {}",
    "rules list": "rules list",
    "compare": "compare {} {}",
    "help": "measure membw --help",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive of a Rome server cut NPS1."""
    file = tmp_path_factory.mktemp("widths") / "node.tar.gz"
    write_archive(NAME, file)
    return file


def ends(page: str, width: int, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> bool:
    """Return whether a command ends as commands do, and says something."""
    monkeypatch.setenv("COLUMNS", str(width))
    code = status(PAGES[page].replace("{}", str(archive)).split())
    return code in (0, 1) and bool(capsys.readouterr().out)


@pytest.mark.parametrize("width", [1, pytest.param(11, marks=pytest.mark.slow)])
@pytest.mark.parametrize("page", a_third(PAGES))
def test_narrow(page: str, width: int, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A page ends on a terminal that is narrower than its indents."""
    assert ends(page, width, archive, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_width(page: str, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A page ends on every width."""
    widths = [2, 5, 8, 10, 12, 16, 25, 39, 79, 120, 200, 300]
    assert [width for width in widths if not ends(page, width, archive, monkeypatch, capsys)] == []


READ = ("a-r7425-2x7601-dell-2nodesmem", "b-c6525-2x7702-l3numa", "b-c6525-2x7702-nps4-smt", "d-delftblue-2x6248r-snc2")
"""Machines with things to fix by hand, by a line and in hardware, and one with none."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the archives of those machines, each under a short name."""
    folder = tmp_path_factory.mktemp("read")
    return {name: write_archive(name, folder / f"{at}.tar.gz") for at, name in enumerate(READ)}


def pages(archive: Path, width: int, capsys: Capture) -> str:
    """Return the first screen of a machine and the pages of all that it numbers."""
    options = ["--from", str(archive), "--width", str(width)]
    assert status(["audit", *options]) == 0
    screen = capsys.readouterr().out
    numbers = [name for name in map(str, range(1, 9)) if status(["explain", name, *options]) == 0]
    return screen + capsys.readouterr().out if numbers else screen


FIRST = [READ[0], *(pytest.param(name, marks=pytest.mark.slow) for name in READ[1:])]


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, *(pytest.param(width, marks=pytest.mark.slow) for width in (60, 132, 250))])
@pytest.mark.parametrize("name", READ)
def test_no_line_of_screen_and_page_is_wider_than_the_terminal(
    name: str, width: int, archives: dict[str, Path], capsys: Capture
) -> None:
    """But an address, a file's name or a word of a command that is wider itself; nothing ends in blanks."""
    wide = [line for line in pages(archives[name], width, capsys).splitlines() if len(line) > width or line != line.rstrip()]
    assert [line for line in wide if max(map(len, line.split())) < width - 18 and not line.lstrip().startswith("http")] == []


UNREADABLE = {"black", "white", "bright_white", "bright_black", "blue"}
"""Colours that a black or a white terminal swallows."""


def test_no_style_is_lost_on_a_black_or_a_white_terminal() -> None:
    """Blue on black is not read, nor is white on white; a style with a ground of its own stands on that."""
    assert {name for name, style in STYLES.items() if UNREADABLE & set(style.split()) and " on " not in style} == set()


def screen(archive: Path, **environment: str) -> str:
    """Return the first screen as a process of its own prints it."""
    line = [sys.executable, "-m", "advisor", "audit", "--from", str(archive), "--width", "80"]
    where = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run(line, env=where, capture_output=True, check=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_colours_say_nothing_that_words_do_not(name: str, archives: dict[str, Path]) -> None:
    """Without colours the same words stand at the same places: for a screen reader, a pipe, a terminal that has none."""
    coloured, plain = screen(archives[name], FORCE_COLOR="1", TERM="xterm-256color"), screen(archives[name], TERM="dumb")
    assert (coloured != plain, re.sub(r"\x1b\[[\d;]*m", "", coloured)) == (True, plain)
    bare = screen(archives[name], FORCE_COLOR="1", NO_COLOR="1", TERM="xterm-256color")
    assert set(re.findall(r"\x1b\[([\d;]*)m", bare)) <= {"0", "1", "2"}, "bold and dim are no colours"


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_an_ascii_terminal_loses_no_sign(name: str, archives: dict[str, Path], capsys: Capture) -> None:
    """In a locale that is not UTF-8 each sign has a letter that stands for it: no question mark takes its place."""
    found = screen(archives[name], LC_ALL="C")
    assert status(["audit", "--from", str(archives[name]), "--width", "80"]) == 0
    assert found.isascii()
    assert found.count("?") == capsys.readouterr().out.count("?")
