"""The laws of staging, on five makers' habits."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import WISH, Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import Bmc
from tests.bios.machines import Machine, own
from tests.bios.makers import MAKERS
from tests.bios.wire import Fault, Rack

every_maker = pytest.mark.parametrize("maker", MAKERS)


def written(bmc: Bmc) -> list[tuple[str, int | None]]:
    """Return the writes that a BMC saw."""
    return [(each.method, each.status) for each in bmc.writes()]


@every_maker
def test_a_plan_waits_after_it_was_staged(maker: str, imitated: Imitated, admin: Admin) -> None:
    """What a plan asks for waits for the next restart, and nothing else does."""
    bmc = imitated(maker)
    name, value = WISH[maker]
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, said.document["state"], list(bmc.pending)) == (0, "staged", [name]), said.err
    assert bmc.pending[name] == bmc.stored(name, value)


@every_maker
def test_staging_restarts_nothing(maker: str, imitated: Imitated, admin: Admin) -> None:
    """The one write is a PATCH of the settings object: no reset, no action, no job is posted."""
    bmc = imitated(maker)
    admin.stages(bmc, admin.wish(maker))
    assert ({each.method for each in bmc.writes()}, {each.path.rstrip("/").lower() for each in bmc.writes()}, bmc.resets) == (
        {"PATCH"},
        {bmc.paths["settings"].lower()},
        [],
    )


@every_maker
def test_the_record_is_there_before_the_first_write(maker: str, imitated: Imitated, admin: Admin) -> None:
    """When the PATCH comes in, the file with all that was is on disk."""
    bmc = imitated(maker)
    name, _ = WISH[maker]
    there: list[dict[str, Any]] = []
    real = bmc.patch

    def patch(path: str, body: Any, headers: dict[str, str]) -> Any:
        there.append(admin.record())
        return real(path, body, headers)

    bmc.patch = patch  # type: ignore[method-assign]
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, there[0]["outcome"], there[0]["applied"][name]) == (0, "begun", bmc.applied[name])


@every_maker
def test_the_record_has_what_undo_needs(maker: str, imitated: Imitated, admin: Admin) -> None:
    """UUID, BIOS and BMC versions, the time, what was asked, and by what the BMC was known."""
    bmc = imitated(maker)
    admin.stages(bmc, admin.wish(maker))
    record = admin.record()
    assert record["owner"]["uuid"] == bmc.identity
    assert record["owner"]["bios_version"] == bmc.machine.system["BiosVersion"]
    assert record["owner"]["bmc_version"] == bmc.firmware
    assert (list(record["asked"]), record["verified"]) == ([WISH[maker][0]], "not verified (--insecure)")
    assert record["at"].endswith("Z")


def test_the_record_is_its_owners_alone(imitated: Imitated, admin: Admin) -> None:
    """Nobody else may read it."""
    admin.stages(imitated("lenovo"), admin.wish("lenovo"))
    assert stat.S_IMODE((admin.folder / "record.json").stat().st_mode) == 0o600


def test_a_record_never_takes_the_place_of_another(imitated: Imitated, admin: Admin) -> None:
    """An older way back is kept: the file that is there is named, and nothing is written."""
    bmc = imitated("lenovo")
    (admin.folder / "record.json").write_text("older")
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, written(bmc), (admin.folder / "record.json").read_text()) == (2, [], "older")
    assert "record.json: already exists" in said.err


def test_without_room_for_the_record_nothing_is_written(imitated: Imitated, admin: Admin) -> None:
    """A disk that is full, or a folder that is not there, ends it before the first write."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, admin.wish("lenovo"), "nowhere/record.json")
    assert (said.status, said.lines, written(bmc)) == (2, 1, [])
    full = admin.types("bios", "stage", admin.wish("lenovo"), "--yes", "--record", "/dev/full/record.json", bmc=bmc)
    assert (full.status, full.lines, written(bmc)) == (2, 1, [])


def test_the_record_is_synced_to_disk(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """File and folder are synced before the PATCH goes out: a loss of power keeps them."""
    bmc = imitated("lenovo")
    synced: list[int] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(len(bmc.writes()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    admin.stages(bmc, admin.wish("lenovo"))
    assert synced[:2] == [0, 0]


@every_maker
def test_foreign_changes_are_refused_and_named(maker: str, imitated: Imitated, admin: Admin) -> None:
    """What somebody else staged would take effect too: it is named with its value, and nothing is written."""
    bmc = imitated(maker)
    other = next(
        each
        for each, value in bmc.applied.items()
        if each != WISH[maker][0] and isinstance(value, str) and len(bmc.oracle.legal(each)) > 1
    )
    bmc.pending[other] = bmc.another(other, bmc.applied[other])
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, said.lines, written(bmc)) == (2, 1, [])
    assert f"{other}={bmc.pending[other]}" in said.err


def test_a_foreign_secret_is_named_without_its_value(imitated: Imitated, admin: Admin) -> None:
    """Somebody else's password that waits is named, and not shown."""
    bmc = imitated("lenovo")
    bmc.applied["AdminPassword"] = ""
    bmc.pending["AdminPassword"] = "tops3cret"
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, "AdminPassword=(not shown)" in said.err, "tops3cret" in said.err) == (2, True, False)


@every_maker
def test_what_is_staged_already_is_not_written_again(maker: str, imitated: Imitated, admin: Admin) -> None:
    """The second time nothing to do, and nothing is written."""
    bmc = imitated(maker)
    plan = admin.wish(maker)
    admin.stages(bmc, plan)
    again = admin.stages(bmc, plan, "second.json")
    assert (again.status, again.document["state"], len(bmc.writes())) == (0, "nothing to do", 1)


@every_maker
def test_what_is_applied_already_needs_nothing(maker: str, imitated: Imitated, admin: Admin) -> None:
    """A plan that is in effect writes nothing, and leaves no record."""
    bmc = imitated(maker)
    name, value = WISH[maker]
    bmc.applied[name] = bmc.stored(name, value)
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, said.document["state"], written(bmc)) == (0, "nothing to do", [])
    assert not (admin.folder / "record.json").exists()


@every_maker
def test_paths_are_the_bmcs_own(maker: str, rack: Rack, admin: Admin) -> None:
    """Wherever a BMC keeps its resources: its links lead there, and nothing is asked for that it did not name."""
    machine = own(maker)
    moved = {name: path.replace("/Systems/", "/Systems/Rack-7/Odd.") for name, path in machine.paths.items()}
    bmc = rack.add(MAKERS[maker](machine=Machine(moved, machine.system, machine.attributes, machine.registry)))
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, list(bmc.pending)) == (0, [WISH[maker][0]]), said.err
    assert {each.path for each in bmc.writes()} == {moved["settings"]}


@every_maker
def test_if_match_is_the_settings_objects_own_tag(maker: str, imitated: Imitated, admin: Admin) -> None:
    """It is not that of the Bios resource, nor the ETag in @Redfish.Settings; with none it is *."""
    bmc = imitated(maker)
    own = bmc.etag(bmc.settings())
    admin.stages(bmc, admin.wish(maker))
    assert bmc.writes()[0].headers["if-match"] == ("*" if maker == "ami" else own)


@pytest.mark.parametrize("tags", ["as given", "quoted", "bare"])
def test_a_weak_tag_is_written_as_the_bmc_takes_it(tags: str, imitated: Imitated, admin: Admin) -> None:
    """Some BMCs give a weak tag and take only another form of it: as long as nothing changed, the next form is tried."""
    bmc = imitated("ami", tags=tags)
    name, value = WISH["ami"]
    bmc.pending[name] = bmc.another(name, value)
    bmc.applied[name] = value
    said = admin.types("bios", "status", "--json", bmc=bmc)
    other = admin.plan({name: bmc.pending[name], "Rome0059": bmc.another("Rome0059", bmc.applied["Rome0059"])})
    said = admin.stages(bmc, other)
    assert (said.status, said.document["state"]) == (0, "staged"), said.err


@pytest.mark.parametrize("maker", [each for each in MAKERS if each != "ami"])  # whose object has no tag while nothing waits
def test_412_stops_where_somebody_wrote(maker: str, imitated: Imitated, admin: Admin) -> None:
    """A change between the look and the write is not written over: one PATCH at most, and one line."""
    bmc = imitated(maker)
    real = bmc.patch
    other = next(each for each in bmc.applied if each != WISH[maker][0])

    def patch(path: str, body: Any, headers: dict[str, str]) -> Any:
        bmc.pending[other] = "changed"
        return real(path, body, headers)

    bmc.patch = patch  # type: ignore[method-assign]
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, said.lines, written(bmc)) == (2, 1, [("PATCH", 412)])
    assert "HTTP 412" in said.err
    assert WISH[maker][0] not in bmc.pending


@every_maker
def test_apply_time_is_sent_where_it_is_supported_alone(maker: str, imitated: Imitated, admin: Admin) -> None:
    """OnReset stands in the PATCH exactly where SupportedApplyTimes has it."""
    bmc = imitated(maker)
    admin.stages(bmc, admin.wish(maker))
    sent = bmc.writes()[0].body.get("@Redfish.SettingsApplyTime", {}).get("ApplyTime")
    assert sent == ("OnReset" if "OnReset" in bmc.apply_times else None)


@every_maker
def test_accepted_and_dropped_is_an_error(maker: str, imitated: Imitated, admin: Admin) -> None:
    """A BMC that says yes and keeps nothing is found by reading again, and the attribute is named."""
    bmc = imitated(maker, lies={"drops"})
    said = admin.stages(bmc, admin.wish(maker))
    words = "cannot be read again (HTTP 404)" if maker == "ami" else f"dropped {WISH[maker][0]}"  # AMI has no object then
    assert (said.status, said.lines, words in said.err) == (2, 1, True)


@every_maker
def test_a_503_with_retry_after_is_waited_for(maker: str, imitated: Imitated, admin: Admin, pauses: list[float]) -> None:
    """Twice busy, then taken: three PATCHes, each after the seconds that the BMC asked for."""
    bmc = imitated(maker, faults=[Fault("busy", "PATCH", times=2, value="7")])
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, len(bmc.writes()), pauses) == (0, 3, [7.0, 7.0])


@every_maker
def test_a_503_is_waited_for_three_times_at_most(maker: str, imitated: Imitated, admin: Admin, pauses: list[float]) -> None:
    """A BMC that stays busy is given up after three waits."""
    bmc = imitated(maker, faults=[Fault("busy", "PATCH", times=99, value="1")])
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, said.lines, len(bmc.writes()), pauses) == (2, 1, 4, [1.0, 1.0, 1.0])


def test_a_503_without_retry_after_is_not_tried_again(imitated: Imitated, admin: Admin, pauses: list[float]) -> None:
    """Nobody said that it would pass."""
    bmc = imitated("lenovo", faults=[Fault("always busy", "PATCH", times=99)])
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, len(bmc.writes()), pauses) == (2, 1, [])


def test_what_a_bmc_says_of_a_400_is_shown_cleaned(imitated: Imitated, admin: Admin) -> None:
    """The words of ExtendedInfo, without letters that steer a terminal."""
    bmc = imitated("lenovo", faults=[Fault("letters", "PATCH", times=9)])
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, said.lines, "Status: all is well" in said.err) == (2, 1, True)
    assert said.err.strip().isprintable()


def test_a_password_that_a_bmc_echoes_is_not_shown(imitated: Imitated, admin: Admin) -> None:
    """A BMC that repeats the password in an error does not bring it onto the screen."""
    bmc = imitated("lenovo", faults=[Fault("letters", "PATCH", times=9, value=f"denied for {admin.password}!")])
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, "denied for ***!" in said.err) == (2, True)


@pytest.mark.parametrize("wants", ["names", "shown"])
def test_values_are_sent_in_the_words_that_a_bmc_takes(wants: str, imitated: Imitated, admin: Admin) -> None:
    """Supermicro shows the menu's words, and may take only the registry's names: refused words are sent by name."""
    bmc = imitated("supermicro", wants=wants)
    said = admin.stages(bmc, admin.wish("supermicro"))
    assert (said.status, bmc.pending) == (0, {"SNC_F300": bmc.stored("SNC_F300", "4")}), said.err


TABOO = (
    *("SecureBoot", "SecureBootMode_012", "TpmSecurity", "Tpm2Hierarchy", "TrustedComputingGroup_DeviceOperation", "SysPassword"),
    *("SetupPassword", "BootOrder_BootOrder", "SetBootOrderFqdd1", "BootMode", "ResetBios", "ClearCMOS", "RemoteClearCMOS"),
    *("RestoreDefaults", "RestoreManufacturingDefaults", "SataSecureErase", "TpmClear", "JobQueue", "LockdownMode_011C"),
)


@pytest.mark.parametrize("name", TABOO)
def test_out_of_reach_of_any_plan(name: str, imitated: Imitated, admin: Admin) -> None:
    """Secure Boot, TPM, passwords, boot order, defaults, CMOS and job queues are refused, though the BIOS has them."""
    bmc = imitated("lenovo")
    bmc.applied[name] = "Disabled"
    said = admin.stages(bmc, admin.plan({name: "Enabled"}))
    assert (said.status, said.lines, written(bmc)) == (2, 1, [])
    assert "no plan may change this" in said.err


def test_a_plan_of_another_server_is_refused(imitated: Imitated, admin: Admin) -> None:
    """The UUID of the plan and of the BMC's system must be one."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, admin.plan({"Processors_SNC": "Enabled"}, uuid="00000000-0000-0000-0000-000000000001"))
    assert (said.status, written(bmc), bmc.identity in said.err) == (2, [], True)


def test_a_plan_for_another_bios_is_refused(imitated: Imitated, admin: Admin) -> None:
    """Names may mean something else in another version."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, admin.plan({"Processors_SNC": "Enabled"}, bios_version="U8E000A"))
    assert (said.status, written(bmc), "U8E000A" in said.err) == (2, [], True)


def test_an_edited_value_is_checked_again(imitated: Imitated, admin: Admin) -> None:
    """A value that the registry does not have is refused, and those that it has are named."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, admin.plan({"Processors_SNC": "Banana"}))
    assert (said.status, written(bmc)) == (2, [])
    assert '"Banana" is not a legal value; allowed: Disabled, Enabled' in said.err


def test_an_attribute_that_is_not_there_is_refused(imitated: Imitated, admin: Admin) -> None:
    """The nearest name is offered."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, admin.plan({"Processors_SNK": "Enabled"}))
    assert (said.status, written(bmc), "did you mean Processors_SNC?" in said.err) == (2, [], True)


def test_a_conflict_is_refused_with_its_cure(imitated: Imitated, admin: Admin) -> None:
    """What a profile holds is named with the profile, and with the value that lets go of it."""
    bmc = imitated("hpe")
    bmc.applied["WorkloadProfile"] = "HighPerformanceCompute(HPC)"
    said = admin.stages(bmc, admin.plan({"NumaMemoryDomainsPerSocket": "TwoMemoryDomainsPerSocket"}))
    assert (said.status, said.lines, written(bmc)) == (2, 1, [])
    why = "WorkloadProfile=HighPerformanceCompute(HPC) makes this attribute read-only: set WorkloadProfile to Custom first"
    assert why in said.err


def test_without_a_yes_nothing_is_written(imitated: Imitated, admin: Admin) -> None:
    """No terminal and no --yes: the change is shown, no record is left, nothing is sent."""
    bmc = imitated("lenovo")
    said = admin.types("bios", "stage", admin.wish("lenovo"), "--record", admin.folder / "record.json", bmc=bmc)
    assert (said.status, written(bmc), (admin.folder / "record.json").exists()) == (2, [], False)
    assert "Processors_SNC: Disabled -> Enabled" in said.out


def test_no_settings_object_is_made_up(imitated: Imitated, admin: Admin) -> None:
    """A Bios that names none cannot be staged to: paths are discovered, never built."""
    bmc = imitated("lenovo")
    bmc.alter[bmc.paths["bios"]] = lambda told: {key: value for key, value in told.items() if key != "@Redfish.Settings"}
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, said.lines, written(bmc), "has no settings object" in said.err) == (2, 1, [], True)


def test_a_missing_licence_is_named(imitated: Imitated, admin: Admin) -> None:
    """Which licence it is, and by what else it can be done."""
    bmc = imitated("supermicro", licensed=False)
    said = admin.stages(bmc, admin.wish("supermicro"))
    assert (said.status, said.lines, "SFT-OOB-LIC" in said.err, "sum" in said.err) == (2, 1, True, True)


@every_maker
def test_a_patch_without_an_answer_is_not_sent_again(maker: str, imitated: Imitated, admin: Admin) -> None:
    """The connection ends after the BMC took it: one PATCH, and reading again says that it is staged."""
    bmc = imitated(maker, faults=[Fault("effect", "PATCH")])
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, len(bmc.writes()), list(bmc.pending)) == (0, 1, [WISH[maker][0]]), said.err


@every_maker
def test_a_patch_that_never_arrived_is_not_sent_again(maker: str, imitated: Imitated, admin: Admin) -> None:
    """The connection ends before: nothing is staged, which is said, and the record is there."""
    bmc = imitated(maker, faults=[Fault("request body", "PATCH")])
    said = admin.stages(bmc, admin.wish(maker))
    assert (said.status, said.lines, len(bmc.writes()), bmc.pending) == (2, 1, 1, {})
    assert admin.record()["outcome"] == "begun"


@every_maker
def test_the_session_is_closed(maker: str, imitated: Imitated, admin: Admin) -> None:
    """BMCs hold few: each command logs out, also when it is refused."""
    bmc = imitated(maker)
    admin.stages(bmc, admin.wish(maker))
    admin.stages(bmc, admin.plan({"Banana": "Yes"}))
    assert (bmc.opened, bmc.closed, bmc.tokens) == (2, 2, {})


def test_a_job_of_the_bmc_is_kept_in_the_record(imitated: Imitated, admin: Admin) -> None:
    """Dell's job is what applies the change: prove follows it."""
    bmc = imitated("dell")
    said = admin.stages(bmc, admin.wish("dell"))
    assert said.document["job"] == admin.record()["job"] == next(iter(bmc.jobs.values()))["@odata.id"]


def test_a_server_that_starts_is_not_written_to(imitated: Imitated, admin: Admin) -> None:
    """HPE refuses changes during POST, and says so."""
    bmc = imitated("hpe")
    bmc.starting = 99
    said = admin.stages(bmc, admin.wish("hpe"))
    assert (said.status, said.lines, "POST" in said.err, bmc.pending) == (2, 1, True, {})


def test_the_way_back_stands_on_the_screen(imitated: Imitated, admin: Admin) -> None:
    """What undoes it, and what applies it, are the last lines."""
    bmc = imitated("lenovo")
    said = admin.types("bios", "stage", admin.wish("lenovo"), "--yes", "--record", admin.folder / "r.json", bmc=bmc)
    assert "advisor bios undo" in said.out
    assert "advisor bios restart" in said.out
    assert said.out.startswith("Staged for the next restart.")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that were waited; nobody waits."""
    found: list[float] = []
    monkeypatch.setattr("advisor.bios.session.Session.pause", lambda _, seconds: found.append(float(seconds)))
    return found


def test_a_plan_that_is_none_is_refused_before_the_bmc_is_asked(imitated: Imitated, admin: Admin) -> None:
    """Each mistake in the file is one line that names it."""
    bmc = imitated("lenovo")
    place = Path(admin.folder / "plan.yaml")
    place.write_text(json.dumps({"format": "advisor-bios-plan/1", "changes": [{"atribute": "x", "value": "y"}]}))
    said = admin.stages(bmc, place)
    assert (said.status, said.lines, bmc.seen) == (2, 1, [])
    assert "plan.yaml: line 1" in said.err
