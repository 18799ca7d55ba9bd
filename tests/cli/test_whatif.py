import json
from pathlib import Path

import pytest

from advisor.advice.whatif import assumed, changed
from advisor.cli.main import status
from advisor.machine.hardware import Bios
from advisor.machine.layout import Assumption
from advisor.machine.read import machine_from_json, read_machine
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def nps1(tmp_path: Path) -> Path:
    """Return the archive of a Rome in NPS1 with SMT, numbered in turn."""
    return write_archive("epyc-nps1-smt-roundrobin", tmp_path / "node.tar.gz")


def test_the_page_says_before_and_after(nps1: Path, capsys: Capture) -> None:
    """The cut, the findings that go, what stays unknown, and how to go on."""
    assert status(["whatif", "--from", str(nps1), "--nps", "4", "--smt", "off", "--enumeration", "linear", "--width", "300"]) == 0
    text = capsys.readouterr().out
    wanted = (
        "NPS1 -> NPS4",
        "round-robin over packages -> linear",
        "- high   numa-nps-below-best",
        "? hcas.locality: the current NUMA partitioning is too coarse to show the exact node: mlx5_0 on one of the nodes 4-7",
        "--nps 4 --smt off --enumeration linear -o after.json",
        " with nps=4,smt=off,enumeration=linear, after the restart",
    )
    assert [words for words in wanted if words not in text] == []
    assert "mlx5_0 is at NUMA node 1 -> one of NUMA nodes 4-7" in " ".join(text.split())
    assert [words for words in ("not there", "one of them only", "inferred", "…") if words in text] == []


def test_the_file_is_what_every_other_command_reads(nps1: Path, tmp_path: Path, capsys: Capture) -> None:
    """-o writes the machine after the restart; topology, audit and diff take it with --from."""
    file = tmp_path / "after.json"
    assert status(["whatif", "--from", str(nps1), "--nps", "4", "-o", str(file)]) == 0
    assert f"advisor bind --from {file}" in capsys.readouterr().out
    assert status(["topology", "--from", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cut"]["name"] == "NPS4"
    assert status(["audit", "--from", str(file)]) == 0
    assert status(["compare", str(nps1), str(file)]) == 0


def test_the_json_holds_assumption_difference_and_machine(nps1: Path, capsys: Capture) -> None:
    """The document names its schema, and the machine in it reads back."""
    assert status(["whatif", "--from", str(nps1), "--l3-as-node", "on", "--json"]) == 0
    text = capsys.readouterr().out
    found = json.loads(text)
    assert (found["schema"], found["text"], found["assumption"]) == ("advisor-whatif/1", "l3-as-node=on", {"l3_as_node": True})
    assert sorted(found) == ["assumption", "difference", "machine", "schema", "text", "unknown"]
    assert machine_from_json(text.encode(), "after.json") == assumed(read_machine(str(nps1)), ["l3-as-node=on"])


@pytest.mark.parametrize("wish", [["nps=4"], ["1"], ["numa-nps-below-best"], ["--nps", "4"]])
def test_a_wish_is_a_setting_or_a_finding(wish: list[str], nps1: Path, capsys: Capture) -> None:
    """What people type: the setting as text or option, the finding by its number on the screen, or by its rule."""
    assert status(["whatif", *wish, "--from", str(nps1), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "nps=4"


def test_a_finding_that_no_setting_fixes_is_refused(nps1: Path, capsys: Capture) -> None:
    """One line that names the finding and what to write."""
    assert status(["whatif", "os-swappiness", "--from", str(nps1)]) == 2
    assert capsys.readouterr().err == (
        "advisor: os-swappiness: the effect of fixing os-swappiness cannot be predicted here; name a setting, such as nps=4; "
        "advisor explain shows the fix\n"
    )


def test_what_is_set_so_already_is_said(nps1: Path, capsys: Capture) -> None:
    """One line where nothing would change."""
    assert status(["whatif", "--from", str(nps1), "--nps", "1"]) == 0
    assert "already has these settings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no setting given"),
        (["--cod", "on"], "EPYC 7002 (Rome) has no cluster on die"),
        (["--nps", "3"], "use one of 1, 2, 4, 0"),
        (["--snc", "x"], "use one of off, 2, 3, 4, 6"),
        (["--smt", "perhaps"], "perhaps"),
    ],
)
def test_impossible_wishes_end_with_status_two(nps1: Path, arguments: list[str], words: str, capsys: Capture) -> None:
    """One line on standard error names what is offered."""
    assert status(["whatif", "--from", str(nps1), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_assume_is_for_other_commands_too(nps1: Path) -> None:
    """Texts may be repeated; without any the machine is the one that was read."""
    machine = read_machine(str(nps1))
    assert assumed(machine, []) is machine
    assert assumed(machine, ["nps=4", "smt=off"]) == changed(machine, Assumption(nps=4, smt=False))


def test_the_makers_attributes_of_the_setting_are_forgotten(nps1: Path) -> None:
    """What the BIOS said of the assumed setting is left out; its other attributes stay."""
    bios = Bios(attributes={"NumaNodesPerSocket": "1", "SysProfile": "Custom"}, pending={"NumaNodesPerSocket": "2"})
    found = assumed(read_machine(str(nps1)).model_copy(update={"bios": bios}), ["nps=4"]).bios
    assert found == Bios(attributes={"SysProfile": "Custom"}, pending={})
