"""A user on a submit host: a script is checked, corrected, submitted, and its ranks prove where they ran; no node is captured."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakenode import slurm
from tests.tune.test_slurm import own

__all__ = ["own"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has one placement"),
]
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --partition=main
#SBATCH --output=job.out
OMP_NUM_THREADS=1
srun --cpu-bind=cores sleep 0.1
"""
"""Its number of threads reaches no rank: each takes as many as it finds CPUs."""


def run(line: str, folder: Path, variables: Mapping[str, str], said: str = "") -> str:
    """Run one line of a shell that says no more than this beside its output; return what it printed."""
    words = line.replace("advisor ", f"{sys.executable} -m advisor ", 1)
    done = subprocess.run(
        ["sh", "-c", words], cwd=folder, env=dict(variables), capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, said)
    return done.stdout


def test_a_script_is_corrected_submitted_and_proven_in_four_commands(own: Path, tmp_path: Path) -> None:
    """Four ranks on two nodes, each bound to a core of its own, as each of them says before it starts."""
    (tmp_path / "job.sbatch").write_text(SCRIPT)
    with slurm.cluster({"n1": own, "n2": own}) as cluster:
        variables = {**cluster.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
        said = "advisor: wrote fixed.sbatch, corrected: --fix shows the changes\n"
        checked = run("advisor check -o fixed.sbatch --json job.sbatch", tmp_path, variables, said)
        run("advisor verify --print-prolog > prolog.sh && chmod +x prolog.sh", tmp_path, variables)
        run("SLURM_TASK_PROLOG=$PWD/prolog.sh sbatch --wait fixed.sbatch", tmp_path, variables)
        proven = json.loads(run("advisor check --json --observed job.out fixed.sbatch", tmp_path, variables))
    words = "4 ranks on 2 hosts ran on 1 CPU each, none on another rank's CPUs"
    assert [fault["id"] for fault in json.loads(checked)["faults"]] == ["not-exported"]
    assert [(step["placed"], step["ranks"], step["binding"]) for step in proven["steps"]] == [("observed", 4, words)]
    assert proven["faults"] == []
