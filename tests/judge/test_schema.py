from pathlib import Path
from typing import Any

import pytest

from advisor.advice.judge.rulebook import rule_files
from advisor.advice.know.vendors import publications, settings
from advisor.paths import rules
from advisor.sheets import read_sheet
from docs.schemas import rule_schema

SCHEMA = rule_schema(settings(), publications())


def problems(value: Any, schema: dict[str, Any], place: str = "") -> list[str]:
    """Return where a value does not follow the part of JSON Schema that ours uses."""
    if "$ref" in schema:
        return problems(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], place)
    if "anyOf" in schema:
        tried = [problems(value, each, place) for each in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place}: {value} is not a word"]
    kinds = schema.get("type", [])
    if kinds and not any(isinstance(value, NAMES[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return [f"{place}: {value} is not a {kinds}"]
    if isinstance(value, list):
        return [each for at, item in enumerate(value) for each in problems(item, schema.get("items", {}), f"{place}.{at}")]
    return _inside(value, schema, place) if isinstance(value, dict) else []


NAMES: dict[str, Any] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
    "integer": int,
}


def _inside(value: dict[str, Any], schema: dict[str, Any], place: str) -> list[str]:
    found = [f"{place}: {name} is missing" for name in schema.get("required", []) if name not in value]
    found += [each for name in value for each in problems(name, schema.get("propertyNames", {}), place)]
    for name, item in value.items():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
        if inner is False:
            found.append(f"{place}: {name} is not a key")
        elif inner is not True:
            found += problems(item, inner, f"{place}.{name}")
    return found


@pytest.mark.parametrize("path", rule_files(rules()), ids=lambda path: path.stem)
def test_shipped_rules_follow_the_schema(path: Path) -> None:
    """What advisor takes, an editor that knows the schema takes too."""
    assert problems(read_sheet(path).data, SCHEMA) == []


@pytest.mark.parametrize("path", rule_files(rules()), ids=lambda path: path.stem)
def test_shipped_rules_follow_the_schema_as_jsonschema_reads_it(path: Path) -> None:
    """The same by the reference implementation, where it is installed."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(read_sheet(path).data, SCHEMA)


RULE = {
    "id": "a", "title": "t", "severity": "low", "when": True, "say": "s", "why": "w", "check": "c", "refs": ["site"],
    "tests": [{"given": {}, "expect": "pass"}], "set": {"numa.nps": 4},
}  # fmt: skip


def test_both_forms_of_a_file_are_taken() -> None:
    """A list of rules, and a site's mapping."""
    site = {"rules": [RULE], "let": {"a": {"most": 2}}, "waivers": [{"id": "a", "reason": "r", "until": "2027-01-01"}]}
    assert (problems([RULE], SCHEMA), problems(site, SCHEMA), problems({}, SCHEMA)) == ([], [], [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("severity", "hihg"),
        ("refs", ["dell-rome-2091"]),
        ("set", {"numa.nsp": 4}),
        ("sevrity", "low"),
        ("when", []),
        ("tests", 3),
    ],
)
def test_typos_are_seen(key: str, value: Any) -> None:
    """A wrong word, publication, setting, key or kind does not follow the schema."""
    assert problems([{**RULE, key: value}], SCHEMA) != []


def test_without_lists_any_setting_and_publication_goes() -> None:
    """The schema of the language alone names no settings and no publications."""
    plain = rule_schema()
    assert "propertyNames" not in plain["$defs"]["RuleText"]["properties"]["set"]
    assert "Publication" not in plain["$defs"]
