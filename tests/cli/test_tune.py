"""advisor tune as it is typed: real runs where Open MPI is here, and mistakes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status

MPI = shutil.which("mpirun")
OPEN_MPI = MPI is not None and b"Open MPI" in subprocess.run([MPI, "--version"], capture_output=True, check=False).stdout
needs_mpi = pytest.mark.skipif(not OPEN_MPI, reason="no Open MPI here")
needs_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has one placement")
AS_ROOT = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
LINE = ("mpirun", *AS_ROOT, "--oversubscribe", "-np", "2", "--bind-to", "none")


def tune(*words: str, folder: Path, program: tuple[str, ...] = ("sleep", "0.05")) -> list[str]:
    """Return the words of a race in a folder."""
    return ["tune", "--busy-ok", "-o", str(folder), *words, "--", *LINE, *program]


@needs_mpi
@needs_cpus
def test_a_race_of_real_lines_has_the_document_that_is_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A few blocks of a real program: both lines ran, each first run was verified, the document has its keys."""
    assert status(tune("--runs", "6", "--json", folder=tmp_path / "race")) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(found) == ["schema", "candidates", "winner", "baseline", "worth", "runs", "seconds", "goal"]
    assert [each["name"] for each in found["candidates"]][:1] == ["yours"]
    assert [each for each in found["candidates"] if each["runs"] < 1 or not each["low"] <= each["median"] <= each["high"]] == []


@needs_mpi
@needs_cpus
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_race_that_is_ended_goes_on(end: signal.Signals, tmp_path: Path) -> None:
    """After Ctrl-C, the end of a job or kill -9 the race goes on from its journal; after the first two no rank is left."""
    folder, mark = tmp_path / "race", f"0.7{time.time_ns() % 10**6:06}"
    words = tune("--runs", "8", folder=folder, program=("sleep", mark))
    process = subprocess.Popen([sys.executable, "-m", "advisor", *words], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    journal = folder / "journal.jsonl"
    while process.poll() is None and not (journal.is_file() and journal.read_text().count("\n") > 3):
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(end)
    process.wait(30)
    if end is not signal.SIGKILL:
        assert subprocess.run(["pgrep", "-f", f"sleep {mark}"], check=False, capture_output=True).stdout == b""
    before = journal.read_text().splitlines()
    assert status(["tune", "--resume", str(folder), "--busy-ok", "--runs", "8"]) == 0
    after = journal.read_text().splitlines()
    assert (after[: len(before) - 1], len(after) > len(before)) == (before[:-1], True)


@needs_mpi
def test_a_dry_run_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the lines and how many runs they take, and leaves nothing behind."""
    mark = tmp_path / "ran"
    assert status(tune("--dry-run", "--json", folder=tmp_path / "race", program=("touch", str(mark)))) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["candidates"][0]["name"]) == ("advisor-tune-plan/1", "yours")
    assert (mark.exists(), (tmp_path / "race").exists()) == (False, False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tune"], "no launch line given"),
        (["tune", "--worth", "much", "--", "mpirun", "-n", "2", "./a"], "--worth much is not a valid gain; give a percentage"),
        (["tune", "--metric", "x", "--", "mpirun", "-n", "2", "./a"], "does not show whether higher is better"),
        (["tune", "--resume", "/nowhere"], "there is no race here"),
        (["tune", "--resume", "a", "--", "mpirun", "./a"], "--resume takes its settings from the folder"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each mistake is named in one line with what to do."""
    assert status(words) == 2
    said = capsys.readouterr().err
    assert (says in said, said.count("\n")) == (True, 1)
