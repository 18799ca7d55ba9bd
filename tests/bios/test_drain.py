"""Servers that restart in two steps, a Dell's job that is deleted, and what schedulers say of a node."""

from pathlib import Path
from typing import Any

import pytest

from advisor.bios.drain import REASON, Lsf, Own, Pbs, Said, Slurm, scheduler_here
from advisor.errors import AdvisorError, CannotWork
from advisor.machine.hosts.live import LiveHost
from tests.bios.admin import Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import Bmc
from tests.bios.wire import Response

TWO_STEPS = ("On", "ForceOff", "GracefulShutdown", "ForceRestart")


@pytest.fixture
def dgx(imitated: Imitated, monkeypatch: pytest.MonkeyPatch) -> Bmc:
    """Return a BMC without GracefulRestart."""
    bmc = imitated("lenovo")
    monkeypatch.setattr(type(bmc), "reset_types", TWO_STEPS)
    monkeypatch.setattr("advisor.bios.changes._BETWEEN", 0.0)
    return bmc


def test_without_graceful_restart_it_is_shut_down_and_started(dgx: Bmc, admin: Admin) -> None:
    """Each once, and what waited is applied."""
    admin.stages(dgx, admin.wish("lenovo"))
    said = admin.restarts(dgx)
    assert (said.status, dgx.resets, dgx.pending, said.document["kind"]) == (
        0,
        ["GracefulShutdown", "On"],
        {},
        "GracefulShutdown, then On",
    )


def test_a_server_that_does_not_go_off_is_not_forced(dgx: Bmc, admin: Admin) -> None:
    """It was asked once; nothing follows."""
    admin.stages(dgx, admin.wish("lenovo"))
    dgx.reset = lambda body: dgx.resets.append(body["ResetType"]) or Response.of(204)  # type: ignore[method-assign, func-returns-value]
    said = admin.restarts(dgx)
    assert (said.status, said.lines, dgx.resets, "it was not forced off" in said.err) == (2, 1, ["GracefulShutdown"], True)


def test_a_dells_job_that_has_not_begun_is_deleted(imitated: Imitated, admin: Admin) -> None:
    """What was staged waits no more, nothing was restarted, and the same plan can be staged again."""
    bmc = imitated("dell")
    assert admin.stages(bmc, admin.wish("dell")).status == 0
    said = admin.types("bios", "undo", "record.json", "--yes", "--json", bmc=bmc)
    states = [job["TaskState"] for job in bmc.jobs.values()]
    assert (said.status, said.document["state"], bmc.pending, states, bmc.resets) == (0, "withdrawn", {}, ["Cancelled"], []), (
        said.err
    )
    assert len(bmc.requests("DELETE", "/Tasks/")) == 1
    assert admin.stages(bmc, admin.wish("dell"), "again.json").status == 0


def test_a_job_that_has_begun_is_left(imitated: Imitated, admin: Admin) -> None:
    """It runs: undo deletes nothing, and says that the values are committed."""
    bmc = imitated("dell")
    admin.stages(bmc, admin.wish("dell"))
    next(iter(bmc.jobs.values())).update(TaskState="Running", looks=-1000)
    said = admin.types("bios", "undo", "record.json", "--yes", bmc=bmc)
    assert (said.status, bmc.requests("DELETE", "/Tasks/"), bool(bmc.pending)) == (2, [], True)


def test_a_job_that_is_not_in_the_record_is_left(imitated: Imitated, admin: Admin) -> None:
    """A record without a job deletes none, whatever waits."""
    bmc = imitated("dell")
    admin.stages(bmc, admin.wish("dell"))
    place = admin.folder / "record.json"
    place.write_text(place.read_text().replace('"job": "/redfish', '"was": "/redfish'))
    admin.types("bios", "undo", place, "--yes", bmc=bmc)
    assert bmc.requests("DELETE", "/Tasks/") == []


def program(folder: Path, name: str, text: str) -> Path:
    """Write a program that takes down its words and prints a text."""
    place = folder / "bin" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{folder}/words\ncat <<"E"\n{text}\nE\n')
    place.chmod(0o755)
    return place


def words(folder: Path) -> list[str]:
    """Return the words that programs were called with."""
    return (folder / "words").read_text().splitlines() if (folder / "words").exists() else []


PBS_STATE = "n1\n     Mom = n1\n     state = {}\n     pcpus = 4\n{}"
LSF_STATE = "HOST_NAME  STATUS  JL/U  MAX  NJOBS  RUN  SSUSP  USUSP  RSV\nn1  {}  -  64  {}  0  0  0  0"


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (Slurm, f"NodeName=n1 State=IDLE+DRAIN Reason={REASON}", Said(True, "IDLE+DRAIN", True, True)),
        (Slurm, "NodeName=n1 State=MIXED+DRAIN Reason=disk", Said(False, "MIXED+DRAIN", True)),
        (Slurm, "NodeName=n1 State=IDLE", Said(False, "IDLE")),
        (Pbs, PBS_STATE.format("offline", ""), Said(True, "offline", True)),
        (Pbs, PBS_STATE.format("offline", "     jobs = 7.server/0"), Said(False, "offline", True)),
        (Pbs, PBS_STATE.format("offline,job-busy", ""), Said(False, "job-busy,offline", True)),
        (Pbs, PBS_STATE.format("free", ""), Said(False, "free")),
        (Lsf, LSF_STATE.format("closed_Adm", 0), Said(True, "closed_Adm, 0 slots in use", True)),
        (Lsf, LSF_STATE.format("closed_Adm", 16), Said(False, "closed_Adm, 16 slots in use", True)),
        (Lsf, LSF_STATE.format("closed_Full", 0), Said(False, "closed_Full, 0 slots in use")),
    ],
)
def test_a_node_is_free_once_it_is_drained_and_runs_nothing(
    kind: Any, text: str, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each scheduler says it."""
    program(tmp_path, {Slurm: "scontrol", Pbs: "pbsnodes", Lsf: "bhosts"}[kind], text)
    (tmp_path / "slurm.conf").touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert kind(LiveHost()).state("n1") == said


@pytest.mark.parametrize(
    ("kind", "text", "lines"),
    [
        (
            Slurm,
            "NodeName=n1 State=IDLE+DRAIN",
            [f"update nodename=n1 state=drain reason={REASON}", "update nodename=n1 state=resume"],
        ),
        (Pbs, PBS_STATE.format("offline", ""), ["-o n1", "-r n1"]),
        (Lsf, LSF_STATE.format("closed_Adm", 0), [f"hclose -C {REASON} n1", "hopen n1"]),
        (Slurm, "NodeName=n1 State=IDLE", [f"update nodename=n1 state=drain reason={REASON}"]),
    ],
)
def test_a_node_is_drained_and_given_back_by_its_name(
    kind: Any, text: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is one word, nothing that begins with a dash is a name, and one that is back is not given back again."""
    for called in ("scontrol", "pbsnodes", "bhosts", "badmin"):
        program(tmp_path, called, text)
    (tmp_path / "slurm.conf").touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    scheduler = kind(LiveHost())
    scheduler.drain("n1")
    scheduler.resume("n1")
    assert [line for line in words(tmp_path) if line not in ("n1", "-w n1", "show node n1 --oneliner")] == lines
    with pytest.raises(CannotWork, match="not a node name"):
        scheduler.drain("-a")


def test_a_sites_own_commands_get_the_node_as_their_last_word(tmp_path: Path) -> None:
    """No shell reads them: what a shell would take for a second command is a word."""
    place = program(tmp_path, "out", "")
    own = scheduler_here(f"{place} --why 'a;b $HOME'", f"{place} back", drained=False)
    assert isinstance(own, Own)
    assert own.state("n1").free is True
    own.resume("n1")
    assert words(tmp_path) == ["--why a;b $HOME n1", "back n1"]


def test_a_command_that_fails_has_not_drained(tmp_path: Path) -> None:
    """Its status says so; a node is given back only where its command ends well."""
    own = scheduler_here("false", "false", drained=False)
    assert own.state("n1").free is False
    with pytest.raises(CannotWork, match="false n1"):
        own.resume("n1")


@pytest.mark.parametrize(
    ("drain", "undrain", "drained"),
    [("true", None, False), ("true", "true", True), ("no-such-command", "true", False), ("'", "true", False)],
)
def test_words_that_do_not_go_together_are_refused(drain: str, undrain: str | None, drained: bool) -> None:
    """In one line."""
    with pytest.raises(AdvisorError) as refused:
        scheduler_here(drain, undrain, drained=drained)
    assert "\n" not in str(refused.value)
