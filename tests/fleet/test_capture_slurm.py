"""A real Slurm with several nodes as the way in: one small job for each node, none left in the queue."""

import subprocess
from pathlib import Path

import pytest

from advisor.fleet.capture import CaptureOptions, capture_fleet
from advisor.machine.hosts.errands import Outcome, Way
from tests.fakenode import slurm
from tests.fakenode.plans import file_of

pytestmark = [
    pytest.mark.slow,  # the node that is down is waited for
    pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)"),
]
MACHINE = "b-c6525-2x7402-nps4"


def test_nodes_of_a_partition_are_captured_by_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are up come back whole, one that is down has Slurm's own reason, and no job of ours waits for it."""
    with slurm.cluster(dict.fromkeys(("n1", "n2", "n3"), file_of(MACHINE))) as cluster:
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("SLURM_JOB_ID", raising=False)
        subprocess.run(["scontrol", "update", "nodename=n3", "state=down", "reason=test"], check=True)
        done = capture_fleet(None, tmp_path / "fleet", CaptureOptions(Way(partition="main", timeout=60)))
        outcomes = {each.node: each.outcome for each in done.answers}
        assert outcomes == {"n1": Outcome.ANSWERED, "n2": Outcome.ANSWERED, "n3": Outcome.TIMED_OUT}, done.answers
        assert "waiting for resources" in (done.silent[0].why or "")
        assert slurm.jobs_left() == ""
    assert sorted(path.name for path in (tmp_path / "fleet").iterdir()) == ["answers.jsonl", "n1.tar.gz", "n2.tar.gz"]
