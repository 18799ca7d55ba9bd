"""The table of article [000] on a machine that is not there: eight NUMA nodes, the adapter at node 6, every rank proved.

The launcher is real and reads the described topology; each rank tells the CPUs that it was given. Its rates are this
machine's shared memory: only places are tested here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakenode.lab import shim, write_hosts
from tests.fakenode.netns import AGENTS, ROOT
from tests.fakenode.run import _clean, _end
from tests.kernels.mpi import tools
from tests.machines.catalogue import write_archive, write_root
from tests.machines.hwloc_xml import xml
from tests.test_two_hosts import LAUNCHERS

pytestmark = pytest.mark.slow
NAPLES = "a-r7425-2x7601-dell"
# There is no adapter here that UCX could be told of; all else is as it would be.
PROGRAM = """
import sys
from advisor.jobs.started import benchmark as networking
from advisor.cli.main import status
networking.Experiment._settings = lambda self, hca: {}
sys.exit(status(sys.argv[1:]))
"""


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_every_row_s_ranks_are_where_the_plan_has_them(mpi: str, scratch: Path) -> None:
    """Eight rows, sixteen ranks each, none of them refused; node 6 is the adapter's, 0 to 3 are on the other socket."""
    found = tools(mpi)
    if found is None:
        pytest.skip(f"{mpi} is not installed, or has no compiler")
    write_root(NAPLES, scratch / "root")
    text = xml(scratch / "root")
    if text is None:
        pytest.skip("no lstopo to describe the machine with")
    (scratch / "node.xml").write_text(text)
    (scratch / "state").mkdir()
    write_hosts(dict.fromkeys(("sim1", "sim2"), scratch / "node.xml"), scratch / "hosts", scratch / "state")
    variables = {**_clean(), **AGENTS, **ROOT, "FAKENODE_HOSTS": str(scratch / "hosts"), "FAKENODE_RUN": str(scratch)}
    variables |= {"FAKEAFF_NODNS": "sim", "LD_PRELOAD": str(shim()), "OMPI_MCA_mpi_yield_when_idle": "1", "TMPDIR": str(scratch)}
    variables |= {"PATH": f"{Path(found[1][0]).parent}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[1])}
    archive = write_archive(NAPLES, scratch / "node.tar.gz")
    name, version = LAUNCHERS[mpi]
    words = ["measure", "network", "--hosts", "sim1,sim2", "--from", str(archive), "--per", "numa", "--sizes", "8"]
    words += ["--repeats", "1", "--launcher", name, "--launcher-version", version, "--json"]
    try:
        done = subprocess.run([sys.executable, "-c", PROGRAM, *words], env=variables, capture_output=True, text=True, check=False)
    finally:
        _end(str(scratch))
    assert done.returncode == 0, done.stderr
    rows = [(each["index"], each["details"]["hca_distance"], each["refused"]) for each in json.loads(done.stdout)["results"]]
    away = {4: "same-socket", 5: "same-socket", 6: "local", 7: "same-socket"}
    assert rows == [(node, away.get(node, "other-socket"), None) for node in range(8)]
