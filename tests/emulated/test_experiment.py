"""Experiments on a server whose BIOS really changes it: staged, restarted, proven by its own kernel, measured, and taken back.

Rates mean nothing on an emulated server: the program says how many NUMA nodes it sees, and which run of it this is.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.bios.admin import Admin
from tests.bios.conftest import admin, rack  # noqa: F401 - fixtures
from tests.bios.imitation import PASSWORD, USER
from tests.bios.wire import Rack
from tests.emulated.bmc_server import Emulated
from tests.emulated.guests import HERE, ROOT, lacking

PROGRAM = """\
nodes=$(ls -d /sys/devices/system/node/node[0-9]* | wc -l)
run=$(($(cat /run/vm/runs 2>/dev/null || echo 0) + 1))
echo $run >/run/vm/runs
echo "$nodes $((1000 * nodes + run))" >>/run/vm/said
echo "rate: $((1000 * nodes + run)) nodes/s"
"""
PLAN = """\
format: advisor-experiment/1
states:
{states}
measure:
  - {{name: nodes, run: sh /run/vm/program.sh, metric: 'rate: (\\d+)', better: high, unit: nodes/s}}
restarts: {restarts}
repeats: 1
settle: 0
restart_minutes: 15
"""
NPS1, NPS2, NPS4 = (f"  - {{name: NPS{nodes}, set: {{numa.nps: {nodes}}}}}" for nodes in (1, 2, 4))
NODES = {"NPS1": 2, "NPS2": 4, "NPS4": 8}


@pytest.fixture
def server(rack: Rack, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulated]:  # noqa: F811
    """Return a small server that is switched on, and that ssh reaches."""
    if reason := lacking():
        pytest.skip(reason)
    bmc = rack.add(Emulated(board="small", folder=admin.folder / "server"))
    programs = admin.folder / "bin"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/as_ssh.py" "{bmc.guest.folder}" "$@"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (bmc.guest.folder / "program.sh").write_text(PROGRAM)
    yield bmc.switch_on()
    bmc.switch_off()


def words(admin: Admin, states: str, restarts: int) -> list[str]:  # noqa: F811
    """Return the words that run a plan of some states."""
    plan = admin.folder / "plan.yaml"
    plan.write_text(PLAN.format(states=states, restarts=restarts))
    folder = admin.folder / "experiment"
    return ["experiment", str(plan), "--node", "node01", "--no-slurm", "--seed", "1", "--folder", str(folder), "--yes", "--json"]


def measured(bmc: Emulated, document: Any) -> tuple[dict[str, float | None], dict[str, float]]:
    """Return the medians of the table, and those of what the program said on the guest in the same restarts."""
    shown = {cell["state"]: cell["median"] for cell in document["cells"]}
    counted = {rate for cell in document["cells"] for rate in cell["restarts"]}
    said = [line.split() for line in (bmc.guest.folder / "said").read_text().splitlines()]
    own = {
        state: median(float(rate) for each, rate in said if int(each) == nodes and float(rate) in counted)
        for state, nodes in NODES.items()
        if any(int(each) == nodes for each, _ in said)
    }
    return shown, own


@pytest.mark.emulated
@pytest.mark.slow
@pytest.mark.matrix
def test_three_states_are_described_and_a_power_cut_is_gone_on_with(server: Emulated, admin: Admin) -> None:  # noqa: F811
    """Killed by -9 in the middle and resumed, two restarts of each of three states are described; it ends where it began."""
    was, journal = dict(server.applied), admin.folder / "experiment" / "journal.jsonl"
    line = [sys.executable, "-m", "advisor", *words(admin, f"{NPS1}\n{NPS2}\n{NPS4}", 2), "--bmc", server.url, "--insecure"]
    variables = {**os.environ, "ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(line, cwd=admin.folder, env=variables, start_new_session=True, stdout=subprocess.DEVNULL) as process:
        while not (journal.exists() and journal.read_text().count('"event": "asked"') == 2):
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
    server.settled_down()
    status = admin.types("experiment", "status", admin.folder / "experiment", "--json")
    said = admin.types("experiment", "--resume", admin.folder / "experiment", "--json", bmc=server)
    assert said.status == 0, said.err
    shown, own = measured(server, said.document)
    assert (status.document["done"], status.document["where"]) == (1, {"node01": "not yet back"})
    assert {cell["state"]: cell["says"] for cell in said.document["cells"]} == {
        "NPS1": "first",
        "NPS2": "described",
        "NPS4": "described",
    }
    assert (shown, said.document["winner"], [cell["p"] for cell in said.document["cells"]]) == (own, None, [None] * 3)
    assert [len(cell["restarts"]) for cell in said.document["cells"]] == [2, 2, 2]
    assert (server.applied, server.pending, said.document["where"]) == (was, {}, {"node01": "as before"})
    assert len(server.resets) in (6, 7)


@pytest.mark.emulated
@pytest.mark.slow
@pytest.mark.matrix
def test_two_states_with_four_restarts_each_have_an_exact_p(server: Emulated, admin: Admin) -> None:  # noqa: F811
    """Eight restarts and the way back: the smallest p that they can have, 2/70, and the figures that the program gave."""
    was = dict(server.applied)
    said = admin.types(*words(admin, f"{NPS1}\n{NPS2}", 4), bmc=server)
    assert said.status == 0, said.err
    shown, own = measured(server, said.document)
    second = said.document["cells"][1]
    assert (second["says"], second["p"], said.document["winner"], shown) == ("better", pytest.approx(2 / 70), "NPS2", own)
    assert (server.applied, server.pending, said.document["where"]) == (was, {}, {"node01": "as before"})
    assert Path(admin.folder / "experiment" / "home-node01.json").exists()
