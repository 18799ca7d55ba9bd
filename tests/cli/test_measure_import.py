"""What advisor measure import and compare print, keep and refuse."""

import re
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from advisor.cli.main import status
from tests.cli.said import Capture, document, printed, refused
from tests.machines.catalogue import write_archive

OUTPUTS = Path(__file__).parents[1] / "imports" / "outputs"


@pytest.fixture
def rome(tmp_path: Path) -> Path:
    """Return a capture of two EPYC 7702 at NPS4."""
    return write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz")


def test_a_file_is_shown_with_its_figures_and_what_it_does_not_say(capsys: Capture) -> None:
    """A line of figures, then the conditions."""
    lines = printed(capsys, "measure", "import", OUTPUTS / "osu-mbw-mr-gh200.txt", "--width", "400").splitlines()
    assert [line.strip() for line in lines[2:]] == [
        "bandwidth 19.1 GB/s at 2 KiB (mean, all pairs); message rate 9.31 M msg/s at 2 KiB (mean, all pairs)",
        "with: test Multiple Bandwidth / Message Rate, pairs 4",
        "not in the file: hosts, binding, MPI",
    ]


def test_a_dash_is_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another command printed."""
    raw = (OUTPUTS / "osu-mbw-mr-gh200.txt").read_bytes()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(raw)))
    assert printed(capsys, "measure", "import", "-", "--width", "400").splitlines()[1].split()[-1] == "-:2"


def test_the_triad_of_mlc_is_shown(capsys: Capture) -> None:
    """Of five mixes two are comparable with a ceiling."""
    assert "; load 300 GB/s (all threads); triad 260 GB/s (all threads); " in printed(
        capsys, "measure", "import", OUTPUTS / "mlc.txt", "--width", "900"
    )


def test_what_is_refused_stands_in_a_line_and_in_the_status(capsys: Capture) -> None:
    """1 where one of two is refused, 2 where all are."""
    bad, good = str(OUTPUTS / "hpl-nan.out"), str(OUTPUTS / "hpl-3990x.out")
    both, one = status(["measure", "import", bad, good, "--width", "200"]), capsys.readouterr().out
    alone = status(["measure", "import", bad])
    assert (both, alone) == (1, 2)
    assert f"x {bad}:11: HPL: its residual nan FAILED the check" in one


def test_an_imported_figure_goes_into_an_audit(capsys: Capture, rome: Path, tmp_path: Path) -> None:
    """Saved with its machine and place, as our own measurements are."""
    kept = tmp_path / "stream.json"
    words = ("--from", rome, "--placed", "machine", "--save", kept)
    printed(capsys, "measure", "import", OUTPUTS / "stream-c.txt", *words)
    status(["audit", "--from", str(rome), "--measurements", str(kept), "--width", "200"])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("MEASURED"))
    assert (line.split()[1:4], line.endswith("imported from STREAM 5.10")) == (["triad", "263.2", "GB/s,"], True)


def test_an_audit_takes_another_programs_output_as_it_is(capsys: Capture, rome: Path, tmp_path: Path) -> None:
    """Where it says that it used the whole machine; else one line names the way; the command that follows runs."""
    raw, whole = (OUTPUTS / "stream-c.txt").read_text(), tmp_path / "stream.txt"
    whole.write_text(re.sub(r"Threads (requested|counted) = \d+", r"Threads \1 = 128", raw))
    said = printed(capsys, "audit", "--from", rome, "--measurements", whole, "--width", "200")
    assert "triad 263.2 GB/s" in said
    assert f"advisor measure show {whole}" in said
    assert printed(capsys, "measure", "show", whole).startswith("\nSTREAM 5.10")
    whole.write_text(re.sub(r"Threads (requested|counted) = \d+", r"Threads \1 = 7", raw))
    assert "advisor measure import" in refused(capsys, "audit", "--from", rome, "--measurements", whole)


def test_json_has_every_run_and_the_measurements(capsys: Capture, rome: Path) -> None:
    """Under a schema of its own."""
    found = document(capsys, "measure", "import", OUTPUTS / "stream-c.txt", "--from", rome, "--placed", "machine", "--json")
    assert (found["schema"], len(found["files"][0]["runs"]), len(found["measurements"]["results"])) == ("advisor-import/1", 1, 4)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere.txt", "--save", "x.json"], "there is nothing to save"),
        ([str(OUTPUTS / "stream-c.txt"), "--placed", "numa 0"], "--placed needs a machine"),
        ([str(OUTPUTS / "stream-c.txt"), "--save", "x.json"], "there is nothing to save: no machine given"),
    ],
)
def test_a_slip_is_one_line(words: list[str], why: str, capsys: Capture) -> None:
    """And nothing is written."""
    assert why in refused(capsys, "measure", "import", *words)


def test_two_outputs_stand_beside_each_other(capsys: Capture, rome: Path) -> None:
    """Each figure that both have, and the second through the first."""
    same = OUTPUTS / "stream-c.txt"
    found = document(capsys, "compare", same, same, "--from", rome, "--placed", "machine", "--json")
    assert {row["ratio"] for row in found["figures"]} == {1.0}
    assert "second / first" in printed(capsys, "compare", same, same, "--from", rome, "--placed", "machine")


HPL = """HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4      100000   192     8    16              {time}             {rate}
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.0e-03 ...... PASSED
"""


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (
            HPL.format(time="55.56", rate="1.2000e+04"),
            "machine",
            "12000 GFLOP/s is more than 128 cores can deliver (10240 GFLOP/s)",
        ),
        (
            HPL.format(time="222.2", rate="3.0000e+03"),
            "socket 0",
            "it ran 128 ranks, but socket 0 has 64 CPUs: it ran on another machine",
        ),
    ],
    ids=["above any peak", "more ranks than CPUs"],
)
def test_what_the_named_place_cannot_have_done_is_not_taken(
    text: str, place: str, said: str, *, capsys: Capture, rome: Path, tmp_path: Path
) -> None:
    """Whatever --placed says: the output is of another machine, or of more of it."""
    file = tmp_path / "hpl.out"
    file.write_text(text)
    status(["measure", "import", str(file), "--from", str(rome), "--placed", place, "--width", "300"])
    assert said in capsys.readouterr().out
