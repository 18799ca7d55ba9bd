"""HPL on one, two and four hosts, each in a network of its own: the scaling table of `advisor measure hpl`, with three MPIs.

All hosts are this machine, so only places, sizes and residuals are tested: rates say nothing.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.fakenode import interrupted
from tests.fakenode.netns import beside, hindrance
from tests.kernels.mpi import blas
from tests.test_network import variables
from tests.test_two_hosts import LAUNCHERS

pytestmark = pytest.mark.slow
HOSTS = ("adv-h1", "adv-h2", "adv-h3", "adv-h4")
ADVISOR = [sys.executable, "-m", "advisor", "measure", "hpl", "--scaling", "--nb", "64", "--busy-ok"]


@pytest.fixture(params=LAUNCHERS)
def mpi(request: pytest.FixtureRequest, scratch: Path) -> str:
    """Return each MPI that is here; skip where there can be no hosts of two CPUs, or no BLAS."""
    if {0, 1} != os.sched_getaffinity(0):
        pytest.skip("this process has other CPUs than 0 and 1, or the sizes below would be others")
    if blas() is None:
        pytest.skip("no BLAS to link with (Debian: libopenblas-dev)")
    why = hindrance(scratch / "try")
    if why is not None:
        pytest.skip(why)
    return str(request.param)


def test_a_scaling_table_is_measured(mpi: str, scratch: Path) -> None:
    """A row for each number of hosts, N grown with it, ranks where the plan has them, the system solved, one table shown."""
    name, version = LAUNCHERS[mpi]
    kept = scratch / "hpl.json"
    words = ["--hosts", ",".join(HOSTS), "--n", "640", "--launcher", name, "--launcher-version", version, "--save", str(kept)]
    ended = beside(HOSTS, scratch / "hosts", [*ADVISOR, *words, "--width", "80"], variables(mpi))
    assert ended.returncode == 0, ended.stderr
    runs = [each for each in json.loads(kept.read_text())["results"] if each["kernel"] == "hpl"]
    rows = [(each["details"]["hosts"], each["details"]["cores"], each["details"]["n"], each["refused"]) for each in runs]
    assert rows == [(1, 2, 640, None), (2, 4, 896, None), (4, 8, 1280, None)]
    assert [each["details"]["residual"] < 16 for each in runs] == [True] * 3
    shown = [line.split()[:4] for line in ended.stdout.splitlines() if line.split()[1:2] in (["host"], ["hosts"])]
    assert shown == [["1", "host", "2", "640"], ["2", "hosts", "4", "896"], ["4", "hosts", "8", "1280"]]


def test_a_host_that_is_down_ends_the_table(mpi: str, scratch: Path) -> None:
    """What was measured on the hosts that answer is kept; the rows with the one that does not say why they are not there."""
    name, version = LAUNCHERS[mpi]
    words = [
        "--hosts",
        f"{HOSTS[0]},adv-h9,{HOSTS[1]}",
        "--n",
        "640",
        "--launcher",
        name,
        "--launcher-version",
        version,
        "--json",
    ]
    ended = beside(HOSTS[:2], scratch / "hosts", [*ADVISOR, *words], variables(mpi))
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert [each["details"]["hosts"] for each in said["results"] if each["kernel"] == "hpl"] == [1]
    assert [each["task"] for each in said["missing"]] == ["hpl/hpl/2-hosts/lu-896-64", "hpl/hpl/3-hosts"]
    assert said["missing"][1]["why"] == "not started, because there was no result on 2 hosts"


def test_ctrl_c_keeps_the_rows_that_are_done(mpi: str, scratch: Path) -> None:
    """Ctrl-C while two hosts work leaves no rank and no daemon on either, and keeps the row of one host."""
    name, version = LAUNCHERS[mpi]
    words = ["--hosts", ",".join(HOSTS[:2]), "--n", "2560", "--launcher", name, "--launcher-version", version, "--json"]
    argv = [sys.executable, interrupted.__file__, "hpl", *ADVISOR, *words]
    ended = beside(HOSTS[:2], scratch / "hosts", argv, variables(mpi))
    assert ended.stdout, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["code"], told["hosts"], told["left"]) == (130, 2, []), ended.stderr
    assert [each["details"]["hosts"] for each in told["said"]["results"] if each["kernel"] == "hpl"] == [1]
    assert told["said"]["missing"] == [{"task": "hpl/hpl/2-hosts", "why": "stopped by Ctrl-C"}]
