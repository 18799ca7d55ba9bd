"""`advisor check`: a script or a line, the patch, the corrected script, statuses, what is refused."""

import json
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.jobs.bind import carried
from advisor.jobs.check import Check
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.jobs.started.hosts import Allocated, JobHosts, LauncherOptions
from advisor.machine.machine import Slurm
from tests.cli import said
from tests.jobs.place.samples import machine

Capture = pytest.CaptureFixture[str]
FAULTY = "#!/bin/bash\n#SBATCH --ntasks=2\n#SBATCH --cpus-per-task=4\nOMP_NUM_THREADS=4\nsrun -c 4 ./a\n"
CLEAN = FAULTY.replace("OMP_NUM", "export OMP_NUM")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a script with one fault, in the folder that one is in."""
    monkeypatch.chdir(tmp_path)
    Path("job.sh").write_text(FAULTY)
    return Path("job.sh")


def test_a_script_is_said_line_by_line(script: Path, capsys: Capture) -> None:
    """How many faults there are and where comes first, what is assumed last; faults alone do not fail."""
    assert status(["check", str(script)]) == 0
    page = capsys.readouterr().out
    *first, second = page.splitlines()[:3]
    head = "job.sh: 1 fault (high), placement not checked; slurm job, 2 tasks, 4 CPUs per task"
    assert (" ".join(" ".join(first).split()), second) == (head, "line 4 not-exported")
    assert page.index("Faults") < page.index("What it starts") < page.index("What this is based on")
    for part in (
        "no node to place ranks on",
        "line 5: srun: 2 ranks",
        "line 4: not-exported",
    ):
        assert part in " ".join(page.split())


def test_the_patch_applies_and_the_corrected_script_is_new(script: Path, capsys: Capture) -> None:
    """--fix prints the difference, -o writes a new file; the script itself is never written over."""
    assert status(["check", str(script), "--fix"]) == 0
    assert "-OMP_NUM_THREADS=4\n+export OMP_NUM_THREADS=4\n" in capsys.readouterr().out
    assert status(["check", str(script), "-o", "new.sh"]) == 0
    assert (Path("new.sh").read_text(), script.read_text()) == (CLEAN, FAULTY)
    assert status(["check", str(script), "-o", str(script)]) == 2
    assert script.read_text() == FAULTY


@pytest.mark.parametrize(
    ("level", "text", "ends"), [("high", FAULTY, 1), ("low", FAULTY, 1), ("never", FAULTY, 0), ("low", CLEAN, 0)]
)
def test_fail_on_is_what_a_site_puts_before_sbatch(script: Path, capsys: Capture, level: str, text: str, ends: int) -> None:
    """Status 1 where a fault is as severe."""
    script.write_text(text)
    assert status(["check", "--fail-on", level, "--", str(script)]) == ends
    capsys.readouterr()


def test_the_document_has_a_schema(script: Path, capsys: Capture) -> None:
    """Steps and faults, as docs/json.md says."""
    assert status(["check", "--json", str(script)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("schema") == "advisor-check/1"
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document, Check.model_json_schema(mode="serialization"))
    step, fault = document["steps"][0], document["faults"][0]
    assert (step["line"], step["launcher"], step["ranks"], step["threads"], step["placed"]) == (5, "srun", 2, 4, "not-told")
    assert (fault["line"], fault["id"], fault["severity"], fault["fix"]) == (
        4,
        "not-exported",
        "high",
        "export OMP_NUM_THREADS=4",
    )


def test_a_fault_of_several_lines_is_printed_once(script: Path, capsys: Capture) -> None:
    """The page names the lines; the document has one fault a line. A page without faults says so."""
    script.write_text("#!/bin/sh\n#SBATCH -n 8\nsrun -n 4 ./a &\nsrun -n 4 ./b &\nwait\n")
    assert status(["check", str(script)]) == 0
    page = capsys.readouterr().out
    assert page.count("steps-wait (high)") == 1
    assert "lines 3, 4: steps-wait (high)" in page
    assert status(["check", "--json", str(script)]) == 0
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [(fault["line"], fault["id"]) for fault in faults] == [(3, "steps-wait"), (4, "steps-wait")]
    script.write_text("#!/bin/sh\n#SBATCH -n 8\nsrun ./a\n")
    assert status(["check", str(script)]) == 0
    page = capsys.readouterr().out
    assert (page.splitlines()[0], "Faults" in page) == (
        "job.sh: no faults found, placement not checked; slurm job, 8 tasks",
        False,
    )


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        ("torchrun --nproc-per-node 4 train.py", "line 1: torchrun: 4 ranks on 1 node"),
        ("OMP_NUM_THREADS=8 torchrun --nproc-per-node=2 t.py", "line 1: torchrun: 2 ranks on 1 node, 8 threads each"),
        ("accelerate launch --num_processes 4 t.py", "line 1: accelerate launch: 4 ranks on 1 node"),
        ("deepspeed --num_gpus 4 t.py", "line 1: deepspeed: 4 ranks on 1 node"),
    ],
)
def test_a_line_of_workers_is_read_as_in_a_script(line: str, starts: str, capsys: Capture) -> None:
    """torchrun, accelerate and deepspeed behind -- are counted as a script's are, and what starts nothing is still refused."""
    assert status(["check", "--", *line.split()]) == 0
    assert starts in capsys.readouterr().out
    assert status(["check", "--", "echo", line]) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nosuch.sh"], "script not found or not readable"),
        (["job.sh", "other.sh"], "is an extra word"),
        (["--slurm-version", "young", "job.sh"], "is not a version of Slurm"),
        (["--slurm-conf", "job.sh", "job.sh"], "it contains no Slurm settings"),
        (["--fix", "--json", "job.sh"], "--fix"),
    ],
)
def test_what_cannot_be_is_one_line(script: Path, capsys: Capture, words: list[str], problem: str) -> None:
    """Each mistake is said in one line."""
    assert script.exists()
    assert problem in said.refused(capsys, "check", *words)


def test_bind_says_that_slurm_binds_nothing() -> None:
    """A line for srun whose binding TaskPlugin does not carry out has a note."""
    node = machine("b-c6525-2x7702-nps4")
    placement = place(JobShape(ranks=4), (node,))
    notes: list[bool] = []
    for plugins in (("cgroup",), ("affinity", "cgroup"), None):
        there = JobHosts(Allocated(), (node.model_copy(update={"slurm_conf": Slurm(task_plugins=plugins)}),))
        found = carried(there, placement, LauncherOptions(launcher="srun"), ("./a",))
        notes.append(any(note.startswith("bind-ignored") for note in found.notes))
    assert notes == [True, False, False]
