"""``advisor report``: files, formats, two of them, and mistakes."""

import json
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.measure.measurement import Measurements
from tests.cli.said import Capture
from tests.reports import source_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two captures of a machine, and what was measured on both."""
    place = tmp_path_factory.mktemp("report")
    for name in ("rome-nps1", "rome-nps4"):
        source, measured = source_of(name, place)
        Path(source).rename(place / f"{name}.tar.gz")
        found = Measurements.model_validate_json(measured[0].read_bytes())
        kept = tuple(each for each in found.results if each.purpose != "map")  # most of it, and nothing of this page
        small = found.model_copy(update={"results": kept})
        (place / f"{name}.measured.json").write_text(small.model_dump_json(), encoding="utf-8")
    return place


@pytest.fixture
def node(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the capture before, in a folder of its own."""
    monkeypatch.chdir(folder)
    return "rome-nps1.tar.gz"


HEADS = {"html": "<!DOCTYPE html>", "md": "# c6525 · Dell Inc. PowerEdge C6525", "json": '{\n "schema": "advisor-report/2"'}


@pytest.mark.parametrize("ending", HEADS)
def test_the_ending_of_the_name_says_the_format(ending: str, node: str, tmp_path: Path) -> None:
    """A page, a text for a ticket, a document."""
    file = tmp_path / f"node.{ending}"
    assert status(["report", "--from", node, "-o", str(file)]) == 0
    assert file.read_text(encoding="utf-8").startswith(HEADS[ending])


def test_a_ticket_is_printed(node: str, capsys: Capture) -> None:
    """Without a file, --as md goes to the terminal, and nothing else does."""
    assert status(["report", "--from", node, "--as", "md"]) == 0
    said = capsys.readouterr()
    assert (said.out.startswith(HEADS["md"]), "Nothing was measured" in said.out, said.err) == (True, True, "")


@pytest.mark.parametrize("name", ["1", "numa-nps-below-best"])
def test_a_ticket_may_be_about_one_finding(name: str, node: str, capsys: Capture) -> None:
    """By its number in the audit or its rule's id: that finding, its setting, its plan and how to see the rest."""
    assert status(["report", "--from", node, "--only", name, "--as", "md"]) == 0
    said = capsys.readouterr().out
    wanted = (
        "## Finding 1 of 4",
        "### 1. HIGH: NUMA partitioning",
        "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4",
        "| NPS | 1 | 4 |",
    )
    others = ("vm.swappiness", "Launch lines", "Checks:", "Nothing was measured", "Not checked")
    assert ([each for each in wanted if each not in said], [each for each in others if each in said]) == ([], [])
    assert said.rstrip().endswith(f"The whole report: `advisor report --from {node} --as md`")


def test_findings_of_a_report_keep_the_numbers_of_the_audit(node: str, capsys: Capture) -> None:
    """Number 4 is number 4 on a page of its own too, and two are chosen with a comma."""
    assert status(["report", "--from", node, "--only", "4,1", "--as", "md"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("##")][:3]
    assert heads == ["## Finding 1, 4 of 4", "### 1. HIGH: NUMA partitioning is NPS1; EPYC 7002 (Rome) with 8 dies offers NPS4",
                     "### 4. INFO: vm.swappiness is 60; guides for low latency recommend at most 10"]  # fmt: skip


def test_a_report_is_for_some_work(node: str, capsys: Capture) -> None:
    """Every scope can be asked for, and stands on the page and in the commands to go on with."""
    assert status(["report", "--from", node, "--scope", "latency", "--as", "md"]) == 0
    said = capsys.readouterr().out
    assert ("for latency work" in said, f"advisor report --from {node} --scope latency" in said) == (True, True)


@pytest.mark.slow
def test_two_reports_as_json_are_put_side_by_side(node: str, tmp_path: Path, capsys: Capture) -> None:
    """They hold their measurements: compare needs no other file; audit reads them too."""
    files = []
    for name in ("rome-nps1", "rome-nps4"):
        files.append(str(tmp_path / f"{name}.json"))
        assert status(["report", "--from", f"{name}.tar.gz", "--measurements", f"{name}.measured.json", "-o", files[-1]]) == 0
    assert status(["compare", *files, "--as", "md"]) == 0
    assert "1 finding gone; membw triad-nt, machine +20.0 % (p = 0.0079)" in capsys.readouterr().out
    assert status(["compare", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], min(row["p"] for row in found["brought"])) == ("advisor-diff/1", pytest.approx(2 / 252))
    assert status(["compare", *files]) == 0
    said = capsys.readouterr().out
    assert ("Findings no longer present" in said, "Before and after" in said) == (True, True)
    assert status(["audit", "--from", files[0], "--fail-on", "high"]) == 1


WRONG = {
    "no file": (["report"], "a report needs a file; name it with -o node.html"),
    "ending": (["report", "-o", "node.pdf"], "node.pdf is not a report format; use .html, .md or .json"),
    "format": (["report", "--as", "odt"], "there is no report format odt; available: html, md, json"),
    "folder": (["report", "-o", "/nonexistent/x.html"], "/nonexistent/x.html: there is no folder /nonexistent; create it first"),
    "no fleet": (["report", "a.json", "-o", "x.html"], "a.json: no such file or directory; give a folder of captures"),
    "its name alone": (
        ["report", "rome-nps1.tar.gz", "-o", "x.html"],
        "rome-nps1.tar.gz is one machine; name it with --from rome-nps1.tar.gz",
    ),
    "a finding": (["report", "1", "-o", "x.html"], "1 is not a fleet folder; choose a finding with --only 1"),
    "no such finding": (["report", "--from", "rome-nps1.tar.gz", "--only", "99", "--as", "md"], "no finding 99: this audit has"),
    "nothing found": (
        ["report", "--from", "rome-nps1.tar.gz", "--only", "cpu-smt-on", "--as", "md"],
        "cpu-smt-on found nothing on this machine; see why: advisor explain cpu-smt-on",
    ),
    "one measured": (
        ["compare", "rome-nps1.tar.gz", "rome-nps4.tar.gz", "--as", "md", "--measurements", "rome-nps1.measured.json"],
        "two machines need two measurements, or none",
    ),
    "both": (["report", "a", "b", "--from", "c", "-o", "x.html"], "--from and FLEET cannot be combined"),
    "elsewhere": (["report", "--from", "c", "--hpl", "-o", "x.html"], "--from and --hpl cannot be combined"),
    "not there": (["report", "--from", "nothing", "-o", "x.html"], "nothing: no such file or directory"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_line_and_writes_nothing(name: str, node: str, folder: Path, capsys: Capture) -> None:
    """Status 2, what is wrong and what to do; no file is left behind, and nothing was measured before."""
    arguments, says = WRONG[name]
    assert status(arguments) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), says in error, list(folder.glob("x.*"))) == (1, True, []), error
    assert node in [each.name for each in folder.iterdir()]


def test_without_matplotlib_the_figures_stay(node: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The page says why there are no charts, and has every figure as text."""
    from advisor.measure import charts

    def missing() -> None:
        from advisor.errors import CannotWork

        raise CannotWork("charts need matplotlib")

    monkeypatch.setattr(charts, "need_matplotlib", missing)
    assert status(["report", "--from", node, "--measurements", "rome-nps1.measured.json", "--as", "html"]) == 0
    page = capsys.readouterr().out
    assert ("charts need matplotlib" in page, "Every figure, as text" in page, 'class="chart"' in page) == (True, True, False)
