"""Nodes behind a real sshd: every one accounted for, nothing left on them, no program left here."""

import json
import os
import shutil
import signal
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from advisor.fleet.capture import Captured, CaptureOptions, capture_fleet
from advisor.fleet.fleet import answers_in
from advisor.machine.hosts.errands import Outcome, Way
from advisor.show.terminal import topology
from tests.nodes.sshd import LOGINS, Nodes, interrupted, needs_sshd, sshd

pytestmark = needs_sshd

BECOMES = {
    "good": Outcome.ANSWERED,
    "slow": Outcome.ANSWERED,
    "hangs": Outcome.TIMED_OUT,
    "half": Outcome.TRUNCATED,
    "full": Outcome.NO_SPACE,
    "killed": Outcome.KILLED,
    "fails": Outcome.FAILED,
    "junk": Outcome.FAILED,
    "endless": Outcome.FAILED,
    "silent": Outcome.TIMED_OUT,
    "gone": Outcome.KILLED,
    "cut": Outcome.FAILED,
    "halfway": Outcome.TRUNCATED,
    "no-route": Outcome.NO_ROUTE,
    "refuses": Outcome.REFUSED,
    "no-banner": Outcome.TIMED_OUT,
    "other-key": Outcome.HOST_KEY,
    "no-entry": Outcome.PERMISSION,
}
"""What each way to answer comes to."""
REACHED = dict.fromkeys(LOGINS, Outcome.ANSWERED) | dict.fromkeys(("rbash", "exits", "exits-zsh", "uptime"), Outcome.FAILED)
"""What each login comes to: a restricted shell, an exit in a start-up file and a forced command start nothing."""
FEW = ("good", "half", "full", "killed", "gone", "junk", "halfway", "refuses", "other-key", "no-entry")
"""Those that take no time of their own."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a site whose clush.conf says which ssh options hold."""
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    return tmp_path


def outcomes(done: Captured) -> dict[str, Outcome]:
    """Return what became of each node."""
    return {each.node: each.outcome for each in done.answers}


def kept(nodes: Nodes, folder: Path) -> list[str]:
    """Return the files of a fleet's folder but the list of answers."""
    del nodes
    return sorted(path.name for path in folder.iterdir() if path.name != "answers.jsonl")


def test_every_node_is_accounted_for_and_nothing_is_left(site: Path) -> None:
    """Good ones are kept as they came, bad ones have their reason, one that calls itself otherwise is named."""
    does = {f"n{number}": each for number, each in enumerate(FEW)}
    with sshd(site, {**does, "odd": "good"}, seen={"odd": "n1"}) as nodes:
        done = capture_fleet(nodes.names, site / "fleet", CaptureOptions(Way(timeout=120)))
        assert outcomes(done) == {**{name: BECOMES[each] for name, each in does.items()}, "odd": Outcome.WRONG_NAME}
        assert nodes.left_behind() == []
    assert kept(nodes, site / "fleet") == ["n0.tar.gz", "odd.tar.gz"]
    first = done.answers[0]
    data = (site / "fleet" / "n0.tar.gz").read_bytes()
    assert (first.archive, first.sha256, first.seen_as) == ("n0.tar.gz", sha256(data).hexdigest(), "n0")
    assert data == (site / "captures" / "n0").read_bytes()


@pytest.mark.slow
def test_what_is_there_is_not_taken_again(site: Path) -> None:
    """A second run asks those alone that did not answer; --again says otherwise; a damaged file is taken again."""
    with sshd(site, {"n1": "good", "n2": "good", "n3": "fails"}) as nodes:
        fleet = site / "fleet"
        capture_fleet(["n1", "n2", "n3"], fleet)
        capture_fleet(["n1", "n2", "n3"], fleet)
        assert Counter(nodes.asked()) == {"n1": 1, "n2": 1, "n3": 2}
        (fleet / "n2.tar.gz").write_bytes(b"damaged")
        capture_fleet(["n1", "n2"], fleet)
        capture_fleet(None, fleet, CaptureOptions(again="answered"))
        assert Counter(nodes.asked()) == {"n1": 2, "n2": 3, "n3": 2}
        done = capture_fleet(None, fleet, CaptureOptions(again="failed"))
        assert (outcomes(done), nodes.asked().count("n3"), done.status(fail_on_missing=False)) == ({"n3": Outcome.FAILED}, 3, 2)
        nobody = capture_fleet(None, fleet, CaptureOptions(again="killed"))
        assert (outcomes(nobody), nobody.status(fail_on_missing=True)) == ({}, 0)


def test_a_whole_capture_comes_back_from_a_node(site: Path) -> None:
    """The script as it is, on this machine: the archive opens as a capture, and its topology is read."""
    with sshd(site, {"n1": "real"}) as nodes:
        done = capture_fleet(["n1"], site / "fleet", CaptureOptions(Way(timeout=300)))
        assert outcomes(done) == {"n1": Outcome.ANSWERED}
        assert nodes.left_behind() == []
    assert topology(str(site / "fleet" / "n1.tar.gz")).machine.name == done.answers[0].seen_as


COMMAND = (sys.executable, "-m", "advisor", "fleet", "capture")


@pytest.mark.parametrize("sign", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL])
def test_an_interrupt_keeps_what_was_had_and_leaves_nothing(sign: int, site: Path) -> None:
    """Ctrl-C, the end of a job, even SIGKILL: the hanging script on the node ends, no ssh is left; the next run goes on."""
    with sshd(site, {"n1": "good", "n2": "hangs", "n3": "silent"}) as nodes:
        words = [*COMMAND, "-w", "n[1-3]", "-o", str(site / "fleet")]
        capture_fleet(["n1"], site / "fleet")
        process = interrupted(words, os.environ, site / "asked", ("n2", "n3"), sign)
        said, complained = process.communicate(timeout=60)
        assert nodes.left_behind() == []
        if sign != signal.SIGKILL:
            assert (process.returncode, "1 answered (n[2-3] not asked" in said) == (130, True), said + complained
    told = answers_in((site / "fleet" / "answers.jsonl").read_bytes())
    assert ({name: each.outcome for name, each in told.last.items()}, told.damaged) == ({"n1": Outcome.ANSWERED}, ())
    assert kept(nodes, site / "fleet") == ["n1.tar.gz"]


def test_the_page_says_first_who_answered_and_the_document_why_not(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line of the page, and the same in JSON; the status is 1 where that is wished, 2 where nobody answered."""
    from advisor.cli.main import status

    with sshd(site, {"n1": "good", "n2": "good", "n3": "refuses", "n4": "refuses"}):
        words = ["fleet", "capture", "-o", str(site / "fleet"), "-w"]
        assert status([*words, "n[1-4]"]) == 0
        assert capsys.readouterr().out.splitlines()[0] == "4 nodes asked, 2 answered (n[3-4] refused)"
        assert status([*words, "n[1-4]", "--fail-on-missing", "--json"]) == 1
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert (told["asked"], told["asked_now"], told["answered"]) == (4, 2, 2)
        assert [(each["node"], each["is"], "Connection refused" in each["why"]) for each in told["silent"]] == [
            ("n3", "refused", True),
            ("n4", "refused", True),
        ]
        assert status([*words, "n3"]) == 2


@pytest.mark.parametrize(
    "words",
    [["-w", "-oProxyCommand=touch x"], ["-w", "a;b"], ["-w", "../x"], ["-w", "n1\nn2"], ["-w", "root@n1"], ["-w", "n[1-"], []],
)
def test_names_that_are_none_are_refused_in_one_line(words: list[str], site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run and no folder made; a file of names is told by its line."""
    from advisor.cli.main import status

    (site / "ssh").write_text(f"#!/bin/sh\ntouch {site}/run\n")
    (site / "ssh").chmod(0o755)
    (site / "names").write_text("n1\n$(touch x)\n")
    (site / "clush.conf").write_text(f"[Main]\nssh_path: {site}/ssh\n")
    for given in (words, ["--hostfile", str(site / "names")]):
        assert status(["fleet", "capture", *given, "-o", str(site / "fleet")]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
    assert "names: line 2" in said.err
    assert sorted(path.name for path in site.iterdir()) == ["clush.conf", "names", "ssh"]


@pytest.mark.slow
def test_two_hundred_names_of_all_kinds(site: Path) -> None:
    """Every one is accounted for, each with its own time, and nothing is left on the nodes or here."""
    kinds = ["good"] * 20 + list(BECOMES)
    does = {f"n{number:03d}": kinds[number % len(kinds)] for number in range(200)}
    with sshd(site, does) as nodes:
        done = capture_fleet(nodes.names, site / "fleet", CaptureOptions(Way(timeout=90)))
        fits = {each: {outcome} for each, outcome in BECOMES.items()} | {"endless": {Outcome.FAILED, Outcome.TIMED_OUT}}
        wrong = {
            each.node: (does[each.node], each.outcome, each.why)
            for each in done.answers
            if each.outcome not in fits[does[each.node]]
        }
        assert (wrong, len(done.answers), nodes.left_behind()) == ({}, 200, [])
    assert len(kept(nodes, site / "fleet")) == sum(each in ("good", "slow") for each in does.values())


# Not in CI: the hanging nodes take their minute, and sixty logins on a busy machine two more.
@pytest.mark.slow
@pytest.mark.matrix
def test_sixty_nodes_of_every_login_and_fault_have_a_line_each(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Interrupted and begun again: who answered is not asked twice, and of each of the others it is said what became of it."""
    from advisor.cli.main import status

    missing = [name for name, (shell, *_) in LOGINS.items() if shutil.which(shell.split()[0]) is None]
    becomes = {does: outcome for does, outcome in {**BECOMES, **REACHED}.items() if does not in ("endless", *missing)}
    kinds = ["good"] * 4 + list(becomes)
    does = {f"n{number:02}": kinds[number % len(kinds)] for number in range(60)}
    words = ["fleet", "capture", "-w", "n[00-59]", "-o", str(site / "fleet"), "--timeout", "60", "--width", "120"]
    with sshd(site, does) as nodes:
        hanging = tuple(name for name, each in does.items() if each == "hangs")
        process = interrupted([sys.executable, "-m", "advisor", *words], os.environ, site / "asked", hanging, signal.SIGINT)
        said, complained = process.communicate(timeout=90)
        first = set(answers_in((site / "fleet" / "answers.jsonl").read_bytes()).last)
        assert (process.returncode, said.startswith("60 nodes asked"), nodes.left_behind()) == (130, True, []), complained
        kept_first = {name for name in first if becomes[does[name]] is Outcome.ANSWERED}
        assert status(words) == 0
        page = capsys.readouterr().out
        assert nodes.left_behind() == []
        again = Counter(nodes.asked())
    last = answers_in((site / "fleet" / "answers.jsonl").read_bytes()).last
    assert {name: (each, last[name].outcome) for name, each in does.items() if last[name].outcome is not becomes[each]} == {}
    assert {name for name in kept_first if again[name] > 1} == set()
    lines = page.splitlines()
    answered = sum(becomes[each] is Outcome.ANSWERED for each in does.values())
    assert lines[0].startswith(f"60 nodes asked, {answered} answered")
    silent = {str(outcome) for outcome in becomes.values()} - {"answered"}
    assert {outcome for outcome in silent if not any(line.startswith(f"{outcome} ") for line in lines)} == set(), page
