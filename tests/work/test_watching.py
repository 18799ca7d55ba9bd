"""Audits look at the counters of faults twice, on the machine and in captures."""

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.machine import read as watching
from advisor.machine.fault_counters import Count
from advisor.machine.hosts.base import Ran, Reading, Why
from advisor.machine.hosts.capture import Link, MemoryStore, TreeHost, record
from advisor.machine.read import CounterWatch
from advisor.machine.sources.registry import counters, paths
from tests.machines.catalogue import tree, write_archive
from tests.machines.tree import Link as Made
from tests.machines.tree import relative

Capture = pytest.CaptureFixture[str]
NAME = "c-c6320-2x2660v3"
PORT = "/sys/class/infiniband/mlx5_0/ports/1/counters"
QUIET = {"symbol_error": 0, "port_rcv_errors": 3, "local_link_integrity_errors": 0, "excessive_buffer_overrun_errors": 0}


class Ailing(TreeHost):
    """A machine whose link goes down between any two looks, and whose memory had errors long ago."""

    kind = "live"
    downs = 20

    def read(self, path: str) -> Reading:
        """Return a file of the tree; what is not there is absent."""
        reading = super().read(path)
        if path == f"{PORT}/link_downed" and reading.why is None:
            self.downs += 1
            return Reading(b"%d\n" % self.downs)
        return Reading(why=Why.ABSENT) if reading.why is Why.NOT_KEPT else reading

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return that no program is there."""
        del argv, timeout
        return Ran(why=Why.ABSENT)


def machine(**files: int) -> Ailing:
    """Return a machine in memory, without the counters it had, with those given."""
    kept = {name: node for name, node in tree(NAME).items() if "/counters/" not in name}
    nodes = {f"/{name}": Link(relative(name, node)) if isinstance(node, Made) else node for name, node in kept.items()}
    place = next(name for name in nodes if name.endswith("/infiniband/mlx5_0/ports/1/state")).removesuffix("/state")
    values = {f"{place}/counters/{name}": value for name, value in files.items() if "/" not in name}
    values |= {name: value for name, value in files.items() if "/" in name}
    return Ailing(MemoryStore({**nodes, **{name: b"%d\n" % value for name, value in values.items()}}), "this machine")


@pytest.fixture
def ailing(monkeypatch: pytest.MonkeyPatch) -> Ailing:
    """Return the machine; nobody waits for a second."""
    monkeypatch.setattr("advisor.machine.hosts.base.SECONDS_BETWEEN_LOOKS", 0.0)
    edac = {"/sys/devices/system/edac/mc/mc0/ce_count": 7, "/sys/devices/system/edac/mc/mc0/ue_count": 0}
    return machine(**QUIET, link_downed=0, link_error_recovery=0, **edac)


def verdicts(arguments: list[str], capsys: Capture) -> dict[str, str]:
    """Return the verdict of each rule about errors."""
    assert status(["audit", "--json", "--topic", "errors", *arguments]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {each["id"]: each["verdict"] for each in document["verdicts"]}


def captured(host: Ailing, file: Path, twice: tuple[str, ...]) -> str:
    """Return the path of a capture of the machine."""
    file.write_bytes(record(host, paths(), (), {"advisor": "1"}, twice=twice))
    return str(file)


def test_what_rises_between_the_two_looks_of_a_capture_is_a_finding(ailing: Ailing, tmp_path: Path, capsys: Capture) -> None:
    """The link went down meanwhile; memory errors of before are worth knowing, and do not rise."""
    found = verdicts(["--from", captured(ailing, tmp_path / "node.tar.gz", counters())], capsys)
    assert found["errors-port-retrained"] == "finding"
    assert (found["errors-memory-corrected"], found["errors-memory-corrected-before"]) == ("pass", "finding")
    assert (found["errors-port-packets"], found["errors-port-before"]) == ("pass", "pass")


def test_a_capture_with_one_look_tells_no_rise(ailing: Ailing, tmp_path: Path, capsys: Capture) -> None:
    """Unknown, not a pass; what stands there since the start is told."""
    found = verdicts(["--from", captured(ailing, tmp_path / "node.tar.gz", ())], capsys)
    assert (found["errors-port-retrained"], found["errors-memory-corrected"]) == ("unknown", "unknown")
    assert (found["errors-port-before"], found["errors-memory-corrected-before"]) == ("finding", "finding")


def test_a_capture_from_before_the_counters_is_unknown_and_finds_nothing(tmp_path: Path, capsys: Capture) -> None:
    """A tree that was stored with some of the port's counters alone: what would rise, and all else, is unknown."""
    found = verdicts(["--from", str(write_archive(NAME, tmp_path / "node.tar.gz"))], capsys)
    assert {name for name, verdict in found.items() if verdict != "unknown"} == {"errors-port-resends"}  # for Ethernet alone


def test_a_machines_document_has_no_counters(ailing: Ailing, tmp_path: Path, capsys: Capture) -> None:
    """What changes by itself is in no Machine: its JSON cannot tell."""
    file = captured(ailing, tmp_path / "node.tar.gz", counters())
    assert status(["topology", "--json", "--from", file, "-o", str(tmp_path / "machine.json")]) == 0
    assert "link_down" not in (tmp_path / "machine.json").read_text()
    assert set(verdicts(["--from", str(tmp_path / "machine.json")], capsys).values()) == {"unknown"}


def test_explain_shows_what_rose_and_where_it_was_read(ailing: Ailing, tmp_path: Path, capsys: Capture) -> None:
    """The same two looks as the audit's."""
    file = captured(ailing, tmp_path / "node.tar.gz", counters())
    assert status(["explain", "errors-port-retrained", "--from", file]) == 0
    assert "/sys/class/infiniband/*/ports/*/counters" in capsys.readouterr().out


def test_a_live_machine_is_looked_at_before_and_after(ailing: Ailing, monkeypatch: pytest.MonkeyPatch) -> None:
    """One link down between the looks."""
    monkeypatch.setattr(watching, "LiveHost", lambda: ailing)
    found = CounterWatch(None).ended()
    assert found is not None
    assert found.ports is not None
    assert found.ports[0].link_downs == Count(total=22, rose=1)


def test_a_machine_that_counts_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second look, and no sleep."""

    def never(_: float) -> float:
        raise AssertionError

    host = machine()
    monkeypatch.setattr(watching, "LiveHost", lambda: host)
    monkeypatch.setattr(watching, "seconds_since", never)
    found = CounterWatch(None).ended()
    assert found is not None
    assert (found.seconds, found.ports) == (None, ())


def test_a_counter_that_hangs_holds_nobody_up(ailing: Ailing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sick adapter's driver may never answer: the audit goes on and says what it did not see."""
    go_on = Event()

    def hangs(_: object) -> dict[str, str]:
        go_on.wait(60)
        return {}

    monkeypatch.setattr(watching, "LiveHost", lambda: ailing)
    monkeypatch.setattr(watching, "_PATIENCE", 0.01)
    monkeypatch.setattr(watching, "look", hangs)
    found = CounterWatch(None).ended()
    go_on.set()
    assert found is not None
    assert (found.ports, [gap.fact for gap in found.gaps]) == (None, ["watch"])


def test_an_audits_document_holds_the_counters_and_gives_the_same_answer(ailing: Ailing, tmp_path: Path, capsys: Capture) -> None:
    """Beside the machine, not in it."""
    file = captured(ailing, tmp_path / "node.tar.gz", counters())
    first = verdicts(["--from", file], capsys)
    assert status(["audit", "--json", "--from", file, "-o", str(tmp_path / "audit.json")]) == 0
    assert verdicts(["--from", str(tmp_path / "audit.json")], capsys) == first


@pytest.mark.parametrize("text", ["[]", '{"ports": 3}', '{"seconds": "x"}', "7"])
def test_counters_of_a_document_that_are_none_are_not_believed(
    text: str, ailing: Ailing, tmp_path: Path, capsys: Capture
) -> None:
    """Unknown, and no traceback."""
    file, document = captured(ailing, tmp_path / "node.tar.gz", counters()), tmp_path / "audit.json"
    assert status(["topology", "--json", "--from", file, "-o", str(document)]) == 0
    document.write_text(document.read_text().replace("{", f'{{"watch": {text},', 1))
    assert set(verdicts(["--from", str(document)], capsys).values()) == {"unknown"}
