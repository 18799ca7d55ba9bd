"""A rollout that a real Slurm drains for: by its own commands, after its jobs, and nothing of what somebody else drained."""

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from advisor.bios.drain import REASON, Said, Slurm
from advisor.bios.rollout import Quick
from advisor.machine.hosts.live import LiveHost
from tests.bios.rollouts import Queue, Site, applied, ends, untrue
from tests.bios.wire import Rack
from tests.fakenode import slurm
from tests.fakenode.plans import file_of

pytestmark = [
    pytest.mark.slow,  # a job is waited for
    pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)"),
]
MACHINE = "b-c6525-2x7402-nps4"


@dataclass
class Real(Queue):
    """Slurm, and what it said last of each node, by which the site judges restarts."""

    slurm: Slurm = field(default_factory=lambda: Slurm(LiveHost()))
    waited: list[str] = field(default_factory=list)
    """What was said of nodes that were drained and still ran something."""

    def state(self, node: str) -> Said:
        """Return what scontrol says."""
        said = self.slurm.state(node)
        self.jobs[node] = 0 if said.free else 1
        self.out.pop(node, None)
        if said.out:
            self.out[node] = REASON if said.ours else said.words
        if said.out and not said.free:
            self.waited.append(f"{node} {said.words}")
        return said

    def drain(self, node: str) -> None:
        """Drain by scontrol."""
        self.words.append(("drain", node))
        self.slurm.drain(node)

    def resume(self, node: str) -> None:
        """Resume by scontrol."""
        self.words.append(("resume", node))
        self.slurm.resume(node)
        self.out.pop(node)


def shown(node: str) -> str:
    """Return a node's state and reason as scontrol prints them, but whether its slurmd answered in time."""
    text = subprocess.run(["scontrol", "show", "node", node, "--oneliner"], capture_output=True, text=True, check=True).stdout
    text = text.replace("+NOT_RESPONDING", "")
    return " ".join(word for word in text.split() if word.startswith(("State=", "Reason=")))


def test_jobs_end_before_and_a_strangers_drain_stays(rack: Rack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """n1 runs a job to its end before it is restarted, n3 was drained for its disk: both are proven, n3 is left drained."""
    site, queue, ended = Site(tmp_path, rack), Real(), tmp_path / "ended"
    for name in ("n1", "n2", "n3"):
        site.add(name)
    site.queue = queue
    over: list[bool] = []
    site.bmcs["n1"].on_restart = lambda _: over.append(ended.exists())
    monkeypatch.setattr(Quick, "pause", lambda *_: time.sleep(0.3))
    with slurm.cluster(dict.fromkeys(site.bmcs, file_of(MACHINE))) as cluster:
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        subprocess.run(["scontrol", "update", "nodename=n3", "state=drain", "reason=disk"], check=True)
        job = ["sbatch", "--nodelist=n1", "-o", "/dev/null", "--wrap", f"sleep 6; touch {ended}"]
        subprocess.run(job, check=True, cwd=tmp_path)
        while "n1 mixed" not in subprocess.run(["sinfo", "-Nho", "%N %T"], capture_output=True, text=True, check=True).stdout:
            time.sleep(0.2)
        before = applied(site)
        done = site.go(site.begin())
        states = {name: shown(name) for name in site.bmcs}
        left = slurm.jobs_left()
    assert (ends(done), untrue(site, done, before), over) == (dict.fromkeys(site.bmcs, "done"), [], [True])
    assert ("n1 MIXED+DRAIN" in queue.waited, queue.words) == (True, [(w, n) for n in ("n1", "n2") for w in ("drain", "resume")])
    assert states == {"n1": "State=IDLE", "n2": "State=IDLE", "n3": "State=IDLE+DRAIN Reason=disk"}
    assert ("it was already drained, and stays drained" in done.now.nodes[2].why, left) == (True, "")
