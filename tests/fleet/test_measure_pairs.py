"""A tournament of pairs, from the nodes to the page: one bad link and one bad node among 64 are told apart."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.errors import BadValue
from advisor.fleet import measure_pairs as pairs
from advisor.fleet.measure_pairs import PairsOptions, SiteCommand, measure_pairs
from advisor.jobs.started.hosts import LauncherOptions
from advisor.machine.hosts.errands import Way
from tests.fleet.fake import MPIRUN, asked, captured, pairs_table, planted, program

NAMES = tuple(f"n{number:02d}" for number in range(1, 65))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of 64 nodes of one kind, captured."""
    folder = tmp_path_factory.mktemp("pairs") / "fleet"
    captured(folder, NAMES)
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is first on PATH, with a launcher in it; every node is idle."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(pairs, "gate", lambda names, *_, **__: (tuple(names), {}))
    program(tmp_path / "mpirun", MPIRUN)
    program(tmp_path / "mbw_mr", "#!/bin/sh\n")
    return tmp_path


def met(fleet: Path, site: Path, names: tuple[str, ...] = NAMES, **wished: Any) -> pairs.MeasuredPairs:
    """Return what a tournament comes to."""
    return measure_pairs(names, fleet, Way(), PairsOptions(launcher=LauncherOptions("openmpi4", "4.1.4"), kernels=site, **wished))


BANDWIDTHS = ("bandwidth 1 MiB", "bidirectional bandwidth 1 MiB")


@pytest.mark.slow
def test_one_bad_node_of_64_is_named_and_no_link(fleet: Path, site: Path) -> None:
    """Ten percent below with all whom it met, and with three others when they were measured again."""
    planted(site, pairs_table(NAMES, {"n17": 0.9}))
    done = met(fleet, site)
    (group,) = done.groups
    blamed = {name: ([each.node for each in found.nodes], found.links) for name, found in group.blamed.items()}
    assert blamed == {**dict.fromkeys(BANDWIDTHS, (["n17"], ())), "latency 8 B": ([], ())}
    assert (done.status, group.rounds, len(group.pairs), len(group.again)) == (1, 4, 128, 3)
    assert {node for pair in group.again for node in pair if "n17" not in pair} == set()
    busy = Counter(node for pair in asked(site) for node in pair)
    assert (busy["n17"], busy.most_common(2)[1][1], len(asked(site))) == (7, 5, 131)


@pytest.mark.slow
def test_one_bad_link_of_64_nodes_is_named_and_no_node(fleet: Path, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the page and in the document; what the pairs gave is kept beside the captures."""
    from advisor.fleet.measure_pairs import tournament

    link = tournament(NAMES)[2][5]
    planted(site, pairs_table(NAMES, {link: 0.8}))
    words = ["fleet", "measure", "--pairs", "-o", str(fleet), "--kernels", str(site)]
    assert status([*words, "--launcher", "openmpi4", "--launcher-version", "4.1.4", "--width", "100"]) == 1
    page = capsys.readouterr().out.splitlines()
    assert page[0] == "64 nodes asked, 64 measured in 128 pairs, 1 more to confirm"
    assert ([line for line in page if "BAD NODE" in line], " - ".join(link) in page[1], "BAD LINK" in page[1]) == ([], True, True)
    assert page[-1].endswith(f"advisor measure network --hosts {','.join(link)}")
    told = json.loads((fleet / "fleet-pairs.json").read_text())
    assert [each["pair"] for figure in told["groups"][0]["figures"] for each in figure["bad_links"]] == [list(link)] * 2
    assert len(told["groups"][0]["values"]) == 128


@pytest.mark.slow
def test_a_pair_without_a_result_is_a_bad_link_and_a_node_without_any_a_bad_node(fleet: Path, site: Path) -> None:
    """With the words of the launcher; nobody else is blamed."""
    from advisor.fleet.measure_pairs import tournament

    names = NAMES[:12]
    link = next(pair for pair in tournament(names)[0] if "n09" not in pair)
    planted(site, pairs_table(names, {link: 0, "n09": 0}))
    done = met(fleet, site, names)
    (group,) = done.groups
    for found in group.blamed.values():
        assert ([each.node for each in found.nodes], [each.pair for each in found.links]) == (["n09"], [link])
    assert f"mpirun ended with status 1: mbw_mr: no route to {' '.join(link)}" in group.whys.values()


@pytest.mark.slow
def test_where_all_is_well_nothing_is_named(fleet: Path, site: Path) -> None:
    """No pair meets twice."""
    planted(site, pairs_table(NAMES, {}))
    done = met(fleet, site, NAMES[:9])
    assert ([found.good for found in done.groups[0].blamed.values()], done.groups[0].again, done.status) == ([True] * 3, (), 0)


@pytest.mark.slow
def test_of_few_nodes_nothing_is_judged_and_that_is_said(fleet: Path, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four nodes have six pairs; one alone has nobody to meet; one that was not captured has its cure."""
    planted(site, pairs_table(NAMES, {"n02": 0.2}))
    words = ["fleet", "measure", "--pairs", "-o", str(fleet), "--kernels", str(site), "--launcher", "openmpi4"]
    assert status([*words, "--launcher-version", "4.1.4", "-w", "n[01-04],n99", "--width", "100"]) == 0
    said = capsys.readouterr().out
    assert ("too few pairs for a baseline: 8 needed" in said, "BAD" in said) == (True, False)
    assert f"n99: not captured; run advisor fleet capture -w n99 -o {fleet} first" in " ".join(said.split())
    done = met(fleet, site, ("n01",))
    assert (done.status, list(done.why_not)) == (2, ["n01"])


def test_ranks_that_ran_elsewhere_are_no_result(fleet: Path, site: Path) -> None:
    """Where a rank was on another core than planned, its figure says nothing of the link; nobody is blamed for that."""
    planted(
        site, ((name, [line.replace('["0", "0"]', '["0", "7"]') for line in lines]) for name, lines in pairs_table(NAMES, {}))
    )
    done = met(fleet, site, NAMES[:8])
    assert (done.groups[0].values, done.status) == ({}, 2)
    assert {why.partition(", but the plan")[0] for why in done.groups[0].whys.values()} == {"rank 1 was on CPUs 7"}


OSU = "# OSU MPI Bandwidth Test v7.3\\n# Size Bandwidth (MB/s)\\n1 2.0\\n1048576 {value}\\n"


@pytest.mark.slow
def test_a_command_of_the_sites_own_needs_no_captures(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its words get the names of the nodes, no shell reads them, and of OSU's output the largest messages count."""
    text = f'#!/bin/sh\ncase "$1" in *n05*) v=9000.0 ;; *) v=12000.0 ;; esac\necho "$#" >>{site}/words\nprintf "{OSU}"\n'
    program(site / "between", text.replace("{value}", "$v"))
    words = ["fleet", "measure", "--pairs", "-w", "n[01-16]", "-o", str(site / "none"), "--json"]
    assert status([*words, "--pair-command", "between '{a},{b} $(touch x)' ';'"]) == 1
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    (figure,) = group["figures"]
    assert (figure["figure"], figure["median"], [each["node"] for each in figure["bad_nodes"]]) == (
        "bandwidth 1 MiB",
        12e9,
        ["n05"],
    )
    assert ({*(site / "words").read_text().split()}, (site / "x").exists(), (site / "none").exists()) == ({"2"}, False, False)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "osu_bw", "run {a}", "run '{a},{b}", "{a} {b}"])
def test_a_command_that_does_not_name_both_nodes_is_refused(text: str) -> None:
    """In one line, with what to write."""
    with pytest.raises(BadValue, match="--pair-command"):
        SiteCommand(text)


@pytest.mark.slow
def test_an_answer_of_junk_is_no_result(site: Path) -> None:
    """A megabyte without a line, and what steers a terminal: recorded in one short line."""
    program(site / "junk", "#!/bin/sh\nprintf '\\033[2J'; head -c 1000000 /dev/zero | tr '\\0' x\n")
    done = measure_pairs(["n1", "n2"], site, Way(), PairsOptions(command="junk {a} {b}"))
    (why,) = done.groups[0].whys.values()
    assert (done.status, len(why) < 300, why.isprintable()) == (2, True, True)
