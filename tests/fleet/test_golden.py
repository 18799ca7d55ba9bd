"""A golden file says what nodes have to be: what left it is named whatever most nodes are, and exports are made from it."""

import json
from collections.abc import Callable, Iterable
from datetime import date
from functools import partial
from pathlib import Path

import pytest
import yaml

from advisor.cli.main import status
from advisor.errors import AdvisorError
from advisor.exports.export import export
from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Fleet
from advisor.fleet.golden import Golden, golden_changes, golden_in, golden_of, golden_text, held
from advisor.machine.machine import Machine
from tests.fleet.test_essence import ONE
from tests.fleet.wild import FAULTS, wild

TODAY = date(2026, 3, 1)


def balancing(value: int) -> Machine:
    """Return the node with another kernel.numa_balancing."""
    assert ONE.kernel is not None
    return ONE.model_copy(update={"kernel": ONE.kernel.model_copy(update={"numa_balancing": value})})


def fleet(folder: Path, other: Iterable[int] = (), machine: Machine | None = None, count: int = 11) -> Path:
    """Write nodes of which some are another machine."""
    folder.mkdir(exist_ok=True)
    for at in range(count):
        node = (machine or balancing(0)) if at in other else balancing(1)
        (folder / f"n{at:02}.json").write_text(node.model_copy(update={"name": f"n{at:02}"}).model_dump_json())
    return folder


def saved(folder: Path, change: Callable[[dict[str, object]], object] = lambda _: None) -> Path:
    """Write the golden file of a good fleet, reviewed."""
    file = folder / "golden.yaml"
    assert status(["fleet", "golden", "save", str(fleet(folder / "good")), "-o", str(file)]) == 0
    told = yaml.safe_load(file.read_text())
    change(told)
    file.write_text(yaml.safe_dump(told))
    return file


def against(file: Path, folder: Path, today: date = TODAY) -> Fleet:
    """Return the screen of a fleet that is held to a golden file."""
    return audit_fleet([folder], holding=partial(held, golden_in(file), today=today)).fleet


def test_what_left_it_is_named_though_most_nodes_did(tmp_path: Path) -> None:
    """Eight of eleven: to the majority it would be the three that differ."""
    found = against(saved(tmp_path), fleet(tmp_path / "now", range(8)))
    assert [(each.fact, each.value, each.majority, each.nodes) for each in found.drift] == [
        ("kernel.numa_balancing", "0", "1", "n[00-07]")
    ]


def test_nodes_as_they_have_to_be_have_nothing(tmp_path: Path) -> None:
    """Neither drift nor a question, and what was accepted is not told again."""
    found = against(saved(tmp_path), fleet(tmp_path / "now"))
    assert (found.drift, found.split, [each for each in found.wrong if each.severity in {"low", "info"}]) == ((), (), [])


def test_a_waiver_holds_until_its_last_day_and_is_named_then(tmp_path: Path) -> None:
    """On one of the two nodes that differ; after the day both are named, and the waiver."""
    waiver = {"what": "kernel.numa_*", "nodes": "n03", "reason": "a test of the kernel", "until": "2026-03-01"}
    file, now = saved(tmp_path, lambda told: told.update(waivers=[waiver])), fleet(tmp_path / "now", (3, 4))
    said = [against(file, now, day) for day in (TODAY, date(2026, 3, 2))]
    assert [[each.nodes for each in one.drift] for one in said] == [["n04"], ["n[03-04]"]]
    assert [[each.why for each in one.odd] for one in said] == [[], ["kernel.numa_* ended on 2026-03-01: a test of the kernel"]]


def test_an_amount_may_differ_by_its_tolerance(tmp_path: Path) -> None:
    """Memory reviewed as 3 % more is within 5 %, and not within 1 %."""

    def more(told: dict[str, object]) -> None:
        (kind,) = told["kinds"].values()  # type: ignore[attr-defined]
        name = next(name for name in kind["facts"] if name.startswith("numa.memory"))
        number, unit = kind["facts"][name].split()
        kind["facts"][name] = f"{float(number) * 1.03:g} {unit}"
        told["tolerances"] = {"numa.memory.*": "5%"}

    file = saved(tmp_path, more)
    close = file.read_text().replace("5%", "1%")
    now = fleet(tmp_path / "now")
    within = against(file, now).drift
    file.write_text(close)
    assert (within, {each.fact.rsplit(".", 1)[0] for each in against(file, now).drift}) == ((), {"numa.memory"})


def test_a_node_that_is_not_there_any_more_is_silent(tmp_path: Path) -> None:
    """The file names it."""
    found = against(saved(tmp_path), fleet(tmp_path / "now", count=10))
    assert [(each.node, each.why) for each in found.silent] == [("n10", "not contacted, although listed in the golden file")]


@pytest.mark.parametrize(
    ("text", "said"),
    [("numa.memory.*: 1%", "numa.memory.*: much"), ("golden/1", "golden/9"), ("accepted:", "acepted:")],
    ids=["tolerance", "format", "key"],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    """With the file, before any capture is read."""
    file = saved(tmp_path)
    file.write_text(file.read_text().replace(text, said))
    with pytest.raises(AdvisorError, match=r"golden\.yaml"):
        golden_in(file)


def test_two_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What changed, kind by kind; the exit status is 1 where something did."""
    file = saved(tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text(
        file.read_text().replace("owner: ''", "owner: ops").replace("kernel.numa_balancing: '1'", "kernel.numa_balancing: '0'")
    )
    assert [(each["what"], each["before"], each["after"]) for each in golden_changes(golden_in(file), golden_in(other))] == [
        ("kernel.numa_balancing", "1", "0"),
        ("owner", "", "ops"),
    ]
    capsys.readouterr()
    ends = [status(["fleet", "golden", "diff", str(file), str(each), "--json"]) for each in (file, other)]
    assert (ends, '"kernel.numa_balancing"' in capsys.readouterr().out) == ([0, 1], True)


def test_a_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """Elements that were folded are the same facts again, and no node's name is in its machine."""
    golden, machines = golden_of(audit_fleet([fleet(tmp_path / "good")]))
    file = tmp_path / "golden.yaml"
    file.write_text(golden_text(golden))
    read: Golden = golden_in(file)
    assert list(golden_changes(golden, read)) == []
    assert [
        word for text in map(Machine.model_dump_json, machines.values()) for word in ("n00", "n01") if f'"{word}' in text
    ] == []


def test_exports_are_made_of_the_golden_node_and_not_of_a_broken_one(tmp_path: Path) -> None:
    """Two CPUs of a node are offline: its line is that of its kind, and a comment names it; the golden file knows no state."""
    offline = next(each for each in FAULTS if each.name == "cpus offline")
    made = wild(tmp_path / "now", 24, faults=(offline,), damaged=False)
    (node,) = made.faults[offline.name]
    lines = export("slurm", str(made.folder)).text.splitlines()
    nodes = sorted(line.split(" Boards")[0] for line in lines if line.startswith("NodeName=cn") and "CPUs" in line)
    assert nodes == ["NodeName=cn[00001-00012] CPUs=32", "NodeName=cn[00013-00024] CPUs=112"]
    assert [line for line in lines if "differs from its line" in line] == [
        f"# {node}: differs from its line: cores 30, 32 elsewhere"
    ]
    file = tmp_path / "golden.yaml"
    assert status(["fleet", "golden", "save", str(made.folder), "-o", str(file)]) == 0
    text = export("slurm", str(file)).text
    assert (all(each in text for each in nodes), "differs from its line" in text) == (True, False)
    assert export("nhc", str(file)).text.count("check_hw_cpuinfo") == 2
    assert 'fleet_kind_nodes{kind="' in export("prometheus-rules", str(file)).text


def test_a_golden_file_is_plain_data(tmp_path: Path) -> None:
    """Its document has the schema's name; no export of one machine takes it."""
    file = saved(tmp_path)
    with pytest.raises(AdvisorError, match="junit cannot be made from a golden file"):
        export("junit", str(file))
    assert json.loads((tmp_path / yaml.safe_load(file.read_text())["kinds"].popitem()[1]["machine"]).read_text())["architecture"]
