"""A race in a job of Slurm on several nodes: each first run is verified inside the ranks, on every node."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakenode import slurm
from tests.fakenode.lab import shim

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)"),
    pytest.mark.skipif(shutil.which("lstopo-no-graphics") is None, reason="hwloc is not installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has one placement"),
]


LINE = ("srun", "-n", "4", "--cpu-bind=none", "sleep", "0.05")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return this machine's topology, and let the nodes of a Slurm be this machine under other names: what it binds is bound."""
    file = tmp_path / "own.xml"
    subprocess.run(["lstopo-no-graphics", "--of", "xml", str(file)], check=True)
    monkeypatch.setattr(slurm, "host_environment", lambda _xml, _state, name: {"LD_PRELOAD": str(shim()), "FAKEHOST": name})
    return file


def first_runs(cluster: slurm.Cluster, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run a race in a job of both nodes; return its candidates, and the first run of each."""
    job = ["salloc", "--quiet", "--exclusive", "--nodelist", "n1,n2", "--nodes", "2"]
    race = [sys.executable, "-m", "advisor", "tune", "--busy-ok", "--runs", "6", "--json", "-o", str(folder), "--", *LINE]
    done = subprocess.run([*job, *race], env=cluster.environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(row) for row in (folder / "journal.jsonl").read_text().splitlines()[1:]]
    return json.loads(done.stdout)["candidates"], [row for row in rows if row["block"] == 0]


def test_a_race_in_a_job_of_two_nodes_verifies_each_line_on_both(own: Path, tmp_path: Path) -> None:
    """The user's line of srun races against placements of its four ranks on both nodes, and all are where they were to be."""
    with slurm.cluster({"n1": own, "n2": own}) as cluster:
        candidates, first = first_runs(cluster, tmp_path / "race")
    assert (len(candidates) > 1, [each["name"] for each in candidates if each["runs"] < 1]) == (True, [])
    assert [(row["candidate"], row["why"]) for row in first] == [(at, None) for at in range(len(candidates))]
    assert [each["name"] for each in candidates[1:] if "--nodes 2" not in each["line"]] == []


def test_a_line_that_slurm_does_not_bind_as_planned_does_not_race(own: Path, tmp_path: Path) -> None:
    """Where Slurm binds nothing, a placement is none: its ranks say so in its first run, and it is left out."""
    with slurm.cluster({"n1": own, "n2": own}, {"TaskPlugin": "task/none"}) as cluster:
        candidates, first = first_runs(cluster, tmp_path / "race")
    assert {row["why"] for row in first if row["candidate"]} == {"its ranks get the same CPUs as those of yours"}
    assert [each["runs"] for each in candidates[1:]] == [0] * (len(candidates) - 1)
