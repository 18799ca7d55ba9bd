"""What Grid Engine's -binding means: by sge_submit(1) of 8.1.9, and as its loadcheck counts cores where it is installed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from advisor.jobs.launchers.sge import cores_of
from advisor.jobs.line import parse
from advisor.jobs.lint import lint
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from tests.fakenode.plans import file_of, machine_of

EPYC, NAPLES = "epyc-nps4-smt-linear", "a-r7425-2x7601-dell"
LOADCHECK = Path(os.environ.get("ADVISOR_LOADCHECK", "/usr/lib/gridengine/loadcheck"))


def made(line: str, name: str = NAPLES) -> Prediction:
    """Return what a line does."""
    return predict(parse([line]), machine_of(name), {})


def where(done: Prediction) -> list[str]:
    """Return the CPUs of the job's first process."""
    return [str(rank.cpus) for rank in done.ranks or ()]


@pytest.mark.parametrize(
    ("words", "cpus"),
    [
        ("-binding explicit:0,0:0,1:1,0", "0-1,16"),
        ("-binding set explicit:1,3 -pe orte 8", "49"),
        ("-pe mpi 4 -binding linear:4:0,2", "32,48,8,24"),
        ("-binding striding:2:4:1,0", "1,9"),
    ],
)
def test_sockets_and_cores_are_counted_as_hwloc_does(words: str, cpus: str) -> None:
    """On a machine whose CPUs go round-robin over sockets and dies core 1 of socket 0 is CPU 16."""
    wanted = sorted(map(int, cpus.replace("0-1", "0,1").split(",")))
    found = made(f"qsub {words} -cwd job.sh")
    assert [sorted(rank.cpus or ()) for rank in found.ranks or ()] == [wanted]


def test_a_core_has_both_its_threads() -> None:
    """As loadcheck prints: socket 0 core 1: 1 33."""
    assert where(made("qsub -binding explicit:0,1 job.sh", EPYC)) == ["1,33"]


@pytest.mark.parametrize("words", ["", "-binding env linear:4", "-binding pe explicit:0,0"])
def test_without_set_nothing_is_bound(words: str) -> None:
    """The cores are told to the job, in SGE_BINDING and its host file, and no process is bound."""
    assert where(made(f"qsub {words} job.sh")) == ["None"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("-binding linear:4", "starts at the first socket that no other job has"),
        ("-binding explicit:9,0", "there is no core 9,0: then Grid Engine binds nothing"),
        ("-binding linear:99:1,0", "fewer than 99 cores"),
        ("-l select=2:ncpus=64", "are of PBS and Torque"),
        ("-strange", "-strange of Grid Engine is not known here"),
    ],
)
def test_what_is_not_known_is_said(words: str, why: str) -> None:
    """A request is a hint: what others have decides."""
    done = made(f"qsub {words} job.sh")
    assert (done.ranks, why in str(done.unclear)) == (None, True)


def test_a_pair_that_occurs_twice_is_refused() -> None:
    """Each is to be named once."""
    assert "not a list of different pairs" in str(made("qsub -binding explicit:0,0:0,0 job.sh").refused)


def test_a_line_is_explained() -> None:
    """The binding's two words are one option."""
    found = lint(["qsub -pe orte 64 -binding set explicit:0,0 job.sh"], machine_of(NAPLES))
    assert [(each.text, each.says) for each in found.options] == [
        ("-pe orte 64", "takes 64 slots of the parallel environment orte"),
        ("-binding set explicit:0,0", "asks for cores by set: a hint, without effect where others have them"),
    ]
    assert found.command == ("job.sh",)


@pytest.mark.skipif(not LOADCHECK.exists(), reason="Grid Engine's loadcheck is not here (gridengine-exec, ADVISOR_LOADCHECK)")
@pytest.mark.parametrize("name", [EPYC, NAPLES, "b-c6525-2x7702-nps4-smt"])
def test_loadcheck_counts_the_same_cores(name: str) -> None:
    """Its table of logical sockets and cores on a machine that is not there, line by line."""
    variables = {**os.environ, "HWLOC_XMLFILE": str(file_of(name))}
    done = subprocess.run([LOADCHECK, "-cb"], env=variables, capture_output=True, text=True, check=False)
    if "Internal processor ids" not in done.stdout:
        pytest.skip(f"loadcheck does not run here: {done.stderr[:80]}")
    rows = re.findall(r"socket\s+(\d+) core\s+(\d+):((?:\s+\d+)+)$", done.stdout, re.MULTILINE)
    seen = {(socket, core): sorted(map(int, cpus.split())) for socket, core, cpus in rows}
    topology = machine_of(name).topology
    assert topology is not None
    assert seen == {(s, c): sorted(cores_of(f"explicit:{s},{c}", topology)) for s, c in seen}
    assert len(seen) == len(topology.cores)
