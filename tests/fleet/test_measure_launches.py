"""What runs under MPI on a fleet: who can take part, what a Ctrl-C leaves, and a real Slurm as the way in."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.fleet import measure
from advisor.fleet.capture import AnswersFolder
from advisor.fleet.measure import Start, gate, groups_of, measure_fleet, start_all
from advisor.jobs.launcher import Launch
from advisor.machine.hosts.errands import Way
from advisor.machine.observer import Observer
from tests.fakenode import slurm
from tests.fakenode.plans import file_of
from tests.fleet.fake import captured, program
from tests.fleet.test_measure import KERNEL
from tests.nodes.sshd import interrupted, needs_sshd, sshd

OSU = "# OSU MPI Bandwidth Test v7.3\\n# Size Bandwidth (MB/s)\\n1048576 12000.0\\n"


class Heard(Observer):
    """Notes what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        """Note it."""
        self.said.append(text)


@needs_sshd
def test_who_is_not_there_or_lacks_the_program_takes_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its reason, so that no pair is blamed for it; nothing is left on the nodes."""
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    own = program(tmp_path / "kernel", "#!/bin/sh\n")
    with sshd(tmp_path, {"n1": "real", "n2": "refuses", "n3": "junk"}) as nodes:
        idle, why_not = gate(("n1", "n2", "n3"), Way(timeout=120), str(own), busy_ok=True)
        assert (idle, {node: why.partition(":")[0] for node, why in why_not.items()}) == (
            ("n1",),
            {"n2": "refused", "n3": "failed"},
        )
        heard = Heard()
        nobody, lacking = gate(("n1",), Way(timeout=120), f"{tmp_path}/no; such", busy_ok=True, observer=heard)
        assert [
            line for line in heard.said if line.startswith(f"n1 skipped because {tmp_path}/no; such is missing: copy it")
        ] != []
        assert (nobody, f"{tmp_path}/no; such is missing on this node" in lacking["n1"]) == ((), True)
        assert nodes.left_behind() == []


def test_only_nodes_that_are_cut_alike_are_compared(tmp_path: Path) -> None:
    """Those of another kind are a group of their own; of one kind the few with other NUMA nodes are left out, and why."""
    captured(tmp_path, ("n1", "n2", "n3"))
    captured(tmp_path, ("o1",), "haswell cod")
    captured(tmp_path, ("r1", "r2"), "rome")
    groups, why_not = groups_of(("n1", "n2", "n3", "o1", "r1", "r2"), AnswersFolder(tmp_path))
    assert sorted(tuple(each.machines) for each in groups) == [("n1", "n2", "n3"), ("r1", "r2")]
    assert {node: "its NUMA nodes or CPUs differ" in why for node, why in why_not.items()} == {"o1": True}


def test_a_line_that_fails_or_hangs_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its own time and its own reason; what printed too much is cut off."""
    monkeypatch.setattr("advisor.fleet.measure.limit_of", lambda _: 1.0)
    does = {"good": "echo hello", "fails": "echo why >&2; exit 3", "hangs": "echo begun; exec sleep 600"}
    starts = [
        Start(name, Launch("", None, "", (str(program(tmp_path / name, f"#!/bin/sh\n{text}\n")),)), 1.0)
        for name, text in does.items()
    ]
    found = {}
    start_all(starts, Way(timeout=4.0), lambda name, said: found.update({name: (said.text, (said.why or "").split("/")[-1])}))
    assert found == {
        "good": (b"hello\n", ""),
        "fails": (b"", "fails ended with status 3: why"),
        "hangs": (b"begun\n", "hangs did not finish within 4 s and was stopped, without a message"),
    }


@needs_sshd
@pytest.mark.parametrize("sign", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_tournament_leaves_nothing(sign: int, tmp_path: Path) -> None:
    """The launchers are asked to end, nobody is named, and nothing is on the nodes; the status is 130."""
    program(
        tmp_path / "between",
        f"#!/bin/sh\necho $1 $2 >>{tmp_path}/pairs\ntrap 'echo $1 >>{tmp_path}/ended; exit' TERM\nsleep 600 &\nwait\n",
    )
    command = f"{tmp_path / 'between'} {{a}} {{b}}"
    with sshd(tmp_path / "site", dict.fromkeys(("n1", "n2", "n3", "n4"), "real")) as nodes:
        (tmp_path / "pairs").touch()
        words = [sys.executable, "-m", "advisor", "fleet", "measure", "--pairs", "--pair-command", command, "--busy-ok"]
        environment = {**os.environ, "CLUSTERSHELL_CFGDIR": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        names = ("n1", "n2", "n3", "n4")
        process = interrupted(
            [*words, "-w", "n[1-4]", "-o", str(tmp_path / "none")], environment, tmp_path / "pairs", names, sign
        )
        said, complained = process.communicate(timeout=60)
        assert nodes.left_behind() == []
    assert (process.returncode, "interrupted: no node singled out" in said) == (130, True), said + complained
    assert len((tmp_path / "ended").read_text().split()) == 2
    assert not (tmp_path / "none").exists()
    assert list((tmp_path / "cache" / "advisor").glob("pairs-*")) == []


@needs_sshd
@pytest.mark.slow  # the kernels are built
def test_an_interrupted_measurement_leaves_nothing(tmp_path: Path) -> None:
    """What ran on the nodes has ended, its folder is gone, no ssh is left."""
    captured(tmp_path / "fleet", ("n1", "n2"))
    with sshd(tmp_path / "site", {"n1": "hangs", "n2": "hangs"}) as nodes:
        (tmp_path / "site" / "asked").touch()
        words = [sys.executable, "-m", "advisor", "fleet", "measure", "--busy-ok", "-o", str(tmp_path / "fleet")]
        environment = {**os.environ, "CLUSTERSHELL_CFGDIR": str(tmp_path / "site")}
        process = interrupted(words, environment, tmp_path / "site" / "asked", ("n1", "n2"), signal.SIGINT)
        said, complained = process.communicate(timeout=60)
        assert (process.returncode, nodes.left_behind()) == (130, []), said + complained


needs_slurm = pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)")
NAMES = ("n1", "n2", "n3", "n4")


@needs_slurm
@pytest.mark.slow
def test_nodes_of_slurm_are_measured_and_meet_by_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several slurmd on this machine: kernels run in a job on each node, pairs in jobs of two, and no job is left."""
    (tmp_path / "factors").write_text("{}")
    (tmp_path / "asked").touch()
    kernel = KERNEL.replace('os.environ["ADVISOR_NODES"]', repr(str(tmp_path))).replace("ADVISOR_NODE", "SLURMD_NODENAME")
    monkeypatch.setattr(measure, "_programs", lambda _, names: dict.fromkeys(names, kernel.encode()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    between = program(
        tmp_path / "between", f'#!/bin/sh\necho "$SLURMD_NODENAME" >>{tmp_path}/ran\n[ "$SLURM_PROCID" != 0 ] || printf "{OSU}"\n'
    )
    captured(tmp_path / "fleet", NAMES)
    with slurm.cluster(dict.fromkeys(NAMES, file_of("b-c6525-2x7402-nps4"))) as cluster:
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("SLURM_JOB_ID", raising=False)
        done = measure_fleet(None, tmp_path / "fleet", Way(partition="main", timeout=120), busy_ok=True)
        assert (set(done.measured), dict(done.why_not)) == (set(NAMES), {})
        line = f"srun --partition=main --nodelist={{a}},{{b}} --nodes=2 --ntasks=2 --mpi=none {between}"
        words = ["fleet", "measure", "--pairs", "--slurm", "main", "-w", "n[1-4]", "--busy-ok", "--meetings", "3", "--json"]
        assert status([*words, "-o", str(tmp_path / "none"), "--pair-command", line]) == 0
        (group,) = json.loads(capsys.readouterr().out)["groups"]
        assert slurm.jobs_left() == ""
    assert (group["pairs"], group["no_result"], [each["median"] for each in group["figures"]]) == (6, [], [12e9])
    ran = (tmp_path / "ran").read_text().split()
    assert {name: ran.count(name) for name in NAMES} == dict.fromkeys(NAMES, 3)
