"""What people bring beside machines, broken: each reader reads it, or says in one line what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.bios_files import firmware_from
from advisor.bios.experiment import experiment_status
from advisor.errors import BadInput
from advisor.jobs.racing.race import kept_race
from advisor.machine.hosts.files import FILE
from advisor.measure.task import read_measurements
from tests.broken import READERS, outcome, tried, whole


@pytest.mark.parametrize("kind", READERS)
def test_a_few_broken_files_of_each_reader(kind: str, tmp_path: Path) -> None:
    """Each ends in a value or in one line."""
    assert [outcome(kind, seed, tmp_path) for seed in range(60)]


@pytest.mark.parametrize("kind", READERS)
def test_what_is_broken_was_whole(kind: str, tmp_path: Path) -> None:
    """Each reader takes the files that the broken ones are made from: a fuzz of what is refused anyway finds nothing."""
    reader = READERS[kind]
    for content in whole(kind):
        (tmp_path / reader.name).write_bytes(content)
        reader.read(tmp_path / reader.name)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 12000, 1000))
def test_twelve_thousand_broken_files(start: int) -> None:
    """None ends in a traceback."""
    assert tried(1000, start)[1] == []


def test_a_dependency_without_terms_decides_nothing(tmp_path: Path) -> None:
    """A registry whose dependency has no condition, or conditions that are no list, is read without it."""
    registry = json.loads(whole("bios")[0])
    for terms in ([], None, 3, {"a": 1}, [3]):
        rule = {"MapFrom": terms, "MapToAttribute": "A", "MapToProperty": "Hidden", "MapToValue": True}
        registry["RegistryEntries"]["Dependencies"] = [{"Type": "Map", "Dependency": rule}]
        (tmp_path / "registry.json").write_text(json.dumps(registry))
        found = firmware_from([tmp_path / "registry.json"]).registry
        assert found is not None
        assert found.dependencies == ()


@pytest.mark.parametrize("results", [None, 3, "many", {}])
def test_results_that_are_no_list_are_no_measurements(results: Any, tmp_path: Path) -> None:
    """Null is what a program writes that had none."""
    file = tmp_path / "measured.json"
    file.write_text(json.dumps({**json.loads(whole("measurements")[0]), "results": results}))
    with pytest.raises(BadInput, match="contains no measurements, or too many; write it with advisor measure --save FILE"):
        read_measurements([file])


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("race", "seconds", "1.1 s"), ("race", "seconds", [1]), ("race", "block", "1"), ("race", "figure", {}),
        ("race", "figure", 0), ("race", "at", None), ("race", "busy", [3]), ("race", "seconds", float("inf")),
        ("experiment", "unit", "1"), ("experiment", "figure", {}), ("experiment", "node", 7), ("experiment", "event", []),
    ],
)  # fmt: skip
def test_a_journal_with_a_wrong_type_names_its_line(kind: str, field: str, value: Any, tmp_path: Path) -> None:
    """A run or a step in which a number is a text, or a text a list, is refused by its line."""
    head, *lines = whole(kind)[0].splitlines()
    at, line = next((at, json.loads(line)) for at, line in enumerate(lines, 2) if field in json.loads(line))
    lines[at - 2] = json.dumps({**line, field: value}).encode()
    (tmp_path / FILE).write_bytes(b"\n".join([head, *lines, b""]))
    with pytest.raises(BadInput, match=rf"line {at}.*not (?:the record of a run|a step of an experiment)"):
        kept_race(tmp_path) if kind == "race" else experiment_status(tmp_path)


@pytest.mark.parametrize(("field", "value"), [("node", ["a"]), ("node", {}), ("bmc", 3), ("bmc", None)])
def test_an_experiment_whose_servers_have_no_names_is_damaged(field: str, value: Any, tmp_path: Path) -> None:
    """The head names each server and its BMC in words: they are looked up, and asked."""
    first, *rest = whole("experiment")[0].splitlines()
    head = json.loads(first)
    head["nodes"][0][field] = value
    (tmp_path / FILE).write_bytes(b"\n".join([json.dumps(head).encode(), *rest, b""]))
    with pytest.raises(BadInput, match="line 1: the first record of the experiment is damaged"):
        experiment_status(tmp_path)
