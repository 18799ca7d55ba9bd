"""Lines of Hydra, Intel MPI and srun are told as the real launchers were seen to do them, on one host and on several."""

from pathlib import Path

import pytest

from advisor.jobs.slurm import KEY
from tests.fakenode import slurm
from tests.fakenode.run import available
from tests.jobs.lint.oracle import asked, file_for, in_slurm, is_here, odd_of, rows, told
from tests.machines import hwloc_xml

FILES = ("mpich", "intelmpi", "srun", "openmpi")
MOST_OPEN = 0.1
"""The share of lines that may be left open."""


@pytest.mark.parametrize("launcher", FILES)
def test_no_line_is_told_wrongly_and_few_are_left_open(launcher: str) -> None:
    """Every rank's host and CPUs, or that nothing starts."""
    every = [row for row in rows(f"seen_{launcher}.txt") if is_here(row.machine)]
    said = [told(row)[0] for row in every]
    pairs = list(zip(every, said, strict=True))
    assert [(row.line, row.machine, row.seen, text) for row, text in pairs if text not in (None, row.seen)] == []
    plain = [text for row, text in pairs if not odd_of(row)]
    assert plain.count(None) <= MOST_OPEN * len(plain)
    if absent := len(rows(f"seen_{launcher}.txt")) - len(every):
        pytest.skip(f"{absent} of the rows are of published machines, which are not here (set ADVISOR_CORPUS)")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [name for name in FILES if name != "srun"])
def test_the_launcher_still_does_what_was_seen(launcher: str, tmp_path: Path) -> None:
    """Every third line, asked anew under the real launcher."""
    every = rows(f"seen_{launcher}.txt")[::3]
    if not all(available(row.launcher) for row in every) or not hwloc_xml.available():
        pytest.skip(f"{launcher} is not installed, or no compiler, or no hwloc")
    assert [(row.line, asked(row, tmp_path)) for row in every] == [(row.line, row.seen) for row in every]


@pytest.mark.slow
def test_slurm_still_does_what_was_seen(tmp_path: Path) -> None:
    """Every third line in a Slurm of its own, set up as the row says."""
    if not slurm.available() or not hwloc_xml.available():
        pytest.skip("Slurm is not installed, or no compiler, or no hwloc")
    every = [row for row in rows("seen_srun.txt") if KEY in row.files][::3]
    wrong = []
    for name, text in dict.fromkeys((row.machine, row.files[KEY]) for row in every):
        with slurm.cluster(dict.fromkeys(("n1", "n2", "n3"), file_for(name, tmp_path)), slurm.settings_of(text)) as made:
            mine = [row for row in every if (row.machine, row.files[KEY]) == (name, text)]
            wrong += [(row.line, row.seen, seen) for row in mine if (seen := in_slurm(row, made)) != row.seen]
    assert wrong == []
