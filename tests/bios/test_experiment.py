"""The whole experiment by the command line: an imitated BMC, and published machines for what its restarts boot."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.bios.experiment_server import Node, RunOutcome
from tests.bios.admin import Admin, Said
from tests.bios.conftest import admin, rack  # noqa: F401 - fixtures
from tests.bios.imitation import PASSWORD
from tests.bios.wire import Rack
from tests.emulated.bmc_server import IDENTITY, Emulated
from tests.emulated.test_round import Shown

RATES = {"rome-nps1": 100.0, "rome-nps2": 104.0, "rome-nps4": 113.0, "rome-l3numa": 111.0}


@pytest.fixture
def server(rack: Rack, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Emulated]:  # noqa: F811
    """Return what switches on a server whose published machines stand in for it, and that is reached without ssh."""

    def switched_on(**habits: Any) -> Emulated:
        bmc = rack.add(Emulated(board="rome", folder=admin.folder / "server", **habits))
        bmc.machine.system["Model"] = "PowerEdge C6525"
        bmc.guest = Shown(bmc.folder / "guest")
        runs: list[str] = []

        def boot(_: Node) -> str | None:
            bmc.settled_down()
            return f"boot {len(bmc.resets)}" if bmc.guest.server else None

        def capture(_: Node, place: Path) -> Path:
            found: Path = bmc.guest.capture(place)  # type: ignore[attr-defined]
            return found

        def run(_: Node, program: Any, place: str) -> RunOutcome:
            del program, place
            runs.append(str(bmc.guest.server))
            return RunOutcome(RATES[runs[-1]] + len(runs) / 100)

        for name, does in {
            "boot": boot,
            "capture": capture,
            "run": run,
            "busy": lambda _: None,
            "uuid": lambda _: IDENTITY,
        }.items():
            monkeypatch.setattr(Node, name, does)
        monkeypatch.setattr("advisor.bios.experiment_server.RealServer.pause", lambda *_: None)
        monkeypatch.setattr("advisor.machine.hosts.files.os.fsync", lambda _: None)
        return bmc.switch_on()

    return switched_on


PROGRAM = [{"name": "stream", "run": "./stream", "metric": "rate: (\\S+)", "better": "high", "unit": "GB/s"}]
TWO = {"numa.nps": [1, 4]}
THREE = [
    {"name": "NPS1", "set": {"numa.nps": 1, "numa.l3_as_node": "off"}},
    {"name": "NPS4", "set": {"numa.nps": 4, "numa.l3_as_node": "off"}},
    {"name": "L3", "set": {"numa.nps": 4, "numa.l3_as_node": "on"}},
]


def written(folder: Path, **more: Any) -> Path:
    """Write a plan."""
    place = folder / "plan.yaml"
    given = {"format": "advisor-experiment/1", "measure": PROGRAM, "restarts": 2, "repeats": 2, "settle": 0, **more}
    place.write_text(json.dumps(given if "states" in given else {"factors": TWO, **given}))
    return place


def types(admin: Admin, bmc: Emulated, plan: Path, *more: object) -> Said:  # noqa: F811
    """Run a plan, with a seed, on a node that is in no Slurm cluster."""
    return admin.types(
        "experiment", plan, "--node", "node01", "--no-slurm", "--seed", "3", "--folder", admin.folder / "e", *more, bmc=bmc
    )


def columns(said: Said) -> dict[str, tuple[list[float], str]]:
    """Return each state's restarts and what is said of it."""
    return {each["state"]: (each["restarts"], each["says"]) for each in said.document["cells"]}


@pytest.mark.slow
def test_three_states_two_restarts_each_are_described(server: Any, admin: Admin) -> None:  # noqa: F811
    """Six restarts, the last in the state of the beginning: a table, no verdict, no p, and every setting as it was."""
    bmc = server()
    was = dict(bmc.applied)
    said = types(admin, bmc, written(admin.folder, states=THREE), "--yes", "--json")
    found = said.document
    assert said.status == 0, said.err
    assert {state: says for state, (_, says) in columns(said).items()} == {
        "NPS1": "first",
        "NPS4": "described",
        "L3": "described",
    }
    assert [len(restarts) for restarts, _ in columns(said).values()] == [2, 2, 2]
    assert ([each["p"] for each in found["cells"]], found["winner"], found["complete"]) == ([None] * 3, None, True)
    assert (bmc.applied, bmc.pending, len(bmc.resets), found["where"]) == (was, {}, 6, {"node01": "as before"})
    assert found["answer"].startswith("Described, not proven: 2 restarts per state cannot prove anything; observed: NPS4 has")


def test_two_states_four_restarts_each_are_proven(server: Any, admin: Admin) -> None:  # noqa: F811
    """The exact p of four and four that do not overlap is 2/70; the figures are those that the program gave; all is as it was."""
    bmc = server()
    was = dict(bmc.applied)
    said = types(admin, bmc, written(admin.folder, restarts=4), "--yes", "--json")
    one, four = said.document["cells"]
    assert (said.status, four["says"], four["p"], said.document["winner"]) == (0, "better", pytest.approx(2 / 70), "nps=4"), (
        said.err
    )
    assert (len(one["restarts"]), round(one["median"]), round(four["median"])) == (4, 100, 113)
    assert four["low"] < four["ratio"] < four["high"]
    assert (bmc.applied, bmc.pending, len(bmc.resets)) == (was, {}, 9)
    assert [path.name for path in (admin.folder / "e").iterdir() if PASSWORD.encode() in path.read_bytes()] == []
    assert (admin.folder / "e").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_what_findings_wanted_and_what_was_published_stand_beside_it(server: Any, admin: Admin) -> None:  # noqa: F811
    """The audit of before wanted NPS4: its cost is measured here; the page shows the platform's published gain."""
    bmc = server()
    program = [{**PROGRAM[0], "benchmark": "stream-triad"}]
    said = types(admin, bmc, written(admin.folder, restarts=4, measure=program), "--yes")
    assert "Finding: numa-nps-below-best recommends numa.nps=4: measured here, stream times 1.130" in " ".join(said.out.split())
    assert re.search(r"Published: STREAM triad of the machine: 13 % above NPS1 .*\(dell-rome-2019\)", " ".join(said.out.split()))


def test_the_way_back_is_known_beforehand(server: Any, admin: Admin) -> None:  # noqa: F811
    """--dry-run says states, restarts, time and what it can show, and writes nothing anywhere."""
    bmc = server()
    said = types(admin, bmc, written(admin.folder), "--dry-run")
    words = " ".join(said.out.split())
    assert (said.status, bmc.writes(), bmc.resets, (admin.folder / "e").exists()) == (0, [], [], False), said.err
    assert "2 states, 2 restarts each: 5 restarts (the last one restores), about 87 min" in words
    proof = "the smallest possible p over 1 comparison is 0.33; a proof needs 4 restarts per state"
    assert f"It can describe differences but not prove them: {proof}" in words
    assert "node01: now NumaNodesPerSocket=1" in words


def test_nothing_is_done_without_a_yes(server: Any, admin: Admin) -> None:  # noqa: F811
    """Nobody is at the terminal: one line, and nothing was written."""
    bmc = server()
    said = types(admin, bmc, written(admin.folder))
    assert (said.status, said.err, bmc.writes(), bmc.resets) == (2, "advisor: nothing was changed: not confirmed\n", [], [])


def test_something_that_waits_is_refused(server: Any, admin: Admin) -> None:  # noqa: F811
    """Somebody else's change is named, and nothing is staged over it."""
    bmc = server()
    bmc.pending["LogicalProc"] = "Enabled"
    said = types(admin, bmc, written(admin.folder), "--yes")
    assert (said.status, "LogicalProc=Enabled" in said.err, bmc.writes(), bmc.resets) == (2, True, [], [])


def test_a_present_value_that_is_not_known_is_refused(server: Any, admin: Admin) -> None:  # noqa: F811
    """What nothing could bring back is not changed."""
    bmc = server()
    bmc.applied["NumaNodesPerSocket"] = None
    said = types(admin, bmc, written(admin.folder), "--yes")
    assert (said.status, "the current value of NumaNodesPerSocket (numa.nps) is unknown" in said.err, bmc.writes()) == (
        2,
        True,
        [],
    )


def test_another_server_behind_the_bmc_is_refused(server: Any, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """The node that is measured and the BMC that restarts must be one server, by their UUIDs."""
    bmc = server()
    monkeypatch.setattr(Node, "uuid", lambda _: "00000000-0000-0000-0000-000000000001")
    said = types(admin, bmc, written(admin.folder), "--yes")
    assert (said.status, "node01 is not the server managed by" in said.err, bmc.writes()) == (2, True, [])


def test_a_program_that_gives_nothing_is_found_before_the_first_restart(
    server: Any,
    admin: Admin,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is tried as the server stands: nothing is staged, nothing restarted, no journal begun."""
    bmc = server()
    monkeypatch.setattr(Node, "run", lambda *_: RunOutcome(None, "ended with status 127: ./stream: not found"))
    said = types(admin, bmc, written(admin.folder), "--yes")
    assert (said.status, said.err.splitlines()[-1]) == (
        2,
        "advisor: node01: stream: ended with status 127: ./stream: not found; nothing was changed",
    )
    assert (bmc.pending, len(bmc.resets), (admin.folder / "e").exists()) == ({}, 0, False)


def test_a_placement_that_this_state_does_not_have_is_no_fault(
    server: Any,
    admin: Admin,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that gives its figure under one placement is taken: the other may exist after a restart only."""
    bmc = server()
    ran = Node.run

    def run(node: Node, program: Any, place: str) -> RunOutcome:
        away = place == "-N 7" and not bmc.resets
        return RunOutcome(None, "node 7 is not there") if away else ran(node, program, place)

    monkeypatch.setattr(Node, "run", run)
    placed = [{**PROGRAM[0], "run": "numactl {place} ./stream"}]
    plan = written(admin.folder, placement={"near": "-N 0", "far": "-N 7"}, measure=placed, restarts=1)
    said = types(admin, bmc, plan, "--yes", "--json")
    assert said.status == 0, said.err
    assert said.document["complete"]


def test_a_bmc_that_lies_is_found_out_and_all_is_taken_back(server: Any, admin: Admin) -> None:  # noqa: F811
    """It says NPS4 and the system has NPS1: no figure of it, one line, and back."""
    bmc = server(guest_lies={"guest as before"})
    was = dict(bmc.applied)
    said = types(admin, bmc, written(admin.folder), "--yes")
    assert (said.status, bmc.applied, bmc.pending) == (2, was, {})
    assert "not in the staged state: numa.nps is 1, but the plan sets it to 4" in " ".join(said.err.split())


def test_what_moved_along_though_no_registry_said_so_goes_back(
    server: Any,
    admin: Admin,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The BIOS turns a setting with NPS4 of its own accord and leaves it so: it is noted, and in the end is as it was."""
    bmc = server()
    was, applies = dict(bmc.applied), bmc.apply

    def moves_another() -> None:
        if bmc.pending.get("NumaNodesPerSocket") == "4":
            bmc.pending["ProcVirtualization"] = "Disabled"
        applies()

    monkeypatch.setattr(bmc, "apply", moves_another)
    said = types(admin, bmc, written(admin.folder), "--yes", "--json")
    notes = " ".join(said.document["notes"])
    assert (said.status, "nps=4 also had ProcVirtualization=Disabled" in notes) == (0, True), said.err
    assert (bmc.applied, bmc.pending) == (was, {})


def test_an_interrupted_one_stands_in_its_folder_and_is_gone_on_with(
    server: Any,
    admin: Admin,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C goes back; status says so from the folder alone; --resume measures the rest; abort then changes nothing more."""
    bmc = server()
    was, real, runs = dict(bmc.applied), Node.run, 0

    def interrupted(self: Node, program: Any, place: str) -> RunOutcome:
        nonlocal runs
        runs += 1
        if runs == 5:
            raise KeyboardInterrupt
        return real(self, program, place)

    monkeypatch.setattr(Node, "run", interrupted)
    first = types(admin, bmc, written(admin.folder), "--yes")
    back = (first.status, dict(bmc.applied), dict(bmc.pending))
    status = admin.types("experiment", "status", admin.folder / "e", "--json")
    again = admin.types("experiment", "--resume", admin.folder / "e", "--json", bmc=bmc)
    aborted = admin.types("experiment", "abort", admin.folder / "e", "--yes", bmc=bmc)
    assert (back, status.document["done"], status.document["where"]) == ((130, was, {}), 1, {"node01": "as before"})
    assert (again.status, again.document["complete"], aborted.status, bmc.applied, bmc.pending) == (0, True, 0, was, {}), (
        again.err
    )
