"""What looks at a fleet can capture it first: -w of fleet audit, fleet checklist and fleet plan."""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.cli.main import status
from tests.fleet.planted import noise, shape
from tests.nodes.sshd import Nodes, needs_sshd, sshd

pytestmark = needs_sshd


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """Return three nodes, of which two answer: one of them with a port that is down."""
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    with sshd(tmp_path / "site", {"n1": "good", "n2": "good", "n3": "refuses"}) as made:
        for number, (name, sort) in enumerate({"n1": "haswell", "n2": "haswell down"}.items()):
            data = shape(sort).copy(noise(shape(sort), name, random.Random(number)))  # noqa: S311
            (tmp_path / "site" / "captures" / name).write_bytes(gzip.compress(data, 1))
        yield made


@pytest.mark.slow
def test_nodes_are_captured_anew_and_then_judged(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    """Into the folder fleet where none is named; a second look asks them again; the silent one is on the screen."""
    assert status(["fleet", "audit", "-w", "n[1-3]", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["asked"], told["answered"], [each["node"] for each in told["silent"]]) == (3, 2, ["n3"])
    assert status(["checklist", "fleet", "--as", "json"]) == 0
    steps = json.loads(capsys.readouterr().out)["kinds"][0]["steps"]
    assert [step["nodes"] for step in steps if step["id"] == "fabric-port-down"] == ["n2"]
    assert (status(["bios", "plan", "fleet"]), "advisor bios read" in capsys.readouterr().err) == (2, True)
    assert [nodes.asked().count(name) for name in ("n1", "n2", "n3")] == [1, 1, 0]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-w", "n3"], "no node answered: 1 refused; retry: advisor fleet capture --again failed -o fleet"),
        (["-w", "n1", "a", "b"], "all captures are written to one folder; give one DIR"),
        (["-w", "-oProxyCommand=x"], "is not"),
        ([], "no fleet given; give a folder of captures"),
    ],
)
def test_what_cannot_be_is_one_line(words: list[str], why: str, nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    assert status(["fleet", "audit", *words]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), why in said.err, nodes.asked()) == ("", 1, True, []), said.err
