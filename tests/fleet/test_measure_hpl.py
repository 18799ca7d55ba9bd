"""HPL on many nodes at once: the same N on all of a kind, and who is slow is named after a second run only."""

import os
from collections import Counter
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.fleet import measure as hpl
from advisor.fleet.measure import MeasuredFleet, measure_fleet_hpl
from advisor.jobs.started.hosts import LauncherOptions
from advisor.jobs.started.hpl import HplOptions
from advisor.machine.hosts.errands import Way
from advisor.measure.task import read_measurements
from tests.fleet.fake import MPIRUN, asked, captured, hpl_table, planted, program

NAMES = tuple(f"n{number}" for number in range(1, 10))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is first on PATH, with a launcher and an HPL in it, and a fleet; every node is idle."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(hpl, "gate", lambda names, *_, **__: (tuple(names), {}))
    program(tmp_path / "mpirun", MPIRUN)
    program(tmp_path / "xhpl", "#!/bin/sh\n")
    captured(tmp_path / "fleet", NAMES)
    return tmp_path


def measured(site: Path, **wished: int) -> MeasuredFleet:
    """Return what HPL of the site's own comes to."""
    how = LauncherOptions("openmpi4", "4.1.4")
    return measure_fleet_hpl(None, site / "fleet", Way(), HplOptions(site / "xhpl", **wished), launcher=how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gives", "slow"),
    [((1.0, 0.9, 0.9), ["n3"]), pytest.param((1.0, 0.9, 1.0), [], marks=pytest.mark.slow)],
    ids=["slow", "slow once"],
)
def test_a_slow_node_is_named_after_two_runs(gives: tuple[float, ...], slow: list[str], site: Path) -> None:
    """A small run shows the rate, one counts, the suspects run again; the last result is kept beside the captures."""
    planted(site, hpl_table(NAMES, {"n3": gives}))
    done = measured(site)
    assert (done.again, [each.node for each in done.slow], done.status) == (("n3",), slow, len(slow))
    assert sorted(asked(site)) == sorted([(name,) for name in NAMES] * 2 + [("n3",)])
    (kept,) = read_measurements([site / "fleet" / "n3.measured.json"]).results
    assert (kept.kernel, kept.details["program"]) == ("hpl", "xhpl")
    assert kept.median == pytest.approx(1e12 * gives[2] * 1.002)


@pytest.mark.slow
def test_all_get_the_same_system_to_solve(site: Path) -> None:
    """HPL.dat is that of the node's ranks; a node that gives nothing has the words of the launcher, and the others count."""
    planted(site, hpl_table(NAMES[:8], {}))
    done = measured(site, n=9600)
    assert (done.measured, dict(done.why_not)) == (NAMES[:8], {"n9": "mpirun ended with status 1: mbw_mr: no route to n9"})
    rows = [line.split()[0] for line in (site / "dats").read_text().splitlines() if line.endswith((" Ns", " Ps", " Qs"))]
    assert Counter(rows) == {"9600": 9, "4": 9, "5": 9}


@pytest.mark.slow
def test_hpl_is_kept_beside_what_else_was_measured(site: Path) -> None:
    """A second run replaces the first, and a measurement of memory stays; the audit reads both."""
    planted(site, hpl_table(NAMES, {}))
    measured(site, n=9600)
    measured(site, n=9600)
    assert [each.kernel for each in read_measurements([site / "fleet" / "n1.measured.json"]).results] == ["hpl"]


@pytest.mark.slow
def test_the_page_has_the_figures_beside_each_other(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is usual and who is at both ends first, then who is slow; the document has each node's."""
    planted(site, hpl_table(NAMES, {"n3": (0.8, 0.8)}))
    words = ["fleet", "measure", "--hpl", "--xhpl", str(site / "xhpl"), "--n", "40960", "-o", str(site / "fleet")]
    assert status([*words, "--launcher", "openmpi4", "--launcher-version", "4.1.4", "--width", "160"]) == 1
    page, kind = capsys.readouterr().out.splitlines(), "e52660v3-2s-128g-7e40"
    assert page[:4] == [
        "9 nodes asked, 9 measured",
        f"HPL          {kind} 9 nodes, 1001 GFLOP/s usually, 801.6 GFLOP/s (n3) to 1004 GFLOP/s (n5); N=40960, NB=192",
        "Again        n3",
        f"SLOW         {kind} 1 of 9 hpl machine 801.6 GFLOP/s, median 1001 GFLOP/s (z -39.8) n3",
    ]


@pytest.mark.slow
def test_a_suspect_that_gives_nothing_the_second_time_is_not_called_good(site: Path) -> None:
    """Nor slow: why nothing came is said."""
    planted(site, hpl_table(NAMES, {"n3": (1.0, 0.8)}))
    done = measured(site)
    assert (done.slow, done.again, done.status) == ((), ("n3",), 0)
    why = "it was slow and produced no result when remeasured: mpirun ended with status 1: mbw_mr: no route to n3"
    assert dict(done.why_not) == {"n3": why}


@pytest.mark.slow
def test_a_program_that_is_not_named_whole_is_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which file it is on the nodes is not known otherwise."""
    assert status(["fleet", "measure", "--hpl", "--xhpl", "xhpl", "-o", str(site / "fleet")]) == 2
    assert "not an absolute path; give its absolute path on the nodes" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--hpl", "--pairs"], "--pairs and --hpl"),
        (["--xhpl", "/x"], "--xhpl only applies with --hpl; also give --hpl"),
        (["--pair-command", "a {a} {b}"], "--pair-command only applies with --pairs; also give --pairs"),
        (["--pairs", "-w", "-oProxyCommand=x"], "is not"),
        (["--hpl", "-w", "a;b"], "is not"),
        (["--pairs", "-w", "../x", "--pair-command", "x {a} {b}"], "is not"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    words: list[str], why: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names that are none, and options that mean nothing here; nothing is started."""
    assert status(["fleet", "measure", *words, "-o", str(site / "fleet")]) == 2
    said = capsys.readouterr().err
    assert (why in said, said.count("\n"), asked(site)) == (True, 1, []), said
