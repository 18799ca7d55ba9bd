"""advisor measure hpl: the line that it would run, another's HPL, and our own."""

import os
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from tests.cli import said
from tests.kernels.mpi import ROOT, blas, tools

Capture = pytest.CaptureFixture[str]
FAKE = """#!/bin/sh
test "$(sed -n 6p HPL.dat | cut -d' ' -f1)" -gt 0 || exit 9
test "${OMPI_COMM_WORLD_RANK:-0}" = 0 || exit 0
echo "WR11C2R4 $(sed -n 6p HPL.dat | cut -d' ' -f1) $(sed -n 8p HPL.dat | cut -d' ' -f1) 1 2 4.27 1.5633e+02"
echo "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.44107740e-03 ...... PASSED"
"""
"""What netlib's HPL prints, of the HPL.dat that lies where it is started."""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let mpirun run as root, away from any job; skip where it is not Open MPI 4."""
    if tools("openmpi4") is None:
        pytest.skip("openmpi4 is not installed, or has no compiler")
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_")):
            monkeypatch.delenv(name)
    for name, value in ROOT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def xhpl(tmp_path: Path, here: None) -> str:
    """Return a program that answers as HPL does."""
    (tmp_path / "xhpl").write_text(FAKE)
    (tmp_path / "xhpl").chmod(0o755)
    return str(tmp_path / "xhpl")


def document(capsys: Capture, *words: str) -> dict[str, Any]:
    """Return what a command that ends well says."""
    return said.document(capsys, "measure", "hpl", *words, "--json")


def test_another_s_hpl_gets_its_input(xhpl: str, capsys: Capture, tmp_path: Path) -> None:
    """--dry-run -o DIR writes HPL.dat with N, NB and grid beside the line."""
    folder = tmp_path / "job"
    (step,) = document(capsys, "--xhpl", xhpl, "--n", "5000", "--nb", "100", "--dry-run", "-o", str(folder))["lines"]
    rows = (folder / "HPL.dat").read_text().splitlines()
    assert (step["command"][-1], rows[5].split()[0], rows[7].split()[0]) == (xhpl, "5000", "100")


@pytest.mark.slow
def test_another_s_hpl_is_run_and_read(xhpl: str, capsys: Capture) -> None:
    """Every rank starts where HPL.dat lies, and the rate it prints is the result."""
    found = document(capsys, "--xhpl", xhpl, "--n", "5000", "--nb", "100", "--busy-ok")
    (hpl,) = (each for each in found["results"] if each["kernel"] == "hpl")
    assert (hpl["values"], hpl["details"]["n"], hpl["details"]["nb"], hpl["refused"]) == ([156.33e9], 5000, 100, None)


@pytest.mark.slow
def test_our_own_is_run_where_it_was_planned(here: None, capsys: Capture) -> None:
    """The rate, the residual, the BLAS and both peaks are told, and ranks were where the plan has them."""
    if blas() is None:
        pytest.skip("no BLAS to link with (Debian: libopenblas-dev)")
    found = document(capsys, "--n", "2000", "--nb", "128", "--busy-ok")
    (hpl,) = (each for each in found["results"] if each["kernel"] == "hpl")
    told = hpl["details"]
    assert (hpl["refused"], told["n"], told["nb"], told["residual"] < 16, told["dgemm_all"] > 0) == (None, 2000, 128, True, True)
    assert told["peak_load"] > 0


@pytest.fixture
def program(tmp_path: Path, here: None) -> str:
    """Return a folder with a program that need not run."""
    (tmp_path / "hpl").write_text("#!/bin/sh\n")
    (tmp_path / "hpl").chmod(0o755)
    return str(tmp_path)


def value(command: list[str], option: str) -> str:
    """Return what stands behind an option."""
    return command[command.index(option) + 1]


def test_scaling_doubles_the_hosts(program: str, capsys: Capture) -> None:
    """1, 2, 4 and all five hosts, N grown with the root of their cores, the first with N as it was asked for."""
    words = ["--hosts", "a,b,c,d,e", "--scaling", "--n", "10000", "--nb", "100", "--kernels", program, "--dry-run"]
    found = [each["command"] for each in document(capsys, *words)["lines"]]
    hosts = [[each.partition(":")[0] for each in value(line, "--host").split(",")] for line in found]
    assert hosts == [["a"], ["a", "b"], ["a", "b", "c", "d"], ["a", "b", "c", "d", "e"]]
    assert [value(line, "--n") for line in found] == ["10000", "14100", "20000", "22300"]


def test_scaling_of_a_part_of_a_slurm_job_names_its_hosts(program: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where srun may not take all of the job's hosts it is told which; for all of them it need not be."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    words = ["--scaling", "--n", "1000", "--kernels", program, "--launcher", "srun", "--launcher-version", "23.02", "--dry-run"]
    found = [each["command"] for each in document(capsys, *words)["lines"]]
    named = [value(line, "--nodelist") if "--nodelist" in line else None for line in found]
    assert named == ["n1", "n1,n2", None]


REFUSED = {
    "no program": (["--xhpl", "/nowhere/xhpl"], "--xhpl /nowhere/xhpl: no such program"),
    "two wishes": (["--full", "--n", "5"], "--full and --n cannot be combined"),
    "no part": (["--ranks-per", "gpu"], "--ranks-per gpu does not name a part of a node"),
    "too many": (["--ranks-per", "core:2"], "not enough cores for that"),
    "nothing to compare": (["--scaling", "--hosts", "a"], "--scaling has nothing to compare"),
    "files of one name": (["--scaling", "--hosts", "a,b", "--xhpl", "true"], "each run would read its own HPL.dat"),
    "no BLAS": (["--blas", "-lnosuch"], "--blas -lnosuch: it provides no dgemm"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case: str, here: None, capsys: Capture) -> None:
    """One line says what, and what to do."""
    words, why = REFUSED[case]
    dry = [] if case == "no BLAS" else ["--dry-run"]
    assert status(["measure", "hpl", "--busy-ok", *dry, *words]) == 2
    error = capsys.readouterr().err
    assert (why in error, error.count("\n")) == (True, 1), error
