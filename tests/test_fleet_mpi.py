"""Pairs and HPL of a fleet with a real MPI, between hosts that have names and networks of their own on this machine."""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.fleet.fleet import ANSWERS, Answer
from advisor.machine.hosts.errands import Outcome
from tests.fakenode.lab import AGENT
from tests.fakenode.netns import beside, hindrance
from tests.test_network import ADVISOR, variables
from tests.test_two_hosts import LAUNCHERS

pytestmark = pytest.mark.slow
HOSTS = ("adv-h1", "adv-h2", "adv-h3")


@pytest.fixture
def fleet(scratch: Path) -> Path:
    """Return the folder of three nodes that are this machine; skip where there can be no such hosts."""
    if {0, 1} - os.sched_getaffinity(0):
        pytest.skip("CPUs 0 and 1 are not both this process's")
    if why := hindrance(scratch / "try"):
        pytest.skip(why)
    folder = scratch / "fleet"
    folder.mkdir()
    assert status(["capture", "-o", str(scratch / "own.tar.gz")]) == 0
    data = (scratch / "own.tar.gz").read_bytes()
    for name in HOSTS:
        (folder / f"{name}.tar.gz").write_bytes(data)
        digest = sha256(data).hexdigest()
        answer = Answer(node=name, at="2026-01-31T06:10:00Z", outcome=Outcome.ANSWERED, archive=f"{name}.tar.gz", sha256=digest)
        with (folder / ANSWERS).open("ab") as lines:
            lines.write(answer.line())
    (scratch / "clush.conf").write_text(f"[Main]\nssh_path: {AGENT}\n")
    return folder


def measured(fleet: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Return how it ended, what it measured and what it said."""
    name, version = LAUNCHERS["openmpi4"]
    argv = [*ADVISOR[:-2], "fleet", "measure", *words, "-o", str(fleet), "--busy-ok", "--timeout", "170", "--json"]
    settings = {**variables("openmpi4"), "CLUSTERSHELL_CFGDIR": str(fleet.parent)}
    ended = beside(HOSTS, fleet.parent / "hosts", [*argv, "--launcher", name, "--launcher-version", version], settings)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


def test_three_hosts_meet_each_other(fleet: Path) -> None:
    """Our own messages between every two of them, believed because the ranks were where the plan has them."""
    code, said, errors = measured(fleet, "--pairs")
    (group,) = said["groups"]
    assert (code, group["pairs"], group["no_result"], group["judged"]) == (0, 3, [], False), errors
    assert {(each["figure"], each["pairs"]) for each in group["figures"]} == {
        ("latency 8 B", 3),
        ("bandwidth 1 MiB", 3),
        ("bidirectional bandwidth 1 MiB", 3),
    }


def test_hpl_runs_on_each_host_by_itself(fleet: Path) -> None:
    """Our own HPL, of the same size on all at the same time; each result lies beside the captures."""
    code, said, errors = measured(fleet, "--hpl", "--n", "512", "--nb", "64")
    assert (code, said["measured"], said["not_measured"]) == (0, 3, []), errors
    kept = [json.loads((fleet / f"{name}.measured.json").read_text())["results"][0] for name in HOSTS]
    assert {(each["kernel"], each["details"]["n"], each["refused"]) for each in kept} == {("hpl", 512, None)}
