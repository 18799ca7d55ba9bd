"""Messages between two hosts, each in a network of its own: `advisor measure network` end to end, with three MPIs."""

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

from tests.fakenode import interrupted
from tests.fakenode.netns import beside, hindrance
from tests.fakenode.run import _marked
from tests.kernels.mpi import tools
from tests.test_two_hosts import LAUNCHERS

pytestmark = pytest.mark.slow
HOSTS = ("adv-h1", "adv-h2")
BRIEF = ("--sizes", "8,65536", "--repeats", "3")
ADVISOR = [sys.executable, "-m", "advisor", "measure", "network"]

# The ranks of both hosts share this machine's cores: one that waits must let the others work.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}


def variables(mpi: str) -> dict[str, str]:
    """Return what an MPI needs to be found, or skip where there can be no two hosts, or none of it."""
    found = tools(mpi)
    if found is None:
        pytest.skip(f"{mpi} is not installed, or has no compiler")
    path = f"{Path(found[1][0]).parent}:{os.environ['PATH']}"
    cache, project = os.environ.get("XDG_CACHE_HOME", ""), str(Path(__file__).parents[1])
    return {"PATH": path, "PYTHONPATH": project, "XDG_CACHE_HOME": cache, **YIELDING}


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
        "import os, sys; from advisor.jobs.started import benchmark as networking; from advisor.cli.main import status\n"
        "from dataclasses import replace\n"
        "kept = networking.Experiment.placement\n"
        "def other(self, leg):\n"
        "    made = kept(self, leg)\n"
        "    plans = tuple(p.model_copy(update={'slots': p.slots[::-1]}) for p in made.plans)\n"
        "    return made.model_copy(update={'plans': plans})\n"
        "import advisor.jobs.started.benchmark as run\n"
        "seen = run.planned_ranks\n"
        "run.planned_ranks = lambda placement: seen(placement.model_copy(update={'plans': tuple(p.model_copy(update="
        "{'slots': p.slots[::-1]}) for p in placement.plans)}))\n"
        "sys.exit(status(sys.argv[1:]))\n"
    )
    words = ["measure", "network", "--hosts", ",".join(HOSTS), "--per", "node", *BRIEF, "--json"]
    argv = [sys.executable, "-c", script, *words, "--launcher", name, "--launcher-version", version]
    ended = beside(HOSTS, scratch / "hosts", argv, variables(mpi))
    results = json.loads(ended.stdout)["results"]
    assert {each["refused"] for each in results} == {"rank 0 was on CPUs 0, but the plan has 1"}, ended.stderr


def test_a_host_that_refuses_ssh_gives_one_line(mpi: str, scratch: Path) -> None:
    """Real ssh to hosts without a server, and to names that nobody knows: one line says what ssh said, well within a minute."""
    if shutil.which("ssh") is None:
        pytest.skip("there is no ssh (Debian: openssh-client)")
    name, version = LAUNCHERS[mpi]
    ssh = {"OMPI_MCA_plm_rsh_agent": "ssh", "PRTE_MCA_plm_ssh_agent": "ssh", "HYDRA_LAUNCHER_EXEC": "ssh"}
    nobody = ("adv-nobody1", "adv-nobody2")
    for hosts, why in ((HOSTS, "Connection refused"), (nobody, "Could not resolve hostname adv-nobody")):
        argv = [*ADVISOR, "--launcher", name, "--launcher-version", version, "--hosts", ",".join(hosts), *BRIEF]
        ended = beside(HOSTS, scratch / hosts[1], ["timeout", "55", *argv], {**variables(mpi), **ssh})
        last = ended.stderr.strip().splitlines()[-1]
        assert (ended.returncode, ended.stdout, last.startswith("advisor: nothing was measured: ")) == (2, "", True), ended.stderr
        # Hydra may end before it has passed on what ssh printed; the line then ends with the command that shows it.
        assert why in last or (mpi == "mpich" and f"check that {hosts[0]} and {hosts[1]} answer: ssh " in last), ended.stderr


def test_ctrl_c_ends_the_ranks_of_both_hosts(mpi: str, scratch: Path) -> None:
    """Ctrl-C while ranks of both hosts run leaves no rank and no daemon on either, and keeps what was measured."""
    name, version = LAUNCHERS[mpi]
    words = ["--hosts", ",".join(HOSTS), "--launcher", name, "--launcher-version", version, "--sizes", "8", "--repeats", "300"]
    argv = [sys.executable, interrupted.__file__, "mbw_mr", *ADVISOR, *words, "--busy-ok", "--json"]
    ended = beside(HOSTS, scratch / "hosts", argv, variables(mpi))
    assert ended.stdout, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["code"], told["hosts"], told["left"]) == (130, 2, []), ended.stderr
    assert [each["why"] for each in told["said"]["missing"]][-1] == "stopped by Ctrl-C"


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
    process = subprocess.Popen(
        argv,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A shell's job in the background ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
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
