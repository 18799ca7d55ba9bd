"""docs/quickstart.md: every command is run, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.catalogue import write_archive
from tests.totals import without_totals

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "quickstart.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the capture, and `advisor` beside it."""
    place = tmp_path_factory.mktemp("start")
    (place / "bin").mkdir()
    (place / "bin" / "advisor").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m advisor "$@"\n')
    (place / "bin" / "advisor").chmod(0o755)
    write_archive("b-c6525-2x7702-nps1", place / "node.tar.gz")
    return place


def printed(line: str, place: Path) -> str:
    """Return what a line of the page prints at 80 columns, with the folder that it was run in left out."""
    known = {"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": str(place), "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1; {line}"], cwd=place, env=known, stdout=subprocess.PIPE, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (line, done.stdout)
    return "".join(f"{text.rstrip()}\n" for text in done.stdout.replace(f"{place}/", "").splitlines())


def run_again(block: str, place: Path) -> str:
    """Return a block of the page with what its commands print now."""
    return "".join(f"$ {line}\n{printed(line, place)}" for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE))


@pytest.mark.slow
def test_the_quick_start_is_what_happens(place: Path, request: pytest.FixtureRequest) -> None:
    """Each command of the three paths ends well and prints what stands below it; --accept writes the page anew."""
    page = PAGE.read_text(encoding="utf-8")
    now = BLOCK.sub(lambda block: f"```console\n{run_again(block[1], place)}```", page)
    if request.config.getoption("--accept"):
        PAGE.write_text(now, encoding="utf-8")
    assert without_totals(PAGE.read_text(encoding="utf-8")) == without_totals(now)


def test_each_path_has_at_most_ten_commands() -> None:
    """A sysadmin, a scientist and a performance engineer have a path each, of ten commands or fewer."""
    parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    counted = {
        part.partition(":")[0]: len(re.findall(r"^\$ ", part, re.MULTILINE)) for part in parts if ":" in part.splitlines()[0]
    }
    assert list(counted) == ["The sysadmin", "The scientist", "The performance engineer"]
    assert [name for name, number in counted.items() if not 3 <= number <= 10] == []


def test_the_path_is_quiet_on_any_machine() -> None:
    """No command of the page is of this machine: its output would be another on each."""
    commands = re.findall(
        r"^\$ (advisor (?:audit|bind|measure|explain|topology|whatif|checklist).*)$", PAGE.read_text(), re.MULTILINE
    )
    assert [line for line in commands if "--from" not in line] == []
