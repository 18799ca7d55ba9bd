"""Messages between two hosts, each in a network of its own: `advisor measure network` end to end, with three MPIs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakenode.netns import beside, hindrance
from tests.fakenode.run import _marked
from tests.kernels.mpi import tools
from tests.test_two_hosts import LAUNCHERS

pytestmark = pytest.mark.slow
HOSTS = ("adv-h1", "adv-h2")
BRIEF = ("--sizes", "8,65536", "--repeats", "3")
ADVISOR = [sys.executable, "-m", "advisor", "measure", "network"]


def variables(mpi: str) -> dict[str, str]:
    """Return what an MPI needs to be found, or skip where there can be no two hosts, or none of it."""
    found = tools(mpi)
    if found is None:
        pytest.skip(f"{mpi} is not installed, or has no compiler")
    path = f"{Path(found[1][0]).parent}:{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(Path(__file__).parents[1]), "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", "")}


@pytest.fixture(params=LAUNCHERS)
def mpi(request: pytest.FixtureRequest, scratch: Path) -> str:
    """Return each MPI that is here; skip where there can be no two hosts of two CPUs."""
    if {0, 1} - os.sched_getaffinity(0):
        pytest.skip("CPUs 0 and 1 are not both this process's")
    why = hindrance(scratch / "try")
    if why is not None:
        pytest.skip(why)
    return str(request.param)


def measured(mpi: str, folder: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Return how it ended, what it measured and what it said, beside hosts whose folder is new."""
    name, version = LAUNCHERS[mpi]
    argv = [*ADVISOR, "--launcher", name, "--launcher-version", version, *words, "--json"]
    ended = beside(HOSTS, folder, argv, variables(mpi))
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


def test_two_hosts_are_measured(mpi: str, scratch: Path) -> None:
    """Every leg brings its results, all of them from where the plan has the ranks, and between the hosts."""
    code, said, errors = measured(mpi, scratch / "hosts", "--hosts", ",".join(HOSTS), *BRIEF)
    assert (code, said.get("missing")) == (0, []), errors
    assert {(each["purpose"], each["variant"], each["bytes"]) for each in said["results"]} == {
        ("network-pair", variant, size) for variant in ("latency", "mbw_mr", "bibw") for size in (8, 65536)
    } | {("network", "mbw_mr", size) for size in (8, 65536)}
    told = {(each["refused"], each["details"]["across"], each["details"]["hosts_named"]) for each in said["results"]}
    assert {(refused, across > 0, hosts) for refused, across, hosts in told} == {(None, True, ",".join(HOSTS))}, said["results"]


def test_a_host_that_is_down_gives_one_line(mpi: str, scratch: Path) -> None:
    """A host that does not answer ends it with one line that names the hosts."""
    code, said, errors = measured(mpi, scratch / "hosts", "--hosts", f"{HOSTS[0]},adv-h9", *BRIEF)
    last = errors.strip().splitlines()[-1]
    assert (code, said, last.startswith("advisor: nothing was measured: "), "ssh adv-h9 true" in last) == (2, {}, True, True), (
        errors
    )


def test_other_cpus_than_planned_are_not_believed(mpi: str, scratch: Path) -> None:
    """Ranks that the launcher puts elsewhere than the plan has them bring results that are refused."""
    name, version = LAUNCHERS[mpi]
    script = (
        "import os, sys; from advisor.cli import networking; from advisor.cli.main import status\n"
        "from dataclasses import replace\n"
        "kept = networking.Experiment.placement\n"
        "def other(self, leg):\n"
        "    made = kept(self, leg)\n"
        "    plans = tuple(p.model_copy(update={'slots': p.slots[::-1]}) for p in made.plans)\n"
        "    return made.model_copy(update={'plans': plans})\n"
        "import advisor.cli.network_run as run\n"
        "seen = run.planned\n"
        "run.planned = lambda placement: seen(placement.model_copy(update={'plans': tuple(p.model_copy(update="
        "{'slots': p.slots[::-1]}) for p in placement.plans)}))\n"
        "sys.exit(status(sys.argv[1:]))\n"
    )
    words = ["measure", "network", "--hosts", ",".join(HOSTS), "--per", "node", *BRIEF, "--json"]
    argv = [sys.executable, "-c", script, *words, "--launcher", name, "--launcher-version", version]
    ended = beside(HOSTS, scratch / "hosts", argv, variables(mpi))
    results = json.loads(ended.stdout)["results"]
    assert {each["refused"] for each in results} == {"rank 0 was on CPUs 0, the plan has 1"}, ended.stderr


def test_ctrl_c_ends_every_rank(mpi: str, scratch: Path) -> None:
    """Ctrl-C in the midst of it leaves no rank behind, and what was measured is printed."""
    name, version = LAUNCHERS[mpi]
    argv = [
        *ADVISOR,
        "--launcher",
        name,
        "--launcher-version",
        version,
        "--busy-ok",
        "--sizes",
        "8",
        "--repeats",
        "300",
        "--json",
    ]
    mark = str(scratch)
    root = {f"{n}_ALLOW_RUN_AS_ROOT{tail}": "1" for n in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}
    environment = {**os.environ, **root, **variables(mpi), "FAKENODE_RUN": mark}
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _ranks(mark):
        time.sleep(0.2)
    assert _ranks(mark) != []
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, [each["why"] for each in json.loads(out)["missing"]][-1]) == (130, "stopped by Ctrl-C")
    assert _ranks(mark) == []


def _ranks(mark: str) -> list[int]:
    """Return the processes of the kernel that a test has started."""
    return [pid for pid in _marked(mark) if b"mbw_mr" in _name(pid)]


def _name(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/comm").read_bytes()
    except OSError:
        return b""
