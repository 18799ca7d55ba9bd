"""A BIOS that was read through its BMC: what the file holds, what is planned from it, and what the operating system witnesses."""

import json
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

import advisor
from advisor.advice.know.vendors import vendors
from advisor.advice.model.plan import Owner, out_of_reach
from advisor.bios.page import owner_text
from tests.bios.admin import Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, USER, Bmc
from tests.bios.machines import own
from tests.bios.makers import MAKERS
from tests.bios.wire import Certificate
from tests.machines.catalogue import write_archive
from tests.measure.test_contrast import result, run

NODE, NPS4 = "b-c6525-2x7702-nps1", "b-c6525-2x7702-nps4"
every_maker = pytest.mark.parametrize("maker", MAKERS)


@pytest.fixture
def rome(imitated: Imitated) -> Bmc:
    """Return the BMC of a Dell server with two EPYC 7742 in NPS1."""
    machine = own("rome")
    machine.system["Model"] = "PowerEdge C6525"
    return imitated("dell", machine=machine)


@pytest.fixture
def node(admin: Admin) -> Path:
    """Return the capture of such a server."""
    write_archive(NODE, admin.folder / "node.tar.gz")
    return admin.folder / "node.tar.gz"


def read(admin: Admin, bmc: Bmc) -> Path:
    """Return the file of a BIOS."""
    said = admin.types("bios", "read", "-o", admin.folder / "bios.json", bmc=bmc)
    assert said.status == 0, said.err
    return admin.folder / "bios.json"


def planned(admin: Admin, bmc: Bmc, node: Path, *more: object) -> dict[str, Any]:
    """Return the document of a plan for a node."""
    said = admin.types("bios", "plan", "--from", node, "--bios", read(admin, bmc), "--json", *more)
    assert said.status == 0, said.err
    return said.document


# the file


@every_maker
def test_the_file_holds_the_bios_and_its_registry(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Every attribute that is no secret, whose it is, and the registry with its dependencies."""
    bmc = imitated(maker)
    found = json.loads(read(admin, bmc).read_text())
    held = found["bios"]["Attributes"]
    assert (found["schema"], found["owner"]["uuid"]) == ("advisor-bios/1", bmc.identity)
    assert {name: value for name, value in held.items() if bmc.applied[name] != value} == {}
    assert len(found["registry"]["RegistryEntries"]["Dependencies"]) == len(
        bmc.machine.registry["RegistryEntries"]["Dependencies"]
    )


def test_the_file_is_its_owners_alone(rome: Bmc, admin: Admin) -> None:
    """Nobody else may read how a server is set up."""
    assert stat.S_IMODE(read(admin, rome).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SysPassword", "hunter2hunter2"),
        ("AssetTag", "FIN-0042"),
        ("SystemServiceTag", "ABC1234"),
        ("IscsiInitiatorName", "iqn.1988-11.com.example:x"),
        ("PxeDev1", "0C:42:A1:00:00:01"),
    ],
)
def test_secrets_and_names_stay_out_of_files(name: str, value: str, rome: Bmc, node: Path, admin: Admin) -> None:
    """Passwords, serial numbers, asset tags and addresses are neither in what is read nor in a record."""
    rome.applied[name] = value
    file = read(admin, rome)
    said = admin.stages(rome, admin.plan({"NumaNodesPerSocket": "4"}))
    text = file.read_text() + (admin.folder / "record.json").read_text() + said.out
    assert (said.status, value in text) == (0, False)


def test_what_waits_is_in_the_file(rome: Bmc, admin: Admin) -> None:
    """The audit and the plan see it as pending."""
    rome.pending["NumaNodesPerSocket"] = "2"
    found = json.loads(read(admin, rome).read_text())
    assert (found["waiting"], found["settings"]["Attributes"]) == ({"NumaNodesPerSocket": "2"},) * 2


def test_the_file_is_one_for_bios(rome: Bmc, node: Path, admin: Admin) -> None:
    """Audit and checklist take it with --bios, alone."""
    file = read(admin, rome)
    said = admin.types("audit", "--from", node, "--bios", file, "--json")
    rows = {row["name"]: row["bios"] for row in said.document["settings"]}
    twice = admin.types("audit", "--from", node, "--bios", file, "--bios", file)
    assert (said.status, rows["numa.nps"], twice.status, twice.lines) == (0, "1", 2, 1)


def test_an_audit_reads_the_bmc_at_once(rome: Bmc, node: Path, admin: Admin) -> None:
    """--bmc is --bios with what is there now; nothing is written."""
    said = admin.types("audit", "--from", node, "--json", bmc=rome)
    rows = {row["name"]: row["bios"] for row in said.document["settings"]}
    assert (said.status, rows["numa.nps"], rome.writes(), rome.closed) == (0, "1", [], 1)


@pytest.mark.parametrize("command", [["explain", "1"], ["checklist"], ["report", "--as", "md"]])
def test_the_commands_after_an_audit_through_a_bmc_read_it_too(command: list[str], rome: Bmc, node: Path, admin: Admin) -> None:
    """The audit names them with --bmc, they take it, and nothing is written to the BMC."""
    audited = admin.types("audit", "--from", node, "--width", "250", bmc=rome)
    said = admin.types(*command, "--from", node, bmc=rome)
    without = admin.types(*command, "--from", node)
    assert (f"--bmc {rome.url}" in audited.out, audited.err, said.status, rome.writes()) == (True, "", 0, [])
    assert said.out != without.out


# the plan


def test_a_plan_has_what_findings_want(rome: Bmc, node: Path, admin: Admin) -> None:
    """The finding on NPS becomes a change of this vendor's attribute, for this server and BIOS."""
    plan = planned(admin, rome, node)["plan"]
    assert plan["changes"] == [{"attribute": "NumaNodesPerSocket", "value": "4", "now": "1"}]
    assert (plan["owner"]["uuid"], plan["owner"]["bios_version"]) == (rome.identity, "2.6.6")


def test_a_plan_reads_back_as_it_was_written(rome: Bmc, node: Path, admin: Admin) -> None:
    """Its comments are for people; bios stage takes it as it is."""
    file = read(admin, rome)
    admin.types("bios", "plan", "--from", node, "--bios", file, "-o", admin.folder / "plan.yaml")
    text = (admin.folder / "plan.yaml").read_text()
    held = yaml.safe_load(text)
    assert (held["changes"], admin.stages(rome, admin.folder / "plan.yaml").status) == (
        [{"attribute": "NumaNodesPerSocket", "value": "4", "now": "1"}],
        0,
    )
    assert "# allowed values: 0, 1, 2, 4" in text
    assert "numa-nps-below-best" in text


def test_what_is_left_out_stands_in_the_plan_with_its_reason(rome: Bmc, node: Path, admin: Admin) -> None:
    """Guides differ, not on this machine, by hand: nothing is dropped silently."""
    left = planned(admin, rome, node)["left"]
    assert {each["list"] for each in left} == {"guides differ", "not on this machine", "by hand"}
    assert [each for each in left if not each["reason"]] == []


@pytest.mark.parametrize("name", ["io.aspm", "io-aspm", "PcieAspmL1"])
def test_only_what_was_asked_for(name: str, rome: Bmc, node: Path, admin: Admin) -> None:
    """--only takes a rule, a setting or an attribute, also where guides differ: it alone is written, or left with the reason."""
    rome.applied["SysProfile"] = "Custom"
    found = planned(admin, rome, node, "--only", name)
    assert [each["attribute"] for each in found["plan"]["changes"]] == ["PcieAspmL1"]
    rome.applied["SysProfile"] = "PerfPerWattOptimizedOs"
    held = planned(admin, rome, node, "--only", name)
    assert (held["plan"]["changes"], [each["attribute"] for each in held["left"]]) == ([], ["PcieAspmL1"])


def test_an_id_that_is_none_is_refused(rome: Bmc, node: Path, admin: Admin) -> None:
    """The nearest is offered."""
    said = admin.types("bios", "plan", "--from", node, "--bios", read(admin, rome), "--only", "numa.npz")
    assert (said.status, said.lines, "did you mean numa.nps?" in said.err) == (2, 1, True)


def test_without_a_bios_there_is_nothing_to_plan(node: Path, admin: Admin) -> None:
    """How to get one is said."""
    said = admin.types("bios", "plan", "--from", node)
    assert (said.status, said.lines, "advisor bios read" in said.err) == (2, 1, True)


def test_a_bios_of_another_vendor_is_refused(imitated: Imitated, node: Path, admin: Admin) -> None:
    """A plan for this machine is not made from another's attributes."""
    said = admin.types("bios", "plan", "--from", node, "--bios", read(admin, imitated("hpe")))
    assert (said.status, said.lines) == (2, 1)


@every_maker
def test_no_setting_that_is_tuned_is_out_of_reach(maker: str) -> None:
    """The closed list takes nothing from the vendors' sheets that a plan is for."""
    sheet = vendors().get(maker) or vendors()["gigabyte"]
    entries = [entry for many in sheet.settings.values() for entry in many]
    names = {stem for entry in entries if (stem := entry.attribute or entry.prefix or entry.numbered)}
    assert sorted(name for name in names if out_of_reach(name)) == []


# the operating system as a witness


def test_the_operating_system_is_a_witness(rome: Bmc, node: Path, admin: Admin) -> None:
    """After the change its own view agrees, and a capture from before speaks against it."""
    write_archive(NPS4, admin.folder / "after.tar.gz")
    plan = admin.folder / "plan.yaml"
    admin.types("bios", "plan", "--from", node, "--bios", read(admin, rome), "-o", plan)
    admin.stages(rome, plan)
    admin.restarts(rome)
    words = ("bios", "prove", plan, "--wait", "30", "--json")
    good = admin.types(*words, "--from", admin.folder / "after.tar.gz", bmc=rome)
    bad = admin.types(*words, "--from", node, bmc=rome)
    says = [[each["says"] for each in said.document["witnesses"]] for said in (good, bad)]
    assert (good.status, bad.status) == (0, 1)
    assert says == [["holds", "holds", "not asked"], ["holds", "does not hold", "not asked"]]


@pytest.mark.parametrize("lie", ["shows early", "applies nothing"])
def test_a_bmc_that_lies_is_caught_by_the_operating_system(lie: str, imitated: Imitated, node: Path, admin: Admin) -> None:
    """Whatever it shows of its attributes: NUMA nodes are counted where they are."""
    machine = own("rome")
    machine.system["Model"] = "PowerEdge C6525"
    bmc = imitated("dell", machine=machine, lies={lie})
    plan = admin.folder / "plan.yaml"
    admin.types("bios", "plan", "--from", node, "--bios", read(admin, bmc), "-o", plan)
    admin.stages(bmc, plan)
    said = admin.types("bios", "prove", plan, "--from", node, "--json", bmc=bmc)
    assert (said.status, said.document["witnesses"][1]["says"]) == (1, "does not hold")


# what was measured as a witness


def measured(admin: Admin, name: str, factor: float, day: int) -> Path:
    """Save runs of one kernel and of another, nine repeats each. EVERY VALUE IS INVENTED."""
    place = admin.folder / name
    place.write_text(run(*(result(size, 1e7 * factor) for size in (8, 64)), day=day).model_dump_json())
    return place


@pytest.mark.parametrize(("factor", "says", "code"), [(1.5, "holds", 0), (0.7, "does not hold", 1), (1.0, "cannot tell", 0)])
def test_what_was_measured_is_the_third_witness(factor: float, says: str, code: int, rome: Bmc, admin: Admin) -> None:
    """The same kernels before and after the change, with an exact p: faster, slower, or not to be told apart."""
    rome.applied["NumaNodesPerSocket"] = "4"
    old, new = measured(admin, "old.json", 1.0, 20), measured(admin, "new.json", factor, 21)
    words = ("bios", "prove", admin.plan({"NumaNodesPerSocket": "4"}), "--before", old, "--after", new, "--json")
    said = admin.types(*words, bmc=rome)
    witness = said.document["witnesses"][2]
    assert (said.status, witness["says"], len(said.document["measured"]["rows"])) == (code, says, 2), said.out
    assert {"p 4.1e-05" in line for line in witness["why"]} == {factor != 1.0}


def test_three_witnesses_agree(rome: Bmc, node: Path, admin: Admin) -> None:
    """The whole round: read, plan, stage, restart, and BMC, operating system and figures hold; undo brings NPS1 back."""
    write_archive(NPS4, admin.folder / "after.tar.gz")
    plan, record = admin.folder / "plan.yaml", admin.folder / "record.json"
    admin.types("bios", "plan", "--from", node, "--bios", read(admin, rome), "-o", plan)
    assert (admin.stages(rome, plan).status, admin.restarts(rome).status) == (0, 0)
    figures = ("--before", measured(admin, "old.json", 1.0, 20), "--after", measured(admin, "new.json", 1.4, 21))
    words = ("bios", "prove", plan, "--wait", "30", "--record", record, "--from", admin.folder / "after.tar.gz")
    said = admin.types(*words, *figures, "--json", bmc=rome)
    assert [each["says"] for each in said.document["witnesses"]] == ["holds"] * 3, said.out
    undone = admin.types("bios", "undo", record, "--yes", "--record", admin.folder / "undo.json", bmc=rome)
    assert (undone.status, admin.restarts(rome).status) == (0, 0)
    for name in list(rome.jobs):
        rome.finish(rome.jobs[name])
    assert (rome.applied["NumaNodesPerSocket"], rome.resets) == ("1", ["GracefulRestart"] * 2)
    assert admin.types(*words, bmc=rome).status == 1


# from Python


def test_the_example_of_the_page_prints_what_stands_there(
    imitated: Imitated, node: Path, admin: Admin, certificate: Certificate, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own code, with the imitation's address in place of bmc01, over TLS, with a login of a file."""
    page = (Path(__file__).parents[2] / "docs" / "bios.md").read_text(encoding="utf-8")
    code, told = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)[0]
    machine = own("rome")
    machine.system["Model"] = "PowerEdge C6525"
    bmc = imitated("dell", tls=True, machine=machine)
    (admin.folder / "login").write_text(f"{USER}\n{PASSWORD}\n")
    (admin.folder / "login").chmod(0o600)
    shutil.copy(certificate.certificate, admin.folder / "site-ca.pem")
    exec(compile(code.replace("bmc01", bmc.url), "docs/bios.md", "exec"), {})  # noqa: S102 - the page's own code is what is tested
    assert (capsys.readouterr().out, bmc.pending, bmc.opened - bmc.closed) == (told, {"NumaNodesPerSocket": "4"}, 0)


def test_nothing_is_written_where_confirm_says_no(rome: Bmc, node: Path, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's callers are asked as a person is: what is shown is what would be written."""
    monkeypatch.setenv("ADVISOR_BMC_USER", USER)
    monkeypatch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
    plan, shown = admin.plan({"NumaNodesPerSocket": "4"}), list[Any]()

    def confirm(about: object) -> bool:
        shown.append(about)
        return False

    with pytest.raises(advisor.AdvisorError, match="not confirmed"):
        advisor.stage_bios(plan, advisor.Door(rome.url, insecure=True), Path("r.json"), confirm)
    assert ([each.asked for each in shown], rome.writes(), Path("r.json").exists()) == (
        [{"NumaNodesPerSocket": ("1", "4")}],
        [],
        False,
    )


def test_an_audit_pins_a_certificate_too(
    imitated: Imitated, node: Path, admin: Admin, monkeypatch: pytest.MonkeyPatch, certificate: Certificate
) -> None:
    """Shown once, saved after a yes; the next audit knows it, and without it the BMC is refused."""
    machine = own("rome")
    machine.system["Model"] = "PowerEdge C6525"
    bmc = imitated("dell", tls=True, machine=machine)
    monkeypatch.setattr("advisor.cli.bmc_options.ask", lambda question, **_: "yes" if "SHA-256" in question else None)
    said = [admin.types("audit", "--from", node, "--bmc", bmc.url, *more, "--json") for more in ((), ("--pin",), ())]
    assert [each.status for each in said] == [2, 0, 0], [each.err for each in said]
    assert "--pin" in said[0].err


@pytest.mark.parametrize(("told", "kept"), [("DL340/Alletra 4220 Gen12 3-9", None), ("node01.site", "node01.site"), (None, None)])
def test_a_label_in_the_place_of_a_host_name_is_left_out(told: str | None, kept: str | None) -> None:
    """HPE's Alletra 4220: a BMC's HostName may be what somebody wrote there, with blanks and a slash."""
    assert Owner.model_validate({"host_name": told}).host_name == kept


def test_what_a_server_was_sold_as_has_its_maker_once() -> None:
    """HPE's Gen12 have the maker in the product's name; others do not."""
    assert owner_text(Owner(vendor="HPE", model="HPE ProLiant Compute DL360 Gen12")) == "HPE ProLiant Compute DL360 Gen12"
    assert owner_text(Owner(vendor="HPE", model="ProLiant DL385", host_name="n1")) == "HPE ProLiant DL385, n1"
    assert owner_text(Owner(vendor="Dell Inc.", bios_version="1.2")) == "Dell Inc., BIOS 1.2"
