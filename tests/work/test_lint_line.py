"""A launch line explained on a machine: files beside the line, slurm.conf, and the page."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from advisor.errors import BadInput
from advisor.exports.export import document
from advisor.jobs.bind_page import lint_page
from advisor.jobs.lint import lint_line
from tests.jobs.place.samples import machine

ROME = "b-c6525-2x7702-nps4"
CLEAN = ["mpirun", "-np", "32", "--map-by", "ppr:1:l3cache:PE=4", "--bind-to", "core", "./a"]


def page(words: list[str], version: str, width: int = 100) -> str:
    """Return the page of a line."""
    text = StringIO()
    Console(file=text, width=width).print(lint_page(lint_line(words, machine(ROME), version=version), width), crop=False)
    return text.getvalue()


def test_a_clean_line_has_no_warning() -> None:
    """All five parts are on the page."""
    out = page(CLEAN, "5.0.11")
    for heading in ("Options", "Rank placement here", "Problems", "Equivalent lines for other launchers", "Intel MPI"):
        assert heading in out
    assert "no known problems" in out


def test_a_warning_names_the_better_line() -> None:
    """The better line is there to be copied, on one line."""
    assert "mpirun -np 8 --map-by ppr:1:numa --bind-to core ./a\n" in page(["mpirun", "-np", "8", "./a"], "4.1.4", 60)


def test_json_has_a_schema_and_every_rank() -> None:
    """Launcher, version, options, ranks, warnings, translations."""
    told = document(lint_line(CLEAN, machine(ROME), version="5.0.11"))
    assert told["schema"] == "advisor-lint/1"
    assert (told["launcher"], told["version"], len(told["ranks"])) == ("openmpi5", "5.0.11", 32)
    assert told["ranks"][1] == {"rank": 1, "host": None, "cpus": "4-7"}
    assert [each["launcher"] for each in told["translations"]] == ["openmpi4", "srun", "mpich", "intelmpi"]
    assert told["warnings"] == []


def test_the_rankfile_of_the_line_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it lies beside; a folder or nothing of that name is no error."""
    (tmp_path / "rf").write_text("rank 0=localhost slot=8-11\n")
    monkeypatch.chdir(tmp_path)
    for name, cpus in (("rf", "8-11"), (".", None), ("none", None)):
        ranks = lint_line(["mpirun", "--map-by", f"rankfile:file={name}", "./a"], machine(ROME), version="5.0.11").ranks
        assert (str(ranks[0].cpus) if ranks else None) == cpus


@pytest.mark.parametrize("words", [[], ["./a"], ["mpirun", "-np"], ["mpirun -np 2 'x"]])
def test_no_line_is_refused_in_one_line(words: list[str]) -> None:
    """Before the machine is read."""
    with pytest.raises(BadInput):
        lint_line(words, None)


def test_names_steer_no_terminal() -> None:
    """An escape in a word is printed as its escape."""
    assert "\x1b" not in page(["mpirun", "-np", "2", "--map-by", "\x1b[31m", "./\x1b[2Ja"], "4.1.4", 80)


def test_the_slurm_conf_of_this_machine_is_read_for_this_machine_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a machine that was read elsewhere."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("TaskPlugin=task/affinity\nSelectTypeParameters=CR_Core\n")
    monkeypatch.setattr("advisor.jobs.slurm.SLURM_CONFS", (str(conf),))
    monkeypatch.setattr("advisor.jobs.slurm.find", lambda _program: None)
    for live, assumed in ((True, 0), (False, 1)):
        found = lint_line(["srun", "-n", "2", "./a"], machine(ROME), live=live)
        assert [str(rank.cpus) for rank in found.ranks or ()] == ["0-63", "64-127"]
        assert len(found.assumed) == assumed


def test_slurm_conf_tells_what_srun_does_by_itself(tmp_path: Path) -> None:
    """Without it the usual set-up is assumed, and that is said; a file that is not there is named."""
    conf = tmp_path / "slurm.conf"
    for text, cpus in (
        (None, ["0-63", "64-127"]),
        ("TaskPlugin=task/affinity\n", ["0-63", "64-127"]),
        ("TaskPlugin=task/none\n", ["None"] * 2),
    ):
        conf.write_text(text or "")
        found = lint_line(["srun", "-n", "2", "./a"], machine(ROME), slurm_conf=conf if text else None)
        assert [str(rank.cpus) for rank in found.ranks or ()] == cpus
        assert bool(found.assumed) == (text is None)
    conf.write_text("root:x:0:0::/root:/bin/sh\n")
    with pytest.raises(BadInput, match="it contains no Slurm settings"):
        lint_line(["srun", "-n", "2", "./a"], machine(ROME), slurm_conf=conf)
    with pytest.raises(BadInput, match="does not exist"):
        lint_line(["srun", "-n", "2", "./a"], machine(ROME), slurm_conf=tmp_path / "none")


def test_where_ranks_are_not_told_no_all_clear_is_given() -> None:
    """The page says so under what goes wrong too, and why nothing can be translated once."""
    out = " ".join(page(["mpirun", "-np", "8", "--map-by", "seq", "./a"], "5.0.11").split())
    assert "not predicted: the ranks' placement is unknown" in out
    assert "no known problems" not in out
    assert "Open MPI 4, srun, MPICH, Intel MPI: no line known" in out
    assert out.count("--map-by seq is not predicted") == 2
