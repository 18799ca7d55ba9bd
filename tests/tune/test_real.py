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


def measured(line: str) -> float:
    """Return the figure of one run of a line."""
    out = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    found = re.search(r"seconds: (\S+)", out)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("kind", ["bandwidth", "latency"])
def test_the_interval_holds_what_is_measured_again(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a kernel bound by bandwidth and one bound by latency, lines that are run again in turn are within the race's interval.

    The interval is that of the ratio to the user's own line: the machine may be slower as a whole by then.
    """
    program = tmp_path / "kernel"
    source = Path(__file__).parent / "kernels" / "kernel.c"
    subprocess.run([str(COMPILER), "-O1", "-o", str(program), str(source)], check=True)
    words = ["mpirun", *AS_ROOT, "--oversubscribe", "-np", "2", "--bind-to", "none", str(program), kind]
    how = ["--busy-ok", "--runs", "32", "--metric", r"seconds: (\S+)", "--better", "low", "-o", str(tmp_path / "race"), "--json"]
    assert status(["tune", *how, "--", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    own, *others = found["candidates"]
    for each in others:
        again = [(measured(own["line"]), measured(each["line"])) for _ in range(10)]
        ratio = median(other / mine for mine, other in again)
        assert each["low"] / own["median"] <= ratio <= each["high"] / own["median"]
