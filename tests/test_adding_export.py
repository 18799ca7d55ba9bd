"""docs/adding.md adds an export in one module: here it is added to a copy and used."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[1]
MODULE = "advisor/exports/formats/findings_tsv.py"
EXAMPLE = re.search(rf"```python\n# {MODULE}\n(.*?)```", (ROOT / "docs/adding.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what a checkout needs to run, with a capture."""
    place = tmp_path_factory.mktemp("copy")
    for folder in ("advisor", "rules", "templates"):
        copytree(ROOT / folder, place / folder, ignore=ignore_patterns("pictures"))
    write_archive("b-c6525-2x7702-nps1", place / "node.tar.gz")
    return place


def run(copy: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the copy as users do, with the module in it."""
    (copy / MODULE).write_text(text)
    own = {name: value for name, value in os.environ.items() if name != "ADVISOR_TRACEBACK"}
    line = [sys.executable, "-m", "advisor", "export", *words]
    return subprocess.run(line, cwd=copy, env=own, capture_output=True, text=True, check=False, timeout=300)


def example() -> str:
    """Return the module as the page has it."""
    assert EXAMPLE is not None
    return EXAMPLE[1]


@pytest.mark.slow
def test_an_export_is_one_module(copy: Path) -> None:
    """The list has it with what it was proven with, and it writes the findings of a capture."""
    listed = run(copy, example(), "--list").stdout
    made = run(copy, example(), "findings-tsv", "--from", "node.tar.gz")
    assert re.findall(r"findings-tsv .*\n +(.*)", listed) == ["for a machine; tested with: LibreOffice 7.4, opened by hand"]
    assert (made.returncode, [line.split("\t")[:3] for line in made.stdout.splitlines()][:2]) == (
        0,
        [["high", "numa-nps-below-best", ""], ["info", "fabric-socket-without-adapter", "socket 0"]],
    )
