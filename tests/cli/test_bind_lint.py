"""``advisor bind lint``: exit status, JSON, files beside the line, and the page."""

import json
from pathlib import Path

import pytest

from advisor.cli.bind_lint import run_lint
from advisor.errors import BadInput
from tests.place.samples import machine

ROME = "b-c6525-2x7702-nps4"
CLEAN = ["mpirun", "-np", "32", "--map-by", "ppr:1:l3cache:PE=4", "--bind-to", "core", "./a"]


def test_a_clean_line_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    """All five parts are on the page."""
    assert run_lint(["--", *CLEAN], machine(ROME), version="5.0.11", width=100, color=False) == 0
    out = capsys.readouterr().out
    for heading in ("Options", "Rank placement here", "Problems", "The same for other launchers", "Intel MPI"):
        assert heading in out
    assert "nothing that is known" in out


def test_a_warning_ends_with_1_and_names_the_better_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The better line is there to be copied, on one line."""
    assert run_lint(["mpirun", "-np", "8", "./a"], machine(ROME), version="4.1.4", width=60, color=False) == 1
    assert "mpirun -np 8 --map-by ppr:1:numa --bind-to core ./a\n" in capsys.readouterr().out


def test_json_has_a_schema_and_every_rank(capsys: pytest.CaptureFixture[str]) -> None:
    """Launcher, version, options, ranks, warnings, translations."""
    run_lint(CLEAN, machine(ROME), json=True, version="5.0.11")
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "advisor-lint/1"
    assert (told["launcher"], told["version"], len(told["ranks"])) == ("openmpi5", "5.0.11", 32)
    assert told["ranks"][1] == {"rank": 1, "host": None, "cpus": "4-7"}
    assert [each["launcher"] for each in told["translations"]] == ["openmpi4", "srun", "mpich", "intelmpi"]
    assert told["warnings"] == []


def test_the_rankfile_of_the_line_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it lies beside; a folder or nothing of that name is no error."""
    (tmp_path / "rf").write_text("rank 0=localhost slot=8-11\n")
    monkeypatch.chdir(tmp_path)
    for name, cpus in (("rf", "8-11"), (".", None), ("none", None)):
        run_lint(["mpirun", "--map-by", f"rankfile:file={name}", "./a"], machine(ROME), json=True, version="5.0.11")
        ranks = json.loads(capsys.readouterr().out)["ranks"]
        assert (ranks[0]["cpus"] if ranks else None) == cpus


@pytest.mark.parametrize("words", [[], ["./a"], ["mpirun", "-np"], ["mpirun -np 2 'x"]])
def test_no_line_is_refused_in_one_line(words: list[str]) -> None:
    """Before the machine is read."""
    with pytest.raises(BadInput):
        run_lint(words, None)


def test_names_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """An escape in a word is printed as its escape."""
    run_lint(["mpirun", "-np", "2", "--map-by", "\x1b[31m", "./\x1b[2Ja"], machine(ROME), version="4.1.4", width=80, color=False)
    assert "\x1b" not in capsys.readouterr().out


def test_the_slurm_conf_of_this_machine_is_read_for_this_machine_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a machine that was read elsewhere."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("TaskPlugin=task/affinity\nSelectTypeParameters=CR_Core\n")
    monkeypatch.setattr("advisor.cli.bind_lint.SLURM_CONF", conf)
    for live, cpus in ((True, ["0-63", "64-127"]), (False, None)):
        run_lint(["srun", "-n", "2", "./a"], machine(ROME), json=True, live=live)
        ranks = json.loads(capsys.readouterr().out)["ranks"]
        assert (ranks and [rank["cpus"] for rank in ranks]) == cpus


def test_slurm_conf_tells_what_srun_does_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without it nothing is told of a plain srun; a file that is not there is named."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("TaskPlugin=task/affinity\nSelectTypeParameters=CR_Core\n")
    for file, cpus in ((None, None), (conf, ["0-63", "64-127"])):
        run_lint(["srun", "-n", "2", "./a"], machine(ROME), json=True, slurm_conf=file)
        ranks = json.loads(capsys.readouterr().out)["ranks"]
        assert (ranks and [rank["cpus"] for rank in ranks]) == cpus
    with pytest.raises(BadInput, match="no such file"):
        run_lint(["srun", "-n", "2", "./a"], machine(ROME), slurm_conf=tmp_path / "none")


def test_where_ranks_are_not_told_no_all_clear_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    """The page says so under what goes wrong too, and why nothing can be translated once."""
    assert (
        run_lint(["mpirun", "-np", "8", "--map-by", "seq", "./a"], machine(ROME), version="5.0.11", width=100, color=False) == 0
    )
    out = " ".join(capsys.readouterr().out.split())
    assert "not predicted: the ranks' placement is not known" in out
    assert "nothing that is known" not in out
    assert "Open MPI 4, srun, MPICH, Intel MPI: not known" in out
    assert out.count("is worked out for 5.x") == 2
