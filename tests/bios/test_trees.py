"""Whole trees of real BMCs, as they were captured: read, planned, staged and taken back; the imitations are made after them."""

import json
from typing import Any

import pytest

from tests.bios.admin import Admin
from tests.bios.imitation import ROOT
from tests.bios.trees import ABSENT, PRESENT, TREES, Tree, files_of, tree
from tests.bios.wire import Rack

pytestmark = pytest.mark.skipif(not PRESENT, reason=ABSENT)
WISHES: dict[str, tuple[str, Any]] = {
    "dell": ("SubNumaCluster", "2-Way"),
    "supermicro": ("SNC_F300", "Disable"),
    "gb200": ("ActiveCores", 140),
    "bluefield": ("EnableSMMU", False),
}
"""A change that each takes."""
REGISTRIES = {
    "dell": "BiosAttributeRegistry.v1_0_3",
    "supermicro": "BiosAttributeRegistry.1_0_0",
    "gb200": "BiosAttributeRegistry",
    "bluefield": "BiosAttributeRegistry",
}
every_tree = pytest.mark.parametrize("name", TREES)


def served(name: str, rack: Rack) -> Tree:
    """Return the BMC of a tree."""
    return rack.add(tree(files_of(name)))


@every_tree
def test_the_registry_is_found_by_what_it_has_in_it(name: str, rack: Rack, admin: Admin) -> None:
    """Under three names of one version each, outside of Redfish, named by nobody: all attributes are explained by it."""
    said = admin.types("bios", "read", "--json", bmc=served(name, rack))
    found = said.document
    assert (said.status, found["share"], found["without"], found["registry"]["Id"]) == (0, 1.0, None, REGISTRIES[name]), said.err
    page = admin.types("bios", "read", "--width", "150", bmc=served(name, rack))
    assert f"explained by {REGISTRIES[name]}, which covers 100 % of them" in page.out


@every_tree
def test_a_value_that_the_registry_has_not_is_refused(name: str, rack: Rack, admin: Admin) -> None:
    """Banana is no value of any of them: nothing is written."""
    bmc = served(name, rack)
    said = admin.stages(bmc, admin.plan({WISHES[name][0]: "Banana"}))
    assert (said.status, said.lines, bmc.writes()) == (2, 1, []), said.out
    assert '"Banana" is not a legal value' in said.err


@every_tree
def test_a_change_is_staged_restarted_and_taken_back(name: str, rack: Rack, admin: Admin) -> None:
    """Over the tree as it is: it waits, the restart that has its record applies it, undo stages what was."""
    bmc, (attribute, value) = served(name, rack), WISHES[name]
    before = bmc.applied[attribute]
    said = admin.stages(bmc, admin.plan({attribute: value}))
    assert (said.status, said.document["state"], list(bmc.pending)) == (0, "staged", [attribute]), said.err
    assert said.document["registry"] == REGISTRIES[name]
    bmc.restart()
    assert bmc.applied[attribute] == value
    undone = admin.types("bios", "undo", "record.json", "--yes", "--record", "undo.json", "--json", bmc=bmc)
    assert (undone.status, bmc.pending) == (0, {attribute: before}), undone.err


@every_tree
def test_a_plan_is_made_for_the_server_of_the_file_alone(name: str, rack: Rack, admin: Admin) -> None:
    """Whatever machine it is made on: neither its name nor its processors are in it, and what it writes stages."""
    bmc, file = served(name, rack), admin.folder / "bios.json"
    assert admin.types("bios", "read", "-o", file, bmc=bmc).status == 0
    said = admin.types("bios", "plan", "--bios", file, "--json")
    owner = json.loads(file.read_text())["owner"]
    plan = said.document["plan"]
    assert (said.status, plan["owner"]) == (0, owner), said.err
    assert plan["platform"] in {"dell": ("ice-lake",), "supermicro": (None,), "gb200": (None,), "bluefield": (None,)}[name]
    assert "according to its BMC" in said.err


@every_tree
def test_nothing_is_asked_for_but_what_a_bmc_names(name: str, rack: Rack, admin: Admin) -> None:
    """No path is made up: nothing that was asked for is missing but what the tree itself leaves out."""
    bmc = served(name, rack)
    admin.types("bios", "read", bmc=bmc)
    text = b"".join(bmc.files.values()).decode()
    asked = [each.path.rstrip("/") for each in bmc.requests("GET") if each.path.rstrip("/") != ROOT]
    assert [path for path in asked if f'"{path}' not in text] == []


def test_a_bmc_that_is_locked_down_says_so_before_any_plan(rack: Rack, admin: Admin) -> None:
    """Supermicro's SysLockdown: the page and the plan say so, and nothing is staged."""
    files = dict(files_of("supermicro"))
    place = f"{ROOT}/Managers/1/Oem/Supermicro/SysLockdown"
    files[place] = json.dumps({"@odata.id": place, "SysLockdownEnabled": True}).encode()
    bmc = rack.add(tree(files))
    read = admin.types("bios", "read", "--width", "150", "-o", "bios.json", bmc=bmc)
    planned = admin.types("bios", "plan", "--bios", "bios.json")
    staged = admin.stages(bmc, admin.plan({"SNC_F300": "Disable"}))
    assert "System Lockdown is on" in read.out
    assert planned.out.index("# System Lockdown is on") < planned.out.index("changes:")
    assert (staged.status, staged.lines, bmc.writes(), "System Lockdown" in staged.err) == (2, 1, [], True)


def test_most_attributes_read_only_says_why(rack: Rack, admin: Admin) -> None:
    """Dell's lock makes nearly all read-only: how many, and why, in one line."""
    files = dict(files_of("dell"))
    place = f"{ROOT}/Systems/System.Embedded.1/Bios/BiosRegistry"
    registry = json.loads(files[place])
    for each in registry["RegistryEntries"]["Attributes"]:
        each["ReadOnly"] = each["AttributeName"] != "SysProfile"
    files[place] = json.dumps(registry).encode()
    own = f"{ROOT}/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1"
    files[own] = json.dumps({"@odata.id": own, "Attributes": {"Lockdown.1.SystemLockdown": "Enabled"}}).encode()
    said = admin.types("bios", "read", "--json", bmc=rack.add(tree(files))).document["locked"]
    assert said.startswith("454 of 455 attributes are read-only now: System Lockdown is on")
    del files[own]
    said = admin.types("bios", "read", "--json", bmc=rack.add(tree(files))).document["locked"]
    assert said.endswith("a BMC lock, a running job or the user's role; the BMC does not say which")


def test_a_tree_is_served_as_it_was_captured(rack: Rack) -> None:
    """Byte for byte, where nothing was written over it."""
    bmc = served("dell", rack)
    for path in (ROOT, f"{ROOT}/Registries", bmc.paths["bios"], bmc.paths["registry"]):
        assert bmc.get(path).body == bmc.files[path]
