"""SARIF: the schema of OASIS takes it, and the kind of a result is the verdict."""

import json
from collections import Counter
from typing import Any

import pytest

from tests import exports
from tests.conftest import Golden
from tests.exports import text_of


def schema() -> Any:
    """Return the schema of SARIF 2.1.0; skip where it is not there."""
    file = exports.CACHE / "sarif-schema-2.1.0.json"
    if not file.is_file():
        pytest.skip(f"{file.name} is not there: sh prepare.sh exports brings it")
    return json.loads(file.read_text())


def test_it_prints_as_it_did(golden: Golden) -> None:
    """The whole file is kept as a golden text."""
    golden("machine.sarif", text_of("sarif", exports.machine()))


@pytest.mark.parametrize("name", ["machine", "hostile"])
def test_the_schema_takes_it(name: str) -> None:
    """Of hostile words too."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(text_of("sarif", getattr(exports, name)())), schema())


@pytest.mark.parametrize(("key", "value"), [("kind", "unknown"), ("level", "high"), ("message", "words")])
def test_the_schema_is_awake(key: str, value: str) -> None:
    """A kind that is none of SARIF's is refused."""
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(text_of("sarif", exports.machine()))
    document["runs"][0]["results"][0][key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())


def test_the_kind_is_the_verdict_and_only_a_failure_has_a_level() -> None:
    """As many of each as the audit has; what is waived is a failure that is suppressed with its reason."""
    audit = exports.machine().audit
    assert audit is not None
    results = json.loads(text_of("sarif", exports.machine()))["runs"][0]["results"]
    kinds = {
        "finding": "fail",
        "waived": "fail",
        "unknown": "open",
        "error": "open",
        "pass": "pass",
        "not-applicable": "notApplicable",
    }
    assert Counter(each["kind"] for each in results) == Counter(kinds[each.verdict] for each in audit.findings)
    assert {each["level"] for each in results if each["kind"] != "fail"} == {"none"}
    waived = [each["suppressions"][0]["justification"] for each in results if "suppressions" in each]
    assert waived == ["login node (until 2030-01-01)"]


def test_a_result_is_at_a_place_of_the_machine_with_a_mark_that_stays() -> None:
    """Two exports of one machine have the same fingerprints, and no two results the same."""
    results = json.loads(text_of("sarif", exports.machine()))["runs"][0]["results"]
    marks = [each["partialFingerprints"]["advisor/v1"] for each in results]
    places = [each["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for each in results]
    assert (len(set(marks)), marks[0], places[0]) == (len(marks), "node001/socket 0:numa-nps-below-best", "node001/socket 0")


def test_every_result_names_its_rule() -> None:
    """By its id and by its place among the rules."""
    run = json.loads(text_of("sarif", exports.machine()))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [each["ruleId"] for each in run["results"]] == [rules[each["ruleIndex"]]["id"] for each in run["results"]]
