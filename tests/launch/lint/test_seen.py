"""Lines of Hydra, Intel MPI and srun are told as the real launchers were seen to do them, on one host and on several."""

from pathlib import Path

import pytest

from tests.fakenode.run import available
from tests.launch.lint.oracle import asked, rows, told
from tests.machines import hwloc_xml

FILES = ("mpich",)
MOST_OPEN = 0.1
"""The share of lines that may be left open."""


@pytest.mark.parametrize("launcher", FILES)
def test_no_line_is_told_wrongly_and_few_are_left_open(launcher: str) -> None:
    """Every rank's host and CPUs, or that nothing starts."""
    every = rows(f"seen_{launcher}.txt")
    said = [told(row)[0] for row in every]
    pairs = list(zip(every, said, strict=True))
    assert [(row.line, row.machine, row.seen, text) for row, text in pairs if text not in (None, row.seen)] == []
    assert said.count(None) <= MOST_OPEN * len(every)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [name for name in FILES if name != "srun"])
def test_the_launcher_still_does_what_was_seen(launcher: str, tmp_path: Path) -> None:
    """Every third line, asked anew under the real launcher."""
    if not available(launcher) or not hwloc_xml.available():
        pytest.skip(f"{launcher} is not installed, or no compiler, or no hwloc")
    every = rows(f"seen_{launcher}.txt")[::3]
    assert [(row.line, asked(row, tmp_path)) for row in every] == [(row.line, row.seen) for row in every]
