"""One checklist and one BIOS plan for each kind, each step with the nodes that need it."""

import json
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.fleet.plan import fleet_checklist, fleet_plan
from advisor.machine.hosts.errands import expanded
from tests.fleet.fake import captured
from tests.fleet.planted import Planted, plant

NAMES = ["e52660v3-2s-128g-7e40", "epyc7601-2s-256g-6a60"]
"""Of the two kinds, whichever is the larger."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Return a fleet."""
    return plant(tmp_path_factory.mktemp("fleet"), 6, nodes=24)


def test_each_step_stands_with_the_nodes_that_need_it(made: Planted) -> None:
    """The node with a port that is down, and it alone, is to have its cable looked at."""
    kinds = fleet_checklist([made.folder]).document()["kinds"]
    assert [kind["name"] for kind in kinds] == NAMES
    ports = [step["nodes"] for step in kinds[0]["steps"] if step["id"] == "fabric-port-down"]
    assert ports == made.plants["port"]


def test_a_kind_without_a_bios_says_what_to_give(made: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    """Captures without BIOS attributes: no plan is made, and the line names the command."""
    assert [*fleet_plan([made.folder]).without] == NAMES
    assert (status(["bios", "plan", str(made.folder)]), "advisor bios read" in capsys.readouterr().err) == (2, True)


def test_a_node_is_shown_with_all_that_is_said_of_it(made: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    """Fleet show NODE has what is its own, and a command that compares it; of a silent one it says why nothing is known."""
    (node,) = made.plants["port"]
    assert status(["fleet", "show", node, str(made.folder), "--width", "400"]) == 0
    told = {line[:8].strip(): line[10:] for line in capsys.readouterr().out.splitlines()}
    assert (told["Found"].startswith("high fabric-port-down: "), "os-swappiness" in told["Common"]) == (True, True)
    assert status(told["Compare"].split()[1:]) == 0
    assert "fabric-port-down" in capsys.readouterr().out
    silent, why = next(iter(made.silent.items()))
    assert (status(["fleet", "show", silent, str(made.folder)]), why in capsys.readouterr().err) == (2, True)


def test_two_nodes_are_compared(made: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    """Compare finds their captures."""
    (odd,), usual = made.plants["firmware"], made.slow[0]
    assert status(["compare", usual, odd, str(made.folder)]) == 0
    assert "2.14.9" in capsys.readouterr().out


def test_bios_attributes_beside_captures_are_what_is_planned_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written by bios read -o DIR/%h.bios.json: a kind is planned from them, compare and show use them."""
    captured(tmp_path, ("n1", "n2"), "rome")
    for node, nodes in (("n1", "1"), ("n2", "2")):
        said = {"NumaNodesPerSocket": nodes, "LogicalProc": "Disabled", "CcxAsNumaDomain": "Disabled"}
        choices = {name: ("1", "2", "4") if name.startswith("Numa") else ("Enabled", "Disabled") for name in said}
        listed = [
            {"AttributeName": name, "Type": "Enumeration", "Value": [{"ValueName": each} for each in values]}
            for name, values in choices.items()
        ]
        registry = {"Id": "Own", "RegistryEntries": {"Attributes": listed}}
        document = {"schema": "advisor-bios/1", "bios": {"Attributes": said}, "registry": registry}
        (tmp_path / f"{node}.bios.json").write_text(json.dumps(document))
    found = fleet_plan([tmp_path])
    (planned,) = found.plans.values()
    assert [(each.attribute, each.value) for each in planned.plan.changes] == [("NumaNodesPerSocket", "4")]
    assert status(["compare", "n1", "n2", str(tmp_path)]) == 0
    assert status(["fleet", "show", "n1", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert (told.startswith("n1 -> n2\n"), f"--bios{tmp_path}/n1.bios.json" in "".join(told.split())) == (True, True)
    assert status(["checklist", str(tmp_path)]) == 0


def test_a_node_that_did_not_answer_is_not_compared_and_why(made: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in the fleet: nothing else is guessed to be meant."""
    silent = next(node for node, why in made.silent.items() if why != "truncated")
    assert status(["compare", silent, made.slow[0], str(made.folder)]) == 2
    assert f"no capture of {silent}: {made.silent[silent]}; capture it again" in capsys.readouterr().err


def test_a_setting_that_left_the_golden_file_is_named(made: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Saved, one node's BIOS changed, audited: the node, what it has, what it had to have."""
    good = tmp_path / "golden.yaml"
    assert status(["fleet", "golden", "save", str(made.folder), "-o", str(good)]) == 0
    (odd,), usual = made.plants["firmware"], made.slow[0]
    file = made.folder / f"{usual}.tar.gz"
    kept = file.read_bytes()
    file.write_bytes((made.folder / f"{odd}.tar.gz").read_bytes())
    capsys.readouterr()
    assert status(["fleet", "audit", str(made.folder), "--golden", str(good), "--json"]) == 0
    drift = [each for each in json.loads(capsys.readouterr().out)["drift"] if each["fact"] == "firmware.bios_version"]
    named = {each["value"] for each in drift if usual in expanded(each["nodes"])}
    assert (named, {each["majority"] for each in drift}) == ({"2.14.9"}, {"2.15.0"})
    file.write_bytes(kept)
