"""Going back, restarting and proving, on five makers' habits."""

import base64
import json
import os
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import WISH, Admin, Said
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, USER, Bmc
from tests.bios.machines import ABSENT, FILES, PRESENT, captured
from tests.bios.makers import MAKERS
from tests.bios.wire import Fault, Rack, Request
from tests.examples import a_third

every_maker = pytest.mark.parametrize("maker", MAKERS)


def undone(admin: Admin, bmc: Bmc, record: str = "record.json") -> Said:
    """Stage what a record saved."""
    return admin.types(
        "bios", "undo", admin.folder / record, "--yes", "--record", admin.folder / f"{record}.undo", "--json", bmc=bmc
    )


def settle(bmc: Bmc) -> None:
    """Let a restart come to its end."""
    bmc.starting = 0
    for name in [name for name, job in bmc.jobs.items() if job["TaskState"] == "Running"]:
        for _ in range(bmc.polls):
            bmc.task(name)


def in_effect(admin: Admin, bmc: Bmc, maker: str) -> Path:
    """Stage a maker's wish and restart; return the plan."""
    plan = admin.wish(maker)
    assert admin.stages(bmc, plan).status == 0
    assert admin.restarts(bmc).status == 0
    settle(bmc)
    return plan


@every_maker
def test_there_and_back(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Staged, restarted, undone and restarted: every attribute is as it was."""
    bmc = imitated(maker)
    before = dict(bmc.applied)
    in_effect(admin, bmc, maker)
    between = dict(bmc.applied)
    said = undone(admin, bmc)
    assert (said.status, admin.restarts(bmc).status) == (0, 0), said.err
    settle(bmc)
    assert (between != before, {name: (value, before[name]) for name, value in bmc.applied.items() if value != before[name]}) == (
        True,
        {},
    )


@pytest.mark.parametrize("maker", [each for each in MAKERS if each != "dell"])  # whose job has what waits
def test_what_only_waits_is_taken_back(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Before the restart, undo writes the applied values over those that wait."""
    bmc = imitated(maker)
    admin.stages(bmc, admin.wish(maker))
    said = undone(admin, bmc)
    assert (said.status, bmc.pending) == (0, {}), said.err


@every_maker
def test_undo_leaves_what_others_changed_since(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Not the whole file goes back: an attribute that somebody else changed later stays."""
    bmc = imitated(maker)
    other = next(
        each
        for each, value in bmc.applied.items()
        if each != WISH[maker][0]
        and isinstance(value, str)
        and len(bmc.oracle.legal(each)) > 1
        and each not in bmc.oracle.moved(bmc.applied, {WISH[maker][0]: WISH[maker][1]})
    )
    in_effect(admin, bmc, maker)
    bmc.applied[other] = theirs = bmc.another(other, bmc.applied[other])
    undone(admin, bmc)
    admin.restarts(bmc)
    settle(bmc)
    assert bmc.applied[other] == theirs


@pytest.mark.parametrize("profile", ["Custom", "GeneralPowerEfficientCompute"])
def test_undo_brings_back_what_moved_along(profile: str, imitated: Imitated, admin: Admin) -> None:
    """A profile that moved others goes back with them; what the registry then holds is named, and is all that differs."""
    bmc = imitated("hpe")
    bmc.applied["WorkloadProfile"] = profile
    before = dict(bmc.applied)
    moves = admin.stages(bmc, admin.plan({"WorkloadProfile": "HighPerformanceCompute(HPC)"})).document["moves"]
    admin.restarts(bmc)
    settle(bmc)
    moved = {name for name, value in bmc.applied.items() if value != before[name]}
    said = undone(admin, bmc)
    admin.restarts(bmc)
    settle(bmc)
    left = {name for name, value in bmc.applied.items() if value != before[name]}
    assert (moved - {"WorkloadProfile"}, len(moves) > 0, left) == (set(moves), True, set(said.document["left"]))
    assert (profile == "Custom") <= (left == set())


CONTRADICTION = {"WorkloadProfile": "HighPerformanceCompute(HPC)", "MicrosoftSecuredCoreSupport": "Enabled"}
"""HPE's registry: the one disables ProcAmdIoVt, the other enables it (A42 v1.2.60)."""


@pytest.mark.parametrize("then", ["Enabled", "Disabled"])
def test_undo_brings_back_what_moved_along_to_what_was_not_known(then: str, imitated: Imitated, admin: Admin) -> None:
    """Where two rules of a registry contradict each other, null is in the record; whichever came, undo brings back what was."""
    bmc = imitated("hpe")
    bmc.applied |= {"WorkloadProfile": "Custom", "ProcAmdIoVt": "Enabled"}
    before = dict(bmc.applied)
    said = admin.stages(bmc, admin.plan(CONTRADICTION))
    bmc.on_restart = lambda each: each.applied.update(ProcAmdIoVt=then)
    admin.restarts(bmc)
    bmc.on_restart = None
    settle(bmc)
    undo = undone(admin, bmc)
    admin.restarts(bmc)
    settle(bmc)
    assert (said.document["moves"]["ProcAmdIoVt"], admin.record()["moves"]["ProcAmdIoVt"]) == (
        {"now": "Enabled", "then": None},
        None,
    )
    assert (undo.status, bmc.applied) == (0, before), undo.err


@pytest.mark.parametrize("then", ["Enabled", "Disabled"])
def test_what_waits_of_a_change_that_was_not_known_is_ours(then: str, imitated: Imitated, admin: Admin) -> None:
    """A BMC that shows what it will make of a contradiction is not taken for somebody else, neither way; another value is."""
    bmc = imitated("hpe")
    bmc.applied |= {"WorkloadProfile": "Custom", "ProcAmdIoVt": "Enabled"}
    admin.stages(bmc, admin.plan(CONTRADICTION))
    bmc.pending["ProcAmdIoVt"] = then
    said = undone(admin, bmc)
    assert (said.status, bmc.pending) == (0, {}), said.err
    bmc.pending["ProcAmdIoVt"] = "Banana"
    assert "ProcAmdIoVt=Banana" in undone(admin, bmc, "record.json").err


@every_maker
@pytest.mark.parametrize("lie", ["another uuid", "another bios"])
def test_undo_compares_whose_record_it_is(maker: str, lie: str, imitated: Imitated, admin: Admin) -> None:
    """Another UUID or another BIOS version: refused, and nothing is written."""
    bmc = imitated(maker, lies={lie})
    in_effect(admin, bmc, maker)
    many = len(bmc.writes())
    said = undone(admin, bmc)
    assert (said.status, said.lines, len(bmc.writes())) == (2, 1, many)


def test_undo_refuses_foreign_changes_too(imitated: Imitated, admin: Admin) -> None:
    """What somebody else staged meanwhile is named."""
    bmc = imitated("lenovo")
    in_effect(admin, bmc, "lenovo")
    bmc.pending["OperatingModes_ChooseOperatingMode"] = "CustomMode"
    bmc.applied["OperatingModes_ChooseOperatingMode"] = "MaximumEfficiency"
    said = undone(admin, bmc)
    assert (said.status, "OperatingModes_ChooseOperatingMode=CustomMode" in said.err) == (2, True)


def test_undo_saves_its_own_way_back(imitated: Imitated, admin: Admin) -> None:
    """What undo writes has a record before it too."""
    bmc = imitated("lenovo")
    in_effect(admin, bmc, "lenovo")
    undone(admin, bmc)
    assert admin.record("record.json.undo")["applied"]["Processors_SNC"] == "Enabled"


def test_the_records_say_what_the_plan_was_for(imitated: Imitated, admin: Admin) -> None:
    """What stage saves keeps the plan's intent, and what undo saves keeps it too."""
    bmc = imitated("lenovo")
    plan = admin.wish("lenovo")
    plan.write_text(plan.read_text() + 'intent: "mpi"\n')
    admin.stages(bmc, plan)
    admin.restarts(bmc)
    undone(admin, bmc)
    assert [admin.record(name)["intent"] for name in ("record.json", "record.json.undo")] == ["mpi", "mpi"]


def test_a_value_that_was_read_is_a_way_back(imitated: Imitated, admin: Admin) -> None:
    """Also one that the registry does not have: it was there."""
    bmc = imitated("lenovo", enforces=False)
    bmc.oracle.illegal = lambda *_: None  # type: ignore[method-assign]
    bmc.applied["Processors_SNC"] = "OddFactoryValue"
    in_effect(admin, bmc, "lenovo")
    said = undone(admin, bmc)
    assert (said.status, bmc.pending) == (0, {"Processors_SNC": "OddFactoryValue"}), said.err


@every_maker
def test_the_way_back_without_advisor_works(maker: str, imitated: Imitated, admin: Admin) -> None:
    """The PATCH that the record holds for curl, sent as it stands, brings back what was."""
    bmc = imitated(maker)
    before = dict(bmc.applied)
    in_effect(admin, bmc, maker)
    printed = admin.types("bios", "undo", admin.folder / "record.json", "--print").out
    words = shlex.split(next(line for line in printed.splitlines() if line.startswith("curl ")))
    given = dict(pairwise(words))
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    headers = {"authorization": f"Basic {basic}", "if-match": "*", "content-type": "application/json"}
    url = words[-1].removeprefix("https://").removeprefix("http://").partition("/")
    said = bmc.answer(Request("PATCH", f"/{url[2]}", headers, given["-d"].encode()))
    assert (given["-X"], given["-u"], said.status in (200, 202, 204)) == ("PATCH", "USER", True)
    bmc.reset({"ResetType": "GracefulRestart"})
    settle(bmc)
    assert bmc.applied == before


def test_the_vendors_own_commands_are_printed(imitated: Imitated, admin: Admin) -> None:
    """Racadm for a Dell, with the value as it was; what restarts the server stands after a warning."""
    in_effect(admin, imitated("dell"), "dell")
    lines = admin.types("bios", "undo", admin.folder / "record.json", "--print").out.splitlines()
    assert "racadm set BIOS.ProcSettings.SubNumaCluster Disabled" in lines
    assert "drain it first" in lines[next(at for at, line in enumerate(lines) if "jobqueue create" in line) - 1]


# restart


@every_maker
def test_a_restart_is_graceful_and_asked_once(maker: str, imitated: Imitated, admin: Admin) -> None:
    """One POST of GracefulRestart."""
    bmc = imitated(maker)
    said = admin.restarts(bmc)
    assert (said.status, bmc.resets, [each.method for each in bmc.writes()]) == (0, ["GracefulRestart"], ["POST"])


@every_maker
@pytest.mark.parametrize("kind", ["request read", "effect", "half body", "last byte", "html", "garbage", "error", "busy"])
def test_a_restart_is_sent_once_whatever_comes_back(maker: str, kind: str, imitated: Imitated, admin: Admin) -> None:
    """No answer, half of one, or a wrong one: it is one POST."""
    bmc = imitated(maker, faults=[Fault(kind, "POST", "Reset", times=9, effect=True)])
    admin.restarts(bmc)
    assert [each.method for each in bmc.writes()] == ["POST"]


@every_maker
def test_a_slow_bmc_gets_one_restart(maker: str, imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes to answer: two libraries sent ten and eleven resets to such a one."""
    bmc = imitated(maker, faults=[Fault("slow", "POST", "Reset", times=99, value="2")])
    monkeypatch.setattr("advisor.bios.session.SILENCE", 0.2)
    said = admin.restarts(bmc)
    assert (said.status, said.lines, bmc.resets, len(bmc.writes())) == (2, 1, ["GracefulRestart"], 1)


def test_a_restart_without_an_answer_says_so(imitated: Imitated, admin: Admin) -> None:
    """Whether it happened is to be looked at; it is not asked again."""
    bmc = imitated("lenovo", faults=[Fault("effect", "POST", "Reset")])
    said = admin.restarts(bmc)
    assert (said.status, said.lines, "requested once and will not be requested again" in said.err) == (2, 1, True)


def test_a_bmc_without_graceful_restart_is_asked_for_nothing(imitated: Imitated, admin: Admin) -> None:
    """What it offers is named, and no harder one is taken."""
    bmc = imitated("lenovo")
    type(bmc).reset_types = ("On", "ForceOff", "ForceRestart")
    try:
        said = admin.restarts(bmc)
    finally:
        del type(bmc).reset_types
    assert (said.status, said.lines, bmc.writes(), "ForceRestart" in said.err) == (2, 1, [], True)


def test_a_server_that_is_off_is_not_restarted(imitated: Imitated, admin: Admin) -> None:
    """What waits takes effect when somebody starts it."""
    bmc = imitated("lenovo")
    bmc.power = "Off"
    said = admin.restarts(bmc)
    assert (said.status, bmc.writes(), "is off" in said.err) == (2, [], True)


def test_without_a_yes_nothing_is_restarted(imitated: Imitated, admin: Admin) -> None:
    """The question of restart is its own: which server it is stands above it."""
    bmc = imitated("lenovo")
    said = admin.types("bios", "restart", "--nothing-staged", "--drained", "--no-slurm", bmc=bmc)
    assert (said.status, bmc.writes(), bmc.machine.system["Model"] in said.out) == (2, [], True)


def slurm(admin: Admin, monkeypatch: pytest.MonkeyPatch, state: str) -> Path:
    """Put a Slurm onto the path that says how a node is, and keeps what it was asked with."""
    folder = admin.folder / "bin"
    folder.mkdir()
    program = folder / "scontrol"
    program.write_text(
        f"#!/bin/sh\necho \"$*\" >> {admin.folder}/asked\n/usr/bin/env >> {admin.folder}/environment\necho '{state}'\n"
    )
    program.chmod(0o755)
    (admin.folder / "slurm.conf").write_text("ClusterName=x\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(admin.folder / "slurm.conf"))
    return admin.folder / "asked"


STATES = ("IDLE", "ALLOCATED", "MIXED", "ALLOCATED+DRAIN", "MIXED+DRAIN", "COMPLETING+DRAIN", "DOWN", "IDLE+RESERVED")


@pytest.mark.parametrize("state", STATES)
def test_a_node_that_is_not_drained_is_not_restarted(
    state: str, imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm is asked where it is: the state is named, and how the node is drained."""
    bmc = imitated("lenovo")
    slurm(admin, monkeypatch, f"NodeName=node01 Arch=x86_64 State={state} ThreadsPerCore=1")
    said = admin.types("bios", "restart", "--nothing-staged", "--yes", "--node", "node01", bmc=bmc)
    assert (said.status, said.lines, bmc.writes(), f"Slurm reports {state}" in said.err) == (2, 1, [], True)


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN+DRAIN", "IDLE+DRAIN+NOT_RESPONDING"])
def test_a_drained_node_is_restarted(state: str, imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked about twice, before the question and after it."""
    bmc = imitated("lenovo")
    asked = slurm(admin, monkeypatch, f"NodeName=node01 Arch=x86_64 State={state} ThreadsPerCore=1")
    said = admin.types("bios", "restart", "--nothing-staged", "--yes", "--node", "node01", bmc=bmc)
    assert (said.status, bmc.resets, asked.read_text().splitlines()) == (
        0,
        ["GracefulRestart"],
        ["show node node01 --oneliner"] * 2,
    )


def test_a_node_that_slurm_does_not_know_is_not_restarted(
    imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unsure is no: --node or --no-slurm decides."""
    bmc = imitated("lenovo")
    slurm(admin, monkeypatch, "Node node01 not found")
    one, other = (
        admin.types("bios", "restart", "--nothing-staged", "--yes", *more, bmc=bmc) for more in (("--node", "node01"), ())
    )
    assert (one.status, other.status, bmc.writes()) == (2, 2, [])


# proof


@every_maker
def test_a_plan_in_effect_is_proven(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Applied, nothing waits, the job has ended: status 0."""
    bmc = imitated(maker)
    plan = in_effect(admin, bmc, maker)
    said = admin.types("bios", "prove", plan, "--record", admin.folder / "record.json", "--json", bmc=bmc)
    assert (said.status, said.document["proven"], said.document["witnesses"][0]["says"]) == (0, True, "holds")


@every_maker
def test_a_plan_that_only_waits_is_not_proven(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Before the restart: status 1, and what waits is named."""
    bmc = imitated(maker)
    plan = admin.wish(maker)
    admin.stages(bmc, plan)
    said = admin.types("bios", "prove", plan, "--json", bmc=bmc)
    assert (said.status, WISH[maker][0] in json.dumps(said.document["witnesses"][0])) == (1, True)


@every_maker
@pytest.mark.parametrize(
    "lie", a_third(["applies nothing", "applies another", "stays pending", "another uuid", "another bios", "power lost"])
)
def test_the_bmcs_own_words_give_a_lie_away(maker: str, lie: str, imitated: Imitated, admin: Admin) -> None:
    """What a restart made wrong is found by the witness BMC: status 1."""
    bmc = imitated(maker, lies={lie})
    name, value = WISH[maker]
    plan = admin.plan({name: value}, uuid=bmc.identity, bios_version=bmc.machine.system["BiosVersion"])
    admin.stages(bmc, plan)
    admin.restarts(bmc)
    settle(bmc)
    said = admin.types("bios", "prove", plan, "--record", admin.folder / "record.json", "--json", bmc=bmc)
    if lie == "applies another" and bmc.applied[name] == bmc.stored(name, value):
        pytest.skip("its machine has but two values")
    assert (said.status, said.document["witnesses"][0]["says"]) == (1, "does not hold"), said.out


def test_a_job_that_runs_is_waited_for(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dell shows the new values before its job is over: without --wait that is no proof, with it the end is."""
    monkeypatch.setattr("advisor.bios.prove._BETWEEN", 0.01)
    bmc = imitated("dell", polls=6)
    plan = admin.wish("dell")
    admin.stages(bmc, plan)
    admin.restarts(bmc)
    early = admin.types("bios", "prove", plan, "--json", bmc=bmc)
    late = admin.types("bios", "prove", plan, "--wait", "30", "--json", bmc=bmc)
    assert (early.status, "job is still running" in early.out, late.status) == (1, True, 0)


@every_maker
def test_reading_and_proving_write_nothing(maker: str, imitated: Imitated, admin: Admin) -> None:
    """read, status and prove send GET alone, besides the session."""
    bmc = imitated(maker)
    admin.types("bios", "read", "-o", admin.folder / "bios.json", bmc=bmc)
    admin.types("bios", "status", bmc=bmc)
    admin.types("bios", "prove", admin.wish(maker), bmc=bmc)
    assert bmc.writes() == []


def test_status_names_what_waits(imitated: Imitated, admin: Admin) -> None:
    """The value now and the value then, and the BMC's job."""
    bmc = imitated("dell")
    admin.stages(bmc, admin.wish("dell"))
    said: dict[str, Any] = admin.types("bios", "status", "--json", bmc=bmc).document
    assert (said["waiting"], said["now"], [job["state"] for job in said["jobs"]]) == (
        {"SubNumaCluster": "2-Way"},
        {"SubNumaCluster": "Disabled"},
        ["Starting"],
    )


def test_why_it_was_not_applied_is_the_bmcs_to_say(imitated: Imitated, admin: Admin) -> None:
    """HPE keeps how the last settings went: its words stand beside what does not hold."""
    bmc = imitated("hpe", lies={"applies nothing"})
    plan = admin.wish("hpe")
    admin.stages(bmc, plan)
    admin.restarts(bmc)
    settle(bmc)
    messages = [{"MessageId": "iLO.2.14.InternalError", "Message": "It was not \x1b[2Japplied."}]
    bmc.settled = {**(bmc.settled or {}), "Messages": messages}
    said = admin.types("bios", "prove", plan, "--json", bmc=bmc)
    why = said.document["witnesses"][0]["why"]
    assert (said.status, any("applied." in line for line in why), "\x1b" in "".join(why)) == (1, True, False)


@pytest.mark.slow
@pytest.mark.skipif(not PRESENT, reason=ABSENT)
@pytest.mark.parametrize("maker", FILES)
def test_the_whole_round_on_a_published_capture(maker: str, rack: Rack, admin: Admin) -> None:
    """Every attribute and dependency of a real server: staged, restarted, proven, undone, restarted, and as it was."""
    bmc = rack.add(MAKERS[maker](machine=captured(maker)))
    before = dict(bmc.applied)
    plan = in_effect(admin, bmc, maker)
    proven = admin.types("bios", "prove", plan, "--record", admin.folder / "record.json", "--json", bmc=bmc)
    said = undone(admin, bmc)
    assert (proven.status, said.status, admin.restarts(bmc).status) == (0, 0, 0), proven.out + said.err
    settle(bmc)
    left = set(said.document["left"])
    assert {name: value for name, value in bmc.applied.items() if value != before[name] and name not in left} == {}
