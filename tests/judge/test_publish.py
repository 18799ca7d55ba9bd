"""Figures of a site's own machines, kept for those that come later. EVERY VALUE IS INVENTED."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.publish import publish
from advisor.cli.main import status
from advisor.errors import AdvisorError
from advisor.measure import platform as platforms
from advisor.measure.platform import match_platform, published_figures
from advisor.measure.task import Measured
from tests.judge.test_place import GB, ROME, place, triad, unread
from tests.machines.catalogue import write_archive
from tests.machines.read import machine

HEAD = (
    "processor,of,sockets,metric,value,threads,numa,smt,channels,memory,stores,program,cloud,problem,grid,kind,year,grade,source"
)


def quiet(rate: float = 290 * GB, name: str = ROME, **more: Any) -> Measured:
    """Return an idle machine's triad."""
    here = machine(name)
    return Measured(triad(here, rate, idle=True, **more), machine=here)


def test_a_quiet_figure_is_a_row_with_every_condition_that_is_known(tmp_path: Path) -> None:
    """In the columns of the product's own files, so that either can be read by the same code."""
    file = tmp_path / "published.csv"
    publish(quiet(), file)
    (day,) = {quiet().measurements.conditions.started[:10]}
    row = f"EPYC 7702,node,2,triad,290 GB/s,128,NPS4,off,8,DDR4-3200,,STREAM,metal,,,measured,{day[:4]},centre"
    name = machine(ROME).name or "a machine"
    assert file.read_text().splitlines() == [HEAD, f'{row},"{name} of this site, {day}"']


def test_a_later_machine_is_placed_among_the_sites_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure of 250 GB/s is below the site's 290, under conditions that are all met."""
    file = tmp_path / "published.csv"
    publish(quiet(), file)
    before = len(published_figures(match_platform(unread())))
    monkeypatch.setattr(platforms, "SITE_FIGURES", (file,))
    rows = published_figures(match_platform(unread()))
    assert (len(rows) - before, "of this site" in rows[-1].source) == (1, True)
    assert any("of this site" in one.ref for one in place(machine(ROME), 250 * GB).published)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Measured(triad(machine(ROME), GB, idle=False), machine=machine(ROME)), "the machine was not idle"),
        (Measured(triad(machine(ROME), GB, idle=None), machine=machine(ROME)), "nothing shows whether the machine was idle"),
        (Measured(triad(machine(ROME), GB, idle=True), machine=None), "these figures are from another machine"),
        (quiet(part="core"), "no measurement here covers the whole machine"),
        (quiet(values=(290 * GB, 250 * GB, 300 * GB)), "its repeats differ by 17 %, more than 5 %"),
    ],
    ids=["busy", "idle unknown", "another machine", "a part", "repeats apart"],
)
def test_what_would_mislead_is_not_published(given: Measured, said: str, tmp_path: Path) -> None:
    """In one line, and no file is made."""
    with pytest.raises(AdvisorError, match=said):
        publish(given, tmp_path / "published.csv")
    assert not (tmp_path / "published.csv").exists()


def test_the_same_run_is_published_once(tmp_path: Path) -> None:
    """A second time is refused, and the file stays as it was."""
    file = tmp_path / "published.csv"
    publish(quiet(), file)
    kept = file.read_text()
    with pytest.raises(AdvisorError, match="has these figures"):
        publish(quiet(), file)
    assert file.read_text() == kept


def test_the_command_says_what_was_added_and_how_to_withdraw_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a capture of the machine and the file that measure --save wrote."""
    monkeypatch.chdir(tmp_path)
    Path("run.json").write_text(quiet().measurements.model_dump_json())
    write_archive(ROME, Path("node.tar.gz"))
    line = ["measure", "publish", "run.json", "--from", "node.tar.gz", "--width", "120", "-o"]
    assert status([*line, "site.csv"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 figure added to site.csv, which had 0 before",
        "  EPYC 7702, 2 x: triad 290 GB/s",
        "Machines with this processor will be compared with these figures; to withdraw one, delete its line in the file.",
    ]
    assert status([*line, "other.csv", "--json"]) == 0
    assert [row["metric"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["triad"]
