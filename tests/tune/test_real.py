"""Real kernels under a real launcher: the interval of a race holds what is measured again."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from advisor.cli.main import status

MPI, COMPILER = shutil.which("mpirun"), shutil.which("mpicc")
OPEN_MPI = MPI is not None and b"Open MPI" in subprocess.run([MPI, "--version"], capture_output=True, check=False).stdout
AS_ROOT = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.matrix,  # it measures: beside other tests its runs are of another machine than its repeats
    pytest.mark.skipif(not (OPEN_MPI and COMPILER), reason="no Open MPI with a compiler here"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has one placement"),
]


KERNELS = Path(__file__).parent / "kernels"


def compiled(name: str, folder: Path) -> str:
    """Compile a kernel; return the program."""
    program = folder / name
    subprocess.run([str(COMPILER), "-O1", "-fopenmp", "-o", str(program), str(KERNELS / f"{name}.c")], check=True)
    return str(program)


def printed(line: str, name: str) -> float:
    """Return a figure of one run of a line."""
    out = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"{name}: (\S+)", out)
    assert found is not None
    return float(found[1])


def raced(folder: Path, capsys: pytest.CaptureFixture[str], *options: str, line: tuple[str, ...]) -> list[dict[str, Any]]:
    """Race a line by the seconds that it prints; return the candidates, the user's first."""
    words = ["OMP_NUM_THREADS=1", "mpirun", *AS_ROOT, "--oversubscribe", "-np", "2", "--bind-to", "none", *line]
    how = ["--busy-ok", "--runs", "32", "--metric", r"seconds: (\S+)", "--better", "low", "-o", str(folder / "race"), "--json"]
    assert status(["tune", *how, *options, "--", *words]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["candidates"]
    return found


def outside(candidates: list[dict[str, Any]]) -> list[tuple[str, float]]:
    """Run each line again, in turn with the user's; return those whose ratio to it is not within the race's interval.

    It is the ratio that is compared: the machine may be slower as a whole by then.
    """
    own, *others = candidates
    found = []
    for each in others:
        again = [(printed(own["line"], "seconds"), printed(each["line"], "seconds")) for _ in range(10)]
        ratio = median(other / mine for mine, other in again)
        if not each["low"] / own["median"] <= ratio <= each["high"] / own["median"]:
            found.append((each["name"], ratio))
    return found


@pytest.mark.parametrize("kind", ["bandwidth", "latency"])
def test_the_interval_holds_what_is_measured_again(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a kernel bound by bandwidth and one bound by latency, lines that are run again are within the race's interval."""
    found = raced(tmp_path, capsys, line=(compiled("kernel", tmp_path), kind))
    assert (len(found) > 1, outside(found)) == (True, [])


def test_a_program_of_mpi_and_openmp_races_by_ranks_and_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its splits into ranks and threads do the same work, all ran, and what is measured again is within the intervals."""
    found = raced(tmp_path, capsys, "--threads", "1", "--split", line=(compiled("heat", tmp_path),))
    assert [each["name"] for each in found if each["runs"] < 1] == []
    assert {each["name"].split()[-1] for each in found[1:]} >= {"2x1", "1x2"}
    assert len({printed(each["line"], "sum") for each in found}) == 1
    assert outside(found) == []
