"""Nodes behind gateways: the site's topology.conf says which gateway reaches whom, and ClusterShell goes that way."""

import os
import signal
import sys
from pathlib import Path

import pytest
from ClusterShell.Task import task_self

from advisor.fleet.capture import CaptureOptions, capture_fleet
from advisor.machine.hosts.errands import Outcome, Way
from advisor.machine.hosts.nodes import has_gateways
from tests.nodes.sshd import Nodes, interrupted, needs_sshd, sshd

GATEWAY = 'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a site with two gateways, and two nodes behind them."""
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    monkeypatch.setenv("CLUSTERSHELL_GW_PYTHON_EXECUTABLE", sys.executable)
    own = os.uname().nodename.partition(".")[0]
    (tmp_path / "topology.conf").write_text(f"[routes]\n{own}: gw[1-2]\ngw[1-2]: n[1-6]\n")
    return tmp_path


def gateways(nodes: Nodes) -> None:
    """Let the gateways run what ssh asks of them."""
    for name in ("gw1", "gw2"):
        (nodes.folder / "behaviour" / name).write_text(GATEWAY)


@needs_sshd
def test_nodes_behind_gateways_are_captured_through_them(site: Path) -> None:
    """Both gateways work, nobody else is asked from here; a bad node has its own reason, and nothing is left."""
    does = {"n1": "good", "n2": "good", "n3": "good", "n4": "refuses", "n5": "fails"}
    with sshd(site, {**does, "gw1": "real", "gw2": "real"}) as nodes:
        gateways(nodes)
        done = capture_fleet(tuple(does), site / "fleet", CaptureOptions(Way(timeout=120)))
        outcomes = {each.node: each.outcome for each in done.answers}
        good = dict.fromkeys(("n1", "n2", "n3"), Outcome.ANSWERED)
        assert outcomes == {**good, "n4": Outcome.REFUSED, "n5": Outcome.FAILED}, done.answers
        assert (set(nodes.asked()) >= {"gw1", "gw2"}, nodes.left_behind()) == (True, [])
        data = (site / "fleet" / "n1.tar.gz").read_bytes()
        assert data == (site / "captures" / "n1").read_bytes()


@needs_sshd
@pytest.mark.slow  # two gateways are waited for
def test_a_node_that_hangs_and_a_gateway_that_is_gone_are_named(site: Path) -> None:
    """The time of a node is its own; where one gateway is gone the other takes its nodes."""
    does = {"n1": "good", "n2": "hangs"}
    with sshd(site, {**does, "gw1": "real", "gw2": "refuses"}) as nodes:
        gateways(nodes)
        done = capture_fleet(tuple(does), site / "fleet", CaptureOptions(Way(timeout=60)))
        outcomes = {each.node: each.outcome for each in done.answers}
        assert outcomes == {"n1": Outcome.ANSWERED, "n2": Outcome.TIMED_OUT}, done.answers
        assert nodes.left_behind() == []


@needs_sshd
@pytest.mark.slow  # six connections
def test_an_interrupt_ends_gateways_and_nodes(site: Path) -> None:
    """Nothing is left on either, and no ssh here."""
    with sshd(site, {"n1": "hangs", "n2": "hangs", "gw1": "real", "gw2": "real"}) as nodes:
        gateways(nodes)
        words = [sys.executable, "-m", "advisor", "fleet", "capture", "-w", "n[1-2]", "-o", str(site / "fleet")]
        (site / "asked").touch()
        process = interrupted(words, os.environ, site / "asked", ("n1", "n2"), signal.SIGINT)
        said, complained = process.communicate(timeout=60)
        assert (process.returncode, nodes.left_behind()) == (130, []), said + complained


@pytest.mark.parametrize("text", ["[routes]\nanother: gw1\ngw1: n1\n", "junk"])
def test_a_host_without_a_place_in_the_tree_reaches_nodes_itself(text: str, site: Path) -> None:
    """So does one whose topology.conf cannot be read."""
    (site / "topology.conf").write_text(text)
    assert has_gateways(task_self()) is False
