"""advisor measure network: the lines that it would run, and what it refuses."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from tests.cli import said
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]
NAPLES = "a-r7425-2x7601-dell"


@pytest.fixture(scope="module")
def naples(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a capture of the machine of [000]."""
    return str(write_archive(NAPLES, tmp_path_factory.mktemp("nodes") / "node.tar.gz"))


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a folder with a program, away from any job."""
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_")):
            monkeypatch.delenv(name)
    (tmp_path / "mbw_mr").write_text("#!/bin/sh\n")
    (tmp_path / "mbw_mr").chmod(0o755)
    return str(tmp_path)


def lines(capsys: Capture, *words: str) -> dict[str, Any]:
    """Return the document of a plan."""
    return said.document(capsys, "measure", "network", *words, "--dry-run", "--json")


def test_the_article_s_lines(naples: str, kernels: str, capsys: Capture) -> None:
    """Fourteen lines for the machine of [000]: adapter and transport set, ranks and hosts named, the program at the end."""
    found = lines(capsys, "--from", naples, "--hosts", "a,b", "--launcher", "openmpi4", "--kernels", kernels)["lines"]
    words = [each["command"] for each in found]
    assert len(found) == 14
    assert {word[0] for word in words} == {"mpirun"}
    assert [line for line in words if "UCX_NET_DEVICES=mlx5_0:1" not in line or f"{kernels}/mbw_mr" not in line] == []
    assert [each["about"] for each in found if "is here" in each["about"]] == [
        "one rank per host, on NUMA node 6, mlx5_0 is here: latency,mbw_mr,bibw",
        "NUMA node 6, all cores, mlx5_0 is here: mbw_mr",
        "socket 1, all cores, mlx5_0 is here: mbw_mr",
    ]


def test_files_have_names_of_their_own(naples: str, kernels: str, capsys: Capture, tmp_path: Path) -> None:
    """-o DIR writes a script and each line's rankfile, and every file that a line names is there."""
    folder = tmp_path / "lines"
    words = ["--from", naples, "--hosts", "a,b", "--launcher", "openmpi4", "--kernels", kernels, "-o", str(folder)]
    found = lines(capsys, *words)["lines"]
    named = {word for each in found for word in each["command"] if word.startswith(str(folder))}
    assert named == {str(path) for path in folder.iterdir() if path.name.startswith("rankfile")}
    assert (folder / "benchmark.sh").read_text().count("mpirun") == len(found)


def test_other_launchers_get_what_they_know(naples: str, kernels: str, capsys: Capture) -> None:
    """MPICH and srun get UCX's variables, and nothing of Open MPI's."""
    for launcher in ("mpich", "srun"):
        found = lines(capsys, "--from", naples, "--hosts", "a,b", "--launcher", launcher, "--kernels", kernels)["lines"]
        told = json.dumps(found)
        assert ("UCX_NET_DEVICES" in told, "hcoll" in told, "pml" in told) == (True, False, False)


def test_hosts_of_the_job(naples: str, kernels: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a Slurm job of three the first two are taken, and it says so."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    found = lines(capsys, "--from", naples, "--kernels", kernels, "--launcher", "openmpi4")
    assert "n1:1,n2:1" in found["lines"][0]["command"]
    assert "the first two of the job's 3 hosts: n1 and n2" in found["notes"]


@pytest.mark.parametrize(
    ("name", "marked"), [(NAPLES, ["NUMA node 6, all cores, mlx5_0 is here: mbw_mr"]), ("two-hcas", [])], ids=["one", "two"]
)
def test_without_ucx_the_only_adapter_is_marked(
    name: str, marked: list[str], kernels: str, capsys: Capture, tmp_path: Path
) -> None:
    """No line tells UCX of it, and a note says that; of two adapters no one knows which the MPI takes."""
    tools = [{"name": "openmpi", "version": "4.1.4", "path": "/usr/bin/mpirun"}]
    assert status(["topology", "--from", str(write_archive(name, tmp_path / "node.tar.gz")), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["machine"]
    (tmp_path / "node.json").write_text(json.dumps({**whole, "tools": tools}))
    found = lines(capsys, "--from", str(tmp_path / "node.json"), "--hosts", "a,b", "--per", "numa", "--kernels", kernels)
    assert [each["about"] for each in found["lines"] if "is here" in each["about"]] == marked
    assert (
        "UCX" in json.dumps(found["lines"]),
        "mlx5_0 is not selected: UCX is not installed on this machine" in found["notes"],
    ) == (
        False,
        True,
    )
    assert ("mlx5_0 is recorded anyway: no other adapter is active" in found["notes"]) == bool(marked)


REFUSED = {
    "three hosts": (["--hosts", "a,b,c"], "messages need two hosts, but there are 3; name two: --hosts A,B"),
    "a host twice": (["--hosts", "a,a"], "occurs twice"),
    "no such adapter": (["--hosts", "a,b", "--hca", "mlx5_9"], "no adapter is called mlx5_9; available: mlx5_0"),
    "no sizes": (["--hosts", "a,b", "--sizes", "big"], "--sizes big is not a list of message sizes"),
    "no program": (["--hosts", "a,b", "--kernels", "/nowhere"], "/nowhere: no such folder"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case: str, naples: str, kernels: str, capsys: Capture) -> None:
    """One line says what, and what to do."""
    words, why = REFUSED[case]
    assert status(["measure", "network", "--from", naples, "--dry-run", *words]) == 2
    error = capsys.readouterr().err
    assert (why in error, error.count("\n")) == (True, 1), error


@pytest.mark.parametrize("word", ["network", "hpl"])
def test_an_option_before_the_word_is_told(word: str, capsys: Capture) -> None:
    """An option between the two words of the command is refused with what to write."""
    assert status(["measure", "--busy-ok", word]) == 2
    assert capsys.readouterr().err == (
        f"advisor: measure {word} is a command with options of its own; put its options after its "
        f"name; advisor measure {word} --help lists them\n"
    )
