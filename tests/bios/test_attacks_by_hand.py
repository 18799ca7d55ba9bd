"""What strangers tried with files and names: plans and records edited by hand, two stagers at once, odd addresses."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import WISH, Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, USER
from tests.bios.machines import Json
from tests.bios.makers import MAKERS

REPOSITORY = Path(__file__).parents[2]
HEAD = "format: advisor-bios-plan/1\n"
CHANGES = "changes:\n  - {attribute: Processors_SNC, value: Enabled}\n"
PLANS = {
    "an unknown word": (f"{HEAD}colour: red\n{CHANGES}", "line 2: colour"),
    "an unknown word of a change": (f"{HEAD}changes:\n  - {{attribute: A, value: b, force: true}}\n", "line 3: force"),
    "a key twice": (HEAD + CHANGES + CHANGES, "occurs twice"),
    "a value twice": (f"{HEAD}changes:\n  - {{attribute: A, value: b, value: c}}\n", "occurs twice"),
    "an attribute twice": (f"{HEAD}{CHANGES}  - {{attribute: Processors_SNC, value: Disabled}}\n", "line 4"),
    "an attribute in other letters": (f"{HEAD}changes:\n  - {{attribute: processors_snc, value: Enabled}}\n", "does not have it"),
    "a bomb": ('a: &a ["x","x"]\nb: &b [*a,*a]\nc: [*b,*b]\n' + HEAD + CHANGES, "anchors and aliases"),
    "a list in itself": (f"{HEAD}changes: &x\n  - *x\n", "anchors and aliases"),
    "a tag": (f"{HEAD}changes: !!python/object/apply:os.system ['true']\n", "not allowed"),
    "no value": (f"{HEAD}changes:\n  - {{attribute: A}}\n", "value is missing"),
    "null": (f"{HEAD}changes:\n  - {{attribute: A, value: null}}\n", "line 3: not a valid attribute value"),
    "half a number": (f"{HEAD}changes:\n  - {{attribute: A, value: 1.5}}\n", "a whole number"),
    "a list for a value": (f"{HEAD}changes:\n  - {{attribute: A, value: [1]}}\n", "a whole number"),
    "a number for a name": (f"{HEAD}changes:\n  - {{attribute: 5, value: x}}\n", "write it in quotes"),
    "when it is applied": (f'{HEAD}changes:\n  - {{attribute: "@Redfish.SettingsApplyTime", value: x}}\n', "does not have it"),
    "letters that look alike": (f'{HEAD}changes:\n  - {{attribute: "\uff33ecure Boot", value: x}}\n', "does not have it"),
    "more than a BIOS has": (
        HEAD + "changes:\n" + "".join(f"  - {{attribute: A{each}, value: x}}\n" for each in range(501)),
        "at most 500",
    ),
    "nothing": ("", "not a plan of BIOS changes"),
    "a comment": ("# x\n", "not a plan of BIOS changes"),
    "two plans": (f"{HEAD}{CHANGES}---\n{HEAD}{CHANGES}", "a second document"),
    "depths": (f"{HEAD}changes: {'[' * 5000}{']' * 5000}\n", "nested too deeply"),
    "another format": (f"format: advisor-bios-plan/2\n{CHANGES}", "not a plan of BIOS changes"),
    "another server": (f"{HEAD}owner: {{uuid: 1-2}}\n{CHANGES}", "UUID 1-2"),
    "another model": (f"{HEAD}owner: {{model: X}}\n{CHANGES}", "model X"),
    "another BIOS": (f"{HEAD}owner: {{bios_version: '1.0'}}\n{CHANGES}", "BIOS version 1.0"),
    "another registry": (f"{HEAD}registry: Other.v1\n{CHANGES}", "registry Other.v1"),
}


@pytest.mark.parametrize(("text", "words"), PLANS.values(), ids=PLANS)
def test_a_plan_that_somebody_edited_badly(text: str, words: str, imitated: Imitated, admin: Admin) -> None:
    """One line with file and place; nothing is written."""
    bmc = imitated("lenovo")
    plan = admin.folder / "plan.yaml"
    plan.write_text(text, encoding="utf-8")
    said = admin.stages(bmc, plan)
    assert (said.status, said.lines, words in said.err, bmc.writes()) == (2, 1, True, []), said.err
    assert "plan.yaml" in said.err


@pytest.mark.parametrize("start", ["\ufeff", "# it was edited\r\n"])
def test_a_plan_that_another_editor_wrote(start: str, imitated: Imitated, admin: Admin) -> None:
    """A mark before it, and lines that end in two letters."""
    bmc = imitated("lenovo")
    (admin.folder / "plan.yaml").write_bytes((start + (HEAD + CHANGES).replace("\n", "\r\n")).encode())
    assert (admin.stages(bmc, admin.folder / "plan.yaml").status, len(bmc.writes())) == (0, 1)


def test_a_secret_in_a_plan_is_not_shown(imitated: Imitated, admin: Admin) -> None:
    """The refusal names the attribute, and not what was written beside it."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, admin.plan({"AdminPassword": "hunter2"}))
    assert (said.status, said.lines, "AdminPassword" in said.err, "hunter2" in said.err) == (2, 1, True, False)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nosuch.yaml", "advisor bios plan --bmc HOST -o FILE writes one"),
        ("/dev/zero", "larger than a plan"),
        ("/dev/null", "not a plan"),
    ],
)
def test_a_place_that_has_no_plan(place: str, words: str, imitated: Imitated, admin: Admin) -> None:
    """What is not there, what has no end, and what is empty: the BMC is not asked for anything."""
    bmc = imitated("lenovo")
    said = admin.stages(bmc, Path(place))
    assert (said.status, said.lines, words in said.err, bmc.seen) == (2, 1, True, []), said.err


@pytest.mark.parametrize("place", ["-", "/dev/null", "/dev/full", ".", "absent/r.json"])
def test_a_record_is_a_file_of_its_own(place: str, imitated: Imitated, admin: Admin) -> None:
    """A way back that nobody keeps is none: nothing is written to the BMC."""
    bmc = imitated("lenovo")
    said = admin.types("bios", "stage", admin.wish("lenovo"), "--yes", "--record", place, bmc=bmc)
    assert (said.status, said.lines, said.out, bmc.writes()) == (2, 1, "", [])


Edit = Callable[[Json], Any]
RECORDS: dict[str, tuple[Edit, set[str]]] = {
    "Secure Boot": (lambda it: (it["asked"].update(SecureBoot="x"), it["applied"].update(SecureBoot="y")), {"SecureBoot"}),
    "the boot order": (lambda it: (it["asked"].update(BootOrder="x"), it["applied"].update(BootOrder="y")), {"BootOrder"}),
    "what is not there": (lambda it: (it["asked"].update(Nowhere="x"), it["applied"].update(Nowhere="y")), {"Nowhere"}),
    "another kind": (lambda it: it["applied"].update(Processors_SNC=7), {"Processors_SNC"}),
    "no value": (lambda it: it["applied"].pop("Processors_SNC"), {"Processors_SNC"}),
    "nothing asked": (lambda it: it.update(asked={}), set()),
    "a UUID in capitals": (lambda it: it["owner"].update(uuid=it["owner"]["uuid"].upper()), set()),
}
"""What was edited in a record, and what is left for it."""


@pytest.mark.parametrize(("edit", "left"), RECORDS.values(), ids=RECORDS)
def test_a_record_that_somebody_edited(edit: Edit, left: set[str], imitated: Imitated, admin: Admin) -> None:
    """It writes no more than undo may: what is out of reach, or not there, or of another kind, is named and left."""
    bmc = imitated("lenovo")
    before = dict(bmc.applied)
    assert admin.stages(bmc, admin.wish("lenovo")).status == 0
    admin.restarts(bmc)
    bmc.starting = 0
    edit(told := admin.record())
    (admin.folder / "record.json").write_text(json.dumps(told))
    said = admin.types("bios", "undo", "record.json", "--yes", "--record", "u.json", "--json", bmc=bmc)
    assert (said.status, set(said.document["left"])) == (0, left), said.err
    assert {name: bmc.pending[name] for name in bmc.pending if bmc.pending[name] != before[name]} == {}
    assert set(bmc.pending) <= {"Processors_SNC"}


@pytest.mark.parametrize("text", ["", "null", "[]", '{"format": "advisor-bios-record/1"', "\x00", '{"schema": "advisor-bios/1"}'])
def test_a_record_that_is_none(text: str, imitated: Imitated, admin: Admin) -> None:
    """One line, and the BMC is not asked."""
    bmc = imitated("lenovo")
    (admin.folder / "record.json").write_text(text)
    said = admin.types("bios", "undo", "record.json", "--yes", bmc=bmc)
    assert (said.status, said.lines, "give the file that advisor bios stage wrote" in said.err, bmc.seen) == (2, 1, True, [])


def test_a_record_that_is_undone_twice_is_written_once(imitated: Imitated, admin: Admin) -> None:
    """The second time nothing is to do, before the restart and after it."""
    bmc = imitated("lenovo")
    admin.stages(bmc, admin.wish("lenovo"))
    admin.restarts(bmc)
    bmc.starting = 0
    said = [admin.types("bios", "undo", "record.json", "--yes", "--record", f"{each}.json", bmc=bmc) for each in range(2)]
    assert (["Nothing to undo" in each.out for each in said], len(bmc.requests("PATCH"))) == ([False, True], 2)


def test_what_a_record_prints_steers_no_terminal(imitated: Imitated, admin: Admin) -> None:
    """Somebody may have put letters into it that do."""
    admin.stages(imitated("lenovo"), admin.wish("lenovo"))
    told = {**admin.record(), "by_hand": ["echo \x1b[2J"]}
    (admin.folder / "record.json").write_text(json.dumps(told))
    assert "\x1b" not in admin.types("bios", "undo", "record.json", "--print").out


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("records", [("same.json", "same.json"), ("one.json", "other.json")], ids=["one record", "two records"])
def test_two_who_stage_at_once(maker: str, records: tuple[str, str], imitated: Imitated, admin: Admin) -> None:
    """One record never takes the other's place, and what is staged is what one of them asked for."""
    bmc = imitated(maker)
    plan = admin.wish(maker)
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), "ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD}
    words = [sys.executable, "-m", "advisor", "bios", "stage", str(plan), "--yes", "--bmc", bmc.url, "--insecure", "--record"]
    begun = [
        subprocess.Popen([*words, str(admin.folder / each)], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for each in records
    ]
    said = [each.communicate(timeout=120)[1].decode() for each in begun]
    assert ([each for each in said if each.count("\n") > 1], 0 in [each.returncode for each in begun]) == ([], True), said
    assert [each for each in said if "Traceback" in each] == []
    assert list(bmc.pending) == [WISH[maker][0]]
    name, kept = WISH[maker][0], [admin.folder / each for each in dict.fromkeys(records) if (admin.folder / each).exists()]
    assert {json.loads(each.read_text())["applied"][name] for each in kept} == {bmc.applied[name]}
    taken = [each for each in bmc.writes() if each.status in (200, 202, 204)]
    assert len(taken) in (1, 2)  # both ask for the same: who looked before the other wrote may be taken as well


@pytest.mark.parametrize(
    "where", ["::1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1\nX", "bmçé", "bmc。example", "http://127.0.0.1:9/redfish/v1"]
)
def test_an_address_that_means_something_else(where: str, admin: Admin) -> None:
    """A raw IPv6 address, port 0, the end of a line in it, letters that look alike: refused with how to write one."""
    said = admin.types("bios", "status", "--bmc", where, "--insecure")
    assert (said.status, said.lines, "write bmc01" in said.err) == (2, 1, True)


def test_an_ipv6_address_stands_in_brackets(admin: Admin) -> None:
    """It is named as it is to be typed."""
    said = admin.types("bios", "status", "--bmc", "[::1]:9", "--insecure")
    assert (said.status, said.err.startswith("advisor: [::1]:9: ")) == (2, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "lists no BMCs"),
        ("# none\n\n", "lists no BMCs"),
        ("node1 bmc1\nnode1 bmc2\n", "line 2: node1 is listed above with a different BMC"),
        ("http://bmc1:8000\nhttps://bmc1:8000\n", "would use the same file names"),
        ("bmc[1-10000000000]\n", "line 1"),
    ],
)
def test_a_list_that_is_wrong(text: str, words: str, admin: Admin) -> None:
    """File and line; nobody is asked."""
    (admin.folder / "hosts").write_text(text)
    said = admin.types("bios", "status", "--hostfile", "hosts", "--insecure")
    assert (said.status, said.lines, words in said.err) == (2, 1, True), said.err


def test_what_is_too_long_to_go_on_with_is_not_cut(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that loses names at its end would leave BMCs behind unseen."""
    monkeypatch.setenv("ADVISOR_BMC_USER", USER)
    monkeypatch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
    (admin.folder / "hosts").write_text("".join(f"http://localhost:{port}\n" for port in range(1, 21)))
    monkeypatch.setattr("advisor.bios.page._MOST_LEFT", 300)
    said = admin.types("bios", "status", "--hostfile", "hosts", "--insecure")
    told = said.out.partition("Continue with")[2].split()
    assert (said.status, told[:4]) == (2, ["too", "many", "for", "one"])
